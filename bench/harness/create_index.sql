-- create_index.sql: one CREATE INDEX on docs, measured.
-- Takes the variables index, clause (what follows USING), memory, workers;
-- leaves the variables built_from, built_to, seconds (CREATE INDEX, its commit
-- included), flush_seconds (the CHECKPOINT after it), bytes (all forks) and
-- wal_bytes.
SET maintenance_work_mem = :'memory';
SET max_parallel_maintenance_workers = :workers;
SET client_min_messages = warning;

CREATE EXTENSION IF NOT EXISTS pg_prewarm;
DROP INDEX IF EXISTS :"index";
-- So that the planner asks for as many, whatever the table's size.
ALTER TABLE docs SET (parallel_workers = :workers);
SELECT pg_prewarm('docs') AS heap,
	   (SELECT pg_prewarm(reltoastrelid) FROM pg_class
		WHERE oid = 'docs'::regclass) AS toast \gset
CHECKPOINT;

SELECT pg_current_wal_insert_lsn() AS lsn_before,
	   clock_timestamp() AS built_from \gset
CREATE INDEX :"index" ON docs USING :clause;
SELECT clock_timestamp() AS built_to,
	   pg_current_wal_insert_lsn() AS lsn_after \gset
CHECKPOINT;
SELECT extract(epoch FROM :'built_to'::timestamptz - :'built_from') AS seconds,
	   extract(epoch FROM clock_timestamp() - :'built_to') AS flush_seconds,
	   pg_table_size(:'index'::regclass) AS bytes,
	   :'lsn_after'::pg_lsn - :'lsn_before'::pg_lsn AS wal_bytes \gset
