/*
 * query_scope.c
 *	  The documents in which the positions of a phrase's prefixes are read.
 *
 * It is not known in advance which documents the phrase will filter.  All
 * documents that it can match have the words that it requires; finding these
 * takes no positions.  The documents are numbered, and what is known of each
 * is stored by its number.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_places.h"
#include "support/bitset/bitset.h"

/* The number of documents that are taken from a list at a time. */
#define SKX_SCOPE_TAKE_DOCS		256

static inline uint32
skx_scope_words(const SkxPhraseWords *p)
{
	return SKX_BITSET_WORDS(p->range_until - p->range_from);
}

void
skx_query_scope_free(SkxPhraseWords *p)
{
	void	  **all[] = {(void **) &p->doc_array, (void **) &p->bits,
		(void **) &p->ranks, (void **) &p->docs, (void **) &p->match_ends,
	(void **) &p->found_ends};
	int			i;

	for (i = 0; i < (int) lengthof(all); i++)
	{
		if (*all[i] != NULL)
			pfree(*all[i]);
		*all[i] = NULL;
	}
}

/* Sets the number of documents, of which each allows all ends at first. */
static void
skx_scope_number_all(SkxPhraseWords *p, uint32 n)
{
	Size		size = sizeof(SkxPhraseEnds) * Max((Size) n, 1);

	p->n = n;
	p->match_ends = palloc_extended(size, MCXT_ALLOC_HUGE);
	p->found_ends = palloc_extended(size, MCXT_ALLOC_HUGE);
	memset(p->match_ends, 0xFF, size);
	memset(p->found_ends, 0, size);
}

void
skx_query_scope_of_docs(SkxPhraseWords *p, const uint32 *docs, int n)
{
	p->doc_array = palloc(sizeof(uint32) * n);
	memcpy(p->doc_array, docs, sizeof(uint32) * n);
	p->range_from = docs[0];
	p->range_until = docs[n - 1] + 1;
	skx_scope_number_all(p, n);
}

