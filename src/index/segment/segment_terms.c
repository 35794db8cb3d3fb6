/*
 * segment_terms.c
 *	  Dictionary entries that the session has looked up, found or not.
 *
 * Statistics keep what they have looked up as long as nothing is inserted.
 * But a segment has the same entry of a lexeme as long as it exists.  So a
 * lexeme is not looked up again in a segment that the session keeps.
 *
 * The entries of a segment are in one piece of memory, which doubles when it
 * is full.  When there is no room for that, they are all forgotten.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "index/segment/segment.h"
#include "utils/memutils.h"

/* Most lexemes of a look-up whose entries are kept. */
#define SKX_KNOWN_LEXEMES	64

/* Bytes of records at first, and bytes for each slot of the table. */
#define SKX_KNOWN_BYTES		1024
#define SKX_KNOWN_SLOT		16

/*
 * Another segment's entries make room if it was not used while segments were
 * used so often.
 */
#define SKX_KNOWN_UNUSED	256

/* A record: this, the bytes of the lexeme, and its SkxTerm if it was found. */
typedef struct SkxKnownTerm
{
	uint32		hash;
	uint16		len;
	bool		found;
} SkxKnownTerm;

#define SKX_KNOWN_HEAD(len)	(sizeof(SkxKnownTerm) + MAXALIGN(len))

StaticAssertDecl(sizeof(SkxKnownTerm) % MAXIMUM_ALIGNOF == 0 &&
				 sizeof(SkxTerm) % MAXIMUM_ALIGNOF == 0,
				 "records are aligned");
StaticAssertDecl(SKX_LEXEME_MAX <= PG_UINT16_MAX, "lengths fit");

struct SkxKnownTerms
{
	uint32		n;				/* records */
	uint32		nslots;			/* a power of two, more than n */
	uint32		used;			/* bytes of records */
	uint32		size;			/* room for these, behind the slots */
	uint32		slots[FLEXIBLE_ARRAY_MEMBER];	/* 1 + offset of a record; 0:
												 * empty */
};

static Size
skx_known_bytes(uint32 size)
{
	return MAXALIGN(offsetof(struct SkxKnownTerms, slots) +
					sizeof(uint32) * (size / SKX_KNOWN_SLOT)) + size;
}

static char *
skx_known_records(SkxKnownTerms *known)
{
	return (char *) known + skx_known_bytes(known->size) - known->size;
}

/* Returns the slot of a lexeme: that of its record, or else an empty one. */
static uint32 *
skx_known_slot(SkxKnownTerms *known, SkxLexeme lexeme, uint32 hash)
{
	const char *records = skx_known_records(known);
	uint32		i = hash;

	for (;; i++)
	{
		uint32	   *slot = &known->slots[i & (known->nslots - 1)];
		const SkxKnownTerm *t;

		if (*slot == 0)
			return slot;
		t = (const SkxKnownTerm *) (records + *slot - 1);
		if (t->hash == hash && t->len == lexeme.len &&
			memcmp(t + 1, lexeme.bytes, lexeme.len) == 0)
			return slot;
	}
}

/* Sets the entries of n lexemes, or returns false if one is not known. */
static bool
skx_known_all(SkxKnownTerms *known, const SkxLexeme *lexemes,
			  const uint32 *hashes, int n, SkxTerm *terms)
{
	int			k;

	if (known == NULL)
		return false;
	for (k = 0; k < n; k++)
	{
		uint32		slot = *skx_known_slot(known, lexemes[k], hashes[k]);
		const char *record;

		if (slot == 0)
			return false;
		record = skx_known_records(known) + slot - 1;
		if (((const SkxKnownTerm *) record)->found)
			memcpy(&terms[k], record + SKX_KNOWN_HEAD(lexemes[k].len),
				   sizeof(SkxTerm));
		else
			terms[k].df = 0;
	}
	return true;
}

/* Returns true if a table of `size` bytes has room for n records in all. */
static bool
skx_known_holds(uint32 size, uint32 n, Size bytes)
{
	return bytes <= size && n < size / SKX_KNOWN_SLOT / 4 * 3;
}

