/*
 * inspect_work.c
 *	  skipidx_work(): counters of the work of this session on posting lists.
 *
 * Counts of nodes, pages and sub-blocks are repeatable, which times are not.
 * The difference of two calls around a query shows how much of its lists the
 * query has skipped.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/cursor/cursor.h"
#include "index/segment/segment_keys.h"
#include "index/snapshot/snapshot.h"

PG_FUNCTION_INFO_V1(skipidx_work);

Datum
skipidx_work(PG_FUNCTION_ARGS)
{
	const SkxSkiplistWork *nodes = &skx_skiplist_work;
	const SkxCursorWork *lists = &skx_cursor_work;
	Datum		values[12];
	bool		nulls[12] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum((int64) nodes->read_nodes);
	values[1] =
		Int64GetDatum((int64) (nodes->entered_portions + lists->short_lists));
	values[2] = Int64GetDatum((int64) nodes->read_table_pages);
	values[3] = Int64GetDatum((int64) lists->subblocks);
	values[4] = Int64GetDatum((int64) lists->window_fills);
	values[5] = Int64GetDatum((int64) lists->positions);
	values[6] = Int64GetDatum((int64) lists->filtered_docs);
	values[7] = Int64GetDatum((int64) skx_segment_asked);
	values[8] = Int64GetDatum((int64) skx_snapshot_heap_asked);
	values[9] = Int64GetDatum((int64) skx_segment_keys_tested);
	values[10] = Int64GetDatum((int64) skx_snapshot_pending_read);
	values[11] = Int64GetDatum((int64) skx_snapshot_dead_noted);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}
