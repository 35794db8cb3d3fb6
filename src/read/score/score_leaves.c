/*
 * score_leaves.c
 *	  The indexes whose documents are counted together.
 *
 * For a partitioned index these are its partitions.  The index of a table that
 * others inherit from is counted with their indexes that are defined alike.
 * The reason is that a query on the parent finds the rows of all of them.  The
 * indexes of a reference, which belong to the arms of a set operation, are
 * each counted in this way.
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "read/score/score_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/rel.h"
#include "utils/relcache.h"

bool
skx_score_is_plain(Relation index)
{
	return index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX &&
		!has_subclass(index->rd_index->indrelid);
}

/*
 * Returns true if `other`, an index of an inheriting table, is defined like
 * the index.
 */
static bool
skx_score_is_same_definition(Relation index, Relation other,
							 const AttrMap *columns)
{
	return other->rd_rel->relam == index->rd_rel->relam &&
		other->rd_index->indisvalid &&
		CompareIndexInfo(BuildIndexInfo(other), BuildIndexInfo(index),
						 other->rd_indcollation, index->rd_indcollation,
						 other->rd_opfamily, index->rd_opfamily,
						 unconstify(AttrMap *, columns));
}

/*
 * Returns the oldest index of a child that is defined alike, or InvalidOid if
 * there is none.
 */
static Oid
skx_score_child_index(Relation index, Relation heap, Relation child)
{
	AttrMap    *columns = skx_compat_attrmap(RelationGetDescr(child),
											 RelationGetDescr(heap));
	List	   *oids = RelationGetIndexList(child);
	Oid			found = InvalidOid;
	ListCell   *lc;

	foreach(lc, oids)
	{
		Relation	other = index_open(lfirst_oid(lc), AccessShareLock);

		if (skx_score_is_same_definition(index, other, columns))
			found = RelationGetRelid(other);
		index_close(other, NoLock);
		if (OidIsValid(found))
			break;
	}
	list_free(oids);
	free_attrmap(columns);
	return found;
}

static List *
skx_score_leaves_of(Relation index)
{
	Oid			table = index->rd_index->indrelid;
	List	   *leaves = NIL;
	List	   *tables;
	Relation	heap;
	ListCell   *lc;

	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
	{
		/*
		 * tables are locked before their indexes, as by commands that lock a
		 * table exclusively
		 */
		list_free(find_all_inheritors(table, AccessShareLock, NULL));
		leaves = find_all_inheritors(RelationGetRelid(index), AccessShareLock,
									 NULL);
	}
	else
	{
		leaves = list_make1_oid(RelationGetRelid(index));
		heap = table_open(table, AccessShareLock);
		tables = find_all_inheritors(table, AccessShareLock, NULL);
		foreach(lc, tables)
		{
			Relation	child;
			Oid			other;

			CHECK_FOR_INTERRUPTS();
			if (lfirst_oid(lc) == table)
				continue;
			child = table_open(lfirst_oid(lc), NoLock);
			other = skx_score_child_index(index, heap, child);
			if (OidIsValid(other))
				leaves = lappend_oid(leaves, other);
			table_close(child, NoLock);
		}
		list_free(tables);
		table_close(heap, NoLock);
	}
	return leaves;
}

/* An index that was dropped since the query was planned is left out. */
List *
skx_score_leaves(Relation index, const Oid *others, int nothers)
{
	List	   *leaves = skx_score_leaves_of(index);
	int			i;

	for (i = 0; i < nothers; i++)
	{
		Relation	other = try_relation_open(others[i], AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		if (other == NULL)
			continue;
		if (other->rd_rel->relam == index->rd_rel->relam)
			leaves = list_concat(leaves, skx_score_leaves_of(other));
		relation_close(other, NoLock);
	}
	list_sort(leaves, list_oid_cmp);
	list_deduplicate_oid(leaves);
	return leaves;
}
