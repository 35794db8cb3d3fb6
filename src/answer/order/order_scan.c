/*
 * order_scan.c
 *	  Rows in the order of a column: those with a value, found by searches for
 *	  the first ones, and those without, before or after them.
 *
 * A search covers all segments and pending documents.  It looks for a number
 * of rows after the last one that was handed out.  If more rows are fetched,
 * the next search looks for more.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "format/disk/disk_keys.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Returns how many of `rows` rows fit into work_mem. */
static int
skx_order_max_rows(uint64 rows)
{
	uint64		room = (uint64) work_mem * 1024 / sizeof(SkxOrderedRow);

	return (int) Min(rows, Min(room, PG_INT32_MAX));
}

static int
skx_order_compare_segments(const void *a, const void *b)
{
	const SkxOrderedSegment *x = a;
	const SkxOrderedSegment *y = b;

	if (x->first_rank != y->first_rank)
		return x->first_rank < y->first_rank ? -1 : 1;
	return x->number - y->number;
}

SkxKeyColumn
skx_order_column(Relation index, int column)
{
	SkxKeyColumns all;
	int			i;

	skx_column_key_columns(index, &all);
	for (i = 0; i < all.n; i++)
		if (all.columns[i].column == column)
			return all.columns[i];
	elog(ERROR, "column %d of index \"%s\" has no order", column + 1,
		 RelationGetRelationName(index));
}

SkxKeyReader *
skx_order_keys(const SkxOrderedRequest *request, SkxSegment *seg)
{
	return skx_segment_keys_require(request->index, seg, &request->key);
}

/* A key is shared by too many rows if one in this many documents has it. */
#define SKX_ORDERED_SHARED_RATIO	8

/*
 * Returns false if a key that several values may share has so many documents.
 * Then so many of the segment's quantiles are that key.
 */
static bool
skx_order_keys_are_distinct(const SkxKeyReader *keys)
{
	const int	most = SKX_KEY_QUANTILES / SKX_ORDERED_SHARED_RATIO;
	uint64		quantiles[SKX_KEY_QUANTILES];
	int			n = skx_segment_keys_quantiles(keys, quantiles);
	int			i;

	for (i = most; i < n; i++)
		if (quantiles[i] == quantiles[i - most] &&
			skx_column_key_is_shared(skx_segment_keys_column(keys),
									 quantiles[i]))
			return false;
	return true;
}

bool
skx_order_has_keys(Relation index, const SkxView *view, int column)
{
	SkxKeyColumn wanted = skx_order_column(index, column);
	SkxSnapshotReader *source = skx_snapshot_open(index, view);
	bool		all = true;

	while (all && skx_snapshot_next_segments(source, 1) > 0)
	{
		SkxKeyReader *keys = skx_segment_keys_open_as(source->segments[0],
													  &wanted);

		all = keys != NULL && skx_order_keys_are_distinct(keys);
		if (keys != NULL)
			skx_segment_keys_close(keys);
	}
	skx_snapshot_close(source);
	return all;
}

bool
skx_order_range(const SkxOrderedRequest *request, const SkxKeyReader *keys,
				SkxKeyRange *range)
{
	const SkxCondition *bounds = request->range;

	range->least = 0;
	range->most = PG_UINT64_MAX;
	return bounds == NULL ||
		skx_column_key_bounds(skx_segment_keys_column(keys), &bounds->from,
							  &bounds->to, &range->least, &range->most);
}

static void
skx_order_open_segment(SkxOrdered *o, int number)
{
	SkxOrderedSegment *s = &o->segments[number];
	const SkxOrderedPart *part = o->request.parallel_part;
	SkxKeyNode	root;

	s->seg = o->segment_source[number];
	s->number = number;
	s->keys = skx_order_keys(&o->request, s->seg);
	s->page_reads = PG_UINT64_MAX;
	s->is_empty = !skx_order_range(&o->request, s->keys, &s->wanted_keys);
	if (part != NULL)
	{
		s->wanted_keys.least = Max(s->wanted_keys.least, part->range.least);
		s->wanted_keys.most = Min(s->wanted_keys.most, part->range.most);
		s->is_empty |= s->wanted_keys.least > s->wanted_keys.most;
	}
	skx_segment_keys_root(s->keys, &root);
	s->first_rank = o->rank_mask != 0 ? ~root.most : root.least;
}

/*
 * Opens the column's keys in all segments, and orders these by their first
 * ranks.
 */
