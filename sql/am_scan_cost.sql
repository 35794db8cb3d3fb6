--
-- What scans are thought to cost: by document frequencies, k and pending
-- documents; what the planner makes of it; and that asking is harmless
--
-- Holds: cost 2, 3; plan 24, 25
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

-- every in all of 20,000, half and third in as many of them, near to each other; rare
-- in 20; and a word that each has for itself
CREATE TABLE costs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO costs SELECT i, concat_ws(' ', 'every:1', CASE WHEN i % 2 = 0 THEN 'half:2,' || 3 + i % 7 END,
	CASE WHEN i % 3 = 0 THEN 'third:' || 4 + i % 5 END, CASE WHEN i % 1000 = 0 THEN 'rare:2' END, 'own' || i || ':' || 9 + i % 60,
	repeat('filler ', 1 + i % 3))::tsvector
FROM generate_series(1, 20000) i;
CREATE INDEX costs_v ON costs USING skipidx (v);
VACUUM costs;

-- The first node of a plan that scans an index
CREATE FUNCTION index_node(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.** ? (exists (@."Index Name"))');
END $$;
CREATE FUNCTION total(condition text) RETURNS numeric LANGUAGE sql AS
$$ SELECT (index_node('SELECT FROM costs WHERE v @@ ' || quote_literal(condition)) ->> 'Total Cost')::numeric $$;
CREATE FUNCTION estimate(condition text) RETURNS numeric LANGUAGE sql AS
$$ SELECT (index_node('SELECT FROM costs WHERE v @@ ' || quote_literal(condition)) ->> 'Plan Rows')::numeric $$;

-- Before ANALYZE all words are the same to the planner, but not to the index.
SET enable_seqscan = off;
SELECT count(DISTINCT estimate(q)) AS rows, count(DISTINCT total(q)) AS costs
FROM unnest(ARRAY['rare', 'third', 'half', 'every']) q;
SELECT total('nothing') < total('rare'), total('rare') < total('third'), total('third') < total('half'), total('half') < total('every');

ANALYZE costs;
SET enable_indexscan = off;
-- More have both words than chance would have it, few next to each other.
SELECT estimate('third & half') > estimate('third <-> half') AS both, total('third & half') < total('third <-> half') AS positions;
SELECT estimate('third & half') = estimate('half & third') AS rows, total('third & half') = total('half & third') AS either_way;
-- A rare word leads, and what it leads to is not gone through.
SELECT total('rare & every') < total('third & every'), total('rare & every & half') < total('half'),
	total('rare & !every') < total('third & !every'), total('rare | third') > total('third'), total('(rare | nothing) & every') < total('third & every');
-- No document has a word with a label that none of its list has.
SELECT estimate('half:A') AS none, total('half:A') < total('rare') AS no_list, estimate('half:D') = estimate('half') AS plain;
RESET enable_indexscan;
CREATE FUNCTION scored(ranking text) RETURNS TABLE (scored text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM costs ' || ranking LOOP
		scored := substring(line FROM 'Scored Postings: (\d+)');
		IF scored IS NOT NULL THEN RETURN NEXT; END IF;
	END LOOP;
END $$;
SET enable_sort = off;
SELECT (SELECT scored::int FROM scored($$WHERE v @@ 'half' ORDER BY v <@> 'half' LIMIT 3$$)) > 0 AS plain,
	scored($$ORDER BY v <@> 'half:A' LIMIT 3$$) AS labelled, scored($$WHERE v @@ 'half:A' ORDER BY v <@> 'half:A' LIMIT 3$$) AS matched,
	scored($$WHERE v @@ 'half:A & third' ORDER BY v <@> 'half:A & third' LIMIT 3$$) AS one_of_two;
RESET enable_sort;
DROP FUNCTION scored;

-- Queries of which nothing is known yet, or nothing can be
SELECT q, total(q) > 0 AS costs FROM unnest(ARRAY['', 'fil:*', 'own:*', 'ow:* & rare', '!rare', '!nothing', 'half:A', 'half:* <-> third', '!(own1 <-> !own2)']) q;
SELECT total(string_agg('own' || i, ' | ')) > total('rare') AS many FROM generate_series(1, 3000) i;
SELECT (index_node('SELECT FROM costs WHERE v @@ NULL::tsquery') IS NULL) AS no_scan;
PREPARE by_param (tsquery, int) AS SELECT id FROM costs WHERE v @@ $1 ORDER BY v <@> $1 LIMIT $2;
SET plan_cache_mode = force_generic_plan;
SELECT index_node('EXECUTE by_param (''rare'', 3)') ->> 'Index Name' AS generic;
SELECT index_node('EXECUTE by_param (NULL, NULL)') ->> 'Index Name' AS generic;
SET plan_cache_mode = force_custom_plan;
SELECT index_node('EXECUTE by_param (''rare'', 3)') ->> 'Index Name' AS custom;
RESET plan_cache_mode;
DEALLOCATE by_param;
-- of another row each time
SELECT index_node('SELECT FROM (VALUES (''rare''::tsquery), (''own7'')) q (q), LATERAL (SELECT FROM costs WHERE v @@ q OFFSET 0) c') IS NOT NULL AS planned;
SELECT count(*) FROM (VALUES ('rare'::tsquery), ('own7')) q (q), LATERAL (SELECT FROM costs WHERE v @@ q OFFSET 0) c;
RESET enable_seqscan;

-- What the best cost depends on how many are wanted; rows and their number do not.
CREATE FUNCTION first_row(ranking text) RETURNS numeric LANGUAGE sql AS
$$ SELECT (index_node('SELECT id FROM costs ' || ranking) ->> 'Startup Cost')::numeric $$;
SELECT first_row($$ORDER BY v <@> 'half' LIMIT 1$$) < first_row($$ORDER BY v <@> 'half' LIMIT 100$$) AS limits,
	first_row($$ORDER BY v <@> 'half' LIMIT 100$$) < first_row($$ORDER BY v <@> 'half' LIMIT 1000$$) AS more,
	first_row($$ORDER BY v <@> 'rare' LIMIT 10$$) < first_row($$ORDER BY v <@> 'half | third' LIMIT 10$$) AS words,
	first_row($$WHERE v @@ 'rare' ORDER BY v <@> 'rare & every' LIMIT 10$$) < first_row($$WHERE v @@ 'every' ORDER BY v <@> 'rare & every' LIMIT 10$$) AS conditions;
SELECT index_node($$SELECT FROM costs WHERE v @@ 'third' ORDER BY v <@> 'third' LIMIT 5$$) ->> 'Plan Rows' =
	estimate('third')::text AS rows;

-- What comes of it: the best from the index, few or all, whose distances it knows.
CREATE FUNCTION way(query text) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN index_node(query) ->> 'Order By' IS NULL THEN 'sorted' ELSE 'by the index' END $$;
SELECT condition, word, k, way(format('SELECT id FROM costs %s ORDER BY v <@> %L LIMIT %s', condition, word, coalesce(k, 'ALL')))
FROM (VALUES (''), ('WHERE v @@ ''half''')) c (condition), (VALUES ('rare'), ('every | third')) w (word), (VALUES ('1'), ('100'), (NULL)) l (k)
ORDER BY 1, 2, length(k);

-- All lists of a prefix are gone through before the first row, however few come
-- out: where something else finds these, it is tested on them.
CREATE TABLE prefixed AS SELECT id, (hashint4(id) & 65535) AS day, v FROM costs;
CREATE INDEX prefixed_v ON prefixed USING skipidx (v, day);
VACUUM ANALYZE prefixed;
-- What is not known yet is not left to the rows.
CREATE FUNCTION whole(condition text) RETURNS numeric LANGUAGE sql AS
$$ SELECT (index_node(format('SELECT FROM costs WHERE v @@ concat(%L)::tsquery', condition)) ->> 'Total Cost')::numeric $$;
SET enable_seqscan = off;
SELECT whole('own:* & rare') > 3 * whole('every & rare') AS lists,
	whole('own1:* & rare') BETWEEN whole('own11:* & rare') AND whole('own:* & rare') AS fewer, total('own19999:* & rare') < 2 * total('own19999 & rare') AS one, total('own:*') > total('fil:*') AS alone;
SELECT first_row($$WHERE v @@ concat('own:* & rare')::tsquery$$) > 5 * first_row($$WHERE v @@ concat('every & rare')::tsquery$$) AS before_the_first,
	first_row($$ORDER BY v <@> 'own:*' LIMIT 1$$) > 2 * first_row($$ORDER BY v <@> 'half | third' LIMIT 1$$) AS ranked;
-- In a phrase once more, for their places.
SELECT whole('rare <-> own:*') > 3 * whole('rare & own:*') AS places, whole('rare <-> half | own:* & rare') < 2 * whole('rare & half | own:* & rare') AS of_others,
	whole('rare <-> (half | !(own:* & third)) | rare') > 3 * whole('rare & own:* | rare') AS inside, whole('rare <-> half & own:*') < 2 * whole('rare & half & own:*') AS behind;
RESET enable_seqscan;
SELECT condition, plan ->> 'Index Cond' AS cond, plan ->> 'Filter' AS filter
FROM (VALUES ('v @@ ''own:*'' AND day = 17'), ('v @@ ''own:*'' AND v @@ ''rare'''), ('v @@ ''own:*'' ORDER BY day LIMIT 5'), ('v @@ ''own:*'' AND v @@ ''half'' ORDER BY day LIMIT 5'),
	('v @@ ''own19999:*'' AND v @@ ''half''')) c (condition),
	index_node('SELECT id FROM prefixed WHERE ' || condition) plan;
SELECT array_agg(id) = (SELECT array_agg(id) FROM (SELECT id FROM prefixed ORDER BY day, id LIMIT 5) p) AS first
FROM (SELECT id FROM prefixed WHERE v @@ 'own:*' ORDER BY day, id LIMIT 5) p;
-- So it is of the clauses of one query: the index is asked for the others.
CREATE TABLE light (query text);
INSERT INTO light VALUES ('own:* & rare'), ('(half | third) & (rare & (own1:* & own:*))'), ('rare & !own:*'), ('own:* & fil:*'), ('own:* | rare'), ('!(own:* & rare)'),
	('rare & own:* & half <-> third'), ('rare & (own:* <-> half | every)'), ('own:*C & rare:B & !third'), ('rare'), ('!own19:* & rare & !own18:*');
-- and of what follows from its phrases, and from all arms of a disjunction.
INSERT INTO light VALUES ('rare <-> own:*'), ('every <-> rare:B <7> own:*'), ('own:* <-> every <-> rare'), ('rare <2> (own1:* | own:*)'), ('own:* <-> half'), ('(own:* | every) <-> rare'),
	('!rare <-> own:*'), ('rare <-> !own:*'), ('!own:* <-> rare'), ('(rare & !every) <7> own:*'), ('(rare | !own:*) <-> half'), ('!(rare <-> own:*)'), ('rare & !(every <-> own:*)'),
	('every <-> (rare | own1 & own:*) <7> own:*'), ('rare & own:* | own7 <-> own:*'), ('rare | own:* & own7 | third & own9:*A & own9'), ('rare | own:* & !own7'), ('own7 & own:* | rare & !half'),
	('rare & rare <7> own:*'), ('(rare <-> own:* | own:* <-> own8) & every');
SELECT query, plan ->> 'Index Cond' AS cond, plan ->> 'Filter' IS NOT NULL AS tested
FROM light, index_node(format('SELECT id FROM prefixed WHERE v @@ %L', query)) plan;
SELECT query, plan ->> 'Index Cond' AS cond, plan ->> 'Filter' AS filter
FROM (VALUES ('every & own:*'), ('own:* & !own19999:*'), ('half <7> own:*'), ('rare & own1:* | third <-> own:*')) q (query), index_node(format('SELECT id FROM prefixed WHERE v @@ %L ORDER BY day LIMIT 5', query)) plan;
SELECT plan ->> 'Index Cond' LIKE '%w128%' AS many, plan ->> 'Index Cond' LIKE '%own%' AS prefix
FROM index_node('SELECT id FROM prefixed WHERE v @@ ''own:* & ' || (SELECT string_agg('w' || n, ' & ') FROM generate_series(1, 128) n) || '''') plan;
-- counts, and the best of few rows
SELECT plan ->> 'Index Cond' AS cond, plan ->> 'Filter' AS filter
FROM (VALUES ('SELECT count(*) FROM prefixed WHERE v @@ ''rare <7> own:*'''), ('SELECT id FROM prefixed WHERE v @@ ''rare <7> own:*'' ORDER BY v <@> ''rare'' LIMIT 5')) q (query), index_node(query) plan;
CREATE FUNCTION ids(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ids text;
BEGIN
	EXECUTE format('SELECT md5(string_agg(id::text, %L ORDER BY id)) FROM prefixed WHERE v @@ %L', ' ', query) INTO ids;
	RETURN ids;
END $$;
CREATE TABLE found AS SELECT query, ids(query) FROM light;
SET enable_indexscan = off;
SELECT query FROM found WHERE ids IS DISTINCT FROM ids(query);
SET enable_bitmapscan = off;
SELECT query FROM found WHERE ids IS DISTINCT FROM ids(query);
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP FUNCTION ids;
DROP TABLE prefixed, light, found;

-- Rows of a range, or of a value, that follows the order of the table are near
-- each other, in whatever order they come.
CREATE TABLE near AS SELECT id, id / 2000 AS tenth, (hashint4(id) & 65535) AS anywhere, (hashint4(id) & 65535) / 6554 AS any_tenth, v,
	id > 18000 AS late, id <= 2000 AS early, (hashint4(id) & 65535) < 6554 AS seldom FROM costs;
CREATE INDEX near_v ON near USING skipidx (v, id, tenth, anywhere, any_tenth, late, early, seldom);
VACUUM ANALYZE near;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
CREATE FUNCTION fetching(condition text, ordered text) RETURNS numeric LANGUAGE sql AS
$$ SELECT (index_node(format('SELECT id FROM near WHERE v @@ ''half'' AND %s%s', condition, ordered)) ->> 'Total Cost')::numeric $$;
SELECT fetching('id < 2000', o) < fetching('anywhere < 6554', o) / 2 AS ranges, fetching('tenth = 3', o) < fetching('any_tenth = 3', o) / 2 AS values,
	fetching('id < 2000', o) > fetching('id < 200', o) AS fewer, fetching('id < 2000 AND any_tenth = 3', o) BETWEEN fetching('id < 200', o) / 4 AND fetching('id < 2000', o) AS both
FROM (VALUES (''), (' ORDER BY v <@> ''half'' LIMIT 10')) o (o);
-- Of a column with few values ANALYZE's correlation is high wherever they lie.
SELECT correlation > .7 AS high FROM pg_stats WHERE tablename = 'near' AND attname = 'seldom';
SELECT fetching('seldom', o) > fetching('any_tenth = 3', o) * .8 AS anywhere, fetching('late', o) < fetching('seldom', o) / 2 AS ascending,
	fetching('early', o) < fetching('seldom', o) / 2 AS descending
FROM (VALUES (''), (' ORDER BY v <@> ''half'' LIMIT 10')) o (o);
RESET enable_sort;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP FUNCTION fetching;
DROP TABLE near;

-- A word's rows are fetched once for a hash table, and not found again for each
-- outer row to save pages that are in memory.
CREATE TABLE sides AS SELECT id, hashint4(id) & 31 AS owner, v || CASE WHEN hashint4(id + 1) % 50 = 0 THEN 'some:1' ELSE '' END::tsvector AS v,
	repeat('x', 400) AS pad FROM costs;
CREATE INDEX ON sides USING skipidx (v);
CREATE INDEX ON sides (owner);
CREATE TABLE four AS SELECT generate_series(1, 4) AS owner;
VACUUM ANALYZE sides, four;
CREATE FUNCTION joined() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT sides.id FROM sides JOIN four USING (owner) WHERE v @@ ''some''' INTO plan;
	RETURN (plan #>> '{0,Plan,Node Type}') || CASE WHEN jsonb_path_exists(plan, 'strict $.** ? (@."Node Type" == "BitmapAnd")') THEN ', BitmapAnd' ELSE '' END;
END $$;
CREATE INDEX ON sides (id);
CREATE FUNCTION first_by() RETURNS text LANGUAGE sql AS
$$ SELECT index_node('SELECT id FROM sides WHERE v @@ ''some'' ORDER BY id DESC LIMIT 100') ->> 'Index Name' $$;
-- Nor is a quarter of the table gone through in an order, to sort fewer rows.
SELECT joined() AS in_memory, first_by();
SET effective_cache_size = '1MB';
SELECT joined() AS read, first_by();
RESET effective_cache_size;
DROP FUNCTION joined, first_by;
DROP TABLE sides, four;

-- A distance costs more of a longer document, and with more words.
CREATE TABLE long AS SELECT id, v || (SELECT string_agg('w' || n || ':' || n, ' ') FROM generate_series(1, 100) n)::tsvector AS v FROM costs WHERE id <= 2000;
CREATE INDEX ON long USING skipidx (v);
VACUUM ANALYZE long;
CREATE FUNCTION each_row(tab regclass, query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON) SELECT v <@> %L FROM %s', query, tab) INTO plan;
	RETURN (plan #>> '{0,Plan,Total Cost}')::numeric / (plan #>> '{0,Plan,Plan Rows}')::numeric;
END $$;
SELECT each_row('long', 'w1') > each_row('costs', 'w1') * 2 AS longer, each_row('costs', 'w1 & w2 & w3 & w4') > each_row('costs', 'w1') * 1.2 AS words;
DROP FUNCTION each_row;
DROP TABLE long;

-- A scan that leaves a prefix out tests more rows, and does not displace one that
-- asks for it before it is charged for that.
CREATE TABLE padded AS SELECT id, v || (SELECT string_agg('p' || (id + n * 7919) % 40 || ':' || n + 70, ' ') FROM generate_series(1, 30) n)::tsvector AS v FROM costs;
CREATE INDEX ON padded USING skipidx (v);
VACUUM ANALYZE padded;
SELECT index_node('SELECT id FROM padded WHERE v @@ ''third & p1:*'' ORDER BY id LIMIT 10') ->> 'Index Cond' AS asked;
DROP TABLE padded;

-- A query that is not known may find very many rows: they are not fetched and
-- sorted for a few of them, unless the other conditions leave few.
CREATE TABLE tenants AS SELECT id, id % 20 AS tenant, v FROM costs;
CREATE INDEX tenants_v ON tenants USING skipidx (v, tenant, id);
VACUUM ANALYZE tenants;
SET plan_cache_mode = force_generic_plan;
PREPARE of_tenant(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND tenant = $2 ORDER BY v <@> $1 LIMIT 5;
PREPARE of_row(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND id = $2 ORDER BY v <@> $1 LIMIT 5;
PREPARE of_range(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND tenant = $2 AND id > $2 AND id < 100000 - $2 ORDER BY v <@> $1 LIMIT 5;
PREPARE of_few(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND tenant = $2 AND id < 200 ORDER BY v <@> $1, id LIMIT 5;
PREPARE of_all(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND tenant = $2 ORDER BY v <@> $1;
PREPARE in_no_order(tsquery, int) AS SELECT id FROM tenants WHERE v @@ $1 AND tenant = $2 LIMIT 5;
SELECT statement, index_node(format('EXECUTE %s(%L, 3)', statement, 'half | third')) ->> 'Order By' IS NOT NULL AS by_rank
FROM unnest('{of_tenant,of_row,of_range,of_few,of_all,in_no_order}'::text[]) statement;
EXECUTE of_tenant('rare | third', 0);
EXECUTE of_row('half | third', 8);
RESET plan_cache_mode;
DEALLOCATE ALL;
DROP TABLE tenants;

-- Rows of prefixes, few or many, and of disjunctions, whole or in part: another
-- index that has the order is read to its end where more are expected than there are
CREATE TABLE expected AS SELECT id, id % 1000 AS number, v FROM costs;
CREATE INDEX expected_v ON expected USING skipidx (v, number);
CREATE INDEX expected_id ON expected (id);
VACUUM ANALYZE expected;
CREATE FUNCTION off_by(condition text, OUT guess numeric, OUT actual numeric, OUT near bool) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) SELECT FROM expected WHERE ' || condition INTO plan;
	guess := plan -> 0 -> 'Plan' ->> 'Plan Rows';
	EXECUTE 'SELECT count(*) FROM expected WHERE ' || condition INTO actual;
	near := guess BETWEEN actual / 2 - 2 AND actual * 2 + 2;
END $$;
SELECT condition, near, CASE WHEN NOT near THEN guess || ' for ' || actual END AS off
FROM unnest(ARRAY[$$v @@ 'nosuch:*'$$, $$v @@ 'own77:*'$$, $$v @@ 'own7777:*'$$, $$v @@ 'own1:*'$$, $$v @@ 'o:*'$$, $$v @@ 'rar:*'$$, $$v @@ 'own1:* & half'$$,
	$$v @@ 'rare' OR v @@ 'own7'$$, $$v @@ ANY ('{rare,own7 & half}')$$, $$v @@ 'rare' OR number = 7$$,
	$$v @@ 'rare' OR (v @@ 'own8' AND id > 0)$$, $$v @@ 'rare' OR id = 7$$]) condition, off_by(condition);
SELECT index_node($$SELECT id FROM expected WHERE v @@ 'nosuch:*' ORDER BY id LIMIT 10$$) ->> 'Index Name' AS not_by_id;
DROP FUNCTION off_by;
DROP TABLE expected;

-- All of some words may be in more rows than each of them lets expect, and
-- sorting takes as long as there are rows: a search is the safer plan.  Any of
-- them are in no more than all have, which are sorted where few pass.
CREATE TABLE names AS SELECT id, id AS number, id % 20 AS kind, CASE
		WHEN id % 400 = 0 THEN 'gross:1 domestic:2 product:3'::tsvector
		WHEN id % 50 < 3 THEN array_to_tsvector(('{gross,domestic,product}'::text[])[1 + id % 50:1 + id % 50])
		ELSE 'other' END AS v
FROM generate_series(1, 20000) id;
CREATE INDEX names_v ON names USING skipidx (v, number, kind);
VACUUM ANALYZE names;
SELECT condition, (index_node('SELECT id FROM names ' || condition) ->> 'Plan Rows')::int < 10 AS few,
	way(format('SELECT id FROM names %s ORDER BY v <@> %L LIMIT 10', condition, 'gross & product'))
FROM (VALUES ($$WHERE v @@ 'gross & domestic & product'$$), ($$WHERE v @@ 'gross <-> domestic'$$),
	($$WHERE v @@ 'gross | product' AND number < 20$$)) c (condition);
SELECT count(*) FROM names WHERE v @@ 'gross & domestic & product';
-- of partitions, too
CREATE TABLE names_of_years (LIKE names) PARTITION BY RANGE (id);
CREATE TABLE names_1 PARTITION OF names_of_years FOR VALUES FROM (1) TO (10001);
CREATE TABLE names_2 PARTITION OF names_of_years FOR VALUES FROM (10001) TO (20001);
INSERT INTO names_of_years SELECT * FROM names;
CREATE INDEX names_of_years_v ON names_of_years USING skipidx (v, number, kind);
VACUUM ANALYZE names_of_years;
SELECT way($$SELECT id FROM names_of_years WHERE v @@ 'gross & domestic & product' ORDER BY v <@> 'gross & product' LIMIT 10$$);
PREPARE of_years(tsquery, int) AS SELECT id FROM names_of_years WHERE v @@ $1 AND kind = $2 ORDER BY v <@> $1 LIMIT 5;
SET plan_cache_mode = force_generic_plan;
SELECT way($$EXECUTE of_years('gross', 1)$$);
RESET plan_cache_mode;
DEALLOCATE of_years;

-- Whatever paths there are, planning reads six pages, each once: the metapage,
-- the root, and those of four stripes.  It reads none of a catalog, nor of the
-- dictionary, that the session knows from planning the same before.
CREATE FUNCTION planning_pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	fewest int;
BEGIN
	FOR i IN 1..4 LOOP
		EXECUTE 'EXPLAIN (BUFFERS, FORMAT JSON) SELECT id FROM names ' || query INTO plan;
		fewest := least(fewest, (plan -> 0 -> 'Planning' ->> 'Shared Hit Blocks')::int
			+ (plan -> 0 -> 'Planning' ->> 'Shared Read Blocks')::int);
	END LOOP;
	RETURN fewest;
END $$;
SELECT query, planning_pages(query)
FROM unnest(ARRAY[$$WHERE v @@ 'gross & product'$$, $$ORDER BY v <@> 'gross | product' LIMIT 10$$,
	$$WHERE v @@ 'gross & product' ORDER BY v <@> 'gross | product' LIMIT 10$$,
	$$WHERE v @@ 'gross | product' AND number < 20 ORDER BY v <@> 'gross' LIMIT 10$$,
	$$WHERE v @@ 'gross & product' ORDER BY number DESC LIMIT 20$$,
	$$WHERE v @@ 'gross' OR number = 7$$, $$WHERE number < 20 ORDER BY kind, number LIMIT 20$$]) query;
DROP FUNCTION planning_pages;
DROP TABLE names, names_of_years;

-- Pending documents are looked at one by one.
CREATE TABLE totals AS SELECT total('rare') AS rare, first_row($$ORDER BY v <@> 'rare' LIMIT 1$$) AS best;
INSERT INTO costs SELECT i, ('every:1 own' || i || ':2')::tsvector FROM generate_series(20001, 22000) i;
SELECT total('rare') > rare AS more, first_row($$ORDER BY v <@> 'rare' LIMIT 1$$) > best AS more_before_the_first FROM totals;
SELECT skipidx_flush('costs_v');
SELECT total('rare') < 2 * rare AS flushed FROM totals;

-- Where neither kind of scan is allowed, the index is not read.  Nor is it for
-- a word that was looked up before.
CREATE FUNCTION pins(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	before int8;
	line text;
BEGIN
	SELECT pins INTO before FROM skipidx_io_totals() WHERE scope = 'session';
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
	END LOOP;
	RETURN (SELECT pins > before FROM skipidx_io_totals() WHERE scope = 'session');
END $$;
SELECT pins($$SELECT FROM costs WHERE v @@ 'own3'$$);
SELECT pins($$SELECT FROM costs WHERE v @@ 'own3'$$) AS known;
SET enable_indexscan = off;
SELECT pins($$SELECT FROM costs WHERE v @@ 'own4'$$);
SET enable_bitmapscan = off;
SELECT pins($$SELECT FROM costs WHERE v @@ 'own5'$$);
SELECT count(*) FROM costs WHERE v @@ 'rare';
RESET enable_indexscan;
RESET enable_bitmapscan;

-- A query that has to be computed is so once for all paths, and once for each
-- condition by the server's own estimate of that.
CREATE SEQUENCE computed;
CREATE FUNCTION asked(tsquery) RETURNS tsquery STABLE LANGUAGE plpgsql AS
	$$ BEGIN PERFORM nextval('public.computed'); RETURN $1; END $$;
CREATE FUNCTION times(query text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM setval('computed', 1, false);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
	END LOOP;
	RETURN nextval('computed') - 1;
END $$;
SELECT times($$SELECT FROM costs WHERE v @@ asked('rare')$$) AS matched,
	times($$SELECT FROM costs ORDER BY v <@> asked('rare') LIMIT 5$$) AS ranked,
	times($$SELECT FROM costs WHERE v @@ asked('rare') ORDER BY v <@> asked('rare') LIMIT 5$$) AS both,
	times($$SELECT FROM costs WHERE asked('rare') @@ v AND v @@ asked('half') ORDER BY v <@> asked('rare') LIMIT 5$$) AS two,
	times($$SELECT FROM costs c JOIN costs d USING (id) WHERE c.v @@ asked('rare') ORDER BY c.v <@> asked('rare') LIMIT 5$$) AS joined,
	times($$SELECT FROM costs WHERE v @@ 'half' AND v <@> asked('rare') < -1 ORDER BY v <@> asked('rare') LIMIT 5$$) AS bounded;
-- so where conditions stay a filter
CREATE ROLE regress_skipidx_reader;
GRANT SELECT ON costs TO regress_skipidx_reader;
GRANT USAGE, UPDATE ON computed TO regress_skipidx_reader;
CREATE POLICY positive ON costs USING (id > 0);
ALTER TABLE costs ENABLE ROW LEVEL SECURITY;
SET ROLE regress_skipidx_reader;
SELECT times($$SELECT FROM costs WHERE v @@ asked('rare') ORDER BY v <@> asked('rare') LIMIT 5$$) AS filter,
	times($$SELECT FROM costs WHERE v @@ asked('rare') AND v @@ asked('half') ORDER BY v <@> asked('rare') LIMIT 5$$) AS two;
RESET ROLE;
ALTER TABLE costs DISABLE ROW LEVEL SECURITY;
DROP POLICY positive ON costs;
DROP OWNED BY regress_skipidx_reader;
DROP ROLE regress_skipidx_reader;
-- another search is planned meanwhile, each time
CREATE FUNCTION found(text) RETURNS tsquery STABLE LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT FROM costs WHERE v @@ asked(''third'') AND v @@ ''half'' ORDER BY v <@> asked(''third'') LIMIT 1';
	RETURN $1::tsquery;
END $$;
SELECT index_node('SELECT FROM costs WHERE v @@ found(''rare'') AND v @@ found(''half'') ORDER BY v <@> found(''rare'') LIMIT 1') ->> 'Plan Rows'
	= index_node('SELECT FROM costs WHERE v @@ ''rare'' AND v @@ ''half'' ORDER BY v <@> ''rare'' LIMIT 1') ->> 'Plan Rows' AS same;
SELECT count(*) FROM (SELECT FROM costs WHERE v @@ found('rare') ORDER BY v <@> found('rare') LIMIT 5) c;
DROP FUNCTION asked, times, found;
DROP SEQUENCE computed;

-- Nothing is written for it, and nothing is there yet.
START TRANSACTION READ ONLY;
SELECT way($$SELECT FROM costs ORDER BY v <@> 'rare' LIMIT 1$$);
COMMIT;
CREATE TABLE nobody (v tsvector);
CREATE INDEX nobody_v ON nobody USING skipidx (v);
SELECT count(*) FROM nobody WHERE v @@ 'rare';
SELECT count(*) FROM (SELECT FROM nobody ORDER BY v <@> 'rare' LIMIT 10) n;

-- Without a condition the rows are to be read, though all are known to be visible
CREATE TABLE known AS SELECT * FROM costs;
CREATE INDEX known_v ON known USING skipidx (v);
VACUUM ANALYZE known;
EXPLAIN (COSTS OFF) SELECT 1 FROM known;
EXPLAIN (COSTS OFF) SELECT count(*), max(id) FROM known;
EXPLAIN (COSTS OFF) SELECT count(*) FROM known;
SELECT count(*) FROM known;

DROP TABLE costs, totals, nobody, known;
DROP FUNCTION index_node, total, estimate, first_row, way, pins;
