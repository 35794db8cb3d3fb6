# Rows die, VACUUM takes them away and other rows take their places, all
# between the moment a flush or a merge reads its documents and the moment its
# segment becomes part of the index.  And readers that began before all that
# get what their snapshot has, however late.
#
# Long: every point where an operation can wait, and more rounds.
#
# Holds: maint 2, 5; manifest 6; merge 4; pending 6; writer 4

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_seed);
use Test::More;

my $all = $ENV{SKX_FAULTS_ALL};
my $seed = skx_seed(520);
my $node = skx_node('reuse', extra => ['--data-checksums'],
	conf => "work_mem = 16MB\nmaintenance_work_mem = 16MB\nskipidx.max_workers = 0");

note "seed $seed";
srand($seed);
$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

my $f = SkipidxFault->new($node, 'postgres', rows => 600, queries => 2, seed => $seed);
my $s = $f->{s};

$s->value("CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB')");
$s->value('CREATE TABLE gone (tid tid); SET enable_hashjoin = on');

# Rows of several sessions, so that several stripes have some.
sub insert_from
{
	my ($sessions, $k) = @_;
	my @s = map { $f->session } 1 .. $sessions;

	$_->value("SELECT add($k, 'small')") for @s;
	$_->close for @s;
	return;
}

# Deletes most rows from `first` on and few of the others: a merge is not to
# find its own output worth another merge.
sub delete_rows
{
	my ($first) = @_;

	$s->value('TRUNCATE gone');
	$s->value('WITH d AS (DELETE FROM docs WHERE random() <'
		  . " CASE WHEN id >= $first THEN 0.6 ELSE 0.02 END RETURNING ctid)"
		  . ' INSERT INTO gone SELECT ctid FROM d');
	return;
}

# Takes them away and inserts as many; returns how many of these, which the
# session that inserts them counts, took a dead row's place.  Rows of several
# sessions go to several stripes.  The file stays as long as it is, and no
# worker is there: else what has many deleted documents would be merged before
# anybody looks.
sub replace_rows
{
	my ($end) = @_;
	my $k = 1 + int($s->value('SELECT count(*) FROM gone') / 4);
	my $took = 0;

	$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
	for (1 .. 4)
	{
		my $inserter = $f->session;
		my $first = newest_id();

		$took += $inserter->value("BEGIN; SELECT add($k, 'small') \\g /dev/null\n"
			  . "SELECT count(*) FROM docs JOIN gone ON tid = docs.ctid WHERE id >= $first; $end;\n");
		$inserter->close;
	}
	return $took;
}

sub newest_id { return $s->value('SELECT last_value + 1 FROM ids'); }

