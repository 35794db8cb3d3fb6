# A backend is killed, fails or is cancelled at every named point of the
# storage protocol: no committed row is lost, none is invented, the index is
# whole, and what was stopped can be done again.
#
# A kill takes the server through crash recovery.  Memory is lost, WAL that was
# not written with it, and what the operating system has been given is kept;
# so fsync may be off here.  What only a failing machine could lose is the
# matter of 530_replica.pl, where a standby has nothing but the WAL.
#
# Long: every case with every action; otherwise each point with
# one action.
#
# Holds: blkio 6, 7, 8; fault 3; maint 5; manifest 4, 5, 6, 8; pending 1, 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;
use Time::HiRes qw(sleep);

my $all = $ENV{SKX_FAULTS_ALL};
my $seed = skx_seed(510);
my $node = skx_node('faults', extra => ['--data-checksums'],
	conf => "skipidx.max_workers = 0\nwal_consistency_checking = 'generic'\nwork_mem = 16MB\n"
	  . "maintenance_work_mem = 16MB\nshared_buffers = 32MB\nwal_buffers = 32MB");

note "seed $seed";
srand($seed);
$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

my $f = SkipidxFault->new($node, 'postgres', rows => 500, queries => 2, seed => $seed);
my @actions = qw(kill error cancel);
my (%hit, $cases);
my $lost = 0;

$f->{s}->value("CREATE INDEX docs_v ON docs USING skipidx (v, id) WITH (block_size = '8kB')");

# ---- the operations, and what each must have done when nothing stopped it ----

# Rows of several sessions, so that several stripes have some.
sub insert_from
{
	my ($sessions, $k, $what) = @_;
	my @s = map { $f->session } 1 .. $sessions;

	$_->value("SELECT add($k, '$what')") for @s;
	$_->close for @s;
	return;
}

# A second segment, deletes in segments, pending rows, some of them long, some
# of them dead.
sub prepare
{
	my $s = $f->{s};
	my $rows = $s->value('SELECT count(*) FROM docs');

	$s->value('SELECT drop_some(' . ($rows > 700 ? $rows - 600 : 40) . ')');
	insert_from(2, 20, 'small');
	$s->value("SELECT skipidx_flush('docs_v')");
	$s->value('SELECT drop_some(30)');
	insert_from(4, 12, 'small');
	insert_from(1, 1, 'large');
	$s->value('DELETE FROM docs WHERE id % 3 = 0 AND id > (SELECT last_value - 50 FROM ids)');
	return;
}

my %operations = (
	insert => {
		sql => "SELECT add(30, 'small')",
		rows => 30 },
	insert_large => {
		sql => "SELECT add(2, 'large')",
		rows => 2 },
	# more than the extents at hand
	insert_many => {
		sql => "SELECT add(500, 'small'), add(6, 'large'), add(6, 'large'), add(6, 'large')",
		before => sub { $f->{s}->value("REINDEX INDEX docs_v") },
		rows => 518 },
	# the inserting backend flushes
	insert_flush => {
		sql => "SELECT add(500, 'small')",
		before => sub { $f->{s}->value("ALTER INDEX docs_v SET (pending_limit = '64kB')") },
		after => sub { $f->{s}->value("ALTER INDEX docs_v RESET (pending_limit)") },
		rows => 500 },
	flush => {
		sql => "SELECT skipidx_flush('docs_v')",
		done => sub {
			is($f->stat('pending_docs'), 0, "$_[0]: nothing pending");
			is(left_behind(), 0, "$_[0]: nothing is left behind");
		} },
	merge => {
		sql => "SELECT skipidx_merge('docs_v', 1)",
		done => sub {
			is($f->stat('segments'), 1, "$_[0]: one segment");
			is(left_behind(), 0, "$_[0]: nothing is left behind");
		} },
	vacuum => {
		sql => 'VACUUM (INDEX_CLEANUP ON) docs',
		done => sub { $f->exact($_[0]) } },
	# takes back what an operation left that did not come to its end
	tidy => {
		sql => 'VACUUM (INDEX_CLEANUP ON) docs',
		before => \&orphan,
		done => sub {
			$f->exact($_[0]);
			is(left_behind(), 0, "$_[0]: nothing is left behind");
		} },
	# much that was pending, at the end of the file, and nothing any more; not
	# where a worker is in the way
	shrink => {
		tries => 5,
		sql => 'VACUUM (INDEX_CLEANUP ON) docs',
		before => sub {
			$f->{s}->value('REINDEX INDEX docs_v');
			$f->{s}->value("ALTER INDEX docs_v SET (pending_limit = '64kB')");
			# of pages that one transaction gives up it uses none again
			$f->{s}->value('SELECT ' . join(', ', ("add(6, 'large')") x 80));
			$f->{s}->value("SELECT skipidx_flush('docs_v')");
			$f->{s}->value("ALTER INDEX docs_v RESET (pending_limit)");
			$f->{s}->value('SELECT drop_some(40)');
		},
		done => sub {
			$f->exact($_[0]);
			# what a worker has put at the end meanwhile stays for another VACUUM
			for (1 .. 5) {
				last if is_short();
				$f->{s}->value('VACUUM (INDEX_CLEANUP ON) docs');
			}
			ok(is_short(), "$_[0]: no longer than it need be");
		} },
	build => {
		sql => 'REINDEX INDEX docs_v',
		done => sub { is($f->stat('segments'), 1, "$_[0]: one segment") } });

