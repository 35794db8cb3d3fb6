-- New rows are found at once, deleted ones leave the index with VACUUM (which
-- would pass the index over for a single row if it were not told to look).
SET client_min_messages = warning;
SET enable_seqscan = off;
\pset footer off
\set ECHO queries
INSERT INTO docs (id, title, body)
	VALUES ('new', 'quokka', 'A small marsupial that was not there before');
SELECT id, title FROM docs WHERE tsv @@ 'quokka:A & marsupi';
DELETE FROM docs WHERE id = 'new';
VACUUM (INDEX_CLEANUP ON) docs;
SELECT count(*) FROM docs WHERE tsv @@ 'quokka';
\x on
SELECT * FROM skipidx_stats('docs_idx');
\x off
SELECT kind, segment, level, ndocs, deleted, pages, bytes, waiting_for
	FROM skipidx_segments('docs_idx');
