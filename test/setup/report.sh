# report.sh: sourced by the test scripts.  Counts what passed and failed, keeps
# the output of each step in a file and shows it when the step fails.
#
# A step's output may count for itself: a line "#count PASSED FAILED" in it
# replaces the plain 1 for the step.

report_begin() {
	report_passed=0
	report_failed=0
	report_started=$(date +%s)
	report_logs=$(mktemp -d "${TMPDIR:-/tmp}/skipidx-logs.XXXXXX")
}

# report_count PASSED FAILED
report_count() {
	report_passed=$((report_passed + $1))
	report_failed=$((report_failed + $2))
}

# report_step NAME COMMAND ...: run, time, count; COMMAND's exit code
report_step() {
	local name=$1 began log status passed failed
	shift
	began=$(date +%s)
	log=$report_logs/$(printf '%s' "$name" | tr -c 'A-Za-z0-9' '_').log
	"$@" >"$log" 2>&1
	status=$?
	passed=$(awk '$1 == "#count" { n += $2 } END { print n + 0 }' "$log")
	failed=$(awk '$1 == "#count" { n += $3 } END { print n + 0 }' "$log")
	if [ $((passed + failed)) = 0 ]; then
		[ $status = 0 ] && passed=1 || failed=1
	elif [ $status != 0 ] && [ "$failed" = 0 ]; then
		failed=1
	elif [ $status = 0 ] && [ "$failed" != 0 ]; then
		status=1
	fi
	report_count "$passed" "$failed"
	if [ $status = 0 ]; then
		printf 'ok      %-28s %5d passed %24ss\n' "$name" "$passed" $(($(date +%s) - began))
	else
		sed 's/^/    | /' "$log" | tail -n "${REPORT_LINES:-400}"
		printf 'FAILED  %-28s %5d passed, %d failed %12ss\n' "$name" "$passed" "$failed" $(($(date +%s) - began))
	fi
	return $status
}

# report_end WORD: the closing line, and the exit code of the whole
report_end() {
	echo "time: $(($(date +%s) - report_started)) s"
	[ "$report_failed" != 0 ] || rm -rf "$report_logs"
	[ "$report_failed" = 0 ] || echo "logs: $report_logs"
	echo "$1: $report_passed passed, $report_failed failed"
	[ "$report_failed" = 0 ] && [ "$report_passed" -gt 0 ]
	exit $?
}
