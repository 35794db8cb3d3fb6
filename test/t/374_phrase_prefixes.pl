# A phrase with prefixes gives the rows of a sequential scan, whatever its form
# and its place in a query: by the index alone, which tests no row.
#
# Holds: query 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('phrases', conf => 'maintenance_work_mem = 256MB');

# p has lexemes with long lists, q such with short ones, r few; places are at
# random, so that some follow each other by any distance.  Every 7th row has no
# positions for some of its lexemes, every 17th has labels, and some have places
# that are far from each other.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
SELECT setseed(.25);
CREATE TABLE t (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO t SELECT i, (SELECT string_agg(CASE WHEN i % 7 = 0 AND j % 3 = 0 THEN w
		ELSE w || ':' || CASE WHEN i % 100 = 7 THEN j * 40 + 1 ELSE j + i % 5 END || CASE WHEN i % 17 = 0 THEN substr('ABCD', 1 + j % 4, 1) ELSE '' END END, ' ')
	FROM (SELECT j, CASE (random() * 12)::int WHEN 0 THEN 'w' WHEN 1 THEN 'x' WHEN 2 THEN 'y' || (random() * 2)::int
			WHEN 3 THEN 'q' || (random() * 900)::int WHEN 4 THEN 'r' || (random() * 3)::int ELSE 'p' || (random() * 40)::int END AS w
		FROM generate_series(1, 12) j) ws)::tsvector
	FROM generate_series(1, 12000) i;
UPDATE t SET v = strip(v) WHERE id % 101 = 0;
CREATE INDEX t_v ON t USING skipidx (v);
VACUUM ANALYZE t;
SQL

my $s = skx_session($node, 'postgres');

# A query that is not known when a plan is made cannot be left to rows in part.
$s->value('SET plan_cache_mode = force_generic_plan');
my %form = (
	rows => "SELECT concat_ws(' ', count(*), sum(id), sum(id::bigint * id)) FROM (SELECT id FROM t WHERE v @@ \$1 OFFSET 0) a",
	count => 'SELECT count(*) FROM t WHERE v @@ $1',
	best => "SELECT md5(string_agg(id || ' ' || d, ',' ORDER BY d, id)) FROM (SELECT id, v <@> \$1 AS d FROM t WHERE v @@ \$1 ORDER BY v <@> \$1 LIMIT 300) a",

	# as many as there are, at most five, each of which matches
	some => "SELECT count(*) || ' ' || count(*) FILTER (WHERE NOT v @@ \$1) FROM (SELECT v FROM t WHERE v @@ \$1 LIMIT 5) a");

# Prepares all forms by a sequential scan or by the index, which alone answers then.
sub prepare
{
	my ($by_index) = @_;
	my ($off, $on) = $by_index ? ('off', 'on') : ('on', 'off');

	for my $name (sort keys %form)
	{
		my $bitmap = $by_index && $name eq 'count' ? 'on' : 'off';
		my $sql = $by_index ? $form{$name} : $form{$name} =~ s/ LIMIT 300/, ctid LIMIT 300/r;

		$s->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_indexscan = $on; SET enable_bitmapscan = $bitmap; PREPARE ${name}_$by_index (tsquery) AS $sql");
		my $plan = $s->value("EXPLAIN (COSTS OFF) EXECUTE ${name}_$by_index ('a')");

		# since 16, equal distances are sorted for the aggregate
		unlike($plan, $by_index ? qr/Filter:|Seq Scan|Bitmap|^ *(->  )?Sort$/m : qr/Index|Bitmap|Custom/, "the plan of $name") or diag $plan;
		is($plan =~ /Skipidx Count/ ? 1 : 0, $bitmap eq 'on' ? 1 : 0, "$name: counted by the index") if $by_index;
		like($plan, $by_index ? qr/Index Cond: \(v @@ \$1\)/ : qr/Filter: \(v @@ \$1\)/, "all of the query in the plan of $name");
	}
	return;
}

prepare($_) for 0, 1;

my @phrases = (
	'w <-> p:*', 'p:* <-> w', 'w <2> q:*', 'w <-> r:*', 'p:* <-> q:*', 'p:* <-> p:*', 'r:* <-> p:* <2> q:*', 'w <-> p:*A', 'p:*BC <-> x:D',
	'w:A <-> p:*', 'w <-> x <-> p:*', 'w <-> (x <-> p:*)', 'p:* <-> (w <-> q:*)', 'w <-> (p:* | q:*)', 'w <-> (p:* & !q:*)', 'w <-> !p:*',
	'!p:* <-> w', '!(p:* | q:*) <-> w', 'w <-> (p:* & p1:*)', 'w <-> (x | (y:* <-> p:*))', '(x | (y:* <-> p:*)) <-> w', '(y:* & (x <-> p:*)) <-> w',
	'!(x <-> p:*) <-> w', '(none | p:* & x | !r0) <-> w', '(none | p:* & x | !w) <-> p1:*', 'p:* <-> (q:* & (p1:*A | !p2:*))', 'w <0> p:*', 'w <64> p:*', 'p:* <40> p:*', 'w <400> p:*', 'none <-> p:*', 'w <-> none:*', '!none <-> p:*', 'w <-> p:* <-> none:*');

for my $phrase (@phrases)
{
	for my $q ($phrase, "x & ($phrase)", "r0 | ($phrase)", "w & !($phrase)")
	{
		for my $name ($q eq $phrase ? sort keys %form : 'rows')
		{
			my ($want, $got) = map { $s->value("EXECUTE ${name}_$_ ('$q')") } 0, 1;

			is($got, $want, "$name of $q ($want)");
		}
	}
}
$s->close;
done_testing();
