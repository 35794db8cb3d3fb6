# SkipidxMatrix: condition x answer x state x method x processes, each defined
# here once, of which a test takes a slice.
#
# Condition: on the text, in every form of SkipidxGen; on columns beside it, drawn
# from rows so that most of them match; both; disjunctions of these.
# Answer: what is asked of the rows that meet it.  Each is a statement that the
# sequential scan answers and others for the index, which must say the same.
# State: what was done to index and table before.
# Method: of reading blocks, all that the library has.
# Processes: parallel workers of each of these statements.
#
# The statements are kept in a table, and one call of the server compares a part of
# them, so that a reader with an old snapshot, or on a standby, does it as well.

package SkipidxMatrix;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP ();
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use SkipidxDiff;
use SkipidxGen;
use SkipidxTest qw(skx_node skx_database skx_session skx_seed);
use Test::More;

our @EXPORT_OK = qw(one_of quoted);

my $functions = <<'SQL';
-- What a statement says: keys in their order, places of rows, and how many rows
-- these are of.  Places tell nothing where any of several rows may come.
CREATE TYPE answered AS (keys text[], places text[], n int8);

-- The statements of one query, in a topic, which is a table by default: what the
-- sequential scan is asked (oracle), and each statement that must say the same, in its
-- way, or the first so many of the same, where first is not 0; node: by which node of a
-- plan.  Of a turn there may be several queries; one without a turn is asked each time.
-- sound: how many keys ($1) are of a row of their own ($2) that meets the condition; of
-- equal keys any row may come, or, if `tied`, the first, but for heap-only tuples.
CREATE TABLE asked (qid serial PRIMARY KEY, topic text, turn int, answer text, told text, oracle text,
	statements text[], ways text[], first int[], nodes text[], sound text, tied bool);

-- plain and bitmap: rows by an index, in its order; index: any way by it; groups: those
-- of one index, neither hashed nor sorted; hashed and sorted: either may be.
CREATE FUNCTION set_way(way text, processes int DEFAULT 0) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_mode(CASE WHEN way IN ('groups', 'hashed', 'sorted') THEN 'index' ELSE way END),
		set_config('enable_sort', (way NOT IN ('plain', 'groups', 'hashed'))::text, false),
		set_config('enable_hashagg', (way NOT IN ('groups', 'sorted'))::text, false),
		set_config('cpu_tuple_cost', CASE WHEN way IN ('index', 'groups', 'hashed', 'sorted') THEN tuple_cost() ELSE '0.01' END, false),
		set_config('max_parallel_workers_per_gather', processes::text, false);
	IF processes > 0 THEN
		PERFORM set_config(c, '0', false) FROM unnest('{parallel_setup_cost,parallel_tuple_cost,min_parallel_index_scan_size,min_parallel_table_scan_size}'::text[]) c;
	END IF;
END $$;

-- Of the table, or of one of its indexes, with their partitions.
CREATE FUNCTION indexes(of regclass DEFAULT NULL) RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
	SELECT c.oid::regclass FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am a ON a.oid = c.relam
	WHERE a.amname = 'skipidx' AND c.relkind = 'i' AND CASE WHEN of IS NULL THEN x.indrelid = 'docs'::regclass OR x.indrelid IN (SELECT relid FROM pg_partition_tree('docs'))
		ELSE c.oid = of OR c.oid IN (SELECT relid FROM pg_partition_tree(of)) END ORDER BY c.oid
$$;

