# Up to PostgreSQL 16, old_snapshot_threshold lets VACUUM remove rows that an
# old snapshot sees.  A scan of ours cannot tell which of them it misses: it
# fails, like those of the server's own indexes.
#
# Holds: am 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('old_snapshot', conf => 'autovacuum = off', start => 0);
plan skip_all => 'this server has no old_snapshot_threshold' if $node->pg_version >= 17;

$node->append_conf('postgresql.conf', 'old_snapshot_threshold = 0');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, ('a:1 m' || i % 7 || ':2')::tsvector FROM generate_series(1, 2000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
INSERT INTO docs SELECT i, ('a:1 p:2')::tsvector FROM generate_series(1, 100) i;
VACUUM docs;
SQL
my $old = skx_session($node, 'postgres');
my $new = skx_session($node, 'postgres');
my %queries = ('segments' => 'm3', 'pending documents' => 'p', 'nothing' => 'none');
my @cases = map {
	my $what = $_;

	map { [ "$what, $_", $_, "SELECT count(*) FROM docs WHERE v @@ '$queries{$what}'" ] } qw(indexscan bitmapscan);
} sort keys %queries;

# A query in its own subtransaction, by one kind of scan.
sub ask
{
	my ($s, $path, $query) = @_;

	$s->value('SAVEPOINT one; SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off;'
		  . " SET LOCAL enable_bitmapscan = off; SET LOCAL enable_$path = on");
	my $answer = $s->raw($query);

	$s->value('ROLLBACK TO one');
	return $answer;
}

$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
my %count = map { $_->[0] => ask($old, @$_[1, 2]) } @cases;
is(ask($old, @$_[1, 2]), $count{ $_->[0] }, "$_->[0]: a snapshot that is not too old can be used")
  for @cases;
cmp_ok($count{'segments, indexscan'}, '>', 200, 'rows in segments');
is($count{'pending documents, bitmapscan'}, 100, 'pending rows');

$new->value('DELETE FROM docs WHERE id % 2 = 0');
# with a threshold of 0 the server leaves snapshots alone for 5 seconds
for (1 .. 60)
{
	sleep 1;
	$new->value('VACUUM docs');
	last if ask($old, @{ $cases[0] }[ 1, 2 ]) =~ /snapshot too old/;
}
like(ask($old, @$_[1, 2]), qr/snapshot too old/, "$_->[0]: until VACUUM may have removed what it sees")
  for @cases;
$old->value('ROLLBACK');
$new->value('BEGIN');
unlike(ask($new, @$_[1, 2]), qr/ERROR/, "$_->[0]: other snapshots can be used") for @cases;
$new->value('ROLLBACK');
$_->close for $old, $new;
is($node->safe_psql('postgres', "SELECT skipidx_check('docs_v', true)"), '', 'skipidx_check');
$node->stop;
done_testing();
