# What the parts of a search promise each other, broken one at a time: in a build
# with assertions each ends in an assertion, where it is relied on.  The collector
# of test/module/skipidx_collect.c does what a collector must not do; the setting
# skipidx.fault_contract of skipidx_fault.c has matches, bounds of scores and keys,
# and thresholds that are not as promised.  In other builds it breaks nothing.
#
# Holds: exec 8; fault 5; query 11; topk 14

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_recovered skx_module);
use Test::More;

my $node = skx_node('contract', faults => 1, conf => "skipidx.max_workers = 0\nskipidx.cache_size = 1MB");

my $asserts = $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';

# Servers from 16 on do not let a library see the functions of skipidx; others do
# in a session that has loaded it.
my $collect = !$asserts ? '' : 'CREATE FUNCTION skipidx_collect(index regclass, query tsquery, ways int, room int, again int, turns int,'
  . " fails int, step int, enough int, own int, breaks int) RETURNS text LANGUAGE c AS '" . skx_module('skipidx_collect') . "'";

$node->safe_psql('postgres', <<'SQL' . $collect);
CREATE EXTENSION skipidx;
CREATE TABLE docs (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT 'w'::tsvector FROM generate_series(1, 3000);
CREATE INDEX docs_v ON docs USING skipidx (v);
INSERT INTO docs SELECT 'w'::tsvector FROM generate_series(1, 3000);
SELECT skipidx_flush('docs_v');
SQL

# how it is broken, what is wanted of the segments, and the assertion
my @breaks = (
	[ 0, 'nothing', 1000, 0, undef ],
	[ 0, 'nothing, in an order', 0, 1, undef ],
	[ 1, 'a range that begins before the last one ends', 1000, 0, qr/range->from >= before/ ],
	[ 2, 'an empty range', 1000, 0, qr/range->from >= before/ ],
	[ 3, 'a range behind its segment', 1000, 0, qr/range->from >= before/ ],
	[ 4, 'a segment twice', 0, 1, qr/bms_is_member\(order\[i\], seen\)/ ]);

for my $break ($asserts ? @breaks : ())
{
	my ($how, $name, $step, $own, $assertion) = @$break;
	my $before = -s $node->logfile;
	my ($rc, $out, $err) = $node->psql('postgres', "LOAD 'skipidx'; SELECT split_part(skipidx_collect('docs_v', 'w', 1, 100, 0, 0, 0, $step, 0, $own, $how), ' ', 1)");

	if (!defined $assertion)
	{
		is("$rc $out", '0 6000', $name);
		next;
	}
	isnt($rc, 0, "$name: no answer");
	like(substr(slurp_file($node->logfile), $before), qr/TRAP: .*$assertion/, "$name: the assertion");
	skx_recovered($node);
}

# The parts of a search.  The words w and x are beside each other.  The cache is too
# small for norms to be brought as a whole, so that a search for both gathers
# documents when nothing is cached.  The word late is in pending rows alone.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE ranked (id int, n int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO ranked SELECT i, i, ('w:' || (SELECT string_agg((3 * p + 1)::text, ',') FROM generate_series(0, i * 31 % 5) p) ||
	' x:' || (SELECT string_agg((3 * p + 2)::text, ',') FROM generate_series(0, i * 17 % 4) p) || CASE WHEN i % 20 = 0 THEN ' few:50' ELSE '' END ||
	CASE WHEN i % 80 = 7 THEN ' fewer:50' ELSE '' END || CASE WHEN i % 1000 = 9 THEN ' rare:50' ELSE '' END)::tsvector
	FROM generate_series(1, 90000) i;
