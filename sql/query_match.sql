--
-- Every operator form of tsquery, by sequential scan and through the index
--
-- Holds: query 1, 2, 3
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
INSERT INTO docs VALUES
	(1, 'fat:1 cat:2 sat:3 mat:6'),
	(2, 'fat:1A rat:2B sat:3C fat:4D'),
	(3, 'cat:2 fat:1 and:3 rat:4'),
	(4, 'fat cat'),                       -- no positions
	(5, 'fat:5 cat'),                     -- only some have
	(6, 'cat:1,3,5 fat:2,4'),
	(7, 'category:1A catalogue:2 cathedral:3B'),
	(8, 'rat:16383 cat:16383 fat:16382'),
	(9, NULL),
	(10, ''),
	(11, 'Cat:1 CAT:2 cät:3'),
	(12, 'supernova:1 star:2'),
	(13, 'near:1 far:16383');
-- The same again, to be pending behind the segment.
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 8);
INSERT INTO docs SELECT id + 100, body FROM docs;

-- The ids of a query by sequential scan, if bitmap and plain index scan, @@@
-- and the commuted operator find the same.
CREATE FUNCTION ids(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one record;
	line text;
	got text;
	oracle text;
	used bool;
BEGIN
	FOR one IN SELECT * FROM (VALUES
		('Seq Scan on', 'on', 'off', 'off', 'body @@ $1'),
		('Bitmap Index Scan on docs_body', 'off', 'on', 'off', 'body @@ $1'),
		('Index Scan using docs_body', 'off', 'off', 'on', 'body @@ $1'),
		('Index Scan using docs_body', 'off', 'off', 'on', '$1 @@ body'),
		('Bitmap Index Scan on docs_body', 'off', 'on', 'off', 'body @@@ $1')) m(node, seq, bitmap, plain, cond)
	LOOP
		PERFORM set_config('enable_seqscan', one.seq, true),
			set_config('enable_bitmapscan', one.bitmap, true),
			set_config('enable_indexscan', one.plain, true);
		used := false;
		FOR line IN EXECUTE 'EXPLAIN SELECT id FROM docs WHERE ' || one.cond USING q LOOP
			used := used OR strpos(line, one.node) > 0;
		END LOOP;
		IF NOT used THEN
			RETURN 'no ' || one.node;
		END IF;
		EXECUTE 'SELECT coalesce(string_agg(id::text, '' '' ORDER BY id), ''none'') FROM docs WHERE ' || one.cond
			INTO got USING q;
		oracle := coalesce(oracle, got);
		IF got <> oracle THEN
			RETURN format('%s: %s instead of %s', one.node, got, oracle);
		END IF;
	END LOOP;
	-- the second half repeats the first
	RETURN regexp_replace(oracle, ' ?1\d\d\M', '', 'g');
END $$;

SELECT q AS query, ids(q::tsquery) AS rows FROM unnest(ARRAY[
	-- words
	'fat', 'cat', 'supernova', 'nosuch', '''Cat''', '''cät''', 'c',
	-- AND, OR, NOT
	'fat & cat', 'fat & rat', 'fat & cat & sat', 'fat & nosuch',
	'rat | star', 'nosuch | star', 'fat & (rat | mat)', 'fat & cat | rat & sat',
	'fat & !cat', 'cat & !fat', '!fat', '!!fat', '!nosuch', '!fat & !star',
	'!(fat & cat)', '!(fat | star)', 'star | !cat', 'fat & !fat', 'fat | !fat', 'fat & fat'
]) q;
SELECT q AS query, ids(q::tsquery) AS rows FROM unnest(ARRAY[
	-- phrases
	'fat <-> cat', 'cat <-> fat', 'fat <2> sat', 'fat <3> and', 'fat <5> mat', 'fat <0> fat',
	'rat <0> cat', 'fat <-> cat <-> sat', 'fat <-> (cat <-> sat)', 'cat <-> fat <-> cat',
	'fat <-> nosuch', 'fat <16384> cat', 'fat <16383> cat', 'near <16382> far', 'near <16381> far', 'fat <-> fat',
	'cat <2> cat <2> cat', 'fat <-> rat | fat <-> cat', 'fat <-> cat & mat',
	-- NOT inside and around
	'!fat <-> cat', 'fat <-> !cat', '!cat <-> fat', 'fat <2> !sat', '!fat <-> !cat',
	'!(fat <-> cat)', '!(fat <-> cat) & fat', '!(fat <-> cat) <-> sat', '!(rat <-> sat) <-> fat',
	'sat <-> !(fat <-> cat)', 'cat & !(fat <-> cat)', '!!(fat <-> cat)', '!nosuch <-> cat',
	-- OR and AND inside
	'(fat | rat) <-> (cat | sat)', '(fat & cat) <-> sat', '(fat & fat) <-> cat',
	'(fat | !nosuch) <-> cat', '(fat & !nosuch) <-> cat', '(fat | nosuch) <-> cat <-> sat',
	'(fat <-> cat | rat) <-> sat', '(fat <-> cat) <-> (sat <3> mat)', 'fat <-> (cat & cat)',
	'fat <-> (cat <2> cat | rat)', '(!rat & !sat) <-> cat'
]) q;
SELECT q AS query, ids(q::tsquery) AS rows FROM unnest(ARRAY[
	-- weights; a lexeme without positions has any
	'fat:A', 'fat:D', 'fat:AB', 'fat:ABCD', 'fat:B', 'cat:A', 'sat:C', 'fat:A & sat:C', 'fat:A | cat:D',
	'!fat:A', 'fat & !fat:A', 'fat:A <-> rat:B', 'fat:A <-> rat:C', 'fat:D <-> cat', 'sat:C <-> fat:D', '!fat:A <-> rat',
	'category:A | cathedral:B',
	-- prefixes
	'c:*', 'cat:*', 'cath:*', 'cathedral:*', 'cathedrals:*', 'nosuch:*', 'super:* <-> st:*', 's:*',
	'c:* & f:*', '!c:*', 'f:* & !c:*', 'f:* <-> c:*', 'fat <-> c:*', '!f:* <-> c:*', 'cat:*A', 'cat:*B', 'cat:*AB',
	'f:*A <-> r:*B', '!c:*A', '''cä'':*', 'C:*',
	-- nothing to look for
	''
]) q;

-- A configuration's stop words leave nothing, or less.
SELECT q::text, ids(q) FROM unnest(ARRAY[to_tsquery('english', 'the'), to_tsquery('english', 'the & cats'),
	to_tsquery('english', 'the <-> cats'), to_tsquery('english', 'fat <-> the <-> cats'),
	phraseto_tsquery('english', 'the fat cats'), websearch_to_tsquery('english', '"fat cat" -mat'),
	plainto_tsquery('english', 'a fat rat'), to_tsquery('simple', 'fat') <-> to_tsquery('simple', 'cat | rat'),
	tsquery_phrase('fat', 'sat', 2), !!'fat'::tsquery, 'fat'::tsquery && 'rat', 'star'::tsquery || 'rat']) q;

-- Operators are found whichever way they are written; several are ANDed.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body @@ 'fat' AND 'cat' @@ body AND body @@@ '!mat';
SELECT id FROM docs WHERE body @@ 'fat' AND 'cat' @@ body AND body @@@ '!mat' ORDER BY id;
SELECT id FROM docs WHERE body @@ 'fat' AND body @@ 'nosuch';
SELECT id FROM docs WHERE body @@ 'fat' AND body @@ '' ORDER BY id;
SELECT id FROM docs WHERE body @@ '!fat' AND body @@ '!cat' ORDER BY id;
SELECT id FROM docs WHERE body @@ 'fat <-> cat' AND body @@ 'cat <-> sat' ORDER BY id;

-- A NULL query matches nothing.
SELECT count(*) FROM docs WHERE body @@ NULL;
SELECT count(*) FROM docs WHERE body @@ (SELECT NULL::tsquery);
SELECT count(*) FROM docs WHERE body @@ 'fat' AND body @@ (SELECT NULL::tsquery);
PREPARE find(tsquery) AS SELECT id FROM docs WHERE body @@ $1 ORDER BY id LIMIT 4;
EXECUTE find(NULL);
EXECUTE find('star');

-- A generic plan gets its query at run time.
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE find('cat');
EXECUTE find('cat');
EXECUTE find('rat & !cat');
EXECUTE find('');
EXECUTE find(NULL);
RESET plan_cache_mode;
SET enable_bitmapscan = on;
SET enable_indexscan = off;

-- OR of conditions, and index conditions from another table
-- by two operators, since 18 makes one condition with ANY of one operator's
EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE body @@ 'star' OR body @@@ 'and';
SELECT id FROM docs WHERE body @@ 'star' OR body @@@ 'and' ORDER BY id;
SELECT count(*) FROM docs WHERE body @@ 'star' OR body @@ 'and';
RESET enable_indexscan;
SELECT q, array_agg(id ORDER BY id)
FROM unnest(ARRAY['star', 'fat <-> cat', '!cat & rat', '']::tsquery[]) q LEFT JOIN docs ON body @@ q
GROUP BY q ORDER BY q::text COLLATE "C";

-- Cursors, also backwards, and across changes they must not see
SET enable_bitmapscan = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM docs WHERE body @@ 'fat';
FETCH 3 FROM c;
INSERT INTO docs VALUES (1000, 'fat');
DELETE FROM docs WHERE id = 104;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
FETCH FIRST FROM c;
DECLARE d CURSOR FOR SELECT id FROM docs WHERE body @@ 'fat';
FETCH FORWARD 1 FROM d;
MOVE FORWARD 5 FROM d;
FETCH ALL FROM d;
SAVEPOINT s;
DECLARE e CURSOR FOR SELECT id FROM docs WHERE body @@ 'star';
FETCH 1 FROM e;
ROLLBACK TO s;
UPDATE docs SET body = body || 'star:9' WHERE body @@ 'fat <-> cat' RETURNING id;
SELECT id FROM docs WHERE body @@ 'cat & star' ORDER BY id;
ROLLBACK;
-- A cursor outlives a subtransaction that read from it, or failed meanwhile.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM docs WHERE body @@ 'fat | cat';
FETCH 2 FROM c;
SAVEPOINT s;
FETCH 2 FROM c;
ROLLBACK TO s;
FETCH 2 FROM c;
SELECT 1 / 0;
ROLLBACK TO s;
FETCH 2 FROM c;
COMMIT;
DO $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT id FROM docs WHERE body @@ '!nosuch' LOOP
		n := n + 1;
		BEGIN
			PERFORM FROM docs WHERE body @@ 'fat <-> cat';
			PERFORM 1 / (n % 3);
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
		IF n % 5 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	RAISE WARNING '% rows', n;
END $$;
BEGIN;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM docs WHERE body @@ 'rat' ORDER BY id;
COMMIT;
FETCH 2 FROM h;
CLOSE h;

DROP TABLE docs;
DROP FUNCTION ids;
