# pg_upgrade to a newer major version, with indexes in every state: built,
# flushed, merged, with deletes, pending documents and waiting extents.  The
# older server is the one at SKX_OLD_INSTALL.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxUpgrade qw(upgrade_prepare upgrade_run);
use Test::More;

my $install = $ENV{SKX_OLD_INSTALL};

plan skip_all => 'SKX_OLD_INSTALL names no older server; see make test-upgrade'
  unless defined $install && -d $install;

my $old = PostgreSQL::Test::Cluster->new('old', install_path => $install);
my $new = PostgreSQL::Test::Cluster->new('new');

# Both with checksums, which newer versions have by default.
$old->init(extra => [ '-k', '--encoding=UTF8', '--locale=C' ]);
$new->init(extra => [ '-k', '--encoding=UTF8', '--locale=C' ]);
for my $node ($old, $new)
{
	$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
}
$old->start;
$old->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, ('all:1 w' || i % 41 || ':2A w' || i * 7 % 41 || ':3')::tsvector
	FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB');
INSERT INTO docs SELECT i, ('all:1 w' || i % 43 || ':2')::tsvector FROM generate_series(20001, 24000) i;
SELECT skipidx_flush('docs_v');
INSERT INTO docs SELECT i, ('all:1 w' || i % 47 || ':2')::tsvector FROM generate_series(24001, 28000) i;
SELECT skipidx_flush('docs_v');
DELETE FROM docs WHERE id % 7 = 0;
SQL
$old->safe_psql('postgres', 'VACUUM docs');
$old->safe_psql('postgres', <<'SQL');
SELECT skipidx_merge('docs_v', 2);
INSERT INTO docs SELECT i, ('all:1 w' || i % 29 || ':2')::tsvector FROM generate_series(28001, 29000) i;
CREATE UNLOGGED TABLE fleeting (v tsvector);
CREATE INDEX fleeting_v ON fleeting USING skipidx (v);
INSERT INTO fleeting SELECT v FROM docs LIMIT 3000;
SELECT skipidx_flush('fleeting_v');
SQL

# What the index says, by words and by a phrase.
sub answers
{
	my ($node, $table) = @_;

	return $node->safe_psql('postgres', <<"SQL");
SET enable_seqscan = off;
SELECT w, count(*), (SELECT count(*) FROM $table WHERE v @@ ('all <-> w' || w)::tsquery)
FROM generate_series(0, 46) w, LATERAL (SELECT 1 FROM $table WHERE v @@ ('w' || w)::tsquery OFFSET 0) d
GROUP BY w ORDER BY w
SQL
}

sub rows_by_scan
{
	my ($node, $table) = @_;

	return $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off;
SELECT w, count(*), (SELECT count(*) FROM $table WHERE v @@ ('all <-> w' || w)::tsquery)
FROM generate_series(0, 46) w, LATERAL (SELECT 1 FROM $table WHERE v @@ ('w' || w)::tsquery OFFSET 0) d
GROUP BY w ORDER BY w
SQL
}

upgrade_prepare($old);

my $docs = answers($old, 'docs');
my $fleeting = answers($old, 'fleeting');

is($docs, rows_by_scan($old, 'docs'), 'the old server answers right');
$old->stop;
upgrade_run($old, $install, $new);
$new->start;
is(answers($new, 'docs'), $docs, 'the same answers afterwards');
is(answers($new, 'fleeting'), $fleeting, 'of the unlogged index too');
is($new->safe_psql('postgres', "SELECT skipidx_check('docs_v', true)"),
	'', 'the index is sound');
$new->safe_psql('postgres', <<'SQL');
INSERT INTO docs SELECT i, ('all:1 w' || i % 31 || ':2')::tsvector FROM generate_series(30001, 36000) i;
SELECT skipidx_flush('docs_v');
DELETE FROM docs WHERE id % 5 = 0;
SQL
$new->safe_psql('postgres', 'VACUUM docs');
$new->safe_psql('postgres', "SELECT skipidx_merge('docs_v', 1)");
is(answers($new, 'docs'), rows_by_scan($new, 'docs'),
	'right answers after a flush and a merge by the new server');
is($new->safe_psql('postgres', q{SELECT count(*) FROM skipidx_segments('docs_v') WHERE kind = 'segment'}),
	1, 'one segment is left');
$new->stop;
command_ok([ 'pg_checksums', '--check', '-D', $new->data_dir ],
	'all pages have right checksums');

done_testing();
