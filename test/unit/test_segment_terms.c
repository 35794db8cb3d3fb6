/*
 * test_segment_terms.c
 *	  Dictionary entries that a session keeps: they are those of the
 *	  dictionary, are looked up once, and take bounded memory.
 *
 * A dictionary is a function of the lexeme and the segment's number.
 *
 * Holds: segment 9
 */
#include "unit.h"
#include "server.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "index/segment/segment.h"
#include "utils/inval.h"
#include "utils/memutils.h"

/* ---- the world ---- */

MemoryContext TopMemoryContext;
MemoryContext CurrentMemoryContext;

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
}

void
RegisterXactCallback(XactCallback function, void *arg)
{
}

void
MemoryContextRegisterResetCallback(MemoryContext context,
								   MemoryContextCallback *callback)
{
}

/* Bytes of what is kept, and not of what a look-up needs. */
static Size allocated;

/* A chunk has its size before it, 0 if it does not count. */
static void *
chunk_of(Size size, Size counts)
{
	Size	   *chunk = malloc(size + 2 * sizeof(Size));

	allocated += counts;
	chunk[0] = counts;
	memset(chunk + 2, 0xAA, size);
	return chunk + 2;
}

void *
palloc(Size size)
{
	return chunk_of(size, 0);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return chunk_of(size, size);
}

void
pfree(void *pointer)
{
	Size	   *chunk = (Size *) pointer - 2;

	allocated -= chunk[0];
	free(chunk);
}

/* ---- dictionaries ---- */

#define EMPTY	1				/* number of a segment without terms */

static int	asked;				/* segments that were looked into */

static void
term_of(const SkxSegment *seg, SkxLexeme lexeme, SkxTerm *term)
{
	uint32		hash = seg->header.segment;

	for (int i = 0; i < lexeme.len; i++)
		hash = hash * 31 + (uint8) lexeme.bytes[i];
	memset(term, 0, sizeof(*term));
	if (hash % 3 == 0 || seg->header.segment == EMPTY)
		return;
	term->df = hash;
	term->ordinal = hash ^ 0x55;
	term->bytes[63] = (uint8) hash;
	term->pos_offset = (uint16) (hash >> 8);
}

void
skx_segment_find_all(SkxSegment *const *segs, int nsegs,
					 const SkxLexeme *lexemes, int n, SkxTerm **terms)
{
	asked += nsegs;
	for (int i = 0; i < nsegs; i++)
		for (int k = 0; k < n; k++)
			term_of(segs[i], lexemes[k], &terms[i][k]);
}

/* ---- segments that are kept ---- */

#define SEGMENTS	5
#define MOST		(600 * 1024)

static SkxSegment segments[SEGMENTS];
static SkxSegment *segs[SEGMENTS];
static SkxSegmentSession kept[SEGMENTS];

static void
forget(SkxSessionEntry *entry)
{
	abort();
}

static SkxSessionKind kind = {.max_entries = 100, .max_bytes = MOST,
	.free_entry = forget};

static void
begin(void)
{
	for (int i = 0; i < SEGMENTS; i++)
	{
		SkxSessionKey key;

		memset(&key, 0, sizeof(key));
		key.segment = i + 1;
		segs[i] = &segments[i];
		segments[i].header.segment = i + 1;
		segments[i].session = &kept[i];
		skx_sessioncache_put(&kind, &key, &kept[i].entry, 0);
		skx_sessioncache_hold(&kept[i].entry);
	}
}

/* Looks n lexemes up in `nsegs` segments, and returns how many were asked. */
static int
look_up(const SkxLexeme *lexemes, int n, int nsegs)
{
	SkxTerm    *terms[SEGMENTS];
	SkxTerm		wanted;
	int			before = asked;

	for (int i = 0; i < nsegs; i++)
		terms[i] = malloc(sizeof(SkxTerm) * (n + 1));
	skx_segment_find_all_cached(segs, nsegs, lexemes, n, terms);
	for (int i = 0; i < nsegs; i++)
	{
		for (int k = 0; k < n; k++)
		{
			term_of(segs[i], lexemes[k], &wanted);
			CHECK(terms[i][k].df == wanted.df);
			CHECK(wanted.df == 0 || memcmp(&terms[i][k], &wanted, sizeof(SkxTerm)) == 0);
		}
		free(terms[i]);
	}
	CHECK(kind.nbytes <= MOST && allocated == kind.nbytes);
	return asked - before;
}

static char letters[1 << 16];

/* Lexeme number `number`: its bytes are a part of these. */
static SkxLexeme
lexeme_of(uint32 number, int len)
{
	return (SkxLexeme) {letters + number * 13 % 60000, len};
}

