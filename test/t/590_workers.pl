# Background workers: who flushes and merges what, that they give way to
# whoever wants the index or the database, that none is started where none may
# be, and that nothing is lost when one ends at the wrong moment.
#
# Holds: am 5, 10; maint 6, 11, 13; throttle 2, 3; worker 1, 2, 3, 4, 5, 6, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_fault_lock skx_recovered skx_logged skx_reload skx_workers_done);
use Test::More;
use Time::HiRes qw(sleep);

my $node = skx_node('workers', conf => "autovacuum_naptime = 1s\nskipidx.max_workers = 2\n");

skx_database($node, 'd');

my $s = skx_session($node, 'd');

# Settings of the server; a worker takes them when it starts.
sub settings
{
	my (%new) = @_;

	$s->value("ALTER SYSTEM SET $_ = '$new{$_}'") for sort keys %new;
	skx_reload($node, $s);
	return;
}

# Workers of this database stop, fail or die at a point; '': no longer.
sub fault
{
	my ($fault) = @_;

	$s->value($fault ? "ALTER DATABASE d SET skipidx.fault = '$fault'"
		: 'ALTER DATABASE d RESET skipidx.fault');
	return;
}

my $tables = 0;

# A table with an index whose list may hold 64 kB, some 1,000 rows.
sub table
{
	my ($kind) = @_;
	my $name = 't' . ++$tables;

	$s->value("CREATE " . ($kind // '') . " TABLE $name (id serial, v tsvector)"
		  . ' WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX ${name}_v ON $name USING skipidx (v)"
		  . " WITH (block_size = '8kB', pending_limit = '64kB')");
	return $name;
}

sub insert
{
	my ($table, $rows, $session) = @_;

	($session // $s)->value("INSERT INTO $table (v) SELECT ('all:1 word' || i % 97"
		  . " || ':2 n' || i || ':3')::tsvector FROM generate_series(1, $rows) i");
	return;
}

# Operations of the index by whom and how they ended.
sub operations
{
	my ($table, $where) = @_;

	return $s->value('SELECT count(*) FROM skipidx_merges'
		  . " WHERE index = '${table}_v'::regclass AND $where");
}

sub poll
{
	my ($query, $what) = @_;

	return ok($node->poll_query_until('d', $query), $what);
}

sub stats
{
	my ($table, $what) = @_;

	return $s->value("SELECT $what FROM skipidx_stats('${table}_v')");
}

# The index answers as the table does.
sub same
{
	my ($table, $what) = @_;

	for my $query ('all', 'word3', '!word3', 'n5 | n7:*')
	{
		my @found = map {
			$s->value("SET enable_seqscan = $_; SET enable_bitmapscan = "
				  . ($_ eq 'on' ? 'off' : 'on')
				  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0)"
				  . " FROM $table WHERE v @@ '$query'")
		} qw(on off);

		is($found[1], $found[0], "$what: $query");
	}
	unlike($s->raw("SELECT skipidx_check('${table}_v', true)"), qr/ERROR/,
		"$what: skipidx_check");
	return;
}

my $running = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'skipidx worker'";

# What passes the limit is flushed by a worker, and segments are merged.
my $t = table();
for (1 .. 12)
{
	insert($t, 1500);
	skx_workers_done($node);
}
cmp_ok(operations($t, "operation = 'flush' AND asked_by = 'worker' AND state = 'done'"),
	'>=', 8, 'a worker flushes');
cmp_ok(operations($t, "operation = 'merge' AND asked_by = 'worker' AND state = 'done'"),
	'>=', 1, 'a worker merges');
is(operations($t, "asked_by = 'insert'"), 0, 'no insert had to');
cmp_ok(stats($t, 'segments'), '<', 9, 'segments are few');
cmp_ok(stats($t, 'pending_bytes'), '<', 4 * 65536, 'the list is short');
# another worker may have begun since: no worker was seen for a moment
my $ended = "FROM skipidx_merges WHERE state <> 'running'";
is( $s->value("SELECT count(*) $ended AND (documents > 0 AND bytes_read > 0"
		  . " AND bytes_written > 0 AND seconds >= 0 AND database = 'd' AND"
		  . " (operation = 'merge') = (segments > 0)) IS NOT TRUE"),
	0, 'operations are told in full');
is($s->value("SELECT count(*) $ended AND (phase IS NOT NULL OR done IS NOT NULL OR total IS NOT NULL)"),
	0, 'what has ended has no progress');
