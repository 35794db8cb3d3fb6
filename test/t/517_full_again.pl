# A full disk is left again: inserts until there is no space for more, then rows
# are deleted and vacuumed, or the disk gets larger, and inserts go on, without
# REINDEX and without another command.  An index keeps some pages from inserts,
# by which a flush in portions gives back more than it takes.
#
# Holds: maint 6, 17; manifest 5, 12

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxChurn qw(skx_churn_answers);
use SkipidxDisk megabytes => 24;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_recovered skx_session skx_seed skx_workers_done skx_reload);
use Test::More;

my $disk = SkipidxDisk->new;

plan skip_all => 'no mount namespace for users' unless $disk->real;

my $seed = skx_seed(517);
my $node = skx_node('again', extra => ['--data-checksums']);
my $where = $disk->tablespace($node);
my $s = skx_session($node, 'postgres');

note "seed $seed";
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE SEQUENCE ids;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION add(k int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, (SELECT string_agg('w' || abs(hashint4(i * 64 + n)) % (1 + n * n * 20) || ':' || n, ' ')
			FROM generate_series(1, 40) n)::tsvector
		FROM (SELECT nextval('ids')::int FROM generate_series(1, k)) s (i)
$$;
SQL

sub agrees
{
	my ($when) = @_;
	my @conditions = ((map { "v @@ '$_'" } '!nosuchword', 'w1', 'w2 & w3', 'w4 <-> w5', 'w7 | w9', 'w11:*'));

	is(skx_churn_answers($s, 1, @conditions), skx_churn_answers($s, 0, @conditions), "$when: as without the index");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$when: skipidx_check");
	note "$when: " . $s->value("SELECT string_agg(kind || ' ' || pages, ', ') FROM (SELECT kind, sum(pages) AS pages"
		  . " FROM skipidx_segments('docs_v') GROUP BY kind ORDER BY kind) x") . ', rows ' . $s->value('SELECT count(*) FROM docs');
	return;
}

# Inserts of 100 rows until `most` have been tried, or one fails; how many did not.
sub insert
{
	my ($most, $rows) = @_;
	my $said = '';

	for my $n (0 .. $most - 1)
	{
		$said = $s->raw("SELECT add($rows)");
		next if $said !~ /ERROR/;
		like($said, qr/ERROR:  53100: could not extend index "docs_v": No space left on device/, 'a full disk is what ends inserts');
		return $n;
	}
	return $most;
}

# Until inserts fail, and go on to when a worker has done what it can.
sub fill_up
{
	my $n = 0;

	for my $round (1 .. 3)
	{
		$n += insert(10000, 100);
		skx_workers_done($node);
	}
	return $n;
}

# A VACUUM that is killed at each step of what it does on a full disk.
sub killed
{
	my ($name) = @_;

	for my $point (qw(flush_built reserve_flipped publish_carried root_written root_flipped publish_flipped))
	{
		my $log = -s $node->logfile;

		$s->value("LOAD 'skipidx'; SET skipidx.fault = '$point:kill'");
		$s->raw('VACUUM docs');
		$s->close;
		skx_recovered($node);
		like(slurp_file($node->logfile, $log), qr/skipidx fault point $point: kill/, "$name: killed at $point");
		$s = skx_session($node, 'postgres');
		agrees("$name, killed at $point");
	}
	return;
}

for my $case ([ 'workers', '1MB', 2 ], [ 'no workers', '1MB', 0 ], [ 'never flushed', '1GB', 2 ])
{
	my ($name, $limit, $workers) = @$case;

	$s->value('DROP INDEX IF EXISTS docs_v; TRUNCATE docs');
	$s->value("ALTER SYSTEM SET skipidx.max_workers = $workers");
	skx_reload($node, $s);
	$s->value("CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '$limit') TABLESPACE $where");

	# or recovery makes the file of the last one again, beside this one
	$s->value('CHECKPOINT');
	my $size = $s->value("SELECT pg_relation_size('docs_v') / 8192");

	cmp_ok($size, '<=', 8, "$name: an empty index is small");
	my $n = fill_up();

	note "$name: $n inserts of 100 rows";
	agrees("$name, full");

	# two thirds go
	$s->value('DELETE FROM docs WHERE id % 3 > 0');
	killed($name) if !$workers;
	my $said = $s->raw('VACUUM docs');

	unlike($said, qr/ERROR/, "$name: VACUUM succeeds");
	note $said;
	skx_workers_done($node);
	agrees("$name, vacuumed");
	my $again = insert(int($n / 4), 100);

	is($again, int($n / 4), "$name: of as many inserts as a quarter of all none fails");
	skx_workers_done($node);
	agrees("$name, inserted again");
	cmp_ok($s->value("SELECT pending_docs FROM skipidx_stats('docs_v')"), '<', 14000, "$name: the list is flushed") if $limit eq '1MB';
}
$s->close;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');
done_testing();
