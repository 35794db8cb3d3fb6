# `<@>` of foreign tables: by themselves it is not bound, whatever leads to them,
# and the error says what to write instead; beneath a table with an index their rows
# are ranked by that index, whose statistics do not have them, and EXPLAIN says so.
#
# Holds: plan 36

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('foreign_tables', conf => 'skipidx.max_workers = 0');
my $s = skx_session($node, 'postgres');

if ($s->value("SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'") == 0)
{
	$node->stop;
	plan skip_all => 'there is no file_fdw';
}

# Of the foreign rows, all have the word that is rare here.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE TABLE near (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO near SELECT i, ('all:1 n' || i % 9 || ':2')::tsvector FROM generate_series(1, 90) i;
CREATE INDEX near_v ON near USING skipidx (v);
CREATE FOREIGN TABLE away (id int, v tsvector) SERVER files OPTIONS (program 'printf "1001\tall:1 n1:2\n1002\tall:1 n1:2 n1:3\n"');
CREATE VIEW away_view AS SELECT id, v FROM away;
CREATE TABLE parts (id int, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_near PARTITION OF parts FOR VALUES FROM (0) TO (1000);
INSERT INTO parts SELECT * FROM near;
CREATE INDEX parts_v ON parts USING skipidx (v);
CREATE TABLE heirs (LIKE near);
CREATE INDEX heirs_v ON heirs USING skipidx (v);
CREATE FOREIGN TABLE heirs_away () INHERITS (heirs) SERVER files OPTIONS (program 'printf "1\tall:1\n"');
ANALYZE;
SET enable_seqscan = off;
SQL

my $unbound = qr/55000: no skipidx index was found for the left operand of <@>.*HINT:.*skipidx_ranking\('name_of_index', query\)/s;

sub alone
{
	like($s->raw("SELECT id FROM $_ ORDER BY v <@> 'n1' LIMIT 3"), $unbound, "$_[0]: $_")
	  for 'away', 'away_view', '(SELECT * FROM away OFFSET 0) s', '(SELECT * FROM away UNION ALL SELECT * FROM away) u';
	return;
}

alone('by itself');
is($s->value("SELECT id FROM away ORDER BY v <@> skipidx_ranking('near_v', 'n1')"), "1002\n1001", 'by a ranking');
is($s->value("SELECT id FROM away ORDER BY v <@> skipidx_query('n1', 'near_v')"), "1002\n1001", 'by the index of another table');
unlike($s->value("EXPLAIN SELECT id FROM parts ORDER BY v <@> 'n1'"), qr/foreign/, 'nothing is foreign yet');

my $before = $s->value("SELECT v <@> 'n1' FROM parts WHERE id = 1");

$s->value('ALTER TABLE parts ATTACH PARTITION away FOR VALUES FROM (1000) TO (2000)');
alone('beneath a partitioned table');

my $by = qr/''n1'' by parts_v \(foreign partitions not counted\)'::skipidx_ref/;
my $plan = $s->value("EXPLAIN (COSTS OFF) SELECT id FROM parts ORDER BY v <@> 'n1' LIMIT 5");

like($plan, qr/Skipidx Scan.*Order By: \(v <@> '$by/s, 'the scan of a partition that is here says it');
like($plan, qr/Sort Key: \(\(parts_\d\.v <@> '$by\)\)\s+->  Foreign Scan/s, 'and so does the sort of the foreign one');
is($s->value("SELECT id FROM parts ORDER BY v <@> 'n1', id LIMIT 3"), "1002\n1\n10", 'foreign rows are ranked, too');
is($s->value("SELECT v <@> 'n1' FROM parts WHERE id = 1"), $before, 'they change no score');
is($s->value("SELECT count(DISTINCT v <@> 'n1') FROM parts WHERE id IN (1, 1001)"), 1, 'and have the scores of others');
is($s->value("SELECT count(v <@> '''n1'' by parts_v (foreign partitions not counted)'::skipidx_ref) FROM parts"), 92, 'what EXPLAIN says can be written');
like($s->value("EXPLAIN SELECT id FROM $_ ORDER BY v <@> 'n1'"), qr/by heirs_v \(foreign partitions not counted\)'/, "$_: one that a foreign table inherits from")
  for 'heirs', 'ONLY heirs';
is($s->value("SELECT count(v <@> 'all') FROM heirs"), 1, 'and its rows');

$s->close;
$node->stop;
done_testing();
