# What the storage must stand that no query shows: readers of a file that is
# being built, memory bounds, full disks, a crash after a change of settings.
#
# Holds: am 6; manifest 8; snapshot 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_relation_file skx_reload);
use Test::More;
use Time::HiRes qw(sleep);

my $node = skx_node('storage', conf => <<'CONF');
shared_preload_libraries = 'skipidx'
skipidx.cache_size = 16MB
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE EXTENSION pg_prewarm;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, 'all:1' FROM generate_series(1, 150000) i;
CREATE FUNCTION gate(v tsvector) RETURNS tsvector IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(1);
	RETURN v;
END $$;
SQL

# Pages that a tool reads into shared buffers before they are written.  The
# build waits at its last row, when the file has pages, but not the first.
{
	my $builder = skx_session($node, 'postgres');
	my $tool = skx_session($node, 'postgres');
	my $column = 'CASE id WHEN 150000 THEN gate(v) ELSE v END';
	my $read = 0;

	$tool->value('SELECT pg_advisory_lock(1)');
	$builder->start('CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx'
		  . " (($column)) WITH (block_size = '8kB')");
	for (1 .. 600)
	{
		$read = $tool->raw("SELECT pg_prewarm(to_regclass('docs_v'))");
		last if $read =~ /^[1-9]/;
		sleep 0.05;
	}
	like($read, qr/^[1-9]/, 'an index is read while it is built');
	$tool->value('SELECT pg_advisory_unlock(1)');
	is($builder->finish, '', 'it is complete');
	is($tool->raw("INSERT INTO docs VALUES (0, 'all:1')"), '',
		'the metapage is the one that was written');
	is($tool->value('SET enable_seqscan = off; SELECT count(*) FROM docs'
			  . " WHERE $column @@ 'all'"), 150001, 'and so are the others');
	is($tool->raw("SELECT skipidx_check('docs_v', true)"), '', 'all of them');
}

# Space on disk is taken when the pages are, not when a checkpoint writes them.
sub holes
{
	my ($index) = @_;
	my @stat = stat(skx_relation_file($node, 'postgres', $index));

	return $stat[7] - $stat[12] * 512;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE empty (v tsvector);
CREATE INDEX empty_v ON empty USING skipidx (v) WITH (block_size = '1MB');
CREATE UNLOGGED TABLE volatile (v tsvector);
CREATE INDEX volatile_v ON volatile USING skipidx (v);
CHECKPOINT;
SQL
cmp_ok(holes('empty_v'), '<=', 0, 'no holes in an empty index');
cmp_ok(holes('volatile_v'), '<=', 0, 'nor in an unlogged one');

# Memory of a build: first few terms with long lists, then many terms.
SKIP:
{
	skip 'needs /proc', 1 unless -r "/proc/$$/status";
	my $session = skx_session($node, 'postgres');
	my $status = '/proc/' . $session->backend . '/status';
	my $peak = 0;

	my $used = sub {
		my ($kb) = slurp_file($status) =~ /^RssAnon:\s+(\d+)/m;
		return $kb;
	};

	$session->value(<<'SQL');
CREATE UNLOGGED TABLE turns (v tsvector);
ALTER TABLE turns ALTER v SET STORAGE PLAIN;
INSERT INTO turns SELECT (SELECT string_agg('t' || k || ':' || k || ',' || k + 7 || ',' || k + 9, ' ')::tsvector
	FROM generate_series(1, 200) k) FROM generate_series(1, 10000);
INSERT INTO turns SELECT (SELECT string_agg('q' || i * 100 + k, ' ')
	FROM generate_series(1, 100) k)::tsvector FROM generate_series(1, 6000) i;
SET maintenance_work_mem = '8MB';
CREATE INDEX ON empty USING skipidx (v);
SQL
	my $before = $used->();
	$session->start('CREATE INDEX turns_v ON turns USING skipidx (v)');
	my $watch = skx_session($node, 'postgres');
	do
	{
		my $now = $used->();
		$peak = $now if $now > $peak;
		sleep 0.002;
	} while ($watch->value('SELECT state FROM pg_stat_activity WHERE pid = '
		  . $session->backend) eq 'active');
	$session->finish;
	cmp_ok($peak - $before, '<', 8 * 1024 * 1.1,
		'a build stays within maintenance_work_mem');
}

# Memory of a scan over pending documents.
{
	my $session = skx_session($node, 'postgres');

	$session->value(<<'SQL');
DO $$ DECLARE i regclass; BEGIN
	FOR i IN SELECT indexrelid FROM pg_index WHERE indrelid = 'empty'::regclass LOOP
		EXECUTE format('ALTER INDEX %s SET (pending_limit = %L)', i, '64MB');
	END LOOP;
END $$;
INSERT INTO empty SELECT ('all:1,5,9 k' || i || ':2,6 k:3')::tsvector
	FROM generate_series(1, 20000) i;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT 1 FROM empty WHERE v @@ 'all <-> k:*';
MOVE 15000 IN c;
SQL
	my $bytes = $session->value('SELECT sum(total_bytes)'
		  . " FROM pg_backend_memory_contexts WHERE name LIKE 'skipidx%'");
	cmp_ok($bytes, '>', 0, 'the scan is under way');
	cmp_ok($bytes, '<', 500000, 'its memory does not grow with the list');
}

# Shared memory is made again after a crash, with the size it had before.
{
	my $session = skx_session($node, 'postgres');
	my $back = 0;

	$node->append_conf('postgresql.conf', 'skipidx.cache_size = 300MB');
	skx_reload($node);
	kill 'KILL', $session->backend;
	for (1 .. 600)
	{
		# psql may be gone, refused, before it is told what to ask
		my ($rc, $out) = eval { $node->psql('postgres', 'SELECT bytes FROM skipidx_cache()') };

		$back = $out if defined $rc && $rc == 0;
		last if defined $rc && $rc == 0;
		sleep 0.1;
	}
	is($back, 16 * 1024 * 1024, 'a crash does not resize the cache');
}

$node->stop;
done_testing();
