# Text without spaces: characters of runs beside the Unicode data of Perl, tokens
# beside those of the default parser, rows beside LIKE, by sequential scan, GIN,
# skipidx and words beside a column; both limits of a tsvector; headlines; other
# encodings; hostile texts.
#
# Holds: bigram 1, 2, 3, 4, 5, 6, 7; highlight 1

use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;

my $node = skx_node('bigram', conf => "skipidx.max_workers = 0\nmax_parallel_workers_per_gather = 0");
my $s = skx_session($node, 'postgres');

skx_seed(393);
$s->value('CREATE EXTENSION skipidx');

sub quoted { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }

# For names of checks, which are printed as bytes.
sub codes { return join ' ', map { sprintf 'U+%04X', ord } split //, $_[0]; }

# ---- characters ----

# Letters, marks and letter-like numbers; and what bigram_runs.c has besides.
my $script = qr/[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}]/;
my $besides = qr/[\x{2E80}-\x{2FDF}\x{309B}\x{309C}\x{E0100}-\x{E01EF}]|(?=\p{Thai})\p{Nd}/;

my $run = qr/(?:(?=$script)[\p{L}\p{M}\p{Nl}]|$besides)/;

my @codes = (1 .. 0xD7FF, 0xE000 .. 0xFFFF, 0x16F00 .. 0x16FFF, 0x1AFF0 .. 0x1B2FF, 0x1F200 .. 0x1F2FF,
	map({ ($_ - 3 .. $_ + 3) } 0x20000, 0x2A6DF, 0x2B740, 0x2CEB0, 0x2F800, 0x2FA1D, 0x30000, 0x3134A), 0xE00F0 .. 0xE01FF);
my %found = map { $_ => 1 } split ' ', $s->value('SELECT string_agg(c::text, $$ $$) FROM unnest($${' . join(',', @codes) . '}$$::int[]) c'
	  . q{ WHERE (SELECT tokid FROM ts_parse('skipidx_bigram', chr(c)) LIMIT 1) = 24});
# Later versions of Unicode have some marks of Latin letters beside Thai, too.
my @differ = map { sprintf '%X', $_ } grep { chr($_) !~ /\p{Cn}/ && (!$found{$_}) != ($_ < 0x370 || chr($_) !~ /^$run$/) } @codes;

cmp_ok(scalar(keys %found), '>', 40000, 'characters of runs');
is("@differ", '', 'those that Unicode says, of assigned ones');

# ---- tokens ----

