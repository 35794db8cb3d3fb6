# Pages of segments are written past shared buffers, over pages that were
# something else before.  What shared buffers still have of these, dirty or
# not, must neither be read nor find its way back into the file: not by a
# checkpoint, not on a standby, not after its promotion, not in a copy of the
# database.
#
# Pages are written past the page cache and through it, in turn.  Long: read by
# every method each time, else by direct or uring_direct, in turn, and
# shared_buffers.
#
# Holds: blkio 3, 6, 7; manifest 3; writer 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;
use Time::HiRes qw(sleep time);

my @queries = ('all', 'b1', 'h7', '!b0', 't3 | t70', 'b0 & h8', 'all <-> b1',
	'h:*', 'b1 <-> h7:A', '!b0 & t:*');
my $turn = 0;
my $writes = 0;
my %found;
my $seed = skx_seed(220);

my $fixture = <<'SQL';
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE EXTENSION IF NOT EXISTS pg_prewarm;
CREATE EXTENSION IF NOT EXISTS pg_buffercache;
CREATE EXTENSION IF NOT EXISTS pageinspect;

CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT ('all:1 b' || i % 2 || ':2 h' || i % 50 || ':3A t' || i % 997 || ':4,9 u' ||
		(random() * 5000)::int || ':5 u' || (random() * 5000)::int || ':6')::tsvector
$$;

