# README.md and doc/ say what is so: their SQL, run from top to bottom in one
# database (that of the README in another), prints what stands below it; the
# figures are those of bench/results;
# settings can be set, and all that are named exist; links lead to a heading; and
# the reference names every function, setting and storage parameter.
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

# In this order: each may use the tables of the ones before, but for those of the
# README.
my @files = ('README.md', 'doc/tour.md', 'doc/searching.md', 'doc/operating.md', 'doc/citus.md', 'doc/reference.md',
	'doc/support.md');
# 701 and 382 run what these have.
my @linked = (@files, 'doc/compared.md', 'doc/coming_from.md', 'doc/machines.md', 'SECURITY.md');
my %text_of = map { $_ => slurp_file("$top/$_") } @linked;
my $reference = $text_of{'doc/reference.md'};

# The fenced blocks in order: [language, text, place, indent].
sub blocks
{
	my ($name) = @_;
	my (@blocks, $open);
	my $line = 0;

	for (split /\n/, $text_of{$name})
	{
		$line++;
		# In a list, as far as it is indented.
		my $indent = defined $open ? $open->[3] : '';

		s/^$indent//;
		if (/^( *)```(\w*)\s*$/)
		{
			push @blocks, $open if defined $open;
			$open = defined $open ? undef : [ $2, '', "$name:$line", $1 ];
		}
		elsif (defined $open)
		{
			$open->[1] .= "$_\n";
		}
	}
	die "the block at $open->[2] has no end" if defined $open;
	return @blocks;
}

# A row of a table of the reference that begins so.
sub has_row
{
	my ($begin) = @_;

	return $reference =~ /^\Q$begin\E/m;
}

my @blocks = map { blocks($_) } @files;
my $node = skx_node('documentation');

# ---- SQL ----

my $mark = '--- block at ';
my $script = '';
my (%printed, @places);

for my $i (0 .. $#blocks)
{
	my ($language, $text, $place) = @{ $blocks[$i] };

	next if $language ne 'sql';
	$script .= "\\connect tour\n" if $place =~ /^doc/ && $script !~ /^\\connect/m;
	$script .= "\\echo $mark$place\n$text";
	push @places, $place;
	my $next = $blocks[ $i + 1 ];
	$printed{$place} = defined $next && $next->[0] eq 'text' ? $next->[1] : '';
}
cmp_ok(scalar(keys %printed), '>=', 12, 'there is SQL to run');
is(scalar(grep { $_->[0] eq 'text' } @blocks), scalar(grep { $_ ne '' } values %printed),
	'each output stands below the SQL that it is of');

$node->safe_psql('postgres', 'CREATE DATABASE tour');
my $file = "$PostgreSQL::Test::Utils::tmp_check/documentation.sql";
append_to_file($file, $script);

my $output = "$file.out";
my $exit = system("psql -X -q -d '" . $node->connstr('postgres') . "' -f '$file' >'$output' 2>&1");

is($exit, 0, 'psql runs it');

my %got;
my $at;

for (split /^/, slurp_file($output))
{
	if (/^\Q$mark\E(\S+)$/) { $at = $1; $got{$at} = ''; }
	else { $got{$at} .= $_; }
}

# psql ends each result with an empty line, which a block need not.
sub trimmed
{
	my ($text) = @_;

	$text =~ s/\s+\z/\n/;
	return $text =~ s/[ \t]+$//mgr;
}

is(trimmed($got{$_} // 'nothing'), trimmed($printed{$_}), "$_ prints what stands below")
  for @places;

# ---- figures ----

SKIP:
{
	my $rows = `cd '$top' && python3 -B bench/report.py summary 2>&1`;

	skip 'there is no python3', 1 if $? != 0 && system("command -v python3 >/dev/null") != 0;
	is(join('', grep { /^\| .* x \|$/ } split /^/, $text_of{'doc/compared.md'}), $rows, 'the figures are those of bench/results');
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

my %settings = map { $_ => 1 } split /\n/,
  $node->safe_psql('postgres', q{LOAD 'skipidx'; SELECT name FROM pg_settings WHERE name LIKE 'skipidx.%'});
my %named = map { $_ => 1 } map { /\bskipidx\.[a-z_]+/g } values %text_of, slurp_file("$top/CHANGELOG.md");

is(join(' ', sort keys %named), join(' ', sort keys %settings), 'settings that are named, and no others');

# Not for users: what is named skx_, but for what operator classes of theirs name.
for (split /\n/, $node->safe_psql('postgres', <<'SQL'))
SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE extname = 'skipidx' AND (proname !~ '^skx_' OR proname = 'skx_canonical') ORDER BY 1
SQL
{
	like($reference, qr/^\|.*`\Q$_\E\(/m, "a function: $_");
}

my @parameters = slurp_file("$top/src/sql/am/am_options.c") =~ /\{"(\w+)", RELOPT_TYPE_/g;

cmp_ok(scalar(@parameters), '>=', 9, 'there are storage parameters');
like($reference, qr/^\|.*`$_`/m, "a storage parameter: $_") for @parameters;

# A heading's anchor: lower case, spaces to hyphens, no other marks.
sub anchors
{
	my ($name) = @_;

	return map { (lc =~ s/[^\w -]//gr =~ tr/ /-/r) => 1 } $text_of{$name} =~ /^#+ (.*)$/mg;
}

my %anchors_of = map { $_ => { anchors($_) } } @linked;

for my $name (@linked)
{
	my $folder = $name =~ s/[^\/]*$//r;
	my @links = $text_of{$name} =~ /\]\(([^)#:]*#[^)]+)\)/g;

	for (@links)
	{
		my ($page, $heading) = split /#/;
		my $to = $page eq '' ? $name : "$folder$page";

		1 while $to =~ s/[^\/]+\/\.\.\///;
		ok($anchors_of{$to}{$heading}, "a link of $name: $to, $heading");
	}
}

$node->stop;
done_testing();
