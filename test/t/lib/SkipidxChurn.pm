# SkipidxChurn: rows in groups, and changes that leave every group as many rows
# as it had, so that a reader knows what it must count whatever happens beside
# it.

package SkipidxChurn;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT_OK = qw(skx_churn_install);

# Makes the table docs (id, grp, v) with 50 groups of 100 rows, the index docs_v
# with these options, and churn(group, kind of change), kinds 0 to 5, which
# waits for nobody but changes of the same group.
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

1;
