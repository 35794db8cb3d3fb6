# What an index says of its merges: how many segments of a size, how large one
# may become, how much of one may be deleted.  Each holds from the next VACUUM
# on, and for workers.
#
# Holds: am 3; maint 10

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_database skx_session skx_reload skx_workers_done);
use Test::More;

my $node = skx_node('merge_limits', conf => "skipidx.max_workers = 0\n");

skx_database($node, 'd');

my $s = skx_session($node, 'd');

sub stats
{
	my ($what) = @_;

	return $s->value("SELECT $what FROM skipidx_stats('docs_v')");
}

sub limits { return $s->value("ALTER INDEX docs_v $_[0]"); }

sub vacuum { return $s->value('VACUUM (INDEX_CLEANUP ON) docs'); }

sub insert
{
	my ($rows) = @_;

	return $s->value("INSERT INTO docs (v) SELECT ('all:1 word' || i % 97 || ':2 n' || i || ':3')::tsvector"
		  . " FROM generate_series(1, $rows) i");
}

sub segment
{
	my ($rows) = @_;

	insert($rows);
	return $s->value("SELECT skipidx_flush('docs_v')");
}

sub set_up
{
	$s->value('DROP TABLE IF EXISTS docs; CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64MB')");
	return;
}

sub same
{
	my ($what) = @_;

	for my $query ('all', 'word3', '!word3', 'n5 | n7:*')
	{
		my @found = map {
			$s->value("SET enable_seqscan = $_; SET enable_bitmapscan = "
				  . ($_ eq 'on' ? 'off' : 'on')
				  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ '$query'")
		} qw(on off);

		is($found[1], $found[0], "$what: $query");
	}
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
	return;
}

# Segments of a tier.
set_up();
segment(1000) for 1 .. 4;
vacuum();
is(stats('segments'), 4, 'four segments stay');
limits('SET (segments_per_tier = 5)');
vacuum();
is(stats('segments'), 4, 'segments_per_tier 5: still');
limits('SET (segments_per_tier = 4)');
vacuum();
is(stats('segments'), 1, 'segments_per_tier 4: they become one');
limits('SET (segments_per_tier = 30)');
segment(1000) for 1 .. 10;
vacuum();
is(stats('segments'), 11, 'segments_per_tier 30: eleven stay');
same('segments_per_tier');
limits('RESET (segments_per_tier)');
vacuum();
cmp_ok(stats('segments'), '<', 8, 'segments_per_tier, reset: they do not');
same('segments_per_tier, reset');

# Deletes.
set_up();
segment(10000);
$s->value('DELETE FROM docs WHERE id % 10 = 0');
vacuum();
is(stats('deleted'), 1000, 'a tenth deleted: stays');
limits('SET (deletes_pct_allowed = 10)');
vacuum();
is(stats('deleted'), 1000, 'deletes_pct_allowed 10: still');
limits('SET (deletes_pct_allowed = 9)');
vacuum();
is(stats('deleted'), 0, 'deletes_pct_allowed 9: written anew');
limits('SET (deletes_pct_allowed = 50)');
$s->value('DELETE FROM docs WHERE id % 10 < 5');
vacuum();
is(stats('deleted'), 4000, 'deletes_pct_allowed 50: 44 percent stay');
same('deletes_pct_allowed');
limits('RESET (deletes_pct_allowed)');
vacuum();
is(stats('deleted'), 0, 'deletes_pct_allowed, reset: they do not');
same('deletes_pct_allowed, reset');

# Size.  Many lexemes of their own make a segment large.
set_up();
limits("SET (segments_per_tier = 2, max_merged_segment = '8MB')");
for my $n (1 .. 2)
{
	$s->value('INSERT INTO docs (v) SELECT array_to_tsvector(array_agg(md5(i || $$x$$ || j)))'
		  . " || 'all:1' FROM generate_series($n * 10000, $n * 10000 + 9999) i, generate_series(1, 16) j GROUP BY i");
	$s->value("SELECT skipidx_flush('docs_v')");
}
cmp_ok($s->value("SELECT min(npages) * 8192 FROM (SELECT sum(pages) AS npages FROM skipidx_segments('docs_v')"
		  . " WHERE kind = 'segment' GROUP BY segment) p"),
	'>', 4 * 1024 * 1024, 'two large segments');
vacuum();
is(stats('segments'), 2, 'max_merged_segment 8MB: two stay');
segment(1000) for 1 .. 2;
vacuum();
is(stats('segments'), 3, 'max_merged_segment 8MB: small ones become one');
is($s->value("SELECT skipidx_merge('docs_v', 1)"), 1, 'max_merged_segment 8MB: skipidx_merge goes beyond');
same('max_merged_segment');
set_up();
segment(1000) for 1 .. 2;
limits("SET (segments_per_tier = 2, max_merged_segment = '5GB')");
vacuum();
is(stats('segments'), 1, 'max_merged_segment 5GB: they become one');

# Workers go by them, too.
$s->value('ALTER SYSTEM SET skipidx.max_workers = 2');
skx_reload($node, $s);
set_up();
limits("SET (segments_per_tier = 2, pending_limit = '64kB')");
for (1 .. 4)
{
	insert(1500);
	skx_workers_done($node);
}
cmp_ok($s->value("SELECT count(*) FROM skipidx_merges WHERE index = 'docs_v'::regclass AND operation = 'merge'"
		  . " AND asked_by = 'worker' AND state = 'done'"),
	'>=', 1, 'segments_per_tier 2: a worker merges two');
same('a worker');

$s->close;
$node->stop;
done_testing();
