# Which pages of delete bits are read: only the first of a segment, as long as
# that says that the others have none; and whoever marks a document says so, on
# the first page, at once, through a crash and on a standby.  A count that has
# seen pages without bits asks again when rows go meanwhile.  A segment whose
# first page says nothing has all its pages read.
#
# Holds: count 2; segment 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_relation_file skx_fault_lock);
use Test::More;

use constant {
	PAGE => 8192,
	START => 24,				# SKX_PAGE_START
	PLANE => 8189,				# SkxDiskTrailer.plane
	DELETES => 6,
	PER_PAGE => 65024
};

my $node = skx_node('marked_pages', streaming => 1, start => 0, conf => "skipidx.max_workers = 0\nfull_page_writes = off\n");

# a page is changed below, which checksums, on by default from 18 on, would tell
PostgreSQL::Test::Utils::system_or_bail('pg_checksums', '--disable', '-D', $node->data_dir) if $node->pg_version >= 18;
$node->start;
skx_database($node, 'd');
$node->backup('b');

my $standby = PostgreSQL::Test::Cluster->new('marked_standby');

$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;

my $s = skx_session($node, 'd');

# Six pages of bits; in each of them documents of every word.  Those with `steady`
# stay.
$s->value(<<'SQL');
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('w' || i % 7 || ':1 ' || CASE i % 1000 WHEN 1 THEN 'seldom:2' WHEN 2 THEN 'steady:2' ELSE '' END)::tsvector
FROM generate_series(1, 6 * 65024 - 100) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (segments_per_tier = 64, deletes_pct_allowed = 90);
VACUUM (INDEX_CLEANUP ON) docs;
SQL

# Pages that a statement looks at in shared buffers, of the index.
sub looked_at
{
	my ($session, $sql) = @_;
	my $blocks = "SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot();"
	  . " SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'docs_v'";

	# what a session reads once for an index
	$session->value($sql);
	my $before = (split /\n/, $session->value($blocks))[-1];

	$session->value($sql);
	return (split /\n/, $session->value($blocks))[-1] - $before;
}

my $steady = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off;"
  . " SELECT count(id) FROM docs WHERE v @@ 'steady'";
my $best = "SELECT count(*) FROM skipidx_search('docs_v', 'steady', 300) h";

sub agrees
{
	my ($session, $when) = @_;
	my @found = map { $session->value(
			"SET enable_seqscan = $_->[0]; SET enable_bitmapscan = $_->[1]; SET enable_indexscan = $_->[2]; SET skipidx.enable_custom_scan = $_->[3];"
			  . " SELECT count(*) || ' ' || sum(id) FROM docs WHERE v @@ 'seldom' UNION ALL SELECT count(*)::text FROM docs WHERE v @@ 'w3'")
	} ([qw(on off off off)], [qw(off on off off)], [qw(off off on off)], [qw(off off on on)]);

	is($found[$_], $found[0], "$when: " . (qw(seq bitmap plain count))[$_]) for 1 .. 3;
	return;
}

# Deletes the rows with `seldom` of some pages of documents, all or some.
sub remove
{
	my ($first, $last, $and) = @_;

	my $gone = $s->value('WITH d AS (DELETE FROM docs WHERE id % 1000 = 1 AND id > ' . $first * PER_PAGE . ' AND id <= '
		  . $last * PER_PAGE . ($and ? " AND $and" : '') . ' RETURNING 1) SELECT count(*) FROM d');

	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	return $gone;
}

my $none = looked_at($s, $steady);
my $none_best = looked_at($s, $best);

agrees($s, 'nothing deleted');
is($s->value("SELECT deleted FROM skipidx_stats('docs_v')"), 0, 'nothing deleted');

my $gone = remove(3, 4, 'id % 2000 = 1');
is(looked_at($s, $steady) - $none, 1, 'a page has bits: it and the first are looked at');
is(looked_at($s, $best) - $none_best, 1, 'a page has bits: and by rank');
agrees($s, 'a page has bits');
is($s->value("SELECT deleted FROM skipidx_stats('docs_v')"), $gone, 'a page has bits: counted');

