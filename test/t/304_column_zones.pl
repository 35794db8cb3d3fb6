# Dates and timestamps without a time zone, and moments with one: each operator
# between them, on rows and with values around the changes of clocks, gives by the
# index what the sequential scan gives, under the time zone in force when it runs.
#
# Zones put clocks forward and back by an hour, by half of one, at midnight, by a
# day, or never; two are further from UTC than any on Earth.
#
# Holds: column 1; condition 1, 2

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed skx_setseed);
use Test::More;

my @zones = ('America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/Sao_Paulo', 'Pacific/Apia');
my @strange = ('UTC', 'FOO-99:30', 'FOO+160BAR-2,M3.2.0,M4.1.0');
my $node = skx_node('zones', conf => "autovacuum = off\njit = off\n");

note 'seed ' . skx_seed(304);
skx_database($node, 'd');
my $s = skx_session($node, 'd');

$s->value("SET timezone = 'UTC'; SELECT " . skx_setseed());
$s->value('CREATE TABLE zones AS SELECT name FROM unnest(ARRAY[' . join(',', map { "'$_'" } @zones) . ']) name');
$s->value(<<'SQL');
CREATE TABLE changes AS SELECT name, at FROM zones, generate_series(timestamptz '2010-01-01', '2012-06-01', '30 min') at
	WHERE (at AT TIME ZONE name) - ((at - interval '30 min') AT TIME ZONE name) <> '30 min';
CREATE TABLE times AS SELECT DISTINCT x + half * interval '30 min' + us * interval '1 us' AS ts
	FROM (SELECT at AT TIME ZONE name AS x FROM changes UNION SELECT at AT TIME ZONE 'UTC' FROM changes
		UNION SELECT date_trunc('day', at AT TIME ZONE name) FROM changes) c,
		generate_series(-5, 5) half, generate_series(-1, 1) us;
CREATE TABLE docs (id int GENERATED ALWAYS AS IDENTITY, v tsvector, kind int, d date, ts timestamp, tz timestamptz);
CREATE TABLE edges (d date, ts timestamp, tz timestamptz);
INSERT INTO edges VALUES ('-infinity', '-infinity', '-infinity'), ('infinity', 'infinity', 'infinity'), (NULL, NULL, NULL),
	('5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'),
	('4714-11-24 BC', '4714-11-24 BC', '4714-11-24 00:00+00 BC'), ('294276-12-31', '294276-12-31', '294276-12-31 00:00+00'),
	('294277-01-01', '294276-12-25', '294276-12-25 00:00+00'), ('294276-12-30', '4714-12-03 BC', '4714-12-03 00:00+00 BC');
