# SkipidxUpgrade: pg_upgrade between two nodes, the older of which has its
# server elsewhere.

package SkipidxUpgrade;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(upgrade_prepare upgrade_run);

# Some servers keep an option of columns that others refuse, so that not even a
# plain table could be upgraded.
sub upgrade_prepare
{
	my ($old) = @_;

	$old->safe_psql('postgres', <<'SQL');
UPDATE pg_attribute SET attoptions = NULL
WHERE attoptions IS NOT NULL AND attrelid >= 16384
SQL
	return;
}

# Upgrades what the old node has, whose server is below `install`, to the new
# one; both are stopped.  Options go to pg_upgrade.  Ends the test if it fails.
sub upgrade_run
{
	my ($old, $install, $new, @options) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();

	chdir $dir or die "could not change to $dir: $!";
	my ($said, $complained) = ('', '');
	my $upgraded = IPC::Run::run(
		[
			$new->installed_command('pg_upgrade'), '--no-sync', @options,
			'--old-datadir' => $old->data_dir,
			'--new-datadir' => $new->data_dir,
			'--old-bindir' => "$install/bin",
			'--new-bindir' => $new->config_data('--bindir'),
			'--socketdir' => $new->host,
			'--old-port' => $old->port,
			'--new-port' => $new->port
		],
		'>', \$said, '2>', \$complained);

	return if ok($upgraded, 'pg_upgrade');

	# The reason is in the newest of its own log files.
	my @logs = sort { -M $b <=> -M $a }
	  glob($new->data_dir . '/pg_upgrade_output.d/*/log/*.log');

	diag("$said$complained" . (@logs ? slurp_file($logs[-1]) : ''));
	done_testing();
	exit 1;
}

1;
