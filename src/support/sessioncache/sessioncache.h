/*
 * sessioncache.h
 *	  What a session keeps of indexes from one use to the next.
 *
 * A kind of entries is a static SkxSessionKind.  A struct that is kept begins
 * with an SkxSessionEntry.  It is allocated in skx_sessioncache_context(), or
 * in a context below that, and is complete when it is put into the cache.
 */
#ifndef SKX_SESSIONCACHE_H
#define SKX_SESSIONCACHE_H

#include "lib/ilist.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

/*
 * What an entry is of.  The incarnation is 0 for kinds that check by
 * themselves whether the index in a file is still the same.
 */
typedef struct SkxSessionKey
{
	SkxLocator	locator;
	uint32		segment;		/* 0: the whole index */
	uint64		incarnation;
	Oid			index;			/* is not compared; relcache invalidations
								 * name it */
} SkxSessionKey;

typedef struct SkxSessionKind SkxSessionKind;

typedef struct SkxSessionEntry
{
	dlist_node	node;			/* in kind->entries */
	struct SkxSessionEntry *next;	/* with the same hash */
	SkxSessionKind *kind;
	SkxSessionKey key;
	uint64		last_use;		/* kind->clock at the last use */
	Size		bytes;			/* the struct, and all that it points to */
	int			nholders;
	bool		is_stale;		/* invalidated, and not found since */
} SkxSessionEntry;

struct SkxSessionKind
{
	int			max_entries;
	Size		max_bytes;

	/* Frees an entry that has left the cache. */
	void		(*free_entry) (SkxSessionEntry *entry);

	/* the cache's own */
	bool		is_registered;
	int			nentries;
	Size		nbytes;
	uint64		clock;			/* uses of entries */
	dlist_head	entries;		/* last used first */
};

/* Returns the key of an index, or of one of its segments. */
static inline SkxSessionKey
skx_sessioncache_key(Relation rel, uint64 incarnation, uint32 segment)
{
	SkxSessionKey key;

	key.locator = SKX_REL_LOCATOR(rel);
	key.segment = segment;
	key.incarnation = incarnation;
	key.index = RelationGetRelid(rel);
	return key;
}

/* Returns the memory context of all entries, which lives with the session. */
extern MemoryContext skx_sessioncache_context(void);

/*
 * Returns the entry of a key, or NULL.  That is a use of the entry.  It may be
 * freed by the next skx_sessioncache_put() or skx_sessioncache_make_room() of
 * its kind, and when the transaction ends, unless it is held.
 */
extern void *skx_sessioncache_find(SkxSessionKind *kind,
								   const SkxSessionKey *key);

/*
 * Puts an entry of `bytes` bytes into the cache.  Entries of the kind that
 * were not used for longest go until it is within the limits of the kind.  If
 * too many are held, it goes beyond them.  Raises no error.
 */
extern void skx_sessioncache_put(SkxSessionKind *kind,
								 const SkxSessionKey *key,
								 SkxSessionEntry *entry, Size bytes);

/*
 * Returns true if the kind has so many bytes left.  For that, it drops entries
 * that are not held and have not been used during the last `unused` uses of
 * the kind's entries, but not `spared`.
 */
extern bool skx_sessioncache_make_room(SkxSessionKind *kind,
									   const SkxSessionEntry *spared,
									   Size bytes, uint64 unused);

/* Sets the size of an entry that has grown or shrunk. */
extern void skx_sessioncache_resize(SkxSessionEntry *entry, Size bytes);

/*
 * Keeps an entry in the cache until the current memory context is reset or
 * deleted.
 */
extern void skx_sessioncache_hold(SkxSessionEntry *entry);

/* Takes an entry that is not held out of the cache.  Does not free it. */
extern void skx_sessioncache_remove(SkxSessionEntry *entry);

/* Takes an entry that is not held out of the cache, and frees it. */
extern void skx_sessioncache_drop(SkxSessionEntry *entry);

#endif							/* SKX_SESSIONCACHE_H */
