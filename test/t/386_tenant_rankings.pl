# Rankings with the statistics of the rows that have a value: their numbers are
# those that a sequential scan counts, for each tenant, in every state of the
# index and of partitions, for columns of all kinds; they add up to the index's;
# by them rows have the bits that a table of the tenant's rows alone gives; and
# nobody gets one that a policy applies to, but by a function of the owner.
#
# Holds: functions 19; score 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('tenants', conf => "skipidx.cache_size = 16MB\nskipidx.max_workers = 0");
my $s = skx_session($node, 'postgres');

# Tenant 0 has half of the rows, tenant 9 one, 8 short ones only, and some have
# none.  Documents have from none to 600 words, so that norms round the lengths
# of many.  `seen` has the rows that the index counts.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TYPE kind AS ENUM ('letter', 'bill', 'note');
CREATE DOMAIN tenant_id AS int;
CREATE FUNCTION words(i int, n int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 100 * (abs(hashint4(i + 77 * j)) % 100)) / 400 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, n) j $$;
CREATE FUNCTION body(i int, tenant int) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN i % 53 = 0 THEN NULL WHEN i % 47 = 0 THEN '' WHEN i % 11 = 0 THEN strip(words(i, 90))
		WHEN tenant = 8 THEN words(i, 1 + i % 40) ELSE words(i, 1 + abs(hashint4(i)) % CASE WHEN i % 5 = 0 THEN 600 ELSE 100 END) END $$;
CREATE TABLE docs (id int, tenant int, tags text[], who varchar(20), price numeric(9,2), sent timestamptz, kind kind, big bigint, v tsvector)
	WITH (autovacuum_enabled = off);
CREATE FUNCTION make(low int, high int) RETURNS SETOF docs LANGUAGE sql AS $$
	SELECT i, t, ARRAY['t' || i % 3, 't' || i % 4], 'u' || i % 3, i % 5 + 0.5, timestamptz '2026-01-01 00:00+00' + interval '1 day' * (i % 4), (enum_range(NULL::kind))[1 + i % 3], i % 3, body(i, t)
	FROM (SELECT i, CASE WHEN i = 1234 THEN 9 WHEN i % 2 = 0 THEN 0 WHEN i % 29 = 0 THEN NULL ELSE i % 9 END AS t FROM generate_series(low, high) i) x $$;
INSERT INTO docs SELECT * FROM make(1, 3000);
CREATE INDEX docs_v ON docs USING skipidx (v, tenant, tags, who, price, sent, kind, big) WITH (pending_limit = '1GB');
CREATE TABLE seen AS SELECT * FROM docs;

-- what a ranking has to say, counted row by row
CREATE FUNCTION counted(rel regclass, condition text, words text[], pairs text) RETURNS skipidx_ranking LANGUAGE plpgsql AS $$
DECLARE
	r text;
	w text;
	df bigint;
	whole bigint;
	found text[];
BEGIN
	EXECUTE format('SELECT format(''documents=%%s length=%%s'', count(v), coalesce(sum((SELECT sum(greatest(cardinality(positions), 1)) FROM unnest(v))), 0)) FROM %s WHERE %s', rel, condition) INTO r;
	FOREACH w IN ARRAY words LOOP
		IF w LIKE '%*' THEN
			EXECUTE format('SELECT count(*), count(*) FILTER (WHERE lexeme = %L), (array_agg(DISTINCT lexeme))[1:2] FROM %s, unnest(v) WHERE %s AND starts_with(lexeme, %1$L)', rtrim(w, '*'), rel, condition)
				INTO df, whole, found;
			r := r || format(' %L:*(df=%s%s%s)', rtrim(w, '*'), df, CASE WHEN whole > 0 THEN ',whole=' || whole END, CASE WHEN cardinality(found) = 1 THEN format(',only=%L', found[1]) END);
		ELSE
			EXECUTE format('SELECT count(*) FROM %s WHERE %s AND %L = ANY (tsvector_to_array(v))', rel, condition, w) INTO df;
			r := r || format(' %L(df=%s)', w, df);
		END IF;
	END LOOP;
	RETURN (r || pairs)::skipidx_ranking;
END $$;
SQL

# Query, its words and pairs
my @queries = (
	[ 'w0', '{w0}', '' ],
	[ 'w1 & w2 & w24', '{w1,w2,w24}', q{ near('w1','w2') near('w2','w24')} ],
	[ 'w1:* | w3', '{w3,w1*}', '' ],
	[ 'w:* & w24:* & x:*', '{w*,w24*,x*}', '' ],
	[ 'w2:* & !w5', '{w2*}', '' ],
	[ 'nothing', '{nothing}', '' ],
	[ '', '{}', '' ]);
