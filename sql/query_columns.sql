--
-- Columns beside the text: each type and operator against the sequential scan
--
-- Holds: am 2; column 1; condition 1; cost 2; plan 15; query 2
--
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
RESET client_min_messages;
SET timezone = 'UTC';

CREATE TYPE mood AS ENUM ('sad', 'calm', 'glad');
CREATE DOMAIN code AS varchar(8);

CREATE TABLE docs (
	id int PRIMARY KEY, tsv tsvector,
	i2 int2, i4 int4, i8 int8, o oid, b bool, f4 float4, f8 float8,
	n numeric, n2 numeric(8, 2), money money,
	d date, ts timestamp, tz timestamptz, tm time,
	t text, v varchar, c code, bp char(6), nm name, y bytea,
	u uuid, net inet, cid cidr, mac macaddr, bits bit(4), vb varbit, mood mood);
INSERT INTO docs SELECT i,
	CASE WHEN i % 29 <> 0 THEN to_tsvector('simple', 'common w' || i % 3 || ' w' || i % 7 || ' x' || i) END,
	k, k, k, i % 5, i % 2 = 0,
	(ARRAY['0', '-0', '1.5', 'NaN', 'Infinity', '-Infinity', '0.1'])[j + 1]::float4,
	(ARRAY['0', '-0', '1.5', 'NaN', 'Infinity', '-Infinity', '0.1'])[j + 1]::float8,
	(ARRAY['0', '0.00', '1.5', 'NaN', '-1.50', '123456789012345678901234567890.5', '-0.000001'])[j + 1]::numeric,
	j / 4.0, j / 4.0,
	(ARRAY['-infinity', 'infinity', '2020-02-29', '1999-12-31', '4713-01-01 BC', '5874897-12-31', '2000-01-01'])[j + 1]::date,
	(ARRAY['-infinity', 'infinity', '2020-02-29', '1999-12-31 23:59:59.999999', '4713-01-01 BC', '294276-12-31 23:59:59', '2000-01-01 00:00:01'])[j + 1]::timestamp,
	(ARRAY['-infinity', 'infinity', '2020-02-29', '1999-12-31 23:59:59.999999', '4713-01-02 BC', '294276-12-31 23:59:59', '2000-01-01 00:00:01'])[j + 1]::timestamptz,
	make_time(j, 0, 0.5),
	(ARRAY['a', 'A', '', ' ', 'a ', 'ä', repeat('long ', 100)])[j + 1],
	(ARRAY['a', 'A', '', ' ', 'a ', 'ä', repeat('long ', 100)])[j + 1],
	(ARRAY['a', 'A', '', ' ', 'a ', 'ä', 'long'])[j + 1],
	(ARRAY['a', 'A', '', ' a', 'a  ', 'ä', 'longer'])[j + 1],
	(ARRAY['a', 'A', '', ' ', 'a ', 'ä', 'long'])[j + 1],
	decode(lpad(to_hex(j), 2, '0'), 'hex'),
	('00000000-0000-0000-0000-00000000000' || j)::uuid,
	(ARRAY['10.0.0.1', '10.0.0.1/32', '10.0.0.1/8', '10.0.0.0/8', '::1', 'fe80::/10', '::ffff:10.0.0.1'])[j + 1]::inet,
	(ARRAY['10.0.0.1', '10.0.0.1/32', '10.0.0.0/24', '10.0.0.0/8', '::1', 'fe80::/10', '::/0'])[j + 1]::cidr,
	('08:00:2b:01:02:0' || j)::macaddr,
	j::bit(4), substring(B'0101010' FROM 1 FOR j), (ARRAY['sad', 'calm', 'glad'])[i % 3 + 1]::mood
FROM (SELECT i, i % 11 - 5 AS k, i % 7 AS j FROM generate_series(1, 700) i) s;
INSERT INTO docs (id, tsv) VALUES (1001, 'common alone'), (1002, NULL);

CREATE INDEX docs_all ON docs USING skipidx
	(tsv, i2, i4, i8, o, b, f4, f8, n, n2, money, d, ts, tz, tm, t, v, c, bp, nm, y, u, net, cid, mac, bits, vb, mood)
	WITH (block_size = 8);
-- some are pending, some are gone
INSERT INTO docs SELECT id + 2000, tsv, i2, i4, i8, o, b, f4, f8, n, n2, money, d, ts, tz, tm, t, v, c, bp, nm, y, u, net, cid, mac, bits, vb, mood
	FROM docs WHERE id <= 60;
DELETE FROM docs WHERE id % 13 = 0;
SELECT skipidx_check('docs_all', true);
ANALYZE docs;

