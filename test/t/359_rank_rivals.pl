# The first rows of many partitions: what cannot be among them is not searched
# for, and they are those of a sort of all rows, whatever the limit, the
# conditions, dead and pending rows, rescans and pruning at run time.
#
# Holds: plan 30; topk 13

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_setseed);
use Test::More;

my $rounds = $ENV{SKX_RIVALS_ROUNDS} // 150;
my $node = skx_node('rank_rivals');
my ($s, $other) = map { skx_session($node, 'postgres') } 1 .. 2;
my $seed = skx_seed();

srand($seed);

# ---- work: one partition has the best rows ----

# Rows of partition p have `top` 6 (12 - p) + 1 times at most, and are of one
# length: 12 partitions of 4,000 rows, each with one segment, nothing pending.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE work (id int, p int, v tsvector) PARTITION BY LIST (p);
DO $$ BEGIN FOR p IN 0 .. 11 LOOP
	EXECUTE format('CREATE TABLE work_%1$s PARTITION OF work FOR VALUES IN (%1$s) WITH (autovacuum_enabled = off)', p);
END LOOP; END $$;
INSERT INTO work SELECT i, p, ((CASE WHEN t = 0 THEN '' ELSE 'top:' || (SELECT string_agg(k::text, ',') FROM generate_series(1, t) k) END)
	|| ' fill:' || (SELECT string_agg(k::text, ',') FROM generate_series(t + 1, 100) k) || ' all:101 x' || i % 9 || ':102')::tsvector
	FROM (SELECT i, p, CASE WHEN i % 2 = 0 THEN 1 + (i % 7) * (12 - p) ELSE 0 END AS t FROM generate_series(0, 11) p, generate_series(1, 4000) i) x;
CREATE INDEX work_v ON work USING skipidx (v) WITH (proximity = 0);
SQL
$s->value("VACUUM ANALYZE work_$_") for 0 .. 11;
$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off');

