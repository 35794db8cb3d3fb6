# What was in the block cache is there again after a restart: after a stop and,
# by the file that is written from time to time, after a crash; preloaded or not.
# What was dropped or made anew meanwhile is left out, nothing is evicted, and a
# file that cannot be used, or a server without processes, costs a line in the
# log and no answer.
#
# Holds: autoprewarm 1, 2, 3, 4, 5, 6; blkio 23; worker 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Fcntl qw(SEEK_SET);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_until skx_logged skx_module skx_reload);
use Test::More;
use Time::HiRes qw(time usleep);

my $node = skx_node('autoprewarm', conf => "skipidx.cache_size = 64MB\nskipidx.max_workers = 0\n"
	  . "skipidx.io_method = direct\nskipidx.autoprewarm_interval = 1h");
my $file = $node->data_dir . '/autoprewarm.skipidx';
my $fill = <<'SQL';
CREATE EXTENSION skipidx;
CREATE FUNCTION fill(t text, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, v tsvector) WITH (autovacuum_enabled = off)', t);
	EXECUTE format($q$INSERT INTO %I SELECT i, ('all:1 h' || i %% 50 || (SELECT string_agg(' w' || (hashint4(i * 64 + k) & 127), '')
		FROM generate_series(1, 40) k))::tsvector FROM generate_series(1, %s) i$q$, t, n);
	EXECUTE format('CREATE INDEX %I ON %I USING skipidx (v) WITH (block_size = ''32kB'')', t || '_v', t);
END $$;
SQL

$node->safe_psql('postgres', "$fill SELECT fill('docs', 60000); SELECT fill('gone', 5000); SELECT fill('anew', 5000); SELECT fill('cut', 5000); CHECKPOINT");
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', "$fill SELECT fill('docs', 5000); CHECKPOINT");
$node->safe_psql('postgres', 'CREATE DATABASE dropped');
$node->safe_psql('dropped', "$fill SELECT fill('docs', 5000); CHECKPOINT");

sub query { return "SELECT count(id) FROM $_[0] WHERE v \@\@ '$_[1]'"; }
my @words = ('w1 & w2', 'h7 | w5', 'w9 & !w3', 'all & h3', map { "w$_" } 20 .. 60);

sub session
{
	my ($db, $on) = @_;
	my $s = skx_session($on // $node, $db // 'postgres');

	$s->value("LOAD 'skipidx'; SET enable_seqscan = off; SET skipidx.enable_custom_scan = off");
	return $s;
}

# Pages that a new session reads for all queries of these tables.
sub pages_read
{
	my ($db, @tables) = @_;
	my $s = ref $db ? session('postgres', $db) : session($db);

	for my $table (@tables)
	{
		$s->value(query($table, $_)) for @words;
		$s->value("SELECT count(*) FROM (SELECT id FROM $table ORDER BY v <\@> 'w1 | w2'::tsquery LIMIT 10) best");
	}
	my $n = $s->value(q{SELECT pages_read FROM skipidx_io_totals() WHERE scope = 'session'});
	$s->close;
	return $n;
}

sub cache { return $node->safe_psql('postgres', "SELECT $_[0] FROM skipidx_cache()"); }
sub log_size { return -s $node->logfile; }

# One look into an index, by which the library is loaded and the cache made.
sub touch
{
	my ($db) = @_;
	my $s = session($db // 'postgres');

	$s->value(query('docs', 'h1 & h2'));
	$s->close;
	return;
}

# Starts the server, after settings were changed, and waits until pages are back.
sub start_warm
{
	my (%opt) = @_;
	my $from = log_size();

	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	touch($opt{db}) unless $opt{preloaded};
	skx_logged($node, $from, qr/has read \d+ pages back/);
	return slurp_file($node->logfile, $from);
}

# ---- a stop and a start ----

my $all = pages_read('postgres', 'docs');
cmp_ok($all, '>', 100, 'cold queries read pages');
is(pages_read('postgres', 'docs'), 0, 'warm ones none');
ok(!-e $file, 'nothing is noted before the interval is over');
$node->stop;
ok(-s $file, 'what is in the cache is noted at a stop');
cmp_ok(-s $file, '<', 10_000, 'in little space');
my $log = start_warm();
is(pages_read('postgres', 'docs'), 0, 'queries after the start read nothing');
cmp_ok(cache('prewarmed'), '>', 100, 'since pages were read back');
is(cache('evictions'), 0, 'for which none was evicted');
unlike($log, qr/ERROR|FATAL|WARNING/, 'the log has nothing else');

# ---- switched off ----

$node->stop;
my $noted = slurp_file($file);
$node->append_conf('postgresql.conf', 'skipidx.autoprewarm_interval = 0');
$node->start;
is(pages_read('postgres', 'docs'), $all, 'switched off, queries read what they read before');
is(cache('prewarmed'), 0, 'and nothing is read back');
$node->stop;
is(slurp_file($file), $noted, 'nor noted');

# ---- preloaded ----

$log = start_warm(preloaded => 1, conf => "shared_preload_libraries = 'skipidx'\nskipidx.autoprewarm_interval = 1h");
is(pages_read('postgres', 'docs'), 0, 'preloaded, pages are back before the first search');
unlike($log, qr/ERROR|FATAL|WARNING/, 'preloaded: the log has nothing else');
$node->stop;

# ---- a crash: the file written from time to time ----

unlink $file or die $!;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nskipidx.autoprewarm_interval = 1");
$node->start;
cmp_ok(pages_read('postgres', 'docs'), '>', 100, 'without the file nothing is back');
skx_until('all to be noted', sub { leaders() == 0 });
$node->stop('immediate');
$node->append_conf('postgresql.conf', 'skipidx.autoprewarm_interval = 1h');
start_warm();
is(pages_read('postgres', 'docs'), 0, 'after a crash queries read nothing');

sub leaders { return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'skipidx autoprewarm'}); }

