/*
 * plan_filter.c
 *	  The cost of testing `@@` on rows.
 *
 * The server takes a function to cost cpu_operator_cost, whatever it reads.
 * `@@` reads a whole tsvector, mostly the largest value of the row, which may
 * have to come from the TOAST table.  So scans that find their rows by other
 * conditions and have `@@` as a filter seem to be much cheaper than they are.
 * They are charged for it here, each for the rows that it tests.
 *
 * The server does not know these costs when it makes its paths.  It drops
 * scans of an index that seem to cost more.  Those are offered again.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/tidbitmap.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_reading.h"
#include "tsearch/ts_type.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/*
 * Cost of a byte, in units of cpu_operator_cost (of 6.5 ns): of a tsvector in
 * the row, and of a compressed one in TOAST.  Measured with tables of 50,000,
 * 10,000 and 4,000 rows in memory.  For a single word, values of 900 bytes
 * took 320 to 550 ns, and values of 44 bytes 20 to 100 ns.  In TOAST, values
 * of 2,800 bytes took 5.0 us, and values of 7,100 bytes 9.5 us.
 */
#define SKX_FILTER_BYTE_COST			0.07
#define SKX_FILTER_TOAST_BYTE_COST	0.22

/*
 * The same for a word that is looked for after the first.  With 20,000 values
 * of 60 words, each of 30 or 300 words of a disjunction took 40 to 80 ns.
 */
#define SKX_FILTER_WORD_COST			6.0

/* Bytes of a tsvector for each of its words, repeated ones included. */
#define SKX_FILTER_WORD_BYTES	10

/*
 * The same for a word of a document that is made of a text for the test.  Texts
 * of 514 bytes, parsed as English, of which 50 words are indexed, took 60 to
 * 90 us, and as `simple`, of which 84 are, 50 to 75.
 */
#define SKX_FILTER_PARSE_COST		150.0

/* A value in TOAST leaves less than this share of its bytes in the row. */
#define SKX_FILTER_INLINE_FRACTION			(1.0 / 3)

/* A condition with `@@`, and the charge for testing it on one row. */
typedef struct SkxFilterClause
{
	RestrictInfo *clause;
	Cost		cost;
} SkxFilterClause;

typedef struct SkxFilters
{
	PlannerInfo *root;
	RelOptInfo *rel;
	Cost		cost;			/* of the conditions found so far */
} SkxFilters;

/* ---- one row ---- */


Cost
skx_plan_value_cost(PlannerInfo *root, const IndexOptInfo *index,
					double byte, double byte_away)
{
	const Var  *key = (const Var *) skx_plan_column_expr(index, 0);
	double		words = skx_am_cost_average_length(root, index);
	double		whole = SKX_FILTER_WORD_BYTES * words;
	double		width;
	double		away;

	if (!IsA(key, Var))
		return words * SKX_FILTER_PARSE_COST * cpu_operator_cost;
	/* 0 if there was no ANALYZE */
	width = get_attavgwidth(planner_rt_fetch(index->rel->relid, root)->relid,
							key->varattno);
	away = width < whole * SKX_FILTER_INLINE_FRACTION ? whole - width : 0;
	return (width * byte + away * byte_away) * cpu_operator_cost;
}

/*
 * Returns the number of words that are looked for one by one: all of a
 * disjunction, else 1.
 */
static double
skx_plan_count_words(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	double		n = 0;
	int			i;

	if (query->size == 0 || items->type != QI_OPR ||
		items->qoperator.oper != OP_OR)
		return 1;
	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL;
	return n;
}

static double
skx_plan_count_words_of_all(Datum queries)
{
	double		n = 0;
	Datum	   *values;
	bool	   *nulls;
	int			nvalues;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(queries), TSQUERYOID, -1, false,
					  TYPALIGN_INT, &values, &nulls, &nvalues);
	for (i = 0; i < nvalues; i++)
	{
		if (!nulls[i])
			n += skx_plan_count_words(DatumGetTSQuery(values[i]));
	}
	return n;
}

/*
 * Returns the cost of looking for the words of a query after the first: each
 * word of a disjunction, or of an array, if it is known.  Other queries mostly
 * end at the first word that is missing, so they cost nothing more.
 */
