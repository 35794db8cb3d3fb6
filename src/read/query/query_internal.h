/*
 * query_internal.h
 *	  The compiled query and the iterators that run it on one segment.
 */
#ifndef SKX_QUERY_INTERNAL_H
#define SKX_QUERY_INTERNAL_H

#include "index/segment/segment_keys.h"
#include "read/query/query.h"

typedef enum SkxNodeKind
{
	SKX_NODE_NONE,				/* matches nothing */
	SKX_NODE_ALL,				/* every document */
	SKX_NODE_TERM,
	SKX_NODE_AND,
	SKX_NODE_OR,
	SKX_NODE_NOT,
	SKX_NODE_PHRASE,
	SKX_NODE_BITMAP,			/* iterators only: many terms or clauses; */
	SKX_NODE_KEYS				/* and documents by their keys */
} SkxNodeKind;

typedef struct SkxQueryPhrase
{
	TSQuery		query;
	QueryItem  *item;			/* the operator */
	int			nlinks;			/* > 0: plain lexemes a <d1> b <d2> c ... */
	QueryOperand **links;
	int		   *distances;		/* distances[i] from link i - 1 to link i */
} SkxQueryPhrase;

/*
 * Compiled, independent of any segment.  A query may have as many as its
 * tsquery has operands: they are small.
 */
typedef struct SkxQueryNode
{
	SkxNodeKind kind;
	int			nchildren;
	int			max_children;
	uint8		labels;			/* TERM: set, 1 << label; 0: any */
	bool		prefix;			/* TERM: all lexemes with the prefix, or from
								 * the lexeme on and below `to` */
	struct SkxQueryNode **children;
	const char *lexeme;			/* TERM */
	int			len;
	const SkxLexeme *to;		/* TERM: the end of a range, or NULL */
	int			slot;			/* TERM: among the query's lexemes, without
								 * prefix */
	SkxQueryPhrase *phrase;		/* PHRASE: children[0] admits a superset of
								 * the matches */
} SkxQueryNode;

struct SkxQuery
{
	SkxQueryNode *root;
	bool		may_match_null; /* tsqueries do not ask for any lexeme, so
								 * texts that are NULL have to be weeded out */
	bool		has_any_word;	/* a prefix of no letters */
	int			nqueries;
	TSQuery    *queries;
	int			nconditions;
	const SkxCondition *conditions;
	int			nlexemes;		/* of all operands that are no prefixes */
	SkxLexeme  *lexemes;		/* ascending, distinct */
};

/* query_compile.c : the number of a lexeme of the query */
extern int	skx_query_lexeme(const SkxQuery *query, const char *lexeme,
							 int len);

/* Adds lexemes; those that the query had get other numbers. */
extern void skx_query_join_lexemes(SkxQuery *query, const SkxLexeme *more,
								   int n);

/* A query that is being put on a segment. */
typedef struct SkxOpening
{
	SkxSegment *seg;
	const SkxQuery *query;
	SkxTerm    *terms;			/* one a lexeme; df 0: not in the segment */
	bool		wants_all;		/* the whole answer will be fetched */
	uint64		reads;			/* skx_segment_reads when the scan began */
	uint32		span;			/* what a bitmap has room for: documents, */
	uint32		nnext;			/* and lexemes whose next ones it knows */
	int			most_clauses;	/* SKX_OPEN_CLAUSES, or _FEW */
	int			gather_clauses; /* SKX_GATHER_CLAUSES, or _ASKED */
	uint32		nphrases;		/* of the query */
	uint32	   *nopened;		/* lists of prefixes that were opened */
	bool		rest;			/* only asked about documents, some of them */
	bool		admits;			/* what a phrase is asked about */
	bool		reopens;		/* `terms` stay as long as the iterators */
	bool	   *unsettled;		/* NULL, or for an estimate only: set if keys
								 * may give way to lists of values */
} SkxOpening;

/*
 * A disjunction of more clauses is gathered into a bitmap, one after the
 * other: window by window they would need more pins than one backend should
 * hold, and read their pages anew in each window.
 */
#define SKX_GATHER_CLAUSES	128

/*
 * A rest, which is asked about documents, gathers disjunctions of more than this
 * as soon as asking its clauses one by one has cost as much: to ask one about a
 * document takes the time of so many postings that are gathered, and to open a
 * list the time of so many.
 */
#define SKX_GATHER_ASKED	16
#define SKX_GATHER_ASK		8
#define SKX_GATHER_OPEN		256

