# Every operator form of tsquery, on rows its queries were drawn from: the
# sequential scan, skipidx by bitmap and by plain index scan, and GIN must
# give the same rows in every state an index can be in.
#
# Long: three times as many queries, all asked by every method of reading blocks,
# else by "auto" (SKX_IO_METHODS); the others are asked a query of every form, in
# the states that differ in where pages are.
#
# Holds: am 4; cursor 4; pending 4; query 1, 2, 3; rows 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_logged skx_recovered);
use SkipidxGen;
use SkipidxDiff;
use Test::More;

my $seed = skx_seed(20240607);
# The larger of the indexes does not fit this cache.
my $node = skx_node('differential', conf => "work_mem = 16MB\nskipidx.cache_size = 1MB");
my %whole = map { $_ => 1 } split ' ', $ENV{SKX_IO_METHODS} // 'auto';

# Queries of each form, and stride of those that are asked of the large table.
my $per_form = keys %whole > 1 ? 36 : 12;
my $large = keys %whole > 1 ? 1 : 2;

note "seed $seed: SKIPIDX_SEED=$seed repeats this run";
skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $diff = SkipidxDiff->new($s);
my $gen = SkipidxGen->new(seed => $seed, vocab => 250);

# Through shared buffers last: the others would find there what that one read.
my @methods = sort { ($a eq 'shared_buffers') <=> ($b eq 'shared_buffers') || $a cmp $b }
  grep { $_ ne 'auto' } split /,/,
  $s->value("LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");

cmp_ok(scalar(@methods), '>=', 5, "methods: auto @methods");

# How modes are called that are asked everything.
sub ways
{
	my ($mode) = @_;

	return ($mode, map { "$mode via $_" } grep { $whole{$_} } @methods);
}

sub recall
{
	my ($class) = @_;

	return $s->value("DROP INDEX IF EXISTS docs_skx;"
		  . " CREATE INDEX docs_skx ON docs USING skipidx (v) $class");
}

# Answers in all modes, against the oracle of the same state.
sub all_modes
{
	my ($state, $stride, @modes) = @_;

	$diff->run($state, 'seq', $stride);
	for my $mode (@modes)
	{
		$diff->run($state, $mode, $stride);
		$diff->agrees($state, $state, $mode);
	}
	return;
}

sub reconnect
{
	$s = skx_session($node, 'd');
	$diff->use_session($s);
	return;
}

sub counters
{
	my ($method) = @_;
	my %n;

	@n{qw(pins hits read resident evictions)} = split /\|/, $s->value('SELECT pins, hits, pages_read, resident, evictions'
		  . " FROM skipidx_io_methods(), skipidx_cache() WHERE scope = 'session' AND method = '$method'");
	return \%n;
}

# The same by every method: by bitmap with our cache empty for each query, then
# by plain index scan with what is there.  cold: nothing in shared buffers either.
# part: stride of methods that are not asked everything; otherwise such a method
# gets one of each form.
sub all_methods
{
	my ($state, $stride, %opt) = @_;
	my $oracle = $opt{oracle} // $state;

	for my $method (@methods)
	{
		next if $opt{whole} && !$whole{$method};
		my $step = $whole{$method} ? $stride : $opt{part} // $per_form;

		if ($opt{cold})
		{
			$s->close;
			$node->restart;
			reconnect();
		}
		my $from = counters($method);
		my $asked = 0;

		for my $mode (qw(bitmap plain))
		{
			$asked += $diff->run($state, "$mode via $method", $step);
			$diff->agrees($oracle, $state, "$mode via $method");
		}
		my $to = counters($method);
		my %n = map { $_ => $to->{$_} - $from->{$_} } keys %$to;

		note "$state, $method: ", join ', ', map { "$n{$_} $_" } sort keys %n;
		cmp_ok($n{pins}, '>', $asked, "$state: $method pins");
		cmp_ok($n{hits}, '>', $asked / 2, "$state: $method finds pages again");
		if ($method ne 'shared_buffers')
		{
			cmp_ok($n{read} + $n{resident}, '>', $asked, "$state: $method fetches pages");
		}
		cmp_ok($n{evictions}, '>', 30, "$state: $method makes room for pages")
		  if $state eq 'large' && $method ne 'shared_buffers';
		next unless $opt{cold};
		cmp_ok($n{read}, '>', $method eq 'shared_buffers' ? 3 : $asked / 2, "$state: $method reads pages from the file");
	}
	return;
}

