# Ranked conjunctions and phrases over lists of very different density, in a
# table large enough for their sub-blocks to reach far: the same rows in the
# same order, with the same distances to the last bit, as by sorting them all.
#
# Holds: query 1; topk 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('rank_intersections', conf => "maintenance_work_mem = 256MB\n"
	  . "wal_level = minimal\nmax_wal_senders = 0\nskipidx.cache_size = 64MB\nskipidx.max_workers = 0");
my $s = skx_session($node, 'postgres');

# Word wN is in one document of N at random, one to four times, and close to
# its neighbours: w50 at 2, 12, ...; w60 after it; w20 and w7 after that; w900
# and w40000 are rare, w2 is common, one of three times without a position.
# Lengths are 10 to 73.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION draw(i int, salt int, n int) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT (hashint4(i * 64 + salt) & 1073741823) % n = 0';
CREATE FUNCTION places(i int, salt int, first int) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg((first + 10 * p)::text, ',') FROM generate_series(0, hashint4(i * 64 + salt + 32) & 3) p$$;
INSERT INTO docs SELECT i, concat_ws(' ', 'fill:' || (SELECT string_agg((200 + p)::text, ',')
		FROM generate_series(0, 9 + (hashint4(i) & 63)) p),
	CASE WHEN draw(i, 1, 50) THEN 'w50:' || places(i, 1, 2) END,
	CASE WHEN draw(i, 2, 60) OR draw(i, 1, 50) AND draw(i, 9, 3) THEN 'w60:' || places(i, 2, 3) END,
	CASE WHEN draw(i, 3, 20) THEN 'w20:' || places(i, 3, 4) END,
	CASE WHEN draw(i, 4, 7) THEN 'w7:' || places(i, 4, 5) END,
	CASE WHEN draw(i, 5, 900) THEN 'w900:' || places(i, 5, 1) END,
	CASE WHEN draw(i, 6, 40000) THEN 'w40000:' || places(i, 6, 6) END,
	CASE WHEN draw(i, 7, 2) THEN 'w2' || CASE WHEN draw(i, 8, 3) THEN '' ELSE ':' || places(i, 7, 6) END END
	)::tsvector FROM generate_series(1, 120000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0);
ANALYZE docs;
SQL

# What the rows by a filter in the order of a ranking query are, as one value.
sub rows_by
{
	my ($filter, $rank, $limit, $tid) = @_;

	return $s->value("SELECT count(*) || ' ' || md5(string_agg(c::text || d, ',' ORDER BY n)) FROM (SELECT c, d,"
		  . ' row_number() OVER () AS n FROM (SELECT ctid AS c, v <@> ' . "'$rank'::tsquery AS d FROM docs"
		  . " WHERE v @@ '$filter' ORDER BY v <@> '$rank'::tsquery$tid LIMIT $limit) l) r");
}

sub agrees
{
	my ($filter, $rank) = @_;

	$rank //= $filter;
	for my $limit (1, 10, 100, 100000)
	{
		$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;'
			  . ' SET enable_indexscan = on');
		my $by_index = rows_by($filter, $rank, $limit, '');
		$s->value('SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off');
		is($by_index, rows_by($filter, $rank, $limit, ', ctid'), "$filter by $rank, $limit");
	}
	return;
}

my @queries = (
	'w50 & w60', 'w900 & w50', 'w60 & w20', 'w20 & w7', 'w7 & w2', 'w50 & w2', 'w900 & w2', 'w40000 & w2',
	'w50 & w60 & w20', 'w900 & w20 & w2', 'w50 & w20 & w7 & w2',
	'w50 <-> w60', 'w20 <-> w7', 'w50 <-> w60 <-> w20', 'w60 <2> w7', 'w2 <2> w50', 'w900 <3> w20', 'w7 <-> w2',
	'w50 & !w60', 'w60 & (w20 | w7)', '(w50 <-> w60) & w7');

agrees($_) for @queries;

# Words that are required and do not count, and that count and are not required.
agrees('w50 & w60', 'w60');
agrees('w50 & w20', 'w50 | w7 | w2');
agrees('w50 <-> w60', 'w60 | w2');

# Segments and pending documents share what is to be reached; labels choose.
$s->value("SELECT skipidx_flush('docs_v'); INSERT INTO docs SELECT id + 120000, setweight(v, 'B') FROM docs"
	  . " WHERE id < 20000; SELECT skipidx_flush('docs_v'); DELETE FROM docs WHERE id % 11 = 3;"
	  . ' INSERT INTO docs SELECT id + 200000, v FROM docs WHERE id < 300');
agrees($_) for qw(w50&w60 w50<->w60 w900&w2 w50:B&w60 w50:B<->w60:B w60&w20:B);

$s->value('ALTER INDEX docs_v SET (proximity = 0.3)');
agrees($_) for qw(w50&w60 w50<->w60 w900&w50&w2);

$node->stop;
done_testing();
