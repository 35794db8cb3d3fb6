/*
 * query_internal.h
 *	  The compiled query and the iterators that run it on one segment.
 */
#ifndef SKX_QUERY_INTERNAL_H
#define SKX_QUERY_INTERNAL_H

#include "index/segment/segment_keys.h"
#include "read/query/query.h"
#include "support/bitset/bitset.h"

/*
 * The kinds of nodes of a query, and of iterators.  BITMAP and KEYS are
 * kinds of iterators only.
 */
typedef enum SkxNodeKind
{
	SKX_NODE_NONE,				/* matches nothing */
	SKX_NODE_ALL,				/* matches every document */
	SKX_NODE_TERM,				/* a lexeme, a prefix or a range of values */
	SKX_NODE_AND,
	SKX_NODE_OR,
	SKX_NODE_NOT,
	SKX_NODE_PHRASE,
	SKX_NODE_BITMAP,			/* bits made of many terms or clauses */
	SKX_NODE_KEYS				/* documents whose keys are in a range */
} SkxNodeKind;

/* A phrase operator of a tsquery, with its operands. */
typedef struct SkxQueryPhrase
{
	TSQuery		query;			/* the tsquery that has the phrase */
	QueryItem  *item;			/* the phrase operator */
	int			nlinks;			/* number of links if the phrase is a chain of
								 * plain lexemes a <d1> b <d2> c ..., else 0 */
	QueryOperand **links;		/* these lexemes, from left to right */
	int		   *distances;		/* distances[i] from link i - 1 to link i */
} SkxQueryPhrase;

/*
 * A node of a compiled query, independent of any segment.  A query may have
 * as many of them as its tsquery has operands, so they are small.
 */
typedef struct SkxQueryNode
{
	SkxNodeKind kind;
	int			nchildren;
	int			max_children;
	uint8		labels;			/* TERM: set, 1 << label; 0: any */
	bool		prefix;			/* TERM: all lexemes with the prefix, or those
								 * in [lexeme, to) if `to` is not NULL */
	struct SkxQueryNode **children;
	const char *lexeme;			/* TERM: lexeme, prefix or start of a range */
	int			len;			/* TERM: bytes of the lexeme */
	const SkxLexeme *to;		/* TERM: the end of a range, or NULL */
	int			slot;			/* TERM: number among the query's lexemes,
								 * unless `prefix` */
	SkxQueryPhrase *phrase;		/* PHRASE: children[0] admits a superset of
								 * the matches */
} SkxQueryNode;

/* A compiled query. */
struct SkxQuery
{
	SkxQueryNode *root;
	bool		may_match_null; /* no tsquery requires a lexeme, so documents
								 * whose text is NULL have to be weeded out */
	bool		has_any_word;	/* a tsquery has a prefix of no letters */
	int			nqueries;
	TSQuery    *queries;
	int			nconditions;
	const SkxCondition *conditions;
	int			nlexemes;		/* distinct operands that are no prefixes */
	SkxLexeme  *lexemes;		/* these, ascending */
};

/*
 * query_compile.c : returns the number of a lexeme among query->lexemes,
 * which must contain it
 */
extern int	skx_query_lexeme(const SkxQuery *query, const char *lexeme,
							 int len);

/*
 * Adds n lexemes to query->lexemes, in a new array.  Those that the query
 * had may get other numbers, so the slots of its nodes have to be set anew.
 */
extern void skx_query_join_lexemes(SkxQuery *query, const SkxLexeme *more,
								   int n);

