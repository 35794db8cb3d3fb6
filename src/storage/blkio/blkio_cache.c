/*
 * blkio_cache.c
 *	  The life of a frame: found, claimed, loaded, pinned, evicted.
 *
 * A hash table with chains through the frame array finds the frame of a key.
 * Its buckets are divided among SKX_BLK_PARTITIONS LWLocks.  A pin is an
 * atomic addition to the frame's state.  The functions find and claim add pins
 * under the partition lock.  The clock sweep adds the first pin of a frame
 * without it.  Then it takes the frame out of the table under the exclusive
 * lock, and only if that pin is still the only one.  So a pinned frame keeps
 * its key, and no lock is held during a read or a wait.
 *
 * A frame without a pin may be evicted at any time.  An eviction changes the
 * version before anything is read into the frame.  By that a backend that has
 * looked at its pages meanwhile learns of the eviction (blkio_glance.c).
 *
 * A frame that could not be read stays in the table, neither valid nor busy.
 * The next backend that finds it reads it again.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"

/* Longest wait for a frame that another backend reads ahead, in ms. */
#define SKX_BLK_WAIT_MAX_MS		2

uint32
skx_blkio_cache_hash(const SkxBlkKey *key)
{
	uint64		h = key->incarnation;

	h ^= ((uint64) key->segment << 32 | key->ordinal) *
		UINT64CONST(0x9E3779B97F4A7C15);
	h ^= h >> 32;
	h += key->salt ^ key->plane;
	h *= UINT64CONST(0xFF51AFD7ED558CCD);
	h ^= h >> 33;
	h *= UINT64CONST(0xC4CEB9FE1A85EC53);
	h ^= h >> 33;
	return (uint32) h;
}

/* Returns true if there are pieces that this process has not mapped yet. */
static inline bool
skx_blkio_cache_has_unmapped(void)
{
	return pg_atomic_read_u32(&skx_blkio_cache.header->npieces) !=
		skx_blkio_cache.npieces;
}

/*
 * Takes the partition lock of a hash and returns it.  Returns NULL, without a
 * lock, if this process cannot map all pieces.  A frame of any piece may be in
 * a bucket, and is put there only under the lock, so the number of pieces is
 * checked under the lock.
 */
static LWLock *
skx_blkio_cache_lock(uint32 hash, LWLockMode mode)
{
	LWLock	   *lock =
		&skx_blkio_cache.header->locks[hash % SKX_BLK_PARTITIONS].lock;

	for (;;)
	{
		LWLockAcquire(lock, mode);
		if (likely(!skx_blkio_cache_has_unmapped()))
			return lock;
		LWLockRelease(lock);
		if (!skx_blkio_anchor_map_new_pieces())
			return NULL;
	}
}

static inline int32 *
skx_blkio_cache_bucket(uint32 hash)
{
	return &skx_blkio_cache.buckets[hash & skx_blkio_cache.bucket_mask];
}

/* Returns the frame of a key, or -1.  The caller holds the partition lock. */
static int32
skx_blkio_cache_search(const SkxBlkKey *key, uint32 hash)
{
	int32		i = *skx_blkio_cache_bucket(hash);

	while (i >= 0)
	{
		SkxBlkFrame *frame = skx_blkio_cache_frame(i);

		if (frame->hash == hash && skx_blkio_same_key(&frame->key, key))
			break;
		i = frame->next;
	}
	return i;
}

/* Adds a pin to a frame, and with `use` adds 1 to its use count. */
static void
skx_blkio_cache_pin(SkxBlkFrame *frame, bool use)
{
	uint64		old = pg_atomic_read_u64(&frame->state);
	uint64		new;

	do
	{
		new = old + SKX_BLK_PIN_ONE;
		if (use && (old & SKX_BLK_USE_MASK) < SKX_BLK_USE_MAX)
			new += SKX_BLK_USE_ONE;
	} while (!pg_atomic_compare_exchange_u64(&frame->state, &old, new));
}

int32
skx_blkio_cache_find(const SkxBlkKey *key, uint32 hash, bool use)
{
	LWLock	   *lock = skx_blkio_cache_lock(hash, LW_SHARED);
	int32		i;

	if (lock == NULL)
		return -1;
	i = skx_blkio_cache_search(key, hash);
	if (i >= 0)
		skx_blkio_cache_pin(skx_blkio_cache_frame(i), use);
	LWLockRelease(lock);
	return i;
}

