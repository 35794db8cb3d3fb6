# Whoever owns a table writes the expression and the predicate of its index.
# No function of ours lends that code the rights of its caller: a superuser
# calls each of them, and the code, which notes who runs it and tries to make
# its owner a superuser, has gained nothing.  Nor does a reader get the rights
# of the owner.
#
# Holds: document 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_reload);
use Test::More;

my $node = skx_node('rights', conf => "max_parallel_workers = 4\nmin_parallel_table_scan_size = 0");

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE mallory LOGIN;
CREATE DATABASE d;
SQL
$node->safe_psql('d', <<'SQL');
CREATE EXTENSION skipidx;
CREATE SCHEMA s AUTHORIZATION mallory;
SQL

# The functions are said to be immutable, which nothing verifies.  What they
# find is told in the log, where that of workers stands as well.
my $as = 'SET SESSION AUTHORIZATION mallory;';

$node->safe_psql('d', $as . <<'SQL');
CREATE FUNCTION s.seize() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'evaluated as %', current_user;
	-- In a security-restricted operation the role cannot be changed back.
	BEGIN
		EXECUTE 'SET ROLE NONE';
		RAISE WARNING 'role was set';
	EXCEPTION WHEN insufficient_privilege THEN
		NULL;
	END;
	BEGIN
		EXECUTE 'ALTER ROLE mallory SUPERUSER';
	EXCEPTION WHEN insufficient_privilege THEN
		NULL;
	END;
	-- Nor may a setting that the caller goes on with be changed.
	PERFORM set_config('search_path', 's, public', false);
