# Rows in the order of a column beside the text: each key of each answer is that of
# the sequential scan and sort, in either direction, with NULLs at either end, limits,
# offsets, filters, and values that many rows share, in every state an index can be
# in; and what is read for the first rows of a column that follows the table is little.
#
# Long: 1500 queries, else 400 (SKX_RANK_QUERIES).
#
# Holds: column 3; order 1, 2, 3, 4; plan 16; segment 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_install_try);
use Test::More;

my $seed = skx_seed(306);
my $queries = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000 ? 1500 : 400;
my $node = skx_node('order', streaming => 1, conf => <<'CONF');
max_worker_processes = 8
max_parallel_workers = 4
min_parallel_table_scan_size = 0
skipidx.cache_size = 1MB
autovacuum = off
CONF

note "seed $seed";
skx_database($node, 'd');
skx_install_try($node, 'd');
my $s = skx_session($node, 'd');

# The keys and places of an answer: as many as of the same statement by sequential
# scan and sort, with the same keys, each of a row of its own that has the key and
# meets the condition.
$s->value(<<'SQL');
CREATE TABLE docs (id int, v tsvector, n int, small int2, day date, ts timestamp, tz timestamptz, f float8, flag bool, o oid, m money,
	p numeric(12, 3), u uuid, q numeric)
	WITH (parallel_workers = 2);
CREATE INDEX docs_skx ON docs USING skipidx (v, n, small, day, ts, tz, f, flag, o, m, p, u, q) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE TABLE asked (qid int PRIMARY KEY, cond text, col text, way text, tail text);

CREATE FUNCTION set_mode(seq bool) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', seq::text, false), set_config('enable_sort', seq::text, false),
		set_config('enable_bitmapscan', 'off', false), set_config('enable_indexscan', (NOT seq)::text, false);
END $$;

-- 0 and -0 are equal, and are written as they come, as are 1.0 and 1.00.
CREATE FUNCTION written(col text) RETURNS text LANGUAGE sql AS $$ SELECT CASE col WHEN 'f' THEN '(f + 0)' WHEN 'q' THEN 'trim_scale(q)' ELSE quote_ident(col) END $$;

CREATE FUNCTION ordered(one asked, OUT keys text[], OUT places tid[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT array_agg(k), array_agg(c) FROM (SELECT %5$s::text AS k, ctid AS c FROM docs WHERE %2$s ORDER BY %1$I %3$s %4$s) s',
		one.col, one.cond, one.way, one.tail, written(one.col)) INTO keys, places;
END $$;

CREATE FUNCTION explained(one asked) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE %2$s ORDER BY %1$I %3$s %4$s',
		one.col, one.cond, one.way, one.tail) LOOP
		plan := plan || line;
	END LOOP;
	RETURN plan;
END $$;

