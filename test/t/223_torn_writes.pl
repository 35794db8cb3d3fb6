# Writes that end in the middle of a page: the kernel takes 4 kB of it and no
# more, as a limit of the process on the length of files has it.  Whatever was
# being written, and by whatever method, no page of the file stays torn, so that
# the server's own tools read all of it; pages that were torn by something else
# are told apart from damage.
#
# Holds: blkio 7; inspect 6

use strict;
use warnings;
use File::Path ();
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_relation_file skx_seed);
use Test::More;

use constant { PAGE => 8192, TRIES => 5 };

plan skip_all => 'no prlimit' if system('prlimit --version >/dev/null 2>&1') != 0;

# Files of the log must be shorter than the limits.
my $seed = skx_seed(223);
my $node = skx_node('torn', faults => 1, streaming => 1, extra => [ '--data-checksums', '--wal-segsize=1' ],
	conf => "fsync = on\nskipidx.cache_size = 4MB\nskipidx.max_workers = 0\nbgwriter_lru_maxpages = 0\nmax_wal_senders = 2");
my ($f, $s);

note "seed $seed";
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE SEQUENCE ids;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off, vacuum_truncate = off);
CREATE FUNCTION add(k int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, (SELECT string_agg(md5(i || ' ' || n) || ':' || n * 2, ' ')
			FROM generate_series(1, 8) n)::tsvector || ('all:1,3 r' || i % 500 || ':2')::tsvector
		FROM (SELECT nextval('ids') FROM generate_series(1, k)) s (i)
$$;
SQL
$f = SkipidxFault->new($node, 'postgres');
$s = $f->{s};


# A session that cannot write past a place in its files; 0: no more.
sub limit
{
	my ($session, $bytes) = @_;

	system_or_bail('prlimit', '--pid', $session->backend, '--fsize=' . ($bytes || 'unlimited') . ':unlimited');
	return;
}

# Stops the server and starts it again: shared buffers, from which a page would be
# written once more, have nothing of an index then.  All pages of all files are
# verified in between.
sub restart
{
	my ($name) = @_;

	$s->close;
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], "$name: pg_checksums") if $name;
	$node->start;
	$f->connect;
	$s = $f->{s};
	return;
}

# An index with free pages in its first MB and the next, and pending documents.
sub fresh
{
	my ($what) = @_;

	$s->value(<<'SQL');
TRUNCATE docs;
DROP INDEX IF EXISTS docs_v;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64MB', deletes_pct_allowed = 90);
SELECT add(6000);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT add(6000);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT skipidx_merge('docs_v', 1) \g /dev/null
DELETE FROM docs WHERE id % 2 = 0;
SQL
	$s->value('VACUUM docs') for 1 .. 2;
	$s->value('SELECT add(4000)' . ($what eq 'merge' ? "; SELECT skipidx_flush('docs_v')" : ''));
	restart();
	return;
}

