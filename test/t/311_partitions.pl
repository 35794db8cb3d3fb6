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
use SkipidxMatrix;
use SkipidxTest qw(skx_session);
use Test::More;

my $m = SkipidxMatrix->new('partitions', seed => 311, conf => "skipidx.cache_size = 4MB\nskipidx.max_workers = 0", partitions => 1, columns => [qw(tenant category price loose tags part)],
	exprs => ', lower(category)', bare => 0.7, text => 0.9, disjunctions => 0.1, explain => '', tuple_cost => 5, by_index => { groups => 0.25, count => 0.25, columns => 0 });
my ($node, $s) = ($m->node, $m->session);

# ---- states ----

my $leaves = q{(SELECT i AS relid FROM indexes('docs_skx') i) l};

# Beside what the matrix has: what the functions tell is the sum of what they tell of
# each partition.
sub differ
{
	my ($what, $stride, $on) = @_;
	my $at = $on // $s;
	my $r = $m->state($what, $stride, on => $on, by_index => { groups => $what =~ /vacuumed|merged|tached/ ? 0.7 : 0.25 });

	is($at->value("SELECT string_agg(x::text, ' ') FROM skipidx_terms('docs_skx', max_rows => 1000) x"),
		$at->value("SELECT string_agg(x::text, ' ') FROM (SELECT term, sum(df)::int8, sum(tf)::int8 FROM $leaves, skipidx_terms(relid, max_rows => 100000) GROUP BY 1 ORDER BY 2 DESC, term COLLATE \"C\" LIMIT 1000) x"),
		"$what: terms");
	is($at->value("SELECT string_agg(q || ' ' || skipidx_count('docs_skx', q::tsquery, true), ',' ORDER BY q) FROM unnest('{wa,wa & wb,!wa,nosuch}'::text[]) q"),
		$at->value("SELECT string_agg(q || ' ' || n, ',' ORDER BY q) FROM (SELECT q, sum(skipidx_count(relid, q::tsquery, true)) AS n FROM $leaves, unnest('{wa,wa & wb,!wa,nosuch}'::text[]) q GROUP BY q) x"),
		"$what: about as many as in all partitions");
	cmp_ok($at->value("SELECT count(DISTINCT s) FROM generate_series(0, $_ - 1) s, pages('docs_skx', '!wa', s, $_, 100)"), '>', 1, "$what: of $_ slices some have rows") for 2, 3, $what =~ /level/ ? () : 5;
	return;
}

sub vacuum { return $s->value('VACUUM docs'); }

is($s->value("SELECT count(*) FROM skipidx_scroll('docs_skx', 'wa')"), 0, 'no rows to scroll');
is($s->value("SELECT skipidx_count('docs_skx', 'wa'), (SELECT count(*) FROM skipidx_facets('docs_skx', 'wa', 'tenant')),"
	  . " (SELECT sum(count) FROM skipidx_histogram('docs_skx', 'wa', 'price', '{1}'::numeric[])), (SELECT count(*) FROM skipidx_terms('docs_skx'))"), '0|0|0|0', 'no rows');
$m->load(1000);
$m->ask($m->long(1000, 120), qw(skipidx_count facets histogram top groups), [qw(rows ranked ordered count columns)]);
$m->ask_always(map { my ($query, $slices, $size) = @$_; [ 'scroll', query => "'$query'", slices => $slices, size => $size ] }
	[ 'wa', 1, 100000 ], [ 'wa & wb', 1, 1 ], [ '!wa', 3, 100 ], [ 'wc', 2, 7 ], [ 'xe1:*', 5, 1 ], [ 'nosuch', 2, 10 ]);
$s->value('ANALYZE docs');
differ('pending', 3);
is($s->value("SELECT string_agg(concat_ws(' ', term, df, tf), ',' ORDER BY term COLLATE \"C\") FROM skipidx_terms('docs_skx', max_rows => 100000)"),
	$s->value("SELECT string_agg(concat_ws(' ', word, ndoc, nentry), ',' ORDER BY word COLLATE \"C\") FROM ts_stat('SELECT v FROM docs')"), 'terms, those of ts_stat');
