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
#define SKX_SCOPE_TAKE		256

static inline uint32
skx_scope_words(const SkxPlaces *p)
{
	return SKX_BITSET_WORDS(p->until - p->from);
}

void
skx_query_scope_free(SkxPlaces *p)
{
	void	  **all[] = {(void **) &p->few, (void **) &p->bits,
		(void **) &p->ranks, (void **) &p->docs, (void **) &p->ends,
	(void **) &p->found};
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
skx_scope_number_all(SkxPlaces *p, uint32 n)
{
	Size		size = sizeof(SkxPlaceEnds) * Max((Size) n, 1);

	p->n = n;
	p->ends = palloc_extended(size, MCXT_ALLOC_HUGE);
	p->found = palloc_extended(size, MCXT_ALLOC_HUGE);
	memset(p->ends, 0xFF, size);
	memset(p->found, 0, size);
}

void
skx_query_scope_few(SkxPlaces *p, const uint32 *docs, int n)
{
	p->few = palloc(sizeof(uint32) * n);
	memcpy(p->few, docs, sizeof(uint32) * n);
	p->from = docs[0];
	p->until = docs[n - 1] + 1;
	skx_scope_number_all(p, n);
}

uint32
skx_query_scope_search(const SkxPlaces *p, uint32 doc)
{
	uint32		low = 0;
	uint32		high = p->n;

	while (low < high)
	{
		uint32		mid = (low + high) / 2;

		if (p->few[mid] < doc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n && p->few[low] == doc ? low : SKX_NO_DOC;
}

/* Returns true if each match of the phrase has the word. */
static bool
skx_scope_requires(const SkxPlaceWord *word)
{
	int			i;

	for (i = 0; i < word->nuses; i++)
		if (word->uses[i].required)
			return true;
	return false;
}

/*
 * Returns the required lexemes that the segment has; the rarest is the first.
 * Sets *n to their number.
 */
static const SkxPlaceWord **
skx_scope_lexemes(const SkxPlaces *p, int *n)
{
	const SkxPlaceWord **lexemes = palloc(sizeof(*lexemes) * p->nwords);
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
skx_scope_take(SkxPlaces *p, const SkxPlaceWord **lexemes, int n, uint32 span)
{
	SkxCursor **lists = palloc(sizeof(SkxCursor *) * n);
	uint32		docs[SKX_SCOPE_TAKE];
	uint32		from = p->from;
	uint32		count = 0;
	int			i;

	for (i = 0; i < n; i++)
		lists[i] = skx_cursor_open(p->seg, &lexemes[i]->term, i == 0 ?
								   SKX_CURSOR_LEAD_FIRST : SKX_CURSOR_PROBE);
	while (from < p->until && count < span)
	{
		int			some;

		CHECK_FOR_INTERRUPTS();
		from = skx_cursor_take(lists[0], from, p->until, docs, &some);
		for (i = 1; i < n && some > 0; i++)
			some = skx_cursor_filter(lists[i], docs, some);
		for (i = 0; i < some; i++)
			skx_bitset_set(p->bits, docs[i] - p->from);
		count += some;
	}
	p->until = Min(p->until, from);
	for (i = 0; i < n; i++)
		skx_cursor_close(lists[i]);
	pfree(lists);
	return count;
}

/* Puts all documents of the range into the scope; returns how many. */
static uint32
skx_scope_take_all(SkxPlaces *p)
{
	uint32		ndocs = p->until - p->from;

	skx_bitset_set_range(p->bits, 0, ndocs);
	return ndocs;
}

/* The documents of a prefix, as bits of the range. */
typedef struct SkxScopePrefix
{
	const SkxPlaces *places;
	SkxTermBits bits;
} SkxScopePrefix;

static bool
skx_scope_visit(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxScopePrefix *prefix = arg;
	const SkxPlaces *p = prefix->places;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin(p->cursor, term);
	skx_cursor_fill(p->cursor, p->from, prefix->bits.bits, skx_scope_words(p));
	return true;
}

/* Drops the documents that lack the prefix; returns how many are left. */
static uint32
skx_scope_restrict(SkxPlaces *p, const SkxPlaceWord *word)
{
	uint32		nwords = skx_scope_words(p);
	SkxScopePrefix prefix = {p};

	prefix.bits.bits = palloc_extended(sizeof(uint64) * nwords,
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	prefix.bits.from = p->from;
	prefix.bits.ndocs = p->until - p->from;
	p->cursor = skx_cursor_create(p->seg, SKX_CURSOR_LEAD_FIRST);
	skx_segment_prefix(p->seg, word->lexeme, word->len, true, &prefix.bits,
					   skx_scope_visit, &prefix);
	skx_cursor_close(p->cursor);
	skx_bitset_and(p->bits, prefix.bits.bits, nwords);
	pfree(prefix.bits.bits);
	return (uint32) skx_bitset_count(p->bits, nwords);
}

/* Ends the range with the word of bits that has the n-th document. */
static void
skx_scope_cut(SkxPlaces *p, uint32 n)
{
	uint32		nwords = skx_scope_words(p);
	uint32		count = 0;
	uint32		i;

	for (i = 0; i < nwords && count < n; i++)
		count += skx_bitset_count_word(p->bits[i]);
	p->until = Min(p->until, p->from + i * SKX_BITSET_WORD);
}

static void
skx_scope_rank(SkxPlaces *p)
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
skx_query_scope_wide(SkxPlaces *p, uint32 from, uint32 span)
{
	uint32		range = Min(p->most_range, p->seg->header.ndocs - from);
	int			nlexemes;
	const SkxPlaceWord **lexemes = skx_scope_lexemes(p, &nlexemes);
	uint32		count;
	int			i;

	if (nlexemes == 0 && span < p->most_docs)
		range = Min(range, span);
	p->from = from;
	p->until = from + range;
	p->bits = palloc_extended(sizeof(uint64) * SKX_BITSET_WORDS((Size) range),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	count = nlexemes > 0 ? skx_scope_take(p, lexemes, nlexemes, span) :
		skx_scope_take_all(p);
	pfree(lexemes);
	for (i = 0; i < p->nwords && span == p->most_docs; i++)
	{
		const SkxPlaceWord *word = &p->words[i];

		if (count > 0 && word->prefix && skx_scope_requires(word) &&
			word->postings <
			(uint64) count * (p->seg->header.ndocs / (p->until - p->from)))
			count = skx_scope_restrict(p, word);
	}
	if (count > span)
		skx_scope_cut(p, span);
	skx_scope_rank(p);
}

void
skx_query_scope_begin(const SkxPlaces *p, SkxScopeWalk *walk)
{
	walk->number = 0;
	walk->word = 0;
	walk->left = p->few == NULL ? p->bits[0] : 0;
}

/*
 * Sets *doc to the next document of the walk.  Returns false if there is none.
 */
static inline bool
skx_scope_step(const SkxPlaces *p, SkxScopeWalk *walk, uint32 *doc)
{
	if (walk->number >= p->n)
		return false;
	if (p->few != NULL)
		*doc = p->few[walk->number];
	else
	{
		while (walk->left == 0)
			walk->left = p->bits[++walk->word];
		*doc = p->from + walk->word * SKX_BITSET_WORD +
			skx_bitset_take(&walk->left);
	}
	walk->number++;
	return *doc < p->until;
}

const uint32 *
skx_query_scope_docs(SkxPlaces *p)
{
	SkxScopeWalk walk;
	uint32		n = 0;

	if (p->few != NULL || p->docs != NULL)
		return p->few != NULL ? p->few : p->docs;
	p->docs = MemoryContextAlloc(p->context, sizeof(uint32) * Max(p->n, 1));
	skx_query_scope_begin(p, &walk);
	while (n < p->n && skx_scope_step(p, &walk, &p->docs[n]))
		n++;
	return p->docs;
}

int
skx_query_scope_next(const SkxPlaces *p, SkxScopeWalk *walk, uint32 *docs,
					 uint32 *numbers, int most)
{
	int			n = 0;

	while (n < most && skx_scope_step(p, walk, &docs[n]))
	{
		numbers[n] = walk->number - 1;
		n += p->ends[walk->number - 1] != 0;
	}
	return n;
}
