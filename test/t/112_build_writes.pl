# How a new index gets to its file: past the page cache where that can be,
# in large pieces, and all of it, whatever the device, the kernel, a tool that
# reads along, a checkpoint or a base backup do meanwhile.
#
# Holds: blkio 5, 7; fault 3; writer 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_refuse_io_uring skx_relation_file skx_session);
use Test::More;
use Time::HiRes qw(sleep time);

use constant ROWS => 20000;

my $create = "CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')";
my $node = skx_node('writes', faults => 1, streaming => 1, extra => ['--data-checksums'],
	conf => "maintenance_work_mem = 16MB\nwork_mem = 16MB\nskipidx.cache_size = 4MB\nmax_wal_senders = 4");
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

# Relation files that a process has open for direct writes.
sub written_directly
{
	my ($pid) = @_;
	my $direct = (POSIX::uname())[4] eq 'aarch64' ? 0200000 : 040000;
	my $n = 0;

	for my $fd (glob "/proc/$pid/fd/*")
	{
		my ($number) = $fd =~ /(\d+)$/;

		next unless (readlink($fd) // '') =~ m{/base/\d+/\d+$};
		my ($flags) = slurp_file("/proc/$pid/fdinfo/$number") =~ /^flags:\s*(\d+)/m;

		$n++ if oct($flags) & $direct && (oct($flags) & 3) == POSIX::O_RDWR();
	}
	return $n;
}

fill($node);
$f = SkipidxFault->new($node, 'postgres');
$s = $f->{s};

# ---- every way to write ----

my $fincore = system('fincore --version >/dev/null 2>&1') == 0;

for my $method (qw(auto uring_direct uring direct buffered shared_buffers))
{
	my $session = $f->session;

	$session->value("SET skipidx.io_method = $method");
	$f->mark;
	$f->arm($session, 'new_sent', 'note');
	$session->value($create);
	my $file = skx_relation_file($node, 'postgres', 'docs_v');
	my $pages = (-s $file) / 8192;
	my $batches = $f->reached('new_sent', 'note');

	note "$method: $pages pages in $batches batches";
	cmp_ok($batches, '>=', $pages / 16, "$method: pages were written");
	cmp_ok($batches, '<=', $pages / 8, "$method: neighbours go together");
	if ($fincore)
	{
		my ($in, $of) = cached($file);

		note "$method: $in of $of pages are in the page cache";
		# all or nothing, but for what others do to the page cache
		cmp_ok($in, '<', $of * 0.6, "$method: it does not fill the page cache") if $method =~ /auto|uring/;
		cmp_ok($in, '>', $of * 0.2, "$method: it goes by the page cache") if $method !~ /auto|uring/;
	}
	whole($session, $method);
	$session->value('DROP INDEX docs_v');
	is_deeply([ grep { -s $_ } glob "$file*" ], [], "$method: dropped, and the file is empty");
	$session->close;
}

# ---- writes that fail ----

for my $method (qw(auto buffered))
{
	my $session = $f->session;

	$session->value("SET skipidx.io_method = $method");
	for my $case ([ 'eio', '58030' ], [ 'enospc', '53100' ])
	{
		my ($action, $state) = @$case;

		for my $at (1, 5, 20)
		{
			my $name = "$method, $action at $at";

			$session->value("SET skipidx.fault_write = '$action:$at'");
			like($session->raw($create), qr{ERROR:  $state: could not write block \d+ in file "base/\d+/\d+": }, "$name: an error that says where");
			is($session->value("SELECT count(*) FROM pg_class WHERE relname = 'docs_v'"), 0, "$name: no index");
		}
	}

	# An error that is caught, and the same transaction goes on.
	$session->value("SET skipidx.fault_write = 'eio:5'");
	is($session->raw(<<"SQL"), '', "$method, caught: the transaction goes on");
BEGIN;
DO \$\$
BEGIN
	EXECUTE \$q\$$create\$q\$;
	RAISE 'not reached';
EXCEPTION WHEN io_error THEN
	NULL;
END \$\$;
$create;
COMMIT;
SQL
	whole($session, "$method, caught");
	$session->value('DROP INDEX docs_v');

	# What is no failure of the device: the rest is written all the same.
	for my $action (qw(short intr einval slow again))
	{
		my $said;
		my $count = $action eq 'again' ? 1 : 5;

		# only io_uring can want it again for no reason
		next if $action eq 'again' && $method ne 'auto';
		$session->value("SET skipidx.fault_write = '$action:3:$count'");
		$f->mark;
		$said = $session->raw($create);
		is($said, '', "$method, $action: no error");
		my $hits = () = slurp_file($node->logfile, $f->{log}) =~ /skipidx fault write: $action/g;

		# each further try counts too, and the server's own writes do not
		cmp_ok($hits, '>=', $action eq 'einval' ? 1 : $count, "$method, $action: it happened");
		whole($session, "$method, $action") or last;
		$session->value('DROP INDEX docs_v');
	}
	$session->close;
}

# ---- stopped in the middle ----

for my $method (qw(auto buffered))
{
	for my $point (qw(new_logged new_sent))
	{
		for my $action (qw(cancel error kill))
		{
			my $name = "$method, $point, $action";
			my $session = $f->session;

			$session->value("SET skipidx.io_method = $method");
			$f->mark;
			$f->arm($session, $point, $action, 20);
			like($session->raw($create), $action eq 'cancel' ? qr/57014/ : $action eq 'error' ? qr/XX000.*told to fail/ : qr/session ended/,
				"$name: stopped");
			is($f->reached($point, $action), 1, "$name: reached");
			$f->recover if $action eq 'kill';
			$session = $f->session if $action eq 'kill';
			$session->value("SET skipidx.io_method = $method; SET skipidx.fault = ''");
			is($session->raw($create), '', "$name: done again");
			whole($session, $name);
			$session->value('DROP INDEX docs_v');
			$session->close;
		}
	}
}
$s = $f->{s};

# The whole server, killed while batches are on their way.
{
	my $session = $f->session;
	$f->hold($s, 'new_sent');
	$f->arm($session, 'new_sent', 'wait', 10);
	$session->start($create);
	ok($f->waits($s, 'new_sent'), 'killed: waits in the middle');
	is(written_directly($session->backend), 1, 'killed: the file is open for direct writes')
	  if -d '/proc/self/fdinfo';
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

# In shared buffers there are zeros then, and they must not stay.  A method
# that waits for its writes stops between the two steps each time.
for my $method (qw(auto buffered))
{
	for my $point (qw(new_logged new_sent))
	{
		my $session = $f->session;

		$session->value("SET skipidx.io_method = $method");
		$f->hold($s, $point);
		$f->arm($session, $point, 'wait', 12);
		$session->start("CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");
		ok($f->waits($s, $point), "$method, $point, concurrently: waits");
		cmp_ok($s->value("SELECT pg_prewarm('docs_v')"), '>', 30, "$method, $point, concurrently: read into shared buffers");
		$f->release($s, $point);
		is($session->finish, '', "$method, $point, concurrently: built");
		whole($session, "$method, $point, concurrently");
		$session->value('DROP INDEX docs_v');
		$session->close;
	}
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

for my $method (qw(auto buffered))
{
	my $session = $f->session;

	$session->value("SET skipidx.io_method = $method; SET max_parallel_maintenance_workers = 2;"
		  . " SET maintenance_work_mem = '128MB'; ALTER TABLE docs SET (parallel_workers = 2)");
	$f->mark;
	$f->arm($session, 'new_sent', 'note');
	is($session->raw($create), '', "$method, together: built");
	my %writers = map { $_ => 1 } slurp_file($node->logfile, $f->{log}) =~ /\[(\d+)\].*skipidx fault point new_sent: note/g;

	cmp_ok(scalar(keys %writers), '>', 1, "$method, together: more than one process writes");
	whole($session, "$method, together");
	$session->value("DROP INDEX docs_v; SET skipidx.fault = ''; SET skipidx.fault_write = 'eio:2'");
	like($session->raw($create), qr{ERROR:  58030: could not write block \d+ in file}, "$method, together: a failure of any is one of all");
	$session->value("SET skipidx.fault_write = ''");
	is($session->raw($create), '', "$method, together: done again");
	whole($session, "$method, together, again");
	$session->value('DROP INDEX docs_v; ALTER TABLE docs RESET (parallel_workers)');
	$session->close;
}

# ---- a base backup that copied the file between log and write ----

for my $method (qw(auto buffered))
{
	my $session = $f->session;
	my $standby = PostgreSQL::Test::Cluster->new("standby_$method");

	$session->value("SET skipidx.io_method = $method");
	$f->hold($s, 'new_logged');
	$f->arm($session, 'new_logged', 'wait', 12);
	$session->start($create);
	ok($f->waits($s, 'new_logged'), "$method, backup: waits with a batch logged");
	$node->backup("between_$method");
	$f->release($s, 'new_logged');
	is($session->finish, '', "$method, backup: built");
	$standby->init_from_backup($node, "between_$method", has_streaming => 1);
	$standby->start;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $there = skx_session($standby, 'postgres');

	$there->value("LOAD 'skipidx'");
	whole($there, "$method, backup");
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

# ---- a kernel without io_uring ----

SKIP:
{
	skip 'no seccomp filter to be had', 5 unless skx_refuse_io_uring();
	$minimal->start;
	my $session = skx_session($minimal, 'postgres');

	$session->value("LOAD 'skipidx'; SET skipidx.io_method = auto; DROP INDEX docs_v");
	is($session->raw($create), '', 'no io_uring: built');
	whole($session, 'no io_uring');
	like(slurp_file($minimal->logfile), qr/io_uring cannot be used/, 'no io_uring: the log says so');
	$session->close;
	$minimal->stop;
}
done_testing();
