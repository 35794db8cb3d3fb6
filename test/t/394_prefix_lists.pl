# Lists of prefixes: a ranked search by them gives the rows of a sequential scan
# and a sort, in the same order and with the same distances, as one without them
# does, in every state of the index, and on a standby; and it decodes few
# sub-blocks.  They are within their share of the segment, and those of a merge
# are those of a build.  A prefix with a sum that no list can have gets none.
#
# Holds: inspect 8; segment 10; topk 1, 18; writer 7

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_catch_up skx_node skx_session skx_seed);
use Test::More;

# A segment of fewer rows has no lists.
use constant ROWS => 22000;

my $seed = skx_seed(394);
my $primary = skx_node('prefixes', streaming => 1,
	conf => "skipidx.max_workers = 0\nmaintenance_work_mem = 64MB\nmin_parallel_table_scan_size = 0\n");
my $s = skx_session($primary, 'postgres');

note "seed $seed";

# Words of three letters and a number, common first letters and rare ones, some
# of them of two bytes; no positions in one row of nine, labels in one of seven, a
# NULL in one of fifty.  Row 100 has 300 words with x.
$s->value(<<"SQL");
CREATE EXTENSION skipidx;
CREATE TABLE docs (id serial, v tsvector) WITH (autovacuum_enabled = off);
CREATE FUNCTION letter(n int) RETURNS text IMMUTABLE LANGUAGE sql AS
	\$\$ SELECT CASE WHEN n = 3 THEN chr(233) ELSE chr(97 + n) END \$\$;
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS \$\$
	SELECT CASE WHEN i % 50 = 7 THEN NULL
		WHEN i % 9 = 0 THEN strip(to_tsvector('simple', t))
		WHEN i % 7 = 0 THEN setweight(to_tsvector('simple', t), 'A') || to_tsvector('simple', 'cat dog')
		ELSE to_tsvector('simple', t) END
	FROM (SELECT string_agg(letter((random() ^ 3 * 25)::int) || letter((random() ^ 2 * 6)::int)
			|| (random() ^ 4 * 300)::int, ' ')
		|| CASE WHEN i = 100 THEN (SELECT string_agg('x' || n, ' ') FROM generate_series(1, 300) n) ELSE '' END
		|| CASE WHEN i % 3 = 0 THEN ' x1 x2' ELSE '' END || CASE WHEN i % 500 = 0 THEN ' rare' ELSE '' END AS t
		FROM generate_series(1, (1 + random() * 30 + i * 0)::int)) d \$\$;
CREATE FUNCTION add(n int) RETURNS void LANGUAGE sql AS
	\$\$ INSERT INTO docs (v) SELECT doc(i) FROM generate_series(1, n) i \$\$;
