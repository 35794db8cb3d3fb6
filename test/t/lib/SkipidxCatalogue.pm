# SkipidxCatalogue: all that a database's catalogues have of the extension, as
# lines that are the same for the same objects in any database.
#
# A line is a row; what it refers to stands by its name, as the server tells which
# columns do.  So it has whatever columns a server adds.

package SkipidxCatalogue;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(skx_catalogue);

# Columns that are of a storage, or of a transaction, and no property of an object;
# and options of columns, of which some servers have one that differs each time.
my $apart = q{'{oid,objoid,attoptions,relfilenode,relfrozenxid,relminmxid,relpages,reltuples,relallvisible}'::name[]};

my $functions = <<"SQL";
CREATE FUNCTION pg_temp.named(class oid, object oid) RETURNS text STABLE LANGUAGE sql AS
	\$\$ SELECT CASE WHEN object = 0 THEN '-' ELSE (pg_identify_object(class, object, 0)).identity END \$\$;
-- A value of a column that refers to other objects, by their names.
CREATE FUNCTION pg_temp.resolved(class oid, value text) RETURNS text STABLE LANGUAGE sql AS \$\$
	SELECT string_agg(pg_temp.named(class, object::oid), ' ' ORDER BY place)
	FROM regexp_split_to_table(btrim(value, '{}'), '[, ]+') WITH ORDINALITY AS o (object, place) WHERE object <> '' \$\$;
-- The rows of a catalogue that meet a condition, each as a text.
CREATE FUNCTION pg_temp.rows_of(class regclass, condition text) RETURNS SETOF text STABLE LANGUAGE plpgsql AS \$\$
DECLARE
	columns text;
BEGIN
	SELECT string_agg(format('%L || coalesce(', ' ' || attname || '=') || CASE
			WHEN target IS NOT NULL THEN format('pg_temp.resolved(%s, %I%s::text)', target::oid, attname, CASE WHEN atttypid = 'regproc'::regtype THEN '::oid' END)
			WHEN atttypid = 'aclitem[]'::regtype THEN format('(SELECT string_agg(a::text, '' '' ORDER BY a::text) FROM unnest(%I) a)', attname)
			ELSE format('%I::text', attname) END || ', ''NULL'')', ' || ' ORDER BY attnum)
		INTO columns
		FROM pg_attribute
			LEFT JOIN (SELECT (fkcols)[1] AS fkcol, min(pktable::oid)::regclass AS target FROM pg_get_catalog_foreign_keys()
				WHERE fktable = class AND fkcols[2] IS NULL AND pkcols = '{oid}' GROUP BY 1) f ON fkcol = attname
		WHERE attrelid = class AND attnum > 0 AND attname <> ALL ($apart) AND atttypid <> 'pg_node_tree'::regtype;
	RETURN QUERY EXECUTE format('SELECT %s FROM %s WHERE %s', columns, class, condition);
END \$\$;
SQL

# Rows that belong to a member: its catalogue, theirs, and the condition on them.
my @parts = (
	[ 'pg_proc', 'pg_aggregate', 'aggfnoid = $1' ],
	[ 'pg_opfamily', 'pg_amop', 'amopfamily = $1' ],
	[ 'pg_opfamily', 'pg_amproc', 'amprocfamily = $1' ],
	[ 'pg_class', 'pg_attribute', 'attrelid = $1 AND attnum > 0' ],
	[ 'pg_type', 'pg_class', 'reltype = $1' ],
	[ 'pg_type', 'pg_attribute', 'attrelid = (SELECT typrelid FROM pg_type WHERE oid = $1) AND attnum > 0' ],
	[ undef, 'pg_init_privs', 'objoid = $1 AND classoid = $2' ],
	[ undef, 'pg_description', 'objoid = $1 AND classoid = $2' ]);

# The lines of a database, sorted; as they would be after a change, if one is given.
sub skx_catalogue
{
	my ($node, $database, $change) = @_;
	my $values = join ', ',
	  map { sprintf "(%s, '%s'::regclass, '%s')", defined $_->[0] ? "'$_->[0]'::regclass" : 'NULL::regclass', $_->[1], $_->[2] } @parts;
	my $lines = $node->safe_psql($database, "BEGIN;\n" . (defined $change ? "$change;\n" : '') . $functions . <<"SQL");
WITH part (of, class, condition) AS (VALUES $values),
member AS (
	SELECT classid, objid, (pg_identify_object(classid, objid, 0)).identity AS object
	FROM pg_depend JOIN pg_extension e ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid AND extname = 'skipidx'
	WHERE deptype = 'e'
	UNION ALL SELECT 'pg_extension'::regclass, oid, 'extension' FROM pg_extension WHERE extname = 'skipidx'),
line (text) AS (
	SELECT object || ' | ' || classid::regclass || ' |' || found
		FROM member, LATERAL pg_temp.rows_of(classid, 'oid = ' || objid) found
	UNION ALL SELECT object || ' | ' || class || ' |' || found
		FROM member JOIN part ON of = classid OR of IS NULL,
			LATERAL pg_temp.rows_of(class, replace(replace(condition, '\$1', objid::text), '\$2', classid::oid::text)) found
	UNION ALL SELECT object || ' | arguments | ' || pg_get_function_arguments(objid) || ' ' || coalesce(pg_get_function_sqlbody(objid), '')
		FROM member WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT object || ' | view | ' || pg_get_viewdef(objid)
		FROM member JOIN pg_class ON classid = 'pg_class'::regclass AND pg_class.oid = objid AND relkind = 'v'
	UNION ALL SELECT object || ' | depends | ' || (pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid)).identity || ' ' || d.deptype::text
		FROM member JOIN pg_depend d USING (classid, objid)
		WHERE NOT (d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'))
SELECT regexp_replace(text, '\\s+', ' ', 'g') FROM line ORDER BY 1;
ROLLBACK;
SQL

	return split /\n/, $lines;
}

1;
