# Long questions: the first rows by any of 6 to 64 words are those of all
# distances, sorted; and few postings are scored for them.
#
# Holds: topk 1, 3, 17

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

# Rows, of which the first segment has enough for bounds first; words that
# documents are made of.
use constant { ROWS => 44000, WORDS => 900 };

my $seed = skx_seed(397);

note "seed $seed";
srand($seed);

my $node = skx_node('long_questions', conf => 'work_mem = 16MB');
my $s = skx_session($node, 'postgres');

# Twenty words a row, the n-th one in proportion to 1 / n, some of them often; in
# two segments, with deleted and with pending rows.
$s->value(<<"SQL");
CREATE EXTENSION skipidx;
SELECT setseed(@{[ ($seed % 1000) / 1000 ]}) IS NULL;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
CREATE FUNCTION fill(a int, b int) RETURNS void LANGUAGE sql AS \$\$
	INSERT INTO docs SELECT i, (SELECT string_agg(format('w%s:%s', power(@{[WORDS]}, random())::int, p), ' ')
		FROM generate_series(1, 10 + i % 20) j, generate_series(j * 10, j * 10 + (4 * random() ^ 8)::int) p)::tsvector
		FROM generate_series(a, b) i
\$\$;
SELECT fill(1, @{[ROWS - 5000]}) IS NULL, skipidx_flush('docs_v') IS NULL;
SELECT fill(@{[ROWS - 4999]}, @{[ROWS - 200]}) IS NULL, skipidx_flush('docs_v') IS NULL;
DELETE FROM docs WHERE id % 97 = 5;
VACUUM docs;
SELECT fill(@{[ROWS - 199]}, @{[ROWS]}) IS NULL;
ANALYZE docs;
-- The first rows with their distances: by the index, or by a sort of all.
CREATE FUNCTION ranked(by_index bool, q tsquery, k int, filter text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_sort', (NOT by_index)::text, true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', by_index::text, true);
	EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(string_agg(id || '' '' || d, '','')), '''')'
		' FROM (SELECT id, v <@> \$1 AS d FROM docs WHERE true %s ORDER BY v <@> \$1%s LIMIT \$2) x',
		filter, CASE WHEN by_index THEN '' ELSE ', ctid' END)
		INTO answer USING q, k;
	RETURN answer;
END \$\$;
SQL

# A question of n words: common ones and rare ones, or rare ones alone.
sub question
{
	my ($n, $least) = @_;
	my %words;

	$words{'w' . int($least + (WORDS - $least) * rand() ** 2)} = 1 while keys %words < $n;
	return join ' | ', sort keys %words;
}

sub same_rows
{
	my ($q, $k, $filter, $name) = @_;
	my ($ours, $sorted) = map { $s->value("SELECT ranked($_, '$q', $k, '$filter')") } qw(true false);

	is($ours, $sorted, $name) or diag $q;
	return;
}

# 20 words have a bit in slots, 52 one anywhere.
for my $n (6, 9, 20, 21, 33, 52, 53, 64)
{
	for my $proximity (0, 0.1)
	{
		$s->value("ALTER INDEX docs_v SET (proximity = $proximity)");
		for my $least (1, 30)
		{
			my $q = question($n, $least);

			same_rows($q, $_, '', "$n words from $least on, proximity $proximity: $_ rows") for 10, 300;
			same_rows($q, 10, 'AND v @@ \'\'!w2\'\'', "$n words from $least on, proximity $proximity: a filter");
		}
	}
}
# A prefix, a label, a word that no row has, and one of a single row.
$s->value("INSERT INTO docs VALUES (0, 'only:1 w5:2 w9:3')");
for my $more ('w7:*', 'w8:A', 'nothing', 'only', 'only | w7:*')
{
	same_rows(question(12, 1) . " | $more", $_, '', "with $more: $_ rows") for 10, 300;
}

# Lists of prefixes among those of words.
$s->value('ALTER INDEX docs_v SET (prefix_lists = on); REINDEX INDEX docs_v');
cmp_ok($s->value("SELECT sum(prefixes) FROM skipidx_segments('docs_v')"), '>', 0, 'there are lists of prefixes');
for my $prefix ('w:*', 'w1:*', 'w7:* | w3:*')
{
	for my $proximity (0, 0.1)
	{
		$s->value("ALTER INDEX docs_v SET (proximity = $proximity)");
		same_rows(question($_, 1) . " | $prefix", 10, '', "$prefix, $_ words, proximity $proximity") for 8, 30;
		same_rows(question($_, 30) . " | $prefix", 300, '', "$prefix, $_ rarer words, proximity $proximity") for 8, 30;
	}
}

# Few of the postings are scored.
$s->value('ALTER INDEX docs_v RESET (prefix_lists); REINDEX INDEX docs_v');
$s->value('SET enable_seqscan = off');

my $q = question(30, 1);
my $postings = $s->value("SELECT sum(df) FROM skipidx_terms('docs_v', '', NULL) WHERE term = ANY (string_to_array('$q', ' | '))");
my $plan = $s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM docs ORDER BY v <@> '$q' LIMIT 10");
my ($scored) = $plan =~ /Scored Postings: (\d+)/;

cmp_ok($scored, '<', $postings / 10, "30 words: of $postings postings");
cmp_ok($scored, '>', 10, '30 words: some are scored');

done_testing();
