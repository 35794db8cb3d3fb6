# Rows in the order of a column beside the text: each key of each answer is that of
# the sequential scan and sort, in either direction, with NULLs at either end, limits,
# offsets, filters, and values that many rows share, in every state an index can be
# in; and what is read for the first rows of a column that follows the table is little.
#
# Long: 1500 queries, else 400 (SKX_RANK_QUERIES).
#
# Holds: column 3; order 1, 2, 3, 4; plan 16; segment 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxMatrix qw(one_of);
use Test::More;

my $m = SkipidxMatrix->new('order', seed => 306, conf => <<'CONF', columns => [qw(n small day ts tz f flag o m p u q)], with => 'parallel_workers = 2',
max_worker_processes = 8
max_parallel_workers = 4
min_parallel_table_scan_size = 0
skipidx.cache_size = 1MB
CONF
	bare => 0.5, text => 0.85, derived => 0.1, disjunctions => 0.15, matched => 1 / 2);
my $s = $m->session;

$m->load(1200);
$m->ask($m->long(1500, 400), 'ordered');
$s->value('ANALYZE docs');
$m->state('pending', 1, explain => '');
$m->state('several', 1);
is($s->value("SELECT segments FROM skipidx_stats('docs_skx')"), 3, 'three segments and pending documents');
$m->state('with little memory', 3);
$m->by_methods('several', 8);

my $there = $m->standby('');
$m->load(60);
$m->caught_up;
$m->differ('standby', 5, on => $there);
$m->standby_gone($there);

$m->state($_->[0], $_->[1]) for [ 'deleted', 3 ], [ 'vacuumed', 3 ], [ 'merged', 2 ];
is($s->value("SELECT segments || ' ' || deleted FROM skipidx_stats('docs_skx')"), '1 0', 'merged without the dead');
$m->beside_older(5);
$m->state('crashed', 3);
$s = $m->session;
$s->value('SET max_parallel_maintenance_workers = 2; REINDEX TABLE docs; RESET max_parallel_maintenance_workers');
$m->state('rebuilt', 2);

# ---- more rows than a search was for; other ways to ask ----

