-- What was measured of the boolean queries, side by side.
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

CREATE TABLE demo_result AS
SELECT q.no, q.kind, q.query, min(h.hits) AS hits,
	(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
		FROM demo_run t, unnest(t.times) ms WHERE t.no = q.no AND t.slot = 'gin') AS gin_ms,
	(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
		FROM demo_run t, unnest(t.times) ms WHERE t.no = q.no AND t.slot = 'skipidx') AS skipidx_ms,
	bool_and(r.hits = h.hits AND r.answer IS NOT DISTINCT FROM h.answer) AS equal,
	bool_and(r.used) AS used
FROM demo_query q
	JOIN demo_run h ON h.no = q.no AND h.slot = 'heap'
	JOIN demo_run r ON r.no = q.no AND r.slot <> 'heap'
GROUP BY q.no, q.kind, q.query;

\echo 'Matches counted, median ms warm, the two indexes taking turns, the other one'
\echo 'absent.  "equal": the same rows as from GIN and from a sequential scan.'
SELECT kind, query::text, hits,
	round(gin_ms::numeric, 2) AS "GIN ms", round(skipidx_ms::numeric, 2) AS "skipidx",
	round((gin_ms / nullif(skipidx_ms, 0))::numeric, 1) || 'x' AS speedup,
	CASE WHEN equal THEN 'equal' ELSE 'DIFFERENT' END ||
	CASE WHEN used THEN '' ELSE ', PLAN WITHOUT ITS INDEX' END AS answers
FROM demo_result ORDER BY no;

\echo 'The plans of the phrase of common words, GIN first:'
\pset tuples_only on
\pset format unaligned
SELECT '    ' || line FROM (
	SELECT DISTINCT ON (slot) slot, plan FROM demo_run JOIN demo_query USING (no)
	WHERE kind = 'phrase, common words' AND slot <> 'heap') p,
	unnest(plan) WITH ORDINALITY AS l (line, n)
WHERE line !~ '^ *(Planning:|Buffers: .*)$' OR n <= 10
ORDER BY slot, n;
\pset tuples_only off
\pset format aligned

\echo
\echo 'Some rows, by phrase, prefix and weight:'
SET enable_seqscan = off;
DROP INDEX docs_gin;
SELECT q.kind, q.query::text AS query, d.title, left(d.body, 60) AS body
FROM demo_query q, LATERAL (
	SELECT * FROM docs WHERE tsv @@ q.query ORDER BY length(title), title LIMIT 2) d
WHERE q.kind IN ('phrase', 'prefix', 'weight: in the title') ORDER BY q.no, d.title;
