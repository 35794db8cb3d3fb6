#!/bin/bash
# run_lookup.sh: `make bench-lookup`.  Installs what is missing, builds and
# installs skipidx, then looks up words through indexes of many block sizes, by
# every method, cold and warm, in a private cluster, and prints the report; see
# README.md beside it.  As root or as the user the cluster runs as.
#
#   BENCH_CORPUS    whose text (default enwiki_1m), or "generated"
#   BENCH_LIMIT     rows of it at most
#   BENCH_ENGINES   default "gin rum skipidx"
#   BENCH_BLOCKS    default "8k 16k 32k 64k 128k 256k 512k 1M"
#   BENCH_METHODS   default: all that this skipidx has
#   BENCH_ROUNDS    default 5
#   BENCH_KINDS     default "dense sparse phrase"
#   BENCH_CACHE_SIZE  of skipidx (default 512MB)
#   BENCH_DENSE, BENCH_PHRASE   other queries of those kinds
# and the options of prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"

prepare_server_bench || exit 1
bash "$root/test/setup/with_cluster.sh" \
	-c shared_buffers="${BENCH_SHARED_BUFFERS:-2GB}" -c max_wal_size=32GB \
	-c jit=off -c autovacuum=off -c max_parallel_workers_per_gather=0 \
	-c max_parallel_maintenance_workers=0 \
	-c skipidx.cache_size="${BENCH_CACHE_SIZE:-512MB}" -- \
	"$python" -m targets.lookup.measure measure "$results/lookup-$BENCH_CORPUS.json"
