# SkipidxWork: how much work each check of the tests 4xx expects: of all of them in
# one file, test/t/expected_work.txt, which a change for speed edits and no other.
#
# A section there is of one test, and is named like it, [400_work].  Its lines are
#
#	FIGURE<tab>NAME OF THE CHECK
#	constant = FIGURE
#
# FIGURE is a number, a range (20..22), or a bound (<20, <=20, >20, >=20).  Instead of
# a number there may be an expression of numbers, the section's constants, min(), max(),
# and of what the check hands over by name, such as what another query took.
#
# A check that has no line fails, and so does a line that no check has used when the
# test ends (work_done), unless it was told that some cannot be made here (work_skip).
# SKIPIDX_WORK_RENEW=1 prints the lines of checks that failed or have none, with what
# was found.

package SkipidxWork;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use List::Util qw(max min);
use Test::More;

our @EXPORT = qw(work_is work_skip work_done);

my $file = 'test/t/expected_work.txt';
my ($section) = $0 =~ m{([^/]+)\.pl$};
my (%line, %constant, %used, %renewed);

sub read_lines
{
	my $of = '';

	open(my $in, '<', "$FindBin::RealBin/expected_work.txt") or die "$file: $!";
	while (my $text = <$in>)
	{
		chomp $text;
		if ($text =~ /^\[(\w+)\]$/) { $of = $1; }
		elsif ($text =~ /^(#|$)/ || $of ne $section) { next; }
		elsif ($text =~ /^([a-z_]+) = (\S.*)$/) { $constant{$1} = $2; }
		elsif ($text =~ /^(\S[^\t]*)\t+(\S.*)$/)
		{
			die "$file:$.: \"$2\" is there twice" if exists $line{$2};
			$line{$2} = $1;
		}
		else { die "$file:$.: not understood: $text"; }
	}
	close($in);
	return;
}

# A number of an expression.  What comes to perl is numbers and operators alone.
sub number
{
	my ($text, $of) = @_;
	my $numbers = $text =~ s/\b(?!min\b|max\b)([a-z_]+)\b/'(' . ($of->{$1} \/\/ (exists $constant{$1} ? number($constant{$1}, $of) : die "$file: $text: nothing is named $1\n")) . ')'/ger;

	die "$file: not understood: $text\n" if $numbers =~ /[^-+*\/().,\d\seminax]/;
	my $n = eval $numbers;

	die "$file: $text: $@" if $@;
	return $n;
}

# The bounds of a figure: least, most, and whether these are in.
sub bounds_of
{
	my ($figure, $of) = @_;

	return (number($1, $of), number($2, $of), 1) if $figure =~ /^(.+?)\.\.(.+)$/;
	return $1 eq '<' ? (undef, number($3, $of), $2 ne '') : (number($3, $of), undef, $2 ne '') if $figure =~ /^([<>])(=?)(.+)$/;
	return (number($figure, $of), number($figure, $of), 1);
}

# What a line would be that what was found fits: of the same form.
sub renewed
{
	my ($name) = @_;
	my ($least, $most) = (min(@{ $renewed{$name} }), max(@{ $renewed{$name} }));
	my ($form) = ($line{$name} // '') =~ /^([<>]=?)/;
	my $figure = !$form ? ($least == $most ? $least : "$least..$most") : $form =~ /</ ? "<=$most" : ">=$least";

	return "$figure\t$name" . (exists $line{$name} ? "   (was $line{$name})" : '');
}

# Passes if the number is what the line of this name says.  The values: what the line
# may name; in: what tells this check from others of its line.
sub work_is
{
	my ($name, $found, %of) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $what = (exists $of{in} ? delete($of{in}) . ', ' : '') . $name;

	read_lines() unless %line || %used;
	$used{$name} = 1;
	if (!exists $line{$name})
	{
		push @{ $renewed{$name} }, $found;
		fail("$what: $found");
		return diag("no line for \"$name\" in $file, [$section]; SKIPIDX_WORK_RENEW=1 prints it");
	}
	my ($least, $most, $in) = bounds_of($line{$name}, \%of);
	my $fits = (!defined $least || $found > $least || $in && $found == $least) && (!defined $most || $found < $most || $in && $found == $most);

	return pass("$what: $found") if $fits;
	push @{ $renewed{$name} }, $found;
	fail("$what: $found");
	return diag("check:    $name\nexpected: $line{$name}" . (join('', map { ", $_ is $of{$_}" } sort keys %of)) . "\nfound:    $found\n"
		  . "The line is in $file, [$section]; SKIPIDX_WORK_RENEW=1 prints it with what was found.");
}

# Checks whose names match cannot be made here.
sub work_skip
{
	my ($names) = @_;

	read_lines() unless %line || %used;
	$used{$_} = 1 for grep { /$names/ } keys %line;
	return;
}

sub work_done
{
	my @unused = grep { !$used{$_} } sort keys %line;

	is(join("\n", @unused), '', "each line of $file, [$section], is of a check");
	diag(join "\n", "[$section]", map { renewed($_) } sort keys %renewed) if $ENV{SKIPIDX_WORK_RENEW} && %renewed;
	return done_testing();
}

1;
