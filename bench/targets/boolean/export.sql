-- export.sql: all queries that were run with what was measured, as one JSON
-- object a line.
SELECT json_build_object(
	'id', id, 'class', class, 'words', words, 'q', q,
	'matches', (SELECT json_object_agg(engine, matches) FROM answer a
				WHERE a.query = query.id),
	'us', (SELECT json_object_agg(engine, us) FROM
		   (SELECT engine, json_agg(us ORDER BY round) AS us
			FROM timing t WHERE t.query = query.id GROUP BY engine) s),
	'index', (SELECT json_object_agg(engine, runs) FROM
			  (SELECT engine, json_agg(json_build_array(
					us, rows, removed, lossy, hit, read) ORDER BY round) AS runs
			   FROM node n WHERE n.query = query.id GROUP BY engine) s))
FROM query
WHERE id IN (SELECT query FROM answer)
ORDER BY id;
