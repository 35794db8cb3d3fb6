--
-- CREATE INDEX USING skipidx: what is accepted, what is refused and how
--
-- Holds: am 1, 2, 3, 4; cost 4; inspect 2
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
RESET client_min_messages;

CREATE TABLE docs (id int, title text, body tsvector, other tsvector, tags text[]);
INSERT INTO docs SELECT i, 'title ' || i,
	to_tsvector('simple', 'word' || i % 7 || ' common w' || i), 'x'::tsvector, '{}'
	FROM generate_series(1, 200) i;
INSERT INTO docs VALUES (201, NULL, NULL, NULL, NULL), (202, '', '', '', '{}');

-- Ids found with the index only, and how.
CREATE FUNCTION found(tab text, cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	how text := 'no index';
	answer text;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM %s WHERE %s', tab, cond) LOOP
		IF line LIKE '%Bitmap Index Scan%' THEN
			how := 'index';
		END IF;
	END LOOP;
	EXECUTE format('SELECT count(*) || '' rows'' || coalesce('', ids '' || min(id) || '' to '' || max(id), '''') FROM %s WHERE %s', tab, cond)
		INTO answer;
	RETURN how || ': ' || answer;
END $$;

--
-- The access method
--
SELECT amname, amtype FROM pg_am WHERE amname = 'skipidx';
SELECT opcname, opcintype::regtype, opcdefault, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'skipidx' ORDER BY 1;
SELECT amopopr::regoperator, amopstrategy, amoppurpose
FROM pg_amop o JOIN pg_am a ON a.oid = amopmethod
WHERE amname = 'skipidx' AND amoplefttype = 'tsvector'::regtype ORDER BY 2;
SELECT prop, pg_indexam_has_property(oid, prop) AS am
FROM pg_am, unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include']) prop
WHERE amname = 'skipidx';

--
-- Columns
--
CREATE INDEX docs_body ON docs USING skipidx (body);
SELECT found('docs', $$body @@ 'common'$$);
SELECT found('docs', $$body @@ 'word3 & !w3'$$);
SELECT prop, pg_index_column_has_property('docs_body', 1, prop) AS "column"
FROM unnest(ARRAY['asc', 'desc', 'orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls']) prop;
SELECT prop, pg_index_has_property('docs_body', prop) AS index
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan']) prop;
DROP INDEX docs_body;

CREATE INDEX refused ON docs USING skipidx (id);
CREATE INDEX refused ON docs USING skipidx (title, body);
CREATE INDEX refused ON docs USING skipidx (tags);
CREATE TABLE mixed (j jsonb, js json, "Text" varchar(9), body tsvector);
CREATE INDEX refused ON mixed USING skipidx (j);
CREATE INDEX refused ON mixed USING skipidx (js);
CREATE INDEX refused ON mixed USING skipidx ("Text");
CREATE INDEX refused ON mixed USING skipidx (("Text" || 'a'));
CREATE INDEX refused ON mixed USING skipidx (body, j);
CREATE INDEX refused ON mixed USING skipidx (body, js);
-- as these hints say
CREATE INDEX mixed_words ON mixed USING skipidx (to_tsvector('english', "Text"), (j ->> 'key'));
CREATE INDEX mixed_json ON mixed USING skipidx (to_tsvector('english', j), (js ->> 'key'));
DROP TABLE mixed;
CREATE INDEX refused ON docs USING skipidx (body, other);
CREATE INDEX refused ON docs USING skipidx (body, id, other);
CREATE INDEX docs_columns ON docs USING skipidx (body, id, title, tags);
SELECT found('docs', $$body @@ 'common' AND id = 7 AND title IS NOT NULL$$);
SELECT found('docs', $$tags = '{}' AND title = 'title 8'$$);
SELECT a.attname, prop, pg_index_column_has_property('docs_columns', a.attnum, prop) AS "column"
FROM pg_attribute a, unnest(ARRAY['orderable', 'distance_orderable', 'returnable', 'search_array', 'search_nulls']) prop
WHERE a.attrelid = 'docs_columns'::regclass ORDER BY a.attnum, 2;
DROP INDEX docs_columns;
CREATE INDEX refused ON docs USING skipidx (body) INCLUDE (id);
CREATE UNIQUE INDEX refused ON docs USING skipidx (body);
-- by code, since 19 tells the place in the statement, too
\set VERBOSITY sqlstate
CREATE INDEX refused ON docs USING skipidx (body DESC);
CREATE INDEX refused ON docs USING skipidx (body NULLS FIRST);
\set VERBOSITY default
SELECT count(*) FROM pg_class WHERE relname = 'refused';

--
-- Storage parameters
--
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 7);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 4);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 0);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = -8);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 96);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '100kB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '2MB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '8192 bytes');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 'large');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '99999999999999999kB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (pending_limit = 0);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (pending_limit = '63kB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (pending_limit = '-1MB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (pending_limit = 'none');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (segments_per_tier = 1);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (segments_per_tier = 65);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (segments_per_tier = 'few');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (max_merged_segment = '7MB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (max_merged_segment = '6GB');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (max_merged_segment = 'all');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (deletes_pct_allowed = 4);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (deletes_pct_allowed = 91);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (k1 = -0.1);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (k1 = 'much');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (b = 1.1);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (b = -1);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (fillfactor = 70);
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (nosuch = 1);

CREATE INDEX docs_8kb ON docs USING skipidx (body) WITH (block_size = 8);
CREATE INDEX docs_1mb ON docs USING skipidx (body) WITH (block_size = '1MB');
CREATE INDEX docs_64kb ON docs USING skipidx (body)
	WITH (block_size = '64kB', pending_limit = '1MB', k1 = 0.9, b = 0.4);
CREATE INDEX docs_default ON docs USING skipidx (body);
SELECT c.relname, reloptions, (skipidx_stats(c.oid)).block_size
FROM pg_class c WHERE relname LIKE 'docs\__%' AND relkind = 'i' ORDER BY 1;
ALTER INDEX docs_64kb SET (b = 2);
ALTER INDEX docs_64kb SET (block_size = 9);
ALTER INDEX docs_64kb SET (pending_limit = '2MB', b = 0.5);
ALTER INDEX docs_64kb RESET (k1);
ALTER INDEX docs_64kb SET (deletes_pct_allowed = 0);
ALTER INDEX docs_64kb SET (segments_per_tier = 2, max_merged_segment = '8MB', deletes_pct_allowed = 90);
ALTER INDEX docs_64kb SET (segments_per_tier = 64, max_merged_segment = '5GB', deletes_pct_allowed = 5);
-- a new block size is that of the next build
ALTER INDEX docs_64kb SET (block_size = '16kB');
SELECT (skipidx_stats('docs_64kb')).block_size;
REINDEX INDEX docs_64kb;
SELECT reloptions, (skipidx_stats('docs_64kb')).block_size FROM pg_class WHERE relname = 'docs_64kb';
SELECT found('docs', $$body @@ 'word1 | word2'$$);
DROP INDEX docs_8kb, docs_1mb, docs_64kb, docs_default;

--
-- Kinds of index
--
CREATE INDEX docs_expression ON docs USING skipidx (to_tsvector('simple', title));
SELECT found('docs', $$to_tsvector('simple', title) @@ 'title & 17'$$);
INSERT INTO docs (id, title) VALUES (300, 'title 17 again');
SELECT found('docs', $$to_tsvector('simple', title) @@ 'title & 17'$$);
DROP INDEX docs_expression;

CREATE INDEX docs_partial ON docs USING skipidx (body) WHERE id % 2 = 0;
SELECT found('docs', $$body @@ 'common' AND id % 2 = 0$$);
SELECT found('docs', $$body @@ 'common'$$);
INSERT INTO docs (id, body) VALUES (401, 'common'), (402, 'common');
SELECT found('docs', $$body @@ 'common' AND id % 2 = 0$$);
SELECT ndocs FROM skipidx_stats('docs_partial');
DROP INDEX docs_partial;

CREATE TABLE empty (id int, body tsvector);
CREATE INDEX empty_body ON empty USING skipidx (body);
SELECT found('empty', $$body @@ 'a'$$);
SELECT found('empty', $$body @@ '!a'$$);
INSERT INTO empty VALUES (1, 'a b'), (2, 'b');
SELECT found('empty', $$body @@ 'a'$$);
SELECT found('empty', $$body @@ '!a'$$);
TRUNCATE empty;
SELECT found('empty', $$body @@ '!a'$$);
INSERT INTO empty VALUES (3, 'a b');
SELECT found('empty', $$body @@ 'a'$$);
BEGIN;
CREATE TABLE same_xact (id int, body tsvector);
CREATE INDEX ON same_xact USING skipidx (body);
INSERT INTO same_xact VALUES (1, 'a');
TRUNCATE same_xact;
INSERT INTO same_xact VALUES (2, 'a');
SELECT found('same_xact', $$body @@ 'a'$$);
TRUNCATE empty;
INSERT INTO empty VALUES (4, 'a');
SELECT found('empty', $$body @@ 'a'$$);
ROLLBACK;
SELECT found('empty', $$body @@ 'a'$$);

CREATE UNLOGGED TABLE fast (id int, body tsvector);
INSERT INTO fast SELECT id, body FROM docs WHERE id <= 50;
CREATE INDEX fast_body ON fast USING skipidx (body);
INSERT INTO fast SELECT id, body FROM docs WHERE id BETWEEN 51 AND 60;
SELECT found('fast', $$body @@ 'word2'$$);
ALTER TABLE fast SET LOGGED;
SELECT found('fast', $$body @@ 'word2'$$);
ALTER TABLE fast SET UNLOGGED;
SELECT found('fast', $$body @@ 'word2'$$);

CREATE TEMP TABLE temporary (id int, body tsvector) ON COMMIT PRESERVE ROWS;
INSERT INTO temporary SELECT id, body FROM docs WHERE id <= 50;
CREATE INDEX temporary_body ON temporary USING skipidx (body);
INSERT INTO temporary SELECT id, body FROM docs WHERE id BETWEEN 51 AND 60;
SELECT found('temporary', $$body @@ 'word2'$$);
DELETE FROM temporary WHERE id < 10;
VACUUM temporary;
SELECT found('temporary', $$body @@ 'word2'$$);
CREATE TEMP TABLE transient (id int, body tsvector) ON COMMIT DELETE ROWS;
CREATE INDEX transient_body ON transient USING skipidx (body);
BEGIN;
INSERT INTO transient VALUES (1, 'a'), (2, 'b');
SELECT found('transient', $$body @@ 'a'$$);
COMMIT;
SELECT found('transient', $$body @@ 'a'$$);
BEGIN;
INSERT INTO transient VALUES (3, 'a');
SELECT found('transient', $$body @@ 'a'$$);
COMMIT;

CREATE TABLE parts (id int, body tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
INSERT INTO parts SELECT id, body FROM docs WHERE id < 100;
CREATE INDEX parts_body ON parts USING skipidx (body) WITH (block_size = '32kB');
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (1000);
INSERT INTO parts SELECT id, body FROM docs WHERE id BETWEEN 100 AND 210;
SELECT found('parts', $$body @@ 'common & word4'$$);
SELECT relname, relkind, reloptions FROM pg_class WHERE relname LIKE 'parts%body%' ORDER BY 1;
SELECT (skipidx_stats('parts_2_body_idx')).ndocs;

CREATE MATERIALIZED VIEW view_docs AS SELECT id, body FROM docs WHERE id <= 20;
CREATE INDEX ON view_docs USING skipidx (body);
REFRESH MATERIALIZED VIEW view_docs;
SELECT found('view_docs', $$body @@ 'common'$$);
DROP MATERIALIZED VIEW view_docs;

--
-- Never index-only, though all of the table is known to be visible
--
CREATE TABLE visible AS SELECT ('all w' || i)::tsvector AS body FROM generate_series(1, 1000) i;
CREATE INDEX visible_body ON visible USING skipidx (body);
VACUUM ANALYZE visible;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM visible;
EXPLAIN (COSTS OFF) SELECT count(*) FROM visible WHERE body @@ 'w7';
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE visible;

--
-- CONCURRENTLY, REINDEX, rewrites
--
CREATE INDEX CONCURRENTLY docs_body ON docs USING skipidx (body);
SELECT found('docs', $$body @@ 'common'$$);
INSERT INTO docs (id, body) VALUES (501, 'common');
REINDEX INDEX CONCURRENTLY docs_body;
SELECT found('docs', $$body @@ 'common'$$);
SELECT pending_docs, segments FROM skipidx_stats('docs_body');
INSERT INTO docs (id, body) VALUES (502, 'common');
SELECT pending_docs, segments FROM skipidx_stats('docs_body');
REINDEX TABLE docs;
SELECT found('docs', $$body @@ 'common'$$);
VACUUM FULL docs;
SELECT found('docs', $$body @@ 'common'$$);
ALTER TABLE docs ADD COLUMN more int DEFAULT 5, ALTER COLUMN id TYPE bigint;
SELECT found('docs', $$body @@ 'common'$$);
ALTER TABLE docs ALTER COLUMN body TYPE text;
DROP INDEX docs_body;
ALTER TABLE docs ALTER COLUMN body TYPE text;
CREATE INDEX refused ON docs USING skipidx (body);

--
-- A failed build leaves nothing
--
\set SHOW_CONTEXT never
CREATE FUNCTION fails_at_90(i bigint, t text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF i = 90 THEN
		RAISE 'row 90';
	END IF;
	RETURN t::tsvector;
END $$;
CREATE INDEX docs_fails ON docs USING skipidx (fails_at_90(id, body));
SELECT count(*) FROM pg_class WHERE relname = 'docs_fails';
DELETE FROM docs WHERE id = 90;
CREATE INDEX docs_fails ON docs USING skipidx (fails_at_90(id, body));
SELECT found('docs', $$fails_at_90(id, body) @@ 'common'$$);
INSERT INTO docs (id, body) VALUES (90, 'common');
SELECT found('docs', $$fails_at_90(id, body) @@ 'common'$$);

DROP TABLE docs, empty, fast, temporary, transient, parts;
DROP FUNCTION found, fails_at_90;
