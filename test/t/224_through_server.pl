# A server whose storage manager keeps no page as it returns it, of any relation.
# With io_method = shared_buffers everything goes through it: builds, flushes, merges,
# VACUUM, searches of all kinds, after a crash and on a standby.  No call of skipidx is
# for a file of a relation, and no file shows a word.  By the other methods nothing
# else comes out; and a page that only the server reads rightly is no damage.
#
# The storage manager is played by ../module/skipidx_cipher.c.
#
# Holds: blkio 2, 15, 24

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxMatrix;
use SkipidxTest qw(skx_node skx_session skx_until skx_module skx_relation_file);
use Test::More;

use constant MARK => 'plaintextcanary';

my $notes = PostgreSQL::Test::Utils::tempdir . '/notes';

local $ENV{LD_PRELOAD} = skx_module('skipidx_cipher.so');
local $ENV{SKIPIDX_CIPHER} = 'base/';
local $ENV{SKIPIDX_CIPHER_NOTES} = $notes;
local $ENV{SKIPIDX_CIPHER_QUOTA} = "$notes.quota";
local $ENV{SKIPIDX_CIPHER_HELD} = "$notes.held";

# The size of a segment of the log is an option of its own, so that no other test
# uses the files that initdb makes here.
my $m = SkipidxMatrix->new('through', seed => 224, extra => [ '--data-checksums', '--wal-segsize=16' ], columns => [qw(tenant tags n day)], conf => <<'CONF', bare => 0.3, disjunctions => 0.15);
skipidx.io_method = shared_buffers
skipidx.io_depth = 16
effective_io_concurrency = 16
shared_buffers = 4MB
max_parallel_maintenance_workers = 2
min_parallel_table_scan_size = 0
CONF
my ($node, $s) = ($m->node, $m->session);

# What skipidx itself has done with files of relations.
sub noted { return -e $notes ? slurp_file($notes) : ''; }

# The bytes of the relation's file, as they are or as its storage manager returns them.
sub bytes_of
{
	my ($relation, $turned) = @_;

	$s->value('CHECKPOINT');
	my $bytes = slurp_file(skx_relation_file($node, 'd', $relation));
	return $bytes unless $turned;

	my @keys = map { my $page = $_; pack('C*', map { ($_ * 167 + $page * 13 + 91) % 256 | 1 } 0 .. 8191) } 0 .. 255;
	return join '', map { substr($bytes, $_ * 8192, 8192) ^ $keys[ $_ % 256 ] } 0 .. length($bytes) / 8192 - 1;
}

sub no_clear_text
{
	my ($when) = @_;

	is(index(bytes_of('docs_skx'), MARK), -1, "$when: no word of the index in its file");
	cmp_ok(index(bytes_of('docs_skx', 1), MARK), '>', 0, "$when: but the server returns it from there");
	return;
}

# ---- by shared_buffers, in all states ----

$m->load(700);
$s->value("INSERT INTO docs (id, v) SELECT 5000 + i, '@{[MARK]}:1 wa:2' FROM generate_series(1, 40) i");
$m->ask($m->long(500, 60), qw(rows ranked ordered count facets scroll columns));
$s->value('ANALYZE docs');
$m->state('pending', 2);
$m->state('a segment', 2);
no_clear_text('a segment');
$m->state('several', 2);
$m->state('deleted', 2);
$m->state('vacuumed', 2);
$m->state('merged', 2);
no_clear_text('merged');
$m->beside_older(5);
$m->state('crashed', 2);
$s = $m->session;
$s->value('REINDEX TABLE docs');
$m->state('rebuilt', 2);
no_clear_text('rebuilt');
$s->value("SELECT skipidx_prewarm('docs_skx')");
is($s->value('CREATE TEMP TABLE mine AS SELECT id, v FROM docs; CREATE INDEX mine_v ON mine USING skipidx (v);'
	  . " INSERT INTO mine SELECT id, v FROM docs; SELECT skipidx_flush('mine_v') \\g /dev/null\n SELECT skipidx_merge('mine_v', 1) \\g /dev/null\n"
	  . " SET enable_seqscan = off; SELECT count(*) = 2 * (SELECT count(*) FROM docs WHERE v @@ '@{[MARK]}') FROM mine WHERE v @@ '@{[MARK]}'"), 't', 'temporary');
$s->value('RESET enable_seqscan; DROP TABLE mine');

# Backward through a table that is not in memory: its blocks are asked for.
$s->value("CREATE TABLE long AS SELECT i, ('wa:1 r' || i || ':2')::tsvector v, repeat('x', 500) FROM generate_series(1, 20000) i;"
	  . ' CREATE INDEX long_v ON long USING skipidx (v, i); VACUUM ANALYZE long');
is($s->value("SET enable_sort = off; SET enable_seqscan = off; SELECT sum(length) FROM (SELECT length(repeat) FROM long WHERE v @@ 'wa' ORDER BY i DESC LIMIT 15000) x; RESET ALL"),
	15000 * 500, 'backward');

# The server itself would compare the checksums of what it does not return.
$node->backup('base', backup_options => ['--no-verify-checksums']);
my $there = $m->standby;

$m->load(60);
$s->value('SELECT tend(1)');
$m->caught_up;
$m->differ('standby', 3, on => $there);
$m->standby_gone($there);
is(noted(), '', 'shared_buffers: skipidx has used no file of a relation');

# ---- each method of the server, where there are several ----

