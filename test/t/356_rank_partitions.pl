# Many partitions: one sequence over all of them with statistics of all, also
# where pruning leaves one; and with work that grows with their number.
#
# Long: 1000 partitions, else 200 (SKX_RANK_PARTITIONS).
#
# Holds: score 1, 2; topk 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $n = $ENV{SKX_RANK_PARTITIONS} // 200;
my $some = $n - 30;
my $node = skx_node('rank_partitions', conf => "max_locks_per_transaction = 2000\n"
	  . "wal_level = minimal\nmax_wal_senders = 0");
my $s = skx_session($node, 'postgres');

# Partition p has four rows of its own; row 1 of each has w<p>, all have `all`,
# and `often` is in three of four.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) PARTITION BY LIST (id);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
CREATE FUNCTION make(first int, last int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR p IN first .. last LOOP
		EXECUTE format('CREATE TABLE docs_%1$s PARTITION OF docs FOR VALUES IN (%1$s) WITH (autovacuum_enabled = off)', p);
		EXECUTE format('INSERT INTO docs_%1$s SELECT %1$s, (concat_ws('' '', ''all:1'', CASE WHEN i < 4 THEN ''often:2'' END,'
			' CASE WHEN i = 1 THEN ''w%1$s:3'' END, ''f'' || i || '':'' || (SELECT string_agg(k::text, '','') FROM generate_series(10, 10 + (%1$s * 7 + i * 3) %% 41) k)))'
			'::tsvector FROM generate_series(1, 4) i', p);
	END LOOP;
END $$;
SQL
$s->value('SELECT make(' . ($_ * $n / 4 + 1) . ', ' . ($_ + 1) * $n / 4 . ')') for 0 .. 3;
$s->value(<<'SQL');
ANALYZE docs;
CREATE TABLE plain AS SELECT id, v FROM docs;
CREATE INDEX plain_v ON plain USING skipidx (v);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SQL

# What statistics need of partitions that a statement has left out: locked as what
# locks tables exclusively does it, the table first.
is($s->value("BEGIN; SELECT id FROM docs WHERE id = 1 ORDER BY v <@> 'all' LIMIT 1 \\g /dev/null\n SELECT string_agg(relation::regclass::text, ' ' ORDER BY relation::regclass::text)"
	  . " FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('docs_2'::regclass, 'docs_2_v_idx'::regclass); ROLLBACK"), 'docs_2 docs_2_v_idx', 'locks of a partition');

sub ranked
{
	my ($table, $query, $where, $limit) = @_;

	return "SELECT id, v <\@> '$query'::tsquery AS d FROM $table WHERE v \@\@ '$query' $where ORDER BY v <\@> '$query'::tsquery LIMIT $limit";
}

# The same rows in one table, where ties are of the same distance.
sub same
{
	my ($query, $where, $limit) = @_;
	my $text = sub { 'SELECT string_agg(id || $$:$$ || d, $$ $$ ORDER BY d, id) FROM (' . $_[0] . ') x' };

	if ($limit eq 'ALL')
	{
		is($s->value($text->(ranked('docs', $query, $where, $limit))), $s->value($text->(ranked('plain', $query, $where, $limit))),
			"$query $where: all rows");
	}
	else
	{
		my $only = sub { 'SELECT string_agg(d::text, $$ $$ ORDER BY d) FROM (' . $_[0] . ') x' };

		is($s->value($only->(ranked('docs', $query, $where, $limit))), $s->value($only->(ranked('plain', $query, $where, $limit))),
			"$query $where: $limit rows");
	}
	return;
}

# Pages that a statement looks at, in shared buffers and by skipidx, the second
# time.
sub pages
{
	my ($sql) = @_;
	my $pins = q{SELECT coalesce(sum(pins), 0) FROM skipidx_io_methods() WHERE scope = 'session'};

	$s->value($sql);
	my $before = $s->value($pins);
	my $plan = $s->value("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $sql");
	my $n = $s->value($pins) - $before;

	# of the top node, planning apart
	for my $part (split /^Planning:/m, $plan)
	{
		$n += ($part =~ /Buffers: shared.*?hit=(\d+)/ ? $1 : 0) + ($part =~ /Buffers: shared[^\n]* read=(\d+)/ ? $1 : 0);
	}
	return $n;
}

like($s->value('EXPLAIN (COSTS OFF) ' . ranked('docs', 'often', '', 10)),
	qr/Merge Append.*Index Scan using docs_1_v_idx.*Index Scan using docs_${some}_v_idx/s, 'plan: Merge Append');
like($s->value('EXPLAIN (COSTS OFF) ' . ranked('docs', 'often', 'AND id = 77', 10)),
	qr/^(?!.*Append).*Index Scan using docs_77_v_idx/s, 'plan: one is left');

for my $query ('often', 'w5 | often', 'all & often', "often <-> w$some", 'w10:*')
{
	same($query, '', 10);
	same($query, '', 'ALL');
	same($query, "AND id = $some", 'ALL');
	same($query, 'AND id IN (5, 6, 100)', 'ALL');
}

# Statistics are of all partitions where one is left, and so idf of a word
# that all have in common is what it is for all.
is($s->value("SELECT DISTINCT v <\@> 'w$some'::tsquery FROM docs WHERE id = $some AND v \@\@ 'w$some'"),
	$s->value("SELECT v <\@> 'w$some'::tsquery FROM plain WHERE v \@\@ 'w$some'"), 'one is left: statistics of all');
isnt($s->value("SELECT v <\@> 'w$some'::tsquery FROM docs_$some WHERE v \@\@ 'w$some'"),
	$s->value("SELECT v <\@> 'w$some'::tsquery FROM plain WHERE v \@\@ 'w$some'"), 'asked by itself, a partition has its own');

# Statistics are summed once for a snapshot, not once for every partition: in
# pages, the whole costs what the scans of all partitions cost.
my $all = ranked('docs', 'often | all', '', 10);
my $one = ranked('docs', 'often | all', 'AND id = 77', 10);
my $bitmap = "SELECT count(*) FROM docs WHERE v \@\@ 'often | all'";

my ($p_all, $p_one) = map { pages($_) } $all, $one;

$s->value('SET enable_bitmapscan = on');
my $p_count = pages($bitmap);
$s->value('SET enable_bitmapscan = off');
note "pages: ten of all $p_all; ten of one $p_one; count by bitmaps $p_count";
cmp_ok($p_all, '<', 4 * $p_count, 'ten of all partitions: pages');
cmp_ok($p_one, '<', $p_all, 'one is left: less than all');
cmp_ok($p_one, '<', 3 * $p_count, 'one is left: pages');

# Partitions come and go.
sub without
{
	my ($id) = @_;

	return "DROP TABLE plain; CREATE TABLE plain AS SELECT id, v FROM docs WHERE id <> $id;"
	  . ' CREATE INDEX plain_v ON plain USING skipidx (v)';
}

$s->value('BEGIN; ALTER TABLE docs DETACH PARTITION docs_5; ' . without(5));
same('often', '', 'ALL');
$s->value('ROLLBACK');
same('often', '', 'ALL');
$s->value('DROP TABLE docs_6; ' . without(6));
same('often', '', 'ALL');

$s->close;
$node->stop;
done_testing();