SQL
$s->value('SELECT add(' . ROWS . ')');
$s->value("CREATE INDEX docs_on ON docs USING skipidx (v) WITH (pending_limit = '1GB', prefix_lists = on)");
$s->value('SET enable_bitmapscan = off');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('prefixes_standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = off\nmax_standby_streaming_delay = -1");
$standby->start;
my $reader = skx_session($standby, 'postgres');
$reader->value('SET enable_bitmapscan = off');

# One number for each segment of an index: how many of its prefixes have lists.
sub prefixes
{
	return $s->value("SELECT string_agg(prefixes::text, ' ') FROM skipidx_segments('$_[0]') WHERE kind = 'segment'");
}

# All of what a list of a prefix is: counts and pages.
sub lists
{
	return $s->value('SELECT prefixes, prefix_postings, prefix_dict_pages, prefix_posting_pages, pages'
		  . " FROM skipidx_segments('$_[0]') WHERE kind = 'segment'");
}

# The k best rows with their distances, as a number and an md5.
sub rows
{
	my ($session, $index, $q, $k, $where) = @_;
	my $by_index = defined $index;
	my ($off, $on) = $by_index ? ('off', 'on') : ('on', 'off');
	my $query = "skipidx_query('$q', '" . ($index // 'docs_on') . "')";
	my $tie = $by_index ? '' : ', ctid';
	my $from = "FROM docs $where ORDER BY v <\@> $query$tie LIMIT $k";

	$session->value("SET enable_seqscan = $off; SET enable_sort = $off; SET enable_indexscan = $on");
	if ($by_index && $k == 10)
	{
		my $plan = $session->value("EXPLAIN (COSTS OFF) SELECT id $from");

		die "no scan of $index: $plan" if $plan !~ /Index Scan using $index/;
	}
	return $session->value("SELECT concat_ws(' ', count(*), md5(string_agg(id || ' ' || d, ',' ORDER BY n)))"
		  . " FROM (SELECT id, d, row_number() OVER () AS n FROM (SELECT id, v <\@> $query AS d $from) x) y");
}

my @searches = (
	['a:*'], ['b:*'], ['ab:*'], [ chr(0xC3) . chr(0xA9) . ':*' ], ['z:*'], ['x:*'], ['x1:*'], ['a:* | b:*'], ['a:* | rare'],
	['ab:* | b:* | c:* | ba1'], ['a:*A'], ['a:*A | b:*'], ['aa1 | aa2 | b:*'], ['cat <-> dog | a:*'], ['a:* | b:* | e:*'],
	[ 'rare & a:*', "WHERE v \@\@ 'rare & a:*'" ],
	[ 'a:* & b:*', "WHERE v \@\@ 'a:* & b:*'" ],
	[ 'a:* & b:* & !c:*', "WHERE v \@\@ 'a:* & b:* & !c:*'" ],
	[ 'cat <-> dog & b:*', "WHERE v \@\@ 'cat <-> dog & b:*'" ],
	[ 'aa0 <-> aa1 | ab:*', "WHERE v \@\@ 'a:*'" ],
	[ 'a:*', "WHERE v \@\@ 'rare | b:*'" ],
	[ 'b:*', "WHERE v \@\@ 'a:* <-> b:*'" ],
);

# How many sub-blocks a search decodes.
sub subblocks
{
	my ($q) = @_;
	my $before = $s->value('SELECT subblocks FROM skipidx_work()');

	rows($s, 'docs_on', $q, 10, '');
	return $s->value('SELECT subblocks FROM skipidx_work()') - $before;
}

sub same
{
	my ($what) = @_;
	my @wrong;

	skx_catch_up($primary, $standby);
	for my $search (@searches)
	{
		my ($q, $where) = @$search;

		for my $k (10, 700)
		{
			my $right = rows($s, undef, $q, $k, $where // '');

			die "$q finds nothing" if $right =~ /^0/ && $q ne 'z:*';
			push @wrong, "$q $k" if rows($s, 'docs_on', $q, $k, $where // '') ne $right;
			push @wrong, "$q $k: standby" if $k == 10 && rows($reader, 'docs_on', $q, $k, $where // '') ne $right;
		}
	}
	is("@wrong", '', "$what: the same rows");
	is($s->value("SELECT skipidx_check('docs_on', true)"), '', "$what: sound");
	return;
}

# ---- built ----

cmp_ok(prefixes('docs_on'), '>=', 2, 'built: there are lists');
my ($n, $postings, $dict, $pages, $all) = split /\|/, lists('docs_on');
cmp_ok($dict + $pages, '<=', 1 + $all * 0.08, 'built: within their share');
same('built');

# ---- by several processes, and in ranges of documents ----

for my $case ([ 'several processes', 'SET max_parallel_maintenance_workers = 2' ],
	[ 'little memory', "SET max_parallel_maintenance_workers = 0; SET maintenance_work_mem = '1MB'" ])
{
	my ($what, $set) = @$case;

	$s->value("$set; CREATE INDEX docs_other ON docs USING skipidx (v) WITH (prefix_lists = on)");
	cmp_ok(prefixes('docs_other'), '>=', $n, "$what: there are lists");
	is($s->value("SELECT skipidx_check('docs_other', true)"), '', "$what: sound");
	$s->value("DROP INDEX docs_other; RESET ALL; SET enable_bitmapscan = off");
}

# ---- deleted rows, pending ones, several segments, merged ones ----

$s->value('DELETE FROM docs WHERE id % 11 = 3 OR id % 500 = 1; VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
same('deleted rows');
$s->value('SELECT add(600); DELETE FROM docs WHERE id % 13 = 5');
same('pending rows');
$s->value("SELECT skipidx_flush('docs_on')");
like(prefixes('docs_on'), qr/^[1-9]\d* 0$/, 'flushed: a flush makes no lists');
same('flushed');
$s->value('SELECT add(' . ROWS . ')');
$s->value("SELECT skipidx_flush('docs_on')");
$s->value("SELECT skipidx_merge('docs_on', 2)");
like(prefixes('docs_on'), qr{^\d+ [1-9]\d*$}, 'a merge of some segments makes lists');
same('several segments');
$s->value('VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
$s->value("SELECT skipidx_merge('docs_on', 1)");
like(prefixes('docs_on'), qr/^[1-9]\d*$/, 'merged: there are lists');
same('merged');
my $merged = lists('docs_on');
my $few = subblocks('a:*');

$s->value('CREATE INDEX docs_other ON docs USING skipidx (v) WITH (prefix_lists = on)');
is((split /\|/, $merged)[$_], (split /\|/, lists('docs_other'))[$_], "merged: the lists of a build ($_)") for 0 .. 3;
$s->value('DROP INDEX docs_other');

# ---- the storage parameter counts for new segments ----

$s->value('ALTER INDEX docs_on SET (prefix_lists = off); DELETE FROM docs WHERE id % 3 = 1;'
	  . ' VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs');
$s->value("SELECT add(100), skipidx_flush('docs_on')");
$s->value("SELECT skipidx_merge('docs_on', 1)");
is(prefixes('docs_on'), 0, 'left out from now on: none');
same('left out');
cmp_ok($few * 4, '<', subblocks('a:*'), 'a search by a list decodes few sub-blocks');

# ---- other tables: UTF-8 prefixes, an unlogged one, a temporary one ----

for my $kind ('UNLOGGED', 'TEMP')
{
	$s->value("CREATE $kind TABLE other AS SELECT id, v FROM docs WHERE id <= 30000;"
		  . ' CREATE INDEX other_v ON other USING skipidx (v) WITH (prefix_lists = on)');
	cmp_ok(prefixes('other_v'), '>', 0, "$kind: there are lists");
	is($s->value("SELECT skipidx_check('other_v', true)"), '', "$kind: sound");
	$s->value('DROP TABLE other');
}

$standby->stop;
$primary->stop;
done_testing();
