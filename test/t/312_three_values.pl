# Conditions of three-valued logic, in the words in which programs and people say
# them: IS NOT TRUE, coalesce, IS DISTINCT FROM, NOT, nullif, CASE, within each
# other.  The listed forms are answered by the index alone, and generated ones
# give the rows of a table without one: counted, by values, by bitmap, by rank, in
# the order of a column, by a partial index, of partitions, with parameters in
# generic plans.
#
# Long: 3000 generated conditions, else 300 (SKX_RANK_QUERIES).
#
# Holds: condition 3; plan 26, 28

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;

my $seed = skx_seed(312);
my $generated = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000 ? 3000 : 300;
my $node = skx_node('three_values', conf => "autovacuum = off\nmax_parallel_workers_per_gather = 0");
my $s = skx_session($node, 'postgres');

note "seed $seed";
srand($seed);
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector, flag bool, a int, b int, s varchar(9), tags int[], until timestamptz);
CREATE TABLE bare (LIKE docs);
CREATE TABLE parts (LIKE docs) PARTITION BY RANGE (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (400);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (400) TO (MAXVALUE);
CREATE INDEX docs_skx ON docs USING skipidx (v, flag, a, b, s, tags, until) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE INDEX parts_skx ON parts USING skipidx (v, flag, a, b, s, tags, until) WITH (block_size = '8kB');
CREATE TABLE few (LIKE docs);
CREATE INDEX few_skx ON few USING skipidx (v, flag, a, b, s, tags, until) WHERE id > 0;
CREATE FUNCTION load(low int, high int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO bare SELECT i, CASE WHEN i % 11 > 0 THEN (CASE WHEN i % 2 = 0 THEN 'wa ' ELSE '' END || 'w' || i % 13)::tsvector END,
		CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, CASE WHEN i * 7 % 10 < 8 THEN i * 7 % 10 / 2 END,
		CASE WHEN i % 5 > 0 THEN i % 4 END, CASE i * 3 % 7 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 's' || i % 4 END,
		CASE i * 5 % 8 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[NULL, 1] ELSE ARRAY[i % 3, i % 4] END,
		CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' ELSE timestamptz '2026-01-01' + i * interval '1 day' END
		FROM generate_series(low, high) i;
	INSERT INTO docs SELECT * FROM bare WHERE id BETWEEN low AND high;
	INSERT INTO parts SELECT * FROM bare WHERE id BETWEEN low AND high;
	INSERT INTO few SELECT * FROM bare WHERE id BETWEEN low AND high;
$$;
SELECT load(1, 500), skipidx_flush('docs_skx') \g /dev/null
SELECT load(501, 900), skipidx_flush('docs_skx') \g /dev/null
DELETE FROM bare WHERE id % 17 = 0;
DELETE FROM docs WHERE id % 17 = 0;
DELETE FROM parts WHERE id % 17 = 0;
DELETE FROM few WHERE id % 17 = 0;
VACUUM ANALYZE;
SELECT load(901, 1000) \g /dev/null

CREATE FUNCTION by(mode text) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (mode = 'seq')::text, false), set_config('enable_sort', (mode <> 'plain')::text, false),
		set_config('enable_bitmapscan', (mode IN ('bitmap', 'count'))::text, false),
		set_config('enable_indexscan', (mode IN ('plain', 'count'))::text, false);
$$;
-- is the condition answered by the index, without a row?
CREATE FUNCTION is_counted(source text, cond text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
	counted bool := false;
BEGIN
	PERFORM by('count'), set_config('cpu_tuple_cost', '1', false);
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT count(*) FROM %s WHERE (%s)', source, cond) LOOP
		counted := counted OR line ~ 'Skipidx Count';
	END LOOP;
	RESET cpu_tuple_cost;
	RETURN counted;
END $$;
CREATE FUNCTION answer(source text, cond text, tail text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ids text;
BEGIN
	EXECUTE format('SELECT string_agg(id::text, '' '') FROM (SELECT id FROM %s WHERE (%s) %s) x', source, cond, tail) INTO ids;
	RETURN coalesce(ids, '');
END $$;
CREATE FUNCTION by_values(source text, cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	counts text;
BEGIN
	EXECUTE format('SELECT string_agg(format(''%%s:%%s'', a, n), '' '' ORDER BY a)'
		' FROM (SELECT a, count(*) AS n FROM %s WHERE (%s) GROUP BY a) x', source, cond) INTO counts;
	RETURN format('%s / %s', answer(source, cond, 'AND false'), counts);
END $$;
-- In what the index differs from a table without one; NULL: in nothing.  The
-- distances of the table itself, in its sequential scan, are those of the ranked one.
CREATE FUNCTION differs(source text, cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	all_rows text := 'ORDER BY id';
	first_rows text := 'ORDER BY a NULLS LAST, id LIMIT 15';
	ranked text := 'ORDER BY v <@> ''wa | w3'', id LIMIT 15';
	want text[];
	got text[];
	mode text;
BEGIN
	IF source = 'few' THEN
		cond := format('id > 0 AND (%s)', cond);
	END IF;
	PERFORM by('seq');
	want := ARRAY[answer('bare', cond, all_rows), answer('bare', cond, first_rows), answer(source, cond, ranked),
		by_values('bare', cond)];
	FOREACH mode IN ARRAY '{count,bitmap,plain}'::text[] LOOP
		PERFORM by(mode);
		got := ARRAY[answer(source, cond, all_rows), answer(source, cond, first_rows), answer(source, cond, ranked),
			by_values(source, cond)];
		IF got IS DISTINCT FROM want THEN
			RETURN format('%s, %s: %s: not %s, but %s', source, mode, cond, want, got);
		END IF;
	END LOOP;
	PERFORM by('count');
	RETURN NULL;
END $$;
SQL

# ---- forms that the index answers ----

my @forms = split /\n/, <<'LIST';
flag IS NOT TRUE
flag IS NOT FALSE
NOT flag
NOT (flag IS TRUE)
flag <> true
flag IS NOT DISTINCT FROM NULL
flag IS NOT DISTINCT FROM true
flag IS DISTINCT FROM true
coalesce(flag, false) = false
coalesce(flag, false) IS FALSE
NOT coalesce(flag, false)
coalesce(flag, true)
NOT (a = 1)
NOT (a = 1 AND a IS NOT NULL)
a IS DISTINCT FROM 1
a IS NOT DISTINCT FROM 1
a IS NOT DISTINCT FROM NULL
a IN (1, 2) IS TRUE
a IN (1, 2) IS NOT TRUE
a NOT IN (1, 2) IS NOT FALSE
(a = 1) IS TRUE
(a = 1) IS FALSE
(a = 1) IS NOT TRUE
(a = 1) IS NOT FALSE
(a = 1) IS UNKNOWN
(a > 1) IS NOT NULL
(a = 1 AND b = 2) IS NOT TRUE
(a = 1 OR b = 2) IS NOT TRUE
(flag AND a = 1) IS UNKNOWN
coalesce(a, 0) = 0
coalesce(a, 0) <> 5
coalesce(a, 0) IN (0, 5)
coalesce(a, 2) BETWEEN 1 AND 2
coalesce(a, b, 3) = 3
0 < coalesce(a, 1)
coalesce(s, '') = ''
coalesce(s, '') <> ''
coalesce(s, '') = 's1'
nullif(s, '') IS NULL
nullif(s, '') IS NOT NULL
coalesce(nullif(s, ''), 'none') = 'none'
coalesce(until, 'infinity') > '2028-01-01'
coalesce(until, 'infinity') > now()
CASE WHEN flag THEN true ELSE false END
CASE WHEN flag THEN a ELSE b END = 2
(v @@ 'wa') IS TRUE
(v @@ 'wa') IS NOT TRUE
(v @@ 'w3 | w1:*') IS FALSE
NOT v @@ 'wa'
NOT (v @@ 'wa' AND v IS NOT NULL)
NOT (v @@ 'wa' OR 'w3 & wa'::tsquery @@ v)
v @@ 'wa | w3' AND NOT v @@ 'w3 & !wa'
a = 1 OR NOT v @@ 'wa <-> w3'
CASE a WHEN 1 THEN flag WHEN 2 THEN b = 1 ELSE a > 2 END
CASE s WHEN '' THEN 0 WHEN 's1' THEN 1 END = 1
CASE flag WHEN true THEN a WHEN false THEN b END = 2
(tags && '{1,2}') IS NOT TRUE
coalesce(a = 1, false)
coalesce(a = 1, b = 2, true)
a = 1 OR flag IS NOT TRUE
flag IS NOT TRUE OR a = 1 AND coalesce(s, '') = ''
v @@ 'wa' AND flag IS NOT TRUE AND coalesce(a, 0) = 0
v @@ 'wa' AND (a = 1 AND (b = 1 OR s = 's1') OR b = 3)
LIST

sub quote { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }

for my $form (@forms)
{
	is($s->value("SELECT is_counted(source, ${\quote($form)}) FROM unnest('{docs,parts}'::text[]) source"), "t\nt", "$form: counted");
	is($s->value("SELECT differs(source, ${\quote($form)}) FROM unnest('{docs,parts,few}'::text[]) source"), "\n\n", "$form: the rows");
}
# by a partial index, whose predicate the condition implies
is($s->value("SELECT is_counted('few', ${\quote($_)})"), 't', "$_ is counted by a partial index")
  for 'id > 0 AND flag IS NOT TRUE', 'coalesce(a, 0) = 0 AND id > 0';

# ---- generated conditions ----

my $params = 0;

sub one_of { return $_[ rand @_ ]; }

sub int_value { return $params && rand() < 0.5 ? one_of('$1', '$2') : one_of(0 .. 4, 'NULL::int'); }

sub text_value { return $params && rand() < 0.5 ? '$3' : one_of("''", "'s1'", "'s2'", 'NULL'); }

sub bool_value { return $params && rand() < 0.5 ? '$4' : one_of('true', 'false', 'NULL::bool'); }

sub int_term
{
	my ($depth) = @_;

	return one_of('a', 'a', 'b') if $depth <= 0 || rand() < 0.4;
	return one_of(
		sub { "coalesce(" . int_term($depth - 1) . ", " . (rand() < 0.7 ? int_value() : int_term($depth - 1)) . ")" },
		sub { "nullif(" . int_term($depth - 1) . ", " . int_value() . ")" },
		sub { "CASE WHEN " . bool_term($depth - 1) . " THEN " . int_term($depth - 1) . " ELSE " . int_value() . " END" })->();
}

sub text_term { return one_of('s', 's', "coalesce(s, " . text_value() . ")", "nullif(s, " . text_value() . ")"); }

sub int_list { return join ', ', map { one_of(0 .. 4, rand() < 0.3 ? 'NULL' : 1) } 1 .. 1 + rand 3; }

sub atom
{
	my ($depth) = @_;

	return one_of(
		sub { 'flag' }, sub { 'flag' },
		sub { int_term($depth) . ' ' . one_of('=', '=', '<>', '<', '>=') . ' ' . int_value() },
		sub { int_value() . ' ' . one_of('=', '<') . ' ' . int_term($depth) },
		sub { int_term($depth) . ' IS ' . one_of('', 'NOT ') . 'DISTINCT FROM ' . int_value() },
		sub { int_term($depth) . one_of(' IN (', ' NOT IN (') . int_list() . ')' },
		sub { int_term($depth) . one_of(' = ANY (', ' <> ALL (', ' = ALL (') . one_of("'{}'", "'{1,NULL}'", "'{2,3}'", 'NULL') . '::int[])' },
		sub { text_term() . ' ' . one_of('=', '<>', 'IS DISTINCT FROM') . ' ' . text_value() },
		sub { int_term($depth) . ' IS ' . one_of('NULL', 'NOT NULL') },
		sub { text_term() . ' IS ' . one_of('NULL', 'NOT NULL') },
		sub { 'tags ' . one_of('&&', '@>') . ' ' . one_of("'{1}'", "'{}'", "'{2,3}'", "'{1,NULL}'", 'NULL') . '::int[]' },
		sub { one_of(1, 2, 'NULL::int') . one_of(' = ANY (tags)', ' <> ALL (tags)') },
		sub { "v @@ '" . one_of('wa', 'w3 | wa', '!wa', 'w1:*', '', 'wa:A', 'wa <-> w3') . "'::tsquery" },
		sub { bool_value() })->();
}

sub bool_term
{
	my ($depth) = @_;

	return atom($depth) if $depth <= 0 || rand() < 0.15;
	my $x = '(' . bool_term($depth - 1) . ')';

	return one_of(
		sub { "NOT $x" }, sub { "$x IS " . one_of('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN') },
		sub { "$x IS " . one_of('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE') }, sub { "$x IS " . one_of('NULL', 'NOT NULL') },
		sub { "coalesce($x, " . bool_value() . ')' }, sub { "coalesce($x, (" . bool_term($depth - 1) . '))' },
		sub { "$x AND (" . bool_term($depth - 1) . ')' }, sub { "$x OR (" . bool_term($depth - 1) . ')' },
		sub { "$x IS " . one_of('', 'NOT ') . 'DISTINCT FROM ' . bool_value() },
		sub { 'CASE ' . int_term($depth - 1) . ' WHEN ' . int_value() . " THEN $x WHEN " . int_value() . ' THEN ' . bool_value() . ' END' },
		sub { "CASE $x WHEN " . bool_value() . ' THEN (' . bool_term($depth - 1) . ') ELSE ' . bool_value() . ' END' },
		sub { "CASE WHEN $x THEN (" . bool_term($depth - 1) . ') ELSE ' . bool_value() . ' END' })->();
}

my @conds = map { '(' . bool_term(1 + $_ % 3) . ')' } 1 .. $generated;
my ($wrong, $by_index) = (0, 0);
for my $i (0 .. $#conds)
{
	my $differs = $s->value("SELECT differs('" . one_of('docs', 'docs', 'parts', 'few') . "', ${\quote($conds[$i])})");

	diag($differs) if $differs ne '' && $wrong++ < 5;
	$by_index += $s->value("SELECT is_counted('docs', ${\quote($conds[$i])})") eq 't';
}
is($wrong, 0, "$generated generated conditions give the rows of a table without an index");
cmp_ok($by_index, '>', $generated / 2, "$by_index of them are counted by the index");

# ---- with parameters, in generic plans ----

sub prepared
{
	my ($cond, @values) = @_;
	my @names = ('bare', 'docs', 'parts');
	my $n = 0;
	my @answers;

	$s->value("SET plan_cache_mode = force_generic_plan; SELECT by('count') \\g /dev/null");
	for my $table (@names)
	{
		$s->value("PREPARE p$n (int, int, text, bool) AS SELECT count(*), sum(id) FROM (SELECT id FROM $table WHERE $cond OFFSET 0) x");
		$s->value("PREPARE c$n (int, int, text, bool) AS SELECT count(*) FROM $table WHERE $cond");
		push @answers, join ' / ', map { $s->value("EXECUTE p$n ($_)") . ' ' . $s->value("EXECUTE c$n ($_)") } @values;
		$n++;
	}
	my $counted = $s->value('EXPLAIN EXECUTE c1 (1, 2, NULL, NULL)') =~ /Skipidx Count/;

	$s->value('DEALLOCATE ALL; RESET plan_cache_mode');
	return ($counted, @answers);
}

my @values = ("1, 2, 's1', true", "NULL, 0, '', false", 'NULL, NULL, NULL, NULL');
for my $form ('flag = $4', 'coalesce(flag, false) = $4', 'flag IS NOT DISTINCT FROM $4', 'flag IS DISTINCT FROM $4',
	'a IS NOT DISTINCT FROM $1', 'a IS DISTINCT FROM $1', 'coalesce(a, 0) = $1', 'coalesce(a, $1) = $2', "coalesce(s, '') = \$3",
	"nullif(s, '') = \$3", '$1 IS NULL OR a = $1', '($1 IS NULL OR a = $1) AND ($3 IS NULL OR s = $3) AND ($4 IS NULL OR flag = $4)',
	'(a = $1 OR a IS NULL AND $1 IS NULL)', '(a = $1) IS NOT TRUE', 'CASE WHEN $4 THEN a = $1 ELSE b = $2 END')
{
	my ($counted, @answers) = prepared($form, @values);

	ok($counted, "$form: counted by a generic plan");
	is($answers[$_], $answers[0], "$form: the rows of " . (qw(bare docs parts))[$_]) for 1, 2;
}
$params = 1;
$wrong = 0;
for (1 .. $generated / 5)
{
	my $cond = bool_term(1 + $_ % 3);
	my ($counted, @answers) = prepared($cond, @values);

	diag("$cond: @answers") if (grep { $_ ne $answers[0] } @answers) && $wrong++ < 5;
}
is($wrong, 0, 'generated conditions with parameters give the same');

# ---- values of another table ----

for my $cond ('d.a = 1 AND o.a = 2 OR d.a = 3 AND o.flag', 'd.a IS NOT DISTINCT FROM o.b', 'd.v @@ \'wa\' AND coalesce(d.a, 0) = o.a', 'o.flag OR d.a = o.a')
{
	my $join = "FROM (SELECT * FROM bare WHERE id < 30 OFFSET 0) o, %s d WHERE $cond";

	$s->value("SELECT by('plain') \\g /dev/null; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off");
	like($s->value(sprintf "EXPLAIN SELECT o.id, d.id $join", 'docs'), qr/Index Scan using docs_skx on docs d .*\n *Index Cond: .*(?:@@\||a = o)/, "$cond: asked by rows of another table") if $cond !~ / AND /;
	is($s->value(sprintf "SELECT count(*), sum(d.id * o.id) $join", 'docs'), $s->value(sprintf "SELECT count(*), sum(d.id * o.id) $join", 'bare'), "$cond: the rows");
	$s->value('RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material');
}

# ---- bounds ----

my $nested = 'flag';
$nested = "coalesce($nested, a = $_)" for 1 .. 300;
$s->value('SET statement_timeout = 20000');
is($s->value("SELECT differs('docs', ${\quote(qq{NOT $nested})})"), '', 'an expression of 300 levels is planned');
is($s->value("SELECT differs('docs', ${\quote(join ' AND ', map { qq{(a = $_ AND b = $_ OR flag) IS NOT TRUE} } 1 .. 30)})"), '', '30 in a conjunction');
$s->value('RESET statement_timeout');

$s->close;
$node->stop;
done_testing();