sub check_index
{
	my ($when) = @_;
	my $got = $s->raw("SELECT skipidx_check('docs_skx', true)");

	unlike($got, qr/ERROR/, "$when: skipidx_check");
	return;
}

# ---- the data and the queries ----

$gen->add_documents(1400);
$gen->add_large(2500);
$gen->add_documents(60, 'same');
$diff->load_documents([ $gen->copy_documents(1) ], 1);
$diff->load_queries($gen->copy_queries($per_form));

my $queries = $s->value('SELECT count(*) FROM queries');
my $forms = $s->value('SELECT count(DISTINCT form) FROM queries');

cmp_ok($queries, '>=', $per_form * 84, 'number of queries');
is($forms, scalar(my @all = SkipidxGen::forms()), 'every form is there');

# ---- fresh ----

recall('');
$s->value('CREATE INDEX docs_gin_v ON docs_gin USING gin (v)');
$s->value('ANALYZE docs; ANALYZE docs_gin');

like($diff->plan_of('seq', q{v @@ 'ba'}), qr/Seq Scan on docs\n/, 'plan: seq');
like($diff->plan_of('bitmap', q{v @@ 'ba'}),
	qr/Bitmap Index Scan on docs_skx\n +Index Cond/, 'plan: bitmap');
like($diff->plan_of('plain', q{v @@ 'ba'}),
	qr/^Index Scan using docs_skx on docs\n +Index Cond/, 'plan: plain');
like($diff->plan_of('gin', q{v @@ 'ba'}),
	qr/Bitmap Index Scan on docs_gin_v\n/, 'plan: gin');

my $before = $diff->scans('docs_skx');

all_modes('fresh', 1, qw(bitmap plain gin));
cmp_ok($diff->scans('docs_skx') - $before, '>=', 2 * $queries,
	'every answer came from the index');

my $matching = $s->value("SELECT count(*) FROM answers WHERE state = 'fresh'"
	  . " AND mode = 'seq' AND n > 0");
my $partial = $s->value("SELECT count(*) FROM answers WHERE state = 'fresh'"
	  . " AND mode = 'seq' AND n > 0 AND n < (SELECT count(*) FROM docs"
	  . " WHERE v IS NOT NULL)");

note "$matching of $queries queries match, $partial of them not every row";
cmp_ok($matching, '>=', $queries / 2, 'half of the queries match or more');
cmp_ok($partial, '>=', $queries / 2, 'and do not match everything');
is($s->value("SELECT count(DISTINCT form) FROM answers JOIN queries USING (qid)"
		  . " WHERE state = 'fresh' AND mode = 'seq' AND n > 0"
		  . " AND form NOT IN ('word_absent', 'empty', 'english_stop', 'dist_large')"),
	$forms - 4, 'every form that can match does');

for my $mode (map { ways($_) } qw(bitmap plain))
{
	$diff->run('fresh', $mode, 8, $_) for ('v @@@ $1', '$1 @@ v');
	$diff->agrees('fresh', 'fresh', "$mode $_") for ('v @@@ $1', '$1 @@ v');
}
$diff->run('fresh', $_, 5, 'v @@ $1 AND v @@ $2') for 'seq', map { ways($_) } qw(bitmap plain);
$diff->agrees('fresh', 'fresh', "$_ v @@ \$1 AND v @@ \$2")
  for map { ways($_) } qw(bitmap plain);
all_methods('fresh', 1, cold => 1);

# ---- rescans ----

