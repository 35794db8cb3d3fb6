# A prefix of the ranking query that is gathered a range of documents at a time
# gives the rows of a sequential scan and a sort, in the same order and with the
# same distances: one or two prefixes over a segment of many documents, and many
# over a smaller one, alone and beside plain words, phrases, pairs and labels.
#
# Holds: topk 1, 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

# More documents than a range has, and than it has beside 30 prefixes.
use constant LARGE => 600_000;
use constant SMALL => 60_000;

my $node = skx_node('ranges', conf => "maintenance_work_mem = 512MB\nwork_mem = 64MB");

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

# c is in stretches of the table only; what has an f has nothing else of it.
for my $table ([ 'small', SMALL ], [ 'large', LARGE ])
{
	my ($name, $rows) = @$table;

	$node->safe_psql('postgres', <<SQL);
CREATE TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO $name SELECT i, (CASE WHEN i % 50 = 9 THEN 'f' || i ELSE 'a:1 b' || i % 50 || ':2A,7 d' || i % 20011 || ':4' ||
		CASE WHEN (i / 9000) % 3 > 0 THEN ' c' || i % 997 || ':3' ELSE '' END ||
		CASE WHEN i % 3 = 0 THEN ' bb:5 cc:6,9,12 bb' || i % 11 || ':8' ELSE '' END END)::tsvector
	FROM generate_series(1, $rows) i;
CREATE INDEX ${name}_v ON $name USING skipidx (v);
DELETE FROM $name WHERE id % 101 = 0;
VACUUM ANALYZE $name;
SQL
	is($node->safe_psql('postgres', "SELECT count(*) FROM skipidx_segments('${name}_v') WHERE kind = 'segment'"), 1, "$name: one segment");
}

my $s = skx_session($node, 'postgres');

# md5 of the first rows in the order of the index, or of a sort.
sub rows
{
	my ($table, $where, $q, $k, $by_index) = @_;
	my ($off, $on) = $by_index ? ('off', 'on') : ('on', 'off');
	my $tie = $by_index ? '' : ', ctid';

	$s->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_bitmapscan = off; SET enable_indexscan = $on");
	return $s->value("SELECT count(*) || ' ' || md5(string_agg(ctid || ' ' || d, ',' ORDER BY n)) FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, v <@> '$q'::tsquery AS d FROM $table $where ORDER BY v <@> '$q'::tsquery$tie LIMIT $k) x) y");
}

my $many = join ' | ', map { "$_:*" } 'a', (map { ("b$_", "c$_", "d$_") } '', 1 .. 5), 'bb', 'bb1', 'cc', map { "d1$_" } 1 .. 8;
my $each = join ' | ', map { "bb$_:*" } 0 .. 10;
my @searches;

for my $q ('b:*', 'c:*', 'd1:* | b:A*', 'b7 | c:*', 'b7 & c:*', 'b:* & c:* & d5:*', 'bb & d:* & !b4', 'bb <-> cc | d:*', 'bb <-> cc & c1:*',
	'(bb & cc | f:*) & d:*')
{
	push @searches, [ 'large', $q, 1000 ];
}
for my $q ($many, "b7 & ($many)", "bb <-> cc | $many", "bb & cc & b:* & c:* & ($many | b7)", "c5 & ($each)")
{
	push @searches, [ 'small', $q, $_ ] for 10, 100_000;
}
for my $search (@searches)
{
	my ($table, $q, $k) = @$search;

	for my $where ("WHERE v @@ '$q'", '')
	{
		my $sorted = rows($table, $where, $q, $k, 0);

		is(rows($table, $where, $q, $k, 1), $sorted,
			"$table, k $k, " . ($where eq '' ? 'all' : 'matching') . ": $q (" . $sorted . ')');
	}
}
$s->close;
done_testing();
