#!/bin/bash
# with_cluster.sh [-u] [-k] [-c name=value]... [--] COMMAND ARG...
#
# Runs COMMAND with PGHOST, PGPORT, PGUSER and PGDATABASE set for a fresh
# private cluster (PG_CONFIG chooses the server), and removes the cluster when
# COMMAND is done or interrupted.  The exit code is COMMAND's.
#   -u  run COMMAND as the cluster's owner too, not only the server; in a tree that
#       this user may not write to, as root's is, in a copy, from which the results
#       of `make installcheck` come back
#   -k  keep the server's log as ./server.log if COMMAND fails
#   -c  a line for postgresql.conf
set -u
if [ -z "${SKX_REAPED:-}" ] && command -v perl >/dev/null; then
	exec env SKX_REAPED=yes perl "$(dirname "$0")/reap.pl" bash "$0" "$@"
fi
unset SKX_REAPED
. "$(dirname "$0")/cluster.sh"

settings=()
runner=()
keep_log=
while getopts 'ukc:' option; do
	case $option in
		u) runner=(as_server_user) ;;
		k) keep_log=$PWD/server.log ;;
		c) settings+=("$OPTARG") ;;
		*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { say "usage: with_cluster.sh [-u] [-k] [-c name=value]... COMMAND ..."; exit 2; }

dir=$(make_private_dir) || exit 1
# An interrupt may come twice, from a terminal and from timeout, and end what
# reads the output, too: none of that must end the removal.
trap 'trap "" HUP INT TERM PIPE; cluster_remove "$dir"' EXIT
trap 'trap "" HUP INT TERM PIPE; exit 130' HUP INT TERM PIPE
cluster_start "$dir" ${settings[@]+"${settings[@]}"} || exit 1
PATH=$("$(find_pg_config)" --bindir):$PATH
export PATH

# enter_own_tree: into a copy of the tree, if COMMAND could not write here; sets
# came_from then
tree=$(cd "$(dirname "$0")/../.." && pwd)
came_from=
enter_own_tree() {
	case $PWD/ in
		"$tree"/*) ;;
		*) return 0 ;;
	esac
	! as_server_user test -w . 2>/dev/null || return 0
	came_from=$PWD
	say "with_cluster.sh: $(find_server_user) may not write to $PWD: in a copy of $tree"
	mkdir "$dir/tree" && copy_tree "$tree" "$dir/tree" &&
		cd "$dir/tree/${came_from#"$tree"}"
}

# bring_results: of installcheck, in place of older ones
bring_results() {
	local name
	for name in regression.diffs regression.out results output_iso tmp_check/log; do
		rm -rf "${came_from:?}/$name"
		[ ! -e "$name" ] || { mkdir -p "$(dirname "$came_from/$name")" &&
			cp -r "$name" "$came_from/$name"; }
	done
	say "with_cluster.sh: results of the copy are in $came_from"
}

[ ${#runner[@]} = 0 ] || enter_own_tree || exit 1
${runner[@]+"${runner[@]}"} "$@"
status=$?
[ -z "$came_from" ] || bring_results
if [ $status != 0 ] && [ -n "$keep_log" ]; then
	cp "$dir/server.log" "$keep_log"
	say "server log kept: $keep_log"
fi
exit $status