# pages of segments are logged, without the free space on them
cmp_ok($s->value("SELECT min(wal_bytes::float8 / bytes_written) FROM skipidx_merges WHERE state = 'done'"),
	'>', 0.1, 'WAL is told');
same($t, 'by workers');

# A single row that finds the list full, and a worker that is about to end:
# none is forgotten.
insert($t, 1100);
insert($t, 1) for 1 .. 300;
skx_workers_done($node);
cmp_ok(stats($t, 'pending_bytes'), '<', 2 * 65536, 'a request is not lost');

# No workers: none allowed, a temporary table, a file that is not seen yet.
settings('skipidx.max_workers' => 0);
$t = table();
insert($t, 5000);
cmp_ok(operations($t, "asked_by = 'insert' AND state = 'done'"), '>=', 2, 'max_workers 0: the insert flushes');
is(operations($t, "asked_by = 'worker'"), 0, 'max_workers 0: no worker');
same($t, 'max_workers 0');
settings('skipidx.max_workers' => 2);
$t = table('TEMPORARY');
insert($t, 5000);
cmp_ok(operations($t, "asked_by = 'insert' AND state = 'done'"), '>=', 2, 'temporary: the insert flushes');
is(operations($t, "asked_by = 'worker'"), 0, 'temporary: no worker');
same($t, 'temporary');
$t = table();
$s->value("BEGIN; TRUNCATE $t");
insert($t, 5000);
cmp_ok(operations($t, "asked_by = 'insert' AND state = 'done'"), '>=', 2, 'new file: the insert flushes');
is(operations($t, "asked_by = 'worker'"), 0, 'new file: no worker');
$s->value('COMMIT');
same($t, 'new file');
$t = table('UNLOGGED');
insert($t, 1500);
poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'worker' AND state = 'done'",
	'unlogged: a worker flushes');
cmp_ok($s->value("SELECT max(wal_bytes::float8 / bytes_written) FROM skipidx_merges WHERE index = '${t}_v'::regclass"),
	'<', 0.1, 'unlogged: hardly any WAL');
same($t, 'unlogged');

# A small flush of a single row's insert, a large one of a long command's.
settings('skipidx.max_workers' => 0);
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '2MB')");
insert($t, 60000);
cmp_ok($s->value("SELECT max(bytes_read) FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'insert'"),
	'>', 1024 * 1024, 'a long command flushes much at a time');
$s->value("SELECT skipidx_flush('${t}_v')");
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '64MB')");
insert($t, 50000);
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '1MB')");
$s->value("INSERT INTO $t (v) VALUES ('single:1')") for 1 .. 500;
cmp_ok($s->value("SELECT bytes_read FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'insert'"
		  . ' ORDER BY started DESC LIMIT 1'),
	'<', 600 * 1024, 'a single row flushes little');
same($t, 'small and large flushes');
settings('skipidx.max_workers' => 2);

# Segments for a merge that lasts: some 20 s at 64 kB/s.
sub slow_merge
{
	my ($what) = @_;
	my $table = table();

	settings('skipidx.max_workers' => 0);
	for (1 .. 8)
	{
		insert($table, 4000);
		$s->value("SELECT skipidx_flush('${table}_v')");
	}
	settings('skipidx.max_workers' => 2, 'skipidx.merge_rate_limit' => '64kB');
	insert($table, 3000);
	poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${table}_v'::regclass"
		  . " AND operation = 'merge' AND state = 'running'", "$what: a merge is under way");
	return $table;
}

# The rate, and what a worker holds back: nothing.  What ends long transactions
# of users does not end its own.
my $limited = $node->pg_version >= 17;

$node->safe_psql('postgres', "ALTER DATABASE d SET transaction_timeout = '2s'") if $limited;
$t = slow_merge('rate');
my $merge = "FROM skipidx_merges WHERE index = '${t}_v'::regclass AND operation = 'merge' AND state = 'running'";

poll("SELECT phase = 'terms' AND done > 0 AND done < total $merge", 'its progress is told');
# for a moment it has the snapshot by which it has read a catalog
poll("SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = (SELECT pid $merge) AND backend_xid IS NULL AND backend_xmin IS NULL",
	'a worker has neither xid nor snapshot while it works');
insert($t, 3000);
poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND operation = 'flush'"
	  . " AND asked_by = 'worker' AND started > (SELECT max(started) FROM skipidx_merges"
	  . " WHERE index = '${t}_v'::regclass AND operation = 'merge')",
	'another worker flushes while one merges');
