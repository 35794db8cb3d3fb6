# skipidx_scroll(): slices that are disjoint and complete, pages that go on from
# every row, in every state of an index, on standbys, under one snapshot while
# all is merged; tokens that are none; and what a page reads.
#
# Holds: functions 7; rows 2; scroll 1, 2, 3, 4, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxMatrix;
use SkipidxTest qw(skx_session);
use Test::More;

my $m = SkipidxMatrix->new('scroll', seed => 309, conf => "skipidx.cache_size = 8MB\nskipidx.max_workers = 0", with => 'autovacuum_enabled = off, fillfactor = 70');
my ($node, $s) = ($m->node, $m->session);

# Some 900 blocks, so four chunks; more than one segment by far.
$s->value(<<'SQL');
ALTER TABLE docs ADD pad text DEFAULT repeat('x', 700);
ALTER TABLE docs ALTER pad SET STORAGE PLAIN;
CREATE FUNCTION add(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (id, v) SELECT i, ('all:1 h' || i % 2 || ':2 t' || hashint4(i) % 10 || ':3 m' || i % 1000 || ':4')::tsvector FROM generate_series(a, b) i $$;
SELECT add(1, 2700);
SQL
$m->load(300);
$s->value('SELECT tend()');

# Queries in a few slices, and of any form in any number; of one, a page for each row,
# so every token is gone on from.
for my $query ('all', 'h1', 't3 & h0', 't1 | t4', 'm7', 'h0 & !t5', 'h1 <-> t3', 't3:* & !h1', 'none', '!all', 'm1:*')
{
	$m->ask_always(map { [ 'scroll', query => "'$query'", slices => $_->[0], size => $_->[1] ] }
		  [ 1, 100000 ], [ 1, 37 ], [ 2, 100 ], [ 3, 1000 ], [ 8, 211 ], $query eq 'm1:*' ? ([ 1, 1 ], [ 3, 1 ]) : ());
}
$m->ask($m->long(400, 80), 'scroll');

sub check
{
	my ($state, $on) = @_;
	my $r = $m->differ($state, 4, on => $on);

	cmp_ok($s->value("SELECT count(*) FROM docs WHERE v @@ 'm1:*'"), '>', 100, "$state: many pages of one row");
	cmp_ok($r->{rows}, '>', 15000, "$state: $r->{rows} rows in all");
	return;
}

sub wanted { my ($query, $on) = @_; return $m->by('seq', "SELECT count(*) FROM docs WHERE v @@ '$query'"); }

check('built');
$s->value('SELECT add(3001, 4500)');
check('pending');
$s->value('SELECT tend()');
$s->value('SELECT add(4501, 5200); DELETE FROM docs WHERE id % 7 = 0; UPDATE docs SET pad = pad WHERE id % 11 = 0; UPDATE docs SET id = -id WHERE id % 13 = 0');
$s->value('UPDATE docs SET id = -id WHERE id < 0');
check('segments, pending, deleted, updated in place');
$s->value('VACUUM docs; SELECT add(5201, 6400)');
check('places used again');
$s->value('SELECT tend(1)');
check('merged');
for my $slices (5, 6, 100, 2147483647)
{
	my $rows = $s->value("SELECT sum(n) FROM generate_series(0, least($slices - 1, 40)) s, LATERAL (SELECT count(*) n FROM skipidx_scroll('docs_skx', 'h1', s, $slices, max_rows => 100000)) x");

	is($rows, wanted('h1'), "$slices slices have all");
}

# Slices have about the same number of rows, and rows come by place.
my @share = split /\n/, $s->value("SELECT (SELECT count(*) FROM skipidx_scroll('docs_skx', 'all', s, 2, max_rows => 100000)) FROM generate_series(0, 1) s");
cmp_ok($_, '>', .3 * ($share[0] + $share[1]), "a half: $_ rows") for @share;
is($s->value("SELECT count(*) FILTER (WHERE token <= before) FROM (SELECT token, lag(token) OVER () before FROM skipidx_scroll('docs_skx', 'all', max_rows => 100000)) x"),
	0, 'by place, and so are tokens');
is($s->value("SELECT count(*) FROM skipidx_scroll('docs_skx', 'all', max_rows => 0)"), 0, 'no rows');
is($s->value("SELECT count(*) FROM skipidx_scroll('docs_skx', 'all', max_rows => 2147483647)"), wanted('all'), 'all at once');

# ---- one snapshot in several sessions, while all is flushed, merged, vacuumed ----

my $holder = skx_session($node, 'd');
my $snapshot = $holder->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
my $ids = $holder->value("SELECT count(*), sum(id) FROM docs WHERE v @@ 'h1'");
my ($count, $sum) = (0, 0);
my @after = ('NULL') x 3;
my $rounds = 0;
for (my $left = 3; $left > 0;)
{
	for my $slice (grep { defined $after[$_] } 0 .. 2)
	{
		my $page = skx_session($node, 'd');
		my $set = $page->value("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot';"
			  . "SELECT count(*), sum(d.id), (array_agg(s.token ORDER BY s.token DESC))[1] FROM skipidx_scroll('docs_skx', 'h1', $slice, 3, $after[$slice], 300) s JOIN docs d ON d.ctid = s.ctid");
		my ($n, $total, $token) = split /\|/, $set;

		$page->close;
		$count += $n;
		$sum += $total || 0;
		$after[$slice] = $n == 300 ? "'$token'" : undef;
		$left-- if !defined $after[$slice];
	}
	$s->value('DELETE FROM docs WHERE id % 5 = ' . $rounds % 5 . '; SELECT add(' . (7000 + 100 * $rounds) . ', ' . (7099 + 100 * $rounds) . ')');
	$s->value('VACUUM docs');
	$s->value(q{SELECT skipidx_flush('docs_skx'), skipidx_merge('docs_skx')});
	$rounds++;
}
is("$count|$sum", $ids, "three slices under one snapshot, $rounds rounds of merges between pages");
cmp_ok($rounds, '>', 2, 'pages between merges');
$holder->value('COMMIT');
$holder->close;
check('after all that');

# Without a snapshot: rows that stay are neither lost nor repeated.
my %seen;
my $after = 'NULL';
my %stay = map { $_ => 1 } split /\n/, $m->by('seq', "SELECT id FROM docs WHERE v @@ 'h0 & !t5'");
for (my $n = 50; $n == 50;)
{
	my @page = map { [ split /\|/ ] } split /\n/, $s->value("SELECT d.id, s.token FROM skipidx_scroll('docs_skx', 'h0 & !t5', 0, 1, $after, 50) s JOIN docs d ON d.ctid = s.ctid ORDER BY s.token");

	$n = @page;
	$seen{ $_->[0] }++ for @page;
	$after = "'$page[-1][1]'" if $n;
	$s->value("INSERT INTO docs (id, v) SELECT 20000 + i, 'h0' FROM generate_series(1, 20) i; SELECT skipidx_flush('docs_skx')");
}
is(join(' ', grep { !$seen{$_} } keys %stay), '', 'none is lost');
is(join(' ', grep { $_ < 20000 && $seen{$_} > 1 } keys %seen), '', 'none comes twice');

# ---- tokens ----

my $token = $s->value("SELECT token FROM skipidx_scroll('docs_skx', 'h1', max_rows => 5) ORDER BY token DESC LIMIT 1");
my $go = sub { my ($t, $q, $rest) = @_; return $s->raw("SELECT count(*) FROM skipidx_scroll('docs_skx', '" . ($q // 'h1') . "', after => $t" . ($rest // '') . ', max_rows => 3)'); };
is($go->("'$token'"), 3, 'a token');
my $made = $s->value("SELECT token FROM skipidx_scroll('docs_skx', to_tsquery('english', 'h1 & the & !h99'), max_rows => 5) ORDER BY token DESC LIMIT 1");
is($go->("'$made'", 'h1 & !h99'), 3, 'a token of the same query, made otherwise');
like($go->("'$made'", 'h1 & !h9:*'), qr/22023.*another query/s, 'of one with a prefix');
like($go->("'$token'", 'h1:A'), qr/22023.*another query/s, 'of one with a label');
like($go->("'$token'", 'h0'), qr/22023.*another query.*Give the token/s, 'of another query');
like($go->("'$token'", 'h1', ', slice => 1, slices => 2'), qr/22023.*another slice/s, 'of another slice');
$s->value('CREATE INDEX other_v ON docs USING skipidx (v)');
like($s->raw("SELECT * FROM skipidx_scroll('other_v', 'h1', after => '$token')"), qr/22023.*another index/s, 'of another index');
$s->value('REINDEX INDEX docs_skx');
is($go->("'$token'"), 3, 'after REINDEX');
like($go->("'\\x'"), qr/22023/, 'nothing');
my $fuzzed = 0;
for my $i (1 .. 300)
{
	my $bytes = pack('H*', substr($token, 2));
	my $how = $i % 3;

	if ($how == 0) { substr($bytes, int(rand(length $bytes)), 1) ^= chr(1 << int(rand(8))); }
	elsif ($how == 1) { $bytes = join '', map { chr int rand 256 } 1 .. int(rand(130)); }
	else { $bytes = substr($bytes, 0, int(rand(64))) . 'x' x int(rand(20)); }
	next if unpack('H*', $bytes) eq substr($token, 2);
	$fuzzed++ if $go->("'\\x" . unpack('H*', $bytes) . "'") =~ /22023/;
}
cmp_ok($fuzzed, '>=', 295, "$fuzzed made up or damaged tokens refused");
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'all', $_->[0])"), qr/22023: .*$_->[1]/, "refused: $_->[0]")
  for [ '-1', 'slice must be' ], [ '1, 1', 'slice must be' ], [ '0, 0', 'at least one slice' ], [ '0, -5', 'at least one' ], [ 'max_rows => -1', 'max_rows' ];
is($s->value("SELECT count(*) FROM skipidx_scroll('docs_skx', NULL)"), 0, 'nothing: NULL as a query');
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'all', $_->[0])"), qr/22004: $_->[1] must not be NULL/, "refused: $_->[0]") for [ 'NULL', 'slice' ], [ '0, NULL', 'slices' ];
is($s->value("SELECT count(*) FROM skipidx_scroll('docs_skx', 'all', max_rows => NULL)"), $s->value("SELECT skipidx_count('docs_skx', 'all')"), 'NULL as a size is all');
$s->value('CREATE ROLE guest; GRANT SELECT (id) ON docs TO guest; SET ROLE guest');
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'all')"), qr/42501/, 'not without SELECT on the column');
$s->value('RESET ROLE');

# ---- standbys ----

my @there = map { $m->standby('') } 1, 2;
my @standbys = @{ $m->{standbys} };
my $rows = $s->value("SELECT string_agg(ctid::text, ' ' ORDER BY token) FROM skipidx_scroll('docs_skx', 'h1', max_rows => 100000)");
my @got;
$after = 'NULL';
for (my $n = 200, my $i = 0; $n == 200; $i++)
{
	my @page = map { [ split /\|/ ] } split /\n/, ($s, @there)[ $i % 3 ]->value("SELECT ctid, token FROM skipidx_scroll('docs_skx', 'h1', after => $after, max_rows => 200) ORDER BY token");

	$n = @page;
	push @got, map { $_->[0] } @page;
	$after = "'$page[-1][1]'" if $n;
	$m->caught_up;
}
is(join(' ', @got), $rows, 'pages from three servers in turn');

# each slice, whatever the size of its pages: on a standby, and with every page on
# the other one than the page before
check('a standby', $there[0]);
for my $query ('all', 't3 & h0', 'h0 & !t5', 'm1:*', '!all')
{
	for my $case ([ 1, 25 ], [ 2, 211 ], [ 3, 100 ], [ 8, 50 ], $query eq 'm1:*' ? [ 2, 1 ] : ())
	{
		my ($slices, $size) = @$case;
		my ($pages, @found) = (0);

		for my $slice (0 .. $slices - 1)
		{
			my $after = 'NULL';

			for (my $n = $size; $n == $size;)
			{
				my @page = map { [ split /\|/ ] } split /\n/, $there[ $pages++ % 2 ]->value("SELECT ctid, token FROM skipidx_scroll('docs_skx', '$query', $slice, $slices, $after, $size) ORDER BY token");

				$n = @page;
				push @found, map { $_->[0] } @page;
				$after = "'$page[-1][1]'" if $n;
			}
		}
		is(join(' ', sort @found), join(' ', sort split /\n/, $there[0]->value("SELECT set_way('seq') \\g /dev/null\nSELECT ctid FROM docs WHERE v \@\@ '$query';\n")),
			"two standbys in turn: $query in $slices slices by $size: " . @found . " rows on $pages pages");
		cmp_ok($pages, '>', 1, "$query: pages on both");
	}
}
$standbys[1]->stop;
$s->value('SELECT add(9000, 9100)');
$token = $s->value("SELECT token FROM skipidx_scroll('docs_skx', 'h1', max_rows => 5) ORDER BY token DESC LIMIT 1");
$node->wait_for_catchup($standbys[0], 'replay', $node->lsn('insert'));
like($there[0]->raw("SELECT count(*) FROM skipidx_scroll('docs_skx', 'h1', after => '$token', max_rows => 2)"), qr/^2$/, 'a standby that has come so far');
$node->stop('immediate');
$standbys[1]->start;
$there[1] = skx_session($standbys[1], 'd');
like($there[1]->raw("SELECT count(*) FROM skipidx_scroll('docs_skx', 'h1', after => '$token', max_rows => 2)"), qr/55000.*not yet replayed/s, 'one that has not');
$_->close for @there;
$_->stop for @standbys;

# ---- a crash, a rewrite, and work ----

$s->close;
$node->start;
$s = $m->reconnect;
check('after a crash');
$token = $s->value("SELECT token FROM skipidx_scroll('docs_skx', 'h1', max_rows => 5) ORDER BY token DESC LIMIT 1");
$s->value('VACUUM FULL docs');
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'h1', after => '$token')"), qr/22023.*rewritten/s, 'of a table that was rewritten');

