#!/bin/bash
# test_memory.sh: what `make test-memory` runs: server tests, and generated calls
# of functions at length, on a server built from its source package with
# AddressSanitizer and UBSan, in which each chunk of memory is a malloc of its own
# (chunks_*.patch).  The extension is built with the same sanitizers.  A process
# in which they find something ends with a report; each report is a failure.  The
# server is kept for the next run.
#
# The extension's compiler is clang, whose UBSan sees elements of no array, but not
# where numbers are said to wrap (-fwrapv), as they are in the server.  What UBSan
# finds there is an illegal instruction (ILL) in the report, which names the
# function; what it finds in the server is in the server's log.
#
#   SUITES               as SKX_SUITES of server_tests.sh; below is what it is by
#                        default
#   SKX_HOSTILE_ROUNDS   of t/141_hostile_functions.pl, 30 by default
#   SKIPIDX_SERVERS      where servers are: /var/cache/skipidx-servers
#
# Needs root or sudo.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/servers.sh"

SUITES=${SUITES:-regress isolation 006* 140* 141* 145*}
export SKX_HOSTILE_ROUNDS=${SKX_HOSTILE_ROUNDS:-30}
export SUITE_TIMEOUT=${SUITE_TIMEOUT:-2400}
# What tests wait for takes longer, too.
export PG_TEST_TIMEOUT_DEFAULT=${PG_TEST_TIMEOUT_DEFAULT:-600}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=SUITES,SKX_HOSTILE_ROUNDS,SKIPIDX_SEED,SUITE_TIMEOUT,PG_TEST_TIMEOUT_DEFAULT,SKIPIDX_SERVERS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# count_reports DIR: a failure for each, with the error and the place
count_reports() {
	local report n=0
	for report in "$1"/*; do
		[ -e "$report" ] || continue
		n=$((n + 1))
		echo "#failed $(sed -n 's/^==[0-9]*==ERROR: //p' "$report" | head -n 1 | cut -c -90): $(sed -n 's/^ *#[0-9]* 0x[0-9a-f]* in \(skx[^ ]*\|skipidx[^ ]*\) .*\/\([^/]*\)$/\1 \2/p' "$report" | head -n 1)"
		cat "$report"
	done
	echo "#count $((n == 0)) $n"
	[ $n = 0 ]
}

export_proxies
report_begin
reports=$(make_private_dir) || exit 1
trap 'rm -rf "$reports"' EXIT
trap 'exit 130' HUP INT TERM

export ASAN_OPTIONS="detect_leaks=0:abort_on_error=1:handle_sigill=1:allocator_may_return_null=1:malloc_context_size=16:quarantine_size_mb=64:print_legend=0:log_path=$reports/report"
export UBSAN_OPTIONS="print_stacktrace=1:abort_on_error=1"
# Frames are larger, and queries nested as deeply as elsewhere.
ulimit -s 524288
export PGOPTIONS='-c max_stack_depth=500MB'
export SKX_CC=clang
export SKX_COPT='-fno-wrapv -fsanitize-trap=undefined -Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument'
# Where addresses are too random, the sanitizer finds no room for its own.
calm=
! setarch -R true 2>/dev/null || calm='setarch -R'

test_server memory $calm
report_step "reports" count_reports "$reports"
report_end memory
