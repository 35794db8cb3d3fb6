-- Every boolean query through each of the two indexes in turn.
SET client_min_messages = warning;
SET enable_seqscan = off;

-- Turn by turn, so that what else the machine does falls on both.
DO $$
DECLARE
	q demo_query;
	r demo_run;
BEGIN
	FOR q IN SELECT * FROM demo_query ORDER BY no LOOP
		FOR turn IN 1..2 LOOP
			r := demo_alone(q.no, 'gin', demo_rows(q.query), demo_count(q.query),
				'docs_gin', 'docs_idx');
			INSERT INTO demo_run SELECT r.*;
			r := demo_alone(q.no, 'skipidx', demo_rows(q.query), demo_count(q.query),
				'docs_idx', 'docs_gin');
			INSERT INTO demo_run SELECT r.*;
		END LOOP;
	END LOOP;
END $$;
