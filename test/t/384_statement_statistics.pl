# Beside pg_stat_statements, whichever library is loaded first: each statement has
# the entry that it has without our plans, with its calls, plans and rows, and
# none is added for what the planner or a scan asks by itself; literals beside
# `<@>` are normalised; the plan has the query's identifier.
#
# Holds: plan 38

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $modules = `pg_config --pkglibdir` =~ s/\n//r;
plan skip_all => 'pg_stat_statements is not installed' unless -e "$modules/pg_stat_statements.so";

# Statement with a word to fill in, how often it is executed, and what EXPLAIN
# says of its plan.
my @statements = (
	[ count => "SELECT count(*) FROM docs WHERE v @@ 'WORD'", qr/Skipidx Count/ ],
	[ groups => "SELECT tenant, count(*) FROM docs WHERE v @@ 'WORD' GROUP BY tenant", qr/Skipidx Facets/ ],
	[ columns => "SELECT sum(n), max(sent) FROM docs WHERE v @@ 'WORD'", qr/Skipidx Columns/ ],
	[ ordered => "SELECT id FROM docs WHERE v @@ 'WORD' ORDER BY sent DESC LIMIT 7", qr/Skipidx Ordered Scan/ ],
	[ ranked => "SELECT id FROM docs WHERE v @@ 'WORD' ORDER BY v <@> 'WORD' LIMIT 7", qr/Index Scan using docs_v/ ],
	[ filtered => "SELECT id FROM docs WHERE v @@ 'WORD' AND id % 3 > 0 ORDER BY v <@> 'WORD' LIMIT 7", qr/Skipidx Scan|Index Scan using docs_v/ ],
	[ partitions => "SELECT id FROM parts ORDER BY v <@> 'WORD' LIMIT 7", qr/Skipidx Best/ ],
	[ distance => "SELECT id, v <@> 'WORD' FROM docs WHERE v @@ 'WORD' AND v <@> 'WORD' < -0.1", qr/docs_v/ ],
	[ ranking => "SELECT id FROM docs, (SELECT skipidx_ranking('docs_v', 'WORD') OFFSET 0) x (r) WHERE v @@ 'WORD' ORDER BY v <@> r LIMIT 7", qr/docs/ ],
	[ page => "SELECT count(token) FROM skipidx_search('docs_v', 'WORD', 9)", qr/Function Scan/ ],
	[ change => "UPDATE docs SET n = n WHERE v @@ 'WORD' AND tenant = 3 RETURNING id", qr/docs_v/ ]);
my @words = qw(t1 t2 t3);

# Words, and their rows under each statement
sub filled { my ($sql, $word) = @_; return $sql =~ s/WORD/$word/gr; }