bool
skx_blkio_cache_present(const SkxBlkKey *key, uint32 hash)
{
	LWLock	   *lock = skx_blkio_cache_lock(hash, LW_SHARED);
	bool		present;
	int32		i;

	if (lock == NULL)
		return false;
	i = skx_blkio_cache_search(key, hash);
	present = i >= 0 &&
		(pg_atomic_read_u64(&skx_blkio_cache_frame(i)->state) &
		 (SKX_BLK_VALID | SKX_BLK_LOADING)) != 0;
	LWLockRelease(lock);
	return present;
}

void
skx_blkio_cache_unpin(int32 i)
{
	pg_atomic_fetch_sub_u64(&skx_blkio_cache_frame(i)->state, SKX_BLK_PIN_ONE);
}

/*
 * Sets the state of a frame that is not in the table and has no pin but the
 * caller's.  The version stays.
 */
static void
skx_blkio_cache_set_state(SkxBlkFrame *frame, uint64 state)
{
	uint64		old = pg_atomic_read_u64(&frame->state);

	pg_atomic_write_u64(&frame->state, (old & SKX_BLK_VERSION_MASK) | state);
}

/*
 * Takes a frame, on which the caller has put the only pin, out of the table.
 * Returns false, and releases the caller's pin, if another backend has pinned
 * the frame meanwhile or not all pieces can be mapped.
 */
static bool
skx_blkio_cache_evict(int32 i)
{
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);
	LWLock	   *lock = skx_blkio_cache_lock(frame->hash, LW_EXCLUSIVE);
	uint64		state;
	int32	   *link;

	state = pg_atomic_read_u64(&frame->state);
	if (lock == NULL || (state & SKX_BLK_PIN_MASK) != 1)
	{
		if (lock != NULL)
			LWLockRelease(lock);
		skx_blkio_cache_unpin(i);
		return false;
	}
	Assert(!(state & SKX_BLK_LOADING));
	link = skx_blkio_cache_bucket(frame->hash);
	while (*link != i)
		link = &skx_blkio_cache_frame(*link)->next;
	*link = frame->next;
	pg_atomic_write_u64(&frame->state,
						((state + SKX_BLK_VERSION) & SKX_BLK_VERSION_MASK) |
						SKX_BLK_PIN_ONE);
	pg_write_barrier();
	LWLockRelease(lock);
	return true;
}

/* Returns the frame of a class at a position of the clock's hand. */
static inline int32
skx_blkio_cache_at_hand(SkxBlkClass class, uint32 hand)
{
	const SkxBlkDivision *division = &skx_blkio_cache.header->division;
	uint32		at = hand % skx_blkio_cache.mapped_frames[class];
	uint32		i = 0;

	if (at >= division->first_frames[class])
	{
		at -= division->first_frames[class];
		i = 1 + at / division->piece_frames[class];
		at %= division->piece_frames[class];
	}
	if (class == SKX_BLK_CLASS_PAGE)
		at += skx_blkio_cache.pieces[i].nframes[SKX_BLK_CLASS_BLOCK];
	return (int32) (i << skx_blkio_cache.frame_shift | at);
}

/* In its first round the clock's hand meets frames that were never taken. */
bool
skx_blkio_cache_has_spare(SkxBlkClass class)
{
	return pg_atomic_read_u32(&skx_blkio_cache.header->clock_hands[class]) <
		(skx_blkio_cache.map_failed ? skx_blkio_cache.mapped_frames[class] :
		 skx_blkio_cache.nframes[class]);
}

/*
 * Returns the next frame that was never taken, with one pin, the caller's; or
 * -1 if there is none in the pieces mapped.
 */
static int32
skx_blkio_cache_take_spare(SkxBlkClass class)
{
	pg_atomic_uint32 *hand = &skx_blkio_cache.header->clock_hands[class];
	uint32		mapped = skx_blkio_cache.mapped_frames[class];

	while (pg_atomic_read_u32(hand) < mapped)
	{
		uint32		at = pg_atomic_fetch_add_u32(hand, 1);
		int32		i;
		SkxBlkFrame *frame;
		uint64		state;

		/* other processes may have taken the last ones meanwhile */
		if (at >= mapped)
			break;
		i = skx_blkio_cache_at_hand(class, at);
		frame = skx_blkio_cache_frame(i);
		state = pg_atomic_read_u64(&frame->state);
		if (!(state & (SKX_BLK_HAS_KEY | SKX_BLK_PIN_MASK)) &&
			pg_atomic_compare_exchange_u64(&frame->state, &state,
										   state + SKX_BLK_PIN_ONE))
			return i;
	}
	return -1;
}