static Cost
skx_plan_words_cost(List *args)
{
	double		n = 0;
	ListCell   *lc;

	foreach(lc, args)
	{
		const Const *value = lfirst(lc);

		if (!IsA(value, Const) || value->constisnull)
			continue;
		if (value->consttype == TSQUERYOID)
			n += skx_plan_count_words(DatumGetTSQuery(value->constvalue));
		else if (value->consttype == TSQUERYARRAYOID)
			n += skx_plan_count_words_of_all(value->constvalue);
	}
	return Max(n - 1, 0) * SKX_FILTER_WORD_COST * cpu_operator_cost;
}

static bool
skx_plan_is_match(IndexOptInfo *index, Oid operator, List *args)
{
	Oid			family = index->opfamily[0];
	Node	   *operand = linitial(args);

	if (!skx_plan_is_match_operator(operator, family))
	{
		operator = get_commutator(operator);
		operand = llast(args);
	}
	return OidIsValid(operator) &&
		skx_plan_is_match_operator(operator, family) &&
		match_index_to_operand(operand, 0, index);
}

static Cost
skx_plan_match_cost(const SkxFilters *filters, Oid operator, List *args)
{
	ListCell   *lc;

	foreach(lc, filters->rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_plan_is_skipidx(index) && list_length(args) == 2 &&
			skx_plan_is_match(index, operator, args))
			return skx_plan_value_cost(filters->root, index,
									   SKX_FILTER_BYTE_COST,
									   SKX_FILTER_TOAST_BYTE_COST) +
				skx_plan_words_cost(args);
	}
	return 0;
}

static bool
skx_plan_filter_walker(Node *node, void *context)
{
	SkxFilters *filters = context;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr))
		filters->cost += skx_plan_match_cost(filters,
											 ((OpExpr *) node)->opno,
											 ((OpExpr *) node)->args);
	else if (IsA(node, ScalarArrayOpExpr))
		filters->cost += skx_plan_match_cost(filters,
											 ((ScalarArrayOpExpr *) node)->opno,
											 ((ScalarArrayOpExpr *) node)->args);
	return expression_tree_walker(node, skx_plan_filter_walker, context);
}

/*
 * Returns the conditions with `@@`, as SkxFilterClauses.  Those that wait for
 * others, as under row security, are left out: no index answers these.
 */
static List *
skx_plan_match_filters(PlannerInfo *root, RelOptInfo *rel, List *clauses)
{
	List	   *list = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, lc);
		SkxFilters	filters = {root, rel, 0};
		SkxFilterClause *filter;

		if (clause->pseudoconstant ||
			!skx_plan_is_promotable(clause, rel))
			continue;
		(void) skx_plan_filter_walker((Node *) clause->clause, &filters);
		if (filters.cost <= 0)
			continue;
		filter = palloc(sizeof(SkxFilterClause));
		filter->clause = clause;
		filter->cost = filters.cost;
		list = lappend(list, filter);
	}
	return list;
}

/* ---- a path ---- */

static bool skx_plan_bitmap_answers(Path *bitmap, RestrictInfo *clause);

/*
 * A disjunction that a BitmapOr may answer.  The server makes the parts of the
 * BitmapOr in the order of the arms.  So the search for the arm of a part
 * begins behind that of the part before it.
 */
typedef struct SkxFilterArms
{
	const List *arms;
	int			next;			/* number of the arm where a search begins */
} SkxFilterArms;

/* Returns true if the bitmap answers all conditions of an arm. */
static bool
skx_plan_answers_arm(Path *bitmap, Node *arm)
{
	ListCell   *lc;

	if (!is_andclause(arm))
		return skx_plan_bitmap_answers(bitmap, castNode(RestrictInfo, arm));
	foreach(lc, ((BoolExpr *) arm)->args)
	{
		if (!skx_plan_bitmap_answers(bitmap, lfirst_node(RestrictInfo, lc)))
			return false;
	}
	return true;
}

/*
 * Finds the arm `same`, or, if that is NULL, one that the part answers.
 * Returns false if there is none.
 */
static bool
skx_plan_find_arm(SkxFilterArms *of, Path *part, const Node *same)
{
	int			n = list_length(of->arms);
	int			i;

	for (i = 0; i < n; i++)
	{
		int			at = (of->next + i) % n;
		Node	   *arm = list_nth(of->arms, at);

		if (same != NULL ? arm == same : skx_plan_answers_arm(part, arm))
		{
			of->next = at + 1;
			return true;
		}
	}
	return false;
}

