# Ranked searches by very many words: the rows and distances of a sequential scan
# and a sort, work that grows with words and postings, memory that does not grow
# with the lists, and an end when told to.
#
# Holds: score 4; topk 1, 3, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_until);
use Test::More;
use Time::HiRes qw(time sleep);

# Rows; words that documents are made of; those of the largest query.
use constant { ROWS => 24000, WORDS => 60000, MOST => 50000 };

my $seed = skx_seed(360);

note "seed $seed";
srand($seed);

# No worker merges between two questions, which would change what words weigh.
my $node = skx_node('many_words', conf => "work_mem = 4MB\nmax_stack_depth = 2MB\nskipidx.max_workers = 0");
my $s = skx_session($node, 'postgres');

# Twelve words a row, the n-th one in proportion to 1 / n, some with a label; in
# two segments, with deleted and with pending rows.
$s->value(<<"SQL");
CREATE EXTENSION skipidx;
SELECT setseed(@{[ ($seed % 1000) / 1000 ]}) IS NULL;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', weights = '{1, 1, 1, 2}');
CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS \$\$
	INSERT INTO docs SELECT i, (SELECT string_agg(format('w%s:%s%s', power(@{[WORDS]}, random())::int, j,
			CASE WHEN random() < 0.1 THEN 'A' ELSE '' END), ' ') FROM generate_series(1, 12 + i * 0) j)::tsvector
		FROM generate_series(a, b) i
\$\$;
SELECT fill(1, @{[ROWS - 4000]}) IS NULL, skipidx_flush('docs_v') IS NULL;
SELECT fill(@{[ROWS - 3999]}, @{[ROWS - 300]}) IS NULL, skipidx_flush('docs_v') IS NULL;
DELETE FROM docs WHERE id % 97 = 5;
VACUUM docs;
SELECT fill(@{[ROWS - 299]}, @{[ROWS]}) IS NULL;
ANALYZE docs;
-- The ten commonest words and others from all over.
CREATE FUNCTION many(n int) RETURNS tsquery STABLE LANGUAGE sql AS \$\$
	SELECT skipidx_any('simple', string_agg('w' || w, ' ')) FROM (SELECT generate_series(1, 10) w
		UNION SELECT 11 + (i::bigint * 7919 % (@{[WORDS]} - 11))::int FROM generate_series(1, n - 10) i) x
