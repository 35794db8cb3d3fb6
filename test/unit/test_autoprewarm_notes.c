/*
 * test_autoprewarm_notes.c
 *	  Notes of what is in the cache: all pages of the frames come back, whatever
 *	  the frames, also where a page is noted twice; and no more indexes than a
 *	  cache knows.
 *
 * Holds: autoprewarm 1, 4
 */
#include "unit.h"
#include "server.h"

#include "port/pg_crc32c.h"
#include "sql/autoprewarm/autoprewarm_internal.h"

#define ROUNDS		2000
#define FRAMES_MAX	200
#define INDEXES		3
#define SEGMENTS	3
#define PAGES		256

/* By index, segment and page: the use count that is wanted, plus 1. */
typedef uint8 Seen[INDEXES][SEGMENTS][PAGES];

static SkxBlkKnownIndex indexes[INDEXES];

static int
compare(const void *a, const void *b)
{
	const SkxBlkContent *x = a;
	const SkxBlkContent *y = b;

	if (x->uses != y->uses)
		return x->uses > y->uses ? -1 : 1;
	if (x->key.incarnation != y->key.incarnation)
		return x->key.incarnation < y->key.incarnation ? -1 : 1;
	if (x->key.segment != y->key.segment)
		return x->key.segment < y->key.segment ? -1 : 1;
	return (x->key.ordinal > y->key.ordinal) -
		(x->key.ordinal < y->key.ordinal);
}

/* A frame of random pages; a page has one use count, so that it is found. */
static void
random_frame(SkxBlkContent *frame, Seen seen)
{
	int			index = (int) unit_below(INDEXES);

	memset(frame, 0, sizeof(*frame));
	frame->key.incarnation = indexes[index].incarnation;
	frame->key.segment = (uint32) unit_below(SEGMENTS);
	frame->key.salt = 77 + frame->key.segment;
	frame->key.plane = 2;
	frame->key.ordinal = (uint32) unit_below(PAGES / 4) * 4;
	frame->npages = 4;
	frame->uses = (uint16) ((frame->key.ordinal / 32 + index) % 4);
	for (int i = 0; i < 4; i++)
		seen[index][frame->key.segment][frame->key.ordinal + i] =
			(uint8) (frame->uses + 1);
}

/* All frames that went in come out, and nothing else. */
static void
test_round(void)
{
	static Seen wanted;
	static Seen got;
	SkxBlkContent frames[FRAMES_MAX];
	SkxAutoprewarmNotes notes;
	SkxAutoprewarmStretch stretch;
	int			n = 1 + (int) unit_below(FRAMES_MAX - 1);
	uint8	   *bytes;
	Size		size;

	memset(wanted, 0, sizeof(wanted));
	memset(got, 0, sizeof(got));
	random_frame(&frames[0], wanted);
	for (int i = 1; i < n; i++)
	{
		if (unit_below(4) == 0)
			frames[i] = frames[unit_below(i)];
		else
			random_frame(&frames[i], wanted);
	}
	qsort(frames, n, sizeof(SkxBlkContent), compare);
	bytes = skx_autoprewarm_encode(indexes, INDEXES, frames, n, &size);
	CHECK(skx_autoprewarm_decode(bytes, size, &notes) == NULL);
	while (skx_autoprewarm_next(&notes, &stretch))
	{
		CHECK(stretch.index < INDEXES && stretch.segment < SEGMENTS &&
			  stretch.salt == 77 + stretch.segment && stretch.plane == 2 &&
			  stretch.first + stretch.npages <= PAGES);
		for (uint32 i = 0; i < stretch.npages; i++)
		{
			uint8	   *at = &got[stretch.index][stretch.segment][stretch.first + i];

			CHECK(*at == 0);
			*at = (uint8) (stretch.uses + 1);
		}
	}
	CHECK(memcmp(wanted, got, sizeof(got)) == 0);
	pfree(bytes);
}

/* Returns whether notes of so many indexes are accepted. */
static bool
accepts_indexes(int n)
{
	SkxBlkKnownIndex *many = palloc0(n * sizeof(SkxBlkKnownIndex));
	SkxAutoprewarmNotes notes;
	const char *problem;
	uint8	   *bytes;
	Size		size;

	for (int i = 0; i < n; i++)
	{
		many[i].incarnation = i + 1;
		many[i].database = 100000 + i;
		many[i].index = 1;
	}
	bytes = skx_autoprewarm_encode(many, n, NULL, 0, &size);
	CHECK(size <= SKX_AUTOPREWARM_MAX_BYTES);
	problem = skx_autoprewarm_decode(bytes, size, &notes);
	CHECK(problem == NULL || strcmp(problem, "its length is wrong") == 0);
	pfree(bytes);
	pfree(many);
	return problem == NULL;
}

int
main(void)
{
	unit_seed(234);
	for (int i = 0; i < INDEXES; i++)
	{
		indexes[i].incarnation = 1000 + i;
		indexes[i].database = 5;
		indexes[i].index = 16384 + i;
	}
	for (int i = 0; i < UNIT_CASES(ROUNDS); i++)
		test_round();
	CHECK(accepts_indexes(0));
	CHECK(accepts_indexes(SKX_BLK_KNOWN_INDEXES_MAX));
	CHECK(!accepts_indexes(SKX_BLK_KNOWN_INDEXES_MAX + 1));
	CHECK(!accepts_indexes(1000 * 1000));
	return unit_done("autoprewarm_notes");
}
