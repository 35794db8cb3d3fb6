--
-- skipidx_any_of(): a question without the words that too many rows have
--
-- Holds: functions 30
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- all in every row, half in every other one, tenth in one of ten, w1 to w40 in 25 each
CREATE TABLE question (id int, body text) WITH (autovacuum_enabled = off);
INSERT INTO question SELECT i, 'all ' || CASE WHEN i % 2 = 0 THEN 'half ' ELSE '' END ||
	CASE WHEN i % 10 = 0 THEN 'tenth ' ELSE '' END || 'w' || i % 40 FROM generate_series(1, 1000) i;
CREATE INDEX question_body ON question USING skipidx (to_tsvector('simple', body));

SELECT * FROM skipidx_any_of_words('question_body', 'All half of: the tenth, w7 W7 and nothing');
SELECT share, skipidx_any_of('question_body', 'All half of: the tenth, w7 W7 and nothing', share)
	FROM unnest('{1, 0.999, 0.5, 0.499, 0.1, 0.099, 0.025, 0.024, 0}'::float8[]) share;
-- if no row has a word that is not left out, the rarest one stays
SELECT words, skipidx_any_of('question_body', words)
	FROM unnest('{all, all half, all half nothing, nothing, "", ...}'::text[]) words;
-- all words and none are what skipidx_any() has
SELECT skipidx_any_of('question_body', words, 1) = skipidx_any('simple', words) AS same
	FROM unnest('{w1 all w2 w1 half, it''s & | ! (), nothing}'::text[]) words;

-- the rows that it ranks, and a statement that is prepared
SET enable_seqscan = off;
PREPARE ranked (text) AS SELECT id FROM question
	ORDER BY to_tsvector('simple', body) <@> skipidx_any_of('question_body', $1), id LIMIT 3;
EXECUTE ranked('all w8 tenth');
EXPLAIN (COSTS OFF) EXECUTE ranked('all w8 tenth');
-- documents that are pending count
INSERT INTO question SELECT i, 'w7' FROM generate_series(1001, 1200) i;
SELECT * FROM skipidx_any_of_words('question_body', 'w7 tenth');

-- the configuration: the index's, that of a generated column, the session's, one that is named
CREATE TABLE question_stored (body text, other text, v tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED, w tsvector);
CREATE INDEX question_v ON question_stored USING skipidx (v);
CREATE INDEX question_w ON question_stored USING skipidx (w);
CREATE INDEX question_both ON question_stored USING skipidx ((to_tsvector('english', body) || to_tsvector('simple', other)));
SELECT skipidx_any_of('question_v', 'running the dogs'), skipidx_any_of('question_v', 'running the dogs', config => 'simple');
SET default_text_search_config = 'german';
SELECT skipidx_any_of('question_w', 'running the Hunde'), skipidx_any_of('question_v', 'running the Hunde');
RESET default_text_search_config;
SELECT skipidx_any_of('question_both', 'running');
SELECT skipidx_any_of('question_both', 'running', config => 'english');

-- arguments
SELECT skipidx_any_of('question_body', 'w7', most) FROM unnest('{-0.001}'::float8[]) most;
SELECT skipidx_any_of('question_body', 'w7', 'NaN');
SELECT skipidx_any_of('question_body', 'w7', 1.001);
SELECT skipidx_any_of('question_body', 'w7', NULL);
SELECT skipidx_any_of(NULL, 'w7') IS NULL AS index, skipidx_any_of('question_body', NULL) IS NULL AS question;

-- very many words, and a cancel
SELECT numnode(skipidx_any_of('question_body', string_agg('w' || i, ' '))), numnode(skipidx_any_of('question_body', string_agg('all w' || i, ' ')))
	FROM generate_series(1, 60000) i;
SET statement_timeout = 1;
SELECT numnode(skipidx_any_of('question_body', string_agg('w' || i, ' '))) FROM generate_series(1, 100000) i;
RESET statement_timeout;

-- partitions: a word's rows are counted over all of them
CREATE TABLE question_parts (id int, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE question_parts_1 PARTITION OF question_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE question_parts_2 PARTITION OF question_parts FOR VALUES FROM (100) TO (1000);
CREATE INDEX question_parts_v ON question_parts USING skipidx (v);
INSERT INTO question_parts SELECT i, (CASE WHEN i < 100 THEN 'early' ELSE 'late' END || ' w' || i % 20)::tsvector FROM generate_series(0, 999) i;
SELECT * FROM skipidx_any_of_words('question_parts_v', 'early late w3', config => 'simple');
DROP TABLE question, question_stored, question_parts;
