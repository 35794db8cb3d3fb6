--
-- Every function and view of the extension, the right that it asks for, and
-- that it does: what is not listed here fails the test
--
-- Holds: functions 1, 2, 3, 13; inspect 1, 4, 13
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- read: SELECT on the columns of the index, and no policy.  table: SELECT on the
-- table, or ownership.  stats: ownership, or pg_read_all_stats.  owner.  execute:
-- EXECUTE, which PUBLIC has not.  own: all may ask, and are told of their own.
-- none: it tells nothing of rows, or counts of the session or the server.  plan:
-- none here, the plan of the query asks.  shards: read, of distributed tables, and
-- refused for others.  refused, internal: nobody can.
CREATE TABLE rights (object text, "right" text, call text);
INSERT INTO rights VALUES
	('skipidx_any(regconfig,text)', 'none', 'skipidx_any(''simple'', ''a'')'),
	('skipidx_any(text)', 'none', 'skipidx_any(''a'')'),
	('skipidx_any_of(regclass,text,double precision,regconfig)', 'read', 'skipidx_any_of(''rights_body'', ''a'')'),
	('skipidx_any_of_words(regclass,text,double precision,regconfig)', 'read', 'skipidx_any_of_words(''rights_body'', ''a'')'),
	('skx_any_words(regconfig,skipidx_words,integer)', 'none', 'skx_any_words(''simple'', ''a'', 0)'),
	('skx_bigram_end(internal)', 'internal', NULL),
	('skx_bigram_headline(internal,internal,tsquery)', 'internal', NULL),
	('skx_bigram_start(internal,integer)', 'internal', NULL),
	('skx_bigram_token(internal,internal,internal)', 'internal', NULL),
	('skx_bigram_types(internal)', 'internal', NULL),
	('skx_bind(tsquery,skipidx_ref)', 'none', 'skx_bind(''a'', ref) FROM kept'),
	('skx_bind_values(skipidx_disjunction,"any")', 'plan', NULL),
	('skipidx_bm25(regclass,tsvector,tsquery)', 'read', 'skipidx_bm25(''rights_body'', ''a:1'', ''a'')'),
	('skipidx_bm25(tsvector,skipidx_ranking)', 'none', 'skipidx_bm25(''a:1''::tsvector, ranking) FROM kept'),
	('skipidx_cache()', 'none', 'skipidx_cache()'),
	('skipidx_cache_indexes()', 'own', 'skipidx_cache_indexes()'),
	('skipidx_cache_reset()', 'execute', 'skipidx_cache_reset()'),
	('skipidx_calibrate(name,double precision,integer,double precision)', 'execute', 'skipidx_calibrate(NULL, 0, 2, 0)'),
	('skipidx_check(regclass,boolean)', 'owner', 'skipidx_check(''rights_body'', true)'),
	('skipidx_complete(regclass,text,integer,tsquery,text)', 'read', 'skipidx_complete(''rights_body'', ''a'', 10, ''a'', ''1'')'),
	('skipidx_count(regclass,tsquery,boolean)', 'read', 'skipidx_count(''rights_body'', ''a'')'),
	('skx_disjoint(anyarray,anyarray)', 'none', 'skx_disjoint(''{1}''::int[], ''{2}'')'),
	('skx_disjunction_in(cstring)', 'refused', 'skx_disjunction_in(''x'')'),
	('skx_disjunction_out(skipidx_disjunction)', 'plan', NULL),
	('skx_disjunction_recv(internal)', 'internal', NULL),
	('skx_distance(anyelement,skipidx_words)', 'plan', 'skx_distance(''a''::text, ''a''::skipidx_words)'),
	('skx_distance(tsvector,skipidx_ref)', 'read', 'skx_distance(''a:1''::tsvector, ref) FROM kept'),
	('skx_distance(tsvector,skipidx_ranking)', 'none', 'skx_distance(''a:1''::tsvector, ranking) FROM kept'),
	('skx_distance(tsvector,text)', 'plan', 'skx_distance(''a:1''::tsvector, ''a''::text)'),
	('skx_distance(tsvector,tsquery)', 'plan', 'skx_distance(''a:1''::tsvector, ''a''::tsquery)'),
	('skx_distance_support(internal)', 'internal', NULL),
	('skipidx_document(regconfig,text)', 'none', 'skipidx_document(''simple'', ''a'')'),
	('skipidx_expand_query(regclass,tsquery,text,boolean,boolean,integer,boolean)', 'read', 'skipidx_expand_query(''rights_body'', ''a'')'),
	('skipidx_expand(regclass,tsquery,text,boolean,boolean,integer,boolean)', 'read', 'skipidx_expand(''rights_body'', ''a'')'),
	('skipidx_explain_score(regclass,tid,tsquery)', 'read', 'skipidx_explain_score(''rights_body'', ''(0,1)'', ''a'')'),
	('skipidx_explain_score(tsvector,skipidx_ranking)', 'none', 'skipidx_explain_score(''a:1''::tsvector, ranking) FROM kept'),
	('skipidx_facets(regclass,tsquery,text,integer)', 'read', 'skipidx_facets(''rights_body'', ''a'', ''n'')'),
	('skipidx_facets(regclass,tsquery,text[],integer)', 'read', 'skipidx_facets(''rights_body'', ''a'', ''{n}''::text[])'),
	('skipidx_flush(regclass)', 'owner', 'skipidx_flush(''rights_body'')'),
	('skx_handler(internal)', 'internal', NULL),
	('skipidx_highlight(regconfig,text,tsquery,text,text,integer,integer,text)', 'none', 'skipidx_highlight(''simple'', ''a b'', ''a'')'),
	('skipidx_histogram(regclass,tsquery,text,anyarray)', 'read', 'skipidx_histogram(''rights_body'', ''a'', ''n'', ''{1}''::int[])'),
	('skipidx_io_totals()', 'none', 'skipidx_io_totals()'),
	('skipidx_io_methods()', 'none', 'skipidx_io_methods()'),
	('skx_match(anyelement,skipidx_words)', 'plan', 'skx_match(''a''::text, ''a''::skipidx_words)'),
	('skx_meets(tsvector,skipidx_disjunction)', 'plan', NULL),
	('skipidx_merge(regclass,integer)', 'owner', 'skipidx_merge(''rights_body'')'),
	('skx_merges()', 'own', 'skx_merges()'),
	('skipidx_page(regclass,bigint)', 'owner', 'skipidx_page(''rights_body'', 0)'),
	('skx_place_date(timestamp with time zone,internal)', 'internal', NULL),
	('skx_place_timestamp(timestamp with time zone,internal)', 'internal', NULL),
	('skx_place_timestamptz(date,internal)', 'internal', NULL),
	('skx_place_timestamptz(timestamp without time zone,internal)', 'internal', NULL),
	('skipidx_passages(anyelement,skipidx_words,text,text,integer,integer,text)', 'plan', 'skipidx_passages(''a''::text, ''a''::skipidx_words)'),
	('skipidx_prewarm(regclass)', 'table', 'skipidx_prewarm(''rights_body'')'),
	('skipidx_boost(boolean,double precision)', 'none', 'skipidx_boost(true, 1)'),
	('skipidx_decay(date,interval,double precision,date)', 'none', 'skipidx_decay(''2026-01-01''::date, ''1 day'', .5, ''2026-01-01''::date)'),
	('skipidx_decay(timestamp with time zone,interval,double precision,timestamp with time zone)', 'none', 'skipidx_decay(''2026-01-01''::timestamptz, ''1 day'', .5, ''2026-01-01''::timestamptz)'),
	('skipidx_decay(timestamp without time zone,interval,double precision,timestamp without time zone)', 'none', 'skipidx_decay(''2026-01-01''::timestamp, ''1 day'', .5, ''2026-01-01''::timestamp)'),
	('skipidx_log1p(double precision,double precision)', 'none', 'skipidx_log1p(1, 1)'),
	('skipidx_near(date,date,interval,double precision)', 'none', 'skipidx_near(''2026-01-01''::date, ''2026-01-01''::date, ''1 day'', 1)'),
	('skipidx_near(double precision,double precision,double precision,double precision)', 'none', 'skipidx_near(1::float8, 1, 1, 1)'),
	('skipidx_near(timestamp with time zone,timestamp with time zone,interval,double precision)', 'none', 'skipidx_near(''2026-01-01''::timestamptz, ''2026-01-01''::timestamptz, ''1 day'', 1)'),
	('skipidx_near(timestamp without time zone,timestamp without time zone,interval,double precision)', 'none', 'skipidx_near(''2026-01-01''::timestamp, ''2026-01-01''::timestamp, ''1 day'', 1)'),
	('skipidx_recency(date,interval,double precision,date)', 'none', 'skipidx_recency(''2026-01-01''::date, ''1 day'', 1, ''2026-01-01''::date)'),
	('skipidx_recency(timestamp with time zone,interval,double precision,timestamp with time zone)', 'none', 'skipidx_recency(''2026-01-01''::timestamptz, ''1 day'', 1, ''2026-01-01''::timestamptz)'),
	('skipidx_recency(timestamp without time zone,interval,double precision,timestamp without time zone)', 'none', 'skipidx_recency(''2026-01-01''::timestamp, ''1 day'', 1, ''2026-01-01''::timestamp)'),
	('skipidx_saturation(double precision,double precision,double precision)', 'none', 'skipidx_saturation(1, 1, 1)'),
	('skipidx_proximity(regclass,tsvector,tsquery)', 'read', 'skipidx_proximity(''rights_body'', ''a:1'', ''a'')'),
	('skipidx_proximity(tsvector,skipidx_ranking)', 'none', 'skipidx_proximity(''a:1''::tsvector, ranking) FROM kept'),
	('skipidx_query(tsquery,text)', 'read', 'skipidx_query(''a'', ''rights_body'')'),
	('skipidx_ranking(regclass,tsquery)', 'read', 'skipidx_ranking(''rights_body'', ''a'')'),
	('skipidx_ranking_of_shards(regclass,tsquery)', 'shards', 'skipidx_ranking_of_shards(''rights_body'', ''a'')'),
	('skipidx_ranking_of_groups(regclass,tsquery,jsonb)', 'read', 'skipidx_ranking_of_groups(''rights_body'', ''a'', ''{}'')'),
	('skipidx_boosted(skipidx_ranking,jsonb)', 'none', 'skipidx_boosted(ranking, ''{"a": 2}'') FROM kept'),
	('skipidx_ranking(regclass,tsquery,text,anyelement)', 'read', 'skipidx_ranking(''rights_body'', ''a'', ''n'', 1)'),
	('skipidx_ranking(regclass,tsquery,text,text)', 'read', 'skipidx_ranking(''rights_body'', ''a'', ''n'', ''1'')'),
	('skx_ranking_add(skipidx_ranking,skipidx_ranking)', 'none', 'skx_ranking_add(ranking, ranking) FROM kept'),
	('skx_ranking_here(regclass,tsquery)', 'read', 'skx_ranking_here(''rights_body'', ''a'')'),
	('skx_ranking_in(cstring)', 'none', 'skx_ranking_in(''documents=1 length=1'')'),
	('skx_ranking_out(skipidx_ranking)', 'none', 'skx_ranking_out(ranking) FROM kept'),
	('skx_ranking_recv(internal)', 'internal', NULL),
	('skx_ranking_send(skipidx_ranking)', 'none', 'skx_ranking_send(ranking) FROM kept'),
	('skx_ref_in(cstring)', 'none', 'skx_ref_in(''a by rights_body'')'),
	('skx_ref_out(skipidx_ref)', 'none', 'skx_ref_out(ref) FROM kept'),
	('skx_ref_recv(internal)', 'internal', NULL),
	('skipidx_rrf(bigint)', 'none', 'skipidx_rrf(1)'),
	('skipidx_rrf(bigint,double precision)', 'none', 'skipidx_rrf(1, 60)'),
	('skx_rrf_add(bigint,bigint)', 'none', 'skx_rrf_add(0, 1)'),
	('skx_rrf_add(bigint,bigint,double precision)', 'none', 'skx_rrf_add(0, 1, 60)'),
	('skx_rrf_combine(bigint,bigint)', 'none', 'skx_rrf_combine(0, 1)'),
	('skx_rrf_sum(bigint)', 'none', 'skx_rrf_sum(1)'),
	('skipidx_scroll(regclass,tsquery,integer,integer,bytea,integer)', 'read', 'skipidx_scroll(''rights_body'', ''a'', after => scroll) FROM kept'),
	('skipidx_search(regclass,tsquery,integer,tsquery,bytea,skipidx_ranking)', 'read', 'skipidx_search(''rights_body'', ''a'', after => search) FROM kept'),
	('skipidx_segments(regclass)', 'stats', 'skipidx_segments(''rights_body'')'),
	('skipidx_settings()', 'none', 'skipidx_settings()'),
	('skipidx_slices(regclass,text,integer)', 'read', 'skipidx_slices(''rights_body'', ''n'', 2)'),
	('skipidx_stats(regclass)', 'stats', 'skipidx_stats(''rights_body'')'),
	('skipidx_suggest(regclass,text,integer,text,boolean)', 'read', 'skipidx_suggest(''rights_body'', ''a'')'),
	('skipidx_terms(regclass,text,integer)', 'read', 'skipidx_terms(''rights_body'')'),
	('skx_stop_lexize(internal,internal,internal,internal)', 'internal', NULL),
	('sum(skipidx_ranking)', 'none', 'sum(ranking) FROM kept'),
	('skx_tsquery(text)', 'none', 'skx_tsquery(''a'')'),
	('skx_web_words(regconfig,skipidx_words,integer)', 'none', 'skx_web_words(''simple'', ''a'', 0)'),
	('skx_words_in(cstring)', 'none', 'skx_words_in(''a'')'),
	('skx_words_out(skipidx_words)', 'none', 'skx_words_out(''a'')'),
	('skx_words_recv(internal)', 'internal', NULL),
	('skx_words_send(skipidx_words)', 'none', 'skx_words_send(''a'')'),
	('skx_words_support(internal)', 'internal', NULL),
	('skx_requires(text)', 'none', 'skx_requires(''1.0dev'')'),
	('skipidx_version()', 'none', 'skipidx_version()'),
	('skipidx_work()', 'none', 'skipidx_work()'),
	('view skipidx_io', 'none', 'x FROM skipidx_io x'),
	('view skipidx_merges', 'own', 'x FROM skipidx_merges x');
