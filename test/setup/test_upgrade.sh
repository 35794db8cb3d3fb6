#!/bin/bash
# test_upgrade.sh: pg_upgrade of a cluster with skipidx indexes, from the
# host's server version to a newer one in its chroot.  The old server runs in
# the chroot too, so that both see the same locales and libraries.
#
#   NEW   the newer major version, 18 by default
#
# Needs root or sudo.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/chroot.sh"

NEW=${NEW:-18}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=NEW,SKIPIDX_CHROOTS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# old_server CHROOT: a copy of the host's server, with skipidx, and of the
# libraries that the chroot does not have under the same names; a server finds
# its files from where its program is
old_server() {
	local chroot=$1 to=$1/opt/skipidx-old from lib share build
	lib=$("$PG_CONFIG" --pkglibdir)
	share=$("$PG_CONFIG" --sharedir)
	from=$(dirname "$("$PG_CONFIG" --bindir)")
	rm -rf "$to"
	mkdir -p "$to$(dirname "$from")" "$to$(dirname "$share")" || return 1
	cp -r "$from" "$to$from" && cp -r "$share" "$to$share" || return 1
	build=$(make_private_dir) || return 1
	copy_tree "$root" "$build"
	make -s -C "$build" with_llvm=no PG_CONFIG="$PG_CONFIG" || return 1
	cp "$build/skipidx.so" "$to$lib/" || return 1
	cp "$build/skipidx.control" "$build"/sql/skipidx--*.sql "$to$share/extension/" || return 1
	rm -rf "$build"
	ldd "$from"/bin/* "$lib"/*.so 2>/dev/null | bring_libraries "" "$chroot"
	old_install=/opt/skipidx-old$from
}

work=
upgrade() {
	old_server "$CHROOT" || return 1
	work=$(tree_in_chroot "$root" "$CHROOT") || return 1
	inside "$CHROOT" env SKX_SUITES="610_upgrade 645_golden_upgrade" SKX_OLD_INSTALL="$old_install" CI="${CI:-}" \
		bash "${work#"$CHROOT"}/test/setup/server_tests.sh"
}

export_proxies
report_begin
trap '[ -z "$CHROOT" ] || rm -rf ${work:+"$work"} "$CHROOT"/opt/skipidx-* "$CHROOT/etc/ld.so.conf.d/skipidx-libs.conf"' EXIT
bash "$here/packages.sh" build versions || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
CHROOT=
need_chroot "$NEW" && report_step "upgrade to $NEW" upgrade
report_end upgrade
