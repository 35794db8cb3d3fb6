# What skipidx_terms() reads: of the dictionaries the pages of the prefix, none
# of the values of other columns, and posting lists only of terms that it gives
# out and that have postings with and without positions.  What skipidx_suggest()
# reads: the pages of beginnings with which a term can be near, and no others
# ahead.
#
# Holds: functions 4; lexicon 2, 4, 5

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;

my $node = skx_node('terms', conf => "maintenance_work_mem = 256MB\n"
	  . "skipidx.cache_size = 128MB");
my $s = skx_session($node, 'postgres');

# Two segments and pending documents with some 100,000 terms; as many values
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, format('%s:1 some:2 common%s:3 %s', md5((i % 100000)::text), i % 3,
	CASE i % 3 WHEN 0 THEN 'mixed:4' WHEN 1 THEN 'mixed bare' ELSE '' END)::tsvector FROM generate_series(1, 150000) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
CREATE INDEX docs_few ON docs USING skipidx (ts_delete(v, md5((id % 100000)::text)), id);
INSERT INTO docs SELECT i, format('%s:1 some:2 mixed', md5((i % 100000)::text))::tsvector FROM generate_series(200001, 230000) i;
SELECT skipidx_flush('docs_v'), skipidx_flush('docs_few');
INSERT INTO docs SELECT i, format('%s:1 some:2 mixed:3,4,5', md5((i % 100000)::text))::tsvector FROM generate_series(150001, 150100) i;
SET skipidx.io_method = uring;
SQL
my $dict = $s->value("SELECT sum(dict_pages) FROM skipidx_segments('docs_v')");
work_is('pages of dictionaries', $dict);

# Pages read with nothing cached, and sub-blocks decoded, by a call.
sub work
{
	my ($call, $function) = (@_, 'terms');
	my $counts = "SELECT pages_read, subblocks FROM skipidx_work(), skipidx_io_totals() WHERE scope = 'session'";

	$s->value('SELECT skipidx_cache_reset()');
	my @before = split /\|/, $s->value($counts);
	my $rows = $s->value("SELECT count(*) FROM skipidx_$function($call)");
	my @after = split /\|/, $s->value($counts);

	note "$function $call: $rows terms, " . ($after[0] - $before[0]) . ' pages, '
	  . ($after[1] - $before[1]) . ' sub-blocks';
	return ($rows, $after[0] - $before[0], $after[1] - $before[1]);
}

# Headers take some pages, too.
my ($rows, $pages, $subblocks) = work(q{'docs_v', 'some', 10});
is($rows, 1, 'a prefix of one term');
work_is('a prefix of one term: pages', $pages);
work_is('a prefix of one term: sub-blocks', $subblocks);

($rows, $pages, $subblocks) = work(q{'docs_v', 'ab', 1000});
is($rows, $s->value(q{SELECT count(*) FROM generate_series(0, 99999) i WHERE md5(i::text) ~ '^ab'}),
	'a prefix of a 256th of the terms');
work_is('a prefix of a 256th: pages', $pages, dict => $dict);
work_is('a prefix of a 256th: sub-blocks', $subblocks);

($rows, $pages, $subblocks) = work(q{'docs_v', '', 100000000});
is($rows, 100000 + 6, 'all terms');
work_is('all terms: pages', $pages, dict => $dict);
# the postings of the one that has some without positions, and of no other
work_is('all terms: sub-blocks', $subblocks);
work_is('all terms: sub-blocks of one', $subblocks);

($rows, $pages, $subblocks) = work(q{'docs_v', '', 1});
work_is('the first term: sub-blocks', $subblocks);
($rows, $pages, $subblocks) = work(q{'docs_v', 'bare', 1});
work_is('a term without any positions: sub-blocks', $subblocks);

# The first letter is kept, and two edits are few in so long words.
my $first = $s->value('SELECT min(md5(i::text)) FROM generate_series(0, 99999) i WHERE md5(i::text) >= \'7\'');
my $typed = substr($first, 0, 20) . 'x' . substr($first, 21);

($rows, $pages) = work("'docs_v', '$typed', 10, 'auto'", 'suggest');
is($rows, 1, 'a word with its first letter kept');
work_is('a word with its first letter kept: pages', $pages, dict => $dict);
($rows, $pages) = work("'docs_v', '$typed', 10, '0', false", 'suggest');
is($rows, 0, 'a word without edits');
work_is('a word without edits: pages', $pages);
# What was found is kept: no page is read, of which none is in the cache.
($rows, $pages) = work("'docs_v', '$typed', 10, 'auto'", 'suggest');
is($rows, 1, 'a word again');
work_is('a word again: pages', $pages);
$s->value('INSERT INTO docs VALUES (0, NULL)');
($rows, $pages) = work("'docs_v', '$typed', 10, 'auto'", 'suggest');
work_is('a word again, of other rows: pages', $pages, dict => $dict);
# Of each first letter there are some pages, and a word may go on with few.
($rows, $pages) = work("'docs_v', '$typed', 10, '1'", 'suggest');
is($rows, 1, 'a word with one edit');
work_is('a word with one edit: pages', $pages, dict => $dict);
# where any term may be near until its third letter, pages are read in order
($rows, $pages) = work(q{'docs_v', 'abc', 10, '2'}, 'suggest');
work_is('a short word with two edits: pages', $pages, dict => $dict);

# Above the leaves there are several pages, as words are long.
$s->value(<<'SQL');
CREATE TABLE long AS SELECT i AS id, array_to_tsvector(ARRAY[md5(i::text) || repeat(md5((i + 1)::text), 55)]) AS v FROM generate_series(1, 8000) i;
CREATE INDEX long_v ON long USING skipidx (v);
SQL
my $deep = $s->value("SELECT sum(dict_pages) FROM skipidx_segments('long_v')");
work_is('pages of a dictionary of long words', $deep);
($typed) = $s->value('SELECT md5(n) || repeat(md5((n::int + 1)::text), 55) FROM (SELECT i::text AS n FROM generate_series(1, 8000) i ORDER BY md5(i::text) OFFSET 7000 LIMIT 1) s');
substr($typed, 20, 1) = 'x';
($rows, $pages) = work("'long_v', '$typed', 10, '1'", 'suggest');
is($rows, 1, 'a long word with one edit');
work_is('a long word with one edit: pages', $pages, deep => $deep);

# some, common0 to common2, mixed, bare
my $few = $s->value("SELECT sum(dict_pages) FROM skipidx_segments('docs_few')");
work_is('pages of a dictionary that is of values mostly', $few);
($rows, $pages, $subblocks) = work(q{'docs_few', '', 100});
is($rows, 6, 'terms beside values');
work_is('terms beside values: pages', $pages, dict => $few);
is($s->value(q{SELECT string_agg(format('%s %s %s', term, df, tf), ', ') FROM skipidx_terms('docs_few', '', 100)}),
	$s->value(q{SELECT string_agg(format('%s %s %s', word, ndoc, nentry), ', ' ORDER BY ndoc DESC, word COLLATE "C")
		FROM ts_stat('SELECT ts_delete(v, md5((id % 100000)::text)) FROM docs')}),
	'and counted');

# Long ones are gone through until they are cancelled.
$s->value('BEGIN');
$s->value("SET LOCAL statement_timeout = '1ms'");
like($s->raw(q{SELECT count(*) FROM skipidx_terms('docs_v', '', 1000)}), qr/canceling statement/, 'it can be cancelled');
$s->value('ROLLBACK');

$s->close;
$node->stop;
work_done();