differ('a segment each', 3);
differ('several and pending', 2);
differ($_, 2) for 'vacuumed', 'deleted and moved', 'vacuumed again', 'merged';
is($s->value('SELECT count(*) FROM indexes()'), 6, 'of six partitions');
$m->beside_older(5);

# ---- partitions that come and go ----

$s->value('ALTER TABLE docs DETACH PARTITION docs1');
differ('one detached', 3);
$s->value("ALTER TABLE docs2 DETACH PARTITION docs2c; ALTER TABLE docs ATTACH PARTITION docs1 FOR VALUES IN (1, 7)");
differ('one attached, another detached', 3);
$s->value("ALTER TABLE docs2 ATTACH PARTITION docs2c DEFAULT; ALTER TABLE docs DETACH PARTITION docs2; CREATE TABLE docs9 (LIKE docs);"
	  . ' INSERT INTO docs9 SELECT id + 10000, kind, v, tenant, category, price, loose, tags, 9 FROM docs WHERE id % 3 = 0; ALTER TABLE docs ATTACH PARTITION docs9 FOR VALUES IN (9)');
differ('a whole level detached', 3);
$s->value('ALTER TABLE docs ATTACH PARTITION docs2 FOR VALUES IN (2, 3)');
differ('all of them', 3);

# one that is being detached is gone for who sees it go
{
	my ($old, $other) = map { skx_session($node, 'd') } 1 .. 2;
	my $rows = $s->value("SELECT count(*) FROM docs WHERE v @@ 'wa'");

	$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($old->value("SELECT count(*) FROM docs WHERE v @@ 'wa'"), $rows, 'before');
	$other->start('ALTER TABLE docs DETACH PARTITION docs9 CONCURRENTLY');
	$node->poll_query_until('d', "SELECT EXISTS (SELECT FROM pg_inherits WHERE inhdetachpending)");
	is($old->value("SELECT skipidx_count('docs_skx', 'wa')"), $rows, 'being detached: still there for who saw it');
	is($s->value("SELECT skipidx_count('docs_skx', 'wa')"), $s->value("SELECT count(*) FROM docs WHERE v @@ 'wa'"), 'being detached: gone for others');
	isnt($s->value("SELECT skipidx_count('docs_skx', 'wa')"), $rows, 'these are other rows');
	$old->value('COMMIT');
	is($other->finish, '', 'detached');
	$_->close for $old, $other;
}
$s->value('DROP TABLE docs9');

# all are locked until the transaction ends
is($s->value("BEGIN; SELECT skipidx_count('docs_skx', 'nosuch') \\g /dev/null\nSELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'AccessShareLock'"
	  . " AND relation IN (SELECT relid FROM pg_partition_tree('docs') UNION SELECT relid FROM $leaves);\nCOMMIT;\n"), 15, 'tables and indexes are locked');

# ---- rights: those on the table that is named, as in a query on it ----

my @slices = map { [ split /\|/, $_, -1 ] } split /\n/, $s->value("SELECT * FROM skipidx_slices('docs_skx', 'price', 3)");
is($s->value('SELECT sum(n) FROM (VALUES ' . join(', ', map { '((SELECT count(*) FROM docs WHERE ' . join(' AND ', 'price IS NOT NULL', $_->[1] ne '' ? "price >= $_->[1]" : (), $_->[2] ne '' ? "price < $_->[2]" : ()) . '))' } @slices[ 0 .. 2 ])
	  . ') x (n)'), $s->value('SELECT count(price) FROM docs'), 'slices of a column of all partitions');
my @calls = ("skipidx_slices('docs_skx', 'price', 3)", "skipidx_scroll('docs_skx', 'wa')", "skipidx_count('docs_skx', 'wa')", "skipidx_count('docs_skx', 'wa', true)", "skipidx_facets('docs_skx', 'wa', 'loose')",
	"skipidx_histogram('docs_skx', 'wa', 'tenant', '{1}'::int[])", "skipidx_terms('docs_skx')");

