--
-- `<@>` finds the index that ranks, whatever the form of the query
--
-- Holds: plan 1, 2, 3, 5, 8
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE notes (id int PRIMARY KEY, lang text, title text, body tsvector);
INSERT INTO notes
SELECT i, CASE i % 3 WHEN 0 THEN 'de' ELSE 'en' END, 'hill ' || i % 7,
	CASE WHEN i % 50 <> 0 THEN to_tsvector('simple', repeat('river ', i % 4)
		|| repeat('stone ', i % 3) || repeat('tree ', i % 11) || 'n' || i) END
FROM generate_series(1, 400) i;
CREATE INDEX notes_body ON notes USING skipidx (body);
CREATE INDEX notes_title ON notes USING skipidx (to_tsvector('simple', title));
ANALYZE notes;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET jit = off;

-- The indexes that a plan is bound to, and how it reads them
\getenv tree PG_ABS_SRCDIR
\set plans :tree /sql/shared/plans.sql
\i :plans
CREATE FUNCTION bound(query text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(ranked_by(plan), 'nothing') || CASE WHEN plan LIKE '%Order By: %' THEN ', in order' ELSE '' END
		|| CASE WHEN plan LIKE '%Skipidx Scan%' THEN ', handed over' ELSE '' END
	FROM plan_of(query) plan;
$$;

-- Binding of a query with columns id and s, ordered by s; and the number of
-- rows, if order and scores are the same however it is executed.
CREATE FUNCTION form(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	answer text;
	expected text;
	n int;
BEGIN
	FOREACH mode IN ARRAY ARRAY['sort', 'plain', 'custom'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'sort')::text, true),
			set_config('enable_sort', (mode = 'sort')::text, true),
			set_config('enable_indexscan', (mode <> 'sort')::text, true),
			set_config('skipidx.enable_custom_scan', (mode = 'custom')::text, true);
		EXECUTE format('SELECT count(*), md5(string_agg(s::text, %L)) FROM (%s) q', ' ', query)
			INTO n, answer;
		expected := coalesce(expected, answer);
		IF answer IS DISTINCT FROM expected THEN
			RETURN mode || ' scan differs';
		END IF;
		EXECUTE format('SELECT count(*) FROM (SELECT s < lag(s) OVER () AS wrong FROM (%s) p) q WHERE wrong', query)
			INTO n;
		IF n > 0 THEN
			RETURN mode || ' scan has wrong order';
		END IF;
	END LOOP;
	EXECUTE format('SELECT count(*) FROM (%s) q', query) INTO n;
	RETURN format('%s: %s rows', bound(query), n);
END $$;

-- plain, with a filter, without a limit, a tie broken by another column
EXPLAIN (COSTS OFF, VERBOSE)
SELECT id, body <@> 'river & stone' FROM notes WHERE body @@ 'river & stone' ORDER BY body <@> 'river & stone' LIMIT 5;
SELECT form('SELECT id, body <@> ''river & stone'' AS s FROM notes WHERE body @@ ''river & stone'' ORDER BY s LIMIT 5');
SELECT form('SELECT id, body <@> ''river | stone'' AS s FROM notes ORDER BY s');
SELECT form('SELECT id, body <@> ''tree'' AS s FROM notes WHERE body @@ ''river'' ORDER BY s LIMIT 50');
SELECT form('SELECT id, skx_distance(body, ''tree''::tsquery) AS s FROM notes ORDER BY s LIMIT 50');
EXPLAIN (COSTS OFF)
SELECT id FROM notes ORDER BY body <@> 'river', id LIMIT 5;
SELECT form('SELECT id, body <@> ''river'' AS s FROM notes ORDER BY s, id DESC LIMIT 50');
SELECT id, round((body <@> 'n7 | n49')::numeric, 4) AS s FROM notes ORDER BY body <@> 'n7 | n49', id LIMIT 3;
-- NULL last, as in every ascending order; not the other way round
SELECT count(*), count(s), min(id) FILTER (WHERE s IS NULL) FROM
	(SELECT id, body <@> 'river' AS s FROM notes ORDER BY s OFFSET 390) q;
SELECT bound('SELECT id FROM notes ORDER BY body <@> ''river'' DESC LIMIT 5');
SELECT bound('SELECT id FROM notes ORDER BY body <@> ''river'' NULLS FIRST LIMIT 5');
-- two rankings
SELECT bound('SELECT id FROM notes ORDER BY body <@> ''river'', body <@> ''stone'' LIMIT 5');
SELECT form('SELECT id, body <@> ''river'' AS s FROM notes ORDER BY s, body <@> ''stone'' LIMIT 50');
-- no words: every score is 0
SELECT count(*), min(s), max(s) FROM (SELECT body <@> '' AS s FROM notes) q;
SELECT count(*), count(s) FROM (SELECT body <@> NULL::tsquery AS s FROM notes ORDER BY s) q;
SELECT min(body <@> '!river')::text FROM notes;

-- an expression index; queries that are not constants
EXPLAIN (COSTS OFF)
SELECT id FROM notes ORDER BY to_tsvector('simple', title) <@> to_tsquery('hill') LIMIT 5;
SELECT form('SELECT id, to_tsvector(''simple'', title) <@> plainto_tsquery(''hill 3'') AS s FROM notes ORDER BY s LIMIT 60');
SELECT form('SELECT id, body <@> (SELECT to_tsquery(''river | tree'')) AS s FROM notes ORDER BY s LIMIT 60');
SELECT form('SELECT id, body <@> q AS s FROM notes, to_tsquery(''simple'', ''river'') q WHERE body @@ q ORDER BY s LIMIT 60');
-- not a constant, so rows are sorted
SELECT form('SELECT id, body <@> q AS s FROM notes, to_tsquery(''river'') q WHERE body @@ q ORDER BY s LIMIT 60');
SELECT form('SELECT id, body <@> q AS s FROM notes, (SELECT to_tsquery(''river'') AS q OFFSET 0) t WHERE body @@ q ORDER BY s LIMIT 60');

-- views: what is stored is not bound
CREATE VIEW open_notes AS SELECT id, body AS words FROM notes;
CREATE VIEW scored_notes AS SELECT id, body <@> 'river'::tsquery AS s FROM notes;
CREATE VIEW closed_notes WITH (security_barrier) AS SELECT id, body FROM notes WHERE lang = 'en';
SELECT form('SELECT id, words <@> ''river'' AS s FROM open_notes ORDER BY s LIMIT 50');
SELECT form('SELECT id, s FROM scored_notes ORDER BY s LIMIT 50');
SELECT pg_get_viewdef('scored_notes') LIKE '%skipidx_ref%' AS stored_bound;
SELECT form('SELECT id, body <@> ''river'' AS s FROM closed_notes ORDER BY s LIMIT 50');
SELECT form('SELECT id, body <@> ''river'' AS s FROM closed_notes WHERE body @@ ''river'' ORDER BY s LIMIT 50');

-- subqueries that stay, CTEs, set operations
SELECT form('SELECT id, body <@> ''river'' AS s FROM (SELECT * FROM notes OFFSET 0) n ORDER BY s LIMIT 50');
SELECT form('SELECT id, to_tsvector(''simple'', t) <@> ''hill'' AS s FROM (SELECT id, title AS t FROM notes OFFSET 0) n ORDER BY s LIMIT 50');
CREATE INDEX notes_both ON notes USING skipidx (to_tsvector('simple', title || (' ' || lower('WORD'))));
SELECT form('SELECT id, w <@> ''word'' AS s FROM (SELECT id, to_tsvector(''simple'', title || ('' '' || lower(''WORD''))) AS w FROM notes OFFSET 0) n ORDER BY s LIMIT 50');
SELECT form('WITH n AS MATERIALIZED (SELECT * FROM notes WHERE id > 100) SELECT id, body <@> ''river'' AS s FROM n ORDER BY s LIMIT 50');
SELECT form('WITH n AS (SELECT * FROM notes), m AS (SELECT body AS b, id FROM n) SELECT x.id, x.b <@> ''river'' AS s FROM m x JOIN m y USING (id) ORDER BY s LIMIT 50');
SELECT form('SELECT id, (WITH m AS MATERIALIZED (SELECT n.body AS b) SELECT b <@> ''river'' FROM m) AS s FROM notes n ORDER BY s LIMIT 50');
CREATE TABLE more_notes AS SELECT id + 1000 AS id, title AS body_of, body FROM notes WHERE id % 5 = 0;
SELECT bound('SELECT body <@> ''river'' FROM (SELECT id, body FROM notes UNION ALL SELECT id, body FROM more_notes) n');
CREATE INDEX more_notes_body ON more_notes USING skipidx (body);
ANALYZE more_notes;
EXPLAIN (COSTS OFF)
SELECT id FROM (SELECT id, body FROM notes UNION ALL SELECT id, body FROM more_notes) n ORDER BY body <@> 'river' LIMIT 5;
SELECT form('SELECT id, body <@> ''river'' AS s FROM (SELECT id, body FROM more_notes UNION ALL SELECT id, body FROM notes) n ORDER BY s LIMIT 50');
SELECT form('SELECT id, body <@> ''river'' AS s FROM (SELECT id, body FROM notes UNION SELECT id, body FROM more_notes) n ORDER BY s LIMIT 50');
SELECT form('SELECT * FROM (SELECT id, body <@> ''river'' AS s FROM notes UNION ALL SELECT id, body <@> ''river'' FROM more_notes) n ORDER BY s LIMIT 50');

-- groups, aggregates, windows
SELECT form('SELECT count(*) AS id, body <@> ''river'' AS s FROM notes GROUP BY body ORDER BY s LIMIT 50');
SELECT form('SELECT max(id) AS id, to_tsvector(''simple'', title) <@> ''hill'' AS s FROM notes GROUP BY to_tsvector(''simple'', title) ORDER BY s');
SELECT form('SELECT max(id) AS id, s FROM (SELECT id, body <@> ''river'' AS s FROM notes) q GROUP BY s HAVING min(s) < 0 ORDER BY s');
SELECT form('SELECT id, body <@> ''river'' AS s, rank() OVER (ORDER BY body <@> ''river'') FROM notes ORDER BY s LIMIT 50');
SELECT form('SELECT DISTINCT body <@> ''river'' AS s FROM notes ORDER BY s');

-- joins: also where a row may be missing
SELECT form('SELECT a.id, a.body <@> ''river'' AS s FROM notes a JOIN notes b ON b.id = a.id + 1 WHERE a.lang = ''de'' ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, body <@> ''river'' AS s FROM notes n JOIN more_notes USING (body) ORDER BY s LIMIT 50');
SELECT form('SELECT id, b <@> ''river'' AS s FROM (SELECT n.id, body AS b FROM notes n LEFT JOIN more_notes USING (body) OFFSET 0) q ORDER BY s LIMIT 50');
SELECT bound('SELECT body <@> ''river'' AS s FROM notes n FULL JOIN more_notes USING (body)');
SELECT form('SELECT g AS id, body <@> ''river'' AS s FROM generate_series(390, 410) g LEFT JOIN notes ON id = g ORDER BY s LIMIT 50');
SELECT form('SELECT g AS id, words <@> ''hill'' AS s FROM generate_series(390, 410) g LEFT JOIN (SELECT id, to_tsvector(''simple'', title) AS words FROM notes) n ON id = g ORDER BY s LIMIT 50');
SELECT form('SELECT q.a AS id, q.b <@> ''river'' AS s FROM (notes n JOIN more_notes m ON m.id = n.id + 1000) AS q (a, l, t, b, c, d, e) ORDER BY s LIMIT 50');
CREATE DOMAIN words AS tsvector;
CREATE TABLE typed AS SELECT id, body::words AS body FROM notes;
CREATE INDEX typed_body ON typed USING skipidx (body);
SELECT form('SELECT id, body <@> ''river'' AS s FROM (SELECT t.id, body FROM typed t LEFT JOIN more_notes USING (body) OFFSET 0) x ORDER BY s LIMIT 50');

-- of other levels
SELECT form('SELECT n.id, (SELECT n.body <@> ''river'' WHERE n.id > 0) AS s FROM notes n ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, (SELECT body FROM notes m WHERE m.id = n.id) <@> ''river'' AS s FROM notes n ORDER BY s LIMIT 50');
EXPLAIN (COSTS OFF)
SELECT w, id FROM (VALUES ('river'::tsquery), ('tree')) v (w),
	LATERAL (SELECT id FROM notes WHERE body @@ w ORDER BY body <@> w LIMIT 2) n;
SELECT w, id FROM (VALUES ('n3 | n4'::tsquery), ('n5 & tree'), (NULL), ('n9')) v (w),
	LATERAL (SELECT id FROM notes WHERE body @@ w ORDER BY body <@> w, id LIMIT 2) n;

-- where the planner names another query than the expression's: functions in
-- FROM of what is pulled up, and EXISTS.  The tables' columns are alike.
CREATE TABLE tales (LIKE notes);
INSERT INTO tales SELECT id, lang, title, CASE WHEN id % 7 = 0 THEN body END FROM notes;
CREATE INDEX tales_body ON tales USING skipidx (body);
CREATE FUNCTION ranked(document tsvector, query tsquery) RETURNS float4 STABLE LANGUAGE sql AS 'SELECT document <@> query';
SELECT form('SELECT n.id, x.s FROM notes n, unnest(ARRAY[n.body <@> ''river'']) x (s) ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) x ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s OFFSET 0) x ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) AS s FROM notes n ORDER BY s LIMIT 50');
SELECT bound('SELECT y.s FROM tales t, LATERAL (SELECT x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) x OFFSET 0) y') AS one,
	bound('SELECT y.s FROM tales t, LATERAL (SELECT x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[ranked(n.body, ''river'')]) s) x OFFSET 0) y') AS inlined,
	bound('SELECT y.s FROM tales t, LATERAL (SELECT x.s FROM notes n, LATERAL (SELECT s FROM ROWS FROM (unnest(ARRAY[n.body <@> ''river'']), unnest(ARRAY[t.body <@> ''river''])) q (s)) x OFFSET 0) y') AS both,
	bound('SELECT (SELECT x.s FROM tales t, (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) x WHERE t.id = 1) FROM notes n') AS two_up,
	bound('SELECT (SELECT (SELECT x.s FROM notes n, (SELECT s FROM unnest(ARRAY[t.body <@> ''river'']) s) x WHERE n.id = 1) FROM tales t WHERE t.id = m.id) FROM more_notes m') AS three_up;
SELECT form('SELECT n.id, y.s FROM tales t, LATERAL (SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) x WHERE n.id = t.id OFFSET 0) y JOIN notes n USING (id) ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM (VALUES (n.body <@> ''river''), (0)) v (s)) x ORDER BY s LIMIT 50');
SELECT form('SELECT n.id, y.s FROM tales t, LATERAL (SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM (VALUES (n.body <@> ''river''), (0)) v (s)) x WHERE n.id = t.id OFFSET 0) y JOIN notes n USING (id) WHERE n.body <@> ''river'' = y.s ORDER BY s') AS "values",
	bound('SELECT x.* FROM notes n, LATERAL (SELECT t.id FROM tales t TABLESAMPLE bernoulli (-(n.body <@> ''river''))) x') AS sample;
-- the condition of an EXISTS that becomes a set of values, beside the same
-- expression around it or not
SET enable_seqscan = on;
SET enable_indexscan = off;
SELECT bound('SELECT FROM tales t WHERE EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> ''river'' < -0.2) OR t.id = 0') AS "or",
	bound('SELECT EXISTS (SELECT FROM notes n WHERE n.id = t.id AND ranked(n.body, ''river'') < -0.2) FROM tales t') AS inlined,
	bound('SELECT EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> ''river'' < -0.2) AND t.body <@> ''river'' < -0.2 FROM tales t') AS both,
	bound('SELECT t.id IN (SELECT m.id FROM more_notes m WHERE EXISTS (SELECT FROM notes n WHERE n.id = m.id AND t.body <@> ''river'' < -0.2) OR m.id = 0) FROM tales t') AS above,
	bound('SELECT e FROM (SELECT EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> ''river'' < -0.2) AS e FROM tales t UNION ALL SELECT false) u') AS arm,
	bound('SELECT e FROM (SELECT id, lang, title, body, EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> ''river'' < -0.2) AS e FROM tales t UNION ALL SELECT *, false FROM tales) u') AS arm_with_columns;
-- where the other query has a join or a subquery of few columns in that place
SELECT bound('SELECT y.s FROM generate_series(1, 1) g CROSS JOIN generate_series(1, 1) h, LATERAL (SELECT x.s FROM more_notes a, more_notes b, notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> ''river'']) s) x OFFSET 0) y') AS joined,
	bound('SELECT FROM generate_series(1, 1) g CROSS JOIN generate_series(1, 1) h WHERE EXISTS (SELECT FROM more_notes a, more_notes b, notes n WHERE n.id = g AND n.body <@> ''river'' < -0.2) OR g = 0') AS exists_joined,
	bound('SELECT FROM (SELECT 1 AS g OFFSET 0) t WHERE EXISTS (SELECT FROM notes n WHERE n.id = g AND n.body <@> ''river'' < -0.2) OR g = 0') AS exists_beside_one;
SELECT count(*) FILTER (WHERE e) > 0 AS some, count(*) FILTER (WHERE e IS DISTINCT FROM n < -0.2 OR s IS DISTINCT FROM x) AS wrong FROM
	(SELECT EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> 'river' < -0.2) AS e, t.body <@> 'river' AS s,
		(SELECT coalesce(n.body <@> 'river', 0) FROM notes n WHERE n.id = t.id) AS n, t.body <@> skipidx_query('river', 'tales_body') AS x FROM tales t) q;
