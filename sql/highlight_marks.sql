--
-- Passages of a text with the words of a query marked, against ts_headline()
--
-- Holds: highlight 1, 2, 3, 4
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS skipidx;

--
-- Which tokens are marked: those that ts_headline() marks in the whole text
--
-- The parser's favourites, joined with blanks and without
CREATE FUNCTION highlight_text(seed int, tags bool) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg((CASE WHEN tags AND abs(hashint4(seed * 1000 - i)) % 9 = 0 THEN t ELSE w END)[1 + abs(hashint4(seed * 1000 + i)) %
			cardinality(CASE WHEN tags AND abs(hashint4(seed * 1000 - i)) % 9 = 0 THEN t ELSE w END)]
		|| (ARRAY[' ', ' ', ' ', E'\n', E' \t ', ', ', '', '-', '.'])[1 + abs(hashint4(seed * 777 + i)) % 9], '')
	FROM generate_series(1, 5 + seed % 60) i,
		regexp_split_to_array('<a href="x y">¦</a>¦<¦<!-- red fox -->¦<br/>¦<b>fox</b>¦a<b¦<p¦<?x fox ?>¦<é>¦x < 5¦&lt;¦&amp;fox;', '¦') t,
		regexp_split_to_array('fox¦foxes¦Fox¦FOX¦jumping¦jumped¦the¦red¦Reds¦don''t¦fox''s¦well-known¦red-fox¦foxes-jump-red¦http://fox.com/red¦fox.com¦red.fox@jumping.org¦'
			'/red/fox.txt¦red/fox¦1.5¦-12¦+7¦1e5¦v1.2.3¦fox1¦1fox¦été¦foxé¦жук¦жуки¦red¦fox¦(fox)¦fox.¦"fox,"¦fox...¦[red]¦red:¦fox:red¦red_fox¦fox!?¦'
			'--¦-¦.¦fox-¦-fox¦''fox''¦{fox}¦fox*¦~/fox¦$fox¦fox%¦?red¦123¦fox/¦fox@¦@fox¦red;fox¦fox&red¦é¦«fox»¦http:¦ftp://red¦www.fox.com:80/a?red=fox#x¦a.b¦x¦fo¦~fox¦./fox¦fox..¦..¦.~fox¦~50¦~¦..(fox)', '¦') w
