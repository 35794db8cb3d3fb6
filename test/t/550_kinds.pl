# Flushes and merges in every kind of relation and transaction, and of copies
# of the file: what they write past shared buffers is neither lost nor mixed
# up with what was there before.
#
# Holds: blkio 6, 7; maint 5; manifest 4, 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_reload);
use Test::More;

my $seed = skx_seed(550);

note "seed $seed";
srand($seed);

my $functions = <<'SQL';
CREATE EXTENSION skipidx;
CREATE EXTENSION pg_prewarm;
CREATE SEQUENCE ids;
-- k rows, every 40th larger than a page
CREATE FUNCTION add(t regclass, k int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %s SELECT i, CASE WHEN i %% 40 = 0 THEN (SELECT string_agg(''big'' || b || '':'' || b, '' '')
		FROM generate_series(1, 900) b)::tsvector ELSE ''''::tsvector END ||
		(''all:1 m'' || i %% 7 || '':2 w'' || i || '':3'')::tsvector
		FROM (SELECT nextval(''ids'') AS i FROM generate_series(1, %s)) s', t, k);
END $$;
CREATE FUNCTION drop_some(t regclass, part float8) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %s WHERE random() < %s', t, part);
END $$;
CREATE FUNCTION answer(t regclass, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one text;
	got text := '';
	q text;
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
		set_config('enable_indexscan', (mode = 'plain')::text, true);
	FOREACH q IN ARRAY ARRAY['!none', 'all <-> m3', 'big7 <-> big8', 'm1 | m2', '!m4 & w:*'] LOOP
		EXECUTE format('SELECT count(*) || ''/'' || count(DISTINCT id) || ''/'' || coalesce(sum(id), 0) FROM %s WHERE v @@ $1', t)
			INTO one USING q::tsquery;
		got := got || ' ' || one;
	END LOOP;
	RETURN got;
END $$;
SQL

# Index and heap agree, whichever way pages are read; returns the answer.
sub whole
{
	my ($s, $table, $when) = @_;
	my $want = $s->value("SELECT answer('$table', 'seq')");

	is($s->raw("SELECT skipidx_check('${table}_v', true)"), '', "$when: skipidx_check");
	for my $method (qw(buffered direct uring_direct shared_buffers))
	{
		$s->value("SET skipidx.io_method = $method");
		is($s->value("SELECT answer('$table', '$_')"), $want, "$when: $method, $_") for qw(bitmap plain);
	}
	$s->value('RESET skipidx.io_method');
	return $want;
}

# Frees pages and uses others again.
sub rounds
{
	my ($s, $table, $n) = @_;

	for (1 .. $n)
	{
		$s->value("SELECT add('$table', 120), drop_some('$table', 0.15)");
		$s->value("SELECT skipidx_flush('${table}_v') \\g /dev/null\n");
		$s->value("SELECT skipidx_merge('${table}_v', 1) \\g /dev/null\n");
		$s->value("VACUUM (INDEX_CLEANUP ON) $table") if rand() < 0.4;
		$s->value("SELECT add('$table', 20), drop_some('$table', 0.02)");
	}
	return;
}

sub create
{
	my ($s, $table, $kind) = @_;

	$s->value("CREATE $kind TABLE $table (id int8, v tsvector) WITH (autovacuum_enabled = off);"
		  . " SELECT add('$table', 400) \\g /dev/null\n");
	$s->value("CREATE INDEX ${table}_v ON $table USING skipidx (v) WITH (block_size = '8kB')");
	return;
}

my $node = skx_node('kinds', extra => ['--data-checksums'],
	conf => "max_prepared_transactions = 5\nmaintenance_work_mem = 4MB");

$node->safe_psql('postgres', 'CREATE DATABASE origin');
$node->safe_psql('origin', $functions);

my $s = skx_session($node, 'origin');

# ---- transactions that do not end well, or late ----

create($s, 'docs', '');
my $before = whole($s, 'docs', 'built');

$s->value("BEGIN; SELECT add('docs', 150) \\g /dev/null\nSELECT skipidx_flush('docs_v') \\g /dev/null\n");
$s->value("SELECT drop_some('docs', 0.3), add('docs', 50); SELECT skipidx_merge('docs_v', 1); ROLLBACK");
is(whole($s, 'docs', 'rolled back'), $before, 'rolled back: no row came of it');
is($s->value("SELECT segments FROM skipidx_stats('docs_v')"), 1, 'rolled back: the merge stays');

$s->value("BEGIN; SAVEPOINT a; SELECT add('docs', 100), skipidx_flush('docs_v'); ROLLBACK TO a;"
	  . " SELECT add('docs', 30), skipidx_flush('docs_v'); SAVEPOINT b; SELECT add('docs', 10);"
	  . " RELEASE b; SELECT skipidx_merge('docs_v', 1); COMMIT");
isnt(whole($s, 'docs', 'savepoints'), $before, 'savepoints: what was kept is there');
is($s->value('SELECT count(*) FROM docs'), 440, 'savepoints: and no more');

for my $end (qw(COMMIT ROLLBACK))
{
	$s->value("BEGIN; SELECT add('docs', 60), skipidx_flush('docs_v'), add('docs', 60) \\g /dev/null\n"
		  . "SELECT skipidx_merge('docs_v', 1) \\g /dev/null\nPREPARE TRANSACTION 'p'");
	$s->value("SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v', 1), add('docs', 5)");
	$before = whole($s, 'docs', "prepared, $end");
	if ($end eq 'COMMIT')
	{
		$s->close;
		$node->stop('immediate');
		$node->start;
		$s = skx_session($node, 'origin');
		is(whole($s, 'docs', 'prepared and crashed'), $before, 'prepared and crashed: the same');
	}
	$s->value("$end PREPARED 'p'");
	whole($s, 'docs', "prepared, then $end");
}
is($s->value('SELECT count(*) FROM docs'), 440 + 10 + 120, 'prepared: rows');

# ---- kinds of tables ----

for my $kind (qw(TEMP UNLOGGED))
{
	my $table = lc $kind;

	create($s, $table, $kind);
	rounds($s, $table, 6);
	whole($s, $table, $kind);
}
# One that is emptied in the transaction that made it, and at each commit
$s->value("BEGIN; CREATE TABLE again (id int8, v tsvector); CREATE INDEX again_v ON again USING skipidx (v) WITH (block_size = '8kB');"
	  . " SELECT add('again', 300), skipidx_flush('again_v'); TRUNCATE again; SELECT add('again', 100), skipidx_flush('again_v');"
	  . " SELECT add('again', 50); COMMIT");
whole($s, 'again', 'truncated where it was made');
is($s->value('SELECT count(*) FROM again'), 150, 'truncated where it was made: rows');
rounds($s, 'again', 3);
whole($s, 'again', 'and changed');
$s->value("CREATE TEMP TABLE gone (id int8, v tsvector) ON COMMIT DELETE ROWS; CREATE INDEX gone_v ON gone USING skipidx (v) WITH (block_size = '8kB')");
for (1 .. 3)
{
	$s->value("BEGIN; SELECT add('gone', 200), skipidx_flush('gone_v'), add('gone', 20)");
	whole($s, 'gone', 'emptied at commit');
	$s->value('COMMIT');
	is($s->value("SELECT answer('gone', 'plain')"), $s->value("SELECT answer('gone', 'seq')"), 'emptied at commit: empty');
}

my $unlogged = $s->value("SELECT answer('unlogged', 'seq')");

$before = $s->value("SELECT answer('docs', 'seq')");
$s->close;
$node->restart;
$s = skx_session($node, 'origin');
is(whole($s, 'unlogged', 'UNLOGGED, restarted'), $unlogged, 'UNLOGGED: kept by a clean restart');
rounds($s, 'unlogged', 2);
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'origin');
like(whole($s, 'unlogged', 'UNLOGGED, crashed'), qr{^ 0/}, 'UNLOGGED: empty after a crash');
rounds($s, 'unlogged', 3);
whole($s, 'unlogged', 'UNLOGGED, used again');
is(whole($s, 'docs', 'crashed'), $before, 'crashed: what was committed');
$s->value('ALTER TABLE unlogged SET LOGGED');
rounds($s, 'unlogged', 2);
my $logged = whole($s, 'unlogged', 'made logged');

# ---- the file at another place, and other files in its place ----

my $space = PostgreSQL::Test::Utils::tempdir();

$s->value("CREATE TABLESPACE space LOCATION '$space'");
# Pages that a tool reads while they are free or of old segments
for my $move ('ALTER INDEX docs_v SET TABLESPACE space', 'VACUUM FULL docs', 'CLUSTER docs USING docs_id',
	'ALTER INDEX docs_v SET TABLESPACE pg_default', 'REINDEX INDEX CONCURRENTLY docs_v', 'CHECKPOINT')
{
	$s->value('CREATE INDEX IF NOT EXISTS docs_id ON docs (id)');
	rounds($s, 'docs', 3);
	$s->value("SELECT pg_prewarm('docs_v')");
	rounds($s, 'docs', 2);
	$before = whole($s, 'docs', "before $move");
	$s->value($move);
	is(whole($s, 'docs', $move), $before, "$move: the same answers");
}
$before = whole($s, 'docs', 'moved');
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'origin');
is(whole($s, 'docs', 'moved and crashed'), $before, 'moved and crashed: the same answers');
is(whole($s, 'unlogged', 'made logged and crashed'), $logged, 'made logged and crashed: kept');

# ---- copies of a database, whose pages come through shared buffers or not ----

for my $strategy (qw(wal_log file_copy))
{
	rounds($s, 'docs', 2);
	$before = whole($s, 'docs', "template, $strategy");
	$s->close;
	$node->safe_psql('postgres', "CREATE DATABASE copy_$strategy TEMPLATE origin STRATEGY $strategy");
	$s = skx_session($node, 'origin');
	my $copy = skx_session($node, "copy_$strategy");

	is(whole($copy, 'docs', "copied, $strategy"), $before, "copied, $strategy: the same answers");
	for (1 .. 3)
	{
		rounds($copy, 'docs', 1);
		rounds($s, 'docs', 1);
		whole($copy, 'docs', "copied, $strategy, changed");
		whole($s, 'docs', "origin, $strategy, changed");
	}
	$copy->value('CHECKPOINT');
	$before = whole($copy, 'docs', "copied, $strategy, written");
	$copy->close;
	$s->close;
	$node->stop($strategy eq 'wal_log' ? 'immediate' : 'fast');
	$node->start;
	$copy = skx_session($node, "copy_$strategy");
	is(whole($copy, 'docs', "copied, $strategy, restarted"), $before, "copied, $strategy, restarted: the same answers");
	$copy->close;
	$s = skx_session($node, 'origin');
	whole($s, 'docs', "origin, $strategy, restarted");
}
$s->close;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00[12]/, 'nothing else in the log');
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');

# ---- wal_level = minimal: logged at commit, or synced ----

my $minimal = skx_node('minimal', extra => ['--data-checksums'], conf => "wal_level = minimal\nmax_wal_senders = 0");

$minimal->safe_psql('postgres', $functions);
for my $threshold ('0', '1GB')
{
	$minimal->safe_psql('postgres', "ALTER SYSTEM SET wal_skip_threshold = '$threshold'");
	skx_reload($minimal);
	$minimal->safe_psql('postgres', 'CHECKPOINT');
	$s = skx_session($minimal, 'postgres');
	$s->value('DROP TABLE IF EXISTS docs');
	$s->value("BEGIN; CREATE TABLE docs (id int8, v tsvector); SELECT add('docs', 300);"
		  . " CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');"
		  . " SELECT add('docs', 200); SELECT skipidx_flush('docs_v'); SELECT add('docs', 100);"
		  . " DELETE FROM docs WHERE id % 5 = 0; SELECT skipidx_flush('docs_v');"
		  . " SAVEPOINT a; SELECT add('docs', 100), skipidx_flush('docs_v'); ROLLBACK TO a;"
		  . " SELECT skipidx_merge('docs_v', 1); SELECT add('docs', 10); COMMIT");
	$before = whole($s, 'docs', "minimal, $threshold");
	$s->close;
	$minimal->stop('immediate');
	$minimal->start;
	$s = skx_session($minimal, 'postgres');
	is(whole($s, 'docs', "minimal, $threshold, crashed"), $before, "minimal, $threshold: the same answers");
	rounds($s, 'docs', 3);
	$before = whole($s, 'docs', "minimal, $threshold, changed");
	$s->close;
	$minimal->stop('immediate');
	$minimal->start;
	$s = skx_session($minimal, 'postgres');
	is(whole($s, 'docs', "minimal, $threshold, crashed again"), $before, "minimal, $threshold: the same answers again");
	$s->close;
}
$minimal->stop;
command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'pg_checksums, minimal');
done_testing();
