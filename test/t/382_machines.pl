# Partitions on other servers, by postgres_fdw: conditions, order and limit are sent
# there, the best rows are those of one table, and skipidx_ranking() asks the
# servers for their statistics; who may, and what is wrong with a server.
#
# The extension is in a schema that no search_path has; doc/machines.md is run as
# it is.
#
# Holds: functions 15, 20; plan 7

use strict;
use warnings;
use FindBin;
use List::Util qw(sum0);
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_until skx_install_try);
use Test::More;

my $seed = skx_seed(382);
my $queries = $ENV{SKX_MACHINES} // 60;
my $here = skx_node('here', conf => "skipidx.max_workers = 0\nmax_prepared_transactions = 0");
my @there = map { skx_node("there$_", conf => "skipidx.max_workers = 0\nlog_connections = off\nsession_preload_libraries = auto_explain\nauto_explain.log_analyze = on\nauto_explain.log_timing = off\nauto_explain.log_min_duration = -1") } 1 .. 2;

sub pick { return $_[ rand @_ ]; }

# ---- the page ----

{
	my %node = (db1 => $here, db2 => $there[0]);
	my $text = slurp_file("$FindBin::RealBin/../../doc/machines.md");
	my $n = 0;
	my $at = $there[0]->host;
	my $port = $there[0]->port;

	$_->safe_psql('postgres', 'CREATE DATABASE page') for values %node;
	while ($text =~ /^```sql\n-- on (\w+)\n(.*?)^```$/smg)
	{
		my ($machine, $sql) = ($1, $2);

		$sql =~ s/host 'db2', port '5432', dbname 'postgres'/host '$at', port '$port', dbname 'page'/;
		my ($status, $out, $error) = $node{$machine}->psql('page', $sql);
		is("$status $error", '0 ', 'the page: ' . (split /\n/, $sql)[-1]);
		$n++;
		next unless $sql =~ /^SELECT/;
		# the same of one table
		my $whole = $here->safe_psql('page', ($n > 0 ? 'CREATE TEMP TABLE whole AS TABLE notes; CREATE INDEX notes_whole ON whole USING skipidx (tsv, sent);' : '')
			  . ($sql =~ s/notes_search/notes_whole/r =~ s/\bnotes\b/whole/r =~ s/SELECT sum.*/SELECT count(*) FROM whole WHERE tsv @@ 'offer'/sr));
		is($out, $whole, 'the page: its rows are those of one table');
	}
	is($n, 6, 'the page has so many blocks');
	my ($remote) = $text =~ /^    (Remote SQL: .*)$/m;
	my ($search) = $text =~ /^```sql\n-- on db1\n(SELECT id.*?<@>.*?)^```$/sm;
	like($here->safe_psql('page', "EXPLAIN (VERBOSE) $search"), qr/\Q$remote\E$/m, 'the page: what the server is asked');
}

# ---- tables ----

# Of half of the partitions the server names tables and columns otherwise.
for my $node ($here, @there)
{
	$node->safe_psql('postgres', 'CREATE SCHEMA "Ext"; CREATE EXTENSION skipidx SCHEMA "Ext"');
}
my $s = skx_session($here, 'postgres');

