/*
 * functions_ref.c
 *	  References: a ranking query together with the index that ranks.
 *
 * The planner makes them, and so do skipidx_query() and the input of a text.
 * No expression of a user ever gets a reference that the planner has made.  So
 * the plan's own check of privileges is enough for these.  All others are
 * values that may outlive a privilege, so they give none: each use of one is
 * checked.  The score of a row by a reference is the same in every plan, since
 * it goes by the frozen statistics of the snapshot.
 *
 * A text is what output has made of a reference.  The planner writes the bound
 * operator back into the statement, which other modules may print.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "index/document/document.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"
#include "write/maint/maint.h"

PG_FUNCTION_INFO_V1(skipidx_ref_in);
PG_FUNCTION_INFO_V1(skipidx_ref_recv);
PG_FUNCTION_INFO_V1(skipidx_ref_out);
PG_FUNCTION_INFO_V1(skipidx_bind);
PG_FUNCTION_INFO_V1(skipidx_query);
PG_FUNCTION_INFO_V1(skipidx_distance_bound);

#define SKX_GETARG_REF(n)	((SkxRef *) PG_GETARG_VARLENA_P(n))

/* What follows the name of an index whose table has foreign partitions. */
#define SKX_REF_FOREIGN	"(foreign partitions not counted)"

/* ---- input ---- */

SKX_NORETURN static void
skx_functions_raise_no_ref(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input for type %s", "skipidx_ref"),
			 errdetail_internal("%s", detail),
			 errhint("Make one with skipidx_query(query, 'name_of_index').")));
}

static bool
skx_functions_is_space(char c)
{
	return c != '\0' && strchr(" \t\n\r\f\v", c) != NULL;
}

/*
 * Returns what follows the first word "by" outside of quotes, and sets *query
 * to the number of bytes before it.  Errors out if there is no such word.
 */
static const char *
skx_functions_after_query(const char *text, Size *query)
{
	bool		quoted = false;
	const char *c;

	for (c = text; *c != '\0'; c++)
	{
		CHECK_FOR_INTERRUPTS();
		if (*c == '\\' && c[1] != '\0')
			c++;
		else if (*c == '\'')
			quoted = !quoted;
		else if (!quoted && strncmp(c, "by", 2) == 0 &&
				 (c == text || skx_functions_is_space(c[-1])) &&
				 skx_functions_is_space(c[2]))
		{
			*query = c - text;
			return c + 2;
		}
	}
	skx_functions_raise_no_ref("It is a query, the word \"by\" and names of indexes, as in 'cat' & 'dog' by docs_search.");
}

/*
 * Returns the query of that many bytes.  One without words is written as
 * nothing.
 */
static TSQuery
skx_functions_ref_query(const char *text, Size n)
{
	TSQuery		none;

	while (n > 0 && skx_functions_is_space(text[n - 1]))
		n--;
	if (n > 0)
		return DatumGetTSQuery(DirectFunctionCall1(tsqueryin,
												   CStringGetDatum(pnstrdup(text, n))));
	none = palloc0(HDRSIZETQ);
	SET_VARSIZE(none, HDRSIZETQ);
	return none;
}

/*
 * Returns the OID of the index with that name, of n bytes.  Errors out unless
 * it is one that a reference may be made of.  It is not kept locked, since the
 * right to use it is checked later.
 */
static Oid
skx_functions_named_index(const char *name, Size n)
{
	List	   *names = textToQualifiedNameList(cstring_to_text_with_len(name,
																		 n));
	Oid			oid = RangeVarGetRelid(makeRangeVarFromNameList(names),
									   NoLock, false);
	Relation	table;
	Relation	index;

	skx_maint_open(oid, AccessShareLock, true, &table, &index);
	relation_close(index, AccessShareLock);
	table_close(table, AccessShareLock);
	return oid;
}

/* Returns the end of a name of an index: a comma, a bracket or the end. */
static const char *
skx_functions_name_end(const char *c)
{
	bool		quoted = false;

	for (; *c != '\0' && (quoted || (*c != ',' && *c != '(')); c++)
	{
		CHECK_FOR_INTERRUPTS();
		if (*c == '"')
			quoted = !quoted;
	}
	return c;
}

/*
 * Returns the OIDs of the indexes that are named, distinct.  The first one is
 * the index that ranks.
 */
static List *
skx_functions_named_indexes(const char *c)
{
	List	   *oids = NIL;

	for (;; c++)
	{
		const char *end = skx_functions_name_end(c);

		CHECK_FOR_INTERRUPTS();
		oids = list_append_unique_oid(oids,
									  skx_functions_named_index(c, end - c));
		c = end;
		if (strncmp(c, SKX_REF_FOREIGN, strlen(SKX_REF_FOREIGN)) == 0)
			c += strlen(SKX_REF_FOREIGN);
		while (skx_functions_is_space(*c))
			c++;
		if (*c == '\0')
			return oids;
		if (*c != ',')
			skx_functions_raise_no_ref("Names of indexes have commas between them.");
	}
}

Datum
skipidx_ref_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size		n;
	const char *names = skx_functions_after_query(text, &n);
	TSQuery		query = skx_functions_ref_query(text, n);
	List	   *oids = skx_functions_named_indexes(names);
	Oid			index = linitial_oid(oids);

	oids = list_delete_first(oids);
	list_sort(oids, list_oid_cmp);
	PG_RETURN_POINTER(skx_score_ref(index, oids, query, SKX_REF_FUNCTION));
}

Datum
skipidx_ref_recv(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s in binary form",
					"skipidx_ref")));
	PG_RETURN_NULL();
}