poll('SELECT done > ' . $s->value("SELECT done $merge") . " $merge", 'and grows');
poll("SELECT seconds > 3 $merge", 'it takes a while');
cmp_ok($s->value("SELECT max(bytes_written / seconds / 1024) $merge"), '<', 200, 'it writes as slowly as it must');
poll("SELECT bytes_written / seconds / 1024 > 10 $merge", 'and no slower');
$node->safe_psql('postgres', 'ALTER DATABASE d RESET transaction_timeout') if $limited;
settings('skipidx.merge_rate_limit' => 0);
poll("SELECT count(*) = 0 FROM skipidx_merges WHERE state = 'running'", 'the rate is raised while it merges');
same($t, 'rate');

# A lower rate holds from then on: what is written already is not paid for again.
$t = slow_merge('lower rate');
my $now_written = "SELECT max(bytes_written) FROM skipidx_merges WHERE index = '${t}_v'::regclass AND operation = 'merge'";

poll("SELECT ($now_written) > 160 * 1024", 'lower rate: much is written');
settings('skipidx.merge_rate_limit' => '16kB');
my $written = $s->value($now_written);
# paid for again, it would be after some seven seconds
for (1 .. 50)
{
	last if $s->value($now_written) > $written;
	sleep 0.1;
}
cmp_ok($s->value($now_written), '>', $written, 'lower rate: it goes on');
settings('skipidx.merge_rate_limit' => 0);
poll("SELECT count(*) = 0 FROM skipidx_merges WHERE state = 'running'", 'lower rate: it ends');

# Whoever wants the index, or the database, does not wait for a merge.
for my $case (
	[ 'DROP INDEX', sub { "DROP INDEX $_[0]_v" }, 0 ],
	[ 'TRUNCATE', sub { "TRUNCATE $_[0]" }, 1 ],
	[ 'REINDEX', sub { "REINDEX INDEX $_[0]_v" }, 1 ],
	[ 'ALTER INDEX', sub { "ALTER INDEX $_[0]_v SET TABLESPACE pg_default" }, 1 ],
	[ 'DROP TABLE', sub { "DROP TABLE $_[0]" }, 0 ])
{
	my ($what, $statement, $left) = @$case;
	my $table = slow_merge($what);
	my $done = "SELECT count(*) FROM skipidx_merges WHERE asked_by = 'worker' AND operation = 'merge' AND state = 'done'";
	my $before = $s->value($done);

	$s->value($statement->($table));
	is($s->value($done), $before, "$what does not wait for a merge");
	same($table, $what) if $left;
	next unless $what eq 'ALTER INDEX';

	# nobody inserts: the worker itself goes on once it may, not before
	my $other = skx_session($node, 'd');

	poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${table}_v'::regclass AND asked_by = 'worker'"
		  . " AND operation = 'merge' AND state = 'running'", "$what: the merge begins again");
	$other->value("BEGIN; ALTER INDEX ${table}_v SET TABLESPACE pg_default");
	settings('skipidx.merge_rate_limit' => 0);
	is(operations($table, "asked_by = 'worker' AND operation = 'merge' AND state <> 'failed'"), 0,
		"$what: while it has the index, nothing goes on");
	$other->value('COMMIT');
	$other->close;
	poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${table}_v'::regclass AND asked_by = 'worker'"
		  . " AND operation = 'merge' AND state = 'done'", "$what: the merge is done without another insert");
	same($table, "$what, merged");
}
$t = slow_merge('DROP DATABASE');
my $other = skx_session($node, 'postgres');
$s->close;
my $watch = $other->watch;
$other->value('DROP DATABASE d');
cmp_ok($watch->(), '<', 4, 'DROP DATABASE does not wait for a merge');
$other->close;
unlike(slurp_file($node->logfile), qr/ERROR:.*gives way/, 'the log is not told of giving way');
skx_database($node, 'd');
$s = skx_session($node, 'd');
settings('skipidx.merge_rate_limit' => 0);

