/*
 * topk_segment.c
 *	  Searches one segment: opens the lists, determines which of them a
 *	  document must be in, and chooses a method.
 */
#include "postgres.h"

#include "answer/topk/topk_words.h"
#include "format/disk/disk_dict.h"
#include "miscadmin.h"
#include "read/estimate/estimate.h"
#include "utils/memutils.h"

/*
 * The documents of a filter are searched if they are fewer than one in
 * SKX_TOPK_FILTER_FRACTION of those that would be searched otherwise.
 */
#define SKX_TOPK_FILTER_FRACTION	4

/*
 * A prefix is gathered only in documents with all required words if at most
 * one in SKX_TOPK_PREFIX_FRACTION of all documents has the rarest of these.
 */
#define SKX_TOPK_PREFIX_FRACTION	16

/*
 * Number of documents with the rarest required word above which it is worth
 * estimating how many documents match the filter.
 */
#define SKX_TOPK_FILTER_DF_MIN	1024

/* Returns true if a word of a side of a pair occurs in the segment. */
static bool
skx_topk_has_side(const SkxTopk *topk, const SkxTopkSegment *s,
				  const SkxScoreSide *side)
{
	int			i;

	for (i = 0; i < side->n; i++)
		if (s->terms[topk->term_lexemes[side->terms[i]]].df > 0)
			return true;
	return false;
}

/*
 * Returns true if both sides of a pair, or two words of a group, occur in the
 * segment.
 */
static bool
skx_topk_has_ceilings(const SkxTopk *topk, const SkxTopkSegment *s)
{
	const SkxScorer *scorer = topk->scorer;
	bool		found[SKX_RANKING_GROUPS_MAX] = {0};
	int			i;

	for (i = 0; i < scorer->npairs; i++)
	{
		if (skx_topk_has_side(topk, s, &scorer->sides[i][0]) &&
			skx_topk_has_side(topk, s, &scorer->sides[i][1]))
			return true;
	}
	for (i = 0; i < scorer->nplain && scorer->ngroups > 0; i++)
	{
		int			group = scorer->terms[i].group;

		if (group == 0 || s->terms[topk->term_lexemes[i]].df == 0)
			continue;
		if (found[group - 1])
			return true;
		found[group - 1] = true;
	}
	return false;
}

/* Returns what the filter requires of the lexeme of a scored word, or NULL. */
static const SkxQueryRequired *
skx_topk_required_word(const SkxTopk *topk, int lexeme, uint8 labels)
{
	int			i;

	for (i = 0; i < topk->split_filter.nrequired; i++)
	{
		const SkxQueryRequired *r = &topk->split_filter.required[i];

		if (topk->filter_lexemes[r->lexeme] == lexeme && r->labels == labels)
			return r;
	}
	return NULL;
}

/*
 * Opens the lists of the scored words.  Sets covered[i] if required word i of
 * the filter is one of them.
 */
static void
skx_topk_open_scored(SkxTopkRun *run, const SkxTopkSegment *s, bool *covered)
{
	SkxTopk    *topk = run->topk;
	const SkxScorer *scorer = topk->scorer;
	bool	   *gathered = skx_topk_gathered_words(run, s);
	int			i;

	for (i = 0; i < scorer->nplain; i++)
	{
		const SkxScoreTerm *scored = &scorer->terms[i];
		int			lexeme = topk->term_lexemes[i];
		const SkxQueryRequired *r;
		SkxTopkList *l;

		if (!skx_query_has_term(&s->terms[lexeme], scored->labels))
			continue;
		r = skx_topk_required_word(topk, lexeme, scored->labels);
		gathered[i] &= r == NULL;
		if (gathered[i])
			continue;
		l = skx_topk_list_open(run, run->seg, &s->terms[lexeme], scored,
							   scored->labels);
		if (r == NULL)
			run->optional[run->noptional++] = l;
		else
		{
			run->required[run->nrequired++] = l;
			covered[r - topk->split_filter.required] = true;
		}
	}
	skx_topk_open_gathered(run, s, gathered);
	pfree(gathered);
}

/* Opens the lists of the required words that are not covered. */
static void
skx_topk_open_required(SkxTopkRun *run, const SkxTopkSegment *s,
					   const bool *covered)
{
	SkxTopk    *topk = run->topk;
	int			i;

	for (i = 0; i < topk->split_filter.nrequired; i++)
	{
		const SkxQueryRequired *r = &topk->split_filter.required[i];
		const SkxTerm *term = &s->terms[topk->filter_lexemes[r->lexeme]];

		if (!covered[i])
			run->required[run->nrequired++] =
				skx_topk_list_open(run, run->seg, term, NULL, r->labels);
	}
}

