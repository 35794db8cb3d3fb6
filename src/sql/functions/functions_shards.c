/*
 * functions_shards.c
 *	  The ranking of a distributed table, as the sum of its shards' rankings.
 *
 * Citus, and software derived from it, runs a command for each shard of a
 * table where the shard is, as the same user: run_command_on_shards().  So the
 * rights are checked here and there.  The command is a pattern of format(),
 * whose only conversion is replaced by the name of a shard, quoted where it
 * must be.  That name may have any characters, so it is used as the name of a
 * type and never within a literal.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "read/score/score.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "write/maint/maint.h"

PG_FUNCTION_INFO_V1(skipidx_ranking_of_shards);

/* Errors out unless there is the function that asks all shards. */
static void
skx_functions_check_shards_function(void)
{
	List	   *name = list_make2(makeString("pg_catalog"),
								  makeString("run_command_on_shards"));
	const Oid	any = InvalidOid;	/* which must not be NULL, and is not read */

	if (!OidIsValid(LookupFuncName(name, -1, &any, true)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function pg_catalog.run_command_on_shards() does not exist"),
				 errdetail("It is a function of Citus, by which all shards of a table are asked."),
				 errhint("Add up the shards' rankings by sum(), if there is another way to ask them.")));
}

/* Appends the text as a part of a pattern of format(). */
static void
skx_functions_append_pattern(StringInfo pattern, const char *text)
{
	for (; *text != '\0'; text++)
	{
		CHECK_FOR_INTERRUPTS();
		appendStringInfoChar(pattern, *text);
		if (*text == '%')
			appendStringInfoChar(pattern, '%');
	}
}

/*
 * Returns the command that makes the ranking of a shard.  Its index has the
 * name of the index and the shard's number.  Where that is too long for a
 * name, the shard's index has another one, and must be the only one.  All
 * names are qualified, as the command runs under any search path.
 */
static char *
skx_functions_shard_command(Oid function, const char *index, TSQuery query)
{
	StringInfoData pattern;
	const char *schema = quote_identifier(get_namespace_name(get_func_namespace(function)));
	const char *words = DatumGetCString(DirectFunctionCall1(tsqueryout,
															TSQueryGetDatum(query)));

	initStringInfo(&pattern);
	skx_functions_append_pattern(&pattern, "SELECT ");
	skx_functions_append_pattern(&pattern, schema);
	skx_functions_append_pattern(&pattern, ".skipidx_ranking((SELECT x.oid FROM (SELECT i.oid, i.relname::pg_catalog.text AS name, pg_catalog.concat(");
	skx_functions_append_pattern(&pattern, quote_literal_cstr(index));
	skx_functions_append_pattern(&pattern, ", pg_catalog.substring(t.relname::pg_catalog.text, '_[0-9]+$')) AS wanted, pg_catalog.count(*) OVER () AS n"
								 " FROM pg_catalog.pg_class t, pg_catalog.pg_index x, pg_catalog.pg_class i, pg_catalog.pg_am a"
								 " WHERE x.indrelid OPERATOR(pg_catalog.=) t.oid AND i.oid OPERATOR(pg_catalog.=) x.indexrelid AND x.indisvalid"
								 " AND a.oid OPERATOR(pg_catalog.=) i.relam AND a.amname OPERATOR(pg_catalog.=) 'skipidx'::pg_catalog.name"
								 " AND t.reltype OPERATOR(pg_catalog.=) pg_catalog.pg_typeof(NULL::");
	appendStringInfoString(&pattern, "%s");
	skx_functions_append_pattern(&pattern, ")::pg_catalog.oid) x WHERE x.name OPERATOR(pg_catalog.=) x.wanted OR (x.n OPERATOR(pg_catalog.=) 1::pg_catalog.int8"
								 " AND pg_catalog.octet_length(x.wanted) OPERATOR(pg_catalog.>=) ");
	skx_functions_append_pattern(&pattern, psprintf("%d", NAMEDATALEN));
	skx_functions_append_pattern(&pattern, "))::pg_catalog.regclass, ");
	skx_functions_append_pattern(&pattern, quote_literal_cstr(words));
	skx_functions_append_pattern(&pattern, "::pg_catalog.tsquery)");
	return pattern.data;
}

/*
 * Returns column `column` (from 1) of a row of the answers as a string.  NULL
 * is an empty one.
 */
static char *
skx_functions_shard_value(uint64 row, int column)
{
	char	   *value = SPI_getvalue(SPI_tuptable->vals[row],
									 SPI_tuptable->tupdesc, column);

	return value != NULL ? value : "";
}

/* Errors out unless the shard in this row has answered with a ranking. */
static void
skx_functions_check_shard(uint64 row, const char *table)
{
	const char *shard = skx_functions_shard_value(row, 1);
	const char *result = skx_functions_shard_value(row, 3);

	if (strcmp(skx_functions_shard_value(row, 2), "t") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("shard %s of table \"%s\" gave no ranking", shard,
						table),
				 errdetail_internal("%s", result)));
	if (result[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shard %s of table \"%s\" has no such index", shard,
						table),
				 errdetail("It needs one that has the name of the index and the shard's number. Where that is too long for a name, it must be the shard's only skipidx index.")));
}

/* Returns the sum of the rankings in the answers, in the context `into`. */
static Datum
skx_functions_sum_shards(const char *table, MemoryContext into)
{
	Datum		sum = (Datum) 0;
	uint64		i;

	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no shards", table)));
	for (i = 0; i < SPI_processed; i++)
	{
		MemoryContext old;
		Datum		one;
		Datum		before = sum;

		CHECK_FOR_INTERRUPTS();
		skx_functions_check_shard(i, table);
		old = MemoryContextSwitchTo(into);
		one = DirectFunctionCall1(skipidx_ranking_in,
								  CStringGetDatum(skx_functions_shard_value(i, 3)));
		sum = i == 0 ? one : DirectFunctionCall2(skipidx_ranking_add, before,
												 one);
		if (i > 0)
		{
			pfree(DatumGetPointer(before));
			pfree(DatumGetPointer(one));
		}
		MemoryContextSwitchTo(old);
	}
	return sum;
}

Datum
skipidx_ranking_of_shards(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			types[] = {REGCLASSOID, TEXTOID};
	Datum		values[2];
	Relation	heap;
	Relation	index;
	char	   *command;
	char	   *table;
	Datum		sum;

	skx_maint_open_distributed(PG_GETARG_OID(0), &heap, &index);
	skx_score_check_rights(index);
	skx_functions_check_shards_function();
	command = skx_functions_shard_command(fcinfo->flinfo->fn_oid,
										  RelationGetRelationName(index),
										  PG_GETARG_TSQUERY(1));
	table = pstrdup(RelationGetRelationName(heap));
	values[0] = ObjectIdGetDatum(RelationGetRelid(heap));
	values[1] = CStringGetTextDatum(command);
	skx_functions_close(heap, index);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args("SELECT shardid::pg_catalog.int8, success::pg_catalog.bool, result::pg_catalog.text FROM pg_catalog.run_command_on_shards($1, $2)",
							  lengthof(types), types, values, NULL, false,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed");
	sum = skx_functions_sum_shards(table, context);
	SPI_finish();
	PG_RETURN_DATUM(sum);
}
