--
-- What values of a row add to the distance of its words, or multiply it by:
-- values against SQL's own arithmetic, ends, what is refused, and plans
--
-- Holds: functions 25
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
SET TimeZone = 'UTC';
SET extra_float_digits = 3;

-- Half of the weight is left after each half-life; what is later counts as now.
SELECT d, skipidx_recency(timestamptz '2026-01-31 00:00Z' - d * interval '1 day', '30 days', 2, '2026-01-31 00:00Z') AS instant,
	skipidx_recency(timestamp '2026-01-31 00:00' - d * interval '1 day', '30 days', 2, '2026-01-31 00:00') AS local,
	skipidx_recency(date '2026-01-31' - d, '30 days', 2, '2026-01-31') AS day,
	skipidx_decay(date '2026-01-31' - d, '30 days', 0, '2026-01-31') AS decay,
	skipidx_decay(timestamptz '2026-01-31 00:00Z' - d * interval '1 day', '30 days', .25, '2026-01-31 00:00Z') AS floored
FROM unnest('{-10,0,15,30,60,90,5000}'::int[]) d;

-- The same as SQL has it, to seven digits.
SELECT count(*) AS compared, max(abs(skipidx_recency(at, h, w, t) - -w * 2 ^ (-extract(epoch FROM t - at) / extract(epoch FROM h))) / w) < 1e-6 AS near
FROM (SELECT timestamptz '2026-01-01' AS t, timestamptz '2026-01-01' - i * interval '7 hours 11 seconds' AS at FROM generate_series(0, 400, 7) i) x,
	unnest('{1 day,1 month,1 year 2 mons,36 hours,1.5 seconds}'::interval[]) h, unnest('{.1,1,7}'::float8[]) w;
SELECT count(*) AS compared, max(abs(skipidx_log1p(v, w) / -(w * ln(1 + v)) - 1)) < 1e-6 AS log1p,
	max(abs(skipidx_saturation(v, 12, w) / -(w * v / (v + 12)) - 1)) < 1e-6 AS saturation,
	max(abs(skipidx_near(v, 100, 12, w) / -(w * 12 / (12 + abs(v - 100))) - 1)) < 1e-6 AS near
FROM (SELECT 1.3 ^ i AS v FROM generate_series(-20, 100) i) x, unnest('{.1,1,-7}'::float8[]) w;

-- Nearness of numbers and of instants, before and after.
SELECT skipidx_near(90, 100, 10), skipidx_near(110, 100, 10, -3), skipidx_near(numeric '99.5', 100, 0.5),
	skipidx_near(date '2026-01-01', '2026-01-11', '10 days'), skipidx_near(timestamp '2026-01-01 12:00', '2026-01-01 00:00', '12 hours'),
	skipidx_near(timestamptz '2026-01-01 12:00Z', '2026-01-02 00:00Z', '12 hours', 4);

-- Popularity, and a condition.
SELECT v, skipidx_saturation(v, 100), skipidx_log1p(v, 10) FROM unnest('{-5,0,1,100,1e6,1e308}'::float8[]) v;
SELECT skipidx_boost(true), skipidx_boost(true, .5), skipidx_boost(false, .5), skipidx_boost(NULL, .5), skipidx_boost(1 > 0, -2);

-- A row without a value, infinite values, and NaN; no result is -0.
SELECT skipidx_recency(v, '1 day', -1, '2026-01-01'), skipidx_decay(v, '1 day', .5, '2026-01-01'), skipidx_decay(v, '1 day', as_of => '2026-01-01'),
	skipidx_near(v, '2026-01-01', '1 day')
FROM unnest('{NULL,infinity,-infinity}'::timestamptz[]) v;
SELECT skipidx_recency(v, '1 day', 1, '2026-01-01'), skipidx_decay(v, '1 day', .5, '2026-01-01'), skipidx_near(v, '2026-01-01', '1 day')
FROM unnest('{NULL,infinity,-infinity}'::date[]) v;
SELECT v, skipidx_saturation(v, 1), skipidx_log1p(v), skipidx_near(v, 0, 1), skipidx_near(v, 0, 1, 0)
FROM unnest('{NULL,NaN,Infinity,-Infinity,0}'::float8[]) v;

-- The defaults tell age by the transaction's start.
SELECT skipidx_recency(now() - interval '1 day', '1 day') AS instant, skipidx_recency(LOCALTIMESTAMP - interval '1 day', '1 day') AS local,
	skipidx_recency(CURRENT_DATE - 1, '1 day') AS day, skipidx_decay(now() - interval '2 days', '1 day') AS decay;

