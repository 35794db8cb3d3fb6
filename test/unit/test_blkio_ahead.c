/*
 * test_blkio_ahead.c
 *	  The plans of reading ahead: what becomes one read, when it begins, and
 *	  that nothing is left of it.
 *
 * The cache, the loads and the tokens of the server are stood in for by arrays
 * of one plane's pages.
 *
 * Holds: blkio 13
 */
#include "unit.h"
#include "server.h"

#include <setjmp.h>

#include "storage/blkio/blkio_cache.h"
#include "utils/memutils.h"

#define PAGES		4096
#define RUN		32			/* pages of a read at most */

typedef enum PageState
{
	AWAY,
	CLAIMED,
	THERE
} PageState;

/* ---- the world ---- */

static PageState pages[PAGES];
static SkxBlkLoad loads[SKX_BLK_MAX_AHEAD];
static SkxBlkPin pin_of_all;
static int	tokens = 64;
static int	requests;			/* loads started ... */
static int	requested;			/* ... and the pages in them */
static int	most;				/* pages in the largest */
static int	misses;
static int	fail_at = -1;		/* the claim of this page raises an error */
static jmp_buf failed;

int			skx_blkio_loads_ahead;
int			skx_blkio_pins_ahead;
SkxBlkCache skx_blkio_cache;
SkxBlkCounters skx_blkio_mine[SKX_BLK_NMETHODS];
MemoryContext TopMemoryContext;
MemoryContext CurrentMemoryContext;
ResourceOwner CurrentResourceOwner;

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return malloc(size);
}

int
skx_blkio_depth_acquire(int n, bool wait)
{
	if (tokens == 0)
		return 0;
	tokens--;
	return 1;
}

int
skx_blkio_ring_reap(bool wait)
{
	return 0;
}

void
skx_blkio_ring_submit(void)
{
}

bool
skx_blkio_claim_present(SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal)
{
	return pages[ordinal] != AWAY;
}

SkxBlkPin *
skx_blkio_pins_slot(int32 slot)
{
	return &pin_of_all;
}

SkxBlkLoad *
skx_blkio_load_new(SkxBlkFile *file, const SkxBlkPlane *plane, bool ahead)
{
	int			i = 0;

	while (loads[i].is_used)
		CHECK(++i < SKX_BLK_MAX_AHEAD);
	loads[i].is_used = true;
	loads[i].is_prefetch = ahead;
	loads[i].has_permit = false;
	loads[i].owner = CurrentResourceOwner;
	loads[i].file = file;
	loads[i].group.plane = plane;
	loads[i].group.nframes = 0;
	skx_blkio_loads_ahead++;
	return &loads[i];
}

void
skx_blkio_claim(SkxBlkLoad *load, uint32 first)
{
	SkxBlkGroup *group = &load->group;

	if ((int) first == fail_at)
		longjmp(failed, 1);
	if (pages[first] != AWAY)
		return;
	CHECK(group->nframes < SKX_BLK_GROUP_FRAMES);
	for (uint32 i = 0; i < group->plane->unit && first + i < PAGES; i++)
		pages[first + i] = CLAIMED;
	group->slots[group->nframes] = 0;
	group->firsts[group->nframes++] = first;
}

void
skx_blkio_load_start(SkxBlkLoad *load)
{
	SkxBlkGroup *group = &load->group;

	CHECK(load->has_permit);
	for (int i = 1; i < group->nframes; i++)
		CHECK(group->firsts[i] > group->firsts[i - 1]);
	requests++;
	requested += group->nframes;
	most = Max(most, group->nframes);
}

void
skx_blkio_load_finish(SkxBlkLoad *load)
{
	for (int i = 0; i < load->group.nframes; i++)
		pages[load->group.firsts[i]] = THERE;
}

void
skx_blkio_load_drop(SkxBlkLoad *load)
{
	for (int i = 0; i < load->group.nframes; i++)
	{
		if (pages[load->group.firsts[i]] == CLAIMED)
			pages[load->group.firsts[i]] = AWAY;
	}
	tokens += load->has_permit;
	load->is_used = false;
	skx_blkio_loads_ahead--;
}

SkxBlkLoad *
skx_blkio_load_find(const SkxBlkKey *key, bool private, int *which)
{
	for (int i = 0; i < SKX_BLK_MAX_AHEAD; i++)
	{
		for (int k = 0; loads[i].is_used && k < loads[i].group.nframes; k++)
		{
			if (loads[i].group.firsts[k] == key->ordinal && !private)
				return &loads[i];
		}
	}
	return NULL;
}