static void
skx_order_order_segments(SkxCollector *c, SkxSegment *const *segments, int n,
						 int *order)
{
	SkxOrdered *o = (SkxOrdered *) c;
	int			i;

	o->segment_source = segments;
	o->nsegments = n;
	o->segments = palloc0(sizeof(SkxOrderedSegment) * ((Size) n + 1));
	for (i = 0; i < n; i++)
		skx_order_open_segment(o, i);
	qsort(o->segments, n, sizeof(SkxOrderedSegment),
		  skx_order_compare_segments);
	for (i = 0; i < n; i++)
		order[i] = o->segments[i].number;
}

static bool
skx_order_answer_range(SkxCollector *c, const SkxExecRange *range)
{
	SkxOrdered *o = (SkxOrdered *) c;

	skx_order_search_segment(o, &o->segments[range->number]);
	return true;
}

/*
 * Returns true if the value of a pending document may be that of one of the
 * rows.
 */
static bool
skx_order_wants_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxOrdered *o = (SkxOrdered *) c;
	const SkxOrderedPart *part = o->request.parallel_part;
	SkxKey		key;

	skx_column_keys(&o->columns, doc->value, &key);
	if (key.is_null ||
		(part != NULL && (key.value < part->range.least ||
						  key.value > part->range.most)))
		return false;
	o->pending.rank = key.value ^ o->rank_mask;
	o->pending.doc = doc->sequence;
	o->pending.source = SKX_ORDERED_PENDING + doc->stripe;
	o->pending.tid = doc->tid;
	o->work->documents++;
	return skx_order_rows_accept(&o->rows, &o->pending) &&
		(!o->has_after || skx_order_compare(&o->pending, &o->after) > 0);
}

static bool
skx_order_collect_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxOrdered *o = (SkxOrdered *) c;
	MemoryContext old = MemoryContextSwitchTo(o->context);

	skx_order_rows_add(&o->rows, &o->pending);
	MemoryContextSwitchTo(old);
	return true;
}

static const SkxCollectorMethods skx_order_methods = {
	.order_segments = skx_order_order_segments,
	.answer_range = skx_order_answer_range,
	.wants_pending = skx_order_wants_pending,
	.collect_pending = skx_order_collect_pending
};

/*
 * Sets the column of the order.  Pending documents have no tree, so their keys
 * are computed one by one.
 */
static void
skx_order_begin_column(SkxOrdered *o)
{
	o->columns.columns[0] = o->request.key;
	o->columns.n = 1;
	o->is_coarse = skx_column_key_is_coarse(&o->request.key);
}

/*
 * Determines where the search begins, and whether rows without a value follow
 * those with one.
 */
static void
skx_order_first_stage(SkxOrdered *o)
{
	const SkxOrderedRequest *request = &o->request;
	bool		all = request->parallel_part == NULL;

	/* a range contains no NULL */
	o->nulls_before = request->nulls_first || request->range != NULL || !all;
	if (!all && request->parallel_part->nulls)
	{
		o->nulls_before = false;
		o->stage = SKX_ORDERED_NULLS_LAST;
	}
	else if (all && request->nulls_first && request->range == NULL)
		o->stage = SKX_ORDERED_NULLS_FIRST;
	else
		o->stage = SKX_ORDERED_VALUES;
}

SkxOrdered *
skx_order_begin(const SkxOrderedRequest *request)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx ordered search",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxOrdered *o = palloc0(sizeof(SkxOrdered));

	o->collector.methods = &skx_order_methods;
	o->context = context;
	o->request = *request;
	o->work = request->work;
	o->rows_of.index = request->index;
	o->rows_of.view = request->view;
	o->rows_of.query = request->filter;
	o->rank_mask = request->descending ? PG_UINT64_MAX : 0;
	skx_order_first_stage(o);
	o->rows.max_rows = Max(skx_order_max_rows(request->wanted_rows > 0 ?
											  request->wanted_rows :
											  SKX_ORDERED_ROWS),
						   1);
	o->docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	skx_order_begin_column(o);
	o->exec = skx_exec_begin(&o->rows_of, &o->collector);
	MemoryContextSwitchTo(old);
	return o;
}

/* Looks up the tids of n rows, which are of one segment. */
static void
skx_order_look_up_tids(SkxOrdered *o, SkxOrderedRow *rows, int n)
{
	ItemPointerData tids[SKX_SUBBLOCK];
	int			done;
	int			some;
	int			i;

	for (done = 0; done < n; done += some)
	{
		some = Min(n - done, SKX_SUBBLOCK);
		for (i = 0; i < some; i++)
			o->docs[i] = (uint32) rows[done + i].doc;
		skx_segment_read_tids_of(o->segment_source[rows->source], o->docs,
								 some, tids);
		for (i = 0; i < some; i++)
			rows[done + i].tid = tids[i];
	}
}

