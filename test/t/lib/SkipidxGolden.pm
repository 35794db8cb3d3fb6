# SkipidxGolden: the data directories of test/golden/.

package SkipidxGolden;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(golden_unpack golden_answers);

my $golden = abs_path(dirname(__FILE__) . '/../../golden');

# Puts a data directory in the place of that of a node that is not started; its
# superuser is postgres.
sub golden_unpack
{
	my ($node, $archive) = @_;
	my $dir = $node->data_dir;
	my %conf = map { $_ => slurp_file("$dir/$_") } qw(postgresql.conf pg_hba.conf);

	PostgreSQL::Test::Utils::system_or_bail('sh', '-c', 'rm -rf "$1"/* && xz -dc "$2" | tar -x -C "$1"', 'sh', $dir, $archive);
	for my $file (keys %conf)
	{
		open(my $to, '>', "$dir/$file") or die "$dir/$file: $!";
		print $to $conf{$file};
		close($to);
	}
	chmod(0700, $dir) or die "$dir: $!";
	return;
}

# What questions.sql prints.
sub golden_answers
{
	my ($node) = @_;

	return $node->safe_psql('postgres', slurp_file("$golden/questions.sql")) . "\n";
}

1;
