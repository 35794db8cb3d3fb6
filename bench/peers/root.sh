#!/bin/bash
# root.sh: a Debian root with PostgreSQL 18 and pg_textsearch, which Debian 12 does
# not have; that of test_versions.sh, with packages added.  As root or with sudo.
#
#   root.sh make TREE        makes it if need be, copies the tree there, builds and
#                            installs it; prints the root and where the copy is in it
#   root.sh run ROOT COMMAND ...   runs it in the root
#   root.sh remove DIR       the copy, as seen from outside
#
#   SKIPIDX_CHROOTS   where roots are kept: /var/cache/skipidx-chroots
#   BENCH_INSTALL=no  the skipidx that is installed there already
#
# Without pg_textsearch it goes on and says so; without a root it fails.
set -u
version=18
setup=$(cd "$(dirname "$0")/../../test/setup" && pwd)
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "root.sh: this needs root or sudo" >&2; exit 1; }
	exec sudo --preserve-env=SKIPIDX_CHROOTS,BENCH_INSTALL,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi
here=$setup
. "$setup/cluster.sh"
. "$setup/apt.sh"
. "$setup/report.sh"
. "$setup/chroot.sh"

# add_packages PACKAGE ...: those that are not there yet
add_packages() {
	local package wanted=
	for package; do
		inside "$CHROOT" dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'install ok installed' || wanted="$wanted $package"
	done
	[ -n "$wanted" ] || return 0
	say "packages in $CHROOT:$wanted"
	inside "$CHROOT" apt-get -q -y --no-install-recommends install $wanted && return 0
	update_inside "$CHROOT"
	inside "$CHROOT" apt-get -q -y --no-install-recommends install $wanted
}

# build_inside TREE: with the root's own compiler, for its server
build_inside() {
	[ "${BENCH_INSTALL:-yes}" = yes ] || return 0
	inside "$CHROOT" sh -c "cd '$1' && make -s -j$(nproc) with_llvm=no &&
		make -s with_llvm=no install"
}

make_root() {
	local log
	tree=
	export_proxies
	report_begin
	trap 'trap "" HUP INT TERM; rm -rf "$report_logs" ${tree:+"$tree"}' EXIT
	trap 'exit 130' HUP INT TERM
	need_chroot $version && add_packages python3 valgrind || return 1
	add_packages postgresql-$version-pg-textsearch ||
		say "bench: pg_textsearch is not to be had, left out"
	tree=$(tree_in_chroot "$1" "$CHROOT") || return 1
	log=$tree/build.log
	build_inside "${tree#"$CHROOT"}" >"$log" 2>&1 || { cat "$log"; return 1; }
	mkdir -p "$tree/tmp" && chmod 1777 "$tree/tmp" || return 1
	echo "$CHROOT ${tree#"$CHROOT"}" >&3
	tree=						# which is the caller's from now on
}

case ${1-} in
	make) make_root "$2" 3>&1 >&2 ;;
	run)
		shift
		inside "$@" ;;
	remove)
		case $2 in
			# A server that is being ended may still write there.
			*/tmp/skipidx-src.*) rm -rf "$2" 2>/dev/null || { sleep 2; rm -rf "$2"; } ;;
		esac ;;
	*) say "usage: root.sh make TREE | run ROOT COMMAND ... | remove DIR"; exit 2 ;;
esac
