--
-- Conjunctions, phrases, disjunctions and negations of words that are in many
-- documents, over segments of many windows: each kind of scan against the
-- sequential scan
--
-- Holds: query 1
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE windows (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX windows_body ON windows USING skipidx (body) WITH (block_size = '8kB', pending_limit = '1GB');

-- Words w0 to w12, the first ones in most documents
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO windows SELECT i, (SELECT string_agg('w' || (h / 65536.0 * h / 65536.0 * 12)::int || ':' || p, ' ')
		FROM (SELECT p, hashint4extended(i, p) & 65535 AS h FROM generate_series(1, 3 + i % 9) p) h)::tsvector
	FROM generate_series(first, last) i
$$;
SELECT fill(1, 12000);
REINDEX INDEX windows_body;
SELECT fill(12001, 21000), skipidx_flush('windows_body');
DELETE FROM windows WHERE id % 7 = 0;
VACUUM windows;
SELECT segments, ndocs FROM skipidx_stats('windows_body');

CREATE FUNCTION answer(q tsquery, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n int8 := 0;
	sum int8 := 0;
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
		set_config('enable_indexscan', (mode = 'plain')::text, true);
	EXECUTE 'SELECT count(*), sum(hashint4extended(id, 0) & 1048575) FROM windows WHERE body @@ $1' INTO n, sum USING q;
	RETURN n || ' ' || coalesce(sum, 0);
END $$;

-- What the kinds disagree about
SELECT q, answer(q, 'seq') AS seq, answer(q, 'bitmap') AS bitmap, answer(q, 'plain') AS plain
FROM (SELECT format(form, 'w' || a, 'w' || b, 'w' || c)::tsquery AS q
	FROM unnest(ARRAY['%s <-> %s & %s', '%s & %s <-> %s', '%s <-> %s & !%s', '%s <-> %s | %s', '%s & %s & %s',
		'(%s | %s) <-> %s', '%s <2> %s & %s', '%s & (%s <-> %s | w12)', '!%s & %s <-> %s', '(%s <-> %s) <-> %s']) form,
		(VALUES (0, 0, 0), (0, 1, 2), (1, 0, 6), (0, 0, 12), (12, 0, 1), (3, 2, 11), (5, 5, 0), (0, 8, 8)) w (a, b, c)) queries
WHERE answer(q, 'seq') <> answer(q, 'bitmap') OR answer(q, 'seq') <> answer(q, 'plain');
SELECT answer('w0 <-> w0 & w6', 'seq') AS some;

DROP TABLE windows;
DROP FUNCTION fill, answer;
