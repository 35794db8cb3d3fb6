# doc/compared.md and doc/coming_from.md say what is so: the statements in their
# tables run, those of the server and of skipidx everywhere, those of other
# extensions where these are; what stands side by side has the same rows, and
# what is skipidx's is answered by its index.
#
# A table names the engine in the first cell of a row, or at the head of a column.
# Each engine has a database of its own, and each section a table of its own, made
# by the first SQL of the page.
#
# Holds: none

use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use SkipidxTest qw(skx_node skx_session);
use Test::More;

my $top = "$FindBin::RealBin/../..";

# What it needs to run: an extension, or nothing; undef: it is not run.
my %extension_of = (
	GIN => '',
	RUM => 'rum',
	pg_trgm => 'pg_trgm',
	pg_textsearch => 'pg_textsearch',
	skipidx => 'skipidx',
	ParadeDB => undef,
	Elasticsearch => undef);
my $verbs = qr/(?:ALTER|CREATE|DROP|INSERT|SELECT|SET)/;

my $node = skx_node('beside');
my $library = $node->config_data('--pkglibdir') . '/pg_textsearch.so';

if (-e $library)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_textsearch'");
	$node->restart;
}

my %available = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT name FROM pg_available_extensions');
my %runs = map { my $extension = $extension_of{$_}; $_ => defined $extension && ($extension eq '' || $available{$extension}) }
  keys %extension_of;

ok($runs{skipidx}, 'skipidx is there');
note("beside it: " . join ' ', grep { $runs{$_} } sort keys %runs);

# The engine of a cell's head, which may say more: "ParadeDB (from its manual)".
sub engine
{
	my ($text) = @_;
	my ($word) = $text =~ /^(\w+)/;

	return defined $word && exists $extension_of{$word} ? $word : undef;
}

# Of a page: what makes the table, and for each line of a table under a heading
# of the second level [section, place, table, [engine, statement] ...].
sub statements
{
	my ($page) = @_;
	my $text = slurp_file("$top/$page");
	my ($setup) = $text =~ /^```sql\n(.*?)^```$/ms;
	my ($line, $table, $section, @heads, @rows) = (0, 0, '');

	for (split /\n/, $text)
	{
		$line++;
		$section = $1 if /^## (.*)/;
		if (!/^\| /)
		{
			@heads = () if !/^\|-/;
			next;
		}
		my @cells = map { s/\\\|/|/gr =~ s/^\s+|\s+$//gr } split /(?<!\\)\|/, substr($_, 1);

		if (!@heads)
		{
			@heads = map { engine($_) } @cells;
			$table++;
			next;
		}
		my $first = engine($cells[0]);
		my @found;

		for my $i (0 .. $#cells)
		{
			my $engine = $first // $heads[$i] // next;

			for my $span ($cells[$i] =~ /`([^`]+)`/g)
			{
				if ($span =~ /^$verbs /) { push @found, [ $engine, $span ]; }
				# Ours are whole, so that they are run.
				elsif ($engine eq 'skipidx' && !defined $first) { unlike($span, qr/ /, "$page:$line: is run: $span"); }
			}
		}
		push @rows, [ $section, "$page:$line", $table, @found ] if @found;
	}
	return ($setup, @rows);
}

# What rows a statement is compared by: their ids or counts, in no order.
sub compared
{
	my ($sql, $rows) = @_;

	return $sql =~ /^SELECT (?:id FROM|count|tenant, count)/ ? join("\n", sort split /\n/, $rows) : undef;
}

# A session of an engine in a database of its own.
sub begun
{
	my ($engine) = @_;
	my $extension = $extension_of{$engine};

	$node->safe_psql('postgres', "CREATE DATABASE \"$engine\"");
	my $session = skx_session($node, $engine);

	$session->value("CREATE EXTENSION $extension") if $extension ne '';
	$session->value('SET enable_seqscan = off');
	return $session;
}

my (%session, %table_of, %count);

for my $page ('doc/compared.md', 'doc/coming_from.md')
{
	my ($setup, @rows) = statements($page);
	my %rows_of;

	for my $row (@rows)
	{
		my ($section, $place, $table, @found) = @$row;
		# In a table of engines by rows all rows are one task.
		my $task = $page eq 'doc/compared.md' ? $table : $place;

		for (@found)
		{
			my ($engine, $sql) = @$_;

			next if !$runs{$engine};
			my $session = $session{$engine} //= begun($engine);

			if (($table_of{$engine} // '') ne "$page $section")
			{
				$session->value("DROP TABLE IF EXISTS docs, mails; $setup; ANALYZE");
				$table_of{$engine} = "$page $section";
			}
			my $out = $session->raw($sql);

			$count{$engine}++;
			unlike($out, qr/^(?:psql:|ERROR)/m, "$place: $engine: $sql");
			$session->value('RESET ALL; SET enable_seqscan = off') if $sql =~ /^SET /;
			my $rows = compared($sql, $out);

			if (defined $rows)
			{
				isnt($rows, '', "$place: it has rows");
				$rows_of{"$page $task"}{$rows}{$engine} = $sql;
				unlike($session->value("EXPLAIN $sql"), qr/Seq Scan/, "$place: by an index") if $engine eq 'skipidx';
			}
		}
	}
	for my $task (sort keys %rows_of)
	{
		is(scalar(keys %{ $rows_of{$task} }), 1, "the same rows: $task") || diag(explain($rows_of{$task}));
	}
}

cmp_ok($count{skipidx}, '>=', 55, 'there are statements to run');
cmp_ok($count{GIN}, '>=', 15, 'and to run beside them');
$node->stop;
done_testing();
