# Work done by a query, bounded from both sides: the skip structure is used,
# and the counters count.  Blocks of 8 kB, a million documents.
#
# Holds: cursor 3, 9; query 4; segment 2; skiplist 7, 8, 9; snapshot 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('work', conf => "maintenance_work_mem = 256MB\n"
	  . "wal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 128MB");
my $s = skx_session($node, 'postgres');

# half: in every second document, at random; rare: 20, evenly spread; close:
# 20 in a row; few: 40, under a list's long form; third: in a third.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, array_to_tsvector(ARRAY['all']
	|| CASE WHEN hashint4(i) & 1 = 0 THEN '{half}'::text[] ELSE '{}' END
	|| CASE WHEN hashint4(i + 5000000) % 3 = 0 THEN '{third}'::text[] ELSE '{}' END
	|| CASE WHEN i % 50000 = 777 THEN '{rare}'::text[] ELSE '{}' END
	|| CASE WHEN i BETWEEN 600000 AND 600019 THEN '{close}'::text[] ELSE '{}' END
	|| CASE WHEN i % 1000 = 5 THEN '{thousand}'::text[] ELSE '{}' END)
	FROM generate_series(1, 1000000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
SET enable_seqscan = off;
SET enable_indexscan = off;
SET skipidx.io_method = buffered;
SQL

my ($posting_pages, $ndocs) = split /\|/,
  $s->value("SELECT posting_pages, ndocs FROM skipidx_segments('docs_v')"
	  . " WHERE kind = 'segment'");

is($ndocs, 1000000, 'one segment holds all documents');
note "$posting_pages pages of posting lists";
work_is('lists of many nodes: pages', $posting_pages);

my @counters = qw(nodes node_pages node_tables subblocks windows_filled positions candidates
  prefetched pages requests loads ahead ahead_used);

sub counters
{
	my ($session) = @_;
	my %at;

	@at{@counters} = split /\|/, $session->value(
		'SELECT nodes, node_pages, node_tables, subblocks, windows_filled, positions,'
		  . ' candidates, prefetched, pages_read, requests, loads, ahead, ahead_used'
		  . ' FROM skipidx_work(), skipidx_io_totals()'
		  . " WHERE scope = 'session'");
	return \%at;
}

# Rows that a query finds, and the work it took.
sub work
{
	my ($session, $query) = @_;
	my $before = counters($session);
	my $n = $session->value("SELECT count(*) FROM docs WHERE v @@ '$query'");
	my $after = counters($session);
	my %spent = map { $_ => $after->{$_} - $before->{$_} } @counters;

	note "$query: $n rows, " . join ', ', map { "$_ $spent{$_}" } @counters;
	return ($n, \%spent);
}

# Each query in a fresh session after a restart, so that reads are cold.
sub cold_work
{
	my ($query) = @_;

	$s->close;
	$node->restart;
	$s = skx_session($node, 'postgres');
	$s->value('SET enable_seqscan = off; SET enable_indexscan = off;'
		  . " SET skipidx.io_method = buffered; SELECT count(*) FROM docs WHERE v @@ 'nosuch'");
	return work($s, $query);
}

sub read_of { my ($spent) = @_; return $spent->{subblocks} + $spent->{windows_filled}; }

# What all of a long list costs is the measure of the rest.
my ($n, $all) = cold_work('half');
my $nodes = $all->{nodes};
my $subblocks = read_of($all);

work_is('half: rows', $n);
work_is('half: nodes', $nodes);
work_is('half: sub-blocks', $subblocks, rows => $n, nodes => $nodes);
work_is('half: pages read', $all->{pages}, nodes => $nodes);

# A rare word, spread: its 20 documents need about 20 sub-blocks of the other.
for my $query ('rare & half', 'half & rare')
{
	my ($rows, $spent) = cold_work($query);

	work_is("$query: rows", $rows);
	work_is("$query: sub-blocks", read_of($spent));
	work_is("$query: nodes", $spent->{nodes});
	work_is("$query: portions", $spent->{node_pages});
	work_is("$query: candidates", $spent->{candidates});
	work_is("$query: pages read", $spent->{pages});
}

# Close together: one or two sub-blocks of one or two nodes; the way there
# leads over the forward pointers and not through every node.
($n, my $close) = cold_work('close & half');
work_is('close & half: rows', $n);
work_is('close & half: sub-blocks', read_of($close));
work_is('close & half: nodes', $close->{nodes});
work_is('close & half: pages read', $close->{pages});

# Two common words: everything, once, but for a sub-block that two windows of
# 4096 documents share, which is counted in both.
my $windows = $ndocs / 4096 + 1;

($n, my $both) = cold_work('half & third');
work_is('half & third: rows', $n);
work_is('half & third: sub-blocks', read_of($both), half => $subblocks, windows => $windows, nodes => $nodes);

# A word in a thousandth: at most a sub-block of the common one for each.
($n, my $thousand) = cold_work('thousand & half');
work_is('thousand & half: rows', $n);
work_is('thousand & half: sub-blocks', read_of($thousand));

# Absent words cost no posting at all.
my ($none, $absent) = work($s, 'half & nosuch');
is($none, 0, 'half & nosuch: rows');
work_is('half & nosuch: sub-blocks', read_of($absent));
work_is('half & nosuch: portions', $absent->{node_pages});

# NOT of a common word costs no more than AND of it.
my ($without, $minus) = work($s, 'rare & !half');
work_is('rare & !half: sub-blocks', read_of($minus));
my ($matched) = work($s, 'rare & half');
is($without + $matched, 20, 'rare & half, rare & !half: rows');

# Warm, nothing is read.
my (undef, $warm) = work($s, 'rare & half');
work_is('rare & half, warm: pages read', $warm->{pages});

# A disjunction is counted by its largest clause's length, where the others have
# far fewer documents: only these are looked up in it.  Where they do not, all
# lists are read.
$s->value('VACUUM docs');
$s->value('SET enable_indexscan = on; SET max_parallel_workers_per_gather = 0');
for my $query ('rare | half', 'third | half')
{
	my $count = "SELECT count(*) FROM docs WHERE v @@ '$query'";
	my $right = $s->value("SELECT count(*) FROM docs WHERE v @@ '$query' AND id::text <> ''");

	like($s->value("EXPLAIN $count"), qr/Skipidx Count/, "$query: counted by the index");
	my $before = counters($s);
	is($s->value($count), $right, "$query: number");
	my $spent = counters($s);

	$spent->{$_} -= $before->{$_} for @counters;
	work_is("$query, counted: sub-blocks", read_of($spent));
}
$s->value('SET enable_indexscan = off; RESET max_parallel_workers_per_gather');

# ---- a list of more nodes than its first can describe ----

# The lexeme h has one of many sets of positions and weights in two documents
# of three, so that its list takes several bits a posting.
$s->value(<<'SQL');
DROP TABLE docs;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE forms AS SELECT i AS form, string_agg(p || substr('ABCDDD', 1 + hashint4(i * 32 + p) % 3 + 3, 1), ',') AS p
	FROM generate_series(0, 63) i, generate_series(1, 30) p
	WHERE hashint4(i + 64 * p) & 7 = 0 GROUP BY i;
INSERT INTO docs SELECT i, CASE WHEN i % 100000 = 99999 THEN 'rare:31 ' WHEN i BETWEEN 900000 AND 900009
	THEN 'close:31 ' ELSE '' END::tsvector || CASE WHEN hashint4(i) % 3 <> 0 THEN ('h:' || p)::tsvector ELSE '' END
	FROM generate_series(1, 1000000) i JOIN forms ON form = hashint4(i + 7777777) & 63
	ORDER BY i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
SQL
($n, $all) = cold_work('h');
work_is('h: rows', $n);
work_is('h: nodes', $all->{nodes});

my ($there, $found) = cold_work('rare & h');
work_is('rare & h: rows', $there);
work_is('rare & h: nodes', $found->{nodes});
work_is('rare & h: sub-blocks', read_of($found));
work_is('rare & h: table pages', $found->{node_tables});
work_is('rare & h: pages read', $found->{pages});

(undef, $found) = cold_work('close & h');
work_is('close & h: nodes', $found->{nodes});
work_is('close & h: sub-blocks', read_of($found));
work_is('close & h: pages read', $found->{pages});

# ---- what is asked for before it is needed ----

# The same query cold by both methods: buffered reads what is pinned and no
# more; uring reads what is asked for as well.
sub planned
{
	my ($query, $limit) = @_;
	my $select = $limit
	  ? "SELECT count(*) FROM (SELECT FROM docs WHERE v @@ '$query' LIMIT $limit) l"
	  : "SELECT count(*) FROM docs WHERE v @@ '$query'";
	my (%n, %spent);

	for my $method (qw(buffered uring))
	{
		$s->value("SET skipidx.io_method = $method;"
			  . ($limit ? 'SET enable_bitmapscan = off; SET enable_indexscan = on' :
				'SET enable_bitmapscan = on; SET enable_indexscan = off'));
		$s->value('SELECT skipidx_cache_reset() IS NULL');
		my $before = counters($s);
		$n{$method} = $s->value($select);
		my $after = counters($s);
		$spent{$method} = { map { $_ => $after->{$_} - $before->{$_} } @counters };
		note "$method, $query: " . join ', ', map { "$_ $spent{$method}{$_}" } @counters;
	}
	is($n{uring}, $n{buffered}, "$query: same rows");
	$spent{uring}{vain} = $spent{uring}{pages} - $spent{buffered}{pages};
	return $spent{uring};
}

SKIP:
{
	work_skip(qr/, read ahead:/), skip 'no io_uring here', 1 if planned('h')->{ahead} == 0;

	# Query; rows wanted, 0 for all; what is looked at beside pages read in vain: reads
	# before they were waited for (a read is one page or several), and, where each page is
	# a read, pages for which nothing of that kind was done.
	for my $case ([ 'h', 0, 'reads' ], [ 'h', 1, 'alone' ], [ '!h', 1, 'alone' ], [ 'rare & h', 0, 'reads alone' ], [ 'h & rare & close', 0, 'reads alone' ], [ 'close & h', 0, 'reads alone' ], [ 'h & nosuch', 0, 'alone' ], [ 'h | rare', 0, 'reads' ], [ 'rare & !h', 0, 'reads alone' ], [ 'h <-> rare', 0, 'reads alone' ], [ 'h <-> h', 0, 'reads' ], [ 'h <-> h', 1, 'reads alone' ], [ '(h <-> h) & rare', 0, 'reads alone' ])
	{
		my ($query, $limit, $looked) = @$case;
		my $spent = planned($query, $limit);
		my $what = $query . ($limit ? ", $limit row" : '') . ', read ahead';

		work_is("$what: pages in vain", $spent->{vain});
		work_is("$what: not used", $spent->{ahead} - $spent->{ahead_used});
		work_is("$what: reads", $spent->{ahead}) if $looked =~ /reads/;
		work_is("$what: reads alone", $spent->{loads} - $spent->{ahead_used}) if $looked =~ /alone/;
	}
}

# Several segments: their headers, dictionaries and lists at once, when the
# whole answer is wanted; one after the other when it may end early.
$s->value(<<'SQL');
ALTER TABLE docs RENAME TO one_segment;
CREATE TABLE docs (v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX parts_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '1GB');
SQL
for my $part (1 .. 5)
{
	$s->value('INSERT INTO docs SELECT array_to_tsvector(ARRAY[\'a\' || i % 7, \'b\' || i % 11, \'c\' || i])'
		  . " FROM generate_series(1, 2000) i; SELECT skipidx_flush('parts_v')");
}
$s->value('ANALYZE docs');
is($s->value("SELECT count(*) FROM skipidx_segments('parts_v') WHERE kind = 'segment'"),
	5, 'five segments');
SKIP:
{
	# What the backend keeps of the segments is there for both methods.
	planned('a1 & b1');
	my $spent = planned('a1 & b1');

	work_skip(qr/^five segments/), skip 'no io_uring here', 1 if $spent->{ahead} == 0;
	work_is('five segments: pages in vain', $spent->{vain});
	work_is('five segments: reads alone', $spent->{loads} - $spent->{ahead_used});
	work_is('five segments: reads ahead', $spent->{ahead});

	# The planner has read the header of the largest; the backend keeps them.
	my $fresh = skx_session($node, 'postgres');
	$fresh->value('SET enable_seqscan = off; SET enable_indexscan = off');
	my ($first, $again) = map { (work($fresh, 'a1 & b1'))[1] } 1 .. 2;
	work_is('five segments: headers asked for', $first->{prefetched} - $again->{prefetched});
	$spent = planned('a1 & b1', 1);
	work_is('five segments, 1 row: pages in vain', $spent->{vain});
	work_is('five segments, 1 row: pages', $spent->{pages});
}
$s->value('DROP TABLE docs; ALTER TABLE one_segment RENAME TO docs');

# Warm, only the next nodes of a list are asked for: who finds everything in
# the cache stops asking for pages of single documents.
$s->value('SET enable_bitmapscan = on; SET enable_indexscan = off');
for my $query ('h <-> h', 'rare & h', 'h')
{
	work($s, $query);
	my (undef, $again) = work($s, $query);

	work_is("$query again: pages read", $again->{pages});
	work_is("$query again: asked for", $again->{prefetched});
}

is($s->value(q{SELECT skipidx_check('docs_v')}), '', 'skipidx_check');

# The words of a phrase generate, where what stands beside it is far more
# frequent; where it is not, they do not.
$s->value(<<'SQL');
CREATE TABLE pairs (id int, n int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO pairs SELECT i, i, ('all:1 ' || CASE WHEN i % 1000 = 5 THEN 'a:2 b:' || 3 + i / 1000 % 2 ELSE 'a:2' END
	|| CASE WHEN i % 4000 = 5 THEN ' rare:9' ELSE '' END)::tsvector FROM generate_series(1, 200000) i;
CREATE INDEX pairs_v ON pairs USING skipidx (v, n) WITH (block_size = '8kB');
SQL
for my $case (
	[ q{v @@ 'all & (a <-> b)'}, 100 ], [ q{v @@ 'a <-> b' AND n > 50000}, 75 ],
	[ q{v @@ '(all & (a <-> b)) | none'}, 100 ], [ q{v @@ 'all & !(rare <-> none) & (a <-> b)'}, 100 ])
{
	my ($where, $rows) = @$case;
	my $before = counters($s);
	my $n = $s->value("SET skipidx.enable_custom_scan = off; SELECT count(*) FROM pairs WHERE $where");
	my $spent = counters($s);

	$spent->{$_} -= $before->{$_} for @counters;
	is($n, $rows, "$where: rows");
	work_is('beside a rarer phrase: documents asked about', $spent->{candidates}, in => $where);
	work_is('beside a rarer phrase: sub-blocks', $spent->{subblocks}, in => $where);
}
$s->value('DROP TABLE pairs');
$s->close;
$node->stop;
work_done();
