-- What a golden data directory holds, before a kill (make.sh): indexes with
-- several segments, pending rows, deleted bits, and pages that wait.
\set ON_ERROR_STOP on
SET timezone = 'UTC';
SET client_min_messages = warning;
SET maintenance_work_mem = '64MB';

CREATE EXTENSION skipidx;
CREATE TYPE mood AS ENUM ('calm', 'loud', 'lost');

-- Words by rank: w0 is frequent, w60 is rare; neighbours, labels, and words
-- without positions.
CREATE FUNCTION document(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 97 = 5 THEN NULL WHEN i % 89 = 7 THEN '' WHEN i % 83 = 3 THEN 'bare alone'
		ELSE (SELECT string_agg(format('w%s:%s%s', floor(exp((hashint4(i * 31 + p) & 65535) / 65536.0 * 4.1) - 1), p,
			CASE WHEN p <= 2 THEN 'A' WHEN p % 5 = 0 THEN 'C' ELSE '' END), ' ')
			FROM generate_series(1, 4 + (hashint4(i) & 15)) p) || ' all:30 u' || i END::tsvector
$$;

CREATE TABLE docs (id int PRIMARY KEY, v tsvector, body text, tenant int, price numeric, sent timestamptz,
	day date, tags text[], name text, shown boolean, feeling mood);

CREATE PROCEDURE fill(first int, n int) LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, document(i),
		CASE WHEN i % 5 = 0 THEN 'write ahead log ' ELSE 'the log is ahead ' END || 'number' || i % 300 || ' of page w' || i % 20,
		nullif(i % 13, 12), (i * 7919 % 10007) / 100.0 - 20, timestamptz '2020-01-01 UTC' + i * interval '7 hours',
		date '2021-06-01' + i % 400, CASE WHEN i % 11 = 0 THEN '{}'::text[] WHEN i % 17 = 0 THEN NULL ELSE ARRAY['t' || i % 7, 't' || i % 10] END,
		'name ' || chr(65 + i % 26) || i % 50, nullif(i % 3, 2) = 1, (ARRAY['calm', 'loud', 'lost', NULL])[i % 4 + 1]::mood
	FROM generate_series(first, first + n - 1) i
$$;

CALL fill(1, 2500);
CREATE INDEX docs_plain ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '1GB');
CREATE INDEX docs_columns ON docs USING skipidx (v, tenant, price, sent, day, tags, name, shown, feeling)
	WITH (block_size = '16kB', pending_limit = '1GB', weights = '{0.2,0.4,0.6,1.0}');
CREATE INDEX docs_words ON docs USING skipidx (to_tsvector('simple', body)) WITH (pending_limit = '1GB');
CREATE INDEX docs_some ON docs USING skipidx (v) WHERE tenant < 3;

-- one long document, which has a chain of pages while it is pending
INSERT INTO docs (id, v) SELECT 100000, string_agg('w' || i % 40 || ':' || i, ' ')::tsvector FROM generate_series(1, 9000) i;
CALL fill(3001, 700);
SELECT skipidx_flush('docs_plain'), skipidx_flush('docs_columns'), skipidx_flush('docs_words') \g /dev/null
CALL fill(4001, 500);
SELECT skipidx_flush('docs_plain'), skipidx_flush('docs_columns'), skipidx_flush('docs_words') \g /dev/null
CALL fill(5001, 300);
SELECT skipidx_flush('docs_plain'), skipidx_flush('docs_columns'), skipidx_flush('docs_words') \g /dev/null
DELETE FROM docs WHERE id % 19 = 4;
VACUUM (INDEX_CLEANUP on) docs;

CREATE UNLOGGED TABLE fleeting (id int, v tsvector);
CREATE INDEX fleeting_v ON fleeting USING skipidx (v);

-- what is pending at the end
CALL fill(6001, 150);
INSERT INTO docs (id, v) SELECT 100001, string_agg('w' || i % 30 || ':' || i, ' ')::tsvector FROM generate_series(1, 9000) i;
DELETE FROM docs WHERE id BETWEEN 6001 AND 6005;
