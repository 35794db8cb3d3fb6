-- Words are drawn from the table searches; :queries is how many it has.
\set n random(1, :queries)
SELECT 'CAST(' || quote_literal(q::text) || ' AS tsquery)' AS q FROM chosen WHERE number = :n \gset
SELECT id FROM (SELECT id, arrived FROM docs WHERE tsv @@ :q OFFSET 0) d ORDER BY arrived DESC LIMIT 20;
