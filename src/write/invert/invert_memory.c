/*
 * invert_memory.c
 *	  Inverts documents in memory: from lexemes by document to documents by
 *	  lexeme.
 *
 * A hash table leads from a lexeme to its term.  A term appends encoded
 * postings to slices of a byte arena.  A full slice links to one that is twice
 * as large, so that rare terms cost few bytes and frequent ones few links.
 * There is one allocation for each chunk of the arena, and none for a term or
 * posting.
 *
 * Most time goes into waiting for memory.  So a term lies in the arena with
 * its lexeme and its first slice behind it, mostly in one cache line.  The
 * lexemes of a document go together through three stages: slot, term, end of
 * its postings.  Each stage prefetches what the next one reads.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "index/column/column_value.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"
#include "write/invert/invert.h"

/* A term; its lexeme and its first slice follow. */
typedef struct SkxInvertTerm
{
	uint32		next_byte;		/* address in the arena of the next byte */
	uint32		end;			/* address where the current slice's bytes end */
	uint32		last_doc;		/* last document */
	uint32		df;
	uint32		npositions;
	uint32		nbytes;			/* of its postings */
	uint16		len;
	uint8		level;			/* of the current slice */
	uint8		flags;
} SkxInvertTerm;

typedef struct SkxInvertSlot
{
	uint32		hash;
	uint32		term;			/* address, SKX_INVERT_SLOT_USED set; 0: empty */
} SkxInvertSlot;

/* An address is that of a cache line; its lowest bit is free. */
#define SKX_INVERT_SLOT_USED	1

/* A term in lexeme order.  The memory of the slots is reused for these. */
typedef struct SkxInvertOrder
{
	uint64		prefix;			/* first bytes of the lexeme, big-endian */
	uint32		term;			/* address */
	uint32		reserved;
} SkxInvertOrder;

StaticAssertDecl(sizeof(SkxInvertOrder) == 2 * sizeof(SkxInvertSlot),
				 "a table at most half full has room for the order");

/*
 * Slices of 32 bytes to 8 kB end with the address of the next one.  The first
 * slice, level 0, is the rest of the term's cache lines.
 */
#define SKX_SLICE_LEVELS	10
#define SKX_SLICE_SIZE(level)	((uint32) 16 << (level))
#define SKX_SLICE_NEXT_LEVEL(level)	Min((level) + 1, SKX_SLICE_LEVELS - 1)
#define SKX_SLICE_LINK_BYTES		sizeof(uint32)

/* Terms and chunks begin at multiples of this: a cache line. */
#define SKX_INVERT_CACHE_LINE		64

/*
 * Powers of two between which the size of chunks lies; it is about a sixteenth
 * of the memory.  Chunks count only as far as they are written to, because the
 * rest takes no memory yet.
 */
#define SKX_INVERT_CHUNK_MIN	15	/* 32 kB */
#define SKX_INVERT_CHUNK_MAX	23	/* 8 MB */

/* Size of a huge page.  Areas of at least two of them lie on huge pages. */
#define SKX_INVERT_HUGE_PAGE		((Size) 2 * 1024 * 1024)

/* Least bytes of the first slice. */
#define SKX_INVERT_FIRST_SLICE_MIN	16

/* Bytes of a term with its lexeme and its first slice. */
#define SKX_INVERT_TERM_SIZE(len) \
	TYPEALIGN(SKX_INVERT_CACHE_LINE, \
			  sizeof(SkxInvertTerm) + (len) + SKX_INVERT_FIRST_SLICE_MIN)

/* Slots of the smallest table. */
#define SKX_INVERT_SLOTS_MIN	1024

/* Lexemes of a document that are looked up together. */
#define SKX_INVERT_BATCH_LEXEMES	64

/* Terms that are prefetched ahead when all are read. */
#define SKX_INVERT_PREFETCH	16

typedef struct SkxInvertChunk
{
	char	   *bytes;			/* aligned */
	void	   *allocated;
} SkxInvertChunk;

struct SkxInverter
{
	MemoryContext context;
	Size		memory;			/* bytes that it should take at most */
	uint64		hash_secret;	/* of the hash */

