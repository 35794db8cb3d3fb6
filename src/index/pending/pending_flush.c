/*
 * pending_flush.c
 *	  What a flush takes out of the pending lists, and what stays.
 *
 * The first pass gives the documents to the flush.  VACUUM goes on meanwhile
 * and may mark some of them, which it counts on the stripe page in the record
 * that marks them.  A stripe whose count has moved since its pages were read
 * is read again and compared: once without the lock on the metapage, which
 * keeps VACUUM out, and once with it.
 *
 * A stripe keeps the page of its last flushed document, since the next one
 * comes on that page or behind it, and with it the page's whole extent.
 * Extents taken before that one hold nothing else than flushed documents
 * (pending_chain.c), and are given up.
 *
 * Where each stripe ends for the flush is noted before a page of any is read.
 * A document whose TID was used again before that is then found marked; were
 * the end of a stripe noted later, the flush could see a row that took a TID
 * from a document it had found live in another stripe.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "index/column/column_value.h"
#include "index/manifest/manifest_publish.h"
#include "index/pending/pending_internal.h"
#include "storage/bufmgr.h"
#include "support/fault/fault.h"

/* A stripe's share of a flush. */
typedef struct SkxFlushedStripe
{
	int			which;			/* in the view */
	uint64		nbytes;			/* pending when the flush began */
	uint64		limit;			/* first document not to see */
	uint64		marked;			/* SkxDiskStripe.ndead before its pages were
								 * read last */
	uint64		through;		/* last document seen; 0: none */
	uint64		first;			/* in `dead`, the stripe's */
	uint64		ndocs;			/* there */
	BlockNumber page;			/* where it is */
	SkxDiskStripeRef ref;		/* with what was seen counted in */
} SkxFlushedStripe;

struct SkxPendingFlush
{
	Relation	rel;
	const SkxView *view;
	uint64		budget;			/* bytes still to be seen */
	int			nstripes;
	int			current;
	bool		walking;		/* `walk` is in the current stripe */
	bool		on_page;
	SkxFlushedStripe *stripes;	/* the fullest first */
	uint64		ndocs;			/* seen */
	uint8	   *dead;			/* a byte each, as seen last */
	Size		dead_size;
	SkxPendingValue value;
	SkxPendingWalk walk;
};

static int
skx_pending_flush_compare(const void *a, const void *b)
{
	uint64		x = ((const SkxFlushedStripe *) a)->nbytes;
	uint64		y = ((const SkxFlushedStripe *) b)->nbytes;

	return x > y ? -1 : x < y;
}

SkxPendingFlush *
skx_pending_flush_begin(Relation rel, const SkxView *view, uint64 budget)
{
	SkxPendingFlush *flush = palloc0(sizeof(SkxPendingFlush));
	SkxDiskMeta meta = view->meta;
	int			i;

	flush->rel = rel;
	flush->view = view;
	flush->budget = budget;
	flush->nstripes = view->nstripes;
	flush->stripes = palloc0(view->nstripes * sizeof(SkxFlushedStripe));
	flush->dead_size = 1024;
	flush->dead = palloc(flush->dead_size);
	flush->value.context = CurrentMemoryContext;
	for (i = 0; i < view->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];
		const SkxDiskStripe *stripe;
		Buffer		buffer;

		s->which = i;
		s->ref = view->stripes[i];
		buffer = skx_pending_buffer(rel, &meta, s->ref.stripe,
									SKX_PLANE_STRIPE, BUFFER_LOCK_SHARE);
		stripe = (const SkxDiskStripe *) skx_manifest_content(buffer);
		s->nbytes = stripe->nbytes - s->ref.nbytes;
		s->limit = stripe->next_sequence;
		s->marked = stripe->ndead;
		UnlockReleaseBuffer(buffer);
	}
	qsort(flush->stripes, flush->nstripes, sizeof(SkxFlushedStripe),
		  skx_pending_flush_compare);
	return flush;
}

