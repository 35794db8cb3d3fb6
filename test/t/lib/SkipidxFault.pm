# SkipidxFault: named points of the storage protocol, armed from a test, and a
# table that is kept in a state where all of them can be reached.
#
# The points come from the list in src/support/fault/fault_points.h; what a point is
# told to do is the setting skipidx.fault of the session that will reach it.
# That it was reached is read from the server's log.

package SkipidxFault;

use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use SkipidxDiff;
use SkipidxGen;
use SkipidxTest qw(skx_session);
use Test::More;
use Time::HiRes qw(sleep time);

# First key of the advisory locks that action wait waits for.
use constant LOCK_KEY => 0x736b78;

# Seconds until something that should happen counts as not happening.
use constant PATIENCE => $PostgreSQL::Test::Utils::timeout_default;

my $fixture = <<'SQL';
CREATE TABLE pool (n int, kind text, v tsvector);
CREATE SEQUENCE ids START 1000000;

-- k rows more, of some kind; returns how many there were before
CREATE FUNCTION add(k int, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO docs SELECT nextval('ids'), kind, v FROM (SELECT kind, v FROM pool
		WHERE (kind = 'large') = (what = 'large') ORDER BY random() LIMIT k) p;
END $$;

CREATE FUNCTION drop_some(k int) RETURNS void LANGUAGE sql AS $$
	DELETE FROM docs WHERE id IN (SELECT id FROM docs ORDER BY random() LIMIT k)
$$;

-- every row once, by an index scan of either kind and by the heap
CREATE FUNCTION counts(mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_mode(mode);
	EXECUTE 'SELECT count(*) || '' '' || count(DISTINCT id) || '' '' ||
		coalesce(sum(id::int8), 0) FROM docs WHERE v @@ ''!nosuchword''' INTO answer;
	PERFORM set_mode('seq');
	RETURN answer;
END $$;
SQL

# Options: rows (per batch of the pool), queries (per form), seed.
sub new
{
	my ($class, $node, $db, %opt) = @_;
	my $self = bless { node => $node, db => $db, log => 0 }, $class;

	$self->{points} = [ points() ];
	$self->connect;
	$self->fill(%opt) if $opt{rows};
	return $self;
}

# The list: name, number (second key of its lock), wait (can it?).
sub points
{
	my $text = slurp_file("$FindBin::RealBin/../../src/support/fault/fault_points.h");
	my $n = 0;

	return map { { number => ++$n, name => $_->[0], wait => $_->[1] eq 'true' } }
	  map { [/^\s*X\(\w+, "(\w+)", (true|false)\)/] }
	  grep { /^\s*X\(/ } split /\n/, $text;
}

sub point
{
	my ($self, $name) = @_;
	my ($found) = grep { $_->{name} eq $name } @{ $self->{points} };

	die "no fault point $name" unless $found;
	return $found;
}

sub session
{
	my ($self) = @_;
	my $s = skx_session($self->{node}, $self->{db});

	$s->value("LOAD 'skipidx'");
	$s->value("SET statement_timeout = '" . PATIENCE . "s'");
	return $s;
}

# A session for the test's own use.
sub connect
{
	my ($self) = @_;

	$self->{s} = $self->session;
	$self->{diff}->use_session($self->{s}) if $self->{diff};
	return;
}

# A new one when the server has recovered from the crash that came after
# mark().  Right after it, the server may still take connections and end them.
sub recover
{
	my ($self) = @_;
	my $until = time + PATIENCE;

	$self->{s}->close;
	until (slurp_file($self->{node}->logfile, $self->{log}) =~ /ready to accept connections/)
	{
		die 'the server did not come back' if time > $until;
		sleep 0.01;
	}
	$self->connect;
	return;
}

# Tables, functions, generated rows in the pool, queries.
sub fill
{
	my ($self, %opt) = @_;
	my $s = $self->{s};
	my $gen = SkipidxGen->new(seed => $opt{seed} // 1, vocab => 120);

	$self->{diff} = SkipidxDiff->new($s);
	$s->value($fixture);
	$gen->add_documents($opt{rows});
	$gen->add_large(900 + 300 * $_) for 1 .. 6;
	$self->{diff}->load_documents([ $gen->copy_documents(1) ], 0);
	$s->value('INSERT INTO pool SELECT id, kind, v FROM docs; ANALYZE pool');
	$self->{diff}->load_queries($gen->copy_queries($opt{queries} // 2));
	$self->{queries} = $s->value('SELECT count(*) FROM queries');
	return;
}

# ---- points ----

sub arm
{
	my ($self, $session, $point, $action, $nth) = @_;

	$session->value("SET skipidx.fault = '$point:$action" . ($nth ? ":$nth" : '') . "'");
	return;
}

# Only what is logged from now on counts for reached().
sub mark
{
	my ($self) = @_;

	$self->{log} = -s $self->{node}->logfile;
	return;
}

# How often the log tells of the point since mark().
sub reached
{
	my ($self, $point, $action) = @_;
	my $log = slurp_file($self->{node}->logfile, $self->{log});

	return scalar(() = $log =~ /skipidx fault point $point: $action$/mg);
}

# Whoever is told to wait at the point does so until release().
sub hold
{
	my ($self, $session, $point) = @_;
	my $number = $self->point($point)->{number};

	$session->value("SELECT pg_advisory_lock(@{[LOCK_KEY]}, $number)");
	return;
}

sub release
{
	my ($self, $session, $point) = @_;
	my $number = $self->point($point)->{number};

	return $session->value("SELECT pg_advisory_unlock(@{[LOCK_KEY]}, $number)");
}

# Is somebody waiting at the point?  Not at once, but soon.
sub waits
{
	my ($self, $session, $point) = @_;
	my $number = $self->point($point)->{number};
	my $until = time + PATIENCE;

	while (time < $until)
	{
		return 1
		  if $session->value('SELECT count(*) FROM pg_locks WHERE locktype ='
			  . " 'advisory' AND classid = @{[LOCK_KEY]} AND objid = $number"
			  . ' AND NOT granted') > 0;
		sleep 0.01;
	}
	return 0;
}

# ---- what must hold ----

# The whole index against the heap, and the answers of both kinds of scan to
# a part of the queries against those of the sequential scan.
sub agrees
{
	my ($self, $when, $stride) = @_;
	my $s = $self->{s};
	my $check = $s->raw("SELECT skipidx_check('docs_v', true)");
	my $ok = is($check, '', "$when: skipidx_check");
	my $rows = $s->value("SELECT counts('seq')");

	for my $mode (qw(bitmap plain))
	{
		$ok &= is($s->value("SELECT counts('$mode')"), $rows, "$when: every row once, $mode");
	}
	return $ok unless $stride;
	$s->value("DELETE FROM answers");
	$self->{diff}->run($when, $_, $stride) for qw(seq bitmap plain);
	$ok &= $self->{diff}->agrees($when, $when, $_) for qw(bitmap plain);
	return $ok;
}

# Live documents of the index are exactly the rows; true after a VACUUM that
# nothing held back.
sub exact
{
	my ($self, $when) = @_;
	my $s = $self->{s};

	return is($self->documents, $s->value('SELECT count(*) FROM docs'),
		"$when: as many documents as rows");
}

sub documents
{
	my ($self) = @_;

	return $self->{s}->value(
		"SELECT ndocs - deleted FROM skipidx_stats('docs_v')");
}

# A column of the index's statistics.
sub stat
{
	my ($self, $column) = @_;

	return $self->{s}->value("SELECT $column FROM skipidx_stats('docs_v')");
}

1;
