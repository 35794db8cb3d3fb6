# CREATE INDEX CONCURRENTLY on a disk that becomes full leaves an index that is
# not valid, and nothing that checkpoints cannot write.
#
# Holds: blkio 5, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxDisk megabytes => 24;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $disk = SkipidxDisk->new;

plan skip_all => 'no mount namespace for users' unless $disk->real;

my $node = skx_node('build', conf => "maintenance_work_mem = 16MB\nmax_parallel_maintenance_workers = 0");
my $where = $disk->tablespace($node);
my $s = skx_session($node, 'postgres');

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs AS SELECT i AS id, (SELECT string_agg('q' || (i * 31 + j * 7919) % 50021 || ':' || j, ' ')
		FROM generate_series(1, 60) j)::tsvector AS v
	FROM generate_series(1, 20000) i;
SQL

# It becomes full where the file grows, or where its blocks are written.
my %failed;
for my $kb (map { 500 + 148 * $_ } 0 .. 9)
{
	$disk->fill($kb);
	my $said = $s->raw("CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v) TABLESPACE $where");
	my ($step) = $said =~ /could not (extend|write)/;

	like($said, qr/No space left|wrote only/, "$kb kB: no space");
	$failed{ $step // 'no' }++;
	is($s->raw('CHECKPOINT'), '', "$kb kB: a checkpoint");
	$disk->empty;
	$s->value('DROP INDEX docs_v');
	$s->value('CHECKPOINT');
}
cmp_ok($failed{write} // 0, '>', 0, 'blocks could not be written: ' . join ', ', map { "$_ $failed{$_}" } sort keys %failed);
$s->value("CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v) TABLESPACE $where");
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'built with space');
done_testing();
