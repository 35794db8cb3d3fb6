# What a collector must not do: in a build with assertions each of it ends in an
# assertion of exec/, at the one place where the collector is called.  The
# collector of test/module/skipidx_collect.c does one such thing at a time.
#
# Holds: exec 8

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_recovered skx_module);
use Test::More;

my $node = skx_node('contract', conf => 'skipidx.max_workers = 0');

plan skip_all => 'a server without assertions' if $node->safe_psql('postgres', 'SHOW debug_assertions') ne 'on';

$node->safe_psql('postgres', <<'SQL' . "CREATE FUNCTION skipidx_collect(index regclass, query tsquery, ways int, room int, again int, turns int, fails int, step int, enough int, own int, breaks int) RETURNS text LANGUAGE c AS '" . skx_module('skipidx_collect') . "'");
CREATE EXTENSION skipidx;
CREATE TABLE docs (v tsvector) WITH (autovacuum_enabled = off);
INSERT INTO docs SELECT 'w'::tsvector FROM generate_series(1, 3000);
CREATE INDEX docs_v ON docs USING skipidx (v);
INSERT INTO docs SELECT 'w'::tsvector FROM generate_series(1, 3000);
SELECT skipidx_flush('docs_v');
SQL

# how it is broken, what is wanted of the segments, and the assertion
my @breaks = (
	[ 0, 'nothing', 1000, 0, undef ],
	[ 0, 'nothing, in an order', 0, 1, undef ],
	[ 1, 'a range that begins before the last one ends', 1000, 0, qr/range->from >= before/ ],
	[ 2, 'an empty range', 1000, 0, qr/range->from >= before/ ],
	[ 3, 'a range behind its segment', 1000, 0, qr/range->from >= before/ ],
	[ 4, 'a segment twice', 0, 1, qr/bms_is_member\(order\[i\], seen\)/ ]);

for my $break (@breaks)
{
	my ($how, $name, $step, $own, $assertion) = @$break;
	my $before = -s $node->logfile;
	my ($rc, $out, $err) = $node->psql('postgres', "LOAD 'skipidx'; SELECT split_part(skipidx_collect('docs_v', 'w', 1, 100, 0, 0, 0, $step, 0, $own, $how), ' ', 1)");

	if (!defined $assertion)
	{
		is("$rc $out", '0 6000', $name);
		next;
	}
	isnt($rc, 0, "$name: no answer");
	like(substr(slurp_file($node->logfile), $before), qr/TRAP: .*$assertion/, "$name: the assertion");
	skx_recovered($node);
}
$node->stop;
done_testing();
