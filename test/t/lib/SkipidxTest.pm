# SkipidxTest: what every TAP test of skipidx shares.
#
# A cluster large enough not to evict what a test wants resident, and a psql
# session held open over a pipe, which makes a round trip cost a fraction of a
# millisecond instead of a process.

package SkipidxTest;

use strict;
use warnings;

use Carp ();
use Exporter 'import';
use Fcntl qw(LOCK_EX);
use File::Spec;
use FindBin;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxSyscalls;
use Test::More ();
use Time::HiRes ();

our @EXPORT_OK = qw(skx_node skx_database skx_session skx_seed skx_setseed
  skx_install_try skx_recovered skx_until skx_median skx_logged skx_reload skx_workers_done skx_catch_up skx_fault_lock skx_module skx_relation_file skx_refuse_io_uring skx_start_apart skx_contexts);

# A file that takes longer than it may says where it waits, and ends; so does a
# session whose answer does not come.  Seconds; 0: no such end.
my $file_limit = $ENV{SKX_FILE_TIMEOUT} // 1200;
my $answer_limit = $ENV{SKX_ANSWER_TIMEOUT} || 600;

if ($FindBin::RealBin =~ m{/t$} && $file_limit > 0)
{
	$SIG{ALRM} = sub {
		Test::More::diag(Carp::longmess("$0 is not done after $file_limit s; it waits"));
		exit 1;
	};
	alarm $file_limit;
}

# The settings a test gives come last, so they win.  Restarts leave nothing in
# the cache.
my $common_conf = <<'CONF';
shared_buffers = 64MB
max_connections = 40
max_wal_size = 2GB
checkpoint_timeout = 1h
autovacuum = off
log_statement = none
log_min_messages = warning
jit = off
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
client_min_messages = warning
restart_after_crash = on
huge_pages = off
skipidx.autoprewarm_interval = 0
CONF

# initdb once for all nodes of a run that ask the same of it; a copy of what it
# made takes a quarter of the processor's time.
my $system_or_bail = \&PostgreSQL::Test::Utils::system_or_bail;