INSERT INTO rights SELECT format('skx_canonical(%s)', t::regtype), 'none', format('skx_canonical(NULL::%s)', t::regtype) FROM unnest(
	'{bool,int2,int4,int8,oid,float4,float8,numeric,money,date,timestamp,timestamptz,time,text,name,bpchar,bytea,uuid,inet,macaddr,bit,varbit}'::text[]) t;
INSERT INTO rights VALUES ('skx_canonical(anyenum)', 'none', NULL);

SELECT coalesce(r.object, o.object) AS missing FROM rights r FULL JOIN
	(SELECT CASE classid WHEN 'pg_proc'::regclass THEN objid::regprocedure::text ELSE 'view ' || objid::regclass END AS object
		FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		WHERE e.extname = 'skipidx' AND (classid = 'pg_proc'::regclass OR classid = 'pg_class'::regclass AND (SELECT relkind FROM pg_class WHERE oid = objid) = 'v')) o
	ON o.object = r.object WHERE r.object IS NULL OR o.object IS NULL;

--
-- Roles: without any right, with SELECT on the columns of the index, with SELECT
-- where a policy applies, for monitoring, and the owner
--
CREATE ROLE regress_nobody;
CREATE ROLE regress_reader BYPASSRLS;
CREATE ROLE regress_barred;
CREATE ROLE regress_monitor IN ROLE pg_read_all_stats;
CREATE ROLE regress_owner;
CREATE TABLE rights_docs (id int, n int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO rights_docs SELECT i, i, 'a:1 b:2' FROM generate_series(1, 20) i;
CREATE INDEX rights_body ON rights_docs USING skipidx (body, n);
ALTER TABLE rights_docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON rights_docs USING (n < 10);
ALTER TABLE rights_docs OWNER TO regress_owner;
GRANT SELECT (body, n) ON rights_docs TO regress_reader;
GRANT SELECT ON rights_docs TO regress_barred;
-- what was made with the right: a reference, a ranking, and tokens
CREATE TABLE kept AS SELECT skipidx_query('a', 'rights_body') AS ref, skipidx_ranking('rights_body', 'a') AS ranking,
	(SELECT token FROM skipidx_search('rights_body', 'a', 1)) AS search,
	(SELECT token FROM skipidx_scroll('rights_body', 'a', max_rows => 1)) AS scroll;
GRANT SELECT ON kept TO PUBLIC;

-- + may, - may not (42501), x fails otherwise
CREATE FUNCTION rights_tried(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT count(x.*) FROM (SELECT ' || call || ' OFFSET 0) x';
	RETURN '+';
EXCEPTION
	WHEN insufficient_privilege THEN RETURN '-';
	WHEN OTHERS THEN RETURN 'x';
END $$;
CREATE FUNCTION rights_as(role name, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('role', role, true);
	answer := rights_tried(call);
	PERFORM set_config('role', 'none', true);
	RETURN answer;
END $$;
GRANT SELECT ON rights TO PUBLIC;
CREATE VIEW tried AS SELECT object, "right", string_agg(rights_as(role, call), '' ORDER BY n) AS tried
	FROM rights, unnest('{regress_nobody,regress_reader,regress_barred,regress_monitor,regress_owner}'::name[]) WITH ORDINALITY r (role, n)
	WHERE call IS NOT NULL GROUP BY 1, 2;
SELECT object, "right", tried AS "nobody reader barred monitor owner" FROM tried WHERE object NOT LIKE 'skx_canonical%' ORDER BY object COLLATE "C";
SELECT object, "right", tried AS wrong FROM tried
	WHERE tried <> CASE "right" WHEN 'none' THEN '+++++' WHEN 'own' THEN '+++++' WHEN 'read' THEN '-+--+' WHEN 'table' THEN '--+-+'
		WHEN 'stats' THEN '---++' WHEN 'owner' THEN '----+' WHEN 'execute' THEN '-----' ELSE 'xxxxx' END;
-- After REVOKE, a reader has nothing of what it has kept.
REVOKE SELECT (n) ON rights_docs FROM regress_reader;
SELECT string_agg(object, ' ') AS wrong FROM rights WHERE "right" = 'read' AND rights_as('regress_reader', call) <> '-';

--
-- What is told of indexes of others: nothing but that an operation is under way
--
CREATE TABLE rights_other AS SELECT * FROM rights_docs;
CREATE INDEX rights_other_body ON rights_other USING skipidx (body);
INSERT INTO rights_other SELECT * FROM rights_docs;
INSERT INTO rights_docs SELECT * FROM rights_docs;
SELECT skipidx_flush('rights_other_body'), skipidx_flush('rights_body');
SELECT skipidx_prewarm('rights_body') > 0 AND skipidx_prewarm('rights_other_body') > 0 AS warm;
CREATE VIEW rights_seen AS SELECT
	(SELECT string_agg(index::text, ' ' ORDER BY index::text) FROM skipidx_cache_indexes() WHERE index::text LIKE 'rights%') AS cached,
	(SELECT sum(block_frames + page_frames) FROM skipidx_cache_indexes()) = (SELECT frames_used FROM skipidx_cache()) AS all_frames,
	(SELECT string_agg(DISTINCT index::text, ' ' ORDER BY index::text) FROM skx_merges() WHERE index::text LIKE 'rights%') AS merges,
	(SELECT bool_and(documents IS NOT NULL) FROM skipidx_merges WHERE index::text LIKE 'rights%') AS numbers,
	(SELECT count(*) > 0 FROM skipidx_merges WHERE state IS NOT NULL AND index::text NOT LIKE 'rights%') AS others;
GRANT SELECT ON rights_seen TO PUBLIC;
CREATE FUNCTION rights_seen_by(role name, OUT seen rights_seen) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', role, true);
	EXECUTE 'SELECT * FROM rights_seen' INTO seen;
	PERFORM set_config('role', 'none', true);
END $$;
SELECT role, (rights_seen_by(role)).cached, (rights_seen_by(role)).merges, (rights_seen_by(role)).numbers
	FROM unnest('{regress_nobody,regress_reader,regress_owner,regress_monitor}'::name[]) role;
SELECT role, (rights_seen_by(role)).all_frames, (rights_seen_by(role)).others FROM unnest('{regress_nobody,regress_owner}'::name[]) role;

DROP VIEW tried;
DROP FUNCTION rights_seen_by, rights_as, rights_tried;
DROP VIEW rights_seen;
DROP TABLE rights, rights_docs, rights_other, kept;
DROP ROLE regress_nobody, regress_reader, regress_barred, regress_monitor, regress_owner;
