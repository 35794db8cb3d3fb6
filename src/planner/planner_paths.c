/*
 * planner_paths.c
 *	  What the planner is offered for a table with ranked index paths.
 *
 * Each of them is put into a custom path of the same cost, which hands the
 * distance over instead of computing it again (planner_scan.c), and may end
 * before all rows were returned (planner_early.c).
 *
 * Up to version 16 the planner has no index path for ORDER BY distance, id,
 * because the index orders by the first only; it is made here, and the planner
 * sorts what is equal.
 */
#include "postgres.h"

#include "am/am.h"
#include "compat/compat_planner.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "planner/planner.h"
#include "planner/planner_internal.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

static bool skx_planner_custom = true;
static set_rel_pathlist_hook_type skx_planner_next_hook;

static bool
skx_planner_can_order(const IndexOptInfo *index)
{
	return index->amcanorderbyop && index->amhasgettuple &&
		(void *) index->amcostestimate == (void *) skxcostestimate;
}

/* ---- paths in the order of the first sort keys ---- */

/* The expression if it is `column <@> reference` with the right order. */
static Expr *
skx_planner_match_distance(IndexOptInfo *index, Expr *expr, Oid order)
{
	OpExpr	   *op = (OpExpr *) expr;

	if (!IsA(expr, OpExpr) || list_length(op->args) != 2 ||
		get_op_opfamily_sortfamily(op->opno, index->opfamily[0]) != order ||
		!match_index_to_operand(linitial(op->args), 0, index) ||
		contain_var_clause(lsecond(op->args)) ||
		contain_volatile_functions(lsecond(op->args)))
		return NULL;
	return expr;
}

static Expr *
skx_planner_match_key(IndexOptInfo *index, const PathKey *key)
{
	ListCell   *lc;

	if (!skx_compat_pathkey_ascends(key) || key->pk_eclass->ec_has_volatile)
		return NULL;
	foreach(lc, key->pk_eclass->ec_members)
	{
		EquivalenceMember *member = lfirst(lc);

		if (bms_equal(member->em_relids, index->rel->relids) &&
			skx_planner_match_distance(index, member->em_expr,
									   key->pk_opfamily) != NULL)
			return member->em_expr;
	}
	return NULL;
}

/* A condition as one of the index, NULL when it cannot be. */
static IndexClause *
skx_planner_match_clause(IndexOptInfo *index, RestrictInfo *rinfo)
{
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	RestrictInfo *qual = rinfo;
	Oid			operator;
	Node	   *query;
	IndexClause *clause;

	if (rinfo->pseudoconstant || !IsA(op, OpExpr) ||
		list_length(op->args) != 2 ||
		!restriction_is_securely_promotable(rinfo, index->rel))
		return NULL;
	operator = op->opno;
	query = lsecond(op->args);
	if (!match_index_to_operand(linitial(op->args), 0, index))
	{
		operator = get_commutator(operator);
		query = linitial(op->args);
		if (!OidIsValid(operator) ||
			!match_index_to_operand(lsecond(op->args), 0, index))
			return NULL;
		qual = commute_restrictinfo(rinfo, operator);
	}
	if (!op_in_opfamily(operator, index->opfamily[0]) ||
		contain_var_clause(query) || contain_volatile_functions(query))
		return NULL;
	clause = makeNode(IndexClause);
	clause->rinfo = rinfo;
	clause->indexquals = list_make1(qual);
	return clause;
}

/* A path by the keys that are distances, if these are not all keys. */
static void
skx_planner_add_prefix(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	List	   *orders = NIL;
	List	   *columns = NIL;
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, root->query_pathkeys)
	{
		Expr	   *order = skx_planner_match_key(index, lfirst(lc));

		if (order == NULL)
			break;
		orders = lappend(orders, order);
		columns = lappend_int(columns, 0);
	}
	if (orders == NIL || lc == NULL)
		return;
	foreach(lc, index->indrestrictinfo)
	{
		IndexClause *clause = skx_planner_match_clause(index, lfirst(lc));

		if (clause != NULL)
			clauses = lappend(clauses, clause);
	}
	add_path(rel, (Path *)
			 create_index_path(root, index, clauses, orders, columns,
							   list_copy_head(root->query_pathkeys,
											  list_length(orders)),
							   ForwardScanDirection, false,
							   rel->lateral_relids, 1.0, false));
}

