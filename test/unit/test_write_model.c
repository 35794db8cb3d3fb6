/*
 * test_write_model.c
 *	  Writing against a model: inserts, flushes, merges, VACUUM and crashes,
 *	  one within another, beside views that open and close.
 *
 * The code under test is that of manifest/, pending/ and maint/ as the server
 * runs it: which pages an operation reserves, what a flip frees, what open
 * views need, when a page is given out again, what merges take and what moves.
 * In place of the server are a file in memory (unit_file.h) and its processes
 * (unit_process.h); in place of what is in a segment, a number of pages.
 *
 * The model does not follow extents and generations.  It has an owner for
 * each page, which it reads anew from the file after each change of the
 * metapage, because a crash may come at any of these.  And it has, for each
 * page, the views that have it: those of this server, and those of a standby.
 * No page may have two owners, or none.  None may be overwritten, or be ready
 * for it, while a view has it.  No document may be lost, or be there twice.
 * Pages that nothing needs may not wait, and the file may not grow instead.
 *
 * UNIT_SEED repeats one seed and tells its steps.  UNIT_SEEDS is how many are
 * tried, for a longer test.
 *
 * Holds: manifest 4, 5, 6, 7, 8, 10, 11; maint 5, 8; pending 6, 8
 */
#include "unit.h"
#include "server.h"
#include "unit_case.h"
#include "unit_memory.h"
#include "unit_file.h"
#include "unit_process.h"
#include "unit_segments.h"
#include "unit_idle.h"
#include "unit_owners.h"
#include "unit_model.h"
#include "unit_new.h"

#include "support/damage/damage.h"
#include "support/fault/fault.h"

#define SEEDS		10000

/* ---- what a seed is like ---- */

typedef struct Setup
{
	uint32		block_pages;
	int			steps;			/* that are left */
	int			within;			/* percent: a step within another */
	int			crash;			/* per thousand points and records: a crash */
	int			error;			/* per thousand points: an error */
	int			hoards;			/* percent: a view stays open */
	int			unable;			/* percent: a process cannot map the shared
								 * memory of open views */
	int			density;		/* pages of segments, percent of their
								 * documents */
	uint32		built;			/* most pages of a segment of the build */
	bool		sieve;			/* segments of the build lie page by page */
	bool		near;			/* all sessions use one part of that memory */
	bool		cursors;		/* most views stay open */
	bool		brim;			/* of no more roots than there are entries */
	bool		lasting;		/* the index is logged */
	int			weights[16];	/* of steps */
} Setup;

static Setup setup;
static SkxMaintOptions options;
static FormData_pg_class class;
static FormData_pg_index index_form;

/* ---- crashes, errors, and other processes ---- */

static sigjmp_buf crash_to;
static bool may_crash;			/* the seed has begun */
static int	depth;				/* steps within steps */
static bool appending;			/* a document is being added */

bool		skx_fault_armed = true;

static void other_process(void);

/* Returns true if other processes may do something now. */
static bool
may_nest(void)
{
	return may_crash && setup.steps > 0 && depth < 3;
}

static void
maybe_crash(void)
{
	if (may_crash && unit_below(1000) < setup.crash)
		siglongjmp(crash_to, 1);
}

void
skx_fault_reached(SkxFaultPoint point)
{
	if (!may_crash || point == SKX_FAULT_VIEWS_MAP)
		return;
	maybe_crash();
	if (unit_below(1000) < setup.error)
		ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("cancel")));
	while (may_nest() && unit_chance(setup.within))
		other_process();
}

static void
unit_file_record(void)
{
	maybe_crash();
}

static void
unit_file_recorded(bool meta)
{
	if (meta)
		unit_check();
}

/* A page that is used anew must be free for that, and no view may have it. */
static void
unit_file_image(BlockNumber block, const char *image, bool anew)
{
	uint8		plane = skx_disk_const_trailer(image)->plane;
	UnitOwner	owner = block < unit_present.meta.nblocks ?
		unit_owners[block] : OWNER_NONE;

	if (anew)
	{
		MUST(unit_known[block] == 0,
			 "page %u is overwritten, and views %llx have it", block,
			 (unsigned long long) unit_known[block]);
		/* the flip that ends an operation may use what it had reserved */
		MUST(owner == OWNER_NONE || owner == OWNER_FREE ||
			 owner == OWNER_WAITING || owner == OWNER_POOL ||
			 owner == (plane == SKX_PLANE_ROOT ? OWNER_RESERVED :
					   OWNER_STRIPE),
			 "page %u of %s %u becomes one of plane %d", block,
			 unit_owner_names[owner], unit_owner_ids[block], plane);
	}
	/* a page that is still empty is not in the list */
	if (appending &&
		(plane == SKX_PLANE_PENDING || plane == SKX_PLANE_CHAIN) &&
		((const PageHeaderData *) image)->pd_lower > SKX_PAGE_START)
		unit_known[block] |= unit_unbound;
}

