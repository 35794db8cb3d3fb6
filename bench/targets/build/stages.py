#!/usr/bin/env python3
"""Where a build's time goes: samples of perf by stage.

    perf record -e cpu-clock -F 499 --call-graph dwarf,16384 -p PID   # a backend, then CREATE INDEX
    perf script --no-inline -F ip,sym,dso > stacks
    python3 bench/targets/build/stages.py stacks SECONDS                            # of CPU that it took

Each sample belongs to the first stage that a function of its stack names, from the
innermost function outward."""
import collections
import re
import sys

STAGES = [
    ("CRC of pages", r"skx_disk_page_seal"),
    ("fsync", r"smgrimmedsync|mdimmedsync|FileSync|fsync"),
    ("WAL", r"log_newpages|XLogInsert|XLogBeginInsert|XLogFlush"),
    ("writing pages", r"skx_blkio_writer_|skx_blkio_extend_new|skx_blkio_new_sync|skx_am_build_write|skx_am_parallel_write|mdextend|mdwrite"),
    ("spill: into the file", r"skx_invert_file_(flush|write|complete)"),
    ("sort", r"skx_invert_memory_(sort|order)"),
    ("spill: out of the slices", r"skx_invert_runs_(spill|postings)|skx_invert_run_(term|mark)"),
    ("merge: bytes", r"skx_invert_cursor_fill|skx_invert_file_read"),
    ("merge: next term", r"skx_invert_cursor_next|skx_invert_heap|skx_invert_merge_next"),
    ("merge: decoding postings", r"skx_invert_merge_postings|skx_invert_stream|skx_invert_positions"),
    ("positions", r"skx_segment_positions_|skx_codec_positions_put|skx_segment_term_positions"),
    ("dictionary", r"skx_segment_dict_|skx_segment_term_kths"),
    ("impacts", r"skx_rank_impacts|skx_skiplist_impact"),
    ("short lists", r"skx_codec_short|skx_skiplist_writer_short|skx_segment_term_short"),
    ("norms, best postings", r"skx_segment_subblock_scores|skx_segment_best"),
    ("sub-blocks, skip list", r"skx_skiplist_|skx_segment_subblock|skx_codec_subblock|skx_codec_pfor"),
    ("other encoding", r"skx_segment_term_|skx_segment_terms_|skx_build_task_|skx_segment_plane"),
    ("documents in order, TIDs, norms", r"skx_writer_output_document|skx_segment_documents|skx_rank_norm_encode|skx_build_order"),
    ("inversion", r"skx_invert_memory_|skx_invert_documents|skx_invert_arena|skx_invert_hash"),
    ("detoasting", r"detoast|pglz|toast_|lz4"),
    ("rows of a heap page", r"skx_am_documents_"),
    ("reading the heap", r"index_build|table_index_build|skxbuild|heap"),
]
STAGES = [(name, re.compile(pattern)) for name, pattern in STAGES]


def stage(functions):
    if "skx_invert_merge_next" in functions and functions[0].startswith("skx_invert_memory_read"):
        return "merge: bytes"
    for function in functions:
        for name, pattern in STAGES:
            if pattern.search(function):
                return name
    return "other"


def main():
    seconds = float(sys.argv[2])
    count = collections.Counter()
    with open(sys.argv[1], errors="replace") as stacks:
        for sample in stacks.read().split("\n\n"):
            functions = [line.split()[1] for line in sample.splitlines() if len(line.split()) > 1]
            if functions:
                count[stage(functions)] += 1
    total = sum(count.values())
    for name, n in count.most_common():
        print(f"{seconds * n / total:6.2f} s {100 * n / total:5.1f} %  {name}")


if __name__ == "__main__":
    main()
