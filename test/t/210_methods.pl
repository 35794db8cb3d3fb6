# Every way of reading blocks, the same questions: answers, the work done, reads
# that fail, sessions that are cancelled, killed or asleep with reads under
# way, and nothing left behind.
#
# Holds: blkio 1, 10, 11

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;
use Time::HiRes qw(time sleep);

# Until a query that was told to stop counts as deaf, ms, where every read is
# late and most of it is a wait for those under way; how soon it is otherwise,
# t/216_cancel.pl measures.
use constant DEAF_MS => 500;

my $node = skx_node('methods', faults => 1, conf => "skipidx.cache_size = 16MB\nskipidx.io_depth = 8");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 b' || i % 2 || ':2 h' || i % 100 || ':3 t' || i % 5000 || ':4')::tsvector
	FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '32kB');
SQL

my @queries = ('all', 'b1', 't77', 'b0 & h8', 'all <-> b1', '!b0', 'h1 | h2', 't12:*');
my @methods = split /,/, $node->safe_psql('postgres',
	"LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");

cmp_ok(scalar(@methods), '>=', 6, 'methods: ' . join ' ', @methods);

# ---- what the settings for faults take, and from whom ----

my $settings = skx_session($node);

like($settings->raw("SET skipidx.fault_read = '$_'"), qr/22023: .*invalid value for parameter "skipidx.fault_read"/, "refused: $_")
  for qw(eio eio:0 melt:1 short:1:2:3);
is($settings->value("SET skipidx.fault_read = 'short:2:3'; SHOW skipidx.fault_read"), 'short:2:3', 'taken');
$settings->value('CREATE ROLE guest; SET ROLE guest');
like($settings->raw("SET skipidx.fault_$_ = 'kill:1'"), qr/42501: /, "fault_$_ is not for users") for qw(read write grow skip);
$settings->value('RESET ROLE; DROP ROLE guest');
$settings->close;

sub answers
{
	my ($s) = @_;

	return join "\n", map {
		my $n = $s->raw("SELECT count(*) || ' ' || coalesce(sum(id::int8), 0) FROM docs WHERE v @@ '$_'");
		"$_: $n"
	} @queries;
}

sub reader
{
	my ($method) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off; SET enable_indexscan = off");
	return $s;
}

# Nothing in our cache; after a restart, nothing in shared buffers either.
sub cold
{
	my ($method, $restart) = @_;

	$node->restart if $restart;
	my $s = reader($method);

	$s->value('SELECT skipidx_cache_reset() \\g /dev/null' . "\n");
	return $s;
}

sub spent
{
	my ($s, $what) = @_;

	return $s->value("SELECT $what FROM skipidx_io_totals() WHERE scope = 'session'"
		  . ' ORDER BY pins DESC LIMIT 1');
}

