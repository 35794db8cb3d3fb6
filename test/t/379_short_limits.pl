# Scans by one process and by several where shared memory, disk or memory is
# short: columns alone, counts, groups, rows in an order, the best ones and all.
# Each has the right rows, or ends with an error that says what is short; nothing
# stays behind, and the session goes on.  A server whose shared memory is full
# before its first search finds, inserts, flushes and vacuums all the same.
#
# Holds: blkio 4; exec 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_start_apart skx_until);
use Test::More;

my $node = skx_node('short', conf => <<'CONF');
skipidx.cache_size = 1MB
skipidx.max_workers = 0
track_counts = off
max_worker_processes = 8
max_parallel_workers = 4
dynamic_shared_memory_type = posix
work_mem = 16MB
effective_cache_size = 64kB
CONF

# Of n many rows have one value; of k each has another.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector, n int, d int, k int) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('wall:1' || CASE WHEN i % 2 = 0 THEN ' half:2' ELSE '' END || ' k' || i % 97 || ':3' || CASE WHEN i % 50 = 0 THEN ' rare:4,5' ELSE '' END)::tsvector,
	i % 5, i / 7, i * 7 % 100003 FROM generate_series(1, 100000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, n, id, d, k) WITH (pending_limit = '1GB');
VACUUM ANALYZE docs;
CHECKPOINT;
SQL

# Of each: its statement, and by what node it is.
my %asked = (
	columns => [ "SELECT sum(d), count(n), max(k) FROM docs WHERE v \@\@ 'half'", 'Skipidx Columns' ],
	count => [ "SELECT count(*) FROM docs WHERE v \@\@ 'half & !rare'", 'Skipidx Count' ],
	groups => [ "SELECT n, count(*) FROM docs WHERE v \@\@ 'half & !rare' GROUP BY n ORDER BY n", 'Skipidx Facets' ],
	ordered => [ "SELECT count(*), sum(d), md5(string_agg(d::text, ',')) FROM (SELECT d FROM docs WHERE v \@\@ 'half' ORDER BY d LIMIT 20000) s", 'Skipidx Ordered Scan' ],
	ranked => [ "SELECT md5(string_agg(x::text, ',')) FROM (SELECT v <\@> 'half | rare | k7'::tsquery AS x FROM docs WHERE v \@\@ 'half | rare | k7' ORDER BY v <\@> 'half | rare | k7'::tsquery LIMIT 900) s", 'Skipidx Scan' ],
	rows => [ "SELECT count(*), sum(id::int8 * n) FROM docs WHERE v \@\@ 'half & !k7'", 'Index Scan' ]);
my $by_index = 'SET enable_seqscan = off';
my %mode = (alone => "$by_index; SET max_parallel_workers_per_gather = 0", together => "$by_index; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
	  . ' SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0');
my %want;

{
	my $s = skx_session($node, 'postgres');

	$want{$_} = $s->value("SET enable_indexscan = off; SET enable_bitmapscan = off; $asked{$_}[0]") for keys %asked;
	$s->close;
}

# A session that asks so.
sub session
{
	my ($mode) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; $mode{$mode}");
	return $s;
}

sub mode_for
{
	my ($what) = @_;

	# visits to the table are dear where columns alone are wanted
	return 'SET enable_bitmapscan = ' . ($what =~ /count|groups|columns/ ? 'on' : 'off') . '; SET enable_sort = ' . ($what eq 'ordered' ? 'off' : 'on') . '; SET skipidx.enable_custom_scan = ' . ($what eq 'rows' ? 'off' : 'on')
	  . '; SET cpu_tuple_cost = ' . ($what eq 'columns' ? 5 : 0.01);
}

sub ask { my ($s, $what) = @_; $s->value(mode_for($what)); return $s->raw($asked{$what}[0]); }

