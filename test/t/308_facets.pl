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
use PostgreSQL::Test::Utils;
use SkipidxMatrix;
use SkipidxTest qw(skx_session);
use Test::More;

# Few rows are not fetched instead, as those in memory would be.
my $m = SkipidxMatrix->new('facets', seed => 308, conf => "skipidx.cache_size = 4MB\nskipidx.max_workers = 0\neffective_cache_size = 8", columns => [qw(tenant category price loose tags)],
	exprs => ', lower(category)', with => 'fillfactor = 70', hot_updates => 1, bare => 0.6, text => 0.8, explain => '', by_index => { groups => 0.9 });
my ($node, $s) = ($m->node, $m->session);
my ($facets, $any) = (qr/Skipidx Facets/, qr/Skipidx (Facets|Columns)/);

# What a grouping did.
sub work { my ($statement, $field) = @_; $m->way('groups'); return $m->told($statement)->{$field}; }

$m->load(1200);
$m->ask($m->long(1500, 200), qw(facets histogram top groups));
$s->value('ANALYZE docs');
$m->state('pending', 2);
$m->state('a segment', 3);

my $grouped = "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant";
my $wa = $s->value("SELECT count(*) FROM docs WHERE v @@ 'wa'");

is(work($grouped, 'Heap Fetches'), $wa, 'not vacuumed: rows are fetched once');
$m->state('vacuumed', 1);
is(work($grouped, 'Heap Fetches'), 0, 'vacuumed: no row is fetched');
is(work($grouped, 'Rows by Whole Map'), $wa, 'vacuumed: the map is asked as a whole');
is(work($grouped, 'Values by List'), 13, 'vacuumed: a list a value');
is(work("SELECT tenant, count(*) FROM docs WHERE v @@ '!nosuch' AND tenant IS NOT NULL GROUP BY tenant", 'Values by Row'), 0, 'no row for values');

$m->load(150);
$m->differ('pending behind a segment', 3);
$m->state('several', 2);
is($s->value("SELECT segments > 2 AND pending_docs = 150 FROM skipidx_stats('docs_skx')"), 't', 'several segments and pending documents');
$m->state($_->[0], $_->[1]) for [ 'vacuumed, several', 2 ], [ 'deleted', 2 ], [ 'vacuumed again', 2 ], [ 'merged', 2 ], [ 'few deleted', 3 ];
$m->beside_older(5);

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
		my $groups = "SELECT md5(string_agg(x::text, ',' ORDER BY x)) FROM (SELECT $column, count(*) FROM many WHERE v \@\@ '$query' GROUP BY $column) x";

		is($m->by('groups', $groups), $m->by('seq', $groups), "$what: $query by $column");
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

# One plan for all queries: a grouping of the rows would take time for each of
# those that frequent words find.
like($s->raw("RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan; SET plan_cache_mode = force_generic_plan;"
		  . " DEALLOCATE ALL; PREPARE groups (tsquery) AS SELECT part, count(*) FROM many WHERE v @@ \$1 GROUP BY part;"
		  . " PREPARE parts (tsquery) AS SELECT DISTINCT part FROM many WHERE v @@ \$1; EXPLAIN (COSTS OFF) EXECUTE $_ ('half')"),
	$facets, "an unknown query: $_") for 'groups', 'parts';
$s->value('DEALLOCATE ALL; RESET plan_cache_mode');

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
			my $groups = "SELECT string_agg(coalesce(format('%s', w), '~') || '=' || n, ' ' ORDER BY w IS NULL, format('%s', w) COLLATE \"C\") FROM (SELECT $column AS w, count(*) AS n FROM kinds WHERE v \@\@ 'wa' GROUP BY $column OFFSET 0) x";
			is($m->by('groups', $groups), $m->by('seq', $groups), "$state, groups of $column");
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
like($s->raw("SELECT skipidx_slices('docs_skx', 'category', 2)"), qr/0A000: column "category" of index "docs_skx" has no order/, 'no slices of text');
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
like($s->raw("SELECT skipidx_histogram('docs_skx', 'wa', 'category', '{x}'::text[])"), qr/0A000: column "category" of index "docs_skx" has no order/, 'a column without an order');
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

sub both { my ($what, $statement, $is) = @_; return $m->both($what, $statement, (undef, $facets, $any)[$is], $facets, 'sorted'); }

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
	[ 'DISTINCT of two columns', "SELECT DISTINCT tenant, category FROM docs WHERE v \@\@ 'wa' ORDER BY 1, 2", 0 ],
	[ 'DISTINCT of an expression', "SELECT DISTINCT tenant % 2 FROM docs WHERE v \@\@ 'wa' ORDER BY 1", 0 ],
	[ 'DISTINCT ON', "SELECT DISTINCT ON (tenant) tenant, id FROM docs WHERE v \@\@ 'wa' ORDER BY 1, 2", 0 ],
	[ 'DISTINCT of groups', "SELECT DISTINCT count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'DISTINCT of a window', "SELECT DISTINCT first_value(tenant) OVER (PARTITION BY id % 3 ORDER BY id) FROM docs WHERE v \@\@ 'wa' ORDER BY 1", 0 ],
	[ 'DISTINCT, filtered', "SELECT DISTINCT tenant FROM docs WHERE v \@\@ 'wa' AND id % 2 = 0 ORDER BY 1", 0 ],
	[ 'another aggregate', "SELECT tenant, count(*), max(id) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'FILTER', "SELECT tenant, count(*) FILTER (WHERE id > 9) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'DISTINCT', "SELECT tenant, count(DISTINCT tenant) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'two columns', "SELECT tenant, category, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tenant, category ORDER BY 1, 2", 0 ],
	[ 'grouping sets', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY ROLLUP (tenant) ORDER BY 1, 2", 0 ],
	[ 'another collation', "SELECT category COLLATE \"C\", count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY category COLLATE \"C\" ORDER BY 1", 0 ],
	[ 'an array', "SELECT tags, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'a filter', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' AND id % 2 = 0 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'equality of arrays', "SELECT tenant, count(*) FROM docs WHERE v \@\@ 'wa' AND tags = '{t1}' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'a column that is not in the index', "SELECT id % 2, count(*) FROM docs WHERE v \@\@ 'wa' GROUP BY 1 ORDER BY 1", 0 ],
	[ 'a partition', "SELECT tenant, count(*) FROM parts1 WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 1 ],
	[ 'a sample', "SELECT tenant, count(*) FROM docs TABLESAMPLE BERNOULLI (100) WHERE v \@\@ 'wa' GROUP BY tenant ORDER BY 1", 0 ]);
# by several tables a value comes once
my $distinct = "SELECT DISTINCT tenant FROM halves WHERE v @@ 'wa' ORDER BY 1";
my $known = $m->by('seq', $distinct);
like($m->by('sorted', "SET enable_hashagg = on; EXPLAIN (COSTS OFF) $distinct"), qr/HashAggregate.*Skipidx Facets.*half1.*half2/s, 'SELECT DISTINCT of partitions: by the indexes');
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

$m->state('crashed', 3);
$s = $m->session;
$m->state('vacuumed, crashed', 3);
my $there = $m->standby;
$m->load(60);
$s->value("DELETE FROM docs WHERE id % 13 = 7; SELECT tend()");
$s->value('VACUUM docs');
$m->caught_up;
$m->differ('standby', 3, on => $there);
$m->churn($m->long(60, 6), $there, skx_session($node, 'd'));
$m->differ('in the end', 3);
done_testing();
