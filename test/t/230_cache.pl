# The shared block cache, and what keeps many sessions from harming each
# other: full reads that leave it as it is, the limit of reads under way, and
# a server that has less shared memory than it should.
#
# Holds: blkio 1, 4, 12, 13, 14; inspect 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;
use Time::HiRes qw(time sleep);

my @methods = qw(buffered direct uring uring_direct);
my @counters = qw(pins hits loads requests pages_read resident batches
  depth_sum waits queue_waits ahead ahead_used);

# 4 MB are 64 frames of posting blocks and 256 frames of single pages.
my $node = skx_node('cache',
	conf => "skipidx.cache_size = 4MB\nskipidx.io_depth_total = 64");

# "hot" fits the cache beside what a few queries need; "big" is larger.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE hot (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO hot SELECT i, ('all:1 b' || i % 2 || ':2 h' || i % 50 || ':3')::tsvector
	FROM generate_series(1, 20000) i;
CREATE INDEX hot_v ON hot USING skipidx (v) WITH (block_size = '64kB');
-- no worker moves what the test merges
CREATE TABLE big (id int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE INDEX big_v ON big USING skipidx (v) WITH (block_size = '128kB', pending_limit = '1GB');
CREATE FUNCTION fill(first int, n int) RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO big SELECT i, (SELECT string_agg('w' || (i * 7919 + k * 104729) % (1000 * k * k) || ':' || k, ' ')
			FROM generate_series(1, 24) k)::tsvector || 'all:30'
		FROM generate_series(first, first + n - 1) i;
	SELECT skipidx_flush('big_v') $$;
SELECT fill(1, 16000);
SELECT fill(16001, 16000);
SELECT fill(32001, 16000);
CHECKPOINT;
SQL

my @hot = map { "SELECT count(*) || ' ' || sum(id) FROM hot WHERE v @@ '$_'" }
  ('all', 'b1', 'h7', 'b0 & h8', 'all <-> b1', 'h1 | h2 | h3');

sub io
{
	my ($s, $where) = @_;
	my %io;

	@io{@counters} = split /\|/, $s->value('SELECT ' . join(', ', map { "sum($_)" } @counters)
		  . ' FROM skipidx_io_methods() WHERE ' . ($where // "scope = 'session'"));
	return \%io;
}

sub spent
{
	my ($from, $to) = @_;

	return { map { $_ => $to->{$_} - $from->{$_} } keys %$to };
}

# What a piece of work has read.
sub cost
{
	my ($s, $work) = @_;
	my $before = io($s);

	$work->();
	return spent($before, io($s));
}

sub answers
{
	my ($s) = @_;

	return join "\n", map { $s->value($_) } @hot;
}

sub state
{
	my ($s, $what) = @_;

	return $s->value("SELECT $what FROM skipidx_cache()");
}

sub session
{
	my ($method) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("SET enable_seqscan = off; SET skipidx.io_method = $method");
	return $s;
}

my $s = session('buffered');
my $oracle = do
{
	$s->value('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off');
	my $text = answers($s);
	$s->value('RESET enable_indexscan; RESET enable_bitmapscan; SET enable_seqscan = off');
	$text;
};
my ($big_pages, $segments) = split /\|/, $s->value('SELECT sum(pages - delete_pages), count(*)'
	  . " FROM skipidx_segments('big_v') WHERE kind = 'segment'");

is($segments, 3, 'big: segments');
cmp_ok($big_pages, '>', 2 * 512, 'big: larger than the cache');
is(state($s, 'bytes'), 4 * 1024 * 1024, 'size of the cache');

# ---- full reads leave what queries use ----

for my $method (@methods)
{
	my $full = session($method);

	# Flushed again, so that there is something to merge each time.
	$full->value("SELECT fill(100000, 16000); DELETE FROM big WHERE id >= 100000 AND id % 5 < 2");
	$s->value('SELECT skipidx_cache_reset()');
	answers($s) for 1 .. 3;
	my $warm = cost($s, sub { answers($s) });
	my $used = state($s, 'frames_used');
	my $evictions = state($s, 'evictions');

	is($warm->{loads}, 0, "$method: the set is in the cache");

	my $pages = $full->value("SELECT sum(pages - delete_pages) FROM skipidx_segments('big_v') WHERE kind = 'segment'");
	my $vacuum = cost($full, sub { $full->value('VACUUM (INDEX_CLEANUP on) big') });
	my $merge = cost($full, sub { $full->value(q{SELECT skipidx_merge('big_v')}) });
	my $check = cost($full, sub { $full->value(q{SELECT skipidx_check('big_v', true)}) });

	note "$method: merge of $pages pages: ", join ', ', map { "$_ $merge->{$_}" } @counters;
	is($full->value("SELECT count(*) FROM skipidx_segments('big_v') WHERE kind = 'segment'"), 1,
		"$method: merged");
	my $moved = $merge->{pages_read} + $merge->{resident};

	cmp_ok($moved + $vacuum->{pages_read} + $vacuum->{resident}, '>', $pages * 0.9,
		"$method: a merge reads everything");
	cmp_ok($moved, '<', $pages * 1.3, "$method: and hardly anything twice");
	cmp_ok($merge->{ahead_used}, '>=', $merge->{ahead} * 0.8, "$method: what it reads ahead it uses");
	is(state($s, 'evictions'), $evictions, "$method: nothing was evicted for it");

	my $after = cost($s, sub { is(answers($s), $oracle, "$method: answers") });

	is($after->{loads}, 0, "$method: the set is still in the cache");
	is($after->{hits}, $warm->{hits}, "$method: as many hits as before");
	cmp_ok(state($s, 'frames_used'), '<', $used + 30, "$method: and little else");
	is($check->{queue_waits}, 0, "$method: nobody else read");
	$full->close;
}

# By default a merge reads through the page cache what is little, and past it
# what is much.
{
	my $m = session('auto');

	$m->value("SELECT fill(100000, 16000); DELETE FROM big WHERE id >= 100000");
	$m->value(<<'SQL');
CREATE TABLE huge (v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION sums(first int) RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO huge SELECT (SELECT array_to_tsvector(array_agg(md5(i || ' ' || k))) FROM generate_series(1, 100) k)
		FROM generate_series(first, first + 11999) i;
	SELECT 1::bigint $$;
SELECT sums(1);
CREATE INDEX huge_v ON huge USING skipidx (v) WITH (pending_limit = '1GB');
SELECT sums(12001);
SELECT skipidx_flush('huge_v');
SQL
	for my $case ([ 'big_v', 'uring' ], [ 'huge_v', 'uring_direct' ])
	{
		my ($index, $method) = @$case;
		my $pages = $m->value("SELECT sum(pages) FROM skipidx_segments('$index') WHERE kind = 'segment'");
		my $query = "SELECT method || ' ' || sum(pages_read) FROM skipidx_io_methods()"
		  . " WHERE scope = 'session' AND method LIKE 'uring%' GROUP BY method ORDER BY method";
		my %before = split /\s+/, $m->value($query);

		is($method eq 'uring_direct', $pages > 8192, "$index: its size");
		$m->value("SELECT skipidx_merge('$index', 1)");
		my %after = split /\s+/, $m->value($query);

	  SKIP:
		{
			skip 'no io_uring', 1 if $m->value("SELECT in_force FROM skipidx_settings() WHERE name = 'skipidx.io_method'") ne 'uring';
			cmp_ok($after{$method} - ($before{$method} // 0), '>', $pages * 0.9, "$index: read by $method");
		}
		unlike($m->raw("SELECT skipidx_check('$index', true)"), qr/ERROR/, "$index: skipidx_check");
	}
	$m->value('DROP TABLE huge');
	$m->close;
}

# The same pages read for good do push it out; a prefix that the planner knows
# could be tested on rows.
{
	$s->value('SELECT skipidx_cache_reset()');
	answers($s);
	$s->value(q{SELECT count(*) FROM big WHERE v @@ (SELECT 'w:* & all'::tsquery)});
	my $after = cost($s, sub { answers($s) });

	cmp_ok($after->{loads}, '>', 0, 'a query of all pages evicts');
}

# ---- skipidx_prewarm ----

for my $method (@methods)
{
	my $p = session($method);

	$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
	my $evictions = state($s, 'evictions');
	my $n = $p->value(q{SELECT skipidx_prewarm('big_v')});

	# What was read ahead when it stops may be too much.
	cmp_ok($n, '<=', 512 + 32, "$method: prewarm stops when the cache is full");
	cmp_ok($n, '>=', 400, "$method: and not before");
	cmp_ok(state($s, 'evictions') - $evictions, '<', 20, "$method: it evicts next to nothing");
	$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');

	my $pages = $p->value('SELECT sum(pages - delete_pages) - count(*)'
		  . " FROM skipidx_segments('hot_v') WHERE kind = 'segment'");

	is($p->value(q{SELECT skipidx_prewarm('hot_v')}), $pages, "$method: every page of a small index");
	my $after = cost($p, sub { is(answers($p), $oracle, "$method: answers after prewarm") });

	is($after->{loads}, 0, "$method: queries read nothing any more");
	$p->close;
}

# ---- what the cache holds ----

$s->value('SELECT skipidx_cache_reset()');
answers($s);
is($s->value('SELECT index FROM skipidx_cache_indexes()'), 'hot_v', 'the only index in the cache');
is($s->value('SELECT sum(block_frames + page_frames) FROM skipidx_cache_indexes()'),
	state($s, 'frames_used'), 'all its frames');
$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE template0');
$node->safe_psql('other', 'CREATE EXTENSION skipidx');
is($node->safe_psql('other', 'SELECT index IS NULL, block_frames + page_frames FROM skipidx_cache_indexes()'),
	't|' . state($s, 'frames_used'), 'seen from another database');
$s->value('BEGIN; LOCK TABLE hot; LOCK TABLE big');
is($node->safe_psql('postgres', "SET statement_timeout = '5s'; SELECT count(*) FROM skipidx_cache_indexes()"),
	1, 'it waits for nobody');
$s->value('COMMIT');

# What is pinned stays when all else goes.
$s->value('BEGIN; DECLARE c CURSOR FOR SELECT id FROM hot WHERE v @@ $$all & b1$$; FETCH 10 FROM c');
cmp_ok(state($s, 'pinned'), '>', 0, 'a cursor holds pages');
$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
is(state($s, 'frames_used'), state($s, 'pinned'), 'they survive skipidx_cache_reset');
is($s->value('MOVE ALL IN c; COMMIT'), '', 'the cursor goes on');
is(answers($s), $oracle, 'and so do queries');

# ---- counters ----

for my $method (@methods)
{
	my $p = session($method);
	my $where = "scope = 'total' AND method = '$method'";
	my $others = "scope = 'total' AND method <> '$method'";

	$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
	my ($total, $rest) = (io($p, $where), io($p, $others));
	my $mine = cost($p, sub { answers($p) });

	# A scan counts for all when its file is closed.
	is_deeply(spent($total, io($p, $where)), $mine, "$method: totals grow by what the session has read");
	is_deeply(spent($rest, io($p, $others)), { map { $_ => 0 } @counters }, "$method: and no other method's");
	cmp_ok($mine->{requests}, '>', 0, "$method: requests");
	cmp_ok($mine->{batches}, '<=', $mine->{requests}, "$method: batches");
	cmp_ok($mine->{depth_sum}, '>=', $mine->{requests}, "$method: depth");
	is( $p->value("SELECT requests || ' ' || bytes || ' ' || batches || ' ' || mean_depth FROM skipidx_io WHERE method = '$method'"),
		$p->value("SELECT requests || ' ' || pages_read * 8192 || ' ' || batches || ' ' || round(depth_sum::numeric / requests, 2)"
			  . " FROM skipidx_io_methods() WHERE $where"), "$method: the view");
	$p->close;
}

# ---- EXPLAIN ----

for my $plan (qw(enable_indexscan enable_bitmapscan))
{
	for my $method (@methods)
	{
		my $p = session($method);
		my $explain = q{EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT * FROM hot WHERE v @@ 'h7 & b1'};

		$p->value("SET track_io_timing = on; SET $plan = off");
		$p->value($explain);
		$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
		my $cold = cost($p, sub { like($p->value($explain), qr/Scan.*Buffers: shared.* read=[1-9]/s, "$method, $plan off: cold reads show") });
		my $text;

		cmp_ok($cold->{pages_read}, '>', 0, "$method, $plan off: it read");
		$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
		$cold = cost($p, sub { $text = $p->value($explain) });
		my ($read) = $text =~ /Buffers: shared.* read=(\d+)/;
		my ($planning) = $text =~ /Planning:\s+Buffers: shared.* read=(\d+)/;

		$read += $planning // 0;	# which looks words up
		is($read, $cold->{pages_read}, "$method, $plan off: and all of them");
		like($text, qr/I\/O Timings: .*read=\d/, "$method, $plan off: with times");
		$text = $p->value($explain);
		like($text, qr/Buffers: shared hit=[1-9]/, "$method, $plan off: warm, hits show");
		unlike($text, qr/Buffers: .*read=/, "$method, $plan off: and no reads");
		$p->close;
	}
}

# ---- the limit of reads under way ----

sub limit
{
	my ($n) = @_;

	$node->adjust_conf('postgresql.conf', 'skipidx.io_depth_total', $n);
	$node->reload;
	for (1 .. 100)
	{
		last if $s->value('SHOW skipidx.io_depth_total') eq $n;
		sleep 0.05;
	}
	sleep 0.1;
	return;
}

# Nothing of these indexes is in shared buffers from here on, and there is room
# to read ahead.
$s->close;
$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '32MB');
$node->restart;
$s = session('buffered');
answers($s);
my $on_tmpfs = `stat -f -c %T '${\ $node->data_dir}'` =~ /tmpfs/;

limit(1);
for my $method (qw(uring uring_direct))
{
	my $p = session($method);
	$p->value('SELECT skipidx_cache_reset()');
	my $one = cost($p, sub { $p->value(q{SELECT skipidx_prewarm('big_v')}) });

	is($one->{depth_sum}, $one->{requests}, "$method: one read at a time");
	limit(64);
	$p->value('SELECT skipidx_cache_reset()');
	my $many = cost($p, sub { $p->value(q{SELECT skipidx_prewarm('big_v')}) });

	# What is in the page cache is there at once.
  SKIP:
	{
		skip 'reads cannot overlap here', 1
		  if $many->{ahead} == 0 || $method eq 'uring' || $on_tmpfs;
		cmp_ok($many->{depth_sum}, '>', 2 * $many->{requests}, "$method: many when they may be");
	}
	limit(1);
	$p->close;
}

my $all = $s->value(q{SELECT count(*) FROM big WHERE v @@ 'all'});

for my $method (@methods)
{
	my @many = map { session($method) } 1 .. 6;
	my $before = io($s, "scope = 'total'");
	my %seen;

	# Each reads something else first, or they would wait for its frames.
	for my $round (1 .. 4)
	{
		$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
		$many[$_]->start("SELECT sum(n) FROM (SELECT count(*) n FROM big WHERE v @@ 'all & w" . (3 * $_ + 1)
			  . ":*' UNION ALL SELECT count(*) FROM big WHERE v @@ 'all' OFFSET 1) x") for 0 .. 5;
		$seen{$_}++ for map { $_->finish } @many;
	}
	is_deeply(\%seen, { $all => 24 }, "$method: six sessions, one read: answers");
	$_->close for @many;
	my $used = spent($before, io($s, "scope = 'total'"));

	cmp_ok($used->{queue_waits}, '>', 0, "$method: they waited for each other");
	ok($node->poll_query_until('postgres', 'SELECT reads_under_way = 0 AND reads_queued = 0 AND pinned = 0 FROM skipidx_cache()'),
		"$method: nothing is left");
}

# Who has read ahead and does not come back holds up nobody, and goes on later.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO long SELECT i, ('all:1 b' || (hashint4(i) & 1) || ':2')::tsvector FROM generate_series(1, 200000) i;
CREATE INDEX long_v ON long USING skipidx (v) WITH (block_size = '8kB');
SQL
SKIP:
{
	my $idle = session('uring');
	my $other = session('buffered');
	my $count = $s->value(q{SELECT count(*) FROM long WHERE v @@ 'b0'});

	limit(64);
	$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
	$idle->value(q{SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR SELECT id FROM long WHERE v @@ 'b0'; FETCH 1 FROM c});
	my $held = state($s, 'reads_under_way');

	skip 'no io_uring here', 4 if io($idle)->{ahead} == 0;
	cmp_ok($held, '>', 0, 'an idle session has read ahead');
	limit(1);
	my $before = io($other);

	is($other->raw(q{SET statement_timeout = '60s'; SELECT count(*) FROM hot WHERE v @@ 'all'}), 20000,
		'another session gets its turn');
	is(spent($before, io($other))->{queue_waits}, 1, 'after one wait');
	my $tuples = 1;

	while ((my $n = () = $idle->value('FETCH 50000 FROM c') =~ /^\d+$/mg) > 0)
	{
		$tuples += $n;
	}
	is($tuples, $count, 'the idle session goes on');
	$idle->value('COMMIT');
	$idle->close;
	ok($node->poll_query_until('postgres', 'SELECT reads_under_way = 0 AND reads_queued = 0 AND pinned = 0 FROM skipidx_cache()'),
		'nothing is left of it');
}

# Who is cancelled while it waits leaves nothing.
my @many = map { session('direct') } 1 .. 6;

limit(1);
for my $i (1 .. 20)
{
	$node->safe_psql('postgres', 'SELECT skipidx_cache_reset()');
	$_->start("SET statement_timeout = '" . ($i % 7 + 1) . "ms'; SELECT count(*) FROM big WHERE v @@ (SELECT 'all & w1:*'::tsquery); RESET statement_timeout")
	  for @many;
	$_->finish for @many;
}
$_->close for @many;
ok($node->poll_query_until('postgres', 'SELECT reads_under_way = 0 AND reads_queued = 0 AND pinned = 0 FROM skipidx_cache()'),
	'cancelled in the queue: nothing is left');
limit(64);
$s->close;

# Through shared buffers it fills these.
$s = session('shared_buffers');
cmp_ok($s->value(q{SELECT skipidx_prewarm('big_v')}), '>', $big_pages / 2, 'shared_buffers: prewarm reads');
is($s->value(q{SELECT skipidx_prewarm('big_v')}), 0, 'shared_buffers: once');
$s->close;

# ---- less shared memory than asked for ----

# Starts the server under a shell command line that ends in the server's own.
sub start_under
{
	my ($command) = @_;

	$node->stop;
	my $pg_ctl = "pg_ctl -w -D '" . $node->data_dir . "' -l '" . $node->logfile
	  . "' -o '--cluster-name=cache' start";
	my $ok = system('sh', '-c', sprintf($command, $pg_ctl) . ' >/dev/null 2>&1') == 0;

	$node->_update_pid($ok ? 1 : 0);
	return $ok;
}

sub small_memory
{
	my ($what, $most) = @_;
	my $log_start = -s $node->logfile;
	my ($rc, $out, $err) = $node->psql('postgres',
		"SET client_min_messages = notice; SELECT bytes FROM skipidx_cache()");

	cmp_ok($out, '<=', $most * 1024 * 1024, "$what: the cache is no larger than it can be");
	cmp_ok($out, '>=', $most * 1024 * 1024 / 4, "$what: and not much smaller");
	like($err, qr/NOTICE: .*block cache of \d+ MB instead of 128 MB.*HINT: .*cache_size/s, "$what: the session is told");
	my $p = session('buffered');

	is(answers($p), $oracle, "$what: answers");
	$p->close;
	my $log = slurp_file($node->logfile, $log_start);
	my @told = $log =~ /LOG: .*block cache of \d+ MB instead of 128 MB/g;

	is(scalar @told, 1, "$what: the log is told, once");
	return;
}

$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '128MB');
for my $type ('posix', 'mmap')
{
	# A file, in memory or not, cannot have more than this.
	$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', $type);
	ok(start_under('ulimit -f 32768; %s'), "$type: started with files of 16 MB");
	small_memory("$type, limited", 16);
}
$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', 'posix');

# ---- preloaded ----

sub huge_pages
{
	my (@options) = @_;
	my ($out, $err) = run_command([ 'postgres', '-D', $node->data_dir, '-C',
			'shared_memory_size_in_huge_pages', map { ('-c', $_) } @options ]);

	return $out;
}

$node->stop;
my $small = huge_pages('shared_preload_libraries=skipidx', 'skipidx.cache_size=64MB');
my $large = huge_pages('shared_preload_libraries=skipidx', 'skipidx.cache_size=1GB');

SKIP:
{
	skip 'no huge pages here', 1 if $small < 0;
	cmp_ok($large - $small, '>=', 960 / 2, 'preloaded, the cache is counted among the huge pages to reserve')
	  if $small != $large;
}
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'skipidx'");
$node->start;
$s = session('buffered');
is(state($s, 'bytes'), 128 * 1024 * 1024, 'preloaded: all of the cache');
is(answers($s), $oracle, 'preloaded: answers');
$s->close;

$node->stop;
done_testing();
