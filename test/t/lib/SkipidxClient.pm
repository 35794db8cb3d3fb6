# SkipidxClient: a client that speaks the protocol of the server itself, for what
# psql does not send: statements prepared by messages, and several clients of one
# pool whose statements take turns as a test says.

package SkipidxClient;

use strict;
use warnings;

use Carp ();
use IO::Socket::UNIX;

# Connects by a socket in a directory, as a user who needs no password.
sub new
{
	my ($class, $dir, $port, $user, $db) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$dir/.s.PGSQL.$port") or Carp::croak("cannot connect to $dir, $port: $!");
	my $self = bless { socket => $socket }, $class;

	$self->put('', pack('N Z* Z* Z* Z* C', 196608, 'user', $user, 'database', $db, 0));
	$self->answer;
	return $self;
}

sub put
{
	my ($self, $type, $body) = @_;

	$self->{socket}->syswrite($type . pack('N', 4 + length $body) . $body);
	return;
}

sub bytes
{
	my ($self, $n) = @_;
	my $bytes = '';

	while (length $bytes < $n)
	{
		sysread($self->{socket}, $bytes, $n - length $bytes, length $bytes) or Carp::croak('the server has closed the connection');
	}
	return $bytes;
}

# Reads until the server is ready.  Returns the rows, as lists of texts, and sets
# {error} to the message of an error, or else to an empty string.
sub answer
{
	my ($self) = @_;
	my @rows;

	$self->{error} = '';
	while (1)
	{
		my ($type, $length) = unpack 'a N', $self->bytes(5);
		my $body = $self->bytes($length - 4);

		last if $type eq 'Z';
		$self->{error} = join ' ', map { /^[CM](.*)/ ? $1 : () } split /\0/, $body if $type eq 'E';
		next if $type ne 'D';
		my $n = unpack 'n', $body;
		my $at = 2;
		my @row;

		for (1 .. $n)
		{
			my $size = unpack 'l>', substr($body, $at, 4);

			push @row, $size < 0 ? undef : substr($body, $at + 4, $size);
			$at += 4 + ($size < 0 ? 0 : $size);
		}
		push @rows, \@row;
	}
	return @rows;
}

# The rows as one text; an error is fatal for the test.
sub text
{
	my ($self, @rows) = @_;

	Carp::croak($self->{error}) if $self->{error} ne '';
	return join "\n", map { join '|', map { $_ // '' } @$_ } @rows;
}

# Statements in one message.
sub query
{
	my ($self, $sql) = @_;

	$self->put('Q', pack 'Z*', $sql);
	return $self->text($self->answer);
}

sub prepare
{
	my ($self, $name, $sql) = @_;

	$self->put('P', pack 'Z* Z* n', $name, $sql, 0);
	$self->put('S', '');
	return $self->text($self->answer);
}

# Executes a prepared statement, with parameters as text or, if {binary} is set,
# in the binary form of their types.
sub execute
{
	my ($self, $name, @parameters) = @_;

	$self->bind_execute($name, @parameters);
	return $self->text($self->answer);
}

# Prepares and executes in one go, without a name.
sub ask
{
	my ($self, $sql, @parameters) = @_;

	$self->put('P', pack 'Z* Z* n', '', $sql, 0);
	$self->bind_execute('', @parameters);
	return $self->text($self->answer);
}

sub bind_execute
{
	my ($self, $name, @parameters) = @_;

	$self->put('B', pack('Z* Z* n n n', '', $name, 1, $self->{binary} ? 1 : 0, scalar @parameters)
		  . join('', map { defined $_ ? pack('N a*', length $_, $_) : pack('N', 0xFFFFFFFF) } @parameters) . pack('n', 0));
	$self->put('E', pack 'Z* N', '', 0);
	$self->put('S', '');
	return;
}

sub close
{
	my ($self) = @_;

	$self->put('X', '');
	$self->{socket}->close;
	return;
}

1;