$$;
CREATE FUNCTION highlight_marked(t text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(m[1], '|') FROM regexp_matches(t, '\{\{(.*?)\}\}', 'g') m
$$;
CREATE TEXT SEARCH CONFIGURATION highlight_few (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION highlight_few DROP MAPPING FOR url, host, hword, int;
CREATE TABLE highlight_queries (config regconfig, q tsquery);
INSERT INTO highlight_queries
	SELECT c, to_tsquery(c, q) FROM unnest('{english,simple,highlight_few}'::regconfig[]) c, unnest('{fox,fox & red,jump | foxes,fo:* | r:*A,fox:AB <-> red,well-known,
		fox.com | été | жук,1:* | -12,x | a | b | amp | br,/red/fox.txt | red.fox@jumping.org}'::text[]) q;
-- the same text, but where tags are, in place of which ts_headline() puts blanks
SELECT tags, count(*), count(*) FILTER (WHERE a = b) = count(*) AS same, count(*) FILTER (WHERE highlight_marked(a) IS NOT DISTINCT FROM highlight_marked(b)) = count(*) AS marks,
	count(*) FILTER (WHERE highlight_marked(b) IS NOT NULL) > 500 AS some
FROM (SELECT tags, ts_headline(config, t, q, 'HighlightAll=true, StartSel={{, StopSel=}}') AS a, skipidx_highlight(config, t, q, '{{', '}}', 0) AS b
	FROM highlight_queries, (VALUES (false), (true)) v(tags), generate_series(1, 60) i, highlight_text(i, tags) t) x
GROUP BY tags ORDER BY tags;
-- one after the other, with what was read before known; each with nothing known
SELECT count(*), count(*) FILTER (WHERE b = (SELECT skipidx_highlight(config, t, q, max_words => 5))) = count(*) AS same
FROM (SELECT *, skipidx_highlight(config, t, q, max_words => 5) AS b FROM highlight_queries, generate_series(1, 40) i, highlight_text(i, true) t ORDER BY i, config) x;

-- The first two letters of a word of English, or one that is not stemmed, are those of its lexeme, but for a 'y':
-- exceptions of the stemmer, and 30,000 words.  Of other languages they may be others.
CREATE TEXT SEARCH DICTIONARY highlight_porter (TEMPLATE = snowball, Language = porter);
SELECT d, count(*), count(*) FILTER (WHERE left(lexeme, 1) <> left(word, 1) OR (lexeme <> left(word, 1) AND substr(lexeme, 2, 1) <> translate(substr(word, 2, 1), 'y', substr(lexeme, 2, 1)))) AS others
FROM unnest('{english_stem,simple,highlight_porter}'::regdictionary[]) d, generate_series(1, 30000) i, LATERAL (SELECT
	translate(left(md5(i::text), 1 + i % 6), '0123456789', 'ghijklmnop') || (ARRAY['', 's', 'ies', 'ying', 'ied', 'ly', 'y', 'ing', 'ational', 'e'])[1 + i % 10] AS word) w,
	unnest(ts_lexize(d, word)) lexeme
GROUP BY d ORDER BY d::text;
SELECT config, a, a = skipidx_highlight(config, t, q, max_words => 0) AS same
FROM (VALUES ('english'::regconfig, 'dying lying tying ties skies idly gently ugly early only singly yes yellow Yet news II It aed AED dyed Dyed', 'die | lie | tie | sky | idl | gentl | ugli | earli | onli | singl | yellow | yet | news | ii | it:* | a | dy:* | dye'),
	('simple', 'Dying dying x', 'dying'), ('indonesian', 'dia membaca', 'baca'), ('indonesian', 'dia membaca', 'bac:*')) v(config, t, q0), to_tsquery('simple', q0) q,
	ts_headline(config, t, q, 'HighlightAll=true') a;
DROP TEXT SEARCH DICTIONARY highlight_porter;

-- Tags are found without the parser, which has all of a text to itself under another name
CREATE FUNCTION slow_start(internal, int) RETURNS internal LANGUAGE internal AS 'prsd_start';
CREATE TEXT SEARCH PARSER highlight_slow (START = slow_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype, HEADLINE = prsd_headline);
CREATE TEXT SEARCH CONFIGURATION highlight_slow (PARSER = highlight_slow);
ALTER TEXT SEARCH CONFIGURATION highlight_slow ADD MAPPING FOR asciiword, word, hword, asciihword, hword_part, hword_asciipart WITH english_stem;
ALTER TEXT SEARCH CONFIGURATION highlight_slow ADD MAPPING FOR numword, email, url, host, sfloat, version, hword_numpart, numhword, url_path, file, float, int, uint WITH simple;
CREATE FUNCTION highlight_tags(seed int, n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(t[1 + abs(hashint4(seed * 1000 + i)) % cardinality(t)] || (ARRAY[' ', '', '', E'\n', ',', ' '])[1 + abs(hashint4(seed * 777 + i)) % 6], '')
	FROM generate_series(1, n) i,
		regexp_split_to_array('<a href="x y">¦<a href=''red fox''>¦<¦>¦<!-- red fox -->¦<!--¦-->¦<br/>¦<br />¦<b>fox</b>¦a<b¦<p¦<?x fox ?>¦<?xml fox=1?>¦<é>¦x < 5¦<a "fox¦<a ''red>¦"¦''¦'
			'<script>¦</script>¦<Script x>¦<style>¦</STYLE>¦<styles>¦<a \>¦<a "\"">¦</ fox>¦</fox>¦</fox red>¦<fox red,>¦<a:b.c-d_e f=1/>¦<:x>¦<_y:z>¦<-a>¦<a/ >¦<a/>red¦<a//>¦<a fox¦<!DOCTYPE fox>¦<!doc>¦<!d>¦<a é>¦<aé>¦'
			'<1>¦<1a>¦<red fox=jumping>¦<a	b>¦<a;>¦<a href=http://fox.com/red?a=b&c#d>¦fox<br>red¦http://<b>fox.com¦red@<i>fox.org¦/red/<b>fox¦&lt;fox&gt;¦&<b>¦red-<b>fox¦<<a>>¦<a<b>¦</¦<a =>¦fox¦red¦foxes jumped¦the red fox¦don''t¦1990¦(1990)¦1990,¦12;¦(12),¦1990.¦1e5¦12-¦12:30¦/12¦12e¦12,,¦((12¦12)', '¦') t
$$;
SELECT count(*), count(*) FILTER (WHERE a = b) = count(*) AS same, count(*) FILTER (WHERE b LIKE '%{{%') > 2000 AS some
FROM (SELECT skipidx_highlight('english', t, q, '{{', '}}', w) AS a, skipidx_highlight('highlight_slow', t, q, '{{', '}}', w) AS b
	FROM generate_series(1, 400) i, (VALUES (2), (7), (60)) n(n), LATERAL (SELECT highlight_tags(i * 100 + n, n) UNION ALL SELECT highlight_text(i * 60 + n, true)) t(t),
		unnest('{fox,red <-> fox,jump | foxes & red,12 | 1990 | 123 <-> red}'::tsquery[]) q0, to_tsquery('english', q0::text) q, (VALUES (0), (3)) w(w)) x;
-- a text that ends within one; one that is longer than is looked for is left to it
SELECT t, skipidx_highlight('english', t, 'red | fox', max_words => 0) = skipidx_highlight('highlight_slow', t, 'red | fox', max_words => 0) AS same
FROM unnest(ARRAY['red <a "fox \', 'red <a "fox', 'red <a', 'red <', 'red <a fox', 'red <a/', 'red </', 'red </a "', 'red <!-- fox', 'red <a "fox\"> fox']) t;
SELECT n, skipidx_highlight('english', t, 'fox') = skipidx_highlight('highlight_slow', t, 'fox') AS same
FROM (VALUES (4000), (4085), (4086), (4087), (4088), (4089), (4090), (4091), (4092), (5000)) v(n), LATERAL (SELECT 'red <a b="' || repeat('x ', n / 2) || repeat('x', n % 2) || '">fox ' || repeat('word ', 900) || ' fox' AS t) t;
DROP TEXT SEARCH CONFIGURATION highlight_slow;
DROP TEXT SEARCH PARSER highlight_slow;
DROP FUNCTION slow_start, highlight_tags;

--
-- Passages
--
CREATE TABLE highlight_docs (id int, t text);
INSERT INTO highlight_docs VALUES
	(1, 'The quick brown fox. ' || repeat('Nothing happens here at all. ', 20) || 'A lazy dog, and (a quick fox) too! ' || repeat('And nothing there. ', 20)),
	(2, 'red. ' || repeat('x y z ', 20) || 'red blue, ' || repeat('x y z ', 20) || 'blue red green. ' || repeat('x y z ', 20) || 'red green blue'),
	(3, 'A dog barks at a cat. A cat at a dog sits. The dog and the cat.'),
	(4, 'Nothing of it'), (5, ''), (6, E' \n '), (7, 'one');
-- all words of the query before the first; then the closest
SELECT skipidx_highlight('english', t, 'quick & fox & dog', max_words => 8) FROM highlight_docs WHERE id = 1;
SELECT skipidx_highlight('english', t, 'fox') FROM highlight_docs WHERE id = 1;
SELECT skipidx_highlight('english', t, 'dog', max_words => 5) FROM highlight_docs WHERE id = 1;
SELECT skipidx_highlight('simple', t, 'red & blue & green', max_words => 4) FROM highlight_docs WHERE id = 2;
SELECT skipidx_highlight('simple', t, 'red | blue | none', max_words => 4) FROM highlight_docs WHERE id = 2;
SELECT skipidx_highlight('simple', 'a x x b ' || repeat('y ', 50) || 'a b', 'a & b & none', max_words => 5);
SELECT skipidx_highlight('simple', 'a x x b a', 'a & b', max_words => 5), skipidx_highlight('simple', 'a x x b a', 'a & b', max_words => 2);
-- phrases first, however near the words are elsewhere
SELECT q, skipidx_highlight('english', t, q, max_words => 4)
	FROM highlight_docs, unnest('{cat <-> dog,dog <4> cat,cat <3> dog,dog <3> cat,dog <-> bark,dog & cat,(dog | cat) <-> sit,dog <-> !cat,!(dog <-> cat) & sit}'::tsquery[]) q WHERE id = 3;
SELECT skipidx_highlight('simple', 'a x b a b c ' || repeat('y ', 20) || 'a b y y c', 'a <-> b & c', max_words => 3);
SELECT skipidx_highlight('simple', 'a b ' || repeat('y ', 20) || 'a b c d', '(a <-> b) | (c <-> d)', max_words => 5);
SELECT skipidx_highlight('simple', 'x x y', 'x <2> y', max_words => 3), skipidx_highlight('simple', 'a x x z y b', 'x <2> y', max_words => 3);
-- several
SELECT skipidx_highlight('simple', t, 'red & blue & green', max_words => 3, max_passages => 5) FROM highlight_docs WHERE id = 2;
SELECT skipidx_highlight('simple', t, 'red', '[', ']', 3, 3, ' | ') FROM highlight_docs WHERE id = 2;
SELECT n, skipidx_highlight('simple', 'red red red', 'red', max_words => 2, max_passages => n) FROM generate_series(1, 3) n;
SELECT skipidx_highlight('simple', 'a b c d a b c d a b c d', 'a & d', max_words => w, max_passages => 100) FROM generate_series(1, 7) w;
-- what is not in the text, not in the query, or not asked for
SELECT id, skipidx_highlight('english', t, q, max_words => 2) FROM highlight_docs, unnest('{"","!noth",none}'::tsquery[]) q WHERE id >= 4 ORDER BY id, q;
SELECT skipidx_highlight('english', t, 'one', max_words => 0), skipidx_highlight('english', t, '!one & !(!(one))', max_words => 0) FROM highlight_docs WHERE id = 7;
SELECT skipidx_highlight('simple', 'a b c', 'a & !b & !(c & !b)', max_words => 0);
SELECT skipidx_highlight('simple', 'a b', 'a', '', '');
SELECT skipidx_highlight('simple', '<b>a</b> &amp; <i title="a">', 'a'), skipidx_highlight('simple', 'x <script> a', 'script');
SELECT skipidx_highlight(NULL, 'a', 'a') IS NULL AND skipidx_highlight('simple', NULL, 'a') IS NULL AND skipidx_highlight('simple', 'a', NULL) IS NULL AND
	skipidx_highlight('simple', 'a', 'a', max_words => NULL) IS NULL AS strict;
-- at every length: a part of the text, no longer than asked for, with a match, a blank or an end on either side
SELECT count(*), bool_and(strpos(' ' || translate(t, E'\n\t', '  ') || ' ', ' ' || translate(p, E'\n\t', '  ') || ' ') > 0) AS part,
	bool_and((SELECT count(*) FROM regexp_matches(p, 'w\d+', 'g')) <= w) AS short, bool_and(p ~ 'w7') AS found
FROM generate_series(1, 60) n, generate_series(1, 40) w,
	LATERAL (SELECT string_agg(CASE i % 5 WHEN 0 THEN '"w' || i % 11 || E',"\n' ELSE 'w' || i % 11 || ' ' END, '') AS t FROM generate_series(7, 7 + n) i) x,
	skipidx_highlight('simple', t, 'w7 | w10:*', '', '', w) p;
-- where reading ends early, behind a tag as without one: all of a compound is marked, and no further word is shown
SELECT tag, skipidx_highlight('english', tag || 'cat y dog a b cat dog ' || w || ' z z z z', 'cat & dog', '{', '}', 3)
	FROM unnest('{cat-dog,x#cat,#x#cat,x<i>cat}'::text[]) w, unnest('{"","<b> "}'::text[]) tag;

--
-- What a dictionary is, when it is asked
--
CREATE FUNCTION highlight_twice(OUT before text, OUT after text) LANGUAGE plpgsql AS $$
DECLARE
	word text := 'foxes';
	i int;
BEGIN
	SET LOCAL plan_cache_mode = force_generic_plan;
	FOR i IN 1..2 LOOP
		IF i = 2 THEN
			ALTER TEXT SEARCH CONFIGURATION highlight_few ALTER MAPPING FOR asciiword WITH english_stem;
		END IF;
		after := skipidx_highlight('highlight_few', word, 'fox');
		before := coalesce(before, after);
	END LOOP;
END $$;
SELECT * FROM highlight_twice();
-- by a thesaurus and a filter
CREATE TEXT SEARCH DICTIONARY highlight_thesaurus (TEMPLATE = thesaurus, DictFile = thesaurus_sample, Dictionary = english_stem);
ALTER TEXT SEARCH CONFIGURATION highlight_few ALTER MAPPING FOR asciiword WITH highlight_thesaurus, english_stem;
SELECT skipidx_highlight('highlight_few', 'one supernova star', 'sn'), skipidx_highlight('highlight_few', 'supernovae stars and stars', 'supernova & star');

--
-- Long texts and queries
--
SELECT length(skipidx_highlight('simple', repeat('word ', 300000) || 'end', 'end', max_words => 3)) AS bounded,
	right(skipidx_highlight('simple', repeat('word ', 300000) || 'end', 'end', max_words => 0), 10) AS whole;
SELECT skipidx_highlight('simple', repeat('ж', 600000) || ' a', 'a') = repeat('ж', 524288) AS whole_letters;
SELECT skipidx_highlight('simple', 'w1 w19999 w1x y', (SELECT string_agg('w' || i || CASE i % 2 WHEN 0 THEN ':*' ELSE '' END, ' | ')::tsquery FROM generate_series(1, 20000) i));
SELECT length(skipidx_highlight('simple', repeat('a b ', 100000), (repeat('a <-> b & ', 500) || 'c')::tsquery, max_words => 10000));
SELECT skipidx_highlight('simple', repeat('x', 3000) || ' a', 'a') = repeat('x', 3000) || ' <b>a</b>' AS long_word;

--
-- Refusals
--
SELECT skipidx_highlight('simple', 'a', 'a', max_words => -1);
SELECT skipidx_highlight('simple', 'a', 'a', max_words => 10001);
SELECT skipidx_highlight('simple', 'a', 'a', max_passages => 0);
SELECT skipidx_highlight('simple', 'a', 'a', max_passages => 101);
SELECT skipidx_highlight(0, 'a', 'a');

DROP TABLE highlight_docs, highlight_queries;
DROP TEXT SEARCH CONFIGURATION highlight_few;
DROP TEXT SEARCH DICTIONARY highlight_thesaurus;
DROP FUNCTION highlight_text, highlight_marked, highlight_twice;