/* Hands out the rows that were found.  Returns their number. */
static int
skx_order_return_rows(SkxOrdered *o)
{
	SkxOrderedRow *rows = o->rows.rows;
	int			n = o->rows.n;
	int			from;
	int			to;
	int			i;

	if (n == 0)
		return 0;
	skx_order_sort_documents(rows, n);
	for (from = 0; from < n; from = to)
	{
		for (to = from + 1; to < n && rows[to].source == rows[from].source;)
			to++;
		if (rows[from].source < SKX_ORDERED_PENDING)
			skx_order_look_up_tids(o, rows + from, to - from);
	}
	skx_order_sort(rows, n);
	skx_order_reserve_tids(o, n);
	for (i = 0; i < n; i++)
		o->tids[i] = rows[i].tid;
	for (i = 0; i < n && o->is_coarse; i++)
		o->tid_keys[i] = rows[i].rank ^ o->rank_mask;
	o->has_after = true;
	o->after = rows[n - 1];
	return n;
}

/*
 * Remembers the end of the pending documents.  The snapshot sees none of those
 * that are inserted after the first pass, so further passes need not read
 * them, however many they are.
 */
static void
skx_order_save_pending_ends(SkxOrdered *o)
{
	SkxPendingTotals totals;

	if (o->pending_ends != NULL)
		return;
	o->pending_ends = MemoryContextAlloc(o->context, sizeof(uint64) *
										 o->request.view->nstripes);
	skx_pending_totals(o->request.index, o->request.view, &totals,
					   o->pending_ends);
	o->rows_of.pending_end = o->pending_ends;
}

/*
 * Returns the number of the next rows with a value.  If there are fewer than
 * were looked for, there are no others.
 */
static int
skx_order_search_values(SkxOrdered *o)
{
	int			n;

	o->rows.n = 0;
	o->work->passes++;
	skx_exec_restart_alone(o->exec);
	(void) skx_exec_next(o->exec);
	n = skx_order_return_rows(o);
	if (n < o->rows.max_rows)
		o->stage++;
	else
		skx_order_save_pending_ends(o);
	o->rows.max_rows = Max(skx_order_max_rows((uint64) o->rows.max_rows *
											  SKX_ORDERED_GROWTH),
						   o->rows.max_rows);
	return n;
}

/* Skips rows without a value if they came first. */
static void
skx_order_skip_nulls(SkxOrdered *o)
{
	if (o->stage == SKX_ORDERED_NULLS_LAST && o->nulls_before)
		o->stage = SKX_ORDERED_DONE;
}

int
skx_order_next(SkxOrdered *o, const ItemPointerData **tids,
			   const uint64 **keys)
{
	MemoryContext old = MemoryContextSwitchTo(o->context);
	int			n = 0;

	*keys = NULL;
	while (n == 0 && o->stage != SKX_ORDERED_DONE)
	{
		o->tids_from_rows = o->stage == SKX_ORDERED_VALUES;
		if (o->stage == SKX_ORDERED_VALUES)
		{
			n = skx_order_search_values(o);
			*keys = o->tid_keys;
			skx_order_skip_nulls(o);
			continue;
		}
		*keys = NULL;
		n = skx_order_nulls_next(o);
		if (n == 0)
		{
			skx_order_nulls_close(o);
			o->stage++;
		}
	}
	*tids = o->tids;
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_order_note_dead(const SkxOrdered *o, int i)
{
	const SkxOrderedRow *row;
	SkxDocAddress place = {0};

	if (o->tids_from_rows)
	{
		row = &o->rows.rows[i];
		if (row->source < SKX_ORDERED_PENDING)
			place.segment = o->segment_source[row->source];
		else
			place.stripe = row->source - SKX_ORDERED_PENDING;
		place.number = row->doc;
	}
	else
		skx_order_nulls_document(o, i, &place);
	skx_snapshot_remember_dead(o->request.index, o->request.view, &place);
}

void
skx_order_end(SkxOrdered *o)
{
	int			i;

	skx_order_nulls_close(o);
	for (i = 0; i < o->nsegments; i++)
	{
		if (o->segments[i].matches != NULL)
			skx_query_docs_close(o->segments[i].matches);
		skx_segment_keys_close(o->segments[i].keys);
	}
	skx_exec_end(o->exec);
	MemoryContextDelete(o->context);
}
