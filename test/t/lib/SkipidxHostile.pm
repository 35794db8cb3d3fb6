# SkipidxHostile: calls of every function that the extension has, with arguments of
# all kinds, and texts that a parser is not made for.
#
# Functions and types of arguments come from the catalogs, so that a new function
# is called without being named here.  An argument is an SQL expression, drawn from
# those of its type: a few that fit, extremes, NULL, and what the test adds.

package SkipidxHostile;

use strict;
use warnings;

use Exporter 'import';
use SkipidxWire qw(wire_mutated);

our @EXPORT_OK = qw(hostile_text hostile_value hostile_calls hostile_literal);

sub pick { return $_[ rand @_ ]; }

# Bytes as an expression: of a bytea, or of a text in the server's encoding.
sub hostile_literal
{
	my ($bytes, $text) = @_;
	my $hex = q{'\x} . unpack('H*', $bytes) . q{'};

	return $text ? "convert_from($hex, getdatabaseencoding())" : "$hex\::bytea";
}

# ---- texts ----

my @parts = (
	(map { ("$_ ", $_) } 'fox', 'foxes', 'Fox', 'the', 'red', 'jumping', 'w1', 'aa', 'b', "it's", 'red-fox', 'a-b-c',
		'1', '-12', '1.5', '1e5', 'v1.2.3', 'fox.com', 'http://fox.com/red?a=b#c', 'red.fox@fox.org', '/red/fox.txt', '~/fox'),
	' ', '  ', "\n", "\t", "\x0b", "\x01", "\x7f", '(', '((', ')', '[', '[[[[', ']', '{', '}', '"', "'", '`', '.', '..', '...', ',', ';',
	':', '!', '?', '~', '/', '\\', '-', '--', '_', '=', '&', '&amp;', '%', '#', '@', '$', '*', '+', '|', '^',
	'<', '>', '<b>', '</b>', '<a href="x y">', "<a 'red", '<a "fox', '<br/>', '<p', '</', '<!-- fox', '-->', '<!', '<?', '?>',
	'<script>', '</script>', '<style x', '<1>', "<\xc3\xa9>",
	"\xc3\xa9t\xc3\xa9", "\xd0\xb6\xd1\x83\xd0\xba", "\xe6\xbc\xa2\xe5\xad\x97", "e\xcc\x81", "\xc2\xa0", "\xc2\x80",
	"\xe2\x80\x8d", "\xf0\x9f\x98\x80", "\xef\xbf\xbd", "\xc4\xb0", "\xc4\xb1", "\xc3\x9f", "\xf4\x8f\xbf\xbd");

# What no encoding has; only where a server takes any byte.
my @broken = ("\xc3", "\xe6\xbc", "\xf0\x9f\x98", "\xff", "\xfe", "\x80", "\xc0\xaf", "\xed\xa0\x80");

# Bytes of a text; any: also such as are no characters.
sub hostile_text
{
	my ($any) = @_;
	my @from = $any ? (@parts, (@broken) x 3) : @parts;
	my $kind = rand;

	return '' if $kind < 0.02;
	return pick(@from) x (1 + rand 5000) if $kind < 0.06;

	# few parts, so that they come together, and end a text
	@from = map { pick(@from) } 1 .. 1 + rand 6 if $kind < 0.4;
	my $text = join '', map { pick(@from) } 1 .. (rand() < 0.1 ? 400 : 1 + rand 24);

	substr($text, rand length $text, 0) = pick('x', 'fox', "\xc3\xa9", '1') x (1 + rand 3000) if $kind > 0.95 && $any;
	$text .= pick('(', '"', '[', "'", '<', '.', '-', '/', '&', '@', "\\") x (1 + rand 3) if rand() < 0.3;
	return $text;
}

# ---- values ----