CREATE FUNCTION run(part int, stride int, plans bool, OUT queries int, OUT matched int, OUT n_rows int8, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one asked;
	want record;
	got record;
	sound int;
BEGIN
	queries := 0; matched := 0; n_rows := 0; wrong := '{}';
	FOR one IN SELECT * FROM asked WHERE qid % stride = part ORDER BY qid LOOP
		PERFORM set_mode(true);
		want := ordered(one);
		PERFORM set_mode(false);
		IF plans AND explained(one) !~ 'Skipidx Ordered Scan|One-Time Filter' THEN
			wrong := wrong || format('%s: %s by another plan', one.qid, one);
		END IF;
		got := ordered(one);
		queries := queries + 1;
		matched := matched + (want.keys IS NOT NULL)::int;
		n_rows := n_rows + coalesce(cardinality(want.keys), 0);
		IF got.keys IS DISTINCT FROM want.keys THEN
			wrong := wrong || format('%s: %s keys for %s of %s', one.qid, cardinality(got.keys), cardinality(want.keys), one);
		END IF;
		PERFORM set_mode(true);
		EXECUTE format('SELECT count(DISTINCT w.c) FROM unnest($1, $2) w(k, c) JOIN docs ON docs.ctid = w.c AND %s::text IS NOT DISTINCT FROM w.k WHERE %s',
			written(one.col), one.cond) INTO sound USING got.keys, got.places;
		IF sound <> coalesce(cardinality(got.keys), 0) THEN
			wrong := wrong || format('%s: %s rows of %s are sound of %s', one.qid, sound, cardinality(got.keys), one);
		END IF;
	END LOOP;
END $$;
SQL

# ---- rows and queries ----

my $rows = 0;

sub one_of { return $_[ rand @_ ]; }

sub quoted { return defined $_[0] ? "'$_[0]'" : 'NULL'; }

sub words { return join ' ', map { one_of('wa', 'wa', 'wb', 'wc', 'xe' . int rand 30) } 1 .. int rand 7; }

# Many have the first eight bytes in common, and few all of them.
sub uuid
{
	my $first = one_of('00000000-0000-0000', 'ffffffff-ffff-ffff', '01000000-0000-0000', map { sprintf '018f0000-00%02x-7000', $_ } 1 .. 30);

	return sprintf '%s-%s-%s%06x', $first, one_of('0000', 'ffff', '8000'), one_of('000000', 'ffffff'), int rand 3000;
}

# Likewise, of all sizes.
sub number
{
	my $sign = one_of('', '', '-');

	return one_of('NaN', 'Infinity', '-Infinity', 0, map { $sign . $_ } 1e90, '1e-90', '2e-79', '3e79', '3e83', rand() * 1e-70, int rand 20, int(rand 400) / 100, rand,
		'1234567890123456' . int rand 9, '123456789012.' . int rand 9, '0.00012345678901234567' . int rand 9, (map { sprintf '%d.%04d0000%d', $_, rand 3, rand 300 } 7, 70000));
}

sub new_row
{
	my $id = ++$rows;
	my $day = sprintf '2020-%02d-%02d', 1 + $id / 150 % 12, 1 + $id % 28;

	return '(' . join(', ', $id, quoted(rand() < 0.1 ? undef : words()), (map { quoted(rand() < 0.1 ? undef : $_) }
		int(rand 2000) - 1000, int rand 4, one_of($day, $day, $day, 'infinity', '-infinity', '5000000-01-01'),
		one_of("$day 10:00:0" . int rand 9, "$day 23:59:59.999999", 'infinity', '-infinity', '4713-01-01 BC'),
		"$day 11:00+0" . int rand 9, one_of('NaN', '-0', '0', 'Infinity', '-Infinity', rand, -rand() * 1e300), one_of('t', 'f'),
		one_of(0, 4294967295, int rand 4e9), rand() * 100 - 50,
		one_of('NaN', 0, '999999999.999', '-999999999.999', int(rand 100) / 8, -int(rand 9) / 1000, sprintf('%.3f', rand() * 1e5 - 5e4)), uuid(), number())) . ')';
}

sub load
{
	my ($n) = @_;

	$s->value('INSERT INTO docs VALUES ' . join ', ', map { new_row() } 1 .. $n);
	return;
}

my @columns = qw(n small day ts tz f flag o m p u q u q);
my %bounds = (n => [ -200, 0, 300 ], small => [ 0, 1, 3 ], day => [ '2020-03-05', '2020-06-01', 'infinity' ],
	ts => [ '2020-03-05', '2020-06-01 10:00:03', 'infinity' ], tz => [ '2020-03-05', '2020-06-01 10:00+02', '2021-01-01' ],
	f => [ -1, 0, 'NaN' ], flag => [ 'f', 'f', 't' ], o => [ 0, 1000, 3e9 ], m => [ -10, 0, 10 ], p => [ '-0.0005', '0.0015', one_of('NaN', '1e20', '12.5000001') ],
	u => [ sort map { uuid() } 1 .. 3 ], q => one_of([ '-2e-79', 0, 1 ], [ -3, '7.0001000020', '70000.0001000020' ], [ '-1e90', '123456789012.3', '4e83' ],
		[ '-12345678901234563', '12345678901234563', '12345678901234565' ], [ '0.000123456789012345674', '0.000123456789012345676', 'NaN' ]));

sub condition
{
	my ($column) = @_;
	my @cond = rand() < 0.85 ? "v @@ '" . one_of('wa', 'wa', 'wb', 'wa & wb', 'wc | xe3', '!wa', 'xe1:*', 'wa <-> wb', 'xe7', 'w:* & !wb', 'nosuch') . "'" : ();
	my $other = one_of(@columns);
	my $own = $bounds{$column};

	push @cond, one_of("$column >= '$own->[0]'", "$column < '$own->[2]'", "$column BETWEEN '$own->[0]' AND '$own->[2]'", "$column > '$own->[1]'",
		"$column IS NOT NULL", "$column IS NULL", "$column IN ('$own->[0]', '$own->[1]')", "$column <= ANY ('{$own->[0],$own->[1]}')")
	  if rand() < 0.35;
	push @cond, one_of("$other >= '$bounds{$other}->[1]'", "$other IS NULL", "$other < '$bounds{$other}->[2]'") if rand() < 0.3;
	push @cond, "($column <= '$own->[0]' OR $other > '$bounds{$other}->[1]' AND $column IS NOT NULL OR $other IS NULL)" if rand() < 0.15;
	push @cond, 'id % 3 = 1' if rand() < 0.15;
	return @cond ? join ' AND ', @cond : 'true';
}

sub tail
{
	return one_of('', 'LIMIT 1', 'LIMIT 3', 'LIMIT 10', 'LIMIT 10', 'LIMIT 100', 'LIMIT 1000', 'LIMIT 7 OFFSET 5', 'OFFSET 20', 'LIMIT 0');
}

my @asked;

for my $qid (0 .. $queries - 1)
{
	my $column = $columns[ $qid % @columns ];

	push @asked, "($qid, " . join(', ', map { "'" . s/'/''/gr . "'" } condition($column), $column,
		one_of('', 'DESC', '', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'), tail()) . ')';
}
$s->value('INSERT INTO asked VALUES ' . join ', ', @asked);

# ---- states ----

sub differ
{
	my ($what, $stride, %opt) = @_;
	my $on = $opt{on} // $s;
	my ($n, $matched, $found, @wrong) = split /\n/, $on->value(
		'SELECT unnest(ARRAY[queries::text, matched::text, n_rows::text] || wrong[1:6]) FROM run('
		  . join(', ', length($what) % $stride, $stride, $opt{plans} ? 'true' : 'false') . ')');

	ok($n > 0 && $matched > $n / 2 && @wrong == 0, "$what: $n queries, $matched match, $found rows") or diag(join "\n", @wrong);
	is($on->raw("SELECT skipidx_check('docs_skx', true)"), '', "$what: skipidx_check") if !$opt{on};
	return;
}

load(1200);
$s->value('ANALYZE docs');
differ('pending', 1, plans => 1);
for my $n (1 .. 3)
{
	$s->value(q{SELECT skipidx_flush('docs_skx') \g /dev/null});
	load(400);
}
is($s->value("SELECT segments FROM skipidx_stats('docs_skx')"), 3, 'three segments and pending documents');
differ('several', 1);

$s->value("SET work_mem = '64kB'");
differ('several, with little memory', 3);
$s->value('RESET work_mem');

my $methods = $s->value("LOAD 'skipidx'; SELECT string_agg(m, ',') FROM pg_settings, unnest(enumvals) m WHERE name = 'skipidx.io_method'");

for my $method (split /,/, $methods)
{
	$s->value("SET skipidx.io_method = $method; SELECT skipidx_cache_reset()");
	differ("several, $method", 8);
}
$s->value('RESET skipidx.io_method');

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('order_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
load(60);
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = skx_session($standby, 'd');
differ('standby', 5, on => $there);
$there->close;
$standby->stop;

$s->value('DELETE FROM docs WHERE id % 4 = 1; UPDATE docs SET n = -n, day = day + 30 WHERE id % 9 = 2 AND isfinite(day)');
differ('deleted', 3);
$s->value('VACUUM docs');
differ('vacuumed', 3);
$s->value(q{SELECT skipidx_flush('docs_skx') \g /dev/null}) if $s->value("SELECT pending_docs FROM skipidx_stats('docs_skx')") > 0;
$s->value(q{SELECT skipidx_merge('docs_skx', 1) \g /dev/null});
is($s->value("SELECT segments || ' ' || deleted FROM skipidx_stats('docs_skx')"), '1 0', 'merged without the dead');
differ('merged', 2);
load(200);
$s->value('DELETE FROM docs WHERE id % 50 = 7');
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
differ('crashed', 3);
$s->value('SET max_parallel_maintenance_workers = 2; REINDEX TABLE docs; RESET max_parallel_maintenance_workers');
differ('rebuilt', 2);

# ---- more rows than a search was for; other ways to ask ----

$s->value(<<'SQL');
SELECT set_mode(false) \g /dev/null
CREATE FUNCTION by_cursor() RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT n FROM docs WHERE v @@ 'wa' ORDER BY n DESC NULLS LAST;
	got int[] := '{}';
	one record;
BEGIN
	OPEN c;
	LOOP
		FETCH c INTO one;
		EXIT WHEN NOT FOUND OR cardinality(got) >= 1500;
		got := got || one.n;
	END LOOP;
	RETURN got;
END $$;
SQL
is($s->value('SELECT by_cursor() = (SELECT array_agg(n ORDER BY n DESC NULLS LAST) FROM docs WHERE id IN (SELECT id FROM docs WHERE v @@ $$wa$$))'), 't',
	'a cursor goes through all rows');
is($s->value(<<'SQL'), 't', 'a search for each row of a join');
SELECT bool_and(a IS NOT DISTINCT FROM b) FROM (SELECT
	(SELECT array_agg(n) FROM (SELECT n FROM docs WHERE v @@ 'wa' AND small = k ORDER BY n DESC LIMIT 3) s) AS a,
	(SELECT (array_agg(n ORDER BY n DESC))[1:3] FROM docs WHERE v @@ 'wa' AND small = k) AS b FROM generate_series(0, 5) k) s;
SQL
is($s->value("PREPARE page(int, int) AS SELECT array_agg(n) FROM (SELECT n FROM docs WHERE v @@ 'wa' AND n < \$1 ORDER BY n DESC LIMIT \$2) s;"
	  . ' SET plan_cache_mode = force_generic_plan; EXECUTE page(100, 5)'),
	$s->value("SELECT (array_agg(n ORDER BY n DESC))[1:5] FROM docs WHERE v @@ 'wa' AND n < 100"), 'a page from a key on');
is($s->value('EXECUTE page(NULL, 5)'), '', 'from NULL on there is none');
is($s->value('EXECUTE page(100, NULL)'), $s->value("SELECT array_agg(n ORDER BY n DESC) FROM docs WHERE v @@ 'wa' AND n < 100"), 'no limit');
$s->value('RESET plan_cache_mode');
like($s->value("EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n, id LIMIT 5"), qr/Incremental Sort.*Presorted Key: n.*Skipidx Ordered Scan/s,
	'further keys are sorted');
like($s->value("EXPLAIN (COSTS OFF) DECLARE c SCROLL CURSOR FOR SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n"), qr/Materialize/, 'backward by Materialize');
is($s->value("SELECT count(*) FROM (SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n LIMIT 5 FOR UPDATE) s"), 5, 'rows are locked');
unlike($s->value('EXPLAIN (COSTS OFF) SELECT id FROM docs ORDER BY v LIMIT 1'), qr/Ordered Scan/, 'the text has no order');

# ---- other modifiers of a numeric ----

my $price = 'SELECT count(*) || $$ $$ || coalesce(array_agg(p)::text, $$$$) FROM (SELECT p FROM docs WHERE v @@ $$wa$$ AND p > -0.0005 AND p < 12.5000001'
  . ' ORDER BY p DESC LIMIT 50) s';

sub as_sorted
{
	my ($what, $by_index) = @_;
	my $plan = $s->value("EXPLAIN (COSTS OFF) $price");
	my $got = $s->value($price);

	$s->value('SELECT set_mode(true)');
	is($got, $s->value($price), "$what: rows and their order");
	$s->value('SELECT set_mode(false)');
	like($plan, $by_index ? qr/Ordered Scan/ : qr/Index Scan/, "$what: by the index");
	is($s->raw("SELECT skipidx_check('docs_skx', true)"), '', "$what: skipidx_check");
	return;
}

as_sorted('numeric(12, 3)', 1);
$s->value('ALTER TABLE docs ALTER p TYPE numeric(15, 3)');
$s->value("INSERT INTO docs (id, v, p) VALUES (-1, 'wa', 123456789012.345), (-2, 'wa', 2.125)");
as_sorted('numeric(15, 3)', 1);
$s->value('ALTER TABLE docs ALTER p TYPE numeric');
$s->value("INSERT INTO docs (id, v, p) VALUES (-3, 'wa', 1.23456789), (-4, 'wa', 'Infinity'), (-5, 'wa', 1e30)");
as_sorted('numeric', 0);
$s->value(q{SELECT skipidx_flush('docs_skx') \g /dev/null});
$s->value(q{SELECT skipidx_merge('docs_skx', 1) \g /dev/null});
as_sorted('merged without its keys', 0);
$s->value('DELETE FROM docs WHERE id < 0; ALTER TABLE docs ALTER p TYPE numeric(13, 2)');
as_sorted('numeric(13, 2)', 1);

# What a transaction has left that gave the column another type and was rolled back:
# a segment with keys of another kind, and values with more digits that are pending.
$s->value(<<'SQL');
CREATE TABLE undone (id int, v tsvector, m numeric(10, 2), w numeric(10, 2));
CREATE INDEX undone_skx ON undone USING skipidx (v, m, w);
INSERT INTO undone SELECT i, 'wa', i * 0.01, 5 FROM generate_series(1, 500) i;
ANALYZE undone;
BEGIN;
ALTER TABLE undone ALTER m TYPE numeric;
INSERT INTO undone SELECT i, 'wa', 1.000001 + i, 5 FROM generate_series(1, 50) i;
ROLLBACK;
SQL
my $least = "SELECT array_agg(m) FROM (SELECT m FROM undone WHERE v @@ 'wa' AND m > 0.5 ORDER BY m LIMIT 4) s";
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY m LIMIT 4"), qr/Ordered Scan/, 'rolled back: by the order');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'beside values with more digits, of no row');
$s->value(q{SELECT skipidx_flush('undone_skx') \g /dev/null});
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'and flushed with them');
is($s->raw("SELECT skipidx_check('undone_skx', true)"), '', 'skipidx_check');
$s->value("INSERT INTO undone SELECT i, 'wa', i * 0.01, 5 FROM generate_series(501, 600) i;"
	  . " BEGIN; ALTER TABLE undone ALTER m TYPE numeric(20, 2); SELECT skipidx_flush('undone_skx') \\g /dev/null");
$s->value('ROLLBACK');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'a segment of the time between');
is($s->value("SELECT max(m) FROM undone WHERE v @@ 'wa'"), '6.00', 'its rows');
like($s->raw("SELECT skipidx_histogram('undone_skx', 'wa', 'm', '{1}'::numeric[])"), qr/55000: index "undone_skx" has no sort keys of column "m"/, 'no histogram');
like($s->raw("SELECT skipidx_slices('undone_skx', 'm', 2)"), qr/55000: index "undone_skx" has no sort keys of column "m"/, 'no slices');
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY w LIMIT 4"), qr/Ordered Scan/, 'another column has it');
$s->value('REINDEX INDEX undone_skx');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'built anew');
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY m LIMIT 4"), qr/Ordered Scan/, 'by the order');

# ---- partitions ----

$s->value(<<'SQL');
CREATE TABLE parts (id int, v tsvector, n int) PARTITION BY RANGE (id);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE TABLE parts_b (n int, v tsvector, id int);
ALTER TABLE parts ATTACH PARTITION parts_b FOR VALUES FROM (500) TO (1000);
CREATE INDEX parts_skx ON parts USING skipidx (v, n);
INSERT INTO parts SELECT i, 'wa', hashint4(i) % 1000 FROM generate_series(1, 999) i;
ANALYZE parts;
SQL
like($s->value("EXPLAIN (COSTS OFF) SELECT n FROM parts WHERE v @@ 'wa' ORDER BY n LIMIT 10"), qr/Merge Append.*Ordered Scan.*Ordered Scan/s, 'partitions are merged');
is($s->value("SELECT array_agg(n) FROM (SELECT n FROM parts WHERE v @@ 'wa' ORDER BY n LIMIT 100) s"),
	$s->value('SELECT (array_agg(n ORDER BY n))[1:100] FROM parts'), 'and give the same');

# ---- work ----

# follows and ties follow the table, mixed does not.
$s->value(<<'SQL');
CREATE TABLE work (id int, v tsvector, follows int, mixed int, ties int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(CASE WHEN i % 10 = 3 THEN '{all,tenth}' WHEN i % 20 = 4 THEN ARRAY['all', 'many' || i % 500] ELSE '{all}'::text[] END), i, hashint4(i), i / 50000
	FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, follows, mixed, ties) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL

# What EXPLAIN tells of a search: stretches visited, documents compared, and values
# by which these were found.
sub work
{
	my ($cond, $order, $table) = (@_, 'work');
	my $plan = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM $table WHERE $cond ORDER BY $order");

	like($plan, qr/Ordered Scan/, "$cond by $order");
	return ($plan =~ /Passes: (\d+)/, $plan =~ /Stretches: (\d+)/, $plan =~ /Compared Documents: (\d+)/, $plan =~ /Values: (\d+)/);
}

for my $way ('follows LIMIT 20', 'follows DESC LIMIT 20', 'ties LIMIT 20', 'ties DESC LIMIT 20')
{
	my ($passes, $stretches, $documents) = work(q{v @@ 'all'}, $way);

	is($passes, 1, "one search by $way");
	# where a value begins, a group has a few of it
	cmp_ok($stretches, '<=', $way =~ /ties DESC/ ? 2 : 1, "$stretches groups of documents");
	cmp_ok($documents, '<=', 256, "$documents documents");
	(undef, $stretches, $documents) = work(q{v @@ 'tenth'}, $way);
	cmp_ok($stretches, '<=', 3, "$stretches stretches of a rarer word");
	cmp_ok($documents, '<=', 60, "$documents documents");
}
for my $cond ('follows < 100000', 'follows BETWEEN 1000 AND 100000')
{
	my (undef, $stretches, $documents) = work("v @@ 'all' AND $cond", 'follows DESC LIMIT 20');

	cmp_ok($stretches, '<=', 2, "a page from a key on: $stretches stretches");
	cmp_ok($documents, '<=', 256, "$documents documents");
}
my ($passes, $stretches, $documents) = work(q{v @@ 'many:*'}, 'follows LIMIT 20');
is("$passes $stretches", '1 1', 'a prefix of many lexemes is gone through at once');
is($documents, 10000, 'all of it');
my $values;
for my $way ('mixed LIMIT 20', 'mixed DESC LIMIT 20')
{
	($passes, $stretches, $documents, $values) = work(q{v @@ 'all'}, $way);
	is("$passes $stretches", '1 0', "a column in no order: one search, no stretch by $way");
	cmp_ok($values, '<=', 30, "$values values");
	cmp_ok($documents, '<=', 30, "$documents documents");
	(undef, $stretches, $documents, $values) = work(q{v @@ 'tenth' AND mixed BETWEEN -1000000000 AND 1500000000}, $way);
	is($stretches, 0, 'a rarer word, and a range of the column');
	cmp_ok($values, '<=', 500, "$values values");
	cmp_ok($documents, '<=', 60, "$documents documents");
}
(undef, undef, $documents, $values) = work(q{v @@ 'many13'}, 'mixed LIMIT 20');
cmp_ok($values + $documents, '<=', 500, "a rare word: $documents documents, by $values values");
($passes) = work(q{v @@ 'all'}, 'follows LIMIT 20 OFFSET 100');
is($passes, 1, 'an offset is of the first search');

# Dead rows, which are at the end of what a stretch gives: it is not gone through anew.
my $range = q{SELECT count(*) FROM (SELECT id FROM work WHERE v @@ 'all' AND mixed < -2000000000 ORDER BY follows LIMIT 10) l};
sub decoded_by { my ($sql) = @_; my $n = $s->value('SELECT subblocks FROM skipidx_work()'); $s->value($sql); return $s->value('SELECT subblocks FROM skipidx_work()') - $n; }
decoded_by($range);
my $alive = decoded_by($range);
$s->value('DELETE FROM work WHERE hashint4(id + 77) % 5 = 1; VACUUM work');
decoded_by($range);
my $dead = decoded_by($range);
ok($alive > 0 && $dead <= $alive, "dead rows: $dead sub-blocks, $alive without");

# ---- keys that several values have ----

# Of 60 rows six have one key of u each; of q likewise, but for those of whole numbers.
$s->value(<<'SQL');
CREATE TABLE shared (id int PRIMARY KEY, v tsvector, u uuid, j jsonb);
INSERT INTO shared SELECT i, 'wa', (lpad(to_hex(i % 10), 16, '0') || lpad(to_hex((i * 17) % 61), 16, '0'))::uuid,
	jsonb_build_object('q', i % 10 + CASE WHEN i % 2 = 1 THEN (i * 17) % 61 * 1e-20 ELSE 0 END) FROM generate_series(1, 60) i;
CREATE INDEX shared_skx ON shared USING skipidx (v, u, ((j ->> 'q')::numeric));
ANALYZE shared;
CREATE FUNCTION by_position() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT id FROM shared WHERE v @@ 'wa' ORDER BY u DESC;
	one record;
	changed int;
BEGIN
	OPEN c;
	FOR i IN 1 .. 25 LOOP
		FETCH c INTO one;
		UPDATE shared SET j = j || '{"seen": true}' WHERE CURRENT OF c RETURNING id INTO changed;
		IF changed <> one.id THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN (SELECT count(*) = 25 FROM shared WHERE j ? 'seen');
END $$;
SQL
like($s->value("EXPLAIN (COSTS OFF) SELECT id FROM shared WHERE v @@ 'wa' ORDER BY (j ->> 'q')::numeric DESC LIMIT 5"), qr/Ordered Scan/, 'an expression');
for my $key ('u', "(j ->> 'q')::numeric")
{
	for my $tail ('', 'LIMIT 1', 'LIMIT 10', 'LIMIT 15', 'LIMIT 10 OFFSET 9', 'LIMIT 60')
	{
		for my $way ('', 'DESC')
		{
			my $rows = "SELECT array_agg(k) FROM (SELECT $key AS k FROM shared WHERE v @@ 'wa' ORDER BY $key $way $tail) s";
			my $got = $s->value($rows);

			$s->value('SELECT set_mode(true)');
			is($got, $s->value($rows), "rows by $key $way $tail");
			$s->value('SELECT set_mode(false)');
		}
	}
}
is($s->value(<<'SQL'), 't', 'for each row of a join, and not to the end');
SELECT bool_and(a IS NOT DISTINCT FROM b) FROM (SELECT (SELECT array_agg(u) FROM (SELECT u FROM shared WHERE v @@ 'wa' AND u > t.u ORDER BY u LIMIT 7) s) AS a,
	(SELECT (array_agg(u ORDER BY u))[1:7] FROM shared s WHERE s.u > t.u) AS b FROM shared t) s;
SQL
is($s->value("SELECT count(*) || ' ' || min(u::text) || ' ' || max(u::text) FROM (SELECT u FROM shared WHERE v @@ 'wa' ORDER BY u LIMIT 12 FOR UPDATE) s"),
	$s->value("SELECT count(*) || ' ' || min(u::text) || ' ' || max(u::text) FROM (SELECT u FROM (SELECT u FROM shared OFFSET 0) o ORDER BY u LIMIT 12) s"), 'rows are locked');
is($s->value("SELECT min((j ->> 'q')::numeric) || ' ' || max((j ->> 'q')::numeric) FROM shared WHERE v @@ 'wa'"),
	$s->value("SELECT min(q) || ' ' || max(q) FROM (SELECT (j ->> 'q')::numeric AS q FROM shared OFFSET 0) s"), 'the least and the most');
is($s->value('SELECT by_position()'), 't', 'WHERE CURRENT OF is the row that was fetched');

# Rows of one key, more than fit into work_mem, with values that are not stored in line.
$s->value(<<'SQL');
CREATE TABLE wide (id int, v tsvector, u uuid, t text);
ALTER TABLE wide ALTER t SET STORAGE plain;
INSERT INTO wide SELECT i, 'wa', (lpad(to_hex(i % 16), 16, '0') || lpad(to_hex((i * 7919) % 4001), 16, '0'))::uuid, repeat('x', 400) || i FROM generate_series(1, 4000) i;
CREATE INDEX wide_skx ON wide USING skipidx (v, u);
ANALYZE wide;
SET work_mem = '64kB';
SQL
is($s->value("SELECT array_agg(u) = (SELECT array_agg(u ORDER BY u DESC) FROM wide) AND bool_and(t = repeat('x', 400) || id) FROM (SELECT id, u, t FROM wide WHERE v @@ 'wa' ORDER BY u DESC) s"),
	't', 'rows of one key, beyond work_mem');
$s->value('RESET work_mem');
like($s->value("EXPLAIN (COSTS OFF) SELECT u FROM wide WHERE v @@ 'wa' ORDER BY u LIMIT 1"), qr/Ordered Scan/, 'a sixteenth of the rows have one key');
$s->value("UPDATE wide SET u = ('0123456789abcdef' || right(u::text, 17))::uuid WHERE id % 16 < 3; VACUUM wide; REINDEX INDEX wide_skx");
unlike($s->value("EXPLAIN (COSTS OFF) SELECT u FROM wide WHERE v @@ 'wa' ORDER BY u LIMIT 1"), qr/Ordered Scan/, 'not where an eighth of them have');
is($s->raw("SELECT skipidx_slices('shared_skx', 'u', 2)") =~ /0A000: column "u" of index "shared_skx" has no slices/, 1, 'no slices of it');

# A page from a value on does not go through the lists of all values behind it: it
# takes about what one by a column takes whose keys tell their values.
$s->value(<<'SQL');
CREATE TABLE pages (id int, v tsvector, u uuid, q numeric, n int) WITH (autovacuum_enabled = off);
INSERT INTO pages SELECT i, 'all', (lpad(to_hex(hashint4(i) + 2147483648), 8, '0') || substr(md5(i::text), 9))::uuid, hashint4(i) / 1000.0, hashint4(i) FROM generate_series(1, 100000) i;
CREATE INDEX pages_skx ON pages USING skipidx (v, u, q, n) WITH (block_size = '8kB');
ANALYZE pages;
SQL
for my $way ('>', '<')
{
	my %taken;

	for my $bound ("n $way -1000000000", "u $way '44653600-0000-0000-0000-000000000000'", "q $way -1000000")
	{
		my $column = substr $bound, 0, 1;
		my $order = "$column " . ($way eq '<' ? 'DESC' : '');
		my $page = "SELECT array_agg(id) FROM (SELECT id FROM pages WHERE v @@ 'all' AND $bound ORDER BY $order LIMIT 20) s";
		my $pins = 'SELECT pins FROM skipidx_io_totals() WHERE scope = $$session$$';

		my $found = $s->value($page);
		my $before = $s->value($pins);
		$s->value($page);
		$taken{$column} = $s->value($pins) - $before;
		my (undef, undef, $documents, $values) = work("v @@ 'all' AND $bound", "$order LIMIT 20", 'pages');

		cmp_ok($taken{$column}, '<=', 1.5 * $taken{n}, "a page from a value on, by $column: $taken{$column} pages, by n $taken{n}");
		cmp_ok($documents, '<=', 60, "$documents documents by $values values");
		$s->value('SELECT set_mode(true)');
		is($found, $s->value($page), 'its rows');
		$s->value('SELECT set_mode(false)');
	}
}

# ---- by values: a column in no order, and words that go with its values or not ----

# Values of n are those of one row or two, but for 0, which many have, and -1 to -9,
# and each d, some do; some n are NULL.  `low` and `high` are in rows with the least and most, and of the
# first segment few of these rows have `some`, which all of the second do.  Values of
# u and q that differ have keys in common, of one key of u very many; the least three
# of q have lists of their own.
$s->value(<<'SQL');
CREATE TABLE far (id int, v tsvector, n int, ts timestamp, p numeric(12, 2), f float8, d date, u uuid, q numeric) WITH (autovacuum_enabled = off);
CREATE INDEX far_skx ON far USING skipidx (v, n, ts, p, f, d, u, q) WITH (block_size = '8kB', pending_limit = '1GB');
CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO far SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN i % 2 = 0 THEN '{half}'::text[] ELSE '{}' END ||
			CASE WHEN n > 1000000000 THEN '{high}'::text[] WHEN n < -1000000000 THEN '{low}' ELSE '{}' END || CASE WHEN i % 7 = 3 THEN ARRAY['few' || i % 40] ELSE '{}' END ||
			CASE WHEN i > 30000 OR abs(n::int8) < 1000000000 OR i % 50 = 0 THEN '{some}'::text[] ELSE '{}' END ||
			CASE WHEN m BETWEEN 30 AND 130 OR i % 50 IN (0, 1) THEN '{days}'::text[] ELSE '{}' END),
		CASE WHEN i % 11 = 5 THEN 0 WHEN i % 23 = 7 THEN -1 - i % 9 WHEN i % 31 <> 3 THEN n END, '2000-01-01'::timestamp + make_interval(secs => n), n / 1000.0, n::float8 * n, '2000-01-01'::date + m,
		CASE WHEN i % 37 <> 3 THEN (lpad(to_hex(CASE WHEN i % 11 = 5 THEN 524288 ELSE (n + 2147483648) / 4096 END), 16, '0') || lpad(to_hex(i * 7919 % 65536), 16, '0'))::uuid END,
		CASE WHEN i % 11 = 5 THEN 0 WHEN i % 150 = 4 THEN trim_scale(-1000000 + i / 150 % 3 * 1e-20) WHEN i % 29 <> 3 THEN trim_scale(n / 4096 + CASE WHEN i % 3 > 0 THEN (i * 7919 % 128) * 1e-20 ELSE 0 END) END
	FROM (SELECT i, hashint4(i) AS n, abs(hashint4(i / 2) % 160) AS m FROM generate_series(a, b) i) s;
