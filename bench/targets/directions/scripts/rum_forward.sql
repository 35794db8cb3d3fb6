-- Words are drawn from the table searches; :queries is how many it has.
\set n random(1, :queries)
SELECT 'CAST(' || quote_literal(q::text) || ' AS tsquery)' AS q FROM chosen WHERE number = :n \gset
SELECT id FROM docs WHERE tsv @@ :q ORDER BY arrived |=> timestamptz '1900-01-01' LIMIT 20;
