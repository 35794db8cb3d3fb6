# Everything at once: inserts, updates, deletes, aborted subtransactions,
# prepared transactions, VACUUM, flushes, merges, indexes built and rebuilt
# beside them.  Every answer is that of its snapshot.
#
# Writers never change how many rows a group has, so readers know what they
# must count; and they ask the sequential scan in the same snapshot as well.  So
# do readers on a standby, where replay takes no heavyweight lock of the index.
#
# Long: a minute, else 8 s (SKX_CHURN_SECONDS).
#
# Holds: maint 2, 5, 9; manifest 1, 6; pending 4; query 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use PostgreSQL::Test::Cluster;
use SkipidxChurn qw(skx_churn_install);
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;
use Time::HiRes qw(time sleep);

# Until what is too seldom counts as not happening, s.
use constant PATIENCE => 90;

my $seconds = $ENV{SKX_CHURN_SECONDS} // 8;
my $seed = skx_seed(540);
my $node = skx_node('churn', streaming => 1, extra => ['--data-checksums'],
	conf => "wal_keep_size = 2GB\nmax_standby_streaming_delay = 20ms\nskipidx.cache_size = 2MB\nmax_prepared_transactions = 10\n"
	  . "autovacuum = on\nautovacuum_naptime = 1\ndeadlock_timeout = 200ms\n"
	  . "autovacuum_vacuum_threshold = 200\nautovacuum_vacuum_scale_factor = 0\n"
	  . "autovacuum_vacuum_insert_threshold = 200\nautovacuum_vacuum_insert_scale_factor = 0");

note "seed $seed, $seconds s";
srand($seed);

