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
#define SKX_KNOWN_LEXEMES_MAX	64

/* Bytes of records at first, and bytes for each slot of the table. */
#define SKX_KNOWN_RECORDS_INIT		1024
#define SKX_KNOWN_BYTES_PER_SLOT		16

/*
 * Another segment's entries make room if it was not used while segments were
 * used so often.
 */
#define SKX_KNOWN_UNUSED_MAX	256

/* A record: this, the bytes of the lexeme, and its SkxTerm if it was found. */
typedef struct SkxKnownTerm
{
	uint32		hash;
	uint16		len;
	bool		is_found;
} SkxKnownTerm;

#define SKX_KNOWN_RECORD_HEAD(len)	(sizeof(SkxKnownTerm) + MAXALIGN(len))

StaticAssertDecl(sizeof(SkxKnownTerm) % MAXIMUM_ALIGNOF == 0 &&
				 sizeof(SkxTerm) % MAXIMUM_ALIGNOF == 0,
				 "records are aligned");
StaticAssertDecl(SKX_LEXEME_MAX <= PG_UINT16_MAX, "lengths fit");

struct SkxKnownTerms
{
	uint32		n;				/* records */
	uint32		nslots;			/* a power of two, more than n */
	uint32		records_bytes;	/* bytes of records */
	uint32		table_bytes;	/* room for these, behind the slots */
	uint32		slots[FLEXIBLE_ARRAY_MEMBER];	/* 1 + offset of a record; 0:
												 * empty */
};

static Size
skx_known_bytes(uint32 size)
{
	return MAXALIGN(offsetof(struct SkxKnownTerms, slots) +
					sizeof(uint32) * (size / SKX_KNOWN_BYTES_PER_SLOT)) + size;
}

static char *
skx_known_records(SkxKnownTerms *known)
{
	return (char *) known + skx_known_bytes(known->table_bytes) -
		known->table_bytes;
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
skx_known_find_all(SkxKnownTerms *known, const SkxLexeme *lexemes,
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
		if (((const SkxKnownTerm *) record)->is_found)
			memcpy(&terms[k], record + SKX_KNOWN_RECORD_HEAD(lexemes[k].len),
				   sizeof(SkxTerm));
		else
			terms[k].df = 0;
	}
	return true;
}

/* Returns true if a table of `size` bytes has room for n records in all. */
static bool
skx_known_has_capacity(uint32 size, uint32 n, Size bytes)
{
	return bytes <= size && n < size / SKX_KNOWN_BYTES_PER_SLOT / 4 * 3;
}

/* Copies the records of `old`, if any, to a table of `size` bytes. */
static SkxKnownTerms *
skx_known_grow(SkxKnownTerms *old, uint32 size)
{
	SkxKnownTerms *known =
		MemoryContextAlloc(skx_sessioncache_context(), skx_known_bytes(size));
	uint32		at = 0;

	memset(known, 0, skx_known_bytes(size) - size);
	known->table_bytes = size;
	known->nslots = size / SKX_KNOWN_BYTES_PER_SLOT;
	if (old == NULL)
		return known;
	known->n = old->n;
	known->records_bytes = old->records_bytes;
	memcpy(skx_known_records(known), skx_known_records(old),
		   old->records_bytes);
	while (at < known->records_bytes)
	{
		const char *record = skx_known_records(known) + at;
		const SkxKnownTerm *t = (const SkxKnownTerm *) record;
		SkxLexeme	lexeme = {record + sizeof(*t), t->len};

		*skx_known_slot(known, lexeme, t->hash) = at + 1;
		at += SKX_KNOWN_RECORD_HEAD(t->len) +
			(t->is_found ? sizeof(SkxTerm) : 0);
	}
	return known;
}

/*
 * Makes room for n more records of `bytes` bytes together.  Returns false if
 * there is none even without those that are known.
 */
static bool
skx_known_make_room(SkxSegmentSession *kept, int n, Size bytes)
{
	SkxKnownTerms *known = kept->known_terms;
	uint32		size = known == NULL ? SKX_KNOWN_RECORDS_INIT :
		known->table_bytes;
	uint32		used = known == NULL ? 0 : known->records_bytes;
	uint32		records = known == NULL ? 0 : known->n;
	Size		more;

	while (!skx_known_has_capacity(size, records + n, used + bytes))
		size *= 2;
	more = skx_known_bytes(size) -
		(known == NULL ? 0 : skx_known_bytes(known->table_bytes));
	if (skx_sessioncache_make_room(kept->entry.kind, &kept->entry, more,
								   SKX_KNOWN_UNUSED_MAX))
	{
		kept->known_terms = skx_known_grow(known, size);
		skx_sessioncache_resize(&kept->entry, kept->entry.bytes + more);
		if (known != NULL)
			pfree(known);
		return true;
	}
	if (known == NULL)
		return false;
	memset(known->slots, 0, sizeof(uint32) * known->nslots);
	known->n = known->records_bytes = 0;
	return skx_known_has_capacity(known->table_bytes, n, bytes);
}

static void
skx_known_add(SkxSegmentSession *kept, const SkxLexeme *lexemes,
			  const uint32 *hashes, int n, const SkxTerm *terms)
{
	SkxKnownTerms *known = kept->known_terms;
	Size		bytes = 0;
	int			k;

	for (k = 0; k < n; k++)
		bytes += SKX_KNOWN_RECORD_HEAD(lexemes[k].len) +
			(terms[k].df > 0 ? sizeof(SkxTerm) : 0);
	if ((known == NULL ||
		 !skx_known_has_capacity(known->table_bytes, known->n + n,
								 known->records_bytes + bytes)) &&
		!skx_known_make_room(kept, n, bytes))
		return;
	known = kept->known_terms;
	for (k = 0; k < n; k++)
	{
		uint32	   *slot = skx_known_slot(known, lexemes[k], hashes[k]);
		char	   *record = skx_known_records(known) + known->records_bytes;
		SkxKnownTerm *t = (SkxKnownTerm *) record;

		if (*slot != 0)
			continue;
		t->hash = hashes[k];
		t->len = lexemes[k].len;
		t->is_found = terms[k].df > 0;
		memcpy(t + 1, lexemes[k].bytes, lexemes[k].len);
		*slot = known->records_bytes + 1;
		known->n++;
		known->records_bytes += SKX_KNOWN_RECORD_HEAD(t->len);
		if (!t->is_found)
			continue;
		memcpy(skx_known_records(known) + known->records_bytes, &terms[k],
			   sizeof(SkxTerm));
		known->records_bytes += sizeof(SkxTerm);
	}
}

void
skx_segment_find_all_cached(SkxSegment *const *segs, int nsegs,
							const SkxLexeme *lexemes, int n, SkxTerm **terms)
{
	uint32		hashes[SKX_KNOWN_LEXEMES_MAX];
	SkxSegment **asked;
	SkxTerm   **found;
	int			nasked = 0;
	int			i;

	if (n == 0 || n > SKX_KNOWN_LEXEMES_MAX)
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
		if (skx_known_find_all(segs[i]->session->known_terms, lexemes, hashes,
							   n, terms[i]))
			continue;
		asked[nasked] = segs[i];
		found[nasked++] = terms[i];
	}
	if (nasked > 0)
		skx_segment_find_all(asked, nasked, lexemes, n, found);
	for (i = 0; i < nasked; i++)
		skx_known_add(asked[i]->session, lexemes, hashes, n, found[i]);
	pfree(asked);
	pfree(found);
}