/* What is known while iterators of a query are opened on a segment. */
typedef struct SkxOpening
{
	SkxSegment *seg;
	const SkxQuery *query;
	SkxTerm    *terms;			/* one for each of query->lexemes; df is 0 if
								 * the segment lacks it */
	bool		wants_all;		/* the whole answer will be fetched */
	uint64		reads;			/* skx_segment_nloads when the scan began */
	uint32		bitmap_docs;	/* capacity of a bitmap in documents */
	uint32		nnext_docs;		/* number of lexemes of prefixes for which a
								 * bitmap stores their next document */
	int			most_clauses;	/* SKX_OPEN_CLAUSES or SKX_OPEN_CLAUSES_LOW */
	int			gather_clauses; /* SKX_GATHER_CLAUSES or SKX_GATHER_FILTER_MAX */
	uint32		nphrases;		/* number of phrases in the query */
	uint32	   *nopened;		/* number of open lists of prefixes */
	bool		is_filter;		/* iterators filter some documents that are
								 * found by other means */
	bool		admits_phrase;	/* the node is children[0] of a phrase */
	bool		keeps_terms;	/* `terms` are needed as long as the iterators
								 * are open */
	bool	   *may_use_values; /* not NULL for an estimate: set to true if
								 * lists of values may replace keys */
} SkxOpening;

/*
 * A disjunction of more clauses than this is gathered into a bitmap, one
 * clause after the other.  Window by window they would need more pins than
 * one backend should hold, and read their pages anew in each window.
 */
#define SKX_GATHER_CLAUSES	128

/*
 * A rest filters documents.  It gathers a disjunction of more clauses than
 * SKX_GATHER_FILTER_MAX as soon as filtering by one clause after the other has
 * cost as much as gathering.  To test one document on one clause takes the
 * time of gathering SKX_GATHER_FILTER_DOCS postings, and to open a list that
 * of SKX_GATHER_OPEN_CLAUSES postings.
 */
#define SKX_GATHER_FILTER_MAX	16
#define SKX_GATHER_FILTER_DOCS		8
#define SKX_GATHER_OPEN_CLAUSES		256

/*
 * The clauses of a conjunction or disjunction of more clauses than this are
 * not opened at the same time, since each list takes some kilobytes.  They
 * are put into a bitmap one after the other when the query is opened on the
 * segment.
 */
#define SKX_OPEN_CLAUSES	1024

/*
 * SKX_OPEN_CLAUSES_LOW replaces SKX_OPEN_CLAUSES in a query that has more
 * lexemes than SKX_OPEN_LEXEMES_MAX, repetitions included.
 */
#define SKX_OPEN_CLAUSES_LOW		32
#define SKX_OPEN_LEXEMES_MAX	4096

/*
 * A prefix with more terms than SKX_PREFIX_TERMS is gathered into a bitmap.
 * So are all further prefixes when more than SKX_PREFIX_LISTS lists of a
 * query's prefixes are open.
 */
#define SKX_PREFIX_TERMS	16
#define SKX_PREFIX_LISTS	1024

/* What many lists match in a range of documents, as bits (query_range.c). */
typedef struct SkxBitmap SkxBitmap;

/* Clauses that are opened one after the other (query_turns.c). */
typedef struct SkxSequence SkxSequence;

/* An iterator: runs one node of a query on one segment. */
typedef struct SkxIter
{
	SkxNodeKind kind;
	SkxSegment *seg;
	uint32		max_docs;		/* upper bound of the number of documents it
								 * yields */
	uint32		npostings;		/* postings that it goes through to yield
								 * them, or what takes as long */
	bool		reads_no_positions; /* reads no positions */
	int			nchildren;
	struct SkxIter **children;	/* AND: positive ones first, of these the one
								 * that generates, then cheapest first */
	int			npositive;		/* AND: number of children that are not NOT */
	bool		uses_windows;	/* AND: works on windows of bits */
	bool		phrase_generates;	/* AND: the words of the first child, a
									 * phrase, generate */
	SkxCursor  *list;			/* TERM: its posting list */
	SkxBitmap  *bitmap;			/* BITMAP, and OR that is gathered */
	SkxKeyReader *keys;			/* KEYS: reads the keys of a column */
	SkxKeyRange key_range;		/* KEYS: the range they are to be in */
	uint32		keys_to_test;	/* KEYS: estimate of the number of keys to
								 * test to find all documents */
	const SkxQueryNode *node;	/* KEYS: the node it was opened for */
	struct SkxRangeEnds *ends;	/* OR of a range of coarse keys, else NULL */
	uint32		bitmap_docs;	/* OR: capacity of its bitmap in documents */
	int			max_tests;		/* OR: with more clauses than this, filtering
								 * may gather them; 0: it never does */
	uint64		ntests;			/* OR: tests of documents on clauses so far */
	struct SkxPhrase *phrase;	/* PHRASE */
	uint32	   *scratch;		/* capacity of SKX_WINDOW_DOCS, or NULL */
	struct SkxHeld *unverified; /* candidates whose positions are still to be
								 * read, or NULL; only if not cheap */
	SkxCursorBudget budget;		/* of the root: what its lists share */
} SkxIter;

