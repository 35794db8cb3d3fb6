# Standbys, backups and old primaries: whoever has the WAL has the index.
#
# Standbys, one of them with hot_standby_feedback and one behind another, read
# while the primary flushes, merges and uses pages again; they are promoted in
# the middle of a merge; backups are taken there; pg_rewind brings back a
# primary that went on alone and used the same pages for something else.
#
# Long: more rounds, and every point where an operation can wait.
#
# Holds: blkio 3, 6, 7; manifest 4, 6, 8; pending 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_session skx_seed skx_until);
use Test::More;
use Time::HiRes qw(sleep time);

my $all = $ENV{SKX_FAULTS_ALL};
my $seed = skx_seed(530);

# Through shared buffers last: the others would find there what that one read.
my @methods = $all ? qw(buffered direct uring uring_direct shared_buffers) : qw(direct uring_direct shared_buffers);
my %found;
my $node = skx_node('primary', streaming => 1, start => 0, extra => ['--data-checksums'],
	conf => "wal_consistency_checking = 'generic'\nwal_keep_size = 2GB\nmax_wal_senders = 10\n"
	  . "wal_receiver_status_interval = 1\nmaintenance_work_mem = 16MB\nwork_mem = 16MB\n"
	  . "max_standby_streaming_delay = 100ms\nmax_standby_archive_delay = 100ms");

note "seed $seed";
srand($seed);
$node->enable_archiving;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

my $f = SkipidxFault->new($node, 'postgres', rows => 300, queries => 1, seed => $seed);
my $s = $f->{s};
my @all_nodes = ($node);