my @ints = (0, 1, 2, 3, 5, 10, 100, -1, -7);
my %values = (
	bool => [qw(true false)],
	int2 => [ @ints, 32767, -32768 ],
	int4 => [ @ints, 2147483647, '(-2147483648)' ],
	int8 => [ @ints, '9223372036854775807', '(-9223372036854775808)' ],
	oid => [ @ints[ 0 .. 3 ], 4294967295 ],
	float4 => [ @ints, "'NaN'", "'Infinity'", "'-Infinity'", '3.4e38', '1e-45', "'-0'" ],
	float8 => [ @ints, "'NaN'", "'Infinity'", "'-Infinity'", '1.7e308', '5e-324', "'-0'" ],
	numeric => [ @ints, "'NaN'", "'Infinity'", "'-Infinity'", '1.50', '0.00', '1e100', '1e-100', '1e130000', '-1e-16000', '123456789012345678901234567890.5' ],
	money => [ "'1'", "'-92233720368547758.08'", "'92233720368547758.07'" ],
	date => [ "'infinity'", "'-infinity'", "'2020-02-29'", "'4713-01-01 BC'", "'5874897-12-31'" ],
	timestamp => [ "'infinity'", "'-infinity'", "'2020-02-29 12:00'", "'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'" ],
	timestamptz => [ "'infinity'", "'-infinity'", "'2020-02-29 12:00Z'", "'4713-01-02 BC Z'", "'294276-12-31 23:59:59.999999Z'" ],
	time => [ "'00:00'", "'24:00'", "'12:34:56.789'" ],
	name => [ "'n'", "''", "'pg_default'", "repeat('x', 63)" ],
	bpchar => [ "''", "'a'", "'a   '", "repeat('x', 5000)" ],
	uuid => [ "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'" ],
	inet => [ "'0.0.0.0/0'", "'10.1.2.3/8'", "'::/0'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'" ],
	macaddr => [ "'00:00:00:00:00:00'", "'ff:ff:ff:ff:ff:ff'" ],
	bit => [ "B''", "B'0'", "B'1'", "repeat('10', 999)::varbit" ],
	varbit => [ "B''", "B'0'", "B'1'", "B'10000000'", "repeat('1', 2001)::varbit" ],
	tid => [ "'(0,0)'", "'(0,1)'", "'(1,3)'", "'(4294967295,65535)'", "'(4294967294,1)'" ],
	regconfig => [ "'simple'", "'english'", "'german'", '0', '4294967295' ],
	regclass => [ '0', '4294967295', "'pg_class'", "'pg_class_oid_index'" ],
	tsquery => [ "''", "'aa'", "'!aa'", "'a:*'", "'aa <-> bb'", "'!(aa & !b) | c <2> d:AB'" ],
	tsvector => [ "''", "'aa'", "'aa:1,2,3A b:4 c:16383D'" ],
	text => [ "''", "'n'", "'tags'", "'aa'", "repeat('x', 70000)" ],
	bytea => [ q{'\x'}, q{'\x00'}, "convert_to(repeat('x', 9000), 'UTF8')" ],
	'text[]' => [ "'{}'", "'{n,tags}'", "'{n,n,n}'", "'{NULL}'", "'{{n,tags},{price,label}}'", "'[0:1]={n,label}'", "array_fill('n'::text, '{300}')" ],
	'int4[]' => [ "'{}'", "'{1}'", "'{1,2,3}'", "'{3,2,1}'", "'{1,1}'", "'{NULL}'", "'{1,NULL,3}'", "'{{1,2},{3,4}}'", "'[5:6]={1,9}'",
		"'{-2147483648,2147483647}'", "array_fill(1, '{1000}')", "(SELECT array_agg(i) FROM generate_series(1, 2000) i)" ],
	'numeric[]' => [ "'{}'", "'{NaN}'", "'{-Infinity,0.10,1e100,Infinity,NaN}'", "'{NULL,1}'" ],
	'timestamptz[]' => [ "'{}'", "'{-infinity,2000-01-01Z,2020-02-29 12:00Z,infinity}'", "'{NULL}'" ]);

# An expression of a type.  more: expressions of types besides, {type => [...]}
sub hostile_value
{
	my ($type, $more) = @_;

	$type = { anyarray => pick('int4[]', 'int4[]', 'text[]', 'numeric[]', 'timestamptz[]'), anynonarray => 'int4',
		'"any"' => pick('int4', 'text', 'bool', 'int4[]', 'tsquery'), anyenum => 'mood' }->{$type} // $type;
	return "NULL::$type" if rand() < 0.04;

	my $fit = $more->{$type} // [];
	my $value = @$fit && (rand() < 0.7 || !$values{$type}) ? pick(@$fit) : pick(@{ $values{$type} // [ "''" ] });

	$value = hostile_literal(hostile_text(), 1) if $type eq 'text' && rand() < 0.2;
	return "($value)::$type";
}

# ---- calls ----

# What is called in vain or for too long: with internal arguments, which SQL does
# not have; measuring the disk.
my $functions = <<'SQL';
SELECT p.oid::regproc || '|' || p.proretset || '|' || array_to_string(ARRAY(SELECT t.typname FROM unnest(p.proargtypes) WITH ORDINALITY a(type, n)
		JOIN (SELECT oid, CASE WHEN typelem <> 0 AND typlen = -1 THEN typelem::regtype || '[]' ELSE format_type(oid, NULL) END AS typname FROM pg_type) t ON t.oid = a.type ORDER BY n), ',')
FROM pg_depend d JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid AND x.extname = 'skipidx'
	JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE NOT p.proargtypes::oid[] && '{internal,cstring}'::regtype[]::oid[] AND p.proname <> 'skipidx_calibrate'
ORDER BY p.oid::regprocedure::text;
SQL

my %short = (integer => 'int4', bigint => 'int8', smallint => 'int2', boolean => 'bool', real => 'float4', 'double precision' => 'float8',
	character => 'bpchar', 'bit varying' => 'varbit', 'timestamp without time zone' => 'timestamp', 'timestamp with time zone' => 'timestamptz',
	'time without time zone' => 'time');

# n statements, each with one call.  session: of the database with the extension;
# more: see hostile_value; also a list of names of functions that are called often
sub hostile_calls
{
	my ($session, $n, $more, @often) = @_;
	my @functions = map {
		my ($name, $set, $types) = split /\|/;

		[ $name, $set, map { s/^integer/int4/r } map { $short{$_} // $_ } split /,/, $types ]
	} split /\n/, $session->value($functions);
	my @loved = grep { my ($name) = $_->[0] =~ /(\w+)$/; grep { $name eq $_ } @often } @functions;

	return map {
		my ($name, $set, @types) = @{ @loved && rand() < 0.6 ? pick(@loved) : pick(@functions) };
		my $call = "$name(" . join(', ', map { hostile_value($_, $more) } @types) . ')';

		$set =~ /^t/ ? "SELECT count(x::text) FROM (SELECT * FROM $call LIMIT " . pick(1, 7, 3000) . ') x'
		  : "SELECT left(x::text, 100) FROM $call x"
	} 1 .. $n;
}

1;