static void
test_once(void)
{
	SkxLexeme	some[4] = {lexeme_of(1, 3), lexeme_of(2, 40), lexeme_of(3, 0), lexeme_of(4, 2046)};
	SkxLexeme	many[70];

	CHECK(look_up(some, 3, 3) == 3);
	CHECK(look_up(some, 3, 3) == 0);
	CHECK(look_up(some, 2, 5) == 2);
	CHECK(look_up(some, 4, 5) == 5);
	CHECK(look_up(some, 4, 5) == 0);
	CHECK(look_up(some + 3, 1, 1) == 0);
	some[0].len = 4;
	CHECK(look_up(some, 1, 1) == 1);
	CHECK(look_up(some, 0, 2) == 2);
	for (int i = 0; i < 70; i++)
		many[i] = lexeme_of(100 + i, 5);
	CHECK(look_up(many, 65, 1) == 1 && look_up(many, 65, 1) == 1);
	CHECK(look_up(many, 64, 1) == 1 && look_up(many, 64, 1) == 0);
}

/* What was known before the table has grown is known after that. */
static void
test_growth(void)
{
	for (int i = 0; i < 300; i++)
	{
		SkxLexeme	word;

		for (int k = 0; k < i; k += 17)
		{
			word = lexeme_of(200 + k, 3);
			CHECK(look_up(&word, 1, 2) == 0);
		}
		word = lexeme_of(200 + i, 3);
		CHECK(look_up(&word, 1, 2) == 2);
	}
}

/* A lexeme is kept once, even if it is looked up beside others. */
static void
test_twice(void)
{
	SkxLexeme	some[2] = {lexeme_of(5000, 2000), lexeme_of(0, 3)};
	Size		before = kind.nbytes;

	for (int i = 0; i < 200; i++)
	{
		some[1] = lexeme_of(1000 + i, 3);
		CHECK(look_up(some, 2, 2) == 2);
	}
	CHECK(kind.nbytes < before + 100 * 1024);
}

/* Very many lexemes, some of which have the same hash. */
#define HASHES	400000

typedef struct Hashed
{
	uint32		hash;
	char		bytes[8];
} Hashed;

static int
compare_hashes(const void *a, const void *b)
{
	uint32		x = ((const Hashed *) a)->hash;
	uint32		y = ((const Hashed *) b)->hash;

	return x < y ? -1 : x > y;
}

static void
test_collisions(void)
{
	Hashed	   *all = malloc(sizeof(Hashed) * HASHES);
	int			pairs = 0;

	for (int i = 0; i < HASHES; i++)
	{
		uint64		random = unit_random();

		memcpy(all[i].bytes, &random, 8);
		all[i].hash = hash_bytes((unsigned char *) all[i].bytes, 8);
	}
	qsort(all, HASHES, sizeof(Hashed), compare_hashes);
	for (int i = 1; i < HASHES; i++)
		if (all[i].hash == all[i - 1].hash)
		{
			SkxLexeme	one = {all[i].bytes, 8};
			SkxLexeme	other = {all[i - 1].bytes, 8};

			pairs++;
			CHECK(look_up(&one, 1, 3) == 3 && look_up(&other, 1, 3) == 3);
			CHECK(look_up(&one, 1, 3) == 0 && look_up(&other, 1, 3) == 0);
		}
	CHECK(pairs > 3);
	free(all);
}

/*
 * Words that come again and again are known as long as there is room, and
 * those of which there are too many take no more memory.
 */
static void
test_bounds(void)
{
	int			found = 0;
	int			looked = 0;

	for (int round = 0; round < 20000; round++)
	{
		SkxLexeme	some[8];
		int			n = 1 + unit_below(8);
		int			nsegs = 1 + unit_below(SEGMENTS);

		for (int k = 0; k < n; k++)
			some[k] = lexeme_of(unit_below(round < 10000 ? 4 : 3000) * 7 + k * 1000, 2 + k * 3);
		if (round < 10000 && round > 1000)
		{
			looked += nsegs;
			found += nsegs - look_up(some, n, nsegs);
		}
		else
			(void) look_up(some, n, nsegs);
	}
	CHECK(found == looked && looked > 1000);
	CHECK(kind.nbytes > MOST / 2);
}

int
main(void)
{
	unit_seed(82);
	for (int i = 0; i < sizeof(letters); i++)
		letters[i] = (char) unit_below(256);
	begin();
	test_growth();
	test_twice();
	test_once();
	test_collisions();
	test_bounds();
	for (int i = 0; i < SEGMENTS; i++)
		CHECK(kept[i].known_terms != NULL);
	return unit_done("segment_terms");
}
