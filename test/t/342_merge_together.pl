# A merge by several processes makes the segment that one alone makes: the same
# counts, terms, answers, scores and check, with deleted rows, labels, NULLs and
# columns, by a helper that does all of it, some of it or nothing of it; and
# whatever ends a helper or the process that has asked for it, the index is as
# before, and nothing is written where something else lies by then.
#
# Holds: build 3, 4; maint 5, 12, 15; manifest 11; merge 1, 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_fault_lock skx_recovered);
use Test::More;
use Time::HiRes qw(sleep);

my $seed = skx_seed(342);
my $node = skx_node('merge_together',
	conf => "min_parallel_table_scan_size = '8kB'\nmax_parallel_maintenance_workers = 2\n"
	  . "maintenance_work_mem = '64MB'\nskipidx.max_workers = 1\nmax_worker_processes = 8\n");

note "seed $seed";
skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $other = skx_session($node, 'd');
my $helpers = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'skipidx helper'";

$s->value(<<"SQL");
SET client_min_messages = debug1;
CREATE TABLE docs (id serial, price int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off, fillfactor = 50);
CREATE FUNCTION document(i int) RETURNS tsvector LANGUAGE sql AS \$\$
	SELECT CASE WHEN i % 41 = 0 THEN NULL ELSE
		('all:1 ' || string_agg('w' || (power(random(), 3) * 3000)::int || CASE
			WHEN i % 7 = 0 THEN '' WHEN i % 5 = 0 THEN ':' || k || 'A' ELSE ':' || k || ',' || k + 40 END, ' '))::tsvector END
	FROM generate_series(2, 30) k \$\$;
SELECT setseed(0.$seed);
-- Made once: it takes longer than both indexes of them.
CREATE TABLE documents AS SELECT i, document(i) AS v FROM generate_series(1, 40000) i;
SQL

# A statement that inserts those after so many.
sub insert
{
	my ($after, $n) = @_;

	return "INSERT INTO docs (price, v) SELECT (i - $after) % 97, v FROM documents WHERE i > $after AND i <= $after + $n ORDER BY i";
}

# Two indexes with the same segments, of rows that lie mixed, some dead.
sub set_up
{
	$s->value('TRUNCATE docs; DROP INDEX IF EXISTS docs_1, docs_2');
	$s->value("CREATE INDEX docs_$_ ON docs USING skipidx (v, price) WITH (block_size = '8kB', pending_limit = '1GB')") for 1, 2;
	for my $k (0 .. 2)
	{
		$s->value(insert(12000 * $k, 12000));
		$s->value("SELECT skipidx_flush('docs_1'), skipidx_flush('docs_2')");
		$s->value('DELETE FROM docs WHERE random() < .1');
	}
	return;
}

# Marks without a merge, which VACUUM would begin: by policy there is none, and
# for the sake of a shorter file none, either.
sub mark
{
	$s->value("ALTER INDEX docs_$_ SET (segments_per_tier = 64, deletes_pct_allowed = 90)") for 1, 2;
	$s->value('VACUUM (INDEX_CLEANUP ON, PARALLEL 0, TRUNCATE OFF) docs');
	cmp_ok($s->value("SELECT deleted FROM skipidx_stats('docs_$_')"), '>', 1000, "dead rows of docs_$_") for 1, 2;
	return;
}

sub fault
{
	my ($fault) = @_;

	$node->safe_psql('postgres', $fault ? "ALTER DATABASE d SET skipidx.fault = '$fault'" : 'ALTER DATABASE d RESET skipidx.fault');
	return;
}