$s->value(<<'SQL');
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
-- rows that only come: no VACUUM and no pruned page disturbs their readers
CREATE TABLE grown (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX grown_v ON grown USING skipidx (v) WITH (block_size = '8kB');
CREATE FUNCTION grow(k int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO grown SELECT i, ('all:1 m' || i % 7 || ':2 w' || i || ':3')::tsvector
	FROM generate_series((SELECT 1 + coalesce(max(id), 0) FROM grown),
		(SELECT k + coalesce(max(id), 0) FROM grown)) i
$$;
SELECT grow(2000);
SQL

# Index against heap, in one snapshot; count and sum, or what is wrong.
sub answers
{
	my ($session, $table) = @_;
	my @got;

	for my $set ('enable_seqscan = on; SET enable_bitmapscan = off; SET enable_indexscan = off',
		map { my $m = $_; map { "enable_seqscan = off; SET enable_bitmapscan = $_; SET enable_indexscan = "
				. ($_ eq 'on' ? 'off' : 'on') . "; SET skipidx.io_method = $m" } qw(on off) } @methods)
	{
		push @got, $session->raw("SET $set;\nSELECT skipidx_cache_reset() \\g /dev/null\n" . join "\n", map {
				"SELECT count(*), sum(id::int8), count(DISTINCT id) FROM $table WHERE v @@ '$_';"
			} qw(!nosuchword ba ba|ce&!di b:* big1&big800 all<->m3 !ba));
	}
	my @other = grep { $_ ne $got[0] } @got;

	return @other ? "differs:\n$got[0]\nbut\n$other[0]" : $got[0];
}

# Adds up what sessions have read by each method.
sub note_found
{
	my ($session) = @_;
	my $role = $session->value('SELECT pg_is_in_recovery()') eq 't' ? 'standby' : 'primary';

	for (split /\n/, $session->value("SELECT method, pages_read, resident FROM skipidx_io_methods() WHERE scope = 'session'"))
	{
		my ($method, $file, $resident) = split /\|/;

		$found{$role}{$method}{file} += $file;
		$found{$role}{$method}{resident} += $resident;
	}
	return;
}

# A server gives the same answers by index and by heap, and if another is
# given, the same as that one; and its index is whole.
sub same
{
	my ($on, $when, $as) = @_;
	my $session = skx_session($on, 'postgres');
	my $wanted;

	$wanted = skx_session($as, 'postgres') if $as;
	for my $table (qw(docs grown))
	{
		my $got = answers($session, $table);

		unlike($got, qr/differs|ERROR/, "$when: $table, index and heap");
		is($got, answers($wanted, $table), "$when: $table, both servers") if $as;
		is($session->raw("SELECT skipidx_check('${table}_v', true)"), '', "$when: $table, skipidx_check");
	}
	note_found($session);
	$session->close;
	$wanted->close if $as;
	return;
}

# One round of everything on a primary; frees pages and uses others again.
sub round
{
	my ($session) = @_;

	$session->value("SELECT drop_some(60), add(50, 'small'), add(1, 'large'), grow(150)");
	for my $table (qw(docs grown))
	{
		$session->value("SELECT skipidx_flush('${table}_v') \\g /dev/null\n");
		$session->value("SELECT skipidx_merge('${table}_v', 1) \\g /dev/null\n");
	}
	$session->value('VACUUM (INDEX_CLEANUP ON) docs') if rand() < 0.7;
	$session->value("SELECT add(20, 'small'), grow(10), drop_some(15)");
	return;
}

sub standby
{
	my ($name, $of, $backup, $conf) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$standby->init_from_backup($of, $backup, has_streaming => 1);
	$standby->append_conf('postgresql.conf', "archive_mode = off\nprimary_slot_name = ''\n" . ($conf // ''));
	$standby->start;
	push @all_nodes, $standby;
	return $standby;
}

sub catchup
{
	my ($from, @to) = @_;

	$from->wait_for_catchup($_, 'replay', $from->lsn('insert')) for @to;
	return;
}

round($s) for 1 .. 3;
$node->backup('base');
my $bare = standby('bare', $node, 'base', 'hot_standby_feedback = off');
my $fed = standby('fed', $node, 'base', 'hot_standby_feedback = on');

$bare->backup('second');

# It cannot keep all pages where replay put them.
my $cascade = standby('cascade', $bare, 'second', "hot_standby_feedback = off\nshared_buffers = 1MB");
my @standbys = ($bare, $fed, $cascade);

sub catchup_all
{
	catchup($node, $bare, $fed);
	$bare->wait_for_catchup($cascade, 'replay', $bare->lsn('replay'));
	return;
}

# ---- a snapshot on a standby whose pages are used again ----

# The conflict of the bare standby can come of nothing but pages used again:
# the table only grows.
sub standby_cursor
{
	my ($on, $method) = @_;

	# a conflict can come before it has begun
	for (1 .. 5)
	{
		my $cursor = eval { open_cursor($on, $method) };

		return $cursor if $cursor;
	}
	return open_cursor($on, $method);
}

sub open_cursor
{
	my ($on, $method) = @_;
	my $r = skx_session($on, 'postgres');

	$r->value('SET enable_seqscan = off; SET enable_bitmapscan = off;'
		  . " SET skipidx.io_method = $method; BEGIN ISOLATION LEVEL REPEATABLE READ;"
		  . " DECLARE c CURSOR FOR SELECT id FROM grown WHERE v @@ 'all'");
	return { s => $r,
		rows => $r->value('SELECT max(id) FROM grown'),
		got => [ split /\n/, $r->value('FETCH 10 FROM c') ] };
}

sub grow_round
{
	$s->value('SELECT grow(300)');
	$s->value("SELECT skipidx_flush('grown_v') \\g /dev/null\n");
	$s->value("SELECT skipidx_merge('grown_v', 1) \\g /dev/null\n");
	return;
}

sub conflicts
{
	return $bare->safe_psql('postgres', "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'");
}

my $before = conflicts();
my $old = standby_cursor($bare, 'uring_direct');

for my $i (1 .. 12)
{
	grow_round();
	catchup($node, $bare);
	last if conflicts() > $before;
}
cmp_ok(conflicts(), '>', $before, 'bare: pages used again conflict with its snapshot');
like($old->{s}->raw('FETCH ALL FROM c'), qr/40001.*conflict with recovery|terminating connection due to conflict|session ended/s,
	'bare: the query is cancelled');
$old->{s}->close;
catchup_all();
same($bare, 'after the conflict', $node);

my $kept = standby_cursor($fed, 'uring_direct');

ok($node->poll_query_until('postgres',
		"SELECT backend_xmin IS NOT NULL FROM pg_stat_replication WHERE application_name = 'fed'"),
	'fed: the primary knows its snapshot');
for my $i (1 .. 6)
{
	grow_round();
	catchup($node, $fed);
	push @{ $kept->{got} }, split /\n/, $kept->{s}->value('FETCH 50 FROM c');
}
push @{ $kept->{got} }, split /\n/, $kept->{s}->value('FETCH ALL FROM c');
is(join(' ', sort { $a <=> $b } @{ $kept->{got} }), join(' ', 1 .. $kept->{rows}), 'fed: the rows of its snapshot');
is($fed->safe_psql('postgres', "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'"), 0,
	'fed: no conflict');
$kept->{s}->close;

# Until the primary knows that no snapshot needs what was freed so far.
sub nothing_waits
{
	$s->value('INSERT INTO other VALUES (0)');
	ok($node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM skipidx_segments('grown_v') WHERE waiting_for IS NOT NULL"), 'nobody needs what was freed');
	return;
}

# ---- a transaction that commits in the middle of a flip ----

# Its commit is in the WAL before the flip: a snapshot that a standby takes
# between the two sees the transaction, and reads the old root.  The pages that
# the flip frees must be kept, or conflict, for that snapshot as well.
{
	my $victim = $f->session;

	$bare->safe_psql('postgres', 'SELECT pg_stat_reset()');
	$s->value('CREATE TABLE IF NOT EXISTS other (i int)');
	grow_round() for 1 .. 2;
	$s->value('SELECT grow(300)');
	$s->value("SELECT skipidx_flush('grown_v') \\g /dev/null\n");
	nothing_waits();
	$f->hold($s, 'root_written');
	$f->mark;
	$f->arm($victim, 'root_written', 'pause', 2);
	$victim->start("SELECT skipidx_merge('grown_v', 1) \\g /dev/null\n");
	skx_until('a merge to pause in the middle of its flip', sub { $f->reached('root_written', 'pause') == 1 });
	$s->value('INSERT INTO other VALUES (1)') for 1 .. 3;
	$node->wait_for_catchup($bare, 'replay', $node->lsn('flush'));
	my $between = standby_cursor($bare, 'shared_buffers');

	$f->release($s, 'root_written');
	is($victim->finish, '', 'the merge ends');
	$victim->close;

	# One transaction takes all that this flip has freed, and nothing that is
	# freed from now on.
	nothing_waits();
	my $said = '';

	$s->value('BEGIN');
	for (1 .. 12)
	{
		grow_round();
		catchup($node, $bare);
		$said = $between->{s}->raw('FETCH 10 FROM c');
		last if $said !~ /^[0-9\n]*$/;
	}
	$s->value('COMMIT');
	$said = $between->{s}->raw('FETCH ALL FROM c') if $said =~ /^[0-9\n]*$/;
	like($said, qr/40001.*conflict with recovery/s, 'bare: the snapshot in between conflicts');
	$between->{s}->close;
	same($bare, 'after the flip', $node);
}

# ---- standbys reading throughout ----

my %wrong;

# Conflicts may leave one of them little to see: some more rounds then.
for my $i (1 .. ($all ? 25 : 16))
{
	last if !$all && $i > 4 && !grep { ($wrong{ $_->name }{looks} // 0) <= 5 } @standbys;
	my @readers = map { { on => $_, s => skx_session($_, 'postgres') } } @standbys;

	for my $r (@readers)
	{
		# in one snapshot, again and again
		$r->{s}->start(join "\n", map {
				my $mode = $_ % 2 ? 'bitmap' : 'plain';

				"SET skipidx.io_method = $methods[$_ / 2 % @methods];\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n"
				  . "SELECT CASE WHEN counts('$mode') <> counts('seq') THEN 'differs' ELSE 'same' END;\nCOMMIT;"
			} 1 .. 12);
	}
	round($s);
	for my $r (@readers)
	{
		my $said = $r->{s}->finish;
		my $name = $r->{on}->name;

		$wrong{$name}{looks} += () = $said =~ /^same$/mg;
		$wrong{$name}{differs}++ if $said =~ /differs/;
		$wrong{$name}{conflict}++ if $said =~ /40001|conflict with recovery/;
		$wrong{$name}{error} .= $said if $said =~ /ERROR:  (?!40001|25P02)/;
		$r->{s}->close;
	}
	catchup_all();
	next if $all ? $i % 4 : $i > 4;
	same($_, 'round ' . "$i, " . $_->name, $node) for $all || $i == 4 ? @standbys : $standbys[ $i - 1 ];
}
for my $standby (@standbys)
{
	my $w = $wrong{ $standby->name } // {};

	is($w->{differs} // 0, 0, $standby->name . ': always the rows of its snapshot');
	is($w->{error} // '', '', $standby->name . ': no error but conflicts');
	cmp_ok($w->{looks} // 0, '>', 5, $standby->name . ': was read');
}

# A standby never writes.
for my $function ("skipidx_flush('docs_v')", "skipidx_merge('docs_v')")
{
	my (undef, undef, $err) = $bare->psql('postgres', "SELECT $function");

	like($err, qr/recovery|read-only/, "standby: $function is refused");
}

# ---- backups in the middle of a merge ----

# Leaves an operation waiting at a point; returns its session.
sub leave_waiting
{
	my ($point, $what) = @_;
	my $victim = $f->session;

	$victim->value('SET statement_timeout = 0');
	$s->value("SELECT drop_some(30), add(60, 'small')");
	if ($what eq 'merge')
	{
		$s->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n");
		$s->value("SELECT drop_some(20), add(30, 'small')");
	}
	$f->hold($s, $point);
	$f->arm($victim, $point, 'wait');
	$victim->start("SELECT skipidx_$what('docs_v')");
	ok($f->waits($s, $point), "a $what waits at $point");
	return $victim;
}

sub restored
{
	my ($name, $target, $wanted) = @_;
	my $restored = PostgreSQL::Test::Cluster->new($name);

	$restored->init_from_backup($node, 'middle', has_restoring => 1);
	$restored->append_conf('postgresql.conf', "archive_mode = off\n"
		  . "recovery_target_name = '$target'\nrecovery_target_action = promote");
	$restored->start;
	push @all_nodes, $restored;
	ok($restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()'), "$name: restored");
	same($restored, $name);
	is($restored->safe_psql('postgres', "SELECT counts('plain')"), $wanted, "$name: the rows of its time");
	my $session = skx_session($restored, 'postgres');

	round($session) for 1 .. 3;
	$session->value('VACUUM (INDEX_CLEANUP ON) docs');
	$session->close;
	same($restored, "$name, changed");
	$restored->stop;
	return;
}

{
	my $victim = leave_waiting('merge_built', 'merge');

	# Taken while pages of the new segment are in the file, which nothing names
	$node->backup('middle');
	my $counted = $s->value("SELECT counts('seq')");

	$s->value("SELECT pg_create_restore_point('unpublished')");
	$f->release($s, 'merge_built');
	unlike($victim->finish, qr/ERROR/, 'the merge ends');
	$victim->close;
	$s->value("SELECT drop_some(40), add(40, 'small')");
	my $later = $s->value("SELECT counts('seq')");

	$s->value("SELECT pg_create_restore_point('published')");
	round($s) for 1 .. 2;
	my $end = $s->value("SELECT counts('seq')");

	$s->value("SELECT pg_create_restore_point('reused')");
	my $segment = $s->value('SELECT pg_walfile_name(pg_current_wal_lsn())');

	$s->value('SELECT pg_switch_wal()');
	ok($node->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver"), 'archived');
	restored('pitr_unpublished', 'unpublished', $counted);
	restored('pitr_published', 'published', $later);
	restored('pitr_reused', 'reused', $end) if $all;
}

# ---- promoted in the middle ----

my @points = (
	[ 'merge_built', 'merge' ],
	$all
	? ([ 'reserve_flipped', 'merge' ], [ 'merge_mapped', 'merge' ], [ 'publish_carried', 'merge' ],
		[ 'publish_flipped', 'merge' ], [ 'flush_read', 'flush' ], [ 'flush_built', 'flush' ],
		[ 'publish_flipped', 'flush' ])
	: ());
my $last = pop @points;

for my $case (@points)
{
	my $standby = standby("promoted_$case->[1]_$case->[0]", $node, 'base');
	my $victim = leave_waiting(@$case);

	catchup($node, $standby);
	$standby->promote;
	same($standby, "promoted at $case->[1] $case->[0]");
	my $session = skx_session($standby, 'postgres');

	round($session) for 1 .. 3;
	$session->close;
	same($standby, "promoted at $case->[1] $case->[0], changed");
	$standby->stop;
	$f->release($s, $case->[0]);
	$victim->finish;
	$victim->close;
}

# The primary stays up alone: both go on from the same state, and use the
# same free pages for different things.
my $victim = leave_waiting(@$last);

catchup_all();
$bare->promote;
same($bare, "bare, promoted at $last->[0]");
$f->release($s, $last->[0]);
unlike($victim->finish, qr/ERROR/, 'the merge ends on the old primary');
$victim->close;

my $t = skx_session($bare, 'postgres');

# ids must not be the same
$t->value("SELECT setval('ids', 5000000)");
for my $i (1 .. ($all ? 10 : 4))
{
	round($s);
	round($t);
}
same($node, 'the old primary, alone');
same($bare, 'the new primary');
isnt($s->value("SELECT counts('seq')"), $t->value("SELECT counts('seq')"), 'they differ');

# The standby behind the promoted one follows it.
$bare->wait_for_catchup($cascade, 'replay', $bare->lsn('insert'));
same($cascade, 'cascade, behind the promoted', $bare);

# ---- the old primary comes back ----

$s->close;
$fed->stop;
$node->stop;
$t->value('CHECKPOINT');
copy($node->data_dir . '/postgresql.conf', $node->basedir . '/postgresql.conf.kept');
command_ok([ 'pg_rewind', '--target-pgdata', $node->data_dir,
		'--source-server', $bare->connstr('postgres'), '--no-sync' ], 'pg_rewind');
copy($node->basedir . '/postgresql.conf.kept', $node->data_dir . '/postgresql.conf');
$node->enable_streaming($bare);
$node->set_standby_mode();
$node->start;
for my $i (1 .. 3)
{
	$bare->wait_for_catchup($node, 'replay', $bare->lsn('insert'));
	same($node, "rewound, $i", $bare);
	round($t);
}
$bare->wait_for_catchup($node, 'replay', $bare->lsn('insert'));
my $wanted = $t->value("SELECT counts('seq')");

$t->close;
$bare->stop('immediate');
$cascade->stop;
$node->promote;
is($node->safe_psql('postgres', "SELECT counts('plain')"), $wanted, 'rewound and promoted: the same rows');
$t = skx_session($node, 'postgres');
round($t) for 1 .. 3;
same($node, 'rewound, promoted and changed');
$t->close;
$bare->start;
$_->stop for grep { defined $_->{_pid} } $node, $bare;

for my $role (qw(primary standby))
{
	for my $method (grep { $_ ne 'shared_buffers' } @methods)
	{
		my $n = $found{$role}{$method};

		note "$role, $method: file $n->{file}, resident $n->{resident}";
		# Four fifths to spare: which page is where depends on who was first.
		cmp_ok($n->{file}, '>', 25, "$role: pages by $method from the file");
		cmp_ok($n->{resident}, '>', 15, "$role: pages by $method from shared buffers");
	}
}
for my $one (@all_nodes)
{
	next if defined $one->{_pid};
	command_ok([ 'pg_checksums', '--check', '-D', $one->data_dir ], 'pg_checksums: ' . $one->name);
	unlike(slurp_file($one->logfile), qr/inconsistent page|PANIC|XX00[12]/, 'replay was consistent: ' . $one->name);
}
done_testing();
