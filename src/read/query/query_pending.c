/*
 * query_pending.c
 *	  Runs a query on one pending document.
 */
#include "postgres.h"

#include "fmgr.h"
#include "index/document/document.h"
#include "read/query/query_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"

/* Returns true if the text matches one of the queries. */
static bool
skx_query_matches_any(TSVector text, TSQuery *queries, int n)
{
	int			i;

	for (i = 0; i < n; i++)
		if (DatumGetBool(DirectFunctionCall2(ts_match_vq,
											 TSVectorGetDatum(text),
											 TSQueryGetDatum(queries[i]))))
			return true;
	return false;
}

/*
 * Returns true if a pending document meets a condition.  `text` is the
 * document without values if a query could find these, else the document
 * itself.
 */
static bool
skx_query_meets_condition(const SkxCondition *c, TSVector document,
						  TSVector text)
{
	int			i;
	int			k;

	if (c->kind == SKX_CONDITION_QUERIES)
		return skx_query_matches_any(text, c->queries, c->n);
	if (c->kind != SKX_CONDITION_DISJUNCTION)
		return skx_condition_document_meets(c, document);
	for (i = 0; i < c->narms; i++)
	{
		const SkxConditionArm *arm = &c->arms[i];

		for (k = 0; k < arm->n; k++)
			if (!skx_query_meets_condition(&arm->conditions[k], document,
										   text))
				break;
		if (k == arm->n)
			return true;
	}
	return false;
}

/* Returns true if the condition may have queries, and so is tested last. */
static bool
skx_query_condition_tests_text(const SkxCondition *c)
{
	return c->kind == SKX_CONDITION_QUERIES ||
		c->kind == SKX_CONDITION_DISJUNCTION;
}

bool
skx_query_matches(const SkxQuery *query, TSVector document)
{
	TSVector	text = document;
	bool		matches = true;
	int			i;

	if (query->root->kind == SKX_NODE_NONE)
		return false;
	if (!skx_query_may_match_nulls(query) && skx_column_is_null(document))
		return false;
	for (i = 0; i < query->nconditions; i++)
		if (!skx_query_condition_tests_text(&query->conditions[i]) &&
			!skx_condition_document_meets(&query->conditions[i], document))
			return false;
	/* the server's function must not find values as words */
	if (query->has_any_word)
		text = skx_document_without_values(document);
	for (i = 0; i < query->nqueries && matches; i++)
		matches = skx_query_matches_any(text, &query->queries[i], 1);
	for (i = 0; i < query->nconditions && matches; i++)
		if (skx_query_condition_tests_text(&query->conditions[i]))
			matches = skx_query_meets_condition(&query->conditions[i],
												document, text);
	if (text != document)
		pfree(text);
	return matches;
}