$m->way('plain');
$s->value(<<'SQL');
CREATE FUNCTION cursor_of(tab text, word text, col text, way text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	got text[] := '{}';
	one text;
BEGIN
	OPEN c FOR EXECUTE format('SELECT %2$I::text AS k FROM %4$I WHERE v @@ %1$L ORDER BY %2$I %3$s', word, col, way, tab);
	LOOP
		FETCH c INTO one;
		EXIT WHEN NOT FOUND;
		got := array_append(got, one);
	END LOOP;
	RETURN got;
END $$;
SQL

# Searches that grow, to the last row; what they say is that of the sequential scan.
sub by_cursor
{
	my ($what, $table, $word, $column, $way) = @_;
	my $got = $s->value("SELECT cardinality(c) || ' ' || md5(c::text) FROM cursor_of('$table', '$word', '$column', '$way') c");

	is($got, $m->by('seq', "SELECT count(*) || ' ' || md5(array_agg($column\::text ORDER BY $column $way)::text) FROM $table WHERE v @@ '$word'"),
		"a cursor goes through all rows, $what: $word by $column $way");
	$m->way('plain');
	return;
}

by_cursor('crashed', 'docs', 'wa', 'n', 'DESC NULLS LAST');
is($s->value(<<'SQL'), 't', 'a search for each row of a join');
SELECT bool_and(a IS NOT DISTINCT FROM b) FROM (SELECT
	(SELECT array_agg(n) FROM (SELECT n FROM docs WHERE v @@ 'wa' AND small = k ORDER BY n DESC LIMIT 3) s) AS a,
	(SELECT (array_agg(n ORDER BY n DESC))[1:3] FROM docs WHERE v @@ 'wa' AND small = k) AS b FROM generate_series(0, 5) k) s;
SQL
is($s->value("PREPARE page(int, int) AS SELECT array_agg(n) FROM (SELECT n FROM docs WHERE v @@ 'wa' AND n < \$1 ORDER BY n DESC LIMIT \$2) s;"
	  . ' SET plan_cache_mode = force_generic_plan; EXECUTE page(100, 5)'),
	$s->value("SELECT (array_agg(n ORDER BY n DESC))[1:5] FROM docs WHERE v @@ 'wa' AND n < 100"), 'a page from a key on');
is($s->value('EXECUTE page(NULL, 5)'), '', 'from NULL on there is none');
is($s->value('EXECUTE page(100, NULL)'), $s->value("SELECT array_agg(n ORDER BY n DESC) FROM docs WHERE v @@ 'wa' AND n < 100"), 'no limit');
$s->value('RESET plan_cache_mode');
like($s->value("EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n, id LIMIT 5"), qr/Incremental Sort.*Presorted Key: n.*Skipidx Ordered Scan/s,
	'further keys are sorted');
like($s->value("EXPLAIN (COSTS OFF) DECLARE c SCROLL CURSOR FOR SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n"), qr/Materialize/, 'backward by Materialize');
is($s->value("SELECT count(*) FROM (SELECT id FROM docs WHERE v @@ 'wa' ORDER BY n LIMIT 5 FOR UPDATE) s"), 5, 'rows are locked');
unlike($s->value('EXPLAIN (COSTS OFF) SELECT id FROM docs ORDER BY v LIMIT 1'), qr/Ordered Scan/, 'the text has no order');

# ---- other modifiers of a numeric ----

my $price = 'SELECT count(*) || $$ $$ || coalesce(array_agg(p)::text, $$$$) FROM (SELECT p FROM docs WHERE v @@ $$wa$$ AND p > -0.0005 AND p < 12.5000001'
  . ' ORDER BY p DESC LIMIT 50) s';

sub as_sorted
{
	my ($what, $by_index) = @_;

	$m->both($what, $price, $by_index ? qr/Ordered Scan/ : qr/Index Scan/, undef, 'plain');
	return is($s->raw("SELECT skipidx_check('docs_skx', true)"), '', "$what: skipidx_check");
}

as_sorted('numeric(12, 3)', 1);
$s->value('ALTER TABLE docs ALTER p TYPE numeric(15, 3)');
$s->value("INSERT INTO docs (id, v, p) VALUES (-1, 'wa', 123456789012.345), (-2, 'wa', 2.125)");
as_sorted('numeric(15, 3)', 1);
$s->value('ALTER TABLE docs ALTER p TYPE numeric');
$s->value("INSERT INTO docs (id, v, p) VALUES (-3, 'wa', 1.23456789), (-4, 'wa', 'Infinity'), (-5, 'wa', 1e30)");
as_sorted('numeric', 0);
$s->value('SELECT tend(1)');
as_sorted('merged without its keys', 0);
$s->value('DELETE FROM docs WHERE id < 0; ALTER TABLE docs ALTER p TYPE numeric(13, 2)');
as_sorted('numeric(13, 2)', 1);

# What a transaction has left that gave the column another type and was rolled back:
# a segment with keys of another kind, and values with more digits that are pending.
$s->value(<<'SQL');
CREATE TABLE undone (id int, v tsvector, m numeric(10, 2), w numeric(10, 2));
CREATE INDEX undone_skx ON undone USING skipidx (v, m, w);
INSERT INTO undone SELECT i, 'wa', i * 0.01, 5 FROM generate_series(1, 500) i;
ANALYZE undone;
BEGIN;
ALTER TABLE undone ALTER m TYPE numeric;
INSERT INTO undone SELECT i, 'wa', 1.000001 + i, 5 FROM generate_series(1, 50) i;
ROLLBACK;
SQL
my $least = "SELECT array_agg(m) FROM (SELECT m FROM undone WHERE v @@ 'wa' AND m > 0.5 ORDER BY m LIMIT 4) s";
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY m LIMIT 4"), qr/Ordered Scan/, 'rolled back: by the order');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'beside values with more digits, of no row');
$s->value(q{SELECT skipidx_flush('undone_skx') \g /dev/null});
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'and flushed with them');
is($s->raw("SELECT skipidx_check('undone_skx', true)"), '', 'skipidx_check');
$s->value("INSERT INTO undone SELECT i, 'wa', i * 0.01, 5 FROM generate_series(501, 600) i;"
	  . " BEGIN; ALTER TABLE undone ALTER m TYPE numeric(20, 2); SELECT skipidx_flush('undone_skx') \\g /dev/null");
