# Rows that one search finds dead to all are left out by the ones after it, in
# every session, until VACUUM has come to them; what a snapshot, a copy of the
# database or a standby still sees is not, nor is a row that takes the place.
#
# Holds: am 13; blkio 20; pending 10; segment 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_recovered);
use Test::More;

my $versions = 400;
my $primary = skx_node(
	'known_dead',
	streaming => 1,
	conf => "skipidx.max_workers = 0\nwal_level = replica\nmax_prepared_transactions = 4");
my $a = skx_session($primary, 'postgres');

$a->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE DATABASE d;
SQL
$primary->safe_psql('d', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, hits int DEFAULT 0, at timestamptz, v tsvector)
	WITH (autovacuum_enabled = off, fillfactor = 100);
-- row 107 has no value
INSERT INTO docs SELECT i, 0, CASE WHEN i <> 107 THEN '2026-01-01'::timestamptz + i * interval '1 minute' END,
	('all:1 w' || i % 50 || ':2 r' || i || ':3')::tsvector FROM generate_series(1, 3000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, at) WITH (pending_limit = '64MB');
CREATE INDEX docs_hits ON docs (hits);
CREATE PROCEDURE hit(which int, n int) LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. n LOOP UPDATE docs SET hits = hits + 1 WHERE id = which; COMMIT; END LOOP; END $$;
VACUUM ANALYZE docs;
SQL
$a->close;

my %ways = (
	ranked => q{SELECT id, hits FROM docs WHERE v @@ 'w7' ORDER BY v <@> 'w7 | r7'::tsquery LIMIT 5},
	ranked_any => q{SELECT id, hits FROM docs ORDER BY v <@> 'w7 | r7'::tsquery LIMIT 5},
	near => q{SELECT id, hits FROM docs WHERE v @@ 'w7 <-> r7' ORDER BY v <@> 'w7 <-> r7'::tsquery LIMIT 5},
	ascending => q{SELECT id, hits FROM docs WHERE v @@ 'w7' ORDER BY at LIMIT 5},
	descending => q{SELECT id, hits FROM docs WHERE v @@ 'w7' AND at < '2026-01-01 00:08' ORDER BY at DESC LIMIT 5},
	without => q{SELECT id, hits FROM docs WHERE v @@ 'w7' ORDER BY at NULLS FIRST LIMIT 5},
	plain => q{SELECT id, hits FROM docs WHERE v @@ 'w7 & r7'},
	search => q{SELECT d.id, d.hits FROM skipidx_search('docs_v', 'w7 & r7', 5) s JOIN docs d ON d.ctid = s.ctid},
	counted => q{SELECT count(*) FROM docs WHERE v @@ 'w7'},
);

