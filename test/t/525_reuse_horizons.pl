# What holds back pages that were given up is what holds back dead rows of the
# table: snapshots of its database and slots with an xmin.  A logical slot,
# which needs catalogs, and snapshots of other databases do not, except where
# the table counts as a catalog itself.
#
# Holds: manifest 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxChurn qw(skx_churn_texts);
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

use constant ROUNDS => 4;

my $seed = skx_seed(525);
my $node = skx_node('horizons', streaming => 1,
	conf => "wal_level = logical\nmax_replication_slots = 10\nskipidx.cache_size = 2MB");

note "seed $seed";
$node->safe_psql('postgres', 'CREATE DATABASE other');
skx_churn_texts($node, 'postgres');
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION skipidx;
SELECT setseed(0.$seed);
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 6000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
SQL
my $s = skx_session($node, 'postgres');

sub stat_of { return $s->value("SELECT $_[0] FROM skipidx_stats('docs_v')"); }

# All segments are replaced by one.
sub round
{
	$s->value("DELETE FROM docs WHERE id % 7 = (random() * 6)::int;"
		  . " INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 600) i");
	$s->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT skipidx_merge('docs_v', 1)");
	return;
}

# What these rounds add to the file, in pages, and how many wait then: those of
# the last transactions aside, which wait for these alone.
sub rounds
{
	my $before = stat_of('file_pages');

	round() for 1 .. ROUNDS;
	my $grown = stat_of('file_pages') - $before;

	$s->value('SELECT pg_current_xact_id()') for 1 .. 2;
	return $grown, stat_of('waiting_pages');
}

# Pages that one merge writes, and what the file never needs when they are used
# again: it was that long at first, and as much again may come by chance.
my ($size, $most);

sub is_free
{
	my ($why) = @_;
	my ($grown, $waiting) = rounds();

	cmp_ok(stat_of('file_pages'), '<', $most, "$why: the file is no longer than it was");
	is($waiting, 0, "$why: nothing waits");
	is($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE waiting_for IS NOT NULL"), 0,
		"$why: and nothing is said to");
	return;
}

sub is_held
{
	my ($why) = @_;
	my $xid = $s->value('SELECT pg_current_xact_id()');
	my ($grown, $waiting) = rounds();

	cmp_ok($grown, '>', $size * (ROUNDS - 1), "$why: ${\ROUNDS} rounds take $grown pages more");
	cmp_ok($waiting, '>', $size * (ROUNDS - 1), "$why: $waiting pages wait");
	cmp_ok($s->value("SELECT count(*) FROM skipidx_segments('docs_v') WHERE waiting_for > '$xid'::xid8"),
		'>=', ROUNDS, "$why: the ids they wait for");

	# What was held back is used before the next case.
	return sub {
		is($s->value('SELECT pg_current_xact_id() > \'0\''), 't', 'a transaction');
		is(stat_of('waiting_pages'), 0, "$why: no more");
		$s->value('REINDEX INDEX docs_v');
		round() for 1 .. 5;
	};
}

round() for 1 .. 8;
$size = $s->value("SELECT sum(pages) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
cmp_ok($size, '>', 50, "a round writes $size pages");
$most = stat_of('file_pages') + 3 * $size;
is_free('nobody');

# ---- what does not concern the table ----

$node->safe_psql('other', "SELECT pg_create_logical_replication_slot('far', 'pgoutput')");
$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('near', 'pgoutput')");
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots WHERE catalog_xmin IS NOT NULL AND NOT active'),
	2, 'two logical slots that nobody reads');
is_free('logical slots');

my $far = skx_session($node, 'other');

$far->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
is_free('a snapshot of another database');
$far->value('COMMIT');
$far->close;

my $near = skx_session($node, 'postgres');

$near->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs');
is_free('a snapshot of this database, which has no view open');

# ---- what does, where it is not asked which views are open ----

$s->value('SET skipidx.reuse_early = off');
my $after = is_held('a snapshot of this database');
$near->value('COMMIT');
$s->value('RESET skipidx.reuse_early');
$near->close;
$after->();

$s->value('ALTER TABLE docs SET (user_catalog_table = true)');
$after = is_held('logical slots, of a table that decoding reads');
$s->value('ALTER TABLE docs RESET (user_catalog_table)');
$after->();

