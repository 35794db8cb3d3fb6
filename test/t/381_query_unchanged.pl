# What other modules read of a statement after it was planned: no hook of skipidx
# changes its Query, so that its text can be had again, and that of a copy that
# was planned by itself.  Each statement also comes without an index of skipidx,
# as a control: planning leaves the same text, but for the reference that `<@>` is
# bound to.  Where the control's text is a statement, as it is not for several
# conditions, the other can be run, too: here, under another search path and by
# another role, with the rows of the statement, and without rights it cannot.
#
# Holds: plan 33; functions 3, 17

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_module);
use Test::More;

my $node = skx_node('query_unchanged', conf => 'skipidx.max_workers = 0');
my $s = skx_session($node, 'postgres');

$s->value(<<'SQL' . "CREATE FUNCTION skipidx_replan(text) RETURNS text[] LANGUAGE c AS '" . skx_module('skipidx_replan') . q{'});
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int PRIMARY KEY, tenant int NOT NULL, sent timestamptz, tags int[], v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, i % 7, timestamptz '2026-01-01 00:00+00' + interval '1 minute' * i, ARRAY[i % 5, i % 3],
	to_tsvector('simple', 'all h' || i % 2 || ' t' || i % 10 || ' n' || i) FROM generate_series(1, 5000) i;
CREATE TABLE plain (LIKE docs);
INSERT INTO plain SELECT * FROM docs;
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM docs;
CREATE TABLE cut (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE cut_0 PARTITION OF cut FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE cut_1 PARTITION OF cut FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO cut SELECT * FROM docs;
CREATE INDEX docs_skx ON docs USING skipidx (v, tenant, sent, tags);
CREATE INDEX parts_skx ON parts USING skipidx (v, tenant, sent, tags);
VACUUM ANALYZE docs, plain, parts, cut;
CREATE ROLE reader;
CREATE ROLE stranger;
GRANT SELECT ON docs, parts TO reader;
GRANT SELECT (id), UPDATE ON docs, parts TO stranger;
LOAD 'skipidx';
SQL

my $d = "v <\@> 'h1 & t3'::tsquery";
my $m = "v \@\@ 'h1 & t3'";

# The table is DOCS.  Second: what the plan of the statement on docs must have.
my @statements = (
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d LIMIT 5", qr/Skipidx Scan/ ],
	[ "SELECT id FROM DOCS ORDER BY $d LIMIT 5", qr/Skipidx Scan/ ],
	[ "SELECT id, $d AS d FROM DOCS WHERE $m ORDER BY d LIMIT 5 OFFSET 2", qr/Skipidx Scan/ ],
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE v \@\@ 'n17' ORDER BY v <\@> 'n17'", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $m AND id % 2 = 1 ORDER BY $d LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS ORDER BY -($d) DESC NULLS LAST LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d, id LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d, v <\@> 'all' LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d FETCH FIRST 5 ROWS WITH TIES", qr/Skipidx Scan/ ],
	[ "SELECT id FROM DOCS WHERE $m ORDER BY $d LIMIT 5 FOR UPDATE", qr/docs_skx/ ],
	[ "SELECT DISTINCT ON ($d) id FROM DOCS WHERE $m ORDER BY $d", qr/docs_skx/ ],
	[ "SELECT id, rank() OVER (ORDER BY $d) FROM DOCS WHERE $m ORDER BY $d LIMIT 5", qr/docs_skx/ ],
	[ "SELECT $d AS d, count(*) FROM DOCS WHERE $m GROUP BY d ORDER BY d LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id, generate_series(1, 2) FROM DOCS WHERE $m ORDER BY $d LIMIT 5", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $d < -2", qr/Skipidx Scan/ ],
	[ "SELECT id FROM DOCS WHERE $m", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE $m OR tenant = 3 AND tags \@> '{4}'", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE v \@\@ 'h1' AND (tenant IS NULL) IS NOT TRUE AND sent < '2026-01-02'", qr/docs_skx/ ],
	[ "SELECT id FROM DOCS WHERE v \@\@ 'h1' ORDER BY sent DESC LIMIT 5", qr/Skipidx Ordered Scan/ ],
	[ "SELECT count(*) FROM DOCS WHERE v \@\@ 'h1'", qr/Skipidx Count/ ],
	[ "SELECT tenant, count(*) FROM DOCS WHERE v \@\@ 'h1' GROUP BY tenant", qr/Skipidx Facets/ ],
	[ "SELECT DISTINCT tenant FROM DOCS", qr/Skipidx Facets/ ],
	[ "SELECT max(sent) FROM DOCS WHERE v \@\@ 'h1'", qr/Skipidx/ ],
	[ "SELECT sum(tenant) FROM DOCS WHERE v \@\@ 'h1'", qr/Skipidx Columns/ ]);

# Elements of the array that the function returns.
sub replanned
{
	my ($sql, $table) = @_;

	$sql =~ s/DOCS/$table/;
	$sql =~ s/'/''/g;
	my $raw = $s->raw("SELECT n || ':' || replace(x, E'\\n', ' ') FROM unnest(skipidx_replan('$sql')) WITH ORDINALITY AS t(x, n)");
	my %at = $raw =~ /^(\d):(.*)$/mg;

	$at{error} = $raw if keys %at != 4;
	return \%at;
}

# A text as it is on no index: bound distances are those that were written.
sub unbound
{
	my ($text, $table) = @_;

	$text =~ s/'((?:[^']|'')*) by (?:\w+\.)?\w+'::(?:public\.)?skipidx_ref/'$1'::tsquery/g;
	$text =~ s/\b$table\b/DOCS/g;
	return $text;
}

