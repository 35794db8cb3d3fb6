--
-- Rows after the build: visible at once, counted at once, whatever their size
--
-- Holds: am 1; manifest 9; pending 1, 2, 4; snapshot 1
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
INSERT INTO docs SELECT i, ('base:1 n' || i || ':2')::tsvector FROM generate_series(1, 10) i;
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (pending_limit = '64MB');
SELECT ndocs, null_docs, total_length, segments, pending_docs FROM skipidx_stats('docs_body');

CREATE FUNCTION ids(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one text;
	answer text;
BEGIN
	FOREACH one IN ARRAY ARRAY['off', 'on'] LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', one, true);
		answer := concat_ws(' = ', answer,
			(SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), 'none') FROM docs WHERE body @@ q));
	END LOOP;
	RETURN answer;
END $$;

-- Every kind of row
INSERT INTO docs VALUES (11, 'base:1 new:2,3'), (12, NULL), (13, ''), (14, 'base bare'), (15, 'bare new:7A');
SELECT ids('base & !n1 & !n2 & !n3'), ids('new'), ids('bare'), ids('!base'), ids('new <-> new'), ids('new:A');
SELECT ndocs, null_docs, total_length, segments, pending_docs, pending_bytes > 0 AS bytes
FROM skipidx_stats('docs_body');

-- A row is there for the command after the one that wrote it, and within it not.
BEGIN;
INSERT INTO docs SELECT id + 1000, body || 'copy:9' FROM docs WHERE body @@ 'base';
SELECT ids('copy & n3');
UPDATE docs SET body = body || 'again' WHERE body @@ 'copy';
SELECT count(*) FROM docs WHERE body @@ 'again';
ROLLBACK;
SELECT ids('copy'), ids('again');

-- Subtransactions
BEGIN;
INSERT INTO docs VALUES (21, 'kept');
SAVEPOINT a;
INSERT INTO docs VALUES (22, 'lost');
SELECT ids('lost | kept');
ROLLBACK TO a;
SELECT ids('lost | kept');
INSERT INTO docs VALUES (23, 'kept');
RELEASE a;
COMMIT;
SELECT ids('lost | kept');
DO $$
BEGIN
	INSERT INTO docs VALUES (24, 'lost');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	INSERT INTO docs VALUES (25, 'kept');
END $$;
SELECT ids('lost | kept');

-- Updates: HOT where the tsvector stays, a new document where it does not
BEGIN;
UPDATE docs SET body = 'changed' WHERE id = 3;
SELECT ids('n3'), ids('changed');
COMMIT;
UPDATE docs SET id = 33 WHERE id = 3;
SELECT ids('n3'), ids('changed');
DELETE FROM docs WHERE id = 33;
SELECT ids('changed'), ids('!base');

-- Documents larger than a page, and the largest a tsvector can be
INSERT INTO docs SELECT 30, string_agg('big' || i || ':' || i, ' ')::tsvector FROM generate_series(1, 3000) i;
INSERT INTO docs SELECT 31, array_to_tsvector(array_agg('wide' || i || repeat('x', 1000))) FROM generate_series(1, 900) i;
INSERT INTO docs SELECT 32, string_agg(format('many%s:%s', i % 40, i % 16383 + 1), ' ')::tsvector FROM generate_series(1, 9000) i;
INSERT INTO docs VALUES (33, 'small:1 after:2');
SELECT ids('big1 & big3000'), ids('big1500 <-> big1501'), ids('big1500 <-> big1502'), ids('small <-> after');
SELECT ids('wide1:*'), ids(('wide900' || repeat('x', 1000))::tsquery), ids('many3 <-> many4 <-> many5');
SELECT ids('!big7 & !base & !kept');

-- COPY, many rows in a statement, and more than one page of pending list
COPY docs FROM stdin;
100	copied:1 first:2
101	copied:1 second:2
\.
INSERT INTO docs SELECT 10000 + i, ('bulk:1 b' || i || ':2 mod' || i % 10 || ':3')::tsvector FROM generate_series(1, 5000) i;
SELECT ids('copied'), ids('b1 | b5000'), ids('mod3 & bulk & b1233');
SELECT count(*) FROM docs WHERE body @@ 'bulk';
SELECT count(*) FROM docs WHERE body @@ 'bulk <2> mod7';
-- more than one batch of them
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), count(DISTINCT id) FROM docs WHERE body @@ 'bulk';
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT count(*), count(DISTINCT id) FROM docs WHERE body @@ 'bulk';
RESET enable_indexscan;
RESET enable_seqscan;
SELECT ndocs, null_docs, segments, pending_docs, pending_pages > 100 AS pages FROM skipidx_stats('docs_body');
-- Pages that an insert looks at, of the table and the index: few, however long the
-- list is; of a document that is larger than a page, as many more as it fills.
CREATE FUNCTION looked_at(document tsvector) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) INSERT INTO docs VALUES (0, $1)'
		INTO plan USING document;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
BEGIN;
SELECT looked_at('short') > 0 AS warm;
CREATE TEMPORARY TABLE looks AS SELECT looked_at('short') AS pages FROM generate_series(1, 50);
SELECT min(pages) <= 4 AS usual, max(pages) <= 10 AS most FROM looks;
SELECT looked_at(array_to_tsvector(array_agg('wide' || i || repeat('x', 1000)))) < 1500 AS large FROM generate_series(1, 400) i;
ROLLBACK;
VACUUM docs;
SELECT ndocs - deleted = (SELECT count(*) FROM docs) AS counted FROM skipidx_stats('docs_body');

-- A row written under a serializable snapshot
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT ids('serial');
INSERT INTO docs VALUES (40, 'serial');
SELECT ids('serial');
COMMIT;
SELECT ids('serial');

-- The same index built from these rows answers the same.
CREATE TABLE before AS SELECT q, ids(q::tsquery) FROM unnest(ARRAY['base', 'new:A', 'big1500 <-> big1501', '!bulk',
	'bulk & mod3 & !b3', 'many3 <-> many4', 'b12:*', 'kept | copied', 'wide:*', 'bulk <-> b77']) q;
SELECT skipidx_check('docs_body', true);
REINDEX INDEX docs_body;
SELECT skipidx_check('docs_body', true);
SELECT segments, pending_docs FROM skipidx_stats('docs_body');
SELECT q, ids = ids(q::tsquery) AS same FROM before;

DROP TABLE docs, before;
DROP FUNCTION ids, looked_at;
