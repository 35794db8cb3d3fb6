# Full disks: what must have space fails with SQLSTATE 53100 and has changed
# nothing; what can be left is left, and says so; a checkpoint and a restart
# succeed; when there is space again all goes on.
#
# The disk is a tmpfs in a mount namespace that the test makes for itself,
# where it may; else the file systems of indexes are full as far as the indexes
# know (skipidx.fault_grow).  The last line says which.
#
# Holds: am 5, 7; blkio 9; maint 4, 6, 12; manifest 8; pending 1; throttle 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxChurn qw(skx_churn_answers);
use SkipidxDisk megabytes => 64;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_relation_file skx_reload);
use Test::More;
use Time::HiRes qw(sleep time);

my $disk = SkipidxDisk->new;
my $seed = skx_seed(515);
my $node = skx_node('full', faults => 1, extra => ['--data-checksums'], conf => <<'CONF');
maintenance_work_mem = 16MB
max_parallel_maintenance_workers = 2
min_parallel_index_scan_size = 0
max_worker_processes = 8
autovacuum_naptime = 1s
autovacuum_freeze_max_age = 100000
CONF
my $where = $disk->tablespace($node);
my $s;

note "seed $seed";

sub connect_to
{
	$s->close if $s;
	$s = skx_session($node, 'postgres');
	$s->value("LOAD 'skipidx'; SET maintenance_work_mem = '16MB'");
	return;
}

connect_to();
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE words (v tsvector);
CREATE UNLOGGED TABLE ages (i int);
CREATE FUNCTION add(k int) RETURNS void LANGUAGE sql AS
	'INSERT INTO docs (v) SELECT v FROM words ORDER BY random() LIMIT k';
SQL

# As many documents as words can be drawn for, of some 1 kB; one of them long.
$s->value("SELECT setseed(0.$seed); " . <<'SQL');
INSERT INTO words SELECT string_agg('w' || floor(40 * random() ^ 2)::int || ':' || k || ' x' || floor(9000 * random())::int
	|| ':' || k + 1, ' ')::tsvector FROM generate_series(1, 1500) i, generate_series(1, 100, 2) k GROUP BY i;
CREATE TABLE long AS SELECT string_agg('y' || i || ':' || i % 900 + 1, ' ')::tsvector AS v FROM generate_series(1, 12000) i;
SQL

sub agrees
{
	my ($when) = @_;
	my @conditions = ((map { "v @@ '$_'" } '!nosuchword', 'w1', 'w2 & w3', 'w4 <-> w5', 'w7 | w9', 'x:*'), 'id BETWEEN 50 AND 400');

	is(skx_churn_answers($s, 1, @conditions), skx_churn_answers($s, 0, @conditions), "$when: as without the index");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$when: skipidx_check");
	return;
}

