--
-- Lists, windows and prefixes at the borders of their structures
--
-- Holds: query 1, 3
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

CREATE TABLE docs (id int, body tsvector);
INSERT INTO docs
SELECT i, (
	'all:1 of' || i % 300 || ':2 stem' || i % 40 || ':3A'
	|| CASE WHEN i % 2 = 0 THEN ' even:4' ELSE ' odd:4B' END
	|| CASE WHEN i % 20 = 0 THEN ' spread:5,6' ELSE '' END
	|| CASE WHEN i BETWEEN 8128 AND 8256 THEN ' border:7C' ELSE '' END
	|| CASE WHEN i % 47 = 0 THEN ' bare' ELSE '' END
	|| CASE WHEN i % 7 = 0 THEN ' stemless' ELSE '' END
	|| ' far' || i % 400 || ':11,12,13'
	|| ' long' || i % 90 || CASE i % 11 WHEN 0 THEN '' WHEN 1 THEN ':9A,10' ELSE ':9' END
	|| CASE WHEN i % 4096 IN (0, 4095) THEN ' edge:8,16383' ELSE '' END)::tsvector
FROM generate_series(0, 12999) i;
CREATE INDEX docs_body ON docs USING skipidx (body) WITH (block_size = 8);

-- The number of matches, if bitmap and plain index scan find the rows that
-- the sequential scan finds.  EXECUTE plans it each time.
CREATE FUNCTION matches(q tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	got text;
	oracle text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['seq', 'bitmap', 'plain'] LOOP
		PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
			set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
			set_config('enable_indexscan', (mode = 'plain')::text, true);
		EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(hashint4extended(id, 1)), 0) FROM docs WHERE body @@ $1'
			INTO got USING q;
		oracle := coalesce(oracle, got);
		IF got <> oracle THEN
			RETURN format('%s: %s instead of %s', mode, got, oracle);
		END IF;
	END LOOP;
	RETURN split_part(oracle, ' ', 1);
END $$;

CREATE FUNCTION words(form text, op text, first int, last int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format(form, i), op ORDER BY i) FROM generate_series(first, last) i
$$;

-- a window within the window of its caller: lists must not be read past it
SELECT matches('!(spread & (border:C | bare & edge))');
SELECT matches('!(spread & (border | edge:D))');
SELECT matches('(odd | even) & !(all & (border:C | bare:A & spread))');
SELECT matches('!(!border & !(border:C | edge:D))');

-- general phrases: long lists, their positions on many pages, prefixes
SELECT matches('(all | even) <-> of7:*');
SELECT matches('all <2> (stem:* & !stem3)');
SELECT matches('stem:* <-> (even | odd:B)');
SELECT matches('of:* <-> stem:* <-> even');
SELECT matches('of:*D <-> stem:*B');
SELECT matches('(of17 <-> stem:*A) | (spread <-> spread)');
SELECT matches('!(all <-> of1:*) & spread');
SELECT matches('all <-> !of:*');
SELECT matches('s:* <-> spread');

-- more clauses than are read window by window
SELECT matches(words('of%s', ' | ', 0, 127)::tsquery);
SELECT matches(words('of%s', ' | ', 0, 128)::tsquery);
SELECT matches(words('of%s', ' | ', 0, 299)::tsquery);
SELECT matches(('spread & (' || words('of%s', ' | ', 20, 199) || ')')::tsquery);
SELECT matches(('even & (' || words('of%s:D', ' | ', 20, 199) || ')')::tsquery);
SELECT matches(('even & (' || words('(of%s & spread)', ' | ', 0, 199) || ')')::tsquery);
SELECT matches(('border & !(even & (' || words('of%s', ' | ', 0, 199) || '))')::tsquery);
SELECT matches(words('(all <-> of%s)', ' | ', 0, 149)::tsquery);
SELECT matches(words('!of%s', ' & ', 0, 149)::tsquery);
SELECT matches(('even & !(all <-> of160) & ' || words('!of%s', ' & ', 0, 149))::tsquery);
SELECT matches(('(even | odd) & bare & ' || words('!of%s', ' & ', 0, 149))::tsquery);

-- many phrases in one query, each with its share of the operands
SELECT matches(words('(all <-> of%s:*)', ' | ', 10, 99)::tsquery);

-- many prefixes in one phrase, each with room for the places of some documents
SELECT matches(('all <-> (' || words('none%s:*', ' | ', 1, 300) || ' | of:*)')::tsquery);
SELECT matches(('(' || words('none%s:*', ' | ', 1, 300) || ' | of:*) <-> (stem:* | s:*B | stem:*D)')::tsquery);
SELECT matches(('even & !(all <-> (' || words('!none%s:*', ' & ', 1, 300) || ' & of1:* & o:*))')::tsquery);
SELECT matches(('all <-> (' || repeat('of:* | ', 199) || 'of:*)')::tsquery);
SELECT matches(('all <10> (' || words('none%s:*', ' | ', 1, 300) || ' | far:*)')::tsquery);
SELECT matches(('(' || words('none%s:*', ' | ', 1, 300) || ' | fa:*D) <2> far:* & even')::tsquery);
SELECT matches(('even & !(all <12> (' || words('!none%s:*', ' & ', 1, 300) || ' & far1:* & f:*))')::tsquery);

-- a prefix of more long lists than are kept open
SELECT matches('(odd | even) <5> long:*');
SELECT matches('stem3 <6> (long:* & !long5:*)');
SELECT matches('(long:*A <-> long:*) & spread');
SELECT matches('even & !(all <8> (long:* | of:*))');
SELECT matches(('all <8> (' || words('none%s:*', ' | ', 1, 70) || ' | long:*B | long:*D)')::tsquery);

-- rows that are gone: the numbering of documents stays
DELETE FROM docs WHERE id % 5 = 2 OR id BETWEEN 8100 AND 8200;
VACUUM docs;
SELECT matches('!(spread & (border:C | bare & edge))');
SELECT matches('of:* <-> stem:* <-> even');
SELECT matches('stem:* <6> long:*');
SELECT matches(words('of%s', ' | ', 0, 299)::tsquery);

-- ranked by more words than the filter has, which has one of them twice
CREATE TABLE twice (id int, words tsvector);
INSERT INTO twice SELECT i, (CASE WHEN i % 2 = 0 THEN 'a:1 c:2 d:3' ELSE 'b:1,2,3' END)::tsvector FROM generate_series(1, 20000) i;
CREATE INDEX twice_words ON twice USING skipidx (words);
ANALYZE twice;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), count(*) FILTER (WHERE words @@ 'a') AS a FROM (SELECT words FROM twice WHERE words @@ ANY (ARRAY['a', 'a']::tsquery[]) ORDER BY words <@> 'a | b'::tsquery LIMIT 10) x;
SELECT count(*), count(*) FILTER (WHERE words @@ 'a') AS a FROM (SELECT words FROM twice WHERE words @@ 'a | a:A | a' ORDER BY words <@> 'a | b'::tsquery LIMIT 10) x;
SELECT count(*), count(*) FILTER (WHERE words @@ 'a') AS a FROM (SELECT words FROM twice WHERE words @@ ANY (ARRAY['a', 'b', 'a']::tsquery[]) ORDER BY words <@> 'a | b'::tsquery LIMIT 10) x;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE twice;

DROP TABLE docs;
DROP FUNCTION matches(tsquery), words(text, text, int, int);
