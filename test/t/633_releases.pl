# Library, control file, script and change log are of one release.  A script that
# is newer than the library is refused, and says what to install.  Whatever
# scripts made the objects of a database, they are those of a new installation,
# made by a superuser or not, in any schema.
#
# Holds: functions 24

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxCatalogue qw(skx_catalogue);
use SkipidxInstall qw(skx_install);
use SkipidxTest qw(skx_node);
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $install = skx_install('releases');
my $node = skx_node('releases', install => $install->{path});
my ($release) = slurp_file("$top/skipidx.control") =~ /^default_version = '(.*)'$/m;
my $script = slurp_file("$top/sql/skipidx--$release.sql");

is($node->safe_psql('postgres', "SELECT setting FROM pg_config WHERE name = 'SHAREDIR'") . '/extension',
	$install->{extension}, 'the server reads the scripts of this test');

# ---- one release ----

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');
is($node->safe_psql('postgres', 'SELECT skipidx_version()'), $release, 'the library is that of the control file');
is($node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'skipidx'}), $release, 'so are the objects');
my ($newest) = slurp_file("$top/CHANGELOG.md") =~ /^## (\S+)/m;
like($release, qr/^\Q$newest\E(dev)?$/, 'the first changes of the change log are those of this release');
SKIP:
{
	my @meta = grep { -e "$top/$_" } 'META.json', 'packaging/META.json', 'packaging/pgxn/META.json';

	skip 'no META.json', 1 if @meta == 0;
	my ($meta) = slurp_file("$top/$meta[0]") =~ /"version"\s*:\s*"([^"]*)"/;
	like($meta, qr/^\Q$newest\E(\.0)?(-?dev)?$/, 'and of META.json');
}

# What is planned for each object that users name, and how it comes.
my ($planned) = slurp_file("$top/CONTRIBUTING.md") =~ /^## SQL objects\n(.*?)^## /ms;

like($planned, qr/^\|[^|]*`\Q$_\E(\(\))?`/m, "CONTRIBUTING.md says what may become of $_")
  for split /\n/, $node->safe_psql('postgres', q{SELECT DISTINCT proname FROM pg_proc WHERE proname ~ '^skipidx_'
	UNION SELECT relname FROM pg_class WHERE relname ~ '^skipidx_' AND relkind = 'v'});

# ---- each script asks for its release first ----

# Statements of a script, without comments.
sub statements
{
	my $text = shift =~ s{/\*.*?\*/}{}gsr;

	$text =~ s/^\\.*$//mg;
	$text =~ s/--.*$//mg;
	return grep { /\S/ } map { s/^\s+|\s+$//gr } split /;\s*$/m, $text;
}

for my $path (glob "$top/sql/skipidx--*.sql")
{
	my ($made) = $path =~ /--([^-]+)\.sql$/;
	my @first = grep { !/^(CREATE|COMMENT ON) FUNCTION skx_requires\(/ } statements(slurp_file($path));

	is($first[0], "SELECT skx_requires('$made'::pg_catalog.text)", "$path asks for its release first");
	like(slurp_file($path), qr/^\\echo .*\\quit$/m, "$path is not for psql");
}

# ---- a newer script, an older library ----

sub write_script
{
	my ($versions, $text) = @_;

	unlink "$install->{extension}/skipidx--$versions.sql";
	append_to_file("$install->{extension}/skipidx--$versions.sql", $text);
	return;
}

sub refused
{
	my ($sql, $needed, $name) = @_;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	like($error, qr/55000: these objects need the library of skipidx \Q$needed\E or later/, "$name is refused");
	like($error, qr/that of \Q$release\E\./, "$name: which library there is");
	like($error, qr/HINT:  Install skipidx \Q$needed\E,/, "$name: what to do");
	return;
}

write_script('99.1', $script =~ s/'\Q$release\E'::/'99.1'::/r);
write_script("$release--99.1", "SELECT skx_requires('99.1'::pg_catalog.text);\nCREATE TABLE too_late ();");
refused(q{ALTER EXTENSION skipidx UPDATE TO '99.1'}, '99.1', 'an update');
is($node->safe_psql('postgres', q{SELECT extversion, to_regclass('too_late') FROM pg_extension WHERE extname = 'skipidx'}),
	"$release|", 'nothing of it was made');
$node->safe_psql('postgres', 'DROP EXTENSION skipidx');
refused(q{CREATE EXTENSION skipidx VERSION '99.1'}, '99.1', 'an installation');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE proname ~ '^sk(x|ipidx)_'}), 0, 'nothing of it was made, either');

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');
my ($bare) = $release =~ /^([\d.]+)/;
my %newer = ("$bare.1" => 1, '99.0dev' => 1, '0.9' => 0, '0.9.9' => 0, $release => 0, $bare => 0, "${bare}zz" => 0, '0.10' => 0);

