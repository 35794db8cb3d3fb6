-- Was every answer right, by the plan it was to come from?
SELECT (SELECT count(*) > 0 AND bool_and(equal AND used) FROM demo_result)
	AND (SELECT bool_and(equal AND used) FROM demo_ranked);
