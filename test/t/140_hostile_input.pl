# Whatever tsvector_recv and tsquery_recv let through is a document or a query
# like any other: an index of vectors that came in binary, with lexemes repeated
# and out of order, answers as the sequential scan does for the same vectors
# merged, in every state, and skipidx_check finds nothing.  What only foreign
# code can make of a tsvector is refused or put in order, and damages nothing.
# Long and deep queries end, or are refused, in time.
#
# Holds: am 1; document 1, 2, 3; query 1, 7; score 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_install_try);
use SkipidxWire qw(wire_vector wire_merge wire_length wire_query wire_copy wire_random_vector
  wire_random_query);
use Test::More;

my $seed = skx_seed(140);
my $node = skx_node('hostile', conf => "max_parallel_workers = 4\nmin_parallel_table_scan_size = 0");
my $dir = PostgreSQL::Test::Utils::tempdir();

note "seed $seed";
srand $seed;
skx_database($node, 'd');
skx_install_try($node, 'd');
my $s = skx_session($node, 'd');

sub copy_in
{
	my ($table, @rows) = @_;

	wire_copy("$dir/rows", @rows);
	return $s->value("COPY $table FROM '$dir/rows' (FORMAT binary)");
}

sub fine
{
	my ($what, $index) = @_;

	return is($s->raw("SELECT skipidx_check('$index', true)"), '', "$what: skipidx_check");
}

# ---- a lexeme many times, beside many documents with it ----

$s->value(<<'SQL');
CREATE TABLE many (v tsvector);
CREATE INDEX many_v ON many USING skipidx (v) WITH (pending_limit = '64kB');
SQL
$s->value('SET skipidx.max_workers = 0');
copy_in('many', [ wire_vector(map { [ 'aa', $_ ] } 1 .. 200) ],
	map { [ wire_vector([ 'aa', 1 ], [ 'all', 2 ]) ] } 1 .. 298);
$s->value(q{INSERT INTO many SELECT ('aa:1 f' || i)::tsvector FROM generate_series(1, 2000) i});
cmp_ok($s->value(q{SELECT ndocs - pending_docs FROM skipidx_stats('many_v')}), '>', 0,
	'repeated 200 times: inserts have flushed it');
is($s->value(q{SELECT skipidx_flush('many_v') > 0}), 't', 'and so does skipidx_flush');
$s->value(q{SET enable_seqscan = off});
is($s->value(q{SELECT count(*) FROM many WHERE v @@ 'aa'}), 2299, 'found once');
is($s->value(q{SELECT count(*) FROM many WHERE v @@ 'aa <199> aa'}), 1, 'with all of its positions');
$s->value('RESET enable_seqscan; VACUUM many');
fine('repeated 200 times', 'many_v');
$s->value('REINDEX INDEX many_v');
fine('repeated 200 times, rebuilt', 'many_v');

# Every row has the lexeme, one of them twice: more postings than documents.
$s->value(q{CREATE TABLE few (v tsvector); CREATE INDEX few_v ON few USING skipidx (v)});
copy_in('few', [ wire_vector([ 'aa', 1, 2 ], [ 'aa', 3 ], [ 'bb', 4 ]) ]);
$s->value(q{INSERT INTO few SELECT 'aa:1'::tsvector FROM generate_series(1, 20)});
$s->value(q{SELECT skipidx_flush('few_v'); SET enable_seqscan = off});
is($s->value("SELECT count(*) FROM few WHERE v @@ \$x\$$_->[0]\$x\$"), $_->[1], "$_->[0]")
  for [ 'aa', 21 ], [ 'a:*', 21 ], [ '!aa', 0 ], [ 'aa <-> bb', 1 ], [ 'aa <2> aa', 1 ];
is($s->value(q{SELECT skipidx_merge('few_v'), postings, total_length, terms FROM skipidx_stats('few_v')}),
	'1|22|24|2', 'merged: as many postings and positions as the merged vectors have');
$s->value('RESET enable_seqscan; VACUUM few');
fine('repeated twice', 'few_v');

# ---- random vectors and queries ----

