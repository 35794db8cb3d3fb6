# Rows that skipidx_search() calls final are the first rows of the whole answer,
# whenever skipidx.search_budget ends the search; without a budget all are.  The
# NOTICE and EXPLAIN (ANALYZE) tell how many there are.
#
# Holds: topk 15; functions 9; plan 42

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_setseed);
use Test::More;

skx_seed(391);
my $node = skx_node('final');
my $s = skx_session($node, 'postgres');

# In `docs`, the later segments have the better rows, some the worse ones, and scores
# have many ties.  In `clustered`, the first rows have few words, each of them often,
# the others many words once.  Both have pending documents.
$s->value('SELECT ' . skx_setseed());
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION doc(i int, richness int) RETURNS tsvector LANGUAGE sql VOLATILE AS $$
	SELECT string_agg('w' || floor(40 * random() ^ 3)::int || ':' || p, ' ')::tsvector FROM generate_series(1, richness + i % 7) p $$;
CREATE FUNCTION often(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg('w' || (i + p % (1 + i % 3)) % 40 || ':' || p, ' ')::tsvector FROM generate_series(1, 12 + i % 9) p $$;
CREATE FUNCTION once(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg('w' || (i + p) % 40 || ':' || p, ' ')::tsvector FROM generate_series(1, 28 + i % 12) p $$;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE clustered (LIKE docs) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, doc(i, 14) FROM generate_series(1, 9000) i;
INSERT INTO clustered SELECT i, CASE WHEN i <= 3000 THEN often(i) ELSE once(i) END FROM generate_series(1, 60000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '64MB', segments_per_tier = 64);
CREATE INDEX clustered_v ON clustered USING skipidx (v) WITH (pending_limit = '64MB', segments_per_tier = 64);
INSERT INTO docs SELECT i, doc(i, 5) FROM generate_series(9001, 15000) i;
INSERT INTO clustered SELECT i, once(i) FROM generate_series(60001, 70000) i;
SELECT skipidx_flush('docs_v'), skipidx_flush('clustered_v');
INSERT INTO docs SELECT i, doc(i, 30) FROM generate_series(15001, 19000) i;
SELECT skipidx_flush('docs_v');
INSERT INTO docs SELECT i, ('w' || i % 40 || ':1 rare:2')::tsvector FROM generate_series(19001, 19600) i;
SELECT skipidx_flush('docs_v');
INSERT INTO docs SELECT i, doc(i, 14) FROM generate_series(19601, 20000) i;
INSERT INTO clustered SELECT i, often(i) FROM generate_series(70001, 70200) i;
DELETE FROM docs WHERE id % 37 = 0;
DELETE FROM clustered WHERE id % 37 = 0;
SQL
cmp_ok($s->value("SELECT segments FROM skipidx_stats('docs_v')"), '>=', 4, 'several segments');

# What one search gives: [place, score, is_final], and, if its budget ended it, how
# many rows of the index its NOTICE calls final; else -1.
sub search
{
	my ($table, $budget, $query, $rows, $rank) = @_;
	my $answer = $s->raw("SET skipidx.search_budget = $budget; SELECT string_agg(ctid::text || score || ' ' || is_final, ';')"
		  . " FROM skipidx_search('${table}_v', '$query', $rows, $rank)");
	my @rows = map { [/^(\(\d+,\d+\))(\S+) (\w+)/] } split /;/, ($answer =~ /^(\(.*)$/m)[0] // '';

	return (\@rows, $answer !~ /NOTICE.*ended after/ ? -1 : $answer =~ /DETAIL:  The first (\d+) rows of the index are final; for those after them, \d/ ? $1
		: $answer =~ /DETAIL:  [\d.]+ % of the documents were not looked at, so no row is final/ ? 0 : 'not told');
}

$s->value('SET client_min_messages = notice');

my ($ended, $searches, $some, $all) = (0, 0, 0, 0);
my @wrong;

for my $n (1 .. 200)
{
	my $table = $n % 3 ? 'clustered' : 'docs';
	my $plain = $n % 3 == 1;	# such searches mostly have final rows
	my $first = int rand 38;
	my @words = $plain ? map { 'w' . ($first + $_) } 0, 2 : map { int rand 8 ? 'w' . int 40 * rand() ** 2 : ('rare', 'w:*', 'w1:*')[ rand 3 ] } 0 .. rand(3) ** 2;
	my $query = join ' | ', @words;
	my $filter = (sub { $query }, sub { "$words[0] & ($query)" }, sub { "!w39 & ($query)" }, sub { "w0 <-> w1 | $query" }, (sub { $query }) x 3)[ $plain ? 0 : rand 7 ]->();
	my $rows = (10, 100, 1000, 20000)[ $plain ? 3 : rand 4 ];
	my ($whole) = search($table, 0, $filter, $rows, "'$query'");

	push @wrong, "$table $filter $rows: not all final without a budget" if grep { $_->[2] ne 'true' } @$whole;
	my ($found, $told) = search($table, 1, $filter, $rows, "'$query'");
	my $spent = $told eq '-1' ? 0 : 1;
	my $final = 0;

	$final++ while $final < @$found && $found->[$final][2] eq 'true';
	$ended += $spent;
	$searches++;
	$some++ if $spent && $final > 0;
	$all += $final if $spent;
	push @wrong, "$table $filter $rows: a final row behind one that is not" if grep { $_->[2] eq 'true' } @$found[ $final .. $#$found ];
	push @wrong, "$table $filter $rows: not all final, and no budget spent" if !$spent && $final < @$whole;
	# the index has dead rows, too, and a limit may come before the last final row
	push @wrong, "$table $filter $rows: $final final rows, $told told" if $spent && ($told !~ /^\d+$/ || $told < $final || ($final == 0) != ($told == 0) && $told > 800);
	push @wrong, "$table $filter $rows: row $_ is " . ($whole->[$_] // ['none'])->[0] . ", not $found->[$_][0]"
	  for grep { !defined $whole->[$_] || "@{$found->[$_]}[0, 1]" ne "@{$whole->[$_]}[0, 1]" } 0 .. $final - 1;
}
is(join("\n", @wrong[ 0 .. ($#wrong < 9 ? $#wrong : 9) ]), '', 'final rows are the first of the whole answer');
cmp_ok($ended, '>', 20, "the budget ended $ended of $searches searches");
cmp_ok($some, '>', 3, "$some of them had final rows, $all in all");

# ---- what the NOTICE and EXPLAIN tell ----

# Without dead rows the NOTICE tells the final rows of the answer.  EXPLAIN tells how
# many were returned, which a condition outside of the index makes fewer.
$s->value('DELETE FROM clustered WHERE id > 70000');
$s->value('VACUUM clustered');
$s->value('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off; SET jit = off');

my ($explained, $fewer) = (0, 0);

@wrong = ();
for my $n (1 .. 100)
{
	my $first = int rand 38;
	my $query = join ' | ', map { 'w' . ($first + $_) } 0, 2;
	my $outside = $n % 2 ? ' AND id % 5 < 3' : '';
	my $sql = "FROM clustered WHERE v \@\@ '$query'$outside ORDER BY v <\@> '$query' LIMIT 20000";
	my ($whole) = search('clustered', 0, $query, 20000, "'$query'");
	my %passes = map { $_ => 1 } split /\n/, $s->value("SET skipidx.search_budget = 0; SELECT ctid $sql");
	my $told = $s->raw("SET skipidx.search_budget = 1; EXPLAIN (ANALYZE, TIMING off, COSTS off) SELECT id $sql");
	my $index = $told =~ /DETAIL:  The first (\d+) rows of the index are final/ ? $1 : $told =~ /no row is final/ ? 0 : -1;
	my $shown = $told =~ /^ +Final Rows: (\d+)$/m ? $1 : -1;
	my $expected = $index < 0 ? -1 : grep { $passes{ $_->[0] } } @{$whole}[ 0 .. $index - 1 ];

	$explained++ if $shown > 0;
	$fewer++ if $shown >= 0 && $shown < $index;
	push @wrong, "$sql: $shown shown, not $expected, with $index of the index" if $shown != $expected;
	push @wrong, "$sql: not said whether the budget ended it" if ($told =~ /^ +Ended by Budget: 1$/m ? 1 : 0) != ($index >= 0 ? 1 : 0);
	my ($found, $noted) = search('clustered', 1, $query, 20000, "'$query'");
	push @wrong, "$sql: $noted final rows, not those of skipidx_search()" if $noted ne '-1' && $noted != grep { $_->[2] eq 'true' } @$found;
	last if @wrong || $explained > 3 && $fewer > 1;
}
is(join("\n", @wrong[ 0 .. ($#wrong < 9 ? $#wrong : 9) ]), '', 'the number of final rows is told');
cmp_ok($explained, '>', 3, "EXPLAIN shows final rows $explained times");
cmp_ok($fewer, '>', 1, "fewer than the index has, $fewer times");
like($s->value("SET skipidx.search_budget = 0; EXPLAIN (ANALYZE, FORMAT JSON) SELECT id FROM docs ORDER BY v <\@> 'w1' LIMIT 7"), qr/"Ended by Budget": 0,\s*"Final Rows": 7\b/, 'formats other than text always have them');
unlike($s->value("EXPLAIN (ANALYZE) SELECT id FROM docs ORDER BY v <\@> 'w1' LIMIT 7"), qr/Final|Budget/, 'text only after a budget was spent');

$s->close;
done_testing();
