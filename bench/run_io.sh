#!/bin/bash
# run_io.sh: `make bench-io`.  Installs what is missing and measures reads of
# a file below TMPDIR, without a server; see README.md beside it.
#
#   BENCH_FILE_BYTES    of the file (default 4G)
#   BENCH_FILE          a file to read instead; written if it is not there,
#                       and kept
#   BENCH_SECONDS       of each point (default 2)
#   BENCH_ROUNDS        default 3
#   BENCH_TABLE_BLOCKS  of the table (default 512 ... 1M)
#   BENCH_BLOCKS        of the curves (default "4k ... 256k 1M")
#   BENCH_PATTERNS      default "forward backward random skip"
# and BENCH_RESULTS of prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"

prepare_packages || exit 1
BENCH_SKIPIDX=$(version_of_tree)
BENCH_TEMP=$work
export BENCH_SKIPIDX BENCH_TEMP

mkdir -p "$results" || exit 1
"$python" -m targets.io.measure measure "$results/io.json"
