#!/bin/bash
# run_insert.sh: `make bench-insert`.  Installs what is missing, builds and
# installs skipidx, then measures inserts into tables with each kind of index
# in a private cluster and prints the report; see README.md beside it.
#
#   BENCH_CORPUS    whose text (default enwiki_1m), or "generated"
#   BENCH_ENGINES   default "none gin_on gin_off rum skipidx"
#   BENCH_BASE      rows in each table before (default 50000)
#   BENCH_POOL      rows to draw from (default 100000)
#   BENCH_ROUNDS    statements of 5,000 rows for each engine (default 5)
#   BENCH_SECONDS   of each run of pgbench (default 30)
#   BENCH_CLIENTS   default "1 4 8"
#   BENCH_MINUTES   of each engine's long run (default 10)
# and the options of prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"

prepare_packages || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
install_skipidx || exit 1
BENCH_CORPUS=${BENCH_CORPUS:-enwiki_1m}
if [ "$BENCH_CORPUS" = generated ] || ! unpack "$BENCH_CORPUS"; then
	BENCH_CORPUS=generated
	generate || exit 1
fi
BENCH_TEXT=$text
BENCH_SKIPIDX=$(version_of_tree)
BENCH_TEMP=$work
export BENCH_CORPUS BENCH_TEXT BENCH_SKIPIDX BENCH_TEMP

mkdir -p "$results" || exit 1
bash "$root/test/setup/with_cluster.sh" \
	-c shared_buffers="${BENCH_SHARED_BUFFERS:-1GB}" -c max_wal_size=16GB \
	-c jit=off -c autovacuum=on -c autovacuum_naptime=10s \
	-c max_parallel_maintenance_workers=0 -- \
	python3 -m targets.insert.measure measure "$results/insert-$BENCH_CORPUS.json"
