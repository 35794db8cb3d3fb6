#!/bin/bash
# test_faults.sh: what `make test-faults` runs: the tests of crashes, replicas,
# concurrency and methods of reading whole, of which `make test` runs short
# forms.
#
#   SKX_IO_METHODS      by which methods the differential test asks everything,
#                       all of them by default
#   SKX_CHURN_SECONDS   of everything at once, 60 by default
#   SKX_STAMPEDE_SECONDS  of cold reads by each method, 60 by default
#   SKX_HUGE_PAGES      huge pages that the machine reserves for the test of these,
#                       if it can; 160 by default
#   SKX_RANK_QUERIES    ranked queries of each mode, 1000 by default
#   SKX_RANK_PARTITIONS  of a ranked table, 1000 by default
#   SKX_SUITES          TAP names or patterns below test/t/, by default those
#                       whose head has a line "Long:"
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"
export SKX_FAULTS_ALL=1
export SKX_CHURN_SECONDS=${SKX_CHURN_SECONDS:-60}
export SKX_STAMPEDE_SECONDS=${SKX_STAMPEDE_SECONDS:-60}
export SKX_IO_METHODS=${SKX_IO_METHODS:-auto buffered direct uring uring_direct shared_buffers}
export SKX_RANK_QUERIES=${SKX_RANK_QUERIES:-1000}
export SKX_RANK_PARTITIONS=${SKX_RANK_PARTITIONS:-1000}
long=$(cd "$root/test/t" && grep -l '^# Long: ' ./*.pl | sed 's|^\./||' | tr '\n' ' ')
export SKX_SUITES=${SKX_SUITES:-$long}
export SUITE_TIMEOUT=${SUITE_TIMEOUT:-3000}

# set_huge_pages NUMBER: as many as the machine can find
huge_file=/proc/sys/vm/nr_hugepages
huge_before=$(cat $huge_file 2>/dev/null)
set_huge_pages() {
	[ -z "$huge_before" ] || echo "$1" | as_root tee $huge_file >/dev/null 2>&1
}

report_begin
work=
trap 'rm -rf "$work"; set_huge_pages "$huge_before"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end faults
enter_copy "$root" || exit 1

# Alone, or other servers would take them.
set_huge_pages $((${huge_before:-0} + ${SKX_HUGE_PAGES:-160}))
report_step "huge pages" env SKX_SUITES=231_huge_pages bash test/setup/server_tests.sh
set_huge_pages "$huge_before"
report_step "faults" bash test/setup/server_tests.sh
cd /
report_end faults
