# How many rows are expected where ANALYZE does not know a word, and what comes
# of it; and that rows of the same distance come in one order in every plan, so
# that pages of a result have each row once.
#
# Holds: cost 2; plan 12, 13, 29

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use JSON::PP;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('plan_estimates', conf => "max_parallel_workers_per_gather = 0\njit = off");
my $s = skx_session($node, 'postgres');

# df1 is in 1 row, df10 in 10, and so on; left and right in a tenth each, and next
# to each other in 2; world war ii in a fifth.  Many other words push the rarer ones out of what ANALYZE
# keeps.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION words(i int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT concat_ws(' ', 'every:1', CASE WHEN i % 2 = 0 THEN 'half:20' END, CASE WHEN i % 10 = 0 THEN 'left:2' END, CASE WHEN i / 10 % 10 = 0 THEN CASE WHEN i % 8000 = 0 THEN 'right:3' ELSE 'right:9' END END,
		CASE WHEN i % 5 = 0 THEN 'world:4 war:5 ii:6' END, CASE WHEN i = 777 THEN 'df1' END, CASE WHEN i % 2000 = 7 THEN 'df10' END, CASE WHEN i % 200 = 11 THEN 'df100' END,
		'many' || i / 20, 'more' || i / 30, 'most' || i / 40)::tsvector
$$;
CREATE TABLE docs (id int, day int, v tsvector, filler text) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, hashint4(i) & 16777215, words(i), repeat('x', 100) FROM generate_series(1, 20000) i;
CREATE TABLE parts (LIKE docs) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (5000) TO (90000);
INSERT INTO parts SELECT * FROM docs;
CREATE TABLE side AS SELECT i AS id FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
CREATE INDEX parts_v ON parts USING skipidx (v);
CREATE INDEX docs_day ON docs (day);
CREATE UNIQUE INDEX docs_id ON docs (id);
CREATE INDEX side_id ON side (id);
CREATE ROLE joe;
GRANT SELECT ON docs TO joe;
SQL
$s->value('VACUUM ANALYZE');

sub plan_of
{
	my ($query, $options) = @_;

	$options //= '';
	return decode_json($s->value("EXPLAIN ($options FORMAT JSON) $query"))->[0]->{Plan};
}

