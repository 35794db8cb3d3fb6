--
-- What follows from a condition for a column of the index: each form against the
-- sequential scan, and the condition that the index is asked by
--
-- Holds: plan 22, 23, 26, 27
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET timezone = 'America/New_York';

CREATE TYPE mood AS ENUM ('sad', 'calm', 'glad', 'mad', 'odd', 'new');
CREATE TABLE derived (id int, tsv tsvector, n int, sent timestamptz, day date, f float8, name text, tags int[], big int8,
	vc varchar(8), kind mood)
	WITH (autovacuum_enabled = off);
INSERT INTO derived SELECT i, CASE WHEN i % 23 <> 0 THEN ('common w' || i % 5)::tsvector END,
	CASE WHEN i % 13 <> 0 THEN i / 40 END, CASE WHEN i % 17 <> 0 THEN timestamptz '2020-01-01' + i / 6 * interval '6 hours' END,
	date '2020-01-01' + i / 25, CASE WHEN i % 50 = 0 THEN 'NaN' ELSE (i / 40)::float8 END, 'n' || i % 4, ARRAY[i % 3, i % 7], i % 40,
	'v' || i % 9, (enum_range(NULL::mood))[i % 6 + 1]
	FROM generate_series(1, 2000) i;
CREATE INDEX derived_skx ON derived USING skipidx (tsv, n, sent, day, f, name, tags, big, vc, kind) WITH (block_size = 8);
VACUUM ANALYZE derived;

