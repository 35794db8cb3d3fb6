-- functions.sql: how one query is timed, and how a class of queries is run.

-- count_NAME(q), one for each engine: the answer and its time in
-- microseconds, the time of the statement alone.  All have the same text;
-- measure.sql ties each to its index by planning it while no other index is
-- valid.
SELECT format($create$
CREATE FUNCTION count_%s(q tsquery, OUT matches bigint, OUT us int)
LANGUAGE plpgsql AS $body$
DECLARE
	began	timestamptz := clock_timestamp();
BEGIN
	SELECT count(*) INTO matches FROM docs WHERE tsv @@ q;
	us := 1e6 * extract(epoch FROM clock_timestamp() - began);
END
$body$
$create$, name)
FROM engine ORDER BY rank \gexec

-- Times one query by every engine in turn; whose turn comes first moves on by
-- one each round, so that none always runs in the wake of the same other.
-- Engines of which few measurements are wanted sit out after the third round.
-- Stops early, at the end of a round, when cap_ms are spent and at least three
-- rounds are done.
CREATE FUNCTION time_query(id int, q tsquery, engines text[], rounds int,
						   cap_ms float8)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	n		int := cardinality(engines);
	few		text[] := ARRAY(SELECT e.name FROM engine e WHERE e.few);
	began	timestamptz := clock_timestamp();
	name	text;
	got		record;
BEGIN
	FOR round IN 1 .. rounds LOOP
		FOR turn IN 1 .. n LOOP
			name := engines[1 + (id + round + turn) % n];
			CONTINUE WHEN round > 3 AND name = ANY (few);
			EXECUTE format('SELECT * FROM count_%s($1)', name)
				INTO got USING q;
			INSERT INTO timing VALUES (id, name, round, got.us);
		END LOOP;
		EXIT WHEN round >= 3 AND cap_ms <
			1e3 * extract(epoch FROM clock_timestamp() - began);
	END LOOP;
END
$$;

-- The index scan's own share, from EXPLAIN ANALYZE of find_NAME, and proof
-- that the plan is a bitmap scan of the right index.
CREATE FUNCTION explain_query(id int, q tsquery, engines text[], rounds int)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	n		int := cardinality(engines);
	few		text[] := ARRAY(SELECT e.name FROM engine e WHERE e.few);
	name	text;
	plan	json;
	heap	json;
	scan	json;
BEGIN
	FOR round IN 1 .. rounds LOOP
		FOR turn IN 1 .. n LOOP
			name := engines[1 + (id + round + turn) % n];
			CONTINUE WHEN round > 1 AND name = ANY (few);
			EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)'
						   ' EXECUTE find_%s(%L)', name, q) INTO plan;
			plan := plan -> 0 -> 'Plan';
			heap := plan -> 'Plans' -> 0;
			scan := heap -> 'Plans' -> 0;
			IF heap ->> 'Node Type' IS DISTINCT FROM 'Bitmap Heap Scan' OR
				scan ->> 'Node Type' IS DISTINCT FROM 'Bitmap Index Scan' OR
				scan ->> 'Index Name' IS DISTINCT FROM 'docs_' || name
			THEN
				RAISE EXCEPTION 'query % by % is not a bitmap scan of docs_%: %',
					id, name, name, plan;
			END IF;
			INSERT INTO node VALUES (id, name, round,
				1e3 * (scan ->> 'Actual Total Time')::float8,
				(scan ->> 'Actual Rows')::numeric,
				(heap ->> 'Rows Removed by Index Recheck')::numeric,
				(heap ->> 'Lossy Heap Blocks')::bigint,
				(plan ->> 'Shared Hit Blocks')::bigint,
				(plan ->> 'Shared Read Blocks')::bigint);
		END LOOP;
	END LOOP;
END
$$;

-- Runs the queries of a class in the order of their ids until all are done or
-- `seconds` are spent: first once by each engine, untimed, which warms what
-- the query needs and keeps the answers to compare; then the timed rounds;
-- then the explained ones.  Returns how many queries were run.
CREATE FUNCTION run_class(which text, engines text[], rounds int,
						  explain_rounds int, cap_ms float8, seconds float8)
RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
	began	timestamptz := clock_timestamp();
	done	int := 0;
	name	text;
	one		record;
BEGIN
	FOR one IN SELECT * FROM query WHERE class = which ORDER BY id LOOP
		EXIT WHEN seconds < extract(epoch FROM clock_timestamp() - began);
		FOREACH name IN ARRAY engines LOOP
			EXECUTE format('INSERT INTO answer SELECT $1, %L, matches'
						   ' FROM count_%s($2)', name, name)
				USING one.id, one.q;
		END LOOP;
		PERFORM time_query(one.id, one.q, engines, rounds, cap_ms);
		PERFORM explain_query(one.id, one.q, engines, explain_rounds);
		done := done + 1;
	END LOOP;
	RETURN done;
END
$$;

-- Scans of each index, before and after a call of each engine's function.
CREATE UNLOGGED TABLE moved (engine text, index text, scans bigint);

CREATE FUNCTION scans_of(name text)
RETURNS bigint
LANGUAGE sql AS
'SELECT pg_stat_get_numscans((''docs_'' || name)::regclass)';

-- The statements of the proof for each engine; each has to be a transaction of
-- its own, since the server flushes counters between transactions only.
CREATE VIEW proof AS
SELECT rank,
	'SELECT pg_stat_force_next_flush()' AS flush,
	format('INSERT INTO moved SELECT %L, name, scans_of(name) FROM engine',
		   name) AS note,
	format('SELECT matches FROM count_%s(''a'')', name) AS call
FROM engine;

CREATE FUNCTION prove_plans()
RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM moved GROUP BY engine, index
			   HAVING (max(scans) > min(scans)) <> (engine = index))
	THEN
		RAISE EXCEPTION 'an engine''s plan does not use its index: %',
			(SELECT json_agg(moved) FROM moved);
	END IF;
	DELETE FROM moved;
	RETURN 'each engine''s plans use its own index';
END
$$;
