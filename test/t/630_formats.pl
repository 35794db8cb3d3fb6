# Formats of later releases: a skipidx that stands for release 1.4, which knows a
# feature of each kind and another format (test/t/lib/SkipidxFormat.pm).  What it
# writes before and after ALTER EXTENSION UPDATE, what this release can do with
# that, on a primary and on a standby, and kills on the way to a new format.
#
# ALTER EXTENSION needs a script beside those installed: the tests set what it
# sets, pg_extension.extversion.
#
# Holds: disk 6, 7; manifest 2, 13, 14

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxFormat qw(format_build_later format_extension format_library format_release format_of format_of_segments);
use SkipidxPower;
use SkipidxTest qw(skx_catch_up skx_node skx_recovered skx_relation_file skx_session skx_until);
use Test::More;

plan skip_all => 'the tree has no objects' unless SkipidxPower->objects;

# What the formats say: number, oldest reader, features of three kinds.
my %format = (
	'1.0' => '5 1.0 1 0 0',
	'1.1' => '5 1.0 3 0 0',
	'1.2' => '5 1.0 3 1 0',
	'1.3' => '5 1.3 3 1 1',
	'1.4' => '6 1.4 3 1 1');

is(format_build_later(), '', 'the later release is built');

my $primary = skx_node('formats_primary', streaming => 1, conf => "skipidx.max_workers = 0\n");

format_extension($primary);
$primary->safe_psql('postgres', <<'SQL');
CREATE TABLE docs (id int, v tsvector) WITH (vacuum_truncate = off);
CREATE FUNCTION add(first int, n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs SELECT i, ('all:1 w' || i % 41 || ':2A w' || i * 7 % 43 || ':3')::tsvector
	FROM generate_series(first, first + n - 1) i
$$;
SELECT add(1, 3000);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (pending_limit = '1GB');
SQL
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('formats_standby');

$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $next = 10_000;
my $question = q{SELECT count(*), sum(id), (SELECT string_agg(id::text, ' ') FROM
	(SELECT id FROM docs WHERE v @@ 'w3' ORDER BY v <@> 'w3 | w5'::tsquery LIMIT 20) d) FROM docs WHERE v @@ 'all <-> w5' OR v @@ 'w7 & !w9'};

sub answer
{
	my ($node, $by) = @_;

	return $node->safe_psql('postgres',
		($by eq 'table' ? 'SET enable_indexscan = off; SET enable_bitmapscan = off;' : 'SET enable_seqscan = off;') . $question);
}

# The node answers by the index as the primary does by the table.
sub right
{
	my ($node, $what) = @_;

	skx_catch_up($primary, $standby) if $node == $standby;
	is(answer($node, 'index'), answer($node, 'table'), "$what: right answers");
	return;
}

# What a statement raises, with its code, detail and hint.
sub refused
{
	my ($node, $statement, $error, $what) = @_;
	my (undef, undef, $said) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET enable_seqscan = off;\n$statement");

	like($said, qr/ERROR:  55000: $error/, $what);
	like($said, qr/HINT:  Install that release/, "$what: what to do");
	unlike($said, qr/REINDEX/, "$what: nothing is to be rebuilt");
	return;
}

# New rows, some of them deleted, and VACUUM, which finds both kinds.
sub write_some
{
	my ($node) = @_;

	$node->safe_psql('postgres', "SELECT add($next, 200); DELETE FROM docs WHERE id % 11 = " . $next % 11);
	$node->safe_psql('postgres', 'VACUUM docs');
	$next += 201;
	return;
}

sub flush
{
	my ($node) = @_;

	write_some($node);
	return $node->safe_psql('postgres', "SELECT add($next, 10); SELECT skipidx_flush('docs_v')") if ($next += 10);
}

sub merge { return $_[0]->safe_psql('postgres', "SELECT skipidx_merge('docs_v', 1)") }

sub sound
{
	my ($node, $what) = @_;

	is($node->safe_psql('postgres', "SELECT skipidx_check('docs_v', true)"), '', "$what: sound");
	return;
}

my ($own) = $primary->safe_psql('postgres', "SELECT value FROM skipidx_page('docs_v', 0) WHERE field = 'written by'");
my $installed = $primary->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'skipidx'});

like($installed, qr/^\Q$own\E(?![\d.])/, 'the library is of the release of the SQL objects');
is(format_of($primary, 'docs_v'), $format{'1.0'}, 'an index of this release');
is(format_of_segments($primary, 'docs_v'), $format{'1.0'}, 'and its segment');

# ---- the standby has the later library first, then the primary alone ----

format_library($standby, 'later');
right($standby, 'later standby');
flush($primary);
right($standby, 'later standby, flushed');
format_library($standby, 'own');