RESET enable_indexscan;
SET enable_seqscan = off;
CREATE VIEW told AS SELECT n.id, n.body <@> 'river' AS s, EXISTS (SELECT FROM notes m WHERE m.id = n.id + 1 AND m.body <@> 'river' < -0.2) AS e FROM notes n;
SELECT form('SELECT id, s FROM told WHERE e ORDER BY s LIMIT 50');
SELECT form('SELECT id, s FROM (SELECT * FROM told OFFSET 0) t WHERE e ORDER BY s LIMIT 50');

-- prepared statements, also of untyped parameters; an index that comes and goes
SET plan_cache_mode = force_generic_plan;
PREPARE best(tsquery, int) AS SELECT id, body <@> $1 < 0 AS scored FROM notes WHERE body @@ $1 ORDER BY body <@> $1, id LIMIT $2;
EXPLAIN (COSTS OFF) EXECUTE best('n7 | n8', 1);
EXECUTE best('n7 | n8', 1);
EXECUTE best('n9', 5);
EXECUTE best(NULL, 5);
PREPARE untyped AS SELECT id FROM notes ORDER BY body <@> $1 LIMIT 1;
EXECUTE untyped('n11');
RESET plan_cache_mode;
DROP INDEX notes_body;
EXECUTE best('n9', 5);
CREATE INDEX notes_body ON notes USING skipidx (body);
EXECUTE best('n9', 5);
DO $$
DECLARE
	q tsquery;
	r record;
