/*
 * score_terms.c
 *	  The entries of lexemes that this session has found in segments.
 *
 * The table of words is valid only until something is inserted.  But a segment
 * has the same entry of a lexeme as long as it exists.  Its number belongs to
 * no other segment in this incarnation of the index in this file.  So an entry
 * that was found is not looked up again, whatever else has changed.
 *
 * The table has a fixed number of slots.  A new entry replaces the one in its
 * slot.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "read/score/score_internal.h"
#include "utils/memutils.h"

/*
 * The number of slots at first (100 kB), and the largest number (1.6 MB).  The
 * table grows when too many entries were replaced.
 */
#define SKX_SCORE_TERMS_LEAST	512
#define SKX_SCORE_TERMS_MOST	8192

/*
 * The most bytes of a lexeme in the table.  Longer lexemes are rare, and are
 * looked up each time.
 */
#define SKX_SCORE_TERMS_BYTES	24

typedef struct SkxScoreKnown
{
	SkxTerm		term;			/* df is 0 if the segment does not have it */
	uint64		incarnation;
	SkxLocator	locator;
	uint32		segment;
	uint32		hash;
	int			len;			/* 0 if the slot is empty */
	char		bytes[SKX_SCORE_TERMS_BYTES];
} SkxScoreKnown;

StaticAssertDecl(sizeof(SkxScoreKnown) * SKX_SCORE_TERMS_MOST <= 1700 * 1024,
				 "what a session may remember takes 1.7 MB at most");

static SkxScoreKnown *skx_score_known = NULL;
static uint32 skx_score_known_size = 0; /* a power of two */
static uint32 skx_score_known_lost = 0; /* entries replaced since it grew */

static uint32
skx_score_terms_hash(const SkxScoreLeaf *leaf, int segment, SkxLexeme lexeme)
{
	uint64		incarnation = leaf->view->meta.incarnation;
	uint32		hash = hash_bytes((const unsigned char *) lexeme.bytes,
								  lexeme.len);

	hash = hash_combine(hash, leaf->view->segments[segment].segment);
	return hash_combine(hash, (uint32) (incarnation ^ incarnation >> 32));
}

static SkxScoreKnown *
skx_score_terms_slot(uint32 hash)
{
	return &skx_score_known[hash & (skx_score_known_size - 1)];
}

/* Returns the entry of a lexeme, or NULL if it is not in the table. */
static const SkxScoreKnown *
skx_score_terms_find(const SkxScoreLeaf *leaf, int segment, SkxLexeme lexeme)
{
	uint32		hash = skx_score_terms_hash(leaf, segment, lexeme);
	const SkxScoreKnown *known = skx_score_terms_slot(hash);

	if (known->hash != hash || known->len != lexeme.len ||
		known->segment != leaf->view->segments[segment].segment ||
		known->incarnation != leaf->view->meta.incarnation ||
		!SKX_LOCATOR_EQUALS(known->locator, leaf->locator) ||
		memcmp(known->bytes, lexeme.bytes, lexeme.len) != 0)
		return NULL;
	return known;
}

bool
skx_score_terms_known(const SkxScoreLeaf *leaf, int segment,
					  const SkxLexeme *lexemes, int n, SkxTerm *terms)
{
	int			k;

	if (skx_score_known_size == 0 || n > SKX_SCORE_TERMS_QUERY)
		return false;
	for (k = 0; k < n; k++)
	{
		const SkxScoreKnown *known = NULL;

		if (lexemes[k].len > 0 && lexemes[k].len <= SKX_SCORE_TERMS_BYTES)
			known = skx_score_terms_find(leaf, segment, lexemes[k]);
		if (known == NULL)
			return false;
		terms[k] = known->term;
	}
	return true;
}

/*
 * Makes the table, or doubles its size.  Does nothing if there is not enough
 * memory.
 */
static void
skx_score_terms_grow(void)
{
	uint32		old_size = skx_score_known_size;
	uint32		size = Max(2 * old_size, SKX_SCORE_TERMS_LEAST);
	SkxScoreKnown *old = skx_score_known;
	SkxScoreKnown *made =
		MemoryContextAllocExtended(TopMemoryContext,
								   size * sizeof(SkxScoreKnown),
								   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);

	skx_score_known_lost = 0;
	if (made == NULL)
		return;
	skx_score_known = made;
	skx_score_known_size = size;
	for (uint32 i = 0; i < old_size; i++)
	{
		if (old[i].len > 0)
			*skx_score_terms_slot(old[i].hash) = old[i];
	}
	if (old != NULL)
		pfree(old);
}

void
skx_score_terms_keep(const SkxScoreLeaf *leaf, int segment,
					 const SkxLexeme *lexemes, int n, const SkxTerm *terms)
{
	int			k;

	if (n > SKX_SCORE_TERMS_QUERY)
		return;
	if (skx_score_known_size == 0 ||
		(skx_score_known_lost >= skx_score_known_size &&
		 skx_score_known_size < SKX_SCORE_TERMS_MOST))
		skx_score_terms_grow();
	if (skx_score_known_size == 0)
		return;
	for (k = 0; k < n; k++)
	{
		SkxScoreKnown *known;
		uint32		hash;

		if (lexemes[k].len == 0 || lexemes[k].len > SKX_SCORE_TERMS_BYTES)
			continue;
		hash = skx_score_terms_hash(leaf, segment, lexemes[k]);
		known = skx_score_terms_slot(hash);
		skx_score_known_lost += known->len > 0 && known->hash != hash;
		known->term = terms[k];
		known->incarnation = leaf->view->meta.incarnation;
		known->locator = leaf->locator;
		known->segment = leaf->view->segments[segment].segment;
		known->hash = hash;
		known->len = lexemes[k].len;
		memcpy(known->bytes, lexemes[k].bytes, lexemes[k].len);
	}
}
