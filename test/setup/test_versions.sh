#!/bin/bash
# test_versions.sh: builds and tests skipidx on other server versions, each in
# a Debian chroot of its own that is kept for the next run.
#
#   VERSIONS          major versions, "17 18" by default
#   SUITES            which tests: regress, isolation, and TAP files (names or
#                     patterns below test/t/), by default those of every
#                     version: "regress isolation", the differential tests,
#                     plans of ranked scans and the names of wait events
#   SKIPIDX_CHROOTS   where chroots are kept: /var/cache/skipidx-chroots
#
# Needs root or sudo.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/chroot.sh"

VERSIONS=${VERSIONS:-17 18}
SUITES=${SUITES:-regress isolation *differential* *rank_plans* *rank_partitions* *wait_events*}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=VERSIONS,SUITES,SKIPIDX_CHROOTS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# test_version VERSION: make the chroot if need be, copy the tree in, test
test_version() {
	local version=$1 work
	need_chroot "$version" || return 1
	work=$(tree_in_chroot "$root" "$CHROOT") || return 1
	trap 'rm -rf "$work"' RETURN
	report_step "pg$version tests" inside "$CHROOT" \
		env SKX_SUITES="$SUITES" CI="${CI:-}" \
		bash "${work#"$CHROOT"}/test/setup/server_tests.sh"
}

export_proxies
report_begin
for version in $VERSIONS; do
	test_version "$version"
done
report_end versions
