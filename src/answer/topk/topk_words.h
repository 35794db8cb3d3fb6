/*
 * topk_words.h
 *	  What the filter of a search implies about the words of its ranking query,
 *	  and what the words imply about the filter; which words have one list.
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

/* topk_groups.c : rare words of groups, gathered as one list each */

/* Returns which terms are gathered, palloc'd; none unless it is of use. */
extern bool *skx_topk_gathered_words(const SkxTopkRun *run,
									 const SkxTopkSegment *s);

/* Gathers these words, and adds their lists to run->optional. */
extern void skx_topk_open_gathered(SkxTopkRun *run, const SkxTopkSegment *s,
								   const bool *gathered);

#endif							/* SKX_TOPK_WORDS_H */
