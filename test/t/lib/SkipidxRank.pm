# SkipidxRank: ranked queries, and what they must return, told by others than
# the code under test.
#
# Order: the index's rows in the order of a ranked scan against the rows of a
# sequential scan sorted by (distance, ctid), the same to the last bit.
# Values: the sequential scan's distances against BM25 and the score of pairs as
# plain SQL computes them from unnest(tsvector), with the words and pairs of a
# query taken here from its printed form.
#
# The same rows by every method of reading blocks, of a part of the queries that
# were asked, with nothing in our cache.

package SkipidxRank;

use strict;
use warnings;
use Test::More;

# Modes: forms of SkipidxGen, of which a query is filter and ranking query
# alike, or [filter, ranking]; undef stands for no filter, `null` for a NULL.
my %modes = (
	and => [qw(word and2 and3 and_other and_many same_and weight_and)],
	or => [qw(or2 or3 or_many or_absent weight_or weight_any)],
	repeats => [qw(or_repeats and_repeats prefix_repeats), [ word => 'or_repeats' ], [ undef, 'or_repeats' ]],
	mixed => [qw(and_or or_and tree3 tree5), [ word => 'or_many' ], [ and2 => 'or3' ]],
	phrase => [
		qw(phrase2 phrase3 phrase_long phrase_apart phrase_turned phrase_or
		  phrase_and_other and_phrase or_phrases nested_right nested_both nested_or
		  weight_phrase dist0 same_phrase)
	],
	again => [qw(phrase_again weight_again again_and again_twice)],
	not => [
		qw(and_not or_not not_word not_not not_and not_or same_not not_left
		  not_middle not_phrase and_not_phrase phrase_and_not weight_not)
	],
	prefix => [
		qw(prefix prefix_short prefix_weight prefix_and prefix_not
		  prefix_phrase prefix_not_phrase)
	],
	apart => [
		[ undef, 'or3' ], [ undef, 'and2' ], [ undef, 'phrase2' ], [ undef, 'prefix_and' ],
		[ and2 => 'or2' ], [ not_word => 'or2' ], [ phrase2 => 'or3' ], [ or3 => 'not_word' ],
		[ prefix => 'word' ], [ or2 => 'empty' ], [ undef, 'not_and' ], [ or_many => 'and_not' ],
		[ english_and => 'plainto' ]
	],
	nulls => [ [ or2 => 'null' ], [ undef, 'null' ], [ null => 'or2' ] ]);

sub modes { return sort keys %modes; }

my $functions = <<'SQL';
CREATE TABLE ranked (qid int PRIMARY KEY, mode text, form text,
	fmaker text, ftxt text, rmaker text, rtxt text);

-- Rows that count: of the index's statistics, whether deleted or not.
CREATE UNLOGGED TABLE counted (id int, v tsvector);
CREATE TABLE ref_len (len int);
CREATE UNLOGGED TABLE ref_doc (id int PRIMARY KEY, length float8);
CREATE UNLOGGED TABLE ref_post (id int, lex text COLLATE "C", pos int2[], lab text[]);
-- times: how often the query has it.
CREATE TABLE ref_term (qid int, t int, lex text COLLATE "C", prefix bool, labels text, times int);
CREATE TABLE ref_pair (qid int, first int, second int);
CREATE UNLOGGED TABLE ref_df (qid int, t int, idf float8);
CREATE UNLOGGED TABLE ref_tf (qid int, t int, id int, tf float8);
CREATE UNLOGGED TABLE ref_both (qid int, first int, second int, id int, least_idf float8, a int2[], z int2[]);
CREATE UNLOGGED TABLE given (qid int, id int, d float4);

-- What the sequential scan gave last.
CREATE UNLOGGED TABLE sorted (qid int PRIMARY KEY, tids tid[], dist float4[]);

CREATE VIEW rank_asked AS SELECT qid, mode, form, fmaker IS NOT NULL AS filtered,
	make_query(fmaker, ftxt) AS f, make_query(rmaker, rtxt) AS r FROM ranked;

-- By index: whether the custom scan may stand over it, too.
CREATE FUNCTION rank_mode(by_index bool, custom bool) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, false),
		set_config('enable_sort', (NOT by_index)::text, false),
		set_config('enable_bitmapscan', 'off', false),
		set_config('enable_indexscan', by_index::text, false),
		set_config('skipidx.enable_custom_scan', custom::text, false);