$s->value('SET search_path = public, "Ext"');
$s->value(<<'SQL');
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 100 * (abs(hashint4(i + 77 * j)) % 100)) / 60 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, 3 + abs(hashint4(i)) % 30) j $$;
CREATE TABLE whole (id int, sent int, v tsvector);
INSERT INTO whole SELECT i, i % 500, CASE WHEN i % 301 = 0 THEN NULL ELSE body(i) END FROM generate_series(1, 8000) i;
CREATE INDEX whole_v ON whole USING skipidx (v, sent);
CREATE EXTENSION postgres_fdw;
CREATE TABLE docs (id int, sent int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE docs_0 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 0);
CREATE TABLE docs_1 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 1);
CREATE TABLE docs_5 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 5) PARTITION BY LIST (sent);
SQL
$there[0]->safe_psql('postgres', 'CREATE TABLE docs_2 (id int, sent int, v tsvector); CREATE TABLE docs_3 (id int, sent int, v tsvector)');
$there[1]->safe_psql('postgres', 'CREATE SCHEMA "Odd one"; CREATE TABLE "Odd one"."docs ""4""" ("the text" tsvector, id int, sent int); CREATE TABLE docs_6 (id int, sent int, v tsvector)');
# Names of functions in expressions are written by search_path.
$there[0]->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public');
$there[1]->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = nowhere');
for my $i (0, 1)
{
	my $more = $i == 0 ? ", use_remote_estimate 'true', async_capable 'true'" : '';

	$s->value("CREATE SERVER there$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $there[$i]->host . "', port '" . $there[$i]->port . "', dbname 'postgres', extensions 'skipidx'$more)");
	$s->value("CREATE USER MAPPING FOR CURRENT_USER SERVER there$i");
}
$s->value(<<'SQL');
CREATE FOREIGN TABLE docs_2 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 2) SERVER there0;
CREATE FOREIGN TABLE docs_3 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 3) SERVER there0;
CREATE FOREIGN TABLE docs_4 PARTITION OF docs FOR VALUES WITH (MODULUS 6, REMAINDER 4) SERVER there1 OPTIONS (schema_name 'Odd one', table_name 'docs "4"');
ALTER FOREIGN TABLE docs_4 ALTER v OPTIONS (ADD column_name 'the text');
CREATE TABLE docs_7 PARTITION OF docs_5 FOR VALUES IN (1, 2, 3);
CREATE FOREIGN TABLE docs_6 PARTITION OF docs_5 DEFAULT SERVER there1;
INSERT INTO docs TABLE whole;
CREATE INDEX docs_v ON docs USING skipidx (v, sent);
SQL
my $ext = 'SET search_path = "Ext", public, "Odd one"; ';
$there[0]->safe_psql('postgres', "$ext CREATE INDEX docs_2_v ON docs_2 USING skipidx (v, sent); CREATE INDEX docs_3_v ON docs_3 USING skipidx (v) WITH (pending_limit = '1MB')");
$there[1]->safe_psql('postgres', $ext . 'CREATE INDEX decoy_v ON docs_6 USING skipidx (v) WHERE id > 0; CREATE INDEX docs_6_v ON docs_6 USING skipidx (v, sent);'
	  . 'CREATE INDEX odd_v ON "docs ""4""" USING skipidx ("the text", sent)');
$_->safe_psql('postgres', 'VACUUM ANALYZE') for $here, @there;
$s->value('ANALYZE docs_2; ANALYZE docs_3; ANALYZE docs_4; ANALYZE docs_6');

