#!/bin/bash
# test_limits.sh: what `make test-limits` runs: the differential tests on a build
# whose limits are small (small_limits.sh).
#
#   SKX_SUITES   as of `make test`, by default what compares answers; tests of the
#                work that is done fail with such limits
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"
export SKX_SUITES=${SKX_SUITES:-300* 305* 306* 307* 308* 309* 350* 352* 356* 357* 371* 374* 376* 388*}

report_begin
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end limits
enter_copy "$root" || exit 1
report_step "small limits" sh test/setup/small_limits.sh "$work" || report_end limits
report_step "small limits, answers" bash test/setup/server_tests.sh
cd /
report_end limits