-- Flushes what is pending, and merges.
CREATE FUNCTION tend(segments int DEFAULT NULL, of regclass DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT skipidx_flush(i) FROM indexes(of) i;
	SELECT skipidx_merge(i, segments) FROM indexes(of) i WHERE segments IS NOT NULL;
$$;

-- Pages of a slice, each from the token of the last row of the one before.
CREATE FUNCTION pages(of regclass, q tsquery, slice int, slices int, size int) RETURNS TABLE (tab oid, tid tid, page int) LANGUAGE plpgsql AS $$
DECLARE
	after bytea;
	one record;
	n int;
BEGIN
	page := 0;
	LOOP
		n := 0;
		FOR one IN SELECT * FROM skipidx_scroll(of, q, slice, slices, after, size) LOOP
			-- those of one call do
			IF n > 0 AND after >= one.token THEN RAISE 'tokens do not ascend'; END IF;
			tab := one.tableoid; tid := one.ctid; after := one.token; n := n + 1;
			RETURN NEXT;
		END LOOP;
		IF n > size THEN RAISE 'a page of % rows', n; END IF;
		EXIT WHEN n < size;
		page := page + 1;
	END LOOP;
END $$;

CREATE FUNCTION difference(want text[], got text[]) RETURNS text LANGUAGE sql AS $$
	SELECT format('%s for %s, %s missing, %s too many', coalesce(cardinality(got), 0), coalesce(cardinality(want), 0),
		(SELECT left(array_agg(x)::text, 200) FROM (SELECT unnest(want) EXCEPT ALL SELECT unnest(got) LIMIT 4) y (x)),
		(SELECT left(array_agg(x)::text, 200) FROM (SELECT unnest(got) EXCEPT ALL SELECT unnest(want) LIMIT 4) y (x)))
$$;

-- explain: options of EXPLAIN by which plans are asked for, or NULL.
-- Statements by the index, how many of these were by the nodes that they should be
-- by, how many by several processes, and what these nodes tell.
CREATE FUNCTION run(of text, part int, stride int, processes int[], hot bool, explain text)
RETURNS TABLE (answer text, matched int8, tries int, by_index int, together int, figures jsonb, wrong text, other text) LANGUAGE plpgsql AS $$
DECLARE
	one asked;
	want answered;
	got answered;
	k int;
	n int;
	p int;
	plan jsonb;
BEGIN
	FOR one IN SELECT * FROM asked a WHERE topic = of AND (a.turn IS NULL OR a.turn % stride = part) ORDER BY a.qid LOOP
		answer := one.answer; matched := 0; tries := 0; by_index := 0; together := 0; figures := NULL; wrong := NULL; other := NULL;
		BEGIN
			PERFORM set_way('seq');
			EXECUTE one.oracle INTO want;
			matched := coalesce(want.n, 0);
			FOREACH p IN ARRAY processes LOOP
				FOR i IN 1 .. cardinality(one.ways) LOOP
					PERFORM set_way(one.ways[i], p), set_config('parallel_leader_participation', (one.qid % 3 > 0)::text, false);
					EXECUTE one.statements[i] INTO got;
					tries := tries + 1;
					k := coalesce(nullif(one.first[i], 0), 2147483647);
					IF got.keys IS DISTINCT FROM want.keys[:k] THEN
						wrong := difference(want.keys[:k], got.keys);
					ELSIF (one.sound IS NULL OR one.tied AND NOT hot) AND got.places IS DISTINCT FROM want.places[:k] THEN
						wrong := difference(want.places[:k], got.places);
					END IF;
					IF explain IS NOT NULL AND one.nodes[i] <> '' THEN
						EXECUTE format('EXPLAIN (FORMAT JSON%s) %s', explain, one.statements[i]) INTO plan;
						IF jsonb_path_exists(plan, format('$.** ? (%s || @."One-Time Filter" == "false")', one.nodes[i])::jsonpath) THEN
							by_index := by_index + 1;
						ELSIF matched > 20 THEN
							other := format('%s of %s rows by %s, with %s processes: %s', answer, matched, jsonb_path_query_array(plan, 'strict $.**."Node Type"'), p, one.told);
						END IF;
						together := together + (jsonb_path_exists(plan, format('$.** ? (@."Parallel Aware" == true && (%s))', one.nodes[i])::jsonpath)
							AND (explain !~ 'ANALYZE' OR jsonb_path_exists(plan, '$.**."Workers Launched" ? (@ > 0)')))::int;
						SELECT jsonb_object_agg(key, sum) INTO figures FROM (SELECT key, sum(value::text::numeric) FROM (
							SELECT f.* FROM jsonb_path_query(plan, format('$.** ? (%s)', one.nodes[i])::jsonpath) o, jsonb_each(o) f WHERE jsonb_typeof(value) = 'number'
							UNION ALL SELECT f.* FROM jsonb_each(figures) f) x GROUP BY key) y;
					ELSIF explain IS NOT NULL THEN
						by_index := by_index + 1;
					END IF;
					IF one.sound IS NOT NULL AND wrong IS NULL THEN
						PERFORM set_way('seq');
						EXECUTE one.sound INTO n USING got.keys, got.places;
						IF n <> coalesce(cardinality(got.keys), 0) THEN
							wrong := format('%s of %s rows are sound', n, cardinality(got.keys));
						END IF;
					END IF;
					wrong := wrong || format(': %s by %s, with %s processes, first %s: %s', answer, one.ways[i], p, one.first[i], one.told);
					EXIT WHEN wrong IS NOT NULL;
				END LOOP;
			END LOOP;
		EXCEPTION WHEN OTHERS THEN
			wrong := format('%s %s: %s: %s', sqlstate, sqlerrm, answer, one.told);
		END;
		RETURN NEXT;
	END LOOP;
	PERFORM set_way('seq'), set_config('parallel_leader_participation', 'on', false);
END $$;

CREATE FUNCTION compared(of text, part int, stride int, processes int[], hot bool, explain text) RETURNS json LANGUAGE sql AS $$
	WITH r AS MATERIALIZED (SELECT * FROM run(of, part, stride, processes, hot, explain))
	SELECT json_build_object('asked', count(*), 'matched', count(*) FILTER (WHERE matched > 0), 'rows', coalesce(sum(matched), 0),
		'tries', coalesce(sum(tries), 0),
		'wrong', (SELECT coalesce(json_agg(w), '[]') FROM (SELECT left(wrong, 900) AS w FROM r WHERE wrong IS NOT NULL LIMIT 8) x),
		'other', (SELECT coalesce(json_agg(o), '[]') FROM (SELECT left(other, 400) AS o FROM r WHERE other IS NOT NULL LIMIT 40) x),
		'figures', (SELECT coalesce(json_object_agg(key, x), '{}') FROM (SELECT key, sum(value::text::numeric) AS sum, count(*) FILTER (WHERE value::text::numeric > 0) AS queries FROM r, jsonb_each(figures) GROUP BY key) x),
		'answers', (SELECT coalesce(json_object_agg(answer, x), '{}')
			FROM (SELECT answer, sum(tries) AS tries, sum(by_index) AS by_index, count(other) AS others, sum(together) AS together FROM r GROUP BY answer) x)) FROM r
$$;
SQL

# ---- columns ----

sub one_of { return $_[ rand @_ ]; }

sub quoted { return defined $_[0] ? "'" . ($_[0] =~ s/'/''/gr) . "'" : 'NULL'; }

sub array { return '{' . join(',', map { $_ // 'NULL' } @_) . '}'; }

sub day { my ($id) = @_; return sprintf '2020-%02d-%02d', 1 + $id / 150 % 12, 1 + $id % 28; }

# Many have the first eight bytes in common, and few all of them.
sub uuid
{
	my $first = one_of('00000000-0000-0000', 'ffffffff-ffff-ffff', '01000000-0000-0000', map { sprintf '018f0000-00%02x-7000', $_ } 1 .. 30);

	return sprintf '%s-%s-%s%06x', $first, one_of('0000', 'ffff', '8000'), one_of('000000', 'ffffff'), int rand 3000;
}

# Likewise, of all sizes.
sub number
{
	my $sign = one_of('', '', '-');

	return one_of('NaN', 'Infinity', '-Infinity', 0, map { $sign . $_ } 1e90, '1e-90', '2e-79', '3e79', '3e83', rand() * 1e-70, int rand 20, int(rand 400) / 100, rand,
		'1234567890123456' . int rand 9, '123456789012.' . int rand 9, '0.00012345678901234567' . int rand 9, (map { sprintf '%d.%04d0000%d', $_, rand 3, rand 300 } 7, 70000));
}

# Of each column: its type; a value for the row of an id; three values in order, if
# it has one; further conditions that are true for a value, mostly; whether facets
# come in the order of text (top); whether the index has its values (alone); and
# whether rows with one value are so many that no order by it is offered (crowded),
# where its keys are coarse.
# 0 and -0 are equal and are written as they come, as are 1.0 and 1.00: `written`.
my %columns = (
	tenant => { type => 'int', value => sub { int(rand 12) - 3 }, bounds => sub { (0, 2, 7) }, top => 1, alone => 1,
		more => sub { my ($v) = @_; ("tenant = ($v)::int8", "($v)::int2 = tenant", "tenant <> 2::int8", "tenant >= ANY ('{9,$v}'::int2[])", 'tenant = ANY (NULL::int[])') } },
	category => { type => 'text', value => sub { one_of('', 'a', 'A', 'b', 'B', 'a ', "it's", 'long' x 500, map { "c$_" } 1 .. 5) }, top => 1,
		more => sub { my ($v) = @_; ('category = ' . quoted($v) . '::varchar') } },
	tags => { type => 'text[]', value => sub { array(map { rand() < 0.1 ? undef : 't' . int rand 5 } 1 .. int rand 4) }, only => \&tags_conditions },
	flag => { type => 'bool', written => '%s', value => sub { one_of('t', 'f') }, bounds => sub { ('f', 'f', 't') }, alone => 1,
		only => sub { ('flag', 'NOT flag', 'flag IS TRUE', 'flag IS FALSE', 'flag = true', 'flag = false', 'flag IS UNKNOWN', 'flag IS NOT UNKNOWN',
				'flag IS NOT TRUE', 'flag IS NOT FALSE', 'coalesce(flag, false) = false', 'flag IS DISTINCT FROM true', "flag >= 'f'", "flag < 't'", "flag BETWEEN 'f' AND 't'") } },
	amount => { type => 'numeric', value => sub { one_of('NaN', '0', '0.00', '1.5', '1.50', '-1.5', '1e40', 'Infinity', int rand 9) }, bounds => sub { (0, '1.50', 'Infinity') },
		written => 'trim_scale(%s)', more => sub { my ($v) = @_; ("amount = '$v'::numeric + 0.000") } },
	loose => { type => 'numeric', crowded => 1, value => sub { one_of('1', '1.0', '1.00', '-2', '-2.0', 0, '0.0', '123456789012', '0.00001', '10000', '-99990000.5', int rand 99999) },
		bounds => sub { ('-2.00', 1, '123456789012.0') }, written => 'trim_scale(%s)' },
	price => { type => 'numeric(8, 2)', value => sub { sprintf('%.*f', int rand 3, rand(1)**3 * 40 - 5) }, bounds => sub { one_of([ '-1.5', '0.125', 20 ], [ 0, 3, '20.001' ]) }, top => 1, alone => 1 },
	day => { type => 'date', value => sub { my $day = day(@_); one_of($day, $day, $day, 'infinity', '-infinity', '5000000-01-01') }, bounds => sub { ('2020-03-05', '2020-06-01', 'infinity') }, alone => 1,
		more => sub { my ($v) = map { "timestamp '$_'" } map { /^5/ ? '2020-01-02' : $_ } @_; ("day <> $v", "day = $v", "day = $v + '1 s'", "day > timestamp '2020-01-04 12:00'") } },
	f => { type => 'float8', value => sub { one_of('0', '-0', 'NaN', '1.5', '-1.5', 'Infinity', '-Infinity', rand, -rand() * 1e300, int rand 5) }, bounds => sub { (-1, '-0.0', 'NaN') }, written => '(%s + 0)',
		more => sub { my ($v) = @_; ("f = -('$v'::float8)", "f <= 'NaN'::float4", abs($v) < 1e30 ? "f = '$v'::float4" : ()) } },
	code => { type => 'char(6)', written => '%s', value => sub { one_of('', 'a', 'ab', 'abc', ' a', 'abcdef') }, more => sub { my ($v) = @_; ("code = ('$v' || '  ')::bpchar", "code IN ('$v', 'ab ')") } },
	n => { type => 'int', value => sub { int(rand 2000) - 1000 }, bounds => sub { (-200, 0, 300) }, alone => 1 },
	small => { type => 'int2', value => sub { int rand 4 }, bounds => sub { (0, 1, 3) }, alone => 1 },
	ts => { type => 'timestamp', value => sub { my $day = day(@_); one_of("$day 10:00:0" . int rand 9, "$day 23:59:59.999999", 'infinity', '-infinity', '4713-01-01 BC') },
		bounds => sub { ('2020-03-05', '2020-06-01 10:00:03', 'infinity') }, alone => 1 },
	tz => { type => 'timestamptz', value => sub { day(@_) . ' 11:00+0' . int rand 9 }, bounds => sub { ('2020-03-05', '2020-06-01 10:00+02', '2021-01-01') }, alone => 1 },
	o => { type => 'oid', value => sub { one_of(0, 4294967295, int rand 4e9) }, bounds => sub { (0, 1000, 3e9) }, alone => 1 },
	m => { type => 'money', value => sub { rand() * 100 - 50 }, bounds => sub { (-10, 0, 10) }, alone => 1 },
	p => { type => 'numeric(12, 3)', value => sub { one_of('NaN', 0, '999999999.999', '-999999999.999', int(rand 100) / 8, -int(rand 9) / 1000, sprintf('%.3f', rand() * 1e5 - 5e4)) },
		bounds => sub { ('-0.0005', '0.0015', one_of('NaN', '1e20', '12.5000001')) }, alone => 1 },
	u => { type => 'uuid', value => \&uuid, bounds => sub { sort map { uuid() } 1 .. 3 } },
	q => { type => 'numeric', value => \&number, written => 'trim_scale(%s)', bounds => sub { @{ one_of([ '-2e-79', 0, 1 ], [ -3, '7.0001000020', '70000.0001000020' ], [ '-1e90', '123456789012.3', '4e83' ],
				[ '-12345678901234563', '12345678901234563', '12345678901234565' ], [ '0.000123456789012345674', '0.000123456789012345676', 'NaN' ]) } } },
	part => { type => 'int', value => sub { int rand 4 }, bounds => sub { (0, 1, 2) }, full => 1, alone => 1 });

sub written { my ($name, $what) = @_; return sprintf($columns{$name}{written} // '%s', $what // $name) . '::text'; }

# Three values of the column, ascending.
sub bounds
{
	my ($name) = @_;
	my @bounds = $columns{$name}{bounds}->();

	return ref $bounds[0] ? @{ $bounds[0] } : @bounds;
}

sub tags_conditions
{
	my ($value) = @_;
	my @tags = map { $_ eq 'NULL' ? undef : $_ } split /,/, $value =~ s/[{}]//gr;

	push @tags, $tags[0] if @tags && rand() < 0.3;
	push @tags, undef if rand() < 0.1;
	@tags = reverse @tags if rand() < 0.5;
	my ($all, $part, $one) = (quoted(array(@tags)), quoted(array(@tags[ 0 .. int(@tags / 2) - 1 ])), quoted($tags[0] // 'none'));

	return ("tags = $all", "tags = $all", 'tags = ' . quoted($value), "tags @> $part", "tags && $part", "tags @> $all", "tags && $all", "$one = ANY (tags)", q{tags = '{}'}, q{tags @> '{}'},
		q{tags && '{}'}, q{tags = '{NULL}'}, q{tags @> '{NULL}'}, "NOT (tags && $part)", "NOT (tags @> '{none}')", "NOT (tags && $all)", "$one <> ALL (tags)", "tags !&& '{none}'");
}

# Conditions on one column that are true for a row with the value, mostly.
sub conditions
{
	my ($name, $value) = @_;
	my $c = $columns{$name};

	return $c->{only}->($value) if $c->{only};
	my ($low, $other, $high) = map { quoted($_) } $c->{bounds} ? bounds($name) : map { $c->{value}->(1) } 1 .. 3;
	my $v = quoted($value);
	my $of = "ARRAY[NULL, $v]::$c->{type}\[]";
	my @all = (("$name = $v") x 3, "$name IN ($v, $other)", "$name <> $v", "$name NOT IN ($v, $other)", "$name IS DISTINCT FROM $v", "$name IS NOT DISTINCT FROM $v", "coalesce($name, $v) = $v",
		"($name = $v) IS NOT FALSE", "$name = NULL", "$name = ANY ($of)", "$name <> ALL (ARRAY[$v, $other]::$c->{type}\[])", "$name <> ANY (ARRAY[$v]::$c->{type}\[])");

	push @all, "$name <= $v", "$v <= $name", "$name < $other", "$name > $other AND $name < $high", "$name BETWEEN $v AND $high", "$name BETWEEN $low AND $high", "$name > $v AND $name >= $other",
	  "$name >= $low", "$name < ANY ($of)", "$name >= ANY ($of)"
	  if $c->{bounds};
	return (@all, $c->{more} ? $c->{more}->($value) : ());
}

# ---- conditions ----

sub null_test { return "$_[0] IS " . one_of('NULL', 'NULL', 'NOT NULL'); }

# Half of all have words that are common.
my @usual = ('wa', 'wa', 'wb', 'wc & wa', 'wa | xe3', '!wa', '!wb & !wc', 'w:*', 'wa <-> wb', 'wa:A | wd', 'xe7', '!(wa & wb)', 'xe1:* & !wd', '(wa | wb) & (wc | wd)', 'nosuch',
	'wa <-> w:*', 'wc:A & w:* | w:* <2> wd', '!wa <-> (xe1:* | wb)');
my %makers = (raw => '%s::tsquery', to => q{to_tsquery('english', %s)}, phraseto => q{phraseto_tsquery('english', %s)}, plainto => q{plainto_tsquery('english', %s)},
	websearch => q{websearch_to_tsquery('english', %s)});

# A query of a form, or of any, as SQL has it.
sub text_query
{
	my ($self) = @_;
	my ($maker, $text) = rand() < 0.5 ? (raw => one_of(@usual)) : $self->{gen}->query(one_of(SkipidxGen::forms()));

	return sprintf $makers{$maker}, quoted($text);
}

sub text_condition
{
	my ($self) = @_;
	my $kind = rand;

	return 'v @@ ' . $self->text_query if $kind < 0.7;
	return 'v @@ ANY (ARRAY[' . join(', ', map { $self->text_query } 1 .. 1 + rand 3) . ', NULL])' if $kind < 0.85;
	return null_test('v');
}

sub column_condition
{
	my ($row, $name) = @_;

	return !defined $row->{$name} || rand() < 0.1 ? null_test($name) : one_of(conditions($name, $row->{$name}));
}

sub shuffled { return map { $_->[0] } sort { $a->[1] <=> $b->[1] } map { [ $_, rand ] } @_; }

# What an index is asked for something else than itself: comparisons of rows, the
# same spelled out, and disjunctions; also where the row's own value is NULL.
sub derived_condition
{
	my ($self, $row) = @_;
	my ($name) = shuffled(grep { $columns{$_}{bounds} } @{ $self->{columns} });
	my $none = (bounds($name))[1];
	my $value = quoted($row->{$name} // $none);
	my $op = one_of('<', '>');
	my $id = $row->{id} - 5 + int rand 10;

	return one_of("($name, id) $op ($value, $id)", "(id, $name) $op= ($id, $value) AND v IS NOT NULL", "($name, id, kind) $op= ($value, $id, 'm')",
		"($value, $id) $op ($name, id)", "($name $op $value OR ($name = $value AND id $op $id))",
		"($name $op $value OR (id $op= $id AND $name = $value))", "($name $op= $value OR ($value = $name AND id = $id) OR $name = $value)",
		"($name = $value OR $name = '$none')", "($name = $value OR '$none' = $name OR id = $id)",
		'(v @@ ' . $self->text_query . ' OR v @@ ' . $self->text_query . ')',
		'(v @@ ' . $self->text_query . " OR $name = $value)", "NOT ($name = $value OR $name = '$none') AND v IS NOT NULL");
}

# Arms of one or two conditions each, most of them on several columns.
sub disjunction
{
	my ($self) = @_;

	return '(' . join(' OR ', map {
			my $row = one_of(@{ $self->{rows} });
			my @names = shuffled(@{ $self->{columns} });
			my @parts = map { column_condition($row, $_) } @names[ 0 .. (rand() < 0.3 && @names > 1 ? 1 : 0) ];

			push @parts, $self->text_condition if rand() < 0.2;
			'(' . join(' AND ', map { "($_)" } @parts) . ')'
	} 1 .. 2 + int rand 3) . ')';
}

# The condition of a turn: the first ones are of one column each, if told so; the
# others of up to three, with the text in so many of them.
sub condition
{
	my ($self, $turn) = @_;
	my $row = one_of(@{ $self->{rows} });
	my @names = @{ $self->{columns} };

	return column_condition($row, $names[ $turn % @names ]) if $turn < $self->{singly} * @names;
	my @cond = rand() < $self->{bare} ? () : map { column_condition($row, $_) } grep { defined } (shuffled(@names))[ 0 .. int rand 3 ];

	unshift @cond, $self->text_condition if rand() < $self->{text};
	push @cond, $self->text_condition if rand() < 0.1;
	push @cond, $self->derived_condition($row) if rand() < $self->{derived};
	shift @cond if @cond > 1 && rand() < 0.2;
	# never alone: with arms on the text, the server has bitmaps of these
	push @cond, $self->disjunction if @cond && rand() < $self->{disjunctions};
	return @cond ? join ' AND ', @cond : one_of('true', 'v IS NOT NULL', $self->text_condition);
}

# ---- answers ----

sub provider { return join ' || ', map { qq{@."Custom Plan Provider" == "Skipidx $_"} } @_; }

my %by = (plain => '@."Node Type" == "Index Scan" && @."Index Name" starts with "docs"', bitmap => '@."Node Type" == "Bitmap Heap Scan"', ranked => provider('Scan'),
	ordered => provider('Ordered Scan'), count => provider('Count'), groups => provider('Facets', 'Columns'), columns => provider('Columns', 'Count', 'Facets'));

# Keys and places in an order, the first or all.
sub in_order
{
	my ($how, $key, $order, $more) = @_;

	return "SELECT array_agg(skx_key), array_agg(skx_place), count(*) FROM (SELECT $key AS skx_key, $how->{place} AS skx_place FROM $how->{table} WHERE $how->{cond} ORDER BY $order $more) s";
}

sub sound
{
	my ($how, $key) = @_;

	return "SELECT count(DISTINCT skx_place) FROM unnest(\$1, \$2) w(skx_key, skx_place) JOIN $how->{table} ON $how->{placed} AND $key IS NOT DISTINCT FROM skx_key WHERE $how->{cond}";
}

sub number_of { my ($what, $from) = @_; return "SELECT ARRAY[n::text], NULL::text[], n FROM (SELECT $what AS n $from) s"; }

sub listed { my ($from, $n) = @_; return "SELECT array_agg(x ORDER BY x COLLATE \"C\"), NULL::text[], " . ($n // 'count(*)') . " FROM ($from) s"; }

# Values of a column and their numbers, as text; elements of an array once a row.
sub facets_of
{
	my ($how, $name, $key) = @_;
	my $from = "FROM $how->{table} WHERE v @@ $how->{query}";

	return "SELECT '$name' AS c, NULL AS k, count(*) AS n $from AND $name IS NULL HAVING count(*) > 0 UNION ALL SELECT '$name', k, count(*) FROM $how->{table},"
	  . " LATERAL (SELECT DISTINCT k FROM unnest($name) k WHERE k IS NOT NULL) u WHERE v @@ $how->{query} GROUP BY k"
	  if ($columns{$name}{type} // '') =~ /\[/;
	return "SELECT '$name' AS c, $key AS k, count(*) AS n $from GROUP BY " . ($name eq 'lower' ? 'lower(category)' : $name);
}

# What a query has, and what it is by default, is in %how: table, index, cond, place;
# query, which is that of a function; rank and limits; by, way and tail of an order;
# slices and size.
my %answers = (
	rows => sub {
		my ($self, $how) = @_;
		my $rows = ($self->{large} ? 'SELECT ARRAY[sum(id), sum(id::int8 * id), min(id), max(id)]::text[], NULL::text[]' : "SELECT NULL::text[], array_agg($how->{place} ORDER BY $self->{by_place})")
		  . ", count(*) FROM $how->{table} WHERE $how->{cond}";

		return { oracle => $rows, tries => [ map { [ $_, $rows, 0, $by{$_} ] } @{ $how->{ways} // [ 'bitmap', 'plain' ] } ] };
	},
	ranked => sub {
		my ($self, $how) = @_;
		my $d = "v <@> $how->{rank}";
		my @limits = @{ $how->{limits} // [ 0, 1 + int rand 25 ] };

		return {
			oracle => in_order($how, "($d)::text", "$d, $self->{by_place}", min(@limits) > 0 ? 'LIMIT ' . max(@limits) : ''),
			tries => [ map { [ 'plain', in_order($how, "($d)::text", $d, $_ > 0 ? "LIMIT $_" : ''), $_, $by{ranked} ] } @limits ],
			sound => sound($how, "($d)::text"), tied => $self->{partitions} ? 0 : 1 };
	},
	ordered => sub {
		my ($self, $how) = @_;
		my $key = $how->{key} // written($how->{by});
		my $rows = in_order($how, $key, "$how->{by} $how->{way}", $how->{tail});
		my $node = $columns{ $how->{by} }{crowded} ? '' : $by{ordered};

		# of equal values any row may come; without a limit all rows do
		return { oracle => $rows, tries => [ [ 'plain', $rows, 0, $node ] ], sound => sound($how, $key), tied => 0 } unless $self->{large};
		$rows = "SELECT ARRAY[md5(string_agg(coalesce(k, ''), ',')), " . ($how->{tail} =~ /LIMIT/ ? 'NULL' : 'sum(id)::text') . '], NULL::text[], count(*)'
		  . " FROM (SELECT id, $key AS k FROM $how->{table} WHERE $how->{cond} ORDER BY $how->{by} $how->{way} $how->{tail} OFFSET 0) s";
		return { oracle => $rows, tries => [ [ 'plain', $rows, 0, $node ] ] };
	},
	count => sub {
		my ($self, $how) = @_;
		my $n = number_of('count(*)', "FROM $how->{table} WHERE $how->{cond}");

		return { oracle => $n, tries => [ [ 'index', $n, 0, $by{count} ] ] };
	},
	skipidx_count => sub {
		my ($self, $how) = @_;

		return {
			oracle => number_of('count(*)', "FROM $how->{table} WHERE v @@ $how->{query}"),
			tries => [ [ 'plain', number_of("skipidx_count('$how->{index}', $how->{query})", ''), 0, '' ] ] };
	},
	groups => sub {
		my ($self, $how) = @_;
		my $key = $how->{key} // written($how->{by});
		my $groups = listed("SELECT format('%s: %s, %s, %s', $key, count(*), count($how->{by}), count(1)) AS x, count(*) AS n"
			  . " FROM $how->{table} WHERE $how->{cond} GROUP BY $how->{by} HAVING count(*) > $how->{least}", 'sum(n)::int8');

		return { oracle => $groups, tries => [ [ $self->{partitions} || $self->{large} ? 'hashed' : 'groups', $groups, 0, $by{groups} ] ] };
	},
	facets => sub {
		my ($self, $how) = @_;
		my %key = (($self->{exprs} =~ /lower/ ? (lower => 'lower(category)') : ()), map { $_ => written($_) } @{ $self->{columns} });
		my $names = join ', ', map { "'$_'" } sort keys %key;
		my $value = join ' ', 'CASE column_name', (map { "WHEN '$_' THEN " . written($_, "value::$columns{$_}{type}") } grep { $columns{$_}{written} } @{ $self->{columns} }), "WHEN '' THEN '' ELSE value END";

		return {
			oracle => listed("SELECT format('%s %s: %s', c, coalesce(k, 'NULL'), n) AS x FROM (" . join(' UNION ALL ', map { facets_of($how, $_, $key{$_}) } sort keys %key) . ') y'),
			tries => [ [ 'plain', listed("SELECT format('%s %s: %s', column_name, coalesce($value, 'NULL'), count) AS x"
						  . " FROM skipidx_facets('$how->{index}', $how->{query}, ARRAY[$names], NULL)"), 0, '' ] ] };
	},
	top => sub {
		my ($self, $how) = @_;
		my $order = $columns{ $how->{by} }{type} eq 'text' ? 'COLLATE "C"' : '';

		return {
			oracle => "SELECT array_agg(format('%s: %s', k, n)), NULL::text[], count(*) FROM (SELECT $how->{by}::text AS k, count(*) AS n FROM $how->{table} WHERE v @@ $how->{query} GROUP BY $how->{by}"
			  . " ORDER BY 2 DESC, $how->{by} IS NULL DESC, $how->{by} $order LIMIT 3) s",
			tries => [ [ 'plain', "SELECT array_agg(format('%s: %s', value, count)), NULL::text[], 0 FROM skipidx_facets('$how->{index}', $how->{query}, '$how->{by}', 3)", 0, '' ] ] };
	},
	histogram => sub {
		my ($self, $how) = @_;
		my %seen;
		my $of = 'ARRAY[' . join(', ', map { quoted($_) } grep { !$seen{$_}++ } $how->{by} eq 'price' ? (-1.5, 0, 0.125, 3, 20) : bounds($how->{by})) . ']::' . ($columns{ $how->{by} }{type} =~ s/\(.*//r) . '[]';

		return {
			oracle => listed("SELECT format('%s: %s', coalesce(b, -1), count(*)) AS x FROM (SELECT width_bucket($how->{by}, $of) AS b FROM $how->{table} WHERE v @@ $how->{query}) y GROUP BY b"),
			tries => [ [ 'plain', listed("SELECT format('%s: %s', coalesce(bucket, -1), count) AS x FROM skipidx_histogram('$how->{index}', $how->{query}, '$how->{by}', $of) WHERE count > 0"), 0, '' ] ] };
	},
	scroll => sub {
		my ($self, $how) = @_;
		my $place = $self->{partitions} ? q{format('%s %s', tab, tid)} : "CASE tab WHEN '$how->{table}'::regclass THEN tid::text END";

		return {
			oracle => "SELECT NULL::text[], array_agg($how->{place} ORDER BY $self->{by_place}), count(*) FROM $how->{table} WHERE v @@ $how->{query}",
			tries => [ [ 'plain', "SELECT NULL::text[], array_agg($place ORDER BY tab, tid), 0"
					  . " FROM generate_series(0, $how->{slices} - 1) slice, pages('$how->{index}', $how->{query}, slice, $how->{slices}, $how->{size})", 0, '' ] ] };
	},
	columns => sub {
		my ($self, $how) = @_;
		my $rows = listed('SELECT x::text AS x FROM (' . $how->{select} . ') x');

		return { oracle => $rows, tries => [ [ 'index', $rows, 0, $by{columns} ] ] };
	});

$answers{bitmap} = sub { my ($self, $how) = @_; return $answers{rows}->($self, { %$how, ways => ['bitmap'] }); };

# Rows of %s that meet a condition, told by columns A and B alone.
my @selects = ('SELECT count(A) FROM %s', 'SELECT DISTINCT A FROM %s', 'SELECT count(*), count(A), count(DISTINCT B) FROM %s', 'SELECT A, B FROM %s',
	'SELECT A, count(*), count(B), max(B::text COLLATE "C") FROM %s GROUP BY A HAVING count(*) > 1', 'SELECT A, rank() OVER (ORDER BY A) FROM %s', "SELECT A FROM %s UNION SELECT A FROM docs WHERE v @@ 'wb'",
	'SELECT A, B, count(*) FROM %s GROUP BY GROUPING SETS ((A), (B), ())', 'SELECT count(*) FILTER (WHERE B IS NULL), min(A::text COLLATE "C") FROM %s');

# Which columns an answer can be by.
my %fits = (ordered => sub { $_[0]{bounds} }, histogram => sub { $_[0]{bounds} }, top => sub { $_[0]{top} }, groups => sub { $_[0]{type} !~ /\[/ });

# What a query of the answer has that was not told.
sub filled
{
	my ($self, $answer, %how) = @_;

	$how{table} //= 'docs';
	$how{topic} //= $how{table};
	$how{index} //= 'docs_skx';
	$how{place} = $self->{place};
	$how{placed} = $self->{partitions} ? "$how{place} = skx_place" : "$how{table}.ctid = skx_place::tid";
	$how{query} //= $self->text_query if $answer =~ /^(skipidx_count|facets|top|histogram|scroll)$/;
	$how{cond} //= $how{query} ? "v @@ $how{query}" : $self->condition($how{turn});
	# which no bitmap can be of
	$how{cond} = 'v IS NOT NULL' if $how{cond} eq 'true' && $answer =~ /rows|bitmap/;
	$how{rank} //= $self->text_query if $answer eq 'ranked';
	if ($fits{$answer} && !$how{by})
	{
		my @by = grep { $fits{$answer}->($columns{$_}) } @{ $self->{columns} };
		# rows with one value of a column need no order by it
		my @several = grep { $answer ne 'ordered' || $how{cond} !~ /\b$_ (=|IS NOT DISTINCT|IS NULL)/ } @by;

		$how{by} = one_of(@several ? @several : @by);
	}
	$how{way} //= one_of('', 'DESC', '', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST');
	$how{tail} //= one_of('', 'LIMIT 1', 'LIMIT 3', 'LIMIT 10', 'LIMIT 10', 'LIMIT 100', 'LIMIT 1000', 'LIMIT 7 OFFSET 5', 'OFFSET 20', 'LIMIT 0');
	$how{least} //= int rand 3;
	$how{slices} //= one_of(1, 2, 3, 5, 8);
	$how{size} //= one_of(1, 7, 100, 1000, 100000);
	if ($answer eq 'columns')
	{
		my ($one, $two) = shuffled(grep { $columns{$_}{alone} } @{ $self->{columns} });

		$how{select} = sprintf one_of(@selects) =~ s/\bA\b/$one/gr =~ s/\bB\b/$two/gr, "$how{table} WHERE $how{cond}";
	}
	return \%how;
}

sub sql_array { return '{' . join(',', map { '"' . s/([\\"])/\\$1/gr . '"' } @_) . '}'; }

# A line of COPY.
sub line
{
	my ($self, $answer, %told) = @_;
	my $how = $self->filled($answer, %told);
	my $q = $answers{$answer}->($self, $how);
	my @shown = $answer eq 'ordered' ? qw(by way tail) : $answer eq 'scroll' ? qw(slices size) : $answer eq 'ranked' ? 'rank' : $fits{$answer} ? 'by' : ();
	my @tries = map { my $i = $_; sql_array(map { $_->[$i] } @{ $q->{tries} }) } 1, 0, 2, 3;

	return join("\t", map { SkipidxGen::copy_field($_) } @$how{qw(topic turn)}, $answer, join(' ', $how->{select} // $how->{cond}, map { "$_ $how->{$_}" } @shown), $q->{oracle}, @tries, @$q{qw(sound tied)}) . "\n";
}

# So many turns.  In each, a query of each answer; of a list of answers, of one of them;
# of a function, what it returns: answer, how => what, ...
sub ask
{
	my ($self, $turns, @answers) = @_;
	my @lines;

	for (1 .. $turns)
	{
		push @lines, map { ref $_ eq 'CODE' ? $self->line($_->(turn => $self->{turns})) : $self->line(ref ? one_of(@$_) : $_, turn => $self->{turns}) } @answers;
		$self->{turns}++;
	}
	$self->ask_lines(@lines);
	return;
}

# Queries that are asked every time: [answer, how => what, ...].
sub ask_always { my ($self, @queries) = @_; return $self->ask_lines(map { my ($answer, %how) = @$_; $self->line($answer, turn => undef, %how) } @queries); }

sub ask_lines
{
	my ($self, @lines) = @_;

	$self->{diff}->copy_in('asked', 'topic, turn, answer, told, oracle, statements, ways, first, nodes, sound, tied', @lines);
	$self->{s}->value('ANALYZE asked');
	return;
}

# ---- the table ----

# A server with the table docs and its index docs_skx.  Options:
#   seed, conf      of the run, and of the server
#   extra           options of initdb
#   columns         names of those above; exprs: further ones of the index
#   with            storage parameters of the table
#   partitions      the table has some, of all kinds
#   own             statements that make the table and its index instead
#   large           rows are too many to be named: their sums are compared
#   hot_updates     some rows get other versions in their pages
#   singly          how many conditions on each single column come first
#   bare, text, derived, disjunctions  how likely conditions on no column, on the
#                   text, of these forms are
#   matched         the share of queries that have to match rows
#   explain         options of EXPLAIN, by which plans are looked at, if defined
#   by_index        answer => the share of its statements that is by the index but for
#                   those that find few rows, 1 by default; 0: not looked at
#   tuple_cost      cpu_tuple_cost where the planner may choose: as rows in memory are cheap
#   processes       numbers of parallel workers
sub new
{
	my ($class, $name, %opt) = @_;
	my $self = bless {
		columns => [], exprs => '', with => '', singly => 0, bare => 0.2, text => 0.65, derived => 0, disjunctions => 0.15,
		matched => 1 / 3, by_index => {}, processes => [0], turns => 0, rows => [], standbys => [], hot => 0, name => $name, %opt }, $class;

	note 'seed ' . ($self->{seed} = skx_seed($opt{seed}));
	$self->{long} = ($ENV{SKX_RANK_QUERIES} // 0) >= 1000;
	$self->{node} = skx_node($name, streaming => 1, extra => $opt{extra}, conf => "autovacuum = off\n" . ($opt{conf} // ''));
	skx_database($self->{node}, 'd');
	my $s = $self->{s} = skx_session($self->{node}, 'd');
	$self->{gen} = SkipidxGen->new(seed => $self->{seed}, vocab => 70, words => [ qw(wa wb wc wd), map { "xe$_" } 0 .. 39 ], tokens => 12);
	$self->{diff} = SkipidxDiff->new($s, columns => [ map { "$_ $columns{$_}{type}" } @{ $self->{columns} } ]);
	$self->{place} = $self->{partitions} ? q{format('%s %s', tableoid, ctid)} : 'ctid::text';
	$self->{by_place} = $self->{partitions} ? 'tableoid, ctid' : 'ctid';
	$s->value($opt{own} // ($self->{partitions} ? $self->partitioned : $self->plain));
	$s->value('CREATE FUNCTION tuple_cost() RETURNS text LANGUAGE sql AS $$ SELECT ' . quoted($opt{tuple_cost} // '0.01') . "::text \$\$; $functions");
	return $self;
}

sub plain
{
	my ($self) = @_;

	return 'CREATE TABLE docs (' . join(', ', 'id int NOT NULL', q{kind text DEFAULT 'made'}, 'v tsvector', map { "$_ $columns{$_}{type}" } @{ $self->{columns} }) . ')' . ($self->{with} ? " WITH ($self->{with})" : '') . ';'
	  . ' CREATE INDEX docs_skx ON docs USING skipidx (' . join(', ', 'v', @{ $self->{columns} }) . "$self->{exprs}) WITH (pending_limit = '1GB', block_size = '8kB')";
}

# docs1 has other column numbers, docs2 partitions of its own, docs4 no rows, docs5
# no partitions.
sub partitioned
{
	my ($self) = @_;
	my @columns = map { $_ eq 'part' ? 'part int NOT NULL' : "$_ $columns{$_}{type}" } @{ $self->{columns} };

	return 'CREATE TABLE docs (' . join(', ', 'id int NOT NULL', 'kind text', 'v tsvector', @columns) . ') PARTITION BY LIST (part);'
	  . ' CREATE TABLE docs0 PARTITION OF docs FOR VALUES IN (0);'
	  . ' CREATE TABLE docs1 (' . join(', ', 'gone int', reverse(@columns), 'other int', 'v tsvector', 'kind text', 'id int NOT NULL') . ');'
	  . ' ALTER TABLE docs1 DROP COLUMN gone, DROP COLUMN other; ALTER TABLE docs ATTACH PARTITION docs1 FOR VALUES IN (1);'
	  . ' CREATE TABLE docs2 PARTITION OF docs FOR VALUES IN (2, 3) PARTITION BY RANGE (id); CREATE TABLE docs2a PARTITION OF docs2 FOR VALUES FROM (0) TO (400);'
	  . ' CREATE TABLE docs2b PARTITION OF docs2 FOR VALUES FROM (400) TO (800); CREATE TABLE docs2c PARTITION OF docs2 DEFAULT;'
	  . ' CREATE TABLE docs4 PARTITION OF docs FOR VALUES IN (4); CREATE TABLE docs5 PARTITION OF docs FOR VALUES IN (5) PARTITION BY RANGE (id);'
	  . ' CREATE INDEX docs_skx ON docs USING skipidx (' . join(', ', 'v', @{ $self->{columns} }) . "$self->{exprs})";
}

sub node { return $_[0]{node}; }

sub session { return $_[0]{s}; }

sub reconnect
{
	my ($self) = @_;

	$self->{s} = skx_session($self->{node}, 'd');
	$self->{diff}->use_session($self->{s});
	return $self->{s};
}

sub long { my ($self, $long, $short) = @_; return $self->{long} ? $long : $short; }

sub load
{
	my ($self, $n) = @_;
	my @new = $self->{gen}->add_documents($n);
	my @lines = $self->{gen}->copy_documents($new[0]{id});

	for my $i (0 .. $#new)
	{
		my $row = { id => $new[$i]{id}, map { $_ => !$columns{$_}{full} && rand() < 0.1 ? undef : $columns{$_}{value}->($new[$i]{id}) } @{ $self->{columns} } };

		push @{ $self->{rows} }, $row;
		chomp $lines[$i];
		$lines[$i] .= join('', map { "\t" . SkipidxGen::copy_field($row->{$_}) } @{ $self->{columns} }) . "\n";
	}
	$self->{diff}->load_documents(\@lines);
	return;
}

# ---- comparing ----

# Passes if a part of the queries, one in `stride`, says the same in all ways and with
# all numbers of processes, and the index is sound.  on: another session; part, topic,
# unchecked; the others as those of new().  Returns what was done, and figures of plans.
sub differ
{
	my ($self, $what, $stride, %opt) = @_;
	my $on = $opt{on} // $self->{s};
	my $part = $opt{part} // length($what) % $stride;
	my $of = $opt{topic} // 'docs';
	my $processes = join ',', @{ $opt{processes} // $self->{processes} };
	my $explain = exists $opt{explain} ? $opt{explain} : $self->{explain};
	my $r = JSON::PP->new->decode($on->value("SELECT compared('$of', $part, $stride, '{$processes}', " . ($self->{hot} ? 'true' : 'false') . ', ' . quoted($explain) . ')'));

	ok($r->{asked} > 0 && $r->{matched} > $r->{asked} * ($opt{matched} // $self->{matched}) && !@{ $r->{wrong} },
		"$what: $r->{asked} queries, $r->{tries} statements, $r->{matched} match, $r->{rows} rows") or diag(join "\n", @{ $r->{wrong} });
	for my $answer (defined $explain ? sort keys %{ $r->{answers} } : ())
	{
		my ($tries, $by_index, $others) = @{ $r->{answers}{$answer} }{qw(tries by_index others)};
		my $share = $opt{by_index}{$answer} // $self->{by_index}{$answer} // 1;

		next unless $share;
		ok(($tries < 10 || $by_index >= $tries * min($share, 0.5)) && $others <= $tries * (1 - $share), "$what: $answer by the index, $by_index of $tries, $others others of many rows")
		  or diag(join "\n", grep { /^$answer/ } @{ $r->{other} });
	}
	is($self->{s}->raw('SELECT count(skipidx_check(i, true)::text) > 0 FROM indexes() i'), 't', "$what: skipidx_check") unless $opt{on} || $opt{unchecked};
	return $r;
}

# The same by each method of reading blocks, with nothing in our cache.
sub by_methods
{
	my ($self, $what, $stride, %opt) = @_;

	for my $method (split /,/, $self->{s}->value("LOAD 'skipidx'; SELECT string_agg(m, ',') FROM pg_settings, unnest(enumvals) m WHERE name = 'skipidx.io_method'"))
	{
		$self->{diff}->by_method(" via $method", sub { $self->{s}->value('SELECT skipidx_cache_reset()'); $self->differ("$what, $method", $stride, %opt); });
	}
	return;
}

# ---- states ----

my %states = (
	'pending' => sub { },
	'a segment' => sub { $_[0]{s}->value('SELECT tend()') },
	'several' => sub { my ($self) = @_; for (1 .. 3) { $self->{s}->value('SELECT tend()'); $self->load(150); } },
	'deleted' => sub {
		my ($self) = @_;
		my %has = map { $_ => 1 } @{ $self->{columns} };
		my @set = ($has{tenant} ? 'tenant = 1' : (), $has{tags} ? "tags = tags || '{t1}'" : (), $has{flag} ? 'flag = NOT flag' : (), $has{n} ? 'n = -n' : (), $has{day} ? 'day = day + 30 * isfinite(day)::int' : ());

		$self->{s}->value('DELETE FROM docs WHERE id % 4 = 1; UPDATE docs SET ' . join(', ', @set, "v = coalesce(v, '') || 'wz'") . ' WHERE id % 9 = 2;'
			  . ($self->{hot_updates} ? 'UPDATE docs SET kind = upper(kind) WHERE id % 5 = 3;' : '') . ($has{part} ? 'UPDATE docs SET part = (part + 1) % 4 WHERE id % 5 = 3;' : '')
			  . ' BEGIN; DELETE FROM docs WHERE id % 7 = 2; UPDATE docs SET v = NULL WHERE id % 7 = 3; ROLLBACK');
		$self->{hot} ||= $self->{hot_updates};
	},
	'vacuumed' => sub { $_[0]{s}->value('VACUUM docs') },
	'merged' => sub { $_[0]{s}->value('SELECT tend(1)') },
	'few deleted' => sub { $_[0]{s}->value('DELETE FROM docs WHERE id % 100 = 3'); $_[0]{s}->value('VACUUM (INDEX_CLEANUP ON) docs') },
	'crashed' => sub {
		my ($self) = @_;

		$self->load(200);
		$self->{s}->value('DELETE FROM docs WHERE id % 50 = 7');
		$self->{s}->close;
		$self->{node}->stop('immediate');
		$self->{node}->start;
		$self->reconnect;
	},
	'with little memory' => sub { $_[0]{s}->value("SET work_mem = '64kB'") });

# Brings the table into a state, and compares.  The name may be longer: "vacuumed again".
sub state
{
	my ($self, $name, $stride, %opt) = @_;
	my ($state) = grep { $name =~ /^\Q$_\E/ } sort { length $b <=> length $a } keys %states;

	$states{$state}->($self) if $state;
	my $r = $self->differ($name, $stride, %opt);

	$self->{s}->value('RESET work_mem');
	return $r;
}

# Rows change and are vacuumed, flushed and merged beside a snapshot that sees them
# as they were: what it compares, and what others do.
sub beside_older
{
	my ($self, $stride, %opt) = @_;
	my $old = skx_session($self->{node}, 'd');

	$old->value('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$self->load(60);
	$self->{s}->value("DELETE FROM docs WHERE id % 11 = 3; UPDATE docs SET v = coalesce(v, '') || 'wy' WHERE id % 13 = 4");
	$self->{s}->value('VACUUM docs');
	$self->{s}->value('SELECT tend(1)');
	$self->differ('an older snapshot', $stride, on => $old, explain => undef, %opt);
	$self->differ('beside an older snapshot', $stride, explain => undef, %opt);
	$old->value('COMMIT');
	$old->close;
	$self->{s}->value('VACUUM docs');
	return;
}

# A standby, and a session there.
sub standby
{
	my ($self, $conf) = @_;
	my $standby = PostgreSQL::Test::Cluster->new("$self->{name}_standby" . @{ $self->{standbys} });

	$self->{node}->backup('base') unless -d $self->{node}->backup_dir . '/base';
	$standby->init_from_backup($self->{node}, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', $conf // "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1");
	$standby->start;
	push @{ $self->{standbys} }, $standby;
	$self->caught_up;
	return skx_session($standby, 'd');
}

sub standby_gone { my ($self, $there) = @_; $there->close; (pop @{ $self->{standbys} })->stop; return; }

sub caught_up { my ($self) = @_; $self->{node}->wait_for_catchup($_, 'replay', $self->{node}->lsn('insert')) for @{ $self->{standbys} }; return; }

# For so many seconds two sessions change rows, another vacuums, flushes and merges,
# and readers compare, each time a part under one snapshot.
sub churn
{
	my ($self, $seconds, @readers) = @_;
	my $s = $self->{s};
	my $columns = join ', ', 'kind', 'v', @{ $self->{columns} };
	my @indexed = grep { /^(tenant|n|small)$/ } @{ $self->{columns} };
	my ($looks, $wrong) = (0, 0);

	$s->value('CREATE SEQUENCE ids START 10000');
	$s->value(<<"SQL");
CREATE PROCEDURE change(until timestamptz) LANGUAGE plpgsql AS \$\$
DECLARE
	n int := 0;
	a int;
BEGIN
	WHILE clock_timestamp() < until LOOP
		n := n + 1;
		a := random() * 2000;
		-- two writers of the same rows do not wait for each other
		PERFORM pg_advisory_xact_lock(b) FROM generate_series(a / 32, (a + 20) / 32) b;
		IF n % 4 = 0 THEN
			UPDATE docs SET @{[ $self->{partitions} ? 'part = (part + 1) % 4' : 'kind = lower(kind)' ]} WHERE id BETWEEN a AND a + 10;
		ELSIF n % 4 = 1 THEN
			UPDATE docs SET v = v || 'wz'@{[ map { ", $_ = $_ + 1" } @indexed ]} WHERE id BETWEEN a AND a + 10;
		ELSIF n % 4 = 2 THEN
			WITH gone AS (DELETE FROM docs WHERE id BETWEEN a AND a + 20 RETURNING id, $columns)
			INSERT INTO docs (id, $columns) SELECT * FROM gone WHERE random() < 0.97;
		ELSE
			INSERT INTO docs (id, $columns) SELECT nextval('ids'), $columns FROM docs WHERE id BETWEEN a AND a + 5;
		END IF;
		IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END \$\$;
SQL
	$self->{hot} = 1;
	$self->caught_up;
	my @writers = map { skx_session($self->{node}, 'd') } 1 .. 2;
	my $vacuum = skx_session($self->{node}, 'd');
	my $end = time + $seconds;

	$_->start("CALL change(clock_timestamp() + '$seconds s')") for @writers;
	my $tend = "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) docs;\n" x 3 . "SELECT tend() \\g /dev/null\nSELECT tend(1) \\g /dev/null\n";
	my $said = '';
	$vacuum->start($tend);
	while (time < $end || ($looks <= 10 && time < $end + 60))
	{
		$_->start('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT wrong FROM run($$docs$$, ' . int(rand 50) . ", 50, '{0}', true, NULL) WHERE wrong IS NOT NULL; COMMIT") for @readers;
		for my $what (map { $_->finish } @readers)
		{
			$looks++;
			diag($what) if $what ne '' && $wrong++ < 10;
		}
		if (defined(my $so_far = $vacuum->ready)) { $said .= $so_far; $vacuum->start($tend); }
	}
	is($_->finish, '', 'writer') for @writers;
	unlike($said . $vacuum->finish, qr/ERROR/, 'VACUUM, flush and merge');
	is($wrong, 0, "$looks looks of readers at what is changed");
	$_->close for @writers, $vacuum;
	return;
}

# ---- single statements ----

# From here on statements are answered so.
sub way { my ($self, $way, $processes) = @_; return $self->{s}->value("SELECT set_way('$way', " . ($processes // 0) . ') \g /dev/null' . "\n"); }

# A way may name processes: "index 2".
sub by { my ($self, $way, $sql) = @_; $self->way(split / /, $way); return $self->{s}->value($sql); }

# A statement by the index says what it says by the sequential scan, and its plan is
# like the first pattern, or unlike the second.
sub both
{
	my ($self, $what, $statement, $like, $unlike, $way) = @_;
	my $plan = $self->by($way // 'index', "EXPLAIN (COSTS OFF) $statement");
	my $got = $self->{s}->value($statement);

	if ($like) { like($plan, $like, "$what: by the index"); }
	elsif ($unlike) { unlike($plan, $unlike, "$what: not by the index"); }
	is($got, $self->by('seq', $statement), "$what: its rows");
	$self->way(split / /, $way // 'index');
	return $plan;
}

# The nodes of a plan, as EXPLAIN tells them.
sub nodes { my ($plan) = @_; return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] }); }

sub nodes_in { my ($self, $json) = @_; return nodes(JSON::PP->new->decode($json)->[0]{Plan}); }

sub plan_nodes { my ($self, $sql, $options) = @_; return $self->nodes_in($self->{s}->value('EXPLAIN (' . ($options // 'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF') . ", FORMAT JSON) $sql")); }

# What EXPLAIN ANALYZE tells of our scans in a statement, together.
sub told
{
	my ($self, $sql) = @_;
	my %told;

	for my $node (grep { ($_->{'Custom Plan Provider'} // '') =~ /^Skipidx/ } $self->plan_nodes($sql))
	{
		$told{$_} = ref $node->{$_} || $node->{$_} !~ /^-?[\d.]+$/ ? $node->{$_} : ($told{$_} // 0) + $node->{$_} for keys %$node;
	}
	return \%told;
}

# What a statement says, and by how much each counter of skipidx_work() and of the
# reads of the session goes up.
sub spent
{
	my ($self, $sql) = @_;
	my $counters = "SELECT to_jsonb(w) || to_jsonb(io) FROM skipidx_work() w, skipidx_io_totals() io WHERE io.scope = 'session'";
	my $before = JSON::PP->new->decode($self->{s}->value($counters));
	my $said = $self->{s}->value($sql);
	my $after = JSON::PP->new->decode($self->{s}->value($counters));

	return ($said, { map { $_ => $after->{$_} - $before->{$_} } grep { ($after->{$_} // '') =~ /^\d+$/ } keys %$after });
}

1;