$s->value('ROLLBACK');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'a segment of the time between');
is($s->value("SELECT max(m) FROM undone WHERE v @@ 'wa'"), '6.00', 'its rows');
like($s->raw("SELECT skipidx_histogram('undone_skx', 'wa', 'm', '{1}'::numeric[])"), qr/55000: index "undone_skx" has no sort keys of column "m"/, 'no histogram');
like($s->raw("SELECT skipidx_slices('undone_skx', 'm', 2)"), qr/55000: index "undone_skx" has no sort keys of column "m"/, 'no slices');
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY w LIMIT 4"), qr/Ordered Scan/, 'another column has it');
$s->value('REINDEX INDEX undone_skx');
is($s->value($least), '{0.51,0.52,0.53,0.54}', 'built anew');
like($s->value("EXPLAIN (COSTS OFF) SELECT m FROM undone WHERE v @@ 'wa' ORDER BY m LIMIT 4"), qr/Ordered Scan/, 'by the order');

# ---- work ----

# follows and ties follow the table, mixed does not.
$s->value(<<'SQL');
CREATE TABLE work (id int, v tsvector, follows int, mixed int, ties int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(CASE WHEN i % 10 = 3 THEN '{all,tenth}' WHEN i % 20 = 4 THEN ARRAY['all', 'many' || i % 500] ELSE '{all}'::text[] END), i, hashint4(i), i / 50000
	FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, follows, mixed, ties) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL

# What EXPLAIN tells of a search: how often it began, stretches visited, documents
# compared, and values by which these were found.
sub work
{
	my ($cond, $order, $table) = (@_, 'work');
	my $told = $m->told("SELECT id FROM $table WHERE $cond ORDER BY $order");

	is($told->{'Custom Plan Provider'}, 'Skipidx Ordered Scan', "$cond by $order");
	return @$told{'Passes', 'Stretches', 'Compared Documents', 'Values'};
}

for my $way ('follows LIMIT 20', 'follows DESC LIMIT 20', 'ties LIMIT 20', 'ties DESC LIMIT 20')
{
	my ($passes, $stretches, $documents) = work(q{v @@ 'all'}, $way);

	is($passes, 1, "one search by $way");
	# where a value begins, a group has a few of it
	cmp_ok($stretches, '<=', $way =~ /ties DESC/ ? 2 : 1, "$stretches groups of documents");
	cmp_ok($documents, '<=', 256, "$documents documents");
	(undef, $stretches, $documents) = work(q{v @@ 'tenth'}, $way);
	cmp_ok($stretches, '<=', 3, "$stretches stretches of a rarer word");
	cmp_ok($documents, '<=', 60, "$documents documents");
}
for my $cond ('follows < 100000', 'follows BETWEEN 1000 AND 100000')
{
	my (undef, $stretches, $documents) = work("v @@ 'all' AND $cond", 'follows DESC LIMIT 20');

	cmp_ok($stretches, '<=', 2, "a page from a key on: $stretches stretches");
	cmp_ok($documents, '<=', 256, "$documents documents");
}
my ($passes, $stretches, $documents) = work(q{v @@ 'many:*'}, 'follows LIMIT 20');
is("$passes $stretches", '1 1', 'a prefix of many lexemes is gone through at once');
is($documents, 10000, 'all of it');
my $values;
for my $way ('mixed LIMIT 20', 'mixed DESC LIMIT 20')
{
	($passes, $stretches, $documents, $values) = work(q{v @@ 'all'}, $way);
	is("$passes $stretches", '1 0', "a column in no order: one search, no stretch by $way");
	cmp_ok($values, '<=', 30, "$values values");
	cmp_ok($documents, '<=', 30, "$documents documents");
	(undef, $stretches, $documents, $values) = work(q{v @@ 'tenth' AND mixed BETWEEN -1000000000 AND 1500000000}, $way);
	is($stretches, 0, 'a rarer word, and a range of the column');
	cmp_ok($values, '<=', 500, "$values values");
	cmp_ok($documents, '<=', 60, "$documents documents");
}
(undef, undef, $documents, $values) = work(q{v @@ 'many13'}, 'mixed LIMIT 20');
cmp_ok($values + $documents, '<=', 500, "a rare word: $documents documents, by $values values");
($passes) = work(q{v @@ 'all'}, 'follows LIMIT 20 OFFSET 100');
is($passes, 1, 'an offset is of the first search');

