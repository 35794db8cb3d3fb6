-- Was every answer right, by the plan it was to come from?  And do words beside the
-- columns, as the demo ends with, find what the query does?
SELECT (SELECT count(*) > 0 AND bool_and(equal AND used) FROM demo_result)
	AND (SELECT bool_and(equal AND used) FROM demo_ranked)
	AND (SELECT bool_and(ARRAY(SELECT ctid FROM docs ORDER BY (title, body) <@> typed LIMIT 10)
		= ARRAY(SELECT ctid FROM docs ORDER BY tsv <@> query LIMIT 10)) FROM demo_typed);
