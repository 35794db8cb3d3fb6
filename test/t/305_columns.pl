# Columns beside the text, on rows their conditions were drawn from: index scans,
# plain, by bitmap and by rank, give what the sequential scan gives, in every state
# an index can be in; and values are no words: statistics and scores are those of
# an index on the text alone.  A rare value passes over the lists of common words.
# What is too long is refused, and stores nothing.
#
# Long: 2000 queries, else 500 (SKX_RANK_QUERIES).
#
# Holds: am 4; column 1, 2; condition 1, 3; plan 15, 22, 23, 24, 26, 28; query 2, 4; topk 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxMatrix qw(quoted);
use SkipidxTeam;
use SkipidxWire qw(wire_copy);
use Test::More;
use Time::HiRes qw(time);

my $m = SkipidxMatrix->new('columns', seed => 305, conf => <<'CONF', columns => [qw(tenant category tags flag amount day f code)], with => 'parallel_workers = 2',
max_worker_processes = 8
max_parallel_workers = 4
min_parallel_table_scan_size = 0
skipidx.cache_size = 1MB
CONF
	singly => 12, bare => 0, derived => 0.2, disjunctions => 0.25, matched => 1 / 4, by_index => { columns => 0 });
my ($node, $s) = ($m->node, $m->session);
my $dir = PostgreSQL::Test::Utils::tempdir();

# An index of the same rows without columns: no query implies its predicate, so
# that only statistics and scores come from it.
$s->value(<<'SQL');
CREATE INDEX docs_text ON docs USING skipidx (v) WITH (pending_limit = '1GB', block_size = '8kB') WHERE kind IS NOT NULL;
CREATE TABLE ranks (q tsquery);

-- In what the two indexes differ.
CREATE FUNCTION text_differs() RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(', ', (SELECT string_agg(format('%s %s for %s', a.key, a.value, b.value), ', ')
			FROM jsonb_each(to_jsonb(skipidx_stats('docs_skx'))) a JOIN jsonb_each(to_jsonb(skipidx_stats('docs_text'))) b USING (key)
			WHERE key IN ('ndocs', 'deleted', 'null_docs', 'total_length', 'avg_length', 'positions', 'segments', 'pending_docs', 'pending_dead') AND a.value <> b.value),
		(SELECT string_agg(format('%s distances of %s', n, q), ', ') FROM ranks, LATERAL (SELECT count(*) AS n FROM docs
			WHERE (v <@> skipidx_query(q, 'docs_skx')) IS DISTINCT FROM (v <@> skipidx_query(q, 'docs_text'))) x WHERE n > 0))
$$;
SQL

# All words, in queries as some minor versions take them in binary: operands are
# [lexeme, labels, prefix] or an operator with the offset of its left side.
sub inner_query
{
	my (@items) = @_;
	my ($out, $words) = ('', '');

	for (@items)
	{
		my ($what, @of) = @$_;

		$out .= $what =~ /^[12]$/ ? pack('c c s L L', 2, $what, 0, @of, 0) : pack('c C c x l L', 1, @of, 0, length($what) | length($words) << 12);
		$words .= "$what\0" if $what !~ /^[12]$/;
	}
	return unpack 'H*', pack('l', scalar @items) . $out . $words;
}

my %hostile = ('any word' => [ [ '', 0, 1 ] ], 'any word:A' => [ [ '', 8, 1 ] ], 'no word' => [ [ 1, 1 ], [ '', 0, 1 ] ],
	'the empty word' => [ [ '', 0, 0 ] ], 'wa & any word' => [ [ 2, 2 ], [ '', 0, 1 ], [ 'wa', 0, 0 ] ]);

$m->load(900);
$s->value('CREATE CAST (bytea AS tsquery) WITHOUT FUNCTION');
my %made = map { $_ => "'\\x" . inner_query(@{ $hostile{$_} }) . "'::bytea::tsquery" } sort keys %hostile;
is($s->value("SELECT count(*) > 500 AND count(*) < 900 FROM docs WHERE v \@\@ $made{'any word'}"), 't', 'a prefix of no letters finds what has a word');
$s->value('INSERT INTO ranks VALUES ' . join ', ', map { "($_)" } (map { $made{$_} } sort keys %made), map { $m->text_query } 1 .. 12);
$m->ask($m->long(2000, 500), [qw(rows rows rows ranked ranked)]);
$m->ask($m->long(600, 150), 'columns');
$m->ask_always(map { ([ 'rows', cond => "v \@\@ $made{$_}" ], [ 'ranked', cond => 'true', rank => $made{$_}, limits => [0] ]) } sort keys %made);
$s->value('ANALYZE docs');

# A state in which both indexes have the same segments.
sub state
{
	my ($what, $stride, %opt) = @_;

	$m->state($what, $stride, %opt);
	is($s->value('SELECT text_differs()'), '', "$what: statistics and scores are those of the text");
	return;
}

state('pending', 1, explain => '');
state('several', 1);
is($s->value("SELECT segments FROM skipidx_stats('docs_skx')"), 3, 'three segments and pending documents');
$m->by_methods('several', 12);

