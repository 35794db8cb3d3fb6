#!/bin/bash
# test_packages.sh: `make test-packages`: Debian packages as packaging/deb.sh
# builds them, each in a root of the release that has the server version: checked
# by lintian, installed in a fresh root with what apt brings for it, tried,
# installed over, upgraded, downgraded, and purged with the extension created;
# and what other channels take (other_packages.sh).
#
#   VERSIONS          server versions, pgxn, rpm, image, docker, upgrade: "15 17 18
#                     pgxn rpm image docker upgrade" by default; the last needs
#                     packages of 15 and 18
#   PACKAGES_BUILT    yes: takes the packages that a run before has left
#   SKIPIDX_CHROOTS   where roots are kept: /var/cache/skipidx-chroots
#
# Leaves packages, and a list of what they are, in dist/deb/VERSION.  Needs root
# or sudo.
#
# Holds: packaging 2, 3, 4, 5, 6, 7, 8
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/chroot.sh"
. "$here/other_packages.sh"

VERSIONS=${VERSIONS:-15 17 18 pgxn rpm image docker upgrade}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=VERSIONS,PACKAGES_BUILT,SKIPIDX_CHROOTS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# need_builder SUITE [VERSION]: sets builder, a root that is kept, with make, and
# with servers that are not of the release itself; all else a build installs
need_builder() {
	local upper=
	[ -z "${2:-}" ] || upper=$(upper_suite_of "$2")
	builder=$SKIPIDX_CHROOTS/$1-packages
	[ ! -d "$builder" ] || return 0
	need_bare_root "$1" && copy_root "$1" || return 1
	no_clusters "$copy"
	inside "$copy" apt-get -q update && { [ -z "$upper" ] || add_upper_suite "$2" "$copy"; } &&
		inside "$copy" apt-get -q install -y --no-install-recommends ${upper:+-t "$upper"} make \
			${upper:+libpq-dev $(server_inside "$2")} || return 1
	mv "$copy" "$builder" && copy=
}

# in_builder COMMAND: with the shell, in a copy of the tree; what it leaves in
# dist/ becomes $made
in_builder() {
	local tree status
	tree=$(mktemp -d "$builder/tmp/skipidx-src.XXXXXX") && copy_tree "$root" "$tree" || return 1
	inside "$builder" sh -c "chown -R root: '${tree#"$builder"}' && cd '${tree#"$builder"}' && $1"
	status=$?
	if [ $status = 0 ]; then
		rm -rf "$made" && mkdir -p "$(dirname "$made")" && mv "$tree/dist" "$made"
		status=$?
	fi
	rm -rf "$tree"
	return $status
}

# build VERSION: as a stranger would
build() {
	local made
	made=$debs.part
	need_builder "$(suite_of "$1")" "$1" && in_builder "make deb DEB_VERSIONS='$1'" || return 1
	rm -rf "$debs" && mv "$made/deb" "$debs" && rm -rf "$made"
}

# check VERSION: all that lintian knows, but for that nobody has asked Debian for
# the package
check() {
	local work status
	need_builder "$(suite_of "$1")" "$1" || return 1
	work=$(mktemp -d "$builder/tmp/skipidx-debs.XXXXXX") && cp "$debs"/* "$work" || return 1
	inside "$builder" sh -c "lintian --allow-root --info --fail-on error,warning --tag-display-limit 0 \
		--suppress-tags initial-upload-closes-no-bugs '${work#"$builder"}'/*.changes"
	status=$?
	rm -rf "$work"
	return $status
}

# fresh_root SUITE VERSION PACKAGE...: a new copy of a bare root with these, where
# the scripts of test/packages/ are /tmp/skipidx
fresh_root() {
	local suite=$1 version=$2 upper
	shift 2
	need_bare_root "$suite" && copy_root "$suite" || return 1
	no_clusters "$copy"
	upper=$(upper_suite_of "$version")
	cp -r "$root/test/packages" "$copy/tmp/skipidx" && inside "$copy" apt-get -q update &&
		add_upper_suite "$version" "$copy" || return 1
	[ ! -e "$debs" ] || cp "$debs"/postgresql-"$version"-skipidx_*.deb "$copy/tmp/skipidx/skipidx.deb" || return 1
	inside "$copy" apt-get -q install -y --no-install-recommends ${upper:+-t "$upper"} "$@"
}

# newer_revision: the same files as another package
newer_revision() {
	inside "$copy" sh -c 'cd /tmp/skipidx && dpkg-deb -R skipidx.deb newer &&
		sed -i "s/^\(Version: .*-\)1$/\12/" newer/DEBIAN/control &&
		dpkg-deb --root-owner-group -b newer newer.deb'
}

install_fresh() {
	fresh_root "$(suite_of "$1")" "$1" /tmp/skipidx/skipidx.deb && newer_revision
}

# list VERSION: what was installed
list() {
	inside "$copy" bash /tmp/skipidx/listing.sh "$1" "$sql_version" 2>&1 | tee "$debs/listing.txt"
	return "${PIPESTATUS[0]}"
}

# try VERSION README [OPTION...]: what is installed in $copy, or $tried, on a server with
# these options of pg_virtualenv, whose port is no one else's; then the life of
# the package, if there is one
try() {
	local version=$1 readme=$2 where=${tried:-$copy}
	shift 2
	inside "$where" apt-get -q install -y --no-install-recommends iproute2 || return 1
	inside "$where" env PG_VIRTUALENV_UNSHARE=--net pg_virtualenv -v "$version" "$@" -o log_min_messages=debug1 -o jit=off sh -c "
		cd /tmp/skipidx
		bash installed.sh '$sql_version' $readme /var/log/postgresql/postgresql-$version-regress.log
		first=\$?
		[ ! -e newer.deb ] || bash lifecycle.sh $version /tmp/skipidx/skipidx.deb /tmp/skipidx/newer.deb && [ \$first = 0 ]"
}

# try_package VERSION: with the README that came with it
try_package() {
	local readme="/usr/share/doc/postgresql-$1-skipidx/README.md"
	[ -e "$copy$readme" ] || readme=$readme.gz
	try "$1" "$readme"
}

# test_debian VERSION
test_debian() {
	debs=$root/dist/deb/$1
	[ "${PACKAGES_BUILT:-}" = yes ] || report_step "pg$1 package" build "$1" || return
	report_step "pg$1 lintian" check "$1"
	report_step "pg$1 installed fresh" install_fresh "$1" || return
	report_step "pg$1 what it is" list "$1"
	report_step "pg$1 tried" try_package "$1"
}

export_proxies
report_begin
older=
trap 'drop_copy; [ -z "$older" ] || rm -rf "$older"' EXIT
trap 'exit 130' HUP INT TERM
sql_version=$(sh "$root/packaging/version.sh" sql) || exit 1
debs=
for version in $VERSIONS; do
	case $version in
		pgxn | rpm | image | docker | upgrade) "test_$version" ;;
		*) test_debian "$version" ;;
	esac
done
report_end packages
