/*
 * am_insert.c
 *	  Adds the index entry of a new row.
 *
 * Every row is a document, also one with a NULL or empty tsvector.  A query
 * that is a pure negation, and a ranking without a filter, need all rows.
 *
 * An insert that finds the pending list too long has a background worker flush
 * it.  If there can be no worker, or if the list has several times its limit
 * all the same, the insert flushes a part of it itself.  It never merges, and
 * does not wait for another process: during another flush the list grows, and
 * a later insert flushes more.  Inserts pause if the list gets very long.  The
 * row is stored before the flush and does not depend on it.  If the flush
 * finds no space, the statement goes on with a warning.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "index/column/column.h"
#include "index/document/document.h"
#include "index/pending/pending.h"
#include "sql/am/am_scan.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

/*
 * How long a session does not try to flush an index again after it has found
 * no space, in ms.
 */
#define SKX_INSERT_FLUSH_RETRY_MS	10000

/*
 * If a list has more than this many times its limit, the workers are taken to
 * be too slow.
 */
#define SKX_INSERT_OVERLOAD_FACTOR	4

/*
 * How much an insert flushes itself, in bytes, which takes some 6 ms.  A
 * command that has inserted more than SKX_INSERT_MANY_ROWS rows flushes up to
 * the limit of the list at a time, since that is less work in total.
 */
#define SKX_INSERT_FLUSH_BYTES	(512 * 1024)
#define SKX_INSERT_MANY_ROWS		1000

/*
 * Pauses after each page of a list that is longer than
 * SKX_INSERT_OVERLOAD_FACTOR times its limit while another process flushes, in
 * us.  The second is for a list that is SKX_INSERT_OVERLOAD_FACTOR times
 * longer still.  A page has several rows, so the first is some 20 us for each
 * row.
 */
#define SKX_INSERT_PAUSE_MS		100
#define SKX_INSERT_LONG_PAUSE_MS	1000

/* The state of one command. */
typedef struct SkxInsertCommand
{
	const SkxColumns *columns;
	uint64		nrows;
} SkxInsertCommand;

/* When a flush of this session found no space in an index. */
typedef struct SkxInsertFull
{
	SkxSessionEntry entry;
	TimestampTz at;
	uint64		generation;		/* of the root */
} SkxInsertFull;

static void
skx_am_insert_forget_full(SkxSessionEntry *entry)
{
	pfree(entry);
}

static SkxSessionKind skx_am_insert_fulls = {
	.max_entries = 64,
	.max_bytes = 64 * sizeof(SkxInsertFull),
	.free_entry = skx_am_insert_forget_full
};

/* A flush that an insert does itself. */
typedef struct SkxInsertFlush
{
	SkxMaintOptions options;
	uint64		budget;
	bool		has_flushed;
} SkxInsertFlush;

static void
skx_am_insert_flush_one(Relation index, void *arg)
{
	SkxInsertFlush *f = arg;
	uint64		ndocs = 0;

	f->has_flushed = skx_maint_flush(index, &f->options, f->budget,
									 SKX_WAIT_NEVER, &ndocs);
	if (f->has_flushed &&
		skx_maint_merge_is_due(index, &f->options, SKX_WAIT_NEVER))
		skx_worker_request(index, SKX_WORKER_MERGE);
}

static void
skx_am_insert_tidy(Relation index, void *arg)
{
	skx_manifest_free_orphaned(index, false);
}

/*
 * Returns true if a flush of this session has found no space in the index a
 * moment ago.  A time in the future, after the clock was set back, does not
 * count.  A new root may have given back pages, so then it is false, too.
 */
static bool
skx_am_insert_skips_flush(Relation index)
{
	TimestampTz now = GetCurrentTimestamp();
	const SkxInsertFull *full;
	SkxSessionKey key;
	SkxDiskMeta meta;

	skx_manifest_meta(index, &meta);
	key = skx_sessioncache_key(index, meta.incarnation, 0);
	full = skx_sessioncache_find(&skx_am_insert_fulls, &key);
	return full != NULL && full->generation == meta.generation &&
		full->at <= now &&
		!TimestampDifferenceExceeds(full->at, now, SKX_INSERT_FLUSH_RETRY_MS);
}

