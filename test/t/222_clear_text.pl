# A storage manager that keeps pages in its files otherwise than it hands them
# out, as one that encrypts them does.  What it keeps is never written past it
# in clear text, nor taken for pages, whatever the method; and where pages are
# kept as they are, they go on to be read past it: after a crash, on a standby,
# and with the metapage changed in memory.
#
# It is played by a library put before the server's calls of the C library,
# which enciphers the files of tablespaces, and leaves alone what skipidx opens
# itself.
#
# Holds: blkio 15

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_relation_file);
use Test::More;

use constant CANARY => 'plaintextcanary';

my $cipher = <<'C';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 8192
#define FILES 65536

static char coded[FILES];

static int
is_ours(void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && strstr(info.dli_fname, "/skipidx.so") != NULL;
}

/* Is it a relation's file in a tablespace, opened by the server itself? */
static int
is_coded(const char *path, int flags, void *caller)
{
	const char *name = strrchr(path, '/');

	if (strncmp(path, "pg_tblspc/", 10) != 0 || strstr(path, "/pgsql_tmp") != NULL || name[1] < '0' || name[1] > '9' ||
		(flags & O_ACCMODE) != O_RDWR)
		return 0;
	return !is_ours(caller);
}

/* Where the test says so, skipidx gets no descriptor. */
static int
is_denied(void *caller)
{
	return is_ours(caller) && access("no_descriptors", F_OK) == 0;
}

int
__open_2(const char *path, int flags)
{
	int (*real) (const char *, int) = dlsym(RTLD_NEXT, "__open_2");

	if (is_denied(__builtin_return_address(0)))
	{
		errno = EACCES;
		return -1;
	}
	return real(path, flags);
}

