# soak.pl: what `make soak` runs: rounds of load, crash and check by every
# method of reading and writing, then mutants that must be caught.
#
#   SOAK_SECONDS   of rounds on the product, 600 by default
#   SOAK_METHODS   values of skipidx.io_method; all by default
#   SOAK_SEED      of everything that is drawn; the time by default.  What runs
#                  at the same time is not repeated by it.
#   SOAK_MUTANTS   names in mutant.c; all by default, none if empty
#
# A line at least for every round.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use File::Path qw(remove_tree);
use PostgreSQL::Test::Utils;
use PostgreSQL::Test::Cluster;
use SkipidxPower;
use SkipidxSoak;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{SOAK_SECONDS} || 600;
my @methods = split ' ', $ENV{SOAK_METHODS} || 'buffered direct uring uring_direct shared_buffers';
my @mutants = split ' ', $ENV{SOAK_MUTANTS} // 'nolog noflush nosync nodelay late nosyncnew';
my $seed = $ENV{SOAK_SEED} || time % 1_000_000;

# Rounds until a mutant counts as not seen.
use constant MUTANT_ROUNDS => 15;

# Where a mutant does its harm; the default is wide, by direct.
my %where = (
	noflush => [ 'async', 'direct' ],
	nosync => [ 'quiet', 'direct' ],
	nodelay => [ 'quiet', 'uring_direct' ],
	late => [ 'wide', 'buffered' ],
	nosyncnew => [ 'quiet', 'uring_direct' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();

$| = 1;
note "seed $seed";
srand($seed);

my $said = SkipidxPower->build($dir);

BAIL_OUT($said) if $said;

sub tell_wrong
{
	my ($soak, @wrong) = @_;

	diag(join "\n", @wrong[ 0 .. ($#wrong > 6 ? 6 : $#wrong) ]);
	diag('the cluster: ' . $soak->{node}->data_dir);
	return;
}

# One cluster, until its time is over or something is wrong.
sub soak
{
	my ($method, $checksums, $share) = @_;
	my $soak = SkipidxSoak->new($method, dir => $dir, checksums => $checksums);
	my $until = time + $share;

	while (time < $until)
	{
		my $began = time;
		my $r = rand;
		my @wrong = $soak->round(
			load => (qw(wide wide wide minimal minimal async async quiet quiet))[ rand 9 ],
			crash => $r < 0.75 ? 'power' : $r < 0.9 ? 'kill' : 'halt',
			seconds => 0.5 + rand 3);

		ok(!@wrong, sprintf '%s%s, round %d: %s; %.1f s', $method, $checksums ? ', checksums' : '', $soak->{rounds},
			$soak->{story}, time - $began);
		if (@wrong)
		{
			tell_wrong($soak, @wrong);
			last;
		}
	}
	$soak->end;
	remove_tree($soak->{node}->data_dir) if Test::More->builder->is_passing;
	return $soak;
}

sub mutant
{
	my ($name) = @_;
	my ($load, $method) = @{ $where{$name} // [ 'wide', 'direct' ] };
	my $soak = SkipidxSoak->new($method, dir => $dir, checksums => 1, mutant => $name, load => $load);
	my @wrong;

	while (!@wrong && $soak->{rounds} < MUTANT_ROUNDS)
	{
		@wrong = $soak->round(load => $load, crash => 'power', seconds => 1);
		note "mutant $name: $soak->{story}";
	}
	ok(scalar @wrong, "mutant $name, $load load by $method: caught in $soak->{losses} losses of power");
	note $wrong[0] =~ s/\n.*//sr if @wrong;
	$soak->end;
	remove_tree($soak->{node}->data_dir);
	return;
}

my ($rounds, $losses, $committed) = (0, 0, 0);

for my $method (@methods)
{
	for my $checksums (1, 0)
	{
		my $soak = soak($method, $checksums, $seconds / 2 / @methods);

		$rounds += $soak->{rounds};
		$losses += $soak->{losses};
		$committed += $soak->{ledger}{committed};
	}
}
note "$rounds rounds, $losses losses of power, $committed transactions";
if (@mutants)
{
	$said = SkipidxPower->build_mutant($dir);
	is($said, '', 'mutants are built');
	mutant($_) for $said ? () : @mutants;
}
done_testing();
