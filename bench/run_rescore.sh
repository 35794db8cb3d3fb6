#!/bin/bash
# run_rescore.sh: `make bench-rescore`.  Installs what is missing, measures
# fetches of sets of random pages without a server, then builds and installs
# skipidx and measures phrase queries in a private cluster; see README.md
# beside it.  As root or as the user the cluster runs as.
#
#   BENCH_PARTS       default "device server"
#   BENCH_CANDIDATES  sizes of the sets (default "64 256 1024 4096")
# device:
#   BENCH_FILE_BYTES, BENCH_FILE   as in run_io.sh
#   BENCH_DEPTHS      of io_uring (default "4 16 64")
#   BENCH_CLIENTS     default "1 4 16"
#   BENCH_SECONDS     of each point (default 2)
#   BENCH_ROUNDS      default 3, of both parts
# server:
#   BENCH_CORPUS      whose text (default enwiki_1m), or "generated"
#   BENCH_LIMIT       rows of it at most
#   BENCH_METHODS     default: all that this skipidx has
#   BENCH_CACHE_SIZE  of skipidx (default 512MB)
#   BENCH_PAIRS       phrases for each size (default 8)
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
	"$python" -m targets.rescore.measure measure "$results/rescore-$BENCH_CORPUS.json"
