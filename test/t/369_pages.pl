# Pages of skipidx_search(): together the whole ranking, in its order, in every
# state of an index; with rows that come and go, flushes and merges between
# them; by several servers; tokens of something else, and tokens made up with
# their checksum right; and what a page costs.
#
# Holds: continuation 1; functions 9; score 8; topk 10

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use SkipidxWire qw(wire_sign_page wire_ranking wire_read_ranking);
use Test::More;

my $seed = skx_seed();
my $node = skx_node('pages', streaming => 1, conf => "skipidx.cache_size = 8MB\nskipidx.max_workers = 0");
my $s = skx_session($node, 'postgres');

# Few words in short documents: most rows share their score with many others.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int PRIMARY KEY, v tsvector, n int) WITH (autovacuum_enabled = off, fillfactor = 60);
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 100 * (abs(hashint4(i + 77 * j)) % 100)) / 700 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, 1 + abs(hashint4(i)) % 9) j $$;
CREATE FUNCTION add(a int, b int) RETURNS void LANGUAGE sql AS 'INSERT INTO docs SELECT i, body(i), 0 FROM generate_series(a, b) i';
SELECT add(1, 3000);
INSERT INTO docs VALUES (-1, NULL, 0), (-2, '', 0);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB');
CREATE FUNCTION pages(q tsquery, size int, r tsquery) RETURNS TABLE (tid tid, score float4, token bytea) LANGUAGE plpgsql AS $$
DECLARE
	n int;
	total int := 0;
BEGIN
	LOOP
		n := 0;
		FOR tid, score, token IN SELECT * FROM skipidx_search('docs_v', q, size, r, token) LOOP
			n := n + 1;
			RETURN NEXT;
		END LOOP;
		total := total + n;
		IF n > size OR total > 50000 THEN RAISE 'a page of % rows, % in all', n, total; END IF;
		EXIT WHEN n < size;
	END LOOP;
END $$;
-- Pages against all rows at once: how many, and how many differ; tokens that
-- do not ascend, but for where the log was; and against a sort, rows of the
-- same score by place.
CREATE FUNCTION differ(q tsquery, r tsquery, size int, sorts bool, OUT n int, OUT wrong int, OUT fall int, OUT unsorted int) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE whole AS SELECT row_number() OVER () AS n, s.ctid AS tid, s.score, s.token FROM skipidx_search('docs_v', q, 1000000, r) s;
	CREATE TEMP TABLE parts AS SELECT row_number() OVER () AS n, * FROM pages(q, size, r);
	SELECT count(*), count(*) FILTER (WHERE w.tid IS DISTINCT FROM p.tid OR w.score IS DISTINCT FROM p.score) INTO n, wrong FROM whole w FULL JOIN parts p USING (n);
	SELECT count(*) INTO fall FROM (SELECT substr(p.token, 49) <= lag(substr(p.token, 49)) OVER (ORDER BY p.n) f FROM parts p) x WHERE f;
	SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off;
	IF sorts THEN
		SELECT count(*) INTO unsorted FROM whole w FULL JOIN
			(SELECT row_number() OVER (ORDER BY v <@> skipidx_query(coalesce(r, q), 'docs_v'), d.ctid) AS n, d.ctid FROM docs d WHERE v @@ q) x USING (n) WHERE w.tid IS DISTINCT FROM x.ctid;
	ELSE
		unsorted := 0;
	END IF;
	SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on;
	DROP TABLE whole, parts;
END $$;
SQL

my @queries = (
	[ 'w1', '' ], [ 'w0', '' ], [ 'w1 | w2 | w9', '' ], [ 'w0 & w1', '' ], [ 'w0 & w1', 'w2 | w12' ], [ '!w0', 'w1 | w3' ], [ 'w1:*', '' ], [ 'w0 <-> w1', '' ],
	[ 'w1:A | w2:BC', '' ], [ 'w2 & !w3', 'w1:* | w2' ], [ 'w4 & w5', 'w4 & w5 & w6' ], [ 'w1', 'none' ], [ 'none', '' ], [ 'w3 | !w1', '' ], [ 'w0 & (w1 | w2) & !w7', '' ],
	[ 'w1', join(' | ', map { "w$_" } 0 .. 13) . ' | ' . join(' | ', map { "x$_" } 1 .. 80) ]);

