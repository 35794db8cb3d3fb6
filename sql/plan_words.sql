--
-- Words beside columns of text: `text <@> words` and `text @@@ words`
--
-- Holds: plan 40, 41
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET client_min_messages = notice;
SET default_text_search_config = 'pg_catalog.english';

CREATE TABLE letters (id int PRIMARY KEY, lang text, title text, body varchar, sent date);
INSERT INTO letters
SELECT i, CASE i % 3 WHEN 0 THEN 'de' ELSE 'en' END,
	'Hills ' || i % 7, CASE WHEN i % 50 <> 0 THEN
	repeat('rivers ', i % 4) || repeat('the stones ', i % 3) || repeat('tree ', i % 11) || 'n' || i END,
	date '2026-01-01' + i % 90
FROM generate_series(1, 400) i;
CREATE INDEX letters_body ON letters USING skipidx (to_tsvector('english', body), sent);
ANALYZE letters;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;

-- What a query is planned as: the index that it is bound to, and how it is read
\getenv tree PG_ABS_SRCDIR
\set plans :tree /sql/shared/plans.sql
\i :plans
CREATE FUNCTION bound(query text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(ranked_by(plan), 'nothing') || CASE WHEN plan LIKE '%Order By: %' THEN ', in order' ELSE '' END
		|| CASE WHEN plan LIKE '%Index Cond: %@@ %' THEN ', condition' ELSE '' END
		|| CASE WHEN plan ~ '(<@>|@@@) [^ ]*::skipidx_words' THEN ', words left' ELSE '' END
	FROM plan_of(query) plan;
$$;

-- Says how `words` and `vectors`, which have the same words by an operator on
-- tsvector, differ: in rows, values or order, by index and by sequential scan.
CREATE FUNCTION alike(words text, vectors text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	q text;
	answer text;
	expected text;
	n int;
BEGIN
	FOREACH mode IN ARRAY ARRAY['sequential', 'index', 'bitmap'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'sequential')::text, true),
			set_config('enable_indexscan', (mode = 'index')::text, true),
			set_config('enable_bitmapscan', (mode = 'bitmap')::text, true);
		FOREACH q IN ARRAY ARRAY[vectors, words] LOOP
			EXECUTE format('SELECT count(*), md5(string_agg(q::text, %L)) FROM (%s) q', ' ', q)
				INTO n, answer;
			expected := coalesce(expected, answer, 'none');
			IF coalesce(answer, 'none') <> expected THEN
				RETURN format('%s scan differs: %s', mode, q);
			END IF;
		END LOOP;
	END LOOP;
	RETURN format('%s: %s rows', bound(words), n);
END $$;

-- as a first user writes it
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM letters ORDER BY body <@> 'river stone' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM letters WHERE body @@@ 'river -stone or "tree tree"' ORDER BY sent DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM letters WHERE body @@@ 'rivers' ORDER BY body <@> 'rivers' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT count(*) FROM letters WHERE body @@@ 'rivers';
SELECT alike('SELECT id, body <@> ''Rivers & (stone'' AS s FROM letters ORDER BY s, id LIMIT 50',
	'SELECT id, to_tsvector(''english'', body) <@> ''river | stone''::tsquery AS s FROM letters ORDER BY s, id LIMIT 50');
SELECT alike('SELECT id FROM letters WHERE body @@@ ''rivers -stone or "tree tree"'' ORDER BY id',
	'SELECT id FROM letters WHERE to_tsvector(''english'', body) @@ ''river & !stone | tree <-> tree'' ORDER BY id');
SELECT alike('SELECT id, body <@> ''tree'' AS s FROM letters WHERE body @@@ ''rivers'' AND sent > ''2026-02-01'' ORDER BY s, id LIMIT 50',
	'SELECT id, to_tsvector(''english'', body) <@> ''tree''::tsquery AS s FROM letters WHERE to_tsvector(''english'', body) @@ ''river'' AND sent > ''2026-02-01'' ORDER BY s, id LIMIT 50');
SELECT alike('SELECT id FROM letters WHERE NOT body @@@ ''rivers'' ORDER BY id',
	'SELECT id FROM letters WHERE NOT to_tsvector(''english'', body) @@ ''river'' ORDER BY id');
-- words of which nothing is left, and none: no notice, no error
SELECT alike('SELECT id, body <@> ''the'' AS s FROM letters ORDER BY s, id',
	'SELECT id, to_tsvector(''english'', body) <@> skipidx_any(''english'', '''') AS s FROM letters ORDER BY s, id');
SELECT count(*) FROM letters WHERE body @@@ 'the';
SELECT count(*) FROM letters WHERE body @@@ '';
SELECT count(*) FROM letters WHERE body @@@ NULL;
SELECT count(body <@> NULL) FROM letters;
-- lines of dashes, which are negations; in quotes and words they are text
SELECT count(*), count(*) FILTER (WHERE s LIKE '%river%') AS rivers FROM (SELECT body AS s FROM letters WHERE body @@@ ('tree ' || repeat('-', 40) || ' ' || repeat('- ', 300) || 'rivers')) s;
SELECT n, skx_web_words('simple', (repeat('-', n) || 'a "' || repeat('-', 40) || 'b" c' || repeat('-', 40) || 'd')::skipidx_words, 0) FROM unnest('{0,15,16,17,18,31,32,33,34,101}'::int[]) n;
PREPARE one_word(text) AS SELECT count(*) FROM letters WHERE body @@@ $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE one_word('the');
EXECUTE one_word('stones');
EXPLAIN (COSTS OFF) EXECUTE one_word('stones');
SELECT bound('SELECT id FROM letters ORDER BY body <@> (SELECT ''river''::text) LIMIT 5');
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) EXECUTE one_word('stones');
-- a parameter of no type, of other types
PREPARE untyped AS SELECT id FROM letters ORDER BY body <@> $1 LIMIT 2;
EXECUTE untyped('n7');
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
PREPARE varying(varchar) AS SELECT id FROM letters WHERE body @@@ $1 ORDER BY body <@> $1, id LIMIT 2;
EXECUTE varying('n7');
DO $$
DECLARE
	w text := 'stones';
	n int;
BEGIN
	SELECT count(*) INTO n FROM letters WHERE body @@@ w;
	RAISE NOTICE '% letters', n;
	SELECT id INTO n FROM letters ORDER BY letters.body <@> w, id LIMIT 1;
	RAISE NOTICE 'best is %', n;
END $$;

-- passages, by the configuration of the index
SELECT id, skipidx_passages(body, 'stones river', max_words => 5) FROM letters WHERE body @@@ '"the stones" n7' ORDER BY id LIMIT 2;
EXPLAIN (COSTS OFF, VERBOSE) SELECT skipidx_passages(body, 'stones', '[', ']') FROM letters WHERE id = 7;
SELECT skipidx_passages(title, 'stones') FROM letters WHERE id = 7;

-- forms: views, subqueries, CTEs, set operations, joins, groups, other levels
CREATE VIEW open_letters AS SELECT id, body AS words FROM letters;
CREATE VIEW found_letters AS SELECT id, body <@> 'river' AS s FROM letters WHERE body @@@ 'stone';
CREATE VIEW closed_letters WITH (security_barrier) AS SELECT id, body FROM letters WHERE lang = 'en';
SELECT pg_get_viewdef('found_letters') ~ 'body <@> ''river''::skipidx_words' AS stored_unbound;
SELECT bound('SELECT id FROM open_letters WHERE words @@@ ''river'' ORDER BY words <@> ''river'' LIMIT 5');
SELECT alike('SELECT id, s FROM found_letters ORDER BY s, id',
	'SELECT id, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM letters WHERE to_tsvector(''english'', body) @@ ''stone'' ORDER BY s, id');
SELECT alike('SELECT id, body <@> ''river'' AS s FROM closed_letters WHERE body @@@ ''stone'' ORDER BY s, id',
	'SELECT id, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM closed_letters WHERE to_tsvector(''english'', body) @@ ''stone'' ORDER BY s, id');
SELECT alike('SELECT id, b <@> ''river'' AS s FROM (SELECT id, body AS b FROM letters OFFSET 0) n WHERE b @@@ ''stone'' ORDER BY s, id',
	'SELECT id, to_tsvector(''english'', b) <@> ''river''::tsquery AS s FROM (SELECT id, body AS b FROM letters OFFSET 0) n WHERE to_tsvector(''english'', b) @@ ''stone'' ORDER BY s, id');
SELECT alike('WITH n AS MATERIALIZED (SELECT * FROM letters WHERE id > 100) SELECT id, body <@> ''river'' AS s FROM n ORDER BY s, id LIMIT 50',
	'WITH n AS MATERIALIZED (SELECT * FROM letters WHERE id > 100) SELECT id, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM n ORDER BY s, id LIMIT 50');
SELECT split_part(alike('SELECT a.id, a.body <@> ''river'' AS s FROM letters a JOIN letters b ON b.id = a.id + 1 WHERE b.body @@@ ''stone'' ORDER BY s, id',
	'SELECT a.id, to_tsvector(''english'', a.body) <@> ''river''::tsquery AS s FROM letters a JOIN letters b ON b.id = a.id + 1 WHERE to_tsvector(''english'', b.body) @@ ''stone'' ORDER BY s, id'), ': ', 2);
SELECT alike('SELECT g, body <@> ''river'' AS s FROM generate_series(390, 410) g LEFT JOIN letters ON id = g ORDER BY s, g',
	'SELECT g, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM generate_series(390, 410) g LEFT JOIN letters ON id = g ORDER BY s, g');
SELECT alike('SELECT body, body <@> ''river'' AS s, count(*) FROM letters WHERE body @@@ ''stone'' GROUP BY body ORDER BY s, 1',
	'SELECT body, to_tsvector(''english'', body) <@> ''river''::tsquery AS s, count(*) FROM letters WHERE to_tsvector(''english'', body) @@ ''stone'' GROUP BY body ORDER BY s, 1');
SELECT alike('SELECT body, body <@> ''river'' AS s, count(*) FROM letters GROUP BY GROUPING SETS ((body), ()) ORDER BY s, 1',
	'SELECT body, to_tsvector(''english'', body) <@> ''river''::tsquery AS s, count(*) FROM letters GROUP BY GROUPING SETS ((body), ()) ORDER BY s, 1');
SELECT alike('SELECT id FROM letters a WHERE EXISTS (SELECT FROM letters b WHERE b.id = a.id + 1 AND b.body @@@ ''stone'') ORDER BY id',
	'SELECT id FROM letters a WHERE EXISTS (SELECT FROM letters b WHERE b.id = a.id + 1 AND to_tsvector(''english'', b.body) @@ ''stone'') ORDER BY id');
SELECT alike('SELECT id, (SELECT a.body <@> ''river'') AS s FROM letters a ORDER BY id',
	'SELECT id, (SELECT to_tsvector(''english'', a.body) <@> ''river''::tsquery) AS s FROM letters a ORDER BY id');
SELECT alike('SELECT w, d.* FROM (VALUES (''river''), (''stone'')) q(w), LATERAL (SELECT id, body <@> w AS s FROM letters WHERE body @@@ w ORDER BY s, id LIMIT 5) d ORDER BY w, s, id',
	'SELECT w, d.* FROM (VALUES (''river''), (''stone'')) q(w), LATERAL (SELECT id, to_tsvector(''english'', body) <@> plainto_tsquery(''english'', w) AS s FROM letters WHERE to_tsvector(''english'', body) @@ plainto_tsquery(''english'', w) ORDER BY s, id LIMIT 5) d ORDER BY w, s, id');
-- a document that is not NULL where its column is: rows that an outer join adds have none
CREATE INDEX letters_title ON letters USING skipidx (to_tsvector('english', coalesce(title, 'none')));
SELECT alike('SELECT g, id, s, m FROM generate_series(398, 403) g LEFT JOIN (SELECT id, title <@> ''hill'' AS s, title @@@ ''-river'' AS m FROM letters) l ON id = g ORDER BY g',
	'SELECT g, id, s, m FROM generate_series(398, 403) g LEFT JOIN (SELECT id, to_tsvector(''english'', coalesce(title, ''none'')) <@> ''hill''::tsquery AS s, to_tsvector(''english'', coalesce(title, ''none'')) @@ ''!river'' AS m FROM letters) l ON id = g ORDER BY g');
SELECT alike('SELECT g, s FROM generate_series(398, 403) g LEFT JOIN (SELECT id, title <@> ''hill'' AS s, title @@@ ''-river'' AS m FROM letters) l ON id = g WHERE m OR s = 0 ORDER BY g',
	'SELECT g, s FROM generate_series(398, 403) g LEFT JOIN (SELECT id, to_tsvector(''english'', coalesce(title, ''none'')) <@> ''hill''::tsquery AS s, to_tsvector(''english'', coalesce(title, ''none'')) @@ ''!river'' AS m FROM letters) l ON id = g WHERE m OR s = 0 ORDER BY g');
SELECT count(*), count(title <@> NULL), count(title @@@ NULL) FROM letters WHERE id < 5;
DROP INDEX letters_title;
SELECT count(title <@> NULL), count(NULL::text @@@ skipidx_words 'x') FROM letters WHERE id < 5;
CREATE TABLE more_letters AS SELECT id + 1000 AS id, body FROM letters WHERE id % 5 = 0;
CREATE INDEX more_letters_body ON more_letters USING skipidx (to_tsvector('english', body));
SELECT alike('SELECT id, body <@> ''river'' AS s FROM (SELECT id, body FROM letters UNION ALL SELECT id, body FROM more_letters) n ORDER BY s, id LIMIT 50',
	'SELECT id, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM (SELECT id, body FROM letters UNION ALL SELECT id, body FROM more_letters) n ORDER BY s, id LIMIT 50');
DROP INDEX more_letters_body;
CREATE INDEX more_letters_body ON more_letters USING skipidx (to_tsvector('simple', body));
-- two configurations
SELECT id, body <@> 'river' AS s FROM (SELECT id, body FROM letters UNION ALL SELECT id, body FROM more_letters) n ORDER BY s, id LIMIT 50;
DROP TABLE more_letters;
UPDATE letters SET lang = 'it' WHERE body @@@ 'n7' RETURNING id, body <@> 'n7' < 0 AS found;
DELETE FROM letters WHERE body @@@ 'n8' RETURNING id;

-- several columns: the whole document as a row, or one by its label
CREATE TABLE books (id int, title text, body text, notes text, tsv tsvector GENERATED ALWAYS AS
	(setweight(to_tsvector('english', coalesce(title, '')), 'A') || setweight(to_tsvector('simple', body), 'B') || setweight(to_tsvector('simple', notes), 'B')) STORED,
	doc tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body)) STORED);
INSERT INTO books SELECT id, title, body, title FROM letters;
CREATE INDEX books_doc ON books USING skipidx (doc);
ANALYZE books;
SELECT alike('SELECT id, (title, body) <@> ''hill river'' AS s FROM books ORDER BY s, id LIMIT 30',
	'SELECT id, doc <@> ''hill | river''::tsquery AS s FROM books ORDER BY s, id LIMIT 30');
SELECT alike('SELECT id FROM books WHERE ROW(title, body) @@@ ''hill river'' ORDER BY id',
	'SELECT id FROM books WHERE doc @@ ''hill & river'' ORDER BY id');
SELECT alike('SELECT id, title <@> ''hill river'' AS s FROM books WHERE body @@@ ''river -hill'' ORDER BY s, id LIMIT 30',
	'SELECT id, doc <@> ''hill:A | river:A''::tsquery AS s FROM books WHERE doc @@ ''river:D & !hill:D'' ORDER BY s, id LIMIT 30');
EXPLAIN (COSTS OFF) SELECT id FROM books WHERE title @@@ 'hill' ORDER BY (title, body) <@> 'hill';
SELECT skipidx_passages(title, 'hill'), skipidx_passages(body, 'trees', max_words => 4) FROM books WHERE id = 7;
SELECT skipidx_passages((title, body), 'hill') FROM books WHERE id = 7;
-- a subquery has no generated column, and one column of several is no document
SELECT alike('SELECT id, (title, body) <@> ''hill river'' AS s FROM (SELECT * FROM books OFFSET 0) b ORDER BY s, id LIMIT 30',
	'SELECT id, doc <@> ''hill | river''::tsquery AS s FROM (SELECT * FROM books OFFSET 0) b ORDER BY s, id LIMIT 30');
SELECT id FROM (SELECT id, title FROM books OFFSET 0) b WHERE title @@@ 'hill';
SELECT id FROM books WHERE (body, title) @@@ 'hill';
SELECT id FROM books WHERE notes @@@ 'hill';
-- groups: the generated column of a row is not that of its group
SELECT split_part(alike('SELECT body, title, (title, body) <@> ''hill'' AS s FROM books WHERE (title, body) @@@ ''hill'' GROUP BY ROLLUP (title, body) ORDER BY s, 1, 2',
	'SELECT body, title, CASE WHEN grouping(title, body) = 0 THEN min(doc <@> ''hill''::tsquery) END AS s FROM books WHERE doc @@ ''hill'' GROUP BY ROLLUP (title, body) ORDER BY s, 1, 2'), ': ', 2);
-- another index: the one of the column alone, then the oldest
CREATE INDEX books_tsv ON books USING skipidx (tsv);
CREATE INDEX books_title ON books USING skipidx (to_tsvector('simple', title));
SELECT bound('SELECT title <@> ''hill'' FROM books'), bound('SELECT body <@> ''hill'' FROM books');
-- a part of the document with a label that another has
DROP INDEX books_doc;
SELECT bound('SELECT body <@> ''hill'' FROM books');
SELECT bound('SELECT (title, body, notes) <@> ''hill'' FROM books');
-- a label that there is not
CREATE TABLE labels (title text, body text);
CREATE INDEX labels_doc ON labels USING skipidx ((setweight(to_tsvector('english', title), 'Z') || setweight(to_tsvector('english', body), 'b')));
SELECT bound('SELECT title <@> ''hill'', body <@> ''hill'' FROM labels');
DROP INDEX labels_doc;
CREATE INDEX labels_doc ON labels USING skipidx ((setweight(to_tsvector('english', title), 'a') || setweight(to_tsvector('english', body), 'b')));
SELECT bound('SELECT title <@> ''hill'', body <@> ''hill'' FROM labels');
DROP TABLE labels;
-- texts of any length
CREATE INDEX books_long ON books USING skipidx (skipidx_document('english', notes));
SELECT alike('SELECT id, notes <@> ''hill'' AS s FROM books WHERE notes @@@ ''hills'' ORDER BY s, id LIMIT 5',
	'SELECT id, skipidx_document(''english'', notes) <@> ''hill''::tsquery AS s FROM books WHERE skipidx_document(''english'', notes) @@ ''hill'' ORDER BY s, id LIMIT 5');
DROP INDEX books_long;
-- a text that is changed before it is parsed is not what words would be
CREATE INDEX books_lower ON books USING skipidx (to_tsvector('simple', lower(notes)));
SELECT bound('SELECT notes <@> ''hill'' FROM books');
DROP TABLE books;

-- a partial index, partitions
CREATE TABLE parts (id int, lang text, body text) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, lang, body FROM letters;
CREATE INDEX parts_en ON parts USING skipidx (to_tsvector('english', body)) WHERE lang = 'en';
ANALYZE parts;
SELECT alike('SELECT id, body <@> ''river'' AS s FROM parts WHERE lang = ''en'' AND body @@@ ''stone'' ORDER BY s, id',
	'SELECT id, to_tsvector(''english'', body) <@> ''river''::tsquery AS s FROM parts WHERE lang = ''en'' AND to_tsvector(''english'', body) @@ ''stone'' ORDER BY s, id');
SELECT bound('SELECT body <@> ''river'' FROM parts WHERE lang = ''de''');
SELECT bound('SELECT body <@> ''river'' FROM parts_0 WHERE lang = ''en''');
DROP TABLE parts;

-- what has no index: an error that says what to write
SELECT title <@> 'hill' FROM letters LIMIT 1;
SELECT id FROM letters WHERE title @@@ 'hill';
SELECT 'hills' <@> skipidx_words 'hill';
SELECT 42 @@@ 'hill';
CREATE INDEX ON letters USING skipidx (title);
SET default_text_search_config = 'pg_catalog.german';
CREATE INDEX ON letters USING skipidx (title);
SELECT id FROM letters WHERE title @@@ 'hill';
RESET default_text_search_config;
-- where rows of a table are not read
CREATE INDEX ON letters (id) WHERE body @@@ 'river';
-- (19 says where, too)
DO $$ BEGIN CREATE INDEX ON letters ((body <@> 'river')); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', sqlerrm; END $$;
CREATE TABLE bad (body text, found bool GENERATED ALWAYS AS (body @@@ 'river') STORED);
CREATE TABLE bad (body text CHECK (body @@@ 'river'));
INSERT INTO bad VALUES ('river');
DROP TABLE bad;

-- other operators of these names: the server's own, those of tsvectors, and
-- those that another extension has on text
SELECT 'river'::tsvector @@@ 'river', 'river'::tsquery @@@ 'river'::tsvector;
CREATE FUNCTION theirs(text, text) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN 7;
CREATE FUNCTION theirs(anyelement, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT false';
CREATE OPERATOR <@> (LEFTARG = text, RIGHTARG = text, FUNCTION = theirs);
CREATE OPERATOR @@@ (LEFTARG = anyelement, RIGHTARG = text, FUNCTION = theirs);
SELECT title <@> 'hill' AS theirs, title <@> 'hill'::text AS theirs, title @@@ 'hill' AS theirs,
	title @@@ 'hill'::text AS theirs, body <@> 'hill' AS theirs, body @@@ 'hill'::varchar AS theirs
FROM letters WHERE id = 1;
SELECT count(*) FROM letters WHERE body @@@ skipidx_words 'river';
SELECT count(*) FROM letters WHERE body @@@ 'river'::skipidx_words;
DROP OPERATOR <@> (text, text);
DROP OPERATOR @@@ (anyelement, text);
DROP FUNCTION theirs(text, text);
DROP FUNCTION theirs(anyelement, text);

-- a dropped index, and one that is made, change cached plans
EXECUTE one_word('stones');
DROP INDEX letters_body;
EXECUTE one_word('stones');
CREATE INDEX letters_body ON letters USING skipidx (to_tsvector('simple', body));
EXECUTE one_word('stones');
DROP TABLE letters CASCADE;
DROP FUNCTION bound, alike, plan_of, ranked_by;
