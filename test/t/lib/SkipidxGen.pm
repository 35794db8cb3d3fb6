# SkipidxGen: documents and queries for the differential tests.
#
# A query is drawn from a document it is meant to match, form by form, so that
# most queries match something; the server alone decides what is true.  All
# choices come from one seeded generator: a seed names a run.

package SkipidxGen;

use strict;
use warnings;
use utf8;

# Lexemes that order, quote or compare in surprising ways.
my @traps = (
	'a', 'A', 'aa', 'a b', 'a-b', 'ab', 'a_b', 'Ab', 'aB', 'á', 'à', 'z', 'Z',
	'é', "e\x{301}", 'ß', 'ss', '漢', '漢字', '字', "\x{1f600}", "\x01",
	"a\x01", "o'neil", 'back\\slash', 'co:lon', '&', '|', '!', '(', '<->',
	'*', 'x:*', ' lead', 'trail ', '1', '10', '2', '-1', '3.14', "\x{7f}",
	"\x{80}", "\x{fffd}", "\x{10fffd}", 'i', 'I', 'ı', 'İ');

# Up to the longest a tsvector takes, 2046 bytes, sharing long prefixes.
my @long = (
	'L' x 2045 . 'a', 'L' x 2045 . 'b', 'L' x 2046, 'L' x 1000,
	'L' x 1000 . 'x', 'M' x 2046, 'é' x 1023, 'é' x 1022 . 'aa', 'N' x 300,
	'N' x 255, 'N' x 256, 'N' x 128, 'N' x 127);

my @english = qw(the of and a running quickly databases indexing theory cats
  dogs runs ran jumping foxes lazy query queries table tables to be or not is
  searching engine engines postgres words);

my @syllables = qw(ba ce di fo gu ka le mi no pu ra se ti vo xu);

my @kinds = (
	[ plain => 40 ], [ stripped => 9 ], [ mixed => 10 ], [ clamp => 6 ],
	[ dense => 2 ], [ long => 4 ], [ trap => 10 ], [ english => 8 ],
	[ single => 4 ], [ same => 3 ], [ null => 2 ], [ empty => 2 ]);

