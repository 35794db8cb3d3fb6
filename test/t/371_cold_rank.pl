# Ranked searches whose lists, norms and TIDs have to be read: the same rows in
# the same order, with the same distances to the last bit, as by sorting them
# all; by every way of reading, with a cache that has room for the norms and one
# that has not; and in few rounds of reads.
#
# Holds: cursor 7; topk 1, 7, 12
#
# Long: SKX_RANK_QUERIES, random queries (40 in make test)

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $seed = $ENV{SKIPIDX_SEED} // 371;
my $random = $ENV{SKX_RANK_QUERIES} // 40;

srand($seed);
note "seed $seed";
my $node = skx_node('cold_rank', conf => "maintenance_work_mem = 256MB\nwal_level = minimal\nmax_wal_senders = 0\n"
	  . "shared_preload_libraries = skipidx\nskipidx.cache_size = 64MB\nskipidx.max_workers = 0");
my $s = skx_session($node, 'postgres');

# Word wN is in one document of N, one to three times; w1 in five of six, up to 16
# times with any label, so that its list has 32 nodes at least (topk_cold.c); u4 and u6 in those of 4
# and 6 that follow each other, so that there are documents of nothing else.
# Half of the documents have one of two lengths: many sums are the same.  t1
# and t2 are in as many documents, so that one counts as much as the other.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE tiny (v tsvector);
INSERT INTO tiny VALUES ('a');
CREATE INDEX tiny_v ON tiny USING skipidx (v);
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION draw(i int, salt int, n int) RETURNS boolean LANGUAGE sql IMMUTABLE AS
	'SELECT (hashint4(i * 64 + salt) & 1073741823) % n = 0';
CREATE FUNCTION places(i int, salt int, first int) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$SELECT string_agg((first + 10 * p)::text || CASE WHEN p = 1 THEN 'B' ELSE '' END, ',')
		FROM generate_series(0, (hashint4(i * 64 + salt + 32) & 7) / 3) p$$;
INSERT INTO docs SELECT i, concat_ws(' ', 'fill:' || (SELECT string_agg((200 + p)::text, ',')
		FROM generate_series(0, CASE WHEN i % 2 = 0 THEN 9 + i % 4 * 8 ELSE hashint4(i) & 63 END) p),
	CASE WHEN draw(i, 1, 50) THEN 'w50:' || places(i, 1, 2) END,
	CASE WHEN draw(i, 2, 60) OR draw(i, 1, 50) AND draw(i, 9, 3) THEN 'w60:' || places(i, 2, 3) END,
	CASE WHEN draw(i, 3, 20) THEN 'w20:' || places(i, 3, 4) END,
	CASE WHEN draw(i, 4, 7) THEN 'w7:' || places(i, 4, 5) END,
	CASE WHEN draw(i, 5, 900) THEN 'w900:' || places(i, 5, 1) END,
	CASE WHEN draw(i, 10, 700) THEN 'w700:' || places(i, 10, 7) END,
	CASE WHEN draw(i, 6, 40000) THEN 'w40000:' || places(i, 6, 6) END,
	CASE WHEN draw(i, 7, 2) THEN 'w2' || CASE WHEN draw(i, 8, 3) THEN '' ELSE ':' || places(i, 7, 6) END END,
	CASE WHEN NOT draw(i, 11, 6) THEN 'w1:' || (SELECT string_agg((400 + 9 * p)::text || substr('ABCD', 1 + (hashint4(i * 64 + 12) + p & 3), 1), ',')
		FROM generate_series(0, hashint4(i * 64 + 11) & 15) p) END,
	CASE WHEN i % 1000 = 8 THEN 't1:7' END, CASE WHEN i % 1000 = 500 THEN 't2:7' END,
	CASE WHEN i / 4 % 40 = 0 THEN 'u4:8' END, CASE WHEN i / 6 % 40 = 0 THEN 'u6:9' END
	)::tsvector FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0, block_size = '8kB');
ANALYZE docs;
SQL

