# `make bench` goes on where it was interrupted, and its page says of which commit
# a figure is: all.py and page.py on the published results, and on a small tree
# with a program in place of run.sh that measures nothing.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Copy qw(copy);
use PostgreSQL::Test::Utils;
use Test::More;

my $bench = "$FindBin::RealBin/../../bench";

for my $program ('python3', 'git')
{
	plan skip_all => "there is no $program" if system("command -v $program >/dev/null") != 0;
}
delete @ENV{ grep { /^BENCH_/ } keys %ENV };

# What a command prints, and its exit code.
sub run_it
{
	my ($command) = @_;
	my $out = `$command 2>&1`;

	return ($out, $? >> 8);
}

# ---- the published results ----

my $page = "$PostgreSQL::Test::Utils::tmp_check/report.html";
my ($out, $code) = run_it("python3 -B $bench/report.py html $page");

is($code, 0, 'the page of the published results') || diag($out);
my $html = slurp_file($page);
my @names = map { m{([^/]+)\.json$} } glob "$bench/results/*.json";

cmp_ok(scalar(@names), '>=', 25, 'there are results');
like($html, qr/<h2 id="\Q$_\E">/, "it has $_") for @names;
like($html, qr{<h2>Ratios</h2>.*?8\.77.*?<svg}s, 'ratios come first');
unlike($html, qr{<svg.*<h2>Ratios</h2>}s, 'and plots after them');
my ($drawn) = run_it("cd $bench && python3 -B -c 'import glob, page
print(sum(len(page.Run(one).plots) for one in glob.glob(\"results/*.json\")))'");

is(scalar(() = $html =~ /<svg /g), $drawn + 0, 'all plots');
(undef, $code) = run_it("python3 -c 'import sys, xml.dom.minidom as dom; dom.parseString(open(sys.argv[1]).read().split(\"\\n\", 1)[1])' $page");
is($code, 0, 'it is well formed');
my ($rows) = run_it("python3 -B $bench/report.py summary");

for my $row (split /\n/, $rows)
{
	my @cells = map { quotemeta } grep { /\S/ } map { s/^\s+|\s+$//gr } split /\|/, $row;
	my $cells = join '</td><td class="figure">', @cells;

	like($html, qr/$cells/, "beside GIN: $row");
}

# ---- a tree of its own ----

my $tree = "$PostgreSQL::Test::Utils::tmp_check/bench_tree";
my $git = "git -C $tree -c user.name=t -c user.email=t\@localhost";
my $results = "$tree/results";

mkdir $_ for $tree, "$tree/bench", "$tree/bench/targets", "$tree/src", $results;
copy("$bench/$_.py", "$tree/bench/") for qw(all report page summary);
system("cp -r $bench/harness $tree/bench/ && cp -r $bench/targets/. $tree/bench/targets/ && find $tree -name __pycache__ -prune -exec rm -r {} +") == 0
  or die 'no copy';
# Of two targets are the names, and of one of them another.
for my $target (map { m{([^/]+)/target\.conf$} } glob "$tree/bench/targets/*/target.conf")
{
	unlink "$tree/bench/targets/$target/target.conf" if $target !~ /^(?:io|quality)$/;
}
append_to_file("$tree/bench/figures.conf", "quality-more BENCH_SWEEP=\"0 0.1\"  # another\n");
append_to_file("$tree/src/a.c", "1\n");
append_to_file("$tree/bench/run.sh", <<"SH");
trap 'sleep 1; echo removed >>$tree/calls; exit 130' INT
name=\$1\$BENCH_SUFFIX
echo "\$name \${BENCH_SWEEP-none}" >>$tree/calls
[ ! -e $tree/fails-\$name ] || exit 1
[ ! -e $tree/waits-\$name ] || for i in \$(seq 600); do sleep .1; done
commit=\$(git -C $tree rev-parse --short HEAD)
sed "s/^ \\"skipidx\\": .*/ \\"skipidx\\": \\"\$commit\\",/" $bench/results/\$1.json >\$BENCH_RESULTS/\$name.json
echo \$BENCH_RESULTS/\$name.json >>\$BENCH_MADE
SH
append_to_file("$tree/.gitignore", "/results/\n/calls\n/fails-*\n/waits-*\n");
run_it("git init -q $tree && $git add -A && $git commit -q -m one");

# make bench; gives the names that were measured, and the exit code.
sub measured
{
	my ($options) = @_;

	unlink "$tree/calls";
	my ($out, $code) = run_it("cd $tree && BENCH_RESULTS=$results $options python3 -B bench/all.py");

	note($out);
	return (-e "$tree/calls" ? join(', ', split /\n/, slurp_file("$tree/calls")) : '') . " -> $code";
}

# The runs that are marked in the page.
sub marked
{
	my $html = slurp_file("$results/report.html");

	return join ' ', sort map { m{^([\w-]+)">.*?</h2>\n<p class="older">}s } split /<h2 id="/, $html;
}

append_to_file("$tree/fails-quality", '');
is(measured(''), 'io none, quality none, quality-more 0 0.1 -> 1', 'all are measured; one fails');
is(marked(), '', 'no figure is marked');
like(slurp_file("$results/report.html"), qr{>failed</td>}, 'the page says what has failed');
unlink "$tree/fails-quality";
is(measured(''), 'quality none -> 0', 'what has failed is measured again, and nothing else');
is(measured(''), ' -> 0', 'then nothing is');
append_to_file("$results/state.jsonl", '{"name": "io", "sta');
is(measured(''), ' -> 0', 'an unfinished line is none');
is(measured('BENCH_SWEEP=0'), 'io 0, quality 0, quality-more 0 -> 0', 'other options are other figures, and win');
is(measured('BENCH_SWEEP=0 BENCH_ONLY=quality-more'), ' -> 0', 'one alone');
is(measured('BENCH_ONLY=nothing'), ' -> 1', 'one that is not there');
unlink "$results/io.json";
is(measured('BENCH_SWEEP=0'), 'io 0 -> 0', 'a file that is gone is made again');

# An interrupt of all processes, as by a terminal, waits for what ends.
append_to_file("$tree/waits-quality", '');
unlink "$tree/calls";
my $pid = fork // die "no process: $!";

if ($pid == 0)
{
	setpgrp;
	$ENV{BENCH_RESULTS} = $results;
	exec "exec python3 -B $tree/bench/all.py >/dev/null 2>&1" or exit 3;
}
for (1 .. 600)
{
	last if -e "$tree/calls" && slurp_file("$tree/calls") =~ /^quality none$/m;
	select undef, undef, undef, .1;
}
kill INT => -$pid;
waitpid $pid, 0;
isnt($?, 0, 'an interrupt ends it');
is(slurp_file("$tree/calls"), "io none\nquality none\nremoved\n", 'when the measurement has removed what it made');
unlink "$tree/waits-quality";
is(measured(''), 'quality none, quality-more 0 0.1 -> 0', 'and it goes on from there');
is(measured('BENCH_SWEEP=0'), 'io 0, quality 0, quality-more 0 -> 0', 'with the options of before');

append_to_file("$tree/README.md", "text\n");
run_it("$git add -A && $git commit -q -m two");
is(measured('BENCH_SWEEP=0'), ' -> 0', 'text that changes makes no figure older');
is(marked(), '', 'nor is one marked');
append_to_file("$tree/src/a.c", "2\n");
is(measured('BENCH_SWEEP=0 BENCH_ONLY=io'), 'io 0 -> 0', 'sources that are not committed are measured each time');
run_it("$git add -A && $git commit -q -m three");
is(measured('BENCH_SWEEP=0 BENCH_ONLY=io'), 'io 0 -> 0', 'sources that changed are measured again');
is(marked(), 'quality quality-more', 'what is of another commit is marked');
like(slurp_file("$results/report.html"), qr/of \w+, 2 commits before HEAD/, 'with how far it is');

done_testing();
