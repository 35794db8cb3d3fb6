# Reads that nobody waited for in the end, sessions that do not come back for
# theirs, cursors side by side, files that end in the middle of a page, and full
# reads through shared buffers.
#
# Holds: blkio 1, 11, 12

use strict;
use warnings;
use FindBin;
use IO::File;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_relation_file);
use Test::More;

my @counters = qw(pins hits loads requests pages_read waits ahead ahead_used);
my $node = skx_node('reads', conf => "skipidx.cache_size = 64MB\nshared_buffers = 2MB");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE long (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO long SELECT i, ('all:1 b' || (hashint4(i) & 1) || ':2')::tsvector FROM generate_series(1, 500000) i;
CREATE INDEX long_v ON long USING skipidx (v) WITH (block_size = '8kB');
CREATE TABLE hot (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO hot SELECT i, ('all:1 b' || i % 2 || ':2 h' || i % 50 || ':3')::tsvector FROM generate_series(1, 10000) i;
CREATE INDEX hot_v ON hot USING skipidx (v) WITH (block_size = '64kB');
CREATE TABLE big (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO big SELECT i, ('all:1 ' || md5(i::text) || ' ' || md5((-i)::text))::tsvector FROM generate_series(1, 200000) i;
CREATE INDEX big_v ON big USING skipidx (v) WITH (block_size = '128kB');
SQL

sub session
{
	my ($method) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET enable_seqscan = off; SET skipidx.io_method = $method");
	return $s;
}

sub io
{
	my ($s) = @_;
	my %io;

	@io{@counters} = split /\|/, $s->value('SELECT ' . join(', ', @counters) . " FROM skipidx_io_totals() WHERE scope = 'session'");
	return \%io;
}

# What a piece of work has read.
sub cost
{
	my ($s, $work) = @_;
	my $before = io($s);

	$work->();
	my $after = io($s);
	return { map { $_ => $after->{$_} - $before->{$_} } @counters };
}

sub reset_cache { $node->safe_psql('postgres', 'SELECT skipidx_cache_reset()'); return; }

srand(skx_seed(250));
my $query = q{SELECT id FROM long WHERE v @@ 'b0'};
my $count = $node->safe_psql('postgres', q{SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM long WHERE v @@ 'b0'});
my $open = "SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR $query; MOVE 100000 IN c";

# ---- read ahead and given up: the next one finds it ----

for my $method (qw(uring uring_direct))
{
	my $s = session($method);
	my $all = sub { is($s->value("SELECT count(*) FROM ($query) q"), $count, "$method: answer") };

	$s->value('SET enable_bitmapscan = off');
	$all->();
	reset_cache();
	my $cold = cost($s, $all);

  SKIP:
	{
		skip 'no io_uring here', 3 if $cold->{ahead} == 0;
		reset_cache();
		my $part = cost($s, sub { $s->value("$open; CLOSE c; COMMIT") });
		my $again = cost($s, $all);

		note join ', ', map { "$_ $cold->{$_} $part->{$_} $again->{$_}" } @counters;

		cmp_ok($part->{ahead}, '>', $part->{ahead_used}, "$method: a scan that ends early has read too much");
		is($part->{pages_read} + $again->{pages_read}, $cold->{pages_read}, "$method: the next one does not read that again, nor anything else");
		cmp_ok($again->{requests} - $again->{ahead}, '<=', $cold->{requests} - $cold->{ahead}, "$method: and waits for no more");
	}
	$s->close;
}

# ---- a session that does not come back is waited for once ----

SKIP:
{
	my ($idle, $other) = (session('uring'), session('uring'));
	my $all = sub { is($other->value("SELECT count(*) FROM ($query) q"), $count, 'beside a session that sleeps: answer') };

	$other->value('SET enable_bitmapscan = off');
	$all->();
	reset_cache();
	my $asleep = cost($idle, sub { $idle->value($open) });

	skip 'no io_uring here', 2 if $asleep->{ahead} == $asleep->{ahead_used};
	my $first = cost($other, $all);
	my $second = cost($other, $all);

	cmp_ok($first->{waits}, '>=', $asleep->{ahead} - $asleep->{ahead_used}, 'its reads are waited for');
	is($second->{waits}, 0, 'but not twice');
	is($idle->value('MOVE ALL IN c; COMMIT; SELECT 1'), 1, 'it goes on');
	is(cost($other, $all)->{loads}, 0, 'and what it has read is there');
	$_->close for $idle, $other;
}

# ---- cursors of several methods side by side, with errors in between ----

{
	my $s = session('auto');
	my @ways = map { my $m = $_; map { [ $m, $_ ] } 0, 3, 64 } qw(shared_buffers buffered direct uring uring_direct);
	my %rows;

	$s->value('SET enable_bitmapscan = off; BEGIN');
	for my $i (0 .. $#ways)
	{
		$s->value("SET LOCAL skipidx.io_method = $ways[$i][0]; SET LOCAL skipidx.io_depth = $ways[$i][1]; DECLARE c$i CURSOR FOR $query");
	}
	for my $turn (1 .. 30)
	{
		my @open = keys %rows < @ways ? 0 .. $#ways : grep { $rows{$_} > 0 } keys %rows;

		$s->value('SELECT skipidx_cache_reset() \\g /dev/null' . "\n") if rand 3 < 1;
		for my $i (@open)
		{
			my ($n) = $s->raw('MOVE ' . int(rand 30000) . " IN c$i;\n\\echo :ROW_COUNT\n") =~ /^(\d+)$/m;

			$rows{$i} += $n;
		}

		# An error ends what the subtransaction has read ahead, and no more.
		$s->value("SAVEPOINT a; SET LOCAL skipidx.io_method = $ways[rand @ways][0]; DECLARE inner_c CURSOR FOR $query; MOVE 5000 IN inner_c");
		$s->raw("SELECT count(*) / 0 FROM ($query) q");
		$s->value('ROLLBACK TO a; RELEASE a');
	}
	for my $i (0 .. $#ways)
	{
		my ($n) = $s->raw("MOVE ALL IN c$i;\n\\echo :ROW_COUNT\n") =~ /^(\d+)$/m;

		$rows{$i} += $n;
	}
	is_deeply(\%rows, { map { $_ => $count } 0 .. $#ways }, 'cursors of every method and depth: all rows');
	$s->value('COMMIT');
	is($s->value('SELECT pinned, reads_under_way, reads_queued FROM skipidx_cache()'), '0|0|0', 'cursors: nothing is left');
	$s->close;
}

# ---- full reads through shared buffers leave these alone ----

{
	my $s = session('shared_buffers');
	my $full = session('shared_buffers');
	my $hot = sub { is($s->value(qq{SELECT count(*) FROM hot WHERE v @@ '$_'}), 10000 / 2, "hot $_") for qw(b0 b1) };
	my $pages = $s->value(q{SELECT sum(pages) FROM skipidx_segments('big_v') WHERE kind = 'segment'});

	cmp_ok($pages, '>', 5 * 256, 'an index much larger than shared buffers');
	$s->value('SET enable_indexscan = off');
	$hot->() for 1 .. 3;
	is(cost($s, $hot)->{loads}, 0, 'hot pages are in shared buffers');
	cmp_ok(cost($full, sub { $full->value(q{SELECT skipidx_check('big_v')}) })->{loads}, '>=', $pages * 0.9, 'a check reads everything');
	is(cost($s, $hot)->{loads}, 0, 'they are still there');
	$full->value(q{SELECT count(*) FROM big WHERE v @@ 'a:* | b:* | c:*'}) for 1 .. 3;
	cmp_ok(cost($s, $hot)->{loads}, '>', 0, 'queries do push them out');
	$_->close for $s, $full;
}

# ---- what was read ahead in vain and is damaged: not reported, and not kept ----

my $file = skx_relation_file($node, 'postgres', 'long_v');

# The reader's answers, or that there is damage, while one bit of a block of the
# file is another.
sub while_damaged
{
	my ($s, $block, $at, @work) = @_;
	my $io = IO::File->new($file, 'r+') or die "$file: $!";
	my ($was, $bad);

	binmode $io;
	sysseek($io, $block * 8192 + $at, 0);
	sysread($io, $was, 1) == 1 or die "$file: $!";
	$bad = $was ^ "\x01";
	sysseek($io, $block * 8192 + $at, 0);
	syswrite($io, $bad);
	$io->sync;
	reset_cache();
	my @found = map { my $found = $s->raw("$_;\n"); $found =~ /XX00[12]: / ? 'damaged' : $found =~ /ERROR/ ? die $found : $found } @work;

	sysseek($io, $block * 8192 + $at, 0);
	syswrite($io, $was);
	$io->sync;
	$io->close;
	reset_cache();
	return @found;
}

{
	my $s = session('uring_direct');
	my $full = "SELECT count(*) FROM ($query) q";
	my ($in_vain, $differ) = (0, 0);

	$s->value('SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0');
	# in the bytes of documents, which are seen to be wrong when they are
	# decoded, and in bounds, which a count does not look at
	for (my $block = 8; $block < (-s $file) / 8192; $block += 3)
	{
		my $at = $block % 2 ? 4000 : 104;
		my ($alone) = while_damaged($s, $block, $at, $full);
		my ($part, $all) = while_damaged($s, $block, $at, "$open; CLOSE c; COMMIT", $full);

		$s->raw("ROLLBACK;\n") if $part eq 'damaged';
		$differ++ if $alone ne $all;
		$in_vain++ if $part ne 'damaged' && $all eq 'damaged';
	}
	is($differ, 0, 'a scan says of damage what it said before a part of it');
	cmp_ok($in_vain, '>', 8, "damage in $in_vain blocks after those that a part needs: not reported by it, but by the whole");
	is($s->value($full), $count, 'nothing of it is left');
	$s->close;
}

# ---- a file that ends in the middle of its last page ----

$node->stop;
my $size = -s $file;

truncate($file, $size - 8192 + 100) or die "truncate: $!";
$node->start;
for my $method (qw(buffered direct uring uring_direct))
{
	my $s = session($method);

	reset_cache();
	like($s->raw(q{SELECT skipidx_prewarm('long_v')}), qr/XX001: could not read block \d+ in file "base\/\d+\/\d+": read only \d+ of \d+ bytes/,
		"$method: a file that ends in the middle of a page");
	$s->close;
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|page pin leak|leaked|terminated by signal/, 'nothing else in the log');
$node->stop;
done_testing();
