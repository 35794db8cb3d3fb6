# What a ranked search does with pending documents, counted: it goes through
# them once, to count its words, and then looks into those that may be hits.
# What an ordered scan does with those that come after it began: nothing.
#
# Holds: score 9; segment 9; snapshot 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('pending_work', conf => "skipidx.max_workers = 0\n");
my $s = skx_session($node, 'postgres');

# Of 20,000 documents, 20 have rare, 1,000 tens, all common; pa0 to pa9 are in
# 20 each.  The first 5,000 are in a segment.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB', block_size = '8kB');
CREATE FUNCTION add(first int, last int) RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO docs (v) SELECT ('common:1 filler' || i % 50 || ':2'
		|| CASE WHEN i % 1000 = 7 THEN ' rare:3' ELSE '' END
		|| CASE WHEN i % 20 = 3 THEN ' tens:4,5' || i % 3 ELSE '' END
		|| CASE WHEN i % 100 = 9 THEN ' pa' || i / 100 % 10 || ':6' ELSE '' END)::tsvector
	FROM generate_series(first, last) i;
	SELECT 1::bigint $$;
SELECT add(1, 5000);
SELECT skipidx_flush('docs_v');
SELECT add(5001, 25000);
ANALYZE docs;
SET enable_seqscan = off;
SQL

my $pending = $s->value("SELECT pending_docs FROM skipidx_stats('docs_v')");

work_is('pending documents', $pending);

# Distances of a ranked search's rows, and how many pending documents were looked into.
sub search
{
	my ($session, $query, $rows) = @_;
	my $before = $session->value('SELECT pending_read FROM skipidx_work()');
	my $found = $session->value("SELECT string_agg(d::text, ',') FROM (SELECT round((v <@> '$query')::numeric, 4) AS d"
		  . " FROM docs WHERE v @@ '$query' ORDER BY v <@> '$query' LIMIT $rows) t");

	return ($found, $session->value('SELECT pending_read FROM skipidx_work()') - $before);
}

# The same rows, sorted.
sub oracle
{
	my ($query, $rows) = @_;

	return $s->value("SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off;"
		  . " SELECT string_agg(d::text, ',') FROM (SELECT round((v <@> '$query')::numeric, 4) AS d"
		  . " FROM docs WHERE v @@ '$query' ORDER BY v <@> '$query' LIMIT $rows) t;"
		  . ' RESET enable_indexscan; RESET enable_bitmapscan; SET enable_seqscan = off');
}

# Query, and pending documents with a word or prefix that counts.
my @queries = ([ 'rare', 20 ], [ 'tens | rare', 1020 ], [ 'rare | pa3', 40 ], [ 'pa:*', 200 ],
	[ 'rare & !filler7', 20 ], [ 'common', 20000 ]);

# What may be a hit is told by how often words stand there: a rare word ends
# it for documents with a common one.

for my $case (@queries)
{
	my ($query, $with) = @$case;
	my $fresh = skx_session($node, 'postgres');
	my $want = oracle($query, 10);

	$fresh->value("LOAD 'skipidx'; SET enable_seqscan = off; SET enable_bitmapscan = off");
	my ($first, $work) = search($fresh, $query, 10);

	is($first, $want, "$query: rows");
	# all pending documents once, and those with a word
	work_is('looked into at first', $work, in => $query, pending => $pending, with => $with);

	# the statistics are kept as long as the index stays as it is
	(my $again, $work) = search($fresh, $query, 10);
	is($again, $want, "$query: rows again");
	# none without a word, and at least those that are found
	work_is($with < 100 ? 'looked into again, all with a word' : 'looked into again', $work, in => $query, with => $with);
	work_is('few that are no hits', $work, in => $query) if $query eq 'tens | rare';
	$fresh->close;
}

# What is inserted under the same snapshot after the words were counted.
my $reader = skx_session($node, 'postgres');

$reader->value("LOAD 'skipidx'; SET enable_seqscan = off; BEGIN ISOLATION LEVEL REPEATABLE READ");
my ($before) = search($reader, 'rare', 100);
$s->value('SELECT add(30001, 31000)');
my ($after) = search($reader, 'rare', 100);
is($after, $before, 'inserted by another: not seen');
$reader->value('SELECT add(40001, 41000)');
($after) = search($reader, 'rare', 100);
is(scalar(split /,/, $after), scalar(split /,/, $before) + 1, 'inserted by itself: seen');
$reader->value('ROLLBACK');

