/*
 * query_places_read.c
 *	  Reads the lists of a phrase's lexemes and prefixes in the scope.
 *
 * Positions are read only in documents where the phrase can still match.  If
 * operands are bound to its end, each leaves only the ends that its positions
 * allow.  The positions of the next operand are then kept only if they agree
 * with those of all operands before it.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "miscadmin.h"
#include "read/query/query_places.h"
#include "support/bitset/bitset.h"

/* The number of terms whose lists are prefetched together. */
#define SKX_PLACES_TERMS	64

/* The first capacity of a prefix's positions. */
#define SKX_PLACES_FIRST	64

/* The number of documents whose positions are located together. */
#define SKX_PLACES_DOCS		256

/*
 * In a list with at least this many times as many postings as the scope has
 * documents, these documents are sought.
 */
#define SKX_PLACES_SOUGHT	8

/*
 * A scope of more documents than this is not sought in lists: each posting is
 * looked up in the scope.
 */
#define SKX_PLACES_FEW		4096

typedef struct SkxPlacesPass
{
	SkxPlaces  *places;
	SkxPlaceWord *word;
	const SkxPlaceUse *use;		/* the use that restricts the ends, or NULL if
								 * the pass restricts none */
	bool		keeps;
	const uint32 *docs;			/* documents of the scope, if they are few,
								 * else NULL */
	int			nterms;			/* number of terms not read yet */
	SkxTerm		terms[SKX_PLACES_TERMS];
} SkxPlacesPass;

/* Returns the end of a match in which the use has the position. */
static inline SkxPlaceEnds
skx_places_end(const SkxPlaceUse *use, uint16 position)
{
	return skx_bitset_bit((SKX_POSITION(position) + use->before) %
						  SKX_PLACE_BITS);
}

static inline bool
skx_places_has_label(const SkxPlaceUse *use, uint16 position)
{
	return use->labels == 0 || (SKX_LABEL_BIT(position) & use->labels) != 0;
}

/* Returns the ends of matches that the positions allow. */
static inline SkxPlaceEnds
skx_places_ends(const SkxPlaceUse *use, const uint16 *positions, int n)
{
	SkxPlaceEnds ends = 0;
	int			i;

	if (!use->known)
		return ~UINT64CONST(0);
	for (i = 0; i < n; i++)
		if (skx_places_has_label(use, positions[i]))
			ends |= skx_places_end(use, positions[i]);
	return ends;
}

