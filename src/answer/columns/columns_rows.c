/*
 * columns_rows.c
 *	  Looks up the keys of the rows that a count finds to be visible.
 */
#include "postgres.h"

#include "answer/columns/columns.h"
#include "index/segment/segment_keys.h"
#include "miscadmin.h"

/* Number of documents of a segment whose keys are looked up together. */
#define SKX_COLUMNS_LOOKUP_DOCS	1024

StaticAssertDecl(SKX_COLUMNS_LOOKUP_DOCS <= SKX_COLUMNS_BATCH,
				 "keys of a batch have room");

struct SkxColumnsScan
{
	const SkxColumnsRequest *request;
	MemoryContext context;
	SkxCountReceiver receiver;
	SkxCount   *count;
	SkxSegment *seg;			/* segment that is being read; NULL: none */
	SkxKeyReader **readers;		/* key readers of it, one for each column */
	uint32	   *docs;			/* documents of it that were passed last */
	int			ndocs;
	int			next;			/* index of the first one not looked up yet */
	int			n;				/* number of pending rows in the batch */
	SkxKey	   *keys;			/* SKX_COLUMNS_BATCH for each column */
};

static SkxKey *
skx_columns_key_array(const SkxColumnsScan *scan, int i)
{
	return scan->keys + (Size) i * SKX_COLUMNS_BATCH;
}

static void
skx_columns_end_segment(SkxSegment *seg, void *arg)
{
	SkxColumnsScan *scan = arg;
	int			i;

	if (scan->seg == NULL)
		return;
	for (i = 0; i < scan->request->columns.n; i++)
		skx_segment_keys_close(scan->readers[i]);
	scan->seg = NULL;
}

static void
skx_columns_begin_segment(SkxColumnsScan *scan, SkxSegment *seg)
{
	const SkxColumnsRequest *request = scan->request;
	MemoryContext old;
	int			i;

	if (seg == scan->seg)
		return;
	skx_columns_end_segment(scan->seg, scan);
	old = MemoryContextSwitchTo(scan->context);
	for (i = 0; i < request->columns.n; i++)
		scan->readers[i] =
			skx_segment_keys_require(request->rows.index, seg,
									 &request->columns.columns[i]);
	MemoryContextSwitchTo(old);
	scan->seg = seg;
}

static void
skx_columns_receive_documents(SkxSegment *seg, const uint32 *docs, int n,
							  void *arg)
{
	SkxColumnsScan *scan = arg;

	skx_columns_begin_segment(scan, seg);
	memcpy(scan->docs, docs, sizeof(uint32) * n);
	scan->ndocs = n;
}

/* Takes the keys of a pending document from its values. */
static void
skx_columns_receive_pending(TSVector document, const ItemPointerData *tid,
							void *arg)
{
	SkxColumnsScan *scan = arg;
	SkxKey		keys[INDEX_MAX_KEYS];
	int			i;

	skx_column_keys(&scan->request->columns, document, keys);
	for (i = 0; i < scan->request->columns.n; i++)
		skx_columns_key_array(scan, i)[scan->n] = keys[i];
	scan->n++;
}

SkxColumnsScan *
skx_columns_begin(const SkxColumnsRequest *request, SkxCountWork *work)
{
	SkxColumnsScan *scan = palloc0(sizeof(SkxColumnsScan));
	int			n = request->columns.n;

	Assert(n > 0 && request->rows.recheck == NULL);
	scan->request = request;
	scan->context = CurrentMemoryContext;
	scan->readers = palloc(sizeof(SkxKeyReader *) * n);
	scan->docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH_DOCS);
	scan->keys = palloc_extended(sizeof(SkxKey) * SKX_COLUMNS_BATCH * (Size) n,
								 MCXT_ALLOC_HUGE);
	scan->receiver.is_batched = true;
	scan->receiver.wants_all = request->wants_all;
	scan->receiver.receive_documents = skx_columns_receive_documents;
	scan->receiver.end_segment = skx_columns_end_segment;
	scan->receiver.receive_pending = skx_columns_receive_pending;
	scan->receiver.arg = scan;
	scan->count = skx_count_open(&request->rows, &scan->receiver,
								 request->share, work);
	return scan;
}

/*
 * Looks up the keys of the next documents of those passed last.  Returns their
 * number.
 */
static int
skx_columns_look_up(SkxColumnsScan *scan)
{
	int			n = Min(scan->ndocs - scan->next, SKX_COLUMNS_LOOKUP_DOCS);
	int			i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < scan->request->columns.n; i++)
		skx_segment_keys_read_docs(scan->readers[i], scan->docs + scan->next,
								   n, skx_columns_key_array(scan, i));
	scan->next += n;
	return n;
}

int
skx_columns_next(SkxColumnsScan *scan)
{
	if (scan->next < scan->ndocs)
		return skx_columns_look_up(scan);
	scan->n = scan->ndocs = scan->next = 0;
	if (!skx_count_next(scan->count))
		return 0;
	return scan->ndocs > 0 ? skx_columns_look_up(scan) : scan->n;
}

const SkxKey *
skx_columns_keys(const SkxColumnsScan *scan, int i)
{
	return skx_columns_key_array(scan, i);
}

void
skx_columns_end(SkxColumnsScan *scan)
{
	skx_columns_end_segment(scan->seg, scan);
	skx_count_close(scan->count);
	pfree(scan->keys);
	pfree(scan->docs);
	pfree(scan->readers);
	pfree(scan);
}
