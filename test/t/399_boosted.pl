# Rankings with factors for some of their words: scores are those that the
# definition gives, computed from rankings of one word and of one pair without a
# factor; the index gives the rows and bits of a sort, in every state, in pages,
# by several processes and over partitions; a ranking keeps its factors as text,
# as bytes and in sums; and what is no such jsonb is refused.
#
# Holds: functions 31; ranking 2, 5; score 3, 8; topk 1, 10, 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $seed = skx_seed(399);
my $rounds = $ENV{SKX_BOOSTED} // 60;
my $node = skx_node('boosted', conf => "skipidx.cache_size = 16MB\nskipidx.max_workers = 0\nmax_parallel_workers = 4\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
my $s = skx_session($node, 'postgres');

sub pick { return $_[ rand @_ ]; }
sub quoted { my ($text) = @_; $text =~ s/'/''/g; return "'$text'"; }

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 40 * (abs(hashint4(i + 77 * j)) % 40)) / 80 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, 1 + abs(hashint4(i)) % CASE WHEN i % 40 = 0 THEN 200 WHEN i % 7 = 0 THEN 2 ELSE 30 END) j $$;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, CASE WHEN i % 50 = 0 THEN '' WHEN i % 11 = 0 THEN strip(body(i)) ELSE body(i) END FROM generate_series(1, 400) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0.4, weights = '{0.5, 1, 2, 4}');
SQL

sub made { my ($index, $q) = @_; return "skipidx_ranking('$index', " . quoted($q) . ')'; }
sub boosted { my ($ranking, $factors) = @_; return "skipidx_boosted($ranking, " . quoted($factors) . ')'; }

# ---- every score by its definition ----

