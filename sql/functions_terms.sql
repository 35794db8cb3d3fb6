--
-- The commonest terms of an index, against ts_stat() of its rows
--
-- Holds: functions 2, 4
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- Words w1..w60, the first ones often, one after the other; some without positions
CREATE FUNCTION terms_document(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN i % 29 = 0 THEN NULL
		WHEN i % 13 = 0 THEN strip(v) || 'bare'
		WHEN i % 17 = 0 THEN ''::tsvector
		WHEN i % 11 = 0 THEN v || 'bare' ELSE v END
	FROM (SELECT string_agg(format('w%s:%s', 1 + (abs(hashint4(i * 100 + p)) % 60) * (abs(hashint4(i * 100 - p)) % 60) / 60, p), ' ')::tsvector
			|| CASE WHEN i % 5 = 0 THEN 'x:1,2 xy:3'::tsvector WHEN i % 2 = 0 THEN 'é:1 été:2 zéro:3'::tsvector ELSE '' END
			|| CASE WHEN i % 2 = 0 THEN 'both:1,2,3'::tsvector ELSE 'both' END AS v
		FROM generate_series(1, 5 + i % 30) p) x
$$;

-- Rows in which the function and ts_stat() differ, by prefix and number; their
-- order is compared, too.
CREATE FUNCTION terms_compare(index regclass, rows text, OUT asked int, OUT given int, OUT wrong int)
LANGUAGE plpgsql AS $$
DECLARE
	p text;
	k int;
BEGIN
	asked := 0; given := 0; wrong := 0;
	CREATE TEMP TABLE truth AS SELECT word, ndoc::int8, nentry::int8 FROM ts_stat(rows);
	FOREACH p IN ARRAY '{"",w,w1,w12,b,both,bo,x,xy,xyz,é,ét,z,nothing,a,~}'::text[] LOOP
		FOREACH k IN ARRAY '{0,1,2,7,64,65,1000}'::int[] LOOP
			asked := asked + 1;
			WITH f AS (SELECT row_number() OVER () AS n, t.* FROM skipidx_terms(index, p, k) t),
			t AS (SELECT * FROM (SELECT row_number() OVER (ORDER BY ndoc DESC, word COLLATE "C") AS n, truth.* FROM truth WHERE starts_with(word, p)) s WHERE s.n <= k)
			SELECT given + count(f), wrong + count(*) FILTER (WHERE (f.n, f.term, f.df, f.tf) IS DISTINCT FROM (t.n, t.word, t.ndoc, t.nentry))
			INTO given, wrong FROM f FULL JOIN t USING (n);
		END LOOP;
	END LOOP;
	DROP TABLE truth;
END $$;

CREATE TABLE terms_docs (id int, tenant int, tags text[], body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX terms_body ON terms_docs USING skipidx (body);
-- with values of many kinds beside the text, which are no terms
CREATE INDEX terms_beside ON terms_docs USING skipidx (body, tenant, tags, id);
SELECT * FROM skipidx_terms('terms_body');
CREATE FUNCTION terms_insert(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO terms_docs SELECT i, i % 7, CASE WHEN i % 3 > 0 THEN ARRAY['tag' || i % 4, 'w1'] END, terms_document(i) FROM generate_series(a, b) i
$$;
-- pending only
SELECT terms_insert(1, 120);
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');
SELECT * FROM terms_compare('terms_beside', 'SELECT body FROM terms_docs');
-- one segment; several; and pending documents beside them
SELECT skipidx_flush('terms_body'), skipidx_flush('terms_beside');
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');
SELECT * FROM terms_compare('terms_beside', 'SELECT body FROM terms_docs');
SELECT terms_insert(121, 130);
INSERT INTO terms_docs VALUES (1000, 7, '{w1}', 'x:1,2,3'), (1001, 8, NULL, NULL), (1002, 8, NULL, 'zz');
SELECT skipidx_flush('terms_body'), skipidx_flush('terms_beside');
SELECT terms_insert(131, 700);
SELECT skipidx_flush('terms_body'), skipidx_flush('terms_beside');
SELECT terms_insert(701, 760);
SELECT kind, ndocs FROM skipidx_segments('terms_body') WHERE ndocs > 0 ORDER BY 1 DESC, 2;
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');
SELECT * FROM terms_compare('terms_beside', 'SELECT body FROM terms_docs');
SELECT * FROM skipidx_terms('terms_beside', 'x');
SELECT * FROM skipidx_terms('terms_body', max_rows => 3);
SELECT term, df FROM skipidx_terms('terms_body', prefix => 'z');
SELECT count(*) FROM skipidx_terms('terms_body');
SELECT count(*) = (SELECT count(*) FROM ts_stat('SELECT body FROM terms_docs')) AS all FROM skipidx_terms('terms_body', max_rows => 2147483647);
-- a segment that has nothing but values
CREATE INDEX terms_values ON terms_docs USING skipidx (body, tenant) WHERE id BETWEEN 29 AND 29;
SELECT * FROM skipidx_terms('terms_values');
-- one with labels
CREATE TABLE terms_labels (v tsvector);
INSERT INTO terms_labels VALUES ('a:1A,2B,3'), ('a:1 b:2C'), ('b');
CREATE INDEX terms_labels_v ON terms_labels USING skipidx (v);
SELECT * FROM skipidx_terms('terms_labels_v');

-- many terms, one leaf after the other, and a prefix of them
CREATE TEMP TABLE terms_many (v tsvector);
CREATE INDEX terms_many_v ON terms_many USING skipidx (v);
INSERT INTO terms_many SELECT array_to_tsvector(array_agg(DISTINCT x)) FROM generate_series(1, 3000) i, LATERAL (SELECT 'word' || i * 7 % 2000 AS x UNION ALL SELECT 'wall' || i % 10) y GROUP BY i % 100;
SELECT skipidx_flush('terms_many_v');
INSERT INTO terms_many SELECT array_to_tsvector(ARRAY['word' || i, 'wall']) FROM generate_series(500, 2500) i;
SELECT skipidx_flush('terms_many_v');
SELECT * FROM (SELECT count(*), sum(df), sum(tf) FROM skipidx_terms('terms_many_v', 'word', 100000)) f,
	(SELECT count(*), sum(ndoc), sum(nentry) FROM ts_stat('SELECT v FROM terms_many') WHERE starts_with(word, 'word')) t;
SELECT (SELECT array_agg(t) FROM skipidx_terms('terms_many_v', '', 1000) t) =
	(SELECT array_agg(t) FROM (SELECT word, ndoc::int8, nentry::int8 FROM ts_stat('SELECT v FROM terms_many') ORDER BY ndoc DESC, word COLLATE "C" LIMIT 1000) t) AS same;
SELECT * FROM skipidx_terms('terms_many_v', 'word199', 4);
CREATE UNLOGGED TABLE terms_unlogged AS SELECT 'a b'::tsvector AS v;
CREATE INDEX terms_unlogged_v ON terms_unlogged USING skipidx (v);
SELECT * FROM skipidx_terms('terms_unlogged_v');

--
-- Deleted rows count until they are merged away
--
-- fewer than a merge would be worth
DELETE FROM terms_docs WHERE id % 7 = 0;
SELECT * FROM skipidx_terms('terms_body', 'x', 2);
VACUUM terms_docs;
SELECT deleted, pending_dead > 0 AS pending FROM skipidx_stats('terms_body');
SELECT * FROM skipidx_terms('terms_body', 'x', 2);
SELECT skipidx_flush('terms_body'), skipidx_merge('terms_body');
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');

-- one segment, of which next to nothing is deleted
ALTER TABLE terms_docs SET (vacuum_truncate = off);
INSERT INTO terms_docs VALUES (2000, 1, NULL, 'gone:1 x:2');
SELECT skipidx_flush('terms_body'), skipidx_merge('terms_body');
DELETE FROM terms_docs WHERE id = 2000;
VACUUM terms_docs;
CREATE FUNCTION terms_gone(OUT term text, OUT df int8, OUT ranked int8) LANGUAGE sql AS $$
	SELECT t.term, t.df, e.df FROM skipidx_explain_score('terms_body', (SELECT min(ctid) FROM terms_docs), 'gone') e
		LEFT JOIN skipidx_terms('terms_body', 'gone') t ON true WHERE part = 'word'
$$;
SELECT segments, deleted FROM skipidx_stats('terms_body');
SELECT * FROM terms_gone();
SELECT skipidx_merge('terms_body');
SELECT segments, deleted FROM skipidx_stats('terms_body');
SELECT * FROM terms_gone();
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');
-- where nothing is deleted, nothing is written
CREATE TABLE terms_before AS SELECT generation, (SELECT array_agg(segment ORDER BY segment) FROM skipidx_segments('terms_body') WHERE kind = 'segment') AS ids
	FROM skipidx_stats('terms_body');
SELECT skipidx_merge('terms_body'), skipidx_merge('terms_body', 7);
SELECT s.generation = b.generation AS same FROM skipidx_stats('terms_body') s, terms_before b;
-- of several segments, those with deleted rows are written anew, as many may be left
INSERT INTO terms_docs SELECT i, 1, NULL, 'gone:1 x:2' FROM generate_series(2001, 2020) i;
SELECT skipidx_flush('terms_body');
DELETE FROM terms_docs WHERE id = 2001;
VACUUM terms_docs;
SELECT segments, deleted FROM skipidx_stats('terms_body');
SELECT * FROM terms_gone();
SELECT skipidx_merge('terms_body', 2);
SELECT segments, deleted FROM skipidx_stats('terms_body');
SELECT * FROM terms_gone();
SELECT array_agg(s.segment = ANY (b.ids) ORDER BY s.segment) AS kept FROM skipidx_segments('terms_body') s, terms_before b WHERE kind = 'segment';
SELECT * FROM terms_compare('terms_body', 'SELECT body FROM terms_docs');

--
-- Refusals
--
SELECT * FROM skipidx_terms('terms_body', '', -1);
SELECT count(*) FROM skipidx_terms(NULL);
SELECT count(*) FROM skipidx_terms('terms_body', NULL);
SELECT count(*) FROM skipidx_terms('terms_body', repeat('w', 2047));
SELECT count(*) FROM skipidx_terms('terms_body', repeat('w', 100000));
CREATE INDEX terms_gin ON terms_docs USING gin (body);
SELECT * FROM skipidx_terms('terms_gin');
SELECT * FROM skipidx_terms('terms_docs');
SELECT * FROM skipidx_terms(0);
CREATE TABLE terms_parts (v tsvector) PARTITION BY RANGE (v);
CREATE INDEX terms_parts_v ON terms_parts USING skipidx (v);
SELECT * FROM skipidx_terms('terms_parts_v');
-- privileges: SELECT on the columns of the index, and no policy
CREATE ROLE regress_terms;
SET ROLE regress_terms;
SELECT * FROM skipidx_terms('terms_body');
RESET ROLE;
GRANT SELECT (body) ON terms_docs TO regress_terms;
SET ROLE regress_terms;
SELECT count(*) FROM skipidx_terms('terms_body', 'w', 3);
SELECT * FROM skipidx_terms('terms_beside');
RESET ROLE;
GRANT SELECT ON terms_docs TO regress_terms;
ALTER TABLE terms_docs ENABLE ROW LEVEL SECURITY;
SELECT count(*) AS owner FROM skipidx_terms('terms_body', 'w', 3);
SET ROLE regress_terms;
SELECT * FROM skipidx_terms('terms_body');
RESET ROLE;

DROP TABLE terms_docs, terms_labels, terms_many, terms_unlogged, terms_parts, terms_before;
DROP FUNCTION terms_gone, terms_document, terms_compare, terms_insert;
DROP ROLE regress_terms;
