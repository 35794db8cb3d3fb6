# A prefix of the ranking query that is gathered a range of documents at a time
# gives the rows of a sequential scan and a sort, in the same order and with the
# same distances: some prefixes over many documents, and many over fewer, alone
# and beside plain words, phrases, pairs and labels.  Lists that a range has
# nothing of are not opened for it.  So does one that is gathered whole, since its
# lexemes have few postings, and whose lists are read once, however many documents
# there are.
#
# Holds: topk 1, 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

# More documents than a range has beside three other prefixes, and beside 30.
use constant LARGE => 540_000;
use constant SMALL => 60_000;

my $node = skx_node('ranges', conf => "maintenance_work_mem = 512MB\nwork_mem = 64MB");

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

# Of the large one most rows are empty, but around where ranges end; of the small
# one in its first half, so that what follows is more than expected.  h is in one
# row each, g in some that are near each other, c in stretches of the table;
# z at both ends; what has an f has nothing else of it.  Every row has a short
# lexeme of both prefixes h and g, which have too many postings for a whole list.
for my $table ([ 'small', SMALL, 'i % 10 = 0 OR i > 30000' ], [ 'large', LARGE, 'i % 20 = 0 OR (i + 60) % 65536 < 120' ])
{
	my ($name, $rows, $full) = @$table;

	$node->safe_psql('postgres', <<SQL);
CREATE TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO $name SELECT i, ('g:1 h:2 ' || CASE WHEN i % 16 = 0 THEN 'e:1 ' ELSE '' END
	|| CASE WHEN i <= $rows / 30 OR i > $rows - $rows / 30 THEN 'z:3 ' ELSE '' END
	|| CASE WHEN NOT ($full) THEN '' WHEN i % 50 = 9 THEN 'f' || i ELSE 'a:1 b' || i % 50 || ':2A,7 d' || i % 2011 || ':4 h' || i || ' g' || i / 96
		|| CASE WHEN (i / 9000) % 3 > 0 THEN ' c' || i % 997 || ':3' ELSE '' END
		|| CASE WHEN i % 3 = 0 THEN ' bb:5 cc:6,9,12 bb' || i % 11 || ':8' ELSE '' END END)::tsvector
	FROM generate_series(1, $rows) i;
CREATE INDEX ${name}_v ON $name USING skipidx (v);
CREATE TABLE ${name}_lists AS SELECT lexeme, max(id) AS last FROM $name, unnest(v) WHERE lexeme ~ '^[hgf]' GROUP BY lexeme;
DELETE FROM $name WHERE id % 101 = 0;
VACUUM ANALYZE $name;
INSERT INTO $name VALUES ($rows + 1, 'a b1 c1 d1 h0'), ($rows + 2, 'e c2 bb:2 cc:3'), ($rows + 3, NULL);
SQL
	is($node->safe_psql('postgres', "SELECT count(*) FROM skipidx_segments('${name}_v') WHERE kind = 'segment'"), 1, "$name: one segment");
}

my $s = skx_session($node, 'postgres');

$s->value('SET enable_bitmapscan = off');

# The first ten rows and the first k, each as a number and an md5.
sub rows
{
	my ($table, $where, $q, $k, $by_index) = @_;
	my ($off, $on) = $by_index ? ('off', 'on') : ('on', 'off');
	my $tie = $by_index ? '' : ', ctid';
	my $rows = "string_agg(ctid || ' ' || d, ',' ORDER BY n)";

	$s->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_indexscan = $on");
	return $s->value("SELECT concat_ws(' ', count(*), md5($rows), md5($rows FILTER (WHERE n <= 10)))"
		  . " FROM (SELECT ctid, d, row_number() OVER () AS n FROM (SELECT ctid, v <@> '$q'::tsquery AS d FROM $table"
		  . " $where ORDER BY v <@> '$q'::tsquery$tie LIMIT $k) x) y");
}

my $many = join ' | ', map { "$_:*" } 'a', (map { ("b$_", "c$_", "d$_") } '', 1 .. 5), 'bb', 'bb1', 'cc', map { "d1$_" } 1 .. 8;

# One lexeme each.  Beside so many there is room for 13,000 postings of a prefix,
# and fewer of those below have to be known whole.
my $more = join ' | ', map { 'h' . (100_000 + 20 * $_) . ':*' } 0 .. 27;

