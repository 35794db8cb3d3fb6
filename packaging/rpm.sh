#!/bin/bash
# rpm.sh [DIR]: `make rpm`: RPM packages of what `make dist` releases, source and
# binary, into DIR, dist/rpm/ by default, for the server of pg_config.  On Debian
# this shows that the spec builds; what is built there is of no use elsewhere.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"

to=${1:-$root/dist/rpm}
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

if command -v apt-get >/dev/null; then
	bash "$root/test/setup/packages.sh" -c "make rpm" build rpm &&
		bash "$root/test/setup/packages.sh" build rpm || exit 1
	# rpm does not know what Debian has installed.
	options=--nodeps
fi
PG_CONFIG=$(find_pg_config) || exit 1
prefix=$(dirname "$("$PG_CONFIG" --bindir)")
work=$(make_private_dir) && chmod 755 "$work" && bash "$here/dist.sh" "$work/SOURCES" &&
	sh "$here/version.sh" fill <"$here/skipidx.spec.in" >"$work/skipidx.spec" || exit 1
[ "$(id -u)" != 0 ] || chown -R "$(find_server_user)" "$work"
as_server_user env HOME="$work" LC_ALL=C.UTF-8 rpmbuild -ba ${options:-} \
	--define "_topdir $work" --define "_smp_mflags -j$(nproc)" \
	--define "pgmajorversion $("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')" \
	--define "pginstdir $prefix" --define "pgpkglibdir $("$PG_CONFIG" --pkglibdir)" \
	--define "pgsharedir $("$PG_CONFIG" --sharedir)" "$work/skipidx.spec" || exit 1
mkdir -p "$to" && find "$work/SRPMS" "$work/RPMS" -name '*.rpm' -exec cp -t "$to" {} + &&
	cp "$work/skipidx.spec" "$to" && say "rpm:" "$to"/*.rpm
