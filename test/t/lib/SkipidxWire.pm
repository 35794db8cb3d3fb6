# SkipidxWire: tsvectors and tsqueries as they come in binary, and all that
# their receive functions let through: lexemes out of order and repeated, empty
# ones, position 0, distances below 0, any tree of operators.
#
# A vector is a list of entries [lexeme, positions...], a position being what
# is sent: label << 14 | position.
#
# Also bytes that were changed, and tokens of skipidx_search() and skipidx_scroll()
# made up with the checksum right.

package SkipidxWire;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(wire_vector wire_merge wire_length wire_query wire_copy
  wire_random_vector wire_random_query wire_mutated wire_sign_page wire_sign_scroll wire_ranking wire_read_ranking);

# Positions of a lexeme, the most and the last.
use constant MOST => 256;
use constant LAST => 16383;

my @words = ('aa', 'ab', 'abc', 'b', 'bb', 'c', 'cc', 'd', 'dd', 'e', "\xc3\xa9", "\xe6\xbc\xa2",
	'a b', "it's", 'long' x 500, 'long' x 511, map { "w$_" } 1 .. 20);

sub pick { return $_[ rand @_ ]; }

sub wire_vector
{
	return pack('N', scalar @_)
	  . join '', map { my ($word, @at) = @$_; pack 'Z* n n*', $word, scalar @at, @at } @_;
}

# What the index has of it: lexemes in order, each once, with all positions,
# each with the highest of its labels, and no more than a lexeme can have.
sub wire_merge
{
	my %at;

	for my $entry (@_)
	{
		my ($word, @at) = @$entry;

		$at{$word} //= {};
		for my $place (@at)
		{
			my $had = $at{$word}{ $place & LAST };

			$at{$word}{ $place & LAST } = $place unless defined $had && $had > $place;
		}
	}
	return map {
		my @at = @{ $at{$_} }{ sort { $a <=> $b } keys %{ $at{$_} } };

		[ $_, @at > MOST ? @at[ 0 .. MOST - 1 ] : @at ]
	} sort keys %at;
}

# Of a merged one.
sub wire_length
{
	my $length = 0;

	$length += @$_ > 1 ? @$_ - 1 : 1 for @_;
	return $length;
}

sub random_positions
{
	my ($n, $first, $most, $ends) = @_;
	my %at;

	$at{ rand() < $ends ? pick($first, LAST) : 1 + int rand $most } = 1 for 1 .. $n;
	return map { (rand() < 0.7 ? 0 : int rand 4) << 14 | $_ } sort { $a <=> $b } keys %at;
}

# Options: zero and empty, whether the server takes position 0 and an empty
# lexeme.
sub wire_random_vector
{
	my (%opt) = @_;
	my $few = rand() < 0.5;
	my $ends = rand() < 0.3 ? 0.15 : 0;
	my @entries;

	for (1 .. (rand() < 0.05 ? 0 : 1 + rand 24))
	{
		my $word = $opt{empty} && rand() < 0.02 ? '' : $words[ rand($few ? 6 : @words) ];
		my $n = rand() < 0.2 ? 0 : rand() < 0.02 ? 256 : 1 + rand 4;

		push @entries, [ $word, random_positions($n, $opt{zero} ? 0 : 1, $n > 9 ? 700 : 40, $ends) ];
	}
	return @entries;
}

# A tree: [word, labels, prefix], [NOT, tree], or [operator, left, right,
# distance].
my ($not, $and, $or, $phrase) = (1 .. 4);

sub wire_query
{
	my ($tree) = @_;
	my ($what, @of) = @$tree;

	return pack 'C C C Z*', 1, $of[0], $of[1], $what if $what !~ /^[1-4]$/;
	return pack('C C', 2, $what) . wire_query($of[0]) if $what == $not;
	return pack('C C', 2, $what) . ($what == $phrase ? pack 's>', $of[2] : '')
	  . wire_query($of[1]) . wire_query($of[0]);
}

sub random_tree
{
	my ($depth) = @_;
	my $kind = $depth > 0 ? rand : 0;

	if ($kind < 0.3)
	{
		my $prefix = rand() < 0.2;
		my $word = pick(@words[ 0 .. 9 ], pick(@words), 'none');

		$word = substr $word, 0, 1 if $prefix && $word =~ /^\w/a;
		return [ $word, rand() < 0.8 ? 0 : int rand 16, $prefix ? pick(1, 255) : 0 ];
	}
	return [ $not, random_tree($depth - 1) ] if $kind < 0.42;
	return [ pick($and, $or, $or, $phrase), random_tree($depth - 1), random_tree($depth - 1),
		rand() < 0.8 ? 1 + int rand 3 : pick(-32768, -16384, -2, -1, 0, 16383, 16384, 16385, 32767) ];
}

sub nodes
{
	my ($tree) = @_;

	return 1 unless $tree->[0] =~ /^[1-4]$/;
	return 1 + nodes($tree->[1]) + ($tree->[0] == $not ? 0 : nodes($tree->[2]));
}

# As it is sent, and its operator.
sub wire_random_query
{
	my $tree = random_tree(int rand 6);

	return pack('N', nodes($tree)) . wire_query($tree);
}

