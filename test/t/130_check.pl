# skipidx_check: damage that no checksum shows.  Pages are changed and given a
# right CRC, so that only what they say, to themselves, to each other, or about
# the table, is wrong.
#
# Holds: damage 1; disk 1; inspect 2, 3, 5, 6, 7, 8, 9, 10, 11, 12; manifest 2, 3, 5
# Holds: pending 3, 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_seed skx_session skx_relation_file);
use Test::More;
use Time::HiRes qw(sleep);

use constant {
	PAGE => 8192,
	START => 24,				# SKX_PAGE_START
	PD_LOWER => 12,
	TRAILER => 8168,			# SKX_PAGE_END
	CRC_AT => 8168 + 16,		# SkxDiskTrailer.crc
	PLANE_AT => 8168 + 21,		# SkxDiskTrailer.plane
	META => 1,
	ROOT => 2,
	STRIPE => 3,
	PENDING => 4,
	DELETES => 6,
	HEADER => 16,
	TIDS => 17,
	NORMS => 18,
	KEYS => 19,
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
# what was freed waits for transactions, as where a standby may be
my $node = skx_node('check', start => 0, conf => 'skipidx.reuse_early = off');
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

# What skipidx_check says, '' for nothing; in a session that stays, or in one of
# its own where the server stops in between.
my $checker;

sub check
{
	my ($index, $all) = @_;
	my $sql = "SELECT skipidx_check('$index', " . ($all ? 'true' : 'false') . ')';

	return $checker->raw("SELECT skipidx_cache_reset() \\g /dev/null\n $sql") if $checker;

	my ($rc, $out, $err) = $node->psql('postgres', $sql);

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
CREATE TABLE single AS SELECT i AS id, ('s' || i || ':1 t' || i || ' '
	|| string_agg('z' || p || ':' || 9 + (hashint4(i * 16 + p) & 8191), ' '))::tsvector AS v
FROM generate_series(1, 4000) i, generate_series(1, 16) p GROUP BY i;
CREATE INDEX inline ON single USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE keyed AS SELECT i AS id, doc(i) AS v, i * 1000::int8 AS up, CASE WHEN i % 5 > 0 THEN hashint4(i) END AS mixed
FROM generate_series(1, 8000) i;
CREATE INDEX keyed_whole ON keyed USING skipidx (v, up, mixed) WITH (block_size = '8kB');
CREATE INDEX subset ON more USING skipidx ((v || 'extra:1C')) WHERE id > 100;
CHECKPOINT;
SQL

is(check($_, 1), '', "$_ is sound") for qw(whole mixed subset inline keyed_whole);

# 1. One bit wrong in what a segment's pages say.  All of it matters but bounds,
# which may be looser than they need be, and keys that separate no less.
my ($path, $blocks, $pages);

$checker = skx_session($node, 'postgres');
for my $plane (TIDS, NORMS, KEYS, DICT, POSTINGS, POSITIONS)
{
	my $index = $plane == KEYS ? 'keyed_whole' : 'whole';
	my ($missed, $strange) = (0, '');

	$path = skx_relation_file($node, 'postgres', $index);
	($blocks, $pages) = read_index($path);

	for (1 .. FLIPS)
	{
		my $of = $blocks->{$plane};
		my $block = $of->[ int rand @$of ];
		my $page = $pages->[$block];
		my $lower = unpack('v', substr($page, PD_LOWER, 2));
		my $at = START + int rand($lower - START);

		# of the page of trees, quantiles between the first and the last are bounds
		next if $lower == START || ($plane == KEYS && $lower == START + 2 * 216);
		substr($page, $at, 1) ^= chr(1 << int rand 8);
		substr($page, CRC_AT, 4) = pack('V', crc($page));
		write_page($path, $block, $page);

		my $said = check($index, 1);

		$missed++ if $said eq '';
		$strange = $said if $said ne '' && $said !~ /is damaged/;
		write_page($path, $block, $pages->[$block]);
	}
	cmp_ok($missed, '<=', $plane == POSTINGS || $plane == DICT ? FLIPS / 10 : $plane == KEYS ? FLIPS / 20 : 0,
		"plane $plane: flipped bits found");
	is($strange, '', "plane $plane: nothing but damage reported");
}

# What pages of a dictionary leaf count from: lists before it end there or on
# the page before, also where no entry of the leaf has a page.  Above the
# leaves the same bytes are 0.
for my $index (qw(whole inline))
{
	my ($changed, $missed, $strange) = (0, 0, '');

	$path = skx_relation_file($node, 'postgres', $index);
	($blocks, $pages) = read_index($path);

	for my $block (@{ $blocks->{ +DICT } })
	{
		for my $at (START + 12, START + 16)
		{
			for my $by (-1, 2, 0x80000000)
			{
				my $page = $pages->[$block];
				my $from = unpack('V', substr($page, $at, 4)) + $by;

				next if $from < 0;
				substr($page, $at, 4) = pack('V', $from & 0xFFFFFFFF);
				substr($page, CRC_AT, 4) = pack('V', crc($page));
				write_page($path, $block, $page);

				my $said = check($index, 1);

				$changed++;
				$missed++ if $said eq '';
				$strange = $said if $said ne '' && $said !~ /is damaged/;
				write_page($path, $block, $pages->[$block]);
			}
		}
	}
	cmp_ok($changed, '>', 20, "$index: what dictionary pages count from: changed");
	is($missed, 0, "$index: and found");
	is($strange, '', "$index: and nothing else reported");
	is(check($index, 1), '', "$index: put right");
}

# A list in a dictionary entry: a query and the check name the block of the
# dictionary, and that block says what it is.
{
	$path = skx_relation_file($node, 'postgres', 'inline');
	($blocks, $pages) = read_index($path);

	# four bytes shared with the key before, one of its own; df, flags, one
	# position; bytes of the list
	my $entry = qr/\x04\x01[0-9]\x01.\x01([\x02-\x20])/s;
	my ($block) = grep { $pages->[$_] =~ $entry } @{ $blocks->{ +DICT } };
	my $page = $pages->[$block];
	my $query = "SET enable_seqscan = off; SELECT sum((SELECT count(*) FROM single WHERE v @@ ('s' || i)::tsquery)) FROM generate_series(1000, 3999) i";

	$page =~ $entry;
	substr($page, $+[0], ord $1) = "\xFF" x ord $1;
	substr($page, CRC_AT, 4) = pack('V', crc($page));
	write_page($path, $block, $page);
	$checker->raw('SELECT skipidx_cache_reset()');
	like($checker->raw($_), qr/damaged in block $block\b/, "list in a dictionary entry: $_")
	  for $query, "SELECT skipidx_check('inline')";
	is($checker->raw("SELECT string_agg(value, ' ' ORDER BY field) FROM skipidx_page('inline', $block) WHERE field IN ('damage', 'kind', 'level')"), 'none dictionary 0', 'its page, whose own check is right');
	substr($page, CRC_AT, 4) = 'abcd';
	write_page($path, $block, $page);
	like($checker->raw("SELECT string_agg(value, ' ' ORDER BY field) FROM skipidx_page('inline', $block) WHERE field IN ('damage', 'kind')"), qr/^the checksum of the page is wrong dictionary$/, 'and when it is wrong');
	write_page($path, $block, $pages->[$block]);
}
$checker->close;
undef $checker;

# 2. Pages that have no CRC.  They are in shared buffers, so the server is
# stopped while they change.
my $spoiled;

sub spoil_index
{
	$spoiled = shift;
	$path = skx_relation_file($node, 'postgres', $spoiled);
	$node->stop;
	($blocks, $pages) = read_index($path);
	return;
}

# First page of a plane with content; of stripes, the one with documents.
sub page_of
{
	my ($plane) = @_;
	my ($where) = grep {
		my $page = $pages->[$_];

		unpack('v', substr($page, PD_LOWER, 2)) > START
		  && ($plane != STRIPE || unpack('Q<', substr($page, START, 8)) > 1);
	} @{ $blocks->{$plane} };

	return $where;
}

# Changes page $where (a block in an array, or a plane) and looks at what the
# check says: of block $block ('here', 'any', or undef: none is named).
sub spoil
{
	my ($name, $where, $change, $block, $expect, $warning) = @_;

	$where = ref $where ? $where->[0] : page_of($where);
	my $page = $pages->[$where];

	$change->(\$page);
	write_page($path, $where, $page);
	$node->start;

	my $said = check($spoiled, 1);

	$block = $where if defined $block && $block eq 'here';
	like($said, $warning ? qr/^(psql:\S+ )?WARNING:.* 1 unused page of index "$spoiled" is not sound, block $block$/m
		: !defined $block ? qr/damaged$/m
		: $block eq 'any' ? qr/damaged in block \d+/
		: qr/damaged in block $block\b/, "$name: block");
	like($said, $expect, "$name: reason");
	unlike($said, qr/ERROR/, "$name: no damage") if $warning;
	$node->stop('immediate');
	write_page($path, $where, $pages->[$where]);
	return;
}

# Changes a little-endian number at `at` of the page.
sub change
{
	my ($at, $template, $to) = @_;
	my $size = length pack($template, 0);

	return sub {
		my ($page) = @_;

		substr($$page, $at, $size) =
		  pack($template, $to->(unpack($template, substr($$page, $at, $size))));
	};
}

sub add
{
	my ($at, $template, $n) = @_;

	return change(START + $at, $template, sub { $_[0] + $n });
}

sub set
{
	my ($at, $template, $n) = @_;

	return change(START + $at, $template, sub { $n });
}

spoil_index('mixed');

my $nblocks = @$pages;
my $stripe = page_of(STRIPE);

# Of a format of before release 1.0, nothing else is looked at.
{
	my $page = $pages->[0];

	substr($page, START + 4, 4) = pack('V', 4);
	substr($page, START + 24, 24) = "\xff" x 24;
	write_page($path, 0, $page);
	$node->start;
	for my $sql ("SELECT skipidx_check('mixed')", "INSERT INTO more VALUES (-1, 'a')",
		"SET enable_seqscan = off; SELECT count(*) FROM more WHERE v @@ 'w1'")
	{
		like(($node->psql('postgres', $sql))[2],
			qr/"mixed" has format 4, which is of before release 1\.0.*HINT:  Rebuild it with REINDEX/s, "an early format: $sql");
	}
	$node->stop('immediate');
	write_page($path, 0, $pages->[0]);
}

spoil('format', META, add(4, 'V', 1), 'here', qr/the format is damaged/);
spoil('features', META, add(24, 'V', 1), 'here', qr/the format is damaged/);
spoil('reserved fields', META, add(104, 'V', 1), 'here', qr/a reserved field is in use/);
spoil('a file too short', META, add(60, 'V', 16), 'here',
	qr/the file has $nblocks pages, but should have/);
spoil('documents of the stripe', STRIPE, add(0, 'Q<', 1), 'any',
	qr/ends before document 340|has 339 documents, but the stripe counts 340/);
spoil('NULLs of the stripe', STRIPE, add(16, 'Q<', 1), 'here',
	qr/documents that are NULL, but the stripe counts/);
spoil('lengths of the stripe', STRIPE, add(24, 'Q<', 1), 'here',
	qr/positions in documents, but the stripe counts/);
spoil('bytes of the stripe', STRIPE, add(32, 'Q<', 4), 'here',
	qr/bytes, but the stripe counts/);
spoil('first page of the stripe', STRIPE, add(40, 'V', 1), 'any',
	qr/of another kind|does not have document 1/);
spoil('tail of the stripe', STRIPE, add(44, 'V', -1), 'any',
	qr/the pending list ends here, but the stripe says/);
spoil('next page of the extent', STRIPE, add(48, 'V', -1), 'here',
	qr/the stripe's extents have \d+ pages, but it counts/);
spoil('end of the extent', STRIPE, add(52, 'V', -1), 'any',
	qr/newest extent has \d+ pages, but the stripe says \d+/);
spoil('start of the extent', STRIPE, add(56, 'V', 1), 'any',
	qr/an extent of a stripe does not begin here/);
spoil('pages of the stripe', STRIPE, add(60, 'V', 1), 'here',
	qr/the stripe's extents have \d+ pages, but it counts/);
spoil('count of delete bits', DELETES, add(0, 'V', 1), 'here',
	qr/counts other than it has|delete bits are set/);
spoil('sequence of a pending page', PENDING, add(0, 'Q<', 1), 'here',
	qr/does not have document 1,/);

# 3. Sound in itself, but not what the table holds.
sub set_bit
{
	my ($page) = @_;

	# document 20 is row (0,21); deletes came after the build
	vec(substr($$page, START + 8, 8128), 20, 1) = 1;
	substr($$page, START, 4) =
	  pack('V', 1 + unpack('V', substr($$page, START, 4)));
}

# the first pending record becomes another row
sub other_row
{
	my ($offset) = @_;

	return sub { substr(${ $_[0] }, START + 16 + 6, 6) = pack('v3', 0, 0, $offset) };
}

spoil('a deleted document', DELETES, \&set_bit, undef,
	qr/row \(0,21\) of table "more" is marked deleted in the index/);
spoil('a row in a segment and pending', PENDING, other_row(21), undef,
	qr/row \(0,21\) is in the pending list and document 20 of segment 1/);
spoil('a dead pending document',
	PENDING, sub { add(16 + 4, 'v', 1)->(@_) }, $stripe,
	qr/1 dead documents, but the stripe counts 0/);
spoil('a pending row twice', PENDING, sub {
	my ($page) = @_;

	# records are as long as they say, up to the next multiple of 4
	my $next = START + 16 + 12 + (unpack('V', substr($$page, START + 16, 4)) + 3 & ~3);

	substr($$page, START + 16 + 6, 6) = substr($$page, $next + 6, 6);
}, undef, qr/row \(\d+,\d+\) is in the pending list twice/);

$node->start;
is(check('mixed', 1), '', 'all put right');

# 4. An index that has been written to for a while: several segments, one of
# them with rows that now are others; pages that wait, pages in the pool; a
# pending list that was flushed and goes on; a flush and a merge that were
# left where they were.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE worn (id int, v tsvector);
CREATE INDEX worn_v ON worn USING skipidx (v) WITH (block_size = '16kB');
INSERT INTO worn SELECT i, doc(i) FROM generate_series(1, 1500) i;
SELECT skipidx_flush('worn_v');
DELETE FROM worn WHERE id BETWEEN 101 AND 200;
VACUUM (INDEX_CLEANUP ON) worn;
INSERT INTO worn SELECT i, doc(i) FROM generate_series(1601, 2200) i;
INSERT INTO worn SELECT 0, string_agg('long' || i, ' ')::tsvector
FROM generate_series(1, 3000) i;
SELECT skipidx_flush('worn_v');
DELETE FROM worn WHERE id > 2150;
INSERT INTO worn SELECT i, doc(i) FROM generate_series(2301, 3200) i;
SELECT skipidx_flush('worn_v');
SQL
is(check('worn_v', 1), '', 'an index of several segments is sound');
{
	my ($wait) = grep { $_->{name} eq 'merge_built' } SkipidxFault::points();
	my $lock = skx_session($node, 'postgres');
	my $merge = skx_session($node, 'postgres');
	my $flush = skx_session($node, 'postgres');

	$lock->value('SELECT pg_advisory_lock(' . SkipidxFault::LOCK_KEY
		  . ", $wait->{number})");
	$merge->value("LOAD 'skipidx'; SET skipidx.fault = 'merge_built:wait'");
	$merge->start("SELECT skipidx_merge('worn_v')");
	$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks'
		  . " WHERE locktype = 'advisory' AND NOT granted") or die;

	# all in one session, so in one stripe
	$flush->value("LOAD 'skipidx'; INSERT INTO worn SELECT i, doc(i)"
		  . ' FROM generate_series(3301, 6300) i');
	$flush->value("SELECT skipidx_flush('worn_v')");
	$flush->value('INSERT INTO worn SELECT i, doc(i) FROM generate_series(6301, 6500) i');
	$flush->value("SET skipidx.fault = 'flush_built:error'");
	like($flush->raw("SELECT skipidx_flush('worn_v')"), qr/ERROR/, 'a flush fails');
	is(check('worn_v', 1), '', 'sound while a merge is at work');
	$node->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . $merge->backend . ', 60000)');
	$_->close for $lock, $merge, $flush;
}
is($node->safe_psql('postgres',
		"SELECT string_agg(kind || CASE WHEN pages > 0 THEN '' ELSE ' none' END, ' '"
		  . " ORDER BY kind) FROM skipidx_segments('worn_v')"),
	'flush free head merge pending pool segment segment segment segment waiting',
	'what the pages are for');
is($node->safe_psql('postgres', 'SELECT sum(pages) = file_pages,'
		  . " sum(pages) FILTER (WHERE kind = 'waiting') = waiting_pages,"
		  . " sum(pages) FILTER (WHERE kind IN ('flush', 'merge')) = reserved_pages"
		  . " FROM skipidx_segments('worn_v'), skipidx_stats('worn_v')"
		  . ' GROUP BY file_pages, waiting_pages, reserved_pages'),
	't|t|t', 'and that they are all');
is($node->safe_psql('postgres', "SELECT bool_and(waiting_for <= pg_current_xact_id())"
		  . " FROM skipidx_segments('worn_v') WHERE kind = 'waiting'"),
	't', 'what they wait for');
is(check('worn_v', 1), '', 'sound with what was left behind');
$node->safe_psql('postgres', 'CHECKPOINT');

spoil_index('worn_v');

# The root, in one page: where its arrays start, and entries of each kind.
my ($where_root) = unpack('V', substr($pages->[0], START + 52, 4));
my $root = substr($pages->[$where_root], START + 8);
my @counts = unpack('V4', $root);
my $segments_at = 8 + 16;
my $stripes_at = $segments_at + 40 * $counts[0];
my $extents_at = $stripes_at + 56 * $counts[1];
my $operations_at = $extents_at + 24 * $counts[2];
my @extents = map {
	my $at = $extents_at + 24 * $_;
	my %e = (at => $at);

	@e{qw(block npages safexid operation)} =
	  unpack('VVQ<V', substr($pages->[$where_root], START + $at, 20));
	\%e;
} 0 .. $counts[2] - 1;
my ($reserved) = grep { $_->{operation} } @extents;
my ($waiting) = grep { $_->{safexid} } @extents;
# A stripe that has given up extents and has pending documents; which of them
# depends on process ids.
my ($flushed) = grep {
	my ($stripe, $through, $given_up) = unpack('Vx4Q<x36V',
		substr($pages->[$where_root], START + $stripes_at + 56 * $_, 56));

	$given_up > 0 && unpack('Q<', substr($pages->[$stripe], START, 8)) > $through + 1;
} 0 .. $counts[1] - 1;
my ($stripe_block, $first, $through, $oldest) =
  unpack('VVQ<x32V', substr($pages->[$where_root], START + $stripes_at + 56 * $flushed, 52));
my $ref = $stripes_at + 56 * $flushed;
my ($pool_block, $pool_pages) = unpack('VV', substr($pages->[0], START + 128, 8));

is("@counts[0, 1, 3]", '4 4 2', 'the root is read');
ok($reserved && $waiting && $pool_pages && $oldest != 0xFFFFFFFF,
	'with extents of every kind');

my @damage = (
	# name, page, offset, template, number to add, block reported, reason
	[ 'root', 0, 52, 'V', 1, 'any', qr/of another kind|page is empty/ ],
	[ 'next segment', 0, 56, 'V', -2, $where_root, qr/impossible segment/ ],
	[ 'end of the file', 0, 60, 'V', -2, 'any', qr/impossible|outside|past the file/ ],
	[ 'length of the pool', 0, 66, 'v', 1, 0, qr/impossible extent in its pool/ ],
	[ 'shorter pool', 0, 66, 'v', -1, 'any', qr/\d+ pages have no owner/ ],
	[ 'start of a pool extent', 0, 128, 'V', -1, 'any', qr/overlaps/ ],
	[ 'length of a pool extent', 0, 132, 'V', -1, 'any', qr/1 pages have no owner/ ],
	[ 'salt', $where_root, $segments_at, 'Q<', 1, 'any', qr/header does not fit/ ],
	[ 'id of a segment', $where_root, $segments_at + 8, 'V', 1, 'any',
		qr/belongs to another segment|still being made|names segment \d+ twice/ ],
	[ 'header of a segment', $where_root, $segments_at + 12, 'V', 1, 'any',
		qr/another (kind|place|segment)|is empty|overlaps/ ],
	[ 'header pages', $where_root, $segments_at + 16, 'v', 1, 'any',
		qr/of another kind|is empty|page belongs to another/ ],
	[ 'level', $where_root, $segments_at + 18, 'v', 64, $where_root, qr/impossible level/ ],
	[ 'documents of a segment', $where_root, $segments_at + 20, 'V', 1, 'any',
		qr/header does not fit/ ],
	[ 'length of a segment', $where_root, $segments_at + 24, 'Q<', 1, 'any',
		qr/header does not fit/ ],
	[ 'pages of a segment', $where_root, $segments_at + 32, 'Q<', 1, $where_root,
		qr/pages, but the root counts/ ],
	[ 'more pages of a segment than a file has', $where_root, $segments_at + 32, 'Q<', 1 << 61, $where_root,
		qr/impossible segment/ ],
	[ 'a segment twice', $where_root, $segments_at + 40, 'a40',
		substr($pages->[$where_root], START + $segments_at, 40), $where_root,
		qr/names segment \d+ twice/ ],
	[ 'a stripe', $where_root, $ref, 'V', 1, 'any',
		qr/of another kind|the stripe never had|none of them is|do not lead to block|does not begin here/ ],
	[ 'first pending page', $where_root, $ref + 4, 'V', -1, 'any',
		qr/of another kind|does not have document $through,|not its stripe's/ ],
	[ 'fewer flushed', $where_root, $ref + 8, 'Q<', -1, 'any',
		qr/documents, but the stripe counts|NULL, but|positions in|bytes, but|twice|is in the pending list and/ ],
	[ 'more flushed', $where_root, $ref + 8, 'Q<', 1, $stripe_block,
		qr/documents that are NULL, but|positions in|bytes, but the stripe counts/ ],
	[ 'all and more flushed', $where_root, $ref + 8, 'Q<', 100000, 'any',
		qr/flushed which the stripe never had|impossible counts/ ],
	[ 'flushed dead', $where_root, $ref + 16, 'Q<', 1, $stripe_block,
		qr/counts more in flushed|dead documents, but the stripe counts/ ],
	[ 'flushed NULLs', $where_root, $ref + 24, 'Q<', 1, $stripe_block,
		qr/documents that are NULL, but the stripe counts/ ],
	[ 'flushed lengths', $where_root, $ref + 32, 'Q<', 1, $stripe_block,
		qr/positions in documents, but the stripe counts/ ],
	[ 'flushed bytes', $where_root, $ref + 40, 'Q<', 1, $stripe_block,
		qr/bytes, but the stripe counts/ ],
	[ 'oldest extent', $where_root, $ref + 48, 'V', 1, 'any',
		qr/do not lead to block|where none of them is/ ],
	[ 'pages given up', $where_root, $ref + 52, 'V', 1, $stripe_block,
		qr/extents have \d+ pages, but it counts|where none of them is/ ],
	[ 'start of a free extent', $where_root, $waiting->{at}, 'V', 1, 'any',
		qr/1 pages have no owner|overlaps|not in order/ ],
	[ 'length of a free extent', $where_root, $waiting->{at} + 4, 'V', -1, 'any',
		qr/impossible extent|1 pages have no owner/ ],
	[ 'free and reserved', $where_root, $waiting->{at} + 16, 'V', $reserved->{operation},
		$where_root, qr/both reserved and free/ ],
	[ 'reserved for no operation', $where_root, $reserved->{at} + 16, 'V', -1, $where_root,
		qr/reserved for no operation|still being made/ ],
	[ 'reserved and free', $where_root, $reserved->{at} + 8, 'Q<', 3, $where_root,
		qr/both reserved and free/ ],
	[ 'an operation\'s segment', $where_root, $operations_at, 'V', 100, $where_root,
		qr/operation with an impossible segment/ ],
	[ 'an operation\'s kind', $where_root, $operations_at + 4, 'V', 2, $where_root,
		qr/unknown kind/ ],
	[ 'two of a kind', $where_root, $operations_at + 8 + 4, 'V',
		unpack('V', substr($pages->[$where_root], START + $operations_at + 4, 4))
		  - unpack('V', substr($pages->[$where_root], START + $operations_at + 12, 4)),
		$where_root, qr/two operations of a kind/ ],
	[ 'length of an extent', $oldest, TRAILER - START + 8, 'V', 1, 'any',
		qr/extents have \d+ pages|overlaps|newest extent has/ ],
);

for (@damage)
{
	my ($name, $page, $at, $template, $n, $block, $expect) = @$_;

	spoil($name, [$page],
		$template =~ /^a/ ? set($at, $template, $n) : add($at, $template, $n),
		$block, $expect);
}

# Pages that nobody reads must be whole nevertheless, or zero; but it is no damage
# to the index where no view that is left can refer to them, as after a restart.
for my $loose (
	[ 'waiting', $waiting->{block} ],
	[ 'reserved', $reserved->{block} ],
	[ 'in the pool', $pool_block ])
{
	my ($name, $block) = @$loose;
	my $page = $pages->[$block];
	my $is_zero = $page !~ /[^\0]/;

	spoil("a page $name of no kind", [$block],
		$is_zero ? change(4000, 'C', sub { 7 }) : change(PLANE_AT, 'C', sub { 99 }),
		'here', qr/neither in use nor zero|of an unknown kind|header or checksum/, 1);
}
my ($old) = grep { plane($pages->[$_]) >= HEADER } map {
	my $e = $_;

	$e->{block} .. $e->{block} + $e->{npages} - 1
} @extents;

ok(defined $old, 'pages of a segment are among the free');
spoil('a page that was a segment\'s', [$old], change(100, 'C', sub { $_[0] ^ 1 }),
	'here', qr/the checksum of the page is wrong/, 1);

# A row that VACUUM took out of one segment, and whose place another row has in
# another segment, comes back.
my ($deletes) = grep {
	plane($pages->[$_]) == DELETES && unpack('V', substr($pages->[$_], START, 4)) == 100
} 0 .. $#$pages;

ok(defined $deletes, 'a segment has deleted documents');
spoil('a row in two segments', [$deletes], sub {
	my ($page) = @_;

	# documents 100 to 199 were rows that went
	vec(substr($$page, START + 8, 8128), 150, 1) = 0;
	substr($$page, START, 4) = pack('V', 99);
}, undef, qr/row \(\d+,\d+\) is both document \d+ of segment \d+ and document \d+ of segment \d+/);
spoil('a row pending and in a segment, of several', [$first], sub {
	my ($page) = @_;

	# row (0,1), which is live in the first segment; the page's last record
	my ($at, $last) = (START + 16);

	for (1 .. unpack('V', substr($$page, START + 12, 4)))
	{
		$last = $at;
		$at += 12 + (unpack('V', substr($$page, $at, 4)) + 3 & ~3);
	}
	substr($$page, $last + 6, 6) = pack('v3', 0, 0, 1);
}, undef, qr/row \(0,1\) is in the pending list and document 0 of segment 1\b/);

# The pages that a stripe has ever used are counted modulo 2^32: after so many of
# them less those that it has used, more has been given up than used.
my ($stripe_page, $root_page) = @$pages[ $stripe_block, $where_root ];
my $used = unpack('V', substr($stripe_page, START + 60, 4));
my $given_up = unpack('V', substr($root_page, START + $ref + 52, 4));

cmp_ok($used, '>', $given_up, 'a stripe has used pages');
substr($stripe_page, START + 60, 4) = pack('V', 0);
substr($root_page, START + $ref + 52, 4) = pack('V', ($given_up - $used) & 0xFFFFFFFF);
write_page($path, $stripe_block, $stripe_page);
write_page($path, $where_root, $root_page);

$node->start;
is(check('worn_v', 1), '', 'all put right again, with counts that have begun anew');
is($node->safe_psql('postgres', "SELECT skipidx_flush('worn_v') > 0,"
		  . " skipidx_merge('worn_v')"), 't|1', 'and can be used');
is(check('worn_v', 1), '', 'sound after it');
is($node->safe_psql('postgres', "SELECT sum(pages) FILTER (WHERE kind = 'segment') > 0,"
		  . " count(*) FILTER (WHERE kind IN ('flush', 'merge')),"
		  . ' sum(pages) = max(file_pages)'
		  . " FROM skipidx_segments('worn_v'), skipidx_stats('worn_v')"),
	't|0|t', 'what was left behind has been taken back');

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

# 5. Who may, and what.
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
