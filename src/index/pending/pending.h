/*
 * pending.h
 *	  The pending lists: documents added since the last flush.
 *
 * An index has several stripes, each with one list.  The documents of a stripe
 * are numbered from 1 on in the order in which they were added.  In arrays
 * that have a value for each stripe, value i is that of stripe i of the view.
 */
#ifndef SKX_PENDING_H
#define SKX_PENDING_H

#include "index/column/column_value.h"
#include "index/manifest/manifest.h"
#include "storage/itemptr.h"
#include "tsearch/ts_type.h"

/*
 * Adds a document to a pending list (pending_append.c).  When it returns, the
 * document is crash-safe and visible.  Returns true if the list took a new
 * page, so that the caller looks at the size of the lists only then.
 */
extern bool skx_pending_append(Relation rel, ItemPointer tid, TSVector value);

/*
 * Returns the bytes of all documents, live and dead, that are pending for the
 * view (pending_vacuum.c).
 */
extern uint64 skx_pending_bytes(Relation rel, const SkxView *view);

/* pending_scan.c : reads the pending documents of all stripes */

/* A scan of the pending documents of a view, by stripe and number. */
typedef struct SkxPendingScan SkxPendingScan;

/* A pending document. */
typedef struct SkxPendingDoc
{
	ItemPointerData tid;
	int			stripe;
	uint64		sequence;		/* its number in the stripe */
	TSVector	value;			/* of the row, not to be changed; valid until
								 * the next document is read */
	bool		is_dead;		/* flagged by VACUUM, or known to be dead; a
								 * scan without `last` leaves it out */
	int32		bound;			/* of its score, as SkxPendingBounds told; not
								 * set without these */
} SkxPendingDoc;

/*
 * Begins a scan.  `last` NULL: it gives all live documents.  Else it gives the
 * documents of stripe i up to number last[i], with the dead ones.  The
 * arguments must live as long as the scan.
 */
extern SkxPendingScan *skx_pending_begin(Relation rel, const SkxView *view,
										 const uint64 *last);

/*
 * For scans of queries, before the first document: reads documents that this
 * session has read several times from its memory, and only later ones from the
 * list.  Documents that skx_pending_remember_dead() has noted count as dead,
 * like those that VACUUM has flagged.
 */
extern void skx_pending_use_image(SkxPendingScan *scan);

/*
 * Before the first document: the scan leaves out the documents of stripe i up
 * to number after[i].  `after` must live as long as the scan.
 */
extern void skx_pending_skip_until(SkxPendingScan *scan, const uint64 *after);

/* Most documents for which bounds are computed at once. */
#define SKX_PENDING_BOUNDS_MAX	128

/* Functions of a caller that leave out documents by upper bounds of scores. */
typedef struct SkxPendingBounds
{
	/*
	 * Sets bounds[0 .. n - 1] for the n documents of a stripe from number
	 * `sequence` on.  norms has the norms of their lengths; where they are
	 * not known it has 0, the norm of the shortest documents.
	 */
	void		(*compute_bounds) (void *arg, int stripe, uint64 sequence,
								   int n, const uint8 *norms, int32 *bounds);
	/* Returns the bound below which documents are left out. */
	int32		(*threshold) (void *arg);
	void	   *arg;
} SkxPendingBounds;

/*
 * Before the first document: the scan leaves out documents whose bounds are
 * below need() when their turn comes, without reading their values.  `only`
 * NULL: it leaves out none.  *only must live as long as the scan.
 */
extern void skx_pending_set_bounds(SkxPendingScan *scan,
								   const SkxPendingBounds *only);

/*
 * Gives the next document in *doc, and returns true; returns false at the end.
 * Holds no lock and no pin between two calls.  Raises an error for damage.
 */
extern bool skx_pending_next(SkxPendingScan *scan, SkxPendingDoc *doc);

/* Ends the scan and frees it. */
extern void skx_pending_end(SkxPendingScan *scan);

/*
 * Notes that the row of a document of stripe `which` is dead to all snapshots
 * (pending_dead.c).  Later scans of queries may leave the document out.
 */
extern void skx_pending_remember_dead(Relation rel, const SkxView *view,
									  int which, uint64 sequence);

/* pending_image.c : documents that the session keeps in its memory */

/*
 * Is called for a lexeme that a document has: `lexeme` is its index in the
 * array of lexemes, tf its term frequency, SKX_PENDING_TF_MAX at most.
 */
typedef void (*SkxPendingWordVisit) (int lexeme, int stripe, uint64 sequence,
									 int tf, void *arg);

/* A term frequency of this number or more is given as this number. */
#define SKX_PENDING_TF_MAX	255

/*
 * Returns the term frequency of a lexeme in a document: its number of
 * positions, SKX_PENDING_TF_MAX at most, or 1 if it has none.
 */
static inline int
skx_pending_tf(TSVector value, const WordEntry *entry)
{
	int			n = entry->haspos ? POSDATALEN(value, entry) : 1;

	return Min(n, SKX_PENDING_TF_MAX);
}

/*
 * Finds n lexemes in the documents that this session has read several times:
 * calls `found` for each lexeme that a document has.  Dead documents count,
 * too.  Documents of stripe i up to number last[i] are looked at, as far as
 * the session has them.  Documents of stripe i after number through[i], which
 * is set here, were not looked at.
 */
