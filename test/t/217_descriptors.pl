# Too few descriptors: more indexes than a session may have files open, and a
# process that may not open any more.  The server's own files go on to be
# opened, ours make room for each other, io_uring is done without, and when
# nothing is left the error says so; afterwards all is as before.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

use constant TABLES => 60;

plan skip_all => 'no prlimit here' if system('prlimit --nofile >/dev/null 2>&1') != 0;

# With the least number of files that leaves the server room for its own.
my $node = skx_node('descriptors', conf => "max_files_per_process = 100\nskipidx.cache_size = 2MB");

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION skipidx;
DO \$\$ BEGIN
	FOR i IN 1 .. @{[TABLES]} LOOP
		EXECUTE format('CREATE TABLE docs%s (id int, v tsvector)', i);
		EXECUTE format('INSERT INTO docs%s SELECT k, (''all:1 b'' || k %% 2 || '':2'')::tsvector FROM generate_series(1, 100 + %s) k', i, i);
		EXECUTE format('CREATE INDEX docs%s_v ON docs%s USING skipidx (v)', i, i);
	END LOOP;
END \$\$;
SQL
$node->restart;

# Asks these tables, with nothing in our cache; what is wrong, or nothing.
sub ask
{
	my ($s, @which) = @_;
	my $said = $s->raw('SELECT skipidx_cache_reset() \g /dev/null' . "\n"
		  . join "\n", map { "SELECT count(*) FROM docs$_ WHERE v @@ 'all & b0';" } @which);
	my $wanted = join "\n", map { int((100 + $_) / 2) } @which;

	return $said eq $wanted ? '' : $said;
}