$s->value(<<'SQL');
CREATE TABLE many (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, (CASE WHEN hashint4(i) & 1 = 0 THEN 'half ' ELSE '' END || 'all')::tsvector FROM generate_series(1, 400000) i;
CREATE INDEX many_v ON many USING skipidx (v);
VACUUM many;
SQL
sub work { my ($n, $spent) = $m->spent(@_); return ($n, $spent->{subblocks} + $spent->{windows_filled}); }
my ($all, $whole) = work("SELECT count(*) FROM skipidx_scroll('many_v', 'half', max_rows => 1000000)");
cmp_ok($whole, '>=', $all / 128, "all $all rows: $whole sub-blocks");
my ($n, $spent) = work("SELECT count(*) FROM skipidx_scroll('many_v', 'half', 1, 4, max_rows => 1000000)");
cmp_ok($n, '>', $all / 6, "a quarter: $n rows");
cmp_ok($spent, '<', $whole * .4, "a quarter: $spent sub-blocks");
my $late = $s->value("SELECT token FROM skipidx_scroll('many_v', 'half', max_rows => 1000000) ORDER BY token DESC OFFSET 1500 LIMIT 1");
my (undef, $first) = work("SELECT count(*) FROM skipidx_scroll('many_v', 'half', max_rows => 1000)");
($n, my $last) = work("SELECT count(*) FROM skipidx_scroll('many_v', 'half', after => '$late', max_rows => 1000)");
is($n, 1000, 'a late page');
cmp_ok($first, '<', 40, "the first page: $first sub-blocks");
cmp_ok($last, '<', $first + 20, "a late page: $last");

# Stretches of a slice that end within the window in which the bits of a
# disjunction with many prefixes begin anew: four rows a page, so 1,024 a chunk.
$s->value(<<'SQL');
CREATE TABLE wide (id int, v tsvector, pad text) WITH (autovacuum_enabled = off, fillfactor = 10);
INSERT INTO wide SELECT i, ('a:1 b:' || 2 + i % 2 || ' k' || i % 50 || ':4')::tsvector, repeat('x', 120) FROM generate_series(1, 40000) i;
CREATE INDEX wide_v ON wide USING skipidx (v);
SQL
for my $slices (1, 2, 3)
{
	my $rows = $s->value("SELECT sum((SELECT count(*) FROM skipidx_scroll('wide_v', ('(a <-> b) | (' || repeat('k:* & ', 999) || 'k:*)')::tsquery, slice, $slices, max_rows => 100000)))"
		  . " FROM generate_series(0, $slices - 1) slice");

	is($rows, 40000, "$slices slices of many prefixes");
}
done_testing();