# Merges docs_1; how many helpers there were.
sub merge
{
	my ($session) = @_;
	my $said = ($session // $s)->raw("SELECT skipidx_merge('docs_1', 1)");

	return $said =~ /had help of (\d+) processes, which wrote (\d+) pages/ ? ($1, $2) : ($said =~ /ERROR/ ? $said : 0, 0);
}

sub alone
{
	$s->value("SET max_parallel_maintenance_workers = 0; SELECT skipidx_merge('docs_2', 1) \\g /dev/null\n RESET max_parallel_maintenance_workers");
	return;
}

sub same
{
	my ($what) = @_;
	my $counts = 'ndocs, deleted, null_docs, total_length, terms, postings, positions, segments';
	my $both = sub {
		my ($query) = @_;

		return map { my $n = $_; $s->value($query =~ s/INDEX/docs_$n/gr) } 1, 2;
	};
	my @stats = $both->("SELECT ($counts) FROM skipidx_stats('INDEX')");
	my @terms = $both->("SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM skipidx_terms('INDEX', '', 100000) t");
	my @best = $both->("SELECT md5(string_agg(s::text, ' ')) FROM (SELECT h.ctid, h.score FROM skipidx_search('INDEX', 'w1 | w20 | w300', 2000) h) s");
	my @check = map { $s->raw("SELECT skipidx_check('docs_$_', true)") } 1, 2;

	is($stats[0], $stats[1], "$what: counts");
	is($terms[0], $terms[1], "$what: terms");
	is($best[0], $best[1], "$what: scores");
	is("@check", ' ', "$what: skipidx_check") or diag "@check";
	for my $query ('all', 'w3 & w17', 'w1 <-> w2', '!w5', 'w4:A | w250:*')
	{
		my @found = map {
			$s->value("SET enable_seqscan = $_; SET enable_bitmapscan = " . ($_ eq 'on' ? 'off' : 'on')
				  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ '$query'")
		} qw(on off);

		is($found[1], $found[0], "$what: $query");
	}
	is($s->value("SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all' AND price BETWEEN 10 AND 20"),
		$s->value("SET enable_seqscan = on; SELECT count(*) FROM docs WHERE v @@ 'all' AND price + 0 BETWEEN 10 AND 20"),
		"$what: a range");
	return;
}

# Up to 60 s.
sub wait_for
{
	my ($what) = @_;
	my $turns = 6000;

	sleep 0.01 while !$what->() && --$turns;
	return;
}

sub gone
{
	return $node->poll_query_until('postgres', "SELECT ($helpers) = 0");
}

# Helped as it comes; with and without dead rows; by a helper alone, which the
# first process lets do all; and by none.
for my $dead (0, 1)
{
	for my $how ('as it comes', 'the helper alone', 'late')
	{
		my $what = $how . ($dead ? ', dead rows' : '');

		set_up();
		mark() if $dead;
		fault($how eq 'late' ? 'help_come:wait' : '');
		$other->close;
		$other = skx_session($node, 'd');
		$other->value('SET client_min_messages = debug1');
		if ($how eq 'the helper alone')
		{
			$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_asked') . ')');
			$other->value("SET skipidx.fault = 'help_asked:wait'");
			$other->start("SELECT skipidx_merge('docs_1', 1)");
			wait_for(sub { $s->value($helpers) > 0 });
			wait_for(sub { $s->value($helpers) == 0 });
			$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock('help_asked') . ')');
			my $said = $other->finish;
			my ($n, $pages) = $said =~ /had help of (\d+) processes, which wrote (\d+) pages/;

			cmp_ok($n // 0, '>', 0, "$what: helped");
			cmp_ok($pages // 0, '>', $s->value("SELECT pages / 2 FROM skipidx_segments('docs_1') WHERE kind = 'segment'"),
				"$what: it wrote most");
		}
		elsif ($how eq 'late')
		{
			# helpers have come, and hold the merge up until they may go on
			$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_come') . ')');
			$other->start("SELECT skipidx_merge('docs_1', 1)");
			ok($node->poll_query_until('postgres', "SELECT ($helpers) > 0"), "$what: they come");
			sleep 0.5;
			$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock('help_come') . ')');
			$other->finish;
		}
		else
		{
			my ($n) = merge();

			like($n, qr/^\d+$/, "$what: merged");
		}
		fault('');
		gone();
		alone();
		same($what);
	}
}

# Whatever ends a helper ends the merge, and the next one succeeds.
for my $fault (qw(help_come:error team_task_encoded:error help_written:error live_logged:error))
{
	set_up();
	mark();
	fault($fault);
	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_asked') . ')');
	$other->close;
	$other = skx_session($node, 'd');
	$other->value("SET skipidx.fault = 'help_asked:wait'");
	my $log = -s $node->logfile;
	$other->start("SELECT skipidx_merge('docs_1', 1)");
	wait_for(sub { slurp_file($node->logfile, $log) =~ /fault point \w+ was told to fail/ });
	$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock('help_asked') . ')');
	like($other->finish, qr/fault point \w+ was told to fail/, "$fault in a helper: an error");
	fault('');
	is($s->value("SELECT segments FROM skipidx_stats('docs_1')"), 3, "$fault in a helper: nothing has changed");
	is(+(merge())[0] =~ /ERROR/, '', "$fault in a helper: merged then");
	alone();
	same("$fault in a helper");
}

