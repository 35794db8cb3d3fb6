#!/bin/bash
# run_quality.sh: `make bench-quality`.  Installs what is missing, builds and
# installs skipidx, then judges ranked scans over the collections with judgments
# in a private cluster; see README.md beside it.  As root or as the user the
# cluster runs as.
#
#   BENCH_SWEEP   weights of proximity (default "0 0.05 0.1 0.2 0.3 0.5 1")
# and the options of prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"

BENCH_QUALITY=$corpora_dir/quality
export BENCH_QUALITY
[ -r "$BENCH_QUALITY/cranfield/docs.tsv" ] ||
	{ say "bench: no collections in $BENCH_QUALITY"; exit 1; }
prepare_server || exit 1
bash "$root/test/setup/with_cluster.sh" -c jit=off -c autovacuum=off \
	-c max_parallel_workers_per_gather=0 -- \
	"$python" -m targets.quality.measure measure "$results/quality.json"
