--
-- What reading has cost, the block cache, and who may touch it
--
-- Holds: inspect 4
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
INSERT INTO docs SELECT i, ('all:1 b' || i % 2 || ':2 t' || i || ':3')::tsvector FROM generate_series(1, 2000) i;
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '16kB');

-- A cache that begins empty: pages are read once, and then they are there.
SELECT skipidx_cache_reset() >= 0 AS reset;
SELECT bytes > 0 AS bytes, frames_used, pinned FROM skipidx_cache();
SELECT pages - delete_pages - 1 AS pages FROM skipidx_segments('docs_body') WHERE kind = 'segment';
SELECT skipidx_prewarm('docs_body');
SELECT skipidx_prewarm('docs_body');
SELECT index, block_frames, page_frames, bytes FROM skipidx_cache_indexes() WHERE index = 'docs_body'::regclass;
CREATE FUNCTION pages_of(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a record;
	b record;
	n int;
BEGIN
	SELECT * INTO a FROM skipidx_io_totals() WHERE scope = 'session';
	SELECT count(*) INTO n FROM docs WHERE body @@ q;
	SELECT * INTO b FROM skipidx_io_totals() WHERE scope = 'session';
	RETURN format('%s rows, %s pages read', n, b.pages_read - a.pages_read);
END $$;
SET enable_seqscan = off;
SELECT q, pages_of(q::tsquery) FROM unnest(ARRAY['all', 'b1 & t77', 'b0 <-> t:*']) q;

-- Counts by method add up to the whole, and the view shows them.
SELECT count(*), count(DISTINCT method), bool_and(scope IN ('session', 'total')) FROM skipidx_io_methods();
SELECT method FROM skipidx_io;
SELECT sum(m.requests) = min(i.requests) AS requests, sum(m.pins) = min(i.pins) AS pins, sum(m.hits) = min(i.hits) AS hits
FROM skipidx_io_methods() m, skipidx_io_totals() i WHERE m.scope = 'session' AND i.scope = 'session';
SELECT bool_and(bytes % 8192 = 0 AND batches <= requests AND (requests = 0) = (mean_depth IS NULL)) AS sound,
	sum(requests) > 0 AS requests FROM skipidx_io;

-- What cannot be brought into memory
CREATE INDEX docs_id ON docs (id);
CREATE TABLE parts (body tsvector) PARTITION BY LIST (body);
CREATE INDEX parts_body ON parts USING skipidx (body);
SELECT skipidx_prewarm('docs');
SELECT skipidx_prewarm('docs_id');
SELECT skipidx_prewarm('parts_body');
SELECT skipidx_prewarm(NULL) IS NULL AS strict;
CREATE TABLE empty (body tsvector);
CREATE INDEX empty_body ON empty USING skipidx (body);
SELECT skipidx_prewarm('empty_body');
-- Temporary indexes are read into the session's own buffers.
CREATE TEMP TABLE mine (body tsvector);
INSERT INTO mine SELECT body FROM docs;
CREATE INDEX mine_body ON mine USING skipidx (body);
SELECT skipidx_prewarm('mine_body') >= 0 AS temporary;

-- Who may read the table may bring its index, but not drop what others use.
CREATE ROLE regress_skipidx_reader;
CREATE ROLE regress_skipidx_other;
GRANT SELECT ON docs TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT skipidx_prewarm('docs_body');
SELECT skipidx_cache_reset();
SELECT count(*) FROM skipidx_io;
SELECT count(*) > 0 AS rows FROM skipidx_cache_indexes();
SET ROLE regress_skipidx_other;
SELECT skipidx_prewarm('docs_body');
RESET ROLE;
GRANT EXECUTE ON FUNCTION skipidx_cache_reset() TO regress_skipidx_other;
SET ROLE regress_skipidx_other;
SELECT skipidx_cache_reset() > 0 AS reset;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION skipidx_cache_reset() FROM regress_skipidx_other;

-- What the whole server shares is not for a session to set.
SET skipidx.io_depth_total = 1;
SET skipidx.cache_size = '1GB';

DROP TABLE docs, parts, empty, mine;
DROP FUNCTION pages_of;
DROP ROLE regress_skipidx_reader, regress_skipidx_other;
