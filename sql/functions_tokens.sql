--
-- The last token of a page, in any version: max(bytea) is not in all of them.
--
-- Holds: none
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE docs (id int, tsv tsvector);
INSERT INTO docs SELECT i, to_tsvector('simple', repeat('cat ', 1 + i * 7 % 13) || 'dog' || i % 5) FROM generate_series(1, 95) i;
CREATE INDEX docs_idx ON docs USING skipidx (tsv);
CREATE FUNCTION pages(call text) RETURNS TABLE (page int, n bigint, ids int[]) LANGUAGE plpgsql AS $$
DECLARE
	last bytea;
	token bytea;
BEGIN
	FOR i IN 1 .. 9 LOOP
		page := i;
		last := token;
		EXECUTE format('CREATE TEMP TABLE rows_read AS SELECT d.id, s.token FROM %s s JOIN docs d ON d.ctid = s.ctid',
			replace(call, '$1', quote_nullable(last)));
		SELECT r.token INTO token FROM rows_read r ORDER BY r.token DESC LIMIT 1;
		SELECT count(*), array_agg(r.id) INTO n, ids FROM rows_read r;
		DROP TABLE rows_read;
		EXIT WHEN n = 0;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT page, n FROM pages($$skipidx_search('docs_idx', 'cat', 20, after => $1)$$);
SELECT count(*), count(DISTINCT id) FROM pages($$skipidx_search('docs_idx', 'cat', 20, after => $1)$$), unnest(ids) id;
SELECT page, n FROM pages($$skipidx_scroll('docs_idx', 'cat', max_rows => 40, after => $1)$$);
SELECT count(*), count(DISTINCT id) FROM pages($$skipidx_scroll('docs_idx', 'cat', max_rows => 40, after => $1)$$), unnest(ids) id;
DROP FUNCTION pages;
DROP TABLE docs;