\$\$;
-- The first rows with their distances: a hash, and how many; %s is the filter.
CREATE FUNCTION ranked(by_index bool, filter text, q tsquery, k int) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_sort', (NOT by_index)::text, true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', by_index::text, true);
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(id || '' '' || d, '','')), '''')'
		' FROM (SELECT id, v <@> \$1 AS d FROM docs %s ORDER BY v <@> \$1%s LIMIT \$2) x',
		CASE WHEN filter <> '' THEN 'WHERE ' || filter END, CASE WHEN by_index THEN '' ELSE ', ctid' END)
		INTO answer USING q, k;
	RETURN answer;
END \$\$;
SQL

# ---- the right rows ----

my @filters = ('', 'v @@ $1', "v @@ 'w50'", "v @@ 'w40000 & w1'", "v @@ '(w3 & !w1) | w777'", "v @@ 'w5 <-> w2'", "v @@ 'w12:A'",
	"v @@ 'w99:*'");

# What the sequential scan gives, asked once.
my %sorted;

sub sorted { my ($args) = @_; return $sorted{$args} //= $s->value("SELECT ranked(false, $args)"); }

# Of 64 kB sums take several windows.
for my $mem ('4MB', '64kB')
{
	$s->value("SET work_mem = '$mem'");
	for my $n (60, 70, 200, 1200)
	{
		for my $filter ($n == 200 ? @filters : @filters[ 0, 1, 3 ])
		{
			for my $k ($n == 70 && $filter ne '' ? 100000 : $n == 1200 ? 10 : 700)
			{
				my $args = "\$f\$$filter\$f\$, many($n), $k";
				is($s->value("SELECT ranked(true, $args)"), sorted($args), "$n words, work_mem $mem, first $k of "
					  . ($filter eq '' ? 'all rows' : $filter));
			}
		}
	}
	for my $q ("many(200) || 'w9:* | w77:*'", "many(200) || 'w1:A | w4:BC'", "many(200) && 'w30000 <-> w2'", "many(200) || !!'w3'")
	{
		my $args = "'v @@ \$1', $q, " . ($mem eq '4MB' ? 10 : 100000);

		is($s->value("SELECT ranked(true, $args)"), sorted($args), "$q, work_mem $mem");
	}
}
$s->value('RESET work_mem');

# Labels that count less than their positions, which pairs are counted by.
for my $weight (0.25, 0)
{
	$s->value("ALTER INDEX docs_v SET (weights = '{1, 1, 1, $weight}')");
	for my $n (60, 70, 200)
	{
		for my $filter (@filters[ 0, 3 ])
		{
			my $args = "\$f\$$filter\$f\$, many($n) || 'w9:* | w7:*', 700";

			is($s->value("SELECT ranked(true, $args)"), $s->value("SELECT ranked(false, $args)"),
				"$n words, of label A $weight, first rows of " . ($filter eq '' ? 'all' : $filter));
		}
	}
}
$s->value(q{ALTER INDEX docs_v SET (weights = '{1, 1, 1, 2}')});

# A window whose best rows are deleted, all but five, after one with nine rows
# that are worse than what the window has left.
$s->value(<<'SQL');
CREATE FUNCTION low(a int, b int) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql
	AS $$ SELECT string_agg('w' || w, ' ') FROM generate_series(a, b) w $$;
CREATE TABLE windows (id int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off, parallel_workers = 2);
INSERT INTO windows SELECT i, (CASE WHEN i < 18000 AND i % 2000 = 7 THEN 'w1 ' || (SELECT string_agg('x' || x, ' ') FROM generate_series(1, 200) x)
	WHEN i BETWEEN 33000 AND 37000 AND i % 40 = 7 THEN low(1, 70) WHEN i BETWEEN 33000 AND 37000 AND i % 10 = 3 THEN low(1, 5)
	ELSE 'other' END)::tsvector FROM generate_series(1, 80000) i;
CREATE INDEX windows_v ON windows USING skipidx (v) WITH (proximity = 0);
DELETE FROM windows WHERE id BETWEEN 33000 AND 37000 AND id % 40 = 7 AND id % 800 <> 7;
VACUUM (INDEX_CLEANUP ON) windows;
ANALYZE windows;
SET work_mem = '64kB'; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;
SQL
my $any = "skipidx_any('simple', low(1, 70))";
my $best = "SELECT string_agg(id::text, ' ') FROM (SELECT id FROM windows WHERE v @@ $any ORDER BY v <@> $any LIMIT 10) x";
my $right = '33607 34407 35207 36007 36807 33003 33013 33023 33033 33043';

is($s->value($best), $right, 'the best rows of a window are deleted');

# Of two processes, either may have taken the other window.
$s->value('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;'
	  . ' SET min_parallel_index_scan_size = 0; SET parallel_leader_participation = off');
like($s->value("EXPLAIN (COSTS OFF, FORMAT JSON) $best"), qr/Gather/, 'by several processes');
is(join(',', grep { $_ ne $right } map { $s->value($best) } 1 .. 20), '', 'the best rows of a part are deleted');
$s->value("RESET $_")
  for qw(work_mem enable_seqscan enable_sort enable_bitmapscan max_parallel_workers_per_gather parallel_setup_cost parallel_tuple_cost
  min_parallel_index_scan_size parallel_leader_participation);

# Conjunctions and what is not ranked.
$s->value('CREATE FUNCTION all_of(a int, b int) RETURNS tsquery STABLE LANGUAGE sql AS '
	  . q{$$ SELECT string_agg('w' || w, ' & ')::tsquery FROM generate_series(a, b) w $$});
$s->value("INSERT INTO docs SELECT -1, to_tsvector('simple', string_agg('w' || w, ' ')) FROM generate_series(1, 1500) w;"
	  . " SELECT skipidx_flush('docs_v') IS NULL");
for my $q ('all_of(1, 70)', 'all_of(1, 1200)', 'all_of(1, 1501)', 'all_of(1, 1200) || all_of(1600, 2800)',
	'many(1200) && !!all_of(1, 1100)', '!!many(1200)', "phraseto_tsquery('simple', (SELECT string_agg('w' || w, ' ') FROM generate_series(1, 1100) w))")
{
	is($s->value("SELECT ranked(true, 'v @@ \$1', $q, 100)"), $s->value("SELECT ranked(false, 'v @@ \$1', $q, 100)"), "$q by rank");
	my @counts = map { $s->value("SET enable_seqscan = $_; SET enable_bitmapscan = on; SELECT count(*) FROM docs WHERE v @@ (SELECT $q)") } qw(off on);

	is($counts[0], $counts[1], "$q: $counts[1] rows");
}
$s->value('RESET enable_seqscan');

# ---- work, in time ----

# Hours, were it to grow as the cube of the words.
$s->value("SET statement_timeout = '60s'; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off");
my @scored;

for my $n (500, 2000, MOST)
{
	my $text = $s->value("DO \$\$ DECLARE j json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON)"
		  . " SELECT id FROM docs WHERE v \@\@ \$1 ORDER BY v <@> \$1 LIMIT 10' INTO j USING many($n);"
		  . " PERFORM set_config('x.scored', jsonb_path_query_first(j::jsonb, 'lax \$.**.\"Scored Postings\"')::text, false); END \$\$;"
		  . " SELECT current_setting('x.scored')");
	my $all = $s->value("SELECT sum(ndoc) FROM ts_stat('SELECT v FROM docs') t,"
		  . " (SELECT unnest(tsvector_to_array(to_tsvector('simple', replace(many($n)::text, '''', ''))))) q(w) WHERE t.word = q.w") if $n < MOST;

	note "$n words: $text postings scored" . ($all ? " of $all" : '');
	cmp_ok($text, '<=', 1.5 * $all, "$n words: hardly a posting twice") if $all;
}
$s->value('RESET statement_timeout');

