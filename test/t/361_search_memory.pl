# What a ranked search takes, and what a session keeps after it, does not grow
# with the rows of an index, whatever work_mem: bytes in memory contexts while
# a search is open and afterwards, of an index and of one ten times as large;
# and what the process has in all, with prefixes at its peak.
#
# A search takes no memory from the system that one before it had, and leaves
# none behind, also beside others that are open and after one that failed.
#
# Holds: blkio 16; topk 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant ROWS => 40_000;
use constant TIMES => 10;

my $node = skx_node('memory', conf => "skipidx.cache_size = 32MB\nwork_mem = 256MB\nmaintenance_work_mem = 256MB");

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');
for my $table ([ 'tiny', 10 ], [ 'small', ROWS ], [ 'large', ROWS * TIMES ])
{
	my ($name, $rows) = @$table;

	$node->safe_psql('postgres', <<SQL);
CREATE TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO $name SELECT i, ('a:1 b' || i % 50 || ':2,7 c' || i % 997 || ':3 d' || i % 20011 || ':4')::tsvector
	FROM generate_series(1, $rows) i;
CREATE INDEX ${name}_v ON $name USING skipidx (v);
VACUUM ANALYZE $name;
SQL
}

my $many = join ' | ', map { "b$_" } 0 .. 49;
my @searches = map { my $k = $_; map { [ $_, $k ] } 'd5', 'c5 | d7 | d9000', 'b1 & c51', 'b5 <-> c5 | d20000', 'a & d77', $many } 10, 1000;

# Of the session, and of the process, kB.
sub contexts
{
	return $_[0]->value('SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts');
}

sub anonymous
{
	my ($s) = @_;
	my $pid = $s->value('SELECT pg_backend_pid()');

	return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s*(\d+) kB/m ? $1 : die "no RssAnon of $pid";
}

# What a session that has loaded the library takes more for searches in a table:
# while each is open, and at the end.
sub taken
{
	my ($name, $method) = @_;
	my $s = skx_session($node, 'postgres');
	my $most = 0;

	# the rows are looked at by the index, or the sort would have them
	$s->value("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET skipidx.io_method = '$method'");
	for my $search (@searches)
	{
		$s->value("SELECT count(*) FROM (SELECT id FROM tiny ORDER BY v <@> '$search->[0]'::tsquery LIMIT 10) x");
	}
	my $contexts = contexts($s);
	my $anonymous = anonymous($s);

	for my $search (@searches)
	{
		my ($q, $k) = @$search;

		$s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM $name WHERE v @@ '$q' ORDER BY v <@> '$q'::tsquery LIMIT $k");
		$s->value('FETCH 5 FROM c');
		my $now = contexts($s) - $contexts;

		$most = $now if $now > $most;
		$s->value('COMMIT');
	}
	my %taken = (open => $most, kept => contexts($s) - $contexts, process => anonymous($s) - $anonymous);

	$s->close;
	note "$name, $method: ", join ', ', map { "$_ $taken{$_} kB" } sort keys %taken;
	return \%taken;
}

# The most that the process has had at a time since it loaded the library, above
# what it had then, kB: of each search a second time, when all the pages that it
# shares with others are mapped.
sub peak
{
	my ($q, $k, $work_mem) = @_;
	my $s = skx_session($node, 'postgres');
	my $pid = $s->value('SELECT pg_backend_pid()');
	my $before;
	my $status;

	$s->value("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET work_mem = '$work_mem'");
	for my $table (qw(tiny large large))
	{
		open my $refs, '>', "/proc/$pid/clear_refs" or die "clear_refs: $!";
		print $refs "5\n";
		close $refs or die "clear_refs: $!";
		$s->value("SELECT count(*) FROM (SELECT id FROM $table WHERE v @@ '$q' ORDER BY v <@> '$q'::tsquery LIMIT $k) x");
		$before //= anonymous($s);
		$status = slurp_file("/proc/$pid/status");
	}
	$s->close;
	my %of = $status =~ /^(\w+):\s*(\d+) kB/mg;

	return $of{VmHWM} - $of{RssFile} - $of{RssShmem} - $before;
}

my $small = taken('small', 'buffered');
my $large = taken('large', 'buffered');
my $extra = ROWS * (TIMES - 1) / 1024;

for my $what (qw(open kept))
{
	cmp_ok($large->{$what}, '<', $small->{$what} + $extra / 3,
		"$what: no byte for each of so many more rows that one took $extra kB");
}
cmp_ok($large->{process}, '<=', 8 * 1024, 'the process: at most 8 MB');
cmp_ok(taken('large', 'shared_buffers')->{process}, '<=', 8 * 1024, 'the process, through shared buffers: at most 8 MB');

# A prefix has more postings than are held at once.
for my $q ('b:*', 'b:* | c:* | d:*', 'b:* & c:* & d:*', 'b5 <-> c5 | b:* | c:* | d:*', 'a & (b5 | d:*) & c:*', join(' | ', map { "a:* & !none$_ | d$_:*" } 1 .. 25))
{
	my $peak = peak($q, 1000, '256MB');

	cmp_ok($peak, '<=', 8 * 1024, "the process, at most 8 MB at a time ($peak kB): " . substr($q, 0, 40));
}

# The places of a prefix in a phrase, of which there are 400,000.
for my $q ('c5 <-> d:*', 'c5 <-> (' . join(' | ', ('d:*') x 25) . ')', 'b:* <-> (' . join(' | ', ('d:*') x 25) . ')')
{
	my $peak = peak($q, 1000, '64kB');

	cmp_ok($peak, '<=', 8 * 1024, "a phrase, at most 8 MB at a time ($peak kB): " . substr($q, 0, 40));
}

