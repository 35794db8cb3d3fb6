# What a cold query reads is planned: counted, not timed.
#
# The measure is the same query with skipidx.io_depth = 0, which reads what is
# pinned and nothing else, one unit at a time.  What is read ahead must be
# among that, but for allowances that follow from how reads are planned, which are
# given with the figures; and it must be asked for together, so that the
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
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

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

# Passes if the work is what is expected of it, in an index of this block size and
# read by this method, of which a page is so many of a block.
sub is_work { my ($name, $n, %of) = @_; return work_is($name, $n, unit => $unit, %of, in => "$method $size" . (exists $of{in} ? ", $of{in}" : '')); }

# A cold query: the same rows as with nothing ahead, and not many pages in addition.
# as: its name.
sub planned
{
	my ($query, %o) = @_;
	my $spent = cold($query, %o);
	my $least = least($query, limit => $o{limit});
	my $what = $o{as} // short($query, $o{limit});

	is($spent->{rows}, $least->{rows}, "$method $size, $what: rows");
	is_work("$what: pages in vain", $spent->{pages_read} - $least->{pages_read}, nodes => $least->{nodes}, tables => $spent->{node_tables} - $least->{node_tables});
	is_work('reads ahead', $spent->{ahead}, in => $what) if $least->{pages_read} > 20;
	$total{$_} += $spent->{$_} for keys %total;
	return $spent;
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
	is_work('a dictionary of three levels: pages', least('nosuch')->{pages_read});

	# Their lists are in the leaves, and no document has two of them: all that
	# is read is the header and the dictionary.
	my @few = long_lexemes(25);
	my @many = long_lexemes(64);
	my $few = join ' & ', @few;
	my $many = join ' & ', @many;

	my %name = ($few => '25 lexemes', $many => '64 lexemes');

	is_work('25 lexemes on as many leaves: batches', least($few)->{batches});
	for my $query ($few, $many)
	{
		my $spent = planned($query, depth => 64, as => $name{$query});

		is_work("$name{$query}, one batch a level: batches", $spent->{batches});
		is_work("$name{$query}: reads alone", $spent->{alone});
	}

	# Of n leaves that are asked for together the first `depth` are under way
	# at once; then at least the one that follows.  So the mean depth cannot
	# but grow.
	my %mean;
	for my $case ([$few, 1], [$few, 4], [$few, 16], [$many, 16], [$many, 64])
	{
		my ($query, $depth) = @$case;
		my $spent = planned($query, depth => $depth, as => $name{$query});
		my $mean = $spent->{depth_sum} / $spent->{requests};
		my %of = (depth => $depth, requests => $spent->{requests}, alone => $spent->{alone}, in => $name{$query});

		is_work('leaves together: depth at most', $spent->{depth_sum}, %of);
		is_work('leaves together: depth is made use of', $spent->{depth_sum} - $spent->{requests}, %of);
		$mean{$query}{$depth} = $mean;
	}
	ok($mean{$few}{1} < $mean{$few}{4} && $mean{$few}{4} < $mean{$few}{16}
		&& $mean{$many}{16} < $mean{$many}{64}, "$method $size: mean depth grows with the depth");

	# A prefix: its leaves lie one after the other.  Where the last one is, the
	# planner looks up first, level by level below the root.
	my $prefix = planned('xa:*');
	is_work('a prefix of many leaves: batches', least('xa:*')->{batches});
	is_work('xa:*: reads alone', $prefix->{alone});
	is_work('xa:*: requests', $prefix->{requests}, pages => $prefix->{pages_read});
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
		my $by = $op =~ s/ //gr;
		my $spent = planned($all, depth => 64, as => "8 lists by $by");
		my $before = planned($two, depth => 64, as => "2 lists by $by");

		# Each list has one node or two; the second is found in the first.  A
		# phrase has two cursors on each, and reads a page of positions alone
		# where they go on to the next one after nothing was read for a while.
		my %of = (second => $spent->{nodes} / $times - 8, in => "by $by");

		is_work($times > 1 ? 'a phrase of 8 lists: reads alone' : '8 lists: reads alone', $spent->{alone}, %of);

		# The second nodes of lists, and the positions of links, are further
		# steps: asked for, and for a link once more on another page.
		is_work($times > 1 ? 'a phrase of 8 lists, not 2: batches' : '8 lists, not 2: batches', $spent->{batches} - $before->{batches}, %of);
		next if $unit > 1;
		is_work('8 lists, not 2, one by one: batches', least($all)->{batches} - least($two)->{batches}, %of);
		is_work('8 first nodes are under way together: depth', $spent->{depth_sum} - $spent->{requests}, %of);
	}

	# Where nothing can match, no list is read.
	for my $query ('c00 & c08 & c16 & nosuch', 'c00 <-> c08 <-> nosuch', 'c00 & (nosuch | c08 & nosuch)',
		'(c00 & nosuch) | (c08 <-> nosuch)', 'run & !c08 & nosuch',
		'run & pa:A', 'pa:A | pb:A | pc:A')
	{
		my $spent = planned($query, as => 'nothing can match');

		is_work('nothing can match: nodes', $spent->{nodes}, in => $query);
		is_work('nothing can match: pages', $spent->{pages_read}, in => $query);
	}
	return;
}

