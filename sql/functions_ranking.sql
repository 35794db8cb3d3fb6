--
-- Rankings as values: made of an index, written and read, added, and used in
-- place of a query and an index
--
-- Holds: functions 15, 16; score 8, 10; ranking 6
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
RESET client_min_messages;

CREATE TABLE ranked (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO ranked SELECT i, (concat_ws(' ', 'all:1', CASE WHEN i % 2 = 0 THEN 'cat:2A,9' END, CASE WHEN i % 3 = 0 THEN 'dog:3' END,
	CASE WHEN i % 10 = 0 THEN 'cattle:4' END, CASE WHEN i % 50 = 7 THEN 'zebra:5B' END, 'f' || i % 9 || ':' || 20 + i % 5))::tsvector
	FROM generate_series(1, 300) i;
CREATE INDEX ranked_v ON ranked USING skipidx (v);
INSERT INTO ranked SELECT i, 'cat:1 dog:2' FROM generate_series(301, 310) i;
INSERT INTO ranked VALUES (400, NULL), (401, ''), (402, 'nothing');

--
-- What it is
--
SELECT skipidx_ranking('ranked_v', 'cat & dog | zebra');
SELECT skipidx_ranking('ranked_v', 'cat & !dog & cat:AB & ca:* & zeb:* & none:* & dogs');
SELECT skipidx_ranking('ranked_v', 'cat:A & cat:B & (dog <-> cat)');
SELECT skipidx_ranking('ranked_v', '');
SELECT skipidx_ranking('ranked_v', $$'it''s' | 'back\\slash'$$);
SELECT skipidx_ranking(NULL, 'cat'), skipidx_ranking('ranked_v', NULL);
ALTER INDEX ranked_v SET (k1 = 0.9, b = 0, proximity = 0, weights = '{0.1, 0.2, 0.4, 1}');
SELECT skipidx_ranking('ranked_v', 'cat & dog');
ALTER INDEX ranked_v RESET (k1, b, proximity, weights);
SELECT provolatile, proparallel FROM pg_proc WHERE oid = 'skx_distance(tsvector, skipidx_ranking)'::regprocedure;
SELECT typname, opcname FROM pg_type JOIN pg_opclass ON opcintype = pg_type.oid WHERE typname = 'skipidx_ranking';

--
-- It is read as it is written
--
CREATE TABLE kept (n serial, r skipidx_ranking);
INSERT INTO kept (r) SELECT skipidx_ranking('ranked_v', q::tsquery) FROM unnest('{cat & dog,cat:A & ca:* | zeb:* | cat,all | f1 | f2,"",nothing}'::text[]) q;
SELECT n, r::text::skipidx_ranking::text = r::text AS same FROM kept ORDER BY n;
CREATE TEMP TABLE copied (n int, r skipidx_ranking);
\copy (SELECT n, r FROM kept) TO PROGRAM 'cat > skipidx_ranking.copy' WITH (FORMAT binary)
\copy copied FROM PROGRAM 'cat skipidx_ranking.copy; rm skipidx_ranking.copy' WITH (FORMAT binary)
SELECT count(*), bool_and(k.r::text = c.r::text) AS same FROM kept k JOIN copied c USING (n);
SELECT skx_ranking_send(skipidx_ranking('ranked_v', 'cat & dog'));
SELECT 'documents=7 length=70 ''b'':*(df=4) ''a''(df=2) near(''a'',''c'') ''c''(df=1)'::skipidx_ranking;
-- refused
SELECT ''::skipidx_ranking;
SELECT 'documents=1 length=1 ''a''(df=2)'::skipidx_ranking;
SELECT 'documents=1 length=1 ''a''(df=1) ''a'':A(df=1)'::skipidx_ranking;
SELECT 'documents=1 length=1 k1=101'::skipidx_ranking;
SELECT 'documents=1 length=1 ''a(df=1)'::skipidx_ranking;
\set VERBOSITY terse
SELECT ('documents=1 length=1 ' || string_agg(format('''%s''(df=1)', repeat('x', i)), ' '))::skipidx_ranking IS NULL FROM generate_series(1, 200) i;
SELECT skipidx_ranking('ranked_v', string_agg('x' || i, '|')::tsquery) IS NULL FROM generate_series(1, 8000) i;
\set VERBOSITY default
SELECT count(*) FROM unnest(string_to_array(skipidx_ranking('ranked_v', (SELECT string_agg('x' || i, '|')::tsquery FROM generate_series(1, 2000) i))::text, '(df=')) w;

--
-- Sums
--
CREATE TABLE halves (id int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE halves_0 PARTITION OF halves FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE halves_1 PARTITION OF halves FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO halves SELECT * FROM ranked;
CREATE INDEX halves_v ON halves USING skipidx (v);
CREATE FUNCTION summed(q tsquery) RETURNS bool LANGUAGE sql AS $$
	SELECT (skipidx_ranking('halves_0_v_idx', q) + skipidx_ranking('halves_1_v_idx', q))::text = skipidx_ranking('halves_v', q)::text
		AND (SELECT sum(skipidx_ranking(i, q))::text FROM unnest('{halves_0_v_idx,halves_1_v_idx}'::regclass[]) i) = skipidx_ranking('halves_v', q)::text
		AND skipidx_ranking('halves_v', q)::text = skipidx_ranking('ranked_v', q)::text $$;
SELECT q, summed(q::tsquery) FROM unnest('{cat & dog,ca:* | zeb:* | cat,all & f1 & f2,none:*,f:*}'::text[]) q;
SELECT sum(r) FROM kept WHERE false;
SELECT 'documents=2 length=3 ''a'':*(df=1,only=''ab'')'::skipidx_ranking + 'documents=1 length=1 ''a'':*(df=1,whole=1,only=''a'')';
SELECT 'documents=2 length=3 ''a'':*(df=1,only=''ab'')'::skipidx_ranking + 'documents=1 length=1 ''a'':*(df=0)';
SELECT 'documents=2 length=3 ''a''(df=1)'::skipidx_ranking + 'documents=2 length=3 ''b''(df=1)';
SELECT 'documents=2 length=3 ''a''(df=1)'::skipidx_ranking + 'documents=2 length=3 ''a''(df=1,times=2)';
SELECT 'documents=2 length=3 ''a''(df=1)'::skipidx_ranking + 'documents=2 length=3 ''a''(df=1,factor=2)';
SELECT 'documents=2 length=3 k1=1'::skipidx_ranking + 'documents=2 length=3 k1=2';
SELECT 'documents=281474976710655 length=3'::skipidx_ranking + 'documents=1 length=3';

--
-- Distances: those of the query and the index, with and without an index
--
SELECT r.q, count(*), bool_and((v <@> skipidx_ranking('ranked_v', r.q)) IS NOT DISTINCT FROM (v <@> skipidx_query(r.q, 'ranked_v'))) AS same
FROM ranked, unnest('{cat & dog,cat:A | ca:* | !all,"",none}'::tsquery[]) r (q) GROUP BY 1 ORDER BY 1;
SELECT v <@> skipidx_ranking('ranked_v', 'cat'), v <@> NULL::skipidx_ranking, v <@> skipidx_ranking('ranked_v', '') FROM ranked WHERE id IN (6, 400) ORDER BY id;
SELECT 'cat:1 dog:2'::tsvector <@> 'documents=10 length=100 ''cat''(df=3) ''dog''(df=2,factor=2) near(''cat'',''dog'')'::skipidx_ranking;
SELECT 'a:1'::tsvector <@> 'documents=10 length=100 ''a''(df=3,factor=0)'::skipidx_ranking < 0 AS above_none;
SELECT skipidx_bm25(v, r) + skipidx_proximity(v, r) AS parts, -(v <@> r) AS whole, skipidx_proximity(v, r) > 0 AS near
FROM skipidx_ranking('ranked_v', 'cat & dog') r, ranked WHERE id = 301;
SELECT * FROM skipidx_explain_score('cat:1,5 dog:2', 'documents=10 length=100 ''cat''(df=3,times=2) ''do'':*(df=4,whole=1) ''eel''(df=0)');
SELECT count(*) FROM (SELECT * FROM ranked, skipidx_explain_score('ranked_v', ranked.ctid, 'cat & dog & ca:*') EXCEPT
	SELECT ranked.*, e.* FROM ranked, skipidx_explain_score(v, skipidx_ranking('ranked_v', 'cat & dog & ca:*')) e WHERE v IS NOT NULL) e WHERE v IS NOT NULL;

--
-- Words that count as one
--
SELECT skipidx_ranking_of_groups('ranked_v', 'cat & dog:A & !zebra & cat', '{"cat": {"cattle": 0.5, "zebra": 1}, "dog": ["cattle"]}');
SELECT ' near(2,''f1'') group( ''b''(df=1,exact) , ''a''(factor=0.5,df=2))'::skipidx_ranking;
SELECT 'documents=9 length=9 near(2,''f1'') group( ''b''(df=1,exact), ''a''(factor=0.5,df=2)) ''f1''(df=3) group(times=2,factor=1.5,''a''(df=2))'::skipidx_ranking;
SELECT 'documents=2 length=3 group(''a''(df=1))'::skipidx_ranking + 'documents=1 length=1 group(''a''(df=1))';
SELECT 'documents=2 length=3 group(''a''(df=1))'::skipidx_ranking + 'documents=1 length=1 group(''a''(df=1,exact))';
SELECT 'documents=2 length=3 group(''a'':*(df=1))'::skipidx_ranking;
SELECT skx_ranking_send('documents=2 length=3 ''a''(df=1) group(''a''(df=1,exact))');
SELECT * FROM skipidx_explain_score('cat:1 cats:2,3,4,5 dog:6', 'documents=10 length=100 group(''cat''(df=3,exact),''cats''(df=5,factor=0.5),''cot''(df=1)) group(times=2,''cats''(df=5)) ''dog''(df=2) near(1,''dog'')');
SELECT skipidx_bm25(v, r) + skipidx_proximity(v, r) AS parts, -(v <@> r) AS whole FROM skipidx_ranking_of_groups('ranked_v', 'cat & dog', '{"cat": ["cattle"]}') r, ranked WHERE id IN (301, 6, 30) ORDER BY id;
INSERT INTO kept (r) VALUES (skipidx_ranking_of_groups('ranked_v', 'cat | dog', '{"cat": {"cattle": 0.5, "f1": 0.1}, "dog": {"cat": 0.7, "f1": 1}}')),
	(skipidx_ranking_of_groups('ranked_v', 'all & f1 & cat', '{"all": {"f2": 0.5}, "f1": ["f2", "dog"]}'));
TRUNCATE copied;
\copy (SELECT n, r FROM kept) TO PROGRAM 'cat > skipidx_ranking.copy' WITH (FORMAT binary)
\copy copied FROM PROGRAM 'cat skipidx_ranking.copy; rm skipidx_ranking.copy' WITH (FORMAT binary)
SELECT count(*), bool_and(k.r::text = c.r::text AND k.r::text = k.r::text::skipidx_ranking::text) AS same FROM kept k JOIN copied c USING (n);
-- each call of a prepared statement has its own groups
PREPARE grouped (jsonb) AS SELECT count(DISTINCT r::text), min(r::text) LIKE '%factor=0.5%' AS half FROM generate_series(1, 3) i, LATERAL (SELECT skipidx_ranking_of_groups('ranked_v', 'cat', $1) AS r WHERE i > 0) x;
EXECUTE grouped ('{"cat": {"dog": 0.5}}');
EXECUTE grouped ('{"cat": {"dog": 0.6}}');

--
-- By the index: the rows and bits of the sort
--
CREATE FUNCTION by_index(r skipidx_ranking, k int) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN RETURN (SELECT string_agg(id || ' ' || coalesce(d::text, '-'), ',') FROM (SELECT id, v <@> r AS d FROM ranked ORDER BY v <@> r LIMIT k) x); END $$;
CREATE FUNCTION by_sort(r skipidx_ranking, k int) RETURNS text LANGUAGE plpgsql SET enable_indexscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN RETURN (SELECT string_agg(id || ' ' || coalesce(d::text, '-'), ',') FROM (SELECT id, v <@> r AS d FROM ranked ORDER BY v <@> r, ctid LIMIT k) x); END $$;
SELECT n, k, by_index(r, k) = by_sort(r, k) AS same FROM kept, unnest('{1,20,NULL}'::int[]) k ORDER BY n, k;
SELECT by_index(NULL, 3) IS NOT NULL AS rows;
SET enable_seqscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM ranked ORDER BY v <@> 'documents=10 length=100 ''cat''(df=3)'::skipidx_ranking LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM ranked WHERE v @@ 'dog' ORDER BY v <@> skipidx_ranking('ranked_v', 'dog') LIMIT 3;
SELECT id, v <@> r AS d FROM ranked, (SELECT skipidx_ranking('ranked_v', 'cat | zebra') OFFSET 0) x (r) WHERE v @@ 'zebra' ORDER BY v <@> r, id LIMIT 3;
-- two of them, and one of each kind
SELECT id FROM ranked ORDER BY v <@> 'documents=10 length=100 ''dog''(df=3)'::skipidx_ranking, v <@> 'documents=10 length=100 ''zebra''(df=3)'::skipidx_ranking, id LIMIT 3;
SELECT id FROM ranked ORDER BY v <@> 'dog', v <@> 'documents=10 length=100 ''zebra''(df=3)'::skipidx_ranking, id LIMIT 3;
-- a bound
SELECT count(*) FROM ranked WHERE v <@> 'documents=300 length=900 ''dog''(df=100)'::skipidx_ranking < 0;
EXPLAIN (COSTS OFF) SELECT id FROM ranked WHERE v <@> 'documents=300 length=900 ''zebra''(df=6)'::skipidx_ranking < -1 ORDER BY v <@> 'documents=300 length=900 ''zebra''(df=6)'::skipidx_ranking;
SELECT id FROM ranked WHERE v <@> 'documents=300 length=900 ''zebra''(df=6)'::skipidx_ranking < -1 ORDER BY v <@> 'documents=300 length=900 ''zebra''(df=6)'::skipidx_ranking;
RESET enable_seqscan;
RESET enable_sort;
-- what has no type is a query still
PREPARE untyped AS SELECT id FROM ranked ORDER BY v <@> $1 LIMIT 1;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
SELECT id FROM ranked ORDER BY v <@> 'zebra & cat' LIMIT 1;
-- in an index and a generated column, since it depends on nothing else
CREATE TABLE stored (v tsvector, d float4 GENERATED ALWAYS AS (v <@> 'documents=10 length=100 ''cat''(df=3)'::skipidx_ranking) STORED);
INSERT INTO stored VALUES ('cat:1 dog:2'), ('dog');
SELECT d FROM stored ORDER BY d;

--
-- skipidx_search()
--
CREATE FUNCTION paged(r skipidx_ranking) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	after bytea; one record; rows text[]; n int := 1;
BEGIN
	WHILE n > 0 LOOP
		n := 0;
		FOR one IN SELECT * FROM skipidx_search('ranked_v', 'all', 37, after => after, ranking => r) LOOP
			n := n + 1; after := one.token; rows := rows || (one.ctid || ' ' || one.score);
		END LOOP;
	END LOOP;
	RETURN array_to_string(rows, ',');
END $$;
SELECT n, paged(r) = (SELECT string_agg(ctid || ' ' || CASE d WHEN 0 THEN 0 ELSE -d END, ',') FROM (SELECT ctid, v <@> r AS d FROM ranked WHERE v @@ 'all' ORDER BY v <@> r, ctid) x) AS same FROM kept ORDER BY n;
SELECT * FROM skipidx_search('ranked_v', 'all', 1, 'cat', ranking => 'documents=10 length=100');
SELECT count(*) FROM skipidx_search('ranked_v', 'all', 1, after => (SELECT token FROM skipidx_search('ranked_v', 'all', 1, ranking => 'documents=10 length=100')));
-- a token has its own ranking: storage parameters do not matter
CREATE TABLE token AS SELECT token, ordinality FROM skipidx_search('ranked_v', 'cat', 5) WITH ORDINALITY;
CREATE TABLE rest AS SELECT s.ctid AS tid, s.score FROM skipidx_search('ranked_v', 'cat', NULL, after => (SELECT token FROM token WHERE ordinality = 5)) s;
ALTER INDEX ranked_v SET (k1 = 3, weights = '{1, 1, 1, 9}');
SELECT count(*), count(*) FILTER (WHERE a.tid = b.ctid AND a.score = b.score) AS same
FROM (SELECT row_number() OVER () n, * FROM rest) a FULL JOIN (SELECT row_number() OVER () n, * FROM skipidx_search('ranked_v', 'cat', NULL, after => (SELECT token FROM token WHERE ordinality = 5))) b USING (n);

DROP TABLE ranked, kept, copied, halves, stored, token, rest;
DROP FUNCTION summed, by_index, by_sort, paged;