$s->value('CREATE ROLE reader; GRANT SELECT ON docs0, docs1, docs2, docs2a, docs2b, docs2c, docs4, docs5 TO reader');
like($s->raw("SET ROLE reader; SELECT $_"), qr/42501: permission denied for table docs$/m, "$_: without SELECT") for @calls;
$s->value('RESET ROLE; REVOKE SELECT ON docs0, docs1, docs2, docs2a, docs2b, docs2c, docs4, docs5 FROM reader; GRANT SELECT ON docs TO reader');
for my $call (@calls)
{
	my $want = $s->value("SELECT string_agg(x::text, ',') FROM $call x");

	is($s->value("SET ROLE reader; SELECT string_agg(x::text, ',') FROM $call x"), $want, "$call: by the rights of the table");
	$s->value('RESET ROLE');
}
$s->value('ALTER TABLE docs0 ENABLE ROW LEVEL SECURITY');
is($s->value("SET ROLE reader; SELECT skipidx_count('docs_skx', 'wa') = (SELECT count(*) FROM docs WHERE v @@ 'wa')"), 't', 'policies of a partition apply to queries on it only');
$s->value('RESET ROLE; ALTER TABLE docs0 DISABLE ROW LEVEL SECURITY; ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON docs USING (tenant = 1)');
like($s->raw("SET ROLE reader; SELECT $_"), qr/42501: row-level security applies to table "docs"/, "$_: row-level security") for @calls;
$s->value('RESET ROLE; DROP POLICY own ON docs; ALTER TABLE docs DISABLE ROW LEVEL SECURITY');

# ---- what is refused ----

$s->value('CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;'
	  . ' CREATE FOREIGN TABLE away (id int NOT NULL, kind text, v tsvector, tenant int, category text, price numeric(8, 2), loose numeric, tags text[], part int NOT NULL) SERVER nowhere;'
	  . ' ALTER TABLE docs ATTACH PARTITION away FOR VALUES IN (8)');
like($s->raw("SELECT $_"), qr/55000: partition "away" has no valid index that is a partition of index "docs_skx".*foreign table.*HINT/s, "$_: a foreign table") for @calls;
$s->value('ALTER TABLE docs DETACH PARTITION away');
$s->value("UPDATE pg_index SET indisvalid = false WHERE indrelid = 'docs2b'::regclass");
like($s->raw("SELECT $_"), qr/55000: partition "docs2b" has no valid index that is a partition of index "docs_skx".*HINT/s, "$_: an index that is not valid") for @calls;
$s->value("UPDATE pg_index SET indisvalid = true WHERE indrelid = 'docs2b'::regclass");
$s->value('CREATE INDEX half_skx ON ONLY docs USING skipidx (v); CREATE INDEX half0_skx ON docs0 USING skipidx (v); ALTER INDEX half_skx ATTACH PARTITION half0_skx');
like($s->raw("SELECT skipidx_count('half_skx', 'wa')"), qr/55000: index "half_skx" is not valid.*HINT.*ATTACH PARTITION/s, 'not all partitions have an index');
$s->value('DROP INDEX half_skx');
like($s->raw("SELECT skipidx_search('docs_skx', 'wa', 3)"), qr/42809: index "docs_skx" is partitioned.*HINT/s, 'places of rows');
like($s->raw("SELECT skipidx_facets('docs_skx', 'wa', 'nosuch')"), qr/42703/, 'no such column');
differ('as before', 3);

# ---- where a scroll goes on ----

