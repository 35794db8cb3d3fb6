# What a session keeps of indexes: whatever happens to an index, its file or its
# number, the session answers what a new one does; what it keeps of an index goes
# with that, and is bounded; an error while something is read leaves nothing.
#
# Holds: sessioncache 1, 2, 4, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_contexts);
use Test::More;

my $node = skx_node('session_cache', streaming => 1, faults => 1, conf => "skipidx.max_workers = 0\n"
	  . "allow_in_place_tablespaces = on\nenable_seqscan = off\nenable_bitmapscan = off\nenable_sort = off\n");
my $s = skx_session($node, 'postgres');

# Documents of each salt have other words in other numbers, in segments of 60,
# and the last 40 are pending.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLESPACE elsewhere LOCATION '';
CREATE FUNCTION doc(i int, salt int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(format('w%s:%s', (hashint4(i * 31 + p + salt * 7919) & 65535) % (7 + salt % 5 + p), p), ' ')::tsvector
		FROM generate_series(1, 4 + (hashint4(i + salt) & 7)) p $$;
CREATE PROCEDURE fill(t text, salt int, last int DEFAULT 400) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 0 .. last / 60 LOOP
		EXECUTE format('INSERT INTO %I SELECT i, doc(i, $1), i %% 17 FROM generate_series($2, $3) i', t)
			USING salt, n * 60 + 1, least(n * 60 + 60, last);
		IF n * 60 + 60 <= last THEN PERFORM skipidx_flush((t || '_v')::regclass); END IF;
	END LOOP;
END $$;
SQL

my $options = "(v, c) WITH (pending_limit = '1GB', block_size = '8kB', segments_per_tier = 64)";

sub create { my ($t) = @_; return "CREATE TABLE $t (id int PRIMARY KEY, v tsvector, c int) WITH (autovacuum_enabled = off);"
	  . " CREATE INDEX ${t}_v ON $t USING skipidx $options;"; }

my @queries = ('w1 & w3', 'w2 | w9', 'w4 <-> w1', 'w1:*', 'w5 & !w0', 'nosuch');

# Rows in the order of their scores with these, numbers of rows, and the first
# ones in the order of a column; twice, so that what is kept is used.
sub answers
{
	my ($session, $t, $times) = @_;
	my $text;

	for (1 .. $times // 2)
	{
		$text = '';
		for my $query (@queries)
		{
			$text .= $session->value("SELECT string_agg(id || ' ' || round(d::numeric, 4), ',') FROM (SELECT id, v <\@> '$query' AS d"
				  . " FROM $t WHERE v @@ '$query' ORDER BY v <\@> '$query', ctid LIMIT 7) l") . "\n";
			$text .= $session->value("SELECT skipidx_count('${t}_v', '$query'), count(*) FROM $t WHERE v @@ '$query'") . "\n";
			$text .= $session->value("SELECT string_agg(id || ' ' || c, ',') FROM (SELECT id, c"
				  . " FROM $t WHERE v @@ '$query' ORDER BY c, ctid LIMIT 5) l") . "\n";
		}
	}
	return $text;
}

# The sessions say what one that has kept nothing does, and have kept something.
sub same
{
	my ($what, $t, @sessions) = @_;
	my $fresh = skx_session($node, 'postgres');
	my $wanted = answers($fresh, $t, 1);

	$fresh->close;
	is(answers($_, $t), $wanted, $what) for @sessions;
	return $wanted;
}

# Bytes in use of what the session keeps.
sub kept
{
	my ($session) = @_;
	my $contexts = skx_contexts($session);

	return $session->value("WITH RECURSIVE n AS (SELECT 'skipidx session' AS name"
		  . " UNION SELECT m.name FROM $contexts m JOIN n ON m.parent = n.name)"
		  . ' SELECT coalesce(sum(used_bytes), 0) FROM pg_backend_memory_contexts WHERE name IN (SELECT name FROM n)');
}

# ---- whatever happens to an index ----

my $k = skx_session($node, 'postgres');

$s->value(create('docs') . " CALL fill('docs', 1)");
is($s->value("SELECT segments, pending_docs FROM skipidx_stats('docs_v')"), '6|40', 'segments');
like(same('at first', 'docs', $k, $s), qr/^\d+ -\d/, 'rows');
cmp_ok(kept($k), '>', 5000, 'something is kept');

for my $change ([ 'REINDEX', 'REINDEX INDEX docs_v' ], [ 'REINDEX CONCURRENTLY', 'REINDEX INDEX CONCURRENTLY docs_v' ],
	[ 'emptied', 'TRUNCATE docs', 2 ], [ 'VACUUM FULL', 'DELETE FROM docs WHERE id % 3 = 0; VACUUM FULL docs' ],
	[ 'CLUSTER', 'CLUSTER docs USING docs_pkey' ], [ 'moved', 'ALTER INDEX docs_v SET TABLESPACE elsewhere' ],
	[ 'moved back', 'ALTER INDEX docs_v SET TABLESPACE pg_default' ],
	[ 'made anew', "DROP INDEX docs_v; CREATE INDEX docs_v ON docs USING skipidx $options" ],
	[ 'another table', 'DROP TABLE docs; ' . create('docs'), 3 ], [ 'merged', "SELECT skipidx_merge('docs_v', 1)" ],
	[ 'VACUUM', 'DELETE FROM docs WHERE id % 4 = 1; VACUUM ANALYZE docs' ])
{
	my ($what, $sql, $salt) = @$change;

	for my $by ($s, $k)
	{
		my $who = $by == $s ? 'by another' : 'by itself';

		$by->value('TRUNCATE docs');
		$by->value("CALL fill('docs', " . ($by == $s ? 5 : 6) . ')');
		same("$what $who: before", 'docs', $k);
		$by->value($sql);
		same("$what $who", 'docs', $k);
		$by->value("CALL fill('docs', $salt)") if $salt;
		same("$what $who: filled", 'docs', $k) if $salt;
	}
}

# Rolled back: what was kept of the new file is not of the old one, and the
# reverse.
for my $sql ('REINDEX INDEX docs_v', 'TRUNCATE docs', 'ALTER INDEX docs_v SET TABLESPACE elsewhere',
	"DROP INDEX docs_v; CREATE INDEX docs_v ON docs USING skipidx $options")
{
	my $was = answers($k, 'docs');

	for my $way ([ 'BEGIN', 'ROLLBACK' ], [ 'BEGIN; SAVEPOINT a', 'ROLLBACK TO a; COMMIT' ])
	{
		$k->value("$way->[0]; $sql; INSERT INTO docs SELECT i, doc(i, 8), 3 FROM generate_series(1001, 1200) i;"
			  . " SELECT skipidx_flush('docs_v') \\g /dev/null\n");
		my $inside = answers($k, 'docs');

		isnt($inside, $was, "$sql: another answer");
		$k->value("$way->[1]");
		is(answers($k, 'docs'), $was, "$sql, $way->[1]");
	}
	same("$sql: rolled back", 'docs', $k);
}

# Emptied in place, in the transaction that has made the file.
$k->value('BEGIN; ' . create('fresh') . " CALL fill('fresh', 1)");
my $first = answers($k, 'fresh');
$k->value("TRUNCATE fresh; CALL fill('fresh', 2)");
my $second = answers($k, 'fresh');
isnt($second, $first, 'emptied in place: another answer');
$k->value('COMMIT');
same('emptied in place', 'fresh', $k);
is(answers($k, 'fresh'), $second, 'emptied in place: as before its end');
$k->value('DROP TABLE fresh');

# ---- a standby, and what it is promoted to ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('session_standby');

$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $r = skx_session($standby, 'postgres');

sub same_on_standby
{
	my ($what) = @_;

	$node->wait_for_catchup($standby);
	same($what, 'docs', $k);
	is(answers($r, 'docs'), answers($k, 'docs', 1), "$what: on the standby");
	return;
}

same_on_standby('followed');
$s->value("TRUNCATE docs; CALL fill('docs', 4)");
same_on_standby('followed: emptied');
$s->value("REINDEX INDEX docs_v; SELECT skipidx_merge('docs_v', 1)");
same_on_standby('followed: made anew');
$standby->promote;
$r->value("DELETE FROM docs WHERE id % 3 = 0; INSERT INTO docs SELECT i, doc(i, 9), 1 FROM generate_series(2001, 2100) i;"
	  . " SELECT skipidx_flush('docs_v') \\g /dev/null\n");
my $t = skx_session($standby, 'postgres');

is(answers($r, 'docs'), answers($t, 'docs'), 'promoted');
$r->value("TRUNCATE docs; CALL fill('docs', 10)");
is(answers($r, 'docs'), answers($t, 'docs'), 'promoted: emptied');
$_->close for $r, $t;
$standby->stop;

# ---- what is kept of what is gone ----

sub one_index
{
	my ($i) = @_;

	return create("gone$i") . " INSERT INTO gone$i SELECT i, doc(i, $i), i FROM generate_series(1, 50) i;"
	  . " SELECT skipidx_flush('gone${i}_v') \\g /dev/null\n"
	  . " SELECT count(*) FROM (SELECT FROM gone$i WHERE v @@ 'w1 | w2' ORDER BY v <\@> 'w1 | w2' LIMIT 5) l;"
	  . " SELECT skipidx_count('gone${i}_v', 'w1') \\g /dev/null\n";
}

my $d = skx_session($node, 'postgres');

# Learns what it is told of its own changes, too, and then ends a transaction.
sub learn { my ($session) = @_; $session->value('SELECT count(*) FROM pg_class') for 1 .. 2; return; }

$d->value(one_index(0) . ' DROP TABLE gone0');
learn($d);
my $one = kept($d);
my $most = 0;

for my $i (1 .. 30)
{
	$d->value(one_index($i));
	$most = kept($d) if kept($d) > $most;
	if ($i % 3 == 0) { $s->value("DROP TABLE gone$i") }
	elsif ($i % 3 == 1) { $d->value("DROP TABLE gone$i") }
	else { $d->value("BEGIN; DROP TABLE gone$i; COMMIT") }
	learn($d);
}
cmp_ok($most, '>', $one, 'an index: something is kept');
is(kept($d), $one, 'dropped: nothing is kept');
$d->value('BEGIN; ' . one_index(100) . ' ROLLBACK');
learn($d);
is(kept($d), $one, 'rolled back: nothing is kept');
$d->value(one_index(101));
my $with = kept($d);
for (1 .. 20)
{
	$d->value("REINDEX INDEX gone101_v; SELECT skipidx_count('gone101_v', 'w1')");
	learn($d);
}
cmp_ok(kept($d), '<=', $with, 'made anew many times: of one file');

# What is written of an index in pg_class invalidates it, and does not change
# it: what a transaction uses then is not read again.
$s->value('VACUUM gone101');
my @pins;

for my $round (0 .. 3)
{
	my $pins = "SELECT sum(pins) FROM skipidx_io_methods() WHERE scope = 'session'";

	$s->value('ALTER INDEX gone101_v SET (segments_per_tier = 63)') if $round == 2;
	$s->value('ALTER INDEX gone101_v SET (segments_per_tier = 62)') if $round == 3;
	learn($d) if $round == 0 || $round == 3;
	$d->value('REINDEX INDEX gone101_v; SELECT count(*) FROM pg_class; SELECT count(*) FROM pg_class') if $round == 0;
	my @said = split /\n/, $d->value("BEGIN; $pins; SELECT skipidx_count('gone101_v', 'w1'); $pins; COMMIT");
	push @pins, $said[2] - $said[0];
}
cmp_ok($pins[0], '>', $pins[1], 'invalidated: the header was read');
is($pins[2], $pins[1], 'invalidated: what a transaction uses is not read again');
is($pins[3], $pins[0], 'invalidated: what none uses is');
$d->value('DROP TABLE gone101');
$d->close;

# ---- how much is kept ----

$d = skx_session($node, 'postgres');
$d->value(one_index($_)) for 200 .. 299;
my $hundred = kept($d);

$d->value(one_index($_)) for 300 .. 360;
cmp_ok(kept($d), '<', $hundred * 1.02, 'many indexes: no more than of some');
$s->value("DROP TABLE gone$_") for 200 .. 360;
learn($d);
cmp_ok(kept($d), '<', $hundred / 4, 'many indexes: gone');
$d->close;

# Words of very many queries, in segments that each have a few hundred.
$s->value("TRUNCATE docs; CALL fill('docs', 12, 1200)");
$d = skx_session($node, 'postgres');
my @kept;

for my $round (0 .. 11)
{
	$d->value("SELECT count(*) FROM generate_series(1, 400) q, LATERAL (SELECT FROM skipidx_search('docs_v',"
		  . " format('w%s | %s | %s', q % 19, md5((q + 400 * $round)::text), md5((-q - 400 * $round)::text))::tsquery, 3)) l");
	push @kept, kept($d);
}
cmp_ok($kept[5], '>', 1_000_000, "many words: @kept");
cmp_ok($kept[11], '<', 5_000_000, 'many words: bounded');
cmp_ok($kept[11], '<', $kept[5] * 1.3, 'many words: no more than of some');
same('many words', 'docs', $d);
$d->close;

# ---- an error in the middle ----

$s->value("TRUNCATE docs; CALL fill('docs', 11, 360)");
$_->close for $k, $s;
$node->restart;
$d = skx_session($node, 'postgres');
my $errors = 0;

for my $nth (1 .. 12)
{
	my $sql = "SET skipidx.fault_read = 'error:$nth'; SELECT skipidx_cache_reset() \\g /dev/null\n"
	  . "SELECT count(*) FROM (SELECT FROM docs WHERE v @@ 'w1 & w3' ORDER BY v <\@> 'w1 & w3' LIMIT 5) l;"
	  . " SELECT count(*) FROM docs WHERE v @@ 'w5 & w2'; RESET skipidx.fault_read";

	$d->raw($sql);
	my $said = $d->raw($sql);
	my $before = kept($d);

	$errors++ if $said =~ /ERROR/;
	$d->raw($sql) for 1 .. 5;
	is(kept($d), $before, "an error at read $nth: nothing is left");
	$d->raw("BEGIN; SAVEPOINT a; $sql; ROLLBACK TO a; COMMIT") for 1 .. 3;
	is(kept($d), $before, "an error at read $nth, in a subtransaction: nothing is left");
}
cmp_ok($errors, '>', 5, 'errors');
$d->value('RESET skipidx.fault_read');
same('after errors', 'docs', $d);
$d->close;
$node->stop;
done_testing();
