/*
 * test_sessioncache.c
 *	  What a session keeps of indexes: which entries are found, which go and
 *	  when, and which stay because they are held.
 *
 * Memory contexts are a list of callbacks, and entries are malloc'd.
 *
 * Holds: sessioncache 1, 2, 3, 5
 */
#include "unit.h"
#include "server.h"

#include "access/xact.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/inval.h"
#include "utils/memutils.h"

/* ---- the world ---- */

MemoryContext TopMemoryContext;
MemoryContext CurrentMemoryContext;

static RelcacheCallbackFunction invalidate;
static XactCallback ends;
static MemoryContextCallback *callbacks;	/* of the current context */

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name,
							  Size least, Size first, Size most)
{
	static int	context;

	return (MemoryContext) &context;
}

void
CacheRegisterRelcacheCallback(RelcacheCallbackFunction function, Datum arg)
{
	CHECK(invalidate == NULL);
	invalidate = function;
}

void
RegisterXactCallback(XactCallback function, void *arg)
{
	CHECK(ends == NULL);
	ends = function;
}

void *
palloc(Size size)
{
	return malloc(size);
}

void
MemoryContextRegisterResetCallback(MemoryContext context,
								   MemoryContextCallback *callback)
{
	callback->next = callbacks;
	callbacks = callback;
}

static void
release_all(void)
{
	while (callbacks != NULL)
	{
		MemoryContextCallback *callback = callbacks;

		callbacks = callback->next;
		callback->func(callback->arg);
		free(callback);
	}
}

/* ---- entries ---- */

typedef struct Kept
{
	SkxSessionEntry entry;
	int			id;
} Kept;

/* What is known of each entry that was ever made. */
typedef struct Known
{
	Kept	   *kept;			/* NULL: it has left the cache */
	SkxSessionKind *kind;
	SkxSessionKey key;
	Size		bytes;
	uint64		used;
	int			holders;
	bool		stale;
} Known;

#define MANY	20000

static Known known[MANY];
static int	nknown;
static int	first;				/* all before it have left */

static void
forget(SkxSessionEntry *entry)
{
	Kept	   *kept = (Kept *) entry;

	CHECK(known[kept->id].kept == kept && entry->nholders == 0);
	known[kept->id].kept = NULL;
	free(kept);
}

static SkxSessionKind few = {.max_entries = 3, .max_bytes = 1000,
	.free_entry = forget};
static SkxSessionKind small = {.max_entries = 100, .max_bytes = 200,
	.free_entry = forget};

static SkxSessionKey
key_of(Oid index, Oid file, uint64 incarnation, uint32 segment)
{
	SkxSessionKey key;

	memset(&key, 0, sizeof(key));
#if PG_VERSION_NUM >= 160000
	key.locator.relNumber = file;
#else
	key.locator.relNode = file;
#endif
	key.index = index;
	key.incarnation = incarnation;
	key.segment = segment;
	return key;
}

static Kept *
put(SkxSessionKind *kind, SkxSessionKey key, Size bytes)
{
	Kept	   *kept = calloc(1, sizeof(Kept));

	(void) skx_sessioncache_context();
	kept->id = nknown++;
	known[kept->id] = (Known) {kept, kind, key, bytes};
	skx_sessioncache_put(kind, &key, &kept->entry, bytes);
	return kept;
}

static bool
has(SkxSessionKind *kind, SkxSessionKey key)
{
	return skx_sessioncache_find(kind, &key) != NULL;
}

static void
empty(SkxSessionKind *kind)
{
	while (kind->nentries > 0)
		skx_sessioncache_drop(dlist_head_element(SkxSessionEntry, node,
												 &kind->entries));
	CHECK(kind->nbytes == 0);
}

/* ---- tests ---- */

/* Each part of a key counts, and the index does not. */
static void
test_keys(void)
{
	SkxSessionKey key = key_of(1, 11, 5, 7);
	SkxSessionKey other = key;

	put(&few, key, 10);
	CHECK(has(&few, key) && !has(&small, key));
	CHECK(!has(&few, key_of(1, 12, 5, 7)));
	CHECK(!has(&few, key_of(1, 11, 6, 7)));
	CHECK(!has(&few, key_of(1, 11, 5 | UINT64CONST(1) << 40, 7)));
	CHECK(!has(&few, key_of(1, 11, 5, 0)));
	for (uint32 bit = 1; bit != 0; bit <<= 1)
		CHECK(!has(&few, key_of(1, 11, 5, 7 ^ bit)));
	CHECK(has(&few, key_of(2, 11, 5, 7)));
#if PG_VERSION_NUM >= 160000
	other.locator.spcOid = 3;
	CHECK(!has(&few, other));
	other = key;
	other.locator.dbOid = 3;
#else
	other.locator.spcNode = 3;
	CHECK(!has(&few, other));
	other = key;
	other.locator.dbNode = 3;
#endif
	CHECK(!has(&few, other));
	empty(&few);
	CHECK(!has(&few, key));
}

