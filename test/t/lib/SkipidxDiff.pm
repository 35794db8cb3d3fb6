# SkipidxDiff: one set of rows, several ways to answer, all answers compared.
#
# Two tables hold the same rows: docs, with the skipidx index, and docs_gin,
# with GIN's.  Every mode answers every query of the sample and leaves count
# and hash of the sorted ids in the table answers; the sequential scan is the
# oracle.
#
# A mode is seq, bitmap, plain or gin; "bitmap via direct" is bitmap with that
# method of reading blocks; "index" leaves the planner any scan of an index.

package SkipidxDiff;

use strict;
use warnings;
use Test::More;

# What SkipidxMatrix has too, for tables of its own.
my $common = <<'SQL';
CREATE TABLE staging (id int, kind text, l text, r text, txt text);

CREATE FUNCTION make_vector(l text, r text, txt text) RETURNS tsvector
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN txt IS NOT NULL THEN to_tsvector('english', txt)
				WHEN r = '' THEN l::tsvector
				ELSE l::tsvector || r::tsvector END
$$;

CREATE FUNCTION make_query(maker text, txt text) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN CASE maker
		WHEN 'raw' THEN txt::tsquery
		WHEN 'to' THEN to_tsquery('english', txt)
		WHEN 'phraseto' THEN phraseto_tsquery('english', txt)
		WHEN 'plainto' THEN plainto_tsquery('english', txt)
		WHEN 'websearch' THEN websearch_to_tsquery('english', txt) END;
END $$;

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode IN ('bitmap', 'gin', 'index'))::text, false),
		set_config('enable_indexscan', (mode IN ('plain', 'index'))::text, false);
END $$;

