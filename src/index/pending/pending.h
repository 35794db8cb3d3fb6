/*
 * pending.h
 *	  The insert buffer: documents added since the last flush.
 */
#ifndef SKX_PENDING_H
#define SKX_PENDING_H

#include "index/column/column_value.h"
#include "index/manifest/manifest.h"
#include "storage/itemptr.h"
#include "tsearch/ts_type.h"

/*
 * pending_append.c : crash-safe and visible when it returns.  True once in a
 * while, when a page of the list was filled: the time to ask for its size.
 */
extern bool skx_pending_append(Relation rel, ItemPointer tid, TSVector value);

/* Bytes of all documents that are pending by that view. */
extern uint64 skx_pending_bytes(Relation rel, const SkxView *view);

/*
 * pending_scan.c : documents of all stripes, by stripe and number
 *
 * last NULL: all live ones.  Else those that stripe i had when number last[i]
 * was its last one, the dead ones, too.
 */
typedef struct SkxPendingScan SkxPendingScan;

typedef struct SkxPendingDoc
{
	ItemPointerData tid;
	int			stripe;
	uint64		sequence;		/* its number there */
	TSVector	value;			/* of the row, not to be changed; valid until
								 * next */
	bool		dead;			/* marked or noted; only seen with `last` */
} SkxPendingDoc;

extern SkxPendingScan *skx_pending_begin(Relation rel, const SkxView *view,
										 const uint64 *last);

/*
 * For queries: takes documents that this session has read several times from its
 * memory, and only what has come since from the list; those whose rows were
 * noted to be dead are as dead as those that VACUUM has marked.
 */
extern void skx_pending_remember(SkxPendingScan *scan);

/* Of stripe i only those after number after[i]. */
extern void skx_pending_after(SkxPendingScan *scan, const uint64 *after);

/*
 * only: those whose bounds are not below what is needed when their turn comes,
 * and nothing of the others is looked at; NULL: all.  `find` is called for the
 * n documents of a stripe from a number on, SKX_PENDING_BOUNDS at most; norms:
 * the codes of their lengths, or of the shortest, 0, where that is not known.
 */
#define SKX_PENDING_BOUNDS	128

typedef struct SkxPendingBounds
{
	void		(*find) (void *arg, int stripe, uint64 sequence, int n,
						 const uint8 *norms, int32 *bounds);
	int32		(*need) (void *arg);
	void	   *arg;
} SkxPendingBounds;

extern void skx_pending_only(SkxPendingScan *scan,
							 const SkxPendingBounds *only);
extern bool skx_pending_next(SkxPendingScan *scan, SkxPendingDoc *doc);
extern void skx_pending_end(SkxPendingScan *scan);

/*
 * pending_dead.c : the row of that document of a stripe was seen to be dead to
 * all, and the document may be left out from now on
 */
extern void skx_pending_note_dead(Relation rel, const SkxView *view, int which,
								  uint64 sequence);

/*
 * pending_image.c : which documents have words
 *
 * Of documents that this session has read several times: calls `found` with the
 * number of each lexeme that one has, up to last[i] of stripe i, the dead ones,
 * too.  through[i]: what comes after that number of stripe i was not looked at.
 */
typedef void (*SkxPendingFound) (int lexeme, int stripe, uint64 sequence,
								 int tf, void *arg);

/* How often: a lexeme without positions once, and so many times or more. */
#define SKX_PENDING_TF_MANY	255

static inline int
skx_pending_tf(TSVector value, const WordEntry *entry)
{
	int			n = entry->haspos ? POSDATALEN(value, entry) : 1;

	return Min(n, SKX_PENDING_TF_MANY);
}

extern void skx_pending_words(Relation rel, const SkxView *view,
							  const uint64 *last, const SkxLexeme *lexemes,
							  int n, SkxPendingFound found, void *arg,
							  uint64 *through);

/*
 * pending_flush.c : what a flush takes out of the lists
 *
 * begin fixes nothing; next gives live documents in the order of each stripe,
 * until `budget` bytes of them, at least one document, were seen.  The caller
 * has the lock of flushes, so no page leaves the lists meanwhile.
 *
 * Then late tells, once each, the documents that VACUUM marked dead after next
 * had given them, and returns how many pages it has read for that: none of a
 * stripe where it has marked none since.  The last time it is called with the
 * lock on the metapage.  Under the same lock finish says what the root has to
 * say afterwards: the view's stripes with what was flushed, and the extents
 * that hold nothing else.  Both are palloc'd.
 */
typedef struct SkxPendingFlush SkxPendingFlush;

extern SkxPendingFlush *skx_pending_flush_begin(Relation rel,
												const SkxView *view,
												uint64 budget);
extern bool skx_pending_flush_next(SkxPendingFlush *flush,
								   SkxPendingDoc *doc);
extern uint32 skx_pending_flush_late(SkxPendingFlush *flush,
									 void (*late) (ItemPointer tid, void *arg),
									 void *arg);
extern void skx_pending_flush_finish(SkxPendingFlush *flush,
									 SkxDiskStripeRef **stripes,
									 SkxFreed **freed, int *nfreed);

/* Did it see any document, live or dead? */
extern bool skx_pending_flush_any(const SkxPendingFlush *flush);

/*
 * pending_vacuum.c : marks documents dead for which `callback` says so
 *
 * Goes through at most `npages` pages of one stripe of the view, from where
 * the last call for it stopped (*v zero: none did).  False: every document that
 * was pending at the first call, and not moved into a segment before its turn,
 * has been asked about, once.
 */
typedef struct SkxPendingVacuum
{
	uint64		limit;			/* number after that of the last one to ask
								 * about */
	uint64		sequence;		/* of the first document of the next page */
	BlockNumber block;			/* that page */
	double		removed;
} SkxPendingVacuum;

extern bool skx_pending_vacuum(Relation rel, const SkxView *view, int which,
							   int npages,
							   bool (*callback) (ItemPointer tid, void *arg),
							   void *arg, SkxPendingVacuum *v);

/*
 * pending_move.c
 *
 * extents: those of a stripe of which nothing is pending, newest first; 0:
 * something is, or nothing ever was.  move: puts such a stripe below a block;
 * the index is locked AccessExclusive, and the metapage.  False: it stays.
 */
extern int	skx_pending_extents(Relation rel, const SkxView *view, int which,
								SkxDiskExtent **extents);
extern bool skx_pending_move(Relation rel, const SkxView *view, int which,
							 BlockNumber below);

/* Sums over the stripes of a view. */
typedef struct SkxPendingTotals
{
	uint64		ndocs;			/* live and dead */
	uint64		ndead;
	uint64		nnull;
	uint64		total_length;
	uint64		nbytes;
	uint64		npages;
	uint64		nunused;		/* pages of the stripes' extents, to be used
								 * next */
} SkxPendingTotals;

/*
 * last: the number of the last document of each of the view's stripes, pending
 * or not, at the same moment as the sums; NULL: not asked for.
 */
extern void skx_pending_totals(Relation rel, const SkxView *view,
							   SkxPendingTotals *totals, uint64 *last);

/* From now on the view reads no document after the last ones. */
extern void skx_pending_bind(SkxView *view, const uint64 *last);

/* Length of a document as ranking counts it: positions, or 1 per lexeme of
 * its text without any. */
extern uint64 skx_pending_length(TSVector value);

#endif							/* SKX_PENDING_H */
