# Preloaded, the cache lies in the server's main shared memory, and so in huge
# pages where the server uses these.
#
# The machine must have some free: vm.nr_hugepages, which only root can set;
# `make test-faults` does for the time of this test.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant CACHE_MB => 96;

my %memory = slurp_file('/proc/meminfo') =~ /^(\w+):\s+(\d+)/mg;
my $free = ($memory{HugePages_Free} // 0) * ($memory{Hugepagesize} // 0) / 1024;

plan skip_all => "there are $free MB of free huge pages, and " . 2 * CACHE_MB . ' MB needed' if $free < 2 * CACHE_MB;

my $node = skx_node('huge_pages', start => 0,
	conf => "shared_preload_libraries = 'skipidx'\nhuge_pages = on\nshared_buffers = 16MB\nskipidx.cache_size = 1MB");

# MB of huge pages that a process has mapped, and those of them that it has
# touched.
sub huge
{
	my ($pid) = @_;
	my ($mapped, $touched) = (0, 0);

	for my $part (split /^(?=[0-9a-f]+-[0-9a-f]+ )/m, slurp_file("/proc/$pid/smaps"))
	{
		next unless $part =~ /^VmFlags:.* ht\b/m;
		$mapped += $1 / 1024 while $part =~ /^Size:\s+(\d+) kB/mg;
		$touched += $1 / 1024 while $part =~ /^(?:Shared|Private)_Hugetlb:\s+(\d+) kB/mg;
	}
	return ($mapped, $touched);
}

# Starts the server, unless others have taken the huge pages meanwhile.
sub start
{
	return if $node->start(fail_ok => 1);
	die 'it does not start' unless slurp_file($node->logfile) =~ /could not map anonymous shared memory/;
	plan skip_all => 'other servers took the huge pages' unless Test::More->builder->current_test;
	note 'other servers took the huge pages';
	done_testing();
	exit 0;
}

sub postmaster { return (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0]; }

start();
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, (SELECT string_agg(md5(i || ' ' || k) || ':' || k, ' ') FROM generate_series(1, 12) k)::tsvector
	FROM generate_series(1, 40000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
SQL
my ($without) = huge(postmaster());

cmp_ok($without, '>=', 16, 'shared memory is in huge pages');
$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', CACHE_MB . 'MB');
$node->stop;
start();
my ($with) = huge(postmaster());

note "huge pages: $without MB with a cache of 1 MB, $with MB with one of @{[CACHE_MB]} MB";
cmp_ok($with - $without, '>=', CACHE_MB - 4, 'and so is the cache');

my $s = skx_session($node, 'postgres');

is($s->value('SELECT bytes FROM skipidx_cache()'), CACHE_MB * 1024 * 1024, 'size of the cache');
my (undef, $before) = huge($s->backend);
my $pages = $s->value(q{SELECT skipidx_prewarm('docs_v')});
my (undef, $after) = huge($s->backend);

note "prewarming $pages pages touches ", $after - $before, ' MB of huge pages';
cmp_ok($pages, '>', 1000, 'there is something to keep');
cmp_ok($after - $before, '>=', $pages * 8 / 1024 * 0.9, 'pages are kept in huge pages');
is($s->value(q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ '!nosuch'}), 40000, 'and found there');
my $dynamic = 0;

my $maps = slurp_file('/proc/' . $s->backend . '/maps');

$dynamic += hex($2) - hex($1) while $maps =~ m{^([0-9a-f]+)-([0-9a-f]+) .* /dev/shm/PostgreSQL}mg;
cmp_ok($dynamic, '<', 16 * 1024 * 1024, 'it is not in dynamic shared memory');
$s->close;
$node->stop;
done_testing();
