#!/bin/bash
# run_build.sh: `make bench-build`.  Installs what is missing, builds and
# installs skipidx, then builds indexes on each corpus in a private cluster,
# with several engines, numbers of workers and sizes of maintenance_work_mem,
# and prints the report; see README.md beside it.  As root or as the user the
# cluster runs as.
#
#   BENCH_CORPORA   which of them (default "simplewiki enwiki_1m"),
#                   or "generated"
#   BENCH_LIMIT     rows of each at most
#   BENCH_ENGINES   default "gin rum skipidx"
#   BENCH_WORKERS   default "0 1 2"
#   BENCH_MEMORY    default "64MB 256MB 1GB"
#   BENCH_ROUNDS    default 3
# and the options of peers.sh and prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"
. "$here/peers/peers.sh"

prepare_server || exit 1
prepare_peers
status=0
for name in ${BENCH_CORPORA:-simplewiki enwiki_1m}; do
	choose_text "$name" || exit 1
	bash "$root/test/setup/with_cluster.sh" \
		-c shared_buffers="${BENCH_SHARED_BUFFERS:-2GB}" -c max_wal_size=32GB \
		-c checkpoint_timeout=1h -c jit=off -c autovacuum=off \
		-c max_parallel_workers_per_gather=0 \
		-c max_parallel_maintenance_workers=0 -- \
		"$python" -m targets.build.measure measure \
		"$results/build-$BENCH_CORPUS.json" || status=1
	[ "$BENCH_CORPUS" = "$name" ] || break
done
exit $status