static int
skx_topk_compare_df(const void *a, const void *b)
{
	const SkxTopkList *x = *(SkxTopkList *const *) a;
	const SkxTopkList *y = *(SkxTopkList *const *) b;

	return x->cursor->df < y->cursor->df ? -1 : x->cursor->df > y->cursor->df;
}

/* Opens another cursor of a list. */
static SkxCursor *
skx_topk_reopen_cursor(SkxTopkRun *run, const SkxCursor *list)
{
	const SkxTerm *term = skx_cursor_term(list);

	if (term == NULL)
		return skx_cursor_open_memory(run->seg, skx_cursor_memory(list));
	return skx_cursor_open(skx_cursor_segment(list), term, SKX_CURSOR_PROBE);
}

/*
 * Puts all documents of a list into docs, by a cursor of its own.  Returns
 * their number.
 */
static uint32
skx_topk_list_all_docs(SkxTopkRun *run, const SkxCursor *list, uint32 *docs)
{
	SkxCursor  *c = skx_topk_reopen_cursor(run, list);
	uint32		ndocs = run->seg->header.ndocs;
	uint32		doc = 0;
	uint32		n = 0;

	while (doc < ndocs)
	{
		int			some;

		CHECK_FOR_INTERRUPTS();
		doc = skx_cursor_take(c, doc, ndocs, docs + n, &some);
		n += some;
	}
	skx_cursor_close(c);
	return n;
}

/*
 * Keeps those of n documents that another list has, too.  Returns their
 * number.
 */
static uint32
skx_topk_intersect_docs(SkxTopkRun *run, const SkxCursor *list, uint32 *docs,
						uint32 n)
{
	SkxCursor  *c = skx_topk_reopen_cursor(run, list);

	n = skx_cursor_filter(c, docs, n);
	skx_cursor_close(c);
	return n;
}

/*
 * Returns true if few documents have all that is required.  Sorts the required
 * lists by df.
 */
static bool
skx_topk_required_are_rare(SkxTopkRun *run)
{
	uint32		df;

	qsort(run->required, run->nrequired, sizeof(SkxTopkList *),
		  skx_topk_compare_df);
	df = run->nrequired > 0 ? run->required[0]->cursor->df : PG_UINT32_MAX;
	return df <= run->seg->header.ndocs / SKX_TOPK_PREFIX_FRACTION &&
		df <= SKX_TOPK_SCOPE_DOCS_MAX;
}

/*
 * If few documents have all that is required, restricts the scope of prefixes
 * to these.  Returns false if there are none.
 */
static bool
skx_topk_narrow_scope(SkxTopkRun *run, SkxTopkScope *scope)
{
	const SkxCursor *rarest;
	uint32	   *docs;
	uint32		n;
	int			i;

	if (!skx_topk_required_are_rare(run))
		return true;
	rarest = run->required[0]->cursor;
	docs = palloc(sizeof(uint32) * (Size) rarest->df);
	n = skx_topk_list_all_docs(run, rarest, docs);
	for (i = 1; i < run->nrequired && n > 0; i++)
		n = skx_topk_intersect_docs(run, run->required[i]->cursor, docs, n);
	scope->docs = docs;
	scope->from = 0;
	scope->to = n;
	return n > 0;
}

/*
 * Adds the list of a prefix, which is NULL if no document has the prefix.
 * Returns false if it is required nevertheless.
 */
static bool
skx_topk_add_prefix(SkxTopkRun *run, const SkxScoreTerm *scored,
					SkxTopkList *l)
{
	bool		required = skx_topk_requires_prefix(run->topk, scored);

	if (l == NULL)
		return !required;
	if (required)
		run->required[run->nrequired++] = l;
	else
		run->optional[run->noptional++] = l;
	return true;
}

/*
 * Returns the number of documents in which a prefix would have to be counted.
 * Returns 0 if few documents have all that is required, and pages have to be
 * read.  Then norms of other documents are not worth reading.
 */
static uint32
skx_topk_scope_docs(SkxTopkRun *run)
{
	if (!skx_topk_required_are_rare(run))
		return run->to - run->from;
	return skx_segment_is_warm(run->seg) ? run->required[0]->cursor->df : 0;
}