static void
unit_file_put(BlockNumber block)
{
	MUST(block < unit_present.meta.nblocks,
		 "page %u gets segment %u, past the end", block, unit_writing);
	MUST(unit_owners[block] == OWNER_RESERVED &&
		 unit_owner_ids[block] == unit_writing,
		 "page %u of %s %u gets segment %u", block, unit_owner_name(block),
		 unit_owner_ids[block], unit_writing);
	MUST(unit_known[block] == 0,
		 "page %u gets segment %u, and views %llx have it", block,
		 unit_writing, (unsigned long long) unit_known[block]);
}

void
skx_damage_report(Relation rel, BlockNumber block, const char *what)
{
	unit_wrong("damage in block %u: %s", block, what);
}

void
skx_damage_report_detail(Relation rel, BlockNumber block, const char *format,
						 ...)
{
	unit_wrong("damage in block %u: %s", block, format);
}

static void
unit_segment_is_read(uint32 id)
{
	const UnitSegment *s = &unit_segments[id];
	int			i;

	for (i = 0; i < s->nruns; i++)
	{
		BlockNumber block = unit_runs[s->first + i].block;
		BlockNumber end = block + unit_runs[s->first + i].npages;

		for (; block < end; block++)
			MUST(unit_owners[block] == OWNER_SEGMENT &&
				 unit_owner_ids[block] == id,
				 "a merge reads page %u of segment %u, which is of %s %u",
				 block, id, unit_owner_name(block), unit_owner_ids[block]);
	}
}

static uint64
unit_segment_generation(void)
{
	return unit_present.meta.generation;
}

static uint32
unit_segment_pages(uint64 nbytes)
{
	return 2 + (uint32) (nbytes * setup.density / 100 / BLCKSZ);
}

static void
unit_idle_waits(void)
{
	if (may_nest() && unit_chance(setup.within / 8))
		other_process();
}

/* ---- steps ---- */

/* The view of a parallel scan of a session, which a worker has taken. */
typedef struct Share
{
	int			slot;			/* 0: none has */
	SkxView		view;			/* without the root */
} Share;

static Share shares[UNIT_PROCESSES];

/* Closes the views of a process; those that outlive it can be opened again. */
static void
close_views(const UnitProcess *process)
{
	int			i;

	for (i = UNIT_STANDBY_SLOTS; i < UNIT_SLOTS; i++)
	{
		if (unit_slots[i].process != process || unit_slots[i].view == NULL)
			continue;
		if (unit_slots[i].open)
			unit_forget(i);
		if (unit_slots[i].context == NULL)
			unit_slots[i].view = NULL;
	}
}

/* Ends the transaction of a process that is in no step. */
static void
end_transaction(UnitProcess *process, bool commit)
{
	UnitProcess *before = unit_play(process);
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
		if (unit_processes[i].leader == process && process->leader == NULL)
			end_transaction(&unit_processes[i], commit);
	if (commit && process->xid != 0 && unit_chance(80))
		unit_file_flush();
	if (shares[unit_self()].slot > 0)
		unit_forget(shares[unit_self()].slot);
	shares[unit_self()].slot = 0;
	unit_end(commit);
	close_views(process);
	unit_play(before);
}

/* What an error leaves when it has ended a step. */
static void
end_failed(UnitProcess *process)
{
	MUST(unit_error_code == ERRCODE_QUERY_CANCELED ||
		 unit_error_code == ERRCODE_LOCK_NOT_AVAILABLE ||
		 unit_error_code == ERRCODE_DISK_FULL,
		 "an error was raised: %s", unit_error_text);
	unit_file_abort();
	appending = false;
	if (unit_helper_of == process ||
		unit_current == &unit_processes[UNIT_HELPER])
		unit_helper_end();
	end_transaction(process, false);
}

