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

/* A scan: the matches of a query in one segment, batch by batch. */
typedef struct SkxQueryScan SkxQueryScan;

/* The number of documents in a window, on which set operations work. */
#define SKX_QUERY_BATCH		4096

/* The largest number of documents in a batch of matches. */
#define SKX_QUERY_DOCS		(2 * SKX_QUERY_BATCH)

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
extern bool skx_query_takes_all(const SkxQuery *query);

/*
 * Returns true if a document whose text is NULL can match: there are no
 * tsqueries and no conditions of kind QUERIES.
 */
extern bool skx_query_takes_nulls(const SkxQuery *query);

/* query_scan.c : runs a query on one segment, or on one pending document */

/*
 * Opens a scan, in a memory context of its own; nothing is read yet.
 * wants_all says that the whole answer will be fetched: batches are large
 * from the start.  Otherwise they start with one document and grow.
 */
extern SkxQueryScan *skx_query_scan_open(SkxSegment *seg,
										 const SkxQuery *query,
										 bool wants_all);

/*
 * Fills docs with the next live matches, ascending, at most SKX_QUERY_DOCS.
 * Returns how many there are; 0 means that the scan, or its range, is at the
 * end.
 */
extern int	skx_query_scan_next(SkxQueryScan *scan, uint32 *docs);

/*
 * Restricts the scan to documents in [from, to).  It may be called before
 * the first skx_query_scan_next(), or when that has returned 0.  Ranges
 * ascend, and begin with a multiple of SKX_QUERY_BATCH, since matches are
 * found in windows of that size.
 */
extern void skx_query_scan_range(SkxQueryScan *scan, uint32 from, uint32 to);

/*
 * Returns how many matches are left in the scan's range, deleted ones
 * included, and skips them.  The number is exact if skx_query_scan_counts()
 * is true.
 */
extern uint64 skx_query_scan_count(SkxQueryScan *scan);

/*
 * Returns true if skx_query_scan_count() is exact.  It is false if documents
 * whose text is NULL have to be weeded out one by one.
 */
extern bool skx_query_scan_counts(const SkxQueryScan *scan);

/*
 * Returns an upper bound of the number of matches in the segment, as far as
 * the df of the terms tells.  Opens the lists of the query.
 */
extern uint32 skx_query_scan_cost(SkxQueryScan *scan);

/*
 * Returns the number of postings that the scan goes through, or what takes
 * as long.  If likely is not NULL, sets *likely to the expected number of
 * matches, if the clauses of a conjunction are independent.
 */
extern uint32 skx_query_scan_steps(SkxQueryScan *scan, double *likely);

/*
 * Looks up the terms of n >= 1 scans of one query on several segments
 * together, and prefetches where their lists begin.  It is called before the
 * first skx_query_scan_next() of each of them.  Does nothing if n > 1 and
 * the query has very many lexemes: each scan then does this alone.
 */
extern void skx_query_scan_plan(SkxQueryScan **scans, int n);

/* Closes the scan and frees its memory; the segment stays open. */
extern void skx_query_scan_close(SkxQueryScan *scan);

/*
 * query_visit.c : the matches in ranges of a segment's documents, in any
 * order of the ranges
 */

/* A query on one segment, whose matches are fetched by ranges. */
typedef struct SkxQueryVisit SkxQueryVisit;

/*
 * Opens a visit, in a memory context of its own.  Looks up the terms of the
 * query, but does not open their lists.
 */
extern SkxQueryVisit *skx_query_visit_open(SkxSegment *seg,
										   const SkxQuery *query);

/*
 * Fills docs with the first live matches in [from, to), ascending, at most
 * SKX_QUERY_DOCS.  Returns how many there are; 0 if there is none.  The
 * visit moves forward, and opens all lists anew to go back.  It does so if
 * `from` is at or below the last document that the call before returned, or
 * below its `from`.
 */
extern int	skx_query_visit(SkxQueryVisit *visit, uint32 from, uint32 to,
							uint32 *docs);