# no checkpoint since, and pages are not logged whole
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
is(looked_at($s, $steady) - $none, 1, 'after a crash: two pages');
agrees($s, 'after a crash');
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'after a crash: skipidx_check');

remove(4, 6);
is(looked_at($s, $steady) - $none, 3, 'three have: four pages');

# the first page is looked at whatever it says of its own group
remove(0, 1, 'id % 2000 = 1');
is(looked_at($s, $steady) - $none, 3, 'four have: four pages');
is($s->raw("SELECT skipidx_check('docs_v')"), '', 'four have: skipidx_check');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $t = skx_session($standby, 'd');
agrees($s, 'four have');
agrees($t, 'on the standby');
is($t->value($steady), $s->value($steady), 'on the standby: as many');

# Other rows in the places of those that have gone.
$s->value("INSERT INTO docs SELECT -i, 'w9:1' FROM generate_series(1, 400) i");
cmp_ok($s->value("SELECT count(*) FROM docs WHERE id < 0 AND ctid < (SELECT max(ctid) FROM docs WHERE id > 0)"), '>', 100,
	'their places are taken');
agrees($s, 'places taken');

# A count has read of its first documents that the page of further ones has no
# bits; before it comes to these, VACUUM marks some and sets the map.
{
	my $reader = skx_session($node, 'd');
	my $count = "SELECT count(*) FROM docs WHERE v @@ 'w1'";

	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs; DELETE FROM docs WHERE id % 1000 = 1 AND id BETWEEN 2 * 65024 AND 3 * 65024');
	my $want = $s->value("SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_seqscan = on; $count");

	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('count_matched') . ')');
	# the second batch
	$reader->value("SET enable_seqscan = off; SET skipidx.fault = 'count_matched:wait:2'");
	like($reader->value("EXPLAIN $count"), qr/Skipidx Count/, 'a count beside VACUUM: plan');
	$reader->start($count);
	$node->poll_query_until('d', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
	  or die 'the count does not stop';
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	$s->value('SELECT pg_advisory_unlock_all()');
	is($reader->finish, $want, 'a count beside VACUUM');
	$reader->close;
}
agrees($s, 'counted beside');

# The first page as it was before it said anything; then one that is wrong.
my $path = skx_relation_file($node, 'd', 'docs_v');
my $first;

sub first_page
{
	my ($groups) = @_;

	$_->close for $s, $t;
	$node->stop;
	open my $file, '+<:raw', $path or die "$path: $!";
	for (my $block = 0; !defined $first; $block++)
	{
		sysseek $file, $block * PAGE, 0;
		sysread($file, my $page, PAGE) == PAGE or die 'no page of delete bits';
		$first = $block if vec($page, PLANE, 8) == DELETES;
	}
	sysseek $file, $first * PAGE + START + 4, 0;
	sysread $file, my $was, 4;
	sysseek $file, $first * PAGE + START + 4, 0;
	syswrite $file, pack('V', $groups);
	close $file;
	$node->start;
	$s = skx_session($node, 'd');
	$t = skx_session($standby, 'd');
	return unpack 'V', $was;
}

$s->value("SELECT skipidx_flush('docs_v')");

my $known = looked_at($s, $steady);
my $groups = first_page(0);

is(sprintf('%x', $groups >> 31), 1, 'groups are kept');
is(unpack('%32b*', pack 'V', $groups & 0x7fffffff), 5, 'of five pages');
is(looked_at($s, $steady) - $known, 1, 'not known: also the one without bits');
agrees($s, 'not known');
is($s->raw("SELECT skipidx_check('docs_v')"), '', 'not known: skipidx_check');
remove(0, 2, 'id % 3000 = 1');
agrees($s, 'not known, more deleted');
is(first_page($groups & ~(1 << 3 * 31 / 6) | 1), 0, 'it stays unknown');
like($s->raw("SELECT skipidx_check('docs_v')"), qr/damaged in block $first.*of which the first says that they have none/s,
	'a wrong one is found');

$_->close for $s, $t;
$standby->stop;
$node->stop;
done_testing();
