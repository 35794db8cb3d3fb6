#!/bin/bash
# test_versions.sh: builds and tests skipidx on other servers: versions in
# Debian chroots of their own, and a 16 and one with assertions beside the
# machine's own.  All are kept for the next run.  And has the sources analysed
# (test/analysis/).
#
#   VERSIONS          major versions, cassert, or analysis: "analysis 16 17 18
#                     19 cassert" by default
#   SUITES            which tests: regress, isolation, and TAP files (names or
#                     patterns below test/t/), by default those of every
#                     version: "regress isolation", the differential tests,
#                     contracts, plans of ranked scans, the names of wait
#                     events, replicated rows and pools
#   SKIPIDX_CHROOTS   where chroots are kept: /var/cache/skipidx-chroots
#   SKIPIDX_SERVERS   where other servers are: /var/cache/skipidx-servers
#
# Needs root or sudo.
#
# Holds: compat 2
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/chroot.sh"
. "$here/servers.sh"

VERSIONS=${VERSIONS:-analysis 16 17 18 19 cassert}
SUITES=${SUITES:-regress isolation *differential* *contract* *rank_plans* *rank_partitions* *wait_events* *replica_identity* *pgbouncer*}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=VERSIONS,SUITES,SUITE_TIMEOUT,SKX_AGAIN,SKIPIDX_SEED,SKIPIDX_CHROOTS,SKIPIDX_SERVERS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# test_chroot VERSION: make the chroot if need be, copy the tree in, test
test_chroot() {
	local version=$1 work
	need_chroot "$version" || return 1
	work=$(tree_in_chroot "$root" "$CHROOT") || return 1
	trap 'rm -rf "$work"' RETURN
	# which brings pgindent, and so a check more
	report_step "pg$version tidy" inside "$CHROOT" \
		sh "${work#"$CHROOT"}/test/tidy/tidy.sh"
	report_step "pg$version tests" inside "$CHROOT" \
		env SKX_SUITES="$SUITES" CI="${CI:-}" SKX_AGAIN="${SKX_AGAIN:-0}" ${SUITE_TIMEOUT:+"SUITE_TIMEOUT=$SUITE_TIMEOUT"} \
		${SKIPIDX_SEED:+"SKIPIDX_SEED=$SKIPIDX_SEED"} \
		bash "${work#"$CHROOT"}/test/setup/server_tests.sh"
}

export_proxies
report_begin
for version in $VERSIONS; do
	unset PG_CONFIG
	case $version in
		16 | cassert) test_server "$version" ;;
		analysis) report_step analysis bash "$here/../analysis/analyze.sh" find ;;
		*) test_chroot "$version" ;;
	esac
done
report_end versions
