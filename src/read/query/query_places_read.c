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
#define SKX_SCOPE_PREFETCH_TERMS	64

/* The first capacity of a prefix's positions. */
#define SKX_SCOPE_POSITIONS_INIT	64

/* The number of documents whose positions are located together. */
#define SKX_SCOPE_LOCATE_DOCS		256

/*
 * In a list with at least this many times as many postings as the scope has
 * documents, these documents are sought.
 */
#define SKX_SCOPE_SEEK_RATIO	8

/*
 * A scope of more documents than this is not sought in lists: each posting is
 * looked up in the scope.
 */
#define SKX_SCOPE_SEEK_DOCS_MAX		4096

typedef struct SkxPhrasePass
{
	SkxPhraseWords *places;
	SkxPhraseWord *word;
	const SkxPhraseUse *use;	/* the use that restricts the ends, or NULL if
								 * the pass restricts none */
	bool		keeps_positions;
	const uint32 *docs;			/* documents of the scope, if they are few,
								 * else NULL */
	int			nterms;			/* number of terms not read yet */
	SkxTerm		terms[SKX_SCOPE_PREFETCH_TERMS];
} SkxPhrasePass;

/* Returns the end of a match in which the use has the position. */
static inline SkxPhraseEnds
skx_words_match_end(const SkxPhraseUse *use, uint16 position)
{
	return skx_bitset_mask_bit((SKX_POSITION_OF(position) +
								use->offset_to_end) %
							   SKX_PHRASE_END_BITS);
}

static inline bool
skx_words_has_label(const SkxPhraseUse *use, uint16 position)
{
	return use->labels == 0 || (SKX_LABEL_BIT(position) & use->labels) != 0;
}

/* Returns the ends of matches that the positions allow. */
static inline SkxPhraseEnds
skx_words_match_ends(const SkxPhraseUse *use, const uint16 *positions, int n)
{
	SkxPhraseEnds ends = 0;
	int			i;

	if (!use->has_offset)
		return ~UINT64CONST(0);
	for (i = 0; i < n; i++)
		if (skx_words_has_label(use, positions[i]))
			ends |= skx_words_match_end(use, positions[i]);
	return ends;
}

