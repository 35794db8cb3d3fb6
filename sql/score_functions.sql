--
-- Scores against the formulas written out in SQL, and who may ask for them
--
-- Holds: functions 2; score 1, 2, 3, 4, 5, 6
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

--
-- A reference.  A query is given twice: as tsquery, and as its operands in the
-- order in which it reads, each a lexeme with :*, labels, and ! when negated.
--
CREATE TABLE score_docs (id int, body tsvector) WITH (autovacuum_enabled = off);
-- what statistics count: rows that were deleted stay until they are merged
CREATE TABLE score_truth (id int, body tsvector);
CREATE TABLE score_queries (q tsquery, operands text[]);
INSERT INTO score_queries VALUES
	('w1', '{w1}'),
	('w1 & w2', '{w1,w2}'),
	('w2 | w1', '{w2,w1}'),
	('w1 <-> w2 | w3', '{w1,w2,w3}'),
	('w1 & (w2 | (w3 <2> w4)) & w5', '{w1,w2,w3,w4,w5}'),
	('w1 & !w2 & w3', '{w1,!w2,w3}'),
	('!(w1 & !(w2 | w3)) & w4', '{!w1,w2,w3,w4}'),
	('w1 <-> !w2', '{w1,!w2}'),
	('w1 | w1 | w2 | w1', '{w1,w1,w2,w1}'),
	('w1:A & w2:BC', '{w1:A,w2:BC}'),
	('w1:A | w2 | w1:D', '{w1:A,w2,w1:D}'),
	('w1:A | w2 | w1', '{w1:A,w2,w1}'),
	('w1:* & w2', '{w1:*,w2}'),
	('w1 & w:* & w2', '{w1,w:*,w2}'),
	('w:*AB | w3:*', '{w:*AB,w3:*}'),
	('nosuch & w1 & none:*', '{nosuch,w1,none:*}'),
	('bare & w1', '{bare,w1}'),
	('bare:C | w1:D', '{bare:C,w1:D}'),
	('!w1', '{!w1}'),
	('w1|w2|w3|w4|w5|w6|w7|w8|w9|w10|w11|w12|w13|w14|w15|w16|w17|w18|w19|w20',
	 '{w1,w2,w3,w4,w5,w6,w7,w8,w9,w10,w11,w12,w13,w14,w15,w16,w17,w18,w19,w20}');

CREATE VIEW score_lexemes AS
	SELECT id, lexeme, positions, weights
	FROM score_truth CROSS JOIN LATERAL unnest(body);