format_library($primary, 'later');
flush($primary);
flush($primary);
merge($primary);
flush($primary);
$primary->safe_psql('postgres', 'CREATE INDEX more ON docs USING skipidx (v)');
is(format_of($primary, $_), $format{'1.0'}, "later library, before the update: $_") for 'docs_v', 'more';
is(format_of_segments($primary, 'docs_v'), "$format{'1.0'}; $format{'1.0'}", 'and the segments');
right($primary, 'later primary');
right($standby, 'behind a later primary');

# ---- the package is taken back before the update ----

format_library($primary, 'own');
flush($primary);
merge($primary);
right($primary, 'taken back');
sound($primary, 'taken back');

# ---- a feature that may be ignored ----

format_library($primary, 'later');

# An update that is rolled back leaves no trace; one that is not committed counts
# for no index that is older.
{
	my $session = skx_session($primary, 'postgres');
	my $reader = q{SELECT value FROM skipidx_page('%s', 0) WHERE field = 'oldest reader'};

	$session->value("SELECT add($next, 10)");
	$session->value(q{BEGIN; UPDATE pg_extension SET extversion = '1.3' WHERE extname = 'skipidx'});
	$session->value($_) for "SELECT skipidx_flush('docs_v')", 'CREATE INDEX young ON docs USING skipidx (v)';
	is($session->value(sprintf $reader, 'docs_v'), '1.0', 'an update that is not committed: a flush');
	is($session->value(sprintf $reader, 'young'), '1.3', 'an update that is not committed: a new index');
	$session->value('ROLLBACK');
	$session->close;
}
$next += 10;
is(format_of($primary, 'docs_v'), $format{'1.0'}, 'an update that was rolled back');

format_release($primary, '1.1');
is(format_of($primary, 'docs_v'), $format{'1.0'}, 'the update by itself changes no index');
flush($primary);
is(format_of($primary, 'docs_v'), $format{'1.1'}, 'a flush does');
like(format_of_segments($primary, 'docs_v'), qr/^($format{'1.0'}; )+($format{'1.1'}; )*$format{'1.1'}$/, 'its segment has the feature');
merge($primary);
is(format_of_segments($primary, 'docs_v'), $format{'1.1'}, 'and so has that of a merge');
right($standby, 'a feature to ignore');
format_library($primary, 'own');
flush($primary);
is(format_of($primary, 'docs_v'), $format{'1.1'}, 'a release that ignores it leaves the bit');
is(format_of_segments($primary, 'docs_v'), "$format{'1.1'}; $format{'1.0'}", 'but does not write it');
merge($primary);
is(format_of_segments($primary, 'docs_v'), $format{'1.0'}, 'a segment with it is merged away');
sound($primary, 'a feature that was ignored');
right($primary, 'a feature that was ignored');

# ---- a feature that may be read, brought by a merge ----

format_library($primary, 'later');
format_release($primary, '1.2');
$primary->safe_psql('postgres', "SELECT skipidx_merge('docs_v', 1)");
is(format_of($primary, 'docs_v'), $format{'1.1'}, 'nothing to merge');
format_library($primary, 'own');
format_release($primary, '1.0');
flush($primary);
format_library($primary, 'later');
format_release($primary, '1.2');
merge($primary);
is(format_of($primary, 'docs_v'), $format{'1.2'}, 'a merge brings a feature');
right($standby, 'a feature to read');
format_library($primary, 'own');
right($primary, 'a feature to read');
sound($primary, 'a feature to read');
my $read = qr/index "docs_v" cannot be written to by skipidx \Q$own\E\n.*DETAIL:  Skipidx 1\.4 has written to it/s;

refused($primary, 'SELECT add(1, 1)', $read, 'insert');
$primary->safe_psql('postgres', 'DELETE FROM docs WHERE id % 13 = 1');
refused($primary, 'VACUUM docs', $read, 'VACUUM of dead rows');
refused($primary, "SELECT skipidx_flush('docs_v')", $read, 'flush');
refused($primary, "SELECT skipidx_merge('docs_v', 1)", $read, 'merge');
right($primary, 'nothing was written');

# ---- a feature that must be known ----

format_library($primary, 'later');
format_release($primary, '1.3');
flush($primary);
is(format_of($primary, 'docs_v'), $format{'1.3'}, 'a feature that must be known');
skx_catch_up($primary, $standby);
refused($standby, $question, qr/index "docs_v" needs skipidx 1\.3 or later\n.*DETAIL:  This is skipidx \Q$own\E\./s, 'search on a standby');
format_library($standby, 'later');
right($standby, 'once it has the library');
format_library($standby, 'own');
format_library($primary, 'own');
my $needs = qr/index "docs_v" needs skipidx 1\.3 or later\n/;

refused($primary, $_, $needs, "this release: $_") for $question, 'INSERT INTO docs VALUES (1)', 'VACUUM docs', "SELECT * FROM skipidx_stats('docs_v')",
  "SELECT skipidx_check('docs_v')", "SELECT skipidx_prewarm('docs_v')";

