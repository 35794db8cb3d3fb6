# report.sh: sourced by the test scripts after cluster.sh.  Counts what passed,
# failed and was skipped, keeps the output of each step in a file, says how it
# goes while it runs, and ends with what failed.
#
#   REPORT_LINES   so many of the last lines of a step that fails are shown when
#                  it does, 0 by default
#   REPORT_LIMIT   seconds that a step may take, 3600 by default; then it is ended,
#                  and what it waited for is said
#
# A step's output may speak for itself, in lines that begin with
#   #count PASSED FAILED   instead of the plain 1 for the step
#   #progress TEXT         shown at once
#   #failed TEXT           what to say of the failure in the end
#   #unsteady TEXT         what failed at first and passed when it was run again

# Seconds after which something is said of a step that says nothing.
report_silence=6

# Seconds between looks at what a step says, and at most from its end to the next.
report_poll=0.3

report_begin() {
	report_passed=0
	report_failed=0
	report_skipped=0
	report_started=$(date +%s)
	report_broken=()
	report_unsteady=()
	report_logs=$(mktemp -d "${TMPDIR:-/tmp}/skipidx-logs.XXXXXX")
}

# report_count PASSED FAILED
report_count() {
	report_passed=$((report_passed + $1))
	report_failed=$((report_failed + $2))
}

# report_skip NAME WHY: a step that cannot be taken here
report_skip() {
	report_skipped=$((report_skipped + 1))
	printf 'skipped %s: %s\n' "$1" "$2"
}

# report_say TEXT: indented, or for the step that this one is a part of
report_say() {
	printf '%s%s\n' "${report_prefix:-        }" "$1"
}

# report_kill SIGNAL PID [BUT]: to all that PID has started, apart from BUT and
# what that has
report_kill() {
	local child
	for child in $(children_of "$2"); do
		[ "$child" != "${3:-}" ] || continue
		report_kill "$1" "$child"
		kill "-$1" "$child" 2>/dev/null
	done
}

# report_stop WHAT LOG SECONDS: ends a step that takes too long, from the shell
# that ticks beside it
report_stop() {
	local last second
	last=$(grep -v '^#' "$2" | tail -n 1 | tr -cd '[:print:]' | cut -c -100)
	touch "$2.stopped"
	printf '\n#failed %s: not done after %s s%s\n' "$1" "$3" \
		"${last:+; its last line: $last}" >>"$2"
	report_say "$1: not done after $3 s, so it is ended"
	report_kill TERM $$ "$BASHPID"
	# in which clusters are removed
	for second in {1..20}; do
		[ ! -e "$2.done" ] || return 0
		sleep 1
	done
	report_kill KILL $$ "$BASHPID"
}

