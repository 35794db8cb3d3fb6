/*
 * query_places.c
 *	  Finds the positions of the prefixes of a phrase, in the documents that
 *	  the phrase may match.
 *
 * A prefix may have very many lexemes.  Their lists are therefore read for as
 * many documents at once as the memory budget allows: the scope.  If the first
 * call has few documents, the first scope is these alone, since no others may
 * be needed.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_places.h"
#include "utils/memutils.h"

/*
 * The first scope is the documents of the first call, if they are at most this
 * many.
 */
#define SKX_PLACES_ASKED	256

/*
 * Each further scope has SKX_PLACES_GROWTH times the documents of the one
 * before, which counts as at least SKX_PLACES_LEAST.
 */
#define SKX_PLACES_GROWTH	64
#define SKX_PLACES_LEAST	16

/*
 * The largest number of operands that restrict the ends of matches.  More
 * would hardly leave fewer ends.
 */
#define SKX_PLACES_ENDS		4

/*
 * The assumed number of postings in a page of a prefix's lists, and in a list
 * that stands in the dictionary.
 */
#define SKX_PLACES_PER_PAGE	5000
#define SKX_PLACES_PER_TERM	2

SkxPlaces *
skx_query_places_open(SkxSegment *seg, const SkxReads *reads, int nwords,
					  Size room, bool wants_all)
{
	SkxPlaces  *p = palloc0(sizeof(SkxPlaces));

	p->seg = seg;
	p->context = CurrentMemoryContext;
	p->reads = reads;
	p->wants_all = wants_all;
	p->words = palloc_extended(sizeof(SkxPlaceWord) * (Size) nwords,
							   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	p->most_docs = Min(room / 2 / (2 * sizeof(SkxPlaceEnds)), SKX_NO_DOC);
	p->most_range = Min(room, SKX_NO_DOC);
	p->most = room / 2 / sizeof(SkxOccurrence);
	return p;
}

uint64
skx_query_prefix_postings(SkxSegment *seg, const char *lexeme, int len,
						  uint32 *nterms)
{
	SkxTermExtent extent;

	*nterms = skx_segment_terms_prefixed(seg, lexeme, len, &extent);
	return (uint64) extent.pages * SKX_PLACES_PER_PAGE +
		(uint64) *nterms * SKX_PLACES_PER_TERM;
}

int
skx_query_places_word(SkxPlaces *p, const char *lexeme, int len,
					  const SkxTerm *term)
{
	SkxPlaceWord *word = &p->words[p->nwords];
	uint32		nterms;

	word->lexeme = lexeme;
	word->len = len;
	word->prefix = term == NULL;
	if (term != NULL)
	{
		word->term = *term;
		word->postings = term->df;
	}
	else
		word->postings = skx_query_prefix_postings(p->seg, lexeme, len,
												   &nterms);
	return p->nwords++;
}

void
skx_query_places_use(SkxPlaces *p, int word, const SkxPlaceUse *use)
{
	SkxPlaceWord *w = &p->words[word];
	int			i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < w->nuses; i++)
		if (memcmp(&w->uses[i], use, sizeof(*use)) == 0)
			return;
	/* the capacity is 1, 2, 4, ... */
	if ((w->nuses & (w->nuses - 1)) == 0)
	{
		Size		size = sizeof(SkxPlaceUse) * Max((Size) w->nuses * 2, 1);

		w->uses = w->uses == NULL ? palloc(size) : repalloc_huge(w->uses, size);
	}
	w->uses[w->nuses++] = *use;
}

/* A use of a word that restricts the ends of matches. */
typedef struct SkxPlacesEnding
{
	SkxPlaceWord *word;
	const SkxPlaceUse *use;
} SkxPlacesEnding;

/*
 * Sets endings to the uses that restrict the ends of matches and have the
 * fewest postings, ascending.  They are those of prefixes, or those of plain
 * lexemes.  Returns how many there are, at most SKX_PLACES_ENDS.
 */
static int
skx_places_endings(SkxPlaces *p, bool prefix, SkxPlacesEnding *endings)
{
	int			n = 0;
	int			i;
	int			k;
	int			at;

	for (i = 0; i < p->nwords; i++)
	{
		SkxPlaceWord *word = &p->words[i];

		for (k = 0; k < word->nuses && word->prefix == prefix; k++)
		{
			if (!word->uses[k].required || !word->uses[k].known)
				continue;
			for (at = Min(n, SKX_PLACES_ENDS - 1); at > 0 &&
				 endings[at - 1].word->postings > word->postings; at--)
				endings[at] = endings[at - 1];
			if (n == SKX_PLACES_ENDS && at == SKX_PLACES_ENDS - 1 &&
				endings[at].word->postings <= word->postings)
				continue;
			endings[at].word = word;
			endings[at].use = &word->uses[k];
			n = Min(n + 1, SKX_PLACES_ENDS);
		}
	}
	return n;
}