/*
 * Opens the prefixes, those that have a list or few postings first, since one
 * of these may restrict the scope of the others.  Returns false if no document
 * has all that is required.
 */
static bool
skx_topk_open_prefixes(SkxTopkRun *run)
{
	const SkxScorer *scorer = run->scorer;
	int			nprefixes = scorer->nterms - scorer->nplain;
	const SkxScoreTerm **later = palloc(sizeof(SkxScoreTerm *) *
										(nprefixes + 1));
	SkxTopkScope scope = {NULL, run->from, run->to};
	uint32		docs = skx_topk_scope_docs(run);
	SkxTopkList *l;
	int			nlater = 0;
	int			i;

	for (i = scorer->nplain; i < scorer->nterms; i++)
	{
		const SkxScoreTerm *scored = &scorer->terms[i];

		l = skx_topk_open_stored_list(run, scored);
		if (l == NULL &&
			!skx_topk_open_rare_list(run, scored, &scope, docs, &l))
			later[nlater++] = scored;
		else if (!skx_topk_add_prefix(run, scored, l))
			return false;
	}
	if (nlater > 0 && !skx_topk_narrow_scope(run, &scope))
		return false;
	for (i = 0; i < nlater; i++)
	{
		l = skx_topk_open_prefix_list(run, later[i], &scope);
		if (!skx_topk_add_prefix(run, later[i], l))
			return false;
	}
	return true;
}

/* Returns true if the segment has every required lexeme, with its labels. */
static bool
skx_topk_segment_has_required(const SkxTopk *topk, const SkxTopkSegment *s)
{
	int			i;

	for (i = 0; i < topk->split_filter.nrequired; i++)
	{
		const SkxQueryRequired *r = &topk->split_filter.required[i];

		if (!skx_query_has_term(&s->terms[topk->filter_lexemes[r->lexeme]],
								r->labels))
			return false;
	}
	return true;
}

