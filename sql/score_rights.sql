--
-- A reference that was kept, or written as a text, gives no right: neither after
-- REVOKE, nor under a policy, nor to a role that got it from another
--
-- Holds: functions 3; plan 4
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE secret (id int, body tsvector);
INSERT INTO secret SELECT i, ('all:1 layoff' || i % 10 || ':2')::tsvector FROM generate_series(1, 200) i;
CREATE INDEX secret_body ON secret USING skipidx (body);
CREATE TABLE open (id int, body tsvector);
INSERT INTO open SELECT i, ('all:1 n' || i || ':2')::tsvector FROM generate_series(1, 50) i;
CREATE INDEX open_body ON open USING skipidx (body);
ANALYZE secret, open;
CREATE ROLE regress_bob;
CREATE SCHEMA bobs AUTHORIZATION regress_bob;
GRANT SELECT ON open TO regress_bob;
GRANT SELECT (body) ON secret TO regress_bob;

-- What a role can keep: a row of a table, an array, a part of a row, what a
-- function with other rights returns.
SET ROLE regress_bob;
CREATE TABLE bobs.kept AS SELECT skipidx_query('all', 'secret_body') AS ref, ARRAY[skipidx_query('layoff1', 'secret_body')] AS refs;
CREATE TABLE bobs.rows AS SELECT k FROM bobs.kept k;
RESET ROLE;
CREATE FUNCTION lent(tsquery) RETURNS skipidx_ref LANGUAGE sql STABLE SECURITY DEFINER RETURN skipidx_query($1, 'secret_body');
CREATE FUNCTION computed(tsvector, tsquery) RETURNS float4 LANGUAGE sql STABLE SECURITY DEFINER RETURN $1 <@> skipidx_query($2, 'secret_body');
CREATE FUNCTION distance(v tsvector, r skipidx_ref) RETURNS float4 LANGUAGE plpgsql AS 'BEGIN RETURN v <@> r; END';
CREATE FUNCTION ordered(r skipidx_ref) RETURNS int LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
	n int;
BEGIN
	SELECT count(*) INTO n FROM (SELECT id FROM open ORDER BY body <@> r LIMIT 5) o;
	RETURN n;
END $$;

