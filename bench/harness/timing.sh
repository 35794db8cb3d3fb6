# module.sh: sourced by run_rank.sh and run_execution.sh, after ../prepare.sh.
# The procedures of timing.c, compiled for the server of PG_CONFIG into
# $BENCH_TEMP/rank; nothing is installed.

prepare_timing() {
	mkdir -p "$work/rank" && cp "$here/harness/timing.mk" "$here/harness/timing.c" \
		"$work/rank/" &&
		make -s -C "$work/rank" -f timing.mk with_llvm=no SKIPIDX="$root" >"$work/timing.log" 2>&1 ||
		{ cat "$work/timing.log"; return 1; }
}
