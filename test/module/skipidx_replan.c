/*
 * skipidx_replan.c
 *	  A library for tests that reads a Query again after it was planned, as
 *	  distributed engines do, and compares it before and after each hook.
 *
 * CREATE FUNCTION skipidx_replan(statement text) RETURNS text[] AS '...'
 * LANGUAGE c: plans the statement, whose parameter $1 is a tsquery, and a copy
 * of its Query.  Returns the
 * statement's text as it is before planning, that of the planned Query, that of
 * the planned copy, and how often a hook was called.  A hook of the libraries
 * that were loaded before this one, skipidx among them, that changes the Query
 * is an error.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/pathnodes.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(skipidx_replan);

extern PGDLLEXPORT void _PG_init(void);

static set_rel_pathlist_hook_type skx_replan_next_rel;
static create_upper_paths_hook_type skx_replan_next_upper;
static int	skx_replan_calls;

static void
skx_replan_compare(const char *hook, const Query *before, const Query *after)
{
	if (!equal(before, after))
		ereport(ERROR, (errmsg("%s has changed the Query", hook)));
	skx_replan_calls++;
}

static void
skx_replan_rel(PlannerInfo *root, RelOptInfo *rel, Index rti,
			   RangeTblEntry *rte)
{
	Query	   *before = copyObject(root->parse);

	if (skx_replan_next_rel == NULL)
		return;
	skx_replan_next_rel(root, rel, rti, rte);
	skx_replan_compare("set_rel_pathlist_hook", before, root->parse);
}

static void
skx_replan_upper(PlannerInfo *root, UpperRelationKind stage,
				 RelOptInfo *input, RelOptInfo *output, void *extra)
{
	Query	   *before = copyObject(root->parse);

	if (skx_replan_next_upper == NULL)
		return;
	skx_replan_next_upper(root, stage, input, output, extra);
	skx_replan_compare("create_upper_paths_hook", before, root->parse);
}

void
_PG_init(void)
{
	skx_replan_next_rel = set_rel_pathlist_hook;
	set_rel_pathlist_hook = skx_replan_rel;
	skx_replan_next_upper = create_upper_paths_hook;
	create_upper_paths_hook = skx_replan_upper;
}

/* Plans the Query, and returns the text of what planning has left of it. */
static char *
skx_replan_planned(Query *query, const char *statement)
{
#if PG_VERSION_NUM >= 190000
	(void) pg_plan_query(query, statement, CURSOR_OPT_PARALLEL_OK, NULL, NULL);
#else
	(void) pg_plan_query(query, statement, CURSOR_OPT_PARALLEL_OK, NULL);
#endif
	return pg_get_querydef(query, false);
}

Datum
skipidx_replan(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	List	   *raw = pg_parse_query(statement);
	const Oid	type = TSQUERYOID;
	List	   *queries = pg_analyze_and_rewrite_fixedparams(linitial(raw),
															 statement, &type,
															 1, NULL);
	Query	   *query = linitial_node(Query, queries);
	Query	   *copy = copyObject(query);
	Datum		texts[4];
	int			before = skx_replan_calls;

	texts[0] = CStringGetTextDatum(pg_get_querydef(copyObject(query), false));
	texts[1] = CStringGetTextDatum(skx_replan_planned(query, statement));
	texts[2] = CStringGetTextDatum(skx_replan_planned(copy, statement));
	texts[3] = CStringGetTextDatum(psprintf("%d", skx_replan_calls - before));
	PG_RETURN_ARRAYTYPE_P(construct_array(texts, 4, TEXTOID, -1, false,
										  TYPALIGN_INT));
}
