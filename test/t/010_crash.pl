# A crash at any moment loses no committed row and invents none, and a standby
# answers as its primary does, before and after promotion.
#
# Holds: blkio 3, 7; maint 5; manifest 4, 8; pending 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_relation_file skx_session skx_seed skx_reload);
use Test::More;

my $node = skx_node('primary', streaming => 1, extra => ['--data-checksums'],
	conf => "wal_consistency_checking = 'generic'\nmax_connections = 30\n"
	  . "hot_standby_feedback = on\nwal_keep_size = 4GB");
my @methods = qw(shared_buffers buffered);

srand(skx_seed(99));

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE log (id int PRIMARY KEY);
INSERT INTO docs SELECT i, ('all:1 m' || i % 7 || ':2 w' || i || ':3')::tsvector
	FROM generate_series(1, 5000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB');
CREATE UNLOGGED TABLE fast AS SELECT * FROM docs WHERE id <= 1000;
CREATE INDEX fast_v ON fast USING skipidx (v);
INSERT INTO fast SELECT id + 10000, v FROM fast;
-- one row and its entry in the log, or neither
CREATE FUNCTION add(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO docs VALUES (i, CASE WHEN i % 50 = 0 THEN
		(SELECT string_agg('big' || k || ':' || k, ' ') FROM generate_series(1, 1500) k)::tsvector || 'all new'
		ELSE ('all:1 new:2 m' || i % 7 || ':3')::tsvector END);
	INSERT INTO log VALUES (i);
END $$;
SQL

my @queries = ('all', 'new', 'm3', 'all <-> m3', '!new', 'big1 & big1500',
	'big700 <-> big701', 'all & !m3', 'w1:*', 'new <-> m:*', 'nosuch');

# The answers of one way to read.
sub answers
{
	my ($on, @set) = @_;

	return $on->safe_psql('postgres', join(";\n", @set,
			map { "SELECT '$_ ', count(*), sum(id::int8) FROM docs WHERE v @@ '$_'" } @queries));
}

sub agrees
{
	my ($on, $when) = @_;
	my $oracle = answers($on, 'SET enable_indexscan = off', 'SET enable_bitmapscan = off');

	for my $method (@methods)
	{
		for my $plan (qw(enable_indexscan enable_bitmapscan))
		{
			is(answers($on, 'SET enable_seqscan = off', "SET $plan = off",
					"SET skipidx.io_method = $method"),
				$oracle, "$when: $method, $plan off");
		}
	}
	return $oracle;
}

sub checks
{
	my ($on, $when) = @_;
	my ($rc, undef, $err) = $on->psql('postgres', q{SELECT skipidx_check('docs_v', true)});

	is($rc, 0, "$when: skipidx_check") or diag($err);
	return;
}

sub connectable
{
	my ($on) = @_;

	for (1 .. 300)
	{
		# psql may be gone, refused, before it is told what to ask
		my ($rc) = eval { $on->psql('postgres', 'SELECT 1') };

		return if defined $rc && $rc == 0;
		select undef, undef, undef, 0.1;
	}
	die 'the server did not come back';
}

agrees($node, 'built');

# ---- a standby, reading throughout ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'shared_buffers = 64MB');
$standby->start;

# ---- inserters killed in the middle ----

my $next = 100000;
my $sure = 0;

for my $kill (qw(backend backend immediate backend immediate))
{
	my @inserters = map { skx_session($node, 'postgres') } 1 .. 3;
	my $from = $next;

	for my $i (0 .. 2)
	{
		my $first = $next + $i * 10000;

		$inserters[$i]->start(join "\n", map { "SELECT add($_) \\g /dev/null" } $first .. $first + 3000);
	}
	$next += 100000;
	$node->poll_query_until('postgres', "SELECT count(*) > $sure + 20 FROM log");
	select undef, undef, undef, rand 0.4;
	if ($kill eq 'backend')
	{
		kill 'KILL', $inserters[ rand 3 ]->backend;
	}
	else
	{
		$node->stop('immediate');
	}
	$_->finish for @inserters;
	$_->close for @inserters;
	$node->start if $kill eq 'immediate';
	connectable($node);

	my $logged = $node->safe_psql('postgres', 'SELECT count(*) FROM log');
	my $found = $node->safe_psql('postgres',
		q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'new'});

	cmp_ok($logged, '>', $sure, "$kill killed: rows were committed");
	is($found, $logged, "$kill killed: every committed row and no other");
	$sure = $logged;
	agrees($node, "$kill killed");
	checks($node, "$kill killed");

	# Deletes and VACUUM between the crashes, the last unflushed
	$node->safe_psql('postgres', "DELETE FROM docs WHERE id BETWEEN 1 AND 5000 AND id % 11 = $from / 100000 % 11");
	$node->safe_psql('postgres', 'VACUUM docs') if rand() < 0.7;
}

# Killed in VACUUM and in REINDEX
for my $command ('VACUUM docs', 'REINDEX INDEX docs_v', 'VACUUM docs')
{
	my $s = skx_session($node, 'postgres');

	$node->safe_psql('postgres', "DELETE FROM docs WHERE id % 13 = 5 AND id < 5000");
	$s->start($command);
	select undef, undef, undef, 0.005 + rand 0.08;
	$node->stop('immediate');
	$s->finish;
	$s->close;
	$node->start;
	agrees($node, "killed in $command");
	checks($node, "killed in $command");
}

# ---- unlogged ----

is($node->safe_psql('postgres', 'SELECT count(*) FROM fast'), 0, 'unlogged: empty');
is($node->safe_psql('postgres', q{SET enable_seqscan = off;
	SELECT count(*) FROM fast WHERE v @@ 'all';
	SELECT count(*) FROM fast WHERE v @@ '!all';
	INSERT INTO fast VALUES (1, 'all'), (2, 'none');
	SELECT count(*) FROM fast WHERE v @@ 'all';
	SELECT count(*) FROM fast WHERE v @@ '!all'}),
	"0\n0\n1\n1", 'unlogged: empty index works');
$node->restart;
is($node->safe_psql('postgres',
		q{SET enable_seqscan = off; SELECT count(*) FROM fast WHERE v @@ 'all'}),
	1, 'unlogged: kept by a clean restart');

# ---- the standby ----

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is(agrees($standby, 'standby'), agrees($node, 'primary'), 'standby and primary agree');
checks($standby, 'standby');
like(($standby->psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM fast WHERE v @@ 'all'}))[2] // '',
	qr/unlogged/, 'standby: unlogged is refused');