# ---- a standby's feedback, kept by its slot when it is gone ----

$node->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('standby')");
$node->backup('start');
my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($node, 'start', has_streaming => 1);
$standby->append_conf('postgresql.conf',
	"primary_slot_name = standby\nhot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->start;
my $reader = skx_session($standby, 'postgres');

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM docs');
$s->value('SELECT pg_current_xact_id()') for 1 .. 3;
ok($node->poll_query_until('postgres', "SELECT xmin IS NOT NULL FROM pg_replication_slots WHERE slot_name = 'standby'"),
	"the slot has the standby's xmin");
$standby->stop('immediate');
$after = is_held("a standby's slot");
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('standby')");
$after->();
is_free('slots that are left');

# ---- a temporary table: what its session has under a cursor ----

{
	my $own = skx_session($node, 'postgres');
	my $rows = 'doc(i) AS v FROM generate_series(%d, %d) i';

	$own->value("SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT setseed(0.$seed)");
	$own->value('CREATE TEMP TABLE own AS SELECT i AS id, ' . sprintf($rows, 1, 2000));
	$own->value("CREATE INDEX own_v ON own USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64MB')");
	$own->value('INSERT INTO own SELECT i, ' . sprintf($rows, 2001, 3500));

	# no transaction id of its own: the horizon of its tables passes by the cursor
	$own->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM own WHERE v @@ 'all'");
	my @got = split /\n/, $own->value('FETCH 3 FROM c');

	$s->value('SELECT pg_current_xact_id()') for 1 .. 3;
	$own->value("SELECT skipidx_flush('own_v')");
	$s->value('SELECT pg_current_xact_id()') for 1 .. 3;
	$own->value("SELECT skipidx_merge('own_v', 1)");
	is($own->value("SELECT count(*) FILTER (WHERE kind = 'segment') || ' ' || (pg_current_xact_id_if_assigned() IS NULL)"
			  . " FROM skipidx_segments('own_v')"), '1 true', 'pending rows, and then segments, were given up under it');
	push @got, split /\n/, $own->raw('FETCH ALL FROM c');
	is(join(' ', sort { $a <=> $b } @got), join(' ', 1 .. 3500), 'the cursor has every row');
	$own->close;
}

# ---- held back for long: no flip costs more for all those before it ----

{
	my $holder = skx_session($node, 'postgres');

	$s->value("CREATE TABLE few (v tsvector) WITH (autovacuum_enabled = off); CREATE INDEX few_v ON few USING skipidx (v)"
		  . " WITH (block_size = '8kB'); INSERT INTO few SELECT doc(i) FROM generate_series(1, 9) i");
	$holder->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM few');
	my $logged = sub {
		my ($times) = @_;
		my $from = $s->value('SELECT pg_current_wal_lsn()');

		$s->value("INSERT INTO few VALUES ('a b c'); SELECT skipidx_flush('few_v') \\g /dev/null\n SELECT skipidx_merge('few_v', 1) \\g /dev/null")
		  for 1 .. $times;
		return $s->value("SELECT pg_current_wal_lsn() - '$from'") / $times;
	};

	$s->value('SET skipidx.reuse_early = off');

	my $first = $logged->(10);

	$logged->(900);
	my $last = $logged->(10);

	note "WAL of a flush and merge: $first bytes, later $last";
	cmp_ok($s->value("SELECT waiting_pages FROM skipidx_stats('few_v')"), '>', 1000, 'much waits');
	cmp_ok($last, '<', 2 * $first, 'a flip after very many');
	is($s->raw("SELECT skipidx_check('few_v', true)"), '', 'skipidx_check after very many');
	$holder->close;
	$s->value('RESET skipidx.reuse_early');
	$s->value("SELECT pg_current_xact_id()") for 1 .. 3;
	$logged->(10);
	cmp_ok($s->value("SELECT waiting_pages FROM skipidx_stats('few_v')"), '<', 1000, 'and then it is used again');
}

is($s->raw("SELECT skipidx_check('docs_v', true)"), '', 'skipidx_check');
is($s->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), $s->value('SELECT count(*) FROM docs'), 'every row');
$s->close;
done_testing();
