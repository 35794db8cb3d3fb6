# What skipidx_highlight() reads, looks up and keeps, by the time that it takes:
# factors far apart, least of several runs.
#
# Holds: highlight 2, 3, 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('highlight');
my $s = skx_session($node, 'postgres');

# Texts of 1 MB. plain: all words differ; few: the same 100 words; first: plain
# after the words that are looked for; late: plain before them;
# long: 20 times plain; short: many
# words.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (name text, body text);
ALTER TABLE docs ALTER body SET STORAGE external;
INSERT INTO docs SELECT 'plain', left(string_agg(translate(md5(i::text), '0123456789', 'ghijklmnop'), ' '), 1000000) FROM generate_series(1, 31000) i;
INSERT INTO docs SELECT 'few', left(string_agg(translate(md5((i % 100)::text), '0123456789', 'ghijklmnop'), ' '), 1000000) FROM generate_series(1, 31000) i;
INSERT INTO docs SELECT 'first', 'the quick brown fox ' || body FROM docs WHERE name = 'plain';
INSERT INTO docs SELECT 'late', left(body, 900000) || ' the quick brown fox ' FROM docs WHERE name = 'plain';
INSERT INTO docs SELECT 'tags', replace(left(body, 500000), ' f', '</p> <p class="a b">f') FROM docs WHERE name = 'few';
INSERT INTO docs SELECT 'comment', '<!-- --> ' || left(body, 500000) FROM docs WHERE name = 'few';
INSERT INTO docs SELECT 'long', repeat(body, 20) FROM docs WHERE name = 'plain';
INSERT INTO docs SELECT 'short', string_agg(left(translate(md5(i::text), '0123456789', 'ghijklmnop'), 5), ' ') FROM generate_series(1, 160000) i;
INSERT INTO docs SELECT 'beyond', repeat('x y z ', 250000) || 'quick fox';
CREATE FUNCTION done(statement text, times int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..times LOOP
		EXECUTE statement;
	END LOOP;
END $$;
SQL

# Milliseconds of a processor that a statement takes, however busy the machine is.
# Three at a time, or a short one would be measured with what surrounds it.
sub least
{
	my ($what, $statement) = @_;

	$statement =~ s/'/''/g;
	my $time = min(map { my $before = $s->busy; $s->value("SELECT done('$statement', 3)"); ($s->busy - $before) / 3 } 1 .. 3);

	note sprintf '%s: %.2f ms', $what, $time;
	return $time;
}

sub highlight
{
	my ($name, $query, $config) = @_;

	# of French words the first letters tell nothing
	$config //= 'french';
	return least("$name, $query, $config", "SELECT skipidx_highlight('$config', body, '$query') FROM docs WHERE name = '$name'");
}

my $all = highlight('plain', 'quick & fox');
my $first = highlight('first', 'quick & fox');

work_is('words that come first: of all', $first / $all);
work_is('a phrase that comes first: of all', highlight('first', 'quick <-> brown <-> fox') / $all);
work_is('not while a word is missing: of the first', highlight('first', 'quick & fox & none') / $first);
work_is('nor a phrase: of the first', highlight('first', 'quick <-> fox') / $first);
is($s->value(q{SELECT skipidx_highlight('english', body, 'quick & fox', max_words => 3) FROM docs WHERE name = 'late'}),
	'<b>quick</b> brown <b>fox</b>', 'what comes late is found');

work_is('words are looked up once: of all', highlight('few', 'quick & fox') / $all);
my $server = least('ts_headline', q{SELECT ts_headline('french', body, 'quick & fox') FROM docs WHERE name = 'few'});
work_is('words that repeat: of ts_headline', highlight('few', 'quick & fox') / $server);
work_is('words that come first: of ts_headline', $first / $server);

work_is('tags are passed over: of the parser', highlight('tags', 'quick & fox') / highlight('comment', 'quick & fox'));

# English words that begin with other letters are not stemmed
work_is('the first letters tell: of all letters', highlight('plain', 'quick & fox', 'english') / highlight('plain', 'quick & fox | g | h | i | j | k | l | m | n | o | p', 'english'));
work_is('of words that are not stemmed: of all', highlight('plain', 'quick & fox', 'simple') / $all);

# In one statement, several texts of 20 kB with 600 different words
my $texts = q{(SELECT left(body, 20000) AS body FROM docs WHERE name = 'plain') d};
my $once = least('one text', "SELECT skipidx_highlight('french', body, 'fox') FROM $texts");
my $often = least('40 texts of the same words',
	"SELECT skipidx_highlight('french', body || i, 'fox') FROM $texts, generate_series(1, 40) i");
work_is('words of the text before are known: of one of 40', $often / $once);

work_is('no more than the first MB is read: of all', highlight('long', 'quick & fox') / $all);
is($s->value(q{SELECT skipidx_highlight('english', body, 'quick & fox', max_words => 2) FROM docs WHERE name = 'beyond'}),
	'x y', 'and nothing found behind it');

# What is remembered, while it is
my $kept = $s->value(<<'SQL');
SELECT CASE WHEN length(skipidx_highlight('french', body, 'fox')) > 0 THEN
	(SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name ~ '^skipidx (highlight|words to mark)') END
FROM docs WHERE name = 'short';
SQL
note "$kept bytes kept";
work_is('some is remembered: bytes', $kept);
work_is('within bounds: bytes', $kept);

# A text without blanks is one piece of millions of tokens: it is left when told
# so, and they take no memory; nor do phrases that are looked for.
my $watch = $s->watch;

$s->value('BEGIN');
$s->value("SET LOCAL statement_timeout = '300ms'");
like($s->raw(q{SELECT length(skipidx_highlight('simple', repeat('a,', 20000000), 'b', max_words => 0))}),
	qr/statement timeout/, 'a long piece is cancelled');
$s->value('ROLLBACK');
cmp_ok($watch->(), '<=', 3, 'at once');

sub peak
{
	my ($what, $call) = @_;
	my $peaks = skx_session($node, 'postgres');
	my $pid = $peaks->value('SELECT pg_backend_pid()');
	my @most;

	for my $call ("skipidx_highlight('simple', 'a', 'a')", $call)
	{
		open my $refs, '>', "/proc/$pid/clear_refs" or die "clear_refs: $!";
		print $refs "5\n";
		close $refs or die "clear_refs: $!";
		$peaks->value("SELECT length($call)");
		push @most, slurp_file("/proc/$pid/status") =~ /^VmHWM:\s*(\d+) kB/m;
	}
	$peaks->close;
	note "$what: $most[0] kB, $most[1] kB";
	return $most[1] - $most[0];
}
work_is('tokens of a long piece are not kept: kB', peak('pieces', q{skipidx_highlight('simple', repeat('a,', 2000000), 'b', max_words => 0)}));
work_is('nor what is allocated for phrases: kB', peak('phrases', q{skipidx_highlight('simple', repeat('a ', 500000), (repeat('a <0> a & ', 63) || '(a <0> a) & zz')::tsquery, max_words => 1)}));

# Only what LIMIT leaves is marked, by whatever plan, and whoever does it.
$s->value(<<'SQL');
CREATE TABLE many (id int, body text, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO many SELECT i, b, to_tsvector('simple', b) FROM (SELECT i, 'fox ' || repeat('word ', i % 7) || i AS b FROM generate_series(1, 20000) i) x;
CREATE INDEX many_skx ON many USING skipidx (v);
CREATE TABLE parts (LIKE many) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10000);
CREATE TABLE parts2 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM many;
CREATE INDEX parts_skx ON parts USING skipidx (v);
ANALYZE many, parts;
SET track_functions = 'all';
SQL
my $best = "SELECT id, skipidx_highlight('simple', body, 'fox') FROM many WHERE v @@ 'fox' ORDER BY v <@> 'fox'::tsquery LIMIT 10";
for my $plan ([ 'ranked', 'Skipidx Scan', '', $best ],
	[ 'ranked, OFFSET', 'Skipidx Scan', '', "$best OFFSET 10" ],
	[ 'sorted rows', 'Sort.*Seq Scan', 'SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off', $best ],
	[ 'sorted rows of a bitmap', 'Sort.*Bitmap Heap Scan', 'SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = off', $best ],
	[ 'partitions', 'Merge Append', 'SET LOCAL enable_seqscan = off', $best =~ s/many/parts/r ],
	[ 'several processes', 'Gather.*Parallel Custom Scan', 'SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL parallel_setup_cost = 0;'
		  . ' SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_index_scan_size = 0; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off', $best ],
	[ 'by a column', 'Limit.*Scan', 'SET LOCAL enable_seqscan = off', $best =~ s/v <@> 'fox'::tsquery/id DESC/r ])
{
	my ($what, $is, $set, $statement) = @$plan;
	my $count = "SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions WHERE funcname = 'skipidx_highlight'";

	$s->value("BEGIN; $set");
	like($s->value("EXPLAIN (COSTS OFF) $statement") =~ s/\n/ /gr, qr/$is/, "$what: plan");
	my $before = $s->value($count);
	my @rows = split /\n/, $s->value($statement);
	is(@rows, 10, "$what: rows");
	is(scalar(grep { m{<b>fox</b>} } @rows), 10, "$what: they are marked");
	work_is("$what: calls", $s->value($count) - $before);
	$s->value('COMMIT');
}

# Phrases that cannot be had cost no more than so many steps.
my $hostile = q{SELECT skipidx_highlight('simple', repeat('a b ', 125000), (repeat('(a <3> b) & ', 300) || 'c')::tsquery, max_words => 10000)};
work_is('phrases that are many: ms', least('many phrases', $hostile), all => $all);
$s->value('BEGIN');
$s->value("SET LOCAL statement_timeout = '20ms'");
like($s->raw(q{SELECT length(skipidx_highlight('simple', repeat('word ', 20000000), 'fox', max_words => 0))}),
	qr/canceling statement/, 'it can be cancelled');
$s->value('ROLLBACK');

$s->close;
$node->stop;
work_done();
