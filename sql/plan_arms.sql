--
-- Rows of several tables in one list: an order by distance goes by the statistics of
-- all arms of a set operation together, as if their rows were those of one table
--
-- Holds: plan 2, 3, 5; score 1, 2
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET jit = off;

-- Does the server itself order the rows of a UNION ALL by indexes on expressions?
-- 16.2 does not; then there is nothing to test.
CREATE TABLE arm (a int);
CREATE INDEX ON arm (abs(a + 1));
CREATE FUNCTION ordered() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	EXECUTE 'EXPLAIN SELECT a FROM (SELECT a + 1 AS a FROM arm UNION ALL SELECT a + 1 FROM arm) x ORDER BY abs(a) LIMIT 1';
	RETURN true;
EXCEPTION WHEN internal_error THEN
	RETURN false;
END $$;
SELECT ordered() OR current_setting('server_version_num')::int / 10000 <> 16 AS ordered \gset
DROP TABLE arm;
DROP FUNCTION ordered;
\if :ordered
\else
\quit
\endif
CREATE FUNCTION words(i int, rare int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT to_tsvector('simple', repeat('common ', 1 + i % 3) || CASE WHEN i % rare = 0 THEN 'rare ' ELSE '' END || 'w' || i % 13 || repeat(' other', i * 7 % 11)) $$;
CREATE TABLE issues AS SELECT i AS id, words(i, 50) AS v FROM generate_series(1, 900) i;
CREATE TABLE comments AS SELECT i AS id, words(i, 3) AS v FROM generate_series(1001, 1300) i;
CREATE TABLE names (id int, name text);
INSERT INTO names SELECT i, 'common rare w' || i % 5 FROM generate_series(2001, 2040) i;
CREATE INDEX issues_v ON issues USING skipidx (v);
CREATE INDEX comments_v ON comments USING skipidx (v);
CREATE INDEX names_v ON names USING skipidx (to_tsvector('simple', name));
CREATE VIEW everything AS SELECT id, v FROM issues UNION ALL SELECT id, v FROM comments UNION ALL SELECT id, to_tsvector('simple', name) FROM names;
CREATE VIEW exchanged AS SELECT id, to_tsvector('simple', name) AS v FROM names UNION ALL SELECT id, v FROM comments UNION ALL SELECT id, v FROM issues;
CREATE VIEW nested AS SELECT id, v FROM (SELECT * FROM comments UNION ALL SELECT id, to_tsvector('simple', name) FROM names) x UNION ALL SELECT id, v FROM issues;
CREATE VIEW joined AS SELECT i.id, i.v FROM issues i JOIN (SELECT DISTINCT id FROM issues) o ON o.id = i.id UNION ALL (SELECT * FROM comments OFFSET 0)
	UNION ALL SELECT id, to_tsvector('simple', name) FROM names;
CREATE VIEW merged AS SELECT id, v FROM issues UNION SELECT id, v FROM comments UNION SELECT id, to_tsvector('simple', name) FROM names;
CREATE VIEW twice AS TABLE everything UNION ALL TABLE exchanged;
-- the same rows in one table
CREATE TABLE one AS TABLE everything;
CREATE INDEX one_v ON one USING skipidx (v);
VACUUM ANALYZE issues, comments, names, one;

-- Do the distances differ in a bit, or the best rows, however they are found?
CREATE FUNCTION differ(source text, query text, copies int DEFAULT 1) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wanted text;
	got text;
	best text := 'SELECT string_agg(id || '' '' || d, '', '' ORDER BY d, id) FROM (SELECT id, v <@> %2$L::tsquery AS d FROM %1$s WHERE v @@ %2$L ORDER BY d, id LIMIT %3$s) x';
	way text;
BEGIN
	FOREACH way IN ARRAY '{seqscan,indexscan,bitmapscan}'::text[] LOOP
		PERFORM set_config('enable_seqscan', (way = 'seqscan')::text, true), set_config('enable_indexscan', (way = 'indexscan')::text, true),
			set_config('enable_bitmapscan', (way = 'bitmapscan')::text, true);
		FOR i IN 0 .. 1 LOOP
			EXECUTE format(best, 'one', query, CASE i WHEN 0 THEN 25 ELSE 10000 END) INTO wanted;
			EXECUTE format(best, format('(SELECT DISTINCT id, v FROM %s OFFSET 0) y', source), query, CASE i WHEN 0 THEN 25 ELSE 10000 END) INTO got;
			IF copies = 1 THEN
				EXECUTE format(best, source, query, CASE i WHEN 0 THEN 25 ELSE 10000 END) INTO got;
			END IF;
			IF got IS DISTINCT FROM wanted THEN
				RETURN format('%s: %s, not %s', way, left(got, 70), left(wanted, 70));
			END IF;
		END LOOP;
	END LOOP;
	RETURN NULL;
END $$;
\getenv tree PG_ABS_SRCDIR
\set plans :tree /sql/shared/plans.sql
\i :plans
SELECT source, differ(source, 'rare | common'), differ(source, 'w1 & common'), differ(source, 'rar:* | w2') FROM unnest('{everything,exchanged,nested,joined,merged}'::text[]) source;
SELECT differ('twice', 'rare | common', 2);
SELECT ranked_by(plan_of($$SELECT id FROM everything ORDER BY v <@> 'rare' LIMIT 3$$));
SELECT ranked_by(plan_of($$SELECT id FROM exchanged ORDER BY v <@> 'rare' LIMIT 3$$));
-- each arm in its own order
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM everything ORDER BY v <@> 'rare' LIMIT 3;
RESET enable_seqscan;

-- rows that are dead, or pending
DELETE FROM issues WHERE id % 4 = 0;
DELETE FROM one WHERE id % 4 = 0 AND id < 1000;
INSERT INTO comments SELECT i, words(i, 2) FROM generate_series(1301, 1350) i;
INSERT INTO one SELECT i, words(i, 2) FROM generate_series(1301, 1350) i;
SELECT source, differ(source, 'rare | common'), differ(source, 'w1 & common') FROM unnest('{everything,exchanged,nested}'::text[]) source;
-- prepared, by a plan for any query
SET plan_cache_mode = force_generic_plan;
PREPARE best(tsquery) AS SELECT id, v <@> $1 AS d FROM everything ORDER BY d, id LIMIT 10;
PREPARE best_of_one(tsquery) AS SELECT id, v <@> $1 AS d FROM one ORDER BY d, id LIMIT 10;
CREATE TABLE a AS EXECUTE best('rare | w3');
CREATE TABLE b AS EXECUTE best_of_one('rare | w3');
SELECT count(*), bool_and(a.d = b.d) FROM a JOIN b USING (id);
SELECT ranked_by(plan_of($$EXECUTE best('rare')$$));

-- Parameters that differ: the index of the first arm ranks; a plan that is kept follows
ALTER INDEX comments_v SET (k1 = 2);
SELECT ranked_by(plan_of($$EXECUTE best('rare')$$)), ranked_by(plan_of($$SELECT id FROM exchanged ORDER BY v <@> 'rare' LIMIT 3$$));
ALTER INDEX comments_v SET (k1 = 1.2);
SELECT ranked_by(plan_of($$EXECUTE best('rare')$$));
ALTER INDEX comments_v RESET (k1);
DEALLOCATE ALL;
RESET plan_cache_mode;

-- An arm without an index is ranked by those of the others, first or last
CREATE TABLE bare AS SELECT i AS id, words(i, 2) AS v FROM generate_series(4001, 4020) i;
CREATE VIEW bare_first AS TABLE bare UNION ALL TABLE everything;
CREATE VIEW bare_last AS TABLE everything UNION ALL TABLE bare;
CREATE VIEW made AS SELECT id, v FROM issues UNION ALL SELECT 0, 'rare:1 common:2'::tsvector UNION ALL SELECT -1, NULL;
SELECT ranked_by(plan_of($$SELECT id FROM bare_first ORDER BY v <@> 'rare' LIMIT 3$$)), ranked_by(plan_of($$SELECT id FROM bare_last ORDER BY v <@> 'rare' LIMIT 3$$)),
	ranked_by(plan_of($$SELECT id FROM made ORDER BY v <@> 'rare' LIMIT 3$$));
SELECT count(*), bool_and(f.d = l.d), bool_and(l.d = o.d) FILTER (WHERE l.id < 4000) AS as_one FROM (SELECT id, v <@> 'rare | w1' AS d FROM bare_first) f JOIN (SELECT id, v <@> 'rare | w1' AS d FROM bare_last) l USING (id)
	LEFT JOIN (SELECT id, v <@> 'rare | w1' AS d FROM one) o USING (id);
SELECT id FROM made WHERE v @@ 'rare' ORDER BY v <@> 'rare', id LIMIT 2;
SELECT id FROM (TABLE bare UNION ALL TABLE bare) x ORDER BY v <@> 'rare' LIMIT 3;
-- a named index is that of each arm, or asked for
SELECT ranked_by(plan_of($$SELECT id FROM everything ORDER BY v <@> skipidx_query('rare', 'comments_v') LIMIT 3$$));

-- Partitions in an arm, and a table that is in two
CREATE TABLE parted (id int, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (500);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (500) TO (MAXVALUE);
INSERT INTO parted SELECT * FROM issues;
INSERT INTO parted SELECT i, words(i, 50) FROM generate_series(4, 900, 4) i;
CREATE INDEX parted_v ON parted USING skipidx (v);
DELETE FROM parted WHERE id % 4 = 0;
ANALYZE parted;
CREATE VIEW with_parts AS SELECT id, v FROM comments UNION ALL SELECT * FROM parted UNION ALL SELECT id, to_tsvector('simple', name) FROM names;
SELECT differ('with_parts', 'rare | common');
SELECT ranked_by(plan_of($$SELECT id FROM (SELECT * FROM parted UNION ALL SELECT * FROM parted UNION ALL SELECT * FROM comments) x ORDER BY v <@> 'rare' LIMIT 3$$));

-- The statistics of one cursor stay
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM everything WHERE v @@ 'rare' ORDER BY v <@> 'rare', id;
FETCH 2 FROM c;
SAVEPOINT s;
INSERT INTO issues SELECT i, words(i, 2) FROM generate_series(3001, 3500) i;
SELECT skipidx_flush('issues_v') > 0 AS flushed;
ROLLBACK TO s;
MOVE 2 IN c;
FETCH 2 FROM c;
COMMIT;
SELECT array_agg(id) FROM (SELECT id FROM one WHERE v @@ 'rare' ORDER BY v <@> 'rare', id LIMIT 6) x;

-- The rights of a view are enough
CREATE ROLE regress_skipidx_viewer;
GRANT SELECT ON everything TO regress_skipidx_viewer;
SET ROLE regress_skipidx_viewer;
SELECT count(*) FROM (SELECT id FROM everything WHERE v @@ 'rare' ORDER BY v <@> 'rare' LIMIT 5) x;
SELECT v <@> 'rare' FROM issues LIMIT 1;
RESET ROLE;
DROP OWNED BY regress_skipidx_viewer;
DROP ROLE regress_skipidx_viewer;
DROP TABLE issues, comments, names, one, bare, parted, a, b CASCADE;
DROP FUNCTION words, differ, plan_of, ranked_by;
