#!/bin/bash
# run.sh TARGET: `make bench-TARGET`.  Installs what is missing, builds and
# installs skipidx, measures in a private cluster, keeps what was measured as
# JSON and prints it; see README.md beside it.  As root or with sudo.
#
# What a target is, targets/TARGET/target.conf says:
#   corpora   the texts to measure on, one run each; empty: none is needed
#   needs     what is prepared first: `server`, or more of the functions
#             prepare_* of harness/prepare.sh and peers/peers.sh
#   settings  of the cluster, beside those below
# and, in its head, the target's options.  Those of all targets:
#   BENCH_CORPORA        which of the texts, or "generated"; BENCH_CORPUS is
#                        another name for it
#   BENCH_LIMIT          rows of each at most
#   BENCH_SHARED_BUFFERS of the cluster
#   BENCH_CACHE_SIZE     of skipidx (default 512MB, where a target sets it)
#   BENCH_SUFFIX         at the end of the name of each file of results
#   BENCH_MADE           a file to which the paths of these are appended
# and those at the heads of harness/prepare.sh and peers/peers.sh.
set -u
# The options that are given, for the record, before others are set.
BENCH_GIVEN=$(compgen -e BENCH_ | grep -vxE 'BENCH_(RESULTS|MADE|SUFFIX|ONLY|INSTALL)' | tr '\n' ' ')
export BENCH_GIVEN
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"
. "$here/peers/peers.sh"

target=${1-}
[ -n "$target" ] && [ -r "$here/targets/$target/target.conf" ] || {
	say "usage: run.sh TARGET, which is one of" $(ls "$here/targets")
	exit 2
}
corpora=
needs=
settings=()
. "$here/targets/$target/target.conf"
# A later setting of the same name wins.
settings=(shared_buffers="${BENCH_SHARED_BUFFERS:-2GB}" max_wal_size=32GB
	jit=off autovacuum=off max_parallel_workers_per_gather=0
	skipidx.autoprewarm_interval=0
	max_parallel_maintenance_workers=0 ${settings[@]+"${settings[@]}"})

# measure NAME: keeps and prints it; fails if the run is not valid
measure() {
	local file=$results/$1${BENCH_SUFFIX:-}.json setting options=() cluster=()
	for setting in "${settings[@]}"; do
		options+=(-c "$setting")
	done
	case " $needs " in
		*' server '* | *' root '*)
			cluster=(bash "$root/test/setup/with_cluster.sh" "${options[@]}" --) ;;
	esac
	if [ -n "${root_copy:-}" ]; then
		measure_in_root "$file" "${options[@]}"
	else
		${cluster[@]+"${cluster[@]}"} python3 -m "targets.$target.measure" "$file"
	fi && echo "$file" >>"${BENCH_MADE:-/dev/null}" && python3 "$here/report.py" show "$file"
}

measure_corpora() {
	local name status=0 measured=
	for name in ${BENCH_CORPORA:-${BENCH_CORPUS:-$corpora}}; do
		choose_text "$name" || continue
		measured=yes
		measure "$target-$name" || status=1
	done
	[ -n "$measured" ] || {
		choose_text generated && measure "$target-generated" || status=1
	}
	return $status
}

prepare_packages || exit 1
for part in $needs; do
	"prepare_$part" || exit 1
done
if [ -n "$corpora" ]; then
	measure_corpora
else
	unset BENCH_CORPUS
	measure "$target"
fi