static int
skx_places_compare(const void *a, const void *b)
{
	uint32		x = ((const SkxOccurrence *) a)->doc;
	uint32		y = ((const SkxOccurrence *) b)->doc;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

static void
skx_places_sort(SkxPlaceWord *word)
{
	qsort(word->places, word->n, sizeof(SkxOccurrence), skx_places_compare);
}

/* Drops the positions of documents at or behind the end of the range. */
static void
skx_places_leave(SkxPlaces *p)
{
	int			i;

	p->nplaces = 0;
	for (i = 0; i < p->nwords; i++)
	{
		SkxPlaceWord *word = &p->words[i];
		int64		kept = 0;
		int64		k;

		for (k = 0; k < word->n; k++)
		{
			word->places[kept] = word->places[k];
			kept += word->places[k].doc < p->until;
		}
		word->n = kept;
		p->nplaces += kept;
	}
}

/*
 * Ends the range where the later half of the word's positions begins, but not
 * within its first document.  If the positions that are left are more than
 * half of p->most, the next cut comes when there are twice as many.
 */
static void
skx_places_cut(SkxPlaces *p, SkxPlaceWord *word)
{
	uint32		first;
	uint32		half;

	if (word->n > 0)
	{
		skx_places_sort(word);
		first = word->places[0].doc;
		half = word->places[word->n / 2].doc;
		p->until = Min(p->until, Max(half, first + 1));
	}
	skx_places_leave(p);
	p->limit = Max(p->most, p->nplaces * 2);
}

/*
 * Makes capacity for n positions of a document.  Returns false if the document
 * is not in the range, which this may have made shorter.
 */
static bool
skx_places_reserve(SkxPlaces *p, SkxPlaceWord *word, uint32 doc, int n)
{
	if (p->nplaces + n > p->limit)
		skx_places_cut(p, word);
	if (doc >= p->until)
		return false;
	if (word->n + n > word->room)
	{
		word->room = Max(word->room * 2, word->n + n);
		word->places = repalloc_huge(word->places,
									 word->room * sizeof(SkxOccurrence));
	}
	return true;
}

/*
 * Returns true if the position is kept.  It is kept if a use may have it in a
 * match that ends at one of `ends`.  The first position of a use that is not
 * required is kept, too.  TS_execute() must not take that operand for absent:
 * if it is there, it may leave others undecided (TS_MAYBE).  *seen is the set
 * of uses that have a position.
 */
static inline bool
skx_places_matters(const SkxPlaceWord *word, SkxPlaceEnds ends,
				   uint16 position, uint64 *seen)
{
	bool		matters = false;
	int			i;

	for (i = 0; i < word->nuses; i++)
	{
		const SkxPlaceUse *use = &word->uses[i];
		uint64		bit = i < SKX_BITSET_WORD ? skx_bitset_bit(i) : 0;

		if (!skx_places_has_label(use, position))
			continue;
		if (use->known && (ends & skx_places_end(use, position)) == 0 &&
			(use->required || (*seen & bit) != 0))
			continue;
		matters = true;
		*seen |= bit;
	}
	return matters;
}

/*
 * Keeps those positions of a document that matter, or one entry if the lexeme
 * has no positions there.  In a pass that restricts ends, the only use of the
 * word is required, so `seen` is not needed.
 */
static void
skx_places_keep(SkxPlacesPass *pass, uint32 doc, uint32 number,
				const uint16 *positions, int n)
{
	SkxPlaces  *p = pass->places;
	SkxPlaceWord *word = pass->word;
	uint64		seen = pass->use == NULL ? p->found[number] : 0;
	SkxOccurrence place = {doc};
	int64		before;
	int			i;

	if (!skx_places_reserve(p, word, doc, Max(n, 1)))
		return;
	before = word->n;
	place.bare = n == 0;
	if (place.bare)
		word->places[word->n++] = place;
	for (i = 0; i < n; i++)
	{
		place.position = positions[i];
		word->places[word->n] = place;
		word->n += skx_places_matters(word, p->ends[number], positions[i],
									  &seen);
	}
	if (pass->use == NULL)
		p->found[number] = seen;
	p->nplaces += word->n - before;
}

/*
 * Reads posting i of the list's sub-block, whose document is in the scope.  A
 * phrase does not match if an operand that it requires has no positions.
 */
static void
skx_places_posting(SkxPlacesPass *pass, int i, uint32 doc, uint32 number)
{
	SkxPlaces  *p = pass->places;
	SkxPlaceEnds ends = p->ends[number];
	uint16		positions[SKX_POSITIONS_MAX];
	int			n;

	if (ends == 0)
		return;
	n = skx_cursor_positions(p->cursor, i, positions);
	if (pass->use != NULL)
	{
		SkxPlaceEnds found = skx_places_ends(pass->use, positions, n) & ends;

		if (n == 0)
			p->ends[number] = 0;
		/* most positions are not where the phrase needs them */
		if (found == 0)
			return;
		p->found[number] |= found;
	}
	if (pass->keeps)
		skx_places_keep(pass, doc, number, positions, n);
}

/*
 * Sets found to those of postings [i, end) of the sub-block that are in the
 * scope; returns how many.  It has no branch, since a branch could not be
 * predicted.
 */
static inline int
skx_places_in_scope(const SkxPlaces *p, int i, int end, int *found)
{
	const uint32 *docs = p->cursor->docs;
	int			n = 0;

	for (; i < end; i++)
	{
		found[n] = i;
		n += skx_bitset_test(p->bits, docs[i] - p->from);
	}
	return n;
}

/* Reads postings [i, end) of the sub-block. */
static void
skx_places_subblock(SkxPlacesPass *pass, int i, int end)
{
	SkxPlaces  *p = pass->places;
	const uint32 *docs = p->cursor->docs;
	uint32		numbers[SKX_SUBBLOCK];
	int			found[SKX_SUBBLOCK];
	int			n = 0;
	int			k;

	if (p->few == NULL)
		n = skx_places_in_scope(p, i, end, found);
	else
		for (; i < end; i++)
			if (skx_query_scope_search(p, docs[i]) != SKX_NO_DOC)
				found[n++] = i;
	for (k = 0; k < n; k++)
	{
		numbers[k] = skx_query_scope_number(p, docs[found[k]]);
		__builtin_prefetch(&p->ends[numbers[k]]);
	}
	for (k = 0; k < n; k++)
		skx_places_posting(pass, found[k], docs[found[k]], numbers[k]);
}

/* Goes through the list; decodes all of its sub-blocks in the range. */
static void
skx_places_traverse(SkxPlacesPass *pass)
{
	SkxPlaces  *p = pass->places;
	SkxCursor  *c = p->cursor;
	uint32		doc = skx_cursor_seek(c, p->from);

	while (doc < p->until)
	{
		int			end = c->n;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= p->until)
			end--;
		skx_places_subblock(pass, c->i, end);
		if (end < c->n)
			break;
		doc = skx_cursor_seek(c, c->end);
	}
}

