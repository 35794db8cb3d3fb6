# Values of columns among the rows that match, by skipidx_facets() and by GROUP
# BY: those of the sequential scan, in every state an index and its table can be
# in, beside writers, VACUUM and merges under one snapshot, on a standby; values of
# all types as they are in the table; and what is read for them.
#
# Long: 1500 queries, else 200 (SKX_RANK_QUERIES).
#
# Holds: facets 1, 2, 3, 4, 5, 6; functions 2, 8, 11; plan 19

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;

my $seed = skx_seed(308);
my $whole = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000;
# Few rows are not fetched instead, as those in memory would be.
my $node = skx_node('facets', streaming => 1, conf => "autovacuum = off\nskipidx.cache_size = 4MB\nskipidx.max_workers = 0\neffective_cache_size = 8");

note "seed $seed";
skx_database($node, 'd');

my $s = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE TABLE docs (id int NOT NULL, v tsvector, tenant int, name text, amount numeric(8, 2), loose numeric, tags text[], other int DEFAULT 0)
	WITH (fillfactor = 70);
CREATE INDEX docs_skx ON docs USING skipidx (v, tenant, name, amount, loose, tags, lower(name)) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE TABLE asked (qid int PRIMARY KEY, q tsquery, cond text);

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode <> 'seq')::text, false),
		set_config('enable_indexscan', (mode <> 'seq')::text, false),
		set_config('enable_hashagg', (mode = 'seq')::text, false),
		set_config('enable_sort', (mode <> 'facets')::text, false);
END $$;

CREATE FUNCTION run(part int, stride int, OUT queries int, OUT matched int, OUT n_rows int8, OUT n_values int8, OUT by_facets int, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	col text;
	want jsonb;
	got jsonb;
	plan json;
	best jsonb;
	n int8;
BEGIN
	queries := 0; matched := 0; n_rows := 0; n_values := 0; by_facets := 0; wrong := '{}';
	FOR one IN SELECT * FROM asked WHERE qid % stride = part ORDER BY qid LOOP
		-- by the function, all columns in one go
		PERFORM set_mode('seq');
		SELECT jsonb_object_agg(column_name || ' ' || coalesce(value, 'NULL'), count) INTO want FROM (
			SELECT 'tenant' AS column_name, tenant::text AS value, count(*) FROM docs WHERE v @@ one.q GROUP BY tenant
			UNION ALL SELECT 'name', name, count(*) FROM docs WHERE v @@ one.q GROUP BY name
			UNION ALL SELECT 'amount', amount::text, count(*) FROM docs WHERE v @@ one.q GROUP BY amount
			UNION ALL SELECT 'lower', lower(name), count(*) FROM docs WHERE v @@ one.q GROUP BY lower(name)
			UNION ALL SELECT 'loose', trim_scale(loose)::text, count(*) FROM docs WHERE v @@ one.q GROUP BY loose
			UNION ALL SELECT 'tags', NULL, count(*) FROM docs WHERE v @@ one.q AND tags IS NULL HAVING count(*) > 0
			UNION ALL SELECT 'tags', tag, count(DISTINCT id) FROM docs, unnest(tags) tag WHERE v @@ one.q AND tag IS NOT NULL GROUP BY tag) x;
		SELECT jsonb_object_agg(column_name || ' ' || CASE WHEN column_name = 'loose' AND value IS NOT NULL THEN trim_scale(value::numeric)::text ELSE coalesce(value, 'NULL') END, count) INTO got
			FROM skipidx_facets('docs_skx', one.q, array['tenant', 'name', 'amount', 'lower', 'loose', 'tags'], NULL);
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_facets(%s): %s', one.qid, one.q, (SELECT string_agg(format('%s is %s, not %s', coalesce(w.key, g.key), g.value, w.value), ', ')
				FROM jsonb_each(want) w FULL JOIN jsonb_each(got) g USING (key) WHERE w.value IS DISTINCT FROM g.value));
		END IF;
		queries := queries + 1;
		matched := matched + (want IS NOT NULL)::int;
		n_values := n_values + (SELECT count(*) FROM jsonb_object_keys(want));
		-- between bounds
		SELECT jsonb_object_agg(coalesce(x.b, -1), x.c) INTO want FROM (SELECT width_bucket(amount, '{-1.5,0,0.125,3,20}') AS b, count(*) AS c
			FROM docs WHERE v @@ one.q GROUP BY 1) x;
		SELECT jsonb_object_agg(coalesce(bucket, -1), count) INTO got FROM skipidx_histogram('docs_skx', one.q, 'amount', '{-1.5,0,0.125,3,20}'::numeric[]) WHERE count > 0;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_histogram(%s): %s, not %s', one.qid, one.q, got, want);
		END IF;
		-- a few, the commonest first
		col := (array['tenant', 'name', 'amount'])[1 + one.qid % 3];
		EXECUTE format('SELECT jsonb_agg(x) FROM (SELECT %1$I::text AS value, count(*) FROM docs WHERE v @@ $1 GROUP BY %1$I ORDER BY 2 DESC, %1$I IS NULL DESC, %1$I %2$s LIMIT 3) x',
			col, CASE col WHEN 'name' THEN 'COLLATE "C"' ELSE '' END) INTO want USING one.q;
		SELECT jsonb_agg(x) INTO got FROM skipidx_facets('docs_skx', one.q, col, 3) x;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_facets(%s, %s): %s, not %s', one.qid, one.q, col, got, want);
		END IF;
		-- by the planner, with whatever conditions
		col := (array['tenant', 'name', 'amount', 'loose'])[1 + one.qid % 4];
		EXECUTE format('SELECT jsonb_object_agg(coalesce(trim_scale(v::text::numeric)::text, ''NULL''), n), sum(c) FROM'
			' (SELECT %1$s AS v, jsonb_build_array(count(*), count(%2$I), count(1)) AS n, count(*) AS c FROM docs WHERE %3$s GROUP BY %2$I HAVING count(*) > %4$s) x',
			CASE col WHEN 'name' THEN 'ascii(name)' ELSE col END, col, one.cond, one.qid % 3) INTO want, n;
		n_rows := n_rows + coalesce(n, 0);
		PERFORM set_mode('facets');
		EXECUTE format('SELECT jsonb_object_agg(coalesce(trim_scale(v::text::numeric)::text, ''NULL''), n) FROM'
			' (SELECT %1$s AS v, jsonb_build_array(count(*), count(%2$I), count(1)) AS n FROM docs WHERE %3$s GROUP BY %2$I HAVING count(*) > %4$s) x',
			CASE col WHEN 'name' THEN 'ascii(name)' ELSE col END, col, one.cond, one.qid % 3) INTO got;
		EXECUTE format('EXPLAIN (FORMAT JSON) SELECT %1$I, count(*) FROM docs WHERE %2$s GROUP BY %1$I', col, one.cond) INTO plan;
		by_facets := by_facets + (plan->0->'Plan'->>'Custom Plan Provider' IS NOT DISTINCT FROM 'Skipidx Facets')::int;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: GROUP BY %s WHERE %s: %s, not %s', one.qid, col, one.cond, got, want);
		END IF;
	END LOOP;
	PERFORM set_mode('seq');