# ---- lists that are gone through ----

sub check_running
{
	my $nodes = least('run:A')->{nodes};

	is_work('a list of many nodes: pages', $nodes * $unit);
	for my $depth (1, 4, 16, 64)
	{
		# No document has it with this label: the list is all that is read.
		my $spent = planned('run:A', depth => $depth);

		# From node to node twice as many are wanted under way, up to the
		# depth; and half of these are missing when they are asked for.
		my %of = (asks => log($depth) / log(2) + 1 + 2 * $nodes / $depth, depth => $depth, nodes => $nodes, requests => $spent->{requests}, alone => $spent->{alone}, in => "depth $depth");

		is_work('run:A: reads alone', $spent->{alone}, %of);
		is_work('run:A: batches', $spent->{batches}, %of);
		is_work('run:A: depth', $spent->{depth_sum}, %of);

		# Units of up to 16 pages in a row are one read.
		is_work('run:A: requests', $spent->{requests}, %of) if $depth > 1;
	}

	# Several lists share the depth.
	my $lists = 'run | pa | pb | pc';
	my $spent = planned($lists);
	is_work("$lists: reads alone", $spent->{alone});
	return;
}

# ---- lists that are sought ----

sub check_sought
{
	# Node tables are read to plan by, and need not be otherwise.
	for my $query (map { "$_ & run" } qw(e5 e20 e40 e50 e100 e1000))
	{
		my $least = least($query);
		my $spent = planned($query, as => 'a word & run');
		my %of = (tables => $spent->{node_tables} - $least->{node_tables}, in => $query);

		is_work('a word & run: pages in vain but for node tables', $spent->{pages_read} - $least->{pages_read}, %of);
		is_work('a word & run: reads alone', $spent->{alone}, %of);
	}

	# Nodes are asked for when at least half of the depth is free, 16 TID pages
	# in a row are one read, and the table is one.
	for my $query ('e20 & run', 'e100 & run', 'e1000 & run')
	{
		my $spent = planned($query, as => 'a word & run');

		is_work('a word & run: batches', $spent->{batches}, nodes => least('run:A')->{nodes}, in => $query);
		is_work('a word & run, one by one: batches', least($query)->{batches}, batches => $spent->{batches}, in => $query);
	}

	# Warm, who finds everything in the cache asks at most once.
	for my $query ('e1000 & run', 'e1000 & run & pa')
	{
		my $lists = () = $query =~ /\w+/g;
		my $tids = least('e1000')->{pages_read};
		cold($query);
		my $again = spent($query);

		is_work('words again: reads alone', $again->{alone}, in => $query);
		is_work('words again: asked for', $again->{prefetched}, lists => $lists, tids => $tids, in => $query);
		is_work('words once more: asked for', spent($query)->{prefetched}, again => $again->{prefetched}, in => $query);
	}

	# Dense, but not everywhere: where one list has nothing, the others are not
	# read.  A range of documents is in its part of the nodes of `run`, and in
	# those where it begins and ends; the other list has four nodes at most.
	my $nodes = least('run:A')->{nodes};

	is_work('isle & run: nodes', least('isle & run')->{nodes}, nodes => $nodes);
	is_work('early & run: nodes', least('early & run')->{nodes}, nodes => $nodes);

	# Where it stops, a list that has been gone through has more nodes under
	# way: its share of the depth at most, and at most 2 ** (n - 1) when it has
	# entered n in a row, here the three of an island.
	planned($_) for 'early & run', 'isle & run', 'first & run:A';
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
		my $spent = planned($query, depth => 64, as => 'a phrase & e<k>, deep');

		is_work('a phrase & e<k>: pages', least($query)->{pages_read}, k => $k, in => $query);
		is_work('a phrase & e<k>: reads alone', $spent->{alone}, k => $k, in => $query);
	}

	# Batches of candidates begin small, so that what is asked for at a time is
	# half of the most at least; the nodes of three lists come before.
	my $sparse = planned('(pa <-> pb) & e40', depth => 64, as => 'a phrase & e<k>, deep');
	is_work('a phrase & e<k>: batches', $sparse->{batches}, k => 40);

	# All of them: in runs.  Where the positions of a list end is known from
	# where the list does, to a page or two; a run can be asked for behind it.
	my $all = planned('pa <-> pb');
	is_work('pa <-> pb: requests', $all->{requests}, pages => $all->{pages_read});
	is_work('pa <-> pb: reads alone', $all->{alone});

	# What an earlier link rules out is not read of a later one: of pc only
	# its nodes, and the positions of documents that have pa <-> pb.
	for my $k (40, 1000)
	{
		my $short = planned("(pa <-> pb) & e$k", as => 'a phrase & e<k>');
		my $long = planned("(pa <-> pb <-> pc) & e$k", as => 'a long phrase & e<k>');

		cmp_ok($short->{rows} * 10, '<', $k, "pa <-> pb in few of $k");
		is_work('a long phrase & e<k>, not a short one: pages', $long->{pages_read} - $short->{pages_read}, nodes => $long->{nodes} - $short->{nodes}, rows => $short->{rows}, in => "e$k");
	}

	# Warm, the first two batches of candidates are asked for, and no more: for
	# each of two lists a page or two a candidate, and the pages that follow.
	my $query = '(pa <-> pb) & e1000';
	cold($query);
	my $again = spent($query);
	is_work('a phrase & e<k> again: reads alone', $again->{alone});
	is_work('a phrase & e<k> again: asked for', $again->{prefetched});
	return;
}