/* Returns true if all or most documents are tested by their keys. */
static inline bool
skx_query_tests_keys(const SkxIter *it)
{
	return it->kind == SKX_NODE_KEYS || it->ends != NULL;
}

/*
 * query_iter.c : generates and filters documents
 *
 * Iterators move forward only: from call to call, documents and windows
 * ascend.  A call has SKX_WINDOW_DOCS documents at most, unless a comment says
 * otherwise.  A window is SKX_WINDOW_DOCS bits; bit i is document window + i.
 */

/* 64-bit words of a window. */
#define SKX_WINDOW_WORDS	SKX_BITSET_WORDS(SKX_WINDOW_DOCS)

/*
 * Generates: sets docs to the next matches in [from, limit), ascending, and
 * *n to their number, which may be 0 before the end.  Returns the document
 * to go on from; if it is limit or above, there are no further matches below
 * limit.
 */
extern uint32 skx_query_generate(SkxIter *it, uint32 from, uint32 limit,
								 uint32 *docs, int *n);

/*
 * Generates for the root of a query, like skx_query_generate(), but in
 * larger batches.  The clause that generates yields candidates until there
 * are at least `goal`; only then do the other clauses filter them.  The more
 * documents these know in advance, the more they read at once.  goal is at
 * most SKX_WINDOW_DOCS; docs has a capacity of SKX_QUERY_BATCH_DOCS.
 */
extern uint32 skx_query_collect(SkxIter *it, uint32 from, uint32 to, int goal,
								uint32 *docs, int *n);

/* Keeps those of n ascending documents that match; returns how many. */
extern int	skx_query_filter(SkxIter *it, uint32 *docs, int n);

/*
 * Sets the bits of all matches in the window, which begins at a multiple of
 * 64.  Leaves the other bits as they are.
 */
extern void skx_query_fill(SkxIter *it, uint32 window, uint64 *bits);

/*
 * Returns a lower bound of the first match >= from, without decoding
 * postings.  Returns SKX_NO_DOC if there is no such match.
 */
extern uint32 skx_query_lower_bound(SkxIter *it, uint32 from);

/*
 * Fills the next window that may have matches in [from, limit), with these
 * only.  Sets *window to its first document, and *start to a lower bound of
 * them.  Returns false if there are none.  With `dense`, the iterator is a
 * conjunction, and the bits are those of its clauses that read no positions.
 */
extern bool skx_query_next_window(SkxIter *it, uint32 from, uint32 limit,
								  bool dense, uint32 *start, uint32 *window,
								  uint64 *bits);

/*
 * query_count.c : returns the number of matches in [from, to), deleted ones
 * included.  The iterator must not have moved past `from`; afterwards it
 * yields nothing below `to`.
 */
extern uint64 skx_query_count(SkxIter *it, uint32 from, uint32 to);

/*
 * query_lead.c : decides which clause of a conjunction generates, and
 * estimates work
 */

/*
 * Sorts the clauses of a conjunction: negations last, before them what reads
 * positions, and else by how few documents they leave to the others.  Sets
 * it->npositive.
 */
extern void skx_query_sort_clauses(SkxIter *it);

/*
 * Moves the clause that is to generate to the front.  Sets
 * it->phrase_generates if the words of a phrase generate.
 */