# The first process fails, is cancelled, or ended, while a helper is at work: as
# long as that lives no other merge begins.
for my $end (qw(error cancel terminate))
{
	set_up();
	fault('help_written:wait');
	$other->close;
	$other = skx_session($node, 'd');
	$other->value("SET skipidx.fault = 'help_asked:wait'") if $end ne 'error';
	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock($_) . ')') for qw(help_asked help_written);
	$other->value("SET skipidx.fault = 'team_task_encoded:error'") if $end eq 'error';
	$other->start("SELECT skipidx_merge('docs_1', 1)");
	ok($node->poll_query_until('postgres', "SELECT ($helpers) > 0"), "$end: a helper comes") if $end ne 'error';
	sleep 0.5;
	$s->value("SELECT pg_${end}_backend(" . $other->backend . ')') if $end ne 'error';
	$other->finish;
	$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock($_) . ')') for qw(help_asked help_written);
	fault('');
	ok(gone(), "$end: helpers go");
	is($s->value("SELECT segments FROM skipidx_stats('docs_1')"), 3, "$end: nothing has changed");
	$other->close;
	$other = skx_session($node, 'd');
	is(+(merge())[0] =~ /ERROR/, '', "$end: merged then");
	alone();
	same($end);
}

# The merge is VACUUM's, which does not fail with a helper that is cancelled or
# ended.
for my $end (qw(cancel terminate))
{
	set_up();
	# nor does a worker merge for the sake of the end of the file
	$s->value("ALTER INDEX docs_1 SET (segments_per_tier = 2); ALTER TABLE docs SET (vacuum_truncate = off); SELECT pg_current_xact_id()");
	fault('help_written:wait');
	$other->close;
	$other = skx_session($node, 'd');
	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_written') . ')');
	my $frozen = "SELECT age(relfrozenxid) FROM pg_class WHERE relname = 'docs'";
	my $age = $s->value($frozen);

	$other->start("\\set VERBOSITY verbose\nVACUUM (FREEZE, INDEX_CLEANUP ON, PARALLEL 0, TRUNCATE OFF) docs");
	ok($node->poll_query_until('postgres',
			"SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'skipidx helper' AND wait_event = 'advisory'"),
		"VACUUM, $end: helpers are at work");
	my $pids = $s->value("SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE application_name = 'skipidx helper'");

	$s->value("SELECT pg_${end}_backend(unnest(ARRAY[$pids]))");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid IN ($pids)");
	# the other index may be merged, too
	$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock('help_written') . ')');
	my $said = $other->finish;
	fault('');
	unlike($said, qr/ERROR/, "VACUUM, $end: no error");
	like($said, qr/WARNING:  55000/, "VACUUM, $end: a warning");
	cmp_ok($s->value($frozen), '<', $age, "VACUUM, $end: the table is frozen");
	is($s->value("SELECT segments FROM skipidx_stats('docs_1')"), 3, "VACUUM, $end: nothing has changed");
	ok(gone(), "VACUUM, $end: helpers go");
	$s->value('ALTER TABLE docs RESET (vacuum_truncate)');
	is(+(merge())[0] =~ /ERROR/, '', "VACUUM, $end: merged then");
	alone();
	same("VACUUM, $end");
}

# A helper that does not notice, or not yet: no other merge begins.
set_up();
fault('help_written:wait');
$other->close;
$other = skx_session($node, 'd');
$other->value('SET skipidx.fault = \'\'');
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_written') . ')');
$other->start("SELECT skipidx_merge('docs_1', 1)");
ok($node->poll_query_until('postgres',
		"SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'skipidx helper' AND wait_event = 'advisory'"),
	'stopped: helpers are at work');
my @stopped = split /\n/, $s->value("SELECT pid FROM pg_stat_activity WHERE application_name = 'skipidx helper'");
kill 'STOP', @stopped;
$s->value('SELECT pg_terminate_backend(' . $other->backend . ')');
$other->finish;
$s->value('SELECT pg_advisory_unlock(7564152, ' . skx_fault_lock('help_written') . ')');
fault('');
like($s->raw("SET lock_timeout = '300ms'; SELECT skipidx_merge('docs_1', 1)"), qr/lock timeout/, 'stopped: no other merge begins');
$s->value('RESET lock_timeout');
kill 'CONT', @stopped;
ok(gone(), 'stopped: helpers go');
is(+(merge())[0] =~ /ERROR/, '', 'stopped: merged then');
alone();
same('stopped');