/* Next record of any page and stripe, within the budget; or NULL. */
static SkxDiskPendingDoc *
skx_pending_flush_record(SkxPendingFlush *flush)
{
	while (flush->budget > 0 && flush->current < flush->nstripes)
	{
		SkxDiskPendingDoc *doc;

		if (!flush->walking)
		{
			SKX_FAULT(SKX_FAULT_FLUSH_STRIPE);
			skx_pending_walk_begin(&flush->walk, flush->rel, flush->view,
								   flush->stripes[flush->current].which);
			flush->walk.limit = flush->stripes[flush->current].limit;
		}
		flush->walking = true;
		if (flush->on_page &&
			(doc = skx_pending_walk_record(&flush->walk)) != NULL)
			return doc;
		flush->on_page = skx_pending_walk_page(&flush->walk);
		if (!flush->on_page)
		{
			flush->walking = false;
			flush->current++;
		}
	}
	return NULL;
}

/* Counts the record as the append that made it did. */
static void
skx_pending_flush_count(SkxPendingFlush *flush, const SkxDiskPendingDoc *disk,
						TSVector value)
{
	SkxFlushedStripe *s = &flush->stripes[flush->current];
	uint64		nbytes = sizeof(SkxDiskPendingDoc);

	s->ref.nnull += skx_column_is_null(value);
	nbytes += VARSIZE(value);
	s->ref.total_length += skx_pending_length(value);
	if (disk->flags & SKX_PENDING_CHAIN)
		nbytes += sizeof(SkxDiskPendingChain);
	s->ref.nbytes += nbytes;
	Assert(flush->walk.sequence - 1 > s->through);
	Assert(flush->walk.sequence - 1 > s->ref.flushed_through);
	Assert(flush->walk.sequence - 1 < s->limit);
	s->through = flush->walk.sequence - 1;
	s->page = flush->walk.block;
	flush->budget -= Min(nbytes, flush->budget);
	if (flush->ndocs == flush->dead_size)
	{
		flush->dead_size *= 2;
		flush->dead = repalloc_huge(flush->dead, flush->dead_size);
	}
	if (s->ndocs++ == 0)
		s->first = flush->ndocs;
	flush->dead[flush->ndocs++] = (disk->flags & SKX_PENDING_DEAD) != 0;
}

bool
skx_pending_flush_next(SkxPendingFlush *flush, SkxPendingDoc *doc)
{
	SkxDiskPendingDoc *disk;

	while ((disk = skx_pending_flush_record(flush)) != NULL)
	{
		doc->tid = disk->tid;
		doc->dead = (disk->flags & SKX_PENDING_DEAD) != 0;
		doc->stripe = flush->stripes[flush->current].which;
		doc->sequence = flush->walk.sequence - 1;
		doc->value = skx_pending_value(&flush->value, &flush->walk, disk);
		skx_pending_flush_count(flush, disk, doc->value);
		if (!doc->dead)
			return true;
	}
	return false;
}

bool
skx_pending_flush_any(const SkxPendingFlush *flush)
{
	return flush->ndocs > 0;
}

/* Was any document of the stripe marked since its pages were read? */
static bool
skx_pending_flush_moved(SkxPendingFlush *flush, SkxFlushedStripe *s)
{
	Buffer		buffer = skx_pending_buffer(flush->rel, &flush->walk.meta,
											s->ref.stripe, SKX_PLANE_STRIPE,
											BUFFER_LOCK_SHARE);
	uint64		marked = ((const SkxDiskStripe *)
						  skx_manifest_content(buffer))->ndead;
	bool		moved = marked != s->marked;

	UnlockReleaseBuffer(buffer);
	s->marked = marked;
	return moved;
}

/* Tells what was marked since; returns how many pages were read for it. */
static uint32
skx_pending_flush_again(SkxPendingFlush *flush, SkxFlushedStripe *s,
						void (*late) (ItemPointer tid, void *arg), void *arg)
{
	SkxPendingWalk *walk = &flush->walk;
	uint64		at = s->first;
	uint32		npages = 0;

	skx_pending_walk_begin(walk, flush->rel, flush->view, s->which);
	walk->limit = s->through + 1;
	for (; skx_pending_walk_page(walk); npages++)
	{
		SkxDiskPendingDoc *disk;

		while ((disk = skx_pending_walk_record(walk)) != NULL)
		{
			bool		dead = (disk->flags & SKX_PENDING_DEAD) != 0;

			if (at >= s->first + s->ndocs)
				skx_damage_report(flush->rel, walk->block,
								  "the pending list changed under a flush");
			/* a mark is never taken back */
			Assert(dead || !flush->dead[at]);
			if (dead && !flush->dead[at])
				late(&disk->tid, arg);
			flush->dead[at++] = dead;
		}
	}
	if (at != s->first + s->ndocs)
		skx_damage_report(flush->rel, walk->block,
						  "the pending list changed under a flush");
	return npages;
}

