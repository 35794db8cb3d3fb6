/*
 * pending_sound.c
 *	  Remembers which pages of pending lists have sound documents.
 *
 * Queries read the list again and again, and checking a document takes longer
 * than looking for lexemes in it.  So a session remembers a CRC of each page
 * that it has checked, of up to SKX_VERIFIED_PAGES_MAX pages of an index.  A
 * page with the same bytes, even if it was read from disk anew, is not checked
 * again.  A page that an insert or damage has changed has another CRC.
 */
#include "postgres.h"

#include "index/document/document.h"
#include "index/pending/pending_internal.h"
#include "port/pg_crc32c.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/memutils.h"

/*
 * Pages of an index that are remembered: those of a list of 16 MB.  The table
 * takes 16 kB then, and a few hundred bytes at first.
 */
#define SKX_VERIFIED_PAGES_MAX		2048
#define SKX_VERIFIED_PAGES_INIT		64

typedef struct SkxVerifiedPage
{
	BlockNumber block;			/* InvalidBlockNumber: none */
	pg_crc32c	crc;
} SkxVerifiedPage;

typedef struct SkxVerifiedPages
{
	SkxSessionEntry entry;
	uint32		n;
	SkxVerifiedPage pages[FLEXIBLE_ARRAY_MEMBER];	/* that of a block is at
													 * its number modulo n */
} SkxVerifiedPages;

static void
skx_verified_free(SkxSessionEntry *entry)
{
	pfree(entry);
}

static SkxSessionKind skx_sound_kind = {
	.max_entries = 64,
	.max_bytes = 128 * 1024,
	.free_entry = skx_verified_free
};

static SkxVerifiedPage *
skx_verified_slot(SkxVerifiedPages *sound, BlockNumber block)
{
	return &sound->pages[block % sound->n];
}

/*
 * Returns what is remembered of the walk's index, in a table of n pages with
 * what `old`, if any, has.
 */
static SkxVerifiedPages *
skx_verified_create(const SkxPendingWalk *walk, SkxVerifiedPages *old,
					uint32 n)
{
	SkxSessionKey key = skx_sessioncache_key(walk->rel,
											 walk->meta.incarnation, 0);
	Size		size = offsetof(SkxVerifiedPages, pages) +
		sizeof(SkxVerifiedPage) * n;
	SkxVerifiedPages *sound = MemoryContextAlloc(skx_sessioncache_context(),
												 size);
	uint32		i;

	sound->n = n;
	for (i = 0; i < n; i++)
		sound->pages[i].block = InvalidBlockNumber;
	for (i = 0; old != NULL && i < old->n; i++)
	{
		if (old->pages[i].block != InvalidBlockNumber)
			*skx_verified_slot(sound, old->pages[i].block) = old->pages[i];
	}
	if (old != NULL)
		skx_sessioncache_drop(&old->entry);
	skx_sessioncache_put(&skx_sound_kind, &key, &sound->entry, size);
	return sound;
}

/*
 * Returns the CRC of everything that appends have written to the page, with
 * the flags that VACUUM sets.
 */
static pg_crc32c
skx_verified_page_crc(const char *page)
{
	uint32		lower = ((const PageHeaderData *) page)->pd_lower;
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, page + SKX_PAGE_START, lower - SKX_PAGE_START);
	FIN_CRC32C(crc);
	return crc;
}

/* Returns true if the page's documents are sound, except those in chains. */
static bool
skx_verified_check_documents(const SkxPendingWalk *walk)
{
	const char *page = walk->page.data;
	uint32		lower = ((const PageHeaderData *) page)->pd_lower;
	uint32		offset = SKX_PAGE_START + sizeof(SkxDiskPendingPage);
	uint32		n = ((const SkxDiskPendingPage *) (page + SKX_PAGE_START))->nrecords;

	for (; n > 0; n--)
	{
		const SkxDiskPendingDoc *doc =
			(const SkxDiskPendingDoc *) (page + offset);
		bool		as_taken = true;

		if (offset > lower ||
			skx_pending_record_check(doc, lower - offset) != NULL)
			return false;
		if ((doc->flags & SKX_PENDING_CHAIN) == 0 && doc->nbytes > 0 &&
			skx_document_check_vector((const char *) (doc + 1), doc->nbytes,
									  &as_taken) != NULL)
			return false;
		if (!as_taken)
			return false;
		offset += SKX_PENDING_RECORD_SIZE(doc->nbytes);
	}
	return true;
}

bool
skx_pending_page_is_verified(const SkxPendingWalk *walk)
{
	SkxSessionKey key = skx_sessioncache_key(walk->rel,
											 walk->meta.incarnation, 0);
	uint32		lower = ((const PageHeaderData *) walk->page.data)->pd_lower;
	SkxVerifiedPages *sound;
	SkxVerifiedPage *known;
	pg_crc32c	crc;

	if (lower < SKX_PAGE_START + sizeof(SkxDiskPendingPage) || lower > BLCKSZ)
		return false;
	crc = skx_verified_page_crc(walk->page.data);
	sound = skx_sessioncache_find(&skx_sound_kind, &key);
	if (sound != NULL)
	{
		known = skx_verified_slot(sound, walk->block);
		if (known->block == walk->block && known->crc == crc)
			return true;
	}
	if (!skx_verified_check_documents(walk))
		return false;
	if (sound == NULL)
		sound = skx_verified_create(walk, NULL,
									Min(SKX_VERIFIED_PAGES_INIT,
										SKX_VERIFIED_PAGES_MAX));
	known = skx_verified_slot(sound, walk->block);
	if (known->block != InvalidBlockNumber && known->block != walk->block &&
		sound->n < SKX_VERIFIED_PAGES_MAX)
	{
		sound = skx_verified_create(walk, sound, sound->n * 2);
		known = skx_verified_slot(sound, walk->block);
	}
	known->block = walk->block;
	known->crc = crc;
	return true;
}
