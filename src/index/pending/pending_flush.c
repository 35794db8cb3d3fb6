/*
 * pending_flush.c
 *	  Takes documents out of the pending lists for a flush.
 *
 * A first pass gives the documents to the flush.  VACUUM may flag some of them
 * as dead meanwhile.  It counts them on the stripe page, in the record that
 * flags them.  If the count has changed since the pages of a stripe were read,
 * they are read again and compared.  That is done once without the lock on the
 * metapage, which excludes VACUUM, and once with it.
 *
 * A stripe keeps the page of its last flushed document, and with it the page's
 * extent, since the next document is on that page or behind it.  Extents taken
 * before that one have pages of flushed documents only (pending_chain.c), and
 * are given up.
 *
 * The flush notes where each stripe ends before it reads a page of any.  So if
 * a row took the tid of a dead document before that, the flush finds that
 * document flagged.  If it noted the end of a stripe later, it could see a row
 * that took the tid of a document which it had found live in another stripe.
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
	int			stripe;			/* number of the stripe in the view */
	uint64		nbytes;			/* pending when the flush began */
	uint64		limit;			/* first document that the flush leaves out */
	uint64		ndead_before;	/* SkxDiskStripe.ndead before its pages were
								 * read last */
	uint64		last_read;		/* last document read; 0: none */
	uint64		first_dead;		/* index in `dead_flags` of its first document */
	uint64		ndocs;			/* number of its documents in `dead_flags` */
	BlockNumber page;			/* page of the last document read */
	SkxDiskStripeRef result;	/* includes the documents that were read */
} SkxFlushedStripe;

struct SkxPendingFlush
{
	Relation	rel;
	const SkxView *view;
	uint64		budget;			/* bytes of documents still to be read */
	int			nstripes;
	int			current;
	bool		in_stripe;		/* `walk` is in the current stripe */
	bool		in_page;
	SkxFlushedStripe *stripes;	/* the fullest first */
	uint64		ndocs;			/* documents read */
	uint8	   *dead_flags;		/* one for each: 1 if it was flagged as dead
								 * when read last */
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
	flush->dead_flags = palloc(flush->dead_size);
	flush->value.context = CurrentMemoryContext;
	for (i = 0; i < view->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];
		const SkxDiskStripe *stripe;
		Buffer		buffer;

		s->stripe = i;
		s->result = view->stripes[i];
		buffer = skx_pending_lock_page(rel, &meta, s->result.stripe,
									   SKX_PLANE_STRIPE, BUFFER_LOCK_SHARE);
		stripe = (const SkxDiskStripe *) skx_manifest_page_content(buffer);
		s->nbytes = stripe->nbytes - s->result.nbytes;
		s->limit = stripe->next_sequence;
		s->ndead_before = stripe->ndead;
		UnlockReleaseBuffer(buffer);
	}
	qsort(flush->stripes, flush->nstripes, sizeof(SkxFlushedStripe),
		  skx_pending_flush_compare);
	return flush;
}

/*
 * Returns the next record of all stripes, or NULL at the end or once the
 * budget is used up.
 */
static SkxDiskPendingDoc *
skx_pending_flush_record(SkxPendingFlush *flush)
{
	while (flush->budget > 0 && flush->current < flush->nstripes)
	{
		SkxDiskPendingDoc *doc;

		if (!flush->in_stripe)
		{
			SKX_FAULT(SKX_FAULT_FLUSH_STRIPE);
			skx_pending_walk_begin(&flush->walk, flush->rel, flush->view,
								   flush->stripes[flush->current].stripe);
			flush->walk.limit = flush->stripes[flush->current].limit;
		}
		flush->in_stripe = true;
		if (flush->in_page &&
			(doc = skx_pending_walk_record(&flush->walk)) != NULL)
			return doc;
		flush->in_page = skx_pending_walk_page(&flush->walk);
		if (!flush->in_page)
		{
			flush->in_stripe = false;
			flush->current++;
		}
	}
	return NULL;
}

