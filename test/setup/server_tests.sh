#!/bin/bash
# server_tests.sh: builds the tree it lies in, installs it, and runs the tests
# that need a server, against a private cluster.  The tree must belong to the
# server user; call it as root (or with sudo at hand) on a copy.
#
#   SKX_SUITES   regress, isolation, TAP names or patterns below test/t/;
#                "regress isolation *" by default
#   SUITE_TIMEOUT  seconds until a suite counts as hung, 900 by default
#
# Prints "#count PASSED FAILED" for report.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
. "$here/cluster.sh"

PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
passed=0
failed=0
fail() { echo "server_tests: $*"; failed=$((failed + 1)); }

# make as the server user, without bitcode for the server's JIT compiler
make_as_user() {
	as_server_user env HOME="$PWD" make -s with_llvm=no PG_CONFIG="$PG_CONFIG" "$@"
}

build() {
	make_as_user -j"$(nproc)" COPT=-Werror all &&
		as_root make -s with_llvm=no PG_CONFIG="$PG_CONFIG" COPT=-Werror install
}

# count OUTPUT: adds the lines of pg_regress of all versions ("test x ... ok",
# "ok 1 - x") and of prove ("test/t/x.pl .. ok", "Tests=12")
count() {
	local ok bad
	ok=$(grep -cE '^(test .*\.\.\. ok|     .*\.\.\. ok|ok [0-9]+ )' "$1")
	bad=$(grep -cE '^(test .*\.\.\. FAILED|     .*\.\.\. FAILED|not ok [0-9]+ )' "$1")
	passed=$((passed + ok))
	failed=$((failed + bad))
	ok=$(sed -n 's/^Files=.*Tests=\([0-9]*\),.*/\1/p' "$1")
	bad=$(sed -n 's/.*Failed: \([0-9]*\)).*/\1/p' "$1" | awk '{ n += $1 } END { print n + 0 }')
	passed=$((passed + ${ok:-0} - (${ok:-0} > 0 ? bad : 0)))
	failed=$((failed + bad))
}

# A test that was killed leaves the servers it started; these are known by
# their data directories, which lie in this tree.
stop_leftovers() {
	local file
	for file in tmp_check/*/pgdata/postmaster.pid; do
		[ ! -e "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
	done
}

# suite NAME MAKE-VARIABLES...: one kind of test, the others switched off
suite() {
	local name=$1 output=$PWD/suite.out before=$failed status file
	shift
	echo "== $name"
	timeout --kill-after=20 "${SUITE_TIMEOUT:-900}" \
		bash "$here/with_cluster.sh" -u -k -c fsync=off -c autovacuum=off -c wal_level=replica -c huge_pages=off \
		env HOME="$PWD" make -s --no-print-directory with_llvm=no \
		PG_CONFIG="$PG_CONFIG" PROVE_FLAGS="-j$(nproc) --timer" \
		installcheck "$@" >"$output" 2>&1
	status=$?
	cat "$output"
	count "$output"
	if [ $status != 0 ]; then
		stop_leftovers
		for file in regression.diffs output_iso/regression.diffs; do
			[ ! -e $file ] || head -n 200 $file
			rm -f $file
		done
		for file in $(sed -n 's|^test/t/\(.*\)\.pl *(Wstat.*|tmp_check/log/regress_log_\1|p' "$output"); do
			echo "== failures and the end of $file"
			grep -A 8 '\] not ok ' "$file" | head -n 80
			tail -n 20 "$file"
		done
		[ $status != 124 ] || fail "$name took more than ${SUITE_TIMEOUT:-900} s"
		[ "$failed" != "$before" ] || fail "$name stopped with exit code $status"
	fi
	rm -f "$output"
}

echo "== build with $("$PG_CONFIG" --version)"
if build; then
	passed=$((passed + 1))
	set -f
	set -- ${SKX_SUITES:-regress isolation *}
	set +f
	tap=
	for name; do
		case $name in
			regress) suite regress ISOLATION= TAP_TESTS= ;;
			isolation) suite isolation REGRESS= TAP_TESTS= ;;
			*) tap="$tap $(ls test/t/$name test/t/$name.pl 2>/dev/null | grep '\.pl$' | sort -u | tr '\n' ' ')" ;;
		esac
	done
	[ -z "${tap// /}" ] || suite tap REGRESS= ISOLATION= PROVE_TESTS="$tap"
else
	fail "build"
fi
echo "#count $passed $failed"
[ $failed = 0 ]