CREATE FUNCTION score_parsed(operands text[], OUT n int, OUT lexeme text, OUT prefix bool, OUT labels text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT o.n::int, split_part(word, ':', 1), word ~ ':\*', replace(split_part(word, ':', 2), '*', '')
	FROM unnest(operands) WITH ORDINALITY AS o(word, n)
	WHERE word !~ '^!'
$$;

-- How often, by weights of D, C, B, A
CREATE FUNCTION score_tf(doc tsvector, term text, prefix bool, labels text, counts float8[])
RETURNS float8 LANGUAGE sql AS $$
	SELECT coalesce(sum(CASE WHEN u.positions IS NULL THEN counts[1] ELSE
		(SELECT coalesce(sum(counts[strpos('DCBA', label)]), 0) FROM unnest(u.weights) label
		 WHERE labels = '' OR strpos(labels, label) > 0) END), 0)
	FROM unnest(doc) u
	WHERE u.lexeme = term OR prefix AND starts_with(u.lexeme, term)
$$;

CREATE FUNCTION score_positions(doc tsvector, term text, labels text)
RETURNS int[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(p ORDER BY p), '{}')
	FROM unnest(doc) u, unnest(u.positions, u.weights) AS o(p, label)
	WHERE u.lexeme = term AND (labels = '' OR strpos(labels, label) > 0)
$$;

CREATE FUNCTION score_near(a int[], b int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	i int := 1;
	j int := 1;
	n int := 0;
BEGIN
	WHILE i <= cardinality(a) AND j <= cardinality(b) LOOP
		IF abs(a[i] - b[j]) <= 8 THEN
			n := n + 1; i := i + 1; j := j + 1;
		ELSIF a[i] < b[j] THEN
			i := i + 1;
		ELSE
			j := j + 1;
		END IF;
	END LOOP;
	RETURN n;
END $$;

CREATE TYPE score_term AS (lexeme text, prefix bool, labels text, idf float8, times int);

-- Words of a query with what statistics say of them
CREATE FUNCTION score_terms(operands text[])
RETURNS SETOF score_term LANGUAGE sql AS $$
	WITH united AS (
		SELECT lexeme, prefix, count(*)::int AS times,
			CASE WHEN bool_or(labels = '') THEN '' ELSE string_agg(labels, '') END AS labels
		FROM score_parsed(operands) GROUP BY 1, 2),
	counted AS (
		SELECT u.*, l.*, (SELECT count(body) FROM score_truth) AS ndocs
		FROM united u, LATERAL
			(SELECT count(*) AS found, count(*) FILTER (WHERE l.lexeme = u.lexeme) AS whole,
				u.prefix AND count(DISTINCT l.lexeme) > 1 AS several
			 FROM score_lexemes l
			 WHERE l.lexeme = u.lexeme OR u.prefix AND starts_with(l.lexeme, u.lexeme)) l),
	settled AS (
		SELECT *, CASE WHEN several AND whole < ndocs
			THEN whole + round((ndocs - whole) * (1 - exp(-(found - whole)::float8 / (ndocs - whole)))) ELSE found END AS df
		FROM counted)
	SELECT lexeme, prefix, labels, ln(1 + (ndocs - df + 0.5) / (df + 0.5)), times
	FROM settled
$$;

CREATE FUNCTION score_reference(doc tsvector, operands text[], terms score_term[], average float8, k1 float8, b float8,
	counts float8[], OUT bm25 float8, OUT proximity float8)
LANGUAGE sql AS $$
	WITH saturation AS (
		SELECT k1 * (1 - b + b * coalesce(sum(coalesce(cardinality(positions), 1)), 0) / average) AS k FROM unnest(doc)),
	counted AS (
		SELECT *, score_tf(doc, lexeme, prefix, labels, counts) AS tf FROM unnest(terms)),
	pairs AS (
		SELECT DISTINCT x.lexeme AS first, y.lexeme AS second
		FROM score_parsed(operands) x JOIN score_parsed(operands) y ON y.n = x.n + 1 AND x.n <= 16
		WHERE NOT x.prefix AND NOT y.prefix AND x.lexeme <> y.lexeme),
	neighbours AS (
		SELECT least(s.idf, t.idf) AS idf,
			(SELECT count(*) FROM unnest(a) p WHERE p + 1 = ANY (c))::float8 AS ordered,
			score_near(a, c)::float8 AS near
		FROM pairs JOIN counted s ON s.lexeme = first AND NOT s.prefix
			JOIN counted t ON t.lexeme = second AND NOT t.prefix,
			score_positions(doc, first, s.labels) a, score_positions(doc, second, t.labels) c)
	SELECT (SELECT coalesce(sum(times * idf * tf / (tf + k)), 0) FROM counted, saturation),
		(SELECT coalesce(sum(idf * (ordered / (ordered + k) + 0.5 * near / (near + k))), 0) FROM neighbours, saturation)
$$;

-- Compares all rows and queries; tells how many scores are not zero.
CREATE FUNCTION score_compare(index regclass, k1 float8, b float8, factor float8, weights float8[],
	OUT compared int, OUT words int, OUT pairs int, OUT wrong int)
LANGUAGE sql AS $$
	WITH asked AS MATERIALIZED (
		SELECT *, (SELECT array_agg(t) FROM score_terms(operands) t) AS terms FROM score_queries),
	lengths AS MATERIALIZED (
		SELECT sum(coalesce(cardinality(positions), 1)) / (SELECT count(body) FROM score_truth)::float8 AS average
		FROM score_lexemes),
	docs AS MATERIALIZED (
		SELECT * FROM score_docs WHERE body IS NOT NULL AND id % 8 = 1)
	SELECT count(*), count(*) FILTER (WHERE w > 0), count(*) FILTER (WHERE p > 0),
		count(*) FILTER (WHERE NOT (abs(w - r.bm25) <= unit AND abs(p - factor * r.proximity) <= unit) OR
			w = 0 AND r.bm25 > 0 OR p = 0 AND factor * r.proximity > unit)
	FROM docs CROSS JOIN asked CROSS JOIN lengths,
		-- what parts may be off: a unit each, which is less where scores are small
		LATERAL (SELECT 1e-6 * numnode(q) * greatest(1, sum(idf)) AS unit FROM unnest(terms)) units,
		skipidx_bm25(index, body, q) w, skipidx_proximity(index, body, q) p,
		score_reference(body, operands, terms, average, k1, b, weights) r
$$;

-- Words w1..w25, the first ones often; labels by position; some bare lexemes
CREATE FUNCTION score_document(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN i % 29 = 0 THEN NULL
		WHEN i % 13 = 0 THEN strip(v) || 'bare'
		WHEN i % 17 = 0 THEN ''::tsvector
		WHEN i % 11 = 0 THEN v || 'bare' ELSE v END
	FROM (SELECT string_agg(format('w%s:%s%s', 1 + (abs(hashint4(i * 100 + p)) % 25) * (abs(hashint4(i * 100 - p)) % 25) / 25,
			p, CASE p % 7 WHEN 1 THEN 'A' WHEN 2 THEN 'B' WHEN 3 THEN 'C' ELSE '' END), ' ')::tsvector AS v
		FROM generate_series(1, 5 + i % 30) p) x
$$;

--
-- Segments, pending documents, deletes
--
INSERT INTO score_docs SELECT i, score_document(i) FROM generate_series(1, 60) i;
CREATE INDEX score_body ON score_docs USING skipidx (body) WITH (proximity = 0.25);
INSERT INTO score_docs SELECT i, score_document(i) FROM generate_series(61, 90) i;
SELECT skipidx_flush('score_body');
INSERT INTO score_docs SELECT i, score_document(i) FROM generate_series(91, 120) i;
INSERT INTO score_truth SELECT * FROM score_docs;
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');
DELETE FROM score_docs WHERE id % 10 = 3;
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');
VACUUM score_docs;
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');
-- pending documents are flushed without those deleted; segments keep theirs
SELECT skipidx_flush('score_body');
SELECT ndocs, deleted, pending_docs FROM skipidx_stats('score_body');
DELETE FROM score_truth WHERE id > 90 AND id % 10 = 3;
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');
SELECT skipidx_merge('score_body');
DELETE FROM score_truth WHERE id % 10 = 3;
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');

--
-- Storage parameters, changed as one likes
--
-- A search finds the best of all rows sorted, to the last bit.
CREATE FUNCTION score_search(index regclass, q tsquery, k int, rank_by tsquery, OUT rows int, OUT wrong int)
LANGUAGE sql AS $$
	WITH found AS (SELECT row_number() OVER () AS n, f.* FROM skipidx_search(index, q, k, rank_by) f),
	truth AS (
		SELECT row_number() OVER (ORDER BY score DESC, d.ctid) AS n, d.ctid, score
		FROM score_docs d,
			LATERAL (SELECT score FROM skipidx_explain_score(index, d.ctid, coalesce(rank_by, q)) WHERE part = 'total') s
		WHERE body @@ q)
	SELECT count(f.n)::int, count(*) FILTER (WHERE f IS NULL OR f.ctid <> t.ctid OR f.score <> t.score)::int
	FROM (SELECT * FROM truth WHERE n <= k) t FULL JOIN found f USING (n)
$$;
CREATE FUNCTION score_searches(index regclass, OUT rows int, OUT wrong int)
LANGUAGE sql AS $$
	SELECT sum(r.rows), sum(r.wrong)
	FROM score_queries CROSS JOIN (VALUES (3), (20)) ks(k), score_search(index, q, k, NULL) r
$$;
ALTER INDEX score_body SET (k1 = 0.5, b = 0.1, proximity = 2);
SELECT * FROM score_compare('score_body', 0.5, 0.1, 2, '{1,1,1,1}');
SELECT * FROM score_searches('score_body');
ALTER INDEX score_body SET (proximity = 0, weights = '{0.125, 0, 0.5, 10}');
SELECT * FROM score_compare('score_body', 0.5, 0.1, 0, '{0.125,0,0.5,10}');
SELECT * FROM score_searches('score_body');
ALTER INDEX score_body SET (proximity = 1);
SELECT * FROM score_compare('score_body', 0.5, 0.1, 1, '{0.125,0,0.5,10}');
SELECT * FROM score_searches('score_body');
ALTER INDEX score_body SET (k1 = 0, b = 0);
SELECT * FROM score_compare('score_body', 1e-9, 0, 1, '{0.125,0,0.5,10}');
SELECT * FROM score_searches('score_body');
ALTER INDEX score_body SET (weights = '{1, 1, 1, 101}');
ALTER INDEX score_body SET (weights = '{-1, 1, 1, 1}');
ALTER INDEX score_body SET (weights = '{1, 1, 1}');
ALTER INDEX score_body SET (weights = '{1, 1, 1, 1, 1}');
ALTER INDEX score_body SET (weights = '{1, NaN, 1, 1}');
ALTER INDEX score_body SET (weights = '{1, 1, 1, 1} x');
ALTER INDEX score_body SET (weights = 2);
ALTER INDEX score_body SET (proximity = -0.5);
ALTER INDEX score_body SET (proximity = 0.25);
ALTER INDEX score_body RESET (k1, b, weights);
SELECT * FROM score_compare('score_body', 1.2, 0.75, 0.25, '{1,1,1,1}');

--
-- The best rows
--
INSERT INTO score_docs SELECT i, score_document(i) FROM generate_series(121, 150) i;
SELECT q, k, r.* FROM score_queries CROSS JOIN (VALUES (1), (10), (1000)) ks(k), score_search('score_body', q, k, NULL) r
WHERE numnode(q) < 9 AND q IS DISTINCT FROM '' ORDER BY q::text COLLATE "C", k;
SELECT k, r.* FROM (VALUES (0), (3), (1000)) ks(k), score_search('score_body', 'w1 | w2', k, 'w9 <-> w4') r ORDER BY k;
SELECT count(*) FROM skipidx_search('score_body', 'w1');
SELECT count(*) FROM skipidx_search('score_body', query => 'w1', max_rows => 3, rank_by => '');
SELECT count(*) FROM skipidx_search('score_body', '');
SELECT count(*) FROM skipidx_search(NULL, 'w1');
SELECT count(*) FROM skipidx_search('score_body', NULL);
SELECT count(*) FROM skipidx_search('score_body', 'w1', NULL);
SELECT count(*) FROM skipidx_search('score_body', 'w1', -1);
-- joined to the table, and rows that are not visible left out
BEGIN;
DELETE FROM score_docs WHERE id = 129;
SELECT count(*), count(DISTINCT s.ctid) = count(*) AS distinct, bool_and(body @@ 'w1') AS match, bool_or(id = 129) AS deleted
FROM skipidx_search('score_body', 'w1', 1000) s JOIN score_docs d ON d.ctid = s.ctid;
ROLLBACK;
DELETE FROM score_docs WHERE id > 120;
SELECT skipidx_flush('score_body');
VACUUM score_docs;
SELECT skipidx_merge('score_body');

--
-- An index of an expression, and a partial one: statistics of its rows only
--
CREATE INDEX score_partial ON score_docs USING skipidx ((body || ''::tsvector)) WITH (proximity = 0.25) WHERE id <= 50;
DELETE FROM score_truth WHERE id > 50;
SELECT * FROM score_compare('score_partial', 1.2, 0.75, 0.25, '{1,1,1,1}');

--
-- Partitions: statistics of all of them
--
CREATE TABLE score_parts (id int, body tsvector) PARTITION BY RANGE (id);
CREATE TABLE score_parts_1 PARTITION OF score_parts FOR VALUES FROM (0) TO (41);
CREATE TABLE score_parts_2 PARTITION OF score_parts FOR VALUES FROM (41) TO (81) PARTITION BY RANGE (id);
CREATE TABLE score_parts_3 PARTITION OF score_parts_2 FOR VALUES FROM (41) TO (81);
CREATE TABLE score_parts_4 PARTITION OF score_parts FOR VALUES FROM (81) TO (200);
INSERT INTO score_parts SELECT * FROM score_docs WHERE id <= 60;
CREATE INDEX score_parts_body ON score_parts USING skipidx (body) WITH (k1 = 2, proximity = 0.25);
INSERT INTO score_parts SELECT * FROM score_docs WHERE id > 60;
TRUNCATE score_truth;
INSERT INTO score_truth SELECT * FROM score_parts;
SELECT * FROM score_compare('score_parts_body', 2, 0.75, 0.25, '{1,1,1,1}');
TRUNCATE score_truth;
INSERT INTO score_truth SELECT * FROM score_parts_4;
SELECT * FROM score_compare('score_parts_4_body_idx', 2, 0.75, 0.25, '{1,1,1,1}');
-- no documents at all
CREATE INDEX score_empty ON score_docs USING skipidx (body) WITH (proximity = 0.25) WHERE id < 0;
SELECT round(skipidx_bm25('score_empty', 'a:1 b:2', 'a & b & c')::numeric, 4) AS bm25,
	round(skipidx_proximity('score_empty', 'a:1 b:2', 'a & b')::numeric, 4) AS proximity;

--
-- One snapshot, one statistics
--
CREATE TABLE score_pins (id int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO score_pins SELECT i, 'common:1 rare:2' FROM generate_series(1, 9) i;
CREATE INDEX score_pins_body ON score_pins USING skipidx (body);
CREATE FUNCTION score_of(q tsquery) RETURNS numeric LANGUAGE sql AS $$
	SELECT round(skipidx_bm25('score_pins_body', 'common:1 rare:2 rarer:3', q)::numeric, 4)
$$;
-- a cursor's snapshot goes by what it sees, not by when it is asked
BEGIN;
DECLARE c CURSOR FOR SELECT id, round(skipidx_bm25('score_pins_body', body, 'common')::numeric, 4) FROM score_pins;
FETCH 2 FROM c;
INSERT INTO score_pins SELECT i, 'common:1' FROM generate_series(10, 90) i;
SELECT score_of('common');
FETCH 2 FROM c;
SELECT score_of('common');
ROLLBACK;
SELECT score_of('common');
SELECT skipidx_flush('score_pins_body');
VACUUM score_pins;
SELECT score_of('common');
-- more snapshots at a time than are kept
BEGIN;
DO $$
DECLARE
	scores numeric[];
	i int;
BEGIN
	FOR i IN 1..80 LOOP
		EXECUTE format('DECLARE c%s CURSOR FOR SELECT round(skipidx_bm25(%L, body, %L)::numeric, 4) FROM score_pins WHERE id <= 2',
			i, 'score_pins_body', 'common & rare');
		EXECUTE format('FETCH c%s', i);
		INSERT INTO score_pins VALUES (1000 + i, 'rare:1');
		scores := scores || score_of('rare');
	END LOOP;
	RAISE INFO '% scores, % distinct', cardinality(scores), (SELECT count(DISTINCT s) FROM unnest(scores) s);
END $$;
FETCH c1;
FETCH c2;
FETCH c80;
ROLLBACK;
-- command ids come again after a savepoint, the file does not
BEGIN;
SAVEPOINT s;
TRUNCATE score_pins;
INSERT INTO score_pins SELECT i, 'common:1' FROM generate_series(1, 3) i;
SELECT score_of('common'), score_of('rare');
ROLLBACK TO s;
SELECT score_of('common'), score_of('rare');
SAVEPOINT t;
INSERT INTO score_pins VALUES (1, 'rare:1 rarer:2');
SELECT score_of('rarer');
REINDEX INDEX score_pins_body;
SELECT score_of('rarer');
ROLLBACK TO t;
SELECT score_of('rarer'), score_of('common');
COMMIT;
-- more words than are remembered between queries
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT score_of('common');
SELECT round(sum(score_of(q)), 4) AS many FROM generate_series(1, 3) i,
	LATERAL (SELECT skipidx_any('simple', string_agg('word' || 10000 * i + j, ' ')) || 'rare' FROM generate_series(1, 9999) j) s(q);
SELECT score_of('common'), score_of('rare | word10001');
COMMIT;
-- files of partitions do not come again either
BEGIN;
SAVEPOINT s;
TRUNCATE score_parts_4;
SELECT round(skipidx_bm25('score_parts_body', 'w9:1', 'w9')::numeric, 4) AS truncated;
ROLLBACK TO s;
SELECT round(skipidx_bm25('score_parts_body', 'w9:1', 'w9')::numeric, 4) AS whole;
COMMIT;
-- a file that is replaced while its statistics are in use
CREATE FUNCTION score_replace() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE score_pins, score_parts_4;
	INSERT INTO score_pins SELECT i, 'common:1 rare:2' FROM generate_series(1, 9) i;
END $$;
BEGIN;
SELECT i, CASE WHEN i % 2 = 0 THEN round(skipidx_bm25('score_pins_body', 'common:1 rare:2', q)::numeric, 4)
	ELSE round(skipidx_bm25('score_parts_body', 'w1:1 w2:2', q)::numeric, 4) END AS score, CASE WHEN i = 2 THEN score_replace() END
FROM (VALUES (1, 'w1'::tsquery), (2, 'common'), (3, 'w2'), (4, 'rare'), (5, 'w1'), (6, 'common')) v(i, q);
ROLLBACK;
-- prepared, with parameters, in PL/pgSQL over several transactions
PREPARE score_prepared(tsquery) AS SELECT round(skipidx_bm25('score_pins_body', 'common:1 rare:2', $1)::numeric, 4);
EXECUTE score_prepared('common');
EXECUTE score_prepared('rare');
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		INSERT INTO score_pins VALUES (i, 'common:1');
		COMMIT;
		RAISE INFO '%', round(skipidx_bm25('score_pins_body', 'common:1', 'common')::numeric, 4);
	END LOOP;
END $$;
EXECUTE score_prepared('common');

--
-- One row explained
--
CREATE TABLE score_rows (id int, body tsvector, txt text);
INSERT INTO score_rows VALUES
	(1, 'quick:1 brown:2 fox:3A', 'the quick'), (2, 'fox:1,20 quick:2', 'fox'), (3, NULL, NULL), (4, '', ''),
	(5, 'foxes quick', 'foxes quick');
CREATE INDEX score_rows_body ON score_rows USING skipidx (body) WITH (proximity = 0.25);
CREATE FUNCTION explained(i int, q tsquery, OUT part text, OUT word text, OUT df int8, OUT idf numeric, OUT tf float4,
	OUT length int, OUT score numeric) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT part, word, df, round(idf::numeric, 4), tf, length, round(score::numeric, 4)
	FROM score_rows r, skipidx_explain_score('score_rows_body', r.ctid, q) WHERE id = i
$$;
SELECT * FROM explained(1, 'quick & (fox:* | fox:AB) & !brown & lazy');
SELECT * FROM explained(2, 'fox <-> quick');
SELECT * FROM explained(3, 'fox');
SELECT * FROM explained(4, 'fox');
SELECT * FROM explained(5, 'quick & fox');
SELECT * FROM explained(2, '');
SELECT id, skipidx_bm25('score_rows_body', body, q) + skipidx_proximity('score_rows_body', body, q) =
	(SELECT score FROM skipidx_explain_score('score_rows_body', r.ctid, q) WHERE part = 'total') AS same
FROM score_rows r, to_tsquery('simple', 'fox & quick') q ORDER BY id;
-- the expression of the index is evaluated
CREATE INDEX score_rows_txt ON score_rows USING skipidx (to_tsvector('simple', txt));
SELECT part, word, tf, length FROM score_rows r, skipidx_explain_score('score_rows_txt', r.ctid, 'quick') WHERE id = 1;
-- rows that are not there, or not seen
SELECT * FROM skipidx_explain_score('score_rows_body', '(0,77)', 'fox');
SELECT * FROM skipidx_explain_score('score_rows_body', '(7777,1)', 'fox');
SELECT * FROM skipidx_explain_score('score_rows_body', '(0,0)', 'fox');
UPDATE score_rows SET txt = 'changed' WHERE id = 1;
SELECT * FROM skipidx_explain_score('score_rows_body', '(0,1)', 'fox');

--
-- df of a prefix: of one lexeme that lexeme's, also where this is the prefix; of
-- several from the sum of theirs; the same however the rows are stored
--
CREATE TABLE score_spread (id int, body tsvector) WITH (autovacuum_enabled = off);
INSERT INTO score_spread SELECT i, format('only pa%s pb%s pb%s qa%s qb%s qc%s', i % 2, i % 4, 4 + i % 3, i % 2, i % 3, i % 5)::tsvector
	|| CASE WHEN i % 2 = 0 THEN 'half'::tsvector ELSE '' END
	|| CASE WHEN i % 4 = 0 THEN 'half2'::tsvector ELSE '' END
	|| CASE WHEN i % 5 = 0 THEN 'some1'::tsvector ELSE '' END
	|| CASE WHEN i % 100 = 0 THEN 'rare1 rare2'::tsvector ELSE '' END
FROM generate_series(1, 400) i;
CREATE TABLE score_stored (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX score_stored_body ON score_stored USING skipidx (body);
CREATE TABLE score_split (id int, body tsvector) PARTITION BY RANGE (id);
CREATE TABLE score_split_1 PARTITION OF score_split FOR VALUES FROM (1) TO (150);
CREATE TABLE score_split_2 PARTITION OF score_split FOR VALUES FROM (150) TO (401);
INSERT INTO score_split SELECT * FROM score_spread;
CREATE INDEX score_split_body ON score_split USING skipidx (body);
CREATE FUNCTION spread(OUT word text, OUT df int8, OUT idf numeric) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT word, df, round(idf::numeric, 4)
	FROM skipidx_explain_score('score_stored_body', '(0,1)',
		'only | only:* | half | half:* | half2:* | some:* | some1 | p:* | pb:* | q:* | rare:* | none:*')
	WHERE part = 'word'
$$;
-- what the words give the same document, by the idf of each
CREATE FUNCTION spread_scores(index regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s', q, skipidx_bm25(index, 'only half half2 some1 pa1 pb1 q1 rare1', q))
	FROM unnest('{only,only:*,half,half:*,half2:*,some:*,some1,p:*,pb:*,q:*,rare:*}'::tsquery[]) q
$$;
-- pending
INSERT INTO score_stored SELECT * FROM score_spread ORDER BY id;
CREATE TEMP TABLE spread_pending AS SELECT * FROM spread();
CREATE TEMP TABLE spread_scored AS SELECT * FROM spread_scores('score_stored_body');
SELECT * FROM spread_pending;
-- in segments and pending
TRUNCATE score_stored;
INSERT INTO score_stored SELECT * FROM score_spread WHERE id <= 200 ORDER BY id;
SELECT skipidx_flush('score_stored_body');
INSERT INTO score_stored SELECT * FROM score_spread WHERE id BETWEEN 201 AND 350 ORDER BY id;
SELECT skipidx_flush('score_stored_body');
INSERT INTO score_stored SELECT * FROM score_spread WHERE id > 350 ORDER BY id;
SELECT kind, ndocs FROM skipidx_segments('score_stored_body') ORDER BY 1, 2;
SELECT count(*) AS same FROM (SELECT * FROM spread() INTERSECT SELECT * FROM spread_pending) s;
-- in one
SELECT skipidx_flush('score_stored_body'), skipidx_merge('score_stored_body');
SELECT kind, ndocs FROM skipidx_segments('score_stored_body') ORDER BY 1, 2;
SELECT count(*) AS same FROM (SELECT * FROM spread() INTERSECT SELECT * FROM spread_pending) s;
-- in partitions
SELECT count(*) AS same FROM (SELECT * FROM spread_scores('score_split_body') INTERSECT SELECT * FROM spread_scored) s;
-- another lexeme of a prefix that had one
INSERT INTO score_stored SELECT i, 'only2 some2' FROM generate_series(1, 4) i;
SELECT * FROM spread() WHERE word ~ '^(only|some)';
-- so many words that they are not remembered
SELECT word, df, round(idf::numeric, 4) FROM skipidx_explain_score('score_stored_body', '(0,1)',
	(SELECT string_agg('w' || i, ' | ') || ' | half | half:* | p:*' FROM generate_series(1, 10000) i)::tsquery)
WHERE part = 'word' AND word !~ '^w';
DROP TABLE score_spread, score_stored, score_split, spread_pending, spread_scored;
DROP FUNCTION spread, spread_scores;

--
-- The words of a text
--
SELECT skipidx_any('simple', 'Red green, RED: blue'), skipidx_any('english', 'the of'), skipidx_any('english', 'running dogs'),
	skipidx_any('simple', ''), skipidx_any('simple', NULL), skipidx_any(NULL);
SET default_text_search_config = 'pg_catalog.english';
SELECT skipidx_any('The running dogs');
SELECT skipidx_any('simple', 'a') = 'a'::tsquery, skipidx_any('simple', 'c b a b') = 'c | b | a | b'::tsquery,
	skipidx_any('simple', 'http://x.y/z?a=b it''s \ & | ! ()')::text::tsquery = skipidx_any('simple', 'http://x.y/z?a=b it''s \ & | ! ()');
SELECT to_tsvector('simple', 'x y dogs') @@ skipidx_any('simple', 'dogs bite') AS matches,
	to_tsvector('simple', 'x y') @@ skipidx_any('simple', 'dogs bite') AS not;
SELECT numnode(skipidx_any('simple', string_agg('word' || i, ' '))) FROM generate_series(1, 1000) i;
SELECT skipidx_any('simple', string_agg(repeat('x', 1000) || i, ' ')) IS NOT NULL FROM generate_series(1, 1040) i;
-- of a word, as many as a tsvector keeps, and fewer where the query would be too long
SELECT numnode(skipidx_any('simple', repeat('a b ', 3000)));
SELECT numnode(skipidx_any('simple', string_agg(repeat('x', 1000) || i % 100, ' '))) FROM generate_series(1, 9000) i;

--
-- Words that a query repeats
--
CREATE TABLE score_repeats (id int, v tsvector);
INSERT INTO score_repeats SELECT i, CASE WHEN i % 3 = 0 THEN 'cat:1' WHEN i % 2 = 0 THEN 'dog:1' ELSE 'emu:1' END::tsvector FROM generate_series(1, 60) i;
CREATE INDEX score_repeats_v ON score_repeats USING skipidx (v) WITH (proximity = 0);
SELECT q, round(skipidx_bm25('score_repeats_v', 'cat:1', q)::numeric, 4) AS cat, round(skipidx_bm25('score_repeats_v', 'dog:1', q)::numeric, 4) AS dog
	FROM unnest(ARRAY['cat | dog', 'cat | cat | cat | dog', 'cat & dog & cat & !cat', 'ca:* | dog | ca:*', 'cat:A | cat:D | dog']::tsquery[]) q;
-- rarer, but asked for once
SELECT id % 3 AS cat, count(*) FROM (SELECT id FROM score_repeats ORDER BY v <@> 'emu | emu | cat'::tsquery LIMIT 20) x GROUP BY 1 ORDER BY 1;
SELECT id % 3 AS cat, count(*) FROM (SELECT id FROM score_repeats ORDER BY v <@> 'emu | cat | cat'::tsquery LIMIT 20) x GROUP BY 1 ORDER BY 1;
SELECT part, word, df, tf FROM skipidx_explain_score('score_repeats_v', '(0,3)', 'cat | dog | cat');
-- no more than counts
SELECT skipidx_bm25('score_repeats_v', 'cat:1', skipidx_any('simple', repeat('cat ', 300))) =
	skipidx_bm25('score_repeats_v', 'cat:1', (repeat('cat | ', 999) || 'cat')::tsquery) AS same;
DROP TABLE score_repeats;

--
-- Refusals
--
CREATE INDEX score_rows_gin ON score_rows USING gin (body);
SELECT skipidx_bm25('score_rows_gin', 'fox', 'fox');
SELECT skipidx_bm25('score_rows', 'fox', 'fox');
SELECT skipidx_bm25(0, 'fox', 'fox');
SELECT * FROM skipidx_search('score_rows_gin', 'fox');
SELECT * FROM skipidx_explain_score('score_parts_body', '(0,1)', 'fox');
SELECT * FROM skipidx_search('score_parts_body', 'fox');
SELECT skipidx_bm25('score_rows_body', NULL, 'fox') IS NULL AND skipidx_bm25('score_rows_body', 'fox', NULL) IS NULL AS strict;

-- privileges: SELECT on the columns of the index, and no policy
CREATE ROLE regress_score;
CREATE INDEX score_rows_partial ON score_rows USING skipidx (body) WHERE id > 1;
SET ROLE regress_score;
SELECT skipidx_bm25('score_rows_body', 'fox', 'fox');
SELECT skipidx_proximity('score_rows_body', 'fox', 'fox');
SELECT * FROM skipidx_explain_score('score_rows_body', '(0,2)', 'fox');
SELECT * FROM skipidx_search('score_rows_body', 'fox');
RESET ROLE;
GRANT SELECT (body) ON score_rows TO regress_score;
SET ROLE regress_score;
SELECT skipidx_bm25('score_rows_body', 'fox', 'fox') > 0;
SELECT count(*) FROM skipidx_explain_score('score_rows_body', '(0,2)', 'fox');
SELECT skipidx_bm25('score_rows_txt', 'fox', 'fox') > 0;
SELECT skipidx_bm25('score_rows_partial', 'fox', 'fox') > 0;
RESET ROLE;
GRANT SELECT (id) ON score_rows TO regress_score;
SET ROLE regress_score;
SELECT skipidx_bm25('score_rows_partial', 'fox', 'fox') > 0;
RESET ROLE;
GRANT SELECT ON score_rows TO regress_score;
ALTER TABLE score_rows ENABLE ROW LEVEL SECURITY;
SELECT skipidx_bm25('score_rows_body', 'fox', 'fox') > 0 AS owner;
SET ROLE regress_score;
SELECT skipidx_bm25('score_rows_body', 'fox', 'fox');
SELECT * FROM skipidx_search('score_rows_body', 'fox');
RESET ROLE;
-- whoever asks, in one query
ALTER TABLE score_rows DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON score_rows FROM regress_score;
CREATE FUNCTION as_other(r name) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('role', r, true); RETURN true; END $$;
BEGIN;
SELECT as_other(r), skipidx_bm25('score_rows_body', 'fox', 'fox') > 0 FROM (VALUES ('none'), ('regress_score')) v(r);
ROLLBACK;

DROP TABLE score_docs, score_truth, score_queries, score_parts, score_pins, score_rows CASCADE;
DROP FUNCTION score_parsed, score_tf, score_positions, score_near, score_terms, score_reference, score_compare, score_search, score_searches, score_document, score_of,
	score_replace, explained, as_other;
DROP TYPE score_term;
DROP ROLE regress_score;