my %letters = (
	han => [ split //, '漢字東京都電車大会社𠮟葛々' ],
	kana => [ split(//, 'かなカナーん'), "か\x{3099}", 'ﾊ', 'ﾟ' ],
	hangul => [ split(//, '서울시청한국'), "\x{1100}\x{1161}" ],
	thai => [ split(//, 'กขคงจ'), "ก\x{0E34}", "\x{0E48}", '๒' ],
	mixed => [ split //, '東ひカ한ก' ]);
my @between = (' ', '  ', '。', '、', '・', '「', "\n", ', ', '-', '.', '/', '@', '&', '<', '>', "\x{301}", "\x{200B}", "\x{FE0F}", '🙂', "'",
	'The Cats', 'running', '３', '12', '3.14', 'http://example.com/a?b=c', 'a@b.org', 'well-known', '<b>', '&amp;', 'ü', 'ＡＢ', '/usr/lib', "x' y\"");

sub any { return $_[ rand @_ ]; }

sub run_of { my ($n, @of) = @_; return join '', map { any(@of) } 1 .. $n; }

sub draw_text
{
	my $of = $letters{ any(sort keys %letters) };
	my $text = '';

	$text .= rand() < 0.6 ? run_of(1 + rand(rand() < 0.5 ? 2 : 6), @$of) : any(@between) for 1 .. 1 + rand 14;
	return $text;
}

# Types and tokens of a run; of what is between runs the default parser tells.
sub pieces_of
{
	my ($text) = @_;
	my @pieces;

	while ($text =~ /\G(?:($run+)|((?:(?!$run).)+))/gs)
	{
		my ($in, $out) = ($1, $2);
		my @c = defined $in ? split //, $in : ();

		push @pieces, [ 'NULL', $out ] if !@c;
		push @pieces, [ 24, $c[0] ], [ 26, '' ] if @c == 1;
		push @pieces, (map { [ 25, $c[ $_ - 1 ] . $c[$_] ] } 1 .. $#c), [ 26, $c[-1] ] if @c > 1;
	}
	return @pieces;
}

my @texts = map { draw_text() } 1 .. 400;

$s->value('CREATE TABLE texts (id int, body text)');
$s->value('CREATE TABLE pieces (id int, no int, type int, token text)');
$s->value('INSERT INTO texts VALUES ' . join ', ', map { "($_, " . quoted($texts[$_]) . ')' } 0 .. $#texts);
for my $id (0 .. $#texts)
{
	my @pieces = pieces_of($texts[$id]);

	$s->value('INSERT INTO pieces VALUES ' . join ', ', map { "($id, $_, $pieces[$_][0], " . quoted($pieces[$_][1]) . ')' } 0 .. $#pieces);
}
is($s->value(<<'SQL'), '400 texts, differ: none', 'tokens of runs, and those of the default parser between them');
SELECT count(*) || ' texts, differ: ' || coalesce(string_agg(t.id::text, ' ') FILTER (WHERE got IS DISTINCT FROM wanted), 'none')
FROM texts t, LATERAL (SELECT array_agg(p ORDER BY ordinality) AS got FROM ts_parse('skipidx_bigram', body) WITH ORDINALITY p(tokid, token, ordinality),
		LATERAL (SELECT tokid || ' ' || token AS p) x) g,
	LATERAL (SELECT array_agg(coalesce(type || ' ' || p.token, d.tokid || ' ' || d.token) ORDER BY no, d.ordinality) AS wanted
		FROM pieces p LEFT JOIN LATERAL ts_parse('default', p.token) WITH ORDINALITY d(tokid, token, ordinality) ON p.type IS NULL WHERE p.id = t.id) w;
SQL

# ---- rows ----

$s->value(<<'SQL');
CREATE TEXT SEARCH CONFIGURATION english_bigram (COPY = skipidx_bigram);
ALTER TEXT SEARCH CONFIGURATION english_bigram ALTER MAPPING FOR asciiword, asciihword, hword_asciipart, word, hword, hword_part WITH english_stem;
CREATE TABLE words (word text);
-- By configuration of documents: that of queries, and a tsvector as the index has it.
CREATE TABLE documents (name text, config regconfig, document text);
INSERT INTO documents VALUES ('bigram', 'skipidx_bigram', 'to_tsvector($$skipidx_bigram$$, body)'),
	('english', 'english_bigram', 'to_tsvector($$english_bigram$$, body)'),
	('ends', 'skipidx_bigram', 'to_tsvector($$skipidx_bigram_document$$, body)'),
	('cut', 'english_bigram', 'skipidx_document($$english_bigram$$, body)');
-- Of each word, way and kind of query that finds other rows than LIKE does.
CREATE FUNCTION differing(of text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	d documents;
	w text;
	way text;
	maker text;
	got int[];
	wanted int[];
BEGIN
	SELECT * INTO d FROM documents WHERE name = of;
	FOREACH way IN ARRAY '{seq,gin,skipidx}'::text[] LOOP
		PERFORM set_config('enable_seqscan', (way = 'seq')::text, true), set_config('enable_indexscan', (way = 'skipidx')::text, true),
			set_config('enable_bitmapscan', (way <> 'seq')::text, true);
		FOR w IN SELECT word FROM words LOOP
			EXECUTE 'SELECT array_agg(id ORDER BY id) FROM texts WHERE body LIKE $1' INTO wanted USING '%' || w || '%';
			FOREACH maker IN ARRAY '{to_tsquery,phraseto_tsquery,websearch_to_tsquery,plainto_tsquery}'::text[] LOOP
				EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s @@ %L', CASE way WHEN 'gin' THEN 'texts_gin' ELSE 'texts' END,
					d.document, CASE maker WHEN 'to_tsquery' THEN to_tsquery(d.config, quote_literal(w)) WHEN 'phraseto_tsquery' THEN phraseto_tsquery(d.config, w)
					WHEN 'plainto_tsquery' THEN plainto_tsquery(d.config, w) ELSE websearch_to_tsquery(d.config, w) END) INTO got;
				IF (CASE maker WHEN 'plainto_tsquery' THEN NOT coalesce(got, '{}') @> coalesce(wanted, '{}') ELSE got IS DISTINCT FROM wanted END) THEN
					RETURN NEXT format('%s %s %s: %s, not %s', way, maker, w, got, wanted);
				END IF;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
CREATE FUNCTION planned(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		CONTINUE WHEN line !~ 'Index';
		RETURN substring(line FROM 'texts_\w+');
	END LOOP;
	RETURN 'none';
END $$;
SQL

# Words of two characters and more: of a run of a text, or drawn.
my %words;

while (keys %words < 40)
{
	my @runs = any(@texts) =~ /($run$run+)/g;
	my $word = @runs && rand() < 0.8 ? any(@runs) : run_of(2 + rand 3, @{ $letters{ any(sort keys %letters) } });
	my $n = 2 + int rand 4;
	my $from = int rand(length($word) > $n ? length($word) - $n + 1 : 1);

	$words{ substr $word, $from, $n } = 1;
}
my @words = sort keys %words;

$s->value('INSERT INTO words VALUES ' . join ', ', map { '(' . quoted($_) . ')' } @words);

# Bigrams of a word, the last ones in another run.
my $id = 500;

for my $word (grep { length > 2 } @words)
{
	for my $from (1 .. length($word) - 2)
	{
		my $text = substr($word, 0, $from + 1) . any(grep { !/$run/ } @between) . substr $word, $from;

		$s->value("INSERT INTO texts VALUES (@{[$id++]}, " . quoted($text) . ')');
	}
}
cmp_ok($id, '>', 520, 'texts of neighbouring runs');
$s->value('CREATE TABLE texts_gin AS TABLE texts');
$s->value('ALTER TABLE texts SET (autovacuum_enabled = off)');
for (split /\n/, $s->value('SELECT name || $$|$$ || document FROM documents'))
{
	my ($name, $document) = split /\|/;

	$s->value("CREATE INDEX texts_gin_$name ON texts_gin USING gin (($document)); CREATE INDEX texts_skx_$name ON texts USING skipidx (($document))");
}
# half of the rows come after the build: these are pending, and flushed then
for my $state ('built', 'pending', 'flushed')
{
	if ($state eq 'pending')
	{
		$s->value('UPDATE texts SET id = id WHERE id % 2 = 0');
		$s->value("INSERT INTO $_ SELECT id + 1000, body || body FROM texts WHERE id % 5 = 0 AND id < 1000") for 'texts', 'texts_gin';
	}
	$s->value("SELECT skipidx_flush(c) FROM unnest('{texts_skx_bigram,texts_skx_english,texts_skx_ends,texts_skx_cut}'::regclass[]) c") if $state eq 'flushed';
	for my $name (qw(bigram english ends cut))
	{
		is($s->value("SELECT string_agg(x, E'\\n') FROM (SELECT * FROM differing('$name') x LIMIT 5) x"), '', "$state, $name: rows of @{[scalar @words]} words, as LIKE finds them");
	}
}
$s->value('SET enable_seqscan = off');
is($s->value("SELECT planned('SELECT id FROM texts WHERE to_tsvector(\$\$skipidx_bigram\$\$, body) @@ \$\$''ab''\$\$')"), 'texts_skx_bigram', 'by skipidx');
is($s->value("SELECT planned('SELECT id FROM texts_gin WHERE to_tsvector(\$\$skipidx_bigram\$\$, body) @@ \$\$''ab''\$\$')"), 'texts_gin_bigram', 'and by GIN');

# One character: at the beginning of a bigram or alone, and anywhere.
my %finds = (
	skipidx_bigram => "EXISTS (SELECT FROM ts_parse('skipidx_bigram', body) WHERE tokid IN (24, 25) AND token LIKE 'CHARACTER%')",
	skipidx_bigram_document => "body LIKE '%CHARACTER%'");

for my $config (sort keys %finds)
{
	my $rows = 0;
	my @wrong;

	for my $c (map { substr $_, 0, 1 } @words)
	{
		for my $table ('texts', 'texts_gin')
		{
			my ($got, $wanted) = map { $s->value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM $table WHERE $_") }
			  "to_tsvector('$config', body) @@ to_tsquery('skipidx_bigram', '$c:*')", $finds{$config} =~ s/CHARACTER/$c/r;

			$rows += split ' ', $got;
			push @wrong, "$c in $table: $got, not $wanted" if $got ne $wanted;
		}
	}
	is(join("\n", @wrong), '', "one character, by $config");
	cmp_ok($rows, '>', 1000, 'which is in many rows');
}

# Words beside the column, and its passages, by the configuration of the index.
$s->value('CREATE TABLE beside AS TABLE texts; CREATE INDEX ON beside USING skipidx (to_tsvector($$english_bigram$$, body))');
for my $word (@words[ 0 .. 9 ])
{
	is($s->value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM beside WHERE body @@@ '$word'"),
		$s->value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM beside WHERE body LIKE '%$word%'"), "words beside the column: " . codes($word));
	is($s->value("SELECT string_agg(id::text, ' ' ORDER BY d, id) FROM (SELECT id, body <@> '$word' AS d FROM beside WHERE body @@@ '$word' ORDER BY d, id LIMIT 20) x"),
		$s->value("SELECT string_agg(id::text, ' ' ORDER BY d, id) FROM (SELECT id, to_tsvector('english_bigram', body) <@> skipidx_any('english_bigram', '$word') AS d FROM beside WHERE body LIKE '%$word%' ORDER BY d, id LIMIT 20) x"),
		"the best ones: " . codes($word));
}

# ---- both limits of a tsvector ----

# No bigram twice: the second characters of those with the same first ascend.
my @han = map { chr 0x4E00 + $_ } 0 .. 199;
my $long = join '', map { my $i = $_; map { $han[$i] . $han[$_] } $i + 1 .. $#han } 0 .. $#han;

$s->value("CREATE TABLE limits_$_ (id int, body text); CREATE INDEX ON limits_$_ USING $_ (to_tsvector('skipidx_bigram', body))") for 'gin', 'skipidx';

# How many rows with this text are found by this word: by GIN, by skipidx, and by
# neither.
sub found
{
	my ($text, $word) = @_;
	my @found;

	for my $way ('gin', 'skipidx', 'none')
	{
		my $table = $way eq 'none' ? 'limits_gin' : "limits_$way";
		my $is_index = $way eq 'none' ? 'off' : 'on';

		$s->value("SET enable_indexscan = $is_index; SET enable_bitmapscan = $is_index; TRUNCATE $table; INSERT INTO $table VALUES (1, '$text')");
		push @found, $s->value("SELECT count(*) FROM $table WHERE to_tsvector('skipidx_bigram', body) @@ to_tsquery('skipidx_bigram', '$word')");
	}
	return "@found";
}

for my $n (16383, 16384)
{
	my $text = substr $long, 0, $n + 1;
	my $last = substr $text, -3;

	is(length $text, $n + 1, "a text of $n bigrams");
	is(() = $text =~ /\Q$last\E/g, 1, 'has its end once');
	is(found($text, $last), $n == 16383 ? '1 1 1' : '0 0 0', $n == 16383 ? 'which is found' : 'which has no position of its own');
	is(found($text, substr $text, 10000, 5), '1 1 1', 'others are found');
}
for my $n (255, 256)
{
	is(found('哈' x ($n + 1) . '笑', '哈哈笑'), $n == 255 ? '1 1 1' : '0 0 0', "the end of $n equal bigrams");
}
$s->value('RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan');

# ---- headlines ----

# The text with what its bigrams in the word cover marked.
sub marked
{
	my ($text, $word) = @_;
	my %of = map { substr($word, $_, 2) => 1 } 0 .. length($word) - 2;
	my %in;

	for (0 .. length($text) - 2)
	{
		@in{ $_, $_ + 1 } = (1, 1) if $of{ substr $text, $_, 2 };
	}
	return join('', map { ($in{$_} ? '[' : '') . substr($text, $_, 1) . ($in{$_} ? ']' : '') } 0 .. length($text) - 1) =~ s/\]\[//gr;
}

my %heads = (
	ts_headline => "ts_headline('CONFIG', body, q, 'HighlightAll=true, StartSel=[, StopSel=]')",
	skipidx_highlight => "skipidx_highlight('CONFIG', body, q, '[', ']', 0)");
my $fragments = q{ts_headline('CONFIG', body, q, 'StartSel="", StopSel="", FragmentDelimiter=|, MaxWords=6, MinWords=2, MaxFragments=3')};

for my $config ('skipidx_bigram', 'skipidx_bigram_document')
{
	for my $head (sort keys %heads)
	{
		my @wrong;

		for my $i (0 .. 99)
		{
			my $text = $texts[$i] =~ s/[\[\]|\n]//gr;
			my @of = $text =~ /(?=($run{2,4}))/g;
			my $word = any(@of > 0 ? @of : @words);
			my $got = $s->value('SELECT ' . ($heads{$head} =~ s/CONFIG/$config/r) . ' FROM (SELECT ' . quoted($text) . "::text AS body, to_tsquery('skipidx_bigram', '$word') AS q) x");

			push @wrong, "$got for $word" if $got =~ s/\]\[//gr ne marked($text, $word);
			$got = $s->value('SELECT ' . ($fragments =~ s/CONFIG/$config/r) . ' FROM (SELECT ' . quoted($text =~ s/[<&]//gr) . "::text AS body, to_tsquery('skipidx_bigram', '$word') AS q) x");
			push @wrong, "$got of $text" if grep { index($text =~ s/[<&]//gr, $_) < 0 } split /\|/, $got;
		}
		is(join("\n", @wrong), '', "$head by $config: each character once, and marks");
	}
}
is($s->value(q{SELECT ts_headline('skipidx_bigram_document', '東京都は', to_tsquery('skipidx_bigram', 'は:*'))}), '東京都<b>は</b>', 'the end of a run alone');
is($s->value(q{SELECT skipidx_passages(body, '東京都', max_words => 0) FROM beside WHERE body = '' UNION ALL SELECT skipidx_highlight('skipidx_bigram', 'an 東京都庁.', websearch_to_tsquery('skipidx_bigram', '東京都'))}), 'an <b>東京都</b>庁.', 'bigrams that overlap are marked as one');

# ---- other encodings ----

$node->safe_psql('postgres', "CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
my $latin1 = skx_session($node, 'latin1');

$latin1->value('CREATE EXTENSION skipidx; ');
like($latin1->raw("\\set VERBOSITY verbose\nSELECT to_tsvector('skipidx_bigram', 'a')"), qr/0A000: .*does not support encoding "LATIN1"/, 'refused in LATIN1');
is($latin1->value("SELECT to_tsvector('simple', 'a')"), "'a':1", 'where all else goes on');

# ---- hostile texts ----

sub status { return (slurp_file('/proc/' . $_[0]->backend . '/status') =~ /^$_[1]:\s+(\d+) kB/m)[0] / 1024; }

# Tokens that no dictionary has are read by the parser, and left out.
$s->value('CREATE TEXT SEARCH CONFIGURATION nothing (PARSER = skipidx_bigram)');
for my $unit ('漢', '漢a', "\x{3099}", "ก\x{0E34} ", '漢、', 'a漢,', "\x{E0100}", 'カ<b>')
{
	my $own = skx_session($node, 'postgres');
	my @took;
	my $text = sub { return "repeat('$unit', $_[0])" };

	$own->value("SELECT skipidx_document('nothing', " . $text->(10) . ')');
	for my $n (50000, 200000)
	{
		my $from = $own->busy;

		is($own->value("SELECT skipidx_document('nothing', " . $text->($n) . ')'), '', "$n times " . codes($unit)) for 1 .. 2;
		push @took, $own->busy - $from;
	}
	cmp_ok($took[1], '<', 8 * $took[0] + 20, 'four times the text, four times the time') or note "@took";
	$own->close;
}

my $own = skx_session($node, 'postgres');

$own->value("SELECT skipidx_document('nothing', repeat('漢', 10))");
my $before = status($own, 'VmRSS');
is($own->value("SELECT skipidx_document('nothing', repeat('漢', 5592405))"), '', '16 MB of Han');
cmp_ok(status($own, 'VmHWM') - $before, '<', 64, 'memory of a few times the text');
is($own->value("SELECT length(skipidx_document('skipidx_bigram', repeat('漢', 2000000)))"), 1, 'one bigram of millions');
$own->value("CREATE TABLE long (body text); ALTER TABLE long ALTER body SET STORAGE external; INSERT INTO long SELECT repeat('漢', 10000000)");
my @busy = ($own->busy);

is($own->value("SELECT to_tsvector('nothing', body) FROM long"), '', 'a parser that goes on to the end');
push @busy, $own->busy;
like($own->raw("SET statement_timeout = 50; SELECT to_tsvector('nothing', body) FROM long"), qr/canceling statement due to statement timeout/, 'one that is cancelled');
cmp_ok($own->busy - $busy[1], '<', ($busy[1] - $busy[0]) / 2, 'in less than half of that time');

done_testing();
