# Rows deleted, vacuumed away and replaced at their places while a flush or a
# merge is between reading and publishing: what it made must know of it.  And
# readers that began before all of that.
#
# Holds: maint 2, 5, 8; merge 2, 4; pending 6

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxTest qw(skx_node skx_database skx_session skx_fault_lock);
use Test::More;

# Point to stop at, statement that gets there, and whether it has read deletes
# by then, so that later ones must be carried over.
my @races = (
	[ flush_stripe => "SELECT skipidx_flush('docs_v')", 0 ],
	[ flush_read => "SELECT skipidx_flush('docs_v')", 1 ],
	[ flush_built => "SELECT skipidx_flush('docs_v')", 1 ],
	[ merge_mapped => "SELECT skipidx_merge('docs_v')", 1 ],
	[ merge_built => "SELECT skipidx_merge('docs_v')", 1 ],
	[ publish_noted => "SELECT skipidx_flush('docs_v')", 1 ],
	[ publish_noted => "SELECT skipidx_merge('docs_v')", 1 ]);
my @queries = ('old', 'new', 'again', 'word3', '!old', 'new <-> word5',
	'old | again', 'word1:*');

my $node = skx_node('late_deletes');

skx_database($node, 'd');

my $s = skx_session($node, 'd');
my $worker = skx_session($node, 'd');
my $reader = skx_session($node, 'd');

# Rows that match, as text, by one way to scan.
sub found
{
	my ($mode, $query) = @_;

	return $s->value("SET enable_seqscan = "
		  . ($mode eq 'seq' ? 'on' : 'off')
		  . "; SET enable_bitmapscan = "
		  . ($mode eq 'bitmap' ? 'on' : 'off')
		  . "; SET enable_indexscan = "
		  . ($mode eq 'plain' ? 'on' : 'off')
		  . "; SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM docs"
		  . " WHERE v @@ '$query'");
}

sub insert
{
	my ($word, $first, $last) = @_;

	return $s->value("INSERT INTO docs SELECT i, ('$word:1 word' || i % 10"
		  . " || ':2')::tsvector FROM generate_series($first, $last) i");
}

# Takes away what is dead and puts other rows in its place, twice; returns how
# many TIDs of the time before now belong to other rows.  Too little for VACUUM
# to flush, and without its attempt to lock the table.
sub replace_rows
{
	$s->value('TRUNCATE taken; INSERT INTO taken SELECT ctid, id FROM docs');
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	insert('new', 10001, 10400);
	$s->value("BEGIN; INSERT INTO docs SELECT i, 'aborted'"
		  . ' FROM generate_series(1, 200) i; ROLLBACK');
	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	insert('again', 20001, 22000);
	return $s->value('SELECT count(*) FROM docs WHERE id > 10000 AND ctid <'
		  . ' (SELECT max(tid) FROM taken)');
}

# A table of 3,000 rows, all pending or in two segments.
sub set_up
{
	my ($block_size, $merge) = @_;

	$s->value('DROP TABLE IF EXISTS docs, taken;'
		  . ' CREATE TABLE docs (id int, v tsvector)'
		  . ' WITH (autovacuum_enabled = off);'
		  . ' CREATE TABLE taken (tid tid, id int);'
		  . ' CREATE INDEX docs_v ON docs USING skipidx (v)'
		  . " WITH (block_size = '$block_size', pending_limit = '10MB')");
	for my $first (1, 1501)
	{
		insert('old', $first, $first + 1499);
		$s->value("SELECT skipidx_flush('docs_v')") if $merge;
	}
	return;
}

# Starts the statement and sees it stop; go_on lets it end.
sub stop_at
{
	my ($point, $statement, $what) = @_;

	$s->value('SELECT pg_advisory_lock(7564152, ' . skx_fault_lock($point) . ')');
	$worker->value("SET skipidx.fault = '$point:wait'");
	$worker->start($statement);
	ok($node->poll_query_until('d', 'SELECT count(*) = 1 FROM pg_locks'
			  . " WHERE locktype = 'advisory' AND NOT granted"),
		"$what: stopped there");
	return;
}

sub go_on
{
	my ($what) = @_;

	$s->value('SELECT pg_advisory_unlock_all()');
	like($worker->finish, qr/^\d+$/, "$what: went on");
	return;
}

sub same_answers
{
	my ($what) = @_;

	for my $query (@queries)
	{
		my $want = found('seq', $query);

		is(found($_, $query), $want, "$what: $query, $_") for qw(bitmap plain);
	}
	unlike($s->raw("SELECT skipidx_check('docs_v', true)"), qr/ERROR/,
		"$what: skipidx_check");
	return;
}

sub race
{
	my ($block_size, $point, $statement, $carried) = @_;
	my $what = "$block_size, $point, " . ($statement =~ /(flush|merge)/)[0];

	set_up($block_size, $statement =~ /merge/);
	# dead to everybody by the time the statement takes its snapshot
	$s->value('DELETE FROM docs WHERE id % 7 = 0');
	stop_at($point, $statement, $what);
	cmp_ok(replace_rows(), '>', 300, "$what: places used again");
	go_on($what);
	is( $s->value('SELECT sum(deleted) = 428 FROM'
			  . " skipidx_segments('docs_v') WHERE kind = 'segment'"),
		$carried ? 't' : 'f',
		"$what: deletes carried over");
	is( $s->value("SELECT ndocs - deleted FROM skipidx_stats('docs_v')"),
		$s->value('SELECT count(*) FROM docs'),
		"$what: live documents");
	same_answers($what);
	return;
}

# The reader knows the index as it was before, and reads most of it after.
sub race_of_reader
{
	my ($block_size, $point, $statement) = @_;
	my $what = "$block_size, $point, " . ($statement =~ /(flush|merge)/)[0] . ', old reader';

	set_up($block_size, $statement =~ /merge/);
	$reader->value('SET enable_seqscan = off; SET enable_bitmapscan = off;'
		  . ' BEGIN ISOLATION LEVEL REPEATABLE READ;'
		  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ 'old';"
		  . ' FETCH 10 FROM c');
	$s->value('DELETE FROM docs WHERE id % 7 = 0');
	stop_at($point, $statement, $what);
	replace_rows();
	go_on($what);
	$s->value("INSERT INTO docs SELECT i, 'later:1' FROM generate_series(1, 20000) i");
	$s->value("SELECT skipidx_flush('docs_v'), skipidx_merge('docs_v')");

	my @rest = split /\n/, $reader->value('FETCH ALL FROM c');

	is(scalar(@rest), 2990, "$what: has its rows");
	is($reader->value("SELECT count(*) FROM docs WHERE v @@ 'old'"),
		3000, "$what: finds them again");
	$reader->value('COMMIT');
	$s->value('VACUUM docs');
	same_answers($what);
	return;
}

for my $block_size ('8kB', '128kB')
{
	race($block_size, @$_) for @races;
	race_of_reader($block_size, @$_) for @races;
}

$_->close for $s, $worker, $reader;
$node->stop;
done_testing();
