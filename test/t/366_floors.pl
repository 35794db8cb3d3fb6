# Postings whose frequency is too small for a hit get no part: how few are left,
# and that those which reach the floor to the last unit are.
#
# Holds: topk 1, 3, 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('floors', conf => "maintenance_work_mem = 256MB\n"
	  . "wal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 64MB");
my $s = skx_session($node, 'postgres');

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION places(word text, first int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT word || ':' || string_agg((first + p)::text, ',') FROM generate_series(1, n) p$$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SQL

# What the rows are, as one value.
sub rows_by
{
	my ($query, $limit, $order) = @_;

	return $s->value("SELECT count(*) || ' ' || string_agg(c::text, ',' ORDER BY n) FROM (SELECT c, row_number() OVER () AS n"
		  . " FROM (SELECT ctid AS c FROM docs WHERE v @@ '$query' ORDER BY v <@> '$query'::tsquery$order LIMIT $limit) l) r");
}

sub agrees
{
	my ($query, $limit) = @_;
	my $by_index = rows_by($query, $limit, '');

	$s->value('SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off');
	is($by_index, rows_by($query, $limit, ', ctid'), "$query, $limit rows");
	$s->value('SET enable_seqscan = off; SET enable_sort = off; SET enable_indexscan = on');
	return;
}

# Postings that got a part.
sub scored
{
	my ($query, $limit) = @_;
	my ($n) = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT ctid FROM docs WHERE v @@ '$query'"
		  . " ORDER BY v <@> '$query'::tsquery LIMIT $limit") =~ /Scored Postings: (\d+)/;

	note "$query, $limit rows: $n scored";
	return $n;
}

# ---- few of the postings ----

# Of the documents a third has each of a and b, nine in ten of these once, the
# others up to 6 times; twenty have both four times.  Most have c.  All are of
# the same length.
$s->value(<<'SQL');
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, (concat_ws(' ', CASE WHEN a > 0 THEN places('a', 0, a) END,
	CASE WHEN b > 0 THEN places('b', 20, b) END, CASE WHEN c > 0 THEN places('c', 40, c) END,
	places('fill', 100, 40 - a - b - c)))::tsvector
	FROM (SELECT i, CASE WHEN i % 3000 = 7 THEN 4 WHEN hashint4(i) % 3 <> 0 THEN 0
			WHEN hashint4(i + 1000000) % 10 = 0 THEN 1 + abs(hashint4(i + 2000000)) % 6 ELSE 1 END AS a,
		CASE WHEN i % 3000 = 7 THEN 4 WHEN hashint4(i + 3000000) % 3 <> 0 THEN 0
			WHEN hashint4(i + 4000000) % 10 = 0 THEN 1 + abs(hashint4(i + 5000000)) % 6 ELSE 1 END AS b,
		abs(hashint4(i + 6000000)) % 8 % 3 AS c FROM generate_series(1, 60000) i) d;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0);
ANALYZE docs;
SQL

# Query, postings at least and at most.
for my $case ([ 'a & b', 500, 5000 ], [ 'a | c', 20, 500 ], [ 'a | b | c', 500, 7000 ])
{
	my ($query, $least, $most) = @$case;
	my $n = scored($query, 10);

	cmp_ok($n, '>=', $least, "$query: postings that may be enough");
	cmp_ok($n, '<=', $most, "$query: hardly any others");
}
agrees($_, 10), agrees($_, 1000) for 'a & b', 'a | c', 'a | b | c', 'a & b & c', 'a <-> c | b';

# ---- ties at the floor ----

# All documents are alike.  Those of a second segment stand before all others in
# the table, so that each of them whose sum is that of the last hit becomes one:
# the floor is the part that all of its postings have.
$s->value(<<'SQL');
DROP TABLE docs;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, 'a:1,2,3 b:5,6 c:8 fill:10,11,12,13'::tsvector FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0);
DELETE FROM docs WHERE id <= 600;
VACUUM (INDEX_CLEANUP ON) docs;
INSERT INTO docs SELECT i, 'a:1,2,3 b:5,6 c:8 fill:10,11,12,13'::tsvector FROM generate_series(1, 600) i;
INSERT INTO docs SELECT 0, 'fill:1'::tsvector FROM generate_series(1, 9000) i;
SELECT skipidx_flush('docs_v');
ANALYZE docs;
SQL
is($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment'"), 2, 'two segments');
is($s->value('SELECT count(*) FROM docs WHERE id BETWEEN 1 AND 600 AND ctid < (SELECT min(ctid) FROM docs WHERE id > 600)'), 600,
	'the second one stands first');
for my $query ('a', 'a & b', 'a & b & c', 'a | b', 'a | b | c', 'a & (b | c)')
{
	agrees($query, $_) for 1, 10, 300, 700;
}

# With pairs, floors are of ceilings.
$s->value('ALTER INDEX docs_v SET (proximity = 0.4)');
agrees($_, 10) for 'a & b', 'a | b';

$s->close;
$node->stop;
done_testing();
