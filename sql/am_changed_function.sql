--
-- A function of the index is changed: the server goes on with the old body where
-- it knows the index, so REINDEX has to come from a new session.
--
-- Holds: none
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE docs (id int, body text);
INSERT INTO docs VALUES (1, 'one');
CREATE FUNCTION words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$ SELECT to_tsvector('simple', $1) $$;
CREATE INDEX docs_idx ON docs USING skipidx (words(body));
SELECT term FROM skipidx_terms('docs_idx');
CREATE OR REPLACE FUNCTION words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$ SELECT to_tsvector('simple', $1 || ' two') $$;
REINDEX INDEX docs_idx;
SELECT term FROM skipidx_terms('docs_idx');
SELECT skipidx_check('docs_idx', true);
\c
REINDEX INDEX docs_idx;
SELECT term FROM skipidx_terms('docs_idx');
SELECT skipidx_check('docs_idx', true);
DROP TABLE docs;
DROP FUNCTION words;
