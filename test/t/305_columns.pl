# Columns beside the text, on rows their conditions were drawn from: index scans,
# plain, by bitmap and by rank, give what the sequential scan gives, in every state
# an index can be in; and values are no words: statistics and scores are those of
# an index on the text alone.  A rare value passes over the lists of common words.
# What is too long is refused, and stores nothing.
#
# Long: 2000 queries, else 500 (SKX_RANK_QUERIES).
#
# Holds: am 4; column 1, 2; condition 1, 3; plan 15, 22, 23, 24, 26, 28; query 2, 4; topk 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_install_try);
use SkipidxTeam;
use SkipidxWire qw(wire_copy);
use Test::More;
use Time::HiRes qw(time);

my $seed = skx_seed(305);
my $whole = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000;
my $queries = $whole ? 2000 : 500;
my $node = skx_node('columns', streaming => 1, conf => <<'CONF');
max_worker_processes = 8
max_parallel_workers = 4
min_parallel_table_scan_size = 0
skipidx.cache_size = 1MB
# VACUUM flushes and merges each index by what is pending in it alone
autovacuum = off
CONF
my $dir = PostgreSQL::Test::Utils::tempdir();

note "seed $seed";
skx_database($node, 'd');
skx_install_try($node, 'd');
my $s = skx_session($node, 'd');

# An index of the same rows without columns: no query implies its predicate, so
# that only statistics and scores come from it.
my $functions = <<'SQL';
CREATE TABLE docs (id int, v tsvector, tenant int, category text, tags text[], flag bool,
	amount numeric, day date, f float8, code char(6)) WITH (parallel_workers = 2);
CREATE INDEX docs_skx ON docs USING skipidx (v, tenant, category, tags, flag, amount, day, f, code)
	WITH (pending_limit = '1GB', block_size = '8kB');
CREATE INDEX docs_text ON docs USING skipidx (v)
	WITH (pending_limit = '1GB', block_size = '8kB') WHERE id IS NOT NULL;
CREATE TABLE asked (qid int PRIMARY KEY, cond text, rank text);
CREATE TABLE hostile (name text, q tsquery);

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_sort', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, false),
		set_config('enable_indexscan', (mode = 'plain')::text, false);
END $$;