# An error of skipidx_ranking(): SQLSTATE, message and more.
sub refused
{
	my ($session, $what, $pattern, $index) = @_;
	my $got = $session->raw('SELECT skipidx_ranking(' . "'" . ($index // 'docs_v') . "', 'w1 | w7')");

	like($got, $pattern, $what);
	is($session->value('SELECT coalesce(cardinality("Links".dblink_get_connections()), 0)'), 0, "$what: no connection is left")
	  unless $got =~ /"dblink" is not|denied for (table docs|function)$/m;
	return;
}

refused($s, 'no dblink', qr/ERROR:  55000: extension "dblink" is not installed.*HINT:  CREATE EXTENSION dblink/s);
$s->value('CREATE SCHEMA "Links"; CREATE EXTENSION dblink SCHEMA "Links"');

# ---- rankings ----

my @forms = (sub { pick(@_) }, sub { pick(@_) }, sub { pick(@_) . ' & ' . pick(@_) }, sub { pick(@_) . ' | ' . pick(@_) . ' | ' . pick(@_) }, sub { pick(@_) . ' <-> ' . pick(@_) },
	sub { pick(@_) . ':* | ' . pick(@_) }, sub { pick(@_) . ' & !' . pick(@_) }, sub { pick(@_) . ':AB | ' . pick(@_) }, sub { pick(@_) . ' | ' . pick(@_) . ' <2> ' . pick(@_) }, sub { 'no | ' . pick(@_) . ' | ' . pick(@_) . ' | ' . pick(@_) });
my @words = map { "w$_" } 0 .. 20, 0 .. 5, 90, 160;

$s->value('CREATE TABLE asked (n int, q tsquery, r "Ext".skipidx_ranking)');
$s->value("INSERT INTO asked VALUES ($_, '" . pick(@forms)->(@words) . "')") for 1 .. $queries;
$s->value(q{INSERT INTO asked VALUES (0, $$'it''s \\\\ a' | '"x"' | w1$$)});
$s->value("UPDATE asked SET r = skipidx_ranking('docs_v', q)");
is($s->value(q{SELECT string_agg(q::text, ', ') FROM asked WHERE r::text <> skipidx_ranking('whole_v', q)::text}), '', 'rankings are those of one table');
is($s->value(q{SELECT skipidx_ranking('docs_5_v_sent_idx', 'w1')::text LIKE 'documents=' || count(v) || ' %' FROM docs_5}), 't', 'of a partition with partitions');
is($s->value(q{BEGIN READ ONLY; SELECT skipidx_ranking('docs_v', 'w1')::text = skipidx_ranking('whole_v', 'w1')::text; COMMIT}), 't', 'in a transaction that only reads');
is($s->value(q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT skipidx_ranking('docs_v', 'w1')::text = skipidx_ranking('whole_v', 'w1')::text; COMMIT}), 't', 'in one with one snapshot');

# A statement that makes the same ranking in each row asks once.
{
	my $sessions = sub { return $there[1]->safe_psql('template1', "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'"); };
	my $before = $sessions->();

	is($s->value(q{SELECT count(DISTINCT r::text) FROM (SELECT skipidx_ranking('docs_v', 'w1') AS r FROM generate_series(1, 50)) x}), 1, 'made in each row');
	skx_until('a session there', sub { $sessions->() > $before });
	cmp_ok($sessions->(), '<=', $before + 2, 'made in each row: the servers are asked once');
}

# ---- plans ----

my $r = q{(SELECT r FROM asked WHERE n = 0)};
my $const = $s->value("SELECT format('%L::\"Ext\".skipidx_ranking', r) FROM asked WHERE n = 1");
my $sent = qr/Remote SQL: SELECT id, v FROM public\.docs_2 WHERE \(\(v @@ '''w1'''::tsquery\)\) ORDER BY \(v OPERATOR\("Ext"\.<\@>\) (\$1|E?'[^\n]*')::"Ext"\.skipidx_ranking\) ASC NULLS LAST/;

for my $by ($r, $const)
{
	my $kind = $by eq $r ? 'a parameter' : 'a constant';

	like($s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs_2 WHERE v \@\@ 'w1' ORDER BY v <\@> $by LIMIT 10"), qr/$sent LIMIT 10::bigint$/m, "$kind: order and limit");
	like($s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs_2 WHERE v \@\@ 'w1' ORDER BY v <\@> $by, id LIMIT 10"), qr/$sent, id ASC NULLS LAST LIMIT 10::bigint$/m, "$kind: two keys");
	my $plan = $s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs WHERE v \@\@ 'w1' ORDER BY v <\@> $by LIMIT 10");
	like($plan, qr/Merge Append.*$sent$/ms, "$kind: partitions");
	is(scalar(() = $plan =~ /Remote SQL: .* ORDER BY .*"Ext"\.<\@>/g), 4, "$kind: all foreign ones in order");
	unlike($plan, qr/^ *(->  )?(Incremental )?Sort$/m, "$kind: no sort here");
}
like($s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs_2 WHERE v <\@> $r < -1"), qr/Remote SQL: .* WHERE \(\(\(v OPERATOR\("Ext"\.<\@>\) \$1::"Ext"\.skipidx_ranking\) < /, 'a distance in a condition');
like($s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*) FROM docs_2 WHERE v \@\@ 'w1' AND sent < 9"), qr/Remote SQL: SELECT count\(\*\) FROM public\.docs_2 WHERE/, 'a count of one');
like($s->value("EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM docs_2 WHERE v \@\@ to_tsquery('english', 'w1') ORDER BY sent DESC LIMIT 5"), qr/Remote SQL: .*\@\@ '''w1'''::tsquery.* ORDER BY sent DESC NULLS FIRST LIMIT 5/, 'newest first');
$s->value('PREPARE p ("Ext".skipidx_ranking, tsquery) AS SELECT id FROM docs WHERE v @@ $2 ORDER BY v <@> $1 LIMIT 5; SET plan_cache_mode = force_generic_plan');
is(scalar(() = $s->value("EXPLAIN (VERBOSE, COSTS OFF) EXECUTE p ($const, 'w1')") =~ /Remote SQL: .*\@\@ \$\d::tsquery.* ORDER BY .* OPERATOR\("Ext"\.<\@>\)/g), 4, 'a generic plan');
$s->value('RESET plan_cache_mode');
like($s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM docs WHERE v \@\@ 'w0'"), qr/Async Foreign Scan/, 'matches are asked for at once');
my $counts = join ' UNION ALL ', map { "SELECT count(*) AS n FROM docs_$_ WHERE v \@\@ 'w1'" } 0 .. 5;
is($s->value("SELECT sum(n) FROM ($counts) x"), $s->value("SELECT count(*) FROM whole WHERE v \@\@ 'w1'"), 'counts');

# ---- the best ----

$s->value(<<'SQL');
CREATE FUNCTION best(tab regclass, r "Ext".skipidx_ranking, q tsquery, k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(id || %L || coalesce(float4send(d)::text, %L), %L) FROM (SELECT id, v <@> %L::"Ext".skipidx_ranking AS d FROM %s WHERE v @@ %L ORDER BY v <@> %L::"Ext".skipidx_ranking, id LIMIT %s) x',
		' ', '-', ',', r, tab, q, r, k) INTO answer;
	RETURN answer;
END $$;
SQL

# Rows, order and bits are those of a sort of one table.
sub same
{
	my ($state) = @_;

	for my $k (10, 100, 1000)
	{
		$s->value('SET enable_indexscan = off; SET enable_bitmapscan = off; CREATE TEMP TABLE sorted AS SELECT n, ' . "best('whole', r, q, $k) AS b FROM asked; RESET enable_indexscan; RESET enable_bitmapscan");
		is($s->value("SELECT count(b) > $queries * .7, coalesce(string_agg(q::text, ', ') FILTER (WHERE best('docs', r, q, $k) IS DISTINCT FROM b), '') FROM asked JOIN sorted USING (n)"), 't|', "$state: the best $k");
		is($s->value("SELECT coalesce(string_agg(q::text, ', ') FILTER (WHERE best('whole', r, q, $k) IS DISTINCT FROM b), '') FROM asked JOIN sorted USING (n) WHERE n % 10 = 0"), '', "$state: the best $k of one table by its index");
		$s->value('DROP TABLE sorted');
	}
	is($s->value("SELECT count(*) FROM docs FULL JOIN whole USING (id) WHERE docs.v IS DISTINCT FROM whole.v"), 0, "$state: the same rows");
	return;
}

same('at first');
for my $t (qw(docs whole))
{
	$s->value("INSERT INTO $t SELECT i, i % 500, body(i % 3000) FROM generate_series(9001, 10000) i; UPDATE $t SET v = v || body(id + 5000) WHERE id % 7 = 1; DELETE FROM $t WHERE id % 11 = 5");
}
same('rows that have changed since');
isnt($s->value(q{SELECT skipidx_ranking('docs_v', q)::text FROM asked WHERE n = 0}), $s->value('SELECT r::text FROM asked WHERE n = 0'), 'a new ranking has other numbers');
for my $sql (q{SELECT id FROM docs WHERE v @@ 'w1' ORDER BY v <@> (SELECT skipidx_ranking('docs_v', 'w1 | w2')), id LIMIT 20}, q{SELECT id FROM docs_2 WHERE v @@ 'w1' ORDER BY v <@> (SELECT skipidx_ranking('docs_v', 'w1 | w2')), id LIMIT 20})
{
	my $got = $s->value($sql);

	is($got, $s->value($sql =~ s/docs WHERE/whole WHERE/r =~ s/docs_2 WHERE/whole WHERE id IN (SELECT id FROM docs_2) AND/r), 'by a ranking of the moment');
	$s->value("ALTER SERVER there$_ OPTIONS (DROP extensions)") for 0, 1;
	is($s->value($sql), $got, 'also where nothing is sent');
	$s->value("ALTER SERVER there$_ OPTIONS (ADD extensions 'skipidx')") for 0, 1;
}

# ---- what the other server does for the first rows ----

# Of a plan: searches, and what they have looked at.
sub work
{
	my ($plan) = @_;

	return { map { $_ => sum0($plan =~ /$_: (\d+)/g) } 'Passes', 'Scored Postings', 'Candidates' };
}

{
	my $there = skx_session($there[0], 'postgres');

	$there->value($ext . <<'SQL');
CREATE TABLE public.big_1 (part int, id int, v tsvector);
INSERT INTO public.big_1 SELECT 1, i, (SELECT string_agg(format('w%s:%s', abs(hashint4(i * 31 + j)) % (j * j), j), ' ') FROM generate_series(1, 3 + abs(hashint4(i)) % 20) j)::tsvector FROM generate_series(1, 40000) i;
CREATE INDEX big_1_v ON public.big_1 USING skipidx (v);
VACUUM ANALYZE public.big_1;
SET search_path = pg_catalog;
SQL
	$s->value(<<'SQL');
CREATE TABLE big (part int, id int, v tsvector) PARTITION BY LIST (part);
CREATE FOREIGN TABLE big_1 PARTITION OF big FOR VALUES IN (1) SERVER there0;
CREATE TABLE big_2 PARTITION OF big FOR VALUES IN (2);
INSERT INTO big SELECT 2, -id, v FROM whole;
CREATE INDEX big_v ON big USING skipidx (v);
ANALYZE big_2;
SQL
	my $by = $s->value("SELECT format('%L::\"Ext\".skipidx_ranking', skipidx_ranking('big_v', 'w1 | w2 | w3'))");
	$there[0]->safe_psql('postgres', 'ALTER DATABASE postgres SET auto_explain.log_min_duration = 0');
	for my $keys ('', ', id')
	{
		my $again = skx_session($here, 'postgres');
		my $from = -s $there[0]->logfile;
		my $matches = "v \@\@ 'w1 | w2 | w3'";

		$again->value("SET search_path = public, \"Ext\"; SELECT id FROM big WHERE $matches ORDER BY v <\@> $by$keys LIMIT 10");
		$again->close;
		my $cursor = qr/DECLARE c\d+ CURSOR FOR\s+SELECT id, v FROM public\.big_1(.*?Index Scan using big_1_v.*?Order By: )/s;
		skx_until('the plan of a cursor', sub { slurp_file($there[0]->logfile, $from) =~ $cursor });
		my ($plan) = slurp_file($there[0]->logfile, $from) =~ $cursor;
		my $by_cursor = work($plan);
		my $by_limit = work($there->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id, v FROM public.big_1 WHERE $matches ORDER BY v OPERATOR(\"Ext\".<\@>) $by$keys LIMIT 100"));

		like($plan, qr/Skipidx Scan.*Index Scan using big_1_v/s, "a cursor$keys: the plan");
		is($by_cursor->{Passes}, 1, "a cursor$keys: one search");
		for (sort keys %$by_cursor)
		{
			note "$_$keys: $by_cursor->{$_} by a cursor, $by_limit->{$_} by LIMIT 100";
			cmp_ok($by_cursor->{$_}, '<=', 1.5 * $by_limit->{$_}, "a cursor$keys: $_");
			cmp_ok($by_limit->{$_}, '>', 0, "a limit$keys: $_");
		}
	}
	$there[0]->safe_psql('postgres', 'ALTER DATABASE postgres RESET auto_explain.log_min_duration');
	$there->close;
}

# ---- rights ----

$_->safe_psql('postgres', "CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA \"Ext\" TO reader") for $here, @there;
for my $node (@there)
{
	my $hba = $node->data_dir . '/pg_hba.conf';
	my $rest = slurp_file($hba);

	unlink $hba;
	append_to_file($hba, "local all reader scram-sha-256\n$rest");
	$node->reload;
}
$there[0]->safe_psql('postgres', 'GRANT SELECT ON public.docs_2, public.docs_3 TO reader');
$there[1]->safe_psql('postgres', 'GRANT USAGE ON SCHEMA "Odd one" TO reader; GRANT SELECT ON public.docs_6 TO reader');
my $reader = skx_session($here, 'postgres');

$reader->value('SET search_path = public, "Ext"; SET SESSION AUTHORIZATION reader');
$s->value('GRANT USAGE ON SCHEMA "Links" TO reader');
refused($reader, 'no right here', qr/42501: permission denied for table docs$/m);
$s->value('GRANT SELECT ON docs TO reader; REVOKE EXECUTE ON FUNCTION "Links".dblink_connect(text, text) FROM PUBLIC');
refused($reader, 'no right to call dblink', qr/42501: permission denied for function dblink_connect$/m);
$s->value('GRANT EXECUTE ON FUNCTION "Links".dblink_connect(text, text) TO PUBLIC');
refused($reader, 'no user mapping', qr/42704: user mapping not found for/);
$s->value("CREATE USER MAPPING FOR reader SERVER there0 OPTIONS (user 'reader', password_required 'false'); CREATE USER MAPPING FOR reader SERVER there1 OPTIONS (user 'reader', password 'secret')");
refused($reader, 'no right on the server', qr/42501: permission denied for foreign server there0/);
$s->value('GRANT USAGE ON FOREIGN SERVER there0, there1 TO reader');
refused($reader, 'no password', qr/ERROR:  2F003: password .*required/);
$s->value("ALTER USER MAPPING FOR reader SERVER there0 OPTIONS (SET password_required 'true', ADD password 'wrong')");
refused($reader, 'a wrong password', qr/ERROR:  08001: could not establish connection/);
$s->value("ALTER USER MAPPING FOR reader SERVER there0 OPTIONS (SET password 'secret')");
refused($reader, 'no right there', qr/ERROR:  42501: permission denied for table docs "4"/);
$there[1]->safe_psql('postgres', 'GRANT SELECT ("the text", sent) ON "Odd one"."docs ""4""" TO reader');
is($reader->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), $s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), 'with all rights, by a password');
$s->value(q{CREATE FUNCTION for_all(q tsquery) RETURNS "Ext".skipidx_ranking LANGUAGE sql SECURITY DEFINER SET search_path = public, "Ext" AS $$SELECT skipidx_ranking('docs_v', q)$$; DROP USER MAPPING FOR reader SERVER there0});
is($reader->value("SELECT for_all('w1')"), $s->value("SELECT skipidx_ranking('docs_v', 'w1')"), 'by the rights of another role');
$reader->close;

# ---- what is wrong with a server ----

skx_install_try($here, 'postgres');
$s->value('\set SHOW_CONTEXT errors' . "\n");
$there[1]->safe_psql('postgres', 'DROP INDEX public.docs_6_v');
refused($s, 'no index there', qr/55000: the table of foreign table "docs_6" has no index that is like "docs_v".*HINT:  Create it on server "there1".*CONTEXT:.*server "there1"/s);
like($s->value(q{SELECT try_sql($$SELECT skipidx_ranking('docs_v', 'w1')$$)}), qr/^55000\|/, 'an error that is caught');
is($s->value('SELECT coalesce(cardinality("Links".dblink_get_connections()), 0)'), 0, 'an error that is caught: no connection is left');
$there[1]->safe_psql('postgres', "$ext CREATE INDEX docs_6_v ON docs_6 USING skipidx (v, sent) WITH (k1 = 2)");
refused($s, 'other parameters', qr/22023: rankings that differ.*CONTEXT:.*server "there1"/s);
$there[1]->safe_psql('postgres', "$ext DROP INDEX docs_6_v; CREATE INDEX docs_6_v ON docs_6 USING skipidx (v, sent); ALTER TABLE docs_6 RENAME TO elsewhere");
refused($s, 'no table there', qr/55000: the table of foreign table "docs_6"/);
$there[1]->safe_psql('postgres', "$ext CREATE TABLE public.docs_6 (id int, sent int, v text); CREATE INDEX ON public.docs_6 USING skipidx (to_tsvector('simple', v))");
refused($s, 'another type there', qr/55000: the table of foreign table "docs_6"/);
$there[1]->safe_psql('postgres', 'DROP TABLE public.docs_6; ALTER TABLE public.elsewhere RENAME TO docs_6');
my $ranking = $s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')");
$there[1]->safe_psql('postgres', 'CREATE SCHEMA "Away"; ALTER EXTENSION skipidx SET SCHEMA "Away"');
is($s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), $ranking, 'another schema of the extension');
$there[1]->safe_psql('postgres', 'ALTER SCHEMA "Away" RENAME TO "Aw""a.y; --"');
is($s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), $ranking, 'another one with a name that is to be quoted');
$there[1]->safe_psql('postgres', 'ALTER SCHEMA "Aw""a.y; --" RENAME TO "Away"');

# A server that returns what it likes; it says that its extension is elsewhere.
$there[1]->safe_psql('postgres', q{UPDATE pg_extension SET extnamespace = '"Ext"'::regnamespace WHERE extname = 'skipidx'});
for ([ 'no ranking', 'nonsense', '22P02' ], [ 'a df above all rows', q{documents=1 length=2 'w1'(df=2) 'w7'(df=1)}, '22P02' ], [ 'other words', q{documents=1 length=2 'w1'(df=1)}, '22023' ],
	[ 'too much', 'x' x 1100000, '54000' ], [ 'too many', q{documents=281474976710655 length=2 'w1'(df=1) 'w7'(df=1) near('w1','w7')}, '22003' ])
{
	my ($what, $text, $state) = @$_;

	$text =~ s/'/''/g;
	$there[1]->safe_psql('postgres', qq{CREATE OR REPLACE FUNCTION "Ext".skx_ranking_here(regclass, tsquery) RETURNS text LANGUAGE sql AS \$\$SELECT '$text'::text\$\$});
	refused($s, "a server that returns $what", qr/ERROR:  $state: .*CONTEXT:.*server "there1"/s);
}
$there[1]->safe_psql('postgres', q{CREATE OR REPLACE FUNCTION "Ext".skx_ranking_here(regclass, tsquery) RETURNS text LANGUAGE sql AS $$SELECT 'documents=10000000 length=20000000 ''w1''(df=9000000) ''w7''(df=1) near(''w1'',''w7'')'::text$$});
like($s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), qr/^documents=2000\d{4} /, 'one that lies is believed: of each of two tables');
$there[1]->safe_psql('postgres', q{DROP FUNCTION "Ext".skx_ranking_here(regclass, tsquery); UPDATE pg_extension SET extnamespace = '"Away"'::regnamespace WHERE extname = 'skipidx'; ALTER EXTENSION skipidx SET SCHEMA "Ext"});