-- What is refused, whatever the row.
SELECT skipidx_recency(NULL::date, '0 days');
SELECT skipidx_recency(date '2026-01-01', '-1 day');
SELECT skipidx_recency(date '2026-01-01', NULL);
SELECT skipidx_recency(date '2026-01-01', '1 day', 'NaN');
SELECT skipidx_recency(date '2026-01-01', '1 day', 'Infinity');
SELECT skipidx_recency(date '2026-01-01', '1 day', 1e31);
SELECT skipidx_recency(date '2026-01-01', '1 day', 1, NULL);
SELECT skipidx_recency(date '2026-01-01', '1 day', 1, 'infinity');
SELECT skipidx_recency(NULL::timestamptz, '1 day', 1, '-infinity');
SELECT skipidx_decay(date '2026-01-01', '1 day', 1.01);
SELECT skipidx_decay(date '2026-01-01', '1 day', 'NaN');
SELECT skipidx_decay(NULL::timestamp, '1 day', NULL);
SELECT skipidx_near(1, 'Infinity', 1);
SELECT skipidx_near(1, 'NaN', 1);
SELECT skipidx_near(1, 1, 0);
SELECT skipidx_near(NULL::float8, 1, 'NaN');
SELECT skipidx_near(date '2026-01-01', 'infinity', '1 day');
SELECT skipidx_near(date '2026-01-01', '2026-01-01', '0');
SELECT skipidx_saturation(1, 0);
SELECT skipidx_saturation(1, 'Infinity');
SELECT skipidx_saturation(NULL, 1, NULL);
SELECT skipidx_log1p(1, 'NaN');
SELECT skipidx_boost(NULL, NULL);
-- and, from 17 on, an infinite interval; before there is none
DO $$ DECLARE f text;
BEGIN
	FOREACH f IN ARRAY '{"recency(d, i, 1, d)","decay(d, i, 0, d)","near(d, d, i)"}'::text[] LOOP
		BEGIN
			EXECUTE format('SELECT skipidx_%s FROM (SELECT date ''2026-01-01'' AS d, ''infinity''::text::interval AS i) x', f);
			RAISE WARNING '% takes an infinite interval', f;
		EXCEPTION WHEN invalid_parameter_value OR invalid_datetime_format THEN NULL;
		END;
	END LOOP;
END $$;

-- Beside words: what is written is what is computed, in float4, whatever the plan.
CREATE TABLE prior (id int, tsv tsvector, sent timestamptz, clicks bigint, category text);
INSERT INTO prior SELECT i, to_tsvector('simple', concat_ws(' ', CASE WHEN i % 3 = 0 THEN 'skip' END, CASE WHEN i % 5 = 0 THEN 'list skip' END, 'word' || i % 11)),
	timestamptz '2026-01-01 00:00Z' - i * i % 97 * interval '1 day', nullif(i * 7 % 1000, 0), (ARRAY['faq', 'post', NULL])[1 + i % 3]
FROM generate_series(1, 3000) i;
CREATE INDEX prior_tsv ON prior USING skipidx (tsv, sent, clicks);
VACUUM ANALYZE prior;
CREATE VIEW prior_ranked AS
SELECT id, tsv, tsv <@> 'skip | list'::tsquery AS words,
	(tsv <@> 'skip | list'::tsquery) + skipidx_recency(sent, '30 days', 2, '2026-01-01') + skipidx_saturation(clicks, 100) + skipidx_boost(category = 'faq', .5) AS sum,
	(tsv <@> 'skip | list'::tsquery) * skipidx_decay(sent, '30 days', .5, '2026-01-01') AS product
FROM prior;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM prior WHERE tsv @@ 'skip | list' ORDER BY (tsv <@> 'skip | list') + skipidx_recency(sent, '30 days', 2, '2026-01-01'), id LIMIT 5;
SELECT id, words, sum FROM prior_ranked WHERE tsv @@ 'skip | list' ORDER BY sum, id LIMIT 5;
SELECT id, words, product FROM prior_ranked WHERE tsv @@ 'skip | list' ORDER BY product, id LIMIT 5;
CREATE TABLE prior_indexed AS SELECT * FROM prior_ranked WHERE tsv @@ 'skip | list';
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET skipidx.enable_custom_scan = off;
SELECT id, words, sum FROM prior_ranked WHERE tsv @@ 'skip | list' ORDER BY sum, id LIMIT 5;
SELECT count(*) AS rows, count(*) FILTER (WHERE p.words = r.words AND p.sum = r.sum AND p.product = r.product) AS equal,
	count(*) FILTER (WHERE r.sum = r.words + skipidx_recency(t.sent, '30 days', 2, '2026-01-01') + skipidx_saturation(t.clicks, 100) + skipidx_boost(t.category = 'faq', .5)) AS sums
FROM prior_indexed p JOIN prior_ranked r USING (id) JOIN prior t USING (id);
DROP TABLE prior_indexed;
DROP VIEW prior_ranked;
DROP TABLE prior;