/*
 * Returns true if an index clause is a disjunction of some of the arms.  From
 * 18 on the server asks for similar arms together.
 */
static bool
skx_plan_is_group(SkxFilterArms *of, const IndexClause *clause)
{
	ListCell   *lc;

	if (clause->lossy || clause->rinfo->orclause == NULL)
		return false;
	foreach(lc, ((BoolExpr *) clause->rinfo->orclause)->args)
	{
		if (!skx_plan_find_arm(of, NULL, lfirst(lc)))
			return false;
	}
	return true;
}

/* Returns true if a part of a BitmapOr answers a group of arms. */
static bool
skx_plan_answers_group(SkxFilterArms *of, Path *part)
{
	ListCell   *lc;

	if (IsA(part, IndexPath))
	{
		foreach(lc, ((IndexPath *) part)->indexclauses)
		{
			if (skx_plan_is_group(of, lfirst_node(IndexClause, lc)))
				return true;
		}
	}
	else if (IsA(part, BitmapAndPath))
	{
		foreach(lc, ((BitmapAndPath *) part)->bitmapquals)
		{
			if (skx_plan_answers_group(of, lfirst(lc)))
				return true;
		}
	}
	return false;
}

/*
 * Returns true if the bitmap answers the condition.  A BitmapOr does if each
 * of its parts answers the condition, or an arm of it.
 */
static bool
skx_plan_bitmap_answers(Path *bitmap, RestrictInfo *clause)
{
	bool		all = IsA(bitmap, BitmapOrPath);
	SkxFilterArms of = {NIL, 0};
	List	   *parts;
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (IsA(bitmap, IndexPath))
		return is_redundant_with_indexclauses(clause,
											  ((IndexPath *) bitmap)->indexclauses);
	if (all && clause->orclause != NULL)
		of.arms = ((BoolExpr *) clause->orclause)->args;
	parts = all ? ((BitmapOrPath *) bitmap)->bitmapquals :
		((BitmapAndPath *) bitmap)->bitmapquals;
	foreach(lc, parts)
	{
		bool		answers = skx_plan_bitmap_answers(lfirst(lc), clause) ||
			skx_plan_answers_group(&of, lfirst(lc)) ||
			skx_plan_find_arm(&of, lfirst(lc), NULL);

		if (answers != all)
			return !all;
	}
	return all;
}

/* Returns true if the scan finds only rows that meet the condition. */
static bool
skx_plan_scan_answers(Path *path, RestrictInfo *clause)
{
	if (IsA(path, IndexPath))
		return is_redundant_with_indexclauses(clause,
											  ((IndexPath *) path)->indexclauses);
	if (IsA(path, BitmapHeapPath))
		return skx_plan_bitmap_answers(((BitmapHeapPath *) path)->bitmapqual,
									   clause);
	return false;
}

/*
 * Returns the number of rows on pages that a bitmap keeps without their rows.
 * As the server estimates it, a bitmap that is too large keeps rows in half of
 * its entries.
 */
static double
skx_plan_lossy_rows(PlannerInfo *root, RelOptInfo *rel, Path *bitmap)
{
	double		most = tbm_calculate_entries((Size) work_mem * 1024);
	Cost		cost;
	double		rows;
	double		pages = compute_bitmap_pages(root, rel, bitmap, 1, &cost,
											 &rows);

	if (pages <= most)
		return 0;
	return Min((pages - most / 2) / Max(rel->pages, 1), 1) * rel->tuples;
}

/*
 * Returns the number of rows that the scan looks at.  *lossy is the number of
 * those that come only because of their page.
 */
static double
skx_plan_found_rows(PlannerInfo *root, RelOptInfo *rel, Path *path,
					double *lossy)
{
	Path	   *bitmap;
	Selectivity share;
	Cost		cost;

	*lossy = 0;
	if (path->pathtype == T_SeqScan)
		return rel->tuples;
	if (IsA(path, IndexPath))
		return rel->tuples * ((IndexPath *) path)->indexselectivity;
	if (!IsA(path, BitmapHeapPath))
		return 0;
	bitmap = ((BitmapHeapPath *) path)->bitmapqual;
	cost_bitmap_tree_node(bitmap, &cost, &share);
	*lossy = skx_plan_lossy_rows(root, rel, bitmap);
	return share * (rel->tuples - *lossy) + *lossy;
}

