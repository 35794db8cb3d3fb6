# Words that are meant: skipidx_suggest() beside distances computed here, of
# every term that skipidx_terms() has, in encodings of one and of several bytes,
# of segments, pending rows and partitions; misspelt words of a large dictionary;
# what it leaves out, what it refuses, and what bounds its work.  Queries that
# skipidx_expand_query() makes, beside the same written with these words.
#
# Holds: lexicon 1, 2, 3, 5; functions 22, 23

use strict;
use warnings;
use utf8;
use Encode qw(encode);
use FindBin;
use lib "$FindBin::RealBin/lib";
use List::Util qw(min);
use Unicode::Normalize qw(NFD);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Time::HiRes qw(time);
use Test::More;

my $node = skx_node('suggest', conf => 'skipidx.max_workers = 0');

skx_seed(391);

# The number of characters that are inserted, left out, replaced or exchanged
# with their neighbour, as `edit/` says; more than `most` is more.
sub distance
{
	my ($word, $other, $most) = @_;
	my @w = split //, $word;
	my @o = split //, $other;
	my @rows = ([ 0 .. @w ]);

	return $most + 1 if abs(@w - @o) > $most;
	for my $i (1 .. @o)
	{
		my @row = ($i);

		for my $j (1 .. @w)
		{
			my $least = min($rows[ $i - 1 ][$j] + 1, $row[ $j - 1 ] + 1,
				$rows[ $i - 1 ][ $j - 1 ] + ($w[ $j - 1 ] ne $o[ $i - 1 ]));

			$least = min($least, $rows[ $i - 2 ][ $j - 2 ] + 1)
			  if $i > 1 && $j > 1 && $w[ $j - 2 ] eq $o[ $i - 1 ]
			  && $w[ $j - 1 ] eq $o[ $i - 2 ];
			push @row, $least;
		}
		push @rows, \@row;
	}
	return $rows[@o][@w];
}

# Edits of the rule, and whether the first character is kept.
sub rule
{
	my ($word, $typos) = @_;

	return ($typos, 0) if $typos ne 'auto';
	return length($word) >= 9 ? (2, 1) : length($word) >= 5 ? (1, 0) : (0, 0);
}

# Without the marks that combine with letters.
sub plain
{
	return NFD($_[0]) =~ s/\p{Mn}//gr;
}

# What skipidx_suggest() has to return; terms are [term, df].
sub wanted
{
	my ($terms, $word, $most, $typos, $folds) = @_;
	my $meant = $folds ? plain($word) : $word;
	my ($edits, $keeps) = rule($meant, $typos);
	my @found;

	for my $one (@$terms)
	{
		my $term = $folds ? plain($one->[0]) : $one->[0];

		next if $keeps && substr($term, 0, 1) ne substr($meant, 0, 1);
		my $distance = distance($meant, $term, $edits);

		push @found, [ @$one, $distance, $one->[0] ne $word ] if $distance <= $edits;
	}
	@found = sort {
		$a->[3] <=> $b->[3] || $a->[2] <=> $b->[2] || $b->[1] <=> $a->[1] || encode('UTF-8', $a->[0]) cmp encode('UTF-8', $b->[0])
	} @found;
	splice @found, $most if @found > $most;
	return join "\n", map { "$_->[0]|$_->[2]|$_->[1]" } @found;
}

my @letters = ('a', 'b', 'e', 'é', 'ê', 'ü', 'ß');

sub draw_word
{
	return join '', map { $letters[ rand @letters ] } 1 .. 1 + int rand 11;
}

# The word with some edits.
sub misspell
{
	my ($word, $edits) = @_;

	for (1 .. $edits)
	{
		my $at = int rand length $word;
		my $kind = int rand 4;
		my $letter = $letters[ rand @letters ];

		if ($kind == 0) { substr($word, $at, 0) = $letter; }
		elsif ($kind == 1 && length($word) > 1) { substr($word, $at, 1) = ''; }
		elsif ($kind == 2) { substr($word, $at, 1) = $letter; }
		else { $word =~ s/^(.{$at})(.)(.)/$1$3$2/; }
	}
	return $word;
}

