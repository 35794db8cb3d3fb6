# expect.sh: sourced by the scripts beside it, which run where a package has been
# installed, and print lines for report.sh.

passed=0
failed=0

# same WHAT EXPECTED GOT
same() {
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		echo "ok: $1"
	else
		failed=$((failed + 1))
		printf '#failed %s: expected %s, got %s\n' "$1" "$(echo "$2" | head -c 300)" "$(echo "$3" | head -c 300)"
	fi
}

# like WHAT PATTERN GOT: by an extended regular expression
like() {
	if printf '%s\n' "$3" | grep -qE -- "$2"; then
		passed=$((passed + 1))
		echo "ok: $1"
	else
		failed=$((failed + 1))
		printf '#failed %s: expected /%s/, got %s\n' "$1" "$2" "$(echo "$3" | head -c 300)"
	fi
}

# ask SQL: what a new session says, errors too, without names of files of psql
ask() {
	psql -X -A -t -q -v ON_ERROR_STOP=1 -c "$1" 2>&1
}

# poll SQL: until it says t, a minute at most; what it said last
poll() {
	local end=$((SECONDS + 60)) said
	while :; do
		said=$(ask "$1")
		[ "$said" != t ] && [ "$SECONDS" -lt "$end" ] || break
		sleep 0.2
	done
	printf '%s\n' "$said"
}

# done_here: the counts, and the exit code
done_here() {
	echo "#count $passed $failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit $?
}
