--
-- skipidx_document(): to_tsvector() where that fits, and as much as fits
-- elsewhere
--
-- Holds: parse 2, 3, 4; functions 21; inspect 15
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET client_min_messages = notice;

-- Several dictionaries a token type; those that give several lexemes, or want
-- several tokens (filters: t/388_documents.pl)
CREATE TEXT SEARCH DICTIONARY document_ispell (TEMPLATE = ispell, DictFile = ispell_sample, AffFile = ispell_sample);
CREATE TEXT SEARCH DICTIONARY document_synonym (TEMPLATE = synonym, Synonyms = synonym_sample);
CREATE TEXT SEARCH DICTIONARY document_thesaurus (TEMPLATE = thesaurus, DictFile = thesaurus_sample, Dictionary = english_stem);
CREATE TEXT SEARCH CONFIGURATION document_several (COPY = english);
ALTER TEXT SEARCH CONFIGURATION document_several ALTER MAPPING FOR asciiword, word, hword, hword_part, asciihword, hword_asciipart
	WITH document_synonym, document_ispell, english_stem;
CREATE TEXT SEARCH CONFIGURATION document_phrases (COPY = english);
ALTER TEXT SEARCH CONFIGURATION document_phrases ALTER MAPPING FOR asciiword, asciihword, hword_asciipart
	WITH document_synonym, document_thesaurus, english_stem;
