# A merged segment is, page for page, what a build of the same rows makes:
# the content of every page of every plane, read from the two files.  Rows of
# the inputs lie mixed in the table, some of the inputs have deleted rows, and
# the memory is so small once that the maps of documents do not fit.
#
# Holds: merge 1, 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Digest::MD5 qw(md5_hex);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_relation_file);
use Test::More;

# Pages as in src/format/disk/disk_page.h: where content starts, and of the
# trailer the segment, the ordinal, the plane and the mark at the end.
use constant {
	PAGE => 8192,
	PD_LOWER => 12,
	START => 24,
	SEGMENT_AT => 8176,
	ORDINAL_AT => 8180,
	PLANE_AT => 8189,
	PAGE_ID => 0xF51D
};

# The planes that depend on nothing but the documents.
my %plane_name = (17 => 'tids', 18 => 'norms', 20 => 'dict', 21 => 'postings',
	22 => 'positions', 23 => 'prefixes', 24 => 'prefix postings');

my $node = skx_node('merge_same', conf => "fsync = off\nskipidx.max_workers = 0\n");
my $seed = skx_seed(20);

srand($seed);
note("seed $seed");
skx_database($node, 'd');

my $s = skx_session($node, 'd');

# A tsvector of any kind, as text: without positions, with labels, empty, long.
sub document
{
	my $kind = rand;
	my %at;

	return '\N' if $kind < 0.03;
	return '' if $kind < 0.06;
	my $length = $kind < 0.15 ? 1 : $kind > 0.998 ? 9000 : 5 + int(rand(150));
	for my $position (1 .. $length)
	{
		my $word = 'w' . int(2000**rand);

		push @{ $at{$word} }, $position
		  if @{ $at{$word} // [] } < 250;
	}
	my $labels = [ [''], ['A'], [ 'B', 'C' ], [ '', '', 'A', 'B', 'C' ] ]->[ rand 4 ];
	my $bare = rand() < 0.1 ? 1 : rand() < 0.2 ? 0.2 : 0;
	my @words;

	for my $word (keys %at)
	{
		my @positions = map { $_ . $labels->[ rand @$labels ] } @{ $at{$word} };

		push @words, rand() < $bare ? $word : "$word:" . join(',', @positions);
	}
	return join(' ', @words);
}

# A digest of each page of the only segment, by plane and ordinal.
sub pages
{
	my ($index) = @_;
	my $id = $s->value("SELECT segment FROM skipidx_segments('$index')"
		  . " WHERE kind = 'segment'");
	my %digests;

	open my $file, '<:raw', skx_relation_file($node, 'd', $index)
	  or die "cannot read $index: $!";
	while (read($file, my $page, PAGE))
	{
		my $plane = unpack('C', substr($page, PLANE_AT, 1));

		next
		  if unpack('v', substr($page, -2)) != PAGE_ID
		  || unpack('V', substr($page, SEGMENT_AT, 4)) != $id
		  || !$plane_name{$plane};
		my $ordinal = unpack('V', substr($page, ORDINAL_AT, 4));
		my $lower = unpack('v', substr($page, PD_LOWER, 2));

		die "two pages $plane_name{$plane} $ordinal"
		  if $digests{"$plane_name{$plane} $ordinal"};
		$digests{"$plane_name{$plane} $ordinal"} =
		  md5_hex(substr($page, START, $lower - START));
	}
	close $file;
	return \%digests;
}

my $columns = 'ndocs, deleted, pages - delete_pages, null_docs, terms,'
  . ' postings, positions, total_length, tid_pages, norm_pages, dict_pages,'
  . ' posting_pages, position_pages, prefixes, prefix_postings';

# Merges all of `docs_v` and compares with an index made now.
sub same
{
	my ($what, $block_size, $memory) = @_;
	my $from = "FROM skipidx_segments('docs_v') WHERE kind = 'segment'";
	my $terms = "SELECT $columns FROM skipidx_segments('%s') WHERE kind = 'segment'";

	$s->value("SET maintenance_work_mem = '$memory'");
	is($s->value("SELECT skipidx_merge('docs_v', 1)"), 1, "$what: one segment");
	is($s->value("SELECT skipidx_check('docs_v', true)"), '', "$what: sound");
	$s->value("SET maintenance_work_mem = '256MB';"
		  . ' CREATE INDEX docs_w ON docs USING skipidx (v)'
		  . " WITH (block_size = '$block_size')");
	is($s->value(sprintf($terms, 'docs_v')), $s->value(sprintf($terms, 'docs_w')),
		"$what: same figures");
	my ($merged, $built) = map { pages($_) } 'docs_v', 'docs_w';
	my @different =
	  grep { ($merged->{$_} // '') ne ($built->{$_} // '') }
	  sort keys %{ { %$merged, %$built } };

	cmp_ok(scalar keys %$built, '>', 5, "$what: there are pages to compare");
	is("@different", '', "$what: same pages");
	return;
}

sub segments
{
	return $s->value(
		"SELECT count(*) || ' ' || count(*) FILTER (WHERE deleted > 0)"
		  . " FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
}

# Some thousand documents of all kinds, in segments that share heap pages.
my $table = 'CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off)';

for my $case ([ '8kB', '1MB' ], [ '32kB', '64MB' ], [ '128kB', '1MB' ])
{
	my ($block_size, $memory) = @$case;
	my $id = 0;

	$s->value("DROP TABLE IF EXISTS docs; $table; CREATE INDEX docs_v ON docs"
		  . " USING skipidx (v) WITH (block_size = '$block_size',"
		  . " pending_limit = '100MB')");
	for my $round (1 .. 5)
	{
		my @rows = map { $id++ . "\t" . document() } 1 .. 600;

		$s->value("COPY docs FROM STDIN;\n" . join("\n", @rows) . "\n\\.\n");
		$s->value("SELECT skipidx_flush('docs_v')");
		next if $round == 5;
		$s->value("DELETE FROM docs WHERE id % 4 = 1 AND id >= $id - 600");
		# marks, but too few to be worth a flush; room for the next round
		$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs')
		  if $round % 2 == 0;
	}
	$s->value('DELETE FROM docs WHERE id % 50 = 0;');
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	like(segments(), qr/^[2-9] [1-9]/,
		"$block_size: several segments, some with deleted rows");
	same("$block_size, $memory", $block_size, $memory);
}

# So many that a megabyte does not hold the maps, which need a file then (and
# nothing else does), nor a quarter of it the norms.
my $temporary =
  "SELECT pg_stat_force_next_flush(); SELECT temp_files FROM pg_stat_database WHERE datname = 'd'";

$s->value("DROP TABLE docs; $table; CREATE INDEX docs_v ON docs USING skipidx (v)"
	  . " WITH (block_size = '64kB', pending_limit = '100MB');"
	  . " SET maintenance_work_mem = '64MB';"
	  . ' CREATE TABLE source AS SELECT i, i % 7919 AS place FROM generate_series(1, 400000) i');
$s->value("INSERT INTO docs SELECT i, ('n' || i % 1009 || ':1,3A m' || i)::tsvector"
	  . " FROM source WHERE i % 2 = $_ ORDER BY place, i; SELECT skipidx_flush('docs_v');"
	  . ($_ == 0 ? ' DELETE FROM docs WHERE id % 4 = 0; VACUUM (INDEX_CLEANUP ON) docs;'
		  . " SELECT skipidx_merge('docs_v', 1)" : ''))
  for 0, 1;
is(segments(), '2 0', 'two segments without deleted rows');
my $files = (split /\n/, $s->value($temporary))[-1];
same('maps in a file', '64kB', '1MB');
cmp_ok((split /\n/, $s->value($temporary))[-1], '>', $files,
	'maps in a file: there was one');

$node->stop;
done_testing();