# An operation waits at a point while dead rows make place for others under
# it.  They have died before: as long as it has a snapshot, VACUUM would leave
# them otherwise.  Rows of a transaction that was rolled back are nobody's at
# once; with these the places are used twice.
sub under
{
	my ($what, $point, $nth, $vacuums) = @_;
	my $name = "$what waits at $point" . ($nth > 1 ? " ($nth)" : '') . ", $vacuums VACUUM";
	my $victim = $f->session;
	my $first = newest_id();

	# pending rows in all stripes; for a merge they are a segment of their own
	insert_from(8, 25);
	if ($what =~ /merge/)
	{
		$s->value("SELECT skipidx_flush('docs_v')");
		cmp_ok($f->stat('segments'), '>=', 2, "$name: something to merge");
	}
	else
	{
		cmp_ok($f->stat('pending_docs'), '>=', 200, "$name: something to flush");
	}
	delete_rows($first);
	my $generation = $f->stat('generation');

	$f->hold($s, $point);
	$f->arm($victim, $point, 'wait', $nth);
	$victim->start($what eq 'flush' ? "SELECT skipidx_flush('docs_v')" : "SELECT skipidx_merge('docs_v', 1)");
	if (!ok($f->waits($s, $point), "$name: it does"))
	{
		$f->release($s, $point);
		diag($victim->finish);
		$victim->close;
		return;
	}
	if ($vacuums > 1)
	{
		cmp_ok(replace_rows('ROLLBACK'), '>', 50, "$name: rows took the places of dead ones");
		is($s->raw("SELECT skipidx_flush('docs_v') \\g /dev/null\n"), '', "$name: a flush meanwhile")
		  if $what eq 'merge and flush';
	}
	cmp_ok(replace_rows('COMMIT'), '>', 50, "$name: rows took the places of dead ones for good");
	$f->agrees("$name, meanwhile", 3);
	is($s->raw("SELECT skipidx_flush('docs_v') \\g /dev/null\n"), '', "$name: a flush meanwhile")
	  if $what eq 'merge and flush';
	$f->release($s, $point);
	unlike($victim->finish, qr/ERROR/, "$name: it ends well");
	$victim->close;
	cmp_ok($f->stat('generation'), '>', $generation, "$name: and has done something");

	# The newest segment was built from rows that have gone since.
	cmp_ok($s->value("SELECT deleted FROM skipidx_segments('docs_v') WHERE segment IS NOT NULL ORDER BY segment DESC LIMIT 1"),
		'>', 20, "$name: late deletes were carried over")
	  || diag($s->raw("SELECT * FROM skipidx_segments('docs_v');\n"))
	  if $what ne 'merge and flush' && $point =~ /mapped|read|built/;
	cmp_ok($f->stat('pending_docs'), '>', 0, "$name: the new rows are still pending")
	  if $what ne 'merge and flush' && $point ne 'reserve_flipped';
	$f->agrees($name, 2);
	$s->value('VACUUM (INDEX_CLEANUP ON) docs');
	$f->exact($name);
	$s->value("SELECT skipidx_flush('docs_v')");
	$s->value("SELECT skipidx_merge('docs_v', 1)");
	$f->agrees("$name, all merged", 4);
	return;
}

my @short = (
	[ 'flush', 'flush_stripe', 2, 1 ],
	[ 'flush', 'flush_built', 1, 2 ],
	[ 'merge', 'merge_built', 1, 1 ],
	[ 'merge and flush', 'merge_mapped', 1, 2 ]);
my @long = map {
	my $vacuums = $_;

	([ 'flush', 'reserve_flipped', 1, $vacuums ],
		(map { [ 'flush', 'flush_stripe', $_, $vacuums ] } 2 .. 4),
		[ 'flush', 'flush_read', 1, $vacuums ],
		[ 'flush', 'flush_built', 1, $vacuums ],
		(map {
			my $what = $_;
			map { [ $what, $_, 1, $vacuums ] } qw(reserve_flipped merge_mapped merge_built)
		} 'merge', 'merge and flush'))
} 1 .. 2;

under(@$_) for $all ? @long : @short;

# ---- VACUUM in the middle of its marks: publishing waits for it ----

{
	my $vacuum = $f->session;
	my $flush = $f->session;

	insert_from(4, 20);
	$s->value('SELECT drop_some(100)');
	$f->hold($s, 'vacuum_segment_marked');
	$f->arm($vacuum, 'vacuum_segment_marked', 'wait');
	$vacuum->start('VACUUM (INDEX_CLEANUP ON) docs');
	ok($f->waits($s, 'vacuum_segment_marked'), 'VACUUM waits');
	$flush->start("SELECT skipidx_flush('docs_v')");

	my $pid = $flush->backend;

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE pid = $pid"
			  . " AND locktype = 'page' AND NOT granted"), 'a flush waits for it');
	$f->agrees('VACUUM in the middle', 2);
	$f->release($s, 'vacuum_segment_marked');
	unlike($vacuum->finish, qr/ERROR/, 'VACUUM ends');
	unlike($flush->finish, qr/ERROR/, 'the flush ends');
	$_->close for $vacuum, $flush;
	$f->agrees('VACUUM, then a flush', 2);
	$s->value('VACUUM (INDEX_CLEANUP ON) docs');
	$f->exact('VACUUM, then a flush');
}

# ---- long readers ----

my $size_query = "SELECT pg_relation_size('docs_v')";

sub round
{
	insert_from(4, 30);
	$s->value("SELECT drop_some(120)");
	$s->value("SELECT skipidx_flush('docs_v')");
	$s->value("SELECT skipidx_merge('docs_v', 1)");
	$s->value('VACUUM (INDEX_CLEANUP ON) docs');
	return $s->value($size_query);
}