uint32
skx_query_scope_find_doc(const SkxPhraseWords *p, uint32 doc)
{
	uint32		low = 0;
	uint32		high = p->n;

	while (low < high)
	{
		uint32		mid = (low + high) / 2;

		if (p->doc_array[mid] < doc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n && p->doc_array[low] == doc ? low : SKX_NO_DOC;
}

/* Returns true if each match of the phrase has the word. */
static bool
skx_scope_requires(const SkxPhraseWord *word)
{
	int			i;

	for (i = 0; i < word->nuses; i++)
		if (word->uses[i].is_required)
			return true;
	return false;
}

/*
 * Returns the required lexemes that the segment has; the rarest is the first.
 * Sets *n to their number.
 */
static const SkxPhraseWord **
skx_scope_lexemes(const SkxPhraseWords *p, int *n)
{
	const SkxPhraseWord **lexemes = palloc(sizeof(*lexemes) * p->nwords);
	int			i;

	*n = 0;
	for (i = 0; i < p->nwords; i++)
	{
		if (p->words[i].prefix || p->words[i].term.df == 0 ||
			!skx_scope_requires(&p->words[i]))
			continue;
		lexemes[*n] = &p->words[i];
		if (*n > 0 && lexemes[*n]->term.df < lexemes[0]->term.df)
		{
			lexemes[*n] = lexemes[0];
			lexemes[0] = &p->words[i];
		}
		(*n)++;
	}
	return lexemes;
}

/*
 * Puts documents that have all n lexemes into the scope, until there are
 * `span`.  Returns how many there are, and ends the range behind them.
 */
static uint32
skx_scope_take_intersection(SkxPhraseWords *p, const SkxPhraseWord **lexemes,
							int n, uint32 span)
{
	SkxCursor **lists = palloc(sizeof(SkxCursor *) * n);
	uint32		docs[SKX_SCOPE_TAKE_DOCS];
	uint32		from = p->range_from;
	uint32		count = 0;
	int			i;

	for (i = 0; i < n; i++)
		lists[i] = skx_cursor_open(p->seg, &lexemes[i]->term, i == 0 ?
								   SKX_CURSOR_LEAD_FIRST : SKX_CURSOR_PROBE);
	while (from < p->range_until && count < span)
	{
		int			some;

		CHECK_FOR_INTERRUPTS();
		from = skx_cursor_take(lists[0], from, p->range_until, docs, &some);
		for (i = 1; i < n && some > 0; i++)
			some = skx_cursor_filter(lists[i], docs, some);
		for (i = 0; i < some; i++)
			skx_bitset_set(p->bits, docs[i] - p->range_from);
		count += some;
	}
	p->range_until = Min(p->range_until, from);
	for (i = 0; i < n; i++)
		skx_cursor_close(lists[i]);
	pfree(lists);
	return count;
}

/* Puts all documents of the range into the scope; returns how many. */
static uint32
skx_scope_take_range(SkxPhraseWords *p)
{
	uint32		ndocs = p->range_until - p->range_from;

	skx_bitset_set_range(p->bits, 0, ndocs);
	return ndocs;
}

/* The documents of a prefix, as bits of the range. */
typedef struct SkxScopePrefix
{
	const SkxPhraseWords *places;
	SkxTermBits bits;
} SkxScopePrefix;

static bool
skx_scope_visit_term(const SkxTerm *term, const char *lexeme, int len,
					 void *arg)
{
	SkxScopePrefix *prefix = arg;
	const SkxPhraseWords *p = prefix->places;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin_term(p->cursor, term);
	skx_cursor_fill_window(p->cursor, p->range_from, prefix->bits.bits,
						   skx_scope_words(p));
	return true;
}

/* Drops the documents that lack the prefix; returns how many are left. */
static uint32
skx_scope_restrict_to_prefix(SkxPhraseWords *p, const SkxPhraseWord *word)
{
	uint32		nwords = skx_scope_words(p);
	SkxScopePrefix prefix = {p};

	prefix.bits.bits = palloc_extended(sizeof(uint64) * nwords,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	prefix.bits.first_doc = p->range_from;
	prefix.bits.ndocs = p->range_until - p->range_from;
	p->cursor = skx_cursor_create(p->seg, SKX_CURSOR_LEAD_FIRST);
	skx_segment_visit_prefix(p->seg, word->lexeme, word->len, true,
							 &prefix.bits, skx_scope_visit_term, &prefix);
	skx_cursor_close(p->cursor);
	skx_bitset_and(p->bits, prefix.bits.bits, nwords);
	pfree(prefix.bits.bits);
	return (uint32) skx_bitset_count(p->bits, nwords);
}

/* Ends the range with the word of bits that has the n-th document. */
static void
skx_scope_cut_range(SkxPhraseWords *p, uint32 n)
{
	uint32		nwords = skx_scope_words(p);
	uint32		count = 0;
	uint32		i;

	for (i = 0; i < nwords && count < n; i++)
		count += skx_bitset_count_word(p->bits[i]);
	p->range_until = Min(p->range_until, p->range_from + i * SKX_BITSET_BITS);
}

static void
skx_scope_rank(SkxPhraseWords *p)
{
	uint32		nwords = skx_scope_words(p);

	p->ranks = palloc_extended(sizeof(uint32) * (Size) nwords, MCXT_ALLOC_HUGE);
	skx_scope_number_all(p, skx_bitset_ranks(p->bits, nwords, p->ranks));
}

/*
 * If there is no required lexeme, the scope is made from all documents of a
 * range.  Required prefixes may drop many of them.  So the range is as large
 * as possible if span is the capacity.  Going through the lists of a prefix
 * for that is worth it only if these are short, and the scope is large.
 */
void
skx_query_scope_of_range(SkxPhraseWords *p, uint32 from, uint32 span)
{
	uint32		range = Min(p->max_range, p->seg->header.ndocs - from);
	int			nlexemes;
	const SkxPhraseWord **lexemes = skx_scope_lexemes(p, &nlexemes);
	uint32		count;
	int			i;

	if (nlexemes == 0 && span < p->max_docs)
		range = Min(range, span);
	p->range_from = from;
	p->range_until = from + range;
	p->bits = palloc_extended(sizeof(uint64) * SKX_BITSET_WORDS((Size) range),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	count = nlexemes > 0 ? skx_scope_take_intersection(p, lexemes, nlexemes,
													   span) :
		skx_scope_take_range(p);
	pfree(lexemes);
	for (i = 0; i < p->nwords && span == p->max_docs; i++)
	{
		const SkxPhraseWord *word = &p->words[i];

		if (count > 0 && word->prefix && skx_scope_requires(word) &&
			word->postings <
			(uint64) count *
			(p->seg->header.ndocs / (p->range_until - p->range_from)))
			count = skx_scope_restrict_to_prefix(p, word);
	}
	if (count > span)
		skx_scope_cut_range(p, span);
	skx_scope_rank(p);
}

void
skx_query_scope_begin(const SkxPhraseWords *p, SkxScopeWalk *walk)
{
	walk->number = 0;
	walk->word_number = 0;
	walk->remaining_bits = p->doc_array == NULL ? p->bits[0] : 0;
}

/*
 * Sets *doc to the next document of the walk.  Returns false if there is none.
 */
static inline bool
skx_scope_walk_next(const SkxPhraseWords *p, SkxScopeWalk *walk, uint32 *doc)
{
	if (walk->number >= p->n)
		return false;
	if (p->doc_array != NULL)
		*doc = p->doc_array[walk->number];
	else
	{
		while (walk->remaining_bits == 0)
			walk->remaining_bits = p->bits[++walk->word_number];
		*doc = p->range_from + walk->word_number * SKX_BITSET_BITS +
			skx_bitset_pop_lowest(&walk->remaining_bits);
	}
	walk->number++;
	return *doc < p->range_until;
}

const uint32 *
skx_query_scope_docs(SkxPhraseWords *p)
{
	SkxScopeWalk walk;
	uint32		n = 0;

	if (p->doc_array != NULL || p->docs != NULL)
		return p->doc_array != NULL ? p->doc_array : p->docs;
	p->docs = MemoryContextAlloc(p->context, sizeof(uint32) * Max(p->n, 1));
	skx_query_scope_begin(p, &walk);
	while (n < p->n && skx_scope_walk_next(p, &walk, &p->docs[n]))
		n++;
	return p->docs;
}

int
skx_query_scope_next(const SkxPhraseWords *p, SkxScopeWalk *walk, uint32 *docs,
					 uint32 *numbers, int most)
{
	int			n = 0;

	while (n < most && skx_scope_walk_next(p, walk, &docs[n]))
	{
		numbers[n] = walk->number - 1;
		n += p->match_ends[walk->number - 1] != 0;
	}
	return n;
}
