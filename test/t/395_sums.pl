# A distance to which values of columns add, in ORDER BY: the index gives the
# rows and the bits that a sort gives, whatever the expression, the words, the
# values and the state of the index.  It looks at fewer documents than match,
# and fetches the rows that come.  What is not recognised is sorted, with the
# same rows.
#
# Holds: plan 43; topk 19, 20; prior 5

use strict;
use warnings;
use FindBin;
use List::Util qw(min shuffle);
use lib "$FindBin::RealBin/lib";
use JSON::PP;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $seed = skx_seed(395);
my $rounds = $ENV{SKX_SUMS} // 60;
my $node = skx_node('sums', conf => "skipidx.max_workers = 0\nmax_parallel_workers_per_gather = 0\njit = off\nTimeZone = 'UTC'\nextra_float_digits = 3");
my $s = skx_session($node, 'postgres');

sub pick { return $_[ rand @_ ]; }

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 60 * (abs(hashint4(i + 77 * j)) % 60)) / 40 || ':' || j, ' ')::tsvector
	FROM generate_series(1, 1 + abs(hashint4(i)) % CASE WHEN i % 40 = 0 THEN 150 ELSE 25 END) j $$;
-- Rows i, of which some have no value, infinite ones, NaN or equal ones.
CREATE FUNCTION make(first int, last int)
RETURNS TABLE (id int, v tsvector, sent timestamptz, at timestamp, day date, clicks bigint, n int, small smallint, f float8, g float4, flag boolean)
LANGUAGE sql AS $$
	SELECT i, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 89 = 0 THEN '' ELSE body(i) END,
		CASE i % 61 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity'
			ELSE timestamptz '2026-01-01' - (i * 37 % 4001) * interval '5 hours 1 second' END,
		CASE WHEN i % 41 = 0 THEN NULL ELSE timestamp '2026-01-01' - i * interval '31 minutes' END,
		CASE i % 53 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' ELSE date '2025-12-31' - i % 700 END,
		CASE WHEN i % 43 = 0 THEN NULL ELSE (abs(hashint4(i)) % 100000) ^ 2 END, i % 100 - 20, i % 7,
		CASE i % 47 WHEN 0 THEN NULL WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' WHEN 3 THEN 'NaN' ELSE (i * 7919 % 10007) / 7.0 END,
		CASE WHEN i % 45 = 0 THEN 'NaN' ELSE -(i % 1000) / 3.0 END, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END
	FROM generate_series(first, last) i $$;
CREATE TABLE docs AS SELECT * FROM make(1, 0);
ALTER TABLE docs SET (autovacuum_enabled = off);
CREATE INDEX docs_v ON docs USING skipidx (v, sent, at, day, clicks, n, small, f, g, flag);
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE INDEX parts_v ON parts USING skipidx (v, sent, at, day, clicks, n, small, f, g, flag);
SQL

# ---- statements ----

sub weight { return pick(-3, -0.25, 0.1, 0.5, 1, 2, 2, 7, 100, 1e-8); }
sub span { return pick('3 hours', '1 day', '30 days', '1 year 2 mons', '40 years'); }

sub decay
{
	my ($column, $as_of) = @{ pick([ 'sent', "'2025-11-01'" ], [ 'at', "'2026-01-01'" ], [ 'day', "'2025-12-01'" ]) };

	return "skipidx_decay($column, '" . span() . "', " . pick(0, 0, 0.25, 0.5, 0.99, 1) . ", $as_of)";
}

