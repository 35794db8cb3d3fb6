/*
 * maint_optional.c
 *	  Work that may be left undone: an error of it becomes a warning.
 *
 * A flush or merge that an insert or VACUUM begins of its own accord must not
 * fail what was asked for: the row is stored, dead rows are marked, and VACUUM
 * has yet to write how far the table is frozen.  So the work runs in a
 * subtransaction, which gives back locks, pins, files and memory.
 *
 * What it has reserved in the index stays so then; the caller has
 * skx_manifest_tidy() take it back.
 */
#include "postgres.h"

#include "access/xact.h"
#include "index/manifest/manifest_publish.h"
#include "pgstat.h"
#include "support/compat/compat.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "write/maint/maint.h"

/* What pg_stat_progress_* shows: a subtransaction that fails ends it. */
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

/* Never a cancel, and nothing else that an operator wants (class 57). */
static bool
skx_maint_is_spared(const ErrorData *error, SkxMaintSpare spare)
{
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (spare == SKX_SPARE_SPACE)
		return class == ERRCODE_INSUFFICIENT_RESOURCES;
	return class != ERRCODE_OPERATOR_INTERVENTION;
}

/* The context in which the error occurred has that of the statement in it. */
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

/* The subtransaction has failed and the error is in hand. */
static void
skx_maint_optional_failed(Relation index, ErrorData *error,
						  SkxMaintSpare spare)
{
	if (!skx_maint_is_spared(error, spare))
		ReThrowError(error);
	skx_maint_warn(index, error);
	FreeErrorData(error);
}

bool
skx_maint_optional(Relation index, SkxMaintWork work, void *arg,
				   SkxMaintSpare spare)
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
	/* the work has given back its locks, done or not */
	Assert(!skx_manifest_locked(index, AccessShareLock));
	MemoryContextDelete(context);
	if (error == NULL)
		return true;
	skx_maint_progress_restore(&progress);
	skx_maint_optional_failed(index, error, spare);
	return false;
}
