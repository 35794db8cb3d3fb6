--
-- What tests ask of a plan.  A test that includes this drops both functions.
--
-- Holds: none
--
\set ECHO none

CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END $$;

-- The indexes of each reference, which may be several
CREATE FUNCTION ranked_by(plan text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT m[1], '; ' ORDER BY m[1]) FROM regexp_matches(plan, 'by ([a-z0-9_, .]+)''::skipidx_ref', 'g') m;
$$;

\set ECHO all
