# SkipidxSoak: rounds of load, a crash or a loss of power, and a look at what
# is left, on one cluster.

package SkipidxSoak;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use SkipidxLedger;
use SkipidxPower;
use SkipidxTest qw(skx_node);
use Test::More;
use Time::HiRes qw(sleep time);

# Loads.  wide: everything, commits wait for the log.  async: they do not, and
# nothing else flushes the log, so that much of it is lost and what has been
# written of the index meanwhile may be kept.  minimal: as wide, with
# wal_level minimal.  plain: writers, flushes and merges.  quiet: one session and many checkpoints; it ends just after
# a flush, a merge or a build.
my %loads = (
	wide => {
		conf => [ 'wal_level = replica', 'synchronous_commit = on' ],
		begin => { prepare => 1, tables => 1, beside => [qw(flush merge vacuum checkpoint reindex look)] } },
	minimal => {
		conf => [ 'wal_level = minimal', 'max_wal_senders = 0', 'synchronous_commit = on' ],
		begin => { prepare => 1, tables => 1, beside => [qw(flush merge vacuum checkpoint reindex look)] } },
	quiet => {
		conf => [ 'wal_level = replica', 'synchronous_commit = on', 'bgwriter_lru_maxpages = 0', 'shared_buffers = 64MB' ],
		begin => { quiet => 1, beside => [qw(checkpoints)] } },
	plain => {
		conf => [ 'wal_level = replica', 'synchronous_commit = on' ],
		begin => { beside => [qw(flush merge)] } },
	async => {
		conf => [ 'wal_level = replica', 'synchronous_commit = off', 'wal_writer_delay = 10s',
			'wal_writer_flush_after = 1GB', 'bgwriter_lru_maxpages = 0', 'shared_buffers = 64MB' ],
		begin => { async => 1, beside => [qw(flush merge)] } });

# Options: dir (of the libraries), checksums, mutant, load (of the first round).
sub new
{
	my ($class, $method, %opt) = @_;
	my $self = bless { method => $method, %opt, rounds => 0, losses => 0 }, $class;
	my $node = skx_node("soak_$method" . ($opt{checksums} ? '_sums' : '') . ($opt{mutant} ? "_$opt{mutant}" : ''),
		start => 0, extra => [ checksums($opt{checksums}) ],
		conf => "fsync = on\nfull_page_writes = on\nmax_prepared_transactions = 5\ndeadlock_timeout = 200ms\n"
		  . "max_wal_size = 256MB\n"
		  . "skipidx.io_method = $method\ninclude_if_exists = 'soak.conf'\n");

	$self->{node} = $node;
	$self->{power} = SkipidxPower->new($node, dir => $opt{dir},
		$opt{mutant} ? (module => "$opt{dir}/mutant.so", env => { SKX_MUTANT => $opt{mutant} }) : ());
	$self->{ledger} = SkipidxLedger->new($node);
	$self->configure($opt{load} // 'wide');
	$self->{power}->start or die 'the server does not start';
	$self->{ledger}->install;
	$self->{up} = 1;
	return $self;
}

# initdb's option; since 18 they are on unless they are declined.
sub checksums
{
	my ($on) = @_;

	return $on ? '--data-checksums' : `initdb --help` =~ /--no-data-checksums/ ? '--no-data-checksums' : ();
}

# Settings of the next start; little memory makes pages go to the file.
sub configure
{
	my ($self, $load) = @_;
	my @buffers = qw(2MB 16MB 64MB);
	my @cache = qw(1MB 16MB);

	open my $conf, '>', $self->{node}->data_dir . '/soak.conf' or die;
	print $conf "shared_buffers = $buffers[rand @buffers]\nskipidx.cache_size = $cache[rand @cache]\n",
	  map { "$_\n" } @{ $loads{$load}{conf} };
	close $conf;
	$self->{load} = $load;
	return;
}

# One round.  Options: load (of the next round), crash (power, halt or kill),
# keep (which part of the pieces, instead of one drawn), seconds, queries.  Returns what is wrong; what happened is in {story}.
sub round
{
	my ($self, %opt) = @_;
	my $ledger = $self->{ledger};
	my $before = $ledger->{committed};
	my $load = $self->{load};
	my $log = -s $self->{node}->logfile;

	$self->{rounds}++;
	$ledger->begin(%{ $loads{$load}{begin} });
	$ledger->run($opt{seconds});

	my $noted = $self->{power}->noted;
	my $lost = $ledger->{lost};
	my $crash = "crash_$opt{crash}";

	$self->$crash($opt{load}, $opt{keep});
	my @wrong = $self->{up} ? $ledger->wrong($opt{queries} // 12) : 'the server does not start';

	$self->{story} = sprintf '%s load, %s; %d transactions%s%s', $load, $self->{what}, $ledger->{committed} - $before,
	  $ledger->{lost} > $lost ? ', ' . ($ledger->{lost} - $lost) . ' of them lost' : '',
	  $noted > 1e6 ? sprintf(', %d MB of notes', $noted / 1e6) : '';
	push @wrong, $ledger->wrong_after_merge if !@wrong && rand() < 0.3;
	push @wrong, "in the log: $_"
	  for slurp_file($self->{node}->logfile, $log) =~ /^.*(?:PANIC|TRAP|XX00[12]).*$/mg;
	return @wrong;
}

# Power is lost.
sub crash_power
{
	my ($self, $next, $keep) = @_;
	my $sum = $self->{sum} = $self->{power}->lose($keep);

	$self->{losses}++;
	note "  $_" for @{ $sum->{story} };
	$self->{ledger}->collect;
	$self->configure($next);
	$self->{up} = $self->{power}->start;
	$self->{what} = sprintf 'power lost: of %d files %d pieces kept, %d undone, %d torn, %d sizes', @$sum{qw(files kept undone torn resized)};
	return;
}

# All processes are killed, and the kernel keeps what it has.
sub crash_halt
{
	my ($self, $next) = @_;

	$self->{power}->halt;
	$self->{ledger}->collect;
	$self->configure($next);
	$self->{up} = $self->{power}->start;
	$self->{what} = 'all processes killed';
	return;
}

# One process is killed, and the postmaster starts others.
sub crash_kill
{
	my ($self) = @_;
	my $loops = $self->{ledger}{loops};
	my $log = -s $self->{node}->logfile;
	my $until = time + 60;

	kill 'KILL', $loops->[ rand @$loops ]{s}->backend;
	$self->{ledger}->collect;
	$self->{what} = 'a process killed';
	$self->{up} = 0;
	while (!$self->{up} && time < $until)
	{
		sleep 0.02;
		$self->{up} = slurp_file($self->{node}->logfile, $log) =~ /ready to accept connections/;
	}
	return;
}

sub end
{
	my ($self) = @_;

	$self->{power}->halt if $self->{up};
	return;
}

1;
