# What open views keep, and what they do not: views of copied databases, of
# workers that have ended, of a planner, of statistics that are kept after a
# commit; and what waits for standbys once no view is left.
#
# Holds: manifest 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxChurn qw(skx_churn_texts);
use SkipidxTest qw(skx_node skx_session skx_seed skx_until);
use Test::More;

use constant PARTS => 8;		# that processes are spread over

my $seed = skx_seed(526);
my $node = skx_node('views', streaming => 1, conf => "skipidx.cache_size = 4MB\nautovacuum = off\nskipidx.max_workers = 0\n"
	  . "enable_seqscan = off\nenable_bitmapscan = off\nmax_worker_processes = 16\nmax_parallel_workers = 12\n");
my $alone = 'SET max_parallel_workers_per_gather = 0';
my $cursor = "BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'";

note "seed $seed";
$node->safe_psql('postgres', 'CREATE DATABASE one');
skx_churn_texts($node, 'one');
$node->safe_psql('one', <<"SQL");
CREATE EXTENSION skipidx;
SELECT setseed(0.$seed);
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 500) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '16MB');
ANALYZE docs;
SQL

sub add
{
	my ($s, $from, $to) = @_;

	$s->value("INSERT INTO docs SELECT i, doc(i) FROM generate_series($from, $to) i;"
		  . " SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT 1");
	return;
}

sub stat_of
{
	my ($s, $what) = @_;

	return $s->value("SELECT $what FROM skipidx_stats('docs_v')");
}

# A session whose process is in the same part as another one's.
sub beside
{
	my ($database, $pid) = @_;

	for (1 .. 100)
	{
		my $s = skx_session($node, $database);

		# else it might always be a number of processes that skips the part
		system('true') for 1 .. $_ % 3;
		return $s if $s->backend % PARTS == $pid % PARTS;
		$s->close;
	}
	die 'no process in that part';
}

# Rows come and go, all segments become one: what a round leaves waits, if
# anything keeps it.
sub round
{
	my ($s) = @_;

	for (1 .. 4)
	{
		add($s, 1, 400);
		$s->value('DELETE FROM docs WHERE ctid IN (SELECT ctid FROM docs WHERE id <= 400 LIMIT 400)');
	}
	$s->value('VACUUM docs');
	$s->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n SELECT 1");
	return;
}

# Pages that wait after some rounds, and after as many again.
sub waits
{
	my ($s) = @_;
	my @waiting;

	for (1 .. 2)
	{
		round($s) for 1 .. 2;
		push @waiting, stat_of($s, 'waiting_pages');
	}
	return @waiting;
}

# ---- databases that were copied have indexes of one incarnation ----

{
	$node->safe_psql('postgres', 'CREATE DATABASE two TEMPLATE one');
	my $one = skx_session($node, 'one');
	my $two = skx_session($node, 'two');

	# One large flush takes as many roots as three small ones, and fewer segments.
	add($two, 501, 20000);
	for (my $i = 1; stat_of($one, 'generation') < stat_of($two, 'generation'); $i++)
	{
		add($one, 500 * $i + 1, 500 * $i + 500);
	}
	my $rows = $one->value('SELECT count(*) FROM docs');

	is(stat_of($one, 'generation'), stat_of($two, 'generation'), 'two indexes are of one generation');
	my $reader = skx_session($node, 'one');

	$reader->value("$alone; $cursor");
	my $n = split /\n/, $reader->value('FETCH 10 FROM c');
	my $other = beside('two', $reader->backend);

	$other->value("$alone; $cursor; FETCH 10 FROM c");
	$one->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n SELECT 1");
	add($one, 1, 300) for 1 .. 4;
	$one->value("SELECT skipidx_cache_reset()");
	$n += split /\n/, $reader->value('FETCH ALL FROM c');
	is($n, $rows, 'a view of the other database leaves pages to one of this');
	$_->close for $reader, $other, $two, $one;
	$node->safe_psql('postgres', 'DROP DATABASE two');
}

my $s = skx_session($node, 'one');

round($s) for 1 .. 3;
my $least = stat_of($s, 'waiting_pages');

cmp_ok($least, '<', 100, "nobody has a view: $least pages wait");

# ---- a transaction in which workers have read ----

my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;'
  . ' SET min_parallel_index_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off';
my $counted = "SELECT count(*) FROM (SELECT id, v FROM docs WHERE v @@ 'all' OFFSET 0) x";

{
	my $idle = skx_session($node, 'one');

	$idle->value($parallel);
	like($idle->value("EXPLAIN (COSTS OFF) $counted"), qr/Gather/, 'workers read');
	$idle->value('BEGIN');
	is($idle->value($counted), $s->value('SELECT count(*) FROM docs'), 'workers read all rows');
	my ($first, $second) = waits($s);

	cmp_ok($second, '<', $first + 100, "an idle transaction in which workers have read: $first and then $second pages wait");
	$idle->value('COMMIT');
	$idle->close;
}

# ---- a statement that takes long ----

{
	my $long = skx_session($node, 'one');

	$long->value($alone);
	$long->start("SELECT count(*) FROM (SELECT id, CASE WHEN row_number() OVER () = 1 THEN pg_sleep(1000) END"
		  . " FROM docs WHERE v @@ 'all') x");
	$node->poll_query_until('one', 'SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = \'PgSleep\' AND pid = ' . $long->backend);
	my ($first, $second) = waits($s);

	cmp_ok($second, '<', $first + 100, "a statement that takes long: $first and then $second pages wait");
	$s->value('SELECT pg_cancel_backend(' . $long->backend . ')');
	$long->finish;
	$long->close;
}

