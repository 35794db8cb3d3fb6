--
-- The custom scan over a ranked index scan: scores, limits, cursors, row
-- security, references
--
-- Holds: functions 3; plan 4, 5, 6, 7, 9
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE pages (id int PRIMARY KEY, lang text, words text, body tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED);
INSERT INTO pages
SELECT i, CASE WHEN i % 4 = 0 THEN 'de' ELSE 'en' END,
	'all ' || repeat('oak ', i % 3) || repeat('elm ', (i * 7) % 13) || repeat('ash ', i % 29) || 'p' || i % 500
FROM generate_series(1, 20000) i;
INSERT INTO pages SELECT i, 'en', NULL FROM generate_series(20001, 20010) i;
CREATE INDEX pages_body ON pages USING skipidx (body);
VACUUM ANALYZE pages;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
SET enable_sort = off;

-- What EXPLAIN ANALYZE tells of a plan
CREATE FUNCTION measured(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.**? (@."Custom Plan Provider" == "Skipidx Scan")');
END $$;
CREATE FUNCTION fetched(query text) RETURNS text LANGUAGE sql AS
	$$ SELECT format('%s rows of %s', (m ->> 'Actual Rows')::float8, (m #>> '{Plans,0,Actual Rows}')::float8) FROM measured(query) m $$;
CREATE FUNCTION scored(query text) RETURNS int LANGUAGE sql AS
	$$ SELECT (measured(query) ->> 'Scored Postings')::int $$;

SELECT jsonb_object_agg(key, jsonb_typeof(value)) FROM jsonb_each(measured('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 3'))
	WHERE key IN ('Passes', 'Scored Postings', 'Candidates', 'Proximity Documents', 'Rounds');
SELECT count(*) FROM jsonb_each(measured('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 3')) WHERE key LIKE '%Postings%';
EXPLAIN (COSTS OFF) SELECT id FROM pages ORDER BY body <@> 'oak' LIMIT 3;
SET skipidx.enable_custom_scan = off;
EXPLAIN (COSTS OFF) SELECT id FROM pages ORDER BY body <@> 'oak' LIMIT 3;
RESET skipidx.enable_custom_scan;

-- Rows of a sample come by no index.
CREATE TABLE sampled AS SELECT i AS id, i % 3 = 0 AS flag, ARRAY[i % 10] AS tags, to_tsvector('simple', 'oak p' || i % 500) AS body
	FROM generate_series(1, 20000) i;
CREATE INDEX sampled_body ON sampled USING skipidx (body, id, flag, tags);
VACUUM ANALYZE sampled;
CREATE TABLE sample AS SELECT id FROM sampled TABLESAMPLE BERNOULLI (10) REPEATABLE (1);
CREATE FUNCTION of_the_sample(q text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	others int;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT id FROM sampled TABLESAMPLE BERNOULLI (10) REPEATABLE (1) %s) s'
		' WHERE id NOT IN (SELECT id FROM sample)', q) INTO others;
	RETURN others = 0;
END $$;
SELECT q, of_the_sample(q)
FROM (VALUES ('ORDER BY body <@> ''oak'' LIMIT 10'), ('ORDER BY id DESC LIMIT 10'), ('WHERE body @@ ''oak'' ORDER BY id LIMIT 10'),
	('WHERE body <@> ''p7'' < -0.01'), ('WHERE 3 = ANY (tags)'), ('WHERE flag'), ('WHERE body @@ ''p7''')) v (q);
SELECT min(id) = (SELECT min(id) FROM sample) AS least, count(*) = (SELECT count(*) FROM sample) AS rows
	FROM sampled TABLESAMPLE BERNOULLI (10) REPEATABLE (1) WHERE body @@ 'oak';
DROP FUNCTION of_the_sample;
DROP TABLE sampled, sample;

-- Scores are handed over and not computed again: the document is not even
-- looked at.  Where only a part of it is asked for, its columns are there.
CREATE FUNCTION counted(doc tsvector) RETURNS tsvector IMMUTABLE STRICT LANGUAGE plpgsql AS
	$$ BEGIN PERFORM nextval('public.calls'); RETURN doc; END $$;
CREATE SEQUENCE calls;
CREATE TABLE costly AS SELECT id, words::text AS words, body FROM pages WHERE id <= 300;
CREATE INDEX costly_body ON costly USING skipidx (counted(body));
SELECT setval('calls', 1, false);
SELECT count(counted(body) <@> 'oak') FROM (SELECT * FROM costly ORDER BY counted(body) <@> 'oak') c;
SELECT nextval('calls') - 1 AS calls_for_every_row;
SELECT setval('calls', 1, false);
SELECT count(s), sum(s) < 0 AS scored FROM (SELECT counted(body) <@> 'oak' AS s, body, ctid FROM costly ORDER BY s) c;
SELECT nextval('calls') - 1 AS calls_with_custom_scan;
SET skipidx.enable_custom_scan = off;
SELECT count(s), sum(s) < 0 AS scored FROM (SELECT counted(body) <@> 'oak' AS s, body, ctid FROM costly ORDER BY s) c;
SELECT nextval('calls') - 2 AS calls_without;
RESET skipidx.enable_custom_scan;
EXPLAIN (COSTS OFF, VERBOSE)
SELECT tableoid::regclass, upper(words), -(counted(body) <@> 'oak') AS score, c FROM costly c ORDER BY counted(body) <@> 'oak' LIMIT 2;
SELECT tableoid::regclass, upper(words) LIKE '%OAK%' AS oak, -(counted(body) <@> 'oak') > 0 AS scored, (c).id = id AS same
	FROM costly c ORDER BY counted(body) <@> 'oak' LIMIT 2;

-- The limit reaches the search, also from parameters, with an offset, when the
-- query is run again; it is a hint only.
SELECT scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5') < scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5000') AS constant,
	scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5') < scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5 OFFSET 5000') AS "offset";
