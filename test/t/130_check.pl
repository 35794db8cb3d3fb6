# skipidx_check: damage that no checksum shows.  Pages are changed and given a
# right CRC, so that only what they say, to themselves, to each other, or about
# the table, is wrong.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_relation_file);
use Test::More;

use constant {
	PAGE => 8192,
	START => 24,				# SKX_PAGE_START
	PD_LOWER => 12,
	CRC_AT => 8168 + 16,		# SkxDiskTrailer.crc
	PLANE_AT => 8168 + 21,		# SkxDiskTrailer.plane
	META => 1,
	STRIPE => 3,
	PENDING => 4,
	DELETES => 6,
	HEADER => 16,
	TIDS => 17,
	NORMS => 18,
	DICT => 20,
	POSTINGS => 21,
	POSITIONS => 22,
	FLIPS => 60					# a plane
};

my $seed = skx_seed(5);

note "seed $seed";
srand($seed);

# Damage must reach skipidx: servers from 18 on have data checksums unless
# told otherwise.
my $node = skx_node('check', start => 0);
PostgreSQL::Test::Utils::system_or_bail('pg_checksums', '--disable', '-D',
	$node->data_dir)
  if $node->pg_version >= 18;
$node->start;
my @table = map {
	my $c = $_;
	$c = $c & 1 ? $c >> 1 ^ 0x82F63B78 : $c >> 1 for 1 .. 8;
	$c
} 0 .. 255;

sub crc
{
	my ($page) = @_;
	my $crc = 0xFFFFFFFF;

	# all but LSN, checksum, flags and the CRC itself
	$crc = $table[($crc ^ $_) & 0xFF] ^ $crc >> 8
	  for unpack('C*', substr($page, PD_LOWER, CRC_AT - PD_LOWER)
		  . substr($page, CRC_AT + 4));
	return $crc ^ 0xFFFFFFFF;
}

sub plane { return unpack('C', substr($_[0], PLANE_AT, 1)) }

sub write_page
{
	my ($path, $block, $page) = @_;

	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $block * PAGE, 0 or die $!;
	print $file $page;
	close $file or die $!;
	return;
}

# Blocks of an index by plane, and all its pages.
sub read_index
{
	my ($path) = @_;
	my (%blocks, @pages);

	open my $file, '<:raw', $path or die "$path: $!";
	while (read($file, my $page, PAGE))
	{
		push @{ $blocks{ plane($page) } }, scalar @pages;
		push @pages, $page;
	}
	return (\%blocks, \@pages);
}

# What skipidx_check says, '' for nothing.
sub check
{
	my ($index, $all) = @_;
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT skipidx_check('$index', " . ($all ? 'true' : 'false') . ')');

	return $err;
}

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN i % 500 = 0 THEN NULL WHEN i % 300 = 0 THEN ''
		WHEN i % 11 = 0 THEN strip(v) WHEN i % 7 = 0 THEN setweight(v, 'B')
		ELSE v END
	FROM (SELECT string_agg('w' || (hashint4(i * 16 + p) & ((1 << p) - 1))
			|| ':' || p || CASE WHEN p = 3 THEN 'A' ELSE '' END, ' ')::tsvector
		FROM generate_series(1, 6 + i % 8) p) x(v)
$$;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 8000) i;
CREATE INDEX whole ON docs USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE more AS SELECT * FROM docs;
CREATE INDEX mixed ON more USING skipidx (v) WITH (block_size = '16kB');
DELETE FROM more WHERE id % 10 = 0;
VACUUM more;
INSERT INTO more SELECT i, doc(i) FROM generate_series(1, 300) i;
INSERT INTO more SELECT 0, string_agg('long' || i, ' ')::tsvector
FROM generate_series(1, 3000) i;
UPDATE more SET v = doc(id + 1) WHERE id < 20;
CREATE INDEX subset ON more USING skipidx ((v || 'extra:1C')) WHERE id > 100;
CHECKPOINT;
SQL

is(check($_, 1), '', "$_ is sound") for qw(whole mixed subset);

# 1. One bit wrong in what a segment's pages say.  All of it matters but bounds,
# which may be looser than they need be, and keys that separate no less.
my $path = skx_relation_file($node, 'postgres', 'whole');
my ($blocks, $pages) = read_index($path);

for my $plane (TIDS, NORMS, DICT, POSTINGS, POSITIONS)
{
	my ($missed, $strange) = (0, '');

	for (1 .. FLIPS)
	{
		my $of = $blocks->{$plane};
		my $block = $of->[ int rand @$of ];
		my $page = $pages->[$block];
		my $lower = unpack('v', substr($page, PD_LOWER, 2));
		my $at = START + int rand($lower - START);

		next if $lower == START;
		substr($page, $at, 1) ^= chr(1 << int rand 8);
		substr($page, CRC_AT, 4) = pack('V', crc($page));
		write_page($path, $block, $page);

		my $said = check('whole', 1);

		$missed++ if $said eq '';
		$strange = $said if $said ne '' && $said !~ /is damaged/;
		write_page($path, $block, $pages->[$block]);
	}
	cmp_ok($missed, '<=', $plane == POSTINGS || $plane == DICT ? FLIPS / 10 : 0,
		"plane $plane: flipped bits found");
	is($strange, '', "plane $plane: nothing but damage reported");
}
is(check('whole', 1), '', 'all put right');

