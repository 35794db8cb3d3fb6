/*
 * am_index.c
 *	  Tells the indexes of this access method from others.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "sql/am/am_scan.h"

bool
skx_am_is_skipidx(Relation index)
{
	return index->rd_indam != NULL && index->rd_indam->ambuild == skxbuild;
}

/*
 * Checks the right to use each index of a reference.  Those that are gone are
 * not counted.
 */
static void
skx_am_check_referenced(Relation index, const SkxRef *ref)
{
	uint32		i;

	skx_score_check_rights(index);
	for (i = 0; i < ref->nindexes; i++)
	{
		Relation	other = try_relation_open(ref->indexes[i],
											  AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		if (other == NULL)
			continue;
		if (skx_am_is_skipidx(other))
			skx_score_check_rights(other);
		relation_close(other, NoLock);
	}
}

Relation
skx_am_open_referenced(const SkxRef *ref)
{
	Relation	rel = try_relation_open(ref->index, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index with OID %u, by which rows were to be ranked, does not exist",
						ref->index),
				 errhint("It may have been dropped since the query began; try again.")));
	if (!skx_am_is_skipidx(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(rel))));
	if (ref->origin != SKX_REF_PLAN)
		skx_am_check_referenced(rel, ref);
	return rel;
}
