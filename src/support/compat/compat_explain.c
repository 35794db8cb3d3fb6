/*
 * compat_explain.c
 *	  EXPLAIN of plan nodes of the server.
 */
#include "postgres.h"

#include "support/compat/compat_planner.h"

#if PG_VERSION_NUM >= 180000

static explain_per_node_hook_type skx_compat_explain_next;
static SkxCompatExplain skx_compat_explain_what;

static void
skx_compat_explain_node(PlanState *node, List *ancestors,
						const char *relationship, const char *plan_name,
						ExplainState *es)
{
	if (skx_compat_explain_next != NULL)
		skx_compat_explain_next(node, ancestors, relationship, plan_name, es);
	skx_compat_explain_what(node, ancestors == NIL ? NULL : linitial(ancestors),
							es);
}

void
skx_compat_explain_nodes(SkxCompatExplain what)
{
	skx_compat_explain_what = what;
	skx_compat_explain_next = explain_per_node_hook;
	explain_per_node_hook = skx_compat_explain_node;
}

#else

void
skx_compat_explain_nodes(SkxCompatExplain what)
{
}

#endif