sub planned
{
	my ($mode) = @_;
	my $s = session($mode);

	for my $what (sort keys %asked)
	{
		my $plan = $s->value(mode_for($what) . "; EXPLAIN (COSTS OFF) $asked{$what}[0]");
		my $node = $asked{$what}[1];

		like($plan, $mode eq 'together' ? qr/Gather.*Parallel .*\Q$node\E/s : qr/\Q$node\E/, "$what, $mode: by $node");
	}
	$s->close;
	return;
}

planned($_) for 'alone', 'together';

# Nothing of a statement stays behind: frames in use, and what `left` tells.
sub nothing_stays
{
	my ($s, $what, $before, $left) = @_;

	is($s->value('SELECT pinned FROM skipidx_cache()'), 0, "$what: nothing stays pinned");
	skx_until("$what: nothing to stay behind", sub { $left->() == $before }) if $left;
	return;
}

# ---- memory: of the process that asks, and of its workers ----

sub kb_of { my ($pid, $of) = @_; return slurp_file("/proc/$pid/status") =~ /^$of:\s*(\d+) kB/m ? $1 : die "no $of of $pid"; }

# A process, and those that it forks from now on, may have so many kB of data more
# than it has now; undef: as many as they like.
sub limit
{
	my ($pid, $kb) = @_;

	system_or_bail('prlimit', "--pid=$pid", '--data=' . (defined $kb ? 1024 * (kb_of($pid, 'VmData') + $kb) : '') . ':') if defined $kb;
	system_or_bail('prlimit', "--pid=$pid", '--data=unlimited:') unless defined $kb;
	return;
}

my $short = qr/^(?:psql:.*)?ERROR:  (?:53200: out of memory|55000: parallel worker failed to initialize|53100: could not .*No space left on device|XX000: could not load library .*failed to map)/m;

SKIP:
{
	skip 'no prlimit here', 1 if system_log('sh', '-c', 'prlimit --data >/dev/null 2>&1') != 0;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

	for my $what (sort keys %asked)
	{
		for my $mode ('alone', 'together')
		{
			my (%ended, @wrong);

			for my $kb ($mode eq 'alone' ? (0, (map { 96 * $_ } 1 .. 16), 4096, 32768) : map { 512 * $_ } 1 .. 8, 16, 32)
			{
				my $s = session($mode);
				my $pid = $mode eq 'alone' ? $s->backend : $postmaster;

				$s->value(mode_for($what));
				limit($pid, $kb);
				my $said = $s->raw($asked{$what}[0]);

				limit($pid);
				if ($said eq $want{$what}) { $ended{right}++; }
				elsif ($said =~ $short) { $ended{short}++; }
				else { push @wrong, "$kb kB: $said"; }
				push @wrong, "$kb kB, again: $said" if ($said = $s->raw($asked{$what}[0])) ne $want{$what};
				push @wrong, "$kb kB: $said" if ($said = $s->raw('SELECT pinned FROM skipidx_cache()')) ne '0';
				$s->close;
			}
			is(join("\n", @wrong), '', "$what, $mode: right, or out of memory, and right again");
			ok($ended{right} && $ended{short}, "$what, $mode: some of each");
			note join ', ', map { "$_ $ended{$_}" } sort keys %ended;
		}
	}
}

# ---- shared memory ----

my $disk = $node->basedir . '/disk';

