# SkipidxDisk: a small disk for the indexes of a test, to be filled up.
#
# It is a tmpfs in a mount namespace of the test's own, with the test begun
# again in it: no privilege is needed for that where the kernel lets users make
# namespaces.  Where it does not, there is no disk; the setting
# skipidx.fault_grow of the server says instead that index files cannot grow.

package SkipidxDisk;

use strict;
use warnings;
use File::Path qw(make_path);
use File::Spec;

# `use SkipidxDisk megabytes => 64` begins the test again in a namespace, before
# PostgreSQL's modules have changed where its output goes.  It stays where it
# is if there can be none, or with SKX_NO_DISK in the environment.
sub import
{
	my (undef, %opt) = @_;

	enter($opt{megabytes}) unless $ENV{SKX_DISK} || $ENV{SKX_NO_DISK};
	return;
}

sub enter
{
	my ($megabytes) = @_;
	my $check = $ENV{TESTDATADIR} // (defined $ENV{TESTDIR} ? "$ENV{TESTDIR}/tmp_check" : 'tmp_check');
	my $dir = File::Spec->rel2abs("$check/disk");
	my @outer = ('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c');
	my @inner = ('unshare', '--user', "--map-user=$<", '--map-group=' . (split ' ', $()[0]);
	my @within = (@outer, "mount -t tmpfs -o size=${megabytes}m,mode=0700 none '$dir' && exec \"\$@\"", 'sh', @inner);

	make_path($dir);
	return if system('sh', '-c', 'exec "$@" >/dev/null 2>&1', 'sh', @within, 'test', '-w', $dir) != 0;
	$ENV{SKX_DISK} = $dir;
	exec @within, $^X, (map { "-I$_" } @INC), $0, @ARGV;
	die "no namespace: $!";
}

sub new
{
	my ($class) = @_;

	return bless { dir => $ENV{SKX_DISK} }, $class;
}

# Is there a disk?
sub real { return defined $_[0]->{dir}; }

sub description
{
	my ($self) = @_;

	return $self->real ? 'full disks: a tmpfs in a mount namespace' :
	  'full disks: skipidx.fault_grow, as there is no mount namespace for users here';
}

# A tablespace on it; returns its name.
sub tablespace
{
	my ($self, $node) = @_;

	$self->{node} = $node;
	return 'pg_default' unless $self->real;
	mkdir "$self->{dir}/space" or die "$self->{dir}/space: $!";
	$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$self->{dir}/space'");
	return 'small';
}

# kB that are free.
sub free
{
	my ($self) = @_;

	return 0 unless $self->real;
	my ($kb) = reverse grep { /\d/ } split /\n/, `df -k --output=avail '$self->{dir}'`;

	return $kb + 0;
}

# Leaves so many kB free; as good as none where there is no disk.  Sessions
# from now on know it.
sub fill
{
	my ($self, $left) = @_;

	if (!$self->real)
	{
		$self->set("'enospc:1:2000000000'");
		return;
	}
	open my $file, '>', "$self->{dir}/rest" or die "$self->{dir}/rest: $!";
	my $kb = $self->free - $left;

	while ($kb > 0)
	{
		my $part = $kb > 1024 ? 1024 : $kb;

		last unless syswrite $file, "\1" x ($part * 1024);
		$kb -= $part;
	}
	close $file;
	return;
}

sub empty
{
	my ($self) = @_;

	$self->set("''") unless $self->real;
	unlink "$self->{dir}/rest" if $self->real;
	return;
}

sub set
{
	my ($self, $value) = @_;

	$self->{node}->safe_psql('postgres', "LOAD 'skipidx'; ALTER SYSTEM SET skipidx.fault_grow = $value");
	SkipidxTest::skx_reload($self->{node});
	return;
}

1;