/*
 * Finds a victim by the clock.  Returns a frame that is not in the table and
 * has one pin, the caller's.  Returns -1 if all frames of a whole round are
 * pinned.
 */
static int32
skx_blkio_cache_sweep(SkxBlkClass class)
{
	pg_atomic_uint32 *hand = &skx_blkio_cache.header->clock_hands[class];
	uint32		pinned = 0;

	while (pinned < skx_blkio_cache.mapped_frames[class] &&
		   !skx_blkio_cache.map_failed)
	{
		int32		i = skx_blkio_cache_at_hand(class,
												pg_atomic_fetch_add_u32(hand,
																		1));
		SkxBlkFrame *frame = skx_blkio_cache_frame(i);
		uint64		state = pg_atomic_read_u64(&frame->state);

		if (state & SKX_BLK_PIN_MASK)
		{
			pinned++;
			continue;
		}
		pinned = 0;
		if (state & SKX_BLK_USE_MASK)
		{
			pg_atomic_compare_exchange_u64(&frame->state, &state,
										   state - SKX_BLK_USE_ONE);
			continue;
		}
		if (!pg_atomic_compare_exchange_u64(&frame->state, &state,
											state + SKX_BLK_PIN_ONE))
			continue;
		if (!(state & SKX_BLK_HAS_KEY))
			return i;
		if (skx_blkio_cache_evict(i))
		{
			pg_atomic_fetch_add_u64(&skx_blkio_cache.header->evictions, 1);
			return i;
		}
	}
	return -1;
}

int32
skx_blkio_cache_claim(const SkxBlkKey *key, uint32 hash, SkxBlkClass class,
					  bool ahead, bool spare, bool *mine)
{
	int32		i = spare ? skx_blkio_cache_take_spare(class) :
		skx_blkio_cache_sweep(class);
	LWLock	   *lock;
	int32		other;
	SkxBlkFrame *frame;

	*mine = false;
	if (i < 0)
		return -1;
	frame = skx_blkio_cache_frame(i);

	lock = skx_blkio_cache_lock(hash, LW_EXCLUSIVE);
	if (lock == NULL)
	{
		skx_blkio_cache_set_state(frame, 0);
		return -1;
	}
	other = skx_blkio_cache_search(key, hash);
	if (other >= 0)
	{
		skx_blkio_cache_pin(skx_blkio_cache_frame(other), true);
		LWLockRelease(lock);
		skx_blkio_cache_set_state(frame, 0);
		return other;
	}
	frame->key = *key;
	frame->hash = hash;
	frame->next = *skx_blkio_cache_bucket(hash);
	*skx_blkio_cache_bucket(hash) = i;
	skx_blkio_cache_set_state(frame, SKX_BLK_PIN_ONE | SKX_BLK_USE_ONE |
							  SKX_BLK_HAS_KEY |
							  SKX_BLK_LOADING |
							  (ahead ? SKX_BLK_PREFETCHED : 0));
	LWLockRelease(lock);
	*mine = true;
	return i;
}

/*
 * The hand has gone once around only if every frame has been taken.  A caller
 * that holds a lock cannot make a piece.
 */
void
skx_blkio_cache_grow(SkxBlkClass class)
{
	SkxBlkCacheHeader *header = skx_blkio_cache.header;

	if (pg_atomic_read_u32(&header->clock_hands[class]) >=
		skx_blkio_cache.mapped_frames[class] &&
		skx_blkio_cache.mapped_frames[class] <
		skx_blkio_cache.nframes[class] &&
		InterruptHoldoffCount == 0 && CritSectionCount == 0)
		skx_blkio_anchor_grow();
}

void
skx_blkio_cache_raise_uses(int32 i, int uses)
{
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);
	uint64		state = pg_atomic_read_u64(&frame->state);
	uint64		wanted = uses * SKX_BLK_USE_ONE;

	while ((state & SKX_BLK_USE_MASK) < wanted &&
		   !pg_atomic_compare_exchange_u64(&frame->state, &state,
										   (state & ~SKX_BLK_USE_MASK) |
										   wanted))
		;
}

