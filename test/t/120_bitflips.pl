# 1,250 flipped bits, half of them in segment pages, half of them in any pages
# and with data checksums: each time a damaged page is read there is an error
# that names it, or from skipidx_check() a warning where it is not used, and no
# query ever gives a wrong row.
#
# In a round every such page has one bit flipped while the server is down, every
# other time near one of its ends, where its headers and trailers are.
# Then queries run until they succeed: an error must name a page that is still
# damaged, which is put right before the next try; an answer must be the true
# one.  The verifier reads what no query did.  A damaged page that was read
# without an error would be left over at the end.
#
# Long: 10,000 bits.
#
# Holds: blkio 2; damage 1; disk 2; inspect 5; manifest 3; pending 7; segment 1

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_install_try
  skx_relation_file);
use Test::More;

use constant {
	PAGE => 8192,
	FLIPS => $ENV{SKX_FAULTS_ALL} ? 10000 : 1250,
	ENDS => 64,
	PLANE_AT => 8192 - 3,		# SkxDiskTrailer.plane
	PAGE_ID => 0xF51D,
	FIRST_SEGMENT_PLANE => 16,
	DICTIONARY => 20
};

my $seed = skx_seed(77);

note "seed $seed";
srand($seed);

# Some 500 words in a tenth of the rows each, far apart in their rows: each has
# its own pages of postings and of positions.  Rows of their own make the
# short lists of many words.  The index has two segments; what the second was
# merged from is free, but still must be whole.
my $setup = <<'SQL';
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector);
INSERT INTO docs SELECT i + 5000 * n, v FROM (SELECT i, string_agg('w' || (hashint4(i * 64 + p) & 511) || ':'
		|| p * 300 + (hashint4(i * 64 + p) >> 9 & 127), ' ')::tsvector AS v
	FROM generate_series(1, 5000) i, generate_series(1, 50) p GROUP BY i) x, generate_series(0, 7) n ORDER BY 1;
INSERT INTO docs SELECT 40000 + i, ('s' || i || ':1 s' || i + 1 || ':2')::tsvector
FROM generate_series(1, 4000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '16kB', prefix_lists = on);
INSERT INTO docs SELECT 50000 + id, v FROM docs WHERE id <= 100;
SELECT skipidx_flush('docs_v');
INSERT INTO docs SELECT 60000 + id, v FROM docs WHERE id <= 50;
SELECT skipidx_flush('docs_v');
SELECT skipidx_merge('docs_v', 2);
INSERT INTO docs VALUES (100000, 'w1:1 pending:2');
DELETE FROM docs WHERE id % 100 = 0;
VACUUM (FREEZE, ANALYZE) docs;
CREATE TABLE wanted AS
	SELECT lexeme, count(*) || ' ' || sum(id) AS answer
	FROM docs, unnest(v) WHERE lexeme LIKE 'w%5' OR lexeme LIKE 's%7' GROUP BY 1;
CHECKPOINT;
SQL

sub read_pages
{
	my ($path) = @_;
	my @pages;

	open my $file, '<:raw', $path or die "$path: $!";
	while (read($file, my $page, PAGE))
	{
		push @pages, $page;
	}
	close $file;
	return @pages;
}

sub plane { return ord substr($_[0], PLANE_AT, 1); }

# With data checksums any page can be told to be damaged, else those of
# segments, which have one of their own.
sub can_be_told
{
	my ($page, $checksums) = @_;

	return unpack('v', substr($page, PAGE - 2)) == PAGE_ID
	  && ($checksums || plane($page) >= FIRST_SEGMENT_PLANE);
}

sub write_page
{
	my ($file, $block, $page) = @_;

	sysseek $file, $block * PAGE, 0 or die "seek: $!";
	syswrite($file, $page) == PAGE or die "write: $!";
	return;
}

sub flipped
{
	my ($page, $first) = @_;
	my $at = $first + int rand(PAGE - $first);

	$at = ($at & 1 ? PAGE - ENDS : $first) + int rand(ENDS) if int rand 2;
	substr($page, $at, 1) = chr(ord(substr($page, $at, 1)) ^ 1 << int rand 8);
	return $page;
}

# Both forms read all positions of a word: the first finds its rows, the other
# none, since no word follows itself.  The empty word needs every TID.
sub statement
{
	my ($word) = @_;
	my $query = $word eq '' ? '!nosuch'
	  : "'$word' " . (finds($word) ? '<0>' : '<->') . " '$word'";

	return "SELECT count(*) || \$x\$ \$x\$ || coalesce(sum(id), 0) FROM docs"
	  . " WHERE v @@ \$x\$$query\$x\$";
}

