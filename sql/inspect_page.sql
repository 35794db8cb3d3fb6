--
-- skipidx_page: what single pages say of themselves, every kind of them, and
-- also damaged ones
--
-- Holds: inspect 14
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE leaf (n int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO leaf SELECT i, ('all:1 w' || i || ':2 n' || i % 7 || ':3')::tsvector FROM generate_series(1, 2000) i;
CREATE INDEX leaf_body ON leaf USING skipidx (body, n) WITH (block_size = '8kB');
INSERT INTO leaf SELECT i, 'all:1' FROM generate_series(2001, 2010) i;
INSERT INTO leaf SELECT 2011, string_agg('w' || i || ':' || i % 16000 + 1, ' ')::tsvector FROM generate_series(1, 3000) i;
DELETE FROM leaf WHERE n <= 20;
VACUUM (INDEX_CLEANUP on) leaf;

-- Each page once: its kind and what its head says
CREATE VIEW leaf_pages AS SELECT b AS block, p.* FROM generate_series(0, pg_relation_size('leaf_body') / 8192 - 1) b, skipidx_page('leaf_body', b) WITH ORDINALITY p;
SELECT value AS kind, count(*) > 0 AS pages FROM leaf_pages WHERE field = 'kind' GROUP BY 1 ORDER BY value COLLATE "C";
SELECT field, array_agg(DISTINCT value) AS values FROM leaf_pages WHERE field IN ('damage', 'server checksum', 'page version') GROUP BY 1 ORDER BY field COLLATE "C";
SELECT count(DISTINCT value) AS indexes FROM leaf_pages WHERE field = 'index incarnation';
SELECT field, value FROM skipidx_page('leaf_body', 0) WHERE field IN ('kind', 'ordinal', 'format version', 'oldest reader', 'block size') OR field LIKE 'features%';
SELECT k.value AS kind, p.field, p.value FROM leaf_pages k JOIN leaf_pages p USING (block)
	WHERE k.field = 'kind' AND p.field IN ('documents', 'null documents', 'deleted documents', 'terms', 'postings', 'columns with keys', 'bytes of document', 'segments', 'stripes', 'first document')
		AND k.value IN ('header', 'deletes', 'pending', 'chain', 'root') AND NOT (k.value = 'pending' AND p.value = '0')
	GROUP BY 1, 2, 3 ORDER BY k.value COLLATE "C", p.field COLLATE "C", p.value COLLATE "C";
-- the same as what the index says of itself
SELECT (SELECT sum(value::int) FROM leaf_pages WHERE field = 'deleted documents') = deleted AS deleted,
	(SELECT sum(value::int) FROM leaf_pages WHERE field = 'documents' AND block IN (SELECT block FROM leaf_pages WHERE value = 'header')) = ndocs - pending_docs AS documents
	FROM skipidx_stats('leaf_body');
-- words and values of the columns as keys of the dictionary
SELECT bool_or(value = 'all' OR value ~ '^[nw]\d*$') AS words, bool_or(field = 'first key (hex)') AS values FROM leaf_pages WHERE field LIKE 'first key%';

-- What there is not
\set VERBOSITY terse
SELECT * FROM skipidx_page('leaf_body', -1);
SELECT * FROM skipidx_page('leaf_body', 4294967296);
\set VERBOSITY default
SELECT count(*) FROM skipidx_page('leaf_body', NULL);
DROP TABLE leaf CASCADE;