bool
skx_blkio_cache_reclaim(int32 i, bool ahead)
{
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);
	uint64		state = pg_atomic_read_u64(&frame->state);

	while (!(state & (SKX_BLK_VALID | SKX_BLK_LOADING)))
	{
		if (pg_atomic_compare_exchange_u64(&frame->state, &state,
										   state | SKX_BLK_LOADING |
										   (ahead ? SKX_BLK_PREFETCHED : 0)))
			return true;
	}
	return false;
}

/*
 * Notes that the wait for a frame read ahead was too long, unless it is loaded
 * meanwhile.
 */
static void
skx_blkio_cache_flag_slow(SkxBlkFrame *frame)
{
	uint64		state = pg_atomic_read_u64(&frame->state);

	while ((state & SKX_BLK_PREFETCHED) &&
		   !pg_atomic_compare_exchange_u64(&frame->state, &state,
										   state | SKX_BLK_TIMED_OUT))
		;
}

/*
 * After one backend has waited in vain for a frame read ahead, no other
 * backend waits for it until it is loaded.
 */
SkxBlkWaitResult
skx_blkio_cache_wait_valid(int32 i, uint64 *waits)
{
	static uint32 wait_event = 0;
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);
	uint64		state = pg_atomic_read_u64(&frame->state);
	SkxBlkWaitResult result = SKX_BLK_WAIT_VALID;
	bool		slept = false;

	while (!(state & SKX_BLK_VALID))
	{
		if (state & SKX_BLK_LOADING)
		{
			long		most = state & SKX_BLK_PREFETCHED ?
				SKX_BLK_WAIT_MAX_MS : -1;

			if (wait_event == 0)
				wait_event = skx_compat_wait_event("SkipidxFrameLoad");
			if (state & SKX_BLK_TIMED_OUT)
			{
				result = SKX_BLK_WAIT_TIMED_OUT;
				break;
			}
			*waits += !slept;
			slept = true;
			if (ConditionVariableTimedSleep(&frame->load_cv, most, wait_event))
				skx_blkio_cache_flag_slow(frame);
		}
		else if (skx_blkio_cache_reclaim(i, false))
		{
			result = SKX_BLK_WAIT_MUST_LOAD;
			break;
		}
		state = pg_atomic_read_u64(&frame->state);
	}
	if (slept)
		ConditionVariableCancelSleep();
	pg_read_barrier();
	return result;
}

void
skx_blkio_cache_end_load(int32 i, bool valid)
{
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);

	if (valid)
		pg_atomic_fetch_or_u64(&frame->state, SKX_BLK_VALID);
	pg_atomic_fetch_and_u64(&frame->state,
							~(SKX_BLK_LOADING | SKX_BLK_PREFETCHED |
							  SKX_BLK_TIMED_OUT));
	ConditionVariableBroadcast(&frame->load_cv);
}

uint64
skx_blkio_cache_forget(uint64 incarnation)
{
	uint64		forgotten = 0;
	int32		i = -1;

	if (!skx_blkio_anchor_attach())
		return 0;
	while ((i = skx_blkio_cache_next(i)) >= 0)
	{
		SkxBlkFrame *frame = skx_blkio_cache_frame(i);
		uint64		state = pg_atomic_read_u64(&frame->state);

		if (!(state & SKX_BLK_HAS_KEY) || (state & SKX_BLK_PIN_MASK) ||
			!pg_atomic_compare_exchange_u64(&frame->state, &state,
											state + SKX_BLK_PIN_ONE))
			continue;
		if (incarnation != 0 &&
			frame->key.incarnation != incarnation)
			skx_blkio_cache_unpin(i);
		else if (skx_blkio_cache_evict(i))
		{
			skx_blkio_cache_set_state(frame, 0);
			forgotten++;
		}
	}
	return forgotten;
}

static bool
skx_blkio_cache_index_of(const SkxBlkFrame *frame, uint64 incarnation,
						 const SkxBlkPlane *const *planes, int n)
{
	if (frame->key.incarnation != incarnation)
		return false;
	while (n-- > 0)
	{
		if (frame->key.salt == planes[n]->salt &&
			frame->key.segment == planes[n]->segment)
			return true;
	}
	return false;
}