# Dead rows, which are at the end of what a stretch gives: it is not gone through anew.
my $range = q{SELECT count(*) FROM (SELECT id FROM work WHERE v @@ 'all' AND mixed < -2000000000 ORDER BY follows LIMIT 10) l};
sub decoded_by { return ($m->spent(@_))[1]{subblocks} }
decoded_by($range);
my $alive = decoded_by($range);
$s->value('DELETE FROM work WHERE hashint4(id + 77) % 5 = 1; VACUUM work');
decoded_by($range);
my $dead = decoded_by($range);
ok($alive > 0 && $dead <= $alive, "dead rows: $dead sub-blocks, $alive without");

# ---- keys that several values have ----

# Of 60 rows six have one key of u each; of q likewise, but for those of whole numbers.
$s->value(<<'SQL');
CREATE TABLE shared (id int PRIMARY KEY, v tsvector, u uuid, j jsonb);
INSERT INTO shared SELECT i, 'wa', (lpad(to_hex(i % 10), 16, '0') || lpad(to_hex((i * 17) % 61), 16, '0'))::uuid,
	jsonb_build_object('q', i % 10 + CASE WHEN i % 2 = 1 THEN (i * 17) % 61 * 1e-20 ELSE 0 END) FROM generate_series(1, 60) i;
CREATE INDEX shared_skx ON shared USING skipidx (v, u, ((j ->> 'q')::numeric));
ANALYZE shared;
CREATE FUNCTION by_position() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT id FROM shared WHERE v @@ 'wa' ORDER BY u DESC;
	one record;
	changed int;
BEGIN
	OPEN c;
	FOR i IN 1 .. 25 LOOP
		FETCH c INTO one;
		UPDATE shared SET j = j || '{"seen": true}' WHERE CURRENT OF c RETURNING id INTO changed;
		IF changed <> one.id THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN (SELECT count(*) = 25 FROM shared WHERE j ? 'seen');
END $$;
SQL
for my $tail ('', 'LIMIT 1', 'LIMIT 10', 'LIMIT 15', 'LIMIT 10 OFFSET 9', 'LIMIT 60')
{
	$m->ask_always(map { my $by = $_; map { [ 'ordered', table => 'shared', cond => "v @@ 'wa'", by => $by, key => "($by)::text", way => $_, tail => $tail ] } '', 'DESC' } 'u', "(j ->> 'q')::numeric");
}
$m->differ('keys that several values have', 1, topic => 'shared', explain => '', unchecked => 1);
$m->way('plain');
is($s->value(<<'SQL'), 't', 'for each row of a join, and not to the end');
SELECT bool_and(a IS NOT DISTINCT FROM b) FROM (SELECT (SELECT array_agg(u) FROM (SELECT u FROM shared WHERE v @@ 'wa' AND u > t.u ORDER BY u LIMIT 7) s) AS a,
	(SELECT (array_agg(u ORDER BY u))[1:7] FROM shared s WHERE s.u > t.u) AS b FROM shared t) s;