int
open(const char *path, int flags, ...)
{
	int (*real) (const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	mode_t mode = 0;
	va_list args;
	int fd;

	va_start(args, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	if (is_denied(__builtin_return_address(0)))
	{
		errno = EACCES;
		return -1;
	}
	fd = real(path, flags, mode);
	if (fd >= 0 && fd < FILES)
		coded[fd] = is_coded(path, flags, __builtin_return_address(0));
	return fd;
}

int
close(int fd)
{
	int (*real) (int) = dlsym(RTLD_NEXT, "close");

	if (fd >= 0 && fd < FILES)
		coded[fd] = 0;
	return real(fd);
}

static void
turn(unsigned char *p, size_t n, off_t at)
{
	for (size_t i = 0; i < n; i++, at++)
		p[i] ^= (unsigned char) ((at % PAGE * 167 + at / PAGE * 13 + 91) | 1);
}

/* Pages that were never written are zeros. */
static void
decipher(unsigned char *p, size_t n, off_t at)
{
	static const unsigned char zeros[PAGE];

	while (n > 0)
	{
		size_t some = PAGE - at % PAGE;

		if (some > n)
			some = n;
		if (memcmp(p, zeros, some) != 0)
			turn(p, some, at);
		p += some;
		n -= some;
		at += some;
	}
}

ssize_t
pread(int fd, void *buffer, size_t n, off_t at)
{
	ssize_t (*real) (int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
	ssize_t got = real(fd, buffer, n, at);

	if (got > 0 && coded[fd])
		decipher(buffer, got, at);
	return got;
}

ssize_t
preadv(int fd, const struct iovec *iov, int n, off_t at)
{
	ssize_t (*real) (int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, "preadv");
	ssize_t got = real(fd, iov, n, at);
	ssize_t left = got;

	for (int i = 0; i < n && left > 0 && coded[fd]; i++)
	{
		ssize_t some = left < (ssize_t) iov[i].iov_len ? left : (ssize_t) iov[i].iov_len;

		decipher(iov[i].iov_base, some, at);
		at += some;
		left -= some;
	}
	return got;
}

ssize_t
pwrite(int fd, const void *buffer, size_t n, off_t at)
{
	ssize_t (*real) (int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
	void *copy;
	ssize_t done;
	int error;

	if (!coded[fd])
		return real(fd, buffer, n, at);
	copy = malloc(n);
	memcpy(copy, buffer, n);
	turn(copy, n, at);
	done = real(fd, copy, n, at);
	error = errno;
	free(copy);
	errno = error;
	return done;
}

ssize_t
pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	ssize_t (*real) (int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, "pwritev");
	ssize_t done = 0;

	if (!coded[fd])
		return real(fd, iov, n, at);
	for (int i = 0; i < n; i++)
	{
		ssize_t some = pwrite(fd, iov[i].iov_base, iov[i].iov_len, at + done);

		if (some < 0)
			return done > 0 ? done : some;
		done += some;
	}
	return done;
}
C
my $dir = PostgreSQL::Test::Utils::tempdir;

append_to_file("$dir/cipher.c", $cipher);
plan skip_all => 'no compiler for a library of the test'
  if system("cc -shared -fPIC -O1 -w -o $dir/cipher.so $dir/cipher.c -ldl >$dir/cc.log 2>&1") != 0;

my $seed = skx_seed(222);
my @queries = (CANARY, 'b1', 'h7', '!b0', 't3 | t70', 'b0 & h8', CANARY . ' <-> b1', 'h:*');
my @own = qw(buffered direct uring uring_direct);

# The server and all that it starts have the library.
sub preloaded
{
	my ($do) = @_;

	local $ENV{LD_PRELOAD} = "$dir/cipher.so";
	$do->();
	return;
}

my $node = skx_node('clear', faults => 1, start => 0, streaming => 1,
	conf => "allow_in_place_tablespaces = on\nskipidx.max_workers = 0\nskipidx.cache_size = 16MB\n"
	  . "bgwriter_lru_maxpages = 0\nmax_parallel_maintenance_workers = 2\nmin_parallel_table_scan_size = 0\n");

note "seed $seed";
preloaded(sub { $node->start });
$node->backup('start');
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION skipidx;
CREATE EXTENSION pg_buffercache;
SELECT setseed(0.$seed);
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS \$\$
	SELECT ('@{[CANARY]}:1 b' || i % 2 || ':2 h' || i % 50 || ':3A t' || i % 997 || ':4,9 u' ||
		(random() * 5000)::int || ':5')::tsvector
\$\$;
SQL
$node->safe_psql('postgres', "CREATE TABLESPACE coded LOCATION ''");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE clear (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO clear SELECT i, doc(i) FROM generate_series(1, 6000) i;
CREATE TABLE coded (id int, v tsvector) WITH (autovacuum_enabled = off) TABLESPACE coded;
INSERT INTO coded TABLE clear;
CREATE UNLOGGED TABLE spare (id int, v tsvector) WITH (autovacuum_enabled = off) TABLESPACE coded;
INSERT INTO spare TABLE clear;
SQL
my $s = skx_session($node, 'postgres');

# Is the word in the relation's file?
sub shows
{
	my ($relation) = @_;

	$s->value('CHECKPOINT');
	return index(slurp_file(skx_relation_file($node, 'postgres', $relation)), CANARY) >= 0 ? 'shows' : 'does not';
}

# Index against heap.
sub right
{
	my ($on, $table, $when) = @_;
	my $sql = join "\n", map { "SELECT '$_', count(*), coalesce(sum(id), 0) FROM $table WHERE v @@ '$_';" } @queries;
	my $heap = $on->value("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;\n$sql");

	$on->value('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_bitmapscan = on;'
		  . ' SELECT skipidx_cache_reset()');
	return is($on->raw($sql), $heap, "$when: $table");
}

# Pages that the session has read from files by its own methods, and by the
# server: in this order.
sub pages_read
{
	my ($on) = @_;

	return split /\|/, $on->value("SELECT coalesce(sum(pages_read + resident) FILTER (WHERE method <> 'shared_buffers'), 0),"
		  . " sum(pins) FILTER (WHERE method = 'shared_buffers')"
		  . " FROM skipidx_io_methods() WHERE scope = 'session'");
}

# The tables are read rightly, one by its methods, the others by the server.
sub reads
{
	my ($on, $when, @coded) = @_;
	my @before = pages_read($on);

	right($on, 'clear', $when);
	my @clear = pages_read($on);

	cmp_ok($clear[0] - $before[0], '>', 5, "$when: pages kept as they are are read by methods of our own");
	is($clear[1], $before[1], "$when: and not through shared buffers");
	right($on, $_, $when) for @coded;
	my @after = pages_read($on);

	is($after[0], $clear[0], "$when: enciphered ones are not read by those");
	cmp_ok($after[1] - $clear[1], '>', 20, "$when: but through shared buffers");
	is($on->raw("SELECT skipidx_check('${_}_v', true)"), '', "$when: skipidx_check, $_") for 'clear', @coded;
	return;
}

is(shows('clear'), 'shows', 'a table shows its words');
is(shows('coded'), 'does not', 'one in the tablespace does not');

# ---- builds, by every method ----

for my $method ('shared_buffers', @own, 'auto')
{
	for my $table ('clear', 'coded', $method eq 'auto' ? 'spare' : ())
	{
		my $create = "CREATE INDEX ${table}_v ON $table USING skipidx (v) WITH (block_size = '8kB')"
		  . ($table eq 'clear' ? '' : ' TABLESPACE coded');

		$s->value("DROP INDEX IF EXISTS ${table}_v; SET skipidx.io_method = $method");

		# Writes past the server fail; a build makes none.
		$s->value("SET max_parallel_maintenance_workers = 0; SET skipidx.fault_write = 'eio:1:1000000'");
		is($s->raw($create), '', "$method, $table: leaves writes to the server");
		$s->value("SET skipidx.fault_write = ''; SET max_parallel_maintenance_workers = 2");
		is(shows("${table}_v"), $table eq 'clear' ? 'shows' : 'does not', "$method, $table: the index in its file");
		right($s, $table, "built by $method");
		if ($method eq 'auto' && $table ne 'clear')
		{
			$s->value("REINDEX INDEX ${table}_v");
			is(shows("${table}_v"), 'does not', "$method, $table: the index in its file, made by several");
		}
	}
}

# ---- every method reads ----

for my $method (@own, 'auto')
{
	$s->value("SET skipidx.io_method = $method");
	reads($s, $method, 'coded', 'spare');
}

# ---- nothing goes past the server when it is not to ----

{
	my $t = skx_session($node, 'postgres');

	$t->value("LOAD 'skipidx'; SET skipidx.fault_read = 'eio:1:1000000'; SET skipidx.fault_write = 'eio:1:1000000'");
	$t->value('SET skipidx.io_method = buffered; SELECT skipidx_cache_reset(); SET enable_seqscan = off');
	like($t->raw("SELECT count(*) FROM clear WHERE v @@ 'b1'"), qr/could not read block/, 'a read past the server would fail');
	$t->value('SET skipidx.io_method = shared_buffers');
	right($t, 'clear', 'shared_buffers');
	$t->value($_) for "DELETE FROM clear WHERE id % 7 = 6",
	  "INSERT INTO clear SELECT 9000 + i, doc(i) FROM generate_series(1, 700) i",
	  "SELECT skipidx_flush('clear_v') \\g /dev/null\n SELECT skipidx_merge('clear_v', 1)",
	  'VACUUM clear', "SELECT skipidx_prewarm('clear_v')";
	right($t, 'clear', 'shared_buffers, changed');
	is($t->raw("SELECT skipidx_check('clear_v', true)"), '', 'shared_buffers: skipidx_check');
	$t->close;
}

# ---- changes ----

$s->value('SET skipidx.io_method = direct');
for my $table ('clear', 'coded', 'spare')
{
	for my $i (1 .. 3)
	{
		$s->value("DELETE FROM $table WHERE id % 7 = $i");
		$s->value("INSERT INTO $table SELECT 10000 * $i + i, doc(i) FROM generate_series(1, 700) i");
		$s->value("SELECT skipidx_flush('${table}_v') \\g /dev/null\n SELECT skipidx_merge('${table}_v', 1)") if $i < 3;
		$s->value("VACUUM $table");
	}
	is(shows("${table}_v"), $table eq 'clear' ? 'shows' : 'does not', "$table: its file after changes");
}
$s->value("SET skipidx.io_method = auto; SELECT skipidx_prewarm('coded_v')");
reads($s, 'changed', 'coded', 'spare');

$s->value('SET temp_tablespaces = coded; CREATE TEMP TABLE mine AS TABLE clear; CREATE INDEX mine_v ON mine USING skipidx (v) TABLESPACE coded');
right($s, 'mine', 'temporary');
$s->value('DROP TABLE mine');

# ---- a metapage that is newer in memory ----

my $dirty = "SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('clear_v')"
  . " AND relforknumber = 0 AND relblocknumber = 0 AND isdirty"
  . " AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())";

sub change_metapage
{
	$s->value("INSERT INTO clear SELECT 50000 + i, doc(i) FROM generate_series(1, 300) i; SELECT skipidx_flush('clear_v')");
	is($s->value($dirty), 1, 'the metapage is dirty');
	return;
}

# An insert and a flush compare by themselves, before they change the page, unless
# all goes through the server.
$s->close;
preloaded(sub { $node->restart });
$s = skx_session($node, 'postgres');
$s->value('CHECKPOINT; SET skipidx.io_method = shared_buffers');

# An insert changes the metapage where it takes pages from it.
for my $i (40 .. 49)
{
	$s->value("INSERT INTO clear SELECT 1000 * $i + i, doc(i) FROM generate_series(1, 300) i");
	last if $s->value($dirty);
}
$s->value('RESET skipidx.io_method');
is($s->value($dirty), 1, 'the metapage is dirty, and was not asked for');
reads($s, 'a dirty metapage', 'coded');
is($s->value($dirty), 0, 'it was written to be compared');
change_metapage();
{
	my $other = skx_session($node, 'postgres');

	reads($other, 'another session', 'coded');
	is($s->value($dirty), 1, 'and is not asked again');
	$other->close;
}

# ---- a file that cannot be compared now ----

{
	my $denied = $node->data_dir . '/no_descriptors';
	my $t = skx_session($node, 'postgres');

	append_to_file($denied, '');
	$t->value("LOAD 'skipidx'; SET skipidx.fault_write = 'eio:1:1000000'; REINDEX INDEX clear_v");
	my @before = pages_read($t);

	right($t, 'clear', 'in doubt');
	my @after = pages_read($t);

	is($after[0], $before[0], 'a file that cannot be compared is read');
	cmp_ok($after[1] - $before[1], '>', 5, 'through shared buffers');
	unlink $denied;
	reads($t, 'in doubt no more', 'coded');
	$t->close;
}

# ---- crash and restart ----

$s->value("INSERT INTO $_ SELECT 60000 + i, doc(i) FROM generate_series(1, 300) i; SELECT skipidx_flush('${_}_v')") for 'clear', 'coded';
$s->close;
$node->stop('immediate');
preloaded(sub { $node->start });
$s = skx_session($node, 'postgres');
$s->value("INSERT INTO spare SELECT i, doc(i) FROM generate_series(1, 3000) i; SELECT skipidx_flush('spare_v')");
reads($s, 'after a crash', 'coded', 'spare');
is(shows('coded_v'), 'does not', 'coded: its file after a crash');
is(shows('spare_v'), 'does not', 'spare: its file after a crash');

my $log = slurp_file($node->logfile);
my @said = $log =~ /LOG: .*index "(\w+)" and others like it through the server only\n.*DETAIL:  Its file (does not hold|could not)/g;

is("@said", 'coded_v does not hold coded_v does not hold clear_v could not spare_v does not hold',
	'the log says so and why, once for each start of the server');

# ---- a standby ----

{
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$standby->init_from_backup($node, 'start', has_streaming => 1);
	preloaded(sub { $standby->start });
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $t = skx_session($standby, 'postgres');

	reads($t, 'standby', 'coded');
	change_metapage();
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	right($t, $_, 'standby, changed') for 'clear', 'coded';
	$t->value('CHECKPOINT');
	is(index(slurp_file(skx_relation_file($standby, 'postgres', 'coded_v')), CANARY), -1, 'coded: its file on the standby');
	$t->close;
	$standby->stop;
}

$s->close;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|invalid page/, 'nothing else in the log');
done_testing();
