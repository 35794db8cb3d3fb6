# Data directories of each release, made by its own build (test/golden/make.sh):
# this build answers every question as that one did, finds them sound, writes to
# them, flushes, merges and vacuums, and answers as the table does after each.
#
# Holds: disk 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Basename qw(basename dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxGolden qw(golden_unpack golden_answers);
use SkipidxTest qw(skx_node);
use Test::More;

local $ENV{PGUSER} = 'postgres';

my $probe = PostgreSQL::Test::Cluster->new('golden_probe');
my ($major) = $probe->config_data('--version') =~ / (\d+)/;
my @golden = sort glob("$FindBin::RealBin/../golden/*/pg$major.tar.xz");

plan skip_all => "there is no data directory of version $major" unless @golden;

my @indexes = qw(docs_plain docs_columns docs_words docs_some fleeting_v);

# What each index has of a kind of part.
sub parts
{
	my ($node, $what) = @_;

	return $node->safe_psql('postgres', "SELECT string_agg(i || ' ' || ($what)::text, ', ' ORDER BY n) FROM unnest('{@{[ join ',', @indexes ]}}'::text[]) WITH ORDINALITY AS u(i, n), skipidx_stats(i::regclass) s");
}

sub sound
{
	my ($node, $when) = @_;

	is($node->safe_psql('postgres', "SELECT skipidx_check('$_', true)"), '', "$when: $_ is sound") for @indexes;
	return;
}

# The answers by the indexes are those of the tables, where both can be asked.
sub right
{
	my ($node, $when) = @_;
	my $ask = q{SELECT q, (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ q),
		(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ q AND tags && '{t3}' AND price > 20),
		(SELECT count(*) FROM docs WHERE to_tsvector('simple', body) @@ q), (SELECT count(*) FROM docs WHERE v @@ q AND tenant < 3),
		(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM fleeting WHERE v @@ q)
		FROM unnest('{w1,w0 & w2,w1 <-> w0,w3:*,w1:A & !w5,log & !w7,new}'::tsquery[]) q};

	is($node->safe_psql('postgres', "SET enable_seqscan = off; $ask"),
		$node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET skipidx.enable_custom_scan = off; $ask"),
		"$when: answers");
	return;
}

for my $golden (@golden)
{
	my $release = basename(dirname($golden));
	my $node = skx_node("golden_$release" =~ s/\W/_/gr, start => 0, conf => "skipidx.max_workers = 0\n");

	golden_unpack($node, $golden);
	$node->start;

	# It has what it is made for.
	like(parts($node, 'segments > 1'), qr/docs_plain true, docs_columns true, docs_words true, docs_some false, fleeting_v false/, "$release: several segments");
	like(parts($node, 'pending_docs > 0'), qr/^(\w+ true, ){4}\w+ true$/, "$release: pending rows");
	like(parts($node, 'deleted > pending_dead'), qr/^docs_plain true, docs_columns true, docs_words true/, "$release: deleted bits");
	like(parts($node, 'reserved_pages > 0'), qr/^docs_plain true, docs_columns false, docs_words true/, "$release: what kills have left");
	like(parts($node, 'free_pages > 0'), qr/^docs_plain true, docs_columns true/, "$release: free pages");
	is(golden_answers($node), slurp_file(dirname($golden) . '/answers.txt'), "$release: the same answers");
	sound($node, $release);
	right($node, $release);

	$node->safe_psql('postgres', <<'SQL');
CALL fill(8001, 300);
UPDATE docs SET v = v || 'new:1' WHERE id % 29 = 3;
DELETE FROM docs WHERE id % 31 = 5;
INSERT INTO fleeting SELECT i, document(i) FROM generate_series(8001, 8100) i;
SQL
	right($node, "$release, written");
	$node->safe_psql('postgres', "SELECT skipidx_flush('$_')") for @indexes;
	right($node, "$release, flushed");
	sound($node, "$release, flushed");
	$node->safe_psql('postgres', 'VACUUM docs, fleeting');
	right($node, "$release, vacuumed");
	$node->safe_psql('postgres', 'CALL fill(9001, 30)');
	$node->safe_psql('postgres', "SELECT skipidx_merge('$_', 1)") for @indexes;
	right($node, "$release, merged");
	sound($node, "$release, merged");
	like(parts($node, 'reserved_pages'), qr/^(\w+ 0, ){4}\w+ 0$/, "$release: nothing is reserved");
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$release: all pages have right checksums");
}
done_testing();
