# Free pages at the end of an index go back to the file system: after loads of
# every kind, with segments and stripes in the way, while others read, on a
# standby, and whatever is killed in between.
#
# Holds: maint 13; manifest 10; pending 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_recovered skx_logged skx_reload skx_workers_done);
use Test::More;
use Time::HiRes qw(sleep);

my $node = skx_node('shrink', streaming => 1, faults => 1,
	conf => "skipidx.max_workers = 0\nmax_standby_streaming_delay = 100ms\n"
	  . "hot_standby_feedback = off\n");

skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $others = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION text_of(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_to_tsvector(array_agg(DISTINCT 'w' || (i % 997 * j * 7919 % 5003))) || ('all:1 n' || i)::tsvector
	FROM generate_series(1, 40) j $$;
-- unlike any other
CREATE FUNCTION unlike(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_to_tsvector(array_agg('u' || i || 'x' || j)) || ('all:1 n' || i)::tsvector || text_of(i)
	FROM generate_series(1, 20) j $$;
-- Made once: parsing them took most of the time of this test.
CREATE TABLE texts AS SELECT i, text_of(i) AS alike, unlike(i) AS unlike FROM generate_series(1, 62000) i;
ALTER TABLE texts ADD PRIMARY KEY (i);
SQL

# A statement that inserts texts, 'alike' or 'unlike', of these numbers.
sub insert
{
	my ($kind, $first, $last) = @_;

	return "INSERT INTO docs (v) SELECT $kind FROM texts WHERE i BETWEEN $first AND $last ORDER BY i";
}

sub set_up
{
	my ($kind) = @_;

	$s->value('DROP TABLE docs; CREATE ' . ($kind // '') . ' TABLE docs (id serial, v tsvector)'
		  . ' WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '256kB', block_size = '8kB')");
	return;
}

# Rows by one statement, or by many.
sub load
{
	my ($first, $last, $step) = @_;

	for (my $i = $first; $i <= $last; $i += $step)
	{
		my $to = $i + $step - 1;

		$s->value(insert('alike', $i, $to));
	}
	return;
}

sub pages
{
	return $s->value("SELECT pg_relation_size('docs_v') / 8192");
}

# What VACUUM says, and what it has given back: pages, bytes of WAL.
my $said;
my @given;

sub vacuum
{
	$said = $s->value('SET client_min_messages = debug1;'
		  . ' VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs; SET client_min_messages = notice');

	push @given, [ $1, $2 ] if $said =~ /index "docs_v" has given back (\d+) of \d+ pages, with (\d+) bytes of WAL/;
	$s->value('SELECT pg_current_xact_id()');
	return pages();
}

# Pages of the same index made anew.
sub fresh
{
	$s->value("CREATE INDEX docs_fresh ON docs USING skipidx (v) WITH (block_size = '8kB')");

	my $pages = $s->value("SELECT pg_relation_size('docs_fresh') / 8192");

	$s->value('DROP INDEX docs_fresh');
	return $pages;
}

sub same
{
	my ($what, $pages) = @_;

	$pages //= '=';
	for my $query ('all', 'w17 & w34', '!w17', 'n5 | n7:*')
	{
		my @found = map {
			$s->value("SET enable_seqscan = $_; SET enable_bitmapscan = "
				  . ($_ eq 'on' ? 'off' : 'on')
				  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0)"
				  . " FROM docs WHERE v @@ '$query'")
		} qw(on off);

		is($found[1], $found[0], "$what: $query");
	}
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
	is($s->value("SELECT file_pages $pages (SELECT sum(pages) FROM"
			  . " skipidx_segments('docs_v')) FROM skipidx_stats('docs_v')"),
		't', "$what: every page has an owner");
	return;
}

# Segments of so many rows each, unlike any other, behind the free pages of the
# first rows.  The limits keep them from becoming one with another.
sub set_up_behind
{
	my ($first, @rows) = @_;
	my $to = $first;

	set_up();
	$s->value('DROP INDEX docs_v; ' . insert('unlike', 1, $first)
		  . '; CREATE INDEX docs_v ON docs USING skipidx (v)'
		  . " WITH (block_size = '8kB', pending_limit = '256MB', max_merged_segment = '8MB')");
	for my $rows (@rows)
	{
		$s->value(insert('unlike', $to + 1, $to + $rows) . ";"
			  . " SELECT skipidx_flush('docs_v'), pg_current_xact_id()");
		$to += $rows;
	}
	vacuum() for 1 .. 3;
	$s->value("ALTER TABLE docs SET (vacuum_truncate = off); DELETE FROM docs WHERE id <= $first");
	vacuum();
	$s->value('ALTER TABLE docs RESET (vacuum_truncate)');
	return;
}

# Of a file in several segments less that is free is much than of one in one.
for my $case ([ 'two segments', 24000, 4000 ], [ 'one segment', 28000 ])
{
	my ($what, @rows) = @$case;

	# with what was left to flushes of the lists
	set_up_behind(3000, @rows);
	my ($pages, $free, $segments) = split /\|/, $s->value("SELECT sum(pages), sum(pages) FILTER (WHERE kind = 'free'),"
		  . " count(*) FILTER (WHERE kind = 'segment') FROM skipidx_segments('docs_v')");
	is($segments, scalar(@rows), "$what: so many");
	ok($free > 128 && $free > $pages / 8 && $free < $pages / 5, "$what: between an eighth and a fifth is free ($free of $pages)");
	my $shorter = pages() - vacuum();
	if (@rows > 1)
	{
		cmp_ok($shorter, '>=', $free / 2, "$what: shorter");
	}
	else
	{
		is($shorter, 0, "$what: stays as it is");
	}
	same($what);
}

for my $case ([ 'one statement', 60000 ], [ '40 statements', 1500 ])
{
	my ($what, $step) = @$case;

	set_up();
	load(1, 60000, $step);

	my $before = pages();

	vacuum();

	my $after = vacuum();
	my $fresh = fresh();

	cmp_ok($after, '<', $before, "$what: shorter");
	cmp_ok($given[-1][0], '>=', 128, "$what: pages given back");
	# root, metapage, and a stripe with the first page of its extent
	cmp_ok($given[-1][1], '<=', 8 * 8192, "$what: with little WAL");
	note "$given[-1][0] pages, $given[-1][1] bytes of WAL";
	cmp_ok($after, '<=', 1.5 * $fresh, "$what: not much more than made anew");
	same($what);

	# and goes on
	load(60001, 62000, 100);
	same("$what, inserts");
	$s->value('DELETE FROM docs WHERE id % 3 > 0');
	vacuum();
	cmp_ok(vacuum(), '<=', $after, "$what: deleted, shorter");
	same("$what, deleted");
	load(1, 20000, 4000);
	same("$what, grown again");
}

# Long documents, whose chains lie in the stripe's extents.
set_up();
$s->value("INSERT INTO docs (v) SELECT array_to_tsvector(array_agg('l' || i || 'x' || j)) || 'all:1'"
	  . ' FROM generate_series(1, 400) i, generate_series(1, 3000) j GROUP BY i');
load(1, 3000, 10);
$s->value("SELECT skipidx_flush('docs_v')");
vacuum();
# a segment moves only into pages that are free
cmp_ok(vacuum(), '<=', 2.3 * fresh(), 'long documents: not much more than made anew');
same('long documents');
load(1, 300, 10);
same('long documents, inserts');

# An unlogged and a temporary index.
for my $kind ('UNLOGGED', 'TEMPORARY')
{
	set_up($kind);
	load(1, 12000, 12000);

	my $before = pages();

	vacuum();
	cmp_ok(vacuum(), '<', $before, "$kind: shorter");
	same($kind);
	load(1, 1000, 100);
	same("$kind, inserts");
}

# A reader in a transaction keeps the end where it is, and VACUUM from nothing.
set_up();
load(1, 12000, 12000);
$others->value('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN;'
	  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
my $held = pages();
my $watch = $s->watch;
vacuum();
cmp_ok($watch->(), '<', 5, 'a reader: VACUUM does not wait for it');
cmp_ok(vacuum(), '>=', $held, 'a reader: the file stays as long');
is(scalar(split /\n/, $others->value('FETCH ALL FROM c')), 11990, 'a reader: has its rows');
$others->value('COMMIT');
vacuum();
cmp_ok(vacuum(), '<', $held, 'the reader has gone: shorter');
same('a reader');

# A standby: has the same answers, is as short, and ends scans that are in the
# way rather than tell them anything wrong.
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('shrink_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
set_up();
load(1, 12000, 12000);
$node->wait_for_catchup($standby);
my $reader = skx_session($standby, 'd');
$reader->value('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN;'
	  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
my $primary = pages();
vacuum();
cmp_ok(vacuum(), '<', $primary, 'standby: the primary is shorter');
$node->wait_for_catchup($standby);
my $rest = $reader->raw('FETCH ALL FROM c');
ok($rest =~ /conflict with recovery|terminating connection/ || scalar(split /\n/, $rest) == 11990,
	'standby: an open scan is ended, or has its rows');
$reader->close;
is($standby->safe_psql('d', "SELECT pg_relation_size('docs_v') / 8192"), pages(), 'standby: as short');
is( $standby->safe_psql('d', "SET enable_seqscan = off; SELECT count(*), sum(id) FROM docs WHERE v @@ 'w17 | n9'"),
	$node->safe_psql('d', "SET enable_seqscan = on; SET enable_bitmapscan = off; SELECT count(*), sum(id) FROM docs WHERE v @@ 'w17 | n9'"),
	'standby: the same rows');
is($standby->safe_psql('d', "SELECT skipidx_check('docs_v')"), '', 'standby: skipidx_check');
load(1, 3000, 100);
$node->wait_for_catchup($standby);
is($standby->safe_psql('d', "SELECT skipidx_check('docs_v', true)"), '', 'standby, inserts: skipidx_check');

# Where the table's file must not become shorter, nor does the index, and an
# open cursor of a standby stays.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
skx_reload($standby);
set_up();
$s->value('ALTER TABLE docs SET (vacuum_truncate = off)');
load(1, 12000, 12000);
$s->value("SELECT skipidx_flush('docs_v'), pg_current_xact_id()");
$primary = pages();
vacuum();
cmp_ok(vacuum(), '>=', $primary, 'vacuum_truncate off: the file stays as long');
$node->wait_for_catchup($standby);
$reader = skx_session($standby, 'd');
$reader->value('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN;'
	  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
$standby->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_wal_receiver');
$node->poll_query_until('postgres', 'SELECT count(backend_xmin) > 0 FROM pg_stat_replication');
vacuum();
$node->wait_for_catchup($standby);
is(scalar(split /\n/, $reader->raw('FETCH 1000 FROM c')), 1000, 'vacuum_truncate off: a cursor on the standby has its rows');
same('vacuum_truncate off');
$s->value('ALTER TABLE docs RESET (vacuum_truncate)');
$primary = pages();
cmp_ok(vacuum(), '<', $primary, 'vacuum_truncate, reset: shorter');
$node->wait_for_catchup($standby);
like($reader->raw('FETCH ALL FROM c'), qr/conflict with recovery|terminating connection/,
	'vacuum_truncate, reset: the cursor is ended');
$reader->close;

# So it is where a segment is put aside and comes back, to pages that the cursor
# reads.
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\n");
skx_reload($standby);
$node->poll_query_until('postgres', 'SELECT count(backend_xmin) = 0 FROM pg_stat_replication');
set_up_aside();
$primary = pages();
$node->wait_for_catchup($standby);
$reader = skx_session($standby, 'd');
$reader->value('SET enable_seqscan = off; SET enable_bitmapscan = off; BEGIN;'
	  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
my $moved = moves();
vacuum();
skx_workers_done($node);
cmp_ok(moves(), '>=', $moved + 2, 'standby, aside: by two merges');
cmp_ok(pages(), '<', $primary, 'standby, aside: the primary is shorter');
$node->wait_for_catchup($standby);
$rest = $reader->raw('FETCH ALL FROM c');
ok($rest =~ /conflict with recovery|terminating connection/ || scalar(split /\n/, $rest) == 27990,
	'standby, aside: an open scan is ended, or has its rows');
$reader->close;
is($standby->safe_psql('d', "SELECT pg_relation_size('docs_v') / 8192"), pages(), 'standby, aside: as short');
is($standby->safe_psql('d', "SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all'"), 28000,
	'standby, aside: the same rows');
is($standby->safe_psql('d', "SELECT skipidx_check('docs_v', true)"), '', 'standby, aside: skipidx_check');
$standby->stop;
setting('skipidx.max_workers', '0');

# Nor is a segment at the end of a file that is free before it moved for that.
set_up();
$s->value('DROP INDEX docs_v; ALTER TABLE docs SET (vacuum_truncate = off)');
load(1, 30000, 30000);
$s->value("CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");
load(1, 3000, 3000);
$s->value("SELECT skipidx_flush('docs_v'); DELETE FROM docs WHERE id <= 30000");
vacuum();
my $segments = "SELECT string_agg(segment::text, ',' ORDER BY segment) FROM skipidx_segments('docs_v') WHERE kind = 'segment'";
my $placed = $s->value($segments);
vacuum();
is($s->value($segments), $placed, 'vacuum_truncate off: segments stay where they are');
$s->value('ALTER TABLE docs RESET (vacuum_truncate)');
vacuum();
isnt($s->value($segments), $placed, 'vacuum_truncate, reset: they move');
SKIP:
{
	skip 'no such setting', 2 if $node->pg_version < 18;
	set_up();
	load(1, 12000, 12000);
	$s->value("SELECT skipidx_flush('docs_v'), pg_current_xact_id(); SET vacuum_truncate = off");
	$primary = pages();
	vacuum();
	cmp_ok(vacuum(), '>=', $primary, 'the setting vacuum_truncate off: the file stays as long');
	$s->value('ALTER TABLE docs SET (vacuum_truncate = on)');
	cmp_ok(vacuum(), '<', $primary, 'but that of the table counts');
	$s->value('RESET vacuum_truncate');
}

# Of the server, as both sessions and all workers from now on have it.
sub setting
{
	my ($name, $value) = @_;

	$node->append_conf('postgresql.conf', "$name = $value\n");
	skx_reload($node, $s, $others);
	return;
}

# Merges of one segment by a worker; such a merge moves it.
sub moves
{
	return $s->value("SELECT count(*) FROM skipidx_merges WHERE index = 'docs_v'::regclass AND operation = 'merge'"
		  . " AND segments = 1 AND asked_by = 'worker' AND state = 'done'");
}

# With workers: after loads of any kind, the VACUUM behind it, and its worker,
# there is little more than made anew, in few segments.
setting('skipidx.max_workers', '2');
for my $case ([ 'one statement', 60000 ], [ '60 statements', 1000 ])
{
	my ($what, $step) = @$case;

	set_up();
	load(1, 60000, $step);
	vacuum();
	skx_workers_done($node);
	cmp_ok(pages(), '<=', 1.5 * fresh(), "$what, workers: not much more than made anew");
	cmp_ok($s->value("SELECT segments FROM skipidx_stats('docs_v')"), '<=', 10, "$what, workers: few segments");
	same("$what, workers");
}

# A segment that does not fit into the free pages before it is put aside, and
# comes back; it would fit if more than 20,000 rows came before it.
sub set_up_aside
{
	my ($first) = @_ ? @_ : 12000;

	setting('skipidx.max_workers', '0');
	set_up_behind($first, 40000 - $first);
	setting('skipidx.max_workers', '2');
	return;
}

set_up_aside();
my $large = pages();
my $least = $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind <> 'free'");
my $segment = $s->value("SELECT max(pages) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
cmp_ok($large - $least, '<', $segment, 'aside: what is free does not suffice');
cmp_ok($large - $least, '>', $large / 5, 'aside: but it is much');
my $moves = moves();
vacuum();
skx_workers_done($node);
cmp_ok(pages(), '<=', $least + 128, 'aside: as short as it can be');
is(moves(), $moves + 2, 'aside: by two merges');
same('aside');
$least = pages();
vacuum();
skx_workers_done($node);
is(pages(), $least, 'aside: stays as it is');
is(moves(), $moves + 2, 'aside: nothing moves again');

# Where the disk has no room for it it stays, and that is no error.
set_up_aside();
setting('skipidx.max_workers', '0');
$s->value("SET skipidx.fault_grow = 'enospc:1:1000000'");
is(vacuum(), $large, 'aside, a full disk: as long as before');
$s->value('RESET skipidx.fault_grow');
like($said, qr/DEBUG: .*could not extend index "docs_v"/, 'aside, a full disk: it was tried');
unlike($said, qr/(ERROR|WARNING): /, 'aside, a full disk: no error');
same('aside, a full disk');
vacuum();
cmp_ok(pages(), '<=', $least + 128, 'aside, space again: as short as it can be');
same('aside, space again');

# While a reader keeps the end of the file where it is nothing moves in vain.
set_up_aside();
$others->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
$others->value("SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all'");
$moves = moves();
my @held;
for (1 .. 3)
{
	vacuum();
	sleep 1;
	push @held, pages();
}
is($held[2], $large, 'aside, a reader: stays as long as it is');
is(moves(), $moves, 'aside, a reader: nothing moves');
is($others->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), 28000, 'aside, a reader: has its rows');
same('aside, a reader');
$others->value('COMMIT; RESET enable_seqscan');
vacuum();
skx_workers_done($node);
cmp_ok(pages(), '<=', $least + 128, 'aside, the reader has gone: as short as it can be');
same('aside, the reader has gone');

# An old transaction that does not use the index holds nothing back: under the
# lock of a shorter file all that is free may be overwritten.
set_up_aside();
setting('skipidx.reuse_early', 'off');
$others->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
$s->value('DELETE FROM docs WHERE id > 39000');
vacuum();
skx_workers_done($node);
cmp_ok(pages(), '<=', $least + 128, 'aside, an old transaction: as short as it can be');
$others->value('SET enable_seqscan = off');
is($others->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), 28000, 'aside, an old transaction: has its rows');
$others->value('COMMIT; RESET enable_seqscan');
same('aside, an old transaction');
setting('skipidx.reuse_early', 'auto');

# That much of a file is free makes a worker that merges move nothing.
set_up_aside(26000);
$s->value("ALTER INDEX docs_v SET (pending_limit = '64kB')");
my $now = $s->value('SELECT clock_timestamp()');
$large = pages();
for my $i (1 .. 12)
{
	$s->value(insert('unlike', 50001 + $i * 200, 50200 + $i * 200));
	skx_workers_done($node);
}
is( $s->value("SELECT count(*) FILTER (WHERE segments > 1) > 0, count(*) FILTER (WHERE segments = 1) FROM skipidx_merges"
		  . " WHERE operation = 'merge' AND asked_by = 'worker' AND started > '$now'"),
	't|0', 'no VACUUM: a worker merges, and moves nothing');
vacuum();
skx_workers_done($node);
cmp_ok(pages(), '<', $large * 0.7, 'and a VACUUM: shorter by what it moves');
same('and a VACUUM');

# Killed while it is put aside, and while it comes back.
for my $case ([ 'merge_built', 1 ], [ 'merge_built', 2 ], [ 'shrink_flipped', 1 ])
{
	my ($point, $times) = @$case;
	my $what = "aside, killed at $point, time $times";

	set_up_aside();
	my $from = -s $node->logfile;
	$s->value("ALTER DATABASE d SET skipidx.fault = '$point:kill:$times'");
	$s->raw('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	skx_logged($node, $from, qr/fault point $point: kill.*all server processes terminated/s);
	$_->close for $s, $others;
	skx_recovered($node);
	$node->safe_psql('postgres', 'ALTER DATABASE d RESET skipidx.fault');
	$s = skx_session($node, 'd');
	$others = skx_session($node, 'd');
	same($what, '>=');
	for (1 .. 2)
	{
		vacuum();
		skx_workers_done($node);
	}
	cmp_ok(pages(), '<=', $least + 128, "$what: as short as it can be");
	same("$what, VACUUM");
}
setting('skipidx.max_workers', '0');

# Killed between any two steps; what was left behind is overwritten.
# (of a stripe that moves: 510_faults.pl)
for my $point (qw(shrink_flipped shrink_done))
{
	set_up();
	load(1, 12000, 12000);
	# another stripe, at the end of the file
	$others->value(insert('alike', 1, 3000));
	$s->value("SELECT skipidx_flush('docs_v'), pg_current_xact_id()");
	# which VACUUM finds enough to give back depends on the sessions' stripes
	$others->value("SET skipidx.fault = '$point:kill'");
	for (1 .. 3)
	{
		$others->raw('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
		last if $others->gone;
		$s->value('SELECT pg_current_xact_id()');
	}
	$_->close for $s, $others;
	skx_recovered($node);
	like(slurp_file($node->logfile), qr/fault point $point: kill/, "killed at $point");
	$s = skx_session($node, 'd');
	$others = skx_session($node, 'd');
	# the file is longer than the root says if that had come to disk
	my $pages = $point eq 'shrink_flipped' ? '>=' : '=';
	same("killed at $point", $pages);
	load(1, 12000, 6000);
	same("killed at $point, inserts", $pages);
	vacuum();
	vacuum();
	same("killed at $point, VACUUM", $pages);
}

# So many extents leave the file that fewer pages suffice for the root than were
# counted on: each merge that fails has freed pages from another time on.
set_up();
$s->value("ALTER INDEX docs_v SET (segments_per_tier = 64); SET skipidx.reuse_early = off");
for my $i (1 .. 124)
{
	# of two tiers, so that there is nothing to merge
	my $rows = $i % 2 ? 1 : 400;

	$s->value(insert('alike', 1, $rows) . "; SELECT skipidx_flush('docs_v')");
}
$others->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
for (1 .. 600)
{
	$s->raw("SET skipidx.fault = 'merge_built:error'; SELECT skipidx_merge('docs_v', 123)");
	$s->value('SELECT pg_current_xact_id()');
	last if $_ % 10 == 0
	  && $s->value("SELECT count(*) > 480 FROM skipidx_segments('docs_v') WHERE kind IN ('waiting', 'free')") eq 't';
}
$s->value("RESET skipidx.fault; SET client_min_messages = warning");
my $many = pages();
is($s->raw('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs'), '', 'many extents leave the file: no warning');
cmp_ok(pages(), '<', $many, 'many extents leave the file: shorter');
$others->value('COMMIT');
$s->value('RESET skipidx.reuse_early; SET client_min_messages = notice');
same('many extents leave the file');

# An error between the two steps: the next VACUUM gives back what that has left.
set_up();
load(1, 12000, 12000);
$s->value("SELECT skipidx_flush('docs_v'), pg_current_xact_id()");
vacuum();
$s->value("SET skipidx.fault = 'shrink_flipped:error'");
load(1, 12000, 12000);
$s->value('DELETE FROM docs WHERE id > 1000');
for (1 .. 3)
{
	last if $s->raw('SET client_min_messages = warning; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs') =~ /told to fail/;
	$s->value('SELECT pg_current_xact_id()');
}
$s->value("RESET skipidx.fault; SELECT pg_current_xact_id()");
my $owned = "(SELECT sum(pages) FROM skipidx_segments('docs_v'))";
cmp_ok($s->value("SELECT file_pages - $owned FROM skipidx_stats('docs_v')"), '>=', 128, 'an error after the flip: pages are left');
vacuum();
same('an error after the flip, VACUUM');

$_->close for $s, $others;
$node->stop;
done_testing();
