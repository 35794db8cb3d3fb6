--
-- skipidx_stats, skipidx_segments, skipidx_check, and the counters of reads
--
-- Holds: inspect 1, 2, 3, 4; pending 3
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
-- lists of every kind: in 600 rows, 130, 127, 3, 2 and 1; a row's last lexeme
-- twice, one row without positions
INSERT INTO docs SELECT i, ('all:1 ' || CASE WHEN i <= 130 THEN 'long:2 ' ELSE '' END
	|| CASE WHEN i <= 127 THEN 'short:3 ' ELSE '' END
	|| CASE WHEN i <= 3 THEN 'three:4 ' ELSE '' END
	|| CASE WHEN i <= 2 THEN 'two:5 ' ELSE '' END
	|| CASE WHEN i = 1 THEN 'one:6 ' ELSE '' END || 'last:8,9')::tsvector FROM generate_series(1, 600) i;
INSERT INTO docs VALUES (601, NULL), (602, ''), (603, 'bare vector');
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = '16kB');

\x on
SELECT block_size, format_version, ndocs, deleted, null_docs, total_length, round(avg_length::numeric, 4) AS avg_length,
	terms, postings, positions, segments, pending_docs, pending_dead, pending_bytes, pending_pages, stripes
FROM skipidx_stats('docs_body');
SELECT segment, level, block_size, ndocs, deleted, null_docs, terms, postings, positions, total_length,
	tid_pages, norm_pages, key_pages, dict_pages, posting_pages, position_pages, delete_pages
FROM skipidx_segments('docs_body') WHERE kind = 'segment';
\x off
-- What pages are there for; together they are the file.
SELECT kind, segment, level, ndocs, deleted, pages, bytes, waiting_for, null_docs, total_length FROM skipidx_segments('docs_body');
CREATE VIEW parts_and_file AS
	SELECT sum(pages) AS parts, file_pages,
		sum(pages) FILTER (WHERE kind = 'waiting') AS waiting, waiting_pages,
		sum(pages) FILTER (WHERE kind IN ('flush', 'merge')) AS reserved, reserved_pages
	FROM skipidx_segments('docs_body'), skipidx_stats('docs_body') GROUP BY file_pages, waiting_pages, reserved_pages;
SELECT parts = file_pages AS all, waiting, waiting_pages, reserved, reserved_pages FROM parts_and_file;
-- which is what the rows hold
SELECT count(*) AS ndocs, count(*) FILTER (WHERE body IS NULL) AS null_docs,
	(SELECT sum(greatest(cardinality(positions), 1)) FROM docs, unnest(body)) AS total_length,
	(SELECT count(DISTINCT lexeme) FROM docs, unnest(body)) AS terms,
	(SELECT count(*) FROM docs, unnest(body)) AS postings,
	(SELECT sum(cardinality(positions)) FROM docs, unnest(body)) AS positions
FROM docs;
SELECT file_pages = pg_relation_size('docs_body') / 8192 AS file_pages FROM skipidx_stats('docs_body');

-- Totals follow every change at once.
INSERT INTO docs SELECT 1000 + i, 'pending:1 list:2' FROM generate_series(1, 20) i;
INSERT INTO docs VALUES (1100, NULL);
SELECT ndocs, deleted, null_docs, total_length, pending_docs, pending_dead, pending_bytes > 0 AS bytes, pending_pages, segments
FROM skipidx_stats('docs_body');
SELECT kind, ndocs, deleted, null_docs, total_length, bytes > 0 AS bytes FROM skipidx_segments('docs_body') WHERE ndocs IS NOT NULL;
SELECT parts = file_pages AS all FROM parts_and_file;
-- What a flush gives up waits for the transactions of that moment.
BEGIN;
SET LOCAL skipidx.reuse_early = off;
INSERT INTO docs VALUES (1200, 'mine:1');
SELECT skipidx_flush('docs_body');
SELECT kind, sum(pages) > 0 AS pages, bool_and(waiting_for > pg_current_xact_id()) AS waits, max(segment) AS last
FROM skipidx_segments('docs_body') WHERE kind IN ('segment', 'waiting', 'flush', 'merge') GROUP BY kind ORDER BY kind;
SELECT parts = file_pages AS all, waiting = waiting_pages AS waiting, reserved_pages FROM parts_and_file;
COMMIT;
SELECT ndocs, pending_docs, pending_bytes, segments FROM skipidx_stats('docs_body');
SELECT skipidx_check('docs_body');
SELECT skipidx_check('docs_body', heapallindexed => true);