sub check
{
	my ($state, $sorts) = @_;
	my $found = 0;

	for my $case (@queries)
	{
		my ($query, $rank) = @$case;
		my $by = $rank eq '' ? 'NULL' : "'$rank'";

		for my $size (1000000, 211, 40)
		{
			my ($rows, $wrong, $fall, $unsorted) = split /\|/, $s->value("SELECT * FROM differ('$query', $by, $size, " . ($sorts && $size == 211 ? 'true' : 'false') . ')');

			is("$wrong $fall $unsorted", '0 0 0', "$state: $query by " . substr($rank, 0, 20) . ", $size a page: $rows rows") if $wrong || $fall || $unsorted || $size == 40;
			$found += $rows;
		}
	}
	cmp_ok($found, '>', 20000, "$state: $found rows in all");
	return;
}

check('built', 1);
$s->value('SELECT add(3001, 4000)');
check('pending', 1);
$s->value(q{SELECT skipidx_flush('docs_v')});
$s->value('DELETE FROM docs WHERE id % 7 = 0; UPDATE docs SET n = 1 WHERE id % 11 = 0; SELECT add(4001, 4300)');
check('segments, pending, deleted, updated in place', 0);
$s->value('VACUUM docs; SELECT add(4301, 5000)');
check('places used again', 0);
$s->value(q{SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v')});
check('merged', 0);
is($s->value(q{SELECT count(*) || ' ' || count(DISTINCT score) FROM skipidx_search('docs_v', 'w1', 100000)}) =~ /^(\d+) (\d+)$/ && $1 > 10 * $2, 1, 'most rows share their score');
is($s->value(q{SELECT count(*) FROM (SELECT * FROM pages('w1', 1, NULL) LIMIT 40) p JOIN (SELECT ctid FROM skipidx_search('docs_v', 'w1', 40)) w ON w.ctid = p.tid}), 40, 'one row a page');

# ---- rows that come and go, flushes, merges, VACUUM between the pages ----

sub churn
{
	my ($query, $rank) = @_;
	my $by = $rank eq '' ? 'NULL' : "'$rank'";
	my @whole = split /\n/, $s->value("SELECT d.id || ' ' || s.score FROM skipidx_search('docs_v', '$query', 100000, $by) WITH ORDINALITY s JOIN docs d ON d.ctid = s.ctid ORDER BY s.ordinality");
	my %old = map { (split / /)[0] => 1 } @whole;
	my (@got, %gone, $after);
	my $rounds = 0;
	my $base = $s->value('SELECT max(id) FROM docs');
	my $size = int(@whole / 12) + 7;

	for (my $n = $size; $n == $size; $rounds++)
	{
		my $page = skx_session($node, 'postgres');
		my $token = defined $after ? "'$after'" : 'NULL';
		my @rows = map { [ split /\|/ ] }
		  split /\n/, $page->value("SELECT d.id, s.score, s.token FROM skipidx_search('docs_v', '$query', $size, $by, $token) WITH ORDINALITY s JOIN docs d ON d.ctid = s.ctid ORDER BY s.token");

		$page->close;
		$n = @rows;
		push @got, map { "$_->[0] $_->[1]" } @rows;
		$after = $rows[-1][2] if $n;
		my @delete = map { $_ * 13 + $rounds } 1 .. 40;
		$gone{$_} = 1 for @delete;
		$s->value('DELETE FROM docs WHERE id IN (' . join(',', @delete) . ')');
		$s->value("SELECT add($base + 1, $base + 60)");
		$base += 60;
		$s->value('VACUUM docs') if $rounds % 3 == 0;
		$s->value(q{SELECT skipidx_flush('docs_v')}) if $rounds % 3 == 1;
		$s->value(q{SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v')}) if $rounds % 3 == 2;
	}
	my %times;
	$times{ (split / /)[0] }++ for @got;
	my @stay = grep { my ($id) = split / /; !$gone{$id} } @whole;
	my @stayed = grep { my ($id) = split / /; $old{$id} && !$gone{$id} } @got;

	is("@stayed", "@stay", "$query by $rank: rows that stay, " . @stay . " in $rounds pages, with the scores of the first page");
	is(join(' ', grep { $times{$_} > 1 } keys %times), '', "$query: none comes twice");
	return;
}
churn('w1', '');
churn('w0 & w2', '');
churn('w3 | w5 | w8', '');
churn('!w0', 'w4 | w6:*');
churn('w0 <-> w1', '');
check('after all that', 0);

# ---- the operator: behind the distance and key of the last row, under one snapshot ----

$s->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
for my $how ('on', 'off')
{
	$s->value("SET LOCAL enable_indexscan = $how; SET LOCAL enable_bitmapscan = $how; SET LOCAL enable_seqscan = " . ($how eq 'on' ? 'off' : 'on'));
	my $plan = $s->value("EXPLAIN SELECT id FROM docs WHERE v @@ 'w2 | w5' AND (v <@> 'w2 | w5', id) > (-1::float4, 5) ORDER BY v <@> 'w2 | w5', id LIMIT 70");
	my @whole = split /\n/, $s->value(q{SELECT id, v <@> 'w2 | w5' FROM docs WHERE v @@ 'w2 | w5' ORDER BY 2, id});
	my @got;
	my $behind = 'true';

	is($plan =~ /Custom Scan/ ? 'on' : 'off', $how, 'an index scan, or none');
	for (my $n = 70; $n == 70;)
	{
		my @page = split /\n/, $s->value("SELECT id, v <@> 'w2 | w5' FROM docs WHERE v @@ 'w2 | w5' AND $behind ORDER BY v <@> 'w2 | w5', id LIMIT 70");

		$n = @page;
		push @got, @page;
		$behind = sprintf "(v <@> 'w2 | w5', id) > ('%s'::float4, %s)", reverse split /\|/, $page[-1] if $n;
	}
	is("@got", "@whole", "by distance and key, index scans $how: " . @whole . ' rows');
	my @values = split /\n/, $s->value(q{SELECT DISTINCT v <@> 'w2 | w5' FROM docs WHERE v @@ 'w2 | w5' ORDER BY 1});
	my $last = $values[ @values / 2 ];
	my @far = split /\n/, $s->value("SELECT v <@> 'w2 | w5' FROM docs WHERE v @@ 'w2 | w5' AND (v <@> 'w2 | w5') > '$last'::float4 ORDER BY v <@> 'w2 | w5' LIMIT 500");

	is("@far", join(' ', grep { defined } (grep { $_ > $last } map { (split /\|/)[1] } @whole)[ 0 .. 499 ]), "behind a distance, index scans $how: " . @far . ' rows');
}
$s->value('COMMIT');

# ---- tokens of something else ----

my $token = $s->value(q{SELECT token FROM skipidx_search('docs_v', 'w1 | w2', 50, 'w1 | w2 | w6:*') ORDER BY token DESC LIMIT 1});
my $go = sub {
	my ($given, $query, $rank, $k) = @_;
	return $s->raw("SELECT count(*) FROM skipidx_search('docs_v', '" . ($query // 'w1 | w2') . "', " . ($k // 3) . ", '" . ($rank // 'w1 | w2 | w6:*') . "', '$given')");
};
is($go->($token), 3, 'a token');
is($go->($token, undef, undef, 0), 0, 'no rows');
like($go->($token, 'w1'), qr/22023.*another query.*Give the token/s, 'of another query');
like($go->($token, undef, 'w1'), qr/22023.*another query/s, 'of another ranking');
like($s->raw("SELECT * FROM skipidx_search('docs_v', 'w1', 3, NULL, (SELECT token FROM skipidx_scroll('docs_v', 'w1', max_rows => 1)))"), qr/22023.*(damaged|length)/s, 'of a scroll');
like($s->raw("SELECT * FROM skipidx_scroll('docs_v', 'w1', after => '$token')"), qr/22023.*(damaged|length)/s, 'given to a scroll');
$s->value('CREATE INDEX other_v ON docs USING skipidx (v)');
like($s->raw("SELECT * FROM skipidx_search('other_v', 'w1 | w2', 3, 'w1 | w2 | w6:*', '$token')"), qr/22023.*another index/s, 'of another index');
$s->value('DROP INDEX other_v');
$s->value('ALTER INDEX docs_v SET (k1 = 2)');
is($go->($token), 3, 'of other parameters: its own are in its ranking');
$s->value('ALTER INDEX docs_v RESET (k1); REINDEX INDEX docs_v');
is($go->($token), 3, 'after REINDEX');
my $words = join(' | ', map { "x$_" } 1 .. 8200);
my $many = $s->value("SELECT token FROM skipidx_search('docs_v', 'w1', 1, 'w1 | $words')");
cmp_ok(length($many), '<', 400, 'of very many words there is a short one');
like($go->($many, 'w1', "w1 | $words"), qr/54000.*so many words.*Rank by fewer/s, 'which is refused');
my $wide = $s->value("SELECT token FROM skipidx_search('docs_v', 'w1', 20, 'w1 | " . join(' | ', map { "x$_" } 1 .. 2000) . "') ORDER BY token DESC LIMIT 1");
is($go->($wide, 'w1', 'w1 | ' . join(' | ', map { "x$_" } 1 .. 2000)), 3, 'that of 2,001 words is not');
cmp_ok(length($wide) / 2 - 1, '<=', 16384 + 80, 'a token has 16 kB at most, and its place');

# ---- made up: damaged, and with the checksum right ----

my $whole = pack('H*', substr($token, 2));
is(unpack('H*', wire_sign_page($whole)), unpack('H*', $whole), 'the checksum is known');
srand($seed);
my $refused = 0;
for my $i (1 .. 300)
{
	my $bytes = $whole;

	if ($i % 3 == 0) { substr($bytes, int(rand(length $bytes)), 1) ^= chr(1 << int(rand(8))); }
	elsif ($i % 3 == 1) { $bytes = join '', map { chr int rand 256 } 1 .. int(rand(230)); }
	else { $bytes = substr($bytes, 0, int(rand(length $bytes))) . 'x' x int(rand(20)); }
	next if $bytes eq $whole;
	$refused++ if $go->("\\x" . unpack('H*', $bytes)) =~ /22023/;
}
cmp_ok($refused, '>=', 297, "$refused damaged tokens refused");

my $ranking = wire_read_ranking(substr($whole, 80));
is(unpack('H*', wire_ranking($ranking)), unpack('H*', substr($whole, 80)), 'the ranking is known');
my $made = sub { return substr($whole, 0, 80) . wire_ranking({ %$ranking, @_ }); };
my @terms = @{ $ranking->{terms} };
my $term = sub { my ($i, @change) = @_; return terms => [ map { $_ == $i ? { %{ $terms[$_] }, @change } : $terms[$_] } 0 .. $#terms ]; };
my %no = (
	'fewer documents than with a word' => sub { $_[0] = $made->(ndocs => 1) },
	'more documents than there can be' => sub { $_[0] = $made->(ndocs => 2**48) },
	'longer ones than there can be' => sub { $_[0] = $made->(length => 2**48) },
	'k1 below zero' => sub { $_[0] = $made->(options => [ -1, (undef) x 6 ]) },
	'b above one' => sub { $_[0] = $made->(options => [ undef, 1.5, (undef) x 5 ]) },
	'a weight that is none' => sub { $_[0] = $made->(options => [ (undef) x 6, 'nan' ]) },
	'another version' => sub { $_[0] = $made->(version => 2) },
	'one word less' => sub { $_[0] = $made->(nterms => 2) },
	'one word more' => sub { $_[0] = $made->(nterms => 4) },
	'very many words' => sub { $_[0] = $made->(nterms => 2**31) },
	'a word that comes twice' => sub { $_[0] = $made->(terms => [ @terms[ 0, 0, 2 ] ]) },
	'words in another order' => sub { $_[0] = $made->(terms => [ @terms[ 1, 0, 2 ] ]) },
	'a word with a zero' => sub { $_[0] = $made->($term->(0, lexeme => "w\0")) },
	'a word that is too long' => sub { $_[0] = $made->($term->(0, lexeme => 'a' x 2048)) },
	'no occurrence' => sub { $_[0] = $made->($term->(0, flags => 0x20, times => 0)) },
	'a factor that is none' => sub { $_[0] = $made->($term->(0, flags => 0x40, factor => 'inf')) },
	'a pair of one word' => sub { $_[0] = $made->(pairs => [ [ 1, 1 ] ]) },
	'a pair of none' => sub { $_[0] = $made->(pairs => [ [ 0, 3 ] ]) },
	'a pair with a prefix' => sub { $_[0] = $made->(pairs => [ [ 0, 2 ] ]) },
	'too many pairs' => sub { $_[0] = $made->(pairs => [ map { [ 0, 1 ] } 1 .. 17 ]) },
	'more than its words' => sub { $_[0] .= "\x01" },
	'less than its words' => sub { chop $_[0] },
	'a sum below zero' => sub { substr($_[0], 48, 4) = "\x00" x 4 });
for my $what (sort keys %no)
{
	my $bytes = $whole;

	$no{$what}->($bytes);
	like($go->("\\x" . unpack('H*', wire_sign_page($bytes))), qr/22023.*damaged/s, "made up: $what");
}

# Whatever passes is a search like any other: rows that match, best first, and
# the first ones of all that there are behind that place, under these numbers.
$s->value(<<'SQL');
CREATE FUNCTION sound(q tsquery, r tsquery, after bytea, OUT rows int, OUT wrong int) LANGUAGE plpgsql AS $$
BEGIN
	SELECT count(*), count(*) FILTER (WHERE few IS NOT NULL AND (few.ctid IS DISTINCT FROM al.ctid OR few.score IS DISTINCT FROM al.score)) +
		count(*) FILTER (WHERE al.score > al.before OR al.score = 'nan' OR NOT (d.v @@ q)) + 100000 * (min(al.n) <> 1 OR count(few.n) <> least(7, count(*)))::int
	INTO rows, wrong
	FROM (SELECT row_number() OVER () n, lag(score) OVER () before, * FROM skipidx_search('docs_v', q, 1000000, r, after)) al
		FULL JOIN (SELECT row_number() OVER () n, * FROM skipidx_search('docs_v', q, 7, r, after)) few USING (n) LEFT JOIN docs d ON d.ctid = al.ctid;
END $$;
SQL
my ($sound, $none, $with) = (0, 0, 0);
my %field = (sum => [ 48, 4 ], place => [ 52, 8 ], given => [ 64, 8 ], ranking => [ 80, length($whole) - 80 ]);
my @odd = map { pack 'H*', $_ } qw(0000000000000000 ffffffffffffffff 0100000000000000 ffffffff00000000 0000000000002000 0000000000000080);
# Numbers of a ranking, more of them accepted than not.
my $number = sub { my ($most) = @_; return (0, 1, $most, $most + 1, int(rand($most + 1)), int(rand($most + 1)), int(exp(rand(log($most + 1)))))[ rand 7 ]; };
my $real = sub { my ($most) = @_; return (undef, undef, undef, 0, $most, rand($most), rand($most) / 1000, $most * 1.01)[ rand 8 ]; };
my $draw = sub {
	my $ndocs = $number->(2**48 - 1);
	my @drawn = map { { %$_, sum => $number->($_->{flags} & 1 ? 2**61 : $ndocs), whole => 0,
			flags => ($_->{flags} & 1) | 0x60 | 2 * (0, 0, 0, int rand 16)[ rand 4 ], times => 1 + int rand 255, factor => $real->(100) // 1 } } map { { %$_ } } @terms;

	delete $_->{only} for @drawn;
	return wire_ranking({ options => [ map { $real->($_ == 1 ? 1 : 100) } 0 .. 6 ], ndocs => $ndocs, length => $number->(2**48 - 1), terms => \@drawn, pairs => rand() < .5 ? [ [ 0, 1 ] ] : [] });
};
for my $i (1 .. 400)
{
	my $bytes = $whole;

	for my $name (grep { rand() < .35 } sort keys %field)
	{
		my ($at, $size) = @{ $field{$name} };

		if ($name eq 'ranking' || $i % 4 == 0) { substr($bytes, $at + int(rand($size)), 1) ^= chr(1 << int(rand(8))); }
		else { substr($bytes, $at, $size) = substr($odd[ rand @odd ], 0, $size); }
	}
	substr($bytes, 80) = $draw->() if $i % 3 == 0;
	substr($bytes, 60, 4) = pack('V', int rand 20000) if $i % 50 == 0;
	$bytes = substr($bytes, 0, 80 + rand(length($bytes) - 80)) . 'x' x int(rand(4)) if $i % 50 == 2;
	my $got = $s->raw("SELECT * FROM sound('w1 | w2', 'w1 | w2 | w6:*', '\\x" . unpack('H*', wire_sign_page($bytes)) . "')");

	if ($got =~ /ERROR:  (22023|54000)/) { $none++; }
	elsif ($got =~ /^(\d+)\|(0|)$/) { $sound++; $with += $1 > 0; }
	else { is($got, 'rows and 0', 'made up ' . unpack('H*', $bytes)); }
}
is($sound + $none, 400, "$sound made up tokens gave sound pages, $with of them rows, $none were refused");
cmp_ok($with, '>', 30, 'some gave rows');
cmp_ok($none, '>', 30, 'some were refused');
is($s->value('SELECT 1'), 1, 'the server is well');

# ---- standbys, a crash, a rewrite ----

$node->backup('base');
my @standbys = map {
	my $standby = PostgreSQL::Test::Cluster->new("pages_standby$_");

	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	$standby
} 1, 2;
$node->wait_for_catchup($_, 'replay', $node->lsn('insert')) for @standbys;
my @there = map { skx_session($_, 'postgres') } @standbys;
my $all = $s->value("SELECT string_agg(ctid || ' ' || score, ',' ORDER BY token) FROM skipidx_search('docs_v', 'w1 & w2', 100000)");
my @got;
my $after = 'NULL';
for (my $n = 30, my $i = 0; $n == 30; $i++)
{
	my @page = map { [ split /\|/ ] } split /\n/, ($s, @there)[ $i % 3 ]->value("SELECT ctid, score, token FROM skipidx_search('docs_v', 'w1 & w2', 30, after => $after) ORDER BY token");

	$n = @page;
	push @got, map { "$_->[0] $_->[1]" } @page;
	$after = "'$page[-1][2]'" if $n;
	$node->wait_for_catchup($_, 'replay', $node->lsn('insert')) for @standbys;
}
is(join(',', @got), $all, 'pages from three servers in turn: ' . @got);
$standbys[1]->stop;
$s->value('SELECT add(900001, 900100)');
my $first = "SELECT token FROM skipidx_search('docs_v', 'w1 & w2', 5) ORDER BY token DESC LIMIT 1";
$token = $s->value($first);
$node->wait_for_catchup($standbys[0], 'replay', $node->lsn('insert'));
like($there[0]->raw("SELECT count(*) FROM skipidx_search('docs_v', 'w1 & w2', 2, after => '$token')"), qr/^2$/, 'a standby that has come so far');
$node->stop('immediate');
$standbys[1]->start;
$there[1] = skx_session($standbys[1], 'postgres');
like($there[1]->raw("SELECT count(*) FROM skipidx_search('docs_v', 'w1 & w2', 2, after => '$token')"), qr/55000.*not yet replayed/s, 'one that has not');
$_->close for @there;
$_->stop for @standbys;
$s->close;
$node->start;
$s = skx_session($node, 'postgres');
is($s->value("SELECT count(*) FROM skipidx_search('docs_v', 'w1 & w2', 2, after => '$token')"), 2, 'after a crash');
$s->value('VACUUM FULL docs');
like($s->raw("SELECT count(*) FROM skipidx_search('docs_v', 'w1 & w2', 2, after => '$token')"), qr/22023.*rewritten/s, 'of a table that was rewritten');

# ---- what a page costs ----

$s->value(<<'SQL');
CREATE TABLE big (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO big SELECT i, ('pa:1' || CASE WHEN hashint4(i) % 4 = 0 THEN ',3' ELSE '' END || ' ' || 'pb:2' || CASE WHEN hashint4(i + 7) % 3 = 0 THEN ',5,6' ELSE '' END ||
	' ' || (SELECT string_agg('f' || j || ':9', ' ') FROM generate_series(1, 1 + abs(hashint4(i * 3)) % 40) j))::tsvector FROM generate_series(1, 60000) i;
CREATE INDEX big_v ON big USING skipidx (v) WITH (proximity = 0);
VACUUM big;
-- What each of the first pages fetches of the table, and decodes.
CREATE FUNCTION costs(q tsquery, size int, pages int) RETURNS TABLE (page int, rows int, fetched int8, blocks int8) LANGUAGE plpgsql AS $$
DECLARE
	after bytea; one record; tids int8; work int8;
BEGIN
	FOR i IN 1 .. pages LOOP
		page := i; rows := 0;
		tids := pg_stat_get_xact_tuples_returned('big_v'::regclass);
		SELECT w.subblocks + w.windows_filled INTO work FROM skipidx_work() w;
		FOR one IN SELECT * FROM skipidx_search('big_v', q, size, after => after) LOOP
			rows := rows + 1; after := one.token;
		END LOOP;
		fetched := pg_stat_get_xact_tuples_returned('big_v'::regclass) - tids;
		SELECT w.subblocks + w.windows_filled - work INTO blocks FROM skipidx_work() w;
		RETURN NEXT;
	END LOOP;
END $$;
SQL
for my $query ('pa', 'pa & pb', 'pa | pb')
{
	$s->value("SELECT * FROM costs('$query', 10, 2)");
	my @pages = map { [ split /\|/ ] } split /\n/, $s->value("SELECT * FROM costs('$query', 10, 30)");
	my ($together) = map { (split /\|/)[3] } $s->value("SELECT * FROM costs('$query', 300, 1)");
	my ($most) = sort { $b <=> $a } map { $_->[3] } @pages;

	is(join(' ', grep { $_->[1] != 10 || $_->[2] != 10 } map { $_ } @pages), '', "$query: each page fetches its rows only");
	diag("$query: sub-blocks " . join(' ', map { $_->[3] } @pages)) if $ENV{SKX_SHOW};
	cmp_ok($pages[1][3], '<=', 3 * $pages[0][3] + 20, "$query: page 2 decodes $pages[1][3] sub-blocks, page 1 $pages[0][3]");
	cmp_ok($most, '<=', 1.1 * $together + 5, "$query: none of 30 pages decodes more than $most, all rows together $together");
	cmp_ok($most, '<=', $query eq 'pa' ? 300 : 1000, "$query: of 469 a list $most");
}
$s->value("DELETE FROM big WHERE ctid = ANY (SELECT ctid FROM skipidx_search('big_v', 'pa & pb', 40))");
my ($dead) = split /\n/, $s->value(q{SELECT fetched FROM costs('pa & pb', 10, 1)});
cmp_ok($dead, '<=', 50, "with 40 dead rows: $dead fetched");

# ---- rows of one distance that were updated within their page ----

$s->value(<<'SQL');
CREATE TABLE moved (id int, v tsvector, n int) WITH (autovacuum_enabled = off, fillfactor = 60);
INSERT INTO moved SELECT i, ('w' || i % 3)::tsvector, 0 FROM generate_series(1, 1000) i;
CREATE INDEX moved_v ON moved USING skipidx (v);
UPDATE moved SET n = 1 WHERE id % 11 = 0;
ANALYZE moved;
SQL
for my $off ('enable_sort', 'enable_incremental_sort', 'skipidx.enable_custom_scan', 'enable_indexscan')
{
	is($s->value("SET enable_seqscan = off; SET enable_bitmapscan = off; SET $off = off; SELECT count(*) FROM (SELECT ctid < lag(ctid) OVER () AS w"
			  . " FROM (SELECT ctid FROM moved WHERE v @@ 'w1' ORDER BY v <@> 'w1', ctid OFFSET 0) x) y WHERE w"),
		0, "ORDER BY ctid at equal distance, without $off");
	$s->value("RESET $off");
}
$s->close;
$node->stop;
done_testing();
