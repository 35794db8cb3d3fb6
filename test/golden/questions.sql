-- Every kind of question of a golden data directory: what this prints is what
-- make.sh has kept, whatever build asks.  An index answers where it can.
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;

CREATE TEMP TABLE asked (q tsquery);
INSERT INTO asked VALUES ('w1'), ('w0 & w2'), ('w5 | w9'), ('w1 <-> w0'), ('w2 <3> w1'), ('w3:*'), ('w1:A'), ('w0:A & w1:C'), ('!w0'),
	('w4 & !w1'), ('(w7 | w8) & !(w1 <-> w2)'), ('u77'), ('bare'), ('none'), ('all & w20:*');
\echo -- matches
SELECT q, (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ q) FROM asked ORDER BY q::text COLLATE "C";
\echo -- by bitmap
SET enable_indexscan = off;
SELECT q, (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ q) FROM asked ORDER BY q::text COLLATE "C";
RESET enable_indexscan;
\echo -- ranked
SET enable_bitmapscan = off;
SELECT id, round((v <@> 'w1 | w5'::tsquery)::numeric, 4) FROM docs ORDER BY v <@> 'w1 | w5'::tsquery LIMIT 15;
SELECT id, round((v <@> 'w0 & w2'::tsquery)::numeric, 4) FROM docs WHERE v @@ 'w0 & w2' ORDER BY v <@> 'w0 & w2'::tsquery LIMIT 15;
SELECT id FROM docs WHERE v @@ 'w3' AND tenant = 4 ORDER BY v <@> 'w3 | w4 | w5'::tsquery LIMIT 10;
\echo -- words
SELECT id FROM docs WHERE body @@@ '"write ahead log" -w5' ORDER BY id LIMIT 10;
SELECT id FROM docs ORDER BY body <@> 'ahead number77' LIMIT 10;
\echo -- ordered
SELECT id FROM docs WHERE v @@ 'w2' ORDER BY sent DESC LIMIT 10;
SELECT id FROM docs WHERE v @@ 'w2' AND price BETWEEN 10 AND 30 ORDER BY price, id LIMIT 10;
SELECT id FROM docs WHERE v @@ 'w0' ORDER BY day DESC NULLS LAST, id LIMIT 10;
RESET enable_bitmapscan;
\echo -- columns
SELECT count(*), sum(id) FROM docs WHERE v @@ 'w1' AND tags && '{t3}';
SELECT count(*), sum(id) FROM docs WHERE v @@ 'all' AND tags @> '{t1,t8}';
SELECT count(*), sum(id) FROM docs WHERE v @@ 'w1' AND name = 'name C28';
SELECT count(*), sum(id) FROM docs WHERE v @@ 'all' AND feeling = 'lost' AND shown;
SELECT count(*), sum(id) FROM docs WHERE v @@ 'all' AND tenant IS NULL;
SELECT count(*), sum(id) FROM docs WHERE v @@ 'w2' AND tenant < 3;
SELECT count(*), sum(id) FROM docs WHERE v @@ 'w1' AND sent >= '2021-01-01' AND sent < '2021-06-01';
SELECT tenant, count(*), sum(price) FROM docs WHERE v @@ 'w1' GROUP BY tenant ORDER BY tenant;
SELECT count(*) FROM docs WHERE v IS NULL;
\echo -- functions
SELECT skipidx_count('docs_columns', 'w1 | w2');
SELECT * FROM skipidx_facets('docs_columns', 'w1', 'tags') ORDER BY count DESC, value COLLATE "C";
SELECT * FROM skipidx_histogram('docs_columns', 'w1', 'price', '{0,20,40,60}'::numeric[]);
SELECT id, round(score::numeric, 4) FROM skipidx_search('docs_columns', 'w1 | w5', 10) s JOIN docs ON docs.ctid = s.ctid ORDER BY score DESC, s.ctid;
SELECT count(*) FROM skipidx_scroll('docs_plain', 'w4 | w5', max_rows => 100000);
SELECT * FROM skipidx_terms('docs_plain', 'w2') ORDER BY term COLLATE "C";
SELECT part, word, df, tf, length, round(score::numeric, 4) FROM skipidx_explain_score('docs_plain', (SELECT ctid FROM docs WHERE id = 3100), 'w1 | w5');
SELECT count(*), sum(id) FROM fleeting WHERE v @@ 'w1 | u450';