# Partitions that were not searched, and sub-blocks decoded.
sub work
{
	my ($sql, $before) = @_;
	my $plan = $s->value(($before // '') . "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF) $sql");
	my ($left) = $plan =~ /Tables Not Searched: (\d+)/;
	my $decoded = 0;

	$decoded += $1 while $plan =~ /Sub-blocks Decoded: (\d+)/g;
	return ($left, $decoded, $plan);
}

for my $case ([ 'top', '' ], [ 'top & all', '' ], [ 'top', "WHERE v @@ 'top'" ], [ 'top', "WHERE v @@ 'all' AND p < 20" ], [ 'top', 'WHERE id % 2 = 0' ])
{
	my ($query, $where) = @$case;
	my $sql = "SELECT id FROM work $where ORDER BY v <\@> '$query'::tsquery LIMIT";
	my ($left, $decoded, $plan) = work("$sql 10");
	my ($none, $all) = work("$sql 1100 OFFSET 1");

	like($plan, qr/Limit.*Skipidx Best.*Merge Append/s, "$query $where: plan");
	cmp_ok($left // -1, '>=', 10, "$query $where: partitions not searched");
	is($none, 0, "$query $where: too many rows are wanted");
	cmp_ok(4 * $decoded, '<', $all, "$query $where: sub-blocks decoded, $decoded and $all");
}

my ($left) = work("SELECT id FROM work ORDER BY v <\@> 'top'::tsquery, id LIMIT 10");
cmp_ok($left // -1, '>=', 10, 'another key behind the distance');
($left) = work("SELECT id FROM work ORDER BY v <\@> 'top'::tsquery OFFSET 20 LIMIT 10");
cmp_ok($left // -1, '>=', 10, 'OFFSET');
($left) = work("SELECT id FROM work ORDER BY v <\@> 'top'::tsquery FETCH FIRST 10 ROWS WITH TIES");
cmp_ok($left // -1, '>=', 0, 'WITH TIES');
$s->value('PREPARE few (int) AS SELECT id FROM work ORDER BY v <@> $$top$$::tsquery LIMIT $1; SET plan_cache_mode = force_generic_plan');
($left) = work('EXECUTE few (10)');
cmp_ok($left // -1, '>=', 10, 'a parameter');
($left) = work('EXECUTE few (NULL)');
is($left, 0, 'a parameter that is NULL');
$s->value('RESET plan_cache_mode');
# of each execution
($left) = work("SELECT k, id FROM generate_series(1, 5) k CROSS JOIN LATERAL (SELECT id FROM work ORDER BY v <\@> ('top' || repeat('', k))::tsquery LIMIT 10 + k) x");
cmp_ok($left // -1, '>=', 50, 'each time again');
unlike($s->value("EXPLAIN $_"), qr/Skipidx Best/, "not: $_") for (
	"SELECT id FROM work ORDER BY v <\@> 'top'::tsquery LIMIT 10 FOR UPDATE",
	"SELECT id FROM work ORDER BY v <\@> 'top'::tsquery",
	"SELECT id, generate_series(1, id % 3) FROM work ORDER BY v <\@> 'top'::tsquery LIMIT 10",
	"SELECT DISTINCT ON (v <\@> 'top'::tsquery) id FROM work ORDER BY v <\@> 'top'::tsquery LIMIT 10",
	"SELECT id FROM work JOIN generate_series(1, 3) g ON g = p ORDER BY v <\@> 'top'::tsquery LIMIT 10",
	"SELECT id FROM work WHERE p = 3 ORDER BY v <\@> 'top'::tsquery LIMIT 10");

# ---- rows of equal distance: no partition is read for those that tell no more ----

$s->value(<<'SQL');
CREATE TABLE ties (id int, p int, v tsvector) PARTITION BY LIST (p);
DO $$ BEGIN FOR p IN 0 .. 31 LOOP EXECUTE format('CREATE TABLE ties_%1$s PARTITION OF ties FOR VALUES IN (%1$s)', p); END LOOP; END $$;
INSERT INTO ties SELECT i, i % 32, 'top:1 fill:2'::tsvector FROM generate_series(1, 9600) i;
CREATE INDEX ties_v ON ties USING skipidx (v);
VACUUM ANALYZE ties;
SQL
for my $where ('', 'WHERE id % 3 = 0')
{
	my $sql = "SELECT id FROM ties $where ORDER BY v <\@> 'top'::tsquery LIMIT 100";

	like($s->value("EXPLAIN $sql"), qr/Skipidx Best/, "ties $where: plan");
	my $read = $s->value("BEGIN; SELECT FROM ($sql) x \\g /dev/null\n SELECT sum(pg_stat_get_xact_tuples_fetched(inhrelid))"
		  . " FROM pg_inherits WHERE inhparent = 'ties_v'::regclass; COMMIT");
	cmp_ok($read, '<', 900, "ties $where: rows read of the table, $read");
}

# ---- rows that are not visible do not count ----

$s->value("DELETE FROM work WHERE p = 0 AND id % 7 IN (4, 5, 6); UPDATE work SET id = -id WHERE p = 1 AND id % 7 = 6");
$other->value("BEGIN; INSERT INTO work SELECT i, 2, ('top:' || (SELECT string_agg(k::text, ',') FROM generate_series(1, 200) k))::tsvector FROM generate_series(1, 300) i");

# Sorted without an index.
my $sorted = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_sort = on;';
my $ranked = 'SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = off; SET enable_sort = off;';

# The same distances; and, with another key behind, the same rows.
sub same
{
	my ($what, $sql) = @_;
	my $list = "SELECT string_agg(x::text, ' ' ORDER BY n) FROM (SELECT x, row_number() OVER () AS n FROM ($sql) x) y";
	my $want = $s->value("$sorted $list");
	my $got = $s->value("$ranked $list");

	return 1 if $got eq $want;
	is($got, $want, "$what (seed $seed)");
	return 0;
}

ok(same("deleted and not committed, $_", "SELECT v <\@> 'top'::tsquery, id FROM work ORDER BY v <\@> 'top'::tsquery, id LIMIT $_"), "dead rows: $_") for 1, 10, 100, 700;
$other->value('ROLLBACK');

# ---- anything, against a sort of all rows ----

$s->value("SELECT " . skx_setseed($seed) . " \\g /dev/null\n" . <<'SQL');
CREATE FUNCTION doc() RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN random() < 0.03 THEN NULL ELSE coalesce(string_agg('w' || floor(exp(random() * 4) - 1)::int || CASE WHEN random() < 0.1 THEN 'x' ELSE '' END || ':' || k, ' '), '')::tsvector END
	FROM generate_series(1, (random() * 12)::int) k $$;
CREATE TABLE parts (id int, p int, n int, v tsvector) PARTITION BY LIST (p);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0) WITH (autovacuum_enabled = off);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) WITH (autovacuum_enabled = off);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2) PARTITION BY HASH (id);
CREATE TABLE parts_2a PARTITION OF parts_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (autovacuum_enabled = off);
CREATE TABLE parts_2b PARTITION OF parts_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (autovacuum_enabled = off);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES IN (3) WITH (autovacuum_enabled = off);
CREATE TABLE parts_4 PARTITION OF parts DEFAULT WITH (autovacuum_enabled = off);
CREATE INDEX parts_v ON parts USING skipidx (v, n);
SQL

my $rows = 0;

# Rows of partition 3 are the longest, those of 1 few.
sub load
{
	my ($n) = @_;

	$s->value("INSERT INTO parts SELECT $rows + i, CASE WHEN i % 50 = 0 THEN 1 ELSE (i * 7) % 5 END, random() * 20, CASE WHEN i % 5 = 2 THEN doc() || doc() ELSE doc() END FROM generate_series(1, $n) i");
	$rows += $n;
	return;
}

sub word { my $w = 'w' . int(exp(rand 4) - 1); return rand() < 0.1 ? "$w:*" : $w; }

sub query
{
	my $n = 1 + int rand 3;
	my $query = word();

	$query .= (' | ', ' & ', ' & ', ' <-> ', ' & !')[ int rand 5 ] . word() for 2 .. $n;
	return $query;
}

sub pick { return $_[ int rand @_ ]; }

sub case_of
{
	my ($q, $k, $o) = (query(), pick(1, 2, 5, 10, 30, 100, 400, 2000), pick(0, 0, 0, 3, 50));
	my $where = pick('', '', "WHERE v @@ '$q'", "WHERE v @@ '" . query() . "'", 'WHERE n % 3 = 0', 'WHERE n < ' . int(rand 20), 'WHERE p <> 2', 'WHERE v IS NOT NULL');
	my $form = pick('ids', 'plain', 'ties', 'lateral', 'pruned');

	return "SELECT v <\@> '$q'::tsquery, id FROM parts $where ORDER BY v <\@> '$q'::tsquery, id LIMIT $k OFFSET $o" if $form eq 'ids';
	return "SELECT v <\@> '$q'::tsquery FROM parts $where ORDER BY v <\@> '$q'::tsquery LIMIT $k OFFSET $o" if $form eq 'plain';
	return "SELECT d, id FROM (SELECT v <\@> '$q'::tsquery AS d, id FROM parts $where ORDER BY v <\@> '$q'::tsquery FETCH FIRST $k ROWS WITH TIES) t ORDER BY 1, 2" if $form eq 'ties';
	# The one without a limit is last: the server's incremental sort asserts that no limit follows it.
	return "SELECT k, d, id FROM (VALUES (1, '$q'), (2, '" . query() . "'), (20, 'w1'), (3, '$q'), (0, 'w3'), (3, NULL), (7, '$q'), (NULL, 'w2')) y (k, q)"
	  . " CROSS JOIN LATERAL (SELECT v <\@> q::tsquery AS d, id FROM parts $where ORDER BY v <\@> q::tsquery, id LIMIT k) x" if $form eq 'lateral';
	return "SELECT a, (SELECT string_agg(x::text, ',') FROM (SELECT v <\@> '$q'::tsquery, id FROM parts WHERE p BETWEEN a AND b ORDER BY v <\@> '$q'::tsquery, id LIMIT 5 + b) x)"
	  . " FROM (VALUES (0, 4), (3, 4), (1, 1), (0, 2), (2, 3), (4, 9), (5, 4), (0, 4)) y (a, b)";
}

sub differ
{
	my ($state) = @_;
	my $good = 0;

	for my $round (1 .. $rounds)
	{
		my $case = case_of();

		$good += same("$state: $case", $case);
	}
	is($good, $rounds, "$state: $rounds of any kind");
	return;
}

load(1500);
differ('pending');
$s->value("SELECT skipidx_flush(inhrelid) FROM pg_inherits WHERE inhparent IN ('parts_v'::regclass, 'parts_2_v_n_idx'::regclass) AND inhrelid <> 'parts_2_v_n_idx'::regclass \\g /dev/null\n");
load(2500);
$s->value('ANALYZE parts; DELETE FROM parts WHERE id % 3 = 1; UPDATE parts SET n = n + 1 WHERE id % 7 = 2; UPDATE parts SET p = (p + 1) % 5 WHERE id % 11 = 5');
differ('dead, pending and moved');
$s->value("VACUUM $_") for qw(parts_0 parts_2a parts_3);
differ('some vacuumed');

# of a cursor, of which less is fetched than there is, and again
is($s->value("BEGIN; $ranked DECLARE c SCROLL CURSOR FOR SELECT v <\@> 'w1'::tsquery FROM parts ORDER BY v <\@> 'w1'::tsquery LIMIT 20; MOVE 7 IN c \\g /dev/null\n MOVE ABSOLUTE 0 IN c \\g /dev/null\n FETCH ALL FROM c; COMMIT"),
	$s->value("$sorted SELECT v <\@> 'w1'::tsquery FROM parts ORDER BY v <\@> 'w1'::tsquery LIMIT 20"), 'a cursor that goes back');

# ---- beside a writer that rows are looked at again for ----

$s->value("$ranked CREATE TABLE own (id int, n int); INSERT INTO own SELECT id, 0 FROM work WHERE p = 4");
my $update = "UPDATE own SET n = own.n + 1 FROM (SELECT id FROM work WHERE p > 3 ORDER BY v <\@> 'top'::tsquery, id LIMIT 5) x WHERE own.id = x.id RETURNING own.id, own.n";
my $before = $s->value("BEGIN; $update; ROLLBACK");

$other->value('BEGIN; UPDATE own SET n = 10');
$s->start($update);
$other->value('COMMIT');
(my $after = $before) =~ s/\|1\b/|11/g;
is($s->finish, $after, 'EvalPlanQual beside it');
$other->value('BEGIN; DELETE FROM work WHERE p = 4 AND id % 7 = 6');
$s->start("SELECT count(*) FROM (SELECT id FROM work WHERE p > 3 ORDER BY v <\@> 'top'::tsquery LIMIT 5 FOR UPDATE) x");
$other->value('COMMIT');
is($s->finish, $s->value("SELECT 5 - count(*) FROM (SELECT 1) x WHERE false"), 'rows that are locked');

$_->close for $s, $other;
$node->stop;
done_testing();
