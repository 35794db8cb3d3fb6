# The ways to read blocks give the same answers, and the one that reads past
# shared buffers takes from there whatever is there.
#
# Holds: blkio 3, 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my @methods = qw(shared_buffers buffered auto);
my $node = skx_node('blkio', conf => "skipidx.cache_size = 32MB");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE EXTENSION pg_prewarm;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 b' || i % 2 || ':2 h' || i % 100 || ':3 t' || i % 5000 || ':4')::tsvector
	FROM generate_series(1, 250000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '64kB');
DELETE FROM docs WHERE id % 50 = 7;
VACUUM docs;
INSERT INTO docs SELECT 1000000 + i, 'all:1 late:2'::tsvector FROM generate_series(1, 100) i;
SQL

my @queries = ('all', 'b1', 'h7', 't77', 't1:* <-> b1', 'b0 & h8', 'b0 & t8', 'all <-> b1',
	'b1 <-> h7', '!all', '!b0', 'h1 | h2 | h3', 'h:*', 't12:*', 'all <3> t9',
	'late', 'nosuch', '!b0 <-> h7', 'b0:A');

sub answers
{
	my ($s) = @_;

	return join "\n", map {
		my $n = $s->raw("SELECT count(*) || ' ' || coalesce(sum(id), 0)"
			  . " FROM docs WHERE v @@ '$_'");
		"$_: $n"
	} @queries;
}

# What reading has cost the session so far.
sub io
{
	my ($s) = @_;
	my %io;

	@io{qw(pins hits loads requests pages resident)} = split /\|/,
	  $s->value('SELECT pins, hits, loads, requests, pages_read, resident'
		  . " FROM skipidx_io_totals() WHERE scope = 'session'");
	return \%io;
}

sub spent
{
	my ($from, $to) = @_;

	return { map { $_ => $to->{$_} - $from->{$_} } keys %$to };
}

sub cold_session
{
	my ($method) = @_;

	$node->restart;
	my $s = skx_session($node, 'postgres');

	$s->value("SET skipidx.io_method = $method; SET enable_seqscan = off");
	return $s;
}

my $s = skx_session($node, 'postgres');
my $oracle = do
{
	$s->value('SET enable_indexscan = off; SET enable_bitmapscan = off');
	answers($s);
};
my $pages = $s->value('SELECT tid_pages + dict_pages + posting_pages + position_pages'
	  . " FROM skipidx_segments('docs_v') WHERE kind = 'segment'");

$s->close;
cmp_ok($pages, '>', 100, 'the segment has pages');

for my $method (@methods)
{
	for my $plan (qw(enable_indexscan enable_bitmapscan))
	{
		$s = cold_session($method);
		$s->value("SET $plan = off");
		is(answers($s), $oracle, "$method, $plan off");
		$s->close;
	}
}

# ---- cold, warm, and what is resident ----

$s = cold_session('buffered');
my $start = io($s);
answers($s);
my $cold = spent($start, io($s));
my $middle = io($s);
answers($s);
my $warm = spent($middle, io($s));

cmp_ok($cold->{pages}, '>=', $pages / 2, 'cold: pages are read');
cmp_ok($cold->{pages}, '<=', $pages * 1.5 + 50, 'cold: and not twice');
cmp_ok($cold->{requests}, '<', $cold->{pages}, 'cold: neighbours are read together');
is($cold->{resident}, 0, 'cold: nothing is in shared buffers');
is($warm->{pages}, 0, 'warm: nothing is read');
cmp_ok($warm->{hits}, '>', 0, 'warm: it is in the cache');

# Another session finds them there, too.
my $other = skx_session($node, 'postgres');
$other->value('SET skipidx.io_method = buffered; SET enable_seqscan = off');
is(answers($other), $oracle, 'another session, warm');
is(io($other)->{pages}, 0, 'another session reads nothing');
is($other->value('SELECT pinned FROM skipidx_cache()'), 0, 'nothing stays pinned');
cmp_ok($other->value('SELECT frames_used FROM skipidx_cache()'), '>', 0, 'frames are in use');
$other->close;
$s->close;

