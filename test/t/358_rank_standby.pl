# Ranked scans on a standby: what the primary would have said, and one sequence
# under one snapshot while segments that it reads are replaced.
#
# Holds: manifest 6; score 1, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $primary = skx_node('rank_primary', streaming => 1);
my $writer = skx_session($primary, 'postgres');

$writer->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, v tsvector);
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (v) SELECT (SELECT string_agg(format('w%s:%s', floor(exp((hashint4(i * 31 + p) & 65535) / 65536.0 * 5) - 1), p), ' ')
		FROM generate_series(1, 3 + (hashint4(i) & 15)) p)::tsvector FROM generate_series(first, first + n - 1) i
$$;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB');
SELECT add(1, 2000);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT add(3000, 300);
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('rank_standby');

$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->start;
$primary->wait_for_catchup($standby);

my $reader = skx_session($standby, 'postgres');
my $settings = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off';
my @queries = ('w1 | w5', 'w0 & w2', 'w1 <-> w0', 'w1:*', 'w3 & !w0');

sub statement
{
	my ($query, $by) = @_;

	return "SELECT id, v <\@> '$query'::tsquery FROM docs WHERE v \@\@ '$query' ORDER BY v <\@> '$query'::tsquery$by";
}

$_->value($settings) for $reader, $writer;
like($reader->value('EXPLAIN (COSTS OFF) ' . statement('w1 | w5', ' LIMIT 5')), qr/Index Scan using docs_v/, 'plan');

# The same statistics on both sides, whatever has become of pending rows.
sub same_as_primary
{
	my ($when) = @_;

	$primary->wait_for_catchup($standby);
	for my $query (@queries)
	{
		my $rows = $reader->value(statement($query, ''));

		is($rows, $writer->value(statement($query, '')), "$when: $query");
		cmp_ok(scalar(split /\n/, $rows), '>', 20, "$when: $query has rows");
	}
	my $terms = "SELECT * FROM skipidx_terms('docs_v')";

	is($reader->value($terms), $writer->value($terms), "$when: terms");
	return;
}

same_as_primary('first');

# A snapshot's sequence, while what it reads is replaced and recycled.
$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
my %wanted = map { $_ => $reader->value('SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_indexscan = off; '
		  . statement($_, ', ctid')) } @queries;
my %got;

$reader->value('SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_indexscan = on');
$reader->value("DECLARE c$_ NO SCROLL CURSOR FOR " . statement($queries[$_], '')) for 0 .. $#queries;
for my $step ("SELECT add(5000, 300)", "DELETE FROM docs WHERE id % 7 = 3", "SELECT skipidx_flush('docs_v')", 'VACUUM docs',
	"SELECT skipidx_merge('docs_v', 1)", "SELECT add(7000, 900)", "SELECT skipidx_flush('docs_v')", "SELECT skipidx_merge('docs_v', 1)",
	'VACUUM docs', 'FETCH')
{
	$writer->raw("$step \\g /dev/null\n") if $step ne 'FETCH';
	$primary->wait_for_catchup($standby);
	for my $i (0 .. $#queries)
	{
		my $n = $step eq 'FETCH' ? 'ALL' : 13;
		my $page = $reader->value("FETCH $n FROM c$i");

		$got{ $queries[$i] } .= "$page\n" if $page ne '';
	}
}
is($got{$_}, "$wanted{$_}\n", "pages of a cursor: $_") for @queries;
is($reader->value(statement($_, '')), $wanted{$_}, "again: $_") for @queries;
$reader->value('COMMIT');
same_as_primary('afterwards');
isnt($reader->value(statement('w1 | w5', ' LIMIT 9')), join("\n", (split /\n/, $wanted{'w1 | w5'})[ 0 .. 8 ]), 'statistics have moved');

$_->close for $reader, $writer;
$standby->stop;
$primary->stop;
done_testing();