my $there = $m->standby('');
$m->load(60);
$m->caught_up;
$m->differ('standby', 5, on => $there);
is($there->value('SELECT text_differs()'), '', 'standby: statistics and scores are those of the text');
is($there->value("SELECT skipidx_stats('docs_skx')"), $s->value("SELECT skipidx_stats('docs_skx')"), 'standby: statistics are those of the primary');
$m->standby_gone($there);

# ---- rows that go, and other values of them ----

state('deleted', 4);
# which index has flushed and merged is no matter of the other's
$m->state('vacuumed', 3);
state('merged', 2);
is($s->value("SELECT segments || ' ' || deleted FROM skipidx_stats('docs_skx')"), '1 0', 'merged without the dead');
$m->beside_older(5);
$m->state('crashed', 3);
$s = $m->session;
is($s->value('SELECT text_differs()'), '', 'crashed: statistics and scores are those of the text');

my $team = SkipidxTeam->new($node, 'd');

for my $index ('docs_skx', 'docs_text')
{
	my ($said, $took) = $team->held($s, 2, "REINDEX INDEX $index");

	is($said, '', "$index is rebuilt");
	is($took->{shares}, 2, "$index: by two workers");
}
$s->value('RESET max_parallel_maintenance_workers');
state('rebuilt', 2);

# ---- what does not fit ----

sub refused
{
	my ($what, $statement, $message) = @_;
	my $before = $s->value("SELECT ndocs FROM skipidx_stats('docs_skx')");

	like($s->raw($statement), $message, $what);
	is($s->value("SELECT ndocs FROM skipidx_stats('docs_skx')"), $before, "$what: nothing is stored");
	return;
}

my $long = q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 64) i)};

$s->value("INSERT INTO docs (id, category) SELECT -1, left($long, 2044)");
refused('2,045 bytes', "INSERT INTO docs (id, category) SELECT -2, left($long, 2045)",
	qr/54000: a value of column "category" is too long.*DETAIL: .*2045 bytes; 2044.*HINT:/s);
refused('an element', "INSERT INTO docs (id, tags) SELECT -2, ARRAY['a', left($long, 2045)]", qr/54000: a value of column "tags" is too long/);
refused('an update', "UPDATE docs SET category = left($long, 2045) WHERE id = -1", qr/54000: a value/);
refused('values of 1 MB', "INSERT INTO docs (id, tags) SELECT -2, array_agg(lpad(i::text, 2000, 'x')) FROM generate_series(1, 600) i",
	qr/54000: the columns of a row are too long/);
refused('values and text of 1 MB', "INSERT INTO docs (id, v, tags) SELECT -2, array_to_tsvector(array_agg(lpad(i::text, 2000, 'y'))),"
	  . " array_agg(lpad(i::text, 2000, 'x')) FROM generate_series(1, 300) i", qr/54000: .*(long|large)/);
$s->value("INSERT INTO docs (id, v, tags) SELECT -3, 'wa', array_agg('e' || i) FROM generate_series(1, 10000) i");

# By the index, and how often with a value of the length that does not fit.
$m->way('plain');
for my $when ('pending', 'flushed')
{
	is($s->value("SELECT count(*) FROM docs WHERE category = left($long, $_)"), $_ == 2044 ? 1 : 0, "$when: a value of $_ bytes") for 2044, 2045;
	is($s->value("SELECT count(*) FROM docs WHERE category IN (left($long, 2044), left($long, 2045))"), 1, "$when: among others");
	is($s->value("SELECT id FROM docs WHERE tags @> (SELECT array_agg('e' || i) FROM generate_series(1, 10000) i)"), -3, "$when: 10,000 elements");
	is($s->value("SELECT id FROM docs WHERE 'e777' = ANY (tags) AND v @@ 'wa'"), -3, "$when: one of them");
	is($s->value("SELECT count(*) FROM docs WHERE tenant IN (" . join(',', -3 .. 100000) . ')'),
		$s->value("SELECT count(*) FROM docs WHERE tenant IS NOT NULL"), "$when: one of 100,000");
	$s->value('SELECT tend()');
}
$m->way('seq');

# Cancelled, whenever: within each of its steps, or done.
my $many = 'SELECT count(*) FROM docs WHERE tenant = ANY ((SELECT array_agg(i) FROM generate_series(-3, 200000) i)::int[])';
$m->way('plain');
my $from = time;
$s->value($many);
my $took = time - $from;
for my $share (0.3, 0.5, 0.8)
{
	my $ms = int(1000 * $took * $share) + 1;

	my $watch = $s->watch;

	like($s->raw("SET statement_timeout = $ms; $many"), qr/57014|^\d+$/m, "ended after $ms ms");
	cmp_ok($watch->(), '<', 2 + 2 * $took, 'in time');
	# a timeout that came as the statement ended may hit the next one
	$s->raw('RESET statement_timeout');
	$s->value('RESET statement_timeout');
}
$m->way('seq');

