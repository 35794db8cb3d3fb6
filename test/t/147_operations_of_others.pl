# Of a merge of an index that is another's, a role learns that a process is at
# one in a database, while it runs, and nothing when it has ended; so does the
# owner of an index in another database.  The owner and a monitor see all of it.
#
# Holds: inspect 13

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $node = skx_node('others', conf => 'skipidx.max_workers = 0');

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE guest LOGIN;
CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats;
CREATE ROLE keeper LOGIN;
CREATE DATABASE d;
CREATE EXTENSION skipidx;
SQL
$node->safe_psql('d', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT ('a w' || i)::tsvector FROM generate_series(1, 500) i;
CREATE INDEX docs_v ON docs USING skipidx (v);
INSERT INTO docs SELECT ('a w' || i)::tsvector FROM generate_series(1, 500) i;
ALTER TABLE docs OWNER TO keeper;
SQL

my $merge = skx_session($node, 'd');
my $lock = skx_session($node, 'd');
my ($wait) = grep { $_->{name} eq 'merge_built' } SkipidxFault::points();
my $columns = 'database, index::text, operation, asked_by, state, pid, started IS NOT NULL, seconds IS NOT NULL, segments, documents,'
  . ' bytes_read > 0, bytes_written > 0, wal_bytes > 0, phase IS NOT NULL';

# What a role sees of them in a database: the rows of the function.
sub seen
{
	my ($role, $database) = @_;

	return $node->safe_psql($database // 'd', "SET ROLE $role; SELECT $columns FROM skx_merges() ORDER BY started");
}

$merge->value("SELECT skipidx_flush('docs_v')");
is(seen('guest'), '', 'a flush of another has ended');
is(seen('guest', 'postgres'), '', 'in another database');
my $flush = qr/^\d+\|docs_v\|flush\|function\|done\|\d+\|t\|t\|0\|500\|/;
like(seen('keeper'), $flush, 'its owner sees it');
like(seen('monitor'), $flush, 'and a monitor');

$lock->value('SELECT pg_advisory_lock(' . SkipidxFault::LOCK_KEY . ", $wait->{number})");
$merge->value("SET skipidx.fault = 'merge_built:wait'");
$merge->start("SELECT skipidx_merge('docs_v')");
$node->poll_query_until('d', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
  or die 'the merge has not come to its lock';

my $d = $node->safe_psql('d', 'SELECT oid FROM pg_database WHERE datname = current_database()');
my $bare = "$d|||||" . $merge->backend . '|f|f|||||' . '|f';
is(seen('guest'), $bare, 'a merge of another is running');
is(seen('guest', 'postgres'), $bare, 'in another database');
is(seen('keeper', 'postgres'), $bare, 'its owner, in another database');
is($node->safe_psql('d', 'SET ROLE guest; SELECT database, pid FROM skipidx_merges'), 'd|' . $merge->backend, 'as the view shows');
my $running = qr/\n\d+\|docs_v\|merge\|function\|running\|\d+\|t\|t\|2\|1000\|t\|/;
like(seen('keeper'), $running, 'its owner sees it');
like(seen('monitor'), $running, 'and a monitor');
like(seen('monitor', 'postgres'), qr/\n$d\|\|merge\|function\|running\|/, 'in another database without its name');

$lock->value('SELECT pg_advisory_unlock_all()');
is($merge->finish, '1', 'the merge ends');
is(seen('guest'), '', 'a merge of another has ended');
$node->safe_psql('d', 'DROP TABLE docs');
is(seen('keeper'), '', 'the index is gone, and nobody its owner');
like(seen('monitor'), qr/^\d+\|\d+\|flush\|function\|done\|/, 'a monitor sees it still');
$_->close for $merge, $lock;

# The manual says of each function what right it asks for.
my ($table) = slurp_file("$FindBin::RealBin/../../doc/reference.md") =~ /^### Rights\n(.*)/ms;
my @functions = split /\n/, $node->safe_psql('d', q{SELECT DISTINCT proname FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND proname LIKE 'skipidx%'
		AND proname !~ '_(in|out|recv|handler|support)$|_place_|_distance$|_meets$|_bind_values$'});

cmp_ok(@functions, '>', 25, 'functions that users call');
like($table, qr/`\Q$_\E\(\)`/, "the manual has $_()") for @functions;
done_testing();