/* The one that was not used for longest goes, and no held one. */
static void
test_limits(void)
{
	SkxSessionKey keys[6];

	for (int i = 0; i < 6; i++)
		keys[i] = key_of(1, 11, 5, i);
	put(&few, keys[0], 10);
	put(&few, keys[1], 10);
	put(&few, keys[2], 10);
	CHECK(has(&few, keys[0]));
	put(&few, keys[3], 10);
	CHECK(has(&few, keys[0]) && !has(&few, keys[1]) && has(&few, keys[2]));
	put(&few, keys[4], 990);
	CHECK(few.nentries == 2 && few.nbytes == 1000 && has(&few, keys[2]));
	for (int i = 0; i < 2; i++)
		skx_sessioncache_hold(skx_sessioncache_find(&few, &keys[i == 0 ? 2 : 4]));
	put(&few, keys[0], 5000);
	CHECK(few.nentries == 3 && few.nbytes == 6000);
	put(&few, keys[1], 10);
	CHECK(few.nentries == 3 && few.nbytes == 1010 && !has(&few, keys[0]));
	release_all();
	put(&few, keys[0], 10);
	CHECK(few.nentries == 2 && has(&few, keys[0]) && has(&few, keys[1]));
	empty(&few);
}

/* Room is made only of what was not used for long, and never of `spared`. */
static void
test_room(void)
{
	SkxSessionKey keys[3];
	Kept	   *kept[3];

	for (int i = 0; i < 3; i++)
	{
		keys[i] = key_of(i, 11 + i, 0, 0);
		kept[i] = put(&small, keys[i], 50);
	}
	CHECK(skx_sessioncache_make_room(&small, &kept[0]->entry, 50, 0));
	CHECK(!skx_sessioncache_make_room(&small, &kept[0]->entry, 51, 5));
	CHECK(small.nentries == 3);
	CHECK(has(&small, keys[1]) && has(&small, keys[2]) && has(&small, keys[1]));
	CHECK(!skx_sessioncache_make_room(&small, &kept[0]->entry, 51, 2));
	CHECK(skx_sessioncache_make_room(&small, &kept[0]->entry, 51, 1));
	CHECK(has(&small, keys[0]) && has(&small, keys[1]) && !has(&small, keys[2]));
	skx_sessioncache_resize(&kept[0]->entry, 150);
	CHECK(small.nbytes == 200);
	CHECK(skx_sessioncache_make_room(&small, &kept[0]->entry, 20, 0));
	CHECK(!has(&small, keys[1]) && small.nbytes == 150);
	CHECK(!skx_sessioncache_make_room(&small, &kept[0]->entry, 51, 0));
	skx_sessioncache_resize(&kept[0]->entry, 20);
	CHECK(small.nbytes == 20);
	empty(&small);
	CHECK(skx_sessioncache_make_room(&small, NULL, 200, 0));
	CHECK(!skx_sessioncache_make_room(&small, NULL, 201, 0));
}

/* An entry that is taken is the caller's, and is not freed. */
static void
test_take(void)
{
	SkxSessionKey key = key_of(1, 11, 5, 0);
	Kept	   *kept = put(&few, key, 10);

	skx_sessioncache_remove(&kept->entry);
	CHECK(!has(&few, key) && few.nentries == 0 && few.nbytes == 0);
	CHECK(known[kept->id].kept == kept);
	skx_sessioncache_put(&few, &key, &kept->entry, 20);
	CHECK(has(&few, key) && few.nbytes == 20);
	empty(&few);
}

/*
 * What was invalidated goes when the transaction ends, unless it has been
 * found again, or is held.
 */
