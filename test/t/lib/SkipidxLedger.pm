# SkipidxLedger: a load whose every acknowledged transaction is written down
# outside of the server, and what must hold of it after a crash.
#
# Writers have rows of their own, so the ledger knows the whole state of each:
# id => number of the transaction that wrote the row last.  From these two the
# server computes the row's text again.  Each transaction leaves its number in
# the table journal, too, which tells which ones the server has.
#
# After a crash: transactions that were acknowledged are there, and those of one
# writer in their order; one without an answer is there as a whole or not at
# all.  When commits do not wait for the log, the last of them may be gone, but
# then also all that were sent after the first lost one was acknowledged.

package SkipidxLedger;

use strict;
use warnings;

use List::Util qw(min shuffle sum0);
use SkipidxTest qw(skx_session);
use Time::HiRes qw(sleep time);

use constant {
	PATIENCE => 60,
	WORDS => 250,
	MOST_ROWS => 1200,
	TABLES => 900_000_000		# transactions of new tables: ids of their own
};

my $schema = <<'SQL';
CREATE EXTENSION skipidx;
CREATE FUNCTION soak_doc(id int, txn int) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT (string_agg(CASE WHEN n > 100 THEN 'big' || i ELSE 'w' || (250 * u * u * u)::int END || ':' || i, ' ')
		|| format(' all:%s g%s:%s i%s t%s', max(n) + 1, id % 50, max(n) + 2, id, txn))::tsvector
	FROM (SELECT CASE WHEN h % 200 = 0 THEN 1300 ELSE 3 + h % 30 END AS n
		FROM (SELECT hashint8extended(id::int8 * 1000003 + txn, 7) & 65535 AS h) s) t,
	LATERAL (SELECT i, (hashint8extended(id::int8 * 1000003 + txn, i) & 65535) / 65536.0 AS u
		FROM generate_series(1, n) i) w
$$;
CREATE TABLE docs (id int PRIMARY KEY, writer int, txn int, v tsvector);
CREATE TABLE journal (writer int, txn int);
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64kB');

CREATE FUNCTION soak_mode(mode text) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_sort', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode = 'bitmap')::text, false),
		set_config('enable_indexscan', (mode = 'plain')::text, false)
