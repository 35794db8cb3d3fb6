-- The demo's table, and the functions that run and time its queries.
SET client_min_messages = warning;
SELECT :'am' = 'skipidx' AS real \gset
\if :real
CREATE EXTENSION skipidx;
\endif

CREATE TABLE docs (
	id text,
	title text,
	body text,
	tsv tsvector GENERATED ALWAYS AS
		(setweight(to_tsvector('english', coalesce(title, '')), 'A') ||
		 setweight(to_tsvector('english', left(coalesce(body, ''), 200000)), 'D')) STORED
);

CREATE TABLE demo_query (no serial, kind text, query tsquery);
CREATE TABLE demo_index (slot text, method text, seconds numeric, bytes bigint);
CREATE TABLE demo_run (
	slot text, no int, hits bigint, answer text, ms numeric, plan text[]
);

-- The index that a query's plan names, NULL if it names none.
CREATE FUNCTION demo_index_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Scan (using|on) docs_' THEN
			RETURN substring(line FROM '(docs_[a-z_]+)');
		END IF;
	END LOOP;
	RETURN NULL;
END $$;

CREATE FUNCTION demo_plan(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text[] := '{}';
BEGIN
	FOR line IN EXECUTE
		'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) ' || query
	LOOP
		plan := plan || line;
	END LOOP;
	RETURN plan;
END $$;

-- Median of the runs that fit in some 400 ms, 3 at least and 25 at most.
CREATE FUNCTION demo_median_ms(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
	start timestamptz;
	times numeric[] := '{}';
BEGIN
	EXECUTE query;
	WHILE cardinality(times) < 3 OR cardinality(times) < 25 AND
		clock_timestamp() < began + interval '400 ms' LOOP
		start := clock_timestamp();
		EXECUTE query;
		times := times ||
			(extract(epoch FROM clock_timestamp() - start) * 1000)::numeric;
	END LOOP;
	RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t)
			FROM unnest(times) t);
END $$;
