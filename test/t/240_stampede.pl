# Sixteen sessions read through a cache that is emptied all the time, with the
# lowest cap on reads under way, while another cancels them: right answers or a
# cancel, and nothing left behind.
#
# Long: a minute for each method, else 2 s (SKX_STAMPEDE_SECONDS).
#
# Holds: blkio 13

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;
use Time::HiRes qw(time sleep);

use constant SESSIONS => 16;

# Until answers that do not come count as none, s.
use constant PATIENCE => 90;

my $seconds = $ENV{SKX_STAMPEDE_SECONDS} // 2;
my $seed = skx_seed(240);
my $node = skx_node('stampede', conf => "skipidx.cache_size = 2MB\nskipidx.io_depth_total = 1\n"
	  . "shared_buffers = 32MB\nmax_connections = 40");

note "seed $seed, $seconds s";
srand($seed);
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 b' || i % 2 || ':2 h' || i % 100 || ':3 t' || i % 5000 || ':4 '
	|| md5(i::text))::tsvector FROM generate_series(1, 60000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB');
VACUUM ANALYZE docs;
SQL

my @queries = ('all & b1', 't77 | t78', 'b0 & h8', 'all <-> b1 <-> h7', 'h1 | h2 | h:*', 't12:*', '!b0 & h9', 'b1 <-> h77',
	map { sprintf '%03x:* & b1', rand 4096 } 1 .. 40);
my %want;
my $s = skx_session($node, 'postgres');

$s->value('SET enable_indexscan = off; SET enable_bitmapscan = off');
$want{$_} = $s->value("SELECT count(*) FROM docs WHERE v @@ '$_'") for @queries;
$s->close;

# Descriptors of a process, without what they are numbered; reading alone is
# what skipidx opens files of relations for.
sub descriptors
{
	my ($pid) = @_;
	my %n = (rings => 0, ours => 0, all => 0);

	for my $fd (glob "/proc/$pid/fd/*")
	{
		my $file = readlink($fd) // next;
		my ($flags) = $file =~ m{/base/} ? slurp_file($fd =~ s/fd/fdinfo/r) =~ /^flags:\s*(\d+)/m : ();

		$n{all}++;
		$n{rings} += $file =~ /io_uring/;
		$n{ours} += defined $flags && (oct($flags) & 3) == 0;
	}
	return \%n;
}

# Descriptors of the postmaster, and those of ours in all the processes that it
# has started but for sessions.
sub server
{
	my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
	my %n = (postmaster => descriptors($postmaster), rings => 0, ours => 0);

	for my $process (glob '/proc/[0-9]*')
	{
		my $stat = eval { slurp_file("$process/stat") } // next;
		my $name = eval { slurp_file("$process/cmdline") } // next;

		next unless $stat =~ /\) \w $postmaster / && $name !~ /\[local\]/;
		my $fds = descriptors($process =~ s/\D+//r);

		$n{$_} += $fds->{$_} for qw(rings ours);
	}
	return \%n;
}

my @methods = grep { !/auto|shared_buffers/ } split /,/, $node->safe_psql('postgres',
	"LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");

my $have_ring = do
{
	my $probe = skx_session($node, 'postgres');

	$probe->value("LOAD 'skipidx'; SET skipidx.io_method = uring; SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all'");
	descriptors($probe->backend)->{rings};
};

$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'");
my $before = server();

cmp_ok($before->{postmaster}{all}, '>', 3, 'descriptors of the postmaster');
is($before->{$_}, 0, "$_ that processes have which are no sessions") for qw(rings ours);

for my $method (@methods)
{
	my $control = skx_session($node, 'postgres');
	my @sessions = map {
		my $one = skx_session($node, 'postgres');

		$one->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off;"
			  . ' SET max_parallel_workers_per_gather = 0');
		{ s => $one, pid => $one->value('SELECT pg_backend_pid()'), query => undef }
	} 1 .. SESSIONS;
	my ($right, $cancelled, @wrong) = (0, 0);
	my $end = time + $seconds;
	my $next_cancel = time;
	my $on = 1;

	while ($on || grep { defined $_->{query} } @sessions)
	{
		my $idle = 1;

		$on = time < $end || (time < $end + PATIENCE && ($right <= 5 * SESSIONS || $cancelled == 0));

		for my $one (@sessions)
		{
			if (!defined $one->{query})
			{
				next unless $on;
				$one->{query} = $queries[ rand @queries ];
				$one->{s}->start("SELECT count(*) FROM docs WHERE v @@ '$one->{query}'");
				$idle = 0;
				next;
			}
			my $said = $one->{s}->ready;

			next unless defined $said;
			$idle = 0;
			if ($said eq $want{ $one->{query} }) { $right++ }
			elsif ($said =~ /57014/) { $cancelled++ }
			else { push @wrong, "$one->{query}: $said" }
			$one->{query} = undef;
		}
		if (time >= $next_cancel)
		{
			$control->value('SELECT pg_cancel_backend(' . $sessions[ rand @sessions ]{pid} . '), skipidx_cache_reset() \g /dev/null' . "\n");
			$next_cancel = time + 0.01;
		}
		sleep 0.001 if $idle;
	}
	is_deeply([ @wrong[ 0 .. ($#wrong > 3 ? 3 : $#wrong) ] ], [], "$method: $right right answers, $cancelled cancelled");
	cmp_ok($right, '>', 5 * SESSIONS, "$method: they get on");
	cmp_ok($cancelled, '>', 0, "$method: some were cancelled");
	is($control->value('SELECT pinned FROM skipidx_cache()'), 0, "$method: nothing stays pinned");
	is($control->value('SELECT reads_under_way || \' \' || reads_queued FROM skipidx_cache()'), '0 0', "$method: nothing under way, nobody waits");

	# one index, of one file
	my $ring = $method =~ /uring/ ? $have_ring : 0;
	my $once_more = sub { $_->{s}->value("SELECT count(*) FROM docs WHERE v @@ 'all & b1'") for @sessions };

	$once_more->();
	my @held = map { descriptors($_->{pid}) } @sessions;

	is_deeply([ map { $_->{rings} } @held ], [ ($ring) x SESSIONS ], "$method: a ring each, or none");
	is_deeply([ map { $_->{ours} } @held ], [ (1) x SESSIONS ], "$method: the file of the index once each");
	$once_more->();
	is_deeply([ map { descriptors($_->{pid}) } @sessions ], \@held, "$method: another query opens nothing");

	# frames that somebody held could not be dropped
	$control->value('SELECT skipidx_cache_reset() \g /dev/null' . "\n");
	is($control->value('SELECT frames_used FROM skipidx_cache()'), 0, "$method: every frame can be dropped");
	$_->{s}->close for @sessions;
	for (1 .. 200)
	{
		last unless grep { -e "/proc/$_->{pid}" } @sessions;
		sleep 0.05;
	}
	is(scalar(grep { -e "/proc/$_->{pid}" } @sessions), 0, "$method: their processes end");
	is($control->value('SELECT pinned + reads_under_way + reads_queued FROM skipidx_cache()'), 0, "$method: nothing is left of them");
	cmp_ok($control->value("SELECT queue_waits FROM skipidx_io_methods() WHERE scope = 'total' AND method = '$method'"),
		'>', 0, "$method: the cap made them wait");
	$control->close;
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'"),
		"$method: all sessions are gone");
	is_deeply(server(), $before, "$method: the server has the descriptors that it had before");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|page pin leak|leaked|terminated by signal/, 'nothing else in the log');
$node->stop;
done_testing();
