# What the other tests rely on: a seed repeats what perl and the server's
# sessions draw, a signal does not end a session, and nothing is waited for
# forever.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_session skx_seed);
use PostgreSQL::Test::Utils;
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

# ---- what does not come is waited for so long, and named ----

my $tests = PostgreSQL::Test::Utils::tempdir . '/t';

mkdir $tests or die "$tests: $!";

# The exit code of a test that has these lines, and its log.
sub said_by
{
	my ($lines, %env) = @_;
	my $file = "$tests/trial.pl";
	my $head = join '', map { "use lib '$_';\n" } @INC;
	local @ENV{ 'CONNECTION', keys %env } = ($node->connstr('postgres'), values %env);

	append_to_file($file, $head . <<'TEST' . $lines);
use SkipidxTest qw(skx_session skx_until);
sub Trial::connstr { return $ENV{CONNECTION} }
my $s = skx_session(bless({}, 'Trial'), 'postgres');
TEST
	my $code = system("$^X $file >'$tests/output' 2>&1") >> 8;

	unlink $file;
	return "$code: " . slurp_file("$PostgreSQL::Test::Utils::log_path/regress_log_trial");
}

my $endless = "SELECT 'endless' FROM pg_sleep(1000)";

like(said_by("print \$s->value('SELECT 1')"), qr/^0: .*\b1$/, 'a trial that ends');
like(said_by("\$s->raw(q($endless))", SKX_ANSWER_TIMEOUT => 1),
	qr/^[1-9].*no answer after 1 s to: \Q$endless\E at .*trial\.pl line/s, 'an answer that does not come');
like(said_by("\$s->start(q($endless)); 1 until defined \$s->ready", SKX_ANSWER_TIMEOUT => 1),
	qr/^[1-9].*no answer after 1 s to: \Q$endless\E at .*trial\.pl line/s, 'nor to one who asks now and then');
like(said_by('sub wait_for_nothing { select undef, undef, undef, 1000 while 1 } wait_for_nothing()', SKX_FILE_TIMEOUT => 2),
	qr/^1: .*trial\.pl is not done after 2 s; it waits at .*main::wait_for_nothing\(\) called at/s, 'a file that does not end');
like(said_by('skx_until("nothing", sub { 0 })', PG_TEST_TIMEOUT_DEFAULT => 1),
	qr/^[1-9].*waited 1 s for nothing at/s, 'a condition that does not come true');
# A session that is asleep does not see that its client is gone.
$s->value('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE ' . qq('SELECT ''endless''%'));

$s->raw('SELECT pg_terminate_backend(pg_backend_pid())');
ok($s->gone, 'an end does');
$s->close;
$node->stop;
done_testing();
