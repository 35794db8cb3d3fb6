# Writers, readers and VACUUM at once: every answer is that of its snapshot.
#
# Writers replace rows within a group, or undo what they did, and never change
# how many rows a group has; so every reader knows what it must count.
#
# Holds: maint 5; manifest 1; pending 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxChurn qw(skx_churn_install);
use SkipidxTest qw(skx_node skx_seed skx_session);
use Test::More;

my $seconds = 8;

skx_seed(320);
my $node = skx_node('concurrent', conf => "skipidx.cache_size = 1MB\n"
	  . "autovacuum = on\nautovacuum_naptime = 1\n"
	  . "autovacuum_vacuum_threshold = 50\nautovacuum_vacuum_scale_factor = 0");

skx_churn_install($node, 'postgres', q{block_size = '8kB'});
$node->safe_psql('postgres', <<'SQL');
-- What is wrong, or nothing; a plan that is kept is of one kind
CREATE FUNCTION look(g int, bitmap bool, method text) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE
	n int;
	m int;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true),
		set_config('enable_bitmapscan', bitmap::text, true),
		set_config('skipidx.io_method', method, true);
	SELECT count(*), count(DISTINCT id) INTO n, m FROM docs WHERE v @@ ('g' || g)::tsquery;
	IF n <> 100 OR m <> 100 THEN
		RETURN format('group %s: %s rows, %s ids', g, n, m);
	END IF;
	SELECT count(*), count(DISTINCT id) INTO n, m FROM docs WHERE v @@ 'all <-> g:*';
	IF n <> 5000 OR m <> 5000 THEN
		RETURN format('all: %s rows, %s ids', n, m);
	END IF;
	SELECT count(*) INTO n FROM docs WHERE v @@ '!all';
	RETURN CASE WHEN n <> 0 THEN format('!all: %s rows', n) ELSE '' END;
END $$;
SQL

my @writers = map { skx_session($node, 'postgres') } 1 .. 3;
my @readers = map { skx_session($node, 'postgres') } 1 .. 2;
my $vacuum = skx_session($node, 'postgres');
my ($looks, $wrong) = (0, 0);

$_->start(<<"SQL") for @writers;
DO \$\$
DECLARE
	until timestamptz := clock_timestamp() + '$seconds s';
BEGIN
	WHILE clock_timestamp() < until LOOP
		PERFORM churn((random() * 49)::int, (random() * 5)::int);
		COMMIT;
	END LOOP;
END \$\$;
SQL
$vacuum->start("VACUUM docs;\nSELECT pg_sleep(0.2) \\g /dev/null\n" x (2 * $seconds));

my $end = time + $seconds;

while (time < $end || ($looks <= 20 && time < $end + 90))
{
	for my $i (0 .. $#readers)
	{
		my $bitmap = int rand 2;
		my $method = int rand 2 ? 'buffered' : 'shared_buffers';

		$readers[$i]->start("SELECT look(" . int(rand 50) . ", ${bitmap}::bool, '$method')");
	}
	for my $reader (@readers)
	{
		my $what = $reader->finish;

		$looks++;
		next if $what eq '';
		diag($what) if $wrong++ < 10;
	}
}
is($_->finish, '', 'writer') for @writers;
unlike($vacuum->finish, qr/ERROR/, 'VACUUM');
is($wrong, 0, "$looks looks");
cmp_ok($looks, '>', 20, 'there was something to see');

my $s = $readers[0];

cmp_ok($s->value("SELECT max(segment) FROM skipidx_segments('docs_v')"), '>', 3,
	'VACUUM has flushed and merged');
is($s->raw(q{SELECT skipidx_check('docs_v', true)}), '', 'skipidx_check');
# Autovacuum may be merging.
ok($node->poll_query_until('postgres', 'SELECT pinned = 0 FROM skipidx_cache()'),
	'nothing stays pinned');
$_->close for @readers, @writers, $vacuum;
$node->stop;
done_testing();
