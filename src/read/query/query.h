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

/* Tsqueries and conditions, all of which a document must meet. */
typedef struct SkxQuery SkxQuery;

/* The answer of one segment, in batches. */
typedef struct SkxQueryScan SkxQueryScan;

/* The window of set operations, in documents. */
#define SKX_QUERY_BATCH		4096

/* Documents of an answer's batch at most. */
#define SKX_QUERY_DOCS		(2 * SKX_QUERY_BATCH)

/*
 * query_compile.c
 *
 * Compiles in the current memory context; tsqueries and conditions must stay.
 * Without any every document matches, also one whose text is NULL.
 */
extern SkxQuery *skx_query_compile(TSQuery *queries, int nqueries,
								   const SkxCondition *conditions,
								   int nconditions);

/* Can no document match, whatever the index holds? */
extern bool skx_query_is_empty(const SkxQuery *query);

/*
 * query_scan.c
 *
 * next fills `docs` with the next live matches, ascending; 0 at the end.  The
 * batches grow, unless all are wanted: then they are large at once.
 */
extern SkxQueryScan *skx_query_scan_open(SkxSegment *seg,
										 const SkxQuery *query,
										 bool wants_all);
extern int	skx_query_scan_next(SkxQueryScan *scan, uint32 *docs);

/*
 * Only documents in [from, to) from now on.  Before the first next, or when it
 * has returned 0; ranges ascend, and begin with a multiple of SKX_QUERY_BATCH,
 * as matches are found by such windows.
 */
extern void skx_query_scan_range(SkxQueryScan *scan, uint32 from, uint32 to);

/*
 * How many it would give from now on, deleted ones included, after which there
 * are none; counts: does it know without looking at each?
 */
extern uint64 skx_query_scan_count(SkxQueryScan *scan);
extern bool skx_query_scan_counts(const SkxQueryScan *scan);

/*
 * Documents that it may give, at most, as far as df can tell; and postings that
 * it goes through for these, or what takes as long (likely: NULL, or filled in
 * with how many these are, if the clauses of a conjunction are independent).
 */
extern uint32 skx_query_scan_cost(SkxQueryScan *scan);
extern uint32 skx_query_scan_steps(SkxQueryScan *scan, double *likely);

/* Before any next: scans of one query on several segments begin together. */
extern void skx_query_scan_plan(SkxQueryScan **scans, int n);
extern void skx_query_scan_close(SkxQueryScan *scan);

/*
 * query_visit.c : matches of stretches of a segment, in any order of these
 *
 * open: terms are looked up, lists are not begun.  visit fills `docs` with live
 * matches in [from, to), ascending, SKX_QUERY_DOCS at most; 0: there is none.
 * What lies below the last one that it gave costs to begin anew.  cost: matches
 * at most, as far as df can tell; likely: how many, if the clauses of a
 * conjunction were independent, and phrases rare.  gathers: beginning anew
 * makes bitmaps again.
 */
typedef struct SkxQueryVisit SkxQueryVisit;

extern SkxQueryVisit *skx_query_visit_open(SkxSegment *seg,
										   const SkxQuery *query);
extern int	skx_query_visit(SkxQueryVisit *visit, uint32 from, uint32 to,
							uint32 *docs);
extern uint32 skx_query_visit_cost(SkxQueryVisit *visit);
extern double skx_query_visit_likely(SkxQueryVisit *visit);
extern bool skx_query_visit_gathers(SkxQueryVisit *visit);

/*
 * Documents that were found otherwise: ask keeps those of n ascending ones,
 * SKX_QUERY_BATCH at most, that are live matches, and goes on where the last
 * call ended; ask_begin, first, begins anew, for so many in all; end frees what
 * that takes.  work: about how many ns it takes to find all matches; asked: to
 * ask about so many documents.
 */
extern void skx_query_ask_begin(SkxQueryVisit *visit, uint32 candidates);
extern int	skx_query_ask(SkxQueryVisit *visit, uint32 *docs, int n);
extern void skx_query_ask_end(SkxQueryVisit *visit);
extern double skx_query_visit_work(SkxQueryVisit *visit);
extern double skx_query_visit_asked(SkxQueryVisit *visit, double docs);
extern void skx_query_visit_close(SkxQueryVisit *visit);

/* Does a pending document match? */
extern bool skx_query_matches(const SkxQuery *query, TSVector document);

/* A word or prefix with its labels. */
typedef struct SkxQueryWord
{
	const char *lexeme;
	int			len;
	bool		prefix;
	uint8		labels;
} SkxQueryWord;

/*
 * query_split.c : takes a query apart, for searches that find matches by other
 * means
 *
 * Every match has all of `required` and of `prefixes`, or, of a disjunction of
 * these, has one of them and is a match (`any`).  Lexemes are numbers among
 * skx_query_lexemes(), ascending without duplicates of the same labels; labels
 * are sets, 0: any.  Prefixes are those that `knows` was true for.  `rest` is
 * what else they have to match, NULL: nothing.
 */
