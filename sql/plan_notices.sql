--
-- Notices of a query: those of the server's own evaluation, and no more
--
-- Holds: plan 14
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE plain (id int, body tsvector);
INSERT INTO plain SELECT i, ('oak:1 p' || i % 10)::tsvector FROM generate_series(1, 200) i;
CREATE TABLE ranked AS TABLE plain;
CREATE INDEX ranked_body ON ranked USING skipidx (body);
CREATE TABLE partly AS TABLE plain;
CREATE INDEX partly_body ON partly USING skipidx (body) WHERE id > 5;
CREATE TABLE guarded AS TABLE plain;
CREATE INDEX guarded_body ON guarded USING skipidx (body);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY guarded_few ON guarded USING (id <= 3);
CREATE ROLE regress_skipidx_notices;
GRANT SELECT ON guarded TO regress_skipidx_notices;
ANALYZE plain, ranked, partly, guarded;
CREATE FUNCTION loud(words text, level text DEFAULT 'notice') RETURNS tsquery STABLE LANGUAGE plpgsql AS $$
BEGIN
	IF level = 'warning' THEN
		RAISE WARNING 'asked for %', words;
	ELSE
		RAISE NOTICE 'asked for %', words;
	END IF;
	RETURN words;
END $$;
SET default_text_search_config = 'pg_catalog.english';
RESET client_min_messages;

-- planned: a condition is evaluated for the server's estimate, an order is not
EXPLAIN (COSTS OFF) SELECT id FROM plain WHERE body @@ to_tsquery('the');
EXPLAIN (COSTS OFF) SELECT id FROM plain ORDER BY ts_rank(body, to_tsquery('the')) LIMIT 3;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
EXPLAIN (COSTS OFF) SELECT id FROM ranked WHERE body @@ to_tsquery('the');
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> to_tsquery('the') LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> skipidx_query(to_tsquery('the'), 'ranked_body') LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM ranked WHERE body @@ to_tsquery('the') ORDER BY body <@> to_tsquery('the'), id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM ranked WHERE body <@> to_tsquery('the') < -1;
-- executed: once more
SELECT id FROM ranked WHERE body @@ to_tsquery('the');
SELECT id FROM ranked ORDER BY body <@> to_tsquery('the') LIMIT 3;
SELECT id FROM ranked ORDER BY body <@> skipidx_query(to_tsquery('the'), 'ranked_body') LIMIT 3;
SELECT * FROM skipidx_search('ranked_body', to_tsquery('the'));
SELECT id FROM ranked ORDER BY body <@> loud('oak') LIMIT 3;
-- constants of a condition, which says whether a partial index will do
EXPLAIN (COSTS OFF) SELECT id FROM partly WHERE id > 5 AND body @@ to_tsquery('english', 'the') ORDER BY body <@> 'oak' LIMIT 3;
-- a filter that may end the scan: by row
SET ROLE regress_skipidx_notices;
EXPLAIN (COSTS OFF) SELECT id FROM guarded WHERE body @@ loud('p2') ORDER BY body <@> loud('p2') LIMIT 3;
SELECT id FROM guarded WHERE body @@ loud('p2') ORDER BY body <@> loud('p2') LIMIT 3;
RESET ROLE;
-- warnings come
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> loud('oak', 'warning') LIMIT 3;

-- the setting afterwards: after an error, in a subtransaction or not, and where
-- the function sets it for the session
CREATE FUNCTION failing() RETURNS tsquery STABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'no query';
END $$;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> failing() LIMIT 3;
SHOW client_min_messages;
BEGIN;
SAVEPOINT s;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> failing() LIMIT 3;
ROLLBACK TO s;
SHOW client_min_messages;
COMMIT;
CREATE FUNCTION setting(level text) RETURNS tsquery STABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('client_min_messages', level, false);
	RETURN 'oak';
END $$;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> setting('log') LIMIT 3;
SHOW client_min_messages;
SET client_min_messages = error;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY body <@> loud('oak', 'warning') LIMIT 3;
SHOW client_min_messages;

DROP OWNED BY regress_skipidx_notices;
DROP ROLE regress_skipidx_notices;
DROP TABLE plain, ranked, partly, guarded;
DROP FUNCTION loud, failing, setting;
