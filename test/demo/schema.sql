-- The demo's table, and the functions that run and time its queries.
SET client_min_messages = warning;
CREATE EXTENSION skipidx;

CREATE TABLE docs (
	id text,
	title text,
	body text,
	tsv tsvector GENERATED ALWAYS AS
		(setweight(to_tsvector('english', coalesce(title, '')), 'A') ||
		 setweight(to_tsvector('english', coalesce(body, '')), 'D')) STORED
);

CREATE TABLE demo_query (no serial, kind text, query tsquery);
CREATE TABLE demo_index (slot text, seconds numeric, bytes bigint);

-- One turn of one query: its rows, times in ms, plan, and whether that plan
-- used the index it was to use.
CREATE TABLE demo_run (
	no int, slot text, hits bigint, answer text, times numeric[], plan text[],
	used bool
);

-- What a person types, and the query of any of its words.
CREATE TABLE demo_typed (no int, typed text, query tsquery);

CREATE FUNCTION demo_count(q tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT count(*) FROM docs WHERE tsv @@ %L::tsquery', q)
$$;

-- The rows that match, whatever their order.
CREATE FUNCTION demo_rows(q tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT count(*), md5(string_agg(ctid::text, '' '' '
		'ORDER BY ctid)) FROM docs WHERE tsv @@ %L::tsquery', q)
$$;

-- The ten best rows, as each index is asked for them.
CREATE FUNCTION demo_best(slot text, q tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT CASE slot
		WHEN 'gin' THEN format('SELECT title, body, -ts_rank_cd(tsv, %L) AS d FROM docs '
			'WHERE tsv @@ %L ORDER BY ts_rank_cd(tsv, %L) DESC LIMIT 10', q, q, q)
		ELSE format('SELECT title, body, tsv <@> %L::tsquery AS d FROM docs '
			'ORDER BY tsv <@> %L::tsquery LIMIT 10', q, q) END
$$;

-- The same as one row: titles and the beginning of their text, a line each.
CREATE FUNCTION demo_best_rows(slot text, q tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT count(*), string_agg(title || '': '' || '
		'regexp_replace(left(body, 60), ''\s+'', '' '', ''g''), E''\n'' ORDER BY n) '
		'FROM (SELECT *, row_number() OVER () AS n FROM (%s) b) b', demo_best(slot, q))
$$;

-- The distances of the ten best, by whatever plan the settings allow.
CREATE FUNCTION demo_distances(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(d::text, '' '' ORDER BY d) FROM (%s) b',
		demo_best('skipidx', q)) INTO answer;
	RETURN answer;
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

-- One turn with one of the two indexes: `answers` gives count and rows, `timed`
-- is what is timed and explained.  The other index is dropped in a
-- subtransaction, which is rolled back when all is measured.
CREATE FUNCTION demo_alone(no int, slot text, answers text, timed text,
	index text, away text)
RETURNS demo_run LANGUAGE plpgsql AS $$
DECLARE
	r demo_run;
BEGIN
	r.no := no;
	r.slot := slot;
	BEGIN
		EXECUTE format('DROP INDEX %I', away);
		EXECUTE answers INTO r.hits, r.answer;
		r.times := demo_times(timed);
		r.plan := demo_plan(timed);
		RAISE SQLSTATE 'DEMO1';
	EXCEPTION WHEN SQLSTATE 'DEMO1' THEN
		NULL;
	END;
	r.used := EXISTS (SELECT FROM unnest(r.plan) line
		WHERE line ~ ('Index Scan (using|on) ' || index));
	RETURN r;
END $$;
