/*
 * autoprewarm_database.c
 *	  A background worker that reads pages of one database back.
 *
 * It reads a batch of pages in a transaction of its own, with a snapshot, as a
 * short search does.  So it holds back VACUUM no longer than one does.  It
 * gives way to a process that wants the index: then it leaves that index out.
 * If a process wants the database, it ends.
 *
 * The pages used most come first.  An index that is gone or was made anew, and
 * pages of segments that were merged meanwhile, are left out.
 */
#include "postgres.h"

#include "access/xact.h"
#include "index/snapshot/snapshot.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "sql/am/am.h"
#include "sql/autoprewarm/autoprewarm_internal.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "support/worker/worker.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

extern PGDLLEXPORT void skx_autoprewarm_database_main(Datum arg);

/* Pages of a batch (16 MB), or a little more, and most stretches of one. */
#define SKX_AUTOPREWARM_BATCH_PAGES		2048
#define SKX_AUTOPREWARM_BATCH_STRETCHES	512

/* Most pages of a stretch of a batch. */
#define SKX_AUTOPREWARM_PART_PAGES		512

typedef struct SkxAutoprewarm
{
	SkxAmGuest	guest;
	SkxAutoprewarmNotes notes;
	int		   *own;			/* for each index in the notes: the number of
								 * one of its incarnation in this database, or
								 * -1 */
	bool	   *is_left_out;	/* by the same numbers as `own` */
	bool		is_over;		/* a process wants the database, or the work
								 * was switched off */
	uint64		budget;			/* pages that notes of such a cache can still
								 * name */

	/* the batch: stretches of the index with this number */
	int			number;
	int			nstretches;
	uint32		npages;
	SkxAutoprewarmStretch stretches[SKX_AUTOPREWARM_BATCH_STRETCHES];
} SkxAutoprewarm;

/* Called every SKX_THROTTLE_CHECK_MS ms while pages are read. */
static void
skx_autoprewarm_check(void *arg)
{
	SkxAutoprewarm *w = arg;

	skx_am_guest_look();
	skx_am_guest_check(&w->guest, skx_blkio_warmer_interval == 0);
}

/* Returns the plane of a stretch, or NULL if the view has none. */
static const SkxBlkPlane *
skx_autoprewarm_plane(const SkxSnapshotReader *source,
					  const SkxAutoprewarmStretch *stretch)
{
	int			i;
	int			plane;

	for (i = 0; i < source->nsegments; i++)
	{
		for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
		{
			const SkxBlkPlane *at = &source->segments[i]->planes[plane];

			if (plane != SKX_SEGMENT_DELETES && at->plane == stretch->plane &&
				at->segment == stretch->segment && at->salt == stretch->salt)
				return at;
		}
	}
	return NULL;
}

/* Reads the batch, as far as the view of its index has the pages. */
static void
skx_autoprewarm_read_pages(SkxAutoprewarm *w, const SkxView *view)
{
	SkxSnapshotReader *source = skx_snapshot_open(w->guest.index, view);
	SkxBlkStretch *stretches = palloc(w->nstretches * sizeof(SkxBlkStretch));
	int			n = 0;
	int			i;

	if (source->file != NULL)
	{
		skx_blkio_evict_nothing(source->file);
		(void) skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
		for (i = 0; i < w->nstretches; i++)
		{
			stretches[n].plane = skx_autoprewarm_plane(source,
													   &w->stretches[i]);
			stretches[n].first = w->stretches[i].first;
			stretches[n].npages = w->stretches[i].npages;
			stretches[n].uses = w->stretches[i].uses;
			n += stretches[n].plane != NULL;
		}
		(void) skx_blkio_prewarm_spare(source->file, stretches, n);
	}
	skx_snapshot_close(source);
}

