#!/bin/bash
# test_faults.sh: what `make test-faults` runs: the tests of crashes, replicas
# and concurrency whole, of which `make test` runs short forms.
#
#   SKX_CHURN_SECONDS   of everything at once, 60 by default
#   SKX_STAMPEDE_SECONDS  of cold reads by each method, 60 by default
#   SKX_SUITES          other TAP names or patterns below test/t/
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"
export SKX_FAULTS_ALL=1
export SKX_CHURN_SECONDS=${SKX_CHURN_SECONDS:-60}
export SKX_STAMPEDE_SECONDS=${SKX_STAMPEDE_SECONDS:-60}
export SKX_SUITES=${SKX_SUITES:-5* 240*}
export SUITE_TIMEOUT=${SUITE_TIMEOUT:-2400}

report_begin
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end faults
work=$(make_private_dir) || exit 1
chmod 755 "$work"
copy_tree "$root" "$work"
cd "$work" || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
report_step "faults" bash test/setup/server_tests.sh
cd /
report_end faults