/* Copies the records of `old`, if any, to a table of `size` bytes. */
static SkxKnownTerms *
skx_known_grow(SkxKnownTerms *old, uint32 size)
{
	SkxKnownTerms *known =
		MemoryContextAlloc(skx_sessioncache_context(), skx_known_bytes(size));
	uint32		at = 0;

	memset(known, 0, skx_known_bytes(size) - size);
	known->size = size;
	known->nslots = size / SKX_KNOWN_SLOT;
	if (old == NULL)
		return known;
	known->n = old->n;
	known->used = old->used;
	memcpy(skx_known_records(known), skx_known_records(old), old->used);
	while (at < known->used)
	{
		const char *record = skx_known_records(known) + at;
		const SkxKnownTerm *t = (const SkxKnownTerm *) record;
		SkxLexeme	lexeme = {record + sizeof(*t), t->len};

		*skx_known_slot(known, lexeme, t->hash) = at + 1;
		at += SKX_KNOWN_HEAD(t->len) + (t->found ? sizeof(SkxTerm) : 0);
	}
	return known;
}

/*
 * Makes room for n more records of `bytes` bytes together.  Returns false if
 * there is none even without those that are known.
 */
static bool
skx_known_room(SkxSegmentKept *kept, int n, Size bytes)
{
	SkxKnownTerms *known = kept->terms;
	uint32		size = known == NULL ? SKX_KNOWN_BYTES : known->size;
	uint32		used = known == NULL ? 0 : known->used;
	uint32		records = known == NULL ? 0 : known->n;
	Size		more;

	while (!skx_known_holds(size, records + n, used + bytes))
		size *= 2;
	more = skx_known_bytes(size) -
		(known == NULL ? 0 : skx_known_bytes(known->size));
	if (skx_sessioncache_room(kept->entry.kind, &kept->entry, more,
							  SKX_KNOWN_UNUSED))
	{
		kept->terms = skx_known_grow(known, size);
		skx_sessioncache_resize(&kept->entry, kept->entry.bytes + more);
		if (known != NULL)
			pfree(known);
		return true;
	}
	if (known == NULL)
		return false;
	memset(known->slots, 0, sizeof(uint32) * known->nslots);
	known->n = known->used = 0;
	return skx_known_holds(known->size, n, bytes);
}

static void
skx_known_keep(SkxSegmentKept *kept, const SkxLexeme *lexemes,
			   const uint32 *hashes, int n, const SkxTerm *terms)
{
	SkxKnownTerms *known = kept->terms;
	Size		bytes = 0;
	int			k;

	for (k = 0; k < n; k++)
		bytes += SKX_KNOWN_HEAD(lexemes[k].len) +
			(terms[k].df > 0 ? sizeof(SkxTerm) : 0);
	if ((known == NULL ||
		 !skx_known_holds(known->size, known->n + n, known->used + bytes)) &&
		!skx_known_room(kept, n, bytes))
		return;
	known = kept->terms;
	for (k = 0; k < n; k++)
	{
		uint32	   *slot = skx_known_slot(known, lexemes[k], hashes[k]);
		char	   *record = skx_known_records(known) + known->used;
		SkxKnownTerm *t = (SkxKnownTerm *) record;

		if (*slot != 0)
			continue;
		t->hash = hashes[k];
		t->len = lexemes[k].len;
		t->found = terms[k].df > 0;
		memcpy(t + 1, lexemes[k].bytes, lexemes[k].len);
		*slot = known->used + 1;
		known->n++;
		known->used += SKX_KNOWN_HEAD(t->len);
		if (!t->found)
			continue;
		memcpy(skx_known_records(known) + known->used, &terms[k],
			   sizeof(SkxTerm));
		known->used += sizeof(SkxTerm);
	}
}

void
skx_segment_find_known(SkxSegment *const *segs, int nsegs,
					   const SkxLexeme *lexemes, int n, SkxTerm **terms)
{
	uint32		hashes[SKX_KNOWN_LEXEMES];
	SkxSegment **asked;
	SkxTerm   **found;
	int			nasked = 0;
	int			i;

	if (n == 0 || n > SKX_KNOWN_LEXEMES)
	{
		skx_segment_find_all(segs, nsegs, lexemes, n, terms);
		return;
	}
	for (i = 0; i < n; i++)
		hashes[i] = hash_bytes((const unsigned char *) lexemes[i].bytes,
							   lexemes[i].len);
	asked = palloc(sizeof(SkxSegment *) * (nsegs + (Size) 1));
	found = palloc(sizeof(SkxTerm *) * (nsegs + (Size) 1));
	for (i = 0; i < nsegs; i++)
	{
		if (skx_known_all(segs[i]->kept->terms, lexemes, hashes, n, terms[i]))
			continue;
		asked[nasked] = segs[i];
		found[nasked++] = terms[i];
	}
	if (nasked > 0)
		skx_segment_find_all(asked, nasked, lexemes, n, found);
	for (i = 0; i < nasked; i++)
		skx_known_keep(asked[i]->kept, lexemes, hashes, n, found[i]);
	pfree(asked);
	pfree(found);
}
