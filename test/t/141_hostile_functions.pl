# Functions of the extension with arguments that nobody would give: every call ends
# with rows or an error of a user's kind, none with an internal error, damage or a
# crash; what has an answer elsewhere has the same one: counts, pages and rows of
# binary queries are the sequential scan's, a passage is a part of its text, and
# what is marked does not depend on the way in which it was read.
#
# Rounds have seeds of their own: SKIPIDX_SEED and SKX_HOSTILE_ROUNDS=1 repeat one.
# There are 2, or as many as SKX_HOSTILE_ROUNDS says; `make test-memory` has more, on
# a server that sees each byte that is read beside a chunk of memory.
#
# Holds: condition 1; continuation 1; document 1, 3; functions 3, 5, 8, 9; highlight 1, 4; query 1, 7; scroll 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxHostile qw(hostile_text hostile_value hostile_calls hostile_literal);
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_install_try);
use SkipidxWire qw(wire_vector wire_merge wire_copy wire_random_vector wire_random_query
  wire_mutated wire_sign_page wire_sign_scroll);
use Test::More;

my $first = skx_seed(141);
my $rounds = $ENV{SKX_HOSTILE_ROUNDS} // 2;
my $node = skx_node('functions', conf => "max_parallel_workers = 4");
my $dir = PostgreSQL::Test::Utils::tempdir();

sub pick { return $_[ rand @_ ]; }

# ---- what is asked ----

skx_database($node, 'd');
skx_install_try($node, 'd');
my $s = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TABLE docs (id int, raw tsvector, merged tsvector, n int, tags int[], label text, price numeric, at timestamptz, flag bool, words text[]);
CREATE INDEX docs_raw ON docs USING skipidx (raw, n, tags, label, price, at, flag, words) WITH (pending_limit = '64kB', proximity = 0.1);
CREATE INDEX docs_alone ON docs USING skipidx (raw);
CREATE TABLE sorted AS SELECT id, merged, n, tags, label, price, at, flag, words FROM docs;
CREATE INDEX sorted_v ON sorted USING skipidx (merged, n, tags, label, price, at, flag, words) WITH (pending_limit = '64kB');
CREATE INDEX docs_id ON docs (id);
CREATE TABLE parts (id int, raw tsvector, n int, label text) PARTITION BY LIST (n);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
CREATE INDEX parts_raw ON parts USING skipidx (raw, n, label);
CREATE TABLE nothing (raw tsvector, n int);
CREATE INDEX nothing_raw ON nothing USING skipidx (raw, n);
CREATE VIEW seen AS SELECT * FROM docs;
CREATE SEQUENCE counter;
CREATE TABLE queries (qid int, q tsquery);
CREATE TABLE texts (id int, t text);
CREATE TABLE refs (r skipidx_ref);
CREATE CAST (bytea AS tsvector) WITHOUT FUNCTION;
CREATE CAST (tsvector AS bytea) WITHOUT FUNCTION;

-- Rows of a query by the sequential scan
CREATE FUNCTION rows_of(q tsquery) RETURNS TABLE (ctid tid) LANGUAGE sql STABLE SET enable_indexscan = off SET enable_bitmapscan = off SET enable_indexonlyscan = off
	AS 'SELECT ctid FROM docs WHERE merged @@ q';

-- What differs from them
CREATE FUNCTION differences(query tsquery, n int) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	wanted tid[] := (SELECT coalesce(array_agg(ctid ORDER BY ctid), '{}') FROM rows_of(query));
BEGIN
	RETURN concat_ws(', ',
		CASE WHEN skipidx_count('docs_raw', query) <> cardinality(wanted) THEN 'count' END,
		CASE WHEN (SELECT coalesce(array_agg(ctid ORDER BY ctid), '{}') FROM skipidx_search('docs_raw', query, 1000000)) <> wanted THEN 'search' END,
		CASE WHEN (SELECT coalesce(array_agg(s.ctid ORDER BY s.ctid), '{}') FROM generate_series(0, n - 1) i, skipidx_scroll('docs_alone', query, i, n, max_rows => 1000000) s) <> wanted THEN 'scroll' END,
		CASE WHEN EXISTS (SELECT label, count(*) FROM docs WHERE ctid = ANY (wanted) AND label IS NOT NULL GROUP BY 1
			EXCEPT SELECT value, count FROM skipidx_facets('docs_raw', query, 'label', 1000000)) THEN 'facets' END,
		CASE WHEN (SELECT coalesce(sum(count), 0) FROM skipidx_histogram('docs_raw', query, 'n', ARRAY[-3, 0, n])) <> cardinality(wanted) THEN 'histogram' END);
