-- What the index is for: the ten best rows for what a person typed, from
-- skipidx and from GIN with ts_rank_cd, with their times.
SET client_min_messages = warning;
SET enable_seqscan = off;
\pset border 1
\pset footer off

DO $$
DECLARE
	t demo_typed;
	r demo_run;
BEGIN
	FOR t IN SELECT * FROM demo_typed ORDER BY no LOOP
		r := demo_alone(t.no, 'gin', demo_best_rows('gin', t.query),
			demo_best('gin', t.query), 'docs_gin', 'docs_idx');
		INSERT INTO demo_run SELECT r.*;
		r := demo_alone(t.no, 'skipidx', demo_best_rows('skipidx', t.query),
			demo_best('skipidx', t.query), 'docs_idx', 'docs_gin');
		INSERT INTO demo_run SELECT r.*;
	END LOOP;
END $$;

-- The truth: distances computed from every row, and sorted.
CREATE TABLE demo_truth AS
SELECT no, demo_distances(query) AS from_index, '' AS from_rows FROM demo_typed;
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
UPDATE demo_truth t SET from_rows = demo_distances(q.query)
FROM demo_typed q WHERE q.no = t.no;
RESET enable_indexscan;
RESET enable_bitmapscan;

SELECT typed, quote_literal(typed) AS quoted, format('  skipidx   SELECT title FROM docs
            ORDER BY tsv <@> skipidx_any(''english'', %L) LIMIT 10
  GIN       SELECT title FROM docs WHERE tsv @@ q
            ORDER BY ts_rank_cd(tsv, q) DESC LIMIT 10    -- q: the same query',
	typed) AS statements
FROM demo_typed ORDER BY no LIMIT 1 \gset
\echo 'Typed:' :typed
\echo
\echo :statements
\echo
SELECT s.n AS " ", split_part(s.line, ': ', 1) AS skipidx, left(split_part(s.line, ': ', 2), 32) AS " ",
	split_part(g.line, ': ', 1) AS "GIN + ts_rank_cd", left(split_part(g.line, ': ', 2), 32) AS " "
FROM (SELECT DISTINCT ON (no) answer FROM demo_run WHERE slot = 'skipidx' AND no > 100 ORDER BY no LIMIT 1) a,
	(SELECT DISTINCT ON (no) answer FROM demo_run WHERE slot = 'gin' AND no > 100 ORDER BY no LIMIT 1) b,
	unnest(string_to_array(a.answer, E'\n')) WITH ORDINALITY AS s (line, n)
	JOIN unnest(string_to_array(b.answer, E'\n')) WITH ORDINALITY AS g (line, n) USING (n)
ORDER BY n LIMIT 6;

\echo 'The ten best rows of each, median ms warm, the two indexes taking turns, the'
\echo 'other one absent.  "right": the distances of the ten best when all rows are sorted.'
CREATE TABLE demo_ranked AS
SELECT q.no, q.typed, q.query,
	(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
		FROM demo_run r, unnest(r.times) ms WHERE r.no = q.no AND r.slot = 'gin') AS gin_ms,
	(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
		FROM demo_run r, unnest(r.times) ms WHERE r.no = q.no AND r.slot = 'skipidx') AS skipidx_ms,
	(SELECT split_part(answer, ': ', 1) FROM demo_run r
		WHERE r.no = q.no AND r.slot = 'skipidx' LIMIT 1) AS best,
	(SELECT split_part(answer, ': ', 1) FROM demo_run r
		WHERE r.no = q.no AND r.slot = 'gin' LIMIT 1) AS gin_best,
	t.from_index = t.from_rows AS equal,
	(SELECT bool_and(used) FROM demo_run r WHERE r.no = q.no) AS used
FROM demo_typed q JOIN demo_truth t USING (no);
SELECT typed, round(gin_ms::numeric, 1) AS "GIN ms", round(skipidx_ms::numeric, 2) AS "skipidx",
	round((gin_ms / nullif(skipidx_ms, 0))::numeric) || 'x' AS speedup,
	gin_best AS "first of GIN", best AS "of skipidx",
	CASE WHEN equal THEN 'right' ELSE 'WRONG' END ||
	CASE WHEN used THEN '' ELSE ', PLAN WITHOUT ITS INDEX' END AS answers
FROM demo_ranked ORDER BY no;

\echo 'How it was found:'
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT title FROM docs ORDER BY tsv <@> skipidx_any('english', :quoted) LIMIT 10;

\echo 'Why the first row is first:'
SELECT ctid AS first FROM docs ORDER BY tsv <@> skipidx_any('english', :quoted) LIMIT 1 \gset
SELECT part, word, df, round(idf::numeric, 2) AS idf, tf, length, round(score::numeric, 3) AS score
FROM skipidx_explain_score('docs_idx', :'first', skipidx_any('english', :quoted));
