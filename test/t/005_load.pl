# What a session does when it loads the library: no function or variable of the
# library's own is looked up by name then, through the server and all of its
# libraries; these were bound when it was linked.
#
# Holds: none

use strict;
use warnings;
use Test::More;

my $config = $ENV{PG_CONFIG} // 'pg_config';
my $dir = `$config --pkglibdir`;

chomp $dir;

# offset, info, type, value, name, addend
my @names = map { /^[0-9a-f]+ +[0-9a-f]+ R_\S+ +[0-9a-f]+ ([^\s@]+)/ ? $1 : () } `readelf -W -r $dir/skipidx.so 2>/dev/null`;

plan skip_all => 'no readelf, or another format' unless grep { $_ eq 'palloc' } @names;
my @own = grep { /^_?(skx|skipidx)/ } @names;

is("@own[0 .. ($#own < 4 ? $#own : 4)]", '', @own . ' of ' . @names . ' names are its own');
done_testing();
