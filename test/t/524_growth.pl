# Beside readers that are nearly always there, and updates of each row several
# times, the file of an index of one segment is at most twice as long as one made
# anew, since merges have as much room as it has then.  (Those of many segments:
# test/unit/test_maint_policy.c.)
#
# Holds: maint 10

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxChurn qw(skx_churn_updates);
use SkipidxTest qw(skx_node skx_session skx_workers_done skx_seed);
use Test::More;

use constant ROWS => $ENV{SKX_GROWTH_ROWS} // 30000;
use constant STEP => ROWS / 50;

my $seed = skx_seed(524);
my $node = skx_node('growth', streaming => 1, conf => "skipidx.cache_size = 16MB\nautovacuum = off\nsynchronous_commit = off\n"
	  . "enable_seqscan = off\nenable_bitmapscan = off\nmax_worker_processes = 16\nmax_parallel_workers_per_gather = 0\n"
	  . "max_parallel_maintenance_workers = 0\nmaintenance_work_mem = 64MB\n");

note "seed $seed";
# what merges of workers say
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET log_min_messages = debug1');
skx_churn_updates($node, 'postgres', ROWS, 'd = d + 1');
$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS \$\$
	SELECT ('all:1 ' || string_agg('u' || (3000 * random() ^ 3)::int || ':' || k, ' '))::tsvector
	FROM generate_series(2, 30) k WHERE i > 0
\$\$;
CREATE TABLE stop (v int);
CREATE PROCEDURE reads() LANGUAGE plpgsql AS \$\$
DECLARE
	r record;
	q tsquery;
BEGIN
	WHILE NOT EXISTS (SELECT 1 FROM stop) LOOP
		q := ('u' || (3000 * random() ^ 3)::int)::tsquery;
		FOR r IN SELECT id FROM docs WHERE v @@ q LOOP
			PERFORM 1;
		END LOOP;
		PERFORM pg_sleep(0.005);
		COMMIT;
		-- no reader is there for a moment, now and then
		PERFORM pg_sleep(0.005);
	END LOOP;
END \$\$;
SQL

my $s = skx_session($node, 'postgres');

$s->value("SELECT setseed(0.$seed)");

sub stat_of { return $s->value("SELECT $_[0] FROM skipidx_stats('docs_v')"); }

sub set_up
{
	my ($options) = @_;

	$s->value(<<~"SQL");
	DROP TABLE IF EXISTS docs;
	CREATE TABLE docs (id int PRIMARY KEY, v tsvector, d int) WITH (fillfactor = 50);
	INSERT INTO docs SELECT i, doc(i), i FROM generate_series(1, ${\ROWS}) i;
	CREATE INDEX docs_v ON docs USING skipidx (v, d) WITH (block_size = '8kB', $options);
	SQL
	return;
}

# Rounds of updates and VACUUM beside readers; most pages, and those at the end.
sub grow
{
	my ($what, $rounds) = @_;
	my @readers = map { skx_session($node, 'postgres') } 1 .. 2;
	my $fresh = stat_of('file_pages');
	my $most = 0;
	my $from = -s $node->logfile;

	$_->start('CALL reads()') for @readers;
	for my $i (1 .. $rounds)
	{
		for (1 .. 10)
		{
			$s->value("CALL updates(${\STEP})");
			# a merge takes less time than a part of the rows to be updated
			skx_workers_done($node);
			my $pages = stat_of('file_pages');
			$most = $pages if $pages > $most;
		}
		$s->value('VACUUM docs');
		note "$what: round $i: " . $s->value("SELECT 'file ' || file_pages || ' free ' || free_pages || ' waiting ' || waiting_pages"
			. " || ' reserved ' || reserved_pages || ' segments ' || segments || ' deleted ' || deleted FROM skipidx_stats('docs_v')")
			. ' most ' . sprintf('%.2f', $most / $fresh) . ' '
			. $s->value("SELECT string_agg(pages::text, ' ' ORDER BY pages DESC) FROM skipidx_segments('docs_v') WHERE kind = 'segment'");
	}
	my @merges = slurp_file($node->logfile, $from) =~ /: ([1-9]\d* of \d+ segments chosen, with \d+ kB)/g;

	$s->value('INSERT INTO stop VALUES (1)');
	$_->finish for @readers;
	$_->close for @readers;
	$s->value('DELETE FROM stop');
	skx_workers_done($node);
	cmp_ok(scalar @merges, '>=', $rounds, "$what: merges");
	is_deeply([ grep { /with 0 kB/ } @merges ], [], "$what: none has room without a bound");
	is($s->raw("SELECT skipidx_check('docs_v', true)"), '', "$what: skipidx_check");
	return $most;
}

set_up("pending_limit = '256kB'");
my $fresh = stat_of('file_pages');

# pages for inserts, the pending lists, and what flushes and merges reserve
cmp_ok(grow('one segment', 6), '<=', 2 * $fresh + 256, 'twice as long at most, and 2 MB that any file has');

$s->close;
done_testing();
