# A standby notes what is in its own cache and reads it back, and so does the
# primary that it becomes.  One made of a base backup begins with what its
# primary had noted.
#
# Holds: autoprewarm 7; worker 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_logged);
use Test::More;

my $primary = skx_node('warm_primary', streaming => 1, conf => "skipidx.max_workers = 0\nskipidx.io_method = direct\nskipidx.autoprewarm_interval = 1h");

$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i, (SELECT string_agg('w' || (hashint4(i * 64 + k) & 127), ' ') FROM generate_series(1, 40) k)::tsvector
FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '32kB');
CREATE UNLOGGED TABLE loose AS SELECT * FROM docs LIMIT 1000;
CREATE INDEX loose_v ON loose USING skipidx (v);
CHECKPOINT;
SQL

# Pages that a new session reads for searches of these words.
sub pages_read
{
	my ($node, $table, @words) = @_;
	my $s = skx_session($node, 'postgres');

	$s->value("LOAD 'skipidx'; SET enable_seqscan = off");
	$s->value("SELECT id FROM $table ORDER BY v <\@> '$_'::tsquery LIMIT 10") for @words;
	my $n = $s->value(q{SELECT pages_read FROM skipidx_io_totals() WHERE scope = 'session'});
	$s->close;
	return $n;
}

my @first = map { "w$_" } 1 .. 20;
my @second = map { "w$_" } 21 .. 60;

sub start_warm
{
	my ($node) = @_;
	my $from = -s $node->logfile;

	$node->start;
	pages_read($node, 'docs', 'w1');
	skx_logged($node, $from, qr/has read \d+ pages back/);
	return slurp_file($node->logfile, $from);
}

cmp_ok(pages_read($primary, 'docs', @first), '>', 20, 'the primary reads');
pages_read($primary, 'loose', @first);
$primary->stop;
start_warm($primary);
is(pages_read($primary, 'docs', @first), 0, 'and has its pages again after a restart');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('warm_standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
pages_read($standby, 'docs', 'w1');
skx_logged($standby, 0, qr/has read \d+ pages back/);
unlike(slurp_file($standby->logfile), qr/ERROR|WARNING/, 'a standby made of a backup reads what its primary had noted');
$primary->wait_for_catchup($standby);
is(pages_read($standby, 'docs', @first), 0, 'and has its pages');

cmp_ok(pages_read($standby, 'docs', @second), '>', 0, 'a standby that reads others');
$standby->stop;
my $log = start_warm($standby);
unlike($log, qr/ERROR|WARNING/, 'reads these back as a standby');
is(pages_read($standby, 'docs', @first, @second), 0, 'and has them');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'which it still is');
cmp_ok(pages_read($primary, 'docs', @second), '>', 0, 'the primary has them not');

$standby->promote;
is(pages_read($standby, 'docs', @first, @second), 0, 'once promoted, it has them');
$standby->safe_psql('postgres', 'CREATE TABLE more AS SELECT * FROM docs LIMIT 5000; CREATE INDEX more_v ON more USING skipidx (v)');
cmp_ok(pages_read($standby, 'more', @first), '>', 0, 'it reads an index made since');
$standby->stop;
start_warm($standby);
is(pages_read($standby, 'docs', @first, @second), 0, 'after its restart it has them');
is(pages_read($standby, 'more', @first), 0, 'and those of that index');
done_testing();