is(leaders(), 1, 'one process keeps the cache');
$node->append_conf('postgresql.conf', 'skipidx.autoprewarm_interval = 1');
$node->reload;
skx_until('it to end', sub { leaders() == 0 });
pass('it ends when the cache does not change');
is(pages_read('postgres', 'docs'), 0, 'searches that read nothing');
is(leaders(), 0, 'do not start it');
my $mark = (stat $file)[9];
usleep(1_100_000);
cmp_ok(pages_read('postgres', 'gone'), '>', 0, 'a search that reads');
touch();
skx_until('the file to be written', sub { (stat $file)[9] > $mark });
pass('lets it note that');

# ---- what has changed meanwhile ----

pages_read('postgres', 'docs', 'gone', 'anew', 'cut');
pages_read($_, 'docs') for 'other', 'dropped';
$node->append_conf('postgresql.conf', 'skipidx.autoprewarm_interval = 1h');
$node->stop;
$node->append_conf('postgresql.conf', 'skipidx.autoprewarm_interval = 0');
$node->start;
$node->safe_psql('postgres', 'DROP INDEX gone_v; REINDEX INDEX anew_v; TRUNCATE cut');
$node->safe_psql('postgres', 'DROP DATABASE dropped');
$node->safe_psql('postgres', 'ALTER DATABASE other ALLOW_CONNECTIONS false');
$node->stop;
$log = start_warm(conf => 'skipidx.autoprewarm_interval = 1h');
unlike($log, qr/ERROR|FATAL|WARNING/, 'indexes and databases that are gone: no message');
is(pages_read('postgres', 'docs'), 0, 'what is there is back');
cmp_ok(pages_read('postgres', 'anew'), '>', 0, 'an index made anew is not');
is(pages_read('postgres', 'cut'), 0, 'nor has an empty one pages');
$node->safe_psql('postgres', 'ALTER DATABASE other ALLOW_CONNECTIONS true');
is(pages_read('other', 'docs'), 0, 'another database is back, although none could connect to it');
$node->safe_psql('postgres', 'CREATE DATABASE dropped');
$node->safe_psql('postgres', 'DROP DATABASE dropped');
is(leaders(), 1, 'the process is in no database');

# ---- a smaller cache ----

$node->stop;
start_warm(preloaded => 1, conf => "shared_preload_libraries = 'skipidx'\nskipidx.cache_size = 1MB");
cmp_ok(cache('prewarmed'), '>', 20, 'a smaller cache gets what it holds');
is(cache('evictions'), 0, 'and evicts nothing for it');
$node->stop;
unlink $file or die $!;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nskipidx.cache_size = 64MB");

# ---- files that cannot be used ----

start_warm_none();
pages_read('postgres', 'docs');
$node->stop;
$noted = slurp_file($file);

sub start_warm_none
{
	my $from = log_size();

	$node->start;
	touch();
	skx_until('the process', sub { leaders() == 1 });
	return $from;
}