sub descriptors
{
	my ($s) = @_;
	my $pid = $s->value('SELECT pg_backend_pid()');
	my @fds = map { readlink($_) // '' } glob "/proc/$pid/fd/*";

	return { all => scalar(@fds),
		rings => scalar(grep { /io_uring/ } @fds),
		index => scalar(grep { /base/ } @fds) };
}

sub pinned { return $_[0]->value('SELECT pinned FROM skipidx_cache()'); }

my $s = skx_session($node, 'postgres');
$s->value('SET enable_indexscan = off; SET enable_bitmapscan = off');
my $oracle = answers($s);
$s->close;

for my $method (@methods)
{
	my $asynchronous = $method =~ /uring|auto/;

	# ---- answers, and what they cost ----

	$s = cold($method, 1);
	is(answers($s), $oracle, "$method: cold");
	my $read = spent($s, 'pages_read');
	cmp_ok($read, '>', 30, "$method: pages were read");
	is(answers($s), $oracle, "$method: warm");
	is(spent($s, 'pages_read'), $read, "$method: warm, none were read");
	$s->value('SET enable_bitmapscan = off; SET enable_indexscan = on');
	is(answers($s), $oracle, "$method: plain index scan");
	$s->close;

	# ---- reads that fail ----

	next if $method eq 'shared_buffers';
	for my $action (qw(again intr slow short empty))
	{
		for my $nth (1, 3, 10)
		{
			$s = cold($method);
			$s->value("SET skipidx.fault_read = '$action:$nth'");
			is(answers($s), $oracle, "$method, $action at read $nth: answers");
			$s->close;
			last if $action eq 'slow';
		}
	}
	like(slurp_file($node->logfile), qr/skipidx fault read: empty/, "$method: faults took place");

	my @found;

	for my $nth (1 .. 6)
	{
		$s = cold($method);
		$s->value("SET skipidx.fault_read = 'eio:$nth'");
		my $said = answers($s);

		push @found, $said if $said =~ /58030.*could not read block \d+ in file "base\/\d+\/\d+": Input\/output error/;
		unlike($said, qr/ERROR:  (?!58030)/, "$method, EIO at read $nth: no other error");
		is(pinned($s), 0, "$method, EIO at read $nth: nothing stays pinned");
		$s->value('RESET skipidx.fault_read');
		is(answers($s), $oracle, "$method, EIO at read $nth: the next time it works");
		$s->close;
	}
	cmp_ok(scalar(@found), '>=', 4, "$method: EIO names file, block and reason");

	$s = cold($method);
	$s->value("SET skipidx.fault_read = 'short:1:100000'");
	like($s->raw("SELECT count(*) FROM docs WHERE v @@ 'all'"),
		qr/XX001: could not read block \d+ in file "base\/\d+\/\d+": read only \d+ of \d+ bytes/,
		"$method: a file that is too short");
	$s->value('RESET skipidx.fault_read');
	is(answers($s), $oracle, "$method: too short, then not");
	$s->close;

	# ---- an error with reads under way; many of them; nothing leaks ----

	$s = cold($method);
	answers($s);
	my $before = descriptors($s);

	for my $i (1 .. 20)
	{
		$s->value("SET skipidx.fault_read = 'error:$i'; SELECT skipidx_cache_reset() \\g /dev/null\n");
		$s->raw("BEGIN; SAVEPOINT a; SELECT count(*) FROM docs WHERE v @@ '!b0 | t1:*' \\g /dev/null\n");
		$s->raw('ROLLBACK TO a; COMMIT');
	}
	$s->value('RESET skipidx.fault_read');
	is(pinned($s), 0, "$method, errors: nothing stays pinned");
	is(answers($s), $oracle, "$method, errors: answers");
	is_deeply(descriptors($s), $before, "$method, errors: no descriptor leaks");
	cmp_ok($before->{rings}, '<=', 1, "$method: one ring a session at most");

	# ---- cancelled ----

	my $killer = reader($method);
	my $pid = $s->value('SELECT pg_backend_pid()');

	$s->value("SET skipidx.fault_read = 'slow:1:100000'; SELECT skipidx_cache_reset() \\g /dev/null\n");
	$s->start("SELECT count(*) FROM docs WHERE v @@ 'all' OR v @@ 'b1' OR v @@ 't:*'");
	sleep 0.02;
	my $from = time - $s->queued / 1000;
	$killer->value("SELECT pg_cancel_backend($pid)");
	my $said = $s->finish;
	cmp_ok(1000 * (time - $from) - $s->queued, '<', DEAF_MS, "$method: a cancel is heard");
	like($said, qr/57014|^\d+$/, "$method: cancelled");
	is(pinned($killer), 0, "$method, cancelled: nothing stays pinned");
	$s->value('RESET skipidx.fault_read');
	is(answers($s), $oracle, "$method, cancelled: answers");

	# ---- a cursor that sleeps with reads under way is in nobody's way ----

	$s->value("SELECT skipidx_cache_reset() \\g /dev/null\n");
	$s->value("SET enable_indexscan = on; SET enable_bitmapscan = off; BEGIN; DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'all & b1'");
	is($s->value('FETCH 1 FROM c'), 1, "$method: a cursor begins");
	$killer->value("SET statement_timeout = '60s'");
	is(answers($killer), $oracle, "$method: beside a cursor that sleeps");
	is($s->value('CLOSE c; COMMIT; SELECT 1'), 1, "$method: the cursor ends");
	is(pinned($killer), 0, "$method, cursor: nothing stays pinned");
	$_->close for $s, $killer;
}

# ---- killed with reads under way ----

for my $method (grep { !/shared_buffers|auto/ } @methods)
{
	$s = cold($method);
	my $at = -s $node->logfile;

	$s->value("SET skipidx.fault_read = 'kill:4'");
	like(answers($s), qr/session ended|closed the connection|terminat/i, "$method: killed at a read");
	$s->close;
	for (1 .. 600)
	{
		last if slurp_file($node->logfile, $at) =~ /ready to accept connections/;
		sleep 0.1;
	}
	$s = reader($method);
	is(answers($s), $oracle, "$method, killed: answers");
	is(pinned($s), 0, "$method, killed: nothing stays pinned");
	$s->close;
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|page pin leak|leaked|signal 11|signal 6/, 'nothing else in the log');
$node->stop;
done_testing();
