#!/bin/bash
# with_cluster.sh [-u] [-k] [-c name=value]... [--] COMMAND ARG...
#
# Runs COMMAND with PGHOST, PGPORT, PGUSER and PGDATABASE set for a fresh
# private cluster (PG_CONFIG chooses the server), and removes the cluster when
# COMMAND is done or interrupted.  The exit code is COMMAND's.
#   -u  run COMMAND as the cluster's owner too, not only the server
#   -k  keep the server's log as ./server.log if COMMAND fails
#   -c  a line for postgresql.conf
set -u
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

${runner[@]+"${runner[@]}"} "$@"
status=$?
if [ $status != 0 ] && [ -n "$keep_log" ]; then
	cp "$dir/server.log" "$keep_log"
	say "server log kept: $keep_log"
fi
exit $status