-- rows more, and some of the others less
CREATE FUNCTION change(docs regclass, k int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	top int;
BEGIN
	EXECUTE format('SELECT coalesce(max(id), 0) FROM %s', docs) INTO top;
	EXECUTE format('DELETE FROM %s WHERE id %% 7 = %s', docs, (random() * 6)::int);
	EXECUTE format('INSERT INTO %s SELECT i, doc(i) FROM generate_series(%s, %s) i', docs, top + 1, top + k);
END $$;

-- blocks of an index in shared buffers
CREATE FUNCTION resident(index regclass, dirty bool) RETURNS SETOF int8 LANGUAGE sql AS $$
	SELECT relblocknumber FROM pg_buffercache b, pg_class c
	WHERE c.oid = index AND b.relfilenode = pg_relation_filenode(index) AND b.relforknumber = 0
		AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (b.isdirty OR NOT dirty)
$$;

-- how many of these pages were written since
CREATE FUNCTION written(index regclass, blocks int8[], since pg_lsn) RETURNS int8 LANGUAGE sql AS $$
	SELECT count(*) FROM unnest(blocks) b WHERE (page_header(get_raw_page(index::text, b))).lsn > since
$$;
SQL

note "seed $seed";
srand($seed);

# An index and its table, with segments and free pages.
sub table
{
	my ($s, $name, $kind) = @_;

	$s->value("SELECT setseed(0.$seed)");
	$s->value("CREATE $kind TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off)");
	$s->value("INSERT INTO $name SELECT i, doc(i) FROM generate_series(1, 12000) i");
	$s->value("CREATE INDEX ${name}_v ON $name USING skipidx (v) WITH (block_size = '8kB')");
	return;
}

sub flush
{
	my ($s, $name) = @_;
	my $method = (qw(direct direct uring_direct buffered shared_buffers))[ $writes++ % 5 ];

	$s->value("SET skipidx.io_method = $method");
	$s->value("SELECT skipidx_flush('${name}_v')");
	return;
}

# Changes rows, and replaces all segments by one, in pages that were freed a
# round or two ago.
sub round
{
	my ($s, $name) = @_;

	$s->value("SELECT change('$name', 1500)");
	flush($s, $name);
	$s->value("SELECT skipidx_merge('${name}_v', 1)");
	return;
}

# Through shared buffers last: the others would find there what that one read.
sub methods
{
	return (qw(buffered direct uring uring_direct shared_buffers)) if $ENV{SKX_FAULTS_ALL};
	return (qw(direct uring_direct))[ $turn++ % 2 ], 'shared_buffers';
}

# Index against heap, each way to read; and the whole file.  No query finds
# pages in our cache: each looks at the file or at shared buffers.
sub right
{
	my ($s, $name, $when) = @_;
	my $sql = join "\n", map {
		"SELECT skipidx_cache_reset() \\g /dev/null\n"
		  . "SELECT '$_', count(*), coalesce(sum(id), 0) FROM $name WHERE v @@ '$_';"
	} @queries;
	my $heap = $s->value("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;\n$sql");

	$s->value('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on');
	for my $method (methods())
	{
		my $from = counters($s, $method);

		is($s->raw("SET skipidx.io_method = $method;\n$sql"), $heap, "$when: $method");
		my $to = counters($s, $method);

		$found{$method}{$_} += $to->{$_} - $from->{$_} for keys %$to;
	}
	is($s->raw("SELECT skipidx_check('${name}_v', true)"), '', "$when: skipidx_check");
	return;
}

# Pages that this session has read by the method from the file, found in shared
# buffers, and read ahead.
sub counters
{
	my ($s, $method) = @_;
	my %n;

	@n{qw(file resident ahead)} = split /\|/, $s->value('SELECT pages_read, resident, ahead'
		  . " FROM skipidx_io_methods() WHERE scope = 'session' AND method = '$method'");
	return \%n;
}

# The same from an empty cache and empty shared buffers: what is in the file.
sub right_in_file
{
	my ($on, $db, $name, $when) = @_;

	$on->restart;
	my $s = skx_session($on, $db);
	right($s, $name, $when);
	$s->close;
	return;
}

sub resident
{
	my ($s, $name, $dirty) = @_;

	return [ split /\n/, $s->value("SELECT resident('${name}_v', $dirty)") ];
}

# How many of those blocks have been written since.
sub written
{
	my ($s, $name, $blocks, $since) = @_;

	return $s->value("SELECT written('${name}_v', '{" . join(',', @$blocks) . "}', '$since')");
}

my $node = skx_node('replace', streaming => 1, extra => ['--data-checksums'],
	conf => "bgwriter_lru_maxpages = 0\nwal_keep_size = 4GB\nallow_in_place_tablespaces = on\nskipidx.cache_size = 16MB\n");

$node->safe_psql('postgres', $fixture);
$node->backup('start');
my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($node, 'start', has_streaming => 1);
$standby->start;
my $s = skx_session($node, 'postgres');

# ---- old images in shared buffers ----

table($s, 'docs', '');
round($s, 'docs') for 1 .. 3;
right($s, 'docs', 'at first');

# Dirty: what were pending pages a moment ago.
{
	my ($old, $new) = (0, 0);

	for my $i (1 .. 30)
	{
		last if $i > 6 && $new > 30;
		$s->value('CHECKPOINT');
		my $lsn = $s->value("SELECT change('docs', 4000); SELECT pg_current_wal_insert_lsn()");
		my $pending = resident($s, 'docs', 'true');

		$lsn =~ s/\s//g;
		flush($s, 'docs');
		$s->value("SELECT change('docs', 1000)");
		flush($s, 'docs');
		$s->value("SELECT skipidx_merge('docs_v', 1)");
		$old += @$pending;
		$new += written($s, 'docs', $pending, $lsn);
		right($s, 'docs', "over pending pages, round $i") if $i == 6;
	}
	cmp_ok($new, '>', 30, "$new of $old pages dirty in shared buffers were written anew");
	$s->value('CHECKPOINT');
	$s->close;
	right_in_file($node, 'postgres', 'docs', 'over pending pages, in the file');
	$s = skx_session($node, 'postgres');
}

# Clean: a tool has read the whole index.
{
	$s->value("SELECT pg_prewarm('docs_v')");
	$s->value('CHECKPOINT');
	is(scalar @{ resident($s, 'docs', 'true') }, 0, 'all that is resident is clean');
	my $lsn = $s->value('SELECT pg_current_wal_insert_lsn()');
	my $blocks = resident($s, 'docs', 'false');
	my $size = $s->value("SELECT pg_relation_size('docs_v') / 8192");

	cmp_ok(scalar @$blocks, '==', $size, 'all pages are resident');
	round($s, 'docs') for 1 .. 3;
	my $dirty = resident($s, 'docs', 'true');
	my $new = written($s, 'docs', $blocks, $lsn);

	cmp_ok($new, '>', 100, "$new resident pages were written anew");
	cmp_ok(scalar @$dirty, '>', 100, scalar(@$dirty) . ' buffers have the new image');
	right($s, 'docs', 'over clean buffers');
}

# Copies are made through shared buffers, or of the file.
$s->close;
for my $strategy (qw(wal_log file_copy))
{
	$node->safe_psql('template1', "CREATE DATABASE $strategy TEMPLATE postgres STRATEGY $strategy");
	my $copy = skx_session($node, $strategy);

	right($copy, 'docs', "copied by $strategy");
	cmp_ok($copy->value("SELECT resident FROM skipidx_io_totals() WHERE scope = 'session'"), '>', 50,
		'the copy is read from shared buffers')
	  if $strategy eq 'wal_log';

	# what the copy left there is old when its own segments replace it
	round($copy, 'docs') for 1 .. 3;
	right($copy, 'docs', "copied by $strategy, replaced");
	$copy->value('CHECKPOINT');
	$copy->close;
}
right_in_file($node, 'wal_log', 'docs', 'copied by wal_log, in the file');
right_in_file($node, 'file_copy', 'docs', 'copied by file_copy, in the file');
$s = skx_session($node, 'postgres');
right($s, 'docs', 'original, in the file');

# ---- read into few shared buffers and written from there meanwhile ----

{
	my $crowded = skx_node('crowded', extra => ['--data-checksums'],
		conf => "shared_buffers = 2MB\nskipidx.cache_size = 0\nfsync = on\n");

	$crowded->safe_psql('postgres', $fixture);
	# A tool may read a page, free until then, in the middle of its write.
	$crowded->safe_psql('postgres', <<'SQL');
CREATE TABLE enough (yes bool);
CREATE PROCEDURE keep_reading() LANGUAGE plpgsql AS $$
BEGIN
	WHILE NOT EXISTS (SELECT FROM enough) LOOP
		BEGIN
			PERFORM pg_prewarm('docs_v');
		EXCEPTION WHEN data_corrupted THEN
		END;
		COMMIT;
	END LOOP;
END $$;
SQL
	my $w = skx_session($crowded, 'postgres');
	my $reader = skx_session($crowded, 'postgres');
	my $checkpoints = skx_session($crowded, 'postgres');
	my $until = time + 6;
	my ($rounds, $damaged) = (0, '');

	table($w, 'docs', '');
	round($w, 'docs') for 1 .. 3;
	my $file = $crowded->data_dir . '/' . $w->value("SELECT pg_relation_filepath('docs_v')");
	my $cat = IPC::Run::start([ 'sh', '-c', 'while test ! -e "$0.enough"; do cat "$0" >/dev/null; done', $file ]);

	$reader->start('SET client_min_messages = error; CALL keep_reading()');
	$checkpoints->start(join "\n", map { "CHECKPOINT; SELECT pg_sleep(0.2);" } 1 .. 25);
	while ($damaged eq '' && (time < $until || ($rounds <= 3 && time < $until + 90)))
	{
		round($w, 'docs');
		$damaged = $w->raw("SELECT skipidx_check('docs_v', true)");
		$rounds++;
	}
	is($damaged, '', 'whole while it is read');
	cmp_ok($rounds, '>', 3, "$rounds rounds meanwhile");
	$w->value('INSERT INTO enough VALUES (true)');
	is($reader->finish, '', 'the tool has read');
	$checkpoints->finish;
	append_to_file("$file.enough", '');
	$cat->finish;
	unlink "$file.enough";
	unlike(slurp_file($crowded->logfile), qr/PANIC/, 'a checkpoint has synced all that was written');
	right($w, 'docs', 'read while written');
	$w->value('CHECKPOINT');
	$_->close for $reader, $checkpoints, $w;
	right_in_file($crowded, 'postgres', 'docs', 'read while written, in the file');
	$crowded->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $crowded->data_dir ], 'read while written: pg_checksums');
}

