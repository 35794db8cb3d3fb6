--
-- Pages used again: what rounds of inserts, deletes and VACUUM leave is taken
-- by the next, whatever the sizes of its pieces are
--
-- Holds: manifest 5, 6
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- By one process: pages that a worker has reserved, or waits to give back, come and
-- go with its speed.
SET skipidx.max_workers = 0;
-- One block is more than most pieces of extents that a stripe gives up.
CREATE TABLE reuse (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX reuse_body ON reuse USING skipidx (body) WITH (block_size = '1MB', pending_limit = '1MB');
CREATE TABLE reuse_size (round int, bytes int8);
SELECT step FROM generate_series(1, 32) round,
	LATERAL (VALUES (1, $$INSERT INTO reuse SELECT i, ('a:1 b:2 m' || i % 100 || ':3 ' || md5((i % 3000)::text))::tsvector
		FROM generate_series(1, 20000) i$$),
		(2, 'DELETE FROM reuse'),
		(3, 'VACUUM reuse'),
		(4, format('INSERT INTO reuse_size VALUES (%s, pg_relation_size(%L))', round, 'reuse_body'))) steps (n, step)
ORDER BY round, n \gexec
SELECT max(bytes) FILTER (WHERE round > 16) <= 1.25 * max(bytes) FILTER (WHERE round <= 16) AS bounded FROM reuse_size;
SELECT skipidx_check('reuse_body', true);

-- A root that is written past the allocated part and then not flipped to: the
-- page is in the way of nobody.
CREATE TABLE reuse_root (id int, body tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX reuse_root_body ON reuse_root USING skipidx (body) WITH (pending_limit = '1GB');
INSERT INTO reuse_root SELECT i, ('a:1 ' || md5(i::text))::tsvector FROM generate_series(1, 300) i;
SET skipidx.fault = 'root_written:error';
SELECT skipidx_flush('reuse_root_body');
RESET skipidx.fault;
INSERT INTO reuse_root SELECT i, ('a:1 ' || md5(i::text))::tsvector FROM generate_series(301, 20000) i;
SELECT count(*) FROM reuse_root WHERE body @@ 'a';
SELECT skipidx_check('reuse_root_body', true);
SELECT skipidx_flush('reuse_root_body');
SELECT skipidx_check('reuse_root_body', true);

DROP TABLE reuse, reuse_size, reuse_root;