# A statement of a session that gets no further than the middle of a page: of the
# first that it could not write the last time.
sub tear
{
	my ($session, $name, $sql) = @_;
	my $block = 150;

	for (1 .. TRIES)
	{
		limit($session, $block * PAGE + PAGE / 2);
		my $said = $session->raw($sql);

		limit($session, 0);
		# the server may write several at once, and has no code for a file that is too large
		my ($state, $at, $last) = $said =~ /ERROR:  (\w+): could not write blocks? (\d+)(?:\.\.(\d+))? in file "\S+": (?:wrote only 4096 of 8192 bytes|File too large)/
		  or last;

		if ($at <= $block && $block <= ($last // $at))
		{
			like($state, defined $last ? qr/^(53100|XX000)$/ : qr/^53100$/, "$name: half of block $block is written, and a full disk reported");
			return 1;
		}
		$block = $at;
	}
	return fail("$name: a page is torn");
}

sub rows
{
	my ($session, $name) = @_;

	is($session->raw("SET enable_seqscan = off; SELECT count(*), count(DISTINCT id) FROM docs WHERE v @@ 'all'"),
		$s->raw("SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*), count(DISTINCT id) FROM docs WHERE v @@ 'all'"),
		"$name: rows");
	return;
}

# ---- segments of an index in use, in pages that were others' ----

for my $case ((map { [ $_, 'flush' ] } qw(auto buffered direct uring uring_direct)), [ 'buffered', 'merge' ],
	[ 'direct', 'merge' ])
{
	my ($method, $what) = @$case;
	my $name = "$method, $what";
	my $sql = $what eq 'flush' ? "SELECT skipidx_flush('docs_v')" : "SELECT skipidx_merge('docs_v', 1)";

	fresh($what);
	my $session = $f->session;

	# the cache is made before there is a limit, which is one of it, too
	$session->value("SET skipidx.io_method = $method; SELECT skipidx_cache_reset()");
	if (tear($session, $name, $sql))
	{
		is($session->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
		rows($session, $name);
		command_ok([ 'pg_basebackup', '-D', $node->backup_dir . '/one', '-c', 'fast', '-X', 'none', '--no-sync', '-d', $node->connstr('postgres') ],
			"$name: a base backup, which verifies all pages") if $method eq 'auto';
		$session->close;
		restart($name);
		$session = $f->session;
		is($session->raw($sql) =~ /ERROR|WARNING/, '', "$name: done again");
		is($session->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check after it");
		rows($session, $name);
	}
	$session->close;
}

# ---- pending documents, and segments by shared_buffers ----

# Here it is the server that writes: what fails is written later.
for my $name ('pending', 'shared_buffers, flush')
{
	fresh('pending');
	my $session = $f->session;
	my $failed = 0;

	for my $block (130 .. 200)
	{
		limit($session, $block * PAGE + PAGE / 2);
		$failed += $session->raw($name eq 'pending' ? 'SELECT add(100)' :
			  "SET skipidx.io_method = shared_buffers; SELECT add(100); SELECT skipidx_flush('docs_v') \\g /dev/null\n") =~ /ERROR/;
		limit($session, 0);
	}
	note "$name: $failed failed";
	is($session->raw("SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
	rows($session, $name);
	$session->close;
	restart($name);
}

# Has the file got the first half of a page that was zero, and not the other?
sub half_written
{
	my ($block) = @_;
	my $page;

	open my $file, '<:raw', skx_relation_file($node, 'postgres', 'docs_v') or die $!;
	sysseek $file, $block * PAGE, 0;
	sysread $file, $page, PAGE;
	return $page =~ /^(.{4096})\0{4096}$/s && $1 =~ /[^\0]/;
}

# ---- a new index, whose file stays where it is built concurrently ----

for my $method (qw(auto buffered shared_buffers))
{
	my $name = "$method, new";
	my ($at, $block, $met, $torn) = (2, 0, 0, 0);

	for (1 .. 3 * TRIES)
	{
		my $session = $f->session;

		$s->value('DROP INDEX IF EXISTS docs_v');
		$session->value("SET skipidx.io_method = $method");
		$f->hold($s, 'new_logged');
		$f->arm($session, 'new_logged', 'wait', $at);
		$session->start("CREATE INDEX CONCURRENTLY docs_v ON docs USING skipidx (v) WITH (block_size = '1MB')");
		last unless $f->waits($s, 'new_logged');

		# behind which the file will have to grow, some time
		$block ||= (-s skx_relation_file($node, 'postgres', 'docs_v')) / PAGE - 2;
		limit($session, $block * PAGE + PAGE / 2);
		$f->release($s, 'new_logged');
		my $said = $session->finish;

		limit($session, 0);
		$session->close;
		my ($failed, $to) = $said =~ /could not (?:write blocks? (\d+)(?:\.\.(\d+))?|extend)/ or last;

		# the error may be of what comes after
		$torn = half_written($block);
		$met = defined $failed && $failed <= $block && $block <= ($to // $failed);
		last if $met || $torn;
		($at, $block) = defined $failed ? ($at, $failed) : ($at + 1, 0);
	}
	ok($met, "$name: there was space for half of block $block");
	ok(!$torn, "$name: it is not left so");
	is($s->value("SELECT count(*) FROM pg_index WHERE indexrelid = 'docs_v'::regclass AND NOT indisvalid AND pg_relation_size('docs_v') > 0"),
		1, "$name: there is a file");
	restart($name);
}
$s->close;
$node->stop;
done_testing();
