# Partitioned indexes: counts, facets, histograms, terms and scrolls by the functions,
# and groups by the planner, of all partitions together: those of the sequential scan,
# in every state that partitions can be in, whatever the order of their columns;
# detached and attached, beside writers that move rows between them, on a standby;
# and what is refused.
#
# Long: 1000 queries, else 120 (SKX_RANK_QUERIES).
#
# Holds: facets 1, 5, 7; functions 2, 4, 5, 7, 8, 10; plan 17, 19, 20; scroll 1, 2, 4, 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;

my $seed = skx_seed(311);
my $whole = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000;
my $node = skx_node('partitions', streaming => 1, conf => "autovacuum = off\nskipidx.cache_size = 4MB\nskipidx.max_workers = 0");

note "seed $seed";
skx_database($node, 'd');

my $s = skx_session($node, 'd');

# parts1 has other column numbers, parts2 partitions of its own, parts4 no rows,
# parts5 no partitions
$s->value(<<'SQL');
CREATE TABLE parts (id int NOT NULL, v tsvector, tenant int, name text, amount numeric(8, 2), loose numeric, tags text[], part int NOT NULL) PARTITION BY LIST (part);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE parts1 (gone int, loose numeric, part int NOT NULL, tags text[], other int, amount numeric(8, 2), name text, tenant int, v tsvector, id int NOT NULL);
ALTER TABLE parts1 DROP COLUMN gone, DROP COLUMN other;
ALTER TABLE parts ATTACH PARTITION parts1 FOR VALUES IN (1);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES IN (2, 3) PARTITION BY RANGE (id);
CREATE TABLE parts2a PARTITION OF parts2 FOR VALUES FROM (0) TO (400);
CREATE TABLE parts2b PARTITION OF parts2 FOR VALUES FROM (400) TO (800);
CREATE TABLE parts2c PARTITION OF parts2 DEFAULT;
CREATE TABLE parts4 PARTITION OF parts FOR VALUES IN (4);
CREATE TABLE parts5 PARTITION OF parts FOR VALUES IN (5) PARTITION BY RANGE (id);
CREATE INDEX parts_skx ON parts USING skipidx (v, tenant, name, amount, loose, tags, lower(name), part);
CREATE TABLE asked (qid int PRIMARY KEY, q tsquery, cond text);

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode <> 'seq')::text, false),
		set_config('enable_indexscan', (mode <> 'seq')::text, false),
		set_config('enable_sort', (mode <> 'facets')::text, false),
		-- for tables that are small: rows that Append hands on are dear
		set_config('cpu_tuple_cost', CASE mode WHEN 'seq' THEN '0.01' ELSE '5' END, false);
END $$;

