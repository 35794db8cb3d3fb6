# How a new index gets to its file: by the server, in large pieces, and all of
# it, whatever the device, a tool that reads along, a checkpoint or a base backup
# do meanwhile.
#
# Holds: blkio 5, 7; fault 3; writer 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_relation_file skx_session);
use Test::More;
use Time::HiRes qw(sleep time);

use constant ROWS => 20000;

my $create = "CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')";
my $node = skx_node('writes', faults => 1, streaming => 1, extra => [ '--data-checksums', '--wal-segsize=1' ],
	conf => "fsync = on\nmaintenance_work_mem = 16MB\nwork_mem = 16MB\nskipidx.cache_size = 4MB\nmax_wal_senders = 4");
my ($f, $s, $found);

# In a database of each node that a part of this test has.
sub fill
{
	my ($this) = @_;

	$this->safe_psql('postgres', <<"SQL");
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE EXTENSION IF NOT EXISTS pg_prewarm;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, (SELECT string_agg(md5(i || ' ' || k) || ':' || k * 2, ' ')
		FROM generate_series(1, 4) k)::tsvector || ('all:1,3 r' || i % 5000 || ':2')::tsvector
	FROM generate_series(1, @{[ROWS]}) i;
SQL
	return;
}

# Is the index whole, and has a scan by each way to read it all rows?
sub whole
{
	my ($session, $name) = @_;
	my $ok = is($session->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");

	$session->value("SELECT skipidx_cache_reset() \\g /dev/null\n");
	$session->value('SET enable_seqscan = off');
	for my $method (qw(shared_buffers direct))
	{
		$session->value("SET skipidx.io_method = $method");
		$ok &= is($session->raw("SELECT count(*), count(DISTINCT id) FROM docs WHERE v @@ 'all & !nosuchword'"),
			ROWS . '|' . ROWS, "$name: rows, $method");
	}
	$session->value('RESET skipidx.io_method; RESET enable_seqscan');
	return $ok;
}

# Pages of 4 kB that the page cache has of a file; how many there are.
sub cached
{
	my ($file) = @_;
	my $pages = `fincore --bytes --noheadings --output PAGES "$file"`;

	return ($pages + 0, (-s $file) / 4096);
}

# A session that cannot write past a place in its files; 0: no more.
sub limit
{
	my ($session, $bytes) = @_;

	system_or_bail('prlimit', '--pid', $session->backend, '--fsize=' . ($bytes || 'unlimited') . ':unlimited');
	return;
}

fill($node);
$f = SkipidxFault->new($node, 'postgres');
$s = $f->{s};

# ---- every method ----

my $fincore = system('fincore --version >/dev/null 2>&1') == 0;

for my $method (qw(auto uring_direct uring direct buffered shared_buffers))
{
	my $session = $f->session;

	$session->value("SET skipidx.io_method = $method");
	$f->mark;
	$f->arm($session, 'new_written', 'note');
	$session->value($create);
	my $file = skx_relation_file($node, 'postgres', 'docs_v');
	my $pages = (-s $file) / 8192;
	my $batches = $f->reached('new_written', 'note');

	note "$method: $pages pages in $batches batches";
	cmp_ok($batches, '>=', $pages / 128, "$method: pages were written");
	cmp_ok($batches, '<=', $pages / 128 + 3, "$method: many at a time");
	if ($fincore)
	{
		my ($in, $of) = cached($file);

		note "$method: $in of $of pages are in the page cache";
		# all or nothing, but for what others do to the page cache
		cmp_ok($in, '<', $of * 0.2, "$method: it does not stay in the page cache") if $method =~ /direct/;
		cmp_ok($in, '>', $of * 0.6, "$method: it stays in the page cache") if $method !~ /direct/;
	}
	whole($session, $method);
	$session->value('DROP INDEX docs_v');
	is_deeply([ grep { -s $_ } glob "$file*" ], [], "$method: dropped, and the file is empty");
	$session->close;
}

# ---- writes that fail ----

SKIP:
{
	skip 'no prlimit', 4 if system('prlimit --version >/dev/null 2>&1') != 0;

	# The log has files of 1 MB; the file has grown by what the batch needs.
	for my $at (2, 3)
	{
		my $session = $f->session;

		$f->hold($s, 'new_logged');
		$f->arm($session, 'new_logged', 'wait', $at);
		$session->start($create);
		ok($f->waits($s, 'new_logged'), "batch $at fails: waits");
		limit($session, 150 * 8192);
		$f->release($s, 'new_logged');
		like($session->finish, qr{ERROR:  \w+: could not write blocks? \d+(\.\.\d+)? in file "base/\d+/\d+": }, "batch $at fails: an error that says where");
		limit($session, 0);
		is($session->value("SELECT count(*) FROM pg_class WHERE relname = 'docs_v'"), 0, "batch $at fails: no index");
		$session->close;
	}
}

# An error that is caught, and the same transaction goes on.
for my $point (qw(new_logged new_written))
{
	my $session = $f->session;

	$f->arm($session, $point, 'error', 3);
	is($session->raw(<<"SQL"), '', "$point, caught: the transaction goes on");
BEGIN;
DO \$\$
BEGIN
	EXECUTE \$q\$$create\$q\$;
	RAISE 'not reached';
EXCEPTION WHEN internal_error THEN
	NULL;
END \$\$;
$create;
COMMIT;
SQL
	whole($session, "$point, caught");
	$session->value('DROP INDEX docs_v');
	$session->close;
}

# ---- stopped in the middle ----

for my $point (qw(new_logged new_written))
{
	for my $action (qw(cancel error kill))
	{
		my $name = "$point, $action";
		my $session = $f->session;

		$f->mark;
		$f->arm($session, $point, $action, 3);
		like($session->raw($create), $action eq 'cancel' ? qr/57014/ : $action eq 'error' ? qr/XX000.*told to fail/ : qr/session ended/,
			"$name: stopped");
		is($f->reached($point, $action), 1, "$name: reached");
		$f->recover if $action eq 'kill';
		$session = $f->session if $action eq 'kill';
		$session->value("SET skipidx.fault = ''");
		is($session->raw($create), '', "$name: done again");
		whole($session, $name);
		$session->value('DROP INDEX docs_v');
		$session->close;
	}
}
$s = $f->{s};

# The whole server, killed between two batches.
{
	my $session = $f->session;
	$f->hold($s, 'new_written');
	$f->arm($session, 'new_written', 'wait', 3);
	$session->start($create);
	ok($f->waits($s, 'new_written'), 'killed: waits in the middle');
	my @pids = ((split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0],
		split /\n/, $s->value('SELECT pid FROM pg_stat_activity'));

	$node->kill9;
	kill 'KILL', $session->backend;
	$session->finish;
	$session->close;
	$s->close;
	for (1 .. 300)
	{
		last unless kill 0, @pids;
		sleep 0.1;
	}
	$node->start;
	$f->connect;
	$s = $f->{s};
	$s->value($create);
	whole($s, 'killed');
	$s->value('DROP INDEX docs_v');
}

# ---- read before it is written ----

# In shared buffers there are zeros then, and they must not stay.
for my $point (qw(new_logged new_written))
{
	my $session = $f->session;

	$f->hold($s, $point);
	$f->arm($session, $point, 'wait', 3);
	$session->start("CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");
	ok($f->waits($s, $point), "$point, concurrently: waits");
	cmp_ok($s->value("SELECT pg_prewarm('docs_v')"), '>', 30, "$point, concurrently: read into shared buffers");
	$f->release($s, $point);
	is($session->finish, '', "$point, concurrently: built");
	whole($session, "$point, concurrently");
	$session->value('DROP INDEX docs_v');
	$session->close;
}

# The same at any moment.  A page may be read half written, which a tool is
# told, and that is all.
my ($round, $reads) = (0, 0);

while ($round < 3 || ($reads < 10 && $round < 30))
{
	my $session = $f->session;

	$round++;
	$session->start('CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v)');
	my $said;

	until (defined($said = $session->ready))
	{
		my $got = $s->raw("SELECT pg_prewarm('docs_v')");

		unlike($got, qr/ERROR:  (?!42P01|XX001)/, 'a tool that reads along') unless $got =~ /^\d+$/;
		$reads++ if $got =~ /^[1-9]/;
	}
	is($said, '', "round $round, read along: built");
	whole($session, "round $round, read along");
	$session->value('DROP INDEX docs_v');
	$session->close;
}
cmp_ok($reads, '>=', 10, "read along $reads times");

# ---- several processes at once ----

{
	my $session = $f->session;

	$session->value("SET max_parallel_maintenance_workers = 2;"
		  . " SET maintenance_work_mem = '128MB'; ALTER TABLE docs SET (parallel_workers = 2)");
	$f->mark;
	$f->arm($session, 'new_written', 'note');
	is($session->raw($create), '', 'together: built');
	my %writers = map { $_ => 1 } slurp_file($node->logfile, $f->{log}) =~ /\[(\d+)\].*skipidx fault point new_written: note/g;

	cmp_ok(scalar(keys %writers), '>', 1, 'together: more than one process writes');
	whole($session, 'together');
	$session->value('DROP INDEX docs_v');
	$f->arm($session, 'new_written', 'error');
	like($session->raw($create), qr/ERROR:  XX000: .*told to fail/, 'together: a failure of any is one of all');
	$session->value("SET skipidx.fault = ''");
	is($session->raw($create), '', 'together: done again');
	whole($session, 'together, again');
	$session->value('DROP INDEX docs_v; ALTER TABLE docs RESET (parallel_workers)');
	$session->close;
}

# ---- a base backup that copied the file between log and write ----

{
	my $session = $f->session;
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$f->hold($s, 'new_logged');
	$f->arm($session, 'new_logged', 'wait', 3);
	$session->start($create);
	ok($f->waits($s, 'new_logged'), 'backup: waits with a batch logged');
	$node->backup('between');
	$f->release($s, 'new_logged');
	is($session->finish, '', 'backup: built');
	$standby->init_from_backup($node, 'between', has_streaming => 1);
	$standby->start;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $there = skx_session($standby, 'postgres');

	$there->value("LOAD 'skipidx'");
	whole($there, 'backup');
	$there->close;
	$standby->stop;
	$session->value('DROP INDEX docs_v');
	$session->close;
}
$s->close;
unlike(slurp_file($node->logfile), qr/PANIC(?!.*told to)|TRAP/, 'nothing else in the log');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');

# ---- no log: read back, or synced, by the commit ----

my $minimal = skx_node('minimal', faults => 1, extra => ['--data-checksums'],
	conf => "maintenance_work_mem = 16MB\nwal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 4MB");

for my $threshold (qw(0 1GB))
{
	my $name = "wal_level minimal, wal_skip_threshold $threshold";
	my $session = skx_session($minimal, 'postgres');

	$minimal->safe_psql('postgres', 'DROP TABLE IF EXISTS docs, other');
	fill($minimal);
	$session->value("SET wal_skip_threshold = '$threshold'");
	$session->value('BEGIN; CREATE TABLE other AS TABLE docs; DROP TABLE docs; ALTER TABLE other RENAME TO docs');
	$session->value("$create; COMMIT");
	whole($session, $name);
	$session->close;
	$minimal->stop('immediate');
	$minimal->start;
	$session = skx_session($minimal, 'postgres');
	$session->value("LOAD 'skipidx'");
	whole($session, "$name, after a crash");
	$session->close;
}
$minimal->stop;

done_testing();
