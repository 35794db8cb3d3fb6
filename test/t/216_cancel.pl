# How soon a query that reads cold is told to stop: cancelled, or out of time,
# at any moment, by every method, with nothing in our cache, in shared buffers
# or in the page cache.
#
# Holds: blkio 10

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session skx_seed skx_relation_file skx_median);
use Test::More;
use Time::HiRes qw(time);

# Of each kind, and the middle one of so many counts, in ms; the least of so many
# series, as the machine may have been busy.
use constant TIMES => 11;
use constant SERIES => 4;
use constant SOON => 10;

my $seed = skx_seed(216);

note "seed $seed";
srand($seed);

# Neither cache holds more than a part of the index.
my $node = skx_node('cancel', faults => 1, conf => "skipidx.cache_size = 1MB\nshared_buffers = 2MB\nwork_mem = 16MB");

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION skipidx;
CREATE TABLE docs (id int, v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT i, (SELECT string_agg(substr(md5(i || ' ' || k), 1, 4 + k % 3) || ':' || k * 2, ' ')
		FROM generate_series(1, 12) k)::tsvector || ('all:1,3,5,7 r' || i || ':2')::tsvector
	FROM generate_series(1, 40000) i;
CREATE INDEX docs_v ON docs USING skipidx (v) WITH (block_size = '8kB');
VACUUM ANALYZE docs;
CHECKPOINT;
-- Many lists, each elsewhere, and some that are read from end to end, until it
-- is told to stop.
CREATE VIEW endless AS SELECT sum(n) FROM generate_series(1, 3000) i,
	LATERAL (SELECT (CASE WHEN i % 2 = 0 THEN (ARRAY['(a:* | b:* | 1:* | 2:*) <-> all', 'all & !b:* & !c:* & !d:* & !3:*', '(f:* | 7:* | 0:*) & (e:* | 5:* | 4:*)'])[i / 2 % 3 + 1]::tsquery
		ELSE (SELECT string_agg('r' || (hashint8(i * 1000 + k) & 32767), ' | ') FROM generate_series(1, 300) k)::tsquery END) AS q OFFSET 0) y,
	LATERAL (SELECT count(*) AS n FROM docs WHERE v @@ q OFFSET 0) x;
SQL

my $file = skx_relation_file($node, 'postgres', 'docs_v');
my $size = -s $file;

# What is not on the device cannot be dropped from the page cache, and what
# the test drops comes back with the next read, so it goes on dropping.
system('sync', $file) == 0 or die "sync: $?";
my $dropper = fork // die "fork: $!";

if ($dropper == 0)
{
	exec 'sh', '-c', 'while kill -0 $PPID 2>/dev/null; do dd if="$1" iflag=nocache count=0 status=none; sleep 0.02; done', 'sh', $file;
}

END
{
	local $?;
	kill 'TERM', $dropper if $dropper;
}

sub figures
{
	my @sorted = sort { $a <=> $b } @_;

	return sprintf '%.1f (%.1f to %.1f)', skx_median(@_), @sorted[ 0, -1 ];
}

sub told_to_stop
{
	my ($said) = @_;

	return $said =~ /ERROR:  57014/ ? 1 : diag(substr $said, 0, 300);
}

# Cancels a statement; ms until it has said so.
my $watch = skx_session($node, 'postgres');

sub cancel
{
	my ($s, $sql, $bad) = @_;
	my ($said, $ms) = $s->start_and_cancel($watch, $sql, 0.1);

	$$bad++ unless told_to_stop($said);
	return $ms;
}

# Lets its time run out; ms that it takes longer.
sub time_out
{
	my ($s, $sql, $bad) = @_;
	my $most = 10 + int rand 100;

	$s->value("SET statement_timeout = $most");
	my $from = time;
	my $said = $s->raw($sql);
	my $ms = 1000 * (time - $from) - $most;

	$$bad++ unless told_to_stop($said);
	$s->value('RESET statement_timeout');
	return $ms;
}

# Bytes that a process had fetched from devices.
sub fetched
{
	my ($s) = @_;
	my ($bytes) = slurp_file('/proc/' . $s->backend . '/io') =~ /^read_bytes: (\d+)/m;

	return $bytes;
}

sub pages
{
	my ($s, $method) = @_;

	return $s->value("SELECT pages_read FROM skipidx_io_methods() WHERE scope = 'session' AND method = '$method'");
}

# The same of a loop that reads nothing.  What that takes is the time of the
# signal, of psql, and on a busy machine of whatever else is running; if it is
# more than a quiet machine needs, it is allowed for.
sub allowance
{
	my ($control) = @_;

	return $control > 2 ? $control : 0;
}

# Is what was measured of a kind sooner than allowed?
sub soon
{
	my ($ms, $kind) = @_;

	return skx_median(@{ $ms->{$kind} }) < SOON + allowance(skx_median(@{ $ms->{"$kind, control"} }));
}

my @methods = grep { $_ ne 'auto' } split /,/, $node->safe_psql('postgres',
	"LOAD 'skipidx'; SELECT array_to_string(enumvals, ',') FROM pg_settings WHERE name = 'skipidx.io_method'");
my $on_tmpfs = `stat -f -c %T '$file'` =~ /tmpfs/;

for my $method (@methods)
{
	my $s = skx_session($node, 'postgres');
	my $loop = 'DO $$BEGIN LOOP NULL; END LOOP; END$$';
	my $bad = 0;
	my %ms;

	$s->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off; SET enable_indexscan = off");
	my ($pages, $bytes) = (pages($s, $method), fetched($s));

	for my $series (1 .. SERIES)
	{
		%ms = ();
		for (1 .. TIMES)
		{
			push @{ $ms{cancel} }, cancel($s, 'TABLE endless', \$bad);
			push @{ $ms{'cancel, control'} }, cancel($s, $loop, \$bad);
			push @{ $ms{timeout} }, time_out($s, 'TABLE endless', \$bad);
			push @{ $ms{'timeout, control'} }, time_out($s, $loop, \$bad);
		}
		note "$method: $_, ms: ", figures(@{ $ms{$_} }) for sort keys %ms;
		last if soon(\%ms, 'cancel') && soon(\%ms, 'timeout');
	}
	$pages = pages($s, $method) - $pages;
	$bytes = fetched($s) - $bytes;
	note "$method: $pages pages, ", int($bytes / 1024), ' kB from the device';
	is($bad, 0, "$method: all are told to stop");
	cmp_ok($pages, '>', 20 * TIMES, "$method: they read");
	cmp_ok($bytes, '>', TIMES * 100_000, "$method: from the device") unless $on_tmpfs;
	ok(soon(\%ms, $_), "$method: $_ is heard soon: " . figures(@{ $ms{$_} })) for qw(cancel timeout);
	is($s->value("SELECT pinned || ' ' || reads_under_way || ' ' || reads_queued FROM skipidx_cache()"),
		'0 0 0', "$method: nothing stays behind");
	$s->close;
}

# A device that takes 5 ms for each read, one after the other.  Memory that the
# kernel reads into must be kept until it has done so: the end of a query waits
# for the reads that it has under way.
for my $method (grep { $_ ne 'shared_buffers' } @methods)
{
	my $s = skx_session($node, 'postgres');
	my $bad = 0;
	my $limit = SOON + ($method =~ /uring/ ? 4 * 5 : 0);
	my @ms;

	$s->value("LOAD 'skipidx'; SET skipidx.io_method = $method; SET enable_seqscan = off; SET enable_indexscan = off;"
		  . " SET skipidx.io_depth = 4; SET skipidx.fault_read = 'slow:1:1000000'");
	for my $series (1 .. SERIES)
	{
		@ms = map { cancel($s, "SELECT count(*) FROM docs WHERE v @@ '!b:* & !c:* & !d:*'", \$bad) } 1 .. TIMES;
		note "$method, slow: cancel, ms: ", figures(@ms);
		last if skx_median(@ms) < $limit;
	}
	is($bad, 0, "$method, slow: all are told to stop");
	cmp_ok(skx_median(@ms), '<', $limit, "$method, slow: cancel is heard soon");
	$s->close;
}

$watch->close;
cmp_ok($size, '>', 4 * 1024 * 1024, 'no cache held the index');
$node->stop;
done_testing();