sub settle { my ($s) = @_; $s->value('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off'); return $s; }
sub session { my ($node, $db) = @_; return settle(skx_session($node // $primary, $db // 'd')); }

# Rows of a statement, how many rows were found dead, and what they should be.
sub found
{
	my ($s, $way) = @_;
	my $before = $s->value('SELECT dead_met FROM skipidx_work()');
	my $rows = $s->value($ways{$way});

	return ($rows, $s->value('SELECT dead_met FROM skipidx_work()') - $before);
}

sub expected
{
	my ($s, $way) = @_;
	my $sql = $ways{$way} =~ s/FROM skipidx_search.*/FROM docs d WHERE v \@\@ 'w7 & r7'/r;
	my $rows = $s->value("SET enable_indexscan = off; SET enable_seqscan = on; SET enable_sort = on;"
		  . "$sql");

	$s->value('RESET enable_indexscan');
	settle($s);
	return $rows;
}

sub same
{
	my ($s, $way, $what) = @_;
	my ($rows, $dead) = found($s, $way);

	is($rows, expected($s, $way), "$what, $way: the rows");
	return $dead;
}

$a = session();
my $b = session();

for my $state (qw(pending segment))
{
	for my $way (sort keys %ways)
	{
		# counts note documents of segments only
		next if $way eq 'counted' && $state eq 'pending';
		$a->value($way eq 'without' ? "CALL hit(107, $versions)" : "CALL hit(7, $versions)");
		$a->value("SELECT skipidx_flush('docs_v') \\g /dev/null") if $state eq 'segment';
		my $first = same($a, $way, "$state, first");
		cmp_ok($first, '>=', $versions - 1, "$state, $way: dead rows are noted");
		cmp_ok($first, '<=', 2 * $versions + 10, "... each once");
		is(same($a, $way, "$state, second"), 0, "$state, $way: and not fetched again");
		is(same($b, $way, "$state, another session"), 0, "... by another session");
		$a->value('VACUUM docs');
		is(same($b, $way, "$state, vacuumed"), 0, "$state, $way: nor after VACUUM");
	}
}

# rows that take the places of others are found
my $places = 'SELECT count(*) FROM docs WHERE ctid IN (SELECT place FROM freed)';
$a->value("CREATE TABLE freed AS SELECT ctid AS place FROM docs WHERE id BETWEEN 1000 AND 1400");
$a->value("DELETE FROM docs WHERE id BETWEEN 1000 AND 1400");
$a->value(q{SELECT count(*) FROM docs WHERE v @@ 'r1000 | r1200 | r1:*'});
$a->value('VACUUM docs');
$a->value(q{INSERT INTO docs SELECT i, 1, '2026-01-01', ('all:1 new:2 r' || i || ':3')::tsvector FROM generate_series(1000, 1400) i});
cmp_ok($a->value($places), '>', 100, 'places were used again');
for my $flushed (0, 1)
{
	$a->value("SELECT skipidx_flush('docs_v') \\g /dev/null") if $flushed;
	is($_->value(q{SELECT count(*), sum(id) FROM (SELECT id FROM docs WHERE v @@ 'new' ORDER BY v <@> 'new'::tsquery LIMIT 1000) t}),
		'401|481200', 'and their rows are found') for $a, $b;
}

# an old snapshot goes on seeing what it sees, and what it sees is not noted
for my $state (qw(pending segment))
{
	my $old = session();

	$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs');
	my %before = map { $_ => ($old->value($ways{$_})) } keys %ways;
	$a->value("CALL hit(7, $versions)");
	$a->value("SELECT skipidx_flush('docs_v') \\g /dev/null") if $state eq 'segment';
	for my $way (sort keys %ways)
	{
		is(same($a, $way, "$state, old snapshot"), 0, "$state, $way: what a snapshot may see is not noted");
		is($old->value($ways{$way}), $before{$way}, "$state, $way: and stays where that was taken");
	}
	$old->value('COMMIT');
	# the server asks for the oldest snapshot again once a transaction has ended
	$a->value('SELECT pg_current_xact_id()');
	cmp_ok(same($a, 'ranked', "$state, once it is gone"), '>=', $versions - 1, "$state: it is, once that is gone");
	$a->value('VACUUM docs');
}

# rolled back, prepared
$a->value('BEGIN; UPDATE docs SET hits = -1 WHERE id = 7; ROLLBACK');
cmp_ok(same($a, 'ranked', 'rolled back'), '<=', 1, 'a row that was rolled back is dead');
is(same($a, 'ranked', 'rolled back'), 0, 'and noted');
$a->value("BEGIN; DELETE FROM docs WHERE id = 7; PREPARE TRANSACTION 'p'");
is(same($a, $_, 'prepared'), 0, "$_: a row deleted by a prepared transaction is not dead") for sort keys %ways;
$a->value("ROLLBACK PREPARED 'p'");
is(same($a, $_, 'prepared and rolled back'), 0, "$_: nor then") for sort keys %ways;

# a copy of the database has the rows
$_->close for $a, $b;
$primary->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE d');
$a = session();
my $copy = session($primary, 'copy');
my %kept = map { $_ => ($copy->value($ways{$_})) } keys %ways;
for my $part ("id = 7", "v \@\@ 'w7'")
{
	$a->value("DELETE FROM docs WHERE $part");
	same($a, $_, 'deleted') for sort keys %ways;
	is(same($a, $_, 'deleted, again'), 0, "$_: noted in the original") for sort keys %ways;
	is($copy->value($ways{$_}), $kept{$_}, "$_: the copy keeps its rows") for sort keys %ways;
}
$copy->close;
$a->value(q{-- row 107 has no value
INSERT INTO docs SELECT i, 0, CASE WHEN i <> 107 THEN '2026-01-01'::timestamptz + i * interval '1 minute' END,
	('all:1 w' || i % 50 || ':2 r' || i || ':3')::tsvector FROM generate_series(7, 3000, 50) i});

# what the cache drops is found out again
$b = session();
$a->value("CALL hit(7, $versions)");
for my $way (sort keys %ways)
{
	same($a, $way, 'before the cache is emptied');
	is(same($b, $way, 'before the cache is emptied'), 0, "$way: noted");
	$a->value('SELECT skipidx_cache_reset() \g /dev/null');
	cmp_ok(same($b, $way, 'the cache is empty'), $way eq 'counted' ? '>=' : '>', 0, "$way: noted again");
	is(same($a, $way, 'the cache is empty'), 0, "$way: and not fetched");
}
$a->value('VACUUM docs');

# nor does anything depend on a cache being in use
for my $method (qw(buffered direct uring uring_direct))
{
	$b->value("SET skipidx.io_method = '$method'");
	$a->value("CALL hit(7, 20)");
	for my $way (sort keys %ways)
	{
		same($b, $way, $method);
		is(same($b, $way, "$method, again"), 0, "$method, $way: noted");
	}
}
$b->value("SET skipidx.io_method = 'shared_buffers'");
same($b, $_, 'through shared buffers') for sort keys %ways;

# a standby notes nothing of what its own snapshots may see
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('known_dead_standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1");
$standby->start;
$primary->wait_for_catchup($standby);
my $reader = session($standby);
my $other = session($standby);
$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs');
my %seen = map { $_ => ($reader->value($ways{$_})) } keys %ways;
$a->value("CALL hit(7, $versions)");
$a->value('DELETE FROM docs WHERE id = 57');
same($a, $_, 'the primary') for sort keys %ways;
$primary->wait_for_catchup($standby);
for my $way (sort keys %ways)
{
	is(same($other, $way, 'standby'), 0, "standby, $way: nothing is noted");
	is($reader->value($ways{$way}), $seen{$way}, "standby, $way: an old snapshot sees what it saw");
}
$_->close for $a, $b;
$primary->stop;
$standby->promote;
for my $way (sort keys %ways)
{
	same($other, $way, 'promoted');
	is($reader->value($ways{$way}), $seen{$way}, "promoted, $way: an old snapshot sees what it saw");
}
$reader->value('COMMIT');
same($other, $_, 'promoted, without it') for sort keys %ways;
is(same($other, $_, 'promoted, noted'), 0, "promoted, $_: noted") for sort keys %ways;

# a crash forgets it all
$standby->stop('immediate');
$standby->start;
$other = session($standby);
same($other, $_, 'after a crash') for sort keys %ways;
is(same($other, $_, 'after a crash, noted'), 0, "after a crash, $_: noted") for sort keys %ways;
$standby->stop;
done_testing();