sub stat_of
{
	my ($column, $index) = @_;

	return $s->value("SELECT $column FROM skipidx_stats('" . ($index // 'docs_v') . "')");
}

# Pages that no stripe nor anything else has.
sub unused { return $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind IN ('free', 'pool')"); }

sub frozen { return $s->value("SELECT age(relfrozenxid) FROM pg_class WHERE relname = 'docs'"); }

# Transaction ids, for ages; each subtransaction that writes takes one.
sub grow_old
{
	my ($n) = @_;

	$s->value("DO \$\$ BEGIN FOR i IN 1..$n LOOP BEGIN INSERT INTO ages VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL;"
		  . ' END; END LOOP; END $$; TRUNCATE ages');
	return;
}

# Inserts until there is no page for more; returns how often, and what is said.
sub insert_all
{
	my ($n, $failed, $said) = (0, 0, '');

	# what a transaction frees can be used when it has ended
	while ($failed < 3 && $n < 10000)
	{
		my $now = $s->raw('SELECT add(20) \g /dev/null' . "\n");

		$failed = $now =~ /ERROR/ ? $failed + 1 : 0;
		$n += $failed == 0;
		$said .= $now;
	}
	return ($n, $said);
}

# A segment more, for merges.
sub add_segments
{
	my ($n) = @_;

	$s->value("SELECT add(60) \\g /dev/null\nSELECT skipidx_flush('docs_v') \\g /dev/null\n") for 1 .. $n;
	return;
}

# Segments, half of them with deletes, and pending documents; room is left.
sub prepare
{
	my (%opt) = @_;

	$disk->empty;
	connect_to();
	$s->value('DROP INDEX IF EXISTS docs_v, docs_w; TRUNCATE docs');
	my $block_size = $opt{block_size} // '8kB';

	$s->value("CREATE INDEX docs_v ON docs USING skipidx (v, id) WITH (block_size = '$block_size', pending_limit = '1GB')"
		  . " TABLESPACE $where");
	$s->value("CREATE INDEX docs_w ON docs USING skipidx (v, id) WITH (pending_limit = '1GB') TABLESPACE $where") if $opt{two};
	for (1 .. $opt{segments} // 0)
	{
		$s->value("SELECT add(150); SELECT skipidx_flush('docs_v') \\g /dev/null\n");
		$s->value("SELECT skipidx_flush('docs_w') \\g /dev/null\n") if $opt{two};
	}
	$s->value('DELETE FROM docs WHERE id % 7 = 0') if $opt{deletes};
	$s->value("SELECT add($opt{pending})") if $opt{pending};
	return;
}

# Ends a case: nothing is lost, the server is well, and space is all it takes.
sub recovers
{
	my ($when, $again) = @_;

	agrees($when);
	is($s->raw('CHECKPOINT'), '', "$when: a checkpoint succeeds");
	$node->stop('immediate');
	is($node->start(fail_ok => 1), 1, "$when: the server starts");
	connect_to();
	agrees("$when, started again");
	$disk->empty;
	connect_to();
	unlike($s->raw($again), qr/ERROR|WARNING/, "$when: done when there is space");
	agrees("$when, with space");
	return;
}

# ---- CREATE INDEX ----

prepare();
$s->value('SELECT add(1500)');
$s->value('DROP INDEX docs_v');
{
	my $free = $disk->free;

	$disk->fill(400);
	connect_to();
	like($s->raw("CREATE INDEX docs_v ON docs USING skipidx (v, id) TABLESPACE $where"),
		qr/ERROR:  53100: could not .*: No space left on device.*HINT:  Check free disk space/s, 'a build fails');
	$disk->empty;
	connect_to();
	cmp_ok($disk->free, '>=', $free - 64, 'and leaves nothing') if $disk->real;
}

# All that a new index has is on disk: with the server's next checkpoint on a
# full disk, inserts still find the free pages.
is($s->raw("CREATE INDEX docs_v ON docs USING skipidx (v, id) WITH (block_size = '1MB') TABLESPACE $where"), '', 'built with space');
{
	my @stat = stat(skx_relation_file($node, 'postgres', 'docs_v'));

	cmp_ok($stat[7] - $stat[12] * 512, '<=', 0, 'a new index has no holes');
	cmp_ok(unused(), '>', 16, 'it has free pages');
	$disk->fill(0);
	connect_to();
	my $rows = $s->value('SELECT count(*) FROM docs');
	my ($n, $said) = insert_all();

	like($said, qr/ERROR:  53100: could not extend index "docs_v": No space left on device.*HINT/s, 'inserts end on a full disk');
	is($s->value('SELECT count(*) FROM docs'), $rows + 20 * $n, 'with the rows that were stored');
	cmp_ok(unused(), '<=', 2, 'and no page is left free');
	like($s->raw('INSERT INTO docs (v) SELECT v FROM long'), qr/ERROR:  53100/, 'a long document fails, too');
	recovers('inserts', 'SELECT add(50) \g /dev/null' . "\nINSERT INTO docs (v) SELECT v FROM long");
}

# To remove what is dead takes no pages but those of a root, be it in segments or
# pending.
for my $state ('segments', 'segments, and pending')
{
	prepare(segments => 4);
	$disk->fill(0);
	connect_to();
	insert_all() if $state =~ /pending/;
	$s->value('DELETE FROM docs');
	# some transactions later what was freed may be used again
	$s->raw('VACUUM (INDEX_CLEANUP ON) docs; SELECT pg_current_xact_id() \g /dev/null' . "\n") for 1 .. 3;
	is(stat_of('ndocs'), 0, "$state: no document is left on a full disk");
	is(stat_of('segments'), 0, "$state: nor a segment");
	is($s->raw('INSERT INTO docs (v) SELECT v FROM words LIMIT 20'), '', "$state: rows can be inserted");
	recovers("all dead, $state", 'SELECT add(50) \g /dev/null');
}

# ---- the flush of an insert ----

# The session stays: its stripe of the list has pages for more rows.
# What a session notes of one index is not lost by another.
prepare(pending => 400, block_size => '1MB', two => 1);
$s->value("ALTER INDEX $_ SET (pending_limit = '64kB')") for qw(docs_v docs_w);
$disk->fill(300);
# a worker would find space on a disk that is not real, or flush a portion
$s->value("SET skipidx.fault_grow = 'enospc:1:2000000000'") unless $disk->real;
$s->value('SET skipidx.max_workers = 0');
{
	my $pending = stat_of('pending_docs');

	my $said = $s->raw('SELECT add(20) \g /dev/null' . "\n");

	# which index fills a page first, and so comes first, is by chance
	for my $index (qw(docs_v docs_w))
	{
		my $warned = () = $said =~ /WARNING:  53100: could not extend index "$index": No space left[^\n]*\nDETAIL:  Index "$index" stays as it is/g;

		is($warned, 1, "an insert leaves the flush of $index with a warning, once");
	}
	unlike($said, qr/ERROR/, 'and succeeds');
	cmp_ok(stat_of('pending_docs'), '<=', $pending + 20, 'its rows are pending, but for a portion that fitted');
	is(stat_of('ndocs'), $pending + 20, 'and all are there');
	is(stat_of('reserved_pages'), 0, 'nothing stays reserved');
	is($s->raw('SELECT add(20) \g /dev/null' . "\n"), '', 'the next inserts do not try again at once');
	cmp_ok($disk->free, '>', 100, 'and leave the rest of the disk alone') if $disk->real;
	recovers('insert, flush', 'SELECT add(20) \g /dev/null' . "\n");
	ok($node->poll_query_until('postgres', "SELECT pending_docs < $pending FROM skipidx_stats('docs_v')"),
		'and flushed, maybe by a worker');
}

# Free pages that only the root knows are used before the file grows.  A
# session that has the index open keeps them in the file, and no worker comes
# for them after it.
prepare();
$s->value('ALTER SYSTEM SET skipidx.max_workers = 0');
skx_reload($node, $s);
$s->value('SELECT add(1500)') for 1 .. 5;
my $open = skx_session($node, 'postgres');
$open->value("BEGIN; SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'one'");
$s->value("SELECT skipidx_flush('docs_v'); DELETE FROM docs WHERE id % 5 > 0; SELECT pg_current_xact_id() \\g /dev/null\n VACUUM docs");
$s->value("SELECT pg_current_xact_id(); VACUUM docs; SELECT pg_current_xact_id(); VACUUM docs");
{
	my $size = stat_of('file_pages');
	my $pool = $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind = 'pool'");

	$open->close;
	cmp_ok(unused() - $pool, '>', 700, 'free pages that are not in the pool');
	$disk->fill(0);
	connect_to();
	my ($n, $said) = insert_all();

	like($said, qr/ERROR:  53100/, 'inserts end when the free pages do');
	cmp_ok(unused(), '<=', 90, 'all of them but what is left to flushes');
	is(stat_of('file_pages'), $size, 'the file has not grown');
	recovers('free pages', 'SELECT add(5) \g /dev/null' . "\n");
	$s->value('ALTER SYSTEM RESET skipidx.max_workers');
	skx_reload($node, $s);
}

# ---- flush and merge that are asked for ----

for my $case ([ "SELECT skipidx_flush('docs_v') \\g /dev/null\n", pending => 600 ],
	[ "SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n", segments => 5 ])
{
	my ($sql, @with) = @$case;
	my ($name) = $sql =~ /skipidx_(\w+)/;

	prepare(@with);
	$disk->fill(200);
	connect_to();
	like($s->raw($sql), qr/ERROR:  53100: could not extend index "docs_v": No space left.*HINT:  Check/s, "$name: fails");
	recovers($name, $sql);
	is(stat_of('pending_docs'), 0, "$name: nothing is pending") if $name eq 'flush';
	is(stat_of('segments'), 1, "$name: one segment") if $name eq 'merge';
}

# ---- VACUUM ----

for my $how ('FREEZE', 'FREEZE, PARALLEL 2')
{
	my $two = $how =~ /PARALLEL/;

	prepare(two => $two, segments => 9, deletes => 1, pending => 400);
	grow_old(200);
	cmp_ok(frozen(), '>', 200, "VACUUM ($how): an old table");
	$disk->fill(100);
	connect_to();
	my $said = $s->raw("VACUUM ($how) docs");

	unlike($said, qr/ERROR/, "VACUUM ($how): succeeds");
	like($said, qr/WARNING:  53100: could not extend index "docs_[vw]": No space left/, "VACUUM ($how): with a warning");
	cmp_ok(frozen(), '<', 50, "VACUUM ($how): relfrozenxid has moved");
	is(stat_of('ndocs - deleted'), $s->value('SELECT count(*) FROM docs'),
		"VACUUM ($how): dead rows are marked") if !$two;
	is(stat_of('reserved_pages'), 0, "VACUUM ($how): nothing stays reserved");
	recovers("VACUUM ($how)", 'VACUUM (INDEX_CLEANUP ON, PARALLEL 0) docs');
	cmp_ok(stat_of('segments'), '<', 8, "VACUUM ($how): merged");
	is(stat_of('pending_docs'), 0, "VACUUM ($how): flushed");
	is($s->raw("SELECT skipidx_check('docs_w', true)"), '', "VACUUM ($how): the other index") if $two;

	# with space it does the same work in this form, too
	$s->value("SELECT add(400)");
	is($s->raw("VACUUM (INDEX_CLEANUP ON, $how) docs"), '', "VACUUM ($how): again");
	is(stat_of('pending_docs'), 0, "VACUUM ($how): flushed");
}

# ---- every single growth of a file ----

# The n-th growth from now on, and all after it, fails.  Dictionaries that
# grow, roots, extents, reservations: all come by.
for my $case ([ "SELECT skipidx_flush('docs_v') \\g /dev/null\n", 53100 ], [ "SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n", 53100 ],
	[ 'VACUUM (INDEX_CLEANUP ON) docs', 0 ], [ 'SELECT add(120) \g /dev/null' . "\n", 53100 ],
	[ "REINDEX INDEX docs_v", 53100 ])
{
	my ($sql, $state) = @$case;
	my ($name) = $sql =~ /(skipidx_\w+|VACUUM|add|REINDEX)/;
	my $n = 0;
	my $said;

	prepare(segments => 9, pending => 200);
	do
	{
		$n += $n < 4 ? 1 : int($n / 2);
		$s->value("SET skipidx.fault_grow = 'enospc:$n:1000000'");
		$said = $s->raw($sql);
		$s->value('RESET skipidx.fault_grow');
		$said =~ s/^[^\n]*WARNING:.*//s if !$state;
		like($said, $state ? qr/^$|ERROR:  $state/ : qr/^$/, "$name, growth $n: ends well");
		agrees("$name, growth $n");
	} while ($said ne '' && $n < 5000);
	is($said, '', "$name: done when there was space for it");
}

# ---- other errors of what VACUUM can leave ----

prepare(segments => 9, deletes => 1, pending => 400);
$s->value('SET skipidx.max_workers = 0');
for my $case (
	[ "SET skipidx.fault = 'flush_built:error'", qr/WARNING:  XX000: skipidx fault point flush_built/, 'an error of a flush' ],
	[ "SET skipidx.fault = 'merge_built:error'", qr/WARNING:  XX000: skipidx fault point merge_built/, 'an error of a merge' ],
	[ "SET skipidx.fault = 'live_logged:error'", qr/WARNING:  XX000: skipidx fault point live_logged/, 'an error while checkpoints wait' ],
	[ "SET skipidx.fault = 'publish_carried:error'", qr/WARNING:  XX000: skipidx fault point publish_/, 'an error under locks' ],
	[ "SET skipidx.fault = 'root_written:error:3'", qr/WARNING:  XX000: skipidx fault point root_/, 'an error under the lock of the metapage' ],
	[ 'SET temp_file_limit = 0', qr/WARNING:  53400: temporary file size exceeds/, 'a limit' ])
{
	my ($set, $expected, $name) = @$case;

	add_segments(8);
	$s->value('SELECT add(300); DELETE FROM docs WHERE id % 11 = 3');
	grow_old(200);
	my $said = $s->raw("$set; VACUUM FREEZE docs");

	unlike($said, qr/ERROR/, "$name: VACUUM succeeds");
	like($said, $expected, "$name: with a warning");
	cmp_ok(frozen(), '<', 50, "$name: relfrozenxid has moved");
	$s->value("RESET skipidx.fault; RESET temp_file_limit");
	is(stat_of('reserved_pages'), 0, "$name: nothing stays reserved");
	is($s->value('SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype IN (\'page\', \'object\')'), 0,
		"$name: no lock is held");
	my $other = skx_session($node, 'postgres');

	is($other->raw('CHECKPOINT'), '', "$name: no checkpoint is held up");
	is($other->raw("SET lock_timeout = '10s'; SELECT skipidx_flush('docs_v') \\g /dev/null\n"), '', "$name: others can flush");
	$other->close;
	agrees($name);
}
# A cancel is not spared, at whatever it comes.
for my $point (qw(flush_built merge_mapped))
{
	$s->value('SELECT add(300)');
	add_segments(8) if $point eq 'merge_mapped';
	like($s->raw("SET skipidx.fault = '$point:cancel'; VACUUM (INDEX_CLEANUP ON) docs"), qr/ERROR:  57014/, "$point: cancelled");
	is($s->raw("RESET skipidx.fault; VACUUM (INDEX_CLEANUP ON) docs"), '', "$point: and done again");
	agrees("$point: cancelled");
}
$s->value('RESET skipidx.max_workers');

# ---- VACUUM for the table's age ----

prepare(pending => 400);
{
	my $pending = stat_of('pending_docs');

	my $until = time + 120;

	grow_old(101000);
	$s->value('ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()');
	sleep 0.1 until frozen() < 100000 || time > $until;
	$s->value('ALTER SYSTEM RESET autovacuum; SELECT pg_reload_conf()');
	cmp_ok(frozen(), '<', 100000, 'autovacuum against wraparound');
	is(stat_of('pending_docs'), $pending, 'flushes nothing');
	like($s->raw('VACUUM (INDEX_CLEANUP ON) docs'), qr/^$/, 'another VACUUM');
	is(stat_of('pending_docs'), 0, 'does');
	agrees('wraparound');
}

# ---- VACUUM's cost ----

# A limit of half as much again as the pages of a segment: each page that is
# written costs one, and nothing else costs anything, so VACUUM never sleeps.
prepare();
$s->value('SELECT add(1500)') for 1 .. 4;
$s->value("SELECT skipidx_flush('docs_v')");
{
	my $pages = $s->value("SELECT pages FROM skipidx_segments('docs_v') WHERE kind = 'segment'");

	cmp_ok($pages, '>', 100, 'a segment of many pages');
	$s->value('TRUNCATE docs');
	$s->value('SELECT add(1500)') for 1 .. 4;
	$s->value('VACUUM (INDEX_CLEANUP OFF, FREEZE) docs; CHECKPOINT');
	# what the flush gives up is not to be room for moving segments at once
	$s->value('SET skipidx.reuse_early = off');
	$s->value('SET vacuum_cost_page_hit = 0; SET vacuum_cost_page_miss = 0; SET vacuum_cost_page_dirty = 1;'
		  . ' SET vacuum_cost_delay = 100; SET vacuum_cost_limit = ' . int($pages * 1.6));
	my $watch = skx_session($node, 'postgres');
	my $slept = 0;

	$s->start('VACUUM (INDEX_CLEANUP ON) docs');
	until (defined(my $said = $s->ready))
	{
		$slept++ if $watch->value('SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $s->backend) eq 'VacuumDelay';
	}
	is($slept, 0, 'VACUUM is charged once for each page of a flush');
	is(stat_of('pending_docs'), 0, 'it has flushed');
	$watch->close;
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|could not write block \d+ of/, 'nothing else in the log');
$s->close;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');
done_testing();
note $disk->description;