my $cursor = skx_session($standby, 'postgres');

$cursor->value("SET enable_seqscan = off; SET skipidx.io_method = buffered;"
	  . " BEGIN ISOLATION LEVEL REPEATABLE READ;"
	  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all'");
my $had = $cursor->value(q{SELECT count(*) FROM docs WHERE v @@ 'all'});

$cursor->value('FETCH 10 FROM c');
my $wrong = 0;

# A reader on the primary, without a snapshot, keeps VACUUM from giving pages
# back, whose lock the cursor would have to make way for (595_shrink.pl).
my $reader = skx_session($node, 'postgres');

$reader->value(q{SET enable_seqscan = off; BEGIN; SELECT count(*) FROM docs WHERE v @@ 'all'});

for my $i (1 .. 6)
{
	$node->safe_psql('postgres',
		"INSERT INTO docs SELECT 2000000 + $i * 1000 + g, 'all new late'::tsvector FROM generate_series(1, 200) g;");
	$node->safe_psql('postgres', "DELETE FROM docs WHERE id % 17 = $i AND id < 5000");
	$node->safe_psql('postgres', 'VACUUM docs');
	$node->safe_psql('postgres', 'REINDEX INDEX docs_v') if $i == 4;
	if ($i == 3)
	{
		# The session's snapshot would hold the REINDEX up on the standby.
		my $rest = () = $cursor->value('FETCH ALL FROM c') =~ /\d+/g;

		is($rest + 10, $had, 'standby: a cursor is not disturbed by VACUUM and inserts');
		is($cursor->value(q{SELECT count(*) FROM docs WHERE v @@ 'all'}), $had,
			'standby: nor is its snapshot');
		$cursor->value('COMMIT');
		$reader->value('COMMIT');
	}
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	for my $method (@methods)
	{
		my @set = ("SET skipidx.io_method = $method", 'SET enable_seqscan = off');
		my $one = answers($node, @set);
		my $two = answers($standby, @set);

		$wrong++ if $one ne $two;
	}
}
is($wrong, 0, 'standby: the same answers while the primary changes');
$cursor->close;
$reader->close;

$node->safe_psql('postgres', q{INSERT INTO docs SELECT 3000000 + g, 'all new last'::tsvector FROM generate_series(1, 300) g; REINDEX INDEX docs_v; INSERT INTO docs VALUES (4000000, 'all last')});
my $last = answers($node, 'SET enable_seqscan = off');

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$node->stop('immediate');
$standby->promote;
is(agrees($standby, 'promoted'), $last, 'promoted: the same answers');
my $io = $standby->safe_psql('postgres', q{SET enable_seqscan = off; SET skipidx.io_method = buffered;
	SELECT count(*) FROM docs WHERE v @@ 'all <-> m3';
	SELECT resident > 0 FROM skipidx_io_totals() WHERE scope = 'total'});

like($io, qr/\nt$/, 'promoted: pages were found in shared buffers');
$standby->safe_psql('postgres', "SELECT add(i) FROM generate_series(5000000, 5000100) i; DELETE FROM docs WHERE id % 19 = 3");
$standby->safe_psql('postgres', 'VACUUM docs');
agrees($standby, 'promoted and changed');
checks($standby, 'promoted and changed');
$standby->stop('immediate');
$standby->start;
agrees($standby, 'promoted and crashed');
checks($standby, 'promoted and crashed');
$standby->stop;
command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'pg_checksums');
unlike(slurp_file($standby->logfile), qr/inconsistent page|PANIC/, 'replay was consistent');


