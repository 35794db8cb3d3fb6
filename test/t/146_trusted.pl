# A role that may create schemas in a database, and no more, installs the
# extension there and uses it; what belongs to superusers stays theirs.
#
# Holds: functions 1, 2, 3; inspect 1, 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('trusted');

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE tenant LOGIN;
CREATE ROLE guest LOGIN;
CREATE DATABASE d;
GRANT CREATE ON DATABASE d TO tenant;
SQL

my $s = skx_session($node, 'd');

$s->value('SET SESSION AUTHORIZATION tenant');
is($s->value('SELECT rolsuper FROM pg_roles WHERE rolname = current_user'), 'f', 'no superuser');

# What lies in the schema before must not be taken for what the script makes.
$s->value(<<'SQL');
CREATE SCHEMA mine;
CREATE FUNCTION mine.evil(tsvector, tsquery) RETURNS bool LANGUAGE plpgsql AS
	$$ BEGIN RAISE 'called as %', current_user; END $$;
CREATE FUNCTION mine.evil8(int8, int8) RETURNS bool LANGUAGE plpgsql AS
	$$ BEGIN RAISE 'called as %', current_user; END $$;
CREATE OPERATOR mine.@@ (LEFTARG = tsvector, RIGHTARG = tsquery, FUNCTION = mine.evil);
CREATE OPERATOR mine.= (LEFTARG = int8, RIGHTARG = int8, FUNCTION = mine.evil8);
CREATE OPERATOR mine.* (LEFTARG = int8, RIGHTARG = int8, FUNCTION = mine.evil8);
CREATE TYPE mine.tsvector AS ENUM ('evil');
CREATE FUNCTION mine.skx_distance(pg_catalog.tsvector, pg_catalog.varchar) RETURNS float4 LANGUAGE plpgsql AS
	$$ BEGIN RAISE 'called as %', current_user; END $$;
CREATE EXTENSION skipidx SCHEMA mine;
SQL
is($s->value(q{SELECT count(*) FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.deptype = 'e'
		JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
		WHERE e.extname = 'skipidx' AND p.proowner = 'tenant'::regrole}),
	0, 'its functions belong to the superuser who trusts it');
is($s->value(q{SELECT oprnamespace::regnamespace FROM pg_amop o JOIN pg_operator p ON p.oid = o.amopopr JOIN pg_opfamily f ON f.oid = o.amopfamily
		JOIN pg_am a ON a.oid = f.opfmethod
		WHERE amname = 'skipidx' AND opfname = 'tsvector_ops' AND amopstrategy = 1}),
	'pg_catalog', 'the operator is that of the system');

$s->value(<<'SQL');
SET search_path = pg_catalog, mine;
CREATE TABLE mine.docs (id int, v pg_catalog.tsvector);
INSERT INTO mine.docs SELECT i, ('all:1 w' || i % 7 || ':2')::pg_catalog.tsvector FROM generate_series(1, 700) i;
CREATE INDEX docs_v ON mine.docs USING skipidx (v);
INSERT INTO mine.docs VALUES (0, 'all:1 late:2');
SET enable_seqscan = off;
SQL
is($s->value(q{SELECT count(*) FROM mine.docs WHERE v @@ 'w3'}), 100, 'it answers');
is($s->value(q{SELECT id FROM mine.docs WHERE v @@ 'all' ORDER BY v <@> 'late | all' LIMIT 1}), 0, 'it ranks');
is($s->value(q{SELECT skipidx_flush('mine.docs_v'), skipidx_merge('mine.docs_v')}), '1|1', 'it is maintained');
is($s->raw(q{SELECT skipidx_check('mine.docs_v', true)}), '', 'and checked');
is($s->value(q{SELECT count(*) >= 0 FROM mine.skipidx_io}), 't', 'its view is read');

# ---- what is not the tenant's ----

like($s->raw($_), qr/42501: /, "refused: $_")
  for 'SELECT skipidx_cache_reset()', 'SELECT skipidx_calibrate()', 'GRANT EXECUTE ON FUNCTION mine.skipidx_cache_reset() TO tenant',
  q{SET skipidx.fault = 'flush_begin:error'},
  q{CREATE OR REPLACE FUNCTION mine.skipidx_work() RETURNS int LANGUAGE sql AS 'SELECT 1'},
  'CREATE OR REPLACE VIEW mine.skipidx_io AS SELECT 1',
  'CREATE OPERATOR CLASS mine.mine_ops FOR TYPE int4 USING skipidx AS OPERATOR 1 <',
  'CREATE CAST (bytea AS mine.skipidx_ref) WITHOUT FUNCTION', q{CREATE FUNCTION mine.h(internal) RETURNS index_am_handler AS '$libdir/skipidx', 'skx_handler' LANGUAGE C};
like($s->raw($_), qr/ERROR:  (0A000|22P02|42804|42883|42846)/, "refused: $_")
  for q{SELECT 'x'::skipidx_ref}, q{SELECT skx_ref_in('x')}, q{SELECT skx_handler(NULL)},
  q{SELECT skx_distance_support(NULL)}, q{SELECT '\\x00'::bytea::skipidx_ref},
  q{SELECT skx_ref_recv(NULL)};