END $$;

-- Rows by rank: all of them, or the first k.
CREATE FUNCTION rank_statement(filtered bool, by_index bool, k int) RETURNS text
LANGUAGE sql AS $$
	SELECT format('SELECT coalesce(array_agg(c), ''{}''), coalesce(array_agg(d), ''{}'')'
		' FROM (SELECT ctid AS c, v <@> $1 AS d FROM docs %s ORDER BY v <@> $1%s%s) s',
		CASE WHEN filtered THEN 'WHERE v @@ $2' ELSE '' END,
		CASE WHEN by_index THEN '' ELSE ', ctid' END,
		CASE WHEN k > 0 THEN ' LIMIT ' || k ELSE '' END)
$$;

-- The queries with qid % stride = part, each with all of `ks` (0: all rows).
-- Returns what differs; counts statements and rows.  Rows of equal distance come
-- by TID, which of a heap-only tuple is that of the first version: where there
-- are some (hot), such rows are compared as sets.  So are all where there is no
-- distance, which ask for no order.
--
-- again: only the scans, against what the sequential scan gave the last time, and
-- our cache is empty for each.
CREATE FUNCTION rank_run(part int, stride int, ks int[], modes text, hot bool, again bool,
	OUT queries int, OUT scans int, OUT n_rows int8, OUT scored int8, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	tids tid[];
	dist float4[];
	got tid[];
	gotd float4[];
	k int;
	n int;
	what text;
BEGIN
	queries := 0; scans := 0; n_rows := 0; scored := 0; wrong := '{}';
	IF NOT again THEN
		TRUNCATE sorted;
	END IF;
	FOR one IN SELECT * FROM rank_asked WHERE qid % stride = part AND mode LIKE modes ORDER BY qid LOOP
		what := NULL;
		BEGIN
			IF again THEN
				SELECT s.tids, s.dist INTO STRICT tids, dist FROM sorted s WHERE qid = one.qid;
			ELSE
				PERFORM rank_mode(false, true);
				EXECUTE rank_statement(one.filtered, false, 0) INTO tids, dist USING one.r, one.f;
				INSERT INTO sorted VALUES (one.qid, tids, dist);
			END IF;
			queries := queries + 1;
			n := cardinality(tids);
			IF '-0' = ANY (dist::text[]) THEN
				what := 'the sequential scan gives -0';
			END IF;
			IF dist[1] < 0 THEN
				scored := scored + 1;
			END IF;
			FOREACH k IN ARRAY ks LOOP
				PERFORM rank_mode(true, (one.qid + k) % 3 <> 0), CASE WHEN again THEN skipidx_cache_reset() END;
				EXECUTE rank_statement(one.filtered, true, k) INTO got, gotd USING one.r, one.f;
				IF one.r IS NOT NULL AND (one.f IS NOT NULL OR NOT one.filtered) THEN
					scans := scans + 1;
				END IF;
				n_rows := n_rows + cardinality(got);
				IF (hot OR one.r IS NULL) AND k = 0 THEN
					SELECT coalesce(array_agg(t ORDER BY x, t), '{}') INTO got FROM unnest(got, gotd) u(t, x);
				ELSIF hot OR one.r IS NULL THEN
					got := tids[1:k];
				END IF;
				IF '-0' = ANY (gotd::text[]) THEN
					what := format('k %s: -0', k);
				ELSIF k > 0 AND (got, gotd) IS DISTINCT FROM (tids[1:k], dist[1:k])
					OR k = 0 AND (got, gotd) IS DISTINCT FROM (tids, dist) THEN
					what := format('k %s: %s of %s rows', k, cardinality(got), least(n, nullif(k, 0)));
					FOR i IN 1 .. n LOOP
						IF (got[i], gotd[i]) IS DISTINCT FROM (tids[i], dist[i]) THEN
							what := what || format(', at %s %s %s for %s %s', i, got[i], gotd[i], tids[i], dist[i]);
							EXIT;
						END IF;
					END LOOP;
				END IF;
				EXIT WHEN what IS NOT NULL;
			END LOOP;
		EXCEPTION WHEN OTHERS THEN
			what := sqlstate || ' ' || sqlerrm;
		END;
		IF what IS NOT NULL THEN
			wrong := wrong || format('%s %s: %s: rank %s where %s', one.qid, one.form, what,
				left(one.r::text, 200), CASE WHEN one.filtered THEN left(one.f::text, 200) ELSE 'all' END);
		END IF;
	END LOOP;
	PERFORM rank_mode(false, true);
END $$;

-- Other ways to the first rows than a statement of their own: what each of them
-- gives otherwise than the sequential scan.  `nested` takes all queries from an
-- outer row.
CREATE FUNCTION rank_others(part int, stride int, k int, OUT queries int, OUT n_rows int8, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	one record;
	tids tid[];
	dist float4[];
	got tid[];
	gotd float4[];
	bad int;
BEGIN
	queries := 0; n_rows := 0; wrong := '{}';
	PERFORM rank_mode(true, true);
	SET LOCAL enable_hashjoin = off;
	SET LOCAL enable_mergejoin = off;
	SET LOCAL enable_material = off;
	SET LOCAL enable_memoize = off;
	DROP TABLE IF EXISTS nested;
	EXECUTE format('CREATE TEMP TABLE nested AS SELECT qid, array_agg(c) AS c, array_agg(d) AS d FROM'
		' (SELECT qid, r, f FROM rank_asked WHERE filtered AND qid %% %s = %s OFFSET 0) a,'
		' LATERAL (SELECT ctid AS c, v <@> a.r AS d FROM docs WHERE v @@ a.f ORDER BY v <@> a.r LIMIT %s) x'
		' GROUP BY qid', stride, part, k);
	FOR one IN SELECT * FROM rank_asked WHERE filtered AND r IS NOT NULL AND f IS NOT NULL
		AND qid % stride = part ORDER BY qid LOOP
		PERFORM rank_mode(false, true);
		EXECUTE rank_statement(true, false, k) INTO tids, dist USING one.r, one.f;
		queries := queries + 1;
		n_rows := n_rows + cardinality(tids);
		SELECT coalesce(c, '{}'), coalesce(d, '{}') INTO got, gotd FROM (SELECT) x LEFT JOIN nested ON qid = one.qid;
		IF (got, gotd) IS DISTINCT FROM (tids, dist) THEN
			wrong := wrong || format('%s nested: %s %s for %s %s', one.qid, got, gotd, tids, dist);
		END IF;
		SELECT coalesce(array_agg(ctid), '{}'), coalesce(array_agg(-score), '{}') INTO got, gotd
			FROM skipidx_search('docs_skx', one.f, k, one.r);
		IF (got, gotd) IS DISTINCT FROM (tids, dist) THEN
			wrong := wrong || format('%s skipidx_search: %s %s for %s %s', one.qid, got, gotd, tids, dist);
		END IF;
		SELECT count(*) INTO bad FROM unnest(tids, dist) u(t, d) JOIN docs ON docs.ctid = t
			WHERE -d::float8 <> skipidx_bm25('docs_skx', v, one.r)::float8 + skipidx_proximity('docs_skx', v, one.r);
		IF bad > 0 THEN
			wrong := wrong || format('%s skipidx_bm25 and skipidx_proximity: %s rows', one.qid, bad);
		END IF;
		SELECT count(*) INTO bad FROM unnest(tids, dist) u(t, d) WHERE (-d::float8, -d::float8) IS DISTINCT FROM
			(SELECT (coalesce(sum(score::float8) FILTER (WHERE e.part IN ('word', 'pair')), 0), sum(score::float8) FILTER (WHERE e.part = 'total'))
				FROM skipidx_explain_score('docs_skx', t, one.r) e);
		IF bad > 0 THEN
			wrong := wrong || format('%s skipidx_explain_score: %s rows', one.qid, bad);
		END IF;
	END LOOP;
	PERFORM rank_mode(false, true);
END $$;

-- ---- the reference ----

-- NULL for a NULL, other than least().
CREATE FUNCTION ref_least(a float8, b float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN a < b THEN a WHEN a >= b THEN b END
$$;

-- Documents with a prefix: exact if only one lexeme has it, else as many as
-- there are if the others are spread at random where the prefix itself is not.
CREATE FUNCTION ref_prefix_df(found float8, whole float8, several bool, n float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN several AND whole < n
		THEN whole + round((n - whole) * (1 - exp(greatest(-(found - whole) / (n - whole), -100))))
		ELSE found END
$$;

CREATE FUNCTION ref_near(a int2[], b int2[]) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	i int := 1;
	j int := 1;
	n int := 0;
BEGIN
	WHILE i <= cardinality(a) AND j <= cardinality(b) LOOP
		IF abs(a[i] - b[j]) <= 8 THEN
			n := n + 1; i := i + 1; j := j + 1;
		ELSIF a[i] < b[j] THEN
			i := i + 1;
		ELSE
			j := j + 1;
		END IF;
	END LOOP;
	RETURN n;
END $$;

CREATE FUNCTION ref_positions(pos int2[], lab text[], labels text) RETURNS int2[] LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN labels = '' THEN pos ELSE (SELECT array_agg(p ORDER BY p)
		FROM unnest(pos, lab) u(p, l) WHERE strpos(labels, l) > 0) END
$$;

-- Documents and postings of what counts.
CREATE FUNCTION ref_load() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE ref_doc, ref_post;
	INSERT INTO ref_post SELECT id, u.lexeme, u.positions, u.weights FROM counted, LATERAL unnest(v) u;
	INSERT INTO ref_doc SELECT c.id, coalesce((SELECT sum(coalesce(cardinality(p.positions), 1))
		FROM unnest(c.v) p), 0) FROM counted c WHERE v IS NOT NULL;
	CREATE INDEX IF NOT EXISTS ref_post_lex ON ref_post (lex, id);
	ANALYZE ref_post;
	ANALYZE ref_doc;
END $$;

-- Scores of the given queries: idf and tf of each word, then all parts.  A word
-- of which all occurrences have labels that count nothing is there, with a tf of
-- zero.
CREATE FUNCTION ref_scores(k1 float8, b float8, proximity float8, wd float8, wc float8, wb float8, wa float8)
RETURNS TABLE (qid int, id int, score float8, parts int, most float8) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	n float8;
	average float8;
BEGIN
	SELECT count(*), sum(length) / nullif(count(*), 0) INTO n, average FROM ref_doc;
	IF average <= 0 THEN
		average := 1;
	END IF;
	TRUNCATE ref_df, ref_tf;
	INSERT INTO ref_df SELECT t.qid, t.t, ln(1 + (n - df + 0.5) / (df + 0.5)) FROM ref_term t, LATERAL
		(SELECT count(*) AS found, count(*) FILTER (WHERE p.lex = t.lex) AS whole, count(DISTINCT p.lex) > 1 AS several
			FROM ref_post p WHERE starts_with(p.lex, t.lex)) y,
		LATERAL (SELECT ref_prefix_df(found, whole, several, n) AS df) x
		WHERE t.qid IN (SELECT g.qid FROM given g) AND t.prefix;
	INSERT INTO ref_df SELECT t.qid, t.t, ln(1 + (n - df + 0.5) / (df + 0.5)) FROM ref_term t, LATERAL
		(SELECT count(*) AS df FROM ref_post p WHERE p.lex = t.lex) x
		WHERE t.qid IN (SELECT g.qid FROM given g) AND NOT t.prefix;
	INSERT INTO ref_tf SELECT * FROM (SELECT t.qid, t.t, p.id, sum(CASE WHEN p.pos IS NULL THEN wd
			ELSE (SELECT sum(CASE l WHEN 'A' THEN wa WHEN 'B' THEN wb WHEN 'C' THEN wc ELSE wd END)
				FROM unnest(p.lab) l WHERE t.labels = '' OR strpos(t.labels, l) > 0) END) AS tf
		FROM ref_term t JOIN ref_post p ON p.lex = t.lex
		WHERE NOT t.prefix AND t.qid IN (SELECT g.qid FROM given g) GROUP BY 1, 2, 3) x WHERE tf >= 0;
	INSERT INTO ref_tf SELECT * FROM (SELECT t.qid, t.t, p.id, ref_least(sum(CASE WHEN p.pos IS NULL THEN wd
			ELSE (SELECT sum(CASE l WHEN 'A' THEN wa WHEN 'B' THEN wb WHEN 'C' THEN wc ELSE wd END)
				FROM unnest(p.lab) l WHERE t.labels = '' OR strpos(t.labels, l) > 0) END), 65535) AS tf
		FROM ref_term t JOIN ref_post p ON starts_with(p.lex, t.lex)
		WHERE t.prefix AND t.qid IN (SELECT g.qid FROM given g) GROUP BY 1, 2, 3) x WHERE tf >= 0;
	ANALYZE ref_tf;
	TRUNCATE ref_both;
	INSERT INTO ref_both SELECT r.qid, r.first, r.second, f.id FROM ref_pair r
		JOIN ref_tf f ON (f.qid, f.t) = (r.qid, r.first) JOIN ref_tf g ON (g.qid, g.t, g.id) = (r.qid, r.second, f.id)
		WHERE proximity > 0;
	ANALYZE ref_both;
	UPDATE ref_both r SET least_idf = least(i.idf, j.idf), a = ref_positions(p.pos, p.lab, t.labels), z = ref_positions(s.pos, s.lab, u.labels)
		FROM ref_term t, ref_term u, ref_df i, ref_df j, ref_post p, ref_post s
		WHERE (t.qid, t.t) = (r.qid, r.first) AND (u.qid, u.t) = (r.qid, r.second)
		AND (i.qid, i.t) = (r.qid, r.first) AND (j.qid, j.t) = (r.qid, r.second)
		AND (p.lex, p.id) = (t.lex, r.id) AND (s.lex, s.id) = (u.lex, r.id);
	RETURN QUERY WITH norm AS MATERIALIZED (
		SELECT d.id, greatest(k1 * (1 - b + b * (SELECT max(len) FROM ref_len WHERE len <= d.length) / average), 1e-9) AS k
		FROM ref_doc d),
	words AS (SELECT f.qid, f.id, r.times * i.idf * f.tf / (f.tf + m.k) AS part
		FROM ref_tf f JOIN ref_df i USING (qid, t) JOIN ref_term r USING (qid, t) JOIN norm m USING (id)),
	pairs AS (SELECT r.qid, r.id, proximity * least_idf * (o / (o + m.k) + 0.5 * h / (h + m.k)) AS part
		FROM ref_both r JOIN norm m USING (id),
		LATERAL (SELECT (SELECT count(*) FROM unnest(a) x JOIN unnest(z) y ON y = x + 1)::float8 AS o, ref_near(a, z)::float8 AS h OFFSET 0) y
		WHERE a IS NOT NULL AND z IS NOT NULL)
	SELECT q, i, sum(part), count(*)::int, most FROM (SELECT * FROM words UNION ALL SELECT * FROM pairs WHERE part > 0) x(q, i, part)
	JOIN (SELECT qid, sum(times * idf) * (1 + 1.5 * proximity) FROM ref_df JOIN ref_term USING (qid, t) GROUP BY 1) y(q, most) USING (q) GROUP BY 1, 2, 5;
END $$;

-- The sequential scan's distances of rows that have some of the words.
CREATE FUNCTION ref_ask(part int, stride int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	one record;
	n int := 0;
BEGIN
	TRUNCATE given;
	PERFORM rank_mode(false, true);
	FOR one IN SELECT qid, r FROM rank_asked WHERE qid % stride = part AND r IS NOT NULL ORDER BY qid LOOP
		EXECUTE 'INSERT INTO given SELECT $1, id, v <@> $2 FROM docs WHERE v IS NOT NULL' USING one.qid, one.r;
		n := n + 1;
	END LOOP;
	ANALYZE given;
	RETURN n;
END $$;
SQL

sub new
{
	my ($class, $session, $diff) = @_;
	my $self = bless { s => $session, diff => $diff, next => 0, methods => [ methods($session) ] }, $class;
	my $uring = has_uring($session);

	$self->{serves} = { map { $_ => !$uring && /^uring(_direct)?$/ ? $1 ? 'direct' : 'buffered' : $_ } @{ $self->{methods} } };
	my @len = (0);

	$session->value($functions);

	# Lengths that a byte can tell apart.
	push @len, $len[-1] + ($len[-1] >= 46 ? int($len[-1] / 23) : 1) while @len < 255;
	$session->value('INSERT INTO ref_len SELECT unnest(' . "'{" . join(',', @len) . "}'::int[])");
	return $self;
}

# Through shared buffers last: the others would find there what that one read.
sub methods
{
	my ($session) = @_;

	return sort { ($a eq 'shared_buffers') <=> ($b eq 'shared_buffers') || $a cmp $b }
	  grep { $_ ne 'auto' } split /,/,
	  $session->value("LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");
}

# Whether these do it themselves, or a kernel refuses it and others do their work.
sub has_uring
{
	my ($session) = @_;

	return $session->value("CREATE TABLE probe AS SELECT 'a'::tsvector AS v; CREATE INDEX probe_v ON probe USING skipidx (v);"
		  . " SET enable_seqscan = off; SET skipidx.io_method = uring; DO 'BEGIN PERFORM FROM probe WHERE v @@ ''a''; END';"
		  . " RESET enable_seqscan; RESET skipidx.io_method; DROP TABLE probe;"
		  . " SELECT sum(pins) > 0 FROM skipidx_io_methods() WHERE scope = 'session' AND method = 'uring'") eq 't';
}

# Continues with another session over the same tables, after a restart.
sub use_session
{
	my ($self, $session) = @_;

	$self->{s} = $session;
	$self->{diff}->use_session($session);
	return;
}

# Fields of COPY of so many queries of a form.
sub fields
{
	my ($gen, $n, $form) = @_;

	return map { [ 0, $form, 'raw', '\\N' ] } 1 .. $n if $form eq 'null';
	return map { chomp; [ split /\t/, $_, -1 ] } $gen->copy_queries($n, [$form]);
}

# Adds n queries of every mode (or of those given), drawn from what the
# generator's documents have.
sub add_queries
{
	my ($self, $gen, $n, @only) = @_;
	my @lines;

	for my $mode (@only ? @only : modes())
	{
		my @forms = @{ $modes{$mode} };
		my $per = int(($n + $#forms) / @forms);

		for my $form (@forms)
		{
			my ($filter, $rank) = ref $form ? @$form : ($form, undef);
			my @filters = $filter ? fields($gen, $per, $filter) : ();
			my @ranks = $rank ? fields($gen, $per, $rank) : @filters;

			for my $i (0 .. $#ranks)
			{
				my @f = $filter ? @{ $filters[$i] }[ 2, 3 ] : ('\\N', '\\N');

				push @lines, join("\t", ++$self->{next}, $mode,
					($rank ? ($filter // 'all') . '/' : '') . ($rank // $filter), @f, @{ $ranks[$i] }[ 2, 3 ]) . "\n";
			}
		}
	}
	$self->{diff}->copy_in('ranked', 'qid, mode, form, fmaker, ftxt, rmaker, rtxt', @lines);
	$self->learn_words;
	return;
}

# What a printed tsquery reads: its operands from left to right, each as
# [lexeme, prefix, labels, positive].
sub operands
{
	my ($text) = @_;
	my @operands;
	my @outer = (1);    # polarity of each open parenthesis
	my $flip = 0;

	pos($text) = 0;
	while ($text =~ /\G\s*(?:(!)|(\()|(\))|(&|\||<->|<\d+>)|'((?:[^'\\]|''|\\\\)*)'(?::(\*?)([A-D]*))?)\s*/gc)
	{
		if ($1) { $flip ^= 1; }
		elsif ($2) { push @outer, $outer[-1] ^ $flip; $flip = 0; }
		elsif ($3) { pop @outer; }
		elsif (defined $5)
		{
			my ($lex, $prefix, $labels) = ($5, $6 ? 1 : 0, $7 // '');

			$lex =~ s/''/'/g;
			$lex =~ s/\\\\/\\/g;
			push @operands, [ $lex, $prefix, $labels, $outer[-1] ^ $flip ];
			$flip = 0;
		}
	}
	die "not understood: $text at " . pos($text) if pos($text) != length $text;
	return @operands;
}

# Words and pairs of all queries.
sub learn_words
{
	my ($self) = @_;
	my (@terms, @pairs);

	# In hex, for lexemes with any byte.
	for my $line (split /\n/, $self->{s}->value("SELECT qid, encode(convert_to(r::text, 'UTF8'), 'hex')"
			  . ' FROM rank_asked WHERE r IS NOT NULL AND NOT EXISTS (SELECT FROM ref_term t WHERE t.qid = rank_asked.qid)'))
	{
		my ($qid, $hex) = split /\|/, $line;
		my $text = pack 'H*', $hex;
		my (%word, %pair, $before);
		my $npairs = 0;

		utf8::decode($text);
		for my $o (operands($text))
		{
			my ($lex, $prefix, $labels, $positive) = @$o;
			my $w = $positive ? $word{"$prefix$lex"} : undef;

			if ($positive && !$w)
			{
				$w = $word{"$prefix$lex"} =
				  { t => scalar keys %word, lex => $lex, prefix => $prefix, labels => {}, any => 0, n => 0 };
			}
			if ($positive)
			{
				$w->{n}++ if $w->{n} < 255;
				$w->{any} = 1 if $labels eq '';
				$w->{labels}{$_} = 1 for split //, $labels;
			}
			if ($w && $before && !$prefix && !$before->{prefix} && $w != $before
				&& !$pair{"$before->{t} $w->{t}"}++ && $npairs++ < 16)
			{
				push @pairs, "$qid\t$before->{t}\t$w->{t}\n";
			}
			$before = $w;
		}
		push @terms, join("\t", $qid, $_->{t}, SkipidxGen::copy_field($_->{lex}), $_->{prefix} ? 't' : 'f',
			$_->{any} ? '' : join('', sort keys %{ $_->{labels} }), $_->{n}) . "\n"
		  for sort { $a->{t} <=> $b->{t} } values %word;
	}
	$self->{diff}->copy_in('ref_term', 'qid, t, lex, prefix, labels, times', @terms);
	$self->{diff}->copy_in('ref_pair', 'qid, first, second', @pairs);
	$self->{s}->value('ANALYZE ref_term; ANALYZE ref_pair; ANALYZE ranked');
	return;
}

# Passes if the ranked scan gives what the sequential scan and a sort give, for
# one query in `stride`, and comes by the index each time.  Returns what it did.
sub agrees
{
	my ($self, $state, $stride, $ks, %opt) = @_;
	my $s = $self->{s};
	my $before = $self->{diff}->scans('docs_skx');
	my $part = $opt{part} // length($state) % $stride;
	my $args = join ', ', "'" . ($opt{mode} // '%') . "'", map { $_ ? 'true' : 'false' } $opt{hot}, $opt{again};
	my ($queries, $scans, $rows, $scored, $wrong) =
	  split /\|/, $s->value("SELECT queries, scans, n_rows, scored, cardinality(wrong) FROM rank_run($part, $stride,"
		  . " '{$ks}', $args)"), 5;
	my $by_index = $self->{diff}->scans('docs_skx') - $before;
	my $ok = ok($queries > 0 && $wrong == 0, "$state: $queries queries by rank, $scans scans, $rows rows");

	ok($by_index >= $scans, "$state: all by the index");
	if (!$ok)
	{
		diag("$wrong of $queries differ");
		diag($s->value("SELECT unnest(wrong) FROM rank_run($part, $stride, '{$ks}', $args)"
				  . ' ORDER BY length(unnest(wrong)) LIMIT 12'));
	}
	return { queries => $queries, scans => $scans, rows => $rows, scored => $scored };
}

# What this session had by each method: pins, pages read, found in shared buffers.
sub counters
{
	my ($self) = @_;
	my %n;

	for (split /\n/, $self->{s}->value('SELECT method, pins, pages_read, resident'
		  . " FROM skipidx_io_methods() WHERE scope = 'session'"))
	{
		my $method = (split /\|/)[0];

		@{ $n{$method} }{qw(pins read resident)} = (split /\|/)[ 1 .. 3 ];
	}
	return \%n;
}

# Passes if every method gives the same to a part of the queries that agrees()
# has asked last, each method its own: one in `share`.  Options: hot; cold, to be
# called before all, so that no page is in shared buffers; segments (0: pages of
# these are not read).
sub agrees_by_methods
{
	my ($self, $state, $stride, $ks, $share, %opt) = @_;
	my $turn = length $state;

	$opt{cold}->() if $opt{cold};
	for my $method (@{ $self->{methods} })
	{
		my $from = $self->counters;
		my $did = $self->{diff}->by_method(" via $method", sub {
				$self->agrees("$state, $method", $stride * $share, $ks, again => 1, hot => $opt{hot},
					part => length($state) % $stride + $stride * ($turn++ % $share))
			});
		my $to = $self->counters;
		my $by = $self->{serves}{$method};
		my %n = map { $_ => $to->{$by}{$_} - ($from->{$by}{$_} // 0) } keys %{ $to->{$by} };

		note "$state, $method: ", join ', ', map { "$n{$_} $_" } sort keys %n;
		next unless $opt{segments} // 1;
		cmp_ok($n{pins}, '>', $did->{scans}, "$state: $method pins");
		cmp_ok($n{read} + $n{resident}, '>', $did->{scans}, "$state: $method fetches pages")
		  if $method ne 'shared_buffers';
		cmp_ok($n{read}, '>', $method eq 'shared_buffers' ? 0 : $did->{scans}, "$state: $method reads pages from the file")
		  if $opt{cold};
	}
	return;
}

# Passes if the first k rows are the same from an inner side of a join, from
# skipidx_search(), and their parts add up.
sub others_agree
{
	my ($self, $state, $stride, $k) = @_;
	my $s = $self->{s};
	my $part = length($state) % $stride;
	my ($queries, $rows, $wrong) =
	  split /\|/, $s->value("SELECT queries, n_rows, cardinality(wrong) FROM rank_others($part, $stride, $k)");
	my $ok = ok($queries > 0 && $rows > $queries && $wrong == 0, "$state: $queries queries in other ways, $rows rows");

	diag("$wrong differ\n" . $s->value("SELECT left(unnest(wrong), 300) FROM rank_others($part, $stride, $k) LIMIT 8")) if !$ok;
	return;
}

# From here on statistics count these rows: SELECT id, v ...
sub count_rows
{
	my ($self, $select) = @_;

	$self->{s}->value("TRUNCATE counted; INSERT INTO counted $select; SELECT ref_load() IS NULL");
	return;
}

# Passes if the sequential scan's distances are those of the reference.
# Options: k1, b, proximity, weights (D, C, B, A).
sub is_right
{
	my ($self, $state, $stride, %opt) = @_;
	my $s = $self->{s};
	my $part = length($state) % $stride;
	my $args = join ', ', $opt{k1} // 1.2, $opt{b} // 0.75, $opt{proximity} // 0, @{ $opt{weights} // [ 1, 1, 1, 1 ] };
	my $queries = $s->value("SELECT ref_ask($part, $stride)");

	# A part is cut off to units, of which the most that any document could
	# have is at least 2^23, and a score of 1 at most 2^24.
	$s->value('DROP TABLE IF EXISTS off; CREATE TABLE off AS SELECT qid, id, d, r.score'
		  . " FROM given FULL JOIN ref_scores($args) r USING (qid, id)"
		  . ' WHERE id IN (SELECT id FROM docs WHERE v IS NOT NULL) AND'
		  . ' (d IS NULL OR (r.score IS NULL) <> (d = 0)'
		  . '  OR abs(-d - r.score) > 1e-4 * r.score + 2.0 / (1 << 23) * r.parts * greatest(r.most, 0.5))');
	my $values = $s->value('SELECT count(*) FROM given WHERE d <> 0');
	my $bad = $s->value('SELECT count(*) FROM off');
	my $ok = ok($queries > 0 && $values > 0 && $bad == 0, "$state: $values scores of $queries queries are right");

	return $ok if $ok;
	diag("$bad differ: " . $s->value('SELECT count(DISTINCT qid) FROM off') . ' queries; by form: '
		  . $s->value('SELECT form, count(DISTINCT qid) FROM off JOIN ranked USING (qid) GROUP BY 1 ORDER BY 2 DESC LIMIT 12'));
	diag($s->value('SELECT qid, id, d, score, left(r::text, 150), left(v::text, 300) FROM off JOIN rank_asked USING (qid)'
			  . ' LEFT JOIN docs USING (id) ORDER BY length(r::text) + length(v::text) LIMIT 6'));
	return $ok;
}

1;