sub write_file
{
	my ($bytes) = @_;

	unlink $file;
	open(my $fh, '>:raw', $file) or die $!;
	print $fh $bytes;
	close($fh) or die $!;
	return;
}

# The CRC-32C of what follows the header is at its offset 24.
my @crc;

sub crc32c
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;

	if (!@crc)
	{
		for my $byte (0 .. 255)
		{
			my $c = $byte;

			$c = $c & 1 ? ($c >> 1) ^ 0x82F63B78 : $c >> 1 for 1 .. 8;
			push @crc, $c;
		}
	}
	for my $part (unpack '(a65536)*', $bytes)
	{
		$crc = ($crc >> 8) ^ $crc[ ($crc ^ $_) & 255 ] for unpack 'C*', $part;
	}
	return $crc ^ 0xFFFFFFFF;
}

# Notes of these indexes, [incarnation, database, index], and groups as bytes.
sub notes
{
	my ($indexes, $groups) = @_;

	return notes_of(join('', map { pack 'QLL', @$_ } @$indexes), $groups);
}

sub notes_of
{
	my ($indexes, $groups) = @_;
	my $body = $indexes . $groups;

	return substr($noted, 0, 12) . pack('LQLL', length($indexes) / 16, 32 + length $body, crc32c($body), 0) . $body;
}

is(crc32c(substr $noted, 32), unpack('L', substr $noted, 24, 4), 'the file has the checksum of its contents');
my $flipped = $noted;
substr($flipped, -5, 1) = chr(ord(substr $flipped, -5, 1) ^ 4);
my $foreign = $noted;
substr($foreign, 4, 4) = pack 'L', 77;

my %bad = (
	'another version' => [ sub { write_file($foreign) }, qr/another version/ ],
	'a flipped bit' => [ sub { write_file($flipped) }, qr/checksum is wrong/ ],
	'half of it' => [ sub { write_file(substr $noted, 0, length($noted) / 2) }, qr/length is wrong/ ],
	'a few bytes' => [ sub { write_file(substr $noted, 0, 7) }, qr/another kind/ ],
	'nothing' => [ sub { write_file('') }, qr/another kind/ ],
	'another block size' => [ sub { write_file(substr($noted, 0, 8) . pack('L', 4096) . substr $noted, 12) }, qr/another block size/ ],
	'too many indexes' => [ sub { write_file(substr($noted, 0, 12) . pack('L', 1e9) . substr $noted, 16) }, qr/length is wrong/ ],
	'a million databases' => [ sub { write_file(notes_of(join('', map { pack 'QLL', $_, 4_000_000_000 - $_, 1 } 1 .. 1_000_000), '')) }, qr/length is wrong/ ],
	'1 TB' => [ sub { write_file($noted); truncate($file, 1 << 40) or die $! }, qr/too large/ ],
	'a pipe' => [ sub { unlink $file; POSIX::mkfifo($file, oct 600) or die $! }, qr/no file/ ],
);
for my $name (sort keys %bad)
{
	my ($make, $reason) = @{ $bad{$name} };

	$make->();
	my $from = start_warm_none();
	skx_logged($node, $from, qr/skipidx ignores file "autoprewarm\.skipidx"/);
	like(slurp_file($node->logfile, $from), $reason, "$name: the log says why it is ignored");
	cmp_ok(pages_read('postgres', 'docs'), '>', 100, "$name: nothing is back");
	$node->stop;
	is(substr(slurp_file($file), 0, 12), substr($noted, 0, 12), "$name: replaced at the stop");
}

# Sound by their checksum, and wrong.
my $groups = substr $noted, 32 + 16 * unpack('L', substr $noted, 12, 4);
my @indexes = map { [ unpack 'QLL', substr $noted, 32 + 16 * $_, 16 ] } 0 .. unpack('L', substr $noted, 12, 4) - 1;
my $class = 1259;
my %wrong = (
	'an index that is a table' => notes([ map { [ $_->[0], $_->[1], $class ] } @indexes ], $groups),
	'other incarnations' => notes([ map { [ $_->[0] + 1, @{$_}[ 1, 2 ] ] } @indexes ], $groups),
	'a group of no index' => notes(\@indexes, "\x7f" . substr $groups, 1),
	'half a group' => notes(\@indexes, substr $groups, 0, 11),
	'a stretch of four billion pages' => notes(\@indexes, substr($groups, 0, 12) . "\x00\xff\xff\xff\xff\x0f\x00\x00"),
	'pages past any end' => notes(\@indexes, substr($groups, 0, 12) . "\xfe\xff\xff\xff\x0f\x01\x00\x00"),
	'numbers without an end' => notes(\@indexes, substr($groups, 0, 12) . "\xff" x 100),
	'databases that never were' => notes([ map { [ $_->[0], 4_000_000_000 - $_->[2], $_->[2] ] } @indexes ], $groups),
	'no index' => notes([], ''),
);
for my $name (sort keys %wrong)
{
	write_file($wrong{$name});
	$log = start_warm();
	unlike($log, qr/ERROR|FATAL|WARNING|ignores/, "$name: no message");
	cmp_ok(pages_read('postgres', 'docs'), '>', 20, "$name: most is not back");
	$node->stop;
}