-- flushes the pending documents of all partitions, and merges
CREATE FUNCTION tend(segments int DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	one regclass;
BEGIN
	FOR one IN SELECT relid FROM pg_partition_tree('parts_skx') WHERE isleaf ORDER BY relid LOOP
		PERFORM skipidx_flush(one);
		IF segments IS NOT NULL THEN PERFORM skipidx_merge(one, segments); END IF;
	END LOOP;
END $$;

-- Pages of a slice, each from the token of the last row of the one before; and
-- slices together against the sequential scan: rows in one and not in the other,
-- rows that came twice, slices that have some.
CREATE FUNCTION pages(q tsquery, slice int, slices int, size int) RETURNS TABLE (tab oid, tid tid) LANGUAGE plpgsql AS $$
DECLARE
	after bytea;
	one record;
	n int;
BEGIN
	LOOP
		n := 0;
		FOR one IN SELECT * FROM skipidx_scroll('parts_skx', q, slice, slices, after, size) LOOP
			-- those of one call do
			IF n > 0 AND after >= one.token THEN RAISE 'tokens do not ascend'; END IF;
			tab := one.tableoid; tid := one.ctid; after := one.token; n := n + 1;
			RETURN NEXT;
		END LOOP;
		IF n > size THEN RAISE 'a page of % rows', n; END IF;
		EXIT WHEN n < size;
	END LOOP;
END $$;
CREATE FUNCTION scrolled(q tsquery, slices int, size int, OUT n int, OUT wrong int, OUT twice int, OUT used int)
LANGUAGE plpgsql SET enable_indexscan = off SET enable_bitmapscan = off AS $$
BEGIN
	WITH found AS MATERIALIZED (SELECT s, p.tab, p.tid FROM generate_series(0, slices - 1) s, pages(q, s, slices, size) p),
		wanted AS (SELECT tableoid AS tab, ctid AS tid FROM parts WHERE v @@ q)
	SELECT count(*), (SELECT count(*) FROM found FULL JOIN wanted USING (tab, tid) WHERE found.s IS NULL OR wanted.tid IS NULL),
		count(*) - count(DISTINCT (tab, tid)), count(DISTINCT s) INTO n, wrong, twice, used FROM found;
END $$;

CREATE FUNCTION run(part int, stride int, OUT queries int, OUT matched int, OUT n_values int8, OUT by_facets int, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	col text;
	want jsonb;
	got jsonb;
	plan json;
BEGIN
	queries := 0; matched := 0; n_values := 0; by_facets := 0; wrong := '{}';
	FOR one IN SELECT * FROM asked WHERE qid % stride = run.part ORDER BY qid LOOP
		PERFORM set_mode('seq');
		SELECT to_jsonb(count(*)) INTO want FROM parts WHERE v @@ one.q;
		got := to_jsonb(skipidx_count('parts_skx', one.q));
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_count(%s): %s, not %s', one.qid, one.q, got, want);
		END IF;
		SELECT jsonb_object_agg(column_name || ' ' || coalesce(value, 'NULL'), count) INTO want FROM (
			SELECT 'tenant' AS column_name, tenant::text AS value, count(*) FROM parts WHERE v @@ one.q GROUP BY tenant
			UNION ALL SELECT 'name', name, count(*) FROM parts WHERE v @@ one.q GROUP BY name
			UNION ALL SELECT 'amount', amount::text, count(*) FROM parts WHERE v @@ one.q GROUP BY amount
			UNION ALL SELECT 'lower', lower(name), count(*) FROM parts WHERE v @@ one.q GROUP BY lower(name)
			UNION ALL SELECT 'loose', trim_scale(loose)::text, count(*) FROM parts WHERE v @@ one.q GROUP BY loose
			UNION ALL SELECT 'part', parts.part::text, count(*) FROM parts WHERE v @@ one.q GROUP BY parts.part
			UNION ALL SELECT 'tags', NULL, count(*) FROM parts WHERE v @@ one.q AND tags IS NULL HAVING count(*) > 0
			UNION ALL SELECT 'tags', tag, count(DISTINCT id) FROM parts, unnest(tags) tag WHERE v @@ one.q AND tag IS NOT NULL GROUP BY tag) x;
		SELECT jsonb_object_agg(column_name || ' ' || CASE WHEN column_name = 'loose' AND value IS NOT NULL THEN trim_scale(value::numeric)::text ELSE coalesce(value, 'NULL') END, count) INTO got
			FROM skipidx_facets('parts_skx', one.q, array['tenant', 'name', 'amount', 'lower', 'loose', 'tags', 'part'], NULL);
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_facets(%s): %s', one.qid, one.q, (SELECT string_agg(format('%s is %s, not %s', coalesce(w.key, g.key), g.value, w.value), ', ')
				FROM jsonb_each(want) w FULL JOIN jsonb_each(got) g USING (key) WHERE w.value IS DISTINCT FROM g.value));
		END IF;
		queries := queries + 1;
		matched := matched + (want IS NOT NULL)::int;
		n_values := n_values + (SELECT count(*) FROM jsonb_object_keys(want));
		-- between bounds
		SELECT jsonb_object_agg(coalesce(x.b, -1), x.c) INTO want FROM (SELECT width_bucket(amount, '{-1.5,0,0.125,3,20}') AS b, count(*) AS c
			FROM parts WHERE v @@ one.q GROUP BY 1) x;
		SELECT jsonb_object_agg(coalesce(bucket, -1), count) INTO got FROM skipidx_histogram('parts_skx', one.q, 'amount', '{-1.5,0,0.125,3,20}'::numeric[]) WHERE count > 0;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_histogram(%s): %s, not %s', one.qid, one.q, got, want);
		END IF;
		-- a few, the commonest first
		col := (array['tenant', 'name', 'amount'])[1 + one.qid % 3];
		EXECUTE format('SELECT jsonb_agg(x) FROM (SELECT %1$I::text AS value, count(*) FROM parts WHERE v @@ $1 GROUP BY %1$I ORDER BY 2 DESC, %1$I IS NULL DESC, %1$I %2$s LIMIT 3) x',
			col, CASE col WHEN 'name' THEN 'COLLATE "C"' ELSE '' END) INTO want USING one.q;
		SELECT jsonb_agg(x) INTO got FROM skipidx_facets('parts_skx', one.q, col, 3) x;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: skipidx_facets(%s, %s): %s, not %s', one.qid, one.q, col, got, want);
		END IF;
		-- by the planner, with whatever conditions
		col := (array['tenant', 'name', 'amount', 'loose', 'part'])[1 + one.qid % 5];
		EXECUTE format('SELECT jsonb_object_agg(coalesce(trim_scale(v::text::numeric)::text, ''NULL''), n) FROM'
			' (SELECT %1$s AS v, jsonb_build_array(count(*), count(%2$I), count(1)) AS n FROM parts WHERE %3$s GROUP BY %2$I HAVING count(*) > %4$s) x',
			CASE col WHEN 'name' THEN 'ascii(name)' ELSE col END, col, one.cond, one.qid % 3) INTO want;
		PERFORM set_mode('facets');
		EXECUTE format('SELECT jsonb_object_agg(coalesce(trim_scale(v::text::numeric)::text, ''NULL''), n) FROM'
			' (SELECT %1$s AS v, jsonb_build_array(count(*), count(%2$I), count(1)) AS n FROM parts WHERE %3$s GROUP BY %2$I HAVING count(*) > %4$s) x',
			CASE col WHEN 'name' THEN 'ascii(name)' ELSE col END, col, one.cond, one.qid % 3) INTO got;
		EXECUTE format('EXPLAIN (FORMAT JSON) SELECT %1$I, count(*) FROM parts WHERE %2$s GROUP BY %1$I', col, one.cond) INTO plan;
		by_facets := by_facets + (plan::text ~ 'Skipidx (Facets|Columns)')::int;
		IF got IS DISTINCT FROM want THEN
			wrong := wrong || format('%s: GROUP BY %s WHERE %s: %s, not %s', one.qid, col, one.cond, got, want);
		END IF;
	END LOOP;
	PERFORM set_mode('seq');
