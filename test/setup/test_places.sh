#!/bin/bash
# test_places.sh: what `make test-places` runs: server tests where a server has as
# little as in a strict container: a root file system that nobody can write to, 64
# MB of shared memory files, and a kernel that refuses io_uring.  The extension is
# built and installed before.
#
#   SUITES   as SKX_SUITES of server_tests.sh; below is what it is by default
#
# Needs root or sudo, and mount namespaces; where there are none one line says so,
# and that counts as skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"

SUITES=${SUITES:-regress 215_* 218_*}

if [ "$(id -u)" != 0 ]; then
	exec sudo --preserve-env=SUITES,SUITE_TIMEOUT,SKIPIDX_SEED,TMPDIR,http_proxy,https_proxy,no_proxy \
		bash "$0" "$@"
fi

# in_place COMMAND ...: where only the tree can be written to
in_place() {
	TMPDIR=$work/tmp unshare --mount --propagation private sh -c '
		mount --bind "$0" "$0" && mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm &&
		mount -o remount,bind,ro / && cd "$0" &&
		exec perl -I test/t/lib -MSkipidxSyscalls -e '\''
			SkipidxSyscalls::refuse_io_uring() or die "no seccomp\n"; exec @ARGV'\'' "$@"' "$work" "$@"
}

# strict: is it such a place?
strict() {
	! touch /etc/skipidx 2>/dev/null || { echo '#failed the root can be written to'; return 1; }
	[ "$(df -k --output=size /dev/shm | tail -n 1)" -eq 65536 ] || { echo '#failed /dev/shm is larger'; return 1; }
	perl -MErrno=EPERM -e 'exit(syscall(425, 8, 0) != -1 || $! != EPERM)' ||
		{ echo '#failed io_uring is not refused'; return 1; }
}

report_begin
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end places
enter_copy "$root" || exit 1
as_server_user mkdir tmp
if ! in_place true 2>"$work/refused"; then
	report_skip "a strict place" "it cannot be made: $(tail -n 1 "$work/refused")"
	report_end places
fi
report_step "a strict place" in_place bash -c "$(declare -f strict); strict" || report_end places
# there is no such suite
report_step "build" env SKX_SUITES=none bash test/setup/server_tests.sh || report_end places
report_step "server tests" in_place env SKX_INSTALLED=yes SKX_SUITES="$SUITES" bash test/setup/server_tests.sh
cd /
report_end places
