# Work of ranked queries, bounded from both sides: what cannot be among the
# first rows is not read, and how many rows are wanted is known where LIMIT
# tells it.
#
# Holds: plan 7; topk 2, 3, 4, 5, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant { ROWS => 200000, AGAIN => 8 };

my $node = skx_node('rank_bounds', conf => "maintenance_work_mem = 256MB\n"
	  . "wal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 128MB");
my $s = skx_session($node, 'postgres');

# half, third, tenth: in these shares of the documents, once, at random.  One
# document in a thousand has all three up to 40 times, and tenth after half
# after third; rare is in 20.  Lengths are 10 to 110.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE forms AS SELECT form, ('f' || form || ':' || string_agg(p::text, ','))::tsvector AS filling
	FROM generate_series(0, 63) form, generate_series(200, 209 + 100 * form / 64) p GROUP BY form;
CREATE TABLE tops AS SELECT top,
	('half:' || string_agg((5 * p)::text, ',') || ' third:' || string_agg((5 * p - 1)::text, ',')
		|| ' tenth:' || string_agg((5 * p + 1)::text, ','))::tsvector AS words
	FROM generate_series(0, 15) top, generate_series(1, 10 + 2 * top) p GROUP BY top;
INSERT INTO docs SELECT i, filling || CASE WHEN hashint4(i + 3) % 1000 = 7 THEN words ELSE concat_ws(' ',
	CASE WHEN hashint4(i) & 1 = 0 THEN 'half:1' END,
	CASE WHEN hashint4(i + 5000000) % 3 = 0 THEN 'third:30' END,
	CASE WHEN hashint4(i + 9000000) % 10 = 0 THEN 'tenth:60' END,
	CASE WHEN i % 10000 = 777 THEN 'rare:90' END)::tsvector END
	FROM generate_series(1, 200000) i JOIN forms ON form = hashint4(i + 7777777) & 63
	JOIN tops ON top = hashint4(i + 8888888) & 15 ORDER BY i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', proximity = 0);
ANALYZE docs;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SQL

my @counters = qw(nodes node_pages subblocks windows_filled positions candidates);

sub counters
{
	my %at;

	@at{@counters} = split /\|/,
	  $s->value('SELECT ' . join(', ', @counters) . ' FROM skipidx_work()');
	return \%at;
}

# Work of a statement that gives one value; blocks: sub-blocks it decoded.
sub work
{
	my ($what, $sql) = @_;
	my $before = counters();
	my $n = $s->value($sql);
	my $after = counters();
	my %spent = map { $_ => $after->{$_} - $before->{$_} } @counters;

	$spent{blocks} = $spent{subblocks} + $spent{windows_filled};
	note "$what: $n, " . join ', ', map { "$_ $spent{$_}" } @counters;
	return ($n, \%spent);
}

sub select_of
{
	my ($query, $limit, $rank) = @_;

	$rank //= $query;
	return 'SELECT count(*) FROM (SELECT v <@> ' . "'$rank'::tsquery FROM docs"
	  . ($query eq '' ? '' : " WHERE v @@ '$query'")
	  . " ORDER BY v <@> '$rank'::tsquery" . ($limit ? " LIMIT $limit" : '') . ') x';
}

