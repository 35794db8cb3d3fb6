/*
 * blkio_glance.c
 *	  Reads a few bytes of a page without a pin.
 *
 * To find the frame of a page takes a lock, and to pin and unpin it writes to
 * shared memory twice, which is too much for one byte.  So a backend notes in
 * which frame it has pinned a page, and looks there next time.  The page is
 * still there if the frame is valid and has the key of the page.  Then the
 * bytes are read.  After that the version must be the same as before the key
 * was read.  Otherwise the frame may have been evicted and filled with other
 * pages meanwhile, and neither key nor bytes can be used.
 *
 * The table of notes has a fixed size and one entry for each page; pages share
 * entries.  An entry may be of another page, which the comparison of the key
 * detects.
 *
 * A page is copied when it is noted if it is not in a frame of the cache.
 * This is so without a cache, without a free frame, or with the method
 * shared_buffers.  There is a fixed number of copies, and one slot for each
 * page.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

/* Number of notes and of copies, both powers of two. */
#define SKX_BLK_NOTED_PAGES		65536
#define SKX_BLK_COPIED_PAGES		512

/* Divisor for the share of the cache that may be filled in advance. */
#define SKX_BLK_WARM_FRACTION	4

/* A copy of a page.  `state` has a version, as a frame's state does. */
typedef struct SkxBlkCopy
{
	pg_atomic_uint64 state;
	SkxBlkKey	key;
	char	   *page;			/* NULL: none yet */
} SkxBlkCopy;

/*
 * Where pages were noted: number of the frame plus 1, -1 for a copy, 0 for
 * none.  Entries that are never written take no memory, and pages of one plane
 * have adjacent entries.
 */
static int32 skx_blkio_notes[SKX_BLK_NOTED_PAGES];
static SkxBlkCopy *skx_blkio_copies = NULL;

static inline uint32
skx_blkio_note_slot(const SkxBlkPlane *plane, uint32 ordinal)
{
	return (uint32) (plane->salt ^ plane->salt >> 32) + ordinal;
}

static inline int32 *
skx_blkio_note_of(const SkxBlkPlane *plane, uint32 ordinal)
{
	return &skx_blkio_notes[skx_blkio_note_slot(plane, ordinal) % SKX_BLK_NOTED_PAGES];
}

static inline SkxBlkCopy *
skx_blkio_copy_of(const SkxBlkPlane *plane, uint32 ordinal)
{
	return &skx_blkio_copies[skx_blkio_note_slot(plane, ordinal) % SKX_BLK_COPIED_PAGES];
}

static bool
skx_blkio_optimistic_from_copy(SkxBlkFile *file, const SkxBlkPlane *plane,
							   uint32 ordinal, SkxBlkOptimisticRead *glance)
{
	SkxBlkCopy *copy = skx_blkio_copy_of(plane, ordinal);
	SkxBlkKey	key;

	skx_blkio_key(file, plane, ordinal, &key);
	if (copy->page == NULL || !skx_blkio_same_key(&copy->key, &key))
		return false;
	glance->page = copy->page;
	glance->state = &copy->state;
	glance->version_seen = pg_atomic_read_u64(&copy->state);
	return true;
}

/*
 * Adds 1 to the use count of a frame if it is below the maximum.  So nothing
 * is written to shared memory as long as the clock evicts nothing.
 */
static inline void
skx_blkio_optimistic_count_use(SkxBlkFrame *frame, uint64 state)
{
	if ((state & SKX_BLK_USE_MASK) < SKX_BLK_USE_MAX)
		pg_atomic_compare_exchange_u64(&frame->state, &state,
									   state + SKX_BLK_USE_ONE);
}

bool
skx_blkio_optimistic_read(SkxBlkFile *file, const SkxBlkPlane *plane,
						  uint32 ordinal, SkxBlkOptimisticRead *glance)
{
	int32		note = *skx_blkio_note_of(plane, ordinal);
	uint32		first = skx_blkio_frame_first_page(plane, ordinal);
	SkxBlkFrame *frame;
	SkxBlkKey	key;
	uint64		state;

	if (note < 0)
		return skx_blkio_optimistic_from_copy(file, plane, ordinal, glance);
	if (note == 0 || file->method->pin != NULL)
		return false;
	frame = skx_blkio_cache_frame(note - 1);
	state = pg_atomic_read_u64(&frame->state);
	pg_read_barrier();
	skx_blkio_key(file, plane, first, &key);
	if (!(state & SKX_BLK_VALID) || !skx_blkio_same_key(&frame->key, &key))
		return false;
	if (!file->read_once)
		skx_blkio_optimistic_count_use(frame, state);
	glance->page = skx_blkio_cache_pages(note - 1) +
		(Size) (ordinal - first) * BLCKSZ;
	glance->state = &frame->state;
	glance->version_seen = state;
	SKX_FAULT(SKX_FAULT_GLANCE_BEGUN);
	return true;
}

/*
 * Copies the page.  Glances at a page that had the slot before do not hold
 * after that.
 */
static void
skx_blkio_remember_copy(SkxBlkFile *file, const SkxBlkRef *ref)
{
	SkxBlkCopy *copy;

	if (skx_blkio_copies == NULL)
	{
		skx_blkio_copies = MemoryContextAllocZero(TopMemoryContext,
												  sizeof(SkxBlkCopy) *
												  SKX_BLK_COPIED_PAGES);
		for (int i = 0; i < SKX_BLK_COPIED_PAGES; i++)
			pg_atomic_init_u64(&skx_blkio_copies[i].state, 0);
	}
	copy = skx_blkio_copy_of(ref->plane, ref->ordinal);
	if (copy->page == NULL)
		copy->page = MemoryContextAlloc(TopMemoryContext, BLCKSZ);
	pg_atomic_fetch_add_u64(&copy->state, SKX_BLK_VERSION);
	skx_blkio_key(file, ref->plane, ref->ordinal, &copy->key);
	memcpy(copy->page, ref->page, BLCKSZ);
}

void
skx_blkio_remember_page(SkxBlkFile *file, const SkxBlkRef *ref)
{
	const SkxBlkPin *pin = skx_blkio_pins_slot(ref->slot);
	int32	   *note = skx_blkio_note_of(ref->plane, ref->ordinal);

	if (pin->kind == SKX_BLK_PIN_FRAME)
		*note = pin->number + 1;
	else
	{
		skx_blkio_remember_copy(file, ref);
		*note = -1;
	}
}

bool
skx_blkio_page_is_cached(SkxBlkFile *file, const SkxBlkPlane *plane,
						 uint32 ordinal)
{
	if (file->method->pin == NULL)
		return skx_blkio_claim_present(file, plane, ordinal);
	return !RelationUsesLocalBuffers(file->rel) &&
		skx_blkio_resident(file->rel,
						   skx_blkio_block(file->rel, plane, ordinal));
}

uint32
skx_blkio_warmable_pages(const SkxBlkFile *file, const SkxBlkPlane *plane)
{
	SkxBlkClass class = skx_blkio_class(plane);

	if (file->method->pin != NULL || skx_blkio_cache.header == NULL)
		return SKX_BLK_COPIED_PAGES;
	return Min(skx_blkio_cache.nframes[class] / SKX_BLK_WARM_FRACTION *
			   skx_blkio_frame_pages(class), SKX_BLK_NOTED_PAGES);
}
