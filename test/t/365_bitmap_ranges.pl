# Prefixes and disjunctions that are made bitmaps of a range of documents at a
# time, since a query has many of them, give the rows of a sequential scan: alone,
# in conjunctions, negations and phrases, with labels.  What a process takes for
# them does not grow with their number times the rows, and lists that a range has
# nothing of are not opened for it.  So do very many clauses that are opened one
# after the other, which take no memory for each of their lists.
#
# Holds: query 1, 8, 9

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed);
use Test::More;

# Documents, of which 300 bitmaps have room for two fifths at a time.
use constant ROWS => 100_000;

my $seed = skx_seed(365);
my $node = skx_node('bitmap_ranges', conf => "maintenance_work_mem = 256MB\nskipidx.cache_size = 32MB");

$node->safe_psql('postgres', 'CREATE EXTENSION skipidx');

# b is in all rows, c in stretches of the table, d in some rows near each other,
# e at both ends; each lexeme of h is in three rows, which is more than stand in
# the dictionary, and of j in one, and h1 and j1 end after a third.
sub make_table
{
	my ($name, $rows) = @_;

	$node->safe_psql('postgres', <<SQL);
CREATE TABLE $name (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO $name SELECT i, ('a:1 b' || i % 50 || ':2A,7' || CASE WHEN i % 3 = 0 THEN ' x:5 y:6,9' ELSE '' END
	|| CASE WHEN (i / 9000) % 3 > 0 THEN ' c' || i % 40 || ':3' ELSE '' END
	|| CASE WHEN (i / 100) % 10 = 7 THEN ' d' || i / 1000 || ':4' ELSE '' END
	|| CASE WHEN i % 100 = 3 THEN ' h' || CASE WHEN i < $rows / 3 THEN 1 ELSE 2 END || i / 300 || ':8' ELSE '' END
	|| CASE WHEN i % 100 = 4 THEN ' j' || CASE WHEN i < $rows / 3 THEN 1 ELSE 2 END || i || ':11' ELSE '' END
	|| CASE WHEN i <= 500 OR i > $rows - 500 THEN ' e' || i % 20 ELSE '' END)::tsvector
	FROM generate_series(1, $rows) i;
CREATE INDEX ${name}_v ON $name USING skipidx (v);
DELETE FROM $name WHERE id % 101 = 0;
VACUUM ANALYZE $name;
INSERT INTO $name VALUES ($rows + 1, 'a b1 c1 d1'), ($rows + 2, 'e2 x y:7 b3:8'), ($rows + 3, NULL);
SQL
	is($node->safe_psql('postgres', "SELECT count(*) FROM skipidx_segments('${name}_v') WHERE kind = 'segment'"), 1, "$name: one segment");
}

make_table('docs', ROWS);
my $s = skx_session($node, 'postgres');

sub rows
{
	my ($q, $mode) = @_;

	$s->value(join '; ', map { "SET enable_$_ = " . ($_ eq $mode ? 'on' : 'off') } qw(seqscan bitmapscan indexscan));
	# not known to the planner, which would leave prefixes to the rows
	$q = $mode eq 'seqscan' ? "'$q'" : "(SELECT '$q'::tsquery)";
	return $s->value("SELECT concat_ws(' ', count(*), md5(string_agg(id::text, ',' ORDER BY id))) FROM docs WHERE v @@ $q");
}

# A clause so often that ranges are short; a sequential scan needs it once.
sub often
{
	my ($clause, $op, $n) = @_;

	# prefixes that one operator has twice would be one
	$clause = $op eq '&' ? "$clause | none" : "($clause) & !none" if $clause =~ /:\*/ && $clause =~ /^[\w:* |]+$/;
	return '(' . join(" $op ", ("($clause)") x $n) . ')';
}

for my $case (
	[ often('b1:* | x', '&', 300), 'b1:* | x' ],
	[ often('c:*', '&', 300), 'c:*' ],
	[ often('d:* | e:*', '&', 300), 'd:* | e:*' ],
	[ 'e:* & ' . often('c:* | x', '&', 300), 'e:* & (c:* | x)' ],
	[ often('c:* | d:* | e:* | h1:*', '|', 300) . ' & ' . often('b:* & !d:*', '&', 300), '(c:* | d:* | e:* | h1:*) & !d:*' ],
	[ often('!d:*', '&', 300) . ' & x', '!d:* & x' ],
	[ often('d:* | j:*', '&', 300), 'd:* | j:*' ],
	[ often('h:* | j:*', '&', 300), 'h:* | j:*' ],
	[ often('!(c:* & b1:*)', '&', 300), '!(c:* & b1:*)' ],
	[ often('c:* & b1:*', '|', 300), 'c:* & b1:*' ],
	[ often('c:* & b1:*', '|', 300) . ' | h1:*', 'c:* & b1:* | h1:*' ],
	[ 'x & ' . often('c:* & b1:* & d:*', '|', 300), 'x & c:* & b1:* & d:*' ],
	[ '!' . often('c:* & b1:*', '|', 300) . ' & ' . often('b:*A', '&', 300), '!(c:* & b1:*) & a' ],
	[ often('b:*A', '&', 300) . ' & ' . often('b:*B | x', '&', 100), 'b:*A & (b:*B | x)' ],
	[ often('c:* | x', '&', 300) . ' & x <-> y', '(c:* | x) & x <-> y' ],
	[ often('x <-> y | c:*', '&', 300) . ' & e:*', '(x <-> y | c:*) & e:*' ],
	[ often('b:* | x', '&', 300) . ' & b:* <2> d:*', 'b:* <2> d:*' ],
	[ often('j:* | d:*', '&', 300) . ' & (x | b7:B)', '(j:* | d:*) & (x | b7:B)' ],
	[ often('j1:*D | d:*', '&', 300) . ' & !j2:* & !e1:*', '(j1:*D | d:*) & !j2:* & !e1:*' ],
	[ often('h:* | c:*', '&', 300) . ' & (' . join(' | ', 'y', map { "b$_:B" } 1 .. 1100) . ')', '(h:* | c:*) & (y | b1:B)' ],
	[ often('c:* | x', '&', 300) . ' & ' . join(' & ', 'a', map { "!z$_" } 1 .. 300), '(c:* | x) & a' ])
{
	my ($q, $short) = @$case;
	my $sorted = rows($short, 'seqscan');
	my $what = substr($q, 0, 30) . " as $short ($sorted)";

	isnt($sorted, '0', "$short: some rows");
	is(rows($q, $_), $sorted, "$_: $what") for qw(indexscan bitmapscan);
}

# More clauses than are opened together, each from the number that it has.
sub many
{
	my ($op, $clause) = @_;

	return '(' . join(" $op ", map { '(' . $clause->($_) . ')' } 1 .. 1100) . ')';
}

my $ranges = often('a:* | x', '&', 300);

for my $case (
	many('|', sub { 'b' . $_[0] % 45 . ' & c' . $_[0] % 30 }),
	many('|', sub { "b$_[0] & x | d$_[0]:* & y" }),
	many('|', sub { $_[0] % 7 ? "j2$_[0] | b$_[0] & d99" : "d1$_[0]:*" }),
	many('|', sub { $_[0] % 2 ? "h1$_[0]" : "x <-> y & b$_[0]" }),
	many('|', sub { "!(b$_[0]:A | c$_[0])" }),
	many('|', sub { "b$_[0] & !a:A" }),
	many('|', sub { "b$_[0] & x | !z$_[0]" }),
	many('&', sub { "x | b$_[0] | c" . $_[0] % 50 }),
	many('&', sub { $_[0] % 3 ? "x | d$_[0]" : 'a' }),
	many('&', sub { $_[0] % 3 ? "a | d$_[0]" : "!(b$_[0] & x)" }),
	many('&', sub { "!(b$_[0] & c$_[0])" }),
	many('&', sub { "!(x <-> y & b" . $_[0] % 30 . ')' }),
	many('&', sub { "!b$_[0] | x <-> y" }),
	many('&', sub { $_[0] % 2 ? "!a:A | b$_[0]" : "!z$_[0]" }),
	many('&', sub { "!(b$_[0]:A & x) | c" . $_[0] % 50 }))
{
	my $some = "(d:* | e:*) & $case";	# not each row is asked about all clauses
	my $sorted = rows($some, 'seqscan');
	my $what = substr($case, 0, 50) . " ($sorted)";

	isnt($sorted, '0', "$what: some rows");
	is(rows($some, $_), $sorted, "$_: $what") for qw(indexscan bitmapscan);
	is(rows("$some & $ranges", 'indexscan'), $sorted, "in ranges: $what");
}

note "seed $seed";

# Any prefixes and words.  The order of clauses is that in which lists are gone through.
sub any_of { return $_[ rand @_ ]; }

sub operand
{
	my $word = any_of('a', 'ab', 'b', 'b1', 'c', 'd', 'd1', 'd4', 'e', 'h', 'h1', 'h2', 'j', 'j1', 'j2', 'x');

	return (rand() < 0.15 ? '!' : '') . $word . any_of(':*', ':*', ':*', ':*A', ':*BD', '');
}

sub expression
{
	my ($depth) = @_;
	my $op = any_of('|', '|', '&');

	return operand() if $depth == 0;
	return '(' . join(" $op ", map { expression($depth - 1) } 0 .. 1 + int rand 3) . ')';
}

for (1 .. 40)
{
	my $q = expression(1 + int rand 2);
	my $sorted = rows($q, 'seqscan');

	is(rows("$q & $ranges", 'indexscan'), $sorted, "in ranges: $q ($sorted)");
}

# One list of h1 after the other is over in the first range.
sub decoded
{
	my ($q) = @_;
	my $before = $s->value('SELECT subblocks + windows_filled FROM skipidx_work()');

	rows($q, 'indexscan');
	return $s->value('SELECT subblocks + windows_filled FROM skipidx_work()') - $before;
}

my $lists = $s->value("SELECT count(DISTINCT lexeme) FROM docs, unnest(v) WHERE lexeme LIKE 'h1%'");
my $without = decoded('b7 & ' . often('x', '&', 300) . ' & ' . often('x | y:*', '&', 299));
my $with = decoded('b7 & ' . often('x | h1:*', '&', 1) . ' & ' . often('x | y:*', '&', 299));

cmp_ok($with - $without, '>=', $lists, "each list of $lists is read");
cmp_ok($with - $without, '<', 1.5 * $lists, 'and hardly any again');

# Of prefixes that an operator repeats, each is gone through once.
for my $case ([ '|', 'b:*', 'b:*' ], [ '&', 'b:*', 'b:*' ], [ '|', 'b:*A', 'x', 'b:*', 'b:*A' ], [ '&', 'b:*A', 'x', 'c:*', 'b:*A' ], [ '|', 'h:*', 'd:*B', 'h1:*', 'd:*C' ])
{
	my ($op, @clauses) = @$case;
	my ($once, $often) = (join(" $op ", @clauses), join " $op ", (@clauses) x 300);

	is(rows($often, 'indexscan'), rows($once, 'seqscan'), "$once, 300 times");
	is(decoded($often), decoded($once), "$once, 300 times: as much is read");
}

# A bitmap for each of so many prefixes would be 50 kB of so many rows.
make_table('large', 4 * ROWS);

# The most that the process has had above what it had before, kB, with all that
# it shares with others mapped.
sub peak
{
	my ($q) = @_;
	my $p = skx_session($node, 'postgres');
	my $pid = $p->value('SELECT pg_backend_pid()');
	my %of;
	my $before;

	$p->value('SET enable_seqscan = off; SET enable_bitmapscan = off');
	for my $table (qw(docs large large))
	{
		open my $refs, '>', "/proc/$pid/clear_refs" or die "clear_refs: $!";
		print $refs "5\n";
		close $refs or die "clear_refs: $!";
		$p->value("SELECT count(*) FROM $table WHERE v @@ '" . ($table eq 'docs' ? 'e1:* & b:*' : $q) . "'");
		%of = slurp_file("/proc/$pid/status") =~ /^(\w+):\s*(\d+) kB/mg;
		$before //= $of{RssAnon};
	}
	$p->close;
	return $of{VmHWM} - $of{RssFile} - $of{RssShmem} - $before;
}

# With assertions each chunk of memory has some bytes more.
my $most = $s->value('SHOW debug_assertions') eq 'on' ? 6144 : 4096;
my $few = peak('e1:* & ' . often('b:*', '&', 2));

for my $n (200)
{
	my $peak = peak('e1:* & ' . often('b:*', '&', $n));

	cmp_ok($peak - $few, '<=', $most, "$n prefixes take $peak kB, $few kB are taken by two");
}
for my $clauses (many('|', sub { "b$_[0] & h1$_[0] | b$_[0] & h2$_[0]" }), many('&', sub { "b1 | h1$_[0] | h2$_[0] | j1$_[0]" }), many('&', sub { "!(b$_[0] & h1$_[0] & h2$_[0])" }))
{
	my $peak = peak($clauses);

	cmp_ok($peak, '<=', $most, "1,100 clauses take $peak kB: " . substr($clauses, 0, 40));
}
$s->close;
done_testing();
