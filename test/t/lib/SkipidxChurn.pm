# SkipidxChurn: tables that change while others look at them, and what the index
# answers then.

package SkipidxChurn;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(skx_churn_install skx_churn_texts skx_churn_updates skx_churn_answers);

# Makes the table docs (id, grp, v) with 50 groups of 100 rows, the index docs_v
# with these options, and churn(group, kind of change), kinds 0 to 5, which
# waits for nobody but changes of the same group.  A change leaves its group as
# many rows as it had, so that a reader knows what it must count.
sub skx_churn_install
{
	my ($node, $db, $options) = @_;

	$node->safe_psql($db, <<"SQL");
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int PRIMARY KEY, grp int, v tsvector);
INSERT INTO docs SELECT i, i % 50, ('all:1 g' || i % 50 || ':2 k' || i % 3 || ':3')::tsvector
	FROM generate_series(1, 5000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH ($options);
CREATE SEQUENCE ids START 100000;
SQL
	$node->safe_psql($db, <<'SQL');
CREATE FUNCTION churn(g int, what int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(g);
	IF what = 0 THEN
		WITH gone AS (DELETE FROM docs WHERE id IN
			(SELECT id FROM docs WHERE grp = g ORDER BY random() LIMIT 10) RETURNING 1)
		INSERT INTO docs SELECT nextval('ids'), g, ('all:1 g' || g || ':2 k1:3 new')::tsvector FROM gone;
	ELSIF what = 1 THEN
		UPDATE docs SET v = v || ('updated' || g)::tsvector
		WHERE id IN (SELECT id FROM docs WHERE grp = g LIMIT 5);
	ELSIF what = 2 THEN
		BEGIN
			INSERT INTO docs SELECT nextval('ids'), g, ('all:1 g' || g || ':2')::tsvector
			FROM generate_series(1, 20);
			RAISE 'undo';
		EXCEPTION WHEN raise_exception THEN
			DELETE FROM docs WHERE id = (SELECT id FROM docs WHERE grp = g LIMIT 1);
			INSERT INTO docs VALUES (nextval('ids'), g, ('all:1 g' || g || ':2 again')::tsvector);
		END;
	ELSIF what = 3 THEN
		UPDATE docs SET v = (SELECT string_agg('big' || k || ':' || k + 10, ' ')
			FROM generate_series(1, 1200) k)::tsvector || ('all:1 g' || g || ':2')::tsvector
		WHERE id = (SELECT id FROM docs WHERE grp = g LIMIT 1);
	ELSIF what = 4 THEN
		-- the whole group, at new places
		UPDATE docs SET v = ('all:1 g' || grp || ':2 moved:3')::tsvector WHERE grp = g;
	ELSE
		UPDATE docs SET v = ('all:1 g' || grp || ':2 k2:3')::tsvector
		WHERE id IN (SELECT id FROM docs WHERE grp = g ORDER BY random() LIMIT 3);
	END IF;
END $$;
SQL
	return;
}

# Makes doc(i), a text of 30 words, the first of which is `all` and the others
# drawn from 5,000.
sub skx_churn_texts
{
	my ($node, $db) = @_;

	$node->safe_psql($db, <<'SQL');
CREATE FUNCTION doc(i int) RETURNS tsvector LANGUAGE sql AS $$
	SELECT ('all:1 ' || string_agg('u' || (random() * 5000)::int || ':' || k, ' '))::tsvector
	FROM generate_series(2, 30) k WHERE i > 0
$$;
SQL
	return;
}

# Makes the extension, and the procedure updates(n), which changes n rows of docs
# drawn among ids 1 to `rows`, one a transaction: sets what is given.
sub skx_churn_updates
{
	my ($node, $db, $rows, $set) = @_;

	$node->safe_psql($db, <<"SQL");
CREATE EXTENSION skipidx;
CREATE PROCEDURE updates(n int) LANGUAGE plpgsql AS \$\$
DECLARE
	k int;
BEGIN
	FOR i IN 1 .. n LOOP
		k := 1 + (random() * ($rows - 1))::int;
		UPDATE docs SET $set WHERE id = k;
		COMMIT;
	END LOOP;
END \$\$;
SQL
	return;
}

# How many rows of docs meet each of these conditions, and the sum of their ids,
# by an index or without any.
sub skx_churn_answers
{
	my ($session, $by_index, @conditions) = @_;
	my %on = (seqscan => !$by_index, bitmapscan => $by_index, indexscan => $by_index);

	return $session->value(join ' ', (map { "SET enable_$_ = " . ($on{$_} ? 'on;' : 'off;') } sort keys %on),
		join(' UNION ALL ', map { "SELECT count(*) || ' ' || coalesce(sum(id::int8), 0) FROM docs WHERE $_" } @conditions) . ';',
		map { "RESET enable_$_;" } sort keys %on);
}

1;