# ---- pages of which the neighbours were evicted ----

# The groups as [head, first page and length of each stretch].
sub groups
{
	my ($bytes) = @_;
	my @groups;
	my $number = sub {
		my $n = 0;

		for my $shift (map { 7 * $_ } 0 .. 4)
		{
			my $byte = ord substr $bytes, 0, 1, '';

			$n |= ($byte & 127) << $shift;
			return $n if $byte < 128;
		}
		die 'no number';
	};

	while ($bytes ne '')
	{
		my $all = $bytes;
		my $at = 0;
		my @stretches;

		$number->();
		substr $bytes, 0, 10, '';
		$number->();
		my $head = substr $all, 0, length($all) - length $bytes;
		while (1)
		{
			my ($gap, $n) = ($number->(), $number->());

			last if $n == 0;
			push @stretches, [ $at + $gap, $n ];
			$at += $gap + $n;
		}
		push @groups, [ $head, @stretches ];
	}
	return @groups;
}

# Blocks have 16 pages, frames 4: one frame of each block.
{
	my $before = $noted;

	unlink $file;
	start_warm_none();
	$node->safe_psql('postgres', q{CREATE TABLE wide AS TABLE docs; CREATE INDEX wide_v ON wide USING skipidx (v) WITH (block_size = '128kB'); CHECKPOINT; SELECT skipidx_prewarm('wide_v')});
	$node->stop;
	$noted = slurp_file($file);
	my $n = unpack 'L', substr $noted, 12, 4;
	my ($most) = sort { $b->[-1][0] <=> $a->[-1][0] } groups(substr $noted, 32 + 16 * $n);
	my ($head, $last) = @$most[ 0, -1 ];
	my $blocks = int($last->[0] / 16);

	cmp_ok($blocks, '>', 5, 'a plane of some blocks is noted');
	my $some = notes_of(substr($noted, 32, 16 * $n), "$head\x04\x04" . "\x0c\x04" x ($blocks - 1) . "\x00\x00");
	for my $method (qw(direct uring))
	{
		write_file($some);
		start_warm(conf => "skipidx.io_method = $method");
		is(cache('prewarmed'), 4 * $blocks, "$method: of a block, the pages that are noted are read, and no others");
		$node->stop;
	}
	$node->append_conf('postgresql.conf', 'skipidx.io_method = direct');
	$noted = $before;
}

# ---- a file that cannot be written ----

