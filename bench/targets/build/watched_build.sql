-- watched_build.sql: one CREATE INDEX for build.py, which watches the backend
-- whose number comes first; at the end what was measured, as JSON.  Variables
-- as create_index.sql takes them.
SELECT pg_backend_pid();
\set temp_bytes 'SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()'
:temp_bytes \gset before_
\ir ../../harness/create_index.sql
SELECT pg_stat_force_next_flush() AS flushed \gset
:temp_bytes \gset after_
SELECT json_build_object(
	'seconds', :seconds, 'flush_seconds', :flush_seconds, 'bytes', :bytes,
	'wal_bytes', :wal_bytes,
	'temp_bytes', :after_temp_bytes - :before_temp_bytes,
	'began', extract(epoch FROM :'built_from'::timestamptz),
	'ended', extract(epoch FROM :'built_to'::timestamptz));
