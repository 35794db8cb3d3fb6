# Words beside columns where statements are not read as text, or rows not written
# as usual: binary input of hostile bytes, a standby before and after it is
# promoted, and a full disk.  skipidx_document() makes the documents.
#
# Holds: plan 40; functions 21

use strict;
use warnings;
use File::Spec;
use FindBin;
use lib "$FindBin::RealBin/lib";
use SkipidxDisk megabytes => 64;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxClient;
use SkipidxTest qw(skx_node skx_seed skx_session);
use SkipidxWire qw(wire_copy wire_mutated);
use Test::More;

my $disk = SkipidxDisk->new;
my $primary = skx_node('words_primary', streaming => 1);
my $s = skx_session($primary, 'postgres');

skx_seed(391);

# Three documents of more than a tsvector holds.
my $tables = <<'SQL';
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE docs (id serial PRIMARY KEY, title text, body text, doc tsvector GENERATED ALWAYS AS
	(setweight(skipidx_document('english', title), 'A') || skipidx_document('english', coalesce(body, ''))) STORED) WITH (autovacuum_enabled = off);
CREATE INDEX docs_doc ON docs USING skipidx (doc);
CREATE TABLE notes (id serial PRIMARY KEY, body text) WITH (autovacuum_enabled = off);
CREATE INDEX notes_body ON notes USING skipidx (skipidx_document('english', body));
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (title, body) SELECT 'Hills ' || i % 7, CASE WHEN i % 5 > 0 THEN repeat('rivers ', i % 4) || repeat('the stones ', i % 3) || 'n' || i END FROM generate_series(first, first + n - 1) i;
	INSERT INTO notes (body) SELECT body FROM docs ORDER BY id DESC LIMIT n;
$$;
SQL
my $long = q{(SELECT 'stones ' || string_agg(md5(i::text), ' ') FROM generate_series(1, 40000) i)};

$s->value("$tables; SELECT add(1, 300); INSERT INTO docs (title, body) SELECT 'hills', $long; INSERT INTO notes (body) SELECT body || ' rivers' FROM docs ORDER BY id DESC LIMIT 1");

# ---- binary input ----

$s->value('CREATE TABLE given (w skipidx_words)');
my $file = File::Spec->rel2abs("$PostgreSQL::Test::Utils::tmp_check/words.copy");
my ($host, $port) = ($primary->host, $primary->port);
my $client = SkipidxClient->new($host, $port, $s->value('SELECT current_user'), 'postgres');
my ($taken, $refused, @wrong) = (0, 0);

