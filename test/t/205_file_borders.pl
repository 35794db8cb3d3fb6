# Indexes whose segments lie across the end of a file of 1 GB: built by every
# method, by workers, unlogged and temporary; flushed and merged over it; read,
# merged and checked from both sides, and after a crash.
#
# skipidx.fault_skip has the segments begin where a page wanted becomes the
# first of the second file.  What is before them is space on the disk that
# nothing is written to, but zeros by shared_buffers, and that nothing can use
# as long as an older snapshot is there.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant { BORDER => 131072, ROWS => 12000, MORE => 4000 };

# The last one leaves pages in shared buffers, where the others would find them.
my @methods = qw(buffered direct uring uring_direct auto shared_buffers);

# 8 kB pages, all of which may lie anywhere, and blocks of 4
my %planes = (17 => 'TIDs', 20 => 'dictionary', 21 => 'postings', 22 => 'positions');

my ($free) = `df -Pk '$PostgreSQL::Test::Utils::tmp_check' | tail -1` =~ /^\S+\s+\d+\s+\d+\s+(\d+)/;

plan skip_all => 'an index of 1.1 GB needs more space on the disk' if ($free // 0) < 2.5e6;

my $node = skx_node('borders', faults => 1,
	conf => "maintenance_work_mem = 32MB\nskipidx.cache_size = 8MB\nskipidx.max_workers = 0\nmax_worker_processes = 8\n"
	  . "min_parallel_table_scan_size = 0\n"
	  . "skipidx.reuse_early = off\n");
my $s;

sub connect_anew
{
	$s = skx_session($node, 'postgres');
	$s->value("LOAD 'skipidx'");
	return;
}

sub tables
{
	my ($kind) = @_;

	return "CREATE $kind TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);"
	  . ' INSERT INTO docs SELECT i, text_of(i) FROM generate_series(1, ' . ROWS . ') i';
}

sub create
{
	my ($block_size) = @_;

	return "CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '$block_size', pending_limit = '1GB')";
}

# Plane, ordinal and segment of a page as it lies in a file.
sub page
{
	my ($path, $block) = @_;
	my $file = int($block / BORDER);
	my $name = $node->data_dir . "/$path" . ($file > 0 ? ".$file" : '');

	open(my $in, '<:raw', $name) or return { plane => 0, ordinal => 0, segment => 0 };
	sysseek($in, $block % BORDER * 8192 + 8176, 0);
	sysread($in, my $trailer, 16);
	close($in);

	my ($segment, $ordinal, undef, undef, $plane) = unpack('L L L C C', $trailer . "\0" x 16);

	return { plane => $plane, ordinal => $ordinal, segment => $segment };
}

# Do the pages on both sides of a block follow each other in a plane?
sub neighbours
{
	my ($path, $block) = @_;
	my ($a, $b) = map { page($path, $_) } ($block - 1, $block);

	return $a->{plane} >= 17 && $a->{plane} == $b->{plane} && $a->{segment} == $b->{segment}
	  && $a->{ordinal} + 1 == $b->{ordinal} ? $a->{plane} : 0;
}

# Pages of an index, by block size: after build, insert and flush.
my %length;

# ---- answers ----

my @queries = ('all', 'w11 & !w7', 'w1 <-> w2', 'w2 <2> w3 | n17', 'n12:*', '!all');

sub answers
{
	my ($way) = @_;

	$s->value('SET enable_seqscan = ' . ($way eq 'heap' ? 'on' : 'off') . '; SET enable_indexscan = '
		  . ($way eq 'index' ? 'on' : 'off') . '; SET enable_bitmapscan = ' . ($way eq 'bitmap' ? 'on' : 'off'));
	return join(' ', map {
		$s->value("SELECT count(*) || ':' || coalesce(sum(hashint4(id)), 0) FROM docs WHERE v @@ '$_'"
			  . ' AND random() >= 0')
	} @queries);
}

sub pages_read { return $s->value("SELECT sum(pages_read) FROM skipidx_io_totals() WHERE scope = 'session'"); }

# By every method, and nothing that a cache has; with `resident`, it may be that
# shared buffers have it.
sub same
{
	my ($what, $resident) = @_;
	my $wanted = answers('heap');
	my @wrong;

	for my $method (@methods)
	{
		my $read = pages_read();

		$s->value("SET skipidx.io_method = $method; SELECT skipidx_cache_reset() \\g /dev/null\n");
		push @wrong, "$method bitmap" if answers('bitmap') ne $wanted;
		$s->value("SELECT skipidx_cache_reset() \\g /dev/null\n");
		push @wrong, "$method prewarm" if $s->raw("SELECT skipidx_prewarm('docs_v') >= 0") ne 't';
		$read = pages_read() - $read;
		push @wrong, "$method: $read pages read"
		  if !$resident && $method ne 'shared_buffers' && $read < $length{'8kB'}[0];
		push @wrong, "$method index" if answers('index') ne $wanted;
	}

	my $check = $s->raw("SELECT skipidx_check('docs_v', true)");

	push @wrong, "check: $check" if $check ne '';
	is(join("\n", @wrong), '', "$what: rows and pages by every method, and skipidx_check");
	$s->value('RESET skipidx.io_method; RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan');
	return;
}

sub path { return $s->value("SELECT pg_relation_filepath('docs_v')"); }

sub insert
{
	my ($first) = @_;

	$s->value("INSERT INTO docs SELECT i, text_of(i) FROM generate_series($first, $first + " . (MORE - 1) . ') i');
	return;
}

# ---- the indexes ----

connect_anew();
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION text_of(i int) RETURNS tsvector LANGUAGE sql AS
	$$ SELECT string_agg('w' || (i % 97 * j + j * j) % 211 || ':' || 2 * j + 1 || CASE WHEN j % 5 = 0 THEN 'B' ELSE '' END, ' ')::tsvector
		|| ('all:1,99B n' || i || ':100')::tsvector FROM generate_series(1, 30) j $$;
SQL

sub pages { return $s->value("SELECT file_pages FROM skipidx_stats('docs_v')"); }

# A snapshot that keeps what is free from being used.
sub older
{
	my $other = skx_session($node, 'postgres');

	$other->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	return $other;
}

sub flush { return $s->value("SELECT skipidx_flush('docs_v')"); }

sub merge
{
	$s->value("SELECT skipidx_merge('docs_v', 1)");
	return $s->value("SELECT segments FROM skipidx_stats('docs_v')");
}

sub back
{
	$s->value('DROP INDEX docs_v; DELETE FROM docs WHERE id > ' . ROWS . '; VACUUM docs');
	return;
}

# Where neighbours of each plane lie, and where the file ends after build, insert
# and flush, in an index whose segments begin a little later.
my (%at, $older);
my $little = 4000;

$s->value(tables(''));
for my $block_size ('8kB', '32kB')
{
	$s->value("SET skipidx.fault_skip = $little");
	$s->value(create($block_size));
	$length{$block_size} = [ pages() - $little ];
	for my $block ($little .. $little + $length{$block_size}[0] - 1)
	{
		my $plane = neighbours(path(), $block);

		push @{ $at{$block_size}{$plane} }, $block - $little
		  if $plane && ($block_size eq '8kB' || $block % 4 == 0);
	}
	$older = older();
	insert(ROWS + 1);
	$length{$block_size}[1] = pages() - $little;
	flush();
	$length{$block_size}[2] = pages() - $little;
	$older->close;
	back();
}
note("pages after build, insert and flush: @{ $length{'8kB'} }");

# An index of which pages of a plane are on both sides of the border.
sub build
{
	my ($what, $plane, $block_size) = @_;
	my $blocks = $at{$block_size}{$plane} // [];

	ok(@$blocks > 0, "$what: there are neighbours in $planes{$plane}") or return;
	$s->value('SET skipidx.fault_skip = ' . (BORDER - $blocks->[ @$blocks / 2 ]));
	$s->value(create($block_size));
	# the pages of temporary indexes are in local buffers: others go there
	$s->value('CREATE TEMPORARY TABLE others AS SELECT generate_series(1, 400000); DROP TABLE others')
	  if $what eq 'temporary';
	is(neighbours(path(), BORDER), $plane, "$what: built with $planes{$plane} on both sides of the border");
	return;
}

# Pages of the same segment on both sides.
sub across
{
	my ($what, $segment) = @_;
	my @pages = map { page(path(), $_) } (BORDER - 1, BORDER);

	is(join(' ', map { $_->{plane} >= 17 ? $_->{segment} : 'none' } @pages), "$segment $segment",
		"$what: across the border");
	return;
}

for my $case ([ 'shared_buffers', 22, '8kB' ], [ 'buffered', 20, '8kB' ], [ 'direct', 21, '32kB' ],
	[ 'uring', 17, '8kB' ], [ 'uring_direct', 22, '8kB' ], [ 'auto', 21, '8kB' ])
{
	my ($method, $plane, $block_size) = @$case;

	$s->value("SET skipidx.io_method = $method");
	build($method, $plane, $block_size);
	same($method);

	# what lies across the border is read for a merge
	$s->value("SET skipidx.io_method = $method");
	insert(ROWS + 1);
	flush();
	is(merge(), 1, "$method: merged");
	same("$method, merged", 1);
	back();
}

# ---- flushed and merged across it, and a crash ----

for my $method ('shared_buffers', 'auto')
{
	for my $step (0, 1)
	{
		my $what = ($step == 0 ? 'flush' : 'merge') . ", $method";

		$s->value("SET skipidx.io_method = $method; SET skipidx.fault_skip = "
			  . (BORDER - $length{'8kB'}[ $step + 1 ] - 16));
		# replay must not make the files of indexes that have gone
		$s->value('CHECKPOINT');
		$s->value(create('8kB'));
		$older = older();
		insert(ROWS + 1);
		flush();
		merge() if $step == 1;
		# shared buffers have it, until a checkpoint in them alone
		$s->value('CHECKPOINT') if $method eq 'shared_buffers';
		across($what, $step + 2);
		same($what, $method eq 'shared_buffers');
		$older->close;
		if ($method eq 'auto')
		{
			$s->close;
			$node->stop('immediate');
			$node->start;
			connect_anew();
			same("$what, after a crash", 1);
			insert(ROWS + MORE + 1);
			flush();
			is(merge(), 1, "$what: merged after a crash");
			same("$what, merged after a crash", 1);
		}
		back();
	}
}

# ---- other builds ----

$s->value('ALTER TABLE docs SET (parallel_workers = 2); SET max_parallel_maintenance_workers = 2');
$s->value('SET skipidx.fault_skip = ' . (BORDER - int($length{'8kB'}[0] / 2)));
$s->value(create('8kB'));
across('workers', 1);
same('workers');
$s->value('DROP TABLE docs; RESET max_parallel_maintenance_workers');
for my $kind ('UNLOGGED', 'TEMPORARY')
{
	$s->value(tables($kind));
	build(lc $kind, 22, '8kB');
	same(lc $kind, $kind eq 'TEMPORARY');
	$s->value('DROP TABLE docs');
}

$s->close;
$node->stop;
done_testing();