/* Notes that a flush has found no space. */
static void
skx_am_insert_note_full(Relation index, TimestampTz at)
{
	SkxInsertFull *full;
	SkxSessionKey key;
	SkxDiskMeta meta;

	skx_manifest_meta(index, &meta);
	key = skx_sessioncache_key(index, meta.incarnation, 0);
	full = skx_sessioncache_find(&skx_am_insert_fulls, &key);
	if (full == NULL)
	{
		full = MemoryContextAllocZero(skx_sessioncache_context(),
									  sizeof(SkxInsertFull));
		skx_sessioncache_put(&skx_am_insert_fulls, &key, &full->entry,
							 sizeof(SkxInsertFull));
	}
	full->at = at;
	full->generation = meta.generation;
}

static void
skx_am_insert_flush_part(Relation index, SkxInsertFlush *f, uint64 nbytes)
{
	uint64		limit = f->options.pending_limit;

	if (skx_am_insert_skips_flush(index))
		return;
	if (!skx_maint_try_optional(index, skx_am_insert_flush_one, f,
								SKX_TOLERATE_NO_SPACE))
	{
		TimestampTz at = GetCurrentTimestamp();

		skx_maint_try_optional(index, skx_am_insert_tidy, NULL,
							   SKX_TOLERATE_NO_SPACE);
		skx_am_insert_note_full(index, at);
	}
	else if (!f->has_flushed && nbytes / SKX_INSERT_OVERLOAD_FACTOR > limit)
		pg_usleep(nbytes / SKX_INSERT_OVERLOAD_FACTOR /
				  SKX_INSERT_OVERLOAD_FACTOR > limit ?
				  SKX_INSERT_LONG_PAUSE_MS : SKX_INSERT_PAUSE_MS);
}

/*
 * Called after the pending list has grown by a page.  Has it flushed if it is
 * too long.
 */
static void
skx_am_insert_list_grown(Relation index, const SkxInsertCommand *insert)
{
	MemoryContext context;
	MemoryContext old;
	SkxInsertFlush f = {0};
	uint64		limit;
	uint64		nbytes;

	if (RecoveryInProgress() || IsInParallelMode())
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx insert",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	skx_am_maint_options(index, SKX_REQUESTER_INSERT, &f.options);
	limit = f.options.pending_limit;
	f.budget = insert->nrows > SKX_INSERT_MANY_ROWS ? limit :
		Min(limit, SKX_INSERT_FLUSH_BYTES);
	nbytes = skx_pending_bytes(index, skx_manifest_view(index));
	if (nbytes > limit &&
		(!skx_worker_request(index, SKX_WORKER_FLUSH) ||
		 nbytes / SKX_INSERT_OVERLOAD_FACTOR > limit))
		skx_am_insert_flush_part(index, &f, nbytes);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Returns the state of the command, made at its first row. */
static SkxInsertCommand *
skx_am_insert_command(Relation index, IndexInfo *info)
{
	SkxInsertCommand *insert = info->ii_AmCache;
	MemoryContext old;

	if (insert != NULL)
		return insert;
	old = MemoryContextSwitchTo(info->ii_Context);
	insert = palloc0(sizeof(SkxInsertCommand));
	insert->columns = skx_column_all(index);
	info->ii_AmCache = insert;
	MemoryContextSwitchTo(old);
	return insert;
}

bool
skxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
		  Relation heap, IndexUniqueCheck unique, bool unchanged,
		  struct IndexInfo *info)
{
	SkxInsertCommand *insert = skx_am_insert_command(index, info);
	TSVector	value = skx_document_make(insert->columns, values,
										  isnull, tid);
	bool		grown;

	insert->nrows++;
	grown = skx_pending_append(index, tid, value);
	skx_am_predicate_insert(index, value);
	skx_document_release(value, values, isnull);
	if (grown)
		skx_am_insert_list_grown(index, insert);
	return false;
}
