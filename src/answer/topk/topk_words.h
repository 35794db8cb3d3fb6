/*
 * topk_words.h
 *	  What the filter of a search implies about the words of its ranking query,
 *	  and what the words imply about the filter.
 */
#ifndef SKX_TOPK_WORDS_H
#define SKX_TOPK_WORDS_H

#include "answer/topk/topk_internal.h"

/* topk_words.c : words and filter */

/*
 * Compares two prefixes (SkxQueryWord) by lexeme, then by labels, for qsort().
 */
extern int	skx_topk_compare_prefixes(const void *a, const void *b);

/*
 * Returns true if the prefix of a scored term, with the same labels, is one
 * of topk->split_filter.prefixes: required by the filter, or an alternative of
 * a disjunction.
 */
extern bool skx_topk_requires_prefix(const SkxTopk *topk,
									 const SkxScoreTerm *scored);

/*
 * Returns true if a prefix of the filter is ranked by, since the search then
 * knows which documents have it.
 */
extern bool skx_topk_ranks_prefix(const SkxQueryWord *prefix, void *arg);

/*
 * Determines what the filter implies about the words, and what the words imply
 * about the filter.
 */
extern void skx_topk_relate_filter(SkxTopk *topk);

/* Removes from the filter what is true of each document with a ranked word. */
extern void skx_topk_remove_words(SkxTopk *topk);

/*
 * Returns true if a search may begin on each part of a segment by gathering
 * many posting lists of the filter.
 */
extern bool skx_topk_filter_gathers(const SkxScorer *scorer,
									const SkxQuery *filter);

#endif							/* SKX_TOPK_WORDS_H */
