# servers.sh: servers that no Debian release has, kept on this machine, for
# sourcing after cluster.sh, apt.sh and report.sh, with $here set to this
# directory.
#
#   SKIPIDX_SERVERS   where they are kept: /var/cache/skipidx-servers
#
# Each lies below a folder whose name has "postgres" in it, with its own
# pg_config, and is of the machine's Debian 12.

SKIPIDX_SERVERS=${SKIPIDX_SERVERS:-/var/cache/skipidx-servers}

# PostgreSQL 16 comes as a Python package with server, headers and PGXS.
server_16_wheel='pgserver==0.1.4'
server_16_hash='sha256:d595789b47624a3d963aa9aa6359da9be31beb7e61f1a45541953242068b8813'

# make_server_16 DIR: unpacked there; the Perl modules of TAP tests are those
# of the machine's own version, which know newer servers
make_server_16() {
	local dir=$1 home perl
	[ "$(uname -m)" = x86_64 ] || { say "PostgreSQL 16 is to be had for x86_64 only"; return 1; }
	bash "$here/packages.sh" build test versions || return 1
	echo "$server_16_wheel --hash=$server_16_hash" >"$dir/wanted.txt"
	python3 -m pip download -q --disable-pip-version-check --no-deps --require-hashes \
		--only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
		--platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
		-d "$dir" -r "$dir/wanted.txt" || return 1
	python3 -m zipfile -e "$dir"/pgserver-*.whl "$dir" || return 1
	rm -rf "$dir"/pgserver-*.whl
	home=$dir/pgserver/pginstall
	chmod +x "$home"/bin/* "$home"/lib/postgresql/pgxs/config/* \
		"$home"/lib/postgresql/pgxs/src/test/*/pg*regress \
		"$home"/lib/postgresql/pgxs/src/test/isolation/isolationtester
	perl=$(ls -d /usr/lib/postgresql/*/lib/pgxs/src/test/perl | tail -n 1)
	cp -r "$perl" "$home/lib/postgresql/pgxs/src/test/perl" || return 1
	sed -i -e 's/^enable_tap_tests\t.*/enable_tap_tests = yes/' \
		-e 's/^PROVE = *$/PROVE = prove/' -e 's/^PERL\t*= *$/PERL = perl/' \
		"$home/lib/postgresql/pgxs/src/Makefile.global"
	ln -s pgserver/pginstall "$dir/server"
}

# make_server_cassert DIR: Debian's source of the machine's version, as its
# authors published it, built with assertions
make_server_cassert() {
	local dir=$1 major mirror sources
	bash "$here/packages.sh" build test cassert || return 1
	major=$("$(find_pg_config)" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { apt_wait update; mirror=$(debian_mirror); }
	[ -n "$mirror" ] || { say "apt has no Debian archive on this machine"; return 1; }
	mkdir -p "$dir/apt/lists/partial" "$dir/source" || return 1
	echo "deb-src $mirror $(. /etc/os-release; echo "$VERSION_CODENAME") main" >"$dir/apt/sources.list"
	sources="-o Dir::Etc::SourceList=$dir/apt/sources.list -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists=$dir/apt/lists -o APT::Sandbox::User=root"
	apt_wait $sources update &&
		(cd "$dir/source" && apt_wait $sources source --download-only "postgresql-$major") &&
		tar -xf "$dir/source"/postgresql-*.orig.tar.* -C "$dir/source" --strip-components=1 &&
		(cd "$dir/source" && ./configure -q --prefix="$dir/server" --enable-cassert \
			--enable-debug --enable-tap-tests --without-readline --without-icu \
			CFLAGS='-O2 -fno-omit-frame-pointer' &&
			make -s -j"$(nproc)" && make -s -j"$(nproc)" -C contrib &&
			make -s install && make -s -C contrib install) || return 1
	rm -rf "$dir/source" "$dir/apt"
}

# need_server NAME: 16 or cassert; sets PG_CONFIG, makes the server if need be.
# A prefix is written into what is built, so it is made where it will lie, and
# counts as made once its mark is there.
need_server() {
	local dir=$SKIPIDX_SERVERS/postgres-$1
	if [ ! -e "$dir/made" ]; then
		say "PostgreSQL $1: making $dir"
		rm -rf "$dir"
		mkdir -p "$dir" || return 1
		report_step "pg$1 server" "make_server_$1" "$dir" || return 1
		chmod -R a+rX "$dir"
		touch "$dir/made"
	fi
	PG_CONFIG=$dir/server/bin/pg_config
	export PG_CONFIG
}