	SkxInvertSlot *slots;
	void	   *slots_allocated;
	uint32		nslots;			/* power of two, at least twice nterms */
	uint32		nterms;

	SkxInvertChunk *chunks;		/* of the arena */
	uint32		nchunks;
	uint32		chunks_size;
	int			chunk_bits;
	uint32		free_offset;	/* first free byte of the last chunk */
	uint32		free_half_line; /* address of a free half line; 0: there is
								 * none */

	/* going through the terms */
	SkxInvertOrder *order;
	uint32		next_term;
	uint32		term_bytes_left;	/* bytes of the current term not yet read */
	uint32		read_address;	/* address of the next byte */
	uint32		slice_end;		/* end of its slice */
	int			slice_level;	/* level of its slice */
};

/*
 * Words of lexemes
 */

#ifdef WORDS_BIGENDIAN
#define SKX_INVERT_BE64(x)	(x)
#define SKX_INVERT_LE64(x)	pg_bswap64(x)
#define SKX_INVERT_PREFIX_MASK(n)	(~UINT64CONST(0) << (64 - 8 * (n)))
#else
#define SKX_INVERT_BE64(x)	pg_bswap64(x)
#define SKX_INVERT_LE64(x)	(x)
#define SKX_INVERT_PREFIX_MASK(n)	(~UINT64CONST(0) >> (64 - 8 * (n)))
#endif

/* Masks for the first n bytes of a word in memory, n from 0 to 8. */
static const uint64 skx_invert_masks[] = {
	0, SKX_INVERT_PREFIX_MASK(1), SKX_INVERT_PREFIX_MASK(2),
	SKX_INVERT_PREFIX_MASK(3), SKX_INVERT_PREFIX_MASK(4),
	SKX_INVERT_PREFIX_MASK(5), SKX_INVERT_PREFIX_MASK(6),
	SKX_INVERT_PREFIX_MASK(7), SKX_INVERT_PREFIX_MASK(8)
};

/*
 * Returns the n bytes at `text`, at most 8, and zeros behind them.  Reads
 * nothing at or past `limit`, which may be right behind the text.
 */
static inline uint64
skx_invert_load_bytes(const char *text, int n, const char *limit)
{
	uint64		word = 0;

	if (unlikely(limit - text < sizeof(word)))
	{
		memcpy(&word, text, Min(n, sizeof(word)));
		return word;
	}
	memcpy(&word, text, sizeof(word));
	return word & skx_invert_masks[Min(n, sizeof(word))];
}

/* Combines both halves of a product into one word. */
static inline uint64
skx_invert_fold_product(uint64 a, uint64 b)
{
#ifdef HAVE_INT128
	uint128		product = (uint128) a * b;

	return (uint64) product ^ (uint64) (product >> 64);
#else
	uint64		h = a * b;

	return h ^ (h >> 32) ^ (a >> 32) * (b >> 32);
#endif
}

/*
 * Returns the hash of a lexeme, which depends on a secret, odd number.  So the
 * lexemes that have the same hash cannot be predicted, and a table is not
 * slower for texts that were made up for it.
 */
static inline uint32
skx_invert_hash(const SkxInverter *inv, const char *text, int len,
				const char *limit)
{
	uint64		h = inv->hash_secret ^ (uint64) len;

	for (;;)
	{
		h = skx_invert_fold_product(h ^ skx_invert_load_bytes(text, len, limit), inv->hash_secret);
		if (len <= 8)
			break;
		text += 8;
		len -= 8;
	}
	return (uint32) ((h * UINT64CONST(0xD6E8FEB86659FD93)) >> 32);
}

/*
 * Addresses
 */

static inline char *
skx_invert_arena(const SkxInverter *inv, uint32 address)
{
	return inv->chunks[address >> inv->chunk_bits].bytes +
		(address & (((uint32) 1 << inv->chunk_bits) - 1));
}

static inline SkxInvertTerm *
skx_invert_memory_address(const SkxInverter *inv, uint32 address)
{
	return (SkxInvertTerm *) skx_invert_arena(inv, address);
}

static inline char *
skx_invert_memory_lexeme(const SkxInvertTerm *term)
{
	return (char *) (term + 1);
}