# ---- a worker's view for which there is no place ----

{
	my $many = skx_session($node, 'one');

	$many->value('CREATE TABLE parts (id int, v tsvector) PARTITION BY RANGE (id)');
	$many->value("CREATE TABLE parts_$_ PARTITION OF parts FOR VALUES FROM ($_) TO ($_ + 1);"
		  . " INSERT INTO parts SELECT $_, doc(1) FROM generate_series(1, 50)") for 1 .. 20;
	$many->value("CREATE INDEX ON parts USING skipidx (v) WITH (block_size = '8kB'); ANALYZE parts");
	$many->value("$alone; BEGIN; DECLARE c CURSOR FOR SELECT id FROM parts WHERE v @@ 'all'; FETCH 10 FROM c");
	$many->value("$parallel; $counted");
	my $other = beside('one', $many->backend);

	$other->value("$parallel; $counted; $counted");
	$other->close;
	$many->value('COMMIT');
	$many->close;
	$s->value('SELECT pg_current_xact_id()') for 1 .. 3;
	my $holder = skx_session($node, 'one');

	$holder->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
	round($s) for 1 .. 2;
	my ($first, $second) = waits($s);

	cmp_ok($second, '<', $least + 100, "views without a place have ended: $second pages wait beside an older snapshot");
	is($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE waiting_for IS NOT NULL"), 0,
		'views without a place have ended: no page waits for transactions');
	$holder->close;
}

# ---- statistics that are kept after a commit, by a process that enters no views ----

{
	my $reader = skx_session($node, 'one');
	my $rows = $s->value('SELECT count(*) FROM docs');

	add($s, 1, 400) for 1 .. 3;
	$rows += 1200;
	$reader->value("LOAD 'skipidx'; SET skipidx.fault = 'views_map:error'; $alone");
	$reader->value('CREATE FUNCTION opened(c refcursor) RETURNS refcursor LANGUAGE plpgsql AS $$'
		  . "BEGIN OPEN c FOR SELECT id FROM docs WHERE v \@\@ 'all' ORDER BY v <\@> 'all'; RETURN c; END \$\$");
	$reader->value("BEGIN; SELECT opened('c') \\g /dev/null\n FETCH 1 FROM c; COMMIT");
	$reader->value("BEGIN; SELECT opened('c')");
	my $n = split /\n/, $reader->value('FETCH 10 FROM c');

	is($s->value("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'page' AND pid = " . $reader->backend), 't',
		'a process that enters no views holds a lock');
	$s->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n SELECT 1");
	add($s, 1, 400) for 1 .. 4;
	$s->value('SELECT skipidx_cache_reset()');
	$n += split /\n/, $reader->value('FETCH ALL FROM c');
	is($n, $rows, 'and has every row');
	$reader->value('COMMIT');
	$reader->close;
}

# ---- where a standby may be: who has a transaction id keeps pages, not who reads ----

{
	my $holder = skx_session($node, 'one');
	my @waiting;

	$s->value("SELECT pg_create_physical_replication_slot('later')");
	$holder->value("$alone; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
	round($s) for 1 .. 2;
	@waiting = waits($s);
	cmp_ok($waiting[1], '<', $waiting[0] + 100, "a snapshot: $waiting[0] and then $waiting[1] pages wait");
	$holder->value("DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
	@waiting = waits($s);
	cmp_ok($waiting[1], '<', $waiting[0] + 100, "a cursor: $waiting[0] and then $waiting[1] pages wait");
	$holder->value('SELECT pg_current_xact_id()');
	@waiting = waits($s);
	cmp_ok($waiting[1], '>', $waiting[0] + 200, "a transaction id: $waiting[0] and then $waiting[1] pages wait");
	cmp_ok($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'waiting' AND waiting_for IS NOT NULL"),
		'>', 1, 'and it is said what for');
	$holder->value('COMMIT');
	$holder->close;
	$s->value('SELECT pg_current_xact_id()');
	round($s);
	cmp_ok(stat_of($s, 'waiting_pages'), '<', $least + 100, 'it has ended: hardly any page waits');
	$s->value("SELECT pg_drop_replication_slot('later')");
}

# ---- a leader ends while its workers read ----

{
	my $leader = skx_session($node, 'one');

	add($s, 1001, 7000);
	$leader->value($parallel);
	$leader->start("SELECT count(*) FROM docs WHERE v @@ 'all' AND (id <> 7 OR pg_sleep(1000) IS NULL)");
	$node->poll_query_until('one', 'SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = \'PgSleep\' AND leader_pid = ' . $leader->backend)
	  or die 'no worker reads';
	$s->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n SELECT 1");
	my $kept = stat_of($s, 'waiting_pages');

	cmp_ok($kept, '>', $least + 100, "workers read: $kept pages wait for them");
	$s->value('SELECT pg_terminate_backend(' . $leader->backend . ')');
	like($leader->finish, qr/57P01|session ended/, 'their leader ends');
	skx_until('the workers to end',
		sub { $s->value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'") == 0 });
	add($s, 1, 1);
	$kept = stat_of($s, 'waiting_pages');
	cmp_ok($kept, '<', $least + 100, "a leader has ended whose workers read: $kept pages wait");
}

is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'skipidx_check');
$s->close;
done_testing();