/*
 * Reads keys without a lock.  A frame that gets another key meanwhile may lose
 * its use count, which does no harm.
 */
void
skx_blkio_cache_retire(uint64 incarnation, const SkxBlkPlane *const *planes,
					   int n)
{
	int32		i = -1;

	while ((i = skx_blkio_cache_next(i)) >= 0)
	{
		SkxBlkFrame *frame = skx_blkio_cache_frame(i);

		if ((pg_atomic_read_u64(&frame->state) & SKX_BLK_USE_MASK) != 0 &&
			skx_blkio_cache_index_of(frame, incarnation, planes, n))
			pg_atomic_fetch_and_u64(&frame->state, ~SKX_BLK_USE_MASK);
	}
}

void
skx_blkio_cache_state(SkxBlkCacheState *result)
{
	int32		i = -1;

	memset(result, 0, sizeof(*result));
	result->configured = (uint64) skx_blkio_cache_size * 1024;
	if (!skx_blkio_anchor_attach())
		return;
	result->evictions =
		pg_atomic_read_u64(&skx_blkio_cache.header->evictions);
	result->prewarmed =
		pg_atomic_read_u64(&skx_blkio_cache.header->prewarmed);
	result->reads_in_flight =
		pg_atomic_read_u32(&skx_blkio_cache.header->depth_in_use);
	result->queued_backends =
		pg_atomic_read_u32(&skx_blkio_cache.header->depth_waiters);
	result->bytes = skx_blkio_cache_bytes();
	result->bytes_allocated =
		skx_blkio_frames_bytes(skx_blkio_cache.mapped_frames);
	result->frames = skx_blkio_cache.nframes[SKX_BLK_CLASS_BLOCK] +
		skx_blkio_cache.nframes[SKX_BLK_CLASS_PAGE];
	while ((i = skx_blkio_cache_next(i)) >= 0)
	{
		uint64		state =
			pg_atomic_read_u64(&skx_blkio_cache_frame(i)->state);

		if (state & SKX_BLK_HAS_KEY)
			result->frames_used++;
		if (state & SKX_BLK_PIN_MASK)
			result->pinned++;
	}
}

static int
skx_blkio_cache_compare(const void *a, const void *b)
{
	uint64		x = ((const SkxBlkIndexFrames *) a)->incarnation;
	uint64		y = ((const SkxBlkIndexFrames *) b)->incarnation;

	return (x > y) - (x < y);
}

/*
 * Reads each frame without a lock.  A frame that gets another key meanwhile
 * counts for the old index or the new one.
 */
SkxBlkIndexFrames *
skx_blkio_cache_indexes(int *n)
{
	uint32		nframes;
	SkxBlkIndexFrames *list;
	int32		frame = -1;
	int			last = -1;

	*n = 0;
	if (!skx_blkio_anchor_attach())
		return NULL;
	nframes = skx_blkio_cache.mapped_frames[SKX_BLK_CLASS_BLOCK] +
		skx_blkio_cache.mapped_frames[SKX_BLK_CLASS_PAGE];
	list = palloc_extended(nframes * sizeof(SkxBlkIndexFrames),
						   MCXT_ALLOC_HUGE);
	while ((frame = skx_blkio_cache_next(frame)) >= 0)
	{
		SkxBlkFrame *at = skx_blkio_cache_frame(frame);
		SkxBlkClass class = skx_blkio_cache_class(frame);

		if (!(pg_atomic_read_u64(&at->state) & SKX_BLK_HAS_KEY))
			continue;
		list[*n].incarnation = at->key.incarnation;
		list[*n].block_frames = class == SKX_BLK_CLASS_BLOCK;
		list[*n].page_frames = class == SKX_BLK_CLASS_PAGE;
		list[*n].bytes = skx_blkio_frame_pages(class) * BLCKSZ;
		(*n)++;
	}
	qsort(list, *n, sizeof(SkxBlkIndexFrames), skx_blkio_cache_compare);
	for (int i = 0; i < *n; i++)
	{
		if (last < 0 || list[last].incarnation != list[i].incarnation)
		{
			list[++last] = list[i];
			continue;
		}
		list[last].block_frames += list[i].block_frames;
		list[last].page_frames += list[i].page_frames;
		list[last].bytes += list[i].bytes;
	}
	*n = last + 1;
	return list;
}