# A query of words, prefixes, labels and repetitions, and factors for some of its
# operands.
sub question
{
	my @operands = map { 'w' . pick(int(rand 20), int(rand 5)) . pick('', '', '', ':*', ':A', ':BD', ':*AB') } 1 .. pick(1, 2, 3, 6);
	my %factors;

	for (@operands)
	{
		next if rand() < .4;
		my $key = /^(\w+)(:\*)?/ ? $1 . ($2 // '') : die;

		$factors{$key} = pick(100, 3, 1.5, 1, 0.5, 0.01, rand(100) || 1);
	}
	return (join(pick(' & ', ' | '), @operands), \%factors);
}

sub json { my ($factors) = @_; return '{' . join(',', map { "\"$_\": $factors->{$_}" } sort keys %$factors) . '}'; }

my @wrong;
my ($scored, $paired, $raised) = (0, 0, 0);

for my $round (1 .. $rounds)
{
	my ($q, $factors) = question();
	my $plain = $s->value('SELECT ' . made('docs_v', $q));
	my $r = boosted(quoted($plain) . '::skipidx_ranking', json($factors));
	my ($head) = $plain =~ /^(documents=.* proximity=\S+)/;
	my (%word, %factor, @words, @pairs);
	my $weight = 0;

	while ($plain =~ / ('(w\d+)'(?::(\*?)\w*)?\([^()]*\))/g)
	{
		my ($text, $name, $star) = ($1, $2, $3 // '');

		$word{$name} = $text unless $star;
		$factor{$name} = $factors->{$name} // 1 unless $star;
		push @words, [ $text, $factors->{ $name . ($star ? ':*' : '') } // 1 ];
		$weight += $words[-1][1] * ($text =~ /times=(\d+)/ ? $1 : 1);
	}
	# of a pair, one occurrence of each word counts
	while ($plain =~ / near\('(\w+)','(\w+)'\)/g)
	{
		my ($a, $b) = ($1, $2);

		push @pairs, [ join(' ', map { s/,times=\d+//r } $word{$a}, $word{$b}) . " near('$a','$b')", $factor{$a}, $factor{$b}, $a, $b ];
	}
	# what a unit is depends on the largest score that there can be
	my $unit = 2e-6 * (0.1 + $weight);
	my $values = join ',', map { '(' . quoted("$head $_->[0]") . "::skipidx_ranking, $_->[1]::float8)" } @words;
	my $pairs = join ',', '(NULL::skipidx_ranking, 1::float8)', map {
		my ($text, $fa, $fb, $a, $b) = @$_;
		my $idf = "SELECT %s FROM (SELECT max(idf) FILTER (WHERE part = 'word' AND word ~ '\\m$a\\M') AS a, max(idf) FILTER (WHERE part = 'word' AND word ~ '\\m$b\\M') AS b FROM skipidx_explain_score(''::tsvector, " . quoted("$head $text") . ')) i';

		'(' . quoted("$head $text") . '::skipidx_ranking, (' . sprintf($idf, "least($fa * a, $fb * b) / least(a, b)") . '))' } @pairs;
	chomp(my $sql = <<"SQL");
SELECT count(*) FILTER (WHERE score > 0), count(*) FILTER (WHERE near > 0), count(*) FILTER (WHERE score > plain * 1.01),
	string_agg(format('%s: %s, not %s + %s', id, score, words, pairs), ', ') FILTER (WHERE abs(score - words - pairs) > 1e-5 * (words + pairs) + $unit
		OR abs(near - pairs) > 1e-5 * (words + pairs) + $unit OR (score > 0) <> (plain > 0) OR abs(explained - score) > 1e-5 * score + $unit)
FROM (SELECT id, -(v <@> r) AS score, skipidx_proximity(v, r) AS near, -(v <@> p) AS plain,
		(SELECT coalesce(sum(f * -(v <@> w)), 0) FROM (VALUES $values) x (w, f)) AS words,
		(SELECT coalesce(sum(f * skipidx_proximity(v, w)), 0) FROM (VALUES $pairs) x (w, f) WHERE w IS NOT NULL) AS pairs,
		(SELECT sum(score) FROM skipidx_explain_score(v, r) WHERE part IN ('word', 'pair')) AS explained
	FROM docs, (SELECT $r, @{[ quoted($plain) ]}::skipidx_ranking OFFSET 0) x (r, p)) d
SQL
	my $got = $s->raw($sql);
	my @got = split /\|/, $got, 4;

	$scored += $got[0] =~ /^\d+$/ ? $got[0] : 0;
	$paired += $got[1] // 0;
	$raised += $got[2] // 0;
	push @wrong, "$q, " . json($factors) . ': ' . ($got[3] // $got) if ($got[3] // 'x') ne '';
	last if @wrong;
}
is("@wrong", '', "scores of $rounds queries are as defined, seed $seed");
cmp_ok($scored, '>', $rounds * 50, 'many documents have a score');
cmp_ok($paired, '>', $rounds, 'some have pairs');
cmp_ok($raised, '>', $rounds * 10, 'and some a larger one than without factors');

# ---- the ranking itself ----

my $query = 'w1 & w3:AB & w7:* & w7 & !w4 & w1';
my $ranking = made('docs_v', $query);

like($s->value('SELECT ' . boosted($ranking, '{"w1": 3, "w3": 0.5, "w7:*": 1e-3}')),
	qr/ proximity=0\.4 'w1'\(df=\d+,times=2,factor=3\) 'w3':AB\(df=\d+,factor=0\.5\) 'w7'\(df=\d+\) 'w7':\*\(df=\d+,factor=0\.001,.*\)/, 'the text of a ranking has its factors');
is($s->value('SELECT ' . boosted($ranking, '{}') . "::text = $ranking\::text"), 't', 'no factors');
is($s->value('SELECT ' . boosted($ranking, '{"w1": 1, "w7": 1.0}') . "::text = $ranking\::text"), 't', 'factors of 1');
is($s->value('SELECT ' . boosted(boosted($ranking, '{"w1": 4}'), '{"w1": 0.5, "w3": 2}') . '::text = ' . boosted($ranking, '{"w1": 2, "w3": 2}') . '::text'), 't', 'factors are multiplied');
is($s->value('SELECT ' . boosted(made('docs_v', ''), '{}') . "::text LIKE 'documents=400 %'"), 't', 'an empty query');
like($s->value('SELECT ' . boosted(quoted("documents=9 length=9 'cat':*(df=2) 'cat:*'(df=1)") . '::skipidx_ranking', '{"cat:*": 2}')), qr/ 'cat:\*'\(df=1,factor=2\) 'cat':\*\(df=2\)/, 'a lexeme that looks like a prefix');
like($s->value('SELECT ' . boosted(quoted("documents=9 length=9 'caf\xc3\xa9'(df=2) ':*'(df=1) 'a\"b'(df=1)") . '::skipidx_ranking', "{\"caf\xc3\xa9\": 2, \":*\": 3, \"a\\\"b\": 4}")), qr/ ':\*'\(df=1,factor=3\) 'a"b'\(df=1,factor=4\) 'caf\S+'\(df=2,factor=2\)/, 'other characters');
# of a group, the exact word has the factor, and what stands in for it follows
my $grouped = "skipidx_ranking_of_groups('docs_v', 'w1 & w3 & w9', '{\"w1\": {\"w2\": 0.8}, \"w3\": {\"w1\": 0.1}}')";
like($s->value('SELECT ' . boosted($grouped, '{"w1": 3, "w9": 2}')), qr/ 'w9'\(df=\d+,factor=2\) group\(factor=3,'w1'\(df=\d+,exact\),'w2'\(df=\d+,factor=0\.8\)\) group\('w1'\(df=\d+,factor=0\.1\),'w3'\(df=\d+,exact\)\)/, 'a group');
is($s->value('SELECT bool_and(abs((v <@> ' . boosted("skipidx_ranking_of_groups('docs_v', 'w1', '{\"w1\": {\"w2\": 0.8}}')", '{"w1": 3}') . ") - 3 * (v <@> skipidx_ranking_of_groups('docs_v', 'w1', '{\"w1\": {\"w2\": 0.8}}'))) < 1e-4) FROM docs"), 't', 'its words have the factor, too');
is($s->value("SELECT skipidx_boosted(NULL, '{}') IS NULL AND skipidx_boosted($ranking, NULL) IS NULL"), 't', 'NULL');
# what is kept for the calls of an expression is by both arguments
is($s->value("SELECT count(DISTINCT b::text) || ' ' || bool_and(b::text LIKE '%factor=' || f || ')%' AND b::text LIKE '%df=' || d || ',%') FROM generate_series(1, 20) i, LATERAL (SELECT 2 + i / 2 % 3 AS f, i % 2 AS d OFFSET 0) x,"
	. " LATERAL (SELECT skipidx_boosted(format(\$\$documents=9 length=9 'a'(df=%s)\$\$, d)::skipidx_ranking, format('{\"a\": %s}', f)::jsonb) AS b OFFSET 0) y"), '6 true', 'each call has its own');
is($s->value(<<'SQL' =~ s/\n\z//r), '3 22023 3', 'and after an error');
CREATE FUNCTION tried(f jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r skipidx_ranking := 'documents=9 length=9 ''a''(df=1)'; t text := ''; j jsonb;
BEGIN
	FOREACH j IN ARRAY ARRAY['{"a": 3}', f, '{"a": 3}'] LOOP
		BEGIN r := skipidx_boosted('documents=9 length=9 ''a''(df=1)', j); t := t || substring(r::text from 'factor=(\d+)') || ' ';
		EXCEPTION WHEN invalid_parameter_value THEN t := t || '22023 '; END;
	END LOOP;
	RETURN trim(t);
END $$;
SELECT tried('{"b": 2}')
SQL

for (
	[ '[]', qr/22023: invalid factors of words/ ], [ '1', qr/22023/ ], [ '"w1"', qr/22023/ ], [ 'null', qr/22023/ ], [ '["w1"]', qr/22023/ ], [ '[{"w1": 2}]', qr/22023/ ],
	[ '{"w1": "2"}', qr/22023/ ], [ '{"w1": null}', qr/22023/ ], [ '{"w1": true}', qr/22023/ ], [ '{"w1": {"w1": 2}}', qr/22023/ ], [ '{"w1": [2]}', qr/22023/ ],
	[ '{"w1": 0}', qr/22023/ ], [ '{"w1": -1}', qr/22023/ ], [ '{"w1": 100.001}', qr/22023/ ], [ '{"w1": 1e999}', qr/22023/ ], [ '{"w1": 1e-999}', qr/22023/ ], [ '{"w1": 100}', undef ], [ '{"w1": 1e-300}', undef ],
	[ '{"w5": 2}', qr/22023: the ranking has no word "w5" to boost/ ], [ '{"w4": 2}', qr/22023: the ranking has no word "w4"/ ], [ '{"W1": 2}', qr/22023/ ], [ '{"w1": 2, "w5": 1}', qr/22023/ ], [ '{"w3:A": 2}', qr/22023/ ], [ '{"w1:*": 2}', qr/22023/ ], [ '{"": 2}', qr/22023/ ], [ '{":*": 2}', qr/22023/ ], [ '{"*": 2}', qr/22023/ ],
	[ '{"w1": 2, "w1": 3}', undef ], [ '{"' . 'x' x 100_000 . '": 2}', qr/22023: the ranking has no word "x{2047}"/ ], [ '{' . join(',', map { "\"y$_\": 2" } 1 .. 5000) . '}', qr/22023/ ])
{
	my ($factors, $error) = @$_;
	my $got = $s->raw('SELECT ' . boosted($ranking, $factors) . ' IS NOT NULL');

	if (defined $error) { like($got, $error, 'refused: ' . substr($factors, 0, 60)); }
	else { is($got, 't', 'accepted: ' . substr($factors, 0, 60)); }
}
like($s->raw('SELECT ' . boosted($grouped, '{"w2": 2}')), qr/22023: the ranking has no word "w2" to boost/, 'what stands in for another word');
like($s->raw('SELECT ' . boosted(boosted($ranking, '{"w1": 11}'), '{"w1": 10}')), qr/22003: the factors of a ranking are out of range/, 'a product above 100');
my @long = map { "verylongword$_" } 1 .. 850;
like($s->raw('SELECT ' . boosted(made('docs_v', join ' | ', @long), json({ map { $_ => 2 } @long[ 0 .. 99 ] })) . ' IS NOT NULL'), qr/^t$/, 'many words');
like($s->raw('SELECT ' . boosted(made('docs_v', join ' | ', @long), json({ map { $_ => 2 } @long }))), qr/54000: a ranking cannot have so many words/, 'too many bytes');
my ($a, $b) = map { boosted($ranking, "{\"w1\": $_}") } 2, 3;
like($s->raw("SELECT $a + $b"), qr/22023: rankings that differ in more than their statistics cannot be added/, 'other factors are not added');

# ---- the index gives what a sort gives ----

$s->value(<<'SQL' =~ s/\n\z//r);
CREATE TABLE parts (id int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE INDEX parts_v ON parts USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE whole (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO whole SELECT i, body(i) FROM generate_series(1, 3000) i;
CREATE INDEX whole_v ON whole USING skipidx (v) WITH (pending_limit = '1GB');
INSERT INTO parts SELECT * FROM whole;
CREATE TABLE kept (n int, r skipidx_ranking);
CREATE TABLE copied (LIKE kept);
ANALYZE
SQL

# Rows and distances by the index and by a sort.
sub answer
{
	my ($table, $by_index, $r, $filter, $k) = @_;
	my $on = $by_index ? 'on' : 'off';
	my $off = $by_index ? 'off' : 'on';
	my $tie = $table eq 'parts' ? ', id' : $by_index ? '' : ', ctid';

	return $s->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_incremental_sort = on; SET enable_indexscan = $on; SET enable_bitmapscan = off; SELECT string_agg(id || ' ' || float4send(d)::text, ',') FROM (SELECT id, v <@> $r AS d FROM $table"
		. (defined $filter ? " WHERE v @@ '$filter'" : '') . " ORDER BY v <@> $r$tie LIMIT $k) x");
}
my $different = '';
my ($same, $paged) = (0, 0);

for my $round (1 .. 160)
{
	my ($q, $factors) = question();
	my $filter = pick(undef, undef, $q =~ s/&/|/gr, 'w3', 'w1 | w2', 'w2 & w3', '!w5', 'w1 <-> w2');
	my $k = pick(1, 5, 20, 'NULL');
	my $table = pick('whole', 'whole', 'parts');
	my $call = boosted(made("${table}_v", $q), json($factors));
	my $value = $s->value("SELECT $call");
	my $r = pick($call, "(SELECT $call)", quoted($value) . '::skipidx_ranking');

	$s->value('SET max_parallel_workers_per_gather = ' . pick(0, 2));
	my @got = map { answer($table, $_, $r, $filter, $k) } 1, 0;

	$s->value('RESET ALL');
	if ($got[0] eq $got[1]) { $same++; }
	else { $different .= "$table, $r, filter " . ($filter // 'none') . ", $k: $got[0], not $got[1]\n"; last; }
	$s->value("INSERT INTO kept VALUES ($round, " . quoted($value) . ')');
	# in pages, of which each goes on by a token
	if ($round % 4 == 0)
	{
		my ($pages, $token) = ('', 'NULL');

		for (1 .. 4)
		{
			my @page = split /\|/, $s->value("SELECT string_agg(id || ' ' || float4send(0::float4 - score)::text, ',' ORDER BY token), (array_agg(token ORDER BY token DESC))[1] FROM skipidx_search('whole_v', 'w1:* | w2:* | w3:*', 7, after => $token, ranking => "
				. quoted($value) . '::skipidx_ranking) r JOIN whole w ON w.ctid = r.ctid');

			$pages .= ($pages eq '' ? '' : ',') . $page[0];
			$token = quoted($page[1]);
		}
		$s->value('SET max_parallel_workers_per_gather = 0');
		my $sorted = answer('whole', 0, quoted($value) . '::skipidx_ranking', 'w1:* | w2:* | w3:*', 28);

		$s->value('RESET ALL');
		if ($pages eq $sorted) { $paged++; } else { $different .= "$value, pages: $pages, not $sorted\n"; }
	}
	# in other states of the index
	my $from = 10000 + 40 * $round;
	if ($round % 16 == 5) { $s->value("INSERT INTO $_ SELECT i, body(i) FROM generate_series($from, $from + 99) i") for qw(whole parts); }
	elsif ($round % 16 == 9) { $s->value("DELETE FROM $_ WHERE id % 29 = $round % 29") for qw(whole parts); }
	elsif ($round % 32 == 12) { $s->value("VACUUM $_") for qw(whole parts); }
	elsif ($round % 32 == 28) { $s->value("SELECT skipidx_flush(i::regclass) FROM unnest('{whole_v,parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}'::text[]) i"); }
	elsif ($round == 80) { $s->value("SELECT skipidx_merge('whole_v')"); }
}
is($different, '', "the index gives what a sort gives, $same times, $paged times in pages");

# Of parts, with factors before the sum and after it, the whole's ranking.
is($s->value('SELECT (SELECT sum(skipidx_boosted(skipidx_ranking(i, q), f))::text FROM unnest($${parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}$$::regclass[]) i) = skipidx_boosted(skipidx_ranking($$parts_v$$, q), f)::text'
	. ' AND skipidx_boosted((SELECT sum(skipidx_ranking(i, q)) FROM unnest($${parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}$$::regclass[]) i), f)::text = skipidx_boosted(skipidx_ranking($$parts_v$$, q), f)::text'
	. ' FROM (VALUES (' . quoted($query) . "::tsquery, '{\"w1\": 3, \"w7:*\": 0.7}'::jsonb)) x (q, f)"), 't', 'rankings of partitions add up');

# As text and as bytes.
my $dir = PostgreSQL::Test::Utils::tempdir();
chmod 0777, $dir;
$s->value("COPY kept TO '$dir/copy' WITH (FORMAT binary); COPY copied FROM '$dir/copy' WITH (FORMAT binary)");
is($s->value(q{SELECT count(*) > 100 AND bool_and(k.r::text = c.r::text AND k.r::text = k.r::text::skipidx_ranking::text) AND count(*) FILTER (WHERE k.r::text LIKE '%factor=%') > 50 FROM kept k JOIN copied c USING (n)}), 't', 'text and bytes keep the factors');

# ---- plans and work ----

$s->value("SET enable_seqscan = off; SET enable_sort = off");
like($s->value('EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY v <@> ' . boosted(made('whole_v', 'w1 & w2'), '{"w1": 3}') . ' LIMIT 3'), qr/Order By: \(v <@> skipidx_boosted\(/, 'a call is a key of the scan');
like($s->value('EXPLAIN (COSTS OFF) SELECT id FROM whole ORDER BY v <@> ' . boosted(q{'documents=9 length=9 ''a''(df=1)'}, '{"a": 3}') . ' LIMIT 3'), qr/Order By: \(v <@> 'documents=9 .*''a''\(df=1,factor=3\)'::skipidx_ranking\)/, 'one of constants is computed by the planner');

# A word that outweighs the others lets more of their postings be passed over.
$s->value("CREATE TABLE work (id int, v tsvector); INSERT INTO work SELECT i, ('all:1 w' || i % 5 || ':' || i % 3 + 1 || repeat(',9', (i % 31 = 0)::int) || CASE WHEN i % 100 = 0 THEN ' rare:5' ELSE '' END"
	. " || (SELECT string_agg(' f' || j || ':' || 10 + j, '') FROM generate_series(1, i % 40) j))::tsvector FROM generate_series(1, 30000) i; CREATE INDEX work_v ON work USING skipidx (v) WITH (block_size = '8kB'); VACUUM ANALYZE work");
sub scored
{
	my ($r) = @_;

	return $s->value("EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT id FROM work ORDER BY v <@> $r LIMIT 10") =~ /Scored Postings: (\d+)/ ? $1 : -1;
}
my $plain = scored(made('work_v', 'w1 | w2 | w3 | rare'));
my $rare = scored(boosted(made('work_v', 'w1 | w2 | w3 | rare'), '{"rare": 20}'));
my $common = scored(boosted(made('work_v', 'w1 | w2 | w3 | rare'), '{"w1": 20}'));

cmp_ok($rare, '>', 0, "the rare word: $rare postings");
cmp_ok($rare, '<', $plain, "fewer than without a factor: $plain");
cmp_ok($common, '<', 12000, "of a common one, not all are scored: $common");
$s->close;
$node->stop;
done_testing();