-- blanks and tags have lexemes; another has nothing
CREATE TEXT SEARCH CONFIGURATION document_all (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION document_all ADD MAPPING FOR blank, tag, entity, protocol WITH simple;
CREATE TEXT SEARCH CONFIGURATION document_none (PARSER = "default");

CREATE VIEW document_configs AS SELECT unnest('{simple,english,german,russian,turkish,document_several,document_phrases,document_all,document_none}'::regconfig[]) AS config;
CREATE FUNCTION document_differs(config regconfig, content text) RETURNS bool LANGUAGE sql AS $$
	SELECT tsvectorsend(skipidx_document(config, content)) <> tsvectorsend(to_tsvector(config, content)) $$;

-- texts made of parts, with and without blanks between them
CREATE TABLE document_parts AS SELECT ARRAY['a', 'the', 'Cats', 'running', 'skies', 'booking', 'footballklubber', 'postgres', 'gogle', 'indices',
	'crab', 'nebulae', 'booked', 'tickets', '12', '3.14', '-7', '+1e10', '1.2.3', 'v2',
	'été', 'Ünïcödé', 'Häuser', 'ÉTÉ', 'İstanbul', 'дома', 'слова', '漢字', 'ﬁ', '½', 'well-known', 'x-1', 'état-nation', 'foo-bar-baz-12',
	'http://example.com/a/b.html?q=1&r=2', 'www.example.org', 'someone@example.com', '/usr/local/bin', '../x', './y', '~/z', '&amp;', '&#233;',
	'<b>', '</b>', '<a href="x y">', '<script>', '</script>', '<!-- ', '-->', '<', '>', '''', '"', '(', ',', '.', '..', '-', '/', ':', ';', E'\\'] AS parts;
CREATE FUNCTION document_text(seed int, n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(parts[1 + abs(hashint4(seed * 7919 + k) % cardinality(parts))] ||
		(ARRAY[' ', ' ', ' ', '', E'\n', ', '])[1 + abs(hashint4(k * 7919 - seed) % 6)], '' ORDER BY k)
	FROM document_parts, generate_series(1, n) k $$;
CREATE TABLE document_texts AS SELECT i AS id, document_text(i, 1 + i % 97) AS content FROM generate_series(1, 900) i;
SELECT config, count(*), count(*) FILTER (WHERE document_differs(config, content)) AS wrong, sum(length(to_tsvector(config, content))) > 10000 AS many
	FROM document_configs, document_texts GROUP BY 1 ORDER BY config::text COLLATE "C";
SELECT bool_or(skipidx_document('document_several', content) @@ 'book & booking') AS several
	FROM document_texts;
-- Phrases that begin others.  Of those with another type of token behind, the
-- server makes something wrong: these stand alone.
CREATE TABLE document_thesauri AS SELECT (SELECT string_agg(w[1 + abs(hashint4(i * 7919 + k) % cardinality(w))], ' ' ORDER BY k)
	FROM (SELECT '{one,two,three,supernovae,stars,crab,x,booking,tickets,the}'::text[]) v (w), generate_series(1, 1 + i % 9) k) AS content FROM generate_series(1, 2000) i;
SELECT count(*) FILTER (WHERE document_differs('document_phrases', content)) AS wrong, count(*) FILTER (WHERE v @@ '123') AS three, count(*) FILTER (WHERE v @@ '12') AS two,
	count(*) FILTER (WHERE v @@ 'invit <-> card') AS tickets, count(*) FILTER (WHERE v @@ 'star & !sn') AS apart
	FROM document_thesauri, skipidx_document('document_phrases', content) v;
SELECT skipidx_document('document_phrases', 'one two 12 one x 12 one y'), skipidx_document('document_phrases', 'supernovae 12 booking x stars');
SELECT config, count(*), count(*) FILTER (WHERE document_differs(config, content)) AS wrong
	FROM document_configs, unnest(ARRAY['', ' ', E'\n\t', '.', 'the', 'the of a', 'x', E'\u00a0', 'one two', 'supernovae', 'supernovae stars', 'one', '<', '<a', '<!--', '-', repeat(' ', 1000)]) content
	GROUP BY 1 ORDER BY config::text COLLATE "C";
SELECT skipidx_document('simple', ''), skipidx_document('english', 'the'), skipidx_document(NULL, 'x') IS NULL AS no_config,
	skipidx_document('simple', NULL) IS NULL AS no_text, skipidx_document('english', 'The fat cats, and 3 rats');
SELECT skipidx_document(4711::oid::regconfig, 'x');

--
-- What a tsvector leaves out: words of 2 kB, positions
--
SELECT to_tsvector('simple', 'a ' || repeat('x', 2048) || ' b');
SELECT skipidx_document('simple', 'a ' || repeat('x', 2048) || ' b');
SELECT length(skipidx_document('simple', 'a ' || repeat('x', 2047) || ' b')) > 1 AS without_notice;
SET client_min_messages = warning;
CREATE FUNCTION document_words(n int, word text, every int DEFAULT 1000000000) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format(word, i % every), ' ' ORDER BY i) FROM generate_series(1, n) i $$;
SELECT name, document_differs('simple', content) AS differs, document_differs('english', content) AS stemmed FROM (VALUES
	('2046 bytes', 'a ' || repeat('x', 2046) || ' b'), ('2047', 'a ' || repeat('x', 2047) || ' b'), ('2048', 'a ' || repeat('x', 2048) || ' b'),
	('characters', repeat('é', 1023) || ' ' || repeat('é', 1024) || ' ' || repeat('İ', 1023)),
	('20 of 3 kB', document_words(20, 'w%s ' || repeat('y', 3000))),
	('254 times', document_words(254, 'w')), ('255', document_words(255, 'w')), ('256', document_words(256, 'w')), ('1000', document_words(1000, 'w')),
	('16382 positions', document_words(16382, 'w%s')), ('16383', document_words(16383, 'w%s')), ('16384', document_words(16384, 'w%s')),
	('40000', document_words(40000, 'w%s')), ('40000 of few', document_words(40000, 'w%s', 100)), ('late', document_words(17000, 'w') || ' x y x'),
	('long words', document_words(300, 'w%s' || repeat('z', 2000)))) v (name, content);

--
-- What does not fit
--
CREATE FUNCTION document_said(config regconfig, content text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN length(to_tsvector(config, content));
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN SQLSTATE;
END $$;
CREATE TABLE document_long (id int, name text, content text) WITH (autovacuum_enabled = off);
ALTER TABLE document_long ALTER content SET STORAGE external;
INSERT INTO document_long VALUES
	(1, 'fits', document_words(70000, 'w%s')),
	(2, 'fits but for positions', document_words(80000, 'word%s')),
	(3, 'without positions', document_words(98000, 'word%s')),
	(4, 'too many words', document_words(160000, 'w%s')),
	(5, 'long words, no positions to leave room to', document_words(600, 'w%s' || repeat('z', 2000)));
CREATE TABLE document_vectors AS SELECT id, name, content, skipidx_document('simple', content) AS v FROM document_long;
SELECT id, name, length(content), document_said('simple', content) AS to_tsvector, document_differs('simple', left(content, 200000)) AS beginning_differs,
	length(v) AS lexemes, v @@ $$' skipidx cut'$$ AS marked FROM document_vectors ORDER BY id;
-- What is there is the beginning, of lexemes and of positions.
SELECT id, count(*) AS lexemes, max(n) = count(*) AS beginning, count(positions) AS with_positions,
	max(n) FILTER (WHERE positions IS NOT NULL) = count(positions) AS beginning,
	bool_and(positions = ARRAY[least(n, 16383)]::int2[] AND weights = '{D}') AS right_ones,
	sum(octet_length(lexeme)) + 4 * count(positions) > 1048576 - 64 * 1024 - 3 * count(positions) AS as_much_as_fits,
	sum(octet_length(lexeme)) + 4 * count(positions) <= 1048576 - 64 * 1024 AS leaves_room
	FROM document_vectors, unnest(v) u, LATERAL (SELECT substring(lexeme, '\d+')::int AS n) x
	WHERE lexeme <> ' skipidx cut' GROUP BY 1 ORDER BY 1;
SELECT id, lexeme, positions FROM document_vectors, unnest(v) WHERE lexeme LIKE ' %' ORDER BY id;
-- The room is for what a statement or an index adds; a cut text joined to
-- another one is cut.
SELECT id, length(setweight(skipidx_document('simple', 'a title'), 'A') || setweight(v, 'B') || v) - length(v) AS longer,
	(skipidx_document('simple', 'a title') || v) @@ $$' skipidx cut'$$ AS marked, v @@ 'w2:D | word2:D' AS label, v @@ '!none & !skipidx & !cut' AS negated,
	v @@ $$!' skipidx cut'$$ AS whole, v @@ 'skipidx:* | cut:*' AS prefix FROM document_vectors ORDER BY id;
SELECT id, v::text::tsvector = v AS same_as_text, strip(v) @@ $$' skipidx cut'$$ AS stripped FROM document_vectors WHERE id = 3;

--
-- In an index, and what skipidx_stats() counts of it
--
CREATE TABLE document_docs (id int, tenant int, content text,
	v tsvector GENERATED ALWAYS AS (skipidx_document('simple', content)) STORED) WITH (autovacuum_enabled = off);
CREATE INDEX document_docs_content ON document_docs USING skipidx (skipidx_document('simple', content), tenant) WITH (pending_limit = '64MB');
CREATE INDEX document_docs_v ON document_docs USING skipidx (v) WITH (pending_limit = '64MB');
CREATE FUNCTION document_counts(OUT ndocs int, OUT cut int, OUT cut_of_v int, OUT deleted int, OUT segments int) LANGUAGE sql AS $$
	SELECT a.ndocs, a.cut_docs, b.cut_docs, a.deleted, a.segments FROM skipidx_stats('document_docs_content') a, skipidx_stats('document_docs_v') b $$;
SELECT * FROM document_counts();
INSERT INTO document_docs SELECT 1000 + id, id % 7, content FROM document_texts WHERE id <= 200;
SELECT * FROM document_counts();
INSERT INTO document_docs SELECT id, 1, content FROM document_long WHERE id IN (1, 3, 5);
SELECT * FROM document_counts();
SELECT skipidx_flush('document_docs_content'), skipidx_flush('document_docs_v');
SELECT * FROM document_counts();
INSERT INTO document_docs SELECT 10 + id, 2, content FROM document_long WHERE id = 4;
INSERT INTO document_docs VALUES (3000, 1, NULL), (3001, NULL, '');
SELECT * FROM document_counts();

-- Index scans as sequential scans, row by row
CREATE TABLE document_queries (q tsquery);
INSERT INTO document_queries VALUES ('w149999 | word17 <-> word18 <-> word19'), ($$' skipidx cut'$$), ($$!' skipidx cut' & !w17 & !cats:*$$), ('word9:* | w17:D & w18 | cut | skipidx');
CREATE FUNCTION document_found(q tsquery, condition text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	found int[];
BEGIN
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM document_docs WHERE ' || condition INTO found USING q;
	RETURN found;
END $$;
CREATE FUNCTION document_compare(OUT queries int, OUT rows_found int, OUT wrong int) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL skipidx.enable_custom_scan = off;
	CREATE TEMP TABLE document_truth AS SELECT q, document_found(q, 'v @@ $1') AS ids FROM document_queries;
	SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = on;
	SELECT count(*), sum(cardinality(ids)), count(*) FILTER (WHERE ids IS DISTINCT FROM document_found(q, 'v @@ $1')
			OR ids IS DISTINCT FROM document_found(q, $c$skipidx_document('simple', content) @@ $1$c$))
		INTO queries, rows_found, wrong FROM document_truth;
	DROP TABLE document_truth;
END $$;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM document_docs WHERE skipidx_document('simple', content) @@ $$' skipidx cut'$$ AND tenant = 1;
RESET enable_seqscan;
SELECT * FROM document_compare();
SELECT id FROM document_docs WHERE skipidx_document('simple', content) @@ $$' skipidx cut'$$ AND tenant = 1 ORDER BY id;
SELECT count(*) FROM skipidx_terms('document_docs_v', ' ');
SELECT count(*) FILTER (WHERE term LIKE '%skipidx%') AS marks, count(*) > 100 AS many FROM skipidx_terms('document_docs_v', '', 1000);
SELECT skipidx_check('document_docs_content', true), skipidx_check('document_docs_v', true);

-- Merged, deleted, vacuumed, built anew
SELECT skipidx_flush('document_docs_content'), skipidx_flush('document_docs_v');
SELECT * FROM document_counts();
SELECT skipidx_merge('document_docs_content'), skipidx_merge('document_docs_v');
SELECT * FROM document_counts();
DELETE FROM document_docs WHERE id = 3;
UPDATE document_docs SET tenant = 4 WHERE id = 5;
SELECT * FROM document_counts();
VACUUM document_docs;
SELECT skipidx_merge('document_docs_content'), skipidx_merge('document_docs_v');
SELECT * FROM document_counts();
SELECT * FROM document_compare();
REINDEX TABLE document_docs;
SELECT * FROM document_counts();
SELECT * FROM document_compare();
SELECT skipidx_check('document_docs_content', true), skipidx_check('document_docs_v', true);

DROP FUNCTION document_compare, document_found, document_counts;
DROP TABLE document_docs, document_queries, document_vectors, document_long, document_texts, document_thesauri;
DROP FUNCTION document_said, document_words, document_text, document_differs;
DROP VIEW document_configs;
DROP TABLE document_parts;
DROP TEXT SEARCH CONFIGURATION document_none, document_all, document_phrases, document_several;
DROP TEXT SEARCH DICTIONARY document_thesaurus, document_synonym, document_ispell;
