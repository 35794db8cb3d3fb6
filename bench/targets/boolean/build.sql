-- build.sql: one serial CREATE INDEX, measured and kept.  Variables: engine,
-- round, and index, clause, memory as create_index.sql takes them.
\set workers 0
\ir ../../harness/create_index.sql

INSERT INTO build
VALUES (:'engine', :'memory', :round, :seconds, :flush_seconds, :bytes,
		:wal_bytes)
RETURNING format('  %-8s maintenance_work_mem %-5s %8s s %7s MB, WAL %s MB',
				 engine, memory, round(seconds::numeric, 1),
				 round(bytes / 1048576.0), round(wal_bytes / 1048576.0));
