/*
 * sessioncache_entries.c
 *	  Finds, bounds and drops what a session keeps of indexes.
 *
 * A relcache invalidation can come whenever a lock is taken, in the middle of
 * the use of an entry.  So it only marks the entries of the index as stale.
 * What finds an entry has the key from the file, which is current.  So an
 * entry that is found is valid, and no longer stale.  Those of an index that
 * has a new file, or is gone, are not found again.  They go when the
 * transaction ends.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/inval.h"
#include "utils/memutils.h"

/* Lists of entries by the hash of their keys, a power of two. */
#define SKX_SESSION_HASH_LISTS	256

/* Kinds of entries in the whole extension. */
#define SKX_SESSION_KINDS_MAX	12

static SkxSessionEntry *skx_session_lists[SKX_SESSION_HASH_LISTS];
static SkxSessionKind *skx_session_kinds[SKX_SESSION_KINDS_MAX];
static int	skx_session_nkinds = 0;
static bool skx_session_stale = false;	/* there are stale entries */
static MemoryContext skx_session_context = NULL;

static SkxSessionEntry **
skx_session_list(const SkxSessionKey *key)
{
	uint32		hash = murmurhash32((uint32) SKX_LOCATOR_NUMBER(key->locator) ^
									(uint32) key->incarnation);

	return &skx_session_lists[(hash + key->segment) % SKX_SESSION_HASH_LISTS];
}

static inline bool
skx_session_same_key(const SkxSessionKey *a, const SkxSessionKey *b)
{
	return a->segment == b->segment && a->incarnation == b->incarnation &&
		SKX_LOCATOR_EQUALS(a->locator, b->locator);
}

void *
skx_sessioncache_find(SkxSessionKind *kind, const SkxSessionKey *key)
{
	SkxSessionEntry *entry = *skx_session_list(key);

	while (entry != NULL && (entry->kind != kind ||
							 !skx_session_same_key(&entry->key, key)))
		entry = entry->next;
	if (entry == NULL)
		return NULL;
	/* The index may have got the file of another one. */
	entry->key.index = key->index;
	entry->is_stale = false;
	entry->last_use = ++kind->clock;
	dlist_move_head(&kind->entries, &entry->node);
	return entry;
}

void
skx_sessioncache_remove(SkxSessionEntry *entry)
{
	SkxSessionKind *kind = entry->kind;
	SkxSessionEntry **link = skx_session_list(&entry->key);

	Assert(entry->nholders == 0);
	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	dlist_delete(&entry->node);
	kind->nentries--;
	kind->nbytes -= entry->bytes;
}

void
skx_sessioncache_drop(SkxSessionEntry *entry)
{
	skx_sessioncache_remove(entry);
	entry->kind->free_entry(entry);
}

/*
 * Drops the entry that was not used for longest, of those that are not held
 * and were not used during the last `unused` uses.  Returns false if there is
 * none.
 */
static bool
skx_session_drop_oldest(SkxSessionKind *kind, const SkxSessionEntry *spared,
						uint64 unused)
{
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &kind->entries)
	{
		SkxSessionEntry *entry = dlist_container(SkxSessionEntry, node,
												 iter.cur);

		if (entry->last_use + unused > kind->clock)
			return false;
		if (entry->nholders == 0 && entry != spared)
		{
			skx_sessioncache_drop(entry);
			return true;
		}
	}
	return false;
}

bool
skx_sessioncache_make_room(SkxSessionKind *kind, const SkxSessionEntry *spared,
						   Size bytes, uint64 unused)
{
	while (kind->nbytes + bytes > kind->max_bytes)
		if (kind->nentries == 0 ||
			!skx_session_drop_oldest(kind, spared, unused))
			return false;
	return true;
}

void
skx_sessioncache_resize(SkxSessionEntry *entry, Size bytes)
{
	entry->kind->nbytes += bytes - entry->bytes;
	entry->bytes = bytes;
}

/* Marks the entries of an index as stale; InvalidOid stands for all. */
static void
skx_session_invalidate(Datum arg, Oid index)
{
	for (int i = 0; i < skx_session_nkinds; i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, &skx_session_kinds[i]->entries)
		{
			SkxSessionEntry *entry = dlist_container(SkxSessionEntry, node,
													 iter.cur);

			if (index == InvalidOid || entry->key.index == index)
				entry->is_stale = skx_session_stale = true;
		}
	}
}

static void
skx_session_drop_stale(SkxSessionKind *kind)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &kind->entries)
	{
		SkxSessionEntry *entry = dlist_container(SkxSessionEntry, node,
												 iter.cur);

		if (entry->is_stale && entry->nholders == 0)
			skx_sessioncache_drop(entry);
		else if (entry->is_stale)
			skx_session_stale = true;
	}
}

/*
 * Drops stale entries at the end of a transaction.  Contexts of a transaction
 * that failed may still hold some, which go at the end of the next one.
 */
static void
skx_session_xact(XactEvent event, void *arg)
{
	bool		ends = event == XACT_EVENT_COMMIT ||
		event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PARALLEL_ABORT || event == XACT_EVENT_PREPARE;

	if (!ends || !skx_session_stale)
		return;
	skx_session_stale = false;
	for (int i = 0; i < skx_session_nkinds; i++)
		skx_session_drop_stale(skx_session_kinds[i]);
}

MemoryContext
skx_sessioncache_context(void)
{
	if (skx_session_context == NULL)
	{
		skx_session_context = AllocSetContextCreate(TopMemoryContext,
													"skipidx session",
													ALLOCSET_DEFAULT_SIZES);
		CacheRegisterRelcacheCallback(skx_session_invalidate, (Datum) 0);
		RegisterXactCallback(skx_session_xact, NULL);
	}
	return skx_session_context;
}

void
skx_sessioncache_put(SkxSessionKind *kind, const SkxSessionKey *key,
					 SkxSessionEntry *entry, Size bytes)
{
	SkxSessionEntry **link = skx_session_list(key);

	if (!kind->is_registered)
	{
		Assert(skx_session_nkinds < SKX_SESSION_KINDS_MAX);
		dlist_init(&kind->entries);
		skx_session_kinds[skx_session_nkinds++] = kind;
		kind->is_registered = true;
	}
	while (kind->nentries > 0 &&
		   (kind->nentries >= kind->max_entries ||
			kind->nbytes + bytes > kind->max_bytes) &&
		   skx_session_drop_oldest(kind, NULL, 0))
		;
	entry->kind = kind;
	entry->key = *key;
	entry->bytes = bytes;
	entry->nholders = 0;
	entry->is_stale = false;
	entry->last_use = ++kind->clock;
	entry->next = *link;
	*link = entry;
	dlist_push_head(&kind->entries, &entry->node);
	kind->nentries++;
	kind->nbytes += bytes;
}

/* Runs when the memory context of a holder is reset, also on error. */
static void
skx_session_release(void *arg)
{
	SkxSessionEntry *entry = arg;

	entry->nholders--;
}

void
skx_sessioncache_hold(SkxSessionEntry *entry)
{
	MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));

	callback->func = skx_session_release;
	callback->arg = entry;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	entry->nholders++;
}
