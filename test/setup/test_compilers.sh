#!/bin/bash
# test_compilers.sh: what `make test-compilers` runs: the extension built by clang
# without warnings, and the unit tests by clang, by musl's gcc, on an x86-64
# processor without AVX2, and on an ARM processor; the last two by qemu.  The
# golden pages and bits are the same everywhere.
#
#   COMPILERS         "extension clang musl narrow aarch64", or some
#   SKIPIDX_SERVERS   where headers and libraries of a server for ARM are kept:
#                     /var/cache/skipidx-servers
#
# Needs root or sudo where packages are missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/servers.sh"

# What the server's own gcc is told and clang does not know.
foreign='-Wno-unknown-warning-option -Wno-ignored-optimization-argument -Wno-ignored-attributes'

# by_clang: all that make makes
by_clang() {
	as_server_user env HOME="$work" make -s -j"$(nproc)" --no-print-directory with_llvm=no \
		PG_CONFIG="$PG_CONFIG" CC=clang COPT="-Werror $foreign" all test-module
}

# units TARGET: of test/unit, with a "#count" of the lines that its programs close
# with
units() {
	local output=$work/units.out status
	as_server_user env HOME="$work" make -s -k -j"$(nproc)" --no-print-directory \
		-C test/unit PG_CONFIG="$PG_CONFIG" "$1" 2>&1 | tee "$output"
	status=${PIPESTATUS[0]}
	echo "#count $(grep -c '^[a-z0-9_]*: [0-9]* checks ok' "$output") $((status != 0))"
	return "$status"
}

report_begin
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build compilers || report_end compilers
enter_copy "$root" || exit 1
own=$PG_CONFIG
for compiler in ${COMPILERS:-extension clang musl narrow aarch64}; do
	PG_CONFIG=$own
	case $compiler in
		extension) report_step "the extension by clang" by_clang ;;
		aarch64) need_server aarch64 && report_step "unit, aarch64" units aarch64 ;;
		*) report_step "unit, $compiler" units "$compiler" ;;
	esac
done
cd /
report_end compilers
