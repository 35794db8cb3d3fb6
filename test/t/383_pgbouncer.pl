# Behind pgbouncer in transaction mode: each transaction of a client is run by
# any of a few server processes, which serve other clients in between.  Answers
# are those of a connection of one's own: of pages by tokens, of settings of a
# transaction, of cursors, under policies that depend on these, and of statements
# that are prepared by messages, where pgbouncer knows them.
#
# Holds: functions 7, 9, 19; plan 37

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxClient;
use SkipidxTest qw(skx_node skx_session skx_until skx_seed);
use Test::More;

$ENV{PATH} .= ':/usr/sbin';
my ($version) = (eval { `pgbouncer --version 2>/dev/null` } // '') =~ /PgBouncer (\d+\.\d+)/;
plan skip_all => 'pgbouncer is not installed' unless defined $version;
my $knows_prepared = $version =~ s/^1\.//r >= 21;

my $seed = skx_seed(383);
srand($seed);
my $node = skx_node('pooled', conf => "skipidx.max_workers = 0\nskipidx.cache_size = 16MB\nsession_preload_libraries = 'skipidx'");
my $direct = skx_session($node, 'postgres');
my $user = $direct->value('SELECT current_user');

$direct->value(<<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int PRIMARY KEY, tenant int NOT NULL, sent timestamptz NOT NULL, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, i % 8, timestamptz '2026-01-01 00:00+00' + interval '1 minute' * i, ('all:1 h' || i % 2 || ':2 t' || i % 11 || ':' || 3 + i % 90 || ' n' || i || ':200')::tsvector FROM generate_series(1, 8000) i;
CREATE INDEX docs_v ON docs USING skipidx (v, tenant, sent);
VACUUM ANALYZE docs;
CREATE ROLE app;
GRANT SELECT ON docs TO app;
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON docs TO app USING (tenant = current_setting('app.tenant')::int);
CREATE FUNCTION own_ranking(query tsquery) RETURNS skipidx_ranking LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
	RETURN skipidx_ranking('docs_v', query, 'tenant', current_setting('app.tenant'));
SQL

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = $node->port;
my $pool = 4;
append_to_file("$dir/pgbouncer.ini", <<"INI");
[databases]
postgres = host=@{[ $node->host ]} port=$port dbname=postgres user=$user
[pgbouncer]
listen_port = $port
unix_socket_dir = $dir
auth_type = any
pool_mode = transaction
default_pool_size = $pool
max_client_conn = 100
logfile = $dir/log
pidfile = $dir/pid
INI
append_to_file("$dir/pgbouncer.ini", "max_prepared_statements = 50\n") if $knows_prepared;
system_or_bail('pgbouncer', '-d', '-q', "$dir/pgbouncer.ini");
skx_until('pgbouncer', sub { -s "$dir/pid" && -S "$dir/.s.PGSQL.$port" });
my $pid = slurp_file("$dir/pid") + 0;
END { kill 'TERM', $pid if $pid; }

sub client { return SkipidxClient->new($dir, $port, $user, 'postgres'); }

# The same rows by sequential scans of a connection of one's own; ids alone.
sub right
{
	my ($sql, $tenant) = @_;

	$direct->value(defined $tenant ? "SET app.tenant = $tenant; SET ROLE app" : 'RESET ROLE');
	$direct->value('SET enable_indexscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off');
	my $rows = $direct->value($sql);
	$direct->value('RESET ROLE; RESET ALL');
	return $rows;
}

# ---- pages over several server processes ----

# Other clients keep the process that served the last page, each in a transaction
# of its own, so that the next page is of another one.
for my $kind (
	[ search => "skipidx_search('docs_v', 't3 | h1', 150, after => NULLIF(\$1, '')::bytea)", "v @@ 't3 | h1'" ],
	[ scroll => "skipidx_scroll('docs_v', 'h1 & t5', max_rows => 60, after => NULLIF(\$1, '')::bytea)", "v @@ 'h1 & t5'" ])
{
	my ($name, $call, $matches) = @$kind;
	my $c = client();
	my @blockers = map { client() } 1 .. $pool - 1;
	my ($token, %processes, @ids) = ('');

	for my $page (0 .. 200)
	{
		my @rows = map { [ split /\|/ ] } split /\n/, $c->ask("SELECT d.id, s.token, pg_backend_pid() FROM $call s JOIN docs d USING (ctid) ORDER BY s.token" =~ s/USING \(ctid\)/ON d.ctid = s.ctid/r, $token);

		last if @rows == 0;
		push @ids, map { $_->[0] } @rows;
		($token, my $process) = @{ $rows[-1] }[ 1, 2 ];
		$processes{$process}++;
		$blockers[$page]->query('BEGIN; SELECT 1') if $page < @blockers;
		if ($page == @blockers) { $_->query('COMMIT') for @blockers; }
		# what is written between two pages is not of them: its words are others
		$direct->value("INSERT INTO docs VALUES (100000 + (SELECT max(id) FROM docs), 1, now(), 'all:1 other:2')");
		$direct->value("SELECT skipidx_flush('docs_v')") if $page == 1;
	}
	cmp_ok(scalar(keys %processes), '>=', 3, "$name: pages of several processes");
	is(join(',', sort { $a <=> $b } @ids), right("SELECT string_agg(id::text, ',' ORDER BY id) FROM docs WHERE $matches"), "$name: each row once");
	$_->close for $c, @blockers;
}

# ---- many clients that take turns ----

# Each has its tenant for a transaction; kinds of plans beside each other.
my @statements = (
	[ "SELECT count(*) FROM docs WHERE v @@ 't3'", "SELECT count(*) FROM docs WHERE v @@ 't3'" ],
	[ "SELECT string_agg(id::text, ',') FROM (SELECT id FROM docs WHERE v @@ 't4' ORDER BY sent DESC LIMIT 12) x", undef ],
	[ "SELECT string_agg(id || ' ' || d, ',') FROM (SELECT id, v <@> r AS d FROM docs, (SELECT own_ranking('t5 | h1') OFFSET 0) x (r) WHERE v @@ 't5 | h1' ORDER BY v <@> r, id LIMIT 12) x", undef ],
	[ "SELECT string_agg(tenant || ' ' || n, ',') FROM (SELECT tenant, count(*) AS n FROM docs WHERE v @@ 'h1 | t2' GROUP BY tenant) x", undef ]);
my @clients = map { client() } 1 .. 12;
my %right;

for my $round (1 .. 20)
{
	my @tenants = map { int(rand(8)) } @clients;
	my @order = sort { rand() <=> .5 } 0 .. $#clients;

	# at most as many are within a transaction at a time as there are processes
	while (my @group = splice @order, 0, $pool)
	{
		$clients[$_]->query("BEGIN; SET LOCAL app.tenant = $tenants[$_]; SET LOCAL skipidx.index_under_policy = " . ($_ % 2 ? 'on' : 'off')
			  . '; SET LOCAL enable_seqscan = off; SET LOCAL ROLE app') for @group;
		for my $i (sort { rand() <=> .5 } @group, @group)
		{
			my ($sql) = @{ $statements[ rand @statements ] };
			my $got = rand() < .5 ? $clients[$i]->query($sql) : $clients[$i]->ask($sql);

			$right{"$sql $tenants[$i]"} //= right($sql, $tenants[$i]);
			next if $got eq $right{"$sql $tenants[$i]"};
			is($got, $right{"$sql $tenants[$i]"}, "round $round, tenant $tenants[$i]: $sql");
		}
		$clients[$_]->query(rand() < .3 ? 'ROLLBACK' : 'COMMIT') for @group;
	}
	is($clients[0]->query("SELECT current_setting('skipidx.index_under_policy'), current_setting('enable_seqscan'), current_setting('app.tenant', true), current_user = session_user"), 'off|on||t', "round $round: nothing is left of a transaction");
}
cmp_ok(scalar(keys %right), '>=', 25, 'answers that were compared');
my $processes = $direct->value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
cmp_ok($processes, '<=', $pool + 1, 'by few processes');

# ---- cursors ----

my ($c, $other) = @clients;
my $best = "SELECT id FROM docs WHERE v @@ 't3 | t7' ORDER BY v <@> 't3 | t7', id";
my $ordered = "SELECT id FROM docs WHERE v @@ 'h0' ORDER BY sent DESC";

$c->query("BEGIN; SET LOCAL enable_seqscan = off; DECLARE a CURSOR FOR $best; DECLARE b CURSOR FOR $ordered");
my (@a, @b);
for (1 .. 40)
{
	push @a, split /\n/, $c->query('FETCH 30 FROM a');
	$other->query("SELECT count(*) FROM docs WHERE v @@ 'h1'");
	push @b, split /\n/, $c->query('FETCH 45 FROM b');
}
$c->query('COMMIT');
$direct->value('SET enable_indexscan = on');
is(join("\n", @a), join("\n", (split /\n/, $direct->value($best))[ 0 .. $#a ]), 'a ranked cursor');
is(join("\n", @b), join("\n", (split /\n/, right($ordered))[ 0 .. $#b ]), 'an ordered cursor');
cmp_ok(scalar(@a), '>=', 1000, 'rows of a cursor');

# ---- statements prepared by messages ----

SKIP:
{
	skip "pgbouncer $version does not know statements prepared by messages, from 1.21 on it does", 4 unless $knows_prepared;
	my @prepared = map { client() } 1 .. 8;
	my %statements = (
		count => 'SELECT count(*) FROM docs WHERE v @@ $1::tsquery AND tenant = $2::int',
		best => "SELECT string_agg(id::text, ',') FROM (SELECT id FROM docs WHERE v @@ \$1::tsquery AND tenant = \$2::int ORDER BY v <@> \$1::tsquery, id LIMIT 9) x",
		newest => "SELECT string_agg(id::text, ',') FROM (SELECT id FROM docs WHERE v @@ \$1::tsquery AND tenant = \$2::int ORDER BY sent DESC LIMIT 9) x");

	for my $i (0 .. $#prepared)
	{
		$prepared[$i]->prepare("s_$_", $statements{$_}) for keys %statements;
	}
	for my $name (sort keys %statements)
	{
		my $wrong = 0;

		for (1 .. 60)
		{
			my ($q, $tenant) = ('t' . int(rand(11)), int(rand(8)));

			my $got = $prepared[ rand @prepared ]->execute("s_$name", $q, $tenant);
			my $sql = $statements{$name} =~ s/\$1/'$q'/gr =~ s/\$2/$tenant/gr;

			# ranks by a sort need the index's statistics all the same
			my $right = $name eq 'best' ? $direct->value($sql) : right($sql);
			$wrong++ if $got ne $right;
		}
		is($wrong, 0, "prepared: $name");
	}
	cmp_ok($direct->value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"), '<=', $pool + 1, 'by few processes');
	$_->close for @prepared;
}

$_->close for @clients;
$direct->close;
kill 'TERM', $pid;
skx_until('the end of pgbouncer', sub { !kill 0, $pid });
$pid = 0;
$node->stop;
done_testing();
