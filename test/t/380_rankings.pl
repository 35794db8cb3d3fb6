# Rankings as values, thousands of random ones: a scan of an index that was made
# for other parameters gives the rows and the bits of a sort, with and without a
# condition, in pages, by several processes, in every state of the index; and
# bytes and texts that are none are refused.
#
# Holds: functions 15, 16; ranking 2, 4, 5; score 8, 10, 12; topk 1, 10, 11, 16

use strict;
use warnings;
use FindBin;
use List::Util qw(min);
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use SkipidxWire qw(wire_ranking);
use Test::More;

my $seed = skx_seed(379);
my $rounds = $ENV{SKX_RANKINGS} // 10000;
my $node = skx_node('rankings', conf => "skipidx.cache_size = 16MB\nskipidx.max_workers = 0\nmax_parallel_workers = 4\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
my $s = skx_session($node, 'postgres');

sub pick { return $_[ rand @_ ]; }

# Words of all frequencies, with all labels, some many times, neighbours or not;
# documents from none to many words.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE FUNCTION body(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT string_agg('w' || (abs(hashint4(i * 31 + j)) % 100 * (abs(hashint4(i + 77 * j)) % 100)) / 400 || ':' || j || substr('ABCDDDDD', 1 + abs(hashint4(i * j)) % 8, 1), ' ')::tsvector
	FROM generate_series(1, 1 + abs(hashint4(i)) % CASE WHEN i % 40 = 0 THEN 200 WHEN i % 7 = 0 THEN 2 ELSE 20 END) j $$;
SQL
my @tables = (
	[ plain => '' ],
	[ zero => q{WITH (weights = '{0, 0, 0, 0}', k1 = 0, proximity = 0)} ],
	[ labels => q{WITH (weights = '{0, 0.1, 100, 3}', k1 = 100, b = 1, proximity = 5)} ],
	[ flat => q{WITH (b = 0, proximity = 100, pending_limit = '1GB')} ]);
for (@tables)
{
	my ($name, $with) = @$_;

	$s->value("CREATE TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off)");
	$s->value("INSERT INTO $name SELECT i, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 50 = 0 THEN '' WHEN i % 11 = 0 THEN strip(body(i)) ELSE body(i) END FROM generate_series(1, 900) i");
	$s->value("CREATE INDEX ${name}_v ON $name USING skipidx (v) $with");
	$s->value("INSERT INTO $name SELECT i, body(i) FROM generate_series(901, 1000) i");
	$s->value("DELETE FROM $name WHERE id % 13 = 0");
	$s->value("ANALYZE $name");
	# One function plans for the index, the other for a sort, each once.
	for ([ index => 'enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0', '' ],
		[ sort => 'enable_indexscan = off SET enable_bitmapscan = off SET max_parallel_workers_per_gather = 0', ', ctid' ])
	{
		my ($how, $set, $tie) = @$_;

		$s->value(<<"SQL");
CREATE FUNCTION ${name}_by_$how(r skipidx_ranking, q tsquery, k int) RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET $set AS \$f\$
BEGIN
	IF q IS NULL THEN
		RETURN (SELECT string_agg(id || ' ' || coalesce(float4send(d)::text, '-'), ',') FROM (SELECT id, v <@> r AS d FROM $name ORDER BY v <@> r$tie LIMIT k) x);
	END IF;
	RETURN (SELECT string_agg(id || ' ' || coalesce(float4send(d)::text, '-'), ',') FROM (SELECT id, v <@> r AS d FROM $name WHERE v @@ q ORDER BY v <@> r$tie LIMIT k) x);
END \$f\$;
SQL
	}
}
like($s->value(q{SET enable_seqscan = off; SET enable_sort = off; PREPARE p(skipidx_ranking) AS SELECT id FROM plain ORDER BY v <@> $1 LIMIT 5; SET plan_cache_mode = force_generic_plan; EXPLAIN EXECUTE p(NULL)}),
	qr/Order By: \(v <@> \$1\)/, 'a parameter is a key of the scan');
$s->value('RESET ALL; DEALLOCATE p');

# A number of any magnitude up to the most, ends included.
sub number
{
	my ($most) = @_;

	return sprintf '%d', min($most, pick(0, 1, $most, int(rand($most + 1)), map { int(exp(rand(log($most + 1)))) } 1 .. 6));
}

sub real
{
	my ($most) = @_;

	return pick(0, $most, rand($most), rand($most) / 100, rand($most) / 1e6);
}

# Groups of words, some of them in several, and with labels.
sub groups
{
	my ($ndocs) = @_;
	my @groups;

	return () if rand() < .5;
	for (1 .. pick(1, 1, 2, 3, 8))
	{
		my %in;
		my @words;

		for (1 .. pick(1, 2, 2, 3, 5, 20))
		{
			my $word = 'w' . pick(int(rand(25)), int(rand(5)), 99);
			my $factor = pick(1, 1, rand(1), rand(1) / 1e6, 1e-300);

			next if $in{$word}++;
			push @words, "'$word'" . (rand() < .2 ? ':' . pick(qw(A B C D AB ABCD)) : '') . '(df=' . number($ndocs) . ($factor > 0 && $factor < 1 ? ",factor=$factor" : pick('', ',exact')) . ')';
		}
		push @groups, 'group(' . (rand() < .2 ? 'times=' . (1 + int(rand(255))) . ',' : '') . (rand() < .2 ? 'factor=' . real(100) . ',' : '') . join(',', @words) . ')';
	}
	return @groups;
}

# Half of them have the numbers of documents that there are, about.
sub ranking
{
	my $ndocs = rand() < .5 ? int(rand(2000)) : number(2**48 - 1);
	my $words = pick(1, 1, 2, 2, 3, 4, 8, 30);
	my %words;
	my @plain;
	my $text = "documents=$ndocs length=" . (rand() < .5 ? int($ndocs * rand(30)) % 2**48 : number(2**48 - 1));

	$text .= ' k1=' . real(100) if rand() < .4;
	$text .= ' b=' . real(1) if rand() < .4;
	$text .= ' proximity=' . real(100) if rand() < .4;
	$text .= ' weights={' . join(',', map { pick(1, real(100)) } 1 .. 4) . '}' if rand() < .4;
	for (1 .. $words)
	{
		my $prefix = rand() < .12;
		my $word = $prefix ? 'w' . pick('', 1, 2) : 'w' . pick(int(rand(25)), int(rand(5)), 99);
		my @more;

		next if $words{"$prefix $word"}++;
		push @plain, $word unless $prefix;
		push @more, 'times=' . (1 + int(rand(pick(3, 255)))) if rand() < .2;
		push @more, 'factor=' . real(100) if rand() < .3;
		if ($prefix)
		{
			my $whole = number($ndocs);

			push @more, sprintf('df=%d', $whole + 1 + number(2**pick(10, 40, 60))), "whole=$whole";
		}
		else { push @more, 'df=' . number($ndocs); }
		$text .= " '$word'" . ($prefix || rand() < .3 ? ':' . ($prefix ? '*' : '') . join('', grep { rand() < .5 } split //, 'ABCD') : '') . '(' . join(',', @more) . ')';
		$text =~ s/:\(/(/;
	}
	my @groups = groups($ndocs);

	$text .= " $_" for @groups;
	push @plain, map { 1 + $_ } 0 .. $#groups;
	my %near;
	for (1 .. (@plain > 1 && rand() < .6 ? 1 + rand(pick(2, 15)) : 0))
	{
		my ($a, $b) = map { pick(@plain) } 1 .. 2;

		$text .= ' near(' . join(',', map { /^w/ ? "'$_'" : $_ } $a, $b) . ')' if $a ne $b && !$near{"$a $b"}++;
	}
	return $text;
}

my @queries = ('NULL', 'NULL', 'NULL', map { "'$_'" } 'w1', 'w0 | w3 | w9', 'w0 & w1', 'w2 & !w3', 'w0 <-> w1', 'w1:*', '!w2', 'w1:A | w5', 'w99');
my $batch = 100;
for my $i (0 .. $rounds / $batch - 1)
{
	my ($name, undef) = @{ $tables[ $i % @tables ] };
	my @cases = map { [ ranking(), pick(@queries), pick(1, 3, 10, 50, 'NULL') ] } 1 .. $batch;
	my $values = join ',', map { my ($r, $q, $k) = @$_; $r =~ s/'/''/g; "('$r'::skipidx_ranking, $q\::tsquery, $k\::int)" } @cases;
	my $got = $s->raw("SELECT count(*), string_agg(format('%s %s %s', r, q, k), chr(10)) FILTER (WHERE ${name}_by_index(r, q, k) IS DISTINCT FROM ${name}_by_sort(r, q, k) OR r::text::skipidx_ranking::text <> r::text) FROM (VALUES $values) c (r, q, k)");

	if ($got ne "$batch|") { is($got, "$batch|", "$name, batch $i"); last; }
	# in other states of the index
	if ($i % 20 == 12) { $s->value("SELECT skipidx_flush('${_}_v')") for map { $_->[0] } @tables; }
	elsif ($i % 20 == 16) { $s->value("INSERT INTO $_ SELECT i, body(i) FROM generate_series(10000 + $i * 10, 10009 + $i * 10) i; DELETE FROM $_ WHERE id % 101 = $i % 101") for map { $_->[0] } @tables; }
	elsif ($i % 20 == 19) { $s->value("VACUUM $_") for map { $_->[0] } @tables; }
}
pass("$rounds rankings, seed $seed");

# Sums of the parts of a partitioned table, of any of its states, are the whole's.
$s->value(<<'SQL');
CREATE TABLE parts (id int, v tsvector) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO parts SELECT i, body(i) FROM generate_series(1, 600) i;
CREATE INDEX parts_v ON parts USING skipidx (v);
INSERT INTO parts SELECT i, body(i) FROM generate_series(601, 700) i;
SQL
my @asked = ('w1', 'w0 & w1', 'w1:* | w2', 'w24:*', 'w:*', 'w99 | w3:A', 'w20:* | w21:* | w22:* | w23:*');
is($s->value("SELECT string_agg(q, ' ') FROM unnest(ARRAY['" . join("','", @asked) . "']) q WHERE (SELECT sum(skipidx_ranking(i, q::tsquery))::text FROM unnest('{parts_0_v_idx,parts_1_v_idx,parts_2_v_idx}'::regclass[]) i)"
	  . " <> skipidx_ranking('parts_v', q::tsquery)::text"), '', 'sums over partitions');
is($s->value("SELECT count(*) FROM unnest(ARRAY['" . join("','", @asked) . "']) q, parts WHERE (v <@> skipidx_ranking('parts_v', q::tsquery)) IS DISTINCT FROM (v <@> skipidx_query(q::tsquery, 'parts_v'))"),
	0, 'distances over partitions are those of the reference');
$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off');
for my $q (@asked)
{
	my $rank = $s->value("SELECT skipidx_ranking('parts_v', '$q')");

	$rank =~ s/'/''/g;
	is($s->value("SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, v <@> '$rank'::skipidx_ranking AS d FROM parts ORDER BY v <@> '$rank'::skipidx_ranking, id LIMIT 40) x"),
		$s->value("SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, v <@> '$q' AS d FROM parts ORDER BY v <@> '$q', id LIMIT 40) x"), "$q: rows of partitions");
}
$s->value('RESET ALL');

# Tables that inherit, with an index of their own and without one
$s->value('CREATE TABLE heir () INHERITS (plain); CREATE TABLE poor () INHERITS (plain); INSERT INTO heir SELECT i, body(i) FROM generate_series(2000, 2300) i; CREATE INDEX heir_v ON heir USING skipidx (v);'
	  . 'INSERT INTO heir SELECT i, body(i) FROM generate_series(2301, 2310) i; INSERT INTO poor SELECT i, body(i) FROM generate_series(3000, 3100) i');
for my $only ('', 'ONLY ')
{
	my $by = "v <@> (SELECT skipidx_ranking('labels_v', 'w1 | w3:* | w9'))";
	my $sql = "SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, $by AS d FROM ${only}plain ORDER BY $by, id LIMIT 60) y";

	$s->value('SET enable_seqscan = off; SET enable_bitmapscan = off');
	like($s->value("EXPLAIN $sql"), qr/Order By/, "${only}plain: by the index");
	my $by_index = $s->value($sql);
	$s->value('RESET ALL; SET enable_indexscan = off; SET enable_bitmapscan = off');
	is($by_index, $s->value($sql), "${only}plain: rows of a sort");
	$s->value('RESET ALL');
}

# By several processes, by one, and by a parallel scan of the table.
$s->value(<<'SQL');
CREATE TABLE big AS SELECT i AS id, body(i % 5000) AS v FROM generate_series(1, 40000) i;
CREATE INDEX big_v ON big USING skipidx (v) WITH (weights = '{0.1, 1, 2, 7}');
VACUUM ANALYZE big;
SQL
my $big = $s->value("SELECT skipidx_ranking('plain_v', 'w1 | w2 | w9')");
$big =~ s/'/''/g;
my $best = "SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, v <@> '$big'::skipidx_ranking AS d FROM big ORDER BY v <@> '$big'::skipidx_ranking LIMIT 200) x";
my %how = (
	'one process' => 'SET max_parallel_workers_per_gather = 0; SET enable_seqscan = off',
	'several processes' => 'SET max_parallel_workers_per_gather = 2; SET enable_seqscan = off',
	'a parallel scan and sort' => 'SET max_parallel_workers_per_gather = 2; SET enable_indexscan = off; SET enable_bitmapscan = off',
	'a sort' => 'SET max_parallel_workers_per_gather = 0; SET enable_indexscan = off; SET enable_bitmapscan = off');
my %rows;
for my $how (sort keys %how)
{
	$s->value($how{$how});
	my $plan = $s->value("EXPLAIN $best");
	is($plan =~ /Gather/ ? 1 : 0, $how =~ /several|parallel/ ? 1 : 0, "$how: the plan") or diag $plan;
	is($plan =~ /Index Scan/ ? 1 : 0, $how =~ /process/ ? 1 : 0, "$how: the index");
	$rows{$how} = $s->value($best);
	$s->value('RESET ALL');
}
is($rows{$_}, $rows{'a sort'}, "$_: the rows and bits of a sort") for sort keys %how;

# What is stored may be compressed, or out of line.
$s->value('CREATE TABLE kept (n int, r skipidx_ranking)');
my $long = join ' | ', map { "verylongandverymuchalikeword$_" } 1 .. 300;
$s->value("INSERT INTO kept SELECT 1, skipidx_ranking('plain_v', '$long | w1'); ALTER TABLE kept ALTER r SET STORAGE EXTERNAL; INSERT INTO kept SELECT 2, skipidx_ranking('plain_v', '$long | w1')");
is($s->value(q{SELECT count(DISTINCT pg_column_size(r)) || ' ' || count(DISTINCT r::text) FROM kept}), '2 1', 'compressed, and out of line');
is($s->value(q{SELECT count(DISTINCT d) FROM (SELECT n, string_agg((v <@> r)::text, ',' ORDER BY id) AS d FROM kept, plain GROUP BY n) x}), 1, 'their distances');
is($s->value(q{SET enable_seqscan = off; SELECT count(DISTINCT b) FROM kept, LATERAL (SELECT string_agg(id || ' ' || d, ',') AS b FROM (SELECT id, v <@> r AS d FROM plain ORDER BY v <@> r LIMIT 20) x) y; RESET ALL}), 1, 'their best rows');

# In another encoding
$s->value(q{SET client_encoding = 'LATIN1'});
is($s->value(qq{SELECT encode(skx_ranking_send(('documents=2 length=2 ''' || chr(233) || '''(df=1) ''' || 'z' || '''(df=2) near(''' || chr(233) || ''',''z'')')::skipidx_ranking), 'hex')}),
	unpack('H*', wire_ranking({ options => [], ndocs => 2, length => 2, terms => [ { flags => 0, lexeme => 'z', sum => 2 }, { flags => 0, lexeme => "\xe9", sum => 1 } ], pairs => [ [ 1, 0 ] ] })), 'sent in the encoding of the client');
$s->value('RESET ALL');

# Binary input, sound and not
my $dir = PostgreSQL::Test::Utils::tempdir();
chmod 0755, $dir;
sub received
{
	my ($bytes) = @_;

	open my $file, '>:raw', "$dir/copy" or die $!;
	print $file "PGCOPY\n\xff\r\n\0", pack('N N n N', 0, 0, 1, length $bytes), $bytes, pack('n', 65535);
	close $file;
	chmod 0644, "$dir/copy";
	return $s->raw("CREATE TEMP TABLE got (r skipidx_ranking); COPY got FROM '$dir/copy' WITH (FORMAT binary); SELECT r FROM got") . $s->raw('DROP TABLE IF EXISTS got');
}
my %sound = (options => [ undef, 0.5 ], ndocs => 9, length => 70, terms => [ { flags => 0x60, lexeme => 'a', times => 3, factor => 2.5, sum => 4 }, { flags => 0, lexeme => 'b', sum => 2 }, { flags => 0x81, lexeme => 'c', sum => 3, whole => 0, only => 'cc' } ], pairs => [ [ 1, 0 ] ]);
like(received(wire_ranking(\%sound)), qr/^documents=9 length=70 k1=1\.2 b=0\.5 weights=\{1,1,1,1\} proximity=0\.1 'a'\(df=4,times=3,factor=2\.5\) 'b'\(df=2\) 'c':\*\(df=3,only='cc'\) near\('b','a'\)\s*$/, 'received');
like(received(''), qr/22P03/, 'nothing');
like(received(wire_ranking({ %sound, ndocs => 3 })), qr/22P03.*df must not exceed documents/s, 'too few documents');
like(received(wire_ranking({ %sound, version => 9 })), qr/22P03.*another version/s, 'another version');
like(received(wire_ranking({ %sound, pairs => [ [ 0, 2 ] ] })), qr/22P03.*two different words/s, 'a pair with a prefix');
like(received(wire_ranking({ %sound, terms => [ { flags => 0, lexeme => "\xff", sum => 1 } ], pairs => [] })), qr/22021/, 'no text of this encoding');
srand($seed);
my ($none, $some) = (0, 0);
for my $i (1 .. 200)
{
	my $bytes = wire_ranking(\%sound);

	substr($bytes, int(rand(length $bytes)), 1) ^= chr(1 << int(rand(8))) for 1 .. 1 + rand(3);
	$bytes = substr($bytes, 0, rand(length $bytes)) if $i % 10 == 0;
	my $got = received($bytes);

	if ($got =~ /ERROR:  (22P03|22021|54000)/) { $none++; }
	elsif ($got =~ /^documents=/) { $some++; }
	else { is($got, '', 'damaged: ' . unpack('H*', $bytes)); }
}
is($none + $some, 200, "$none damaged ones refused, $some read");
cmp_ok($none, '>', 50, 'some are refused');
is($s->value('SELECT 1'), 1, 'the server is well');
$s->close;
$node->stop;
done_testing();
