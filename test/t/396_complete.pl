# Words that are being typed: skipidx_complete() beside SQL over the table, for
# rows that are few and many, of segments, pending, deleted, updated and not
# committed rows, of partitions; with typos, beside distances computed here; what
# bounds its work, and that it says so.
#
# Holds: functions 29; facets 8

use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Encode qw(encode);
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;

my $node = skx_node('complete', conf => 'skipidx.max_workers = 0');

$node->safe_psql('postgres', "CREATE DATABASE utf8 TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");

my $s = skx_session($node, 'utf8');

skx_seed(396);
$s->value("SET client_encoding = 'UTF8'");

# Common words, rare ones, and some that begin alike with other letters
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION text_of(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT array_to_tsvector(array_agg(DISTINCT w)) FROM (
		SELECT (ARRAY['a','ab','aba','b','ba','é','ée'])[1 + (hashint4(i * 31 + k) & 1023) % 7] || left(md5(((hashint4(i + k * 7919) & 65535) / (1 + (hashint4(i - k) & 255)))::text), 1) || k % 2 AS w
			FROM generate_series(1, 12) k
		UNION ALL SELECT 'all' UNION ALL SELECT 'n' || i % 40 UNION ALL SELECT 'rare' || i % 400) s $$;
CREATE TABLE docs (id int, kind int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE parts (LIKE docs) PARTITION BY LIST (kind);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1, 2);
INSERT INTO docs SELECT i, i % 3, text_of(i) FROM generate_series(1, 3000) i;
INSERT INTO parts SELECT * FROM docs;
CREATE INDEX docs_v ON docs USING skipidx (v, id) WHERE id % 10 > 0;
CREATE INDEX parts_v ON parts USING skipidx (v);
INSERT INTO docs SELECT i, i % 3, text_of(i) FROM generate_series(3001, 4000) i;
INSERT INTO docs VALUES (1, 1, NULL), (2, 2, '');
SQL

# The number of edits from what was typed to the nearest beginning of a term, as
# `edit/` says.
my %distance;

sub prefix_distance
{
	my ($typed, $term) = @_;

	return $distance{"$typed $term"} if exists $distance{"$typed $term"};

	my @w = split //, $typed;
	my @o = split //, $term;
	my @rows = ([ 0 .. @w ]);

	for my $i (1 .. @o)
	{
		my @row = ($i);

		for my $j (1 .. @w)
		{
			push @row, min($rows[ $i - 1 ][$j] + 1, $row[ $j - 1 ] + 1,
				$rows[ $i - 1 ][ $j - 1 ] + ($w[ $j - 1 ] ne $o[ $i - 1 ]),
				$i > 1 && $j > 1 && $w[ $j - 2 ] eq $o[ $i - 1 ] && $w[ $j - 1 ] eq $o[ $i - 2 ] ? $rows[ $i - 2 ][ $j - 2 ] + 1 : 99);
		}
		push @rows, \@row;
	}
	return $distance{"$typed $term"} = min(map { $_->[@w] } @rows);
}

my @typed = ('', 'a', 'ba1', 'rare', 'é', 'x');
my @among = ('NULL', "''", map { "'$_'" } 'all', 'n1', 'n2 | n3', 'rare7 | rare9', 'rare1 & !n1', '!n1', 'none');
my ($rows, $few, $forgiven) = (0, 0, 0);

# What is typed with typos, and how many are allowed.
my @misspelt = (['rrae', 'auto'], ['raer1', 'auto'], ['raer12', '0'], ['xare1', 'auto'], ['ra1', '1'], ['n12', '1'], ['abxx', '2'], ['ée', '1'], ['éa0', '2'], ['alll', '1'], ['', '1'], ['rare1', 'auto'], ['aba', '2']);

# The first ones of all terms that begin near enough, as counted in the table.
sub wanted_near
{
	my ($counted, $typed, $typos, $n) = @_;
	my $edits = $typos ne 'auto' ? $typos : length($typed) >= 5 ? 1 : 0;
	my @found;

	for my $one (split /\n/, $counted)
	{
		my ($term, $count) = split / /, $one;
		my $distance = prefix_distance($typed, $term);

		push @found, [ $term, $count, $distance ] if $distance <= $edits;
	}
	@found = sort { $a->[2] <=> $b->[2] || $b->[1] <=> $a->[1] || encode('UTF-8', $a->[0]) cmp encode('UTF-8', $b->[0]) } @found;
	splice @found, $n if $n ne 'NULL' && @found > $n;
	return join "\n", map { "$_->[0] $_->[1] $_->[2]" } @found;
}

sub compare_near
{
	my ($table, $where, $state) = @_;
	my @wrong;

	for my $among (@among)
	{
		my $match = $among =~ /^(NULL|'')$/ ? 'true' : "v @@ $among";
		my $counted = $s->value("SELECT term || ' ' || count(*) FROM $table, unnest(tsvector_to_array(v)) term WHERE $where AND $match GROUP BY term");

		for my $one (@misspelt)
		{
			my ($typed, $typos) = @$one;
			my $n = (1, 3, 10, 'NULL')[ rand 4 ];
			my $found = $s->value("SELECT term || ' ' || count || ' ' || distance || CASE WHEN is_exact THEN '' ELSE ' not exact' END FROM skipidx_complete('${table}_v', '$typed', $n, $among, '$typos')");
			my $wanted = wanted_near($counted, $typed, $typos, $n);

			$forgiven += () = $found =~ / [12]$/mg;
			push @wrong, encode('UTF-8', "$typed, $typos, $n, $among:\n$found\nwanted:\n$wanted") if $found ne $wanted;
		}
	}
	is(join("\n", @wrong), '', "$state: with typos");
	return;
}

sub compare
{
	my ($table, $where, $state) = @_;
	my @wrong;

	for my $typed (@typed)
	{
		for my $among (@among)
		{
			my $n = (1, 3, 10, 'NULL')[ rand 4 ];
			my $found = $s->value("SELECT term || ' ' || count || CASE WHEN is_exact THEN '' ELSE ' not exact' END FROM skipidx_complete('${table}_v', '$typed', $n, $among)");
			my $match = $among =~ /^(NULL|'')$/ ? 'true' : "v @@ $among";
			my $wanted = $s->value("SELECT term || ' ' || count(*) FROM $table, unnest(tsvector_to_array(v)) term WHERE $where AND $match AND starts_with(term, '$typed')"
				  . " GROUP BY term ORDER BY count(*) DESC, term COLLATE \"C\" LIMIT $n");

			$rows += () = $found =~ /\n/g;
			$few++ if $found =~ / 1$/m;
			push @wrong, encode('UTF-8', "$typed, $n, $among:\n$found\nwanted:\n$wanted") if $found ne $wanted;
		}
	}
	is(join("\n", @wrong), '', "$state: as counted in the table");
	compare_near($table, $where, $state);
	return;
}
compare('docs', 'id % 10 > 0', 'a segment and pending rows');
compare('parts', 'true', 'partitions');
$s->value("BEGIN; INSERT INTO docs SELECT i, 0, text_of(i - 4000) FROM generate_series(5001, 5300) i; DELETE FROM docs WHERE id % 7 = 1");
compare('docs', 'id % 10 > 0', 'rows of this transaction, and deleted ones');
$s->value('ROLLBACK');
compare('docs', 'id % 10 > 0', 'rolled back');
my $other = skx_session($node, 'utf8');
$other->value('BEGIN; DELETE FROM docs WHERE id % 5 = 1; INSERT INTO docs SELECT i, 0, text_of(i) FROM generate_series(6001, 6100) i');
compare('docs', 'id % 10 > 0', 'rows of another transaction');
$other->value('COMMIT');
$other->close;
$s->value("UPDATE docs SET v = text_of(id + 50) WHERE id % 11 = 2; SELECT skipidx_flush('docs_v')");
compare('docs', 'id % 10 > 0', 'deleted and updated rows');
$s->value("VACUUM docs");
compare('docs', 'id % 10 > 0', 'after VACUUM');
$s->value("SELECT skipidx_merge('docs_v')");
compare('docs', 'id % 10 > 0', 'merged');
cmp_ok($rows, '>', 500, 'of many rows');
cmp_ok($few, '>', 20, 'and of few');
cmp_ok($forgiven, '>', 500, 'and of some with typos');

# ---- arguments and rights ----

is($s->value("SELECT count(*) FROM skipidx_complete('docs_v', 'a', 0)"), 0, 'no rows');
is($s->value("SELECT count(*) FROM skipidx_complete('docs_v', NULL)"), 0, 'nothing typed');
is($s->value("SELECT count(*) FROM skipidx_complete(NULL, 'a')"), 0, 'no index');
is($s->value("SELECT count(*) FROM skipidx_complete('docs_v', repeat('a', 3000))"), 0, 'more than a word');
is($s->value("SELECT count(*) FROM skipidx_complete('docs_v', repeat('a', 2046), 10, 'all')"), 0, 'a long word');
like($s->raw("SELECT * FROM skipidx_complete('docs_v', 'a', -1)"), qr/22023: max_rows must not be negative/, 'a negative number of rows');
like($s->raw("SELECT * FROM skipidx_complete('docs', 'a')"), qr/42809/, 'a table');
like($s->raw("SELECT * FROM skipidx_complete('docs_v', 'a', 1, 'all', '3')"), qr/22023: invalid value for typos: "3"\nHINT/, 'typos 3');
like($s->raw("SELECT * FROM skipidx_complete('docs_v', 'a', typos => NULL)"), qr/22004: typos must not be NULL/, 'typos NULL');
is($s->value("SELECT count(*) FROM skipidx_complete('docs_v', repeat('a', 2046), 10, 'all', '2')"), 0, 'a long word with typos');
$s->value(<<'SQL');
CREATE FUNCTION own(i int) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.text_of(i); END';
CREATE TABLE computed AS SELECT id FROM docs WHERE id < 500;
CREATE INDEX computed_v ON computed USING skipidx (public.own(id));
CREATE ROLE reader;
CREATE ROLE nobody;
GRANT SELECT ON docs, computed TO reader;
SQL
my $call = q{SELECT string_agg(term || count || is_exact, ' ') FROM skipidx_complete('computed_v', 'a', 5, 'rare7 | rare9')};
my $owned = $s->value($call);
isnt($owned, '', 'an expression of the owner');
$s->value('SET ROLE reader');
is($s->value($call), $owned, 'is not needed by others');
$s->value('SET ROLE nobody');
like($s->raw("SELECT * FROM skipidx_complete('docs_v', 'a')"), qr/42501/, 'who may not read the columns');
$s->value('RESET ROLE');

# ---- bounds ----

# 150,000 words that begin alike, of one row each: the first 1,000 do not tell
# which are commonest, nor do 100,000.
$s->value(<<'SQL');
CREATE TABLE many AS SELECT i AS id, array_to_tsvector(ARRAY(SELECT 'w' || i * 150 + k FROM generate_series(1, 150) k) || ARRAY['all', 'half' || i % 2]) AS v FROM generate_series(1, 1000) i;
CREATE INDEX many_v ON many USING skipidx (v);
SQL
is($s->value("SELECT string_agg(term || count || is_exact, ' ') FROM skipidx_complete('many_v', '', 2)"), 'all1000false half0500false', 'not exact where it has not looked at all');
is($s->value("SELECT count(*) || ' ' || bool_or(is_exact) FROM skipidx_complete('many_v', 'w', 5, 'half1')"), '5 false', 'and where it has not counted all');
is($s->value("SELECT string_agg(term || count || is_exact, ' ') FROM skipidx_complete('many_v', 'h', 1, 'half1')"), 'half1500true', 'exact where no other can come');
is($s->value("SELECT string_agg(term || count || distance || is_exact, ' ') FROM skipidx_complete('many_v', 'hlaf1', 1, 'all')"), 'half15001true', 'with a typo');
is($s->value("SELECT count(*) || ' ' || bool_or(is_exact) FROM skipidx_complete('many_v', 'v12', 5, 'half1', '1')"), '5 false', 'and not exact where it has not looked at all that are near');

# Rows that match are held as bits, in half of work_mem; of more documents than
# that, 262,144 of 64 kB, each word's rows are counted by themselves.
$s->value(<<'SQL');
CREATE TABLE large AS SELECT i AS id, array_to_tsvector(ARRAY['all', 'half' || i % 2, 'w' || i % 7, 'w' || i % 4]) AS v FROM generate_series(1, 270000) i;
CREATE INDEX large_v ON large USING skipidx (v);
INSERT INTO large SELECT i, 'half1 w1 w8' FROM generate_series(1, 100) i;
SQL
my $counted = $s->value(q{SELECT string_agg(term || n || 'true', ' ') FROM (SELECT term, count(*) AS n FROM large, unnest(tsvector_to_array(v)) term
	WHERE v @@ 'half1' AND term LIKE 'w%' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5) s});
for my $memory (qw(64kB 4MB))
{
	$s->value("SET work_mem = '$memory'");
	is($s->value("SELECT string_agg(term || count || is_exact, ' ') FROM skipidx_complete('large_v', 'w', 5, 'half1')"), $counted, "many rows, work_mem $memory");
}
$s->value('RESET work_mem');
$s->value("BEGIN; SET LOCAL statement_timeout = '20ms'");
like($s->raw("SELECT count(*) FROM generate_series(1, 1000) g, skipidx_complete('many_v', 'w', 5 + g % 2, 'half1')"), qr/57014/, 'it can be cancelled');
$s->value('ROLLBACK');

$s->close;
$node->stop;
done_testing();