my $values = join ',', map { "('$_->[0]'::tsquery, '$_->[1]'::text[], '" . $_->[2] =~ s/'/''/gr . "')" } @queries;

# Column, value, the condition that it stands for
my @columns = (
	(map { [ 'tenant', $_, "tenant = $_" ] } 0 .. 10),
	[ 'tenant', "'3'", 'tenant = 3' ],
	[ 'tenant', '3::bigint', 'tenant = 3' ],
	[ 'tenant', '3::smallint', 'tenant = 3' ],
	[ 'tenant', '3::tenant_id', 'tenant = 3' ],
	[ 'tenant', "current_setting('app.tenant')", 'tenant = 4' ],
	[ 'tenant', '12345678901::bigint', 'false' ],
	[ 'tags', "'t0'", "tags @> '{t0}'" ],
	[ 'tags', "'t3'::varchar", "tags @> '{t3}'" ],
	[ 'tags', "''", 'false' ],
	[ 'who', "'u1'", "who = 'u1'" ],
	[ 'who', "'u1'::char(7)", "who = 'u1'" ],
	[ 'who', "'u1'::name", "who = 'u1'" ],
	[ 'who', "repeat('u', 3000)", 'false' ],
	[ 'price', '1.50', 'price = 1.5' ],
	[ 'price', "'1.5'", 'price = 1.5' ],
	[ 'price', '1.501', 'false' ],
	[ 'sent', "'2026-01-02 00:00+00'", "sent = '2026-01-02 00:00+00'" ],
	[ 'sent', "'2026-01-02 00:00+00'::timestamptz", "sent = '2026-01-02 00:00+00'" ],
	[ 'sent', "'2026-01-02'::date", "sent = '2026-01-02'::date" ],
	[ 'kind', "'bill'", "kind = 'bill'" ],
	[ 'kind', "'bill'::kind", "kind = 'bill'" ],
	[ 'big', '1', 'big = 1' ]);

$s->value("SET app.tenant = 4; SET timezone = 'Asia/Tokyo'");

# Compares with the count of `seen`, by all columns or a few values of two, and
# sums with the ranking of the index.
sub compare
{
	my ($state, $index, $seen, $all) = @_;

	for ($all ? @columns : grep { "$_->[0] $_->[1]" =~ /^tenant [0389]$|^tags 't0'/ } @columns)
	{
		my ($column, $value, $condition) = @$_;
		my $wrong = $s->value("SELECT string_agg(format('%s: %s instead of %s', q, is_, should), E'\\n') FROM (VALUES $values) q (q, words, pairs), "
			  . "LATERAL (SELECT skipidx_ranking('$index', q, '$column', $value)::text, counted('$seen', \$\$$condition\$\$, words, pairs)::text OFFSET 0) x (is_, should) WHERE is_ IS DISTINCT FROM should");

		is($wrong, '', "$state: $column = $value");
	}
	is(sums($index, $seen), '', "$state: tenants add up");
}

sub sums
{
	my ($index, $seen) = @_;

	return $s->value("SELECT string_agg(q::text, ' ') FROM (VALUES $values) q (q) WHERE (SELECT sum(skipidx_ranking('$index', q, 'big', t))::text FROM generate_series(0, 2) t) "
		  . "IS DISTINCT FROM skipidx_ranking('$index', q)::text");
}

my $noted = q{TRUNCATE seen; INSERT INTO seen SELECT * FROM docs};

compare('built', 'docs_v', 'seen', 1);
$s->value("INSERT INTO docs SELECT * FROM make(3001, 3200); $noted");
compare('pending', 'docs_v', 'seen', 1);
$s->value('DELETE FROM docs WHERE id % 7 = 0');
compare('deleted', 'docs_v', 'seen');
$s->value('VACUUM docs');
is(sums('docs_v'), '', 'vacuumed: tenants add up');
$s->value("SELECT skipidx_flush('docs_v'); SELECT skipidx_merge('docs_v'); $noted");
compare('merged', 'docs_v', 'seen', 1);
# a segment of one tenant alone, of long documents, and one of short ones
for my $t (0, 8)
{
	$s->value("INSERT INTO docs SELECT id, $t, tags, who, price, sent, kind, big, body(id, $t) FROM make(4000 + $t, 4040); SELECT skipidx_flush('docs_v'); $noted");
	compare("a segment of tenant $t", 'docs_v', 'seen');
}
$s->value('BEGIN; DELETE FROM docs WHERE tenant = 0; INSERT INTO docs SELECT * FROM make(5000, 5050); SAVEPOINT a; INSERT INTO docs SELECT * FROM make(6000, 6050); ROLLBACK TO a; '
	  . 'INSERT INTO seen SELECT * FROM make(5000, 5050); INSERT INTO seen SELECT * FROM make(6000, 6050)');