$$;
SQL

# The keys of each answer are those of a sort, each of a row of its own that meets the
# condition.  Returns what differs, and of how many queries rows were found by values.
$s->value(<<'SQL');
CREATE FUNCTION far_run(seed float8, OUT queries int, OUT by_values int, OUT n_rows int8, OUT wrong text[]) LANGUAGE plpgsql AS $$
DECLARE
	col text;
	way text;
	cond text;
	tail text;
	line text;
	found text[];
	wanted text[];
	places tid[];
	sound int;
BEGIN
	queries := 0; by_values := 0; n_rows := 0; wrong := '{}';
	PERFORM setseed(seed);
	FOREACH col IN ARRAY '{n,ts,p,f,d,u,q,u,q}'::text[] LOOP
	FOREACH way IN ARRAY '{"",DESC,DESC NULLS LAST}'::text[] LOOP
	FOREACH cond IN ARRAY ARRAY['v @@ $q$all$q$', 'v @@ $q$half$q$', 'v @@ $q$low$q$', 'v @@ $q$high$q$', 'v @@ $q$high | low$q$', 'v @@ $q$half & !low & !high$q$',
		'v @@ $q$few7 | few21 | few3$q$', 'v @@ $q$all$q$ AND n >= 0', 'v @@ $q$all$q$ AND n <= 1000000', 'v @@ $q$all$q$ AND n >= -1000000', 'v @@ $q$half$q$ AND n <= -3', 'v @@ $q$half$q$ AND n BETWEEN -1000000 AND 900000000',
		'v @@ $q$half$q$ AND f > 1e17', 'v @@ $q$days$q$', 'n > 5', 'true',
		'v @@ $q$half$q$ AND u > $q$00000000-0008-0000-0000-000000008000$q$', 'v @@ $q$all$q$ AND u BETWEEN $q$00000000-0004-0000-0000-000000000000$q$ AND $q$00000000-0008-0000-0000-000000004000$q$',
		'v @@ $q$half$q$ AND q <= 0', 'v @@ $q$all$q$ AND q > 100.00000000000000000064'] LOOP
		CONTINUE WHEN random() < .5;
		tail := (ARRAY['LIMIT 1', 'LIMIT 20', 'LIMIT 20', 'LIMIT 300', 'LIMIT 50 OFFSET 1000'])[1 + (random() * 4.99)::int % 5];
		queries := queries + 1;
		PERFORM set_mode(true);
		EXECUTE format('SELECT array_agg(k) FROM (SELECT %5$s::text AS k FROM far WHERE %2$s ORDER BY %1$I %3$s %4$s) s', col, cond, way, tail, written(col)) INTO wanted;
		PERFORM set_mode(false);
		EXECUTE format('SELECT array_agg(k), array_agg(c) FROM (SELECT %5$s::text AS k, ctid AS c FROM far WHERE %2$s ORDER BY %1$I %3$s %4$s) s', col, cond, way, tail, written(col)) INTO found, places;
		EXECUTE format('SELECT count(DISTINCT c) FROM unnest($1, $2) w(k, c) JOIN far ON far.ctid = w.c AND %s::text IS NOT DISTINCT FROM w.k WHERE %s', written(col), cond)
			INTO sound USING found, places;
		n_rows := n_rows + coalesce(cardinality(found), 0);
		IF found IS DISTINCT FROM wanted OR sound <> coalesce(cardinality(wanted), 0) THEN
			wrong := wrong || format('%s by %s %s %s: %s of %s rows, %s sound', cond, col, way, tail, cardinality(found), cardinality(wanted), sound);
		END IF;
		FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM far WHERE %s ORDER BY %I %s %s', cond, col, way, tail) LOOP
			by_values := by_values + (line ~ ' Values: [1-9]')::int;
		END LOOP;
	END LOOP; END LOOP; END LOOP;