# Descriptors of a process: number => file.
sub descriptors
{
	my ($pid) = @_;

	return { map { m{(\d+)$} ? ($1 => readlink($_) // '') : () } glob "/proc/$pid/fd/*" };
}

sub rings { return scalar grep { /io_uring/ } values %{ descriptors($_[0]) }; }

# Ours are opened for reading only, and by the methods' kind of access.
sub ours
{
	my ($pid, $direct) = @_;
	my $fds = descriptors($pid);
	my $n = 0;

	for my $fd (grep { $fds->{$_} =~ m{/base/} } keys %$fds)
	{
		my ($flags) = slurp_file("/proc/$pid/fdinfo/$fd") =~ /^flags:\s*(\d+)/m;

		$n++ if (oct($flags) & 3) == 0;
	}
	return $n;
}

sub session
{
	my ($method) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off; SET enable_bitmapscan = off");
	return $s;
}

# From here on the process may have descriptors below this number.
sub allow
{
	my ($s, $n) = @_;

	system('prlimit', '--pid', $s->backend, "--nofile=$n:") == 0 or die "prlimit: $?";
	return;
}

# No more than it has.
sub no_more
{
	my ($s, $more) = @_;
	my $fds = descriptors($s->backend);
	my $n = 0;

	$n++ while exists $fds->{$n};
	allow($s, $n + ($more // 0));
	return $n;
}

my @all = (1 .. TABLES);
my @methods = grep { !/auto|shared_buffers/ } split /,/, $node->safe_psql('postgres',
	"LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");
my $have_ring = do
{
	my $s = session('uring');
	ask($s, 1);
	rings($s->backend);
};

for my $method (@methods)
{
	my $ring = $method =~ /uring/ ? $have_ring : 0;

	# ---- more indexes than descriptors ----

	my $s = session($method);

	is(ask($s, @all), '', "$method: all indexes");
	my $ours = ours($s->backend);
	my $fds = scalar keys %{ descriptors($s->backend) };

	note "$method: $ours of $fds descriptors are ours";
	cmp_ok($ours, '>=', 4, "$method: some stay open");
	cmp_ok($ours, '<=', 22, "$method: no more than a quarter");
	cmp_ok($fds, '<=', 100, "$method: no more than max_files_per_process in all");
	is(ask($s, @all), '', "$method: all indexes again");
	is(ours($s->backend), $ours, "$method: as many descriptors as before");
	is(rings($s->backend), $ring, "$method: its ring");

	# ---- it may not open any more ----

	no_more($s);
	is(ask($s, reverse @all), '', "$method, no more: all indexes");
	allow($s, 1000);
	$s->close;

	# ---- nor may one that has none of ours yet ----

	for my $more (0 .. 2)
	{
		$s = session($method);
		$s->value('SET enable_indexscan = off');
		$s->value("SELECT count(*) FROM docs$_") for 1 .. 30;
		$s->value('RESET enable_indexscan');
		no_more($s, $more);
		is(ask($s, @all), '', "$method, no more but $more: all indexes");
		cmp_ok(ours($s->backend), '<=', 4, "$method, no more but $more: ours make room for each other") if !$more;
		is($s->raw("SELECT count(*) FROM docs$_"), 100 + $_, "$method: the server opens its own") for 7, 33, 60;
		allow($s, 1000);
		is(ask($s, @all), '', "$method, allowed again: all indexes");
		is(ours($s->backend), $ours, "$method: as many descriptors as elsewhere");
		is(rings($s->backend), $ring, "$method: with its ring");
		$s->close;
	}

	# ---- no ring, though its file is open ----

	# A statement that is planned and whose other pages are in shared buffers
	# opens no file but ours.
	my $prepare = 'SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*) FROM docs9 WHERE v @@ $$all & b0$$';
	my $execute = 'SELECT skipidx_cache_reset() \g /dev/null' . "\nEXECUTE p";

	if ($ring)
	{
		my $without = $method eq 'uring' ? 'buffered' : 'direct';

		$s = session($without);
		$s->value($prepare);
		is($s->value($execute), 54, "$without: opens the file");
		$s->value("SET skipidx.io_method = $method");
		no_more($s);
		is($s->raw($execute), 54, "$method: done without a ring");
		is(rings($s->backend), 0, "$method: there is none");
		allow($s, 1000);
		is($s->raw($execute), 54, "$method, allowed again: done with a ring");
		is(rings($s->backend), 1, "$method: there is one");
		$s->close;
	}

	# ---- none at all ----

	$s = session($method);
	$s->value($prepare);
	is($s->value($execute), 54, "$method: a statement");
	is(ask($s, @all), '', "$method: all indexes once more");
	$ours = ours($s->backend);
	allow($s, 3);
	my $said = $s->raw($execute);

	like($said, qr/ERROR:  53000: could not read block \d+ in file "base.*": Too many open files/,
		"$method, none: the error of a read");
	like($said, qr/HINT:  .*max_files_per_process/, "$method, none: and what to do");
	$said = $s->raw($execute) for 1 .. 40;
	like($said, qr/ERROR:  53000: could not read block/, "$method, none: again and again");
	for my $i (1 .. 30)
	{
		allow($s, 3);
		$said = ask($s, $i, $i + 30);

		like($said, qr/ERROR:  53000: .*Too many open files/, "$method, none: an error that says so") if $i == 1;
		unlike($said, qr/ERROR:  (?!53000)/, "$method, none: no other error");
		allow($s, 1000);
		is(ask($s, $i, $i + 30), '', "$method, allowed again: right at once") if $i % 10 == 0;
	}
	is(ask($s, @all), '', "$method, allowed again: all indexes");
	is(ours($s->backend), $ours, "$method: errors have cost no descriptor");
	is(rings($s->backend), $ring, "$method: nor a ring");
	is($s->value('SELECT pinned + reads_under_way + reads_queued FROM skipidx_cache()'), 0, "$method: nothing stays behind");
	$s->close;
}

SKIP:
{
	my ($major, $minor) = `uname -r` =~ /^(\d+)\.(\d+)/;

	skip 'this kernel does not count rings as locked memory', 1 if $major > 5 || $major == 5 && $minor >= 12;
	my $s = session('uring');

	system('prlimit', '--pid', $s->backend, '--memlock=0:') == 0 or die "prlimit: $?";
	is(ask($s, @all), '', 'no locked memory: all indexes');
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|page pin leak|leaked|signal \d/, 'nothing else in the log');
$node->stop;
done_testing();
