# CREATE INDEX with parallel workers that does not come to its end, or has other
# workers than it wanted: errors, cancels and kills in each step, workers that are
# missing or late.  Nothing stays behind, and the next build works.
#
# Long, when named: every way to stop it in every step.
#
# Holds: am 9; build 3, 4, 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTeam;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;
use Time::HiRes qw(sleep time);

my $all = $ENV{SKX_FAULTS_ALL};

skx_seed(115);

# Shared memory as files of the cluster, so that one can see what is left.
my $node = skx_node('stopped', conf => $SkipidxTeam::conf . "dynamic_shared_memory_type = mmap\nskipidx.cache_size = 1MB\n");

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

my $team = SkipidxTeam->new($node, 'postgres');
my $f = $team->fault;
my $workers = 2;

# Each row takes long enough for workers to come before the scan ends.
$f->{s}->value(<<"SQL");
CREATE FUNCTION slowly(v tsvector) RETURNS tsvector IMMUTABLE PARALLEL SAFE
LANGUAGE plpgsql AS \$\$ BEGIN PERFORM pg_sleep(0.0001); RETURN v; END \$\$;
CREATE FUNCTION fails(v tsvector, id int) RETURNS tsvector IMMUTABLE PARALLEL SAFE
LANGUAGE plpgsql AS \$\$
BEGIN
	PERFORM pg_sleep(0.0001);
	IF id > 100 AND (current_setting('t.leader')::int = pg_backend_pid()) = current_setting('t.in_leader')::bool THEN
		RETURN (1 / (id - id))::text;
	END IF;
	RETURN v;
END \$\$;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off, parallel_workers = $workers);
INSERT INTO docs SELECT i, (SELECT string_agg('w' || (random() * 3000 + i * 0)::int || ':' || p, ' ')::tsvector
	FROM generate_series(1, 100) p) FROM generate_series(1, 900) i;
CHECKPOINT;
SQL

sub session
{
	my $s = $f->session;

	$s->value("SET max_parallel_maintenance_workers = $workers; SET maintenance_work_mem = '1MB';"
		  . ' SET t.leader = ' . $s->backend);
	return $s;
}

# ---- what is left ----

sub files { my @files = glob($node->data_dir . "/$_[0]/*"); return scalar @files; }
sub temporary { return files('base/pgsql_tmp'); }

