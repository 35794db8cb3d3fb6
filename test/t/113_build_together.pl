# CREATE INDEX with parallel workers: the index that one process would have
# built, whatever the rows, the block size, the memory and the number of workers.
#
# What happens when a build is stopped: 115_build_stopped.pl.
#
# Long, when named: all block sizes and numbers of workers, else some.
#
# Holds: am 9; build 1, 3; invert 4, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxDiff;
use SkipidxGen;
use SkipidxTeam;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;
use Time::HiRes qw(usleep);

my $all = $ENV{SKX_FAULTS_ALL};
my $seed = skx_seed(113);
my $node = skx_node('together', conf => $SkipidxTeam::conf . "work_mem = 16MB");

note "seed $seed: SKIPIDX_SEED=$seed repeats this run";
skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $team = SkipidxTeam->new($node, 'd');
my $diff = SkipidxDiff->new($s);

$s->value(<<'SQL');
ALTER TABLE docs SET (autovacuum_enabled = off, parallel_workers = 3);

CREATE FUNCTION quoted(l text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
	SELECT '''' || replace(replace(l, '\', '\\'), '''', '''''') || ''''
$$;

-- Queries about k rows, with words that are in them and in another one.
CREATE FUNCTION ask_about(k int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	d record;
	a text;
	b text;
	o text := 'nosuchword';
	i int;
	far int;
	n int;
	w text;
BEGIN
	DELETE FROM queries;
	FOR d IN SELECT r.v, t.* FROM (SELECT v FROM docs WHERE length(v) > 0 ORDER BY random() LIMIT k) r,
		LATERAL (SELECT array_agg(lexeme ORDER BY p, lexeme) AS l, array_agg(p ORDER BY p, lexeme) AS ps,
				array_agg(weight ORDER BY p, lexeme) AS ws
			FROM unnest(r.v) u LEFT JOIN LATERAL unnest(u.positions, u.weights) x(p, weight) ON true) t
	LOOP
		i := 1 + floor(random() * array_length(d.l, 1));
		n := least(i + 1, array_length(d.l, 1));
		a := quoted(d.l[i]);
		b := quoted(d.l[n]);
		far := coalesce(d.ps[n] - d.ps[i], 1);
		w := coalesce(d.ws[i], 'A');
		INSERT INTO queries SELECT (SELECT count(*) FROM queries) + row_number() OVER (), 'own', 'raw', txt
			FROM unnest(ARRAY[a, a || ' & ' || b, a || ' & ' || o, a || ' | ' || o, a || ' & !' || o, '!' || a,
				a || ' <' || far || '> ' || b, a || ' <' || far + 1 || '> ' || b, '(' || a || '|' || o || ') <' || far || '> ' || b,
				quoted(left(d.l[i], 1 + floor(random() * 4)::int)) || ':*', a || ':' || w,
				quoted(left(d.l[n], 3)) || ':* & !' || b, '!' || a || ' & !' || o]) txt;
		o := a;
	END LOOP;
	ANALYZE queries;
	RETURN (SELECT count(*) FROM queries);
END $$;
SQL

# ---- the same index ----

my %kinds = (
	one => "INSERT INTO docs VALUES (1, 'one', 'a:1 b:2')",
	page => "INSERT INTO docs SELECT i, 'p', ('a:1 b' || i % 7 || ':2,3A c' || i)::tsvector FROM generate_series(1, 20) i",
	null => 'INSERT INTO docs SELECT i, NULL, NULL FROM generate_series(1, 900) i',
	empty => "INSERT INTO docs SELECT i, NULL, '' FROM generate_series(1, 900) i",
	dead => "INSERT INTO docs SELECT i, NULL, 'gone' FROM generate_series(1, 900) i; DELETE FROM docs",
	same => "INSERT INTO docs SELECT i, NULL, 'all:1' FROM generate_series(1, 9000) i",
	bare => "INSERT INTO docs SELECT i, NULL, strip(('a b' || i % 13 || ' c' || i % 1000)::tsvector) FROM generate_series(1, 5000) i",
	labels => "INSERT INTO docs SELECT i, NULL, ('a:1A,5B,9C b' || i % 13 || ':2' || chr(65 + i % 4) || ',7 c' || i % 1000 || ':3B')::tsvector"
	  . ' FROM generate_series(1, 5000) i',
	distinct => "INSERT INTO docs SELECT i, NULL, ('a' || i || ':1 b' || i * 7 || ':2 c' || i || ':3 d' || i || ':4')::tsvector"
	  . ' FROM generate_series(1, 6000) i',
	long => "INSERT INTO docs SELECT i, NULL, (repeat('L', 50 + i % 20) || i % 50 || ':1 ' || repeat('M', 2030) || i % 97 || ':2 '"
	  . " || repeat('N', 60 + i % 9) || ':3 ' || repeat('é', 20 + i % 30) || i || ':4 漢字' || i % 30 || ':5')::tsvector"
	  . ' FROM generate_series(1, 1500) i',
	hot => "ALTER TABLE docs SET (fillfactor = 40); INSERT INTO docs SELECT i, '', ('h' || i % 10 || ':1 x' || i || ':2')::tsvector"
	  . " FROM generate_series(1, 3000) i; UPDATE docs SET kind = 'a' WHERE id % 3 = 0; VACUUM docs;"
	  . " UPDATE docs SET kind = 'b' WHERE id % 2 = 0; ALTER TABLE docs RESET (fillfactor)",
	deleted => "INSERT INTO docs SELECT i, NULL, ('d' || i % 10 || ':1 x' || i || ':2')::tsvector FROM generate_series(1, 6000) i;"
	  . ' DELETE FROM docs WHERE id % 3 = 0; VACUUM docs; DELETE FROM docs WHERE id % 4 = 0 OR id BETWEEN 1000 AND 2000;'
	  . " INSERT INTO docs SELECT i, NULL, ('d' || i % 10 || ':1')::tsvector FROM generate_series(7000, 7500) i",
	huge => "INSERT INTO docs SELECT i, NULL, (SELECT array_to_tsvector(array_agg(repeat(chr(97 + i), 2000) || '_' || i * j)) || 'a:1 b:2'"
	  . ' FROM generate_series(1, 500) j) FROM generate_series(1, 6) i;'
	  . " INSERT INTO docs SELECT i, NULL, ('a:1 c' || i || ':2')::tsvector FROM generate_series(7, 500) i",
	words => "INSERT INTO docs SELECT i, NULL, (SELECT string_agg('w' || (power(random(), 4) * 5000 + i * 0)::int || ':' || p"
	  . " || CASE WHEN i % 5 = 0 THEN 'A' ELSE '' END, ' ')::tsvector FROM generate_series(1, 40) p)"
	  . ' FROM generate_series(1, 8000) i');

my @blocks = qw(8kB 32kB 128kB 1MB);
my %alone;

sub size { return $s->value("SELECT pg_relation_size('docs_v')"); }

# Builds the index, and checks that workers took part.
sub build
{
	my ($name, $workers, $held, $block, $memory) = @_;
	my $sql = "CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '$block')";
	my ($said, $took);

	$s->value("DROP INDEX IF EXISTS docs_v; SET maintenance_work_mem = '$memory'");
	($said, $took) = $held ? $team->held($s, $workers, $sql) : $team->run($s, $workers, $sql);
	is($said, '', "$name: built");
	if ($workers)
	{
		cmp_ok($took->{shares}, $held ? '==' : '>=', $held ? $workers : 1, "$name: workers");
	}
	else
	{
		is($took->{launched}, 0, "$name: no workers");
	}
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
	return $took;
}

# One table, alone and together, in some variants.
sub same_index
{
	my ($kind, @variants) = @_;
	my $ask = $s->value('SELECT count(*) FROM queries');

	if ($ask)
	{
		$s->value('DELETE FROM answers');
		$diff->run($kind, 'seq', 1);
	}
	for my $variant (@variants)
	{
		my ($workers, $held, $block, $memory) = @$variant;
		my $name = "$kind, $block, $memory";

		build("$name, alone", 0, 0, $block, $memory);
		my $alone = $team->totals($s, 'docs_v');
		my $size = size();

		$name .= ", $workers workers" . ($held ? ' without leader' : '');
		build($name, $workers, $held, $block, $memory);
		is($team->totals($s, 'docs_v'), $alone, "$name: the same counts");
		cmp_ok(size(), '<=', $size * 1.03 + 4 * $s->value("SELECT pg_size_bytes('$block')"), "$name: size");
		next unless $ask;
		for my $mode (qw(bitmap plain))
		{
			$s->value("DELETE FROM answers WHERE mode = '$mode'");
			$diff->run($kind, $mode, 1);
			ok($diff->agrees($kind, $kind, $mode), $name);
		}
	}
	return;
}

my $turn = 0;

for my $kind (sort keys %kinds)
{
	$s->value("DROP INDEX IF EXISTS docs_v; TRUNCATE docs; $kinds{$kind}; ANALYZE docs");
	$s->value('SELECT ask_about(8)');
	same_index($kind,
		[ 1 + $turn % 3, 1, $blocks[ $turn % 4 ], $turn % 2 ? '64MB' : '1MB' ],
		$all ? map { my $n = $_; map { [ $n, 1, $_, '1MB' ], [ $n, 1, $_, '64MB' ] } @blocks } 1 .. 3 : ());
	$turn++;
}

# All kinds of rows and of queries, with and without a leader that scans.
{
	my $gen = SkipidxGen->new(seed => $seed, vocab => 250);

	$s->value('DROP INDEX docs_v; TRUNCATE docs, queries');
	$gen->add_documents(1400);
	$gen->add_large(2500);
	$gen->add_documents(300);
	$diff->load_documents([ $gen->copy_documents(1) ], 0);
	$diff->load_queries($gen->copy_queries(2));
	same_index('mixed', [ 3, 1, '8kB', '1MB' ], [ 2, 1, '64kB', '64MB' ]);
}

# Larger: many runs, which are reduced, many tasks, and a leader that scans.
$s->value("DROP INDEX docs_v; TRUNCATE docs, queries");
$s->value("INSERT INTO docs SELECT i, NULL, (SELECT string_agg('w' || (power(random(), 4) * 30000 + i * 0)::int || ':' || p"
	  . " || CASE WHEN i % 5 = 0 THEN 'A' ELSE '' END, ' ')::tsvector FROM generate_series(1, 60) p)"
	  . ' FROM generate_series(1, 16000) i; ANALYZE docs; SELECT ask_about(4)');
for my $variant ([ 2, 0, '8kB', '1MB' ], [ 3, 1, '32kB', '1MB' ], [ 3, 0, '8kB', '64MB' ])
{
	same_index('large', $variant);
}
cmp_ok(build('large, tasks', 2, 0, '8kB', '16MB')->{tasks}, '>', 2, 'large: several tasks');

# Progress at the end, with parts of runs that are read twice.
{
	my $f = $team->fault;
	my $b = skx_session($node, 'd');

	$f->hold($f->{s}, 'build_segment_written');
	$f->arm($b, 'build_segment_written', 'wait');
	$b->start("SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '1MB';"
		  . " CREATE INDEX docs_p ON docs USING skipidx (v) WITH (block_size = '8kB')");
	ok($f->waits($s, 'build_segment_written'), 'large, progress: the leader is at the end');
	my ($tuples, $done, $total) = split /\|/,
	  $s->value('SELECT tuples_done, blocks_done, blocks_total FROM pg_stat_progress_create_index');

	is($tuples, 16000, 'large, progress: rows');
	cmp_ok($total, '>', 500, 'large, progress: blocks are known');
	cmp_ok($done, '<=', $total, 'large, progress: not more than there are');
	$f->release($f->{s}, 'build_segment_written');
	is($b->finish, '', 'large, progress: built');
	$b->close;
	$s->value('DROP INDEX docs_p');
}

# Several segments: 1 MB of memory is for 262,144 rows.
$s->value(<<'SQL');
DROP INDEX docs_v;
TRUNCATE docs, queries;
INSERT INTO docs SELECT i, NULL, ('a t' || i % 1000)::tsvector FROM generate_series(1, 600000) i;
SQL
build('segments', 2, 0, '8kB', '1MB');
like($team->totals($s, 'docs_v'), qr/^600000\|0\|0\|1200000\|0\|1200000\|\d+\|3$/, 'segments: three');
$s->value("INSERT INTO docs SELECT i, NULL, ('a u' || i % 1000)::tsvector FROM generate_series(1, 3000) i;"
	  . ' DELETE FROM docs WHERE id % 7 = 0');
$s->value('VACUUM docs');
$s->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n");
$s->value("SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n");
like($team->totals($s, 'docs_v'), qr/^\d+\|0\|0\|\d+\|0\|\d+\|2001\|1$/, 'segments: merged');
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'segments: skipidx_check after a merge');
is($s->value("SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'a & t8'"),
	$s->value("SET enable_seqscan = on; SELECT count(*) FROM docs WHERE id <= 600000 AND id % 1000 = 8 AND id % 7 <> 0"
	  . " AND v @@ 't8'"), 'segments: answers after a merge');
$s->value('TRUNCATE docs');
is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'truncated');
$s->value('DROP INDEX docs_v');

