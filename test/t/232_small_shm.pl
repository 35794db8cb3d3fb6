# The block cache in dynamic shared memory leaves most of it to others: a
# parallel hash join that needs half of what was free before the first search
# runs after it, whatever kind of shared memory the server uses.  Limits of
# memory come from a private mount namespace; those of a cgroup from a copy of
# its tree there.  What limits the cache can be asked.
#
# Holds: blkio 4; inspect 4; shm 1, 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_start_apart);
use Test::More;

my $mb = 1024 * 1024;
my $node = skx_node('small', conf => <<'CONF');
max_parallel_workers_per_gather = 1
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
enable_mergejoin = off
enable_nestloop = off
work_mem = 64MB
skipidx.cache_size = 128MB
client_min_messages = notice
CONF

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off, parallel_workers = 0);
INSERT INTO docs SELECT i, ('all:1 h' || i % 50 || ':2')::tsvector FROM generate_series(1, 5000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
-- 1 kB a row, which the hash table keeps
CREATE TABLE wide (id int, pad text) WITH (autovacuum_enabled = off, parallel_workers = 1);
INSERT INTO wide SELECT i, repeat('x', 1000) FROM generate_series(1, 22000) i;
CREATE TABLE narrow (id int) WITH (autovacuum_enabled = off, parallel_workers = 1);
INSERT INTO narrow SELECT generate_series(1, 22000);
ANALYZE;
CHECKPOINT;
SQL

my $s;

# The server in a namespace of its own.
sub start_apart
{
	$s->close if $s;
	my $ok = skx_start_apart($node, @_);

	$s = skx_session($node, 'postgres') if $ok;
	$s->value('CREATE TEMP TABLE lines (line text)') if $ok;
	return $ok;
}

# What a command prints there.
sub there
{
	my ($command) = @_;

	return $s->value("TRUNCATE lines; COPY lines FROM PROGRAM \$\$$command\$\$; SELECT * FROM lines");
}

sub free_bytes
{
	my ($dir) = @_;

	return there("df --block-size=1 --output=avail $dir | tail -n 1") + 0;
}

# A file that leaves `free` bytes to others.
sub leave
{
	my ($dir, $free) = @_;

	there("rm -f $dir/ballast");
	my $size = free_bytes($dir) - $free;

	there("fallocate -l $size $dir/ballast") if $size > 0;
	return;
}

# A parallel hash join whose hash table has so many rows of 1 kB; its error.
sub join_fails
{
	my ($rows) = @_;
	my $query = "SELECT count(n.id), sum(length(w.pad)) FROM narrow n JOIN wide w USING (id) WHERE w.id <= $rows";
	my $out = $s->raw($query);

	return $out eq "$rows|" . 1000 * $rows ? '' : "wrong: $out";
}

# The least free space, in steps of 512 kB, with which the join runs.
my %need;

sub need
{
	my ($dir, $rows) = @_;
	my ($low, $high) = (0, int(free_bytes($dir) / $mb * 2));

	return $need{$rows} if $need{$rows};
	while ($high - $low > 1)
	{
		my $middle = int(($low + $high) / 2);

		leave($dir, $middle * $mb / 2);
		(join_fails($rows) eq '' ? $high : $low) = $middle;
	}
	return $need{$rows} = $high * $mb / 2;
}

# The first search; returns what it says.
sub search
{
	my ($rc, $out, $err) = $node->psql('postgres',
		q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'h7'});

	is($out, 100, "the search's answer");
	return $err;
}

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub size_in_force { return ask('SELECT bytes FROM skipidx_cache()'); }

my ($plan) = ask('EXPLAIN SELECT count(n.id), sum(length(w.pad)) FROM narrow n JOIN wide w USING (id) WHERE w.id <= 4000');
like($plan, qr/Parallel Hash\b/, 'the join shares its hash table');

# ---- /dev/shm and pg_dynshmem ----

my $dynshmem = $node->data_dir . '/pg_dynshmem';
my $apart = start_apart('true');

# The size of the place, rows of the join, what the cache may be.
my @sizes = ([ 64, 20000, 4, 16 ], [ 16, 4000, 0, 0 ]);

