--
-- Flush and merge: pending documents become segments, segments become one
--
-- Holds: am 5; functions 1; maint 5, 8, 11; manifest 7
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- Rows by sequential scan, bitmap scan and plain index scan
CREATE FUNCTION counts(tab text, q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	n int8;
	answer text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['seq', 'bitmap', 'plain'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
			set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
			set_config('enable_indexscan', (mode = 'plain')::text, true);
		EXECUTE format('SELECT count(*) FROM %I WHERE body @@ $1', tab) INTO n USING q;
		answer := concat_ws(' = ', answer, n);
	END LOOP;
	RETURN answer;
END $$;

-- Statistics that do not depend on sizes
CREATE FUNCTION shape(index regclass, OUT ndocs int8, OUT deleted int8, OUT null_docs int8,
	OUT total_length int8, OUT segments int, OUT pending int8, OUT dead int8)
LANGUAGE sql AS $$
	SELECT ndocs, deleted, null_docs, total_length, segments, pending_docs, pending_dead FROM skipidx_stats(index)
$$;

-- Every kind of document, blocks of several sizes: the first table's is one
-- page, the second's sixteen.
CREATE TABLE flush_small (id int, body tsvector) WITH (autovacuum_enabled = off);
-- A worker that makes the file shorter keeps rows from the next VACUUM while it
-- starts.
CREATE TABLE flush_large (id int, body tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE INDEX flush_small_body ON flush_small USING skipidx (body) WITH (block_size = '8kB');
CREATE INDEX flush_large_body ON flush_large USING skipidx (body);
CREATE FUNCTION fill(tab text, first int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, (%L || i %% 7 || %L || i || %L)::tsvector FROM generate_series($1, $1 + 299) i',
		tab, 'all:1 m', ':2 w', ':3') USING first;
	EXECUTE format($i$INSERT INTO %I VALUES
		($1 + 300, NULL), ($1 + 301, ''),
		($1 + 302, 'labels:1A,2B,3C,4 all:5A m0:6B'),
		($1 + 303, 'all bare m1'),
		($1 + 304, 'all bare m1 clamped:16383')$i$, tab) USING first;
	-- longer than a page, and as long as can be
	EXECUTE format($i$INSERT INTO %I SELECT $1 + 305,
		('all:1 ' || string_agg('long' || i || ':' || i %% 16000 + 1, ' '))::tsvector FROM generate_series(1, 3000) i$i$, tab) USING first;
	EXECUTE format($i$INSERT INTO %I SELECT $1 + 306,
		('all:1 ' || string_agg('huge' || repeat('x', 30) || i || ':1,2', ' '))::tsvector FROM generate_series(1, 23000) i$i$, tab) USING first;
END $$;
SELECT fill('flush_small', 1), fill('flush_large', 1);
SELECT octet_length(tsvectorsend(body)) > 1000000 AS huge FROM flush_small WHERE id = 307;
SELECT * FROM shape('flush_small_body') UNION ALL SELECT * FROM shape('flush_large_body');
CREATE TABLE asked (q tsquery);
INSERT INTO asked VALUES ('all'), ('m3'), ('all & !m3'), ('!all'), ('all <-> m3'), ('all <2> w17'), ('m1 | bare'),
	('labels:A'), ('labels:B & all:A'), ('bare & clamped'), ('long2999'), ('long17 <-> long18'), ('huge:*'), ('!nosuch');
CREATE TABLE before AS SELECT q, counts('flush_small', q) AS small, counts('flush_large', q) AS large FROM asked;
SELECT * FROM before ORDER BY q::text COLLATE "C";

SELECT skipidx_flush('flush_small_body'), skipidx_flush('flush_large_body');
SELECT * FROM shape('flush_small_body') UNION ALL SELECT * FROM shape('flush_large_body');
SELECT q FROM before WHERE (small, large) IS DISTINCT FROM (counts('flush_small', q), counts('flush_large', q));
SELECT skipidx_check('flush_small_body', true), skipidx_check('flush_large_body', true);
-- Nothing more to do
SELECT skipidx_flush('flush_small_body'), skipidx_merge('flush_small_body');
-- and nothing changes by asking
SELECT generation = lag(generation) OVER () AS same FROM
	(SELECT generation FROM skipidx_stats('flush_small_body')
	UNION ALL SELECT generation FROM skipidx_stats('flush_small_body') WHERE skipidx_flush('flush_small_body') = 0
		AND skipidx_merge('flush_small_body') = 1) s;

-- More of it, merged
SELECT fill('flush_small', 1001), fill('flush_large', 1001);
SELECT skipidx_flush('flush_small_body'), skipidx_flush('flush_large_body');
INSERT INTO flush_small VALUES (5000, 'all pending');
SELECT segments, pending FROM shape('flush_small_body');
SELECT skipidx_merge('flush_small_body', 2), skipidx_merge('flush_large_body');
SELECT skipidx_merge('flush_small_body');
SELECT * FROM shape('flush_small_body') UNION ALL SELECT * FROM shape('flush_large_body');
CREATE TABLE merged AS SELECT q, counts('flush_small', q) AS small, counts('flush_large', q) AS large FROM asked;
SELECT * FROM merged ORDER BY q::text COLLATE "C";
SELECT skipidx_check('flush_small_body', true), skipidx_check('flush_large_body', true);

-- Deleted rows do not get into segments, and leave with merges.
DELETE FROM flush_large WHERE id < 1000 AND id % 3 = 0;
VACUUM (INDEX_CLEANUP OFF) flush_large;
SELECT * FROM shape('flush_large_body');
INSERT INTO flush_large SELECT i, 'all:1 late:2' FROM generate_series(3001, 3100) i;
DELETE FROM flush_large WHERE id > 3050;
VACUUM (INDEX_CLEANUP ON) flush_large;
SELECT * FROM shape('flush_large_body');
SELECT skipidx_flush('flush_large_body');
SELECT * FROM shape('flush_large_body');
SELECT skipidx_merge('flush_large_body');
SELECT * FROM shape('flush_large_body');
SELECT (SELECT ndocs FROM shape('flush_large_body')) = count(*) AS all_live FROM flush_large;
SELECT skipidx_check('flush_large_body', true);
SELECT q, counts('flush_large', q) FROM asked ORDER BY q::text COLLATE "C";
-- All of the list, all of a segment
DELETE FROM flush_large WHERE id > 3000;
VACUUM (INDEX_CLEANUP ON) flush_large;
INSERT INTO flush_large SELECT i, 'all:1 gone:2' FROM generate_series(4001, 4100) i;
DELETE FROM flush_large WHERE id > 4000;
VACUUM (INDEX_CLEANUP ON) flush_large;
SELECT skipidx_flush('flush_large_body');
SELECT pending, dead FROM shape('flush_large_body');
DELETE FROM flush_large;
VACUUM (INDEX_CLEANUP ON) flush_large;
SELECT * FROM shape('flush_large_body');
SELECT skipidx_merge('flush_large_body'), counts('flush_large', 'all'), counts('flush_large', '!all');
SELECT skipidx_check('flush_large_body', true);
SELECT fill('flush_large', 1), skipidx_flush('flush_large_body');
SELECT q FROM before WHERE large IS DISTINCT FROM counts('flush_large', q);
SELECT skipidx_check('flush_large_body', true);

-- The insert that finds the list too long flushes it; others do not.
SET skipidx.max_workers = 0;
CREATE TABLE flush_insert (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX flush_insert_body ON flush_insert USING skipidx (body) WITH (pending_limit = '64kB', block_size = '8kB');
INSERT INTO flush_insert SELECT i, ('all:1 n' || i || ':2')::tsvector FROM generate_series(1, 1000) i;
SELECT segments, pending FROM shape('flush_insert_body');
INSERT INTO flush_insert SELECT i, ('all:1 n' || i || ':2')::tsvector FROM generate_series(1001, 20000) i;
SELECT segments > 8 AS many, pending_bytes <= 64 * 1024 + 8192 AS short, ndocs FROM skipidx_stats('flush_insert_body');
SELECT counts('flush_insert', 'all'), counts('flush_insert', 'n1234');
-- of the same transaction, too, and not after it was undone
BEGIN;
INSERT INTO flush_insert SELECT i, ('all:1 undone:2 u' || i || ':3')::tsvector FROM generate_series(20001, 25000) i;
SELECT counts('flush_insert', 'all'), counts('flush_insert', 'undone & u20017');
ROLLBACK;
SELECT counts('flush_insert', 'all'), counts('flush_insert', 'undone');
SELECT skipidx_check('flush_insert_body', true);
-- VACUUM removes them, flushes and merges; analyze does not.
ANALYZE flush_insert;
SELECT segments > 8 AS many FROM skipidx_stats('flush_insert_body');
VACUUM flush_insert;
SELECT ndocs, deleted, segments < 8 AS few, pending_docs FROM skipidx_stats('flush_insert_body');
SELECT reltuples FROM pg_class WHERE relname = 'flush_insert_body';
SELECT counts('flush_insert', 'all'), counts('flush_insert', 'undone');
SELECT skipidx_check('flush_insert_body', true);
-- A smaller limit takes effect at once; too small a one is refused.
ALTER INDEX flush_insert_body SET (pending_limit = '1MB');
INSERT INTO flush_insert SELECT i, ('all:1 o' || i || ':2')::tsvector FROM generate_series(1, 2000) i;
SELECT pending FROM shape('flush_insert_body');
ALTER INDEX flush_insert_body SET (pending_limit = '32kB');
ALTER INDEX flush_insert_body SET (pending_limit = 64);
INSERT INTO flush_insert SELECT i, ('all:1 o' || i || ':2')::tsvector FROM generate_series(2001, 2500) i;
SELECT pending < 2000 AS flushed FROM shape('flush_insert_body');

-- Little memory: values wait in a file, postings in runs
SET maintenance_work_mem = '1MB';
ALTER INDEX flush_insert_body SET (pending_limit = '64MB');
INSERT INTO flush_insert SELECT i, ('all:1 ' || (SELECT string_agg('x' || i * j % 9973 || ':' || j + 1, ' ') FROM generate_series(1, 100) j))::tsvector
	FROM generate_series(30001, 32000) i;
SELECT skipidx_flush('flush_insert_body') > 2000 AS flushed;
SELECT pending FROM shape('flush_insert_body');
SELECT skipidx_merge('flush_insert_body');
RESET maintenance_work_mem;
SELECT counts('flush_insert', 'all'), counts('flush_insert', 'x4711'), counts('flush_insert', 'x1:*'), counts('flush_insert', 'all <-> x5');
SELECT skipidx_check('flush_insert_body', true);

-- An operation that fails has used up its segment id.
SELECT max(segment) AS last FROM skipidx_segments('flush_insert_body') \gset
INSERT INTO flush_insert VALUES (33001, 'all:1 id:2');
SET skipidx.fault = 'flush_built:error';
SELECT skipidx_flush('flush_insert_body');
RESET skipidx.fault;
SELECT skipidx_flush('flush_insert_body');
SELECT max(segment) - :last AS ids FROM skipidx_segments('flush_insert_body');
SELECT counts('flush_insert', 'id');

-- Unlogged, temporary, partial and expression indexes
CREATE UNLOGGED TABLE flush_unlogged (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE TEMPORARY TABLE flush_temp (id int, body text);
CREATE INDEX flush_unlogged_body ON flush_unlogged USING skipidx (body) WHERE id % 2 = 0;
CREATE INDEX flush_temp_body ON flush_temp USING skipidx (to_tsvector('simple', body)) WITH (pending_limit = '64kB');
INSERT INTO flush_unlogged SELECT i, ('all:1 m' || i % 4)::tsvector FROM generate_series(1, 1000) i;
INSERT INTO flush_temp SELECT i, 'all m' || i % 4 FROM generate_series(1, 5000) i;
SELECT skipidx_flush('flush_unlogged_body'), skipidx_flush('flush_temp_body') BETWEEN 1 AND 4999 AS rest;
INSERT INTO flush_unlogged SELECT i, ('all:1 m' || i % 4)::tsvector FROM generate_series(1, 1000) i;
SELECT skipidx_flush('flush_unlogged_body'), skipidx_merge('flush_unlogged_body'), skipidx_merge('flush_temp_body');
SET enable_seqscan = off;
SELECT count(*) FROM flush_unlogged WHERE body @@ 'm2' AND id % 2 = 0;
SELECT count(*) FROM flush_temp WHERE to_tsvector('simple', body) @@ 'm2';
RESET enable_seqscan;
DELETE FROM flush_temp WHERE id % 2 = 0;
VACUUM flush_temp, flush_unlogged;
SELECT skipidx_check('flush_unlogged_body', true), skipidx_check('flush_temp_body', true);
SELECT ndocs, deleted FROM shape('flush_temp_body');

-- A table made in the same transaction
BEGIN;
CREATE TABLE flush_same (body tsvector);
CREATE INDEX flush_same_body ON flush_same USING skipidx (body) WITH (pending_limit = '64kB');
INSERT INTO flush_same SELECT ('all:1 m' || i % 4)::tsvector FROM generate_series(1, 3000) i;
SELECT skipidx_flush('flush_same_body') > 0 AS flushed, skipidx_merge('flush_same_body');
SAVEPOINT a;
INSERT INTO flush_same SELECT ('all:1 m' || i % 4)::tsvector FROM generate_series(1, 3000) i;
SELECT skipidx_flush('flush_same_body') > 0 AS flushed, skipidx_merge('flush_same_body');
ROLLBACK TO a;
SELECT skipidx_check('flush_same_body', true), counts('flush_same', 'm1');
COMMIT;
SELECT skipidx_check('flush_same_body', true), counts('flush_same', 'm1');

-- Whom and what is refused
SELECT skipidx_merge('flush_small_body', 0);
SELECT skipidx_merge('flush_small_body', -1);
SELECT skipidx_merge('flush_small_body', NULL);
SELECT skipidx_flush(NULL);
SELECT skipidx_flush('flush_small');
SELECT skipidx_flush('pg_class_oid_index');
SELECT skipidx_flush('nosuch');
SELECT skipidx_flush(0::oid::regclass);
CREATE TABLE flush_parts (id int, body tsvector) PARTITION BY RANGE (id);
CREATE INDEX flush_parts_body ON flush_parts USING skipidx (body);
SELECT skipidx_merge('flush_parts_body');
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'flush_same_body'::regclass;
SELECT skipidx_flush('flush_same_body');
BEGIN READ ONLY;
SELECT skipidx_flush('flush_small_body');
ROLLBACK;
BEGIN READ ONLY;
SELECT skipidx_merge('flush_small_body');
ROLLBACK;
CREATE ROLE regress_skipidx_other;
SET ROLE regress_skipidx_other;
\set VERBOSITY sqlstate
SELECT skipidx_flush('flush_small_body');
SELECT skipidx_merge('flush_small_body');
\set VERBOSITY default
RESET ROLE;
ALTER TABLE flush_small OWNER TO regress_skipidx_other;
SET ROLE regress_skipidx_other;
SELECT skipidx_flush('flush_small_body'), skipidx_merge('flush_small_body');
RESET ROLE;

DROP TABLE flush_small, flush_large, flush_insert, flush_unlogged, flush_temp, flush_same, flush_parts, asked, before, merged;
DROP FUNCTION counts, shape, fill;
DROP ROLE regress_skipidx_other;
