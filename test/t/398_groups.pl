# Groups of words that count as one: scores are those that the definition gives,
# computed word by word and pair by pair from rankings without groups; a row with
# the words of the query alone has the bits that the query gives; the index gives
# what a sort gives, in every state; and skipidx_expand() makes groups of the
# terms that skipidx_expand_query() finds.
#
# Holds: functions 27, 28; ranking 7; score 12; topk 16

use strict;
use warnings;
use FindBin;
use List::Util qw(max min);
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $seed = skx_seed(398);
my $rounds = $ENV{SKX_GROUPS} // 60;
my $node = skx_node('groups', conf => "skipidx.cache_size = 16MB\nskipidx.max_workers = 0\nmax_parallel_workers = 4\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
my $s = skx_session($node, 'postgres');

sub pick { return $_[ rand @_ ]; }

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 40 * (abs(hashint4(i + 77 * j)) % 40)) / 80 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, 1 + abs(hashint4(i)) % CASE WHEN i % 40 = 0 THEN 200 WHEN i % 7 = 0 THEN 2 ELSE 30 END) j $$;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, CASE WHEN i % 50 = 0 THEN '' WHEN i % 11 = 0 THEN strip(body(i)) ELSE body(i) END FROM generate_series(1, 400) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
-- A document of the same length with two lexemes in the places of the words of
-- a pair's sides.  Words are with their labels, none for any.
CREATE FUNCTION sides(v tsvector, a jsonb, b jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	WITH placed AS (
		SELECT DISTINCT side, p FROM unnest(v) u (lexeme, positions, weights),
			LATERAL (VALUES ('aaa', a), ('bbb', b)) s (side, words), LATERAL unnest(positions, weights) w (p, l)
		WHERE words ? lexeme AND (words ->> lexeme = '' OR position(l IN words ->> lexeme) > 0)),
	total AS (SELECT coalesce(sum(greatest(cardinality(positions), 1)), 0) AS n FROM unnest(v) u (lexeme, positions, weights))
	SELECT coalesce(string_agg(side || ':' || p, ' '), '')::tsvector ||
		(SELECT coalesce(string_agg('f' || i, ' '), '')::tsvector FROM generate_series(1, (SELECT n - (SELECT count(*) FROM placed) FROM total)) i)
	FROM placed $$;
SQL

sub quoted { my ($text) = @_; $text =~ s/'/''/g; return "'$text'"; }

my $ndocs = 400;
my $length = $s->value('SELECT sum(greatest(cardinality(positions), 1)) FROM docs, unnest(v)');

sub word
{
	my ($name, %more) = @_;
	my $labels = delete $more{labels} // '';
	my $exact = delete $more{exact} ? ',exact' : '';

	return "'$name'" . ($labels ne '' ? ":$labels" : '') . '(' . join(',', map { "$_=$more{$_}" } sort keys %more) . "$exact)";
}

# A side: words with labels, df and factor, and what it weighs.
sub side
{
	my ($taken) = @_;
	my %words;

	for (1 .. pick(1, 2, 3, 6))
	{
		my $name = 'w' . int(rand 20);

		$words{$name} //= { labels => pick('', '', '', 'A', 'BD'), df => int(rand 300), factor => pick(1, 1, 0.5, 0.25, rand) || 1, exact => pick(1, 0) };
		$words{$name}{exact} &&= $words{$name}{factor} == 1;
	}
	my $side = { words => \%words, count => pick(1, 1, 1, 2, 9), factor => pick(1, 1, 0.5, 3), group => pick(1, 1, 0) };
	if (!$side->{group})
	{
		# one word, which no other side without a group has
		my ($name) = grep { !$taken->{$_}++ } sort keys %words;

		return side($taken) if !defined $name;
		$side->{words} = { $name => { %{ $words{$name} }, factor => 1, exact => 1 } };
	}
	my @asked = map { $_->{df} } grep { $_->{exact} && $_->{df} > 0 } values %{ $side->{words} };

	$side->{df} = max(@asked ? @asked : map { $_->{df} } values %{ $side->{words} });
	return $side;
}

# The words of a side of a pair that count beside another side.
sub counting
{
	my ($side, $other) = @_;
	my %counting;

	for (keys %{ $side->{words} })
	{
		my ($own, $its) = map { !$_ ? 0 : $_->{exact} ? 2 : $_->{factor} } $side->{words}{$_}, $other->{words}{$_};

		$counting{$_} = $side->{words}{$_}{labels} if $its < $own;
	}
	return '{' . join(',', map { "\"$_\":\"$counting{$_}\"" } sort keys %counting) . '}';
}

# Every score by its definition, with the parts of rankings without groups.
my @wrong;
my $scored = 0;
my $paired = 0;

for my $round (1 .. $rounds)
{
	my %taken;
	my @sides = map { side(\%taken) } 1 .. pick(1, 2, 3, 4);
	my $head = "documents=$ndocs length=$length" . pick('', ' k1=0.5 b=0.3', " weights={0.5,1,2,4}") . ' proximity=' . pick(0, 0.3, 2);
	my $group = 0;
	my @text;
	my @parts;
	my @pairs;

	for my $side (@sides)
	{
		my $more = join '', map { $side->{$_} == 1 ? () : ($_ eq 'count' ? 'times' : $_) . "=$side->{$_}," } qw(count factor);

		if ($side->{group})
		{
			$side->{name} = ++$group;
			push @text, "group($more" . join(',', map { word($_, %{ $side->{words}{$_} }) } sort keys %{ $side->{words} }) . ')';
		}
		else
		{
			my ($name) = keys %{ $side->{words} };

			$side->{name} = "'$name'";
			push @text, word($name, labels => $side->{words}{$name}{labels}, df => $side->{df}, times => $side->{count}, factor => $side->{factor});
		}
		for my $name (sort keys %{ $side->{words} })
		{
			my $word = $side->{words}{$name};

			push @parts, [ scalar @text, "$head " . word($name, labels => $word->{labels}, df => $side->{df}, times => $side->{count}, factor => $side->{factor} * $word->{factor}) ];
		}
	}
	my %near;
	for (1 .. (@sides > 1 ? pick(0, 1, 2, 3) : 0))
	{
		my ($a, $b) = map { int rand @sides } 1 .. 2;

		next if $a == $b || $near{"$a $b"}++;
		push @text, "near($sides[$a]{name},$sides[$b]{name})";
		push @pairs, [ counting($sides[$a], $sides[$b]), counting($sides[$b], $sides[$a]),
			"$head 'aaa'(df=$sides[$a]{df},factor=$sides[$a]{factor}) 'bbb'(df=$sides[$b]{df},factor=$sides[$b]{factor}) near('aaa','bbb')" ];
	}
	my $ranking = join ' ', $head, @text;
	my $values = join ',', map { "($_->[0], " . quoted($_->[1]) . '::skipidx_ranking)' } @parts;
	my $pairs = join ',', '(NULL::jsonb, NULL::jsonb, NULL::skipidx_ranking)', map { join('', '(', quoted($_->[0]), ',', quoted($_->[1]), ',', quoted($_->[2]), ')') } @pairs;
	chomp(my $sql = <<"SQL");
SELECT count(*) FILTER (WHERE score > 0), count(*) FILTER (WHERE pairs > 0),
	string_agg(format('%s: %s, not %s + %s', id, score, words, pairs), ', ') FILTER (WHERE abs(score - words - pairs) > 1e-5 * (1 + words + pairs)
		OR abs(near - pairs) > 1e-5 * (1 + words + pairs) OR (score > 0) <> (words > 0) OR abs(explained - score) > 1e-5 * (1 + score))
FROM (SELECT id, -(v <@> r) AS score, skipidx_proximity(v, r) AS near,
		(SELECT coalesce(sum(best), 0) FROM (SELECT max(-(v <@> w)) FROM (VALUES $values) p (g, w) GROUP BY g) m (best)) AS words,
		(SELECT coalesce(sum(skipidx_proximity(sides(v, a, b), w)), 0) FROM (VALUES $pairs) p (a, b, w) WHERE w IS NOT NULL) AS pairs,
		(SELECT sum(score) FROM skipidx_explain_score(v, r) WHERE part IN ('word', 'pair')) AS explained
	FROM docs, (SELECT @{[ quoted($ranking) ]}::skipidx_ranking OFFSET 0) x (r)) d
SQL
	my $got = $s->raw($sql);
	my @got = split /\|/, $got, 3;

	$scored += $got[0] // 0;
	$paired += $got[1] // 0;
	push @wrong, "$ranking: " . ($got[2] // $got) if ($got[2] // 'x') ne '';
	last if @wrong;
}
is("@wrong", '', "scores of $rounds rankings are as defined, seed $seed");
cmp_ok($scored, '>', $rounds * 100, 'most documents have a score');
cmp_ok($paired, '>', $rounds, 'and some have pairs');

# ---- rankings of an index ----

# By the function, a row without further words has the bits of the query.
my %further = (w1 => [qw(w2 w30 w31)], w3 => ['w2'], w7 => [qw(w99 w1)]);
my $groups = '{"w1": {"w2": 0.8, "w30": 0.5, "w31": 1e-3}, "w3": {"w2": 0.9}, "w7": ["w99", "w1"]}';
my $query = 'w1 & (w3 | w7:AB) & w9 & !w4 & w1';

sub grouped
{
	my ($index, $q, $g) = @_;

	return "skipidx_ranking_of_groups('$index', " . quoted($q) . ', ' . quoted($g) . ')';
}
my $ranking = $s->value('SELECT ' . grouped('docs_v', $query, $groups));
like($ranking, qr/ 'w9'\(df=\d+\) group\(times=2,'w1'\(df=\d+,exact\),'w2'\(df=\d+,factor=0\.8\),'w30'\(df=\d+,factor=0\.5\),'w31'\(df=\d+,factor=0\.001\)\) group\('w2'\(df=\d+,factor=0\.9\),'w3'\(df=\d+,exact\)\) group\('w1':AB\(df=\d+\),'w7':AB\(df=\d+,exact\),'w99':AB\(df=0\)\) near\(1,2\) near\(2,3\) near\(3,'w9'\)$/,
	'groups have labels, repetitions and pairs of the query');
# w4 is negated, so that w9 has no neighbour after it
is($s->value("SELECT count(*) FILTER (WHERE a = b) || ' of ' || count(*) || ', ' || count(*) FILTER (WHERE a > b) FROM (SELECT -(v <@> " . grouped('docs_v', 'w1 & w3 & w9', '{"w1": {"w30": 1, "w31": 0.5}, "w3": {"w32": 0.1}, "w9": ["w33"]}')
	. ") AS a, -(v <@> skipidx_ranking('docs_v', 'w1 & w3 & w9')) AS b FROM docs WHERE v @@ 'w1 & w3 & w9 & !w30 & !w31 & !w32 & !w33') d"),
	$s->value("SELECT count(*) || ' of ' || count(*) || ', 0' FROM docs WHERE v @@ 'w1 & w3 & w9 & !w30 & !w31 & !w32 & !w33'"), 'a row with the words alone has the score of the query');
is($s->value("SELECT count(*) FROM docs WHERE (v <@> " . grouped('docs_v', $query, $groups) . ") > (v <@> skipidx_ranking('docs_v', " . quoted($query) . "))"), 0, 'and no row has less');
is($s->value('SELECT ' . grouped('docs_v', $query, '{}') . "::text = skipidx_ranking('docs_v', " . quoted($query) . ')::text'), 't', 'no groups');
is($s->value('SELECT ' . grouped('docs_v', 'w1 | w2', '{"w1": {}, "w2": []}') . "::text = skipidx_ranking('docs_v', 'w1 | w2')::text"), 't', 'empty groups');
is($s->value('SELECT ' . grouped('docs_v', '', '{}') . "::text LIKE 'documents=400 %'"), 't', 'an empty query');
is($s->value("SELECT skipidx_ranking_of_groups(NULL, 'w1', '{}') IS NULL AND skipidx_ranking_of_groups('docs_v', NULL, '{}') IS NULL AND skipidx_ranking_of_groups('docs_v', 'w1', NULL) IS NULL"), 't', 'NULL');
# a word that no row has weighs less as a group, which changes no last bit of others
is($s->value("SELECT count(*) FILTER (WHERE a = b) || ' of ' || count(*) FILTER (WHERE NOT v @@ 'w1') || ', ' || count(*) FILTER (WHERE a > b) FROM (SELECT v, v <@> " . grouped('docs_v', 'none & w3 & w9', '{"none": ["w1"]}')
	. " AS a, v <@> skipidx_ranking('docs_v', 'none & w3 & w9') AS b FROM docs WHERE v @@ 'w3 | w9') d"),
	$s->value("SELECT n || ' of ' || n || ', 0' FROM (SELECT count(*) AS n FROM docs WHERE v @@ '(w3 | w9) & !w1') x"), 'a group of a word that no row has');
# the words that were asked for come first
is($s->value("SELECT -('w1:1 w9:2'::tsvector <@> r) > -('w30:1 w9:2'::tsvector <@> r) FROM " . grouped('docs_v', 'w1 & w9', '{"w1": {"w30": 0.999}}') . ' r'), 't', 'the word itself comes first');

for (
	[ '[]', qr/22023: invalid groups of words/ ], [ '1', qr/22023/ ], [ '{"w1": 1}', qr/22023/ ], [ '{"w1": "w2"}', qr/22023/ ], [ '{"w1": null}', qr/22023/ ],
	[ '{"w1": {"w2": 0}}', qr/22023/ ], [ '{"w1": {"w2": -1}}', qr/22023/ ], [ '{"w1": {"w2": 1.0000001}}', qr/22023/ ], [ '{"w1": {"w2": 1e999}}', qr/22023/ ], [ '{"w1": {"w2": 1e-999}}', qr/22023/ ],
	[ '{"w1": {"w2": "1"}}', qr/22023/ ], [ '{"w1": {"w2": {}}}', qr/22023/ ], [ '{"w1": {"w2": [1]}}', qr/22023/ ], [ '{"w1": [1]}', qr/22023/ ], [ '{"w1": [["w2"]]}', qr/22023/ ], [ '{"w1": [{}]}', qr/22023/ ],
	[ '{"w1": ["w2", "w2"]}', qr/0A000: no ranking can be made of this query and index\nDETAIL:  A word must not come twice/ ], [ '{"w1": ["w1"]}', qr/0A000/ ],
	[ '{"w1": [""]}', qr/22023/ ], [ '{"": ["w1"]}', qr/22023/ ], [ '{"w5": {}}', undef ], [ '{"w5": ["w1"]}', qr/22023: the query has no word "w5" to rank by/ ], [ '{"w4": ["w1"]}', qr/22023: the query has no word "w4"/ ],
	[ '{"w1": ["' . 'x' x 2048 . '"]}', qr/22023/ ], [ '{"w1": ["' . 'x' x 2047 . '"]}', undef ],
	[ '{"w1": [' . join(',', map { "\"x$_\"" } 1 .. 63) . ']}', undef ], [ '{"w1": [' . join(',', map { "\"x$_\"" } 1 .. 64) . ']}', qr/0A000: .*\nDETAIL:  A group has 64 words at most/ ],
	[ '{"w1": [' . join(',', map { "\"x$_\"" } 1 .. 1025) . ']}', qr/54000: groups have 1024 words at most in all/ ])
{
	my ($json, $error) = @$_;
	my $got = $s->raw('SELECT ' . grouped('docs_v', $query, $json) . ' IS NOT NULL');

	if (defined $error) { like($got, $error, 'refused: ' . substr($json, 0, 60)); }
	else { is($got, 't', 'accepted: ' . substr($json, 0, 60)); }
}
my $many = join ' & ', map { "w$_" } 100 .. 400;
like($s->raw('SELECT ' . grouped('docs_v', $many, '{' . join(',', map { "\"w$_\": [\"x\"]" } 100 .. 400) . '}')), qr/54000: a ranking has 256 groups of words at most/, 'too many groups');
like($s->raw('SELECT ' . grouped('docs_v', $many, '{' . join(',', map { "\"w$_\": [\"" . 'x' x 200 . '"]' } 100 .. 200) . '}')), qr/54000: a ranking cannot have so many words/, 'too many bytes');
like($s->raw("CREATE ROLE nobody; SET ROLE nobody; SELECT " . grouped('docs_v', 'w1', '{}')), qr/42501/, 'who may not read the rows');
like($s->raw("SELECT skipidx_expand('docs_v', 'w1')"), qr/42501/, 'nor expand');
$s->value('RESET ROLE');

# ---- the index gives what a sort gives ----

$s->value(<<'SQL' =~ s/\n\z//r);
CREATE TABLE parts (id int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE INDEX parts_v ON parts USING skipidx (v) WITH (block_size = '8kB');
INSERT INTO parts SELECT i, body(i) FROM generate_series(1, 3000) i;
SELECT count(skipidx_flush(i)) FROM unnest('{parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}'::regclass[]) i
SQL
$s->value('INSERT INTO parts SELECT i, body(i) FROM generate_series(3001, 3300) i; DELETE FROM parts WHERE id % 17 = 3; VACUUM parts; DELETE FROM parts WHERE id % 19 = 5; ANALYZE parts');
$s->value('CREATE TABLE whole AS SELECT * FROM parts; CREATE INDEX whole_v ON whole USING skipidx (v); ANALYZE whole');
is($s->value('SELECT (SELECT sum(skipidx_ranking_of_groups(i, q, g))::text FROM unnest($${parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}$$::regclass[]) i) = skipidx_ranking_of_groups($$parts_v$$, q, g)::text'
	. ' FROM (VALUES (' . quoted($query) . '::tsquery, ' . quoted($groups) . '::jsonb)) x (q, g)'), 't', 'rankings of partitions add up');

# Rows and distances by the index and by a sort, of ranking and filter drawn at
# random; then in pages.
sub answer
{
	my ($table, $by_index, $r, $filter, $k) = @_;
	my $on = $by_index ? 'on' : 'off';
	my $off = $by_index ? 'off' : 'on';

	return $s->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_incremental_sort = $off; SET enable_indexscan = $on; SET enable_bitmapscan = off; SELECT string_agg(id || ' ' || float4send(d)::text, ',') FROM (SELECT id, v <@> $r AS d FROM $table"
		. (defined $filter ? " WHERE v @@ '$filter'" : '') . " ORDER BY v <@> $r" . ($by_index && $table eq 'whole' ? '' : ', tableoid, ctid') . " LIMIT $k) x");
}
my $same = 0;
my $different = '';

for my $round (1 .. 60)
{
	my @words = map { 'w' . int rand 20 } 1 .. pick(1, 2, 3, 5);
	my %of = map { $_ => { map { 'w' . int(rand 25) => 1 } 1 .. pick(1, 2, 6, 15) } } @words;
	my $json = '{' . join(',', map { my $w = $_; "\"$w\": {" . join(',', map { "\"$_\": " . pick(1, 0.8, 0.64, 0.1) } grep { $_ ne $w } sort keys %{ $of{$w} }) . '}' } sort keys %of) . '}';
	my $q = join pick(' & ', ' | '), @words;
	my $filter = pick(undef, undef, $q =~ s/&/|/gr, 'w3', 'w1 | w2', 'w2 & w3', '!w5', 'w1 <-> w2');
	my $k = pick(1, 5, 20, 'NULL');
	my $r = quoted($s->value('SELECT ' . grouped('whole_v', $q, $json))) . '::skipidx_ranking';
	my @got = map { answer('whole', $_, $r, $filter, $k) } 1, 0;

	$s->value("SET max_parallel_workers_per_gather = " . pick(0, 2));
	if ($got[0] eq $got[1]) { $same++; } else { $different .= "$r, filter " . ($filter // 'none') . ", $k: $got[0], not $got[1]\n"; }
}
is($different, '', "the index gives what a sort gives, $same times");
$s->value('RESET ALL');

# ---- work ----

# Of a common word with rare spellings, no more is scored than these and what the
# word alone takes, some times over.
$s->value("CREATE TABLE work (id int, v tsvector); INSERT INTO work SELECT i, ('all:1 w' || i % 5 || ':' || i % 3 + 1 || repeat(',9', (i % 31 = 0)::int) || CASE WHEN i % 200 = 0 THEN ' w1x' || i % 7 || ':5' ELSE '' END"
	. " || (SELECT string_agg(' f' || j || ':' || 10 + j, '') FROM generate_series(1, i % 40) j))::tsvector FROM generate_series(1, 30000) i; CREATE INDEX work_v ON work USING skipidx (v) WITH (block_size = '8kB'); VACUUM ANALYZE work;"
	. " SET enable_seqscan = off; SET enable_sort = off");
sub scored
{
	my ($r) = @_;

	return $s->value("EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT id FROM work ORDER BY v <@> $r LIMIT 10") =~ /Scored Postings: (\d+)/ ? $1 : -1;
}
my $alone = scored("skipidx_ranking('work_v', 'w1 & all')");
my $together = scored(grouped('work_v', 'w1 & all', '{"w1": {' . join(',', map { "\"w1x$_\": 0.8" } 0 .. 6) . '}}'));

cmp_ok($alone, '>', 0, "the words alone: $alone postings");
cmp_ok($together, '<', 150 + 5 * $alone, "a group of the 150 of spellings: $together");
cmp_ok($together, '<', 18000, 'half of all postings are passed over');
is(answer('work', 1, grouped('work_v', 'w1 & all', '{"w1": {"w1x0": 0.8, "w1x3": 0.8}}'), undef, 50), answer('work', 0, grouped('work_v', 'w1 & all', '{"w1": {"w1x0": 0.8, "w1x3": 0.8}}'), undef, 50), 'and the rows are those of a sort');
$s->value('RESET ALL');

# ---- terms near the words ----

$s->value(<<'SQL' =~ s/\n\z//r);
CREATE TABLE near (id serial, v tsvector);
INSERT INTO near (v) SELECT to_tsvector('simple', t) FROM unnest('{search engine,serach engine,search for engines,research,caf\u00e9 latte,cafe latte,caf\u00e9s,extension of postgres,extention of postgres,extensoin,searching}'::text[]) WITH ORDINALITY x (t, n), generate_series(1, (12 - n)::int);
CREATE INDEX near_v ON near USING skipidx (v)
SQL
my $expanded = $s->value("SELECT skipidx_expand('near_v', 'search & engine')");

like($expanded, qr/ group\('engine'\(df=21,exact\),'engines'\(df=9,factor=0\.6\)\) group\('search'\(df=\d+,exact\),'serach'\(df=10,factor=0\.6\)\) near\(2,1\)$/, 'groups of the terms that are near');
is($s->value(q{SELECT skipidx_expand('near_v', 'xsearch & none')::text ~ E' \'none\'\\\\(df=0\\\\) group\\\\(\'search\'\\\\(df=\\\\d+,factor=0\\\\.6\\\\),\'xsearch\'\\\\(df=0,exact\\\\)\\\\) near\\\\(1,\'none\'\\\\)$'}), 't', 'a word that the index lacks');
like($s->value("SELECT skipidx_expand('near_v', 'cafe')"), qr/ group\('cafe'\(df=\d+,exact\),'caf\xe9?.*'\(df=\d+,factor=0\.95\)\)$|'cafe'\(df=\d+\)$/s, 'accents');
like($s->value("SELECT skipidx_expand('near_v', 'search & engine', '0', accents => false)"), qr/ 'engine'\(df=21\) 'search'\(df=\d+\) near\('search','engine'\)$/, 'no typos');
like($s->value("SELECT skipidx_expand('near_v', 'search & engine', last_is_prefix => true)"), qr/ 'engine':\*\(.*\) group\('search'\(df=\d+,exact\),'serach'\(df=10,factor=0\.6\)\)$/, 'the last word is a prefix');
like($s->value("SELECT skipidx_expand('near_v', 'search <-> engine & !serach')"), qr/ 'engine'\(df=21\) 'search'\(df=\d+\) near/, 'words of phrases and negated ones stay');
like($s->value("SELECT skipidx_expand('near_v', 'search <-> engine', phrases => true)"), qr/ group\(.*\) group\(.*\) near\(2,1\)$/, 'words of phrases');
like($s->value("SELECT skipidx_expand('near_v', 'search & search:A & engine', most => 2)"), qr/ group\('engine'.*\) group\(times=2,'search'\(df=\d+,exact\),'serach'\(df=10,factor=0\.6\)\)/, 'a word that comes twice');
is($s->value("SELECT skipidx_expand('near_v', 'search & engine', most => 1)::text = skipidx_ranking('near_v', 'search & engine')::text"), 't', 'most = 1');
is($s->value("SELECT skipidx_expand(NULL, 'a') IS NULL AND skipidx_expand('near_v', NULL) IS NULL"), 't', 'NULL');
is($s->value("SELECT skipidx_expand('near_v', '')::text = skipidx_ranking('near_v', '')::text"), 't', 'an empty query');
like($s->raw("SELECT skipidx_expand('near_v', 'a', most => $_)"), qr/22023: most must be between 1 and 64/, "most $_") for 0, 65;
like($s->raw("SELECT skipidx_expand('near_v', 'a', $_ => NULL)"), qr/22004: $_ must not be NULL/, "$_ NULL") for qw(typos last_is_prefix accents most phrases);
# the words as they are come first, the query that finds the rows has the same words
is($s->value("SELECT string_agg(DISTINCT lexeme, ' ') FROM (SELECT v FROM near WHERE v @@ skipidx_expand_query('near_v', 'search & engine') ORDER BY v <@> skipidx_expand('near_v', 'search & engine') LIMIT 11) x, unnest(v) u (lexeme)"), 'engine search', 'rows with the words themselves come first');
is($s->value("SELECT count(*) FROM near WHERE (v @@ skipidx_expand_query('near_v', 'search | engine')) <> (v <@> skipidx_expand('near_v', 'search | engine') < 0)"), 0, 'rows with a score are those that the query finds');
is($s->value("INSERT INTO near (v) SELECT 'searc' FROM generate_series(1, 30); SELECT skipidx_expand('near_v', 'search', most => 2)::text LIKE '%''searc''(df=30,factor=0.6)%'"), 't', 'terms of pending documents, under the new snapshot');
like($s->raw("SELECT skipidx_expand('near_v', (SELECT string_agg('search' || i, '|') FROM generate_series(1, 20000) i)::tsquery) IS NULL"), qr/54000: a ranking cannot have so many words/, 'a query of 20,000 words');
# a long question has as many terms near its words as the ranking has room for: of the first words, not of the last
$s->value(q{CREATE TABLE long (v tsvector); INSERT INTO long SELECT array_to_tsvector(array_agg('question' || w || chr(96 + i))) FROM generate_series(1, 26) i, generate_series(100, 199) w GROUP BY i; CREATE INDEX long_v ON long USING skipidx (v)});
for my $prefix ('false', 'true')
{
	my $expand = "SELECT skipidx_expand('long_v', (SELECT string_agg('question' || w || 'a', '&') FROM generate_series(100, 199) w)::tsquery, last_is_prefix => $prefix)";
	my $text = $s->value($expand);
	my @groups = $text =~ /'question(\d+)a'\(df=1,exact\)/g;
	my $bytes = $s->value("SELECT octet_length(skx_ranking_send(($expand)))");

	is("@groups", join(' ', 100 .. 99 + @groups), "terms near the first words of a long question, $prefix");
	cmp_ok($bytes, '<=', 16384, 'fit in a ranking');
	cmp_ok($bytes, '>', 10000 - ($prefix eq 'true' ? 2000 : 0), 'and fill most of it');
}
$s->close;
$node->stop;
done_testing();