$$;
CREATE FUNCTION soak_found(rel regclass, what tsquery, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM soak_mode(mode);
	EXECUTE format('SELECT count(*) || '' rows '' || count(DISTINCT id) || '' ids '' ||
		coalesce(sum(id::int8 * 31 + txn), 0) FROM %s WHERE v @@ $1', rel) INTO answer USING what;
	RETURN answer;
END $$;
CREATE FUNCTION soak_best(rel regclass, what tsquery, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM soak_mode(mode);
	EXECUTE format('SELECT string_agg(d::text, '' '') FROM (SELECT v <@> $1 AS d FROM %s
		ORDER BY v <@> $1 LIMIT 12) s', rel) INTO answer USING what;
	RETURN answer;
END $$;

-- What scores depend on beside the row: a merge or VACUUM by another process may
-- change it between two statements.  Each time another where the index is replaced.
CREATE FUNCTION soak_statistics(rel regclass) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT string_agg(concat_ws(' ', generation, ndocs, deleted, pending_docs, pending_dead), ',')
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam, skipidx_stats(indexrelid)
		WHERE indrelid = rel AND indisvalid AND amname = 'skipidx');
EXCEPTION WHEN serialization_failure THEN
	RETURN clock_timestamp();
END $$;

-- The first difference between the index and the table, or nothing
CREATE FUNCTION soak_look(rel regclass, what tsquery) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text := soak_found(rel, what, 'seq');
	statistics text;
	best text;
	got text;
	mode text;
BEGIN
	FOREACH mode IN ARRAY ARRAY['bitmap', 'plain'] LOOP
		got := soak_found(rel, what, mode);
		IF got <> want THEN
			RETURN format('%s of %s, %s: %s, but the table has %s', what, rel, mode, got, want);
		END IF;
	END LOOP;
	FOR i IN 1 .. 50 LOOP
		statistics := soak_statistics(rel);
		best := soak_best(rel, what, 'seq');
		got := soak_best(rel, what, 'plain');
		EXIT WHEN got IS NOT DISTINCT FROM best OR statistics IS NOT DISTINCT FROM soak_statistics(rel);
	END LOOP;
	IF got IS DISTINCT FROM best THEN
		RETURN format('%s of %s, by rank: %s, but the table has %s', what, rel, got, best);
	END IF;
	RETURN '';
END $$;
SQL

# Options: writers; spared, errors that may be, beside those of processes that
# are ended.
sub new
{
	my ($class, $node, %opt) = @_;
	my $self = bless { node => $node, txn => 0, done => {}, lost => 0, committed => 0,
		spared => $opt{spared} }, $class;

	my $writers = $opt{writers} // 3;

	$self->{writers} = [ map { new_writer($_) } 1 .. $writers ];
	$self->{preparer} = new_writer($writers + 1);
	$self->{tables} = new_writer($writers + 2);
	$self->{all} = [ @{ $self->{writers} }, $self->{preparer}, $self->{tables} ];
	return $self;
}

# state: what the server had for certain; now: with all that it has
# acknowledged since; log: transactions since.
sub new_writer
{
	my ($number) = @_;

	return { number => $number, state => {}, now => {}, log => [], next => $number * 10_000_000 };
}

sub install
{
	my ($self) = @_;

	$self->{node}->safe_psql('postgres', $schema);
	return;
}

# ---- transactions ----

sub pick { my ($from, $k) = @_; return (shuffle(keys %$from))[ 0 .. min($k, scalar keys %$from) - 1 ]; }

# Some rows come, some change, some go: statements, and what becomes of which id.
sub changes
{
	my ($writer, $txn) = @_;
	my $full = keys %{ $writer->{now} } > MOST_ROWS;
	my $what = $full ? 0.8 : rand;
	my (%ops, @sql);

	if ($what < 0.5 || $what > 0.9)
	{
		my $k = rand() < 0.08 ? 300 : 1 + int rand 25;
		my $first = $writer->{next};

		$writer->{next} += $k;
		$ops{$_} = $txn for $first .. $first + $k - 1;
		push @sql, "INSERT INTO docs SELECT i, $writer->{number}, $txn, soak_doc(i, $txn)"
		  . " FROM generate_series($first, $first + $k - 1) i";
	}
	push @sql, "SAVEPOINT a; DELETE FROM docs WHERE id % 7 = 0 AND writer = $writer->{number};"
	  . ' ROLLBACK TO a' if $what > 0.95;
	if ($what >= 0.5 && $what < 0.72 || $what > 0.9)
	{
		my @ids = pick($writer->{now}, 1 + int rand 12);

		$ops{$_} = $txn for @ids;
		push @sql, "UPDATE docs SET txn = $txn, v = soak_doc(id, $txn) WHERE id = ANY ('{@{[join ',', @ids]}}')";
	}
	if ($what >= 0.72 && $what < 0.9)
	{
		my @ids = pick($writer->{now}, $full ? 500 : 1 + int rand 20);

		$ops{$_} = undef for @ids;
		push @sql, "DELETE FROM docs WHERE id = ANY ('{@{[join ',', @ids]}}')";
	}
	return (\%ops, join '; ', @sql, "INSERT INTO journal VALUES ($writer->{number}, $txn)");
}

sub apply
{
	my ($state, $ops) = @_;

	for (keys %$ops)
	{
		if (defined $ops->{$_}) { $state->{$_} = $ops->{$_} }
		else { delete $state->{$_} }
	}
	return;
}

sub acknowledged
{
	my ($self, $writer, $entry) = @_;

	$entry->{acked} = time;
	apply($writer->{now}, $entry->{ops});
	$self->{committed}++;
	return;
}

sub next_transaction
{
	my ($self, $writer) = @_;
	my $txn = ++$self->{txn};
	my ($ops, $sql) = changes($writer, $txn);

	return [ "BEGIN; $sql; ROLLBACK;\n", sub { } ] if rand() < 0.05;

	my $entry = { txn => $txn, ops => $ops, sent => time };

	push @{ $writer->{log} }, $entry;
	return [ "BEGIN; $sql; COMMIT;\n", sub { $self->acknowledged($writer, $entry) } ];
}

# Prepares a transaction, and ends it the next time.
sub next_prepared
{
	my ($self, $writer) = @_;
	my $open = $writer->{open};

	if ($open)
	{
		$open->{verdict} = rand() < 0.7 ? 'COMMIT' : 'ROLLBACK';
		$open->{sent} = time;
		return [ "$open->{verdict} PREPARED 'p$open->{txn}'", sub {
				$writer->{open} = undef;
				if ($open->{verdict} eq 'COMMIT') { $self->acknowledged($writer, $open) }
				else { pop @{ $writer->{log} } }
			} ];
	}
	my $txn = ++$self->{txn};
	my ($ops, $sql) = changes($writer, $txn);
	my $entry = { txn => $txn, ops => $ops, sent => time };

	push @{ $writer->{log} }, $entry;
	$writer->{open} = $entry;
	return [ "BEGIN; $sql; PREPARE TRANSACTION 'p$txn';\n", sub { $entry->{prepared} = time } ];
}

# A table with an index in one transaction, and rows of it before or after the
# index; or an old one goes.  In the state of this writer, m_<transaction> =>
# number of rows.
sub next_table
{
	my ($self, $writer) = @_;
	my $txn = ++$self->{txn};
	my @have = sort keys %{ $writer->{now} };
	my ($ops, $sql);

	if (@have > 2)
	{
		$ops = { $have[ rand @have ] => undef };
		$sql = "DROP TABLE @{[keys %$ops]}";
	}
	elsif (@have && rand() < 0.4)
	{
		my $name = $have[ rand @have ];
		my $rows = 1 + int rand 400;

		$ops = { $name => $rows };
		$sql = "TRUNCATE $name; INSERT INTO $name SELECT i, 1, soak_doc(i, 1) FROM generate_series(1, $rows) i";
	}
	else
	{
		my $name = sprintf 'm_%08d', $txn;
		my $rows = 1 + int rand 1500;
		my $fill = sub { "INSERT INTO $name SELECT i, 1, soak_doc(i, 1) FROM generate_series($_[0], $_[1]) i" };
		my $half = int($rows / 2);

		$ops = { $name => $rows };
		$sql = join '; ', "CREATE TABLE $name (id int, txn int, v tsvector)", $fill->(1, $half),
		  "CREATE INDEX ${name}_v ON $name USING skipidx (v)", $fill->($half + 1, $rows);
	}
	my $entry = { txn => $txn, ops => $ops, sent => time };

	push @{ $writer->{log} }, $entry;
	return [ "BEGIN; $sql; INSERT INTO journal VALUES ($writer->{number}, $txn); COMMIT;\n",
		sub { $self->acknowledged($writer, $entry) } ];
}

# One session does it all in turn, so that nothing else dirties a page of the
# index between its writes and what makes them count.
sub next_quiet
{
	my ($self, $writer) = @_;
	my $turn = $self->{turn}++ % 6;

	return [ ("SELECT skipidx_flush('docs_v') \\g /dev/null\n", "SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n",
			'REINDEX INDEX docs_v')[ int $turn / 2 ], sub { $self->{reached} = 1 } ]
	  if $turn % 2;
	return $self->next_transaction($writer);
}

# ---- the load ----

# What goes on beside the writers: name => statement, and the longest pause
# between two, s.
my %beside = (
	flush => [ sub { "SELECT skipidx_flush('docs_v') \\g /dev/null\n" }, 0.1 ],
	merge => [ sub { "SELECT skipidx_merge('docs_v', " . (1 + int rand 3) . ") \\g /dev/null\n" }, 0.15 ],
	vacuum => [ sub { 'VACUUM ' . (rand() < 0.5 ? '(INDEX_CLEANUP ON) ' : '') . 'docs' }, 0.4 ],
	checkpoint => [ sub { 'CHECKPOINT' }, 0.6 ],
	checkpoints => [ sub { 'CHECKPOINT' }, 0.1 ],
	reindex => [ sub { 'REINDEX INDEX ' . (rand() < 0.6 ? 'CONCURRENTLY ' : '') . 'docs_v' }, 0.8 ],
	look => [ sub { 'SELECT soak_look(\'docs\', \'' . random_query() . "') IS NULL \\g /dev/null\n" }, 0.1 ]);

sub random_query
{
	my $word = sub { 'w' . int(WORDS * rand()**3) };
	my $r = rand;

	return $word->() if $r < 0.1;
	return 'g' . int(rand 50) if $r < 0.2;
	return $word->() . ' & ' . $word->() if $r < 0.35;
	return $word->() . ' | ' . $word->() . ' | ' . $word->() if $r < 0.5;
	return $word->() . ' & !' . $word->() if $r < 0.6;
	return $word->() . ' <-> ' . $word->() if $r < 0.7;
	return 'w' . int(rand 10) . ':* & g' . int(rand 50) if $r < 0.8;
	return 'big' . (1 + int rand 1000) . ' <-> big:*' if $r < 0.9;
	return '(' . $word->() . ' | g' . int(rand 50) . ') & all';
}

# Options: beside (names), prepare, tables, quiet (whether), async.
sub begin
{
	my ($self, %opt) = @_;
	$self->{async} = $opt{async};
	$self->{wrong} = [];
	$self->{loops} = [];

	my $loop = sub {
		my ($name, $next, $pause) = @_;
		my $s = skx_session($self->{node}, 'postgres');

		$s->value('SET client_min_messages = error; SET statement_timeout = \'120s\'');
		$s->value('SELECT setseed(' . rand() . ') \g /dev/null' . "\n");
		push @{ $self->{loops} }, { name => $name, s => $s, next => $next, pause => $pause, due => 0 };
	};

	$self->{quiet} = $opt{quiet};
	$loop->('quiet', sub { $self->next_quiet($self->{writers}[0]) }, 0) if $opt{quiet};
	for my $writer ($opt{quiet} ? () : @{ $self->{writers} })
	{
		$loop->("writer $writer->{number}", sub { $self->next_transaction($writer) }, 0);
	}
	$loop->('prepared', sub { $self->next_prepared($self->{preparer}) }, 0.05) if $opt{prepare};
	$loop->('tables', sub { $self->next_table($self->{tables}) }, 0.2) if $opt{tables};
	for my $name (@{ $opt{beside} })
	{
		my ($sql, $pause) = @{ $beside{$name} };

		$loop->($name, sub { [ $sql->(), sub { } ] }, $pause);
	}
	return;
}

# Goes on for a time; no answer is waited for beyond it, except that a quiet load
# ends when something has just been published.
sub run
{
	my ($self, $seconds) = @_;
	my $end = time + $seconds;

	$self->{reached} = 0;
	while (time < $end || $self->{quiet} && !$self->{reached} && time < $end + PATIENCE)
	{
		my $idle = 1;

		$self->{reached} = 0 if time < $end;
		for my $loop (@{ $self->{loops} })
		{
			$idle = 0 if $self->step($loop);
		}
		sleep 0.001 if $idle;
	}
	return;
}

sub step
{
	my ($self, $loop) = @_;

	return 0 if $loop->{over};
	if (!$loop->{acked})
	{
		return 0 if time < $loop->{due};
		my ($sql, $acked) = @{ $loop->{next}->() };

		$loop->{acked} = $acked;
		$loop->{s}->start($sql);
		return 1;
	}
	my $said = $loop->{s}->ready;

	return 0 unless defined $said;
	if ($loop->{s}->gone) { $loop->{over} = 1 }
	elsif ($said =~ /ERROR|FATAL|PANIC/) { $self->failed($loop, $said) }
	else { $loop->{acked}->() }
	$loop->{acked} = undef;
	$loop->{due} = time + rand() * $loop->{pause};
	$self->{done}{ $loop->{name} }++;
	return 1;
}

# No statement fails while the server is up, but for names that REINDEX
# CONCURRENTLY has moved away meanwhile; and a REINDEX of any index, for a value
# of a dead row whose TOAST table VACUUM has gone through by a later horizon
# (PostgreSQL's bug 18351).  That no value of a live row is lost is seen by
# wrong_rows.
sub failed
{
	my ($self, $loop, $said) = @_;

	return if $said =~ /could not open relation with OID|relation with OID \d+ does not exist|dropped or replaced|was concurrently dropped|is not a skipidx index|is not valid/;
	return if $loop->{name} eq 'reindex' && $said =~ /(?:missing|unexpected) chunk number \d+ .*for toast value/;
	return if $self->{spared} && $said =~ $self->{spared};
	return if $said =~ /57P0[12]|terminating connection|in recovery mode|starting up|session ended/;
	push @{ $self->{wrong} }, "$loop->{name}: $said";
	$loop->{over} = 1;
	return;
}

# After the end of the server: what it had still answered counts.
sub collect
{
	my ($self) = @_;

	for my $loop (@{ $self->{loops} })
	{
		next unless $loop->{acked};
		my $said = $loop->{s}->finish;

		$loop->{acked}->() unless $loop->{s}->gone || $said =~ /ERROR|FATAL|PANIC/;
	}
	$_->{s}->close for @{ $self->{loops} };
	$self->{loops} = [];
	return;
}

# ---- what must hold ----

# Everything; returns what does not.
sub wrong
{
	my ($self, $queries) = @_;
	my $s = $self->{s} = $self->session;
	my @wrong = splice @{ $self->{wrong} };

	$self->{queries} = $queries;
	for my $part (\&wrong_prepared, \&wrong_journal, \&wrong_rows, \&wrong_tables, \&wrong_index)
	{
		push @wrong, $part->($self, $s);
		last if @wrong;
	}
	$s->close;
	return @wrong;
}

sub session
{
	my ($self) = @_;
	my $until = time + PATIENCE;

	for (;;)
	{
		my $s = eval { skx_session($self->{node}, 'postgres') };

		if ($s)
		{
			$s->value('SET client_min_messages = error; SET statement_timeout = \'120s\'');
			return $s;
		}
		die "no session: $@" if time > $until;
		sleep 0.05;
	}
}

# What is prepared was sent, and what was prepared and not ended is.
sub wrong_prepared
{
	my ($self, $s) = @_;
	my $open = $self->{preparer}{open};
	my @have = split /\n/, $s->value('SELECT gid FROM pg_prepared_xacts');
	my @wrong;

	$self->{preparer}{open} = undef;
	for my $gid (@have)
	{
		push @wrong, "$gid is prepared, which it cannot be" unless $open && $gid eq "p$open->{txn}";
		$s->value("COMMIT PREPARED '$gid'");
		$open->{acked} = time if $open;
	}
	return @wrong if @have || !$open;
	push @wrong, "p$open->{txn} was prepared and is gone" if $open->{prepared} && !$open->{verdict};
	$open->{never} = 1 if !$open->{prepared} || $open->{verdict} && $open->{verdict} eq 'ROLLBACK';
	$open->{acked} = time if $open->{prepared} && !$open->{never};
	return @wrong;
}

# How many of a writer's transactions the server has; they become its state.
sub wrong_journal
{
	my ($self, $s) = @_;
	my ($first_lost, @present, @wrong);

	for my $writer (@{ $self->{all} })
	{
		my @log = grep { !$_->{never} } @{ $writer->{log} };
		my $since = $writer->{since} // 0;
		my @have = split /\n/, $s->value("SELECT txn FROM journal WHERE writer = $writer->{number} AND txn > $since ORDER BY txn");
		my $n = 0;

		for my $entry (@log)
		{
			last if $n >= @have || $have[$n] != $entry->{txn};
			apply($writer->{state}, $entry->{ops});
			push @present, $entry;
			$n++;
		}
		push @wrong, "writer $writer->{number}: transaction $have[$n] is there, unexpectedly" if $n < @have;
		for my $entry (grep { $_->{acked} } @log[ $n .. $#log ])
		{
			$self->{lost}++;
			push @wrong, "writer $writer->{number}: transaction $entry->{txn} is lost" unless $self->{async};
			$first_lost = $entry if !$first_lost || $entry->{acked} < $first_lost->{acked};
		}
		$writer->{since} = $have[-1] if @have;
		$writer->{now} = { %{ $writer->{state} } };
		$writer->{log} = [];
	}
	push @wrong, map { "transaction $_->{txn} is there, $first_lost->{txn}, acknowledged before it was sent, is lost" }
	  grep { $first_lost && $_->{sent} > $first_lost->{acked} } @present;
	return @wrong;
}

sub wrong_rows
{
	my ($self, $s) = @_;
	my (%have, @wrong);

	$s->value("SELECT soak_mode('seq') \\g /dev/null\n");
	for (split /\n/, $s->value('SELECT writer, id, txn FROM docs'))
	{
		my ($writer, $id, $txn) = split /\|/;

		push @wrong, "row $id twice" if exists $have{$writer}{$id};
		$have{$writer}{$id} = $txn;
	}
	for my $writer (@{ $self->{writers} }, $self->{preparer})
	{
		my ($state, $have) = ($writer->{state}, delete $have{ $writer->{number} } // {});
		my @missing = grep { !exists $have->{$_} } keys %$state;
		my @other = grep { ($state->{$_} // -1) != $have->{$_} } keys %$have;

		push @wrong, sprintf 'writer %d: %d of %d rows are missing, %d are others', $writer->{number}, scalar @missing,
		  scalar keys %$state, scalar @other
		  if @missing || @other;
	}
	push @wrong, 'rows of no writer' if %have;
	my $n = $s->value('SELECT count(*) FROM docs WHERE v IS DISTINCT FROM soak_doc(id, txn)');

	push @wrong, "$n rows have another text" if $n;
	return @wrong;
}

sub wrong_tables
{
	my ($self, $s) = @_;
	my %state = %{ $self->{tables}{state} };
	my @wrong;

	for my $name (split /\n/, $s->value("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'm\\_%' ORDER BY 1"))
	{
		my $rows = delete $state{$name};

		if (!defined $rows)
		{
			push @wrong, "table $name";
			next;
		}
		my $have = $s->raw("SELECT count(*) FILTER (WHERE v = soak_doc(id, txn)) || ' ' || coalesce(sum(id), 0) FROM $name");

		push @wrong, "table $name: $have, not $rows rows" if $have ne $rows . ' ' . $rows * ($rows + 1) / 2;
		push @wrong, look($s, "SELECT skipidx_check('${name}_v', true)", $self->look_at($name, 3));
	}
	return (@wrong, map { "no table $_" } sort keys %state);
}

# Statements that say nothing if all is well.
sub look
{
	my ($s, @sql) = @_;

	return grep { $_ ne '' } map { $s->raw($_) } @sql;
}

sub look_at
{
	my ($self, $name, $n) = @_;

	return map { "SELECT soak_look('$name', '$_')" } 'all', '!nothing', map { random_query() } 1 .. $n;
}

# What a build that was interrupted has left is dropped.
sub wrong_index
{
	my ($self, $s) = @_;
	my $left = 'FROM pg_index WHERE NOT indisvalid';

	$s->value("DROP INDEX $_")
	  for split /\n/, $s->value("SELECT indexrelid::regclass $left");
	return look($s, "SELECT skipidx_check('docs_v', true)", $self->look_at('docs', $self->{queries}));
}

# Pages are read once more after everything has been moved.
sub wrong_after_merge
{
	my ($self) = @_;
	my $s = $self->session;
	my @wrong = look($s, "SELECT skipidx_flush('docs_v') \\g /dev/null\n",
		"SELECT skipidx_merge('docs_v', 1) \\g /dev/null\n", 'VACUUM (INDEX_CLEANUP ON) docs',
		"SELECT skipidx_check('docs_v', true)", $self->look_at('docs', 2));

	$s->close;
	return @wrong;
}

1;
