# A filter on a column beside words of which any will do: a common one is asked
# of what the words find good enough, a rare one leads.  By the postings that
# get a part, from both sides, and by the rows.  A range is asked of documents,
# and none of these are looked at where it has none.
#
# Holds: query 10; topk 1, 9

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxMatrix;
use Test::More;

use constant ROWS => 60_000;

# A few documents have a word far more often than the others.
my $m = SkipidxMatrix->new('filter_ways', seed => 367, conf => "maintenance_work_mem = 256MB\nwal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 64MB\nskipidx.max_workers = 0", own => <<"SQL");
CREATE FUNCTION places(word text, first int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
	\$\$SELECT word || ':' || string_agg((first + p)::text, ',') FROM generate_series(1, n) p\$\$;
CREATE TABLE docs (id int, v tsvector, half int, tenth int, rare int, tags text[],
	price int, at int, other int, poor int) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, concat_ws(' ', places('fill', 300, 30 + abs(hashint4(i)) % 10),
	CASE WHEN i % 2 = 0 THEN places('a', 0, greatest(1, 9 - abs(hashint4(i + 1000000)) % 400)) END,
	CASE WHEN i % 3 = 0 THEN places('b', 20, greatest(1, 9 - abs(hashint4(i + 2000000)) % 400)) END,
	CASE WHEN i % 5 = 0 THEN places('c', 40, greatest(1, 9 - abs(hashint4(i + 3000000)) % 400)) END,
	CASE WHEN i % 40 = 0 THEN 'd:60' END)::tsvector,
	abs(hashint4(i + 4000000)) % 2, abs(hashint4(i + 5000000)) % 10, abs(hashint4(i + 6000000)) % 3000,
	ARRAY['t' || abs(hashint4(i + 7000000)) % 4],
	CASE WHEN i % 17 > 0 THEN abs(hashint4(i + 8000000)) % 1000000 END, i / 3,
	abs(hashint4(i + 9000000)) % 10,
	CASE WHEN (i % 2 > 0 OR abs(hashint4(i + 1000000)) % 400 > 7) AND (i % 3 > 0 OR abs(hashint4(i + 2000000)) % 400 > 7)
		THEN i % 3 ELSE 3 END
	FROM generate_series(1, @{[ROWS]}) i;
CREATE INDEX docs_skx ON docs USING skipidx (v, half, tenth, rare, tags, price, at, other, poor) WITH (proximity = 0);
ANALYZE docs;
SQL
my $s = $m->session;

# Rows by rank, for the first pass or for both: the first 1, 10, 300 and all.
sub agrees { my ($turn, $query, $filter, @limits) = @_; return $m->ask_always([ 'ranked', turn => $turn, cond => $filter, rank => "'$query'::tsquery", limits => @limits ? \@limits : [ 1, 10, 300, 20_000 ] ]); }

# What EXPLAIN tells of the first ten rows by rank.
sub first_rows { my ($query, $filter, $limit) = (@_, 10); return "SELECT id FROM docs WHERE $filter ORDER BY v <\@> '$query'::tsquery LIMIT $limit"; }
sub told { return $m->told(first_rows(@_)); }

# Postings that got a part, by the index's own conditions.
sub scored
{
	my $n = told(@_)->{'Scored Postings'};

	is(scalar(grep { exists $_->{Filter} } $m->plan_nodes(first_rows(@_), 'COSTS OFF')), 0, join ', ', @_, 'in the index');
	note "@_: $n scored";
	return $n;
}

$m->way('plain');
for my $query ('a | b', 'b | a | nosuch')
{
	my $matches = "v @@ '$query'";
	my $alone = scored($query, $matches);

	cmp_ok($alone, '<', ROWS / 20, "$query: few are scored without a filter");
	for my $filter ('half = 1', "tags && '{t1,t2}'", 'half IS NOT NULL', 'half = 1 AND rare IS NOT NULL')
	{
		my $n = scored($query, "$matches AND $filter");

		cmp_ok($n, '<', ROWS / 12, "$query, $filter: a common filter does not lead");
		cmp_ok($n, '>=', $alone, "$query, $filter: the words do");
		# nor is there need for a condition on the words
		cmp_ok(scored($query, $filter), '<', ROWS / 12, "$query, $filter alone: nor does it");
	}
	for my $filter ('rare = 7', 'rare = 8 AND half = 1')
	{
		my $n = scored($query, "$matches AND $filter");

		cmp_ok($n, '<', 200, "$query, $filter: a rare filter leads");
		cmp_ok($n, '>', 0, "$query, $filter: it has scores");
	}
}

# Two filters, of which each alone would be asked last, leave few documents.
for my $filter ("half = 1 AND tags \@> '{t1}' AND price < 300000", "half = 1 AND tags \@> '{t1}' AND tenth > 7 AND other > 6")
{
	my $n = scored('a | b', "v @@ 'a | b' AND $filter", 40);

	cmp_ok($n, '<', ROWS / 20, "$filter: together they lead");
	agrees(0, 'a | b', "v @@ 'a | b' AND $filter", 40);
}
# A filter that few candidates pass is asked before the lists that are only looked
# into: these see a fourth of the candidates, and the filter 397 of them elsewise.
for my $filter ("tags \@> '{t1}'", "tags \@> '{t1}' AND rare IS NOT NULL")
{
	my $n = told('a | b | d', "v @@ 'a | b | d' AND $filter")->{Candidates};

	cmp_ok($n, '<', 300, "$filter: candidates that are left by other lists");
	agrees(0, 'a | b | d', "v @@ 'a | b | d' AND $filter", 1, 10, 500);
}

for my $filter ('half = 1', 'tenth IN (3, 4, 5)', 'rare = 7', "tags && '{t1,t2}' AND tenth = 3", 'half = 1 AND NOT rare = 5')
{
	agrees(0, @$_) for [ 'a | b | c', "v @@ 'a | b | c' AND $filter" ], [ 'a | b', "v @@ 'a | b | c' AND $filter" ], [ 'a | b', "v @@ 'a & c' AND $filter" ], [ 'a | c', $filter ];
}

# What a hit is expected to reach, of as many rows as pass, spares the search what is
# below; where only documents with less pass, it is made again without.
sub passes { my ($query, $filter) = @_; return @{ told($query, "v @@ '$query' AND $filter") }{ 'Passes', 'Candidates' }; }

for my $filter ('half = 1', 'tenth IN (3, 4, 5)', 'tenth = 4', 'other = 2 AND price >= 0')
{
	my ($n, $candidates) = passes('a | b', $filter);

	is($n, 1, "$filter: what was expected is there");
	cmp_ok($candidates, '<', 400, "$filter: few candidates reach it");
}
for my $filter ('poor < 3', 'poor = 1', 'poor = 1 AND half = 1', 'poor < 3 AND price >= 0')
{
	my ($n) = passes('a | b', $filter);

	is($n, 2, "$filter: what was expected is not there");
	agrees(0, 'a | b', "v @@ 'a | b' AND $filter", 1, 10, 300);
}

# ---- ranges ----

sub decoded { my ($query, $filter) = @_; my $n = told($query, "v @@ '$query' AND $filter")->{'Sub-blocks Decoded'}; note "@_: $n decoded"; return $n; }

# Two lists have 250 to 390 sub-blocks; 9,000 values are below 160,000.
for my $query ('a | b', 'b | c', 'a & b')
{
	cmp_ok(decoded($query, 'at >= 18000'), '<', 125, "$query: nothing where the range has none");
	cmp_ok(decoded($query, 'at < 2000'), '<', 125, "$query: nor behind it");
	cmp_ok(decoded($query, 'at BETWEEN 9000 AND 11000 AND half = 1'), '<', 250, "$query: nor beside another condition");
	cmp_ok(decoded($query, 'price < 160000'), '<', 800, "$query: nor lists of values");
}

cmp_ok(decoded('a & b', 'rare < 600'), '<', 450, 'nor of few values, with many documents');

for my $filter ('at >= 18000', 'at < 700', 'at BETWEEN 9000 AND 11000 AND half = 1', 'price < 10000', 'price >= 500000', 'price BETWEEN 1000 AND 90000 AND at >= 4000', 'price <= 20 AND at > 100')
{
	agrees(1, @$_) for [ 'a | b | c', "v @@ 'a | b | c' AND $filter" ], [ 'a & b', "v @@ 'a & b' AND $filter" ], [ 'a | c', "v @@ 'a & c' AND $filter" ], [ 'a | c', $filter ];
}
$m->differ('one segment', 1, part => 0, explain => '');
$s->value('DELETE FROM docs WHERE id % 7 = 3 OR id BETWEEN 55000 AND 55900; VACUUM docs');
$s->value(<<'SQL');
INSERT INTO docs SELECT id + 60000, v, half, tenth, rare, tags, price + 5, 30000 - at FROM docs WHERE id % 9 = 0;
SELECT tend() \g /dev/null
INSERT INTO docs SELECT id + 90000, v, half, tenth, rare, tags, price - 5, at FROM docs WHERE id % 31 = 0;
SQL
$m->differ('deleted, two segments, pending', 2, part => 1);

# Many alternatives are asked one by one no longer than it takes to gather them:
# of so many documents that the search goes by its words.
$s->value(<<'SQL');
CREATE FUNCTION part(i int) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT (hashint4(i) & 1048575) / 1048576.0';
CREATE UNLOGGED TABLE many (id int, v tsvector, owner int, pub bool) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, format('w%s w%s', floor(exp(part(i) * 9)), floor(exp(part(-i) * 9)))::tsvector,
	floor(exp(part(i + 2000000) * 10)), i % 200 = 0 FROM generate_series(1, 1000000) i;
CREATE INDEX many_v ON many USING skipidx (v, owner, pub) WITH (proximity = 0);
VACUUM ANALYZE many;
SQL
for my $k (12, 100, 300, 1000)
{
	my $filter = 'pub OR owner IN (' . join(',', map { $_ * 19 % 20000 } 1 .. $k) . ')';
	my $first = "SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM many WHERE $filter ORDER BY v <\@> 'w1 | w2'::tsquery, id LIMIT 10) r";

	$m->way('plain');
	my ($ids, $spent) = $m->spent($first);

	cmp_ok($spent->{candidates}, '<', 2_000_000, "$k alternatives: asked no longer than gathering them takes, $spent->{candidates} questions");
	is($m->by('seq', $first), $ids, "$k alternatives: the rows");
}
done_testing();