BEGIN
	FOREACH q IN ARRAY ARRAY['n21', 'n22', 'n23', 'n24', 'n25', 'n26', 'n27'] LOOP
		SELECT id, body <@> q < 0 AS scored INTO r FROM notes ORDER BY body <@> q LIMIT 1;
		ASSERT r.scored AND q = ('n' || r.id)::tsquery;
	END LOOP;
END $$;
CREATE FUNCTION score_of(doc tsvector, q tsquery) RETURNS float4 STABLE LANGUAGE sql AS 'SELECT -(doc <@> q)';
SELECT form('SELECT id, -score_of(body, ''river'') AS s FROM notes ORDER BY body <@> ''river'' LIMIT 50');

-- writing queries
UPDATE notes SET lang = lang WHERE id = 5 RETURNING id, (body <@> 'river') < 0 AS scored;
UPDATE notes n SET lang = lang FROM (SELECT id FROM notes ORDER BY body <@> 'n77' LIMIT 1) b WHERE n.id = b.id
	RETURNING n.id, (n.body <@> 'n77') < 0 AS scored;
INSERT INTO notes VALUES (5, 'en', '', '') ON CONFLICT (id) DO UPDATE SET lang = notes.lang
	WHERE notes.body <@> 'n5' < 0 RETURNING id, lang;
