# How the segments of an index in use get to its file: past the page cache
# where the method is a direct one, all of them, whatever the device and the
# file system do, and never past a file system that will not.
#
# Holds: blkio 6, 8, 18; fault 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_relation_file);
use Test::More;

my $node = skx_node('live', faults => 1, extra => ['--data-checksums'],
	conf => "fsync = on\nshared_buffers = 256MB\nskipidx.cache_size = 4MB\nskipidx.max_workers = 0\nbgwriter_lru_maxpages = 0");
my ($f, $s);

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE EXTENSION pg_prewarm;
CREATE SEQUENCE ids;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION add(k int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, (SELECT string_agg(md5(i || ' ' || n) || ':' || n * 2, ' ')
			FROM generate_series(1, 4) n)::tsvector || ('all:1,3 r' || i % 500 || ':2')::tsvector
		FROM (SELECT nextval('ids') FROM generate_series(1, k)) s (i)
$$;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64MB');
SQL
$f = SkipidxFault->new($node, 'postgres');
$s = $f->{s};
my $file = skx_relation_file($node, 'postgres', 'docs_v');

# Documents that wait for a flush, and segments for a merge.
sub fill
{
	my ($session) = @_;

	for (1 .. 2)
	{
		$session->value('SELECT add(800)');
		$session->value("SELECT skipidx_flush('docs_v')");
	}
	$session->value('SELECT add(800)');
	return;
}

# Is the index whole, and has a scan by each way to read it all rows?
sub whole
{
	my ($session, $name) = @_;
	my $rows = $session->value('SELECT count(*) FROM docs');
	my $ok = is($session->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");

	$session->value("SELECT skipidx_cache_reset() \\g /dev/null\n");
	$session->value('SET enable_seqscan = off');
	for my $method (qw(buffered direct shared_buffers))
	{
		$session->value("SET skipidx.io_method = $method");
		$ok &= is($session->raw("SELECT count(*), count(DISTINCT id) FROM docs WHERE v @@ 'all & !nosuchword'"),
			"$rows|$rows", "$name: rows, $method");
	}
	$session->value('RESET skipidx.io_method; RESET enable_seqscan');
	return $ok;
}

# Pages of 4 kB that the page cache has of the file, after `forget`.
sub cached
{
	my $pages = `fincore --bytes --noheadings --output PAGES "$file"`;

	return $pages + 0;
}

sub forget
{
	$node->safe_psql('postgres', 'CHECKPOINT');
	system_or_bail('dd', "if=$file", 'iflag=nocache', 'count=0', 'status=none');
	return cached();
}

my $work = "SELECT skipidx_flush('docs_v'); SELECT skipidx_merge('docs_v', 1)";

# ---- every method ----

$s->value('SELECT add(8000)');
$s->value("SELECT skipidx_flush('docs_v')");

my $fincore = system('fincore --version >/dev/null 2>&1') == 0;

for my $method (qw(auto uring_direct uring direct buffered shared_buffers))
{
	my $session = $f->session;

	# shared buffers have nothing of it
	fill($session);
	$session->close;
	$s->close;
	$node->restart;
	$f->connect;
	$s = $f->{s};
	$session = $f->session;
	my $before = $fincore ? forget() : 0;

	$session->value("SET skipidx.io_method = $method");
	is($session->raw("SELECT skipidx_merge('docs_v', 1)"), 1, "$method: merged");
	my $pages = $session->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE segment IS NOT NULL");

	if ($fincore)
	{
		my $in = cached() / 2;

		note "$method: the page cache has $in pages for a segment of $pages, at first $before";
		# zeros of what the file has grown by may be there
		cmp_ok($in, '<', $pages / 2, "$method: past the page cache") if $method =~ /direct/;
		cmp_ok($in, '>', $pages * 0.8, "$method: through the page cache") if $method !~ /direct/;
	}
	whole($session, $method);
	$session->close;
}

# `auto` with a cache as large as that asks for reads past the page cache.
{
	$s->close;
	$node->append_conf('postgresql.conf', "skipidx.cache_size = '1GB'");
	$node->restart;
	$f->connect;
	$s = $f->{s};
	my $session = $f->session;

	fill($session);
	$session->value('SET skipidx.io_method = auto');
	$session->value("SET skipidx.fault_write = 'slow:1:1000'");
	$f->mark;
	$session->value($work);
	like(slurp_file($node->logfile, $f->{log}), qr/skipidx fault write: slow/, 'auto, a large cache: written past the storage manager');
	whole($session, 'auto, a large cache');
	$session->close;
}

# ---- writes that fail ----

for my $method (qw(direct uring_direct))
{
	my $session = $f->session;

	for my $case ([ 'eio', '58030' ], [ 'enospc', '53100' ], [ 'empty', '53100' ])
	{
		my ($action, $state) = @$case;

		for my $at (1, 3)
		{
			my $name = "$method, $action at $at";

			fill($session);
			$session->value("SET skipidx.io_method = $method; SET skipidx.fault_write = '$action:$at'");
			like($session->raw($work), qr{ERROR:  $state: could not write block \d+ in file "base/\d+/\d+": }, "$name: an error that says where");
			$session->value("SET skipidx.fault_write = ''");
			whole($session, $name);
			is($session->raw('CHECKPOINT'), '', "$name: a checkpoint");
			$session->value($work);
			whole($session, "$name, done again");
		}
	}

	# An error that is caught does not hold off checkpoints.
	fill($session);
	$session->value("SET skipidx.io_method = $method; SET skipidx.fault_write = 'eio:2'");
	$session->value(<<'SQL');
BEGIN;
DO $$
BEGIN
	PERFORM skipidx_flush('docs_v');
	PERFORM skipidx_merge('docs_v', 1);
	RAISE 'not reached';
EXCEPTION WHEN io_error THEN
	NULL;
END $$;
SQL
	is($s->raw("SET statement_timeout = '60s'; CHECKPOINT"), '', "$method, caught: a checkpoint meanwhile");
	$session->value("COMMIT; SET skipidx.fault_write = ''");
	whole($session, "$method, caught");

	# What is no failure of the device: all is written.
	for my $action (qw(short intr einval slow))
	{
		fill($session);
		$session->value("SET skipidx.io_method = $method; SET skipidx.fault_write = '$action:2:3'");
		$f->mark;
		is($session->raw($work) =~ s/^\d+$//gmr, "\n", "$method, $action: no error");
		my $hits = () = slurp_file($node->logfile, $f->{log}) =~ /skipidx fault write: $action/g;

		# a flush and a merge, of which each goes to the storage manager after it
		cmp_ok($hits, '>=', $action eq 'einval' ? 1 : 3, "$method, $action: it happened");
		$session->value("SET skipidx.fault_write = ''");
		whole($session, "$method, $action");
		$node->safe_psql('postgres', 'CHECKPOINT');
	}
	$session->close;
}

# ---- what shared buffers have is written by the storage manager ----

{
	my $session = $f->session;

	for (1 .. 3)
	{
		fill($session);
		$session->value($work);
	}
	$session->value('SET skipidx.io_method = direct');

	# What a merge adds to the file is in no buffer: then the next one tells,
	# when VACUUM has made what others gave up free. With three quarters of the
	# documents gone there is room within the file soon.
	my $said;

	$s->value('ALTER TABLE docs SET (vacuum_truncate = off)');
	$s->value('DELETE FROM docs WHERE id % 4 > 0');
	for (1 .. 8)
	{
		$s->value('VACUUM (INDEX_CLEANUP ON) docs');
		fill($session);
		$s->value("SELECT pg_prewarm('docs_v')");
		my $size = $s->value("SELECT pg_relation_size('docs_v')");

		$session->value("SET skipidx.fault_write = 'eio:1:1000'");
		$said = $session->raw("SELECT skipidx_merge('docs_v', 1)");
		$session->value("SET skipidx.fault_write = ''");
		last if $s->value("SELECT pg_relation_size('docs_v')") == $size;
	}
	is($said, 1, 'resident: not past the page cache');
	whole($session, 'resident');
	$session->close;
}
$s->close;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing else in the log');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');
done_testing();
