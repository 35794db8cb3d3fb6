/*
 * plan_joined.c
 *	  Scans by conditions that join, for inner sides of nested loops.
 *
 * The server makes them of the conditions that it matches with an index
 * itself.  This file makes those that have a further condition, which only
 * plan_clause.c matches.  Examples are a value of another table that is = ANY
 * of an array column, and a boolean column beside a condition that joins.
 * There is one for each set of tables that a condition joins with, and one for
 * all of them.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat.h"

/* Maximum number of sets of tables that get a scan of their own. */
#define SKX_JOIN_TABLE_SETS_MAX	8

/* The column that members of equivalence classes are compared with. */
typedef struct SkxJoinColumn
{
	IndexOptInfo *index;
	int			column;
} SkxJoinColumn;

static bool
skx_plan_is_member(PlannerInfo *root, RelOptInfo *rel,
				   EquivalenceClass *ec, EquivalenceMember *em, void *arg)
{
	const SkxJoinColumn *key = arg;
	Oid			collation = key->index->indexcollations[key->column];

	return (!OidIsValid(collation) || collation == ec->ec_collation) &&
		match_index_to_operand((Node *) em->em_expr, key->column, key->index);
}

/* Returns the conditions that join and match the index, as IndexClauses. */
static List *
skx_plan_join_clauses(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	List	   *conditions = NIL;
	SkxJoinColumn key = {index, 0};
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		if (join_clause_is_movable_to(lfirst(lc), rel))
			conditions = lappend(conditions, lfirst(lc));
	}
	for (; rel->has_eclass_joins && key.column < index->nkeycolumns;
		 key.column++)
		conditions = list_concat(conditions,
								 generate_implied_equalities_for_column(root, rel,
																		skx_plan_is_member,
																		&key,
																		rel->lateral_referencers));
	return skx_plan_matching_clauses(root, index, conditions);
}

/* Returns the other tables of a condition. */
static Relids
skx_plan_join_tables(const RelOptInfo *rel, const IndexClause *clause)
{
	return bms_difference(clause->rinfo->clause_relids, rel->relids);
}

/*
 * Returns the table's own conditions and those that join with some of the
 * tables.  Only one condition of each equivalence class is taken, since the
 * others follow.
 */
static List *
skx_plan_clauses_with_tables(const RelOptInfo *rel, List *own, List *joining,
							 Relids tables)
{
	List	   *clauses = list_copy(own);
	List	   *classes = NIL;
	ListCell   *lc;

	foreach(lc, joining)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		EquivalenceClass *class = clause->rinfo->parent_ec;

		if (!bms_is_subset(skx_plan_join_tables(rel, clause), tables) ||
			list_member_ptr(classes, class))
			continue;
		if (class != NULL)
			classes = lappend(classes, class);
		clauses = lappend(clauses, clause);
	}
	return clauses;
}

double
skx_plan_nloops(PlannerInfo *root, Relids tables)
{
	double		loops = 0;
	int			relid = -1;

	while ((relid = bms_next_member(tables, relid)) >= 0)
	{
		RelOptInfo *rel = relid < root->simple_rel_array_size ?
			root->simple_rel_array[relid] : NULL;

		if (rel != NULL && rel->rows > 0 && (loops == 0 || rel->rows < loops))
			loops = rel->rows;
	}
	return Max(loops, 1);
}

static void
skx_plan_add_scan_with_tables(PlannerInfo *root, RelOptInfo *rel,
							  IndexOptInfo *index, List *clauses,
							  Relids tables)
{
	Relids		outer = bms_union(tables, rel->lateral_relids);
	double		loops = skx_plan_nloops(root, tables);
	IndexPath  *path;

	if (!skx_plan_has_own_clauses(index, clauses))
		return;
	clauses = skx_plan_sort_by_column(index, clauses);
	path = create_index_path(root, index, clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, outer, loops, false);
	add_path(rel, (Path *) path);
	add_path(rel, (Path *)
			 create_bitmap_heap_path(root, rel, (Path *) path, outer, loops,
									 0));
}

static bool
skx_plan_has_table_set(List *sets, Relids tables)
{
	ListCell   *lc;

	foreach(lc, sets)
	{
		if (bms_equal(lfirst(lc), tables))
			return true;
	}
	return false;
}

void
skx_plan_add_join_scans(PlannerInfo *root, RelOptInfo *rel,
						IndexOptInfo *index)
{
	List	   *joining = skx_plan_join_clauses(root, rel, index);
	List	   *own;
	List	   *sets = NIL;
	Relids		all = NULL;
	ListCell   *lc;

	if (joining == NIL)
		return;
	own = skx_plan_index_clauses(root, index);
	foreach(lc, joining)
	{
		Relids		tables = skx_plan_join_tables(rel, lfirst(lc));

		all = bms_add_members(all, tables);
		if (list_length(sets) < SKX_JOIN_TABLE_SETS_MAX &&
			!skx_plan_has_table_set(sets, tables))
			sets = lappend(sets, tables);
	}
	if (!skx_plan_has_table_set(sets, all))
		sets = lappend(sets, all);
	foreach(lc, sets)
	{
		Relids		tables = lfirst(lc);

		skx_plan_add_scan_with_tables(root, rel, index,
									  skx_plan_clauses_with_tables(rel, own,
																   joining,
																   tables),
									  tables);
	}
}