/*
 * Returns the number of the first of docs[i], ..., docs[n - 1], which ascend,
 * that is >= target; n if there is none.
 */
static uint32
skx_places_first_from(const uint32 *docs, uint32 i, uint32 n, uint32 target)
{
	uint32		step = 1;
	uint32		end;

	while (step < n - i && docs[i + step - 1] < target)
	{
		i += step;
		step *= 2;
	}
	end = Min(i + step, n);
	while (i < end)
	{
		uint32		mid = (i + end) / 2;

		if (docs[mid] < target)
			i = mid + 1;
		else
			end = mid;
	}
	return i;
}

/* Seeks the documents of the scope in the list. */
static void
skx_places_seek(SkxPlacesPass *pass)
{
	SkxPlaces  *p = pass->places;
	SkxCursor  *c = p->cursor;
	uint32		i = 0;

	while (i < p->n && pass->docs[i] < p->until)
	{
		uint32		doc = skx_cursor_seek(c, pass->docs[i]);

		if (doc >= p->until)
			break;
		i = skx_places_first_from(pass->docs, i, p->n, doc);
		if (i < p->n && pass->docs[i] == doc)
			skx_places_posting(pass, c->i, doc, i++);
	}
}

static void
skx_places_term(SkxPlacesPass *pass, const SkxTerm *term)
{
	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin(pass->places->cursor, term);
	if (pass->docs != NULL &&
		term->df / SKX_PLACES_SOUGHT >= pass->places->n)
		skx_places_seek(pass);
	else
		skx_places_traverse(pass);
}

/* Reads the lists of the terms that are not read yet. */
static void
skx_places_flush(SkxPlacesPass *pass)
{
	int			i;

	skx_cursor_ask_terms(pass->places->seg, pass->terms, pass->nterms);
	for (i = 0; i < pass->nterms; i++)
		skx_places_term(pass, &pass->terms[i]);
	pass->nterms = 0;
}

/*
 * Returns false if the dictionary tells that the list has no document in the
 * scope.
 */
static bool
skx_places_has_some(const SkxPlaces *p, const SkxTerm *term)
{
	uint32		docs[SKX_SUBBLOCK];
	uint32		i;

	if (!skx_segment_is_put(term) ||
		skx_codec_short_docs(term->bytes, term->bytes + term->inline_size,
							 term->df, docs) == NULL)
		return true;
	for (i = 0; i < term->df; i++)
		if (docs[i] >= p->from && docs[i] < p->until &&
			skx_query_scope_number(p, docs[i]) != SKX_NO_DOC)
			return true;
	return false;
}

/*
 * Visits a term.  Most lists stand in the dictionary, and most of these have
 * no document in the scope.  The other lists are prefetched together.
 */
static bool
skx_places_visit(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxPlacesPass *pass = arg;

	if ((term->flags & SKX_TERM_PLACE) == SKX_TERM_INLINE)
	{
		if (skx_places_has_some(pass->places, term))
			skx_places_term(pass, term);
		return true;
	}
	if (pass->nterms == SKX_PLACES_TERMS)
		skx_places_flush(pass);
	pass->terms[pass->nterms++] = *term;
	return true;
}