/* Lets a process that is in no step do one. */
static void
run(UnitProcess *process, void (*step) (void))
{
	UnitProcess *before = unit_play(process);
	MemoryContext outer_context = CurrentMemoryContext;
	sigjmp_buf *outer = PG_exception_stack;
	sigjmp_buf	here;

	process->busy = true;
	depth++;
	unit_begin();
	if (process->leader == NULL && process->session == NULL)
		process->session = unit_context(NULL);
	CurrentMemoryContext = unit_context(process->context);
	if (sigsetjmp(here, 0) == 0)
	{
		PG_exception_stack = &here;
		step();
		MemoryContextDelete(CurrentMemoryContext);
	}
	else
		end_failed(process);
	MUST(unit_nlocks == 0, "buffers stay locked");
	PG_exception_stack = outer;
	CurrentMemoryContext = outer_context;
	depth--;
	process->busy = false;
	unit_play(before);
	unit_check();
}

static uint32 row;				/* the last one inserted */

/* A file of 10 MB grows by other steps only. */
static void
step_insert(void)
{
	uint64		most = unit_chance(30) ? lengthof(unit_value.bytes) / 3 :
		unit_chance(50) ? 8000 : 2000;
	int			n = 1 + (int) unit_below(6);

	(void) GetTopTransactionId();
	if (unit_present.meta.nblocks > 1200)
		n = 0;
	while (n-- > 0)
	{
		ItemPointerData tid;

		row++;
		ItemPointerSet(&tid, row / 100, 1 + row % 100);
		SET_VARSIZE(&unit_value, 100 + unit_below(most));
		unit_value.head.size = 0;
		appending = true;
		(void) skx_pending_append(&unit_index, &tid, &unit_value.head);
		appending = false;
	}
}

static SkxManifestWait
some_wait(void)
{
	return (SkxManifestWait) unit_below(SKX_WAIT_ALL + 1);
}

static void
step_flush(void)
{
	SkxMaintOptions mine = options;
	uint64		ndocs = 0;
	uint64		budget = unit_chance(60) ? PG_INT32_MAX :
		1 + unit_below(200000);

	mine.needs_all_space = unit_chance(20);
	if (unit_chance(20))
		(void) skx_maint_flush_all(&unit_index, &mine, some_wait());
	else
		(void) skx_maint_flush(&unit_index, &mine, budget, some_wait(),
							   &ndocs);
}

static void
step_merge(void)
{
	SkxMaintOptions mine = options;
	int			most = unit_chance(20) ? 1 + (int) unit_below(4) : 0;

	mine.requester = (SkxWorkerRequester) unit_below(SKX_REQUESTER_WORKER + 1);
	mine.moves = (SkxMaintMoves) unit_below(SKX_MOVES_PAST_END + 1);
	if (unit_chance(20))
		(void) skx_maint_merge(&unit_index, &mine, most, some_wait());
	else
		(void) skx_maint_merge_step(&unit_index, &mine, most, some_wait());
}

/* Returns an open view of this process, or a closed one that it keeps. */
static int
find_view(bool open)
{
	int			from = (int) unit_below(UNIT_SLOTS);
	int			i;

	for (i = 0; i < UNIT_SLOTS; i++)
	{
		const UnitSlot *s = &unit_slots[(from + i) % UNIT_SLOTS];

		if (s->process == unit_current && s->view != NULL && s->open == open)
			return (from + i) % UNIT_SLOTS;
	}
	return -1;
}

/* As a worker does that is to make the file shorter; it has no view. */
static void
step_shrink(void)
{
	SkxMaintOptions mine = options;
	SkxMaintWaitBudget patience = {0};
	BlockNumber length;
	int			i;

	if (find_view(true) >= 0)
		return;
	mine.requester = SKX_REQUESTER_WORKER;
	mine.moves = SKX_MOVES_PAST_END;
	for (i = 0; i < 4; i++)
		if (skx_maint_merge_step(&unit_index, &mine, 0,
								 SKX_WAIT_PAGE) != SKX_STEP_DONE)
			break;
	skx_maint_wait_budget(&patience, 50);
	patience.caller_merges = unit_chance(50);
	length = unit_file_length;
	(void) skx_maint_shrink(&unit_index, &patience);
	if (unit_file_length >= length)
		return;
	for (i = 1; i <= (int) setup.block_pages; i++)
		if (unit_owners[unit_present.meta.nblocks - i] != OWNER_FREE &&
			unit_owners[unit_present.meta.nblocks - i] != OWNER_WAITING)
			return;
	unit_wrong("the file ends with a free block");
}

/* A helper whose merge has failed goes on. */
static void
step_helper(void)
{
	if (unit_helper_op != NULL && unit_helper_of == NULL)
		unit_helper_goes_on();
}

static void
step_tidy(void)
{
	(void) skx_manifest_free_orphaned(&unit_index, unit_chance(50));
}

