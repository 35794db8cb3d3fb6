/*
 * query_light.c
 *	  Tells which tsqueries gather, before they are compiled, and makes light
 *	  queries that do not.
 *
 * A scan that begins by gathering bits of all lists of a prefix takes long,
 * compared with a scan of a word that few documents have.  A planner can scan
 * the index for what follows from the query without the prefix, and test the
 * whole query on the rows.
 *
 * From a conjunction follows whatever follows from one of its clauses.  From a
 * disjunction follows the disjunction of what follows from its arms, if
 * something follows from each.  From a phrase follows whatever follows from
 * one of its operands.
 *
 * An operand of a phrase is true at positions of a document.  If it is one
 * lexeme, or a phrase itself, the document matches it as a query, too.
 * Nothing follows from its negation, which is true at all other positions,
 * wherever else the lexeme is.  Documents without positions match no phrase,
 * but may match what follows from it.
 */
#include "postgres.h"

#include "read/query/query.h"
#include "read/query/query_internal.h"

/* Where an item stands: outside of phrases, or as an operand of a phrase. */
#define SKX_WEAK_IN_QUERY		0
#define SKX_WEAK_IN_PHRASE	1

/*
 * What is known of an item and its subtree.  An operator's right operand lies
 * behind it, and then its left operand.
 */
typedef struct SkxWeakItem
{
	int			n;				/* number of items of the subtree */
	int64		gathered_words; /* number of its words; a prefix counts as
								 * SKX_GATHER_CLAUSES + 1 */
	int			kept_words[2];	/* by where it stands: number of words of what
								 * follows from it; 0 if nothing does */
} SkxWeakItem;

/* The items of a subtree. */
typedef struct SkxWeakSubtree
{
	int			first;
	int			n;
} SkxWeakSubtree;

/* An item from which something follows that is still to be written. */
typedef struct SkxWeakStackEntry
{
	int			item;
	int			place;			/* SKX_WEAK_IN_QUERY or SKX_WEAK_IN_PHRASE */
	int			left_of;		/* the operator written of which this is the
								 * left operand; -1 if it is none */
} SkxWeakStackEntry;

static inline SkxWeakSubtree
skx_query_subtree_items(int first, int n)
{
	SkxWeakSubtree items;

	items.first = first;
	items.n = n;
	return items;
}

static inline SkxWeakStackEntry
skx_query_weak_push(int item, int place, int left_of)
{
	SkxWeakStackEntry open;

	open.item = item;
	open.place = place;
	open.left_of = left_of;
	return open;
}

static inline int64
skx_query_item_gathers(const QueryItem *item)
{
	if (item->type != QI_VAL)
		return 0;
	return item->qoperand.prefix ? SKX_GATHER_CLAUSES + 1 : 1;
}

bool
skx_query_may_gather(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int64		gathers = 0;
	int			i;

	for (i = 0; i < query->size && gathers <= SKX_GATHER_CLAUSES; i++)
		gathers += skx_query_item_gathers(&items[i]);
	return gathers > SKX_GATHER_CLAUSES;
}

static inline bool
skx_query_is_of_kind(const QueryItem *item, int oper)
{
	return item->type == QI_OPR && item->qoperator.oper == oper;
}

bool
skx_query_is_word_disjunction(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			i;

	for (i = 0; i < query->size; i++)
	{
		if (!skx_query_is_of_kind(&items[i], OP_OR) &&
			(items[i].type != QI_VAL || items[i].qoperand.prefix ||
			 items[i].qoperand.weight != 0))
			return false;
	}
	return query->size > 0;
}

/* Returns true if what follows from an item is the item itself. */
static inline bool
skx_query_item_is_kept(const QueryItem *item, const SkxWeakItem *light,
					   int place)
{
	if (light->gathered_words > SKX_GATHER_CLAUSES)
		return false;
	return place == SKX_WEAK_IN_QUERY || item->type == QI_VAL ||
		skx_query_is_of_kind(item, OP_PHRASE);
}

/*
 * Returns the number of words of what follows from an operator with two
 * operands that does not stay as it is; 0 if nothing follows.
 */
static int
skx_query_weak_nwords(const QueryItem *item, const SkxWeakItem *right,
					  const SkxWeakItem *left, int place)
{
	bool		phrase = skx_query_is_of_kind(item, OP_PHRASE);
	int			of = phrase ? SKX_WEAK_IN_PHRASE : place;
	int			n = right->kept_words[of] + left->kept_words[of];

	if (skx_query_is_of_kind(item, OP_OR) &&
		(right->kept_words[of] == 0 || left->kept_words[of] == 0))
		return 0;

	/* A conjunction can do without one of its clauses. */
	if (n > SKX_GATHER_CLAUSES && !skx_query_is_of_kind(item, OP_AND))
		return 0;
	return n;
}

/*
 * Sets lights[i] for each of n items.  Operands lie behind their operator, so
 * a loop from the end sets them first.
 */
static void
skx_query_weak_analyze(const QueryItem *items, int n, SkxWeakItem *lights)
{
	int			i;

	for (i = n - 1; i >= 0; i--)
	{
		const QueryItem *item = &items[i];
		const SkxWeakItem *right = &lights[i + 1];
		const SkxWeakItem *left = NULL;
		SkxWeakItem *light = &lights[i];
		int			place;

		light->n = 1;
		light->gathered_words = skx_query_item_gathers(item);
		if (item->type == QI_OPR)
		{
			light->n += right->n;
			light->gathered_words += right->gathered_words;
			if (item->qoperator.oper != OP_NOT)
			{
				left = &lights[i + item->qoperator.left];
				light->n += left->n;
				light->gathered_words += left->gathered_words;
			}
		}
		for (place = 0; place < 2; place++)
		{
			light->kept_words[place] = 0;
			if (skx_query_item_is_kept(item, light, place))
				light->kept_words[place] = (int) light->gathered_words;
			else if (left != NULL)
				light->kept_words[place] = skx_query_weak_nwords(item, right,
																 left, place);
		}
	}
}

