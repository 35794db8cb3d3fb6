# A phrase with prefixes gives the rows of a sequential scan, whatever its form
# and its place in a query; and it goes through the lists of its prefixes a few
# times, however many documents it is asked about.
#
# Holds: query 1, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant ROWS => 60_000;

my $node = skx_node('phrases', conf => 'maintenance_work_mem = 256MB');

# p has lexemes with long lists, q such with short ones, r few; places are at
# random, so that some follow each other by any distance.  Every 13th row has no
# positions for some of its lexemes, and every 17th has labels.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
SELECT setseed(.25);
CREATE TABLE t (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, (SELECT string_agg(CASE WHEN i % 13 = 0 AND j % 3 = 0 THEN w
		ELSE w || ':' || CASE WHEN i % 1000 = 7 THEN j * 40 + 1 ELSE j + i % 5 END || CASE WHEN i % 17 = 0 THEN substr('ABCD', 1 + j % 4, 1) ELSE '' END END, ' ')
	FROM (SELECT j, CASE (random() * 12)::int WHEN 0 THEN 'w' WHEN 1 THEN 'x' WHEN 2 THEN 'y' || (random() * 2)::int
			WHEN 3 THEN 'q' || (random() * 9000)::int WHEN 4 THEN 'r' || (random() * 3)::int ELSE 'p' || (random() * 400)::int END AS w
		FROM generate_series(1, 12) j) ws)::tsvector
	FROM generate_series(1, 60000) i;
UPDATE t SET v = strip(v) WHERE id % 101 = 0;
CREATE INDEX t_v ON t USING skipidx (v);
VACUUM ANALYZE t;
SQL

my $s = skx_session($node, 'postgres');

$s->value('SET enable_bitmapscan = off');

sub by_index
{
	my ($on) = @_;

	$s->value('SET enable_seqscan = ' . ($on ? 'off' : 'on') . '; SET enable_indexscan = ' . ($on ? 'on' : 'off') .
		  '; SET enable_sort = ' . ($on ? 'off' : 'on'));
	return;
}

my @phrases = (
	'w <-> p:*', 'p:* <-> w', 'w <2> q:*', 'w <-> r:*', 'p:* <-> q:*', 'p:* <-> p:*', 'r:* <-> p:* <2> q:*', 'w <-> p:*A', 'p:*BC <-> x:D',
	'w:A <-> p:*', 'w <-> x <-> p:*', 'w <-> (x <-> p:*)', 'p:* <-> (w <-> q:*)', 'w <-> (p:* | q:*)', 'w <-> (p:* & !q:*)', 'w <-> !p:*',
	'!p:* <-> w', '!(p:* | q:*) <-> w', 'w <-> (p:* & p1:*)', 'w <-> (x | (y:* <-> p:*))', '(x | (y:* <-> p:*)) <-> w', '(y:* & (x <-> p:*)) <-> w',
	'!(x <-> p:*) <-> w', '(none | p:* & x | !r0) <-> w', '(none | p:* & x | !w) <-> p1:*', 'p:* <-> (q:* & (p1:*A | !p2:*))', 'w <0> p:*', 'w <64> p:*', 'p:* <40> p:*', 'w <400> p:*', 'none <-> p:*', 'w <-> none:*', '!none <-> p:*', 'w <-> p:* <-> none:*');

for my $phrase (@phrases)
{
	for my $q ($phrase, "x & ($phrase)", "r0 | ($phrase)", "w & !($phrase)")
	{
		my $rows = "SELECT concat_ws(' ', count(*), sum(id), sum(id::bigint * id)) FROM (SELECT id FROM t WHERE v @@ '$q' OFFSET 0) a";
		my @rows = map { by_index($_); $s->value($rows) } 0, 1;

		is($rows[1], $rows[0], "rows of $q ($rows[0])");
		next if $q ne $phrase;
		my $count = $s->value("SELECT count(*) FROM t WHERE v @@ '$q'");

		is($count, (split ' ', $rows[0])[0], "their number: $q");
		my $ranked = "SELECT md5(string_agg(id || ' ' || d, ',' ORDER BY d, id)) FROM (SELECT id, v <@> '$q' AS d FROM t WHERE v @@ '$q' ORDER BY v <@> '$q'::tsquery, ctid LIMIT 300) a";
		my @best = map { by_index($_); $s->value($ranked) } 0, 1;

		is($best[1], $best[0], "the best of $q");
		my $some = $s->value("SELECT string_agg(id::text, ',') FROM (SELECT id FROM t WHERE v @@ '$q' LIMIT 5) a") || '0';

		is($s->value("SELECT count(*) FROM t WHERE id IN ($some) AND NOT v @@ '$q' AND id > 0"), 0, "some rows of $q");
	}
}

# What a statement goes through: nodes, sub-blocks, blocks of positions.
sub work
{
	my ($sql) = @_;
	my $count = 'SELECT nodes, subblocks + fills, positions FROM skipidx_work()';
	my @before = split /\|/, $s->value($count);

	$s->value($sql);
	my @after = split /\|/, $s->value($count);
	return map { $after[$_] - $before[$_] } 0 .. 2;
}

by_index(1);
for my $pair ([ 'w <-> p:*', 'w & p:*' ], [ 'p:* <-> w', 'w & p:*' ], [ 'w <2> q:*', 'w & q:*' ], [ 'w <-> (p:* | q:*)', 'w & (p:* | q:*)' ])
{
	my ($phrase, $words) = @$pair;

	for my $sql ("SELECT count(*) FROM t WHERE v @@ '%s'", "SELECT sum(id) FROM t WHERE v @@ '%s'",
		"SELECT sum(id) FROM (SELECT id FROM t WHERE v @@ '%s' ORDER BY v <@> '%s'::tsquery LIMIT 10) a",
		"SELECT sum(id) FROM (SELECT id FROM t WHERE v @@ '%s' LIMIT 20000) a")
	{
		my @conjunction = work($sql =~ s/%s/$words/gr);
		my @phrase = work($sql =~ s/%s/$phrase/gr);
		my $name = substr($sql, 7, 12) . "... $phrase";

		# a few more, where what is asked about grows
		cmp_ok($phrase[0], '<=', 3 * $conjunction[0] + 2000, "$name: $phrase[0] nodes, the conjunction $conjunction[0]");
		cmp_ok($phrase[1], '<=', 6 * $conjunction[1] + 2500, "$name: $phrase[1] sub-blocks, the conjunction $conjunction[1]");
		cmp_ok($phrase[2], '<=', 2 * $conjunction[1], "$name: $phrase[2] blocks of positions");
	}
}
$s->close;
done_testing();
