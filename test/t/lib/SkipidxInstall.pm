# SkipidxInstall: a server of a test's own, with its own extension directory and
# library, on the releases of an extension that are not installed.
#
# A server finds its files from where its program is.  So programs are copies,
# and what they find is links, beside which the test has files of its own.

package SkipidxInstall;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(basename dirname);
use File::Path qw(make_path);
use File::Spec;
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(skx_install);

sub configured
{
	my ($what) = @_;
	my $config = $ENV{PG_CONFIG} // 'pg_config';

	chomp(my $path = `'$config' --$what`);
	die "$config --$what: $?" if $? != 0 || $path eq '';
	return $path;
}

# Links to all that a directory has, but for names that a test will make.
sub link_all
{
	my ($from, $to, $own) = @_;

	make_path($to);
	for my $file (glob("'$from'/*"))
	{
		next if basename($file) =~ $own;
		symlink($file, "$to/" . basename($file)) or die "$to: $!" unless -e "$to/" . basename($file);
	}
	return;
}

# Programs that find their libraries by their own place have none beside a copy.
sub reach_libraries
{
	my ($program) = @_;
	my %apart = map { m{ => (/\S+)/\S+ \(} && $1 !~ m{^/(usr/)?lib} ? ($1 => 1) : () } `ldd '$program'`;

	$ENV{LD_LIBRARY_PATH} = join ':', sort(keys %apart), grep { defined } $ENV{LD_LIBRARY_PATH} if %apart;
	return;
}

# Makes one below the test's directory.  `path` is what nodes take as install_path,
# `extension` the directory of control file and scripts, `library` the place of
# skipidx.so; these begin as those that are installed.
sub skx_install
{
	my ($name) = @_;
	my $root = File::Spec->rel2abs("$PostgreSQL::Test::Utils::tmp_check/install_$$" . "_$name");
	my ($bin, $lib, $share) = map { configured($_) } qw(bindir pkglibdir sharedir);
	my %install = (path => $root . dirname($bin), extension => "$root$share/extension", library => "$root$lib/skipidx.so");

	make_path(dirname("$root$bin"));
	system_or_bail('cp', '-RL', $bin, "$root$bin");
	reach_libraries("$bin/psql");
	link_all($lib, "$root$lib", qr/^(skipidx\.so|bitcode)$/);
	link_all($share, "$root$share", qr/^extension$/);
	link_all("$share/extension", $install{extension}, qr/^skipidx(--|\.)/);
	system_or_bail('cp', glob("'$share'/extension/skipidx*"), "$install{extension}/");
	system_or_bail('cp', "$lib/skipidx.so", $install{library});
	return \%install;
}

1;