void
skx_blkio_loads_drop_stale(uint32 patience)
{
}

void
skx_blkio_loads_end(ResourceOwner owner, SkxBlkFile *file)
{
	for (int i = 0; i < SKX_BLK_MAX_AHEAD; i++)
	{
		if (loads[i].is_used && (owner == NULL || loads[i].owner == owner) &&
			(file == NULL || loads[i].file == file))
			skx_blkio_load_drop(&loads[i]);
	}
}

/* ---- what a scan does ---- */

static SkxBlkMethod method = {.number = SKX_BLK_URING};
static uint32 gap_at = PG_UINT32_MAX;	/* pages from here on lie elsewhere */

BlockNumber
skx_blkio_block(Relation rel, const SkxBlkPlane *of, uint32 ordinal)
{
	return ordinal < gap_at ? ordinal : ordinal + PAGES;
}

static SkxBlkFile file = {.method = &method, .prefetch_depth = 16};
static SkxBlkPlane plane = {.unit = 1, .npages = PAGES};

static void
forget_all(void)
{
	memset(pages, 0, sizeof(pages));
	tokens = 64;
	requests = requested = most = misses = 0;
	fail_at = -1;
	for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		skx_blkio_cache.nframes[i] = PAGES;
}

static void
ask(const SkxBlkPlane *what, const uint32 *ordinals, int n)
{
	skx_blkio_prefetch_plan(&file, what, ordinals, n);
}

static void
pin(uint32 ordinal)
{
	SkxBlkKey	key = {.ordinal = ordinal};
	bool		read = pages[ordinal] == AWAY;

	if (pages[ordinal] == CLAIMED)
		skx_blkio_prefetch_finish(&file, &key);
	misses += read;
	CHECK(read || pages[ordinal] == THERE);
	pages[ordinal] = THERE;
	if (read || skx_blkio_ahead_starved)
		skx_blkio_prefetch_continue();
}

/* Nothing is under way, and no token is gone. */
static void
close_file(void)
{
	skx_blkio_prefetch_forget(NULL, &file);
	CHECK(skx_blkio_loads_ahead == 0);
	CHECK(tokens == 64);
	CHECK(!skx_blkio_ahead_starved);
	for (int i = 0; i < PAGES; i++)
		CHECK(pages[i] != CLAIMED);
}

/* ---- tests ---- */

/* Neighbours are read together, whichever way the scan goes. */
static void
test_directions(void)
{
	static const int sizes[] = {1, 2, 31, 32, 33, 100, 300, 1000};

	for (int s = 0; s < lengthof(sizes); s++)
	{
		for (int down = 0; down < 2; down++)
		{
			int			n = sizes[s];
			uint32		ordinals[1000];

			forget_all();
			for (int i = 0; i < n; i++)
				ordinals[i] = down ? 2000 - i : 1000 + i;
			ask(&plane, ordinals, n);
			for (int i = 0; i < n; i++)
				pin(ordinals[i]);
			CHECK(requested == n);
			CHECK(requests == (n + RUN - 1) / RUN);
			CHECK(most == Min(n, RUN));
			CHECK(misses == 0);
			close_file();
		}
	}
}

/* Back and forth: each page once, whatever was joined. */
static void
test_zigzag(void)
{
	for (int round = 0; round < 200; round++)
	{
		uint32		ordinals[200];
		int			distinct = 0;
		int			n = 1 + unit_below(lengthof(ordinals));
		uint32		at = 500 + unit_below(100);

		forget_all();
		for (int i = 0; i < n; i++)
		{
			ordinals[i] = at;
			at += unit_below(4) == 0 ? unit_below(40) - 20 : unit_below(3) - 1;
		}
		ask(&plane, ordinals, n);
		for (int i = 0; i < n; i++)
			pin(ordinals[i]);
		for (int i = 0; i < PAGES; i++)
			distinct += pages[i] == THERE;
		CHECK(requested == distinct);
		CHECK(most <= 16);
		CHECK(misses == 0);
		close_file();
	}
}