/* Returns how many whole blocks are free, or are about to be. */
static uint32
free_blocks(void)
{
	uint32		n = 0;
	BlockNumber i;
	uint32		k;

	for (i = 0; i < unit_present.meta.nblocks; i += setup.block_pages)
	{
		for (k = 0; k < setup.block_pages; k++)
			if (unit_owners[i + k] != OWNER_FREE &&
				unit_owners[i + k] != OWNER_WAITING)
				break;
		n += k == setup.block_pages;
	}
	return n;
}

/*
 * An operation that is not published, or publishes nothing.  The file does not
 * grow for it if there are enough blocks that nothing needs.
 */
static void
step_operation(void)
{
	uint32		kind = 1 + unit_below(2);
	uint32		n = (uint32) unit_below(6);
	SkxManifestWait wait = some_wait();
	bool		in_row = unit_chance(30);
	BlockNumber nblocks = unit_present.meta.nblocks;
	bool		enough = !in_row && wait != SKX_WAIT_NEVER &&
		!unit_is_disturbed() && setup.within == 0 &&
		free_blocks() >= n + unit_present.nroot + 2;
	int			error = 0;
	SkxPublish	nothing = {0};
	SkxOperation *op;

	op = skx_manifest_begin(&unit_index, kind, n, in_row, wait,
							unit_chance(50) ? &error : NULL);
	if (op == NULL)
		return;
	MUST(!enough || unit_present.meta.nblocks == nblocks,
		 "the file grows though it has free blocks");
	if (op->waits_for_lock && unit_chance(50))
		(void) skx_manifest_allocate(op, 1 + unit_below(4));
	if (unit_chance(30) && skx_manifest_lock(&unit_index, op->waits_for_lock))
	{
		skx_manifest_publish(op, &nothing);
		skx_manifest_unlock(&unit_index);
	}
	skx_manifest_end(op);
}

/* An operation that reserves nothing: two flips. */
static void
step_flips(void)
{
	skx_manifest_end(skx_manifest_begin(&unit_index, SKX_OPERATION_FLUSH, 0,
										false, SKX_WAIT_ALL, NULL));
}

/* Only what the last flips have freed waits, when nothing is under way. */
static void
step_waits(void)
{
	uint64		now = unit_present.meta.generation;
	SkxView    *view = skx_manifest_view_unlisted(&unit_index);
	uint64	   *waits = skx_manifest_extent_waits(&unit_index, view);
	int			i;

	for (i = 0; i < view->nextents; i++)
	{
		const SkxDiskExtent *e = &view->extents[i];

		MUST(waits[i] == SKX_WAIT_NONE ||
			 (e->waits == SKX_WAITS_VIEWS ?
			  SKX_VIEW_SPAN_FREED(e->safexid, now) > now - 2 :
			  e->safexid >= unit_horizon),
			 "page %u waits for ever", e->block);
	}
}

/* Rows of documents of a segment die, and are marked. */
static void
step_mark(void)
{
	UnitSegment *s;
	uint32		live;
	int			which;

	if (unit_present.nsegments == 0)
		return;
	which = (int) unit_below(unit_present.nsegments);
	s = &unit_segments[unit_present.segments[which].segment];
	live = s->ndocs - s->ndeleted;
	if (live > 0)
		s->ndeleted += unit_chance(20) ? live : unit_below(live) + 1;
}

static bool
some_are_dead(ItemPointer tid, void *arg)
{
	return unit_chance(30);
}

/* Rows of pending documents die, and are marked. */
static void
step_dead(void)
{
	SkxPendingVacuum v = {0};
	SkxView    *view;
	int			which;

	if (!skx_manifest_lock(&unit_index, false))
		return;
	view = skx_manifest_view_unlisted(&unit_index);
	which = (int) unit_below(view->nstripes);
	while (skx_pending_vacuum(&unit_index, view, which, 256, some_are_dead,
							  NULL, &v))
		 /* all pages */ ;
	skx_manifest_unlock(&unit_index);
}

/* ---- steps of readers ---- */

/* A view was opened; `lasting`: its context, if it can be opened again. */
static void
note_view(int slot, SkxView *view, MemoryContext lasting)
{
	unit_slots[slot].open = true;
	unit_slots[slot].process = unit_current;
	unit_slots[slot].view = view;
	unit_slots[slot].context = lasting;
	if (!view->is_bound)
		unit_unbound |= UNIT_BIT(slot);
	unit_disturbed = Max(unit_disturbed, unit_present.meta.generation);
	unit_know_view(slot, view);
}

