/*
 * am_insert.c
 *	  Adds the index entry of a new row.
 *
 * Every row is a document, one with a NULL or empty tsvector too: a query
 * that is a pure negation, and a ranking without a filter, need them all.
 */
#include "postgres.h"

#include "am/am.h"
#include "pending/pending.h"

bool
skxinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
		  Relation heap, IndexUniqueCheck unique, bool unchanged,
		  struct IndexInfo *info)
{
	TSVector	value;

	if (isnull[0])
	{
		skx_pending_append(index, tid, NULL);
		return false;
	}
	value = DatumGetTSVector(values[0]);
	skx_pending_append(index, tid, value);
	if (PointerGetDatum(value) != values[0])
		pfree(value);
	return false;
}