# More rows than their norms have memory: merged alone.
set_up();
$s->value("INSERT INTO docs (price, v) SELECT i % 97, 'all:1' FROM generate_series(1, 300000) i");
$s->value("SELECT skipidx_flush('docs_1'), skipidx_flush('docs_2'); SET maintenance_work_mem = '1MB'");
is_deeply([ (merge())[1] ], [0], 'little memory: merged alone');
alone();
$s->value('RESET maintenance_work_mem');
same('little memory');

# No process to be had.
set_up();
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$_->close for $s, $other;
$node->restart;
$s = skx_session($node, 'd');
$s->value('SET client_min_messages = debug1');
is_deeply([ (merge())[1] ], [0], 'no processes: merged alone');
alone();
same('no processes');

# The end of a file that is mostly free is given back by moving the last segment
# forward, by one process: extents that helpers got that never come would leave
# too few before it, and the segment would be moved for ever.
$s->close;
$node->append_conf('postgresql.conf', "max_worker_processes = 2\nmax_parallel_maintenance_workers = 8\n");
$node->restart;
$s = skx_session($node, 'd');
$other = skx_session($node, 'd');
# what is freed meanwhile cannot be used again: the merged one comes to lie last
$s->value(<<'SQL');
SET skipidx.reuse_early = off;
SET max_parallel_maintenance_workers = 0;
TRUNCATE docs;
DROP INDEX docs_1;
DROP INDEX docs_2;
SQL
$s->value(insert(0, 36000));
$s->value(<<'SQL');
CREATE INDEX docs_1 ON docs USING skipidx (v, price) WITH (block_size = '8kB', pending_limit = '1GB');
SQL
$other->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
$s->value(insert(36000, 4000) . "; SELECT skipidx_flush('docs_1'); SELECT skipidx_merge('docs_1', 1)");
$other->value('COMMIT');
$other->close;
$s->value('SELECT pg_current_xact_id(); RESET max_parallel_maintenance_workers');
{
	my $moved = "SELECT count(*) FROM skipidx_merges WHERE index = 'docs_1'::regclass AND operation = 'merge'";
	my $pages = sub { $s->value("SELECT pg_relation_size('docs_1') / 8192") };
	my $before = $s->value($moved);
	my $loose = $pages->();

	$s->value('VACUUM (INDEX_CLEANUP ON, PARALLEL 0, TRUNCATE OFF) docs');
	wait_for(sub { $pages->() < $loose * 2 / 3 });
	cmp_ok($pages->(), '<', $loose * 2 / 3, "moved: the end of $loose pages was given back");
	ok(gone(), 'moved: no helpers are left');
	wait_for(sub { $s->value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'skipidx%'") == 0 });
	my $moves = $s->value($moved) - $before;

	ok($moves >= 1 && $moves <= 3, "moved: $moves times");
}
$s->value("CREATE INDEX docs_2 ON docs USING skipidx (v, price) WITH (block_size = '8kB')");
same('moved');

# Killed: the server starts anew, and nothing is lost.
$node->append_conf('postgresql.conf', "max_worker_processes = 8\nmax_parallel_maintenance_workers = 2\n");
$s->close;
$node->restart;
$s = skx_session($node, 'd');
set_up();
fault('help_written:kill');
$other = skx_session($node, 'd');
$other->value("SET skipidx.fault = 'help_asked:wait'");
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('help_asked') . ')');
$other->start("SELECT skipidx_merge('docs_1', 1)");
wait_for(sub { slurp_file($node->logfile) =~ /fault point help_written: kill/ });
$_->close for $s, $other;
skx_recovered($node);
like(slurp_file($node->logfile), qr/fault point help_written: kill/, 'a helper was killed');
fault('');
$s = skx_session($node, 'd');
$s->value('SET client_min_messages = debug1');
is($s->value("SELECT segments FROM skipidx_stats('docs_1')"), 3, 'killed: nothing has changed');
merge();
alone();
same('killed');

$s->close;
$node->stop;
done_testing();
