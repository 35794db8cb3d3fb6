--
-- Places in several rankings
--
-- Holds: functions 26
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

SELECT abs(skipidx_rrf(place) - 1 / 61.0 - 1 / 62.0) < 1e-12 AS near, skipidx_rrf(place, 60) = skipidx_rrf(place) AS same, skipidx_rrf(place, 1) FROM (VALUES (1), (2)) v (place);
-- no rows, no place, and a place in one of several rankings
SELECT skipidx_rrf(place) FROM (VALUES (1)) v (place) WHERE false;
SELECT id, skipidx_rrf(place, 1) FROM (VALUES ('a', 1), ('a', NULL), ('b', NULL), ('c', 3)) v (id, place) GROUP BY id ORDER BY 2 DESC, 1;
CREATE TABLE rrf AS SELECT i % 1000 AS id, 1 + (hashint4(i) & 63) AS place FROM generate_series(1, 20000) i;
-- rows with the same places in any order are alike, as sums of floats are not
SELECT count(DISTINCT sum) AS sums, count(DISTINCT float) > 1 AS floats FROM
	(SELECT skipidx_rrf(place ORDER BY hashint8(place * turn)) AS sum, sum(1 / (60 + place)::float8 ORDER BY hashint8(place * turn)) AS float
		FROM generate_series(1, 60) place, generate_series(1, 50) turn GROUP BY turn) s;
-- as computed of each place, a part right to 2^-44
SELECT count(*) AS rows, count(*) FILTER (WHERE abs(found - wanted) > 20 / 2.0 ^ 44) AS wrong FROM
	(SELECT skipidx_rrf(place) AS found, sum(1.0 / (60 + place)) AS wanted FROM rrf GROUP BY id) s;
-- in several processes as in one
CREATE TABLE rrf_one AS SELECT id, skipidx_rrf(place, 10) FROM rrf GROUP BY id;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_hashagg = on;
EXPLAIN (COSTS OFF) SELECT id, skipidx_rrf(place, 10) FROM rrf GROUP BY id;
SELECT count(*) AS rows, count(*) FILTER (WHERE o.skipidx_rrf IS DISTINCT FROM s.skipidx_rrf) AS other FROM rrf_one o
	FULL JOIN (SELECT id, skipidx_rrf(place, 10) FROM rrf GROUP BY id) s USING (id);
-- places and k that are none
\set VERBOSITY sqlstate
SELECT skipidx_rrf(0);
SELECT skipidx_rrf(-1, 60);
SELECT skipidx_rrf(1, 0);
SELECT skipidx_rrf(NULL, -1);
SELECT skipidx_rrf(1, 'NaN');
SELECT skipidx_rrf(1, 'Infinity');
SELECT skipidx_rrf(1, NULL);
SELECT skipidx_rrf(1.5);
SELECT skipidx_rrf(1, 1e-300) = 1 AS least, skipidx_rrf(9223372036854775807, 1e308) AS last;
SELECT skipidx_rrf(1, 1e-9) FROM generate_series(1, 600000);
\set VERBOSITY terse
SELECT skipidx_rrf(0);
SELECT skipidx_rrf(1, 0);
SELECT skipidx_rrf(1, NULL);
SELECT skipidx_rrf(1, 1e-9) FROM generate_series(1, 600000);
DROP TABLE rrf, rrf_one;