extern void skx_pending_words(Relation rel, const SkxView *view,
							  const uint64 *last, const SkxLexeme *lexemes,
							  int n, SkxPendingWordVisit found, void *arg,
							  uint64 *through);

/*
 * pending_flush.c : documents that a flush takes out of the lists
 *
 * The caller holds the lock of flushes from begin to finish, so that no page
 * leaves the lists meanwhile.
 */

/* A flush that reads pending documents. */
typedef struct SkxPendingFlush SkxPendingFlush;

/*
 * Begins a flush of `budget` bytes of documents, palloc'd.  Notes where each
 * stripe ends; later documents are not flushed.
 */
extern SkxPendingFlush *skx_pending_flush_begin(Relation rel,
												const SkxView *view,
												uint64 budget);

/*
 * Gives the next live document in *doc, in the order of each stripe, and
 * returns true.  Returns false at the end, or once the documents that it has
 * read, live or dead, have `budget` bytes.
 */
extern bool skx_pending_flush_next(SkxPendingFlush *flush,
								   SkxPendingDoc *doc);

/*
 * Calls `late` once for each document that VACUUM has flagged as dead after
 * skx_pending_flush_next() gave it.  Returns how many pages it read for that.
 * It reads none of a stripe in which VACUUM has flagged no document since the
 * last reading.  The last call is made with the lock on the metapage held.
 */
extern uint32 skx_pending_flush_visit_new_dead(SkxPendingFlush *flush,
											   void (*late) (ItemPointer tid,
															 void *arg),
											   void *arg);

/*
 * Sets what the root says after the flush, palloc'd: *stripes is the view's
 * stripes without the flushed documents; *freed is the extents that have
 * flushed documents only.  The caller holds the lock on the metapage since the
 * last call of skx_pending_flush_visit_new_dead().
 */
extern void skx_pending_flush_finish(SkxPendingFlush *flush,
									 SkxDiskStripeRef **stripes,
									 SkxFreedExtent **freed, int *nfreed);

/* Returns true if the flush has read any document, live or dead. */
extern bool skx_pending_flush_has_read(const SkxPendingFlush *flush);

/* pending_vacuum.c : VACUUM of the lists, and their sums */

/* How far VACUUM has come in a stripe; zero before the first call. */
typedef struct SkxPendingVacuum
{
	uint64		limit;			/* number after that of the last document to
								 * go through */
	uint64		sequence;		/* number of the first document of the next
								 * page */
	BlockNumber block;			/* that page */
	double		nremoved;		/* documents flagged as dead so far */
} SkxPendingVacuum;

/*
 * Goes through at most npages pages of stripe `which`, from where the last
 * call with the same *v stopped.  Flags documents as dead for which
 * `callback` returns true.  The caller holds the lock on the metapage during
 * a call.
 *
 * Returns true if there is more.  At the end each document that was live and
 * pending at the first call has been passed to `callback` once, except those
 * that a flush has moved into a segment before.
 */
extern bool skx_pending_vacuum(Relation rel, const SkxView *view, int which,
							   int npages,
							   bool (*callback) (ItemPointer tid, void *arg),
							   void *arg, SkxPendingVacuum *v);

/* pending_move.c : moves stripes without pending documents */

/*
 * Sets *extents to the extents of stripe `which`, newest first and palloc'd,
 * and returns their number.  Returns 0, with NULL, if the stripe has pending
 * documents, or has never had any.
 */
extern int	skx_pending_extents(Relation rel, const SkxView *view, int which,
								SkxDiskExtent **extents);

/*
 * Moves a stripe that has no pending documents into one extent that starts
 * before the block `below`.  Returns false, with nothing changed, if that is
 * not possible.  The index is locked AccessExclusive, and the caller holds the
 * lock on the metapage.
 */
extern bool skx_pending_move(Relation rel, const SkxView *view, int which,
							 BlockNumber below);

/* Sums over the pending documents of all stripes. */
typedef struct SkxPendingTotals
{
	uint64		ndocs;			/* live and dead */
	uint64		ndead;			/* flagged by VACUUM */
	uint64		nnull;			/* documents that are NULL */
	uint64		total_length;	/* sum of skx_pending_length() */
	uint64		nbytes;
	uint64		npages;			/* pages of the lists */
	uint64		nunused;		/* unused pages of the newest extents */
} SkxPendingTotals;

/*
 * Adds up the stripes of the view.  Unless `last` is NULL, sets last[i] to the
 * number of the last document of stripe i, pending or not.  It is read at the
 * same moment as the sums of the stripe.
 */
extern void skx_pending_totals(Relation rel, const SkxView *view,
							   SkxPendingTotals *totals, uint64 *last);

/*
 * Binds the view to the documents of stripe i up to number last[i]: it reads
 * no later ones.
 */
extern void skx_pending_bind_view(SkxView *view, const uint64 *last);

/*
 * Returns the length of a document for ranking: the number of positions of its
 * lexemes, where a lexeme without positions counts 1.  Values of columns,
 * which are stored as lexemes, do not count.
 */
extern uint64 skx_pending_length(TSVector value);

#endif							/* SKX_PENDING_H */
