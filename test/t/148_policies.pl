# Tables with row security.  With skipidx.index_under_policy an index is asked
# for `@@` before the policy, and for nothing else: whatever a reader writes
# beside it, under policies of several kinds, he is shown the rows that he may
# see, and no value of another row: not by a function with side effects, nor by
# the text of an error, nor by EXPLAIN.  With the setting off no plan depends on
# hidden rows.  Plans are made anew when it changes.  skipidx.allow_policies
# refuses new indexes.
#
# Holds: plan 9, 34; am 14

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('policies', conf => "skipidx.max_workers = 0\nwork_mem = 64kB");
my ($s, $admin) = map { skx_session($node, 'postgres') } 1 .. 2;

# A tenth of the rows is of tenant 3.  Few rows fit on a page, so that bitmaps
# keep pages without their rows, which are then tested by what the index was
# asked for.
$admin->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE ROLE reader;
CREATE ROLE owner;
CREATE SCHEMA theirs AUTHORIZATION reader;
CREATE TABLE docs (id int PRIMARY KEY, tenant int NOT NULL, who text NOT NULL, n int NOT NULL, price numeric, tags int[], sent timestamptz,
	secret text NOT NULL, v tsvector) WITH (autovacuum_enabled = off, fillfactor = 10);
INSERT INTO docs SELECT i, i % 10, CASE i % 10 WHEN 3 THEN 'reader' ELSE 'other' END, i % 7, i, ARRAY[i % 5], timestamptz '2026-01-01 00:00+00' + interval '1 minute' * i,
	'secret-' || i, to_tsvector('simple', 'all h' || i % 2 || ' t' || i % 11 || ' n' || i || CASE i % 10 WHEN 3 THEN ' public' ELSE '' END)
	FROM generate_series(1, 6000) i;
CREATE TABLE members (who name, tenant int);
INSERT INTO members VALUES ('reader', 3);
CREATE TABLE asked (id int, q tsquery);
INSERT INTO asked VALUES (1, 't4'), (2, 'h1 & t5'), (3, 'nowhere');
CREATE FUNCTION may_see(id int) RETURNS bool LANGUAGE plpgsql STABLE AS 'BEGIN RETURN id % 10 = 3; END';
CREATE INDEX docs_skx ON docs USING skipidx (v, tenant, who, n, price, tags, sent);
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM docs WHERE tenant = 3;
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM docs;
CREATE INDEX parts_skx ON parts USING skipidx (v, tenant, who, n, price, tags, sent);
GRANT ALL ON docs, parts, members, asked, barrier TO reader;
VACUUM ANALYZE docs, parts, members, asked;
SQL