# one snapshot in several sessions, while rows move, and all is merged and vacuumed
{
	my $holder = skx_session($node, 'd');
	my $snapshot = $holder->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
	my $want = $holder->value("SELECT count(*), sum(id) FROM docs WHERE v @@ 'wa'");
	my ($count, $sum, $rounds, $left) = (0, 0, 0, 2);
	my @after = ('NULL') x 2;

	while ($left > 0)
	{
		for my $slice (grep { defined $after[$_] } 0 .. 1)
		{
			my $page = skx_session($node, 'd');
			my ($n, $total, $token) = split /\|/, $page->value("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot';"
				  . " SELECT count(*), sum(d.id), max(s.token::text) FROM skipidx_scroll('docs_skx', 'wa', $slice, 2, $after[$slice], 40) s JOIN docs d ON d.tableoid = s.tableoid AND d.ctid = s.ctid");

			$page->close;
			$count += $n;
			$sum += $total || 0;
			$after[$slice] = $n == 40 ? "'$token'" : undef;
			$left-- if !defined $after[$slice];
		}
		$s->value('UPDATE docs SET part = (part + 1) % 4 WHERE id % 5 = ' . $rounds % 5);
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
my @tables = map { [ split /\|/ ] } split /\n/, $s->value("SELECT tableoid, tableoid::regclass, count(*) FROM skipidx_scroll('docs_skx', 'wa', max_rows => 100000) GROUP BY 1 ORDER BY 1");

cmp_ok(scalar(@tables), '>', 3, 'partitions with rows');

sub token
{
	my ($table, $n) = @_;

	return $s->value("SELECT token FROM skipidx_scroll('docs_skx', 'wa', max_rows => 100000) WHERE tableoid = $table->[0] ORDER BY token OFFSET $n LIMIT 1");
}

# rows behind the token, by table
sub behind
{
	my ($token) = @_;

	return join ' ', split /\n/, $s->raw("SELECT tableoid::regclass || ' ' || count(*) FROM skipidx_scroll('docs_skx', 'wa', after => '$token', max_rows => 100000) GROUP BY tableoid ORDER BY tableoid");
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
$s->value("CREATE TABLE docs6 PARTITION OF docs FOR VALUES IN (6); INSERT INTO docs SELECT id + 20000, kind, v, tenant, category, price, loose, tags, 6 FROM docs0 WHERE v @@ 'wa'");
like(behind($in), qr/^$tables[1][1] $rest $others docs6 \d+$/, 'another one: it comes last');
$s->value('DROP TABLE docs6');
like($s->raw("SELECT * FROM skipidx_scroll((SELECT i.inhrelid FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid WHERE x.indrelid = $tables[1][0] LIMIT 1), 'wa', after => '$in')"),
	qr/22023.*another index/s, 'of the index of a partition: another index');
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'wb', after => '$in')"), qr/22023.*another query/s, 'another query');
like($s->raw("SELECT * FROM skipidx_scroll('docs_skx', 'wa', 1, 2, '$in')"), qr/22023.*another slice/s, 'another slice');
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

# set: a setting, or a way of the matrix.
sub both
{
	my ($what, $statement, $is, $set) = @_;
	my ($name) = ($set // '') =~ /^SET (\S+)/;

	$s->value($set) if $name;
	my $plan = $m->both($what, $statement, $is || undef, qr/Skipidx Facets/, $name ? 'index' : $set);
	$s->value("RESET $name") if $name;
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
INSERT INTO older SELECT id, v, tenant, tenant FROM docs WHERE id % 2 = 0;
INSERT INTO heir SELECT 1, tenant, v, id, tenant FROM docs WHERE id % 2 = 1;
INSERT INTO heirless SELECT 1, tenant, v, id, tenant, 2 FROM docs WHERE id % 5 = 1;
CREATE INDEX older_skx ON older USING skipidx (v, tenant, more);
CREATE INDEX heir_skx ON heir USING skipidx (v, more, tenant);
VACUUM ANALYZE older, heir, heirless;
SQL
both('heirs, one without an index', "SELECT tenant, count(*) FROM older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0);
$s->value('CREATE INDEX heirless_skx ON heirless USING skipidx (v, tenant)');
$s->value('ANALYZE docs');
both(@$_) for (
	[ 'all', "SELECT tenant, count(*), count(tenant) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'ORDER BY count, LIMIT', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY count(*) DESC, tenant LIMIT 3", $several ],
	[ 'HAVING', "SELECT tenant FROM docs WHERE v @@ 'wa' GROUP BY tenant HAVING count(*) > 60 AND count(tenant) > 1 ORDER BY 1", $several ],
	[ 'HAVING of the value', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant HAVING tenant > 3 ORDER BY 1", $several ],
	[ 'expressions', "SELECT tenant * 2, 'x', count(*) + count(kind) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'expressions of counts', "SELECT tenant * 2, 'x', count(*) + count(1) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'no count', "SELECT tenant FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'only counts', "SELECT count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'a window', "SELECT tenant, rank() OVER (ORDER BY count(*), tenant) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 2", $several ],
	[ 'a join of groups', "SELECT g.tenant, n FROM (SELECT tenant, count(*) AS n FROM docs WHERE v @@ 'wa' GROUP BY tenant) g JOIN (VALUES (1), (2)) x (tenant) USING (tenant) ORDER BY 1", $several ],
	[ 'correlated', "SELECT string_agg((SELECT string_agg(x::text, ' ' ORDER BY x) FROM (SELECT tenant, count(*) FROM docs WHERE v @@ q AND docs.part = p GROUP BY tenant) x), ',')"
		  . " FROM (VALUES ('wa'::tsquery, 1), ('wb', 2), (NULL, 3), ('wa', NULL), ('nosuch', 0), ('wc', 4)) y (q, p)", $any ],
	[ 'some partitions', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' AND part IN (1, 2) GROUP BY tenant ORDER BY 1", $several ],
	[ 'one partition', "SELECT tenant, count(*), count(tenant) FROM docs WHERE v @@ 'wa' AND part = 1 GROUP BY tenant HAVING count(*) > 2 ORDER BY 1", $alone ],
	[ 'no partition', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' AND part = 5 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'the key', "SELECT part, count(*) FROM docs WHERE v @@ 'wa' GROUP BY part ORDER BY 1", $several ],
	[ 'by partitions', "SELECT part, count(*) FROM docs WHERE v @@ 'wa' GROUP BY part ORDER BY 1", $several, 'SET enable_partitionwise_aggregate = on' ],
	[ 'no hashing', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0, 'sorted' ],
	[ 'DISTINCT of it', "SELECT DISTINCT count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'another aggregate', "SELECT tenant, count(*), max(id) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'FILTER', "SELECT tenant, count(*) FILTER (WHERE id > 9) FROM docs WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", 0 ],
	[ 'a filter', "SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' AND id % 2 = 0 GROUP BY tenant ORDER BY 1", 0 ],
	[ 'an array', "SELECT tags, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tags ORDER BY 1", 0 ],
	[ 'the table of a row', "SELECT tableoid::regclass::text, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tableoid ORDER BY 1", 0 ],
	[ 'a sub-partitioned one', "SELECT tenant, count(*) FROM docs2 WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'heirs', "SELECT tenant, count(*), count(tenant) FROM older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $several ],
	[ 'not the heirs', "SELECT tenant, count(*) FROM ONLY older WHERE v @@ 'wa' GROUP BY tenant ORDER BY 1", $alone ],
	[ 'values without a hash', "SELECT more, count(*) FROM older WHERE v @@ 'wa' GROUP BY more ORDER BY 1", 0 ],
	[ 'these, of one table', "SELECT more, count(*) FROM ONLY older WHERE v @@ 'wa' GROUP BY more ORDER BY 1", $alone ]);
both('several processes', "SELECT tenant, count(*), count(tenant) FROM docs WHERE v @@ 'wa' GROUP BY tenant HAVING count(*) > 9 ORDER BY 1", qr/Finalize HashAggregate.*Gather.*Parallel Custom Scan \(Skipidx Facets\)/s, 'index 2');
both('several processes, again and again', "SELECT string_agg((SELECT string_agg(x::text, ' ' ORDER BY x) FROM (SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' AND tenant > t GROUP BY tenant) x), ',') FROM generate_series(1, 9) t", qr/Skipidx Facets/, 'index 2');
# groups that do not fit into memory are gathered again for each row outside
$s->value("CREATE TABLE wide (v tsvector, n int) PARTITION BY HASH (n); CREATE TABLE wide0 PARTITION OF wide FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
	  . " CREATE TABLE wide1 PARTITION OF wide FOR VALUES WITH (MODULUS 2, REMAINDER 1); INSERT INTO wide SELECT 'wa', i % 6000 FROM generate_series(1, 20000) i; CREATE INDEX wide_skx ON wide USING skipidx (v, n)");
$s->value("VACUUM ANALYZE $_") for 'wide0', 'wide1';
$s->value("SET work_mem = '64kB'; SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off");
both('several processes, several times', "SELECT g, count(*), sum(c), sum(n) FROM generate_series(1, 3) g LEFT JOIN (SELECT n, count(*) AS c FROM wide WHERE v @@ 'wa' GROUP BY n) s ON true GROUP BY g ORDER BY g",
	qr/Gather.*Skipidx (Facets|Columns)/s, 'index 2');
$s->value("RESET work_mem; RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_memoize");
both('several processes, heirs', "SELECT tenant, count(*) FROM older WHERE v @@ '!wa' GROUP BY tenant ORDER BY 1", qr/Gather.*Skipidx Facets/s, 'index 2');
$s->value("PREPARE groups (tsquery, int) AS SELECT tenant, count(*) FROM docs WHERE v @@ \$1 AND docs.part = \$2 GROUP BY tenant ORDER BY 1; SET plan_cache_mode = force_generic_plan");
for my $arguments (q{'wa', 1}, q{'wb', 2}, q{NULL, 1}, q{'wa', NULL}, q{'!wa', 3}, q{'wa', 77})
{
	my ($q, $p) = split /, /, $arguments;

	is($m->by('index', "EXECUTE groups ($arguments)"), $m->by('seq', "SELECT tenant, count(*) FROM docs WHERE v @@ $q AND docs.part = $p GROUP BY tenant ORDER BY 1"), "a generic plan: $arguments");
}
like($m->by('index', "EXPLAIN EXECUTE groups ('wa', 1)"), $any, 'a generic plan');
$s->value('RESET plan_cache_mode');
$s->value("ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON docs USING (tenant = 1)");
is($m->by('index', "SET ROLE reader; SELECT count(*), min(tenant), max(tenant) FROM (SELECT tenant, count(*) FROM docs WHERE v @@ 'wa' GROUP BY tenant) x;\n"), '1|1|1', 'row-level security');
$s->value("RESET ROLE; DROP POLICY own ON docs; ALTER TABLE docs DISABLE ROW LEVEL SECURITY");

# ---- a crash, a standby, and rows that move ----

$m->state('crashed', 3);
$s = $m->session;
vacuum();

my $there = $m->standby;
my $standby = $m->{standbys}[0];
$m->load(60);
$s->value("DELETE FROM docs WHERE id % 13 = 7");
$s->value("SELECT skipidx_flush(relid) FROM $leaves WHERE relid::text LIKE 'docs2%'");
$m->caught_up;
differ('standby', 3, $there);
{
	my ($token, $left) = split /\|/, $s->value("SELECT token, count(*) OVER () - row_number() OVER () FROM skipidx_scroll('docs_skx', 'wa', max_rows => 100000) ORDER BY token OFFSET 77 LIMIT 1");

	$m->caught_up;
	is($there->value("SELECT count(*) FROM skipidx_scroll('docs_skx', 'wa', after => '$token', max_rows => 100000)"), $left, 'standby: a token of the primary');
}
$s->value("CREATE UNLOGGED TABLE docs8 PARTITION OF docs FOR VALUES IN (8)");
$m->caught_up;
like($there->raw("SELECT skipidx_count('docs_skx', 'wa')"), qr/55000: cannot access unlogged indexes during recovery/, 'standby: a partition without rows there');
$s->value("DROP TABLE docs8");

$m->churn($m->long(60, 6), $there, skx_session($node, 'd'));
differ('in the end', 3);
done_testing();
