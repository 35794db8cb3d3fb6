# README.md says what is so: its SQL, run from top to bottom in one database,
# prints what stands below it; its figures are those of bench/results; its
# settings can be set; its links lead to a heading; and its reference names
# every function, setting and storage parameter.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node);
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $readme = slurp_file("$top/README.md");

# The fenced blocks in order: [language, text, line].
sub blocks
{
	my ($text) = @_;
	my (@blocks, $open);
	my $line = 0;

	for (split /\n/, $text)
	{
		$line++;
		if (/^```(\w*)\s*$/)
		{
			push @blocks, $open if defined $open;
			$open = defined $open ? undef : [ $1, '', $line ];
		}
		elsif (defined $open)
		{
			$open->[1] .= "$_\n";
		}
	}
	die "README.md: the block of line $open->[2] has no end" if defined $open;
	return @blocks;
}

# A row of a table that begins so.
sub has_row
{
	my ($begin) = @_;

	return $readme =~ /^\Q$begin\E/m;
}

my @blocks = blocks($readme);
my $node = skx_node('readme');

# ---- SQL ----

my $mark = '--- README.md, line ';
my $script = '';
my %printed;

for my $i (0 .. $#blocks)
{
	my ($language, $text, $line) = @{ $blocks[$i] };

	next if $language ne 'sql';
	$script .= "\\echo $mark$line\n$text";
	my $next = $blocks[ $i + 1 ];
	$printed{$line} = defined $next && $next->[0] eq 'text' ? $next->[1] : '';
}
cmp_ok(scalar(keys %printed), '>=', 12, 'there is SQL to run');
is(scalar(grep { $_->[0] eq 'text' } @blocks), scalar(grep { $_ ne '' } values %printed),
	'each output stands below the SQL that it is of');

my $file = "$PostgreSQL::Test::Utils::tmp_check/readme.sql";
append_to_file($file, $script);

my $output = "$file.out";
my $exit = system("psql -X -q -d '" . $node->connstr('postgres') . "' -f '$file' >'$output' 2>&1");

is($exit, 0, 'psql runs it');

my %got;
my $at;

for (split /^/, slurp_file($output))
{
	if (/^\Q$mark\E(\d+)$/) { $at = $1; $got{$at} = ''; }
	else { $got{$at} .= $_; }
}

# psql ends each result with an empty line, which a block need not.
sub trimmed
{
	my ($text) = @_;

	$text =~ s/\s+\z/\n/;
	return $text =~ s/[ \t]+$//mgr;
}

is(trimmed($got{$_} // 'nothing'), trimmed($printed{$_}), "line $_ prints what stands below")
  for sort { $a <=> $b } keys %printed;

# ---- figures ----

SKIP:
{
	my $rows = `cd '$top' && python3 -B bench/report.py summary 2>&1`;

	skip 'there is no python3', 1 if $? != 0 && `command -v python3` eq '';
	is(join('', grep { /^\| .* x \|$/ } split /^/, $readme), $rows, 'the figures are those of bench/results');
}

# ---- settings ----

my $settings = 0;

for my $block (grep { $_->[0] eq 'ini' } @blocks)
{
	for (grep { /\S/ } split /\n/, $block->[1])
	{
		my ($name, $value) = /^([a-z_.]+) = ([^#]*?)\s*(#.*)?$/;

		$value = "'$value'" unless $value =~ /^'/;
		my ($status, $known, $error) = $node->psql('postgres',
			"LOAD 'skipidx'; ALTER SYSTEM SET $name = $value; SELECT count(*) FROM pg_settings WHERE name = '$name'");

		is("$status $known $error", '0 1 ', "$name = $value can be set");
		$settings++;
	}
}
cmp_ok($settings, '>=', 6, 'there are settings to try');

# ---- reference ----

for (split /\n/, $node->safe_psql('postgres', <<'SQL'))
LOAD 'skipidx';
SELECT '| `' || name || '` | ' || current_setting(name) || ' |' FROM pg_settings
WHERE name LIKE 'skipidx.%' AND source = 'default' ORDER BY name
SQL
{
	ok(has_row($_), "a setting: $_");
}

# Not for users: the handler, and what is behind operators and types.
for (split /\n/, $node->safe_psql('postgres', <<'SQL'))
SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE extname = 'skipidx' AND proname !~ '^skipidx_(handler|ref_\w+|distance\w*|bind|tsquery|place_\w+)$' ORDER BY 1
SQL
{
	like($readme, qr/^\|.*`\Q$_\E\(/m, "a function: $_");
}

my @parameters = slurp_file("$top/src/am/am_options.c") =~ /\{"(\w+)", RELOPT_TYPE_/g;

cmp_ok(scalar(@parameters), '>=', 9, 'there are storage parameters');
like($readme, qr/^\|.*`$_`/m, "a storage parameter: $_") for @parameters;

# A heading's anchor: lower case, spaces to hyphens, no other marks.
my %anchors = map { (lc =~ s/[^\w -]//gr =~ tr/ /-/r) => 1 } $readme =~ /^#+ (.*)$/mg;

ok($anchors{$_}, "a link: $_") for $readme =~ /\]\(#([^)]+)\)/g;

$node->stop;
done_testing();