sub quoted
{
	my ($text) = @_;

	return "'" . ($text =~ s/'/''/gr) . "'";
}

# All terms, by their bytes in the database's encoding.
sub terms_of
{
	my ($s, $index) = @_;

	return [ map { [ split /\|/ ] } split /\n/,
		$s->value("SELECT term, df FROM skipidx_terms('$index', '', 100000)") ];
}

sub compare
{
	my ($s, $index, $state, $n, $folds) = @_;
	my $terms = terms_of($s, $index);
	my @wrong;

	for (1 .. $n)
	{
		my $word = misspell(rand() < .8 ? $terms->[ rand @$terms ][0] : draw_word(), int rand 3);
		my $typos = ('auto', 'auto', 0 .. 2)[ rand 5 ];
		my $most = (3, 1000)[ rand 2 ];
		my $accents = int rand 2;
		my $call = 'SELECT * FROM skipidx_suggest(' . quoted($index) . ', ' . quoted($word) . ", $most, '$typos', $accents\::bool)";
		my $found = $s->value($call);

		my $wanted = wanted($terms, $word, $most, $typos, $folds && $accents);

		push @wrong, encode('UTF-8', "$word, $typos, $most, $accents:\n$found\nwanted:\n$wanted\n") if $found ne $wanted;
		# the session has kept it
		push @wrong, encode('UTF-8', "again: $word, $typos, $most, $accents") if $s->value($call) ne $found;
	}
	is(join("\n", @wrong), '', "$state: as computed here");
	return;
}

# ---- every state, in every encoding ----

my @words;

# Characters of several bytes, in the order of their codes or not; of SQL_ASCII, a
# character is a byte.
my %letters = (
	UTF8 => [ @letters, "\x{301}", 'е', 'ё', 'ά' ],
	LATIN1 => [@letters],
	EUC_JP => [ 'a', 'b', 'か', 'き', 'ア', 'イ' ],
	SQL_ASCII => [ 'a' .. 'g' ]);

for my $encoding (qw(UTF8 LATIN1 EUC_JP SQL_ASCII))
{
	my $db = lc $encoding;

	@letters = @{ $letters{$encoding} };
	@words = map { draw_word() } 1 .. 1500;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	my $s = skx_session($node, $db);

	my $source = join ',', map { '(' . quoted($_) . ')' } @words;

	$s->value("SET client_encoding = 'UTF8'") if $encoding ne 'SQL_ASCII';
	$s->value(<<"SQL");
CREATE EXTENSION skipidx;
CREATE TABLE source AS SELECT row_number() OVER () AS n, w FROM (VALUES $source) v (w);
CREATE TABLE docs (id int, kind int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE parts (LIKE docs) PARTITION BY LIST (kind);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1, 2);
INSERT INTO docs SELECT n, n % 3, array_to_tsvector(array_agg(w)) FROM (
	SELECT i AS n, w FROM generate_series(1, 500) i, LATERAL (SELECT w FROM source WHERE (n * 31 + i * i) % 97 = i % 97) s) d GROUP BY n;
CREATE INDEX docs_v ON docs USING skipidx (v, id, kind) WHERE id % 2 > 0;
CREATE INDEX parts_v ON parts USING skipidx (v);
INSERT INTO parts SELECT * FROM docs;
INSERT INTO docs SELECT id + 10000, kind, v || array_to_tsvector(ARRAY['abacad', 'abc' || id]) FROM docs WHERE id < 100;
SQL
	compare($s, 'docs_v', "$encoding, pending rows and a segment", 60, $encoding eq 'UTF8');
	$s->value("SELECT skipidx_flush('docs_v')");
	compare($s, 'docs_v', "$encoding, two segments", 60, $encoding eq 'UTF8');
	compare($s, 'parts_v', "$encoding, partitions", 40, $encoding eq 'UTF8');
	$s->close;
}

# ---- a large dictionary ----

my $s = skx_session($node, 'utf8');

@letters = ('a' .. 'z');
$s->value(<<'SQL');
CREATE TABLE words AS SELECT i AS id, translate(md5(i::text), '0123456789', 'ghijklmnop') AS w FROM generate_series(1, 60000) i;
UPDATE words SET w = left(w, 4 + id % 9);
CREATE TABLE many AS SELECT id, array_to_tsvector(ARRAY[w, 'the']) AS v FROM words;
CREATE INDEX many_v ON many USING skipidx (v);
SQL
my @known = split /\n/, $s->value('SELECT w FROM words WHERE length(w) >= 5 ORDER BY hashint4(id) LIMIT 150');
my ($lost, $late) = (0, 0);

for my $word (@known)
{
	my $typed = misspell($word, 1);
	my $found = $s->value("SELECT coalesce(min(place), 0) FROM (SELECT term, row_number() OVER () AS place FROM skipidx_suggest('many_v', '$typed', NULL, '1')) s WHERE term = '$word'");

	$lost++ if $found == 0;
	$late++ if $found > 16;
}
is($lost, 0, 'each of 150 words is found with one edit');
cmp_ok($late, '<=', 1, 'and mostly among the first 16');

# ---- what is left out, and what is refused ----

sub is_query
{
	my ($sql, $expected, $name) = @_;

	return is($s->value("SELECT string_agg(concat_ws(' ', term, distance, df), ', ') FROM skipidx_suggest($sql)"), $expected, $name);
}

$s->value(<<'SQL');
CREATE TABLE few (id int, body text);
INSERT INTO few SELECT i, 'search research searches' FROM generate_series(1, 3) i;
INSERT INTO few VALUES (4, repeat('long ', 10)), (5, NULL);
CREATE INDEX few_v ON few USING skipidx (skipidx_document('simple', body), id);
INSERT INTO few SELECT 6, string_agg(md5(i::text), ' ') FROM generate_series(1, 60000) i;
SQL
is($s->value("SELECT cut_docs FROM skipidx_stats('few_v')"), 1, 'a document is cut');
is_query(q{'few_v', 'serach'}, 'search 1 3', 'letters in another order are one edit');
is_query(q{'few_v', 'skipidx cut', 10, '2'}, '', 'the mark of cut documents is not suggested');
is_query(q{'few_v', 'sear', 10}, '', 'short words have no typos by themselves');
is_query(q{'few_v', 'sear', 10, '2'}, 'search 2 3', 'but as many as are asked for');
is_query(q{'few_v', 'search', 0}, '', 'no rows');
is_query(q{'few_v', NULL}, '', 'no word');
is_query(q{NULL, 'search'}, '', 'no index');
is_query(q{'few_v', '', 10, '0'}, '', 'an empty word');
is_query(q{'few_v', repeat('x', 3000), 10, '2'}, '', 'a word that is too long for an index');
is_query(q{'few_v', repeat('x', 2046), 10, '2'}, '', 'a word as long as can be');
like($s->raw("SELECT * FROM skipidx_suggest('few_v', 'x', -1)"), qr/22023: max_rows must not be negative/, 'a negative number of rows');
for my $typos ('', '3', '-1', 'none', '11', 'AUTO')
{
	like($s->raw("SELECT * FROM skipidx_suggest('few_v', 'x', 1, '$typos')"), qr/22023: invalid value for typos: "$typos"\nHINT/, "typos '$typos'");
}
like($s->raw("SELECT * FROM skipidx_suggest('few_v', 'x', 1, NULL)"), qr/22004: typos must not be NULL/, 'typos NULL');
like($s->raw("SELECT * FROM skipidx_suggest('few', 'x')"), qr/42809/, 'a table');
$s->value(<<'SQL');
CREATE ROLE reader;
CREATE ROLE nobody;
GRANT SELECT (id, body) ON few TO reader;
SQL
$s->value('SET ROLE reader');
is_query(q{'few_v', 'search'}, 'search 0 3', 'who may read the columns');
$s->value('SET ROLE nobody');
like($s->raw("SELECT * FROM skipidx_suggest('few_v', 'search')"), qr/42501/, 'who may not');
$s->value('RESET ROLE');

# ---- what is kept ----

# What a session keeps is of the index as it is: rows of this session and of
# others, deletes, flushes and merges, an index that is built anew.
my $other = skx_session($node, 'utf8');

$s->value(<<'SQL');
CREATE TABLE kept (id int, kind int, v tsvector) PARTITION BY LIST (kind);
CREATE TABLE kept_0 PARTITION OF kept FOR VALUES IN (0);
CREATE TABLE kept_1 PARTITION OF kept FOR VALUES IN (1);
ALTER TABLE kept_0 SET (autovacuum_enabled = off);
ALTER TABLE kept_1 SET (autovacuum_enabled = off);
INSERT INTO kept SELECT i, i % 2, 'search'::tsvector FROM generate_series(1, 10) i;
CREATE INDEX kept_v ON kept USING skipidx (v);
SQL
is_query(q{'kept_v', 'serach'}, 'search 1 10', 'kept') for 1, 2;
is_query(q{'kept_0_v_idx', 'serach'}, 'search 1 5', 'of one partition');
is_query(q{'kept_v', 'serach', 0}, '', 'of other arguments: rows');
is_query(q{'kept_v', 'serach', 10, '0'}, '', 'typos');
is_query(q{'kept_v', 'sèrach', 10}, 'search 1 10', 'accents');
is_query(q{'kept_v', 'sèrach', 10, '1', false}, '', 'or not');
$other->value("INSERT INTO kept VALUES (11, 1, 'serach')");
is_query(q{'kept_v', 'serach'}, 'serach 0 1, search 1 10', 'a row of another session') for 1, 2;
$s->value("BEGIN; INSERT INTO kept VALUES (12, 0, 'zerach')");
is_query(q{'kept_v', 'serach'}, 'serach 0 1, search 1 10, zerach 1 1', 'a row of this transaction') for 1, 2;
$s->value('ROLLBACK');
$other->value("SELECT skipidx_flush('kept_0_v_idx'), skipidx_flush('kept_1_v_idx')");
# which counts until it is merged, as one that is deleted does
is_query(q{'kept_v', 'serach'}, 'serach 0 1, search 1 10, zerach 1 1', 'a flush') for 1, 2;
$other->value("DELETE FROM kept WHERE id > 4; VACUUM kept; SELECT skipidx_merge('kept_0_v_idx'), skipidx_merge('kept_1_v_idx')");
is_query(q{'kept_v', 'serach'}, 'search 1 4', 'deleted rows, merged') for 1, 2;
$other->value("DELETE FROM kept WHERE id > 2; VACUUM kept; REINDEX INDEX kept_v");
is_query(q{'kept_v', 'serach'}, 'search 1 2', 'an index built anew') for 1, 2;
$other->value("CREATE TABLE kept_2 PARTITION OF kept FOR VALUES IN (2); INSERT INTO kept VALUES (20, 2, 'search')");
is_query(q{'kept_v', 'serach'}, 'search 1 3', 'a new partition') for 1, 2;
$other->close;

# More words than are kept, and than fit
is($s->value(q{SELECT count(*) FROM generate_series(1, 300) i, LATERAL skipidx_suggest('many_v', 'word' || i % 150, 200, '2') s}), $s->value(
	q{SELECT sum(n) FROM (SELECT (SELECT count(*) FROM skipidx_suggest('many_v', 'word' || i, 200, '2')) * 2 AS n FROM generate_series(0, 149) i) s}),
	'of many words');
cmp_ok($s->value(q{SELECT coalesce(sum(total_bytes), 0) FROM pg_backend_memory_contexts WHERE name = 'skipidx near words'}), '<', 2 * 1024 * 1024, 'a bounded part is kept');

# ---- accents ----

$s->value(<<'SQL');
CREATE TABLE accents AS SELECT array_to_tsvector(ARRAY[w]) AS v FROM (VALUES ('cafe'), ('café'), (U&'cafe\0301'), (U&'ca\0308fe'), ('caf'),
	('еще'), ('ещё'), ('ırmak'), ('irmak'), ('άλφα'), ('αλφα'), ('øre'), ('ore'), ('ﬁn'), ('fin'), ('한글')) s (w);
CREATE INDEX accents_v ON accents USING skipidx (v);
SQL

sub is_near
{
	my ($arguments, $terms, $name) = @_;

	is($s->value("SELECT string_agg(term, ' ') FROM skipidx_suggest('accents_v', $arguments)"), $terms, $name);
	return;
}
is_near("'cafe'", "cafe cafe\x{301} café ca\x{308}fe", 'letters with marks and without are one, the word itself first');
is_near("'café'", "café cafe cafe\x{301} ca\x{308}fe", 'and so are composed letters and those with a mark behind them');
is_near("'café', 10, '0', false", 'café', 'or not');
is_near("'ещё'", 'ещё еще', 'Cyrillic');
is_near("'αλφα'", 'αλφα άλφα', 'Greek');
is_near("'irmak', 10, '0'", 'irmak', 'the i without a dot is a letter of its own');
is_near("'ore'", 'ore', 'and so is an o with a stroke');
is_near("'fin'", 'fin', 'a ligature is no letter with a mark');
is_near("'한글'", '한글', 'Korean syllables are compared as they are');

# ---- queries ----

# The word or one of those that skipidx_suggest() has for it.
sub widened
{
	my ($word, $most, $typos) = @_;
	my @terms = grep { $_ ne $word } split /\n/, $s->value('SELECT term FROM skipidx_suggest(' . quoted('words_v') . ', ' . quoted($word) . ", $most, '$typos')");

	unshift @terms, $word;
	splice @terms, $most if @terms > $most;
	return '(' . join(' | ', map { quoted($_) } @terms) . ')';
}

$s->value(<<'SQL');
CREATE TABLE worded AS SELECT i AS id, array_to_tsvector(ARRAY(SELECT w FROM words
	WHERE id % 997 = i % 97 OR hashint4(i + id) % 700 = 0)) AS v FROM generate_series(1, 300) i;
CREATE INDEX words_v ON worded USING skipidx (v);
SQL
my @in = split /\n/, $s->value("SELECT term FROM skipidx_terms('words_v', '', 3000)");
my @wrong;
my $rows = 0;

for my $turn (1 .. 60)
{
	my $typos = ('auto', 0 .. 2)[ rand 4 ];
	my $most = (1, 4, 1000)[ rand 3 ];
	my (@query, @expected);

	for (0 .. rand 4)
	{
		my $word = misspell($in[ rand @in ], int rand 2);
		my $other = $in[ rand @in ];
		my $kind = int rand 4;
		my $fixed = $kind == 0 ? "!'$word'" : "'$word' <-> '$other'";

		push @query, $kind < 2 ? $fixed : "'$word'";
		push @expected, $kind < 2 ? $fixed : widened($word, $most, $typos);
	}
	my $operator = (' & ', ' | ')[ rand 2 ];
	my ($found, $wanted) = map { $s->value("SELECT string_agg(id::text, ' ' ORDER BY id) FROM worded WHERE v @@ $_") }
	  "skipidx_expand_query('words_v', " . quoted(join $operator, @query) . "::tsquery, '$typos', most => $most)", quoted(join $operator, @expected) . '::tsquery';

	$rows += () = $found =~ /\d+/g;
	push @wrong, join($operator, @query) . ", $typos, $most: $found, not $wanted" if $found ne $wanted;
}
is(join("\n", @wrong), '', 'rows of expanded queries are those of the words that skipidx_suggest() has');
cmp_ok($rows, '>', 300, 'which are some');

sub expanded
{
	my ($arguments, $expected, $name) = @_;

	is($s->value("SELECT skipidx_expand_query('few_v', $arguments)"), $expected, $name);
	return;
}
$s->value("INSERT INTO few VALUES (7, 'searching ship ships shipper the'), (8, 'resaerch')");
expanded(q{'serach'}, q{'serach' | 'search'}, 'a word, and what it may have been meant for');
expanded(q{'serach:AB & !serach'}, q{( 'serach':AB | 'search':AB ) & !'serach'}, 'labels stay, and what is negated');
expanded(q{'research'}, q{'research' | 'resaerch'}, 'a word of the index is not all, either');
expanded(q{'serach <-> reserch'}, q{'serach' <-> 'reserch'}, 'phrases stay');
expanded(q{'serach <-> reserch', phrases => true}, q{( 'serach' | 'search' ) <-> ( 'reserch' | 'research' | 'resaerch' )}, 'unless they are expanded, too');
expanded(q{'!(serach <-> reserch)', phrases => true}, q{!( 'serach' <-> 'reserch' )}, 'but those that are negated');
expanded(q{'the & shi', last_is_prefix => true}, q{'the' & 'shi':*}, 'a word that is being typed');
expanded(q{'serac', last_is_prefix => true}, q{'serac':* | 'search' | 'searches' | 'searching'}, 'with typos: all terms that begin with what is near it');
expanded(q{'the & !shi', last_is_prefix => true}, q{'the' & !'shi'}, 'but not if it is negated');
expanded(q{'the <-> shi', last_is_prefix => true}, q{'the' <-> 'shi':*}, 'in a phrase it is a prefix, no more');
expanded(q{''}, q{}, 'an empty query');
expanded(q{NULL}, '', 'no query');
like($s->raw("SELECT skipidx_expand_query('few_v', 'a', most => $_)"), qr/22023: most must be between 1 and 1000/, "most $_") for 0, -1, 1001;
like($s->raw("SELECT skipidx_expand_query('few_v', 'a', $_ => NULL)"), qr/22004: $_ must not be NULL/, "$_ NULL") for qw(typos last_is_prefix accents most phrases);
$s->value('SET ROLE nobody');
like($s->raw("SELECT skipidx_expand_query('few_v', 'search')"), qr/42501/, 'who may not read the columns');
$s->value('RESET ROLE');
$s->value(q{PREPARE p (tsquery) AS SELECT count(*) FROM few WHERE skipidx_document('simple', body) @@ skipidx_expand_query('few_v', $1)});
is($s->value(q{EXECUTE p ('serach')}), 3, 'as a condition of an index');

# Terms of a query are looked at up to a number, and left out where it would
# become too long.
is($s->value("SELECT numnode(skipidx_expand_query('many_v', skipidx_any('simple', (SELECT string_agg('w' || i, ' ') FROM generate_series(1, 20000) i)), '1')) >= 39999"), 't', 'a query of 20,000 words');
like($s->raw("SELECT numnode(skipidx_expand_query('many_v', (SELECT string_agg('w', '|') FROM generate_series(1, 100000) i)::tsquery, '1'))"), qr/54001/, 'a query that is too deep for the server');
$s->value(<<'SQL');
CREATE TABLE wide AS SELECT array_to_tsvector(ARRAY[repeat('x', 1900) || i]) AS v FROM generate_series(1, 900) i;
CREATE INDEX wide_v ON wide USING skipidx (v);
SQL
is($s->value("SELECT numnode(q) BETWEEN 1000 AND 1110 FROM skipidx_expand_query('wide_v', (SELECT string_agg(repeat('x', 1900) || i, '|') FROM generate_series(100, 250) i)::tsquery, '2', most => 900) q"), 't',
	'terms are left out where a query would be too long');

# ---- bounds ----

# All of 150,000 terms are near the word.  It looks at the first 100,000.
$s->value(<<'SQL');
CREATE TABLE near AS SELECT chr(19968 + i / 500) || chr(19968 + i % 500) AS w FROM generate_series(0, 149999) i;
CREATE TABLE nears AS SELECT array_to_tsvector(array_agg(w)) AS v FROM near GROUP BY hashtext(w) % 1000;
CREATE INDEX nears_v ON nears USING skipidx (v);
SQL
is($s->value("SELECT count(*), max(term COLLATE \"C\") = (SELECT w FROM near ORDER BY w COLLATE \"C\" OFFSET 99999 LIMIT 1) FROM skipidx_suggest('nears_v', 'xy', NULL, '2')"),
	'100000|t', 'the first 100,000 terms of a word');

# A long word, and a dictionary of terms that differ from it at their ends.
$s->value(<<'SQL');
CREATE TABLE long AS SELECT array_to_tsvector(ARRAY(SELECT repeat('ab', 250) || translate(md5((g * 400 + i)::text), '0123456789abcdef', 'abababababababab') FROM generate_series(1, 400) i)) AS v FROM generate_series(1, 100) g;
CREATE INDEX long_v ON long USING skipidx (v);
SQL
my $begun = time;

$s->value("SET statement_timeout = '100s'");
is($s->value("SELECT count(*) FROM skipidx_suggest('long_v', repeat('ab', 250) || 'baba', NULL, '2')"), 0, 'a dictionary of long terms that begin alike');
$begun = time;
$s->value("BEGIN; SET LOCAL statement_timeout = '20ms'");
like($s->raw("SELECT count(*) FROM skipidx_suggest('nears_v', 'xy', NULL, '2'), generate_series(1, 1000) g"), qr/57014/, 'it can be cancelled');
$s->value('ROLLBACK; RESET statement_timeout');
$s->close;
$node->stop;
done_testing();
