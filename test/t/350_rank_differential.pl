# Ranked rows are those of a sequential scan and a sort, in the same order and
# with the same distances to the last bit; and these are BM25 and proximity as
# SQL of this test computes them.  In every state a part of the queries is asked
# by each method of reading blocks.
#
# Long: 2000 queries of each mode over more rows, else 24 (SKX_RANK_QUERIES).
#
# Holds: cursor 6; score 2, 3, 4, 5, 6; topk 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxDiff;
use SkipidxGen;
use SkipidxRank;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;

my $seed = skx_seed(350);
my $queries = $ENV{SKX_RANK_QUERIES} // 24;
my $whole = $queries >= 1000;

# How many: of states that are like others, a part of the queries is enough.
my $some = $whole ? 9 : 3;
my $few = $whole ? 25 : 7;

# One query in so many by each method.
my $share = 4;
my @ks = (1, 10, 100, 1000, 0);

note "seed $seed";

# Some of the indexes do not fit this cache.
my $node = skx_node('rank', conf => "skipidx.cache_size = 1MB\nskipidx.max_workers = 0\n");
skx_database($node, 'd');
my $s = skx_session($node, 'd');
my $diff = SkipidxDiff->new($s);
my $rank = SkipidxRank->new($s, $diff);
my $gen = SkipidxGen->new(seed => $seed, vocab => 300);

sub load
{
	my ($n, @kind) = @_;
	my $from = @{ $gen->{docs} } + 1;

	$gen->add_documents($n, @kind);
	$diff->load_documents([ $gen->copy_documents($from) ], 0);
	return;
}

sub segments
{
	return $s->value("SELECT count(*) FROM skipidx_segments('docs_skx') WHERE kind = 'segment'");
}

sub recall
{
	my ($with) = @_;

	return $s->value("DROP INDEX IF EXISTS docs_skx; CREATE INDEX docs_skx ON docs USING skipidx (v) $with");
}

# By the default method, then a part by each of them.
sub agrees
{
	my ($state, $stride, %opt) = @_;
	my $ks = join ',', @ks;
	my $did = $rank->agrees($state, $stride, $ks, %opt);

	$rank->agrees_by_methods($state, $stride, $ks, $share, %opt);
	return $did;
}

# Nothing in shared buffers either.
sub restart
{
	$s->close;
	$node->restart;
	$s = skx_session($node, 'd');
	$rank->use_session($s);
	return;
}

# ---- states of the same rows ----

recall("WITH (pending_limit = '1GB', proximity = 0)");
load($whole ? 800 : 500);
$gen->add_large(1500);
$diff->load_documents([ $gen->copy_documents(scalar @{ $gen->{docs} }) ], 0);
$rank->add_queries($gen, $queries);
$s->value('ANALYZE docs');
is(segments(), 0, 'nothing but pending documents');

# Plans are what the names of the modes say.
$s->value('SELECT rank_mode(true, false)');
like($s->value(q{EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'ba' ORDER BY v <@> 'ba'::tsquery LIMIT 10}),
	qr/^Limit\n  ->  Incremental Sort\n +Sort Key: .*, ctid\n +Presorted Key: .*\n +->  Index Scan using docs_skx on docs\n +Index Cond: .*\n +Order By: /,
	'plan: index scan');
$s->value('SELECT rank_mode(true, true)');
like($s->value(q{EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'ba' ORDER BY v <@> 'ba'::tsquery LIMIT 10}),
	qr/Custom Scan.*\n +->  Index Scan using docs_skx on docs\n/, 'plan: custom scan');
$s->value('SELECT rank_mode(false, true)');
like($s->value(q{EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'ba' ORDER BY v <@> 'ba'::tsquery, ctid LIMIT 10}),
	qr/Sort\n.*Seq Scan on docs\n/s, 'plan: sequential scan');

my $did = agrees('pending', $some, segments => 0);

cmp_ok($did->{scored}, '>=', $did->{queries} * 0.7, 'most queries have rows with a score');
cmp_ok($did->{rows}, '>', $did->{scans} * 20, 'and many of them');
$rank->count_rows('SELECT id, v FROM docs');
$rank->is_right('pending', $few);

$s->value("SELECT skipidx_flush('docs_skx')");
is(segments(), 1, 'one segment');
agrees('one segment', 1);
$rank->is_right('one segment', $whole ? 8 : 3);

for my $part (1 .. 3)
{
	load(70);
	$s->value("SELECT skipidx_flush('docs_skx')") if $part < 3;
}
is(segments(), 3, 'three segments and pending documents');
agrees('several', $some, cold => \&restart);
$rank->count_rows('SELECT id, v FROM docs');
$rank->is_right('several', $few);

# ---- options, changed under the same index ----

$s->value('ALTER INDEX docs_skx SET (proximity = 0.3)');
agrees('proximity', $some);
$rank->is_right('proximity', $some, proximity => 0.3);
$rank->others_agree('proximity', $some, 10);

$s->value('ALTER INDEX docs_skx SET (k1 = 2.5, b = 0.1)');
agrees('k1 and b', $few);
$rank->is_right('k1 and b', $few, proximity => 0.3, k1 => 2.5, b => 0.1);

$s->value('ALTER INDEX docs_skx SET (k1 = 0, b = 1)');
agrees('no tf', $few);
$rank->is_right('no tf', $few, proximity => 0.3, k1 => 0, b => 1);

