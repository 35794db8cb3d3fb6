# Rounds: how many times a query waits for reads that it could not ask for
# before those that it had waited for until then.
#
# Holds: blkio 17; query 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('rounds', conf => "shared_preload_libraries = skipidx\n"
	  . "skipidx.cache_size = 64MB\nskipidx.io_depth_total = 256\n"
	  . "maintenance_work_mem = 256MB\nwal_level = minimal\nmax_wal_senders = 0");
my $s = skx_session($node, 'postgres');

# ra, rb and rc are in 40, 80 and 120 of the documents, far apart; 12 have all of
# them.  common is in every document, and takes many blocks.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, concat_ws(' ', 'common:1', 'w' || i % 5003 || ':2',
	CASE WHEN i % 7500 IN (17, 3017) THEN 'ra:3' END, CASE WHEN i % 3750 IN (17, 1000) THEN 'rb:4' END,
	CASE WHEN i % 2500 IN (517, 17, 1000) THEN 'rc:5' END)::tsvector FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
ANALYZE docs;
SQL

# Nothing of it is in shared buffers any more.
$s->close;
$node->restart;
$s = skx_session($node, 'postgres');
$s->value('SET enable_seqscan = off; SET enable_sort = off');

sub io
{
	return split /\|/, $s->value("SELECT rounds, pins - hits FROM skipidx_io_totals() WHERE scope = 'session'");
}

# Rows, rounds, and frames that were not there when they were pinned.
sub cost
{
	my ($sql) = @_;
	my ($rounds, $loads) = io();
	my $rows = $s->value($sql);
	my ($rounds_after, $loads_after) = io();

	return ($rows, $rounds_after - $rounds, $loads_after - $loads);
}

sub cold { $s->value('SELECT skipidx_cache_reset() \g /dev/null' . "\n"); return cost(@_); }

sub select_of
{
	my ($query, $limit) = @_;

	return $limit ? "SELECT count(*) FROM (SELECT FROM docs WHERE v @@ '$query' ORDER BY v <\@> '$query' LIMIT $limit) l"
	  : "SELECT count(*) FROM docs WHERE v @@ '$query'";
}

my $uring = $s->value("SELECT in_force ~ 'uring' FROM skipidx_settings() WHERE name = 'skipidx.io_method'") eq 't';

# Without reading ahead, each read is a round.
for my $method ('direct', 'buffered')
{
	$s->value("SET skipidx.io_method = $method");
	my ($rows, $rounds, $loads) = cold(select_of('ra & rb'));

	work_is('nothing read ahead: rounds are reads', $rounds, in => $method, reads => $loads);
	work_is('nothing read ahead: rounds', $rounds, in => $method);
	work_is('nothing read ahead, warm: rounds', (cost(select_of('ra & rb')))[1], in => $method);
}

# With it, far fewer, and every time as many.
SKIP:
{
	work_skip(qr/^(ra|common|depth)/), skip 'no io_uring here', 1 unless $uring;
	$s->value('SET skipidx.io_method = uring_direct; SET skipidx.io_depth = 64');
	# Query, rows wanted.
	for my $case ([ 'ra', 0 ], [ 'ra & rb', 0 ], [ 'ra & rb & rc', 0 ], [ 'ra & rb & rc', 10 ], [ 'ra | rb | rc', 10 ], [ 'common & rc', 0 ], [ 'common & rc', 10 ])
	{
		my ($query, $limit) = @$case;
		my $what = $query . ($limit ? ", $limit" : '');
		my (undef, $rounds, $loads) = cold(select_of($query, $limit));
		my (undef, $again) = cold(select_of($query, $limit));

		note "$what: $rounds rounds, $loads alone";
		is($again, $rounds, "$what: the same again");
		work_is("$what: rounds", $rounds);
	}

	# Of more reads than the depth admits, some are a later round.
	my (undef, $deep) = cold(select_of('common'));

	$s->value('SET skipidx.io_depth = 1');
	my (undef, $shallow) = cold(select_of('common'));

	work_is('depth of 1: rounds', $shallow, deep => $deep);
}

# The planes of TIDs and norms are small: the first ranked search brings them
# whole, so that those after it do not wait for pages of them.
SKIP:
{
	work_skip(qr/^planes/), skip 'no io_uring here', 1 unless $uring;
	$s->value('SET skipidx.io_method = uring_direct; SET skipidx.io_depth = 16');
	my $planes = $s->value("SELECT tid_pages + norm_pages FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
	my $there = "SELECT page_frames FROM skipidx_cache_indexes() WHERE index = 'docs_v'::regclass";

	work_is('planes: pages', $planes);
	cold(select_of('ra | rb', 0));
	work_is('planes, a search without ranks: pages', $s->value($there), planes => $planes);
	cold(select_of('ra | rb', 10));
	work_is('planes, a ranked search: pages', $s->value($there), planes => $planes);
	work_is('planes, the next one reads its list: rounds', (cost(select_of('rc', 10)))[1]);
}

# EXPLAIN tells them of a ranked scan, and nothing where nothing was read.
my $explain = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' . select_of('ra & rb', 5);

my ($plan, $rounds) = cold($explain);
my ($told) = $plan =~ /^ *Rounds: (\d+)$/m;

work_is('EXPLAIN tells them: rounds', $told // 0, rounds => $rounds);
# The second search goes another way, as the lists are there: it reads norms that
# the first did without.
cost($explain);
unlike((cost($explain))[0], qr/Rounds/, 'EXPLAIN: none');

$s->close;
$node->stop;
work_done();