sub term
{
	my $number = pick(qw(clicks n small f g));

	return pick(
		sub { "skipidx_recency(sent, '" . span() . "', " . weight() . ", '2026-01-01')" },
		sub { "skipidx_recency(sent, half_life => '" . span() . "', as_of => '2025-06-01')" },
		sub { "skipidx_recency(at, '" . span() . "', " . weight() . ", '2025-12-01')" },
		sub { "skipidx_recency(day, '" . span() . "', " . weight() . ", '2026-01-01')" },
		sub { "skipidx_near($number, " . pick(-100, 0, 3, 500, 1e9) . ', ' . pick(0.5, 30, 1e6) . ', ' . weight() . ')' },
		sub { "skipidx_near(sent, '2025-10-01', '" . span() . "', " . weight() . ')' },
		sub { "skipidx_near(day, '2025-10-01', '" . span() . "', " . weight() . ')' },
		sub { "skipidx_saturation($number, " . pick(1, 100, 1e7) . ', ' . weight() . ')' },
		sub { "skipidx_log1p($number, " . pick(-1, 0.01, 0.1, 1) . ')' },
		sub { 'skipidx_boost(flag, ' . weight() . ')' },
		\&decay)->();
}

sub expression
{
	my ($d) = @_;

	return pick(
		sub { "$d + " . term() },
		sub { term() . " + $d" },
		sub { "$d - " . term() },
		sub { "$d + " . term() . ' + ' . term() },
		sub { "$d + (" . term() . ' - ' . term() . ')' },
		sub { term() . " - " . term() . " + ($d - " . term() . ') + ' . term() },
		sub { "$d * " . decay() },
		sub { decay() . " * $d" },
		sub { "($d + " . term() . ') * ' . decay() },
		sub { term() . " + $d * " . decay() . ' - ' . term() },
		sub { "$d * " . decay() . ' + ' . join(' + ', map { term() } 1 .. 6) })->();
}

sub word { return 'w' . int(rand() * rand() * 60); }

sub words
{
	return pick(
		sub { word() },
		sub { join(' | ', word(), word()) },
		sub { join(' | ', word(), word(), word()) },
		sub { join(' & ', word(), word()) },
		sub { join(' & ', word(), '!' . word()) },
		sub { word() . ' & (' . word() . ' | ' . word() . ')' },
		sub { join(' <-> ', word(), word()) },
		sub { 'w' . pick(1, 2, 3) . ':*' },
		sub { word() . ' & w' . pick(1, 2, 3) . ':*' },
		sub { join(' | ', map { "w$_" } shuffle(0 .. 11)) },
		sub { join(' | ', map { "w$_" } 0 .. 70) })->();
}

# ---- one statement by the index and by a sort ----

my %off = (
	index => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on; SET skipidx.enable_custom_scan = on',
	sort => 'SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_sort = on; SET enable_indexscan = off; SET skipidx.enable_custom_scan = off');

