/*
 * pending_scan.c
 *	  Scans the pending documents of a view, for queries.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "index/column/column_value.h"
#include "index/document/document.h"
#include "index/pending/pending_internal.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"

struct SkxPendingScan
{
	Relation	rel;
	const SkxView *view;
	const uint64 *end_sequences;	/* as for skx_pending_begin() */
	const uint64 *after_sequences;	/* as for skx_pending_skip_until(); NULL:
									 * none */
	const SkxPendingBounds *wanted_bounds;	/* NULL: all documents are wanted */
	bool		use_image;		/* use the session's image */
	SkxPendingImage *image;		/* gives documents image_next .. image_end - 1
								 * of the stripe, before those of `walk` */
	uint64		image_changes;	/* the image is valid while
								 * skx_pending_image_changes is this */
	uint64		image_next;
	uint64		image_end;
	uint64		bounds_first;	/* `bounds` has those of the image's documents
								 * bounds_first .. bounds_end - 1 */
	uint64		bounds_end;
	int32		bounds[SKX_PENDING_BOUNDS_MAX];
	int			stripe;			/* stripe of `walk`; -1: not begun */
	bool		in_page;		/* the walk has a page with records left */
	SkxPendingDead dead;		/* of the stripe `stripe` */
	SkxPendingValue value;
	SkxPendingWalk walk;
};

SkxPendingScan *
skx_pending_begin(Relation rel, const SkxView *view, const uint64 *last)
{
	SkxPendingScan *scan = palloc(sizeof(SkxPendingScan));

	scan->rel = rel;
	scan->view = view;
	scan->end_sequences = last;
	scan->after_sequences = NULL;
	scan->wanted_bounds = NULL;
	scan->use_image = false;
	scan->image_next = scan->image_end = 0;
	scan->bounds_first = scan->bounds_end = 0;
	scan->stripe = -1;
	scan->in_page = false;
	memset(&scan->dead, 0, sizeof(scan->dead));
	memset(&scan->value, 0, sizeof(scan->value));
	scan->value.context = CurrentMemoryContext;
	return scan;
}

void
skx_pending_use_image(SkxPendingScan *scan)
{
	scan->use_image = true;
	/* Documents that were flushed leave it, though none may be pending. */
	(void) skx_pending_image(scan->rel, scan->view);
}

void
skx_pending_skip_until(SkxPendingScan *scan, const uint64 *after)
{
	scan->after_sequences = after;
}

void
skx_pending_set_bounds(SkxPendingScan *scan, const SkxPendingBounds *only)
{
	scan->wanted_bounds = only;
}

/* Finds the documents of the walk's stripe that the image has. */
static void
skx_pending_begin_image(SkxPendingScan *scan)
{
	scan->image = skx_pending_image(scan->rel, scan->view);
	scan->image_next = scan->walk.flushed_through + 1;
	scan->image_end = skx_pending_image_next(scan->image, &scan->walk,
											 scan->stripe, true);
	scan->image_changes = skx_pending_image_changes;
	scan->bounds_end = 0;
}

/* Skips documents up to that number, in the image and in the list. */
static void
skx_pending_skip_to(SkxPendingScan *scan, uint64 number)
{
	if (number + 1 < scan->image_end)
	{
		scan->image_next = Max(scan->image_next, number + 1);
		return;
	}
	if (scan->image_next < scan->image_end)
		skx_pending_image_skip(scan->image, &scan->walk, scan->stripe);
	scan->image_next = scan->image_end;
	scan->walk.flushed_through = Max(scan->walk.flushed_through, number);
}

/*
 * Returns false if no document of a stripe is pending for the scan, as far as
 * is known without reading the stripe page.
 */
static bool
skx_pending_may_have(const SkxPendingScan *scan, int which)
{
	const SkxView *view = scan->view;
	uint64		flushed = view->stripes[which].flushed_through;

	if (scan->end_sequences != NULL && scan->end_sequences[which] <= flushed)
		return false;
	return !view->is_bound || view->pending_ends[which] > flushed + 1;
}

/*
 * Goes to the next stripe that has documents for the scan.  Returns false at
 * the end.
 */
static bool
skx_pending_next_stripe(SkxPendingScan *scan)
{
	const SkxView *view = scan->view;
	const uint64 *last = scan->end_sequences;

	do
	{
		if (scan->stripe + 1 >= view->nstripes)
			return false;
		scan->stripe++;
	} while (!skx_pending_may_have(scan, scan->stripe));
	skx_pending_walk_begin(&scan->walk, scan->rel, view, scan->stripe);
	if (scan->use_image)
	{
		skx_pending_dead_begin(&scan->dead, scan->rel, view, scan->stripe);
		skx_pending_begin_image(scan);
	}
	if (last != NULL)
		scan->walk.limit = Min(scan->walk.limit, last[scan->stripe] + 1);
	scan->image_end = Min(scan->image_end, scan->walk.limit);
	if (scan->after_sequences != NULL)
		skx_pending_skip_to(scan, scan->after_sequences[scan->stripe]);
	return true;
}