compare('in a transaction', 'docs_v', 'seen');
$s->value("ROLLBACK; REINDEX INDEX docs_v; $noted");
compare('built anew', 'docs_v', 'seen');

# ---- work ----

# Lengths of long documents take a walk over their segment's words, once in a
# session; those of short ones do not.
my $fresh = skx_session($node, 'postgres');

sub work
{
	my ($tenant) = @_;
	my $ask = 'SELECT subblocks FROM skipidx_work()';
	my $before = $fresh->value($ask);

	$fresh->value("SELECT skipidx_ranking('docs_v', 'nothing', 'tenant', $tenant)");
	return $fresh->value($ask) - $before;
}

work(10);
my ($long, $again, $short) = map { work($_) } 3, 3, 8;
note "sub-blocks: long documents $long, again $again, short ones $short";
cmp_ok($again * 3, '<', $long, 'what a session keeps');
cmp_ok($short * 3, '<', $long, 'short documents');
$s->value("INSERT INTO docs SELECT * FROM make(6500, 6700); SELECT skipidx_flush('docs_v'); $noted");
my $added = work(3);
cmp_ok($added, '>', $again, 'a new segment');
cmp_ok($added, '<', $long, 'and no other');
is($fresh->value(q{SELECT skipidx_ranking('docs_v', 'w0', 'tenant', 3)::text = counted('seen', 'tenant = 3', '{w0}', '')::text}), 't', 'by what is kept');
# more values than are kept
$fresh->value(q{SELECT count(skipidx_ranking('docs_v', 'w0', 'tenant', i)) FROM generate_series(0, 300) i});
is($fresh->value(q{SELECT skipidx_ranking('docs_v', 'w0', 'tenant', 3)::text = counted('seen', 'tenant = 3', '{w0}', '')::text}), 't', 'and when that was given up');
$fresh->close;

# ---- the statistics of one statement ----

my $other = skx_session($node, 'postgres');
$s->value("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT skipidx_ranking('docs_v', 'w0')");
$other->value("INSERT INTO docs SELECT * FROM make(7000, 7100); SELECT skipidx_flush('docs_v')");
compare('while others insert and flush', 'docs_v', 'seen');
$s->value("COMMIT; $noted");
$other->close;

# ---- partitions, and tables that inherit ----

$s->value(<<'SQL');
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 (kind kind, v tsvector, id int, tenant int, who varchar(20), tags text[], big bigint, price numeric(9,2), sent timestamptz);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT * FROM make(1, 900);
CREATE INDEX parts_v ON parts USING skipidx (v, tenant, tags, who, price, sent, kind, big);
INSERT INTO parts SELECT * FROM make(901, 1000);
CREATE TABLE all_parts AS SELECT * FROM parts;
DELETE FROM parts WHERE id % 5 = 0;
CREATE TABLE parent (LIKE docs);
CREATE TABLE heir () INHERITS (parent);
INSERT INTO parent SELECT * FROM make(1, 300);
INSERT INTO heir SELECT * FROM make(301, 500);
CREATE INDEX parent_v ON parent USING skipidx (v, tenant, tags, who, price, sent, kind, big);
CREATE INDEX heir_v ON heir USING skipidx (v, tenant, tags, who, price, sent, kind, big);
INSERT INTO heir SELECT * FROM make(501, 600);
SQL
compare('partitions', 'parts_v', 'all_parts', 1);
compare('a parent', 'parent_v', 'parent');

# An expression, by its name; one statement asks of several tables
$s->value('CREATE INDEX parts_2_lower ON parts_2 USING skipidx (v, lower(who))');
is($s->value(q{SELECT skipidx_ranking('parts_2_lower', 'w1', 'lower', 'u2')::text = counted('parts_2', $$who = 'u2' AND id % 5 <> 0$$, '{w1}', '')::text}), 't', 'an expression');