$client->{binary} = 1;
$client->prepare('match', 'SELECT count(*) FROM notes WHERE body @@@ $1');
$client->prepare('distance', 'SELECT count(body <@> $1) FROM notes WHERE id < 20');
for my $words ('', 'stones', "\0", "a\0b", "\xff", "st\xc3", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", 'rivers' x 100000, '"' x 999, '-' x 999,
	map { wire_mutated(join ' ', map { (qw(rivers stone or -n7 "the), "\xc3\xa9", "\xe6\xbc\xa2")[ rand 7 ] } 0 .. rand 6) } 1 .. 200)
{
	my $valid = utf8::decode(my $copy = $words) && $words !~ /\0|\xed[\xa0-\xbf]|\xf4[\x90-\xbf]|[\xf5-\xff]/;

	wire_copy($file, [$words]);
	my $said = $s->raw("COPY given FROM '$file' (FORMAT binary)");
	push @wrong, "COPY: $said" if $valid ? $said ne '' : $said !~ /ERROR:  22021/;
	for my $statement (qw(match distance))
	{
		$client->bind_execute($statement, $words);
		my ($row) = $client->answer;

		push @wrong, "$statement: $client->{error}" if $valid ? $client->{error} ne '' : $client->{error} !~ /^22021/;
	}
	$valid ? $taken++ : $refused++;
}
is(join("\n", @wrong[ 0 .. ($#wrong > 4 ? 4 : $#wrong) ]), '', 'bytes are words, or 22021');
cmp_ok($taken, '>', 40, "$taken taken");
cmp_ok($refused, '>', 50, "$refused refused");
is($s->value('SELECT count(*) FROM given'), $taken, 'those that were taken are there');
is($s->value(q{SELECT count(*) FROM given g WHERE (SELECT count(*) FROM notes WHERE body @@@ g.w) <> (SELECT count(*) FROM notes WHERE skipidx_document('english', body) @@ websearch_to_tsquery('english', regexp_replace(g.w::text, '-+', '-', 'g')))
	AND g.w::text !~ '--'}), '0', 'and find what websearch_to_tsquery() of the same bytes does');
$client->close;

# ---- a standby ----

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('words_standby');

$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $reader = skx_session($standby, 'postgres');

# By words, and by a document and a query.
my %asked = (
	match => [ q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM docs WHERE (title, body) @@@ 'stone -n7 or "rivers the"'},
		q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM docs WHERE doc @@ websearch_to_tsquery('english', 'stone -n7 or "rivers the"')} ],
	ranked => [ q{SELECT string_agg(id || ':' || d, ' ') FROM (SELECT id, body <@> 'stones river' AS d FROM notes ORDER BY d, id LIMIT 20) x},
		q{SELECT string_agg(id || ':' || d, ' ') FROM (SELECT id, skipidx_document('english', body) <@> skipidx_any('english', 'stones river') AS d FROM notes ORDER BY d, id LIMIT 20) x} ],
	part => [ q{SELECT count(*), sum(body <@> 'hill') FROM docs WHERE title @@@ 'hill'}, q{SELECT count(*), sum(doc <@> 'hill:D'::tsquery) FROM docs WHERE doc @@ 'hill:A'} ],
	passage => [ q{SELECT skipidx_passages(body, 'rivers') FROM notes WHERE id = 7}, q{SELECT skipidx_highlight('english', body, 'river') FROM notes WHERE id = 7} ],
	cut => [ q{SELECT count(*) FROM notes WHERE body @@@ 'stones rivers' AND length(body) > 1000000}, q{SELECT count(*) FROM notes WHERE skipidx_document('english', body) @@ 'stone & river' AND length(body) > 1000000} ]);

sub same
{
	my ($when, @sessions) = @_;
	my %answers;

	for my $session (@sessions)
	{
		for my $scan (qw(on off))
		{
			$session->value("SET enable_seqscan = $scan");
			for my $name (sort keys %asked)
			{
				$answers{$name}{ $session->value($_) } = 1 for @{ $asked{$name} };
			}
		}
	}
	is(join(' ', grep { keys %{ $answers{$_} } != 1 } sort keys %answers), '', "$when: words as documents, here and there");
	return;
}

for my $step ("SELECT add(400, 100)", q{SELECT skipidx_flush('docs_doc'), skipidx_flush('notes_body') \g /dev/null} . "\n", 'DELETE FROM docs WHERE id % 7 = 0; DELETE FROM notes WHERE id % 9 = 0; SELECT add(600, 50)',
	q{SELECT skipidx_merge('docs_doc'), skipidx_merge('notes_body') \g /dev/null} . "\n", 'VACUUM docs, notes')
{
	$s->value($step);
	$primary->wait_for_catchup($standby);
	same($step =~ s/\n//r, $s, $reader);
}
is($reader->value("SELECT length(skipidx_document('english', 'a standby has stones'))"), '2', 'skipidx_document() of a text on a standby');
$standby->promote;
$s->close;
$primary->stop('immediate');
same('promoted', $reader);
$reader->value('SELECT add(700, 100)');
same('and written to', $reader);
is($reader->value(q{SELECT count(*) FROM docs WHERE body @@@ 'n701'}), '1', 'a row of the new primary is found');
$reader->close;
$standby->stop;

# ---- a full disk ----

my $node = skx_node('words_disk', faults => 1);
my $where = $disk->tablespace($node);

$s = skx_session($node, 'postgres');
$s->value("SET default_tablespace = $where; $tables; SELECT add(1, 300)");
same('before the disk is full', $s);
my $rows = $s->value('SELECT count(*) FROM docs');

$disk->fill(300);
$s->close;
$s = skx_session($node, 'postgres');
my $error = '';

for (1 .. 400)
{
	$error = $s->raw("INSERT INTO docs (title, body) SELECT 'full', $long");
	last if $error ne '';
	$rows++;
}
like($error, qr/ERROR:  53100/, 'a full disk: 53100');
is($s->value('SELECT count(*) FROM docs'), $rows, 'nothing of that row is there');
same('on a full disk', $s);
$disk->empty;
$s->close;
$s = skx_session($node, 'postgres');
$s->value("INSERT INTO docs (title, body) SELECT 'space', $long");
is($s->value(q{SELECT count(*) FROM docs WHERE title @@@ 'space' AND body @@@ 'stone'}), '1', 'with space again');
same('with space again', $s);
note $disk->description;
$s->close;
done_testing();
