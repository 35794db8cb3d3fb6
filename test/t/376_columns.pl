# Columns of rows from the index alone are those of the rows, to the last digit,
# in every state an index and its table can be in: sums, groups, sorts and joins
# above them say what they say above a sequential scan.  By several processes, by
# cursors that end early, beside an older snapshot, on a standby; and where they
# are not offered.
#
# Holds: columns 1, 2, 3; count 7; plan 32

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_fault_lock);
use Test::More;

my $seed = skx_seed(376);
my $node = skx_node('columns', streaming => 1, conf => "autovacuum = off\nskipidx.cache_size = 2MB\nmax_parallel_workers_per_gather = 0\njit = off");

srand($seed);
note "seed $seed";
skx_database($node, 'd');

my $s = skx_session($node, 'd');

$s->value(<<'SQL');
CREATE DOMAIN cents AS int8;
CREATE TABLE docs (id int NOT NULL, v tsvector, flag bool, small int2, price int, big int8, day date, moment timestamp, zoned timestamptz,
	clock time, cash money, amount numeric(12, 3), whole numeric(18), ref oid, dom cents, name text, x float8, plain numeric, filler int DEFAULT 0)
	WITH (fillfactor = 80);
CREATE INDEX docs_v ON docs USING skipidx (v, flag, small, price, big, day, moment, zoned, clock, cash, amount, whole, ref, dom, name, x, plain)
	WITH (pending_limit = '1GB', block_size = '8kB');
CREATE TABLE names (price int, name text);
INSERT INTO names SELECT i, 'n' || i FROM generate_series(-20, 20) i;
ANALYZE names;

-- rows and their values, which are NULL, ends of their types, few or many
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, CASE WHEN r < .03 THEN NULL ELSE 'all' || CASE WHEN i % 2 = 0 THEN ' half' ELSE '' END
			|| CASE WHEN i % 5 = 0 THEN ' fifth' ELSE '' END || ' x' || i % 50 END::tsvector,
		CASE WHEN i % 7 > 0 THEN i % 3 = 0 END,
		CASE WHEN i % 11 > 0 THEN (i * 7919 % 65536 - 32768)::int2 END,
		CASE i % 13 WHEN 0 THEN NULL WHEN 1 THEN -2147483648 WHEN 2 THEN 2147483647 ELSE i % 40 - 20 END,
		CASE i % 13 WHEN 1 THEN NULL WHEN 2 THEN -9223372036854775808 WHEN 3 THEN 9223372036854775807 ELSE i * 1000003::int8 END,
		CASE i % 17 WHEN 0 THEN NULL WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' WHEN 3 THEN '4714-11-24 BC' ELSE date '1999-12-25' + i % 30 END,
		CASE i % 17 WHEN 4 THEN NULL WHEN 5 THEN 'infinity' WHEN 6 THEN '-infinity' WHEN 7 THEN '4714-11-24 BC' WHEN 8 THEN '294276-12-31 23:59:59.999999'
			ELSE timestamp '1999-12-31 12:00' + i * interval '1 hour' + interval '.000001 s' END,
		CASE i % 17 WHEN 8 THEN NULL WHEN 9 THEN 'infinity' ELSE timestamptz '2000-01-01 UTC' - i * interval '17 minutes' END,
		CASE WHEN i % 19 > 0 THEN time '00:00' + i * interval '61.000001 s' END,
		CASE WHEN i % 23 > 0 THEN (i % 1000 - 500)::numeric::money END,
		CASE i % 19 WHEN 1 THEN NULL WHEN 2 THEN 'NaN' WHEN 3 THEN -999999999.999 WHEN 4 THEN 0 WHEN 5 THEN 999999999.999 ELSE (i % 5000 - 2500) / 1000.0 END,
		CASE i % 19 WHEN 6 THEN NULL WHEN 7 THEN 'NaN' WHEN 8 THEN -999999999999999999 WHEN 9 THEN 999999999999999999 ELSE i::numeric END,
		CASE WHEN i % 29 > 0 THEN (4294967295 - i)::oid END,
		CASE WHEN i % 31 > 0 THEN i * -3 END, 't' || i % 9, CASE WHEN i % 2 = 0 THEN -0.0::float8 ELSE i END, i / 7.0
	FROM generate_series(first, first + n - 1) i, LATERAL (SELECT (i * 104729 % 1000) / 1000.0 AS r) y $$;