# An error: told in the log, and the index rests; inserts flush themselves.
# It rests for ten seconds: on a busy machine they may be over before the insert.
for (1 .. 10)
{
	fault('flush_built:error');
	$t = table();
	insert($t, 1500);
	poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'worker' AND state = 'failed'",
		'a worker fails');
	skx_workers_done($node);
	like(slurp_file($node->logfile), qr/skipidx fault point flush_built/, 'the log is told');
	fault('');
	insert($t, 3000);
	last if operations($t, "state = 'failed' AND started > clock_timestamp() - interval '9.5 s'");
}
cmp_ok(operations($t, "asked_by = 'insert' AND state = 'done'"), '>=', 1, 'after that the insert flushes');
is(operations($t, "asked_by = 'worker' AND operation = 'flush'"), 1, 'and no worker for a while');
same($t, 'failed');
sleep 10.5;
insert($t, 3000);
poll("SELECT count(*) > 1 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'worker' AND operation = 'flush'",
	'but later');

# One that is ended: the statement does not notice.
$t = slow_merge('terminated');
is($s->value("SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
		  . " WHERE backend_type = 'skipidx worker' AND query LIKE '%merge%') t"), 1, 'terminated');
skx_workers_done($node);
is(operations($t, "operation = 'merge' AND state = 'running'"), 0, 'terminated: not shown as running');
insert($t, 3000);
same($t, 'terminated');
settings('skipidx.merge_rate_limit' => 0);

# The log, of all operations or of none.
for my $case ([ 0, 1 ], [ -1, 0 ])
{
	my ($ms, $told) = @$case;

	$t = table();
	settings('skipidx.log_min_duration' => $ms);
	$s->value("SET skipidx.log_min_duration = $ms");
	for (1 .. 2)
	{
		insert($t, 500);
		$s->value("SELECT skipidx_flush('${t}_v')");
	}
	$s->value("SELECT skipidx_merge('${t}_v', 1)");
	insert($t, 1500);
	poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'worker' AND state = 'done'",
		"log_min_duration $ms: a worker flushes");
	skx_workers_done($node);
	my $log = slurp_file($node->logfile);
	my $flushes = () = $log =~ /flush of skipidx index "${t}_v" took \d+\.\d+ s/g;
	my $merges = () = $log
	  =~ /merge of skipidx index "${t}_v" took .*\n.*Segments: 2, documents: 1000, read: \d+ kB, written: \d+ kB, logged: [1-9]\d* kB/g;

	is($flushes, $told * operations($t, "operation = 'flush'"), "log_min_duration $ms: flushes");
	is($merges, $told, "log_min_duration $ms: merges");
}
$s->value('RESET skipidx.log_min_duration');

# A VACUUM by several processes may ask for one, for the end of the file, that it
# may not make shorter itself.
$t = table();
$s->value("CREATE INDEX ${t}_w ON $t USING skipidx (v) WITH (block_size = '8kB')");
settings('skipidx.max_workers' => 0);
for (1 .. 9)
{
	insert($t, 300);
	$s->value("SELECT skipidx_flush('${t}_v'), skipidx_flush('${t}_w')");
}
settings('skipidx.max_workers' => 2, 'min_parallel_index_scan_size' => 0);
like($s->value('SET max_parallel_maintenance_workers = 2;'
		  . " DELETE FROM $t WHERE id % 2 = 0; VACUUM (PARALLEL 2, INDEX_CLEANUP ON, VERBOSE) $t"),
	qr/launched 1 parallel vacuum worker/, 'a parallel VACUUM');
skx_workers_done($node);
same($t, 'parallel VACUUM');

# Nor may that VACUUM merge up to 16; the end of a file that a worker's merge makes
# free goes, too.
$t = table();
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '1GB')");
for my $k (1 .. 3)
{
	$s->value("INSERT INTO $t (v) SELECT array_to_tsvector(array_agg('x' || i || 'y' || j))"
		  . ' FROM generate_series(1, 10000) i, generate_series(1, 20) j GROUP BY i');
	$s->value("SELECT skipidx_flush('${t}_v'), pg_current_xact_id()");
}
$s->value("CREATE INDEX ${t}_w ON $t USING skipidx (v) WITH (block_size = '8kB', deletes_pct_allowed = 90)");

my $whole = $s->value("SELECT pg_relation_size('${t}_v')");

like($s->value("DELETE FROM $t WHERE id % 7 > 0; VACUUM (PARALLEL 2, INDEX_CLEANUP ON, VERBOSE) $t"),
	qr/launched 1 parallel vacuum worker/, 'a parallel VACUUM that leaves little');
poll("SELECT pg_relation_size('${t}_v') < $whole / 2", 'it makes the file shorter');
skx_workers_done($node);
same($t, 'a parallel VACUUM that leaves little');

