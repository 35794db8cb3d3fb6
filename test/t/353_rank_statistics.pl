# Statistics of an index that a session keeps from one transaction to the next:
# the same numbers as those that a session reads that has just come, whatever
# was done to the index meanwhile and by whom; the same under one snapshot; and
# none are read where nothing was done.
#
# Long: 3000 steps, else 250.
#
# Holds: score 1, 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $seed = skx_seed(353);
my $steps = $ENV{SKX_FAULTS_ALL} ? 3000 : 250;

note "seed $seed";
srand($seed);

my $node = skx_node('rank_statistics', conf => "allow_in_place_tablespaces = on\nskipidx.max_workers = 0\n");
my ($reader, @writers) = map { skx_session($node, 'postgres') } 1 .. 4;
my $writer = $writers[0];

$writer->value('CREATE EXTENSION skipidx');
$writer->value("CREATE TABLESPACE elsewhere LOCATION ''");
$writer->value(<<'SQL');
CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '1GB', proximity = 0.2);
CREATE FUNCTION add(seed int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (v) SELECT (SELECT string_agg(format('w%s:%s', floor(exp((hashint4(i * 37 + p) & 65535) / 65536.0 * 4) - 1), p), ' ')
		FROM generate_series(1, 2 + (hashint4(i) & 7)) p)::tsvector FROM generate_series(seed, seed + n - 1) i
$$;
-- Of a document that is in no table, so that nothing but statistics matters.
CREATE FUNCTION score_of(q tsquery, index text DEFAULT 'docs_v') RETURNS text LANGUAGE sql AS $$
	SELECT skipidx_bm25(index::regclass, v, q) || ' ' || skipidx_proximity(index::regclass, v, q)
	FROM (SELECT 'w0:1 w1:2 w2:3 w3:4 w5:5 w9:6 w20:7 new:8'::tsvector AS v) x
$$;
SELECT add(1, 300);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT add(301, 50);
SQL

# Pages that were pinned for what the session is asked.
sub pins
{
	my ($sql) = @_;
	my $count = q{SELECT coalesce(sum(pins), 0) FROM skipidx_io_methods() WHERE scope = 'session'};
	my $before = $reader->value($count);

	$reader->value($sql);
	return $reader->value($count) - $before;
}

# What a session says that has just come.
sub fresh
{
	my ($sql) = @_;
	my $s = skx_session($node, 'postgres');
	my $said = $s->value($sql);

	$s->close;
	return $said;
}

# ---- nothing is read twice ----

my $ask = "SELECT score_of('w0 & w1:* & w9')";

cmp_ok(pins($ask), '>', 0, 'the first time, segments are read');
is(pins($ask), 0, 'in the next transaction, they are not');
cmp_ok(pins("SELECT score_of('w0 & w2')"), '>', 0, 'for another word they are');
is(pins($ask), 0, 'which does not make those before forgotten');
$reader->value("CREATE TABLE other AS SELECT 'w0'::tsvector AS v; CREATE INDEX other_v ON other USING skipidx (v)");
my ($cold, $other) = map { $reader->value($ask); pins("SELECT score_of('w0', 'other_v')") } 1 .. 2;

cmp_ok($cold, '>', 0, 'another index is read');
is($other, 0, 'and once, if both are used by turns');
$reader->value($ask);
is(pins("BEGIN; SELECT score_of('w0', 'other_v'); $ask; COMMIT"), $other, 'nor when another index is used before it');
cmp_ok(pins("BEGIN; $ask; ROLLBACK; $ask"), '>', 0, 'a transaction that is undone leaves nothing');
$reader->value("SELECT score_of(skipidx_any('simple', string_agg(repeat('a', 1000) || $_ || i, ' '))) FROM generate_series(1, 700) i")
  for 1, 2;
cmp_ok(pins($ask), '>', 0, 'words are not kept when they are many');
is(pins($ask), 0, 'but again then');

# ---- one thing is done ----

# Passes if the reader, who has asked before, is told what is true.
sub true_after
{
	my ($name, $sql, %opt) = @_;
	my $before = $reader->value($ask);

	($opt{by} // $writer)->value($sql);
	my $now = $reader->value($opt{ask} // $ask);

	is($now, fresh($opt{ask} // $ask), $name);
	isnt($now, $before, "$name: other numbers") if $opt{other};
	return;
}

true_after('a document more', "INSERT INTO docs (v) VALUES ('w9')", by => $_, other => 1) for @writers;
true_after('flushed', "SELECT skipidx_flush('docs_v')");
true_after('deleted', 'DELETE FROM docs WHERE id % 3 = 0');
true_after('merged without what was deleted', "VACUUM docs; SELECT skipidx_merge('docs_v', 1)", other => 1);
true_after('built again', 'DELETE FROM docs WHERE id % 5 = 0; REINDEX INDEX docs_v', other => 1);
true_after('emptied', 'TRUNCATE docs; SELECT add(1, 100)', other => 1);
true_after('moved, asked for other words', 'ALTER INDEX docs_v SET TABLESPACE elsewhere', ask => "SELECT score_of('w2 & w3')");
true_after('another option', 'ALTER INDEX docs_v SET (k1 = 2)', other => 1);
$writer->value('ALTER INDEX docs_v RESET (k1)');

# Emptied in place under one snapshot: neither transaction ids nor command ids
# tell of it.
for my $index ('new_v', 'parts_v')
{
	my $table = $index eq 'new_v' ? 'new' : 'parts';
	my @said = split /\n/, $reader->raw(<<SQL);
BEGIN;
CREATE TABLE $table (id int, v tsvector) ${\ ($table eq 'parts' ? 'PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parts DEFAULT' : '')};
CREATE INDEX $index ON $table USING skipidx (v) ${\ ($table eq 'parts' ? '' : 'WITH (pending_limit = \'64kB\')')};
INSERT INTO $table SELECT i, ('a b' || i)::tsvector FROM generate_series(1, 5000) i;
SELECT count(*) FROM skipidx_search('${\ ($table eq 'parts' ? 'part_v_idx' : $index)}', 'a | b7', 7);
SELECT score_of('w0 & a', '$index') <> '';
TRUNCATE $table;
SELECT count(*) FROM skipidx_search('${\ ($table eq 'parts' ? 'part_v_idx' : $index)}', 'a | b7', 7);
SELECT score_of('w0 & a & b9', '$index') <> '';
SELECT count(*) FROM (SELECT 1 FROM $table WHERE v @@ 'a | b9' ORDER BY v <@> 'a | b9'::tsquery LIMIT 10) x;
ROLLBACK;
SQL
	is("@said", '7 t 0 t 0', "$index: emptied in place");
}

# The same file under another index: it is emptied in place, and gets as many
# documents in as many steps.
$reader->value("CREATE TEMP TABLE mine (v tsvector) ON COMMIT DELETE ROWS; CREATE INDEX mine_v ON mine USING skipidx (v)");
my $mine = "SELECT score_of('w0 | w1', 'mine_v')";
my @mine = map {
	my @rows = split /\n/, $reader->value("BEGIN; INSERT INTO mine SELECT '$_'::tsvector FROM generate_series(1, 5);"
		  . " SELECT pg_relation_filepath('mine_v'); $mine; COMMIT");
	\@rows
} 'w0', 'w1 w0', 'w0';

is($mine[1][0], $mine[0][0], 'emptied in place: the same file');
isnt($mine[1][1], $mine[0][1], 'emptied in place: other documents');
is($mine[2][1], $mine[0][1], 'emptied in place: the first ones again');

# One snapshot, with statistics of a transaction before.  `between`: what is done
# after that, which leaves them as they are.  They are asked for once by each
# statement.
sub one_snapshot
{
	my ($name, $between) = @_;
	my $ask = "SELECT skipidx_bm25('docs_v', 'w0:1 w9:2', 'w0 & w1:* & w9')";

	$reader->value($ask);
	$writer->value($between);
	$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my @same = $reader->value($ask);

	$writer->value("INSERT INTO docs (v) SELECT 'w0 w9 new' FROM generate_series(1, 7)");
	push @same, $reader->value($ask);
	$writer->value("SELECT skipidx_flush('docs_v') \\g /dev/null\n DELETE FROM docs WHERE id % 2 = 0; VACUUM docs; SELECT skipidx_merge('docs_v', 1)");
	push @same, $reader->value($ask);
	$reader->value('COMMIT');
	is("@same[1, 2]", "@same[0, 0]", "$name: one snapshot, one statistics");
	is($reader->value($ask), fresh($ask), "$name: and then the next");
	return;
}

one_snapshot('as it was', 'SELECT');
one_snapshot('another snapshot', 'CREATE TABLE something ()');
one_snapshot('moved', 'ALTER INDEX docs_v SET TABLESPACE pg_default');

# ---- many things are done ----

my @words = (map({ "w$_" } 0 .. 12, 20, 30), 'w1:*', 'w2:*', 'new', 'absent');
my $at = 1000;

sub word { return $words[ rand @words ]; }

sub query { return join((' & ', ' | ', ' <-> ')[ rand 3 ], map { word() } 1 .. 1 + rand 3); }

# By any session, in a transaction of its own.
my @writes = (
	sub { $at += 100; 'SELECT add(' . $at . ', ' . (1 + int rand 9) . ')' },
	sub { $at += 100; "SELECT add($at, 1)" },
	sub { "INSERT INTO docs (v) VALUES ('@{[ word() =~ s/:.*//r ]}:3 new:9')" },
	sub { 'INSERT INTO docs (v) VALUES (NULL)' },
	sub { 'DELETE FROM docs WHERE id % 11 = ' . int rand 11 },
	sub { "UPDATE docs SET v = v || 'new:60' WHERE id % 13 = " . int rand 13 },
	sub { 'VACUUM docs' },
	sub { "SELECT skipidx_flush('docs_v')" },
	sub { "SELECT skipidx_flush('docs_v')" },
	sub { "SELECT skipidx_merge('docs_v', 1)" },
	sub { rand 4 < 1 ? 'REINDEX INDEX docs_v' : "SELECT skipidx_merge('docs_v', 1)" },
	sub { rand 6 < 1 ? 'TRUNCATE docs; SELECT add(1, 60)' : "SELECT skipidx_flush('docs_v')" },
	sub { rand 4 < 1 ? 'ALTER INDEX docs_v SET TABLESPACE ' . (rand 2 < 1 ? 'elsewhere' : 'pg_default') : 'VACUUM docs' },
	sub { rand 6 < 1 ? 'DROP INDEX docs_v; CREATE INDEX docs_v ON docs USING skipidx (v) WITH (proximity = 0.2)' : "SELECT add(5, 5)" });

# By the reader, who asks in the same transaction: a savepoint or all of it may
# be undone.
sub own
{
	my $write = sub {
		my $w;
		do { $w = $writes[ rand @writes ]->() } while $w =~ /VACUUM|TABLESPACE/;
		$w
	};
	my $look = sub { "SELECT score_of('" . query() . "')" };

	return (
		sub { join '; ', 'BEGIN', $write->(), $look->(), 'COMMIT' },
		sub { join '; ', 'BEGIN', $look->(), $write->(), $look->(), 'ROLLBACK' },
		sub { join '; ', 'BEGIN', 'SAVEPOINT a', $write->(), $look->(), 'ROLLBACK TO a', $look->(), 'COMMIT' },
		sub { join '; ', 'BEGIN', 'SAVEPOINT a', $write->(), $look->(), 'RELEASE a', $look->(), $write->(), 'COMMIT' },
		sub { join '; ', 'BEGIN', $look->(), $write->(), 'COMMIT' },
		sub { $look->() })[ rand 6 ]->();
}

my %bad;

for my $step (1 .. $steps)
{
	my @did;

	for (1 .. 1 + rand 3)
	{
		my $own = rand 4 < 1;
		my $session = $own ? $reader : $writers[ rand @writers ];

		push @did, ($own ? 'reader: ' : 'writer: ') . (my $sql = $own ? own() : $writes[ rand @writes ]->());
		$session->value($sql);
	}
	my $query = query();
	my $sql = "SELECT score_of('$query'), (SELECT string_agg(id || ':' || d, ' ') FROM"
	  . " (SELECT id, v <\@> '$query'::tsquery AS d FROM docs WHERE v \@\@ '$query' ORDER BY v <\@> '$query' LIMIT 5) x)";
	my $settings = 'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;';

	my ($got, $again) = map { $reader->value("$settings $sql") } 1 .. 2;
	my $want = fresh("$settings $sql");

	$bad{$step} = join("\n", @did, $query, "got  $got", "then $again", "want $want") if $got ne $want || $again ne $want;
}
is(scalar(keys %bad), 0, "$steps steps of several writes: what a session says that has just come");
diag(map { "step $_:\n$bad{$_}\n" } (sort { $a <=> $b } keys %bad)[ 0 .. (keys %bad > 3 ? 2 : keys(%bad) - 1) ]) if %bad;

unlike($writer->raw("SELECT skipidx_check('docs_v', true)"), qr/ERROR/, 'skipidx_check');
$_->close for $reader, @writers;
$node->stop;
done_testing();