my @queries = (
	'w900 & w50', 'w60 & w20', 'w50 & w60 & w20', 'w900 & w20 & w2', 'w50 & w20 & w7 & w2', 'w40000 & w2', 'w7 & w2',
	'u4 & u6 & w7', 'w900 | w700', 'w900 | w700 | w50', 'w40000 | w900 | w2', 'w50 | w60', 'w700 | w50 | w60 | w20',
	'u4 | u6', 't1 | t2', 't1 | t2 | w2', 'w900 | u4 | w2', 'w50 <-> w60', 'w60 <2> w7', 'w50 & !w60', 'w60 & (w20 | w7)', '(w50 <-> w60) & w7',
	'w50:B & w60', 'w900:B | w700:B', 'w900 | w70:*',
	'w900 & w1', 'w50 & w20 & w1', 'w40000 & w1 & w2', 'w900 | w700 | w1', 'w50 | w1', 'w50 & w1:B', '(w50 <-> w60) & w1', 'w50 & !w60 & w1');

# Of a filter and a query to rank by.
my @pairs = (map({ [ $_, $_ ] } @queries),
	[ 'w50 & w60', 'w60' ], [ 'w50', 'w60 | w1' ], [ 'w50 & w1', 'w60 | w20' ], [ 'w50 & w20', 'w50 | w7 | w2' ], [ 'w50 <-> w60', 'w60 | w2' ],
	[ 'w7', 'w900 | w700' ], [ 'w50 & w7', 'w900 | w700 | w20' ]);

for (1 .. $random)
{
	my @words = sort { rand() <=> 0.5 } qw(w1 w2 w7 w20 w50 w60 w700 w900 u4 u6);
	my $words = sub { join $_[0], @words[0 .. 1 + int rand 3] };
	my $rank = $words->(rand() < 0.5 ? ' & ' : ' | ');

	push @pairs, rand() < 0.7 ? [ $rank, $rank ] : [ (shuffled(@words))[0], $rank ];
}

sub shuffled { return sort { rand() <=> 0.5 } @_; }

my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET enable_indexscan = on';

# What the rows by a filter in the order of a ranking query are, as one value.
sub rows_by
{
	my ($filter, $rank, $limit, $tid) = @_;

	return $s->value("SELECT count(*) || ' ' || coalesce(md5(string_agg(c::text || d, ',' ORDER BY n)), '') FROM"
		  . ' (SELECT c, d, row_number() OVER () AS n FROM (SELECT ctid AS c, v <@> ' . "'$rank'::tsquery AS d FROM docs"
		  . " WHERE v @@ '$filter' ORDER BY v <@> '$rank'::tsquery$tid LIMIT $limit) l) r");
}

# Nothing is in the cache, and the session has just read something else.
sub cold
{
	$s->value("SELECT skipidx_cache_reset() \\g /dev/null\n");
	$s->value("$by_index; SELECT count(*) FROM tiny WHERE v @@ 'a'");
	return;
}

sub restart
{
	my ($size) = @_;

	$s->close;
	$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', $size);
	$node->restart;
	$s = skx_session($node, 'postgres');
	return;
}

my %sorted;

sub agrees
{
	my ($state, @methods) = @_;
	my $different = 0;
	my $n = 0;

	for my $pair (@pairs)
	{
		my ($filter, $rank) = @$pair;

		for my $limit (1, 10, 200)
		{
			my $key = "$state $filter by $rank, $limit";

			if (!$sorted{$key})
			{
				$s->value('SET enable_seqscan = on; SET enable_sort = on; SET enable_indexscan = off');
				$sorted{$key} = rows_by($filter, $rank, $limit, ', ctid');
			}
			my $method = $methods[ $n++ % @methods ];

			$s->value("SET skipidx.io_method = $method");
			cold();
			for my $time ('cold', 'again')
			{
				my $found = rows_by($filter, $rank, $limit, '');

				next if $found eq $sorted{$key};
				diag("$key, $method, $time: $found, sorted $sorted{$key}");
				$different++;
			}
		}
	}
	cmp_ok($n, '>', 100, "$state: $n searches");
	is($different, 0, "$state: none differs");
	return;
}

my @methods = grep { $_ ne 'auto' } split /\n/, $s->value('SELECT unnest(enumvals) FROM pg_settings'
	  . " WHERE name = 'skipidx.io_method'");

restart('64MB');
agrees('one segment', @methods);
restart('4MB');
agrees('one segment', qw(direct buffered), grep { /uring/ } @methods);

