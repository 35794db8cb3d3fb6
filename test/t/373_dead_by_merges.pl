# Merges of workers leave out documents of rows that are dead to all, before
# VACUUM has come to them; never of a row that a snapshot, an unfinished or a
# prepared transaction, or a query of a standby can see.
#
# Holds: maint 10, 16

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_recovered skx_workers_done);
use Test::More;
use Time::HiRes qw(time sleep);

my $node = skx_node('dead_by_merges', streaming => 1,
	conf => "skipidx.max_workers = 2\nmax_prepared_transactions = 4\nlog_min_messages = debug1\n"
	  . "max_standby_streaming_delay = 100ms\nhot_standby_feedback = off\n");

skx_database($node, 'd');
my $s = skx_session($node, 'd');
my $other = skx_session($node, 'd');
my $query = "SELECT count(*) || ' ' || coalesce(sum(id), 0) || ' ' || coalesce(sum(n), 0) FROM docs WHERE v @@ ";
my $log = 0;

sub set_up
{
	my ($fillfactor) = @_;

	$s->value("DROP TABLE IF EXISTS docs; CREATE TABLE docs (id int, n int, v tsvector) WITH (autovacuum_enabled = off, fillfactor = $fillfactor);"
		  . " INSERT INTO docs SELECT i, 0, ('all:1 w' || i % 97 || ' n' || i)::tsvector FROM generate_series(1, 6000) i;"
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64kB', segments_per_tier = 3)");
	$log = -s $node->logfile;
	return;
}

# Of how many documents workers' merges have asked the table since it was made,
# and how many they have found dead.
sub asked
{
	my $said = slurp_file($node->logfile, $log);
	my ($asked, $found) = (0, 0);

	while ($said =~ /index "docs_v": the table was asked about (\d+) documents, (\d+) of which are dead/g)
	{
		$asked += $1;
		$found += $2;
	}
	return ($asked, $found);
}

sub found { return (asked())[1]; }

sub insert_late
{
	my ($rows) = @_;

	return $s->value("INSERT INTO docs SELECT 100000 + i, 0, ('all:1 late n' || i)::tsvector FROM generate_series(1, $rows) i");
}

# Inserts until workers have merged what there is, and are done.  What one is
# at now was asked about before this.
sub merged
{
	skx_workers_done($node);
	my $last = $s->value("SELECT coalesce(max(segment), 0) FROM skipidx_segments('docs_v')");

	for my $round (1 .. 12)
	{
		insert_late(1500);
		skx_workers_done($node);
		last if $s->value("SELECT min(segment) > $last FROM skipidx_segments('docs_v') WHERE kind = 'segment'") eq 't';
	}
	return;
}

sub documents { return $s->value("SELECT ndocs - deleted FROM skipidx_stats('docs_v')"); }

sub answers
{
	my ($session, $scan) = @_;

	return join ' ', map {
		$session->value("SET enable_seqscan = " . ($scan ? 'on' : 'off') . '; SET enable_bitmapscan = ' . ($scan ? 'off' : 'on')
			  . '; SET skipidx.enable_custom_scan = ' . ($scan ? 'off' : 'on') . "; $query '$_'")
	} 'all', 'w17 | w34', '!w17 & !late', 'n5 | n77 | changed';
}

sub same
{
	my ($what, $session) = @_;

	$session //= $s;
	is(answers($session, 0), answers($session, 1), $what);
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
	return;
}

# Updates, deletes and rows of a transaction that failed.
set_up(100);
$s->value("UPDATE docs SET n = n + 1, v = v || 'changed' WHERE id % 2 = 0; DELETE FROM docs WHERE id % 5 = 0;"
	  . " BEGIN; INSERT INTO docs SELECT i, 9, ('all:1 never' || i)::tsvector FROM generate_series(1, 500) i; ROLLBACK");
merged();
cmp_ok(found(), '>=', 3000 + 1200 + 500, 'updates: dead rows are found');
is(documents(), $s->value('SELECT count(*) FROM docs'), 'updates: no document of them is left');
same('updates');
$s->value('VACUUM docs');
same('updates, VACUUM');

# Of pages that are visible to all nothing is asked: of 6,000 rows 100 of those
# that have changed lie on some pages; others are new.
set_up(100);
$s->value('VACUUM docs; UPDATE docs SET n = n + 1 WHERE id <= 100');
my $segment = $s->value("SELECT min(segment) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
merged();
my $new = $s->value("SELECT count(*) FROM docs WHERE v @@ 'late'");
my ($asked, $found) = asked();
is($found, 100, 'visible to all: those that are dead are found');
cmp_ok($s->value("SELECT min(segment) FROM skipidx_segments('docs_v') WHERE kind = 'segment'"), '>', $segment,
	'visible to all: the segment of all rows was merged');
cmp_ok($asked, '<', 3000 + $new, "visible to all: the others are passed over ($asked asked, $new are new)");
same('visible to all');

# Versions that do not need a document of their own; and one whose chain ends.
set_up(40);
$s->value('UPDATE docs SET n = n + 1; UPDATE docs SET n = n + 1 WHERE id % 3 = 0; DELETE FROM docs WHERE id % 30 = 0');
merged();
cmp_ok(found(), '>=', 200, 'chains: those that end are found');
is(documents(), $s->value('SELECT count(*) FROM docs'), 'chains: the others keep their documents');
same('chains');

# An old snapshot, an unfinished and a prepared transaction see what they did.
set_up(100);
$other->value("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs");
my $before = answers($other, 1);
$s->value("UPDATE docs SET n = n + 1, v = v || 'changed' WHERE id % 2 = 0; DELETE FROM docs WHERE id % 5 = 0");
merged();
is(found(), 0, 'an old snapshot: nothing is dead to it');
is(answers($other, 0), $before, 'an old snapshot: the rows that it saw');
same('an old snapshot: others');
$other->value('COMMIT');
merged();
cmp_ok(found(), '>=', 4200, 'an old snapshot, gone: dead rows are found');
same('an old snapshot, gone');

set_up(100);
$other->value("BEGIN; DELETE FROM docs WHERE id <= 1000");
$s->value("BEGIN; DELETE FROM docs WHERE id > 1000 AND id <= 2000; PREPARE TRANSACTION 'p'");
merged();
is(found(), 0, 'unfinished: rows that may come back stay');
$other->value('ROLLBACK');
$s->value("ROLLBACK PREPARED 'p'");
same('unfinished: they have come back');

# A query of a standby that may need the rows is cancelled.  Pages that are used
# again do that, too, if later: the record names the transaction that deleted.
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('dead_by_merges_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
set_up(100);
$node->wait_for_catchup($standby);
my $reader = skx_session($standby, 'd');
$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
my $from = $s->value('SELECT pg_current_wal_lsn()');
my $xid = $s->value('BEGIN; DELETE FROM docs WHERE id <= 3000; SELECT pg_current_xact_id(); COMMIT');
merged();
cmp_ok(found(), '>=', 3000, 'standby: dead rows are found');
my ($records) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-r', 'Btree', '-s', $from,
		'-e', $s->value('SELECT pg_current_wal_flush_lsn()') ]);
like($records, qr/REUSE_PAGE.*(?:latestRemovedXid|snapshotConflictHorizon):? 0:$xid\b/, 'standby: a record says so');
$node->wait_for_catchup($standby);
my $said = $reader->raw("SET enable_seqscan = off; $query 'w17'");
like($said, qr/conflict with recovery|terminating connection/, 'standby: a query that needs them is cancelled');
$reader->close;
$reader = skx_session($standby, 'd');
is(answers($reader, 0), answers($s, 1), 'standby: others have the same rows');
$reader->close;
$standby->stop;

# Killed after the marks, before the merge is published.
set_up(100);
$s->value('DELETE FROM docs WHERE id <= 3000');
$node->safe_psql('postgres', "ALTER DATABASE d SET skipidx.fault = 'merge_built:kill'");
$s->raw("INSERT INTO docs SELECT 100000 + i, 0, ('all:1 late n' || i)::tsvector FROM generate_series(1, 1500) i") for 1 .. 6;
for (1 .. 100)
{
	last if slurp_file($node->logfile, $log) =~ /fault point merge_built: kill.*all server processes terminated/s;
	sleep 0.1;
}
$_->close for $s, $other;
skx_recovered($node);
$node->safe_psql('postgres', 'ALTER DATABASE d RESET skipidx.fault');
$s = skx_session($node, 'd');
$other = skx_session($node, 'd');
like(slurp_file($node->logfile, $log), qr/fault point merge_built: kill/, 'killed after the marks');
same('killed after the marks');
merged();
is(documents(), $s->value('SELECT count(*) FROM docs'), 'killed after the marks: no document of dead rows is left');
same('killed after the marks, merged');

# Where many rows of a small index are dead fewer segments stay.
my %segments;
for my $change ('INSERT INTO docs SELECT 20000 + 1000 * %d + i, 0, v FROM docs, LATERAL (SELECT id AS i) x WHERE id <= 1000',
	'UPDATE docs SET n = n + 1 WHERE id > 1000 * %d AND id <= 1000 * (%d + 1)')
{
	set_up(100);
	$s->value("ALTER INDEX docs_v SET (pending_limit = '64MB', segments_per_tier = 8)");
	for my $i (1 .. 4)
	{
		$s->value(sprintf $change, $i, $i);
		$s->value("SELECT pg_stat_force_next_flush(), skipidx_flush('docs_v')");
	}
	is($s->value("SELECT segments FROM skipidx_stats('docs_v')"), 5, substr($change, 0, 6) . ': five segments');
	# more than the limit: a worker flushes, and merges what there is
	$s->value("ALTER INDEX docs_v SET (pending_limit = '64kB')");
	insert_late(1500);
	skx_workers_done($node);
	$segments{substr $change, 0, 6} = $s->value("SELECT segments FROM skipidx_stats('docs_v')");
	same("$change, merged");
}
cmp_ok($segments{INSERT}, '>=', 5, 'inserts: segments stay as long as there are fewer than eight');
cmp_ok($segments{UPDATE}, '<=', 3, 'updates: they do not');

# Beside VACUUMs that give line pointers free, and the end of the table back.
set_up(60);
$other->start("DO \$\$ BEGIN FOR i IN 1 .. 400 LOOP"
	  . " UPDATE docs SET n = n + 1, v = v || ('c' || i)::tsvector WHERE id % 40 = i % 40; COMMIT;"
	  . " DELETE FROM docs WHERE id > 6000; COMMIT;"
	  . " INSERT INTO docs SELECT 6000 + j, i, ('all:1 t' || i)::tsvector FROM generate_series(1, 300) j; COMMIT;"
	  . " END LOOP; END \$\$");
my $vacuums = 0;
my $end = time + 40;
my $done;
while (!defined($done = $other->ready) && time < $end)
{
	# for the end of the table it waits up to 5 s until nothing uses that
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE ' . ($vacuums % 5 == 4 ? 'ON' : 'OFF') . ') docs');
	$vacuums++;
	next if $vacuums % 10 != 0;
	$s->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	same("beside VACUUM $vacuums");
	$s->value('COMMIT');
}
$other->finish unless defined $done;
cmp_ok($vacuums, '>', 3, 'beside VACUUM: some');
cmp_ok(found(), '>', 0, 'beside VACUUM: dead rows are found');
merged();
same('beside VACUUM');
unlike(slurp_file($node->logfile), qr/(ERROR|PANIC|FATAL):.*(heap tid|unused|corrupt|could not read|damage)/, 'nothing was found damaged');

$_->close for $s, $other;
$node->stop;
done_testing();