static SkxTerm *
skx_topk_filter_terms(const SkxTopk *topk, const SkxTopkSegment *s)
{
	SkxTerm    *terms;
	int			n;
	int			i;

	(void) skx_query_lexemes(topk->request.filter, &n);
	terms = palloc_extended(sizeof(SkxTerm) * ((Size) n + 1),
							MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
		terms[i] = s->terms[topk->filter_lexemes[i]];
	return terms;
}

/*
 * Closes the required lists, which a scan or the rest of the filter replaces.
 */
static void
skx_topk_close_required(SkxTopkRun *run)
{
	while (run->nrequired > 0)
		skx_cursor_close(run->required[--run->nrequired]->cursor);
}

/*
 * Returns true if a document of the segment can become a hit, by the bounds of
 * the lists.
 */
static bool
skx_topk_lists_can_compete(const SkxTopkRun *run)
{
	int64		total = 0;
	int			i;

	for (i = 0; i < run->nrequired; i++)
		total += run->required[i]->max_contribution;
	for (i = 0; i < run->noptional; i++)
		total += run->optional[i]->max_contribution;
	return total >= run->threshold;
}

/*
 * Returns a bound of the contributions of a list, by its dictionary entry.
 * Only the weight of its word bounds those of a list that is not long, or of a
 * prefix, whose term is NULL.
 */
static int32
skx_topk_term_bound(const SkxTopkRun *run, const SkxTerm *term,
					const SkxScoreTerm *scored)
{
	const SkxScorer *scorer = run->scorer;
	float		weight = run->has_ceilings ? scored->ceiling : scored->weight;

	if (term != NULL && !skx_query_has_term(term, scored->labels))
		return 0;
	if (term != NULL && (term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG)
		return skx_rank_bound(term->long_list.impacts, weight,
							  scorer->max_label_weight, scorer->inverses);
	return skx_rank_contribution(weight, SKX_SCORE_TF_MAX,
								 scorer->inverses[0]);
}

/*
 * Returns a bound of the sums in the segment, or any number from `enough` on if
 * it is not below that.  Reads nothing of the lists.
 */
static int64
skx_topk_segment_bound(const SkxTopkRun *run, const SkxTopkSegment *s,
					   int32 enough)
{
	const SkxTopk *topk = run->topk;
	int64		total = 0;
	int			i;

	if (topk->has_many_words)
		return enough;
	for (i = 0; i < run->scorer->nterms && total < enough; i++)
		total += skx_topk_term_bound(run, topk->term_lexemes[i] < 0 ? NULL :
									 &s->terms[topk->term_lexemes[i]],
									 &run->scorer->terms[i]);
	return total;
}

/* Returns true if a document of the segment may become a hit. */
static bool
skx_topk_segment_may_compete(const SkxTopkRun *run, const SkxTopkSegment *s)
{
	return run->threshold <= 1 ||
		skx_topk_segment_bound(run, s, run->threshold) >= run->threshold;
}

/*
 * Searches the documents that a scan returns, which match the filter.  Lists
 * of required words that are scored become optional.
 */
static void
skx_topk_search_scan(SkxTopkRun *run, SkxDocs *matches)
{
	int			n = 0;
	int			i;

	skx_query_docs_range(matches, run->from, run->to);
	for (i = 0; i < run->nrequired; i++)
	{
		SkxTopkList *l = run->required[i];

		if (l->term != NULL)
			run->optional[run->noptional++] = l;
		else
			run->required[n++] = l;
	}
	run->nrequired = n;
	if (run->topk->has_many_words)
	{
		skx_topk_search_many_filtered(run, matches);
		return;
	}
	skx_topk_close_required(run);
	run->required[run->nrequired++] = skx_topk_open_filter_list(run, matches);
	skx_topk_search_and(run);
}

/*
 * Searches the documents of the filter, if they are far fewer than `others`,
 * the number that would be searched otherwise.  Returns true if it did.
 */
static bool
skx_topk_search_by_filter(SkxTopkRun *run, double others)
{
	SkxDocs    *matches = skx_query_docs_open(run->seg,
											  run->topk->request.filter, SKX_DOCS_ALL);
	bool		few = (double) skx_query_docs_npostings(matches, NULL) *
		SKX_TOPK_FILTER_FRACTION < others;

	if (few)
		skx_topk_search_scan(run, matches);
	skx_query_docs_close(matches);
	return few;
}

/*
 * Returns true if the documents of a filter should be looked up in the lists
 * of the words.  docs is an estimate of the documents of the filter, and steps
 * of the work of finding them.
 */
static bool
skx_topk_filter_is_cheaper(const SkxTopkRun *run, double docs, double steps)
{
	double		best = (double) run->topk->search_rows +
		run->topk->returned_hits +
		run->topk->hits_before;
	double		scored = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
		scored += run->optional[i]->cursor->df;
	return skx_estimate_set_leads(docs, steps, scored, best,
								  run->seg->header.ndocs);
}

/*
 * Searches the documents with a word.  Those that are good enough are tested
 * by the rest of the filter.
 */
static void
skx_topk_search_by_words(SkxTopkRun *run, const SkxTopkSegment *s)
{
	if (run->topk->residual_filter != NULL)
		run->residual_filter =
			skx_query_docs_open_filter(run->seg, run->topk->residual_filter,
									   skx_topk_filter_terms(run->topk, s));
	skx_topk_search_or(run);
}

/*
 * Searches without required words: either the documents that match the rest of
 * the filter, or those with a word.
 */
static void
skx_topk_search_optional(SkxTopkRun *run, const SkxTopkSegment *s)
{
	SkxTopk    *topk = run->topk;
	SkxDocs    *matches;
	double		docs;
	uint32		steps;
	bool		leads;

	if (topk->words_match || topk->residual_filter == NULL)
	{
		skx_topk_search_or(run);
		return;
	}
	matches = skx_query_docs_open(run->seg, topk->residual_filter,
								  SKX_DOCS_ALL);
	steps = skx_query_docs_npostings(matches, &docs);
	skx_topk_expected_threshold(run, docs);
	leads = skx_topk_filter_is_cheaper(run, docs, steps);
	if (leads)
		skx_topk_search_scan(run, matches);
	skx_query_docs_close(matches);
	if (!leads)
		skx_topk_search_by_words(run, s);
}

/*
 * Returns true if there are lists of scored words, but none of them is
 * required.
 */
static bool
skx_topk_requires_no_word(const SkxTopkRun *run)
{
	int			i;

	for (i = 0; i < run->nrequired; i++)
		if (run->required[i]->term != NULL)
			return false;
	return run->noptional > 0;
}

/*
 * Returns true if the required words are so common that they are tested last.
 */
static bool
skx_topk_required_are_common(SkxTopkRun *run)
{
	const SkxTopk *topk = run->topk;
	double		docs = run->required[0]->cursor->df;
	double		steps = docs;
	SkxDocs    *matches;

	if ((run->nrequired > 1 || topk->split_filter.residual != NULL) &&
		!skx_query_gathers_word_lists(topk->residual_filter))
	{
		matches = skx_query_docs_open(run->seg, topk->residual_filter,
									  SKX_DOCS_ALL);
		steps = skx_query_docs_npostings(matches, &docs);
		skx_query_docs_close(matches);
	}
	skx_topk_expected_threshold(run, docs);
	return !skx_topk_filter_is_cheaper(run, docs, steps);
}

/* Returns the required list of a term of the segment, or NULL. */
static SkxTopkList *
skx_topk_required_list(const SkxTopkRun *run, const SkxTerm *term)
{
	int			i;

	for (i = 0; i < run->nrequired; i++)
	{
		const SkxCursor *c = run->required[i]->cursor;
		const SkxTerm *own = skx_cursor_term(c);

		if (own != NULL && own->ordinal == term->ordinal &&
			skx_cursor_segment(c) == run->seg)
			return run->required[i];
	}
	return NULL;
}

/*
 * Opens the rest of the filter, for documents that have all required words.  A
 * phrase needs only their positions, which the traversed lists lead to.  These
 * are not noted if no required word is scored: most documents are dropped by
 * their scores before the phrase is tested.
 */
static void
skx_topk_open_residual(SkxTopkRun *run, const SkxTopkSegment *s)
{
	SkxTopk    *topk = run->topk;
	const SkxQuery *rest = topk->split_filter.residual;
	int			nlinks = skx_topk_requires_no_word(run) ? 0 :
		skx_query_phrase_nlinks(rest);
	SkxCursor **lists = palloc(sizeof(SkxCursor *) * (nlinks + 1));
	int			i;

	run->link_refs = palloc(sizeof(SkxPositionsRef *) * (nlinks + 1));
	for (i = 0; i < nlinks; i++)
	{
		int			lexeme =
			topk->filter_lexemes[skx_query_phrase_link_number(rest, i)];
		SkxTopkList *l = skx_topk_required_list(run, &s->terms[lexeme]);

		if (l->position_refs == NULL)
			l->position_refs = palloc(sizeof(SkxPositionsRef) * SKX_SUBBLOCK);
		run->link_refs[i] = l->position_refs;
		lists[i] = l->cursor;
	}
	if (nlinks > 0)
	{
		run->position_docs = palloc(sizeof(uint32) * SKX_SUBBLOCK);
		run->phrase = skx_query_chain_borrow(rest, lists);
	}
	else
		run->residual_filter =
			skx_query_docs_open_filter(run->seg, rest,
									   skx_topk_filter_terms(topk, s));
	pfree(lists);
}

/*
 * Searches by very many words.  Goes through the matching documents, if
 * looking up each in the lists of all words is less work than traversing
 * these.  Otherwise goes through the lists, and tests the filter on the
 * documents that remain.
 */
static void
skx_topk_run_many(SkxTopkRun *run, const SkxTopkSegment *s)
{
	SkxTopk    *topk = run->topk;

	topk->work->entered_segments++;
	if (run->has_ceilings)
		run->exact = skx_topk_exact_open(run, true);
	if (!topk->words_match)
	{
		if (skx_topk_search_by_filter(run, topk->postings_per_doc *
									  run->seg->header.ndocs /
									  topk->scorer->nterms))
			return;
		run->residual_filter =
			skx_query_docs_open_filter(run->seg, topk->request.filter,
									   skx_topk_filter_terms(topk, s));
	}
	skx_topk_search_many(run);
}

static void
skx_topk_run_search(SkxTopkRun *run, const SkxTopkSegment *s)
{
	SkxTopk    *topk = run->topk;
	bool	   *covered = palloc0(topk->split_filter.nrequired + 1);

	skx_topk_open_scored(run, s, covered);
	skx_topk_open_required(run, s, covered);
	if (!skx_topk_open_prefixes(run))
		return;
	if (!skx_topk_lists_can_compete(run))
	{
		topk->work->skipped_segments++;
		return;
	}
	topk->work->entered_segments++;
	if (run->has_ceilings)
		run->exact = skx_topk_exact_open(run, run->gathers_ranges);
	if (run->nrequired == 0)
	{
		skx_topk_search_optional(run, s);
		return;
	}
	qsort(run->required, run->nrequired, sizeof(SkxTopkList *),
		  skx_topk_compare_df);
	if (skx_topk_requires_no_word(run) && skx_topk_required_are_common(run))
	{
		skx_topk_close_required(run);
		skx_topk_search_by_words(run, s);
		return;
	}
	if (topk->split_filter.residual != NULL)
	{
		if (run->required[0]->cursor->df > SKX_TOPK_FILTER_DF_MIN &&
			skx_query_phrase_nlinks(topk->split_filter.residual) == 0 &&
			skx_topk_search_by_filter(run, run->required[0]->cursor->df))
			return;
		skx_topk_open_residual(run, s);
	}
	skx_topk_search_and(run);
}

static void
skx_topk_run_close(SkxTopkRun *run)
{
	int			i;

	if (run->phrase != NULL)
		skx_query_chain_close(run->phrase);
	for (i = 0; i < run->nrequired; i++)
		skx_cursor_close(run->required[i]->cursor);
	for (i = 0; i < run->noptional; i++)
		skx_cursor_close(run->optional[i]->cursor);
	if (run->residual_filter != NULL)
		skx_query_docs_close(run->residual_filter);
	if (run->exact != NULL)
		skx_topk_exact_close(run->exact);
	skx_topk_prior_close(run->prior);
}

/* Initializes what all methods need. */
static void
skx_topk_run_begin(SkxTopkRun *run, SkxTopk *topk, int segment)
{
	SkxTopkSegment *s = &topk->segments[segment];
	Size		n = (Size) topk->scorer->nterms +
		topk->split_filter.nrequired + 1;

	memset(run, 0, sizeof(*run));
	run->topk = topk;
	run->scorer = topk->scorer;
	run->segment = segment;
	run->seg = s->seg;
	run->required = palloc_extended(sizeof(SkxTopkList *) * n,
									MCXT_ALLOC_HUGE);
	run->optional = palloc_extended(sizeof(SkxTopkList *) * n,
									MCXT_ALLOC_HUGE);
	run->docs = topk->docs;
	run->sums = topk->sums;
}

void
skx_topk_search_range(SkxTopk *topk, int segment, uint32 from, uint32 to)
{
	SkxTopkSegment *s = &topk->segments[segment];
	MemoryContext old;
	SkxTopkRun	run;

	if (!skx_topk_segment_has_required(topk, s))
		return;
	CHECK_FOR_INTERRUPTS();
	old = MemoryContextSwitchTo(topk->pass_context);
	skx_topk_run_begin(&run, topk, segment);
	run.from = from;
	run.to = to;
	run.prior = skx_topk_prior_open(topk, s->seg);
	/* stretches come in any order */
	run.unordered = topk->stretch != NULL;
	skx_topk_batch_set_threshold(&run);
	run.has_ceilings = skx_topk_has_ceilings(topk, s);
	if (!skx_topk_segment_may_compete(&run, s))
	{
		topk->work->skipped_segments++;
		skx_topk_prior_close(run.prior);
		MemoryContextSwitchTo(old);
		MemoryContextReset(topk->pass_context);
		return;
	}
	if (!skx_segment_is_warm(s->seg))
	{
		skx_cursor_prefetch_terms(s->seg, s->terms, topk->nlexemes);
		skx_segment_read_all_norms(s->seg);
		skx_segment_read_all_tids(s->seg);
		skx_segment_prefetch_first_deletes(s->seg);
	}
	if (topk->has_many_words)
		skx_topk_run_many(&run, s);
	else
		skx_topk_run_search(&run, s);
	skx_topk_budget_leave(&run);
	skx_topk_run_close(&run);
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass_context);
}

void
skx_topk_leave_segment(SkxTopk *topk, int segment)
{
	SkxTopkSegment *s = &topk->segments[segment];
	MemoryContext old;
	SkxTopkRun	run;

	if (!skx_topk_segment_has_required(topk, s))
		return;
	old = MemoryContextSwitchTo(topk->pass_context);
	skx_topk_run_begin(&run, topk, segment);
	run.has_ceilings = skx_topk_has_ceilings(topk, s);
	skx_topk_budget_raise_bound(topk,
								skx_topk_segment_bound(&run, s, PG_INT32_MAX));
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass_context);
}
