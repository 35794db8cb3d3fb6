-- build.sql: one CREATE INDEX, measured.  Variables: engine, clause, memory,
-- round.
SET maintenance_work_mem = :'memory';
SET max_parallel_maintenance_workers = 0;
SET client_min_messages = warning;

DROP INDEX IF EXISTS :"index";
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
SELECT clock_timestamp() AS flushed_to \gset

INSERT INTO build
SELECT :'engine', :'memory', :round,
	   extract(epoch FROM :'built_to'::timestamptz - :'built_from'),
	   extract(epoch FROM :'flushed_to'::timestamptz - :'built_to'),
	   pg_table_size(:'index'::regclass),
	   :'lsn_after'::pg_lsn - :'lsn_before'::pg_lsn
RETURNING format('  %-8s maintenance_work_mem %-5s %8s s %7s MB, WAL %s MB',
				 engine, memory, round(seconds::numeric, 1),
				 round(bytes / 1048576.0), round(wal_bytes / 1048576.0));