BEGIN;
DELETE FROM notes WHERE id IN (SELECT id FROM notes ORDER BY body <@> 'n30 | n31', id LIMIT 2) RETURNING id;
ROLLBACK;

-- partitions: one ranking for all of them
CREATE TABLE logs (id int, body tsvector) PARTITION BY RANGE (id);
CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM (0) TO (100);
CREATE TABLE logs_2 (body tsvector, id int);
ALTER TABLE logs ATTACH PARTITION logs_2 FOR VALUES FROM (100) TO (1000);
INSERT INTO logs SELECT id, body FROM notes;
CREATE INDEX logs_body ON logs USING skipidx (body);
ANALYZE logs;
EXPLAIN (COSTS OFF) SELECT id, body <@> 'river' FROM logs WHERE body @@ 'river' ORDER BY body <@> 'river' LIMIT 5;
SELECT form('SELECT id, body <@> ''river | n200'' AS s FROM logs ORDER BY s LIMIT 50');
SELECT form('SELECT id, body <@> ''river | n200'' AS s FROM logs WHERE id < 100 ORDER BY s LIMIT 50');
SELECT form('SELECT id, body <@> ''river'' AS s FROM logs_1 ORDER BY s LIMIT 50');
SELECT (SELECT min(body <@> 'n7') FROM logs) < (SELECT min(body <@> 'n7') FROM logs_1) AS rarer_in_all;
-- one that inherits has an index of its own, but is ranked as its parent is
CREATE TABLE parent (id int, body tsvector);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT id, body FROM notes WHERE id < 100;
INSERT INTO child SELECT id, body FROM notes WHERE id >= 100;
CREATE INDEX parent_body ON parent USING skipidx (body);
CREATE INDEX child_body ON child USING skipidx (body);
SELECT form('SELECT id, body <@> ''river'' AS s FROM parent ORDER BY s LIMIT 50');

