/*
 * query_places_read.c
 *	  Goes through the lists of a phrase's lexemes and prefixes in the scope.
 *
 * Positions are read of those documents alone in which the phrase can still
 * match.  Where operands are bound to its end, each leaves the ends that its
 * places allow, so that the next one's places are kept only where they agree
 * with those of all before.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "read/query/query_places.h"

/* Terms whose lists are asked for together. */
#define SKX_PLACES_TERMS	64

/* There is room for so many at first. */
#define SKX_PLACES_FIRST	64

/* Documents whose places are looked for together. */
#define SKX_PLACES_DOCS		256

/*
 * A list with so many times the postings that the scope has documents is sought
 * for these.
 */
#define SKX_PLACES_SOUGHT	8

/* Documents among which each posting is searched, not those in each list. */
#define SKX_PLACES_FEW		4096

typedef struct SkxPlacesPass
{
	SkxPlaces  *places;
	SkxPlaceWord *word;
	const SkxPlaceUse *use;		/* that leaves ends; NULL: none */
	bool		keeps;
	const uint32 *docs;			/* of the scope, if these are few */
	int			nterms;			/* not read yet */
	SkxTerm		terms[SKX_PLACES_TERMS];
} SkxPlacesPass;

/* The end of a phrase that has the place. */
static inline SkxPlaceEnds
skx_places_end(const SkxPlaceUse *use, uint16 position)
{
	return UINT64CONST(1) << ((SKX_POSITION(position) + use->before) %
							  SKX_PLACE_BITS);
}

static inline bool
skx_places_has_label(const SkxPlaceUse *use, uint16 position)
{
	return use->labels == 0 || (SKX_LABEL_BIT(position) & use->labels) != 0;
}

/* The ends that the places allow. */
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

/* Leaves the places of documents before the end of the range. */
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
 * Ends the range where the later half of the word's places begins, but not
 * within its first document.  If that has too many, the next time comes when
 * there are twice as many.
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

/* Makes room for n places of a document; false: it is in the range no more. */
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
 * Is the place kept?  It may be one of a match that ends at one of `ends`; or it
 * is a use's first one of the document: an operand that is not required is true
 * there then, wherever, which may leave others undecided (TS_MAYBE).  *seen are
 * uses that have some.
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
		uint64		bit = i < 64 ? UINT64CONST(1) << i : 0;

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
 * Keeps those places of a document that matter; one if it has no positions.  Of a
 * word that leaves ends meanwhile the only use is required.
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
 * Posting i of the list's sub-block, of a document of the scope.  A phrase does
 * not match where an operand that it requires has no positions.
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
		/* most places are not where the phrase needs them */
		if (found == 0)
			return;
		p->found[number] |= found;
	}
	if (pass->keeps)
		skx_places_keep(pass, doc, number, positions, n);
}

/*
 * Which of postings [i, end) of the sub-block are in the scope; without a branch,
 * which would be taken or not at random.
 */
static inline int
skx_places_in_scope(const SkxPlaces *p, int i, int end, int *found)
{
	const uint32 *docs = p->cursor->docs;
	int			n = 0;

	for (; i < end; i++)
	{
		uint32		bit = docs[i] - p->from;

		found[n] = i;
		n += p->bits[bit / 64] >> (bit % 64) & 1;
	}
	return n;
}

/* Postings [i, end) of the sub-block. */
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

/* Goes through the list, all of whose sub-blocks in the range are decoded. */
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

/* The first of ascending docs[i], ..., docs[n - 1] that is >= target; n: none. */
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

/* Looks the documents of the scope up in the list. */
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

/* Reads the lists at hand. */
static void
skx_places_flush(SkxPlacesPass *pass)
{
	int			i;

	skx_cursor_ask_terms(pass->places->seg, pass->terms, pass->nterms);
	for (i = 0; i < pass->nterms; i++)
		skx_places_term(pass, &pass->terms[i]);
	pass->nterms = 0;
}

/* Is there one of the list's documents in the scope, or is it not known? */
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
 * Most lists stand in the dictionary, and most of these have nothing in the
 * scope.  Others are asked for together.
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

/* Leaves the ends that were found, and forgets what was. */
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
	/* few enough to be sought in lists */
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

/* Some documents of the scope at once. */
typedef struct SkxPlacesSome
{
	int			n;
	uint32		docs[SKX_PLACES_DOCS];
	uint32		numbers[SKX_PLACES_DOCS];
	SkxPositionPlace places[SKX_PLACES_DOCS];
} SkxPlacesSome;

/* Where the list's positions are in some documents; those without go. */
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