/*
 * Clauses of a conjunction or disjunction of more are not even opened together:
 * each list takes some kilobytes.  They are made a bitmap one after the other
 * when the query is put on the segment.
 */
#define SKX_OPEN_CLAUSES	1024

/* The same, in a query that has more lexemes than that, with repetitions. */
#define SKX_OPEN_FEW		32
#define SKX_OPEN_LEXEMES	4096

/*
 * Prefixes with more terms than this are gathered into a bitmap, and all
 * further ones when so many lists of a query's prefixes are open.
 */
#define SKX_PREFIX_TERMS	16
#define SKX_PREFIX_LISTS	1024

typedef struct SkxRange SkxRange;
typedef struct SkxTurns SkxTurns;

/* Runs one node on one segment. */
typedef struct SkxIter
{
	SkxNodeKind kind;
	SkxSegment *seg;
	uint32		cost;			/* documents it may yield, at most */
	uint32		steps;			/* postings that it goes through to yield
								 * these, or what takes as long */
	bool		cheap;			/* reads no positions */
	int			nchildren;
	struct SkxIter **children;	/* AND: positive ones first, of these the one
								 * that generates, then cheapest first */
	int			npositive;		/* AND: children that are not NOT */
	bool		windows;		/* AND: works on windows of bits */
	bool		by_phrase;		/* AND: the words of the first child, a
								 * phrase, generate */
	SkxCursor  *list;			/* TERM */
	SkxRange   *range;			/* BITMAP, and OR that was gathered */
	SkxKeyReader *keys;			/* KEYS: of a column, */
	SkxKeyRange key_range;		/* in this range; */
	uint32		met;			/* keys to look at for all of them, about, */
	const SkxQueryNode *node;	/* and what it was opened for */
	struct SkxRangeEnds *ends;	/* OR of a range of coarse keys */
	uint32		span;			/* OR: what its bitmap has room for; */
	int			most_asked;		/* clauses that are asked one by one, */
	uint64		asked;			/* and how often they were */
	struct SkxPhrase *phrase;
	uint32	   *scratch;		/* SKX_QUERY_BATCH documents, for OR, NOT */
	struct SkxHeld *held;		/* not cheap: candidates for reading positions */
	SkxCursorShare share;		/* of the root: what its lists share */
} SkxIter;

/* Are documents asked by their keys, at least most of them? */
static inline bool
skx_query_is_by_keys(const SkxIter *it)
{
	return it->kind == SKX_NODE_KEYS || it->ends != NULL;
}

/*
 * query_iter.c
 *
 * generate yields matches in [from, limit), ascending, at most
 * SKX_QUERY_BATCH, and returns where to go on: limit or more when there are no
 * further ones below it.  filter keeps those of n ascending documents that
 * match.  fill sets the window's bits (bit of document window + i is i) of
 * all matches; the window has SKX_QUERY_BATCH bits.  bound is at most the
 * first match >= from.  All move forward only.
 *
 * next_window fills the next window for matches in [from, limit), none of which
 * is below *start; false: there are none.  Of a conjunction of dense clauses
 * (`dense`) without those that read positions.
 *
 * collect is generate for the root of a query: what its driving clause yields is
 * collected until it is at least `goal` (SKX_QUERY_BATCH at most) candidates, at
 * most SKX_QUERY_DOCS, before the other clauses see it.  The more they know of
 * what they will be asked, the more they read at once.
 */
#define SKX_WINDOW_WORDS	(SKX_QUERY_BATCH / 64)

extern uint32 skx_query_generate(SkxIter *it, uint32 from, uint32 limit,
								 uint32 *docs, int *n);
extern uint32 skx_query_collect(SkxIter *it, uint32 from, uint32 to, int goal,
								uint32 *docs, int *n);
extern int	skx_query_filter(SkxIter *it, uint32 *docs, int n);
extern void skx_query_fill(SkxIter *it, uint32 window, uint64 *bits);
extern uint32 skx_query_bound(SkxIter *it, uint32 from);
extern bool skx_query_next_window(SkxIter *it, uint32 from, uint32 limit,
								  bool dense, uint32 *start, uint32 *window,
								  uint64 *bits);

/*
 * query_count.c : the number of matches in [from, to); it starts the iterator,
 * and ends it
 */
extern uint64 skx_query_count(SkxIter *it, uint32 from, uint32 to);