# Options: seed, vocab (number of ordinary words), words (the commonest of these),
# tokens (most tokens of a plain document).
sub new
{
	my ($class, %opt) = @_;
	my $self = bless { docs => [], vocab => [ @{ $opt{words} // [] } ], next => 1, tokens => $opt{tokens} // 40 }, $class;
	my %seen = map { $_ => 1 } @{ $self->{vocab} };

	srand($opt{seed});
	while (@{ $self->{vocab} } < $opt{vocab})
	{
		my $word = join '',
		  map { $syllables[ rand @syllables ] } 1 .. 1 + rand 4;

		push @{ $self->{vocab} }, $word unless $seen{$word}++;
	}
	$self->{log_n} = log($opt{vocab} + 1);
	return $self;
}

# Few words are common, most are rare.
sub zipf
{
	my ($self) = @_;

	return $self->{vocab}[ int(exp(rand() * $self->{log_n}) - 1) ];
}

sub pick { return $_[ rand @_ ]; }

my @weights = qw(A B C D D D D D);

sub weight { return $weights[ rand @weights ]; }

# A token list: [position, word, weight].
sub tokens
{
	my ($self, $n, $start, $words) = @_;
	my $pos = $start;
	my @tokens;

	for my $i (1 .. $n)
	{
		my $word = $words ? pick(@$words) : $self->zipf;
		my $step = rand() < 0.85 ? 1 : int rand 5;

		push @tokens, [ $pos, $word, $weights[ rand @weights ] ];
		$pos += $step;
	}
	return @tokens;
}

# Text form of a tsvector.
sub quote
{
	my ($word) = @_;

	if ($word =~ /[\\']/)
	{
		$word =~ s/\\/\\\\/g;
		$word =~ s/'/''/g;
	}
	return "'$word'";
}

sub vector_text
{
	my ($stripped, @tokens) = @_;
	my %lexemes;

	for my $t (@tokens)
	{
		push @{ $lexemes{ $t->[1] } }, "$t->[0]" . ($t->[2] eq 'D' ? '' : $t->[2]);
	}
	return join ' ', map {
		quote($_) . ($stripped ? '' : ':' . join(',', @{ $lexemes{$_} }))
	} sort keys %lexemes;
}

sub kind_tokens
{
	my ($self, $kind) = @_;

	return $self->tokens(3 + rand($self->{tokens} - 2), 1 + int rand 3)
	  if $kind eq 'plain' || $kind eq 'stripped';
	return $self->tokens(4 + rand 25, 16360 + int rand 23)
	  if $kind eq 'clamp';
	return ($self->tokens(5, 1, \@long), $self->tokens(6, 4))
	  if $kind eq 'long';
	return ($self->tokens(2 + rand 12, 1, \@traps), $self->tokens(4, 2))
	  if $kind eq 'trap';
	return $self->tokens(1, 1 + int rand 16383) if $kind eq 'single';
	return map { [ $_, $self->{vocab}[ $_ % 3 ], $_ % 7 ? 'D' : 'B' ] } 1 .. 4
	  if $kind eq 'same';
	if ($kind eq 'dense')
	{
		# 256 positions is the most a lexeme can hold; the rest is dropped.
		my ($one, $two) = ($self->zipf, $self->zipf);
		my $step = 1 + int rand 3;

		return map {
			([ $_ * $step, $one, weight() ], [ $_ * $step + 1, $two, 'D' ])
		} 1 .. 260;
	}
	return ();
}

# One document: id, kind, left and right vector (the row's is left || right),
# text for to_tsvector, and the tokens queries are drawn from.
sub document
{
	my ($self, $kind) = @_;
	my %doc = (id => $self->{next}++, kind => $kind, right => '');

	if ($kind eq 'english')
	{
		$doc{text} = join ' ', map { pick(@english) } 1 .. 5 + rand 20;
		$doc{tokens} = [];
	}
	elsif ($kind eq 'mixed')
	{
		my @bare = $self->tokens(1 + rand 8, 1);
		my @full = $self->tokens(3 + rand 12, 1);

		$doc{left} = vector_text(1, @bare);
		$doc{right} = vector_text(0, @full);
		$doc{tokens} = \@full;
		$doc{bare} = [ map { $_->[1] } @bare ];
	}
	elsif ($kind ne 'null')
	{
		my @tokens = $self->kind_tokens($kind);

		$_->[0] = $_->[0] > 16383 ? 16383 : $_->[0] for @tokens;
		$doc{left} = vector_text($kind eq 'stripped', @tokens);
		$doc{tokens} = $kind eq 'stripped' ? [] : \@tokens;
		$doc{bare} = [ map { $_->[1] } @tokens ] if $kind eq 'stripped';
	}
	$doc{tokens} //= [];
	$doc{tokens} = [ sort { $a->[0] <=> $b->[0] } @{ $doc{tokens} } ];
	$doc{words} =
	  [ (map { $_->[1] } @{ $doc{tokens} }), @{ $doc{bare} // [] } ];
	return \%doc;
}

# Adds documents of mixed kinds, or all of the given ones; returns them.
sub add_documents
{
	my ($self, $n, @only) = @_;
	my @bag = @only ? @only : map { ($_->[0]) x $_->[1] } @kinds;
	my @new = map { $self->document(pick(@bag)) } 1 .. $n;

	push @{ $self->{docs} }, @new;
	return @new;
}

# A document of many words, larger than a page.
sub add_large
{
	my ($self, $words) = @_;
	my $n = @{ $self->{vocab} };
	my @tokens =
	  map { [ 1 + $_, $_ % 3 ? "big$_" : $self->{vocab}[ $_ % $n ], weight() ] }
	  1 .. $words;

	push @{ $self->{docs} },
	  { id => $self->{next}++,
		kind => 'large',
		left => vector_text(0, @tokens),
		right => '',
		tokens => \@tokens,
		words => [ map { $_->[1] } @tokens ] };
	return;
}

sub copy_field
{
	my ($text) = @_;

	return '\\N' unless defined $text;
	$text =~ s/\\/\\\\/g;
	$text =~ s/\t/\\t/g;
	$text =~ s/\n/\\n/g;
	return $text;
}

# COPY lines of the documents from the first given id on.
sub copy_documents
{
	my ($self, $from) = @_;

	return map {
		join("\t", $_->{id}, $_->{kind}, copy_field($_->{left}),
			copy_field($_->{right}), copy_field($_->{text}))
		  . "\n"
	} grep { $_->{id} >= $from } @{ $self->{docs} };
}

# ---- queries ----

# Parts a form is made of, all relative to the document in hand.

sub any_word { my ($d) = @_; return pick(@{ $d->{words} }); }

sub W { my ($d) = @_; return quote(any_word($d)); }

# A word of some document, usually not of this one.
sub O { my ($d) = @_; return quote($d->{gen}->zipf); }

# A leading part of a word, at least one character.
sub prefix_of
{
	my ($word) = @_;

	return substr($word, 0, 1 + rand length $word);
}

# A token's operand; weighted gives it a weight that fits, prefix shortens it.
sub T
{
	my ($t, %how) = @_;
	my $word = $how{prefix} ? prefix_of($t->[1]) : $t->[1];
	my $flags = $how{prefix} ? '*' : '';

	$flags .= rand() < 0.75 ? $t->[2] : pick(qw(A B C AB CD ABC))
	  if $how{weighted};
	$flags .= pick('', qw(A B C D)) if $how{weighted} && rand() < 0.3;
	return quote($word) . ($flags eq '' ? '' : ":$flags");
}

# k tokens of the document in order of position, starting anywhere.
sub chain
{
	my ($d, $k) = @_;
	my $tokens = $d->{tokens};
	my $first = int rand(@$tokens - $k + 1);

	return @$tokens[ $first .. $first + $k - 1 ];
}

# Any two tokens, the first not after the second.
sub apart
{
	my ($d) = @_;
	my $tokens = $d->{tokens};
	my @two = sort { $a <=> $b } (int rand @$tokens, int rand @$tokens);

	return @$tokens[@two];
}

# Three tokens in order of position, the first and the last of one word, as they
# stand in the document if it has such; else what looks so.
sub again
{
	my ($d) = @_;
	my $tokens = $d->{tokens};

	for (1 .. 20)
	{
		my $i = int rand @$tokens;
		my ($j) = grep { $_ < @$tokens && $tokens->[$_][1] eq $tokens->[$i][1] } $i + 2 .. $i + 40;

		return @$tokens[ $i, $i + 1 + int rand($j - $i - 1), $j ] if $j;
	}
	my @t = chain($d, 3);

	return (@t[ 0, 1 ], [ $t[2][0], $t[0][1], $t[0][2] ]);
}

# The operator that joins two tokens as they stand.
sub D
{
	my ($from, $to) = @_;
	my $n = $to->[0] - $from->[0];

	return $n == 1 && rand() < 0.8 ? '<->' : "<$n>";
}

# The phrase of the given tokens.
sub P
{
	my ($how, @t) = @_;
	my $text = T($t[0], %$how);

	$text .= ' ' . D($t[ $_ - 1 ], $t[$_]) . ' ' . T($t[$_], %$how)
	  for 1 .. $#t;
	return $text;
}

# A random tree, mostly true for the document.
sub tree
{
	my ($d, $depth) = @_;
	my $r = rand;

	if ($depth == 0 || $r < 0.15)
	{
		return W($d) if $r < 0.1 || !@{ $d->{tokens} };
		return T(pick(@{ $d->{tokens} }), weighted => $r < 0.5, prefix => $r > 0.4);
	}
	return '(' . tree($d, $depth - 1) . ' & ' . tree($d, $depth - 1) . ')'
	  if $r < 0.4;
	return '(' . tree($d, $depth - 1) . ' | ' . O($d) . ')' if $r < 0.55;
	return '!(' . O($d) . ' & ' . tree($d, $depth - 1) . ')' if $r < 0.7;
	return '(' . P({}, apart($d)) . ')' if $r < 0.85 && @{ $d->{tokens} };
	return '(' . tree($d, $depth - 1) . pick(' <-> ', ' <2> ', ' <0> ')
	  . tree($d, $depth - 1) . ')';
}

# Form name => [what the document must have, sub giving the query's text].
# 0: any word; n: at least n tokens with positions.
my %forms = (
	word => [ 0, sub { W($_[0]) } ],
	word_absent => [ 0, sub { quote('nosuch' . int rand 10) } ],
	and2 => [ 0, sub { W($_[0]) . ' & ' . W($_[0]) } ],
	and3 => [ 0, sub { join ' & ', W($_[0]), W($_[0]), W($_[0]) } ],
	and_other => [ 0, sub { W($_[0]) . ' & ' . O($_[0]) } ],
	and_many => [ 0, sub { my ($d) = @_; join ' & ', map { W($d) } 1 .. 40 } ],
	or2 => [ 0, sub { W($_[0]) . ' | ' . O($_[0]) } ],
	or3 => [ 0, sub { join ' | ', O($_[0]), O($_[0]), W($_[0]) } ],
	or_many => [ 0, sub { my ($d) = @_; join ' | ', map { O($d) } 1 .. 40 } ],
	or_repeats => [ 0, sub { my ($w, $o) = (W($_[0]), O($_[0])); join ' | ', $w, $o, $w, pick($w, "!$o", W($_[0])), $o, $w } ],
	and_repeats => [ 0, sub { my ($w, $o) = (W($_[0]), W($_[0])); "$w & $o & $w" . pick('', " & ($w | $o)", " | $o & $w", " & !!$o") } ],
	prefix_repeats => [
		0,
		sub {
			my $p = quote(prefix_of(any_word($_[0])));

			pick("$p:* | $p:* | " . O($_[0]), "$p:*AB | $p | $p:A | $p:*CD | $p:*", "$p:* & $p:*");
		}
	],
	or_absent => [ 0, sub { quote('nosuch') . ' | ' . W($_[0]) } ],
	and_or => [ 0, sub { '(' . W($_[0]) . ' | ' . O($_[0]) . ') & ' . W($_[0]) } ],
	or_and => [ 0, sub { W($_[0]) . ' & ' . W($_[0]) . ' | ' . O($_[0]) . ' & ' . O($_[0]) } ],
	and_not => [ 0, sub { W($_[0]) . ' & !' . O($_[0]) } ],
	or_not => [ 0, sub { W($_[0]) . ' | !' . O($_[0]) } ],
	not_word => [ 0, sub { '!' . W($_[0]) } ],
	not_not => [ 0, sub { '!!' . W($_[0]) } ],
	not_and => [ 0, sub { '!(' . W($_[0]) . ' & ' . O($_[0]) . ')' } ],
	not_or => [ 0, sub { '!(' . O($_[0]) . ' | ' . O($_[0]) . ')' } ],
	nots_and => [ 0, sub { '!' . O($_[0]) . ' & !' . O($_[0]) } ],
	same_and => [ 0, sub { my $w = W($_[0]); "$w & $w" } ],
	same_not => [ 0, sub { my $w = W($_[0]); pick("$w & !$w", "$w | !$w") } ],
	same_phrase => [ 0, sub { my $w = W($_[0]); "$w " . pick('<->', '<0>', '<2>') . " $w" } ],
	phrase2 => [ 2, sub { P({}, chain($_[0], 2)) } ],
	phrase3 => [ 3, sub { P({}, chain($_[0], 3)) } ],
	phrase_long => [ 4, sub { P({}, chain($_[0], pick(4, scalar @{ $_[0]{tokens} }))) } ],
	phrase_again => [ 3, sub { P({}, again($_[0])) } ],
	weight_again => [ 3, sub { P({ weighted => 1 }, again($_[0])) } ],
	again_and => [ 3, sub { '(' . P({}, again($_[0])) . ') & ' . pick(W($_[0]), '!' . O($_[0])) } ],
	again_twice => [ 3, sub { my @t = again($_[0]); P({}, @t) . ' ' . D(@t[ 0, 1 ]) . ' ' . T($t[1]) } ],
	phrase_apart => [ 2, sub { P({}, apart($_[0])) } ],
	phrase_miss => [ 2, sub { my @t = apart($_[0]); T($t[0]) . ' <' . ($t[1][0] - $t[0][0] + 1) . '> ' . T($t[1]) } ],
	phrase_turned => [ 2, sub { my @t = chain($_[0], 2); T($t[1]) . ' <-> ' . T($t[0]) } ],
	phrase_bare => [ 0, sub { W($_[0]) . ' <-> ' . W($_[0]) } ],
	dist0 => [ 1, sub { my ($t) = chain($_[0], 1); T($t) . ' <0> ' . T($t, prefix => 1) } ],
	dist0_clamp => [ 2, sub { my @t = @{ $_[0]{tokens} }; T($t[-1]) . ' <0> ' . T($t[-2]) } ],
	dist_large => [ 1, sub { W($_[0]) . ' ' . pick('<16384>', '<16383>', '<16382>', '<1000>', '<200>') . ' ' . W($_[0]) } ],
	not_left => [ 1, sub { '!' . O($_[0]) . ' <-> ' . T(chain($_[0], 1)) } ],
	not_right => [ 1, sub { T(chain($_[0], 1)) . ' <-> !' . O($_[0]) } ],
	not_both => [ 1, sub { '!' . O($_[0]) . ' ' . pick('<->', '<2>', '<0>') . ' !' . W($_[0]) } ],
	not_left_far => [ 1, sub { '!' . W($_[0]) . ' <' . int(rand 6) . '> ' . T(chain($_[0], 1)) } ],
	not_middle => [ 3, sub { my @t = chain($_[0], 3); T($t[0]) . ' ' . D(@t[ 0, 1 ]) . ' !' . O($_[0]) . ' ' . D(@t[ 1, 2 ]) . ' ' . T($t[2]) } ],
	not_phrase => [ 2, sub { '!(' . P({}, chain($_[0], 2)) . ')' } ],
	not_phrase_left => [ 3, sub { my @t = chain($_[0], 3); '!(' . O($_[0]) . ' <-> ' . T($t[1]) . ') ' . D(@t[ 1, 2 ]) . ' ' . T($t[2]) } ],
	not_phrase_right => [ 3, sub { my @t = chain($_[0], 3); T($t[0]) . ' ' . D(@t[ 0, 1 ]) . ' !(' . T($t[1]) . ' <-> ' . O($_[0]) . ')' } ],
	not_phrase_true => [ 2, sub { '!(' . P({}, chain($_[0], 2)) . ') <-> ' . W($_[0]) } ],
	and_phrase => [ 2, sub { '(' . P({}, chain($_[0], 2)) . ') & ' . W($_[0]) } ],
	phrase_and_common => [ 2, sub { '(' . P({}, chain($_[0], 2)) . ') & ' . O($_[0]) } ],
	phrases_and_common => [ 3, sub { my @t = chain($_[0], 3); '(' . P({}, @t[ 0, 1 ]) . ') & (' . P({}, @t[ 1, 2 ]) . ') & (' . O($_[0]) . ' | ' . O($_[0]) . ')' } ],
	phrase_and_common_or => [ 2, sub { '((' . P({}, chain($_[0], 2)) . ') & ' . O($_[0]) . ') | ' . W($_[0]) } ],
	not_phrase_and_common => [ 2, sub { '!((' . P({}, chain($_[0], 2)) . ') & ' . O($_[0]) . ') & ' . W($_[0]) } ],
	and_not_phrase => [ 2, sub { W($_[0]) . ' & !(' . P({}, chain($_[0], 2)) . ')' } ],
	or_phrases => [ 2, sub { '(' . P({}, chain($_[0], 2)) . ') | (' . O($_[0]) . ' <-> ' . O($_[0]) . ')' } ],
	phrase_or => [ 2, sub { my @t = chain($_[0], 2); '(' . O($_[0]) . ' | ' . T($t[0]) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	phrase_or_right => [ 2, sub { my @t = chain($_[0], 2); T($t[0]) . ' ' . D(@t) . ' (' . T($t[1]) . ' | ' . O($_[0]) . ')' } ],
	phrase_or_both => [ 2, sub { my @t = chain($_[0], 2); '(' . T($t[0]) . ' | ' . O($_[0]) . ') ' . D(@t) . ' (' . T($t[1]) . ' | ' . O($_[0]) . ')' } ],
	phrase_and => [ 2, sub { my @t = chain($_[0], 2); '(' . T($t[0]) . ' & ' . T($t[0], prefix => 1) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	phrase_and_other => [ 2, sub { my @t = chain($_[0], 2); T($t[0]) . ' ' . D(@t) . ' (' . T($t[1]) . ' & ' . O($_[0]) . ')' } ],
	phrase_or_not => [ 2, sub { my @t = chain($_[0], 2); '(' . T($t[0]) . ' | !' . O($_[0]) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	phrase_and_not => [ 2, sub { my @t = chain($_[0], 2); '(' . T($t[0]) . ' & !' . O($_[0]) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	phrase_nots => [ 2, sub { my @t = chain($_[0], 2); '(!' . O($_[0]) . pick(' & ', ' | ') . '!' . O($_[0]) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	nested_right => [ 3, sub { my @t = chain($_[0], 3); T($t[0]) . ' ' . D(@t[ 0, 1 ]) . ' (' . P({}, @t[ 1, 2 ]) . ')' } ],
	nested_both => [ 4, sub { my @t = chain($_[0], 4); '(' . P({}, @t[ 0, 1 ]) . ') <' . ($t[2][0] - $t[1][0]) . '> (' . P({}, @t[ 2, 3 ]) . ')' } ],
	nested_or => [ 3, sub { my @t = chain($_[0], 3); '((' . P({}, @t[ 0, 1 ]) . ') | ' . O($_[0]) . ') ' . D(@t[ 1, 2 ]) . ' ' . T($t[2]) } ],
	nested_or_wide => [ 3, sub { my @t = chain($_[0], 3); T($t[0]) . ' <' . int(rand 4) . '> ((' . P({}, @t[ 1, 2 ]) . ') | ' . O($_[0]) . ' | ' . T($t[2]) . ')' } ],
	nested_and => [ 3, sub { my @t = chain($_[0], 3); '((' . P({}, @t[ 0, 1 ]) . ') & ' . T($t[1]) . ') ' . D(@t[ 1, 2 ]) . ' ' . T($t[2]) } ],
	nested_not => [ 3, sub { my @t = chain($_[0], 3); '(' . O($_[0]) . ' <-> !' . T($t[0]) . ' | ' . T($t[1]) . ') <-> ' . T($t[2]) } ],
	weight1 => [ 1, sub { T(chain($_[0], 1), weighted => 1) } ],
	weight_any => [ 0, sub { W($_[0]) . ':' . pick(qw(A B C D AB CD ABCD)) } ],
	weight_and => [ 2, sub { my @t = apart($_[0]); T($t[0], weighted => 1) . ' & ' . T($t[1], weighted => 1) } ],
	weight_or => [ 2, sub { my @t = apart($_[0]); T($t[0], weighted => 1) . ' | ' . O($_[0]) . ':A' } ],
	weight_not => [ 1, sub { '!' . T(chain($_[0], 1), weighted => 1) } ],
	weight_phrase => [ 2, sub { P({ weighted => 1 }, chain($_[0], 2)) } ],
	weight_phrase_not => [ 2, sub { my @t = chain($_[0], 2); '!' . T($t[0], weighted => 1) . ' ' . D(@t) . ' ' . T($t[1], weighted => 1) } ],
	prefix => [ 0, sub { quote(prefix_of(any_word($_[0]))) . ':*' } ],
	prefix_short => [ 0, sub { quote(substr(any_word($_[0]), 0, 1)) . ':*' } ],
	prefix_weight => [ 1, sub { T(chain($_[0], 1), prefix => 1, weighted => 1) } ],
	prefix_and => [ 0, sub { W($_[0]) . ' & ' . quote(prefix_of(any_word($_[0]))) . ':*' } ],
	prefix_not => [ 0, sub { W($_[0]) . ' & !' . quote(prefix_of($_[0]{gen}->zipf)) . ':*' } ],
	prefix_phrase => [ 2, sub { P({ prefix => 1 }, chain($_[0], 2)) } ],
	prefix_weight_phrase => [ 2, sub { P({ prefix => 1, weighted => 1 }, chain($_[0], 2)) } ],
	prefix_not_phrase => [ 2, sub { my @t = chain($_[0], 2); '!' . quote(prefix_of($_[0]{gen}->zipf)) . ':* ' . D(@t) . ' ' . T($t[1]) } ],
	prefix_in_phrase => [ 2, sub { my @t = chain($_[0], 2); my $p = int rand 2; T($t[0], prefix => $p, weighted => rand() < 0.3) . ' ' . D(@t) . ' ' . T($t[1], prefix => !$p) } ],
	prefix_last => [ 3, sub { my @t = chain($_[0], 3); P({}, @t[ 0, 1 ]) . ' ' . D(@t[ 1, 2 ]) . ' ' . T($t[2], prefix => 1) } ],
	prefix_in_or => [ 2, sub { my @t = chain($_[0], 2); '(' . T($t[0]) . ' | ' . quote(prefix_of(any_word($_[0]))) . ':* & ' . W($_[0]) . pick('', ' | !' . O($_[0])) . ') ' . D(@t) . ' ' . T($t[1]) } ],
	prefix_arms => [ 2, sub { my @t = chain($_[0], 2); T($t[0]) . ' ' . D(@t) . ' ' . T($t[1], prefix => 1) . ' | ' . O($_[0]) . ' & ' . quote(prefix_of(any_word($_[0]))) . ':*' } ],
	tree3 => [ 1, sub { tree($_[0], 3) } ],
	tree5 => [ 1, sub { tree($_[0], 5) } ],
	empty => [ 0, sub { '' } ]);

# Forms whose text goes through the parser of a configuration.
my %parsed = (
	english_word => [ to => sub { pick(@english[ 4 .. $#english ]) } ],
	english_stop => [ to => sub { pick('the', 'the & of', 'to | !be', 'a <-> the') } ],
	english_and => [ to => sub { pick(@english[ 4 .. 20 ]) . ' & ' . pick(@english) } ],
	english_phrase => [ to => sub { pick(@english[ 4 .. 20 ]) . ' <-> ' . pick(@english) } ],
	english_not => [ to => sub { '!' . pick(@english) . ' <-> ' . pick(@english[ 4 .. 20 ]) } ],
	phraseto => [ phraseto => sub { join ' ', map { pick(@english) } 1 .. 2 + rand 2 } ],
	plainto => [ plainto => sub { join ' ', map { pick(@english) } 1 .. 3 } ],
	websearch => [ websearch => sub { pick(@english[ 4 .. 20 ]) . pick(' or ', ' -', ' ') . '"' . pick(@english) . ' ' . pick(@english) . '"' } ]);

sub forms { return sort(keys %forms, keys %parsed); }

# A query of a form: maker (how the text becomes a tsquery), text.
sub query
{
	my ($self, $form) = @_;
	my ($docs, $fit) = ($self->{docs}, $self->{fit} //= { n => 0 });

	return ($parsed{$form}[0], $parsed{$form}[1]->()) if $parsed{$form};
	for my $d (@$docs[ $fit->{n} .. $#$docs ])
	{
		push @{ $fit->{$_} }, $d for @{ $d->{words} } ? 0 .. (@{ $d->{tokens} } > 4 ? 4 : @{ $d->{tokens} }) : ();
	}
	$fit->{n} = @$docs;
	my $d = pick(@{ $fit->{ $forms{$form}[0] } });
	local $d->{gen} = $self;

	return ('raw', $forms{$form}[1]->($d));
}

# Lines of COPY: id, form, maker, text.
# per: how many of each form.  only: a list of forms, else all.
sub copy_queries
{
	my ($self, $per, $only) = @_;
	my $qid = 0;

	return map {
		my $form = $_;

		map {
			my ($maker, $text) = $self->query($form);

			join("\t", ++$qid, $form, $maker, copy_field($text)) . "\n"
		} 1 .. $per
	} $only ? @$only : forms();
}

1;
