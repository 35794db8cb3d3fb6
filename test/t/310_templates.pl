# Databases copied from one template share the identity of their indexes, down
# to the ids of their segments: the cache must not take one's pages for
# another's, before and after each changes in its own way.
#
# Holds: blkio 2, 3

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

my $node = skx_node('templates');
my @words = map { "w$_" } 0 .. 40;

srand(skx_seed(5));

$node->safe_psql('postgres', 'CREATE DATABASE origin');
$node->safe_psql('origin', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, ('all:1 w' || i % 41 || ':2 w' || i * 7 % 41 || ':3')::tsvector
	FROM generate_series(1, 20000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB');
INSERT INTO docs VALUES (50000, 'all pending');
SQL

# Resident pages of the template reach the copy through shared buffers, too.
$node->safe_psql('origin', "SET skipidx.io_method = $_; SET enable_seqscan = off;"
	  . q{ SELECT count(*) FROM docs WHERE v @@ 'all <-> w3'})
  for qw(shared_buffers buffered);

my %change = (
	logged_insert => q{INSERT INTO docs SELECT 60000 + i, 'all:1 w3:2'::tsvector FROM generate_series(1, 500) i; SELECT skipidx_flush('docs_v')},
	copied_insert => q{INSERT INTO docs SELECT 70000 + i, 'all:1 w4:2'::tsvector FROM generate_series(1, 700) i; SELECT skipidx_flush('docs_v')},
	logged_rebuilt => q{UPDATE docs SET v = 'all:1 w5:2' WHERE id % 3 = 0; REINDEX INDEX docs_v},
	copied_vacuumed => q{DELETE FROM docs WHERE id % 5 < 2; VACUUM docs; INSERT INTO docs SELECT 80000 + i, 'all:1 w6:2'::tsvector FROM generate_series(1, 900) i; SELECT skipidx_flush('docs_v')},
	logged_swapped => q{TRUNCATE docs; INSERT INTO docs SELECT i, ('all:1 w' || i % 13 || ':2')::tsvector FROM generate_series(1, 5000) i},
	copied_same => q{SELECT 1});
my @databases = sort keys %change;

for my $db (@databases)
{
	my $strategy = $db =~ /^logged/ ? 'wal_log' : 'file_copy';

	$node->safe_psql('postgres',
		"CREATE DATABASE $db TEMPLATE origin STRATEGY $strategy");
}
push @databases, 'origin';
# So do what they make of the same segment number, each for itself.
$change{origin} = q{INSERT INTO docs VALUES (50001, 'all late'); SELECT skipidx_flush('docs_v')};

is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_database'),
	@databases + 3, 'databases');

my %sessions;

sub ask
{
	my ($s, $word, $phrase) = @_;
	my $query = $phrase ? "'all' <-> '$word'" : "'all' & '$word'";

	return $s->value("SELECT count(*) || '/' || coalesce(sum(id), 0) FROM docs"
		  . " WHERE v @@ \$x\$$query\$x\$");
}

# Every session asks in turn, in random order of databases and words.
sub alternate
{
	my ($when, $method) = @_;
	my ($asked, $wrong) = (0, 0);
	my %wanted;

	for my $db (@databases)
	{
		$sessions{$db} //= [ map { skx_session($node, $db) } 1 .. 2 ];
		my $s = $sessions{$db}[0];

		$s->value('SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off');
		for my $word (@words, 'late', 'pending')
		{
			$wanted{$db}{$word}[$_] = ask($s, $word, $_) for 0, 1;
		}
		for (@{ $sessions{$db} })
		{
			$_->value("SET skipidx.io_method = $method; SET enable_seqscan = off;"
				  . ' SET enable_indexscan = on; SET enable_bitmapscan = on');
		}
	}
	for (1 .. 1200)
	{
		my $db = $databases[ rand @databases ];
		my $word = (@words, 'late', 'pending')[ rand(@words + 2) ];
		my $phrase = int rand 2;
		my $got = ask($sessions{$db}[ rand 2 ], $word, $phrase);

		$asked++;
		next if $got eq $wanted{$db}{$word}[$phrase];
		$wrong++;
		diag("$when, $db: $word: $got instead of $wanted{$db}{$word}[$phrase]")
		  if $wrong < 5;
	}
	is($wrong, 0, "$when: $asked queries right through $method");
	return;
}

# Blocks found in the cache: that it is shared is what this test is about.
sub hits
{
	return $sessions{origin}[0]->value(
		"SELECT hits FROM skipidx_io_totals() WHERE scope = 'total'");
}

alternate('copied', 'buffered');
my $before = hits();
cmp_ok($before, '>', 1000, 'the cache was used');

# Plans may change with the size of tables; the index must stay in use.
like($sessions{$_}[1]->value(q{EXPLAIN SELECT 1 FROM docs WHERE v @@ 'all & w3'}),
	qr/docs_v/, "$_: the index is used")
  for @databases;

for my $db (@databases)
{
	$node->safe_psql($db, $_) for split /; (?=VACUUM|REINDEX|INSERT|DELETE)/, $change{$db};
}
alternate('changed', 'buffered');
cmp_ok(hits(), '>', $before, 'the cache was used again');
alternate('changed', 'shared_buffers');

$node->safe_psql('postgres', 'CHECKPOINT');
alternate('after a checkpoint', 'buffered');

for my $db (@databases)
{
	is($sessions{$db}[0]->raw(q{SELECT count(*) FROM skipidx_check('docs_v', true)}),
		1, "$db: skipidx_check");
	$_->close for @{ $sessions{$db} };
}

# A copy of a copy, after its origin is gone and the oid's cache with it
%sessions = ();
$node->safe_psql('postgres', 'DROP DATABASE copied_same');
$node->safe_psql('postgres',
	'CREATE DATABASE copied_same TEMPLATE logged_rebuilt STRATEGY wal_log');
$node->stop('immediate');
$node->start;
alternate('after a crash', 'buffered');
$_->close for map { @$_ } values %sessions;

$node->stop;
done_testing();
