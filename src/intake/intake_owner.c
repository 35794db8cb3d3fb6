/*
 * intake_owner.c
 *	  Evaluates an index's expressions as the owner of its table.
 *
 * An index on an expression is code that its owner wrote, and a function of
 * ours that evaluates it would lend it the rights of the caller.  Nothing
 * here evaluates it but between skx_intake_owner_begin() and _end(); what the
 * server evaluates for us, in builds and inserts, it evaluates in that way
 * itself, or as the user of the statement.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "compat/compat.h"
#include "executor/executor.h"
#include "intake/intake.h"
#include "utils/acl.h"
#include "utils/guc.h"

/*
 * A caller with less rights than the owner would choose with its search path
 * what the owner's code calls.
 */
void
skx_intake_owner_begin(SkxOwnerState *state, Relation heap)
{
	Oid			owner = heap->rd_rel->relowner;

	GetUserIdAndSecContext(&state->user, &state->context);
	SetUserIdAndSecContext(owner,
						   state->context | SECURITY_RESTRICTED_OPERATION);
	state->nest = NewGUCNestLevel();
	skx_compat_restrict_search_path(has_privs_of_role(state->user, owner));
}

void
skx_intake_owner_end(const SkxOwnerState *state)
{
	AtEOXact_GUC(false, state->nest);
	SetUserIdAndSecContext(state->user, state->context);
}

TSVector
skx_intake_row(Relation heap, Relation index, TupleTableSlot *slot)
{
	EState	   *estate = CreateExecutorState();
	SkxOwnerState owner;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	TSVector	vector = NULL;

	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	skx_intake_owner_begin(&owner, heap);
	FormIndexDatum(BuildIndexInfo(index), slot, estate, values, isnull);
	skx_intake_owner_end(&owner);
	if (!isnull[0])
	{
		Datum		copy = PointerGetDatum(PG_DETOAST_DATUM_COPY(values[0]));

		vector = skx_intake_datum(copy, false, &slot->tts_tid);
	}
	FreeExecutorState(estate);
	return vector;
}
