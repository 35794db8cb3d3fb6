-- Build one index, run every query through it, keep what came, drop it.
SET client_min_messages = warning;
SET enable_seqscan = off;
CHECKPOINT;
SELECT clock_timestamp() AS began \gset
CREATE INDEX docs_idx ON docs USING :method (tsv);
INSERT INTO demo_index
	SELECT :'slot', :'method',
		round(extract(epoch FROM clock_timestamp() - :'began'::timestamptz), 2),
		pg_relation_size('docs_idx');
VACUUM docs;

INSERT INTO demo_run
SELECT :'slot', no, hits, answer, demo_median_ms(t.sql),
	demo_plan(t.sql)
FROM demo_query q,
	LATERAL (SELECT format('SELECT count(*) FROM docs WHERE tsv @@ %L::tsquery',
		q.query) AS sql) t,
	LATERAL (SELECT count(*) AS hits, md5(string_agg(ctid::text, ' ' ORDER BY ctid)) AS answer
		FROM docs WHERE tsv @@ q.query) a
ORDER BY no;
UPDATE demo_run r SET plan = NULL
FROM demo_query q
WHERE q.no = r.no AND r.slot = :'slot' AND
	demo_index_of(format('SELECT count(*) FROM docs WHERE tsv @@ %L::tsquery',
		q.query)) IS DISTINCT FROM 'docs_idx';

\set ECHO none
SELECT :'slot' = 'skipidx' AS keep \gset
\if :keep
\else
DROP INDEX docs_idx;
\endif
