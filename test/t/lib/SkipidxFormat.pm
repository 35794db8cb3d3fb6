# SkipidxFormat: a skipidx of a later release beside the one under test, and
# which of them a server loads.
#
# The later one is made of the objects of the tree; those that depend on the
# release are compiled again, with SKX_TEST_LATER (src/format/disk/disk_format.h).
# Servers look for the library along a path, which a restart changes, as the
# installation of a package does.

package SkipidxFormat;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use SkipidxPower;

our @EXPORT_OK = qw(format_build_later format_extension format_library format_release format_of format_of_segments);

my $src = abs_path(dirname(__FILE__) . '/../../../src');
my $dir;

# Builds the later release; returns what went wrong, or ''.
sub format_build_later
{
	my @objects = SkipidxPower::objects();
	my ($include) = map { chomp; $_ } `pg_config --includedir-server`;
	my @sources = grep { slurp_file($_) =~ /SKX_RELEASE\b|SKX_FORMAT_NEWEST/ } glob("$src/*/*/*.c $src/*/*.c");
	my %anew = map { abs_path(s/c$/o/r) => 1 } @sources;

	$dir = abs_path(PostgreSQL::Test::Utils::tempdir());
	return SkipidxPower::compile("$dir/skipidx.so", join(' ', @sources),
		"-D_GNU_SOURCE -DSKX_TEST_LATER -ffp-contract=off -I$src -I$include -Wno-unused-parameter "
		  . join(' ', grep { !$anew{ abs_path($_) } } @objects)
		  . (SkipidxPower::needs_uring(@objects) ? ' -luring' : ''));
}

# Makes the extension, whose functions are looked for along the path.
sub format_extension
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{CREATE EXTENSION skipidx;
		UPDATE pg_proc SET probin = 'skipidx' WHERE probin = '$libdir/skipidx'});
	return;
}

# From here on the server has the library of the later release, or its own.
sub format_library
{
	my ($node, $which) = @_;

	$node->append_conf('postgresql.conf',
		"dynamic_library_path = '" . ($which eq 'later' ? "$dir:" : '') . "\$libdir'");
	$node->restart;
	return;
}

# What ALTER EXTENSION UPDATE leaves behind.
sub format_release
{
	my ($node, $release) = @_;

	$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$release' WHERE extname = 'skipidx'");
	return;
}

my $fields = q{string_agg(value, ' ' ORDER BY number) FILTER (WHERE field ~ '^(format version|oldest reader|features)')};

# The format of an index: its number, the oldest reader, and three sets of bits.
sub format_of
{
	my ($node, $index) = @_;

	return $node->safe_psql('postgres',
		"SELECT $fields FROM skipidx_page('$index', 0) WITH ORDINALITY f(field, value, number)");
}

# The same of its segments, the oldest first.
sub format_of_segments
{
	my ($node, $index) = @_;

	return join '; ', split /\n/, $node->safe_psql('postgres', <<"SQL");
SELECT (SELECT $fields FROM skipidx_page('$index', block) WITH ORDINALITY f(field, value, number))
FROM generate_series(0, pg_relation_size('$index') / 8192 - 1) block,
	LATERAL (SELECT max(value) FILTER (WHERE field = 'kind') AS kind, max(value) FILTER (WHERE field = 'segment')::int AS segment,
		max(value) FILTER (WHERE field = 'ordinal') AS ordinal FROM skipidx_page('$index', block)) p
WHERE kind = 'header' AND ordinal = '0' AND segment IN (SELECT segment FROM skipidx_segments('$index') WHERE kind = 'segment')
ORDER BY segment
SQL
}

1;
