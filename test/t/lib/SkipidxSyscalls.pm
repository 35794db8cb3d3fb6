# SkipidxSyscalls: system calls that Perl has no function for.  Needs nothing of
# the server's, so that scripts can use it as well.

package SkipidxSyscalls;

use strict;
use warnings;
use POSIX ();

# From here on io_uring_setup fails with EPERM, here and in all children, as in
# a container with the usual seccomp profile.  False where that cannot be had.
sub refuse_io_uring
{
	my %prctl = ('x86_64' => 157, 'aarch64' => 167);
	my $call = $prctl{ (POSIX::uname())[4] };

	return 0 unless $call;

	# load the call's number; io_uring_setup (425): EPERM; else: allow
	my $filter = join '', map { pack('SCCL', @$_) } ([ 0x20, 0, 0, 0 ], [ 0x15, 0, 1, 425 ],
		[ 0x06, 0, 0, 0x00050001 ], [ 0x06, 0, 0, 0x7fff0000 ]);
	my $program = pack('S x![P] P', 4, $filter);

	return syscall($call, 38, 1, 0, 0, 0) == 0 && syscall($call, 22, 2, $program) == 0;
}

1;
