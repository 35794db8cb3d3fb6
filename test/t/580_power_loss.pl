# Power is lost under load: every transaction that was acknowledged is there
# afterwards, and the index is whole and agrees with the table.  And a skipidx
# that does not log its segments is seen.  This is the short form of `make soak`.
#
# test/soak/README.md says what a loss of power is here.
#
# Holds: blkio 5, 6, 7; manifest 4; pending 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use PostgreSQL::Test::Cluster;
use SkipidxPower;
use SkipidxSoak;
use SkipidxTest qw(skx_seed);
use Test::More;

my $seed = skx_seed(580);
my $dir = PostgreSQL::Test::Utils::tempdir();
my $cc = $ENV{CC} || 'cc';

plan skip_all => "no compiler ($cc)" if system("$cc --version >/dev/null 2>&1") != 0;
note "seed $seed";
srand($seed);

is(SkipidxPower->build($dir), '', 'the library that notes writes is built');

sub right
{
	my ($soak, %opt) = @_;
	my @wrong = $soak->round(crash => 'power', load => 'plain', seconds => 1.5, queries => 8, %opt);

	is(join("\n", @wrong), '', $soak->{story});
	return;
}

# ---- power is lost ----

my $soak = SkipidxSoak->new('uring_direct', dir => $dir, checksums => 1);
my $node = $soak->{node};

# Writes of a new index are seen.
{
	my $power = $soak->{power};
	my $file = $node->safe_psql('postgres', <<'SQL');
CREATE TABLE more AS SELECT i AS id, 1 AS txn, soak_doc(i, 1) AS v FROM generate_series(1, 1000) i;
CREATE INDEX more_v ON more USING skipidx (v);
SELECT pg_relation_filepath('more_v');
SQL
	my $bytes = slurp_file($node->data_dir . "/$file");
	my %seen;

	for my $write ($power->writes("/$file\$"))
	{
		$seen{$_} = 1 for int($write->{at} / 8192) .. int(($write->{end} - 1) / 8192);
	}
	my @pages = grep { substr($bytes, $_ * 8192, 8192) =~ /[^\0]/ } 0 .. length($bytes) / 8192 - 1;

	cmp_ok(scalar @pages, '>', 10, 'a new index has pages');
	is(join(' ', grep { !$seen{$_} } @pages), '', 'and all of them were seen to be written');
	$node->safe_psql('postgres', 'DROP TABLE more');
}

# What is not synced is lost: otherwise nothing is tested.
right($soak, keep => 0);
cmp_ok($soak->{sum}{undone}, '>', 0, 'pieces were undone');
right($soak, crash => 'kill', seconds => 0.5);
right($soak, load => 'async', keep => 0.5);
right($soak);
$soak->end;

# ---- and a mutant that does not log its segments ----

SKIP:
{
	skip 'the tree has no objects', 1 unless SkipidxPower->objects;
	is(SkipidxPower->build_mutant($dir), '', 'the mutant is built');

	my $mutant = SkipidxSoak->new('direct', dir => $dir, mutant => 'nolog', load => 'plain');
	my $rounds = 0;
	my @wrong;

	# The first loss does, if a segment was made since the last checkpoint
	while (!@wrong && $rounds++ < 8)
	{
		@wrong = $mutant->round(crash => 'power', load => 'plain', seconds => 0.5, queries => 1, keep => 0);
	}
	ok(scalar @wrong, "segments that are not logged: caught, round $rounds");
	note $wrong[0] if @wrong;
	$mutant->end;
}
done_testing();
