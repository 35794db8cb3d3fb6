# skipidx_check while everything else goes on, on the primary and on a standby:
# inserts of every size, deletes, VACUUM, flushes and merges.  It looks at one
# moment and never complains.
#
# A check is looked at as one that something went on under when the root, or
# the end of a pending list, was another one after it.
#
# Holds: inspect 5, 6, 10; manifest 1, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_seed skx_session skx_workers_done);
use Test::More;
use Time::HiRes qw(sleep time);

# Until what has to be seen counts as not happening, s.
use constant PATIENCE => 90;

my $seconds = 8;

skx_seed(135);
my $node = skx_node('check_primary', streaming => 1);

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('check_standby');

$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf',
	"hot_standby_feedback = on\nmax_standby_streaming_delay = -1");
$standby->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT CASE WHEN i % 97 = 0 THEN NULL
		WHEN i % 301 = 0 THEN (SELECT string_agg('long' || k || 'x' || i, ' ')
			FROM generate_series(1, 900) k)::tsvector
		ELSE ('a' || i || ':1 b' || i % 7 || ':2,5A c' || i % 131)::tsvector END
$$;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, doc(i) FROM generate_series(1, 3000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB', pending_limit = 64);
SQL

# What each session does again and again.
my @work = (
	(sub { 'INSERT INTO docs SELECT i, doc(i) FROM generate_series(%1$d, %1$d + %2$d) i' }) x 2,
	sub { 'DELETE FROM docs WHERE ctid IN (SELECT ctid FROM docs ORDER BY random() LIMIT 200);'
		  . 'VACUUM (INDEX_CLEANUP ON) docs' },
	sub { q{SELECT skipidx_flush('docs_v')} },
	sub { q{SELECT skipidx_merge('docs_v', 2)} });
my @workers = map { skx_session($node, 'postgres') } @work;
my @done = (0) x @work;
my @failed;

sub give_work
{
	my ($which) = @_;

	$workers[$which]->start(sprintf $work[$which]->(), int rand 1_000_000, 1 + int rand 300);
	return;
}

sub look_after_workers
{
	for my $which (0 .. $#work)
	{
		my $said = $workers[$which]->ready;

		next unless defined $said;
		push @failed, $said if $said =~ /ERROR/;
		$done[$which]++;
		give_work($which);
	}
	return;
}

# Checks are counted by whether the index changed under them.
my @checkers = map { { name => $_->[0], check => skx_session($_->[1], 'postgres'),
		look => skx_session($_->[1], 'postgres'), checks => 0, flips => 0, inserts => 0 } }
  ([ primary => $node ], [ standby => $standby ]);

sub state_of
{
	my ($c) = @_;

	return $c->{look}->value("SELECT generation, ndocs FROM skipidx_stats('docs_v')");
}

sub begin_check
{
	my ($c) = @_;

	$c->{before} = state_of($c);
	$c->{check}->start("SELECT skipidx_check('docs_v', " . ($c->{checks} % 2 ? 'true' : 'false') . ')');
	return;
}

sub look_after_checker
{
	my ($c) = @_;
	my $said = $c->{check}->ready;

	return unless defined $said;
	push @failed, "$c->{name}: $said" if $said ne '';
	my @before = split /\|/, $c->{before};
	my @after = split /\|/, state_of($c);

	$c->{checks}++;
	$c->{flips}++ if $after[0] != $before[0];
	$c->{inserts}++ if $after[1] != $before[1];
	begin_check($c);
	return;
}

$node->wait_for_catchup($standby);
give_work($_) for 0 .. $#work;
begin_check($_) for @checkers;
my $end = time + $seconds;

# What has to be seen, and so many times at least.
my %least = (checks => 10, flips => 3, inserts => 3);

sub seen_enough
{
	return !(grep { my $c = $_; grep { $c->{$_} < $least{$_} } keys %least } @checkers)
	  && !(grep { $_ < 5 } @done[ 1 .. $#done ]);
}

while (@failed < 5 && (time < $end || (time < $end + PATIENCE && !seen_enough())))
{
	look_after_workers();
	look_after_checker($_) for @checkers;
	sleep 0.001;
}
$_->finish for @workers;
for my $c (@checkers)
{
	my $said = $c->{check}->finish;

	push @failed, "$c->{name}: $said" if $said ne '';
	cmp_ok($c->{$_}, '>=', $least{$_}, "$c->{name}: $_: $c->{$_}") for sort keys %least;
}
is_deeply(\@failed, [], 'no complaint, no error');
cmp_ok($done[$_], '>=', 5, 'work was done: ' . substr($work[$_]->(), 0, 30) . ": $done[$_]")
  for 1 .. $#work;

# At rest, when no worker writes any more: the pages are all there, here and
# there.
skx_workers_done($node);
$node->wait_for_catchup($standby);
is($_->{check}->raw("SELECT skipidx_check('docs_v', true)"), '', "$_->{name}: sound")
  for @checkers;
is($_->{look}->value('SELECT sum(pages) = max(file_pages)'
		  . " FROM skipidx_segments('docs_v'), skipidx_stats('docs_v')"),
	't', "$_->{name}: the parts are the file")
  for @checkers;
$_->close for @workers, map { ($_->{check}, $_->{look}) } @checkers;
$standby->stop;
$node->stop;
done_testing();
