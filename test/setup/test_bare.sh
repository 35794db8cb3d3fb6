#!/bin/bash
# test_bare.sh: `make test-bare`: what README.md tells a stranger to type, in a
# Debian 12 of which there is only what debootstrap --variant=minbase makes, as
# in a container's image: `make demo` as root, and as a user who may use sudo.
#
#   BARE_COMMAND      runs there instead, as root only: "make test", say
#   REPORT_LIMIT      seconds of each, 1200 by default
#   SKIPIDX_CHROOTS   where the bare root is kept, with the packages that were
#                     fetched for it: /var/cache/skipidx-chroots
#
# Each run has a copy of the bare root, which is removed.  Needs root or sudo.
# Where the root cannot be made or entered, or packages cannot be had there, one
# line says so, and that counts as skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/apt.sh"
. "$here/report.sh"
. "$here/chroot.sh"

export REPORT_LIMIT=${REPORT_LIMIT:-1200}
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then
	exec sudo --preserve-env=BARE_COMMAND,REPORT_LIMIT,REPORT_LINES,SKIPIDX_CHROOTS,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

suite=$(suite_of 15)

# skip WHY: nothing of this can be done here
skip() {
	report_skip "the demo in a bare root" "$1"
	report_end bare
}

# last_line LOG
last_line() { grep . "$1" | tail -n 1 | cut -c -150; }

# first_line PACKAGE...: of README.md; the fewest packages that make it
first_line() {
	inside "$copy" apt-get -q update &&
		inside "$copy" apt-get -q install -y --no-install-recommends "$@"
}

# type_there USER COMMAND: in a clone of this tree at USER's home
type_there() {
	local user=$1 home left
	home=$(awk -F : -v user="$user" '$1 == user { print $6 }' "$copy/etc/passwd")
	clone_tree "$root" "$copy$home/skipidx" &&
		inside "$copy" chown -R "$user:" "$home/skipidx" &&
		inside "$copy" runuser -u "$user" -- \
			env HOME="$home" DEMO_ROWS="${DEMO_ROWS:-}" sh -c "cd ~/skipidx && $2" || return 1
	left=$(ls -d "$copy"/tmp/skipidx* 2>/dev/null)
	[ -z "$left" ] || echo "#failed it leaves ${left//"$copy"/}"
	[ -z "$left" ]
}

report_begin
trap drop_copy EXIT
trap 'exit 130' HUP INT TERM
log=$report_logs/root.log
[ "$(id -u)" = 0 ] || skip "it needs root, or sudo without a password"
unshare --mount --propagation private --pid --fork --kill-child true 2>"$log" ||
	skip "no namespace of mounts and processes: $(last_line "$log")"
export_proxies
report_watch "a bare $suite" "$log" need_bare_root "$suite" ||
	skip "it cannot be made: $(last_line "$log")"
copy_root "$suite" 2>"$log" || skip "it cannot be copied: $(last_line "$log")"
inside "$copy" true 2>"$log" ||
	skip "it cannot be entered: $(last_line "$log")"
report_watch "git and make" "$log" first_line git make ||
	skip "there are no packages to be had: $(last_line "$log")"

report_step "${BARE_COMMAND:-make demo} as root" type_there root "${BARE_COMMAND:-make demo}"
if [ -z "${BARE_COMMAND:-}" ]; then
	# all of the rows were there once
	report_step "a root with sudo" eval 'copy_root "$suite" && first_line git make sudo &&
		inside "$copy" useradd --create-home stranger &&
		echo "stranger ALL=(ALL) NOPASSWD: ALL" >"$copy/etc/sudoers.d/stranger"' &&
		DEMO_ROWS=5000 report_step "make demo with sudo" type_there stranger "make demo"
fi
report_end bare
