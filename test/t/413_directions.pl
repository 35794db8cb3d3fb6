# Prices of reads by direction: what they change in costs and plans, how they
# are set, and how they are measured.
#
# Holds: cost 6, 7; functions 6; plan 16, 18

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use SkipidxWork;
use Test::More;
use POSIX ();
use Time::HiRes qw(time sleep);

my $node = skx_node('directions', conf => "maintenance_work_mem = 256MB\neffective_io_concurrency = 1\n"
	  . "shared_preload_libraries = 'skipidx'");
my $s = skx_session($node, 'postgres');

# One row a block or so; up follows the table, down goes against it.
$s->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE log (id int, v tsvector, up int, down int, anywhere int, filling text) WITH (autovacuum_enabled = off);
ALTER TABLE log ALTER filling SET STORAGE PLAIN;
INSERT INTO log SELECT i, ('all w' || i % 3)::tsvector, i, -i, hashint4(i), repeat('x', 4500) FROM generate_series(1, 6000) i;
CREATE INDEX log_v ON log USING skipidx (v, up, down, anywhere);
VACUUM ANALYZE log;
SET enable_sort = off;
SQL

# What the planner charges for a scan in an order, once `set` is done.
sub plan_of
{
	my ($order, $set) = @_;
	my $text = $s->value(($set // '') . qq{; EXPLAIN (FORMAT json) SELECT * FROM log WHERE v @@ 'all' ORDER BY $order});
	my $plan = decode_json($text)->[0]{Plan};

	$s->value('RESET ALL; SET enable_sort = off');
	return $plan;
}
sub cost { return plan_of(@_)->{'Total Cost'}; }
sub near { my ($a, $b, $what) = @_; return cmp_ok(abs($a - $b), '<', $a / 1000, "$what: $a and $b"); }

my %prices = (forward => 'SET seq_page_cost', backward => 'SET skipidx.backward_read_cost', random => 'SET random_page_cost');

is(plan_of('up')->{'Custom Plan Provider'}, 'Skipidx Ordered Scan', 'the order comes from the index');
cmp_ok(cost('up DESC'), '>', 1.2 * cost('up'), 'backward costs more than forward');
near(cost('up DESC'), cost('down'), 'against the table is backward');
near(cost('up'), cost('down DESC'), 'and against that, forward');
cmp_ok(cost('anywhere'), '>', 1.2 * cost('up DESC'), 'anywhere costs most');
near(cost('anywhere'), cost('anywhere DESC'), 'whichever way');
cmp_ok(cost('up DESC', 'SET effective_io_concurrency = 0'), '>', 1.5 * cost('up DESC'), 'nothing asked for ahead: as random reads');
near(cost('up', 'SET effective_io_concurrency = 0'), cost('up'), 'forward the kernel reads ahead');

# Each price changes what is read in its order, by what it says; that of backward
# reads is a multiple of that of forward ones.
my $all = "$prices{forward} = 2; $prices{backward} = 1; $prices{random} = 2";

near(cost('up', $all), cost('up DESC', $all), 'one price, one cost');
near(cost('up', "$all; $prices{backward} = 15"), cost('up', $all), 'backward: forward stays');
near(cost('up DESC', "$all; $prices{forward} = 4; $prices{backward} = .5"), cost('up DESC', $all), 'half of what is twice as much');
my $pages = $s->value(q{SELECT relpages FROM pg_class WHERE relname = 'log'});
cmp_ok(cost('up DESC', "$all; $prices{random} = 12") - cost('up DESC', $all), '<', $pages / 10, 'random: of a few of the index');
near(cost('up DESC', "$all; $prices{backward} = 6") - cost('up DESC', $all), 10 * $pages, 'backward: of all pages');
near(cost('up', "$all; $prices{forward} = 12") - cost('up', $all), 10 * $pages, 'forward: of all pages');
cmp_ok(cost('anywhere', "$all; $prices{random} = 12") - cost('anywhere', $all), '>', 6 * $pages, 'random: of most');

# Unset, it is between the two others where rows are asked for ahead, else as random.
my $server = "$prices{forward} = 2; $prices{random} = 8";

near(cost('up DESC', $server), cost('up DESC', "$server; $prices{backward} = 2"), 'unset, it follows the others');
near(cost('up DESC', $server), cost('up DESC', "$server; $prices{backward} = -1"), 'so it does by -1');
near(cost('up DESC', "$server; SET effective_io_concurrency = 0"), cost('up DESC', "$server; $prices{backward} = 4"), 'nothing asked for ahead');

# Where backward is dear, rows are read forward and sorted.
my $sorted = plan_of('up DESC', "SET enable_sort = on; SET work_mem = '1GB'; $prices{backward} = 50");
is($sorted->{'Node Type'}, 'Sort', 'a dear backward scan: sorted');
is(plan_of('up', "SET enable_sort = on; SET work_mem = '1GB'; $prices{backward} = 50")->{'Custom Plan Provider'},
	'Skipidx Ordered Scan', 'forward: in order all the same');
like($s->raw("$prices{backward} = -2"), qr/22023/, 'no price below -1');
$s->value('RESET ALL');

# By tablespace: its own prices before those of the server; the table's, not that
# of others.
my $spare = $node->basedir . '/spare';
mkdir $spare or die "$spare: $!";
$s->value(qq{CREATE TABLESPACE "Spare one" LOCATION '$spare'; SET enable_sort = off});
my @orders = ('up', 'up DESC', 'anywhere');
my $dear = "$prices{forward} = 3; $prices{random} = 100";
my %plain = map { $_ => cost($_) } @orders;
my %dear = map { $_ => cost($_, $dear) } @orders;
my $ten = cost('up DESC', "$dear; $prices{backward} = 10");
my $set = 'SET (seq_page_cost = 3, random_page_cost = 100)';
my $reset = 'RESET (seq_page_cost, random_page_cost)';

cmp_ok($dear{$_}, '>', 2 * $plain{$_}, "by the server: $_") for @orders;
$s->value(qq{ALTER TABLESPACE "Spare one" $set});
near(cost($_), $plain{$_}, "of another tablespace: $_") for @orders;
$s->value(qq{ALTER TABLESPACE "Spare one" $reset; ALTER TABLESPACE pg_default $set});
near(cost($_), $dear{$_}, "by tablespace: $_") for @orders;
near(cost($_, "$prices{forward} = 1; $prices{random} = 1"), $dear{$_}, "before the server's: $_") for @orders;
near(cost('up DESC', "$prices{backward} = 10"), $ten, 'backward: a multiple of its forward price');
$s->value(qq{ALTER TABLE log SET TABLESPACE "Spare one"});
cmp_ok(cost('up'), '<', 1.1 * $plain{up}, 'that of the table, not of its index');
$s->value('ALTER TABLE log SET TABLESPACE pg_default');
$s->value(qq{ALTER TABLESPACE pg_default $reset});
near(cost($_), $plain{$_}, "as it was: $_") for @orders;
$s->value('RESET ALL');

# ---- EXPLAIN ----

my $told = $s->value(q{EXPLAIN (ANALYZE, VERBOSE, FORMAT json) SELECT id FROM log WHERE v @@ 'w1' ORDER BY up DESC LIMIT 5});
for my $name ('Read Method', 'Read Depth', 'Index Blocks Read', 'Index Cache Hits', 'Rounds of Reads', 'Nodes', 'Sub-blocks Decoded',
	'Position Blocks Decoded')
{
	like($told, qr/"$name": /, "EXPLAIN tells: $name");
}
my ($subblocks) = $told =~ /"Sub-blocks Decoded": (\d+)/;
work_is('five rows: sub-blocks', $subblocks);
unlike($s->value(q{EXPLAIN (ANALYZE, FORMAT json) SELECT id FROM log WHERE v @@ 'w1' ORDER BY up DESC LIMIT 5}), qr/Sub-blocks/,
	'not without VERBOSE');

# What the nodes of a plan tell, and whatever is below them, by name; none twice.
sub told_by
{
	my ($query, $options) = @_;
	my $plan = decode_json($s->value("EXPLAIN (VERBOSE, FORMAT json, " . ($options // 'ANALYZE, TIMING OFF') . ") $query"))->[0]{Plan};
	my %told;

	while (defined $plan)
	{
		my $below = ($plan->{Plans} // [])->[-1];

		ok(!exists $told{Nodes} || !exists $plan->{Nodes}, "told once: $query");
		%told = (%told, map { $_ => $plan->{$_} } grep { /^(Rows Asked|Estimated Blocks|Index |Nodes|Sub-|Workers L|Custom)/ } keys %$plan);
		$plan = $below;
	}
	return \%told;
}

# 200,000 rows with lists of many nodes: blocks of 8 kB, and words at random.
$s->value(<<'SQL');
CREATE TABLE lists (id int, kind int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO lists SELECT i, i % 7, array_to_tsvector(ARRAY['all'] || CASE WHEN i % 50000 = 777 THEN '{rare}'::text[] ELSE '{}' END
	|| CASE WHEN i < 150000 AND hashint4(i) & 2 = 0 THEN '{early}'::text[] ELSE '{}' END || CASE WHEN i = 199999 THEN '{late}'::text[] ELSE '{}' END
	|| CASE WHEN hashint4(i) & 1 = 0 THEN '{half}'::text[] ELSE '{}' END
	|| CASE WHEN hashint4(i + 5000000) % 3 = 0 THEN '{third}'::text[] ELSE '{}' END)
FROM generate_series(1, 200000) i;
CREATE INDEX lists_v ON lists USING skipidx (v, id, kind) WITH (block_size = '8kB');
VACUUM ANALYZE lists;
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_hashagg = off;
SQL
my %forms = (count => ['Count', 'SELECT count(*) FROM lists WHERE %s'],
	facets => ['Facets', 'SELECT kind, count(*) FROM lists WHERE %s GROUP BY kind'],
	ordered => ['Ordered Scan', 'SELECT id FROM lists WHERE %s ORDER BY id LIMIT 5'],
	ranked => ['Scan', q{SELECT id FROM lists WHERE %s ORDER BY v <@> 'half' LIMIT 5}]);

my %decoded;

for my $form (sort keys %forms)
{
	my ($name, $query) = @{ $forms{$form} };
	my %by;

	for my $words ('half & third', 'rare & half')
	{
		my $of = sprintf $query, "v @@ '$words'";
		my $found = told_by($of);
		my $planned = told_by($of, 'COSTS OFF');

		is($found->{'Custom Plan Provider'}, "Skipidx $name", "$form: $words");
		work_is('told: sub-blocks', $found->{'Sub-blocks Decoded'}, in => "$form, $words");
		work_is('told: nodes', $found->{Nodes}, in => "$form, $words");
		work_is('told: blocks', $found->{'Index Blocks Read'} + $found->{'Index Cache Hits'}, in => "$form, $words");
		is($planned->{'Estimated Blocks'}, $found->{'Estimated Blocks'}, 'an estimate, whether it is run or not');
		ok(!exists $planned->{Nodes}, 'what is not run has read nothing');
		is($planned->{'Rows Asked'}, $found->{'Rows Asked'}, 'and rows');
		$by{$words} = $found;
	}
	$decoded{$form} = $by{'half & third'}{'Sub-blocks Decoded'};
	work_is('a rare word: nodes skipped', $by{'rare & half'}{'Nodes Skipped'}, in => $form);
	work_is('a rare word: nodes skipped, more than by a common one', $by{'rare & half'}{'Nodes Skipped'}, in => $form, common => $by{'half & third'}{'Nodes Skipped'});
	cmp_ok($by{'half & third'}{'Estimated Blocks'}, '>', $by{'rare & half'}{'Estimated Blocks'}, 'and more expected of that') if $form =~ /count|facets/;
	cmp_ok($by{'rare & half'}{'Estimated Blocks'}, '>', 0, 'some are expected');
	cmp_ok($by{'half & third'}{'Estimated Blocks'}, '<=', $s->value(q{SELECT pg_relation_size('lists_v') / 8192}), 'not more than there are');
}

work_is('lists of values beside those of words: sub-blocks', $decoded{facets}, count => $decoded{count});
my $passed = told_by(q{SELECT count(*) FROM lists WHERE v @@ 'late & early'});
work_is('the rest of a list that ends before: nodes skipped', $passed->{'Nodes Skipped'});
work_is('a list that ends before: nodes', $passed->{Nodes});

# Rows asked for: the limit, the offset, one more where ties of it are to be seen, and those that a filter takes
my $newest = q{SELECT id FROM lists WHERE v @@ 'half' ORDER BY id DESC};
my $best = q{SELECT id FROM lists WHERE v @@ 'half' ORDER BY v <@> 'half'};

for my $query ($newest, $best)
{
	is(told_by("$query LIMIT 5")->{'Rows Asked'}, 5, "LIMIT: $query");
	is(told_by("$query LIMIT 5 OFFSET 3")->{'Rows Asked'}, 8, 'and OFFSET');
	is(told_by("$query LIMIT 5 OFFSET 3", 'COSTS OFF')->{'Rows Asked'}, 8, 'not run');
	is(told_by("$query FETCH FIRST 5 ROWS WITH TIES")->{'Rows Asked'}, 6, 'with ties');
	is(told_by("$query LIMIT (SELECT 4)")->{'Rows Asked'}, 4, 'a value of a subquery');
	is(told_by("$query LIMIT (SELECT 4)", 'COSTS OFF')->{'Rows Asked'}, undef, 'which is not known before');
}
like($s->value("EXPLAIN $newest LIMIT 5"), qr/Order: id DESC NULLS FIRST/, 'the direction is told');
unlike($s->value("EXPLAIN $newest LIMIT 5"), qr/Rows Asked|Estimated Blocks/, 'the rest not without VERBOSE');

# By several processes, of which the leader is none
$s->value('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0;'
	  . 'SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off; SET min_parallel_table_scan_size = 0; SET enable_hashagg = on');
for my $form (qw(count facets ranked))
{
	my $of = sprintf $forms{$form}[1], q{v @@ 'half & third'};
	my $found = told_by($of);

	cmp_ok($found->{'Workers Launched'}, '>', 0, "$form: workers");
	work_is('several processes: sub-blocks', $found->{'Sub-blocks Decoded'}, in => $form);
	work_is('several processes: blocks', $found->{'Index Cache Hits'} + $found->{'Index Blocks Read'}, in => $form);
}
$s->value('RESET ALL');

# ---- calibration ----

sub left { return scalar(glob($node->data_dir . '/base/pgsql_tmp/*') // ()) // 0; }

my $small = 'megabytes => 5, seconds => .02';
my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, $s->value("SELECT * FROM skipidx_calibrate($small)");
my %times = map { ("$_->[0] $_->[1] $_->[2]" => $_->[3]) } @rows;

cmp_ok($times{"$_ page cache 16"}, '>', 0, "$_ through the page cache") for qw(forward backward random skipping);
cmp_ok($times{"$_ page cache 1"}, '>', 0, "$_ one by one") for qw(forward backward random skipping);
cmp_ok($times{'forward cached 1'}, '>', 0, 'from memory');
my %price = map { ($_->[0] => $_->[4]) } grep { $_->[4] ne '' } @rows;
is(join(' ', sort keys %price), 'backward forward random', 'prices of three');
is($price{forward}, 1, 'forward is the unit');
cmp_ok($price{backward}, '>=', 1, 'backward is no cheaper');
cmp_ok($price{random}, '>=', $price{backward}, 'nor is random');
my @commands = map { $_->[5] } grep { $_->[5] ne '' } @rows;
is(join('; ', @commands), "ALTER SYSTEM SET skipidx.backward_read_cost = $price{backward}; ALTER SYSTEM SET random_page_cost = $price{random}",
	'what sets the prices');
$s->value($_) for @commands;
$s->value('SELECT pg_reload_conf(), pg_sleep(.2)');
is($s->value('SHOW skipidx.backward_read_cost'), $price{backward}, 'backward installed');
is($s->value('SHOW random_page_cost'), $price{random}, 'random installed');
is(left(), 0, 'no file is left');
$s->value($_) for 'ALTER SYSTEM RESET skipidx.backward_read_cost', 'ALTER SYSTEM RESET random_page_cost', 'SELECT pg_reload_conf()';

# Pattern, price and command of a tablespace, by pattern.
sub priced
{
	my ($arguments) = @_;
	my $rows = $s->value("SELECT pattern, price, command FROM skipidx_calibrate($arguments) WHERE price IS NOT NULL");

	return map { my @row = split /\|/, $_, -1; ($row[0] => \@row) } split /\n/, $rows;
}

# A tablespace has its own price of random reads; all prices are multiples of its
# price of forward ones.
for my $unit (1, 2)
{
	$s->value(qq{ALTER TABLESPACE "Spare one" SET (seq_page_cost = $unit)});
	my %named = priced("'Spare one', $small");
	my $ratio = $named{backward}[2] =~ /^ALTER SYSTEM SET skipidx\.backward_read_cost = ([\d.]+)$/ ? $1 : 'none';

	is($named{forward}[1], $unit, "forward: $unit");
	is($named{forward}[2], '', 'which is set');
	cmp_ok($ratio, '>=', 1, 'backward: a multiple');
	is($named{backward}[1], $unit * $ratio, 'of it');
	is($named{random}[2], qq{ALTER TABLESPACE "Spare one" SET (random_page_cost = $named{random}[1])}, 'random: that of the tablespace');
	$s->value($named{random}[2]);
	like($s->value(q{SELECT spcoptions FROM pg_tablespace WHERE spcname = 'Spare one'}), qr/random_page_cost=$named{random}[1]\}/, 'which can be set');
}

# The server's setting would not change that of a tablespace that has its own.
like({ priced("'pg_default', $small") }->{random}[2], qr/^ALTER SYSTEM SET random_page_cost = [\d.]+$/, 'named: the setting of the server');
$s->value('ALTER TABLESPACE pg_default SET (seq_page_cost = 1)');
like({ priced($small) }->{random}[2], qr/^ALTER SYSTEM SET random_page_cost = [\d.]+$/, 'another option of it');
$s->value('ALTER TABLESPACE pg_default SET (random_page_cost = 4)');
like({ priced($small) }->{random}[2], qr/^ALTER TABLESPACE pg_default SET \(random_page_cost = [\d.]+\)$/, 'its own price');
$s->value('ALTER TABLESPACE pg_default RESET (seq_page_cost, random_page_cost)');

# A signal ends no read, and no server.
my $backend = $s->value('SELECT pg_backend_pid()');
my $sender = fork;

if ($sender == 0)
{
	for (1 .. 20000)
	{
		kill 'HUP', $backend;
		sleep 0.0005;
	}
	POSIX::_exit(0);
}
is($s->value('SELECT count(*) FROM skipidx_calibrate(seconds => .2, megabytes => 64)'), scalar(@rows), 'among signals');
kill 'KILL', $sender;
waitpid $sender, 0;
is($s->value('SELECT pg_backend_pid()'), $backend, 'the server goes on');

# What is cancelled or fails leaves no file.
my $watch = $s->watch;
like($s->raw(q{SET statement_timeout = '500ms'; SELECT count(*) FROM skipidx_calibrate(seconds => 60, megabytes => 64)}), qr/57014/, 'cancelled');
cmp_ok($watch->(), '<', 1.5, 'at once');
is(left(), 0, 'no file is left');
$s->value('RESET ALL');
like($s->raw(q{SET temp_file_limit = '4MB'; SELECT count(*) FROM skipidx_calibrate(seconds => .01, megabytes => 64)}), qr/53400/, 'temp_file_limit');
is(left(), 0, 'no file is left');
$s->value('RESET ALL');
like($s->raw("SELECT * FROM skipidx_calibrate($_->[0])"), qr/$_->[1]/, "refused: $_->[0]")
  for [ 'cached => 1.5', 22003 ], [ q{cached => 'nan'}, 22003 ], [ 'megabytes => 1', 22003 ], [ 'seconds => 0', 22003 ],
  [ 'megabytes => NULL', 22004 ], [ q{'nowhere'}, 42704 ];
is($s->value('CREATE ROLE guest; SELECT 1'), 1, 'a role');
like($s->raw("SET ROLE guest; SELECT * FROM skipidx_calibrate($small)"), qr/42501/, 'not for everybody');
$s->value('RESET ROLE');

# Temporary files of the transaction go on where they went before.
is($s->value("BEGIN; SELECT count(*) > 0 FROM skipidx_calibrate('Spare one', $small); SET work_mem = '64kB';"
	  . "SELECT count(*) FROM (SELECT i FROM generate_series(1, 100000) i ORDER BY -i) x; COMMIT"), "t\n100000", 'other files after it');
$s->close;
$node->stop;
work_done();