END $$;
CREATE FUNCTION s.document(body text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM s.seize();
	RETURN to_tsvector('simple'::regconfig, body);
END $$;
CREATE FUNCTION s.chosen(body text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM s.seize();
	RETURN body <> '';
END $$;
CREATE TABLE s.docs (id int, body text) WITH (parallel_workers = 2);
INSERT INTO s.docs SELECT i, 'all w' || i % 10 FROM generate_series(1, 100) i;
CREATE INDEX docs_i ON s.docs USING skipidx (s.document(body)) WHERE s.chosen(body);
SQL

my $log = 0;

# How often the log tells of it since forget().
sub told
{
	my ($what) = @_;

	return scalar(() = slurp_file($node->logfile, $log) =~ /WARNING:  $what$/mg);
}

sub forget
{
	$log = -s $node->logfile;
	return;
}

# A superuser runs it.  `evaluates`: it has to evaluate the expression.
sub gains_nothing
{
	my ($what, $evaluates, $sql) = @_;

	forget();
	my $path = $node->safe_psql('d', "SET search_path = pg_catalog, public; $sql \\g /dev/null\nSHOW search_path");

	cmp_ok(told('evaluated as mallory'), '>', 0, "$what: the expression was evaluated") if $evaluates;
	is(told('evaluated as mallory'), 0, "$what: nothing was evaluated") unless $evaluates;
	is(told('evaluated as (?!mallory).*'), 0, "$what: not by another user than its owner");
	is(told('role was set'), 0, "$what: in a restricted operation");
	is($path, 'pg_catalog, public', "$what: settings of the session are as before");
	is($node->safe_psql('d', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}),
		'f', "$what: the owner is no superuser");
	return;
}

my $row = q{(SELECT ctid FROM s.docs ORDER BY id LIMIT 1)};

gains_nothing('explain_score', 1, "SELECT * FROM skipidx_explain_score('s.docs_i', $row, 'all & w1')");
gains_nothing('check with the table', 1, q{SELECT skipidx_check('s.docs_i', true)});
gains_nothing('check', 0, q{SELECT skipidx_check('s.docs_i')});
gains_nothing('search', 0, q{SELECT * FROM skipidx_search('s.docs_i', 'all', 5)});
gains_nothing('search, ranked by others', 0, q{SELECT * FROM skipidx_search('s.docs_i', 'all', 5, 'w1 | w2')});
gains_nothing('bm25', 0, q{SELECT skipidx_bm25('s.docs_i', 'all:1 w1:2', 'all & w1')});
gains_nothing('proximity', 0, q{SELECT skipidx_proximity('s.docs_i', 'all:1 w1:2', 'all & w1')});
gains_nothing('query', 0, q{SELECT 'all:1'::tsvector <@> skipidx_query('all', 's.docs_i')});
gains_nothing('stats', 0, q{SELECT * FROM skipidx_stats('s.docs_i')});
gains_nothing('segments', 0, q{SELECT * FROM skipidx_segments('s.docs_i')});
gains_nothing('prewarm', 0, q{SELECT skipidx_prewarm('s.docs_i')});
gains_nothing('flush', 0, q{SELECT skipidx_flush('s.docs_i')});
gains_nothing('merge', 0, q{SELECT skipidx_merge('s.docs_i')});
gains_nothing('planning', 0, q{EXPLAIN SELECT id FROM s.docs WHERE s.document(body) @@ 'all' AND s.chosen(body)
	ORDER BY s.document(body) <@> 'all'::tsquery LIMIT 3});
gains_nothing('REINDEX', 1, q{REINDEX INDEX s.docs_i});
gains_nothing('REINDEX CONCURRENTLY', 1, q{REINDEX INDEX CONCURRENTLY s.docs_i});
$node->safe_psql('d', "$as DELETE FROM s.docs WHERE id % 3 = 0");
gains_nothing('VACUUM', 0, q{VACUUM s.docs});
gains_nothing('ANALYZE', 1, q{ANALYZE s.docs});

# A reader chooses in many ways what code of the owner calls that is not written
# in C: so it is refused.  What is written in C is evaluated.
$node->safe_psql('d', <<'SQL');
CREATE ROLE eve LOGIN;
CREATE SCHEMA eve AUTHORIZATION eve;
GRANT USAGE ON SCHEMA eve TO PUBLIC;
GRANT USAGE ON SCHEMA s TO eve;
GRANT CREATE ON DATABASE d TO mallory;
SET SESSION AUTHORIZATION mallory;
CREATE DOMAIN s.clean AS text CHECK (VALUE <> 'x');
CREATE FUNCTION s.careless(body text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE SET search_path = s, pg_catalog AS
	$$ DECLARE t clean := body; BEGIN RETURN to_tsvector('simple'::regconfig, t); END $$;
CREATE FUNCTION s.inlined(body text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS
	$$ SELECT to_tsvector('simple'::regconfig, body) $$;
CREATE FUNCTION s.size(id int) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN abs(id); END $$;
CREATE TYPE s.number AS (n numeric);
CREATE FUNCTION s.compare(a s.number, b s.number) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN PERFORM s.seize(); RETURN sign(a.n - b.n)::int; END $$;
CREATE FUNCTION s.less(a s.number, b s.number) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN a.n < b.n; END $$;
RESET SESSION AUTHORIZATION;
CREATE OPERATOR s.< (LEFTARG = s.number, RIGHTARG = s.number, FUNCTION = s.less);
CREATE OPERATOR CLASS s.number_ops DEFAULT FOR TYPE s.number USING btree AS OPERATOR 1 s.<, FUNCTION 1 s.compare(s.number, s.number);
SET SESSION AUTHORIZATION mallory;
CREATE TABLE s.more (id int, body text);
INSERT INTO s.more SELECT i, 'all w' || i FROM generate_series(1, 5) i;
CREATE INDEX more_i ON s.more USING skipidx (s.careless(body), (s.size(id)), (abs(id)), (id::text::s.clean),
	((greatest(row(id)::s.number, row(3)::s.number)).n));
CREATE INDEX more_c ON s.more USING skipidx (to_tsvector('simple'::regconfig, lower(body)), (greatest(id, 3)));
CREATE INDEX more_s ON s.more USING skipidx (s.inlined(body));
GRANT SELECT ON s.more TO eve;
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION eve;
CREATE FUNCTION eve.evil(t text) RETURNS bool LANGUAGE plpgsql AS
	$$ BEGIN RAISE WARNING 'stolen from %', current_user; RETURN true; END $$;
SQL

# A domain of the reader's own in the place of the owner's.
my $trap = q{SET SESSION AUTHORIZATION eve; CREATE DOMAIN pg_temp.clean AS text CHECK (eve.evil(VALUE));};

for my $call (q{skipidx_explain_score('s.more_i', '(0,1)', 'all')}, map { "skipidx_facets('s.more_i', 'all', '$_')" } 'size', 'id', 'n')
{
	forget();
	my ($out, $err);
	my $status = $node->psql('d', "$trap SELECT * FROM $call", stdout => \$out, stderr => \$err);

	isnt($status, 0, "$call: refused to a reader");
	like($err, qr/cannot be evaluated for a role without the rights of the owner/, 'and why');
	is(told('stolen from .*') + told('evaluated as .*'), 0, 'and nothing was evaluated');
}
for my $call (q{skipidx_explain_score('s.more_c', '(0,1)', 'all')}, q{skipidx_explain_score('s.more_s', '(0,1)', 'all')},
	map { "skipidx_facets('$_)" } "s.more_i', 'all', 'abs'", "s.more_c', 'all', 'greatest'")
{
	cmp_ok($node->safe_psql('d', "$trap SELECT count(*) FROM $call"), '>', 0, "$call: not refused");
}
cmp_ok($node->safe_psql('d', "SELECT count(*) FROM $_"), '>', 0, "$_: not refused to a superuser")
	for q{skipidx_explain_score('s.more_i', '(0,1)', 'all')}, q{skipidx_facets('s.more_i', 'all', 'n')};

# Workers can have no subtransactions, and refuse nearly everything else.
$node->safe_psql('d', $as . <<'SQL');
CREATE OR REPLACE FUNCTION s.seize() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'evaluated as %', current_user;
	PERFORM pg_sleep(0.001);
END $$;
-- Pages enough for each process to have some while another sleeps.
INSERT INTO s.docs SELECT i, 'all ' || repeat('word ', 150) FROM generate_series(1, 500) i;
ALTER FUNCTION s.document(text) PARALLEL SAFE;
ALTER FUNCTION s.chosen(text) PARALLEL SAFE;
SQL
$node->safe_psql('d', q{ALTER SYSTEM SET log_line_prefix = '%b '});
skx_reload($node);
gains_nothing('REINDEX by several processes', 1,
	q{SET max_parallel_maintenance_workers = 2; REINDEX INDEX s.docs_i});
like(slurp_file($node->logfile, $log), qr/^parallel worker WARNING:  evaluated as mallory/m,
	'REINDEX by several processes: a worker has evaluated it');

# An error in it leaves everything as it was, in a subtransaction too.
$node->safe_psql('d', $as . <<'SQL');
CREATE OR REPLACE FUNCTION s.document(body text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM s.seize();
	RAISE 'stop';
END $$;
SQL

my $s = skx_session($node, 'd');

for my $call ("skipidx_explain_score('s.docs_i', $row, 'all')", q{skipidx_check('s.docs_i', true)})
{
	forget();
	like($s->raw("BEGIN; SAVEPOINT a; SELECT $call"), qr/P0001: stop/, "$call: fails");
	is($s->raw('ROLLBACK TO a; SELECT current_user = session_user, rolsuper FROM pg_roles'
			  . ' WHERE rolname = current_user; COMMIT'), 't|t', 'and the session is whose it was');
	is(told('evaluated as (?!mallory).*'), 0, 'and its owner ran it');
}

done_testing();