-- An index without rows has no segment.
CREATE TABLE empty (body tsvector);
CREATE INDEX empty_body ON empty USING skipidx (body);
SELECT ndocs, segments, terms, avg_length, pending_docs FROM skipidx_stats('empty_body');
SELECT kind, ndocs, deleted, pages, bytes FROM skipidx_segments('empty_body');
SELECT skipidx_check('empty_body', true);
-- All that a vector can be without a lexeme: the only term is that of NULL
INSERT INTO empty VALUES (NULL), ('');
REINDEX INDEX empty_body;
SELECT ndocs, null_docs, segments, terms FROM skipidx_stats('empty_body');
SELECT skipidx_check('empty_body', true);

-- What is not an index to look at
CREATE INDEX docs_id ON docs (id);
CREATE TABLE parts (body tsvector) PARTITION BY LIST (body);
CREATE INDEX parts_body ON parts USING skipidx (body);
SELECT skipidx_stats('docs');
SELECT skipidx_stats('docs_id');
SELECT skipidx_check('parts_body');
SELECT * FROM skipidx_segments('parts_body');
SELECT skipidx_stats(NULL) IS NULL AS strict;

-- Totals are for the owner and for monitoring, the checker for the owner.
CREATE ROLE regress_skipidx_reader;
CREATE ROLE regress_skipidx_monitor IN ROLE pg_read_all_stats;
GRANT SELECT ON docs TO regress_skipidx_reader;
SET ROLE regress_skipidx_reader;
SELECT ndocs FROM skipidx_stats('docs_body');
SELECT ndocs FROM skipidx_segments('docs_body');
SELECT skipidx_check('docs_body');
SET enable_seqscan = off;
SELECT count(*) FROM docs WHERE body @@ 'all & long';
SET ROLE regress_skipidx_monitor;
SELECT ndocs FROM skipidx_stats('docs_body');
SELECT skipidx_check('docs_body');
SELECT count(*) FROM docs WHERE body @@ 'all';
RESET ROLE;

-- The work of a query: differences of counters
CREATE FUNCTION work(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	a record;
	b record;
	n int;
BEGIN
	SELECT * INTO a FROM skipidx_work(), skipidx_io_totals() WHERE scope = 'session';
	SELECT count(*) INTO n FROM docs WHERE body @@ q;
	SELECT * INTO b FROM skipidx_work(), skipidx_io_totals() WHERE scope = 'session';
	RETURN format('%s rows, %s sub-blocks, %s position blocks', n,
		b.subblocks + b.windows_filled - a.subblocks - a.windows_filled, b.positions - a.positions);
END $$;
SELECT q, work(q::tsquery) FROM unnest(ARRAY['nosuch', 'one', 'short', 'long', 'all', 'short & long', 'long <-> short']) q;
SELECT scope, pins >= hits AS pins, hits > 0 AS hits FROM skipidx_io_totals() ORDER BY 1;
SELECT pinned, bytes > 0 AS bytes, frames > 0 AS frames, frames_used > 0 AS used FROM skipidx_cache();

DROP VIEW parts_and_file;
DROP TABLE docs, empty, parts;
DROP FUNCTION work;
DROP ROLE regress_skipidx_reader, regress_skipidx_monitor;