# A prefix with more long lists than are kept open, of whose places there is room
# for those of some documents: they are gone through for as many, not for each.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO wide SELECT i, ('a:' || i % 80 + 1 || (SELECT string_agg(format(' p%s:%s', j, (i * 31 + j * 17) % 90 + 1), '') FROM generate_series(1, 150) j WHERE (i + j) % 3 > 0)
	|| (SELECT string_agg(format(' s%s:%s', j, (i * 31 + j * 17) % 90 + 1), '') FROM generate_series(1, 150) j WHERE (i + j) % 45 = 0))::tsvector
	FROM generate_series(1, 9000) i;
CREATE INDEX wide_v ON wide USING skipidx (v);
VACUUM ANALYZE wide;
SQL
for my $case ([ 'a <-> p:*', '1GB', 40_000 ], [ 'a <-> p:*', '64kB', 40_000 ], [ 'a <2> p:* & !(p5 <-> p1:*)', '64kB', 60_000 ], [ 'a <-> s:*', '64kB', 3000 ])
{
	my ($q, $work_mem, $most) = @$case;
	my $s = skx_session($node, 'postgres');
	my @rows = map {
		$s->value("SET work_mem = '$work_mem'; SET enable_seqscan = " . ($_ ? 'off' : 'on') . "; SET enable_indexscan = " . ($_ ? 'on' : 'off') . '; SET enable_bitmapscan = off');
		my $before = $s->value('SELECT subblocks + windows_filled FROM skipidx_work()');
		my $rows = $s->value("SELECT concat_ws(' ', count(*), sum(id)) FROM (SELECT id FROM wide WHERE v \@\@ '$q' OFFSET 0) x");

		[ $rows, $s->value('SELECT subblocks + windows_filled FROM skipidx_work()') - $before ] } (1, 0);

	is($rows[0][0], $rows[1][0], "a prefix of many long lists, work_mem $work_mem: $q ($rows[0][0])");
	cmp_ok($rows[0][1], '<', $most, "its lists are gone through some times: $rows[0][1] sub-blocks");
	$s->close;
}

# Fifty words, and fifty prefixes, whatever work_mem and however many rows; one
# that an operator has twice would be one.
my @fifty = ($many, join(' | ', map { "b$_:*" } 0 .. 49), join(' & ', map { ("(a:* | none$_)", "!d$_:*") } 1 .. 25));

for my $work_mem ('64kB', '1GB')
{
	for my $k (1, 1000)
	{
		for my $q (@fifty)
		{
			my $peak = peak($q, $k, $work_mem);

			cmp_ok($peak, '<=', 8 * 1024,
				"$work_mem, $k rows: at most 8 MB at a time ($peak kB): " . substr($q, 0, 40));
		}
	}
}
# Many small segments, whose passes take memory each.
$node->safe_psql('postgres', <<SQL);
CREATE TABLE parts (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX parts_v ON parts USING skipidx (v) WITH (segments_per_tier = 64);
SELECT setseed(.5);
DO \$\$ BEGIN FOR part IN 0 .. 19 LOOP
	INSERT INTO parts SELECT part * 500 + i, ('a:1 b' || i % 50 || ':2,7 c' || (random() * 300)::int || ':3')::tsvector
		FROM generate_series(1, 500) i;
	PERFORM skipidx_flush('parts_v');
END LOOP; END \$\$;
VACUUM ANALYZE parts;
SQL
cmp_ok($node->safe_psql('postgres', "SELECT segments FROM skipidx_stats('parts_v')"), '>=', 15, 'many segments');

my $s = skx_session($node, 'postgres');
my $pid = $s->value('SELECT pg_backend_pid()');
my $best = "SELECT string_agg(id::text, ' ') FROM (SELECT id FROM parts WHERE v @@ 'a | b7 | c5' ORDER BY v <@> 'a | b7 | c5'::tsquery, ctid LIMIT 10) x";

sub faults
{
	return (split ' ', slurp_file("/proc/$pid/stat"))[9];
}

$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off');
my $rows = $s->value($best);
$s->value($best) for 1 .. 20;
my $before = faults();
$s->value($best) for 1 .. 100;
my $each = (faults() - $before) / 100;
cmp_ok($each, '<', 5, "pages that the system gives for a search: $each");

my $cursor = "CURSOR FOR SELECT id FROM parts WHERE v @@ 'a | b7' ORDER BY v <@> 'a | b7'::tsquery";
$s->value("BEGIN; DECLARE one $cursor; DECLARE two $cursor; SAVEPOINT s");
my @fetched = map { $s->value("FETCH 30 FROM $_") } 'one', 'two', 'one', 'two';
is($fetched[1], $fetched[0], 'two searches that are open');
is($fetched[3], $fetched[2], 'and go on');
$s->value("DECLARE three $cursor; FETCH 3 FROM three; ROLLBACK TO s");
is($s->value($best), $rows, 'another beside them, after one that was rolled back');
$s->value('CLOSE one');
is($s->value($best), $rows, 'and after one that was closed');
$s->value('COMMIT');
is($s->value($best), $rows, 'and after all');
is($s->value("SELECT count(*) FROM pg_backend_memory_contexts WHERE name IN ('skipidx search', 'skipidx segment search')"),
	0, 'nothing is kept of searches that have ended');
$s->close;

done_testing();
