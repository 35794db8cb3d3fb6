# servers.sh: servers that no Debian release has, kept on this machine, for
# sourcing after cluster.sh, apt.sh and report.sh, with $here set to this
# directory and $root to the tree's.
#
#   SKIPIDX_SERVERS   where they are kept: /var/cache/skipidx-servers
#
# Each lies below a folder whose name has "postgres" in it, with its own
# pg_config, and is of the machine's Debian 12.

SKIPIDX_SERVERS=${SKIPIDX_SERVERS:-/var/cache/skipidx-servers}

# What tests use of contrib
server_contrib='pageinspect pg_buffercache pg_prewarm'

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

# lists_of DIR KIND OPTION...: apt's lists of this machine's release, by a line of this
# kind ("deb-src", "deb [arch=arm64]"), in DIR/apt and nowhere else; sets sources to
# the options by which apt knows them
lists_of() {
	local dir=$1 kind=$2 mirror
	shift 2
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { apt_wait update; mirror=$(debian_mirror); }
	[ -n "$mirror" ] || { say "apt has no Debian archive on this machine"; return 1; }
	mkdir -p "$dir/apt/lists/partial" || return 1
	echo "$kind $mirror $(. /etc/os-release; echo "$VERSION_CODENAME") main" >"$dir/apt/sources.list"
	sources="-o Dir::Etc::SourceList=$dir/apt/sources.list -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists=$dir/apt/lists -o APT::Sandbox::User=root $*"
	apt_wait $sources update
}

# server_source DIR: Debian's source of the machine's version, as its authors
# published it, in DIR/source
server_source() {
	local dir=$1 sources
	bash "$here/packages.sh" build test source || return 1
	mkdir -p "$dir/source" && lists_of "$dir" deb-src &&
		(cd "$dir/source" && apt_wait $sources source --download-only "postgresql-$(machine_major)") &&
		tar -xf "$dir/source"/postgresql-*.orig.tar.* -C "$dir/source" --strip-components=1
}

machine_major() {
	"$(find_pg_config)" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/'
}

# build_server DIR OPTION...: what is in DIR/source, configured with these
# options besides, built, and installed below DIR/server; removes the source
build_server() {
	local dir=$1 module
	shift
	(cd "$dir/source" && ./configure -q --prefix="$dir/server" --enable-debug \
		--enable-tap-tests --without-readline --without-icu "$@" &&
		make -s -j"$(nproc)" && make -s install &&
		for module in $server_contrib; do make -s -C "contrib/$module" install || exit 1; done) ||
		return 1
	rm -rf "$dir/source" "$dir/apt"
}

# make_server_cassert DIR: with assertions
make_server_cassert() {
	server_source "$1" &&
		build_server "$1" --enable-cassert CFLAGS='-O2 -fno-omit-frame-pointer'
}

# make_server_memory DIR: with AddressSanitizer and UBSan, where each chunk of
# memory is a malloc of its own (chunks_*.patch); what PGXS builds for it has
# the sanitizers, too
make_server_memory() {
	local patch=$here/chunks_$(machine_major).patch flags
	[ -e "$patch" ] || { say "there is no ${patch##*/}"; return 1; }
	flags='-fsanitize=address,undefined -fno-sanitize-recover=all'
	server_source "$1" &&
		patch -s -d "$1/source" -p1 <"$patch" &&
		ASAN_OPTIONS=detect_leaks=0 build_server "$1" CFLAGS="-O1 -fno-omit-frame-pointer $flags"
}

# make_server_aarch64 DIR: headers and libraries of the machine's version for ARM,
# without a server, with a pg_config that knows where they are
make_server_aarch64() {
	local dir=$1 major sources
	major=$(machine_major)
	lists_of "$dir" 'deb [arch=arm64]' -o APT::Architecture=arm64 -o APT::Architectures=arm64 &&
		(cd "$dir" && apt_wait $sources download "postgresql-server-dev-$major:arm64") &&
		dpkg-deb -x "$dir"/postgresql-server-dev-*.deb "$dir/root" &&
		mkdir -p "$dir/server/bin" || return 1
	rm -rf "$dir/apt" "$dir"/*.deb
	cat >"$dir/server/bin/pg_config" <<-END || return 1
	#!/bin/sh
	case \$1 in
	--includedir-server) echo '$dir/root/usr/include/postgresql/$major/server' ;;
	--pkglibdir | --libdir) echo '$dir/root/usr/lib/postgresql/$major/lib' ;;
	*) exit 1 ;;
	esac
	END
	chmod 755 "$dir/server/bin/pg_config"
}

# need_server NAME: 16, cassert, memory or aarch64; sets PG_CONFIG, makes the server if need be.
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

# test_server NAME [COMMAND ...]: makes the server if need be, and runs $SUITES on
# it in a copy of the tree at $root, by this command if one is given
test_server() {
	local name=$1 work
	shift
	need_server "$name" || return 1
	work=$(make_private_dir) || return 1
	trap 'rm -rf "$work"' RETURN
	chmod 755 "$work"
	copy_tree "$root" "$work"
	report_step "pg$name tests" env SKX_SUITES="$SUITES" "$@" bash "$work/test/setup/server_tests.sh"
}