/* Counts the record as skx_pending_append() did, and notes its dead flag. */
static void
skx_pending_flush_count(SkxPendingFlush *flush, const SkxDiskPendingDoc *disk,
						TSVector value)
{
	SkxFlushedStripe *s = &flush->stripes[flush->current];
	uint64		nbytes = sizeof(SkxDiskPendingDoc);

	s->result.nnull += skx_column_is_null(value);
	nbytes += VARSIZE(value);
	s->result.total_length += skx_pending_length(value);
	if (disk->flags & SKX_PENDING_CHAIN)
		nbytes += sizeof(SkxDiskPendingChain);
	s->result.nbytes += nbytes;
	Assert(flush->walk.sequence - 1 > s->last_read);
	Assert(flush->walk.sequence - 1 > s->result.flushed_through);
	Assert(flush->walk.sequence - 1 < s->limit);
	s->last_read = flush->walk.sequence - 1;
	s->page = flush->walk.block;
	flush->budget -= Min(nbytes, flush->budget);
	if (flush->ndocs == flush->dead_size)
	{
		flush->dead_size *= 2;
		flush->dead_flags = repalloc_huge(flush->dead_flags, flush->dead_size);
	}
	if (s->ndocs++ == 0)
		s->first_dead = flush->ndocs;
	flush->dead_flags[flush->ndocs++] = (disk->flags & SKX_PENDING_DEAD) != 0;
}

bool
skx_pending_flush_next(SkxPendingFlush *flush, SkxPendingDoc *doc)
{
	SkxDiskPendingDoc *disk;

	while ((disk = skx_pending_flush_record(flush)) != NULL)
	{
		doc->tid = disk->tid;
		doc->is_dead = (disk->flags & SKX_PENDING_DEAD) != 0;
		doc->stripe = flush->stripes[flush->current].stripe;
		doc->sequence = flush->walk.sequence - 1;
		doc->value = skx_pending_value(&flush->value, &flush->walk, disk);
		skx_pending_flush_count(flush, disk, doc->value);
		if (!doc->is_dead)
			return true;
	}
	return false;
}

bool
skx_pending_flush_has_read(const SkxPendingFlush *flush)
{
	return flush->ndocs > 0;
}

/*
 * Returns true if a document of the stripe was flagged as dead since its pages
 * were read.
 */
static bool
skx_pending_flush_has_new_dead(SkxPendingFlush *flush, SkxFlushedStripe *s)
{
	Buffer		buffer = skx_pending_lock_page(flush->rel, &flush->walk.meta,
											   s->result.stripe,
											   SKX_PLANE_STRIPE,
											   BUFFER_LOCK_SHARE);
	uint64		marked = ((const SkxDiskStripe *)
						  skx_manifest_page_content(buffer))->ndead;
	bool		moved = marked != s->ndead_before;

	UnlockReleaseBuffer(buffer);
	s->ndead_before = marked;
	return moved;
}

/*
 * Reads the stripe again, and calls `late` for documents that were flagged
 * since.  Returns how many pages it has read.
 */
static uint32
skx_pending_flush_reread(SkxPendingFlush *flush, SkxFlushedStripe *s,
						 void (*late) (ItemPointer tid, void *arg), void *arg)
{
	SkxPendingWalk *walk = &flush->walk;
	uint64		at = s->first_dead;
	uint32		npages = 0;

	skx_pending_walk_begin(walk, flush->rel, flush->view, s->stripe);
	walk->limit = s->last_read + 1;
	for (; skx_pending_walk_page(walk); npages++)
	{
		SkxDiskPendingDoc *disk;

		while ((disk = skx_pending_walk_record(walk)) != NULL)
		{
			bool		dead = (disk->flags & SKX_PENDING_DEAD) != 0;

			if (at >= s->first_dead + s->ndocs)
				skx_damage_report(flush->rel, walk->block,
								  "the pending list changed under a flush");
			/* a dead flag is never cleared */
			Assert(dead || !flush->dead_flags[at]);
			if (dead && !flush->dead_flags[at])
				late(&disk->tid, arg);
			flush->dead_flags[at++] = dead;
		}
	}
	if (at != s->first_dead + s->ndocs)
		skx_damage_report(flush->rel, walk->block,
						  "the pending list changed under a flush");
	return npages;
}

