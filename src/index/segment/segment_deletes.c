/*
 * segment_deletes.c
 *	  Reads and sets a segment's deleted bits, the only part of it that
 *	  changes.
 *
 * While the segment lives, bits change from 0 to 1 only.  VACUUM sets them
 * through shared buffers.  A scan reads them after it has taken its snapshot,
 * for one batch of matching documents at a time.  A bit that is set later
 * belongs to a row that the snapshot cannot see, and the snapshot cannot see
 * a row that takes its TID either.  Hence a scan need not read a page again
 * that it saw without bits, unless it counts rows that it does not fetch
 * (count/).  The same holds for a group of pages that has no bits according
 * to the first page: the first page changes together with the pages of the
 * group, in one WAL record and under the locks of both.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "format/disk/disk_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "index/segment/segment_maint.h"
#include "support/bitset/bitset.h"

/*
 * Returns NULL if the page is page `ordinal` of the deletes plane, or all
 * zeros; otherwise a description of the damage.
 */
static const char *
skx_segment_check_deletes(const SkxSegment *seg, uint32 ordinal,
						  const char *page)
{
	SkxPageIdentity id;
	const char *wrong;

	if (PageIsNew((Page) page))
		return NULL;
	id.incarnation = seg->incarnation;
	id.segment = seg->header.segment;
	id.ordinal = ordinal;
	id.plane = SKX_PLANE_DELETES;
	wrong = skx_disk_page_check(page, &id);
	if (wrong == NULL && ((const PageHeaderData *) page)->pd_lower <
		SKX_PAGE_START + sizeof(SkxDiskDeletes) + SKX_DELETES_BYTES)
		wrong = "the page of delete bits is too short";
	return wrong;
}

/*
 * Returns the groups of pages that may have bits, according to the first page
 * of the plane: all groups, if the page does not record them.
 */
static uint32
skx_segment_deletes_groups(const char *page)
{
	uint32		groups = PageIsNew((Page) page) ? 0 :
		((const SkxDiskDeletes *) (page + SKX_PAGE_START))->groups;

	return groups & SKX_DELETES_GROUPS_VALID ? groups : PG_UINT32_MAX;
}

/* Locks the buffer of page `ordinal` and raises an error if it is damaged. */
static const char *
skx_segment_lock_deletes_page(const SkxSegment *seg, Buffer buffer,
							  uint32 ordinal, int mode)
{
	const char *page;
	const char *wrong;

	LockBuffer(buffer, mode);
	page = (const char *) BufferGetPage(buffer);
	wrong = skx_segment_check_deletes(seg, ordinal, page);
	if (wrong != NULL)
		skx_segment_damaged(seg, SKX_SEGMENT_DELETES, ordinal, wrong);
	return page;
}

/*
 * Pins page `ordinal` of the plane and locks it in `mode`.  Returns true if
 * any of its bits is set.  The caller unlocks seg->deletes.
 */
static bool
skx_segment_lock_deletes(SkxSegment *seg, uint32 ordinal, int mode)
{
	const char *page;

	if (!BufferIsValid(seg->deletes) || seg->deletes_page != ordinal)
	{
		BlockNumber block = skx_segment_block(seg, SKX_SEGMENT_DELETES,
											  ordinal);

		seg->deletes = ReleaseAndReadBuffer(seg->deletes, seg->rel, block);
		seg->deletes_page = ordinal;
	}
	page = skx_segment_lock_deletes_page(seg, seg->deletes, ordinal, mode);
	if (ordinal == 0 && seg->deletes_groups == 0)
		seg->deletes_groups = skx_segment_deletes_groups(page);
	return !PageIsNew((Page) page) &&
		((const SkxDiskDeletes *) (page + SKX_PAGE_START))->ndeleted > 0;
}

/* Returns the bits of the locked page. */
static const uint8 *
skx_segment_deletes_bits(const SkxSegment *seg)
{
	return (const uint8 *) PageGetContents(BufferGetPage(seg->deletes)) +
		sizeof(SkxDiskDeletes);
}

/* Returns how many bits of a page are set. */
static inline uint32
skx_segment_count_deletes(const uint8 *bits)
{
	return (uint32) skx_bitset_count(bits,
									 SKX_BITSET_WORDS(SKX_DELETES_PER_PAGE));
}

/*
 * Drops the documents whose bits are set, and returns how many are left.  The
 * bits of all n documents are on the locked page.
 */