sub nodes
{
	my ($plan) = @_;

	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

sub expected { return plan_of("SELECT FROM $_[0]")->{'Plan Rows'}; }

# ---- how many rows ----

for my $table (qw(docs parts))
{
	for my $query ('df1', 'df10', 'df100', 'df1 | df10', 'df10 & every', 'df1 & !every', 'nowhere', 'left <-> right', '!df10')
	{
		my $rows = $s->value("SELECT count(*) FROM $table WHERE v \@\@ '$query'");
		my $expected = expected("$table WHERE v \@\@ '$query'");

		# What is met by few is expected to be few, an order of magnitude more for
		# what depends on how words come together.
		my $times = $query =~ /<->/ ? 100 : 2;

		cmp_ok($expected, '<=', ($rows + 1) * $times, "$table, $query: not too many rows");
		cmp_ok($expected * 2, '>=', $rows, "$table, $query: nor too few");
	}
}
# Three words that follow each other do so more often than by chance.
for my $query ('world <-> war <-> ii', 'world <-> (war <-> ii)', 'world <2> ii')
{
	my $expected = expected("docs WHERE v \@\@ '$query'");

	cmp_ok($expected, '<=', 4000, "$query: not too many rows");
	cmp_ok($expected * 100, '>=', 4000, "$query: nor too few");
}

# What nothing meets: no date is a moment other than midnight, and no text of
# that length is in an index.  ANALYZE takes each for as frequent as other values.
$s->value(<<'SQL');
CREATE TABLE days AS SELECT i AS id, date '2024-01-01' + i % 150 AS day, 'k' || i % 150 AS kind, words(i) AS v FROM generate_series(1, 20000) i;
CREATE INDEX days_v ON days USING skipidx (v, day, kind);
VACUUM ANALYZE days;
SQL
my $noon = "day = timestamptz '2024-01-05 12:00'";

for my $met ("day = timestamptz '2024-01-05 00:00'", q{kind = 'k7'})
{
	cmp_ok(expected("days WHERE $met"), '>', 100, "$met: some rows");
}
for my $never ($noon, q{kind = repeat('x', 5000)}, q{kind = ANY (ARRAY[repeat('x', 5000), repeat('y', 5000)])})
{
	is(expected("days WHERE $never"), 1, "$never: no row");
	cmp_ok(plan_of("SELECT id FROM days WHERE $never")->{'Total Cost'}, '<', 20, 'nor the cost of any');
}
cmp_ok(expected("days WHERE $noon OR v @@ 'df100'"), '<=', 110, 'nor beside an arm that some meet');

# A disjunction of many conjunctions, of which not all words are looked up: with
# words that all rows have, and without; those of a row are chosen independently
# of each other.
$s->value(<<'SQL');
CREATE FUNCTION digit(i int, seed int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(i, seed) & 31)::text $$;
CREATE TABLE arms AS SELECT i AS id, hashint4(i) & 16777215 AS day, concat_ws(' ', 'every:1', 'all:2', 'a' || digit(i, 1), 'b' || digit(i, 2), 'c' || digit(i, 3))::tsvector AS v
	FROM generate_series(1, 20000) i;
CREATE INDEX arms_v ON arms USING skipidx (v);
CREATE INDEX arms_day ON arms (day);
VACUUM ANALYZE arms;
SQL
my $frequent_arms = "'every & all & a' || digit(i, 4) || ' & b' || digit(i, 5)";
my $rare_arms = "'a' || digit(i, 4) || ' & b' || digit(i, 5) || ' & c' || digit(i, 6)";

for my $shape ([ 100, $frequent_arms ], [ 300, $rare_arms ])
{
	my ($n, $arm) = @$shape;
	my $query = $s->value("SELECT string_agg('(' || $arm || ')', ' | ') FROM generate_series(1, $n) i");
	my $rows = $s->value("SELECT count(*) FROM arms WHERE v \@\@ '$query'");
	my $expected = expected("arms WHERE v \@\@ '$query'");

	cmp_ok($expected, '<=', $rows * 8, "$n conjunctions, one of which $rows rows meet: not too many rows");
	cmp_ok($expected * 2, '>=', $rows, 'nor too few');
}

# Its rows are known well enough, and what it takes to test one, not to go along
# the order of another column and test every row that comes; as an array, too.
for my $shape ([ 100, "'%s'", ' | ' ], [ 30, "ANY ('{%s}'::tsquery[])", ',' ])
{
	my ($n, $form, $between) = @$shape;
	my $queries = $s->value("SELECT string_agg('(' || $rare_arms || ')', '$between') FROM generate_series(1, $n) i");
	my $where = 'v @@ ' . sprintf($form, $queries);
	my $rows = $s->value("SELECT count(*) FROM arms WHERE $where");
	my $tested = 0;

	$tested += $_->{'Rows Removed by Filter'} // 0 for nodes(plan_of("SELECT id FROM arms WHERE $where ORDER BY day LIMIT 20", 'ANALYZE, TIMING OFF,'));
	cmp_ok($tested, '<=', $rows, "$n conjunctions in $form: few rows are tested that do not meet one of them, as $rows do");
}
is(expected("docs WHERE 'df10' \@\@ v"), expected("docs WHERE v \@\@ 'df10'"), 'the other way round');
cmp_ok(expected("docs WHERE v \@\@ 'df10' AND id % 2 = 0"), '<=', 2, 'with another condition');
cmp_ok(expected("docs WHERE v \@\@ 'df10' AND v \@\@ 'left'"), '<=', 10, 'two conditions');
cmp_ok(expected("docs JOIN side USING (id) WHERE v \@\@ 'df10'"), '<=', 20, 'a join');
cmp_ok(expected("(SELECT id FROM docs WHERE v \@\@ 'df10' UNION ALL SELECT id FROM docs WHERE v \@\@ 'df1') x"), '<=', 22, 'two tables');
cmp_ok(expected("docs WHERE v \@\@ to_tsquery('simple', 'df10')"), '<=', 20, 'a query by a function');

# A parameter is known in a plan of its own, and not in one for any.
$s->value("PREPARE p (tsquery) AS SELECT FROM docs WHERE v \@\@ \$1");
$s->value('SET plan_cache_mode = force_custom_plan');
cmp_ok(plan_of("EXECUTE p ('df10')")->{'Plan Rows'}, '<=', 20, 'custom plan');
$s->value('SET plan_cache_mode = force_generic_plan');
cmp_ok(plan_of("EXECUTE p ('df10')")->{'Plan Rows'}, '>', 20, 'generic plan');
$s->value('RESET plan_cache_mode');

# Words that came after the largest segment was made: of what is elsewhere it
# says nothing, so some are expected there.
$s->value("INSERT INTO docs SELECT i, i, 'new' FROM generate_series(20001, 26000) i; ANALYZE docs (id)");
cmp_ok(expected("docs WHERE v \@\@ 'nowhere'"), '>=', 10, 'a word that may be pending');
$s->value("DELETE FROM docs WHERE id > 20000");
$s->value('VACUUM docs');
$s->value('SELECT skipidx_merge($$docs_v$$)');

# Nothing is told about rows that a policy hides.
$s->value("ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON docs USING (id % 2 = 0); SET ROLE joe");
is(expected("docs WHERE v \@\@ 'df1'"), expected("docs WHERE v \@\@ 'df10'"), 'not under a policy');
$s->value('RESET ROLE; ALTER TABLE docs DISABLE ROW LEVEL SECURITY');

# ---- what comes of it ----

# Few match: they are found and sorted; many match: the other order finds some
# soon.
sub first_index { return (grep { $_->{'Index Name'} } nodes(plan_of($_[0])))[0]->{'Index Name'}; }

is(first_index("SELECT id FROM docs WHERE v \@\@ '$_' ORDER BY day DESC LIMIT 20"), 'docs_v', "$_: match first")
  for 'df1', 'df10', 'df100', 'nowhere', 'left <-> right', 'df10 & every';
is(first_index("SELECT id FROM docs WHERE v \@\@ '$_' ORDER BY day DESC LIMIT 20"), 'docs_day', "$_: in the other order")
  for 'every', 'half';

# A bitmap of two conditions where one of them finds much more than it saves:
# the rows of the other are fetched and tested; not where it saves more, nor where
# the table is larger than what is in memory.
sub entered
{
	my $rows = 0;

	$rows += $_->{'Node Type'} eq 'Bitmap Index Scan' ? $_->{'Actual Rows'} : 0 for nodes(plan_of($_[0], 'ANALYZE, TIMING OFF,'));
	return $rows;
}
my $both = "SELECT id FROM wide WHERE v \@\@ 'df100' AND day < 2000000";
my $frequent = "SELECT id FROM wide WHERE v \@\@ 'half' AND day < 20000";

$s->value(<<'SQL');
CREATE TABLE wide AS SELECT id, day, day AS amount, v, 'kind' || id % 20 AS kind, repeat('x', 1500) AS filler FROM docs;
CREATE INDEX wide_v ON wide USING skipidx (v, amount, kind);
CREATE INDEX wide_day ON wide (day);
VACUUM ANALYZE wide;
SQL
is(entered($both), 0, 'no bitmap for a condition that more rows meet');
is(first_index($both), 'wide_v', 'the rows of the other');
is(first_index($frequent), 'wide_day', 'nor for a frequent word');
cmp_ok(entered($frequent), '<', 100, 'nor for that with the other');
$s->value('SET effective_cache_size = 80');
cmp_ok(entered($both), '>', 2000, 'where pages are read, it saves some');
$s->value('RESET effective_cache_size');

# Few rows in memory are fetched, and grouped or sorted, in less time than their
# values are counted, or the first ones found, by the index.
sub custom { return join ' ', grep { defined } map { $_->{'Custom Plan Provider'} } nodes(plan_of($_[0])); }

my %saving = ('Skipidx Facets' => "SELECT kind, count(*) FROM wide WHERE v \@\@ 'WORD' GROUP BY kind",
	'Skipidx Ordered Scan' => "SELECT id FROM wide WHERE v \@\@ 'WORD' ORDER BY amount LIMIT 2");
for my $scan (sort keys %saving)
{
	is(custom($saving{$scan} =~ s/WORD/df10/r), '', "few rows: no $scan");
	is(custom($saving{$scan} =~ s/WORD/left/r), $scan, "many rows: $scan");
	$s->value('SET effective_cache_size = 80');
	is(custom($saving{$scan} =~ s/WORD/df10/r), $scan, "few rows that are read: $scan");
	$s->value('RESET effective_cache_size');
}

# So are searches for many rows or all, as against fetching them in the order of
# the table, and computing distances: none is computed.
for my $limit ('LIMIT 20 OFFSET 1500', '')
{
	my $search = "SELECT id FROM wide WHERE v \@\@ 'left' ORDER BY v <\@> 'left' $limit";

	is(custom($search), 'Skipidx Scan', "rows from the search: $limit");
	$s->value('SET effective_cache_size = 80');
	is(custom($search), '', "where they are read, they are sorted: $limit");
	$s->value('RESET effective_cache_size');
}

# A search for a few rows with a prefix of very many lexemes goes through their
# lists, which takes more than to fetch and sort the rows of a condition on another
# column; one with a word does not.
{
	my $search = "SELECT id FROM wide WHERE amount < %d ORDER BY v <\@> '%s' LIMIT 10";

	is(custom(sprintf $search, 240000, 'm:*'), '', 'few rows by a prefix: fetched and sorted');
	is(custom(sprintf $search, 240000, 'left'), 'Skipidx Scan', 'by a word: from the search');
	is(custom(sprintf $search, 8000000, 'm:*'), 'Skipidx Scan', 'many rows by a prefix: from the search');
	$s->value('SET effective_cache_size = 80');
	is(custom(sprintf $search, 240000, 'm:*'), 'Skipidx Scan', 'few rows that are read: from the search');
	$s->value('RESET effective_cache_size');
}

# ---- rows of the same distance ----

# Distances are few, so most rows have that of others.  Updates have put rows
# where their ids do not tell.
$s->value(<<'SQL');
UPDATE docs SET day = day + 1 WHERE id % 7 = 0;
VACUUM docs;
CREATE TABLE other AS SELECT * FROM docs WHERE id % 5 = 0;
CREATE INDEX other_v ON other USING skipidx (v);
ANALYZE other;
SQL
for my $form (
	[ 'distance', "SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right'" ],
	[ 'score', "SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY -(v <\@> 'half & right') DESC" ],
	[ 'output', "SELECT id, v <\@> 'half' AS d FROM docs WHERE v \@\@ 'half' ORDER BY d" ],
	[ 'subquery', "SELECT * FROM (SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right' LIMIT L OFFSET O) x" ],
	[ 'locked', "SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right' LIMIT L OFFSET O FOR SHARE" ],
	[ 'all of the table', "SELECT id FROM docs ORDER BY v <\@> 'df100'" ])
{
	my ($name, $sql) = @$form;
	my %pages;

	$sql .= ' LIMIT L OFFSET O' unless $sql =~ /LIMIT L/;
	for my $plan (
		[ index => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off' ],
		[ sort => 'SET enable_indexscan = off; SET enable_bitmapscan = off' ],
		[ bitmap => 'SET enable_indexscan = off; SET enable_seqscan = off' ],
		[ 'no custom scan' => 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET skipidx.enable_custom_scan = off' ],
		[ workers => 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;'
			  . ' SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0' ])
	{
		$s->value("RESET ALL; SET jit = off; $plan->[1]");
		my @pages = map { my $page = $sql; $page =~ s/\bL\b/$_->[0]/; $page =~ s/\bO\b/$_->[1]/; $s->value($page) } [ 40, 0 ], [ 40, 40 ], [ 500, 3000 ], [ 60000, 80 ];

		$pages{ join ' / ', @pages }{ $plan->[0] } = 1;
	}
	is(scalar(keys %pages), 1, "$name: one order") or diag(join '; ', map { join ' and ', sort keys %$_ } values %pages);
}

# As many pages as there are, by whatever plan the server likes.
$s->value('RESET ALL');
my %ids;
for my $page (0 .. 99)
{
	$ids{$_}++ for split /\n/, $s->value("SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right' LIMIT 100 OFFSET " . $page * 100);
}
is(scalar(keys %ids), $s->value("SELECT count(*) FROM docs WHERE v \@\@ 'half'"), 'pages lose no row');

# It is done in the first query of a session, too, which loads the library; not
# where ctid would change the result.
is($node->safe_psql('postgres', "SET enable_indexscan = off; SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right' LIMIT 50 OFFSET 300"),
	$s->value("SELECT id FROM docs WHERE v \@\@ 'half' ORDER BY v <\@> 'half & right' LIMIT 50 OFFSET 300"), 'first query of a session');
$s->value(<<'SQL');
CREATE FUNCTION of_sql(n int) RETURNS SETOF int LANGUAGE sql VOLATILE AS $$ SELECT id FROM docs ORDER BY v <@> 'df100'::tsquery LIMIT n $$;
CREATE FUNCTION of_plpgsql(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT id FROM docs ORDER BY v <@> 'df100'::tsquery LIMIT n;
END $$;
SQL
for my $off ('', 'SET enable_indexscan = off')
{
	$s->value("RESET ALL; $off");
	my $ties = $s->value("SELECT count(*) FROM (SELECT id FROM docs ORDER BY v <\@> 'df100' FETCH FIRST 3 ROWS WITH TIES) x");

	is($ties, 100, "with ties: $off");
	is($s->value("SELECT count(*) FROM (SELECT DISTINCT v <\@> 'df100' AS d FROM docs ORDER BY d) x"), 2, "distinct: $off");
	is($s->value("SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM docs GROUP BY v <\@> 'df100' ORDER BY v <\@> 'df100') x"), '100 19900', "groups: $off");
	is($s->value("SELECT count(*) FROM (SELECT id, generate_series(1, 2) FROM docs ORDER BY v <\@> 'df100' LIMIT 7) x"), 7, "sets: $off");
	is($s->value("SELECT count(*) FROM (SELECT row_number() OVER () FROM docs ORDER BY v <\@> 'df100' LIMIT 7) x"), 7, "window: $off");
	is($s->value("SELECT count(*) FROM ((SELECT id FROM docs ORDER BY v <\@> 'df100' LIMIT 3) UNION ALL (SELECT id FROM other ORDER BY v <\@> 'df100' LIMIT 3)) x"), 6, "union: $off");
	is($s->value("SELECT count(*) FROM of_sql(3)") . $s->value("SELECT count(*) FROM of_plpgsql(3)"), '33', "functions: $off");
	is($s->value("SELECT array_length(ARRAY(SELECT id FROM docs ORDER BY v <\@> 'df100' LIMIT 3), 1)"), 3, "array: $off");
	is($s->value("SELECT count(*) FROM docs WHERE id IN (SELECT id FROM docs ORDER BY v <\@> 'df100' LIMIT 3)"), 3, "IN: $off");
	is($s->value("SELECT count(*) FROM side, LATERAL (SELECT id FROM docs WHERE docs.id > side.id ORDER BY v <\@> 'df100' LIMIT 2) x WHERE side.id < 4"), 6, "LATERAL: $off");
	is($s->value("COPY (SELECT id FROM docs WHERE id < 3 ORDER BY v <\@> 'df100') TO STDOUT"), "1\n2", "COPY: $off");
	is($s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE id < 3 ORDER BY v <\@> 'df100'; FETCH ALL FROM c; COMMIT"), "1\n2", "cursor: $off");
	is($s->value("CREATE TEMP TABLE into_it (id int); INSERT INTO into_it SELECT id FROM docs ORDER BY v <\@> 'df100' LIMIT 3; SELECT count(*) FROM into_it; DROP TABLE into_it"),
		3, "INSERT: $off");
	is($s->value("CREATE TABLE made AS SELECT id FROM docs ORDER BY v <\@> 'df100' LIMIT 3; SELECT count(*) FROM made; DROP TABLE made"), 3, "table: $off");
}

# What conditions come to is kept by condition: planning takes a time for each, and
# not for each pair of them.
$s->value("RESET ALL; SET my.word = 'df'; CREATE TABLE few AS SELECT * FROM docs LIMIT 1000; CREATE INDEX few_v ON few USING skipidx (v); ANALYZE few");

sub planned
{
	my ($n) = @_;
	my $where = join ' OR ', map { "v @@ to_tsquery('simple', current_setting('my.word') || $_)" } 1 .. $n;
	my @times = map { my $before = $s->busy; $s->value("EXPLAIN SELECT id FROM few WHERE $where"); $s->busy - $before } 1 .. 5;

	return (sort { $a <=> $b } @times)[0];
}

my ($few, $many) = (planned(500), planned(8000));

cmp_ok($many, '<', 40 * $few, "16 times as many conditions are planned in $many ms of a processor, $few before");

$s->close;
$node->stop;
done_testing();
