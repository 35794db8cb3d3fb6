/*
 * query_light.c
 *	  Queries for which a segment is gone through first, as they are written.
 *
 * A scan that begins by gathering bits of all lists of a prefix takes long
 * beside a word that few documents have: a planner can ask the index for the
 * rest of the conjunction, and leave the prefix to the rows.
 */
#include "postgres.h"

#include "query/query.h"
#include "query/query_internal.h"

/*
 * Items of a subtree, which lie together: an operator, its right operand, and
 * its left one.
 */
typedef struct SkxItems
{
	int			first;
	int			n;
} SkxItems;

static bool
skx_query_items_gather(const QueryItem *items, int n)
{
	int			nwords = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (items[i].type != QI_VAL)
			continue;
		nwords++;
		if (items[i].qoperand.prefix)
			return true;
	}
	return nwords > SKX_GATHER_CLAUSES;
}

bool
skx_query_may_gather(TSQuery query)
{
	return skx_query_items_gather(GETQUERY(query), query->size);
}

static inline bool
skx_query_is_and(const QueryItem *item)
{
	return item->type == QI_OPR && item->qoperator.oper == OP_AND;
}

/*
 * The clauses of the outermost conjunction that gather nothing, into `kept`;
 * returns how many.
 */
static int
skx_query_light_clauses(TSQuery query, SkxItems *kept)
{
	const QueryItem *items = GETQUERY(query);
	SkxItems   *open = palloc_extended(sizeof(SkxItems) * (query->size + 1),
									   MCXT_ALLOC_HUGE);
	int			nopen = 1;
	int			nkept = 0;

	open[0].first = 0;
	open[0].n = query->size;
	while (nopen > 0)
	{
		SkxItems	at = open[--nopen];

		if (skx_query_is_and(&items[at.first]))
		{
			int			left = (int) items[at.first].qoperator.left;

			open[nopen].first = at.first + left;
			open[nopen++].n = at.n - left;
			open[nopen].first = at.first + 1;
			open[nopen++].n = left - 1;
		}
		else if (!skx_query_items_gather(items + at.first, at.n))
			kept[nkept++] = at;
	}
	pfree(open);
	return nkept;
}

/* A conjunction of such clauses, with the lexemes of the whole query. */
static TSQuery
skx_query_conjoin(TSQuery query, const SkxItems *clauses, int n)
{
	Size		lexemes = VARSIZE(query) - HDRSIZETQ -
		sizeof(QueryItem) * (Size) query->size;
	int			nitems = n - 1;
	QueryItem  *to;
	TSQuery		result;
	int			i;

	for (i = 0; i < n; i++)
		nitems += clauses[i].n;
	result = palloc0(HDRSIZETQ + sizeof(QueryItem) * (Size) nitems + lexemes);
	SET_VARSIZE(result, HDRSIZETQ + sizeof(QueryItem) * (Size) nitems + lexemes);
	result->size = nitems;
	to = GETQUERY(result);
	for (i = 0; i < n; i++)
	{
		if (i < n - 1)
		{
			to->qoperator.type = QI_OPR;
			to->qoperator.oper = OP_AND;
			to->qoperator.left = clauses[i].n + 1;
			to++;
		}
		memcpy(to, GETQUERY(query) + clauses[i].first,
			   sizeof(QueryItem) * (Size) clauses[i].n);
		to += clauses[i].n;
	}
	memcpy(GETOPERAND(result), GETOPERAND(query), lexemes);
	return result;
}

TSQuery
skx_query_light(TSQuery query)
{
	SkxItems   *kept = palloc_extended(sizeof(SkxItems) * (query->size + 1),
									   MCXT_ALLOC_HUGE);
	int			n = query->size == 0 ? 0 : skx_query_light_clauses(query, kept);
	TSQuery		light = NULL;

	if (n > 0 && n <= SKX_GATHER_CLAUSES)
		light = skx_query_conjoin(query, kept, n);
	pfree(kept);
	if (light != NULL && light->size < query->size &&
		!skx_query_may_gather(light))
		return light;
	return NULL;
}
