--
-- Every function that takes an index refuses the same ones, for the same reasons
--
-- Holds: functions 12; inspect 2
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE open_calls (signature text PRIMARY KEY, call text);
INSERT INTO open_calls VALUES
	('skipidx_any_of(regclass,text,double precision,regconfig)', 'skipidx_any_of(%L, ''a'')'),
	('skipidx_any_of_words(regclass,text,double precision,regconfig)', 'skipidx_any_of_words(%L, ''a'')'),
	('skipidx_bm25(regclass,tsvector,tsquery)', 'skipidx_bm25(%L, ''a:1'', ''a'')'),
	('skipidx_check(regclass,boolean)', 'skipidx_check(%L, true)'),
	('skipidx_complete(regclass,text,integer,tsquery,text)', 'skipidx_complete(%L, ''a'')'),
	('skipidx_count(regclass,tsquery,boolean)', 'skipidx_count(%L, ''a'')'),
	('skipidx_expand_query(regclass,tsquery,text,boolean,boolean,integer,boolean)', 'skipidx_expand_query(%L, ''a'')'),
	('skipidx_expand(regclass,tsquery,text,boolean,boolean,integer,boolean)', 'skipidx_expand(%L, ''a'')'),
	('skipidx_explain_score(regclass,tid,tsquery)', 'skipidx_explain_score(%L, ''(0,1)'', ''a'')'),
	('skipidx_facets(regclass,tsquery,text,integer)', 'skipidx_facets(%L, ''a'', ''n'')'),
	('skipidx_facets(regclass,tsquery,text[],integer)', 'skipidx_facets(%L, ''a'', ''{n}''::text[])'),
	('skipidx_flush(regclass)', 'skipidx_flush(%L)'),
	('skipidx_histogram(regclass,tsquery,text,anyarray)', 'skipidx_histogram(%L, ''a'', ''n'', ''{1}''::int[])'),
	('skipidx_merge(regclass,integer)', 'skipidx_merge(%L)'),
	('skipidx_page(regclass,bigint)', 'skipidx_page(%L, 0)'),
	('skipidx_prewarm(regclass)', 'skipidx_prewarm(%L)'),
	('skipidx_proximity(regclass,tsvector,tsquery)', 'skipidx_proximity(%L, ''a:1'', ''a'')'),
	('skipidx_query(tsquery,text)', 'skipidx_query(''a'', %L)'),
	('skipidx_ranking(regclass,tsquery)', 'skipidx_ranking(%L, ''a'')'),
	('skipidx_ranking_of_groups(regclass,tsquery,jsonb)', 'skipidx_ranking_of_groups(%L, ''a'', ''{}'')'),
	('skipidx_ranking(regclass,tsquery,text,anyelement)', 'skipidx_ranking(%L, ''a'', ''n'', 1)'),
	('skipidx_ranking(regclass,tsquery,text,text)', 'skipidx_ranking(%L, ''a'', ''n'', ''1'')'),
	('skx_ranking_here(regclass,tsquery)', 'skx_ranking_here(%L, ''a'')'),
	('skipidx_scroll(regclass,tsquery,integer,integer,bytea,integer)', 'skipidx_scroll(%L, ''a'')'),
	('skipidx_search(regclass,tsquery,integer,tsquery,bytea,skipidx_ranking)', 'skipidx_search(%L, ''a'')'),
	('skipidx_segments(regclass)', 'skipidx_segments(%L)'),
	('skipidx_slices(regclass,text,integer)', 'skipidx_slices(%L, ''n'', 2)'),
	('skipidx_stats(regclass)', 'skipidx_stats(%L)'),
	('skipidx_suggest(regclass,text,integer,text,boolean)', 'skipidx_suggest(%L, ''a'')'),
	('skipidx_terms(regclass,text,integer)', 'skipidx_terms(%L)');
-- No other does, but one that takes indexes of distributed tables alone.
SELECT coalesce(signature, f::text) AS missing FROM open_calls FULL JOIN
	(SELECT p.oid::regprocedure AS f FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.deptype = 'e'
		JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
		WHERE e.extname = 'skipidx' AND (2205 = ANY (proargtypes) OR proname = 'skipidx_query')) p ON f::text = signature
	WHERE (signature IS NULL OR f IS NULL) AND coalesce(f::text, '') <> 'skipidx_ranking_of_shards(regclass,tsquery)';