$s->value(<<'SQL');
CREATE TABLE docs (id int, raw tsvector, merged tsvector) WITH (parallel_workers = 2);
CREATE INDEX docs_raw ON docs USING skipidx (raw) WITH (pending_limit = '1GB', proximity = 0.1);
CREATE TABLE queries (qid int, q tsquery);

-- What a query answers in a mode, NULL where the server refuses it; a plan that
-- is kept is of one mode.  The planner does not know the query, so that all of it
-- is answered by the index, nothing by the server from the vector as it came.
CREATE FUNCTION answer(mode text, tsquery) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	ids text;
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, true),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, true),
		set_config('enable_indexscan', (mode = 'plain')::text, true);
	IF mode = 'seq' THEN
		SELECT string_agg(id::text, ' ' ORDER BY id) INTO ids FROM docs WHERE merged @@ $2;
	ELSE
		SELECT string_agg(id::text, ' ' ORDER BY id) INTO ids FROM docs WHERE raw @@ (SELECT $2);
	END IF;
	RETURN coalesce(ids, '');
END $$;

-- The best rows and their distances: by an index scan, by the distances that
-- the vectors as they came have, and by those of the merged ones.
CREATE FUNCTION best(mode text, q tsquery) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	rows text;
BEGIN
	PERFORM set_config('enable_seqscan', (mode <> 'plain')::text, true),
		set_config('enable_sort', (mode <> 'plain')::text, true),
		set_config('enable_bitmapscan', 'off', true),
		set_config('enable_indexscan', (mode = 'plain')::text, true);
	IF mode = 'merged' THEN
		SELECT string_agg(format('%s %s', id, d), ', ') INTO rows FROM (SELECT id,
			merged <@> skipidx_query(q, 'docs_raw') AS d FROM docs ORDER BY 2, ctid LIMIT 15) r;
	ELSIF mode = 'seq' THEN
		SELECT string_agg(format('%s %s', id, d), ', ') INTO rows FROM (SELECT id,
			raw <@> skipidx_query(q, 'docs_raw') AS d FROM docs ORDER BY 2, ctid LIMIT 15) r;
	ELSE
		SELECT string_agg(format('%s %s', id, d), ', ') INTO rows FROM (SELECT id,
			raw <@> q AS d FROM docs ORDER BY raw <@> q LIMIT 15) r;
	END IF;
	RETURN rows;
END $$;

-- Are all parts of a row's score those of the merged vector?
CREATE FUNCTION explained(q tsquery) RETURNS bool LANGUAGE sql AS $$
	SELECT bool_and(e.score = m.s AND e.length IS NOT DISTINCT FROM NULL
		AND p.raw = p.merged AND b.raw = b.merged)
	FROM (SELECT ctid, * FROM docs ORDER BY id LIMIT 12) d,
		LATERAL (SELECT score, length FROM skipidx_explain_score('docs_raw', d.ctid, q)
			WHERE part = 'total') e,
		LATERAL (SELECT -(d.merged <@> skipidx_query(q, 'docs_raw')) AS s) m,
		LATERAL (SELECT skipidx_bm25('docs_raw', d.raw, q) AS raw,
			skipidx_bm25('docs_raw', d.merged, q) AS merged) b,
		LATERAL (SELECT skipidx_proximity('docs_raw', d.raw, q) AS raw,
			skipidx_proximity('docs_raw', d.merged, q) AS merged) p
$$;
SQL

my ($rows, $queries, $lengths) = (0, 220, 0);

# What some minor versions refuse.
my %takes = map { $_->[0] => takes($_->[1]) } [ zero => [ 'a', 0 ] ], [ empty => ['', 1] ];

sub takes
{
	wire_copy("$dir/rows", [ wire_vector(@_) ]);
	return $s->raw("CREATE TEMP TABLE IF NOT EXISTS t (v tsvector); COPY t FROM '$dir/rows' (FORMAT binary)") eq '';
}

note join ', ', map { "$_: " . ($takes{$_} ? 'taken' : 'refused') } sort keys %takes;

sub load
{
	my ($n) = @_;
	my @rows;

	for (1 .. $n)
	{
		my @raw = wire_random_vector(%takes);
		my @merged = wire_merge(@raw);

		$lengths += wire_length(@merged);
		push @rows, [ pack('N', ++$rows), wire_vector(@raw), wire_vector(@merged) ];
	}
	copy_in('docs', @rows);
	return;
}