SQL
is($s->value("SELECT count(*) || ' ' || min(u::text) || ' ' || max(u::text) FROM (SELECT u FROM shared WHERE v @@ 'wa' ORDER BY u LIMIT 12 FOR UPDATE) s"),
	$s->value("SELECT count(*) || ' ' || min(u::text) || ' ' || max(u::text) FROM (SELECT u FROM (SELECT u FROM shared OFFSET 0) o ORDER BY u LIMIT 12) s"), 'rows are locked');
is($s->value("SELECT min((j ->> 'q')::numeric) || ' ' || max((j ->> 'q')::numeric) FROM shared WHERE v @@ 'wa'"),
	$s->value("SELECT min(q) || ' ' || max(q) FROM (SELECT (j ->> 'q')::numeric AS q FROM shared OFFSET 0) s"), 'the least and the most');
is($s->value('SELECT by_position()'), 't', 'WHERE CURRENT OF is the row that was fetched');

# Rows of one key, more than fit into work_mem, with values that are not stored in line.
$s->value(<<'SQL');
CREATE TABLE wide (id int, v tsvector, u uuid, t text);
ALTER TABLE wide ALTER t SET STORAGE plain;
INSERT INTO wide SELECT i, 'wa', (lpad(to_hex(i % 16), 16, '0') || lpad(to_hex((i * 7919) % 4001), 16, '0'))::uuid, repeat('x', 400) || i FROM generate_series(1, 4000) i;
CREATE INDEX wide_skx ON wide USING skipidx (v, u);
ANALYZE wide;
SET work_mem = '64kB';
SQL
is($s->value("SELECT array_agg(u) = (SELECT array_agg(u ORDER BY u DESC) FROM wide) AND bool_and(t = repeat('x', 400) || id) FROM (SELECT id, u, t FROM wide WHERE v @@ 'wa' ORDER BY u DESC) s"),
	't', 'rows of one key, beyond work_mem');
$s->value('RESET work_mem');
like($s->value("EXPLAIN (COSTS OFF) SELECT u FROM wide WHERE v @@ 'wa' ORDER BY u LIMIT 1"), qr/Ordered Scan/, 'a sixteenth of the rows have one key');
$s->value("UPDATE wide SET u = ('0123456789abcdef' || right(u::text, 17))::uuid WHERE id % 16 < 3; VACUUM wide; REINDEX INDEX wide_skx");
unlike($s->value("EXPLAIN (COSTS OFF) SELECT u FROM wide WHERE v @@ 'wa' ORDER BY u LIMIT 1"), qr/Ordered Scan/, 'not where an eighth of them have');
is($s->raw("SELECT skipidx_slices('shared_skx', 'u', 2)") =~ /0A000: column "u" of index "shared_skx" has no slices/, 1, 'no slices of it');

