/*
 * maint_optional.c
 *	  Work that may be left undone: its errors become warnings.
 *
 * An insert or VACUUM that begins a flush or merge by itself must not fail
 * with it: the row is stored, or dead rows are marked.  VACUUM also has yet to
 * record how far the table is frozen.  So the work runs in a subtransaction,
 * whose rollback gives back locks, pins, files and memory.
 *
 * Pages that the work has reserved in the index stay reserved; the caller has
 * skx_manifest_free_orphaned() take them back.
 */
#include "postgres.h"

#include "access/xact.h"
#include "index/manifest/manifest_publish.h"
#include "pgstat.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "write/maint/maint.h"

/*
 * The state that pg_stat_progress_* shows, which a subtransaction that fails
 * clears.
 */
typedef struct SkxMaintProgress
{
	ProgressCommandType command;
	Oid			target;
	int64		values[PGSTAT_NUM_PROGRESS_PARAM];
} SkxMaintProgress;

static void
skx_maint_progress_save(SkxMaintProgress *progress)
{
	progress->command = PROGRESS_COMMAND_INVALID;
	if (MyBEEntry == NULL)
		return;
	progress->command = MyBEEntry->st_progress_command;
	progress->target = MyBEEntry->st_progress_command_target;
	memcpy(progress->values, MyBEEntry->st_progress_param,
		   sizeof(progress->values));
}

static void
skx_maint_progress_restore(const SkxMaintProgress *progress)
{
	int			params[PGSTAT_NUM_PROGRESS_PARAM];
	int			i;

	if (progress->command == PROGRESS_COMMAND_INVALID)
		return;
	for (i = 0; i < PGSTAT_NUM_PROGRESS_PARAM; i++)
		params[i] = i;
	pgstat_progress_start_command(progress->command, progress->target);
	pgstat_progress_update_multi_param(PGSTAT_NUM_PROGRESS_PARAM, params,
									   progress->values);
}

/*
 * Returns true if the error becomes a warning.  A cancel, and anything else
 * that an operator causes (class 57), never does.
 */
static bool
skx_maint_is_tolerated(const ErrorData *error, SkxMaintTolerance spare)
{
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (spare == SKX_TOLERATE_NO_SPACE)
		return class == ERRCODE_INSUFFICIENT_RESOURCES;
	return class != ERRCODE_OPERATOR_INTERVENTION;
}

/*
 * Reports the error as a warning.  Its context already includes that of the
 * statement, so the callbacks are not called again.
 */
static void
skx_maint_warn(Relation index, const ErrorData *error)
{
	ErrorContextCallback *stack = error_context_stack;

	error_context_stack = NULL;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg_internal("%s", error->message),
			 error->detail != NULL ?
			 errdetail_internal("%s", error->detail) :
			 errdetail("Index \"%s\" stays as it is until the next flush or merge.",
					   RelationGetRelationName(index)),
			 error->hint != NULL ? errhint("%s", error->hint) : 0,
			 error->context != NULL ? errcontext("%s", error->context) : 0));
	error_context_stack = stack;
}

/*
 * Called with the error after the subtransaction was rolled back: makes it a
 * warning, or raises it.
 */
static void
skx_maint_optional_failed(Relation index, ErrorData *error,
						  SkxMaintTolerance spare)
{
	if (!skx_maint_is_tolerated(error, spare))
		ReThrowError(error);
	skx_maint_warn(index, error);
	FreeErrorData(error);
}

bool
skx_maint_try_optional(Relation index, SkxMaintWork work, void *arg,
					   SkxMaintTolerance spare)
{
	MemoryContext old = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext context = AllocSetContextCreate(old, "skipidx optional work",
												  ALLOCSET_SMALL_SIZES);
	ErrorData  *volatile error = NULL;
	SkxMaintProgress progress;

	Assert(SKX_COMPAT_SUBTRANSACTIONS());
	skx_maint_progress_save(&progress);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(index, arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	CurrentResourceOwner = owner;
	/* the work has released its locks, whether it is done or not */
	Assert(!skx_manifest_holds_lock(index, AccessShareLock));
	MemoryContextDelete(context);
	if (error == NULL)
		return true;
	skx_maint_progress_restore(&progress);
	skx_maint_optional_failed(index, error, spare);
	return false;
}