sub all_agree
{
	my ($state) = @_;

	$s->value('DROP TABLE IF EXISTS wanted; CREATE TEMP TABLE wanted AS'
		  . q{ SELECT qid, q, answer('seq', q) AS ids FROM queries});
	for my $mode (qw(plain bitmap))
	{
		is($s->value("SELECT qid, left(q::text, 200) FROM wanted WHERE ids <> answer('$mode', q)"
				  . ' ORDER BY length(q::text) LIMIT 3'),
			'', "$state: $mode");
	}
	for my $mode (qw(seq plain))
	{
		is($s->value("SELECT qid, left(q::text, 200) FROM queries WHERE qid % 6 = 0"
				  . " AND best('merged', q) <> best('$mode', q) ORDER BY length(q::text) LIMIT 3"),
			'', "$state: ranked, $mode");
	}
	is($s->value('SELECT qid, left(q::text, 200) FROM queries WHERE qid % 40 = 0 AND NOT explained(q) LIMIT 3'),
		'', "$state: scores explained");
	fine($state, 'docs_raw');
	return;
}

sub total_length { return $s->value(q{SELECT total_length FROM skipidx_stats('docs_raw')}); }

# How much of this is refused depends on the minor version: empty words are by
# some, and distances that no text can have.
my $taken = 0;