static int
skx_segment_drop_deleted_on_page(const SkxSegment *seg, uint32 *docs, int n)
{
	const uint8 *bits = skx_segment_deletes_bits(seg);
	uint32		first = seg->deletes_page * SKX_DELETES_PER_PAGE;
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		bit = docs[i] - first;

		docs[kept] = docs[i];
		kept += !skx_bitset_bytes_test(bits, bit);
	}
	return kept;
}

/* Returns true if the first page says that page `ordinal` may have bits. */
static bool
skx_segment_page_may_have_deletes(SkxSegment *seg, uint32 ordinal)
{
	if (seg->deletes_groups == 0)
	{
		(void) skx_segment_lock_deletes(seg, 0, BUFFER_LOCK_SHARE);
		LockBuffer(seg->deletes, BUFFER_LOCK_UNLOCK);
	}
	return (seg->deletes_groups &
			SkxDeletesGroup(ordinal,
							seg->planes[SKX_SEGMENT_DELETES].npages)) != 0;
}

void
skx_segment_prefetch_first_deletes(const SkxSegment *seg)
{
	if (effective_io_concurrency > 0 && seg->deletes_groups == 0)
		PrefetchBuffer(seg->rel, MAIN_FORKNUM,
					   skx_segment_block(seg, SKX_SEGMENT_DELETES, 0));
}

/*
 * Prefetches the pages with the bits of n ascending documents into shared
 * buffers, unless the segment is warm.  Leaves out the page of the first
 * document, which is read at once, and pages that cannot have bits.
 */
static void
skx_segment_prefetch_deletes(SkxSegment *seg, const uint32 *docs, int n)
{
	uint32		last = docs[0] / SKX_DELETES_PER_PAGE;
	int			i;

	if (effective_io_concurrency == 0 || skx_segment_is_warm(seg))
		return;
	for (i = 1; i < n; i++)
	{
		uint32		page = docs[i] / SKX_DELETES_PER_PAGE;

		if (page != last && skx_segment_page_may_have_deletes(seg, page))
			PrefetchBuffer(seg->rel, MAIN_FORKNUM,
						   skx_segment_block(seg, SKX_SEGMENT_DELETES, page));
		last = page;
	}
}

/*
 * Does the same as skx_segment_drop_deleted_on_page() for documents of page
 * `page`, which is locked only if it may have bits.
 */
static int
skx_segment_drop_deleted_of_page(SkxSegment *seg, uint32 page, uint32 *docs,
								 int n)
{
	if (seg->deletes_clean_page == page + 1 ||
		(page > 0 && !skx_segment_page_may_have_deletes(seg, page)))
		return n;
	if (skx_segment_lock_deletes(seg, page, BUFFER_LOCK_SHARE))
		n = skx_segment_drop_deleted_on_page(seg, docs, n);
	else
		seg->deletes_clean_page = page + 1;
	LockBuffer(seg->deletes, BUFFER_LOCK_UNLOCK);
	return n;
}

int
skx_segment_drop_deleted(SkxSegment *seg, uint32 *docs, int n)
{
	int			kept = 0;
	int			i = 0;

	if (n > 1)
		skx_segment_prefetch_deletes(seg, docs, n);
	while (i < n)
	{
		uint32		page = docs[i] / SKX_DELETES_PER_PAGE;
		int			next = i + 1;
		int			some;

		while (next < n && docs[next] / SKX_DELETES_PER_PAGE == page)
			next++;
		some = skx_segment_drop_deleted_of_page(seg, page, docs + i, next - i);
		some = skx_segment_drop_dead(seg, page, docs + i, some);
		memmove(docs + kept, docs + i, sizeof(uint32) * some);
		kept += some;
		i = next;
	}
	return kept;
}

void
skx_segment_reread_deletes(SkxSegment *seg)
{
	seg->deletes_clean_page = 0;
	seg->deletes_groups = 0;
}

uint64
skx_segment_ndeleted(SkxSegment *seg)
{
	uint64		total = 0;
	uint32		i;

	skx_segment_reread_deletes(seg);
	for (i = 0; i < seg->planes[SKX_SEGMENT_DELETES].npages; i++)
	{
		if (i > 0 && !skx_segment_page_may_have_deletes(seg, i))
			continue;
		CHECK_FOR_INTERRUPTS();
		if (skx_segment_lock_deletes(seg, i, BUFFER_LOCK_SHARE))
			total += ((SkxDiskDeletes *)
					  PageGetContents(BufferGetPage(seg->deletes)))->ndeleted;
		LockBuffer(seg->deletes, BUFFER_LOCK_UNLOCK);
	}
	return total;
}

