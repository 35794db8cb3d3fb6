# Flushes and merges by workers while something ends: the worker at a point of
# its work, the postmaster, a standby; while there is no place for one more;
# under a reader that stays; and for a table that a subscription fills.
#
# Long: every point that a worker passes; otherwise some of them.
#
# Holds: maint 5, 6; manifest 4, 6, 8; worker 2, 3, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_fault_lock skx_until skx_logged skx_reload skx_workers_done);
use Test::More;
use Time::HiRes qw(sleep);

my $all = $ENV{SKX_FAULTS_ALL};
my $node = skx_node('worker_faults', streaming => 'logical',
	conf => "skipidx.max_workers = 2\nwal_level = logical\nwal_consistency_checking = 'generic'\n");

skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $tables = 0;
my $running = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'skipidx worker'";
my $idle = "SELECT ($running) = 0";

sub settings
{
	my (%new) = @_;

	$s->value("ALTER SYSTEM SET $_ = '$new{$_}'") for sort keys %new;
	skx_reload($node, $s);
	return;
}

sub fault
{
	my ($fault) = @_;

	return $node->safe_psql('postgres', $fault ? "ALTER DATABASE d SET skipidx.fault = '$fault'"
		: 'ALTER DATABASE d RESET skipidx.fault');
}

sub poll
{
	my ($query, $what) = @_;

	return ok($node->poll_query_until('d', $query), $what);
}

# A table whose index has segments for a merge by the second flush; the next
# insert of 2,000 rows is the first that asks for a worker.
sub table
{
	my $name = 't' . ++$tables;

	settings('skipidx.max_workers' => 0);
	$s->value("CREATE TABLE $name (id serial PRIMARY KEY, v tsvector) WITH (autovacuum_enabled = off);"
		  . " CREATE INDEX ${name}_v ON $name USING skipidx (v)"
		  . " WITH (block_size = '8kB', pending_limit = '64kB', segments_per_tier = 3)");
	for (1 .. 2)
	{
		insert($name, 1000);
		$s->value("SELECT skipidx_flush('${name}_v')");
	}
	settings('skipidx.max_workers' => 2);
	return $name;
}

sub insert
{
	my ($table, $rows, $raw) = @_;
	my $sql = "INSERT INTO $table (v) SELECT ('all:1 word' || i % 97 || ':2 n' || i || ':3')::tsvector"
	  . " FROM generate_series(1, $rows) i";

	return $raw ? $s->raw($sql) : $s->value($sql);
}

sub operations
{
	my ($table, $where) = @_;

	return "SELECT count(*) > 0 FROM skipidx_merges WHERE index = '${table}_v'::regclass AND asked_by = 'worker' AND $where";
}

sub rows
{
	my ($session, $table, $query, $index) = @_;
	my ($on, $off) = $index ? qw(off on) : qw(on off);

	return $session->value("SET enable_seqscan = $on; SET enable_bitmapscan = $off;"
		  . " SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM $table WHERE v @@ '$query'");
}

sub same
{
	my ($table, $what, $session) = @_;

	$session //= $s;
	for my $query ('all', 'word3', '!word3', 'n5 | n7:*')
	{
		is(rows($session, $table, $query, 1), rows($session, $table, $query, 0), "$what: $query");
	}
	is($session->raw("SELECT skipidx_check('${table}_v', true)"), '', "$what: skipidx_check");
	return;
}

# Work goes on, and what was left behind is taken back.
sub goes_on
{
	my ($table, $what) = @_;

	insert($table, 2000);
	poll(operations($table, "state = 'done'"), "$what: a worker does its work again");
	skx_workers_done($node);
	$s->value('VACUUM (INDEX_CLEANUP ON) ' . $table);
	is($s->value("SELECT count(*) FROM skipidx_segments('${table}_v') WHERE kind IN ('flush', 'merge')"),
		0, "$what: nothing is left behind");
	same($table, $what);
	return;
}

# Nobody is to be told: the statement that found the list full has ended, or not.
sub wait_for_crash
{
	my ($what, $log) = @_;

	skx_logged($node, $log, qr/fault point $what: kill.*ready to accept connections/s);
	$s->close;
	fault('');
	$s = skx_session($node, 'd');
	return;
}