# ---- bits ----

for my $t (0, 3, 8, 9)
{
	$s->value("CREATE TABLE own_$t AS SELECT * FROM docs WHERE tenant = $t; CREATE INDEX own_${t}_v ON own_$t USING skipidx (v); ANALYZE own_$t, docs");
	$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off');
	for (@queries)
	{
		my ($q) = @$_;
		my $best = sub { "SELECT string_agg(id || ' ' || float4send(d)::text, ',' ORDER BY d, id) FROM (SELECT id, $_[1] AS d FROM $_[0] ORDER BY $_[1] LIMIT 100000) x WHERE d < 0" };

		is($s->value($best->("(SELECT * FROM docs WHERE tenant = $t) y", "v <@> skipidx_ranking('docs_v', '$q', 'tenant', $t)")), $s->value($best->("own_$t", "v <@> '$q'")),
			"tenant $t: $q: rows and bits of a table of its own");
	}
	like($s->value("EXPLAIN SELECT id FROM docs WHERE tenant = $t ORDER BY v <@> skipidx_ranking('docs_v', 'w0', 'tenant', $t) LIMIT 10"), qr/Index Scan using docs_v.*Order By/s, "tenant $t: by the index")
	  if $t != 9;
	$s->value('RESET enable_seqscan; RESET enable_bitmapscan');
}

# ---- parameters ----

$s->value(q{PREPARE of_tenant(tsquery, int) AS SELECT skipidx_ranking('docs_v', $1, 'tenant', $2)::text = counted('seen', format('tenant = %s', $2), '{w1}', '')::text});
$s->value(q{SET plan_cache_mode = force_generic_plan});
is($s->value("EXECUTE of_tenant('w1', $_)"), 't', "parameters: $_") for 0, 3, 9;
$s->value(q{PREPARE nothing(tsquery, int) AS SELECT skipidx_ranking('docs_v', $1, 'tenant', $2) IS NULL});
is($s->value("EXECUTE nothing($_)"), 't', "parameters: $_") for "'w1', NULL", 'NULL, 3';
is($s->value("SELECT count(*) FROM (SELECT DISTINCT tenant FROM docs) t WHERE skipidx_ranking('docs_v', 'w1', 'tenant', tenant)::text IS DISTINCT FROM "
	  . "CASE WHEN tenant IS NOT NULL THEN counted('seen', format('tenant = %s', tenant), '{w1}', '')::text END"), 0, 'of each row');
$s->value('DEALLOCATE ALL; RESET plan_cache_mode');

# ---- what is refused ----

$s->value('CREATE TABLE missing (a int); INSERT INTO missing VALUES (1); ALTER TABLE missing ADD b int DEFAULT 7');
my @refused = (
	[ "'docs_v', 'w1', 'v', 'x'", '42809', 'the text' ],
	[ "'docs_v', 'w1', 'nosuch', 3", '42703', 'no such column' ],
	[ "'docs_v', 'w1', '', 3", '42703', 'no name' ],
	[ "'docs_v', 'w1', 'id', 3", '42703', 'a column that the index does not have' ],
	[ "'docs_v', 'w1', 'tenant', 'three'", '22P02', 'no number' ],
	[ "'docs_v', 'w1', 'tenant', '99999999999'", '22003', 'too large a number' ],
	[ "'docs_v', 'w1', 'tenant', point '(1,2)'", '42804', 'a value of another kind' ],
	[ "'docs_v', 'w1', 'tenant', 3.0", '42804', 'a numeric for an integer' ],
	[ "'docs_v', 'w1', 'tenant', true", '42804', 'a boolean' ],
	[ "'docs_v', 'w1', 'tenant', ARRAY[3]", '42804', 'an array' ],
	[ "'docs_v', 'w1', 'tags', ARRAY['t0']", '42804', 'an array for an element' ],
	[ "'docs_v', 'w1', 'tags', 3", '42804', 'a number for a text' ],
	[ "'docs_v', 'w1', 'tenant', ROW(3)", '42804', 'a row' ],
	[ "'docs_v', 'w1', 'tenant', (SELECT attmissingval FROM pg_attribute WHERE attrelid = 'missing'::regclass AND attname = 'b')", '42804', 'an array of a catalog, of any type' ],
	[ "'docs_v', 'w1', 'sent', 'yesterday or so'", '22007', 'no time' ],
	[ "'docs_v', 'w1', 'kind', 'parcel'", '22P02', 'no value of the enum' ],
	[ "'docs', 'w1', 'tenant', 3", '42809', 'a table' ]);
