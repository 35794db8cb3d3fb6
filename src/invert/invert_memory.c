/*
 * invert_memory.c
 *	  Inverts documents in memory: from lexemes by document to documents by
 *	  lexeme.
 *
 * A hash table leads from a lexeme to its term, which appends encoded postings
 * to slices of a byte arena.  A slice that is full links to one twice as
 * large, so that rare terms cost few bytes and frequent ones few links.  There
 * is one allocation per arena chunk, none per term or posting.
 *
 * Each lexeme occurrence is hashed once.  A document's slots and terms are
 * prefetched before they are used, because nearly each would miss the cache.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "compat/compat.h"
#include "invert/invert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

typedef struct SkxInvertTerm
{
	uint32		text;			/* arena addresses: the lexeme, */
	uint32		head;			/* its first slice, */
	uint32		tail;			/* where the next byte goes, */
	uint32		end;			/* where the current slice's bytes end */
	uint32		last;			/* last document */
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
	uint32		term;			/* number plus one; 0: empty */
} SkxInvertSlot;

/* What the slots become when they have served: terms in lexeme order. */
typedef struct SkxInvertOrder
{
	uint64		prefix;			/* first bytes of the lexeme, big-endian */
	uint32		term;
	uint32		reserved;
} SkxInvertOrder;

StaticAssertDecl(sizeof(SkxInvertOrder) == 2 * sizeof(SkxInvertSlot),
				 "a table at most half full has room for the order");

/* Slices of 16 bytes to 8 kB end with the address of the next one. */
#define SKX_SLICE_LEVELS	10
#define SKX_SLICE_SIZE(level)	((uint32) 16 << (level))
#define SKX_SLICE_NEXT(level)	Min((level) + 1, SKX_SLICE_LEVELS - 1)
#define SKX_SLICE_LINK		sizeof(uint32)

/* Slots of the smallest table. */
#define SKX_INVERT_SLOTS	1024

/* A posting is rarely longer. */
#define SKX_INVERT_COPY		16

/* Lexemes of a document that are looked up together. */
#define SKX_INVERT_BATCH	64

struct SkxInverter
{
	MemoryContext context;
	Size		memory;			/* what it should hold at most */

	SkxInvertSlot *slots;
	uint32		nslots;			/* power of two */
	SkxInvertTerm *terms;
	uint32		nterms;
	uint32		terms_size;

	char	  **chunks;			/* of the arena */
	uint32		nchunks;
	uint32		chunks_size;
	int			chunk_bits;
	uint32		free;			/* first free byte of the last chunk */

	/* going through the terms */
	SkxInvertOrder *order;
	uint32		next;
	uint32		left;			/* bytes of the current term not yet read */
	uint32		at;				/* address of the next one */
	uint32		at_end;			/* end of its slice */
	int			at_level;		/* level of its slice */
};

/* Makes tables of the smallest size. */
static void
skx_invert_memory_tables(SkxInverter *inv)
{
	inv->nslots = SKX_INVERT_SLOTS;
	inv->slots = MemoryContextAlloc(inv->context,
									inv->nslots * sizeof(SkxInvertSlot));
	inv->terms_size = inv->nslots / 2;
	inv->terms = MemoryContextAlloc(inv->context, inv->terms_size *
									sizeof(SkxInvertTerm));
}

SkxInverter *
skx_invert_memory_create(Size memory)
{
	SkxInverter *inv = palloc0(sizeof(SkxInverter));

	inv->context = CurrentMemoryContext;
	inv->memory = memory;
	/* chunks of a sixty-fourth of the memory, 32 kB to 1 MB */
	inv->chunk_bits = 15;
	while (inv->chunk_bits < 20 &&
		   ((Size) 1 << inv->chunk_bits) < memory / 64)
		inv->chunk_bits++;
	inv->chunks_size = 16;
	inv->chunks = palloc(inv->chunks_size * sizeof(char *));
	skx_invert_memory_tables(inv);
	skx_invert_memory_reset(inv);
	return inv;
}

/*
 * Gives the arena back: the next documents may need the memory for more terms
 * instead.  Tables that a document with very many lexemes has made too large
 * go as well, or each document from then on would be a run.
 */