/* A condition that is tested on rows. */
typedef struct SkxTestedCondition
{
	RestrictInfo *clause;
	const SkxFilterClause *filter;	/* NULL: it has no `@@` */
	Cost		cost;
	int			position;		/* number in the list */
} SkxTestedCondition;

/*
 * Compares in the server's order: cheaper conditions come first, equally
 * expensive ones as listed.
 */
static int
skx_plan_compare_test_order(const void *a, const void *b)
{
	const SkxTestedCondition *x = a;
	const SkxTestedCondition *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->position - y->position;
}

/*
 * Returns the conditions in the order in which they are tested.  `filters` has
 * some of them, in the same order.
 */
static SkxTestedCondition *
skx_plan_test_order(PlannerInfo *root, const List *clauses,
					const List *filters)
{
	SkxTestedCondition *tested = palloc(sizeof(SkxTestedCondition) *
										((Size) list_length(clauses) + 1));
	int			at = 0;
	int			next = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const SkxFilterClause *filter = next < list_length(filters) ?
			list_nth(filters, next) : NULL;
		QualCost	cost;

		CHECK_FOR_INTERRUPTS();
		cost_qual_eval_node(&cost, lfirst(lc), root);
		tested[at].clause = lfirst_node(RestrictInfo, lc);
		tested[at].filter = filter != NULL && filter->clause == lfirst(lc) ?
			filter : NULL;
		next += tested[at].filter != NULL;
		tested[at].cost = cost.per_tuple;
		tested[at].position = at;
		at++;
	}
	qsort(tested, at, sizeof(SkxTestedCondition), skx_plan_compare_test_order);
	return tested;
}

/*
 * Returns the charge for a path.  Each condition is tested on the rows that
 * those before it leave.
 */
static Cost
skx_plan_charge(PlannerInfo *root, RelOptInfo *rel, List *filters,
				Path *path)
{
	double		lossy;
	double		found = skx_plan_found_rows(root, rel, path, &lossy);
	List	   *joined = path->param_info == NULL ? NIL :
		path->param_info->ppi_clauses;
	List	   *clauses = rel->baserestrictinfo;
	SkxTestedCondition *tested;
	double		left = 1;
	Cost		charge = 0;
	int			i;

	if (found <= 0)
		return 0;
	if (joined != NIL)
	{
		clauses = list_concat_copy(clauses, joined);
		filters = list_concat_copy(filters,
								   skx_plan_match_filters(root, rel, joined));
	}
	if (filters == NIL)
		return 0;
	tested = skx_plan_test_order(root, clauses, filters);
	for (i = 0; i < list_length(clauses); i++)
	{
		RestrictInfo *clause = tested[i].clause;
		bool		answered = skx_plan_scan_answers(path, clause);

		CHECK_FOR_INTERRUPTS();
		if (tested[i].filter != NULL)
			charge += tested[i].filter->cost * (answered ? lossy : found * left);
		if (!clause->pseudoconstant && !answered)
			left *= clause_selectivity(root, (Node *) clause, 0, JOIN_INNER,
									   NULL);
	}
	pfree(tested);
	return path->parallel_workers == 0 ? charge :
		charge / skx_plan_process_count(path->parallel_workers);
}

Cost
skx_plan_filter_cost(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
	return skx_plan_charge(root, rel,
						   skx_plan_match_filters(root, rel,
												  rel->baserestrictinfo),
						   path);
}

/* ---- all paths ---- */

/* The least costs, before charges, of paths that are charged and of others. */
typedef struct SkxChargedCosts
{
	Cost		charged_min;
	Cost		uncharged_min;
} SkxChargedCosts;

/*
 * Returns the scan that needs no outer row in a bitmap on the inner side of a
 * join; NULL if there is none.
 */
static IndexPath *
skx_plan_scan_without_outer(const RelOptInfo *rel, const Path *path)
{
	return path->param_info == NULL ||
		bms_equal(PATH_REQ_OUTER(path), rel->lateral_relids) ? NULL :
		skx_plan_fewest_rows_part(path, rel->lateral_relids);
}

/*
 * Charges all paths.  An index scan in a bitmap of several conditions may cost
 * less than the charged bitmap.  If it was dropped for the bitmap, it is added
 * to `apart`.
 */
