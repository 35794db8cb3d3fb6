# An index has the scores of the defaults of one release, whatever library reads
# it, and however it was made again: by REINDEX, a dump, a change of its table, for
# a partition.  A library that is a later release, with other defaults, is built for
# this test, beside the one that is installed.
#
# Holds: am 16; functions 22

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxInstall qw(skx_install);
use SkipidxTest qw(skx_node skx_seed skx_setseed);
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $next = "$top/skipidx_next.so";

{
	local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)} = ('') x 3;
	system_or_bail('make', '-s', '-C', $top, 'with_llvm=no', 'PG_CONFIG=' . ($ENV{PG_CONFIG} // 'pg_config'), 'skipidx_next.so');
}
my $install = skx_install('defaults');
my $node = skx_node('defaults', install => $install->{path}, conf => "client_min_messages = warning\nskipidx.max_workers = 0\n");
my $now = $install->{library} . '.now';

system_or_bail('cp', $install->{library}, $now);
my ($release) = slurp_file("$install->{extension}/skipidx.control") =~ /^default_version = '(.*)'$/m;

append_to_file("$install->{extension}/skipidx--$release--99.0.sql", "SELECT skx_requires('99.0'::pg_catalog.text);\n");

# The server goes on with another library.
sub library
{
	my ($file) = @_;

	$node->stop;
	unlink $install->{library};
	system_or_bail('cp', $file, $install->{library});
	$node->start;
	return;
}

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

# All that depends on the parameters of an index: distances in order, of the index
# and of rows, scores, the ranking.
sub scores
{
	my ($table, $index, $database) = @_;
	my $query = 'w1 | w2 | w3 | rare';
	my $functions = $index eq 'parts_v' ? '' : <<"SQL";
UNION ALL SELECT string_agg(score::text, ' ') FROM skipidx_search('$index', '$query', 50)
UNION ALL SELECT string_agg(skipidx_bm25('$index', v, '$query') || '+' || skipidx_proximity('$index', v, '$query'), ' ' ORDER BY id)
	FROM $table WHERE id < 100
SQL

	return sql(<<"SQL", $database);
SET enable_seqscan = off; SET enable_sort = off;
SELECT string_agg(id || ':' || d, ' ') FROM (SELECT id, v <@> skipidx_query('$query', '$index') AS d FROM $table
	ORDER BY v <@> skipidx_query('$query', '$index'), id LIMIT 200) x
UNION ALL SELECT string_agg(id || ':' || (v <@> skipidx_query('$query', '$index')), ' ' ORDER BY id) FROM $table WHERE id % 7 = 0
UNION ALL SELECT skipidx_ranking('$index', '$query')::text
$functions
SQL
}

# The release whose defaults the indexes of tables have.
sub named
{
	my ($tables, $database) = @_;

	return sql("SELECT string_agg(DISTINCT coalesce((SELECT option_value FROM pg_options_to_table(reloptions) WHERE option_name = 'defaults'), 'none'), ' ')
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam AND amname = 'skipidx'
		WHERE indrelid::regclass::text ~ '^($tables)\$'", $database);
}

sub failed
{
	my ($statement, $what, $name) = @_;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement");

	like($error, $what, $name);
	return;
}

skx_seed(631);
sql('SELECT ' . skx_setseed() . ';' . <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, string_agg('w' || floor(9 * random())::int || ':' || p || (ARRAY['', 'A', 'B', 'C'])[1 + floor(4 * random())::int], ' ')::tsvector
	FROM generate_series(1, 3000) i, generate_series(1, 4 + i % 9) p GROUP BY i;
UPDATE docs SET v = v || 'rare:1'::tsvector WHERE id % 211 = 0;
CREATE TABLE given AS SELECT * FROM docs;
CREATE TABLE kept AS SELECT * FROM docs ORDER BY id;
CREATE TABLE parts (id int, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (9000);
INSERT INTO parts SELECT * FROM docs;
VACUUM FULL docs;
CREATE INDEX docs_v ON docs USING skipidx (v);
CREATE INDEX given_v ON given USING skipidx (v) WITH (k1 = 0.5);
CREATE INDEX parts_v ON parts USING skipidx (v);
SQL

my @indexes = ([ 'docs', 'docs_v' ], [ 'given', 'given_v' ], [ 'parts', 'parts_v' ]);
my %made = map { $_->[1] => scores(@$_) } @indexes;

sub same
{
	my ($name, $database) = @_;

	is(scores(@$_, $database), $made{ $_->[1] }, "$name: $_->[1]") for @indexes;
	return;
}

isnt($made{docs_v}, $made{given_v}, 'parameters matter');
is(named('docs|given|parts|parts_1|parts_2'), '1.0', 'all indexes name the release');

library($next);
is(sql('SELECT skipidx_version()'), '99.0', 'a later release');
same('a later library');
sql('CREATE TABLE later AS SELECT * FROM docs; CREATE INDEX later_v ON later USING skipidx (v)');
is(named('later'), '1.0', 'a new index, while the objects are older');

# ---- made again ----

for my $again (
	'REINDEX INDEX docs_v', 'REINDEX INDEX CONCURRENTLY docs_v', 'VACUUM FULL docs', 'REINDEX TABLE CONCURRENTLY parts',
	'ALTER INDEX docs_v SET (k1 = 9, weights = \'{1, 2, 3, 4}\'); ALTER INDEX docs_v RESET (k1, weights)',
	'ALTER INDEX given_v SET (b = 0.1); ALTER INDEX given_v RESET (b)',
	'ALTER TABLE docs ALTER id TYPE bigint; ALTER TABLE docs ALTER v TYPE tsvector USING strip(v); TRUNCATE docs; INSERT INTO docs SELECT * FROM kept',
	'BEGIN; TRUNCATE given; INSERT INTO given SELECT * FROM kept; COMMIT',
	'ALTER TABLE docs SET UNLOGGED', 'ALTER TABLE docs SET LOGGED', 'DROP INDEX later_v; CREATE INDEX CONCURRENTLY later_v ON later USING skipidx (v)')
{
	sql($_) for split /; /, $again =~ /BEGIN/ ? $again =~ s/; /;/gr : $again;
	same($again);
}
is(named('docs|given|parts|parts_1|parts_2|later'), '1.0', 'all name it still');

# ---- partitions ----

sql(<<'SQL');
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (9000) TO (9100);
CREATE TABLE parts_4 (id int, v tsvector);
ALTER TABLE parts ATTACH PARTITION parts_4 FOR VALUES FROM (9100) TO (9200);
CREATE TABLE parts_5 PARTITION OF parts FOR VALUES FROM (9200) TO (9300) PARTITION BY RANGE (id);
CREATE TABLE parts_6 PARTITION OF parts_5 FOR VALUES FROM (9200) TO (9250);
CREATE TABLE alike (LIKE docs INCLUDING INDEXES);
SQL
is(named('alike|parts_[3456]'), '1.0', 'a partition, a copy');
same('with more partitions');

# ---- objects of the later release ----

sql(q{ALTER EXTENSION skipidx UPDATE TO '99.0'});
same('updated');
sql('CREATE TABLE parts_7 PARTITION OF parts FOR VALUES FROM (9300) TO (9400); REINDEX INDEX docs_v; REINDEX INDEX CONCURRENTLY given_v');
is(named('docs|given|parts_7'), '1.0', 'what was there names it still');
same('made again after that');
sql('CREATE TABLE other AS SELECT * FROM kept; CREATE INDEX other_v ON other USING skipidx (v)');
is(named('other'), '99.0', 'a new index has the new defaults');
my $new = scores('other', 'other_v');

unlike($new, qr/^\Q$made{docs_v}\E$/, 'and other scores');
sql(q{ALTER INDEX other_v SET (defaults = '1.0')});
is(scores('other', 'other_v'), $made{docs_v}, 'with those of 1.0 it has their scores');
sql('ALTER INDEX other_v RESET (defaults)');
is(scores('other', 'other_v'), $made{docs_v}, 'without a release, too');
sql(q{ALTER INDEX docs_v SET (defaults = '99.0')});
is(scores('docs', 'docs_v'), $new, 'an old index takes the new ones');
sql(q{ALTER INDEX docs_v SET (defaults = '1.0'); ALTER INDEX other_v SET (defaults = '99.0')});
same('and back');

# A dump, into a database whose objects are of the later release.
my $dump = "$PostgreSQL::Test::Utils::tmp_check/defaults.sql";

$node->command_ok([ 'pg_dump', '-t', 'docs', '-t', 'given', '-t', 'parts*', '-t', 'other', '-f', $dump, $node->connstr('postgres') ], 'dumped');
sql(qq{CREATE DATABASE again});
sql(qq{CREATE EXTENSION skipidx VERSION '$release'; ALTER EXTENSION skipidx UPDATE TO '99.0'}, 'again');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('again') ], 'restored');
same('restored', 'again');
is(scores('other', 'other_v', 'again'), $new, 'restored: other_v');

# ---- the library of before ----

library($now);
is(sql('SELECT skipidx_version()'), $release, 'the library of before');
same('again the library of before');
my $unknown = qr/55000: index "other_v" has the defaults of skipidx 99\.0, which this library does not have.*HINT:  Install skipidx 99\.0 or later/s;

failed(q{SELECT id FROM other ORDER BY v <@> 'w1' LIMIT 1}, $unknown, 'it refuses scores by defaults that it does not have');
failed(q{SELECT skipidx_ranking('other_v', 'w1')}, $unknown, 'a ranking, too');
failed(q{REINDEX INDEX other_v}, $unknown, 'and to make the index');
sql('SELECT count(*) FROM other; DROP INDEX other_v');
failed(q{CREATE INDEX ON other USING skipidx (v) WITH (defaults = '99.0')},
	qr/55000: this library does not have the defaults of skipidx 99\.0.*HINT:  Install skipidx 99\.0/s, 'it makes no such index');
failed(qq{CREATE INDEX ON other USING skipidx (v) WITH (defaults = '$_')}, qr/22023: invalid value for option "defaults": "\Q$_\E"/, "no release: '$_'")
  for '', 'new', '1.0 ';

$node->stop;
done_testing();