uint32
skx_pending_flush_visit_new_dead(SkxPendingFlush *flush,
								 void (*late) (ItemPointer tid, void *arg),
								 void *arg)
{
	uint32		npages = 0;
	int			i;

	for (i = 0; i < flush->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];

		if (s->last_read > 0 && skx_pending_flush_has_new_dead(flush, s))
			npages += skx_pending_flush_reread(flush, s, late, arg);
	}
	return npages;
}

/* Returns how many of the stripe's documents were flagged when read last. */
static uint64
skx_pending_flush_ndead(const SkxPendingFlush *flush,
						const SkxFlushedStripe *s)
{
	uint64		ndead = 0;
	uint64		i;

	for (i = s->first_dead; i < s->first_dead + s->ndocs; i++)
		ndead += flush->dead_flags[i];
	return ndead;
}

/*
 * Returns a number such that no document with a smaller one has pages of the
 * extent.  If the extent begins with a chain, its first page does not tell
 * that.  Then the last document of earlier flushes, or the one after it, is on
 * a page of the extent or before it.  The pages in between have at most `most`
 * documents.
 */
static uint64
skx_pending_flush_extent_first_number(SkxPendingFlush *flush,
									  const SkxFlushedStripe *s,
									  const SkxFreedExtent *extent)
{
	uint64		through = flush->view->stripes[s->stripe].flushed_through;
	uint64		most = ((uint64) extent->npages + 1) *
		(SKX_PAGE_CAPACITY / sizeof(SkxDiskPendingDoc));
	uint64		first = skx_pending_extent_first_doc(flush->rel,
													 &flush->walk.meta,
													 extent->block);

	if (first > 0)
		return first;
	return through > most ? through - most : 0;
}

/* Adds to *freed the extents before that of the last flushed document. */
static void
skx_pending_flush_free_extents(SkxPendingFlush *flush, SkxFlushedStripe *s,
							   SkxFreedExtent **freed, int *nfreed)
{
	BlockNumber oldest = s->result.extent;
	bool		found = false;
	BlockNumber block;
	BlockNumber next;
	uint32		most;
	Buffer		buffer;

	buffer = skx_pending_lock_page(flush->rel, &flush->walk.meta,
								   s->result.stripe, SKX_PLANE_STRIPE,
								   BUFFER_LOCK_SHARE);
	block = ((const SkxDiskStripe *)
			 skx_manifest_page_content(buffer))->extent_last;
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
			SkxFreedExtent *f;

			*freed = repalloc(*freed, (*nfreed + 1) * sizeof(SkxFreedExtent));
			f = &(*freed)[(*nfreed)++];
			memset(f, 0, sizeof(*f));
			f->block = block;
			f->npages = npages;
			f->stripe = s->stripe;
			f->first_sequence =
				skx_pending_flush_extent_first_number(flush, s, f);
			s->result.npages += npages;
		}
		else if (s->page >= block && s->page < block + npages)
		{
			found = true;
			s->result.extent = block;
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
						 SkxFreedExtent **freed, int *nfreed)
{
	int			i;

	/* excludes VACUUM */
	Assert(skx_manifest_holds_lock(flush->rel, ExclusiveLock));
	*stripes = palloc(flush->nstripes * sizeof(SkxDiskStripeRef));
	*freed = palloc(sizeof(SkxFreedExtent));
	*nfreed = 0;
	for (i = 0; i < flush->nstripes; i++)
	{
		SkxFlushedStripe *s = &flush->stripes[i];

		if (s->last_read > 0)
		{
			s->result.ndead += skx_pending_flush_ndead(flush, s);
			s->result.flushed_through = s->last_read;
			s->result.first = s->page;
			skx_pending_flush_free_extents(flush, s, freed, nfreed);
			Assert(BlockNumberIsValid(s->result.first) &&
				   BlockNumberIsValid(s->result.extent));
		}
		(*stripes)[s->stripe] = s->result;
	}
}
