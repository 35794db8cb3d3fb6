# SkipidxTeam: CREATE INDEX alone and with parallel workers, and the proof that
# workers took part.
#
# The setting skipidx.fault = '*:note' makes each process log the points that it
# reaches; the log's lines begin with the process id.  A small table is indexed
# before its workers have started: held() keeps the leader out until they wait
# for it.

package SkipidxTeam;

use strict;
use warnings;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use Test::More;
use Time::HiRes qw(sleep time);

# For postgresql.conf.
our $conf = <<'CONF';
max_worker_processes = 16
max_parallel_workers = 16
log_line_prefix = '%m [%p] '
CONF

# Seconds until something that should happen counts as not happening.
use constant PATIENCE => $PostgreSQL::Test::Utils::timeout_default;

# Counts of an index that do not depend on how it was built.
use constant TOTALS => 'SELECT sum(ndocs), sum(null_docs), sum(deleted),'
  . ' sum(postings), sum(positions), sum(total_length), sum(terms), count(*)'
  . " FROM skipidx_segments('%s') WHERE kind = 'segment'";

sub new
{
	my ($class, $node, $db) = @_;

	return bless { node => $node, db => $db, f => SkipidxFault->new($node, $db) }, $class;
}

sub fault { return $_[0]{f}; }

# Which processes reached which points since the fault helper's mark():
# point => pid => how often.
sub reached
{
	my ($self) = @_;
	my $log = slurp_file($self->{node}->logfile, $self->{f}{log});
	my %reached;

	$reached{$2}{$1}++
	  while $log =~ /\[(\d+)\] LOG:  skipidx fault point (\w+): note$/mg;
	return \%reached;
}

# Runs a statement with at most `n` workers and returns what the server said
# and, in a hash, how many builds have started workers (launched, which the
# leader notes before it does anything else), how many workers had a share and
# how many tasks there were.  A worker that comes late has no share.
sub run
{
	my ($self, $session, $n, $sql) = @_;
	my %took;

	$session->value("SET max_parallel_maintenance_workers = $n; SET skipidx.fault = '*:note'");
	$self->{f}->mark;
	my $said = $session->raw($sql);

	$session->raw('RESET skipidx.fault');
	my $reached = $self->reached;

	$took{launched} = $reached->{team_launched}{ $session->backend } // 0;
	$took{shares} = grep { $_ != $session->backend } keys %{ $reached->{team_shared} // {} };
	$took{tasks} = 0;
	$took{tasks} += $_ for values %{ $reached->{team_task} // {} };
	return ($said, \%took);
}

# How many workers of a session wait for the others of their team.
sub waiting
{
	my ($self, $session) = @_;

	return $self->{f}{s}->value('SELECT count(*) FROM pg_stat_activity'
		  . ' WHERE leader_pid = ' . $session->backend
		  . " AND wait_event = 'ParallelCreateIndexScan'");
}

# The same, but the leader joins when all `n` workers have done the scan.
sub held
{
	my ($self, $session, $n, $sql) = @_;
	my $f = $self->{f};
	my $until = time + PATIENCE;
	my $waiting;

	$session->value("SET max_parallel_maintenance_workers = $n");
	$f->hold($f->{s}, 'team_launched');
	$f->arm($session, 'team_launched', 'wait');
	$session->start($sql);
	sleep 0.002
	  until ($waiting = $self->waiting($session)) == $n || time > $until;
	$f->release($f->{s}, 'team_launched');
	my $said = $session->finish;

	$session->raw('RESET skipidx.fault');
	return ($said, { shares => $waiting });
}

sub totals
{
	my ($self, $session, $index) = @_;

	return $session->value(sprintf TOTALS, $index);
}

1;