SKIP:
{
	skip 'no private mount namespaces here', 1 if !$apart;
	for my $type (qw(posix mmap))
	{
		my $dir = $type eq 'posix' ? '/dev/shm' : $dynshmem;

		$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', $type);
		for (@sizes)
		{
			my ($size, $rows, $least, $most) = @$_;
			my $name = "$type, $size MB";

			ok(start_apart("mount -t tmpfs -o size=${size}m,mode=1777 tmpfs $dir"), "$name: started");
			join_fails(10);		# what the server itself takes, it has then
			my $need = need($dir, $rows);

			cmp_ok($need, '>', $size * $mb / 4, "$name: the join needs much");
			leave($dir, 2 * $need + $mb / 2);
			my $free = free_bytes($dir);

			is(join_fails($rows), '', "$name: there is room for it");
			my $said = search();

			is(join_fails($rows), '', "$name: and after a search");
			cmp_ok($free - free_bytes($dir), '<=', $free / 4 + 65536, "$name: a quarter at most is taken");
			cmp_ok(size_in_force(), '<=', $most * $mb, "$name: so the cache is small");
			cmp_ok(size_in_force(), '>=', $least * $mb, "$name: but not too small");
			like($said, $most ? qr/NOTICE: .*block cache of \d+ MB instead of 128 MB/ : qr/NOTICE: .*without its block cache/,
				"$name: the session is told");
			like($said, qr{DETAIL: .*a quarter of the \d+ MB free in .*(?:/dev/shm|pg_dynshmem)}, "$name: why");
			like($said, $type eq 'posix' ? qr{HINT: .*/dev/shm.*min_dynamic.*preload} : qr/HINT: .*min_dynamic.*preload/,
				"$name: and what helps");
			is(search(), '', "$name: once");
			like(ask(q{SELECT limited_by FROM skipidx_cache()}), qr/^a quarter of the \d+ MB free in/, "$name: skipidx_cache");
			is(ask(q{SELECT configured FROM skipidx_cache()}), 128 * $mb, "$name: and what was asked for");
			like(ask(q{SELECT configured || ' ' || in_force || ' ' || reason FROM skipidx_settings() WHERE name = 'skipidx.cache_size'}),
				$most ? qr/^128MB \d+kB a quarter/ : qr/^128MB 0 a quarter/, "$name: skipidx_settings");
		}
	}
}

# ---- memory set aside ----

SKIP:
{
	skip 'no private mount namespaces here', 1 if !$apart;
	$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', 'posix');
	$node->append_conf('postgresql.conf', 'min_dynamic_shared_memory = 300MB');
	ok(start_apart('mount -t tmpfs -o size=16m,mode=1777 tmpfs /dev/shm'), 'set aside: started');
	my $free = free_bytes('/dev/shm');

	is(search(), '', 'set aside: nothing to say');
	is(size_in_force(), 128 * $mb, 'set aside: the whole cache');
	is(free_bytes('/dev/shm'), $free, 'set aside: nothing of it in /dev/shm');
	is(join_fails(20000), '', 'set aside: and a join has the rest');
	$node->adjust_conf('postgresql.conf', 'min_dynamic_shared_memory', '60MB');
	ok(start_apart('mount -t tmpfs -o size=16m,mode=1777 tmpfs /dev/shm'), 'little set aside: started');
	like(search(), qr/block cache of \d\d MB instead of 128 MB.*half of the \d+ MB free of min_dynamic_shared_memory/s,
		'little set aside: half of it');
	is(join_fails(20000), '', 'little set aside: and a join has the rest');
	$node->adjust_conf('postgresql.conf', 'min_dynamic_shared_memory', '0');
}

# ---- System V ----

SKIP:
{
	# the limits belong to the namespace of System V memory
	my $set = 'echo 16384 >/proc/sys/kernel/shmall';
	my $rows = 20000;

	$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', 'sysv');
	skip 'no limit of System V memory can be set here', 1 if !$apart || !start_apart($set, '--ipc');
	is(join_fails($rows), '', 'sysv, 64 MB: there is room for a join');
	like(search(), qr/block cache of \d+ MB instead of 128 MB.*a quarter of the \d+ MB left of System V/s, 'sysv, 64 MB: a quarter');
	is(join_fails($rows), '', 'sysv, 64 MB: and after a search');
}
$s->close if $s;
$node->stop;
$node->start;
$s = skx_session($node, 'postgres');
search();
is(join_fails(20000), '', 'sysv: a join after a search');
cmp_ok(size_in_force(), '>=', 4 * $mb, 'sysv: a cache');

