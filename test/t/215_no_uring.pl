# A kernel that refuses io_uring: reads go on with preadv, and the log says so
# once.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Config;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_refuse_io_uring skx_session);
use Test::More;

plan skip_all => 'no seccomp filter to be had' unless skx_refuse_io_uring();

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
