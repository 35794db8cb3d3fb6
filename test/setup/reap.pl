# reap.pl COMMAND ARG...: runs COMMAND and takes leave of whatever it leaves
# behind and ends meanwhile, as the first process of a machine does; in many
# containers that process does not, and a server that was killed stays as a
# zombie there, which looks as if it ran.
#
# The exit code is COMMAND's.

use strict;
use warnings;
use POSIX ();

# prctl(PR_SET_CHILD_SUBREAPER, 1)
my %prctl = (x86_64 => 157, aarch64 => 167);
my $call = $prctl{ (POSIX::uname())[4] };

syscall($call, 36, 1, 0, 0, 0) if $call;

my $pid = fork // die "fork: $!";

if ($pid == 0)
{
	exec { $ARGV[0] } @ARGV;
	die "$ARGV[0]: $!";
}

# COMMAND knows what to do about these.
for my $signal (qw(HUP INT TERM))
{
	$SIG{$signal} = sub { kill $signal, $pid };
}
$SIG{PIPE} = 'IGNORE';
while (1)
{
	my $ended = wait;

	next if $ended < 0 && $!{EINTR};
	last if $ended < 0 || $ended == $pid;
}
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
