--
-- The ranking of a distributed table: the sum of those of its shards, each of
-- which is asked where it is
--
-- Holds: functions 18
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- The table whose rows are in shards, the shards, and one table that has all.
CREATE TABLE shard (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE one (LIKE shard);
INSERT INTO one SELECT i, (concat_ws(' ', 'all:1', 'n' || i % 7 || ':2', CASE WHEN i % 3 = 0 THEN $$'it''s':3 '100%':4 'a\\b':5 '%s':6 '%L':7$$ END, 'w' || sqrt(i)::int || ':8'))::tsvector
	FROM generate_series(1, 300) i;
CREATE INDEX shard_v ON shard USING skipidx (v);
CREATE INDEX one_v ON one USING skipidx (v);
CREATE TABLE shard_102 (LIKE shard);
CREATE TABLE shard_103 (LIKE shard);
CREATE TABLE shard_104 (LIKE shard);
INSERT INTO shard_102 SELECT * FROM one WHERE id <= 10;
INSERT INTO shard_103 SELECT * FROM one WHERE id > 10;
CREATE INDEX shard_v_102 ON shard_102 USING skipidx (v);
CREATE INDEX shard_v_103 ON shard_103 USING skipidx (v);
CREATE INDEX shard_v_104 ON shard_104 USING skipidx (v);

--
-- Where there is no Citus
--
SELECT skipidx_ranking_of_shards('shard_v', 'all');
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
RESET allow_system_table_mods;
CREATE FUNCTION said(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text; detail text;
BEGIN
	EXECUTE 'SELECT ' || call INTO answer;
	RETURN coalesce(answer, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || SQLERRM || coalesce(': ' || nullif(detail, ''), '');
END $$;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
INSERT INTO pg_catalog.pg_dist_partition VALUES ('shard', 'h');
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
-- one elsewhere is not called
CREATE FUNCTION public.run_command_on_shards(regclass, text, OUT shardid bigint, OUT success bool, OUT result text) LANGUAGE sql AS 'SELECT 1::bigint, true, ''documents=1 length=1''';
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
DROP FUNCTION public.run_command_on_shards(regclass, text);

--
-- With a function that runs a command where the shards are, as the caller
--
CREATE FUNCTION pg_catalog.run_command_on_shards(table_name regclass, command text, parallel bool DEFAULT true, OUT shardid bigint, OUT success bool, OUT result text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	shard record;
BEGIN
	FOR shard IN SELECT s.oid, s.relname, n.nspname FROM pg_class t JOIN pg_class s ON s.relnamespace OPERATOR(pg_catalog.=) t.relnamespace AND starts_with(s.relname, t.relname || '_') AND s.relkind IN ('r', 'p')
			AND substr(s.relname, length(t.relname) + 2) ~ '^[0-9]+$' JOIN pg_namespace n ON n.oid OPERATOR(pg_catalog.=) s.relnamespace WHERE t.oid OPERATOR(pg_catalog.=) table_name ORDER BY 2 LOOP
		shardid := substring(shard.relname from '[0-9]+$');
		BEGIN
			EXECUTE format(command, CASE shard.nspname WHEN 'public' THEN quote_ident(shard.relname) ELSE format('%I.%I', shard.nspname, shard.relname) END) INTO STRICT result;
			success := true;
		EXCEPTION WHEN OTHERS THEN
			success := false; result := 'ERROR: ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT skipidx_ranking_of_shards('shard_v', 'w3');
SELECT q, skipidx_ranking_of_shards('shard_v', q)::text = skipidx_ranking('one_v', q)::text AS same
FROM unnest(ARRAY['all & n1', 'w1:* | n:*', $$'it''s' | '100%' & '%s' | '%L' | '%%'$$, $$'a\\b' <-> n2$$, 'all:A | all:A', '', 'none & z:*']::tsquery[]) q;
-- it ranks each shard as the one table
SELECT skipidx_ranking_of_shards('shard_v', 'n1 | w3') AS r \gset
SELECT (SELECT array_agg((id, d) ORDER BY d, id) FROM (SELECT id, v <@> :'r'::skipidx_ranking AS d FROM shard_102 UNION ALL SELECT id, v <@> :'r'::skipidx_ranking FROM shard_103) s)
	= (SELECT array_agg((id, d) ORDER BY d, id) FROM (SELECT id, v <@> 'n1 | w3' AS d FROM one) o) AS same;
SELECT skipidx_ranking_of_shards(NULL, 'all'), skipidx_ranking_of_shards('shard_v', NULL);
-- under any search path
CREATE SCHEMA trap;
CREATE FUNCTION trap.concat(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION trap.substring(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE FUNCTION trap.eq(oid, oid) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
CREATE OPERATOR trap.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = trap.eq);
CREATE FUNCTION trap.skipidx_ranking(regclass, tsquery) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''trapped''; END';
SET search_path = trap, pg_catalog, public;
SELECT pg_catalog.length(public.skipidx_ranking_of_shards('shard_v', 'w3')::text) > 0 AS made;
RESET search_path;
DROP SCHEMA trap CASCADE;

-- names
CREATE SCHEMA "shards' %s";
CREATE TABLE "shards' %s"."d""o'cs %L" (LIKE one);
CREATE INDEX "d""o'cs %" ON "shards' %s"."d""o'cs %L" USING skipidx (v);
CREATE TABLE "shards' %s"."d""o'cs %L_9" AS SELECT * FROM one;
CREATE INDEX "d""o'cs %_9" ON "shards' %s"."d""o'cs %L_9" USING skipidx (v);
INSERT INTO pg_catalog.pg_dist_partition VALUES ('"shards'' %s"."d""o''cs %L"', 'h');
SELECT skipidx_ranking_of_shards('"shards'' %s"."d""o''cs %"', 'all')::text = skipidx_ranking('one_v', 'all')::text AS same;
-- another is not taken for it, unless its own would be too long, and only if there
-- is just one
ALTER INDEX "shards' %s"."d""o'cs %_9" RENAME TO shortened;
SELECT said('skipidx_ranking_of_shards(''"shards'''' %s"."d""o''''cs %"'', ''all'')');
ALTER INDEX "shards' %s"."d""o'cs %" RENAME TO long_of_62_bytes______________________________________________;
SELECT skipidx_ranking_of_shards('"shards'' %s".long_of_62_bytes______________________________________________', 'all')::text = skipidx_ranking('one_v', 'all')::text AS same;
ALTER INDEX "shards' %s".long_of_62_bytes______________________________________________ RENAME TO long_of_61_bytes_____________________________________________;
SELECT said('skipidx_ranking_of_shards(''"shards'''' %s".long_of_61_bytes_____________________________________________'', ''all'')');
ALTER INDEX "shards' %s".long_of_61_bytes_____________________________________________ RENAME TO long_of_62_bytes______________________________________________;
CREATE INDEX ON "shards' %s"."d""o'cs %L_9" USING skipidx (v);
SELECT said('skipidx_ranking_of_shards(''"shards'''' %s".long_of_62_bytes______________________________________________'', ''all'')');
-- of several by its name
CREATE INDEX shard_few ON shard USING skipidx (v) WHERE id < 0;
CREATE INDEX shard_few_102 ON shard_102 USING skipidx (v) WHERE id < 0;
CREATE INDEX shard_few_103 ON shard_103 USING skipidx (v) WHERE id < 0;
CREATE INDEX shard_few_104 ON shard_104 USING skipidx (v) WHERE id < 0;
SELECT skipidx_ranking_of_shards('shard_v', 'w3'), skipidx_ranking_of_shards('shard_few', 'w3');

--
-- Errors: never a part of the answer
--
ALTER INDEX shard_few_103 RENAME TO other;
SELECT said('skipidx_ranking_of_shards(''shard_few'', ''all'')');
DROP INDEX shard_v_104, shard_few_104;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
CREATE INDEX shard_v_104 ON shard_104 USING skipidx (v) WITH (k1 = 2);
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
ALTER INDEX shard_v_104 RESET (k1);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'shard_v_104'::regclass;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'shard_v_104'::regclass;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'shard_v'::regclass;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'shard_v'::regclass;
SELECT said('skipidx_ranking_of_shards(''one_v'', ''all'')'), said('skipidx_ranking_of_shards(''one'', ''all'')'), said('skipidx_ranking_of_shards(1, ''all'')');
CREATE TABLE empty (LIKE one);
CREATE INDEX empty_v ON empty USING skipidx (v);
INSERT INTO pg_catalog.pg_dist_partition VALUES ('empty', 'h');
SELECT said('skipidx_ranking_of_shards(''empty_v'', ''all'')');

-- the right to make one: here and where the shards are
CREATE ROLE regress_shards;
SET ROLE regress_shards;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
RESET ROLE;
GRANT SELECT (v) ON shard, shard_102, shard_104 TO regress_shards;
SET ROLE regress_shards;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
RESET ROLE;
GRANT SELECT (v) ON shard_103 TO regress_shards;
SET ROLE regress_shards;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
RESET ROLE;
ALTER TABLE shard ENABLE ROW LEVEL SECURITY;
SET ROLE regress_shards;
SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')');
RESET ROLE;

-- answers that are none
CREATE TABLE answers (n serial, success bool, result text);
CREATE OR REPLACE FUNCTION pg_catalog.run_command_on_shards(table_name regclass, command text, parallel bool DEFAULT true, OUT shardid bigint, OUT success bool, OUT result text)
RETURNS SETOF record LANGUAGE sql AS 'SELECT n, success, result FROM public.answers ORDER BY n';
CREATE FUNCTION answer(VARIADIC text[]) RETURNS text LANGUAGE sql AS $$
	TRUNCATE answers RESTART IDENTITY;
	INSERT INTO answers (success, result) SELECT nullif(split_part(a, ' ', 1), '-')::bool, nullif(substring(a, 3), '') FROM unnest($1) a;
	SELECT said('skipidx_ranking_of_shards(''shard_v'', ''all'')') $$;
SELECT answer('t documents=1 length=2'), answer('t documents=1 length=2', 't documents=4 length=5');
SELECT answer('t documents=1 length=2', 'f connection not open'), answer('f documents=1 length=2'), answer('- documents=1 length=2');
SELECT answer('t'), answer('t documents=1 length=2', 't x'), answer('t documents=1 length=2', 't documents=281474976710655 length=1');

DROP FUNCTION pg_catalog.run_command_on_shards(regclass, text, bool);
SET allow_system_table_mods = on;
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;
DROP FUNCTION said, answer;
DROP TABLE shard, shard_102, shard_103, shard_104, one, empty, answers;
DROP SCHEMA "shards' %s" CASCADE;
DROP ROLE regress_shards;