/*
 * Writes what follows from the first item into `to`; returns its number of
 * items.  `to` and `open` have a capacity of all items.
 */
static int
skx_query_weak_write(const QueryItem *items, const SkxWeakItem *lights,
					 SkxWeakStackEntry *open, QueryItem *to)
{
	int			nopen = 1;
	int			n = 0;

	open[0] = skx_query_weak_push(0, SKX_WEAK_IN_QUERY, -1);
	while (nopen > 0)
	{
		SkxWeakStackEntry at = open[--nopen];
		const QueryItem *item = &items[at.item];
		int			right = at.item + 1;
		int			left;
		int			place;
		bool		both;

		if (skx_query_item_is_kept(item, &lights[at.item], at.place))
		{
			if (at.left_of >= 0)
				to[at.left_of].qoperator.left = n - at.left_of;
			memcpy(to + n, item, sizeof(QueryItem) * (Size) lights[at.item].n);
			n += lights[at.item].n;
			continue;
		}
		left = at.item + item->qoperator.left;
		place = skx_query_is_of_kind(item, OP_PHRASE) ? SKX_WEAK_IN_PHRASE :
			at.place;
		both = lights[right].kept_words[place] > 0 &&
			lights[left].kept_words[place] > 0;
		if (both)
		{
			if (at.left_of >= 0)
				to[at.left_of].qoperator.left = n - at.left_of;
			memset(&to[n], 0, sizeof(QueryItem));
			to[n].qoperator.type = QI_OPR;
			to[n].qoperator.oper = skx_query_is_of_kind(item, OP_OR) ? OP_OR :
				OP_AND;
			open[nopen++] = skx_query_weak_push(left, place, n++);
			open[nopen++] = skx_query_weak_push(right, place, -1);
		}
		else if (lights[right].kept_words[place] > 0)
			open[nopen++] = skx_query_weak_push(right, place, at.left_of);
		else
			open[nopen++] = skx_query_weak_push(left, place, at.left_of);
	}
	return n;
}

static bool
skx_query_same_word(TSQuery query, const QueryItem *a, const QueryItem *b)
{
	return a->type == QI_VAL && b->type == QI_VAL &&
		a->qoperand.weight == b->qoperand.weight &&
		a->qoperand.valcrc == b->qoperand.valcrc &&
		a->qoperand.length == b->qoperand.length &&
		memcmp(GETOPERAND(query) + a->qoperand.distance,
			   GETOPERAND(query) + b->qoperand.distance,
			   a->qoperand.length) == 0;
}

/*
 * Sets kept to the clauses of a conjunction of at most SKX_GATHER_CLAUSES
 * words; returns how many.  A word that repeats one is left out.  It comes
 * from a phrase, and estimates would take the two for independent of each
 * other.
 */
static int
skx_query_weak_clauses(TSQuery query, const QueryItem *items, int n,
					   SkxWeakSubtree *kept)
{
	SkxWeakSubtree open[SKX_GATHER_CLAUSES + 1];
	int			nopen = 1;
	int			nkept = 0;

	open[0] = skx_query_subtree_items(0, n);
	while (nopen > 0)
	{
		SkxWeakSubtree at = open[--nopen];
		const QueryItem *item = &items[at.first];
		int			i;

		if (skx_query_is_of_kind(item, OP_AND))
		{
			int			left = (int) item->qoperator.left;

			open[nopen++] = skx_query_subtree_items(at.first + left,
													at.n - left);
			open[nopen++] = skx_query_subtree_items(at.first + 1, left - 1);
			continue;
		}
		for (i = 0; i < nkept; i++)
			if (skx_query_same_word(query, item, &items[kept[i].first]))
				break;
		if (i == nkept)
			kept[nkept++] = at;
	}
	return nkept;
}

/*
 * Returns the conjunction of the clauses, with the lexemes of the whole query.
 */
static TSQuery
skx_query_make_conjunction(TSQuery query, const QueryItem *items,
						   const SkxWeakSubtree *clauses, int n)
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
		memcpy(to, items + clauses[i].first,
			   sizeof(QueryItem) * (Size) clauses[i].n);
		to += clauses[i].n;
	}
	memcpy(GETOPERAND(result), GETOPERAND(query), lexemes);
	return result;
}

TSQuery
skx_query_weaken(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	Size		size = (Size) query->size + 1;
	SkxWeakItem *lights;
	SkxWeakStackEntry *open;
	QueryItem  *to;
	SkxWeakSubtree clauses[SKX_GATHER_CLAUSES];
	TSQuery		light = NULL;
	int			n;

	if (!skx_query_may_gather(query))
		return NULL;
	lights = palloc_extended(sizeof(SkxWeakItem) * size, MCXT_ALLOC_HUGE);
	skx_query_weak_analyze(items, query->size, lights);
	if (lights[0].kept_words[SKX_WEAK_IN_QUERY] > 0 &&
		lights[0].kept_words[SKX_WEAK_IN_QUERY] <= SKX_GATHER_CLAUSES)
	{
		open = palloc_extended(sizeof(SkxWeakStackEntry) * size,
							   MCXT_ALLOC_HUGE);
		to = palloc_extended(sizeof(QueryItem) * size, MCXT_ALLOC_HUGE);
		n = skx_query_weak_write(items, lights, open, to);
		n = skx_query_weak_clauses(query, to, n, clauses);
		light = skx_query_make_conjunction(query, to, clauses, n);
		pfree(open);
		pfree(to);
	}
	pfree(lights);
	return light;
}
