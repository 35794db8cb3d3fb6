# Beside auto_explain, whichever library is loaded first, with everything that it
# can log: each plan of ours comes as JSON that parses, names its provider and has
# the rows that the statement returned, by one process and by several; statements
# have the answers that they have without it.
#
# Holds: plan 39

use strict;
use warnings;
use FindBin;
use JSON::PP;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $modules = `pg_config --pkglibdir` =~ s/\n//r;
plan skip_all => 'auto_explain is not installed' unless -e "$modules/auto_explain.so";

my $json = JSON::PP->new->allow_nonref->utf8(0);
my @statements = (
	[ 'Skipidx Count', "SELECT count(*) FROM docs WHERE v @@ 'all & t1'" ],
	[ 'Skipidx Facets', "SELECT tenant, count(*) FROM docs WHERE v @@ 'all' GROUP BY tenant ORDER BY 1" ],
	[ 'Skipidx Facets', "SELECT DISTINCT n FROM docs WHERE v @@ 't1 | t2' ORDER BY 1" ],
	[ 'Skipidx Columns', "SELECT sum(n), max(sent) FROM docs WHERE v @@ 'all' AND n <> 3" ],
	[ 'Skipidx Ordered Scan', "SELECT id FROM docs WHERE v @@ 'all' ORDER BY sent DESC LIMIT 7" ],
	[ 'Skipidx Scan', "SELECT id, v <@> 't1 | all' FROM docs WHERE v @@ 't1 | all' AND id % 3 = 0 ORDER BY v <@> 't1 | all' LIMIT 7" ],
	[ 'Skipidx Best', "SELECT id FROM parts ORDER BY v <@> 't1 | t4' LIMIT 7" ],
	[ undef, "SELECT id FROM docs WHERE v @@ 't3' ORDER BY v <@> 't3', id LIMIT 7" ],
	[ undef, "SELECT count(token) FROM skipidx_search('docs_v', 't1 | t2', 20)" ],
	[ undef, "SELECT count(*) FROM skipidx_scroll('docs_v', 't1', max_rows => 20)" ],
	[ undef, "SELECT d.id FROM docs d JOIN asked a ON d.v @@ a.q ORDER BY d.id LIMIT 9" ],
	[ undef, "SELECT count(*) FROM docs WHERE v @@ 'nothing'" ],
	[ undef, "UPDATE docs SET n = n WHERE v @@ 't5' AND tenant = 3 RETURNING id" ],
	[ undef, 'SELECT nested(q) FROM asked ORDER BY q::text' ]);

# All plans in what a session has printed, as structures; dies if one is no JSON.
sub plans
{
	my ($printed) = @_;
	my @plans;

	while ($printed =~ /duration: [\d.]+ ms  plan:\n(\{.*?\n\})/sg)
	{
		push @plans, $json->decode($1);
	}
	return @plans;
}

# All nodes of a plan.
sub nodes
{
	my ($node) = @_;

	return ($node, map { nodes($_) } @{ $node->{Plans} // [] });
}

for my $libraries ('skipidx, auto_explain', 'auto_explain, skipidx', 'auto_explain')
{
	my $node = skx_node($libraries =~ s/\W+/_/gr, conf => <<"CONF");
shared_preload_libraries = '$libraries'
auto_explain.log_level = notice
skipidx.max_workers = 0
max_parallel_workers = 4
max_worker_processes = 8
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
CONF
	my $s = skx_session($node, 'postgres');

	$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, tenant int, n int, sent timestamptz, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, i % 7, i % 50, timestamptz '2026-01-01 00:00+00' + interval '1 minute' * i, ('all:1 t' || i % 11 || ':2 "quoted'' \\ ' || i || '":3')::tsvector FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, tenant, n, sent);
CREATE TABLE parts (LIKE docs) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT * FROM docs;
CREATE INDEX parts_v ON parts USING skipidx (v, tenant);
CREATE TABLE asked (q tsquery);
INSERT INTO asked VALUES ('t1'), ('t2 & all'), ('nowhere');
VACUUM ANALYZE docs, parts, asked;
CREATE FUNCTION nested(q tsquery) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	SELECT count(*) INTO n FROM docs WHERE v @@ q;
	PERFORM id FROM docs WHERE v @@ q ORDER BY v <@> q LIMIT 3;
	RETURN n;
END $$;
SET client_min_messages = notice;
SET enable_seqscan = off;
SQL
	my $on = "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on; SET auto_explain.log_wal = on; "
	  . 'SET auto_explain.log_settings = on; SET auto_explain.log_verbose = on; SET auto_explain.log_triggers = on; SET auto_explain.log_nested_statements = on';

	for my $workers (0, 2)
	{
		my $how = "loaded: $libraries, $workers workers";

		$s->value("SET max_parallel_workers_per_gather = $workers");
		for (@statements)
		{
			my ($provider, $sql) = @$_;
			$s->value('SET auto_explain.log_min_duration = -1');
			my $right = $s->value($sql);

			$s->value("$on; SET auto_explain.log_format = json");
			my $printed = $s->value($sql);
			my @plans = plans($printed);
			my $answer = $printed =~ s/^(psql:[^\n]*)?NOTICE:.*?\n\}\n?//gmsr =~ s/^LOCATION:[^\n]*\n?//gmr;

			is($answer, $right, "$how: the answer: $sql");
			cmp_ok(scalar(@plans), '>=', $sql =~ /nested/ ? 7 : 1, "$how: plans that parse: $sql");
			my ($mine) = grep { index($_->{'Query Text'}, $sql) >= 0 } @plans;

			ok(defined $mine, "$how: the statement's own") or next;
			my @nodes = nodes($mine->{Plan});
			is(scalar(grep { !defined $_->{'Actual Rows'} } @nodes), 0, "$how: rows of each node: $sql");
			is(int($mine->{Plan}{'Actual Rows'}), scalar(() = $right =~ /^.+$/mg), "$how: as many as came: $sql") if $right ne '';
			ok((grep { ($_->{'Custom Plan Provider'} // '') eq $provider } @nodes), "$how: $provider") if defined $provider && $workers == 0;
			# other formats are for people
			for my $format (qw(text xml yaml))
			{
				$s->value("SET auto_explain.log_format = $format");
				like($s->value($sql), qr/duration: [\d.]+ ms  plan:/, "$how: as $format: $sql");
			}
		}
		$s->value("SET auto_explain.log_format = json");
		like($s->raw('SELECT 1 / (count(*) - count(*)) FROM docs WHERE v @@ \'all\''), qr/division by zero/, "$how: an error");
		my $cursor = $s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all' ORDER BY v <@> 'all'; FETCH 3 FROM c; CLOSE c; COMMIT");
		my ($part) = plans($cursor);
		is($part->{Plan}{'Actual Rows'}, 3, "$how: a cursor that is closed early");
		my ($explain) = $s->value("EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM docs WHERE v @@ 'all'") =~ /^(\[.*\])/ms;
		is($json->decode($explain =~ s/NOTICE:.*//sr)->[0]{Plan}{'Actual Rows'} + 0, 1, "$how: EXPLAIN itself") if defined $explain;
		$s->value('SET auto_explain.log_min_duration = -1');
	}
	is($s->value("SELECT count(*) FROM docs WHERE v @@ 'all'"), 20000, "loaded: $libraries: the server is well");
	$s->close;
	$node->stop;
}
done_testing();
