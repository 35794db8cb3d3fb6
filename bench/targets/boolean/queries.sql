-- queries.sql: from words to tsquery.
UPDATE query SET q = CASE class
	WHEN 'phrase' THEN phraseto_tsquery('simple', words)
	WHEN 'and' THEN plainto_tsquery('simple', words)
	WHEN 'or' THEN replace(plainto_tsquery('simple', words)::text,
						   ' & ', ' | ')::tsquery
	WHEN 'prefix' THEN (quote_literal(words) || ':*')::tsquery
END;
DELETE FROM query WHERE numnode(q) = 0;