# A page from a value on does not go through the lists of all values behind it: it
# takes about what one by a column takes whose keys tell their values.
$s->value(<<'SQL');
CREATE TABLE pages (id int, v tsvector, u uuid, q numeric, n int) WITH (autovacuum_enabled = off);
INSERT INTO pages SELECT i, 'all', (lpad(to_hex(hashint4(i) + 2147483648), 8, '0') || substr(md5(i::text), 9))::uuid, hashint4(i) / 1000.0, hashint4(i) FROM generate_series(1, 100000) i;
CREATE INDEX pages_skx ON pages USING skipidx (v, u, q, n) WITH (block_size = '8kB');
ANALYZE pages;
SQL
for my $way ('>', '<')
{
	my %taken;

	for my $bound ("n $way -1000000000", "u $way '44653600-0000-0000-0000-000000000000'", "q $way -1000000")
	{
		my $column = substr $bound, 0, 1;
		my $order = "$column " . ($way eq '<' ? 'DESC' : '');
		my $page = "SELECT array_agg(id) FROM (SELECT id FROM pages WHERE v @@ 'all' AND $bound ORDER BY $order LIMIT 20) s";
		my $found = $s->value($page);

		$taken{$column} = ($m->spent($page))[1]{pins};
		my (undef, undef, $documents, $values) = work("v @@ 'all' AND $bound", "$order LIMIT 20", 'pages');

		cmp_ok($taken{$column}, '<=', 1.5 * $taken{n}, "a page from a value on, by $column: $taken{$column} pages, by n $taken{n}");
		cmp_ok($documents, '<=', 60, "$documents documents by $values values");
		$m->way('seq');
		is($found, $s->value($page), 'its rows');
		$m->way('plain');
	}
}

# ---- by values: a column in no order, and words that go with its values or not ----

# Values of n are those of one row or two, but for 0, which many have, and -1 to -9,
# and each d, some do; some n are NULL.  `low` and `high` are in rows with the least and most, and of the
# first segment few of these rows have `some`, which all of the second do.  Values of
# u and q that differ have keys in common, of one key of u very many; the least three
# of q have lists of their own.
$s->value(<<'SQL');
CREATE TABLE far (id int, v tsvector, n int, ts timestamp, p numeric(12, 2), f float8, d date, u uuid, q numeric) WITH (autovacuum_enabled = off);
CREATE INDEX far_skx ON far USING skipidx (v, n, ts, p, f, d, u, q) WITH (block_size = '8kB', pending_limit = '1GB');
CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO far SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN i % 2 = 0 THEN '{half}'::text[] ELSE '{}' END ||
			CASE WHEN n > 1000000000 THEN '{high}'::text[] WHEN n < -1000000000 THEN '{low}' ELSE '{}' END || CASE WHEN i % 7 = 3 THEN ARRAY['few' || i % 40] ELSE '{}' END ||
			CASE WHEN i > 30000 OR abs(n::int8) < 1000000000 OR i % 50 = 0 THEN '{some}'::text[] ELSE '{}' END ||
			CASE WHEN m BETWEEN 30 AND 130 OR i % 50 IN (0, 1) THEN '{days}'::text[] ELSE '{}' END),
		CASE WHEN i % 11 = 5 THEN 0 WHEN i % 23 = 7 THEN -1 - i % 9 WHEN i % 31 <> 3 THEN n END, '2000-01-01'::timestamp + make_interval(secs => n), n / 1000.0, n::float8 * n, '2000-01-01'::date + m,
		CASE WHEN i % 37 <> 3 THEN (lpad(to_hex(CASE WHEN i % 11 = 5 THEN 524288 ELSE (n + 2147483648) / 4096 END), 16, '0') || lpad(to_hex(i * 7919 % 65536), 16, '0'))::uuid END,
		CASE WHEN i % 11 = 5 THEN 0 WHEN i % 150 = 4 THEN trim_scale(-1000000 + i / 150 % 3 * 1e-20) WHEN i % 29 <> 3 THEN trim_scale(n / 4096 + CASE WHEN i % 3 > 0 THEN (i * 7919 % 128) * 1e-20 ELSE 0 END) END
	FROM (SELECT i, hashint4(i) AS n, abs(hashint4(i / 2) % 160) AS m FROM generate_series(a, b) i) s;
$$;
SQL

