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

-- One turn of one query: its rows, times in ms, plan, and whether that plan
-- used the index it was to use.
CREATE TABLE demo_run (
	no int, slot text, hits bigint, answer text, times numeric[], plan text[],
	used bool
);

CREATE FUNCTION demo_count(q tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT count(*) FROM docs WHERE tsv @@ %L::tsquery', q)
$$;

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

-- Warm runs: as many as fit in some 120 ms, 2 at least and 9 at most.
CREATE FUNCTION demo_times(query text) RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
	start timestamptz;
	times numeric[] := '{}';
BEGIN
	EXECUTE query;
	WHILE cardinality(times) < 2 OR cardinality(times) < 9 AND
		clock_timestamp() < began + interval '120 ms' LOOP
		start := clock_timestamp();
		EXECUTE query;
		times := times ||
			(extract(epoch FROM clock_timestamp() - start) * 1000)::numeric;
	END LOOP;
	RETURN times;
END $$;

-- One turn with one of the two indexes: the other is dropped in a
-- subtransaction, which is rolled back when all is measured.
CREATE FUNCTION demo_alone(q demo_query, slot text, index text, away text)
RETURNS demo_run LANGUAGE plpgsql AS $$
DECLARE
	r demo_run;
BEGIN
	r.no := q.no;
	r.slot := slot;
	BEGIN
		EXECUTE format('DROP INDEX %I', away);
		SELECT count(*), md5(string_agg(ctid::text, ' ' ORDER BY ctid))
			INTO r.hits, r.answer FROM docs WHERE tsv @@ q.query;
		r.times := demo_times(demo_count(q.query));
		r.plan := demo_plan(demo_count(q.query));
		RAISE SQLSTATE 'DEMO1';
	EXCEPTION WHEN SQLSTATE 'DEMO1' THEN
		NULL;
	END;
	r.used := EXISTS (SELECT FROM unnest(r.plan) line
		WHERE line ~ ('Index Scan (using|on) ' || index));
	RETURN r;
END $$;