CREATE FUNCTION explain(mode text, stmt text, opts text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	lines text := '';
BEGIN
	PERFORM set_mode(mode);
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', opts, stmt) LOOP
		lines := lines || line || E'\n';
	END LOOP;
	PERFORM set_mode('seq');
	RETURN lines;
END $$;
SQL

my $functions = <<'SQL';
-- A tsquery column would not do: the type is never stored out of line.
CREATE TABLE queries (qid int PRIMARY KEY, form text, maker text, txt text);
CREATE TABLE docs (id int, kind text, v tsvector);
CREATE TABLE docs_gin (id int, kind text, v tsvector);
CREATE UNLOGGED TABLE answers (state text, mode text, qid int, n int, h int8,
	PRIMARY KEY (state, mode, qid));

CREATE VIEW asked AS SELECT qid, form, make_query(maker, txt) AS q FROM queries;

-- Two keys in cond stand for two clauses the index ANDs; $2 is the next query.
-- A bitmap scan by a method finds nothing in our cache.  Half of the queries are
-- known when the statement is planned: of these the index is not asked for
-- prefixes where others of their words are in few rows.
CREATE FUNCTION run_mode(state text, mode text, stride int, cond text)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	stmt text := format('SELECT count(*), coalesce(hash_array_extended('
		'array_agg(id ORDER BY id), 0), 0) FROM %s WHERE %s',
		CASE WHEN mode = 'gin' THEN 'docs_gin' ELSE 'docs' END, cond);
	unknown text := CASE WHEN mode = 'seq' THEN stmt ELSE replace(stmt, '$1', '(SELECT $1)') END;
	one record;
	n int;
	h int8;
	done int := 0;
BEGIN
	PERFORM set_mode('seq');
	FOR one IN SELECT a.qid, a.q, b.q AS next FROM asked a
		LEFT JOIN asked b ON b.qid = a.qid + stride
		WHERE a.qid % stride = length(state) % stride ORDER BY a.qid
	LOOP
		PERFORM set_mode(split_part(mode, ' ', 1));
		IF mode LIKE 'bitmap via %' THEN
			PERFORM skipidx_cache_reset();
		END IF;
		EXECUTE CASE WHEN one.qid % 2 = 0 THEN stmt ELSE unknown END INTO n, h USING one.q, one.next;
		INSERT INTO answers VALUES (state, mode || CASE cond
			WHEN 'v @@ $1' THEN '' ELSE ' ' || cond END, one.qid, n, h);
		done := done + 1;
	END LOOP;
	PERFORM set_mode('seq');
	RETURN done;
END $$;

-- The whole sample in one statement, the query of each scan from the outer row.
CREATE FUNCTION run_nested(state text, mode text, stride int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	done int;
BEGIN
	PERFORM set_mode(split_part(mode, ' ', 1));
	SET enable_hashjoin = off;
	SET enable_mergejoin = off;
	SET enable_memoize = off;
	SET enable_material = off;
	EXECUTE 'INSERT INTO answers SELECT $1, $2 || '' nested'', qid, n, h '
		'FROM (SELECT qid, q FROM asked WHERE qid % $3 = length($1) % $3 '
		'OFFSET 0) s, LATERAL (SELECT count(*) AS n, coalesce('
		'hash_array_extended(array_agg(id ORDER BY id), 0), 0) AS h FROM docs '
		'WHERE v @@ s.q) d' USING state, mode, stride;
	GET DIAGNOSTICS done = ROW_COUNT;
	RESET enable_hashjoin;
	RESET enable_mergejoin;
	RESET enable_memoize;
	RESET enable_material;
	PERFORM set_mode('seq');
	RETURN done;
END $$;

-- Queries answered otherwise than by the oracle, or that it was not asked.  The
-- table has no statistics, and set_mode() leaves no index scans for a nested loop.
CREATE FUNCTION disagree(oracle text, st text, md text)
RETURNS TABLE (qid int, form text, wanted int, got int) LANGUAGE plpgsql
SET enable_nestloop = off AS $$
#variable_conflict use_column
DECLARE
	seq text := CASE WHEN md LIKE '% AND %' THEN regexp_replace(md, '^\w+( via \w+)?', 'seq') ELSE 'seq' END;
BEGIN
	RETURN QUERY SELECT b.qid, q.form, a.n, b.n FROM answers b
		LEFT JOIN answers a ON a.qid = b.qid AND a.state = oracle AND a.mode = seq
		JOIN queries q ON q.qid = b.qid
	WHERE b.state = st AND b.mode = md AND (a.n, a.h) IS DISTINCT FROM (b.n, b.h) ORDER BY b.qid;
END $$;
SQL

# columns: definitions of columns that documents have beside the text, in tables
# that are the caller's.
sub new
{
	my ($class, $session, %opt) = @_;
	my @columns = @{ $opt{columns} // [] };

	$session->value($common);
	$session->value($functions) unless $opt{columns};
	$session->value('ALTER TABLE staging ' . join ', ', map { "ADD $_" } @columns) if @columns;
	return bless { s => $session, columns => join '', map { ', ' . (split / /)[0] } @columns }, $class;
}

# Does something while the session reads by the mode's method, if it names one.
sub by_method
{
	my ($self, $mode, $what) = @_;
	my ($method) = $mode =~ / via (\w+)/;

	$self->{s}->value("SET skipidx.io_method = $method") if $method;
	my $result = $what->();
	$self->{s}->value('RESET skipidx.io_method') if $method;
	return $result;
}

# Continues with another session over the same tables, after a restart.
sub use_session { $_[0]{s} = $_[1]; return; }

sub copy_in
{
	my ($self, $table, $columns, @lines) = @_;
	my $text = join '', @lines;

	return $self->{s}->value("COPY $table ($columns) FROM stdin;\n$text\\.\n");
}

sub load_queries
{
	my ($self, @lines) = @_;

	$self->copy_in('queries', 'qid, form, maker, txt', @lines);
	$self->{s}->value('ANALYZE queries');
	return;
}

# Puts documents into docs, and the same into docs_gin unless told not to.
sub load_documents
{
	my ($self, $lines, $gin) = @_;

	$self->{s}->value('TRUNCATE staging');
	$self->copy_in('staging', "id, kind, l, r, txt$self->{columns}", @$lines);
	for my $table ('docs', $gin ? 'docs_gin' : ())
	{
		$self->{s}->value("INSERT INTO $table (id, kind, v$self->{columns}) SELECT id, kind,"
			  . " make_vector(l, r, txt)$self->{columns} FROM staging ORDER BY id");
	}
	return;
}

# Runs a mode over the sample; returns how many queries it answered.
sub run
{
	my ($self, $state, $mode, $stride, $cond) = @_;

	$cond //= 'v @@ $1';
	return $self->by_method($mode, sub {
			$self->{s}->value("SELECT run_mode('$state', '$mode', $stride, '$cond')")
		});
}

sub run_nested
{
	my ($self, $state, $mode, $stride) = @_;

	return $self->by_method($mode, sub {
			$self->{s}->value("SELECT run_nested('$state', '$mode', $stride)")
		});
}

# Passes if the mode agrees with the oracle's state on all it answered.
sub agrees
{
	my ($self, $oracle, $state, $mode) = @_;
	my $s = $self->{s};
	my $n = $s->value("SELECT count(*) FROM answers WHERE state = '$state'"
		  . " AND mode = '$mode'");
	my $bad = $s->value("SELECT count(*) FROM disagree('$oracle', '$state',"
		  . " '$mode')");

	my $ok = ok($n > 0 && $bad == 0, "$state, $mode: $n queries agree");
	return $ok if $ok;

	diag("$bad of $n differ");
	diag($s->value("SELECT form, count(*) FROM disagree('$oracle', '$state',"
			  . " '$mode') GROUP BY 1 ORDER BY 2 DESC LIMIT 15"));
	for my $qid (split /\n/, $s->value("SELECT qid FROM disagree('$oracle',"
		  . " '$state', '$mode') ORDER BY length((SELECT txt FROM queries q"
		  . " WHERE q.qid = disagree.qid)) LIMIT 6"))
	{
		$self->by_method($mode, sub { $self->explain_difference($qid, $mode) });
	}
	return $ok;
}

# Shows which rows a mode misses or invents, as they are now.
sub explain_difference
{
	my ($self, $qid, $mode) = @_;
	my $s = $self->{s};

	$mode =~ s/ .*//;
	my $table = $mode eq 'gin' ? 'docs_gin' : 'docs';
	my $query = $s->value("SELECT left(q::text, 300) FROM asked WHERE qid = $qid");
	my $ids = sub {
		my ($m, $t) = @_;
		return $s->raw("SET client_min_messages = error;"
			  . " SELECT set_mode('$m') \\g /dev/null\n SELECT array_agg(id ORDER BY id)"
			  . " FROM $t WHERE v @@ (SELECT q FROM asked WHERE qid = $qid)");
	};
	my $want = $ids->('seq', 'docs');
	my $got = $ids->($mode, $table);

	$s->raw("SELECT set_mode('seq') \\g /dev/null");
	diag("query $qid: $query");
	if ($got !~ /^[{}0-9,]*$/)
	{
		diag($got);
		return;
	}
	$_ = $_ eq '' ? '{}' : $_ for $want, $got;
	my $missing = $s->value("SELECT array_agg(i) FROM (SELECT unnest('$want'::int[])"
		  . " EXCEPT SELECT unnest('$got'::int[]) LIMIT 5) x(i)");
	my $invented = $s->value("SELECT array_agg(i) FROM (SELECT unnest('$got'::int[])"
		  . " EXCEPT SELECT unnest('$want'::int[]) LIMIT 5) x(i)");

	diag("  missing $missing invented $invented");
	for my $set ($missing, $invented)
	{
		next unless $set =~ /^\{(\d+)/;
		diag("  row $1: " . $s->value(
				"SELECT kind || ' ' || left(v::text, 600) FROM docs WHERE id = $1 LIMIT 1"));
	}
	return;
}

# The plan of one query in a mode.
sub plan_of
{
	my ($self, $mode, $where, $opts) = @_;
	my $table = $mode eq 'gin' ? 'docs_gin' : 'docs';

	$opts //= 'COSTS OFF';
	return $self->{s}->value("SELECT explain('$mode',"
		  . " \$x\$SELECT id FROM $table WHERE $where\$x\$, '$opts')");
}

# Scans counted so far for an index.
sub scans
{
	my ($self, $index) = @_;

	$self->{s}->value('SELECT pg_stat_force_next_flush()');
	return $self->{s}->value('SELECT idx_scan FROM pg_stat_user_indexes'
		  . " WHERE indexrelname = '$index'");
}

1;
