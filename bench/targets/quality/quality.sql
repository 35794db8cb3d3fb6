-- quality.sql: nDCG@10 of ranked scans over a collection with judgments; loaded
-- by quality.py and by a test.
--
-- Fill rows (id, title, body), queries (qid, body) and qrels (qid, docid,
-- grade), then CALL collect(), then ask ndcg() after each change of the index
-- docs_tsv.  Gains are the grades as they are; queries without a relevant
-- document count 0; equal scores come in the order of the collection.
--
-- Text is what its letters and digits are: the parser of the english
-- configuration takes a compound as a whole and in its parts, which would count
-- its words twice.

CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE rows (n serial, id text, title text, body text);
CREATE TABLE queries (qid text PRIMARY KEY, body text);
CREATE TABLE qrels (qid text, docid text, grade int);
CREATE TABLE docs (n int, id text, tsv tsvector);

CREATE FUNCTION plain(txt text) RETURNS text LANGUAGE sql IMMUTABLE
AS $$ SELECT regexp_replace(lower(txt), '[^a-z0-9]+', ' ', 'g') $$;

CREATE PROCEDURE collect() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO docs SELECT n, id, to_tsvector('english', plain(coalesce(title, '') || ' ' || coalesce(body, '')))
		FROM rows ORDER BY n;
	CREATE INDEX docs_tsv ON docs USING skipidx (tsv);
END $$;

-- The first ten of every query, by the index; forgiving: by what each word may
-- have been meant to be.
CREATE FUNCTION firsts(forgiving bool DEFAULT false) RETURNS TABLE (qid text, place int8, docid text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
	one record;
BEGIN
	FOR one IN SELECT q.qid, skipidx_any('english', plain(q.body)) AS q FROM queries q LOOP
		IF forgiving THEN
			RETURN QUERY EXECUTE 'SELECT $1, row_number() OVER (), id FROM'
				' (SELECT id FROM docs WHERE tsv @@ $2 ORDER BY tsv <@> $3 LIMIT 10) x' USING one.qid,
				skipidx_expand_query('docs_tsv', one.q), skipidx_expand('docs_tsv', one.q);
		ELSE
			RETURN QUERY EXECUTE 'SELECT $1, row_number() OVER (), id FROM'
				' (SELECT id FROM docs WHERE tsv @@ $2 ORDER BY tsv <@> $2 LIMIT 10) x' USING one.qid, one.q;
		END IF;
	END LOOP;
END $$;

CREATE FUNCTION ndcg(forgiving bool DEFAULT false) RETURNS TABLE (qid text, ndcg float8) LANGUAGE sql AS $$
	WITH got AS (SELECT f.qid, sum(r.grade / ln(f.place + 1)) AS gain
		FROM firsts(forgiving) f JOIN qrels r USING (qid, docid) GROUP BY 1),
	best AS (SELECT qid, sum(grade / ln(place + 1)) AS gain FROM (SELECT qid, grade,
		row_number() OVER (PARTITION BY qid ORDER BY grade DESC) AS place FROM qrels) x
		WHERE place <= 10 GROUP BY 1)
	SELECT qid, coalesce(got.gain / nullif(best.gain, 0), 0) FROM queries
		JOIN best USING (qid) LEFT JOIN got USING (qid)
$$;
