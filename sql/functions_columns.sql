--
-- Names of columns that are not beside the text: what is said works.
--
-- Holds: none
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE docs (id int, tsv tsvector, other tsvector, tags text[], kind text, props jsonb, list jsonb[], place point);
INSERT INTO docs VALUES (1, 'a b', 'c', '{x}', 'k', '{}', '{}', '(1,2)');
CREATE INDEX docs_idx ON docs USING skipidx (tsv, tags);
SELECT skipidx_facets('docs_idx', 'a', 'tsv');
SELECT term, df FROM skipidx_terms('docs_idx');
SELECT skipidx_facets('docs_idx', 'a', 'kind');
CREATE INDEX docs_kind ON docs USING skipidx (tsv, kind);
SELECT * FROM skipidx_facets('docs_kind', 'a', 'kind');
SELECT skipidx_facets('docs_idx', 'a', 'nosuch');
-- of these no index can be made
SELECT skipidx_facets('docs_idx', 'a', 'other');
SELECT skipidx_facets('docs_idx', 'a', 'props');
SELECT skipidx_facets('docs_idx', 'a', 'list');
SELECT skipidx_histogram('docs_idx', 'a', 'place', '{1}'::int[]);
SELECT skipidx_slices('docs_idx', 'tsv', 2);
-- an expression
CREATE INDEX docs_words ON docs USING skipidx (to_tsvector('simple', kind), tags);
SELECT skipidx_facets('docs_words', 'a', 'to_tsvector');
SELECT skipidx_facets('docs_words', 'a', 'kind');
DROP TABLE docs;