# The bytes, some of them others, fewer or more.
sub wire_mutated
{
	my ($bytes) = @_;

	for (1 .. 1 + rand 3)
	{
		my $kind = rand;
		my $at = int rand(length($bytes) + 1);

		if ($kind < 0.1) { $bytes = substr $bytes, 0, $at; }
		elsif ($kind < 0.2) { substr($bytes, $at, 0) = join '', map { chr int rand 256 } 1 .. 1 + rand 8; }
		elsif ($kind < 0.3) { substr($bytes, $at, rand 5) = ''; }
		elsif ($kind < 0.5) { substr($bytes, $at & ~3, 4) = pack 'L', pick(0, 1, 2**31 - 1, 2**31, 2**32 - 1, int rand 300); }
		elsif ($at < length $bytes) { substr($bytes, $at, 1) = chr pick(0, 1, 127, 128, 255, int rand 256); }
	}
	return $bytes;
}

my @crc_table = map {
	my $c = $_;
	$c = $c & 1 ? ($c >> 1) ^ 0x82F63B78 : $c >> 1 for 1 .. 8;
	$c
} 0 .. 255;

sub crc32c
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;

	$crc = $crc_table[ ($crc ^ $_) & 0xFF ] ^ ($crc >> 8) for unpack 'C*', $bytes;
	return $crc ^ 0xFFFFFFFF;
}

# A token of skipidx_search(): the checksum is of 100 bytes, and of what follows at
# 104; of skipidx_scroll(): of all before the last 4.  Short ones stay as they are.
sub wire_sign_page
{
	my ($bytes) = @_;

	substr($bytes, 76, 4) = pack('V', crc32c(pack('V', crc32c(pack('V', 0) . substr($bytes, 0, 76))) . substr($bytes, 80)))
	  if length $bytes >= 80;
	return $bytes;
}

sub varint
{
	my ($n) = @_;
	my $bytes = '';

	while ($n >= 128)
	{
		$bytes .= chr($n % 128 + 128);
		$n >>= 7;
	}
	return $bytes . chr($n);
}

# A packed ranking: options (7, undef for a default), ndocs, length, terms with
# flags, lexeme, times, factor, sum, whole and only, and pairs.
sub wire_ranking
{
	my ($r) = @_;
	my @options = map { $r->{options}[$_] } 0 .. 6;
	my $bits = 0;
	$bits |= defined $options[$_] ? 1 << $_ : 0 for 0 .. 6;
	my $bytes = chr($r->{version} // 1) . chr($bits) . join '', map { pack 'd<', $_ } grep { defined } @options;

	$bytes .= join '', map { varint($_) } $r->{ndocs}, $r->{length}, $r->{nterms} // scalar @{ $r->{terms} }, $r->{npairs} // scalar @{ $r->{pairs} };
	for my $t (@{ $r->{terms} })
	{
		$bytes .= chr($t->{flags}) . varint(length $t->{lexeme}) . $t->{lexeme};
		$bytes .= chr($t->{times}) if $t->{flags} & 0x20;
		$bytes .= pack 'd<', $t->{factor} if $t->{flags} & 0x40;
		$bytes .= varint($t->{sum});
		$bytes .= varint($t->{whole}) if $t->{flags} & 1;
		$bytes .= varint(length $t->{only}) . $t->{only} if $t->{flags} & 0x80;
	}
	return $bytes . join '', map { varint($_) } map { @$_ } @{ $r->{pairs} };
}

sub wire_read_ranking
{
	my ($bytes) = @_;
	my $at = 2;
	my $take = sub { $at += $_[0]; return substr($bytes, $at - $_[0], $_[0]); };
	my $number = sub {
		my ($n, $shift) = (0, 0);

		for (;; $shift += 7)
		{
			my $byte = ord $take->(1);

			$n |= ($byte & 127) << $shift;
			return $n if $byte < 128;
		}
	};
	my $bits = ord substr($bytes, 1, 1);
	my @options = map { $bits >> $_ & 1 ? unpack('d<', $take->(8)) : undef } 0 .. 6;
	my %r = (options => \@options, ndocs => $number->(), length => $number->(), terms => [], pairs => []);
	my ($nterms, $npairs) = ($number->(), $number->());

	for (1 .. $nterms)
	{
		my %t = (flags => ord $take->(1));

		$t{lexeme} = $take->($number->());
		$t{times} = ord $take->(1) if $t{flags} & 0x20;
		$t{factor} = unpack 'd<', $take->(8) if $t{flags} & 0x40;
		$t{sum} = $number->();
		$t{whole} = $number->() if $t{flags} & 1;
		$t{only} = $take->($number->()) if $t{flags} & 0x80;
		push @{ $r{terms} }, \%t;
	}
	push @{ $r{pairs} }, [ $number->(), $number->() ] for 1 .. $npairs;
	return \%r;
}

sub wire_sign_scroll
{
	my ($bytes) = @_;

	substr($bytes, -4) = pack('V', crc32c(pack('V', 0) . substr($bytes, 0, -4))) if length $bytes > 4;
	return $bytes;
}

# A file that COPY ... (FORMAT binary) reads: rows of fields, each bytes as they
# are sent.
sub wire_copy
{
	my ($file, @rows) = @_;

	open my $out, '>:raw', $file or die "$file: $!";
	print $out "PGCOPY\n\xff\r\n\0", pack 'N N', 0, 0;
	for my $row (@rows)
	{
		print $out pack 'n', scalar @$row;
		print $out pack 'N/a*', $_ for @$row;
	}
	print $out pack 'n', 0xffff;
	close $out or die "$file: $!";
	return;
}

1;
