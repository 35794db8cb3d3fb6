# What a collector is promised: every match once, in ranges that ascend, that it
# may choose, answer by itself, and ask for again, in segments that may come in an
# order of its own, then pending documents; nothing while it is full; and an end
# at any time.  A collector of the test's own sees to it, with rows in
# several segments, some of which are dead, and pending ones.
#
# Holds: exec 2, 3, 4, 5, 6, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_module);
use Test::More;

my $node = skx_node('collectors', conf => "skipidx.max_workers = 0\nautovacuum = off\nmaintenance_work_mem = 256MB");
my $s = skx_session($node, 'postgres');

plan skip_all => 'servers from 16 on do not let a library see the functions of skipidx'
  if $s->value("SELECT current_setting('server_version_num')::int") >= 160000;

# w2 is in every second row, and so on; a segment with several parts (of 32,768
# documents), two small ones, and 9,000 rows that are pending.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, ('all' || CASE WHEN i % 2 = 0 THEN ' w2' ELSE '' END || CASE WHEN i % 7 = 0 THEN ' w7' ELSE '' END
		|| CASE WHEN i % 1000 = 0 THEN ' w1000' ELSE '' END || ' x' || i % 91)::tsvector FROM generate_series(first, first + n - 1) i $$;
SELECT add(1, 150000);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB');
SELECT add(200001, 3000);
SELECT skipidx_flush('docs_v');
SELECT add(300001, 3000);
SELECT skipidx_flush('docs_v');
DELETE FROM docs WHERE id % 11 = 0;
VACUUM docs;
SELECT add(400001, 9000);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SQL
my $segments = $s->value("SELECT count(*) FROM skipidx_segments('docs_v')");
cmp_ok($segments, '>=', 3, 'segments');
$s->value('CREATE FUNCTION skipidx_collect(index regclass, query tsquery, ways int, room int, again int, turns int, fails int, step int DEFAULT 0, enough int DEFAULT 0, own int DEFAULT 0, breaks int DEFAULT 0) RETURNS text LANGUAGE c AS $$' . skx_module('skipidx_collect') . '$$');

# Rows and the sum of their places, by a sequential scan.
sub wanted
{
	my ($query) = @_;

	return $s->value("SELECT count(*) || ' ' || coalesce(sum(((ctid::text::point)[0] * 65536 + (ctid::text::point)[1])::int8), 0) FROM docs WHERE v @@ '$query'");
}

# how much room, and which ranges
my %step_of = (1 => 0, 1000000 => 3000, -5000 => 0);

for my $query ('w2', 'w7 | w1000', 'w2 & w7 & x5', 'all & !w2', 'w1000:*', '!all', 'w2 & none')
{
	my ($rows, $places) = split / /, wanted($query);

	# one of each, with no room but for a row, some, or all of them, which is
	# made by the collector itself or by whoever asks; ranges once or twice
	for my $room (1, 5000, 1000000, -1, -5000)
	{
		for my $again (0, 2)
		{
			is($s->value("SELECT skipidx_collect('docs_v', '$query', 1, $room, $again, 0, 0)"), "$rows $places 1", "$query: alone, room $room, again $again");
			is($s->value("SELECT skipidx_collect('docs_v', '$query', 3, $room, $again, 0, 0)"), "$rows $places 1", "$query: three share it, room $room, again $again");
		}
	}
	# ranges that the collector chooses, some of which it wants twice
	for my $step (1000, 4096, 77777)
	{
		is($s->value("SELECT skipidx_collect('docs_v', '$query', 1, 5000, 3, 0, 0, $step)"), "$rows $places 1", "$query: ranges of $step");
	}
	# the first rows of each segment, and all that are pending
	for my $enough (1, 100, 5000, 1000000)
	{
		my $first = $s->value("SELECT count(*) || ' ' || coalesce(sum(place), 0) FROM (SELECT id / 100000 AS part, ((ctid::text::point)[0] * 65536 + (ctid::text::point)[1])::int8 AS place, row_number() OVER (PARTITION BY CASE WHEN id <= 150000 THEN 0 ELSE id / 100000 END ORDER BY ctid) AS n FROM docs WHERE v @@ '$query') x WHERE n <= $enough OR part = 4");

		is($s->value("SELECT skipidx_collect('docs_v', '$query', 1, $_, 0, 0, 0, $step_of{$_}, $enough)"), "$first 1", "$query: $enough of each, ranges of $step_of{$_}") for keys %step_of;
		is($s->value("SELECT skipidx_collect('docs_v', '$query', 1, $_, 2, 0, 0, $step_of{$_}, $enough)"), "$first 1", "$query: $enough of each, ranges of $step_of{$_}, two again") for keys %step_of;
	}
	# segments in another order, some or all of which the collector answers by
	# itself, a part of what is pending, and all once more
	for my $own (1, 2, 3)
	{
		my $some = $s->value("SELECT count(*) || ' ' || coalesce(sum(((ctid::text::point)[0] * 65536 + (ctid::text::point)[1])::int8), 0) FROM docs WHERE v @@ '$query' AND (id <= 400000 OR ($own > 1 AND (ctid::text::point)[1]::int % 2 = 1))");

		for my $room (1, 5000, -5000)
		{
			is($s->value("SELECT skipidx_collect('docs_v', '$query', 1, $room, 0, 0, 0, 0, 0, $own)"), "$some 1", "$query: in an order, one of $own by itself, room $room");
			is($s->value("SELECT skipidx_collect('docs_v', '$query', 3, $room, 0, 0, 0, 0, 0, $own)"), "$some 1", "$query: three share an order, one of $own by themselves, room $room");
		}
	}
	# cursors that have nothing in common but the index
	is($s->value("SELECT skipidx_collect('docs_v', '$query', -2, 100, 0, 0, 0)"), join(' ', 2 * $rows, 2 * $places, 2), "$query: two cursors");
}

my $sees_pins = $s->value("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_buffercache'");
$s->value('CREATE EXTENSION pg_buffercache') if $sees_pins;

# An end before the first row, and anywhere later; then all is as before.
my $all = wanted('w2 | w7');

for my $ways (1, 3, -2)
{
	for my $turns (1 .. 7, 30, 60)
	{
		like($s->value("SELECT skipidx_collect('docs_v', 'w2 | w7', $ways, 1, 1, $turns, 0)"), qr/^\d+ \d+ \d$/, "$ways ways: ended after $turns turns");
	}
	is($s->value('SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache'), 0, "$ways ways: no page is pinned") if $sees_pins;

	# an error of the collector, in a segment and among pending documents
	for my $fails (1, 10, 20000, 70000, 84000)
	{
		like($s->raw("SELECT skipidx_collect('docs_v', 'w2 | w7', $ways, 100, 0, 0, $fails)"), $ways == 1 || $fails < 20000 ? qr/ERROR: .*as it was told/ : qr/as it was told|^\d+ /, "$ways ways: an error at $fails");
	}
	is($s->value("SELECT skipidx_collect('docs_v', 'w2 | w7', 1, 100, 0, 0, 0)"), "$all 1", "$ways ways: whole afterwards");
}
is($s->value("BEGIN; DECLARE c CURSOR FOR SELECT 1 FROM docs WHERE v @@ 'w2'; FETCH 1 FROM c; ROLLBACK; SELECT skipidx_check('docs_v')"), "1\n", 'a cursor that is not read to its end');
unlike(slurp_file($node->logfile), qr/leak|PANIC|TRAP|exec:/, 'nothing in the log');
$s->close;
$node->stop;
done_testing();
