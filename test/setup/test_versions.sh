#!/bin/bash
# test_versions.sh: builds and tests skipidx on other server versions, each in
# a Debian chroot of its own that is kept for the next run.
#
#   VERSIONS          major versions, "17 18" by default
#   SUITES            which tests: regress, isolation, and TAP files (names or
#                     patterns below test/t/), by default those of every
#                     version: "regress isolation" and the differential tests
#   SKIPIDX_CHROOTS   where chroots are kept: /var/cache/skipidx-chroots
#
# Needs root or sudo.  The mirror is the one the host's own apt uses.  Mounts
# are made in a mount namespace that ends with this script, however it ends.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"

VERSIONS=${VERSIONS:-17 18}
SUITES=${SUITES:-regress isolation *differential*}
SKIPIDX_CHROOTS=${SKIPIDX_CHROOTS:-/var/cache/skipidx-chroots}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=VERSIONS,SUITES,SKIPIDX_CHROOTS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# The Debian release that ships each server version.
suite_of() {
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky ;;
		*) say "no Debian release known with PostgreSQL $1"; return 1 ;;
	esac
}

# inside CHROOT COMMAND ...: with /proc and /dev/shm, which servers and
# package scripts need; every process left behind ends with COMMAND
inside() {
	local chroot=$1
	shift
	unshare --mount --propagation private --pid --fork --kill-child \
		sh -c 'mount -t proc proc "$0/proc" &&
			mkdir -p "$0/dev/shm" &&
			mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
			exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
				HOME=/tmp LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
				http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
				no_proxy="${no_proxy:-}" "$@"' "$chroot" "$@" </dev/null
}

# make_chroot VERSION CHROOT: built aside and renamed, so that a chroot with
# its final name is a whole one
make_chroot() {
	local version=$1 chroot=$2 part=$2.part suite script mirror
	suite=$(suite_of "$version") || return 1
	bash "$here/packages.sh" versions || return 1
	mirror=$(debian_mirror)
	if [ -z "$mirror" ]; then
		apt_wait update >&2
		mirror=$(debian_mirror)
	fi
	[ -n "$mirror" ] || { say "apt has no Debian archive on this machine"; return 1; }
	# debootstrap may be older than the release; all since are made as sid is.
	script=/usr/share/debootstrap/scripts/$suite
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	rm -rf "$part"
	mkdir -p "$part" || return 1
	debootstrap --variant=minbase "$suite" "$part" "$mirror" "$script" </dev/null || return 1
	printf '#!/bin/sh\nexit 101\n' >"$part/usr/sbin/policy-rc.d"
	chmod 755 "$part/usr/sbin/policy-rc.d"
	mkdir -p "$part/etc/postgresql-common"
	echo 'create_main_cluster = false' >"$part/etc/postgresql-common/createcluster.conf"
	inside "$part" apt-get -q -y --no-install-recommends install \
		"postgresql-$version" "postgresql-server-dev-$version" \
		libipc-run-perl perl make gcc libc6-dev || return 1
	inside "$part" apt-get clean
	rm -rf "$chroot"
	mv "$part" "$chroot"
}

# test_version VERSION: make the chroot if need be, copy the tree in, test
test_version() {
	local version=$1 chroot work status
	chroot=$SKIPIDX_CHROOTS/$(suite_of "$version")-pg$version || return 1
	if [ ! -d "$chroot" ]; then
		say "PostgreSQL $version: making $chroot"
		report_step "pg$version chroot" make_chroot "$version" "$chroot" || return 1
	fi
	work=$(mktemp -d "$chroot/tmp/skipidx-src.XXXXXX") || return 1
	trap 'rm -rf "$work"' RETURN
	copy_tree "$root" "$work"
	# Owner by the chroot's own user table; the numbers differ from the host's.
	inside "$chroot" sh -c "chown -R postgres '${work#"$chroot"}' && chmod 755 '${work#"$chroot"}'"
	report_step "pg$version tests" inside "$chroot" \
		env SKX_SUITES="$SUITES" CI="${CI:-}" \
		bash "${work#"$chroot"}/test/setup/server_tests.sh"
	status=$?
	return $status
}

export_proxies
report_begin
for version in $VERSIONS; do
	test_version "$version"
done
report_end versions
