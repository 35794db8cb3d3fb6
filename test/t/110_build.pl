# CREATE INDEX: the same index whatever the memory, within the memory, with
# runs in temporary files that go away; documents in TID order after HOT
# updates; values larger than the memory; progress; file size.
#
# Holds: am 1, 6; invert 1, 2, 3; maint 7; writer 1, 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;
use Time::HiRes qw(usleep);

skx_seed(110);

my $node = skx_node('build');
my $s = skx_session($node, 'postgres');

# 60,000 documents: frequent and rare words, labels, words without positions,
# NULL and empty vectors.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
SET enable_seqscan = off;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i,
	CASE WHEN i % 997 = 0 THEN NULL WHEN i % 991 = 0 THEN '' ELSE
		(SELECT string_agg('w' || (power(random(), 4) * 5000 + i * 0)::int || ':' || p
				|| CASE WHEN i % 5 = 0 THEN 'A' ELSE '' END, ' ')::tsvector
			FROM generate_series(1, 30) p) END
	FROM generate_series(1, 60000) i;
UPDATE docs SET v = strip(v) WHERE id % 11 = 0;
VACUUM FREEZE ANALYZE docs;
SQL

# Anonymous memory of a process, in kB.
sub memory
{
	my ($pid) = @_;
	open(my $status, '<', "/proc/$pid/status") or return 0;
	my ($kb) = map { /^RssAnon:\s+(\d+)/ ? $1 : () } <$status>;
	close $status;
	return $kb // 0;
}

# Temporary files that sessions of this database have closed so far.
sub temp_files
{
	my ($session) = @_;

	$session->value('SELECT pg_stat_force_next_flush()');
	return $s->value('SELECT temp_files FROM pg_stat_database'
		  . ' WHERE datname = current_database()');
}

# Runs a statement; returns the most memory it took above what it started
# with, and the number of temporary files it made.
sub watched
{
	my ($session, $sql) = @_;
	my $pid = $session->backend;
	my $before = memory($pid);
	my $files = temp_files($session);
	my $most = 0;
	my $done = 0;

	$session->start($sql);
	while (!$done)
	{
		my $now = memory($pid);

		$most = $now if $now > $most;
		usleep(3000);
		$done = $s->value("SELECT state = 'idle' FROM pg_stat_activity"
			  . " WHERE pid = $pid") eq 't';
	}
	my $answer = $session->finish;
	die $answer if $answer =~ /ERROR/;
	return ($most - $before, temp_files($session) - $files);
}

my $totals = "SELECT sum(ndocs), sum(postings), sum(positions),"
  . " sum(total_length), sum(null_docs), max(terms), count(*)"
  . " FROM skipidx_segments('docs_v') WHERE kind = 'segment'";
my $expected;
my %temp_files;

# A session of its own each: memory that malloc keeps would hide what is used.
for my $mb (256, 16, 4, 1)
{
	my $b = skx_session($node, 'postgres');

	$b->value("SET maintenance_work_mem = '${mb}MB'; SET enable_seqscan = off;"
		  . "DROP INDEX IF EXISTS docs_v; SELECT count(*) FROM docs");
	my ($kb, $files) =
	  watched($b, 'CREATE INDEX docs_v ON docs USING skipidx (v)');
	$temp_files{$mb} = $files;
	note "$mb MB: $kb kB, $files temporary files";

	# 2 MB for relation and system caches, and what the executor needs
	cmp_ok($kb, '<', $mb * 1024 * 1.1 + 2048, "memory within $mb MB");
	my $got = $s->value($totals);
	$expected //= $got;
	is($got, $expected, "the same segment with $mb MB");
	is($s->value("SELECT skipidx_check('docs_v', true)"), '',
		"sound with $mb MB");
	$b->close;
}
is($temp_files{256}, 0, 'no temporary file where all fits');
cmp_ok($temp_files{1}, '>', 0, 'runs in temporary files where it does not');
my ($ndocs, undef, undef, undef, $nnull, undef, $nsegments) =
  split /\|/, $expected;
is($ndocs, 60000, 'every row is a document');
is($nnull, int(60000 / 997), 'NULLs counted');
is($nsegments, 1, 'one segment');

# A flush is bounded as a build is.
$s->value("CREATE TABLE later (v tsvector) WITH (autovacuum_enabled = off);"
	  . " CREATE INDEX later_v ON later USING skipidx (v) WITH (pending_limit = '1GB')");
$s->value('INSERT INTO later SELECT v FROM docs');
{
	my $b = skx_session($node, 'postgres');

	$b->value("SET maintenance_work_mem = '4MB'; SET enable_seqscan = off;"
		  . " SELECT count(*) FROM later WHERE v @@ 'nosuch'");
	my ($kb, $files) = watched($b, "SELECT skipidx_flush('later_v')");

	note "flush: $kb kB, $files temporary files";
	cmp_ok($kb, '<', 4 * 1024 * 1.1 + 2048, 'a flush: within 4 MB');
	cmp_ok($files, '>', 0, 'a flush: values are in a file');
	is($s->value("SELECT skipidx_check('later_v', true)"), '', 'a flush: sound');
	$b->close;
}
$s->value('DROP TABLE later');