# 2. Pages that have no CRC.  They are in shared buffers, so the server is
# stopped while they change.
$path = skx_relation_file($node, 'postgres', 'mixed');
$node->stop;
($blocks, $pages) = read_index($path);

sub spoil
{
	my ($name, $plane, $change, $block, $expect) = @_;
	my ($where) = grep { unpack('v', substr($pages->[$_], PD_LOWER, 2)) > START }
	  @{ $blocks->{$plane} };
	my $page = $pages->[$where];

	$change->(\$page);
	write_page($path, $where, $page);
	$node->start;

	my $said = check('mixed', 1);

	$block = $where if defined $block && $block eq 'here';
	like($said, defined $block ? qr/damaged in block $block\b/ : qr/damaged$/m,
		"$name: block");
	like($said, $expect, "$name: reason");
	$node->stop;
	write_page($path, $where, $pages->[$where]);
	return;
}

# adds to a little-endian field at `at` of the content
sub add
{
	my ($at, $template, $n) = @_;

	return sub {
		my ($page) = @_;
		my $size = length pack($template, 0);

		substr($$page, START + $at, $size) =
		  pack($template, $n + unpack($template, substr($$page, START + $at, $size)));
	};
}

my ($stripe) = @{ $blocks->{ +STRIPE } };
my $nblocks = @$pages;

spoil('a file too short', META, add(36, 'V', 16), 'here',
	qr/the file has $nblocks pages, but should have/);
spoil('documents of the stripe', STRIPE, add(8, 'Q<', -1), 'here',
	qr/has 339 documents, but the stripe counts 338/);
spoil('lengths of the stripe', STRIPE, add(32, 'Q<', 1), 'here',
	qr/positions in documents, but the stripe counts/);
spoil('bytes of the stripe', STRIPE, add(40, 'Q<', 4), 'here',
	qr/bytes, but the stripe counts/);
spoil('pages of the stripe', STRIPE, add(68, 'V', 1), 'here',
	qr/the stripe's extents have \d+ pages, but it counts/);
spoil('count of delete bits', DELETES, add(0, 'V', 1), 'here',
	qr/counts other than it has|delete bits are set/);
spoil('sequence of a pending page', PENDING, add(0, 'Q<', 1), 'here',
	qr/not the next one of its list/);

# 3. Sound in itself, but not what the table holds.
sub set_bit
{
	my ($page) = @_;

	# document 20 is row (0,21); deletes came after the build
	vec(substr($$page, START + 8, 8128), 20, 1) = 1;
	substr($$page, START, 4) =
	  pack('V', 1 + unpack('V', substr($$page, START, 4)));
}

sub other_row
{
	my ($page) = @_;

	# the first pending record becomes row (0,21), which the segment has
	substr($$page, START + 16 + 6, 6) = pack('v3', 0, 0, 21);
}

spoil('a deleted document', DELETES, \&set_bit, undef,
	qr/row \(0,21\) of table "more" is marked deleted in the index/);
spoil('a row twice', PENDING, \&other_row, undef,
	qr/row \(0,21\) of table "more" is in the index more than once/);
spoil('a dead pending document',
	PENDING, sub { add(16 + 4, 'v', 1)->(@_) }, $stripe,
	qr/1 dead documents, but the stripe counts 0/);

$node->start;
is(check('mixed', 1), '', 'all put right');

# A row that came into the table past the index is missing; one that left the
# table is not.
$node->safe_psql('postgres', <<'SQL');
UPDATE pg_index SET indisready = false WHERE indexrelid = 'whole'::regclass;
SQL
$node->safe_psql('postgres', <<'SQL');
INSERT INTO docs VALUES (-1, 'not:1 there:2');
DELETE FROM docs WHERE id = 77;
SQL
is(check('whole', 0), '', 'without the table nothing is missing');
like(check('whole', 1), qr/row \(\d+,\d+\) of table "docs" is not in the index/,
	'a row is missing');

# 4. Who may, and what.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE somebody;
CREATE TABLE parts (id int, v tsvector) PARTITION BY RANGE (id);
CREATE INDEX parts_v ON parts USING skipidx (v);
CREATE INDEX docs_id ON docs (id);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'subset'::regclass;
SQL
like((run_as('somebody', 'mixed'))[0], qr/must be owner of index mixed/,
	'others may not');
like(check('parts_v'), qr/is a partitioned index/, 'partitioned index');
like(check('docs_id'), qr/is not a skipidx index/, 'index of another kind');
like(check('docs'), qr/is not a skipidx index/, 'table');
like(check('subset'), qr/index "subset" is not valid/, 'invalid index');

sub run_as
{
	my ($role, $index) = @_;
	my ($rc, $out, $err) = $node->psql('postgres',
		"SET ROLE $role; SELECT skipidx_check('$index')");

	return $err;
}

$node->stop;
done_testing();