CREATE FUNCTION mode(which text) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (which = 'seq')::text, false), set_config('enable_indexscan', (which <> 'seq')::text, false),
		set_config('enable_bitmapscan', (which <> 'seq')::text, false) $$;
SQL

# What is asked, and whether it is by columns alone.
my @conditions = (q{v @@ 'half'}, q{v @@ 'all & !fifth'}, q{v @@ 'x7 | x8 | x9'}, q{v @@ 'fifth' AND price > 0}, q{small BETWEEN -9000 AND 9000}, 'true',
	q{v @@ 'half' AND flag AND day < '2000-01-10'}, q{v @@ 'nosuch'}, q{name = 't3'}, q{v @@ 'half' AND amount IS NULL}, q{v IS NULL});
my @all = qw(flag small price big day moment zoned clock cash amount whole ref dom);
my @asked = (
	[ 'SELECT count(*), sum(price), avg(small), min(big), max(day), max(moment), min(zoned), max(clock), sum(cash), avg(amount), sum(whole), max(ref), sum(dom), bool_or(flag) FROM docs WHERE %s', 1 ],
	[ 'SELECT ' . join(', ', @all) . ' FROM docs WHERE %s ORDER BY ' . join(', ', @all), 1 ],
	(map { [ "SELECT $_ FROM docs WHERE %s ORDER BY $_", 0 ] } @all),
	[ 'SELECT flag, small %% 10 AS b, count(*), count(price), sum(amount) FILTER (WHERE price > 0) FROM docs WHERE %s GROUP BY 1, 2 HAVING count(*) > 3 ORDER BY 1, 2', 1 ],
	[ q{SELECT date_trunc('month', CASE WHEN moment > '1990-01-01' THEN moment END) AS m, width_bucket(price, -20, 20, 8) AS b, count(*) FROM docs WHERE %s GROUP BY 1, 2 ORDER BY 1, 2}, 1 ],
	[ q{SELECT date_trunc('month', zoned) AS m, width_bucket(price, -20, 20, 8) AS b, avg(big::numeric) FROM docs WHERE %s GROUP BY 1, 2 ORDER BY 1, 2}, 1 ],
	[ 'SELECT price, day FROM docs WHERE %s GROUP BY GROUPING SETS ((price), (day), ()) ORDER BY 1, 2', 1 ],
	[ 'SELECT names.name, count(*), sum(docs.big::numeric) FROM docs JOIN names USING (price) WHERE %s GROUP BY 1 ORDER BY 1', 0 ],
	[ 'SELECT count(DISTINCT price), percentile_disc(.5) WITHIN GROUP (ORDER BY amount) FROM docs WHERE %s', 1 ],
	[ 'SELECT price, rank() OVER (ORDER BY price DESC, small) FROM docs WHERE %s ORDER BY 1, 2 LIMIT 50', 1 ],
	[ 'SELECT sum(price::int8 + 1), (SELECT max(n.price) FROM names n WHERE n.price < 5) FROM docs WHERE %s', 1 ],
	[ 'SELECT price FROM docs WHERE %s UNION SELECT small FROM docs WHERE v @@ \'x1\' ORDER BY 1', 1 ]);