/*
 * Returns true if this is the lexeme of the term.  Reads past the end of the
 * term's lexeme are in its slice.
 */
static inline bool
skx_invert_memory_is_lexeme(const SkxInvertTerm *term, const char *lexeme,
							int len, const char *limit)
{
	const char *text = skx_invert_memory_lexeme(term);
	int			i = 0;

	if (term->len != len)
		return false;
	do
	{
		uint64		word;

		memcpy(&word, text + i, sizeof(word));
		if (((skx_invert_load_bytes(lexeme + i, len - i, limit) ^ word) &
			 skx_invert_masks[Min(len - i, 8)]) != 0)
			return false;
		i += 8;
	} while (i < len);
	return true;
}

/*
 * The inverter
 */

/*
 * Allocates memory that begins with a cache line; *allocated is what to free.
 * With `huge`, an area that is large enough lies on huge pages, if the system
 * has some.  Accesses go anywhere in the area, and with small pages the
 * translation of addresses would take longer than the reads.
 */
static void *
skx_invert_memory_alloc_aligned(SkxInverter *inv, Size size, bool huge,
								void **allocated)
{
	Size		align = SKX_INVERT_CACHE_LINE;
	void	   *area;

	huge = huge && size >= 2 * SKX_INVERT_HUGE_PAGE;
	if (huge)
		align = SKX_INVERT_HUGE_PAGE;
	*allocated = MemoryContextAllocHuge(inv->context, size + align);
	area = (void *) TYPEALIGN(align, *allocated);
#ifdef MADV_HUGEPAGE
	/* only a hint, which a system without huge pages refuses */
	if (huge)
		(void) madvise(area, size, MADV_HUGEPAGE);
#endif
	return area;
}

/* Makes an empty table. */
static void
skx_invert_memory_table(SkxInverter *inv, uint32 nslots)
{
	Size		size = (Size) nslots * sizeof(SkxInvertSlot);

	inv->slots = skx_invert_memory_alloc_aligned(inv, size, true,
												 &inv->slots_allocated);
	inv->nslots = nslots;
	memset(inv->slots, 0, size);
}