/*
 * Goes to the image's next document whose bound is high enough, and sets the
 * bound.  Returns false if there is none.
 */
static bool
skx_pending_next_bound(SkxPendingScan *scan, SkxPendingDoc *doc)
{
	const SkxPendingBounds *only = scan->wanted_bounds;
	int32		need = only->threshold(only->arg);

	for (; scan->image_next < scan->image_end; scan->image_next++)
	{
		if (scan->image_next >= scan->bounds_end)
		{
			scan->bounds_first = scan->image_next;
			scan->bounds_end = Min(scan->image_next + SKX_PENDING_BOUNDS_MAX,
								   scan->image_end);
			only->compute_bounds(only->arg, scan->stripe, scan->bounds_first,
								 (int) (scan->bounds_end - scan->bounds_first),
								 skx_pending_image_norms(scan->image,
														 scan->stripe,
														 scan->bounds_first),
								 scan->bounds);
		}
		doc->bound = scan->bounds[scan->image_next - scan->bounds_first];
		if (doc->bound >= need)
			return true;
	}
	return false;
}

/*
 * Gives the next document of the session's image.  Returns false if there is
 * none, so that the walk goes on.  If the image has changed since the last
 * document, the walk reads the list from its beginning, and skips documents
 * that were given.
 */
static bool
skx_pending_next_image(SkxPendingScan *scan, SkxPendingDoc *doc)
{
	bool		found;

	if (scan->image_next >= scan->image_end)
		return false;
	if (scan->image_changes != skx_pending_image_changes)
	{
		scan->walk.flushed_through = scan->image_next - 1;
		scan->image_end = scan->image_next;
		return false;
	}
	found = scan->wanted_bounds == NULL || skx_pending_next_bound(scan, doc);
	if (found)
		skx_pending_image_get(scan->image, scan->stripe, scan->image_next++,
							  doc);
	if (scan->image_next == scan->image_end)
		skx_pending_image_skip(scan->image, &scan->walk, scan->stripe);
	return found;
}

/* Gives the next document of the walk's page, or returns false. */
static bool
skx_pending_next_record(SkxPendingScan *scan, SkxDiskPendingDoc **record,
						SkxPendingDoc *doc)
{
	if (!scan->in_page)
		return false;
	*record = skx_pending_walk_record(&scan->walk);
	if (*record == NULL)
		return false;
	doc->tid = (*record)->tid;
	doc->is_dead = ((*record)->flags & SKX_PENDING_DEAD) != 0;
	doc->stripe = scan->stripe;
	doc->sequence = scan->walk.sequence - 1;
	return true;
}

/*
 * Gives the next document of all stripes, from image or list.  Returns false
 * at the end.  Sets *record to NULL if it has set the document's value.
 */
static bool
skx_pending_next_any(SkxPendingScan *scan, SkxDiskPendingDoc **record,
					 SkxPendingDoc *doc)
{
	*record = NULL;
	for (;;)
	{
		if (skx_pending_next_image(scan, doc) ||
			skx_pending_next_record(scan, record, doc))
			return true;
		scan->in_page = scan->stripe >= 0 &&
			skx_pending_walk_page(&scan->walk);
		if (!scan->in_page && !skx_pending_next_stripe(scan))
			return false;
	}
}

/*
 * Sets the bound of a document of the list.  Returns true if it is high
 * enough.
 */
static bool
skx_pending_bound_competes(SkxPendingScan *scan, SkxPendingDoc *doc)
{
	const SkxPendingBounds *only = scan->wanted_bounds;
	const uint8 shortest = 0;

	if (only == NULL)
		return true;
	only->compute_bounds(only->arg, doc->stripe, doc->sequence, 1, &shortest,
						 &doc->bound);
	return doc->bound >= only->threshold(only->arg);
}

bool
skx_pending_next(SkxPendingScan *scan, SkxPendingDoc *doc)
{
	SkxDiskPendingDoc *record;

	do
	{
		if (!skx_pending_next_any(scan, &record, doc))
			return false;
		doc->is_dead |= skx_pending_is_dead(&scan->dead, doc->sequence);
	} while ((doc->is_dead && scan->end_sequences == NULL) ||
			 (record != NULL && !skx_pending_bound_competes(scan, doc)));
	if (record != NULL)
		doc->value = skx_pending_value(&scan->value, &scan->walk, record);
	return true;
}

void
skx_pending_end(SkxPendingScan *scan)
{
	if (scan->value.chain != NULL)
		pfree(scan->value.chain);
	if (scan->dead.words != NULL)
		pfree(scan->dead.words);
	pfree(scan);
}
