--
-- VACUUM: deleted rows leave the index, their places are used again
--
-- Holds: maint 2, 3, 11; pending 5
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- A worker that makes the file shorter keeps rows from the next VACUUM while it
-- starts.
CREATE TABLE docs (id int, body tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
INSERT INTO docs SELECT i, ('all:1 m' || i % 10 || ':2 w' || i || ':3')::tsvector FROM generate_series(1, 3000) i;
INSERT INTO docs VALUES (3001, NULL), (3002, '');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '8kB');
INSERT INTO docs SELECT 4000 + i, ('all:1 m' || i % 10 || ':2 p' || i || ':3')::tsvector FROM generate_series(1, 500) i;
INSERT INTO docs VALUES (4501, NULL), (4502, '');

-- Rows by sequential scan, bitmap scan and plain index scan; a plan that is kept
-- is of one of these
CREATE FUNCTION counts(q tsquery) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	mode text;
	answer text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['seq', 'bitmap', 'plain'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
			set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
			set_config('enable_indexscan', (mode = 'plain')::text, true);
		answer := concat_ws(' = ', answer, (SELECT count(*) FROM docs WHERE body @@ q));
	END LOOP;
	RETURN answer;
END $$;

SELECT ndocs, deleted, null_docs, total_length, segments, pending_docs, pending_dead FROM skipidx_stats('docs_body');
-- VACUUM with nothing to do
VACUUM docs;
SELECT ndocs, deleted, pending_docs, pending_dead FROM skipidx_stats('docs_body');
SELECT reltuples FROM pg_class WHERE relname = 'docs_body';

-- Deleted rows are gone before VACUUM, and from the index after it.
DELETE FROM docs WHERE id % 3 = 0;
SELECT counts('all'), counts('m3'), counts('!m3'), counts('all <-> m6'), counts('w9'), counts('p2');
SELECT ndocs, deleted FROM skipidx_stats('docs_body');
VACUUM docs;
-- A third of a segment is much, and written anew without it; a short list stays.
SELECT ndocs, deleted, pending_docs, pending_dead FROM skipidx_stats('docs_body');
SELECT reltuples = (SELECT count(*) FROM docs) AS live FROM pg_class WHERE relname = 'docs_body';
SELECT counts('all'), counts('m3'), counts('!m3'), counts('all <-> m6'), counts('w9'), counts('p2');

SELECT skipidx_check('docs_body', true);

-- Rows that take the places of dead ones are not taken for them.
CREATE TABLE taken AS SELECT ctid AS tid FROM docs;
INSERT INTO docs SELECT 6000 + i, ('reused:1 m' || i % 10 || ':2')::tsvector FROM generate_series(1, 1000) i;
SELECT count(*) > 500 AS places_reused FROM docs WHERE id > 6000 AND ctid < (SELECT max(tid) FROM taken);
SELECT counts('all'), counts('reused'), counts('m3'), counts('all & reused'), counts('!all'), counts('w9'), counts('p2');
SELECT counts('reused <-> m3'), counts('all <-> m3'), counts('!reused & m3');

-- The same for rows that were only ever pending
DELETE FROM docs WHERE id > 6000 AND id % 2 = 0;
VACUUM docs;
INSERT INTO docs SELECT 8000 + i, ('twice:1 m' || i % 10 || ':2')::tsvector FROM generate_series(1, 500) i;
SELECT counts('reused'), counts('twice'), counts('m4'), counts('!reused & !all');
-- VACUUM has made a segment of what was left of the list.
SELECT ndocs, deleted, segments, pending_docs, pending_dead FROM skipidx_stats('docs_body');
SELECT count(*) AS rows FROM docs;

-- Updates that are not HOT
UPDATE docs SET body = body || 'updated:9' WHERE id BETWEEN 4000 AND 4100;
SELECT counts('updated'), counts('updated & all');
VACUUM docs;
UPDATE docs SET body = body || 'updated:10' WHERE id BETWEEN 4050 AND 4150;
SELECT counts('updated'), counts('updated <-> updated'), counts('updated & all');

-- Everything deleted
DELETE FROM docs;
SELECT counts('all'), counts('!nosuch');
VACUUM docs;
SELECT counts('all'), counts('!nosuch');
SELECT ndocs = deleted AS all_deleted FROM skipidx_stats('docs_body');
INSERT INTO docs VALUES (1, 'all:1 over:2 again:3');
SELECT counts('all'), counts('!nosuch'), counts('over <-> again');
VACUUM (FREEZE, ANALYZE) docs;
VACUUM (INDEX_CLEANUP OFF) docs;
VACUUM (INDEX_CLEANUP ON) docs;
REINDEX INDEX docs_body;
SELECT ndocs, deleted, segments, pending_docs FROM skipidx_stats('docs_body');
SELECT counts('all'), counts('over <-> again');

-- Deletes over many pages of a delete bitmap
TRUNCATE docs;
INSERT INTO docs SELECT i, ('all m' || i % 3)::tsvector FROM generate_series(1, 150000) i;
REINDEX INDEX docs_body;
DELETE FROM docs WHERE id > 149000 OR id % 1000 = 7;
VACUUM docs;
SELECT ndocs, deleted FROM skipidx_stats('docs_body');
SELECT counts('all'), counts('m1'), counts('!m1');
SELECT skipidx_check('docs_body', true);

DROP TABLE docs, taken;
DROP FUNCTION counts;