CREATE INDEX ranked_v ON ranked USING skipidx (v, n) WITH (block_size = '8kB');
INSERT INTO ranked SELECT i, i, ('late:' || i % 7 + 1)::tsvector FROM generate_series(90001, 90200) i;
CREATE TABLE plain (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO plain SELECT v FROM ranked WHERE id <= 90000;
CREATE INDEX plain_v ON plain USING skipidx (v) WITH (proximity = 0, block_size = '8kB');
ANALYZE;
SQL

my $many = q{('w | x | ' || (SELECT string_agg('q' || i, ' | ') FROM generate_series(1, 70) i))::tsquery};
my %search = (
	matches => q{SELECT v FROM plain WHERE v @@ 'w'},
	ordered => q{SELECT id FROM ranked WHERE v @@ 'w' ORDER BY n LIMIT 2000},
	led => q{SELECT v FROM plain WHERE v @@ 'few | fewer' ORDER BY v <@> 'w | x' LIMIT 5},
	many => "SELECT v FROM plain WHERE v @@ 'rare | rarer' ORDER BY v <@> (SELECT $many) LIMIT 5",
	any => q{SELECT v FROM plain ORDER BY v <@> 'w | x' LIMIT 5},
	one => q{SELECT v FROM plain ORDER BY v <@> 'w' LIMIT 5},
	all => q{SELECT v FROM plain WHERE v @@ 'w & x' ORDER BY v <@> 'w & x' LIMIT 5},
	paired => q{SELECT id FROM ranked ORDER BY v <@> 'w | x' LIMIT 5},
	late => q{SELECT id FROM ranked ORDER BY v <@> 'late' LIMIT 5});

# Nothing is cached, and the session has just read something else.
my $cold = q{SELECT skipidx_cache_reset(); SELECT count(*) FROM docs WHERE v @@ 'w';};
my $matches = qr/list\[i\] >= /;
my @mutants = (
	map({ my $search = $_; map { [ $_, $search, $matches ] } qw(docs_ascend docs_once docs_range) } qw(matches ordered led)),
	map({ [ $_, 'many', $matches ] } qw(docs_ascend docs_range)),
	[ 'max_bound', 'any', qr/part <= l->max/ ],
	[ 'list_bound', 'any', qr/part <= l->checked_bound/ ],
	[ 'sub_bound', 'one', qr/part <= l->checked_sub_bound/ ],
	[ 'part_bound', 'all', qr/sum <= run->sums\[i\]/, $cold ],
	[ 'pair_bound', 'paired', qr/sum <= exact->sums\[i\] \+ most/ ],
	[ 'ceiling', 'paired', qr/sum <= exact->ceiling_sums/ ],
	[ 'pending_bound', 'late', qr/pending_sum <= doc->bound/ ],
	[ 'key_bound', 'ordered', qr/keys\[i\]\.value <= most/ ],
	[ 'threshold:2', 'any', qr/least >= hits->checked_min/ ]);

# By their words, which a server without assertions never says.
my $source = join '', map { slurp_file($_) } glob("$FindBin::RealBin/../../src/*/*/*.[ch]");

like($source, $_, "there is an assertion like $_") for map { $_->[2] } @mutants;

for my $mutant (map({ [ '', $_ ] } sort keys %search), @mutants)
{
	my ($contract, $search, $assertion, $first) = @$mutant;
	my $before = -s $node->logfile;
	my ($rc, $out, $err) = $node->psql('postgres', "LOAD 'skipidx'; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;"
		  . ($first // "$search{$search};") . " SET skipidx.fault_contract = '$contract'; SELECT count(*) FROM ($search{$search}) x");

	if ($contract eq '' || !$asserts)
	{
		my $rows = { matches => 90000, ordered => 2000 }->{$search} // 5;

		is("$rc " . ($out =~ s/.*\n//sr), "0 $rows", "$search: nothing broken" . ($contract eq '' ? '' : " by $contract"));
		next;
	}
	isnt($rc, 0, "$contract, $search: no answer");
	like(substr(slurp_file($node->logfile), $before), qr/TRAP: .*$assertion/, "$contract, $search: the assertion");
	skx_recovered($node);
}
my ($rc, $out, $err) = $node->psql('postgres', q{SET skipidx.fault_contract = 'docs'});

like($err, qr/invalid value/, 'a contract that there is not');
$node->stop;
done_testing();
