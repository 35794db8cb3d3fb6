# A kernel that refuses io_uring: reads go on with preadv, and the log says so
# once.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Config;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

# From here on io_uring_setup fails with EPERM, here and in all children, as in
# a container with the usual seccomp profile.
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

require POSIX;
plan skip_all => 'no seccomp filter to be had' unless refuse_io_uring();

my $node = skx_node('no_uring');

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, ('all:1 b' || i % 2)::tsvector FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
SQL

for my $method (qw(uring uring_direct auto))
{
	for my $session (1, 2)
	{
		my $s = skx_session($node, 'postgres');

		$s->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off");
		is($s->value("SELECT count(*) FROM docs WHERE v @@ 'all & b1'"), 10000, "$method, session $session");
		$s->close;
	}
}

my $log = slurp_file($node->logfile);
my $said = () = $log =~ /io_uring cannot be used, skipidx reads with preadv: Operation not permitted/g;

is($said, 1, 'the log says so once');
like($log, qr/HINT:  The kernel, its setting kernel.io_uring_disabled, or a container/, 'and what to do');
$node->stop;
done_testing();