/* Returns true if the part of this process has no entry for another root. */
static bool
is_full(void)
{
	const SkxOpenPartition *part =
		&unit_area.partitions[MyProcPid % SKX_OPEN_PARTITIONS];
	int			n = 0;
	int			i;

	for (i = 0; i < SKX_OPEN_VIEWS; i++)
		n += part->views[i].count > 0;
	return n >= SKX_OPEN_VIEWS - SKX_OPEN_WORKER_ENTRIES;
}

static void
step_view(void)
{
	int			slot = unit_find_slot(false);
	MemoryContext step = CurrentMemoryContext;
	MemoryContext lasting = unit_chance(20) ? unit_current->session : NULL;
	SkxView    *view;

	if (slot < 0 || (setup.brim && is_full()))
		return;
	CurrentMemoryContext = unit_context(lasting != NULL ? lasting :
										unit_current->context);
	view = unit_chance(40) ? skx_manifest_view_bound(&unit_index) :
		skx_manifest_view(&unit_index);
	note_view(slot, view, lasting == NULL ? NULL : CurrentMemoryContext);
	CurrentMemoryContext = step;
}

static void
close_view(int slot)
{
	unit_forget(slot);
	if (unit_slots[slot].context != NULL)
		MemoryContextDelete(unit_slots[slot].context);
	else
		skx_manifest_view_free(unit_slots[slot].view);
	unit_slots[slot].view = NULL;
}

static void
step_close(void)
{
	int			slot = find_view(true);

	if (slot >= 0)
		close_view(slot);
}

static void
step_bind(void)
{
	int			slot = find_view(true);
	uint64		ends[SKX_STRIPES_DEFAULT];
	SkxView    *view;
	int			i;

	if (slot < 0 || unit_slots[slot].view->is_bound)
		return;
	view = unit_slots[slot].view;
	for (i = 0; i < view->nstripes; i++)
		ends[i] = unit_stripe_of(view, i)->next_sequence;
	skx_manifest_view_bind(view, ends);
	unit_forget(slot);
	unit_slots[slot].open = true;
	unit_know_view(slot, view);
}

/* Opens a view again that an earlier transaction has read. */
static void
step_again(void)
{
	int			slot = find_view(false);

	if (slot >= 0 &&
		skx_manifest_view_reopen(&unit_index, unit_slots[slot].view))
		note_view(slot, unit_slots[slot].view, unit_slots[slot].context);
}

/* Returns a worker for this process, or NULL. */
static UnitProcess *
find_worker(void)
{
	UnitProcess *worker = &unit_processes[UNIT_SESSIONS +
										  unit_below(UNIT_WORKERS)];

	return worker->leader == NULL || worker->leader == unit_current ?
		worker : NULL;
}

/* A worker has taken the view of a scan; others may read it until the end. */
static void
note_share(Share *share, const SkxView *view)
{
	int			slot = unit_find_slot(false);

	if (slot < 0)
		return;
	share->slot = slot;
	share->view = *view;
	unit_slots[slot].open = true;
	unit_slots[slot].process = NULL;
	unit_know_view(slot, view);
}

/*
 * A parallel worker takes the view of a scan, or enters the one that it has,
 * which is a worker's or one that the leader has open.
 */
static void
step_worker(void)
{
	int			slot = unit_find_slot(false);
	int			own = find_view(true);
	Share	   *share = &shares[unit_self()];
	UnitProcess *leader = unit_current;
	UnitProcess *worker = find_worker();
	MemoryContext step = CurrentMemoryContext;
	SkxView    *view;

	if (slot < 0 || worker == NULL)
		return;
	worker->leader = leader;
	unit_play(worker);
	unit_begin();
	CurrentMemoryContext = unit_context(worker->context);
	if (own >= 0 && unit_chance(50))
		view = skx_manifest_view_shared(&unit_index, unit_slots[own].view);
	else if (share->slot > 0)
		view = skx_manifest_view_shared(&unit_index, &share->view);
	else
		view = skx_manifest_view_bound(&unit_index);
	note_view(slot, view, NULL);
	if (share->slot == 0 && (own < 0 || view->meta.generation !=
							 unit_slots[own].view->meta.generation))
		note_share(share, view);
	if (unit_chance(50))
		close_view(slot);
	CurrentMemoryContext = step;
	unit_play(leader);
	if (own >= 0 && unit_chance(50))
		close_view(own);
}

/* ---- steps of the server ---- */

