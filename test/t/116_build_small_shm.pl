# CREATE INDEX with workers where /dev/shm has little room: what the norms of a
# segment need is taken before the table is scanned.  With less room segments
# are smaller, with next to none the leader builds alone; nothing fails late.
#
# Holds: am 9; build 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTeam;
use SkipidxTest qw(skx_node skx_session skx_start_apart);
use Test::More;

# The cache must not take what the test leaves.
my $node = skx_node('small_build', conf => $SkipidxTeam::conf . "skipidx.cache_size = 0\ntrack_counts = off\nmaintenance_work_mem = 128MB\nclient_min_messages = notice\n");
my $rows = 800000;

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION skipidx;
CREATE TABLE docs (v tsvector, n int) WITH (autovacuum_enabled = off, parallel_workers = 2);
INSERT INTO docs SELECT CASE WHEN i % 10 = 0 THEN 'a' ELSE 'b' END::tsvector, i % 1000 FROM generate_series(1, $rows) i;
ANALYZE docs;
CHECKPOINT;
SQL

plan skip_all => 'no private mount namespaces here'
  unless skx_start_apart($node, 'mount -t tmpfs -o size=8m,mode=1777 tmpfs /dev/shm');

my $team = SkipidxTeam->new($node, 'postgres');

# A file that leaves so many kB to others.
sub leave
{
	my ($kb) = @_;
	my $s = $team->fault->{s};

	$s->value('CREATE TEMP TABLE IF NOT EXISTS lines (line text); TRUNCATE lines;'
		  . " COPY lines FROM PROGRAM 'rm -f /dev/shm/ballast; df --block-size=1k --output=avail /dev/shm | tail -n 1'");
	my $size = $s->value('SELECT line FROM lines') - $kb;

	$s->value("COPY lines FROM PROGRAM 'fallocate -l ${size}k /dev/shm/ballast'");
	return;
}

# kB left, least and most segments, with workers?
for ([ 7000, 1, 1, 1 ], [ 900, 2, 8, 1 ], [ 300, 1, 1, 0 ])
{
	my ($kb, $least, $most, $workers) = @$_;
	my $name = "$kb kB left";
	my $s = skx_session($node, 'postgres');

	leave($kb);
	my ($said, $took) = $team->run($s, 2, 'CREATE INDEX docs_v ON docs USING skipidx (v, n)');

	leave(6000);
	is(join('', $said =~ /ERROR.*/g), '', "$name: built");
	is($took->{launched}, $workers, $workers ? "$name: with workers" : "$name: alone");
	like($said, qr/NOTICE: .*without parallel workers.*HINT: .*\/dev\/shm/s, "$name: which is said") if !$workers;
	my $segments = $s->value(q{SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment'});

	cmp_ok($segments, '>=', $least, "$name: segments");
	cmp_ok($segments, '<=', $most, "$name: and no more");
	is($s->raw(q{SELECT skipidx_check('docs_v', true)}), '', "$name: skipidx_check");
	is($s->value(q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'a'}), $rows / 10, "$name: answer");
	is($s->value(q{SELECT count(*) FROM docs WHERE v @@ 'b' AND n BETWEEN 8 AND 17}), $rows / 1000 * 9, "$name: answer of a range");
	$s->value('DROP INDEX docs_v');
	$s->close;
}
$team->fault->{s}->close;
$node->stop;
done_testing();
