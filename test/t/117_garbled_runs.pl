# The temporary files of CREATE INDEX with a parallel worker do not hold what was
# written to them: the build ends with an error, and no number from a file leads
# the server to memory that is not its own.
#
# All processes wait between two steps while the test writes into the files that
# the next step reads.
#
# Long, when named: each file is overwritten at random 100 times, else 4.
#
# Holds: invert 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTeam;
use SkipidxTest qw(skx_node skx_seed);
use Test::More;
use Time::HiRes qw(sleep time);

my $seed = skx_seed(117);
my $node = skx_node('garbled', conf => $SkipidxTeam::conf . "restart_after_crash = on\n");

note "seed $seed: SKIPIDX_SEED=$seed repeats this run";
$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

my $team = SkipidxTeam->new($node, 'postgres');
my $f = $team->fault;
my $crashes = 0;

# Some hundred kilobytes of runs for each of two members: they have marks.
$f->{s}->value(<<'SQL');
CREATE FUNCTION slowly(v tsvector) RETURNS tsvector IMMUTABLE PARALLEL SAFE
LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.00001); RETURN v; END $$;
CREATE TABLE docs (v tsvector) WITH (autovacuum_enabled = off, parallel_workers = 1);
INSERT INTO docs SELECT (SELECT string_agg('w' || (random() * 9000 + i * 0)::int || ':' || p || substr('ABCD', 1 + p % 4, 1), ' ')::tsvector
	FROM generate_series(1, 120) p) FROM generate_series(1, 1500) i;
CHECKPOINT;
SQL

sub at_point
{
	my ($point) = @_;

	return $f->{s}->value('SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = \'advisory\''
		  . ' AND objid = ' . $f->point($point)->{number});
}

# A file of the build: member and what it is for.
sub file
{
	my ($name) = @_;
	my ($file) = glob($node->data_dir . "/base/pgsql_tmp/*.fileset/0.$name*");

	return $file;
}

sub number
{
	my ($name, $at, $form, $size) = @_;
	my $bytes;

	open(my $in, '<:raw', file($name)) or die "$name: $!";
	seek($in, $at, 0);
	read($in, $bytes, $size) == $size or die "$name ends before $at";
	close $in;
	return unpack($form, $bytes);
}

sub put
{
	my ($name, $at, $bytes) = @_;

	open(my $out, '+<:raw', file($name)) or die "$name: $!";
	seek($out, $at, 0);
	print $out $bytes;
	close $out or die "$name: $!";
	return;
}

# A build whose `n` members wait at the point while `garble` does its work;
# returns what the server says.
sub build
{
	my ($point, $n, $garble) = @_;
	my $s = $f->session;
	my $until = time + 60;

	$s->value('SET max_parallel_maintenance_workers = 1');
	$f->mark;
	$f->hold($f->{s}, $point);
	$f->arm($s, $point, 'wait');
	$s->start('CREATE INDEX docs_v ON docs USING skipidx (slowly(v))');
	sleep 0.01 until at_point($point) == $n || time > $until;
	$garble->();
	$f->{s}->raw("SET statement_timeout = 0; SELECT pg_advisory_unlock_all() \\g /dev/null\n");
	my $said = $s->finish;

	$s->close;
	if ($said =~ /session ended|57P02|closed the connection/i)
	{
		$crashes++;
		$f->recover;
		$f->{s}->value('DROP INDEX IF EXISTS docs_v');
		return "crash: $said";
	}
	$f->{s}->value('DROP INDEX IF EXISTS docs_v');
	return $said;
}

sub damaged
{
	my ($what, $point, $n, $garble, $error) = @_;

	like(build($point, $n, $garble), qr/XX001.*damaged: [^\n]*$error/, "$what: $error");
	return;
}

is(build('team_shared', 2, sub { ok(file("$_.runs"), "member $_ has runs") for 0, 1 }), '', 'nothing is garbled');

my $ones = "\xff" x 8;

# ---- shares: the leader puts them in order ----

# Runs (16 bytes each) follow one another; the first mark is behind them.
sub first_mark
{
	my ($at, $sum) = (0, 0);

	while (number('1.list', $at, 'Q', 8) == $sum)
	{
		$sum += number('1.list', $at + 8, 'Q', 8);
		$at += 16;
	}
	return $at;
}

my @order = (
	[ 'a TID below the one before', '1.docs', sub { 7 }, "\0" x 6, 'documents of a share' ],
	[ 'no TID', '1.docs', sub { 4 }, "\0\0", 'documents of a share' ],
	[ 'the start of a run', '1.list', sub { 0 }, $ones, 'runs do not follow' ],
	[ 'the size of a run', '1.list', sub { 8 }, $ones, 'runs do not follow' ],
	[ 'the place of a mark', '1.list', \&first_mark, $ones, 'a mark is out of range' ],
	[ 'the run of a mark', '1.list', sub { first_mark() + 8 }, "\xff" x 4, 'a mark is out of range' ],
	[ 'the length of a mark', '1.list', sub { first_mark() + 12 }, "\xff\xff", 'a mark is out of range' ],
	[ 'a mark more', '1.list', sub { first_mark() + 12 }, "\0\0", 'mark' ]);

