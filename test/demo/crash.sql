-- After the crash: each acknowledged row is found by the index, once.
SET client_min_messages = warning;
SET enable_seqscan = off;
\pset footer off
SELECT count(*) AS acknowledged, sum(found) AS "found by the index",
	count(*) FILTER (WHERE found <> 1) AS lost
FROM acknowledged a,
	LATERAL (SELECT count(*) AS found FROM docs WHERE tsv @@ a.id::tsquery) f;
SELECT bool_and(found = 1) AS kept FROM acknowledged a,
	LATERAL (SELECT count(*) AS found FROM docs WHERE tsv @@ a.id::tsquery) f \gset
\if :kept
\else
SELECT 1 / 0 AS "a row was lost";
\endif
\echo 'The whole index, and every row of the table in it (no error: sound):'
SELECT skipidx_check('docs_idx', true);
