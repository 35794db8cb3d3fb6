# Logical replication of a table with REPLICA IDENTITY FULL to one that has only
# indexes of ours: a subscriber looks rows up by an index of equality, which ours
# is not for a tsvector, so it reads the table, and changes the rows that the
# publisher has changed.  The index of the subscriber has what they became.
#
# Holds: am 15

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $seed = skx_seed(387);
srand($seed);

my ($from, $to) = map { skx_node($_, streaming => 'logical', conf => "wal_level = logical\nskipidx.max_workers = 0\nlog_min_messages = warning") } qw(publisher subscriber);
my ($p, $s) = map { skx_session($_, 'postgres') } $from, $to;

# Rows that are equal, NULLs, and values that are equal only to an index.
my $table = 'CREATE TABLE docs (id int, tenant int, who text, tags text[], v tsvector) WITH (autovacuum_enabled = off)';
for ($p, $s)
{
	$_->value("CREATE EXTENSION skipidx; $table; ALTER TABLE docs REPLICA IDENTITY FULL;"
		  . 'CREATE INDEX docs_v ON docs USING skipidx (v); CREATE INDEX docs_all ON docs USING skipidx (v, id, tenant, who, tags)');
}
$s->value(q{CREATE INDEX docs_expression ON docs USING skipidx (to_tsvector('simple', who), id)});
$p->value('CREATE PUBLICATION pub FOR TABLE docs');
$p->value(<<'SQL');
INSERT INTO docs SELECT i, i % 5, CASE WHEN i % 3 > 0 THEN 'u' || i % 3 END, ARRAY['t' || i % 2], CASE WHEN i % 7 > 0 THEN ('all:1 a' || i % 7 || ':2A b' || i || ':3')::tsvector END FROM generate_series(1, 2000) i;
INSERT INTO docs SELECT i, 1, 'twin', '{t0}', 'all:1 twin:2' FROM generate_series(1, 20) i, generate_series(1, 3);
SQL
$s->value("CREATE SUBSCRIPTION sub CONNECTION '" . $from->connstr('postgres') =~ s/'/''/gr . "' PUBLICATION pub");

sub same
{
	my ($what) = @_;
	my $all = 'SELECT count(*), md5(string_agg(d::text, chr(10) ORDER BY d::text)) FROM docs d';

	$from->wait_for_catchup('sub');
	is($s->value($all), $p->value($all), "$what: rows");
	for my $condition ("v @@ 'all & a3'", "v @@ 'twin'", "v @@ 'all' AND tenant = 2 AND tags @> '{t1}'", "v @@ '!all'", 'v IS NULL', "v @@ 'a1:A | changed'")
	{
		my $rows = "SELECT md5(string_agg(id || coalesce(who, '-') || coalesce(v::text, '-'), ',' ORDER BY id, who, v)) FROM docs WHERE $condition";

		$s->value('SET enable_seqscan = off');
		my $found = $s->value($rows);
		$s->value('RESET enable_seqscan; SET enable_indexscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off');
		is($found, $s->value($rows), "$what: $condition");
		$s->value('RESET ALL');
	}
}

$to->wait_for_subscription_sync($from, 'sub') if $to->can('wait_for_subscription_sync');
$to->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_subscription_rel WHERE srsubstate IN ('r', 's')") or die 'no synchronization';
same('copied');
my $scans = q{SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_user_indexes WHERE relname = 'docs'};
my @changes = (
	"UPDATE docs SET v = v || 'changed:9' WHERE id % 10 = 3",
	'UPDATE docs SET tenant = tenant + 1 WHERE id % 11 = 0',
	"UPDATE docs SET v = NULL WHERE id % 13 = 5",
	"UPDATE docs SET v = 'all:1 again:2' WHERE v IS NULL AND id % 2 = 0",
	"DELETE FROM docs WHERE ctid IN (SELECT min(ctid) FROM docs WHERE who = 'twin' GROUP BY id)",
	"UPDATE docs SET who = 'other' WHERE ctid IN (SELECT min(ctid) FROM docs WHERE who = 'twin' GROUP BY id HAVING id % 2 = 0)",
	'DELETE FROM docs WHERE id % 9 = 1',
	"UPDATE docs SET tags = NULL WHERE id % 17 = 2",
	'DELETE FROM docs WHERE v IS NULL OR tags IS NULL',
	map { my $id = 1 + int(rand(2000)); (rand() < .3 ? "DELETE FROM docs WHERE id = $id" : "UPDATE docs SET v = 'all:1 random:$id' WHERE id BETWEEN $id AND $id + 3") } 1 .. 40);
for my $i (0 .. $#changes)
{
	$p->value($changes[$i]);
	if ($i == 3) { $s->value("SELECT skipidx_flush('docs_all'), skipidx_flush('docs_v')"); }
	elsif ($i == 6) { $from->wait_for_catchup('sub'); $s->value("VACUUM docs; SELECT skipidx_merge('docs_all')"); }
	same($changes[$i]) if $i < 9;
}
same('random changes');
$s->value('SELECT pg_stat_force_next_flush()');
# What the sessions here have asked the indexes for is not the subscriber's.
my $before = $s->value($scans);
$p->value("UPDATE docs SET v = v || 'last:1'; DELETE FROM docs WHERE id % 2 = 0");
$from->wait_for_catchup('sub');
my $all = 'SELECT count(*), md5(string_agg(d::text, chr(10) ORDER BY d::text)) FROM docs d';
is($s->value($all), $p->value($all), 'all rows');
$to->safe_psql('postgres', 'ALTER SUBSCRIPTION sub DISABLE');
$to->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'logical replication%worker%' AND backend_type !~ 'launcher'") or die 'the worker does not end';
is($s->value($scans), $before, 'the subscriber has looked no row up in our indexes');
cmp_ok($s->value(q{SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'docs'}), '>', 100, 'it reads the table');
is($s->value(q{SELECT bool_and(skipidx_check(i, true) IS NOT NULL) FROM unnest('{docs_v,docs_all,docs_expression}'::regclass[]) i}), 't', 'the indexes are sound');
unlike(slurp_file($to->logfile), qr/ERROR|PANIC/, 'no error of the subscriber');

# A table whose index of ours is all that could be an identity has none.
like($p->raw('ALTER TABLE docs REPLICA IDENTITY USING INDEX docs_all'), qr/ERROR:  /, 'our index is no replica identity');
$_->close for $p, $s;
$_->stop for $to, $from;
done_testing();