# A segment says it, too: with a metapage that promises less.
{
	my $path = skx_relation_file($primary, 'postgres', 'docs_v');
	my $sound = skx_relation_file($primary, 'postgres', 'more');

	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->stop;
	is(system('pg_checksums', '--disable', '-D', $primary->data_dir), 0, 'without checksums')
	  if `pg_controldata @{[ $primary->data_dir ]}` =~ /checksum version: *1/;
	my @first = map { open(my $f, '+<:raw', $_) or die "$_: $!"; $f } $path, $sound;
	my ($was, $format);

	sysseek($_, 24, 0) for @first;
	sysread($first[0], $was, 32);
	sysread($first[1], $format, 32);
	sysseek($first[0], 24, 0);
	syswrite($first[0], $format);
	$primary->start;
	refused($primary, $question, $needs, 'a segment that must be known');
	$primary->stop('immediate');
	sysseek($first[0], 24, 0);
	syswrite($first[0], $was);
	close $_ for @first;
	$primary->start;
}

# ---- the next format: flushes bring it, and kills leave one or the other ----

format_library($primary, 'later');
format_release($primary, '1.4');
merge($primary);
is(format_of($primary, 'docs_v'), $format{'1.3'}, 'merges do not raise the format');
is(format_of_segments($primary, 'docs_v'), $format{'1.3'}, 'nor do their segments');

for my $kill ([ 'flush_read', '1.3' ], [ 'reserve_flipped', '1.3' ], [ 'flush_built', '1.3' ], [ 'publish_carried', '1.3' ],
	[ 'root_written:kill:2', '1.3' ], [ 'publish_flipped:error', '1.4' ])
{
	my ($point, $left) = @$kill;

	$point .= ':kill' unless $point =~ /:/;
	format_release($primary, '1.4');
	$primary->safe_psql('postgres', "SELECT add($next, 50)");
	$next += 50;
	my $before = answer($primary, 'table');
	my $session = skx_session($primary, 'postgres');

	$session->raw("SET skipidx.fault = '$point'; SELECT skipidx_flush('docs_v');\n");
	$session->close;
	# what an error leaves is in the log with the next commit
	if ($point =~ /error/)
	{
		$primary->safe_psql('postgres', 'INSERT INTO docs SELECT 0, NULL');
		$before = answer($primary, 'table');
		$primary->stop('immediate');
		$primary->start;
	}
	skx_recovered($primary);
	is(format_of($primary, 'docs_v'), $format{$left}, "killed at $point: the format is that of $left");
	is(answer($primary, 'index'), $before, "killed at $point: right answers");
	sound($primary, "killed at $point");
}
flush($primary);
is(format_of($primary, 'docs_v'), $format{'1.4'}, 'and it stays');
like(format_of_segments($primary, 'docs_v'), qr/^($format{'1.3'}; )+.*$format{'1.4'}$/, 'beside segments of the format before');
merge($primary);
is(format_of_segments($primary, 'docs_v'), $format{'1.4'}, 'until they are merged');
right($primary, 'the next format');
format_library($primary, 'own');
refused($primary, $_, qr/index "(?:docs_v|more)" needs skipidx 1\.4 or later/, "the next format: $_") for $question, 'INSERT INTO docs VALUES (1)';

# ---- other writers: a build by several processes, VACUUM, an insert ----

format_library($primary, 'later');
format_release($primary, '1.0');
$primary->safe_psql('postgres', 'DROP INDEX docs_v, more; ALTER TABLE docs SET (parallel_workers = 2)');
$primary->safe_psql('postgres', 'SET max_parallel_maintenance_workers = 2; CREATE INDEX team ON docs USING skipidx (v)');
is(format_of($primary, 'team'), $format{'1.0'}, 'a build by several');
is(format_of_segments($primary, 'team'), $format{'1.0'}, 'a build by several: its segment');
format_release($primary, '1.3');
$primary->safe_psql('postgres', 'SET max_parallel_maintenance_workers = 2; REINDEX INDEX team');
is(format_of($primary, 'team'), $format{'1.3'}, 'a build after the update');
is(format_of_segments($primary, 'team'), $format{'1.3'}, 'a build after the update: its segment');
format_release($primary, '1.4');
$primary->safe_psql('postgres', "ALTER INDEX team SET (pending_limit = '1GB'); SELECT add($next, 4000)");
$next += 4000;
$primary->safe_psql('postgres', "ALTER INDEX team SET (pending_limit = '64kB')");
$primary->safe_psql('postgres', 'VACUUM docs');
is(format_of($primary, 'team'), $format{'1.4'}, 'VACUUM flushes');
format_release($primary, '1.0');
$primary->safe_psql('postgres', "DROP INDEX team; CREATE INDEX team ON docs USING skipidx (v) WITH (pending_limit = '64kB')");
format_release($primary, '1.4');
$primary->safe_psql('postgres', "SELECT add($next, 4000)");
is(format_of($primary, 'team'), $format{'1.4'}, 'an insert flushes');

$standby->stop;
$primary->stop;
done_testing();