# ---- rounds ----

restart('64MB');

# Reads, rounds and pages; of a session that has read the headers of the index, as
# an earlier search would.
sub cost
{
	my ($query) = @_;

	cold();
	my @before = split /\|/, $s->value("SELECT requests, rounds, pages_read FROM skipidx_io_totals() WHERE scope = 'session'");
	$s->value("SELECT count(*) FROM (SELECT FROM docs WHERE v @@ '$query' ORDER BY v <@> '$query' LIMIT 10) l");
	my @after = split /\|/, $s->value("SELECT requests, rounds, pages_read FROM skipidx_io_totals() WHERE scope = 'session'");

	return map { $after[$_] - $before[$_] } 0 .. 2;
}

SKIP:
{
	skip 'no io_uring here', 1 unless grep { /uring/ } @methods;
	$s->value('SET skipidx.io_method = uring_direct; SET skipidx.io_depth = 16');
	rows_by('w20', 'w20', 10, '');

	# Lists of 3,000 to 75,000 postings, of which each page is a block: with one
	# sub-block of the lead after the other there were 60 and more.
	for my $case ([ 'w50 & w20 & w7', 14 ], [ 'w60 & w20 & w2', 14 ], [ 'w900 | w700 | w2', 14 ], [ 'w900 & w2', 12 ])
	{
		my ($query, $most) = @$case;
		my ($requests, $rounds) = cost($query);

		note "$query: $requests reads, $rounds rounds";
		cmp_ok($rounds, '<=', $most, "$query: rounds");
		cmp_ok($requests, '<=', 60, "$query: reads");
	}

	# of a list that most documents are in only what the best ones need
	for my $case ([ 'w900 & w20', ' & w1' ], [ 'w900 | w700', ' | w1' ])
	{
		my ($query, $more) = @$case;
		my (undef, undef, $without) = cost($query);
		my (undef, $rounds, $with) = cost($query . $more);

		note "$query: $without pages, $with with w1, $rounds rounds";
		cmp_ok($with - $without, '<=', 40, "$query: pages of w1");
	}
}

# ---- several segments, deleted and pending documents ----

$s->value("$by_index; INSERT INTO docs SELECT id + 150000, setweight(v, 'B') FROM docs WHERE id < 20000;"
	  . " SELECT skipidx_flush('docs_v'); DELETE FROM docs WHERE id % 11 = 3;"
	  . " INSERT INTO docs SELECT id + 200000, v FROM docs WHERE id < 20000; SELECT skipidx_flush('docs_v');"
	  . ' INSERT INTO docs SELECT id + 300000, v FROM docs WHERE id < 100');
restart('64MB');
agrees('several', @methods);
$s->value('ALTER INDEX docs_v SET (proximity = 0.3)');
agrees('with pairs', qw(direct), grep { /uring/ } @methods);
restart('4MB');
agrees('with pairs', qw(buffered), grep { /uring/ } @methods);

# Pages, of which each is searched for cold, and together are one ranking.
my ($pages, $torn) = (0, 0);

for my $query (grep { !/\*/ } @queries)
{
	my $all = $s->value("SELECT coalesce(string_agg(ctid::text || score, ' ' ORDER BY n), '') FROM"
		  . " (SELECT *, row_number() OVER () AS n FROM skipidx_search('docs_v', '$query', 60)) x");
	my ($token, @rows) = ('NULL');

	for (1 .. 3)
	{
		cold();
		my ($rows, $next) = split /\|/, $s->value("SELECT coalesce(string_agg(ctid::text || score, ' ' ORDER BY n), ''), (array_agg(token ORDER BY n DESC))[1] FROM"
			  . " (SELECT *, row_number() OVER () AS n FROM skipidx_search('docs_v', '$query', 20, after => $token)) x");

		push @rows, $rows if $rows ne '';
		last if !$next;
		$token = "'$next'";
	}
	$pages += @rows;
	next if join(' ', @rows) eq $all;
	diag("$query in pages");
	$torn++;
}
cmp_ok($pages, '>', 60, 'with pairs: pages');
is($torn, 0, 'with pairs: pages are one ranking');

$s->close;
$node->stop;
done_testing();
