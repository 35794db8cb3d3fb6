/*
 * pending_sound.c
 *	  Remembers which pages of pending lists have sound documents.
 *
 * Every query reads the whole list, and checking a document takes longer than
 * looking for words in it.  So a session remembers, of some thousands of
 * pages, a CRC of what it has checked: a page that has the same bytes, wherever
 * it was in the meantime, need not be checked again.  A page that has changed,
 * be it by an insert or by damage, has another CRC.
 */
#include "postgres.h"

#include "index/document/document.h"
#include "index/pending/pending_internal.h"
#include "port/pg_crc32c.h"
#include "utils/memutils.h"

/*
 * A list of 16 MB has as many pages.  The table takes 32 kB of a session that
 * reads pending documents.
 */
#define SKX_SOUND_PAGES		2048

typedef struct SkxSoundPage
{
	uint64		incarnation;	/* 0: nothing */
	BlockNumber block;
	pg_crc32c	crc;
} SkxSoundPage;

static SkxSoundPage *skx_sound_pages = NULL;

/* Of all that an append has written, and of flags that VACUUM may set. */
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

/* Are all documents of the page, but for chains, as their inserts made them? */
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
