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
use PostgreSQL::Test::Utils;
use SkipidxMatrix;
use SkipidxTest qw(skx_session);
use Test::More;

# Conditions that the index answers alone; few rows are fetched instead.
my $m = SkipidxMatrix->new('count', seed => 307, conf => 'skipidx.cache_size = 1MB', columns => [qw(tenant tags flag price day)], with => 'fillfactor = 70', hot_updates => 1,
	bare => 0.5, explain => ', ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF', by_index => { count => 0.8 });
my ($node, $s) = ($m->node, $m->session);
my ($count, $any) = (qr/Skipidx Count/, qr/Skipidx (Count|Columns)/);

# ---- states ----

# Counted after a look at the row, at the map of its page, at the whole map, without.
sub looked { my ($r) = @_; return map { $r->{figures}{$_}{sum} // 0 } 'Heap Fetches', 'Rows by Page Map', 'Rows by Whole Map', 'Rows by Frequency'; }

$m->load(1200);
$m->ask($m->long(2000, 300), 'count', 'skipidx_count');
$m->ask_always([ 'count', cond => 'true' ], [ 'count', cond => 'true AND id IS NOT DISTINCT FROM id' ]);
$s->value('ANALYZE docs');

my @work = looked($m->state('pending', 1));
is("@work[1 .. 3]", '0 0 0', 'pending: all rows are fetched');
@work = looked($m->state('a segment', 2));
is("@work[1 .. 3]", '0 0 0', 'a segment, not vacuumed: all rows are fetched');

# only equality of arrays has to look at rows
@work = looked($m->state('vacuumed', 1));
cmp_ok($work[0], '<', $work[2] / 20, 'vacuumed: hardly any row is fetched');
is($work[1], 0, 'vacuumed: the map is asked as a whole');
cmp_ok($work[3], '>', 0, 'vacuumed: frequencies are known');

sub field { my ($cond, $field) = @_; $m->way('index'); return $m->told("SELECT count(*) FROM docs WHERE $cond")->{$field}; }
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

$m->load(150);
@work = looked($m->differ('pending behind a segment', 2));
cmp_ok($work[1], '>', $work[0], 'one page not visible: others are asked for');
is($work[2] + $work[3], 0, 'one page not visible: not as a whole');
$m->state('several', 1);
is($s->value("SELECT segments > 2 AND pending_docs = 150 FROM skipidx_stats('docs_skx')"), 't', 'several segments and pending documents');
@work = looked($m->state('vacuumed, pending on visible pages', 2));
cmp_ok($s->value("SELECT pending_docs FROM skipidx_stats('docs_skx')"), '>', 0, 'VACUUM leaves a short list');
cmp_ok($work[0], '>', 0, 'pending rows are fetched');
$m->state('deleted', 1);
$m->state('vacuumed again', 1);
@work = looked($m->state('merged', 1));
cmp_ok($work[3], '>', 0, 'merged: frequencies are known again');
@work = looked($m->state('few deleted', 3));
ok($work[3] == 0 && $work[2] > 0, 'with marks no frequency is trusted');
$m->beside_older(3);

# ---- what a statement can be ----

sub both { my ($what, $statement, $is) = @_; return $m->both($what, $statement, (undef, $count, $any)[$is], $count); }

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
	[ 'a column that is not in the index', "SELECT count(kind) FROM docs WHERE v \@\@ 'wa'", 0 ],
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
like($m->by('index', q{EXPLAIN EXECUTE counts ('wa', 1)}), qr/Skipidx Count/, 'a generic plan');
for my $arguments (q{'wa', 1}, q{'wb', 2}, q{NULL, 1}, q{'wa', NULL}, q{'!wa', 3})
{
	my ($q, $t) = split /, /, $arguments;

	is($m->by('index', "EXECUTE counts ($arguments)"), $m->by('seq', "SELECT count(*) FROM docs WHERE v \@\@ $q AND tenant = $t"), "a generic plan: $arguments");
}
$s->value('RESET plan_cache_mode');

for my $off ('skipidx.enable_custom_scan', 'enable_indexscan', 'enable_bitmapscan', 'enable_indexonlyscan')
{
	unlike($m->by('index', "SET $off = off; EXPLAIN SELECT count(*) FROM docs WHERE v \@\@ 'wa'"), qr/Skipidx Count/, "$off");
	$s->value("RESET $off");
}

# a cursor reads by its own snapshot
is($m->by('index', "BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM docs WHERE v \@\@ 'wa';"
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
$s->value('CREATE TABLE parts0 (gone int, flag bool, tags text[], day date, price numeric(8, 2), kind text, tenant int, v tsvector, id int NOT NULL); ALTER TABLE parts0 DROP gone;'
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
$m->way('index');
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

$m->state('crashed', 2);
$s = $m->session;
$m->state('vacuumed, crashed', 3);

my $there = $m->standby;
$m->load(60);
$s->value("DELETE FROM docs WHERE id % 13 = 7; SELECT tend()");
# once the feedback has come that nothing there needs these rows
for (1 .. 60)
{
	$s->value('VACUUM docs');
	last if $s->value("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'docs'") eq 't';
	sleep 1;
}
$m->caught_up;
@work = looked($m->differ('standby', 2, on => $there));
cmp_ok($work[2] + $work[3], '>', 0, 'standby: the map is asked');

# That an index has been replaced a standby knows by its name.
{
	my ($reindex, $reader) = map { skx_session($node, 'd') } 1 .. 2;

	$s->value('CREATE TABLE news (v tsvector); CREATE INDEX news_v ON news USING skipidx (v)');
	my $old = $s->value("SELECT 'news_v'::regclass::oid");

	$reader->value('BEGIN; LOCK TABLE news IN ACCESS SHARE MODE');
	$reindex->start('REINDEX INDEX CONCURRENTLY news_v');
	ok($node->poll_query_until('d', "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = $old"), 'replaced');
	$m->caught_up;
	like($there->raw("SELECT skipidx_count('$old', 'cat')"), qr/40001: index "news_v_ccold" is not valid any more.*HINT:  Retry it/s, 'standby: an index that has been replaced');
	is($there->value("SELECT skipidx_count('news_v', 'cat')"), 0, 'standby: what has its place');
	$reader->value('COMMIT');
	$reindex->finish;
	$_->close for $reindex, $reader;
	$s->value('DROP TABLE news');
}

$m->churn($m->long(60, 5), $there, skx_session($node, 'd'));
$m->differ('in the end', 2);
done_testing();
