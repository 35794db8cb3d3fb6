--
-- `<@>` of tables whose rows are elsewhere: in shards, where it is left as it was
-- written, and in foreign tables
--
-- Holds: plan 35, 36
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE near (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO near SELECT i, ('all:1 n' || i % 9 || ':2')::tsvector FROM generate_series(1, 90) i;
CREATE INDEX near_v ON near USING skipidx (v);
CREATE INDEX near_id ON near USING skipidx (v, id);
CREATE TABLE far_h (LIKE near);
CREATE TABLE far_r (LIKE near);
CREATE TABLE far_a (LIKE near);
CREATE TABLE far_n (LIKE near);
CREATE TABLE far_x (LIKE near);
INSERT INTO far_h SELECT * FROM near;
CREATE INDEX far_h_v ON far_h USING skipidx (v);
CREATE INDEX far_r_v ON far_r USING skipidx (v);
CREATE INDEX far_a_v ON far_a USING skipidx (v);
CREATE INDEX far_n_v ON far_n USING skipidx (v);
CREATE INDEX far_x_v ON far_x USING skipidx (v);
CREATE TABLE far_bare (LIKE near);
CREATE VIEW far_view AS SELECT id, v FROM far_h WHERE id > 3;
ANALYZE near, far_h;
SET enable_seqscan = off;
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
INSERT INTO pg_catalog.pg_dist_partition SELECT 'far_' || m, m::"char" FROM unnest('{h,r,a,n,x}'::text[]) m;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('far_bare', 'h');
RESET allow_system_table_mods;

-- What the `<@>` of a plan have on the right
\getenv tree PG_ABS_SRCDIR
\set plans :tree /sql/shared/plans.sql
\i :plans
CREATE FUNCTION bound(query text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT coalesce('by ' || m[1], m[2]), ', ')
	FROM regexp_matches(plan_of(query), '<@> ''(?:''''\w+'''' by ([^'']+)''::skipidx_ref|[^'']*''''\w+''''[^'']*''::(tsquery|skipidx_ranking))', 'g') m;
$$;

--
-- Shards: not bound; one warning where each ranks for itself
--
\set VERBOSITY default
SELECT bound('SELECT id FROM far_h ORDER BY v <@> ''n1'' LIMIT 3');
\set VERBOSITY terse
SELECT bound('SELECT id FROM far_r ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM far_a ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM far_n ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM far_x ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM near ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM far_bare ORDER BY v <@> ''n1'' LIMIT 3');
-- one, however often a statement has it and is planned
SELECT bound('SELECT id, v <@> ''n2'' FROM far_h WHERE v <@> ''n3'' < 0 ORDER BY v <@> ''n1'' LIMIT 3'), bound('SELECT v <@> ''n1'' FROM far_r');
DO $$ BEGIN FOR i IN 1 .. 3 LOOP PERFORM bound('SELECT id FROM far_h ORDER BY v <@> ''n1'''); PERFORM bound('SELECT id FROM far_r ORDER BY v <@> ''n2'''); END LOOP; END $$;
-- and the next statement has one again
SELECT bound('SELECT id FROM far_h ORDER BY v <@> ''n1'' LIMIT 3');
-- whatever leads there
SELECT bound('SELECT id FROM far_view ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM (SELECT * FROM far_h OFFSET 1) s ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('WITH s AS MATERIALIZED (SELECT * FROM far_h) SELECT id FROM s ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT id FROM near n WHERE EXISTS (SELECT FROM far_h h WHERE h.v <@> ''n1'' < -1 AND h.id = n.id)');
SELECT bound('SELECT * FROM near, LATERAL (SELECT h.v <@> ''n1'' FROM far_h h WHERE h.id = near.id) l');
-- a table of this server in the same statement is ranked by its index
SELECT bound('SELECT n.v <@> ''n2'', h.v <@> ''n1'' FROM near n JOIN far_h h USING (id)');
-- but not rows of both in one list
SELECT bound('SELECT * FROM (SELECT * FROM near UNION ALL SELECT * FROM far_h) u ORDER BY v <@> ''n1'' LIMIT 3');
SELECT bound('SELECT * FROM (SELECT * FROM far_n UNION ALL SELECT * FROM near) u ORDER BY v <@> ''n1'' LIMIT 3');
-- a query that is not known
PREPARE unknown (tsquery) AS SELECT id FROM far_h ORDER BY v <@> $1 LIMIT 3;
SET plan_cache_mode = force_generic_plan;
RESET enable_seqscan;
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE unknown ('n1');
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE unknown ('n1');
RESET plan_cache_mode;
SET enable_seqscan = off;
-- computed here it is the error that there is no index
SELECT id FROM far_h ORDER BY v <@> 'n1' LIMIT 3;
SELECT id FROM far_n ORDER BY v <@> 'n1' LIMIT 3;
SELECT min(v <@> 'n1') FROM far_h;
-- a named index has no rows, and says so
SELECT id FROM far_h ORDER BY v <@> skipidx_query('n1', 'far_h_v') LIMIT 3;
SELECT 'n1 by far_h_v'::skipidx_ref;
-- a ranking is computed with anywhere
SELECT bound('SELECT id FROM far_h ORDER BY v <@> ''documents=90 length=180 ''''n1''''(df=10)''::skipidx_ranking LIMIT 3');
SELECT id FROM far_h ORDER BY v <@> 'documents=90 length=180 ''n1''(df=10)'::skipidx_ranking LIMIT 3;
-- A ranking opens its index once, by the look-ups of its table among those of shards
CREATE FUNCTION opened(call text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_numscans('pg_catalog.pg_dist_partition'::regclass);
BEGIN
	EXECUTE 'SELECT ' || call;
	RETURN pg_stat_get_xact_numscans('pg_catalog.pg_dist_partition'::regclass) - before;
END $$;
SELECT call, opened(call) FROM (VALUES ('skipidx_ranking(''near_v'', ''n1'')'), ('skx_ranking_here(''near_v'', ''n1'')'),
	('skipidx_ranking(''near_id'', ''n1'', ''id'', 7)'), ('count(skipidx_ranking(''near_v'', ''n1'')) FROM near'), ('skipidx_count(''near_v'', ''n1'')')) c(call);
DROP FUNCTION opened;
-- without the column, nothing is known of how they are divided
SET allow_system_table_mods = on;
ALTER TABLE pg_catalog.pg_dist_partition DROP COLUMN partmethod;
RESET allow_system_table_mods;
SELECT bound('SELECT id FROM far_h ORDER BY v <@> ''n1'' LIMIT 3');
SET allow_system_table_mods = on;
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;
SELECT bound('SELECT id FROM far_h ORDER BY v <@> ''n1'' LIMIT 3');

--
-- Foreign tables beneath a table with an index: it says that it lacks their rows
--
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE away (id int, v tsvector) SERVER nowhere;
CREATE TABLE parts (id int, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_near PARTITION OF parts FOR VALUES FROM (0) TO (1000);
INSERT INTO parts SELECT * FROM near;
CREATE INDEX parts_v ON parts USING skipidx (v);
ANALYZE parts_near;
SELECT bound('SELECT id FROM parts WHERE id < 50 ORDER BY v <@> ''n1''');
ALTER TABLE parts ATTACH PARTITION away FOR VALUES FROM (1000) TO (2000);
SELECT bound('SELECT id FROM parts WHERE id < 50 ORDER BY v <@> ''n1'''), bound('SELECT id FROM parts_near ORDER BY v <@> ''n1''');
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE id < 50 ORDER BY v <@> 'n1' LIMIT 5;
DO $$ BEGIN
	ALTER TABLE parts DETACH PARTITION away;
	RAISE WARNING '%', bound('SELECT id FROM parts WHERE id < 50 ORDER BY v <@> ''n1''');
	ALTER TABLE parts ATTACH PARTITION away FOR VALUES FROM (1000) TO (2000);
	RAISE WARNING '%', bound('SELECT id FROM parts WHERE id < 50 ORDER BY v <@> ''n1''');
END $$;
SELECT skipidx_query('n1', 'parts_v')::text, skipidx_query('n1', 'parts_v')::text::skipidx_ref::text;
SELECT count(v <@> (skipidx_query('n1', 'parts_v')::text::skipidx_ref)) FROM parts WHERE id < 50;
-- and one that others inherit from
CREATE TABLE heirs (LIKE near);
CREATE INDEX heirs_v ON heirs USING skipidx (v);
CREATE FOREIGN TABLE heirs_away () INHERITS (heirs) SERVER nowhere;
SELECT skipidx_query('n1', 'heirs_v'), bound('SELECT id FROM ONLY heirs ORDER BY v <@> ''n1''');

DROP TABLE near, far_h, far_r, far_a, far_n, far_x, far_bare, parts, heirs CASCADE;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
DROP FUNCTION bound, plan_of, ranked_by;