uint32
skx_segment_read_deletes(SkxSegment *seg, uint32 ordinal, uint8 *bits)
{
	uint32		ndeleted = 0;

	if (skx_segment_lock_deletes(seg, ordinal, BUFFER_LOCK_SHARE))
	{
		memcpy(bits, skx_segment_deletes_bits(seg), SKX_DELETES_BYTES);
		ndeleted = skx_segment_count_deletes(bits);
	}
	else
		memset(bits, 0, SKX_DELETES_BYTES);
	LockBuffer(seg->deletes, BUFFER_LOCK_UNLOCK);
	return ndeleted;
}

/*
 * Returns the first page of the plane, locked exclusively, if it must change
 * when page `ordinal` gets bits: if it is another page and does not have the
 * group yet.  Returns InvalidBuffer otherwise.
 */
static Buffer
skx_segment_lock_deletes_groups(const SkxSegment *seg, uint32 ordinal,
								uint32 group)
{
	Buffer		first;
	const char *page;

	if (ordinal == 0)
		return InvalidBuffer;
	first = ReadBuffer(seg->rel,
					   skx_segment_block(seg, SKX_SEGMENT_DELETES, 0));
	page = skx_segment_lock_deletes_page(seg, first, 0, BUFFER_LOCK_EXCLUSIVE);
	if ((skx_segment_deletes_groups(page) & group) == 0)
		return first;
	UnlockReleaseBuffer(first);
	return InvalidBuffer;
}

/*
 * Sets bits on a page that is registered for WAL, and counts them.
 * Initializes the page if it is all zeros.
 */
static void
skx_segment_set_deletes(const SkxSegment *seg, char *page, uint32 ordinal,
						const uint8 *add)
{
	SkxDiskDeletes *head = (SkxDiskDeletes *) (page + SKX_PAGE_START);
	uint8	   *bits = (uint8 *) (head + 1);
	int			i;

	if (PageIsNew((Page) page))
	{
		SkxPageIdentity id;

		id.incarnation = seg->incarnation;
		id.segment = seg->header.segment;
		id.ordinal = ordinal;
		id.plane = SKX_PLANE_DELETES;
		skx_disk_page_init(page, &id);
		((PageHeader) page)->pd_lower +=
			sizeof(SkxDiskDeletes) + SKX_DELETES_BYTES;
	}
	for (i = 0; i < SKX_DELETES_BYTES; i++)
		bits[i] |= add[i];
	head->ndeleted = skx_segment_count_deletes(bits);
}

/*
 * The first page is locked after the other one.  This cannot deadlock: only
 * one process sets bits at a time, and readers lock one page at a time.
 */
void
skx_segment_add_deletes(SkxSegment *seg, uint32 ordinal, const uint8 *add)
{
	uint32		group = SkxDeletesGroup(ordinal,
										seg->planes[SKX_SEGMENT_DELETES].npages);
	GenericXLogState *xlog;
	SkxDiskDeletes *head;
	Buffer		first;
	char	   *page;
	bool		fresh;

	(void) skx_segment_lock_deletes(seg, ordinal, BUFFER_LOCK_EXCLUSIVE);
	first = skx_segment_lock_deletes_groups(seg, ordinal, group);
	fresh = PageIsNew(BufferGetPage(seg->deletes));
	xlog = GenericXLogStart(seg->rel);
	page = (char *) GenericXLogRegisterBuffer(xlog, seg->deletes, fresh ?
											  GENERIC_XLOG_FULL_IMAGE : 0);
	skx_segment_set_deletes(seg, page, ordinal, add);
	if (BufferIsValid(first))
		page = (char *) GenericXLogRegisterBuffer(xlog, first, 0);
	head = (SkxDiskDeletes *) (page + SKX_PAGE_START);
	if (head->groups != 0)		/* true only on the first page */
		head->groups |= group;
	GenericXLogFinish(xlog);
	if (BufferIsValid(first))
		UnlockReleaseBuffer(first);
	LockBuffer(seg->deletes, BUFFER_LOCK_UNLOCK);
	skx_segment_reread_deletes(seg);
}
