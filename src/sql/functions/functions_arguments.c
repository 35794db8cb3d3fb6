/*
 * functions_arguments.c
 *	  Reads arguments of SQL functions, and decides what NULL means there.
 */
#include "postgres.h"

#include "sql/functions/functions_internal.h"

uint64
skx_functions_limit_arg(FunctionCallInfo fcinfo, int argument,
						const char *name)
{
	int32		rows;

	if (PG_ARGISNULL(argument))
		return SKX_FUNCTIONS_NO_LIMIT;
	rows = PG_GETARG_INT32(argument);
	if (rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	return (uint64) rows;
}

Datum
skx_functions_required_arg(FunctionCallInfo fcinfo, int argument,
						   const char *name)
{
	if (PG_ARGISNULL(argument))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name)));
	return PG_GETARG_DATUM(argument);
}

bool
skx_functions_is_constant(const FmgrInfo *flinfo, int argument)
{
	Node	   *call = flinfo->fn_expr;
	List	   *args = NIL;

	if (call != NULL && IsA(call, OpExpr))
		args = ((OpExpr *) call)->args;
	else if (call != NULL && IsA(call, FuncExpr))
		args = ((FuncExpr *) call)->args;
	return argument < list_length(args) &&
		IsA(list_nth(args, argument), Const);
}