/* ---- custom paths ---- */

static bool
skx_planner_is_ranked(Path *path)
{
	return IsA(path, IndexPath) && path->pathtype == T_IndexScan &&
		skx_planner_can_order(((IndexPath *) path)->indexinfo) &&
		list_length(((IndexPath *) path)->indexorderbys) == 1;
}

/*
 * What the conditions of a ranked path find in no order.  The planner makes one
 * index path for both, so that its bitmap would be charged for ranking.
 */
static void
skx_planner_add_unordered(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *ranked = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		if (skx_planner_is_ranked(lfirst(lc)) &&
			((IndexPath *) lfirst(lc))->indexclauses != NIL)
			ranked = lappend(ranked, lfirst(lc));
	foreach(lc, ranked)
	{
		IndexPath  *path = lfirst(lc);
		Relids		outer = PATH_REQ_OUTER(&path->path);
		IndexPath  *plain = create_index_path(root, path->indexinfo,
											  path->indexclauses, NIL, NIL,
											  NIL, ForwardScanDirection,
											  false, outer, 1.0, false);

		add_path(rel, (Path *) plain);
		add_path(rel, (Path *) create_bitmap_heap_path(root, rel,
													   (Path *) plain,
													   outer, 1.0, 0));
	}
	list_free(ranked);
}

/*
 * Without workers: statistics are pinned in the leader.  What a scan that ends
 * early does not cost is taken off, and so is computing the distance, which
 * the planner will charge whoever returns it.
 */
static Path *
skx_planner_wrap(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	CustomPath *custom = makeNode(CustomPath);
	QualCost	distance;
	Cost		run;

	cost_qual_eval_node(&distance,
						linitial(((IndexPath *) path)->indexorderbys), root);
	run = (path->total_cost - path->startup_cost) *
		skx_planner_early_share(root, rel, (IndexPath *) path) -
		distance.per_tuple * path->rows;
	custom->path = *path;
	custom->path.type = T_CustomPath;
	custom->path.pathtype = T_CustomScan;
	custom->path.total_cost = path->startup_cost + Max(run, 0);
	custom->path.parallel_safe = false;
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_paths = list_make1(path);
	custom->methods = &skx_planner_path_methods;
	return (Path *) custom;
}

/* Paths are compared once more: they may cost less now. */
static void
skx_planner_wrap_all(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *paths = rel->pathlist;
	ListCell   *lc;

	rel->pathlist = NIL;
	foreach(lc, paths)
		if (!skx_planner_is_ranked(lfirst(lc)))
			rel->pathlist = lappend(rel->pathlist, lfirst(lc));
	foreach(lc, paths)
		if (skx_planner_is_ranked(lfirst(lc)))
			add_path(rel, skx_planner_wrap(root, rel, lfirst(lc)));
}

static void
skx_planner_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti,
							 RangeTblEntry *rte)
{
	ListCell   *lc;

	if (skx_planner_next_hook != NULL)
		skx_planner_next_hook(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || rte->inh)
		return;
	if (!SKX_COMPAT_MATCHES_PREFIX && !IS_DUMMY_REL(rel))
		foreach(lc, rel->indexlist)
		{
			IndexOptInfo *index = lfirst(lc);

			if (skx_planner_can_order(index) &&
				(index->indpred == NIL || index->predOK))
				skx_planner_add_prefix(root, rel, index);
		}
	skx_planner_add_unordered(root, rel);
	if (skx_planner_custom)
		skx_planner_wrap_all(root, rel);
}

void
skx_planner_init(void)
{
	DefineCustomBoolVariable("skipidx.enable_custom_scan",
							 "Lets ranked index scans hand their scores over.",
							 "Otherwise scores in the output are computed again from the rows.",
							 &skx_planner_custom, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	RegisterCustomScanMethods(&skx_planner_scan_methods);
	skx_planner_next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = skx_planner_set_rel_pathlist;
}
