# A filter on a column beside words of which any will do: a common one is asked
# of what the words find good enough, a rare one leads.  By the postings that
# get a part, from both sides, and by the rows.
#
# Holds: topk 1, 9

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant ROWS => 60_000;

my $node = skx_node('filter_ways', conf => "maintenance_work_mem = 256MB\n"
	  . "wal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 64MB");
my $s = skx_session($node, 'postgres');

# A few documents have a word far more often than the others.
$s->value(<<"SQL");
CREATE EXTENSION skipidx;
CREATE FUNCTION places(word text, first int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
	\$\$SELECT word || ':' || string_agg((first + p)::text, ',') FROM generate_series(1, n) p\$\$;
CREATE TABLE docs (id int, v tsvector, half int, tenth int, rare int, tags text[]) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, concat_ws(' ', places('fill', 300, 30 + abs(hashint4(i)) % 10),
	CASE WHEN i % 2 = 0 THEN places('a', 0, greatest(1, 9 - abs(hashint4(i + 1000000)) % 400)) END,
	CASE WHEN i % 3 = 0 THEN places('b', 20, greatest(1, 9 - abs(hashint4(i + 2000000)) % 400)) END,
	CASE WHEN i % 5 = 0 THEN places('c', 40, greatest(1, 9 - abs(hashint4(i + 3000000)) % 400)) END)::tsvector,
	abs(hashint4(i + 4000000)) % 2, abs(hashint4(i + 5000000)) % 10, abs(hashint4(i + 6000000)) % 3000,
	ARRAY['t' || abs(hashint4(i + 7000000)) % 4]
	FROM generate_series(1, @{[ROWS]}) i;
CREATE INDEX docs_v ON docs USING skipidx (v, half, tenth, rare, tags) WITH (proximity = 0);
ANALYZE docs;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SQL

# Postings that got a part, by the index's own conditions.
sub scored
{
	my ($query, $filter, $limit) = @_;
	my $plan = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM docs WHERE $filter"
		  . " ORDER BY v <@> '$query'::tsquery LIMIT $limit");
	my ($n) = $plan =~ /Scored Postings: (\d+)/;

	unlike($plan, qr/ Filter:/, "$query, $filter: in the index");
	note "$query, $filter, $limit rows: $n scored";
	return $n;
}

sub agrees
{
	my ($query, $filter, $limit) = @_;
	my $rows = "SELECT string_agg(id::text, ',' ORDER BY n) FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM docs"
	  . " WHERE $filter ORDER BY v <@> '$query'::tsquery%s LIMIT $limit) l) r";
	my $by_index = $s->value(sprintf $rows, '');

	$s->value('SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off');
	is($by_index, $s->value(sprintf $rows, ', ctid'), "$query, $filter, $limit rows");
	$s->value('SET enable_seqscan = off; SET enable_sort = off; SET enable_indexscan = on');
	return;
}

for my $query ('a | b', 'b | a | nosuch')
{
	my $matches = "v @@ '$query'";
	my $alone = scored($query, $matches, 10);

	cmp_ok($alone, '<', ROWS / 20, "$query: few are scored without a filter");
	for my $filter ('half = 1', "tags && '{t1,t2}'", 'half IS NOT NULL', 'half = 1 AND rare IS NOT NULL')
	{
		my $n = scored($query, "$matches AND $filter", 10);

		cmp_ok($n, '<', ROWS / 12, "$query, $filter: a common filter does not lead");
		cmp_ok($n, '>=', $alone, "$query, $filter: the words do");
		# nor is there need for a condition on the words
		cmp_ok(scored($query, $filter, 10), '<', ROWS / 12, "$query, $filter alone: nor does it");
	}
	for my $filter ('rare = 7', 'rare = 8 AND half = 1')
	{
		my $n = scored($query, "$matches AND $filter", 10);

		cmp_ok($n, '<', 200, "$query, $filter: a rare filter leads");
		cmp_ok($n, '>', 0, "$query, $filter: it has scores");
	}
}
for my $limit (1, 10, 300, 20_000)
{
	for my $filter ('half = 1', 'tenth IN (3, 4, 5)', 'rare = 7', "tags && '{t1,t2}' AND tenth = 3", 'half = 1 AND NOT rare = 5')
	{
		agrees('a | b | c', "v @@ 'a | b | c' AND $filter", $limit);
		agrees('a | b', "v @@ 'a | b | c' AND $filter", $limit);
		agrees('a | b', "v @@ 'a & c' AND $filter", $limit);
		agrees('a | c', $filter, $limit);
	}
}

$s->close;
$node->stop;
done_testing();