# report_tick WHAT LOG: tells of what comes in LOG, and that time passes, until
# LOG.done is there or the shell that waits for it is gone; ends what takes
# longer than it may
report_tick() {
	local what=$1 log=$2 began=$SECONDS said=$SECONDS shown=0 done='' line last=
	local limit=${REPORT_LIMIT:-3600} end
	local -a lines
	end=$((SECONDS + limit))
	while kill -0 $$ 2>/dev/null && [ -z "$done" ]; do
		sleep $report_poll
		[ ! -e "$log.done" ] || done=yes
		if [ -z "$done" ] && [ "$SECONDS" -ge "$end" ]; then
			report_stop "$what" "$log" "$limit"
			end=$((SECONDS + limit))
		fi
		mapfile -t lines < <(sed -n 's/^#progress //p' "$log")
		for line in "${lines[@]:shown}"; do
			report_say "$line"
			said=$SECONDS
		done
		shown=${#lines[@]}
		if [ $((SECONDS - said)) -ge $report_silence ]; then
			line=$(grep -v '^#' "$log" | tail -n 1 | tr -cd '[:print:]' | tr -s ' .=' | sed 's/^[=+ ]*//' | cut -c -60)
			[ "$line" != "$last" ] && last=$line || line=
			report_say "$what, $((SECONDS - began)) s${line:+: $line}"
			said=$SECONDS
		fi
	done
}

# report_alive WHAT: copies its input, and says on standard error that time
# passes while none comes
report_alive() {
	local what=$1 began=$SECONDS line status
	while :; do
		IFS= read -r -t $report_silence line
		status=$?
		[ $status != 0 ] || { printf '%s\n' "$line"; continue; }
		printf '%s' "$line"
		[ $status -gt 128 ] || return 0
		report_say "$what, $((SECONDS - began)) s" >&2
	done
}

# report_watch WHAT LOG COMMAND ...: COMMAND with its output in LOG; what it
# says of its progress is shown
report_watch() {
	local what=$1 log=$2 ticker status
	shift 2
	: >"$log"
	report_tick "$what" "$log" </dev/null &
	ticker=$!
	report_prefix='#progress ' "$@" >>"$log" 2>&1
	status=$?
	# a full disk must not leave the ticker waiting
	touch "$log.done" || kill "$ticker"
	wait "$ticker"
	[ ! -e "$log.stopped" ] || status=124
	rm -f "$log.done" "$log.stopped"
	return $status
}

# report_step NAME COMMAND ...: run, time, count; COMMAND's exit code
report_step() {
	local name=$1 began log status passed failed
	shift
	began=$(date +%s)
	log=$report_logs/$(printf '%s' "$name" | tr -c 'A-Za-z0-9' '_').log
	report_watch "$name" "$log" "$@"
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
		! grep -q '^#unsteady ' "$log" || report_unsteady+=("$name" "$log")
		printf 'ok      %-28s %5d passed %24ss\n' "$name" "$passed" $(($(date +%s) - began))
	else
		[ "${REPORT_LINES:-0}" = 0 ] ||
			grep -v '^#progress' "$log" | tail -n "$REPORT_LINES" | sed 's/^/    | /'
		printf 'FAILED  %-28s %5d passed, %d failed %12ss\n' "$name" "$passed" "$failed" $(($(date +%s) - began))
		report_broken+=("$name" "$log")
	fi
	return $status
}

# report_start COMMAND ...: begins a step that waits more than it works; after
# steps that run meanwhile, report_step NAME report_finish is the step itself
report_start() {
	report_meanwhile=$report_logs/meanwhile.log
	report_prefix='#progress ' "$@" >"$report_meanwhile" 2>&1 </dev/null &
	report_meanwhile_pid=$!
}

report_finish() {
	local status
	wait "$report_meanwhile_pid"
	status=$?
	cat "$report_meanwhile"
	return $status
}

# report_why LOG: what a step says of its failure, or errors in its output and
# how that ends
report_why() {
	sed -n 's/^#failed //p' "$1" | grep . && return
	grep -m 5 -E 'error:|ERROR:|Sanitizer|\*\*\*' "$1"
	grep -v '^#' "$1" | grep . | tail -n 5
}

# report_end WORD: what failed, in 20 lines at most, the closing line, and the
# exit code of the whole
report_end() {
	local n=${#report_broken[@]} i each skipped=
	[ $n = 0 ] || each=$((36 / n))
	[ $n != 0 ] || [ ${#report_unsteady[@]} != 0 ] || rm -rf "$report_logs"
	for ((i = 0; i < ${#report_unsteady[@]}; i += 2)); do
		echo "UNSTEADY: ${report_unsteady[i]}, which passed when it was run again; all of it: ${report_unsteady[i + 1]}"
		sed -n 's/^#unsteady /    /p' "${report_unsteady[i + 1]}" | cut -c -200 | head -n 8
	done
	for ((i = 0; i < n && i < 18; i += 2)); do
		echo "FAILED: ${report_broken[i]}; all of it: ${report_broken[i + 1]}"
		report_why "${report_broken[i + 1]}" | cut -c -200 | sed 's/^/    /' |
			awk -v most=$((each - 1)) '{ line[NR] = $0 } END {
				for (i = 1; i <= NR && i <= most; i++)
					print (i == most && NR > most ? "    and " NR - i + 1 " more" : line[i])
			}'
	done
	echo "time: $(($(date +%s) - report_started)) s"
	[ "$report_skipped" = 0 ] || skipped=", $report_skipped skipped"
	echo "$1: $report_passed passed, $report_failed failed$skipped"
	[ "$report_failed" = 0 ] && [ $((report_passed + report_skipped)) -gt 0 ]
	exit $?
}
