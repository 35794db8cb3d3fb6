/*
 * cost_planned.c
 *	  What is found once while a statement is planned.
 *
 * The planner asks for the cost of each path, several times for the same
 * conditions.  What a query turns out to be, which may take a function of the
 * user, and how large an index is, which takes reading its first pages, are
 * kept for as long as it plans the statement, subqueries included: one value of
 * PlannerInfo.glob.
 *
 * All of it is in the planner's own memory, and forgotten when that goes.  A
 * function that is evaluated may plan statements of its own: then it is these
 * that are kept, and what the first one had is found anew.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "compat/compat.h"
#include "cost/cost.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

typedef struct SkxPlannedValue
{
	Node	   *expr;
	Const	   *value;			/* NULL: it cannot be known */
} SkxPlannedValue;

/* Expressions of one hash; a statement may have thousands. */
typedef struct SkxPlannedValues
{
	uint32		hash;			/* the key */
	List	   *values;			/* SkxPlannedValue */
} SkxPlannedValues;

typedef struct SkxPlannedIndex
{
	Oid			index;
	SkxLocator	locator;
	SkxPlannedSizes sizes;
} SkxPlannedIndex;

typedef struct SkxPlannedPages
{
	const IndexPath *path;
	double		first;
	double		all;
} SkxPlannedPages;

typedef struct SkxPlanning
{
	const PlannerGlobal *glob;
	MemoryContext context;
	HTAB	   *values;			/* SkxPlannedValues */
	List	   *indexes;		/* SkxPlannedIndex */
	List	   *pages;			/* SkxPlannedPages; the last of a path counts */
	MemoryContextCallback end;
} SkxPlanning;

static SkxPlanning *skx_cost_planning_last;

static void
skx_cost_planning_end(void *arg)
{
	if (skx_cost_planning_last == arg)
		skx_cost_planning_last = NULL;
}

/* Of this statement; empty, if another one was planned meanwhile. */
static SkxPlanning *
skx_cost_planning(const PlannerInfo *root)
{
	SkxPlanning *planning = skx_cost_planning_last;

	if (planning != NULL && planning->glob == root->glob)
		return planning;
	planning = MemoryContextAllocZero(root->planner_cxt, sizeof(SkxPlanning));
	planning->glob = root->glob;
	planning->context = root->planner_cxt;
	planning->end.func = skx_cost_planning_end;
	planning->end.arg = planning;
	MemoryContextRegisterResetCallback(planning->context, &planning->end);
	skx_cost_planning_last = planning;
	return planning;
}

/*
 * A level of settings, as of a function with a SET clause: an error ends it
 * with its transaction or subtransaction, and what evaluated functions set for
 * the session stays.
 */