/* ---- output ---- */

/*
 * Returns true if a table whose rows a query on the table finds is foreign.
 * No index has its rows.
 */
static bool
skx_functions_has_foreign_children(Oid table)
{
	ListCell   *lc;

	if (!OidIsValid(table) || !has_subclass(table))
		return false;
	foreach(lc, find_all_inheritors(table, NoLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/* The answer of skx_functions_has_foreign_rows(), and when it was found. */
typedef struct SkxForeignRows
{
	Oid			index;			/* InvalidOid: none */
	TimestampTz statement;
	LocalTransactionId transaction;
	CommandId	command;
	bool		has_foreign_rows;
} SkxForeignRows;

/*
 * Returns true if the rows of a query on the index's table may be foreign.  A
 * plan shows the same index for each of very many partitions, so the answer
 * is kept for the command.
 */
static bool
skx_functions_has_foreign_rows(Oid index)
{
	static SkxForeignRows last;
	SkxForeignRows now;

	memset(&now, 0, sizeof(now));
	now.index = index;
	now.statement = GetCurrentStatementStartTimestamp();
	now.transaction = SKX_COMPAT_LXID();
	now.command = GetCurrentCommandId(false);
	now.has_foreign_rows = last.has_foreign_rows;
	if (memcmp(&now, &last, sizeof(now)) != 0)
	{
		now.has_foreign_rows =
			skx_functions_has_foreign_children(IndexGetRelation(index, true));
		memcpy(&last, &now, sizeof(now));
	}
	return last.has_foreign_rows;
}

static void
skx_functions_show_index(StringInfo out, const char *before, Oid index)
{
	appendStringInfo(out, "%s%s%s", before,
					 DatumGetCString(DirectFunctionCall1(regclassout,
														 ObjectIdGetDatum(index))),
					 skx_functions_has_foreign_rows(index) ?
					 " " SKX_REF_FOREIGN : "");
}

/* Output, as in: 'cat' & 'dog' by docs_idx, notes_idx */
Datum
skipidx_ref_out(PG_FUNCTION_ARGS)
{
	SkxRef	   *ref = SKX_GETARG_REF(0);
	TSQuery		query = SkxRefQuery(ref);
	StringInfoData out;
	uint32		i;

	initStringInfo(&out);
	if (query->size > 0)
		appendStringInfo(&out, "%s ",
						 DatumGetCString(DirectFunctionCall1(tsqueryout,
															 TSQueryGetDatum(query))));
	skx_functions_show_index(&out, "by ", ref->index);
	for (i = 0; i < ref->nindexes; i++)
		skx_functions_show_index(&out, ", ", ref->indexes[i]);
	PG_RETURN_CSTRING(out.data);
}

/* ---- of a query and an index ---- */

/* Returns a reference with another query and the index of a reference. */
Datum
skipidx_bind(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(0);
	SkxRef	   *ref = SKX_GETARG_REF(1);

	PG_RETURN_POINTER(skx_score_rebind_ref(ref, query));
}

Datum
skipidx_query(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(0);
	List	   *name = textToQualifiedNameList(PG_GETARG_TEXT_PP(1));
	Relation	table;
	Relation	index;
	SkxRef	   *ref;

	skx_functions_open(RangeVarGetRelid(makeRangeVarFromNameList(name), NoLock,
										false),
					   true, &table, &index);
	ref = skx_score_ref(RelationGetRelid(index), NIL, query, SKX_REF_FUNCTION);
	skx_functions_close(table, index);
	PG_RETURN_POINTER(ref);
}

/* ---- distances ---- */

/* Returns a scorer by a reference, which is kept. */
static SkxScorer *
skx_functions_open_scorer(const SkxRef *ref, Snapshot snapshot)
{
	Relation	index = skx_am_open_referenced(ref);
	SkxRankOptions options;
	SkxScorer  *scorer;

	skx_am_rank_options(index, &options);
	scorer = skx_score_open(index, ref, snapshot, &options, SkxRefQuery(ref));
	relation_close(index, NoLock);
	return scorer;
}

/*
 * Returns a scorer by argument 1, for calls with the same reference under the
 * same snapshot and, if rights were checked, by the same role.
 */
static const SkxScorer *
skx_functions_bound(FmgrInfo *flinfo, const SkxRef *ref)
{
	SkxKept    *kept = skx_functions_kept(flinfo, 1);
	Snapshot	snapshot = GetActiveSnapshot();

	if (kept->scorer == NULL ||
		(!kept->constant && !skx_functions_keeps(kept, ref)) ||
		(ref->origin != SKX_REF_PLAN && kept->user != GetUserId()) ||
		!skx_score_is_current(kept->scorer, snapshot))
	{
		MemoryContext old = skx_functions_keep(kept, ref);

		kept->user = GetUserId();
		kept->scorer = skx_functions_open_scorer(kept->value, snapshot);
		MemoryContextSwitchTo(old);
	}
	return kept->scorer;
}

Datum
skipidx_distance_bound(PG_FUNCTION_ARGS)
{
	TSVector	document = skx_document_datum(PG_GETARG_DATUM(0), false, NULL);
	SkxRef	   *ref = SKX_GETARG_REF(1);
	const SkxScorer *scorer = skx_functions_bound(fcinfo->flinfo, ref);
	float4		distance;

	distance = skx_score_distance(scorer,
								  skx_score_document(scorer, document, NULL));
	skx_document_free(document, PG_GETARG_DATUM(0));
	PG_FREE_IF_COPY(ref, 1);
	PG_RETURN_FLOAT4(distance);
}
