#!/bin/bash
# deb.sh [DIR]: `make deb`: Debian packages of what `make dist` releases, into
# DIR, dist/deb/ by default, one for each server version that this machine's
# Debian has development files of.  Installs what is missing for that; the
# packages are built by a user without rights, in a copy.
#
#   DEB_VERSIONS   these server versions instead
#   DEB_REVISION   1 by default: of version 1.0-1
#   DEB_TEST       yes: with the regress tests, which takes a server
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"

to=${1:-$root/dist/deb}
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# source_tree: what is released, unpacked as Debian names it, in $work
source_tree() {
	local pgxn debian
	pgxn=$(sh "$here/version.sh" pgxn) && debian=$(sh "$here/version.sh" debian) || return 1
	bash "$here/dist.sh" "$work/release" || return 1
	mkdir "$work/build" && cd "$work/build" &&
		cp "$work/release/skipidx-$pgxn.tar.gz" "skipidx_$debian.orig.tar.gz" &&
		tar -xf "skipidx_$debian.orig.tar.gz" &&
		mv "skipidx-$pgxn" "skipidx-$debian" && cd "skipidx-$debian"
}

# as_builder COMMAND ...: in an environment that is the same everywhere
as_builder() {
	as_server_user env HOME="$work" LC_ALL=C.UTF-8 "$@"
}

bash "$root/test/setup/packages.sh" -c "make deb" deb &&
	bash "$root/test/setup/packages.sh" deb || exit 1
work=$(make_private_dir) && chmod 755 "$work" && source_tree || exit 1
[ "${DEB_REVISION:-1}" = 1 ] || sed -i "1s/-1)/-$DEB_REVISION)/" debian/changelog
[ "${DEB_TEST:-}" = yes ] || export DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=nocheck
export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} parallel=$(nproc)"
[ -z "${DEB_VERSIONS:-}" ] || export PG_SUPPORTED_VERSIONS=$DEB_VERSIONS
[ "$(id -u)" != 0 ] || chown -R "$(find_server_user)" "$work"
as_builder pg_buildext updatecontrol && as_builder dpkg-buildpackage -us -uc || exit 1
mkdir -p "$to" && cp "$work"/build/skipidx_* "$work"/build/*.deb "$to" &&
	say "deb:" "$to"/*.deb
