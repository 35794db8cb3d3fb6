# What a cold query reads is planned: counted, not timed.
#
# The measure is the same query with skipidx.io_depth = 0, which reads what is
# pinned and nothing else, one unit at a time.  What is read ahead must be
# among that, but for allowances that follow from how reads are planned and are
# given where they are made; and it must be asked for together, so that the
# calls that hand reads to the kernel (batches) and the reads that were not
# begun before their pages were pinned (alone) grow with the steps of a query
# and not with its pages.
#
# What the operating system has is there as soon as it is asked for, so how
# many reads are under way at a time depends on the device; but in a batch of b
# reads there are (b + 1) / 2 on average at least, and never more than the depth.
#
# Holds: cursor 7, 8; query 5, 6; segment 3; skiplist 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use JSON::PP;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

# Steps of every query that read one page that nothing before them tells of:
# the segment's header and the root of the dictionary; and, for rows, the
# directory of TID pages, which are planned from then on.
use constant { OPEN => 2, DIRECTORY => 1 };

# Levels of the dictionary.
use constant LEVELS => 3;

# Pages of positions that are asked for at a time (segment_positions_reader.c).
use constant ASKED => 8;

# Preloaded, so that the cache does not depend on the size of /dev/shm; and with
# reads enough in all sessions for the greatest depth here.
my $node = skx_node('planned', conf => "shared_preload_libraries = skipidx\n"
	  . "skipidx.cache_size = 256MB\nskipidx.io_depth_total = 256\n"
	  . "maintenance_work_mem = 256MB\nwal_level = minimal\nmax_wal_senders = 0");
my $s = skx_session($node, 'postgres');

# Document i has:
#   run        in two of three, with one of 64 forms of positions and labels (no
#              A), so that its list takes more than a byte a document
#   pa pb pc   in every fifth, 12 positions each of one of 64 forms, so that
#              they take some 185 pages of positions each; pb follows pa in one
#              of 20, and pc follows pb where it does
#   e<k>       in k of these, evenly spread
#   early      in every second of the first fifth
#   first      in all of the first 16,000: enough to be dense
#   isle       in all of five ranges of 10,000
#   c00..c63   all of them in every thousandth, one after the other, and each
#              in three others of a thousand: lists of some 2.6 kB, in this order
#   x...       in every tenth, each in one, of 257 bytes: 30 to a leaf, and so
#              1,600 leaves
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE forms AS SELECT form, run, pa, pb, pc, pd FROM generate_series(0, 63) form,
	LATERAL (SELECT string_agg(p || substr('BCD', 1 + (hashint4(form * 32 + p) & 1), 1), ',') AS run
		FROM generate_series(1, 30) p WHERE hashint4(form + 64 * p) & 7 = 0 OR p = 30) runs,
	LATERAL (SELECT string_agg(p::text, ',') AS pa, string_agg((p + 1)::text, ',') AS pb,
			string_agg((p + 2)::text, ',') AS pc, string_agg((p + 3)::text, ',') AS pd
		FROM (SELECT k * 1000 + (hashint4(form * 16 + k) & 511) AS p FROM generate_series(1, 12) k) places) phrases;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, concat_ws(' ',
	CASE WHEN hashint4(i) % 3 <> 0 THEN 'run:' || r.run END,
	CASE WHEN i % 5 <> 1 THEN NULL WHEN hashint4(i + 1) % 20 = 0
		THEN format('pa:%s pb:%s pc:%s', p.pa, p.pb, p.pc) ELSE format('pa:%s pb:%s pc:%s', p.pa, p.pc, p.pd) END,
	(SELECT string_agg('e' || k || ':1', ' ') FROM unnest('{5,20,40,50,100,200,1000}'::int[]) k WHERE i % (500000 / k) = 1),
	CASE WHEN i <= 100000 AND i % 2 = 0 THEN 'early:1' END,
	CASE WHEN i <= 16000 THEN 'first:1' END,
	CASE WHEN i / 10000 % 10 = 5 THEN 'isle:1' END,
	CASE WHEN i % 1000 = 1 THEN (SELECT string_agg('c' || to_char(c, 'FM00') || ':' || c + 1, ' ') FROM generate_series(0, 63) c)
		WHEN i % 4 = 2 AND i / 4 % 250 < 192 THEN 'c' || to_char(i / 4 % 250 % 64, 'FM00') || ':1' END,
	CASE WHEN i % 10 = 9 THEN 'x' || repeat(md5(i::text), 8) || ':1' END)::tsvector
	FROM generate_series(1, 500000) i
	JOIN forms r ON r.form = hashint4(i + 7777777) & 63
	JOIN forms p ON p.form = hashint4(i + 5555555) & 63
	ORDER BY i;