sub nodes
{
	my ($plan) = @_;

	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

sub plan_of
{
	my ($sql, $options) = @_;

	return nodes(decode_json($s->value("EXPLAIN (FORMAT JSON, $options) $sql"))->[0]->{Plan});
}

sub by_sum
{
	return scalar grep { $_->{'Node Type'} eq 'Custom Scan' && $_->{'Custom Plan Provider'} eq 'Skipidx Scan' } @_;
}

sub is_sorted { return scalar grep { $_->{'Node Type'} =~ /Sort/ } @_; }

sub rows_of { return map { [ split /=/ ] } split / /, $s->value("SELECT coalesce(string_agg(id || '=' || d::text, ' '), '') FROM ($_[0]) x"); }

# Returns undef, or what is wrong with the first rows by the index.
sub wrong
{
	my ($table, $d, $where, $limit, $offset) = @_;
	my $all = "SELECT id, $d AS d FROM $table WHERE $where ORDER BY $d";
	my $some = "$all LIMIT $limit OFFSET $offset";

	$s->value($off{index});
	my @plan = plan_of($some, 'COSTS OFF');
	return 'not by the index' if !by_sum(@plan) || is_sorted(@plan);
	my @found = rows_of($some);
	$s->value($off{sort});
	my @right = rows_of($all);
	my %right = map { $_->[0] => $_->[1] } @right;
	my @wanted = map { $_->[1] } @right[ min($offset, scalar @right) .. min($offset + $limit, scalar @right) - 1 ];
	my %seen;

	return "sums: " . join(' ', map { $_->[1] } @found) . "\nare not: @wanted"
	  if join(' ', map { $_->[1] } @found) ne join(' ', @wanted);
	for my $row (@found)
	{
		return "row $row->[0] comes twice" if $seen{ $row->[0] }++;
		return "row $row->[0] has $row->[1]" if ($right{ $row->[0] } // '') ne $row->[1];
	}
	return;
}

# Rows of equal distance come in the order of their tids in both plans, where
# there is one table and no row was updated.
sub check
{
	my ($name, $table) = @_;
	my @wrong;

	for (1 .. $rounds)
	{
		my $words = words();
		my $d = expression("(v <\@> '$words')");
		my $where = "v \@\@ '$words'" . pick('', '', '', ' AND n < 10', ' AND id % 3 = 0', ' AND sent IS NOT NULL', ' AND flag');
		my $limit = pick(1, 2, 10, 10, 100, 1000);
		my $offset = pick(0, 0, 0, 7, 300);
		my $wrong = wrong($table, $d, $where, $limit, $offset);

		push @wrong, "$where ORDER BY $d LIMIT $limit OFFSET $offset\n$wrong" if defined $wrong;
	}
	is(scalar(@wrong), 0, "$name: $rounds statements") or diag(join("\n", @wrong[ 0 .. min(2, $#wrong) ]) . "\nseed $seed");
	return;
}

# ---- states ----

$s->value('INSERT INTO docs SELECT * FROM make(1, 2500)');
check('pending', 'docs');
$s->value("SELECT skipidx_flush('docs_v')");
check('one segment', 'docs');
for my $i (1 .. 3)
{
	$s->value('INSERT INTO docs SELECT * FROM make(' . (2500 + $i * 700 - 699) . ', ' . (2500 + $i * 700) . ')');
	$s->value("SELECT skipidx_flush('docs_v')");
}
$s->value('INSERT INTO docs SELECT * FROM make(4601, 5000)');
check('several segments, and pending', 'docs');
$s->value('DELETE FROM docs WHERE id % 5 = 0; UPDATE docs SET n = n + 1 WHERE id % 9 = 0');
check('deleted', 'docs');
$s->value('VACUUM docs');
check('vacuumed', 'docs');
$s->value('REINDEX INDEX docs_v');
check('built', 'docs');
$s->value('INSERT INTO parts SELECT * FROM docs; ANALYZE');
check('partitions', 'parts');

# Of a large segment, stretches are searched one by one where values follow the
# order of the rows.
$s->value(<<'SQL');
CREATE TABLE large AS SELECT id + k * 5000 AS id, v, sent - k * interval '100 days' AS sent, at - k * interval '110 days' AS at, day - k * 140 AS day,
	clicks / (k + 1) AS clicks, n + k AS n, small, CASE WHEN k = 3 THEN NULL ELSE f + k * 1000 END AS f, g, flag
FROM docs, generate_series(0, 4) k ORDER BY k, docs.id;
CREATE INDEX large_v ON large USING skipidx (v, sent, at, day, clicks, n, small, f, g, flag);
DELETE FROM large WHERE id % 31 = 0;
ANALYZE large;
SQL
check('stretches', 'large');

# ---- work ----

$s->value(<<'SQL');
CREATE TABLE many AS SELECT i AS id, ('w1 ' || CASE WHEN i % 3 = 0 THEN 'w2 ' ELSE '' END || 'x' || i % 100)::tsvector AS v,
	timestamptz '2026-01-01' - i * interval '1 hour' AS sent, i * 7919 % 10007 AS clicks
FROM generate_series(1, 40000) i;
CREATE INDEX many_v ON many USING skipidx (v, sent, clicks);
VACUUM ANALYZE many;
SQL
$s->value($off{index});
# Fewer than the documents of the first two stretches, of five.
my ($newest) = grep { $_->{'Node Type'} eq 'Custom Scan' }
  plan_of("SELECT id FROM many WHERE v \@\@ 'w1 | w2' ORDER BY (v <\@> 'w1 | w2') + skipidx_recency(sent, '20 days', 5, '2026-01-01') LIMIT 10", 'ANALYZE, TIMING OFF');
cmp_ok($newest->{'Scored Postings'}, '<', 8000, 'stretches of old rows are passed over');
for my $case ([ 'recency', "skipidx_recency(sent, '10 days', 0.4, '2026-01-01')" ], [ 'nearness', 'skipidx_near(clicks, 100, 5, 0.1)' ])
{
	my ($name, $term) = @$case;
	my @plan = plan_of("SELECT id FROM many WHERE v \@\@ 'w1 | w2' ORDER BY (v <\@> 'w1 | w2') + $term LIMIT 10", 'ANALYZE, TIMING OFF');
	my ($scan) = grep { $_->{'Node Type'} eq 'Custom Scan' } @plan;
	my ($rows) = grep { $_->{'Node Type'} eq 'Index Scan' } @plan;

	cmp_ok($scan->{Candidates}, '<', 20000, "$name: fewer documents are looked at than match");
	is($rows->{'Actual Rows'}, 10, "$name: the rows that come are fetched");
}

my @wrong = grep { defined } map { wrong('many', "(v <\@> 'w2 | x7') $_", "v \@\@ 'w2 | x7'", 200, 0) } (
	map({ ("+ skipidx_recency(sent, '$_', 3, '2025-06-01')", "+ skipidx_recency(sent, '$_', -3, '2025-06-01')",
			"- skipidx_near(sent, '2024-06-01', '$_', -1)", "* skipidx_decay(sent, '$_', 0.1, '2024-01-01') + skipidx_saturation(clicks, 10000)") }
		'3 days', '100 days'), '+ skipidx_log1p(clicks)');
is(scalar(@wrong), 0, 'stretches of dates') or diag($wrong[0]);

# ---- other forms: by the index or by a sort, the same rows ----

# The default plan, so that one by the index is chosen where it is offered.
sub same
{
	my ($name, $expected, $sql) = @_;
	my $rows = "SELECT coalesce(string_agg(x::text, ' '), '') FROM ($sql) x";

	$s->value($off{index});
	my @plan = plan_of($sql, 'COSTS OFF');
	my $found = $s->value($rows);
	$s->value($off{sort});
	is($found, $s->value($rows), "$name: rows");
	is((by_sum(@plan) && !grep { $_->{'Node Type'} eq 'Sort' } @plan) ? 1 : 0, $expected, "$name: plan");
	return;
}

my $d = "(v <\@> 'w1 | w2')";
my $match = "v \@\@ 'w1 | w2'";
$s->value('CREATE FUNCTION twice(d float4) RETURNS float4 LANGUAGE sql IMMUTABLE AS $$ SELECT d + d $$');
my $sum = "$d + skipidx_recency(sent, '30 days', 2, '2026-01-01')";
same('and id', 1, "SELECT id, $sum FROM docs WHERE $match ORDER BY $sum, id LIMIT 20");
same('view', 1, "SELECT id, d FROM (SELECT id, v, $sum AS d FROM docs) o WHERE $match ORDER BY d LIMIT 20");
same('distance beside', 1, "SELECT id, $d, $sum, $sum - $d FROM docs WHERE $match ORDER BY $sum LIMIT 20");
same('subquery', 1, "SELECT * FROM (SELECT id, $sum AS d FROM docs WHERE $match ORDER BY d LIMIT 20) o WHERE id > 0");
same('each weight', 1, "SELECT w, o.* FROM (VALUES (-1.0), (0), (0.5), (3)) w (w), "
	. "LATERAL (SELECT id, $d + skipidx_recency(sent, '30 days', w, '2026-01-01') AS d FROM docs WHERE $match ORDER BY d LIMIT 20) o");
same('branches', 0, "SELECT * FROM (SELECT id, $sum AS d FROM docs WHERE $match UNION ALL SELECT -id, $sum FROM parts_0 WHERE $match) u ORDER BY d LIMIT 1");
same('each limit', 1, "SELECT o.* FROM generate_series(0, 5) l, LATERAL (SELECT id, $sum AS d FROM docs WHERE $match ORDER BY $sum LIMIT l) o");
same('a function', 0, "SELECT id FROM docs WHERE $match ORDER BY twice($d) + skipidx_boost(flag), id LIMIT 20");
same('worst first', 0, "SELECT id, $sum FROM docs WHERE $match ORDER BY $sum DESC, id LIMIT 20");
same('score', 0, "SELECT id, $sum FROM docs WHERE $match ORDER BY -($sum) DESC, id LIMIT 20");
same('bound', 1, "SELECT id, $sum FROM docs WHERE $match AND $sum < -2 ORDER BY $sum LIMIT 50");
same('no match', 0, "SELECT id, $sum FROM docs ORDER BY $sum, id LIMIT 20");
same('another match', 0, "SELECT id, $sum FROM docs WHERE v \@\@ 'w1' ORDER BY $sum, id LIMIT 20");
same('a match without words', 0, "SELECT id, d FROM (SELECT id, v, (v <\@> '!w1') + skipidx_boost(flag) AS d FROM docs) o WHERE v \@\@ '!w1' ORDER BY d, id LIMIT 20");
same('no limit', 0, "SELECT id, $sum FROM docs WHERE $match ORDER BY $sum, id");
same('the distance subtracted', 0, "SELECT id, skipidx_boost(flag) - $d FROM docs WHERE $match ORDER BY skipidx_boost(flag) - $d, id LIMIT 20");
same('no decay', 0, "SELECT id FROM docs WHERE $match ORDER BY $d * skipidx_boost(flag), id LIMIT 20");
same('a constant', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + 1::float4, id LIMIT 20");
same('a weight of the row', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_boost(flag, n), id LIMIT 20");
same('a condition', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_boost(n > 3), id LIMIT 20");
same('a column without an index', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_saturation(id, 100), id LIMIT 20");
same('a volatile argument', 0, "SELECT 1 FROM docs WHERE $match ORDER BY $d + skipidx_boost(flag, random()) LIMIT 0");
same('double precision', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_boost(flag)::float8, id LIMIT 20");
same('two distances', 0, "SELECT id FROM docs WHERE $match ORDER BY $d + (v <\@> 'w3') + skipidx_boost(flag), id LIMIT 20");
same('a join', 0, "SELECT a.id FROM docs a JOIN docs b USING (id) WHERE a.$match ORDER BY (a.v <\@> 'w1 | w2') + skipidx_boost(b.flag), a.id LIMIT 20");

# Rows of equal sums in two segments, the smaller of which has the first tids.
$s->value(<<'SQL');
CREATE TABLE ties AS SELECT i AS id, 'w1 w2'::tsvector AS v, date '2026-01-01' AS day FROM generate_series(1, 3000) i;
CREATE INDEX ties_v ON ties USING skipidx (v, day);
DELETE FROM ties WHERE id <= 100;
SQL
$s->value('VACUUM ties');
$s->value("INSERT INTO ties SELECT i, 'w1 w2', '2026-01-01' FROM generate_series(5001, 5090) i; SELECT skipidx_flush('ties_v') \\g /dev/null");
for my $limit (1, 80, 200)
{
	same("ties, $limit", 1, "SELECT id FROM ties WHERE v \@\@ 'w1' ORDER BY (v <\@> 'w1') + skipidx_recency(day, '1 day', 1, '2026-01-02') LIMIT $limit");
}
# The stretch with the best row is searched first, and is full of ties with others.
$s->value(<<'SQL');
CREATE TABLE tied AS SELECT i AS id, 'w1'::tsvector AS v, CASE i WHEN 19990 THEN date '2026-06-01' ELSE '2025-01-01' END AS day
FROM generate_series(1, 20000) i;
CREATE INDEX tied_v ON tied USING skipidx (v, day);
SQL
same('ties of stretches', 1, "SELECT id FROM tied WHERE v \@\@ 'w1' ORDER BY (v <\@> 'w1') + skipidx_recency(day, '30 days', 2, '2026-06-01') LIMIT 5");
is($s->value("SELECT min(id) FROM (SELECT id FROM ties WHERE v \@\@ 'w1' ORDER BY ctid LIMIT 1) x"), 5001, 'ties: tids are used again');

$s->value($off{index});
is(by_sum(plan_of("SELECT id FROM docs WHERE $match ORDER BY $sum LIMIT 5 FOR UPDATE", 'COSTS OFF')), 0, 'rows that are locked are sorted');

is(by_sum(plan_of("SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_recency(sent, '30 days') LIMIT 5", 'COSTS OFF')), 1, 'age at the time of the statement');
$s->value("SET work_mem = '64kB'");
same('little memory', 1, "SELECT id, $sum FROM docs WHERE $match ORDER BY $sum LIMIT 1500");
same('little memory, sums above zero', 1, "SELECT id FROM docs WHERE $match ORDER BY $d + skipidx_recency(sent, '30 years', -100, '2026-01-01') LIMIT 1500");
same('little memory, one word', 1, "SELECT id FROM docs WHERE v \@\@ 'w1' ORDER BY (v <\@> 'w1') + skipidx_recency(sent, '30 years', -100, '2026-01-01') LIMIT 1500");
same('little memory, a rare condition', 1, "SELECT id, $sum FROM docs WHERE $match AND id % 40 = 1 ORDER BY $sum LIMIT 30");
$s->value('RESET work_mem');

# Under a policy the text is a filter.
$s->value(<<'SQL');
CREATE ROLE reader;
GRANT SELECT ON docs TO reader;
CREATE POLICY low ON docs USING (small < 3);
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
SET ROLE reader;
SQL
same('a policy', 1, "SELECT id, $sum FROM docs WHERE $match ORDER BY $sum LIMIT 50");
$s->value('RESET ROLE; ALTER TABLE docs DISABLE ROW LEVEL SECURITY');

# Parameters and cursors; rows beyond those that were asked for.
$s->value($off{index});
my $top = $s->value("SELECT string_agg(id::text, ' ') FROM (SELECT id FROM docs WHERE $match ORDER BY $sum LIMIT 200) x");
$s->value("PREPARE few (tsquery, float8, timestamptz, int) AS SELECT id FROM docs WHERE v \@\@ \$1 "
	. "ORDER BY (v <\@> \$1) + skipidx_recency(sent, '30 days', \$2, \$3) LIMIT \$4");
for my $mode (qw(force_custom_plan force_generic_plan))
{
	$s->value("SET plan_cache_mode = $mode");
	is(join(' ', split /\n/, $s->value("EXECUTE few ('w1 | w2', 2, '2026-01-01', 200)")), $top, "prepared: $mode");
}
$s->value("PREPARE weighted (float8, timestamptz, int) AS SELECT id FROM docs WHERE $match "
	. "ORDER BY $d + skipidx_recency(sent, '30 days', \$1, \$2) LIMIT \$3");
is(by_sum(plan_of("EXECUTE weighted (2, '2026-01-01', 200)", 'COSTS OFF')), 1, 'a generic plan by the index');
is(join(' ', split /\n/, $s->value("EXECUTE weighted (2, '2026-01-01', 200)")), $top, 'its rows');
$s->value('BEGIN');
$s->value("DECLARE c CURSOR FOR SELECT id FROM docs WHERE $match ORDER BY $sum LIMIT 200");
my @fetched = map { split /\n/, $s->value("FETCH $_ FROM c") } 3, 10;
$s->value('COMMIT');
is("@fetched", join(' ', (split / /, $top)[ 0 .. 12 ]), 'a cursor');

# What is refused is refused by the index, too.
like($s->value("DO \$\$ BEGIN PERFORM id FROM docs WHERE $match ORDER BY $d + skipidx_saturation(clicks, -1) LIMIT 5; "
		. "EXCEPTION WHEN invalid_parameter_value THEN RAISE INFO 'refused'; END \$\$; SELECT 'and goes on'"), qr/and goes on/, 'a pivot below zero');

$node->stop;
done_testing();
