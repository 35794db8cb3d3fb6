# Ranked searches among many dead rows that VACUUM has not marked yet: the rows
# are those of the sequential scan, and after some searches one pass finds as
# many more as turn out to be dead, or not to be seen, without looking at more.
#
# Holds: am 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_database skx_session);
use Test::More;

my $node = skx_node('dead_rows', conf => 'skipidx.max_workers = 0');

skx_database($node, 'd');

my $s = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, array_to_tsvector(array_agg('w' || j)) || 'all:1'::tsvector
	FROM generate_series(1, 20000) i, generate_series(1, 1 + i % 97) j GROUP BY i ORDER BY i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '64MB');
SQL

my $query = "SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all', ctid LIMIT 10";

sub passes
{
	my ($rows, $table, $word) = (@_ ? @_ : (10, 'docs'), 'all');
	my ($passes) = $s->value('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)'
		  . " SELECT id FROM $table WHERE v @@ '$word' ORDER BY v <@> '$word' LIMIT $rows")
	  =~ /Passes: (\d+)/;

	return $passes // die 'no passes';
}

sub same
{
	my ($what) = @_;
	my @rows = map {
		$s->value("SET enable_seqscan = $_; SET enable_indexscan = " . ($_ eq 'on' ? 'off' : 'on')
			  . "; SET enable_bitmapscan = off; $query")
	} qw(on off);

	$s->value('RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan');
	is($rows[1], $rows[0], "$what: the rows");
	return;
}

$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off');
is(passes(), 1, 'no dead rows: one pass');
# each of the best rows has a dead version that is as good
$s->value("UPDATE docs SET v = v || 'new:200'::tsvector WHERE id % 97 = 0");
$s->value("UPDATE docs SET v = ts_delete(v, 'new') WHERE id % 97 = 0");
$s->value("SELECT skipidx_flush('docs_v')");
my $first = passes();
cmp_ok($first, '>', 1, 'dead rows: several passes at first');
passes() for 1 .. 40;
is(passes(), 1, 'and one later');
same('dead rows');
$s->value('VACUUM docs');
passes() for 1 .. 40;
is(passes(), 1, 'vacuumed: one pass');
same('vacuumed');

# a hundredth of the best rows, of two indexes by turns
$s->value(<<'SQL');
CREATE TABLE others (LIKE docs);
INSERT INTO others SELECT * FROM docs;
CREATE INDEX others_v ON others USING skipidx (v) WITH (pending_limit = '64MB');
SQL
for my $table (qw(docs others))
{
	$s->value("UPDATE $table SET v = v || 'new:200'::tsvector WHERE id IN (97, 970)");
	$s->value("SELECT skipidx_flush('${table}_v')");
}
cmp_ok(passes(200, 'others'), '>', 1, 'a few dead rows: several passes at first');
passes(200, $_) for (qw(docs others)) x 20;
is(passes(200, $_), 1, "and one later, of $_") for qw(docs others);
same('a few dead rows');

# versions that an old snapshot may still see are not dead, and not seen either:
# half of the best rows have one
my $old = skx_session($node, 'd');
$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs');
$s->value("UPDATE docs SET v = v || 'new:200'::tsvector WHERE id % 194 = 0");
$s->value("SELECT skipidx_flush('docs_v')");
cmp_ok(passes(), '>', 1, 'rows that are not seen: several passes at first');
passes() for 1 .. 40;
is(passes(), 1, 'and one later');
same('rows that are not seen');
$old->close;

# Rows beyond those that are wanted do not lower what a search begins with: the
# tenth best part of a word.  Three of the best ten are not seen.
$s->value(<<'SQL');
CREATE TABLE spread (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO spread SELECT i, (SELECT ('x:' || string_agg(p::text, ',') FILTER (WHERE p <= x) ||
	' y:' || string_agg(p::text, ',') FILTER (WHERE p > x))::tsvector FROM generate_series(1, 64) p)
	FROM (SELECT i, CASE WHEN i % 1000 = 0 THEN 4 + i / 1000 ELSE 1 + i % 3 END AS x
		FROM generate_series(1, 40000) i) s ORDER BY i;
INSERT INTO spread SELECT i, 'z:1' FROM generate_series(40001, 400000) i;
CREATE INDEX spread_v ON spread USING skipidx (v) WITH (pending_limit = '64MB');
SQL

sub spread
{
	my ($what) = @_;
	my $decoded = 'SELECT subblocks + windows_filled FROM skipidx_work()';
	my $before = $s->value($decoded);
	my $passes = passes(10, 'spread', 'x');
	my $spent = $s->value($decoded) - $before;

	is($passes, 1, "$what: one pass");
	is( $s->value("SELECT array_agg(id ORDER BY d) FROM (SELECT id, v <@> 'x' AS d FROM spread WHERE v @@ 'x'"
			  . " ORDER BY d LIMIT 10) r"),
		'{' . join(',', map { 1000 * $_ } reverse 31 .. 40) . '}',
		"$what: the rows");
	return $spent;
}

my $alone = spread('all are seen');
cmp_ok($alone, '<', 40000 / 128 / 4, 'all are seen: most is left out');
$old = skx_session($node, 'd');
$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM spread');
$s->value('UPDATE spread SET v = v WHERE id IN (38000, 36000, 34000)');
$s->value("SELECT skipidx_flush('spread_v')");
passes(10, 'spread', 'x') for 1 .. 40;
cmp_ok(spread('three are not seen'), '<=', $alone + 8, 'three are not seen: no more is looked at');
$old->close;

$s->close;
$node->stop;
done_testing();
