# SkipidxPower: a server whose machine can lose its power.
#
# The server runs with test/soak/power.c preloaded, which notes what every
# write replaces and does not sync.  lose() stops all processes of the server at
# once, kills them, and puts back old bytes, at random, of what no sync covered:
# each piece of 4 kB on its own is kept, gets what it had before one of the
# writes since, or is torn at sectors; a file that has grown or was cut may have
# an older size.  What test/soak/README.md says of the disk is done here.

package SkipidxPower;

use strict;
use warnings;

use Cwd qw(abs_path);
use Fcntl qw(SEEK_CUR);
use File::Basename qw(dirname);
use File::Path qw(make_path remove_tree);
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

use constant {
	PIECE => 4096,
	SECTOR => 512,
	RECORD => 80,
	MAGIC => 0x52575850,
	WRITE => 1,
	CUT => 2,
	ENDED => 3,
	DURABLE => 4,
	SYNC => 5
};

my $soak = abs_path(dirname(__FILE__) . '/../../soak');

# Builds the library into a directory; returns what went wrong, or ''.
sub build
{
	my ($class, $dir) = @_;

	return compile("$dir/power.so", "$soak/power.c", '-Wall -Wextra -lpthread -ldl');
}

# Builds a skipidx that leaves out a step, from the objects of the tree and
# test/soak/mutant.c; the calls of the steps are led there by the linker.
sub build_mutant
{
	my ($class, $dir) = @_;
	my $root = abs_path("$soak/../..");
	my @objects = objects();
	my ($include) = map { chomp; $_ } `pg_config --includedir-server`;
	my $text = slurp_file("$soak/mutant.c");
	my @wraps = map { "-Wl,--wrap=$_" } sort keys %{ { map { $_ => 1 } $text =~ /\b__wrap_(\w+)\(/g } };

	return compile("$dir/mutant.so", "$soak/mutant.c", "-I$root/src -I$include -Wno-unused-parameter @wraps @objects"
		  . (needs_uring(@objects) ? ' -luring' : ''));
}

# What the tree's skipidx was linked of, if it was built here, without what other tests
# make of it meanwhile.
sub objects
{
	return grep { !/\.next\.o$/ && -e "$soak/../../src/skipidx.o" } glob("$soak/../../src/*/*/*.o $soak/../../src/*/*.o $soak/../../src/*.o");
}

sub needs_uring
{
	my ($ring) = grep { m{/blkio_ring\.o$} } @_;

	return slurp_file($ring) =~ /io_uring_queue_init/;
}

sub compile
{
	my ($to, $from, $options) = @_;
	my $cc = $ENV{CC} || 'cc';
	my $said = `$cc -O2 -g -shared -fPIC -o $to $from $options 2>&1`;

	return $? == 0 ? '' : "$cc failed: $said";
}

# Options: dir (where the library is, and notes go), module (a skipidx other
# than the installed), env (further variables of the server).
sub new
{
	my ($class, $node, %opt) = @_;
	my $self = bless { node => $node, %opt }, $class;

	$self->{notes} = "$opt{dir}/notes-" . $node->name;
	make_path($self->{notes});
	return $self;
}

# Starts the server; what its files have now is what the disk has.  The notes of
# the time before are kept until the next start, for whoever asks why.
sub start
{
	my ($self) = @_;
	local %ENV = (%ENV, LD_PRELOAD => "$self->{dir}/power.so", SKX_POWER_DIR => $self->{notes}, %{ $self->{env} // {} });

	$ENV{SKX_POWER_MODULE} = $self->{module} if $self->{module};
	remove_tree("$self->{notes}-before");
	rename $self->{notes}, "$self->{notes}-before";
	make_path($self->{notes});
	return $self->{node}->start(fail_ok => 1);
}

# Bytes of the notes so far.
sub noted
{
	my ($self) = @_;
	my $sum = 0;

	$sum += -s $_ // 0 for glob("$self->{notes}/*.log");
	return $sum;
}

# ---- the end of all processes ----

sub parent_of
{
	my ($pid) = @_;

	open my $stat, '<', "/proc/$pid/stat" or return 0;
	my $text = <$stat> // '';

	return $text =~ /^\d+ \(.*\) (\S) (\d+)/s && $1 ne 'Z' ? $2 : 0;
}

sub children
{
	my ($parent) = @_;
	opendir my $proc, '/proc' or die;

	return grep { parent_of($_) == $parent } grep { /^\d+$/ } readdir $proc;
}

# Stops the postmaster, so that there are no further children, then the
# children; all stand still before the first is killed.
sub halt
{
	my ($self) = @_;
	my ($postmaster) = slurp_file($self->{node}->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $until = time + 60;

	kill 'STOP', $postmaster;
	sleep 0.01;
	my @all = ($postmaster, children($postmaster));

	kill 'STOP', @all;
	kill 'KILL', @all;
	$self->{stopped} = { map { $_ => 1 } @all };
	while (grep { parent_of($_) } @all)
	{
		die 'processes of the server do not end' if time > $until;
		sleep 0.01;
	}
	$self->{node}{_pid} = undef;

	# After a boot no process has its number; here it may be a zombie's.
	unlink $self->{node}->data_dir . '/postmaster.pid', $self->{node}->host . '/.s.PGSQL.' . $self->{node}->port . '.lock';
	return;
}

# ---- reading the notes ----

# The writes of a process that died before, in a crash of the server, have ended
# even if it could not say so; recovery syncs everything after that.
sub read_log
{
	my ($path, $files, $stopped) = @_;
	my ($pid) = $path =~ /(\d+)\.log$/;
	my (%open, $buf);

	open my $in, '<:raw', $path or die "$path: $!";
	while ((read $in, $buf, RECORD) == RECORD)
	{
		my ($magic, $kind, $number, $device, $inode, $born, $offset, $length, $size, $ref, $stored) = unpack 'L2Q9', $buf;
		my $key = "$device $inode $born";

		die "$path: not a record" if $magic != MAGIC;
		if ($kind == WRITE || $kind == CUT)
		{
			# Killed while it noted the old bytes, before it wrote the new ones.
			last if tell($in) + $stored > -s $in;

			my $write = { number => $number, cut => $kind == CUT, at => $offset, end => $offset + $length,
				size => $size, stored => $stored, log => $path, pos => tell $in };

			push @{ $files->{$key}{writes} }, $write;
			$open{$number} = $write;
			seek $in, $stored, SEEK_CUR;
		}
		elsif ($kind == SYNC)
		{
			$files->{$key}{synced} = $ref if $ref > ($files->{$key}{synced} // 0);
		}
		elsif (my $write = delete $open{$ref})
		{
			$write->{ended} = $number;
			$write->{durable} = $kind == DURABLE;
		}
	}
	if (!$stopped->{$pid})
	{
		$_->{ended} = $_->{number} for values %open;
	}
	return;
}

# Writes that no sync covers, oldest first.
sub volatile
{
	my ($file) = @_;
	my $synced = $file->{synced} // 0;

	return sort { $a->{number} <=> $b->{number} }
	  grep { !$_->{durable} && !($_->{ended} && $_->{ended} < $synced) } @{ $file->{writes} // [] };
}

# Device, inode and time of birth of the cluster's files.
sub inventory
{
	my ($self) = @_;
	my %path;

	for (split /\n/, `find '@{[$self->{node}->data_dir]}' -type f -exec stat -c '%d %i %.9W %n' {} +`)
	{
		my ($device, $inode, $born, $path) = split / /, $_, 4;
		my ($major, $minor) = ($device >> 8 & 0xfff, ($device & 0xff) | ($device >> 12 & 0xfff00));
		my ($s, $ns) = $born =~ /^(\d+)\.(\d{9})/;

		$path{ join ' ', $major << 32 | $minor, $inode, defined $s ? $s * 1_000_000_000 + $ns : 0 } = $path;
	}
	return \%path;
}

# What was noted of a file, known by the end of its path.
sub writes
{
	my ($self, $pattern) = @_;
	my $path = $self->inventory;
	my %files;

	read_log($_, \%files, {}) for glob("$self->{notes}/*.log");
	return map { @{ $files{$_}{writes} // [] } } grep { ($path->{$_} // '') =~ /$pattern/ } keys %files;
}

# ---- losing ----

# Of all that is volatile, this part is kept, by chance; if none is given,
# nothing, or half, or each file has a fate of its own.  Returns what happened: files, pieces kept, undone, torn, and
# a line for each file.
sub lose
{
	my ($self, $part) = @_;
	my (%files, %sum);

	$self->halt;
	read_log($_, \%files, $self->{stopped}) for glob("$self->{notes}/*.log");

	my $path = $self->inventory;
	my $mode = rand;
	my @fates = (0, 0, 0.1, 0.5, 0.9, 1, 1);

	$sum{$_} = 0 for qw(files kept undone torn resized);
	for my $key (sort { $path->{$a} cmp $path->{$b} } grep { $path->{$_} } keys %files)
	{
		my @writes = volatile($files{$key}) or next;
		my $keep = $part // ($mode < 0.15 ? 0 : $mode < 0.4 ? 0.5 : $fates[ rand @fates ]);

		$sum{files}++;
		my ($undone, $torn) = @sum{qw(undone torn)};

		undo($path->{$key}, $files{$key}, \@writes, $keep, \%sum);
		push @{ $sum{story} }, sprintf '%s: %d writes not synced, %d pieces undone, %d torn',
		  $path->{$key} =~ s{.*/pgdata/}{}r, scalar @writes, $sum{undone} - $undone, $sum{torn} - $torn;
	}
	return \%sum;
}

sub old_bytes
{
	my ($write) = @_;

	return $write->{bytes} if defined $write->{bytes};
	open my $in, '<:raw', $write->{log} or die;
	seek $in, $write->{pos}, 0;
	read($in, $write->{bytes}, $write->{stored}) == $write->{stored} or die "$write->{log}: $!";
	$write->{bytes} .= "\0" x ($write->{end} - $write->{at} - $write->{stored}) if $write->{end} - $write->{at} <= PIECE * 256;
	return $write->{bytes};
}

# The size that the file has after the loss.
sub new_size
{
	my ($size, $file, $writes, $keep, $sum) = @_;
	my $durable = 0;
	my %volatile = map { $_->{number} => 1 } @$writes;

	for (@{ $file->{writes} })
	{
		$durable = $_->{number} if !$volatile{ $_->{number} } && $_->{number} > $durable;
	}
	my @sizes = map { $_->{size} } grep { ($_->{cut} || $_->{end} > $_->{size}) && $_->{number} > $durable } @$writes;

	return $size if !@sizes || rand() < $keep;
	$sum->{resized}++;
	return $sizes[ rand() < 0.5 ? 0 : rand @sizes ];
}

# What a piece had before the write number `from` of those that touch it.
sub piece_before
{
	my ($now, $piece, $writes, $from) = @_;
	my $start = $piece * PIECE;

	for my $write (reverse @$writes[ $from .. $#$writes ])
	{
		my $at = $write->{at} > $start ? $write->{at} : $start;
		my $end = $write->{end} < $start + PIECE ? $write->{end} : $start + PIECE;
		my $old = old_bytes($write);
		my $part = $at - $write->{at} < length $old ? substr $old, $at - $write->{at}, $end - $at : '';

		substr $now, $at - $start, $end - $at, $part . "\0" x ($end - $at - length $part);
	}
	return $now;
}

sub undo
{
	my ($path, $file, $writes, $keep, $sum) = @_;
	my %touched;

	open my $io, '+<:raw', $path or die "$path: $!";
	my $size = new_size(-s $path, $file, $writes, $keep, $sum);

	for my $write (@$writes)
	{
		push @{ $touched{$_} }, $write for int($write->{at} / PIECE) .. int(($write->{end} - 1) / PIECE);
	}
	truncate $io, $size or die "$path: $!";
	for my $piece (sort { $a <=> $b } grep { $_ * PIECE < $size } keys %touched)
	{
		my $these = $touched{$piece};
		my $tear = rand() < 0.1;

		if (!$tear && rand() < $keep)
		{
			$sum->{kept}++;
			next;
		}
		my $now = '';

		seek $io, $piece * PIECE, 0;
		read $io, $now, PIECE;
		$now .= "\0" x (PIECE - length $now);
		my $before = piece_before($now, $piece, $these, rand() < 0.6 ? 0 : int rand @$these);

		next if $before eq $now;
		$sum->{ $tear ? 'torn' : 'undone' }++;
		if ($tear)
		{
			for (0 .. PIECE / SECTOR - 1)
			{
				substr $before, $_ * SECTOR, SECTOR, substr $now, $_ * SECTOR, SECTOR if rand() < 0.5;
			}
		}
		seek $io, $piece * PIECE, 0;
		print $io substr $before, 0, $size - $piece * PIECE;
	}
	close $io or die "$path: $!";
	return;
}

1;