typedef struct SkxQueryRequired
{
	int			lexeme;
	uint8		labels;
} SkxQueryRequired;

typedef struct SkxQuerySplit
{
	bool		any;
	int			nrequired;
	SkxQueryRequired *required;
	int			nprefixes;
	SkxQueryWord *prefixes;
	SkxQuery   *rest;
} SkxQuerySplit;

typedef bool (*SkxQueryKnows) (const SkxQueryWord *prefix, void *arg);
extern void skx_query_split(const SkxQuery *query, SkxQueryKnows knows,
							void *arg, SkxQuerySplit *split);
extern const SkxLexeme *skx_query_lexemes(const SkxQuery *query, int *n);

/* Has the lexeme any posting with one of the labels?  True: it may have. */
extern bool skx_query_has_term(const SkxTerm *term, uint8 labels);

/* Does every document match?  Can one whose text is NULL? */
extern bool skx_query_takes_all(const SkxQuery *query);
extern bool skx_query_takes_nulls(const SkxQuery *query);

/*
 * Does it begin on a segment with a pass over many lists, or may it?  Such are
 * those of a prefix, of a range of values, and of very many clauses.
 */
extern bool skx_query_gathers(const SkxQuery *query);

/* But for ranges, which it only does where that is less work. */
extern bool skx_query_gathers_words(const SkxQuery *query);

/*
 * query_light.c : the same of a query that was not compiled
 *
 * may_gather: true at least if it gathers.  is_any: of plain words, any will
 * do.  light: what follows from it and does not, a query of some of its words
 * that matches wherever it does; NULL where there is none, or it does not
 * gather.
 */
extern bool skx_query_may_gather(TSQuery query);
extern bool skx_query_is_any(TSQuery query);
extern TSQuery skx_query_light(TSQuery query);

/* The one lexeme, or value, that a document needs to match; NULL: it is not
 * that simple. */
extern const SkxLexeme *skx_query_only_word(const SkxQuery *query);

/*
 * What documents with one of the words, ascending and distinct, have to match
 * of the query: not its disjunctions that each of these makes true.  NULL:
 * nothing.
 */
extern SkxQuery *skx_query_of_words(const SkxQuery *query,
									const SkxLexeme *words, int n);

/* Of words that documents are to be without, whatever else they match. */
extern SkxQuery *skx_query_without(const SkxQuery *query,
								   const SkxQueryWord *words, int n);

/* The same query for rows with NULL in a column (from 0) beside the text. */
extern SkxQuery *skx_query_and_null(const SkxQuery *query, int column);

/*
 * The rest of a query on a segment, for documents that have all that is
 * required; `terms` are those of the segment, one for each lexeme of the
 * query.  filter keeps those of n ascending documents, SKX_QUERY_BATCH at
 * most, that match; each call goes on where the last one ended.  is_cheap: it
 * reads no positions for that.  next: no document from `doc` on and before the
 * one returned has a key in all ranges.
 */
typedef struct SkxIter SkxQueryRest;

extern SkxQueryRest *skx_query_rest_open(SkxSegment *seg,
										 const SkxQuery *rest,
										 SkxTerm *terms);
extern int	skx_query_rest_filter(SkxQueryRest *rest, uint32 *docs, int n);
extern bool skx_query_rest_is_cheap(const SkxQueryRest *rest);
extern uint32 skx_query_rest_next(SkxQueryRest *rest, uint32 doc);
extern void skx_query_rest_close(SkxQueryRest *rest);

/*
 * query_chain.c : a rest that is one phrase of plain lexemes, for a search that
 * has traversed their lists and knows where their positions are
 *
 * links: how many the phrase has, 0: the rest is something else; link: the
 * lexeme of one.  borrow takes a list for each link.  verify keeps those of n
 * documents, each among `placed`, that match; places[link][i] is of placed[i].
 */
typedef struct SkxChain SkxChain;

extern int	skx_query_rest_links(const SkxQuery *rest);
extern int	skx_query_rest_link(const SkxQuery *rest, int link);
extern SkxChain *skx_query_chain_borrow(const SkxQuery *rest,
										SkxCursor **lists);
extern int	skx_query_chain_verify(SkxChain *chain, uint32 *docs, int n,
								   const uint32 *placed,
								   SkxPositionPlace *const *places);
extern void skx_query_chain_close(SkxChain *chain);

/*
 * Leaves the positions that have one of the labels (a set; 0: any), without
 * their labels; returns how many.
 */
extern int	skx_query_positions(uint16 *positions, int n, uint8 labels);

#endif							/* SKX_QUERY_H */