-- Of several indexes: one of all rows, then one whose predicate WHERE implies,
-- then the oldest.
CREATE INDEX notes_de ON notes USING skipidx (body) WHERE lang = 'de';
SELECT bound('SELECT body <@> ''river'' FROM notes WHERE lang = ''de''');
CREATE INDEX notes_again ON notes USING skipidx (body);
SELECT bound('SELECT body <@> ''river'' FROM notes WHERE lang = ''de''');
DROP INDEX notes_body, notes_again;
CREATE INDEX notes_en ON notes USING skipidx (body) WHERE lang = 'en';
SELECT bound('SELECT body <@> ''river'' FROM notes WHERE lang = ''de''');
SELECT bound('SELECT body <@> ''river'' FROM notes WHERE id < 10 AND lang = ''en''');
SELECT bound('SELECT n.body <@> ''river'' FROM more_notes m JOIN notes n ON m.id = n.id AND lang = ''en''');
SELECT bound('SELECT n.body <@> ''river'' FROM more_notes m LEFT JOIN notes n ON m.id = n.id AND lang = ''en''');
SELECT bound('SELECT n.body <@> ''river'' FROM more_notes m LEFT JOIN notes n ON m.id = n.id WHERE lang = ''en''');
SELECT bound('SELECT body <@> ''river'' FROM closed_notes');
SELECT form('SELECT id, body <@> ''river'' AS s FROM notes WHERE lang = ''de'' ORDER BY s LIMIT 50');
SELECT bound('SELECT body <@> ''river'' FROM notes');
SELECT bound('SELECT body <@> ''river'' FROM notes WHERE lang = ''de'' OR lang = ''en''');
-- a parameter implies nothing, whatever its value
PREPARE by_lang(text) AS SELECT min(body <@> 'river') FROM notes WHERE lang = $1;
EXECUTE by_lang('de');
-- an index that failed to be built is none
CREATE TABLE broken (id int, a int, body tsvector);
INSERT INTO broken VALUES (1, 0, 'a');
CREATE FUNCTION fail(tsvector) RETURNS tsvector IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN (length($1) / 0)::text; END';
CREATE INDEX CONCURRENTLY broken_body ON broken USING skipidx (fail(body));
SELECT bound('SELECT fail(body) <@> ''a'' FROM broken');
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'broken_body'::regclass;
SELECT bound('SELECT fail(body) <@> ''a'' FROM broken');
DROP INDEX broken_body;
CREATE INDEX broken_words ON broken USING skipidx ((CASE WHEN a = 0 THEN body END));
SELECT bound('SELECT CASE WHEN a = 0 THEN body END <@> ''a'' FROM broken'), bound('SELECT body <@> ''a'' FROM broken');

