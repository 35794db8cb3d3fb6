/*
 * query_places.h
 *	  A phrase with prefixes: which documents it may match, and where its
 *	  prefixes are in them.
 */
#ifndef SKX_QUERY_PLACES_H
#define SKX_QUERY_PLACES_H

#include "port/pg_bitutils.h"
#include "read/query/query_internal.h"

/*
 * Where matches of the phrase may end in a document, by their last six bits; a
 * place of an operand tells of one of them, if operands follow each other at
 * known distances.
 */
typedef uint64 SkxPlaceEnds;
#define SKX_PLACE_BITS		64

/* How an item of the phrase is bound to the others (query_offsets.c). */
struct SkxPlaceUse
{
	bool		required;		/* each match has it */
	bool		known;			/* a place of it is `before` the end, */
	uint8		before;			/* modulo SKX_PLACE_BITS */
	uint8		labels;			/* set of a place; 0: any */
};

/* All operands of one lexeme or prefix. */
typedef struct SkxPlaceWord
{
	const char *lexeme;
	int			len;
	bool		prefix;
	SkxTerm		term;			/* without prefix; df 0: it is not there */
	int			nuses;
	SkxPlaceUse *uses;
	uint64		postings;		/* of all lexemes, about */
	int64		n;				/* its places that matter, by document */
	int64		room;
	int64		next;			/* those before it are of earlier documents */
	SkxOccurrence *places;
} SkxPlaceWord;

/*
 * The scope is some documents of [from, until), with numbers from 0: those that
 * have all words the phrase requires, or those that were asked about.
 */
struct SkxPlaces
{
	SkxSegment *seg;
	MemoryContext context;		/* what lists allocate outlives a question */
	const SkxReads *reads;		/* of the phrase */
	bool		wants_all;
	int			nwords;
	SkxPlaceWord *words;
	uint32		most_docs;		/* that the scope has room for, */
	uint32		most_range;		/* in so many */
	int64		most;			/* places that there is room for, */
	int64		limit;			/* from which on some are dropped */
	int64		nplaces;		/* of all words */
	uint32		span;			/* documents of the last scope; 0: none yet */

	uint32		from;
	uint32		until;
	uint32		n;				/* documents of the scope */
	uint32	   *few;			/* these, or NULL: */
	uint64	   *bits;			/* bit 0 is `from` */
	uint32	   *ranks;			/* by word of bits: number of its first one */
	uint32	   *docs;			/* by number; NULL: not asked for yet */
	SkxPlaceEnds *ends;			/* by number; 0: does not match */
	SkxPlaceEnds *found;		/* by number: of the operand at hand, or which
								 * uses have a place */
	SkxCursor  *cursor;			/* of one lexeme of a prefix after the other */
};

/*
 * query_offsets.c : uses[i] tells how item i of the phrase is bound; of operators
 * it has no meaning
 */
extern void skx_query_place_uses(const QueryItem *root, int nitems,
								 SkxPlaceUse *uses);

/*
 * query_scope.c
 *
 * few: the scope is n documents asked about.  wide: documents from `from` on
 * that have all required words, about `span` of them.  number: of a document in
 * [from, until), SKX_NO_DOC: it is not in the scope.  docs: all of the scope, by
 * number, kept with it.  next: those from number *at on that can still match,
 * `most` at most, with their numbers; it moves *at on.
 */
extern void skx_query_scope_few(SkxPlaces *p, const uint32 *docs, int n);
extern void skx_query_scope_wide(SkxPlaces *p, uint32 from, uint32 span);
extern void skx_query_scope_free(SkxPlaces *p);
extern const uint32 *skx_query_scope_docs(SkxPlaces *p);
extern uint32 skx_query_scope_search(const SkxPlaces *p, uint32 doc);

typedef struct SkxScopeWalk
{
	uint32		number;			/* of the next document */
	uint32		word;			/* of bits */
	uint64		left;			/* bits of it that are still to come */
} SkxScopeWalk;

extern void skx_query_scope_begin(const SkxPlaces *p, SkxScopeWalk *walk);
extern int	skx_query_scope_next(const SkxPlaces *p, SkxScopeWalk *walk,
								 uint32 *docs, uint32 *numbers, int most);

static inline uint32
skx_query_scope_number(const SkxPlaces *p, uint32 doc)
{
	uint32		bit = doc - p->from;
	uint64		word;

	if (p->few != NULL)
		return skx_query_scope_search(p, doc);
	word = p->bits[bit / 64] >> (bit % 64);
	if ((word & 1) == 0)
		return SKX_NO_DOC;
	return p->ranks[bit / 64] +
		pg_popcount64(p->bits[bit / 64] & ~(~UINT64CONST(0) << (bit % 64)));
}

/*
 * query_places_read.c : goes through the lists of a word in the scope
 *
 * lexeme leaves ends of documents that one use of a lexeme allows; prefix the same
 * of a prefix, use NULL: all, and with `keeps` keeps its places that matter.
 */
extern void skx_query_places_lexeme(SkxPlaces *p, const SkxPlaceWord *word,
									const SkxPlaceUse *use);
extern void skx_query_places_prefix(SkxPlaces *p, SkxPlaceWord *word,
									const SkxPlaceUse *use, bool keeps);

#endif							/* SKX_QUERY_PLACES_H */
