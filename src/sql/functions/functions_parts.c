/*
 * functions_parts.c
 *	  Opens the tables of an index with their indexes: one table, or all
 *	  partitions of a partitioned one.
 *
 * Partitions are found as a plan on the table finds them.  So a partition that
 * is being detached is left out for a snapshot that sees the detachment.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "sql/functions/functions_internal.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "write/maint/maint.h"

/*
 * Returns the table's index that is a partition of `index`; InvalidOid if
 * there is none.
 */
static Oid
skx_functions_partition_index(Relation heap, Oid index)
{
	List	   *oids = RelationGetIndexList(heap);
	Oid			found = InvalidOid;
	ListCell   *lc;

	foreach(lc, oids)
	{
		if (get_rel_relispartition(lfirst_oid(lc)) &&
			list_member_oid(get_partition_ancestors(lfirst_oid(lc)), index))
		{
			found = lfirst_oid(lc);
			break;
		}
	}
	list_free(oids);
	return found;
}

SKX_NORETURN static void
skx_functions_raise_no_partition(Relation heap, Relation index)
{
	bool		foreign = heap->rd_rel->relkind == RELKIND_FOREIGN_TABLE;

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("partition \"%s\" has no valid index that is a partition of index \"%s\"",
					RelationGetRelationName(heap),
					RelationGetRelationName(index)),
			 foreign ? errdetail("It is a foreign table.") : 0,
			 foreign ? errhint("Use a query on the table.") :
			 errhint("REINDEX the partition, or attach an index of it with ALTER INDEX ... ATTACH PARTITION.")));
}

/*
 * Opens the table's index that is a partition of `index`.  REINDEX
 * CONCURRENTLY may replace the index that was found before it is open.  So if
 * it cannot be used, the search is repeated.  Raises an error if there is no
 * index, or if the search finds the same one again.
 */
static Relation
skx_functions_open_partition_index(Relation heap, Relation index)
{
	Oid			last = InvalidOid;

	for (;;)
	{
		Oid			oid =
			skx_functions_partition_index(heap, RelationGetRelid(index));
		Relation	part = OidIsValid(oid) ?
			try_relation_open(oid, AccessShareLock) : NULL;

		if (part != NULL && part->rd_index->indisvalid)
			return part;
		if (part != NULL)
			relation_close(part, AccessShareLock);
		if (!OidIsValid(oid) || oid == last)
			skx_functions_raise_no_partition(heap, index);
		last = oid;
	}
}

/* Adds a partition with its index, unless it is partitioned itself. */
static void
skx_functions_add_partition(SkxPartitions *parts, Oid table)
{
	Relation	heap = table_open(table, NoLock);
	SkxPartition *part = &parts->partitions[parts->n];

	if (heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		table_close(heap, NoLock);
		return;
	}
	part->heap = heap;
	part->index = skx_functions_open_partition_index(heap, parts->index);
	skx_maint_check(heap, part->index);
	parts->n++;
}

void
skx_functions_open_partitions(Oid oid, SkxPartitions *parts)
{
	List	   *tables;
	ListCell   *lc;

	skx_functions_open(oid, true, &parts->heap, &parts->index);
	parts->n = 0;
	if (parts->index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX)
	{
		parts->partitions = palloc(sizeof(SkxPartition));
		parts->partitions[parts->n++] = (SkxPartition)
		{
			parts->heap, parts->index
		};
		return;
	}
	tables = find_all_inheritors(RelationGetRelid(parts->heap),
								 AccessShareLock, NULL);
	parts->partitions = palloc(sizeof(SkxPartition) * list_length(tables));
	foreach(lc, tables)
	{
		CHECK_FOR_INTERRUPTS();
		skx_functions_add_partition(parts, lfirst_oid(lc));
	}
}

void
skx_functions_close_partitions(SkxPartitions *parts)
{
	int			i;

	for (i = 0; i < parts->n; i++)
		if (parts->partitions[i].index != parts->index)
			skx_functions_close(parts->partitions[i].heap,
								parts->partitions[i].index);
	skx_functions_close(parts->heap, parts->index);
}

void
skx_functions_check_index_ages(const SkxPartitions *parts)
{
	int			i;

	for (i = 0; i < parts->n; i++)
		skx_functions_check_index_age(parts->partitions[i].index);
}

SkxLexicon *
skx_functions_open_lexicon(const SkxPartitions *parts, const SkxLexeme *prefix)
{
	Relation   *indexes = palloc(sizeof(Relation) * (parts->n + 1));
	int			i;

	for (i = 0; i < parts->n; i++)
		indexes[i] = parts->partitions[i].index;
	return skx_lexicon_open(indexes, parts->n, prefix);
}