-- Rows by the index (plain, then by bitmap) and by a sequential scan; what is
-- no index condition is named.
CREATE FUNCTION compare(cond text, tail text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM docs WHERE %s %s', cond, tail);
	list text := format('SELECT string_agg(id::text, %L %s) FROM (%s) s', ',',
						CASE WHEN tail = '' THEN 'ORDER BY id' ELSE '' END, query);
	line text;
	filter text := '';
	plain text;
	bitmap text;
	seq text;
	indexed bool := false;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		indexed := indexed OR line LIKE '%docs_all%';
		IF line ~ 'Filter:' THEN
			filter := ' but' || substring(line FROM 'Filter:(.*)');
		END IF;
	END LOOP;
	EXECUTE list INTO plain;
	IF tail = '' THEN
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_bitmapscan = on;
		EXECUTE list INTO bitmap;
	ELSE
		bitmap := plain;
	END IF;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE list INTO seq;
	IF plain IS DISTINCT FROM seq OR bitmap IS DISTINCT FROM seq THEN
		RETURN format('WRONG: %s, %s and not %s', plain, bitmap, seq);
	END IF;
	RETURN coalesce(array_length(string_to_array(seq, ','), 1), 0) ||
		CASE WHEN indexed THEN ' by index' || filter ELSE ' by another scan' END;
END $$;

-- Every value of every column, its NULL, and one that is in no row.
CREATE FUNCTION each(col text, missing text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
	type regtype;
	answers text[] := '{}';
	answer text;
BEGIN
	SELECT atttypid INTO type FROM pg_attribute WHERE attrelid = 'docs'::regclass AND attname = col;
	FOR value IN EXECUTE format('SELECT DISTINCT %1$I::text FROM docs WHERE %1$I IS NOT NULL UNION ALL SELECT %2$L', col, missing) LOOP
		answer := compare(format('%I = %L::%s', col, value, type));
		IF answer NOT LIKE '%by index' THEN
			RETURN format('%s = %L: %s', col, value, answer);
		END IF;
		answers := answers || answer;
		answer := compare(format('%I <> %L::%s', col, value, type));
		IF answer NOT LIKE '%by index' THEN
			RETURN format('%s <> %L: %s', col, value, answer);
		END IF;
	END LOOP;
	RETURN format('%s values, %s NULL, %s NOT NULL, ANY %s', cardinality(answers),
		compare(format('%I IS NULL', col)), compare(format('%I IS NOT NULL', col)),
		compare(format('%I = ANY (ARRAY(SELECT %I FROM docs WHERE id IN (1, 2, 1001)))', col, col)));
END $$;

SELECT col, each(col, missing) FROM (VALUES
	('i2', '99'), ('i4', '99'), ('i8', '-9223372036854775808'), ('o', '4294967295'), ('b', 'true'),
	('f4', '7'), ('f8', '1e308'), ('n', '1e-20'), ('n2', '0.26'), ('money', '99.99'),
	('d', '2001-01-01'), ('ts', '2001-01-01'), ('tz', '2001-01-01'), ('tm', '24:00'),
	('t', 'none'), ('v', 'none'), ('c', 'none'), ('bp', 'none'), ('nm', 'none'), ('y', '\xff'),
	('u', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), ('net', '10.0.0.2'), ('cid', '10.0.0.2'),
	('mac', '00:00:00:00:00:00'), ('bits', '1111'), ('vb', '11'), ('mood', 'glad')) m (col, missing);

-- Ranges: every operator with every value of a column, and one that is in no row
CREATE FUNCTION ranges(col text, missing text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
	type regtype;
	op text;
	answer text;
	n int := 0;
	nrows int := 0;
BEGIN
	SELECT atttypid INTO type FROM pg_attribute WHERE attrelid = 'docs'::regclass AND attname = col;
	FOR value IN EXECUTE format('SELECT DISTINCT %1$I::text FROM docs WHERE %1$I IS NOT NULL UNION ALL SELECT %2$L', col, missing) LOOP
		FOREACH op IN ARRAY '{<,<=,>=,>}'::text[] LOOP
			answer := compare(format('%I %s %L::%s', col, op, value, type));
			IF answer NOT LIKE '%by index' THEN
				RETURN format('%s %s %L: %s', col, op, value, answer);
			END IF;
			n := n + 1;
			nrows := nrows + split_part(answer, ' ', 1)::int;
		END LOOP;
	END LOOP;
	RETURN format('%s ranges, %s rows', n, nrows);
END $$;

SELECT col, ranges(col, missing) FROM (VALUES
	('b', 'true'), ('i2', '2'), ('i4', '99'), ('i8', '-9223372036854775808'), ('o', '4294967295'),
	('f4', '0.5'), ('f8', '-1e308'), ('n', '1e-20'), ('n2', '0.26'), ('money', '99.99'),
	('d', '2001-01-01'), ('ts', '2001-01-01 00:00:00.000001'), ('tz', '2001-01-01'), ('tm', '24:00'),
	('u', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), ('mac', '00:00:00:00:00:00')) m (col, missing);

-- Both ends, several values, other types of the family, nothing between
SELECT cond, compare(cond) FROM unnest(ARRAY[
	'i4 BETWEEN -2 AND 3', 'i4 > -2 AND i4 < 3 AND i4 >= 0', 'i4 > 3 AND i4 < 2', 'i4 > 2 AND i4 < 3', 'i4 >= 3 AND i4 <= 3',
	'i4 < 1 AND i8 > -3', 'i2 > 3::int8', 'i8 <= 3::int2', 'i4 < 5000000000', 'i2 > -70000 AND i2 < 70000', '3 > i4',
	'i4 < ANY (''{-3,NULL,1}'')', 'i4 > ANY (''{3,-1}'')', 'i4 <= ANY (''{}'')', 'i4 >= ANY (''{NULL}''::int4[])', 'i4 < ALL (''{-3,1}'')',
	'i4 < NULL', 'f8 > 0.1::float4', 'f4 < 0.1::float8', 'f8 >= ''NaN''::float4', 'f8 < ''NaN'' AND f8 > 1', 'f4 > -0.0', 'f4 >= -0.0',
	'n > -1.5 AND n < 1.500', 'n < 1e131071', 'n > -1e131071', 'n >= ''NaN''', 'n < ''NaN''',
	'n < (''1'' || repeat(''0'', 3000) || ''.'' || repeat(''7'', 3000))::numeric', 'n2 BETWEEN 0.25 AND 0.75',
	'd < timestamp ''2020-02-29 00:00:01''', 'd >= timestamp ''2020-02-29 00:00:01''', 'd > timestamp ''294276-12-31''', 'd < timestamp ''infinity''',
	'ts > date ''2020-02-28''', 'ts >= date ''5874897-12-31''', 'ts < date ''5874897-12-31''', 'ts < date ''2000-01-02'' AND ts > date ''2000-01-01''',
	'tz > timestamptz ''2020-02-28 12:00+05''', 'tm BETWEEN ''01:00'' AND ''03:00:01''', 'i4 IS NOT NULL AND i4 < 0',
	$$tsv @@ 'common' AND i4 > 3$$, $$tsv @@ 'w1 & w2' AND i4 BETWEEN 1 AND 4 AND ts < '2010-01-01'$$, $$tsv @@ '!w1' AND i4 < 0$$,
	$$tsv @@ 'w1 <-> w2' AND f8 < 1$$, $$tsv @@ 'x12:*' AND n < 1$$, 'tsv IS NULL AND i4 < 0', 't > ''a''', 'y < ''b''']) cond;

-- Types of one family; what is equal but not the same
SELECT cond, compare(cond) FROM unnest(ARRAY[
	'i2 = 3::int8', 'i4 = 3::int2', 'i8 = 3::int4', 'i4 = 5000000000', 'i2 IN (1, 2, 70000)', 'i8 = ANY (''{1,2,NULL}''::int2[])',
	'f8 = 0.1::float4', 'f4 = 0.1::float8', 'f4 = 1.5::float8', 'f8 = -0.0', 'f4 = ''NaN''::float8',
	'n = 1.500', 'n = -1.5', 'n = 0', 'n2 = 0.250', 'n = ''Infinity''',
	'd = timestamp ''2020-02-29''', 'ts = date ''2020-02-29''', 'd = timestamp ''infinity''', 'ts = date ''-infinity''',
	'ts = date ''5874897-12-31''', 'd = timestamp ''2020-02-29 00:00:01''',
	'd = timestamptz ''2020-02-29 00:00+00''', 'd > timestamptz ''2020-02-28 23:00+00''', 'ts >= timestamptz ''infinity''',
	'ts <= timestamptz ''1999-12-31 23:59:59.999999+00''', 'tz = date ''2020-02-29''', 'tz < date ''5874897-12-31''',
	'tz IN (date ''2020-02-29'', date ''infinity'')', 'tz > ANY (''{2020-02-28,NULL}''::timestamp[])', 'timestamp ''2000-01-01 00:00:01'' = tz',
	'bp = ''a''', 'bp = ''a   ''::bpchar', 'bp = '' a''', 't = ''a''', 't = ''a ''', 'v = ''a''::varchar', 'c = ''ä''',
	'nm = ''a''::name', 'nm = ''a''::text COLLATE "C"',
	'net = ''10.0.0.1''::cidr', 'cid = ''10.0.0.1''::inet',
	'b', 'NOT b', 'b IS TRUE', 'b IS FALSE', 'b = true', 'b <> true', 'b IS NOT TRUE', 'b IS UNKNOWN', 'b IS NOT UNKNOWN',
	'i4 = NULL::int4', 'i4 = ANY (NULL::int4[])', 'i4 = ANY (''{}'')', 'i4 IN (1, 2) AND i4 = 2',
	't = repeat(''x'', 5000)']) cond;

-- All values but some
SELECT cond, compare(cond) FROM unnest(ARRAY[
	'i4 <> 3', '3 <> i4', 'i4 <> 3::int8', 'i2 <> 70000', 'i4 <> NULL', 'i4 <> 1 AND i4 <> 2', 'NOT i4 = 1', 'NOT (i4 = 1 OR i4 = 2)',
	'i4 NOT IN (1, 2)', 'i4 NOT IN (1, 1, 77)', 'i4 NOT IN (1, 2, NULL)', 'i4 <> ALL (''{}'')', 'i4 <> ALL (NULL::int4[])', 'i4 NOT IN (1, id)',
	'i4 <> ANY (''{1}'')', 'i4 <> ANY (''{1,NULL,1}'')', 'i4 <> ANY (''{1,2}'')', 'i4 <> ANY (''{NULL}''::int4[])', 'i4 <> ANY (''{}'')',
	'i4 IS DISTINCT FROM 3', 'i4 = 1 OR i4 <> 2', 'b <> false', 'i8 NOT IN (SELECT 1)',
	'f8 <> ''NaN''', 'f4 <> -0.0', 'f4 <> 0.1::float8', 'n <> 1.500', 'n NOT IN (0, ''NaN'')', 'mood <> ''glad''', 'mood NOT IN (''glad'', ''sad'')',
	'd <> timestamp ''2020-02-29''', 'd <> timestamp ''2020-02-29 00:00:01''', 'd <> timestamptz ''2020-02-29 00:00+00''', 'ts NOT IN (date ''2020-02-29'', date ''infinity'')',
	'd <> ANY (''{2020-02-29 00:00:01,2020-02-29 00:00:02}''::timestamp[])', 'd <> ANY (''{2020-02-29 00:00:01}''::timestamp[])', 'tz <> date ''2020-02-29''',
	'tz NOT IN (date ''2020-02-29'', date ''infinity'')', 't <> ''a''', 't NOT IN (''a'', ''A'', ''none'')', 'v NOT IN (''a'', '''')', 'c NOT IN (''a'', '''')', 't <> repeat(''x'', 5000)',
	'bp <> ''a''', 'bp NOT IN (''a   '', ''longer'')', 'nm <> ''a''::text COLLATE "C"', 'net <> ''10.0.0.1''::cidr', 'vb <> ''''', 'y <> ''''', 'tsv IS NULL AND i4 <> 2']) cond;
-- several, of which costs decide which are left to the rows
SELECT cond, split_part(compare(cond), ' but', 1) AS rows, split_part(compare(cond, $$ORDER BY tsv <@> 'w1 | x15 | common', id LIMIT 30$$), ' but', 1) AS ranked
FROM unnest(ARRAY['i4 NOT IN (1, 2, 3)', 'i4 <> 1 AND i4 IS NOT NULL AND i4 NOT IN (2, 3, -1) AND i8 NOT IN (4, 5)', 'i4 <> 1 AND i4 > -2 AND i4 <> ANY (''{2}'')',
	$$tsv @@ 'w1' AND i4 <> 3 AND t <> 'a' AND ts < '2010-01-01'$$, $$tsv @@ '!w1' AND i4 NOT IN (1, 2)$$, $$tsv @@ 'w1 <-> w2' AND mood <> 'glad'$$]) cond;
-- as many as are asked for, and one more
SELECT n, compare(format('i4 NOT IN (%s)', (SELECT string_agg(i::text, ', ') FROM generate_series(4, n + 3) i))) AS rows
FROM unnest('{1024,1025}'::int[]) n;
SELECT cond, (SELECT count(*) FROM regexp_matches(compare(cond, 'ORDER BY i4, id LIMIT 40'), '^40 by index$')) AS ordered
FROM unnest(ARRAY['i4 <> -4', 'i4 NOT IN (-4, 0, 3)', 'i2 <> 1 AND t <> ''a''']) cond;

-- With words, and of the text itself
SELECT cond, split_part(compare(cond), ' but', 1) AS rows FROM unnest(ARRAY[
	$$tsv @@ 'common' AND i4 = 3$$, $$tsv @@ 'w1 & w2' AND b AND i4 IN (1, 2)$$, $$tsv @@ '!w1' AND i4 = 3$$,
	$$tsv @@ 'w1 <-> w2' AND mood = 'glad'$$, $$tsv @@ 'x1:*' AND i4 IS NOT NULL$$, $$tsv @@ 'w1 | !w2' AND i4 IS NULL$$,
	'tsv IS NULL', 'tsv IS NOT NULL', 'tsv IS NULL AND i4 = 2', 'tsv IS NULL AND i4 IS NULL', $$tsv @@ '!w1' AND tsv IS NULL$$,
	$$tsv @@ ANY (ARRAY['w1 & w2', 'x5', NULL, '']::tsquery[])$$, $$tsv @@ ANY (ARRAY['!w1', 'x5']::tsquery[]) AND i4 = 1$$,
	$$tsv @@ ANY ('{}'::tsquery[])$$, $$tsv @@ ANY (ARRAY['w1 <-> w2']::tsquery[])$$,
	$$i4 = 1 OR tsv @@ 'x5'$$, 'i4 IN (1, 2) AND i4 < 2']) cond;
SET enable_sort = off;
SELECT cond, compare(cond, $$ORDER BY tsv <@> 'w1 | x15 | common', id LIMIT 30$$),
	split_part(compare(cond, $$ORDER BY tsv <@> 'w1 | x15 | common'$$), ' ', 1) AS "all" FROM unnest(ARRAY[
	'i4 = 3', 'i4 IN (1, 2)', 'i4 > 3', 'i4 < 99', 'i4 <> 3', $$tsv @@ 'w1' AND t <> 'a'$$, 'ts > ''2010-01-01'' AND i4 <= 0', 'n < -1.4', 'b', 'NOT b', 'i4 IS NULL', 'tsv IS NULL', 'tsv IS NOT NULL', 'true',
	$$tsv @@ 'w1' AND i4 = 3$$, $$tsv @@ 'w1' AND i4 > 3$$, $$tsv @@ 'w1 | x15 | common' AND i4 IN (3, 4)$$, $$tsv @@ 'w1 | x15 | common' AND i4 < -3$$, $$tsv @@ '!w1' AND b$$,
	$$tsv @@ ANY (ARRAY['!w1', 'x5']::tsquery[]) AND mood = 'sad'$$]) cond;
RESET enable_sort;

-- Parameters and joins
PREPARE few(int4, text[]) AS SELECT count(*) FROM docs WHERE tsv @@ 'common' AND i4 = $1 AND t = ANY ($2);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE few(3, '{a,A}');
EXECUTE few(3, NULL);
EXECUTE few(NULL, '{a}');
EXECUTE few(4, '{}');
PREPARE other(int4, int4, text) AS SELECT count(*) FROM docs WHERE tsv @@ 'common' AND i4 NOT IN ($1, $2, 5) AND t <> $3;
EXPLAIN (COSTS OFF) EXECUTE other(1, 2, 'a');
EXECUTE other(1, 2, 'a');
EXECUTE other(1, 1, 'none');
EXECUTE other(1, NULL, 'a');
EXECUTE other(1, 2, NULL);
RESET plan_cache_mode;
SELECT k, (SELECT count(*) FROM docs WHERE i8 > k AND i8 < k + 3 AND tsv @@ 'common') FROM unnest('{1,2,NULL}'::int2[]) k;
SELECT k, (SELECT count(*) FROM docs WHERE i8 = k AND tsv @@ 'common') FROM unnest('{1,2,NULL}'::int2[]) k;
SELECT k, (SELECT count(*) FROM docs WHERE i8 <> k AND i4 NOT IN (k, k + 1) AND tsv @@ 'common') FROM unnest('{1,2,NULL}'::int2[]) k;
RESET enable_seqscan;

-- How many rows are expected: df is known, also of values that ANALYZE has not seen
ALTER TABLE docs ALTER i4 SET STATISTICS 0, ALTER t SET STATISTICS 0;
INSERT INTO docs (id, tsv, i4, t) SELECT 5000 + i, 'new', 77, 'fresh' FROM generate_series(1, 500) i;
SELECT skipidx_flush('docs_all') > 0 AS flushed, skipidx_merge('docs_all', 1) > 0 AS merged;
ANALYZE docs;
CREATE FUNCTION expects(cond text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT id FROM docs WHERE ' || cond INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT cond, expects(cond) BETWEEN n * .7 AND n * 1.5 AS near FROM (VALUES
	('i4 = 77', 500), ('i4 <> 77', 694), ($$t = 'fresh'$$, 500), ('i4 IN (77, 78)', 500), ('i4 = 3', 62),
	($$t = 'fresh' AND i4 IS NOT NULL$$, 500)) v (cond, n);
DROP FUNCTION expects;

DROP TABLE docs;

--
-- Arrays
--
CREATE TABLE docs (id int PRIMARY KEY, tsv tsvector, tags text[], nums int4[], moods mood[], days date[], fl float8[], vc varchar(5)[]);
INSERT INTO docs SELECT i, to_tsvector('simple', 'common w' || i % 5),
	CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN '{}'
		ELSE ARRAY['t' || i % 3, 't' || i % 4, CASE WHEN i % 7 <> 0 THEN 'z' END] END,
	ARRAY[i % 3, i % 5], ARRAY[(ARRAY['sad', 'glad'])[i % 2 + 1]::mood], ARRAY[date '2020-01-01' + i % 9],
	ARRAY[0, '-0', 'NaN']::float8[], ARRAY['v' || i % 3]::varchar[]
	FROM generate_series(1, 400) i;
UPDATE docs SET nums = '{{1,2},{3,4}}' WHERE id = 50;
UPDATE docs SET tags = '{NULL}' WHERE id = 51;
CREATE INDEX docs_all ON docs USING skipidx (tsv, tags, nums, moods, days, fl, vc) WITH (block_size = 8);
INSERT INTO docs SELECT id + 1000, tsv, tags, nums, moods, days, fl, vc FROM docs WHERE id <= 60;
DELETE FROM docs WHERE id % 17 = 0;
SELECT skipidx_check('docs_all', true);
ANALYZE docs;
SELECT cond, compare(cond) FROM unnest(ARRAY[
	$$tags @> '{t1}'$$, $$tags @> '{t1,t3}'$$, $$tags @> '{}'$$, $$tags @> '{NULL}'$$, $$tags @> '{t1,NULL}'$$, $$tags @> '{none}'$$,
	$$tags && '{t1,t3}'$$, $$tags && '{}'$$, $$tags && '{NULL,t1}'$$, $$tags && NULL$$,
	$$NOT (tags && '{t1,t3}')$$, $$NOT (tags && '{}')$$, $$NOT (tags && '{NULL,t1}')$$, $$NOT (tags && '{NULL}')$$, $$NOT (tags && NULL)$$,
	$$NOT (tags @> '{t1}')$$, $$NOT ('{t1}' <@ tags)$$, $$NOT (tags @> '{t1,t3}')$$, $$NOT (tags @> '{}')$$, $$NOT (tags @> '{NULL}')$$,
	$$'t1' <> ALL (tags)$$, $$NULL <> ALL (tags)$$, $$tags !&& '{t1,z}'$$, $$'{t1,z}' !&& tags$$, $$NOT (nums && '{2,4}')$$, $$NOT (days && '{2020-01-02}')$$,
	$$tags = '{}'$$, $$tags = '{t1,t1,z}'$$, $$tags = '{t1,t1,NULL}'$$, $$tags = '{NULL}'$$, $$tags = '{z,t1,t1}'$$,
	$$tags IS NULL$$, $$tags IS NOT NULL$$, $$'t1' = ANY (tags)$$, $$NULL = ANY (tags)$$, $$'t1' = ALL (tags)$$, $$'t1' <> ANY (tags)$$,
	$$tags <@ '{t1,z}'$$, $$'{t1}' <@ tags$$,
	$$nums @> '{2,4}'$$, $$2 = ANY (nums)$$, $$2::int8 = ANY (nums)$$, $$nums = '{{1,2},{3,4}}'$$, $$nums = '{1,2,3,4}'$$, $$nums @> '{1,2,3,4}'$$,
	$$moods @> '{glad}'$$, $$'sad' = ANY (moods)$$, $$days && '{2020-01-02,2020-01-03}'$$, $$fl @> '{0}'$$, $$fl @> '{NaN}'$$, $$fl && '{-0}'$$,
	$$vc @> '{v1}'::varchar[]$$, $$'v1' = ANY (vc)$$, $$'v1'::varchar = ANY (vc)$$,
	$$tsv @@ 'w1' AND tags @> '{t1}' AND nums && '{1}'$$]) cond;
SELECT cond, compare(cond, $$ORDER BY tsv <@> 'w1 | common', id LIMIT 30$$) FROM unnest(ARRAY[
	$$tags @> '{t1}'$$, $$'t1' = ANY (tags)$$, $$tags = '{t1,t1,z}'$$, $$tsv @@ 'w1 | w2' AND tags && '{t1,t2}'$$]) cond;

-- Joins by an element, and beside a boolean column, as inner sides of loops
DROP INDEX docs_all;
ALTER TABLE docs ADD flag bool;
INSERT INTO docs SELECT i, to_tsvector('simple', 'common w' || i % 5), ARRAY['u' || i % 500, 't' || i % 500],
	ARRAY[i % 1000], NULL, NULL, NULL, ARRAY['v' || i % 99]::varchar[] FROM generate_series(10000, 19999) i;
UPDATE docs SET flag = CASE id % 3 WHEN 0 THEN true WHEN 1 THEN false END;
CREATE INDEX docs_flag ON docs USING skipidx (tsv, flag, tags, nums, vc);
VACUUM ANALYZE docs;
CREATE TABLE wanted (tag text, num int, other int8);
INSERT INTO wanted VALUES ('t1', 1, 3), ('t3', 4, 1), ('z', 2, 2), ('none', 9, 9), (NULL, NULL, NULL);
ANALYZE wanted;
CREATE TABLE asked (n int, query text);
INSERT INTO asked SELECT ordinality, query FROM unnest(ARRAY[
	$$wanted w JOIN docs d ON w.tag = ANY (d.tags)$$,
	$$wanted w JOIN docs d ON 'v' || w.num = ANY (d.vc)$$,
	$$wanted w JOIN docs d ON w.tag = ANY (d.vc) OR w.num = ANY (d.nums)$$,
	$$wanted w JOIN docs d ON w.num = ANY (d.nums) AND d.flag$$,
	$$wanted w JOIN docs d ON w.other::int4 = ANY (d.nums) AND d.flag IS UNKNOWN$$,
	$$wanted w LEFT JOIN docs d ON w.tag = ANY (d.tags) AND NOT d.flag$$,
	$$wanted w JOIN wanted x ON w.num < x.num JOIN docs d ON w.tag = ANY (d.tags) AND x.num = ANY (d.nums)$$,
	$$wanted w JOIN docs d ON w.tag = ANY (d.tags) JOIN docs x ON x.id = ANY (d.nums)$$,
	$$(SELECT * FROM wanted w WHERE EXISTS (SELECT FROM docs d WHERE w.tag = ANY (d.tags) AND d.flag)) w JOIN docs d ON d.id = w.num$$
	]) WITH ORDINALITY q (query);
CREATE FUNCTION joined(q text, OUT by_index bool, OUT n_rows int8, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	query text := 'SELECT count(*), sum(d.id) FROM ' || q;
	one record;
	other record;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_hashjoin = off;
	SET LOCAL enable_mergejoin = off;
	SET LOCAL enable_material = off;
	SET LOCAL join_collapse_limit = 1;
	by_index := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		by_index := by_index OR line ~ CASE WHEN q ~ 'flag' THEN 'Index Cond:.*flag.*@> ARRAY\[.*w\.'
			ELSE 'Index Cond:.*@> ARRAY\[.*w\.' END;
	END LOOP;
	EXECUTE query INTO one;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_material = on;
	EXECUTE query INTO other;
	n_rows := other.count;
	same := one = other;
END $$;
RESET enable_indexscan; SET enable_bitmapscan = off;
SELECT n, j.* FROM asked, joined(query) j ORDER BY n;
SET enable_indexscan = off; RESET enable_bitmapscan;
SELECT n, j.* FROM asked, joined(query) j ORDER BY n;
RESET enable_indexscan;

--
-- What is refused
--
CREATE TABLE other (id int, tsv tsvector, second tsvector, p point, js jsonb[], r int4range, x text);
CREATE INDEX ON other USING skipidx (id, tsv);
CREATE INDEX ON other USING skipidx (tsv, second);
CREATE INDEX ON other USING skipidx (tsv, p);
CREATE INDEX ON other USING skipidx (tsv, js);
CREATE INDEX ON other USING skipidx (tsv, x) INCLUDE (id);
-- elements that their type takes for equal, and text does not
SET client_min_messages = warning;
CREATE TYPE folded;
CREATE FUNCTION folded_in(cstring) RETURNS folded LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION folded_out(folded) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE folded (INPUT = folded_in, OUTPUT = folded_out, LIKE = text, COLLATABLE = true);
CREATE CAST (folded AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION folded_lt(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text) < lower($2::text)';
CREATE FUNCTION folded_le(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text) <= lower($2::text)';
CREATE FUNCTION folded_eq(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text) = lower($2::text)';
CREATE FUNCTION folded_ge(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text) >= lower($2::text)';
CREATE FUNCTION folded_gt(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT lower($1::text) > lower($2::text)';
CREATE FUNCTION folded_cmp(folded, folded) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE OPERATOR < (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_lt);
CREATE OPERATOR <= (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_le);
CREATE OPERATOR = (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_eq);
CREATE OPERATOR >= (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_ge);
CREATE OPERATOR > (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_gt);
CREATE OPERATOR CLASS folded_ops DEFAULT FOR TYPE folded USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 folded_cmp(folded, folded);
CREATE TABLE folds (tsv tsvector, words folded[], names varchar(9)[], addresses cidr[], classes regclass[]);
\set VERBOSITY sqlstate
CREATE INDEX ON folds USING skipidx (tsv, words);
\set VERBOSITY terse
CREATE INDEX ON folds USING skipidx (tsv, names, addresses, classes);
DROP TABLE folds;
DROP TYPE folded CASCADE;
RESET client_min_messages;
CREATE INDEX other_x ON other USING skipidx (tsv, x);
INSERT INTO other (tsv, x) VALUES ('a', repeat('x', 2045));
INSERT INTO other (tsv, x) VALUES ('a', repeat('x', 2044));
SELECT count(*) FROM other;
SET enable_seqscan = off;
SELECT count(*) FROM other WHERE tsv @@ 'a' AND x = repeat('x', 2044);
SELECT count(*) FROM other WHERE tsv @@ 'a' AND x = repeat('x', 2045);

-- as many equal elements as an array has; of those that differ, a megabyte
CREATE TABLE long_arrays (tsv tsvector, x int[]);
INSERT INTO long_arrays SELECT 'a', array_agg(i % 3) FROM generate_series(1, 1000000) i;
CREATE INDEX long_arrays_x ON long_arrays USING skipidx (tsv, x);
INSERT INTO long_arrays SELECT 'a', array_agg(i % 5) FROM generate_series(1, 1000000) i;
SELECT count(*) FILTER (WHERE x @> '{2}'), count(*) FILTER (WHERE x && '{4,5}') FROM long_arrays WHERE tsv @@ 'a';
SET enable_seqscan = off;
SELECT count(*) FROM long_arrays WHERE tsv @@ 'a' AND x @> '{2}';
SELECT count(*) FROM long_arrays WHERE tsv @@ 'a' AND x && '{4,5}';
RESET enable_seqscan;
INSERT INTO long_arrays SELECT 'a', array_agg(i) FROM generate_series(1, 1000000) i;
DROP TABLE long_arrays;
RESET enable_seqscan;

--
-- An array with one of several arrays, which are of a domain
--
CREATE DOMAIN words AS text[];
CREATE TABLE worded (id int, tags text[], tsv tsvector);
INSERT INTO worded SELECT i, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[NULL]::text[]
	ELSE ARRAY['a' || i % 3, 'b' || i % 5, CASE WHEN i % 4 > 0 THEN 'c' END] END, 'w' FROM generate_series(1, 100) i;
CREATE INDEX worded_x ON worded USING skipidx (tsv, tags);
CREATE TABLE lists (n int, list words[]);
INSERT INTO lists VALUES (1, '{}'), (2, NULL), (3, '{"{a1}","{a2,b3}"}'), (4, '{"{}"}'), (5, '{"{}","{b1}"}'), (6, '{"{NULL}"}'),
	(7, '{NULL,"{a0,b0,c}","{a0,b0,NULL}"}'), (8, '{"{nosuch}"}'), (9, '{"{a1,b1,c}"}'), (10, ARRAY[ARRAY[repeat('x', 3000)]::words, ARRAY['b1']::words]);
CREATE FUNCTION worded(by_index bool) RETURNS TABLE (n int, equal text, contains text, overlaps text) LANGUAGE plpgsql AS $$
DECLARE
	l lists;
	q text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true),
		set_config('enable_indexscan', by_index::text, true);
	FOR l IN SELECT * FROM lists ORDER BY 1 LOOP
		n := l.n;
		q := format('SELECT concat_ws('' '', (SELECT count(*) FROM worded WHERE tags %%s ANY (%1$L::words[])),'
			' (SELECT sum(id) FROM worded WHERE tags %%1$s ANY (%1$L::words[])))', l.list);
		EXECUTE format(q, '=') INTO equal;
		EXECUTE format(q, '@>') INTO contains;
		EXECUTE format(q, '&&') INTO overlaps;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM worded(true);
SELECT * FROM worded(false) EXCEPT SELECT * FROM worded(true);
PREPARE worded (words[]) AS SELECT count(*) FROM worded WHERE tags @> ANY ($1);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE worded ('{"{a1}","{b2}"}');
EXECUTE worded (NULL);
RESET enable_seqscan;
RESET plan_cache_mode;
DEALLOCATE worded;
DROP TABLE worded, lists;
DROP FUNCTION worded;
DROP DOMAIN words;

--
-- An operator class of one's own: ranges, by their text
--
CREATE FUNCTION range_form(int4range) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS 'SELECT convert_to($1::text, ''UTF8'')';
CREATE OPERATOR CLASS int4range_ops DEFAULT FOR TYPE int4range USING skipidx AS
	OPERATOR 3 = (anyrange, anyrange), FUNCTION 1 range_form(int4range);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'int4range_ops';
CREATE INDEX other_r ON other USING skipidx (tsv, r);
INSERT INTO other (id, tsv, r) SELECT i, 'a', int4range(i % 3, 9) FROM generate_series(1, 30) i;
SET enable_seqscan = off;
SELECT count(*), min(id) FROM other WHERE r = '[1,8]';
RESET enable_seqscan;
DROP TABLE docs, other, wanted, asked;
DROP OPERATOR FAMILY int4range_ops USING skipidx;
DROP FUNCTION range_form, compare, each, joined;
DROP DOMAIN code;
DROP TYPE mood;
