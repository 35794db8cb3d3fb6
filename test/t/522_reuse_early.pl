# Pages that no process of the server can need any more are used again before
# the transaction that freed them ends: loads leave little behind, VACUUM makes
# the file short at once, whatever other indexes the table has; and readers of
# every kind, also of the process that writes, have what their snapshots see.
#
# Holds: maint 13; manifest 6; worker 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_workers_done);
use Test::More;
use Time::HiRes qw(sleep);

use constant ROWS => 6000;

my $node = skx_node('early', streaming => 1,
	conf => "skipidx.cache_size = 1MB\nlog_min_messages = debug1\nmax_parallel_maintenance_workers = 2\n"
	  . "min_parallel_index_scan_size = 0\nenable_seqscan = off\nenable_bitmapscan = off\n");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION text_of(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_to_tsvector(array_agg(DISTINCT 'w' || (i % 997 * j * 7919 % 5003))) || ('all:1 n' || i)::tsvector
	FROM generate_series(1, 12) j $$;
SQL

my $s = skx_session($node, 'postgres');
my $r = skx_session($node, 'postgres');

sub stat_of { return $s->value("SELECT $_[0] FROM skipidx_stats('docs_v')"); }

# Three segments, and no background worker that would merge them.
sub set_up
{
	$s->value('DROP TABLE IF EXISTS docs; CREATE TABLE docs (id serial, v tsvector, d int) WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");
	for my $k (0 .. 2)
	{
		$s->value("INSERT INTO docs (v, d) SELECT text_of(i), i FROM generate_series(1, ${\ (ROWS / 3)}) i");
		$s->value("SELECT skipidx_flush('docs_v')");
	}
	return;
}

# Frees all that there is, and fills what is free: `rounds` times.
my $writes = "SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n"
  . " INSERT INTO docs (v, d) SELECT text_of(7 * i), -i FROM generate_series(1, 500) i;"
  . " SELECT skipidx_flush('docs_v') \\g /dev/null\n";

sub write_rounds
{
	my ($session, $rounds) = @_;

	$session->value($writes) for 1 .. $rounds;
	return;
}

sub sound
{
	my ($what) = @_;

	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
	return;
}

$s->value('SET skipidx.reuse_early = auto; LOAD \'skipidx\'');
$_->value("SET skipidx.max_workers = 0") for $s, $r;

# One transaction: what its merges free, its flushes use.
set_up();
$s->value('BEGIN');
write_rounds($s, 2);
my $once = stat_of('file_pages');
$s->value('COMMIT; BEGIN');
write_rounds($s, 12);
$s->value('COMMIT');
my $early = stat_of('file_pages');
cmp_ok($early, '<', 2 * $once, 'one transaction: pages are used again within it');
sound('one transaction');
set_up();
$s->value('SET skipidx.reuse_early = off; BEGIN');
write_rounds($s, 14);
$s->value('COMMIT; SET skipidx.reuse_early = auto');
cmp_ok(stat_of('file_pages'), '>', 2 * $early, 'off: they are not');

# Readers, each with a snapshot and a part of its rows.
my %readers = (
	'a scan' => "SELECT id FROM docs WHERE v @@ 'all'",
	'a scan that locks its rows' => "SELECT id FROM docs WHERE v @@ 'all' FOR UPDATE",
	'a ranked scan' => "SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all'",
);

for my $what (sort keys %readers)
{
	# another process reads; then the same one
	for my $reader ($r, $s)
	{
		my $who = $reader == $s ? "$what, of the writer" : $what;

		set_up();
		# what a ranked search knows of the index it may know from the last one
		$reader->value("SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LIMIT 3");
		$reader->value("BEGIN; DECLARE c CURSOR FOR $readers{$what}; FETCH 10 FROM c");
		my $needs = $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
		write_rounds($s, 6);
		my $waits = stat_of('waiting_pages');
		cmp_ok($waits, '>=', $needs, "$who: what it may need waits");
		cmp_ok($waits, '<', 2 * $needs, "$who: and little else");
		is(scalar(split /\n/, $reader->raw('FETCH ALL FROM c')), ROWS - 10, "$who: has its rows");
		$reader->value('COMMIT');
		write_rounds($s, 1);
		$s->value('BEGIN; INSERT INTO docs (v, d) SELECT text_of(i), 1 FROM generate_series(1, 9) i;'
			  . " SELECT skipidx_flush('docs_v') \\g /dev/null\n COMMIT");
		cmp_ok(stat_of('waiting_pages'), '<', 40, "$who: has gone, and nothing waits but what was freed last");
		sound($who);
	}
}

# A transaction that has no snapshot between its statements: what it pinned for
# the first one is there for the next one, which sees the same.
for my $again ("SELECT count(*) FROM (SELECT 1 FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LIMIT 9000) x",
	"SELECT count(*) FROM (SELECT 1 FROM docs WHERE v @@ 'all | w1 | w2' ORDER BY v <@> 'w1 | all | w3' LIMIT 9000) x")
{
	set_up();
	$r->value("BEGIN; SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LIMIT 3");
	$s->value('BEGIN');
	write_rounds($s, 6);
	is($r->raw($again), ROWS, 'between two statements: all rows');
	$s->value('COMMIT');
	$r->value('COMMIT');
	sound('between two statements');
}

# A cursor fails in a savepoint, and its lock on the index goes with that: what it
# pinned is read on, as the snapshot is the same.
for my $write (\&write_rounds, sub { $s->value("DELETE FROM docs WHERE id % 3 > 0; VACUUM docs; SELECT skipidx_merge('docs_v')"); write_rounds($s, 2); $s->value('VACUUM docs') })
{
	set_up();
	my $all = $s->value("SELECT count(*) FROM docs WHERE v @@ 'w1'");

	$r->value("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT 1 / (i - 5), skipidx_bm25('docs_v', 'all', 'all') FROM generate_series(1, 10) i;"
		  . ' FETCH 2 FROM c; SAVEPOINT a');
	like($r->raw('FETCH 5 FROM c'), qr/22012/, 'a cursor fails');
	$r->value('ROLLBACK TO a');
	$write->($s, 6);
	is($r->raw("SELECT count(*) FROM (SELECT 1 FROM docs WHERE v @@ 'w1' ORDER BY v <@> 'w1' LIMIT 9000) x"), $all, 'after it: all rows');
	is($r->raw("SELECT skipidx_bm25('docs_v', 'w1', 'w1') > 0"), 't', 'after it: statistics');
	$r->value('COMMIT');
	sound('a cursor that fails');
}

# A plan and statistics of the transaction before: the view is neither planned
# with nor read in the one that writes.
$s->value(<<'SQL');
CREATE FUNCTION look(write bool) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	n int := 0;
	ids int[];
	r record;
BEGIN
	FOR r IN SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LOOP
		n := n + 1;
		ids := ids || r.id;
		IF write AND n = 10 THEN
			FOR i IN 1 .. 6 LOOP
				PERFORM skipidx_merge('docs_v', 1);
				INSERT INTO docs (v, d) SELECT text_of(7 * k), -k FROM generate_series(1, 500) k;
				PERFORM skipidx_flush('docs_v');
			END LOOP;
		END IF;
	END LOOP;
	RETURN n || ' ' || (SELECT count(DISTINCT i) FROM unnest(ids) i);
END $$;
SQL
set_up();
is($s->value("SELECT look(false)"), ROWS . ' ' . ROWS, 'a plan kept: all rows');
is($s->raw("SELECT look(true)"), ROWS . ' ' . ROWS, 'a plan kept: all rows while it writes');
sound('a plan kept');

# A statement that scans the index while its own rows are flushed into it.
set_up();
$s->value("ALTER INDEX docs_v SET (pending_limit = '64kB')");
like($s->value("EXPLAIN UPDATE docs SET d = d + 1 WHERE v @@ 'all'"), qr/Index Scan using docs_v/, 'UPDATE: by the index');
is($s->value("WITH u AS (UPDATE docs SET d = d + 1 WHERE v @@ 'all' RETURNING id) SELECT count(*), count(DISTINCT id) FROM u"),
	ROWS . '|' . ROWS, 'UPDATE: each row once');
is($s->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), ROWS, 'UPDATE: and no more');
sound('UPDATE');

# A load, and one VACUUM: by several processes where there is another index,
# by a worker then.  Nothing else gets an xid.
for my $others ('', 'CREATE INDEX ON docs (id)')
{
	my $what = 'a load' . ($others && ', two indexes');

	$s->value('DROP TABLE docs; CREATE TABLE docs (id serial, v tsvector, d int) WITH (autovacuum_enabled = off);'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '256kB'); $others");
	$s->value('RESET skipidx.max_workers; INSERT INTO docs (v) SELECT text_of(i) FROM generate_series(1, 150000) i');
	my $loaded = stat_of('file_pages');
	my $logged = -s $node->logfile;
	$s->value('VACUUM docs');
	skx_workers_done($node);
	my $left = stat_of('file_pages');
	$s->value("CREATE INDEX docs_fresh ON docs USING skipidx (v) WITH (block_size = '8kB')");
	my $fresh = $s->value("SELECT file_pages FROM skipidx_stats('docs_fresh')");
	$s->value('DROP INDEX docs_fresh');
	cmp_ok($left, '<=', 1.5 * $fresh, "$what: VACUUM leaves little more than an index made anew has")
	  or diag join '', grep { /docs_v|worker/ } split /^/m, slurp_file($node->logfile, $logged);
	note "$what: $loaded pages, then $left, made anew $fresh";
	sound($what);
	$s->value('SET skipidx.max_workers = 0');
}

# Where a standby may be, and asks for it, the horizon counts.
sub freed_waits
{
	my ($what) = @_;

	set_up();
	$s->value('BEGIN');
	write_rounds($s, 3);
	$s->value('COMMIT');
	cmp_ok(stat_of('waiting_pages'), '>', 100, "$what: what was freed waits");
	return;
}

$s->value("SELECT pg_create_physical_replication_slot('later')");
freed_waits('a slot');
$s->value("SELECT pg_drop_replication_slot('later')");
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('early_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\nhot_standby_feedback = off\n");
$standby->start;
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_stat_replication');
freed_waits('a standby');

# Asked for all the same: its readers are ended, not misled; one between two
# statements looks anew.
set_up();
$node->wait_for_catchup($standby);
my $idle = skx_session($standby, 'postgres');
my $there = skx_session($standby, 'postgres');
$idle->value("BEGIN; SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LIMIT 3");
$there->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'; FETCH 10 FROM c");
$s->value('SET skipidx.reuse_early = on; BEGIN');
write_rounds($s, 6);
$node->wait_for_catchup($standby);
is($idle->raw("SELECT count(*) FROM (SELECT 1 FROM docs WHERE v @@ 'all | w1' ORDER BY v <@> 'w1 | all' LIMIT 9000) x"),
	ROWS, 'a standby, on: between two statements');
$idle->close;
$s->value('COMMIT');
$node->wait_for_catchup($standby);
like($there->raw('FETCH ALL FROM c'), qr/conflict with recovery|terminating connection/, 'a standby, on: its scan is ended');
$there->close;
is($standby->safe_psql('postgres', "SELECT count(*) FROM docs WHERE v @@ 'all'"),
	$node->safe_psql('postgres', "SELECT count(*) FROM docs WHERE v @@ 'all'"), 'a standby, on: the same rows');
is($standby->safe_psql('postgres', "SELECT skipidx_check('docs_v')"), '', 'a standby, on: skipidx_check');
$standby->stop;

# WAL that is archived may reach one, too.
$node->append_conf('postgresql.conf', "archive_mode = on\narchive_command = '/bin/true'\n");
$_->close for $s, $r;
$node->restart;
$s = skx_session($node, 'postgres');
$s->value("LOAD 'skipidx'; SET skipidx.max_workers = 0");
freed_waits('an archive');

$s->close;
$node->stop;
done_testing();