/* Other backends have all tokens: plans go on at the first pin after that. */
static void
test_tokens(void)
{
	uint32		ordinals[64];

	for (int miss = 0; miss < 2; miss++)
	{
		forget_all();
		pages[10] = miss ? AWAY : THERE;
		for (int i = 0; i < 64; i++)
			ordinals[i] = 100 + 2 * i;
		tokens = 0;
		ask(&plane, ordinals, 64);
		CHECK(requests == 0 && skx_blkio_loads_ahead == 0);
		CHECK(skx_blkio_ahead_starved);
		pin(10);
		CHECK(requests == 0);
		tokens = 3;
		pages[10] = miss ? AWAY : THERE;
		pin(10);
		CHECK(requests == 3);
		tokens = 61;
		pin(10);
		CHECK(requests == 16 && !skx_blkio_ahead_starved);
		close_file();
	}
}

/* Loads of another scan take all room: the next miss looks again. */
static void
test_room(void)
{
	static SkxBlkFile other = {.method = &method, .prefetch_depth = 16};
	uint32		ordinals[16];

	forget_all();
	for (int i = 0; i < 16; i++)
		ordinals[i] = 100 + 2 * i;
	skx_blkio_prefetch_plan(&other, &plane, ordinals, 16);
	CHECK(requests == 16);
	for (int i = 0; i < 16; i++)
		ordinals[i] = 1000 + 2 * i;
	ask(&plane, ordinals, 16);
	CHECK(requests == 16);
	skx_blkio_loads_end(NULL, &other);
	pin(10);
	CHECK(requests == 32);
	close_file();
}

/* Neighbours of a plane that are none in the file are read by themselves. */
static void
test_gap(void)
{
	uint32		ordinals[RUN];

	forget_all();
	gap_at = 110;
	for (int i = 0; i < RUN; i++)
		ordinals[i] = 100 + i;
	ask(&plane, ordinals, RUN);
	for (int i = 0; i < RUN; i++)
		pin(ordinals[i]);
	CHECK(requests == 2);
	gap_at = PG_UINT32_MAX;
	close_file();
}

/* An error while frames are claimed leaves the load to its owner. */
static void
test_error(void)
{
	static int	mine;
	static int	its;
	static int	at;
	uint32		ordinals[2 * RUN];

	for (at = 0; at < 2 * RUN; at++)
	{
		forget_all();
		for (int i = 0; i < 2 * RUN; i++)
			ordinals[i] = 100 + i;
		fail_at = 100 + at;
		CurrentResourceOwner = (ResourceOwner) &its;
		if (setjmp(failed) == 0)
		{
			ask(&plane, ordinals, 2 * RUN);
			CHECK(false);
		}
		CHECK(skx_blkio_loads_ahead == 1 + at / RUN);
		CurrentResourceOwner = (ResourceOwner) &mine;
		skx_blkio_prefetch_forget((ResourceOwner) &mine, NULL);
		CHECK(skx_blkio_loads_ahead == 1 + at / RUN);
		skx_blkio_prefetch_forget((ResourceOwner) &its, NULL);
		close_file();
	}
	CurrentResourceOwner = NULL;
}

/* A unit that has no room in a small cache is in no other's way. */
static void
test_small_cache(void)
{
	SkxBlkPlane blocks = {.unit = 16, .npages = PAGES};
	uint32		ordinals[8];

	forget_all();
	skx_blkio_cache.nframes[SKX_BLK_CLASS_BLOCK] = 3;
	for (int i = 0; i < 8; i++)
		ordinals[i] = 160 + 16 * i;
	ask(&blocks, ordinals, 8);
	CHECK(requests == 0);
	for (int i = 0; i < 8; i++)
		ordinals[i] = 2000 + 2 * i;
	ask(&plane, ordinals, 8);
	CHECK(requests == 8);
	close_file();
}

/* A scan that leaves its plans behind leaves room for those of others. */
static void
test_forgotten(void)
{
	uint32		ordinals[2000];

	for (int round = 0; round < 3; round++)
	{
		forget_all();
		for (int i = 0; i < 2000; i++)
			ordinals[i] = 2 * i;
		ask(&plane, ordinals, 2000);
		CHECK(requests == 16);
		close_file();
		forget_all();
		ask(&plane, ordinals, 100);
		for (int i = 0; i < 100; i++)
			pin(ordinals[i]);
		CHECK(requests == 100 && misses == 0);
		close_file();
	}
}

int
main(void)
{
	unit_seed(4);
	test_directions();
	test_zigzag();
	test_tokens();
	test_room();
	test_gap();
	test_error();
	test_small_cache();
	test_forgotten();
	return unit_done("blkio_ahead");
}