# While that waits for VACUUM to end, the index is merged as always, and so are
# others; the end of the file goes after that.
$t = table();
$s->value("CREATE INDEX ${t}_w ON $t USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64MB');"
	  . " ALTER INDEX ${t}_v SET (pending_limit = '64MB', segments_per_tier = 2)");
settings('skipidx.max_workers' => 0);
insert($t, 60000);
$s->value("SELECT skipidx_flush('${t}_v'), skipidx_flush('${t}_w'), pg_current_xact_id()");
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '64kB')");
# so VACUUM flushes the other only
insert($t, 1500);
$s->value("SELECT skipidx_flush('${t}_v'); DELETE FROM $t WHERE id % 50 = 0");
settings('skipidx.max_workers' => 2);

my $pages = $s->value("SELECT pg_relation_size('${t}_v') / 8192");
my $vacuum = skx_session($node, 'd');
my $u = table();

$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('flush_read') . ')');
$vacuum->start("SET max_parallel_maintenance_workers = 2; SET skipidx.fault = 'flush_read:wait';"
	  . " VACUUM (PARALLEL 2, INDEX_CLEANUP ON, TRUNCATE OFF) $t");
poll("SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", 'VACUUM is held up');
poll("SELECT ($running) >= 1", 'a worker waits for it');
$s->value("ALTER INDEX ${u}_v SET (segments_per_tier = 2)");
for my $table ($t, $u)
{
	my $merge = "SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${table}_v'::regclass AND operation = 'merge'"
	  . ' AND state = \'done\' AND started > $$' . $s->value('SELECT now()') . '$$';

	insert($table, 1500) for 1 .. 3;
	$node->poll_query_until('d', "SELECT count(*) = 0 FROM skipidx_merges WHERE state = 'running'"
		  . " AND index = '${table}_v'::regclass");
	insert($table, 1500);
	poll($merge, 'merged meanwhile: ' . ($table eq $t ? 'that index' : 'another'));
}
is($s->value("SELECT pg_relation_size('${t}_v') / 8192 >= $pages"), 't', 'the file is as long meanwhile');
$s->value('SELECT pg_advisory_unlock_all()');
$vacuum->finish;
$vacuum->close;
poll("SELECT pg_relation_size('${t}_v') / 8192 < $pages", 'and shorter afterwards');
skx_workers_done($node);
same($t, 'merged meanwhile');

# So does one whose segments have no place to move to yet, since a transaction
# that uses the index may still read what is free.
$t = table();
$s->value("ALTER INDEX ${t}_v SET (pending_limit = '64MB')");
settings('skipidx.max_workers' => 0, 'skipidx.reuse_early' => 'off');
insert($t, 120000);

my $reader = skx_session($node, 'd');

$reader->value("SET enable_seqscan = off; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM $t WHERE v @@ 'all'");
$s->value("SELECT skipidx_flush('${t}_v')");
settings('skipidx.max_workers' => 2);
$s->value("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) $t");
$pages = $s->value("SELECT pg_relation_size('${t}_v') / 8192");
poll("SELECT ($running) = 1", 'a reader: a worker comes');
sleep 1;
is($s->value("SELECT pg_relation_size('${t}_v') / 8192 = $pages AND ($running) = 1"), 't', 'a reader: it waits');
$reader->value('COMMIT');
$reader->close;
poll("SELECT pg_relation_size('${t}_v') / 8192 < $pages / 2", 'a reader: shorter afterwards');
skx_workers_done($node);
same($t, 'a reader');
settings('skipidx.reuse_early' => 'auto');

# A worker that takes long: the list grows, inserts go on, slower, and find
# their way without it.
fault('flush_read:wait');
$t = table();
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('flush_read') . ')');
insert($t, 3000);
poll("SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", 'a worker is held up');
$watch = $s->watch;
insert($t, 20000);
cmp_ok($watch->(), '<', 20, 'inserts do not wait for it');
cmp_ok(stats($t, 'pending_bytes'), '>', 4 * 65536, 'the list grows');
$s->value('SELECT pg_advisory_unlock_all()');
fault('');
insert($t, 3000);
poll("SELECT pending_bytes < 4 * 65536 FROM skipidx_stats('${t}_v')", 'and shrinks again');
same($t, 'held up');

# Another process is in the middle of a flush, and has read what was there; or of
# a merge.  One worker waits for it, and does the rest.
$t = table();
settings('skipidx.max_workers' => 0);
insert($t, 1500);
settings('skipidx.max_workers' => 2);
$other = skx_session($node, 'd');
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('flush_built') . ')');
$other->start("SET skipidx.fault = 'flush_built:wait'; SELECT skipidx_flush('${t}_v')");
poll("SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", 'a flush is held up');
insert($t, 1100);
poll("SELECT ($running) = 1", 'a worker comes');

