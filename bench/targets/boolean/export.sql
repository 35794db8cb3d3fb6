-- export.sql: everything measured, as one JSON object a line.
SELECT json_build_object('table', json_build_object(
	'rows', count(*),
	'lexemes', sum(length(tsv)),
	'heap_bytes', pg_relation_size('docs'),
	'with_toast_bytes', pg_table_size('docs')))
FROM docs;
SELECT json_build_object('server', json_build_object(
	'version', version(),
	'settings', (SELECT json_object_agg(name, current_setting(name))
				 FROM pg_settings
				 WHERE name = ANY (string_to_array('shared_buffers '
					'max_wal_size wal_level wal_compression fsync full_page_writes '
					'synchronous_commit checkpoint_timeout jit autovacuum '
					'max_parallel_workers_per_gather data_checksums '
					'max_parallel_maintenance_workers huge_pages '
					'effective_cache_size io_method', ' '))
				 OR name LIKE 'skipidx.%'),
	'extensions', (SELECT json_object_agg(extname, extversion)
				   FROM pg_extension)));
SELECT json_build_object('engine', json_build_object(
	'name', name, 'index', pg_get_indexdef(('docs_' || name)::regclass)))
FROM engine ORDER BY rank;
SELECT json_build_object('build', build) FROM build;
SELECT json_build_object('query', json_build_object(
	'id', id, 'class', class, 'words', words, 'q', q,
	'matches', (SELECT json_object_agg(engine, matches) FROM answer a
				WHERE a.query = query.id),
	'us', (SELECT json_object_agg(engine, us) FROM
		   (SELECT engine, json_agg(us ORDER BY round) AS us
			FROM timing t WHERE t.query = query.id GROUP BY engine) s),
	'index', (SELECT json_object_agg(engine, runs) FROM
			  (SELECT engine, json_agg(json_build_array(
					us, rows, removed, lossy, hit, read) ORDER BY round) AS runs
			   FROM node n WHERE n.query = query.id GROUP BY engine) s)))
FROM query
WHERE id IN (SELECT query FROM answer)
ORDER BY id;