CREATE FUNCTION load(part int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO docs (v, kind, d, ts, tz) SELECT to_tsvector('simple', 'common w' || kind), kind, ts::date, ts, ts AT TIME ZONE 'UTC'
		FROM (SELECT ts, (10 * random())::int AS kind FROM times) t WHERE kind % 2 = part;
	INSERT INTO docs (v, kind, d, ts, tz) SELECT to_tsvector('simple', 'common edge'), 11, * FROM edges;
$$;
CREATE INDEX docs_skx ON docs USING skipidx (v, kind, d, ts, tz) WITH (pending_limit = '1GB', block_size = '8kB');

CREATE FUNCTION set_mode(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (mode = 'seq')::text, false), set_config('enable_sort', (mode = 'seq')::text, false),
		set_config('enable_bitmapscan', (mode IN ('bitmap', 'any'))::text, false), set_config('enable_indexscan', (mode IN ('plain', 'any'))::text, false);
END $$;

-- A query of one row and column, by the sequential scan and by the index.  Costs
-- decide whether ANY of several values is a filter; of bitmaps, whose conditions
-- the server repeats if they are not immutable, it is not asked.
CREATE FUNCTION same(query text, OUT wrong text) LANGUAGE plpgsql AS $$
DECLARE
	mode text;
	line text;
	by_index bool;
	filter text;
	one text;
	other text;
BEGIN
	PERFORM set_mode('seq');
	EXECUTE query INTO one;
	FOREACH mode IN ARRAY '{plain,bitmap,any}'::text[] LOOP
		CONTINUE WHEN mode = 'any' AND query !~ 'count';
		PERFORM set_mode(mode);
		EXECUTE query INTO other;
		IF one IS DISTINCT FROM other THEN
			wrong := format('%s, %s: %s and not %s', query, mode, left(other, 200), left(one, 200));
		END IF;
		CONTINUE WHEN random() > .05 OR mode = 'bitmap' AND query ~ 'ORDER BY \w+( DESC)?, id';
		by_index := false;
		filter := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			by_index := by_index OR line ~ '(using|on) docs_skx' OR line ~ 'One-Time Filter: false';
			filter := filter || coalesce(substring(line FROM '[^-]Filter: .*'), '');
		END LOOP;
		IF NOT by_index OR mode = 'plain' AND query !~ 'ANY' AND filter <> '' AND filter !~ 'One-Time' THEN
			wrong := format('%s, %s: not by the index alone %s', query, mode, filter);
		END IF;
	END LOOP;
	PERFORM set_mode('seq');
END $$;

-- Values as text under UTC, which all types read alike from it.
CREATE FUNCTION drawn(col text, n int) RETURNS text[] LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
	found text[];
BEGIN
	EXECUTE format('SELECT array_agg(x) FROM ((SELECT x::text FROM (SELECT DISTINCT %1$s AS x FROM docs WHERE kind <= 10) s'
		' ORDER BY random() LIMIT %2$s) UNION ALL SELECT %1$s::text FROM edges) s(x)', col, n) INTO found;
	RETURN found;
END $$;

-- The condition, and one that has it.
CREATE FUNCTION forms(cond text, col text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format(form, cond, col) FROM (VALUES ('SELECT array_agg(id ORDER BY id) FROM docs WHERE %1$s')) f (form)
	UNION ALL (SELECT format(form, cond, col) FROM (VALUES
		('SELECT array_agg(id ORDER BY id) FROM docs WHERE v @@ ''common'' AND %1$s'),
		('SELECT array_agg(id ORDER BY id) FROM docs WHERE v @@ ''w1 | w2'' AND kind > 0 AND %1$s'),
		('SELECT count(*) FROM docs WHERE v @@ ''!w2'' AND %1$s'),
		('SELECT array_agg(id) FROM (SELECT id FROM docs WHERE v @@ ''!w2'' AND %1$s ORDER BY %2$s, id LIMIT 20) s'),
		('SELECT array_agg(id) FROM (SELECT id FROM docs WHERE %1$s ORDER BY %2$s DESC, id LIMIT 20) s'),
		('SELECT array_agg(x ORDER BY x) FROM (SELECT (kind, count(*)) x FROM docs WHERE %1$s GROUP BY kind) s'),
		('SELECT array_agg(id) FROM (SELECT id FROM docs WHERE v @@ ''common | w1'' AND %1$s ORDER BY v <@> ''common | w1'', id LIMIT 20) s')
		) f (form) ORDER BY random() LIMIT 1)
$$;

CREATE FUNCTION differ(zone text, n int, OUT queries int, OUT wrong text[]) LANGUAGE plpgsql AS $$
DECLARE
	pair record;
	vals text[];
	cond text;
	query text;
BEGIN
	queries := 0;
	wrong := '{}';
	FOR pair IN SELECT * FROM (VALUES ('d', 'tz', 'timestamptz'), ('ts', 'tz', 'timestamptz'), ('tz', 'd', 'date'),
			('tz', 'ts', 'timestamp')) p (col, other, type) LOOP
		vals := drawn(pair.other, n);
		PERFORM set_config('timezone', zone, false);
		FOR cond IN
			SELECT CASE WHEN random() < .5 THEN format('%s %s %L::%s', pair.col, op, value, pair.type)
				ELSE format('%L::%s %s %s', value, pair.type, CASE WHEN op = '<>' THEN op ELSE translate(op, '<>', '><') END, pair.col) END
				FROM unnest(vals) value, unnest('{<,<=,=,>=,>,<>}'::text[]) op WHERE value IS NOT NULL
			UNION ALL SELECT format('%s %s ANY (%L::%s[])', pair.col, op, (SELECT array_agg(value) FROM (SELECT value FROM unnest(vals) value
				WHERE random() < m / 20.0 AND op IS NOT NULL LIMIT 12) s), pair.type) FROM unnest('{<,<=,=,=,>=,>,<>}'::text[]) op, generate_series(1, 6) m
			UNION ALL SELECT format('%1$s > %2$L::%3$s AND %1$s <= %4$L::%3$s', pair.col, a, pair.type, b)
				FROM unnest(vals) a, unnest(vals) b WHERE a IS NOT NULL AND b IS NOT NULL AND random() < .05 LOOP
			FOR query IN SELECT forms(cond, pair.col) LOOP
				queries := queries + 1;
				wrong := wrong || same(query);
			END LOOP;
		END LOOP;
		PERFORM set_config('timezone', 'UTC', false);
	END LOOP;
	wrong := array_remove(wrong, NULL);
END $$;
SQL

sub differ
{
	my ($what, $n, @of) = @_;

	for my $zone (@of)
	{
		my ($queries, $wrong, $first) =
		  split /\|/, $s->value("SELECT queries || '|' || cardinality(wrong) || '|' || coalesce(wrong[1], '') FROM differ('$zone', $n)"), 3;

		is($wrong, 0, "$what, $zone: $queries queries") or diag $first;
		cmp_ok($queries, '>', 100, "$what, $zone: queries");
	}
	return;
}

is($s->value('SELECT string_agg(n::text, \',\' ORDER BY name) FROM (SELECT name, count(*) n FROM changes GROUP BY name) c'), '5,5,5,5,5',
	'changes of five zones') or diag $s->value('SELECT name, count(*) FROM changes GROUP BY name');
$s->value('SELECT load(0); ANALYZE docs');
differ('pending', 3, @zones);
is($s->value("SELECT skipidx_flush('docs_skx') > 0"), 't', 'flushed');
$s->value('SELECT load(1); ANALYZE docs');
differ('a segment and pending', 14, @zones, @strange);
$s->value("DELETE FROM docs WHERE id % 7 = 1; VACUUM docs; SELECT skipidx_flush('docs_skx'), skipidx_merge('docs_skx', 1)");
differ('merged', 6, @zones, @strange);
$s->value("DELETE FROM docs WHERE id % 7 = 2");

# ---- a time that clocks pass over ----

$s->value("SET timezone = 'America/New_York'; SELECT set_mode('plain')");
$s->value("INSERT INTO docs (v, ts, d) SELECT 'spring', x, x FROM unnest('{2011-03-13 01:30,2011-03-13 02:30,2011-03-13 03:15,2011-03-13 03:30,2011-03-13 04:30}'::timestamp[]) x");
is($s->value("SELECT string_agg(to_char(ts, 'HH24:MI'), ',' ORDER BY ts) FROM docs WHERE v @@ 'spring' AND ts = timestamptz '2011-03-13 07:30+00'"),
	'02:30,03:30', 'two times are one moment');
is($s->value("SELECT string_agg(to_char(ts, 'HH24:MI'), ',' ORDER BY ts) FROM docs WHERE v @@ 'spring' AND ts < timestamptz '2011-03-13 07:30+00'"),
	'01:30,03:15', 'what is below it is no range');
$s->value("SELECT set_mode('any')");
like($s->value("EXPLAIN (COSTS OFF) SELECT count(*) FROM docs WHERE v @@ 'spring' AND ts < timestamptz '2011-03-13 07:30+00'"), qr/Skipidx Count/, 'a count');
is($s->value("SELECT count(*) FROM docs WHERE v @@ 'spring' AND ts < timestamptz '2011-03-13 07:30+00'"), 2, 'nor is it counted as one');
is($s->value("SELECT count(*) FROM docs WHERE v @@ 'spring' AND ts < ANY ('{2011-03-13 07:30+00,2011-03-13 07:10+00}'::timestamptz[])"), 2, 'nor with others');
$s->value("SELECT set_mode('plain')");
like($s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT ts FROM docs WHERE v @@ 'spring' AND ts < timestamptz '2011-03-13 07:30+00'"),
	qr/Rows Removed by Index Recheck: 2\b/, 'two rows more are looked at');
unlike($s->value("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT ts FROM docs WHERE v @@ 'spring' AND ts < timestamptz '2011-03-13 08:30+00'"),
	qr/Recheck/, 'and none where values ascend');

# ---- plans that are kept ----

# Each time zone has its rows, whatever was in force when the plan was made.
$s->value(<<'SQL');
SET plan_cache_mode = force_generic_plan;
PREPARE by_date(date) AS SELECT count(*), min(tz) FROM docs WHERE tz < $1 AND v @@ 'common';
PREPARE by_constant AS SELECT count(*), max(ts) FROM docs WHERE ts >= timestamptz '2011-10-02 10:00+00' AND v @@ 'common';
PREPARE by_moment(timestamptz[]) AS SELECT count(*), max(d) FROM docs WHERE d = ANY ($1);
PREPARE joined AS SELECT count(*), sum(docs.id) FROM edges e, LATERAL (SELECT id FROM docs WHERE tz >= e.ts AND ts < e.tz) docs;
PREPARE of_times AS SELECT count(*), sum(docs.id) FROM (SELECT tz FROM times, LATERAL (SELECT ts AT TIME ZONE 'UTC') x (tz) ORDER BY ts LIMIT 99 OFFSET 100) t JOIN docs ON docs.d = t.tz;
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
SQL
my @kept = ("by_date('2011-03-13')", "by_date('2011-10-16')", 'by_constant', 'joined', 'of_times',
	"by_moment(ARRAY['2011-03-13 00:00-05', '2011-10-16 03:00+00', '2011-10-15 18:30+00', '2011-12-30 10:00+00']::timestamptz[])");
my %of;

for my $mode ('seq', 'plain')
{
	$s->value("SELECT set_mode('$mode'); DISCARD PLANS");
	for my $zone (@zones, reverse @zones)
	{
		$s->value("SET timezone = '$zone'");
		for my $kept (@kept)
		{
			my $got = $s->value("EXECUTE $kept");

			$of{"$kept $zone"} //= $got;
			is($got, $of{"$kept $zone"}, "$kept, $zone, $mode") if $mode ne 'seq';
		}
	}
}
for my $kept (@kept)
{
	my %answers = map { $of{"$kept $_"} => 1 } @zones;

	cmp_ok(keys %answers, '>', 1, "$kept depends on the zone");
	like($s->value("EXPLAIN (COSTS OFF) EXECUTE $kept"), qr/docs_skx/, "$kept is by the index");
}

# ---- facets ----

$s->value("RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; RESET plan_cache_mode; SET cpu_tuple_cost = 10; SELECT set_mode('any')");
like($s->value("EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM docs WHERE v @@ 'common' AND tz >= date '2011-03-13' GROUP BY kind"),
	qr/Skipidx Facets/, 'moments from a day on are exact');
unlike($s->value("EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM docs WHERE v @@ 'common' AND ts >= timestamptz '2011-03-13' GROUP BY kind"),
	qr/Skipidx Facets/, 'times from a moment on may not be');
like($s->value("EXPLAIN (COSTS OFF) SELECT kind, count(*) FROM docs WHERE v @@ 'common' AND ts = timestamptz '2011-03-13' GROUP BY kind"),
	qr/Skipidx (Facets|Columns)/, 'those that are equal are');
is($s->value("SELECT skipidx_check('docs_skx', true)"), '', 'the index is sound');
is($s->value("SELECT count(*) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'skipidx' AND NOT amvalidate(c.oid)"), 0,
	'operator classes are valid');

$s->close;
$node->stop;
done_testing();