/* Reads the batch, in a transaction. */
static void
skx_autoprewarm_read_batch(SkxAutoprewarm *w)
{
	const SkxBlkKnownIndex *known = &w->notes.indexes[w->number];

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	w->is_over = skx_worker_database_wanted(w->guest.database);
	w->is_left_out[w->number] = true;
	if (!w->is_over && skx_am_guest_open(&w->guest, known->index))
	{
		const SkxView *view = skx_manifest_view(w->guest.index);

		skx_throttle_begin(skx_autoprewarm_check, w, NULL);
		if (view->meta.incarnation == known->incarnation)
		{
			skx_autoprewarm_read_pages(w, view);
			w->is_left_out[w->number] = false;
		}
		skx_throttle_end();
		skx_am_guest_close(&w->guest);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/*
 * Reads the batch, and begins an empty one.  If that fails or gives way, the
 * index is left out from then on; in the second case the log has no message.
 */
static void
skx_autoprewarm_end_batch(SkxAutoprewarm *w)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		if (w->nstretches > 0)
			skx_autoprewarm_read_batch(w);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		HOLD_INTERRUPTS();
		skx_throttle_end();
		w->is_left_out[w->number] = true;
		w->is_over = w->guest.is_evicted || skx_blkio_warmer_interval == 0;
		if (error->sqlerrcode != SKX_AM_GUEST_SQLSTATE)
			EmitErrorReport();
		FlushErrorState();
		FreeErrorData(error);
		AbortOutOfAnyTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	w->nstretches = 0;
	w->npages = 0;
}

/* Adds a stretch of the index with this number to batches. */
static void
skx_autoprewarm_add(SkxAutoprewarm *w, int number,
					SkxAutoprewarmStretch stretch)
{
	uint32		left = stretch.npages;

	while (left > 0 && !w->is_over && !w->is_left_out[number])
	{
		if (w->number != number ||
			w->npages >= SKX_AUTOPREWARM_BATCH_PAGES ||
			w->nstretches == SKX_AUTOPREWARM_BATCH_STRETCHES)
		{
			skx_autoprewarm_end_batch(w);
			w->number = number;
			continue;
		}
		stretch.npages = Min(left, SKX_AUTOPREWARM_PART_PAGES);
		w->stretches[w->nstretches++] = stretch;
		w->npages += stretch.npages;
		stretch.first += stretch.npages;
		left -= stretch.npages;
	}
}

/* Finds the indexes of this database. */
static void
skx_autoprewarm_find_own(SkxAutoprewarm *w)
{
	const SkxBlkKnownIndex *indexes = w->notes.indexes;
	uint32		n = w->notes.nindexes;
	uint32		i;
	int			own = -1;

	w->own = palloc((n + 1) * sizeof(int));
	w->is_left_out = palloc0((n + 1) * sizeof(bool));

	/* indexes are by incarnation, and groups name the first of each */
	for (i = n; i-- > 0;)
	{
		if (i + 1 < n && indexes[i].incarnation != indexes[i + 1].incarnation)
			own = -1;
		if (indexes[i].database == w->guest.database)
			own = (int) i;
		w->own[i] = own;
	}
}

void
skx_autoprewarm_database_main(Datum arg)
{
	SkxAutoprewarm *w = MemoryContextAllocZero(TopMemoryContext, sizeof(*w));
	SkxAutoprewarmStretch stretch;

	w->guest.database = DatumGetObjectId(arg);
	w->guest.mode = AccessShareLock;
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(w->guest.database, InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	skx_worker_set_settings();
	pgstat_report_appname("skipidx autoprewarm");
	MemoryContextSwitchTo(TopMemoryContext);
	if (!skx_autoprewarm_read(&w->notes))
		return;
	skx_autoprewarm_find_own(w);
	pgstat_report_activity(STATE_RUNNING, "skipidx: autoprewarm");
	w->budget = skx_blkio_warmer_most_pages();
	while (!w->is_over && w->budget > 0 && skx_blkio_warmer_has_room() &&
		   skx_autoprewarm_next(&w->notes, &stretch))
	{
		CHECK_FOR_INTERRUPTS();
		stretch.npages = (uint32) Min(stretch.npages, w->budget);
		w->budget -= stretch.npages;
		if (w->own[stretch.index] >= 0)
			skx_autoprewarm_add(w, w->own[stretch.index], stretch);
	}
	skx_autoprewarm_end_batch(w);
}