# A tsvector has no zero byte, whatever is sent.
wire_copy("$dir/v", [ pack('N', 1), pack('N', 1) . "\0\1\0\0" . pack('n', 0) ]);
like($s->raw("COPY docs (id, v) FROM '$dir/v' (FORMAT binary)"), qr/ERROR/, 'a lexeme that looks like a value is refused');
state('in the end', 4);

# ---- work ----

# One row in 1,000 has a given value of spread, close or list; all have `all`, half
# of them `half`.
$s->value(<<'SQL');
CREATE TABLE work (id int, v tsvector, spread int, close int, list int[], gap int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN hashint4(i) & 1 = 0 THEN '{half}'::text[] ELSE '{}' END),
	i % 1000, i / 200, ARRAY[i % 1000, -1 - i % 1000], CASE WHEN i % 1000 <> 7 THEN 1 END FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, spread, close, list, gap) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL

# Rows of a count, and sub-blocks that were decoded for it.
sub subblocks
{
	my ($statement) = @_;

	$m->way('plain');
	my ($n, $spent) = $m->spent($statement);

	note "$statement: $n rows, $spent->{subblocks} sub-blocks, $spent->{windows_filled} windows";
	return ($n, $spent->{subblocks} + $spent->{windows_filled});
}

my (undef, $all) = subblocks(q{SELECT count(*) FROM work WHERE v @@ 'half'});

cmp_ok($all, '>', 700, 'sub-blocks of a common word');

# Of each: how many documents have it, in how many places of the common list.
for my $case ([ 'spread = 77', 200, 200 ], [ 'close = 77', 200, 3 ], [ q{list @> '{77}'}, 200, 200 ], [ q{list && '{-77}'}, 200, 200 ],
	[ '77 = ANY (list)', 200, 200 ], [ 'gap IS NULL', 200, 200 ], [ 'close IN (77, 177, 277)', 600, 9 ], [ 'spread = 477 AND close = 77', 1, 1 ],
	[ '(close = 77 OR spread = 77)', 400, 203 ], [ '(close = 77 OR spread = 477 AND close = 177)', 201, 4 ])
{
	my ($cond, $rows, $places) = @$case;
	my ($n, $spent) = subblocks("SELECT count(*) FROM work WHERE v @@ 'half' AND $cond");

	ok($n >= int($rows / 4) && $n <= $rows, "$cond: $n rows");
	cmp_ok($spent, '>=', $places == 200 ? 100 : 2, "$cond: sub-blocks are counted");
	cmp_ok($spent, '<=', $places + 12, "$cond: and few are decoded");
	($n, $spent) = subblocks("SELECT count(*) FROM (SELECT id FROM work WHERE v @@ 'half' AND $cond ORDER BY v <@> 'half'::tsquery LIMIT 1000) s");
	ok($n >= int($rows / 4) && $n <= $rows, "$cond: $n rows by rank");
	cmp_ok($spent, '<=', 2 * $places + 24, "$cond: few are decoded for ranks");
}

# Keys that lie anywhere are not gone through for a range beside a word: those of
# the word's documents are tested.  Without a word, or beside a common one, lists
# of the values are gone through, up to a number of these, then all keys; and
# where keys follow the table, those of a few groups.
$s->value(<<'SQL');
DROP TABLE work;
CREATE TABLE work (id int, v tsvector, mixed int, follows int) WITH (autovacuum_enabled = off);
INSERT INTO work SELECT i, array_to_tsvector(ARRAY['all'] || CASE WHEN i % 100 = 3 THEN '{some}'::text[] ELSE '{}' END),
	hashint4(i), i FROM generate_series(0, 199999) i;
CREATE INDEX work_skx ON work USING skipidx (v, mixed, follows) WITH (block_size = '8kB', pending_limit = '1GB');
ANALYZE work;
SQL
my $hundredth = 'mixed BETWEEN 0 AND 42949672';
my $tenth = 'mixed BETWEEN 0 AND 429496729';

for my $case ([ "v @@ 'some' AND $hundredth", 2000, 2000 ], [ $hundredth, 0, 0 ], [ $tenth, 200000, 200000 ],
	[ "v @@ 'all' AND $hundredth", 0, 0 ], [ "v @@ 'all' AND $tenth", 200000, 200000 ], [ 'follows BETWEEN 100000 AND 105000', 1, 256 ],
	[ "v @@ 'all' AND follows BETWEEN 100000 AND 105000", 1, 256 ], [ "v @@ 'some' AND mixed > 0", 2000, 2000 ],
	[ "v @@ 'all & some' AND $hundredth", 2000, 2000 ])
{
	my ($cond, $least, $most) = @$case;

	$m->way('plain');
	my ($n, $spent) = $m->spent("SELECT count(*) FROM work WHERE $cond");

	is($n, $m->by('seq', "SELECT count(*) FROM work WHERE $cond"), "$cond: rows");
	cmp_ok($spent->{keys_tested}, '>=', $least, "$cond: keys are counted");
	cmp_ok($spent->{keys_tested}, '<=', $most, "$cond: $spent->{keys_tested} keys are looked at");
}

done_testing();
