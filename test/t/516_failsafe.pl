# VACUUM of a table whose age passes vacuum_failsafe_age on the way does nothing
# but mark and count from then on: no flush, no merge.
#
# The server itself leaves indexes out once it has seen the age.  It looks while
# it vacuums, not while it cleans up, so the age passes in the cleanup of one
# index, and it is the next one that must see it.
#
# Holds: maint 12

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxFault;
use SkipidxTest qw(skx_node skx_seed);
use Test::More;

skx_seed(516);

# The least that the failsafe age can be is 1.05 of this.
my $node = skx_node('failsafe', conf => "autovacuum_freeze_max_age = 100000\nmax_parallel_maintenance_workers = 0\n");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
CREATE UNLOGGED TABLE ages (i int) WITH (autovacuum_enabled = off);
CREATE INDEX docs_a ON docs USING skipidx (v) WITH (pending_limit = '1GB');
CREATE INDEX docs_b ON docs USING skipidx (v) WITH (pending_limit = '1GB');
SQL

my $f = SkipidxFault->new($node, 'postgres');
my $s = $f->{s};

sub pending { return $s->value("SELECT pending_docs FROM skipidx_stats('$_[0]')"); }
sub segments { return $s->value("SELECT segments FROM skipidx_stats('$_[0]')"); }

# Transaction ids; each subtransaction that writes takes one.
sub grow_old
{
	my ($n) = @_;

	$s->value("DO \$\$ BEGIN FOR i IN 1..$n LOOP BEGIN INSERT INTO ages VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL;"
		  . ' END; END LOOP; END $$; TRUNCATE ages');
	return;
}

# VACUUM, which waits in the cleanup of the first index until so many transaction
# ids have been used.
sub vacuum
{
	my ($name, $xids) = @_;
	my $v = $f->session;

	for (1 .. 9)
	{
		$s->value("INSERT INTO docs SELECT i, ('all:1 x' || i || ':2')::tsvector FROM generate_series(1, 300) i");
		$s->value("SELECT skipidx_flush('docs_a') IS NULL, skipidx_flush('docs_b') IS NULL");
	}
	$s->value("INSERT INTO docs SELECT i, ('all:1 y' || i || ':2')::tsvector FROM generate_series(1, 4000) i");
	my $segments = segments('docs_b');

	cmp_ok($segments, '>', 8, "$name: a merge would be due");
	$v->value('SET vacuum_failsafe_age = 0; SET statement_timeout = 0');
	$f->hold($s, 'flush_stripe');
	$f->arm($v, 'flush_stripe', 'wait');
	$v->start('VACUUM (INDEX_CLEANUP ON, PARALLEL 0, PROCESS_TOAST OFF) docs');
	is($f->waits($s, 'flush_stripe'), 1, "$name: VACUUM is at the first index");
	grow_old($xids) if $xids;
	$f->release($s, 'flush_stripe');
	is($v->finish, '', "$name: VACUUM succeeds");
	$v->close;
	is(pending('docs_a'), 0, "$name: the first index is flushed");
	return $segments;
}

my $segments = vacuum('young', 0);

is(pending('docs_b'), 0, 'young: and so is the other');
cmp_ok(segments('docs_b'), '<', $segments, 'young: and merged');

$segments = vacuum('old', 105500);
is(pending('docs_b'), 4000, 'old: the other is not flushed');
is(segments('docs_b'), $segments, 'old: nor merged');
is($s->value("SELECT ndocs FROM skipidx_stats('docs_b')"), $s->value('SELECT count(*) FROM docs'), 'old: nothing is lost');
$f->{s}->close;
$node->stop;
done_testing();