-- An index that is named, where it could have been chosen; elsewhere it is looked
-- up at run time.
CREATE INDEX notes_later ON notes USING skipidx (body);
SELECT form('SELECT id, body <@> skipidx_query(''river'', ''notes_later'') AS s FROM notes ORDER BY s LIMIT 50') AS later,
	form('SELECT id, body <@> skipidx_query(to_tsquery(''river''), ''public.notes_later'') AS s FROM (SELECT * FROM notes OFFSET 0) n ORDER BY s LIMIT 50') AS stable,
	form('SELECT n.id, x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> skipidx_query(''river'', ''notes_later'')]) s) x ORDER BY s LIMIT 50') AS lateral;
SELECT bound('SELECT y.s FROM tales t, LATERAL (SELECT x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> skipidx_query(''river'', ''notes_later'')]) s) x OFFSET 0) y') AS one,
	bound('SELECT y.s FROM tales t, LATERAL (SELECT x.s FROM notes n, LATERAL (SELECT s FROM unnest(ARRAY[n.body <@> skipidx_query(''river'', ''tales_body'')]) s) x OFFSET 0) y') AS other,
	bound('SELECT EXISTS (SELECT FROM notes n WHERE n.id = t.id AND n.body <@> skipidx_query(''river'', ''notes_later'') < -0.2) AND t.body <@> skipidx_query(''river'', ''tales_body'') < -0.2 FROM tales t') AS both,
	bound('SELECT body <@> skipidx_query(''river'', ''notes_later'') FROM (SELECT id, body FROM notes UNION ALL SELECT id, body FROM more_notes) n') AS arms;
