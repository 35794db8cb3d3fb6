/*
 * topk_list.h
 *	  The posting lists of a search, with bounds of their contributions.
 */
#ifndef SKX_TOPK_LIST_H
#define SKX_TOPK_LIST_H

#include "answer/topk/topk.h"
#include "support/fault/fault.h"

/* One pass over one segment (topk_internal.h). */
typedef struct SkxTopkRun SkxTopkRun;

/* topk_vector.c : arithmetic on arrays, with vector instructions */

/*
 * Keeps the candidates whose sum is at least `limit`, in both arrays and in
 * their order.  Returns their number.
 */
extern int	skx_topk_keep_above(uint32 *docs, int32 *sums, int n, int32 limit);

/*
 * Sets tfs to the frequencies of n postings.  A frequency of 0, of a lexeme
 * without positions, becomes 1.
 */
extern void skx_topk_copy_tfs(const uint16 *tf, int n, float *tfs);

/*
 * Collects the documents whose sum is at least `limit`.  from_sums has the
 * sums of the n documents from `from` on.  Puts them into docs and sums, and
 * returns their number.
 */
extern int	skx_topk_collect_above(const int32 *from_sums, int n, uint32 from,
								   int32 limit, uint32 *docs, int32 *sums);

/* Where a slot (topk_tally.c) has a sum of 11 bits; the bits below are flags. */
#define SKX_TOPK_SLOT_SUM_SHIFT		20

/*
 * Collects the documents whose slot has a sum of at least `limit`, which must
 * be above 0, and clears all slots.  slots has those of the n documents from
 * `from` on; there are slots up to a multiple of 32.  Puts the documents and
 * their slots into docs and found, and returns their number.
 */
extern int	skx_topk_collect_slots(uint32 *slots, int n, uint32 from,
								   int32 limit, uint32 *docs, uint32 *found);

/* topk_list.c : a posting list in a search */

/*
 * A posting list of the ranking query in a segment, or one that is required
 * without being scored.
 */
typedef struct SkxTopkList
{
	SkxCursor  *cursor;			/* in memory for a prefix, unless the segment
								 * has its list */
	const SkxScoreTerm *term;	/* NULL: required only */
	float		weight;			/* of the word: factor of contributions */
	bool		uses_labels;	/* the frequency of a posting depends on its
								 * labels */
	int32		max_contribution;	/* bound of all contributions */
	int32		window_bound;	/* bound in the current window */
	int64		prefix_bound;	/* sum of the bounds of this and all lists
								 * before it */
	struct SkxTopkTallyList *tally; /* topk_tally.c: the list with a further
									 * cursor */
	SkxPositionsRef *position_refs; /* where the positions of each candidate
									 * of a sub-block of the lead are; NULL:
									 * unused */
	int			position_index; /* index of the last candidate examined in the
								 * run's `placed` */
	float	   *tfs;			/* frequency in each candidate, used with the
								 * run's `parts_last` */
	SkxImpacts	competing_impacts;	/* impacts `competing_tfs` was computed
									 * for */
	int32		competing_floor;	/* contribution `competing_tfs` was
									 * computed for; 0: not computed yet */
	uint64		competing_tfs;	/* frequencies that can give `competing_floor` */
	uint32		checked_from;	/* with assertions: documents [told_from, */
	uint32		checked_to;		/* told_to) were said to get `checked_bound`
								 * at most, */
	int32		checked_bound;
	uint32		checked_end;	/* and those of the sub-block with this end */
	int32		checked_sub_bound;	/* told_sub at most */
} SkxTopkList;

/*
 * Opens the posting list of a term, in the current memory context, and
 * computes its bound.  `seg` has the term: the segment of the search, or its
 * prefixes.  scored is the word that it is scored by, or NULL.
 * labels is the set of labels that postings must have, or 0 for any.
 */
extern SkxTopkList *skx_topk_list_open(SkxTopkRun *run, SkxSegment *seg,
									   const SkxTerm *term,
									   const SkxScoreTerm *scored,
									   uint8 labels);

/*
 * Moves *l, whose cursor the caller has created, to the posting list of
 * another term.  Does not compute bounds.  Other arguments are those of
 * skx_topk_list_open().
 */
extern void skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l,
								const SkxTerm *term,
								const SkxScoreTerm *scored, uint8 labels);

/*
 * Sorts lists by their largest contributions (`max_contribution`), ascending.
 */
extern void skx_topk_list_sort(SkxTopkList **lists, int n);

/* Moves a list, which must not be in memory, back to its beginning. */
extern void skx_topk_list_rewind(SkxTopkRun *run, SkxTopkList *l);

/* Returns a bound of the contributions in the current sub-block. */
static inline int32
skx_topk_list_sub_bound(SkxTopkList *l)
{
	int32		bound = l->term == NULL ? 0 :
		skx_cursor_bound_subblock(l->cursor);

#ifdef USE_ASSERT_CHECKING
	if (skx_fault_breaks_contract(SKX_CONTRACT_SUB_BOUND))
		bound = Min(bound, 1);
	l->checked_end = l->cursor->end;
	l->checked_sub_bound = bound;
#endif
	return bound;
}

/*
 * Returns a bound of the contributions to documents in [from, to).  The
 * cursor must have reached `from`.
 */