/* Another standby, archive or slot; or none. */
static void
change_standby(void)
{
	uint64		kind = unit_below(8);
	int			i;

	XLogArchiveMode = ARCHIVE_MODE_OFF;
	WalSndCtl->walsnds[0].pid = 0;
	ReplicationSlotCtl->replication_slots[0].in_use = kind == 2;
	unit_standby_tells = false;
	if (wal_level < WAL_LEVEL_REPLICA)
		return;
	if (kind == 0)
		XLogArchiveMode = ARCHIVE_MODE_ON;
	if (kind == 1)
	{
		WalSndCtl->walsnds[0].pid = 99;
		unit_standby_tells = unit_chance(50);
	}
	for (i = 0; i < UNIT_STANDBY_SLOTS && !unit_standby_tells; i++)
		unit_slots[i].feedback = false;
	unit_standby_look();
}

/* What happens whatever buffers other processes have locked. */
static void
step_server(void)
{
	UnitProcess *process = &unit_processes[unit_below(UNIT_SESSIONS)];
	int			slot = (int) unit_below(UNIT_STANDBY_SLOTS);

	switch (unit_below(7))
	{
		case 0:
		case 1:
			if (!process->busy && process->context != NULL && !setup.cursors)
				end_transaction(process, unit_chance(70));
			break;
		case 2:
			if (process->context != NULL && process->xid == 0)
				process->xid = unit_next_xid++;
			break;
		case 3:
			unit_next_xid++;
			unit_look();
			break;
		case 4:
		case 5:
			unit_standby_query();
			break;
		default:
			if (unit_slots[slot].open)
				unit_forget(slot);
			unit_standby_look();
	}
}

/* A disk that is full, or has some space again. */
static void
change_disk(void)
{
	unit_file_disk = unit_chance(50) ? UNIT_FILE_MOST - 256 :
		unit_file_length + unit_below(300);
}

/* The process ends, and another one begins in its place. */
static void
change_process(UnitProcess *process)
{
	int			next = process->proc.pid + UNIT_PROCESSES *
		SKX_OPEN_PARTITIONS;
	int			i;

	if (process->busy)
		return;
	end_transaction(process, false);
	for (i = 0; i < UNIT_SLOTS; i++)
		if (unit_slots[i].process == process)
			unit_slots[i].view = NULL;
	if (process->session != NULL)
		MemoryContextDelete(process->session);
	process->session = NULL;
	process->area = NULL;
	process->hopeless = false;
	process->unable = unit_chance(setup.unable);
	process->proc.pid = next;
}

/* ---- which step comes next ---- */

typedef struct Step
{
	const char *name;
	void		(*step) (void);
	int			weight;
} Step;

static const Step steps[] = {
	{"insert", step_insert, 30},
	{"flush", step_flush, 12},
	{"merge", step_merge, 10},
	{"shrink", step_shrink, 4},
	{"tidy", step_tidy, 4},
	{"operation", step_operation, 4},
	{"mark", step_mark, 8},
	{"dead", step_dead, 3},
	{"helper", step_helper, 4},
	{"view", step_view, 16},
	{"bind", step_bind, 4},
	{"again", step_again, 4},
	{"worker", step_worker, 3},
};

static void
tell(const char *name, const UnitProcess *process)
{
	unit_step_name = name;
	if (unit_told)
		fprintf(stderr, "%3d %*s%s by %d: generation %llu, %u pages, "
				"%d segments, %d extents, %d views not bound\n",
				unit_step, 2 * depth, "", name,
				(int) (process - unit_processes),
				(unsigned long long) unit_present.meta.generation,
				unit_present.meta.nblocks, unit_present.nsegments,
				unit_present.nextents,
				__builtin_popcountll(unit_unbound));
}

/* A process that is in no step does one, or ends something. */
static void
some_step(void)
{
	UnitProcess *process = &unit_processes[unit_below(UNIT_SESSIONS)];
	int			total = 0;
	int			at;
	int			i;

	if (process->busy)
		return;
	for (i = 0; i < (int) lengthof(steps); i++)
		total += setup.weights[i];
	at = (int) unit_below(total);
	for (i = 0; at >= setup.weights[i]; i++)
		at -= setup.weights[i];
	setup.steps--;
	unit_step++;
	tell(steps[i].name, process);
	run(process, steps[i].step);
	if (process->context == NULL || unit_chance(setup.hoards))
		return;
	if (unit_chance(50))
		end_transaction(process, unit_chance(80));
	else
		run(process, step_close);
}

/* What other processes do at a point of a step. */
static void
other_process(void)
{
	const char *name = unit_step_name;

	/* with a buffer locked, or the index, some steps would wait */
	if (unit_nlocks > 0 || unit_exclusive != NULL || unit_chance(30))
		step_server();
	else
		some_step();
	unit_step_name = name;
}