for (@refused)
{
	my ($arguments, $state, $what) = @$_;

	like($s->raw("SELECT skipidx_ranking($arguments)"), qr/ERROR:  $state/, "refused: $what");
}
is($s->value("SELECT skipidx_ranking($_) IS NULL"), 't', "NULL: $_")
  for "NULL, 'w1', 'tenant', 3", "'docs_v', NULL, 'tenant', 3", "'docs_v', 'w1', NULL, 3", "'docs_v', 'w1', 'tenant', NULL", "'docs_v', 'w1', 'tenant', NULL::int";

# A statement can be ended while it counts.
$s->value("CREATE TABLE many AS SELECT i AS id, i % 2 AS tenant, words(i, 60) || ('n' || i || ':1')::tsvector AS v FROM generate_series(1, 20000) i; CREATE INDEX many_v ON many USING skipidx (v, tenant)");
is($s->value(q{SELECT skipidx_ranking('many_v', 'n:*', 'tenant', 1)::text = counted('many', 'tenant = 1', '{n*}', '')::text}), 't', 'many lexemes of a prefix');
$s->value("BEGIN; SET LOCAL statement_timeout = '5ms'");
like($s->raw("SELECT count(skipidx_ranking('many_v', 'n:*', 'tenant', i % 2)) FROM generate_series(1, 50) i"), qr/ERROR:  57014/, 'ended');
$s->value('ROLLBACK');

# ---- rights and policies ----

$s->value(<<'SQL');
CREATE ROLE owner;
CREATE ROLE reader;
CREATE ROLE seer BYPASSRLS;
CREATE ROLE half;
ALTER TABLE docs OWNER TO owner;
GRANT SELECT ON docs TO reader, seer;
GRANT SELECT (id, v, tags, who, price, sent, kind, big) ON docs TO half;
GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner;
CREATE FUNCTION own_ranking(query tsquery) RETURNS skipidx_ranking LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	RETURN skipidx_ranking('docs_v', query, 'tenant', current_setting('app.tenant'));
RESET ROLE;
SQL
my $call = q{SELECT skipidx_ranking('docs_v', 'w1', 'tenant', 4)};
my $right = $s->value($call);
my $policies = qr/ERROR:  42501.*row-level security applies to table "docs".*HINT:.*SECURITY DEFINER/s;

is($s->value("SET ROLE $_; $call; RESET ROLE"), $right, "$_ has the right") for qw(owner reader seer);
like($s->raw("SET ROLE half; $call"), qr/ERROR:  42501/, 'not without SELECT on the column');
$s->value('RESET ROLE; ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON docs USING (tenant = current_setting($$app.tenant$$)::int)');
is($s->value("SET ROLE $_; $call; RESET ROLE"), $right, "under a policy $_ has the right") for qw(owner seer);
like($s->raw("SET ROLE reader; $call"), $policies, 'a reader has not');
like($s->raw(q{SELECT skipidx_ranking('docs_v', 'w1', 'tenant', '5')}), $policies, 'nor by text');
is($s->value(q{SELECT own_ranking('w1')}), $right, 'but by the function of the owner');
my $own = q{SELECT string_agg(id || ' ' || float4send(d)::text, ',') FROM (SELECT id, v <@> r AS d FROM docs, (SELECT own_ranking('w1 & w2') OFFSET 0) x (r) WHERE v @@ 'w1 | w2' ORDER BY v <@> r, id LIMIT 20) y};
my $rows = $s->value($own);
like($rows, qr/^\d+ \\x\w+(,\d+ \\x\w+){19}$/, 'it ranks rows of the reader');
is($s->value(q{RESET ROLE; SELECT string_agg(id || ' ' || float4send(d)::text, ',') FROM (SELECT id, v <@> skipidx_ranking('docs_v', 'w1 & w2', 'tenant', 4) AS d FROM docs WHERE tenant = 4 AND v @@ 'w1 | w2' ORDER BY d, id LIMIT 20) y}), $rows, 'as the owner does');
$s->value('ALTER TABLE docs FORCE ROW LEVEL SECURITY');
like($s->raw("SET ROLE owner; $call"), $policies, 'the owner has not where the policy is forced');
like($s->raw("SET ROLE reader; SELECT own_ranking('w1')"), $policies, 'nor his function');

$s->close;
$node->stop;
done_testing();
