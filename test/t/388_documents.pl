# skipidx_document() of hostile and long texts: to_tsvector() where that fits,
# however the text is read; what it takes of memory, and how soon it is told to
# stop.
#
# Holds: parse 1, 2, 3, 5, 6; functions 21
# Long: texts for each database, SKX_DOCUMENT_TEXTS (2)

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_median);
use Test::More;

use constant TEXTS => $ENV{SKX_DOCUMENT_TEXTS} || 2;
use constant MB => 1024 * 1024;
use constant SOON => 10;

my $seed = skx_seed(388);

note "seed $seed";
srand($seed);

my $node = skx_node('documents', conf => 'shared_buffers = 8MB');
my $long = 'ALTER TABLE texts ALTER content SET STORAGE external';

# In each encoding: as a library of locales knows letters, and as C does.
my %databases = (
	utf8 => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'",
	utf8_c => "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
	latin1 => "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
	euc_jp => "TEMPLATE template0 ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C'",
	ascii => "TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'");

# A word of ours that dictionaries know, and what parsers do not expect; what
# is not ASCII, by database.
my @parts = (split(' ', <<'PARTS'), ' ', "\t", "\n", '<a href="x y">', '<a b=\'>\'>', 'x <y', '< y');
a the Cats running skies booking books three postgres indices crab nebulae tickets 12 3.14 -7 +1e10 1.2.3 v2 x
well-known x-1 foo-bar-baz-12 http://example.com/a/b.html?q=1&r=2 ftp://x.y/z www.example.org someone@example.com a@b
/usr/local/bin ../x ./y ~/z .. ./ ~ & &amp; &#233; &#xe9; <b> </b> <br/> <a <!-- <!--x--> --> <? <?xml <!D <script>
<script </script> </script <style> <style </style> <stylex> <SCRIPT </Script> < </ <- > ' " \ \" \' = ( ) , . - / : ; { }
| ^ ` % # ? @ _ + * x" y' 1" <x>y <x=
PARTS
my %others = (
	utf8 => [ "\xc3\xa9t\xc3\xa9", "\xc4\xb0", "\xd0\xb4\xd0\xbe\xd0\xbc", "\xe6\xbc\xa2\xe5\xad\x97", "\xe3\x80\x80", "\xc2\xbd", "\xcc\x81", "\xe0\xa4\xbf", "\xe2\x80\x94" ],
	latin1 => [ "\xe9t\xe9", "\xe4", "\xbd" ],
	euc_jp => [ "\xb4\xc1\xbb\xfa", "\xa1\xa1", "\xa4\xa2" ],
	ascii => [ "\xe9", "\xff" ]);
$others{utf8_c} = $others{utf8};

sub any { return $_[ rand @_ ]; }

# Tags, quotes and comments are likelier in some stretches of a text.
sub text
{
	my ($bytes, @of) = @_;
	my $text = '';

	while (length $text < $bytes)
	{
		my $often = any(@of, @parts);
		my $blanks = rand;

		for (1 .. 1 + rand 300)
		{
			$text .= rand() < 0.1 ? $often : rand() < 0.7 ? any(@parts[ 0 .. 18 ]) : any(@parts, @of);
			$text .= any(' ', ' ', ' ', "\n") if rand() < $blanks;
		}
	}
	return $text;
}

# Of what one piece has no end.
my $words = join ' ', map { "w$_" } 1 .. 300;
my %fixed = (
	'a comment' => "$words <!-- " . 'x y ' x 50000 . "--> $words",
	'a comment without end' => "$words <!-- " . 'x y ' x 50000 . " $words",
	'a comment of dashes' => "$words <!-" . '-' x 200000 . "> $words",
	'a picture' => "$words <img src=\"data:image/png;base64," . 'QUJD/+ab' x 20000 . "\" alt='a > b'> $words",
	'a quote without end' => "$words <img src=\"" . 'x y > ' x 50000,
	'quotes in quotes' => "$words <img src='" . '\\\' " > ' x 20000 . "' x> $words",
	'no tag' => "$words <img " . 'x y="a b" ' x 20000 . ", z> $words",
	'a script' => "$words <script> " . 'x y < z "a" ' x 20000 . "</script> $words",
	'a script without end' => "$words <SCRIPT src='a'> " . 'x y <b> ' x 50000,
	'a script that is no tag' => "$words <script , " . 'x y <b> ' x 50000 . " </script > $words",
	'a long script tag' => "$words <script " . 'x y="a b" ' x 20000 . "> a b </script> $words",
	'a long script that is no tag' => "$words <style " . 'x y="a b" ' x 20000 . ", a b </style " . 'x ' x 100000 . "> $words",
	'script and style' => join('', map { "$words <script> $_ a <b 'x\n\"y\"> </script> $words <style > $_ < </style>" } 1 .. 200),
	'a word' => "$words " . 'x' x 100000 . " $words",
	'blanks' => "$words" . ' ' x 300000 . "$words",
	'points' => "$words" . ' . ' x 100000 . "$words",
	'many comments without end' => "$words " . '<!-- ' x 50 . ' x y' x 50000,
	'many tags' => "$words " . '<b x="y z">a</b>' x 20000);

sub load
{
	my ($s, $name, $text) = @_;
	my $hex = unpack 'H*', $text;

	$s->value("INSERT INTO texts VALUES ('$name', convert_from('\\x$hex', getdatabaseencoding()))");
}

# Texts of which the two differ, and how many are marked as cut.
sub compare
{
	my ($s, $config) = @_;

	return $s->value(<<SQL);
SELECT count(*) || ' texts, ' || count(*) FILTER (WHERE v \@\@ \$\$' skipidx cut'\$\$) || ' cut, differ: '
	|| coalesce(string_agg(name, ', ') FILTER (WHERE tsvectorsend(v) <> tsvectorsend(to_tsvector('$config', content))), 'none')
FROM texts, LATERAL (SELECT skipidx_document('$config', content) AS v OFFSET 0) x;
SQL
}

for my $name (sort keys %databases)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name $databases{$name}");
	my $s = skx_session($node, $name);
	my @configs = $name eq 'utf8' ? ('english', 'several', 'phrases', 'everything') : ('several');

	$s->value(<<SQL);
SET client_encoding = 'SQL_ASCII';
CREATE EXTENSION skipidx;
CREATE TABLE texts (name text, content text);
$long;
CREATE TEXT SEARCH DICTIONARY books (TEMPLATE = ispell, DictFile = ispell_sample, AffFile = ispell_sample);
CREATE TEXT SEARCH DICTIONARY synonyms (TEMPLATE = synonym, Synonyms = synonym_sample);
CREATE TEXT SEARCH DICTIONARY compounds (TEMPLATE = ispell, DictFile = hunspell_sample_num, AffFile = hunspell_sample_num);
CREATE TEXT SEARCH DICTIONARY phrases (TEMPLATE = thesaurus, DictFile = thesaurus_sample, Dictionary = english_stem);
CREATE TEXT SEARCH CONFIGURATION several (COPY = english);
ALTER TEXT SEARCH CONFIGURATION several ALTER MAPPING FOR asciiword, word, hword, hword_part, asciihword, hword_asciipart, tag, entity
	WITH synonyms, books, compounds, english_stem;
CREATE TEXT SEARCH CONFIGURATION phrases (COPY = english);
ALTER TEXT SEARCH CONFIGURATION phrases ALTER MAPPING FOR asciiword, asciihword, hword_asciipart WITH phrases, english_stem;
CREATE TEXT SEARCH CONFIGURATION everything (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION everything ADD MAPPING FOR blank, tag, entity, protocol WITH simple;
SQL
	if ($s->value("SELECT count(*) FROM pg_available_extensions WHERE name = 'unaccent'") && $name eq 'utf8')
	{
		$s->value(<<'SQL');
CREATE EXTENSION unaccent;
CREATE TEXT SEARCH CONFIGURATION filtered (COPY = several);
ALTER TEXT SEARCH CONFIGURATION filtered ALTER MAPPING FOR asciiword, word, numword, hword, hword_part WITH unaccent, synonyms, phrases, english_stem;
SQL
		push @configs, 'filtered';
	}
	load($s, "random $_", text(70_000 + rand 200_000, @{ $others{$name} })) for 1 .. TEXTS;
	# ASCII only, so read alike in all of them, but for what C takes for letters.
	my @fixed = $name =~ /^utf8/ ? sort keys %fixed : ();

	load($s, $_, $fixed{$_}) for @fixed;
	my $texts = TEXTS + @fixed;

	like(compare($s, $_), qr/^$texts texts, 0 cut, differ: none$/, "$name, $_: as to_tsvector()") for @configs;
	$s->close;
}

#
# Texts of 16 MB, and of more
#
my $s = skx_session($node, 'utf8');

$s->value(<<"SQL");
TRUNCATE texts;
INSERT INTO texts SELECT 'few words', left(repeat(string_agg('w' || i % 3000, ' '), 100), 16 * 1048576 - 1) || 'x' FROM generate_series(1, 30000) i;
INSERT INTO texts SELECT 'more', content || ' ' || left(content, 4000000) FROM texts WHERE name = 'few words';
INSERT INTO texts SELECT 'characters', repeat(chr(28450), 6000000);
INSERT INTO texts SELECT 'all differ', left(string_agg(i::text, ' '), 16 * 1048576) FROM generate_series(1, 2400000) i;
INSERT INTO texts SELECT 'short ones', left(string_agg(chr(19968 + i / 20000 % 20000) || chr(19968 + i % 20000), ' '), 5000000) FROM generate_series(1, 1700000) i;
INSERT INTO texts SELECT 'tags', left(repeat(string_agg('<p class="x' || i || '">word' || i % 500 || '</p>', ' '), 20), 16 * 1048576) FROM generate_series(1, 30000) i;
INSERT INTO texts SELECT 'a line', repeat('QUJD/+ab', 2 * 1048576);
INSERT INTO texts SELECT 'a comment', '<!-- ' || left(content, 16 * 1048576 - 5) FROM texts WHERE name = 'few words';
SQL
is($s->value(q{SELECT tsvectorsend(skipidx_document('english', content)) = tsvectorsend(to_tsvector('english', content)) FROM texts WHERE name = 'few words'}),
	't', '16 MB are read');
is($s->value(<<'SQL'), '20777217|t|t', 'of more than 16 MB the first ones, to a blank');
SELECT length(m.content), v @@ $$' skipidx cut'$$, ts_delete(v, ' skipidx cut') = skipidx_document('simple', left(m.content, 16 * 1048576 - length(substring(left(m.content, 16 * 1048576) FROM '[^ ]*$'))))
FROM texts m, LATERAL (SELECT skipidx_document('simple', m.content) AS v OFFSET 0) x WHERE name = 'more';
SQL
is($s->value(q{SELECT length(skipidx_document('simple', content)) FROM texts WHERE name = 'characters'}), '2', 'and without a blank whole characters: the mark, and what is behind the last border');
is($s->value(q{SELECT skipidx_document('simple', content) @@ $$' skipidx cut'$$ FROM texts WHERE name = 'a line'}), 't', 'a border in a word: cut');

# What a process has at most beyond what it had before, kB.  The text is read
# into memory, too.
sub peak
{
	my ($sql) = @_;
	my $one = skx_session($node, 'utf8');
	my $status = '/proc/' . $one->backend . '/status';
	my $size = sub { return slurp_file($status) =~ /^$_[0]:\s*(\d+) kB/m ? $1 : die "no $_[0]"; };

	$one->value(q{SELECT skipidx_document('english', 'a'), to_tsvector('english', 'a')});
	my $before = $size->('VmRSS');
	$one->value($sql);
	my $peak = $size->('VmHWM') - $before;
	$one->close;
	return $peak;
}

my @names = map { s/\W*$//r } split /\n/, $s->value(q{SELECT name FROM texts WHERE octet_length(content) <= 16 * 1048576 + 100 ORDER BY name});

for my $name (@names, 'more', 'characters')
{
	my $bytes = $s->value("SELECT least(octet_length(content), 16 * 1048576) FROM texts WHERE name = '$name'");
	my $peak = peak("SELECT length(skipidx_document('english', content)) FROM texts WHERE name = '$name'");

	note sprintf '%s: %.1f MB of text, %.1f MB of memory', $name, $bytes / MB, $peak / 1024;
	cmp_ok($peak * 1024, '<', 4 * $bytes, "$name: memory of at most four times the text");
}
cmp_ok(peak(q{SELECT length(to_tsvector('english', content)) FROM texts WHERE name = 'few words'}), '>', 8 * 16 * 1024,
	'to_tsvector() takes more');

#
# A cancel, at any moment
#
my $watch = skx_session($node, 'utf8');

sub told
{
	my ($sql) = @_;
	my ($said, $ms) = $s->start_and_cancel($watch, $sql, 0.15);

	like($said, qr/ERROR:  57014/, 'told to stop') or diag substr $said, 0, 300;
	return $ms;
}

for my $name (@names)
{
	my $sql = "SELECT max(length(skipidx_document('simple', content))) FROM texts, generate_series(1, 1000) i WHERE name = '$name'";
	my @ms;
	my $control;

	for (1 .. 4)
	{
		@ms = map { told($sql) } 1 .. 7;
		$control = skx_median(map { told('DO $$BEGIN LOOP NULL; END LOOP; END$$') } 1 .. 7);
		last if skx_median(@ms) < SOON + $control;
	}
	note "$name: ", join ' ', map { sprintf '%.1f', $_ } sort { $a <=> $b } @ms;
	cmp_ok(skx_median(@ms), '<', SOON + $control, "$name: stops within 10 ms");
}

done_testing();
