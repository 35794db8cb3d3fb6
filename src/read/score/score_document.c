/*
 * score_document.c
 *	  The score of one document, from its tsvector.
 *
 * An index scan gets the same sum from postings.  Both count occurrences by
 * one function, in multiples of 1 / SKX_SCORE_LABEL_UNITS.  So sums of counts
 * are exact in single precision whatever their order.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "index/column/column_value.h"
#include "index/pending/pending.h"
#include "read/score/score_internal.h"

/*
 * The occurrences of a word in a document, by label.  `without_positions` is
 * the number of lexemes without positions.
 */
typedef struct SkxScoreCount
{
	uint32		labels[SKX_NLABELS];
	uint32		without_positions;
} SkxScoreCount;

/*
 * Returns how much the occurrences count, or -1 if there are none.  A lexeme
 * without positions counts like one position with the label D.
 */
static inline float
skx_score_count_to_tf(const SkxScorer *scorer, const SkxScoreCount *count)
{
	uint32		n = count->labels[0] + count->labels[1] + count->labels[2] +
		count->labels[3] + count->without_positions;
	float		value;

	if (n == 0)
		return -1;
	if (scorer->is_unweighted)
		value = (float) n;
	else
		value = (float) (count->labels[0] + count->without_positions) *
			(float) scorer->options.labels[0] +
			(float) count->labels[1] * (float) scorer->options.labels[1] +
			(float) count->labels[2] * (float) scorer->options.labels[2] +
			(float) count->labels[3] * (float) scorer->options.labels[3];
	return Min(value, SKX_SCORE_TF_MAX);
}

float
skx_score_tf_labels(const SkxScorer *scorer, const SkxScoreTerm *term,
					SkxCursor *c, int i)
{
	SkxScoreCount count = {{0, 0, 0, 0}, 0};
	const SkxPostings *p = skx_cursor_labels(c);
	uint32		rest = p->tf[i];
	int			label;

	if (rest == 0)
		count.without_positions = 1;
	else
	{
		for (label = 1; label < SKX_NLABELS; label++)
		{
			count.labels[label] = p->label_tf[label - 1][i];
			rest -= count.labels[label];
		}
		count.labels[SKX_LABEL_D] = rest;
		for (label = 0; label < SKX_NLABELS; label++)
			if (term->labels != 0 && (term->labels & (1 << label)) == 0)
				count.labels[label] = 0;
	}
	return skx_score_count_to_tf(scorer, &count);
}

/* Adds those occurrences of a lexeme that the term counts. */
static void
skx_score_count_entry(const SkxScoreTerm *term, TSVector document,
					  const WordEntry *entry, SkxScoreCount *count)
{
	const WordEntryPos *positions;
	int			n;
	int			i;

	if (!entry->haspos)
	{
		count->without_positions++;
		return;
	}
	positions = POSDATAPTR(document, entry);
	n = POSDATALEN(document, entry);
	for (i = 0; i < n; i++)
	{
		int			label = WEP_GETWEIGHT(positions[i]);

		if (term->labels == 0 || (term->labels & (1 << label)) != 0)
			count->labels[label]++;
	}
}

