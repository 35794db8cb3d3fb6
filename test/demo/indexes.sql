-- Both indexes, built one after the other with the same settings.
SET client_min_messages = warning;
SET enable_seqscan = off;

CHECKPOINT;
SELECT clock_timestamp() AS began \gset
CREATE INDEX docs_gin ON docs USING gin (tsv);
INSERT INTO demo_index SELECT 'gin',
	extract(epoch FROM clock_timestamp() - :'began'::timestamptz),
	pg_relation_size('docs_gin');

CHECKPOINT;
SELECT clock_timestamp() AS began \gset
CREATE INDEX docs_idx ON docs USING skipidx (tsv);
INSERT INTO demo_index SELECT 'skipidx',
	extract(epoch FROM clock_timestamp() - :'began'::timestamptz),
	pg_relation_size('docs_idx');
VACUUM docs;

\pset border 1
\pset footer off
SELECT slot AS index, round(seconds, 2) AS "build s", pg_size_pretty(bytes) AS size,
	CASE WHEN slot = 'skipidx' THEN 'lexemes, labels, positions'
		ELSE 'lexemes' END AS "holds"
FROM demo_index ORDER BY slot;