extern void skx_query_choose_generator(SkxIter *it);

/*
 * Sets it->uses_windows: whether the conjunction works on windows.  That takes
 * less time if the documents that the first clause generates lie in most
 * sub-blocks of the other lists.
 */
extern void skx_query_choose_windows(SkxIter *it);

/*
 * Returns the expected number of matches, if the clauses of a conjunction
 * are independent, and phrases rare.
 */
extern double skx_query_likely(const SkxIter *it);

/* Returns an estimate of the time to find all matches, in ns. */
extern double skx_query_find_time(const SkxIter *it);

/* Returns an estimate of the time to filter that many documents, in ns. */
extern double skx_query_filter_time(const SkxIter *it, double docs);

/* Returns an estimate of the time to fill all windows with it, in ns. */
extern double skx_query_fill_time(const SkxIter *it);

/*
 * Returns true if a disjunction is counted in less time without windows of
 * its largest clause.  That clause then filters the documents of the other
 * clauses, which are at most `docs`.
 */
extern bool skx_query_filter_is_cheaper(const SkxIter *it,
										const SkxIter *largest, double docs);

/*
 * query_range.c : what many lists match, as bits of a range of documents
 *
 * A bitmap covers the whole segment, or if the memory budget does not
 * suffice, one range of documents after the other.  It is made of prefixes,
 * of terms and clauses that take turns (query_turns.c), or of iterators.
 */

/*
 * A walk through the terms of a prefix, or of a range of values, which puts
 * their documents into a bitmap.
 */
typedef struct SkxBitmapWalk
{
	SkxBitmap  *bitmap;			/* NULL before skx_query_walk_begin() */
	uint8		labels;			/* set of labels; 0 for any */
	SkxCursor  *cursor;			/* of one list after the other */
	SkxTermBits bits;			/* the bits of `bitmap`, for terms whose
								 * documents stand in the dictionary */
	int			n;				/* number of terms to be put in next */
	SkxTerm		terms[SKX_PREFIX_TERMS];	/* these terms */
	uint32		numbers[SKX_PREFIX_TERMS];	/* their numbers among the terms
											 * that are visited */
} SkxBitmapWalk;

/*
 * Shares the memory budget out among the bitmaps that o->query may need.
 * Sets span, nnext, most_clauses, gather_clauses, nphrases and reopens of
 * the opening.
 */
extern void skx_query_bitmap_plan(SkxOpening *o);

/*
 * Begins to put the terms of a prefix into the bitmap *in, which is made if
 * it is NULL and must still be at its first range.  Takes over the terms
 * that the walk has already.  The caller sets walk->labels, terms and n, and
 * zeroes walk->bits.
 */
extern void skx_query_walk_begin(SkxBitmapWalk *walk, const SkxOpening *o,
								 SkxBitmap **in, const SkxQueryNode *prefix);

/* Adds a term of the prefix to the walk. */
extern void skx_query_walk_add(SkxBitmapWalk *walk, const SkxTerm *term);

/* Puts the terms that are left into the bitmap, and ends the walk. */
extern void skx_query_walk_end(SkxBitmapWalk *walk);

/*
 * Makes the bitmap *in if it is NULL, and gives it a capacity of nterms
 * terms for skx_query_bitmap_add_term().
 */
extern void skx_query_bitmap_reserve(const SkxOpening *o, SkxBitmap **in,
									 int nterms);

/*
 * Adds a term to the bitmap; its list is not read yet.  The term must stay
 * valid until skx_query_bitmap_any() or skx_query_bitmap_all() is called.
 */
extern void skx_query_bitmap_add_term(SkxBitmap *r, const SkxTerm *term,
									  uint8 labels);

/*
 * Makes the bitmap *in if it is NULL, and adds clauses that take turns.  The
 * bitmap takes them over, and closes them.
 */
extern void skx_query_bitmap_add_seq(const SkxOpening *o, SkxBitmap **in,
									 SkxSequence *turns);