static void
some_change(void)
{
	uint64		kind = unit_below(100);

	if (kind < 3)
		change_standby();
	else if (kind < 5)
		change_disk();
	else if (kind < 7 && !setup.cursors)
		change_process(&unit_processes[unit_below(UNIT_SESSIONS)]);
	else if (kind < 25)
		step_server();
}

/* ---- seeds ---- */

static void
name_processes(void)
{
	int			i;

	for (i = 0; i < UNIT_PROCESSES; i++)
	{
		unit_processes[i].proc.pid = 1000 + i * (setup.near ?
												 SKX_OPEN_PARTITIONS : 1);
		unit_processes[i].unable = unit_chance(setup.unable);
	}
}

static void
setup_index(void)
{
	if (unit_index.rd_indexcxt != NULL)
		MemoryContextDelete(unit_index.rd_indexcxt);
	unit_index.rd_indexcxt = unit_context(NULL);
	unit_index.rd_amcache = NULL;
	unit_index.rd_rel = &class;
	unit_index.rd_index = &index_form;
	unit_index.rd_smgr = &unit_smgr;
	unit_heap.rd_rel = &class;
	class.relpersistence = setup.lasting ? RELPERSISTENCE_PERMANENT :
		RELPERSISTENCE_UNLOGGED;
}

/* Some seeds have more of some steps. */
static void
setup_weights(void)
{
	int			i;

	for (i = 0; i < (int) lengthof(steps); i++)
		setup.weights[i] = steps[i].weight * (1 + (int) unit_below(4));
}

/* Views of very many roots at once. */
static void
setup_cursors(void)
{
	int			i;

	setup.cursors = true;
	setup.brim = unit_chance(50);
	for (i = 0; i < (int) lengthof(steps); i++)
	{
		if (steps[i].step == step_view || steps[i].step == step_worker ||
			steps[i].step == step_operation)
			setup.weights[i] = setup.brim ? 50 : 150;
	}
	setup.steps += setup.brim ? 300 : 100;
	setup.hoards = 100;
	setup.near = true;
	setup.crash = 0;
	setup.error = 0;
}

/* Very many extents. */
static void
setup_sieve(void)
{
	setup.sieve = true;
	setup.block_pages = 1;
	if (unit_chance(50))
		skx_manifest_reuse_early = SKX_REUSE_OFF;
}

static void
setup_seed(void)
{
	static const uint32 blocks[] = {1, 1, 2, 4, 16};

	memset(&setup, 0, sizeof(setup));
	setup.block_pages = blocks[unit_below(lengthof(blocks))];
	setup.steps = 10 + (int) unit_below(80);
	setup.within = (int) unit_below(4) * 15;
	setup.lasting = !unit_chance(6);
	if (setup.lasting && unit_chance(60))
		setup.crash = 1 + (int) unit_below(15);
	setup.error = unit_chance(40) ? (int) unit_below(40) : 0;
	setup.hoards = unit_chance(40) ? 95 : (int) unit_below(70);
	setup.near = unit_chance(30);
	setup.unable = unit_chance(15) ? 30 : 0;
	setup.density = 40 + (int) unit_below(100);
	setup.built = unit_chance(60) ? 20 : 250;
	skx_manifest_reuse_early = unit_chance(80) ? SKX_REUSE_AUTO :
		unit_chance(50) ? SKX_REUSE_ON : SKX_REUSE_OFF;
	setup_weights();
	if (unit_chance(4))
		setup_cursors();
	if (unit_chance(2))
		setup_sieve();
	options.memory = 64 * 1024 * 1024;
	options.pending_limit = 1024 * 1024;
	options.max_merged_segment = unit_chance(80) ? UINT64CONST(5) << 30 :
		1024 * 1024;
	options.segments_per_tier = 2 + (int) unit_below(7);
	options.deletes_pct_allowed = 5 + (int) unit_below(60);
	unit_key_columns = (int) unit_below(2);
	unit_decoded = setup.lasting && unit_chance(3);
	wal_level = unit_decoded ? WAL_LEVEL_LOGICAL :
		unit_chance(90) ? WAL_LEVEL_REPLICA : WAL_LEVEL_MINIMAL;
	unit_standby_allowed = wal_level >= WAL_LEVEL_REPLICA && setup.lasting;
}

