# pg_upgrade of the data directories of each release (test/golden/), from the
# older server at SKX_OLD_INSTALL: the answers are those of before, and the newer
# server writes to the indexes.
#
# Holds: disk 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Basename qw(basename dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxGolden qw(golden_unpack golden_answers);
use SkipidxUpgrade qw(upgrade_prepare upgrade_run);
use Test::More;

my $install = $ENV{SKX_OLD_INSTALL};

plan skip_all => 'SKX_OLD_INSTALL names no older server; see make test-upgrade'
  unless defined $install && -d $install;

local $ENV{PGUSER} = 'postgres';
my ($major) = `"$install/bin/postgres" --version` =~ / (\d+)/;

for my $golden (sort glob("$FindBin::RealBin/../golden/*/pg$major.tar.xz"))
{
	my $release = basename(dirname($golden));
	my $name = $release =~ s/\W/_/gr;
	my $old = PostgreSQL::Test::Cluster->new("old_$name", install_path => $install);
	my $new = PostgreSQL::Test::Cluster->new("new_$name");

	# As the archives are; pg_upgrade wants both alike.
	for my $node ($old, $new)
	{
		$node->init(extra => [ '-k', '-U', 'postgres', '--encoding=UTF8', '--locale=C', '--wal-segsize=1' ]);
		$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nskipidx.max_workers = 0\nmin_wal_size = 5MB\n");
	}
	golden_unpack($old, $golden);
	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE template0 TEMPLATE template1');
	$old->safe_psql('postgres', q{UPDATE pg_database SET datistemplate = true, datallowconn = false WHERE datname = 'template0'});
	upgrade_prepare($old);
	$old->stop;
	upgrade_run($old, $install, $new, '--username' => 'postgres');
	$new->start;
	is(golden_answers($new), slurp_file(dirname($golden) . '/answers.txt'), "$release: the same answers");
	for my $index (qw(docs_plain docs_columns docs_words docs_some fleeting_v))
	{
		is($new->safe_psql('postgres', "SELECT skipidx_check('$index', true)"), '', "$release: $index is sound");
		$new->safe_psql('postgres', "CALL fill(20001, 50)") if $index eq 'docs_plain';
		$new->safe_psql('postgres', "SELECT skipidx_flush('$index'), skipidx_merge('$index', 1)");
		is($new->safe_psql('postgres', "SELECT skipidx_check('$index', true)"), '', "$release: $index is sound after a flush and a merge");
	}
	is($new->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v \@\@ 'u20007 | u20041'"), 2, "$release: new rows");
	$new->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $new->data_dir ], "$release: all pages have right checksums");
}
done_testing();