# A database without the extension.
$there[1]->safe_psql('postgres', 'CREATE DATABASE bare');
$s->value("CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '" . $there[1]->host . "', port '" . $there[1]->port . "', dbname 'bare');"
	  . ' CREATE USER MAPPING FOR CURRENT_USER SERVER bare; CREATE TABLE few (id int, v tsvector) PARTITION BY LIST (id); CREATE FOREIGN TABLE few_1 PARTITION OF few FOR VALUES IN (1) SERVER bare; CREATE INDEX few_v ON few USING skipidx (v)');
refused($s, 'no extension there', qr/55000: extension "skipidx" is not installed on server "bare".*HINT:  CREATE EXTENSION skipidx there/s, 'few_v');

# ---- servers that would ask each other ----

{
	my $ring = 'CREATE TABLE public.ring (id int, v tsvector) PARTITION BY LIST (id); CREATE TABLE public.ring_1 PARTITION OF public.ring FOR VALUES IN (1);'
	  . " CREATE FOREIGN TABLE public.ring_2 PARTITION OF public.ring FOR VALUES IN (2) SERVER %s OPTIONS (table_name 'ring'); CREATE INDEX ring_v ON public.ring USING skipidx (v)";
	my $sessions = sub { return $there[0]->safe_psql('template1', "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'"); };

	$there[0]->safe_psql('postgres', "$ext CREATE EXTENSION postgres_fdw; CREATE SCHEMA \"Links\"; CREATE EXTENSION dblink SCHEMA \"Links\"; CREATE SERVER back FOREIGN DATA WRAPPER postgres_fdw"
		  . " OPTIONS (host '" . $here->host . "', port '" . $here->port . "', dbname 'postgres'); CREATE USER MAPPING FOR CURRENT_USER SERVER back; " . sprintf $ring, 'back');
	$s->value(sprintf $ring, 'there0');
	my $before = $sessions->();

	refused($s, 'a circle', qr/ERROR:  0A000: table "ring" has foreign partitions itself, which are not asked for another server.*circle.*HINT:  Make foreign tables.*CONTEXT:.*server "there0"/s, 'ring_v');
	skx_until('a session there', sub { $sessions->() > $before });
	cmp_ok($sessions->(), '<=', $before + 2, 'a circle: the server is asked once');
}