skx_churn_install($node, 'postgres', q{block_size = '8kB', pending_limit = '64kB'});
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION counted(what tsquery, mode text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
		set_config('enable_indexscan', (mode = 'plain')::text, true);
	EXECUTE 'SELECT count(*) || '' rows '' || count(DISTINCT id) || '' ids '' || coalesce(sum(id::int8), 0)
		FROM docs WHERE v @@ $1' INTO answer USING what;
	RETURN answer;
END $$;

-- What is wrong, or nothing; all of it in one snapshot
CREATE FUNCTION look(g int, mode text, method text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	what text;
	got text;
	want text;
BEGIN
	PERFORM set_config('skipidx.io_method', method, true);
	FOREACH what IN ARRAY ARRAY['g' || g, 'all <-> g:*', 'new | updated:*', 'moved & !k1', 'again',
		'big7 <-> big8'] LOOP
		got := counted(what::tsquery, mode);
		want := counted(what::tsquery, 'seq');
		IF got <> want THEN
			RETURN format('%s: %s, but the heap has %s', what, got, want);
		END IF;
		IF what = 'g' || g AND got NOT LIKE '100 rows 100 ids %'
			OR what = 'all <-> g:*' AND got NOT LIKE '5000 rows 5000 ids %' THEN
			RETURN format('%s: %s', what, got);
		END IF;
	END LOOP;
	got := counted('!all', mode);
	RETURN CASE WHEN got LIKE '0 rows%' THEN '' ELSE '!all: ' || got END;
END $$;
SQL

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);

# Some pages stay where replay put them, others have to go to the file.
$standby->append_conf('postgresql.conf', 'shared_buffers = 2MB');
$standby->start;

# A conflict can end a session of the standby while it begins.
sub standby_session
{
	for (1 .. 50)
	{
		my $s = eval { skx_session($standby, 'postgres') } // next;

		return $s if $s->raw('SELECT 1') eq '1';
		$s->close;
		sleep 0.1;
	}
	die 'no session on the standby';
}

# What indexes there are.  One that has just been built has the rows that are
# not dead for the primary, whatever the access method; an older snapshot of
# the standby may see more.
my $indexes = "SELECT string_agg(concat_ws(' ', indexrelid, indisvalid, pg_relation_filenode(indexrelid)), ', ' ORDER BY indexrelid)"
  . " AS %s FROM pg_index WHERE indrelid = 'docs'::regclass \\gset\n";

sub standby_look
{
	my ($look) = @_;

	return sprintf($indexes, 'before') . "\\set wrong ''\n$look AS wrong \\gset\n" . sprintf($indexes, 'after')
	  . "SELECT CASE WHEN :'before' = :'after' THEN :'wrong' ELSE 'left out' END";
}

# A session that repeats a statement until the time is over, and counts.
my $end = time + $seconds;

sub forever
{
	my ($name, $next) = @_;
	my $s = $name =~ /standby/ ? standby_session() : skx_session($node, 'postgres');

	$s->value("SET client_min_messages = warning; SET statement_timeout = '120s'");
	$s->start($next->());
	return { name => $name, s => $s, next => $next, done => 0, wrong => [], poll => '' };
}

my $serial = 0;
my @modes = qw(bitmap plain);
my @methods = qw(direct uring_direct buffered shared_buffers uring);
my @loops = map { forever(@$_) } (
	(map { [ "writer $_", sub { 'SELECT churn(' . int(rand 50) . ', ' . int(rand 6) . ') \g /dev/null' . "\n" } ] } 1 .. 3),
	[ 'prepared', sub {
			my $name = 'p' . ++$serial;

			return 'BEGIN; SELECT churn(' . int(rand 50) . ', ' . int(rand 6) . ") \\g /dev/null\n"
			  . "PREPARE TRANSACTION '$name'; SELECT pg_sleep(0.05) \\g /dev/null\n"
			  . (rand() < 0.5 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$name';\n";
		} ],
	(map { [ "reader $_", sub { "SELECT look(" . int(rand 50) . ", '$modes[rand 2]', '$methods[rand @methods]')" } ] } 1 .. 2),
	(map { [ "standby $_", sub { standby_look("SELECT look(" . int(rand 50) . ", '$modes[rand 2]', '$methods[rand @methods]')") } ] } 1 .. 2),
	# One snapshot for two looks, with whatever happens between them
	[ 'old reader', sub {
			return "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT counted('all', 'plain') = counted('all', 'seq') AS a \\gset\n"
			  . "SELECT pg_sleep(0.3) \\g /dev/null\nSELECT look(" . int(rand 50)
			  . ", '$modes[rand 2]', '$methods[rand @methods]') || CASE WHEN :'a' = 't' THEN '' ELSE ' differs' END;\nCOMMIT;\n";
		} ],
	# Pages come from the file or from shared buffers again
	(map { [ "$_ reset", sub { "SELECT skipidx_cache_reset() \\g /dev/null\nSELECT pg_sleep(0.03) \\g /dev/null\n" } ] } qw(primary standby)),
	[ 'vacuum', sub { "VACUUM docs; SELECT pg_sleep(0.1) \\g /dev/null\n" } ],
	[ 'flush', sub { "SELECT skipidx_flush('docs_v') \\g /dev/null\nSELECT pg_sleep(0.02) \\g /dev/null\n" } ],
	[ 'merge', sub { "SELECT skipidx_merge('docs_v', " . (1 + int rand 3) . ") \\g /dev/null\nSELECT pg_sleep(0.1) \\g /dev/null\n" } ],
	[ 'build', sub {
			return 'REINDEX INDEX CONCURRENTLY docs_v' if rand() < 0.4;
			return 'REINDEX INDEX docs_v' if rand() < 0.2;
			return 'DROP INDEX IF EXISTS docs_w; CREATE INDEX CONCURRENTLY docs_w ON docs USING skipidx (v)'
			  . " WITH (block_size = '16kB', pending_limit = '128kB')";
		} ]);

# What may go wrong: the index that was named has been rebuilt meanwhile; a
# standby needs pages that its reader needs too.
sub harmless
{
	my ($loop, $text) = @_;

	# A connection that the conflict ends while the next statement is on its way
	# is reset, and the reason lost; that nothing crashed shows in the log.
	return $text =~ /^\S*\s*(ERROR:  40001: canceling statement|FATAL:  40001: terminating connection) due to conflict with recovery/
	  || $text =~ /^server closed the connection unexpectedly/
	  if $loop->{name} =~ /standby/;
	return $loop->{name} =~ /^(flush|merge|vacuum)$/
	  && $text =~ /could not open relation with OID|does not exist|was concurrently dropped/;
}

sub note_answer
{
	my ($loop, $said) = @_;

	return if $said eq '';
	return $loop->{left_out}++ if $said eq 'left out';
	push @{ $loop->{ harmless($loop, $said) ? 'harmless' : 'wrong' } }, $said;
	return;
}

sub without_answer
{
	my ($loop) = @_;

	return ($loop->{left_out} // 0) + @{ $loop->{harmless} // [] };
}

sub least { return $_[0]{name} eq 'build' ? 1 : 5; }

# Reads answers as they come, so that a slow one holds nobody up.  All go on
# until the last has been often enough.
my $on = 1;

while ($on || time < $end + 1)
{
	my $idle = 1;

	$on = time < $end
	  || (time < $end + PATIENCE && grep { $_->{done} - without_answer($_) < least($_) && !$_->{s}->gone } @loops);

	for my $loop (@loops)
	{
		my $said = $loop->{idle} ? undef : $loop->{s}->ready;

		next unless defined $said;
		$idle = 0;
		$loop->{done}++;
		note_answer($loop, $said);
		$loop->{s} = standby_session()
		  if $loop->{s}->gone && $loop->{name} =~ /standby/ && harmless($loop, $said);
		if ($on && !$loop->{s}->gone)
		{
			$loop->{s}->start($loop->{next}->());
		}
		else
		{
			$loop->{idle} = 1;
		}
	}
	last unless grep { !$_->{idle} } @loops;
	sleep 0.002 if $idle;
}
for my $loop (@loops)
{
	if (!$loop->{idle})
	{
		my $said = $loop->{s}->finish;

		$loop->{done}++;
		note_answer($loop, $said);
	}
	is(scalar(@{ $loop->{wrong} }), 0, "$loop->{name}: $loop->{done} times")
	  or diag(join "\n", grep { defined } @{ $loop->{wrong} }[ 0 .. 4 ]);
	my $without = without_answer($loop);

	note "$loop->{name}: $without of $loop->{done} without an answer" if $without;
	cmp_ok($loop->{done} - $without, '>=', least($loop), "$loop->{name}: often enough");
}

# ---- afterwards ----

# What is wrong with every so many of the groups.
sub everything
{
	my ($mode, $method, $stride) = @_;

	return "SELECT skipidx_cache_reset() \\g /dev/null\n"
	  . "SELECT wrong FROM (SELECT look(g, '$mode', '$method') AS wrong"
	  . " FROM generate_series(0, 49, $stride) g OFFSET 0) l WHERE wrong <> '';\n";
}

# Readers of this server have read by every method, from shared buffers and from
# the file.
sub used
{
	my ($session, $where) = @_;

	for my $method (@methods)
	{
		my ($pins, $file, $resident);

		# some more where chance has given the method little to do
		for (1 .. 20)
		{
			($pins, $file, $resident) = split /\|/, $session->value('SELECT pins, pages_read, resident'
				  . " FROM skipidx_io_methods() WHERE scope = 'total' AND method = '$method'");
			last if $pins > 100 && ($method eq 'shared_buffers' || ($resident > 20 && $file > 20));
			$session->raw(everything('plain', $method, 10));
		}

		note "$where, $method: $pins pins, $file pages from the file, $resident resident";
		cmp_ok($pins, '>', 100, "$where: pages by $method");
		next if $method eq 'shared_buffers';
		cmp_ok($resident, '>', 20, "$where: from shared buffers by $method");
		cmp_ok($file, '>', 20, "$where: from the file by $method");
	}
	return;
}

my $s = $loops[0]{s};

# Autovacuum goes on, and shortens tables: no reader is ended for that any more.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->reload;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
{
	my $r = standby_session();

	is($r->raw("SELECT skipidx_check('docs_v', true)"), '', 'standby: skipidx_check');
	for my $i (0 .. $#methods)
	{
		is($r->value(everything($modes[ $i % 2 ], $methods[$i], 7)),
			'', "standby: nothing lost, nothing invented, $modes[$i % 2] via $methods[$i]");
	}
	used($r, 'standby');
	$r->close;
}

is($s->value('SELECT count(*) FROM pg_prepared_xacts'), 0, 'nothing is left prepared');
$s->value('DROP INDEX IF EXISTS docs_w; CREATE INDEX docs_w ON docs USING skipidx (v)')
  if $s->value("SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('docs_w') AND indisvalid") == 0;
for my $other (qw(docs_w docs_v))
{
	my $index = $other eq 'docs_w' ? 'docs_v' : 'docs_w';

	is($s->raw("SELECT skipidx_check('$index', true)"), '', "$index: skipidx_check");
	$s->value("BEGIN; DROP INDEX $other");
	for my $i (0 .. $#methods)
	{
		is($s->value(everything($modes[ $i % 2 ], $methods[$i], 3)),
			'', "$index: nothing lost, nothing invented, $modes[$i % 2] via $methods[$i]");
	}
	$s->value('ROLLBACK');
	# Of itself VACUUM leaves a few dead rows in the indexes.
	$s->value('VACUUM (INDEX_CLEANUP ON) docs');
	is($s->value("SELECT ndocs - deleted FROM skipidx_stats('$index')"), 5000, "$index: as many documents as rows");
	$s->value("SELECT skipidx_flush('$index') \\g /dev/null\n");
	$s->value("SELECT skipidx_merge('$index', 1) \\g /dev/null\n");
	is($s->value("SELECT segments || ' ' || ndocs - deleted FROM skipidx_stats('$index')"), '1 5000', "$index: merged to one segment");
	is($s->raw("SELECT skipidx_check('$index', true)"), '', "$index: skipidx_check, merged");
}
used($s, 'primary');
is($s->value('SELECT pinned FROM skipidx_cache()'), 0, 'nothing stays pinned');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX00[12]|terminated by signal/, 'nothing else in the log');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|XX00[12]|terminated by signal/, 'nor in that of the standby');
$_->{s}->close for @loops;
for my $one ($node, $standby)
{
	$one->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $one->data_dir ], 'pg_checksums');
}
done_testing();