is($node->psql('postgres', "SELECT skx_requires('$_')") != 0 ? 1 : 0, $newer{$_} ? 1 : 0, "skx_requires('$_')") for sort keys %newer;
for ('', '1.', 'dev', '1.0.0.0', '1..0', '1.0 ', '-1.0', '1.0;', '99999999.0')
{
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT skx_requires('$_')");

	like($error, qr/22023: "\Q$_\E" is no release/, "'$_' is no release");
}

# ---- what the chain makes is what a new installation makes ----

# A script on the way to this one, from which the second part is missing; what the
# second part changes, it changes back.
my @all = statements($script);
my ($cut) = grep { $all[$_] =~ /^CREATE FUNCTION skipidx_bm25/ } 0 .. $#all;
my @before = @all[ 0 .. $cut - 1 ];
my @after = @all[ $cut .. $#all ];

s/^SELECT skx_requires\(.*/SELECT skx_requires('0.9'::pg_catalog.text)/ for @before;
my @changed = (
	[ 'CREATE FUNCTION skipidx_work(', 'PARALLEL RESTRICTED', 'PARALLEL UNSAFE', 'ALTER FUNCTION skipidx_work() PARALLEL RESTRICTED' ],
	[ 'CREATE FUNCTION skipidx_cache(', 'VOLATILE', 'STABLE', 'ALTER FUNCTION skipidx_cache() VOLATILE' ],
	[ 'REVOKE ALL ON FUNCTION skipidx_cache_reset()', '.*', 'SELECT 1', 'REVOKE ALL ON FUNCTION skipidx_cache_reset() FROM PUBLIC' ],
	[ 'COMMENT ON TYPE skipidx_io_counts', "'.*'", "'something else'", q{COMMENT ON TYPE skipidx_io_counts IS 'counts of reads of skipidx segments'} ],
	[ 'CREATE OPERATOR !&& ', 'RESTRICT = .*', 'RESTRICT = pg_catalog.contsel)',
		'ALTER OPERATOR !&& (pg_catalog.anyarray, pg_catalog.anyarray) SET (RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel)' ],
	[ 'CREATE VIEW skipidx_merges ', 'LEFT JOIN', 'JOIN', (grep { /^CREATE VIEW skipidx_merges / } @all)[0] =~ s/^CREATE VIEW/CREATE OR REPLACE VIEW/r ]);

for (@changed)
{
	my ($begin, $pattern, $other, $back) = @$_;
	my ($statement) = grep { index($_, $begin) == 0 } @before or die "no statement $begin";

	$statement =~ s/$pattern/$other/s or die "$begin: no $pattern";
	@before = map { index($_, $begin) == 0 ? $statement : $_ } @before;
	push @after, $back;
}
unshift @after, "SELECT skx_requires('$release'::pg_catalog.text)";
sub script_of { return join '', map { "$_;\n" } @_; }
write_script('0.9', script_of(@before));
write_script("0.9--$release", script_of(@after));

$node->safe_psql('postgres', 'DROP EXTENSION skipidx; CREATE ROLE tenant LOGIN');

# A database with the extension as the statements make it, by a role, in a schema.
my $made = 0;

sub database
{
	my ($role, $schema, @statements) = @_;
	my $name = 'd' . ++$made;

	$node->safe_psql('postgres', "CREATE DATABASE $name; GRANT CREATE ON DATABASE $name TO tenant");
	$node->safe_psql($name, join ';', "GRANT CREATE ON SCHEMA public TO tenant; SET SESSION AUTHORIZATION $role",
		$schema eq 'public' ? () : "CREATE SCHEMA $schema", @statements);
	return $name;
}

# Lines that only one of two lists has.
sub differences
{
	my ($a, $b) = @_;
	my %count;

	$count{$_}++ for @$a;
	$count{$_}-- for @$b;
	return map { ($count{$_} > 0 ? '- ' : '+ ') . $_ } grep { $count{$_} != 0 } sort keys %count;
}

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my %fresh;

for my $role ($superuser, 'tenant')
{
	for my $schema ('public', 'Other "schema"')
	{
		my $quoted = $schema eq 'public' ? 'public' : q{"Other ""schema"""};
		my @new = skx_catalogue($node, database($role, $quoted, "CREATE EXTENSION skipidx SCHEMA $quoted"));
		my %classes = map { (split / \| /)[1] => 1 } @new;

		$fresh{"$role $schema"} = \@new;
		cmp_ok(@new, '>', 900, "$role, $schema: a new installation");
		is(join(' ', grep { !$classes{$_} } qw(pg_am pg_aggregate pg_amop pg_amproc pg_cast pg_class pg_description pg_extension pg_init_privs
				pg_opclass pg_operator pg_opfamily pg_proc pg_type arguments depends view)), '', "$role, $schema: all kinds of rows");
		# those that there are, and the one of this test
		for my $from (split /\n/, $node->safe_psql('postgres', "SELECT source FROM pg_extension_update_paths('skipidx')
			WHERE target = '$release' AND path IS NOT NULL AND source IN (SELECT version FROM pg_available_extension_versions WHERE name = 'skipidx')
			AND source <> target"))
		{
			next unless -e "$install->{extension}/skipidx--$from.sql";
			my $chain = database($role, $quoted, "CREATE EXTENSION skipidx SCHEMA $quoted VERSION '$from'",
				'ALTER EXTENSION skipidx UPDATE');

			is(join("\n", differences(\@new, [ skx_catalogue($node, $chain) ])), '', "$role, $schema: from $from");
			is($node->safe_psql($chain, "SET search_path = $quoted; SELECT skipidx_version()"), $release, "$role, $schema: from $from it works");
		}
	}
}
is(join("\n", grep { /owner=/ && !/owner=\Q$superuser\E( |$)/ && !/^extension / } @{ $fresh{'tenant public'} }), '',
	'what a tenant has made belongs to the superuser');

# ---- each difference is seen ----

# What is done to a database, and the line that must differ: its beginning, and what
# it has then.  The last one takes away what others are about.
my @mutations = (
	[ 'ALTER FUNCTION skipidx_flush(regclass) PARALLEL SAFE', 'public.skipidx_flush(pg_catalog.regclass) | pg_proc', 'proparallel=s' ],
	[ 'ALTER FUNCTION skipidx_count(regclass, tsquery, bool) VOLATILE', 'public.skipidx_count(', 'provolatile=v' ],
	[ 'ALTER FUNCTION skipidx_any(text) COST 101', 'public.skipidx_any(pg_catalog.text) | pg_proc', 'procost=101' ],
	[ 'ALTER FUNCTION skipidx_search ROWS 11', 'public.skipidx_search(', 'prorows=11' ],
	[ 'ALTER FUNCTION skipidx_page(regclass, int8) CALLED ON NULL INPUT', 'public.skipidx_page(', 'proisstrict=false' ],
	[ 'ALTER FUNCTION skipidx_page(regclass, int8) SECURITY DEFINER', 'public.skipidx_page(', 'prosecdef=true' ],
	[ 'ALTER FUNCTION skipidx_page(regclass, int8) SET work_mem = 64', 'public.skipidx_page(', 'proconfig={work_mem=64}' ],
	[ 'ALTER FUNCTION skx_match(anyelement, skipidx_words) OWNER TO tenant', 'public.skx_match(', 'proowner=tenant' ],
	[ 'ALTER FUNCTION skx_match(anyelement, skipidx_words) SUPPORT skx_distance_support', 'public.skx_match(',
		'prosupport=public.skx_distance_support(pg_catalog.internal)' ],
	[ 'GRANT EXECUTE ON FUNCTION skipidx_cache_reset() TO PUBLIC', 'public.skipidx_cache_reset() | pg_proc', "proacl==X/" ],
	[ 'REVOKE SELECT ON skipidx_merges FROM PUBLIC', 'public.skipidx_merges | pg_class', 'relacl=' ],
	[ q{COMMENT ON FUNCTION skipidx_version() IS 'none'}, 'public.skipidx_version() | pg_description', 'description=none' ],
	[ q{COMMENT ON COLUMN skipidx_merges.index IS 'm'}, 'public.skipidx_merges | pg_description', 'description=m' ],
	[ 'ALTER OPERATOR @@@ (anyelement, skipidx_words) SET (RESTRICT = contsel)', 'public.@@@(', 'oprrest=pg_catalog.contsel(' ],
	[ q{UPDATE pg_opclass SET opcdefault = false WHERE opcname = 'money_ops' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'skipidx')},
		'public.money_ops USING skipidx | pg_opclass', 'opcdefault=false' ],
	[ 'ALTER OPERATOR FAMILY tsvector_ops USING skipidx DROP OPERATOR 3 (tsvector, skipidx_ref)',
		'public.tsvector_ops USING skipidx | pg_amop', 'amopstrategy=3' ],
	[ 'ALTER OPERATOR FAMILY enum_ops USING skipidx ADD FUNCTION 1 (int4, int4) skx_canonical(int4)',
		'public.enum_ops USING skipidx | pg_amproc', 'amproclefttype=integer' ],
	[ 'ALTER TYPE skipidx_ranking SET (STORAGE = external)', 'public.skipidx_ranking | pg_type', 'typstorage=e' ],
	[ 'ALTER TYPE skipidx_io_counts ADD ATTRIBUTE more int8', 'public.skipidx_io_counts | pg_attribute', 'attname=more' ],
	[ q{CREATE OR REPLACE VIEW skipidx_merges AS SELECT d.datname AS database, m.index, m.operation, m.asked_by, m.state, m.pid, m.started, m.seconds,
		m.segments, m.documents, m.bytes_read, m.bytes_written, m.wal_bytes, m.phase, m.done, m.total
		FROM skx_merges() AS m RIGHT JOIN pg_database AS d ON d.oid = m.database}, 'public.skipidx_merges | view', 'RIGHT JOIN' ],
	[ q{CREATE OR REPLACE FUNCTION skipidx_terms(index regclass, prefix text DEFAULT 'a', max_rows int4 DEFAULT 100, OUT term text, OUT df int8, OUT tf int8)
		RETURNS SETOF record AS '$libdir/skipidx', 'skipidx_terms' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100},
		'public.skipidx_terms(pg_catalog.regclass,pg_catalog.text,integer) | arguments', q{'a'::text} ],
	[ q{CREATE OR REPLACE FUNCTION skx_distance(tsvector, text) RETURNS float4 LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED RETURN $1 <@> $2::tsquery},
		'public.skx_distance(pg_catalog.tsvector,pg_catalog.text) | arguments', '::tsquery' ],
	[ 'CREATE TABLE more (); ALTER EXTENSION skipidx ADD TABLE more', 'public.more | pg_class', '' ],
	[ 'ALTER FUNCTION skipidx_work() DEPENDS ON EXTENSION plpgsql', 'public.skipidx_work() | depends', 'plpgsql x' ],
	[ 'CREATE OR REPLACE AGGREGATE sum(skipidx_ranking) (SFUNC = skx_ranking_add, STYPE = skipidx_ranking, PARALLEL = SAFE)',
		'public.sum(public.skipidx_ranking) | pg_aggregate', 'aggcombinefn=- ' ],
	[ q{UPDATE pg_cast SET castcontext = 'a' WHERE casttarget = 'skipidx_words'::regtype AND castsource = 'text'::regtype},
		'(pg_catalog.text AS public.skipidx_words) | pg_cast', 'castcontext=a' ],
	[ 'ALTER EXTENSION skipidx DROP VIEW skipidx_io', 'public.skipidx_io | pg_class', '' ]);
my @found = differences($fresh{"$superuser public"},
	[ skx_catalogue($node, database($superuser, 'public', 'CREATE EXTENSION skipidx'), join(';', map { $_->[0] } @mutations)) ]);

for (@mutations)
{
	my ($change, $begin, $what) = @$_;

	ok((grep { index($_, $begin) == 2 && index($_, $what) >= 0 } @found), "seen: $change");
}

$node->stop;
done_testing();
