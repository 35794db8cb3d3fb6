# Words beside columns of text, each statement beside the same with the document
# and a query: random words, by every kind of document an index has, form of
# statement, plan and state of the index.  Then who may search a part of a
# document, plans that are kept, and a dump.
#
# Holds: plan 40, 41

use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_median skx_node skx_seed skx_session);
use Test::More;

my $node = skx_node('words', conf => "skipidx.max_workers = 0\nmax_parallel_workers_per_gather = 2");
my $s = skx_session($node, 'postgres');

skx_seed(388);

# labelled() asks for all words of a query with one label.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION labelled(q tsquery, label text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT AS
	$$SELECT regexp_replace(q::text, $r$'((?:[^']|'')*)'$r$, $r$'\1':$r$ || label, 'g')::tsquery$$;
CREATE DOMAIN sentence AS text;
CREATE DOMAIN short_text AS varchar CHECK (length(VALUE) < 1000);
CREATE TABLE source AS SELECT i AS id, i % 5 AS kind,
	CASE WHEN i % 13 > 0 THEN 'Hills ' || i % 7 || ' of “naïve” Zürich' END AS title,
	CASE WHEN i % 11 > 0 THEN repeat('rivers ', i % 4) || repeat('the stones, ', i % 3) || repeat('well-known tree ', i % 5) || 'n' || i END AS body
FROM generate_series(1, 300) i;
SQL

# Columns, document, operand, and of a part: configuration and label.
my $ab = "setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body)";
my %tables = (
	plain => { body => 'text', doc => "to_tsvector('english', body)", operand => ['body'] },
	simple => { body => 'varchar', doc => "to_tsvector('simple', body)", operand => ['body'] },
	domains => { body => 'sentence', doc => "to_tsvector('english', body)", operand => ['body'] },
	checked => { body => 'short_text', doc => "to_tsvector('german', body)", operand => ['body'], config => 'german' },
	given => { body => 'text', doc => "to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, 'none'))", operand => [ 'title', 'body' ] },
	absent => { body => 'text', doc => "to_tsvector('english', coalesce(body, 'none'))", operand => ['body'] },
	two => { body => 'text', doc => "($ab)", operand => [ 'title', 'body' ] },
	stored => { body => 'varchar', doc => 'doc', made => $ab, operand => [ 'title', 'body' ] },
	part => { body => 'text', doc => "($ab)", operand => ['title'], label => 'A' },
	stored_part => { body => 'text', doc => 'doc', made => $ab, operand => ['body'], label => 'D' },
	partitioned => { body => 'text', doc => 'doc', made => $ab, operand => [ 'title', 'body' ], partition => 1 },
	parts_of_expression => { body => 'text', doc => "to_tsvector('english', body)", operand => ['body'], partition => 1 },
	inherited => { body => 'text', doc => 'doc', made => $ab, operand => [ 'title', 'body' ], inherit => 1 },
	collated => { body => 'text COLLATE nobody', doc => "to_tsvector('english', body)", operand => ['body'], icu => 1 },
	partial => { body => 'text', doc => "to_tsvector('english', body)", operand => ['body'], where => 'kind < 4' },
);
my $has_icu = $s->raw("CREATE COLLATION nobody (provider = icu, locale = 'und-u-ks-level2', deterministic = false)") !~ /ERROR/;

for my $name (sort keys %tables)
{
	my $t = $tables{$name};

	delete $tables{$name}, next if $t->{icu} && !$has_icu;
	$t->{config} //= $t->{doc} =~ /simple/ ? 'simple' : 'english';
	my $doc = $t->{made} ? ", doc tsvector GENERATED ALWAYS AS ($t->{made}) STORED" : '';
	my $key = $t->{inherit} ? '' : ' PRIMARY KEY';
	$s->value("CREATE TABLE $name (id int$key, kind int, title text, body $t->{body}$doc)" . ($t->{partition} ? ' PARTITION BY HASH (id)' : ' WITH (autovacuum_enabled = off)'));
	$s->value("CREATE TABLE ${name}_$_ PARTITION OF $name FOR VALUES WITH (MODULUS 2, REMAINDER $_)") for $t->{partition} ? (0, 1) : ();
	$s->value("CREATE TABLE ${name}_0 (more int) INHERITS ($name)") if $t->{inherit};
	$s->value("CREATE INDEX ${name}_skx ON $name USING skipidx ($t->{doc}, kind)" . ($t->{where} ? " WHERE $t->{where}" : ''));
	$s->value("INSERT INTO $name SELECT id, kind, title, body FROM source");
	$s->value("INSERT INTO ${name}_0 SELECT id + 1000, kind, title, body FROM source WHERE id % 3 = 0") if $t->{inherit};
	$s->value("CREATE VIEW v_$name AS SELECT * FROM $name");
	$s->value("CREATE VIEW b_$name WITH (security_barrier) AS SELECT * FROM $name WHERE id % 2 = 0");
	$s->value("CREATE FUNCTION f_$name(from_id int) RETURNS SETOF $name LANGUAGE sql STABLE AS 'SELECT * FROM $name WHERE id >= from_id'");
	$s->value("ANALYZE $name");
}