/*
 * If `ends` is true, leaves only the ends that were found.  Clears p->found.
 */
static void
skx_places_leave_found(SkxPlaces *p, bool ends)
{
	uint32		i;

	for (i = 0; ends && i < p->n; i++)
		p->ends[i] &= p->found[i];
	memset(p->found, 0, sizeof(SkxPlaceEnds) * (Size) p->n);
}

void
skx_query_places_prefix(SkxPlaces *p, SkxPlaceWord *word,
						const SkxPlaceUse *use, bool keeps)
{
	SkxPlacesPass *pass = palloc(sizeof(SkxPlacesPass));

	pass->places = p;
	pass->word = word;
	pass->use = use;
	pass->keeps = keeps;
	pass->nterms = 0;
	/* if there are few documents, they are sought in lists */
	pass->docs = p->n > SKX_PLACES_FEW ? NULL : skx_query_scope_docs(p);
	if (keeps && word->places == NULL)
	{
		word->room = SKX_PLACES_FIRST;
		word->places = palloc(sizeof(SkxOccurrence) * word->room);
	}
	p->cursor = skx_cursor_create(p->seg, p->few != NULL ? SKX_CURSOR_PROBE :
								  SKX_CURSOR_LEAD_FIRST);
	skx_segment_prefix(p->seg, word->lexeme, word->len, true, NULL,
					   skx_places_visit, pass);
	skx_places_flush(pass);
	skx_cursor_close(p->cursor);
	skx_places_leave_found(p, use != NULL);
	if (keeps)
		skx_places_sort(word);
	pfree(pass);
}

/* Some documents of the scope, whose positions are located together. */
typedef struct SkxPlacesSome
{
	int			n;
	uint32		docs[SKX_PLACES_DOCS];
	uint32		numbers[SKX_PLACES_DOCS];
	SkxPositionPlace places[SKX_PLACES_DOCS];
} SkxPlacesSome;

/*
 * Finds where the list's positions in some documents are; drops the documents
 * that have none.
 */
static void
skx_places_locate(SkxPlaces *p, SkxCursor *list, SkxPlacesSome *some)
{
	int			kept = 0;
	int			i;

	skx_cursor_targets(list, some->docs, some->n);
	for (i = 0; i < some->n; i++)
	{
		uint32		number = some->numbers[i];

		if (!skx_cursor_locate(list, some->docs[i], &some->places[kept]) ||
			some->places[kept].tf == 0)
		{
			p->ends[number] = 0;
			continue;
		}
		some->numbers[kept++] = number;
	}
	skx_cursor_targets(list, NULL, 0);
	some->n = kept;
}

void
skx_query_places_lexeme(SkxPlaces *p, const SkxPlaceWord *word,
						const SkxPlaceUse *use)
{
	SkxPlacesSome *some;
	SkxPositionPlace *places;
	SkxCursor  *list;
	uint16		positions[SKX_POSITIONS_MAX];
	SkxScopeWalk walk;

	if (word->term.df == 0)
	{
		memset(p->ends, 0, sizeof(SkxPlaceEnds) * (Size) p->n);
		return;
	}
	some = palloc(sizeof(SkxPlacesSome));
	places = some->places;
	list = skx_cursor_open(p->seg, &word->term, SKX_CURSOR_PROBE);
	skx_query_scope_begin(p, &walk);
	while ((some->n = skx_query_scope_next(p, &walk, some->docs,
										   some->numbers,
										   SKX_PLACES_DOCS)) > 0)
	{
		int			asked = 0;
		int			i;

		CHECK_FOR_INTERRUPTS();
		skx_places_locate(p, list, some);
		for (i = 0; i < some->n; i++)
		{
			int			n;

			if (i >= asked && i % SKX_PHRASE_LOOK == 0)
				asked = skx_cursor_ask_places(&list, &places, 1, i, some->n,
											  skx_query_reads_cold(p->reads));
			n = skx_cursor_positions_at(list, &some->places[i], positions);
			p->ends[some->numbers[i]] &= skx_places_ends(use, positions, n);
		}
	}
	skx_cursor_close(list);
	pfree(some);
}