uint32
skx_pending_flush_late(SkxPendingFlush *flush,
					   void (*late) (ItemPointer tid, void *arg), void *arg)
{
	uint32		npages = 0;
	int			i;

	for (i = 0; i < flush->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];

		if (s->through > 0 && skx_pending_flush_moved(flush, s))
			npages += skx_pending_flush_again(flush, s, late, arg);
	}
	return npages;
}

/* Marked documents among those of the stripe. */
static uint64
skx_pending_flush_dead(const SkxPendingFlush *flush, const SkxFlushedStripe *s)
{
	uint64		ndead = 0;
	uint64		i;

	for (i = s->first; i < s->first + s->ndocs; i++)
		ndead += flush->dead[i];
	return ndead;
}

/*
 * A document before which none has pages of an extent.  Where that begins with
 * a chain, a page in it or before it has the last document that was flushed
 * earlier, or the next one, and all pages in between have no more documents
 * than so many.
 */
static uint64
skx_pending_flush_first(SkxPendingFlush *flush, const SkxFlushedStripe *s,
						const SkxFreed *extent)
{
	uint64		through = flush->view->stripes[s->which].flushed_through;
	uint64		most = ((uint64) extent->npages + 1) *
		(SKX_PAGE_CAPACITY / sizeof(SkxDiskPendingDoc));
	uint64		first = skx_pending_extent_first(flush->rel,
												 &flush->walk.meta,
												 extent->block);

	if (first > 0)
		return first;
	return through > most ? through - most : 0;
}

/* Gives up the extents before that of the last flushed document. */
static void
skx_pending_flush_free(SkxPendingFlush *flush, SkxFlushedStripe *s,
					   SkxFreed **freed, int *nfreed)
{
	BlockNumber oldest = s->ref.extent;
	bool		found = false;
	BlockNumber block;
	BlockNumber next;
	uint32		most;
	Buffer		buffer;

	buffer = skx_pending_buffer(flush->rel, &flush->walk.meta, s->ref.stripe,
								SKX_PLANE_STRIPE, BUFFER_LOCK_SHARE);
	block = ((const SkxDiskStripe *)
			 skx_manifest_content(buffer))->extent_last;
	UnlockReleaseBuffer(buffer);
	/* inserts have gone on, and the file may have grown for them */
	skx_manifest_meta(flush->rel, &flush->walk.meta);
	most = flush->walk.meta.nblocks;
	while (BlockNumberIsValid(block) && most-- > 0)
	{
		uint32		npages;

		skx_pending_extent(flush->rel, &flush->walk.meta, block, &npages,
						   &next);
		if (found)
		{
			SkxFreed   *f;

			*freed = repalloc(*freed, (*nfreed + 1) * sizeof(SkxFreed));
			f = &(*freed)[(*nfreed)++];
			memset(f, 0, sizeof(*f));
			f->block = block;
			f->npages = npages;
			f->stripe = s->which;
			f->first = skx_pending_flush_first(flush, s, f);
			s->ref.npages += npages;
		}
		else if (s->page >= block && s->page < block + npages)
		{
			found = true;
			s->ref.extent = block;
		}
		if (block == oldest)
			break;
		block = next;
	}
	if (!found)
		skx_damage_report(flush->rel, s->page,
						  "a pending page is in no extent of its stripe");
}

void
skx_pending_flush_finish(SkxPendingFlush *flush, SkxDiskStripeRef **stripes,
						 SkxFreed **freed, int *nfreed)
{
	int			i;

	/* VACUUM is kept out */
	Assert(skx_manifest_locked(flush->rel, ExclusiveLock));
	*stripes = palloc(flush->nstripes * sizeof(SkxDiskStripeRef));
	*freed = palloc(sizeof(SkxFreed));
	*nfreed = 0;
	for (i = 0; i < flush->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];

		if (s->through > 0)
		{
			s->ref.ndead += skx_pending_flush_dead(flush, s);
			s->ref.flushed_through = s->through;
			s->ref.first = s->page;
			skx_pending_flush_free(flush, s, freed, nfreed);
			Assert(BlockNumberIsValid(s->ref.first) &&
				   BlockNumberIsValid(s->ref.extent));
		}
		(*stripes)[s->which] = s->ref;
	}
}