static void
test_invalidation(void)
{
	const XactEvent events[] = {XACT_EVENT_COMMIT, XACT_EVENT_ABORT, XACT_EVENT_PREPARE,
	XACT_EVENT_PARALLEL_COMMIT, XACT_EVENT_PARALLEL_ABORT};
	SkxSessionKey gone = key_of(1, 11, 5, 0);
	SkxSessionKey found = key_of(1, 11, 5, 1);
	SkxSessionKey other = key_of(2, 12, 5, 1);
	SkxSessionKey again = other;

	for (int i = 0; i < lengthof(events); i++)
	{
		put(&few, gone, 10);
		put(&few, found, 10);
		put(&few, other, 10);
		put(&small, gone, 10);
		invalidate((Datum) 0, 3);
		ends(events[i], NULL);
		CHECK(few.nentries == 3 && small.nentries == 1);
		invalidate((Datum) 0, 1);
		CHECK(few.nentries == 3 && small.nentries == 1);
		CHECK(has(&few, found));
		ends(XACT_EVENT_PRE_COMMIT, NULL);
		CHECK(few.nentries == 3);
		ends(events[i], NULL);
		CHECK(few.nentries == 2 && small.nentries == 0);
		CHECK(has(&few, found) && has(&few, other) && !has(&few, gone));

		/* an index that has the file of another one now */
		again.index = 7;
		CHECK(has(&few, again));
		invalidate((Datum) 0, 2);
		ends(events[i], NULL);
		CHECK(has(&few, again));
		skx_sessioncache_hold(skx_sessioncache_find(&few, &again));
		invalidate((Datum) 0, 7);
		ends(events[i], NULL);
		CHECK(few.nentries == 2);
		release_all();
		ends(events[i], NULL);
		CHECK(few.nentries == 1 && !has(&few, again));
		invalidate((Datum) 0, InvalidOid);
		ends(events[i], NULL);
		CHECK(few.nentries == 0);
	}
}

/* ---- anything, against what is known of each entry ---- */

/* By number of an entry: whether it must be in the cache. */
static bool stays[MANY];

static void
check_all(void)
{
	for (int i = first; i < nknown; i++)
		CHECK(stays[i] == (known[i].kept != NULL));
	while (first < nknown && !stays[first])
		first++;
}

/* Returns the oldest of a kind that can go, or -1; counts all of the kind. */
static int
oldest(const SkxSessionKind *kind, int *n, Size *bytes)
{
	int			found = -1;

	*n = 0;
	*bytes = 0;
	for (int i = first; i < nknown; i++)
	{
		if (!stays[i] || known[i].kind != kind)
			continue;
		++*n;
		*bytes += known[i].bytes;
		if (known[i].holders == 0 && (found < 0 || known[i].used < known[found].used))
			found = i;
	}
	return found;
}

static void
put_any(SkxSessionKind *kind, SkxSessionKey key, uint64 now)
{
	Size		more = unit_below(120);
	Size		bytes;
	int			n;
	int			id = oldest(kind, &n, &bytes);

	while (id >= 0 &&
		   (n >= kind->max_entries || bytes + more > kind->max_bytes))
	{
		stays[id] = false;
		id = oldest(kind, &n, &bytes);
	}
	id = put(kind, key, more)->id;
	known[id].used = now;
	stays[id] = true;
}

static void
find_any(SkxSessionKind *kind, SkxSessionKey key, uint64 now)
{
	Kept	   *kept = skx_sessioncache_find(kind, &key);
	int			wanted = -1;

	for (int i = first; i < nknown; i++)
		if (stays[i] && known[i].kind == kind && known[i].key.segment == key.segment &&
			known[i].key.incarnation == key.incarnation)
			wanted = i;
	CHECK((kept == NULL) == (wanted < 0));
	if (kept == NULL)
	{
		put_any(kind, key, now);
		return;
	}
	CHECK(kept->id == wanted);
	known[wanted].used = now;
	known[wanted].stale = false;
	known[wanted].key.index = key.index;
	if (unit_below(4) == 0)
	{
		skx_sessioncache_hold(&kept->entry);
		known[wanted].holders++;
	}
}

static void
invalidate_any(void)
{
	Oid			index = unit_below(8) == 0 ? InvalidOid : 1 + unit_below(3);

	invalidate((Datum) 0, index);
	for (int i = first; i < nknown; i++)
		known[i].stale |= index == InvalidOid || known[i].key.index == index;
}

static void
end_any(bool release)
{
	if (release)
		release_all();
	for (int i = first; i < nknown; i++)
	{
		known[i].holders = release ? 0 : known[i].holders;
		stays[i] &= !known[i].stale || known[i].holders > 0;
	}
	ends(XACT_EVENT_COMMIT, NULL);
}

static void
test_any(void)
{
	for (uint64 now = 1; now < UNIT_CASES(40000) && nknown < MANY - 1; now++)
	{
		int			what = unit_below(12);

		if (what == 0)
			invalidate_any();
		else if (what == 1)
			end_any(unit_below(2) == 0);
		else
			find_any(unit_below(2) == 0 ? &few : &small,
					 key_of(1 + unit_below(3), 11, 5 + unit_below(2), unit_below(6)), now);
		check_all();
	}
	CHECK(nknown > UNIT_CASES(4000));
	release_all();
	empty(&few);
	empty(&small);
}

int
main(void)
{
	unit_seed(81);
	test_keys();
	test_limits();
	test_room();
	test_take();
	test_invalidation();
	test_any();
	return unit_done("sessioncache");
}