-- What they say of an index; the calls are told only where they do not all say
-- the same.
CREATE FUNCTION open_states(index text, OUT calls text, OUT state text, OUT said text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	c record;
	s text;
	m text;
BEGIN
	CREATE TEMP TABLE told (signature text, state text, message text);
	FOR c IN SELECT * FROM open_calls LOOP
		BEGIN
			EXECUTE 'SELECT count(f.*) FROM (SELECT ' || format(c.call, index) || ' OFFSET 0) f';
			INSERT INTO told VALUES (c.signature, '00000', 'nothing');
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO told VALUES (c.signature, SQLSTATE, SQLERRM);
		END;
	END LOOP;
	RETURN QUERY SELECT CASE WHEN count(*) = (SELECT count(*) FROM told) THEN 'all' ELSE string_agg(signature, ' ' ORDER BY signature) END,
		t.state, message FROM told t GROUP BY t.state, message ORDER BY 2, 3;
	DROP TABLE told;
END $$;

CREATE TABLE open_docs (n int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO open_docs SELECT i, 'a:1 b:2' FROM generate_series(1, 20) i;
CREATE INDEX open_docs_body ON open_docs USING skipidx (body, n);
INSERT INTO open_docs SELECT i, 'a:1 c:2' FROM generate_series(1, 20) i;
SELECT * FROM open_states('open_docs_body');

--
-- One that CREATE INDEX CONCURRENTLY has left
--
CREATE FUNCTION open_fails(n int, body tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN CASE WHEN n = 20 THEN (1 / (n - 20))::text::tsvector ELSE body END;
END $$;
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY open_left ON open_docs USING skipidx (open_fails(n, body), n);
\set VERBOSITY default
SELECT * FROM open_states('open_left');
SELECT skipidx_stats('open_left');
-- the same when much of its file was there, but no first page
SET skipidx.fault = 'build_segment_written:error';
CREATE INDEX CONCURRENTLY open_half ON open_docs USING skipidx (body, n);
RESET skipidx.fault;
SELECT pg_relation_size('open_half') > 0 AS pages;
SELECT * FROM open_states('open_half');

--
-- One of a table whose rows are in shards, as a catalog of another extension says
--
-- Elsewhere, or with other columns, it is none.
CREATE SCHEMA open_mine;
SET search_path = open_mine, public, pg_catalog;
CREATE TABLE open_mine.pg_dist_partition AS SELECT 'open_docs'::regclass AS logicalrelid;
SELECT * FROM open_states('open_docs_body');
RESET search_path;
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition AS SELECT 'open_docs'::regclass::int8 AS logicalrelid;
SELECT * FROM open_states('open_docs_body');
DROP TABLE pg_catalog.pg_dist_partition;
CREATE VIEW pg_catalog.pg_dist_partition AS SELECT 'open_docs'::regclass AS logicalrelid;
SELECT * FROM open_states('open_docs_body');
DROP VIEW pg_catalog.pg_dist_partition;
CREATE TABLE pg_catalog.pg_dist_partition (partmethod "char" NOT NULL, logicalrelid regclass NOT NULL);
SELECT * FROM open_states('open_docs_body');
INSERT INTO pg_catalog.pg_dist_partition VALUES ('h', 'open_calls'), ('n', 'open_docs');
SELECT * FROM open_states('open_docs_body');
SELECT skipidx_count('open_docs_body', 'a');
-- where its index is there, by that
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
SELECT * FROM open_states('open_docs_body');
DELETE FROM pg_catalog.pg_dist_partition WHERE partmethod = 'n';
SELECT * FROM open_states('open_docs_body');
-- of partitions
CREATE TABLE open_parts (n int, body tsvector) PARTITION BY RANGE (n);
CREATE TABLE open_part PARTITION OF open_parts DEFAULT;
INSERT INTO open_parts SELECT * FROM open_docs;
CREATE INDEX open_parts_body ON open_parts USING skipidx (body, n);
SELECT skipidx_count('open_parts_body', 'a'), skipidx_count('open_part_body_n_idx', 'a');
INSERT INTO pg_catalog.pg_dist_partition VALUES ('h', 'open_part');
SELECT skipidx_count('open_parts_body', 'a');
SELECT skipidx_count('open_part_body_n_idx', 'a');
UPDATE pg_catalog.pg_dist_partition SET logicalrelid = 'open_parts' WHERE logicalrelid = 'open_part'::regclass;
SELECT skipidx_count('open_parts_body', 'a');
DROP TABLE pg_catalog.pg_dist_partition;
SELECT skipidx_count('open_parts_body', 'a');
RESET allow_system_table_mods;

DROP TABLE open_docs, open_parts, open_calls;
DROP SCHEMA open_mine CASCADE;
DROP FUNCTION open_states, open_fails;