static int
skx_words_compare_positions(const void *a, const void *b)
{
	uint32		x = ((const SkxOccurrence *) a)->doc;
	uint32		y = ((const SkxOccurrence *) b)->doc;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

static void
skx_words_sort_positions(SkxPhraseWord *word)
{
	qsort(word->positions, word->npositions, sizeof(SkxOccurrence),
		  skx_words_compare_positions);
}

/* Drops the positions of documents at or behind the end of the range. */
static void
skx_words_drop_after(SkxPhraseWords *p)
{
	int			i;

	p->npositions = 0;
	for (i = 0; i < p->nwords; i++)
	{
		SkxPhraseWord *word = &p->words[i];
		int64		kept = 0;
		int64		k;

		for (k = 0; k < word->npositions; k++)
		{
			word->positions[kept] = word->positions[k];
			kept += word->positions[k].doc < p->range_until;
		}
		word->npositions = kept;
		p->npositions += kept;
	}
}

/*
 * Ends the range where the later half of the word's positions begins, but not
 * within its first document.  If the positions that are left are more than
 * half of p->max_positions, the next cut comes when there are twice as many.
 */
static void
skx_words_halve_range(SkxPhraseWords *p, SkxPhraseWord *word)
{
	uint32		first;
	uint32		half;

	if (word->npositions > 0)
	{
		skx_words_sort_positions(word);
		first = word->positions[0].doc;
		half = word->positions[word->npositions / 2].doc;
		p->range_until = Min(p->range_until, Max(half, first + 1));
	}
	skx_words_drop_after(p);
	p->positions_limit = Max(p->max_positions, p->npositions * 2);
}

/*
 * Makes capacity for n positions of a document.  Returns false if the document
 * is not in the range, which this may have made shorter.
 */
static bool
skx_words_reserve(SkxPhraseWords *p, SkxPhraseWord *word, uint32 doc, int n)
{
	if (p->npositions + n > p->positions_limit)
		skx_words_halve_range(p, word);
	if (doc >= p->range_until)
		return false;
	if (word->npositions + n > word->positions_size)
	{
		word->positions_size = Max(word->positions_size * 2,
								   word->npositions + n);
		word->positions = repalloc_huge(word->positions,
										word->positions_size *
										sizeof(SkxOccurrence));
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
skx_words_position_matters(const SkxPhraseWord *word, SkxPhraseEnds ends,
						   uint16 position, uint64 *seen)
{
	bool		matters = false;
	int			i;

	for (i = 0; i < word->nuses; i++)
	{
		const SkxPhraseUse *use = &word->uses[i];
		uint64		bit = i < SKX_BITSET_BITS ? skx_bitset_mask_bit(i) : 0;

		if (!skx_words_has_label(use, position))
			continue;
		if (use->has_offset &&
			(ends & skx_words_match_end(use, position)) == 0 &&
			(use->is_required || (*seen & bit) != 0))
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
skx_words_keep_positions(SkxPhrasePass *pass, uint32 doc, uint32 number,
						 const uint16 *positions, int n)
{
	SkxPhraseWords *p = pass->places;
	SkxPhraseWord *word = pass->word;
	uint64		seen = pass->use == NULL ? p->found_ends[number] : 0;
	SkxOccurrence place = {doc};
	int64		before;
	int			i;

	if (!skx_words_reserve(p, word, doc, Max(n, 1)))
		return;
	before = word->npositions;
	place.has_no_positions = n == 0;
	if (place.has_no_positions)
		word->positions[word->npositions++] = place;
	for (i = 0; i < n; i++)
	{
		place.position = positions[i];
		word->positions[word->npositions] = place;
		word->npositions += skx_words_position_matters(word,
													   p->match_ends[number],
													   positions[i],
													   &seen);
	}
	if (pass->use == NULL)
		p->found_ends[number] = seen;
	p->npositions += word->npositions - before;
}

/*
 * Reads posting i of the list's sub-block, whose document is in the scope.  A
 * phrase does not match if an operand that it requires has no positions.
 */
static void
skx_words_read_posting(SkxPhrasePass *pass, int i, uint32 doc, uint32 number)
{
	SkxPhraseWords *p = pass->places;
	SkxPhraseEnds ends = p->match_ends[number];
	uint16		positions[SKX_POSITIONS_MAX];
	int			n;

	if (ends == 0)
		return;
	n = skx_cursor_positions(p->cursor, i, positions);
	if (pass->use != NULL)
	{
		SkxPhraseEnds found = skx_words_match_ends(pass->use, positions,
												   n) & ends;

		if (n == 0)
			p->match_ends[number] = 0;
		/* most positions are not where the phrase needs them */
		if (found == 0)
			return;
		p->found_ends[number] |= found;
	}
	if (pass->keeps_positions)
		skx_words_keep_positions(pass, doc, number, positions, n);
}

/*
 * Sets found to those of postings [i, end) of the sub-block that are in the
 * scope; returns how many.  It has no branch, since a branch could not be
 * predicted.
 */
static inline int
skx_words_postings_in_scope(const SkxPhraseWords *p, int i, int end,
							int *found)
{
	const uint32 *docs = p->cursor->docs;
	int			n = 0;

	for (; i < end; i++)
	{
		found[n] = i;
		n += skx_bitset_test(p->bits, docs[i] - p->range_from);
	}
	return n;
}

/* Reads postings [i, end) of the sub-block. */
static void
skx_words_read_subblock(SkxPhrasePass *pass, int i, int end)
{
	SkxPhraseWords *p = pass->places;
	const uint32 *docs = p->cursor->docs;
	uint32		numbers[SKX_SUBBLOCK];
	int			found[SKX_SUBBLOCK];
	int			n = 0;
	int			k;

	if (p->doc_array == NULL)
		n = skx_words_postings_in_scope(p, i, end, found);
	else
		for (; i < end; i++)
			if (skx_query_scope_find_doc(p, docs[i]) != SKX_NO_DOC)
				found[n++] = i;
	for (k = 0; k < n; k++)
	{
		numbers[k] = skx_query_scope_doc_number(p, docs[found[k]]);
		__builtin_prefetch(&p->match_ends[numbers[k]]);
	}
	for (k = 0; k < n; k++)
		skx_words_read_posting(pass, found[k], docs[found[k]], numbers[k]);
}

/* Goes through the list; decodes all of its sub-blocks in the range. */
static void
skx_words_traverse_list(SkxPhrasePass *pass)
{
	SkxPhraseWords *p = pass->places;
	SkxCursor  *c = p->cursor;
	uint32		doc = skx_cursor_seek(c, p->range_from);

	while (doc < p->range_until)
	{
		int			end = c->n;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= p->range_until)
			end--;
		skx_words_read_subblock(pass, c->i, end);
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
skx_words_first_from(const uint32 *docs, uint32 i, uint32 n, uint32 target)
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
skx_words_seek_list(SkxPhrasePass *pass)
{
	SkxPhraseWords *p = pass->places;
	SkxCursor  *c = p->cursor;
	uint32		i = 0;

	while (i < p->n && pass->docs[i] < p->range_until)
	{
		uint32		doc = skx_cursor_seek(c, pass->docs[i]);

		if (doc >= p->range_until)
			break;
		i = skx_words_first_from(pass->docs, i, p->n, doc);
		if (i < p->n && pass->docs[i] == doc)
			skx_words_read_posting(pass, c->i, doc, i++);
	}
}

static void
skx_words_read_term(SkxPhrasePass *pass, const SkxTerm *term)
{
	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin_term(pass->places->cursor, term);
	if (pass->docs != NULL &&
		term->df / SKX_SCOPE_SEEK_RATIO >= pass->places->n)
		skx_words_seek_list(pass);
	else
		skx_words_traverse_list(pass);
}

/* Reads the lists of the terms that are not read yet. */
static void
skx_words_flush_terms(SkxPhrasePass *pass)
{
	int			i;

	skx_cursor_prefetch_terms(pass->places->seg, pass->terms, pass->nterms);
	for (i = 0; i < pass->nterms; i++)
		skx_words_read_term(pass, &pass->terms[i]);
	pass->nterms = 0;
}

/*
 * Returns false if the dictionary tells that the list has no document in the
 * scope.
 */
static bool
skx_words_may_be_in_scope(const SkxPhraseWords *p, const SkxTerm *term)
{
	uint32		docs[SKX_SUBBLOCK];
	uint32		i;

	if (!skx_segment_list_is_inline(term) ||
		skx_codec_short_docs(term->bytes, term->bytes + term->inline_size,
							 term->df, docs) == NULL)
		return true;
	for (i = 0; i < term->df; i++)
		if (docs[i] >= p->range_from && docs[i] < p->range_until &&
			skx_query_scope_doc_number(p, docs[i]) != SKX_NO_DOC)
			return true;
	return false;
}

/*
 * Visits a term.  Most lists stand in the dictionary, and most of these have
 * no document in the scope.  The other lists are prefetched together.
 */
static bool
skx_words_visit_term(const SkxTerm *term, const char *lexeme, int len,
					 void *arg)
{
	SkxPhrasePass *pass = arg;

	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_INLINE)
	{
		if (skx_words_may_be_in_scope(pass->places, term))
			skx_words_read_term(pass, term);
		return true;
	}
	if (pass->nterms == SKX_SCOPE_PREFETCH_TERMS)
		skx_words_flush_terms(pass);
	pass->terms[pass->nterms++] = *term;
	return true;
}

/*
 * If `ends` is true, leaves only the ends that were found.  Clears
 * p->found_ends.
 */
static void
skx_words_keep_found_ends(SkxPhraseWords *p, bool ends)
{
	uint32		i;

	for (i = 0; ends && i < p->n; i++)
		p->match_ends[i] &= p->found_ends[i];
	memset(p->found_ends, 0, sizeof(SkxPhraseEnds) * (Size) p->n);
}

void
skx_query_words_read_prefix(SkxPhraseWords *p, SkxPhraseWord *word,
							const SkxPhraseUse *use, bool keeps)
{
	SkxPhrasePass *pass = palloc(sizeof(SkxPhrasePass));

	pass->places = p;
	pass->word = word;
	pass->use = use;
	pass->keeps_positions = keeps;
	pass->nterms = 0;
	/* if there are few documents, they are sought in lists */
	pass->docs = p->n > SKX_SCOPE_SEEK_DOCS_MAX ? NULL :
		skx_query_scope_docs(p);
	if (keeps && word->positions == NULL)
	{
		word->positions_size = SKX_SCOPE_POSITIONS_INIT;
		word->positions = palloc(sizeof(SkxOccurrence) * word->positions_size);
	}
	p->cursor = skx_cursor_create(p->seg,
								  p->doc_array != NULL ? SKX_CURSOR_PROBE :
								  SKX_CURSOR_LEAD_FIRST);
	skx_segment_visit_prefix(p->seg, word->lexeme, word->len, true, NULL,
							 skx_words_visit_term, pass);
	skx_words_flush_terms(pass);
	skx_cursor_close(p->cursor);
	skx_words_keep_found_ends(p, use != NULL);
	if (keeps)
		skx_words_sort_positions(word);
	pfree(pass);
}

/* Some documents of the scope, whose positions are located together. */
typedef struct SkxPhraseDocBatch
{
	int			n;
	uint32		docs[SKX_SCOPE_LOCATE_DOCS];
	uint32		numbers[SKX_SCOPE_LOCATE_DOCS];
	SkxPositionsRef places[SKX_SCOPE_LOCATE_DOCS];
} SkxPhraseDocBatch;

/*
 * Finds where the list's positions in some documents are; drops the documents
 * that have none.
 */
static void
skx_words_locate_docs(SkxPhraseWords *p, SkxCursor *list,
					  SkxPhraseDocBatch *some)
{
	int			kept = 0;
	int			i;

	skx_cursor_set_targets(list, some->docs, some->n);
	for (i = 0; i < some->n; i++)
	{
		uint32		number = some->numbers[i];

		if (!skx_cursor_locate(list, some->docs[i], &some->places[kept]) ||
			some->places[kept].tf == 0)
		{
			p->match_ends[number] = 0;
			continue;
		}
		some->numbers[kept++] = number;
	}
	skx_cursor_set_targets(list, NULL, 0);
	some->n = kept;
}

void
skx_query_words_read_lexeme(SkxPhraseWords *p, const SkxPhraseWord *word,
							const SkxPhraseUse *use)
{
	SkxPhraseDocBatch *some;
	SkxPositionsRef *places;
	SkxCursor  *list;
	uint16		positions[SKX_POSITIONS_MAX];
	SkxScopeWalk walk;

	if (word->term.df == 0)
	{
		memset(p->match_ends, 0, sizeof(SkxPhraseEnds) * (Size) p->n);
		return;
	}
	some = palloc(sizeof(SkxPhraseDocBatch));
	places = some->places;
	list = skx_cursor_open(p->seg, &word->term, SKX_CURSOR_PROBE);
	skx_query_scope_begin(p, &walk);
	while ((some->n = skx_query_scope_next(p, &walk, some->docs,
										   some->numbers,
										   SKX_SCOPE_LOCATE_DOCS)) > 0)
	{
		int			asked = 0;
		int			i;

		CHECK_FOR_INTERRUPTS();
		skx_words_locate_docs(p, list, some);
		for (i = 0; i < some->n; i++)
		{
			int			n;

			if (i >= asked && i % SKX_PHRASE_CHECK_DOCS == 0)
				asked = skx_cursor_prefetch_positions(&list, &places, 1, i,
													  some->n, skx_query_has_read(p->page_reads));
			n = skx_cursor_positions_at(list, &some->places[i], positions);
			p->match_ends[some->numbers[i]] &=
				skx_words_match_ends(use, positions, n);
		}
	}
	skx_cursor_close(list);
	pfree(some);
}