# ---- another role, without any right on the table ----

$s->value(q{GRANT USAGE ON SCHEMA mine TO guest; SET SESSION AUTHORIZATION guest});
like($s->raw("SELECT $_"), qr/42501: /, "guest: $_")
  for "* FROM skipidx_stats('mine.docs_v')", "* FROM skipidx_segments('mine.docs_v')", "skipidx_check('mine.docs_v')",
  "skipidx_check('mine.docs_v', true)", "skipidx_flush('mine.docs_v')", "skipidx_merge('mine.docs_v')",
  "skipidx_prewarm('mine.docs_v')", "* FROM skipidx_search('mine.docs_v', 'all')", "* FROM skipidx_search('mine.docs_v', 'all', after => '\\x00')",
  "* FROM skipidx_scroll('mine.docs_v', 'all')", "skipidx_count('mine.docs_v', 'all')", "* FROM skipidx_facets('mine.docs_v', 'all', 'id')",
  "* FROM skipidx_facets('mine.docs_v', 'all', '{id}'::text[])", "* FROM skipidx_histogram('mine.docs_v', 'all', 'id', '{1}'::int[])", "skipidx_count('mine.docs_v', 'all', true)",
  "skipidx_bm25('mine.docs_v', 'all:1', 'all')", "skipidx_proximity('mine.docs_v', 'all:1', 'all')",
  "* FROM skipidx_explain_score('mine.docs_v', '(0,1)', 'all')", "skipidx_query('all', 'mine.docs_v')",
  "* FROM skipidx_terms('mine.docs_v')", "* FROM skipidx_suggest('mine.docs_v', 'all')", "* FROM skipidx_complete('mine.docs_v', 'a', 10, 'all')", "skipidx_expand_query('mine.docs_v', 'all')", "skipidx_expand('mine.docs_v', 'all')", "skipidx_ranking_of_groups('mine.docs_v', 'all', '{}')",
  "skipidx_any_of('mine.docs_v', 'all')", "* FROM skipidx_any_of_words('mine.docs_v', 'all')", "* FROM skipidx_slices('mine.docs_v', 'id', 2)",
  'skipidx_cache_reset()';

# Any object, any number, where an index or a place is expected.
for my $oid ("'pg_class'", "'pg_class_oid_index'", "'pg_toast.pg_toast_2619'", "'mine.docs'", 0, 4294967295)
{
	for my $call ('* FROM skipidx_stats(%s)', '* FROM skipidx_segments(%s)', 'skipidx_check(%s)', 'skipidx_flush(%s)',
		'skipidx_merge(%s)', 'skipidx_prewarm(%s)', q{* FROM skipidx_search(%s, 'all')}, q{skipidx_count(%s, 'all')}, q{* FROM skipidx_scroll(%s, 'all')},
		q{* FROM skipidx_facets(%s, 'all', 'id')}, q{* FROM skipidx_histogram(%s, 'all', 'id', '{1}'::int[])},
		q{* FROM skipidx_terms(%s)}, q{* FROM skipidx_suggest(%s, 'all')}, q{* FROM skipidx_complete(%s, 'a', 10, 'all')}, q{skipidx_expand_query(%s, 'all')}, q{skipidx_expand(%s, 'all')}, q{skipidx_ranking_of_groups(%s, 'all', '{}')},
		q{skipidx_any_of(%s, 'all')}, q{* FROM skipidx_any_of_words(%s, 'all')}, q{* FROM skipidx_slices(%s, 'id', 2)},
		q{skipidx_bm25(%s, 'all:1', 'all')}, q{* FROM skipidx_explain_score(%s, '(4294967295,65535)', 'all')})
	{
		my $sql = sprintf "SELECT $call", "$oid" =~ /^\d/ ? "$oid\::oid::regclass" : $oid;

		like($s->raw($sql), qr/ERROR:  (42809|42501|42P01|XX000: could not open relation)/, $sql);
	}
}
$s->value('SET SESSION AUTHORIZATION tenant');
like($s->raw("SELECT $_"), qr/ERROR:  (22023|P0002|02000)/, $_)
  for "skipidx_merge('mine.docs_v', 0)", "skipidx_merge('mine.docs_v', -2147483648)",
  "* FROM skipidx_search('mine.docs_v', 'all', -1)", "* FROM skipidx_search('mine.docs_v', 'all', after => '\\x00')",
  map { "* FROM skipidx_explain_score('mine.docs_v', '$_', 'all')" } '(0,0)', '(4294967295,0)', '(4294967295,65535)',
  '(0,65535)', '(4294967294,1)';
is($s->value("SELECT count(*) FROM skipidx_search('mine.docs_v', 'all', 2147483647)"), 701, 'the largest k');

$s->value('DROP EXTENSION skipidx CASCADE');
is($s->value(q{SELECT count(*) FROM pg_class WHERE relname = 'docs_v'}), 0, 'and it is gone');
$s->close;
done_testing();
