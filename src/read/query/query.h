/*
 * query.h
 *	  Answers tsquery over segments and pending documents, exactly as the
 *	  server's own @@ does.
 */
#ifndef SKX_QUERY_H
#define SKX_QUERY_H

#include "index/column/column.h"
#include "index/cursor/cursor.h"
#include "read/condition/condition.h"
#include "tsearch/ts_type.h"

/* A compiled conjunction of tsqueries and conditions. */
typedef struct SkxQuery SkxQuery;

/* A set of documents: the matches of a query in one segment. */
typedef struct SkxDocs SkxDocs;

/* The number of documents in a window, on which set operations work. */
#define SKX_WINDOW_DOCS		4096

/* The largest number of documents in a batch of matches. */
#define SKX_QUERY_BATCH_DOCS		(2 * SKX_WINDOW_DOCS)

/* query_compile.c : from tsqueries and conditions to a query */

/*
 * Compiles a query in the current memory context.  The tsqueries and
 * conditions must stay valid as long as the query.  Without any of them
 * every document matches, also one whose text is NULL.
 */
extern SkxQuery *skx_query_compile(TSQuery *queries, int nqueries,
								   const SkxCondition *conditions,
								   int nconditions);

/* Returns true if no document can match, whatever the index contains. */
extern bool skx_query_is_empty(const SkxQuery *query);

/*
 * Returns true if every document matches: there are no tsqueries or
 * conditions.
 */
extern bool skx_query_matches_all(const SkxQuery *query);

/*
 * Returns true if a document whose text is NULL can match: there are no
 * tsqueries and no conditions of kind QUERIES.
 */
extern bool skx_query_may_match_nulls(const SkxQuery *query);

/*
 * query_docs.c : the documents of a segment that match, in batches, by ranges,
 * or as a filter of others
 */

/* How the documents of a set will be wanted. */
typedef enum SkxDocsUse
{
	SKX_DOCS_ALL,				/* all of them: batches are large from the
								 * start */
	SKX_DOCS_FIRST,				/* perhaps only the first: batches start with
								 * one document and grow */
	SKX_DOCS_RANGES				/* by short ranges, in any order */
} SkxDocsUse;

/* Opens a set, in a memory context of its own; nothing is read yet. */
extern SkxDocs *skx_query_docs_open(SkxSegment *seg, const SkxQuery *query,
									SkxDocsUse use);

/*
 * Looks up the terms of n >= 1 sets of one query on several segments together,
 * and prefetches where their lists begin.  It is called before anything else
 * is asked of them.  Does nothing if n > 1 and the query has very many
 * lexemes: each set then does this alone.
 */
extern void skx_query_docs_plan(SkxDocs **docs, int n);

/*
 * Restricts the set to documents in [from, to).  With SKX_DOCS_RANGES, ranges
 * come in any order, but the set moves forward: to go back below a document
 * that was handed out, or below an earlier `from`, all lists are opened anew.
 * Otherwise ranges ascend, each begins with a multiple of SKX_WINDOW_DOCS, and
 * the one before is at its end.
 */
extern void skx_query_docs_range(SkxDocs *docs, uint32 from, uint32 to);

/*
 * Fills list with the next live matches, ascending, at most
 * SKX_QUERY_BATCH_DOCS. Returns how many there are; 0 means that the set, or
 * its range, is at the end.
 */
extern int	skx_query_docs_next(SkxDocs *docs, uint32 *list);

/*
 * Asserts what skx_query_docs_next() promises of a batch of n documents: they
 * ascend, from `from` on, which is behind the last batch, and below `to`.
 */
static inline void
skx_query_docs_check(const uint32 *list, int n, uint32 from, uint32 to)
{
#ifdef USE_ASSERT_CHECKING
	int			i;

	Assert(n <= SKX_QUERY_BATCH_DOCS);
	for (i = 0; i < n; i++)
		Assert(list[i] >= (i == 0 ? from : list[i - 1] + 1) && list[i] < to);
#endif
}

/*
 * Returns how many matches are left in the range, deleted ones included, and
 * skips them.  The number is exact if skx_query_docs_can_count() is true.
 */
extern uint64 skx_query_docs_count(SkxDocs *docs);

/*
 * Returns true if skx_query_docs_count() is exact.  It is false if documents
 * whose text is NULL have to be weeded out one by one.
 */
extern bool skx_query_docs_can_count(const SkxDocs *docs);

/*
 * Keeps those of n ascending matches that are live, and whose text is not NULL
 * if the query requires that; returns how many.
 */
extern int	skx_query_docs_filter_live(const SkxDocs *docs, uint32 *list,
									   int n);

