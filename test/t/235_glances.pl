# Norms are read without a pin, in frames that may be evicted and filled with
# other pages at any time.  A backend stops between finding its page and reading
# of it until the frame has others' pages; many search through a cache that is
# emptied all the time; methods without the cache read copies.  Every score is
# held against that of the row itself.
#
# Holds: blkio 16

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_session);
use Test::More;
use Time::HiRes qw(time);

use constant POINT => 'glance_begun';

my $seconds = $ENV{SKX_GLANCES_SECONDS} // 3;

# 64 frames of single pages.
my $node = skx_node('glances', conf => "skipidx.cache_size = 1MB\nskipidx.io_method = buffered");

# Rows of any length up to 90, short ones beside long ones: 10 pages of norms,
# and 15 of another table.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE fillers AS
	SELECT n, ('f:' || string_agg(p::text, ',' ORDER BY p))::tsvector AS v
		FROM generate_series(1, 90) n, generate_series(10, 9 + n) p GROUP BY n;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE other (LIKE docs) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, f.v || ('all:1 r' || i * 7919 % 997 || ':2 t' || i % 17 || ':3')::tsvector
	FROM generate_series(1, 80000) i JOIN fillers f ON f.n = 1 + i::int8 * i * 31 % 90;
INSERT INTO other SELECT i, f.v || ('all:1 r' || i * 7919 % 997 || ':2 x' || i || ':3')::tsvector
	FROM generate_series(1, 120000) i JOIN fillers f ON f.n = 1 + i % 3;
CREATE INDEX docs_v ON docs USING skipidx (v);
CREATE INDEX other_v ON other USING skipidx (v);
CREATE TABLE queries (n serial, ind text, q tsquery, want text);
INSERT INTO queries (ind, q) SELECT 'docs_v', q::tsquery FROM unnest(ARRAY['r5', 'r5 | r800', 'r77 & t3',
	't3 & r80', 'r1 | r2 | r3 | r4', 't1 & t1', 'r9 & all', 'r10 | t5', 'r1:* | r23', 'f & r31']) q;
INSERT INTO queries (ind, q) SELECT 'other_v', q::tsquery FROM unnest(ARRAY['r5', 'x5 | r800', 'r77 & all',
	'r1 | r2 | r3 | r4', 'x100:*', 'f & r31']) q;
CREATE FUNCTION best(ind text, query tsquery) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(ctid || '=' || score, ' ' ORDER BY score DESC, ctid)
		FROM skipidx_search(ind::regclass, query, 20) $$;