SELECT bound('SELECT body <@> skipidx_query(''river'', ''notes_en'') FROM notes') AS partial,
	bound('SELECT body <@> skipidx_query(''river'', ''notes_en'') FROM notes WHERE lang = ''en''') AS implied,
	bound('SELECT body <@> skipidx_query(''river'', title) FROM notes') AS "column",
	bound('SELECT body <@> skipidx_query(''river'', ''nowhere.notes_later'') FROM notes') AS nowhere,
	bound('SELECT to_tsvector(''simple'', title) <@> skipidx_query(''river'', ''notes_later'') FROM notes') AS expression;
DROP INDEX notes_later;

-- Not followed to the end where it takes too long, and that is known at once
SET statement_timeout = '10s';
CREATE FUNCTION twice(levels int) RETURNS text LANGUAGE sql AS $$
	SELECT 'WITH c0 AS (SELECT body FROM tales)' || string_agg(format(', c%s AS (SELECT body FROM c%s UNION ALL SELECT body FROM c%s)', i, i - 1, i - 1), '' ORDER BY i)
		|| format(' SELECT body <@> ''a'' FROM c%s', levels) FROM generate_series(1, levels) i
$$;
CREATE FUNCTION wide(levels int) RETURNS text LANGUAGE sql AS $$
	SELECT 'SELECT body <@> ''a'' FROM ' || repeat('(SELECT body || body AS body FROM ', levels) || 'tales' || repeat(' OFFSET 0) s', levels)
$$;
SELECT bound(twice(8)) AS some, bound(twice(28)) AS many, bound(wide(28)) AS wide;
DROP FUNCTION twice, wide;
RESET statement_timeout;

-- An index on the whole row
CREATE FUNCTION of_row(tales) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1.body; END $$;
CREATE INDEX tales_row ON tales USING skipidx (of_row(tales));
EXPLAIN (COSTS OFF) SELECT id FROM tales ORDER BY of_row(tales) <@> 'a' LIMIT 1;
SELECT bool_and(of_row(tales) <@> 'a' IS NOT DISTINCT FROM of_row(tales) <@> skipidx_query('a', 'tales_row')) FROM tales;
SELECT count(*) FROM (SELECT of_row(t) <@> 'a' FROM tales t UNION ALL SELECT of_row(s) <@> 'a' FROM (SELECT * FROM tales OFFSET 0) s) x;
DROP INDEX tales_row;
DROP FUNCTION of_row;

-- Where there is none: the error of the first row, with the remedy
SELECT body <@> 'river' FROM notes LIMIT 1;
SELECT 'a'::tsvector <@> 'a'::tsquery;
SELECT coalesce(body, '') <@> 'river' FROM notes WHERE lang = 'de' LIMIT 1;
-- words without operators, the first thing that a person types
SELECT id FROM notes ORDER BY body <@> 'river stone' LIMIT 1;
SELECT skx_tsquery('river & stone:*A'), skx_tsquery(NULL);
-- by code, since 19 tells the place in the statement, too
\set VERBOSITY sqlstate
CREATE INDEX ON notes ((body <@> 'river'::tsquery));
\set VERBOSITY default
ALTER TABLE notes ADD CHECK (body <@> 'river'::tsquery < 0);
SELECT round((body <@> skipidx_query('n7', 'notes_en'))::numeric, 3) FROM notes WHERE id = 7;

DROP FUNCTION bound, form, score_of, fail, ranked, plan_of, ranked_by CASCADE;
DROP TABLE notes, more_notes, tales, typed, logs, parent, child, broken CASCADE;
DROP DOMAIN words;
