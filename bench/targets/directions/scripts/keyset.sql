-- Words are drawn from the table searches; :queries is how many it has.
\set n random(1, :queries)
SELECT 'CAST(' || quote_literal(q::text) || ' AS tsquery)' AS q FROM chosen WHERE number = :n \gset
\set from random(1, :rows)
SELECT id FROM docs WHERE tsv @@ :q AND arrived <= arrival(:from) AND (arrived, id) < (arrival(:from), :from) ORDER BY arrived DESC, id DESC LIMIT 20;
