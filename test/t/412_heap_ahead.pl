# Blocks of the table are asked for before the rows in them are handed out: as
# many as will be wanted, each once, and none where that is turned off.
#
# Holds: snapshot 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('heap_ahead', conf => "shared_buffers = 64MB\neffective_io_concurrency = 8\nskipidx.io_depth = 2\n"
	  . "maintenance_work_mem = 256MB\nwal_level = minimal\nmax_wal_senders = 0");
my $s = skx_session($node, 'postgres');

# Four rows a block: far is in every 40th, so each time in another block, once
# to 16 times; near is in the first 800 rows, so in four of each of 200 blocks.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector, filling text) WITH (autovacuum_enabled = off);
ALTER TABLE docs ALTER filling SET STORAGE PLAIN;
INSERT INTO docs SELECT i, (CASE WHEN i % 40 = 7 THEN 'far:' || (SELECT string_agg(p::text, ',')
		FROM generate_series(1, 1 + i / 40 % 16) p) ELSE 'other' END
	|| CASE WHEN i <= 800 THEN ' near' ELSE '' END)::tsvector, repeat('x', 1900) FROM generate_series(1, 8000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, id);
VACUUM ANALYZE docs;
SQL
work_is('four rows a block: blocks', $s->value("SELECT count(DISTINCT (ctid::text::point)[0]) FROM docs WHERE v @@ 'near'"));

# Rows of a query, and blocks that it asked for; cold: with none in memory.
sub asked
{
	my ($sql) = @_;
	my $before = $s->value('SELECT heap_prefetched FROM skipidx_work()');
	my $rows = $s->value($sql);

	return ($rows, $s->value('SELECT heap_prefetched FROM skipidx_work()') - $before);
}

sub cold
{
	my ($sql, $set) = @_;

	$s->close;
	$node->restart;
	$s = skx_session($node, 'postgres');
	$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;' . ($set // ''));
	return asked($sql);
}

sub ranked { my ($limit) = @_; return "SELECT count(id) FROM (SELECT id FROM docs WHERE v @@ 'far' ORDER BY v <\@> 'far' LIMIT $limit) l"; }
sub ordered { my ($way) = @_; return "SELECT count(id) FROM (SELECT id FROM docs WHERE v @@ 'near' ORDER BY id $way LIMIT 1000) l"; }
sub plain { my ($word, $limit) = @_; return "SELECT count(id) FROM (SELECT id FROM docs WHERE v @@ '$word' LIMIT $limit) l"; }

# Query, rows.  The first row's own block is read, not asked for; nor is what begins a
# batch of a plain scan.
for my $case (
	[ 'ranked', ranked(20), 20 ],
	[ 'ranked, one row', ranked(1), 1 ],
	[ 'ranked, all', ranked(1000), 200 ],
	[ 'plain', plain('far', 1000), 200 ],
	[ 'plain, few', plain('far', 5), 5 ],
	[ 'blocks in turn, which the kernel reads ahead', plain('near', 1000), 800 ],
	[ 'rows of a block, backward', ordered('DESC'), 800 ],
	[ 'rows of a block, forward', ordered('ASC'), 800 ])
{
	my ($what, $sql, $rows) = @$case;
	my ($n, $blocks) = cold($sql);

	is($n, $rows, "$what: rows");
	work_is("$what: blocks asked for", $blocks);
	work_is('once they are there: blocks asked for', (asked($sql))[1], in => $what) if $what ne 'plain, few';
}
work_is('no concurrency: blocks asked for', (cold(ranked(20), 'SET effective_io_concurrency = 0'))[1]);
work_is('no depth, so by the concurrency: blocks asked for', (cold(ranked(20), 'SET skipidx.io_depth = 0'))[1]);

# The first row of those that will be wanted brings as many as may be read at a
# time; one that may be the last, no other.
for my $limit (' LIMIT 20', ' LIMIT 5', '')
{
	cold("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'far' ORDER BY v <\@> 'far'$limit");
	my (undef, $blocks) = asked('FETCH 1 FROM c');

	$s->value('COMMIT');
	work_is("cursor$limit: blocks asked for with the first row", $blocks);
}

# With little concurrency the depth of the index's own reads is that of rows.
cold("SET effective_io_concurrency = 1; SET skipidx.io_depth = 12;"
	  . "BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'far' ORDER BY v <\@> 'far' LIMIT 20");
my (undef, $deep) = asked('FETCH 1 FROM c');
work_is('depth of 12: blocks asked for with the first row', $deep);

$s->close;
$node->stop;
work_done();