static void
begin_seed(void)
{
	memset(unit_known, 0, unit_file_longest * sizeof(unit_known[0]));
	memset(unit_freed_at, 0, unit_file_longest * sizeof(unit_freed_at[0]));
	memset(unit_segments, 0, sizeof(UnitSegment) * (unit_last_segment + 1));
	memset(unit_slots, 0, sizeof(unit_slots));
	memset(shares, 0, sizeof(shares));
	unit_unbound = 0;
	unit_disturbed = 0;
	unit_nruns = 0;
	unit_feedback = 0;
	unit_next_xid = 1000;
	unit_step = 0;
	row = 0;
	setup_seed();
	unit_server_begin();
	name_processes();
	unit_file_begin();
	setup_index();
	change_standby();
	CurrentMemoryContext = unit_context(NULL);
	unit_new_index(setup.block_pages, setup.built, setup.sieve);
	MemoryContextDelete(CurrentMemoryContext);
	unit_check();
}

/* The server begins again; the last records may be lost. */
static void
recover(void)
{
	uint32		id;
	int			lost;
	int			i;

	may_crash = false;
	unit_helper_left = false;
	unit_file_abort();
	appending = false;
	depth = 0;
	PG_exception_stack = NULL;
	for (i = UNIT_STANDBY_SLOTS; i < UNIT_SLOTS; i++)
	{
		if (unit_slots[i].open)
			unit_forget(i);
		memset(&unit_slots[i], 0, sizeof(UnitSlot));
	}
	memset(shares, 0, sizeof(shares));
	unit_helper_op = NULL;
	unit_helper_of = NULL;
	unit_server_begin();
	name_processes();
	setup_index();
	lost = unit_chance(50) ? (int) unit_below(1 + unit_file_unflushed()) : 0;
	unit_file_lose(lost);
	if (unit_told)
		fprintf(stderr, "    a crash in %s\n", unit_step_name);
	unit_step_name = "recovery";
	/* when its pages were freed is not known any more */
	memset(unit_freed_at, 0, unit_file_longest * sizeof(unit_freed_at[0]));
	unit_read();
	for (id = 1; id <= unit_last_segment; id++)
		if (unit_segments[id].emptied >= unit_present.meta.generation)
			unit_segments[id].emptied = 0;
	unit_check();
	unit_disturbed = unit_present.meta.generation;
}

/* Nothing waits, or is reserved, when all have gone. */
static void
end_seed(void)
{
	int			i;

	may_crash = false;
	unit_step_name = "end";
	for (i = 0; i < UNIT_SESSIONS; i++)
		change_process(&unit_processes[i]);
	for (i = 0; i < UNIT_SESSIONS; i++)
		unit_processes[i].unable = false;
	unit_standby_cancel(0, true);
	unit_file_disk = UNIT_FILE_MOST;
	unit_helper_left = false;
	if (unit_helper_op != NULL)
		unit_helper_end();
	unit_next_xid += 2;
	unit_look();
	run(&unit_processes[0], step_tidy);
	MUST(unit_present.noperations == 0, "an operation is left");
	for (i = 0; i < 2; i++)
	{
		end_transaction(&unit_processes[0], true);
		unit_next_xid++;
		unit_look();
		run(&unit_processes[0], step_flips);
	}
	run(&unit_processes[0], step_waits);
	end_transaction(&unit_processes[0], true);
	run(&unit_processes[0], step_shrink);
}

static void
test_seed(void)
{
	unit_state = unit_case * UINT64CONST(0x2545F4914F6CDD1D) + 1;
	begin_seed();
	if (sigsetjmp(crash_to, 0) != 0)
		recover();
	may_crash = true;
	unit_helper_left = setup.error > 0;
	while (setup.steps > 0)
	{
		some_change();
		some_step();
	}
	end_seed();
}

int
main(void)
{
	const char *given = getenv("UNIT_SEED");
	const char *many = getenv("UNIT_SEEDS");
	uint64		n = many != NULL ? strtoull(many, NULL, 0) : UNIT_CASES(SEEDS);

	MainLWLockArray = calloc(256, sizeof(LWLockPadded));
	WalSndCtl = calloc(1, sizeof(WalSndCtlData) + sizeof(WalSnd));
	ReplicationSlotCtl = calloc(1, sizeof(ReplicationSlotCtlData));
	skx_manifest_open_init();
	unit_told = given != NULL;
	if (unit_told)
	{
		unit_case = strtoull(given, NULL, 0);
		test_seed();
		return unit_done("write_model");
	}
	for (unit_case = 1; unit_case <= n; unit_case++)
		test_seed();
	return unit_done("write_model");
}
