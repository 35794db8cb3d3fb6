/*
 * snapshot_read.c
 *	  Reads segments and pending documents of a view, one after the other.
 */
#include "postgres.h"

#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "utils/memutils.h"

uint64		skx_snapshot_pending_read;
uint64		skx_snapshot_dead_noted;

SkxSnapshotReader *
skx_snapshot_open(Relation rel, const SkxView *view)
{
	SkxSnapshotReader *source = palloc0(sizeof(SkxSnapshotReader));

	source->rel = rel;
	source->view = view;
	source->context = CurrentMemoryContext;
	if (view->nsegments > 0)
		source->file = skx_segment_file(rel, view->meta.incarnation);
	source->segments = palloc(sizeof(SkxSegment *) * (view->nsegments + 1));
	return source;
}

void
skx_snapshot_read_once(SkxSnapshotReader *source)
{
	if (source->file != NULL)
		skx_blkio_set_read_once(source->file);
}

void
skx_snapshot_bypass_page_cache(SkxSnapshotReader *source)
{
	Assert(source->next == 0);
	if (source->file != NULL)
		skx_blkio_bypass_page_cache(source->file);
}

static void
skx_snapshot_close_segments(SkxSnapshotReader *source)
{
	int			i;

	for (i = 0; i < source->nsegments; i++)
		skx_segment_close(source->segments[i]);
	source->nsegments = 0;
}

int
skx_snapshot_next_segments(SkxSnapshotReader *source, int most)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	int			n = Min(most, source->view->nsegments - source->next);

	skx_snapshot_close_segments(source);
	if (n > 0)
		skx_segment_prefetch_headers(source->file, source->rel, source->view,
									 source->next, n);
	while (source->nsegments < n)
		source->segments[source->nsegments++] =
			skx_segment_open(source->file, source->rel, source->view,
							 source->next++);
	MemoryContextSwitchTo(old);
	return n;
}

SkxSegment *
skx_snapshot_open_segment(SkxSnapshotReader *source, int segment)
{
	source->next = segment;
	(void) skx_snapshot_next_segments(source, 1);
	return source->segments[0];
}

void
skx_snapshot_skip_pending(SkxSnapshotReader *source, const uint64 *after)
{
	Assert(source->pending == NULL);
	source->after_sequences = after;
}

void
skx_snapshot_bound_pending(SkxSnapshotReader *source,
						   const SkxPendingBounds *only)
{
	Assert(source->pending == NULL);
	source->wanted_bounds = only;
}

/* Gives the next pending document, and returns false at the end. */
static bool
skx_snapshot_next_pending(SkxSnapshotReader *source, const uint64 *last,
						  SkxPendingDoc *doc)
{
	if (source->pending == NULL)
	{
		source->pending = skx_pending_begin(source->rel, source->view, last);
		skx_pending_use_image(source->pending);
		skx_pending_skip_until(source->pending, source->after_sequences);
		skx_pending_set_bounds(source->pending, source->wanted_bounds);
	}
	if (skx_pending_next(source->pending, doc))
	{
		if (source->doc_context == NULL)
			source->doc_context =
				AllocSetContextCreate(source->context,
									  "skipidx pending document",
									  ALLOCSET_DEFAULT_SIZES);
		return true;
	}
	skx_pending_end(source->pending);
	source->pending = NULL;
	return false;
}

bool
skx_snapshot_visit_pending(SkxSnapshotReader *source, const uint64 *last,
						   SkxSnapshotVisit visit, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	bool		more = true;
	SkxPendingDoc doc;

	while (more && skx_snapshot_next_pending(source, last, &doc))
	{
		CHECK_FOR_INTERRUPTS();
		skx_snapshot_pending_read++;
		MemoryContextSwitchTo(source->doc_context);
		more = visit(&doc, arg);
		MemoryContextSwitchTo(source->context);
		MemoryContextReset(source->doc_context);
	}
	MemoryContextSwitchTo(old);
	return !more;
}

void
skx_snapshot_remember_dead(Relation rel, const SkxView *view,
						   const SkxDocAddress *place)
{
	skx_snapshot_dead_noted++;
	if (place->segment != NULL)
		skx_segment_remember_dead(place->segment, (uint32) place->number);
	else
		skx_pending_remember_dead(rel, view, place->stripe, place->number);
}

void
skx_snapshot_close(SkxSnapshotReader *source)
{
	if (source->pending != NULL)
		skx_pending_end(source->pending);
	if (source->doc_context != NULL)
		MemoryContextDelete(source->doc_context);
	skx_snapshot_close_segments(source);
	if (source->file != NULL)
		skx_blkio_close(source->file);
	pfree(source->segments);
	pfree(source);
}