/*
 * Returns an upper bound of the number of matches in the segment, as far as
 * the df of the terms tells.
 */
extern uint32 skx_query_visit_cost(SkxQueryVisit *visit);

/*
 * Returns the expected number of matches in the segment, if the clauses of a
 * conjunction are independent, and phrases rare.
 */
extern double skx_query_visit_likely(SkxQueryVisit *visit);

/*
 * Returns true if the query makes bitmaps of many lists, which have to be
 * made again whenever the visit opens its lists anew.
 */
extern bool skx_query_visit_gathers(SkxQueryVisit *visit);

/*
 * Opens the lists for skx_query_ask(), which is to filter about `candidates`
 * documents in all.  It is called before the first skx_query_ask(), and
 * again before one with documents below earlier ones.
 */
extern void skx_query_ask_begin(SkxQueryVisit *visit, uint32 candidates);

/*
 * Keeps those of n ascending documents, at most SKX_QUERY_BATCH, that are
 * live matches; returns how many.  The documents were found by other means,
 * and ascend from call to call.
 */
extern int	skx_query_ask(SkxQueryVisit *visit, uint32 *docs, int n);

/*
 * Frees what skx_query_ask_begin() has opened.  Does nothing if that was not
 * called.
 */
extern void skx_query_ask_end(SkxQueryVisit *visit);

/* Returns an estimate of the time to find all matches, in ns. */
extern double skx_query_visit_work(SkxQueryVisit *visit);

/*
 * Returns an estimate of the time that skx_query_ask() takes for that many
 * documents in all, in ns.
 */
extern double skx_query_visit_asked(SkxQueryVisit *visit, double docs);

/* Closes the visit and frees its memory; the segment stays open. */
extern void skx_query_visit_close(SkxQueryVisit *visit);

/*
 * query_scan.c : returns true if a pending document, a tsvector with the
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
 * A query that was taken apart.  If `any` is false, every match has all of
 * `required` and of `prefixes`; `rest` is what else it has to match.  If
 * `any` is true, the query is a disjunction of these, and `rest` is NULL.
 */
typedef struct SkxQuerySplit
{
	bool		any;
	int			nrequired;
	SkxQueryRequired *required; /* ascending by lexeme and labels, distinct */
	int			nprefixes;
	SkxQueryWord *prefixes;		/* those for which `knows` was true */
	SkxQuery   *rest;			/* NULL if there is nothing else to match */
} SkxQuerySplit;

/* A callback: returns true if the search can find documents by a prefix. */
typedef bool (*SkxQueryKnows) (const SkxQueryWord *prefix, void *arg);

/*
 * Takes the query apart into *split.  Calls knows(prefix, arg) to find out
 * which prefixes are put into split->prefixes; the others are part of the
 * rest.  The result is allocated in the current memory context, and refers
 * to the query.
 */