# The rows of a statement, in their order if it asks for one.
sub rows
{
	my ($sql) = @_;
	my $rows = $s->raw($sql);

	return $sql =~ /ORDER BY/ || $rows =~ /ERROR/ ? $rows : join("\n", sort split(/\n/, $rows));
}

my %shipped;

# Runs the text that planning has left.
sub shipped
{
	my ($name, $sql, $text) = @_;
	my $want = rows($sql);
	my $scores = $text =~ /skipidx_ref/ ? 1 : 0;

	unlike($want, qr/ERROR/, "$name: the statement");
	is(rows($text), $want, "$name: its text gives the same rows");
	$s->value('SET search_path = pg_catalog, public; SET ROLE reader');
	is(rows($text), $want, "$name: and to another role") if $text !~ /FOR UPDATE/;
	$s->value('RESET ROLE; RESET search_path');
	$shipped{$scores}++;
	return;
}

for my $pair ([ 'docs', 'plain' ], [ 'parts', 'cut' ])
{
	my ($table, $control) = @$pair;

	for my $statement (@statements)
	{
		my ($sql, $plan) = @$statement;
		my ($with, $without) = (replanned($sql, $table), replanned($sql, $control));
		my $name = "$table: $sql";

		next if $table eq 'parts' && $sql =~ /DISTINCT tenant/;
		is($with->{error}, undef, "$name: planned and read again");
		is($without->{error}, undef, "$name: the control");
		next if defined $with->{error} || defined $without->{error};
		is($with->{3}, $with->{2}, "$name: a copy has the same text");
		is(unbound($with->{2}, $table), unbound($without->{2}, $control), "$name: the text without an index");
		is($with->{2} =~ /skipidx_ref/ ? 1 : 0, $sql =~ /<\@>/ ? 1 : 0, "$name: bound");
		cmp_ok($with->{4}, '>=', 4, "$name: hooks were called");
		shipped($name, $sql =~ s/DOCS/$table/r, $with->{2}) if $s->raw($without->{2} =~ s/^/EXPLAIN /r) !~ /ERROR/;
		next if $table ne 'docs';
		like($s->value('SET enable_seqscan = off; EXPLAIN (COSTS OFF) ' . $sql =~ s/DOCS/docs/r), $plan, "$name: what is planned");
		$s->value('RESET enable_seqscan');
	}
}

cmp_ok($shipped{1} // 0, '>=', 15, 'texts with references were run');
cmp_ok($shipped{0} // 0, '>=', 5, 'and others');

# A query that is known later, as a parameter is: what is bound to it is a call,
# in which the parameter is then replaced by its value.  It is one of the statement:
# of those that planning makes, the server (19) has no text in a Query.
$s->value('SET search_path = pg_catalog');
my $bound = $s->value(q{SELECT (public.skipidx_replan('SELECT id FROM public.docs ORDER BY v OPERATOR(public.<@>) $1 LIMIT 3'))[2]});
$s->value('RESET search_path');
like($bound, qr/skx_bind\(.*'by public\.docs_skx'::public\.skipidx_ref\)/s, 'a query that is known later');
$bound =~ s/\$1/'h1 & t3'/g;
is(rows($bound), rows("SELECT id FROM docs ORDER BY $d LIMIT 3"), 'its text gives the same rows');
like($bound, qr/public\.docs_skx/, 'the index has its schema where the search path has not');

# A text gives no right: who may not read the column has no scores by its index.
my $score = q{'h1:1 t3:2'::tsvector <@> '''h1'' & ''t3'' by docs_skx'::skipidx_ref};

$s->value('SET ROLE stranger');
like($s->raw("SELECT $score"), qr/42501: permission denied for table docs/, 'a score for a stranger');
like($s->raw($_), qr/42501: permission denied for table docs/, "$_: for a stranger")
  for "SELECT id FROM docs WHERE id < 10 AND $score < 0", "SELECT id FROM docs ORDER BY $score LIMIT 1";
$s->value('SET ROLE reader');
cmp_ok($s->value("SELECT $score"), '<', 0, 'and for a reader');
$s->value('RESET ROLE; GRANT SELECT (v, tenant, sent) ON docs TO stranger; SET ROLE stranger');
like($s->raw("SELECT $score"), qr/42501: permission denied for table docs/, 'all columns of the index count');
$s->value('RESET ROLE; GRANT SELECT (tags) ON docs TO stranger; SET ROLE stranger');
cmp_ok($s->value("SELECT $score"), '<', 0, 'with these he has it');
$s->value('RESET ROLE');

$s->close;
$node->stop;
done_testing();
