/*
 * functions_disjunction.c
 *	  Values of type skipidx_disjunction, which are scan keys for a disjunction
 *	  of conditions.
 *
 * The planner makes them (plan_disjunction.c).  Users cannot make any, so the
 * planner has checked what is in one.
 */
#include "postgres.h"

#include "access/skey.h"
#include "fmgr.h"
#include "read/condition/condition_disjunction.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(skipidx_disjunction_in);
PG_FUNCTION_INFO_V1(skipidx_disjunction_recv);
PG_FUNCTION_INFO_V1(skipidx_disjunction_out);
PG_FUNCTION_INFO_V1(skipidx_bind_values);
PG_FUNCTION_INFO_V1(skipidx_meets);

static void
skx_functions_refuse_disjunction(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", "skipidx_disjunction"),
			 errdetail("The planner makes these values of conditions with OR.")));
}

Datum
skipidx_disjunction_in(PG_FUNCTION_ARGS)
{
	skx_functions_refuse_disjunction();
	PG_RETURN_NULL();
}

Datum
skipidx_disjunction_recv(PG_FUNCTION_ARGS)
{
	skx_functions_refuse_disjunction();
	PG_RETURN_NULL();
}

/*
 * The result is always true, since the text alone does not tell what is in the
 * other columns.  If rows have to be rechecked, the plan also tests the
 * condition that the disjunction was made of.
 */
Datum
skipidx_meets(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(true);
}

/*
 * Appends the value of a condition.  `open` is the number of values before it
 * that are known at execution only.
 */
static void
skx_functions_show_value(StringInfo out, const SkxPackedCondition *packed,
						 int open)
{
	Oid			function;
	bool		varlena;

	if (packed->flags & SKX_PACKED_PARAM)
		appendStringInfo(out, "value %d", open + 1);
	else if (packed->flags & SK_ISNULL)
		appendStringInfoString(out, "NULL");
	else
	{
		getTypeOutputInfo(packed->type, &function, &varlena);
		appendStringInfoString(out,
							   OidOutputFunctionCall(function,
													 skx_condition_packed_value(packed)));
	}
}

/* Appends a condition, as in: column 2 = 5 */
static void
skx_functions_show_packed(StringInfo out, const SkxPackedCondition *packed,
						  int open)
{
	char	   *operator;

	if (skx_condition_is_gate(packed))
	{
		skx_functions_show_value(out, packed, open);
		return;
	}
	appendStringInfo(out, "column %d ", packed->column);
	if (!OidIsValid(packed->operator))
	{
		appendStringInfoString(out, (packed->flags & SK_SEARCHNULL) ?
							   "is null" : "is not null");
		return;
	}
	operator = get_opname(packed->operator);
	appendStringInfo(out, "%s ", operator != NULL ? operator : "?");
	if (packed->flags & SK_SEARCHARRAY)
		appendStringInfoString(out, "any ");
	skx_functions_show_value(out, packed, open);
}

/*
 * Output for EXPLAIN, as in: column 2 = 5 or column 3 @> {a} and column 4 is
 * null
 */
Datum
skipidx_disjunction_out(PG_FUNCTION_ARGS)
{
	const SkxDisjunction *disjunction = (SkxDisjunction *)
		PG_GETARG_VARLENA_P(0);
	const SkxPackedCondition *packed = skx_condition_first_packed(disjunction);
	int32		arm = 0;
	int			open = 0;
	StringInfoData out;
	int			i;

	initStringInfo(&out);
	for (i = 0; i < disjunction->n; i++)
	{
		if (i > 0)
			appendStringInfoString(&out, packed->arm == arm ?
								   " and " : " or ");
		arm = packed->arm;
		skx_functions_show_packed(&out, packed, open);
		open += (packed->flags & SKX_PACKED_PARAM) != 0;
		packed = skx_condition_next_packed(packed);
	}
	PG_RETURN_CSTRING(out.data);
}

/*
 * Adds a condition with the value of argument `arg`.  A gate is a condition
 * without a column: it is left out if its value is true, and never met
 * otherwise.
 */
static void
skx_functions_bind(FunctionCallInfo fcinfo, SkxPackedCondition packed, int arg,
				   StringInfo out)
{
	if (arg >= PG_NARGS() ||
		get_fn_expr_argtype(fcinfo->flinfo, arg) != packed.type)
		elog(ERROR, "unexpected value of a disjunction");
	if (skx_condition_is_gate(&packed) && !PG_ARGISNULL(arg) &&
		PG_GETARG_BOOL(arg))
		return;
	if (PG_ARGISNULL(arg) || skx_condition_is_gate(&packed))
		packed.flags |= SK_ISNULL;
	packed.flags &= ~SKX_PACKED_PARAM;
	skx_condition_pack_append(out, packed, PG_GETARG_DATUM(arg));
}

/*
 * Returns the disjunction with the values that were not known at planning,
 * which are the arguments after it.
 */
Datum
skipidx_bind_values(PG_FUNCTION_ARGS)
{
	const SkxDisjunction *open;
	const SkxPackedCondition *packed;
	StringInfoData out;
	int			arg = 1;
	int			i;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	open = (SkxDisjunction *) PG_GETARG_VARLENA_P(0);
	packed = skx_condition_first_packed(open);
	skx_condition_pack_begin(&out);
	for (i = 0; i < open->n; i++)
	{
		if (packed->flags & SKX_PACKED_PARAM)
			skx_functions_bind(fcinfo, *packed, arg++, &out);
		else
			skx_condition_pack_append(&out, *packed, packed->len > 0 ?
									  skx_condition_packed_value(packed) :
									  (Datum) 0);
		packed = skx_condition_next_packed(packed);
	}
	PG_RETURN_POINTER(skx_condition_pack_end(&out, open->is_exact != 0,
											 open->gather_cost));
}
