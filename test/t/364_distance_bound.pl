# What has the order of a distance and what bounds it: every form of sort key
# and condition gives the rows of the sequential plan, from a ranked scan that
# ends where it has to, and from one alone beside VACUUM.  And what conditions
# find is not charged for ranking.
#
# Holds: plan 8, 10, 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use JSON::PP;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session skx_until);
use Test::More;

my $node = skx_node('distance_bound', conf => 'max_parallel_workers_per_gather = 0');
my $s = skx_session($node, 'postgres');
my $seed = (skx_seed() % 1000) / 1000;

$s->value(<<"SQL");
CREATE EXTENSION skipidx;
SELECT setseed($seed) \\g /dev/null
CREATE TABLE docs (id int PRIMARY KEY, kind int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, i % 50, (SELECT string_agg('w' || exp(random() * 4)::int, ' ') FROM generate_series(1, 2 + i % 9))::tsvector
FROM generate_series(1, 6000) i;
UPDATE docs SET v = NULL WHERE id % 400 = 0;
UPDATE docs SET v = '' WHERE id % 401 = 0;
CREATE TABLE sure (LIKE docs, CHECK (v IS NOT NULL)) WITH (autovacuum_enabled = off);
ALTER TABLE sure ALTER v SET NOT NULL;
INSERT INTO sure SELECT * FROM docs WHERE v IS NOT NULL;
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM docs;
CREATE INDEX docs_v ON docs USING skipidx (v);
CREATE INDEX sure_v ON sure USING skipidx (v);
CREATE INDEX parts_v ON parts USING skipidx (v);
CREATE INDEX docs_kind ON docs (kind);
VACUUM ANALYZE;
SQL

my $ranked = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on';
my $plain = 'SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_sort = on; SET enable_indexscan = off';

sub plan_of
{
	my ($sql, $options) = @_;

	return decode_json($s->value("EXPLAIN (FORMAT JSON, $options) $sql"))->[0]->{Plan};
}

sub nodes
{
	my ($plan) = @_;

	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

# ---- sort keys ----

# Keys are shown in the order of the rows, which ids of equal keys have no part
# in.
sub compare_order
{
	my ($name, $table, $key, $where, $is_ranked) = @_;
	my @columns = map { s/ (ASC|DESC|NULLS).*//r } split /, /, $key;
	my $rows = "SELECT id, row(" . join(', ', @columns) . ") AS k FROM $table $where ORDER BY $key";
	my $all = "SELECT string_agg(k::text, ' ') || md5(string_agg(id::text, ' ' ORDER BY id)) FROM ($rows OFFSET 0) x";
	my $few = "SELECT string_agg(k::text, ' ') FROM ($rows LIMIT 20 OFFSET 10) x";
	my @scans = do { $s->value($ranked); grep { $_->{'Node Type'} eq 'Index Scan' && $_->{'Order By'} } nodes(plan_of($rows, 'COSTS OFF')) };

	is(scalar(@scans) > 0, $is_ranked, "$name: plan");
	my @by_index = map { $s->value($_) } $all, $few;
	$s->value($plain);
	is($s->value($all), $by_index[0], "$name: all rows");
	is($s->value($few), $by_index[1], "$name: some");
	return;
}

my $d = "(v <\@> 'w3 | w20')";
my $match = "WHERE v \@\@ 'w3 | w20'";
for my $table (qw(docs sure parts))
{
	my $sure = $table eq 'sure';

	compare_order("$table, distance", $table, $d, '', 1);
	compare_order("$table, score, no NULLs", $table, "-$d DESC", $match, 1);
	compare_order("$table, score", $table, "-$d DESC", '', $sure);
	compare_order("$table, score, NULLs last", $table, "-$d DESC NULLS LAST", '', 1);
	compare_order("$table, score as double precision", $table, "-($d)::float8 DESC NULLS LAST", '', 1);
	compare_order("$table, NULLs first", $table, "$d NULLS FIRST", '', $sure);
	compare_order("$table, NULLs first, but none", $table, "$d NULLS FIRST", $match, 1);
	compare_order("$table, NULLs first, but left out", $table, "$d NULLS FIRST", 'WHERE v IS NOT NULL', 1);
	compare_order("$table, NULLs first, other NULLs left out", $table, "$d NULLS FIRST", 'WHERE id IS NOT NULL', $sure);
	compare_order("$table, NULLs first, but a bound", $table, "-$d DESC", "WHERE $d < 0", 1);
	compare_order("$table, worst first", $table, "$d DESC", $match, '');
	compare_order("$table, worst score first", $table, "-$d", $match, '');
	compare_order("$table, twice the sign", $table, "-(-$d)", '', 1);
	compare_order("$table, and id", $table, "-$d DESC, id", $match, 1);
	compare_order("$table, two distances", $table, "$d, (v <\@> 'w5')", '', 1);
	compare_order("$table, two distances and id", $table, "$d, (v <\@> 'w5') DESC, id", '', 1);
	compare_order("$table, two scores", $table, "-$d DESC, -(v <\@> 'w5') DESC", $match, 1);
}

# ---- bounds ----

my ($best, $middle) = split /\|/, $s->value(
	"SELECT min(x), percentile_disc(0.3) WITHIN GROUP (ORDER BY x) FROM (SELECT $d AS x FROM docs $match) x");

sub rows_of
{
	my ($table, $where, $rest) = @_;

	return "SELECT id, $d AS d FROM $table WHERE $where $rest";
}

sub fetched
{
	my $rows = 0;

	$rows += $_->{'Actual Rows'} + ($_->{'Rows Removed by Filter'} // 0) for grep { $_->{'Node Type'} eq 'Index Scan' && $_->{'Order By'} } @_;
	return $rows;
}

# Third: whether the scan ends early.
for my $bound (
	[ "$d < $middle", 'less', 1 ],
	[ "$d <= $middle", 'less or equal', 1 ],
	[ "$middle > $d", 'commuted', 1 ],
	[ "$middle >= $d", 'commuted, or equal', 1 ],
	[ "$d BETWEEN $best AND $middle", 'between', 1 ],
	[ "-$d > -($middle)", 'score', 1 ],
	[ "-($middle) <= -$d", 'score, commuted', 1 ],
	[ "$d < ($middle)::float4", 'real', 1 ],
	[ "$d < ($middle)::numeric", 'numeric', 1 ],
	[ "($d)::float8 < $middle", 'double precision', 1 ],
	[ "$d < (SELECT $middle)", 'subquery', 1 ],
	[ "$d < $middle AND id % 3 = 0", 'and another', 1 ],
	[ "id % 3 = 0 AND $d < $middle AND $d < $middle / 2", 'two', 1 ],
	[ "$d <= 0", 'all', '' ],
	[ "$d < 0", 'those with a score', 1 ],
	[ "$d < 'NaN'::float8", 'NaN', '' ],
	[ "$d < 'Infinity'::float8", 'infinity', '' ],
	[ "$d < '-Infinity'::float8", 'none', 1 ],
	[ "$d < (SELECT NULL::float8)", 'NULL', 1 ],
	[ "$d > $middle", 'from below', '' ],
	[ "$d <> $best", 'other than', '' ],
	[ "($d < $middle OR id % 7 = 0)", 'or', '' ])
{
	my ($where, $name, $ends) = @$bound;

	for my $table (qw(docs sure parts))
	{
		my $rows = rows_of($table, $where, "ORDER BY $d");
		my $all = "SELECT coalesce(string_agg(d::text, ' '), '') || count(*) || md5(string_agg(id::text, ' ' ORDER BY id)) FROM ($rows OFFSET 0) x";
		my $few = "SELECT string_agg(d::text, ' ') FROM ($rows LIMIT 7) x";

		$s->value($ranked);
		my @by_index = map { $s->value($_) } $all, $few;
		my @nodes = nodes(plan_of($rows, 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF'));
		my $fetched = fetched(@nodes);
		my $total = $s->value("SELECT count(*) FROM $table");

		# in no order, where it is known that rows without a score do not count
		my $free = rows_of($table, $where, '');
		my $set = "SELECT count(*) || coalesce(md5(string_agg(id || ' ' || d, ' ' ORDER BY id)), '') FROM ($free) x";
		my $by_bound = $s->value($set);
		my @free = nodes(plan_of($free, 'COSTS OFF, ANALYZE, TIMING OFF, SUMMARY OFF'));
		$s->value($plain);
		my $left = $s->value("SELECT count(*) FROM $table WHERE " . ($where =~ s/id % 3 = 0 AND|AND id % 3 = 0|AND \Q$d < $middle \/ 2\E//gr));

		ok($by_index[0] eq $s->value($all), "$table, $name: all rows");
		ok($by_index[1] eq $s->value($few), "$table, $name: first rows");
		is($by_bound, $s->value($set), "$table, $name: in no order");
		is((grep { $_->{'Order By'} } @free) > 0, $ends && $name !~ /subquery|NULL/, "$table, $name: in no order, plan");
		cmp_ok(fetched(@free), '<=', $left + 2, "$table, $name: in no order, no more were fetched") if $ends;
		if ($ends) { cmp_ok($fetched, '<=', $left + 2, "$table, $name: no more were fetched"); }
		else { cmp_ok($fetched, '>=', $total - 40, "$table, $name: all were fetched"); }
	}
}

# Parameters, and a scan that starts again with another bound.
for my $mode (qw(force_custom_plan force_generic_plan))
{
	$s->value("SET plan_cache_mode = $mode; PREPARE below (float8, int) AS SELECT id FROM docs WHERE $d < \$1 ORDER BY $d, id LIMIT \$2");
	for my $bound ('-0.5', $middle, '-1000', '1', 'NULL', "'NaN'")
	{
		my @ids = map { $s->value($_); $s->value("EXECUTE below($bound, 30)") } $ranked, $plain;

		is($ids[0], $ids[1], "$mode: $bound");
	}
	$s->value('DEALLOCATE below; RESET plan_cache_mode');
}
my $lateral = "SELECT b, id, q FROM (VALUES (-0.1::float8), ($middle), (-1000), (0), (NULL), (0.5)) x (b), (VALUES ('w3'::tsquery), ('w9')) y (q),"
	. ' LATERAL (SELECT id FROM docs WHERE v <@> q < b ORDER BY v <@> q, id LIMIT 9) z ORDER BY b, q, id';
my @loops = map { $s->value($_); $s->value($lateral) } $ranked, $plain;
ok($loops[0] eq $loops[1] && length($loops[0]) > 100, 'a bound for each row of another table');

# The same for what changes rows, beside another order, and in a generic plan.
$s->value("$plain; CREATE TABLE other AS SELECT * FROM docs; CREATE INDEX other_v ON other USING skipidx (v)");
my $below = $s->value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM other WHERE $d < $middle");
$s->value($ranked);
for my $change ('DELETE FROM other', 'UPDATE other SET kind = -1')
{
	my $sql = "$change WHERE $d < $middle";

	ok((grep { $_->{'Order By'} } nodes(plan_of($sql, 'COSTS OFF'))), "$change: plan");
	is($s->value("BEGIN; WITH x AS ($sql RETURNING id) SELECT string_agg(id::text, ' ' ORDER BY id) FROM x"), $below, "$change: rows");
	$s->value('ROLLBACK');
}
$s->value("$ranked; SET enable_sort = on; SET plan_cache_mode = force_generic_plan");
$s->value("PREPARE by_id (tsquery, float8) AS SELECT id FROM docs WHERE v <\@> \$1 < $middle AND id > \$2 ORDER BY id");
my @by_id = ($s->value("EXECUTE by_id ('w3', 10)"), join ' ', map { $_->{'Order By'} // () } nodes(plan_of("EXECUTE by_id ('w3', 10)", 'COSTS OFF')));
$s->value('DEALLOCATE by_id; RESET plan_cache_mode');
like($by_id[1], qr/<\@>/, 'by id, generic: plan');
is($by_id[0], $s->value("$plain; SELECT id FROM docs WHERE v <\@> 'w3' < $middle AND id > 10 ORDER BY id"), 'by id, generic');

# A cursor, and rows that another session changed in the meantime.
$s->value($ranked);
my ($writer, $watcher) = map { skx_session($node, 'postgres') } 1 .. 2;
$s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE $d < $middle ORDER BY $d, id");
my $first = $s->value('FETCH 3 FROM c');
my ($id) = $first =~ /(\d+)/;
$writer->value("DELETE FROM docs WHERE id <> $id AND $d < $middle; VACUUM docs");
my $n = () = $s->value('FETCH ALL FROM c') =~ /\d+/g;
is($n + 3, $s->value("SET LOCAL enable_indexscan = off; SELECT count(*) FROM parts WHERE $d < $middle"), 'a cursor beside VACUUM');
$s->value('COMMIT');
$writer->value("BEGIN; UPDATE docs SET v = 'w1' WHERE id = $id");
$s->start("SELECT id FROM docs WHERE $d < $middle ORDER BY $d LIMIT 1 FOR UPDATE");
skx_until('a session to wait for the lock of a row',
	sub { $watcher->value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'") });
$writer->value('COMMIT');
is($s->finish, '', 'a row that no longer is below the bound');

# ---- several distances beside VACUUM ----

my $two = "SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM sure WHERE id > 3000 ORDER BY v <\@> 'w3', v <\@> 'w5' OFFSET 0) x";
my $expected = $s->value("SELECT count(*) || '|' || count(*) FROM sure WHERE id > 3000");
my %seen;

$writer->start(join "\n", map { "DELETE FROM sure WHERE id BETWEEN $_ * 20 + 1 AND $_ * 20 + 20; VACUUM sure;" } 0 .. 149);
$seen{ $s->raw($two) }++ until defined $writer->ready;
is(join('; ', keys %seen), $expected, 'two distances beside VACUUM');

# ---- what conditions find is not charged for ranking ----

$s->value(<<'SQL');
RESET ALL;
SET enable_seqscan = off;
CREATE TABLE wide (id int, kind int, v tsvector, filler text);
INSERT INTO wide SELECT i, i % 100, ('every k' || i % 90)::tsvector, repeat('x', 200) FROM generate_series(1, 20000) i;
CREATE INDEX wide_v ON wide USING skipidx (v);
CREATE INDEX wide_kind ON wide (kind);
VACUUM ANALYZE wide;
SQL
for my $where ("v \@\@ 'k7' AND kind = 3", "v \@\@ 'k7' OR kind = 3", "v \@\@ 'k7' AND (kind = 3 OR kind = 4)")
{
	my @costs;

	for my $order ('', "ORDER BY v <\@> 'k7'", "ORDER BY v <\@> 'k7', v <\@> 'every'")
	{
		my ($tree) = grep { $_->{'Node Type'} =~ /^Bitmap(And|Or)$/ } nodes(plan_of("SELECT id FROM wide WHERE $where $order", 'COSTS ON'));

		push @costs, $tree ? $tree->{'Total Cost'} : 'another plan';
	}
	is($costs[1], $costs[0], "$where: the same bitmaps with an order");
	is($costs[2], $costs[0], "$where: the same bitmaps with two");
}

# ---- and such a scan is what the planner takes where few rows can have such a score ----

$s->value('RESET enable_seqscan');
for ([ "v <\@> 'k7' < -0.1", 'Custom Scan' ], [ "-(v <\@> 'k7') > 0.1 AND id > 100", 'Custom Scan' ],
	[ "v <\@> 'every' < -0.000001", 'Seq Scan' ], [ "v <\@> 'every' < -0.0001", 'Custom Scan' ], [ "v <\@> 'k7' < 0.1", 'Seq Scan' ], [ "v <\@> 'k7' <= 0", 'Seq Scan' ])
{
	is(plan_of("SELECT id FROM wide WHERE $_->[0]", 'COSTS OFF')->{'Node Type'}, $_->[1], "$_->[0]: plan");
}
# 20,000 / 90 rows have the word: no more are expected, nor less than a third
my $rows = plan_of("SELECT id FROM wide WHERE v <\@> 'k7' < -0.1", 'COSTS ON')->{'Plan Rows'};
ok($rows <= 230 && $rows >= 70, "rows expected: $rows");
$s->value('SET skipidx.enable_custom_scan = off');
is(plan_of("SELECT id FROM wide WHERE v <\@> 'k7' < -0.1", 'COSTS OFF')->{'Node Type'}, 'Seq Scan', 'no custom scan');

# ---- how many rows a bound is expected to leave, and what is done then ----

$s->value(<<'SQL');
RESET ALL;
CREATE TABLE repeated WITH (autovacuum_enabled = off) AS SELECT i AS id, hashint4(i) & 65535 AS day, to_tsvector('simple', CASE WHEN i % 2 = 0 THEN repeat('w ', 1 + (-3 * ln(((hashint4(i + 7) & 65535) + 1) / 65537.0))::int) ELSE '' END
	|| CASE WHEN i % 3 = 0 THEN repeat('x ', 1 + (-3 * ln(((hashint4(i + 13) & 65535) + 1) / 65537.0))::int) ELSE '' END || repeat('fill ', 1 + i % 40)) AS v
FROM generate_series(1, 20000) i;
CREATE INDEX repeated_v ON repeated USING skipidx (v, day);
VACUUM ANALYZE repeated;
SQL
for my $query ('w', 'w | x')
{
	my $x = "(v <\@> '$query')";

	for my $share (0.0005, 0.005, 0.05, 0.4)
	{
		my $bound = $s->value("SELECT percentile_disc($share) WITHIN GROUP (ORDER BY $x) FROM repeated");
		my $rows = plan_of("SELECT FROM repeated WHERE $x < $bound", 'COSTS ON')->{'Plan Rows'};
		my $left = $s->value("SELECT count(*) FROM repeated WHERE $x < $bound");

		cmp_ok($rows, '<=', 10 * ($left + 1), "$query, $share of the rows: $rows of $left, not too many");
		cmp_ok($rows * 10, '>=', $left, "$query, $share of the rows: $rows of $left, nor too few");
		is(plan_of("SELECT FROM repeated WHERE -$x > -($bound)::float8", 'COSTS ON')->{'Plan Rows'}, $rows, "$query, $share of the rows: by the score");
		is(plan_of("SELECT FROM repeated WHERE ($bound)::float4 > $x", 'COSTS ON')->{'Plan Rows'}, $rows, "$query, $share of the rows: commuted");
	}
	my $none = 2 * $s->value("SELECT min($x) FROM repeated");
	my ($few, $all) = map { [ nodes(plan_of("SELECT id FROM repeated WHERE $x < $_ ORDER BY day LIMIT 10", 'COSTS ON')) ] } $none, -0.0001;

	is($few->[-1]->{'Plan Rows'}, 1, "$query, more than there is: rows");
	ok((grep { $_->{'Order By'} } @$few), "$query, more than there is: by the bound");
	ok(!(grep { $_->{'Order By'} } @$all), "$query, all: by the column");
	ok((grep { $_->{'Order By'} } nodes(plan_of("SELECT count(*) FROM repeated WHERE v \@\@ '$query' AND $x < $none", 'COSTS ON'))),
		"$query, a count beside a condition: by the bound");
}

$_->close for $s, $writer, $watcher;
$node->stop;
done_testing();
