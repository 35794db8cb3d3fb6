# Many partitions: one sequence over all of them with statistics of all, also
# where pruning leaves one; and in a time that grows with their number.
#
# SKX_RANK_PARTITIONS: how many, 200 by default; 1000 in `make test-faults`.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;
use Time::HiRes qw(time);

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

sub seconds
{
	my ($sql) = @_;
	my $from = time;

	$s->value($sql);
	return time - $from;
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

# Statistics are summed once for a snapshot, not once for every partition: the
# whole costs what the locks and scans of all partitions cost.
my $all = ranked('docs', 'often | all', '', 10);
my $one = ranked('docs', 'often | all', 'AND id = 77', 10);
my $bitmap = "SELECT count(*) FROM docs WHERE v \@\@ 'often | all'";

$s->value($_) for $all, $one, $bitmap;
my ($t_all) = sort { $a <=> $b } map { seconds($all) } 1 .. 3;
my ($t_one) = sort { $a <=> $b } map { seconds($one) } 1 .. 3;
my ($t_count) = sort { $a <=> $b } map { seconds("SET enable_bitmapscan = on; $bitmap; SET enable_bitmapscan = off") } 1 .. 3;

note sprintf 'ten of all: %.3f s; ten of one: %.3f s; count by bitmaps: %.3f s', $t_all, $t_one, $t_count;
cmp_ok($t_all, '<', 6 * $t_count + 1, 'ten of all partitions: time');
cmp_ok($t_one, '<', $t_all, 'one is left: less than all');
cmp_ok($t_one, '<', 3 * $t_count + 0.5, 'one is left: time');

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