# The server's statistics grow by whole megabytes.
sub shared
{
	my @files = grep { (-s $_ // 0) % 1048576 } glob($node->data_dir . '/pg_dynshmem/*');

	return scalar @files;
}

# Files of relations that no catalogue knows.
sub orphans
{
	return $f->{s}->value(<<'SQL');
CHECKPOINT;
SELECT count(*) FROM pg_ls_dir('base/' || (SELECT oid FROM pg_database WHERE datname = current_database())) file
WHERE file ~ '^[0-9]+' AND substring(file, '^[0-9]+')::oid NOT IN (SELECT pg_relation_filenode(oid) FROM pg_class
	WHERE pg_relation_filenode(oid) IS NOT NULL);
SQL
}

# What the index's cache takes, it keeps.
$f->{s}->value("CREATE INDEX docs_v ON docs USING skipidx (v); SELECT skipidx_check('docs_v', true) \\g /dev/null\n DROP INDEX docs_v");
my $shared = shared();
my $orphans = orphans();

# Polls, because whoever is stopped needs a moment to end.
sub soon
{
	my ($what) = @_;
	my $until = time + 60;

	sleep 0.005 until $what->() || time > $until;
	return $what->();
}

# A session that has had workers keeps a segment until it ends: `open` of them.
sub nothing_left
{
	my ($name, $crashed, $open) = @_;

	ok(soon(sub { !temporary() }), "$name: no temporary file");
	ok(soon(sub { shared() == $shared + ($open // 0) }), "$name: no shared memory");
	is($f->{s}->value("SELECT count(*) FROM pg_class WHERE relname = 'docs_v'"), 0, "$name: no index");
	is($f->{s}->value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'"), 0, "$name: no worker")
	  unless $crashed;

	# After a crash the server leaves files of relations that were not committed.
	$orphans = orphans() if $crashed;
	is(orphans(), $orphans, "$name: no file of a relation");
	return;
}

# The next build works, with workers.
sub again
{
	my ($name) = @_;
	my $s = session();
	my ($said, $took) = $team->run($s, $workers, 'CREATE INDEX docs_v ON docs USING skipidx (slowly(v))');

	is($said, '', "$name: built again");
	cmp_ok($took->{shares}, '>=', 1, "$name: with workers");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
	$s->value('DROP INDEX docs_v');
	$s->close;
	ok(soon(sub { shared() == $shared }), "$name: shared memory is given back");
	return;
}

again('at first');

# ---- stopped in each step ----

sub pids
{
	my ($leader) = @_;

	return split /\n/, $f->{s}->value("SELECT pid FROM pg_stat_activity WHERE leader_pid = $leader AND pid <> leader_pid");
}

# Ends the statement of a session whose processes wait; how the server says so.
my %ways = (
	cancel => [ sub { $f->{s}->value("SELECT pg_cancel_backend($_[0])") }, qr/57014/ ],
	terminate => [ sub { $f->{s}->value("SELECT pg_terminate_backend($_[0])") }, qr/57P01|session ended/ ],
	cancel_worker => [ sub { $f->{s}->value("SELECT pg_cancel_backend($_[1])") }, qr/57014/ ],
	terminate_worker => [ sub { $f->{s}->value("SELECT pg_terminate_backend($_[1])") }, qr/57P01|lost connection|failed to init/ ],
	kill => [ sub { kill 'KILL', $_[0] }, qr/session ended/ ],
	kill_worker => [ sub { kill 'KILL', $_[1] }, qr/57P02|session ended/ ]);

# Which processes wait at a step: the least number of them.
my @steps = (
	[ team_come => $workers ], [ team_shared => $workers + 1 ], [ team_ordered => 1 ], [ team_task => 1 ],
	[ team_task_encoded => 1 ], [ team_encoded => $workers + 1 ], [ build_segment_written => 1 ]);

# What is done in which step when not all is done in each.
my %short = (
	team_come => [qw(cancel terminate_worker)],
	team_shared => [qw(kill_worker terminate)],
	team_ordered => [qw(terminate_worker cancel)],
	team_task => [qw(cancel cancel_worker)],
	team_task_encoded => [qw(terminate terminate_worker)],
	team_encoded => [qw(cancel_worker kill)],
	build_segment_written => [qw(terminate)]);

sub at_point
{
	my ($point) = @_;

	return $f->{s}->value('SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = \'advisory\''
		  . ' AND objid = ' . $f->point($point)->{number});
}

sub stop_at
{
	my ($point, $least, $way) = @_;
	my $name = "$point, $way";
	my ($how, $expected) = @{ $ways{$way} };
	my $victim = session();

	$f->mark;
	$f->hold($f->{s}, $point);
	$f->arm($victim, $point, 'wait');
	$victim->start('CREATE INDEX docs_v ON docs USING skipidx (slowly(v))');
	ok(soon(sub { at_point($point) >= $least }), "$name: reached");
	my ($worker) = pids($victim->backend);

	if (!$worker)
	{
		# the last worker can be gone when the leader is at the end
		is($point, 'build_segment_written', "$name: no worker is left");
		$worker = 0;
	}
	$how->($victim->backend, $worker) if $worker || $way !~ /worker/;
	my $said = $victim->finish if $worker || $way !~ /worker/;

	like($said, $expected, "$name: stopped");
	$victim->close;
	if ($way =~ /kill/)
	{
		$f->recover;
		$f->{s}->value("CREATE INDEX docs_v ON docs USING skipidx (v); SELECT skipidx_check('docs_v', true) \\g /dev/null\n DROP INDEX docs_v");
		$shared = shared();
		nothing_left($name, 1);
	}
	else
	{
		$f->release($f->{s}, $point);
		nothing_left($name, 0);
	}
	return;
}

for my $step (@steps)
{
	my ($point, $least) = @$step;
	my $s = session();

	$f->mark;
	$f->arm($s, $point, 'error');
	like($s->raw('CREATE INDEX docs_v ON docs USING skipidx (slowly(v))'), qr/told to fail/, "$point, error: raised");
	cmp_ok($f->reached($point, 'error'), '>=', 1, "$point, error: reached");
	nothing_left("$point, error", 0, 1);
	$s->close;
	stop_at($point, $least, $_) for $all ? grep { $point ne 'build_segment_written' || !/worker/ } sort keys %ways : @{ $short{$point} };
	again($point);
}

# ---- errors of other kinds ----

for my $in (qw(leader workers))
{
	my $s = session();

	$s->value('SET t.in_leader = ' . ($in eq 'leader' ? 'true' : 'false'));
	like($s->raw('CREATE INDEX docs_v ON docs USING skipidx (fails(v, id))'), qr/22012/, "row that fails, $in: raised");
	nothing_left("row that fails, $in", 0, 1);
	like($s->raw('CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (fails(v, id))'), qr/22012/,
		"row that fails, $in, concurrently: raised");
	is($s->value("SELECT indisvalid FROM pg_index WHERE indexrelid = 'docs_v'::regclass"), 'f', "row that fails, $in: invalid");
	$s->value('DROP INDEX docs_v');
	nothing_left("row that fails, $in, concurrently", 0, 1);
	$s->close;
}
{
	my $s = session();

	# a build that is through sooner than its time waits for the end of that
	$f->hold($f->{s}, 'build_segment_written');
	$f->arm($s, 'build_segment_written', 'wait');
	for my $set ([ 'temp_file_limit = \'64kB\'', qr/53400/ ], [ 'statement_timeout = \'40ms\'', qr/57014/ ])
	{
		$s->value("SET $set->[0]");
		like($s->raw('CREATE INDEX docs_v ON docs USING skipidx (slowly(v))'), $set->[1], "$set->[0]: raised");
		$s->value('RESET temp_file_limit; RESET statement_timeout');
		nothing_left($set->[0], 0, 1);
	}
	$f->release($f->{s}, 'build_segment_written');
	$s->value('RESET skipidx.fault');

	# in a transaction that goes on
	$s->value('BEGIN; SAVEPOINT a; CREATE INDEX docs_v ON docs USING skipidx (slowly(v)); ROLLBACK TO a');
	nothing_left('rolled back to a savepoint', 0, 1);
	$s->value("SAVEPOINT b; SET LOCAL skipidx.fault = 'team_encoded:error'");
	like($s->raw('CREATE INDEX docs_v ON docs USING skipidx (slowly(v))'), qr/told to fail/, 'an error after a savepoint');
	$s->value("ROLLBACK TO b; CREATE INDEX docs_v ON docs USING skipidx (slowly(v))");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'built after all');
	$s->value('ROLLBACK');
	nothing_left('rolled back', 0, 1);
	$s->close;
}
again('after errors');

# ---- workers that are missing ----

for my $have (0, 1)
{
	my $s = session();

	$s->value("SET max_parallel_workers = $have");
	my ($said, $took) = $team->run($s, $workers, 'CREATE INDEX docs_v ON docs USING skipidx (slowly(v))');

	is($said, '', "$have of $workers workers: built");
	is($took->{shares}, $have, "$have of $workers workers: came");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$have of $workers workers: skipidx_check");
	$s->value('DROP INDEX docs_v');
	is($s->raw('CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v)'), '', "$have of $workers workers: concurrently");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$have of $workers workers: skipidx_check, concurrently");
	$s->value('DROP INDEX docs_v');
	$s->close;
	nothing_left("$have of $workers workers", 0);
}

# ---- workers that are late ----

# Nobody can connect, workers neither, while the catalogue of databases is locked.
# Two segments: 1 MB of memory is for 262144 rows.
my $door = $f->session;

$f->{s}->value('CREATE TABLE two (v tsvector) WITH (parallel_workers = 2);'
	  . " INSERT INTO two SELECT 'a b'::tsvector FROM generate_series(1, 300000)");

sub late
{
	my ($point, $nth, $table, $segments) = @_;
	my $name = "late, $table, $point $nth";
	my $s = session();

	$f->hold($f->{s}, $point);
	$door->value('BEGIN; LOCK TABLE pg_database IN ACCESS EXCLUSIVE MODE');
	$f->arm($s, $point, 'wait', $nth);
	$s->start("CREATE INDEX docs_v ON $table USING skipidx (v)");
	ok(soon(sub { at_point($point) == 1 }), "$name: the leader is there");
	$door->value('COMMIT');
	# after the last segment they come and go
	ok(soon(sub { $team->waiting($s) + at_point($point) - 1 == $workers }), "$name: workers have come")
	  unless $point eq 'build_segment_written' && $nth == $segments;
	$f->release($f->{s}, $point);
	is($s->finish, '', "$name: built");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
	is($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment'"), $segments, "$name: segments");
	$s->value('DROP INDEX docs_v');
	$s->close;
	nothing_left($name, 0);
	return;
}

late($_, 1, 'docs', 1) for qw(team_launched team_shared team_ordered team_task team_encoded build_segment_written);
late('team_ordered', $_, 'two', 2) for 1, 2;
late('team_encoded', $_, 'two', 2) for 1, 2;
late('build_segment_written', $_, 'two', 2) for 1, 2;
$door->close;

# A worker that dies before it has joined: an error, and no wait for ever.
{
	my $s = session();

	$f->hold($f->{s}, 'team_come');
	$f->arm($s, 'team_come', 'wait');
	$s->start('CREATE INDEX docs_v ON docs USING skipidx (v)');
	ok(soon(sub { at_point('team_come') == $workers }), 'workers wait before they join');
	$f->{s}->value("SELECT pg_terminate_backend($_)") for pids($s->backend);
	like($s->finish, qr/57P01|lost connection|failed to init/, 'they are terminated');
	$f->release($f->{s}, 'team_come');
	$s->close;
	nothing_left('terminated before', 0);
}

unlike(slurp_file($node->logfile), qr/PANIC:|TRAP:|leak/, 'nothing else in the log');
$f->{s}->close;
$node->stop;
done_testing();