SkxInverter *
skx_invert_memory_create(Size memory)
{
	SkxInverter *inv = palloc0(sizeof(SkxInverter));

	inv->context = CurrentMemoryContext;
	inv->memory = memory;
	if (!pg_strong_random(&inv->hash_secret, sizeof(inv->hash_secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random number")));
	inv->hash_secret |= 1;
	inv->chunk_bits = SKX_INVERT_CHUNK_MIN;
	while (inv->chunk_bits < SKX_INVERT_CHUNK_MAX &&
		   ((Size) 1 << inv->chunk_bits) < memory / 16)
		inv->chunk_bits++;
	inv->chunks_size = 16;
	inv->chunks = palloc(inv->chunks_size * sizeof(SkxInvertChunk));
	skx_invert_memory_table(inv, SKX_INVERT_SLOTS_MIN);
	skx_invert_memory_reset(inv);
	return inv;
}

/*
 * Frees the arena, because the next documents may need the memory for more
 * slots.  A table that a document with very many lexemes has made too large
 * goes as well.  Otherwise each later document would become a run.
 */
void
skx_invert_memory_reset(SkxInverter *inv)
{
	while (inv->nchunks > 0)
		pfree(inv->chunks[--inv->nchunks].allocated);
	if (inv->nslots * sizeof(SkxInvertSlot) > inv->memory / 4)
	{
		pfree(inv->slots_allocated);
		skx_invert_memory_table(inv, SKX_INVERT_SLOTS_MIN);
	}
	else
		memset(inv->slots, 0, inv->nslots * sizeof(SkxInvertSlot));
	inv->nterms = 0;
	inv->free_offset = (uint32) 1 << inv->chunk_bits;
	inv->free_half_line = 0;
	inv->order = NULL;
}

/* Returns the bytes of the arena that are written to. */
static Size
skx_invert_arena_used(const SkxInverter *inv)
{
	if (inv->nchunks == 0)
		return 0;
	return ((Size) (inv->nchunks - 1) << inv->chunk_bits) + inv->free_offset;
}

Size
skx_invert_memory_used(const SkxInverter *inv)
{
	return skx_invert_arena_used(inv) +
		(Size) inv->nslots * sizeof(SkxInvertSlot);
}

/*
 * Assumes that all lexemes of the document are new, and that its postings take
 * twice their bytes in the document, because slices are not full.
 */
Size
skx_invert_memory_document_bytes(const SkxInverter *inv, TSVector value)
{
	Size		need = skx_invert_arena_used(inv) +
		2 * (Size) VARSIZE(value) +
		value->size *
		((Size) SKX_INVERT_TERM_SIZE(0) + SKX_INVERT_FIRST_SLICE_MIN);
	uint64		nterms = (uint64) inv->nterms + value->size;
	uint64		size = inv->nslots;

	while (size / 2 < nterms)
		size *= 2;
	need += size * sizeof(SkxInvertSlot);
	/* during the last doubling, old and new slots exist */
	if (size > inv->nslots)
		need += size / 2 * sizeof(SkxInvertSlot);
	return need;
}

/*
 * The arena
 */

static void
skx_invert_arena_chunk(SkxInverter *inv)
{
	SkxInvertChunk *chunk;

	if (inv->nchunks == inv->chunks_size)
	{
		inv->chunks_size *= 2;
		inv->chunks = repalloc(inv->chunks,
							   inv->chunks_size * sizeof(SkxInvertChunk));
	}
	if (inv->nchunks >= (uint32) 1 << (32 - inv->chunk_bits))
		elog(ERROR, "more than 4 GB of postings in memory");
	chunk = &inv->chunks[inv->nchunks];
	/* the first chunk may stay nearly empty */
	chunk->bytes = skx_invert_memory_alloc_aligned(inv,
												   (Size) 1 << inv->chunk_bits,
												   inv->nchunks > 0,
												   &chunk->allocated);
	inv->nchunks++;
	inv->free_offset = 0;
}

/*
 * Returns the address of `size` bytes that lie together: half a cache line, or
 * whole ones, aligned to a line.
 */
static uint32
skx_invert_arena_alloc(SkxInverter *inv, uint32 size)
{
	uint32		address;

	if (size < SKX_INVERT_CACHE_LINE && inv->free_half_line != 0)
	{
		address = inv->free_half_line;
		inv->free_half_line = 0;
		return address;
	}
	if (inv->free_offset + size > (uint32) 1 << inv->chunk_bits)
		skx_invert_arena_chunk(inv);
	address = ((inv->nchunks - 1) << inv->chunk_bits) | inv->free_offset;
	inv->free_offset += TYPEALIGN(SKX_INVERT_CACHE_LINE, size);
	if (size < SKX_INVERT_CACHE_LINE)
		inv->free_half_line = address + size;
	return address;
}

/* Gives a term with a full slice its next one. */
static void
skx_invert_memory_slice(SkxInverter *inv, SkxInvertTerm *term)
{
	uint32		slice;

	term->level = SKX_SLICE_NEXT_LEVEL(term->level);
	slice = skx_invert_arena_alloc(inv, SKX_SLICE_SIZE(term->level));
	memcpy(skx_invert_arena(inv, term->end), &slice, SKX_SLICE_LINK_BYTES);
	term->next_byte = slice;
	term->end = slice + SKX_SLICE_SIZE(term->level) - SKX_SLICE_LINK_BYTES;
}

/* Appends bytes to the postings of a term. */
static void
skx_invert_memory_append(SkxInverter *inv, SkxInvertTerm *term,
						 const uint8 *bytes, uint32 n)
{
	term->nbytes += n;
	for (;;)
	{
		uint32		room = Min(n, term->end - term->next_byte);

		memcpy(skx_invert_arena(inv, term->next_byte), bytes, room);
		term->next_byte += room;
		bytes += room;
		n -= room;
		if (n == 0)
			return;
		skx_invert_memory_slice(inv, term);
	}
}

/*
 * Terms
 */

/* Doubles the slots. */
static void
skx_invert_memory_grow(SkxInverter *inv)
{
	const SkxInvertSlot *old = inv->slots;
	void	   *allocated = inv->slots_allocated;
	uint32		nold = inv->nslots;
	uint32		mask = nold * 2 - 1;
	uint32		i;

	skx_invert_memory_table(inv, nold * 2);
	for (i = 0; i < nold; i++)
	{
		uint32		at = old[i].hash & mask;

		if (old[i].term == 0)
			continue;
		while (inv->slots[at].term != 0)
			at = (at + 1) & mask;
		inv->slots[at] = old[i];
	}
	pfree(allocated);
}

static SkxInvertTerm *
skx_invert_memory_new_term(SkxInverter *inv, uint32 hash, const char *lexeme,
						   int len)
{
	uint32		size = SKX_INVERT_TERM_SIZE(len);
	SkxInvertTerm *term;
	uint32		address;
	uint32		mask;
	uint32		at;

	if (inv->nterms == inv->nslots / 2)
		skx_invert_memory_grow(inv);
	mask = inv->nslots - 1;
	at = hash & mask;
	while (inv->slots[at].term != 0)
		at = (at + 1) & mask;
	address = skx_invert_arena_alloc(inv, size);
	inv->slots[at].hash = hash;
	inv->slots[at].term = address | SKX_INVERT_SLOT_USED;
	inv->nterms++;
	term = skx_invert_memory_address(inv, address);
	memset(term, 0, sizeof(*term));
	term->len = (uint16) len;
	term->last_doc = SKX_NO_DOC;
	term->next_byte = address + sizeof(*term) + len;
	term->end = address + size - SKX_SLICE_LINK_BYTES;
	memcpy(skx_invert_memory_lexeme(term), lexeme, len);
	return term;
}

/* Returns the term of a lexeme, which it creates if there is none. */
static SkxInvertTerm *
skx_invert_memory_term(SkxInverter *inv, uint32 hash, const char *lexeme,
					   int len, const char *limit)
{
	uint32		mask = inv->nslots - 1;
	uint32		at;

	for (at = hash & mask; inv->slots[at].term != 0; at = (at + 1) & mask)
	{
		SkxInvertTerm *term;

		if (inv->slots[at].hash != hash)
			continue;
		term = skx_invert_memory_address(inv,
										 inv->slots[at].term &
										 ~SKX_INVERT_SLOT_USED);
		if (skx_invert_memory_is_lexeme(term, lexeme, len, limit))
			return term;
	}
	return skx_invert_memory_new_term(inv, hash, lexeme, len);
}

/*
 * Returns the slot's `term` of the first term with this hash, nearly always
 * the right one; 0: there is none.
 */
static inline uint32
skx_invert_memory_probe(const SkxInverter *inv, uint32 hash)
{
	uint32		mask = inv->nslots - 1;
	uint32		at = hash & mask;

	while (inv->slots[at].term != 0 && inv->slots[at].hash != hash)
		at = (at + 1) & mask;
	return inv->slots[at].term;
}

/*
 * Postings
 */

static inline uint8 *
skx_invert_memory_varint(uint8 *to, uint64 v)
{
	while (v >= 0x80)
	{
		*to++ = (uint8) (v | 0x80);
		v >>= 7;
	}
	*to++ = (uint8) v;
	return to;
}

/*
 * Encodes a posting with one position and label D, the most frequent kind.  It
 * has no branches, because the length cannot be predicted.  Returns at most 7
 * bytes, the first one in the lowest bits, and sets *size to their number.
 */
static inline uint64
skx_invert_memory_put_simple(uint32 gap, uint32 position, int *size)
{
	uint64		v = (uint64) gap << 2;
	uint64		p = (position - 1) & 0x3FFF;
	int			nv = (64 + 6 - __builtin_clzll(v | 1)) / 7;
	int			np = 1 + (p >= 0x80);

	v = (v & 0x7F) | (v & 0x3F80) << 1 | (v & 0x1FC000) << 2 |
		(v & 0xFE00000) << 3 | (v & UINT64CONST(0x7F0000000)) << 4;
	v |= UINT64CONST(0x80808080) & (((uint64) 1 << (8 * (nv - 1))) - 1);
	p = (p & 0x7F) | (p & 0x3F80) << 1 | (uint64) (np - 1) << 7;
	*size = nv + np;
	return v | p << (8 * nv);
}

/*
 * Writes a posting of any form, in at most SKX_RUN_POSTING_BYTES_MAX bytes.
 * Returns the end of these.
 */
static uint8 *
skx_invert_memory_put_posting(uint8 *to, SkxInvertTerm *term, uint32 gap,
							  const WordEntryPos *positions, int n)
{
	uint64		v = (uint64) gap << 2;
	uint32		labels = 0;
	uint32		before = 0;
	int			i;

	for (i = 0; i < n; i++)
		labels |= WEP_GETWEIGHT(positions[i]);
	if (n == 0)
	{
		to = skx_invert_memory_varint(to, v | 1);
		term->flags |= SKX_TERM_NO_POSITIONS;
	}
	else if (labels != 0)
	{
		to = skx_invert_memory_varint(to, v | 3);
		to = skx_invert_memory_varint(to, n);
		term->flags |= SKX_TERM_LABELS;
	}
	else if (n == 1)
		to = skx_invert_memory_varint(to, v);
	else
	{
		to = skx_invert_memory_varint(to, v | 2);
		to = skx_invert_memory_varint(to, n);
	}
	for (i = 0; i < n; i++)
	{
		uint32		position = WEP_GETPOS(positions[i]);
		uint32		delta = (position - before - 1) & 0x3FFF;

		if (labels != 0)
			delta = delta << 2 | WEP_GETWEIGHT(positions[i]);
		to = skx_invert_memory_varint(to, delta);
		before = position;
	}
	return to;
}

static pg_noinline void
skx_invert_memory_too_large(uint32 doc, int n)
{
	elog(ERROR, "posting of document %u with %d positions does not follow the one before",
		 doc, n);
}

/* Appends a posting with n positions. */
static inline void
skx_invert_memory_posting(SkxInverter *inv, SkxInvertTerm *term, uint32 doc,
						  const WordEntryPos *positions, int n)
{
	uint32		gap = doc - term->last_doc - 1;
	uint32		room = term->end - term->next_byte;

	/* if the document does not come after the last one, the gap is negative */
	if (unlikely(gap > SKX_DOC_MAX || n > SKX_TF_MAX))
		skx_invert_memory_too_large(doc, n);
	term->last_doc = doc;
	term->df++;
	term->npositions += n;
	if (likely(n == 1 && room >= sizeof(uint64) &&
			   WEP_GETWEIGHT(positions[0]) == 0))
	{
		int			size;
		uint64		bytes =
			skx_invert_memory_put_simple(gap, WEP_GETPOS(positions[0]), &size);

		bytes = SKX_INVERT_LE64(bytes);
		memcpy(skx_invert_arena(inv, term->next_byte), &bytes, sizeof(bytes));
		term->next_byte += size;
		term->nbytes += size;
	}
	else if (room >= SKX_VARINT64_MAX + SKX_VARINT32_MAX + 3 * n)
	{
		uint8	   *bytes = (uint8 *) skx_invert_arena(inv, term->next_byte);
		uint32		size = skx_invert_memory_put_posting(bytes, term, gap,
														 positions, n) - bytes;

		term->next_byte += size;
		term->nbytes += size;
	}
	else
	{
		uint8		bytes[SKX_RUN_POSTING_BYTES_MAX];

		skx_invert_memory_append(inv, term, bytes,
								 skx_invert_memory_put_posting(bytes, term,
															   gap, positions,
															   n) -
								 bytes);
	}
}

/*
 * Finds the terms of n lexemes, at most SKX_INVERT_BATCH_LEXEMES, and
 * prefetches the ends of their postings.  `limit` is the end of the document's
 * bytes.
 */
static void
skx_invert_memory_find(SkxInverter *inv, const WordEntry *entries, int n,
					   const char *texts, const char *limit,
					   SkxInvertTerm **terms)
{
	uint32		hashes[SKX_INVERT_BATCH_LEXEMES];
	uint32		found[SKX_INVERT_BATCH_LEXEMES];
	int			i;

	for (i = 0; i < n; i++)
	{
		hashes[i] = skx_invert_hash(inv, texts + entries[i].pos,
									entries[i].len, limit);
		__builtin_prefetch(&inv->slots[hashes[i] & (inv->nslots - 1)]);
	}
	for (i = 0; i < n; i++)
	{
		found[i] = skx_invert_memory_probe(inv, hashes[i]);
		if (found[i] != 0)
			__builtin_prefetch(skx_invert_arena(inv, found[i]));
	}
	for (i = 0; i < n; i++)
	{
		const char *lexeme = texts + entries[i].pos;
		int			len = entries[i].len;

		if (found[i] != 0)
		{
			terms[i] = skx_invert_memory_address(inv,
												 found[i] &
												 ~SKX_INVERT_SLOT_USED);
			if (skx_invert_memory_is_lexeme(terms[i], lexeme, len, limit))
			{
				__builtin_prefetch(skx_invert_arena(inv, terms[i]->next_byte));
				continue;
			}
		}
		terms[i] = skx_invert_memory_term(inv, hashes[i], lexeme, len,
										  limit);
	}
}

uint64
skx_invert_memory_add(SkxInverter *inv, uint32 doc, TSVector value)
{
	const WordEntry *entries = ARRPTR(value);
	const char *limit = (const char *) value + VARSIZE(value);
	uint64		length = 0;
	int			done;
	int			i;

	for (done = 0; done < value->size; done += SKX_INVERT_BATCH_LEXEMES)
	{
		const WordEntry *batch = entries + done;
		int			n = Min(value->size - done, SKX_INVERT_BATCH_LEXEMES);
		SkxInvertTerm *terms[SKX_INVERT_BATCH_LEXEMES];

		CHECK_FOR_INTERRUPTS();
		skx_invert_memory_find(inv, batch, n, STRPTR(value), limit, terms);
		for (i = 0; i < n; i++)
		{
			int			npos = POSDATALEN(value, &batch[i]);

			skx_invert_memory_posting(inv, terms[i], doc,
									  POSDATAPTR(value, &batch[i]), npos);
			length += Max(npos, 1);
		}
	}
	/* each value was counted as a lexeme without positions */
	return length - skx_column_count_values(value);
}

/* Reading the terms */

static inline int
skx_invert_memory_compare(const SkxInvertOrder *x, const SkxInvertOrder *y,
						  const SkxInverter *inv)
{
	const SkxInvertTerm *s;
	const SkxInvertTerm *t;
	int			order;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	s = skx_invert_memory_address(inv, x->term);
	t = skx_invert_memory_address(inv, y->term);
	order = memcmp(skx_invert_memory_lexeme(s), skx_invert_memory_lexeme(t),
				   Min(s->len, t->len));
	return order != 0 ? order : (int) s->len - (int) t->len;
}

#define ST_SORT skx_invert_memory_order
#define ST_ELEMENT_TYPE SkxInvertOrder
#define ST_COMPARE(a, b, inv) skx_invert_memory_compare(a, b, inv)
#define ST_COMPARE_ARG_TYPE const SkxInverter
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Reuses the memory of the table for the order.  First the addresses of all
 * terms move to its beginning.  Then they become elements of the order, which
 * take twice the space, from the last one to the first.
 */
void
skx_invert_memory_sort(SkxInverter *inv)
{
	uint32	   *addresses = (uint32 *) inv->slots;
	uint32		n = 0;
	uint32		i;

	Assert(inv->nterms <= inv->nslots / 2);
	for (i = 0; i < inv->nslots; i++)
	{
		uint32		term = inv->slots[i].term;

		if (term != 0)
			addresses[n++] = term & ~SKX_INVERT_SLOT_USED;
	}
	Assert(n == inv->nterms);
	inv->order = (SkxInvertOrder *) inv->slots;
	for (i = n; i-- > 0;)
	{
		uint32		address = addresses[i];
		const SkxInvertTerm *term = skx_invert_memory_address(inv, address);
		const char *text = skx_invert_memory_lexeme(term);

		if (i >= SKX_INVERT_PREFETCH)
			__builtin_prefetch(skx_invert_arena(inv, addresses[i - SKX_INVERT_PREFETCH]));
		inv->order[i].prefix =
			SKX_INVERT_BE64(skx_invert_load_bytes(text, term->len,
												  text + sizeof(uint64)));
		inv->order[i].term = address;
	}
	skx_invert_memory_order(inv->order, inv->nterms, inv);
	inv->next_term = 0;
}

/* Returns where the first slice of the term at `address` ends. */
static inline uint32
skx_invert_memory_first_end(const SkxInvertTerm *term, uint32 address)
{
	return address + SKX_INVERT_TERM_SIZE(term->len) - SKX_SLICE_LINK_BYTES;
}

/* Returns the address of the slice behind the one that ends at `end`. */
static inline uint32
skx_invert_next_slice(const SkxInverter *inv, uint32 end)
{
	uint32		slice;

	memcpy(&slice, skx_invert_arena(inv, end), SKX_SLICE_LINK_BYTES);
	return slice;
}

/*
 * Returns the address of the next term, and prefetches for terms that come
 * soon.  The lines of a term are prefetched first.  Its second slice follows
 * when it is nearer and its lines have arrived.  (GCC drops calls of functions
 * that only prefetch.)
 */
static inline uint32
skx_invert_memory_prefetch_term(const SkxInverter *inv)
{
	uint64		next = inv->next_term;

	if (next + SKX_INVERT_PREFETCH < inv->nterms)
		__builtin_prefetch(skx_invert_arena(inv, inv->order[next + SKX_INVERT_PREFETCH].term));
	if (next + SKX_INVERT_PREFETCH / 2 < inv->nterms)
	{
		uint32		address = inv->order[next + SKX_INVERT_PREFETCH / 2].term;
		const SkxInvertTerm *term = skx_invert_memory_address(inv, address);

		if (term->level > 0)
			__builtin_prefetch(skx_invert_arena(inv, skx_invert_next_slice(inv, skx_invert_memory_first_end(term, address))));
	}
	return inv->order[inv->next_term].term;
}

bool
skx_invert_memory_next(SkxInverter *inv, SkxRunTerm *run,
					   const char **lexeme)
{
	SkxInvertTerm *term;
	uint32		address;

	if (inv->next_term == inv->nterms)
		return false;
	address = skx_invert_memory_prefetch_term(inv);
	inv->next_term++;
	term = skx_invert_memory_address(inv, address);
	inv->term_bytes_left = term->nbytes;
	inv->read_address = address + sizeof(*term) + term->len;
	inv->slice_level = 0;
	inv->slice_end = skx_invert_memory_first_end(term, address);
	memset(run, 0, sizeof(*run));
	run->nbytes = term->nbytes;
	run->npositions = term->npositions;
	run->df = term->df;
	run->last_doc = term->last_doc;
	run->len = term->len;
	run->flags = term->flags;
	*lexeme = skx_invert_memory_lexeme(term);
	return true;
}

/* Moves to the next slice, and prefetches its end. */
static void
skx_invert_memory_read_slice(SkxInverter *inv)
{
	inv->slice_level = SKX_SLICE_NEXT_LEVEL(inv->slice_level);
	inv->read_address = skx_invert_next_slice(inv, inv->slice_end);
	inv->slice_end = inv->read_address + SKX_SLICE_SIZE(inv->slice_level) -
		SKX_SLICE_LINK_BYTES;
	__builtin_prefetch(skx_invert_arena(inv, inv->slice_end));
}

uint32
skx_invert_memory_read(SkxInverter *inv, uint8 *to, uint32 n)
{
	uint32		done = 0;

	n = Min(n, inv->term_bytes_left);
	while (done < n)
	{
		uint32		size = Min(n - done, inv->slice_end - inv->read_address);

		memcpy(to + done, skx_invert_arena(inv, inv->read_address), size);
		done += size;
		inv->read_address += size;
		inv->term_bytes_left -= size;
		if (inv->read_address == inv->slice_end && inv->term_bytes_left > 0)
			skx_invert_memory_read_slice(inv);
	}
	return n;
}
