--
-- What testing @@ on rows is charged: by the width of the values, in each kind
-- of scan that does so; and what is chosen then
--
-- Holds: plan 21
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- Wide values of 1,000 bytes in the row; narrow ones; and such as are kept elsewhere
CREATE TABLE tested (id int, day int, v tsvector, narrow tsvector, away tsvector) WITH (autovacuum_enabled = off);
ALTER TABLE tested ALTER v SET STORAGE PLAIN, ALTER away SET STORAGE EXTERNAL;
INSERT INTO tested SELECT i, i, array_to_tsvector(array_agg('word' || i % 7 + j)) || ('of' || i % 25)::tsvector, ('w' || i % 25)::tsvector,
	array_to_tsvector(array_agg('word' || i % 7 + j * 3)) || array_to_tsvector(array_agg('more' || j))
FROM generate_series(1, 10000) i, generate_series(1, 90) j GROUP BY i ORDER BY i;
CREATE INDEX tested_day ON tested (day);
CREATE INDEX tested_v ON tested USING skipidx (v, day);
CREATE INDEX tested_narrow ON tested USING skipidx (narrow);
CREATE INDEX tested_away ON tested USING skipidx (away);
VACUUM ANALYZE tested;

CREATE FUNCTION cost_of(statement text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Total Cost')::numeric;
END $$;
CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE sql AS
	$$ SELECT cost_of('SELECT id FROM tested WHERE ' || query) $$;
-- What is charged, in units of cpu_operator_cost: beside a condition that costs as much, for the server
CREATE FUNCTION charged(query text, but text DEFAULT NULL) RETURNS numeric LANGUAGE sql AS
	$$ SELECT round((cost(query) - cost(coalesce(but, replace(query, '@@', '@!')))) / .0025 / 10000) $$;
CREATE FUNCTION other(tsvector, tsquery) RETURNS bool IMMUTABLE STRICT LANGUAGE internal AS 'ts_match_vq' COST 1 PARALLEL SAFE;
CREATE OPERATOR @! (FUNCTION = other, LEFTARG = tsvector, RIGHTARG = tsquery);

-- A sequential scan, as no index answers a negation
SELECT charged($$NOT v @@ 'of1:ABCD'$$) BETWEEN 60 AND 70 AS wide, charged($$NOT narrow @@ 'w1:ABCD'$$) BETWEEN 0 AND 3 AS narrow,
	charged($$NOT away @@ 'word9:ABCD'$$) > 3 * charged($$NOT v @@ 'of1:ABCD'$$) AS elsewhere;
-- a document that is parsed for the test, by its words, also where its distance is computed
CREATE TABLE written AS SELECT id, repeat('word', 1 + id % 2) || ' of many texts ' || id || ' another word' AS t FROM tested;
CREATE INDEX written_t ON written USING skipidx (to_tsvector('simple', t));
VACUUM ANALYZE written;
SELECT (cost_of($$SELECT FROM written WHERE NOT to_tsvector('simple', t) @@ 'of:ABCD'$$) - cost_of($$SELECT FROM written WHERE NOT to_tsvector('simple', t) @! 'of:ABCD'$$)) / .0025 / 10000
	BETWEEN 7 * 120 AND 7 * 180 AS match,
	(cost_of($$SELECT to_tsvector('simple', t) <@> 'of'::tsquery FROM written$$) - cost_of($$SELECT to_tsvector('simple', t) FROM written$$)) / .0025 / 10000
	BETWEEN 7 * 120 AND 7 * 180 + 100 AS distance;
DROP TABLE written;
-- each of them, commuted, and of an array; not a column without an index
CREATE TABLE plain AS SELECT * FROM tested;
SELECT charged($$NOT (v @@ 'of1:ABCD' AND v @@ 'of2:ABCD')$$) / charged($$NOT v @@ 'of1:ABCD'$$) BETWEEN 1.9 AND 2.1 AS two,
	charged($$NOT tsquery 'of1:ABCD' @@ v$$, $$NOT v @! 'of1:ABCD'$$) = charged($$NOT v @@ 'of1:ABCD'$$) AS commuted,
	charged($$NOT v @@ ANY ('{of1:ABCD,of2:ABCD | of3:ABCD}'::tsquery[])$$, $$NOT v @! ANY ('{of1:ABCD,of2:ABCD | of3:ABCD}'::tsquery[])$$) = charged($$NOT v @@ 'of1:ABCD | of2:ABCD | of3:ABCD'$$) AS array,
	charged($$NOT v || '' @@ 'of1:ABCD'$$) = 0 AS computed, charged($$EXISTS (SELECT FROM plain WHERE NOT v @@ 'of1:ABCD')$$) = 0 AS no_index;
-- of the rows that a condition before it leaves; by the order in which they are tested
SELECT charged($$id < 1001 AND NOT v @@ 'of1:ABCD'$$) BETWEEN 5 AND 8 AS after, charged($$NOT v @@ 'of1:ABCD' AND id < 1001$$) > 40 AS before,
	charged($$NOT v @@ 'of1:ABCD' AND id % 10 = 0 AND repeat('a', id) < 'aa'$$) > 40 AS before_all,
	charged($$NOT (v @@ 'of1:ABCD' AND v @@ 'of2:ABCD') AND id < 1001$$) BETWEEN 10 AND 16 AS after_cheaper;
-- of the rows that another index finds, and by a bitmap for its entries
SELECT charged($$day < 1001 AND NOT v @@ 'of1:ABCD'$$) BETWEEN 5 AND 8 AS by_index;
SET enable_indexscan = off;
SELECT charged($$day < 1001 AND NOT v @@ 'of1:ABCD'$$) BETWEEN 6 AND 12 AS by_bitmap;
-- of a bitmap that knows no more than the pages of some rows: more than where the same rows are by a narrow value
SET enable_seqscan = off;
CREATE TABLE exact AS SELECT cost($$v @@ 'of1 | !of2'$$) AS wide, cost($$narrow @@ 'w1 | !w2'$$) AS narrow;
SET work_mem = '64kB';
SELECT cost($$v @@ 'of1 | !of2'$$) - wide > cost($$narrow @@ 'w1 | !w2'$$) - narrow + 50 AS lossy FROM exact;
RESET work_mem;
-- by bitmaps of a disjunction: nothing where they answer it, as for a narrow value, arms of several conditions, within
-- each other, and of one column; for its rows where they answer a part of an arm, and for another disjunction beside it
CREATE INDEX tested_id ON tested (id);
CREATE FUNCTION wider(query text) RETURNS numeric LANGUAGE sql AS $$ SELECT charged(query, replace(query, 'v @@ ''of', 'narrow @@ ''w')) $$;
SELECT wider($$v @@ 'of1' OR id > 9000$$) AS arms, wider($$v @@ 'of1' AND id < 7000 OR id > 9000$$) AS conditions,
	wider($$(v @@ 'of1' OR day < 500) AND id < 4000 OR id > 9000$$) AS within,
	wider($$id > 9000 OR v @@ 'of1' OR id = 7 OR v @@ 'of2' OR id = 5$$) AS of_a_column,
	wider($$v @@ 'of1' AND id % 2 = 0 OR id > 9000$$) BETWEEN 8 AND 10 AS in_part,
	wider($$id > 9000 OR v @@ 'of1' AND id % 2 = 0$$) BETWEEN 8 AND 10 AS in_part_last,
	charged($$(day < 3000 OR id > 8000) AND (NOT v @@ 'of1:ABCD' OR day = 5)$$) = charged($$(day < 3000 OR id > 8000) AND NOT v @@ 'of1:ABCD'$$) AS another;
DROP INDEX tested_id;
RESET enable_indexscan;
RESET enable_seqscan;

-- by several processes, two workers and a share of the leader
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT charged($$NOT v @@ 'of1:ABCD'$$) * 2.4 BETWEEN 60 AND 70 AS several;
SET parallel_leader_participation = off;
SELECT charged($$NOT v @@ 'of1:ABCD'$$) * 2 BETWEEN 60 AND 70 AS workers_alone;
SET max_parallel_workers_per_gather = 0;
SELECT charged($$NOT v @@ 'of1:ABCD'$$) BETWEEN 60 AND 70 AS one;
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- What is chosen: the index, also where another one or the table had seemed to cost less.
CREATE FUNCTION scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(coalesce(node ->> 'Index Name', node ->> 'Node Type'), ', ')
		FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Index Name") || @."Node Type" == "Seq Scan")') node);
END $$;
SELECT scans($$SELECT id FROM tested WHERE v @@ 'of1' AND day < 300$$) AS range, scans($$SELECT id FROM tested WHERE v @@ 'of1'$$) AS word,
	scans($$SELECT id FROM tested WHERE v @@ 'of1 | of2 | of3 | of4 | of5 | of6' OR day = 7$$) AS either, scans($$SELECT id FROM tested WHERE narrow @@ 'w1'$$) AS narrow,
	scans($$SELECT id FROM tested WHERE narrow @@ 'w1' AND day < 300$$) AS narrow_range,
	scans($$SELECT id FROM tested WHERE v @@ 'of1' ORDER BY day LIMIT 10$$) AS ordered;
SET skipidx.enable_custom_scan = off;
SELECT scans($$SELECT id FROM tested WHERE v @@ 'of1' AND day < 300$$) AS range,
	scans($$SELECT t.id FROM plain p, tested t WHERE t.v @@ 'of1' AND t.day = p.day AND p.id < 10$$) AS joined,
	scans($$SELECT t.id FROM plain p, tested t WHERE t.v @@ (p.id % 5)::text::tsquery AND t.day < 100 AND p.id < 10$$) IS NOT NULL AS by_the_other;
RESET skipidx.enable_custom_scan;
-- Under row security the condition waits, and no index answers it.
CREATE ROLE regress_skipidx_reader;
GRANT SELECT ON tested TO regress_skipidx_reader;
CREATE POLICY positive ON tested USING (id > 0);
ALTER TABLE tested ENABLE ROW LEVEL SECURITY;
SET ROLE regress_skipidx_reader;
SELECT charged($$NOT v @@ 'of1:ABCD'$$) AS row_security;
RESET ROLE;
DROP OWNED BY regress_skipidx_reader;
DROP ROLE regress_skipidx_reader;
DROP TABLE tested, plain, exact;
DROP OPERATOR @! (tsvector, tsquery);
DROP FUNCTION other, cost, cost_of, charged, wider, scans;