static void
skx_plan_charge_all_paths(PlannerInfo *root, RelOptInfo *rel, List *filters,
						  List *paths, SkxChargedCosts *least, List **apart)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		charge = skx_plan_charge(root, rel, filters, path);
		IndexPath  *fewest = skx_plan_fewest_rows_part(path,
													   PATH_REQ_OUTER(path));
		IndexPath  *once = skx_plan_scan_without_outer(rel, path);

		if (charge > 0 || fewest != NULL)
			least->charged_min = Min(least->charged_min, path->total_cost);
		else if (path->param_info == NULL)
			least->uncharged_min = Min(least->uncharged_min, path->total_cost);
		path->total_cost += charge + skx_plan_bitmap_cost(root, rel, path);
		if (apart == NULL)
			continue;
		if (once != NULL && !list_member_ptr(paths, once))
			*apart = list_append_unique_ptr(*apart, once);
		if (fewest == NULL || list_member_ptr(paths, fewest))
			continue;
		fewest->path.rows = path->rows;
		*apart = list_append_unique_ptr(*apart, fewest);
	}
}

/*
 * Charges a bitmap of several conditions for pages that it does not save.  It
 * is compared with the scan in it that finds the fewest rows.  On the inner
 * side of a join it is also compared with one scan for all outer rows, which a
 * hash table joins with these.
 *
 * On the inner side of a join, or by several processes, the bitmap itself
 * costs more.  The former is compared with joins that fetch the rows of all
 * outer rows at once, for which the server charges pages in full.  The latter
 * costs a part of what one process pays.  In other cases the scan becomes as
 * cheap as the bitmap instead.
 */
static void
skx_plan_charge_bitmap_and(PlannerInfo *root, RelOptInfo *rel, List *filters,
						   Path *path)
{
	IndexPath  *fewest = skx_plan_fewest_rows_part(path, PATH_REQ_OUTER(path));
	IndexPath  *once = skx_plan_scan_without_outer(rel, path);
	Cost		charged;
	Cost		unsaved = 0;

	if (fewest == NULL && once == NULL)
		return;
	charged = skx_plan_charge(root, rel, filters, path) +
		skx_plan_bitmap_cost(root, rel, path);
	if (fewest != NULL)
		unsaved =
			skx_plan_bitmap_unsaved_charge(rel, path, charged, fewest,
										   skx_plan_charge(root, rel, filters,
														   &fewest->path), 1);
	if (once != NULL)
		unsaved = Max(unsaved,
					  skx_plan_bitmap_unsaved_charge(rel, path, charged, once,
													 skx_plan_charge(root, rel, filters, &once->path), skx_plan_nloops(root, PATH_REQ_OUTER(path))));
	if (path->param_info != NULL || path->parallel_workers > 0)
		path->total_cost += unsaved;
	else if (unsaved > 0 && fewest->path.total_cost > path->total_cost)
		fewest->path.total_cost = Max(path->total_cost,
									  fewest->path.startup_cost);
}

/*
 * Does so for all paths.  They have been charged, and so have the scans in
 * bitmaps.
 */
static void
skx_plan_charge_bitmap_ands(PlannerInfo *root, RelOptInfo *rel, List *filters,
							List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
		skx_plan_charge_bitmap_and(root, rel, filters, lfirst(lc));
}

List *
skx_plan_table_filters(PlannerInfo *root, RelOptInfo *rel)
{
	return skx_plan_match_filters(root, rel, rel->baserestrictinfo);
}

bool
skx_plan_charge_filters(PlannerInfo *root, RelOptInfo *rel, List *filters)
{
	SkxChargedCosts least = {INFINITY, INFINITY};
	List	   *apart = NIL;
	List	   *paths;
	List	   *partial;

	if (filters == NIL)
		return false;
	skx_plan_detach_paths(rel, &paths, &partial);
	skx_plan_charge_all_paths(root, rel, filters, paths, &least, &apart);
	skx_plan_charge_all_paths(root, rel, filters, apart, &least, NULL);
	skx_plan_charge_all_paths(root, rel, filters, partial, &least, NULL);
	/* before scans become cheaper for the sake of other bitmaps */
	skx_plan_charge_bitmap_ands(root, rel, filters, partial);
	skx_plan_charge_bitmap_ands(root, rel, filters, paths);
	skx_plan_offer_paths(rel, list_concat(paths, apart), partial);
	return least.charged_min < least.uncharged_min;
}
