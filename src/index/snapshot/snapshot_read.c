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

SkxSource *
skx_snapshot_open(Relation rel, const SkxView *view)
{
	SkxSource  *source = palloc0(sizeof(SkxSource));

	source->rel = rel;
	source->view = view;
	source->context = CurrentMemoryContext;
	if (view->nsegments > 0)
		source->file = skx_segment_file(rel, view->meta.incarnation);
	source->segments = palloc(sizeof(SkxSegment *) * (view->nsegments + 1));
	return source;
}

void
skx_snapshot_once(SkxSource *source)
{
	if (source->file != NULL)
		skx_blkio_once(source->file);
}

void
skx_snapshot_past(SkxSource *source)
{
	Assert(source->next == 0);
	if (source->file != NULL)
		skx_blkio_past(source->file);
}

static void
skx_snapshot_close_segments(SkxSource *source)
{
	int			i;

	for (i = 0; i < source->nsegments; i++)
		skx_segment_close(source->segments[i]);
	source->nsegments = 0;
}

int
skx_snapshot_next(SkxSource *source, int most)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	int			n = Min(most, source->view->nsegments - source->next);

	skx_snapshot_close_segments(source);
	if (n > 0)
		skx_segment_ask_headers(source->file, source->rel, source->view,
								source->next, n);
	while (source->nsegments < n)
		source->segments[source->nsegments++] =
			skx_segment_open(source->file, source->rel, source->view,
							 source->next++);
	MemoryContextSwitchTo(old);
	return n;
}

SkxSegment *
skx_snapshot_at(SkxSource *source, int segment)
{
	source->next = segment;
	(void) skx_snapshot_next(source, 1);
	return source->segments[0];
}

void
skx_snapshot_after(SkxSource *source, const uint64 *after)
{
	Assert(source->pending == NULL);
	source->after = after;
}

void
skx_snapshot_only(SkxSource *source, const SkxPendingBounds *only)
{
	Assert(source->pending == NULL);
	source->only = only;
}

/* Gives the next pending document, and returns false at the end. */
static bool
skx_snapshot_next_pending(SkxSource *source, const uint64 *last,
						  SkxPendingDoc *doc)
{
	if (source->pending == NULL)
	{
		source->pending = skx_pending_begin(source->rel, source->view, last);
		skx_pending_remember(source->pending);
		skx_pending_after(source->pending, source->after);
		skx_pending_only(source->pending, source->only);
	}
	if (skx_pending_next(source->pending, doc))
	{
		if (source->document == NULL)
			source->document = AllocSetContextCreate(source->context,
													 "skipidx pending document",
													 ALLOCSET_DEFAULT_SIZES);
		return true;
	}
	skx_pending_end(source->pending);
	source->pending = NULL;
	return false;
}

bool
skx_snapshot_pending(SkxSource *source, const uint64 *last,
					 SkxSourceVisit visit, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(source->context);
	bool		more = true;
	SkxPendingDoc doc;

	while (more && skx_snapshot_next_pending(source, last, &doc))
	{
		CHECK_FOR_INTERRUPTS();
		skx_snapshot_pending_read++;
		MemoryContextSwitchTo(source->document);
		more = visit(&doc, arg);
		MemoryContextSwitchTo(source->context);
		MemoryContextReset(source->document);
	}
	MemoryContextSwitchTo(old);
	return !more;
}

void
skx_snapshot_note_dead(Relation rel, const SkxView *view,
					   const SkxSourcePlace *place)
{
	skx_snapshot_dead_noted++;
	if (place->segment != NULL)
		skx_segment_note_dead(place->segment, (uint32) place->number);
	else
		skx_pending_note_dead(rel, view, place->stripe, place->number);
}

void
skx_snapshot_close(SkxSource *source)
{
	if (source->pending != NULL)
		skx_pending_end(source->pending);
	if (source->document != NULL)
		MemoryContextDelete(source->document);
	skx_snapshot_close_segments(source);
	if (source->file != NULL)
		skx_blkio_close(source->file);
	pfree(source->segments);
	pfree(source);
}