for my $query ((map { wire_random_query() } 1 .. $queries),
	map { pack('N', @$_ == 4 ? 3 : 1) . wire_query($_) }
	([ '', 0, 0 ], [ '', 0, 1 ], [ 4, [ '', 0, 1 ], [ 'b', 0, 0 ], 1 ]))
{
	wire_copy("$dir/rows", [ pack('N', $taken + 1), $query ]);
	$taken++ if $s->raw("COPY queries FROM '$dir/rows' (FORMAT binary)") eq '';
}
cmp_ok($taken, '>', $queries * 0.7, "$taken queries taken");
load(400);
is($s->value(q{SELECT segments FROM skipidx_stats('docs_raw')}), 0, 'all pending');
# A text cannot have an empty lexeme or position 0.
my $textual = q{raw::text !~ '(^| )''''|[:,]0|16383' AND cardinality(string_to_array(merged::text, ',')) < 200};
cmp_ok($s->value("SELECT count(*) FROM docs WHERE $textual"), '>', 100, 'vectors that a text can have');
is($s->value("SELECT left(raw::text, 200) FROM docs WHERE $textual AND (raw::text)::tsvector <> merged LIMIT 1"),
	'', 'the server merges the text of a vector as the test does');
is(total_length(), $lengths, 'length of all pending documents');
all_agree('pending');
cmp_ok($s->value(q{SELECT count(*) FROM wanted WHERE ids <> ''}), '>', $queries / 2, 'most queries find rows');

$s->value(q{SELECT skipidx_flush('docs_raw')});
load(300);
$s->value(q{SELECT skipidx_flush('docs_raw')});
load(100);
is($s->value(q{SELECT segments FROM skipidx_stats('docs_raw')}), 2, 'two segments and pending documents');
all_agree('two segments');

$s->value(q{SELECT skipidx_flush('docs_raw'); SELECT skipidx_merge('docs_raw')});
is(total_length(), $lengths, 'merged: length of all documents');
all_agree('merged');

$s->value(q{DELETE FROM docs WHERE id % 7 = 0; VACUUM docs});
all_agree('vacuumed');
$s->value('REINDEX INDEX docs_raw');
my $alone = total_length();
all_agree('rebuilt');

$s->value('SET max_parallel_maintenance_workers = 2; REINDEX INDEX docs_raw');
is(total_length(), $alone, 'rebuilt by several processes: length of all documents');
all_agree('rebuilt by several processes');

# ---- what only foreign code makes of a tsvector ----

$s->value(<<'SQL');
CREATE CAST (bytea AS tsvector) WITHOUT FUNCTION;
CREATE CAST (tsvector AS bytea) WITHOUT FUNCTION;
CREATE TABLE made (v tsvector);
CREATE INDEX made_v ON made USING skipidx (v) WITH (pending_limit = '64kB');

-- The same with the list of positions of its first lexeme, of two bytes, empty.
CREATE FUNCTION no_positions(v tsvector) RETURNS tsvector LANGUAGE sql AS $$
	SELECT set_byte(set_byte(v::bytea, at, 0), at + 1, 0)::tsvector
	FROM (SELECT 4 + 4 * length(v) + 2 AS at) p
$$;
SQL
like($s->value(q{SELECT try_sql($x$INSERT INTO made SELECT no_positions('aa:1')$x$)}), qr/^22P03\|tsvector is malformed/,
	'positions, but none: refused by an insert');
is($s->value('SELECT count(*) FROM made'), 0, 'and not there');
$s->value(q{CREATE TABLE late (v tsvector); INSERT INTO late SELECT no_positions('aa:1')});
like($s->raw('CREATE INDEX late_v ON late USING skipidx (v)'),
	qr/22P03: tsvector is malformed.*DETAIL:  [^\n]*\(0,1\)/s, 'refused by CREATE INDEX, which names the row');
like($s->raw(q{SELECT skipidx_bm25('made_v', v, 'aa') FROM late}), qr/22P03: tsvector is malformed/,
	'refused by a score');

# Empty lexemes, and empty words, which some minor versions take.
$s->value(<<'SQL');
CREATE CAST (bytea AS tsquery) WITHOUT FUNCTION;
CREATE CAST (tsquery AS bytea) WITHOUT FUNCTION;
CREATE TABLE empty (id int, v tsvector);
CREATE INDEX empty_v ON empty USING skipidx (v);
INSERT INTO empty SELECT i, CASE WHEN i % 3 = 0 THEN set_byte('a b'::tsvector::bytea, 4, 0)::tsvector
	ELSE ('b:1 w' || i)::tsvector END FROM generate_series(1, 600) i;

-- The query with its first word empty, or a prefix.
CREATE FUNCTION emptied(q tsquery, prefix int) RETURNS tsquery LANGUAGE sql AS $$
	SELECT set_byte(set_byte(q::bytea, at + 8, 0), at + 2, prefix)::tsquery
	FROM (SELECT CASE numnode(q) WHEN 1 THEN 4 WHEN 2 THEN 16 ELSE 16 END AS at) p
$$;
SQL
is($s->value(q{SELECT min(length(v)) || ' ' || min(substr(v::text, 1, 3)) FROM empty WHERE id = 3}), q{2 '' }, 'an empty lexeme');
for my $state ('pending', 'a segment')
{
	for my $query (map { ("emptied('$_', 0)", "emptied('$_', 1)") } 'x', '!x', 'b & x', 'b | x')
	{
		my $count = "SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM empty WHERE v @@ $query";
		my $wanted = $s->value("SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_indexscan = off; $count");

		is($s->raw("SET enable_seqscan = off; SET enable_indexscan = on; $count"), $wanted, "$state: $query");
	}
	$s->value('RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_indexscan');
	fine("empty lexemes, $state", 'empty_v');
	$s->value(q{SELECT skipidx_flush('empty_v')});
}

# Any byte of a vector changed: nothing, or an error; never damage.
my $changed = $s->value("SELECT setseed(" . ($seed % 1000) / 1000 . <<'SQL');
) \g /dev/null
DO $$
DECLARE
	v bytea;
	accepted int := 0;
BEGIN
	FOR i IN 1 .. 1500 LOOP
		SELECT raw::bytea INTO v FROM docs WHERE id = 1 + i % 700 AND length(raw) > 0;
		CONTINUE WHEN v IS NULL;
		FOR k IN 0 .. i % 3 LOOP
			v := set_byte(v, (random() * (least(octet_length(v), 200) - 1))::int, (random() * 255)::int);
		END LOOP;
		BEGIN
			INSERT INTO made SELECT v::tsvector;
			accepted := accepted + 1;
		EXCEPTION WHEN invalid_binary_representation THEN
			NULL;
		END;
	END LOOP;
	PERFORM set_config('test.accepted', accepted::text, false);
END $$;
SELECT current_setting('test.accepted');
SQL
cmp_ok($changed, '>', 100, "$changed changed vectors taken");
cmp_ok($changed, '<', 1400, 'and others refused');
$s->value(q{SELECT skipidx_flush('made_v')});
fine('changed vectors', 'made_v');
$s->value(q{REINDEX INDEX made_v; SELECT skipidx_merge('made_v')});
fine('changed vectors, rebuilt', 'made_v');

# ---- long and deep queries ----

# Runs it under a limit; returns what it answered, and passes if it was in time.
sub bounded
{
	my ($what, $limit, $sql) = @_;
	my $watch = $s->watch;
	my $answer = $s->raw("SET statement_timeout = '$limit'; $sql; RESET statement_timeout");

	cmp_ok($watch->(), '<', 30, "$what: bounded");
	return $answer;
}

# The sequential scan takes its time for each row, and the server takes time as
# the square of the words to read a query, which cannot be stopped.
$s->value(<<'SQL');
CREATE TABLE less AS SELECT * FROM docs ORDER BY id LIMIT 60;
CREATE INDEX less_raw ON less USING skipidx (raw);
CREATE FUNCTION long_query(op text) RETURNS tsquery LANGUAGE plpgsql AS $$
DECLARE
	q tsquery := (SELECT string_agg('w' || i, ' ' || op || ' ')::tsquery FROM generate_series(1, 1500) i);
BEGIN
	FOR i IN 1 .. 6 LOOP
		q := CASE op WHEN '|' THEN q || q WHEN '&' THEN q && q ELSE tsquery_phrase(q, q) END;
	END LOOP;
	RETURN q;
END $$;
SQL

for my $op ('|', '&', '<->')
{
	my $count = "SELECT count(*) FROM less WHERE %s @@ (SELECT long_query('$op'))";
	my $wanted = $s->value('SET enable_seqscan = on;' . sprintf $count, 'merged');

	$count = 'SET enable_seqscan = off;' . sprintf $count, 'raw';
	is(bounded("96000 words, $op", '60s', $count), $wanted, "96000 words, $op");
	like(bounded("96000 words, $op, stopped", '15ms', $count), qr/57014|^\d+$/, "96000 words, $op: stopped");
}

my %nested = (
	'not' => sub { '!(' x $_[0] . 'aa' . ')' x $_[0] },
	'not and' => sub { '!(aa & ' x $_[0] . 'bb' . ')' x $_[0] },
	'right and' => sub { 'aa & (bb | ' x $_[0] . 'cc' . ')' x $_[0] },
	'left or' => sub { '(' x $_[0] . 'aa' . ' | bb) & cc' x $_[0] },
	'phrase' => sub { 'aa <-> (bb | ' x $_[0] . 'cc' . ')' x $_[0] });

# A query that is not known when it is planned is not tested on rows, where a
# vector is judged by its bytes.
for my $kind (sort keys %nested)
{
	my ($answered, $refused) = (0, 0);

	for my $depth (100000, 20000, 5000, 1000, 200)
	{
		my $query = $nested{$kind}->($depth);
		my @got;

		for my $mode (qw(on off))
		{
			push @got, bounded("$kind, $depth levels", '20s', "SET enable_seqscan = $mode;"
				  . " SELECT try_sql(\$x\$SELECT count(*) FROM less WHERE " . ($mode eq 'on' ? 'merged' : 'raw') . " @@ (SELECT '$query'::tsquery)\$x\$)");
		}
		$_ =~ s/^(54001|57014).*/$1/s for @got;
		next if $got[0] =~ /^5\d{4}$/;
		like($got[0], qr/^ok\|\d+$/, "$kind, $depth levels: the server has an answer");
		$got[1] =~ /^5\d{4}$/ ? $refused++ : $answered++;
		is($got[1], $got[0], "$kind, $depth levels: rows") unless $got[1] =~ /^5\d{4}$/;
	}
	cmp_ok($answered, '>', 0, "$kind: answered when $answered deep, refused when $refused");
}

$s->close;
$node->stop;
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC/, 'nothing has crashed');

done_testing();