# ---- TIDs ----

sub check_tids
{
	my %of = (pages => least('!nosuch')->{pages_read});

	is_work('many TID pages', $of{pages});
	my $all = planned('!nosuch');
	is_work('!nosuch: reads alone', $all->{alone});
	is_work('!nosuch: requests', $all->{requests}, %of);

	# Each of 20 documents on a page of its own: one step.
	my $sparse = planned('e20', depth => 64);
	is_work('e20: pages', least('e20')->{pages_read});
	is_work('e20: batches', $sparse->{batches});
	return;
}

# ---- nothing in vain ----

sub check_vain
{
	# Whoever wants one row has nothing under way of a list that it has read the
	# first node of, and one node of those that it has read two of.  A phrase
	# has two cursors on each list, and takes a guess at pages of positions.
	planned($_, limit => 1) for 'run', '!run', 'c00 & c08', 'c00 | c08', 'e1000 & run', 'run & !pa', 'early & run', 'pa <-> pb', 'pa <-> pb <-> pc', '(pa <-> pb) & e1000', 'xa:*', '!nosuch', 'c00 & nosuch';
	planned($_) for 'run', 'run & !pa', '!run', 'e1000', 'e5 | e20 | e100', 'e:*';

	# Of a list that a prefix's documents are asked about, all that they may be in; of
	# documents that end before the segment, pages of TIDs that were next.
	planned($_) for 'e:* & run', 'early';
	is_work('the share of reads ahead that is used', $total{ahead_used} / $total{ahead});
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
		is_work('hits in shared buffers, in a plan', $others[0], in => $query);
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
			is($warm->{rows}, $cold->{rows}, "$method $size, $what: rows");
			is_work('warm: reads alone', $warm->{alone}, in => $what);
			is_work('warm: pages', $warm->{pages_read}, vain => $vain, in => $what);
			is_work('warm: asked for', $warm->{prefetched}, cold => $cold->{prefetched}, in => $what);
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

		work_is('by a method that does not read ahead: reads ahead', $spent->{ahead}, in => "direct $size, $query");
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
			work_skip(qr/^(?!by a method)/), skip "no $method here", 1 if cold('run')->{ahead} == 0;
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
work_done();