# Norms may take a quarter of the memory: then a new segment begins.
$s->value(<<'SQL');
CREATE TABLE many AS SELECT 'a'::tsvector AS v FROM generate_series(1, 300000);
SET maintenance_work_mem = '1MB';
CREATE INDEX many_v ON many USING skipidx (v);
SQL
is($s->value("SELECT count(*), sum(ndocs) FROM skipidx_segments('many_v')"
		  . " WHERE kind = 'segment'"),
	'2|300000', 'two segments where the norms pass a quarter of the memory');
is($s->value("SELECT count(*) FROM many WHERE v @@ 'a'"), '300000',
	'both are read');
is($s->value("SELECT skipidx_check('many_v', true)"), '', 'both are sound');

# A row that was updated in place is reported by its newest tuple's place.
$s->value(<<'SQL');
CREATE TABLE hot (id int, n int, v tsvector)
	WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO hot SELECT i, 0, ('t' || i % 10)::tsvector
	FROM generate_series(1, 3000) i;
UPDATE hot SET n = 1 WHERE id % 3 = 0;
VACUUM hot;
UPDATE hot SET n = 2 WHERE id % 2 = 0;
CREATE INDEX hot_v ON hot USING skipidx (v);
SQL
$s->value('SELECT pg_stat_force_next_flush()');
cmp_ok($s->value("SELECT pg_stat_get_tuples_hot_updated('hot'::regclass)"),
	'>', 1000, 'rows were updated in place');
is($s->value("SELECT count(*), count(DISTINCT id) FROM hot WHERE v @@ 't3'"),
	'300|300', 'and are found once each');
is($s->value("SELECT skipidx_check('hot_v', true)"), '', 'and are in order');

# Computed values of one heap page that together pass the memory; one document
# with more lexemes than the memory holds.
$s->value(<<'SQL');
CREATE TABLE texts (id int, n int);
INSERT INTO texts SELECT i, 4000 FROM generate_series(1, 100) i;
INSERT INTO texts VALUES (101, 60000);
CREATE FUNCTION many_words(id int, n int) RETURNS tsvector IMMUTABLE
LANGUAGE sql AS $$ SELECT to_tsvector('simple',
	(SELECT string_agg('word' || i * id, ' ') FROM generate_series(1, n) i)) $$;
CREATE INDEX texts_v ON texts USING skipidx (many_words(id, n));
SQL
is($s->value('SELECT array_agg(id ORDER BY id) FROM texts'
		  . " WHERE many_words(id, n) @@ 'word7 & word14'"),
	'{1,7}', 'values that pass the memory');
is($s->value("SELECT skipidx_check('texts_v', true)"), '', 'are kept whole');

# Progress, of a scan that stops in the middle to be looked at.
$s->value(<<'SQL');
CREATE SEQUENCE calls;
CREATE FUNCTION slowly(v tsvector) RETURNS tsvector IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('public.calls') = 1500 THEN
		PERFORM pg_advisory_xact_lock_shared(110);
	END IF;
	RETURN v;
END $$;
CREATE TABLE slow AS SELECT v FROM docs LIMIT 3000;
SELECT pg_advisory_lock(110);
SQL
my $b = skx_session($node, 'postgres');
my ($phase, $tuples, $blocks, $total);

$b->start('CREATE INDEX slow_v ON slow USING skipidx (slowly(v))');
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"),
	'in the middle of a scan');
($phase, $tuples, $blocks, $total) = split /\|/, $s->value(
	'SELECT phase, tuples_done, blocks_done, blocks_total'
	  . ' FROM pg_stat_progress_create_index');
is($phase, 'building index: scanning table', 'the phase has a name');
cmp_ok($tuples, '>', 0, 'tuples are counted');
cmp_ok($blocks, '>', 0, 'blocks are counted');
is($total, $s->value("SELECT pg_relation_size('slow') / 8192"),
	'and their total is known');

# Cancelled in the middle, nothing stays behind.
$s->value('SELECT pg_cancel_backend(' . $b->backend . ')');
like($b->finish, qr/57014/, 'a build can be cancelled');
is($s->value("SELECT count(*) FROM pg_class WHERE relname = 'slow_v'"),
	'0', 'and leaves no index');
$s->value('SELECT pg_advisory_unlock(110)');
$b->value("LOAD 'skipidx'; SET maintenance_work_mem = '1MB'; SET skipidx.fault = 'new_written:cancel'");
like($b->raw('CREATE INDEX docs_w ON docs USING skipidx (v)'),
	qr/57014/, 'also after runs were written');
is(scalar(() = glob($node->data_dir . '/base/pgsql_tmp/*')),
	0, 'no temporary file is left');
$b->close;

# The head, and one block for a segment that fits one.
$s->value(<<'SQL');
CREATE TABLE tiny AS SELECT ('a b' || i)::tsvector AS v
	FROM generate_series(1, 100) i;
CREATE INDEX tiny_v ON tiny USING skipidx (v);
CREATE INDEX tiny_8 ON tiny USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE none (v tsvector);
CREATE INDEX none_v ON none USING skipidx (v);
SQL
is($s->value("SELECT pg_relation_size('tiny_v') / 32768"),
	'4', 'a small index takes four blocks');
cmp_ok($s->value("SELECT pg_relation_size('tiny_8') / 8192"),
	'<=', 14, 'and 14 small ones');
is($s->value("SELECT pg_relation_size('none_v') / 32768"),
	'2', 'an empty one takes two');

$s->close;
$node->stop;
done_testing();