# Compares all of them; returns how many there were, and how many were by columns.
sub same
{
	my ($what, $session, @conditions) = @_;
	my ($n, $by, @wrong, @missed) = (0, 0);

	for my $condition (@conditions)
	{
		my $c = $condition =~ s/docs\.//gr;

		for my $one (@asked)
		{
			my ($statement, $must) = @$one;
			my $sql = sprintf $statement, $c =~ /price|name/ && $statement =~ /JOIN/ ? $c =~ s/\b(price|name)\b/docs.$1/gr =~ s/\bv\b/docs.v/gr : $c;

			next if $statement =~ /JOIN/ && $c =~ /name/;
			my $want = $session->value("SELECT mode('seq') \\g /dev/null\n$sql;\n");
			my $plan = $session->value("SELECT mode('columns') \\g /dev/null\nEXPLAIN (COSTS OFF) $sql;\n");
			my $got = $session->value($sql);

			$n++;
			$by++ if $plan =~ /Skipidx Columns/;
			push @missed, "$sql\n$plan" if $must && $c !~ /nosuch/ && $plan !~ /Skipidx (Columns|Count|Facets)/;
			push @wrong, $sql if $got ne $want;
		}
	}
	is("@wrong[0 .. ($#wrong > 2 ? 2 : $#wrong)]", '', "$what: $n statements, $by by columns alone");
	note("not by columns: $_") for @missed[0 .. ($#missed > 1 ? 1 : $#missed)];
	return ($n, $by, scalar @missed);
}

# The planner is to believe that all pages are visible to all, whatever they are.
sub believe { return $s->value(q{UPDATE pg_class SET relallvisible = relpages WHERE relname = 'docs'}); }

$s->value('SET cpu_tuple_cost = 1');	# visits to the table are dear
$s->value('SELECT add(1, 900); ANALYZE docs');
believe();
same('pending', $s, @conditions);
$s->value("SELECT skipidx_flush('docs_v'); VACUUM ANALYZE docs");
my ($n, $by, $missed) = same('vacuumed', $s, @conditions);
cmp_ok($by, '>', $n / 2, 'vacuumed: most are by columns alone');
is($missed, 0, 'vacuumed: all are that must be');

# in a plan's figures: nothing of the table was read
my $plan = $s->value(q{SELECT mode('columns') \g /dev/null} . "\nEXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT sum(price) FROM docs WHERE v @@ 'half';");
like($plan, qr/Skipidx Columns.*Heap Fetches: 0\b.*Rows by Whole Map: 43\d\b/s, 'vacuumed: no row is fetched');

for my $round (1 .. 3)
{
	$s->value('SELECT add(' . $round * 1000 . ", 300); SELECT skipidx_flush('docs_v')");
}
$s->value('SELECT add(5000, 200)');
same('several segments and pending documents', $s, @conditions);
$s->value('DELETE FROM docs WHERE id % 9 = 4; UPDATE docs SET price = price - 1 WHERE id % 7 = 3 AND price > -100; UPDATE docs SET filler = 1 WHERE id % 5 = 2');
same('deleted and updated', $s, @conditions);
$s->value("SET skipidx.io_method = '$_'"), same("deleted and updated, $_", $s, @conditions[0 .. 3]) for 'buffered', 'shared_buffers', 'uring_direct';
$s->value('RESET skipidx.io_method');

# under a snapshot that others change the table beside
my $older = skx_session($node, 'd');
$older->value('SET cpu_tuple_cost = 1; SET max_parallel_workers_per_gather = 0');
$older->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my $sum = q{SELECT count(*), sum(price::numeric), sum(big::numeric), max(amount) FROM docs WHERE v @@ 'half'};
my $before = $older->value("SELECT mode('columns') \\g /dev/null\n$sum;\n");
$s->value('DELETE FROM docs WHERE id % 4 = 0; UPDATE docs SET price = 5 WHERE id % 6 = 2');
$s->value('VACUUM docs');
believe();
is($older->value($sum), $before, 'an older snapshot: the same after others have changed the rows');
same('an older snapshot', $older, @conditions);
$s->value("SELECT skipidx_merge('docs_v', 1)");
is($older->value($sum), $before, 'an older snapshot: the same after a merge');
($n, $by) = same('beside an older snapshot', $s, @conditions);
cmp_ok($by, '>', $n / 2, 'beside an older snapshot: most are by columns alone');
$older->value('COMMIT');
$s->value('VACUUM docs');
same('vacuumed again', $s, @conditions);

# what its own transaction did
$s->value('BEGIN; SELECT add(7000, 50); DELETE FROM docs WHERE id % 8 = 2; SAVEPOINT p; UPDATE docs SET price = 3; ROLLBACK TO p');
same('its own transaction', $s, @conditions[0 .. 4]);
$s->value('ROLLBACK');

# cursors: several at once, ends before the first row and in the middle, forward and back
$s->value(q{SELECT mode('columns'); BEGIN; DECLARE a CURSOR FOR SELECT price FROM docs WHERE v @@ 'half'; DECLARE b SCROLL CURSOR FOR SELECT small FROM docs WHERE v @@ 'all'});
my @fetched = map { $s->value("FETCH 7 FROM $_") } ('a', 'b') x 3;
is(join("\n", @fetched[ 0, 2, 4 ]), $s->value(q{SELECT price FROM docs WHERE v @@ 'half' LIMIT 21}), 'a cursor beside another one');
is($s->value('FETCH BACKWARD 3 FROM b'), join("\n", (reverse split /\n/, $s->value(q{SELECT small FROM docs WHERE v @@ 'all' LIMIT 20}))[ 0 .. 2 ]), 'a cursor that goes back');
$s->value(q{DECLARE c CURSOR FOR SELECT price FROM docs WHERE v @@ 'half'; CLOSE c; COMMIT});
is($s->value('SELECT pinned FROM skipidx_cache()'), 0, 'nothing stays pinned');

# again with other parameters, in joins, subqueries and prepared statements
$s->value(q{SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off; SET enable_material = off});
for my $sql (q{SELECT q, (SELECT sum(price::numeric) FROM docs WHERE v @@ q) FROM unnest('{half,fifth,nosuch,x1,half}'::tsquery[]) q},
	q{SELECT i, (SELECT max(big) FROM docs WHERE small BETWEEN i AND i + 3000 AND v @@ 'all') FROM generate_series(-9000, 9000, 1000) i},
	q{SELECT n.price, (SELECT count(d.price) + sum(d.small) FROM docs d WHERE d.price = n.price) FROM names n ORDER BY 1})
{
	my $want = $s->value("SELECT mode('seq') \\g /dev/null\n$sql;\n");

	is($s->value("SELECT mode('columns') \\g /dev/null\n$sql;\n"), $want, "again: $sql");
	like($s->value("EXPLAIN $sql"), qr/Skipidx (Columns|Ordered)/, 'again: by columns alone');
}
$s->value(q{RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize; RESET enable_material});
$s->value(q{SET plan_cache_mode = force_generic_plan; PREPARE p (tsquery, int) AS SELECT sum(small), min(amount) FROM docs WHERE v @@ $1 AND price > $2});
is($s->value("EXECUTE p ('$_', -5)"), $s->value("SELECT mode('seq') \\g /dev/null\nSELECT sum(small), min(amount) FROM docs WHERE v @@ '$_' AND price > -5;\nSELECT mode('columns') \\g /dev/null\n"), "prepared: $_")
  for 'half', 'nosuch', 'x1 | x2';
is($s->value('EXECUTE p (NULL, 1)'), '|', 'prepared: NULL');
$s->value('RESET plan_cache_mode');

# where they are not offered
for my $case (
	[ 'a column whose keys do not tell it', q{SELECT sum(plain) FROM docs WHERE v @@ 'half'} ],
	[ 'a float, of which -0 is 0', q{SELECT x FROM docs WHERE v @@ 'half'} ],
	[ 'a text', q{SELECT max(name) FROM docs WHERE v @@ 'half'} ],
	[ 'a column that is not in the index', q{SELECT sum(price::int8 + id) FROM docs WHERE v @@ 'half'} ],
	[ 'the place', q{SELECT ctid, price FROM docs WHERE v @@ 'half'} ],
	[ 'the row', q{SELECT docs, price FROM docs WHERE v @@ 'half'} ],
	[ 'the table', q{SELECT tableoid, price FROM docs WHERE v @@ 'half'} ],
	[ 'a condition that is tested', q{SELECT sum(price) FROM docs WHERE v @@ 'half' AND price % 2 = 0} ],
	[ 'a lock', q{SELECT price FROM docs WHERE v @@ 'half' FOR UPDATE} ],
	[ 'a lock of a joined table', q{SELECT d.price FROM docs d JOIN names n USING (price) WHERE d.v @@ 'half' FOR UPDATE OF n} ],
	[ 'a join of an update', q{UPDATE names n SET name = 'x' FROM docs d WHERE d.price = n.price AND d.v @@ 'half'} ],
	[ 'a sample', q{SELECT sum(price) FROM docs TABLESAMPLE BERNOULLI (100) WHERE v @@ 'half'} ],
	[ 'a distance', q{SELECT price, v <@> 'half' FROM docs WHERE v @@ 'half'} ],
	[ 'an update', q{UPDATE docs SET price = price WHERE v @@ 'half'} ],
	[ 'a deletion', q{DELETE FROM docs WHERE v @@ 'half' RETURNING price} ],
	[ 'switched off', q{SELECT sum(price) FROM docs WHERE v @@ 'half'}, 'skipidx.enable_custom_scan' ])
{
	my ($what, $sql, $off) = @$case;

	$s->value("SET $off = off") if $off;
	unlike($s->value("EXPLAIN $sql"), qr/Skipidx Columns/, "not for $what");
	$s->value("RESET $off") if $off;
}

# rights, and rows that a policy hides
$s->value(q{CREATE ROLE reader; GRANT SELECT (v, price) ON docs TO reader; SET ROLE reader});
like($s->raw(q{SELECT sum(small) FROM docs WHERE v @@ 'half'}), qr/42501/, 'a column without SELECT');
isnt($s->value(q{SELECT sum(price) FROM docs WHERE v @@ 'half'}), '', 'a column with SELECT');
$s->value(q{RESET ROLE; ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON docs USING (flag); SET ROLE reader});
my $seen = $s->value(q{SELECT count(*) || ' ' || sum(price::numeric) FROM docs WHERE v @@ 'half'});
is($s->value(q{RESET ROLE; SELECT count(*) || ' ' || sum(price::numeric) FROM docs WHERE v @@ 'half' AND flag}), $seen, 'row-level security');
$s->value(q{ALTER TABLE docs DISABLE ROW LEVEL SECURITY});

# partitions, one of which has its columns in another order, and a table that changes a type
$s->value(q{CREATE TABLE parts (id int, v tsvector, price int, amount numeric(12, 3)) PARTITION BY RANGE (id);
	CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
	CREATE TABLE parts2 (amount numeric(12, 3), gone int, price int, v tsvector, id int); ALTER TABLE parts2 DROP gone;
	ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES FROM (1000) TO (100000);
	INSERT INTO parts SELECT id, v, price, amount FROM docs; CREATE INDEX parts_v ON parts USING skipidx (v, price, amount)});
$s->value('VACUUM ANALYZE parts');
my $parts = q{SELECT price, sum(amount), count(*) FROM parts WHERE v @@ 'half' GROUP BY price ORDER BY price};
like($s->value("SELECT mode('columns') \\g /dev/null\nEXPLAIN $parts;"), qr/Skipidx Columns.*Skipidx Columns/s, 'partitions: by columns alone');
is($s->value($parts), $s->value("SELECT mode('seq') \\g /dev/null\n$parts;\nSELECT mode('columns') \\g /dev/null\n"), 'partitions');
$s->value(q{ALTER TABLE docs ALTER price TYPE int8, ALTER amount TYPE numeric(14, 3), ALTER whole TYPE numeric});
$s->value('VACUUM docs');
same('types that have changed', $s, @conditions[0 .. 2]);
$s->value('UPDATE docs SET whole = 1.5 WHERE id % 3 = 0');
$s->value('VACUUM docs');
same('types that have changed, with values', $s, @conditions[0 .. 2]);

# SERIALIZABLE: of two that read what the other writes one fails
$s->value('DROP TABLE IF EXISTS pair; CREATE TABLE pair (v tsvector, n int); INSERT INTO pair SELECT \'a\', 1 FROM generate_series(1, 500); CREATE INDEX pair_v ON pair USING skipidx (v, n)');
$s->value('VACUUM ANALYZE pair');
$_->value("SELECT mode('columns'); SET cpu_tuple_cost = 1; BEGIN ISOLATION LEVEL SERIALIZABLE") for $s, $older;
like($s->value(q{EXPLAIN SELECT sum(n) FROM pair WHERE v @@ 'a'}), qr/Skipidx Columns/, 'SERIALIZABLE: by columns alone');
is($_->value(q{SELECT sum(n) FROM pair WHERE v @@ 'a'}), 500, 'SERIALIZABLE: a sum') for $s, $older;
$_->value(q{INSERT INTO pair VALUES ('a', 1)}) for $s, $older;
$s->value('COMMIT');
like($older->raw('COMMIT'), qr/40001/, 'SERIALIZABLE: one of two fails');
$older->raw('ROLLBACK');

# a segment is replaced between the view and the map: deleted bits are in the new one
$s->value(q{CREATE TABLE replaced (id int, v tsvector, n int) WITH (autovacuum_enabled = off); INSERT INTO replaced SELECT i, 'a', 1 FROM generate_series(1, 20000) i;
	CREATE INDEX replaced_v ON replaced USING skipidx (v, n) WITH (pending_limit = '1GB')});
$s->value("INSERT INTO replaced VALUES (0, 'b', 1); SELECT skipidx_flush('replaced_v')");
$s->value('VACUUM ANALYZE replaced');
$s->value('DELETE FROM replaced WHERE id % 10 = 3');
$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock('count_whole') . ')');
$older->value("SELECT mode('columns'); SET skipidx.fault = 'count_whole:wait'");
like($older->value(q{EXPLAIN SELECT sum(n) FROM replaced WHERE v @@ 'a'}), qr/Skipidx Columns/, 'a segment that is replaced: by columns alone');
$older->start(q{SELECT sum(n) FROM replaced WHERE v @@ 'a'});
$node->poll_query_until('d', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
$s->value("SELECT skipidx_merge('replaced_v', 1)");
$s->value('VACUUM replaced');
$s->value('SELECT pg_advisory_unlock_all()');
is($older->finish, 18000, 'a segment that is replaced: its dead rows are not passed');
$older->value("SET skipidx.fault = ''");

# by several processes
$s->value(q{CREATE TABLE many (id int, v tsvector, n int, amount numeric(10, 2)) WITH (autovacuum_enabled = off);
	INSERT INTO many SELECT i, ('w' || i % 3)::tsvector, i % 100, i / 100.0 FROM generate_series(1, 150000) i;
	CREATE INDEX many_v ON many USING skipidx (v, n, amount) WITH (pending_limit = '1GB')});
$s->value('VACUUM ANALYZE many');
$s->value(q{INSERT INTO many SELECT i, 'w1', 7, 1 FROM generate_series(1, 3000) i; DELETE FROM many WHERE id % 1000 = 5});
$s->value('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0; SET cpu_operator_cost = 1');
for my $leads ('on', 'off')
{
	$s->value("SET parallel_leader_participation = $leads");
	for my $sql (q{SELECT count(*), sum(n), avg(amount) FROM many WHERE v @@ 'w1 | w2'}, q{SELECT n, sum(amount) FROM many WHERE v @@ 'w1' GROUP BY n ORDER BY n},
		q{SELECT n FROM many WHERE v @@ 'w2' ORDER BY n % 7, amount LIMIT 100})
	{
		like($s->value("EXPLAIN (ANALYZE, COSTS OFF) $sql"), qr/Gather.*Parallel Custom Scan \(Skipidx Columns\)/s, "several processes, leader $leads: $sql");
		is($s->value($sql), $s->value("SELECT mode('seq') \\g /dev/null\n$sql;\nSELECT mode('columns') \\g /dev/null\n"), "several processes, leader $leads: its rows");
	}
	is($s->value(q{SELECT count(*) FROM (SELECT n FROM many WHERE v @@ 'w1' OFFSET 0 LIMIT 10) x}), 10, "several processes, leader $leads: an early end");
}
is($s->value('SELECT pinned FROM skipidx_cache()'), 0, 'several processes: nothing stays pinned');

# cancelled, and with an error in the middle
like($s->raw(q{SELECT sum(1 / (n - 50)) FROM many WHERE v @@ 'w1'}), qr/22012/, 'an error in the middle');
is($s->value('SELECT pinned FROM skipidx_cache()'), 0, 'an error in the middle: nothing stays pinned');

# on a standby
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('columns_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
my $r = skx_session($standby, 'd');
$r->value('SET cpu_tuple_cost = 1; SET max_parallel_workers_per_gather = 0');
same('a standby', $r, @conditions[0 .. 2]);
unlike(slurp_file($_->logfile), qr/leak|PANIC|TRAP/, 'nothing in the log') for $node, $standby;

$_->close for $s, $older, $r;
$standby->stop;
$node->stop;
done_testing();