for my $case (@order)
{
	my ($what, $name, $at, $bytes, $error) = @$case;

	damaged($what, 'team_shared', 2, sub { put($name, $at->(), $bytes) }, $error);
}
damaged('a list cut short', 'team_shared', 2, sub { truncate(file('1.list'), 20) or die $! }, 'it ends too soon');

# ---- the plan and the runs: all members encode ----

my @encode = (
	[ 'how many stretches', '0.plan', 0, "\xff" x 4, 'too many stretches' ],
	[ 'no stretch', '0.plan', 0, "\0" x 4, 'no stretch' ],
	[ 'where a stretch begins', '0.plan', 4, "\xff" x 4, 'no stretch' ],
	[ 'where it is in the segment', '0.plan', 8, "\xff" x 4, 'do not ascend' ],
	[ 'bytes of a term', '1.runs', 0, $ones, 'numbers of a term' ],
	[ 'bytes of a term, a few more', '1.runs', 0, pack('Q', 3), '(postings|terms|numbers|a lexeme)' ],
	[ 'no posting', '1.runs', 16, "\0" x 4, 'numbers of a term' ],
	[ 'the length of a lexeme', '1.runs', 24, "\xff\xff", 'a lexeme in a run' ],
	[ 'the flags of a term', '1.runs', 26, "\xff", 'numbers of a term' ],
	[ 'the order of terms', '1.runs', 32, '~', 'terms of a run' ]);

for my $case (@encode)
{
	my ($what, $name, $at, $bytes, $error) = @$case;

	damaged($what, 'team_ordered', 1, sub { put($name, $at, $bytes) }, $error);
}

# The first posting of the first term is behind its lexeme.
sub posting { return 32 + number('1.runs', 24, 'S', 2); }

damaged('a document', 'team_ordered', 1, sub { put('1.runs', posting(), "\xfc\xff\xff\x7f") }, 'a document that is not there');
damaged('a number without an end', 'team_ordered', 1, sub { put('1.runs', posting(), "\xff" x 64) }, '');
damaged('runs cut short', 'team_ordered', 1, sub { truncate(file('1.runs'), 70000) or die $! }, 'it ends too soon');

# ---- what tasks have done: the leader finishes ----

# The file of the member that has encoded the first task.
sub done { return (grep { number($_, 0, 'L', 4) < 2 } '0.done', '1.done')[0]; }

my @finish = (
	[ 'of no kind', 0, "\xff" x 4, 'no kind' ],
	[ 'a plane', 4, "\xff" x 4, 'last pages of a task' ],
	[ 'how many pages', 12, "\xff" x 4, 'last pages of a task' ]);

for my $case (@finish)
{
	my ($what, $at, $bytes, $error) = @$case;

	damaged($what, 'team_encoded', 2, sub { put(done(), $at, $bytes) }, $error);
}

# Where its SkxTaskRecord is, behind tails.
sub done_task
{
	my $name = done();
	my $at = 0;

	$at += 16 + 8192 * number($name, $at + 12, 'L', 4) while number($name, $at, 'L', 4) == 1;
	return $at + 4;
}

for my $case ([ 'a task', 0 ], [ 'leaves', 4 ], [ 'bytes of keys', 8 ], [ 'the lexeme of a task', 12 ], [ 'a key', 80 + 4 ])
{
	damaged($case->[0], 'team_encoded', 2, sub { put(done(), done_task() + $case->[1], "\xff" x 4) },
		'(what a task|a key)');
}

# ---- anything anywhere ----

srand($seed);
for my $step ([ 'team_shared', 2, '1.docs', '1.list' ], [ 'team_ordered', 1, '0.plan', '1.runs', '0.runs' ],
	[ 'team_encoded', 2, '0.done', '1.done' ])
{
	my ($point, $n, @names) = @$step;

	for my $name (@names)
	{
		for (1 .. $ENV{SKX_FAULTS_ALL} ? 100 : 4)
		{
			my $spoil = sub {
				my $file = file($name);

				put($name, int(rand(-s $file)), join '', map { chr int rand 256 } 1 .. 1 + rand 40) for 1 .. 20;
			};

			# a byte of a page or a lexeme may be as good as another
			unlike(build($point, $n, $spoil), qr/^crash/, "$name, at random");
		}
	}
}
is($crashes, 0, 'no process has crashed');
is(build('team_shared', 2, sub { }), '', 'and the next build works');
unlike(slurp_file($node->logfile), qr/TRAP:|terminated by signal/, 'nothing else in the log');
$f->{s}->close;
$node->stop;
done_testing();