/*
 * Returns an upper bound of the number of matches in the segment, as far as
 * the df of the terms tells.  Opens the lists of the query.
 */
extern uint32 skx_query_docs_cost(SkxDocs *docs);

/*
 * Returns the expected number of matches in the segment, if the clauses of a
 * conjunction are independent, and phrases rare.
 */
extern double skx_query_docs_likely(SkxDocs *docs);

/*
 * Returns the number of postings that the set goes through, or what takes as
 * long.  If likely is not NULL, sets *likely as skx_query_docs_likely() does.
 */
extern uint32 skx_query_docs_npostings(SkxDocs *docs, double *likely);

/* Returns an estimate of the time to find all matches, in ns. */
extern double skx_query_docs_find_time(SkxDocs *docs);

/*
 * Returns an estimate of the time to filter that many documents in all, in ns.
 */
extern double skx_query_docs_filter_time(SkxDocs *docs, double candidates);

/*
 * Returns true if the query makes bitmaps of many lists, which have to be made
 * again whenever lists are opened anew.
 */
extern bool skx_query_docs_gathers_lists(SkxDocs *docs);

/*
 * Opens lists, besides those of the set, to filter about `candidates`
 * documents in all.  It is called before the first skx_query_docs_filter(),
 * and again before one with documents below earlier ones.
 */
extern void skx_query_docs_filter_begin(SkxDocs *docs, uint32 candidates);

/*
 * Frees what skx_query_docs_filter_begin() has opened.  Does nothing if that
 * was not called.
 */
extern void skx_query_docs_filter_end(SkxDocs *docs);

/*
 * Opens a set that only filters, for documents that have all that is required
 * (SkxQuerySplit).  terms are those of the segment, one for each lexeme of the
 * query, in the order of skx_query_lexemes().  They must stay valid until the
 * set is closed.
 */
extern SkxDocs *skx_query_docs_open_filter(SkxSegment *seg,
										   const SkxQuery *query,
										   SkxTerm *terms);

/*
 * Keeps those of n ascending documents, at most SKX_WINDOW_DOCS, that match,
 * deleted ones included; returns how many.  The documents were found by other
 * means, and ascend from call to call.
 */
extern int	skx_query_docs_filter(SkxDocs *docs, uint32 *list, int n);

/* Returns true if the set filters without reading positions. */
extern bool skx_query_docs_filter_is_cheap(const SkxDocs *docs);

/*
 * Returns a lower bound, `doc` or above, of the next document that is in all
 * ranges of values which the set filters by keys.  Returns SKX_NO_DOC if there
 * is none.
 */
extern uint32 skx_query_docs_filter_bound(const SkxDocs *docs, uint32 doc);

/* Closes the set and frees its memory; the segment stays open. */
extern void skx_query_docs_close(SkxDocs *docs);

/*
 * query_pending.c : returns true if a pending document, a tsvector with the
 * lexemes of its values, matches the query
 */
extern bool skx_query_matches(const SkxQuery *query, TSVector document);

/* A word or prefix with its labels. */
typedef struct SkxQueryWord
{
	const char *lexeme;			/* not terminated by a zero */
	int			len;
	bool		prefix;
	uint8		labels;			/* set of labels; 0 for any */
} SkxQueryWord;

/*
 * query_split.c : takes a query apart, for searches that find matches by
 * other means
 */

/* A lexeme that the matches of a query have. */
typedef struct SkxQueryRequired
{
	int			lexeme;			/* its number in skx_query_lexemes() */
	uint8		labels;			/* set, one of which it has; 0 for any */
} SkxQueryRequired;

/*
 * A query that was taken apart.  If `is_disjunction` is false, every match has
 * all of `required` and of `prefixes`; `residual` is what else it has to
 * match.  If `is_disjunction` is true, the query is a disjunction of these,
 * and `residual` is NULL.
 */
typedef struct SkxQuerySplit
{
	bool		is_disjunction;
	int			nrequired;
	SkxQueryRequired *required; /* ascending by lexeme and labels, distinct */
	int			nprefixes;
	SkxQueryWord *prefixes;		/* those for which `knows` was true */
	SkxQuery   *residual;		/* NULL if there is nothing else to match */
} SkxQuerySplit;

/* A callback: returns true if the search can find documents by a prefix. */
typedef bool (*SkxQueryKnowsPrefix) (const SkxQueryWord *prefix, void *arg);

/*
 * Takes the query apart into *split.  Calls knows(prefix, arg) to find out
 * which prefixes are put into split->prefixes; the others are part of the
 * rest.  The result is allocated in the current memory context, and refers
 * to the query.
 */