END $$;
SQL

# ---- rows and queries ----

my $rows = 0;

sub one_of { return $_[ rand @_ ]; }

sub quoted { return defined $_[0] ? "'" . ($_[0] =~ s/'/''/gr) . "'" : 'NULL'; }

sub words
{
	my @words = map { one_of('wa', 'wa', 'wb', 'wc', 'wd', 'xe' . int rand 40) } 1 .. int rand 9;
	my $at = 0;

	# without positions, some
	return rand() < 0.1 ? join(' ', @words) : join ' ', map { "$_:" . ++$at } @words;
}

# Names in different forms of one value, and numbers, in different partitions.
sub load
{
	my ($n) = @_;

	$s->value('INSERT INTO parts VALUES ' . join ', ', map {
		'(' . join(', ', ++$rows, rand() < 0.1 ? 'NULL' : quoted(words()), rand() < 0.1 ? 'NULL' : int rand 9,
			rand() < 0.1 ? 'NULL' : quoted(one_of('A', 'a', 'b', 'B', 'c', '', 'd')),
			rand() < 0.1 ? 'NULL' : sprintf('%.*f', int rand 3, rand(1) ** 3 * 40 - 5),
			rand() < 0.1 ? 'NULL' : one_of('1', '1.0', '1.00', '-2', '-2.0', 0, '0.0', '123456789012', '0.00001', '10000', int rand 999),
			rand() < 0.1 ? 'NULL' : "'{" . join(',', map { one_of('NULL', map { 't' . int rand 7 } 1 .. 6) } 1 .. int rand 4) . "}'",
			int rand 4) . ')' } 1 .. $n);
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
		q{tags @> '{t1}'}, q{tags && '{t1,t2}'}, q{NOT (tags @> '{t1}')}, q{'t3' = ANY (tags)}, "name = 'a'", "lower(name) = 'a'", 'name IS NOT NULL', 'part = 2', 'part IN (1, 3)');
}

sub asked
{
	my $query = text_query();
	my @cond = rand() < 0.9 ? ("v @@ '$query'") : (condition());

	push @cond, condition() while rand() < 0.3;
	return '(' . $_[0] . ', ' . quoted($query) . ', ' . quoted(join ' AND ', @cond) . ')';
}

# ---- states ----

my $leaves = q{(SELECT relid FROM pg_partition_tree('parts_skx') JOIN pg_class c ON c.oid = relid WHERE c.relkind = 'i') l};

sub differ
{
	my ($what, $stride, $on) = @_;
	my $part = length($what) % $stride;
	my ($line, @wrong) = split /\n/, ($on // $s)->value("SELECT concat_ws(' ', queries, matched, n_values, by_facets)"
		  . " FROM run($part, $stride) r UNION ALL SELECT unnest(wrong[1:8]) FROM run($part, $stride)");
	my ($queries, $matched, $values, $by) = split / /, $line;

	ok($queries > 0 && $matched > $queries / 3 && @wrong == 0, "$what: $queries queries, $matched match, $values values")
	  or diag(join "\n", @wrong);
	cmp_ok($by, '>', $queries * ($what =~ /vacuumed|merged|tached/ ? 0.7 : 0.3), "$what: grouped by the index: $by");
	is(($on // $s)->value("SELECT string_agg(x::text, ' ') FROM skipidx_terms('parts_skx', max_rows => 1000) x"),
		($on // $s)->value("SELECT string_agg(x::text, ' ') FROM (SELECT term, sum(df)::int8, sum(tf)::int8 FROM $leaves, skipidx_terms(relid, max_rows => 1000) GROUP BY 1 ORDER BY 2 DESC, term COLLATE \"C\") x"),
		"$what: terms");
	is(($on // $s)->value("SELECT string_agg(q || ' ' || skipidx_count('parts_skx', q::tsquery, true), ',' ORDER BY q) FROM unnest('{wa,wa & wb,!wa,nosuch}'::text[]) q"),
		($on // $s)->value("SELECT string_agg(q || ' ' || n, ',' ORDER BY q) FROM (SELECT q, sum(skipidx_count(relid, q::tsquery, true)) AS n FROM $leaves, unnest('{wa,wa & wb,!wa,nosuch}'::text[]) q GROUP BY q) x"),
		"$what: about as many as in all partitions");

	my $rows = 0;

	for my $case ([ 'wa', 1, 100000 ], [ 'wa & wb', 1, 1 ], [ '!wa', 3, 100 ], [ 'wc', 2, 7 ], [ 'xe1:*', 5, 1 ], [ 'nosuch', 2, 10 ])
	{
		my ($query, $slices, $size) = @$case;
		my ($n, $bad, $twice, $some) = split /\|/, ($on // $s)->value("SELECT * FROM scrolled('$query', $slices, $size)");

		is("$bad $twice", '0 0', "$what: $query in $slices slices by $size: $n rows");
		cmp_ok($some, '>', 1, "$what: $query in $slices slices: $some have rows") if $slices > 1 && $n > 0;
		$rows += $n;
	}
	cmp_ok($rows, '>', 100, "$what: $rows rows scrolled");
	return;
}

sub vacuum { $s->value("VACUUM $_") for 'parts0', 'parts1', 'parts2a', 'parts2b', 'parts2c', 'parts4'; return; }

is($s->value("SELECT count(*) FROM skipidx_scroll('parts_skx', 'wa')"), 0, 'no rows to scroll');
is($s->value("SELECT skipidx_count('parts_skx', 'wa'), (SELECT count(*) FROM skipidx_facets('parts_skx', 'wa', 'tenant')),"
	  . " (SELECT sum(count) FROM skipidx_histogram('parts_skx', 'wa', 'amount', '{1}'::numeric[])), (SELECT count(*) FROM skipidx_terms('parts_skx'))"), '0|0|0|0', 'no rows');
load(1000);
$s->value('INSERT INTO asked VALUES ' . join ', ', map { asked($_) } 1 .. ($whole ? 1000 : 120));
$s->value('ANALYZE parts');
differ('pending', 3);
is($s->value("SELECT string_agg(concat_ws(' ', term, df, tf), ',' ORDER BY term COLLATE \"C\") FROM skipidx_terms('parts_skx', max_rows => 1000)"),
	$s->value("SELECT string_agg(concat_ws(' ', word, ndoc, nentry), ',' ORDER BY word COLLATE \"C\") FROM ts_stat('SELECT v FROM parts')"), 'terms, those of ts_stat');
$s->value('SELECT tend()');
differ('a segment each', 3);
load(150);
$s->value('SELECT tend()');
load(150);
differ('several and pending', 2);
vacuum();
differ('vacuumed', 2);
$s->value('DELETE FROM parts WHERE id % 4 = 1; UPDATE parts SET tenant = 1 WHERE id % 9 = 2; UPDATE parts SET part = (part + 1) % 4 WHERE id % 5 = 3;'
	  . ' BEGIN; DELETE FROM parts WHERE id % 7 = 2; ROLLBACK');
differ('deleted and moved', 2);
vacuum();
differ('vacuumed again', 2);
$s->value('SELECT tend(1)');
differ('merged', 2);
is($s->value("SELECT count(skipidx_check(relid, true)::text) FROM $leaves"), 6, 'skipidx_check');

# ---- partitions that come and go ----

$s->value('ALTER TABLE parts DETACH PARTITION parts1');
differ('one detached', 3);
$s->value("ALTER TABLE parts2 DETACH PARTITION parts2c; ALTER TABLE parts ATTACH PARTITION parts1 FOR VALUES IN (1, 7)");
differ('one attached, another detached', 3);
$s->value("ALTER TABLE parts2 ATTACH PARTITION parts2c DEFAULT; ALTER TABLE parts DETACH PARTITION parts2; CREATE TABLE parts9 (LIKE parts);"
	  . ' INSERT INTO parts9 SELECT id + 10000, v, tenant, name, amount, loose, tags, 9 FROM parts WHERE id % 3 = 0; ALTER TABLE parts ATTACH PARTITION parts9 FOR VALUES IN (9)');
differ('a whole level detached', 3);
$s->value('ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES IN (2, 3)');
differ('all of them', 3);

# one that is being detached is gone for who sees it go
{
	my ($old, $other) = map { skx_session($node, 'd') } 1 .. 2;
	my $rows = $s->value("SELECT count(*) FROM parts WHERE v @@ 'wa'");

	$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($old->value("SELECT count(*) FROM parts WHERE v @@ 'wa'"), $rows, 'before');
	$other->start('ALTER TABLE parts DETACH PARTITION parts9 CONCURRENTLY');
	$node->poll_query_until('d', "SELECT EXISTS (SELECT FROM pg_inherits WHERE inhdetachpending)");
	is($old->value("SELECT skipidx_count('parts_skx', 'wa')"), $rows, 'being detached: still there for who saw it');
	is($s->value("SELECT skipidx_count('parts_skx', 'wa')"), $s->value("SELECT count(*) FROM parts WHERE v @@ 'wa'"), 'being detached: gone for others');
	isnt($s->value("SELECT skipidx_count('parts_skx', 'wa')"), $rows, 'these are other rows');
	$old->value('COMMIT');
	is($other->finish, '', 'detached');
	$_->close for $old, $other;
}
$s->value('DROP TABLE parts9');

# all are locked until the transaction ends
is($s->value("BEGIN; SELECT skipidx_count('parts_skx', 'nosuch') \\g /dev/null\nSELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessShareLock'"
	  . " AND relation IN (SELECT relid FROM pg_partition_tree('parts') UNION SELECT relid FROM $leaves);\nCOMMIT;\n"), 15, 'tables and indexes are locked');

# ---- rights: those on the table that is named, as in a query on it ----

my @slices = map { [ split /\|/, $_, -1 ] } split /\n/, $s->value("SELECT * FROM skipidx_slices('parts_skx', 'amount', 3)");
is($s->value('SELECT sum(n) FROM (VALUES ' . join(', ', map { '((SELECT count(*) FROM parts WHERE ' . join(' AND ', 'amount IS NOT NULL', $_->[1] ne '' ? "amount >= $_->[1]" : (), $_->[2] ne '' ? "amount < $_->[2]" : ()) . '))' } @slices[ 0 .. 2 ])
	  . ') x (n)'), $s->value('SELECT count(amount) FROM parts'), 'slices of a column of all partitions');
my @calls = ("skipidx_slices('parts_skx', 'amount', 3)", "skipidx_scroll('parts_skx', 'wa')", "skipidx_count('parts_skx', 'wa')", "skipidx_count('parts_skx', 'wa', true)", "skipidx_facets('parts_skx', 'wa', 'loose')",
	"skipidx_histogram('parts_skx', 'wa', 'tenant', '{1}'::int[])", "skipidx_terms('parts_skx')");

$s->value('CREATE ROLE reader; GRANT SELECT ON parts0, parts1, parts2, parts2a, parts2b, parts2c, parts4, parts5 TO reader');
like($s->raw("SET ROLE reader; SELECT $_"), qr/42501: permission denied for table parts$/m, "$_: without SELECT") for @calls;
$s->value('RESET ROLE; REVOKE SELECT ON parts0, parts1, parts2, parts2a, parts2b, parts2c, parts4, parts5 FROM reader; GRANT SELECT ON parts TO reader');
for my $call (@calls)
{
	my $want = $s->value("SELECT string_agg(x::text, ',') FROM $call x");

	is($s->value("SET ROLE reader; SELECT string_agg(x::text, ',') FROM $call x"), $want, "$call: by the rights of the table");
	$s->value('RESET ROLE');
}
$s->value('ALTER TABLE parts0 ENABLE ROW LEVEL SECURITY');
is($s->value("SET ROLE reader; SELECT skipidx_count('parts_skx', 'wa') = (SELECT count(*) FROM parts WHERE v @@ 'wa')"), 't', 'policies of a partition apply to queries on it only');
$s->value('RESET ROLE; ALTER TABLE parts0 DISABLE ROW LEVEL SECURITY; ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON parts USING (tenant = 1)');
like($s->raw("SET ROLE reader; SELECT $_"), qr/42501: row-level security applies to table "parts"/, "$_: row-level security") for @calls;
$s->value('RESET ROLE; DROP POLICY own ON parts; ALTER TABLE parts DISABLE ROW LEVEL SECURITY');

# ---- what is refused ----

$s->value('CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;'
	  . ' CREATE FOREIGN TABLE away (id int NOT NULL, v tsvector, tenant int, name text, amount numeric(8, 2), loose numeric, tags text[], part int NOT NULL) SERVER nowhere;'
	  . ' ALTER TABLE parts ATTACH PARTITION away FOR VALUES IN (8)');
like($s->raw("SELECT $_"), qr/55000: partition "away" has no valid index that is a partition of index "parts_skx".*foreign table.*HINT/s, "$_: a foreign table") for @calls;
$s->value('ALTER TABLE parts DETACH PARTITION away');
$s->value("UPDATE pg_index SET indisvalid = false WHERE indrelid = 'parts2b'::regclass");
like($s->raw("SELECT $_"), qr/55000: partition "parts2b" has no valid index that is a partition of index "parts_skx".*HINT/s, "$_: an index that is not valid") for @calls;
$s->value("UPDATE pg_index SET indisvalid = true WHERE indrelid = 'parts2b'::regclass");
$s->value('CREATE INDEX half_skx ON ONLY parts USING skipidx (v); CREATE INDEX half0_skx ON parts0 USING skipidx (v); ALTER INDEX half_skx ATTACH PARTITION half0_skx');
like($s->raw("SELECT skipidx_count('half_skx', 'wa')"), qr/55000: index "half_skx" is not valid.*HINT.*ATTACH PARTITION/s, 'not all partitions have an index');
$s->value('DROP INDEX half_skx');
like($s->raw("SELECT skipidx_search('parts_skx', 'wa', 3)"), qr/42809: index "parts_skx" is partitioned.*HINT/s, 'places of rows');
like($s->raw("SELECT skipidx_facets('parts_skx', 'wa', 'nosuch')"), qr/42703/, 'no such column');
differ('as before', 3);

# ---- where a scroll goes on ----

# one snapshot in several sessions, while rows move, and all is merged and vacuumed
{
	my $holder = skx_session($node, 'd');
	my $snapshot = $holder->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
	my $want = $holder->value("SELECT count(*), sum(id) FROM parts WHERE v @@ 'wa'");
	my ($count, $sum, $rounds, $left) = (0, 0, 0, 2);
	my @after = ('NULL') x 2;

	while ($left > 0)
	{
		for my $slice (grep { defined $after[$_] } 0 .. 1)
		{
			my $page = skx_session($node, 'd');
			my ($n, $total, $token) = split /\|/, $page->value("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot';"
				  . " SELECT count(*), sum(d.id), max(s.token::text) FROM skipidx_scroll('parts_skx', 'wa', $slice, 2, $after[$slice], 40) s JOIN parts d ON d.tableoid = s.tableoid AND d.ctid = s.ctid");

			$page->close;
			$count += $n;
			$sum += $total || 0;
			$after[$slice] = $n == 40 ? "'$token'" : undef;
			$left-- if !defined $after[$slice];
		}
		$s->value('UPDATE parts SET part = (part + 1) % 4 WHERE id % 5 = ' . $rounds % 5);
		vacuum();
		$s->value('SELECT tend(1)');
		$rounds++;
	}
	is("$count|$sum", $want, "two slices under one snapshot, $rounds rounds of moves and merges between pages");
	cmp_ok($rounds, '>', 3, 'pages between them');
	$holder->value('COMMIT');
	$holder->close;
}
vacuum();
$s->value('SELECT tend(1)');
differ('moved', 3);

# Partitions as they come: places of each, and the token behind `n` rows of it.
my @tables = map { [ split /\|/ ] } split /\n/, $s->value("SELECT tableoid, tableoid::regclass, count(*) FROM skipidx_scroll('parts_skx', 'wa', max_rows => 100000) GROUP BY 1 ORDER BY 1");

cmp_ok(scalar(@tables), '>', 3, 'partitions with rows');

sub token
{
	my ($table, $n) = @_;

	return $s->value("SELECT token FROM skipidx_scroll('parts_skx', 'wa', max_rows => 100000) WHERE tableoid = $table->[0] ORDER BY token OFFSET $n LIMIT 1");
}

# rows behind the token, by table
sub behind
{
	my ($token) = @_;

	return join ' ', split /\n/, $s->raw("SELECT tableoid::regclass || ' ' || count(*) FROM skipidx_scroll('parts_skx', 'wa', after => '$token', max_rows => 100000) GROUP BY tableoid ORDER BY tableoid");
}

my $in = token($tables[1], 2);
my $rest = $tables[1][2] - 3;
my $others = join ' ', map { "$_->[1] $_->[2]" } @tables[ 2 .. $#tables ];

is(behind($in), "$tables[1][1] $rest $others", 'the rest of the partition, and those behind it');
is(behind(token($tables[1], $tables[1][2] - 1)), $others, 'behind its last row');
$s->value("VACUUM FULL $tables[0][1]");
is(behind($in), "$tables[1][1] $rest $others", 'another partition was rewritten');
$s->value("VACUUM FULL $tables[1][1]");
like(behind($in), qr/22023.*partition has been rewritten.*Give the token/s, 'it was');
$in = token($tables[1], 2);
my ($bound) = map { /(FOR VALUES.*|DEFAULT)/ } $s->value("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = $tables[1][0]");
my $parent = $s->value("SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = $tables[1][0]");
$s->value("ALTER TABLE $parent DETACH PARTITION $tables[1][1]");
is(behind($in), $others, 'it was detached: those behind it');
$s->value("ALTER TABLE $parent ATTACH PARTITION $tables[1][1] $bound");
is(behind($in), "$tables[1][1] $rest $others", 'and attached again');
$s->value("CREATE TABLE parts6 PARTITION OF parts FOR VALUES IN (6); INSERT INTO parts SELECT id + 20000, v, tenant, name, amount, loose, tags, 6 FROM parts0 WHERE v @@ 'wa'");
like(behind($in), qr/^$tables[1][1] $rest $others parts6 \d+$/, 'another one: it comes last');
$s->value('DROP TABLE parts6');
like($s->raw("SELECT * FROM skipidx_scroll((SELECT i.inhrelid FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid WHERE x.indrelid = $tables[1][0] LIMIT 1), 'wa', after => '$in')"),
	qr/22023.*another index/s, 'of the index of a partition: another index');
like($s->raw("SELECT * FROM skipidx_scroll('parts_skx', 'wb', after => '$in')"), qr/22023.*another query/s, 'another query');
like($s->raw("SELECT * FROM skipidx_scroll('parts_skx', 'wa', 1, 2, '$in')"), qr/22023.*another slice/s, 'another slice');
my $bytes = pack('H*', substr($in, 2));
my $refused = 0;

for my $bit (0 .. 8 * length($bytes) - 1)
{
	my $other = $bytes;

	vec($other, $bit, 1) ^= 1;
	$refused++ if behind('\x' . unpack('H*', $other)) =~ /22023/;
}
is($refused, 8 * length($bytes), "each bit that differs is found: $refused");

# ---- groups, by the planner ----

sub both
{
	my ($what, $statement, $is, $set) = @_;
	my $plan = $s->value("SELECT set_mode('index') \\g /dev/null\n" . ($set // 'SELECT 1') . " \\g /dev/null\nEXPLAIN (COSTS OFF) $statement;\n");
	my $got = $s->value($statement);

	if ($is) { like($plan, $is, "$what: by the index"); }
	else { unlike($plan, qr/Skipidx Facets/, "$what: not by the index"); }
	$s->value($1 ? "RESET $1" : 'SELECT') if ($set // '') =~ /^SET (\S+)/;
	is($got, $s->value("SELECT set_mode('seq') \\g /dev/null\n$statement;\n"), "$what: its rows");
	return $plan;
}

my $several = qr/Finalize HashAggregate.*Custom Scan \(Skipidx Facets\)/s;
my $any = qr/Custom Scan \(Skipidx (Facets|Columns)\)/;	# of few rows
my $alone = qr/^((?!Finalize).)*Custom Scan \(Skipidx Facets\)/s;

vacuum();
$s->value(<<'SQL');
CREATE TABLE older (id int, v tsvector, tenant int, more money);
CREATE TABLE heir (x int, tenant int, v tsvector, id int, more money) ;
ALTER TABLE heir INHERIT older;
CREATE TABLE heirless (y int) INHERITS (heir);
INSERT INTO older SELECT id, v, tenant, tenant FROM parts WHERE id % 2 = 0;
INSERT INTO heir SELECT 1, tenant, v, id, tenant FROM parts WHERE id % 2 = 1;
INSERT INTO heirless SELECT 1, tenant, v, id, tenant, 2 FROM parts WHERE id % 5 = 1;
CREATE INDEX older_skx ON older USING skipidx (v, tenant, more);
CREATE INDEX heir_skx ON heir USING skipidx (v, more, tenant);
VACUUM ANALYZE older, heir, heirless;
SQL
both('heirs, one without an index', "SELECT tenant, count(*) FROM older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0);
$s->value('CREATE INDEX heirless_skx ON heirless USING skipidx (v, tenant)');
$s->value('ANALYZE parts');
both(@$_) for (
	[ 'all', "SELECT tenant, count(*), count(tenant) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'ORDER BY count, LIMIT', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY count(*) DESC, tenant LIMIT 3", $several ],
	[ 'HAVING', "SELECT tenant FROM parts WHERE v @@ 'wa' GROUP BY tenant HAVING count(*) > 60 AND count(tenant) > 1 ORDER BY 1", $several ],
	[ 'HAVING of the value', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant HAVING tenant > 3 ORDER BY 1", $several ],
	[ 'expressions', "SELECT tenant * 2, 'x', count(*) + count(id) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'expressions of counts', "SELECT tenant * 2, 'x', count(*) + count(1) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'no count', "SELECT tenant FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'only counts', "SELECT count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'a window', "SELECT tenant, rank() OVER (ORDER BY count(*), tenant) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 2", $several ],
	[ 'a join of groups', "SELECT g.tenant, n FROM (SELECT tenant, count(*) AS n FROM parts WHERE v @@ 'wa' GROUP BY tenant) g JOIN (VALUES (1), (2)) x (tenant) USING (tenant) ORDER BY 1", $several ],
	[ 'correlated', "SELECT string_agg((SELECT string_agg(x::text, ' ' ORDER BY x) FROM (SELECT tenant, count(*) FROM parts WHERE v @@ q AND parts.part = p GROUP BY tenant) x), ',')"
		  . " FROM (VALUES ('wa'::tsquery, 1), ('wb', 2), (NULL, 3), ('wa', NULL), ('nosuch', 0), ('wc', 4)) y (q, p)", $any ],
	[ 'some partitions', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' AND part IN (1, 2) GROUP BY tenant ORDER BY 1", $several ],
	[ 'one partition', "SELECT tenant, count(*), count(tenant) FROM parts WHERE v @@ 'wa' AND part = 1 GROUP BY tenant HAVING count(*) > 2 ORDER BY 1", $alone ],
	[ 'no partition', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' AND part = 5 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'the key', "SELECT part, count(*) FROM parts WHERE v @@ 'wa' GROUP BY part ORDER BY 1", $several ],
	[ 'by partitions', "SELECT part, count(*) FROM parts WHERE v @@ 'wa' GROUP BY part ORDER BY 1", $several, 'SET enable_partitionwise_aggregate = on' ],
	[ 'no hashing', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0, 'SET enable_hashagg = off' ],
	[ 'DISTINCT of it', "SELECT DISTINCT count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'another aggregate', "SELECT tenant, count(*), max(id) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'FILTER', "SELECT tenant, count(*) FILTER (WHERE id > 9) FROM parts WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'a filter', "SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' AND id % 2 = 0 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'an array', "SELECT tags, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'the table of a row', "SELECT tableoid::regclass::text, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tableoid ORDER BY 1", 0 ],
	[ 'a sub-partitioned one', "SELECT tenant, count(*) FROM parts2 WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'heirs', "SELECT tenant, count(*), count(tenant) FROM older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'not the heirs', "SELECT tenant, count(*) FROM ONLY older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $alone ],
	[ 'values without a hash', "SELECT more, count(*) FROM older WHERE v @@ 'wa' GROUP BY more ORDER BY 1", 0 ],
	[ 'these, of one table', "SELECT more, count(*) FROM ONLY older WHERE v @@ 'wa' GROUP BY more ORDER BY 1", $alone ]);
$s->value('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0');
both('several processes', "SELECT tenant, count(*), count(tenant) FROM parts WHERE v @@ 'wa' GROUP BY tenant HAVING count(*) > 9 ORDER BY 1", qr/Finalize HashAggregate.*Gather.*Parallel Custom Scan \(Skipidx Facets\)/s);
both('several processes, again and again', "SELECT string_agg((SELECT string_agg(x::text, ' ' ORDER BY x) FROM (SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' AND tenant > t GROUP BY tenant) x), ',') FROM generate_series(1, 9) t", qr/Skipidx Facets/);
# groups that do not fit into memory are gathered again for each row outside
$s->value("CREATE TABLE wide (v tsvector, n int) PARTITION BY HASH (n); CREATE TABLE wide0 PARTITION OF wide FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
	  . " CREATE TABLE wide1 PARTITION OF wide FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO wide SELECT 'wa', i % 6000 FROM generate_series(1, 20000) i; CREATE INDEX wide_skx ON wide USING skipidx (v, n)");
$s->value("VACUUM ANALYZE $_") for 'wide0', 'wide1';
$s->value("SET work_mem = '64kB'; SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off");
both('several processes, several times', "SELECT g, count(*), sum(c), sum(n) FROM generate_series(1, 3) g LEFT JOIN (SELECT n, count(*) AS c FROM wide WHERE v @@ 'wa' GROUP BY n) s ON true GROUP BY g ORDER BY g",
	qr/Gather.*Skipidx (Facets|Columns)/s);
$s->value("RESET work_mem; RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize");
both('several processes, heirs', "SELECT tenant, count(*) FROM older WHERE v @@ '!wa' GROUP BY tenant ORDER BY 1", qr/Gather.*Skipidx Facets/s);
$s->value('RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_index_scan_size; RESET min_parallel_table_scan_size');
$s->value("PREPARE groups (tsquery, int) AS SELECT tenant, count(*) FROM parts WHERE v @@ \$1 AND parts.part = \$2 GROUP BY tenant ORDER BY 1; SET plan_cache_mode = force_generic_plan");
for my $arguments (q{'wa', 1}, q{'wb', 2}, q{NULL, 1}, q{'wa', NULL}, q{'!wa', 3}, q{'wa', 77})
{
	my ($q, $p) = split /, /, $arguments;

	is($s->value("SELECT set_mode('index') \\g /dev/null\nEXECUTE groups ($arguments);\n"),
		$s->value("SELECT set_mode('seq') \\g /dev/null\nSELECT tenant, count(*) FROM parts WHERE v @@ $q AND parts.part = $p GROUP BY tenant ORDER BY 1;\n"), "a generic plan: $arguments");
}
like($s->value("SELECT set_mode('index') \\g /dev/null\nEXPLAIN EXECUTE groups ('wa', 1);\n"), $any, 'a generic plan');
$s->value('RESET plan_cache_mode');
$s->value("SELECT set_mode('seq') \\g /dev/null\n");
$s->value("ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON parts USING (tenant = 1); GRANT EXECUTE ON FUNCTION set_mode TO reader");
is($s->value("SET ROLE reader; SELECT set_mode('index') \\g /dev/null\nSELECT count(*), min(tenant), max(tenant) FROM (SELECT tenant, count(*) FROM parts WHERE v @@ 'wa' GROUP BY tenant) x;\n"), '1|1|1', 'row-level security');
$s->value("RESET ROLE; DROP POLICY own ON parts; ALTER TABLE parts DISABLE ROW LEVEL SECURITY; SELECT set_mode('seq')");

# ---- a crash, a standby, and rows that move ----

load(200);
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
differ('crashed', 3);
vacuum();

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('partitions_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1");
$standby->start;
load(60);
$s->value("DELETE FROM parts WHERE id % 13 = 7");
$s->value("SELECT skipidx_flush(relid) FROM $leaves WHERE relid::text LIKE 'parts2%'");
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = skx_session($standby, 'd');
differ('standby', 3, $there);
{
	my ($token, $left) = split /\|/, $s->value("SELECT token, count(*) OVER () - row_number() OVER () FROM skipidx_scroll('parts_skx', 'wa', max_rows => 100000) ORDER BY token OFFSET 77 LIMIT 1");

	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	is($there->value("SELECT count(*) FROM skipidx_scroll('parts_skx', 'wa', after => '$token', max_rows => 100000)"), $left, 'standby: a token of the primary');
}
$s->value("CREATE UNLOGGED TABLE parts8 PARTITION OF parts FOR VALUES IN (8)");
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
like($there->raw("SELECT skipidx_count('parts_skx', 'wa')"), qr/55000: cannot access unlogged indexes during recovery/, 'standby: a partition without rows there');
$s->value("DROP TABLE parts8");

$s->value(<<'SQL');
CREATE PROCEDURE change(until timestamptz) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	a int;
BEGIN
	WHILE clock_timestamp() < until LOOP
		n := n + 1;
		a := random() * 1500;
		-- two writers of the same rows do not wait for each other
		PERFORM pg_advisory_xact_lock(b) FROM generate_series(a / 32, (a + 20) / 32) b;
		IF n % 3 = 0 THEN
			UPDATE parts SET part = (part + 1) % 4 WHERE id BETWEEN a AND a + 20;
		ELSIF n % 3 = 1 THEN
			UPDATE parts SET tenant = tenant + 1, part = (part + 3) % 4 WHERE id BETWEEN a AND a + 10;
		ELSE
			WITH gone AS (DELETE FROM parts WHERE id BETWEEN a AND a + 20 RETURNING *)
			INSERT INTO parts SELECT id, v, tenant, name, amount, loose, tags, (part + 2) % 4 FROM gone WHERE random() < 0.999;
		END IF;
		IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END $$;
SQL

my $seconds = $whole ? 60 : 6;
my @writers = map { skx_session($node, 'd') } 1 .. 2;
my $vacuum = skx_session($node, 'd');
my @readers = ($there, skx_session($node, 'd'));
my ($looks, $wrong) = (0, 0);

$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
$_->start("CALL change(clock_timestamp() + '$seconds s')") for @writers;
$vacuum->start((join('', map { "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) $_;\n" } qw(parts0 parts1 parts2a parts2b parts2c)) . "SELECT tend(1);\n") x (4 * $seconds));

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
is($wrong, 0, "$looks looks of readers while rows move between partitions");
is($s->value("SELECT count(skipidx_check(relid, true)::text) FROM $leaves"), 6, 'skipidx_check');
differ('in the end', 3);
$_->close for $s, $vacuum, @readers, @writers;
$standby->stop;
$node->stop;
done_testing();