my $pid = "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'skipidx worker'";
my $first = $s->value($pid);

for (1 .. 20)
{
	insert($t, 50);
	sleep 0.1;
}
is($s->value($pid), $first, 'another flushes: no other worker comes meanwhile');
$s->value('SELECT pg_advisory_unlock_all()');
$other->finish;
poll("SELECT pending_bytes <= 65536 FROM skipidx_stats('${t}_v')", 'another flushes: what has come since is flushed, too');
skx_workers_done($node);
same($t, 'another flushes');
$s->value("ALTER INDEX ${t}_v SET (segments_per_tier = 2)");
settings('skipidx.max_workers' => 0);
for (1 .. 6)
{
	insert($t, 300);
	$s->value("SELECT skipidx_flush('${t}_v')");
}
settings('skipidx.max_workers' => 2);
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('merge_built') . ')');
$other->start("SET skipidx.fault = 'merge_built:wait'; SELECT skipidx_merge('${t}_v', 5)");
poll("SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", 'a merge is held up');
insert($t, 1500);
poll("SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'skipidx worker' AND query LIKE '%merge%'",
	'a worker comes to merge');
$first = $s->value("$pid AND query LIKE '%merge%'");
sleep 1;
is($s->value("$pid AND query LIKE '%merge%'"), $first, 'another merges: the worker stays');
$s->value('SELECT pg_advisory_unlock_all()');
$other->finish;
poll("SELECT count(*) < 4 FROM skipidx_segments('${t}_v') WHERE kind = 'segment'", 'another merges: the rest is merged, too');
skx_workers_done($node);
$other->close;
same($t, 'another merges');

# Kills at each end of an operation.
for my $point (qw(reserve_flipped flush_read live_written flush_built publish_locked
	publish_flipped merge_mapped merge_built))
{
	$t = table();
	settings('skipidx.max_workers' => 0);
	for (1 .. 8)
	{
		insert($t, 1000);
		$s->value("SELECT skipidx_flush('${t}_v')");
	}
	settings('skipidx.max_workers' => 2);
	fault("$point:kill");
	$s->start("INSERT INTO $t (v) SELECT ('all:1 word' || i % 97)::tsvector FROM generate_series(1, 4000) i");
	$s->finish;
	skx_logged($node, 0, qr/fault point $point: kill.*all server processes terminated/s);
	$s->close;
	skx_recovered($node);
	$node->safe_psql('postgres', 'ALTER DATABASE d RESET skipidx.fault');
	$s = skx_session($node, 'd');
	insert($t, 1500);
	skx_workers_done($node);
	cmp_ok(operations($t, "asked_by = 'worker' AND state = 'done'"), '>=', 1, "killed at $point: some do");
	same($t, "killed at $point");
}

# Autovacuum leaves merges to a worker.
$t = table();
for (1 .. 9)
{
	insert($t, 300);
	$s->value("SELECT skipidx_flush('${t}_v')");
}
$s->value("ALTER TABLE $t SET (autovacuum_enabled = on, autovacuum_vacuum_threshold = 1,"
	  . ' autovacuum_vacuum_scale_factor = 0); DELETE FROM ' . $t . ' WHERE id % 2 = 0');
settings(autovacuum => 'on');
poll("SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${t}_v'::regclass AND operation = 'merge'"
	  . " AND asked_by = 'worker' AND state = 'done'", 'autovacuum leaves merges to a worker');
settings(autovacuum => 'off');
same($t, 'autovacuum');

# One worker allowed: it merges after it has flushed.
settings('skipidx.max_workers' => 1);
$t = table();
for (1 .. 12)
{
	insert($t, 1300);
	skx_workers_done($node);
}
cmp_ok(operations($t, "operation = 'merge' AND asked_by = 'worker' AND state = 'done'"), '>=', 1,
	'a single worker merges, too');
same($t, 'one worker');

# No process to be had.
$s->close;
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
$s = skx_session($node, 'd');
$t = table();
insert($t, 3000);
cmp_ok(operations($t, "asked_by = 'insert' AND state = 'done'"), '>=', 1, 'no process: the insert flushes');
same($t, 'no process');

$s->close;
$node->stop;
done_testing();
