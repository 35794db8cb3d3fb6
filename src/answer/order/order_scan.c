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
skx_order_most(uint64 rows)
{
	uint64		room = (uint64) work_mem * 1024 / sizeof(SkxOrderedRow);

	return (int) Min(rows, Min(room, PG_INT32_MAX));
}

static int
skx_order_compare_segments(const void *a, const void *b)
{
	const SkxOrderedSegment *x = a;
	const SkxOrderedSegment *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->number - y->number;
}

SkxKeyColumn
skx_order_column(Relation index, int column)
{
	SkxKeyColumns all;
	int			i;

	skx_column_keyed(index, &all);
	for (i = 0; i < all.n; i++)
		if (all.columns[i].column == column)
			return all.columns[i];
	elog(ERROR, "column %d of index \"%s\" has no order", column + 1,
		 RelationGetRelationName(index));
}

SkxKeyReader *
skx_order_keys(const SkxOrderedRequest *request, SkxSegment *seg)
{
	return skx_segment_keys_needed(request->index, seg, &request->key);
}

/* A key is shared by too many rows if one in this many documents has it. */
#define SKX_ORDERED_SHARED_PART	8

/*
 * Returns false if a key that several values may share has so many documents.
 * Then so many of the segment's quantiles are that key.
 */
static bool
skx_order_keys_tell(const SkxKeyReader *keys)
{
	const int	most = SKX_KEY_QUANTILES / SKX_ORDERED_SHARED_PART;
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
	SkxSource  *source = skx_snapshot_open(index, view);
	bool		all = true;

	while (all && skx_snapshot_next(source, 1) > 0)
	{
		SkxKeyReader *keys = skx_segment_keys_made(source->segments[0],
												   &wanted);

		all = keys != NULL && skx_order_keys_tell(keys);
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
	const SkxOrderedPart *part = o->request.part;
	SkxKeyNode	root;

	s->seg = o->all[number];
	s->number = number;
	s->keys = skx_order_keys(&o->request, s->seg);
	s->reads = PG_UINT64_MAX;
	s->empty = !skx_order_range(&o->request, s->keys, &s->range);
	if (part != NULL)
	{
		s->range.least = Max(s->range.least, part->range.least);
		s->range.most = Min(s->range.most, part->range.most);
		s->empty |= s->range.least > s->range.most;
	}
	skx_segment_keys_root(s->keys, &root);
	s->first = o->flip != 0 ? ~root.most : root.least;
}

/*
 * Opens the column's keys in all segments, and orders these by their first
 * ranks.
 */
static void
skx_order_segments(SkxCollector *c, SkxSegment *const *segments, int n,
				   int *order)
{
	SkxOrdered *o = (SkxOrdered *) c;
	int			i;

	o->all = segments;
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
skx_order_answer(SkxCollector *c, const SkxExecRange *range)
{
	SkxOrdered *o = (SkxOrdered *) c;

	skx_order_segment(o, &o->segments[range->number]);
	return true;
}

/*
 * Returns true if the value of a pending document may be that of one of the
 * rows.
 */
static bool
skx_order_wants(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxOrdered *o = (SkxOrdered *) c;
	const SkxOrderedPart *part = o->request.part;
	SkxKey		key;

	skx_column_keys(&o->columns, doc->value, &key);
	if (key.is_null ||
		(part != NULL && (key.value < part->range.least ||
						  key.value > part->range.most)))
		return false;
	o->pending.rank = key.value ^ o->flip;
	o->pending.place = doc->sequence;
	o->pending.source = SKX_ORDERED_PENDING + doc->stripe;
	o->pending.tid = doc->tid;
	o->work->documents++;
	return skx_order_rows_want(&o->rows, &o->pending) &&
		(!o->any || skx_order_compare(&o->pending, &o->after) > 0);
}

static bool
skx_order_pending(SkxCollector *c, const SkxPendingDoc *doc)
{
	SkxOrdered *o = (SkxOrdered *) c;
	MemoryContext old = MemoryContextSwitchTo(o->context);

	skx_order_rows_add(&o->rows, &o->pending);
	MemoryContextSwitchTo(old);
	return true;
}

static const SkxCollectorMethods skx_order_methods = {
	.order = skx_order_segments,
	.answer = skx_order_answer,
	.wants = skx_order_wants,
	.pending = skx_order_pending
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
	o->coarse = skx_column_key_is_coarse(&o->request.key);
}

/*
 * Determines where the search begins, and whether rows without a value follow
 * those with one.
 */
static void
skx_order_first_stage(SkxOrdered *o)
{
	const SkxOrderedRequest *request = &o->request;
	bool		all = request->part == NULL;

	/* a range contains no NULL */
	o->nulls_before = request->nulls_first || request->range != NULL || !all;
	if (!all && request->part->nulls)
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
	o->flip = request->descending ? PG_UINT64_MAX : 0;
	skx_order_first_stage(o);
	o->rows.most = Max(skx_order_most(request->wanted > 0 ?
									  request->wanted : SKX_ORDERED_ROWS), 1);
	o->docs = palloc(sizeof(uint32) * SKX_QUERY_DOCS);
	skx_order_begin_column(o);
	o->exec = skx_exec_begin(&o->rows_of, &o->collector);
	MemoryContextSwitchTo(old);
	return o;
}

/* Looks up the tids of n rows, which are of one segment. */
static void
skx_order_look_up(SkxOrdered *o, SkxOrderedRow *rows, int n)
{
	ItemPointerData tids[SKX_SUBBLOCK];
	int			done;
	int			some;
	int			i;

	for (done = 0; done < n; done += some)
	{
		some = Min(n - done, SKX_SUBBLOCK);
		for (i = 0; i < some; i++)
			o->docs[i] = (uint32) rows[done + i].place;
		skx_segment_tids_of(o->all[rows->source], o->docs, some, tids);
		for (i = 0; i < some; i++)
			rows[done + i].tid = tids[i];
	}
}

/* Hands out the rows that were found.  Returns their number. */
static int
skx_order_hand_out(SkxOrdered *o)
{
	SkxOrderedRow *rows = o->rows.rows;
	int			n = o->rows.n;
	int			from;
	int			to;
	int			i;

	if (n == 0)
		return 0;
	skx_order_sort_places(rows, n);
	for (from = 0; from < n; from = to)
	{
		for (to = from + 1; to < n && rows[to].source == rows[from].source;)
			to++;
		if (rows[from].source < SKX_ORDERED_PENDING)
			skx_order_look_up(o, rows + from, to - from);
	}
	skx_order_sort(rows, n);
	skx_order_make_tids(o, n);
	for (i = 0; i < n; i++)
		o->tids[i] = rows[i].tid;
	for (i = 0; i < n && o->coarse; i++)
		o->tid_keys[i] = rows[i].rank ^ o->flip;
	o->any = true;
	o->after = rows[n - 1];
	return n;
}

/*
 * Remembers the end of the pending documents.  The snapshot sees none of those
 * that are inserted after the first pass, so further passes need not read
 * them, however many they are.
 */
static void
skx_order_note_last(SkxOrdered *o)
{
	SkxPendingTotals totals;

	if (o->last != NULL)
		return;
	o->last = MemoryContextAlloc(o->context, sizeof(uint64) *
								 o->request.view->nstripes);
	skx_pending_totals(o->request.index, o->request.view, &totals, o->last);
	o->rows_of.last = o->last;
}

/*
 * Returns the number of the next rows with a value.  If there are fewer than
 * were looked for, there are no others.
 */
static int
skx_order_values(SkxOrdered *o)
{
	int			n;

	o->rows.n = 0;
	o->work->passes++;
	skx_exec_again(o->exec);
	(void) skx_exec_next(o->exec);
	n = skx_order_hand_out(o);
	if (n < o->rows.most)
		o->stage++;
	else
		skx_order_note_last(o);
	o->rows.most = Max(skx_order_most((uint64) o->rows.most *
									  SKX_ORDERED_GROWTH), o->rows.most);
	return n;
}

/* Skips rows without a value if they came first. */
static void
skx_order_skip(SkxOrdered *o)
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
		o->from_rows = o->stage == SKX_ORDERED_VALUES;
		if (o->stage == SKX_ORDERED_VALUES)
		{
			n = skx_order_values(o);
			*keys = o->tid_keys;
			skx_order_skip(o);
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
	SkxSourcePlace place = {0};

	if (o->from_rows)
	{
		row = &o->rows.rows[i];
		if (row->source < SKX_ORDERED_PENDING)
			place.segment = o->all[row->source];
		else
			place.stripe = row->source - SKX_ORDERED_PENDING;
		place.number = row->place;
	}
	else
		skx_order_nulls_place(o, i, &place);
	skx_snapshot_note_dead(o->request.index, o->request.view, &place);
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
