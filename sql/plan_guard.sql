--
-- Values that are computed only where the condition would compute them: behind
-- operands of OR, AND, CASE and coalesce that decide without them, also in plans
-- that are made once for all parameters
--
-- Holds: plan 31
--
CREATE TABLE guarded (n int, t text, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO guarded SELECT nullif(i % 10, 9), 'x', 'a:1' FROM generate_series(1, 3000) i;
CREATE INDEX guarded_v ON guarded USING skipidx (v, n);
VACUUM ANALYZE guarded;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
-- whether the statement's plan asks the index
CREATE FUNCTION asks(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN plan::text LIKE '%guarded_v%';
END $$;

PREPARE either(text) AS SELECT count(*) FROM guarded WHERE $1 = '' OR n = $1::int;
SELECT asks($$EXECUTE either('')$$);
EXECUTE either('');
EXECUTE either('3');
EXECUTE either(NULL);
EXECUTE either('x');
PREPARE cases(int) AS SELECT count(*) FROM guarded WHERE CASE WHEN $1 = 0 THEN n = 3 ELSE n = 10 / $1 END;
SELECT asks('EXECUTE cases(0)');
EXECUTE cases(0);
EXECUTE cases(2);
EXECUTE cases(NULL);
PREPARE all_of(text) AS SELECT count(*) FROM guarded WHERE v @@ 'a' AND ($1 IS NULL OR $1 = 'all' OR n = $1::int);
SELECT asks($$EXECUTE all_of('all')$$);
EXECUTE all_of('all');
EXECUTE all_of(NULL);
EXECUTE all_of('7');
-- a later gate behind an earlier one, whatever stands first
PREPARE gates(int) AS SELECT count(*) FROM guarded WHERE n = 1 OR (n = 2 AND $1 <> 0 AND 10 / $1 > 3);
SELECT asks('EXECUTE gates(0)');
EXECUTE gates(0);
EXECUTE gates(1);
EXECUTE gates(5);
PREPARE several(text) AS SELECT count(*) FROM guarded WHERE CASE WHEN $1 = '' THEN n IS NULL WHEN $1::int > 5 THEN n < $1::int ELSE n = ANY (('{' || $1 || '}')::int[]) END;
SELECT asks($$EXECUTE several('')$$);
EXECUTE several('');
EXECUTE several('6');
EXECUTE several('5');
-- of other tables, and subqueries
SELECT x.t, c.n FROM (VALUES (''), ('3')) x(t) CROSS JOIN LATERAL (SELECT count(*) n FROM guarded WHERE x.t = '' OR n = x.t::int) c;
SELECT count(*) FROM guarded WHERE CASE WHEN (SELECT current_setting('port', true)) <> '' THEN n = 3 ELSE n = (SELECT 1 / (count(*) - count(*))::int FROM pg_class) END;
-- decided by rows: no value is computed of which no row needs it
PREPARE of_rows(int) AS SELECT count(*) FROM guarded WHERE CASE WHEN n > 100 THEN n = 10 / $1 ELSE n = 4 END;
EXECUTE of_rows(0);
PREPARE first_of(int) AS SELECT count(*) FROM guarded WHERE v @@ 'a' AND coalesce(v @@ 'a', n = 10 / $1);
EXECUTE first_of(0);
PREPARE not_null(int) AS SELECT count(*) FROM guarded WHERE n >= 0 AND coalesce(n, 10 / $1) = 4;
EXECUTE not_null(0);
PREPARE without_risk(int) AS SELECT count(*) FROM guarded WHERE coalesce(n, $1) = 4;
SELECT asks('EXECUTE without_risk(4)');
EXECUTE without_risk(4);

-- Products of arms end where there are more than are asked for: 160,000 of these.
DO $$
DECLARE
	a text := (SELECT string_agg('n < -' || i, ' OR ') FROM generate_series(1, 400) i);
	found int;
BEGIN
	SET LOCAL statement_timeout = '20s';
	EXECUTE format('SELECT count(*) FROM guarded WHERE n = 1 OR ((%s) AND (%s))', a, replace(a, 'n <', 'n <> 5 AND n <')) INTO found;
	RAISE NOTICE 'found %', found;
	EXECUTE format('SELECT count(*) FROM guarded WHERE ((%s) AND (%s)) IS NOT FALSE', a, replace(a, 'n <', 'n - 1 <')) INTO found;
	RAISE NOTICE 'found %', found;
END $$;
DROP TABLE guarded;
DROP FUNCTION asks;