sub top { my ($query, $limit, $rank) = @_; return work("$query by " . ($rank // 'itself') . ', ' . ($limit || 'all'), select_of(@_)); }

sub between
{
	my ($what, $n, $low, $high) = @_;

	ok($n >= $low && $n <= $high, "$what: $n in " . int($low) . '..' . int($high));
	return;
}

# ---- how much of the lists ----

# What a list has, by the documents that have the word.
my %df = map { $_ => $s->value("SELECT count(*) FROM docs WHERE v @@ '$_'") } qw(half third tenth rare);
my $windows = ROWS / 4096 + 1;

note join ', ', map { "$_ $df{$_}" } sort keys %df;
cmp_ok($df{half}, '>', 0.48 * ROWS, 'half');

sub lists { my $n = 0; $n += $df{$_} / 128 for @_; return $n; }

# query; sub-blocks of the lists at least and at most, as a share, for 10 rows
# and for all of them.  These are searched for several times, each time more of
# them, at most AGAIN times as often as once.
for my $case (
	[ 'half', 0.002, 0.15, 0.99, 1.0 ],
	[ 'half | third', 0.002, 0.25, 0.99, 1.0 ],
	[ 'half | third | tenth', 0.002, 0.25, 0.99, 1.0 ],
	[ 'half & third', 0.002, 0.25, 0.99, 1.0 ],
	[ 'half & third & tenth', 0.002, 0.25, 0.3, 1.0 ],
	[ 'half | rare', 0.0001, 0.1, 0.99, 1.0 ],
	[ 'rare & half', 0.0001, 0.1, 0.0001, 0.1 ],
	[ 'third <-> half', 0.002, 0.4, 0.3, 1.2 ],
	[ 'half & !third', 0.002, 0.35, 0.99, 2.0 ])
{
	my ($query, $low, $high, $low_all, $high_all) = @$case;
	my @words = $query =~ /(?<![!\w])(\w+)/g;
	my $lists = lists(@words);
	my ($n, $ten) = top($query, 10);
	my ($m, $all) = top($query, 0);

	is($n, $m < 10 ? $m : 10, "$query: rows");
	between("$query: sub-blocks of $lists for 10", $ten->{blocks}, $lists * $low, $lists * $high);
	between("$query: sub-blocks for all", $all->{blocks}, $lists * $low_all, AGAIN * ($lists * $high_all + @words * $windows));
	cmp_ok(2 * $ten->{blocks}, '<', $all->{blocks}, "$query: LIMIT saves work") if $query !~ /rare &/;
}

# A phrase reads positions of few of its documents for 10 rows.
my (undef, $phrase) = top('third <-> half', 10);
my (undef, $phrases) = top('third <-> half', 0);

cmp_ok(2 * $phrase->{positions}, '<', $phrases->{positions}, 'phrase: positions of candidates only');
cmp_ok($phrase->{positions}, '>', 0, 'phrase: but of these');

# Ranked by words that the filter does not have.
my ($n, $other) = top('half', 10, 'tenth | rare');
is($n, 10, 'filtered by another query');
cmp_ok($other->{blocks}, '<', lists(qw(half tenth rare)) + 2 * $windows, 'filtered by another query: nothing twice');
($n, $other) = top('', 10, 'tenth | half');
is($n, 10, 'no filter');
between('no filter', $other->{blocks}, 2, 0.35 * lists(qw(tenth half)));

# With proximity, positions are read of few.
$s->value('ALTER INDEX docs_v SET (proximity = 0.1)');
my (undef, $near) = top('third & half', 10);
my (undef, $nears) = top('third & half', 0);

between('proximity: positions', $near->{positions}, 1, $nears->{positions} / 2);
between('proximity: sub-blocks', $near->{blocks}, 2, 0.5 * lists(qw(third half)));
$s->value('ALTER INDEX docs_v SET (proximity = 0)');

# One search is enough where what the dictionary knows of the best rows is true,
# and it is no search of its own.
sub told
{
	my %told = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) " . select_of(@_)) =~ /(Passes|Candidates): (\d+)\n/g;

	return @told{qw(Passes Candidates)};
}

for my $or ('half', 'half | third', 'half | third | tenth', 'half | rare', 'rare')
{
	for my $limit (1, 10, 20)
	{
		is((told($or, $limit))[0], 1, "$or, $limit rows: one search");
	}
}

# A filter that far fewer match than have its rarest plain word is gone through
# itself: not the word's list, of which every other document is in.
my (undef, $few) = top('half & (rare | nosuch)', 10);

cmp_ok($few->{blocks}, '<', lists('half') / 10, 'filter with few matches: the word is only looked up');

# What the k-th best posting of a word gives is known for k of 10, 100, 1000, and
# of a short list for each k.  Beside a word that no document has, it is what the
# k-th row has: more takes a second search, less more candidates than rows.  Rows
# of the same score are such, too.
for my $case (
	[ 'half | nosuch', 1, 10 ],
	[ 'half | nosuch', 10, 20 ],
	[ 'half | nosuch', 11, 120 ],
	[ 'half | nosuch', 20, 120 ],
	[ 'half | nosuch', 100, 300 ],
	[ 'half | nosuch', 101, 300 ],
	[ 'half | nosuch', 200, 600 ],
	[ 'half | nosuch', 1000, 1200 ],
	[ 'half', 10, 20 ],
	[ 'half', 100, 300 ],
	[ 'rare', 10, 15 ],
	[ 'half | rare', 10, 15 ],
	[ 'half | rare', 20, 22 ],
	[ 'rare | nosuch', 1, 5 ],
	[ 'rare | nosuch', 10, 15 ])
{
	my ($query, $limit, $most) = @$case;
	my ($passes, $candidates) = told($query, $limit);

	is($passes, 1, "$query, $limit rows: no threshold above them");
	between("$query, $limit rows: candidates", $candidates, $limit, $most);
}

# Nothing is known of postings of which not all count the same, nor of rows after
# those that were handed out: here 960 more than 60.
is((told('', 10, 'half:A | nosuch'))[0], 1, 'labels: no threshold');
$s->value('ALTER INDEX docs_v SET (weights = \'{0.5, 1, 1, 1}\')');
is((told('half | nosuch', 10))[0], 1, 'weights of labels: no threshold');
$s->value('ALTER INDEX docs_v RESET (weights)');
$s->value("BEGIN; DELETE FROM docs WHERE id IN (SELECT id FROM docs WHERE v @@ 'half' ORDER BY v <@> 'half' LIMIT 5)");
is((told('half | nosuch', 60))[0], 2, 'no threshold for the next rows');
$s->value('ROLLBACK');

# A second sort key wants all rows of the last distance: where more of them have
# it, the next search is for 16 times as many, not for as many again.
$s->value("CREATE TABLE ties AS SELECT i AS id, 'same:1'::tsvector AS v FROM generate_series(1, 150) i; CREATE INDEX ties_v ON ties USING skipidx (v)");
my ($searches) = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM ties ORDER BY v <\@> 'same', id LIMIT 10") =~ /Passes: (\d+)/;

is($searches, 2, 'ties: the second search is for all of them');
is($s->value("SELECT string_agg(id::text, ' ') FROM (SELECT id FROM ties ORDER BY v <\@> 'same', id DESC LIMIT 3) x"), '150 149 148', 'ties: rows');
$s->value('DROP TABLE ties');

# Rows of two segments with one sum, more than are wanted: those with the lower
# TIDs are in the smaller segment, which comes last.
$s->value(<<'SQL');
CREATE TABLE ties (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX ties_v ON ties USING skipidx (v);
INSERT INTO ties SELECT i, 'same:1' FROM generate_series(1, 40) i;
SELECT skipidx_flush('ties_v') IS NULL;
INSERT INTO ties SELECT i, 'same:1' FROM generate_series(41, 140) i;
SELECT skipidx_flush('ties_v') IS NULL;
SQL
for my $limit (20, 36, 50, 139)
{
	is($s->value("SELECT string_agg(id::text, ' ') FROM (SELECT id FROM ties WHERE v @@ 'same' ORDER BY v <\@> 'same' LIMIT $limit) x"),
		join(' ', 1 .. $limit), "ties of two segments: the first $limit rows");
}
$s->value('DROP TABLE ties');

# ---- many words, some of them rare ----

# Beside a word in half of the documents, twelve in 40 each, and eight in a
# fiftieth: no document of a rare word is worth a window of its own, for which the
# bounds of 21 lists would be asked.
$s->value(<<'SQL');
CREATE TABLE mixed (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO mixed SELECT i, (CASE WHEN hashint4(i) & 1 = 0 THEN 'dense:1 ' ELSE '' END || 'mid' || hashint4(i + 1000000) % 50 || ':2 mid'
	|| hashint4(i + 2000000) % 50 || ':3,4' || CASE WHEN i % 210 = 5 THEN ' rare' || i / 210 % 12 || ':7' ELSE '' END)::tsvector
	FROM generate_series(1, 100000) i;
CREATE INDEX mixed_v ON mixed USING skipidx (v) WITH (proximity = 0);
ANALYZE mixed;
SQL
my $mixed = join ' | ', 'dense', (map { "mid$_" } 1 .. 8), (map { "rare$_" } 0 .. 11);
my $mixed_from = "FROM mixed WHERE v @@ '$mixed' ORDER BY v <\@> '$mixed'";
my ($opened) = $s->value("EXPLAIN (ANALYZE, FORMAT JSON) SELECT id $mixed_from LIMIT 10") =~ /"Windows": (\d+)/;

between('many words: windows', $opened, 1, 4 * (100000 / 4096 + 1));

# The rows, where hits are all that match, where they are not, and where more
# are wanted than there are.
for my $case ([ $mixed, 10 ], [ $mixed, 1000 ], [ 'rare1 | rare2 | rare3', 100 ], [ 'rare1 | rare2 | rare3', 10 ], [ 'rare1 | rare2', 1000 ],
	[ 'mid1 | mid2 | mid3', 2000 ], [ 'mid1 | mid2 | rare0', 300 ])
{
	my ($words, $limit) = @$case;
	my $rows = "SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, v <\@> '$words' AS d FROM mixed WHERE v @@ '$words' ORDER BY v <\@> '$words'";
	my $by_index = $s->value("$rows LIMIT $limit) x");
	my $by_sort = $s->value("SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off; $rows, ctid LIMIT $limit) x");

	$s->value('SET enable_seqscan = off; SET enable_sort = off; SET enable_indexscan = on');
	is($by_index, $by_sort, "$words, $limit rows: those of a sort");
}

# ---- LIMIT reaches the scan ----

my $query = 'half | third';
my $from = "FROM docs WHERE v @@ '$query' ORDER BY v <@> '$query'";
my (undef, $ten) = top($query, 10);
my (undef, $thousand) = top($query, 3000);
my (undef, $all) = top($query, 0);

cmp_ok($ten->{blocks}, '<', $thousand->{blocks}, '10 rows cost less than 3000');
cmp_ok($thousand->{blocks}, '<', $all->{blocks}, '3000 rows cost less than all');

# As this many rows in one search, not in several that grow.
sub as_good
{
	my ($what, $sql, $wanted) = @_;
	my (undef, $spent) = work($what, $sql);

	between("$what: as with the number", $spent->{blocks}, 0.9 * $wanted->{blocks}, 1.1 * $wanted->{blocks} + 2);
	return;
}

$s->value('SET plan_cache_mode = force_generic_plan');
$s->value("PREPARE p (int8) AS SELECT count(*) FROM (SELECT $from LIMIT \$1) x");
$s->value("PREPARE o (int8, int8) AS SELECT count(*) FROM (SELECT $from LIMIT \$1 OFFSET \$2) x");
$s->value("PREPARE q (tsquery, int8) AS SELECT count(*) FROM (SELECT FROM docs WHERE v @@ \$1 ORDER BY v <@> \$1 LIMIT \$2) x");
as_good('generic, 10', 'EXECUTE p(10)', $ten);
as_good('generic, 3000', 'EXECUTE p(3000)', $thousand);
as_good('generic, 10 again', 'EXECUTE p(10)', $ten);
as_good('generic, all', 'EXECUTE p(NULL)', $all);
as_good('generic, offset', 'EXECUTE o(10, 2990)', $thousand);
as_good('generic, query and limit', "EXECUTE q('$query', 10)", $ten);
as_good('generic, query and larger limit', "EXECUTE q('$query', 3000)", $thousand);
$s->value('RESET plan_cache_mode');

as_good('subquery', "SELECT count(*) FROM (SELECT * FROM (SELECT id, v <@> '$query' AS d $from LIMIT 10) y OFFSET 0) x", $ten);
as_good('in a function', "DO \$\$ DECLARE k int := 10; n int; BEGIN SELECT count(*) INTO n FROM (SELECT id $from LIMIT k) x; END \$\$", $ten);

# Only a hint: rows that are thrown away above the scan do not count.
my ($found, $filtered) = work('filter above',
	"SELECT count(*) FROM (SELECT id FROM docs WHERE v @@ '$query' AND id % 50 = 1 ORDER BY v <@> '$query' LIMIT 200) x");
is($found, 200, 'a filter above the scan has its rows');
cmp_ok($filtered->{blocks}, '>', $ten->{blocks}, 'which take more work');

# A cursor gets as many as are fetched.
$s->value("BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT id $from");
my (undef, $fetched) = work('cursor', 'FETCH 1 FROM c');
cmp_ok($fetched->{blocks}, '<', $all->{blocks} / 2, 'cursor: the first row without all of the work');
$s->value('COMMIT');

# ---- a prefix beside rare words ----

# Of its 64 lexemes, which are in all documents, those documents are looked at
# that have the words: in each list no more sub-blocks than these.
for my $rare ('rare & half & third', 'rare & third & tenth')
{
	my $ids = $s->value("SET enable_seqscan = on; SELECT count(*) FROM docs WHERE v @@ '$rare'; SET enable_seqscan = off");

	for my $rank ("$rare & f:*", 'f:* | half', 'half & f:*')
	{
		my ($n, $spent) = top("$rare & f:*", 10, $rank);

		is($n, $ids < 10 ? $ids : 10, "$rare & f:* by $rank: all rows");
		cmp_ok($spent->{blocks}, '<', 64 * ($ids + 1) + 300, "$rare & f:* by $rank: sub-blocks where the words are");
	}
}

# ---- a budget of time ----

# What comes is right and in order; the rest is told of.
$s->value('SET client_min_messages = notice; SET skipidx.search_budget = 1');
my $told = $s->raw("SELECT count(*), count(*) FILTER (WHERE d <> again), count(*) FILTER (WHERE d < before) FROM"
	  . " (SELECT d, again, lag(d) OVER () AS before FROM (SELECT v <\@> '$query' AS d, -(skipidx_bm25('docs_v', v, '$query')) AS again $from LIMIT 100000) x) y");

like($told, qr/NOTICE.*ended after 1 ms.*DETAIL: .*\b[1-9][0-9.]* % of the documents were not looked at/s, 'budget: what was not looked at is told');
my ($most, $other_value, $disorder) = $told =~ /^(\d+)\|(\d+)\|(\d+)$/m;

cmp_ok($most, '<', 100000, 'budget: not all rows');
is("$other_value $disorder", '0 0', 'budget: their distances, in order');

# Rows of a search that came to its end are the best, whatever comes after it.
# The first has a few milliseconds' work, which may take a busy machine longer.
for my $ms (500, 10_000)
{
	$s->raw("SET skipidx.search_budget = $ms; BEGIN; DECLARE late NO SCROLL CURSOR FOR SELECT id $from; FETCH 1 FROM late");
	$s->raw("SELECT pg_sleep(($ms + 200) / 1000.0)");
	$told = $s->raw('FETCH 1000 FROM late');
	$s->value('COMMIT');
	last if $told =~ /DETAIL: +The first/;
}
like($told, qr/DETAIL: +The first \d+ rows of the index are final; for those after them, 100\.0 %/,
	'budget: what was looked at before is told');
$s->value('RESET skipidx.search_budget; SET client_min_messages = warning');
is($s->value("SELECT count(*) FROM (SELECT id $from LIMIT 100000) x"), 100000, 'no budget: all rows');

# ---- norms of a cold conjunction ----

# Two words in 200 documents each, of which they share three, all of them spread
# over the index: of the pages of norms, of which there is one for every 8,000
# documents, those of the shared ones are read, and not those of all, though
# from the first hit on there is something to reach.  A filter that is not
# ranked reads the same but for norms.  p and q are in a third of the documents
# at least, and together in one of 96.
{
	$s->value(<<'SQL');
CREATE TABLE spread (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO spread SELECT i, array_to_tsvector(ARRAY['x', 'l' || abs(hashint4(i) % 36)]
	|| CASE WHEN i % 3 > 0 THEN '{p}'::text[] ELSE '{}' END || CASE WHEN i % 3 = 0 OR i % 64 = 1 THEN '{q}'::text[] ELSE '{}' END
	|| CASE WHEN i % 2500 = 7 THEN '{ra}'::text[] ELSE '{}' END
	|| CASE WHEN i % 2500 = (CASE WHEN i / 2500 % 80 = 3 THEN 7 ELSE 9 END) THEN '{rb}'::text[] ELSE '{}' END)
	FROM generate_series(1, 500000) i;
CREATE INDEX spread_v ON spread USING skipidx (v) WITH (block_size = '8kB', proximity = 0);
ANALYZE spread;
SQL
	my ($plane, $tids) = split / /, $s->value("SELECT norm_pages || ' ' || tid_pages FROM skipidx_segments('spread_v') WHERE kind = 'segment'");

	# A cache that the plane takes much of: else it is brought.
	my $size = $s->value('SHOW skipidx.cache_size');
	$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '8MB');
	my $read = sub {
		my ($sql) = @_;
		my $pages = "SELECT pages_read FROM skipidx_io_totals() WHERE scope = 'session'";

		$s->close;
		$node->restart;
		$s = skx_session($node, 'postgres');
		$s->value("SET enable_seqscan = off; SET enable_indexscan = off; SELECT count(*) FROM spread WHERE v @@ 'nosuch'");
		my $before = $s->value($pages);
		my $rows = $s->value($sql);

		return ($rows, $s->value($pages) - $before);
	};
	my ($matches, $filter) = $read->("SELECT count(*) FROM spread WHERE v @@ 'ra & rb'");
	my ($hits, $ranked) = $read->("SELECT count(*) FROM skipidx_search('spread_v', 'ra & rb', 1)");

	is("$matches $hits", '3 1', 'cold conjunction: rows');
	cmp_ok($plane, '>', 40, 'cold conjunction: many pages of norms');
	between("cold conjunction: pages past the filter's, of $plane of norms", $ranked - $filter, 0, $matches + 3);

	# Of twelve words in a 36th each hardly one is dispensable: their lists are
	# gone through once, and not once for each other one that leads.
	my $low = join ' | ', map { "l$_" } 1 .. 12;

	$read->("SELECT count(*) FROM skipidx_search('spread_v', '$low', 10)");
	between('cold, many words: sub-blocks', $s->value('SELECT subblocks FROM skipidx_work()'), 12 * 500000 / 36 / 128 / 8, 2 * 12 * 500000 / 36 / 128);

	# Of common words that are seldom together, a few norms of each page are
	# wanted, one page after the other: these come several at a time.
	my $requests = sub {
		$read->($_[0]);
		return split / /, $s->value("SELECT requests || ' ' || ahead FROM skipidx_io_totals() WHERE scope = 'session'");
	};
	my ($unranked) = $requests->("SELECT count(*) FROM spread WHERE v @@ 'p & q'");
	my ($asked, $ahead) = $requests->("SELECT count(*) FROM skipidx_search('spread_v', 'p & q', 100)");

  SKIP:
	{
		skip 'no io_uring here', 1 if $ahead == 0;
		between('cold conjunction of common words: requests past the filter\'s', $asked - $unranked, -20, 20);
	}

	my ($plan) = $read->("SET enable_indexscan = on; SET enable_bitmapscan = off; SET enable_sort = off; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)"
		  . " SELECT id FROM spread WHERE v @@ 'ra & rb' ORDER BY v <\@> 'ra & rb' LIMIT 1");

	like($plan, qr/Scored Postings: [1-3]$/m, 'cold conjunction: postings scored');

	# In a large one it comes whole, and that of TIDs, of which the filter reads
	# the directory and a page a row, in few reads.
	$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', $size);
	($hits, $ranked) = $read->("SELECT count(*) FROM skipidx_search('spread_v', 'ra & rb', 1)");
	between("cold conjunction, small planes: pages past the filter's", $ranked - $filter, $plane + $tids - 8, $plane + $tids + 3);
	($asked) = $requests->("SELECT count(*) FROM skipidx_search('spread_v', 'ra & rb', 1)");
	($unranked) = $requests->("SELECT count(*) FROM spread WHERE v @@ 'ra & rb'");
	between("cold conjunction, small planes: requests past the filter's", $asked - $unranked, 1, 10) if $ahead > 0;
}

$s->close;
$node->stop;
done_testing();