# Pages that a tool or the other method brought into shared buffers are found.
for my $how ('tool', 'method')
{
	$s = cold_session('buffered');
	if ($how eq 'tool')
	{
		$s->value(q{SELECT pg_prewarm('docs_v', 'buffer')});
	}
	else
	{
		$s->value('SET skipidx.io_method = shared_buffers');
		answers($s);
		$s->value('SET skipidx.io_method = buffered');
	}
	$start = io($s);
	is(answers($s), $oracle, "resident by $how: answers");
	my $used = spent($start, io($s));

	cmp_ok($used->{resident}, '>=', $pages / 3, "resident by $how: pages are found");
	if ($how eq 'tool')
	{
		is($used->{pages}, 0, 'resident by tool: none is read from the file');
	}
	else
	{
		cmp_ok($used->{pages}, '<=', $pages / 2, 'resident by method: few are read from the file');
	}
	$s->close;
}

# After crash recovery the replayed images are in shared buffers.
$node->safe_psql('postgres', 'CHECKPOINT; REINDEX INDEX docs_v');
$node->stop('immediate');
$node->start;
$s = skx_session($node, 'postgres');
$s->value('SET skipidx.io_method = buffered; SET enable_seqscan = off');
is(answers($s), $oracle, 'after recovery');
cmp_ok(io($s)->{resident}, '>', 0, 'after recovery: pages are found in shared buffers');
$s->close;

# ---- little cache, none, and many sessions at once ----

for my $size ('1MB', '0')
{
	$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', $size);
	for my $method (@methods)
	{
		$s = cold_session($method);
		is(answers($s), $oracle, "cache_size $size, $method");
		$s->close;
	}
}
$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', '1MB');
$node->restart;
my @sessions = map { skx_session($node, 'postgres') } 1 .. 6;

$_->value('SET skipidx.io_method = buffered; SET enable_seqscan = off') for @sessions;
for my $round (1 .. 3)
{
	my $sql = join ' UNION ALL ', map {
		"(SELECT '$_: ' || count(*) || ' ' || coalesce(sum(id), 0) FROM docs WHERE v @@ '$_')"
	} @queries;
	$_->start($sql) for @sessions;
	my $wrong = grep { $_ ne $oracle } map { $_->finish } @sessions;

	is($wrong, 0, "six sessions in a small cache, round $round");
}
is($sessions[0]->value('SELECT pinned FROM skipidx_cache()'), 0, 'nothing stays pinned');
cmp_ok($sessions[0]->value('SELECT evictions FROM skipidx_cache()'), '>', 0, 'frames were evicted');

# Cancelled in the middle, over and over, it leaves nothing pinned.
for my $i (1 .. 30)
{
	# a busy machine can cancel this one, too
	$sessions[1]->raw("SET statement_timeout = '" . ($i % 6 + 1) . "ms'");
	$sessions[1]->raw(q{SELECT count(*) FROM docs WHERE v @@ '!b0 & t:* | b1 <-> h:*'});
}
for (1 .. 100)
{
	last if $sessions[1]->raw('RESET statement_timeout') eq '';
}
is($sessions[1]->value('SELECT pinned FROM skipidx_cache()'), 0, 'cancelled: nothing stays pinned');
is(answers($sessions[1]), $oracle, 'cancelled: answers');
$_->close for @sessions;

# ---- methods and tablespaces that exist or not ----

$s = skx_session($node, 'postgres');
$s->value('SELECT count(*) FROM skipidx_io_totals()');
like($s->raw('SET skipidx.io_method = telepathy'), qr/ERROR: +22023: .*io_method/, 'unknown method');
$s->value(q{SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''});
$s->value('SET skipidx.io_method = buffered; SET enable_seqscan = off');
answers($s);
$s->value('ALTER INDEX docs_v SET TABLESPACE elsewhere');
is(answers($s), $oracle, 'moved to another tablespace');
$s->value('VACUUM FULL docs');
is(answers($s), $oracle, 'table rewritten');
$s->close;

$node->stop;
done_testing();
