# Beside a cursor that is held open the file stays as large as what the cursor
# may read and a few times the present segments, however much is written: pages
# that came and went since are used again, of segments, roots and pending lists;
# and the cursor has its rows, whatever kind of scan it is.
#
# Holds: maint 10; manifest 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxChurn qw(skx_churn_texts skx_churn_updates);
use SkipidxTest qw(skx_node skx_session skx_workers_done skx_seed);
use Test::More;

use constant ROWS => 12000;
use constant UPDATES => 6000;

my $seed = skx_seed(523);
my $node = skx_node('held', streaming => 1, conf => "skipidx.cache_size = 4MB\nautovacuum = off\nsynchronous_commit = off\n"
	  . "enable_seqscan = off\nenable_bitmapscan = off\nmax_worker_processes = 16\nmax_parallel_workers_per_gather = 0\n");

note "seed $seed";
skx_churn_updates($node, 'postgres', ROWS, 'v = doc(i), d = d + 1');
skx_churn_texts($node, 'postgres');

my $s = skx_session($node, 'postgres');
my $r = skx_session($node, 'postgres');

$s->value("SELECT setseed(0.$seed)");

sub stat_of { return $s->value("SELECT $_[0] FROM skipidx_stats('docs_v')"); }

sub set_up
{
	$s->value(<<~"SQL");
	DROP TABLE IF EXISTS docs;
	CREATE TABLE docs (id int PRIMARY KEY, v tsvector, d int) WITH (fillfactor = 50);
	INSERT INTO docs SELECT i, doc(i), i FROM generate_series(1, ${\ROWS}) i;
	CREATE INDEX docs_v ON docs USING skipidx (v, d) WITH (block_size = '8kB', pending_limit = '256kB');
	SQL
	return;
}

# The most that the file has been, while so many rows are updated.
sub update_rows
{
	my ($n, $vacuum) = @_;
	my $most = 0;

	for (my $done = 0; $done < $n; $done += 500)
	{
		my $pages;

		$s->value('CALL updates(500)');
		$s->value('VACUUM docs') if $vacuum && $done % 1500 == 0;
		$pages = stat_of('file_pages');
		$most = $pages if $pages > $most;
	}
	return $most;
}

sub present
{
	return $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind IN ('segment', 'pending')");
}

my %cursors = (
	'a scan' => "SELECT id FROM docs WHERE v @@ 'all'",
	'a scan in order' => "SELECT id FROM docs WHERE v @@ 'all' ORDER BY d",
	'a ranked scan' => "SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all'",
);

for my $what (sort keys %cursors)
{
	set_up();
	my $needs = stat_of('file_pages');

	# something is pending, and some of it is not yet there
	$s->value('CALL updates(50)');
	$r->value("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR $cursors{$what}");
	my @rows = split /\n/, $r->value('FETCH 10 FROM c');
	my $most = update_rows(UPDATES / 2, 1);
	# as a worker does when no process is in the way
	$s->value("SELECT skipidx_merge('docs_v', 1)");
	my $then = update_rows(UPDATES / 2, 1);
	$most = $then if $then > $most;
	my $present = present();

	note "$what: at first $needs pages, the present segments $present, the file $most, waiting " . stat_of('waiting_pages');
	cmp_ok($most, '<=', 3 * $present + $needs, "$what: the file is as large as what is needed lets it be");
	cmp_ok(stat_of('waiting_pages'), '>=', $needs / 2, "$what: what it may read waits");
	push @rows, split /\n/, $r->value('FETCH ALL FROM c');
	is(join(' ', sort { $a <=> $b } @rows), join(' ', 1 .. ROWS), "$what: has every row");
	$r->value('COMMIT');
	$s->value('CALL updates(1)');
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
}

# What ends with the session, however that ends.
sub held
{
	$r = skx_session($node, 'postgres');
	$r->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
	$s->value("CALL updates(100); SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT skipidx_merge('docs_v', 1) \\g /dev/null");
	return stat_of('waiting_pages');
}

cmp_ok(held(), '>', 100, 'a cursor');
$s->value('SELECT pg_terminate_backend(' . $r->backend . ')');
$node->poll_query_until('postgres', "SELECT waiting_pages < 20 FROM skipidx_stats('docs_v')");
cmp_ok(stat_of('waiting_pages'), '<', 20, 'its session is ended: nothing waits');
$r->close;
cmp_ok(held(), '>', 100, 'a cursor again');
$_->close for $s, $r;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'postgres');
cmp_ok(stat_of('waiting_pages'), '<', 20, 'a crash: nothing waits');
update_rows(500, 1);
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'a crash: skipidx_check');
is($s->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), ROWS, 'a crash: every row');

# More views than there is room for: then pages wait for transactions.
$r = skx_session($node, 'postgres');
$s->value("CREATE TABLE few_$_ AS SELECT i AS id, doc(i) AS v FROM generate_series(1, 9) i; CREATE INDEX ON few_$_ USING skipidx (v)")
  for 1 .. 20;
$r->value('BEGIN');
$r->value("DECLARE c$_ CURSOR FOR SELECT id FROM few_$_ WHERE v @@ 'all'; FETCH 1 FROM c$_") for 1 .. 20;
my $round = "CALL updates(100); SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT skipidx_merge('docs_v', 1) \\g /dev/null";
$s->value($round);
cmp_ok($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'waiting' AND waiting_for IS NOT NULL"), '>', 0,
	'very many views: pages wait for transactions');
is(scalar(split /\n/, $r->value("FETCH ALL FROM c$_")), 8, "very many views: cursor $_") for 1, 13, 14, 20;
$r->value('COMMIT');
$s->value($round) for 1 .. 2;
cmp_ok(stat_of('waiting_pages'), '<', 20, 'very many views, ended: nothing waits');

# A process that cannot enter its views says so by a lock.
$r->close;
$r = skx_session($node, 'postgres');
$r->value("LOAD 'skipidx'; SET skipidx.fault = 'views_map:error'");
$r->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'");
my $alone = split /\n/, $r->value('FETCH 10 FROM c');
$s->value($round) for 1 .. 3;
cmp_ok($s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind = 'waiting' AND waiting_for IS NOT NULL"), '>', 100,
	'a view that is not entered: pages wait for transactions');
$alone += split /\n/, $r->value('FETCH ALL FROM c');
is($alone, ROWS, 'a view that is not entered: every row');
$r->value('COMMIT');
$s->value($round) for 1 .. 2;
cmp_ok(stat_of('waiting_pages'), '<', 20, 'a view that is not entered, ended: nothing waits');

# Where a standby may be, a transaction id keeps all that was freed since: then
# merges do not add to that what they free.
$s->value("SELECT pg_create_physical_replication_slot('later')");
set_up();
$r->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(), count(*) FROM docs');
my $first = stat_of('file_pages');

update_rows(UPDATES, 1);
my $flushed = $s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
my $waiting = stat_of('waiting_pages');

note "a slot: first $first pages, the file " . stat_of('file_pages') . ", present " . present() . ", waiting $waiting, segments $flushed";
cmp_ok(stat_of('file_pages'), '<=', $first + 4 * present(), 'a slot: merges are few');
$r->value('COMMIT');
$s->value("SELECT pg_drop_replication_slot('later')");
$s->value('CALL updates(1); VACUUM docs');
skx_workers_done($node);
$s->value("CALL updates(1); SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT 1");
cmp_ok(stat_of('waiting_pages'), '<', 100, 'a slot that has gone: hardly anything waits');
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'a slot: skipidx_check');

$_->close for $s, $r;
done_testing();
