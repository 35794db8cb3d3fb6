--
-- Statistics of tables that others inherit from
--
-- Holds: score 1, 2
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET enable_seqscan = off;

-- Columns stand elsewhere in one child; another has an index of another kind.
CREATE TABLE inherit_top (id int, v tsvector);
CREATE TABLE inherit_one () INHERITS (inherit_top);
CREATE TABLE inherit_two (more text, v tsvector, id int);
ALTER TABLE inherit_two INHERIT inherit_top;
CREATE TABLE inherit_bare () INHERITS (inherit_two);
INSERT INTO inherit_one SELECT i, CASE i WHEN 500 THEN 'common rare' ELSE 'common' END::tsvector
	FROM generate_series(1, 1000) i;
INSERT INTO inherit_two (id, v) SELECT i, 'common' FROM generate_series(2001, 3000) i;
INSERT INTO inherit_bare (id, v) SELECT i, 'rare bare' FROM generate_series(4001, 4100) i;
CREATE INDEX inherit_top_v ON inherit_top USING skipidx (v);
CREATE INDEX inherit_one_v ON inherit_one USING skipidx (v);
CREATE INDEX inherit_two_v ON inherit_two USING skipidx (v);
CREATE INDEX inherit_bare_v ON inherit_bare USING skipidx (v) WHERE id > 0;

-- As of one table with the rows of those that have such an index
CREATE TABLE inherit_flat AS SELECT id, v FROM inherit_top WHERE id < 4000;
CREATE INDEX inherit_flat_v ON inherit_flat USING skipidx (v);
CREATE FUNCTION inherit_same(q tsquery) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	EXECUTE format('SELECT bool_and(a.d = b.d) AND count(*) = 2000 FROM
		(SELECT id, v <@> %L::tsquery AS d FROM inherit_top) a JOIN
		(SELECT id, v <@> %L::tsquery AS d FROM inherit_flat) b USING (id)', q, q) INTO same;
	RETURN same;
END $$;
SELECT q, inherit_same(q::tsquery) FROM unnest(ARRAY['rare', 'common', 'rare | common', 'ra:*', 'bare']) q;
SELECT id, round((v <@> 'rare | common')::numeric, 3) AS d FROM inherit_top
	ORDER BY v <@> 'rare | common', id LIMIT 3;

-- A child is counted with what inherits from it, and with nothing else.
SELECT count(DISTINCT v <@> 'rare') AS alone, count(DISTINCT v <@> 'common') FROM inherit_one;
SELECT (SELECT v <@> 'rare' FROM inherit_one WHERE id = 500) = (SELECT v <@> 'rare' FROM inherit_top WHERE id = 500) AS same;

-- Changes are seen: rows, a new child, one that leaves.
INSERT INTO inherit_one SELECT i, 'rare' FROM generate_series(1001, 1100) i;
INSERT INTO inherit_flat SELECT i, 'rare' FROM generate_series(1001, 1100) i;
CREATE OR REPLACE FUNCTION inherit_rare(tab text) RETURNS float4 LANGUAGE plpgsql AS $$
DECLARE
	d float4;
BEGIN
	EXECUTE format('SELECT v <@> ''rare'' FROM %I WHERE id = 500', tab) INTO d;
	RETURN d;
END $$;
SELECT inherit_rare('inherit_top') = inherit_rare('inherit_flat') AS same;
CREATE TABLE inherit_three () INHERITS (inherit_top);
CREATE INDEX ON inherit_three USING skipidx (v);
INSERT INTO inherit_three SELECT i, 'common' FROM generate_series(5001, 5100) i;
INSERT INTO inherit_flat SELECT i, 'common' FROM generate_series(5001, 5100) i;
SELECT inherit_rare('inherit_top') = inherit_rare('inherit_flat') AS same;
ALTER TABLE inherit_three NO INHERIT inherit_top;
SELECT inherit_rare('inherit_top') = inherit_rare('inherit_flat') AS same;
DROP TABLE inherit_top, inherit_one, inherit_two, inherit_bare, inherit_three, inherit_flat CASCADE;
DROP FUNCTION inherit_same, inherit_rare;
