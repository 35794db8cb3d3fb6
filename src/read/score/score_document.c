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

/* Returns true if an entry of the document is the term's lexeme. */
static bool
skx_score_is_entry(const SkxScoreTerm *term, TSVector document, int entry)
{
	const WordEntry *e = &ARRPTR(document)[entry];

	return e->len == term->len &&
		memcmp(STRPTR(document) + e->pos, term->lexeme, term->len) == 0;
}

/*
 * Returns the number of the document's entry of a term that is no prefix, or
 * -1 if it has none.
 */
static int
skx_score_find_entry(const SkxScoreTerm *term, TSVector document)
{
	int			i = skx_score_entry(term->lexeme, term->len, document);

	return i < document->size && skx_score_is_entry(term, document, i) ? i : -1;
}

/*
 * Returns the number of the first term with the document's lexeme, among those
 * that are no prefixes, or -1 if there is none.
 */
static int
skx_score_find_term(const SkxScorer *scorer, const char *lexeme, int len)
{
	int			low = 0;
	int			high = scorer->nplain - 1;
	int			found = -1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;
		int			cmp = skx_score_compare(scorer->terms[middle].lexeme,
											scorer->terms[middle].len,
											lexeme, len);

		if (cmp == 0)
			found = middle;
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return found;
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

static int
skx_score_compare_positions(const void *a, const void *b)
{
	return (int) *(const uint16 *) a - (int) *(const uint16 *) b;
}

int
skx_score_unite_positions(uint16 *positions, int n)
{
	int			kept = 0;
	int			i;

	qsort(positions, n, sizeof(uint16), skx_score_compare_positions);
	for (i = 0; i < n; i++)
	{
		if (kept == 0 || positions[kept - 1] != positions[i])
			positions[kept++] = positions[i];
	}
	return kept;
}

/* Sets positions to those of a side of a pair.  Returns their number. */
static int
skx_score_side_positions(const SkxScorer *scorer, const SkxScoreSide *side,
						 TSVector document, const int *at, uint16 *positions)
{
	int			n = 0;
	int			i;

	for (i = 0; i < side->n; i++)
	{
		int			term = side->terms[i];
		int			entry = skx_score_pair_entry(scorer, term, document, at);

		if (entry >= 0)
			n += skx_score_positions(&scorer->terms[term], document, entry,
									 positions + n);
	}
	return side->n > 1 ? skx_score_unite_positions(positions, n) : n;
}

static int32
skx_score_document_pair(const SkxScorer *scorer, int pair, TSVector document,
						const int *at, float inverse)
{
	uint16		few[2][SKX_POSITIONS_MAX];
	uint16	   *positions[2];
	int			n[2] = {0, 0};
	int			ordered;
	int			near;
	int			i;

	for (i = 0; i < 2; i++)
	{
		const SkxScoreSide *side = &scorer->sides[pair][i];

		positions[i] = side->n <= 1 ? few[i] :
			palloc(sizeof(uint16) * SKX_POSITIONS_MAX * side->n);
		if (i == 0 || n[0] > 0)
			n[i] = skx_score_side_positions(scorer, side, document, at,
											positions[i]);
	}
	skx_rank_count_pairs(positions[0], n[0], positions[1], n[1], &ordered,
						 &near);
	for (i = 0; i < 2; i++)
	{
		if (positions[i] != few[i])
			pfree(positions[i]);
	}
	return skx_rank_pair_contribution(scorer->pairs[pair].weight, ordered,
									  near, inverse);
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
	int32	   *best;			/* by group: the largest contribution of its
								 * words, 0 if there is none */
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
	if (scorer->terms[term].group == 0)
		s->sum += part;
	else
		s->best[scorer->terms[term].group - 1] =
			Max(s->best[scorer->terms[term].group - 1], part);
}

/*
 * Adds those of the groups.  Leaves of the words of each only the first with
 * the largest contribution that.
 */
static void
skx_score_add_groups(const SkxScorer *scorer, SkxScoreSum *s)
{
	int			i;

	for (i = 0; i < scorer->ngroups; i++)
		s->sum += s->best[i];
	for (i = 0; i < scorer->nplain && s->contributions != NULL; i++)
	{
		int			group = scorer->terms[i].group;

		if (group == 0)
			continue;
		if (s->contributions[i] == s->best[group - 1])
			s->best[group - 1] = -1;
		else
			s->contributions[i] = 0;
	}
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

		for (; term >= 0 && term < scorer->nplain &&
			 skx_score_is_entry(&scorer->terms[term], document, i); term++)
			skx_score_add_word(scorer, term, document, i, s);
	}
}

int32
skx_score_document_sums(const SkxScorer *scorer, TSVector document,
						int32 *parts, int32 *pairs)
{
	int			few[64];
	int32		best[SKX_RANKING_GROUPS_MAX];
	SkxScoreSum s = {.contributions = parts,.best = best};
	int			i;

	if (scorer->nterms <= (int) lengthof(few))
		s.entries = few;
	s.inverse =
		scorer->inverses[skx_rank_norm_encode(skx_pending_length(document))];
	memset(best, 0, sizeof(int32) * scorer->ngroups);
	skx_score_document_words(scorer, document, &s);
	if (scorer->ngroups > 0)
		skx_score_add_groups(scorer, &s);
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
		int32		part = skx_score_document_pair(scorer, i, document,
												   s.entries,
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