END $$;
SQL

sub far
{
	my ($what) = @_;
	my ($n, $by_values, $found, @wrong) = split /\n/,
	  $s->value('SELECT unnest(ARRAY[queries::text, by_values::text, n_rows::text] || wrong[1:6]) FROM far_run(' . rand() . ')');

	ok($by_values > $n / 4 && @wrong == 0, "by values, $what: $n queries, $by_values so, $found rows") or diag(join "\n", @wrong);
	return;
}

$s->value(<<'SQL');
CREATE FUNCTION far_cursor(word text, col text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	got text[] := '{}';
	one text;
BEGIN
	OPEN c FOR EXECUTE format('SELECT %2$I::text AS k FROM far WHERE v @@ %1$L ORDER BY %2$I %3$s', word, col, way);
	LOOP
		FETCH c INTO one;
		EXIT WHEN NOT FOUND;
		got := array_append(got, one);
	END LOOP;
	RETURN got;
END $$;
SQL

# Searches that grow, to the last row.
sub far_all
{
	my ($what) = @_;

	for my $word ('half', 'high', 'low', 'all & !low', 'some', 'days')
	{
		for my $order ('n', 'n DESC', 'd', 'd DESC', 'u', 'u DESC', 'q', 'q DESC')
		{
			my ($column, $way) = $order =~ /(\w) ?(.*)/;

			is($s->value("SELECT far_cursor('$word', '$column', '$way') = (SELECT array_agg($column\::text ORDER BY $column $way) FROM far"
				  . " WHERE id IN (SELECT id FROM far WHERE v @@ '$word'))"), 't', "a cursor goes through all rows, $what: $word by $order");
		}
	}
	return;
}

$s->value('SELECT fill(1, 30000) \g /dev/null');
$s->value('REINDEX INDEX far_skx; ANALYZE far');
far('a segment');
(undef, $stretches, undef, $values) = work(q{v @@ 'all' AND n >= 0}, 'n LIMIT 20', 'far');
is("$values " . ($stretches > 0), '0 1', 'a value that many rows have is gone through by stretches');
(undef, undef, undef, $values) = work(q{v @@ 'half' AND n < 0}, 'n DESC LIMIT 100', 'far');
cmp_ok($values, '<=', 8, "lists that are short: $values values");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n LIMIT 20', 'far');
ok($values >= 700 && $values <= 1000 && $documents > 5000, "no row is among the first ones: given up after $values values, $documents documents");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n LIMIT 300', 'far');
cmp_ok($values, '<=', 4000, "nor of many: $values values, which take no longer than all matches, $documents documents");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n DESC NULLS LAST LIMIT 20', 'far');
ok($values >= 20 && $values <= 200 && $documents <= $values, "all are: $documents documents by $values values");
$s->value('DELETE FROM far WHERE id % 5 = 1; UPDATE far SET n = n + 1 WHERE id % 13 = 2');
far('deleted, pending');
$s->value('VACUUM far; SELECT fill(30001, 38000) \g /dev/null');
$s->value(q{SELECT skipidx_flush('far_skx') \g /dev/null});
# the segments behind the first one need not have as many of the first values
(undef, undef, undef, $values) = work(q{v @@ 'all'}, 'n DESC NULLS LAST LIMIT 200', 'far');
ok($values >= 200 && $values <= 480, "further segments: $values values");
$s->value('DELETE FROM far WHERE id % 17 = 3; SELECT fill(38001, 41000) \g /dev/null');
far('several segments, pending, deleted');
far_all('several segments');
$s->value(q{SELECT skipidx_flush('far_skx'), skipidx_merge('far_skx', 1) \g /dev/null});
far('merged');
far_all('merged');

$s->close;
$node->stop;
done_testing();