# Without VACUUM two pages of three are free.
sub is_short
{
	return $f->stat('free_pages') < $f->stat('file_pages') / 2 + 700;
}

# Operations that the index knows of.
sub left_behind
{
	return $f->{s}->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind IN ('flush', 'merge')");
}

sub orphan
{
	my $s = $f->session;

	$f->arm($s, 'flush_built', 'error');
	like($s->raw("SELECT skipidx_flush('docs_v')"), qr/told to fail/, 'a flush fails');
	$s->close;
	is(left_behind(), 1, 'and is left behind');
	return;
}

# Point => [operation, which time it is reached] ...; the first is for the
# short form.
my %cases = (
	insert_begin => [ [ 'insert', 20 ], [ 'insert_large', 2 ] ],
	insert_chain_written => [ [ 'insert_large', 1 ], [ 'insert_large', 2 ] ],
	insert_appended => [ [ 'insert', 30 ], [ 'insert_large', 1 ], [ 'insert_flush', 400 ] ],
	extent_grown => [ [ 'insert_many', 1 ], [ 'insert_many', 2 ] ],
	extent_taken => [ [ 'insert_many', 1 ], [ 'insert_many', 2 ] ],
	reuse_logged => [ [ 'flush', 1 ], [ 'merge', 1 ] ],
	root_written => [ [ 'flush', 2 ], [ 'flush', 1 ], [ 'merge', 1 ], [ 'merge', 2 ], [ 'tidy', 1 ] ],
	root_flipped => [ [ 'merge', 2 ], [ 'flush', 1 ], [ 'flush', 2 ], [ 'tidy', 1 ] ],
	reserve_flipped => [ [ 'flush', 1 ], [ 'merge', 1 ] ],
	live_logged => [ [ 'merge', 1 ], [ 'flush', 1 ] ],
	live_flushed => [ [ 'flush', 1 ], [ 'merge', 1 ] ],
	live_written => [ [ 'merge', 1 ], [ 'flush', 1 ] ],
	new_logged => [ [ 'build', 2 ], [ 'build', 1 ] ],
	new_written => [ [ 'build', 1 ], [ 'build', 2 ] ],
	flush_stripe => [ [ 'flush', 2 ], [ 'flush', 1 ] ],
	flush_read => [ [ 'flush', 1 ], [ 'insert_flush', 1 ] ],
	flush_built => [ [ 'flush', 1 ], [ 'insert_flush', 1 ] ],
	merge_mapped => [ [ 'merge', 1 ] ],
	merge_built => [ [ 'merge', 1 ] ],
	publish_noted => [ [ 'merge', 1 ], [ 'flush', 1 ] ],
	publish_locked => [ [ 'flush', 1 ], [ 'merge', 1 ] ],
	publish_carried => [ [ 'merge', 1 ], [ 'flush', 1 ] ],
	publish_flipped => [ [ 'flush', 1 ], [ 'merge', 1 ], [ 'insert_flush', 1 ] ],
	tidy_done => [ [ 'tidy', 1 ] ],
	vacuum_segment_marked => [ [ 'vacuum', 1 ], [ 'vacuum', 2 ] ],
	vacuum_pending_marked => [ [ 'vacuum', 1 ], [ 'vacuum', 2 ] ],
	vacuum_part_done => [ [ 'vacuum', 1 ], [ 'vacuum', 2 ] ],
	shrink_moved => [ [ 'shrink', 1 ] ],
	shrink_flipped => [ [ 'shrink', 1 ] ],
	shrink_done => [ [ 'shrink', 1 ] ],
	build_segment_written => [ [ 'build', 1 ] ],
	build_head_written => [ [ 'build', 1 ] ]);