# What was freed before is used up or needed by nobody when the readers begin.
round() for 1 .. 3;

my $rounds = $all ? 24 : 12;
my @readers;

for my $isolation ('REPEATABLE READ', 'READ COMMITTED')
{
	for my $method (qw(buffered direct uring_direct shared_buffers))
	{
		my $r = $f->session;

		$r->value("SET enable_seqscan = off; SET enable_bitmapscan = off;"
			  . " SET skipidx.io_method = $method; SET statement_timeout = 0;"
			  . " BEGIN ISOLATION LEVEL $isolation;"
			  . " DECLARE c CURSOR FOR SELECT id FROM docs WHERE v @@ '!nosuchword';"
			  . " DECLARE d CURSOR FOR SELECT id FROM docs WHERE v @@ 'b:*'");
		push @readers,
		  { name => "$isolation, $method",
			s => $r,
			all => $r->value("SET enable_seqscan = on; SELECT id FROM docs WHERE v IS NOT NULL ORDER BY id"),
			some => $r->value("SET enable_indexscan = off; SELECT id FROM docs WHERE v @@ 'b:*' ORDER BY id"),
			got_all => [ split /\n/, $r->value('FETCH 5 FROM c') ],
			got_some => [] };
		$r->value('SET enable_indexscan = on; SET enable_seqscan = off');
	}
}
like($readers[0]{s}->value("EXPLAIN (COSTS OFF) SELECT id FROM docs WHERE v @@ 'b:*'"),
	qr/Index Scan using docs_v/, 'the readers use the index');
# The cursor d first looks at the index when everything has changed.

my @sizes;

for my $i (1 .. $rounds)
{
	push @sizes, round();
	for my $r (@readers)
	{
		push @{ $r->{got_all} }, split /\n/, $r->{s}->value('FETCH 7 FROM c');
		push @{ $r->{got_some} }, split /\n/, $r->{s}->value('FETCH 3 FROM d') if $i > 2;
		next unless $r->{name} =~ /REPEATABLE/;
		is($r->{s}->value("SELECT count(*) FROM docs WHERE v @@ '!nosuchword'"),
			scalar(split /\n/, $r->{all}), "$r->{name}: a new scan of the old snapshot, round $i")
		  if $i % 4 == 0;
	}
}
note "sizes under readers: @sizes";
# A round writes some 250 kB: five without any use of freed pages would be 1.2 MB.
cmp_ok($sizes[-1] - $sizes[-6], '<', 700_000, 'what no reader has is used again: the file hardly grows');
cmp_ok($f->stat('waiting_pages'), '>', 20, 'what they have waits for them');
for my $r (@readers)
{
	push @{ $r->{got_all} }, split /\n/, $r->{s}->value('FETCH ALL FROM c');
	push @{ $r->{got_some} }, split /\n/, $r->{s}->value('FETCH ALL FROM d');
	is(join("\n", sort { $a <=> $b } @{ $r->{got_all} }), $r->{all}, "$r->{name}: the rows of its snapshot");
	is(join("\n", sort { $a <=> $b } @{ $r->{got_some} }), $r->{some}, "$r->{name}: and of the second cursor");
	$r->{s}->value('COMMIT');
	$r->{s}->close;
}

# They are gone: what was freed is used, and the file stays as it is, but for the
# pages that are left to flushes, as lists grow.
round() for 1 .. 3;
my $settled = $s->value($size_query);

$f->mark;
$s->value("SET skipidx.fault = 'reuse_logged:note'");
round() for 1 .. 5;
cmp_ok($s->value($size_query) - $settled, '<', 300_000, 'then all pages are used again: it hardly grows');
cmp_ok($f->reached('reuse_logged', 'note'), '>', 0, 'standbys are told');
$s->value("RESET skipidx.fault");
$f->agrees('after the readers', 1);
$s->value('VACUUM (INDEX_CLEANUP ON) docs');
$f->exact('after the readers');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing else in the log');
$s->close;
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ], 'pg_checksums');
done_testing();