like($s->value('SET enable_seqscan = off; SET enable_bitmapscan = off;'
		  . ' SET enable_hashjoin = off; SET enable_mergejoin = off;'
		  . ' EXPLAIN (COSTS OFF) SELECT count(*) FROM asked q, LATERAL'
		  . ' (SELECT id FROM docs WHERE v @@ q.q OFFSET 0) x;'
		  . ' RESET ALL'),
	qr/Nested Loop.*Index Scan using docs_skx on docs.*Index Cond: \(v @@ make_query\(queries\./s,
	'plan: the query comes from the outer row');
for my $mode (map { ways($_) } qw(bitmap plain))
{
	$diff->run_nested('fresh', $mode, 3);
	$diff->agrees('fresh', 'fresh', "$mode nested");
}

# A scan that is left before its end, and then started again
$s->value('ANALYZE answers; SET enable_seqscan = off');
for my $off (qw(enable_bitmapscan enable_indexscan))
{
	is($s->value(<<"SQL"), 0, "rescanned before the end, $off off");
SET $off = off;
SELECT count(*) FROM answers a JOIN (SELECT qid, count(*) AS n, bool_and(d.v @@ s.q) AS fits
	FROM (SELECT qid, q FROM asked WHERE qid % 4 = 1 OFFSET 0) s,
	LATERAL (SELECT v FROM docs WHERE v @@ s.q LIMIT 3) d GROUP BY qid) b USING (qid)
WHERE state = 'fresh' AND mode = 'seq' AND (b.n <> least(a.n, 3) OR NOT fits);
RESET $off;
SQL
}

# Scans in parallel workers
my $parallel = <<'SQL';
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL enable_bitmapscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off;
SET LOCAL enable_memoize = off;
SQL
my $in_workers = 'SELECT qid, count(*) AS n, hash_array_extended(array_agg(id'
  . ' ORDER BY id), 0) AS h FROM asked JOIN docs ON v @@ q WHERE qid % 3 = 2 GROUP BY qid';

$s->value('RESET ALL; SET client_min_messages = warning; ALTER FUNCTION make_query PARALLEL SAFE');
like($s->value("BEGIN; $parallel EXPLAIN (COSTS OFF) $in_workers; COMMIT"),
	qr/Gather.*Nested Loop.*Parallel Seq Scan on queries.*Index Scan using docs_skx/s,
	'plan: scans in parallel workers');
for my $method ('auto', grep { $whole{$_} } @methods)
{
	$s->value("BEGIN; $parallel SET LOCAL skipidx.io_method = $method;"
		  . " CREATE TABLE in_workers AS $in_workers; COMMIT");
	is($s->value("SELECT count(*) FROM answers a LEFT JOIN in_workers b USING (qid)"
			  . " WHERE state = 'fresh' AND mode = 'seq' AND qid % 3 = 2"
			  . ' AND a.n > 0 AND (a.n, a.h) IS DISTINCT FROM (b.n, b.h)'),
		0, "in parallel workers, $method");
	is($s->value('SELECT count(*) FROM in_workers'),
		$s->value("SELECT count(*) FROM answers WHERE state = 'fresh'"
			  . " AND mode = 'seq' AND qid % 3 = 2 AND n > 0"),
		"and no row more, $method");
	$s->value('DROP TABLE in_workers');
}

# ---- pending rows ----

my $first_new = @{ $gen->{docs} } + 1;

$gen->add_documents(350);
$gen->add_large(2200);
$diff->load_documents([ $gen->copy_documents($first_new) ], 1);
for my $table (qw(docs docs_gin))
{
	# Other versions of old rows, and rows that never come to be.
	$s->value("UPDATE $table SET v = v || 'ba:3A kanew:7'::tsvector WHERE id % 11 = 0;"
		  . " UPDATE $table SET v = strip(v) WHERE id % 37 = 1;"
		  . " UPDATE $table SET kind = kind WHERE id % 13 = 5");
	$s->value("BEGIN; INSERT INTO $table SELECT id + 100000, kind, v FROM $table"
		  . ' LIMIT 200; SAVEPOINT a;'
		  . " DELETE FROM $table WHERE id < 100; ROLLBACK TO a;"
		  . " UPDATE $table SET v = 'ba:1 ce:2' WHERE id < 50; ROLLBACK");
	$s->value("BEGIN; SAVEPOINT a; INSERT INTO $table SELECT id + 200000, kind, v"
		  . " FROM $table WHERE id < 100; ROLLBACK TO a;"
		  . " INSERT INTO $table SELECT id + 300000, kind, v FROM $table"
		  . ' WHERE id BETWEEN 100 AND 120; SAVEPOINT b;'
		  . " UPDATE $table SET id = id + 100 WHERE id > 300110; RELEASE b; COMMIT");
}
all_modes('pending', 3, qw(bitmap plain gin));
all_methods('pending', 3);
check_index('pending');

# The same rows in other places; states whose names are as long as that of
# their oracle take the same part of the queries.
for my $step ([ 'flushed', "skipidx_flush('docs_skx')" ], [ 'unified', "skipidx_merge('docs_skx', 1)" ])
{
	my ($state, $work) = @$step;

	is($s->raw("SELECT $work \\g /dev/null\n"), '', $state);
	is($s->value("SELECT count(*) FROM skipidx_segments('docs_skx') WHERE kind = 'segment'"),
		$state eq 'flushed' ? 2 : 1, "$state: segments");
	for my $mode (qw(bitmap plain))
	{
		$diff->run($state, $mode, $per_form / 4);
		$diff->agrees('pending', $state, $mode);
	}
	all_methods($state, 3, oracle => 'pending', cold => $state eq 'unified');
}

# ---- the index does not ask for the operator ----

# An operator class whose operator refuses to be called: what a scan returns
# is right without it, or the query fails.
$s->value(<<'SQL');
CREATE FUNCTION never_called(tsvector, tsquery) RETURNS bool LANGUAGE plpgsql
IMMUTABLE STRICT AS $$ BEGIN RAISE 'the row was rechecked'; END $$;
CREATE OPERATOR === (LEFTARG = tsvector, RIGHTARG = tsquery,
	FUNCTION = never_called);
CREATE OPERATOR CLASS unchecked_ops FOR TYPE tsvector USING skipidx AS
	OPERATOR 1 === (tsvector, tsquery);
SQL
recall('');    # the rows above as a segment
$s->value('CREATE INDEX docs_unchecked ON docs USING skipidx (v unchecked_ops)');
$s->value("INSERT INTO docs SELECT id + 400000, kind, v FROM docs WHERE id % 9 = 2");
$diff->run('unchecked', 'seq', 4);
for my $mode (qw(bitmap plain))
{
	$diff->run('unchecked', $mode, 4, 'v === $1');
	$diff->agrees('unchecked', 'unchecked', "$mode v === \$1");
}
$s->value('DELETE FROM docs WHERE id BETWEEN 400000 AND 499999;'
	  . ' DROP INDEX docs_unchecked');

# ---- deletes, VACUUM, TIDs used again ----

$s->value("DELETE FROM $_ WHERE id % 5 IN (1, 3) OR id > 300000") for qw(docs docs_gin);
all_modes('deleted', 6, qw(bitmap plain));
all_methods('deleted', 6, whole => 1);

$s->value('CREATE TABLE gone AS SELECT ctid AS tid FROM docs LIMIT 0');
$s->value('VACUUM docs');
$s->value('VACUUM docs_gin');
all_modes('vacuumed', 3, qw(bitmap plain gin));
all_methods('vacuumed', 3);
check_index('vacuumed');

$s->value('CREATE TABLE live AS SELECT ctid AS tid FROM docs');
$first_new = @{ $gen->{docs} } + 1;
$gen->add_documents(500);
$diff->load_documents([ $gen->copy_documents($first_new) ], 1);
cmp_ok($s->value('SELECT count(*) FROM docs WHERE id >= ' . $first_new
		  . ' AND ctid < (SELECT max(tid) FROM live)'),
	'>', 100, 'rows took the places of deleted ones');
all_modes('reused', 3, qw(bitmap plain gin));
all_methods('reused', 3, whole => 1);

# Pending rows die too, and are vacuumed before any of them became a segment.
$s->value("DELETE FROM docs WHERE id % 4 = 2");
$s->value('VACUUM docs');
$first_new = @{ $gen->{docs} } + 1;
$gen->add_documents(300);
$diff->load_documents([ $gen->copy_documents($first_new) ], 0);
all_modes('reused twice', 4, qw(bitmap plain));
all_methods('reused twice', 4, whole => 1);
check_index('reused twice');

# ---- crashes ----

$s->value('CREATE TABLE noise (v tsvector)');
$s->close;
$node->stop('immediate');
$node->start;
reconnect();

# The table answers is unlogged: the oracle answers again.
all_modes('crashed', 4, qw(bitmap plain));
all_methods('crashed', 4);
check_index('crashed');

$first_new = @{ $gen->{docs} } + 1;
$gen->add_documents(200);
$diff->load_documents([ $gen->copy_documents($first_new) ], 0);
$s->start('BEGIN; INSERT INTO docs SELECT id + 500000, kind, v FROM docs;'
	  . ' SELECT pg_sleep(60)');
my $victim = $s->backend;

$node->poll_query_until('d', "SELECT wait_event = 'PgSleep' FROM"
	  . " pg_stat_activity WHERE pid = $victim");
kill 'KILL', $victim;
$s->finish;
$s->close;

# The postmaster lets sessions in until it is told of the dead one.
skx_logged($node, 0, qr/all server processes terminated/);
skx_recovered($node);
reconnect();
is($s->value('SELECT count(*) FROM docs WHERE id >= 500000'), 0,
	'the killed transaction left no rows');
all_modes('killed', 4, qw(bitmap plain));
all_methods('killed', 4, whole => 1);
check_index('killed');

# ---- other block sizes and memory ----

for my $with ([ '8kB', '1MB' ], [ '64kB', '16MB' ], [ '1MB', '256MB' ])
{
	my ($block, $memory) = @$with;
	my $state = "block_size $block";

	$s->value("SET maintenance_work_mem = '$memory'");
	recall("WITH (block_size = '$block')");
	for my $mode (map { ways($_) } qw(bitmap plain))
	{
		$s->value("DELETE FROM answers WHERE state = 'killed' AND mode = '$mode'");
		$diff->run('killed', $mode, 4);
		ok($diff->agrees('killed', 'killed', $mode), $state);
	}
}
$s->value('RESET maintenance_work_mem');

# ---- a table large enough for every form of list ----

$s->value('TRUNCATE docs, answers, queries; ALTER TABLE docs SET (fillfactor = 40)');
$gen = SkipidxGen->new(seed => $seed + 1, vocab => 3000);
$gen->add_documents(10000, 'plain');
$diff->load_documents([ $gen->copy_documents(1) ], 0);

# Most of them five times, so that lists are long; the words of the others are rare.
$s->value('INSERT INTO docs SELECT id + 10000 * n, kind, v FROM docs, generate_series(1, 4) n WHERE id > 2500 ORDER BY 1');
is($s->value('SELECT count(*) FROM docs'), 40000, 'a large table');
$diff->load_queries($gen->copy_queries(2, [ grep { !/^(english|plainto|websearch|dist_large|or_many)/ } SkipidxGen::forms() ]));
$s->value("SET maintenance_work_mem = '1MB'");
recall("WITH (block_size = '8kB')");
$s->value('ANALYZE docs; RESET maintenance_work_mem');
$s->value('DELETE FROM docs WHERE id % 10 = 3');
$s->value('VACUUM docs');
$s->value('INSERT INTO docs SELECT id + 60000, kind, v FROM docs WHERE id % 40 = 1');
all_modes('large', $large, qw(bitmap plain));
all_methods('large', $large, cold => 1, part => 4);
check_index('large');
$diff->run_nested('large', 'bitmap', 4);
$diff->agrees('large', 'large', 'bitmap nested');

$s->value("SET work_mem = '64kB'");
like($diff->plan_of('bitmap', q{v @@ '!nosuch'}, 'ANALYZE, COSTS OFF, TIMING OFF'),
	qr/Heap Blocks:.* lossy=[1-9]/, 'the bitmap became lossy');
$s->value("DELETE FROM answers WHERE mode LIKE 'bitmap%'");
$diff->run('large', 'bitmap', 2);
$diff->agrees('large', 'large', 'bitmap');
$s->value('RESET work_mem');

# The same list in other blocks.
for my $block (qw(128kB 1MB))
{
	recall("WITH (block_size = '$block')");
	$s->value("DELETE FROM answers WHERE mode LIKE 'bitmap%'");
	for my $mode (ways('bitmap'))
	{
		$diff->run('large', $mode, 3 * $large);
		ok($diff->agrees('large', 'large', $mode), "large, block_size $block");
	}
}

$s->close;
$node->stop;
done_testing();
