# Ranked scans are as good as BM25 is known to be, on collections with
# judgments, and the default weight of proximity makes them no worse.
#
# The collections are no part of the tree: SKIPIDX_CORPORA, or a folder beside it.
#
# Holds: score 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $corpora = ($ENV{SKIPIDX_CORPORA} // "$top/../shared/corpora") . '/quality';

plan skip_all => "no collections in $corpora" unless -r "$corpora/cranfield/docs.tsv";

# nDCG@10 of another program, with exact lengths.
my %known = (cranfield => 0.3667, scifact => 0.6859);
my $node = skx_node('rank_quality');

for my $name (sort keys %known)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	my $s = skx_session($node, $name);

	$s->value("\\i $top/bench/targets/quality/quality.sql\n");
	for my $file ([ 'rows (id, title, body)', 'docs' ], [ 'queries', 'queries' ], [ 'qrels', 'qrels' ])
	{
		my ($table, $from) = @$file;

		open(my $in, '<:utf8', "$corpora/$name/$from.tsv") or die "$corpora/$name/$from.tsv: $!";
		local $/;
		$s->value("COPY $table FROM stdin;\n" . <$in> . "\\.\n");
		close $in;
	}
	$s->value('CALL collect()');
	like($s->value("SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF)"
			  . " SELECT id FROM docs WHERE tsv \@\@ 'wing | flow' ORDER BY tsv <\@> 'wing | flow'::tsquery LIMIT 10"),
		qr/Index Scan using docs_tsv/, "$name: by the index");

	my $ndcg = sub { $s->value("ALTER INDEX docs_tsv $_[0]; SELECT round(avg(ndcg)::numeric, 4) FROM ndcg()") };
	my $default = $ndcg->('RESET (proximity)');
	my $without = $ndcg->('SET (proximity = 0)');

	note "$name: nDCG\@10 $without without proximity, $default with the default";
	cmp_ok(abs($without - $known{$name}), '<=', 0.005, "$name: nDCG\@10 without proximity, $without");
	cmp_ok($default, '>=', $without, "$name: nDCG\@10 with the default of proximity, $default");
	$s->close;
}
$node->stop;
done_testing();