# The postmaster, at once; its processes end when they find that out, and
# before that no new one can start.
sub kill_postmaster
{
	my ($killed, $what) = @_;
	my @pids = split /\n/, $killed->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');

	push @pids, split(/\n/, slurp_file($killed->data_dir . '/postmaster.pid') =~ s/\n.*//sr);
	$killed->kill9;
	skx_until("$what: its processes to end", sub { !grep { kill 0, $_ } @pids });
	return;
}

# A worker of the table that waits at the point, until the session that is
# returned ends; one that pauses takes notice of nothing else.
sub held
{
	my ($point, $table, $action) = (@_, 'wait');
	my $holder = skx_session($node, 'd');
	my $lock = skx_fault_lock($point);
	my $log = -s $node->logfile;

	$holder->value("SELECT pg_advisory_lock(7564152, $lock)");
	fault("$point:$action");
	$s->close;
	$s = skx_session($node, 'd');
	$s->value("SET skipidx.fault = ''");
	insert($table, 2000);
	skx_logged($node, $log, qr/fault point $point: $action/);
	return $holder;
}

# ---- kills of a worker ----

my @points = qw(publish_noted root_flipped publish_carried);

@points = qw(reserve_flipped root_written root_flipped flush_stripe flush_read live_logged live_flushed
  live_written flush_built merge_mapped merge_built publish_noted publish_locked publish_carried
  publish_flipped tidy_done) if $all;
for my $point (@points)
{
	my $t = table();
	my $before = $s->value("SELECT count(*) FROM $t");
	my $log;

	# what a worker takes back when it begins is what a merge has left
	if ($point eq 'tidy_done')
	{
		my $other = skx_session($node, 'd');

		$other->raw("SET skipidx.fault = 'merge_built:error'; SELECT skipidx_merge('${t}_v', 1)");
		$other->close;
	}
	$log = -s $node->logfile;
	fault("$point:kill");

	# the worker may come to the point before the statement's end
	my $said = insert($t, 2000, 1);

	wait_for_crash($point, $log);
	# a commit whose answer was lost with the connection has taken place, or not
	my $rows = $s->value("SELECT count(*) FROM $t") - $before;

	ok($rows == 2000 || ($rows == 0 && $said ne ''), "killed at $point: rows")
	  or diag("$rows rows of 2000; the insert said: $said");
	same($t, "killed at $point, at once");
	goes_on($t, "killed at $point");
}

# ---- of the postmaster ----

for my $point ($all ? qw(flush_read flush_built merge_mapped merge_built publish_locked publish_flipped) : 'merge_built')
{
	my $t = table();
	my $holder = held($point, $t);

	kill_postmaster($node, "postmaster killed at $point");
	$_->close for $holder, $s;
	$node->start;
	fault('');
	$s = skx_session($node, 'd');
	is($s->value("SELECT count(*) FROM $t"), 4000, "postmaster killed at $point: rows");
	same($t, "postmaster killed at $point, at once");
	goes_on($t, "postmaster killed at $point");
}

# A worker in the midst of its work does not do the rest of it without one.
{
	my $t = table();

	settings('skipidx.log_min_duration' => 0);

	my $holder = held('merge_mapped', $t, 'pause');
	my $log = -s $node->logfile;

	sleep 0.2;
	kill_postmaster($node, 'killed during a merge');
	$_->close for $holder, $s;
	unlike(slurp_file($node->logfile, $log), qr/merge of skipidx index/, 'killed during a merge: it did not go on');
	$node->start;
	fault('');
	$s = skx_session($node, 'd');
	settings('skipidx.log_min_duration' => -1);
	is($s->value("SELECT count(*) FROM skipidx_segments('${t}_v') WHERE kind = 'segment'"), 3, 'killed during a merge: it did not end');
	same($t, 'killed during a merge, at once');
	goes_on($t, 'killed during a merge');
}

# ---- of a standby ----

$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('worker_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
for my $point ($all ? qw(flush_built merge_mapped merge_built publish_flipped) : 'publish_flipped')
{
	my $t = table();
	my $holder = held($point, $t);

	$node->wait_for_catchup($standby);
	kill_postmaster($standby, "standby killed at $point");
	$holder->close;
	fault('');
	poll(operations($t, "operation = 'merge' AND state = 'done'"), "standby killed at $point: the worker goes on");
	poll($idle, "standby killed at $point: workers end");
	$standby->start;
	$node->wait_for_catchup($standby);

	my $reader = skx_session($standby, 'd');

	same($t, "standby killed at $point", $reader);
	is(rows($reader, $t, 'all', 1), rows($s, $t, 'all', 0), "standby killed at $point: as the primary");
	is($reader->value($running), 0, "standby killed at $point: it has no worker");
	$reader->close;
}
$standby->stop;

# ---- no place for one more ----

my $busy = table();
my $free = table();
my $holder;

settings('skipidx.max_workers' => 1);
$holder = held('flush_built', $busy);
insert($free, 4000);
is($s->value(operations($free, 'true')), 'f', 'the only worker is busy: no other');
cmp_ok($s->value("SELECT count(*) FROM skipidx_merges WHERE index = '${free}_v'::regclass AND asked_by = 'insert' AND state = 'done'"),
	'>', 0, 'the only worker is busy: the insert flushes');
same($free, 'the only worker is busy');
$s->value("VACUUM (INDEX_CLEANUP ON) $free");
cmp_ok($s->value("SELECT count(*) FROM skipidx_segments('${free}_v') WHERE kind = 'segment'"), '<', 3,
	'the only worker is busy: VACUUM merges');
$holder->close;
fault('');
poll($idle, 'the only worker ends');
settings('skipidx.max_workers' => 2);
goes_on($free, 'the only worker was busy');

# ---- a reader that stays ----

my $t = table();
my $reader = skx_session($node, 'd');

$reader->value('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN ISOLATION LEVEL REPEATABLE READ;'
	  . " DECLARE c CURSOR FOR SELECT id FROM $t WHERE v @@ 'all'; FETCH 10 FROM c");
for (1 .. 6)
{
	insert($t, 2000);
	$node->poll_query_until('d', $idle);
}
poll(operations($t, "operation = 'merge' AND state = 'done'"), 'a reader: a worker merges');
$s->value("DELETE FROM $t WHERE id % 3 = 0; VACUUM (INDEX_CLEANUP ON) $t");
insert($t, 2000);
poll($idle, 'a reader: workers end');
is(scalar(split /\n/, $reader->value('FETCH ALL FROM c')), 1990, 'a reader: has its rows');
is($reader->value("SELECT count(*) FROM $t WHERE v @@ 'all'"), 2000, 'a reader: again');
$reader->value('COMMIT');
$reader->close;
same($t, 'a reader');

# ---- a subscription ----

my $subscriber = skx_node('worker_subscriber', conf => "skipidx.max_workers = 2\n");
my $r;

skx_database($subscriber, 'd');
$r = skx_session($subscriber, 'd');
$t = table();
insert($t, 10000);
$r->value("CREATE TABLE $t (id int PRIMARY KEY, v tsvector) WITH (autovacuum_enabled = off);"
	  . " CREATE INDEX ${t}_v ON $t USING skipidx (v)"
	  . " WITH (block_size = '8kB', pending_limit = '64kB', segments_per_tier = 3)");
$s->value("CREATE PUBLICATION p FOR TABLE $t");
$r->value('CREATE SUBSCRIPTION s CONNECTION $$' . $node->connstr('d') . '$$ PUBLICATION p');
$subscriber->wait_for_subscription_sync($node, 's', 'd') if $subscriber->can('wait_for_subscription_sync');
$subscriber->poll_query_until('d', "SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')");
is(rows($r, $t, 'all', 1), rows($s, $t, 'all', 0), 'a subscription: its initial copy');
same($t, 'a subscription, its initial copy', $r);
for (1 .. 4)
{
	insert($t, 2000);
	$s->value("UPDATE $t SET v = v || 'changed:9' WHERE id % 7 = $_; DELETE FROM $t WHERE id % 11 = $_");
	$node->wait_for_catchup('s');
	$subscriber->poll_query_until('d', $idle);
}
is(rows($r, $t, $_, 1), rows($s, $t, $_, 0), "a subscription, its stream: $_") for qw(all changed n77);
same($t, 'a subscription, its stream', $r);
cmp_ok($r->value("SELECT count(*) FROM skipidx_merges WHERE index = '${t}_v'::regclass AND asked_by = 'worker'"
		  . " AND state = 'done' AND operation = '$_'"),
	'>', 0, "a subscription: ${_}es by workers") for qw(flush merge);
$r->value('DROP SUBSCRIPTION s');

unlike(slurp_file($_->logfile), qr/PANIC|inconsistent page|TRAP/, 'nothing else in the log') for $node, $subscriber;
$_->close for $s, $r;
$_->stop for $node, $subscriber;
done_testing();