/*
 * Puts the documents that match any of the added terms and clauses into the
 * bitmap.  Returns an upper bound of the number of matches in the segment.
 */
extern uint64 skx_query_bitmap_any(SkxBitmap *r);

/*
 * Makes the bitmap that of documents that match all of the added terms and
 * clauses.  Its bits are made at once if it covers the segment, else when
 * they are needed.  Returns an upper bound of the number of matches in the
 * segment.
 */
extern uint32 skx_query_bitmap_all(SkxBitmap *r);

/*
 * Makes a bitmap with a capacity of `span` documents, of what any of n
 * iterators matches.  They stay the caller's.  No bits are made before
 * skx_query_bitmap_move_to().
 */
extern SkxBitmap *skx_query_bitmap_of(SkxSegment *seg, uint32 span,
									  SkxIter **clauses, int n);

/* Returns true if the document is in the range that the bits are made of. */
extern bool skx_query_bitmap_covers(const SkxBitmap *r, uint32 doc);

/*
 * Moves the range forward to the document if that lies behind its end, and
 * makes the bits.  Returns false if the range ends with the segment, so that
 * the iterators of skx_query_bitmap_of() are not needed any more.
 */
extern bool skx_query_bitmap_move_to(SkxBitmap *r, uint32 doc);

/*
 * Keeps those of n ascending documents whose bits are set; returns how many.
 * Raises an error if a document lies before the range.
 */
extern int	skx_query_bitmap_filter(SkxBitmap *r, uint32 *docs, int n);

/*
 * Sets the bits of a window (see query_iter.c) that are set in the bitmap.
 * Documents before the range are left out.
 */
extern void skx_query_bitmap_fill(SkxBitmap *r, uint32 window, uint64 *bits);

/*
 * Frees the bitmap, and closes the clauses that take turns.  Iterators of
 * skx_query_bitmap_of() stay open.
 */
extern void skx_query_bitmap_close(SkxBitmap *r);

/*
 * query_turns.c : clauses that are opened one after the other
 *
 * Each clause is opened, run on the documents in [from, to), and closed
 * again.  Bit i of bits is document from + i, and from is a multiple of 64.
 * Bits have a capacity of whole windows.
 */

/*
 * Makes a list of clauses with a capacity of `most`.  Copies the opening,
 * with which the clauses will be opened; its terms must stay valid.
 */
extern SkxSequence *skx_query_seq_create(const SkxOpening *o, int most);

/* Adds a clause, which must stay valid. */
extern void skx_query_seq_add(SkxSequence *turns, const SkxQueryNode *clause);

/*
 * Sets the bits of documents that match any of the clauses.  Returns an
 * upper bound of the number of matches in the segment.
 */
extern uint64 skx_query_seq_match_any(SkxSequence *turns, uint32 from,
									  uint32 to, uint64 *bits);

/*
 * Leaves the bits of documents that match all clauses.  With `fresh` all
 * bits are 0 and stand for all documents: the bits of matches are set.
 * Returns the number of documents left.
 */
extern uint32 skx_query_seq_match_all(SkxSequence *turns, bool fresh,
									  uint32 from, uint32 to, uint64 *bits);

/* Frees the list of clauses. */
extern void skx_query_seq_close(SkxSequence *turns);

/* Sets the bits of the matches of an open iterator. */
extern void skx_query_seq_fill(SkxIter *it, uint32 from, uint32 to,
							   uint64 *bits);

/*
 * Clears the bits of documents that do not match an open iterator; returns
 * the number of documents left.
 */
extern uint32 skx_query_seq_keep(SkxIter *it, uint32 from, uint32 to,
								 uint64 *bits);

/*
 * query_open.c : opens the iterators of a compiled query on one segment, in
 * the current memory context
 */

/*
 * Opens the whole query, to generate its matches.  Plans the memory budget
 * of the opening (skx_query_bitmap_plan()).
 */
extern SkxIter *skx_query_open(SkxOpening *o);