# ---- wal_level = minimal: a table and its index made in one transaction ----

my $minimal = skx_node('minimal', conf => "wal_level = minimal\nmax_wal_senders = 0");

$minimal->safe_psql('postgres', 'CREATE EXTENSION skipidx');
for my $threshold ('0', '1GB')
{
	# Below the threshold the pages are logged at commit, above they are synced.
	$minimal->safe_psql('postgres', "ALTER SYSTEM SET wal_skip_threshold = '$threshold'");
	skx_reload($minimal);
	$minimal->safe_psql('postgres', 'CHECKPOINT');
	$minimal->safe_psql('postgres', <<'SQL');
DROP TABLE IF EXISTS docs, still;
BEGIN;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, ('all:1 m' || i % 7 || ':2 w' || i || ':3')::tsvector FROM generate_series(1, 5000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
INSERT INTO docs SELECT i, ('all:1 new:2 m' || i % 7 || ':3')::tsvector FROM generate_series(5001, 5500) i;
CREATE TABLE still AS SELECT * FROM docs LIMIT 1000;
CREATE INDEX still_v ON still USING skipidx (v) WITH (block_size = '1MB');
COMMIT;
INSERT INTO docs VALUES (6000, 'all new');
SQL
	my $file = skx_relation_file($minimal, 'postgres', 'still_v');
	my $size = -s $file;

	$minimal->stop('immediate');
	# a power failure can leave nothing of a file that was logged, not synced
	truncate($file, 0) or die "$file: $!" if $threshold ne '0';
	$minimal->start;
	is(-s $file, $size, "minimal, wal_skip_threshold $threshold: length of the file");
	is($minimal->safe_psql('postgres', "SELECT skipidx_check('still_v', true)"), '',
		"minimal, wal_skip_threshold $threshold: skipidx_check of unused pages");
	agrees($minimal, "minimal, wal_skip_threshold $threshold");
	checks($minimal, "minimal, wal_skip_threshold $threshold");
	is($minimal->safe_psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all'}),
		5501, "minimal, wal_skip_threshold $threshold: all rows");
}
$minimal->stop;

done_testing();
