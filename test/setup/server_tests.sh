#!/bin/bash
# server_tests.sh: builds the tree it lies in, installs it, and runs the tests
# that need a server, against a private cluster.  The tree must belong to the
# server user; call it as root (or with sudo at hand) on a copy.
#
#   SKX_SUITES   regress, isolation, TAP names or patterns below test/t/;
#                "regress isolation *" by default
#   SUITE_TIMEOUT  seconds until a suite counts as hung, 1800 by default
#   SKX_FILE_TIMEOUT  the same of a TAP file, which then says where it waits; two
#                thirds of a suite's
#   SKX_ANSWER_TIMEOUT  the same of a statement of these, 600 by default
#   SKX_AGAIN    so often a TAP file that failed beside others is run again, alone;
#                0 by default.  One that passes each time is unsteady: it counts
#                as passed, and the run says in the end what failed
#   SKX_INSTALLED  yes: skipidx is tested as a run before has installed it, by
#                tests that need no module of test/
#   SKX_CC, SKX_COPT  another compiler than the server's, and flags besides
#   TEST_LOGS    a directory for the logs of TAP files that fail
#
# Prints lines for report.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
. "$here/cluster.sh"

PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
export SUITE_TIMEOUT=${SUITE_TIMEOUT:-1800}
export SKX_FILE_TIMEOUT=${SKX_FILE_TIMEOUT:-$((SUITE_TIMEOUT * 2 / 3))}
compiler=(${SKX_CC:+"CC=$SKX_CC"} COPT="-Werror ${SKX_COPT:-}")
passed=0
failed=0
names=()
pids=()

# More TAP files at a time than processors: they wait for servers that start and
# stop, and for other processes.
jobs=$(((3 * $(nproc) + 1) / 2))
# Those that take longest come first, lest one runs alone at the end.
longest='/(234|308|342|370|371|388|590|595)_'
fail() { echo "#failed $*"; failed=$((failed + 1)); }

# make as the server user, without bitcode for the server's JIT compiler
make_as_user() {
	as_server_user env HOME="$PWD" make -s with_llvm=no PG_CONFIG="$PG_CONFIG" "${compiler[@]}" "$@"
}

build() {
	[ "${SKX_INSTALLED:-}" != yes ] || return 0
	{ make_as_user -j"$(nproc)" all test-module &&
		as_root make -s with_llvm=no PG_CONFIG="$PG_CONFIG" "${compiler[@]}" install; } 2>&1 |
		tee build.out
	[ "${PIPESTATUS[0]}" = 0 ] && return
	grep -E 'error:|\*\*\*' build.out | head -n 6 | sed 's/^/#failed /'
	return 1
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
	# a file that ended early counts as one failure
	bad=$(sed -n 's/^test.*(Wstat.*Failed: \([0-9]*\)).*/\1/p' "$1" |
		awk '{ n += $1 > 0 ? $1 : 1 } END { print n + 0 }')
	passed=$((passed + ${ok:-0} - (${ok:-0} > 0 ? bad : 0)))
	failed=$((failed + bad))
}

# follow FILES: copies its input, and tells of each of so many TAP files as it
# ends
follow() {
	local line file result n=0
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
			'['*'] test/t/'*)
				file=${line#*] }
				result=$(echo "${file#* ..*}" | sed 's/^\.* *//; s/ms (.*/ms/; s/  */ /g')
				n=$((n + 1))
				printf '#progress %3d of %d  %-34s %s\n' "$n" "$1" "${file%% *}" \
					"${result:-FAILED}"
				;;
		esac
	done
}

# slowest OUTPUT: the TAP files that took most of the time
slowest() {
	sed -n 's|^\[.*\] test/t/\([^ ]*\)\.pl .* ok *\([0-9]*\) ms .*|\2 \1|p' "$1" |
		sort -rn | head -n 5 | awk '{ printf "%s%s %.0f s", (NR > 1 ? ", " : "#progress slowest: "), $2, $1 / 1000 }
			END { if (NR) print "" }'
}