if ($node->pg_version >= 18)
{
	for my $method (qw(sync worker))
	{
		$s->close;
		$node->append_conf('postgresql.conf', "io_method = $method");
		$node->restart;
		$s = $m->reconnect;
		is($s->value('SHOW io_method'), $method, "the server reads by $method");
		$m->load(40);
		$s->value('SELECT tend(1)');
		$m->differ("server's $method", 3);
	}
	is(noted(), '', "the server's methods: skipidx has used no file of a relation");
}

# ---- the other methods ----

$m->by_methods('others', 4);
isnt(noted(), '', 'skipidx has looked into files');
for my $method (qw(direct auto))
{
	$s->value("SET skipidx.io_method = $method; REINDEX TABLE docs");
	no_clear_text("built by $method");
	$m->load(60);
	$s->value('DELETE FROM docs WHERE id % 10 = 7');
	$s->value('SELECT tend(1)');
	$s->value('VACUUM docs');
	no_clear_text("$method, changed");
	$m->differ("written by $method", 4);
}
is($s->value("SELECT coalesce(sum(pages_read), 0) FROM skipidx_io_methods() WHERE scope = 'all' AND method <> 'shared_buffers'"), 0, 'no page came by them');
like(slurp_file($node->logfile), qr/LOG: .*index "\w+" and others like it through the server only\n.*does not hold pages as/, 'the log says why');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|invalid page|sound if the server reads/, 'nothing else in the log');

# ---- a quota is a full disk ----

$s->value('SET skipidx.io_method = shared_buffers; CREATE TABLE small (v tsvector); CREATE INDEX small_v ON small USING skipidx (v)');
append_to_file("$notes.quota", $s->value(q{SELECT pg_relation_filepath('small_v')}));
{
	my ($said, $n) = ('', 0);

	$said = $s->raw('INSERT INTO small SELECT v FROM docs LIMIT 300') until $said ne '' || ++$n == 100;
	like($said, qr/^ERROR:  53100: could not extend index "small_v": Disk quota exceeded\nHINT:  Check free disk space/, 'a quota is met');
	is($s->value(q{SELECT skipidx_check('small_v', true)}), '', 'a quota: the index is sound');
	unlink "$notes.quota" or die $!;
	is($s->raw('INSERT INTO small SELECT v FROM docs LIMIT 300'), '', 'a quota that is raised');
}
$s->close;
$node->stop;

# ---- a file whose first page, but no other, is as it was written ----

{
	local $ENV{SKIPIDX_CIPHER_CLEAR} = 8192;
	my $partly = skx_node('partly', extra => [ '--data-checksums', '--wal-segsize=32' ], conf => "client_min_messages = warning\nskipidx.cache_size = 16MB\n");
	my $methods = q{SELECT string_agg(method, ' ' ORDER BY method) FROM skipidx_io_methods() WHERE scope = 'session' AND pins > 0};
	my $sum = "SELECT count(*), sum(id) FROM docs WHERE v @@ 'a & b3'";
	my $ask = "SET enable_seqscan = off; $sum";

	$partly->safe_psql('postgres', q{CREATE EXTENSION skipidx; CREATE TABLE docs AS SELECT i AS id, ('a:1 b' || i % 7 || ':2')::tsvector v FROM generate_series(1, 5000) i});
	my $want = $partly->safe_psql('postgres', $sum);
	for my $method (qw(direct buffered))
	{
		$partly->safe_psql('postgres', "SET skipidx.io_method = shared_buffers; DROP INDEX IF EXISTS docs_v; CREATE INDEX docs_v ON docs USING skipidx (v)");
		# the first to say so speaks for all
		$partly->restart;
		my $t = skx_session($partly, 'postgres');

		$t->value("LOAD 'skipidx'; SET skipidx.io_method = $method");
		my $said = $t->raw($ask);

		like($said, qr/^\Q$want\E$/m, "$method: pages that only the server reads rightly");
		like($said, qr/WARNING: .*block \d+ of index "docs_v" is sound if the server reads it, but not if its file is read\n.*\n*HINT: .*io_method/, "$method: a warning");
		is($t->raw($ask), $want, "$method: but one");
		$t->close;
		$t = skx_session($partly, 'postgres');
		$t->value("LOAD 'skipidx'; SET skipidx.io_method = $method");
		is($t->raw($ask), $want, "$method: another session");
		is($t->value($methods), 'shared_buffers', "$method: and from then on through the server");
		is($t->raw("SELECT skipidx_check('docs_v', true)"), '', "$method: no damage");
		$t->close;
	}

	# A comparison that began before another process has found out ends after it.
	$partly->restart;
	my ($first, $second, $third) = map { skx_session($partly, 'postgres') } 1 .. 3;

	$_->value("LOAD 'skipidx'; SET skipidx.io_method = direct; SET enable_seqscan = off") for $first, $second, $third;
	append_to_file("$notes.held", $first->backend);
	$first->start($sum);
	skx_until('a comparison', sub { $partly->safe_psql('postgres', 'SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $first->backend) eq 'DataFileRead' });
	like($second->raw($sum), qr/sound if the server reads it/, 'meanwhile: another process finds a page');
	unlink "$notes.held" or die $!;
	is($first->finish, $want, 'meanwhile: the answer');
	is($third->raw($sum), $want, 'meanwhile: a third process');
	is($third->value($methods), 'shared_buffers', 'meanwhile: goes through the server');
	$_->close for $first, $second, $third;
	$partly->stop;
}

done_testing();