void
skx_invert_memory_reset(SkxInverter *inv)
{
	while (inv->nchunks > 0)
		pfree(inv->chunks[--inv->nchunks]);
	if (inv->nslots * sizeof(SkxInvertSlot) +
		inv->terms_size * sizeof(SkxInvertTerm) > inv->memory / 4)
	{
		pfree(inv->slots);
		pfree(inv->terms);
		skx_invert_memory_tables(inv);
	}
	memset(inv->slots, 0, inv->nslots * sizeof(SkxInvertSlot));
	inv->nterms = 0;
	inv->free = (uint32) 1 << inv->chunk_bits;
	inv->order = NULL;
}

Size
skx_invert_memory_used(const SkxInverter *inv)
{
	return ((Size) inv->nchunks << inv->chunk_bits) +
		(Size) inv->nslots * sizeof(SkxInvertSlot) +
		(Size) inv->terms_size * sizeof(SkxInvertTerm);
}

/*
 * As if all lexemes of the document were new, and its postings took twice
 * their space in the document for the slices that they do not fill.
 */
Size
skx_invert_memory_need(const SkxInverter *inv, TSVector value)
{
	Size		chunk = (Size) 1 << inv->chunk_bits;
	Size		bytes = 2 * (Size) VARSIZE(value) +
		value->size * 2 * (Size) SKX_SLICE_SIZE(0);
	uint64		nterms = (uint64) inv->nterms + value->size;
	uint64		size = inv->terms_size;
	Size		need = (Size) inv->nchunks * chunk;

	if (bytes > chunk - inv->free)
		need += TYPEALIGN(chunk, bytes - (chunk - inv->free));
	while (size < nterms)
		size *= 2;
	need += size * (2 * sizeof(SkxInvertSlot) + sizeof(SkxInvertTerm));
	/* the last doubling needs the slots before and after it */
	if (size > inv->terms_size)
		need += size * sizeof(SkxInvertSlot);
	return need;
}

/*
 * The arena
 */

static inline char *
skx_segment_arena(const SkxInverter *inv, uint32 address)
{
	return inv->chunks[address >> inv->chunk_bits] +
		(address & (((uint32) 1 << inv->chunk_bits) - 1));
}

static void
skx_segment_arena_chunk(SkxInverter *inv)
{
	if (inv->nchunks == inv->chunks_size)
	{
		inv->chunks_size *= 2;
		inv->chunks = repalloc(inv->chunks,
							   inv->chunks_size * sizeof(char *));
	}
	if (inv->nchunks >= (uint32) 1 << (32 - inv->chunk_bits))
		elog(ERROR, "more than 4 GB of postings in memory");
	inv->chunks[inv->nchunks] =
		MemoryContextAlloc(inv->context, (Size) 1 << inv->chunk_bits);
	inv->nchunks++;
	inv->free = 0;
}

/* Address of `size` bytes that lie together. */
static inline uint32
skx_segment_arena_take(SkxInverter *inv, uint32 size)
{
	uint32		address;

	if (inv->free + size > (uint32) 1 << inv->chunk_bits)
		skx_segment_arena_chunk(inv);
	address = ((inv->nchunks - 1) << inv->chunk_bits) | inv->free;
	inv->free += size;
	return address;
}

/*
 * Appends bytes to the postings of a term.  SKX_INVERT_COPY bytes can be read
 * from `bytes`, however few there are.
 */
static void
skx_invert_memory_append(SkxInverter *inv, SkxInvertTerm *term,
						  const uint8 *bytes, uint32 n)
{
	term->nbytes += n;
	/* nearly always; a copy of a constant size is two instructions */
	if (n <= SKX_INVERT_COPY && term->end - term->tail >= SKX_INVERT_COPY)
	{
		memcpy(skx_segment_arena(inv, term->tail), bytes, SKX_INVERT_COPY);
		term->tail += n;
		return;
	}
	for (;;)
	{
		uint32		room = Min(n, term->end - term->tail);
		uint32		slice;

		memcpy(skx_segment_arena(inv, term->tail), bytes, room);
		term->tail += room;
		bytes += room;
		n -= room;
		if (n == 0)
			return;
		term->level = SKX_SLICE_NEXT(term->level);
		slice = skx_segment_arena_take(inv, SKX_SLICE_SIZE(term->level));
		memcpy(skx_segment_arena(inv, term->end), &slice, SKX_SLICE_LINK);
		term->tail = slice;
		term->end = slice + SKX_SLICE_SIZE(term->level) - SKX_SLICE_LINK;
	}
}