# ---- memory ----

# What was resident at most, in kB, with pages of the table and of the cache.
my $most = q{(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+)')::int)};

SKIP:
{
	skip 'no /proc', 1 unless -e '/proc/self/status';
	my $fresh = skx_session($node, 'postgres');

	$fresh->value('SELECT sum(length(v)), sum(id) FROM docs; SELECT ranked(true, \'v @@ $1\', many(200), 10)');
	$fresh->value("CREATE TEMP TABLE grown (kb int)");
	$fresh->value("DO \$\$ DECLARE q tsquery := many(@{[MOST]}); before int := $most; BEGIN"
		  . " PERFORM ranked(true, 'v \@\@ \$1', q, 10); INSERT INTO grown SELECT $most - before; END \$\$");
	my $grown = $fresh->value('SELECT kb FROM grown');

	cmp_ok($grown, '<', (4 + 16) * 1024, MOST . " words take $grown kB");
	$fresh->close;
}

# ---- an end when told to ----

# Generous here: the machine may be busy, and the server's own functions look for
# nothing while they sort the words of a text or copy and print a query.
use constant { ROUNDS => 7, SOON => 0.25 };

my $other = skx_session($node, 'postgres');
my $backend = $s->backend;

# The query is made once for all rounds: that takes longer than a round.
$s->value(<<"SQL");
CREATE FUNCTION until_told(statement text, q tsquery) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	answer text;
	told text[];
BEGIN
	FOR round IN 1 .. @{[ROUNDS]} LOOP
		BEGIN
			PERFORM set_config('application_name', 'searches ' || round, false);
			LOOP
				EXECUTE statement INTO answer USING q;
			END LOOP;
		EXCEPTION WHEN query_canceled THEN
			told := told || extract(epoch FROM clock_timestamp())::text;
		END;
	END LOOP;
	PERFORM set_config('application_name', '', false);
	RETURN array_to_string(told, ' ');
END \$\$;
-- A text of many words, a document of many lexemes.
CREATE TABLE large AS SELECT string_agg('w' || i, ' ') AS t, array_to_tsvector(array_agg('w' || i)) AS v
	FROM generate_series(1, 2 * @{[MOST]}) i;
CREATE TABLE sink (v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX sink_v ON sink USING skipidx (v) WITH (pending_limit = '2MB');
SQL

my $rank = 'SELECT count(*) FROM (SELECT id FROM docs WHERE v @@ $1 ORDER BY v <@> $1 LIMIT 10) x';
my $count = 'SELECT count(*) FROM docs WHERE v @@ $1';
my $search = q{SELECT count(*) FROM skipidx_search('docs_v', $1, 10)};
my $many = "many(@{[MOST]})";
my $prefixes = q{(SELECT string_agg('w' || w || ':*', ' | ')::tsquery FROM generate_series(1, 9999) w)};

for my $case ([ $rank, $many ], [ $count, $many ], [ $search, $many ],
	[ 'EXPLAIN (FORMAT JSON) SELECT id FROM docs WHERE v @@ $1 ORDER BY v <@> $1 LIMIT 10', $many ],
	[ q{SELECT count(*) FROM skipidx_explain_score('docs_v', (SELECT ctid FROM docs LIMIT 1), $1)}, $many ],
	[ $rank, "$many && 'w3'" ], [ $count, "$many && 'w3'" ], [ $search, "$many && 'w3'" ], [ $count, "'w1' && !!$many" ],
	[ $rank, $prefixes ], [ $count, $prefixes ],
	[ q{SELECT numnode(skipidx_any('simple', t)) FROM large}, "''" ], [ 'INSERT INTO sink SELECT v FROM large RETURNING 1', "''" ])
{
	my ($statement, $query) = @$case;
	my (@told, @waited);

	$s->start("SELECT until_told(\$q\$$statement\$q\$, $query)");
	for my $round (1 .. ROUNDS)
	{
		skx_until("search $round of: $statement",
			sub { $other->value("SELECT application_name = 'searches $round' FROM pg_stat_activity WHERE pid = $backend") eq 't' });
		$waited[-1] += $s->queued / 1000 if @waited;
		sleep rand 0.3;
		push @waited, -$s->queued / 1000;
		push @told, $other->value("SELECT extract(epoch FROM clock_timestamp()) FROM pg_cancel_backend($backend)");
	}
	my @stopped = split / /, $s->finish;

	# less what it waited for a processor
	$waited[-1] += $s->queued / 1000;
	my @late = map { $stopped[$_] - $told[$_] - $waited[$_] } 0 .. $#stopped;

	is(scalar(@late), ROUNDS, "stopped each time: $statement, $query");
	@late = sort { $a <=> $b } @late;
	note sprintf 'told to stop: %.1f ms, %.1f at most: %s, %s', 1000 * $late[ $#late / 2 ], 1000 * $late[-1], $statement, $query;
	cmp_ok($late[ $#late / 2 ], '<', SOON, "stops: $statement, $query");
}
is($s->raw("SELECT skipidx_check('sink_v', true)"), '', 'inserts that were stopped');
$other->close;
$s->close;

done_testing();
