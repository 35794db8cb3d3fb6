/*
 * pending_sound.c
 *	  Remembers which pages of pending lists have sound documents.
 *
 * Queries read the list again and again, and checking a document takes longer
 * than looking for lexemes in it.  So a session remembers a CRC of each page
 * that it has checked, of up to SKX_SOUND_PAGES pages.  A page with the same
 * bytes, even if it was read from disk anew, is not checked again.  A page
 * that an insert or damage has changed has another CRC.
 */
#include "postgres.h"

#include "index/document/document.h"
#include "index/pending/pending_internal.h"
#include "port/pg_crc32c.h"
#include "utils/memutils.h"

/*
 * Pages that are remembered: those of a list of 16 MB.  The table takes 32 kB
 * in a session that reads pending documents.
 */
#define SKX_SOUND_PAGES		2048

typedef struct SkxSoundPage
{
	uint64		incarnation;	/* 0: the entry is not used */
	BlockNumber block;
	pg_crc32c	crc;
} SkxSoundPage;

static SkxSoundPage *skx_sound_pages = NULL;

/*
 * Returns the CRC of everything that appends have written to the page, with
 * the flags that VACUUM sets.
 */
static pg_crc32c
skx_sound_crc(const char *page)
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
skx_sound_documents(const SkxPendingWalk *walk)
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
			skx_document_vector_wrong((const char *) (doc + 1), doc->nbytes,
									  &as_taken) != NULL)
			return false;
		if (!as_taken)
			return false;
		offset += SKX_PENDING_RECORD_SIZE(doc->nbytes);
	}
	return true;
}

bool
skx_pending_sound(const SkxPendingWalk *walk)
{
	uint32		lower = ((const PageHeaderData *) walk->page.data)->pd_lower;
	SkxSoundPage *known;
	pg_crc32c	crc;

	if (lower < SKX_PAGE_START + sizeof(SkxDiskPendingPage) || lower > BLCKSZ)
		return false;
	if (skx_sound_pages == NULL)
		skx_sound_pages = MemoryContextAllocZero(TopMemoryContext,
												 SKX_SOUND_PAGES *
												 sizeof(SkxSoundPage));
	crc = skx_sound_crc(walk->page.data);
	known = &skx_sound_pages[walk->block % SKX_SOUND_PAGES];
	if (known->incarnation == walk->meta.incarnation &&
		known->block == walk->block && known->crc == crc)
		return true;
	if (!skx_sound_documents(walk))
		return false;
	known->incarnation = walk->meta.incarnation;
	known->block = walk->block;
	known->crc = crc;
	return true;
}