static inline int32
skx_topk_list_bound(SkxTopkList *l, uint32 from, uint32 to)
{
	int32		bound = l->term == NULL ? 0 :
		skx_cursor_bound(l->cursor, from, to);

#ifdef USE_ASSERT_CHECKING
	if (skx_fault_breaks_contract(SKX_CONTRACT_LIST_BOUND))
		bound = Min(bound, 1);
	l->checked_from = from;
	l->checked_to = to;
	l->checked_bound = bound;
#endif
	return bound;
}

/*
 * Puts the documents in [from, to) of the current sub-block into docs,
 * whatever their labels.  Returns their number.
 */
extern int	skx_topk_list_range_docs(SkxTopkList *l, uint32 from, uint32 to,
									 uint32 *docs);

/*
 * Puts the documents in [from, to) of the current sub-block, and the
 * contributions to them, into docs and parts.  Returns their number.  Leaves
 * out postings without the labels that count, and may leave out documents
 * whose contribution is below `floor`.
 */
extern int	skx_topk_list_contributions(SkxTopkRun *run, SkxTopkList *l,
										uint32 from, uint32 to, int64 floor,
										uint32 *docs, int32 *parts);

/* Sums of documents in a window, for skx_topk_list_add_window(). */
typedef struct SkxTopkWindowSums
{
	const int32 *sums;			/* sums of the documents from `first_doc` on */
	uint32		first_doc;		/* first document of the window */
	int32		min_sum;		/* least sum of interest */
} SkxTopkWindowSums;

/*
 * Does as skx_topk_list_contributions() with a floor of 0.  May leave out
 * documents whose sum in *join is below join->min_sum.
 */
extern int	skx_topk_list_add_window(SkxTopkRun *run, SkxTopkList *l,
									 uint32 from, uint32 to,
									 const SkxTopkWindowSums *join,
									 uint32 *docs, int32 *parts);

/*
 * Sets *part to the contribution of posting i of the decoded sub-block, which
 * is 0 for a list that is only required.  Returns false if the posting has
 * none of the labels that count.
 */
extern bool skx_topk_list_contribution(SkxTopkRun *run, SkxTopkList *l, int i,
									   int32 *part);

/*
 * Does as skx_topk_list_contribution() without reading the norm.  Sets *tf to
 * the frequency of posting i, if the list is scored, and *bound to a bound of
 * its contribution.  *bound is 0 for a list that is only required.  It is also
 * 0 while there is no threshold and nothing has been gathered (topk_cold.c).
 */
extern bool skx_topk_list_posting_bound(SkxTopkRun *run, SkxTopkList *l, int i,
										float *tf, int32 *bound);

/* topk_prefix.c : the posting list of a prefix */

/*
 * Opens the list that the segment has of a prefix, in the current memory
 * context.  Returns NULL if it has none, or if labels have weights.
 */
extern SkxTopkList *skx_topk_open_stored_list(SkxTopkRun *run,
											  const SkxScoreTerm *scored);

/*
 * Number of documents up to which a whole scope is counted at once, and up to
 * which a scope may list its documents.
 */
#define SKX_TOPK_SCOPE_DOCS_MAX	(1 << 18)

/* The documents in which a prefix is looked for. */
typedef struct SkxTopkScope
{
	const uint32 *docs;			/* ascending; NULL: all of a range */
	uint32		from;			/* first index of docs, or first document */
	uint32		to;				/* end of the indexes, or documents */
} SkxTopkScope;

/*
 * Gathers the postings of all lexemes with the prefix in the scope, and
 * returns their list, in the current memory context.  Returns NULL if they
 * are known not to occur in the scope.  A large list is gathered in ranges of
 * documents, as the search reaches them.
 */
extern SkxTopkList *skx_topk_open_prefix_list(SkxTopkRun *run,
											  const SkxScoreTerm *scored,
											  const SkxTopkScope *scope);

/*
 * Returns the largest number of postings of one prefix that are held in
 * memory, given the other prefixes of the query.
 */
extern uint32 skx_topk_prefix_max_postings(const SkxTopkRun *run);

/*
 * Returns a list of the postings in *memory, which must stay valid, and
 * computes its bounds.
 */
extern SkxTopkList *skx_topk_open_memory_list(SkxTopkRun *run,
											  const SkxScoreTerm *scored,
											  SkxCursorMemory *memory);

/* topk_rare.c : the posting list of a prefix with few postings */

/*
 * Gathers the list of a prefix as a whole, if it has few postings.  Returns
 * false if it has many.  Sets *list to the list, or to NULL if the prefix
 * does not occur in the scope or has many postings.  scope->docs must be
 * NULL.  docs is the number of documents that skx_topk_open_prefix_list()
 * would have to count.
 */
extern bool skx_topk_open_rare_list(SkxTopkRun *run,
									const SkxScoreTerm *scored,
									const SkxTopkScope *scope, uint32 docs,
									SkxTopkList **list);

/*
 * Gathers the lists of n words of a group, with those of a range of documents
 * that the run searches, and returns their list, or NULL if there are none.  Its
 * contributions bound those of all of these words together.
 */
extern SkxTopkList *skx_topk_open_rare_words(SkxTopkRun *run,
											 const SkxTerm **terms,
											 const SkxScoreTerm **scored,
											 int n);

/* topk_filter.c : the documents that match a query, as a list */

/*
 * Returns a list of the documents that a scan returns, in the current memory
 * context.  It is required without being scored.  The scan must stay open as
 * long as the list, and there may be only one cursor of the list.
 */
extern SkxTopkList *skx_topk_open_filter_list(SkxTopkRun *run,
											  SkxDocs *matches);

#endif							/* SKX_TOPK_LIST_H */