# ---- kinds of indexes, and of statements that build them ----

$s->value('RESET maintenance_work_mem; SET allow_in_place_tablespaces = on');
$s->value(<<'SQL');
-- Not in SQL, which would be inlined, whatever it is declared as.
CREATE FUNCTION unsafe(v tsvector) RETURNS tsvector IMMUTABLE PARALLEL UNSAFE LANGUAGE plpgsql AS $$ BEGIN RETURN v; END $$;
CREATE FUNCTION rows_of(tab text, what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(q || '' '' || n, '', '') FROM unnest(''{a,a & h3,!x7,x1:*,"a <2> x17",h4 | x8}''::text[]) q,
		LATERAL (SELECT count(*) AS n FROM %s WHERE %s @@ q::tsquery) x', tab, what) INTO answer;
	RETURN answer;
END $$;
SQL
$s->value("CREATE TABLESPACE elsewhere LOCATION ''");

my $rows = "SELECT i AS id, 'a h' || i % 10 || ' x' || i AS t, ('a:1 h' || i % 10 || ':2 x' || i || ':3')::tsvector AS v"
  . ' FROM generate_series(1, 4000) i';

# Builds with two workers, or alone, and compares what the index finds.
sub statement
{
	my ($name, $tab, $index, $sql, %opt) = @_;
	my $session = $opt{session} // $s;
	my $what = $opt{what} // 'v';
	my ($said, $took) = $opt{alone} ? $team->run($session, 2, $sql) : $team->held($session, 2, $sql);

	is($opt{writer}->finish, '', "$name: the writer") if $opt{writer};
	is($said, '', "$name: done");
	is($opt{alone} ? $took->{launched} : $took->{shares}, $opt{alone} ? 0 : 2, "$name: workers");
	is($session->raw("SELECT skipidx_check('$_', true)"), '', "$name: skipidx_check $_") for ref $index ? @$index : $index;
	my $expected = $session->value("SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_indexscan = off;"
		  . " SELECT rows_of('$tab', '$what')");

	is($session->value("SET enable_seqscan = off; SET enable_bitmapscan = on; SET enable_indexscan = on;"
			  . " SELECT rows_of('$tab', '$what')"), $expected, "$name: rows");
	return;
}

my $with = 'WITH (parallel_workers = 2, autovacuum_enabled = off)';

$s->value("CREATE TABLE plain $with AS $rows; CREATE INDEX plain_id ON plain (id)");
statement('create', 'plain', 'plain_v', 'CREATE INDEX plain_v ON plain USING skipidx (v)');
statement('reindex', 'plain', 'plain_v', 'REINDEX INDEX plain_v');
statement('reindex, tablespace', 'plain', 'plain_v', 'REINDEX (TABLESPACE elsewhere) INDEX plain_v');
statement('reindex concurrently', 'plain', 'plain_v', 'REINDEX INDEX CONCURRENTLY plain_v');
statement('cluster', 'plain', 'plain_v', 'CLUSTER plain USING plain_id');
statement('vacuum full', 'plain', 'plain_v', 'VACUUM FULL plain');
statement('rewritten', 'plain', 'plain_v', "ALTER TABLE plain ALTER v TYPE tsvector USING v || 'new:9'::tsvector");
statement('text', 'plain', 'plain_t', "CREATE INDEX plain_t ON plain USING skipidx (to_tsvector('simple', t))",
	what => "to_tsvector(''simple'', t)");
statement('unsafe', 'plain', 'plain_u', 'CREATE INDEX plain_u ON plain USING skipidx (unsafe(v))', alone => 1, what => 'unsafe(v)');
$s->value('ALTER FUNCTION unsafe PARALLEL SAFE');
statement('no longer unsafe', 'plain', 'plain_u', 'REINDEX INDEX plain_u', what => 'unsafe(v)');
$s->value('DROP INDEX plain_v, plain_t, plain_u');
statement('partial', '(SELECT * FROM plain WHERE id % 3 = 0) x', 'plain_p',
	'CREATE INDEX plain_p ON plain USING skipidx (v) WHERE id % 3 = 0');
$s->value('DROP INDEX plain_p');
statement('after a rollback', 'plain', 'plain_v', 'BEGIN; SAVEPOINT a; CREATE INDEX plain_v ON plain USING skipidx (v); ROLLBACK TO a;'
	  . ' CREATE INDEX plain_v ON plain USING skipidx (v); COMMIT');
$s->value("CREATE UNLOGGED TABLE unlogged $with AS $rows");
statement('unlogged', 'unlogged', 'unlogged_v', 'CREATE INDEX unlogged_v ON unlogged USING skipidx (v)');
$s->value("CREATE TEMPORARY TABLE mine $with AS $rows");
statement('temporary', 'mine', 'mine_v', 'CREATE INDEX mine_v ON mine USING skipidx (v)', alone => 1);
$s->value("CREATE MATERIALIZED VIEW view $with AS SELECT * FROM plain");
statement('view', 'view', 'view_v', 'CREATE INDEX view_v ON view USING skipidx (v)');
statement('view, refreshed', 'view', 'view_v', 'REFRESH MATERIALIZED VIEW view');
$s->value("CREATE TABLE parts (id int, t text, v tsvector) PARTITION BY RANGE (id);"
	  . " CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (0) TO (2000) $with;"
	  . " CREATE TABLE parts_b PARTITION OF parts FOR VALUES FROM (2000) TO (9000) $with; INSERT INTO parts $rows");
statement('partitions', 'parts', [qw(parts_a_v_idx parts_b_v_idx)], 'CREATE INDEX parts_v ON parts USING skipidx (v)');

# Rows come, change and go meanwhile.
$s->value('DROP INDEX plain_v; ' . <<'SQL');
CREATE PROCEDURE busy(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		INSERT INTO plain SELECT 10000 + i, 'busy', ('a h' || i % 10 || ' x' || i)::tsvector;
		COMMIT;
		UPDATE plain SET v = v || 'changed'::tsvector WHERE id = i * 5;
		COMMIT;
		DELETE FROM plain WHERE id = i * 5 + 1;
		COMMIT;
	END LOOP;
END $$;
SQL
{
	my $writer = skx_session($node, 'd');

	$writer->start('CALL busy(600)');
	statement('concurrently', 'plain', 'plain_v', 'CREATE INDEX CONCURRENTLY plain_v ON plain USING skipidx (v)',
		writer => $writer);
	$writer->start('CALL busy(600)');
	statement('reindex concurrently, written', 'plain', 'plain_v', 'REINDEX INDEX CONCURRENTLY plain_v', writer => $writer);
	$writer->close;
}

# ---- progress ----

# The leader takes few of the rows.
$s->value(<<'SQL');
CREATE FUNCTION slowly(v tsvector) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(CASE WHEN pg_backend_pid() = current_setting('t.leader')::int THEN 0.0015 ELSE 0.0005 END
		* current_setting('t.slow')::int);
	RETURN v;
END $$;
SQL
# Slower when a busy machine has let too little be seen.
for my $slow (1, 5, 25)
{
	my $b = skx_session($node, 'd');
	my $f = $team->fault;
	my $look = 'SELECT phase, tuples_done, blocks_done, blocks_total FROM pg_stat_progress_create_index';
	my (%phases, $went_back, $too_many);
	my $before = 0;
	my $said;

	$b->value('SET t.leader = ' . $b->backend . "; SET t.slow = $slow; SET max_parallel_maintenance_workers = 2;"
		  . " SET maintenance_work_mem = '1MB'");
	$s->value("CREATE TABLE slow $with AS SELECT * FROM plain");
	my $expected = $s->value('SELECT count(*) FROM slow');

	$f->hold($f->{s}, 'build_segment_written');
	$f->arm($b, 'build_segment_written', 'wait');
	$b->start('CREATE INDEX slow_v ON slow USING skipidx (slowly(v))');
	for (1 .. 100_000)
	{
		my ($phase, $tuples, $done, $total) = split /\|/, $s->value($look);

		last if $f->{s}->value("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'") > 0;
		next unless defined $phase;
		$phases{$phase}{$tuples}++;
		$went_back++ if $tuples < $before;
		$too_many++ if $done > $total;
		$before = $tuples;
		usleep(1000);
	}
	my ($phase, $tuples, $done, $total) = split /\|/, $s->value($look);
	my $steps = keys %{ $phases{'building index: scanning table'} };

	if ($steps <= 3 && $slow < 25)
	{
		$f->release($f->{s}, 'build_segment_written');
		$b->finish;
		$b->close;
		$s->value('DROP TABLE slow');
		next;
	}
	is($phase, 'building index: writing segment', 'progress: the last phase');
	is($tuples, $expected, 'progress: all rows, those of workers too');
	cmp_ok($steps, '>', 3, 'progress: grows');
	is($went_back, undef, 'progress: rows do not become fewer');
	cmp_ok($done, '<=', $total, 'progress: not more blocks than there are');
	is($too_many, undef, 'progress: at no time');
	cmp_ok($total, '>', 0, 'progress: blocks are known');
	$f->release($f->{s}, 'build_segment_written');
	is($b->finish, '', 'progress: built');
	$b->close;
	last;
}
$s->close;
$node->stop;

# ---- shared memory of other kinds ----

for my $type (qw(sysv mmap posix))
{
	my $other = skx_node("memory_$type", conf => $SkipidxTeam::conf . "dynamic_shared_memory_type = $type\n");

	skx_database($other, 'd');
	$s = skx_session($other, 'd');
	$team = SkipidxTeam->new($other, 'd');
	$s->value("CREATE TABLE docs $with AS $rows");
	$s->value('SET maintenance_work_mem = \'1MB\'');
	my ($said, $took) = $team->held($s, 2, 'CREATE INDEX docs_v ON docs USING skipidx (v)');

	is($said, '', "$type: built");
	is($took->{shares}, 2, "$type: workers");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$type: skipidx_check");
	$s->close;
	$other->stop;
}

# ---- crashes and standbys ----

# Nothing of the table is in the WAL; the server is killed right after the commit.
{
	my $other = skx_node('minimal', conf => $SkipidxTeam::conf . "wal_level = minimal\nmax_wal_senders = 0\n");

	skx_database($other, 'd');
	$s = skx_session($other, 'd');
	$team = SkipidxTeam->new($other, 'd');
	my ($said, $took) = $team->held($s, 2, "BEGIN; CREATE TABLE docs $with AS $rows; CREATE INDEX docs_v ON docs USING skipidx (v); COMMIT");

	$other->stop('immediate');
	$other->start;
	is($said, '', 'minimal: built');
	is($took->{shares}, 2, 'minimal: workers');
	$s = skx_session($other, 'd');
	is($s->value("SELECT count(*) FROM docs"), 4000, 'minimal: the table is there');
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'minimal: skipidx_check after a crash');
	$s->close;
	$other->stop;
}
{
	my $primary = skx_node('primary', streaming => 1, extra => ['--data-checksums'],
		conf => $SkipidxTeam::conf . "wal_consistency_checking = all\nwal_keep_size = 1GB\n");
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	skx_database($primary, 'd');
	$primary->backup('base');
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->start;
	$s = skx_session($primary, 'd');
	$team = SkipidxTeam->new($primary, 'd');
	$s->value("CREATE TABLE docs $with AS $rows; CHECKPOINT; SET maintenance_work_mem = '1MB'");
	my ($said, $took) = $team->held($s, 2, "CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");

	is($said, '', 'replica: built');
	is($took->{shares}, 2, 'replica: workers');
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	my $r = skx_session($standby, 'd');

	is($r->raw("SELECT skipidx_check('docs_v', true)"), '', 'replica: skipidx_check');
	is($r->value("SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'h3 <1> x13'"), 1, 'replica: answers');
	$r->close;
	$primary->stop('immediate');
	$primary->start;
	$s = skx_session($primary, 'd');
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'crashed: skipidx_check');
	$s->close;
	$standby->stop;
	$primary->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $_->data_dir ], 'pg_checksums') for $primary, $standby;
}
done_testing();