# ---- waits ----

my @holders = map { skx_session($_, 'postgres') } @there;
my $asked = q{(query LIKE 'SET search_path = pg_catalog%' OR query LIKE '%.skx_ranking_here(%') AND pid <> pg_backend_pid()};
my $waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $asked";
my $connected = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND $asked";

# Both wait for a lock there, and a session here for both.
sub begin_waiting
{
	my ($blind, $session) = @_;

	$holders[0]->value('BEGIN; LOCK TABLE public.docs_3');
	$holders[1]->value('BEGIN; LOCK TABLE public.docs_6');
	($session // $s)->start("SELECT skipidx_ranking('docs_v', 'w1 | w7')");
	return if $blind;
	skx_until('both servers to be asked', sub { sum0(map { $_->safe_psql('postgres', "SELECT count(*) $waiting") } @there) == 2 });
	return;
}

sub end_waiting
{
	my ($what) = @_;

	# which wait for locks that are still held
	skx_until("$what: connections to end", sub { sum0(map { $_->safe_psql('postgres', $connected) } @there) == 0 });
	pass("$what: the servers have ended what they did for it");
	$_->value('ROLLBACK') for @holders;
	is($s->value('SELECT coalesce(cardinality("Links".dblink_get_connections()), 0)'), 0, "$what: no connection is left");
	like($s->value("SELECT skipidx_ranking('docs_v', 'w1 | w7')"), qr/^documents=/, "$what: the session goes on");
	return;
}

begin_waiting();
is($here->safe_psql('postgres', 'SELECT wait_event_type FROM pg_stat_activity WHERE pid = ' . $s->backend), 'Extension', 'both are asked at once');
$_->value('ROLLBACK') for @holders;
like($s->finish, qr/^documents=/, 'both answer');
my $soon = 1000;
for (1 .. 10)
{
	begin_waiting();
	my ($said, $ms) = $s->cancel;

	like($said, qr/ERROR:  57014: canceling statement due to user request/, 'a cancel');
	$soon = $ms if $ms < $soon;
	end_waiting('a cancel');
	last if $soon < 10;
}
cmp_ok($soon, '<', 10, 'a cancel acts at once, ms');
$s->value("SET statement_timeout = '2s'");
begin_waiting(1);
like($s->finish, qr/ERROR:  57014: canceling statement due to statement timeout/, 'statement_timeout');
$s->value('RESET statement_timeout');
end_waiting('statement_timeout');
begin_waiting();
$there[1]->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $waiting");
like($s->finish, qr/ERROR:  (57P01|08\w\w\w): .*CONTEXT:.*server "there1"/s, 'a server that ends the connection');
end_waiting('a server that ends the connection');
{
	my $other = skx_session($here, 'postgres');

	$other->value('SET search_path = public, "Ext"');
	begin_waiting(0, $other);
	kill 'TERM', $other->backend;
	like($other->finish, qr/FATAL:  57P01/, 'a session that is ended');
	end_waiting('a session that is ended');
}
$_->close for @holders;

# ---- other tables ----

$there[0]->safe_psql('postgres', $ext . q{CREATE FUNCTION public.words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE RETURN to_tsvector('english', $1); CREATE TABLE public.notes (id int, body text); CREATE INDEX notes_all ON public.notes USING skipidx (public.words(body)); CREATE INDEX notes_some ON public.notes USING skipidx (public.words(body)) WHERE id > 0;}
	  . q{INSERT INTO public.notes VALUES (1, 'two cats'), (-1, 'a cat'), (2, 'dogs')});
$s->value(<<'SQL');
CREATE FUNCTION words(text) RETURNS tsvector LANGUAGE sql IMMUTABLE RETURN to_tsvector('english', $1);
CREATE TABLE near_notes (id int, body text);
INSERT INTO near_notes VALUES (3, 'one cat'), (-3, 'a cat');
CREATE FOREIGN TABLE far_notes () INHERITS (near_notes) SERVER there0 OPTIONS (table_name 'notes');
CREATE INDEX near_some ON near_notes USING skipidx (words(body)) WHERE id > 0;
CREATE INDEX near_other ON near_notes USING skipidx (to_tsvector('simple', body));
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
SQL
like($s->value(q{SELECT skipidx_ranking('near_some', 'cat')}), qr/^documents=3 length=5 .*'cat'\(df=2\)$/, 'an heir, an expression, a condition');
refused($s, 'another expression', qr/55000: the table of foreign table "far_notes" has no index that is like "near_other"/, 'near_other');
$s->value('CREATE FOREIGN TABLE no_notes () INHERITS (near_notes) SERVER nowhere');
refused($s, 'another wrapper', qr/0A000: server "nowhere" cannot be asked.*HINT/s, 'near_some');

# At last one server is gone.
$there[1]->stop;
refused($s, 'a server that is down', qr/08001: could not establish connection.*CONTEXT:.*server "there1"/s);
skx_until('connections to end', sub { $there[0]->safe_psql('postgres', $connected) == 0 });
like($s->value(q{EXPLAIN SELECT id FROM docs WHERE v @@ 'w1' ORDER BY v <@> skipidx_ranking('docs_v', 'w1') LIMIT 5}), qr/^Limit/, 'a plan asks no server for a ranking');
is($s->value('SELECT 1'), 1, 'the session is well');
$s->close;
$_->stop for $here, $there[0];
done_testing();