# ---- a cgroup ----

# Shell commands that make a tree with the server's own groups in it.
sub tree
{
	my (%files) = @_;
	my %groups;
	my $make = 'mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm && mount -t tmpfs tmpfs /sys/fs/cgroup';

	for (split /\n/, slurp_file('/proc/self/cgroup'))
	{
		my ($id, $controllers, $path) = split /:/, $_, 3;

		$groups{v2} = "/sys/fs/cgroup$path" if $id == 0;
		$groups{v1} = "/sys/fs/cgroup/memory$path" if $controllers =~ /\bmemory\b/;
	}
	for my $file (sort keys %files)
	{
		my ($version, $name) = $file =~ /^(v\d)(.*)/;
		my $group = $groups{$version} or return;

		$group =~ s{/$}{};
		$make .= " && mkdir -p $group && printf '$files{$file}' >$group$name";
	}
	return $make;
}

SKIP:
{
	skip 'no private mount namespaces here', 1 if !$apart;
	$node->adjust_conf('postgresql.conf', 'dynamic_shared_memory_type', 'posix');
	for my $case (
		[ 'v2 with pages of files', 50, 'v2/memory.max' => 256 * $mb, 'v2/memory.current' => 200 * $mb,
			'v2/memory.stat' => "anon 1\\ninactive_file " . 44 * $mb . "\\nactive_file " . 100 * $mb . "\\n" ],
		[ 'v2, full', 0, 'v2/memory.max' => 256 * $mb, 'v2/memory.current' => 250 * $mb ],
		[ 'v1', 40, 'v1/memory.limit_in_bytes' => 256 * $mb, 'v1/memory.usage_in_bytes' => 96 * $mb ])
	{
		my ($name, $expected, %files) = @$case;
		my $tree = tree(%files);

	  SKIP:
		{
			skip "cgroup $name: there is none", 1 if !$tree;
			ok(start_apart($tree), "cgroup $name: started") or next;
			my $said = search();
			my $size = size_in_force() / $mb;

			cmp_ok($size, '<=', $expected, "cgroup $name: the cache is no larger");
			cmp_ok($size, '>=', $expected * 0.95, "cgroup $name: and no smaller");
			like($said, qr/a quarter of the \d+ MB left of the cgroup's memory.*HINT: .*memory limit/s,
				"cgroup $name: what is said");
		}
	}
}

# ---- the settings in force ----

$s->close;
$node->stop;
$node->start;

my %in_force = map { split /\|/, $_, 2 } split /\n/,
  ask(q{SELECT name, concat_ws('|', configured, coalesce(in_force, '-'), reason) FROM skipidx_settings()});

is(join(' ', sort keys %in_force), 'skipidx.cache_size skipidx.io_depth skipidx.io_depth_total skipidx.io_method', 'settings');
like($in_force{'skipidx.io_method'}, qr/^auto\|(?:uring|buffered)\|/, 'auto: the method, and why');
is($in_force{'skipidx.io_depth_total'}, '64|64', 'as configured: no reason');

my $ask = q{SET skipidx.io_method = %s; SELECT in_force || ' ' || coalesce(reason, '') FROM skipidx_settings() WHERE name = '%s'};

is(ask(sprintf $ask, 'buffered', 'skipidx.io_method'), 'buffered ', 'a method set');
like(ask(sprintf $ask, 'direct', 'skipidx.io_depth'), qr/^0 /, 'which reads nothing ahead');
$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '64MB');
$node->reload;
$node->poll_query_until('postgres', q{SELECT configured = '64MB' FROM skipidx_settings() WHERE name = 'skipidx.cache_size'});
like(ask(sprintf $ask, 'auto', 'skipidx.cache_size'), qr/restart/, 'another size waits for a restart');
$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '0');
$node->restart;
is(ask(sprintf $ask, 'auto', 'skipidx.cache_size'), '0 ', 'none wanted');
like(ask(sprintf $ask, 'auto', 'skipidx.io_method'), qr/^shared_buffers .*no block cache/, 'then auto reads through shared buffers');

$node->stop;
done_testing();