# ---- a standby, and what it was promoted to ----

{
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $t = skx_session($standby, 'postgres');

	right($t, 'docs', 'standby');
	cmp_ok($t->value("SELECT resident FROM skipidx_io_totals() WHERE scope = 'session'"), '>', 50,
		'the standby reads from shared buffers what replay put there');

	# its cache and its buffers have pages that the next rounds replace
	for my $i (1 .. 3)
	{
		round($s, 'docs') for 1 .. 2;
		$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
		right($t, 'docs', "standby, replaced $i");
	}
	$t->close;
	$s->close;
	$node->stop('immediate');
	$standby->promote;
	$t = skx_session($standby, 'postgres');
	my $lsn = $t->value('SELECT pg_current_wal_insert_lsn()');
	my $dirty = resident($t, 'docs', 'true');

	right($t, 'docs', 'promoted');
	round($t, 'docs') for 1 .. 2;
	my $new = written($t, 'docs', $dirty, $lsn);

	cmp_ok($new, '>', 100, "$new of " . scalar(@$dirty) . ' pages dirty from replay were written anew');
	right($t, 'docs', 'promoted, replaced');
	$t->value('CHECKPOINT');
	$t->close;
	right_in_file($standby, 'postgres', 'docs', 'promoted, in the file');
	$standby->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $standby->data_dir ], 'promoted: pg_checksums');
}