CREATE FUNCTION best_rows(ind text, query tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
	EXECUTE format('SELECT string_agg(ctid || ''='' || s, '' '' ORDER BY s DESC, ctid) FROM (
		SELECT ctid, -(v <@> skipidx_query($1, %L)) AS s FROM %I WHERE v @@ $1
			ORDER BY 2 DESC, 1 LIMIT 20) best', ind, substr(ind, 1, length(ind) - 2))
		INTO answer USING query;
	RETURN answer;
END $$;
-- how many answers are wrong
CREATE FUNCTION wrong(times int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint := 0; r record;
BEGIN
	FOR r IN SELECT q.* FROM queries q, generate_series(1, times) ORDER BY random() LOOP
		n := n + (best(r.ind, r.q) IS DISTINCT FROM r.want)::int;
	END LOOP;
	RETURN n;
END $$;
SQL

my $f = SkipidxFault->new($node, 'postgres');
my $s = $f->session;

$s->value("SET skipidx.io_method = 'shared_buffers'; SET enable_indexscan = off; SET enable_bitmapscan = off");
$s->value("UPDATE queries SET want = best_rows(ind, q)");
$s->close;
$s = $f->session;

my $lengths = $s->value("SELECT count(DISTINCT substring(want from '=([0-9.]+)')) FROM queries");

cmp_ok($lengths, '>', 10, 'scores differ');
is($s->value('SELECT wrong(1)'), 0, 'scores are those of the rows');

# ---- a frame is evicted, and filled with another page, while it is looked at ----

# Empties the cache, and fills it with pages of the other index.
sub refill
{
	my ($said) = @_;
	my $frames;

	$s->value('SELECT skipidx_cache_reset()');
	$s->value("SELECT skipidx_prewarm('other_v')");
	for my $from (1 .. 9)
	{
		$s->value("SELECT count(*) FROM other WHERE v @@ 'x${from}1:* <-> f'");
		$frames = $s->value('SELECT sum(page_frames) FROM skipidx_cache_indexes()');
		last if $frames == 64;
	}
	is($frames, 64, "$said: every frame has another page");
	return;
}

# How often a search comes to the point, without an end in sight: parts of its
# last third are those of rows, and no thresholds.
sub glances
{
	my ($victim, $search) = @_;

	$f->mark;
	$f->arm($victim, POINT, 'note');
	$victim->value($search);
	$victim->value('RESET skipidx.fault');
	return $f->reached(POINT, 'note');
}

for my $query ('r5', 'r5 | r800', 'r77 & t3', 'f & r31', 'r1 | r2 | r3 | r4')
{
	my $victim = $f->session;
	my $search = "SELECT best('docs_v', '$query')";
	my $want = $s->value("SELECT want FROM queries WHERE ind = 'docs_v' AND q = '$query'");

	is($victim->value($search), $want, "$query: before");
	for my $part (0, 0.15, 0.3)
	{
		$victim->value($search) for 1 .. 2;

		my $times = glances($victim, $search);
		my $nth = $times - int($part * $times);
		my $name = "$query, $nth of $times";

		$f->arm($victim, POINT, 'wait', $nth);
		$f->hold($s, POINT);
		$victim->start($search);
		ok($f->waits($s, POINT), "$name: waits with its page found");
		refill($name);
		$f->release($s, POINT);
		is($victim->finish, $want, "$name: the scores are right");
		is($victim->value($search), $want, "$name: and afterwards");
	}
	$victim->close;
}

# What is stopped there leaves nothing behind.
for my $action (qw(error cancel kill))
{
	my $victim = $f->session;

	$victim->value("SELECT best('docs_v', 'r5')");
	$f->mark;
	$f->arm($victim, POINT, $action, 3);
	my $said = $victim->raw("SELECT best('docs_v', 'r5')");

	is($f->reached(POINT, $action), 1, "$action: reached");
	if ($action eq 'kill')
	{
		$victim->close;
		$s->close;
		$f->recover;
		$s = $f->session;
	}
	else
	{
		like($said, $action eq 'error' ? qr/told to fail/ : qr/57014/, "$action: it ended") ;
		is($victim->value('SELECT wrong(1)'), 0, "$action: the session goes on");
		$victim->close;
	}
	is($s->value('SELECT pinned FROM skipidx_cache()'), 0, "$action: nothing is pinned");
	is($s->value('SELECT wrong(1)'), 0, "$action: right answers");
}
unlike(slurp_file($node->logfile), qr/pin leak/, 'no pin leaks');

# ---- many sessions, a cache much smaller than what they read ----

my @sessions = map { $f->session } 1 .. 4;
my $until = time + $seconds;
my $rounds = 0;
my $wrong = '0 0 0 0';

while (time < $until && $wrong eq '0 0 0 0')
{
	$_->start('SELECT wrong(2)') for @sessions;
	for (1 .. 20)
	{
		$s->value('SELECT skipidx_cache_reset()');
	}
	$wrong = join(' ', map { $_->finish } @sessions);
	$rounds++;
}
cmp_ok($rounds, '>', 0, 'rounds');
is($wrong, '0 0 0 0', 'all scores are right in each');
$_->close for @sessions;

# ---- methods without the cache: copies, of several segments in one place ----

$s->value(<<'SQL');
DO $$
BEGIN
	FOR t IN 1 .. 60 LOOP
		EXECUTE format('CREATE TABLE d%s AS SELECT id, v FROM docs WHERE id BETWEEN %s AND %s', t, t * 100, t * 100 + 60);
		EXECUTE format('CREATE INDEX d%1$s_v ON d%1$s USING skipidx (v)', t);
		INSERT INTO queries (ind, q) VALUES ('d' || t || '_v', 't1 | t2 | t3');
	END LOOP;
	CREATE TEMP TABLE mine AS SELECT id, v FROM docs WHERE id % 9 = 0;
	CREATE INDEX mine_v ON mine USING skipidx (v);
	SET enable_indexscan = off;
	SET enable_bitmapscan = off;
	UPDATE queries SET want = best_rows(ind, q) WHERE want IS NULL;
	RESET enable_indexscan;
	RESET enable_bitmapscan;
END $$;
SQL
my $mine = $s->value("SELECT best_rows('mine_v', 'r5 | t7')");

for my $method (qw(shared_buffers buffered direct uring shared_buffers))
{
	$s->value("SET skipidx.io_method = '$method'");
	is($s->value('SELECT wrong(2)'), 0, "$method: scores are those of the rows");
	is($s->value("SELECT best('mine_v', 'r5 | t7')"), $mine, "$method: of a temporary table too");
}

# ---- no cache at all ----

$node->append_conf('postgresql.conf', 'skipidx.cache_size = 0');
$node->restart;
$s = skx_session($node, 'postgres');
for my $method (qw(auto buffered direct uring))
{
	$s->value("SET skipidx.io_method = '$method'");
	is($s->value('SELECT wrong(1)'), 0, "no cache, $method: scores are those of the rows");
}
done_testing();
