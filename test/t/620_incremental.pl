# A chain of incremental backups taken between flushes, merges and the reuse of
# what they freed: blocks that are written past shared buffers must be in the
# summaries of WAL like any others.
#
# Holds: blkio 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node);
use Test::More;

my $node = skx_node('chain', streaming => 1, conf => "fsync = off\n", start => 0);

plan skip_all => 'incremental backups exist since 17'
  if $node->pg_version < 17;

$node->append_conf('postgresql.conf', "summarize_wal = on\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, ('all:1 w' || i % 41 || ':2')::tsvector FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB');
SQL

# New rows, dead rows, new segments in the place of old ones.
sub work
{
	my ($round) = @_;

	$node->safe_psql('postgres', <<"SQL");
INSERT INTO docs SELECT i, ('all:1 w' || i % 41 || ':2 r$round')::tsvector FROM generate_series(1, 6000) i;
DELETE FROM docs WHERE id % 9 = $round;
SQL
	$node->safe_psql('postgres', $_)
	  for 'VACUUM docs', "SELECT skipidx_flush('docs_v')",
	  "SELECT skipidx_merge('docs_v', 1)", 'SELECT pg_current_xact_id()';
	return;
}

sub answers
{
	my ($of, $scan) = @_;

	return $of->safe_psql('postgres', "SET enable_seqscan = "
		  . ($scan ? 'on; SET enable_bitmapscan = off; SET enable_indexscan = off;' : 'off;')
		  . q{ SELECT w, (SELECT count(*) FROM docs WHERE v @@ ('all <-> w' || w)::tsquery),
			(SELECT count(*) FROM docs WHERE v @@ ('r' || w)::tsquery) FROM generate_series(0, 41) w});
}

$node->backup('full');
my @chain = ('full');
my $incarnation = $node->safe_psql('postgres', "SELECT pg_relation_filenode('docs_v')");

for my $round (1 .. 3)
{
	work($round);
	$node->backup("inc$round",
		backup_options => [
			'--incremental',
			$node->backup_dir . "/$chain[-1]/backup_manifest" ]);
	push @chain, "inc$round";
}

my $wanted = answers($node, 1);

is(answers($node, 0), $wanted, 'the index agrees with the table');
is($node->safe_psql('postgres', "SELECT pg_relation_filenode('docs_v')"),
	$incarnation, 'it is one file all the time');

my $restored = PostgreSQL::Test::Cluster->new('restored');

$restored->init_from_backup($node, 'inc3',
	combine_with_prior => [ @chain[ 0 .. 2 ] ], has_streaming => 0);
$restored->append_conf('postgresql.conf', "summarize_wal = off\n");
$restored->start;
is(answers($restored, 1), $wanted, 'the combined backup has the rows');
is(answers($restored, 0), $wanted, 'its index too');
is($restored->safe_psql('postgres', "SELECT skipidx_check('docs_v', true)"), '',
	'which is sound');

done_testing();