END $$;
SQL

# ---- rows and conditions ----

my $rows = 0;

sub one_of { return $_[ rand @_ ]; }

sub quoted { return defined $_[0] ? "'" . ($_[0] =~ s/'/''/gr) . "'" : 'NULL'; }

sub words
{
	my @words = map { one_of('wa', 'wa', 'wb', 'wc', 'wd', 'xe' . int rand 40) } 1 .. int rand 9;
	my $at = 0;

	return join ' ', map { "$_:" . ++$at } @words;
}

# One of 7 names beside many that are rare, "A" and "a" among them.
sub load
{
	my ($n) = @_;

	$s->value('INSERT INTO docs VALUES ' . join ', ', map {
		'(' . join(', ', ++$rows, rand() < 0.1 ? 'NULL' : quoted(words()), rand() < 0.1 ? 'NULL' : int rand 9,
			rand() < 0.1 ? 'NULL' : quoted(one_of('A', 'a', 'b', 'B', 'c', '', 'd')),
			rand() < 0.1 ? 'NULL' : sprintf('%.*f', int rand 3, rand(1) ** 3 * 40 - 5),
			rand() < 0.1 ? 'NULL' : one_of('1', '1.0', '1.00', '-2', '-2.0', 0, '0.0', '123456789012', '0.00001', '10000', '-99990000.5', int rand 99999),
			rand() < 0.1 ? 'NULL' : "'{" . join(',', map { one_of('NULL', map { 't' . int rand 7 } 1 .. 6) } 1 .. int rand 4) . "}'",
			0) . ')' } 1 .. $n);
	return;
}

sub text_query
{
	return one_of('wa', 'wa', 'wb', 'wc & wa', 'wa | xe3', '!wa', '!wb & !wc', 'w:*', 'wa <-> wb', 'xe7', '!(wa & wb)', 'xe1:* & !wd',
		'(wa | wb) & (wc | wd)', 'nosuch', 'xe' . int rand 40);
}

sub condition
{
	return '((' . condition() . ') OR (' . condition() . '))' if rand() < 0.15;
	return one_of('tenant = ' . int rand 9, 'tenant IN (1, 3)', 'tenant BETWEEN 2 AND 4', 'tenant IS NULL', 'tenant <> 3', 'amount > 5', 'loose NOT IN (1, 3)', 'loose = 1',
		q{tags @> '{t1}'}, q{tags && '{t1,t2}'}, q{NOT (tags && '{t1,t2}')}, q{'t3' = ANY (tags)}, "name = 'a'", "lower(name) = 'a'", 'name IS NOT NULL');
}

sub asked
{
	my $query = text_query();
	my @cond = rand() < 0.9 ? ("v @@ '$query'") : (one_of('true', condition()));

	push @cond, condition() while rand() < 0.3;
	return '(' . $_[0] . ', ' . quoted($query) . ', ' . quoted(join ' AND ', @cond) . ')';
}

# ---- states ----

my $every = $whole ? 1500 : 200;

sub differ
{
	my ($what, $stride, $on) = @_;
	my $part = length($what) % $stride;
	my ($line, @wrong) = split /\n/, ($on // $s)->value("SELECT concat_ws(' ', queries, matched, n_rows, n_values, by_facets)"
		  . " FROM run($part, $stride) r UNION ALL SELECT unnest(wrong[1:8]) FROM run($part, $stride)");
	my ($queries, $matched, $n, $values, $by) = split / /, $line;

	ok($queries > 0 && $matched > $queries / 3 && @wrong == 0, "$what: $queries queries, $matched match, $n rows, $values values")
	  or diag(join "\n", @wrong);
	cmp_ok($by, '>', $queries * 0.9, "$what: grouped by the index");
	return;
}

sub clean { return $s->raw("SELECT skipidx_check('docs_skx', true)"); }

# What a grouping did.
sub work
{
	my ($statement, $field) = @_;
	my $plan = $s->value("SELECT set_mode('facets') \\g /dev/null\nEXPLAIN (ANALYZE, FORMAT JSON, TIMING OFF, SUMMARY OFF) $statement;\n");

	return $plan =~ /"$field": (\d+)/ ? $1 : undef;
}

load(1200);
$s->value('INSERT INTO asked VALUES ' . join ', ', map { asked($_) } 1 .. $every);
$s->value('ANALYZE docs');
differ('pending', 2);
$s->value("SELECT skipidx_flush('docs_skx')");
differ('a segment', 3);

my $grouped = "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant";
my $wa = $s->value("SELECT count(*) FROM docs WHERE v @@ 'wa'");

is(work($grouped, 'Heap Fetches'), $wa, 'not vacuumed: rows are fetched once');
$s->value('VACUUM docs');
differ('vacuumed', 1);
is(work($grouped, 'Heap Fetches'), 0, 'vacuumed: no row is fetched');
is(work($grouped, 'Rows by Whole Map'), $wa, 'vacuumed: the map is asked as a whole');
is(work($grouped, 'Values by List'), 10, 'vacuumed: a list a value');
is(work("SELECT tenant, count(*) FROM docs WHERE v @@ '!nosuch' AND tenant IS NOT NULL GROUP BY tenant", 'Values by Row'), 0, 'no row for values');

load(150);
differ('pending behind a segment', 3);
for my $n (1 .. 3)
{
	$s->value("SELECT skipidx_flush('docs_skx')");
	load(150);
}
is($s->value("SELECT segments > 2 AND pending_docs = 150 FROM skipidx_stats('docs_skx')"), 't', 'several segments and pending documents');
differ('several', 2);
$s->value('VACUUM docs');
differ('several, vacuumed', 2);
$s->value('DELETE FROM docs WHERE id % 4 = 1; UPDATE docs SET tenant = 1 WHERE id % 9 = 2; UPDATE docs SET other = 1 WHERE id % 5 = 3;'
	  . ' BEGIN; DELETE FROM docs WHERE id % 7 = 2; ROLLBACK');
differ('deleted', 2);
$s->value('VACUUM docs');
differ('vacuumed again', 2);
$s->value("SELECT skipidx_flush('docs_skx'), skipidx_merge('docs_skx', 1)");
differ('merged', 2);
$s->value('DELETE FROM docs WHERE id % 100 = 3');
$s->value('VACUUM (INDEX_CLEANUP ON) docs');
differ('few deleted', 3);
is(clean(), '', 'skipidx_check');

# ---- few rows, many rows, little memory ----

$s->value(<<'SQL');
CREATE TABLE many (id int, v tsvector, part int, tags int[], wide int, label text) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, ('all' || CASE WHEN i % 2 = 0 THEN ' half' ELSE '' END || CASE WHEN i % 10000 = 0 THEN ' few' ELSE '' END
		|| CASE WHEN i % 300 = 0 THEN ' some' ELSE '' END)::tsvector,
	hashint4(i) % 50, array[i % 3, 3 + i % 1000], nullif(i % 150000, 0), 'l' || hashint4(i) % 50 FROM generate_series(1, 300000) i;
CREATE INDEX many_skx ON many USING skipidx (v, part, tags, wide, label);
VACUUM ANALYZE many;
SQL

sub many
{
	my ($what, $query, $more) = @_;

	for my $column ('part', 'wide', 'label')
	{
		is($s->value("SELECT set_mode('facets') \\g /dev/null\nSELECT md5(string_agg(x::text, ',' ORDER BY x)) FROM (SELECT $column, count(*) FROM many WHERE v \@\@ '$query' GROUP BY $column) x;\n"),
			$s->value("SELECT set_mode('seq') \\g /dev/null\nSELECT md5(string_agg(x::text, ',' ORDER BY x)) FROM (SELECT $column, count(*) FROM many WHERE v \@\@ '$query' GROUP BY $column) x;\n"),
			"$what: $query by $column");
	}
	is($s->value("SELECT md5(string_agg(x::text, ',' ORDER BY x.value::int)) FROM skipidx_facets('many_skx', '$query', 'tags', NULL) x"),
		$s->value("SELECT md5(string_agg(x::text, ',' ORDER BY x.tag)) FROM (SELECT tag, count(*) FROM many, unnest(tags) tag WHERE v \@\@ '$query' GROUP BY tag) x"),
		"$what: $query by tags");
	return;
}

sub of_many
{
	my ($query, $what, $column) = (@_, 'label');

	return work("SELECT $column, count(*) FROM many WHERE v \@\@ '$query' GROUP BY $column", $what);
}

many('at once', $_) for 'all', 'half', 'some', 'few', '!half';
is(of_many('few', 'Values by Row'), 30, 'few rows tell their values');
is(of_many('few', 'Values by List'), 0, 'few rows: no list');
is(of_many('half', 'Values by Row'), 0, 'many rows do not');
for my $column ('part', 'wide')
{
	is(of_many('some', 'Values by Key', $column), 1000, "few rows: keys of $column");
	is(of_many('some', 'Values by List', $column), 0, "few rows: no list of $column");
	is(of_many('few', 'Values by Row', $column), 0, "few rows: none is fetched for $column");
}
is(of_many('half', 'Values by Key', 'part'), 0, 'many rows, few values: no key');
is(of_many('half', 'Values by List', 'part'), 99, 'many rows, few values: lists');
is(of_many('all', 'Values by Frequency'), 99, 'all rows: frequencies');

# of 300,000 documents 262,144 have bits at once
$s->value("SET work_mem = '64kB'");
is($s->value("SHOW work_mem"), '64kB', 'little memory');
many('in two goes', $_) for 'all', 'half', 'some', 'few', '!half';
cmp_ok(of_many('some', 'Passes', 'wide'), '>', 1, 'values by keys do not stay in memory');
is(of_many('half', 'Values by List'), 2 * 99, 'in two goes: each list twice');
is(of_many('half', 'Passes'), 2, 'in two goes');
$s->value("INSERT INTO many SELECT i, 'half few', 1, array[7], i, 'l1' FROM generate_series(300001, 304000) i");
many('pending, in several goes', 'half');
my $wide = "SELECT wide, count(*) FROM many WHERE v @@ 'half' GROUP BY wide";
cmp_ok(work($wide, 'Passes'), '>', 4, 'pending values do not stay in memory');
$s->value('RESET work_mem');
many('pending', 'half');
is(work($wide, 'Passes'), 0, 'with more memory they do');
$s->value("SELECT skipidx_flush('many_skx')");
many('few rows of one segment, many of another', 'few');

# ---- values as they are ----

$s->value(<<'SQL');
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE DOMAIN price AS numeric(6, 1);
CREATE TABLE kinds (id int, v tsvector DEFAULT 'wa', b bool, i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, m money, n numeric, n2 numeric(12, 3), p price,
	d date, t time, ts timestamp, tz timestamptz, x text, vc varchar(9), c char(5), nm name, by bytea, u uuid, ip inet, ci cidr, ma macaddr,
	bi bit(3), vb varbit, e mood, a int[], at text[]);
INSERT INTO kinds (id, b, i2, i4, i8, o, f4, f8, m, n, n2, p, d, t, ts, tz, x, vc, c, nm, by, u, ip, ci, ma, bi, vb, e, a, at) VALUES
	(1, true, -5, -70000, -5000000000, 7, 1.5, -1e300, '12.34', 1.500, 12.345, 99.9, '2001-02-03', '04:05:06.789', '2001-02-03 04:05:06.789012', '2001-02-03 04:05:06+07', 'Text ''x''', 'vc', 'c ', 'nm', '\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.1.2.3/8', '10.0.0.0/8', '08:00:2b:01:02:03', '101', '1', 'sad', '{1,2,2}', '{x,NULL}'),
	(2, false, 0, 0, 0, 4294967295, 'NaN', 'NaN', '-0.01', 'NaN', 0, 0, 'infinity', '24:00', 'infinity', '-infinity', '', '', '', '', '', '00000000-0000-0000-0000-000000000000', '::1', '::/0', 'ff:ff:ff:ff:ff:ff', '000', '', 'glad', '{}', '{}'),
	(3, NULL, 32767, 2147483647, 9223372036854775807, 0, 'Infinity', '-Infinity', '-92233720368547758.08', '-Infinity', -999999999.999, -0.1, '-infinity', '00:00', '-infinity', 'infinity', 'é', 'é', 'é', 'é', '\x', NULL, '1.2.3.4', NULL, NULL, NULL, '0001', NULL, NULL, NULL),
	(4, NULL, -32768, -2147483648, -9223372036854775808, 1, 1e-38, 1e-308, '92233720368547758.07', 123456789012345678901234567890.5, 100000.001, 10000, '4713-01-01 BC', '23:59:59.999999', '4713-01-01 00:00:01 BC', '294276-12-31 23:59:59.999999+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{5}', '{é}'),
	(5, NULL, 1, 1, 1, 2, -1e-38, -1e-308, '0.07', 0.00000001, -0.001, 99999.9, '5874897-12-31', '12:00', '2000-01-01 00:00:00', '1999-12-31 23:59:59.999999+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{-5}', '{""}');
SQL

my @kinds = split /\n/, $s->value("SELECT attname FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attnum > 2");

while (my @some = splice @kinds, 0, 28)
{
	$s->value('CREATE INDEX kinds_skx ON kinds USING skipidx (v, ' . join(', ', @some) . ')');
	for my $state ('a segment', 'pending')
	{
		for my $column (@some)
		{
			my $of = $column =~ /^at?$/ ? "kinds LEFT JOIN LATERAL (SELECT DISTINCT e FROM unnest($column) e WHERE e IS NOT NULL) x ON true" : 'kinds';
			my $what = $of eq 'kinds' ? $column : 'x.e';
			my $want = $s->value("SELECT string_agg(coalesce(w, '~') || '=' || n, ' ' ORDER BY w COLLATE \"C\") FROM (SELECT format('%s', $what) AS w, count(*) AS n FROM $of WHERE $what IS NOT NULL GROUP BY $what"
				  . " UNION ALL SELECT NULL, count(*) FROM kinds WHERE $column IS NULL HAVING count(*) > 0) x");
			is($s->value("SELECT string_agg(coalesce(value, '~') || '=' || count, ' ' ORDER BY value COLLATE \"C\") FROM skipidx_facets('kinds_skx', 'wa', '$column')"),
				$want, "$state, values of $column");
			next if $of ne 'kinds';
			is($s->value("SELECT set_mode('facets') \\g /dev/null\nSELECT string_agg(coalesce(format('%s', w), '~') || '=' || n, ' ' ORDER BY w IS NULL, format('%s', w) COLLATE \"C\")"
					  . " FROM (SELECT $column AS w, count(*) AS n FROM kinds WHERE v \@\@ 'wa' GROUP BY $column OFFSET 0) x;\n"),
				$s->value("SELECT set_mode('seq') \\g /dev/null\nSELECT string_agg(coalesce(format('%s', w), '~') || '=' || n, ' ' ORDER BY w IS NULL, format('%s', w) COLLATE \"C\")"
					  . " FROM (SELECT $column AS w, count(*) AS n FROM kinds WHERE v \@\@ 'wa' GROUP BY $column OFFSET 0) x;\n"),
				"$state, groups of $column");
		}
		$s->value('CREATE TABLE copy AS TABLE kinds; TRUNCATE kinds; INSERT INTO kinds TABLE copy; DROP TABLE copy') if $state eq 'a segment';
	}
	$s->value('DROP INDEX kinds_skx');
}

# between bounds: of each type that has an order those that its values are, and
# one that none is
for my $column (qw(i2 i4 i8 o f4 f8 m n n2 u ma d t ts tz))
{
	my $type = $s->value("SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attname = '$column'");

	$s->value("CREATE INDEX kinds_skx ON kinds USING skipidx (v, $column)");
	for my $state ('a segment', 'pending')
	{
		for my $bounds ("(SELECT array_agg(DISTINCT $column ORDER BY $column) FROM kinds WHERE $column IS NOT NULL)",
			"(SELECT array_agg(DISTINCT $column ORDER BY $column) FROM kinds WHERE id % 2 = 0 AND $column IS NOT NULL)", "'{}'::$type\[]")
		{
			is($s->value("SELECT string_agg(concat_ws(' ', coalesce(bucket, -1), coalesce(lower::text, '~'), coalesce(upper::text, '~'), count), ',' ORDER BY bucket)"
					  . " FROM skipidx_histogram('kinds_skx', 'wa', '$column', $bounds) WHERE count > 0"),
				$s->value("SELECT string_agg(concat_ws(' ', coalesce(r, -1), coalesce((given[r])::text, '~'), CASE WHEN r IS NULL THEN '~' ELSE coalesce((given[r + 1])::text, '~') END, c), ',' ORDER BY r)"
					  . " FROM (SELECT given, CASE WHEN $column IS NOT NULL THEN (SELECT count(*) FROM unnest(given) u (x) WHERE u.x <= $column) END AS r, count(*) AS c"
					  . " FROM kinds, LATERAL (SELECT $bounds) bounds (given) GROUP BY 1, 2) x"), "$state, $column between $bounds");
		}
		$s->value('CREATE TABLE copy AS TABLE kinds; TRUNCATE kinds; INSERT INTO kinds TABLE copy; DROP TABLE copy') if $state eq 'a segment';
	}
	$s->value('DROP INDEX kinds_skx');
}

# Slices of a column: bounds that are values of it, ascending, between which all
# rows but those with NULL are, whatever was in the index; each with about as many
# rows as it says.
sub slices
{
	my ($what, $table, $index, $column, $type, $n, $off) = @_;
	my @slices = map { [ split /\|/, $_, -1 ] } split /\n/, $s->value("SELECT * FROM skipidx_slices('$index', '$column', $n)");
	my $null = pop @slices;
	my @clauses = map { join ' AND ', "$column IS NOT NULL", $_->[1] ne '' ? "$column >= '$_->[1]'::$type" : (), $_->[2] ne '' ? "$column < '$_->[2]'::$type" : () } @slices;
	my @rows = split /\|/, $s->value('SELECT ' . join(', ', map { "count(*) FILTER (WHERE $_)" } @clauses) . ", count(*) FILTER (WHERE $column IS NULL) FROM $table");
	my $nulls = pop @rows;
	my $all = $s->value("SELECT count($column) FROM $table");
	my $sum = 0;

	$sum += $_ for @rows;
	is($sum, $all, "$what: slices of $column have all rows: @rows");
	is(join(' ', map { $_->[0] } @slices), join(' ', 0 .. $#slices), "$what: slices of $column are numbered");
	is(join(',', map { $_->[1] } @slices[ 1 .. $#slices ]), join(',', map { $_->[2] } @slices[ 0 .. $#slices - 1 ]), "$what: slices of $column are side by side");
	cmp_ok(scalar(@slices), '<=', $n, "$what: so many slices of $column at most");
	is($s->value("SELECT count(*) FROM (VALUES " . join(', ', map { "('$_->[1]'::$type)" } @slices[ 1 .. $#slices ]) . ") bounds (bound) WHERE NOT EXISTS (SELECT FROM $table WHERE $column = bound)"), 0,
		"$what: bounds of $column are values") if @slices > 1;
	is(scalar(grep { $_ == 0 } @rows), 0, "$what: each slice of $column has rows") if @slices > 1;
	is("$null->[0]$null->[1]$null->[2]", '', "$what: NULL of $column");
	cmp_ok(abs($null->[3] - $nulls), '<=', $off, "$what: $null->[3] of $nulls NULLs of $column");
	cmp_ok(abs($slices[$_][3] - $rows[$_]), '<=', $off, "$what: $slices[$_][3] of $rows[$_] rows in slice $_ of $column") for 0 .. $#rows;
	return @rows;
}

for my $column (qw(b i2 i4 i8 o f4 f8 m n2 p d t ts tz ma))
{
	my $type = $s->value("SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'kinds'::regclass AND attname = '$column'");

	$s->value("CREATE INDEX kinds_skx ON kinds USING skipidx (v, $column)");
	for my $state ('a segment', 'pending')
	{
		slices($state, 'kinds', 'kinds_skx', $column, $type, $_, 3) for 1, 3, 100;
		$s->value('CREATE TABLE copy AS TABLE kinds; TRUNCATE kinds; INSERT INTO kinds TABLE copy; DROP TABLE copy') if $state eq 'a segment';
	}
	$s->value('DROP INDEX kinds_skx');
}
$s->value("CREATE TABLE lots (v tsvector, n int, few int) WITH (autovacuum_enabled = off); CREATE INDEX lots_skx ON lots USING skipidx (v, n, few) WITH (pending_limit = '1GB');"
	  . " INSERT INTO lots SELECT 'wa', i, i % 3 FROM generate_series(1, 6000) i");
for my $state ('pending', 'a segment', 'segments', 'segments and pending')
{
	$s->value('INSERT INTO lots SELECT NULL, CASE WHEN i % 5 > 0 THEN i END, i % 3 FROM generate_series(6001, 24000) i') if $state eq 'segments';
	$s->value("SELECT skipidx_flush('lots_skx')") if $state =~ /segment/;
	$s->value('INSERT INTO lots SELECT NULL, -i, 1 FROM generate_series(1, 6000) i') if $state =~ /and/;

	my $rows = $s->value('SELECT count(n) FROM lots');

	for my $n (2, 4, 8, 40)
	{
		my $off = $n == 40 ? $rows / $n / 3 : $rows / 15;
		my @rows = slices($state, 'lots', 'lots_skx', 'n', 'int', $n, $off);

		is(@rows, $n, "$state: $n slices");
		cmp_ok(abs($_ - $rows / $n), '<', $off, "$state: $_ rows of $rows in one of $n") for @rows;
	}
	is(scalar(slices($state, 'lots', 'lots_skx', 'few', 'int', 3, 8000)), 3, "$state: slices of one value each");
}
# Most rows have the largest value that there is.
$s->value("CREATE TABLE ever (v tsvector, till timestamptz, most bigint) WITH (autovacuum_enabled = off); CREATE INDEX ever_skx ON ever USING skipidx (v, till, most);"
	  . " INSERT INTO ever SELECT 'wa', CASE WHEN i % 10 = 0 THEN timestamptz '2020-01-01' + i * interval '1 min' ELSE 'infinity' END,"
	  . " CASE WHEN i % 2 = 0 THEN i ELSE 9223372036854775807 END FROM generate_series(1, 2000) i");
for my $state ('pending', 'a segment')
{
	is(join(' ', slices($state, 'ever', 'ever_skx', 'till', 'timestamptz', 4, 100)), '200 1800', "$state: slices of few rows and many of infinity");
	is((slices($state, 'ever', 'ever_skx', 'most', 'bigint', 4, 150))[-1], 1000, "$state: a slice of the largest number");
	$s->value("SELECT skipidx_flush('ever_skx')");
}
like($s->raw("SELECT skipidx_slices('lots_skx', '$_->[0]', $_->[1])"), qr/$_->[2]/, "no slices: $_->[0] $_->[1]")
  for [ 'n', 0, '22023: there must be between 1 and' ], [ 'n', 10001, '22023' ], [ 'v', 2, '42809: column "v" .* is the text' ], [ 'nosuch', 2, '42703' ];
like($s->raw("SELECT skipidx_slices('docs_skx', 'name', 2)"), qr/0A000: column "name" of index "docs_skx" has no order/, 'no slices of text');
$s->value('CREATE ROLE sliced; SET ROLE sliced');
like($s->raw("SELECT skipidx_slices('lots_skx', 'n', 2)"), qr/42501/, 'no slices without SELECT');
$s->value('RESET ROLE; TRUNCATE lots');
is($s->value("SELECT * FROM skipidx_slices('lots_skx', 'n', 4)"), "0|||0\n|||0", 'slices of no rows');

# an expression of the index runs as the owner of the table
$s->value(<<'SQL');
CREATE ROLE owner; CREATE ROLE reader; GRANT CREATE, USAGE ON SCHEMA public TO owner;
CREATE FUNCTION who(int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF current_user <> 'owner' THEN RAISE 'as %', current_user; END IF; RETURN $1; END $$;
CREATE TABLE own (v tsvector, i int);
INSERT INTO own SELECT 'wa', 7 FROM generate_series(1, 10);
ALTER TABLE own OWNER TO owner;
SET ROLE owner;
CREATE FUNCTION numeric_who(int) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT public.who($1)::numeric $$;
CREATE INDEX own_skx ON own USING skipidx (v, (numeric_who(i)));
GRANT SELECT ON own TO reader;
RESET ROLE;
SQL
is($s->value("SELECT x FROM skipidx_facets('own_skx', 'wa', 'numeric_who') x"), '(7,10)', 'expressions are evaluated as the owner');
like($s->raw("SET ROLE reader; SELECT skipidx_facets('own_skx', 'wa', 'numeric_who')"), qr/42501: expressions of index "own_skx" cannot be evaluated.*HINT/s, 'and not for a reader');
$s->value('RESET ROLE; REVOKE SELECT ON own FROM reader');
like($s->raw("SET ROLE reader; SELECT skipidx_facets('own_skx', 'wa', 'numeric_who')"), qr/42501: permission denied for table own/, 'without SELECT');
$s->value('RESET ROLE');

# ---- what may be asked ----

like($s->raw("SELECT skipidx_facets('docs_skx', 'wa', 'nosuch')"), qr/42703: .* has no column "nosuch" beside the text.*HINT/s, 'no such column');
like($s->raw("SELECT skipidx_facets('docs_skx', 'wa', 'v')"), qr/42809: column "v" .* is the text.*HINT:  skipidx_terms/s, 'the text is none');
like($s->raw("SELECT skipidx_facets('docs_skx', 'wa', array['tenant', NULL])"), qr/22004/, 'NULL as a name');
like($s->raw("SELECT skipidx_facets('docs_skx', 'wa', 'tenant', -1)"), qr/22023: max_rows must not be negative/, 'fewer than none');
is($s->value("SELECT count(*) FROM skipidx_facets('docs_skx', 'wa', 'tenant', 0)"), 0, 'none');
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'tenant', '{3,3}'::int[])"), qr/22023: bounds must ascend.*Bound 2/s, 'bounds that do not ascend');
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'tenant', '{3,NULL}'::int[])"), qr/22004: bounds must not be null/, 'bounds that are NULL');
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'tenant', array(SELECT generate_series(1, 1000001)))"),
	qr/54000: 1000001 bounds are more than the 1000000 that are possible.*several calls/s, 'more bounds than are possible');
is($s->value("SELECT (SELECT sum(count) FROM skipidx_histogram('docs_skx', 'wa', 'tenant', array(SELECT generate_series(1, 1000000)))) = skipidx_count('docs_skx', 'wa')"), 't',
	'as many as are possible');
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'name', '{x}'::text[])"), qr/0A000: column "name" of index "docs_skx" has no order/, 'a column without an order');
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'tenant', '{1}'::numeric[])"), qr/42804: bounds of type numeric cannot be compared/, 'bounds of another type');
$s->value("CREATE DOMAIN cents AS numeric(9, 2); CREATE TABLE prices (v tsvector, price cents, class regclass); CREATE INDEX prices_skx ON prices USING skipidx (v, price, class);"
	  . " INSERT INTO prices SELECT 'wa', i, 'pg_class' FROM generate_series(1, 9) i");
is($s->value("SELECT string_agg(bucket || ' ' || count, ',' ORDER BY bucket) FROM skipidx_histogram('prices_skx', 'wa', 'price', '{3,5}'::cents[])"), '0 2,1 2,2 5', 'bounds of the domain of the column');
is($s->value("SELECT string_agg(bucket || ' ' || count, ',' ORDER BY bucket) FROM skipidx_histogram('prices_skx', 'wa', 'class', '{pg_class}'::regclass[])"), '0 0,1 9', 'bounds of regclass');
is($s->value("SELECT string_agg(concat_ws(' ', bucket, lower, upper, pg_typeof(lower)), ',' ORDER BY bucket) FROM skipidx_histogram('docs_skx', 'wa', 'tenant', '{1,5}'::int8[])"),
	'0 1 bigint,1 1 5 bigint,2 5 bigint,bigint', 'the bounds, as they were given');
is($s->value("SELECT count(*) FROM skipidx_facets('docs_skx', '', 'tenant')"), 0, 'no query');
is($s->value("SELECT count(*) FROM skipidx_facets('docs_skx', NULL, 'tenant') a, skipidx_facets(NULL, 'wa', '{tenant}'::text[]) b"), 0, 'NULL');
is($s->value("SELECT count(*) FROM skipidx_facets('docs_skx', 'wa', '{}'::text[])"), 0, 'no columns');
is($s->value("SELECT string_agg(DISTINCT column_name, ' ') FROM skipidx_facets('docs_skx', 'wa', array['tags', 'tenant', 'tags'])"), 'tags tenant', 'a column named twice');

sub both
{
	my ($what, $statement, $is) = @_;
	my $plan = $s->value("SELECT set_mode('sorted') \\g /dev/null\nEXPLAIN (COSTS OFF) $statement;\n");
	my $got = $s->value($statement);

	if ($is) { like($plan, $is == 1 ? qr/Skipidx Facets/ : qr/Skipidx (Facets|Columns)/, "$what: by the index"); }
	else { unlike($plan, qr/Skipidx Facets/, "$what: not by the index"); }
	is($got, $s->value("SELECT set_mode('seq') \\g /dev/null\n$statement;\n"), "$what: its rows");
	return;
}

$s->value("CREATE TABLE parts (LIKE docs) PARTITION BY RANGE (id); CREATE TABLE parts1 PARTITION OF parts DEFAULT; INSERT INTO parts SELECT * FROM docs;"
	  . ' CREATE INDEX parts_skx ON parts USING skipidx (v, tenant)');
$s->value('CREATE TABLE halves (id int, v tsvector, tenant int8) PARTITION BY RANGE (id); CREATE TABLE half1 PARTITION OF halves FOR VALUES FROM (0) TO (1000);'
	  . ' CREATE TABLE half2 (tenant int8, v tsvector, id int); ALTER TABLE halves ATTACH PARTITION half2 DEFAULT;'
	  . ' INSERT INTO halves SELECT id, v, tenant FROM docs; CREATE INDEX halves_skx ON halves USING skipidx (v, tenant)');
$s->value('VACUUM ANALYZE halves');
$s->value('VACUUM ANALYZE parts; ANALYZE docs');
both(@$_) for (
	[ 'ORDER BY and LIMIT', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY count(*) DESC, tenant LIMIT 3", 1 ],
	[ 'HAVING', "SELECT tenant FROM docs WHERE v \@\@ 'wa' GROUP BY tenant HAVING count(*) > 60 AND count(tenant) > 1 ORDER BY 1", 1 ],
	[ 'HAVING of the value', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant HAVING tenant > 3 ORDER BY 1", 1 ],
	[ 'expressions', "SELECT tenant * 2, 'x', count(*) + count(id) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 1 ],
	[ 'no count', "SELECT tenant FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 1 ],
	[ 'only counts', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 1 ],
	[ 'a window', "SELECT tenant, rank() OVER (ORDER BY count(*), tenant) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 2", 1 ],
	[ 'a join of groups', "SELECT g.tenant, n FROM (SELECT tenant, count(*) AS n FROM docs WHERE v \@\@ 'wa' GROUP BY tenant) g JOIN (VALUES (1), (2)) x (tenant) USING (tenant) ORDER BY 1", 1 ],
	[ 'correlated', "SELECT string_agg((SELECT string_agg(x::text, ' ' ORDER BY x) FROM (SELECT tenant, count(*) FROM docs WHERE v \@\@ q GROUP BY tenant) x), ',')"
		  . " FROM (VALUES ('wa'::tsquery), ('wb'), (NULL), ('nosuch')) y (q)", 2 ],
	[ 'all rows', "SELECT tenant, count(*), count(tenant) FROM docs GROUP BY tenant ORDER BY 1", 1 ],
	[ 'all rows of partitions', "SELECT tenant, count(*) FROM parts GROUP BY tenant ORDER BY 1", 1 ],
	[ 'SELECT DISTINCT of all rows', 'SELECT DISTINCT tenant FROM docs ORDER BY 1', 1 ],
	[ 'SELECT DISTINCT', "SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa' ORDER BY 1", 1 ],
	[ 'SELECT DISTINCT, limited', "SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa' ORDER BY 1 DESC OFFSET 1 LIMIT 3", 1 ],
	[ 'SELECT DISTINCT, counted', "SELECT count(*), sum(tenant) FROM (SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa') s", 1 ],
	[ 'SELECT DISTINCT, joined', "SELECT * FROM (SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa') s JOIN (VALUES (1), (2)) x (tenant) USING (tenant) ORDER BY 1", 1 ],
	[ 'SELECT DISTINCT, correlated', "SELECT string_agg((SELECT string_agg(coalesce(tenant, -1)::text, ' ' ORDER BY tenant) FROM (SELECT DISTINCT tenant FROM docs WHERE v \@\@ q) x), ',')"
		  . " FROM (VALUES ('wa'::tsquery), ('wb'), (NULL), ('nosuch')) y (q)", 2 ],
	[ 'SELECT DISTINCT of a partition', "SELECT DISTINCT tenant FROM parts WHERE v \@\@ 'wa' ORDER BY 1", 1 ],
	[ 'DISTINCT of two columns', "SELECT DISTINCT tenant, name FROM docs WHERE v \@\@ 'wa' ORDER BY 1, 2", 0 ],
	[ 'DISTINCT of an expression', "SELECT DISTINCT tenant % 2 FROM docs WHERE v \@\@ 'wa' ORDER BY 1", 0 ],
	[ 'DISTINCT ON', "SELECT DISTINCT ON (tenant) tenant, id FROM docs WHERE v \@\@ 'wa' ORDER BY 1, 2", 0 ],
	[ 'DISTINCT of groups', "SELECT DISTINCT count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'DISTINCT of a window', "SELECT DISTINCT first_value(tenant) OVER (PARTITION BY id % 3 ORDER BY id) FROM docs WHERE v \@\@ 'wa' ORDER BY 1", 0 ],
	[ 'DISTINCT, filtered', "SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa' AND id % 2 = 0 ORDER BY 1", 0 ],
	[ 'another aggregate', "SELECT tenant, count(*), max(id) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'FILTER', "SELECT tenant, count(*) FILTER (WHERE id > 9) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'DISTINCT', "SELECT tenant, count(DISTINCT tenant) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'two columns', "SELECT tenant, name, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant, name ORDER BY 1, 2", 0 ],
	[ 'grouping sets', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY ROLLUP (tenant) ORDER BY 1, 2", 0 ],
	[ 'another collation', "SELECT name COLLATE \"C\", count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY name COLLATE \"C\" ORDER BY 1", 0 ],
	[ 'an array', "SELECT tags, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'a filter', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' AND id % 2 = 0 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'equality of arrays', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' AND tags = '{t1}' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'a column that is not in the index', "SELECT id % 2, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY 1 ORDER BY 1", 0 ],
	[ 'a partition', "SELECT tenant, count(*) FROM parts1 WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 1 ],
	[ 'a sample', "SELECT tenant, count(*) FROM docs TABLESAMPLE BERNOULLI (100) WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ]);
# by several tables a value comes once
my $distinct = "SELECT DISTINCT tenant FROM halves WHERE v @@ 'wa' ORDER BY 1";
my $known = $s->value("SELECT set_mode('seq') \\g /dev/null\n$distinct;\n");
like($s->value("SELECT set_mode('sorted') \\g /dev/null\nSET enable_hashagg = on; EXPLAIN (COSTS OFF) $distinct"),
	qr/HashAggregate.*Skipidx Facets.*half1.*half2/s, 'SELECT DISTINCT of partitions: by the indexes');
is($s->value($distinct), $known, 'SELECT DISTINCT of partitions: its rows');

# what a row has is asked for where the form of a value does not tell it, and then
# for this column only
$s->value("CREATE SEQUENCE calls; CREATE FUNCTION vec(t text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS"
	  . " 'BEGIN PERFORM nextval(''public.calls''); RETURN t::tsvector; END';"
	  . ' CREATE TABLE costly (body text, n numeric, f float8) WITH (autovacuum_enabled = off);'
	  . " INSERT INTO costly SELECT 'wa w' || i, i % 7, '-0' FROM generate_series(1, 1000) i;"
	  . ' CREATE INDEX costly_skx ON costly USING skipidx (vec(body), n, f)');
$s->value('VACUUM ANALYZE costly');
my $calls = $s->value('SELECT last_value FROM calls');
is($s->value("SELECT string_agg(value || ' ' || count, ',' ORDER BY value) FROM skipidx_facets('costly_skx', 'wa', 'n')"),
	join(',', map { "$_ " . ($_ == 0 ? 142 : 143) } 0 .. 6), 'values of rows');
is($s->value("SELECT string_agg(value || ' ' || count, ',') FROM skipidx_facets('costly_skx', 'wa', 'f')"), '-0 1000', 'a zero that is negative');
is($s->value('SELECT last_value FROM calls'), $calls, 'no function of another column was called');

# a collation of the index that tells apart what the column's takes for equal
if ($s->value("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") > 0)
{
	$s->value("CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
		  . ' CREATE TABLE folded (name text COLLATE folded, kind text COLLATE "C", v tsvector) WITH (autovacuum_enabled = off);'
		  . " INSERT INTO folded SELECT CASE i % 2 WHEN 0 THEN 'Abc' ELSE 'abc' END, 'k' || i % 3, 'wa' FROM generate_series(1, 10000) i;"
		  . ' CREATE INDEX folded_skx ON folded USING skipidx (v, name COLLATE "C", kind COLLATE "POSIX")');
	$s->value('VACUUM ANALYZE folded');
	both('a collation that folds', "SELECT lower(name), count(*) FROM folded WHERE v \@\@ 'wa' GROUP BY name ORDER BY 1", 0);
	both('another one of the index', "SELECT kind, count(*) FROM folded WHERE v \@\@ 'wa' GROUP BY kind ORDER BY 1", 1);
}
$s->value("SET skipidx.enable_custom_scan = off");
both('switched off', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0);
$s->value('RESET skipidx.enable_custom_scan');

# ---- a crash, a standby, and everything at once ----

load(200);
$s->value('DELETE FROM docs WHERE id % 50 = 7');
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
differ('crashed', 3);
$s->value('VACUUM docs');
differ('crashed and vacuumed', 3);

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('facets_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1");
$standby->start;
load(60);
$s->value("DELETE FROM docs WHERE id % 13 = 7; SELECT skipidx_flush('docs_skx')");
$s->value('VACUUM docs');
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = skx_session($standby, 'd');
differ('standby', 3, $there);

$s->value(<<'SQL');
CREATE PROCEDURE change(until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	a int;
BEGIN
	WHILE clock_timestamp() < until LOOP
		n := n + 1;
		a := random() * 2000;
		-- two writers of the same rows do not wait for each other
		PERFORM pg_advisory_xact_lock(b) FROM generate_series(a / 32, (a + 20) / 32) b;
		IF n % 4 = 0 THEN
			UPDATE docs SET other = other + 1 WHERE id BETWEEN a AND a + 10;
		ELSIF n % 4 = 1 THEN
			UPDATE docs SET tenant = tenant + 1, tags = tags || '{t9}' WHERE id BETWEEN a AND a + 10;
		ELSIF n % 4 = 2 THEN
			WITH gone AS (DELETE FROM docs WHERE id BETWEEN a AND a + 20 RETURNING id, v, tenant, name, amount, loose, tags)
			INSERT INTO docs SELECT * FROM gone WHERE random() < 0.9;
		ELSE
			INSERT INTO docs SELECT nextval('ids'), v, tenant, name, amount, loose, tags FROM docs WHERE id BETWEEN a AND a + 5;
		END IF;
		IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END $$;
CREATE SEQUENCE ids START 10000;
SQL

my $seconds = $whole ? 60 : 6;
my @writers = map { skx_session($node, 'd') } 1 .. 2;
my $vacuum = skx_session($node, 'd');
my @readers = ($there, skx_session($node, 'd'));
my ($looks, $wrong) = (0, 0);

$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
$_->start("CALL change(clock_timestamp() + '$seconds s')") for @writers;
$vacuum->start(("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs;\n" x 3 . "SELECT skipidx_flush('docs_skx');\n"
	  . "SELECT skipidx_merge('docs_skx', 1);\n") x (6 * $seconds));

my $end = time + $seconds;

while (time < $end || ($looks <= 10 && time < $end + 60))
{
	for my $reader (@readers)
	{
		my $part = int rand 50;

		$reader->start("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT wrong FROM run($part, 50); COMMIT");
	}
	for my $reader (@readers)
	{
		my $what = $reader->finish;

		$looks++;
		next if $what eq '{}';
		diag($what) if $wrong++ < 10;
	}
}
is($_->finish, '', 'writer') for @writers;
unlike($vacuum->finish, qr/ERROR/, 'VACUUM, flush and merge');
is($wrong, 0, "$looks looks of readers at what is changed");
is(clean(), '', 'skipidx_check');
differ('in the end', 3);
$_->close for $s, $vacuum, @readers, @writers;
$standby->stop;
$node->stop;
done_testing();