SET plan_cache_mode = force_generic_plan;
PREPARE first(tsquery, int, int) AS SELECT id FROM pages ORDER BY body <@> $1 LIMIT $2 OFFSET $3;
SELECT scored('EXECUTE first(''oak'', 5, 0)') = scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5') AS generic,
	scored('EXECUTE first(''oak'', 5000, 0)') = scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5000') AS generic_more,
	scored('EXECUTE first(''oak'', 1, 4999)') = scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT 5000') AS generic_offset,
	scored('EXECUTE first(''oak'', NULL, NULL)') = scored('SELECT id FROM pages ORDER BY body <@> ''oak''') AS no_limit;
RESET plan_cache_mode;
SELECT scored('SELECT id FROM (SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT (SELECT 5)) s, generate_series(1, 1)')
	< scored('SELECT id FROM pages ORDER BY body <@> ''oak'' LIMIT (SELECT 5000)') AS of_a_subquery;
SELECT g, string_agg(id || '', ' ' ORDER BY id) FROM generate_series(1, 4) g,
	LATERAL (SELECT id FROM pages WHERE id < 1000 ORDER BY body <@> ('p' || g)::tsquery, id LIMIT g) p GROUP BY g ORDER BY g;
-- of each partition, and of what a filter leaves, as estimated
CREATE TABLE parts (id int, body tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (8000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (8000) TO (30000);
INSERT INTO parts SELECT id, body FROM pages;
CREATE INDEX parts_body ON parts USING skipidx (body);
ANALYZE parts;
SELECT scored('SELECT id FROM parts ORDER BY body <@> ''oak'' LIMIT 5') < scored('SELECT id FROM parts ORDER BY body <@> ''oak'' LIMIT 5000') AS partitions,
	measured('SELECT id FROM parts ORDER BY body <@> ''oak'' LIMIT 400') ->> 'Passes' AS passes_of_partition,
	measured('SELECT id FROM pages WHERE lang = ''de'' ORDER BY body <@> ''oak'' LIMIT 500') ->> 'Passes' AS passes_with_filter;
-- more rows than the limit are needed
SELECT count(*), min(id % 4), max(id % 4) FROM (SELECT id FROM pages WHERE id % 4 = 3 ORDER BY body <@> 'oak' LIMIT 2500) p;
SELECT count(*) FROM (SELECT id FROM pages ORDER BY body <@> 'p3' FETCH FIRST 3 ROWS WITH TIES) p;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM pages ORDER BY body <@> 'p3', id DESC LIMIT 20000) p;
SELECT count(*), count(DISTINCT p.id) FROM (SELECT p.id FROM pages p JOIN costly c ON c.id = p.id ORDER BY p.body <@> 'oak' LIMIT 200) p;
SELECT count(*) FROM (SELECT DISTINCT body <@> 'p3' FROM pages ORDER BY 1 LIMIT 3) p;
SELECT id FROM pages ORDER BY body <@> 'oak' LIMIT -1;

-- Where all rows are wanted there is a search for the first ones, and one for
-- the rest, instead of several that grow; one alone where all are few.
CREATE FUNCTION passes(query text) RETURNS int LANGUAGE sql AS $$ SELECT (measured(query) ->> 'Passes')::int $$;
SELECT passes('SELECT id FROM pages ORDER BY body <@> ''oak''') AS select,
	passes('SELECT id FROM pages WHERE body @@ ''p3 | p4'' ORDER BY body <@> ''p3 | p4''') AS few,
	passes('SELECT id FROM pages WHERE lang = ''de'' ORDER BY body <@> ''oak''') AS filter,
	passes('CREATE TABLE none AS SELECT id FROM pages ORDER BY body <@> ''oak''') AS insert,
	passes('SELECT count(*) FROM (SELECT id FROM pages ORDER BY body <@> ''oak'' OFFSET 0) p') AS subquery,
	passes('SELECT ARRAY(SELECT id FROM pages ORDER BY body <@> ''oak'')') AS sublink,
	passes('(SELECT id FROM pages ORDER BY body <@> ''oak'') UNION ALL SELECT 1') AS arm,
	passes('SELECT id FROM parts ORDER BY body <@> ''oak''') AS partition;
-- not for a limit above, a cursor, what looks for a row, what may end early,
-- what nobody knows the reader of
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT passes('SELECT p.id FROM (SELECT id FROM pages ORDER BY body <@> ''oak'' OFFSET 0) p, LATERAL (SELECT p.id + 1 OFFSET 0) l LIMIT 2000') AS limit,
	passes('DECLARE best CURSOR FOR SELECT id FROM pages ORDER BY body <@> ''oak''') AS cursor,
	passes('SELECT * FROM (SELECT id, row_number() OVER (ORDER BY body <@> ''oak'') AS n FROM pages) p WHERE n < 2000') AS ranks,
	passes('SELECT 1 WHERE EXISTS (SELECT FROM (SELECT id FROM pages ORDER BY body <@> ''oak'' OFFSET 2000) p)') AS exists,
	passes('SELECT FROM costly c WHERE EXISTS (SELECT FROM (SELECT id FROM pages ORDER BY body <@> ''oak'' OFFSET 2000) p WHERE p.id >= c.id) AND id = 1') AS semijoin,
	passes('SELECT 3 IN (SELECT id FROM pages ORDER BY body <@> ''oak'' OFFSET 0)') AS sought,
	passes('WITH p AS MATERIALIZED (SELECT id FROM pages ORDER BY body <@> ''oak'') SELECT * FROM p, LATERAL (SELECT p.id + 1 OFFSET 0) l LIMIT 2000') AS cte;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- who leaves after a few rows has waited for these only
CREATE FUNCTION left_early() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	row record;
	before int8 := (SELECT pins FROM skipidx_io_totals() WHERE scope = 'session');
	between int8;
BEGIN
	FOR row IN SELECT id FROM pages ORDER BY body <@> 'oak' LOOP
		EXIT;
	END LOOP;
	SELECT pins INTO between FROM skipidx_io_totals() WHERE scope = 'session';
	PERFORM id FROM pages ORDER BY body <@> 'oak';
	RETURN format('%s of all', CASE WHEN between - before < ((SELECT pins FROM skipidx_io_totals() WHERE scope = 'session') - between) / 2
		THEN 'less than half' ELSE 'most' END);
END $$;
SELECT left_early() AS pages_read;
-- the same rows, each once, whatever is wanted: memory for 64 kB of hits makes
-- more searches of it
SET work_mem = '64kB';
SELECT passes('SELECT id FROM pages ORDER BY body <@> ''oak''') > 2 AS bounded;
CREATE TABLE firsts AS SELECT row_number() OVER () AS n, id FROM (SELECT id FROM pages ORDER BY body <@> 'oak' OFFSET 0) p;
RESET work_mem;
SELECT count(*), count(DISTINCT id) FROM firsts;
SELECT count(*) FROM firsts JOIN (SELECT row_number() OVER () AS n, id FROM (SELECT id FROM pages ORDER BY body <@> 'oak' LIMIT 30000) l) l USING (n, id);
SELECT count(*) FROM firsts JOIN (SELECT row_number() OVER () AS n, id FROM (SELECT id FROM pages ORDER BY body <@> 'oak' OFFSET 0) l) l USING (n, id);

-- Plans around it: sets of rows for each, conditions without columns, a loop
-- that starts again
SELECT generate_series(1, 2) AS n, id FROM pages ORDER BY body <@> 'p3 & p3', id LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE current_setting('port')::int > 0 ORDER BY body <@> 'p3' LIMIT 2;
SELECT count(*) FROM (SELECT id FROM pages WHERE current_setting('port')::int > 0 ORDER BY body <@> 'p3' LIMIT 2) p;
SELECT count(*) FROM (SELECT id FROM pages WHERE current_setting('port')::int < 0 ORDER BY body <@> 'p3' LIMIT 2) p;
SET enable_material = off;
SELECT n, string_agg(id || '', ' ' ORDER BY id) FROM generate_series(1, 3) n
	LEFT JOIN (SELECT id, body FROM pages ORDER BY body <@> 'p3', id LIMIT 3) p ON body @@ ('p' || n)::tsquery GROUP BY n ORDER BY n;
RESET enable_material;
SELECT n, count(*) FROM generate_series(1, 3) n,
	LATERAL (SELECT id FROM pages WHERE id NOT IN (SELECT i FROM generate_series(1, n * 5) i) ORDER BY body <@> 'p3') p GROUP BY n ORDER BY n;

-- Cursors: any number of rows, backward by storing them, WHERE CURRENT OF
BEGIN;
DECLARE best CURSOR FOR SELECT id, body <@> 'p7' < 0 AS scored, lang FROM pages ORDER BY body <@> 'p7 & elm';
FETCH 2 FROM best;
UPDATE pages SET lang = 'it' WHERE CURRENT OF best;
SELECT id FROM pages WHERE lang = 'it';
MOVE FORWARD 19990 IN best;
FETCH 30 FROM best;
CLOSE best;
EXPLAIN (COSTS OFF) DECLARE best SCROLL CURSOR FOR SELECT id FROM pages ORDER BY body <@> 'p7';
DECLARE best SCROLL CURSOR FOR SELECT id FROM pages ORDER BY body <@> 'p7', id;
FETCH 3 FROM best;
FETCH BACKWARD 2 FROM best;
ROLLBACK;
-- one that outlives its transaction
BEGIN;
DECLARE best CURSOR WITH HOLD FOR SELECT id, body <@> 'p7' < 0 AS scored FROM pages ORDER BY body <@> 'p7', id LIMIT 40;
COMMIT;
FETCH 1 FROM best;
MOVE FORWARD 38 IN best;
FETCH 2 FROM best;
CLOSE best;

-- A new snapshot has new statistics: for another statement, and for the same
-- expression
CREATE FUNCTION moves() RETURNS text VOLATILE LANGUAGE plpgsql AS $$
DECLARE
	words tsvector;
	score float4;
	of_row float4[];
	of_value float4[];
BEGIN
	FOR i IN 1..3 LOOP
		SELECT body, body <@> 'p9' INTO words, score FROM pages WHERE id = 9;
		of_row[i] := score;
		of_value[i] := words <@> skipidx_query('p9', 'pages_body');
		INSERT INTO pages SELECT j, 'en', 'p9 p9' FROM generate_series(30000 + 100 * i, 30009 + 100 * i) j;
	END LOOP;
	RETURN format('%s %s %s', of_row[2] > of_row[1], of_row[3] > of_row[2], of_row = of_value);
END $$;
BEGIN;
SELECT moves();
ROLLBACK;

-- What the transaction itself has written, and the command that goes on.
CREATE TABLE twins (id int, body tsvector, twin int);
CREATE INDEX twins_body ON twins USING skipidx (body);
CREATE FUNCTION twin() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	SELECT id INTO NEW.twin FROM twins WHERE body @@ 'oak' ORDER BY body <@> 'oak' LIMIT 1;
	RETURN NEW; END $$;
CREATE TRIGGER twin BEFORE INSERT OR UPDATE ON twins FOR EACH ROW EXECUTE FUNCTION twin();
BEGIN;
INSERT INTO twins VALUES (1, 'oak'), (2, 'oak'), (3, 'oak') RETURNING id, twin;
SELECT id FROM twins WHERE body @@ 'oak' ORDER BY body <@> 'oak' LIMIT 9;
SELECT count(*) FROM skipidx_search('twins_body', 'oak');
COMMIT;
SELECT skipidx_flush('twins_body') IS NOT NULL AS flushed;
BEGIN;
UPDATE twins SET body = 'oak elm' RETURNING id, twin;
SELECT id FROM twins WHERE body @@ 'oak' ORDER BY body <@> 'oak' LIMIT 9;
SELECT skipidx_flush('twins_body') IS NOT NULL AS flushed;
INSERT INTO twins SELECT 3 + i, 'oak' FROM generate_series(1, 3) i RETURNING id, twin IN (4, 5) AS shorter;
SELECT count(*), count(body <@> 'oak') FROM (SELECT * FROM twins WHERE body @@ 'oak' ORDER BY body <@> 'oak' LIMIT 9) t;
ROLLBACK;
DROP TABLE twins;
DROP FUNCTION twin;

-- Row security: what may not be an index condition stays a filter.  The scan
-- ends with the last row that has a score, if no other can pass.
CREATE ROLE regress_skipidx_reader;
GRANT SELECT ON pages TO regress_skipidx_reader;
ALTER TABLE pages ENABLE ROW LEVEL SECURITY;
CREATE POLICY pages_en ON pages USING (lang = 'en');
SET ROLE regress_skipidx_reader;
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE body @@ 'p8' ORDER BY body <@> 'p8';
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE body @@ 'p8' ORDER BY body <@> 'p8', id;
SELECT fetched('SELECT id FROM pages WHERE body @@ ''p8'' ORDER BY body <@> ''p8''');
SELECT fetched('SELECT id FROM pages WHERE body @@ ''p9'' ORDER BY body <@> ''p9''');
SELECT fetched('SELECT id FROM pages WHERE ''p9 | p10''::tsquery @@ body ORDER BY body <@> ''p9 | p10''');
SELECT fetched('SELECT id FROM pages WHERE body @@ ''p9 & !p10'' ORDER BY body <@> ''p9 & !p10'' LIMIT 9');
-- whichever of the conditions comes first
SELECT fetched('SELECT id FROM pages WHERE body @@ ''p9 | p10'' AND body @@ ''p9'' ORDER BY body <@> ''p9'''),
	fetched('SELECT id FROM pages WHERE body @@ ''p9'' AND body @@ ''p9 | p10'' ORDER BY body <@> ''p9''');
-- The planner knows, and prefers it to looking at every row.
RESET enable_seqscan;
RESET enable_sort;
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE body @@ 'p9 | p10' ORDER BY body <@> 'p9 | p10';
EXPLAIN (COSTS OFF) SELECT id FROM pages WHERE body @@ 'p9' ORDER BY body <@> 'p9 | p10';
SET enable_seqscan = off;
SET enable_sort = off;
PREPARE mine(tsquery, tsquery) AS SELECT id FROM pages WHERE body @@ $1 ORDER BY body <@> $2;
SET plan_cache_mode = force_generic_plan;
SELECT fetched('EXECUTE mine(''p9'', ''p9'')');
-- another query, one that is met without a word, one that nothing meets
SELECT fetched('EXECUTE mine(''p9'', ''p9 | p10'')');
SELECT fetched('EXECUTE mine(''p9'', ''p8'')');
SELECT fetched('EXECUTE mine(''!p9'', ''!p9'')');
SELECT fetched('EXECUTE mine(''p9 | !p10'', ''p9 | !p10'')');
SELECT fetched('EXECUTE mine('''', '''')');
SELECT fetched('EXECUTE mine(NULL, NULL)');
RESET plan_cache_mode;
-- the same in a loop: each search ends for itself
SELECT w, count(*), count(*) FILTER (WHERE s < 0) FROM (VALUES ('p8'::tsquery), ('p9'), ('p10 | p11'), ('nowhere'), ('!p8')) v (w),
	LATERAL (SELECT body <@> w AS s FROM pages WHERE body @@ w ORDER BY s OFFSET 0) p GROUP BY w ORDER BY w;
RESET ROLE;
-- a word that counts nothing has a score all the same
ALTER INDEX pages_body SET (weights = '{0, 1, 1, 1}');
SET ROLE regress_skipidx_reader;
SELECT count(*) FROM (SELECT id FROM pages WHERE body @@ 'p9' ORDER BY body <@> 'p9') p;
SELECT fetched('SELECT id FROM pages WHERE body @@ ''p9'' ORDER BY body <@> ''p9''');
RESET ROLE;
ALTER INDEX pages_body RESET (weights);

-- References: made by the planner, or with the rights of a reader
SELECT 'oak by pages_body'::skipidx_ref;
SELECT skipidx_query('oak | p9', 'pages_body'), skx_bind('elm', skipidx_query('oak', 'public.pages_body'));
SELECT skx_bind('oak', NULL) IS NULL, skx_bind(NULL, NULL) IS NULL, skipidx_query(NULL, 'x') IS NULL;
SELECT skipidx_query('oak', 'pages_pkey');
SELECT skipidx_query('oak', 'pages');
SELECT skipidx_query('oak', 'no_such_index');
EXPLAIN (COSTS OFF) SELECT id FROM costly ORDER BY counted(body) <@> skipidx_query('oak', 'pages_body') LIMIT 2;
SELECT count(*), count(DISTINCT s) > 10 AS ranked FROM (SELECT to_tsvector('simple', words) <@> skipidx_query('oak | elm', 'pages_body') AS s FROM costly) c;
SELECT w, min(id), count(*) FROM pages, (VALUES ('p8'::tsquery), ('p9')) v (w)
	WHERE body <@> skipidx_query(w, 'pages_body') < 0 GROUP BY w ORDER BY w;
SET ROLE regress_skipidx_reader;
SELECT skipidx_query('oak', 'pages_body');
SELECT skipidx_query('oak', 'costly_body');
RESET ROLE;
GRANT SELECT (body) ON costly TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT skipidx_query('oak', 'costly_body');
SELECT count(body <@> skipidx_query('oak', 'costly_body')) FROM costly;
RESET ROLE;
-- A policy is a condition of the query, too: the partial index ranks for those
-- to whom it applies.
CREATE TABLE mixed AS SELECT * FROM pages WHERE id <= 2000;
CREATE INDEX mixed_en ON mixed USING skipidx (body) WHERE lang = 'en';
GRANT SELECT ON mixed TO regress_skipidx_reader;
ALTER TABLE mixed ENABLE ROW LEVEL SECURITY;
CREATE POLICY mixed_en ON mixed USING (lang = 'en');
SELECT count(body <@> 'p9') FROM mixed;
SET ROLE regress_skipidx_reader;
SELECT count(body <@> 'p9') FROM mixed;
SELECT count(body <@> skipidx_query('p9', 'mixed_en')) FROM mixed;
RESET ROLE;
-- a view's owner reads, and ranks, for those who may read the view
ALTER TABLE pages DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON pages FROM regress_skipidx_reader;
CREATE VIEW best_pages AS SELECT id, body, body <@> 'p9' AS s FROM pages;
GRANT SELECT ON best_pages TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT count(*) FROM (SELECT id FROM best_pages ORDER BY s LIMIT 5) b;
SELECT count(*) FROM (SELECT id FROM best_pages ORDER BY body <@> 'oak' LIMIT 5) b;
SELECT count(*) FROM (SELECT id FROM pages ORDER BY body <@> 'oak' LIMIT 5) b;
RESET ROLE;
-- So does an index that is named, where the planner could have chosen it, even
-- in a schema that the reader may not use.
CREATE SCHEMA hidden;
CREATE TABLE hidden.papers AS SELECT id, lang, body, to_tsvector('simple', lang) AS title FROM pages WHERE id <= 1000;
CREATE INDEX papers_body ON hidden.papers USING skipidx (body);
CREATE INDEX papers_flat ON hidden.papers USING skipidx (body) WITH (k1 = 0, proximity = 0);
CREATE INDEX papers_en ON hidden.papers USING skipidx (body) WHERE lang = 'en';
CREATE INDEX papers_title ON hidden.papers USING skipidx (title);
CREATE VIEW papers AS SELECT id, body, body <@> skipidx_query('oak', 'hidden.papers_flat') AS s FROM hidden.papers;
CREATE VIEW barred_papers WITH (security_barrier) AS SELECT id, body FROM hidden.papers WHERE lang = 'en';
CREATE VIEW own_papers WITH (security_invoker) AS SELECT id, body FROM hidden.papers;
GRANT SELECT ON papers, barred_papers, own_papers TO regress_skipidx_reader;
SELECT count(*), bool_and(s = -skipidx_bm25('hidden.papers_flat', body, 'oak')) AS by_name FROM papers;
SET ROLE regress_skipidx_reader;
SELECT count(*), count(DISTINCT s) FROM papers;
SELECT count(*) FROM (SELECT id FROM papers ORDER BY s LIMIT 5) p;
SELECT count(*), count(body <@> skipidx_query('oak', 'hidden.papers_body')) FROM barred_papers;
SELECT count(*) FROM (SELECT id FROM barred_papers ORDER BY body <@> skipidx_query('oak', 'hidden.papers_en') LIMIT 5) p;
SELECT sum(f.n) FROM papers, LATERAL (SELECT count(x) AS n FROM abs(body <@> skipidx_query('oak', 'hidden.papers_flat')) x) f;
-- not one whose rows or column the view does not show, nor of another table
RESET ROLE;
GRANT USAGE ON SCHEMA hidden TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT count(body <@> skipidx_query('oak', 'hidden.papers_en')) FROM papers;
SELECT count(body <@> skipidx_query('oak', 'hidden.papers_title')) FROM papers;
SELECT count(body <@> skipidx_query('oak', 'papers_flat')) FROM papers;
SELECT count(strip(body) <@> skipidx_query('oak', 'hidden.papers_flat')) FROM papers;
SELECT count(body <@> skipidx_query('oak', 'pages_body')) FROM papers;
SELECT count('oak'::tsvector <@> skipidx_query('oak', 'pages_body')) FROM papers;
SELECT count(body <@> skx_bind('elm', skipidx_query('oak', 'pages_body'))) FROM papers;
SELECT skipidx_query('oak', 'pages_body');
-- a view with the rights of its reader
SELECT count(body <@> skipidx_query('oak', 'hidden.papers_flat')) FROM own_papers;
RESET ROLE;
GRANT SELECT ON hidden.papers TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT count(body <@> skipidx_query('oak', 'hidden.papers_flat')) FROM own_papers;
SELECT count(body <@> skipidx_query('oak', 'hidden.papers_en')) FROM papers;
RESET ROLE;
REVOKE ALL ON hidden.papers FROM regress_skipidx_reader;
-- a function of the owner lends no reference, but computes any distance
CREATE FUNCTION by_papers(tsquery) RETURNS skipidx_ref LANGUAGE sql STABLE SECURITY DEFINER
	RETURN skipidx_query($1, 'hidden.papers_flat');
CREATE VIEW plain_papers AS SELECT id, strip(body) <@> by_papers('oak') AS s FROM hidden.papers;
CREATE FUNCTION plain_distance(tsvector, tsquery) RETURNS float4 LANGUAGE sql STABLE SECURITY DEFINER
	RETURN $1 <@> skipidx_query($2, 'hidden.papers_flat');
CREATE VIEW scored_papers AS SELECT id, plain_distance(strip(body), 'oak') AS s FROM hidden.papers;
GRANT SELECT ON plain_papers, scored_papers TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT count(*), count(DISTINCT s) FROM plain_papers;
SELECT count(*), count(DISTINCT s) FROM scored_papers;
RESET ROLE;
-- a plan that was kept
SET search_path = hidden, public;
PREPARE named AS SELECT min(body <@> skipidx_query('oak | p9', 'papers_flat')) < 0 FROM papers;
EXECUTE named;
ALTER INDEX papers_flat RENAME TO papers_old;
ALTER INDEX papers_en RENAME TO papers_flat;
PREPARE renamed AS SELECT min(body <@> skipidx_query('oak | p9', 'papers_flat')) FROM papers;
EXECUTE renamed;
ALTER INDEX papers_flat RENAME TO papers_en;
ALTER INDEX papers_old RENAME TO papers_flat;
EXECUTE renamed;
SELECT min(body <@> skipidx_query('oak | p9', 'papers_flat')) FROM papers;
DROP INDEX papers_flat;
EXECUTE named;
RESET search_path;
DROP SCHEMA hidden CASCADE;
-- the index is gone
CREATE TABLE kept AS SELECT skipidx_query('oak', 'costly_body') AS ref;
SELECT count(body <@> ref) FROM costly, kept;
DROP INDEX costly_body;
SELECT regexp_replace(ref::text, '[0-9]+', 'OID') FROM kept;
DO $$ BEGIN PERFORM count(body <@> ref) FROM costly, kept;
EXCEPTION WHEN undefined_object THEN RAISE WARNING '%', regexp_replace(SQLERRM, '[0-9]+', 'OID'); END $$;

DROP OWNED BY regress_skipidx_reader;
DROP ROLE regress_skipidx_reader;
DROP TABLE pages, costly, kept, parts, mixed, firsts CASCADE;
DROP SEQUENCE calls;
DROP FUNCTION measured, fetched, scored, passes, left_early, counted, moves;