/*
 * Terms
 */

/* Makes room for as many terms again. */
static void
skx_invert_memory_grow(SkxInverter *inv)
{
	SkxInvertSlot *old = inv->slots;
	uint32		mask = inv->nslots * 2 - 1;
	uint32		i;

	inv->slots = MemoryContextAllocExtended(inv->context,
											(Size) inv->nslots * 2 *
											sizeof(SkxInvertSlot),
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (i = 0; i < inv->nslots; i++)
	{
		uint32		at = old[i].hash & mask;

		if (old[i].term == 0)
			continue;
		while (inv->slots[at].term != 0)
			at = (at + 1) & mask;
		inv->slots[at] = old[i];
	}
	inv->nslots *= 2;
	pfree(old);
	inv->terms_size *= 2;
	inv->terms = repalloc_huge(inv->terms,
							   (Size) inv->terms_size * sizeof(SkxInvertTerm));
}

static SkxInvertTerm *
skx_invert_memory_new_term(SkxInverter *inv, uint32 hash, const char *lexeme,
							int len)
{
	SkxInvertTerm *term;
	uint32		mask;
	uint32		at;

	if (inv->nterms == inv->terms_size)
		skx_invert_memory_grow(inv);
	mask = inv->nslots - 1;
	at = hash & mask;
	while (inv->slots[at].term != 0)
		at = (at + 1) & mask;
	term = &inv->terms[inv->nterms++];
	inv->slots[at].hash = hash;
	inv->slots[at].term = inv->nterms;
	memset(term, 0, sizeof(*term));
	/* an empty lexeme too has an address inside a chunk */
	term->text = skx_segment_arena_take(inv, Max(len, 1));
	memcpy(skx_segment_arena(inv, term->text), lexeme, len);
	term->len = (uint16) len;
	term->last = SKX_NO_DOC;
	term->head = skx_segment_arena_take(inv, SKX_SLICE_SIZE(0));
	term->tail = term->head;
	term->end = term->head + SKX_SLICE_SIZE(0) - SKX_SLICE_LINK;
	return term;
}

static inline SkxInvertTerm *
skx_invert_memory_term(SkxInverter *inv, uint32 hash, const char *lexeme,
						int len)
{
	uint32		mask = inv->nslots - 1;
	uint32		at;

	for (at = hash & mask; inv->slots[at].term != 0; at = (at + 1) & mask)
	{
		SkxInvertTerm *term;

		if (inv->slots[at].hash != hash)
			continue;
		term = &inv->terms[inv->slots[at].term - 1];
		if (term->len == len &&
			memcmp(skx_segment_arena(inv, term->text), lexeme, len) == 0)
			return term;
	}
	return skx_invert_memory_new_term(inv, hash, lexeme, len);
}

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

/* Appends a posting with `n` positions. */
static void
skx_invert_memory_posting(SkxInverter *inv, SkxInvertTerm *term, uint32 doc,
						   const WordEntryPos *positions, int n)
{
	uint8		bytes[SKX_RUN_POSTING_MAX + SKX_INVERT_COPY];
	uint8	   *to = bytes;
	uint64		gap = (uint64) (uint32) (doc - term->last - 1) << 2;
	uint32		labels = 0;
	uint32		before = 0;
	int			i;

	Assert(n <= SKX_TF_MAX);
	for (i = 0; i < n; i++)
		labels |= WEP_GETWEIGHT(positions[i]);
	if (n == 0)
	{
		to = skx_invert_memory_varint(to, gap | 1);
		term->flags |= SKX_TERM_BARE;
	}
	else if (labels != 0)
	{
		to = skx_invert_memory_varint(to, gap | 3);
		to = skx_invert_memory_varint(to, n);
		term->flags |= SKX_TERM_LABELS;
	}
	else if (n == 1)
		to = skx_invert_memory_varint(to, gap);
	else
	{
		to = skx_invert_memory_varint(to, gap | 2);
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
	skx_invert_memory_append(inv, term, bytes, to - bytes);
	term->last = doc;
	term->df++;
	term->npositions += n;
}

uint64
skx_invert_memory_add(SkxInverter *inv, uint32 doc, TSVector value)
{
	const WordEntry *entries = ARRPTR(value);
	const char *texts = STRPTR(value);
	uint32		hashes[SKX_INVERT_BATCH];
	uint64		length = 0;
	int			done;
	int			i;

	for (done = 0; done < value->size; done += SKX_INVERT_BATCH)
	{
		const WordEntry *batch = entries + done;
		int			n = Min(value->size - done, SKX_INVERT_BATCH);

		for (i = 0; i < n; i++)
		{
			hashes[i] = hash_bytes((const unsigned char *)
								   texts + batch[i].pos, batch[i].len);
			__builtin_prefetch(&inv->slots[hashes[i] & (inv->nslots - 1)]);
		}
		for (i = 0; i < n; i++)
		{
			uint32		term = inv->slots[hashes[i] & (inv->nslots - 1)].term;

			if (term != 0)
				__builtin_prefetch(&inv->terms[term - 1]);
		}
		for (i = 0; i < n; i++)
		{
			SkxInvertTerm *term;
			int			npos = POSDATALEN(value, &batch[i]);

			term = skx_invert_memory_term(inv, hashes[i],
										   texts + batch[i].pos,
										   batch[i].len);
			skx_invert_memory_posting(inv, term, doc,
									   POSDATAPTR(value, &batch[i]), npos);
			length += Max(npos, 1);
		}
	}
	return length;
}

/*
 * Going through the terms
 */

static int
skx_invert_memory_compare(const void *a, const void *b, void *arg)
{
	const SkxInvertOrder *x = a;
	const SkxInvertOrder *y = b;
	SkxInverter *inv = arg;
	const SkxInvertTerm *s;
	const SkxInvertTerm *t;
	int			order;

	CHECK_FOR_INTERRUPTS();
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	s = &inv->terms[x->term];
	t = &inv->terms[y->term];
	order = memcmp(skx_segment_arena(inv, s->text),
				   skx_segment_arena(inv, t->text), Min(s->len, t->len));
	return order != 0 ? order : (int) s->len - (int) t->len;
}

void
skx_invert_memory_sort(SkxInverter *inv)
{
	uint32		i;
	int			j;

	/* the table is at most half full and no longer needed */
	Assert(inv->nterms <= inv->nslots / 2);
	inv->order = (SkxInvertOrder *) inv->slots;
	for (i = 0; i < inv->nterms; i++)
	{
		const SkxInvertTerm *term = &inv->terms[i];
		const uint8 *text = (const uint8 *) skx_segment_arena(inv, term->text);
		uint64		prefix = 0;

		for (j = 0; j < 8; j++)
			prefix = prefix << 8 | (j < term->len ? text[j] : 0);
		inv->order[i].prefix = prefix;
		inv->order[i].term = i;
	}
	qsort_arg(inv->order, inv->nterms, sizeof(SkxInvertOrder),
			  skx_invert_memory_compare, inv);
	inv->next = 0;
}

bool
skx_invert_memory_next(SkxInverter *inv, SkxRunTerm *run,
						const char **lexeme)
{
	SkxInvertTerm *term;

	if (inv->next == inv->nterms)
		return false;
	term = &inv->terms[inv->order[inv->next++].term];
	inv->left = term->nbytes;
	inv->at = term->head;
	inv->at_level = 0;
	inv->at_end = inv->at + SKX_SLICE_SIZE(0) - SKX_SLICE_LINK;
	memset(run, 0, sizeof(*run));
	run->nbytes = term->nbytes;
	run->npositions = term->npositions;
	run->df = term->df;
	run->last = term->last;
	run->len = term->len;
	run->flags = term->flags;
	*lexeme = skx_segment_arena(inv, term->text);
	return true;
}

uint32
skx_invert_memory_read(SkxInverter *inv, uint8 *to, uint32 n)
{
	uint32		done = 0;

	n = Min(n, inv->left);
	while (done < n)
	{
		uint32		size = Min(n - done, inv->at_end - inv->at);

		memcpy(to + done, skx_segment_arena(inv, inv->at), size);
		done += size;
		inv->at += size;
		inv->left -= size;
		if (inv->at == inv->at_end && inv->left > 0)
		{
			inv->at_level = SKX_SLICE_NEXT(inv->at_level);
			memcpy(&inv->at, skx_segment_arena(inv, inv->at_end),
				   SKX_SLICE_LINK);
			inv->at_end = inv->at + SKX_SLICE_SIZE(inv->at_level) -
				SKX_SLICE_LINK;
		}
	}
	return n;
}
