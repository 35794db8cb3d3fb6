# What queries have in the cache of the inputs of a merge, they have of the
# segment that it makes: the pages of the same words and documents, and no
# others; a quarter of the cache at most; and the inputs' pages go first.
#
# Holds: blkio 19; maint 14

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('merge_warm', conf => "skipidx.max_workers = 0\nshared_preload_libraries = skipidx\n"
	  . "skipidx.cache_size = 32MB");
my $s = skx_session($node, 'postgres');

# Words a0 to a9 and b0 to b9 are in one document of ten and have positions; of
# each document there are three words of its own, so that the dictionary is
# large.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, price int, v tsvector) WITH (autovacuum_enabled = off);
CREATE TABLE more (v tsvector);
CREATE INDEX docs_v ON docs USING skipidx (v, price) WITH (block_size = '32kB', pending_limit = '1GB', proximity = 0);
CREATE FUNCTION add(first int, last int) RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO docs (price, v) SELECT hashint4(i) % 1000, ('a' || i % 10 || ':' || i % 90 + 1 || ',' || i % 90 + 100
		|| ' b' || i / 10 % 10 || ':' || i % 80 + 2 || ',' || i % 70 + 300
		|| ' z' || i % 10 || ':9 k' || i || ':1 l' || hashint4(i) || ':3 m' || i * 7 || ':5')::tsvector
	FROM generate_series(first, last) i;
	SELECT 1::bigint $$;
SQL

sub segments
{
	my ($n) = @_;

	$s->value("SELECT add($_ * 10000 + 1, $_ * 10000 + 10000); SELECT skipidx_flush('docs_v')") for 1 .. $n;
	is($s->value("SELECT segments FROM skipidx_stats('docs_v')"), $n, "$n segments");
	return;
}

sub answers
{
	my (@queries) = @_;

	return join ' ', map {
		$s->value("SELECT count(*) || ':' || coalesce(sum(id), 0) FROM docs WHERE $_")
	} @queries;
}

# Pages that the queries do not find in the cache, and their answers.
sub pages
{
	my (@queries) = @_;
	my $count = "SELECT sum(loads) FROM skipidx_io_totals() WHERE scope = 'session'";
	my $before = $s->value($count);
	my $answers = answers(@queries);

	return ($s->value($count) - $before, $answers);
}

my @wanted = ("v @@ 'a1 & b3'", "v @@ 'a2 <-> b4 | a2 & b5'", "v @@ 'a4 | b4'", "v @@ 'k12345 | k45678 | k54321'",
	"ctid IN (SELECT ctid FROM skipidx_search('docs_v', 'a5 | b5', 100))");
my @others = ("v @@ '" . join(' | ', map { 'm' . $_ * 21007 } 1 .. 26) . "'");

for my $method (qw(buffered direct uring uring_direct))
{
	my $by = $method =~ /direct/ ? $method : "$method, through the page cache";

	$s->value('TRUNCATE docs; SELECT skipidx_cache_reset()');
	$s->value("SET skipidx.io_method = $method; SET enable_seqscan = off; SET enable_indexscan = off");
	segments(8);

	my ($cold, $want) = pages(@wanted);
	my ($warm) = pages(@wanted);

	work_is('cold queries: pages', $cold, in => $by);
	work_is('warm ones: pages', $warm, in => $by);
	$s->value("SELECT skipidx_merge('docs_v', 1)");
	is($s->value("SELECT segments FROM skipidx_stats('docs_v')"), 1, "$by: merged");

	my ($after, $found) = pages(@wanted);
	my ($others) = pages(@others);

	is($found, $want, "$by: the same answers");
	# next to none is read again, and what was not wanted was not brought
	work_is('after a merge: pages', $after, in => $by, cold => $cold);
	work_is('others, after a merge: pages', $others, in => $by);
}

# Nothing was read: nothing is brought.
$s->value('TRUNCATE docs; SELECT skipidx_cache_reset()');
segments(4);
$s->value("SELECT skipidx_merge('docs_v', 1)");
work_is('an index that was not read: pages', (pages(@wanted))[0]);

sub cache_size
{
	my ($size) = @_;

	$s->close;
	$node->adjust_conf('postgresql.conf', 'skipidx.cache_size', $size);
	$node->restart;
	$s = skx_session($node, 'postgres');
	$s->value('SET skipidx.io_method = direct; SET enable_seqscan = off; SET enable_indexscan = off');
	return;
}

# A quarter of the cache at most, whatever it has.
cache_size('4MB');
$s->value('TRUNCATE docs');
segments(8);
$s->value("SELECT skipidx_prewarm('docs_v')");
work_is('a cache that is full: free frames', $s->value('SELECT frames - frames_used FROM skipidx_cache()'));

my $evictions = $s->value('SELECT evictions FROM skipidx_cache()');

$s->value("SELECT skipidx_merge('docs_v', 1)");

my $evicted = $s->value('SELECT evictions FROM skipidx_cache()') - $evictions;
my $frames = $s->value('SELECT frames FROM skipidx_cache()');

# it brought pages, a quarter of the cache at most
work_is('a merge: evicted frames', $evicted, frames => $frames);
work_is('a merge: evicted frames at most', $evicted, frames => $frames);

# What was used most comes first.
$s->value('TRUNCATE docs; SELECT skipidx_cache_reset()');
segments(8);
$s->value("SELECT skipidx_prewarm('docs_v')") for 1 .. 2;
pages($wanted[0]) for 1 .. 3;
$s->value("SELECT skipidx_merge('docs_v', 1)");
work_is('what was used most, after a merge: pages', (pages($wanted[0]))[0]);

# Pages of the inputs go first, however often they were used: others that were
# read once stay.
$s->value("INSERT INTO more SELECT ('x' || i || ' y' || i * 3)::tsvector FROM generate_series(1, 30000) i");
cache_size('5MB');
$s->value('CREATE INDEX more_v ON more USING skipidx (v); CREATE TABLE third (v tsvector);'
	  . " INSERT INTO third SELECT ('x' || i || ' y' || i * 3)::tsvector FROM generate_series(1, 60000) i;"
	  . ' CREATE INDEX third_v ON third USING skipidx (v)');
$s->value('TRUNCATE docs; SELECT skipidx_cache_reset()');
segments(2);
$s->value("SELECT skipidx_prewarm('docs_v')") for 1 .. 6;
$s->value("SELECT skipidx_prewarm('more_v')");
$s->value("SELECT skipidx_merge('docs_v', 1)");

my $stay = "SELECT page_frames FROM skipidx_cache_indexes() WHERE index = 'more_v'::regclass";
my $before = $s->value($stay);

$evictions = $s->value('SELECT evictions FROM skipidx_cache()');
$s->value("SELECT sum(c) FROM (SELECT (SELECT count(*) FROM third WHERE v @@ ('x' || i * 500)::tsquery) AS c"
	  . ' FROM generate_series(1, 120) i) t');
$evicted = $s->value('SELECT evictions FROM skipidx_cache()') - $evictions;
work_is('others evict frames', $evicted);
work_is('an index has pages in the cache', $before);
work_is('an index has them when others have evicted those of the inputs', $s->value($stay), before => $before);

work_done();