# k 'ALL' is searched for with one pass after the other.
for my $search (
	[ 'large', 'b:*', 'ALL' ],
	[ 'large', 'c:*', 1000 ],
	[ 'large', 'd1:* | b:A*', 1000 ],
	[ 'large', 'b7 | c:*', 'ALL' ],
	[ 'large', 'b:* & c:* & d5:*', 1000 ],
	[ 'large', 'z & b:* & d:*', 1000 ],
	[ 'large', 'bb & d:* & !b4', 1000 ],
	[ 'large', 'bb <-> cc | d:*', 1000 ],
	[ 'large', 'bb <-> cc & c1:*', 1000 ],
	[ 'large', '(bb & cc | f:*) & d:*', 1000 ],
	[ 'large', "e & ($many)", 1000 ],
	[ 'large', 'h12:*', 'ALL' ],
	[ 'large', 'h12:* | z', 1000 ],
	[ 'large', 'h12:* & b:*', 1000 ],
	[ 'large', 'g & h12:* & (b1:A* | d1:*)', 1000 ],
	[ 'large', 'bb <-> cc & h2:*', 1000 ],
	[ 'small', "h:* | $many", 100_000 ],
	[ 'small', $many, 10 ],
	[ 'small', "b7 & ($many)", 100_000 ],
	[ 'small', "bb <-> cc | $many", 100_000 ],
	[ 'small', "bb & cc & b:* & c:* & ($many | b7)", 10 ])
{
	my ($table, $q, $k) = @$search;
	my $sorted = rows($table, "WHERE v @@ '$q'", $q, $k, 0);

	is(rows($table, "WHERE v @@ '$q'", $q, $k, 1), $sorted, "$table, k $k, matching: $q ($sorted)");
	next if $table ne 'large' || $q =~ /\Q$many/;
	is(rows($table, "WHERE v @@ '$q'", "$q | $more", $k, 1), rows($table, "WHERE v @@ '$q'", "$q | $more", $k, 0),
		"the same ranked by many prefixes");
}
for my $search ([ 'large', 'b:* | c:*' ], [ 'small', "b:* | $many" ])
{
	my ($table, $q) = @$search;

	is(rows($table, '', $q, 100, 1), rows($table, '', $q, 100, 0), "$table, all: $q");
}

# Sub-blocks decoded by a search for all rows with some of $q.
sub decoded
{
	my ($q) = @_;
	my $before = $s->value('SELECT subblocks FROM skipidx_work()');

	$s->value("SELECT count(*) FROM (SELECT FROM large WHERE v @@ '$q' ORDER BY v <@> '$q'::tsquery LIMIT 100000) x");
	return $s->value('SELECT subblocks FROM skipidx_work()') - $before;
}

# A range of one of four prefixes has so many documents.  The first one reads all
# lists; later ones those that are not over by then, and of the two lists of all
# documents what the range has.
my $first = (1 << 22) / 4 / 2;
my ($lists, $later) = split /\|/, $s->value("SELECT count(*), count(*) FILTER (WHERE last > $first) FROM large_lists");
my $common = 2 * LARGE / 128;

$s->value('SET enable_seqscan = off; SET enable_sort = off; SET enable_indexscan = on');
my $decoded = decoded('h:* | g:* | f:* | h100000:*');

cmp_ok($decoded, '>=', $lists, "each list of $lists is read");
cmp_ok($decoded, '<', $lists * 1.01 + $later + $common * 1.01,
	"$decoded sub-blocks: hardly any of a list that is over, of $later that are not");

# Beside two others it has them all.
$decoded = decoded('h:* | g:* | f:*');
cmp_ok($decoded, '>=', $lists, "each list of $lists is read");
cmp_ok($decoded, '<', $lists * 1.01 + $common * 1.01, "$decoded sub-blocks: and none twice");

# So has a prefix by itself with long lists, each of which is entered once.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE long (id int, v tsvector);
INSERT INTO long SELECT i, ('m' || i % 200 || ':1 l')::tsvector FROM generate_series(1, 400000) i;
CREATE INDEX long_v ON long USING skipidx (v);
VACUUM ANALYZE long;
SQL
my $work = 'SELECT nodes, subblocks FROM skipidx_work()';
my @before = split /\|/, $s->value($work);

$s->value("SELECT count(*) FROM (SELECT FROM long WHERE v @@ 'm:*' ORDER BY v <@> 'm:*'::tsquery LIMIT 10) x");
my @after = split /\|/, $s->value($work);

cmp_ok($after[0] - $before[0], '<', 300, 'nodes of 200 lists: ' . ($after[0] - $before[0]));
cmp_ok($after[1] - $before[1], '<=', 200 * 16 + 20, 'their sub-blocks: ' . ($after[1] - $before[1]));

my $rare = $s->value("SELECT count(*) FROM large_lists WHERE lexeme ~ '^h27'");

is(decoded('h27:*'), $rare, "few postings in many documents: each list of $rare is read once");
$s->close;
done_testing();
