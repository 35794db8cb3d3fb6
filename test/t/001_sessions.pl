# What the other tests rely on: a seed repeats what perl and the server's
# sessions draw, and a signal does not end a session.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;
use Time::HiRes qw(setitimer ITIMER_REAL);

my $node = skx_node('sessions');

# What two sessions draw, one after the other, and perl.
sub drawn
{
	my @sessions = map { skx_session($node, 'postgres') } 1, 2;
	my @drawn = ((map { $_->value('SELECT random(), random()') } @sessions), rand);

	$_->close for @sessions;
	return \@drawn;
}

skx_seed(1);
my $first = drawn();

isnt($first->[0], $first->[1], 'each session has its own random numbers');
isnt(drawn()->[$_], $first->[$_], "others later on, $_") for 0 .. 2;
skx_seed(1);
is_deeply(drawn(), $first, 'the same seed, the same numbers');
SKIP:
{
	skip 'SKIPIDX_SEED is set', 5 if defined $ENV{SKIPIDX_SEED};
	skx_seed(2);
	isnt(drawn()->[$_], $first->[$_], "another seed, others, $_") for 0 .. 2;
	local $ENV{SKIPIDX_SEED} = 1;
	is(skx_seed(2), 1, 'SKIPIDX_SEED comes before the seed of a test');
	is_deeply(drawn(), $first, 'SKIPIDX_SEED repeats a run');
}

my $s = skx_session($node, 'postgres');
my $signals = 0;

{
	local $SIG{ALRM} = sub { $signals++ };

	setitimer(ITIMER_REAL, 0.02, 0.02);
	is($s->value("SELECT 'slept' FROM pg_sleep(0.5)"), 'slept', 'signals do not end a session');
	$s->start("SELECT 'slept' FROM pg_sleep(0.5)");
	my $said;

	until (defined($said = $s->ready)) { select undef, undef, undef, 0.01 }
	is($said, 'slept', 'nor an answer that is not waited for');
	setitimer(ITIMER_REAL, 0);
}
cmp_ok($signals, '>', 1, "$signals signals came");
$s->raw('SELECT pg_terminate_backend(pg_backend_pid())');
ok($s->gone, 'an end does');
$s->close;
$node->stop;
done_testing();