# ---- crash, tablespaces, relations that are not logged ----

$node->start;
$s = skx_session($node, 'postgres');
right($s, 'docs', 'after a crash');
round($s, 'docs') for 1 .. 2;
right($s, 'docs', 'after a crash, replaced');

$s->value("CREATE TABLESPACE elsewhere LOCATION ''");
for my $place (qw(elsewhere pg_default))
{
	$s->value("ALTER INDEX docs_v SET TABLESPACE $place");
	right($s, 'docs', "moved to $place");
	round($s, 'docs') for 1 .. 2;
	right($s, 'docs', "moved to $place, replaced");
}

table($s, 'quick', 'UNLOGGED');
$s->value("SELECT pg_prewarm('quick_v')");
round($s, 'quick') for 1 .. 4;
right($s, 'quick', 'unlogged');
$s->close;
right_in_file($node, 'postgres', 'quick', 'unlogged, in the file');
$s = skx_session($node, 'postgres');
round($s, 'quick');
$s->value("INSERT INTO docs VALUES (0, 'all:1')");
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'postgres');
is($s->value("SET enable_seqscan = off; SELECT count(*) FROM quick WHERE v @@ 'all'"), 0, 'unlogged: empty after a crash');
$s->value("SELECT change('quick', 2000)");
round($s, 'quick') for 1 .. 3;
right($s, 'quick', 'unlogged, after a crash');
right($s, 'docs', 'logged, after a crash');

$s->value('SET temp_buffers = 100; CREATE TEMP TABLE mine ()');
table($s, 'brief', 'TEMP');
round($s, 'brief') for 1 .. 4;
right($s, 'brief', 'temporary');
$s->close;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');

# ---- logged at commit, if at all ----

{
	my $minimal = skx_node('minimal', extra => ['--data-checksums'],
		conf => "wal_level = minimal\nmax_wal_senders = 0\n");
	my %skip = (synced => '0', logged => '1GB');

	$minimal->safe_psql('postgres', $fixture);
	for my $name (sort keys %skip)
	{
		my $t = skx_session($minimal, 'postgres');

		$t->value("SET wal_skip_threshold = '$skip{$name}'; BEGIN");
		table($t, $name, '');
		$t->value("SELECT pg_prewarm('${name}_v')");
		round($t, $name) for 1 .. 3;
		$t->value("SELECT change('$name', 100)");
		right($t, $name, "minimal, $name, before commit");
		my $lsn = $t->value('SELECT pg_current_wal_insert_lsn()');

		$t->value('COMMIT');
		my $wal = $t->value("SELECT pg_current_wal_insert_lsn() - '$lsn'");
		my $size = $t->value("SELECT pg_relation_size('${name}_v')");

		if ($name eq 'synced')
		{
			cmp_ok($wal, '<', $size / 10, 'nothing is logged');
		}
		else
		{
			cmp_ok($wal, '>', $size / 4, 'it is logged at commit');
		}
		$t->close;
		$minimal->stop('immediate');
		$minimal->start;
		$t = skx_session($minimal, 'postgres');
		right($t, $name, "minimal, $name, after a crash");
		round($t, $name) for 1 .. 3;
		$t->close;
		$minimal->stop('immediate');
		$minimal->start;
		$t = skx_session($minimal, 'postgres');
		right($t, $name, "minimal, $name, logged by now, after a crash");
		$t->close;
	}
	$minimal->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $minimal->data_dir ], 'minimal: pg_checksums');
}

for my $method (methods(), methods())
{
	my $n = $found{$method};

	note "$method: ", join ', ', map { "$_ $n->{$_}" } sort keys %$n;
	cmp_ok($n->{file}, '>', 250, "$method: pages came from the file");
	next if $method eq 'shared_buffers';
	cmp_ok($n->{resident}, '>', 250, "$method: and from shared buffers");
	cmp_ok($n->{ahead}, '>', 100, "$method: ahead of their use, too") if $method =~ /uring/;
}
done_testing();
