#!/bin/bash
# run_tests.sh: what `make test` runs.  Installs missing packages, checks the
# source tree, builds without warnings, and runs every kind of test; those
# that need a server work on a copy of the tree and a private cluster.
#
#   TEST_STEPS     "tidy assertions unit asan fuzz server", or some
#   SKX_SUITES     passed on to server_tests.sh
#   SKIPIDX_CORPORA  where the corpora are (default ../shared/corpora); tests that
#                  need them are skipped where there are none
#   FUZZ_SECONDS   time for each fuzz target, 3 by default
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"
export FUZZ_SECONDS=${FUZZ_SECONDS:-3}
export SKIPIDX_CORPORA=${SKIPIDX_CORPORA:-$root/../shared/corpora}

# wanted STEP
wanted() {
	case " ${TEST_STEPS:-tidy assertions unit asan fuzz server} " in
		*" $1 "*) return 0 ;;
	esac
	return 1
}

bash "$here/packages.sh" -c "make test" build test || exit 1
report_begin
export TEST_LOGS=$report_logs
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end test
if wanted tidy; then
	report_start bash "$here/selftest.sh"
	report_step "tidy" sh "$root/test/tidy/tidy.sh" "$root"
	report_step "tidy selftest" sh "$root/test/tidy/selftest.sh"
	report_step "harness" report_finish
fi

enter_copy "$root" || exit 1

# by_program TARGET ARG...: make, with a "#count" of the lines that its
# programs close with
by_program() {
	local output=$work/programs.out status
	as_server_user env HOME="$work" FUZZ_SECONDS="$FUZZ_SECONDS" \
		make -s -k -j"$(nproc)" --no-print-directory PG_CONFIG="$PG_CONFIG" "$@" 2>&1 |
		tee "$output"
	status=${PIPESTATUS[0]}
	echo "#count $(grep -cE '^[a-z0-9_]+: [0-9]+ (checks|runs) ok' "$output") $((status != 0))"
	return $status
}

wanted assertions && report_step "assertions" by_program assertions
wanted assertions && report_step "headers" by_program headers
wanted unit && report_step "unit" by_program -C test/unit
wanted asan && report_step "unit, sanitized" by_program -C test/unit asan
wanted fuzz && report_step "fuzz" by_program -C test/fuzz
wanted server && report_step "server tests" bash test/setup/server_tests.sh
cd /
report_end test