$s->value('ALTER INDEX docs_skx RESET (k1, b);'
	  . ' ALTER INDEX docs_skx SET (weights = \'{0.5, 1.5, 2.5, 4}\')');
agrees('labels', $some, cold => \&restart);
$rank->others_agree('labels', $few, 7);
$rank->is_right('labels', $few, proximity => 0.3, weights => [ 0.5, 1.5, 2.5, 4 ]);
$s->value('ALTER INDEX docs_skx SET (weights = \'{3, 1, 1, 0.125}\', proximity = 0)');
agrees('labels, D first', $few);
$rank->is_right('labels, D first', $few, weights => [ 3, 1, 1, 0.125 ]);
$s->value('ALTER INDEX docs_skx SET (weights = \'{0, 2, 0, 1}\', proximity = 0.3)');
agrees('labels that do not count', $few);
$rank->is_right('labels that do not count', $few, proximity => 0.3, weights => [ 0, 2, 0, 1 ]);
$s->value('ALTER INDEX docs_skx RESET (weights)');

# ---- deletes ----

$s->value('DELETE FROM docs WHERE id % 8 = 3 OR id % 50 = 7');
agrees('deleted', $few, cold => \&restart);
$rank->is_right('deleted', $few, proximity => 0.3);

# Statistics keep what is gone until a merge drops it.
my $before = segments();

$s->value('VACUUM docs');
agrees('vacuumed', $some);
SKIP:
{
	skip 'VACUUM has merged', 1 if segments() != $before;
	$rank->is_right('vacuumed', $few, proximity => 0.3);
}

# Rows in places of deleted ones, rows that never came to be, other versions of
# rows; statistics of these are not told by the table.
load(120);
$s->value('UPDATE docs SET v = v || $$ba:3A kanew:7$$::tsvector WHERE id % 11 = 0 AND v IS NOT NULL;'
	  . ' UPDATE docs SET v = strip(v) WHERE id % 37 = 1 AND v <> strip(v);'
	  . ' BEGIN; INSERT INTO docs SELECT id + 100000, kind, v FROM docs LIMIT 100; ROLLBACK;'
	  . ' BEGIN; SAVEPOINT a; DELETE FROM docs WHERE id < 50; ROLLBACK TO a;'
	  . ' INSERT INTO docs SELECT id + 200000, kind, v FROM docs WHERE id < 20; COMMIT');
agrees('replaced', $some, cold => \&restart);
$s->value('VACUUM docs');
agrees('vacuumed twice', $few);
$s->value("SELECT skipidx_flush('docs_skx')");
agrees('flushed', $few);

$s->value("SELECT skipidx_merge('docs_skx', 1)");
is(segments(), 1, 'merged');
agrees('merged', $some, cold => \&restart);
$s->value('VACUUM docs');
$s->value("SELECT skipidx_flush('docs_skx') \\g /dev/null\n SELECT skipidx_merge('docs_skx', 1)");
$rank->count_rows('SELECT id, v FROM docs');
recall("WITH (block_size = '8kB')");
agrees('built', $few);
$s->value('ALTER INDEX docs_skx SET (proximity = 1)');
agrees('built, more proximity', $few);
$rank->is_right('built, more proximity', $few, proximity => 1);

# ---- rows changed in place ----

my $hot = 'SELECT pg_stat_force_next_flush() \g /dev/null' . "\n SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'docs'";
my $hot_before = $s->value($hot);

$s->value('DELETE FROM docs WHERE id % 6 = 2; VACUUM docs; UPDATE docs SET kind = kind WHERE id % 5 = 1');
cmp_ok($s->value($hot), '>', $hot_before + 20, 'heap-only tuples');
agrees('in place', $some, hot => 1);

# ---- little memory ----

$s->value('VACUUM FULL docs');
recall('WITH (proximity = 0.3)');

$s->value("SET work_mem = '64kB'");
agrees('little memory', $some);
$s->value('RESET work_mem');

# ---- lists of many sub-blocks and nodes ----

$s->value('TRUNCATE docs, ranked, ref_term, ref_pair; DROP INDEX docs_skx');
$gen = SkipidxGen->new(seed => $seed + 1, vocab => 1500);
load($whole ? 15000 : 6000, 'plain');
load(60, 'dense');
load(200, 'stripped');
load(100, 'null');
load(100);
$rank->add_queries($gen, $whole ? 120 : 13);
$s->value("SET maintenance_work_mem = '1MB'");
recall("WITH (block_size = '8kB', pending_limit = '1GB', proximity = 0)");
$s->value('RESET maintenance_work_mem; ANALYZE docs');
agrees('large', 1);
$rank->count_rows('SELECT id, v FROM docs');
$rank->is_right('large', $whole ? 4 : 11);

load($whole ? 4000 : 1000, 'plain');
$s->value("SELECT skipidx_flush('docs_skx')");
load(500, 'plain');
$s->value('DELETE FROM docs WHERE id % 9 = 4 AND id > 3000; VACUUM docs; DELETE FROM docs WHERE id % 17 = 2;'
	. ' ALTER INDEX docs_skx SET (proximity = 0.3)');
agrees('large, several', 2, cold => \&restart);
$rank->others_agree('large, several', $few, 10);
$s->value("SET work_mem = '64kB'");
agrees('large, little memory', 4);
$s->value('RESET work_mem');

unlike($s->raw("SELECT skipidx_check('docs_skx', true)"), qr/ERROR/, 'skipidx_check');
$s->close;
$node->stop;
done_testing();