# ---- words ----

my @pool = (qw(hill Hills river rivers stone tree n7 n8 n123 well-known 3 the of or OR and zürich naïve ZÜRICH known - -- " ' \\ & | ! <-> : * % nothing),
	'"the stones"', '"well-known tree"', '-tree', '-"rivers the"', '-the', "it's", '“naïve”', 'ß', '漢字', '🙂', '(', ')', ':A', ':*', 'x' x 3000, '""', ' ', "\t");

sub words
{
	my $n = int rand 5;

	return join ' ', map { $pool[ rand @pool ] } 1 .. $n;
}

sub quoted { return "'" . ($_[0] =~ s/'/''/gr) . "'"; }

# ---- statements ----

# In these, T is the table; M and D are match and distance, of a row named a; C
# are the columns.  What is rolled back changes scores, so writes return none.
my @forms = (
	'SELECT id FROM T a WHERE M',
	'SELECT id, D AS d FROM T a',
	'SELECT id, D AS d FROM T a WHERE M ORDER BY d, id LIMIT 20',
	'SELECT id, D AS d FROM T a WHERE M AND kind IN (1, 2) AND D < -0.0001 ORDER BY d, id OFFSET 3 LIMIT 20',
	'SELECT id FROM T a WHERE NOT M',
	'SELECT id FROM T a WHERE M IS NULL OR kind = 2 AND M',
	'SELECT count(*) FROM T a WHERE M',
	'SELECT kind, count(*) FROM T a WHERE M GROUP BY kind',
	'SELECT sum(D) FILTER (WHERE M) IS NULL AS x, count(*) FILTER (WHERE M), max(D), min(CASE WHEN M THEN D END) FROM T a',
	'SELECT id, rank() OVER (PARTITION BY kind ORDER BY D), M FROM T a',
	'SELECT DISTINCT ON (kind) kind, D AS d FROM T a WHERE M ORDER BY kind, d',
	'SELECT id, M AS m FROM b_T a WHERE M',
	'SELECT g, id, D AS d, M AS m FROM generate_series(290, 310) g LEFT JOIN T a ON a.id = g',
	'SELECT g, id, D AS d FROM generate_series(290, 310) g LEFT JOIN T a ON a.id = g AND M',
	'SELECT g, a.id, D AS d, M AS m FROM generate_series(290, 310) g LEFT JOIN (T a JOIN source c ON c.id = a.id) ON a.id = g WHERE M OR g > 295',
	'SELECT g, a.id, D AS d, M AS m FROM T a RIGHT JOIN generate_series(290, 310) g ON a.id = g FULL JOIN source c ON c.id = g WHERE c.id > 280',
	'SELECT g, a.id, D AS d, M AS m FROM generate_series(290, 310) g LEFT JOIN (SELECT *, 1 AS one FROM T) a ON a.id = g',
	'SELECT g, a.id, d, m FROM generate_series(290, 310) g LEFT JOIN (SELECT id, D AS d, M AS m FROM T a) a ON a.id = g WHERE m OR d = 0 OR g > 305',
	'SELECT g, x.d FROM generate_series(1, 30) g LEFT JOIN LATERAL (SELECT D AS d FROM T a WHERE a.id > g AND M ORDER BY 1, id LIMIT 1) x ON true',
	'SELECT id, (SELECT D) AS d, (SELECT count(*) FROM source c WHERE c.id < 9 AND M) AS n FROM T a',
	'SELECT c.id FROM source c WHERE EXISTS (SELECT FROM T a WHERE a.id = c.id + 1 AND M)',
	'SELECT c.id FROM source c WHERE NOT EXISTS (SELECT FROM T a WHERE a.id = c.id + 1 AND M) OR c.kind = 2',
	'SELECT c.id FROM source c WHERE c.id IN (SELECT a.id + 1 FROM T a WHERE M) OR c.id = 3',
	'SELECT C, D AS d, count(*) FROM (SELECT * FROM T LIMIT 1000) a WHERE M GROUP BY C',
	'SELECT C, D AS d, M AS m, count(*) FROM (SELECT * FROM T OFFSET 0) a GROUP BY ROLLUP (C)',
	'WITH a AS MATERIALIZED (SELECT * FROM T WHERE id > 20) SELECT id, D AS d FROM a WHERE M',
	'SELECT id, d FROM T a, LATERAL (SELECT D AS d, M AS m OFFSET 0) x WHERE m',
	'SELECT a.id, d FROM source c JOIN T a ON a.id = c.id, LATERAL (SELECT D AS d FROM generate_series(1, 2) g WHERE g <> a.id OFFSET 0) x',
	'SELECT id, D AS d FROM (SELECT * FROM T WHERE id < 100 UNION ALL SELECT * FROM T WHERE id > 200) a WHERE M',
	'SELECT id, D AS d FROM v_T a WHERE M',
	'SELECT id, D AS d FROM f_T(50) a WHERE M',
	'UPDATE T a SET kind = 9, title = title || $$ more$$ WHERE M RETURNING id, D < 0 AS d, M AS m',
	'UPDATE T a SET kind = c.kind + 1 FROM source c WHERE c.id = a.id AND M AND c.kind < 3 RETURNING a.id, D < 0 AS d',
	'DELETE FROM T a USING source c WHERE c.id = a.id AND M RETURNING a.id, D < 0 AS d',
	'SELECT id FROM T a WHERE M FOR UPDATE',
	'INSERT INTO T AS a (id, kind, title, body) SELECT id, 7, title, body FROM source ON CONFLICT (id) DO UPDATE SET kind = 8 WHERE M RETURNING id, kind, D < 0 AS d, M AS m',
);

# Two forms of a condition and a distance.
sub pair
{
	my ($t, $w, $alias) = @_;
	my $operand = join ', ', map { "$alias.$_" } @{ $t->{operand} };
	my $doc = $t->{doc} =~ s/\b(doc|title|body)\b(?!['(])/$alias.$1/gr;
	my @queries = ("websearch_to_tsquery('$t->{config}', $w)", "skipidx_any('$t->{config}', $w)");

	@queries = map { "labelled($_, '$t->{label}')" } @queries if $t->{label};
	$operand = @{ $t->{operand} } > 1 ? "ROW($operand)" : $operand;
	return ([ "($operand \@\@\@ $w)", "($operand <\@> $w)" ], [ "($doc \@\@ $queries[0])", "($doc <\@> $queries[1])" ]);
}

sub statement
{
	my ($form, $name, $match, $distance) = @_;
	my %names = (T => $name, M => $match, D => $distance, C => join(', ', @{ $tables{$name}{operand} }));

	$form =~ s/\$\$ more\$\$/' more'/;
	return $form =~ s/\b(v_|b_|f_|)([TMDC])\b/$1$names{$2}/gr;
}

my %modes = (
	seq => 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off',
	index => 'SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = off',
	bitmap => 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_bitmapscan = on',
	parallel => 'SET enable_seqscan = on; SET enable_indexscan = on; SET enable_bitmapscan = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
my $force = $s->value("SELECT name FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')");

sub set_mode
{
	my ($mode) = @_;

	$s->value("$modes{$mode}; SET $force = " . ($mode eq 'parallel' ? 'on' : 'off'));
	return;
}

sub answer
{
	my ($stmt) = @_;

	return $s->raw("BEGIN; WITH q AS ($stmt) SELECT count(*), md5(string_agg(q::text, ' ' ORDER BY q::text)) FROM q; ROLLBACK") =~ s/.*?(ERROR:\s+\w+).*/$1/sr;
}

# The words as a literal, or as a parameter of a plan for any value.
sub prepared
{
	my ($form, $name, $w, $kind) = @_;
	my ($short) = pair($tables{$name}, '$1', 'a');
	my $stmt = statement($form, $name, @$short);

	return $s->raw("SET plan_cache_mode = force_${kind}_plan; BEGIN; PREPARE p(text) AS WITH q AS ($stmt) SELECT count(*), md5(string_agg(q::text, ' ' ORDER BY q::text)) FROM q; EXECUTE p("
		  . quoted($w) . '); ROLLBACK; DEALLOCATE p') =~ s/.*?(ERROR:\s+\w+).*/$1/sr;
}

# All forms in each state, not some.
my $share = ($ENV{SKX_LONG} // '') ne '' ? 1 : 0.2;
my ($compared, $with_rows);

sub differ
{
	my ($state) = @_;
	my @bad;

	for my $name (sort keys %tables)
	{
		my $t = $tables{$name};

		for my $form (@forms)
		{
			# one column of several needs the table's others
			next if $t->{label} && $form =~ /OFFSET 0|LIMIT 1000|MATERIALIZED|b_T|UNION|one FROM|ROLLUP/;
			next if $t->{where} && $form !~ /^SELECT [^()]* FROM T a WHERE M$/;
			next if $t->{inherit} && $form =~ /CONFLICT/;
			next if $t->{doc} eq 'doc' && $form =~ /GROUP BY (C|ROLLUP)/;
			next if rand() > $share;
			my $w = words();
			my ($short, $long) = pair($t, quoted($w), 'a');
			my $one = statement($form, $name, @$short);
			my $two = statement($form, $name, @$long);

			($one, $two) = map { "$_ AND a.$t->{where}" } $one, $two if $t->{where};
			set_mode('seq');
			my $expected = answer($two);
			for my $mode ((sort keys %modes)[ rand keys %modes ], 'index')
			{
				set_mode($mode);
				my $got = answer($one);
				push @bad, "$name $mode: $one: $got instead of $expected" if $got ne $expected;
			}
			if (!$t->{where})
			{
				my $got = prepared($form, $name, $w, rand() < 0.5 ? 'generic' : 'custom');
				push @bad, "$name prepared: $one: $got instead of $expected" if $got ne $expected;
			}
			$compared++;
			$with_rows++ if $expected =~ /^[1-9]/;
			push @bad, "$two: $expected" if $expected !~ /^\d/;
		}
	}
	is(join("\n", @bad[ 0 .. ($#bad > 4 ? 4 : $#bad) ]), '', "$state: as with documents");
	return;
}

my @indexes = split /\n/, $s->value(q{SELECT c.oid::regclass FROM pg_class c JOIN pg_am m ON m.oid = relam WHERE amname = 'skipidx' AND relkind = 'i' ORDER BY 1});
differ('pending');
$s->value("SELECT skipidx_flush('$_')") for @indexes;
differ('flushed');
$s->value("DELETE FROM $_ WHERE id % 17 = 0; INSERT INTO $_ (id, kind, title, body) SELECT id + 2000, kind, body, title FROM source WHERE id % 7 = 0") for sort keys %tables;
differ('deleted');
$s->value("SELECT skipidx_flush('$_'); SELECT skipidx_merge('$_')") for @indexes;
$s->value('VACUUM ANALYZE');
differ('merged');
cmp_ok($with_rows, '>', $compared / 3, "$with_rows of $compared statements have rows");
set_mode('index');
$s->value('RESET plan_cache_mode');

# ---- forms that were found to go wrong ----

like($s->raw("SELECT skipidx_passages(title, 'hills') FROM (SELECT title FROM stored ORDER BY id LIMIT 1) x"), qr/^<b>Hills<\/b>/, 'passages of a part of a document, above a subquery');
$s->value(q{CREATE TABLE casts (id int, title varchar, body varchar, doc tsvector GENERATED ALWAYS AS (to_tsvector('english', title) || to_tsvector('english', body)) STORED);
INSERT INTO casts SELECT i, 'hill ' || i % 3, 'river' FROM generate_series(1, 20) i; CREATE INDEX ON casts USING skipidx (doc)});
is($s->value(q{SELECT count(*) FROM (SELECT (title::text, body::text) <@> 'hill' AS d FROM casts GROUP BY ROLLUP ((title::text, body::text))) x WHERE d IS NULL}), '1', 'no distance of the row of all groups');

# The planner has noted the columns that a LATERAL subquery needs before it
# simplifies that; a document may need others.
for my $name (qw(stored partitioned two part stored_part))
{
	my ($short, $long) = pair($tables{$name}, "'hill tree'", 'a');

	for my $form ('SELECT a.id, d, m FROM T a, LATERAL (SELECT D AS d, M AS m OFFSET 0) x',
		'SELECT a.id, d FROM source c JOIN T a ON a.id = c.id, LATERAL (SELECT D AS d FROM generate_series(1, 2) g WHERE M OFFSET 0) x',
		'SELECT a.id, n FROM T a LEFT JOIN LATERAL (SELECT count(*) AS n FROM source c WHERE M GROUP BY c.kind HAVING D < 0) x ON true')
	{
		my $got = answer(statement($form, $name, @$short));

		# one column of several needs the table's others
		$tables{$name}{label} ? is($got, 'ERROR:  55000', "$name: $form")
			: is($got, answer(statement($form, $name, @$long)), "$name: $form");
	}
}

# Domains: over tsvector, that has the document, and over those over text.
$s->value(q{CREATE DOMAIN vector AS tsvector; CREATE DOMAIN brief AS short_text;
CREATE TABLE over_vector (id int, title brief, body sentence, doc vector GENERATED ALWAYS AS ((setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body))::vector) STORED);
INSERT INTO over_vector SELECT id, title, body FROM source; CREATE INDEX over_vector_doc ON over_vector USING skipidx (doc)});
like($s->raw("SELECT id FROM over_vector WHERE (title, body) \@\@\@ 'hill'"), qr/55000: no skipidx index/, 'a column of a domain is no document that words find');
$s->value(q{CREATE INDEX over_vector_text ON over_vector USING skipidx ((setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body)))});
for my $operand (qw(title body), 'ROW(title, body)')
{
	my $label = { title => ':A', body => ':D' }->{$operand} // '';

	is($s->value("SELECT md5(string_agg(id || ' ' || ($operand <\@> 'hill tree'), ' ' ORDER BY id)) FROM over_vector WHERE $operand \@\@\@ 'hill or tree'"),
		$s->value("SELECT md5(string_agg(id || ' ' || (v <\@> q), ' ' ORDER BY id)) FROM (SELECT id, setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body) AS v FROM over_vector) x, CAST('hill$label | tree$label' AS tsquery) q WHERE v \@\@ q"),
		"columns of domains over domains: $operand");
}

# The operand of the EXISTS has the numbers of the one outside, and is of a subquery.
$s->value(q{CREATE TABLE exist (LIKE stored INCLUDING GENERATED, PRIMARY KEY (id)); INSERT INTO exist (id, kind, title, body) SELECT id, kind, title, body FROM source; CREATE INDEX exist_skx ON exist USING skipidx (doc)});
for my $n (0 .. 4)
{
	my $before = join '', map { "generate_series(1, 1) g$_, " } 1 .. $n;
	my $view = "SELECT e.id, ROW(e.title, e.body) MATCH AS m FROM exist e WHERE EXISTS (SELECT FROM $before(SELECT id, kind, title, body, 'hills'::tsvector AS doc FROM exist OFFSET 0) x WHERE ROW(x.title, x.body) MATCH AND x.id = e.id) OR e.id = 13";

	$s->value("CREATE VIEW exists_$n AS " . $view =~ s/MATCH/\@\@\@ 'hill'/gr);
	is(answer("SELECT * FROM exists_$n"), answer($view =~ s/MATCH/\@\@\@ 'hill'/gr), "EXISTS of a view, $n functions before");
}

# ---- many words ----

# Those of @@@ are parsed in pieces, by which the query stays what it is.
my @parts = (qw(the a rivers stone well-known -tree OR or Or or-x or.x y.or (or or) x: - -- & ! ororo été дом éor oré 漢字 http://x.y/or?z=1 -or "" "), '-"two words"', '"a phrase of rivers"', '"or', "\x{a0}", "\x{3000}");
my @gaps = (' ', ' ', ' ', '  ', "\t", "\x{a0}", '', ' -', ' or ', ' OR ');
my @long = map { my ($n, $gaps) = (200 + int rand 900, 7 + int rand 4); join '', map { $parts[ rand @parts ] . $gaps[ rand $gaps ] } 1 .. $n } 1 .. 150;
my @other = grep { $s->value("SELECT skx_web_words('english', w::skipidx_words, 0)::text = websearch_to_tsquery('english', w)::text FROM (VALUES (" . quoted($_) . ')) v(w)') ne 't' } @long;
is(scalar(@other), 0, 'long texts in the syntax of web searches') or diag $other[0];
is($s->value("SELECT count(*) FROM plain WHERE body \@\@\@ (repeat('nothing or ', 20000) || 'stone')"), $s->value("SELECT count(*) FROM plain WHERE body \@\@\@ 'stone'"), '20,000 alternatives');

# 90,000 of them: no error, and a cancel at any moment.
my $watch = skx_session($node, 'postgres');

$s->value("CREATE TABLE many AS SELECT string_agg(i::text, ' ') AS w FROM generate_series(1, 90000) i");
is($s->value(q{SELECT (SELECT count(*) FROM plain WHERE body @@@ w), (SELECT count(*) FROM plain WHERE body @@@ (replace(w, ' ', ' or ') || ' or stone')) - (SELECT count(*) FROM plain WHERE body @@@ 'stone or 3'), to_tsvector('english', w) @@ skx_web_words('english', w, 0), (SELECT count(body <@> w) FROM plain WHERE id = 3) FROM many}),
	'0|0|t|1', '90,000 words, all or any of them');

sub soon
{
	my ($stmt) = @_;
	my ($said, $ms) = $s->start_and_cancel($watch, $stmt, 0.2);

	like($said, qr/57014/, 'a cancel acts') if $said !~ /57014/;
	return $ms;
}

for my $stmt (map { "SELECT count(*) FROM plain, many WHERE $_" } 'body @@@ w', q{body @@@ replace(w, ' ', ' or -')}, 'body <@> w < -1')
{
	my (@ms, $control);

	for (1 .. 4)
	{
		@ms = map { soon($stmt) } 1 .. 5;
		$control = skx_median(map { soon('DO $$BEGIN LOOP NULL; END LOOP; END$$') } 1 .. 3);
		last if skx_median(@ms) < 10 + $control;
	}
	cmp_ok(skx_median(@ms), '<', 10 + $control, "a cancel acts soon: $stmt");
}
$watch->close;

# ---- rights ----

$s->value(q{CREATE ROLE reader; GRANT SELECT (id, title), UPDATE ON two, stored TO reader;
CREATE VIEW titles AS SELECT id, title FROM stored; CREATE VIEW both_columns AS SELECT id, title, body FROM stored;
GRANT SELECT ON titles, both_columns TO reader;
PREPARE of_owner AS SELECT count(title <@> 'hill') FROM two; EXECUTE of_owner \g /dev/null
SET ROLE reader});
for my $table (qw(two stored))
{
	for my $stmt ("SELECT id FROM TABLE WHERE title \@\@\@ 'hill'", "SELECT id, title <\@> 'hill' FROM TABLE", "UPDATE TABLE SET kind = 1 WHERE title \@\@\@ 'hill'",
		"SELECT id FROM TABLE WHERE EXISTS (SELECT FROM TABLE x WHERE x.title \@\@\@ 'hill')", "EXPLAIN SELECT id FROM (SELECT * FROM (SELECT id, title FROM TABLE) y) x ORDER BY title <\@> 'hill'")
	{
		like($s->raw($stmt =~ s/TABLE/$table/gr), qr/42501: permission denied for table $table/, "one column may be read: $stmt");
	}
	like($s->raw("SELECT skipidx_passages(title, 'hills') FROM $table WHERE id = 1"), qr/^<b>Hills/, "passages of the column that may be read");
}
like($s->raw('EXECUTE of_owner'), qr/42501: permission denied/, 'with a plan that was made for the owner');
like($s->raw("SELECT id, title <\@> 'hill' FROM titles"), qr/55000: no skipidx index/, 'a view without the other columns');
is($s->value("SELECT count(*) > 0 FROM both_columns WHERE title \@\@\@ 'hill'"), 't', 'a view with them');
$s->value('RESET ROLE; GRANT SELECT (body) ON two, stored TO reader; SET ROLE reader');
is($s->value("SELECT count(*) > 0 FROM $_ WHERE title \@\@\@ 'hill'"), 't', "all columns of the document may be read: $_") for qw(two stored);
is($s->value('EXECUTE of_owner') > 0, 1, 'with that plan, too');
$s->value('RESET ROLE');

# ---- plans that are kept ----

$s->value(q{SET plan_cache_mode = force_generic_plan;
CREATE TABLE kept (id int, title text, body text); INSERT INTO kept SELECT id, title, body FROM source;
CREATE INDEX kept_1 ON kept USING skipidx (to_tsvector('english', body));
CREATE INDEX kept_2 ON kept USING skipidx (to_tsvector('simple', body));
PREPARE kept(text) AS SELECT count(*) FROM kept WHERE body @@@ $1});
my ($english, $simple) = map { $s->value("SELECT count(*) FROM kept WHERE to_tsvector('$_', body) \@\@ websearch_to_tsquery('$_', 'stone')") } qw(english simple);
isnt($english, $simple, 'two configurations differ');
is($s->value("EXECUTE kept('stone')"), $english, 'the oldest index');
$s->value('CREATE SCHEMA elsewhere; ALTER EXTENSION skipidx SET SCHEMA elsewhere; SET search_path = public, elsewhere; CREATE TEXT SEARCH CONFIGURATION mine (COPY = english)');
is($s->value("EXECUTE kept('stone')"), $english, 'the extension in another schema');
$s->value('SET search_path = elsewhere, pg_catalog, public');
is($s->value("EXECUTE kept('stone')"), $english, 'another search path');
$s->value('DROP INDEX kept_1');
is($s->value("EXECUTE kept('stone')"), $simple, 'its index dropped');
$s->value(q{DROP INDEX kept_2; CREATE INDEX kept_3 ON kept USING skipidx (to_tsvector('mine', body))});
is($s->value("EXECUTE kept('stone')"), $english, 'a new one');
$s->value('ALTER TEXT SEARCH CONFIGURATION mine RENAME TO ours');
is($s->value("EXECUTE kept('stone')"), $english, 'its configuration renamed');
$s->value('DROP TEXT SEARCH CONFIGURATION ours CASCADE');
like($s->raw("EXECUTE kept('stone')"), qr/55000: no skipidx index/, 'its configuration dropped');
$s->value('ALTER EXTENSION skipidx SET SCHEMA public; RESET search_path');
if ($s->value("SELECT current_setting('server_version_num')::int >= 170000") eq 't')
{
	$s->value(q{ALTER TABLE kept ADD doc tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED; CREATE INDEX ON kept USING skipidx (doc)});
	is($s->value("EXECUTE kept('stone')"), $english, 'a generated column');
	$s->value(q{ALTER TABLE kept ALTER doc SET EXPRESSION AS (to_tsvector('simple', body))});
	is($s->value("EXECUTE kept('stone')"), $simple, 'with another expression');
}

# ---- a dump ----

$s->value(q{CREATE VIEW dumped AS SELECT id, body <@> 'river' AS d, skipidx_passages(body, 'river') AS p FROM plain WHERE body @@@ 'stone';
CREATE MATERIALIZED VIEW dumped_rows AS SELECT * FROM dumped;
CREATE TABLE found (id int);
CREATE RULE dumped_rule AS ON DELETE TO found DO ALSO INSERT INTO found SELECT id FROM plain WHERE body @@@ 'stone';
CREATE FUNCTION dumped_body(w text) RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT count(*) FROM plain WHERE body @@@ w; END;
CREATE DATABASE restored;
REINDEX TABLE plain});
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', "$PostgreSQL::Test::Utils::tmp_check/words.sql" ], 'a dump');
command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', "$PostgreSQL::Test::Utils::tmp_check/words.sql" ], 'restored');
my $r = skx_session($node, 'restored');
my $digest = q{SELECT (SELECT md5(string_agg(d::text, ' ' ORDER BY id)) FROM dumped), (SELECT count(*) FROM dumped_rows), dumped_body('stone -n7')};
is($r->value($digest), $s->value($digest), 'a view, its rows, and a function');
$r->value('INSERT INTO found VALUES (0); DELETE FROM found WHERE id = 0');
is($r->value('SELECT count(*) FROM found'), $r->value('SELECT count(*) FROM dumped'), 'a rule');

$_->close for $s, $r;
done_testing();