sub finds { return $_[0] !~ /^w.*[^5]$/; }

# One round over all pages of the index.
sub round
{
	my ($node, $path, $checksums, $first, $wanted) = @_;
	my @pages = read_pages($path);
	my %damaged;
	my ($errors, $wrong, $left) = (0, 0, 0);

	$node->stop;
	open my $file, '+<:raw', $path or die "$path: $!";
	for my $block (grep { can_be_told($pages[$_], $checksums) } 0 .. $#pages)
	{
		write_page($file, $block, flipped($pages[$block], $first));
		$damaged{$block} = 1;
	}
	my $flips = keys %damaged;

	$node->start;
	my $s = skx_session($node, 'postgres');

	$s->value('SET skipidx.io_method = buffered; SET enable_seqscan = off;'
		  . ' SET client_min_messages = error;'
		  . ' SET enable_bitmapscan = ' . (int(rand 2) ? 'on' : 'off'));
	for my $word ((sort keys %$wanted), 'CHECK')
	{
		my $stmt = $word eq 'CHECK' ? q{SELECT skipidx_check('docs_v', false)}
		  : statement($word);

		while (1)
		{
			my $got = $s->value("SELECT try_sql(\$s\$$stmt\$s\$)");
			my ($code, $text) = split /\|/, $got, 2;

			# of pages that nothing refers to it is a warning
			if ($word eq 'CHECK' && $code eq 'ok' && %damaged)
			{
				($text) = $s->value("SET client_min_messages = warning; $stmt; SET client_min_messages = error") =~ /unused page.* (block \d+)$/m;
				$code = 'XX001' if defined $text;
			}
			if ($code eq 'ok')
			{
				if ($word ne 'CHECK' && $text ne $wanted->{$word})
				{
					$wrong++;
					diag("$word: $text instead of $wanted->{$word}");
				}
				last;
			}
			my ($block) = $text =~ /block (\d+)/;

			if (($code ne 'XX002' && $code ne 'XX001') || !defined $block
				|| !delete $damaged{$block})
			{
				$wrong++;
				diag("$word: unexpected $got");
				last;
			}
			write_page($file, $block, $pages[$block]);
			$errors++;
		}
	}
	for my $block (sort { $a <=> $b } keys %damaged)
	{
		$left++;
		diag(sprintf 'block %d, plane %d: damage was not reported', $block,
			ord(substr($pages[$block], PLANE_AT, 1)));
		write_page($file, $block, $pages[$block]);
	}
	$s->close;
	close $file;
	return ($flips, $errors, $wrong, $left);
}

my $node = skx_node('bitflips', start => 0,
	conf => "wal_level = minimal\nmax_wal_senders = 0\nwork_mem = 64MB\n"
	  . 'skipidx.cache_size = 64MB');

# Servers from 18 on have data checksums unless told otherwise.
command_ok([ 'pg_checksums', '--disable', '-D', $node->data_dir ], 'without checksums')
  if $node->config_data('--version') =~ / (\d+)/ && $1 >= 18;
$node->start;
$node->safe_psql('postgres', $setup);
skx_install_try($node, 'postgres');

my %wanted = map { split /\|/ } split /\n/,
  $node->safe_psql('postgres', 'SELECT lexeme, answer FROM wanted');

finds($_) or $wanted{$_} = '0 0' for map { "w$_" } 0 .. 511;
$wanted{''} =
  $node->safe_psql('postgres', q{SELECT count(*) || ' ' || sum(id) FROM docs});

my $path = skx_relation_file($node, 'postgres', 'docs_v');

is($node->safe_psql('postgres',
		'SELECT count(*), max(tid_pages) > 2, max(norm_pages) > 2, max(dict_pages) > 5,'
		  . ' max(posting_pages) > 200, max(position_pages) > 200'
		  . " FROM skipidx_segments('docs_v') WHERE kind = 'segment'"),
	'2|t|t|t|t|t', 'there are pages of every plane');
my %planes = map { plane($_) => 1 } read_pages($path);

is(join(' ', sort { $a <=> $b } keys %planes), '0 1 2 3 4 6 16 17 18 20 21 22 23 24',
	'and of every other kind');

for my $checksums (0, 1)
{
	my $name = $checksums ? 'checksums' : 'no checksums';

	if ($checksums)
	{
		$node->stop;
		command_ok([ 'pg_checksums', '--enable', '-D', $node->data_dir ],
			'with checksums');
		$node->start;
	}
	is($node->safe_psql('postgres', 'SHOW data_checksums'),
		$checksums ? 'on' : 'off', $name);

	# Without data checksums, nothing covers the LSN and the server's flags:
	# nothing depends on them either.
	my $first = $checksums ? 0 : 12;
	my ($flips, $errors, $wrong, $left) = (0, 0, 0, 0);

	while ($flips < FLIPS / 2)
	{
		my @sums = round($node, $path, $checksums, $first, \%wanted);

		$flips += $sums[0];
		$errors += $sums[1];
		$wrong += $sums[2];
		$left += $sums[3];
		last if $sums[0] < 100 || $wrong > 50 || $left > 50;
	}
	cmp_ok($flips, '>=', FLIPS / 2, "$name: bits flipped");
	is($wrong, 0, "$name: no wrong answer and no other error");
	is($left, 0, "$name: no damaged page was read unnoticed");
	is($errors, $flips, "$name: every damaged page was reported");

	# Through shared buffers a damaged page stays where it was read, so here
	# nothing is put right: an answer is the true one, or an error.
	$node->stop;
	my @pages = read_pages($path);

	open my $file, '+<:raw', $path or die "$path: $!";
	for my $block (grep { can_be_told($pages[$_], 0) && plane($pages[$_]) > DICTIONARY && $_ % 8 == 1 } 0 .. $#pages)
	{
		write_page($file, $block, flipped($pages[$block], $first));
	}
	$node->start;
	my $s = skx_session($node, 'postgres');
	my ($right, $refused, $other) = (0, 0, 0);

	$s->value('SET skipidx.io_method = shared_buffers; SET enable_seqscan = off;'
		  . ' SET client_min_messages = error');
	for my $word (sort keys %wanted)
	{
		my $got = $s->value("SELECT try_sql(\$s\$" . statement($word) . "\$s\$)");

		if ($got eq "ok|$wanted{$word}") { $right++ }
		elsif ($got =~ /^XX00[12]\|/) { $refused++ }
		else { $other++; diag("$word: $got") }
	}
	is($other, 0, "$name: shared_buffers: right or refused");
	cmp_ok($refused, '>', 10, "$name: shared_buffers: damage was met");
	cmp_ok($right, '>', 10, "$name: shared_buffers: and passed by");
	$s->close;
	for my $block (0 .. $#pages) { write_page($file, $block, $pages[$block]); }
	close $file;
	$node->restart;
	is($node->safe_psql('postgres',
			"SET enable_seqscan = off; " . statement('')), $wanted{''},
		"$name: repaired");

	# What nothing covers changes nothing.
	if (!$checksums)
	{
		$node->stop;
		open $file, '+<:raw', $path or die "$path: $!";
		for my $block (grep { can_be_told($pages[$_], 0) } 0 .. $#pages)
		{
			my $page = $pages[$block];

			substr($page, int rand 10, 1) ^= chr(1 << int rand 8);
			write_page($file, $block, $page);
		}
		close $file;
		$node->start;
		$s = skx_session($node, 'postgres');
		$s->value('SET enable_seqscan = off; SET client_min_messages = error');
		my $bad = grep { $s->value(statement($_)) ne $wanted{$_} } sort keys %wanted;

		is($bad, 0, "$name: LSN and checksum of a page do not matter");
		$s->close;
	}
}

# A damaged index can be rebuilt: nothing of it is read for that.
$node->stop;
my @pages = read_pages($path);

open my $file, '+<:raw', $path or die "$path: $!";
write_page($file, $_, flipped($pages[$_], 0)) for 0 .. $#pages;
close $file;
$node->start;
my ($rc, undef, $stderr) = $node->psql('postgres',
	"SET enable_seqscan = off; " . statement('w1'), on_error_stop => 1);

isnt($rc, 0, 'a wholly damaged index is refused');
$node->safe_psql('postgres', 'REINDEX INDEX docs_v');
is($node->safe_psql('postgres', "SET enable_seqscan = off; " . statement('')),
	$wanted{''}, 'and works again after REINDEX');
is($node->safe_psql('postgres', q{SELECT skipidx_check('docs_v', true)}), '',
	'and is sound');

unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no crash');
$node->stop;
done_testing();
