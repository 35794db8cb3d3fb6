-- The queries: for the built-in text by hand, for the reader's own from it.
SET client_min_messages = warning;
VACUUM (ANALYZE) docs;
SELECT count(*) AS rows, pg_size_pretty(pg_table_size('docs')) AS "table",
	round(avg(length(tsv))) AS "lexemes a row"
FROM docs;

SELECT :'own' <> 'yes' AS builtin \gset
\if :builtin
INSERT INTO demo_query (kind, query) VALUES
	('AND', to_tsquery('english', 'network & server')),
	('AND, rare and common', to_tsquery('english', 'regress & package')),
	('OR', to_tsquery('english', 'python | perl | ruby')),
	('AND NOT', to_tsquery('english', 'library & !development & !debug')),
	('NOT alone', to_tsquery('english', '!package & !library')),
	('phrase', phraseto_tsquery('english', 'command line interface')),
	('phrase, common words', phraseto_tsquery('english', 'this package contains')),
	('distance <3>', to_tsquery('english', 'read <3> file')),
	('NOT in a phrase', to_tsquery('english', '!shared <-> library')),
	('prefix', to_tsquery('english', 'crypto:* & data:*')),
	('weight: in the title', to_tsquery('english', 'python3:A & test')),
	('weight and prefix', to_tsquery('english', 'python3:A* & network'));
INSERT INTO demo_typed VALUES
	(101, 'play music files from the command line'),
	(102, 'convert images between file formats'),
	(103, 'find out which process uses the network'),
	(104, 'game where one builds a city');
\else
-- Lexemes at several depths of the frequency list of a sample, and the pairs
-- that most often stand side by side in it.
CREATE TEMP TABLE word AS
	SELECT word, row_number() OVER (ORDER BY ndoc DESC, word) AS n
	FROM ts_stat('SELECT tsv FROM docs WHERE ctid < ''(2000,0)'' LIMIT 5000')
	WHERE word ~ '^[a-z]{3,}$';
CREATE TEMP TABLE pair AS
	WITH place AS (
		SELECT d.id, l.lexeme, unnest(l.positions) AS position
		FROM (SELECT id, tsv FROM docs LIMIT 300) d, unnest(d.tsv) l
		WHERE l.lexeme ~ '^[a-z]{3,}$'
	)
	SELECT a.lexeme AS a, b.lexeme AS b,
		row_number() OVER (ORDER BY count(*) DESC, a.lexeme, b.lexeme) AS n
	FROM place a JOIN place b ON b.id = a.id AND b.position = a.position + 1
	WHERE a.lexeme <> b.lexeme
	GROUP BY a.lexeme, b.lexeme ORDER BY count(*) DESC LIMIT 20;
INSERT INTO demo_query (kind, query)
SELECT kind, form::tsquery FROM (
	SELECT array_agg(quote_literal(word) ORDER BY n) AS w FROM word WHERE n <= 3000) words,
	(SELECT array_agg(quote_literal(a) ORDER BY n) AS a,
		array_agg(quote_literal(b) ORDER BY n) AS b FROM pair) pairs,
	LATERAL (VALUES
	('AND', w[5] || ' & ' || w[9]),
	('AND, rare and common', least(w[1500], w[cardinality(w)]) || ' & ' || w[2]),
	('OR', w[12] || ' | ' || w[40] || ' | ' || w[90]),
	('AND NOT', w[3] || ' & !' || w[7]),
	('NOT alone', '!' || w[1] || ' & !' || w[2]),
	('phrase', a[6] || ' <-> ' || b[6]),
	('phrase, common words', a[1] || ' <-> ' || b[1]),
	('distance <3>', w[4] || ' <3> ' || w[8]),
	('NOT in a phrase', '!' || a[1] || ' <-> ' || b[1]),
	('prefix', quote_literal(left(trim(both '''' from w[60]), 3)) || ':* & ' ||
		quote_literal(left(trim(both '''' from w[80]), 3)) || ':*'),
	('weight: in the title', w[6] || ':A & ' || w[10]),
	('weight and prefix', quote_literal(left(trim(both '''' from w[30]), 4)) || ':A* & ' || w[4])
	) AS f (kind, form)
WHERE form IS NOT NULL;
-- Titles of some rows, as though typed.
INSERT INTO demo_typed
SELECT 100 + row_number() OVER (ORDER BY id), left(title, 40)
FROM (SELECT id, title FROM docs WHERE title LIKE '% % %' LIMIT 4) t;
\endif
UPDATE demo_typed SET query = skipidx_any('english', typed);
DELETE FROM demo_typed WHERE numnode(query) = 0;
