# full_page_writes off: replay then begins with changes of what a block was
# before, which only the LSN of its new image, written past shared buffers,
# tells it to leave out.  A page without one would be taken for a lost page:
# the primary would not notice, a standby would not start again.
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

my $node = skx_node('images', streaming => 1, conf => "full_page_writes = off\nwal_keep_size = 1GB");
my $standby = PostgreSQL::Test::Cluster->new('standby');

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, v tsvector);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
-- segments of 20 documents of so many words
CREATE PROCEDURE segments(k int, words int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. k LOOP
		INSERT INTO docs (v) SELECT ('all:1 ' || string_agg(md5((i * 1000 + d * 40 + w)::text), ' '))::tsvector
			FROM generate_series(1, 20) d, generate_series(1, words) w GROUP BY d;
		PERFORM skipidx_flush('docs_v');
		COMMIT;
	END LOOP;
END $$;
CALL segments(60, 1);
SQL

# Marks of deletes in all segments; no merge comes to its end.
sub mark
{
	my ($which) = @_;
	my ($ret, $out, $err);

	$node->safe_psql('postgres', "DELETE FROM docs WHERE id % 20 = $which");
	($ret, $out, $err) = $node->psql('postgres',
		"LOAD 'skipidx'; SET skipidx.fault = 'merge_mapped:error';\n"
		  . 'VACUUM (INDEX_CLEANUP ON) docs');
	return $err;
}

sub everywhere
{
	my ($when) = @_;

	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	for my $n ($node, $standby)
	{
		my $name = "$when: " . $n->name;

		is($n->safe_psql('postgres', "SELECT skipidx_check('docs_v', true)"), '', "$name: skipidx_check");
		is($n->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM docs WHERE v @@ 'all'"),
			$n->safe_psql('postgres', 'SELECT count(*) FROM docs'), "$name: all rows");
	}
	return;
}

like(mark(2), qr/told to fail/, 'VACUUM marks rows');
$node->backup('images');
$standby->init_from_backup($node, 'images', has_streaming => 1);
# what it replays shall be in its files soon
$standby->append_conf('postgresql.conf', 'shared_buffers = 1MB');
$standby->start;
$node->safe_psql('postgres', 'CHECKPOINT');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');

like(mark(3), qr/told to fail/, 'and others, without full images');
is($node->safe_psql('postgres', "SELECT skipidx_merge('docs_v')"), 1, 'the marked pages are free');
$node->safe_psql('postgres', 'SELECT pg_current_xact_id()') for 1 .. 3;
# larger ones, so that pages of every kind come to lie where those were
$node->safe_psql('postgres', 'CALL segments(60, 30)');
everywhere('before');

$standby->stop;
my $started = $standby->start(fail_ok => 1);

ok($started, 'the standby starts again');
if ($started)
{
	$node->stop('immediate');
	$node->start;
	everywhere('after');
}

$_->stop for $standby, $node;
done_testing();
