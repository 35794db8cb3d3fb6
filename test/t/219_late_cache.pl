# A cache that another process makes while this one is in the middle of
# something: an insert that holds locks of pages does not look for it then, and a
# new index is complete although what was known of its file is forgotten.
#
# The shared memory is in files of the data directory, so that one can be taken
# away before a process has mapped it.
#
# Holds: blkio 4, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_until skx_logged skx_reload skx_fault_lock skx_relation_file);
use Test::More;

my $node = skx_node('late', faults => 1, conf => <<'CONF');
dynamic_shared_memory_type = mmap
skipidx.cache_size = 0
skipidx.io_method = buffered
skipidx.max_workers = 0
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE others AS SELECT i AS id, ('all:1 h' || i % 50 || ':2')::tsvector AS v FROM generate_series(1, 5000) i;
CREATE INDEX others_v ON others USING skipidx (v);
SQL

sub session
{
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET enable_seqscan = off");
	return $s;
}

my $keeper = session();

# Starts a statement, and waits until it is at the point.
sub stop_at
{
	my ($s, $point, $action, $sql) = @_;
	my $from = -s $node->logfile;

	$keeper->value("SELECT pg_advisory_lock(@{[0x736b78]}, " . skx_fault_lock($point) . ')');
	$s->value("SET skipidx.fault = '$point:$action'");
	$s->start($sql);
	skx_logged($node, $from, qr/skipidx fault point $point: $action/);
	return;
}

sub go_on
{
	my ($s) = @_;

	$keeper->value('SELECT pg_advisory_unlock_all()');
	return $s->finish;
}

# Another session makes the cache.  Returns the new files of shared memory.
sub make_cache
{
	my %before = map { $_ => 1 } glob $node->data_dir . '/pg_dynshmem/*';

	$node->append_conf('postgresql.conf', 'skipidx.cache_size = 64MB');
	skx_reload($node);
	my $s = session();

	is($s->value(q{SELECT count(id) FROM others WHERE v @@ 'h7'}), 100, 'a search makes the cache');
	cmp_ok($s->value('SELECT taken FROM skipidx_cache()'), '>', 0, 'and there is one');
	return ($s, grep { !$before{$_} } glob $node->data_dir . '/pg_dynshmem/*');
}

# ---- an insert with pages locked ----

# A document of more than 16 pages takes an extent for these, and one for the
# record that names them.
my $long = q{INSERT INTO docs SELECT 1, string_agg(md5(i::text) || ':' || i, ' ')::tsvector FROM generate_series(1, 6000) i};
my $insert = session();

stop_at($insert, 'extent_grown', 'pause', $long);
my $size = -s skx_relation_file($node, 'postgres', 'docs_v');
my ($maker, @files) = make_cache();
cmp_ok(scalar @files, '>', 0, 'in files');
unlink @files;
my $from = -s $node->logfile;
is(go_on($insert), '', 'the insert goes on');
cmp_ok(-s skx_relation_file($node, 'postgres', 'docs_v'), '>', $size, 'and has made the file longer again');
unlike(slurp_file($node->logfile, $from), qr/could not use shared memory/, 'without a look for the cache');
is($insert->value('SELECT count(id) FROM docs WHERE v @@ md5(7::text)::tsquery'), 1, 'the row is found');
is($insert->value(q{SELECT count(id) FROM others WHERE v @@ 'h7'}), 100, 'other rows, too');
like(slurp_file($node->logfile, $from), qr/could not use shared memory/, 'by a search that has looked for it');
is($insert->value(q{SELECT skipidx_check('docs_v', true)}), '', 'the index is sound');
is($insert->raw($long), '', 'without the cache inserts go on');
$_->close for $insert, $maker, $keeper;

# ---- a new index ----

$node->stop;
$node->append_conf('postgresql.conf', 'skipidx.cache_size = 0');
$node->start;
$keeper = session();
my $builder = session();

$builder->value('SET skipidx.fault_skip = 512');
stop_at($builder, 'build_segment_written', 'wait', 'CREATE INDEX others_w ON others USING skipidx (v)');
($maker) = make_cache();
is(go_on($builder), '', 'the build goes on');
my $file = skx_relation_file($node, 'postgres', 'others_w');
cmp_ok(-s $file, '>', 512 * 8192, 'pages in the middle of the file were not written');
cmp_ok((stat $file)[12] * 512, '>=', -s $file, 'but have space on disk');
is($builder->value(q{SELECT skipidx_check('others_w', true)}), '', 'the new index is sound');
$_->close for $builder, $maker, $keeper;
$node->stop;
done_testing();