-- The conditions that the index is asked by, but for the first one, on the text; and
-- whether the rows are those of the sequential scan, also by a bitmap.
CREATE FUNCTION asked(query text, OUT conds text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Cond' THEN
			conds := concat_ws('; ', conds, regexp_replace(regexp_replace(line, '^.*Index Cond: ', ''), '\(*(d\.)?tsv @@ ''''''\w*''''''::tsquery\)*( AND )?', ''));
			-- from 17 on, from 19 on
			conds := regexp_replace(regexp_replace(conds, '\)\)$', ')'), '\(InitPlan (expr_)?1\)\.col1', '$0');
		END IF;
	END LOOP;
	conds := coalesce(conds, '-');
END $$;
CREATE FUNCTION compare(cond text, tail text DEFAULT '', source text DEFAULT 'derived', OUT n_rows int, OUT same bool, OUT conds text)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s WHERE tsv @@ ''common'' AND (%s) %s', source, cond, tail);
	want int[];
	plain int[];
	bitmap int[];
BEGIN
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT array_agg(id ORDER BY id) FROM (%s) s', query) INTO want;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = on;
	EXECUTE format('SELECT array_agg(id ORDER BY id) FROM (%s) s', query) INTO bitmap;
	SET LOCAL enable_bitmapscan = off;
	SET LOCAL enable_indexscan = on;
	EXECUTE format('SELECT array_agg(id ORDER BY id) FROM (%s) s', query) INTO plain;
	n_rows := coalesce(cardinality(want), 0);
	same := want IS NOT DISTINCT FROM plain AND want IS NOT DISTINCT FROM bitmap;
	conds := asked(query);
END $$;

-- Comparisons of rows: the bound with its value
SELECT cond, c.* FROM unnest(ARRAY[
	'(n, id) < (20, 810)', '(n, id) <= (20, 810)', '(n, id) > (20, 810)', '(n, id) >= (20, 810)',
	'(20, 810) > (n, id)', '(20, 810) <= (n, id)', '(n, id) < (20, NULL)', '(n, id) < (NULL, 810)', '(n, id, f) > (20, 810, 3)',
	'(n, id) < (20::int8, 810)', '(big, id) >= (20, 810)', '(id, n) < (810, 20)', '(n, big) < (20, id)', '(n, big) < (id, 20)',
	'(f, id) >= (49, 3)', $$(f, id) < ('NaN', 810)$$, $$(f, id) >= ('NaN', 810)$$,
	$$(sent, id) < ('2020-02-01', 810)$$, $$(sent, id) < (date '2020-02-01', 810)$$, $$(day, id) > (timestamptz '2020-02-01 03:00+00', 810)$$,
	$$(name, id) < ('n2', 810)$$, '(tags, id) < (ARRAY[1], 5)', '(n, id) = (20, 810)', '(n, id) <> (20, 810)', 'NOT (n, id) < (20, 810)',
	'(n, id) < (random()::int * 0 + 20, 810)', '(n, id) < ((SELECT 20), 810)', '(n, id) > (20, 810) AND (n, id) < (22, 880)']) WITH ORDINALITY q (cond, i), compare(cond) c ORDER BY i;

-- Disjunctions, all arms of which compare the column with one value
SELECT cond, c.* FROM unnest(ARRAY[
	'n < 20 OR (n = 20 AND id < 810)', 'n > 20 OR (n = 20 AND id > 810)', 'n <= 20 AND id < 500 OR n = 20 AND id > 810',
	'20 > n OR (id < 810 AND 20 = n)', 'n < 20 OR (n = 20 AND (id < 810 OR (id = 815 AND f > 2)))', 'n < 20 OR (n = 20 AND (n, id) < (20, 810))',
	'n > 20::int8 OR (n = 20::int8 AND id > 810)', 'n > 20::int8 OR (n = 20 AND id > 810)', 'n < NULL OR (n = NULL AND id < 810)',
	'n < 20 OR (n = 21 AND id < 850)', 'n < 20 OR (n > 20 AND id < 850)', 'n < 20 OR id < 850', 'n < 20 OR (n = 20 AND id < 810) OR id = 4',
	'n < 20 OR (n = 20 AND id < 810) OR n IS NULL', 'n < id - 790 OR (n = id - 790 AND id < 810)', 'n = 20 AND id < 810 OR n = 20 AND f > 19',
	$$sent > '2020-02-01' OR (sent = '2020-02-01' AND id > 745)$$, $$day < timestamptz '2020-02-01 05:00+00' OR (day = timestamptz '2020-02-01 05:00+00' AND id < 790)$$,
	$$name < 'n2' OR (name = 'n2' AND id < 810)$$, 'tags < ARRAY[1] OR (tags = ARRAY[1] AND id < 5)',
	'n < 20 OR (n = 20 AND id < random() * 0 + 810)', 'n < random() * 0 + 20 OR (n = random() * 0 + 20 AND id < 810)',
	'n < (SELECT 20) OR (n = (SELECT 20) AND id < 810)']) WITH ORDINALITY q (cond, i), compare(cond) c ORDER BY i;

-- Disjunctions of equalities with values of one type: any of an array
SELECT cond, c.* FROM unnest(ARRAY[
	'n = 20 OR n = 22', 'n = 20 OR 22 = n OR n = 49', 'n = 20 OR n = NULL', 'n = 20::int8 OR n = 22::int8', 'n = 20 OR n = 22::int8',
	'n = 20 OR n = 22 OR id = 4', 'n = 20 OR n = id', 'n = 20 OR n = (SELECT 22)', 'n = 20 OR n = random()::int * 0 + 22', 'n = 20 OR n > 48', 'n = 20 OR n IS NULL',
	'n <> 20 OR n < 22', 'NOT (n <> 20 AND n <> 22)', 'n = 20 OR big = 20', '(n = 20 OR n = 22) AND (big = 1 OR big = 2 OR big = 33)',
	$$f = 'NaN' OR f = 3$$, $$f = 0 OR f = '-0'$$, $$sent = '2020-02-01' OR sent = '2020-02-01 06:00'$$, $$sent = date '2020-02-01' OR sent = date '2020-02-03'$$,
	$$day = timestamptz '2020-02-01 05:00+00' OR day = timestamptz '2020-02-02 06:00+00'$$, $$name = 'n1' OR name = 'n7'$$, $$name = 'n1' OR name = 'n2' COLLATE "POSIX"$$,
	$$vc = 'v1' OR vc = 'v10'$$, $$kind = 'sad' OR kind = 'glad'$$, 'tags = ARRAY[1, 1] OR tags = ARRAY[2, 2]', 'tags @> ARRAY[1] OR tags @> ARRAY[2]',
	$$tsv @@ 'w1' OR tsv @@ 'w2'$$, $$tsv @@ 'w1' OR tsv @@ 'w2 & !w3'$$, $$tsv @@ 'w1' OR tsv @@ NULL OR tsv @@ ''$$, $$'w1'::tsquery @@ tsv OR tsv @@@ 'w2'$$,
	$$tsv @@ 'w1' OR n = 20$$, $$tsv @@ 'w1' OR tsv @@ 'w1 & w2' OR 'w3' @@ tsv$$, $$tsv @@ 'w1' OR tsv IS NULL$$]) WITH ORDINALITY q (cond, i), compare(cond) c ORDER BY i;
-- counted by the index, and ranked
CREATE FUNCTION counted(cond text, OUT by_index bool, OUT same bool) LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) FROM derived WHERE ' || cond;
	line text;
	one int8;
	other int8;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_bitmapscan = on;
	by_index := false;
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		by_index := by_index OR line ~ 'Skipidx Count';
	END LOOP;
	EXECUTE query INTO one;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO other;
	same := one = other;
END $$;
SELECT cond, c.* FROM unnest(ARRAY['n = 20 OR n = 22', $$tsv @@ 'w1' OR tsv @@ 'w2'$$, $$(tsv @@ 'w1' OR tsv @@ '') AND (name = 'n1' OR name = 'n2')$$,
	$$name = 'n1' OR name = 'n2'$$,
	'n < 20 OR (n = 20 AND id < 810)', '(n, id) < (20, 810)', 'n < 20 OR n > 48']) WITH ORDINALITY q (cond, i), counted(cond) c ORDER BY i;
SELECT cond, c.* FROM unnest(ARRAY['n = 20 OR n = 22', $$name = 'n1' OR name = 'n2'$$]) WITH ORDINALITY q (cond, i),
	compare(cond, $$ORDER BY tsv <@> 'w1 | common', id LIMIT 30$$) c ORDER BY i;

-- Disjunctions of conditions on columns: one key for all of them
SELECT cond, c.* FROM unnest(ARRAY[
	'n = 20 OR big = 3', 'n = 20 OR tags @> ARRAY[5]', 'n < 5 OR n > 48', 'n = 20 OR 3 = ANY (tags)', 'n IS NULL OR sent IS NULL',
	$$n < 5 AND big > 30 OR name = 'n1' AND f IS NOT NULL AND n > 40 OR kind = 'mad' AND n = 7$$, 'NOT (n > 3 AND big <> 7)', 'n = 20 OR big NOT IN (1, 2, 3)',
	'n = 20 OR big BETWEEN 5 AND 6 OR NOT f < 49', $$n = 20 AND (big = 1 OR name = 'n1')$$, $$n = 20 OR big = 1 AND (name = 'n1' OR name = 'n3')$$,
	$$(n = 20 OR big = 3) AND (name = 'n1' OR kind = 'mad')$$, 'n = NULL OR big = 3', 'n = NULL OR big = ANY (ARRAY[NULL, 3])', 'n = NULL OR n > 20 AND n < 10',
	'n = (SELECT 20) OR big = 3', 'n = 20 OR tags = ARRAY[1, 1]', $$n = 20 OR sent < date '2020-01-05'$$, $$n = 20 OR day < timestamptz '2020-01-05 07:00+00'$$,
	$$name IS DISTINCT FROM 'n1'$$, $$n IS DISTINCT FROM 20 AND name IS DISTINCT FROM NULL$$, $$NOT (n IS DISTINCT FROM 20)$$, $$20 IS DISTINCT FROM n$$,
	$$NOT (tags && ARRAY[1, 6]) OR n = 20$$, $$NOT (tags @> ARRAY[1] AND n > 5)$$, 'n IS DISTINCT FROM (SELECT 20)', 'n IS DISTINCT FROM big',
	'n < 20 OR (n = 20 AND big < 10)', 'n < 20 OR (n = 21 AND big < 10)', 'n = 20 OR id = 4', 'n = 20 OR n = id', $$n = 20 OR tsv @@ 'w1'$$, $$n = 20 AND tsv @@ 'w1' OR big = 3$$,
	$$n = 20 OR tsv @@ '!w1'$$, $$n = 20 OR tsv @@ ''$$, $$n = 20 OR tsv @@ NULL$$, $$n = 20 OR tsv @@ 'w:*'$$, $$n = 20 OR tsv @@ ANY ('{w1,!w2}')$$, $$tsv @@ 'w1' OR tsv IS NULL AND n < 9$$,
	'n = 20 OR big = random()::int * 0 + 3', 'n = 20 OR big = (SELECT derived.id)', $$n = 20 OR name < 'n1'$$]) WITH ORDINALITY q (cond, i), compare(cond) c ORDER BY i;
SELECT n, c.n_rows, c.same, left(c.conds, 30) AS conds FROM unnest(ARRAY[64, 65]) n,
	LATERAL (SELECT string_agg('n = ' || i || ' AND big = ' || i, ' OR ') AS cond FROM generate_series(1, n / 2) i) half,
	LATERAL (SELECT CASE WHEN n % 2 = 0 THEN cond ELSE cond || ' OR f IS NULL' END AS cond) whole, compare(whole.cond) c;
-- counted by the index, ranked, in the order of a column, and parallel
SELECT cond, c.* FROM unnest(ARRAY['n = 20 OR big = 3', $$tsv @@ 'common' AND (n < 5 OR n > 48 OR name = 'n1' AND tags && ARRAY[3])$$, 'n = 20 OR sent IS NULL',
	'n = 20 OR tags = ARRAY[1, 1]', $$n = 20 OR day < timestamptz '2020-01-05 07:00+00'$$,
	$$tsv @@ '!w1' OR n = 20$$, $$n < 30 AND (tsv @@ '!(w1 | w2)' OR tsv @@ 'w1' AND n = 20 OR tsv IS NULL AND big = 3)$$]) WITH ORDINALITY q (cond, i), counted(cond) c ORDER BY i;
SELECT cond, tail, c.* FROM unnest(ARRAY['n = 20 OR big = 3', $$n > 45 AND name = 'n1' OR tags @> ARRAY[1, 6] OR n IS NULL$$, 'n = 20 OR tags = ARRAY[1, 1]', $$tsv @@ 'w1 & !w2' OR n = 20$$]) WITH ORDINALITY q (cond, i),
	unnest(ARRAY[$$ORDER BY tsv <@> 'w1 | common', id LIMIT 30$$, 'ORDER BY n DESC NULLS LAST, id LIMIT 30', 'ORDER BY f, id LIMIT 30']) WITH ORDINALITY t (tail, k),
	compare(cond, tail) c ORDER BY i, k;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SELECT cond, c.n_rows, c.same FROM unnest(ARRAY['n = 20 OR big = 3', 'n < 40 OR tags @> ARRAY[1, 6] OR n IS NULL']) WITH ORDINALITY q (cond, i), compare(cond) c ORDER BY i;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET min_parallel_index_scan_size;
-- values that only the execution knows
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE open_values (int, text, int[]) AS SELECT count(*), min(id) FROM derived
	WHERE tsv @@ 'common' AND (n = $1 AND name = $2 OR name = 'n1' AND tags && $3 OR big = ANY ($3) OR f = 3 + $1);
EXPLAIN (COSTS OFF) EXECUTE open_values (20, 'n0', '{1,2}');
EXECUTE open_values (20, 'n0', '{1,2}');
EXECUTE open_values (20, NULL, '{NULL,2}');
EXECUTE open_values (NULL, 'n0', NULL);
SET plan_cache_mode = force_custom_plan;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXECUTE open_values (20, 'n0', '{1,2}');
EXECUTE open_values (20, NULL, '{NULL,2}');
EXECUTE open_values (NULL, 'n0', NULL);
RESET plan_cache_mode;
SELECT v.n, count(*), min(d.id) FROM (VALUES (20, ARRAY[5]), (21, ARRAY[6]), (NULL, NULL)) v (n, t) JOIN derived d ON d.n = v.n OR d.tags @> v.t AND d.big < v.n GROUP BY 1 ORDER BY 1;
SET enable_seqscan = off;
SET enable_indexscan = on;
EXPLAIN (COSTS OFF) SELECT v.n, d.id FROM (VALUES (20, ARRAY[5]), (21, ARRAY[6]), (NULL, NULL)) v (n, t) JOIN derived d ON d.n = v.n OR d.tags @> v.t AND d.big < v.n;
SELECT v.n, count(*), min(d.id) FROM (VALUES (20, ARRAY[5]), (21, ARRAY[6]), (NULL, NULL)) v (n, t) JOIN derived d ON d.n = v.n OR d.tags @> v.t AND d.big < v.n GROUP BY 1 ORDER BY 1;
-- a policy that is one
CREATE ROLE regress_skipidx_reader;
GRANT SELECT ON derived TO regress_skipidx_reader;
CREATE POLICY readers ON derived USING (n = current_setting('derived.reader')::int OR tags @> ARRAY[current_setting('derived.reader')::int] AND big < 9);
ALTER TABLE derived ENABLE ROW LEVEL SECURITY;
SET ROLE regress_skipidx_reader;
SET derived.reader = 6;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM derived ORDER BY tsv <@> 'w1 | common' LIMIT 5;
RESET enable_sort;
SELECT id FROM derived ORDER BY tsv <@> 'w1 | common', id LIMIT 5;
RESET ROLE;
SELECT id FROM derived WHERE n = 6 OR tags @> ARRAY[6] AND big < 9 ORDER BY tsv <@> 'w1 | common', id LIMIT 5;
DROP POLICY readers ON derived;
ALTER TABLE derived DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_skipidx_reader;
DROP ROLE regress_skipidx_reader;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- by an index on an expression
CREATE TABLE spoken AS SELECT id, name, n, big FROM derived;
CREATE INDEX spoken_skx ON spoken USING skipidx (to_tsvector('simple', name), n, big);
VACUUM ANALYZE spoken;
EXPLAIN (COSTS OFF) SELECT count(*) FROM spoken WHERE to_tsvector('simple', name) @@ 'n1' AND ((n, big) IN ((20, 5), (21, 9)) OR big IS NULL);
SELECT count(*) FROM spoken WHERE to_tsvector('simple', name) @@ 'n1' AND ((n, big) IN ((20, 5), (21, 9)) OR big IS NULL);
SELECT count(*) FROM spoken WHERE name = 'n1' AND ((n, big) IN ((20, 5), (21, 9)) OR big IS NULL);
-- no user can make one
SELECT 'n = 20'::skipidx_disjunction;
SELECT skx_bind_values(NULL::skipidx_disjunction, 20);
SET enable_seqscan = off;
SELECT count(*) FROM derived WHERE tsv @@| ANY ('{NULL}'::skipidx_disjunction[]) OR n = 20;
SELECT count(*) FROM derived WHERE tsv @@| NULL OR n = 20;
SELECT count(*) FROM derived WHERE tsv @@| ANY (ARRAY[NULL::skipidx_disjunction]);
RESET enable_seqscan;

-- Pages in an order, forward and backward: of all rows in it, those from a row on
CREATE FUNCTION page(cond text, way text, OUT pages int, OUT n_rows int, OUT same bool, OUT conds text) LANGUAGE plpgsql AS $$
DECLARE
	at record;
	query text;
	want int[];
	got int[];
	found int[];
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format($q$SELECT array_agg(id ORDER BY n %1$s, id %1$s) FROM derived WHERE tsv @@ 'common' AND n IS NOT NULL$q$, way) INTO want;
	pages := 0;
	SELECT * INTO at FROM derived WHERE id = want[1];
	got := want[1:1];
	LOOP
		query := format($q$SELECT id FROM derived WHERE tsv @@ 'common' AND (%1$s) ORDER BY n %2$s, id %2$s LIMIT 150$q$,
			replace(replace(cond, '$1', at.n::text), '$2', at.id::text), way);
		EXECUTE format('SELECT array_agg(id) FROM (%s) s', query) INTO found;
		EXIT WHEN found IS NULL;
		conds := coalesce(conds, asked(query));
		pages := pages + 1;
		got := got || found;
		SELECT * INTO at FROM derived WHERE id = found[cardinality(found)];
	END LOOP;
	n_rows := cardinality(got);
	same := got = want;
END $$;
SELECT cond, p.* FROM (VALUES (1, '(n, id) < ($1, $2)', 'DESC'), (2, 'n < $1 OR (n = $1 AND id < $2)', 'DESC'), (3, '(n, id) > ($1, $2)', ''),
	(4, 'n > $1 OR (n = $1 AND id > $2)', '')) q (i, cond, way), page(cond, way) p ORDER BY i;
-- where the derived condition makes no row of the filter's likely to be discarded, no more are asked for
CREATE FUNCTION rows_asked(cond text, OUT n int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	FOR line IN EXECUTE $q$EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM derived WHERE tsv @@ 'common' AND $q$ || cond || ' ORDER BY n DESC, id DESC LIMIT 20' LOOP
		n := coalesce(n, substring(line FROM 'Rows Asked: (\d+)')::int);
	END LOOP;
END $$;
SELECT rows_asked('(n, id) < (2, 90)') BETWEEN 21 AND 60 AS rows, rows_asked('(n < 2 OR (n = 2 AND id < 90))') BETWEEN 21 AND 60 AS disjunction;

-- Parameters, in a plan for all of them
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE rows_from(int, int) AS SELECT count(*), sum(id) FROM derived WHERE tsv @@ 'common' AND (n, id) < ($1, $2);
PREPARE or_from(int, int) AS SELECT count(*), sum(id) FROM derived WHERE tsv @@ 'common' AND (n < $1 OR (n = $1 AND id < $2));
PREPARE or_two(int, int, int) AS SELECT count(*), sum(id) FROM derived WHERE tsv @@ 'common' AND (n < $1 OR (n = $3 AND id < $2));
PREPARE any_of(int, int, tsquery, tsquery) AS SELECT count(*), sum(id) FROM derived WHERE (n = $1 OR n = $2) AND (tsv @@ $3 OR tsv @@ $4);
SELECT asked('EXECUTE rows_from(20, 810)') AS rows, asked('EXECUTE or_from(20, 810)') AS one;
EXECUTE rows_from(20, 810);
EXECUTE or_from(20, 810);
EXECUTE or_two(20, 810, 21);
SELECT asked($$EXECUTE any_of(20, 22, 'w1', 'w2')$$);
EXECUTE any_of(20, 22, 'w1', 'w2');
EXECUTE any_of(20, NULL, NULL, 'w2');
EXECUTE any_of(NULL, NULL, 'w1', 'w2');
EXECUTE rows_from(NULL, 810);
EXECUTE or_from(NULL, 810);
EXECUTE or_two(NULL, 810, 20);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Values of another table
CREATE TABLE froms (a int, b int8, c int);
INSERT INTO froms VALUES (3, 3, 130), (20, 7, 810), (NULL, 2, 5), (4, NULL, NULL), (1, 100, 50);
ANALYZE froms;
CREATE FUNCTION joined(cond text, kind text DEFAULT 'JOIN', OUT n_rows int8, OUT same bool, OUT conds text) LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*), sum(d.id) FROM froms x CROSS JOIN froms y %s derived d ON tsv @@ ''common'' AND %s', kind, cond);
	one record;
	other record;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_hashjoin = off;
	SET LOCAL enable_mergejoin = off;
	SET LOCAL enable_material = off;
	conds := asked(query);
	EXECUTE query INTO one;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE query INTO other;
	n_rows := other.count;
	same := one = other;
END $$;
RESET enable_seqscan;
SET enable_bitmapscan = off;
SELECT cond, kind, j.* FROM unnest(ARRAY['(d.n, d.id) < (x.a, y.c)', '(d.n, d.id) < (x.b, y.c)', '(d.n, x.c) >= (x.a, d.id)',
	'(d.n < x.a OR (d.n = x.a AND d.id < y.c))',
	'(d.n = x.a OR d.n = y.a)', '(d.n = x.a OR d.n = y.c % 7)', '(d.n = x.b OR d.n = y.b) AND (d.name = ''n1'' OR d.name = ''n'' || x.a)']) WITH ORDINALITY q (cond, i),
	unnest(ARRAY['JOIN', 'LEFT JOIN']) kind, joined(cond, kind) j ORDER BY i, kind;
RESET enable_bitmapscan;

-- Partitions, in one of which columns have other numbers
CREATE TABLE parted (id int, tsv tsvector, n int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (1000);
CREATE TABLE parted_2 (gone int, n int, also int, tsv tsvector, id int);
ALTER TABLE parted_2 DROP gone, DROP also;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (1000) TO (9000);
INSERT INTO parted SELECT id, tsv, n % 30 FROM derived;
CREATE INDEX ON parted USING skipidx (tsv, n);
VACUUM ANALYZE parted;
SELECT cond, c.* FROM unnest(ARRAY['(n, id) < (5, 1250)', 'n > 5 OR (n = 5 AND id > 1250)', 'n = 5 OR n = 7']) cond, compare(cond, '', 'parted') c;
SELECT cond, c.* FROM unnest(ARRAY['(n, id) < (5, 1250)', 'n < 5 OR (n = 5 AND id < 1250)']) cond, compare(cond, 'ORDER BY n DESC, id DESC LIMIT 40', 'parted') c;

-- Behind a security barrier: only what tells nothing of rows behind it
CREATE VIEW barred WITH (security_barrier) AS SELECT * FROM derived WHERE n % 2 = 0;
SELECT cond, c.* FROM unnest(ARRAY['(n, id) < (20, 810)', 'n < 20 OR (n = 20 AND id < 810)', $$n < 20 OR (n = 20 AND id < 810 AND upper(name) > '0')$$, 'n = 20 OR n = 22']) cond,
	compare(cond, '', 'barred') c;

-- What arrays must not have; a boolean expression as a column
CREATE TABLE forbidden AS SELECT id, tsv, n, CASE WHEN id % 11 = 0 THEN NULL WHEN id % 13 = 0 THEN '{}' WHEN id % 17 = 0 THEN '{1,NULL}' ELSE tags END AS tags FROM derived;
CREATE INDEX forbidden_skx ON forbidden USING skipidx (tsv, tags, (n > 30));
VACUUM ANALYZE forbidden;
SET cpu_tuple_cost = 1;
SELECT cond, c.* FROM unnest(ARRAY['NOT (tags && ARRAY[1, 6])', 'NOT (ARRAY[1] && tags)', 'NOT (tags @> ARRAY[1])', 'NOT (tags @> ARRAY[1, 2])', 'NOT (1 = ANY (tags))',
	'tags !&& ARRAY[1]', 'NOT (tags && ARRAY[n])', 'NOT (tags && (SELECT ARRAY[1]))', 'tags IS NULL OR NOT (tags && ARRAY[1])', 'NOT (tags && ARRAY[1]) AND NOT (tags && ARRAY[2])',
	'n > 30', 'NOT (n > 30)', '(n > 30) IS FALSE', '(n > 30) IS UNKNOWN', 'n > 31', '(n > 30) AND NOT (tags && ARRAY[1])']) WITH ORDINALITY q (cond, i), compare(cond, '', 'forbidden') c ORDER BY i;
SELECT cond, c.* FROM unnest(ARRAY['NOT (tags && ARRAY[1, 6])', 'NOT (1 = ANY (tags))', 'n > 30', '(n > 30) IS UNKNOWN AND NOT (tags && ARRAY[1])']) WITH ORDINALITY q (cond, i),
	compare(cond, $$ORDER BY tsv <@> 'w1 | common', id LIMIT 30$$, 'forbidden') c ORDER BY i;
CREATE VIEW barred_arrays WITH (security_barrier) AS SELECT * FROM forbidden WHERE n % 2 = 0;
SELECT cond, c.* FROM unnest(ARRAY['NOT (tags && ARRAY[1, 6])', 'n > 30']) cond, compare(cond, '', 'barred_arrays') c;
RESET cpu_tuple_cost;
DROP VIEW barred_arrays;
DROP TABLE forbidden;

-- Up to 16 arms and 16 parts an arm give a bound; more are not compared with all others
SELECT n_arms, n_parts, c.* FROM (VALUES (16, 16), (17, 2), (2, 17), (16, 17)) v (n_arms, n_parts),
	LATERAL (SELECT string_agg(format('id <> %s AND ', j), '' ORDER BY j) parts FROM generate_series(2, n_parts) j) p,
	LATERAL (SELECT string_agg(format('(%sn %s 20)', replace(parts, '<> ', '<> 1' || lpad(i::text, 2, '0')), CASE i WHEN 1 THEN '<' ELSE '=' END), ' OR ') arms FROM generate_series(1, n_arms) i) a,
	compare(arms) c;

DROP VIEW barred;
DROP FUNCTION counted, joined, rows_asked, page, compare, asked;
DROP TABLE derived, froms, parted;
DROP TYPE mood;