my $tmp = "$file.tmp";
my %refused = (
	'a full disk' => [ sub { symlink '/dev/full', $tmp or die $! }, qr/could not write file.*No space left/, sub { !-l $tmp } ],
	'no file to be opened' => [ sub { mkdir $tmp or die $! }, qr/could not write file.*Is a directory/, sub { rmdir $tmp } ],
	'a directory in its place' => [ sub { unlink $file; mkdir $file or die $!; mkdir "$file/x" }, qr/autoprewarm\.skipidx"?: Is a directory/, sub { !-e $tmp and rmdir "$file/x" and rmdir $file } ],
);
for my $name (sort keys %refused)
{
	my ($make, $reason, $after) = @{ $refused{$name} };

	write_file($noted);
	$node->start;
	pages_read('postgres', 'docs');
	skx_until('the process', sub { leaders() == 1 });
	my $from = log_size();
	$make->();
	$node->stop;
	like(slurp_file($node->logfile, $from), $reason, "$name: a line in the log");
	unlike(slurp_file($node->logfile, $from), qr/ERROR|FATAL:  (?!terminating connection)|PANIC/, "$name: and no more");
	is(slurp_file($file), $noted, "$name: the file is as it was") if -f $file;
	ok($after->(), "$name: nothing is left");
}

# ---- no process to be had ----

write_file($noted);
$node->append_conf('postgresql.conf', "max_worker_processes = 3");
$node->start;
cmp_ok(pages_read('postgres', 'docs'), '>', 100, 'with few processes searches have answers');
touch();
is(leaders(), 0, 'and take none');
$node->stop;
$node->append_conf('postgresql.conf', "max_worker_processes = 4\nmax_parallel_workers = 4\nmax_parallel_workers_per_gather = 4\n"
	  . "min_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
$node->start;
my $busy = skx_session($node, 'postgres');
$busy->value('CREATE TABLE slow AS SELECT generate_series(1, 10000) i; ALTER TABLE slow SET (parallel_workers = 4)');
$busy->start('SELECT count(*) FROM slow WHERE pg_sleep(3600 + i) IS NULL');
skx_until('parallel workers', sub { $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'}) >= 3 });
cmp_ok(pages_read('postgres', 'docs'), '>', 100, 'while all processes are busy, too');
is(leaders(), 0, 'which have no room for one more');
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $busy->backend . ')');
$busy->finish;
$busy->close;
skx_until('the process', sub { touch(); usleep(200_000); leaders() == 1 });
pass('a later search gets it');
$node->stop;
$node->append_conf('postgresql.conf', "max_worker_processes = 8");

# ---- while pages are read back, slowly ----

unlink $file;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE slow');
$node->safe_psql('slow', 'CREATE EXTENSION skipidx; CREATE TABLE docs AS SELECT i AS id,'
	  . ' (SELECT string_agg(md5(i::text || k), \' \') FROM generate_series(1, 5) k)::tsvector AS v FROM generate_series(1, 60000) i');
my $warm = "CREATE INDEX docs_w ON docs USING skipidx (v) WITH (block_size = '8kB'); CHECKPOINT; SELECT skipidx_prewarm('docs_w')";
cmp_ok($node->safe_psql('slow', $warm), '>', 1000, 'an index of many pages, which take more than 5 s');
$node->stop;
$noted = slurp_file($file);
$node->append_conf('postgresql.conf', "shared_preload_libraries = '" . skx_module('skipidx_fault') . ", skipidx'\nskipidx.fault_read = 'slow:1:1000000'");

sub reading { return $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query = 'skipidx: autoprewarm' AND state = 'active'}); }

# Starts the server with these notes, and waits until pages are being read back.
sub start_reading
{
	write_file($noted);
	$node->start;
	skx_until('pages to be read', sub { reading() });
	return time;
}

my $from = start_reading();
$node->stop;
cmp_ok(time - $from, '<', 5, 'a stop does not wait until pages are back');
is(slurp_file($file), $noted, 'and leaves the notes for the next start');

start_reading();
$node->safe_psql('slow', 'DROP INDEX docs_w');
cmp_ok(cache('prewarmed'), '<', 900, 'DROP INDEX does not wait until pages are back');
skx_until('the end', sub { !reading() });
$node->safe_psql('slow', $warm);
my $log_from = log_size();
$node->stop;
$noted = slurp_file($file);

start_reading();
$node->safe_psql('postgres', 'DROP DATABASE slow');
cmp_ok(cache('prewarmed'), '<', 900, 'DROP DATABASE does not wait');
is(reading(), 0, 'DROP DATABASE has the reading end');
unlike(slurp_file($node->logfile, $log_from), qr/ERROR|gives way/, 'and the log does not tell of either');
$node->stop;

# A database that is being dropped when its turn comes: the command waits for a
# session that is in it, and has the lock meanwhile.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE slow TEMPLATE other');
pages_read('slow', 'docs');
touch();
skx_until('the process', sub { touch(); leaders() == 1 });
$node->stop;
$log_from = log_size();
$node->start;
my $inside = skx_session($node, 'slow');
my $dropping = skx_session($node, 'postgres');
$dropping->start('DROP DATABASE slow');
skx_until('the lock', sub { $node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND mode = 'AccessExclusiveLock' AND granted}) == 1 });
touch('postgres');
skx_until('the turn of the database', sub {
	slurp_file($node->logfile, $log_from) =~ /pages back/
	  or $node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND NOT granted}) > 0;
});
$inside->close;
is($dropping->finish, '', 'DROP DATABASE that has begun goes on');
$dropping->close;
skx_logged($node, $log_from, qr/pages back/);
unlike(slurp_file($node->logfile, $log_from), qr/ERROR|FATAL/, 'and no process fails for it');
$node->stop;
done_testing();