int
skx_score_entry(const char *lexeme, int len, TSVector document)
{
	const WordEntry *entries = ARRPTR(document);
	const char *bytes = STRPTR(document);
	int			low = 0;
	int			high = document->size;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (skx_score_compare(bytes + entries[middle].pos,
							  entries[middle].len, lexeme, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns the number of the document's entry of a term that is no prefix, or
 * -1 if it has none.
 */
static int
skx_score_find_entry(const SkxScoreTerm *term, TSVector document)
{
	const WordEntry *entries = ARRPTR(document);
	int			i = skx_score_entry(term->lexeme, term->len, document);

	if (i < document->size && entries[i].len == term->len &&
		memcmp(STRPTR(document) + entries[i].pos, term->lexeme,
			   term->len) == 0)
		return i;
	return -1;
}

/*
 * Returns the number of the term with the document's lexeme, among those that
 * are no prefixes, or -1 if there is none.
 */
static int
skx_score_find_term(const SkxScorer *scorer, const char *lexeme, int len)
{
	int			low = 0;
	int			high = scorer->nplain - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;
		int			cmp = skx_score_compare(scorer->terms[middle].lexeme,
											scorer->terms[middle].len,
											lexeme, len);

		if (cmp == 0)
			return middle;
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return -1;
}

/*
 * Returns how much the occurrences of a term count, or -1 if the document
 * lacks it.  `at` is the entry of a term that is no prefix.
 */
static float
skx_score_document_tf(const SkxScorer *scorer, const SkxScoreTerm *term,
					  TSVector document, int at)
{
	const WordEntry *entries = ARRPTR(document);
	SkxScoreCount count = {{0, 0, 0, 0}, 0};
	int			i;

	if (!term->prefix)
	{
		if (at < 0)
			return -1;
		skx_score_count_entry(term, document, &entries[at], &count);
		return skx_score_count_to_tf(scorer, &count);
	}
	for (i = skx_score_entry(term->lexeme, term->len, document); i < document->size; i++)
	{
		if (entries[i].len < term->len ||
			memcmp(STRPTR(document) + entries[i].pos, term->lexeme,
				   term->len) != 0)
			break;
		if (term->len == 0 &&
			skx_column_is_value(STRPTR(document) + entries[i].pos,
								entries[i].len))
			continue;
		skx_score_count_entry(term, document, &entries[i], &count);
	}
	return skx_score_count_to_tf(scorer, &count);
}

float
skx_score_count(const SkxScorer *scorer, int term, TSVector document)
{
	const SkxScoreTerm *t = &scorer->terms[term];

	return skx_score_document_tf(scorer, t, document,
								 t->prefix ? -1 :
								 skx_score_find_entry(t, document));
}

/*
 * Sets positions to those with a label that the term counts, ascending.
 * Returns how many there are.
 */
static int
skx_score_positions(const SkxScoreTerm *term, TSVector document, int at,
					uint16 *positions)
{
	const WordEntry *entry = &ARRPTR(document)[at];
	const WordEntryPos *from;
	int			n = 0;
	int			i;

	if (!entry->haspos)
		return 0;
	from = POSDATAPTR(document, entry);
	for (i = 0; i < Min(POSDATALEN(document, entry), SKX_POSITIONS_MAX); i++)
	{
		if (term->labels == 0 ||
			(term->labels & (1 << WEP_GETWEIGHT(from[i]))) != 0)
			positions[n++] = WEP_GETPOS(from[i]);
	}
	return n;
}

/*
 * Returns the entry of a term, or -1 if the document lacks the term or no
 * occurrence counts.  `at` has the entries of the terms, or is NULL if there
 * are very many terms.
 */
static int
skx_score_pair_entry(const SkxScorer *scorer, int term, TSVector document,
					 const int *at)
{
	const SkxScoreTerm *t = &scorer->terms[term];
	int			entry;

	if (at != NULL)
		return at[term];
	entry = skx_score_find_entry(t, document);
	if (entry >= 0 && skx_score_document_tf(scorer, t, document, entry) < 0)
		entry = -1;
	return entry;
}

static int32
skx_score_document_pair(const SkxScorer *scorer, const SkxScorePair *pair,
						TSVector document, const int *at, float inverse)
{
	uint16		a[SKX_POSITIONS_MAX];
	uint16		b[SKX_POSITIONS_MAX];
	int			first = skx_score_pair_entry(scorer, pair->first, document, at);
	int			second;
	int			ordered;
	int			near;

	if (first < 0)
		return 0;
	second = skx_score_pair_entry(scorer, pair->second, document, at);
	if (second < 0)
		return 0;
	skx_rank_count_pairs(a,
						 skx_score_positions(&scorer->terms[pair->first],
											 document,
											 first, a),
						 b,
						 skx_score_positions(&scorer->terms[pair->second],
											 document,
											 second, b),
						 &ordered, &near);
	return skx_rank_pair_contribution(pair->weight, ordered, near, inverse);
}

/*
 * Returns the contribution of a term.  `at` is the entry of a term that is no
 * prefix.
 */
static int32
skx_score_document_contribution(const SkxScorer *scorer, int term,
								TSVector document, int at, float inverse)
{
	const SkxScoreTerm *t = &scorer->terms[term];
	float		tf = skx_score_document_tf(scorer, t, document, at);

	return tf >= 0 ? skx_rank_contribution(t->weight, tf, inverse) : 0;
}

/* The sum of a document while it is computed. */
typedef struct SkxScoreSum
{
	float		inverse;
	int32		sum;
	int32	   *contributions;	/* contributions of the terms; NULL if they
								 * are not needed */
	int		   *entries;		/* entries of the terms; NULL if there are
								 * very many terms */
} SkxScoreSum;

/*
 * Adds the contribution of a term that is no prefix.  `at` is its entry, or
 * -1.
 */
static inline void
skx_score_add_word(const SkxScorer *scorer, int term, TSVector document,
				   int at, SkxScoreSum *s)
{
	int32		part = at < 0 ? 0 :
		skx_score_document_contribution(scorer, term, document, at,
										s->inverse);

	if (s->contributions != NULL)
		s->contributions[term] = part;
	if (s->entries != NULL)
		s->entries[term] = part > 0 ? at : -1;
	s->sum += part;
}

/*
 * Adds the contributions of the terms that are no prefixes.  It looks either
 * the terms or the document's entries up in the others, whichever are fewer.
 */
static void
skx_score_document_words(const SkxScorer *scorer, TSVector document,
						 SkxScoreSum *s)
{
	const WordEntry *entries = ARRPTR(document);
	int			i;

	if (scorer->nplain <= document->size)
	{
		for (i = 0; i < scorer->nplain; i++)
			skx_score_add_word(scorer, i, document,
							   skx_score_find_entry(&scorer->terms[i],
													document), s);
		return;
	}
	if (s->contributions != NULL)
		memset(s->contributions, 0, sizeof(int32) * (Size) scorer->nplain);
	for (i = 0; i < scorer->nplain && s->entries != NULL; i++)
		s->entries[i] = -1;
	for (i = 0; i < document->size; i++)
	{
		int			term = skx_score_find_term(scorer, STRPTR(document) +
											   entries[i].pos,
											   entries[i].len);

		if (term >= 0)
			skx_score_add_word(scorer, term, document, i, s);
	}
}

int32
skx_score_document_sums(const SkxScorer *scorer, TSVector document,
						int32 *parts, int32 *pairs)
{
	int			few[64];
	SkxScoreSum s = {.contributions = parts};
	int			i;

	if (scorer->nterms <= (int) lengthof(few))
		s.entries = few;
	s.inverse =
		scorer->inverses[skx_rank_norm_encode(skx_pending_length(document))];
	skx_score_document_words(scorer, document, &s);
	for (i = scorer->nplain; i < scorer->nterms; i++)
	{
		int32		part = skx_score_document_contribution(scorer, i, document,
														   -1, s.inverse);

		if (parts != NULL)
			parts[i] = part;
		s.sum += part;
	}
	*pairs = 0;
	for (i = 0; i < scorer->npairs; i++)
	{
		int32		part = skx_score_document_pair(scorer, &scorer->pairs[i],
												   document, s.entries,
												   s.inverse);

		if (parts != NULL)
			parts[scorer->nterms + i] = part;
		*pairs += part;
	}
	return s.sum;
}

int32
skx_score_document(const SkxScorer *scorer, TSVector document, int32 *parts)
{
	int32		pairs;
	int32		words = skx_score_document_sums(scorer, document, parts, &pairs);

	return words + pairs;
}