SET enable_seqscan = off;
SQL

# ---- measuring ----

my @counters = qw(pins hits requests pages_read batches depth_sum ahead
  ahead_used nodes node_tables prefetched);
my ($method, $size, $unit);

sub counters
{
	my %at;

	@at{@counters} = split /\|/, $s->value('SELECT ' . join(', ', @counters)
		  . " FROM skipidx_io_totals() io, skipidx_work() WHERE io.scope = 'session'");
	return \%at;
}

sub setting
{
	my (%o) = @_;

	$s->value('SET skipidx.io_method = ' . ($o{method} // $method)
		  . '; SET skipidx.io_depth = ' . ($o{depth} // 16)
		  . '; SET enable_bitmapscan = ' . ($o{limit} ? 'off' : 'on')
		  . '; SET enable_indexscan = ' . ($o{limit} ? 'on' : 'off'));
	return;
}

sub forget
{
	$s->value('SELECT skipidx_cache_reset() \g /dev/null' . "\n");
	return;
}

sub short
{
	my ($query, $limit) = @_;

	return (length $query > 50 ? substr($query, 0, 50) . '...' : $query)
	  . ($limit ? ", $limit row" : '');
}

# What a query costs with what is in the cache.
sub spent
{
	my ($query, %o) = @_;
	my $select = $o{limit}
	  ? "SELECT count(*) FROM (SELECT FROM docs WHERE v @@ '$query' LIMIT $o{limit}) l"
	  : "SELECT count(*) FROM docs WHERE v @@ '$query'";
	my %spent;

	setting(%o);
	my $before = counters();
	$spent{rows} = $s->value($select);
	my $after = counters();

	$spent{$_} = $after->{$_} - $before->{$_} for @counters;
	$spent{alone} = $spent{pins} - $spent{hits};
	note join ' ', $size, $o{method} // $method, $o{depth} // 16,
	  short($query, $o{limit}) . ':', map { "$_ $spent{$_}" } qw(rows alone),
	  grep { $spent{$_} } @counters;
	return \%spent;
}

sub cold { forget(); return spent(@_); }

# The least that a query must read, of which nothing depends on the method.
my %least;

sub least
{
	my ($query, %o) = @_;

	return $least{"$size $query" . ($o{limit} // '')} //= cold($query, %o, depth => 0);
}

# All reads ahead that the tests below have seen.
my %total = (ahead => 0, ahead_used => 0);

# A cold query: the same rows as with nothing ahead, and no more pages than
# `vain` in addition.
sub planned
{
	my ($query, %o) = @_;
	my $vain = delete $o{vain} // 0;
	my $spent = cold($query, %o);
	my $least = least($query, limit => $o{limit});
	my $what = "$method $size, " . short($query, $o{limit});

	is($spent->{rows}, $least->{rows}, "$what: rows");
	between("$what: pages in vain", $spent->{pages_read} - $least->{pages_read}, 0, $vain);
	cmp_ok($spent->{ahead}, '>', 0, "$what: reads ahead") if $least->{pages_read} > 20;
	$total{$_} += $spent->{$_} for keys %total;
	return $spent;
}

sub between
{
	my ($what, $n, $low, $high) = @_;

	ok($n >= $low && $n <= $high, "$what: $n in $low..$high");
	return;
}

sub most
{
	my ($what, $n, $high) = @_;

	cmp_ok($n, '<=', $high, "$method $size, $what: $n in ..$high");
	return;
}

# ---- the dictionary: level by level ----

# Every k-th of the long lexemes.
sub long_lexemes
{
	my ($n) = @_;
	my $step = 10 * int(50000 / $n);

	return split /\n/, $s->value(
		"SELECT 'x' || repeat(md5(i::text), 8) FROM generate_series(9, 499999, $step) i LIMIT $n");
}

sub check_dictionary
{
	is(least('nosuch')->{pages_read}, LEVELS, "$size: a dictionary of three levels");

	# Their lists are in the leaves, and no document has two of them: all that
	# is read is the header and the dictionary.
	my @few = long_lexemes(25);
	my @many = long_lexemes(64);
	my $few = join ' & ', @few;
	my $many = join ' & ', @many;

	cmp_ok(least($few)->{batches}, '>', 25, "$size: 25 lexemes on as many leaves");
	for my $query ($few, $many)
	{
		my $spent = planned($query, depth => 64);

		most(short($query) . ': batches, one a level', $spent->{batches}, 1 + LEVELS);
		most(short($query) . ': reads alone', $spent->{alone}, OPEN);
	}

	# Of n leaves that are asked for together the first `depth` are under way
	# at once; then at least the one that follows.  So the mean depth cannot
	# but grow.
	my %mean;
	for my $case ([$few, 1], [$few, 4], [$few, 16], [$many, 16], [$many, 64])
	{
		my ($query, $depth) = @$case;
		my $spent = planned($query, depth => $depth);
		my $n = $spent->{requests} - 1 - LEVELS - 1;
		my $first = min($depth, $n);
		my $mean = $spent->{depth_sum} / $spent->{requests};

		cmp_ok($spent->{depth_sum}, '<=', $spent->{requests} * $depth + $spent->{alone},
			"$method $size: $n leaves, mean depth at most $depth");
		cmp_ok($spent->{depth_sum} - $spent->{requests}, '>=', $first * ($first - 1) / 2,
			"$method $size: $n leaves, depth $depth is made use of");
		$mean{$query}{$depth} = $mean;
	}
	ok($mean{$few}{1} < $mean{$few}{4} && $mean{$few}{4} < $mean{$few}{16}
		&& $mean{$many}{16} < $mean{$many}{64}, "$method $size: mean depth grows with the depth");

	# A prefix: its leaves lie one after the other.  Where the last one is, the
	# planner looks up first, level by level below the root.
	my $prefix = planned('xa:*');
	cmp_ok(least('xa:*')->{batches}, '>', 150, "$size: a prefix of many leaves");
	most('xa:*: reads alone', $prefix->{alone}, OPEN + 1 + DIRECTORY + LEVELS - 1);
	most('xa:*: requests', $prefix->{requests}, $prefix->{pages_read} / 4);
	return;
}

# ---- where lists begin: all at once ----

# Every eighth of the lists c: 20 kB apart.
sub c { return map { sprintf 'c%02d', 8 * $_ } 0 .. $_[0] - 1; }

sub check_first_nodes
{
	for my $case ([' & ', 1], [' | ', 1], [' <8> ', 2])
	{
		my ($op, $times) = @$case;
		my $two = join $op, c(2);
		my $all = join $op, c(8);
		my $spent = planned($all, depth => 64, vain => $op eq ' <8> ' ? 8 : 0);
		my $before = planned($two, depth => 64, vain => $op eq ' <8> ' ? 2 : 0);

		# Each list has one node or two; the second is found in the first.  A
		# phrase has two cursors on each, and reads a page of positions alone
		# where they go on to the next one after nothing was read for a while.
		my $second = $spent->{nodes} / $times - 8;

		most("$all: reads alone", $spent->{alone}, OPEN + LEVELS - 1 + DIRECTORY + $second + 8 * ($times - 1));

		# The second nodes of lists, and the positions of links, are further
		# steps: asked for, and for a link once more on another page.
		most("$all: batches", $spent->{batches} - $before->{batches}, 2 * $second + 2 * 6 * ($times - 1) + 1);
		cmp_ok(least($all)->{batches} - least($two)->{batches}, '>=', 8, "$size, $all: one by one it is more")
		  if $unit == 1;
		cmp_ok($spent->{depth_sum} - $spent->{requests}, '>=', 8 * 7 / 2,
			"$method $size, $all: the first nodes are under way together")
		  if $unit == 1;
	}

	# Where nothing can match, no list is read.
	for my $query ('c00 & c08 & c16 & nosuch', 'c00 <-> c08 <-> nosuch', 'c00 & (nosuch | c08 & nosuch)',
		'(c00 & nosuch) | (c08 <-> nosuch)', 'run & !c08 & nosuch',
		'run & pa:A', 'pa:A | pb:A | pc:A')
	{
		my $spent = planned($query);

		is($spent->{nodes}, 0, "$method $size, $query: no node is read");
		most("$query: pages", $spent->{pages_read}, 1 + LEVELS + 2);
	}
	return;
}

# ---- lists that are gone through ----

sub check_running
{
	my $nodes = least('run:A')->{nodes};

	cmp_ok($nodes * $unit, '>=', 80, "$size: a list of many nodes");
	for my $depth (1, 4, 16, 64)
	{
		# No document has it with this label: the list is all that is read.
		my $spent = planned('run:A', depth => $depth);

		# From node to node twice as many are wanted under way, up to the
		# depth; and half of these are missing when they are asked for.
		my $asks = log($depth) / log(2) + 1 + 2 * $nodes / $depth;

		most("run:A, depth $depth: reads alone", $spent->{alone}, OPEN + LEVELS - 1 + 1);
		most("run:A, depth $depth: batches", $spent->{batches}, OPEN + LEVELS - 1 + 1 + $asks);
		most("run:A, depth $depth: depth", $spent->{depth_sum},
			$spent->{requests} * $depth + $spent->{alone});

		# Units of up to 16 pages in a row are one read.
		most("run:A, depth $depth: requests", $spent->{requests},
			OPEN + LEVELS - 1 + 1 + $asks + 2 * $nodes * $unit / min(16, $depth * $unit / 2))
		  if $depth > 1;
	}

	# Several lists share the depth.
	my $lists = 'run | pa | pb | pc';
	my $spent = planned($lists);
	most("$lists: reads alone", $spent->{alone}, OPEN + LEVELS - 1 + DIRECTORY + 1);
	return;
}

# ---- lists that are sought ----

sub check_sought
{
	# Node tables are read to plan by, and need not be otherwise.
	for my $query (map { "$_ & run" } qw(e5 e20 e40 e50 e100 e1000))
	{
		my $least = least($query);
		my $spent = planned($query, vain => 1);

		most("$query: pages in vain", $spent->{pages_read} - $least->{pages_read},
			$spent->{node_tables} - $least->{node_tables});
		most("$query: reads alone", $spent->{alone}, OPEN + LEVELS - 1 + DIRECTORY + $spent->{node_tables} - $least->{node_tables});
	}

	# Nodes are asked for when at least half of the depth is free, 16 TID pages
	# in a row are one read, and the table is one.
	for my $query ('e20 & run', 'e100 & run', 'e1000 & run')
	{
		my $spent = planned($query, vain => 1);
		my $nodes = least('run:A')->{nodes};

		most("$query: batches", $spent->{batches}, OPEN + LEVELS - 1 + 1 + 1 + DIRECTORY + 2 * $nodes / 16 + 5);
		cmp_ok(least($query)->{batches}, '>', 2 * $spent->{batches}, "$size, $query: one by one it is more");
	}

	# Warm, who finds everything in the cache asks at most once.
	for my $query ('e1000 & run', 'e1000 & run & pa')
	{
		my $lists = () = $query =~ /\w+/g;
		my $tids = least('e1000')->{pages_read};
		cold($query);
		my $again = spent($query);

		is($again->{alone}, 0, "$method $size, $query again: nothing is missing");
		most("$query again: asked for", $again->{prefetched}, $lists * (1 + 16) + $tids);
		is(spent($query)->{prefetched}, $again->{prefetched}, "$method $size, $query once more: no more than that");
	}

	# Dense, but not everywhere: where one list has nothing, the others are not
	# read.  A range of documents is in its part of the nodes of `run`, and in
	# those where it begins and ends; the other list has four nodes at most.
	my $nodes = least('run:A')->{nodes};

	most('isle & run: nodes', least('isle & run')->{nodes}, 5 * (2 + 10000 / 500000 * $nodes) + 4);
	most('early & run: nodes', least('early & run')->{nodes}, 2 + 100000 / 500000 * $nodes + 4);

	# Where it stops, a list that has been gone through has more nodes under
	# way: its share of the depth at most, and at most 2 ** (n - 1) when it has
	# entered n in a row, here the three of an island.
	planned('early & run', vain => 16 / 2 * $unit);
	planned('isle & run', vain => 5 * 4 * $unit);
	planned('first & run:A', vain => min(16 / 2, 2**(least('first & run:A')->{nodes} - 2)) * $unit);
	return;
}

# ---- positions ----

sub check_positions
{
	# A page here and there: each candidate's are on one of two pages.  A wrong
	# guess which one it is costs a read, one in 20.
	for my $k (40, 100)
	{
		my $query = "(pa <-> pb) & e$k";
		my $spent = planned($query, depth => 64);
		my $least = least($query);

		cmp_ok($least->{pages_read}, '>', 2 * $k, "$size, $query: many pages");
		most("$query: reads alone", $spent->{alone}, OPEN + LEVELS - 1 + DIRECTORY + 2 * $k / 20);
	}

	# Batches of candidates begin small, so that what is asked for at a time is
	# half of the most at least; the nodes of three lists come before.
	my $sparse = planned('(pa <-> pb) & e40', depth => 64);
	most('(pa <-> pb) & e40: batches', $sparse->{batches}, OPEN + LEVELS - 1 + 3 * 3 + DIRECTORY + 1 + 2 * 40 / (ASKED / 2));

	# All of them: in runs.  Where the positions of a list end is known from
	# where the list does, to a page or two; a run can be asked for behind it.
	my $all = planned('pa <-> pb', vain => 2 * 2 + ASKED);
	most('pa <-> pb: requests', $all->{requests}, $all->{pages_read} / 4);
	most('pa <-> pb: reads alone', $all->{alone}, OPEN + LEVELS - 1 + DIRECTORY + 2 * 2);

	# What an earlier link rules out is not read of a later one: of pc only
	# its nodes, and the positions of documents that have pa <-> pb.
	for my $k (40, 1000)
	{
		my $short = planned("(pa <-> pb) & e$k", vain => 2 * 2);
		my $long = planned("(pa <-> pb <-> pc) & e$k", vain => 3 * 2);

		cmp_ok($short->{rows} * 10, '<', $k, "pa <-> pb in few of $k");
		most("pc of $k", $long->{pages_read} - $short->{pages_read},
			($long->{nodes} - $short->{nodes}) * $unit + 2 * $short->{rows});
	}

	# Warm, the first two batches of candidates are asked for, and no more: for
	# each of two lists a page or two a candidate, and the pages that follow.
	my $query = '(pa <-> pb) & e1000';
	cold($query);
	my $again = spent($query);
	is($again->{alone}, 0, "$method $size, $query again: nothing is missing");
	most("$query again: asked for", $again->{prefetched}, 3 * (1 + 16) + 2 * (8 + 16) * 2 + 2 * 16);
	return;
}

# ---- TIDs ----

sub check_tids
{
	my $pages = least('!nosuch')->{pages_read} - 1 - LEVELS - DIRECTORY;

	cmp_ok($pages, '>', 60, "$size: many TID pages");
	my $all = planned('!nosuch');
	most('!nosuch: reads alone', $all->{alone}, OPEN + LEVELS - 1 + DIRECTORY + 1);
	most('!nosuch: requests', $all->{requests}, OPEN + LEVELS - 1 + DIRECTORY + 1 + 5 + 2 * $pages / 16);

	# Each of 20 documents on a page of its own: one step.
	my $sparse = planned('e20', depth => 64);
	cmp_ok(least('e20')->{pages_read}, '>=', 20, "$size, e20: 20 TID pages");
	most('e20: batches', $sparse->{batches}, OPEN + LEVELS - 1 + 1 + DIRECTORY + 1);
	return;
}

# ---- nothing in vain ----

sub check_vain
{
	# Whoever wants one row has nothing under way of a list that it has read the
	# first node of, and one node of those that it has read two of.  A phrase
	# has two cursors on each list, and takes a guess at pages of positions.
	for my $case (['run', 1], ['!run', 1], ['c00 & c08', 2], ['c00 | c08', 2], ['e1000 & run', 2],
		['run & !pa', 2], ['early & run', 2], ['pa <-> pb', 4, 2], ['pa <-> pb <-> pc', 6, 3],
		['(pa <-> pb) & e1000', 5, 2], ['xa:*', 0], ['!nosuch', 0], ['c00 & nosuch', 0])
	{
		my ($query, $cursors, $guesses) = @$case;
		my $second = max(0, least($query, limit => 1)->{nodes} - $cursors);

		planned($query, limit => 1, vain => $second * $unit + ($guesses // 0));
	}
	planned($_) for 'run', 'run & !pa', '!run', 'e1000', 'e5 | e20 | e100', 'e:*';

	# Of a list that a prefix's documents are asked about, all that they may be in.
	planned('e:* & run', vain => 1);

	# Documents that end before the segment: pages of TIDs that were next.
	planned('early', vain => 16);
	cmp_ok($total{ahead_used} / $total{ahead}, '>=', 0.98,
		"$method $size: $total{ahead_used} of $total{ahead} reads ahead are used");
	return;
}

# ---- EXPLAIN ----

# Blocks read and hit by a query: for its plan, which takes looking its words up,
# and by its scan.
sub blocks
{
	my ($query) = @_;
	my $explained = decode_json($s->value('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)'
			  . " SELECT count(*) FROM docs WHERE v \@\@ '$query'"))->[0];
	my $plan = $explained->{Plan};

	$plan = $plan->{Plans}[0] until $plan->{'Node Type'} eq 'Bitmap Index Scan';
	return { map { ($_ => $plan->{$_} + $explained->{Planning}{$_}) } 'Shared Read Blocks', 'Shared Hit Blocks' };
}

sub check_explain
{
	for my $query ('e40 & run', '(pa <-> pb) & e40', 'c00 | c08')
	{
		my @others;

		setting();
		blocks($query);
		forget();
		for my $state ('cold', 'warm')
		{
			my $before = counters();
			my $plan = blocks($query);
			my $after = counters();

			is($plan->{'Shared Read Blocks'}, $after->{pages_read} - $before->{pages_read},
				"$method $size, $query, $state: EXPLAIN shows the pages read");
			push @others, $plan->{'Shared Hit Blocks'} - ($after->{hits} - $before->{hits});
		}
		is($others[0], $others[1], "$method $size, $query: and the hits, with those of shared buffers");
		between("$method $size, $query: which are few", $others[0], 1, 22);
	}
	return;
}

# ---- warm ----

sub check_warm
{
	for my $query ('nosuch', 'xa:*', 'run', 'run & !pa', 'early & run', 'isle & run', 'e1000', 'e:* & run',
		'c00 & c08 & c16', 'c00 | c08 | c16', 'pa <-> pb', 'pa <-> pb <-> pc', '!run')
	{
		for my $limit (0, 1)
		{
			my $cold = cold($query, limit => $limit);
			my $warm = spent($query, limit => $limit);
			my $vain = $cold->{pages_read} - least($query, limit => $limit)->{pages_read};
			my $what = short($query, $limit) . ', again';

			# Nobody has looked at what was read in vain: it is not kept.
			is("$warm->{rows} $warm->{alone}", "$cold->{rows} 0", "$method $size, $what: nothing is missing");
			most("$what: pages", $warm->{pages_read}, $vain);
			most("$what: asked for", $warm->{prefetched}, $cold->{prefetched});
		}
	}
	return;
}

# ---- methods that do not read ahead ----

sub check_direct
{
	for my $query ('e40 & run', '(pa <-> pb) & e40', 'c00 | c08', 'xa:*')
	{
		my $spent = cold($query, method => 'direct');

		is($spent->{ahead}, 0, "direct $size, $query: nothing is read ahead");
		is($spent->{$_}, least($query)->{$_}, "direct $size, $query: $_")
		  for qw(rows pages_read requests batches);
	}
	return;
}

$method = 'uring';
for (['8kB', 1], ['32kB', 4])
{
	($size, $unit) = @$_;
	$s->value('DROP INDEX IF EXISTS docs_v;'
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '$size'); ANALYZE docs");
	for my $each (qw(uring uring_direct))
	{
		$method = $each;
		SKIP:
		{
			skip "no $method here", 1 if cold('run')->{ahead} == 0;
			check_dictionary();
			check_first_nodes();
			check_running();
			check_sought();
			check_positions();
			check_tids();
			check_vain();
			check_explain();
			check_warm();
		}
	}
	$method = 'uring';
	check_direct();
}

$s->close;
$node->stop;
done_testing();