# why NAME OUTPUT: what there is to know of tests that failed, the names of
# their checks first
why() {
	local file name
	sed -n 's/^test \([^ ]*\) .*FAILED.*/\1/p; s/^     \([^ ]*\) .*FAILED.*/\1/p; s/^not ok [0-9]* *[-+] *\([^ ]*\).*/\1/p' "$2" |
		sed "s/^/#failed $1: /"
	file=regression.diffs
	[ "$1" != isolation ] || file=output_iso/regression.diffs
	[ ! -e $file ] || head -n 200 $file
	for name in $(sed -n 's|^test/t/\(.*\)\.pl *(Wstat.*|\1|p' "$2"); do
		file=tmp_check/log/regress_log_$name
		{ sed -nE 's/^(\[\S+ )?not ok [0-9]+ - //p' "$file" | grep . ||
			grep -vE '^(\[\S+ )?#' "$file" | tail -n 1
			grep -oE 'SKIPIDX_SEED=[0-9]+' "$file" | tail -n 1; } |
			sed "s|^|#failed test/t/$name.pl: |"
		echo "== failures and the end of $file"
		grep -A 8 -E '^(\[\S+ )?not ok ' "$file" | head -n 80
		tail -n 20 "$file"
		[ ! -d "${TEST_LOGS:-}" ] || cp tmp_check/log/*"$name"* "$TEST_LOGS/"
	done
}

# A test that was killed leaves the servers it started; these are known by
# their data directories, which lie in this tree.
stop_leftovers() {
	local file
	for file in tmp_check/*/pgdata/postmaster.pid; do
		[ ! -e "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
	done
}

# suite NAME FILES MAKE-VARIABLES...: one kind of test, the others switched off.
# Without JIT, by which two minutes of the regress tests were spent on compiling.
suite() {
	local name=$1 files=$2
	shift 2
	{
		timeout --kill-after=20 "$SUITE_TIMEOUT" \
			bash "$here/with_cluster.sh" -u -k -c fsync=off -c autovacuum=off -c wal_level=replica -c huge_pages=off -c jit=off \
			env HOME="$PWD" make -s --no-print-directory with_llvm=no \
			PG_CONFIG="$PG_CONFIG" "${compiler[@]}" PROVE_FLAGS="-j$jobs --timer" \
			installcheck "$@" 2>&1 &
		echo $! >"pid.$name"
		wait $!
	} | follow "$files" | tee "suite.$name"
	return "${PIPESTATUS[0]}"
}

# A suite has a process group of its own, which an interrupt does not reach.
stop_suites() {
	trap '' HUP INT TERM
	for file in pid.*; do
		[ ! -e "$file" ] || kill -TERM "$(cat "$file")" 2>/dev/null
	done
	wait
	stop_leftovers
	exit 130
}

# begin NAME FILES MAKE-VARIABLES...: a suite, beside the others
begin() {
	echo "#progress $1"
	suite "$@" &
	names+=("$1")
	pids+=($!)
}

# unended NAME OUTPUT: the TAP files that a suite was still waiting for
unended() {
	local file
	[ "$1" = tap ] || return 0
	printf ', waiting for'
	for file in $tap; do
		grep -qF "] $file ." "$2" || printf ' %s' "${file#test/t/}"
	done
}

# excusable NAME...: whether the TAP files that failed may only be unsteady: two at
# most, in which no server crashed and no answer was wrong
excusable() {
	local name
	[ $# -gt 0 ] && [ $# -le 2 ] || return 1
	for name; do
		[ -e "tmp_check/log/regress_log_$name" ] || return 1
		! grep -qE 'TRAP:|PANIC:|by signal (4|6|7|8|11)' tmp_check/log/*"$name"* || return 1
		! sed -nE 's/^(\[\S+ )?not ok [0-9]+ - //p' "tmp_check/log/regress_log_$name" |
			grep -qE 'agree|same|every row|skipidx_check|checksum' || return 1
	done
}

# unsteady OUTPUT WHY: whether the TAP files that failed are excusable and pass when
# they run again; says what had failed, of which WHY has lines
unsteady() {
	local names name i
	[ "${SKX_AGAIN:-0}" -gt 0 ] || return 1
	names=$(sed -n 's|^test/t/\(.*\)\.pl *(Wstat.*|\1|p' "$1")
	# shellcheck disable=SC2086
	excusable $names || return 1
	for name in $names; do
		for ((i = 0; i < SKX_AGAIN; i++)); do
			echo "#progress again: $name"
			suite again 1 REGRESS= ISOLATION= PROVE_TESTS="test/t/$name.pl" || return 1
		done
	done
	sed -n 's/^#failed /#unsteady /p' "$2"
}

# judge NAME PID: waits for a suite, counts and explains
judge() {
	local name=$1 output=$PWD/suite.$1 before=$failed status
	wait "$2"
	status=$?
	count "$output"
	slowest "$output"
	if [ $status != 0 ]; then
		[ "$name" != tap ] || stop_leftovers
		why "$name" "$output" | tee why.out
		case $status in
			124 | 137) fail "$name took more than $SUITE_TIMEOUT s$(unended "$name" "$output")" ;;
		esac
		[ "$failed" != "$before" ] || fail "$name stopped with exit code $status"
		if [ "$name" = tap ] && [ $status -lt 124 ] && unsteady "$output" why.out; then
			passed=$((passed + failed - before))
			failed=$before
		fi
	fi
	rm -f "$output" "pid.$name"
}

echo "== build with $("$PG_CONFIG" --version)"
echo "#progress build"
if build; then
	passed=$((passed + 1))
	set -f
	set -- ${SKX_SUITES:-regress isolation *}
	set +f
	tap=
	for name; do
		case $name in
			regress) begin regress 0 ISOLATION= TAP_TESTS= ;;
			isolation) begin isolation 0 REGRESS= TAP_TESTS= ;;
			*) tap="$tap $(ls test/t/$name test/t/$name.pl 2>/dev/null | grep '\.pl$' | sort -u | tr '\n' ' ')" ;;
		esac
	done
	tap=$(tr ' ' '\n' <<<"$tap" | awk -v longest="$longest" \
		'$0 ~ longest { print } $0 !~ longest { rest = rest $0 "\n" } END { printf "%s", rest }' | tr '\n' ' ')
	[ -z "${tap// /}" ] ||
		begin tap "$(echo $tap | wc -w)" REGRESS= ISOLATION= PROVE_TESTS="$tap"
	trap stop_suites HUP INT TERM
	for i in ${names[@]+"${!names[@]}"}; do
		judge "${names[i]}" "${pids[i]}"
	done
else
	fail "build"
fi
echo "#count $passed $failed"
[ $failed = 0 ]
