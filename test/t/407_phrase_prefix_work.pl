# A phrase with prefixes goes through the lists of its prefixes a few times,
# however many documents it is asked about, and reads positions of those alone in
# which it can match.
#
# Holds: query 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('phrase_work', conf => 'maintenance_work_mem = 256MB');

# p has lexemes with long lists, q such with short ones; places are at random.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
SELECT setseed(.25);
CREATE TABLE t (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, (SELECT string_agg(w || ':' || j + i % 5, ' ')
	FROM (SELECT j, CASE (random() * 12)::int WHEN 0 THEN 'w' WHEN 1 THEN 'x' WHEN 2 THEN 'y' || (random() * 2)::int
			WHEN 3 THEN 'q' || (random() * 9000)::int ELSE 'p' || (random() * 400)::int END AS w
		FROM generate_series(1, 12) j) ws)::tsvector
	FROM generate_series(1, 60000) i;
CREATE INDEX t_v ON t USING skipidx (v);
VACUUM ANALYZE t;
SQL

my $s = skx_session($node, 'postgres');

# A query that is not known when a plan is made cannot be left to rows in part.
$s->value('SET enable_seqscan = off; SET enable_sort = off; SET plan_cache_mode = force_generic_plan');
my %form = (
	count => 'SELECT count(*) FROM t WHERE v @@ $1',
	rows => 'SELECT sum(id) FROM (SELECT id FROM t WHERE v @@ $1 OFFSET 0) a',
	best => 'SELECT sum(id) FROM (SELECT id FROM t WHERE v @@ $1 ORDER BY v <@> $1 LIMIT 10) a',
	many => 'SELECT sum(id) FROM (SELECT id FROM t WHERE v @@ $1 LIMIT 20000) a');

for my $name (sort keys %form)
{
	$s->value('SET enable_bitmapscan = ' . ($name eq 'count' ? 'on' : 'off') . "; PREPARE $name (tsquery) AS $form{$name}");
	my $plan = $s->value("EXPLAIN (COSTS OFF) EXECUTE $name ('a')");

	unlike($plan, qr/Filter:|Seq Scan|Bitmap|Sort/, "the plan of $name");
	like($plan, qr/Index Cond: \(v @@ \$1\)/, "all of the query in the plan of $name");
}

# What a statement goes through: nodes, sub-blocks, blocks of positions.
sub work
{
	my ($name, $q) = @_;
	my $count = 'SELECT nodes, subblocks + windows_filled, positions FROM skipidx_work()';
	my @before = split /\|/, $s->value($count);

	$s->value("EXECUTE $name ('$q')");
	my @after = split /\|/, $s->value($count);
	return map { $after[$_] - $before[$_] } 0 .. 2;
}

for my $pair ([ 'w <-> p:*', 'w & p:*' ], [ 'p:* <-> w', 'w & p:*' ], [ 'w <2> q:*', 'w & q:*' ], [ 'w <-> (p:* | q:*)', 'w & (p:* | q:*)' ], [ 'p:* <-> p1:*', 'p:* & p1:*' ], [ 'p:* <-> q:*', 'p:* & q:*' ])
{
	my ($phrase, $words) = @$pair;

	for my $name (sort keys %form)
	{
		my @conjunction = work($name, $words);
		my @phrase = work($name, $phrase);

		# Once, if all are wanted; else for a few documents at first, then for very
		# many, and a search by scores goes through them for itself.  Two prefixes
		# have no lexeme whose documents are asked about.
		my $of = $name . ($phrase =~ /^w|w$/ ? ' of a word and prefixes' : ' of two prefixes');

		work_is("$of: nodes", $phrase[0], in => $phrase, words => $conjunction[0]);
		work_is("$of: sub-blocks", $phrase[1], in => $phrase, words => $conjunction[1]);
		work_is('blocks of positions', $phrase[2], in => "$name of $phrase");
	}
}
$s->close;
work_done();
