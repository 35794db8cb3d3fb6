# On a server with sanitizers, made as `make test-memory` makes it: a byte behind
# a chunk, before it, or in one that is gone, ends the session with a report that
# names it, for chunks of contexts of all kinds; so does what C leaves undefined.
# Skipped on other servers.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_module skx_recovered);
use Test::More;

my $config = $ENV{PG_CONFIG} // 'pg_config';

plan skip_all => 'not a server with AddressSanitizer' unless `$config --cflags` =~ /-fsanitize=\S*address/;

my $dir = PostgreSQL::Test::Utils::tempdir();
my %wanted = (
	'shift' => qr/: ILL on unknown address.*in skipidx_misuse/s,
	'nothing' => qr/: ILL on unknown address.*in skipidx_misuse/s,
	'behind' => qr/heap-buffer-overflow .*\bREAD of size 1.*0 bytes to the right of/s,
	'before' => qr/use-after-poison .*\bREAD of size 1/s,
	'freed' => qr/heap-use-after-free .*\bREAD of size 1/s,
	'twice' => qr/attempting double-free/,
	'moved' => qr/heap-use-after-free .*\bREAD of size 1/s,
	'shrunk' => qr/heap-buffer-overflow .*\bREAD of size 1.*0 bytes to the right of/s,
	'reset' => qr/heap-use-after-free .*\bREAD of size 1/s,
	'deleted' => qr/heap-use-after-free .*\bREAD of size 1/s);
my @kinds = ('shift', 'nothing', map { my $kind = $_; map { "$kind $_" } qw(behind before freed twice moved shrunk reset deleted) } qw(set generation slab));

# Reports of this node alone, beside those that count as failures.
local $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (), "log_path=$dir/report";
my $node = skx_node('misuse');

$node->safe_psql('postgres', 'CREATE FUNCTION skipidx_misuse(text) RETURNS int LANGUAGE c AS $$' . skx_module('skipidx_misuse') . '$$');
is($node->safe_psql('postgres', q{SELECT skipidx_misuse('fine')}), 1, 'no misuse: no report');
is(join(' ', glob "$dir/report*"), '', 'and none written');
for my $kind (@kinds)
{
	my ($what) = $kind =~ /(\w+)$/;
	my ($rc) = $node->psql('postgres', "SELECT skipidx_misuse('$kind')");
	my @reports = glob "$dir/report*";

	isnt($rc, 0, "$kind: the session ends");
	is(scalar @reports, 1, "$kind: with a report");
	like(@reports ? slurp_file($reports[0]) : '', $wanted{$what}, "$kind: which says so");
	unlink @reports;
	skx_recovered($node);
}
$node->stop;
done_testing();