# ---- one case ----

sub rows { return $f->{s}->value('SELECT count(*) FROM docs'); }

# Runs the operation with the point armed; returns whether it was reached.
sub strike
{
	my ($name, $op, $point, $action, $nth) = @_;
	my $victim = $f->session;

	$f->mark;
	$f->arm($victim, $point, $action, $nth);

	my $said = $victim->raw($op->{sql});
	my $reached = $f->reached($point, $action);

	$victim->close;
	if ($action eq 'kill' && $reached)
	{
		like($said, qr/session ended|terminat|closed the connection/i, "$name: the session ended");
		$f->recover;
	}
	elsif ($action eq 'error' && $reached)
	{
		like($said, qr/XX000.*told to fail/, "$name: the error was raised");
	}
	elsif ($action eq 'cancel' && $reached)
	{
		# one that comes near the end finds nobody to listen
		unlike($said, qr/ERROR:  (?!57014)/, "$name: no other error");
	}
	else
	{
		diag("$name: $said");
	}
	return ($reached, $said);
}

sub one_case
{
	my ($point, $action, $operation, $nth) = @_;
	my $op = $operations{$operation};
	my $name = "$point, $operation, $action" . ($nth > 1 ? " $nth" : '');
	my $s;

	my ($before, $reached, $said);

	for (1 .. $op->{tries} // 1)
	{
		prepare();
		$op->{before}->() if $op->{before};
		$s = $f->{s};
		$before = rows();
		($reached, $said) = strike($name, $op, $point, $action, $nth);
		last if $reached;
	}
	ok($reached, "$name: reached") or return;
	$hit{$point}{$action}++;
	$cases++;

	my $done = $said =~ /ERROR/ ? 0 : $op->{rows} // 0;

	is(rows(), $before + $done, "$name: rows of committed transactions and no other");
	$f->agrees($name, $all ? 3 : 4);

	# the same again, with nothing in the way
	my $again = $f->{s}->raw($op->{sql});

	unlike($again, qr/ERROR/, "$name: done again");
	is(rows(), $before + $done + ($op->{rows} // 0), "$name: again, rows");
	$op->{done}->($name) if $op->{done};
	$op->{after}->() if $op->{after};
	$f->agrees("$name, again", 0);
	return;
}

# Those of builds with workers are for 115_build_stopped.pl, that of searches
# for 235_glances.pl, those of counts for 335_count_race.pl, that of parallel scans
# for 370_parallel.pl, those of merges by several processes for
# 342_merge_together.pl, that of views for 523_reuse_held.pl.
my @points = grep { !/^(team|glance|count|share|help|views)_/ } map { $_->{name} } @{ $f->{points} };

is_deeply([ sort keys %cases ], [ sort @points ], 'there is a case for every point');
insert_from(4, 60, 'small');

my $turn = 0;

for my $point (@points)
{
	my @list = @{ $cases{$point} // [] };
	my @these = $all ? @actions : ($actions[ $turn++ % @actions ]);

	@list = $list[0] unless $all;
	for my $case (@list)
	{
		one_case($point, $_, @$case) for @these;
	}
}

for my $point (@points)
{
	my @missing = grep { !$hit{$point}{$_} } $all ? @actions : ();

	is("@missing", '', "$point: every action") if $all;
	ok(keys %{ $hit{$point} // {} }, "$point: some action") unless $all;
}

# ---- WAL that is lost ----

# Commits that nobody waits for, and a WAL writer that is stopped: a crash
# takes the last flushes and merges back, and with them the extents that they
# freed to those that had them.  Had such an extent been overwritten before the
# WAL of that was safe, these would have each other's pages.
for my $point (grep { /^live_|^root_|^publish_flipped/ } @points)
{
	prepare();
	my $victim = $f->session;
	my $writer = $f->{s}->value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");

	$f->{s}->value('CHECKPOINT');
	kill 'STOP', $writer;
	$victim->value('SET synchronous_commit = off');
	for (1 .. 4)
	{
		$victim->value("SELECT add(40, 'small'), drop_some(40)");
		$victim->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n");
		$victim->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n");
	}
	my $rows = $victim->value("SELECT counts('seq')");

	$victim->value("SELECT add(40, 'small')");
	$f->mark;
	$f->arm($victim, $point, 'kill');
	$victim->raw("SELECT skipidx_flush('docs_v') \\g /dev/null\nSELECT skipidx_merge('docs_v', 1) \\g /dev/null\n");
	$victim->close;
	# not CONT: it would write before the postmaster has told it of the crash
	kill 'KILL', $writer;
	is($f->reached($point, 'kill'), 1, "$point, WAL lost: reached");
	$f->recover;
	$f->agrees("$point, WAL lost", $all ? 2 : 6);
	$lost++ if $f->{s}->value("SELECT counts('seq')") eq $rows;
	$f->{s}->value("SELECT skipidx_flush('docs_v'); SELECT skipidx_merge('docs_v', 1)");
	$f->agrees("$point, WAL lost, merged", 0);
}
cmp_ok($lost, '>', 0, 'WAL was lost');

# ---- an error that is caught, in a transaction that goes on ----

for my $point (grep { /^live_|^flush_built|^publish_locked|^publish_carried/ } @points)
{
	my $victim = $f->session;

	prepare();
	my $before = rows();

	$f->arm($victim, $point, 'error');
	my $said = $victim->raw(<<'SQL');
BEGIN;
DO $$
BEGIN
	PERFORM skipidx_flush('docs_v');
	RAISE 'not reached';
EXCEPTION WHEN internal_error THEN
	NULL;
END $$;
SELECT add(5, 'small') \g /dev/null
SQL
	is($said, '', "$point, caught: the transaction goes on");

	# A checkpoint waits for whoever says that it must.
	is($f->{s}->raw('CHECKPOINT'), '', "$point, caught: a checkpoint is not held up");
	is($victim->raw("SELECT skipidx_flush('docs_v') \\g /dev/null\nCOMMIT;\n"), '', "$point, caught: flushed after all");
	$victim->close;
	is(rows(), $before + 5, "$point, caught: rows");
	$f->agrees("$point, caught", 0);
	last unless $all;
}

# ---- at the end ----

$f->{s}->value('SELECT drop_some(100); VACUUM docs');
$f->{s}->value("SELECT skipidx_flush('docs_v'); SELECT skipidx_merge('docs_v', 1)");
$f->{s}->value('VACUUM (INDEX_CLEANUP ON) docs');
$f->exact('the end');
is(left_behind(), 0, 'the end: no operation is left');
cmp_ok($f->{s}->value("SELECT pg_relation_size('docs_v') / 8192"), '<', $all ? 4000 : 1500,
	'the end: pages were used again');
$f->agrees('the end', 1);
unlike(slurp_file($node->logfile), qr/PANIC|inconsistent page|TRAP/, 'nothing else in the log');
note "$cases cases";
$f->{s}->close;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');
done_testing();
