# What a session waits for while another reads what it wants, or while others
# read as much as may be: it shows in pg_stat_activity, under its own name where
# the server has names for extensions, and such a wait ends when it is told to.
#
# Holds: compat 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session skx_reload skx_median);
use Test::More;
use Time::HiRes qw(sleep);

# Until a wait that was cancelled counts as deaf, ms; and until a session that
# does not wait counts as one that got through without, s.
use constant SOON => 10;
use constant TIMES => 11;
use constant SERIES => 4;
use constant PATIENCE => 0.5;
use constant TRIES => 60;

skx_seed(218);

my $node = skx_node('wait_events', faults => 1, conf => "skipidx.cache_size = 4MB\nskipidx.io_depth_total = 64");
my $named = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 b' || (hashint4(i) & 1) || ':2')::tsvector FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE others AS TABLE docs;
CREATE INDEX others_v ON others USING skipidx (v) WITH (block_size = '8kB');

-- what that process waits for next, of an extension; nothing if it does not
CREATE FUNCTION waits(whom int, seconds float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	stop timestamptz := clock_timestamp() + seconds * interval '1 s';
	event text;
BEGIN
	WHILE clock_timestamp() < stop LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT wait_event_type || ' ' || wait_event INTO event FROM pg_stat_get_activity(whom) WHERE wait_event_type = 'Extension';
		IF event IS NOT NULL THEN
			RETURN event;
		END IF;
	END LOOP;
	RETURN '';
END $$;
SQL
$node->restart;

sub session
{
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET skipidx.io_method = direct; SET enable_seqscan = off; SET enable_indexscan = off");
	return $s;
}

my ($reader, $waiter, $watch) = (session(), session(), session());

sub rest
{
	$reader->finish;
	$reader->value('RESET skipidx.fault_read');
	return;
}

# Lets the reader, whose reads are slow, read and another want what it must
# wait for.
sub both
{
	my ($table) = @_;

	$watch->value('SELECT skipidx_cache_reset() \g /dev/null' . "\n");
	$reader->value("SET skipidx.fault_read = 'slow:1:1000000'");
	$reader->start("SELECT count(*) FROM docs WHERE v @@ 'all <-> b0'");
	$waiter->start("SELECT count(*) FROM $table WHERE v @@ 'all <-> b0'");
	return;
}

for my $case ([ 'SkipidxFrameLoad', 'docs', 64 ], [ 'SkipidxReadQueue', 'others', 1 ])
{
	my ($name, $table, $most) = @$case;
	my @ms;

	$node->adjust_conf('postgresql.conf', 'skipidx.io_depth_total', $most);
	skx_reload($node, $reader, $waiter);
	my $count = $watch->value("SELECT count(*) FROM $table WHERE v @@ 'all <-> b0'");

	# Whoever is quicker waits for the other once, a few milliseconds: it takes
	# some tries until that is seen.
	my ($seen, @wrong) = ('');

	for (1 .. TRIES)
	{
		both($table);
		$seen = $watch->value('SELECT waits(' . $waiter->backend . ', ' . PATIENCE . ')');
		my $said = $waiter->finish;

		push @wrong, $said if $said ne $count;
		rest();
		last if $seen ne '';
	}
	is($seen, $named ? "Extension $name" : 'Extension Extension', "$name: shown while it waits");
	is_deeply(\@wrong, [], "$name: then it goes on");

	# It waits for nearly every page, unless it gets ahead of the other.  The
	# machine may be busy: of several series one is enough.
	for my $series (1 .. SERIES)
	{
		@ms = ();
		for (1 .. 60)
		{
			last if @ms >= TIMES;
			both($table);
			sleep 0.01 + rand 0.05;
			my ($said, $ms) = $waiter->cancel;

			push @ms, $ms if $said =~ /57014/;
			is($said, $count, "$name: or right") if $said !~ /57014/;
			kill 'INT', $reader->backend;
			rest();
		}
		last if @ms < TIMES || skx_median(@ms) < SOON;
	}
	is(scalar(@ms), TIMES, "$name: cancelled while it waits");
	note sprintf '%s: cancelled after %.1f ms', $name, skx_median(@ms);
	cmp_ok(skx_median(@ms), '<', SOON, "$name: and soon");
	is($watch->value("SELECT pinned || ' ' || reads_under_way || ' ' || reads_queued FROM skipidx_cache()"),
		'0 0 0', "$name: nothing stays behind");
}
$_->close for $reader, $waiter, $watch;
$node->stop;
done_testing();