int
skx_cost_quiet_begin(void)
{
	int			level;

	if (client_min_messages >= WARNING)
		return 0;
	level = NewGUCNestLevel();
	(void) set_config_option("client_min_messages", "warning", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
skx_cost_quiet_end(int level)
{
	if (level > 0)
		AtEOXact_GUC(true, level);
}

static Node *
skx_cost_estimated_value(PlannerInfo *root, Node *expr)
{
	int			level = skx_cost_quiet_begin();
	Node	   *value = estimate_expression_value(root, expr);

	skx_cost_quiet_end(level);
	return value;
}

static uint32
skx_cost_hash_const(const Const *value)
{
	if (value->constisnull)
		return value->consttype;
	if (value->constbyval)
		return hash_combine(value->consttype,
							murmurhash32((uint32) value->constvalue));
	return hash_bytes((const unsigned char *) DatumGetPointer(value->constvalue),
					  datumGetSize(value->constvalue, false,
								   value->constlen));
}

/* Equal expressions have one hash. */
static bool
skx_cost_hash_walker(Node *node, void *context)
{
	uint32	   *hash = context;
	uint32		own = 0;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
			own = skx_cost_hash_const((Const *) node);
			break;
		case T_Var:
			own = ((Var *) node)->varno * 1024 + ((Var *) node)->varattno;
			break;
		case T_Param:
			own = ((Param *) node)->paramid;
			break;
		case T_FuncExpr:
			own = ((FuncExpr *) node)->funcid;
			break;
		default:
			break;
	}
	*hash = hash_combine(*hash, murmurhash32(own + nodeTag(node)));
	return expression_tree_walker(node, skx_cost_hash_walker, context);
}

/* Those with the hash of an expression. */
static SkxPlannedValues *
skx_cost_planned_values(SkxPlanning *planning, uint32 hash)
{
	SkxPlannedValues *values;
	bool		found;

	if (planning->values == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(uint32),
			.entrysize = sizeof(SkxPlannedValues),
			.hcxt = planning->context
		};

		planning->values = hash_create("skipidx planned values", 64, &ctl,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	values = hash_search(planning->values, &hash, HASH_ENTER, &found);
	if (!found)
		values->values = NIL;
	return values;
}

Const *
skx_cost_planned_value(PlannerInfo *root, Node *expr)
{
	uint32		hash = 0;
	SkxPlannedValues *values;
	SkxPlanning *planning;
	SkxPlannedValue *known;
	MemoryContext old;
	Node	   *value;
	ListCell   *lc;

	if (IsA(expr, Const))
		return (Const *) expr;
	(void) skx_cost_hash_walker(expr, &hash);
	values = skx_cost_planned_values(skx_cost_planning(root), hash);
	foreach(lc, values->values)
	{
		known = lfirst(lc);
		if (equal(known->expr, expr))
			return known->value;
	}
	value = skx_cost_estimated_value(root, expr);
	/* which may have planned other statements */
	planning = skx_cost_planning(root);
	values = skx_cost_planned_values(planning, hash);
	old = MemoryContextSwitchTo(planning->context);
	known = palloc0(sizeof(SkxPlannedValue));
	known->expr = copyObject(expr);
	if (IsA(value, Const))
		known->value = (Const *) copyObject(value);
	values->values = lappend(values->values, known);
	MemoryContextSwitchTo(old);
	return known->value;
}

const SkxPlannedSizes *
skx_cost_planned_sizes(PlannerInfo *root, Relation index)
{
	SkxPlanning *planning = skx_cost_planning(root);
	SkxPlannedIndex *known;
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, planning->indexes)
	{
		known = lfirst(lc);
		if (known->index == RelationGetRelid(index) &&
			SKX_LOCATOR_EQUALS(known->locator, SKX_REL_LOCATOR(index)))
			return &known->sizes;
	}
	old = MemoryContextSwitchTo(planning->context);
	known = palloc0(sizeof(SkxPlannedIndex));
	known->index = RelationGetRelid(index);
	known->locator = SKX_REL_LOCATOR(index);
	known->sizes.view = skx_manifest_view(index);
	skx_pending_totals(index, known->sizes.view, &known->sizes.pending, NULL);
	planning->indexes = lappend(planning->indexes, known);
	MemoryContextSwitchTo(old);
	return &known->sizes;
}

void
skx_cost_planned_keep(PlannerInfo *root, const IndexPath *path,
					  const SkxCostEstimate *estimate)
{
	SkxPlanning *planning = skx_cost_planning(root);
	MemoryContext old = MemoryContextSwitchTo(planning->context);
	SkxPlannedPages *pages = palloc(sizeof(SkxPlannedPages));

	pages->path = path;
	pages->first = estimate->first;
	pages->all = estimate->pages;
	planning->pages = lappend(planning->pages, pages);
	MemoryContextSwitchTo(old);
}

double
skx_cost_planned_pages(PlannerInfo *root, const IndexPath *path, bool first)
{
	const List *list = skx_cost_planning(root)->pages;
	int			i = list_length(list);

	while (--i >= 0)
	{
		const SkxPlannedPages *pages = list_nth(list, i);

		if (pages->path == path)
			return first ? pages->first : pages->all;
	}
	return 0;
}
