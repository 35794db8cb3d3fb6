# VACUUM goes through an index part by part, and lets go of its lock in
# between.  Flushes and merges that publish there move documents that it has
# not come to yet, from lists into segments and from segments into others, and
# none of the dead ones may escape it: their places are used again afterwards.
#
# Holds: maint 1, 2, 3; pending 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_database skx_session skx_fault_lock);
use Test::More;

my $node = skx_node('vacuum_parts');

skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $vacuum = skx_session($node, 'd');

sub segments
{
	return $s->value("SELECT count(*) FROM skipidx_segments('docs_v')"
		  . " WHERE kind = 'segment'");
}

# So many rows of the word, in lists or, flushed, in a segment.
sub insert
{
	my ($word, $rows, $flush) = @_;

	$s->value("INSERT INTO docs (v) SELECT ('$word:1 word' || i % 10"
		  . " || ':2')::tsvector FROM generate_series(1, $rows) i");
	$s->value("SELECT skipidx_flush('docs_v')") if $flush;
	return;
}

sub set_up
{
	$s->value('DROP TABLE IF EXISTS docs;'
		  . ' CREATE TABLE docs (id serial, v tsvector)'
		  . ' WITH (autovacuum_enabled = off, vacuum_truncate = off);'
		  . ' CREATE INDEX docs_v ON docs USING skipidx (v)'
		  . " WITH (block_size = '8kB', pending_limit = '100MB')");
	return;
}

# Lets VACUUM stop for the n-th time between two parts, moves documents, lets
# it go on, and uses the places of the rows it took away again.
sub race
{
	my ($what, $n, $move) = @_;
	my $rows = $s->value('SELECT count(*) FROM docs');
	my $lock = skx_fault_lock('vacuum_part_done');

	$s->value('DELETE FROM docs WHERE id % 3 = 0');
	$s->value("SELECT pg_advisory_lock(7564152, $lock)");
	$vacuum->value("SET skipidx.fault = 'vacuum_part_done:wait:$n'");
	$vacuum->start('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF, PARALLEL 0) docs');
	ok($node->poll_query_until('d', 'SELECT count(*) = 1 FROM pg_locks'
			  . " WHERE locktype = 'advisory' AND NOT granted"),
		"$what: stopped between two parts");
	$move->();
	$s->value('SELECT pg_advisory_unlock_all()');
	unlike($vacuum->finish // '', qr/ERROR/, "$what: went on");
	is($s->value("SELECT ndocs - deleted FROM skipidx_stats('docs_v')"),
		$s->value('SELECT count(*) FROM docs'),
		"$what: every dead document is marked, and no other");
	insert('again', $rows / 2);
	for my $query ('old', 'again', 'word3', '!old')
	{
		my @counts = map {
			$s->value("SET enable_seqscan = $_; SET enable_bitmapscan = "
				  . ($_ eq 'on' ? 'off' : 'on')
				  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0)"
				  . " FROM docs WHERE v @@ '$query'")
		} qw(on off);

		is($counts[1], $counts[0], "$what: $query");
	}
	unlike($s->raw("SELECT skipidx_check('docs_v', true)"), qr/ERROR/,
		"$what: skipidx_check");
	return;
}

my $flush = sub { $s->value("SELECT skipidx_flush('docs_v')") };
my $merge = sub {
	my $before = segments();

	$s->value("SELECT skipidx_merge('docs_v', 1)");
	cmp_ok(segments(), '<', $before, "... merged");
};

# A list of several parts: flushed before the first, after some, and flushed
# and merged.
for my $n (1, 2, 3)
{
	set_up();
	insert('old', 150000);
	race("pending, part $n, flush", $n, $flush);
	set_up();
	insert('old', 20000, 1);
	insert('old', 150000);
	race("pending, part $n, flush and merge", $n,
		sub { $flush->(); $merge->() });
}

# Segments of nine, five, one and one parts: merged at the start, in the middle
# of a page of delete bits, between two of them, between segments, in the
# second, before the last, and with others in the meantime.
for my $n (1, 3, 5, 10, 12, 16)
{
	set_up();
	insert('old', 140000, 1);
	insert('old', 70000, 1) if $n > 5;
	insert('old', 3000, 1);
	insert('old', 3000, 1);
	race("segments, part $n, merge", $n, $merge);
}
set_up();
insert('old', 140000, 1);
insert('old', 3000, 1);
race('segments, flush and merge of others', 2,
	sub {
		insert('new', 2000, 1);
		insert('new', 2000, 1);
		$merge->();
		insert('new', 2000, 1);
	});

# A publish reads again what was marked since it looked, and no more; VACUUM
# takes its time in parts.
for my $case ([ 'flush', 'flush_built', 0 ], [ 'flush', 'publish_noted', 1 ],
	[ 'merge', 'merge_built', 0 ], [ 'merge', 'publish_noted', 1 ])
{
	my ($operation, $point, $read) = @$case;
	my $what = "$operation, marks at $point";
	my $lock = skx_fault_lock($point);
	my $again = qr/$operation of index "docs_v": (\d+) pages .*read again under the lock/;

	set_up();
	insert('old', 70000, $operation eq 'merge') for 1 .. 2;
	$s->value('DELETE FROM docs WHERE id BETWEEN 1 AND 100');
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs') if $operation eq 'merge';
	$s->value("DELETE FROM docs WHERE id BETWEEN 201 AND 300; SELECT pg_advisory_lock(7564152, $lock)");
	$vacuum->value("SET skipidx.fault = '$point:wait'; SET client_min_messages = debug1");
	$vacuum->start("SELECT skipidx_$operation('docs_v')");
	ok($node->poll_query_until('d', 'SELECT count(*) = 1 FROM pg_locks'
			  . " WHERE locktype = 'advisory' AND NOT granted"), "$what: stopped there");
	my $said = $s->value('SET client_min_messages = debug1;'
		  . ' VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs; SET client_min_messages = notice');
	my ($parts) = $said =~ /held the lock of publishing in (\d+) parts/;

	cmp_ok($parts, '>=', $operation eq 'merge' ? 10 : 4, "$what: parts of VACUUM");
	$s->value('SELECT pg_advisory_unlock_all()');
	my ($pages) = ($vacuum->finish // '') =~ $again;

	# of a merge the one page of bits with the marks, of a flush the stripe
	if ($read && $operation eq 'flush') { cmp_ok($pages, '>', 100, "$what: pages read again"); }
	else { is($pages, $read, "$what: pages read again"); }
	is($s->value("SELECT ndocs - deleted FROM skipidx_stats('docs_v')"),
		$s->value('SELECT count(*) FROM docs'), "$what: every dead document is marked");
	$vacuum->value('RESET client_min_messages');
}

$_->close for $s, $vacuum;
$node->stop;
done_testing();
