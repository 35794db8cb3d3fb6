#!/bin/bash
# selftest.sh: the scripts beside it say how far they are while a step takes its
# time, and what failed last, in few lines; end at once where root is needed and
# cannot be had; run a night's steps once; and leave no server behind when they are
# interrupted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0

# expect WHAT COMMAND ...
expect() {
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "#failed $what"
		cat "$work/output"
	fi
}

# report < SCRIPT: a script that uses report.sh, its output in $work/output
report() {
	{
		printf '. "%s/cluster.sh"\n. "%s/report.sh"\n' "$here" "$here"
		printf 'report_silence=1\nreport_poll=0.05\nreport_begin\n'
		cat
		echo 'report_end trial'
	} >"$work/script"
	env -u report_prefix REPORT_LINES=0 TMPDIR="$work" bash "$work/script" >"$work/output" 2>&1
}

said() { grep -q -e "$1" "$work/output"; }
dead() { ! grep -q '^State:.[^ZX]' "/proc/${1:?}/status" 2>/dev/null; }
last_is() { [ "$(tail -n 1 "$work/output")" = "$1" ]; }

report <<'EOF'
report_step quick true
report_step slow bash -c 'echo "#progress 1 of 2"; echo working; sleep 2.5; echo "#count 3 0"'
EOF
expect 'steps that pass: exit code' [ $? = 0 ]
expect 'steps that pass: the closing line' last_is 'trial: 4 passed, 0 failed'
expect 'a slow step tells of its progress' said '^  *1 of 2'
expect 'and that it goes on' said 'slow, [12] s: working'
expect 'no logs are left' [ -z "$(ls -d "$work"/skipidx-logs* 2>/dev/null)" ]

report <<'EOF'
many() { for i in $(seq 100); do echo "#failed check $1 $i"; done; return 1; }
report_step named many a
for step in b c d e f g h i j k l m; do report_step "also $step" many "$step"; done
report_step silent bash -c 'for i in 1 2 3; do echo "line $i"; done; exit 3'
EOF
expect 'steps that fail: exit code' [ $? = 1 ]
expect 'steps that fail: the closing line' last_is 'trial: 0 passed, 14 failed'
sed -n '/^FAILED: /,$p' "$work/output" >"$work/summary"
expect 'failures stand in 20 lines' [ "$(wc -l <"$work/summary")" -le 20 ]

report <<'EOF'
report_step fine true
report_step broken bash -c 'seq 1000; echo "#failed check 7"; seq 1000; exit 1'
EOF
log=$(sed -n 's/^FAILED: broken; all of it: //p' "$work/output")
expect 'a failure names its log' [ "$(grep -c 1000 "$log")" = 2 ]
expect 'and what failed' said '^    check 7$'
expect 'and nothing else' [ "$(wc -l <"$work/output")" -le 8 ]

report <<'EOF'
report_step shaky bash -c 'echo "#failed check 8"; echo "#unsteady check 8"; echo "#count 5 0"'
EOF
expect 'an unsteady step: exit code' [ $? = 0 ]
expect 'an unsteady step: the closing line' last_is 'trial: 5 passed, 0 failed'
expect 'and what failed at first is said' said '^    check 8$'
log=$(sed -n 's/^UNSTEADY: shaky.*; all of it: //p' "$work/output")
expect 'and its log is kept' [ "$(grep -c 'check 8' "$log")" = 2 ]

report <<'EOF'
report_start bash -c 'echo "#count 2 0"; echo late; exit 0'
report_step first true
report_step second report_finish
report_start bash -c 'echo "#failed check 9"; exit 3'
report_step third report_finish
EOF
expect 'a step begun before others: the closing line' last_is 'trial: 3 passed, 1 failed'
expect 'and what of it failed' said '^    check 9$'

report <<'EOF'
REPORT_LIMIT=1
report_step endless bash -c 'sleep 300 & echo $! >"$TMPDIR/endless"; echo halfway; wait'
report_step next true
EOF
expect 'a step without an end is ended' last_is 'trial: 1 passed, 1 failed'
expect 'and what it waited for is said' said '^    endless: not done after 1 s; its last line: halfway$'
expect 'and nothing of it is left' dead "$(cat "$work/endless")"

report <<'EOF'
report_skip other 'it cannot be had here'
EOF
expect 'skipped: exit code' [ $? = 0 ]
expect 'skipped: why' said '^skipped other: it cannot be had here$'
expect 'skipped: the closing line' last_is 'trial: 0 passed, 0 failed, 1 skipped'

report <<'EOF'
{ echo one; sleep 2.5; printf 'two\nthree'; } | report_alive waiting; echo
EOF
expect 'output passes through' [ "$(grep -v 'waiting' "$work/output" | head -n 3 | tr '\n' ' ')" = 'one two three ' ]
expect 'and its silence is told' said 'waiting, [12] s'