/*
 * Returns true if the positions of the word are kept in the pass that
 * restricts the ends.  That is done for the last prefix, if it has only one
 * use.
 */
static bool
skx_places_keeps(const SkxPlacesEnding *endings, int i, int n)
{
	return i == n - 1 && endings[i].word->nuses == 1;
}

/*
 * Reads the lists of the words.  Those that restrict the ends of matches are
 * read first.  The last of these prefixes keeps its positions in that pass.
 * All other prefixes are then read again to keep theirs.
 */
static void
skx_places_read(SkxPlaces *p)
{
	SkxPlacesEnding endings[SKX_PLACES_ENDS];
	SkxPlaceWord *kept = NULL;
	int			n;
	int			i;

	n = skx_places_endings(p, false, endings);
	for (i = 0; i < n && p->n > 0; i++)
		skx_query_places_lexeme(p, endings[i].word, endings[i].use);
	n = skx_places_endings(p, true, endings);
	for (i = 0; i < n && p->n > 0; i++)
	{
		bool		keeps = skx_places_keeps(endings, i, n);

		skx_query_places_prefix(p, endings[i].word, endings[i].use, keeps);
		if (keeps)
			kept = endings[i].word;
	}
	for (i = 0; i < p->nwords && p->n > 0; i++)
		if (p->words[i].prefix && &p->words[i] != kept)
			skx_query_places_prefix(p, &p->words[i], NULL, true);
}

/*
 * Makes a scope that begins with the first of n documents, and reads the words
 * in it.
 */
static void
skx_places_gather(SkxPlaces *p, const uint32 *docs, int n)
{
	MemoryContext old = MemoryContextSwitchTo(p->context);
	int			i;

	skx_query_scope_free(p);
	p->limit = p->most;
	p->nplaces = 0;
	for (i = 0; i < p->nwords; i++)
		p->words[i].n = p->words[i].next = 0;
	if (p->span == 0 && n <= SKX_PLACES_ASKED)
	{
		p->span = Max(n, SKX_PLACES_LEAST);
		skx_query_scope_few(p, docs, n);
	}
	else
	{
		p->span = p->wants_all || p->span == 0 ? p->most_docs :
			Min((uint64) p->span * SKX_PLACES_GROWTH, p->most_docs);
		skx_query_scope_wide(p, docs[0], p->span);
	}
	skx_places_read(p);
	MemoryContextSwitchTo(old);
}

/* Returns true if the scope tells whether the document may match. */
static inline bool
skx_places_covers(const SkxPlaces *p, uint32 doc)
{
	return doc >= p->from && doc < p->until &&
		(p->few == NULL || skx_query_scope_search(p, doc) != SKX_NO_DOC);
}

int
skx_query_places_filter(SkxPlaces *p, uint32 *docs, int *some)
{
	int			kept = 0;
	int			i;

	if (!skx_places_covers(p, docs[0]))
		skx_places_gather(p, docs, *some);
	for (i = 0; i < *some && skx_places_covers(p, docs[i]); i++)
	{
		uint32		number = skx_query_scope_number(p, docs[i]);

		docs[kept] = docs[i];
		kept += number != SKX_NO_DOC && p->ends[number] != 0;
	}
	*some = i;
	return kept;
}

const SkxOccurrence *
skx_query_places_of(SkxPlaces *p, int number, uint32 doc, int64 *n)
{
	SkxPlaceWord *word = &p->words[number];
	const SkxOccurrence *places = word->places;
	int64		low;
	int64		high = word->n;
	int64		end;

	if (word->next > 0 && places[word->next - 1].doc >= doc)
		word->next = 0;
	low = word->next;
	while (low < high)
	{
		int64		mid = (low + high) / 2;

		if (places[mid].doc < doc)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < word->n && places[end].doc == doc; end++)
		continue;
	word->next = low;
	*n = end - low;
	return places + low;
}

void
skx_query_places_close(SkxPlaces *p)
{
	int			i;

	skx_query_scope_free(p);
	for (i = 0; i < p->nwords; i++)
	{
		if (p->words[i].places != NULL)
			pfree(p->words[i].places);
		if (p->words[i].uses != NULL)
			pfree(p->words[i].uses);
	}
	pfree(p->words);
	pfree(p);
}
