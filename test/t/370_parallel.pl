# Scans by several processes give what one gives: rows in no order and in that of a
# column, the best rows, counts, and counts by the values of a column, in every
# state of the index, beside writers, VACUUM and merges under one snapshot, on a
# standby; and they divide the work.
#
# Long: 200 queries in each state, else 25 (SKX_RANK_QUERIES).
#
# Holds: am 12; count 6; facets 7; order 5; plan 20; exec 1, 2, 3; topk 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxMatrix qw(one_of quoted);
use SkipidxTest qw(skx_session skx_fault_lock);
use Test::More;
use Time::HiRes qw(sleep);

# Segments of several parts; words from every row to a few, at places; ranks
# that are equal for very many; a column that follows the rows, not quite, has
# each value several times, and is NULL in some.
my $m = SkipidxMatrix->new('parallel', seed => 370, conf => <<'CONF', large => 1, explain => '', by_index => { map { $_ => 0 } qw(rows bitmap ranked count groups ordered) }, own => <<'SQL');
skipidx.max_workers = 0
skipidx.cache_size = 8MB
max_worker_processes = 12
max_parallel_workers = 8
CONF
-- Of u, several values have one key, and it follows the rows as d does; w does so
-- less well.
CREATE TABLE docs (id int NOT NULL, v tsvector, n int, d int, u numeric, w int) WITH (fillfactor = 90);
CREATE FUNCTION doc(g int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN g % 61 <> 0 THEN (CASE WHEN g % 3 = 0 THEN 'wall:1,4,9' ELSE 'wall:1' END
		|| CASE WHEN hashint4(g) & 1 = 0 THEN ' half:2' || CASE WHEN hashint4(g) & 6 = 0 THEN ',5A,7' ELSE '' END ELSE '' END
		|| CASE WHEN hashint4(g) % 10 = 0 THEN ' tenth:3' ELSE '' END
		|| CASE WHEN hashint4(g + 1) % 97 = 0 THEN ' rare:6,8' ELSE '' END
		|| ' k' || abs(hashint4(g * 7)) % 300 || ':11 x' || abs(hashint4(g * 13)) % 20000)::tsvector END
$$;
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT g, doc(g), g % 5, d, d + hashint4(g) % 8 * 1e-20, g + hashint4(g + 5) % 4000
	FROM (SELECT g, CASE WHEN g % 101 <> 0 THEN (g + hashint4(g) % 30) / 7 END AS d FROM generate_series(first, first + n - 1) g) s
$$;
SELECT add(1, 140000);
CREATE INDEX docs_skx ON docs USING skipidx (v, n, id, d, u, w) WITH (pending_limit = '1GB', proximity = 0.2);
ANALYZE docs;
SQL
my ($node, $s) = ($m->node, $m->session);
my $many = $m->long(200, 25);
my $all = 140000;

# What a session does so: one process alone, by the sequential scan or by the
# index, or several by the index.
my %mode = (
	seq => 'SET max_parallel_workers_per_gather = 0; SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_indexscan = off',
	alone => 'SET max_parallel_workers_per_gather = 0; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = on',
	together => 'SET max_parallel_workers_per_gather = 2; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = on;'
	  . ' SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0');

sub word { return one_of('wall', 'wall', 'half', 'half', 'tenth', 'rare', 'k' . int rand 300, 'x' . int rand 20000, 'nosuch', 'half:A'); }

sub text_query
{
	my @words = map { word() } 1 .. 1 + int rand 4;

	return one_of(join(' & ', @words), join(' | ', @words), join(' | ', @words), "$words[0] & !" . word(), "!$words[0]", 'wall <-> half',
		'half <2> tenth', 'k1:*', 'x12:* | rare', 'half & k2:*', join(' | ', map { "k$_" } 1 .. one_of(80, 150)));
}

sub asked
{
	my $query = text_query();
	my $id = int rand $all;
	my $cond = "v \@\@ '$query'" . one_of('', '', '', ' AND n = 2', ' AND n IN (1, 3)', ' AND n > 2', ' AND id % 3 = 1', " AND id >= $id", " AND id BETWEEN $id AND $id + 20000", " AND id < $id AND n < 3");
	my $answer = one_of('rows', 'bitmap', 'ranked', 'ranked', 'count', 'groups', 'ordered', 'ordered');
	my $by = one_of('d', 'd', 'u', 'w');

	return ($answer, ways => ['plain'], cond => $cond, @_) if $answer =~ /rows|bitmap/;
	return ('ranked', cond => $cond, rank => quoted(rand() < 0.7 ? $query : text_query()) . '::tsquery', limits => [ one_of(1, 10, 10, 100, 1000, 5000) ], @_) if $answer eq 'ranked';
	return ('groups', cond => $cond, by => 'n', key => 'n::text', least => one_of(0, 100), @_) if $answer eq 'groups';
	return ('count', cond => $cond, @_) if $answer eq 'count';
	return ('ordered', cond => $cond . one_of('', '', ' AND d > 9000', ' AND d BETWEEN 3000 AND 5000', ' AND d IS NULL'), by => $by, key => "$by\::text",
		way => one_of('', ' DESC') . one_of('', '', ' NULLS FIRST', ' NULLS LAST'), tail => one_of('', '', ' LIMIT 10', ' LIMIT 3000'), @_);
}

# Nodes that are by several processes, by what they are.
my %kinds = ('Skipidx Scan' => 'rank', 'Skipidx Ordered Scan' => 'ordered', 'Skipidx Count' => 'count', 'Skipidx Facets' => 'groups', 'Index Scan' => 'rows', 'Bitmap Heap Scan' => 'bitmap');

sub kinds_of { return map { ($kinds{ $_->{'Custom Plan Provider'} // $_->{'Node Type'} } // '', $_) } grep { $_->{'Parallel Aware'} } @_; }

# What EXPLAIN ANALYZE tells of our scan, alone and by several, with that many workers.
sub each_way
{
	my ($sql, $workers, $set) = @_;

	$workers //= 2;
	return map { $s->value($mode{$_} . ($_ eq 'together' ? "; SET max_parallel_workers_per_gather = $workers" : '') . '; ' . ($set // '')); $m->told($sql) } qw(alone together);
}

# Another part of the queries each time, by so many processes; of each answer some
# have to be by several.
my ($turn, %tries, %together) = (0);

sub differ
{
	my ($state, $stride, %opt) = @_;
	my $r = $m->differ($state, $stride, part => $turn++ % $stride, matched => 0, processes => [2], unchecked => 1, %opt);

	for my $answer (keys %{ $r->{answers} })
	{
		my ($tries, $together) = @{ $r->{answers}{$answer} }{qw(tries together)};

		cmp_ok($together, '>', 0, "$state: $answer by several processes") if $tries > 10;
		$tries{$answer} += $tries;
		$together{$answer} += $together;
	}
	return;
}

# ---- states ----

my $analyze = ', ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF';

$m->ask(10 * $many, \&asked);
differ('built', 5, explain => $analyze);
differ('built, by more processes', 20, processes => [ 0, 4 ]);
$s->value("SELECT add(200001, 5000)");
differ('pending', 10);
$s->value("SELECT add(300001, 70000); SELECT skipidx_flush('docs_skx') \\g /dev/null\nSELECT add(400001, 3000)");
$s->value('ANALYZE docs');
differ('segments', 10);
$s->value('DELETE FROM docs WHERE id % 17 = 3; UPDATE docs SET n = n + 1 WHERE id % 29 = 5');
differ('deleted', 10);
$s->value('VACUUM docs');
differ('vacuumed', 10);
$m->by_methods('vacuumed', 30, processes => [2], unchecked => 1, matched => 0);
$s->value("SELECT tend(1) \\g /dev/null\nVACUUM docs");
differ('merged', 10, explain => $analyze);

# ---- the work ----

# A count that fetches nothing, and whose map is asked as a whole, adds up.
$s->value('VACUUM docs');
$s->value("$mode{together}; SET enable_bitmapscan = on");
{
	my %kind = kinds_of($m->plan_nodes("SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'"));
	my $rows = $s->value("SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'");

	is($kind{count}{'Heap Fetches'}, 0, 'a count: no row is fetched');
	is($kind{count}{'Rows by Whole Map'} + $kind{count}{'Rows by Page Map'}, $rows, 'a count: each row is counted once');

	# So it is if workers do all the work; values are told, too.
	$s->value('SET parallel_leader_participation = off');
	%kind = kinds_of($m->plan_nodes("SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'"));
	is($kind{count}{'Rows by Whole Map'} + $kind{count}{'Rows by Page Map'}, $rows, 'a count by workers: each row is told once');
	%kind = kinds_of($m->plan_nodes("SELECT n, count(*) FROM docs WHERE v \@\@ 'half & !tenth' GROUP BY n"));
	is($kind{groups}{'Rows by Whole Map'} + $kind{groups}{'Rows by Page Map'}, $rows, 'groups by workers: each row is told once');
	cmp_ok($kind{groups}{'Values by List'} + $kind{groups}{'Values by Key'}, '>', 0, 'groups by workers: values are told');
	$s->value('RESET parallel_leader_participation');
}

# What one process has reached spares the others, and parts cost little.
for my $query ('half | rare', 'half & tenth', 'wall | k7 | x9', 'half & rare & wall')
{
	my ($alone, $together) = map { $_->{'Scored Postings'} } each_way("SELECT id FROM docs WHERE v \@\@ '$query' ORDER BY v <\@> '$query'::tsquery LIMIT 10");

	cmp_ok($together, '<=', 4 * $alone + 3000, "$query: $together postings scored, $alone alone");
}

# So it is where no process has as many hits as are asked for by itself: hits of
# all count.
{
	my ($alone, $together) = (0, 0);

	for (1 .. 5)
	{
		my @told = each_way("SELECT id FROM docs WHERE v \@\@ 'wall | half | tenth | k7' ORDER BY v <\@> 'wall | half | tenth | k7'::tsquery LIMIT 10000", 1);

		$alone += $told[0]{Candidates};
		$together += $told[1]{Candidates};
	}
	cmp_ok($together, '<=', 1.12 * $alone, "$together candidates in five searches, $alone alone");
}

# Rows of few pages of the index and many of the table are read by several, where that is worth it.
{
	my $sql = "SELECT sum(id) FROM docs WHERE v \@\@ 'half'";

	$s->value("$mode{together}; RESET min_parallel_index_scan_size");
	for my $case ([ 10, 1 ], [ 1000, 0 ])
	{
		my ($setup, $divided) = @$case;

		$s->value("SET parallel_setup_cost = $setup");
		is(($s->value("EXPLAIN $sql") =~ /Parallel Index Scan/ ? 1 : 0), $divided, "rows: a process costs $setup");
	}
	$s->value('SET parallel_setup_cost = 10');
	is(scalar(grep { ($_->{'Workers Launched'} // 0) > 0 } $m->plan_nodes($sql)), 1, 'rows: by several processes');
}

# In the order of a column, too: parts of its keys follow each other.  So a few
# rows need few parts, and all are looked at by one process each, but for groups
# that two parts have some of.
{
	for my $case ([ '', 1.4 ], [ ' LIMIT 3000', 1.5 ], [ ' AND id % 250 = 7 LIMIT 10', 2 ], [ ' AND d > 15000 AND id % 1000 < 9', 1.3 ])
	{
		my ($more, $times) = @$case;
		my ($where, $limit) = $more =~ /^(.*?)( LIMIT.*)?$/;

		for my $order ('d', 'd DESC NULLS LAST')
		{
			my ($alone, $together) = each_way("SELECT id FROM docs WHERE v \@\@ 'half'$where ORDER BY $order" . ($limit // ''), 2, 'SET enable_sort = off');

			is(join(' ', map { $_->{'Custom Plan Provider'} . ($_->{'Parallel Aware'} ? 1 : 0) } $alone, $together), 'Skipidx Ordered Scan0 Skipidx Ordered Scan1', "by $order$more: alone and together");
			cmp_ok($together->{'Compared Documents'}, '<=', $times * $alone->{'Compared Documents'} + 8192,
				"by $order$more: $together->{'Compared Documents'} compared, $alone->{'Compared Documents'} alone");
		}
	}
	# parts are larger where each has documents in many groups
	for my $words ('half', 'half | tenth | rare', 'tenth')
	{
		my (undef, $together) = each_way("SELECT id FROM docs WHERE v \@\@ '$words' ORDER BY w", 2, 'SET enable_sort = off');
		my $rows = $s->value("SELECT count(*) FROM docs WHERE v \@\@ '$words' AND w IS NOT NULL");

		ok($together->{'Parallel Aware'}, "$words, by a column that follows the rows less well: together");
		cmp_ok($together->{'Compared Documents'}, '<=', 2.3 * $rows, "$words: $together->{'Compared Documents'} compared for $rows rows");
	}
	# each part would be looked for in all documents
	my $plan = $s->value("EXPLAIN SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY n");
	like($plan, qr/Skipidx Ordered Scan/, 'a column that does not follow the rows: in its order');
	unlike($plan, qr/Parallel Custom/, 'alone');
	$s->value('SET parallel_setup_cost = 10000');
	unlike($s->value("EXPLAIN SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY d"), qr/Parallel/, 'in the order of a column: alone if that is not worth it');
	$s->value('RESET parallel_setup_cost; RESET enable_sort');
}

# By default nothing that takes milliseconds is given to several.
$s->value('RESET ALL');
for my $sql ("SELECT id FROM docs WHERE v \@\@ 'half | rare' ORDER BY v <\@> 'half | rare'::tsquery LIMIT 10", "SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'",
	"SELECT count(*) FROM docs WHERE v \@\@ 'wall'")
{
	unlike($s->value("EXPLAIN $sql"), qr/Gather/, "$sql: alone by default");
}

# Nor at any price of a process, what is not worth ten of them.
$s->value("$mode{together}; SET enable_bitmapscan = on; SET parallel_setup_cost = 1e6");
for my $sql ("SELECT id FROM docs WHERE v \@\@ 'half | rare' ORDER BY v <\@> 'half | rare'::tsquery LIMIT 1000", "SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'")
{
	my ($cost) = map { $_->{'Startup Cost'} } grep { $_->{'Node Type'} eq 'Custom Scan' } $m->plan_nodes($sql, 'COSTS ON');

	$s->value('SET parallel_setup_cost = ' . $cost * .4);
	unlike($s->value("EXPLAIN $sql"), qr/Gather/, "$sql: alone, though two processes would be cheaper");
	$s->value('SET parallel_setup_cost = ' . $cost / 100);
	like($s->value("EXPLAIN $sql"), qr/Gather/, "$sql: together where it is worth many");
	$s->value('SET parallel_setup_cost = 1e6');
}

# ---- what the planner must not make ----

$s->value($mode{together});
$s->value('SET skipidx.enable_custom_scan = off; SET cpu_tuple_cost = 1');
unlike($s->value("EXPLAIN SELECT id FROM docs ORDER BY v <\@> 'half | rare'::tsquery"), qr/Parallel Index Scan/,
	'no partial path with an order, without the custom scan');
$s->value('RESET skipidx.enable_custom_scan; RESET cpu_tuple_cost');
unlike($s->value("EXPLAIN SELECT id FROM docs ORDER BY v <\@> 'half | rare'::tsquery"), qr/Parallel/, 'all rows: alone');
unlike($s->value("EXPLAIN SELECT (SELECT id FROM docs ORDER BY v <\@> q LIMIT 1) FROM (VALUES ('half'::tsquery), ('rare')) AS t (q)"),
	qr/Parallel Custom Scan/, 'by another row: alone');

# What each process would gather of a whole segment for itself.
$s->value('SET enable_bitmapscan = on');
my $gathered = join(' | ', 'half', map { "w$_" } 1 .. 200);

for my $case ([ 'half & !tenth', 1 ], [ 'half & !tent:*', 0 ], [ 'half | w1 | w2', 1 ], [ $gathered, 0 ])
{
	my ($query, $divided) = @$case;

	for my $sql ("SELECT count(*) FROM docs WHERE v \@\@ '$query'", "SELECT n, count(*) FROM docs WHERE v \@\@ '$query' GROUP BY n",
		"SELECT id FROM docs WHERE v \@\@ '$query' ORDER BY v <\@> 'half | rare'::tsquery LIMIT 10")
	{
		my $plan = $s->value("EXPLAIN (COSTS OFF) $sql");

		is($plan =~ /Parallel Custom Scan/ ? 1 : 0, $divided, ($divided ? 'by several: ' : 'alone: ') . substr($sql, 0, 60));
	}
}

# Very many words that are ranked by: lists are begun anew in each part.
{
	my $words = join(' | ', map { "k$_" } 1 .. 200);
	my $sql = "SELECT id FROM docs WHERE v \@\@ '$words' ORDER BY v <\@> '$words'::tsquery LIMIT 10";
	my ($alone, $together) = each_way($sql);

	is(join(' ', map { $_->{'Parallel Aware'} ? 1 : 0 } $alone, $together), '0 1', 'very many words: alone and together');
	cmp_ok($together->{Nodes}, '>', 4 * $alone->{Nodes}, "very many words: in parts ($alone->{Nodes}, $together->{Nodes} nodes)");
	unlike($s->value("EXPLAIN (COSTS OFF) " . $sql =~ s/k1 /k1:* /gr), qr/Parallel Custom Scan/, "$_: alone") for 'a prefix among them';
}

# ---- scans that begin again, prepared statements, partitions ----

sub both
{
	my ($name, $sql) = @_;
	my @got;

	for my $mode (qw(seq together))
	{
		$s->value($mode{$mode});
		$s->value('SET enable_bitmapscan = on') if $mode eq 'together' && $sql =~ /count\(\*\)( AS \w)? FROM (docs|parts) WHERE/;
		push @got, $s->value($sql);
	}
	is($got[1], $got[0], $name);
	return;
}

$s->value($mode{together});
my $again = "SELECT g, id FROM generate_series(1, 4) g LEFT JOIN (SELECT id FROM docs WHERE v \@\@ 'half | rare' ORDER BY v <\@> 'half | rare'::tsquery, ctid LIMIT 7) s ON true ORDER BY 1, 2";
$s->value('SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off');
both('a ranked scan that begins again', $again);
both('a count that begins again', "SELECT g, n FROM generate_series(1, 4) g LEFT JOIN (SELECT count(*) AS n FROM docs WHERE v \@\@ 'half & !tenth') s ON true ORDER BY 1");
both('a scan that begins again', "SELECT g, count(*) FROM generate_series(1, 3) g LEFT JOIN (SELECT id FROM docs WHERE v \@\@ 'tenth & half' OFFSET 0) s ON true GROUP BY g ORDER BY 1");
$s->value('SET enable_sort = off');
both("an ordered scan that begins again: $_", "SELECT g, count(*), sum(d) FROM generate_series(1, 3) g LEFT JOIN (SELECT d FROM docs WHERE v \@\@ 'half' ORDER BY d $_ OFFSET 0) s ON true GROUP BY g")
  for '', 'DESC LIMIT 5000';
$s->value('RESET enable_sort');
# A LIMIT that workers cannot evaluate, or that is another one each time: rows of
# these scans are one process's, which the server would not tell the next LIMIT.
# It does not tell its sorts either, whose rows are wrong then, of any table.
$s->value('SET enable_sort = off');
$s->value("CREATE TABLE limits WITH (parallel_workers = 0) AS SELECT k, repeat('x', k * 700) AS s FROM generate_series(1, 6) k; ANALYZE limits");
$s->value('CREATE TEMP TABLE chosen AS SELECT 9 AS n');
$s->value("CREATE FUNCTION chosen() RETURNS int STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT n FROM chosen); END'");
for my $limit ('length(o.s)', 'o.k * 900 OFFSET o.k', '(SELECT max(k) * 100 * o.k FROM limits)', 'chosen()', '700 OFFSET chosen()')
{
	both("an ordered scan with LIMIT $limit",
		"SELECT o.k, count(*), min(d), max(d) FROM limits o, LATERAL (SELECT d FROM docs WHERE v \@\@ 'half' ORDER BY d LIMIT $limit) s GROUP BY 1 ORDER BY 1");
	both("a ranked scan with LIMIT $limit",
		"SELECT o.k, count(*), sum(id) FROM limits o, LATERAL (SELECT id FROM docs WHERE v \@\@ 'half | rare' ORDER BY v <\@> 'half | rare'::tsquery, ctid LIMIT $limit) s GROUP BY 1 ORDER BY 1");
}
$s->value('RESET enable_sort');
for my $limit (100, 'chosen()')
{
	my $plan = $s->value("EXPLAIN (COSTS OFF) SELECT d FROM docs WHERE v \@\@ 'half' ORDER BY d LIMIT $limit");

	is($plan =~ /Parallel/ ? 1 : 0, $limit =~ /\d/ ? 1 : 0, "LIMIT $limit");
}

# Each part goes through what is pending: there are fewer of them then.
$s->value('BEGIN; SELECT add(400001, 6000) \g /dev/null');
{
	my $sql = "SELECT count(*), sum(d) FROM (SELECT d FROM docs WHERE v \@\@ 'wall' ORDER BY d OFFSET 0) s";
	my $parts = $m->told($sql)->{Passes};

	both('many pending documents', $sql);
	cmp_ok($parts, '>', 1, "$parts parts");
	cmp_ok($parts, '<=', 3 * (1 + 140000 / 4 / 6000), 'few for what is pending');
}
$s->value('ROLLBACK');
both('facets that begin again', "SELECT g, n, c FROM generate_series(1, 3) g LEFT JOIN (SELECT n, count(*) AS c FROM docs WHERE v \@\@ 'half & !tenth' GROUP BY n) s ON true ORDER BY 1, 2");
$s->value('RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin');
$s->value('PREPARE best (tsquery) AS SELECT id, v <@> $1 FROM docs WHERE v @@ $1 ORDER BY v <@> $1 LIMIT 20; SET plan_cache_mode = force_generic_plan');
$s->value('PREPARE sorted (tsquery, int) AS SELECT count(*), sum(d), min(d) FROM (SELECT d FROM docs WHERE v @@ $1 AND d > $2 ORDER BY d LIMIT 4000) s; SET enable_sort = off');
both("a generic plan, in an order: $_", "EXECUTE sorted ($_)") for "'half | rare', 5000", "'tenth & wall', -1", "'nosuch', 1", "'!half', 18000", "NULL, 7", "'wall', NULL";
$s->value('RESET enable_sort');
both("a generic plan: $_", "EXECUTE best ('$_')") for 'half | rare', 'tenth & wall', 'nosuch', '!half', '';
both('a generic plan: NULL', 'EXECUTE best (NULL)');
$s->value('RESET plan_cache_mode');
both('no row', "SELECT n, count(*) AS c FROM docs WHERE v \@\@ 'half & nosuch' GROUP BY n");
both('groups, no counts', "SELECT DISTINCT n FROM docs WHERE v \@\@ 'half & !tenth' ORDER BY n");
both('groups, in windows', "SELECT rank() OVER (ORDER BY count(*)), n, sum(count(*)) OVER () FROM docs WHERE v \@\@ 'half & !tenth' GROUP BY n HAVING count(n) > 5 ORDER BY count(*) DESC, n");
both('groups by expressions of counts', "SELECT n + 1, count(*) * 2, count(*) FROM docs WHERE v \@\@ 'half & !tenth' GROUP BY n ORDER BY 1");
both('no query', "SELECT id FROM docs ORDER BY v <\@> ''::tsquery, id LIMIT 5");
both('a condition that nothing meets', "SELECT count(*) FROM docs WHERE v \@\@ ''");
both('more rows than have a score', "SELECT count(*), sum(id) FROM (SELECT id FROM docs ORDER BY v <\@> 'rare'::tsquery LIMIT 9000) s");
$s->value("CREATE TABLE parts (LIKE docs) PARTITION BY RANGE (id); CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (80000);"
	  . ' CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (80000) TO (1000000);'
	  . ' INSERT INTO parts SELECT * FROM docs; CREATE INDEX parts_skx ON parts USING skipidx (v, n)');
$s->value('VACUUM ANALYZE parts');
both("partitions: $_", "SELECT count(*) FROM parts WHERE v \@\@ '$_'") for 'half & !tenth', 'wall', 'k7 | rare';
both("partitions, rows: $_", "SELECT count(*), sum(id) FROM parts WHERE v \@\@ '$_'") for 'half & !tenth', 'k7 | rare';
both("partitions, ranked: $_", "SELECT id FROM parts WHERE v \@\@ '$_' ORDER BY v <\@> '$_'::tsquery, id LIMIT 30") for 'half & tenth', 'k7 | rare';
{
	$s->value("$mode{together}; SET enable_bitmapscan = on");
	my %kind = kinds_of($m->plan_nodes("SELECT count(*) FROM parts WHERE v \@\@ 'half & !tenth'"));
	ok(exists $kind{count}, 'partitions: counted by several processes');
}

# ---- beside writers, under one snapshot ----

# A flush every few milliseconds, so that views that processes take one after
# the other differ.
my $writer = skx_session($node, 'd');

$writer->value(<<'SQL2');
CREATE SEQUENCE added START 500000;
CREATE PROCEDURE churn(until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
	turn int := 0;
BEGIN
	WHILE clock_timestamp() < until OR turn <= 20 LOOP
		turn := turn + 1;
		INSERT INTO docs SELECT g, doc(g), g % 5, CASE WHEN g % 101 <> 0 THEN (g + hashint4(g) % 30) / 7 END FROM (SELECT nextval('added')::int AS g FROM generate_series(1, 40)) s;
		DELETE FROM docs WHERE id = turn * 101;
		COMMIT;
		PERFORM skipidx_flush('docs_skx');
		COMMIT;
		IF turn % 20 = 0 THEN
			PERFORM skipidx_merge('docs_skx', 1);
			COMMIT;
		END IF;
	END LOOP;
END $$;
SQL2

$m->ask(14, sub { asked(@_, topic => 'kept') });
$m->ask_always(map { [ @$_, topic => 'kept' ] } [ 'rows', ways => ['plain'], cond => "v \@\@ 'half'" ], [ 'groups', cond => "v \@\@ 'half & !tenth'", by => 'n', key => 'n::text', least => 0 ],
	[ 'count', cond => "v \@\@ 'half & !tenth'" ], [ 'ranked', cond => "v \@\@ 'half | rare'", rank => "'half | rare'", limits => [1000] ]);
my @kept = map { my $qid = $_; [ map { $s->value("SELECT $_ FROM asked WHERE qid = $qid") } 'answer', 'oracle', 'statements[1]' ] } split /\n/, $s->value("SELECT qid FROM asked WHERE topic = 'kept' AND told !~ 'id %'");
$s->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
$s->value($mode{seq});
my @want = map { $s->value($_->[1]) } @kept;
my $seconds = $many > 40 ? 60 : 10;
my %wrong;
my $asked = 0;
my $said;

$writer->start("CALL churn(clock_timestamp() + '$seconds s')");
until (defined($said = $writer->ready))
{
	for my $i (0 .. $#kept)
	{
		$s->value($mode{together});
		$s->value('SET enable_bitmapscan = on') if $kept[$i][0] =~ /count|groups/;
		$wrong{ $kept[$i][2] }++ if $s->value($kept[$i][2]) ne $want[$i];
		$asked++;
	}
}
unlike($said, qr/ERROR/, 'the writer');
is_deeply(\%wrong, {}, "beside a writer: $asked answers of one snapshot");
cmp_ok($writer->value('SELECT last_value FROM added'), '>', 500000 + 40 * 20, 'flushes beside them');
$s->value('COMMIT');

# ---- who takes part, and what ends it ----

sub waiting
{
	my ($n) = @_;

	return $node->poll_query_until('d', "SELECT count(*) = $n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
}

# Both workers have come before a part is taken, so each gets some, unless the
# processor is another's for as long as one needs for all of them.
my $sum = "SELECT sum(id), count(n) FROM docs WHERE v \@\@ 'wall'";
$s->value("$mode{seq}; LOAD 'skipidx'");
my $known = $s->value($sum);
$s->value("$mode{together}; SET parallel_leader_participation = off");
{
	my @rows;

	for (1 .. 20)
	{
		$writer->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('share_take') . ')');
		$s->value("SET skipidx.fault = 'share_take:wait'");
		$s->start("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF) $sum");
		waiting(2) or last;
		$writer->value('SELECT pg_advisory_unlock_all()');

		my %kind = kinds_of($m->nodes_in($s->finish));

		@rows = map { $_->{'Actual Rows'} } @{ $kind{rows}{Workers} };
		last if !grep { $_ <= 1000 } @rows;
	}
	cmp_ok($_, '>', 1000, "a worker returns $_ rows") for @rows;
	is(@rows, 2, 'so do both');
}

# A process that begins late scores nothing that cannot reach what others have
# reached.  The worker takes the first three parts, which have the best rows, and
# waits; the leader, which waits at its first one, then takes of the others, in
# which each row is as good as the one before or better.  Not in a search that
# begins with a threshold from lists alone, as without a condition.
$s->value(<<'SQL2');
RESET ALL;
CREATE TABLE steps (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO steps SELECT g, CASE WHEN g <= 98304 THEN 'up:1,2,3,4,5,6,7,8,9' ELSE 'up:1 f:' || p.of[1 + (g - 98305) / 2048] END::tsvector
	FROM generate_series(1, 98304 + 131072) g, (SELECT array_agg(p ORDER BY n DESC) AS of FROM (SELECT n, string_agg(i::text, ',') AS p FROM generate_series(2, 65) n, generate_series(2, n) i GROUP BY n) x) p;
CREATE INDEX steps_skx ON steps USING skipidx (v);
CREATE TABLE few (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO few SELECT 'up:1' FROM generate_series(1, 30000) i;
CREATE INDEX few_skx ON few USING skipidx (v);
ANALYZE steps, few;
SQL2
{
	my %best = map { $_ => "SELECT v <\@> 'up'::tsquery FROM $_ WHERE v \@\@ '!nosuch' ORDER BY v <\@> 'up'::tsquery LIMIT 500" } qw(steps few);
	my ($times, $shared) = (8, 0);

	$s->value($mode{alone});
	my $alone = $m->told($best{steps})->{'Scored Postings'};

	$s->value("$mode{together}; SET max_parallel_workers_per_gather = 1");
	for (1 .. $times)
	{
		$writer->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('share_take') . ')');

		# the leader comes to the point three times here
		$s->value("SET skipidx.fault = 'share_take:wait:4'; SET max_parallel_workers = 0");
		my ($gather) = grep { $_->{'Node Type'} =~ /^Gather/ } $m->plan_nodes($best{few});
		is($gather->{'Workers Launched'}, 0, 'the leader alone');
		$s->value('RESET max_parallel_workers');
		$s->start("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF) $best{steps}");
		ok(waiting(2), 'one has taken three parts, the other none');
		$writer->value('SELECT pg_advisory_unlock_all()');
		my $n = { kinds_of($m->nodes_in($s->finish)) }->{rank}{'Scored Postings'};

		note "$n postings scored";
		$shared += $n;
	}
	cmp_ok($shared, '<=', $times * $alone + 1500, "$shared postings scored $times times, $alone alone");
	$s->value('RESET ALL');
}

# The leader gives the rows, so it waits for a worker that has not left what it
# found: until it has, until it fails, or until the query is cancelled.
{
	my $words = join ' | ', map { "k$_" } 1 .. 299;
	my $best = "SELECT id, v <\@> '$words'::tsquery FROM docs WHERE v \@\@ '$words' ORDER BY v <\@> '$words'::tsquery LIMIT 300";
	my $explain = 'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF)';
	my $leader = $s->value('SELECT pg_backend_pid()');
	my $worker;

	# The leader waits at its first part, as it has come to the point three times
	# before, and the worker at its fourth.  Then the worker's process stands still,
	# so that the leader alone goes on; false: the worker was before it.
	my $stopped = sub {
		my ($sql) = @_;

		$writer->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('share_take') . ')');
		$s->value("SET skipidx.fault = 'share_take:wait:4'; SET max_parallel_workers = 0; SET enable_bitmapscan = off");
		$s->value("SELECT v <\@> 'up'::tsquery FROM few WHERE v \@\@ '!nosuch' ORDER BY v <\@> 'up'::tsquery LIMIT 500");
		$s->value('RESET max_parallel_workers');
		$s->start($sql);
		waiting(2) or die 'leader and worker do not come to wait';
		$worker = $writer->value("SELECT pid FROM pg_stat_activity WHERE leader_pid = $leader AND pid <> $leader");
		kill 'STOP', $worker;
		$writer->value('SELECT pg_advisory_unlock_all()');
		for (1 .. 2000)
		{
			return 1 if $writer->value("SELECT count(*) FROM pg_stat_activity WHERE pid = $leader AND wait_event = 'ParallelFinish'") == 1;
			if (defined $s->ready || $writer->value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $leader AND NOT granted") == 1)
			{
				kill 'CONT', $worker;
				$s->finish;
				return 0;
			}
			sleep 0.01;
		}
		kill 'CONT', $worker;
		die 'the leader does not come to wait';
	};

	$s->value("$mode{together}; SET max_parallel_workers_per_gather = 1");
	$s->value("LOAD 'skipidx'; SET max_parallel_workers = 0");
	my $want = $s->value($best);

	for my $case ([ $best, 'SELECT 1', undef ], [ "$explain $best", 'SELECT 1', undef ], [ $best, "SELECT pg_cancel_backend($leader)", qr/57014/ ],
		[ $best, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE leader_pid = $leader AND pid <> $leader", qr/57P01|terminating/ ])
	{
		my ($sql, $do, $error) = @$case;
		my $tries = 0;

		$tries++ while $tries < 60 && !$stopped->($sql);
		note "tries: $tries";
		cmp_ok($tries, '<', 60, "the leader waits: $do") or next;
		ok(!defined $s->ready, 'and has no row before the worker goes on');
		$writer->value($do);
		kill 'CONT', $worker;
		my $got = $s->finish;
		if (defined $error) { like($got, $error, "it ends: $do"); }
		elsif ($sql eq $best) { is($got, $want, 'and has the rows of all'); }
		else
		{
			my %kind = kinds_of($m->nodes_in($got));

			is_deeply([ map { $_->{'Actual Rows'} } @{ $kind{rank}{Workers} } ], [0], 'the worker gives none');
		}
	}
	$s->value("RESET ALL; $mode{together}; SET max_parallel_workers_per_gather = 1");
	is($s->value($best), $want, 'and then all rows again');
}
$s->value("$mode{together}; SET parallel_leader_participation = off");
for my $what ('error', 'cancel')
{
	for my $sql ($sum, "SELECT count(*) FROM docs WHERE v \@\@ 'half & !tenth'", "SELECT id FROM docs WHERE v \@\@ 'half | rare' ORDER BY v <\@> 'half | rare'::tsquery LIMIT 10",
		"SELECT d FROM docs WHERE v \@\@ 'half' ORDER BY d")
	{
		$s->value('SET enable_bitmapscan = ' . ($sql =~ /half & / ? 'on' : 'off') . '; SET enable_sort = ' . ($sql =~ /BY d/ ? 'off' : 'on'));
		like($s->raw("SET skipidx.fault = 'share_take:$what:2'; $sql;"), $what eq 'error' ? qr/XX000: .*share_take/ : qr/57014/, "$what: $sql");
		$s->value("SET skipidx.fault = ''");
	}
}
$s->value('SET enable_bitmapscan = off; RESET enable_sort');
is($s->value($sum), $known, 'and then all rows again');
$s->value('RESET ALL');

# ---- SERIALIZABLE, a cancel, a standby ----

$s->value('BEGIN ISOLATION LEVEL SERIALIZABLE');
both('SERIALIZABLE', "SELECT count(*), sum(id) FROM docs WHERE v \@\@ 'half & rare'");
$s->value('COMMIT');
$s->value($mode{together});
$s->value('BEGIN; SET LOCAL statement_timeout = 5');
like($s->raw("SELECT sum(id) FROM docs a WHERE v \@\@ 'wall' AND pg_sleep(0.0001) IS NOT NULL;"), qr/57014/, 'a cancel');
$s->value('ROLLBACK; BEGIN; SET LOCAL enable_sort = off; SET LOCAL statement_timeout = 5');
like($s->raw("SELECT d FROM docs a WHERE v \@\@ 'wall' AND pg_sleep(0.0001) IS NOT NULL ORDER BY d;"), qr/57014/, 'a cancel, in an order');
$s->value('ROLLBACK');
differ('after a cancel', 40);

my $there = $m->standby("hot_standby_feedback = on\nmax_standby_streaming_delay = -1");
$s->value("SELECT add(900001, 2000)");
$m->caught_up;
differ('standby', 10, on => $there);
cmp_ok($together{$_}, '>', $tries{$_} / 8, "$_: $together{$_} of $tries{$_} by several processes") for sort keys %tries;
done_testing();