/*
 * query_lead.c
 *
 * order: the clauses of a conjunction by what they leave to the others.  lead:
 * that which generates comes first.  weigh: whether it works on windows, which
 * takes less where the documents that generate are in most sub-blocks of the
 * other lists.
 */
extern void skx_query_order(SkxIter *it);
extern void skx_query_lead(SkxIter *it);
extern void skx_query_weigh(SkxIter *it);

/*
 * How many documents match, if the clauses of a conjunction are independent, and
 * phrases rare.
 */
extern double skx_query_likely(const SkxIter *it);

/*
 * Work: to find all matches; to ask a clause about documents, and to fill all
 * windows with it.
 * is_less_asked: is it less to ask the largest clause of a disjunction about the
 * others' documents, `docs` at most, than to fill windows with all of them?
 */
extern double skx_query_work(const SkxIter *it);
extern double skx_query_work_asked(const SkxIter *it, double docs);
extern double skx_query_work_filled(const SkxIter *it);
extern bool skx_query_is_less_asked(const SkxIter *it,
									const SkxIter *largest, double docs);

/*
 * query_range.c : what many lists match, as bits of a range of documents
 *
 * plan shares the room out among what a query may need.  A walk puts a prefix
 * into a range, which it makes if there is none yet, and is its first one: begin
 * takes over the terms that the walk has already, add each further one.
 * reserve, term, turns and any are for many lexemes and other clauses that are
 * put into a range, which takes the turns over; or all for those that make one.
 * Both return how many documents match at most.  clauses makes one of iterators
 * that stay the caller's.  reach makes the range
 * that has the document; false: it is the last one, and clauses are not needed
 * any more.  filter and fill are those of an iterator.
 */
typedef struct SkxRangeWalk
{
	SkxRange   *range;
	uint8		labels;
	SkxCursor  *cursor;
	SkxTermBits bits;			/* the range's, while terms are visited for it */
	int			n;				/* terms at hand, and their numbers among
								 * those that are visited */
	SkxTerm		terms[SKX_PREFIX_TERMS];
	uint32		numbers[SKX_PREFIX_TERMS];
} SkxRangeWalk;

extern void skx_query_range_plan(SkxOpening *o);
extern void skx_query_walk_begin(SkxRangeWalk *walk, const SkxOpening *o,
								 SkxRange **in, const SkxQueryNode *prefix);
extern void skx_query_walk_add(SkxRangeWalk *walk, const SkxTerm *term);
extern void skx_query_walk_end(SkxRangeWalk *walk);
extern void skx_query_range_reserve(const SkxOpening *o, SkxRange **in,
									int nterms);
extern void skx_query_range_term(SkxRange *r, const SkxTerm *term,
								 uint8 labels);
extern void skx_query_range_turns(const SkxOpening *o, SkxRange **in,
								  SkxTurns *turns);
extern uint64 skx_query_range_any(SkxRange *r);
extern uint32 skx_query_range_all(SkxRange *r);
extern SkxRange *skx_query_range_clauses(SkxSegment *seg, uint32 span,
										 SkxIter **clauses, int n);
extern bool skx_query_range_has(const SkxRange *r, uint32 doc);
extern bool skx_query_range_reach(SkxRange *r, uint32 doc);
extern int	skx_query_range_filter(SkxRange *r, uint32 *docs, int n);
extern void skx_query_range_fill(SkxRange *r, uint32 window, uint64 *bits);
extern void skx_query_range_close(SkxRange *r);

/*
 * query_turns.c : clauses that are opened one after the other
 *
 * Each is opened, asked about the documents [from, to), whose bits these are,
 * and closed.  any adds the documents of all clauses, all leaves those that
 * every clause has (fresh: of all, no bit is set yet), as do fill and keep with
 * an open one.  Returned are the documents that there may be of all clauses, at
 * most, or that are left.
 */
extern SkxTurns *skx_query_turns_create(const SkxOpening *o, int most);
extern void skx_query_turns_add(SkxTurns *turns, const SkxQueryNode *clause);
extern uint64 skx_query_turns_any(SkxTurns *turns, uint32 from, uint32 to,
								  uint64 *bits);
extern uint32 skx_query_turns_all(SkxTurns *turns, bool fresh, uint32 from,
								  uint32 to, uint64 *bits);
extern void skx_query_turns_close(SkxTurns *turns);
extern void skx_query_turn_fill(SkxIter *it, uint32 from, uint32 to,
								uint64 *bits);
extern uint32 skx_query_turn_keep(SkxIter *it, uint32 from, uint32 to,
								  uint64 *bits);

