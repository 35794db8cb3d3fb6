--
-- The text of a reference: it is read as it is written, and what is no such text
-- is refused
--
-- Holds: functions 3, 17
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE refs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO refs SELECT i, ('all:1 by:2 n' || i % 9 || ':3')::tsvector FROM generate_series(1, 100) i;
CREATE INDEX refs_v ON refs USING skipidx (v);
CREATE INDEX refs_part ON refs USING skipidx (v) WHERE id < 50;
CREATE INDEX refs_id ON refs (id);
CREATE SCHEMA "refs, ""by"" O'x";
CREATE TABLE "refs, ""by"" O'x"."a.b" AS SELECT id, v FROM refs WHERE id < 20;
CREATE INDEX "i(1), by \" ON "refs, ""by"" O'x"."a.b" USING skipidx (v);
CREATE TABLE refs_parts (id int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE refs_parts_0 PARTITION OF refs_parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX refs_parts_v ON refs_parts USING skipidx (v);

-- what SQLSTATE and message it is refused with; else the reference
CREATE FUNCTION ref_said(t text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN t::skipidx_ref;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

--
-- It is read as it is written
--
SELECT q, skipidx_query(q, i)::text AS written, skipidx_query(q, i)::text::skipidx_ref::text = skipidx_query(q, i)::text AS same,
	bool_and(v <@> skipidx_query(q, i)::text::skipidx_ref IS NOT DISTINCT FROM v <@> skipidx_query(q, i)) AS scores
FROM refs, unnest('{all & n1 | !by,"''by'' <-> n2 <3> ''it''''s'' | ''a\\\\b'' | '' by ''",n:*B & by:AC,""}'::tsquery[]) q,
	unnest(ARRAY['refs_v', 'refs_part', '"refs, ""by"" O''x"."i(1), by \"', 'refs_parts_v']) i
GROUP BY 1, 2 ORDER BY 1, 2;
-- of several indexes
SELECT ref_said('all by refs_v, refs_part'), ref_said('all by refs_part, refs_v, refs_parts_v,refs_part, public.refs_v ,"refs, ""by"" O''x"."i(1), by \" ');
SELECT count(DISTINCT v <@> ('n1 by ' || i)::skipidx_ref) AS scores, min(v <@> ('n1 by ' || i)::skipidx_ref) < min(v <@> 'n1') AS rarer
FROM refs, unnest('{refs_v,"refs_v, refs_part","refs_part, refs_v"}'::text[]) i GROUP BY i ORDER BY i;
-- by the search path
SET search_path = pg_catalog;
SELECT public.skipidx_query('all', 'public.refs_v'), public.ref_said('all by refs_v');
RESET search_path;
-- what is bound at planning can be written so; it is searched by the index
SET enable_seqscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM refs ORDER BY v <@> '''n1'' | ''n2'' by refs_v'::skipidx_ref LIMIT 3;
SELECT id FROM refs ORDER BY v <@> '''n1'' | ''n2'' by refs_v'::skipidx_ref LIMIT 3;
SELECT id FROM refs ORDER BY v <@> skx_bind('n3', 'by refs_v') LIMIT 3;
RESET enable_seqscan;
RESET enable_sort;
-- a string without a type is a query still
SELECT ref_said('n1 by refs_v'), (SELECT min(v <@> 'n1') FROM refs) < 0 AS query;

--
-- Refused
--
SELECT t, ref_said(t) FROM unnest(ARRAY['', ' ', 'all', 'by', 'by ', 'by,', 'all by', 'all by ', 'all by by', 'allby refs_v', 'all by refs_v x', 'all by refs_v,', 'all by ,refs_v',
	'all by refs_v refs_part', 'all by refs_v (', 'all by refs_v (foreign partitions not counted', 'all by refs_v ()', 'all by refs_v(foreign partitions not counted) x',
	'all by refs', 'all by refs_id', 'all by refs_v, refs_id', 'all by nosuch', 'all by nosuch.refs_v', 'all by a.b.c.d', 'all by other.public.refs_v', 'all by "refs_v', 'all by ""', 'all by 1259', 'all by 0', 'all by -',
	'all & by refs_v', '& by refs_v', '''all by refs_v', 'all\ by refs_v', 'by & all by refs_v', 'ALL BY refs_v', 'all by ' || chr(160) || 'refs_v', $$'a' by refs_v; DROP TABLE refs$$]) t;
-- the remark is read, as it is written
SELECT ref_said('all by refs_v (foreign partitions not counted)'), ref_said('all by refs_part(foreign partitions not counted) , refs_v');
SELECT ref_said(repeat('by ', 100000)), left(ref_said(repeat('''', 99999) || ' by refs_v'), 40), ref_said('all by ' || repeat('refs_v,', 20000) || 'refs_v');
SELECT left(ref_said('all by ' || repeat('x.', 5000) || 'refs_v'), 60), left(ref_said('all by "' || repeat('x', 5000000) || '"'), 60);
-- one that is not valid, as CREATE INDEX CONCURRENTLY leaves it
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'refs_part'::regclass;
SELECT ref_said('all by refs_part'), ref_said('all by refs_v, refs_part');
-- one that is gone
CREATE TABLE kept AS SELECT 'all by refs_v, refs_parts_v'::skipidx_ref AS ref;
DROP TABLE refs_parts;
SELECT count(v <@> ref) AS scores FROM refs, kept;
DROP INDEX refs_v;
SELECT regexp_replace(ref::text, '\d+', 'N', 'g'), ref_said(ref::text) LIKE '42P01 relation "%" does not exist' FROM kept;
-- nothing stays locked
BEGIN;
SELECT ref_said('all by "refs, ""by"" O''x"."i(1), by \"') IS NOT NULL AS read;
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = '"refs, ""by"" O''x"."i(1), by \"'::regclass;
COMMIT;

DROP FUNCTION ref_said;
DROP TABLE refs, kept;
DROP SCHEMA "refs, ""by"" O'x" CASCADE;
