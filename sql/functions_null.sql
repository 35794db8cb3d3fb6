--
-- NULL as an argument: nothing is asked for, all, what is the default, or an
-- error, for all functions alike; an argument that is not listed fails the test
--
-- Holds: functions 14
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE null_docs (id int, n int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO null_docs SELECT i, i, ('a:1 w' || i || ':2')::tsvector FROM generate_series(1, 3000) i;
CREATE INDEX null_body ON null_docs USING skipidx (body, n);

-- Calls with all arguments, NULL in place of each in turn; what stands for all
-- of a number of rows.
CREATE TABLE null_calls (f text, args text[], everything text);
INSERT INTO null_calls VALUES
	('skipidx_any(text)', '{''a''}', NULL),
	('skipidx_any(regconfig,text)', '{''simple'',''a''}', NULL),
	('skipidx_any_of(regclass,text,double precision,regconfig)', '{''null_body'',''w12'',0.1,''simple''}', NULL),
	('skipidx_any_of_words(regclass,text,double precision,regconfig)', '{''null_body'',''w12'',0.1,''simple''}', NULL),
	('skipidx_bm25(regclass,tsvector,tsquery)', '{''null_body'',''a:1'',''a''}', NULL),
	('skipidx_bm25(tsvector,skipidx_ranking)', '{''a:1'',"''documents=9 length=9''::skipidx_ranking"}', NULL),
	('skipidx_boosted(skipidx_ranking,jsonb)', '{"''documents=9 length=9 ''''a''''(df=1)''::skipidx_ranking","''{\"a\": 2}''::jsonb"}', NULL),
	('skipidx_calibrate(name,double precision,integer,double precision)', '{NULL,0,2,0.001}', NULL),
	('skipidx_check(regclass,boolean)', '{''null_body'',true}', NULL),
	('skipidx_complete(regclass,text,integer,tsquery,text)', '{''null_body'',''w1'',2,''a'',''auto''}', '100000'),
	('skipidx_count(regclass,tsquery,boolean)', '{''null_body'',''a'',false}', NULL),
	('skipidx_document(regconfig,text)', '{''simple'',''a''}', NULL),
	('skipidx_expand_query(regclass,tsquery,text,boolean,boolean,integer,boolean)', '{''null_body'',''w12345'',''auto'',false,true,16,false}', NULL),
	('skipidx_expand(regclass,tsquery,text,boolean,boolean,integer,boolean)', '{''null_body'',''w12345'',''auto'',false,true,16,false}', NULL),
	('skipidx_explain_score(regclass,tid,tsquery)', '{''null_body'',"''(0,1)''",''a''}', NULL),
	('skipidx_explain_score(tsvector,skipidx_ranking)', '{''a:1'',"''documents=9 length=9''::skipidx_ranking"}', NULL),
	('skipidx_facets(regclass,tsquery,text,integer)', '{''null_body'',''a'',''n'',2}', '100000'),
	('skipidx_facets(regclass,tsquery,text[],integer)', '{''null_body'',''a'',"''{n}''::text[]",2}', '100000'),
	('skipidx_flush(regclass)', '{''null_body''}', NULL),
	('skipidx_highlight(regconfig,text,tsquery,text,text,integer,integer,text)', '{''simple'',''a'',''a'',''<'',''>'',10,2,''-''}', NULL),
	('skipidx_histogram(regclass,tsquery,text,anyarray)', '{''null_body'',''a'',''n'',"''{1}''::int[]"}', NULL),
	('skipidx_merge(regclass,integer)', '{''null_body'',1}', NULL),
	('skipidx_page(regclass,bigint)', '{''null_body'',0}', NULL),
	('skipidx_passages(anyelement,skipidx_words,text,text,integer,integer,text)', '{"''a''::text",''a'',''<'',''>'',10,2,''-''}', NULL),
	('skipidx_prewarm(regclass)', '{''null_body''}', NULL),
	('skipidx_boost(boolean,double precision)', '{true,1}', NULL),
	('skipidx_decay(date,interval,double precision,date)', '{"''2026-01-01''::date","''1 day''",.5,"''2026-01-01''::date"}', NULL),
	('skipidx_decay(timestamp with time zone,interval,double precision,timestamp with time zone)', '{"''2026-01-01''::timestamptz","''1 day''",.5,"''2026-01-01''::timestamptz"}', NULL),
	('skipidx_decay(timestamp without time zone,interval,double precision,timestamp without time zone)', '{"''2026-01-01''::timestamp","''1 day''",.5,"''2026-01-01''::timestamp"}', NULL),
	('skipidx_log1p(double precision,double precision)', '{1,1}', NULL),
	('skipidx_near(date,date,interval,double precision)', '{"''2026-01-01''::date","''2026-01-01''::date","''1 day''",1}', NULL),
	('skipidx_near(double precision,double precision,double precision,double precision)', '{1::float8,1,1,1}', NULL),
	('skipidx_near(timestamp with time zone,timestamp with time zone,interval,double precision)', '{"''2026-01-01''::timestamptz","''2026-01-01''::timestamptz","''1 day''",1}', NULL),
	('skipidx_near(timestamp without time zone,timestamp without time zone,interval,double precision)', '{"''2026-01-01''::timestamp","''2026-01-01''::timestamp","''1 day''",1}', NULL),
	('skipidx_recency(date,interval,double precision,date)', '{"''2026-01-01''::date","''1 day''",1,"''2026-01-01''::date"}', NULL),
	('skipidx_recency(timestamp with time zone,interval,double precision,timestamp with time zone)', '{"''2026-01-01''::timestamptz","''1 day''",1,"''2026-01-01''::timestamptz"}', NULL),
	('skipidx_recency(timestamp without time zone,interval,double precision,timestamp without time zone)', '{"''2026-01-01''::timestamp","''1 day''",1,"''2026-01-01''::timestamp"}', NULL),
	('skipidx_saturation(double precision,double precision,double precision)', '{1,1,1}', NULL),
	('skipidx_proximity(regclass,tsvector,tsquery)', '{''null_body'',''a:1'',''a''}', NULL),
	('skipidx_proximity(tsvector,skipidx_ranking)', '{''a:1'',"''documents=9 length=9''::skipidx_ranking"}', NULL),
	('skipidx_query(tsquery,text)', '{''a'',''null_body''}', NULL),
	('skipidx_ranking(regclass,tsquery)', '{''null_body'',''a''}', NULL),
	('skipidx_ranking_of_shards(regclass,tsquery)', '{''null_body'',''a''}', NULL),
	('skipidx_ranking_of_groups(regclass,tsquery,jsonb)', '{''null_body'',''a'',"''{\"a\": [\"b\"]}''::jsonb"}', NULL),
	('skipidx_ranking(regclass,tsquery,text,anyelement)', '{''null_body'',''a'',''n'',3}', NULL),
	('skipidx_ranking(regclass,tsquery,text,text)', '{''null_body'',''a'',''n'',''3''}', NULL),
	('skipidx_scroll(regclass,tsquery,integer,integer,bytea,integer)', '{''null_body'',''a'',0,1,NULL,2}', '100000'),
	('skipidx_search(regclass,tsquery,integer,tsquery,bytea,skipidx_ranking)', '{''null_body'',''a | w7'',2,''a | w7'',NULL,NULL}', '2147483647'),
	('skipidx_segments(regclass)', '{''null_body''}', NULL),
	('skipidx_slices(regclass,text,integer)', '{''null_body'',''n'',2}', NULL),
	('skipidx_stats(regclass)', '{''null_body''}', NULL),
	('skipidx_suggest(regclass,text,integer,text,boolean)', '{''null_body'',''w12345'',2,''auto'',true}', '100000'),
	('skipidx_terms(regclass,text,integer)', '{''null_body'','''',2}', '100000');
-- functions whose arguments have names are those that users call; an aggregate
-- is called otherwise (functions_rrf)
SELECT coalesce(f, p.oid::regprocedure::text) AS missing FROM null_calls FULL JOIN
	(SELECT p.oid, pronargs FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.deptype = 'e'
		JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
		WHERE e.extname = 'skipidx' AND prokind = 'f' AND pronargs > 0 AND proargnames[1] <> '') p
	ON p.oid::regprocedure::text = f AND pronargs = cardinality(args) WHERE f IS NULL OR p.oid IS NULL;

-- What a call gives, as text
CREATE FUNCTION null_said(f text, args text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
BEGIN
	EXECUTE format('SELECT string_agg(x::text, %L) FROM %s(%s) x', ' ', split_part(f, '(', 1), array_to_string(args, ',', 'NULL')) INTO said;
	RETURN said;
EXCEPTION
	WHEN null_value_not_allowed THEN RETURN 'error';
END $$;
CREATE VIEW null_means AS SELECT f, coalesce(proargnames[i], i::text) AS argument,
	CASE WHEN a IS NULL THEN 'default' WHEN said = 'error' THEN said WHEN said IS NULL OR said ~ '^[(),]*$' THEN 'nothing'
		WHEN said = null_said(f, args) THEN 'default' WHEN said = null_said(f, args[:i - 1] || everything || args[i + 1:]) THEN 'all' ELSE said END AS means
	FROM null_calls JOIN pg_proc p ON p.oid = f::regprocedure, unnest(args) WITH ORDINALITY u (a, i),
		null_said(f, args[:i - 1] || ('NULL::' || CASE proargtypes[i - 1] WHEN 'anyarray'::regtype THEN 'int[]' WHEN 'anyelement'::regtype THEN 'int' ELSE format_type(proargtypes[i - 1], NULL) END) || args[i + 1:]) said;
SELECT means, split_part(f, '(', 1) AS function, string_agg(DISTINCT argument, ' ' ORDER BY argument) AS arguments FROM null_means
	GROUP BY 1, 2 ORDER BY 1, split_part(f, '(', 1) COLLATE "C";

-- all, in pages and without any
SELECT count(*), count(DISTINCT ctid), max(score) > min(score) AS ranked FROM skipidx_search('null_body', 'a', NULL, 'a | w7');
SET work_mem = '64kB';
SELECT count(*), count(DISTINCT ctid) FROM skipidx_search('null_body', 'a', NULL);
RESET work_mem;
SELECT count(*) FROM skipidx_search('null_body', 'a', NULL, after => (SELECT token FROM skipidx_search('null_body', 'a', 1000) OFFSET 999));
SELECT count(*) FROM skipidx_search('null_body', 'a', 0);
SELECT count(*) FROM skipidx_scroll('null_body', 'a', 0, 1, max_rows => NULL) WHERE token IS NOT NULL;
SELECT count(*) FROM skipidx_scroll('null_body', 'a', max_rows => NULL, after => (SELECT token FROM skipidx_scroll('null_body', 'a', max_rows => 1000) OFFSET 999));
SELECT count(*) FROM skipidx_terms('null_body', max_rows => NULL);
SELECT count(*) FROM skipidx_terms('null_body', 'w1', NULL);
SELECT count(*) FROM skipidx_facets('null_body', 'a', 'n', NULL);
SELECT skipidx_merge('null_body', NULL);

DROP VIEW null_means;
DROP FUNCTION null_said;
DROP TABLE null_docs, null_calls;
