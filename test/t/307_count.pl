# Counts by the index and the visibility map are those of the sequential scan, in
# every state an index and its table can be in, beside writers, VACUUM and merges
# under one snapshot, on a standby; and which rows are fetched for them.
#
# Long: 2000 conditions, else 300 (SKX_RANK_QUERIES).
#
# Holds: cost 5; count 1, 4; functions 2, 5; plan 17

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;

my $seed = skx_seed(307);
my $whole = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000;
my $node = skx_node('count', streaming => 1, conf => "autovacuum = off\nskipidx.cache_size = 1MB");

note "seed $seed";
skx_database($node, 'd');

my $s = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE TABLE docs (id int NOT NULL, v tsvector, tenant int, tags text[], flag bool, other int DEFAULT 0)
	WITH (fillfactor = 70);
CREATE INDEX docs_skx ON docs USING skipidx (v, tenant, tags, flag) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE TABLE asked (qid int PRIMARY KEY, q text, cond text);

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode <> 'seq')::text, false),
		set_config('enable_indexscan', (mode <> 'seq')::text, false);
END $$;

-- What a count of the rows that meet a condition did.
CREATE FUNCTION work(cond text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_mode('count');
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM docs WHERE ' || cond INTO plan;
	RETURN plan->0->'Plan';
END $$;

CREATE FUNCTION run(part int, stride int, OUT queries int, OUT matched int, OUT by_count int, OUT n_rows int8, OUT fetched int8,
	OUT paged int8, OUT wholly int8, OUT totals int8, OUT wrong text[], OUT others text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	want int8;
	got int8;
	plan json;
BEGIN
	queries := 0; matched := 0; by_count := 0; n_rows := 0; fetched := 0; paged := 0; wholly := 0; totals := 0; wrong := '{}'; others := '{}';
	FOR one IN SELECT * FROM asked WHERE qid % stride = part ORDER BY qid LOOP
		PERFORM set_mode('seq');
		EXECUTE 'SELECT count(*) FROM docs WHERE ' || one.cond INTO want;
		plan := work(one.cond);
		EXECUTE 'SELECT count(*) FROM docs WHERE ' || one.cond INTO got;
		queries := queries + 1;
		matched := matched + (want > 0)::int;
		n_rows := n_rows + want;
		IF plan->>'Custom Plan Provider' = 'Skipidx Count' THEN
			by_count := by_count + 1;
			fetched := fetched + (plan->>'Heap Fetches')::int8;
			paged := paged + (plan->>'Rows by Page Map')::int8;
			wholly := wholly + (plan->>'Rows by Whole Map')::int8;
			totals := totals + (plan->>'Rows by Frequency')::int8;
		ELSE
			others := others || format('%s by %s', one.cond, plan->>'Node Type');
		END IF;
		IF got <> want THEN
			wrong := wrong || format('%s: %s of %s: %s', one.qid, got, want, one.cond);
		END IF;
		CONTINUE WHEN one.q IS NULL;
		got := skipidx_count('docs_skx', one.q::tsquery);
		EXECUTE 'SELECT count(*) FROM docs WHERE v @@ $1' USING one.q::tsquery INTO want;
		IF got <> want THEN
			wrong := wrong || format('%s: skipidx_count: %s of %s: %s', one.qid, got, want, one.q);
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

	return join ' ', map { rand() < 0.3 ? $_ : "$_:" . ++$at . one_of('', '', 'A', 'C') } @words;
}

sub load
{
	my ($n) = @_;

	$s->value('INSERT INTO docs VALUES ' . join ', ', map {
		'(' . join(', ', ++$rows, rand() < 0.1 ? 'NULL' : quoted(words()), rand() < 0.1 ? 'NULL' : int rand 9,
			rand() < 0.1 ? 'NULL' : "'{" . join(',', map { 't' . int rand 5 } 1 .. int rand 4) . "}'",
			one_of('NULL', 'true', 'false')) . ')' } 1 .. $n);
	return;
}

sub text_query
{
	return one_of('wa', 'wa', 'wb', 'wc & wa', 'wa | xe3', '!wa', '!wb & !wc', 'w:*', 'wa <-> wb', 'wa:A | wd', 'xe7',
		'!(wa & wb)', 'xe1:* & !wd', '(wa | wb) & (wc | wd)', 'nosuch', 'wb:A', 'xe' . int rand 40);
}

sub condition
{
	return '((' . condition() . ') OR (' . condition() . '))' if rand() < 0.15;
	return one_of('tenant = ' . int rand 9, 'tenant IN (1, 3)', 'tenant BETWEEN 2 AND 4', 'tenant IS NULL', 'tenant > 5', 'tenant <> 3', 'tenant NOT IN (1, 2, 7)',
		q{tags @> '{t1}'}, q{tags && '{t1,t2}'}, q{NOT (tags && '{t1,t2}')}, 'tenant IS DISTINCT FROM 3', q{tags = '{t1}'}, q{'t3' = ANY (tags)}, 'flag', 'NOT flag', 'flag IS NOT NULL',
		'v IS NULL', "v @@ '" . text_query() . "'", "v @@ ANY ('{wa,xe3}'::tsquery[])");
}

sub asked
{
	my $query = rand() < 0.8 ? text_query() : undef;
	my @cond = defined $query ? ("v @@ '$query'") : (condition());

	push @cond, condition() while rand() < 0.35;
	return '(' . $_[0] . ', ' . quoted(@cond == 1 ? $query : undef) . ', ' . quoted(join ' AND ', @cond) . ')';
}

# ---- states ----

# Fetched, and counted by pages, by the whole map, by frequencies.
sub differ
{
	my ($what, $stride, $on) = @_;
	my $part = length($what) % $stride;
	my ($line, @wrong) = split /\n/, ($on // $s)->value("SELECT concat_ws(' ', queries, matched, by_count, n_rows, fetched, paged, wholly,"
		  . " totals) FROM run($part, $stride) r UNION ALL SELECT unnest(wrong[1:8]) FROM run($part, $stride)");
	my ($queries, $matched, $by_count, $n, @work) = split / /, $line;

	ok($queries > 0 && $matched > $queries / 3 && @wrong == 0, "$what: $queries conditions, $matched match, $n rows")
	  or diag(join "\n", @wrong);
	cmp_ok($by_count, '>', $queries * 0.8, "$what: counted by the index (@work)")
	  or diag(($on // $s)->value("SELECT unnest(others[1:8]) FROM run($part, $stride)"));
	return @work;
}

sub clean { return $s->raw("SELECT skipidx_check('docs_skx', true)"); }

load(1200);
$s->value('INSERT INTO asked VALUES ' . join ', ', map { asked($_) } 1 .. ($whole ? 2000 : 300));
$s->value("INSERT INTO asked VALUES (-1, NULL, 'true'), (-2, NULL, 'true'), (-3, NULL, 'true AND id IS NOT DISTINCT FROM id')");
$s->value('ANALYZE docs');

my @work = differ('pending', 1);
is("@work[1 .. 3]", '0 0 0', 'pending: all rows are fetched');
$s->value("SELECT skipidx_flush('docs_skx')");
@work = differ('a segment', 2);
is("@work[1 .. 3]", '0 0 0', 'a segment, not vacuumed: all rows are fetched');
$s->value('VACUUM docs');

# only equality of arrays has to look at rows
@work = differ('vacuumed', 1);
cmp_ok($work[0], '<', $work[2] / 20, 'vacuumed: hardly any row is fetched');
is($work[1], 0, 'vacuumed: the map is asked as a whole');
cmp_ok($work[3], '>', 0, 'vacuumed: frequencies are known');

sub field { return $s->value("SELECT work(" . quoted($_[0]) . ")->>" . quoted($_[1])); }
my $wa = $s->value("SELECT count(*) FROM docs WHERE v @@ 'wa'");
is(field(q{v @@ 'wa'}, 'Rows by Frequency'), $wa, 'a word: its frequency');
is(field(q{v @@ 'wa'}, 'Heap Fetches'), 0, 'a word: no row');
is(field('tenant = 3', 'Rows by Frequency'), $s->value('SELECT count(*) FROM docs WHERE tenant = 3'), 'a value: its frequency');
for my $other ('wa:A', 'w:*', '!wa', 'wa & wb', 'wa <-> wb')
{
	is(field("v \@\@ '$other'", 'Rows by Frequency'), 0, "$other: no frequency");
}
cmp_ok(field(q{tags = '{t1}'}, 'Heap Fetches'), '>', 0, 'arrays are compared in the table');

# ---- several segments, pending documents, pages that are not visible ----

load(150);
@work = differ('pending behind a segment', 2);
cmp_ok($work[1], '>', $work[0], 'one page not visible: others are asked for');
is($work[2] + $work[3], 0, 'one page not visible: not as a whole');
for my $n (1 .. 3)
{
	$s->value("SELECT skipidx_flush('docs_skx')");
	load(150);
}
is($s->value("SELECT segments > 2 AND pending_docs = 150 FROM skipidx_stats('docs_skx')"), 't', 'several segments and pending documents');
differ('several', 1);
$s->value('VACUUM docs');
cmp_ok($s->value("SELECT pending_docs FROM skipidx_stats('docs_skx')"), '>', 0, 'VACUUM leaves a short list');
@work = differ('pending on visible pages', 2);
cmp_ok($work[0], '>', 0, 'pending rows are fetched');

$s->value('DELETE FROM docs WHERE id % 4 = 1; UPDATE docs SET tenant = 1 WHERE id % 9 = 2; UPDATE docs SET other = 1 WHERE id % 5 = 3;'
	  . ' BEGIN; DELETE FROM docs WHERE id % 7 = 2; ROLLBACK');
differ('deleted', 1);
$s->value('VACUUM docs');
differ('vacuumed again', 1);
$s->value("SELECT skipidx_flush('docs_skx'), skipidx_merge('docs_skx', 1)");
@work = differ('merged', 1);
cmp_ok($work[3], '>', 0, 'merged: frequencies are known again');
$s->value('DELETE FROM docs WHERE id % 100 = 3');
$s->value('VACUUM (INDEX_CLEANUP ON) docs');
@work = differ('few deleted', 3);
ok($work[3] == 0 && $work[2] > 0, 'with marks no frequency is trusted');
is(clean(), '', 'skipidx_check');

# ---- what a statement can be ----

sub planned { return $s->value("SELECT set_mode('count'); EXPLAIN (COSTS OFF) $_[0]"); }

sub both
{
	my ($what, $statement, $is) = @_;
	my $plan = planned($statement);
	my $got = $s->value($statement);

	if ($is) { like($plan, $is == 1 ? qr/Skipidx Count/ : qr/Skipidx (Count|Columns)/, "$what: by the index"); }
	else { unlike($plan, qr/Skipidx Count/, "$what: not by the index"); }
	is($got, $s->value("SELECT set_mode('seq') \\g /dev/null\n$statement;\n"), "$what: its rows");
	return;
}

$s->value('CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM docs WHERE tenant = 3;'
	  . ' CREATE MATERIALIZED VIEW kept AS SELECT id, v FROM docs; CREATE INDEX kept_skx ON kept USING skipidx (v);'
	  . ' CREATE INDEX docs_part ON docs USING skipidx (v) WHERE tenant = 4; VACUUM ANALYZE kept;'
	  . ' CREATE FUNCTION odd(int) RETURNS bool LANGUAGE plpgsql AS $$BEGIN RETURN $1 % 2 = 1; END$$');
both(@$_) for (
	[ 'an expression', "SELECT count(*) * 2 + 1, 'x', count(1), count(id) FROM docs WHERE v \@\@ 'wa'", 1 ],
	[ 'LIMIT', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' ORDER BY 1 LIMIT 1", 1 ],
	[ 'in FROM', "SELECT n FROM (SELECT count(*) AS n FROM docs WHERE v \@\@ 'wa' OFFSET 0) s WHERE n > 0", 1 ],
	[ 'a window', "SELECT sum(count(*)) OVER () FROM docs WHERE v \@\@ 'wa'", 1 ],
	[ 'a set', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' UNION ALL SELECT count(*) FROM docs WHERE v \@\@ 'wb'", 1 ],
	[ 'correlated', "SELECT string_agg((SELECT count(*) FROM docs WHERE v \@\@ q)::text, ',') FROM (VALUES ('wa'::tsquery), ('wb'),"
		  . " (NULL), ('nosuch'), ('wa & wb'), ('wa')) x (q)", 1 ],
	[ 'correlated columns', "SELECT string_agg((SELECT count(*) FROM docs WHERE tenant = t AND v \@\@ 'wa')::text, ',')"
		  . ' FROM generate_series(0, 9) t', 1 ],
	[ 'a materialized view', "SELECT count(*) FROM kept WHERE v \@\@ 'wa'", 1 ],
	[ 'a partial index', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' AND tenant = 4", 1 ],
	[ 'a column with NULLs', "SELECT count(tenant), count(tenant) + 1 FROM docs WHERE v \@\@ 'wa'", 2 ],
	[ 'a column that a condition is on', "SELECT count(tenant) FROM docs WHERE v \@\@ 'wa' AND tenant > 2", 2 ],
	[ 'a column that is NULL', "SELECT count(tenant) FROM docs WHERE v \@\@ 'wa' AND tenant IS NULL", 2 ],
	[ 'a column without conditions', "SELECT count(tenant) FROM docs", 2 ],
	[ 'the text', "SELECT count(v) FROM docs WHERE tenant > 2", 1 ],
	[ 'arrays', "SELECT count(tags) FROM docs WHERE v \@\@ 'wa'", 1 ],
	[ 'two columns', "SELECT count(tenant), count(flag) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'a column and all', "SELECT count(tenant), count(*) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'all and a column', "SELECT count(*), count(tenant) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'different values', "SELECT count(DISTINCT tenant) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'a column, filtered', "SELECT count(tenant) FILTER (WHERE tenant > 2) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'a column that is not in the index', "SELECT count(other) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'a column, barred', "SELECT count(tenant) FROM shown WHERE v \@\@ 'wa'", 0 ],
	[ 'a row', "SELECT count(docs) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'count(NULL)', "SELECT count(NULL) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'DISTINCT', "SELECT count(DISTINCT id) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'FILTER', "SELECT count(*) FILTER (WHERE id > 9) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'another aggregate', "SELECT count(*), max(id) FROM docs WHERE v \@\@ 'wa'", 0 ],
	[ 'HAVING', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' HAVING count(*) > 1", 0 ],
	[ 'GROUP BY', "SELECT string_agg(n::text, ',') FROM (SELECT count(*) AS n FROM docs WHERE v \@\@ 'wa' GROUP BY flag ORDER BY flag) s", 0 ],
	[ 'a filter', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' AND id % 2 = 0", 0 ],
	[ 'a volatile filter', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' AND odd(id)", 0 ],
	[ 'a join', "SELECT count(*) FROM docs a JOIN docs b USING (id) WHERE a.v \@\@ 'xe1'", 0 ],
	[ 'a security barrier', "SELECT count(*) FROM shown WHERE v \@\@ 'wa'", 0 ],
	[ 'no rows', "SELECT count(*) FROM docs WHERE v \@\@ 'wa' AND false", 0 ],
	[ 'a sample', "SELECT count(*) FROM docs TABLESAMPLE BERNOULLI (100) WHERE v \@\@ 'wa'", 0 ]);
$s->value('DROP INDEX docs_part');

$s->value("PREPARE counts (tsquery, int) AS SELECT count(*) FROM docs WHERE v \@\@ \$1 AND tenant = \$2; SET plan_cache_mode = force_generic_plan");
like(planned(q{EXECUTE counts ('wa', 1)}), qr/Skipidx Count/, 'a generic plan');
for my $arguments (q{'wa', 1}, q{'wb', 2}, q{NULL, 1}, q{'wa', NULL}, q{'!wa', 3})
{
	my ($q, $t) = split /, /, $arguments;

	is($s->value("EXECUTE counts ($arguments)"), $s->value("SELECT set_mode('seq') \\g /dev/null\nSELECT count(*) FROM docs WHERE v \@\@ $q AND tenant = $t;\n"),
		"a generic plan: $arguments");
	$s->value("SELECT set_mode('count')");
}
$s->value('RESET plan_cache_mode');

for my $off ('skipidx.enable_custom_scan', 'enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan')
{
	unlike($s->value("SELECT set_mode('count') \\g /dev/null\nSET $off = off; EXPLAIN SELECT count(*) FROM docs WHERE v \@\@ 'wa'"), qr/Skipidx Count/, "$off");
	$s->value("RESET $off");
}

# a cursor reads by its own snapshot
is($s->value("SELECT set_mode('count') \\g /dev/null\nBEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM docs WHERE v \@\@ 'wa';"
	  . " DELETE FROM docs WHERE v \@\@ 'wa'; FETCH c; SELECT count(*) FROM docs WHERE v \@\@ 'wa'; ROLLBACK"),
	$s->value("SELECT count(*) FROM docs WHERE v \@\@ 'wa'") . "\n0", 'a cursor, and rows deleted by its own transaction');

# partitions and tables that others inherit from: all of them
$s->value("CREATE TABLE parts (LIKE docs) PARTITION BY RANGE (id); CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (500);"
	  . ' CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (500) TO (100000) PARTITION BY LIST (flag);'
	  . ' CREATE TABLE parts2a PARTITION OF parts2 FOR VALUES IN (true); CREATE TABLE parts2b PARTITION OF parts2 DEFAULT;'
	  . ' INSERT INTO parts SELECT * FROM docs; CREATE INDEX parts_skx ON parts USING skipidx (v, id, flag);'
	  . ' CREATE TABLE heir (more int) INHERITS (docs); INSERT INTO heir SELECT *, 1 FROM docs WHERE id % 3 = 0');
$s->value('VACUUM ANALYZE parts');
both('a partitioned table', "SELECT count(*), count(1) FROM parts WHERE v \@\@ 'wa'", 1);
both('some partitions', "SELECT count(*) FROM parts WHERE v \@\@ 'wa' AND id > 600", 1);
both('partitions, correlated', "SELECT string_agg((SELECT count(*) FROM parts WHERE id < t AND v \@\@ 'wa')::text, ',')"
	  . ' FROM generate_series(0, 1500, 100) t', 1);
both('no partition', "SELECT count(*) FROM parts WHERE v \@\@ 'wa' AND id < 0", 0);
both('a partition', "SELECT count(*) FROM parts1 WHERE v \@\@ 'wa'", 1);
$s->value('CREATE TABLE parts0 (gone int, flag bool, tags text[], other int, tenant int, v tsvector, id int NOT NULL); ALTER TABLE parts0 DROP gone;'
	  . ' INSERT INTO parts0 (id, v, flag, tenant) SELECT -id, v, flag, NULL FROM docs WHERE id < 300;'
	  . ' ALTER TABLE parts ATTACH PARTITION parts0 FOR VALUES FROM (-100000) TO (0)');
$s->value('VACUUM ANALYZE parts0');
both('a column of partitions, with another number in one', "SELECT count(flag), count(flag) FROM parts WHERE v \@\@ 'wa'", 2);
both('one that is not in the index of partitions', "SELECT count(tenant) FROM parts WHERE v \@\@ 'wa'", 0);
both('an heir without an index', "SELECT count(*) FROM docs WHERE v \@\@ 'wa'", 0);
$s->value('CREATE INDEX heir_skx ON heir USING skipidx (v)');
$s->value('VACUUM ANALYZE heir');
both('an heir', "SELECT count(*) FROM docs WHERE v \@\@ 'wa'", 1);
both('not the heir', "SELECT count(*) FROM ONLY docs WHERE v \@\@ 'wa'", 1);
both('NOT NULL, with an heir', "SELECT count(id) FROM docs WHERE v \@\@ 'wa'", 0);
$s->value("DROP INDEX parts_skx; CREATE INDEX parts1_skx ON parts1 USING skipidx (v, id, flag)");
both('partitions without an index', "SELECT count(*) FROM parts WHERE v \@\@ 'wa'", 0);
$s->value('DROP TABLE heir');

# rights
$s->value("CREATE ROLE reader; GRANT SELECT ON docs TO reader; CREATE TABLE held (v tsvector, who text DEFAULT 'reader');"
	  . " INSERT INTO held SELECT 'wa', CASE WHEN i % 3 = 0 THEN 'reader' ELSE 'other' END FROM generate_series(1, 300) i;"
	  . ' CREATE INDEX held_skx ON held USING skipidx (v, who)');
is($s->value("SET ROLE reader; SELECT skipidx_count('docs_skx', 'wa') = (SELECT count(*) FROM docs WHERE v \@\@ 'wa')"), 't', 'SELECT is enough');
like($s->raw("SELECT skipidx_count('held_skx', 'wa')"), qr/42501: permission denied for table held/, 'without SELECT');
$s->value("RESET ROLE; GRANT SELECT ON held TO reader; ALTER TABLE held ENABLE ROW LEVEL SECURITY;"
	  . ' CREATE POLICY own ON held USING (who = current_user)');
$s->value('VACUUM ANALYZE held');
like($s->raw("SET ROLE reader; SELECT skipidx_count('held_skx', 'wa')"), qr/42501: row-level security.*HINT:/s, 'row-level security');
is($s->value("SELECT count(*) FROM held WHERE v \@\@ 'wa'"), 100, 'row-level security: its own rows');
unlike($s->value("EXPLAIN SELECT count(*) FROM held WHERE v \@\@ 'wa'"), qr/Skipidx Count/, 'row-level security: no condition is tried before the policy');
$s->value('RESET ROLE');
is($s->value("SELECT skipidx_count('docs_skx', ''), skipidx_count('docs_skx', NULL) IS NULL"), '0|t', 'no query');

# about as many
for my $query ('wa', 'wa & wb', 'wa | xe3', '!wa', 'w:*', 'nosuch', '')
{
	my ($exact, $approx) = split /\|/, $s->value("SELECT skipidx_count('docs_skx', '$query'), skipidx_count('docs_skx', '$query', true)");

	ok(abs($approx - $exact) <= 50 + $exact / 2, "approximately: $query: $approx for $exact");
}

# approximately, also what is pending, and of more words than planning looks up
$s->value("CREATE TABLE news (v tsvector); CREATE INDEX news_v ON news USING skipidx (v) WITH (pending_limit = '1GB');"
	  . " INSERT INTO news SELECT 'cat' FROM generate_series(1, 300)");
is($s->value("SELECT skipidx_count('news_v', 'cat', true)"), 300, 'approximately, nothing but pending documents');
$s->value("TRUNCATE news; INSERT INTO news SELECT array_to_tsvector(array_agg('w' || j)) FROM generate_series(1, 700) i, generate_series(1, 100) j GROUP BY i;"
	  . " SELECT skipidx_flush('news_v')");
$s->value("INSERT INTO news SELECT 'dog' FROM generate_series(1, 200)");
for my $case ([ ' & ', 'w1', 350, 700 ], [ ' | ', 'dog', 700, 900 ])
{
	my ($op, $more, $least, $most) = @$case;
	my $approx = $s->value("SELECT skipidx_count('news_v', '" . join($op, $more, map { "w$_" } 1 .. 99) . "', true)");

	ok($approx >= $least && $approx <= $most, "approximately, of 100 words$op: $approx");
}
# all of a prefix, and a word among any number that are nowhere, in each of two segments
$s->value("TRUNCATE news; INSERT INTO news SELECT CASE i % 4 WHEN 0 THEN 'w1' ELSE 'p' || i END::tsvector FROM generate_series(1, 4000) i");
$s->value("SELECT skipidx_flush('news_v'); INSERT INTO news SELECT 'w1 p1 p2' FROM generate_series(1, 100); SELECT skipidx_flush('news_v')");
is($s->value("SELECT count(*), min(approx), max(approx) FROM (SELECT skipidx_count('news_v', q::tsquery, true) AS approx FROM"
	  . " (SELECT string_agg(CASE j WHEN k THEN 'w1' ELSE 'no' || j END, ' | ') AS q FROM generate_series(1, 700) j, unnest('{1,2,66,700}'::int[]) k GROUP BY k) x) y"),
	'4|1100|1100', 'approximately: one word of 700');
is($s->value("SELECT string_agg(concat(q, ' ', skipidx_count('news_v', q, true)), ',' ORDER BY q::text) FROM unnest('{p:*,p:* | w1,p1:* | p2:*,nosuch:* | p12:*}'::tsquery[]) q"),
	"'nosuch':* | 'p12':* 82,'p':* 3100,'p':* | 'w1' 3350,'p1':* | 'p2':* 1593", 'approximately: prefixes, as if they were independent of each other');
$s->value('DROP TABLE news');

# ---- one page that is not visible, of a map that is looked at as a whole, by words ----

$s->value(q{CREATE TABLE paged (id int, v tsvector, filler text) WITH (fillfactor = 100, autovacuum_enabled = off)});
$s->value('ALTER TABLE paged ALTER filler SET STORAGE plain');
$s->value(q{INSERT INTO paged SELECT i, 'a', repeat('x', 3000) FROM generate_series(1, 260) i});
$s->value('CREATE INDEX paged_v ON paged USING skipidx (v)');
$s->value('VACUUM (FREEZE, ANALYZE) paged');
$s->value("SELECT set_mode('count')");
is($s->value("SELECT pg_relation_size('paged') / 8192"), 130, 'four words of the map, and two pages more');

my $paged = "SELECT count(*) FROM paged WHERE v @@ 'a'";
my $left = 260;

is($s->value($paged), $left, 'all of them');
like($s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $paged"), qr/Heap Fetches: 0\b/, 'without a look at the table');
for my $page (0, 1, 31, 32, 63, 64, 100, 127, 128, 129)
{
	$s->value("DELETE FROM paged WHERE ctid = '($page,1)'");
	is($s->value($paged), --$left, "a row of page $page is gone");
	$s->value('VACUUM paged');
	is($s->value($paged), $left, 'and forgotten');
}
$s->value('DROP TABLE paged');

# ---- an index that REINDEX CONCURRENTLY replaces under a statement that has named it ----

# A statement that comes to its function when the old index is no longer valid
# (held: a reader keeps it), or gone; with a snapshot from before, or from then.
sub replaced
{
	my ($what, $held, $call) = @_;
	my ($old, $reindex, $late, $reader) = map { skx_session($node, 'd') } 1 .. 4;
	my $waits = sub { return $s->value("SELECT 1 FROM pg_stat_activity WHERE pid = " . $_[0]->backend . " AND wait_event_type = 'Lock'") eq '1' };
	my $until = sub { for (1 .. 600) { return 1 if $_[0]->(); select undef, undef, undef, 0.05; } return 0; };
	my $answer;

	$s->value('SELECT pg_advisory_lock(307)');
	$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$reader->value('BEGIN; LOCK TABLE news IN ACCESS SHARE MODE') if $held;
	$reindex->start('REINDEX INDEX CONCURRENTLY news_v');
	ok($until->(sub { $waits->($reindex) }), "$what: REINDEX waits for an old snapshot");
	# REINDEX would wait for a snapshot that has as old a horizon as its own
	$s->value('CREATE TABLE moves_on ()');
	$s->value('DROP TABLE moves_on');
	$late->start("WITH x AS MATERIALIZED (SELECT pg_advisory_lock_shared(307)) SELECT $call FROM x");
	ok($until->(sub { $waits->($late) }), "$what: the function waits");
	$old->value('COMMIT');
	if ($held) { ok($until->(sub { $s->value("SELECT count(*) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE relname = 'news_v_ccold' AND NOT indisvalid") eq '1' }), "$what: not valid"); }
	else { $reindex->finish; }
	$s->value('SELECT pg_advisory_unlock(307)');
	$answer = $late->finish;
	if ($held)
	{
		my $oid = $s->value("SELECT 'news_v_ccold'::regclass::oid");

		like($s->raw('SELECT ' . $call =~ s/news_v/news_v_ccold/r), qr/40001: index "news_v_ccold" is not valid any more.*HINT:  Retry it/s, "$what: a later snapshot");
		$reader->value('COMMIT');
		$reindex->finish;
		like($s->raw('SELECT ' . $call =~ s/news_v/$oid/r), qr/42P01: relation with OID $oid does not exist.*HINT:.*try again/s, "$what: when it is gone");
	}
	$_->close for $old, $reindex, $late, $reader;
	return $answer;
}

$s->value('CREATE TABLE news (v tsvector); CREATE INDEX news_v ON news USING skipidx (v)');
for my $call ("skipidx_count('news_v', 'cat')", "skipidx_flush('news_v')", "skipidx_check('news_v')")
{
	like(replaced("$call, held", 1, $call), qr/40001: index "news_v_ccold" is not valid any more.*HINT:  Retry it/s, "$call: no longer valid");
	like(replaced("$call, gone", 0, $call), qr/40001: index with OID \d+ was dropped or replaced after.*HINT:  Retry it/s, "$call: gone");
}
$s->value('DROP TABLE news');

# ---- a crash, a standby, and everything at once ----

load(200);
$s->value('DELETE FROM docs WHERE id % 50 = 7');
$s->close;
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'd');
differ('crashed', 2);
$s->value('VACUUM docs');
differ('crashed and vacuumed', 3);

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('count_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1");
$standby->start;
load(60);
$s->value("DELETE FROM docs WHERE id % 13 = 7; SELECT skipidx_flush('docs_skx')");
# once the feedback has come that nothing there needs these rows
for (1 .. 60)
{
	$s->value('VACUUM docs');
	last if $s->value("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'docs'") eq 't';
	sleep 1;
}
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
my $there = skx_session($standby, 'd');
@work = differ('standby', 2, $there);
cmp_ok($work[2] + $work[3], '>', 0, 'standby: the map is asked');

# That an index has been replaced a standby knows by its name.
{
	my ($reindex, $reader) = map { skx_session($node, 'd') } 1 .. 2;

	$s->value('CREATE TABLE news (v tsvector); CREATE INDEX news_v ON news USING skipidx (v)');
	my $old = $s->value("SELECT 'news_v'::regclass::oid");

	$reader->value('BEGIN; LOCK TABLE news IN ACCESS SHARE MODE');
	$reindex->start('REINDEX INDEX CONCURRENTLY news_v');
	ok($node->poll_query_until('d', "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = $old"), 'replaced');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
	like($there->raw("SELECT skipidx_count('$old', 'cat')"), qr/40001: index "news_v_ccold" is not valid any more.*HINT:  Retry it/s, 'standby: an index that has been replaced');
	is($there->value("SELECT skipidx_count('news_v', 'cat')"), 0, 'standby: what has its place');
	$reader->value('COMMIT');
	$reindex->finish;
	$_->close for $reindex, $reader;
	$s->value('DROP TABLE news');
}

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
			UPDATE docs SET v = v || 'wz' WHERE id BETWEEN a AND a + 10;
		ELSIF n % 4 = 2 THEN
			WITH gone AS (DELETE FROM docs WHERE id BETWEEN a AND a + 20 RETURNING id, v, tenant, tags, flag)
			INSERT INTO docs SELECT * FROM gone WHERE random() < 0.9;
		ELSE
			INSERT INTO docs SELECT id, v, tenant, tags, flag FROM docs WHERE id BETWEEN a AND a + 5;
		END IF;
		IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END $$;
SQL

my $seconds = $whole ? 60 : 5;
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
differ('in the end', 2);
$_->close for $s, $vacuum, @readers, @writers;
$standby->stop;
$node->stop;
done_testing();