/*
 * Opens the whole query, to filter at most `candidates` documents in all.
 * Works on a copy of the opening.
 */
extern SkxIter *skx_query_open_filter(const SkxOpening *opening,
									  uint32 candidates);

/*
 * Opens one node alone, with an opening that is planned.  It is to generate,
 * or else to filter at most `candidates` documents in all.
 */
extern SkxIter *skx_query_open_one(const SkxOpening *o,
								   const SkxQueryNode *node, bool generates,
								   uint32 candidates);

/*
 * Opens an iterator of one term's documents that have one of the labels (a
 * set; 0 for any).  It is of kind SKX_NODE_NONE if skx_query_has_term() is
 * false.
 */
extern SkxIter *skx_query_open_term(SkxSegment *seg, const SkxTerm *term,
									uint8 labels, SkxCursorRole role);

/*
 * Calls `visit` for each term of a node that is a prefix or a range of
 * values.  bits is as in skx_segment_visit_prefix().
 */
extern void skx_query_visit_terms(SkxSegment *seg, const SkxQueryNode *node,
								  SkxTermBits *bits, SkxTermVisit visit,
								  void *arg);

/* Closes an iterator and those below it, and frees them. */
extern void skx_query_close(SkxIter *it);

/*
 * query_ahead.c : prefetches where the lists of all lexemes that matter
 * begin, before any list is opened.  `alone` means that these lists are
 * opened next, without those of other segments in between; a single read is
 * then not prefetched.
 */
extern void skx_query_prefetch_first(const SkxOpening *o, bool alone);

/*
 * Counts of page loads, for a query that works in batches.  They tell
 * whether it has read anything since the batch before this one began.  For
 * the first batch, that is since the scan began.
 */
typedef struct SkxPageReads
{
	uint64		current;		/* skx_segment_nloads when the batch began */
	uint64		previous;		/* the same of the batch before it */
} SkxPageReads;

/* Begins a batch. */
static inline void
skx_query_reads_begin(SkxPageReads *reads)
{
	reads->previous = reads->current;
	reads->current = skx_segment_nloads();
}

/*
 * Returns true if anything has been read since the batch before this one
 * began, and false if all was found in the cache.
 */
static inline bool
skx_query_has_read(const SkxPageReads *reads)
{
	return skx_segment_nloads() != reads->previous;
}

/* A phrase checks after this many documents whether anything was read. */
#define SKX_PHRASE_CHECK_DOCS		16

/* query_phrase.c : which documents match a phrase */

/* A phrase that is opened on one segment. */
typedef struct SkxPhrase SkxPhrase;

/* Opens the phrase of a node of kind SKX_NODE_PHRASE. */
extern SkxPhrase *skx_query_phrase_open(const SkxOpening *o,
										const SkxQueryNode *node);

/*
 * Keeps those of n ascending documents that match the phrase; returns how
 * many.  The documents must be admitted by the node's child.
 */
extern int	skx_query_phrase_filter(SkxPhrase *phrase, uint32 *docs, int n);

/* Closes the phrase and frees it. */
extern void skx_query_phrase_close(SkxPhrase *phrase);

/* query_chain.c : phrases that are chains of plain lexemes */

/*
 * Opens a chain, with cursors of its own.  reads are those of the batches of
 * its caller.  Raises an error if the segment lacks a lexeme of the phrase.
 */
extern SkxPhraseChain *skx_query_chain_open(const SkxOpening *o,
											const SkxQueryNode *node,
											const SkxPageReads *reads);

/* Keeps those of n ascending documents that match; returns how many. */
extern int	skx_query_chain_batch(SkxPhraseChain *chain, uint32 *docs, int n);

/* The position, and the bit of the label, of a WordEntryPos. */
#define SKX_POSITION_OF(p)		((p) & 0x3FFF)
#define SKX_LABEL_BIT(p)	(1 << ((p) >> 14))

#endif							/* SKX_QUERY_INTERNAL_H */