for my $by (qw(n ts p f d u q u q))
{
	for my $cond ("v @@ 'all'", "v @@ 'half'", "v @@ 'low'", "v @@ 'high'", "v @@ 'high | low'", "v @@ 'half & !low & !high'", "v @@ 'few7 | few21 | few3'", "v @@ 'all' AND n >= 0",
		"v @@ 'all' AND n <= 1000000", "v @@ 'all' AND n >= -1000000", "v @@ 'half' AND n <= -3", "v @@ 'half' AND n BETWEEN -1000000 AND 900000000", "v @@ 'half' AND f > 1e17", "v @@ 'days'", 'n > 5', 'true',
		"v @@ 'half' AND u > '00000000-0008-0000-0000-000000008000'", "v @@ 'all' AND u BETWEEN '00000000-0004-0000-0000-000000000000' AND '00000000-0008-0000-0000-000000004000'",
		"v @@ 'half' AND q <= 0", "v @@ 'all' AND q > 100.00000000000000000064")
	{
		$m->ask(1, map { my $way = $_; sub { ('ordered', table => 'far', by => $by, key => $by eq 'd' ? 'd::text' : undef, cond => $cond, way => $way,
				tail => one_of('LIMIT 1', 'LIMIT 20', 'LIMIT 20', 'LIMIT 300', 'LIMIT 50 OFFSET 1000'), @_) } } '', 'DESC', 'DESC NULLS LAST');
	}
}

# Half of these; of a fourth of them rows are found by values.
sub far
{
	my ($what) = @_;
	my $r = $m->differ("by values, $what", 2, topic => 'far', part => $m->{farther}++ % 2, explain => ', ANALYZE, COSTS OFF, TIMING OFF', unchecked => 1);

	$m->way('plain');
	cmp_ok($r->{figures}{Values}{queries}, '>', $r->{asked} / 4, "by values, $what");
	return;
}

sub far_all
{
	my ($what) = @_;

	for my $word ('half', 'high', 'low', 'all & !low', 'some', 'days')
	{
		by_cursor($what, 'far', $word, $_, ''), by_cursor($what, 'far', $word, $_, 'DESC') for qw(n d u q);
	}
	return;
}

$s->value('SELECT fill(1, 30000) \g /dev/null');
$s->value('REINDEX INDEX far_skx; ANALYZE far');
far('a segment');
(undef, $stretches, undef, $values) = work(q{v @@ 'all' AND n >= 0}, 'n LIMIT 20', 'far');
is("$values " . ($stretches > 0), '0 1', 'a value that many rows have is gone through by stretches');
(undef, undef, undef, $values) = work(q{v @@ 'half' AND n < 0}, 'n DESC LIMIT 100', 'far');
cmp_ok($values, '<=', 8, "lists that are short: $values values");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n LIMIT 20', 'far');
ok($values >= 700 && $values <= 1000 && $documents > 5000, "no row is among the first ones: given up after $values values, $documents documents");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n LIMIT 300', 'far');
cmp_ok($values, '<=', 4000, "nor of many: $values values, which take no longer than all matches, $documents documents");
(undef, undef, $documents, $values) = work(q{v @@ 'high'}, 'n DESC NULLS LAST LIMIT 20', 'far');
ok($values >= 20 && $values <= 200 && $documents <= $values, "all are: $documents documents by $values values");
$s->value('DELETE FROM far WHERE id % 5 = 1; UPDATE far SET n = n + 1 WHERE id % 13 = 2');
far('deleted, pending');
$s->value('VACUUM far; SELECT fill(30001, 38000) \g /dev/null');
$s->value(q{SELECT skipidx_flush('far_skx') \g /dev/null});
# the segments behind the first one need not have as many of the first values
(undef, undef, undef, $values) = work(q{v @@ 'all'}, 'n DESC NULLS LAST LIMIT 200', 'far');
ok($values >= 200 && $values <= 480, "further segments: $values values");
$s->value('DELETE FROM far WHERE id % 17 = 3; SELECT fill(38001, 41000) \g /dev/null');
far('several segments, pending, deleted');
far_all('several segments');
$s->value(q{SELECT skipidx_flush('far_skx'), skipidx_merge('far_skx', 1) \g /dev/null});
far('merged');
far_all('merged');

done_testing();
