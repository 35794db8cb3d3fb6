--
-- A title above a long body, among short bodies that have its word often: what
-- doc/reference.md says under weights.  A weight does not shorten the length.
--
-- Holds: none
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE docs (id int, tsv tsvector);
INSERT INTO docs SELECT 1, setweight('ranking:1', 'A') || to_tsvector('simple', string_agg('w' || n % 200, ' '))
FROM generate_series(1, 772) n;
INSERT INTO docs SELECT i, setweight(to_tsvector('simple', 'note ' || i), 'A') ||
	to_tsvector('simple', string_agg(CASE WHEN n % 3 = 0 THEN 'ranking' ELSE 'w' || n * i % 200 END, ' '))
FROM generate_series(2, 304) i, generate_series(1, 20 + i % 60) n GROUP BY i;
INSERT INTO docs SELECT i, setweight(to_tsvector('simple', 'other ' || i), 'A') ||
	to_tsvector('simple', string_agg('w' || n * i % 200, ' '))
FROM generate_series(305, 3000) i, generate_series(1, 20 + i % 60) n GROUP BY i;
CREATE INDEX docs_idx ON docs USING skipidx (tsv) WITH (weights = '{0.25, 1, 1, 20}');
CREATE VIEW place AS
SELECT place FROM (
	SELECT id, row_number() OVER (ORDER BY tsv <@> 'ranking') AS place FROM docs WHERE tsv @@ 'ranking') ranked
WHERE id = 1;
TABLE place;
SELECT (skipidx_explain_score('docs_idx', ctid, 'ranking')).length FROM docs WHERE id = 1;
-- by length
ALTER INDEX docs_idx SET (b = 0.3);
TABLE place;
ALTER INDEX docs_idx SET (b = 0.1);
TABLE place;
ALTER INDEX docs_idx RESET (b);
-- by the label; the other one matters less and less, too
ALTER INDEX docs_idx SET (weights = '{0.25, 1, 1, 100}');
TABLE place;
ALTER INDEX docs_idx SET (weights = '{0.25, 1, 1, 20}');
-- titles first, then what has it in the body alone
SELECT array_agg(id) FROM (
	(SELECT id FROM docs WHERE tsv @@ 'ranking:A' ORDER BY tsv <@> 'ranking' LIMIT 10)
	UNION ALL
	(SELECT id FROM docs WHERE tsv @@ 'ranking & !ranking:A' ORDER BY tsv <@> 'ranking' LIMIT 10)
	LIMIT 3) first;
DROP TABLE docs CASCADE;
