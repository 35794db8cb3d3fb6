/*
 * am_rank_functions.c
 *	  SQL functions that tell the score of a document, and its parts.
 *
 * They score as the index named in the call does, under the snapshot of the
 * calling query.  Statistics are of rows that the caller may not see, so they
 * are for those only who may read all rows of the columns that are indexed.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "am/am.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "compat/compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "intake/intake.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pending/pending.h"
#include "score/score.h"
#include "tsearch/ts_utils.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_bm25);
PG_FUNCTION_INFO_V1(skipidx_proximity);
PG_FUNCTION_INFO_V1(skipidx_explain_score);

/* What calls of a query have in common, in fn_extra. */
typedef struct SkxRankCall
{
	MemoryContext context;		/* of all but this struct */
	Oid			index;
	Oid			user;			/* whose rights were checked */
	TSQuery		query;
	SkxScorer  *scorer;
} SkxRankCall;

/* ---- who may ---- */

/* Columns of the table that the index is made of; NULL index expressions. */
static Bitmapset *
skx_am_rank_columns(Relation index)
{
	Bitmapset  *columns = NULL;
	int			i;

	for (i = 0; i < index->rd_index->indnatts; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];

		if (attno != 0)
			columns = bms_add_member(columns,
									 attno - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &columns);
	return columns;
}

/* May the user select all of these columns? */
static bool
skx_am_rank_may_select(Oid table, const Bitmapset *columns)
{
	int			column = -1;

	if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attno = column + FirstLowInvalidHeapAttributeNumber;
		AclResult	result;

		if (attno == InvalidAttrNumber)
			result = pg_attribute_aclcheck_all(table, GetUserId(), ACL_SELECT,
											   ACLMASK_ALL);
		else
			result = pg_attribute_aclcheck(table, attno, GetUserId(),
										   ACL_SELECT);
		if (result != ACLCHECK_OK)
			return false;
	}
	return !bms_is_empty(columns);
}

void
skx_am_rank_check_rights(Relation heap, Relation index)
{
	Oid			table = RelationGetRelid(heap);

	if (!skx_am_rank_may_select(table, skx_am_rank_columns(index)))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   RelationGetRelationName(heap));
	if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security applies to table \"%s\"",
						RelationGetRelationName(heap)),
				 errdetail("Statistics and rows of its index are not filtered by policies."),
				 errhint("Use the operator <@> in a query on the table.")));
}

/* ---- opening an index ---- */

static bool
skx_am_rank_is_ours(Relation index)
{
	return index->rd_indam != NULL &&
		index->rd_indam->ambuild == skxbuild;
}

static void
skx_am_rank_check_index(Relation index, bool parts)
{
	if (index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX)
		skx_maint_check_index(index);
	else if (!skx_am_rank_is_ours(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(index))));
	else if (!parts)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is partitioned",
						RelationGetRelationName(index)),
				 errdetail("The place of a row does not tell its partition."),
				 errhint("Name the index of a partition.")));
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index)),
				 errhint("Rebuild it with REINDEX, or drop it.")));
}

void
skx_am_rank_open(Oid oid, bool parts, Relation *heap, Relation *index)
{
	Oid			table = IndexGetRelation(oid, true);

	*heap = OidIsValid(table) ? table_open(table, AccessShareLock) : NULL;
	*index = relation_open(oid, AccessShareLock);
	if ((*index)->rd_index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index",
						RelationGetRelationName(*index))));
	if (*heap == NULL || table != IndexGetRelation(oid, false))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(*index))));
	skx_am_rank_check_index(*index, parts);
	skx_am_rank_check_rights(*heap, *index);
}

void
skx_am_rank_close(Relation heap, Relation index)
{
	relation_close(index, NoLock);
	table_close(heap, NoLock);
}

/* ---- parts of a score ---- */

