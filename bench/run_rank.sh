#!/bin/bash
# run_rank.sh: `make bench-rank`.  Installs what is missing, builds and installs
# skipidx, then searches each corpus for the best rows, in a private cluster,
# with several engines, and prints the report; see README.md beside it.  As
# root or as the user the cluster runs as.
#
#   BENCH_CORPORA   which of them (default "enwiki_1m"), or "generated"
#   BENCH_LIMIT     rows of each at most
#   BENCH_ENGINES   default "gin rum skipidx"
#   BENCH_MODES     default "AND10 OR10 PHRASE10 OR100 OR1000"
#   BENCH_QUERIES   at most (default 1000)
#   BENCH_ROUNDS    default 3
#   BENCH_SECONDS   of GIN and RUM for each mode and round (default 20)
#   BENCH_CACHE_SIZE  of skipidx (default 512MB)
# and the options of peers.sh and prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"
. "$here/peers/peers.sh"
. "$here/harness/timing.sh"

prepare_server || exit 1
prepare_timing || exit 1
prepare_peers
status=0
for name in ${BENCH_CORPORA:-enwiki_1m}; do
	choose_text "$name" || exit 1
	export BENCH_QUERY_FILE=$queries
	bash "$root/test/setup/with_cluster.sh" \
		-c shared_buffers="${BENCH_SHARED_BUFFERS:-2GB}" -c max_wal_size=32GB \
		-c checkpoint_timeout=1h -c jit=off -c autovacuum=off \
		-c max_parallel_workers_per_gather=0 \
		-c max_parallel_maintenance_workers=0 \
		-c skipidx.cache_size="${BENCH_CACHE_SIZE:-512MB}" -- \
		"$python" -m targets.rank.measure measure \
		"$results/rank-$BENCH_CORPUS.json" || status=1
	[ "$BENCH_CORPUS" = "$name" ] || break
done
exit $status
