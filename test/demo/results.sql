-- What was measured, side by side.
SET client_min_messages = warning;
\pset border 1
\pset footer off

-- The truth: the same queries with no index at all.
SET enable_indexscan = off;
SET enable_bitmapscan = off;
INSERT INTO demo_run (slot, no, hits, answer)
SELECT 'heap', no, hits, answer
FROM demo_query q,
	LATERAL (SELECT count(*) AS hits, md5(string_agg(ctid::text, ' ' ORDER BY ctid)) AS answer
		FROM docs WHERE tsv @@ q.query) a;
RESET enable_indexscan;
RESET enable_bitmapscan;

\echo
\echo 'The indexes (serial builds, same settings, one after the other):'
SELECT method AS index, seconds AS "build s", pg_size_pretty(bytes) AS size,
	CASE WHEN slot = 'skipidx' THEN 'lexemes, labels, positions'
		ELSE 'lexemes' END AS "holds"
FROM demo_index ORDER BY slot;

\echo 'Matches counted, median ms warm; "equal" = the same rows as GIN and as a'
\echo 'sequential scan; both plans verified to use their own index:'
SELECT q.kind, q.query::text AS query, s.hits,
	round(g.ms, 2) AS "GIN ms", round(s.ms, 2) AS :"am",
	round(g.ms / nullif(s.ms, 0), 1) || 'x' AS speedup,
	CASE WHEN s.answer IS NOT DISTINCT FROM g.answer AND s.hits = g.hits
		AND s.answer IS NOT DISTINCT FROM h.answer AND s.hits = h.hits
		THEN 'equal' ELSE 'DIFFERENT' END
	|| CASE WHEN s.plan IS NULL OR g.plan IS NULL THEN ', PLAN WITHOUT INDEX' ELSE '' END
	AS answers
FROM demo_query q
	JOIN demo_run s ON s.no = q.no AND s.slot = 'skipidx'
	JOIN demo_run g ON g.no = q.no AND g.slot = 'gin'
	JOIN demo_run h ON h.no = q.no AND h.slot = 'heap'
ORDER BY q.no;

\echo 'The plans of the phrase of common words:'
\pset tuples_only on
\pset format unaligned
SELECT '  GIN:' UNION ALL
SELECT * FROM (SELECT '    ' || unnest(plan) FROM demo_run r JOIN demo_query q USING (no)
	WHERE kind = 'phrase, common words' AND slot = 'gin') p;
SELECT '  ' || :'am' || ':' UNION ALL
SELECT * FROM (SELECT '    ' || unnest(plan) FROM demo_run r JOIN demo_query q USING (no)
	WHERE kind = 'phrase, common words' AND slot = 'skipidx') p;
\pset tuples_only off
\pset format aligned

SET enable_seqscan = off;
\echo
\echo 'Some rows, by phrase, prefix and weight:'
SELECT q.kind, q.query::text AS query, d.title, left(d.body, 60) AS body
FROM demo_query q, LATERAL (
	SELECT * FROM docs WHERE tsv @@ q.query ORDER BY length(title), title LIMIT 2) d
WHERE q.kind IN ('phrase', 'prefix', 'weight: in the title') ORDER BY q.no;

CREATE FUNCTION demo_verdict() RETURNS bool LANGUAGE sql AS $$
	SELECT bool_and(s.hits = g.hits AND s.hits = h.hits
		AND s.answer IS NOT DISTINCT FROM g.answer
		AND s.answer IS NOT DISTINCT FROM h.answer
		AND s.plan IS NOT NULL AND g.plan IS NOT NULL)
	FROM demo_run s JOIN demo_run g USING (no) JOIN demo_run h USING (no)
	WHERE s.slot = 'skipidx' AND g.slot = 'gin' AND h.slot = 'heap'
$$;
