# What a session remembers of pending documents: after some queries it reads
# from the list only what has come since, with rows and scores that are those of
# a session which remembers nothing, whatever happens to index and list; in 4 MB.
#
# Holds: am 11; pending 9

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_contexts);
use SkipidxWork;
use Test::More;
use Time::HiRes qw(time);

my $node = skx_node('pending_memory', streaming => 1, conf => "skipidx.max_workers = 0\nallow_in_place_tablespaces = on\n"
	  . "max_prepared_transactions = 5\nenable_seqscan = off\n");
my $s = skx_session($node, 'postgres');

$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial PRIMARY KEY, v tsvector, c int) WITH (autovacuum_enabled = off);
CREATE INDEX docs_v ON docs USING skipidx (v, c)
	WITH (pending_limit = '1GB', block_size = '8kB', weights = '{1, 1, 0.5, 3}');
CREATE TABLE small (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX small_v ON small USING skipidx (v) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE FUNCTION text_of(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN i % 89 = 0 THEN NULL ELSE ('common:1,5,9 filler' || i % 50 || ':2' || (ARRAY['', 'A', 'B'])[1 + i % 3]
		|| repeat(' common:' || 20 + i % 7, i % 5) || repeat(' tail' || i % 11 || ':' || 40 + i % 9, i % 2)
		|| CASE WHEN i % 100 = 7 THEN ' rare:3,10' ELSE '' END
		|| CASE WHEN i % 20 = 3 THEN ' tens:4,5 next:5,6' || i % 3 ELSE '' END
		|| CASE WHEN i % 1000 = 311 THEN (SELECT string_agg(' long' || i % 1000 || 'x' || j || ':7', '') FROM generate_series(1, 500) j)
			ELSE '' END)::tsvector END $$;
CREATE FUNCTION add(first int, last int) RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO docs (v, c) SELECT text_of(i), i % 10 FROM generate_series(first, last) i;
	SELECT 1::bigint $$;
SELECT add(1, 2000);
SELECT skipidx_flush('docs_v');
SELECT add(2001, 5000);
INSERT INTO small SELECT i, text_of(i) FROM generate_series(1, 100) i;
SQL

my @queries = ('rare', 'tens & next', 'tens | rare', 'tens <-> next', 'fil:*', 'common', 'common:A', 'filler7:A | rare',
	'rare & !filler7', 'long311x5', 'long3:* | tens', '!common', 'nosuch');

# All that the query finds, in the order of the index, with scores.
sub answer
{
	my ($session, $query, $more) = @_;

	return $session->value("SELECT string_agg(ctid || ' ' || id || ' ' || round(d::numeric, 4), ',') FROM"
		  . " (SELECT ctid, id, v <@> '$query' AS d FROM docs WHERE v @@ '$query' $more) t");
}

sub answers
{
	my ($session) = @_;
	my $text = '';

	for my $query (@queries)
	{
		$text .= "$query: " . answer($session, $query, "ORDER BY v <@> '$query', ctid LIMIT 12") . "\n";
		$text .= "$query: " . answer($session, $query, 'AND c = 3 ORDER BY ctid') . "\n";
		$text .= $session->value("SELECT count(*) FROM docs WHERE v @@ '$query'") . "\n";
	}
	return $text;
}

# Pages of the index that a query reads.
sub pages
{
	my ($session, $query, $index) = @_;
	my ($pages) = $session->value("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF)"
		  . " SELECT skipidx_count('@{[$index // 'docs_v']}', '$query')") =~ /Buffers: shared hit=(\d+)/;

	return $pages // die 'no buffers';
}

sub memory
{
	my ($session) = @_;

	return $session->value('SELECT coalesce(sum(total_bytes), 0) FROM ' . skx_contexts($session) . ' c'
		  . " WHERE name IN ('skipidx pending image', 'skipidx pending values') OR parent = 'skipidx pending image'");
}

# A session that remembers says what one does that has never read anything.
sub same
{
	my ($what, @sessions) = @_;

	for my $session (@sessions)
	{
		my $wanted = '';

		answers($session);
		my $got = answers($session);
		for my $query (@queries)
		{
			my $fresh = skx_session($node, 'postgres');

			$fresh->value('SET skipidx.search_budget = 0');
			$wanted .= "$query: " . answer($fresh, $query, "ORDER BY v <@> '$query', ctid LIMIT 12") . "\n";
			$fresh->close;
			$fresh = skx_session($node, 'postgres');
			$wanted .= "$query: " . answer($fresh, $query, 'AND c = 3 ORDER BY ctid') . "\n";
			$wanted .= $fresh->value("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;"
				  . " SELECT count(*) FROM docs WHERE v @@ '$query'") . "\n";
			$fresh->close;
		}
		is($got, $wanted, $what);
	}
	return;
}

# ---- what is read ----

my $r = skx_session($node, 'postgres');
my $before = pages($r, 'nosuch');

work_is('one query: bytes remembered', memory($r));
pages($r, 'nosuch') for 1 .. 12;
my $after = pages($r, 'nosuch');
work_is('documents are remembered: pages', $after, before => $before);
work_is('documents are remembered: bytes', memory($r));
$s->value('SELECT add(5001, 5010)');
work_is('what has come since is read: pages', pages($r, 'nosuch'), after => $after);
is($r->value("SELECT skipidx_count('docs_v', 'common')"),
	$s->value("SELECT count(*) FROM docs WHERE v IS NOT NULL"), 'and counted');

# ---- nothing is pending ----

# the pages of a stripe without documents are read once, for its end
$s->value(<<'SQL');
CREATE TABLE few (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO few SELECT text_of(i) FROM generate_series(1, 100) i;
CREATE INDEX few_v ON few USING skipidx (v) WITH (pending_limit = '1GB', block_size = '8kB');
SQL
my $q = skx_session($node, 'postgres');
my $none = pages($q, 'nosuch', 'few_v');
$none = pages($q, 'nosuch', 'few_v');
$s->value("INSERT INTO few SELECT 'one'");
is(pages($q, 'nosuch', 'few_v'), $none + 2, "a document: its stripe's page once more, and its own");
$s->value('INSERT INTO few SELECT text_of(i) FROM generate_series(1, 500) i');
pages($q, 'nosuch', 'few_v') for 1 .. 12;
cmp_ok(memory($q), '>', 0, 'documents are remembered');
$s->value("SELECT skipidx_flush('few_v')");
pages($q, 'nosuch', 'few_v');
is(memory($q), 0, 'and forgotten when they are flushed');
$q->close;

# ---- whatever happens ----

same('at first', $r);
$s->value('SELECT add(6001, 6400)');
same('inserted', $r);
$s->value('BEGIN; SELECT add(7001, 7100); ROLLBACK; BEGIN; SELECT add(7101, 7200); SAVEPOINT a; SELECT add(7201, 7300);'
	  . ' ROLLBACK TO a; COMMIT');
same('inserted and rolled back', $r);

# an uncommitted row is asked for, not seen, and seen
my $writer = skx_session($node, 'postgres');
$writer->value('BEGIN; SELECT add(8001, 8100)');
same('inserted, not committed', $r);
$writer->value('COMMIT');
same('committed', $r);
$s->value('UPDATE docs SET c = c + 1 WHERE id % 7 = 0; DELETE FROM docs WHERE id % 5 = 0');
same('updated and deleted', $r);
$s->value('VACUUM (INDEX_CLEANUP ON) docs');
same('vacuumed', $r);

# places of dead rows are used by others
$s->value('SELECT add(9001, 9900)');
same('other rows in the places of dead ones', $r);

# VACUUM ends by an error before its flush: dead documents stay in the list,
# and rows that have none of their words take their places
$s->value('SELECT add(9901, 10000); DELETE FROM docs WHERE id % 4 = 1');
same('deleted again', $r);
$s->raw("SET skipidx.fault = 'flush_built:error'; VACUUM (INDEX_CLEANUP ON) docs; RESET skipidx.fault");
work_is('dead documents in the list', $s->value("SELECT pending_dead FROM skipidx_stats('docs_v')"));
$s->value("INSERT INTO docs (v, c) SELECT 'others:1'::tsvector, 3 FROM generate_series(1, 800)");
same('others in the places of dead ones', $r);
$s->value("DELETE FROM docs WHERE v @@ 'others'");

# statistics of a snapshot, of words that are looked up when others have come
my $q = skx_session($node, 'postgres');
$_->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SET skipidx.search_budget = 0') for $q, $r;
is(answer($r, 'rare', "ORDER BY v <@> 'rare', ctid LIMIT 5"), answer($q, 'rare', "ORDER BY v <@> 'rare', ctid LIMIT 5"), 'two snapshots');
$s->value('SELECT add(9951, 10400)');
$r->value("SELECT skipidx_count('docs_v', 'common')") for 1 .. 10;
is(answer($r, $_, "ORDER BY v <@> '$_', ctid LIMIT 5"), answer($q, $_, "ORDER BY v <@> '$_', ctid LIMIT 5"),
	"two snapshots: $_") for 'tens', 'tail3 | filler7', 'common';
$_->value('COMMIT') for $q, $r;
$q->close;

# older views beside newer ones
$r->value("BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'common'; FETCH 1 FROM c");
my $old = answers($r);
my $rows = $s->value("SELECT count(*) FROM docs WHERE v @@ 'common'");
$s->value("SELECT add(10001, 10500); SELECT skipidx_flush('docs_v'); SELECT add(11001, 12000)");
is(answers($r), $old, 'flushed: what the snapshot sees') for 1 .. 3;
is(scalar(split /\n/, $r->value('FETCH ALL FROM c')), $rows - 1, 'flushed: the cursor');
$r->value('COMMIT');
same('flushed', $r, $s);
$s->value("SELECT skipidx_merge('docs_v', 1); SELECT add(12001, 12400)");
same('merged', $r, $s);

# most of what is remembered is pending, and the rest has been flushed
$s->value("SELECT skipidx_flush('docs_v'); SELECT add(10501, 11000)");
same('some to be flushed', $r);
$s->value("SELECT skipidx_flush('docs_v'); SELECT add(12501, 13000)");
same('some flushed', $r);

# cursors of an index that has nothing but a list
for my $part (0 .. 3)
{
	my $z = skx_session($node, 'postgres');

	# each in its own stripe
	$z->value("INSERT INTO small SELECT i, text_of(i) FROM generate_series(101 + $part, 10000, 4) i");
	$z->close;
}
$s->value("ANALYZE small");
$r->value("SELECT skipidx_count('small_v', 'common')") for 1 .. 100;
$r->value("SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR SELECT id FROM small WHERE v @@ 'common'; FETCH 5 FROM c");
my @was = split /\n/, $s->value("SET enable_bitmapscan = off; SELECT id FROM small WHERE v @@ 'common'; RESET enable_bitmapscan");
$s->value("DELETE FROM small WHERE id % 3 = 0; SELECT skipidx_flush('small_v');"
	  . " INSERT INTO small SELECT -i, 'common:7 others:1' FROM generate_series(1, 1000) i");
$r->value("SELECT skipidx_count('small_v', 'common')") for 1 .. 10;
is($r->value('FETCH ALL FROM c'), join("\n", @was[5 .. $#was]), 'a cursor, and what it read is no longer remembered');
$r->value('COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR'
	  . " SELECT id, v <@> 'common' FROM small WHERE v @@ 'common' ORDER BY v <@> 'common'");
my $first = $r->value('FETCH 5 FROM c');
@was = split /\n/, $s->value("SELECT id || '|' || (v <@> 'common') FROM small WHERE v @@ 'common' ORDER BY v <@> 'common'");
$s->value("SELECT skipidx_flush('small_v'); INSERT INTO small SELECT -i, 'common:7 others:1' FROM generate_series(1, 1000) i");
$r->value("SELECT skipidx_count('small_v', 'common')") for 1 .. 10;
is($first . "\n" . $r->value('FETCH ALL FROM c'), join("\n", @was), 'a ranked cursor of an older view');
$r->value('COMMIT; RESET enable_bitmapscan');

# a part of the list is flushed: what is remembered of it is not counted twice
$s->value('TRUNCATE small');
$s->value("INSERT INTO small SELECT i, text_of(i) FROM generate_series(101, 10000) i");
$r->value("SELECT skipidx_count('small_v', 'common')") for 1 .. 10;
$s->value("ALTER INDEX small_v SET (pending_limit = '64kB'); INSERT INTO small SELECT 0, 'common:1' FROM generate_series(1, 500)");
work_is('a part is flushed: pending documents', $s->value("SELECT pending_docs FROM skipidx_stats('small_v')"));
for my $query ('tens | rare', 'common & tail3', 'filler7')
{
	my $z = skx_session($node, 'postgres');
	my $search = "SELECT array_agg(t::text) FROM (SELECT ctid, score FROM skipidx_search('small_v', '$query', 20)) t";

	is($r->value($search), $z->value($search), "a part is flushed: $query");
	$z->close;
}
$s->value("TRUNCATE small; ALTER INDEX small_v SET (pending_limit = '1GB')");

# a cursor in the middle of remembered documents, when they are forgotten
$r->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'common' AND ctid > '(0,0)'; FETCH 2 FROM c");
$rows = $s->value("SELECT count(*) FROM docs WHERE v @@ 'common'");
$s->value("DELETE FROM docs WHERE v IS NULL; VACUUM (INDEX_CLEANUP ON) docs; SELECT add(13001, 13400)");
answers($r);
is(scalar(split /\n/, $r->value('FETCH ALL FROM c')), $rows - 2, 'forgotten under a cursor');
$r->value('COMMIT');
same('vacuumed and inserted', $r);

# another file of the same index, and back
$s->value("CREATE TABLESPACE elsewhere LOCATION ''");
same('before it moves', $s);
$s->value('BEGIN; ALTER INDEX docs_v SET TABLESPACE elsewhere; SELECT add(14001, 14200)');
answers($s) for 1 .. 3;
$s->value('ROLLBACK; SELECT add(15001, 15300)');
same('moved, and back', $s, $r);
$s->value('ALTER INDEX docs_v SET TABLESPACE elsewhere; SELECT add(16001, 16100)');
same('moved', $s, $r);
$s->value('REINDEX INDEX docs_v; SELECT add(17001, 17300)');
same('made anew', $s, $r);

# cancelled wherever that comes
for my $ms (1 .. 25)
{
	$s->value("SELECT add(20000 + $ms * 60, 20000 + $ms * 60 + 50)");
	$r->raw("SET statement_timeout = $ms; SELECT skipidx_count('docs_v', 'common'); RESET statement_timeout");
	$r->raw("SET statement_timeout = 1; SELECT skipidx_count('docs_v', 'tens') FROM generate_series(1, 100); RESET statement_timeout")
	  for 1 .. 3;
}
$r->value('RESET statement_timeout');
same('cancelled', $r);

# ---- memory ----

$s->value("INSERT INTO docs (v, c) SELECT ('common:1' || (SELECT string_agg(' m' || i || 'x' || j || ':2', '')"
	  . " FROM generate_series(1, 40) j))::tsvector, 1 FROM generate_series(1, 15000) i");
same('more than is remembered', $r);
work_is('in 4 MB, of which a table that doubles leaves up to half: bytes', memory($r));

# another index has its turn: what has not been used for long gives way
my $remembered = pages($r, 'nosuch');
$s->value("INSERT INTO small SELECT i, ('common:1' || (SELECT string_agg(' m' || i || 'x' || j || ':2', '')"
	  . " FROM generate_series(1, 40) j))::tsvector FROM generate_series(1, 6000) i");
$r->value("SELECT skipidx_count('small_v', 'rare')") for 1 .. 5;
work_is('another index, for a moment: pages', pages($r, 'nosuch'), remembered => $remembered);
$r->value("SELECT skipidx_count('small_v', 'rare')") for 1 .. 100;
work_is('another index, for long: bytes', memory($r));
work_is('another index, for long: pages', pages($r, 'nosuch'), remembered => $remembered);
same('and comes back', $r);

# ---- a standby ----

$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('pending_memory_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
my $reader = skx_session($standby, 'postgres');
for my $step ("SELECT add(30001, 30500)", 'DELETE FROM docs WHERE id % 3 = 0; VACUUM (INDEX_CLEANUP ON) docs; SELECT add(31001, 31400)',
	"SELECT skipidx_flush('docs_v'); SELECT add(32001, 32300)")
{
	answers($reader) for 1 .. 2;
	$s->value($step);
	$node->wait_for_catchup($standby);
	is(answers($reader), answers($s), "a standby: $step");
}
my $kept = answers($s);
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is(answers($reader), $kept, 'promoted');
$reader->value('SELECT add(40001, 40300)');
my $fresh = skx_session($standby, 'postgres');
is(answers($reader), answers($fresh), 'promoted, and inserted');

is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'skipidx_check');
$_->close for $s, $r, $writer, $reader, $fresh;
$_->stop for $node, $standby;
work_done();
