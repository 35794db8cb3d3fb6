-- create_index.sql: one CREATE INDEX on docs, measured.
-- Variables: index, clause (what follows USING), memory, workers.  Prints the
-- backend's number, for a program that watches it, then one JSON object:
-- seconds (CREATE INDEX, its commit included), flush_seconds (the CHECKPOINT
-- after it), bytes (all forks), wal_bytes, temp_bytes, began and ended.
SELECT pg_backend_pid();
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
\set temp_bytes 'SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()'
:temp_bytes \gset before_
CHECKPOINT;

SELECT pg_current_wal_insert_lsn() AS lsn_before,
	   clock_timestamp() AS built_from \gset
CREATE INDEX :"index" ON docs USING :clause;
SELECT clock_timestamp() AS built_to,
	   pg_current_wal_insert_lsn() AS lsn_after \gset
CHECKPOINT;
SELECT clock_timestamp() AS flushed \gset
SELECT pg_stat_force_next_flush() AS counted \gset
:temp_bytes \gset after_
SELECT json_build_object(
	'seconds', extract(epoch FROM :'built_to'::timestamptz - :'built_from'),
	'flush_seconds', extract(epoch FROM :'flushed'::timestamptz - :'built_to'),
	'bytes', pg_table_size(:'index'::regclass),
	'wal_bytes', :'lsn_after'::pg_lsn - :'lsn_before'::pg_lsn,
	'temp_bytes', :after_temp_bytes - :before_temp_bytes,
	'began', extract(epoch FROM :'built_from'::timestamptz),
	'ended', extract(epoch FROM :'built_to'::timestamptz));