# What a reader would write who wants to see more.  A warning is not taken back
# with the transaction.
$s->value(<<'SQL');
\set VERBOSITY terse
SET app.tenant = 3;
SET ROLE reader;
CREATE FUNCTION theirs.leak(secret text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
	IF substr(secret, 8)::int % 10 <> 3 THEN
		RAISE WARNING '%', secret;
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION theirs.leak_stable(secret text) RETURNS text LANGUAGE plpgsql STABLE COST 0.0001 AS
	'BEGIN PERFORM theirs.leak(secret); RETURN secret; END';
CREATE FUNCTION theirs.leak_match(tsvector, tsquery) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS
	'BEGIN PERFORM theirs.leak(''secret-'' || substr((tsvector_to_array($1))[3], 2)); RETURN $1 @@ $2; END';
CREATE FUNCTION theirs.leak_matched(tsquery, tsvector) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS
	'BEGIN RETURN theirs.leak_match($2, $1); END';
CREATE FUNCTION theirs.leak_value(tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS
	'BEGIN PERFORM theirs.leak_match($1, ''all''); RETURN $1; END';
CREATE OPERATOR theirs.@@ (LEFTARG = tsvector, RIGHTARG = tsquery, PROCEDURE = theirs.leak_match, RESTRICT = tsmatchsel);
CREATE OPERATOR theirs.~@ (LEFTARG = tsquery, RIGHTARG = tsvector, PROCEDURE = theirs.leak_matched, COMMUTATOR = OPERATOR(theirs.@@));
CREATE OPERATOR theirs.!@ (LEFTARG = tsvector, RIGHTARG = tsquery, PROCEDURE = theirs.leak_match, NEGATOR = OPERATOR(theirs.@@));
RESET ROLE;
SQL

# The table is DOCS.  What they return under each policy is what a sequential scan
# returns there with the setting off.
my $leak = 'theirs.leak(secret)';
my @attempts = (
	"SELECT id FROM DOCS WHERE v @@ 'h1 & t4' AND $leak",
	"SELECT id FROM DOCS WHERE $leak AND v @@ 'h1 & t4'",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND theirs.leak_stable(secret) <> ''",
	"SELECT id FROM DOCS WHERE v @@ 't4' OR $leak",
	"SELECT id FROM DOCS WHERE v @@ 't4' AND $leak OR v @@ 't5' AND n = 3",
	"SELECT id FROM DOCS WHERE (v @@ 't4' OR n = 3) AND (v @@ 'h1' OR $leak)",
	"SELECT id FROM DOCS WHERE NOT (v @@ 't4' OR NOT $leak)",
	"SELECT id FROM DOCS WHERE v @@ 't4' AND (v @@ 't5') IS NOT TRUE AND $leak",
	"SELECT id FROM DOCS WHERE CASE WHEN v @@ 't4' THEN $leak ELSE false END",
	"SELECT id FROM DOCS WHERE coalesce(v @@ 't4', $leak)",
	"SELECT id FROM DOCS WHERE v @@ ANY (ARRAY['t4', 't5']::tsquery[]) AND $leak",
	"SELECT id FROM DOCS WHERE v OPERATOR(theirs.@@) 't4'",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND v OPERATOR(theirs.@@) 't4'",
	"SELECT id FROM DOCS WHERE 't4'::tsquery OPERATOR(theirs.~@) v",
	"SELECT id FROM DOCS WHERE 't4'::tsquery OPERATOR(theirs.~@) v OR v @@ 't5'",
	"SELECT id FROM DOCS WHERE NOT (v OPERATOR(theirs.!@) 't4')",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND NOT (v OPERATOR(theirs.!@) 't4')",
	"SELECT id FROM DOCS WHERE theirs.leak_value(v) @@ 't4'",
	"SELECT id FROM DOCS WHERE v @@ 't4' AND theirs.leak_value(v) @@ 'h1'",
	"SELECT id FROM DOCS WHERE v @@ plainto_tsquery('simple', theirs.leak_stable('secret-3'))",
	"SELECT id FROM DOCS WHERE v @@ (SELECT q FROM asked WHERE id = 1) AND $leak",
	"SELECT d.id FROM DOCS d JOIN asked a ON d.v @@ a.q AND theirs.leak(d.secret)",
	"SELECT d.id FROM asked a LEFT JOIN DOCS d ON d.v @@ a.q AND theirs.leak(d.secret)",
	"SELECT d.id FROM asked a, LATERAL (SELECT id FROM DOCS WHERE v @@ a.q AND $leak OFFSET 0) d",
	"SELECT a.id FROM asked a WHERE EXISTS (SELECT 1 FROM DOCS d WHERE d.v @@ a.q AND theirs.leak(d.secret))",
	"SELECT a.id FROM asked a WHERE EXISTS (SELECT 1 FROM DOCS d WHERE d.v @@ a.q AND theirs.leak_stable(d.secret) > a.id::text)",
	"SELECT id FROM DOCS WHERE v @@ 'h1' ORDER BY v <@> 'h1', id",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND $leak ORDER BY v <@> 'h1', id LIMIT 7",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND $leak ORDER BY sent DESC LIMIT 7",
	"SELECT id FROM DOCS WHERE v @@ 't4 | t5' AND (sent, id) > ('2026-01-01 06:00+00', 5) AND $leak ORDER BY sent, id LIMIT 7",
	"SELECT count(*) FROM DOCS WHERE v @@ 'h1 & t4'",
	"SELECT count(*) FROM DOCS WHERE v @@ 'h1 & t4' AND $leak",
	"SELECT count(*) FILTER (WHERE $leak) FROM DOCS WHERE v @@ 'h1'",
	"SELECT count(*) FROM DOCS WHERE v @@ 'h1 & t4' OR v @@ 't5' AND n = 3",
	"SELECT n, count(*) FROM DOCS WHERE v @@ 'h1' GROUP BY n",
	"SELECT n, count(*) FROM DOCS WHERE v @@ 'h1' GROUP BY n HAVING bool_and($leak)",
	"SELECT DISTINCT tenant FROM DOCS WHERE v @@ 'h1'",
	"SELECT tenant, who, count(*) FROM DOCS WHERE v @@ 'h1' GROUP BY tenant, who",
	"SELECT sum(n), min(sent), max(sent) FROM DOCS WHERE v @@ 'h1'",
	"SELECT max(sent) FROM DOCS WHERE v @@ 'h0'",
	"SELECT id FROM DOCS WHERE v @@ 'h1' AND price < 1000 AND n <> 2",
	"SELECT id FROM DOCS WHERE v @@ 't4' OR price < 300",
	# errors that would tell a value, if they came
	"SELECT id FROM DOCS WHERE v @@ 'all' AND 1 / (tenant - 4) < 5",
	"SELECT id FROM DOCS WHERE 1 / (tenant - 4) < 5 AND v @@ 'all'",
	"SELECT id FROM DOCS WHERE v @@ 'all' AND CASE WHEN tenant = 3 THEN 1 ELSE secret::int END = 1",
	"SELECT id FROM DOCS WHERE v @@ 'all' AND v @@ CASE WHEN tenant = 3 THEN 'all' ELSE (secret || ' &')::tsquery END",
	"SELECT id FROM DOCS WHERE v @@ 'all' OR v @@ CASE WHEN tenant = 3 THEN 'all' ELSE (secret || ' &')::tsquery END",
	"UPDATE DOCS SET n = n WHERE v @@ 'h1 & t4' AND $leak RETURNING id",
	"DELETE FROM DOCS WHERE v @@ 't4' AND $leak RETURNING id",
	"MERGE INTO DOCS d USING asked a ON d.v @@ a.q AND theirs.leak(d.secret) WHEN MATCHED THEN UPDATE SET n = d.n",
	"SELECT id FROM DOCS WHERE v @@ 'h1 & t4' AND $leak FOR UPDATE");

# Kinds of policies; each lets tenant 3 pass, which is what `may` says.
my %policies = (
	'a setting' => "CREATE POLICY p ON DOCS USING (tenant = current_setting('app.tenant')::int)",
	'several' => "CREATE POLICY p ON DOCS USING (tenant = ANY ('{3}')); CREATE POLICY p2 ON DOCS USING (false)",
	'the user' => 'CREATE POLICY p ON DOCS USING (who = current_user)',
	'a member' => 'CREATE POLICY p ON DOCS USING (tenant IN (SELECT tenant FROM members WHERE who = current_user))',
	'a function' => 'CREATE POLICY p ON DOCS USING (may_see(id))',
	'a restriction' => "CREATE POLICY p ON DOCS USING (true); CREATE POLICY p2 ON DOCS AS RESTRICTIVE USING (id % 10 = 3)",
	'a word' => "CREATE POLICY p ON DOCS USING (v @@ 'public')",
	'nothing' => 'CREATE POLICY p ON DOCS TO owner USING (true)');

my %plans = (
	index => 'SET enable_seqscan = off; SET enable_bitmapscan = off; RESET enable_indexscan; RESET skipidx.enable_custom_scan',
	bitmap => 'SET enable_seqscan = off; RESET enable_bitmapscan; SET enable_indexscan = off; RESET skipidx.enable_custom_scan',
	any => 'SET enable_seqscan = off; RESET enable_bitmapscan; RESET enable_indexscan; RESET skipidx.enable_custom_scan');
my $rows = 'RESET enable_seqscan; SET enable_bitmapscan = off; SET enable_indexscan = off; SET skipidx.enable_custom_scan = off';

# As reader, rolled back; the settings are the superuser's.  Returns the lines of
# the answer, sorted, and the secrets of other tenants in it, in warnings or in an
# error.
sub attempt
{
	my ($sql, $settings) = @_;
	my $raw = $s->raw("RESET ROLE; $settings; SET ROLE reader; BEGIN; $sql; ROLLBACK");
	my %hidden = map { $_ => 1 } grep { $_ % 10 != 3 } $raw =~ /secret-(\d+)/g;

	return (join("\n", sort split /\n/, $raw), join ',', sort { $a <=> $b } keys %hidden);
}

sub explained
{
	my ($sql, $settings) = @_;

	$s->value("RESET ROLE; $settings; SET ROLE reader");
	return $s->value("EXPLAIN (COSTS OFF) $sql");
}

# How many conditions with `@@` a plan asks an index for.
sub asked_for
{
	my ($plan) = @_;
	my @asked = $plan =~ /(?:Index Cond|Conditions?): (.*)/g;

	return scalar grep { /@@/ } @asked;
}

for my $table ('docs', 'parts')
{
	for my $policy ($table eq 'docs' ? sort keys %policies : ('a setting', 'a word'))
	{
		my $kind = "$table, $policy";
		my ($taken, @asked_off) = (0);

		$admin->value("ALTER TABLE $table ENABLE ROW LEVEL SECURITY; " . $policies{$policy} =~ s/DOCS/$table/gr);
		for my $sql (map { s/DOCS/$table/gr } @attempts)
		{
			my ($right, $hidden) = attempt($sql, "$rows; SET skipidx.index_under_policy = off");

			is($hidden, '', "$kind, rows: $sql");
			for my $plan (sort keys %plans)
			{
				for my $under ('off', 'on')
				{
					my $settings = "$plans{$plan}; SET skipidx.index_under_policy = $under";
					my ($answer, $shown) = attempt($sql, $settings);

					is($shown, '', "$kind, $plan, $under: nothing of other tenants: $sql");
					is($answer, $right, "$kind, $plan, $under: $sql");
				}
			}
			next if $table ne 'docs' || $policy eq 'a word';
			push @asked_off, $sql if asked_for(explained($sql, "$plans{index}; SET skipidx.index_under_policy = off"));
			$taken += asked_for(explained($sql, "$plans{index}; SET skipidx.index_under_policy = on")) > 0;
		}
		if ($table eq 'docs' && $policy !~ /word|nothing/)
		{
			is("@asked_off", '', "$kind: the index is not asked where the setting is off");
			cmp_ok($taken, '>=', 25, "$kind: it is where it is on");
		}
		$admin->value("DROP POLICY IF EXISTS p ON $table; DROP POLICY IF EXISTS p2 ON $table; ALTER TABLE $table DISABLE ROW LEVEL SECURITY");
	}
}

# The same functions do show what they are called for where no policy is.
(undef, my $open) = attempt($attempts[0] =~ s/DOCS/docs/r, $plans{index});
like($open, qr/^\d+(,\d+){50}/, 'without a policy other rows are shown');

# ---- what the index is asked for ----

$admin->value("ALTER TABLE docs ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON docs USING (tenant = current_setting('app.tenant')::int)");
my ($off, $on) = map { "$plans{any}; SET skipidx.index_under_policy = $_" } qw(off on);

# Statement, and the index's conditions with the setting off and on.
my $tenant = q{(tenant = (current_setting('app.tenant'::text))::integer)};
my $word = q{(v @@ '''h1'''::tsquery)};
my @conditions = (
	[ "SELECT id FROM docs WHERE v @@ 'h1' AND n < 5", "$tenant AND (n < 5)", "$word AND $tenant AND (n < 5)" ],
	[ "SELECT id FROM docs WHERE v @@ 'h1' AND price < 5", $tenant, "$word AND $tenant" ],
	[ "SELECT id FROM docs WHERE v @@ 'h1' AND $leak", $tenant, "$word AND $tenant" ],
	[ "SELECT id FROM docs WHERE v OPERATOR(theirs.@@) 'h1'", $tenant, $tenant ],
	[ "SELECT id FROM docs WHERE 'h1'::tsquery OPERATOR(theirs.~@) v", $tenant, $tenant ],
	[ "SELECT id FROM docs WHERE v @@ 'h1' OR price < 5", $tenant, $tenant ],
	[ "SELECT id FROM docs WHERE v @@ 'h1' ORDER BY v <@> 'h1' LIMIT 10", $tenant, "$word AND $tenant" ],
	[ "SELECT id FROM docs ORDER BY v <@> 'h1' LIMIT 10", $tenant, $tenant ],
	[ "SELECT id FROM docs WHERE v @@ 'h1' ORDER BY sent DESC LIMIT 10", $tenant, "$word AND $tenant" ],
	[ "SELECT count(*) FROM docs WHERE v @@ 'h1'", $tenant, "$word AND $tenant" ]);

# The index's conditions in a plan with one scan, without parentheses around all.
sub conditions
{
	my ($plan) = @_;

	return 'no index' if $plan !~ /Index Cond: (.*)/;
	return $1 =~ s/^\((\(.*\) AND \(.*\))\)$/$1/r;
}

for (@conditions)
{
	my ($sql, $without, $with) = @$_;

	is(conditions(explained($sql, $off)), $without, "off: $sql");
	is(conditions(explained($sql, $on)), $with, "on: $sql");
}
like(explained("SELECT id FROM docs WHERE v @@ 'h1 | t5' OR v @@ 't4' AND n = 3", $on), qr/Index Cond: .*@@\|/, 'a disjunction');
like(explained("SELECT count(*) FROM docs WHERE v @@ 'h1'", $on), qr/Skipidx Count/, 'a count');
unlike(explained("SELECT count(*) FROM docs WHERE v @@ 'h1'", $off), qr/Skipidx Count/, 'none where it is off');
unlike(explained("SELECT count(*) FROM docs WHERE v @@ 'h1' AND $leak", $on), qr/Skipidx Count/, 'nor with a function beside it');
like(explained("SELECT n, count(*) FROM docs WHERE v @@ 'h1' GROUP BY n", $on), qr/Skipidx Facets/, 'groups');
like(explained("SELECT id FROM docs WHERE v @@ 'h1' ORDER BY sent DESC LIMIT 10", $on), qr/Skipidx Ordered Scan/, 'an order');
like(explained("SELECT d.id FROM asked a JOIN docs d ON d.v @@ a.q WHERE a.id = 1", $on), qr/Index Cond: .*v @@ a\.q/, 'a join');

# What is tested on rows waits for the policy.
like(explained("SELECT id FROM docs WHERE v @@ 'h1'", "$rows; SET skipidx.index_under_policy = $_"),
	qr/Filter: \(\(tenant = .*v @@/, "$_: the policy comes first") for qw(off on);

# The ranked scan goes by the policy's own condition: it gives rows of the tenant
# alone, so none is removed.
my $plan = explained("SELECT id FROM docs ORDER BY v <@> 'all' LIMIT 10", $off);

like($plan, qr/Skipidx Scan.*Index Cond: \Q$tenant\E\n +Order By: \(v <@> /s, 'the condition of the policy is one of the ranked scan');
$plan = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all' LIMIT 10");
like($plan, qr/Index Scan using docs_skx on docs \(actual rows=1\d(\.00)? loops=1\)/, 'it fetches no row of other tenants');
unlike($plan, qr/Rows Removed/, 'nor removes one');

# With the setting on a reader's statement does what the owner's does that has the
# condition written out.
sub work
{
	my ($sql, $settings) = @_;
	my @columns = qw(nodes subblocks candidates);
	my $ask = 'SELECT ' . join(',', @columns) . ' FROM skipidx_work()';

	$s->value("RESET ROLE; $settings");
	my @before = split /\|/, $s->value($ask);
	my ($pages) = $s->value("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) $sql") =~ /shared hit=(\d+)/;
	my @after = split /\|/, $s->value($ask);

	return ($pages, map { $after[$_] - $before[$_] } 0 .. $#columns);
}

for my $sql ("SELECT count(*) FROM docs WHERE v @@ 'h1 & t4'", "SELECT id FROM docs WHERE v @@ 'h1 & t4' ORDER BY v <@> 'h1 & t4' LIMIT 10",
	"SELECT id FROM docs WHERE v @@ 'h1 & t4' ORDER BY sent DESC LIMIT 20")
{
	my $written = $sql =~ s/'h1 & t4'\K/ AND tenant = 3/r;
	my @owner = map { work($written, $off) } 1 .. 2;
	my @reader = map { work($sql, "$on; SET ROLE reader") } 1 .. 2;
	my @behind = work($sql, "$off; SET ROLE reader");

	splice @owner, 0, 4;
	splice @reader, 0, 4;
	note "pages, nodes, sub-blocks, candidates: owner @owner, reader @reader, with the setting off @behind";
	cmp_ok($reader[$_], '<=', 1.2 * $owner[$_], "the work of the owner's statement: $sql") for 0 .. 3;
	cmp_ok($behind[0], '>', 2 * $owner[0], "which is less than behind the policy: $sql");
}

# EXPLAIN shows numbers, and no value.
for my $sql (map { s/DOCS/docs/r } @attempts)
{
	for my $how ('VERBOSE', 'ANALYZE, VERBOSE')
	{
		my ($answer, $shown) = attempt("EXPLAIN ($how) $sql", $on);

		is($shown, '', "EXPLAIN ($how) $sql");
	}
}

# ---- cached plans ----

my $setting = 'RESET ROLE; SET skipidx.index_under_policy =';

$s->value("RESET ROLE; $plans{any}; SET plan_cache_mode = force_generic_plan; SET skipidx.index_under_policy = off; SET ROLE reader");
$s->value('PREPARE counted(tsquery) AS SELECT count(*) FROM docs WHERE v @@ $1');
for my $under ('off', 'on', 'off', 'on')
{
	my $test = $under eq 'on' ? \&Test::More::like : \&Test::More::unlike;

	$s->value("$setting $under; SET ROLE reader");
	$test->($s->value("EXPLAIN (COSTS OFF) EXECUTE counted('h1')"), qr/Skipidx Count/, "$under: a prepared statement");
	is($s->value("EXECUTE counted('h1')"), 600, "$under: its answer");
}
$s->value("$setting off; BEGIN; SET LOCAL skipidx.index_under_policy = on; SET ROLE reader");
like($s->value("EXPLAIN (COSTS OFF) EXECUTE counted('h1')"), qr/Skipidx Count/, 'within a transaction');
$s->value('ROLLBACK; SET ROLE reader');
unlike($s->value("EXPLAIN (COSTS OFF) EXECUTE counted('h1')"), qr/Skipidx Count/, 'not after it');

# Another role's plan is another, too, and so is one without the policy.
$s->value("$setting off");
like($s->value("EXPLAIN (COSTS OFF) EXECUTE counted('h1')"), qr/Skipidx Count/, 'the same statement of the owner');
is($s->value("EXECUTE counted('h1')"), 3000, 'its rows');
$s->value('SET ROLE reader');
unlike($s->value("EXPLAIN (COSTS OFF) EXECUTE counted('h1')"), qr/Skipidx Count/, 'again of the reader');
is($s->value("EXECUTE counted('h1')"), 600, 'its own rows');
$s->value("$setting on; SET ROLE reader");
is($s->value("EXECUTE counted('h1')"), 600, 'its own rows, by the index');
$s->value('SET app.tenant = 4');
is($s->value("EXECUTE counted('h0')"), 600, 'those of another tenant');
is($s->value("EXECUTE counted('h1')"), 0, 'and of no other');
$s->value('SET app.tenant = 3; RESET ROLE; DEALLOCATE counted; RESET plan_cache_mode');

# A portal keeps its plan.
$s->value("$setting on; SET ROLE reader; BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'h1'; RESET ROLE; SET skipidx.index_under_policy = off; SET ROLE reader");
is(scalar(() = $s->value('FETCH ALL FROM c') =~ /\d+/g), 600, 'an open cursor');
$s->value('COMMIT; RESET ROLE');

# ---- who may set it ----

for my $name ('skipidx.index_under_policy', 'skipidx.allow_policies')
{
	$s->value("RESET $name; SET ROLE reader");
	like($s->raw("SET $name = on"), qr/permission denied to set parameter "$name"/, "$name: not everyone");
	like($s->raw("CREATE FUNCTION theirs.f() RETURNS int LANGUAGE sql SET $name = on AS 'SELECT 1'"), qr/permission denied to set parameter/, "$name: nor by a function");
	$s->value('RESET ROLE');
}

# A session that has not loaded the library knows the name only.
my $fresh = skx_session($node, 'postgres');

$fresh->value('SET SESSION AUTHORIZATION reader; SET app.tenant = 3; SET skipidx.index_under_policy = on');
unlike($fresh->value("EXPLAIN (COSTS OFF) SELECT count(*) FROM docs WHERE v @@ 'h1'"), qr/Skipidx Count/, 'nor before the library is there');
is($fresh->value('SHOW skipidx.index_under_policy'), 'off', 'it is off then');
$fresh->close;

# ---- barriers ----

$admin->value('ALTER TABLE docs DISABLE ROW LEVEL SECURITY; DROP POLICY p ON docs; REVOKE ALL ON docs FROM reader');
for my $sql (map { s/DOCS/barrier/r } grep { !/<@>/ } @attempts)
{
	my ($right, $hidden) = attempt($sql, "$rows; SET skipidx.index_under_policy = off");

	is($hidden, '', "barrier, rows: $sql");
	for my $under ('off', 'on')
	{
		my ($answer, $shown) = attempt($sql, "$plans{index}; SET skipidx.index_under_policy = $under");

		is($shown, '', "barrier, $under: nothing behind it: $sql");
		is($answer, $right, "barrier, $under: $sql");
	}
}
like(explained("UPDATE barrier SET n = 1 WHERE v @@ 'h1' AND $leak", $on), qr/Index Cond: .*@@/, 'a view that is changed has its condition as a policy');
unlike(explained("SELECT id FROM barrier WHERE v @@ 'h1' AND $leak", $on), qr/Index Cond: .*@@/, 'one that is read is a query of its own');

# ---- an index on an expression ----

# Its function would be called for hidden rows where a bitmap has pages only.
$admin->value(<<'SQL');
GRANT ALL ON docs TO reader;
SET client_min_messages = error;
CREATE FUNCTION marked(secret text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN PERFORM theirs.leak(secret); RETURN to_tsvector(''simple'', ''all''); END';
GRANT USAGE ON SCHEMA theirs TO PUBLIC;
CREATE INDEX docs_marked ON docs USING skipidx (marked(secret), tenant);
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON docs USING (tenant % 10 = 3);
SQL
for my $plan (sort keys %plans)
{
	my ($answer, $shown) = attempt("SELECT count(*) FROM docs WHERE marked(secret) @@ 'all'", "$plans{$plan}; SET skipidx.index_under_policy = on");

	is("$answer $shown", '600 ', "an index on an expression, $plan: its function waits for the policy");
}
$admin->value('DROP INDEX docs_marked; DROP FUNCTION marked');

# ---- new indexes ----

my $create = 'CREATE INDEX docs_new ON docs USING skipidx (v)';
my $refused = qr/cannot create a skipidx index on table "docs", which has row-level security/;

$s->value('RESET ROLE; SET skipidx.allow_policies = off');
like($s->raw($create), $refused, 'CREATE INDEX');
like($s->raw($create =~ s/INDEX/INDEX CONCURRENTLY/r), $refused, 'CREATE INDEX CONCURRENTLY');
like($s->raw("DO \$\$BEGIN EXECUTE '$create'; END\$\$"), $refused, 'CREATE INDEX in a function');
is($s->value("SELECT count(*) FROM pg_class WHERE relname LIKE 'docs_new%'"), 0, 'nothing is left');
$s->value('CREATE INDEX docs_btree ON docs (n); DROP INDEX docs_btree');
$s->value($_) for 'REINDEX INDEX docs_skx', 'REINDEX TABLE docs', 'REINDEX INDEX CONCURRENTLY docs_skx', 'REINDEX TABLE CONCURRENTLY docs',
	'VACUUM FULL docs', 'CLUSTER docs USING docs_pkey', 'DROP VIEW barrier; ALTER TABLE docs ALTER n TYPE bigint', 'ALTER TABLE docs ALTER who TYPE varchar',
	'BEGIN; TRUNCATE docs; ROLLBACK';
is($s->value("SELECT count(*) FROM pg_index WHERE indrelid = 'docs'::regclass AND indisvalid"), 2, 'what exists can be made anew');
is($s->value("SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'h1'"), 3000, 'and answers');
$s->value('RESET skipidx.allow_policies');
$s->value("$create; DROP INDEX docs_new");
$s->value('SET skipidx.allow_policies = off; ALTER TABLE docs DISABLE ROW LEVEL SECURITY');
$s->value("$create; DROP INDEX docs_new");
$s->value('DROP INDEX parts_skx; ALTER TABLE parts ENABLE ROW LEVEL SECURITY');
like($s->raw('CREATE INDEX ON parts USING skipidx (v)'), qr/cannot create .*"parts"/, 'a partitioned table');
like($s->raw('CREATE INDEX ON ONLY parts USING skipidx (v)'), qr/cannot create .*"parts"/, 'or that alone');
$s->value('ALTER TABLE parts DISABLE ROW LEVEL SECURITY; CREATE INDEX ON parts USING skipidx (v)');

# ATTACH PARTITION makes the index of the partition.  A change of a type makes
# those of all partitions again, also in the transaction that has attached one.
my $attach = 'ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)';
my $part = qr/cannot create a skipidx index on table "parts_1", which has row-level security/;

sub part_indexes { return $s->value("SELECT count(*) FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relname IN ('parts', 'parts_0', 'parts_1') AND indisvalid AND indexrelid IN (SELECT oid FROM pg_class WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'skipidx'))"); }

is(part_indexes(), 3, 'indexes of partitions');
$s->value('ALTER TABLE parts DETACH PARTITION parts_1; ALTER TABLE parts_1 ENABLE ROW LEVEL SECURITY');
$s->value($attach);
is(part_indexes(), 3, 'a partition that has its index is attached');
$s->value('ALTER TABLE parts DETACH PARTITION parts_1; DROP INDEX ' . $s->value("SELECT string_agg(indexrelid::regclass::text, ',') FROM pg_index WHERE indrelid = 'parts_1'::regclass"));
like($s->raw($attach), $part, 'ATTACH PARTITION');
like($s->raw("DO \$\$BEGIN EXECUTE '$attach'; END\$\$"), $part, 'ATTACH PARTITION in a function');
like($s->raw("BEGIN; DROP INDEX parts_v_idx; CREATE INDEX parts_v_idx ON parts USING skipidx (v, n); SAVEPOINT a; $attach"), $part, 'nor after the index, in one transaction');
$s->value('ROLLBACK; BEGIN; CREATE TABLE above (LIKE parts) PARTITION BY LIST (tenant); CREATE INDEX above_v ON above USING skipidx (v); ALTER TABLE parts_1 DISABLE ROW LEVEL SECURITY;'
	  . "$attach; ALTER TABLE parts_1 ENABLE ROW LEVEL SECURITY; DROP INDEX parts_v_idx");
like($s->raw('ALTER TABLE above ATTACH PARTITION parts DEFAULT'), $part, 'nor beneath a table that is attached');
$s->value("ROLLBACK; BEGIN; ALTER TABLE parts_1 DISABLE ROW LEVEL SECURITY; $attach; ALTER TABLE parts_1 ENABLE ROW LEVEL SECURITY; ALTER TABLE parts ALTER n TYPE bigint; ALTER TABLE parts ALTER who TYPE varchar; COMMIT");
is(part_indexes(), 3, 'made again in the transaction that has attached it');
$s->value($_) for 'ALTER TABLE parts ALTER n TYPE int', 'BEGIN; ALTER TABLE parts ALTER n TYPE bigint; ALTER TABLE parts ALTER n TYPE int; COMMIT', 'REINDEX TABLE parts', 'REINDEX TABLE CONCURRENTLY parts_1';
is(part_indexes(), 3, 'and later');
$s->value('ALTER TABLE parts_1 DISABLE ROW LEVEL SECURITY');

# Nor does a session that has only the name of the setting lift it.
$node->append_conf('postgresql.conf', 'skipidx.allow_policies = off');
$node->reload;
$admin->value('GRANT CREATE ON SCHEMA public TO reader; ALTER TABLE docs OWNER TO reader; ALTER TABLE docs ENABLE ROW LEVEL SECURITY');
$fresh = skx_session($node, 'postgres');
$fresh->value('SET SESSION AUTHORIZATION reader; SET skipidx.allow_policies = on');
like($fresh->raw($create =~ s/docs_new/theirs_new/r), $refused, 'the owner of a table cannot lift it');
$fresh->close;

$s->close;
$admin->close;
$node->stop;
done_testing();