sub initdb_or_copy
{
	my @command = @_;
	my ($at) = grep { $command[$_] =~ /^(-D|--pgdata)$/ } 0 .. $#command;

	return $system_or_bail->(@command) unless $command[0] eq 'initdb' && defined $at;

	my ($option, $dir) = splice @command, $at, 2;
	my $template = "$PostgreSQL::Test::Utils::tmp_check/" . join('_', map { s/\W//gr } @command);

	open(my $lock, '>', "$template.lock") or die "$template.lock: $!";
	flock($lock, LOCK_EX) or die "$template.lock: $!";
	if (!-d $template)
	{
		$system_or_bail->(@command, $option, "$template.new");
		rename("$template.new", $template) or die "$template: $!";
	}
	close($lock);
	return $system_or_bail->('cp', '-RPp', $template, $dir);
}

# A library of test/module/, which installcheck has built.
sub skx_module
{
	my ($name) = @_;

	return File::Spec->rel2abs("$FindBin::RealBin/../module/$name");
}

# What a session's memory contexts are told by, with the name of each one's parent,
# which servers from 18 on tell by a path alone.
sub skx_contexts
{
	my ($session) = @_;

	return 'pg_backend_memory_contexts' if $session->value("SELECT current_setting('server_version_num')::int") < 180000;
	return '(WITH m AS MATERIALIZED (SELECT * FROM pg_backend_memory_contexts)'
	  . ' SELECT m.*, p.name AS parent FROM m LEFT JOIN m p ON p.path = m.path[:cardinality(m.path) - 1])';
}

# A started cluster.  Options: conf (text appended last), extra (initdb
# options), streaming (a primary for replicas), start (0 to leave it stopped),
# faults (each session has skipidx.fault_read, _write, _grow and _skip), install (the
# server's directory, of skx_install()).
sub skx_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, defined $opt{install} ? (install_path => $opt{install}) : ());

	{
		no warnings 'redefine';
		local *PostgreSQL::Test::Utils::system_or_bail = \&initdb_or_copy;

		$node->init(
			allows_streaming => $opt{streaming} ? 1 : 0,
			extra => [ '--encoding=UTF8', @{ $opt{extra} // [] } ]);
	}
	$node->append_conf('postgresql.conf', $common_conf);
	if (!$opt{streaming})
	{
		$node->append_conf('postgresql.conf', 'wal_level = replica');
	}
	$node->append_conf('postgresql.conf', "session_preload_libraries = '" . skx_module('skipidx_fault') . "'")
	  if $opt{faults};
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start unless defined $opt{start} && !$opt{start};
	return $node;
}

# A database whose default collation does not order text as bytes do, so that
# a comparison of lexemes by collation would show.  Without ICU it is plain.
sub skx_database
{
	my ($node, $db) = @_;
	my ($rc) = $node->psql('postgres',
		"CREATE DATABASE $db TEMPLATE template0 ENCODING 'UTF8'"
		  . " LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C'"
		  . " LC_CTYPE 'C'");

	$node->safe_psql('postgres',
		"CREATE DATABASE $db TEMPLATE template0 ENCODING 'UTF8'")
	  if $rc != 0;
	$node->safe_psql($db, 'CREATE EXTENSION skipidx');
	return;
}

# The second key of the advisory lock that a backend waits for at a point: its
# number in the list.
sub skx_fault_lock
{
	my ($point) = @_;
	my @names = slurp_file("$FindBin::RealBin/../../src/support/fault/fault_points.h")
	  =~ /^\s*X\(\w+, "(\w+)"/mg;
	my ($at) = grep { $names[ $_ - 1 ] eq $point } 1 .. @names;

	return $at // die "no fault point $point";
}

# The seed of a test: fixed, unless SKIPIDX_SEED says otherwise; perl's random
# numbers and those of all sessions come from it.
my $seed;
my $sessions = 0;

sub skx_seed
{
	my ($default) = @_;

	$seed = ($ENV{SKIPIDX_SEED} // '') =~ /^(\d+)$/ ? $1 : $default;
	$sessions = 0;
	srand $seed;
	return $seed;
}

# A call of the server's setseed, with another value each time.
sub skx_setseed
{
	skx_seed(1) unless defined $seed;
	return sprintf 'setseed(%.6f)', ($seed % 100_003 * 7919 + 104_729 * $sessions++) % 1_000_003 / 1_000_003;
}

END
{
	Test::More::diag("the seed was $seed: SKIPIDX_SEED=$seed")
	  if defined $seed && ($? != 0 || !Test::More->builder->is_passing);
}

# try_sql(text): runs one statement that returns one value, gives 'ok|value'
# or 'SQLSTATE|message', inside a subtransaction.
sub skx_install_try
{
	my ($node, $db) = @_;

	$node->safe_psql($db, <<'SQL');
CREATE FUNCTION try_sql(stmt text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE stmt INTO answer;
	RETURN 'ok|' || coalesce(answer, '');
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || '|' || sqlerrm;
END $$;
SQL
	return;
}

# Waits until a node that crashed takes connections again.  poll_query_until()
# dies now and then where psql ends before it has read the query.
sub skx_recovered
{
	my ($node) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		# a while, in which the postmaster sees that a process is gone
		my ($out) = run_command([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT pg_is_in_recovery() FROM pg_sleep(0.2)' ]);

		return if $out eq 'f';
		Time::HiRes::usleep(100_000);
	}
	die 'not recovered: ' . $node->name;
}

# Until what is asked for is true; not forever.
sub skx_until
{
	my ($what, $true) = @_;
	my $until = Time::HiRes::time() + $PostgreSQL::Test::Utils::timeout_default;

	until ($true->())
	{
		die "waited $PostgreSQL::Test::Utils::timeout_default s for $what" if Time::HiRes::time() > $until;
		Time::HiRes::usleep(2000);
	}
	return;
}

# The middle one of figures, the lesser of two.
sub skx_median { return (sort { $a <=> $b } @_)[ $#_ / 2 ]; }

# Until the log of a node has, from this place on, what the pattern says.
sub skx_logged
{
	my ($node, $from, $pattern) = @_;

	skx_until("the log to have $pattern", sub { slurp_file($node->logfile, $from) =~ $pattern });
	return;
}

# Lets the server read its configuration again, until it and these sessions have
# done so; sessions that begin later have it, too.  A placeholder tells.
my $reloads = 0;

sub skx_reload
{
	my ($node, @sessions) = @_;
	my $read = "SELECT current_setting('skx_test.reloads', true)";

	$node->append_conf('postgresql.conf', 'skx_test.reloads = ' . ++$reloads);
	$node->reload;
	skx_until('a reload', sub { $node->safe_psql('postgres', $read) eq $reloads }) unless @sessions;
	for my $s (@sessions)
	{
		skx_until('a reload', sub { $s->value($read) eq $reloads });
	}
	return;
}

# Processes of a node that are workers, or have just been forked and do not say
# yet what they are.  pg_stat_activity has a worker only once it is in a database.
sub workers
{
	my ($node) = @_;
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $n = 0;

	for my $dir (glob '/proc/[0-9]*')
	{
		# gone since, or a zombie
		my ($parent) = (eval { slurp_file("$dir/stat") } // '') =~ /^.*\) [^Z] (\d+)/s;
		next unless defined $parent && $parent == $postmaster;
		$n++ if (eval { slurp_file("$dir/cmdline") } // '') =~ /^(?!\S+: )|^\S+: .*skipidx worker/;
	}
	return $n;
}

# Until no background worker is left, nor one that was asked for: the postmaster
# has begun that before it takes another connection.
sub skx_workers_done
{
	my ($node) = @_;

	do
	{
		skx_until('workers to end', sub { workers($node) == 0 });
		$node->safe_psql('postgres', 'SELECT 1');
	} until workers($node) == 0;
	return;
}

# Until a standby has all that was done.  Flushes and merges log without a
# transaction id, so a commit that has one is needed to flush that.
sub skx_catch_up
{
	my ($primary, $standby) = @_;

	$primary->safe_psql('postgres', "SELECT pg_logical_emit_message(true, 'catch up', '')");
	$primary->wait_for_catchup($standby);
	return;
}

# Absolute path of a relation's first file.
sub skx_relation_file
{
	my ($node, $db, $rel) = @_;

	return $node->data_dir . '/'
	  . $node->safe_psql($db, "SELECT pg_relation_filepath('$rel')");
}

sub skx_session
{
	my ($node, $db) = @_;

	return SkipidxTest::Session->new($node, $db);
}

# Starts the server in a mount namespace of its own, after the shell commands
# `setup` have run there as root; the server is its own user again.  Further
# arguments are for unshare.  False where the kernel does not allow this.
sub skx_start_apart
{
	my ($node, $setup, @more) = @_;
	my ($uid, $gid) = ($>, $) + 0);

	$node->stop;
	my $ok = system_log('unshare', '--user', '--map-root-user', '--mount', @more, 'sh', '-c',
		"$setup && exec unshare --user --map-user=$uid --map-group=$gid -- \"\$@\"", 'sh',
		'pg_ctl', '-s', '-w', '-D', $node->data_dir, '-l', $node->logfile, 'start') == 0;

	$node->_update_pid($ok ? 1 : 0);
	return $ok;
}

sub skx_refuse_io_uring { return SkipidxSyscalls::refuse_io_uring(); }

package SkipidxTest::Session;

use Errno;
use IPC::Open2;

my $sentinel = '--end-of-answer--';

sub new
{
	my ($class, $node, $db) = @_;
	my $connstr = $node->connstr($db);
	my ($out, $in);

	# stderr joins stdout so that an error is read in its place.
	my $pid = open2($out, $in,
		"exec psql -XAtq -v VERBOSITY=verbose -v SHOW_CONTEXT=never "
		  . "-d \"$connstr\" 2>&1");
	my $self = bless { pid => $pid, in => $in, out => $out }, $class;

	binmode $in, ':utf8';
	$self->{ahead} = '';
	$in->autoflush(1);
	$self->{backend} = $self->value('SELECT pg_backend_pid() FROM ' . SkipidxTest::skx_setseed());
	return $self;
}

# Process id of the server's side.
sub backend { return $_[0]->{backend}; }

# Milliseconds that server, psql and this process have been ready to run and
# waited for a processor: what others on the machine take is no one's delay.
sub queued
{
	my ($self) = @_;
	my $ns = 0;

	for my $pid ($self->{backend}, $self->{pid}, $$)
	{
		open(my $stat, '<', "/proc/$pid/schedstat") or next;
		$ns += (split ' ', <$stat> // '')[1] // 0;
		CORE::close($stat);
	}
	return $ns / 1e6;
}

# Milliseconds of a processor that the server's side has had.
sub busy
{
	my ($self) = @_;

	return (split ' ', PostgreSQL::Test::Utils::slurp_file("/proc/$self->{backend}/schedstat"))[0] / 1e6;
}

# Returns a function that tells the seconds from now on, but for those in which
# server, psql and this process wait for a processor.
sub watch
{
	my ($self) = @_;
	my $from = Time::HiRes::time() - $self->queued / 1000;

	return sub { return Time::HiRes::time() - $from - $self->queued / 1000; };
}

# Sends statements and returns all output lines as one string, errors too.
sub raw
{
	my ($self, $sql) = @_;

	$self->start($sql);
	return $self->finish;
}

# As raw, but an error of the server is fatal for the test.
sub value
{
	my ($self, $sql) = @_;
	my $text = $self->raw($sql);

	die "$sql\n$text" if $text =~ /^(psql:.*)?(ERROR|FATAL|PANIC):/m;
	return $text;
}

# Sends without waiting; the answer is read by finish.  A text that ends in a
# newline is complete as it is (COPY data does).
sub start
{
	my ($self, $sql) = @_;
	my $in = $self->{in};

	local $SIG{PIPE} = 'IGNORE';
	$self->{asked} = [ Time::HiRes::time(), $sql ];
	$sql .= ';' unless $sql =~ /[;\n]\z/;
	print $in "$sql\n\\echo $sentinel\n";
	return;
}

sub finish
{
	my ($self) = @_;

	until ($self->{gone} || defined $self->answer)
	{
		$self->read if $self->readable($self->patience);
	}
	return $self->take;
}

# Seconds that are left for the answer; dies where none are.
sub patience
{
	my ($self) = @_;
	my ($from, $sql) = @{ $self->{asked} // [ Time::HiRes::time(), 'nothing' ] };
	my $left = $from + $answer_limit - Time::HiRes::time();

	Carp::confess("no answer after $answer_limit s to: " . substr($sql, 0, 500)) if $left <= 0;
	return $left;
}

# Is there something to read, now or within so many seconds?
sub readable
{
	my ($self, $seconds) = @_;
	my $bits = '';

	vec($bits, fileno($self->{out}), 1) = 1;
	return select($bits, undef, undef, $seconds) > 0;
}

# Cancels what was started.  Returns what the session said, and how many ms it
# took to say so, but for those in which it waited for a processor.
sub cancel
{
	my ($self) = @_;
	my $seconds = $self->watch;

	kill 'INT', $self->{backend};
	return ($self->finish, 1000 * $seconds->());
}

# Starts a statement that takes longer, and cancels it 10 ms after it has begun
# or up to `most` seconds later: a cancel that came before it would do nothing.
# Another session sees it begin.
sub start_and_cancel
{
	my ($self, $other, $sql, $most) = @_;

	$self->start($sql);
	SkipidxTest::skx_until("a session to begin: $sql",
		sub { $other->value("SELECT state FROM pg_stat_activity WHERE pid = $self->{backend}") eq 'active' });
	Time::HiRes::sleep(0.01 + rand $most);
	return $self->cancel;
}

# As finish when the whole answer is there already; else undef, at once.
sub ready
{
	my ($self) = @_;

	$self->read while !$self->{gone} && $self->readable(0);
	return $self->take if $self->{gone} || defined $self->answer;
	$self->patience;
	return undef;
}

# Has the session ended?
sub gone { return $_[0]->{gone}; }

sub read
{
	my ($self) = @_;

	my $n = sysread $self->{out}, $self->{ahead}, 65536, length $self->{ahead};

	# a signal for the test is no end of the session
	$self->{gone} = 1 unless $n || (!defined $n && $!{EINTR});
	return;
}

# Where the answer ends in what was read.
sub answer
{
	my ($self) = @_;
	my $at = index "\n$self->{ahead}", "\n$sentinel\n";

	return $at < 0 ? undef : $at;
}

sub take
{
	my ($self) = @_;
	my $at = $self->answer;
	my $text;

	if (defined $at)
	{
		$text = substr $self->{ahead}, 0, $at, '';
		substr $self->{ahead}, 0, length("$sentinel\n"), '';
	}
	else
	{
		$text = $self->{ahead} . 'ERROR: session ended';
		$self->{ahead} = '';
	}
	chomp $text;
	utf8::decode($text);
	return $text;
}

sub close
{
	my ($self) = @_;

	return unless defined $self->{pid};
	CORE::close($self->{in});
	CORE::close($self->{out});

	# psql waits for the end of a statement
	my $until = Time::HiRes::time() + $answer_limit;

	while (waitpid($self->{pid}, POSIX::WNOHANG()) == 0)
	{
		if (Time::HiRes::time() > $until)
		{
			Test::More::diag("psql has not ended after $answer_limit s: " . substr($self->{asked}[1], 0, 500));
			kill 'KILL', $self->{pid};
			$until += $answer_limit;
		}
		Time::HiRes::usleep(1000);
	}
	$? = 0;
	delete $self->{pid};
	return;
}

sub DESTROY
{
	local ($?, $@, $!);
	$_[0]->close;
	return;
}

1;