END $$;
SQL

my $rows = 0;
my %takes = map { $_->[0] => takes($_->[1]) } [ zero => [ 'a', 0 ] ], [ empty => [ '', 1 ] ];

sub takes
{
	wire_copy("$dir/rows", [ wire_vector(@_) ]);
	return $s->raw("CREATE TEMP TABLE IF NOT EXISTS t (v tsvector); COPY t FROM '$dir/rows' (FORMAT binary)") eq '';
}

# So many rows, of which some go again
sub load
{
	my ($n) = @_;
	my @rows;

	for (1 .. $n)
	{
		my @raw = wire_random_vector(%takes);

		push @rows, [ pack('N', ++$rows), wire_vector(@raw), wire_vector(wire_merge(@raw)) ];
	}
	wire_copy("$dir/rows", @rows);
	$s->value("COPY docs (id, raw, merged) FROM '$dir/rows' (FORMAT binary)");
	my $values = join ', ', map { my ($column, $type) = @$_; "$column = CASE id % 5 " . join(' ', map { "WHEN $_ THEN " . hostile_value($type) } 0 .. 4) . ' END' }
	  [ n => 'int4' ], [ tags => 'int4[]' ], [ price => 'numeric' ], [ at => 'timestamptz' ], [ flag => 'bool' ];
	my @labels = map { hostile_literal(substr(hostile_text(), 0, 200) =~ s/[^\x01-\x7f]//gr, 1) } 0 .. 4;

	$s->value("UPDATE docs SET $values, label = (ARRAY[" . join(', ', @labels) . "])[1 + id % 5], words = ARRAY[label] WHERE id > $rows - $n");
	$s->value("DELETE FROM docs WHERE id % 11 = " . int rand 11);
	$s->value('TRUNCATE parts; INSERT INTO parts SELECT id, raw, n, label FROM docs');
	$s->value("DELETE FROM sorted WHERE id NOT IN (SELECT id FROM docs); INSERT INTO sorted SELECT id, merged, n, tags, label, price, at, flag, words FROM docs WHERE id > $rows - $n");
	return;
}

# Queries that the server takes, of the round
sub ask
{
	my $taken = 0;

	$s->value('TRUNCATE queries');
	for my $query (map { wire_random_query() } 1 .. 30)
	{
		wire_copy("$dir/rows", [ pack('N', $taken + 1), $query ]);
		$taken++ if $s->raw("COPY queries FROM '$dir/rows' (FORMAT binary)") eq '';
	}
	return $taken;
}

# Sends a statement; false if it ends as none should.  A configuration that is none
# is the server's own to tell, as it does for to_tsvector().
my %states;

sub lives
{
	my ($session, $what, $sql) = @_;
	my $got = $session->raw($sql);
	my ($state) = $got =~ /^(?:psql:\S* )?(?:ERROR|FATAL|PANIC):  (\w{5}): /m;

	$states{ $state // 'ok' }++;
	return 1 if !$session->gone && (($state // '') !~ /^(XX|57014)/ || $got =~ /cache lookup failed for text search configuration/);
	fail("$what: $sql");
	diag(substr $got, 0, 2000);
	BAIL_OUT('the server has crashed') if $session->gone;
	return 0;
}

sub none
{
	my ($what, $sql, $session) = @_;
	my $got = ($session // $s)->raw($sql);

	is(substr($got, 0, 2000), '', $what) or diag $sql;
	BAIL_OUT('the server has crashed') if ($session // $s)->gone;
	return;
}

# ---- kinds of calls ----

sub agree
{
	my ($round) = @_;
	my $n = pick(1, 2, 7, 64);

	none("$round: answers of functions are the sequential scan's",
		"SELECT qid, q, d FROM queries, differences(q, $n) d WHERE d <> '' ORDER BY length(q::text) LIMIT 3");
	return;
}

# Conditions on columns, by the index and without it; of the merged vectors, as some
# of them are tested on rows by the server.
sub conditions
{
	my ($round) = @_;
	my %of = (n => 'int4', price => 'numeric', at => 'timestamptz', label => 'text');

	for (1 .. 40)
	{
		my @conditions = map {
			my $column = pick(sort keys %of);
			my $array = hostile_value('int4[]');

			pick("$column " . pick('=', '<', '<=', '>', '>=') . ' ' . hostile_value($of{$column}),
				"n " . pick('=', '<', '>') . " ANY ($array)", "n = ALL ($array)", "tags " . pick('&&', '@>', '=') . " $array",
				hostile_value('int4') . " = ANY (tags)", 'NOT tags && ' . $array, "$column IS " . pick('', 'NOT ') . 'NULL', 'flag IS NOT TRUE',
				"words && " . hostile_value('text[]'))
		} 1 .. 1 + rand 3;
		my $where = join pick(' AND ', ' OR '), @conditions;
		my $sql = "SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM sorted WHERE merged @@ (SELECT q FROM queries WHERE qid = " . (1 + int rand 20) . ") AND ($where)";
		my $wanted = $s->raw('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;' . $sql);
		my $got = $s->raw('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on;' . $sql);

		$_ =~ s/^(psql:\S* )?ERROR:  (\w{5}).*/$2/s for $wanted, $got;
		is($got, $wanted, "$round: $where");
		BAIL_OUT('the server has crashed') if $s->gone;
	}
	like($s->value("EXPLAIN SELECT id FROM sorted WHERE merged @@ (SELECT q FROM queries WHERE qid = 1) AND n = 5"), qr/sorted_v/, "$round: by the index");
	$s->value('RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan');
	return;
}

# Tokens that were changed give rows that match, or are refused.
sub tokens
{
	my ($round) = @_;
	my %call = (scroll => 'skipidx_scroll(%s, q, after => %s, max_rows => 50)', search => 'skipidx_search(%s, q, 50, after => %s)');
	my (%token, $rows);

	for my $kind (sort keys %call)
	{
		my @tokens = split /\n/, $s->value('SELECT token FROM queries, ' . sprintf($call{$kind}, "'docs_raw'", 'NULL') . ' ORDER BY qid, token LIMIT 300');

		$token{$kind} = [ map { pack 'H*', substr $_, 2 } @tokens ];
	}
	for my $i (1 .. 60)
	{
		my $kind = pick(sort keys %call);
		my $bytes = wire_mutated(pick(@{ $token{ pick($kind, sort keys %call) } }));

		$bytes = $kind eq 'scroll' ? wire_sign_scroll($bytes) : wire_sign_page($bytes) if rand() < 0.8;
		my $call = sprintf $call{$kind}, "'docs_raw'", hostile_literal($bytes);
		my $got = $s->raw("SELECT qid, left(q::text, 100), left(a, 200) FROM queries, LATERAL (SELECT try_sql(format(\$x\$SELECT count(*) || ' ' || count(*) FILTER"
			  . " (WHERE r.ctid NOT IN (SELECT ctid FROM rows_of(q))) || ' ' || count(*) - count(DISTINCT r.ctid) FROM queries, $call r WHERE qid = %s\$x\$, qid)) AS a) a"
			  . " WHERE a !~ '^(ok.\\d+ 0 0|22023|54000)'");

		is($got, '', "$round: $kind, a changed token") or diag $call;
		BAIL_OUT('the server has crashed') if $s->gone;
	}
	return \%token;
}

# Every function, with what the types of its arguments allow.
sub calls
{
	my ($round, $token, $n) = @_;
	my @indexes = map { "'$_'" } qw(docs_raw docs_alone parts_raw nothing_raw parts_1_raw_n_label_idx);
	my %more = (
		regclass => [ (@indexes) x 3, map { "'$_'" } qw(docs docs_id parts seen counter) ],
		text => [ @indexes, map { "'$_'" } qw(n tags label price at flag words id raw), '', 'a' x 3000 ],
		tsquery => [ map { "SELECT q FROM queries WHERE qid = $_" } 1 .. 20 ],
		tsvector => [ map { 'SELECT raw FROM docs ORDER BY id OFFSET ' . int(rand 200) . ' LIMIT 1' } 1 .. 5 ],
		bytea => [ map { hostile_literal(wire_mutated(pick(map { @$_ } values %$token))) } 1 .. 5 ],
		tid => [ map { 'SELECT ctid FROM docs ORDER BY id OFFSET ' . int(rand 200) . ' LIMIT 1' } 1 .. 3 ],
		jsonb => [ map { hostile_literal($_) } '{}', '[]', '1', '{"a": {"b": 0.5}}', '{"w1": ["w2"], "w3": {"w2": 1e-300}}', '{"w1": {"w2": {"w3": 1}}}', '{"w1": ["' . 'x' x 2000 . '"]}', '{"w1": 3}', '{"w1": 1e-300, "w2:*": 100}' ],
		skipidx_ranking => [ map { "SELECT skipidx_ranking('docs_raw', q) FROM queries WHERE qid = $_" } 1 .. 5 ],
		mood => [ "'sad'", "'glad'" ],
		skipidx_ref => [ map { "SELECT skipidx_query(q, 'docs_raw') FROM queries WHERE qid = $_" } 1 .. 9 ]);

	$s->value("SET statement_timeout = '60s'");
	lives($s, $round, $_) for hostile_calls($s, $n, \%more, qw(skipidx_search skipidx_scroll skipidx_facets skipidx_histogram skipidx_slices skipidx_terms skipidx_suggest skipidx_complete skipidx_expand_query skipidx_expand skipidx_ranking_of_groups skipidx_boosted skipidx_highlight
		skipidx_any skipidx_any_of skipidx_any_of_words skipidx_bm25 skipidx_proximity skipidx_explain_score skipidx_count skx_distance skipidx_query skx_bind skx_disjoint
		skipidx_recency skipidx_decay skipidx_near skipidx_saturation skipidx_log1p skipidx_boost
		skipidx_rrf skx_rrf_add skx_rrf_combine skx_rrf_sum));
	$s->value('RESET statement_timeout');
	return;
}

# Texts of references in which anything is exchanged, doubled or left out: a score
# or an error.
my @pieces = ("'", "''", '"', '""', '\\', ' by ', 'by', 'BY', ',', ', ', '(', ')', '(foreign partitions not counted)', '.', ' ', "\n", '&', '|', '!', '<->', ':*A', "\xc3\xa4",
	'docs_raw', 'public.docs_alone', 'parts_raw', 'nothing_raw', 'docs', 'docs_id', '"docs_raw"', '16384', "'by'", "'docs_raw'", 'x' x 3000);

sub references
{
	my ($round) = @_;

	for (1 .. 150)
	{
		my @text = ("'wa'", ' & ', "'wb'", ' ', 'by', ' ', 'docs_raw', ',', ' ', 'parts_raw');

		for (1 .. int rand 4)
		{
			my $at = int rand @text;

			splice @text, $at, int(rand 3), map { pick(@pieces) } 1 .. int rand 3;
		}
		lives($s, $round, "SELECT count(raw <@> r), min(r::text::skipidx_ref::text) = min(r::text) FROM docs, (SELECT " . hostile_literal(join '', @text) . '::skipidx_ref OFFSET 0) x (r)');
	}
	return;
}

# Vectors with any byte changed, as only foreign code makes them: a score or an
# error.
sub vectors
{
	my ($round) = @_;

	for (1 .. 40)
	{
		my $id = 1 + int rand $rows;
		my ($bytes) = $s->value("SELECT (SELECT raw::bytea FROM docs WHERE id >= $id ORDER BY id LIMIT 1)");
		my $vector = hostile_literal(wire_mutated(pack 'H*', substr $bytes || '\x00000000', 2)) . '::tsvector';
		my $query = 'SELECT q FROM queries WHERE qid = ' . (1 + int rand 20);

		lives($s, $round, "SELECT skipidx_bm25('docs_raw', $vector, ($query)), skipidx_proximity('docs_raw', $vector, ($query)), $vector <@> skipidx_query(($query), 'docs_raw')");
	}
	return;
}

# Passages: a part of the text, and what is marked in it, by the parser that is
# passed over and by the same under another name.
my $highlight = <<'SQL';
CREATE FUNCTION slow_start(internal, int) RETURNS internal LANGUAGE internal AS 'prsd_start';
CREATE TEXT SEARCH PARSER slow (START = slow_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype, HEADLINE = prsd_headline);
CREATE TEXT SEARCH CONFIGURATION slow (PARSER = slow);
ALTER TEXT SEARCH CONFIGURATION slow ADD MAPPING FOR asciiword, word, hword, asciihword, hword_part, hword_asciipart WITH english_stem;
ALTER TEXT SEARCH CONFIGURATION slow ADD MAPPING FOR numword, email, url, host, sfloat, version, hword_numpart, numhword, url_path, file, float, int, uint WITH simple;
CREATE FUNCTION wrong(t text, q tsquery, words int, passages int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	h text;
	part text;
BEGIN
	-- in memory of its own, not in a page, so that what is read beside it is seen
	t := t || '';
	h := skipidx_highlight('english', t, q, E'\x11', E'\x12', words, passages, E'\x13');
	IF h <> skipidx_highlight('slow', t, q, E'\x11', E'\x12', words, passages, E'\x13') THEN
		RETURN 'another parser';
	END IF;
	FOREACH part IN ARRAY string_to_array(h, E'\x13') LOOP
		IF strpos(t, replace(replace(part, E'\x11', ''), E'\x12', '')) = 0 AND part <> '' THEN
			RETURN 'not of the text';
		END IF;
		IF regexp_replace(part, E'\x11[^\x11\x12]+\x12', '', 'g') ~ E'[\x11\x12]' THEN
			RETURN 'marks';
		END IF;
	END LOOP;
	RETURN CASE WHEN words = 0 AND replace(replace(h, E'\x11', ''), E'\x12', '') <> t THEN 'not the text' END;
END $$;
SQL

sub texts
{
	my ($round, $session, $any) = @_;
	my @texts = map { hostile_text($any) } 1 .. 60;
	my @queries = ("'fox'", "'red <-> fox | jump'", "'fo:* | r:*'", "'w1 | aa | 1:* | a'", "'!fox'", "'''red-fox'' | ''fox.com'' | a & b'", "'x:* | \xc3\xa9t\xc3\xa9'");

	# of any bytes they are made as such; others come as the protocol has them
	wire_copy("$dir/texts", map { [ pack('N', $_), $texts[$_] ] } 0 .. $#texts);
	$session->value("TRUNCATE texts; COPY texts FROM '$dir/texts' (FORMAT binary)");
	none("$round: passages of texts" . ($any ? ' of any bytes' : ''),
		"SELECT id, $_, w FROM texts, wrong(t, $_) w WHERE w <> '' LIMIT 3", $session)
	  for map { utf8::decode(my $q = $_); $q . '::tsquery, ' . pick(0, 1, 2, 5, 35, 10000) . ', ' . pick(1, 1, 2, 100) } @queries;
	none("$round: words of texts" . ($any ? ' of any bytes' : ''),
		"SELECT id FROM texts WHERE numnode(skipidx_any('english', t)) <> 0 AND NOT to_tsvector('english', t) @@ skipidx_any('english', t)"
		  . " OR (numnode(skipidx_any('simple', t)) = 0) <> (length(to_tsvector('simple', t)) = 0) LIMIT 3", $session);
	return;
}

# Queries that are deep, for whatever goes through one.
sub deep
{
	my %nested = (
		'not' => sub { '!' x $_[0] . 'aa' },
		'and' => sub { 'aa & (bb | ' x $_[0] . 'cc' . ')' x $_[0] },
		'phrase' => sub { 'aa <-> (bb | ' x $_[0] . 'cc' . ')' x $_[0] });
	my @calls = ("skipidx_highlight('simple', 'aa bb cc', q)", "skipidx_count('docs_raw', q)", "skipidx_search('docs_raw', 'aa', 5, q)",
		"skipidx_search('docs_raw', q)", "skipidx_facets('docs_raw', q, 'n')", "skipidx_scroll('docs_raw', q, max_rows => 3)",
		"skipidx_bm25('docs_raw', 'aa bb cc', q)", "skipidx_proximity('docs_raw', 'aa bb cc', q)", "skx_bind(q, skipidx_query(q, 'docs_raw'))");

	for my $kind (sort keys %nested)
	{
		for my $depth (20000, 3000, 300)
		{
			my $query = $nested{$kind}->($depth);

			next if $s->raw("TRUNCATE queries; INSERT INTO queries VALUES (1, '$query')") ne '';
			lives($s, "$kind, $depth levels", "SELECT left(x::text, 100) FROM (SELECT $_ AS x FROM queries) x") for @calls;
		}
	}
	return;
}

# ---- rounds ----

# Any bytes are a text there.
$node->safe_psql('postgres', q{CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'});
$node->safe_psql('ascii', 'CREATE EXTENSION skipidx; CREATE TABLE texts (id int, t text)');
my $ascii = skx_session($node, 'ascii');

$_->value("SET client_min_messages = error; $highlight") for $s, $ascii;
srand $first;
load(200);
$s->value(q{SELECT skipidx_flush('docs_raw')});
for my $seed ($first .. $first + $rounds - 1)
{
	srand $seed;
	load(60);
	ask();
	agree("seed $seed");
	conditions("seed $seed");
	my $token = tokens("seed $seed");
	calls("seed $seed", $token, 150);
	vectors("seed $seed");
	references("seed $seed");
	texts("seed $seed", $s, 0);
	texts("seed $seed", $ascii, 1);
	$s->value('VACUUM docs') if $seed % 3 == 0;
	is($s->raw("SELECT skipidx_check('$_', true)"), '', "seed $seed: $_ is sound") for 'docs_raw', 'docs_alone', 'sorted_v', 'parts_1_raw_n_label_idx';
}
deep();
lives($s, 'measuring the disk', "SELECT * FROM skipidx_calibrate($_)")
  for "'nowhere'", "cached => 'NaN'", 'cached => 2', 'megabytes => -1', "seconds => 'Infinity'", "seconds => 'NaN'", 'seconds => NULL';
note join ', ', map { "$states{$_} $_" } sort keys %states;
cmp_ok($states{ok} // 0, '>', $rounds * 30, "of $rounds rounds many calls have an answer");
cmp_ok($states{22023} // 0, '>', 0, 'and others an error');

# Types that only the extension makes values of
wire_copy("$dir/rows", [ pack('N', 4) . 'abcd' ]);
like($s->raw("COPY refs FROM '$dir/rows' (FORMAT binary)"), qr/ERROR:  0A000/, 'a reference that came in binary');
like($s->raw("SELECT 'x'::skipidx_disjunction"), qr/ERROR:  0A000/, 'a text as skipidx_disjunction');
$_->close for $s, $ascii;
$node->stop;
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|Sanitizer/, 'nothing has crashed');

done_testing();
