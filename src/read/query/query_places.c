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
#define SKX_SCOPE_FIRST_DOCS	256

/*
 * Each further scope has SKX_SCOPE_GROWTH times the documents of the one
 * before, which counts as at least SKX_SCOPE_DOCS_MIN.
 */
#define SKX_SCOPE_GROWTH	64
#define SKX_SCOPE_DOCS_MIN	16

/*
 * The largest number of operands that restrict the ends of matches.  More
 * would hardly leave fewer ends.
 */
#define SKX_SCOPE_ENDINGS_MAX		4

/*
 * The assumed number of postings in a page of a prefix's lists, and in a list
 * that stands in the dictionary.
 */
#define SKX_SCOPE_POSTINGS_PER_PAGE	5000
#define SKX_SCOPE_POSTINGS_PER_TERM	2

SkxPhraseWords *
skx_query_words_open(SkxSegment *seg, const SkxPageReads *reads, int nwords,
					 Size room, bool wants_all)
{
	SkxPhraseWords *p = palloc0(sizeof(SkxPhraseWords));

	p->seg = seg;
	p->context = CurrentMemoryContext;
	p->page_reads = reads;
	p->wants_all = wants_all;
	p->words = palloc_extended(sizeof(SkxPhraseWord) * (Size) nwords,
							   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	p->max_docs = Min(room / 2 / (2 * sizeof(SkxPhraseEnds)), SKX_NO_DOC);
	p->max_range = Min(room, SKX_NO_DOC);
	p->max_positions = room / 2 / sizeof(SkxOccurrence);
	return p;
}

uint64
skx_query_prefix_postings(SkxSegment *seg, const char *lexeme, int len,
						  uint32 *nterms)
{
	SkxTermPages extent;

	*nterms = skx_segment_count_prefix(seg, lexeme, len, &extent);
	return (uint64) extent.list_pages * SKX_SCOPE_POSTINGS_PER_PAGE +
		(uint64) *nterms * SKX_SCOPE_POSTINGS_PER_TERM;
}

int
skx_query_words_add(SkxPhraseWords *p, const char *lexeme, int len,
					const SkxTerm *term)
{
	SkxPhraseWord *word = &p->words[p->nwords];
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
skx_query_words_add_use(SkxPhraseWords *p, int word, const SkxPhraseUse *use)
{
	SkxPhraseWord *w = &p->words[word];
	int			i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < w->nuses; i++)
		if (memcmp(&w->uses[i], use, sizeof(*use)) == 0)
			return;
	/* the capacity is 1, 2, 4, ... */
	if ((w->nuses & (w->nuses - 1)) == 0)
	{
		Size		size = sizeof(SkxPhraseUse) * Max((Size) w->nuses * 2, 1);

		w->uses = w->uses == NULL ? palloc(size) : repalloc_huge(w->uses, size);
	}
	w->uses[w->nuses++] = *use;
}

/* A use of a word that restricts the ends of matches. */
typedef struct SkxPhraseEnding
{
	SkxPhraseWord *word;
	const SkxPhraseUse *use;
} SkxPhraseEnding;

/*
 * Sets endings to the uses that restrict the ends of matches and have the
 * fewest postings, ascending.  They are those of prefixes, or those of plain
 * lexemes.  Returns how many there are, at most SKX_SCOPE_ENDINGS_MAX.
 */
static int
skx_words_endings(SkxPhraseWords *p, bool prefix, SkxPhraseEnding *endings)
{
	int			n = 0;
	int			i;
	int			k;
	int			at;

	for (i = 0; i < p->nwords; i++)
	{
		SkxPhraseWord *word = &p->words[i];

		for (k = 0; k < word->nuses && word->prefix == prefix; k++)
		{
			if (!word->uses[k].is_required || !word->uses[k].has_offset)
				continue;
			for (at = Min(n, SKX_SCOPE_ENDINGS_MAX - 1); at > 0 &&
				 endings[at - 1].word->postings > word->postings; at--)
				endings[at] = endings[at - 1];
			if (n == SKX_SCOPE_ENDINGS_MAX &&
				at == SKX_SCOPE_ENDINGS_MAX - 1 &&
				endings[at].word->postings <= word->postings)
				continue;
			endings[at].word = word;
			endings[at].use = &word->uses[k];
			n = Min(n + 1, SKX_SCOPE_ENDINGS_MAX);
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
skx_words_keeps_positions(const SkxPhraseEnding *endings, int i, int n)
{
	return i == n - 1 && endings[i].word->nuses == 1;
}

/*
 * Reads the lists of the words.  Those that restrict the ends of matches are
 * read first.  The last of these prefixes keeps its positions in that pass.
 * All other prefixes are then read again to keep theirs.
 */
static void
skx_words_read_lists(SkxPhraseWords *p)
{
	SkxPhraseEnding endings[SKX_SCOPE_ENDINGS_MAX];
	SkxPhraseWord *kept = NULL;
	int			n;
	int			i;

	n = skx_words_endings(p, false, endings);
	for (i = 0; i < n && p->n > 0; i++)
		skx_query_words_read_lexeme(p, endings[i].word, endings[i].use);
	n = skx_words_endings(p, true, endings);
	for (i = 0; i < n && p->n > 0; i++)
	{
		bool		keeps = skx_words_keeps_positions(endings, i, n);

		skx_query_words_read_prefix(p, endings[i].word, endings[i].use, keeps);
		if (keeps)
			kept = endings[i].word;
	}
	for (i = 0; i < p->nwords && p->n > 0; i++)
		if (p->words[i].prefix && &p->words[i] != kept)
			skx_query_words_read_prefix(p, &p->words[i], NULL, true);
}

/*
 * Makes a scope that begins with the first of n documents, and reads the words
 * in it.
 */
static void
skx_words_make_scope(SkxPhraseWords *p, const uint32 *docs, int n)
{
	MemoryContext old = MemoryContextSwitchTo(p->context);
	int			i;

	skx_query_scope_free(p);
	p->positions_limit = p->max_positions;
	p->npositions = 0;
	for (i = 0; i < p->nwords; i++)
		p->words[i].npositions = p->words[i].next_position = 0;
	if (p->scope_docs == 0 && n <= SKX_SCOPE_FIRST_DOCS)
	{
		p->scope_docs = Max(n, SKX_SCOPE_DOCS_MIN);
		skx_query_scope_of_docs(p, docs, n);
	}
	else
	{
		p->scope_docs = p->wants_all || p->scope_docs == 0 ? p->max_docs :
			Min((uint64) p->scope_docs * SKX_SCOPE_GROWTH, p->max_docs);
		skx_query_scope_of_range(p, docs[0], p->scope_docs);
	}
	skx_words_read_lists(p);
	MemoryContextSwitchTo(old);
}

/* Returns true if the scope tells whether the document may match. */
static inline bool
skx_words_scope_covers(const SkxPhraseWords *p, uint32 doc)
{
	return doc >= p->range_from && doc < p->range_until &&
		(p->doc_array == NULL ||
		 skx_query_scope_find_doc(p, doc) != SKX_NO_DOC);
}

int
skx_query_words_filter(SkxPhraseWords *p, uint32 *docs, int *some)
{
	int			kept = 0;
	int			i;

	if (!skx_words_scope_covers(p, docs[0]))
		skx_words_make_scope(p, docs, *some);
	for (i = 0; i < *some && skx_words_scope_covers(p, docs[i]); i++)
	{
		uint32		number = skx_query_scope_doc_number(p, docs[i]);

		docs[kept] = docs[i];
		kept += number != SKX_NO_DOC && p->match_ends[number] != 0;
	}
	*some = i;
	return kept;
}

const SkxOccurrence *
skx_query_words_positions(SkxPhraseWords *p, int number, uint32 doc, int64 *n)
{
	SkxPhraseWord *word = &p->words[number];
	const SkxOccurrence *places = word->positions;
	int64		low;
	int64		high = word->npositions;
	int64		end;

	if (word->next_position > 0 && places[word->next_position - 1].doc >= doc)
		word->next_position = 0;
	low = word->next_position;
	while (low < high)
	{
		int64		mid = (low + high) / 2;

		if (places[mid].doc < doc)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < word->npositions && places[end].doc == doc; end++)
		continue;
	word->next_position = low;
	*n = end - low;
	return places + low;
}

void
skx_query_words_close(SkxPhraseWords *p)
{
	int			i;

	skx_query_scope_free(p);
	for (i = 0; i < p->nwords; i++)
	{
		if (p->words[i].positions != NULL)
			pfree(p->words[i].positions);
		if (p->words[i].uses != NULL)
			pfree(p->words[i].uses);
	}
	pfree(p->words);
	pfree(p);
}