extern void skx_query_split(const SkxQuery *query, SkxQueryKnowsPrefix knows,
							void *arg, SkxQuerySplit *split);

/*
 * Returns the query's lexemes that are no prefixes, ascending and distinct,
 * and sets *n to their number.  They belong to the query.
 */
extern const SkxLexeme *skx_query_lexemes(const SkxQuery *query, int *n);

/*
 * query_open.c : returns false if no posting of the term has one of the
 * labels (a set; 0 for any), true if one may have
 */
extern bool skx_query_has_term(const SkxTerm *term, uint8 labels);

/*
 * Returns true if the query begins on a segment with a pass over many lists,
 * or may do so.  These are queries with a prefix, with a range of values,
 * and with more clauses of an operator than SKX_GATHER_CLAUSES.
 */
extern bool skx_query_begins_by_gathering(const SkxQuery *query);

/*
 * Returns the same as skx_query_begins_by_gathering(), but leaves out ranges
 * of values: a pass over their lists is made only if that is less work.
 */
extern bool skx_query_gathers_word_lists(const SkxQuery *query);

/* query_light.c : tells which tsqueries gather, before they are compiled */

/*
 * Returns true if the tsquery has a prefix, or more words than
 * SKX_GATHER_CLAUSES.  It is true for each tsquery for which
 * skx_query_begins_by_gathering() is true.
 */
extern bool skx_query_may_gather(TSQuery query);

/*
 * Returns true if the tsquery is a disjunction of words without prefixes and
 * labels, or one such word.
 */
extern bool skx_query_is_word_disjunction(TSQuery query);

/*
 * Returns a tsquery that matches wherever the given one does, has only some
 * of its words, and does not gather.  Returns NULL if there is none, or if
 * skx_query_may_gather() is false.
 */
extern TSQuery skx_query_weaken(TSQuery query);

/*
 * query_compile.c : returns the one lexeme, of a word or a value, whose
 * documents are the matches of the query; NULL if the query is anything but
 * one such lexeme
 */
extern const SkxLexeme *skx_query_single_lexeme(const SkxQuery *query);

/* query_split.c : queries made of others, in the current memory context */

/*
 * Returns the query that documents with one of the n words still have to
 * match, or NULL if there is none.  It is the given query without those
 * disjunctions that each of the words makes true.  The words are ascending
 * and distinct.
 */
extern SkxQuery *skx_query_residual_of_words(const SkxQuery *query,
											 const SkxLexeme *words, int n);

/*
 * Returns a query for the documents that match the given one and have none
 * of the n words.  A document whose text is NULL does not match it.
 */
extern SkxQuery *skx_query_exclude_lexemes(const SkxQuery *query,
										   const SkxQueryWord *words, int n);

/*
 * Returns the query with one more condition: the column (from 0, the text)
 * is NULL.
 */
extern SkxQuery *skx_query_and_is_null(const SkxQuery *query, int column);

/*
 * query_chain.c : a rest that is one phrase of plain lexemes, for a search
 * that has traversed their lists and knows where their positions are
 */

/* A phrase of plain lexemes (its links) that is opened on one segment. */
typedef struct SkxPhraseChain SkxPhraseChain;

/*
 * Returns the number of links of the phrase, or 0 if the rest is anything
 * but one phrase of plain lexemes.
 */
extern int	skx_query_phrase_nlinks(const SkxQuery *rest);

/*
 * Returns the number in skx_query_lexemes() of the lexeme of a link, which
 * is counted from 0.  skx_query_phrase_nlinks() must be above 0.
 */
extern int	skx_query_phrase_link_number(const SkxQuery *rest, int link);

/*
 * Opens the phrase with a cursor for each link.  The cursors stay the
 * caller's, and are not closed with the chain.
 */
extern SkxPhraseChain *skx_query_chain_borrow(const SkxQuery *rest,
											  SkxCursor **lists);

/*
 * Keeps those of n ascending documents that match the phrase; returns how
 * many.  Each of them is one of `placed`, which ascend, too.
 * places[link][i] says where the link's positions in placed[i] are.
 */
extern int	skx_query_chain_verify(SkxPhraseChain *chain, uint32 *docs, int n,
								   const uint32 *placed,
								   SkxPositionsRef *const *places);

/* Frees the chain, and closes its cursors unless they are borrowed. */
extern void skx_query_chain_close(SkxPhraseChain *chain);

/*
 * Keeps those of n positions that have one of the labels (a set; 0 for any),
 * and removes the labels from them; returns how many.
 */
extern int	skx_query_filter_positions(uint16 *positions, int n, uint8 labels);

#endif							/* SKX_QUERY_H */