/* The scorer of this call, in fn_extra. */
static SkxRankCall *
skx_am_rank_call(FunctionCallInfo fcinfo)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	SkxRankCall *call = flinfo->fn_extra;
	Oid			oid = PG_GETARG_OID(0);
	TSQuery		query = PG_GETARG_TSQUERY(2);
	SkxRankOptions options;
	MemoryContext old;
	Relation	heap;
	Relation	index;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(SkxRankCall));
		call->context = AllocSetContextCreate(flinfo->fn_mcxt,
											  "skipidx score",
											  ALLOCSET_SMALL_SIZES);
		flinfo->fn_extra = call;
	}
	if (call->scorer != NULL && call->index == oid &&
		call->user == GetUserId() &&
		VARSIZE(call->query) == VARSIZE(query) &&
		memcmp(call->query, query, VARSIZE(query)) == 0 &&
		skx_score_is_current(call->scorer, GetActiveSnapshot()))
		return call;
	call->scorer = NULL;
	MemoryContextReset(call->context);
	old = MemoryContextSwitchTo(call->context);
	call->index = oid;
	call->user = GetUserId();
	call->query = (TSQuery) PG_DETOAST_DATUM_COPY(TSQueryGetDatum(query));
	skx_am_rank_open(oid, true, &heap, &index);
	skx_am_rank_options(index, &options);
	call->scorer = skx_score_open(index, GetActiveSnapshot(), &options,
								  call->query);
	skx_am_rank_close(heap, index);
	MemoryContextSwitchTo(old);
	return call;
}

Datum
skipidx_bm25(PG_FUNCTION_ARGS)
{
	SkxRankCall *call = skx_am_rank_call(fcinfo);
	TSVector	document = skx_intake_datum(PG_GETARG_DATUM(1), false, NULL);
	int32		pairs;
	int32		words = skx_score_document_sums(call->scorer, document, NULL,
												&pairs);

	skx_intake_free(document, PG_GETARG_DATUM(1));
	PG_RETURN_FLOAT4(skx_score_value(call->scorer, words));
}

Datum
skipidx_proximity(PG_FUNCTION_ARGS)
{
	SkxRankCall *call = skx_am_rank_call(fcinfo);
	TSVector	document = skx_intake_datum(PG_GETARG_DATUM(1), false, NULL);
	int32		pairs;

	(void) skx_score_document_sums(call->scorer, document, NULL, &pairs);
	skx_intake_free(document, PG_GETARG_DATUM(1));
	PG_RETURN_FLOAT4(skx_score_value(call->scorer, pairs));
}

/* ---- one row explained ---- */

/*
 * What the index has, or would have, of the row; NULL when that is NULL.  It
 * is in the current memory context.
 */
static TSVector
skx_am_rank_document(Relation heap, Relation index, ItemPointer tid)
{
	Snapshot	snapshot = GetActiveSnapshot();
	TableScanDesc scan = table_beginscan_tid(heap, snapshot);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	TSVector	document;

	if (!ItemPointerIsValid(tid) || !table_tuple_tid_valid(scan, tid) ||
		!table_tuple_fetch_row_version(heap, tid, snapshot, slot))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("table \"%s\" has no row (%u,%u) that is visible",
						RelationGetRelationName(heap),
						ItemPointerGetBlockNumberNoCheck(tid),
						ItemPointerGetOffsetNumberNoCheck(tid))));
	document = skx_intake_row(heap, index, slot);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return document;
}

/* A row of the answer; `word` and `score` are always given or NULL. */
typedef struct SkxRankRow
{
	const char *part;
	const char *word;
	bool		has_df;
	int64		df;
	float8		idf;
	bool		has_tf;
	float4		tf;
	bool		has_length;
	int32		length;
	bool		has_score;
	float4		score;
} SkxRankRow;

