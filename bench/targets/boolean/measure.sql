-- measure.sql: ties each engine's plans to its index, proves it, runs all
-- classes, proves it again.  One session, so that plans and the engines' own
-- caches live throughout.  Variables: rounds, explain_rounds, cap_ms, seconds.
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET plan_cache_mode = force_generic_plan;
SET work_mem = '256MB';			-- no bitmap becomes lossy

SELECT array_agg(name ORDER BY rank) AS engines FROM engine \gset

-- A cached plan is made once and outlives the moment when the other indexes
-- were hidden from the planner; nothing is planned again between two timings.
-- (Making the first temporary object would change the search path, and with it
-- have all plans made again: there is none in this session.)
SELECT format('PREPARE find_%s(tsquery) AS '
			  'SELECT count(*) FROM docs WHERE tsv @@ $1', name)
FROM engine ORDER BY rank \gexec
SELECT format($$UPDATE pg_index SET indisvalid = (indexrelid = %L::regclass)
WHERE indrelid = 'docs'::regclass$$, 'docs_' || name),
	format('EXECUTE find_%s(''a'')', name),
	format('SELECT matches FROM count_%s(''a'')', name)
FROM engine ORDER BY rank
\o /dev/null
\gexec
\o
UPDATE pg_index SET indisvalid = true WHERE indrelid = 'docs'::regclass;

-- Each engine's function moves its own index's counter and no other's.
SELECT flush, note, call, flush, note FROM proof ORDER BY rank
\o /dev/null
\gexec
\o
SELECT '  ' || prove_plans();

SELECT format($$SELECT '  %s: ' || run_class(%L, %L, %s, %s, %s, %s)
	|| ' queries run'$$, class, class, :'engines', :rounds, :explain_rounds,
	:cap_ms, :seconds)
FROM query GROUP BY class ORDER BY min(id) \gexec

SELECT flush, note, call, flush, note FROM proof ORDER BY rank
\o /dev/null
\gexec
\o
SELECT '  ' || prove_plans() || ' still';
