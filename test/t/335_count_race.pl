# Rows that VACUUM takes away, and others that take their places, while a count
# by the visibility map stands between reading matches and asking the map, or
# between the map and the marks of deleted documents: with the segment that it
# reads still in the index, or merged away, so that marks are set elsewhere.  The
# same on a standby, which replays what the primary does.
# So are values counted of the rows, and columns of them from the index alone.
#
# Holds: columns 1; count 1, 2, 3, 7; facets 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_fault_lock);
use Test::More;

my $node = skx_node('count_race', streaming => 1);

skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $older = skx_session($node, 'd');
my $reader = skx_session($node, 'd');

sub insert
{
	my ($word, $first, $last) = @_;

	return $s->value("INSERT INTO docs SELECT i, ('$word:1 word' || i % 10"
		  . " || ':2')::tsvector, i % 5 FROM generate_series($first, $last) i");
}

# 3,000 rows in two segments, all visible to all, of which 285 are dead then: 142
# for all, and with $held the others only when $older has ended.  With $new
# further ones, so that not all pages of the table are visible.
sub set_up
{
	my ($new, $held) = @_;

	$s->value('DROP TABLE IF EXISTS docs;'
		  . ' CREATE TABLE docs (id int, v tsvector, part int) WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v, id, part) WITH (block_size = '8kB', pending_limit = '10MB')");
	for my $first (1, 1501)
	{
		insert('old', $first, $first + 1499);
		$s->value("SELECT skipidx_flush('docs_v')");
	}
	$s->value('VACUUM (INDEX_CLEANUP ON) docs; ANALYZE docs');
	$s->value('DELETE FROM docs WHERE id % 7 = 0 AND id < 1000');
	$older->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1') if $held;
	$s->value('DELETE FROM docs WHERE id % 7 = 0 AND id < 2000');
	insert('new', 10_001, 10_000 + $new) if $new;
	return;
}

sub vacuum { return $s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs'); }

my %meanwhile = (
	nothing => sub { return; },
	vacuum => \&vacuum,
	'merge, vacuum' => sub {
		$s->value("SELECT skipidx_merge('docs_v', 1)");
		vacuum();
		is( $s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment' AND ndocs > 1000"),
			1, 'one segment is left');
		return;
	},
	'vacuum, merge, vacuum' => sub {
		my $marked = "SELECT sum(deleted) FROM skipidx_segments('docs_v') WHERE kind = 'segment'";

		vacuum();
		is($s->value($marked), 142, 'some are marked');
		$s->value("SELECT skipidx_merge('docs_v', 1)");
		$older->value('COMMIT');
		vacuum();
		# but for a page that the reader has pinned
		cmp_ok($s->value($marked), '>', 100, 'the others are, in another segment');
		return;
	},
	'vacuum, other rows, vacuum' => sub {
		vacuum();
		insert('old', 20_001, 21_000);
		vacuum();
		return;
	},
	'other rows deleted, vacuum' => sub {
		$s->value('DELETE FROM docs WHERE id % 11 = 0');
		vacuum();
		return;
	});

# What the statement says that began before `meanwhile` and ended after, on the
# node where $reader and $holder are; a standby follows meanwhile.
my ($where, $holder) = ($node, $s);

sub follow
{
	$node->wait_for_catchup($where, 'replay', $node->lsn('write')) if $where != $node;
	return;
}

# What is asked of the rows that match, and the plan for it.  Rows come in no order of
# a column: since 16, the server takes those of an aggregate as they come in its order.
my %asked = (
	count => [ "SELECT count(*) FROM docs WHERE v @@ '%s'", 'Skipidx Count' ],
	facets => [ "SELECT string_agg(x::text, ' ' ORDER BY x.part) FROM (SELECT part, count(*) FROM docs WHERE v @@ '%s' GROUP BY part) x", 'Skipidx Facets' ],
	columns => [ "SELECT count(*) || ' ' || md5(string_agg(id || '.' || part, ' ' ORDER BY -id)) FROM docs WHERE v @@ '%s'", 'Skipidx Columns' ],
	histogram => [ "SELECT string_agg(count::text, ' ' ORDER BY bucket) FROM skipidx_histogram('docs_v', '%s', 'id', '{500,1000,1700}'::int[])", 'Function Scan' ]);

sub race
{
	my ($point, $query, $new, $between, $asked) = @_;
	my ($statement, $plan) = @{ $asked{ $asked // 'count' } };
	my $what = $where->name . ': ' . ($asked // 'count') . ": $query, $new new, at $point: $between";

	$statement = sprintf $statement, $query;

	set_up($new, $between eq 'vacuum, merge, vacuum');
	follow();
	my $by_rows = $statement;

	$by_rows = "SELECT string_agg(n::text, ' ' ORDER BY b) FROM (SELECT b, count(id) AS n FROM generate_series(0, 3) b LEFT JOIN docs"
	  . " ON width_bucket(id, '{500,1000,1700}') = b AND v @@ '$query' GROUP BY b) x"
	  if $plan eq 'Function Scan';
	my $want = $holder->value("SET enable_indexscan = off; SET enable_bitmapscan = off; $by_rows; RESET enable_indexscan; RESET enable_bitmapscan");
	$holder->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock($point) . ')');
	$reader->value("SET enable_seqscan = off; SET skipidx.fault = '$point:wait'");
	like($reader->value("EXPLAIN $statement"), qr/$plan/, "$what: plan");
	$reader->start($statement);
	$where->poll_query_until('d', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die "$what: does not stop there";
	$meanwhile{$between}->();
	follow();
	$holder->value('SELECT pg_advisory_unlock_all()');
	is($reader->finish, $want, "$what: counts what its snapshot sees");
	return;
}

for my $between (sort keys %meanwhile)
{
	for my $query ('old', 'old & word3', '!nosuch')
	{
		race('count_whole', $query, 0, $between);
		race($_, $query, 500, $between) for 'count_matched', 'count_mapped';
	}
	for my $asked ('facets', 'histogram', 'columns')
	{
		race('count_whole', 'old', 0, $between, $asked);
		race('count_mapped', 'old', 500, $between, $asked);
	}
	race('count_matched', 'old', 500, $between, 'columns');
}

# An error or a cancel at each point leaves nothing behind.
for my $point ('count_whole', 'count_matched', 'count_mapped')
{
	set_up($point eq 'count_whole' ? 0 : 500);
	like($reader->raw("SET skipidx.fault = '$point:error'; SELECT count(*) FROM docs WHERE v @@ 'old'"),
		qr/ERROR:  XX000/, "an error at $point");
	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock($point) . ')');
	$reader->value("SET skipidx.fault = '$point:wait'");
	$reader->start("SELECT count(*) FROM docs WHERE v @@ 'old'");
	$node->poll_query_until('d', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die "$point: does not stop there";
	$s->value('SELECT pg_cancel_backend(' . $reader->backend . ')');
	like($reader->finish, qr/ERROR:  57014/, "a cancel at $point");
	$s->value('SELECT pg_advisory_unlock_all()');
	is($reader->value("RESET skipidx.fault; SELECT count(*) FROM docs WHERE v @@ 'old'"), 2715, "again after $point");
	is($s->value('SELECT pinned FROM skipidx_cache()'), 0, "nothing stays pinned after $point");
}
unlike(slurp_file($node->logfile), qr/WARNING|leak/, 'no warning');

# ---- a standby ----

$node->backup('base');
$where = PostgreSQL::Test::Cluster->new('count_race_standby');
$where->init_from_backup($node, 'base', has_streaming => 1);
$where->append_conf('postgresql.conf', 'max_standby_streaming_delay = 5s');
$where->start;
$reader->close;
($reader, $holder) = (skx_session($where, 'd'), skx_session($where, 'd'));
# what else is replayed cancels the reader
for my $between ('nothing', 'vacuum', 'merge, vacuum', 'vacuum, merge, vacuum')
{
	race('count_whole', 'old', 0, $between);
	race('count_matched', '!nosuch', 500, $between);
}

$_->close for $s, $older, $reader, $holder;
$where->stop;
$node->stop;
done_testing();
