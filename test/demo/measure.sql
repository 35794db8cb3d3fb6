-- Build both indexes, then run every query through each of them in turn.
SET client_min_messages = warning;
SET enable_seqscan = off;

CHECKPOINT;
SELECT clock_timestamp() AS began \gset
CREATE INDEX docs_gin ON docs USING gin (tsv);
INSERT INTO demo_index SELECT 'gin', 'gin',
	extract(epoch FROM clock_timestamp() - :'began'::timestamptz),
	pg_relation_size('docs_gin');

CHECKPOINT;
SELECT clock_timestamp() AS began \gset
CREATE INDEX docs_idx ON docs USING :am (tsv);
INSERT INTO demo_index SELECT 'skipidx', :'am',
	extract(epoch FROM clock_timestamp() - :'began'::timestamptz),
	pg_relation_size('docs_idx');
VACUUM docs;

-- Three turns each, so that what else the machine does falls on both.
DO $$
DECLARE
	q demo_query;
	r demo_run;
BEGIN
	FOR q IN SELECT * FROM demo_query ORDER BY no LOOP
		FOR turn IN 1..3 LOOP
			r := demo_alone(q, 'gin', 'docs_gin', 'docs_idx');
			INSERT INTO demo_run SELECT r.*;
			r := demo_alone(q, 'skipidx', 'docs_idx', 'docs_gin');
			INSERT INTO demo_run SELECT r.*;
		END LOOP;
	END LOOP;
END $$;