/*
 * query_open.c; asked: only to filter so many documents; one: of a clause, alone,
 * which generates, or is asked about `candidates` documents at most;
 * visit_terms: those of a prefix or range
 */
extern SkxIter *skx_query_open(SkxOpening *o);
extern SkxIter *skx_query_open_asked(const SkxOpening *opening,
									 uint32 candidates);
extern SkxIter *skx_query_open_one(const SkxOpening *o,
								   const SkxQueryNode *node, bool generates,
								   uint32 candidates);
extern SkxIter *skx_query_open_term(SkxSegment *seg, const SkxTerm *term,
									uint8 labels, SkxCursorRole role);
extern void skx_query_visit_terms(SkxSegment *seg, const SkxQueryNode *node,
								  SkxTermBits *bits, SkxTermVisit visit,
								  void *arg);
extern void skx_query_close(SkxIter *it);

/*
 * query_ahead.c : asks for where the lists of all lexemes that matter begin,
 * before any of them is opened; `alone`: and then these are, without other
 * segments' in between.
 */
extern void skx_query_ahead_first(const SkxOpening *o, bool alone);

/*
 * Whether a query that works in batches reads anything, or finds all of it in
 * the cache: in the batch before this one, and in this one so far; in the first
 * one, since the scan began.
 */
typedef struct SkxReads
{
	uint64		now;			/* skx_segment_reads when the batch began, */
	uint64		before;			/* and when the one before it did */
} SkxReads;

static inline void
skx_query_reads_begin(SkxReads *reads)
{
	reads->before = reads->now;
	reads->now = skx_segment_reads();
}

static inline bool
skx_query_reads_cold(const SkxReads *reads)
{
	return skx_segment_reads() != reads->before;
}

/* Documents of a batch after which a phrase looks whether anything was read. */
#define SKX_PHRASE_LOOK		16

/*
 * query_places.c : a phrase with prefixes
 *
 * What lists of prefixes, very many maybe, tell of documents is read for many of
 * these at once.  open makes room for the words of the phrase, which word and use
 * add, `term` NULL for a prefix; `room` is in bytes.  filter keeps those of
 * the first of *some ascending documents that may match; *some becomes how
 * many were looked at, which are 1 at least.  of: the places of a prefix in one
 * that was kept, those that matter, *n; valid until the next filter.
 *
 * prefix_postings: of all lexemes with a prefix, about, and how many these are.
 */
typedef struct SkxOccurrence
{
	uint32		doc;
	uint16		position;		/* WordEntryPos */
	bool		bare;			/* the lexeme is there without positions */
} SkxOccurrence;

typedef struct SkxPlaces SkxPlaces;
typedef struct SkxPlaceUse SkxPlaceUse;

extern SkxPlaces *skx_query_places_open(SkxSegment *seg, const SkxReads *reads,
										int nwords, Size room, bool wants_all);
extern int	skx_query_places_word(SkxPlaces *p, const char *lexeme, int len,
								  const SkxTerm *term);
extern void skx_query_places_use(SkxPlaces *p, int word,
								 const SkxPlaceUse *use);
extern int	skx_query_places_filter(SkxPlaces *p, uint32 *docs, int *some);
extern const SkxOccurrence *skx_query_places_of(SkxPlaces *p, int word,
												uint32 doc,
												int64 *n);
extern void skx_query_places_close(SkxPlaces *p);
extern uint64 skx_query_prefix_postings(SkxSegment *seg, const char *lexeme,
										int len, uint32 *nterms);

/* query_phrase.c */
typedef struct SkxPhrase SkxPhrase;
extern SkxPhrase *skx_query_phrase_open(const SkxOpening *o,
										const SkxQueryNode *node);
extern int	skx_query_phrase_filter(SkxPhrase *phrase, uint32 *docs, int n);
extern void skx_query_phrase_close(SkxPhrase *phrase);

/*
 * query_chain.c : phrases that are chains of plain lexemes
 *
 * batch keeps the documents that match; `reads` are those of its batches.
 */
extern SkxChain *skx_query_chain_open(const SkxOpening *o,
									  const SkxQueryNode *node,
									  const SkxReads *reads);
extern int	skx_query_chain_batch(SkxChain *chain, uint32 *docs, int n);

#define SKX_POSITION(p)		((p) & 0x3FFF)
#define SKX_LABEL_BIT(p)	(1 << ((p) >> 14))

#endif							/* SKX_QUERY_INTERNAL_H */