# Flushed meanwhile: another view, with other numbers.
$s->value("SELECT skipidx_flush('docs_v'); SELECT add(50001, 52000); DELETE FROM docs WHERE id % 7 = 0");
is((search($s, $_->[0], 100))[0], oracle($_->[0], 100), "$_->[0]: flushed, inserted, deleted") for @queries;
$s->value('VACUUM (INDEX_CLEANUP ON) docs; SELECT add(60001, 61000)');
is((search($s, $_->[0], 100))[0], oracle($_->[0], 100), "$_->[0]: vacuumed, inserted") for @queries;

# In a segment a word is looked up once, whatever is inserted meanwhile; in one
# that is new, once more.  Words that it does not have are words, too.
sub pins { my ($session) = @_; return $session->value("SELECT sum(pins) FROM skipidx_io_methods() WHERE scope = 'session'"); }

sub search_pins
{
	my ($session, $query) = @_;
	my $before = pins($session);
	my ($rows) = search($session, $query, 10);

	is($rows, oracle($query, 10), "words found before, $query: rows");
	return pins($session) - $before;
}

$s->value("SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v', 1)");
my $knows = skx_session($node, 'postgres');

$knows->value("LOAD 'skipidx'; SET enable_seqscan = off; SET enable_bitmapscan = off");
for my $query ('rare & tens', 'tens | rare | nosuch')
{
	my @pins = (search_pins($knows, $query), search_pins($knows, $query));
	work_is('words found before: pins', $pins[1], in => $query, first => $pins[0]);
	$s->value("INSERT INTO docs (v) VALUES ('other')");
	work_is('words found before, after an insert: pins', search_pins($knows, $query), in => $query, again => $pins[1]);
	$s->value("SELECT skipidx_flush('docs_v')");
	work_is('words found before, another segment: pins', search_pins($knows, $query), in => $query, again => $pins[1]);
	$s->value("INSERT INTO docs (v) VALUES ('other')");
	work_is('words found before, once: pins', search_pins($knows, $query), in => $query, again => $pins[1]);
	# a transaction that has written searches another view than its statistics
	$knows->value("BEGIN; INSERT INTO docs (v) VALUES ('other')");
	my $before = pins($knows);
	search($knows, $query, 10);
	work_is('words found before, beside its own rows: pins', pins($knows) - $before, in => $query, again => $pins[1]);
	$knows->value('ROLLBACK');
	# the number of a segment, and of a file, is that of no other index
	$s->value("REINDEX INDEX docs_v");
	work_is('words found before, another file: pins', search_pins($knows, $query), in => $query, again => $pins[1]);
}
$knows->close;

# A cursor in the order of a column does not go through what came after its
# first rows, though its list goes on there.
$s->value("CREATE TABLE later (id int, v tsvector) WITH (autovacuum_enabled = off);"
	  . " CREATE INDEX later_v ON later USING skipidx (v, id) WITH (pending_limit = '1GB', block_size = '8kB');"
	  . " INSERT INTO later SELECT i, 'a' FROM generate_series(1, 400) i; SET enable_sort = off; SET enable_bitmapscan = off");
$s->value("BEGIN; DECLARE c CURSOR FOR SELECT id FROM later WHERE v @@ 'a' ORDER BY id; FETCH 10 FROM c");
my $writer = skx_session($node, 'postgres');
$writer->value("INSERT INTO later SELECT -i, 'a' FROM generate_series(1, 20000) i");
$writer->value("DELETE FROM later WHERE id < -10000; VACUUM later; SELECT skipidx_flush('later_v')");
my $before = $s->value('SELECT pending_read FROM skipidx_work()');
my @rest = split /\n/, $s->value('FETCH ALL FROM c');
my $looked = $s->value('SELECT pending_read FROM skipidx_work()') - $before;

is("@rest", join(' ', 11 .. 400), 'a cursor: its rows');
work_is('a cursor: later ones of 20,000 that are looked at', $looked);
$s->value('COMMIT');
$writer->close;
$_->close for $s, $reader;
$node->stop;
work_done();