-- Each way to use one, and what it says
CREATE FUNCTION ways(OUT way text, OUT said text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	how text;
BEGIN
	FOREACH how IN ARRAY ARRAY[
		'SELECT ''layoff1:1'' <@> ref FROM bobs.kept',
		'SELECT ''layoff1:1'' <@> skx_bind(''layoff1'', ref) FROM bobs.kept',
		'SELECT ''layoff1:1'' <@> refs[1] FROM bobs.kept',
		'SELECT ''layoff1:1'' <@> (k).ref FROM bobs.rows',
		'SELECT ''layoff1:1'' <@> lent(''layoff1'')',
		'SELECT ''layoff1:1'' <@> skx_bind(''layoff2'', lent(''layoff1''))',
		'SELECT distance(''layoff1:1'', ref) FROM bobs.kept',
		'SELECT distance(''layoff1:1'', lent(''all''))',
		'SELECT min(body <@> ref) FROM open, bobs.kept',
		'SELECT ordered(ref) FROM bobs.kept',
		'SELECT ordered(skx_bind(''all'', lent(''layoff1'')))',
		'SELECT ''layoff1:1'' <@> skipidx_query(''layoff1'', ''secret_body'')',
		'SELECT ''layoff1:1'' <@> ''layoff1 by secret_body''::skipidx_ref',
		'SELECT ''layoff1:1'' <@> ''layoff1 by secret_body, open_body''::skipidx_ref',
		'SELECT ''layoff1:1'' <@> ''layoff1 by open_body, secret_body''::skipidx_ref',
		'SELECT ''layoff1:1'' <@> skx_bind(''layoff1'', ''by open_body, secret_body'')',
		'SELECT distance(''layoff1:1'', ref::text::skipidx_ref) FROM bobs.kept',
		'SELECT min(body <@> ''layoff1 by open_body, secret_body''::skipidx_ref) FROM open',
		'SELECT ordered(''layoff1 by secret_body'')',
		'SELECT ordered(''layoff1 by open_body, secret_body'')'] LOOP
		BEGIN
			EXECUTE how INTO said;
			said := 'a value';
		EXCEPTION WHEN OTHERS THEN
			said := SQLSTATE || ' ' || SQLERRM;
		END;
		way := how;
		RETURN NEXT;
	END LOOP;
END $$;
SET ROLE regress_bob;
SELECT said, count(*) FROM ways() GROUP BY 1;
-- not any more
RESET ROLE;
REVOKE SELECT (body) ON secret FROM regress_bob;
SET ROLE regress_bob;
SELECT said, count(*) FROM ways() GROUP BY 1;
SELECT ref, refs FROM bobs.kept;
-- a text of an index that he may use is none of another
SELECT 'layoff1:1' <@> 'layoff1 by open_body'::skipidx_ref < 0 AS mine;
EXPLAIN (COSTS OFF) SELECT id FROM open ORDER BY body <@> 'layoff1 by open_body, secret_body'::skipidx_ref;
-- but a function with the rights of its owner computes what it is made for
SELECT computed('layoff1:1', 'layoff1') < 0 AS computed;
RESET ROLE;
-- and its owner, whoever made them
SELECT said, count(*) FROM ways() GROUP BY 1;
-- under a policy
GRANT SELECT ON secret TO regress_bob;
SET ROLE regress_bob;
SELECT said, count(*) FROM ways() GROUP BY 1;
RESET ROLE;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON secret USING (id < 10);
SET ROLE regress_bob;
SELECT said, count(*) FROM ways() GROUP BY 1;
-- The plan of a query on the table checks what it reads, and filters.
SELECT count(body <@> 'layoff1') FROM secret;
SELECT count(body <@> skipidx_query('layoff1', 'secret_body')) FROM secret;
RESET ROLE;
ALTER TABLE secret DISABLE ROW LEVEL SECURITY;

-- A scorer that one role opened is not another's.
REVOKE SELECT ON secret FROM regress_bob;
BEGIN;
SELECT distance('layoff1:1', refs[1]) < 0 AS mine FROM bobs.kept;
SET LOCAL ROLE regress_bob;
SELECT distance('layoff1:1', refs[1]) < 0 AS mine FROM bobs.kept;
ROLLBACK;
BEGIN;
DECLARE c CURSOR FOR SELECT ('layoff1:1')::tsvector <@> refs[1] < 0 AS mine FROM bobs.kept, generate_series(1, 3);
FETCH c;
SET LOCAL ROLE regress_bob;
FETCH c;
ROLLBACK;
-- A plan that is kept is checked when it is executed, and a cursor when it is opened.
PREPARE planned AS SELECT count(body <@> 'all') FROM secret;
EXECUTE planned;
SET ROLE regress_bob;
EXECUTE planned;
RESET ROLE;
GRANT SELECT (body) ON secret TO regress_bob;
BEGIN;
SET LOCAL ROLE regress_bob;
DECLARE c CURSOR FOR SELECT body <@> 'all' < 0 AS scored FROM secret ORDER BY body <@> 'all';
FETCH c;
RESET ROLE;
REVOKE SELECT (body) ON secret FROM regress_bob;
SET LOCAL ROLE regress_bob;
FETCH c;
SELECT count(body <@> 'all') FROM secret;
ROLLBACK;

REVOKE SELECT (body) ON secret FROM regress_bob;

-- Where a ranking beside the column of the index is bound, no right is asked for
-- but the plan's: also as a parameter, and in a view.
CREATE VIEW bobs.view AS SELECT id, body FROM secret WHERE id <= 20;
GRANT SELECT ON bobs.view TO regress_bob;
SET ROLE regress_bob;
SELECT count(*) FROM (SELECT id FROM bobs.view ORDER BY body <@> skipidx_query('layoff1', 'secret_body') LIMIT 3) v;
SET plan_cache_mode = force_generic_plan;
PREPARE generic (tsquery) AS SELECT count(*) FROM (SELECT id FROM bobs.view ORDER BY body <@> $1 LIMIT 3) v;
EXECUTE generic ('layoff1');
RESET plan_cache_mode;
-- A reference that is a value is bound to nothing, not even there.
SELECT count(*) FROM (SELECT id FROM bobs.view ORDER BY body <@> (SELECT ref FROM bobs.kept) LIMIT 3) v;
RESET ROLE;

DROP SCHEMA bobs CASCADE;
DROP FUNCTION ways, ordered, distance, computed, lent;
DROP TABLE secret, open;
DROP ROLE regress_bob;
