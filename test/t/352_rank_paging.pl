# Pages of one snapshot are parts of one sequence, however they are fetched,
# while another session inserts, deletes, flushes, merges and vacuums between
# them.
#
# Long: 12 rounds, else 3.
#
# Holds: score 1; topk 1, 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

srand(skx_seed(352));

my $node = skx_node('rank_paging', conf => "skipidx.cache_size = 4MB");
my ($reader, $writer) = map { skx_session($node, 'postgres') } 1 .. 2;

# Words w0.. by Zipf's law, up to 12 a document, at random places.
$writer->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial PRIMARY KEY, v tsvector, n int DEFAULT 0) WITH (autovacuum_enabled = off, fillfactor = 70);
CREATE FUNCTION words(seed int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg(format('w%s:%s', floor(exp(u * 6) - 1), p), ' ')::tsvector FROM (SELECT
		(hashint4(seed * 37 + p) & 65535) / 65536.0 AS u, p
		FROM generate_series(1, 3 + (hashint4(seed) & 15)) p WHERE hashint4(seed + p * 4096) % 3 <> 0) x
$$;
CREATE FUNCTION add(seed int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (v) SELECT CASE WHEN i % 40 <> 0 THEN words(i) END FROM generate_series(seed, seed + n - 1) i
$$;
-- So that every version of a row has its own TID in the index: equal distances
-- come in this order.
CREATE INDEX docs_n ON docs (n);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '1GB', proximity = 0.2);
SELECT add(1, 3000);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT add(10000, 700);
SELECT skipidx_flush('docs_v') \g /dev/null
SELECT add(20000, 300);
ANALYZE docs;
-- Not known to the planner for what it is: rows fall out above the scan.
CREATE FUNCTION some_of(id int) RETURNS bool LANGUAGE plpgsql VOLATILE COST 1 AS $$ BEGIN RETURN id % 7 IN (2, 5); END $$;
SQL

my %statement = (
	or => q{FROM docs WHERE v @@ 'w1 | w2 | w9' ORDER BY v <@> 'w1 | w2 | w9'::tsquery},
	and => q{FROM docs WHERE v @@ 'w0 & w1' ORDER BY v <@> 'w0 & w1'::tsquery},
	phrase => q{FROM docs WHERE v @@ 'w0 <-> w1' ORDER BY v <@> 'w0 <-> w1'::tsquery},
	not => q{FROM docs WHERE v @@ 'w0 & !w3' ORDER BY v <@> 'w0 & !w3'::tsquery},
	prefix => q{FROM docs WHERE v @@ 'w1:*' ORDER BY v <@> 'w1:*'::tsquery},
	apart => q{FROM docs WHERE v @@ 'w0' ORDER BY v <@> 'w4 | w5 | w6'::tsquery},
	everything => q{FROM docs ORDER BY v <@> 'w2 | w30'::tsquery},
	filtered => q{FROM docs WHERE v @@ 'w0 | w5' AND some_of(id) ORDER BY v <@> 'w0 | w5'::tsquery},
	column => q{FROM docs WHERE v @@ 'w0 | w5' AND n < 3 ORDER BY v <@> 'w0 | w5'::tsquery});
my @names = sort keys %statement;

sub expression
{
	my ($name) = @_;
	my ($d) = $statement{$name} =~ /ORDER BY (.*)$/;

	return "ctid || ' ' || coalesce(($d)::text, 'null')";
}

my $seq = 'SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_indexscan = off;'
  . ' SET LOCAL enable_bitmapscan = off';
my $ind = 'SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_indexscan = on;'
  . ' SET LOCAL enable_bitmapscan = off';

# One round: a snapshot, all that it has by rank, then pages with changes
# between them.
my @changes = (
	[ insert => 'SELECT add(%d, 150)' ],
	[ delete => 'DELETE FROM docs WHERE id %% 23 = %d %% 23' ],
	[ update => "UPDATE docs SET v = v || 'w1:40 w9:41', n = n + 1 WHERE id %% 19 = %d %% 19" ],
	[ flush => "SELECT skipidx_flush('docs_v')" ],
	[ merge => "SELECT skipidx_merge('docs_v', 1)" ],
	[ vacuum => 'VACUUM docs' ],
	[ move => "UPDATE docs SET v = words(id + %d), n = n + 1 WHERE id %% 29 = 4" ]);
my $at = 100000;

sub change
{
	my ($which) = @_;
	my ($name, $sql) = @{ $changes[$which] };
	my $text = $sql =~ /%d/ ? sprintf($sql, $at += 1000) : $sql;
	my $got = $writer->raw("$text;");

	unlike($got, qr/ERROR/, $name);
	return;
}

sub round
{
	my ($round) = @_;
	my (%want, %given, %open, %done);

	$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->value($round % 2 ? $seq : $ind);
	for my $name (@names)
	{
		# The oracle comes first, in the middle or last.
		next if $round % 3 == 1;
		$reader->value($seq);
		$want{$name} = [ split /\n/, $reader->value('SELECT ' . expression($name) . " $statement{$name}, ctid") ];
	}
	$reader->value($ind);
	for my $name (@names)
	{
		$reader->value("DECLARE c_$name NO SCROLL CURSOR FOR SELECT " . expression($name) . " $statement{$name}");
		$given{$name} = [];
		$open{$name} = 1;
	}
	my %limit = map { $_ => 1 } @names;
	my %longest;
	my $step = 0;

	while (%open && $step < 40)
	{
		change(($step + $round) % @changes) if $step < 2 * @changes;
		$step++;
		for my $name (@names)
		{
			next unless $open{$name};
			my $n = (1, 3, 10, 40, 170, 600)[ $step < 6 ? $step - 1 : 5 ];
			my @page = split /\n/, $reader->value("FETCH $n FROM c_$name");

			push @{ $given{$name} }, @page;
			delete $open{$name} if @page < $n;

			# The first ones again, and some more.
			next if $done{$name} || $step > 12;
			$limit{$name} = $limit{$name} * 2 + $step;
			my @top = split /\n/, $reader->value('SELECT ' . expression($name) . " $statement{$name} LIMIT $limit{$name}");

			if ($longest{$name})
			{
				my $m = @{ $longest{$name} };

				fail("$name: a growing LIMIT keeps its rows, round $round, step $step")
				  if "@top[0 .. ($m > @top ? @top : $m) - 1]" ne "@{$longest{$name}}";
			}
			$longest{$name} = \@top;
			$done{$name} = 1 if @top < $limit{$name};
		}
	}
	for my $name (@names)
	{
		if (!$want{$name})
		{
			$reader->value($seq);
			$want{$name} = [ split /\n/, $reader->value('SELECT ' . expression($name) . " $statement{$name}, ctid") ];
		}
		my $n = @{ $want{$name} };
		my $m = @{ $longest{$name} };

		cmp_ok($n, '>', 30, "$name: rows");
		ok("@{$given{$name}}" eq "@{$want{$name}}", "$name: pages of a cursor, $n rows, round $round")
		  or diag(first_difference($given{$name}, $want{$name}));
		ok("@{$longest{$name}}" eq "@{$want{$name}}[0 .. $m - 1]", "$name: growing LIMIT, $m rows, round $round")
		  or diag(first_difference($longest{$name}, [ @{ $want{$name} }[ 0 .. $m - 1 ] ]));
	}

	# What the others did does matter, and is not seen here.
	my $here = $reader->value("$ind; SELECT v <@> 'w9'::tsquery FROM docs WHERE v @@ 'w9' ORDER BY 1 LIMIT 1");

	$reader->value('COMMIT');
	my $now = $reader->value("SELECT v <@> 'w9'::tsquery FROM docs WHERE v @@ 'w9' ORDER BY 1 LIMIT 1");

	isnt($now, $here, "statistics have moved, round $round");
	return;
}

sub first_difference
{
	my ($got, $want) = @_;
	my $n = @$got > @$want ? @$got : @$want;

	for my $i (0 .. $n - 1)
	{
		my ($g, $w) = ($got->[$i] // 'nothing', $want->[$i] // 'nothing');

		return "of " . @$got . " and " . @$want . " rows, at $i $g for $w" if $g ne $w;
	}
	return 'none';
}

$reader->value($ind =~ s/LOCAL //gr);
like($reader->value("EXPLAIN (COSTS OFF) SELECT id $statement{filtered} LIMIT 10"),
	qr/Index Scan using docs_v on docs\n +Index Cond.*\n +Order By.*\n +Filter: some_of/, 'plan: filter above the scan');
like($reader->value("EXPLAIN (COSTS OFF) SELECT id $statement{everything} LIMIT 10"),
	qr/Index Scan using docs_v on docs\n +Order By/, 'plan: no filter');
round($_) for 1 .. ($ENV{SKX_FAULTS_ALL} ? 12 : 3);

# ---- under one snapshot, pages of different cursors of one query ----

$reader->value("BEGIN ISOLATION LEVEL REPEATABLE READ; $ind");
$reader->value("DECLARE $_ NO SCROLL CURSOR FOR SELECT " . expression('or') . " $statement{or}") for qw(one two);
my (@one, @two);

for my $step (1 .. 6)
{
	push @one, split /\n/, $reader->value('FETCH 7 FROM one');
	change($step % @changes);
	push @two, split /\n/, $reader->value('FETCH 14 FROM two') if $step % 2;
}
is("@one", "@two", 'two cursors');
$reader->value('COMMIT');

# ---- back and forth ----

$reader->value("BEGIN ISOLATION LEVEL REPEATABLE READ; $ind");
$reader->value("DECLARE c SCROLL CURSOR FOR SELECT " . expression('or') . " $statement{or}");
my @there = split /\n/, $reader->value('FETCH 60 FROM c');

change(3);
change(4);
my @back = split /\n/, $reader->value('FETCH BACKWARD 30 FROM c');

is("@back", "@{[ reverse @there[ 29 .. 58 ] ]}", 'a scrolled cursor');
is($reader->value('FETCH ABSOLUTE 60 FROM c'), $there[59], 'and at a place');
$reader->value('COMMIT');

# ---- READ COMMITTED: a cursor keeps its snapshot and statistics ----

$reader->value("BEGIN; $seq");
my @want = split /\n/, $reader->value('SELECT ' . expression('or') . " $statement{or}, ctid");

$reader->value("$ind; DECLARE c NO SCROLL CURSOR FOR SELECT " . expression('or') . " $statement{or}");
my @got = split /\n/, $reader->value('FETCH 5 FROM c');

for my $which (0 .. $#changes)
{
	change($which);
	$reader->value("INSERT INTO docs (v) VALUES ('w1 w2 w9'); SELECT count(*) FROM docs");
	push @got, split /\n/, $reader->value('FETCH 30 FROM c');
}
push @got, split /\n/, $reader->value('FETCH ALL FROM c');
ok("@got" eq "@want", 'READ COMMITTED, a cursor of ' . @want . ' rows') or diag(first_difference(\@got, \@want));
$reader->value('COMMIT');

unlike($writer->raw("SELECT skipidx_check('docs_v', true)"), qr/ERROR/, 'skipidx_check');
$_->close for $reader, $writer;
$node->stop;
done_testing();