CREATE FUNCTION statement(cond text, rank text, mode text, k int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN rank IS NULL THEN
		'SELECT coalesce(array_agg(ctid ORDER BY ctid), ''{}''), NULL::float4[] FROM docs WHERE ' || cond
	ELSE format('SELECT coalesce(array_agg(c), ''{}''), array_agg(d) FROM (SELECT ctid AS c, v <@> %1$L::tsquery AS d'
		' FROM docs WHERE %2$s ORDER BY v <@> %1$L::tsquery%3$s%4$s) s', rank, cond,
		CASE WHEN mode = 'seq' THEN ', ctid' ELSE '' END, CASE WHEN k > 0 THEN ' LIMIT ' || k ELSE '' END) END
$$;

-- What the index counts and lists without a row, where it can.
CREATE FUNCTION counted(cond text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	counts text;
BEGIN
	EXECUTE format('SELECT format(''%%s rows, %%s of a column, %%s values: %%s'', (SELECT count(*) FROM docs WHERE %1$s),'
		' (SELECT count(tenant) FROM docs WHERE %1$s), count(*), coalesce(string_agg(coalesce(tenant::text, ''NULL''), '' '' ORDER BY tenant), ''''))'
		' FROM (SELECT DISTINCT tenant FROM docs WHERE %1$s) d', cond) INTO counts;
	RETURN counts;
END $$;

-- That a plan is not by the index; costs decide which conditions a filter has, and
-- `false` needs none.  An array that is NULL implies the predicate of docs_text.
CREATE FUNCTION left_over(stmt text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	by_index bool := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || stmt LOOP
		by_index := by_index OR line ~ 'Scan (using|on) docs_skx';
		by_index := by_index OR line ~ 'One-Time Filter: false';
	END LOOP;
	RETURN CASE WHEN NOT by_index THEN 'without the index' END;
END $$;

CREATE FUNCTION run(part int, stride int, plans bool, OUT queries int, OUT matched int, OUT n_rows int8, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	tids tid[];
	dist float4[];
	got tid[];
	gotd float4[];
	what text;
	stmt text;
	mode text;
	k int;
	counts text;
BEGIN
	queries := 0; matched := 0; n_rows := 0; wrong := '{}';
	FOR one IN SELECT * FROM asked WHERE qid % stride = part ORDER BY qid LOOP
		PERFORM set_mode('seq');
		EXECUTE statement(one.cond, one.rank, 'seq', 0) INTO tids, dist;
		counts := CASE WHEN one.qid % 3 = 0 THEN counted(one.cond) END;
		queries := queries + 1;
		PERFORM set_mode('plain'), set_config('enable_bitmapscan', 'on', false);
		IF counts IS NOT NULL AND counted(one.cond) <> counts THEN
			wrong := wrong || format('%s: %s, not %s: %s', one.qid, counted(one.cond), counts, one.cond);
		END IF;
		matched := matched + (cardinality(tids) > 0)::int;
		n_rows := n_rows + cardinality(tids);
		FOREACH mode IN ARRAY CASE WHEN one.rank IS NULL THEN '{bitmap,plain}' ELSE '{plain,first}' END::text[] LOOP
			k := CASE WHEN mode = 'first' THEN 1 + one.qid % 25 ELSE 0 END;
			PERFORM set_mode(CASE WHEN mode = 'first' THEN 'plain' ELSE mode END);
			stmt := statement(one.cond, one.rank, mode, k);
			what := CASE WHEN plans AND mode <> 'bitmap' AND one.cond NOT LIKE '%ANY (NULL%' THEN left_over(stmt) END;
			EXECUTE stmt INTO got, gotd;
			IF k > 0 AND (got, coalesce(gotd, '{}')) IS DISTINCT FROM (tids[1:k], coalesce(dist[1:k], '{}'))
				OR k = 0 AND (got, gotd) IS DISTINCT FROM (tids, dist) THEN
				what := format('%s of %s rows, k %s', cardinality(got), cardinality(tids), k);
			END IF;
			IF what IS NOT NULL THEN
				wrong := wrong || format('%s %s: %s: %s rank %s', one.qid, mode, what, one.cond, one.rank);
			END IF;
		END LOOP;
	END LOOP;
	PERFORM set_mode('seq');
END $$;

-- In what the two indexes differ.
CREATE FUNCTION text_differs() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one record;
	n int;
	parts text := '';
BEGIN
	SELECT string_agg(format('%s %s for %s', a.key, a.value, b.value), ', ') INTO parts
	FROM jsonb_each(to_jsonb(skipidx_stats('docs_skx'))) a JOIN jsonb_each(to_jsonb(skipidx_stats('docs_text'))) b USING (key)
	WHERE key IN ('ndocs', 'deleted', 'null_docs', 'total_length', 'avg_length', 'positions', 'segments',
		'pending_docs', 'pending_dead') AND a.value <> b.value;
	parts := coalesce(parts, '');
	FOR one IN SELECT name, q FROM hostile UNION ALL SELECT rank, rank::tsquery FROM asked WHERE qid % 40 = 0 AND rank IS NOT NULL LOOP
		SELECT count(*) INTO n FROM docs WHERE (v <@> skipidx_query(one.q, 'docs_skx'))
			IS DISTINCT FROM (v <@> skipidx_query(one.q, 'docs_text'));
		parts := parts || CASE WHEN n > 0 THEN format(' %s distances of %s', n, one.name) ELSE '' END;
	END LOOP;
	RETURN parts;
END $$;

-- Queries that no text can write: in rows and by rank.
CREATE FUNCTION hostile_differs() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	one record;
	mode text;
	tids tid[];
	dist float4[];
	got tid[];
	gotd float4[];
	parts text := '';
BEGIN
	FOR one IN SELECT * FROM hostile LOOP
		PERFORM set_mode('seq');
		SELECT coalesce(array_agg(ctid ORDER BY ctid), '{}') INTO tids FROM docs WHERE v @@ one.q;
		FOREACH mode IN ARRAY '{bitmap,plain}'::text[] LOOP
			PERFORM set_mode(mode);
			EXECUTE 'SELECT coalesce(array_agg(ctid ORDER BY ctid), ''{}'') FROM docs WHERE v @@ $1' INTO got USING one.q;
			parts := parts || CASE WHEN got <> tids THEN format(' %s: %s of %s rows by %s', one.name, cardinality(got),
				cardinality(tids), mode) ELSE '' END;
		END LOOP;
		PERFORM set_mode('seq');
		EXECUTE 'SELECT array_agg(c), array_agg(d) FROM (SELECT ctid AS c, v <@> $1 AS d FROM docs ORDER BY v <@> $1, ctid) s'
			INTO tids, dist USING one.q;
		PERFORM set_mode('plain');
		EXECUTE 'SELECT array_agg(c), array_agg(d) FROM (SELECT ctid AS c, v <@> $1 AS d FROM docs ORDER BY v <@> $1) s'
			INTO got, gotd USING one.q;
		parts := parts || CASE WHEN (tids, dist) IS DISTINCT FROM (got, gotd) THEN format(' %s by rank', one.name) ELSE '' END;
	END LOOP;
	PERFORM set_mode('seq');
	RETURN parts;
END $$;
SQL

# ---- rows and conditions ----

my $rows = 0;
my @rows;

sub one_of { return $_[ rand @_ ]; }

sub quoted { return defined $_[0] ? "'" . ($_[0] =~ s/'/''/gr) . "'" : 'NULL'; }

sub words
{
	my @words = map { one_of('wa', 'wa', 'wb', 'wc', 'wd', 'xe' . int rand 40) } 1 .. int rand 9;
	my $at = 0;

	return join ' ', map { rand() < 0.3 ? $_ : "$_:" . ++$at . one_of('', '', 'A', 'C') } @words;
}

sub array
{
	return '{' . join(',', map { $_ // 'NULL' } @_) . '}';
}

sub new_row
{
	my @tags = map { rand() < 0.1 ? undef : 't' . int rand 5 } 1 .. int rand 4;

	return {
		id => ++$rows,
		v => rand() < 0.1 ? undef : words(),
		tenant => rand() < 0.1 ? undef : int(rand 12) - 3,
		category => rand() < 0.1 ? undef : one_of('', 'a', 'A', 'a ', "it's", 'long' x 500, map { "c$_" } 1 .. 5),
		tags => rand() < 0.1 ? undef : array(@tags),
		flag => rand() < 0.2 ? undef : one_of('t', 'f'),
		amount => rand() < 0.1 ? undef : one_of('NaN', '0', '0.00', '1.5', '1.50', '-1.5', '1e40', 'Infinity', int rand 9),
		day => rand() < 0.1 ? undef : one_of('infinity', '-infinity', map { "2020-01-0$_" } 1 .. 9),
		f => rand() < 0.1 ? undef : one_of('0', '-0', 'NaN', '1.5', '-1.5', 'Infinity', int rand 5),
		code => rand() < 0.1 ? undef : one_of('', 'a', 'ab', 'abc', ' a', 'abcdef')
	};
}

my @columns = qw(id v tenant category tags flag amount day f code);

sub load
{
	my ($n) = @_;
	my @new = map { new_row() } 1 .. $n;

	push @rows, @new;
	$s->value('INSERT INTO docs VALUES ' . join(', ', map {
		my $row = $_;
		'(' . join(', ', map { quoted($row->{$_}) } @columns) . ')' } @new));
	return;
}

sub shuffled_tags
{
	my ($tags) = @_;
	my @tags = map { $_ eq 'NULL' ? undef : $_ } split /,/, ($tags // '{}') =~ s/[{}]//gr;

	push @tags, $tags[0] if @tags && rand() < 0.3;
	push @tags, undef if rand() < 0.1;
	@tags = reverse @tags if rand() < 0.5;
	return @tags;
}

sub ranges
{
	my ($column, $value, $other, $high) = @_;

	return ("$column <= $value", "$value <= $column", "$column < $other", "$column > $other AND $column < $high",
		"$column BETWEEN $value AND $high", "$column > $value AND $column >= $other");
}

# A condition on one column, true for the row if it has the value, mostly.
my %makers = (
	tenant => sub {
		my $value = $_[0] // 99;

		return one_of("tenant = $value", "tenant = ($value)::int8", "($value)::int2 = tenant",
			"tenant IN ($value, 3, 4)", "tenant = ANY ('{NULL,$value,$value}'::int8[])", 'tenant = NULL',
			'tenant = ANY (NULL::int[])', ranges('tenant', $value, '2::int8', '99'),
			"tenant <> $value", "tenant IS DISTINCT FROM $value", "tenant IS NOT DISTINCT FROM $value",
			"coalesce(tenant, $value) = $value", "(tenant = $value) IS NOT FALSE", "tenant <> 2::int8", "tenant NOT IN (1, $value)", "tenant <> ALL ('{3,4,5}'::int8[])", "tenant <> ANY ('{$value}')",
			"tenant < ANY ('{NULL,$value,-2}'::int8[])", "tenant >= ANY ('{9,$value}'::int2[])");
	},
	category => sub {
		my $value = quoted($_[0] // 'none');

		return one_of("category = $value", "category = $value\::varchar", "category IN ($value, 'a', 'c1')",
			"category <> $value", "category NOT IN ($value, 'a', 'c1')", "category IS DISTINCT FROM $value");
	},
	tags => sub {
		my @tags = shuffled_tags($_[0]);
		my $all = quoted(array(@tags));
		my $part = quoted(array(@tags[ 0 .. int(@tags / 2) - 1 ]));
		my $one = quoted($tags[0] // 'none');

		return one_of("tags = $all", "tags = $all", 'tags = ' . quoted($_[0] // '{}'), "tags @> $part", "tags && $part",
			"tags @> $all", "tags && $all", "$one = ANY (tags)", q{tags = '{}'}, q{tags @> '{}'}, q{tags && '{}'},
			q{tags = '{NULL}'}, q{tags @> '{NULL}'},
			"NOT (tags && $part)", "NOT (tags @> '{none}')", "NOT (tags && $all)", "$one <> ALL (tags)", "tags !&& '{none}'");
	},
	flag => sub { return one_of('flag', 'NOT flag', 'flag IS TRUE', 'flag IS FALSE', 'flag = true', 'flag = false',
		'flag IS UNKNOWN', 'flag IS NOT UNKNOWN', 'flag IS NOT TRUE', 'flag IS NOT FALSE', 'coalesce(flag, false) = false',
		'flag IS DISTINCT FROM true') },
	amount => sub {
		my $value = quoted($_[0] // 7);

		return one_of("amount = $value", "amount <> $value", "amount NOT IN ($value, 1.500, 'NaN')", "amount = $value\::numeric + 0.000", "amount IN ($value, 1.500)",
			ranges('amount', $value, '1.50', "'Infinity'"));
	},
	day => sub {
		my $value = quoted($_[0] // '2020-02-02');

		return one_of("day = $value", "day <> timestamp $value", "day NOT IN ($value, '2020-01-03')", "day = timestamp $value", "day = timestamp $value + '1 s'", "day IN ($value, '2020-01-03')",
			ranges('day', $value, "timestamp '2020-01-04 12:00'", "'infinity'"));
	},
	f => sub {
		my $value = quoted($_[0] // 8);

		return one_of("f = $value", "f <> $value", "f NOT IN ($value, 0)", "f = $value\::float4", "f = -($value\::float8)", "f IN ($value, 0)",
			ranges('f', $value, '-0.0', "'NaN'::float4"));
	},
	code => sub {
		my $value = quoted($_[0] // 'none');

		return one_of("code = $value", "code <> $value", "code = ($value || '  ')::bpchar", "code IN ($value, 'ab ')");
	});

# What an index is asked for something else than itself: comparisons of rows, the
# same spelled out, and disjunctions; also where the row's own value is NULL.
sub derived_condition
{
	my ($row) = @_;
	my ($name, $none) = @{ one_of([ tenant => 2 ], [ day => '2020-01-05' ], [ f => 1 ], [ amount => 3 ]) };
	my $value = quoted($row->{$name} // $none);
	my $op = one_of('<', '>');
	my $id = $row->{id} - 5 + int rand 10;

	return one_of("($name, id) $op ($value, $id)", "(id, $name) $op= ($id, $value) AND v IS NOT NULL", "($name, tenant, id) $op= ($value, 3, $id)",
		"($value, $id) $op ($name, id)", "($name $op $value OR ($name = $value AND id $op $id))",
		"($name $op $value OR (id $op= $id AND $name = $value))", "($name $op= $value OR ($value = $name AND id = $id) OR $name = $value)",
		"($name = $value OR $name = '$none')", "($name = $value OR '$none' = $name OR id = $id)",
		"(v @@ '" . text_query() . "' OR v @@ '" . text_query() . "')",
		"(v @@ '" . text_query() . "' OR $name = $value)", "NOT ($name = $value OR $name = '$none') AND v IS NOT NULL");
}

sub null_test { return "$_[0] IS " . one_of('NULL', 'NULL', 'NOT NULL'); }

sub text_query
{
	return one_of('wa', 'wb', 'wc & wa', 'wa | xe3', '!wa', '!wb & !wc', 'w:*', 'wa <-> wb', 'wa:A | wd', 'xe7', '!(wa & wb)',
		'xe1:* & !wd', '(wa | wb) & (wc | wd)', 'nosuch', 'wa <-> w:*', 'wc:A & w:* | w:* <2> wd', '!wa <-> (xe1:* | wb)');
}

sub text_condition
{
	my $kind = rand;

	return "v @@ '" . text_query() . "'" if $kind < 0.6;
	return "v @@ ANY (ARRAY['" . join("', '", map { text_query() } 1 .. 1 + rand 3) . "', NULL]::tsquery[])" if $kind < 0.8;
	return null_test('v');
}

# Arms of one or two conditions each, most of them on several columns.
sub disjunction
{
	my @arms;

	for (1 .. 2 + int rand 3)
	{
		my $row = one_of(@rows);
		my @names = sort { $a->[1] <=> $b->[1] } map { [ $_, rand ] } sort keys %makers;
		my @parts = map { !defined $row->{$_} || rand() < 0.1 ? null_test($_) : $makers{$_}->($row->{$_}) }
		  map { $_->[0] } @names[ 0 .. (rand() < 0.3 ? 1 : 0) ];

		push @parts, text_condition() if rand() < 0.2;
		push @arms, join ' AND ', map { "($_)" } @parts;
	}
	return '(' . join(' OR ', map { "($_)" } @arms) . ')';
}

# The first ones are of one column each.
sub new_condition
{
	my ($n) = @_;
	my $row = one_of(@rows);
	my $only = (sort keys %makers)[ $n % keys %makers ];

	return $makers{$only}->($row->{$only}) if $n < 96;
	my @names = sort { $a->[1] <=> $b->[1] } map { [ $_, rand ] } sort keys %makers;
	my @cond;

	for my $name (map { $_->[0] } @names[ 0 .. int(rand 3) ])
	{
		push @cond, !defined $row->{$name} || rand() < 0.1 ? null_test($name) : $makers{$name}->($row->{$name});
	}
	unshift @cond, text_condition() if rand() < 0.65;
	push @cond, text_condition() if rand() < 0.1;
	push @cond, derived_condition($row) if rand() < 0.2;
	shift @cond if @cond > 1 && rand() < 0.2;
	# never alone: with arms on the text, the server has bitmaps of these
	push @cond, disjunction() if rand() < 0.25;
	return join ' AND ', @cond;
}

# ---- states ----

sub differ
{
	my ($what, $stride, %opt) = @_;
	my $on = $opt{on} // $s;
	my $part = length($what) % $stride;
	my $args = join ', ', $part, $stride, $opt{plans} ? 'true' : 'false';
	my ($asked, $matched, $n, @wrong) = split /\n/, $on->value(
		"SELECT unnest(ARRAY[queries::text, matched::text, n_rows::text] || wrong[1:8]) FROM run($args)");

	ok($asked > 0 && $matched > $asked / 4 && @wrong == 0, "$what: $asked queries, $matched match, $n rows")
	  or diag(join "\n", @wrong);
	return;
}

sub state
{
	my ($what, $stride, %opt) = @_;

	differ($what, $stride, %opt);
	is($s->value('SELECT text_differs()'), '', "$what: statistics and scores are those of the text");
	is($s->value('SELECT hostile_differs()'), '', "$what: a prefix of no letters finds no value");
	is($s->raw("SELECT skipidx_check('$_', true)"), '', "$what: skipidx_check of $_") for qw(docs_skx docs_text);
	return;
}

sub both
{
	my ($call) = @_;

	return $s->value("SELECT $call" =~ s/INDEX/'docs_skx'/r . " \\g /dev/null\nSELECT $call" =~ s/INDEX/'docs_text'/r . " \\g /dev/null\n");
}

$s->value($functions);
load(900);

# All words, in queries as some minor versions take them in binary: operands are
# [lexeme, labels, prefix] or an operator with the offset of its left side.
sub inner_query
{
	my (@items) = @_;
	my ($out, $words) = ('', '');

	for (@items)
	{
		my ($what, @of) = @$_;

		$out .= $what =~ /^[12]$/ ? pack('c c s L L', 2, $what, 0, @of, 0) : pack('c C c x l L', 1, @of, 0, length($what) | length($words) << 12);
		$words .= "$what\0" if $what !~ /^[12]$/;
	}
	return unpack 'H*', pack('l', scalar @items) . $out . $words;
}

my %hostile = ('any word' => [ [ '', 0, 1 ] ], 'any word:A' => [ [ '', 8, 1 ] ], 'no word' => [ [ 1, 1 ], [ '', 0, 1 ] ],
	'the empty word' => [ [ '', 0, 0 ] ], 'wa & any word' => [ [ 2, 2 ], [ '', 0, 1 ], [ 'wa', 0, 0 ] ]);

$s->value('CREATE CAST (bytea AS tsquery) WITHOUT FUNCTION');
$s->value("INSERT INTO hostile SELECT '$_', '\\x" . inner_query(@{ $hostile{$_} }) . "'::bytea::tsquery") for sort keys %hostile;
is($s->value(q{SELECT count(*) > 500 AND count(*) < 900 FROM docs, hostile WHERE name = 'any word' AND v @@ q}), 't',
	'a prefix of no letters finds what has a word');

my @asked;

push @asked, join ', ', '(' . @asked, 'E' . quoted(new_condition(scalar @asked) =~ s/\\/\\\\/gr),
  (@asked % 5 < 2 ? quoted(one_of('wa', 'wa | wb', 'wb & xe3', 'w:*', 'nosuch', '!wa', 'wc:A | xe1:*', 'wa <-> wb | wd')) : 'NULL') . ')'
  for 1 .. $queries;
$s->value('INSERT INTO asked VALUES ' . join ', ', @asked);
$s->value('ANALYZE docs');

state('pending', 1, plans => 1);

for my $n (1 .. 3)
{
	both('skipidx_flush(INDEX)');
	load(150);
}
is($s->value("SELECT segments FROM skipidx_stats('docs_skx')"), 3, 'three segments and pending documents');
state('several', 1);

my $methods = $s->value("LOAD 'skipidx'; SELECT string_agg(m, ',') FROM pg_settings, unnest(enumvals) m WHERE name = 'skipidx.io_method'");

for my $method (split /,/, $methods)
{
	$s->value("SET skipidx.io_method = $method; SELECT skipidx_cache_reset()");
	differ("several, $method", 12);
}
$s->value('RESET skipidx.io_method');

# ---- a standby ----

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('columns_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
load(60);
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = skx_session($standby, 'd');
differ('standby', 5, on => $there);
is($there->value('SELECT text_differs()'), '', 'standby: statistics and scores are those of the text');
is($there->value("SELECT skipidx_stats('docs_skx')"), $s->value("SELECT skipidx_stats('docs_skx')"), 'standby: statistics are those of the primary');
$there->close;
$standby->stop;

# ---- rows that go, and other values of them ----

$s->value('DELETE FROM docs WHERE id % 4 = 1; UPDATE docs SET tenant = 1, tags = tags || $${t1}$$::text[], flag = NOT flag WHERE id % 9 = 2');
state('deleted', 4);
$s->value('VACUUM docs');
# which index has flushed and merged is no matter of the other's
differ('vacuumed', 3);
both('skipidx_flush(INDEX)');
both('skipidx_merge(INDEX, 1)');
is($s->value("SELECT segments || ' ' || deleted FROM skipidx_stats('docs_skx')"), '1 0', 'merged without the dead');
state('merged', 2);
load(200);
$s->value('DELETE FROM docs WHERE id % 50 = 7');
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
state('crashed', 3);

my $team = SkipidxTeam->new($node, 'd');

for my $index ('docs_skx', 'docs_text')
{
	my ($said, $took) = $team->held($s, 2, "REINDEX INDEX $index");

	is($said, '', "$index is rebuilt");
	is($took->{shares}, 2, "$index: by two workers");
}
$s->value('RESET max_parallel_maintenance_workers');
state('rebuilt', 2);

# ---- what does not fit ----

sub refused
{
	my ($what, $statement, $message) = @_;
	my $before = $s->value("SELECT ndocs FROM skipidx_stats('docs_skx')");

	like($s->raw($statement), $message, $what);
	is($s->value("SELECT ndocs FROM skipidx_stats('docs_skx')"), $before, "$what: nothing is stored");
	return;
}

my $long = q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 64) i)};

$s->value("INSERT INTO docs (id, category) SELECT -1, left($long, 2044)");
refused('2,045 bytes', "INSERT INTO docs (id, category) SELECT -2, left($long, 2045)",
	qr/54000: a value of column "category" is too long.*DETAIL: .*2045 bytes; 2044.*HINT:/s);
refused('an element', "INSERT INTO docs (id, tags) SELECT -2, ARRAY['a', left($long, 2045)]", qr/54000: a value of column "tags" is too long/);
refused('an update', "UPDATE docs SET category = left($long, 2045) WHERE id = -1", qr/54000: a value/);
refused('values of 1 MB', "INSERT INTO docs (id, tags) SELECT -2, array_agg(lpad(i::text, 2000, 'x')) FROM generate_series(1, 600) i",
	qr/54000: the columns of a row are too long/);
refused('values and text of 1 MB', "INSERT INTO docs (id, v, tags) SELECT -2, array_to_tsvector(array_agg(lpad(i::text, 2000, 'y'))),"
	  . " array_agg(lpad(i::text, 2000, 'x')) FROM generate_series(1, 300) i", qr/54000: .*(long|large)/);
$s->value("INSERT INTO docs (id, v, tags) SELECT -3, 'wa', array_agg('e' || i) FROM generate_series(1, 10000) i");

# By the index, and how often with a value of the length that does not fit.
$s->value("SELECT set_mode('plain')");
for my $when ('pending', 'flushed')
{
	is($s->value("SELECT count(*) FROM docs WHERE category = left($long, $_)"), $_ == 2044 ? 1 : 0, "$when: a value of $_ bytes") for 2044, 2045;
	is($s->value("SELECT count(*) FROM docs WHERE category IN (left($long, 2044), left($long, 2045))"), 1, "$when: among others");
	is($s->value("SELECT id FROM docs WHERE tags @> (SELECT array_agg('e' || i) FROM generate_series(1, 10000) i)"), -3, "$when: 10,000 elements");
	is($s->value("SELECT id FROM docs WHERE 'e777' = ANY (tags) AND v @@ 'wa'"), -3, "$when: one of them");
	is($s->value("SELECT count(*) FROM docs WHERE tenant IN (" . join(',', -3 .. 100000) . ')'),
		$s->value("SELECT count(*) FROM docs WHERE tenant IS NOT NULL"), "$when: one of 100,000");
	both('skipidx_flush(INDEX)');
}
$s->value("SELECT set_mode('seq')");

# Cancelled, whenever: within each of its steps, or done.
my $many = 'SELECT count(*) FROM docs WHERE tenant = ANY ((SELECT array_agg(i) FROM generate_series(-3, 200000) i)::int[])';
$s->value("SELECT set_mode('plain')");
my $from = time;
$s->value($many);
my $took = time - $from;
for my $share (0.3, 0.5, 0.8)
{
	my $ms = int(1000 * $took * $share) + 1;

	$from = time;
	like($s->raw("SET statement_timeout = $ms; $many"), qr/57014|^\d+$/m, "ended after $ms ms");
	cmp_ok(time - $from, '<', 2 + 2 * $took, 'in time');
	# a timeout that came as the statement ended may hit the next one
	$s->raw('RESET statement_timeout');
	$s->value('RESET statement_timeout');
}
$s->value("SELECT set_mode('seq')");

# A tsvector has no zero byte, whatever is sent.
wire_copy("$dir/v", [ pack('N', 1) . "\0\1\0\0" . pack('n', 0) ]);
like($s->raw("COPY docs (v) FROM '$dir/v' (FORMAT binary)"), qr/ERROR/, 'a lexeme that looks like a value is refused');
state('in the end', 4);

# ---- work ----

# One row in 1,000 has a given value of spread, close or list; all have `all`, half
# of them `half`.
$s->value(<<'SQL');
CREATE TABLE work (id int, v tsvector, spread int, close int, list int[], gap int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN hashint4(i) & 1 = 0 THEN '{half}'::text[] ELSE '{}' END),
	i % 1000, i / 200, ARRAY[i % 1000, -1 - i % 1000], CASE WHEN i % 1000 <> 7 THEN 1 END FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, spread, close, list, gap) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL

sub subblocks
{
	my ($statement) = @_;
	my $count = 'SELECT subblocks + windows_filled FROM skipidx_work()';

	$s->value("SELECT set_mode('plain')");
	my $at = $s->value($count);
	my $n = $s->value($statement);
	my $spent = $s->value($count) - $at;

	$s->value("SELECT set_mode('seq')");
	note "$statement: $n rows, $spent sub-blocks";
	return ($n, $spent);
}

my (undef, $all) = subblocks(q{SELECT count(*) FROM work WHERE v @@ 'half'});

cmp_ok($all, '>', 700, 'sub-blocks of a common word');

# Of each: how many documents have it, in how many places of the common list.
for my $case ([ 'spread = 77', 200, 200 ], [ 'close = 77', 200, 3 ], [ q{list @> '{77}'}, 200, 200 ], [ q{list && '{-77}'}, 200, 200 ],
	[ '77 = ANY (list)', 200, 200 ], [ 'gap IS NULL', 200, 200 ], [ 'close IN (77, 177, 277)', 600, 9 ], [ 'spread = 477 AND close = 77', 1, 1 ],
	[ '(close = 77 OR spread = 77)', 400, 203 ], [ '(close = 77 OR spread = 477 AND close = 177)', 201, 4 ])
{
	my ($cond, $rows, $places) = @$case;
	my ($n, $spent) = subblocks("SELECT count(*) FROM work WHERE v @@ 'half' AND $cond");

	ok($n >= int($rows / 4) && $n <= $rows, "$cond: $n rows");
	cmp_ok($spent, '>=', $places == 200 ? 100 : 2, "$cond: sub-blocks are counted");
	cmp_ok($spent, '<=', $places + 12, "$cond: and few are decoded");
	($n, $spent) = subblocks("SELECT count(*) FROM (SELECT id FROM work WHERE v @@ 'half' AND $cond ORDER BY v <@> 'half'::tsquery LIMIT 1000) s");
	ok($n >= int($rows / 4) && $n <= $rows, "$cond: $n rows by rank");
	cmp_ok($spent, '<=', 2 * $places + 24, "$cond: few are decoded for ranks");
}

# Keys that lie anywhere are not gone through for a range beside a word: those of
# the word's documents are tested.  Without a word, or beside a common one, lists
# of the values are gone through, up to a number of these, then all keys; and
# where keys follow the table, those of a few groups.
$s->value(<<'SQL');
DROP TABLE work;
CREATE TABLE work (id int, v tsvector, mixed int, follows int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN i % 100 = 3 THEN '{some}'::text[] ELSE '{}' END),
	hashint4(i), i FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, mixed, follows) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL
my $hundredth = 'mixed BETWEEN 0 AND 42949672';
my $tenth = 'mixed BETWEEN 0 AND 429496729';

for my $case ([ "v @@ 'some' AND $hundredth", 2000, 2000 ], [ $hundredth, 0, 0 ], [ $tenth, 200000, 200000 ],
	[ "v @@ 'all' AND $hundredth", 0, 0 ], [ "v @@ 'all' AND $tenth", 200000, 200000 ], [ 'follows BETWEEN 100000 AND 105000', 1, 256 ],
	[ "v @@ 'all' AND follows BETWEEN 100000 AND 105000", 1, 256 ], [ "v @@ 'some' AND mixed > 0", 2000, 2000 ],
	[ "v @@ 'all & some' AND $hundredth", 2000, 2000 ])
{
	my ($cond, $least, $most) = @$case;
	my $at = $s->value('SELECT keys_tested FROM skipidx_work()');

	$s->value("SELECT set_mode('plain')");
	my $n = $s->value("SELECT count(*) FROM work WHERE $cond");
	my $spent = $s->value('SELECT keys_tested FROM skipidx_work()') - $at;

	$s->value("SELECT set_mode('seq')");
	is($n, $s->value("SELECT count(*) FROM work WHERE $cond"), "$cond: rows");
	cmp_ok($spent, '>=', $least, "$cond: keys are counted");
	cmp_ok($spent, '<=', $most, "$cond: $spent keys are looked at");
}

$s->close;
$node->stop;
done_testing();
