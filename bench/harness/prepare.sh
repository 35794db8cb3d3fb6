# prepare.sh: sourced by the run_*.sh beside it, after cluster.sh.  What every
# measurement needs: the corpora, skipidx itself, a directory to work in.
#
#   SKIPIDX_CORPORA      where the corpora are (default ../shared/corpora)
#   SKIPIDX_BENCH_CACHE  where they are kept decompressed
#   BENCH_INSTALL=no     measure the skipidx that is installed already
#   BENCH_RESULTS        where the JSON goes (default bench/results)
#   BENCH_SEED, BENCH_ROWS   of the generated corpus

corpora_dir=${SKIPIDX_CORPORA:-$root/../shared/corpora}
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
cache=${SKIPIDX_BENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skipidx-bench}
results=${BENCH_RESULTS:-$here/results}
BENCH_SEED=${BENCH_SEED:-1}
BENCH_ROWS=${BENCH_ROWS:-150000}

work=$(mktemp -d "${TMPDIR:-/tmp}/skipidx-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# prepare_packages: RUM is left out where Debian has none for the server; sets
# the Python that has the distribution's matplotlib, where another one comes
# first in PATH
prepare_packages() {
	bash "$root/test/setup/packages.sh" build bench || return 1
	bash "$root/test/setup/packages.sh" rum || say "bench: no RUM"
	python=python3
	python3 -c 'import matplotlib' 2>/dev/null ||
		{ [ -x /usr/bin/python3 ] && python=/usr/bin/python3; }
}

install_skipidx() {
	[ "${BENCH_INSTALL:-yes}" = yes ] || return 0
	mkdir "$work/tree" && copy_tree "$root" "$work/tree" &&
		make -s -C "$work/tree" -j"$(nproc)" with_llvm=no >"$work/build.log" 2>&1 &&
		as_root make -s -C "$work/tree" with_llvm=no install >>"$work/build.log" 2>&1 ||
		{ cat "$work/build.log"; return 1; }
}

# unpack NAME: decompressed into the cache once; sets text and queries
unpack() {
	local packed=$corpora_dir/$1.tsv.xz bytes
	text=$cache/$1.tsv
	queries=$corpora_dir/queries/${1%_1m}.q
	[ -r "$packed" ] && [ -r "$queries" ] || return 1
	bytes=$(xz --robot -l "$packed" | awk '$1 == "totals" { print $5 }')
	if [ "$(stat -c %s "$text" 2>/dev/null)" != "$bytes" ]; then
		say "bench: decompressing $1"
		mkdir -p "$cache" && xz -dc "$packed" >"$text.$$" &&
			mv "$text.$$" "$text" || { rm -f "$text.$$"; return 1; }
	fi
}

generate() {
	text=$work/generated.tsv
	queries=$work/generated.q
	say "bench: generating $BENCH_ROWS rows, seed $BENCH_SEED"
	python3 "$here/harness/gen_corpus.py" "$BENCH_ROWS" "$BENCH_SEED" "$text" "$queries"
}

# version_of_tree: the commit, with + where the tree differs from it
version_of_tree() {
	local git="git -c safe.directory=* -C $root"
	echo "$(set -f; $git rev-parse --short HEAD 2>/dev/null)$(set -f
		[ -z "$($git status --porcelain -- src sql Makefile 2>/dev/null)" ] || echo +)"
}

# choose_text NAME: exports BENCH_CORPUS and BENCH_TEXT; generated where there
# is no such corpus
choose_text() {
	BENCH_CORPUS=$1
	if [ "$BENCH_CORPUS" = generated ] || ! unpack "$BENCH_CORPUS"; then
		BENCH_CORPUS=generated
		generate || return 1
	fi
	BENCH_TEXT=$text
	export BENCH_CORPUS BENCH_TEXT
}

# prepare_server: packages, skipidx installed; exports what programs of a
# private cluster need
prepare_server() {
	prepare_packages || return 1
	PG_CONFIG=$(find_pg_config) && export PG_CONFIG && install_skipidx || return 1
	BENCH_SKIPIDX=$(version_of_tree)
	BENCH_TEMP=$work
	export BENCH_SKIPIDX BENCH_TEMP
	mkdir -p "$results"
}

# prepare_server_bench: the same and the text of $BENCH_CORPUS (enwiki_1m by
# default)
prepare_server_bench() {
	prepare_server && choose_text "${BENCH_CORPUS:-enwiki_1m}"
}