mkdir $disk or die "$disk: $!";
SKIP:
{
	skip 'no private mount namespaces here', 1
	  unless skx_start_apart($node, "mount -t tmpfs -o size=8m,mode=1777 tmpfs /dev/shm && mount -t tmpfs -o size=8m,mode=0777 tmpfs '$disk'");
	my $shell = skx_session($node, 'postgres');

	$shell->value('CREATE TEMP TABLE lines (line text)');

	# What a command prints there.
	my $there = sub { my ($command) = @_; return $shell->value("TRUNCATE lines; COPY lines FROM PROGRAM \$\$$command\$\$; SELECT * FROM lines"); };
	my $used = sub { my ($dir) = @_; return $there->("df --block-size=1k --output=used $dir | tail -n 1") + 0; };

	# A file that leaves so many kB to others; undef: none.
	my $leave = sub {
		my ($dir, $kb) = @_;
		my $size = $there->("rm -f $dir/ballast; df --block-size=1k --output=avail $dir | tail -n 1") - ($kb // 'inf');

		$there->("fallocate -l ${size}k $dir/ballast") if $size > 0;
		return;
	};

	# full before anybody has searched
	$leave->('/dev/shm', 0);
	my $s = session('alone');

	is(ask($s, $_), $want{$_}, "$_, no shared memory at all") for sort keys %asked;
	$s->value("INSERT INTO docs SELECT id + 100000, v, n, d, k FROM docs WHERE id <= 2000; SELECT skipidx_flush('docs_v') \\g /dev/null\n DELETE FROM docs WHERE id > 100000");
	is($s->raw('VACUUM docs'), '', 'VACUUM, no shared memory at all');
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'skipidx_check, no shared memory at all');
	is(ask($s, $_), $want{$_}, "$_, vacuumed there") for sort keys %asked;
	$s->close;
	$leave->('/dev/shm');

	for my $what (sort keys %asked)
	{
		my (%ended, @wrong);

		for my $kb (0, 16, 64, 128, 256, 512, 1024, 2048, 6000)
		{
			my $s = session('together');

			# what the session itself keeps
			$s->value(mode_for($what));
			$s->value("SELECT pinned FROM skipidx_cache(); $asked{$what}[0]");
			my $before = $used->('/dev/shm');

			$leave->('/dev/shm', $kb);
			my $said = $s->raw($asked{$what}[0]);

			$leave->('/dev/shm');
			if ($said eq $want{$what}) { $ended{right}++; }
			elsif ($said =~ $short) { $ended{short}++; }
			else { push @wrong, "$kb kB: $said"; }
			push @wrong, "$kb kB, again: $said" if ($said = $s->raw($asked{$what}[0])) ne $want{$what};
			nothing_stays($s, "$what, $kb kB of shared memory", $before, sub { $used->('/dev/shm') });
			$s->close;
		}
		is(join("\n", @wrong), '', "$what: right, or no shared memory, and right again");
		ok($ended{right} && $ended{short}, "$what: some of each");
		note join ', ', map { "$_ $ended{$_}" } sort keys %ended;
	}

	# ---- disk: of what is sorted above, or in groups of equal values ----

	$shell->value("CREATE TABLESPACE small LOCATION '$disk'");
	for my $case (
		[ 'columns, sorted', "SELECT md5(string_agg(d::text || k, ',')) FROM (SELECT d, k FROM docs WHERE v \@\@ 'half' ORDER BY k OFFSET 0) s", 'Skipidx Columns', 'on' ],
		[ 'rows of equal values, sorted', "SELECT count(*), sum(k) FROM (SELECT n, k FROM docs WHERE v \@\@ 'half' ORDER BY n, k OFFSET 0) s", 'Skipidx Ordered', 'off' ],
		[ 'values and counts, by the function', "SELECT count(*), sum(count), md5(string_agg(value, ',')) FROM skipidx_facets('docs_v', 'half', 'k', NULL)", undef, 'on' ])
	{
		my ($what, $sql, $by, $sort) = @$case;
		my $s = session('alone');

		$s->value("SET work_mem = '64kB'; SET temp_tablespaces = small; SET enable_sort = $sort");
		like($s->value("EXPLAIN (COSTS OFF) $sql"), qr/\Q$by\E/, "$what: by $by") if defined $by;
		my $right = $s->value($sql);
		my $before = $used->($disk);

		for my $kb (0, 60)
		{
			$leave->($disk, $kb);
			like($s->raw($sql), qr/ERROR:  53100: could not .*No space left on device/, "$what, $kb kB: a full disk");
			$leave->($disk);
			nothing_stays($s, "$what, $kb kB", $before, sub { $used->($disk) });
			is($s->raw($sql), $right, "$what, $kb kB: and then its rows");
		}
		$s->close;
	}
	$shell->close;
}
$node->stop;
done_testing();