for my $libraries ('skipidx, pg_stat_statements', 'pg_stat_statements, skipidx', 'pg_stat_statements')
{
	my $node = skx_node($libraries =~ s/\W+/_/gr, conf => "shared_preload_libraries = '$libraries'\npg_stat_statements.track = all\npg_stat_statements.track_planning = on\ncompute_query_id = on\nskipidx.max_workers = 0");
	my ($s, $watch) = map { skx_session($node, 'postgres') } 1 .. 2;

	$s->value(<<'SQL');
CREATE EXTENSION pg_stat_statements;
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, tenant int, n int, sent timestamptz, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, i % 7, i % 50, timestamptz '2026-01-01 00:00+00' + interval '1 minute' * i, ('all:1 t' || i % 11 || ':2 n' || i || ':3')::tsvector FROM generate_series(1, 5000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, tenant, n, sent);
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT * FROM docs;
CREATE INDEX parts_v ON parts USING skipidx (v, tenant);
VACUUM ANALYZE docs, parts;
CREATE FUNCTION nested(q tsquery) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	SELECT count(*) INTO n FROM docs WHERE v @@ q;
	PERFORM id FROM docs WHERE v @@ q ORDER BY v <@> q LIMIT 3;
	RETURN n;
END $$;
SET enable_seqscan = off;
SQL

	# query identifier, calls, plans, rows, text: each in a line, without those
	# of this test
	my $entries = sub {
		return $watch->value(q{SELECT string_agg(concat_ws(' ', queryid, calls, plans, rows, toplevel, regexp_replace(query, '\s+', ' ', 'g')), E'\n' ORDER BY toplevel DESC, query) }
			  . q{FROM pg_stat_statements WHERE query !~ 'pg_stat_statements|^(SET|RESET)'});
	};
	my $reset = sub { $watch->value('SELECT pg_stat_statements_reset() IS NULL'); };
	my $how = "loaded: $libraries";

	for (@statements)
	{
		my ($name, $sql, $plan) = @$_;
		my $rows = 0;
		my $explained = $s->value('EXPLAIN (VERBOSE) ' . filled($sql, 't1'));
		my ($id) = $explained =~ /Query Identifier: (-?\d+)/;

		like($explained, $plan, "$how, $name: the plan");
		$reset->();
		for my $word (@words)
		{
			my @got = split /\n/, $s->value(filled($sql, $word));
			$rows += grep { /^[-\d]/ } @got;
		}
		my $entry = $entries->();
		my $plans = scalar @words;

		is(scalar(split /\n/, $entry), 1, "$how, $name: one entry") or diag $entry;
		like($entry, qr/^\Q$id $plans $plans $rows\E t/, "$how, $name: identifier, calls, plans and rows");
		like($entry, qr/\$1/, "$how, $name: normalised");
		unlike($entry, qr/'t\d|'WORD/, "$how, $name: without a literal");

		# by sequential scans: the same entry
		if ($sql !~ /skipidx_search/)
		{
			my $off = 'SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off';

			$s->value("LOAD 'skipidx'; $off; EXPLAIN " . filled($sql, 't1'));
			$reset->();
			$s->value(filled($sql, $_)) for @words;
			is($entries->(), $entry, "$how, $name: the entry of a sequential scan");
			$s->value('RESET ALL; SET enable_seqscan = off');
		}
	}

	# Prepared, and by a cursor that is not read to its end
	$s->value("PREPARE p(tsquery) AS SELECT id FROM docs WHERE v \@\@ \$1 ORDER BY v <@> \$1 LIMIT 5; SET plan_cache_mode = force_generic_plan");
	$reset->();
	$s->value("EXECUTE p('$_')") for @words, 'all', 'nothing';
	like($entries->(), qr/^-?\d+ 5 1 20 t PREPARE p\(tsquery\) AS SELECT id FROM docs/, "$how: a generic plan");
	$s->value('DEALLOCATE p; RESET plan_cache_mode');
	$reset->();
	$s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all'; FETCH 5 FROM c; FETCH 6 FROM c; COMMIT");
	like($entries->(), qr/ 1 0 5 t FETCH 5 FROM c\n|FETCH \$1 FROM c\n/, "$how: a cursor");
	unlike($entries->(), qr/^\S+ \d+ \d+ \d+ f (?!DECLARE|SELECT id FROM docs)/m, "$how: and nothing by itself");

	# Within a function the statements of its text, and no others
	$reset->();
	$s->value("SELECT nested('$_')") for @words;
	my @lines = split /\n/, $entries->();
	is(scalar(@lines), 3, "$how: a function") or diag join "\n", @lines;
	like($lines[0], qr/^\S+ 3 3 3 t SELECT nested/, "$how: its call");
	like(join("\n", @lines), qr/^\S+ 3 [13] 3 f SELECT count\(\*\)\s+FROM docs WHERE v @@ q$/m, "$how: its count");
	like(join("\n", @lines), qr/^\S+ 3 [13] 9 f SELECT id FROM docs WHERE v @@ q ORDER BY v <@> q LIMIT \$\d$/m, "$how: its search");

	# Utility statements
	my @utility = ('CREATE INDEX docs_2 ON docs USING skipidx (v)', "COMMENT ON INDEX docs_2 IS 'x'", 'REINDEX INDEX docs_2', 'REINDEX INDEX CONCURRENTLY docs_2', 'VACUUM docs', 'ANALYZE docs', 'DROP INDEX docs_2');
	$reset->();
	$s->value($_) for @utility;
	is(join("\n", sort map { s/^\S+ 1 0 0 t //r } split /\n/, $entries->()), join("\n", sort @utility), "$how: utility statements, once each");
	$reset->();
	$s->value("SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v'); SELECT skipidx_count('docs_v', 't1'), skipidx_count('docs_v', 't2', true); SELECT count(*) FROM skipidx_facets('docs_v', 't1', 'n')");
	is(scalar(split /\n/, $entries->()), 3, "$how: functions have no entries of their own") or diag $entries->();
	$_->close for $s, $watch;
	$node->stop;
}
done_testing();