static void
skx_am_rank_put(ReturnSetInfo *result, const SkxRankRow *row)
{
	Datum		values[7] = {0};
	bool		nulls[7];

	nulls[0] = false;
	values[0] = CStringGetTextDatum(row->part);
	nulls[1] = row->word == NULL;
	if (row->word != NULL)
		values[1] = CStringGetTextDatum(row->word);
	nulls[2] = nulls[3] = !row->has_df;
	values[2] = Int64GetDatum(row->df);
	values[3] = Float8GetDatum(row->idf);
	nulls[4] = !row->has_tf;
	values[4] = Float4GetDatum(row->tf);
	nulls[5] = !row->has_length;
	values[5] = Int32GetDatum(row->length);
	nulls[6] = !row->has_score;
	values[6] = Float4GetDatum(row->score);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* As it is written in a tsquery, without quotes. */
static char *
skx_am_rank_word(const SkxScoreTerm *term)
{
	StringInfoData text;
	int			label;

	initStringInfo(&text);
	appendBinaryStringInfo(&text, term->lexeme, term->len);
	if (term->prefix || term->labels != 0)
		appendStringInfoChar(&text, ':');
	if (term->prefix)
		appendStringInfoChar(&text, '*');
	for (label = 3; label >= 0; label--)
	{
		if (term->labels & (1 << label))
			appendStringInfoChar(&text, "DCBA"[label]);
	}
	return text.data;
}

/* The same, and how often it counts. */
static char *
skx_am_rank_counted_word(const SkxScoreTerm *term)
{
	char	   *word = skx_am_rank_word(term);

	return term->count == 1 ? word : psprintf("%s (%d times)", word, term->count);
}

static void
skx_am_rank_put_parts(ReturnSetInfo *result, const SkxScorer *scorer,
					  TSVector document, const int32 *parts)
{
	MemoryContext temp = AllocSetContextCreate(CurrentMemoryContext,
											   "skipidx score row",
											   ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temp);
	int			i;

	for (i = 0; i < scorer->nterms; i++)
	{
		const SkxScoreTerm *term = &scorer->terms[i];
		SkxRankRow	row = {"word", skx_am_rank_counted_word(term)};

		row.has_df = row.has_tf = row.has_score = true;
		row.df = (int64) term->df;
		row.idf = term->idf;
		row.tf = Max(skx_score_count(scorer, i, document), 0);
		row.score = skx_score_value(scorer, parts[i]);
		skx_am_rank_put(result, &row);
		MemoryContextReset(temp);
		CHECK_FOR_INTERRUPTS();
	}
	for (i = 0; i < scorer->npairs; i++)
	{
		const SkxScorePair *pair = &scorer->pairs[i];
		SkxRankRow	row = {"pair"};

		row.word = psprintf("%s %s",
							skx_am_rank_word(&scorer->terms[pair->first]),
							skx_am_rank_word(&scorer->terms[pair->second]));
		row.has_score = true;
		row.score = skx_score_value(scorer, parts[scorer->nterms + i]);
		skx_am_rank_put(result, &row);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temp);
}

Datum
skipidx_explain_score(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	TSQuery		query = PG_GETARG_TSQUERY(2);
	SkxRankRow	length = {"length"};
	SkxRankRow	total = {"total"};
	SkxRankOptions options;
	SkxScorer  *scorer;
	TSVector	document;
	Relation	heap;
	Relation	index;
	int32	   *parts;

	InitMaterializedSRF(fcinfo, 0);
	skx_am_rank_open(PG_GETARG_OID(0), false, &heap, &index);
	skx_am_rank_options(index, &options);
	document = skx_am_rank_document(heap, index, tid);
	scorer = skx_score_open(index, GetActiveSnapshot(), &options, query);
	if (document != NULL)
	{
		parts = palloc_extended(sizeof(int32) * ((Size) scorer->nterms +
												 scorer->npairs + 1),
								MCXT_ALLOC_HUGE);
		total.score = skx_score_value(scorer,
									  skx_score_document(scorer, document,
														 parts));
		total.has_score = true;
		length.length = (int32) skx_pending_length(document);
		length.has_length = true;
		skx_am_rank_put_parts((ReturnSetInfo *) fcinfo->resultinfo, scorer,
							  document, parts);
	}
	skx_am_rank_put((ReturnSetInfo *) fcinfo->resultinfo, &length);
	skx_am_rank_put((ReturnSetInfo *) fcinfo->resultinfo, &total);
	skx_am_rank_close(heap, index);
	return (Datum) 0;
}