extern void skx_query_split(const SkxQuery *query, SkxQueryKnows knows,
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
extern bool skx_query_gathers(const SkxQuery *query);

/*
 * Returns the same as skx_query_gathers(), but leaves out ranges of values:
 * a pass over their lists is made only if that is less work.
 */
extern bool skx_query_gathers_words(const SkxQuery *query);

/* query_light.c : tells which tsqueries gather, before they are compiled */

/*
 * Returns true if the tsquery has a prefix, or more words than
 * SKX_GATHER_CLAUSES.  It is true for each tsquery for which
 * skx_query_gathers() is true.
 */
extern bool skx_query_may_gather(TSQuery query);

/*
 * Returns true if the tsquery is a disjunction of words without prefixes and
 * labels, or one such word.
 */
extern bool skx_query_is_any(TSQuery query);

/*
 * Returns a tsquery that matches wherever the given one does, has only some
 * of its words, and does not gather.  Returns NULL if there is none, or if
 * skx_query_may_gather() is false.
 */
extern TSQuery skx_query_light(TSQuery query);

/*
 * query_compile.c : returns the one lexeme, of a word or a value, whose
 * documents are the matches of the query; NULL if the query is anything but
 * one such lexeme
 */
extern const SkxLexeme *skx_query_only_word(const SkxQuery *query);

/* query_split.c : queries made of others, in the current memory context */

/*
 * Returns the query that documents with one of the n words still have to
 * match, or NULL if there is none.  It is the given query without those
 * disjunctions that each of the words makes true.  The words are ascending
 * and distinct.
 */
extern SkxQuery *skx_query_of_words(const SkxQuery *query,
									const SkxLexeme *words, int n);

/*
 * Returns a query for the documents that match the given one and have none
 * of the n words.  A document whose text is NULL does not match it.
 */
extern SkxQuery *skx_query_without(const SkxQuery *query,
								   const SkxQueryWord *words, int n);

/*
 * Returns the query with one more condition: the column (from 0, the text)
 * is NULL.
 */
extern SkxQuery *skx_query_and_null(const SkxQuery *query, int column);

/* A rest (SkxQuerySplit) that is opened on one segment. */
typedef struct SkxIter SkxQueryRest;

/*
 * Opens the rest of a query on a segment, for documents that have all that
 * is required.  terms are those of the segment, one for each lexeme of the
 * rest, in the order of skx_query_lexemes().  They must stay valid until the
 * rest is closed.
 */
extern SkxQueryRest *skx_query_rest_open(SkxSegment *seg,
										 const SkxQuery *rest,
										 SkxTerm *terms);

/*
 * Keeps those of n ascending documents, at most SKX_QUERY_BATCH, that match;
 * returns how many.  The documents ascend from call to call, too.
 */
extern int	skx_query_rest_filter(SkxQueryRest *rest, uint32 *docs, int n);

/* Returns true if the rest is tested without reading positions. */
extern bool skx_query_rest_is_cheap(const SkxQueryRest *rest);

/*
 * Returns a lower bound, `doc` or above, of the next document that is in all
 * ranges of values which the rest tests by keys.  Returns SKX_NO_DOC if
 * there is none.
 */
extern uint32 skx_query_rest_next(SkxQueryRest *rest, uint32 doc);

/* Closes the rest and frees it. */
extern void skx_query_rest_close(SkxQueryRest *rest);

/*
 * query_chain.c : a rest that is one phrase of plain lexemes, for a search
 * that has traversed their lists and knows where their positions are
 */

/* A phrase of plain lexemes (its links) that is opened on one segment. */
typedef struct SkxChain SkxChain;

/*
 * Returns the number of links of the phrase, or 0 if the rest is anything
 * but one phrase of plain lexemes.
 */
extern int	skx_query_rest_links(const SkxQuery *rest);

/*
 * Returns the number in skx_query_lexemes() of the lexeme of a link, which
 * is counted from 0.  skx_query_rest_links() must be above 0.
 */
extern int	skx_query_rest_link(const SkxQuery *rest, int link);

/*
 * Opens the phrase with a cursor for each link.  The cursors stay the
 * caller's, and are not closed with the chain.
 */
extern SkxChain *skx_query_chain_borrow(const SkxQuery *rest,
										SkxCursor **lists);

/*
 * Keeps those of n ascending documents that match the phrase; returns how
 * many.  Each of them is one of `placed`, which ascend, too.
 * places[link][i] says where the link's positions in placed[i] are.
 */
extern int	skx_query_chain_verify(SkxChain *chain, uint32 *docs, int n,
								   const uint32 *placed,
								   SkxPositionPlace *const *places);

/* Frees the chain, and closes its cursors unless they are borrowed. */
extern void skx_query_chain_close(SkxChain *chain);

/*
 * Keeps those of n positions that have one of the labels (a set; 0 for any),
 * and removes the labels from them; returns how many.
 */
extern int	skx_query_positions(uint16 *positions, int n, uint8 labels);

#endif							/* SKX_QUERY_H */
