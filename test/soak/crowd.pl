# A crowd: eight writers, four readers, flushes, merges by several processes,
# VACUUM and background workers, with a standby that is queried meanwhile; and
# again and again a process is ended: a backend, a worker, a helper, the
# postmaster, the standby.  See README.md.
#
#   SOAK_MINUTES   how long, 30 by default
#   SOAK_SEED      of everything that is drawn; the time by default

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxLedger;
use SkipidxTest qw(skx_node skx_session);
use Test::More;
use Time::HiRes qw(sleep time);

my $until = time + 60 * ($ENV{SOAK_MINUTES} || 30);
my $seed = $ENV{SOAK_SEED} || time % 1_000_000;

$| = 1;
note "seed $seed";
srand($seed);

# Little memory, so that pages go to the files and come from there; merges of
# next to nothing get helpers.
my $node = skx_node('crowd', streaming => 1,
	conf => "max_prepared_transactions = 5\ndeadlock_timeout = 200ms\nmax_wal_size = 512MB\nmax_connections = 60\n"
	  . "max_worker_processes = 16\nshared_buffers = 32MB\nskipidx.cache_size = 4MB\nskipidx.max_workers = 3\n"
	  . "min_parallel_table_scan_size = '8kB'\nmax_parallel_maintenance_workers = 2\nautovacuum_naptime = 1s\n"
	  . "min_parallel_index_scan_size = 0\nwal_keep_size = '2GB'\nhot_standby_feedback = off\n"
	  . "max_standby_streaming_delay = 500ms\nskipidx.log_min_duration = 0\n");
my $ledger = SkipidxLedger->new($node, writers => 8,
	spared => qr/terminated while it helped with an index|canceling statement due to user request/);

$ledger->install;
$node->safe_psql('postgres',
	"ALTER INDEX docs_v SET (segments_per_tier = 3); ALTER TABLE docs SET (autovacuum_vacuum_threshold = 200)");
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('crowd_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;

my %ended;
my @wrong;
my $rounds = 0;

sub pids
{
	my ($where) = @_;
	my $found = eval { $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $where") };

	return split /\n/, $found // '';
}

# Ends one process of a kind as a user or an administrator may, which the server
# survives; nothing, if there is none just now.
sub injure
{
	my ($what, $where, $signal) = (
		[ 'a backend is ended', "backend_type = 'client backend' AND query NOT LIKE '%pg_stat_activity%'", 'TERM' ],
		[ 'a statement is cancelled', "backend_type = 'client backend' AND query ~ 'skipidx_(flush|merge)|VACUUM'", 'INT' ],
		[ 'a worker is ended', "backend_type = 'skipidx worker' AND application_name = 'skipidx worker'", 'TERM' ],
		[ 'a helper is ended', "application_name = 'skipidx helper'", 'TERM' ])[ rand 4 ]->@*;
	my @pids = pids($where) or return;

	kill $signal, $pids[ rand @pids ];
	$ended{$what}++;
	return;
}

# A round ends with one of these, or with nothing.
sub wound
{
	my $r = rand;

	if ($r < 0.25)
	{
		# it waits for prepared transactions, which nothing ends now
		$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'REINDEX%'");
		return 'nothing';
	}
	if ($r < 0.65)
	{
		my ($what, $where) = (
			[ 'a backend is killed', "backend_type = 'client backend'" ],
			[ 'a worker is killed', "backend_type = 'skipidx worker'" ])[ rand 2 ]->@*;
		my @pids = pids($where);

		return 'nothing' unless @pids;
		my $log = -s $node->logfile;

		kill 'KILL', $pids[ rand @pids ];
		for (1 .. 1200)
		{
			last if slurp_file($node->logfile, $log) =~ /ready to accept connections/;
			sleep 0.05;
		}
		return $what;
	}
	if ($r < 0.85)
	{
		my @all = (pids('true'), slurp_file($node->data_dir . '/postmaster.pid') =~ s/\n.*//sr);

		$node->kill9;
		for (1 .. 600)
		{
			last if !grep { kill 0, $_ } @all;
			sleep 0.05;
		}
		$node->start;
		return 'the postmaster is killed';
	}
	$standby->stop('immediate');
	$standby->start;
	return 'the standby starts anew';
}

# Queries the standby; a conflict ends some of them, nothing else may.
sub reader_on_standby
{
	my $s = eval { skx_session($standby, 'postgres') } or return;
	my $said = $s->raw("SET client_min_messages = error; SELECT soak_look('docs', '" . SkipidxLedger::random_query() . "') IS NULL");

	push @wrong, "standby: $said"
	  if $said =~ /ERROR|FATAL|PANIC/ && $said !~ /conflict with recovery|terminating connection|starting up|session ended|does not exist|could not open/;
	$s->close;
	return;
}

# The standby, when it has replayed all: as the primary, and as its own table.
sub wrong_on_standby
{
	$node->wait_for_catchup($standby);
	my $s = skx_session($standby, 'postgres');
	my @sql = map { "SELECT soak_look('docs', '$_')" } 'all', '!nothing', map { SkipidxLedger::random_query() } 1 .. 4;
	my @found = grep { $_ ne '' } map { $s->raw($_) } "SELECT skipidx_check('docs_v', true)", @sql;
	my $rows = "SELECT count(*) || ' ' || coalesce(sum(id::int8 * 31 + txn), 0) FROM docs";

	push @found, 'other rows than the primary has' if $s->value($rows) ne $node->safe_psql('postgres', $rows);
	$s->close;
	return map { "standby: $_" } @found;
}

my @logs = (-s $node->logfile, -s $standby->logfile);

while (time < $until && !@wrong)
{
	my $began = time;
	my $before = $ledger->{committed};
	my $seconds = 2 + rand 10;

	$rounds++;
	$ledger->begin(prepare => 1, tables => 1,
		beside => [qw(look look look look flush merge vacuum), rand() < 0.3 ? 'reindex' : (), 'checkpoint']);
	while (time < $began + $seconds)
	{
		$ledger->run(0.2 + rand);
		injure() if rand() < 0.5;
		reader_on_standby() if rand() < 0.7;
	}
	my $what = wound();

	$ledger->collect;
	$ended{$what}++;
	push @wrong, $ledger->wrong(8);
	push @wrong, $ledger->wrong_after_merge if !@wrong && rand() < 0.2;
	push @wrong, wrong_on_standby() if !@wrong;
	for my $k (0, 1)
	{
		my $log = ($node, $standby)[$k]->logfile;

		push @wrong, "in the log: $_" for slurp_file($log, $logs[$k]) =~ /^.*(?:PANIC|TRAP|XX00[12]|is damaged).*$/mg;
		$logs[$k] = -s $log;
	}
	ok(!@wrong, sprintf 'round %d, %s: %d transactions; %.1f s', $rounds, $what, $ledger->{committed} - $before, time - $began);
}
diag(join "\n", @wrong[ 0 .. ($#wrong > 8 ? 8 : $#wrong) ]) if @wrong;

my $log = slurp_file($node->logfile);
note "$rounds rounds, $ledger->{committed} transactions; " . join ', ', map { "$_: $ended{$_}" } sort keys %ended;
note sprintf '%d merges and flushes by workers', scalar(() = $log =~ /(?:merge|flush) of skipidx index/g);
cmp_ok($ledger->{committed}, '>', 0, 'transactions were committed');
$standby->stop('immediate');
$node->stop('immediate');
done_testing();
