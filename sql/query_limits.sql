--
-- Very large and very deep queries: the right answer or a clean refusal
--
-- Holds: query 1, 7
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
INSERT INTO docs SELECT i, array_to_tsvector(ARRAY['all', 'w' || i, 'v' || i % 10]) FROM generate_series(1, 40) i;
INSERT INTO docs SELECT 1000 + i, ('a:' || i || ' b:' || i + 1 || ' c:' || i + 2)::tsvector FROM generate_series(1, 10) i;
INSERT INTO docs SELECT 2000, (SELECT string_agg('p' || i || ':' || i, ' ') FROM generate_series(1, 12000) i)::tsvector;
CREATE INDEX docs_body ON docs USING skipidx (body);
INSERT INTO docs SELECT id + 5000, body FROM docs WHERE id % 10 = 0;

-- ok when bitmap and plain index scan agree with the sequential scan, or
-- refuse with a code of too much work, unless the query must be answered
CREATE FUNCTION try(q tsquery, must bool DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	n int[];
	h text;
	oracle text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['seq', 'bitmap', 'plain'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
			set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
			set_config('enable_indexscan', (mode = 'plain')::text, true);
		BEGIN
			-- planned anew each time: a plan that is kept is of one mode
			EXECUTE 'SELECT array_agg(id ORDER BY id)::text FROM docs WHERE body @@ $1' INTO h USING q;
		EXCEPTION WHEN OTHERS THEN
			IF NOT must AND (sqlstate IN ('54000', '54001') OR sqlstate LIKE '53%') THEN
				CONTINUE;
			END IF;
			RETURN mode || ': ' || sqlstate || ' ' || sqlerrm;
		END;
		oracle := coalesce(oracle, h, '{}');
		IF coalesce(h, '{}') <> oracle THEN
			RETURN mode || ': ' || coalesce(h, '{}') || ' instead of ' || oracle;
		END IF;
	END LOOP;
	RETURN 'ok';
END $$;

-- The query a text describes, or NULL where the server's parser refuses it.
CREATE FUNCTION query(txt text) RETURNS tsquery LANGUAGE plpgsql AS $$
BEGIN
	RETURN txt::tsquery;
EXCEPTION WHEN program_limit_exceeded OR statement_too_complex OR internal_error THEN
	RETURN NULL;
END $$;

CREATE FUNCTION words(word text, op text, n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(word || i, op ORDER BY i) FROM generate_series(1, n) i
$$;

-- 10,000 operands
SELECT try(words('w', ' | ', 10000)::tsquery, must => true);
SELECT try(words('w', ' & ', 10000)::tsquery, must => true);
SELECT try(words('p', ' & ', 10000)::tsquery, must => true);
SELECT try(words('!w', ' & ', 10000)::tsquery, must => true);
SELECT try(words('!w', ' | ', 10000)::tsquery, must => true);
SELECT try((words('all | w', ' & all | w', 3000))::tsquery, must => true);
SELECT try((repeat('all & ', 9999) || 'w7')::tsquery, must => true);
SELECT try((repeat('all | ', 9999) || 'w7')::tsquery, must => true);
SELECT try((repeat('all:* & ', 2000) || 'w7')::tsquery, must => true);
SELECT try((repeat('w:* | ', 2000) || 'v7')::tsquery, must => true);
SELECT try((repeat('(all:* | v7) & ', 2000) || 'w7')::tsquery, must => true);
SELECT try((repeat('(w:* & all) | ', 2000) || 'v7')::tsquery, must => true);
-- very many in groups, and very many prefixes
SELECT try((SELECT string_agg('(' || words('w', ' | ', 60 + g) || ')', ' & ') FROM generate_series(1, 60) g)::tsquery, must => true);
SELECT try((SELECT string_agg('(all & ' || words('!w', ' & ', 40 + g) || ')', ' | ') FROM generate_series(1, 80) g)::tsquery, must => true);
SELECT try((SELECT string_agg('(' || words('w', ':* | ', 60 + g) || ':*)', ' & ') FROM generate_series(1, 60) g)::tsquery, must => true);
SELECT try((words('v', ':* & !w', 300) || ':*')::tsquery, must => true);
SELECT try((SELECT string_agg(format('(p:* <-> p%s)', g), ' | ') FROM generate_series(1, 300) g)::tsquery, must => true);
-- one lexeme among very many clauses that are none
SELECT try(('all & ' || words('!x', ' & ', 1100))::tsquery, must => true);
SELECT try(('all:A & ' || words('!x', ' & ', 1100))::tsquery, must => true);
SELECT try(('x | ' || words('!w', ' | ', 1100))::tsquery, must => true);
-- 10,000 operands in a phrase
SELECT try(words('p', ' <-> ', 10000)::tsquery, must => true);
SELECT try(words('p', ' <2> ', 3000)::tsquery, must => true);
SELECT try((repeat('a <0> ', 9999) || 'a')::tsquery, must => true);
SELECT try(('(' || words('p', ' | ', 5000) || ') <-> p2')::tsquery, must => true);
SELECT try(('p1 <-> (' || words('p', ' & ', 5000) || ')')::tsquery, must => true);
-- clauses in turns: the work grows with the depth, not with a power of it
SET statement_timeout = '60s';
SELECT try((repeat('(w7 | (all & ', 100) || 'v7' || repeat('))', 100))::tsquery, must => true);
RESET statement_timeout;
-- depth 10,000
SELECT try(query(repeat('!', 10000) || 'all'));
SELECT try(query(repeat('!', 10001) || 'w7'));
SELECT try(query(repeat('(', 5000) || 'w7' || repeat(')', 5000)));
SELECT try(query(repeat('!(', 5000) || 'w7' || repeat(')', 5000)));
SELECT try(query(repeat('!(all & ', 5000) || 'w7' || repeat(')', 5000)));
SELECT try(query(repeat('(w3 | ', 5000) || 'w7' || repeat(')', 5000)));
SELECT try(query(repeat('a <-> (', 2500) || 'b' || repeat(')', 2500)));
SELECT try(query(repeat('(', 2500) || 'a' || repeat(' <-> b)', 2500)));
SELECT try(query(repeat('!(', 2500) || 'a' || repeat(' <-> b)', 2500)));
-- the same built by operators and rewriting, where no parser limits the depth
CREATE FUNCTION nest(op text, n int) RETURNS tsquery LANGUAGE plpgsql AS $$
DECLARE
	q tsquery := 'b';
BEGIN
	FOR i IN 1 .. n LOOP
		q := CASE op WHEN '!' THEN !!q WHEN '<->' THEN 'a'::tsquery <-> q
			WHEN '<0>' THEN tsquery_phrase(q, !!'a'::tsquery, 0)
			WHEN '&' THEN 'a'::tsquery && q ELSE 'w1'::tsquery || (!!q) END;
	END LOOP;
	RETURN q;
END $$;
CREATE FUNCTION try_nested(stack text, memory text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	one record;
	q tsquery;
BEGIN
	FOR one IN VALUES ('!', 625),
		('<->', 1000), ('<0>', 1000), ('&', 1000), ('|', 1000) LOOP
		q := nest(one.column1, one.column2);
		FOR i IN 1 .. CASE WHEN one.column1 = '!' AND stack = '2MB' THEN 4 ELSE 0 END LOOP
			q := ts_rewrite(q, 'b', q);		-- twice as deep
		END LOOP;
		PERFORM set_config('max_stack_depth', stack, true), set_config('work_mem', memory, true);
		RETURN NEXT format('%s %s %s', one.column1, numnode(q), try(q));
		SET LOCAL max_stack_depth TO DEFAULT;
	END LOOP;
	FOREACH q IN ARRAY ARRAY[words('w', ' | ', 10000), words('p', ' <-> ', 10000)]::tsquery[] LOOP
		PERFORM set_config('max_stack_depth', stack, true), set_config('work_mem', memory, true);
		RETURN NEXT try(q);
	END LOOP;
END $$;
SELECT try_nested('2MB', '4MB');
SELECT try_nested('100kB', '64kB');
-- operands of every size
SELECT n, try(quote_literal(repeat('x', n))::tsquery) FROM unnest(ARRAY[1, 2, 255, 256, 2045, 2046]) n;
INSERT INTO docs SELECT 9000 + n, array_to_tsvector(ARRAY[repeat('x', n)]) FROM unnest(ARRAY[1, 2, 255, 256, 2045, 2046]) n;
SELECT n, try((quote_literal(repeat('x', n)) || ':*')::tsquery) FROM unnest(ARRAY[1, 2, 255, 256, 2045, 2046]) n;
-- nothing is left behind that a later query would meet
SELECT try('w7 | v7');

DROP TABLE docs;
DROP FUNCTION try, query, words, nest, try_nested;
