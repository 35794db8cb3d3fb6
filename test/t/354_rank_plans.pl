# One value in every plan: under one snapshot the distance of a row to a query
# is the same to the last bit however it is asked for, while statistics move
# under another session's writes.  And who may not see a row learns nothing of
# it from ranked scans.
#
# Holds: functions 2; plan 5, 9; score 1, 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('rank_plans', conf => 'max_parallel_workers = 4');
my ($s, $writer) = map { skx_session($node, 'postgres') } 1 .. 2;

# The same rows three times: a stored column, an expression, partitions; so
# that statistics are the same, too.
$writer->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION words(seed int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg('w' || floor(exp((hashint4(seed * 37 + p) & 65535) / 65536.0 * 5) - 1)::int, ' ' ORDER BY p)
	FROM generate_series(1, 3 + (hashint4(seed) & 15)) p
$$;
CREATE TABLE docs (id int PRIMARY KEY, lang text, body text, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE parts (id int, lang text, body text, v tsvector) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (500) WITH (autovacuum_enabled = off);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (500) TO (1500) PARTITION BY HASH (id);
CREATE TABLE parts_2a PARTITION OF parts_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_2b PARTITION OF parts_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE parts_3 PARTITION OF parts DEFAULT WITH (autovacuum_enabled = off);
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, CASE WHEN i % 3 = 0 THEN 'de' ELSE 'en' END, words(i), to_tsvector('simple', words(i))
	FROM generate_series(first, first + n - 1) i;
	INSERT INTO parts SELECT * FROM docs WHERE id BETWEEN first AND first + n - 1;
$$;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB');
CREATE INDEX docs_b ON docs USING skipidx (to_tsvector('simple', body)) WITH (pending_limit = '1GB');
CREATE INDEX parts_v ON parts USING skipidx (v);
SELECT add(1, 1500);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT skipidx_flush('docs_b') \g /dev/null
SELECT skipidx_flush('parts_1_v_idx') \g /dev/null
SELECT add(1501, 300);
CREATE TABLE side AS SELECT id, id % 10 AS k FROM docs;
CREATE UNIQUE INDEX side_id ON side (id);
CREATE VIEW seen AS SELECT id, v FROM docs;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, v FROM docs WHERE lang = 'en';
ANALYZE docs; ANALYZE parts; ANALYZE side;
SQL

my %off = map { $_ => "SET LOCAL enable_$_ = off;" } qw(seqscan indexscan bitmapscan sort nestloop hashjoin mergejoin);
my $index = "$off{seqscan} $off{bitmapscan} $off{sort}";
my $seq = "$off{indexscan} $off{bitmapscan}";

# Each gives (id, d); Q is the query, as a literal.  Settings come first.
# Third: what the plan must have.
my @forms = (
	[ 'index scan', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		"$index SET LOCAL skipidx.enable_custom_scan = off;", qr/^(?!.*Custom).*Index Scan using docs_v/s ],
	[ 'custom scan', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		$index, qr/Custom Scan.*Index Scan using docs_v/s ],
	[ 'bitmap', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		"$off{seqscan} $off{indexscan}", qr/Sort.*Bitmap Heap Scan on docs/s ],
	[ 'no order', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q', $seq, qr/Seq Scan on docs/ ],
	[ 'no order, bitmap', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q',
		"$off{seqscan} $off{indexscan}", qr/Bitmap Heap Scan on docs/ ],
	[ 'parallel', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q',
		"$seq SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL parallel_setup_cost = 0;"
		  . ' SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0;', qr/Gather.*Parallel Seq Scan on docs/s ],
	[ 'expression, seq', "SELECT id, to_tsvector('simple', body) <\@> Q AS d FROM docs WHERE v \@\@ Q", $seq, qr/Seq Scan on docs/ ],
	[ 'expression, index', "SELECT id, to_tsvector('simple', body) <\@> Q AS d FROM docs WHERE to_tsvector('simple', body) \@\@ Q"
		  . " ORDER BY to_tsvector('simple', body) <\@> Q LIMIT 100000", $index, qr/Index Scan using docs_b/ ],
	[ 'partitions, seq', 'SELECT id, v <@> Q AS d FROM parts WHERE v @@ Q', $seq, qr/Append.*Seq Scan on parts_2b/s ],
	[ 'partitions, index', 'SELECT id, v <@> Q AS d FROM parts WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		$index, qr/Merge Append.*Index Scan using parts_2a_v_idx/s ],
	[ 'partitions, bitmap', 'SELECT id, v <@> Q AS d FROM parts WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		"$off{seqscan} $off{indexscan}", qr/Bitmap Index Scan on parts_2a_v_idx/ ],
	[ 'two columns', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q, id LIMIT 100000',
		'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;' ],
	[ 'subquery', 'SELECT id, v <@> Q AS d FROM (SELECT id, v FROM docs OFFSET 0) x WHERE v @@ Q' ],
	[ 'subquery that ranks', 'SELECT id, d FROM (SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000) x ORDER BY id', $index ],
	[ 'CTE', 'WITH x AS MATERIALIZED (SELECT id, v FROM docs) SELECT id, v <@> Q AS d FROM x WHERE v @@ Q' ],
	[ 'CTE twice', 'WITH x AS (SELECT id, v FROM docs) SELECT a.id, a.v <@> Q AS d FROM x a JOIN x b USING (id) WHERE b.v @@ Q' ],
	[ 'CTE in line', 'WITH x AS NOT MATERIALIZED (SELECT id, v FROM docs) SELECT id, v <@> Q AS d FROM x WHERE v @@ Q ORDER BY v <@> Q', $index ],
	[ 'view', 'SELECT id, v <@> Q AS d FROM seen WHERE v @@ Q ORDER BY v <@> Q', $index, qr/Index Scan using docs_v/ ],
	[ 'view of views', 'SELECT id, v <@> Q AS d FROM (SELECT * FROM seen) x WHERE v @@ Q' ],
	[ 'nested loop', 'SELECT id, v <@> Q AS d FROM docs JOIN side USING (id) WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000',
		"$index $off{hashjoin} $off{mergejoin}", qr/Nested Loop.*Index Scan using docs_v/s ],
	[ 'hash join', 'SELECT id, v <@> Q AS d FROM side JOIN docs USING (id) WHERE v @@ Q ORDER BY v <@> Q',
		"$off{nestloop} $off{mergejoin}", qr/Hash Join/ ],
	[ 'merge join', 'SELECT id, v <@> Q AS d FROM side JOIN docs USING (id) WHERE v @@ Q', "$off{nestloop} $off{hashjoin}", qr/Merge Join/ ],
	[ 'outer join', 'SELECT docs.id, v <@> Q AS d FROM side LEFT JOIN docs ON docs.id = side.id AND v @@ Q WHERE docs.id IS NOT NULL OR side.id < 0' ],
	[ 'nullable side', 'SELECT id, d FROM (SELECT docs.id, v <@> Q AS d FROM side LEFT JOIN docs ON docs.id = side.id AND v @@ Q) x WHERE id IS NOT NULL ORDER BY d' ],
	[ 'GROUP BY', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q GROUP BY id, v ORDER BY v <@> Q' ],
	[ 'GROUP BY the value', 'SELECT unnest(array_agg(id)) AS id, v <@> Q AS d FROM docs WHERE v @@ Q GROUP BY v <@> Q' ],
	[ 'GROUP BY the column', 'SELECT unnest(array_agg(id)) AS id, v <@> Q AS d FROM docs WHERE v @@ Q GROUP BY v' ],
	[ 'DISTINCT', 'SELECT DISTINCT id, v <@> Q AS d FROM docs WHERE v @@ Q' ],
	[ 'window', 'SELECT id, min(v <@> Q) OVER (PARTITION BY id) AS d FROM docs WHERE v @@ Q' ],
	[ 'aggregate', 'SELECT id, max(v <@> Q) AS d FROM docs JOIN side USING (id) WHERE v @@ Q GROUP BY id' ],
	[ 'UNION ALL', 'SELECT id, v <@> Q AS d FROM (SELECT id, v FROM docs WHERE id % 2 = 0 UNION ALL SELECT id, v FROM docs WHERE id % 2 = 1) x WHERE v @@ Q' ],
	[ 'union of scores', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q AND id < 700 UNION SELECT id, v <@> Q FROM docs WHERE v @@ Q AND id >= 700' ],
	[ 'query in FROM', "SELECT id, v <\@> q AS d FROM docs, CAST(Q AS tsquery) q WHERE v \@\@ q ORDER BY v <\@> q" ],
	[ 'query by a function in FROM', "SELECT id, v <\@> q AS d FROM docs, to_tsquery('simple', U) q WHERE v \@\@ q ORDER BY v <\@> q" ],
	[ 'query in a subquery', "SELECT id, v <\@> (SELECT to_tsquery('simple', U)) AS d FROM docs WHERE v \@\@ (SELECT to_tsquery('simple', U))"
		  . " ORDER BY v <\@> (SELECT to_tsquery('simple', U)) LIMIT 100000", $index, qr/Index Scan using docs_v/ ],
	[ 'stable query', "SELECT id, v <\@> to_tsquery(U) AS d FROM docs WHERE v \@\@ Q ORDER BY v <\@> to_tsquery(U) LIMIT 100000",
		"$index SET LOCAL default_text_search_config = simple;", qr/Index Scan using docs_v/ ],
	[ 'LATERAL', 'SELECT id, d FROM (VALUES (Q)) q(q), LATERAL (SELECT id, v <@> q.q AS d FROM docs WHERE v @@ q.q ORDER BY v <@> q.q LIMIT 100000) x', $index ],
	[ 'LATERAL, correlated', 'SELECT x.id, x.d FROM side, LATERAL (SELECT id, v <@> Q AS d FROM docs WHERE docs.id = side.id AND v @@ Q OFFSET 0) x' ],
	[ 'scalar subquery', 'SELECT id, (SELECT o.v <@> Q) AS d FROM docs o WHERE v @@ Q' ],
	[ 'correlated subquery', 'SELECT id, (SELECT i.v <@> Q FROM docs i WHERE i.id = o.id) AS d FROM docs o WHERE v @@ Q' ],
	[ 'named index', "SELECT id, v <\@> skipidx_query(Q, 'docs_v') AS d FROM docs WHERE v \@\@ Q" ],
	[ 'named index, ordered', "SELECT id, v <\@> skipidx_query(Q, 'docs_v') AS d FROM docs WHERE v \@\@ Q ORDER BY v <\@> skipidx_query(Q, 'docs_v') LIMIT 100000", $index ],
	[ 'named other index', "SELECT id, v <\@> skipidx_query(Q, 'docs_b') AS d FROM docs WHERE v \@\@ Q" ],
	[ 'in WHERE', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q AND v <@> Q < 0' ],
	[ 'without @@', 'SELECT id, d FROM (SELECT id, v, v <@> Q AS d FROM docs ORDER BY v <@> Q LIMIT 100000) x WHERE v @@ Q', $index, qr/Index Scan using docs_v/ ],
	[ 'both queries', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q, v <@> \'w3\'::tsquery LIMIT 100000' ],
	[ 'prepared', undef, "$index SET LOCAL plan_cache_mode = force_custom_plan;" ],
	[ 'prepared, generic', undef, "$index SET LOCAL plan_cache_mode = force_generic_plan;" ],
	[ 'prepared, generic, seq', undef, "$seq SET LOCAL plan_cache_mode = force_generic_plan;" ],
	[ 'PL/pgSQL', 'SELECT * FROM ranked_by(Q)', $index ],
	[ 'PL/pgSQL, generic', 'SELECT * FROM ranked_by(Q)', "$index SET LOCAL plan_cache_mode = force_generic_plan;" ],
	[ 'function in line', 'SELECT * FROM ranked_in_line(Q)', $index ],

	# Locks are writes, after which the snapshot is another one.
	[ 'locked', 'WITH x AS (SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q ORDER BY v <@> Q LIMIT 100000 FOR SHARE) SELECT * FROM x', $index ]);

$writer->value(<<'SQL');
CREATE FUNCTION ranked_by(q tsquery) RETURNS TABLE (id int, d float4) LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT docs.id, docs.v <@> q FROM docs WHERE docs.v @@ q ORDER BY docs.v <@> q LIMIT 100000;
END $$;
CREATE FUNCTION ranked_in_line(q tsquery) RETURNS TABLE (id int, d float4) LANGUAGE sql STABLE AS $$
	SELECT id, v <@> q FROM docs WHERE v @@ q ORDER BY v <@> q LIMIT 100000
$$;
SQL

sub of_query
{
	my ($sql, $query) = @_;

	$sql =~ s/\bQ\b/'$query'::tsquery/g;
	$sql =~ s/\bU\b/'$query'/g;
	return $sql;
}

# All rows of a form as one text.
sub rows_of
{
	my ($form, $query) = @_;
	my (undef, $sql, $settings) = @$form;
	my $result;

	$s->value('SAVEPOINT form');
	$s->value($settings) if $settings;
	$sql = $sql ? of_query($sql, $query) : "EXECUTE p('$query')";
	$sql = "SELECT string_agg(id || ':' || d, ' ' ORDER BY d, id) FROM ($sql) x" if $sql !~ /^EXECUTE/;
	$result = $s->raw($sql);
	$s->value('ROLLBACK TO form; RELEASE form');
	return $result;
}

sub check_plan
{
	my ($form, $query) = @_;
	my ($name, $sql, $settings, $plan) = @$form;

	return unless $plan;
	$s->value("SAVEPOINT form; $settings");
	like($s->value("EXPLAIN (COSTS OFF) " . of_query($sql, $query)), $plan, "plan: $name");
	$s->value('ROLLBACK TO form; RELEASE form');
	return;
}

$s->value('PREPARE p (tsquery) AS SELECT string_agg(id || $$:$$ || d, $$ $$ ORDER BY d, id)'
	  . ' FROM (SELECT id, v <@> $1 AS d FROM docs WHERE v @@ $1 ORDER BY v <@> $1 LIMIT 100000) x');
my $first = 2000;

for my $query ('w1 | w5', 'w0 & w2', 'w1 <-> w0', 'w0 & !w1', 'w1:*', '(w3 | w7) & w0')
{
	# Statistics are pinned when an index is asked for the first time, as long as
	# the subtransaction lasts in which that is.
	$s->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$s->value($_) for map { of_query($_->[1], $query) . ' LIMIT 1' } grep { $_->[0] =~ /^no order$|, seq$/ && $_->[1] } @forms;
	my $wanted = rows_of([ '', 'SELECT id, v <@> Q AS d FROM docs WHERE v @@ Q', $seq ], $query);
	my $n = () = $wanted =~ /:/g;

	cmp_ok($n, '>', 20, "$query: rows");
	unlike($wanted, qr/ERROR|:-?0( |$)/, "$query: all have a score");

	check_plan($_, $query) for @forms;
	for my $i (0 .. $#forms)
	{
		my $form = $forms[$i];

		if ($i % 5 == 0)
		{
			$writer->value("SELECT add($first, 20); DELETE FROM docs WHERE id = $first + 3;"
				  . " UPDATE docs SET v = v || 'w1:50' WHERE id = $first + 5");
			$first += 20;
		}
		$writer->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n SELECT skipidx_flush('parts_3_v_idx') \\g /dev/null\n"
			  . " SELECT skipidx_merge('docs_v', 1)") if $i == 20;
		is(rows_of($form, $query), $wanted, "$query: $form->[0]");
	}
	$s->value('COMMIT');
	isnt(rows_of_now($query), $wanted, "$query: statistics have moved");
	$writer->value("DELETE FROM docs WHERE id >= 2000; DELETE FROM parts WHERE id >= 2000; VACUUM docs; VACUUM parts");
	$writer->value("SELECT skipidx_merge('$_', 1) \\g /dev/null\n") for qw(docs_v docs_b parts_3_v_idx);
	$writer->value("REINDEX TABLE docs; REINDEX TABLE parts");
}

sub rows_of_now
{
	my ($query) = @_;

	return $s->value("SELECT string_agg(id || ':' || d, ' ' ORDER BY d, id) FROM"
		  . " (SELECT id, v <\@> '$query'::tsquery AS d FROM docs WHERE v \@\@ '$query') x");
}

# ---- another query, or another index, from row to row ----

# What these give is (n, id, d) for each query of `asked`; two of them differ in
# one byte.
$writer->value(<<'SQL');
CREATE TABLE asked (n int, q tsquery);
INSERT INTO asked VALUES (1, 'w1'), (2, 'w2'), (3, 'w1 | w5'), (4, 'w1 & w5'), (5, 'w0 <-> w1'), (6, 'w1:*'), (7, 'w2');
ANALYZE asked;
ALTER INDEX docs_b SET (k1 = 2, b = 0);
CREATE FUNCTION distance_by(v tsvector, q tsquery, index text) RETURNS float4 LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN v <@> skipidx_query(q, index);
END $$;
CREATE FUNCTION distances(which int, q tsquery) RETURNS TABLE (id int, d float4) LANGUAGE plpgsql STABLE AS $$
BEGIN
	FOR id IN SELECT docs.id FROM docs LOOP
		d := (SELECT docs.v <@> q FROM docs WHERE docs.id = distances.id);
		RETURN NEXT;
	END LOOP;
END $$;
SQL

sub by_rows { return $s->value("SELECT string_agg(n || ':' || id || ':' || d, ' ' ORDER BY n, id) FROM ($_[0]) x"); }

my %by;

$s->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
for my $index (qw(docs_v docs_b))
{
	$by{$index} = by_rows(join ' UNION ALL ', map {
			my ($n, $q) = split /\|/, $_, 2;
			"SELECT $n AS n, id, v <\@> skipidx_query(\$\$$q\$\$, '$index') AS d FROM docs"
		} split /\n/, $s->value('SELECT n, q FROM asked'));
}
isnt($by{docs_v}, $by{docs_b}, 'two indexes, two distances');
for my $form (
	[ 'queries inside', 'SELECT n, id, d FROM docs, LATERAL (SELECT n, v <@> q AS d FROM asked OFFSET 0) x' ],
	[ 'rows inside', 'SELECT n, id, d FROM asked, LATERAL (SELECT id, v <@> q AS d FROM docs OFFSET 0) x' ],
	[ 'ranked inside', 'SELECT n, id, d FROM asked, LATERAL (SELECT id, v <@> q AS d FROM docs ORDER BY v <@> q LIMIT 100000) x', $index ],
	[ 'ranked inside, computed', 'SELECT n, id, d FROM asked, LATERAL (SELECT id, v <@> q AS d FROM docs ORDER BY v <@> q LIMIT 100000) x',
		"$index SET LOCAL skipidx.enable_custom_scan = off;" ],
	[ 'cross join', 'SELECT n, id, v <@> q AS d FROM docs, asked' ],
	[ 'scalar subquery', 'SELECT n, id, (SELECT v <@> q) AS d FROM docs, asked' ],
	[ 'one expression', 'SELECT n, id, v <@> CASE n WHEN 1 THEN $$w1$$ WHEN 2 THEN $$w2$$ WHEN 3 THEN $$w1 | w5$$ WHEN 4 THEN $$w1 & w5$$'
		  . ' WHEN 5 THEN $$w0 <-> w1$$ WHEN 6 THEN $$w1:*$$ ELSE $$w2$$ END::tsquery AS d FROM docs, generate_series(1, 7) n' ],
	[ 'aggregate', 'SELECT n, id, min(v <@> q) AS d FROM docs, asked GROUP BY n, id' ],
	[ 'named', "SELECT n, id, v <\@> skipidx_query(q, 'docs_v') AS d FROM docs, asked" ],
	[ 'PL/pgSQL', "SELECT n, id, distance_by(v, q, 'docs_v') AS d FROM docs, asked" ],
	[ 'PL/pgSQL, each row by itself', 'SELECT n, x.* FROM asked, distances(n, q) x' ])
{
	my ($name, $sql, $settings) = @$form;

	$s->value('SAVEPOINT form;' . ($settings // ''));
	ok(by_rows($sql) eq $by{docs_v}, "another query from row to row: $name");
	$s->value('ROLLBACK TO form; RELEASE form');
}

# The same query by one index and the other.
for my $d ('v <@> skipidx_query(q, index)', 'distance_by(v, q, index)')
{
	my $sql = "FROM docs, asked, LATERAL (SELECT index, $d AS d FROM unnest('{docs_v,docs_b}'::text[]) index OFFSET 0) x";

	ok(by_rows("SELECT n, id, d $sql WHERE index = '$_'") eq $by{$_}, "another index from row to row: $d, $_") for qw(docs_v docs_b);
}
$s->value('COMMIT');
$writer->value('ALTER INDEX docs_b RESET (k1, b)');

# ---- rows that a user may not see ----

$writer->value(<<'SQL');
CREATE ROLE joe;
CREATE ROLE ann;
GRANT SELECT ON docs, parts, side TO joe;
GRANT SELECT (id, lang) ON docs TO ann;
GRANT SELECT ON seen, barrier TO ann;
CREATE FUNCTION leak(id int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	PERFORM set_config('leak.ids', current_setting('leak.ids', true) || id || ',', false);
	RETURN true;
END $$;
SQL

# What leak() was shown by the statement: ids that are not of the language.
sub leaked
{
	my ($sql, $settings) = @_;

	$s->value("SET leak.ids = ''; $settings");
	my $n = () = $s->value($sql) =~ /\n/g;
	my @ids = split /,/, $s->value("SHOW leak.ids");

	return ($n + 1, grep { $_ % 3 == 0 } @ids);
}

my $index_now = $index =~ s/LOCAL //gr;
my $ranking = "v <\@> 'w1 | w5'::tsquery";
my $open = $s->value("RESET ALL; SELECT id, $ranking FROM docs WHERE lang = 'en' AND v \@\@ 'w1 | w5' ORDER BY $ranking, id LIMIT 25");

$s->value('SET ROLE ann');
like($s->raw("SELECT id, $ranking FROM docs ORDER BY $ranking LIMIT 3"), qr/ERROR:  42501/, 'a column that may not be read');
like($s->raw("SELECT id FROM docs ORDER BY v <\@> skipidx_query('w1', 'docs_v') LIMIT 3"), qr/ERROR:  42501/, 'nor by a named index');
for my $call (q{skipidx_search('docs_v', 'w1')}, q{skipidx_bm25('docs_v', 'w1', 'w1')},
	q{skipidx_proximity('docs_v', 'w1', 'w1')}, q{skipidx_explain_score('docs_v', '(0,1)', 'w1')})
{
	like($s->raw("SELECT count(*) FROM $call"), qr/ERROR:  42501/, "$call: a column that may not be read");
}
for my $settings ($index_now, 'RESET ALL')
{
	my ($n, @leaked) = leaked("SELECT id, $ranking FROM barrier WHERE leak(id) AND v \@\@ 'w1 | w5' ORDER BY $ranking LIMIT 25", $settings);

	is("@leaked", '', 'security_barrier view: no row behind it is shown');
	is($n, 25, 'security_barrier view: rows');
	is($s->value("SELECT id, $ranking FROM barrier WHERE v \@\@ 'w1 | w5' ORDER BY $ranking, id LIMIT 25"), $open,
		"security_barrier view: rows of its owner's table");
	is($s->value("SELECT count(*) FROM (SELECT $ranking FROM seen ORDER BY $ranking LIMIT 3) x"), 3, 'view: nothing but its own privilege is needed');
}

$writer->value("ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY english ON docs USING (lang = 'en')");
$s->value('RESET ALL; SET ROLE joe');
for my $settings ($index_now, "$index_now SET skipidx.enable_custom_scan = off", 'RESET ALL')
{
	$s->value($settings);
	my $plan = $s->value("EXPLAIN (COSTS OFF) SELECT id, $ranking FROM docs WHERE v \@\@ 'w1 | w5' AND leak(id) ORDER BY $ranking LIMIT 25");

	like($plan, qr/Index Scan using docs_v on docs\n +Order By/, 'policy: a ranked scan') if $settings ne 'RESET ALL';
	my ($n, @leaked) = leaked("SELECT id, $ranking FROM docs WHERE v \@\@ 'w1 | w5' AND leak(id) ORDER BY $ranking LIMIT 25", $settings);

	is("@leaked", '', 'policy: no row of others is shown');
	is($n, 25, 'policy: rows');
	is($s->value("SELECT id, $ranking FROM docs WHERE v \@\@ 'w1 | w5' ORDER BY $ranking, id LIMIT 25"), $open, 'policy: the same rows');
	is($s->value("SELECT count(*) FROM (SELECT $ranking FROM docs WHERE v \@\@ 'w1 | w5' ORDER BY $ranking) x"),
		$s->value("SELECT count(*) FROM docs WHERE v \@\@ 'w1 | w5'"), 'policy: all rows');
	is($s->value("SELECT count(*) FROM (SELECT $ranking FROM docs ORDER BY $ranking) x"),
		$s->value("SELECT count(*) FROM docs"), 'policy: all rows, no filter');
}

# A scan that ends with the last score has to know that a row can match without.
for my $weights (q{weights = '{0, 1, 1, 1}'}, q{weights = '{1, 1, 1, 1}'})
{
	$writer->value("ALTER INDEX docs_v SET ($weights)");
	for my $query ('w1 | w5', 'w1 & !w2', 'w1 | !w2', '!w1', 'w1:A | w5', 'w0 <-> w1')
	{
		my $ranked = "SELECT count(*) FROM (SELECT id FROM docs WHERE v \@\@ '$query' ORDER BY v <\@> '$query'::tsquery OFFSET 0) x";

		is($s->value("$index_now; $ranked"), $s->value("RESET ALL; SELECT count(*) FROM docs WHERE v \@\@ '$query'"),
			"policy, $weights: all rows of $query");
	}
}
for my $call (q{skipidx_search('docs_v', 'w1')}, q{skipidx_bm25('docs_v', 'w1', 'w1')},
	q{skipidx_explain_score('docs_v', '(0,1)', 'w1')}, q{skipidx_query('w1', 'docs_v')})
{
	like($s->raw("SELECT count(*) FROM $call"), qr/ERROR:  42501/, "$call: a table with a policy");
}
$s->value('RESET ALL; RESET ROLE');
is($s->value(q{SELECT count(*) FROM skipidx_search('docs_v', 'w1', 5)}), 5, 'its owner may');

$_->close for $s, $writer;
$node->stop;
done_testing();