# What passed is not run again, what failed is, and of another tree all.
mkdir -p "$work/night/test/setup" "$work/night/test/t"
cp "$here"/*.sh "$work/night/test/setup"
printf '# steps\ngood echo ran >>"%s"\nbad bash -c "exit 1"\n' "$work/ran" >"$work/night/test/setup/nightly.steps"
nightly() {
	NIGHTLY_NOTES=$work/notes TMPDIR=$work bash "$work/night/test/setup/nightly.sh" >"$work/output" 2>&1
}
nightly
expect 'nightly: exit code' [ $? = 1 ]
expect 'nightly: the closing line' last_is 'nightly: 1 passed, 1 failed'
nightly
expect 'nightly, again: what passed is not run' last_is 'nightly: 0 passed, 1 failed, 1 skipped'
expect 'and so it ran once' [ "$(cat "$work/ran")" = ran ]
echo >>"$work/night/test/setup/nightly.sh"
nightly
expect 'nightly, another tree: all is run' last_is 'nightly: 1 passed, 1 failed'

# A user who may become root by no means, on a machine that has everything or
# nothing.
printf '#!/bin/sh\nexit 1\n' >"$work/sudo"
chmod 755 "$work/sudo"
cp "$here"/*.sh "$work/"
server=$(find_pg_config 2>/dev/null)
if [ -z "$server" ] || ! as_server_user test -w "$("$server" --pkglibdir)"; then
	as_server_user env PATH="$work:$PATH" bash "$work/packages.sh" -c 'make trial' build test \
		</dev/null >"$work/output" 2>&1
	expect 'without root: refused' [ $? = 1 ]
	expect 'without root: why' said '^make trial: this needs root'
	expect 'without root: what to do' said 'Run it as root'
fi
as_server_user env PATH="$work:$PATH" bash "$work/packages.sh" -c 'make trial' </dev/null >"$work/output" 2>&1
expect 'nothing to install: no need of root' [ $? = 0 ]

# An interrupt that comes again while the cluster is removed, and a reader of the
# output that is gone
interrupt_cluster() {
	local pid tries=0
	setsid bash "$here/with_cluster.sh" -- sh -c "touch '$work/up'; sleep 60" 2>&1 >"$work/reader" &
	pid=$!
	head -n 0 "$work/reader"
	until [ -e "$work/up" ] || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
	[ -e "$work/up" ] || echo "waited 60 s for a cluster"
	cluster=$(ls -d "$work"/private/* 2>/dev/null)
	tries=0
	while kill -TERM -- -"$pid" 2>/dev/null; do
		if [ $((tries += 1)) -gt 6000 ]; then
			echo "the interrupted script is there after 6000 interrupts"
			kill -KILL -- -"$pid"
		fi
		sleep 0.01
	done
	wait "$pid"
}

if [ -n "$server" ]; then
	mkdir "$work/private"
	[ "$(id -u)" != 0 ] || chown "$(find_server_user)" "$work/private"
	mkfifo "$work/reader"
	TMPDIR=$work/private interrupt_cluster >"$work/output" 2>&1
	expect 'an interrupt finds a cluster' [ -n "$cluster" ]
	expect 'and leaves none' [ -z "$(ls -A "$work/private")" ]

	# below a first process that takes leave of nobody, where one can be had
	nobody=()
	! unshare --mount --pid --fork --kill-child true 2>/dev/null ||
		nobody=(unshare --mount --propagation private --pid --fork --kill-child
			sh -c 'mount -t proc proc /proc && exec runuser -u root -- "$@"' sh)
	${nobody[@]+"${nobody[@]}"} bash "$here/with_cluster.sh" -- bash -c '
		pid=$(bash -c "sleep 0.1 >/dev/null & echo \$!")
		for i in $(seq 50); do [ -e "/proc/$pid" ] || exit 0; sleep 0.1; done
		exit 1' >"$work/output" 2>&1
	expect 'an orphan that has ended is gone' [ $? = 0 ]

	# a tree of root's, which the server's user cannot even enter
	mkdir -p "$work/tree/test/setup"
	cp "$here"/*.sh "$here"/*.pl "$work/tree/test/setup"
	printf 'installcheck:\n\techo different >regression.diffs\n\tid -un\n\texit 1\n' >"$work/tree/Makefile"
	chmod 700 "$work/tree"
	(cd "$work/tree" && bash test/setup/with_cluster.sh -u make installcheck) >"$work/output" 2>&1
	expect 'a command in a tree of root: exit code' [ $? = 2 ]
	expect 'runs as the server'"'"'s user' said "^$(find_server_user)\$"
	expect 'and its results are here' [ "$(cat "$work/tree/regression.diffs")" = different ]
fi

echo "#count $passed $failed"
[ $failed = 0 ]
