# A cache that was not preloaded is made in pieces, as they are needed: the first
# search takes the first piece alone, nothing is evicted before all of them are
# taken, and sessions that began with fewer pieces find what others have read
# into further ones.  A piece that is refused, or that a process cannot map, costs
# room and no answer, also after a restart, when pages are read back.
#
# Holds: autoprewarm 2; blkio 4, 21, 22

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_start_apart skx_until skx_logged skx_fault_lock);
use Test::More;

my $mb = 1024 * 1024;
my $piece = 16 * $mb;
my $node = skx_node('pieces', conf => "skipidx.cache_size = 64MB\nskipidx.max_workers = 0\nclient_min_messages = notice");

# Three fourths and more of the 32 MB that there are for single pages.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 h' || i % 50 || (SELECT string_agg(' ' || md5(i::text || k), '') FROM generate_series(150001, 150005) k))::tsvector
FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '128kB');
CREATE TABLE long (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO long SELECT i, (SELECT string_agg('w' || (hashint4(i * 64 + k) & 127), ' ') FROM generate_series(1, 40) k)::tsvector
FROM generate_series(1, 150000) i;
CREATE INDEX long_v ON long USING skipidx (v) WITH (block_size = '128kB');
CHECKPOINT;
SQL
$node->restart;

my @queries = (q{SELECT count(id) FROM docs WHERE v @@ 'h7'}, q{SELECT count(id) FROM long WHERE v @@ 'w1 & w2 & !w3'},
	q{SELECT count(id) FROM docs WHERE v @@ 'aa:* & h1'});
my @right = map { $node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off; $_") } @queries;

sub session
{
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET enable_seqscan = off");
	return $s;
}

sub answers { return map { $_[0]->value($_) } @queries; }
sub state { my ($s, $what) = @_; return $s->value("SELECT $what FROM skipidx_cache()"); }
sub pages_read { return $_[0]->value(q{SELECT pages_read FROM skipidx_io_totals() WHERE scope = 'session'}); }

# ---- pieces, as they are needed ----

my $early = session();
is($early->value($queries[0]), $right[0], 'the first search');
is(state($early, 'taken'), $piece, 'takes the first piece');
is(state($early, 'bytes'), 64 * $mb, 'of as much as was asked for');

my $late = session();
my $total = $late->value(q{SELECT sum(pages) FROM skipidx_segments('docs_v')}) + $late->value(q{SELECT sum(pages) FROM skipidx_segments('long_v')});
cmp_ok($total * 8192, '>', 3 / 2 * $piece, 'the indexes have more pages than that');
$late->value(q{SELECT skipidx_prewarm('docs_v') + skipidx_prewarm('long_v')});
my $taken = state($late, 'taken');
cmp_ok($taken, '>=', 3 * $piece, 'reading them takes further pieces');
cmp_ok($taken, '<=', 64 * $mb, 'and no more than there may be');
is(state($late, 'evictions'), 0, 'before all are taken nothing is evicted');

my $before = pages_read($early);
is_deeply([ answers($early) ], \@right, 'a session that began with one piece has the answers');
is(pages_read($early), $before, 'and finds what others have read into further ones');
is($late->value('SELECT sum(block_frames + page_frames) FROM skipidx_cache_indexes()'), state($late, 'frames_used'),
	'frames of all pieces are counted');
cmp_ok($early->value('SELECT skipidx_cache_reset()'), '>', $piece / 8192 / 4, 'and can be dropped');
is(state($early, 'frames_used'), state($early, 'pinned'), 'all of them');

# ---- many sessions at once, in a cache that is just being made ----

$_->close for $early, $late;
$node->restart;
my @many = map { session() } 1 .. 6;
my @work = (@queries, q{SELECT skipidx_prewarm('docs_v') >= 0}, q{SELECT skipidx_prewarm('long_v') >= 0});
for my $turn (0 .. 4)
{
	$many[$_]->start($work[ ($turn + $_) % @work ]) for 0 .. $#many;
	for (0 .. $#many)
	{
		my $which = ($turn + $_) % @work;

		is($many[$_]->finish, $right[$which] // 't', "turn $turn, session $_");
	}
}
is(state($many[0], 'pinned'), 0, 'nothing stays pinned');
cmp_ok(state($many[0], 'taken'), '>', $piece, 'the cache has grown');
cmp_ok(state($many[0], 'taken'), '<=', 64 * $mb, 'to no more than it may have');
$_->close for @many;

# ---- a session that cannot map a piece ----

SKIP:
{
	skip 'no prlimit here', 4 if system_log('prlimit', '--version') != 0;
	$node->restart;
	my $narrow = session();
	my $wide = session();

	is($narrow->value($queries[0]), $right[0], 'narrow: the first search');
	my ($size) = slurp_file('/proc/' . $narrow->backend . '/status') =~ /^VmSize:\s+(\d+) kB/m;
	system_or_bail('prlimit', '--pid', $narrow->backend, '--as=' . ($size * 1024 + 12 * $mb) . ':');
	$wide->value(q{SELECT skipidx_prewarm('docs_v') + skipidx_prewarm('long_v')});
	is_deeply([ answers($narrow) ], \@right, 'narrow: answers without the pieces that it cannot map');
	like(state($narrow, 'limited_by'), qr/./, 'narrow: and says why');
	is_deeply([ answers($wide) ], \@right, 'wide: answers');
	$_->close for $narrow, $wide;
}

# ---- a cache that another build has made ----

SKIP:
{
	$node->restart;
	my $first = session();

	is($first->value($queries[0]), $right[0], 'another build: the first search');
	my ($largest) = sort { -s $b <=> -s $a } slurp_file('/proc/' . $first->backend . '/maps') =~ m{(/dev/shm/PostgreSQL\.\d+)$}mg;

	skip 'the cache is no file in /dev/shm here', 3 if !defined $largest || -s $largest < $piece;
	open(my $cache, '+<', $largest) or die "$largest: $!";
	syswrite($cache, 'another!') == 8 or die "$largest: $!";
	close($cache);
	my $second = session();

	is_deeply([ answers($second) ], \@right, 'another build: answers without the cache');
	like(state($second, 'limited_by'), qr/another build/, 'another build: and says why');
	is_deeply([ answers($first) ], \@right, 'another build: its own sessions go on');
	$_->close for $first, $second;
}

# ---- what was in the cache, read back by a process that cannot map a piece ----

my $file = $node->data_dir . '/autoprewarm.skipidx';

$node->append_conf('postgresql.conf', "dynamic_shared_memory_type = mmap\nskipidx.autoprewarm_interval = 1h\nlog_min_messages = log");
$node->restart;
{
	my $s = session();

	$s->value(q{SELECT skipidx_prewarm('docs_v') + skipidx_prewarm('long_v')});
	cmp_ok(state($s, 'taken'), '>=', 3 * $piece, 'warm: several pieces are noted');
	skx_until('the process that notes', sub { $s->value($queries[0]); $s->value(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'skipidx autoprewarm'}) == 1 });
	$s->close;
}
$node->stop;
my $notes = slurp_file($file);

# The process that reads waits before its first batch, as the setting says that
# sessions do without.
$node->append_conf('postgresql.conf', "skipidx.fault = 'views_map:wait'");
$node->start;
{
	my ($keeper, $s, $t) = map { skx_session($node, 'postgres') } 1 .. 3;
	my $log_start = -s $node->logfile;

	$_->value("LOAD 'skipidx'; SET skipidx.fault = ''; SET enable_seqscan = off") for $s, $t;
	$keeper->value("SELECT pg_advisory_lock(@{[0x736b78]}, " . skx_fault_lock('views_map') . ')');
	is($s->value($queries[0]), $right[0], 'warm: a search');
	skx_until('pages to be read', sub { $t->value(q{SELECT count(*) FROM pg_stat_activity WHERE query = 'skipidx: autoprewarm' AND wait_event_type = 'Lock'}) == 1 });
	my %before = map { $_ => 1 } glob $node->data_dir . '/pg_dynshmem/*';

	$t->value(q{SELECT skipidx_prewarm('docs_v')});
	my @new = grep { !$before{$_} } glob $node->data_dir . '/pg_dynshmem/*';

	cmp_ok(scalar @new, '>', 0, 'warm: further pieces');
	unlink @new;
	$keeper->value('SELECT pg_advisory_unlock_all()');
	skx_logged($node, $log_start, qr/pages back/);
	like(slurp_file($node->logfile, $log_start), qr/could not use shared memory for skipidx/, 'warm: it cannot map them');
	cmp_ok(state($t, 'prewarmed') * 8192, '<', $piece, 'warm: and reads no more than it can keep');
	note 'prewarmed: ' . state($t, 'prewarmed');
	is_deeply([ answers($t) ], \@right, 'warm: answers');
	$_->close for $keeper, $s, $t;
}
$node->stop;
$node->append_conf('postgresql.conf', "skipidx.fault = ''");
unlink $file;
append_to_file($file, $notes);

# ---- a warm restart with as much shared memory as a container has ----

SKIP:
{
	$node->append_conf('postgresql.conf', 'dynamic_shared_memory_type = posix');
	my $log_start = -s $node->logfile;

	skip 'no private mount namespaces here', 7
	  if !skx_start_apart($node, 'mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm');
	my $s = session();

	like($s->value($queries[0]), qr/^\Q$right[0]\E$/m, '64 MB: a search');
	skx_logged($node, $log_start, qr/pages back/);
	cmp_ok(state($s, 'taken'), '<=', $piece, '64 MB: the cache is small');
	cmp_ok(state($s, 'prewarmed'), '>', 500, '64 MB: what fits is read back');
	cmp_ok(state($s, 'prewarmed') * 8192, '<=', $piece, '64 MB: and no more');
	is_deeply([ answers($s) ], \@right, '64 MB: answers');
	unlike(slurp_file($node->logfile, $log_start), qr/ERROR|FATAL|PANIC/, '64 MB: no error');
	$s->close;
}
$node->append_conf('postgresql.conf', "dynamic_shared_memory_type = posix\nskipidx.autoprewarm_interval = 0\nlog_min_messages = warning");

# ---- a piece that is refused ----

SKIP:
{
	skip 'no private mount namespaces here', 8
	  if !skx_start_apart($node, 'mount -t tmpfs -o size=280m,mode=1777 tmpfs /dev/shm');
	my $s = session();
	my $t = session();

	is($s->value($queries[0]), $right[0], 'refused: the first search');
	is(state($s, 'bytes'), 64 * $mb, 'refused: there seems to be room');
	$s->value('CREATE TEMP TABLE lines (line text)');
	$s->value(q{COPY lines FROM PROGRAM $$fallocate -l 240M /dev/shm/ballast$$});
	my $log_start = -s $node->logfile;

	$t->value(q{SELECT skipidx_prewarm('docs_v') + skipidx_prewarm('long_v') > 0});
	is(state($t, 'taken'), $piece, 'refused: the cache keeps the piece that it has');
	is(state($s, 'bytes'), $piece, 'refused: which is all it may have, in other sessions, too');
	like(state($s, 'limited_by'), qr{^a quarter of the \d+ MB free in /dev/shm}, 'refused: and why');
	is_deeply([ answers($s) ], \@right, 'refused: answers');
	is_deeply([ answers($t) ], \@right, 'refused: in the session that was refused, too');
	my $log = slurp_file($node->logfile, $log_start);
	my @told = $log =~ /LOG: .*block cache of 16 MB instead of 64 MB/g;

	is(scalar @told, 1, 'refused: the log is told, once');
	$_->close for $s, $t;
}

$node->stop;
done_testing();
