#!/bin/bash
# run_execution.sh: `make bench-execution`.  Installs what is missing, builds and
# installs skipidx, then ranks the rows with the words of one query, within a
# budget, through indexes of several block sizes, by every method, cold and
# warm, in a private cluster, and prints the report; see README.md beside it.
# As root or as the user the cluster runs as.
#
#   BENCH_CORPUS    whose text (default enwiki_1m), or "generated"
#   BENCH_LIMIT     rows of it at most
#   BENCH_BLOCKS    default "8k 32k 128k 1M"
#   BENCH_METHODS   default: all that this skipidx has
#   BENCH_KINDS     default "and phrase or"
#   BENCH_RANKED    how many rows are wanted (default "all 10")
#   BENCH_ROUNDS    default 3
#   BENCH_CACHE_SIZE  of skipidx (default 512MB)
# and the options of prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"
. "$here/harness/timing.sh"

prepare_server_bench || exit 1
prepare_timing || exit 1
bash "$root/test/setup/with_cluster.sh" \
	-c shared_buffers="${BENCH_SHARED_BUFFERS:-2GB}" -c max_wal_size=32GB \
	-c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0 \
	-c max_parallel_maintenance_workers=0 \
	-c skipidx.cache_size="${BENCH_CACHE_SIZE:-512MB}" -- \
	"$python" -m targets.execution.measure measure \
	"$results/execution-$BENCH_CORPUS.json"
