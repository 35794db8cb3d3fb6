/*
 * query_compile.c
 *	  Compiles tsqueries and conditions into a tree of sets of documents.
 *
 * Outside phrases, a tsquery is two-valued logic over "the document has the
 * lexeme (with one of these labels)". AND, OR and NOT become set operations.
 * A phrase operator depends on positions.  It becomes a PHRASE node whose only
 * child admits every document that could match, and whose verification
 * decides.
 *
 * Rows of one operator are flattened and double negations are cancelled in
 * loops, so that long queries do not need a deep stack.
 */
#include "postgres.h"

#include "lib/qunique.h"
#include "miscadmin.h"
#include "read/query/query_internal.h"
#include "tsearch/ts_utils.h"

typedef struct SkxCompile
{
	const SkxQuery *whole;
	TSQuery		query;
	QueryItem  *items;
	char	   *operands;
	SkxQueryNode *leaves;		/* memory for operands that follow */
	int			nleaves;		/* capacity of `leaves` */
	const SkxQueryNode **last_operator; /* by lexeme: the last operator that
										 * had it */
	uint8	   *last_labels;	/* by lexeme: the labels it had there */
} SkxCompile;

static SkxQueryNode *skx_query_compile_item(SkxCompile *c, QueryItem *item);
static SkxQueryNode *skx_query_admitting_node(SkxCompile *c, QueryItem *item);

static SkxQueryNode *
skx_query_node(SkxNodeKind kind)
{
	SkxQueryNode *node = palloc0(sizeof(SkxQueryNode));

	node->kind = kind;
	return node;
}

static void
skx_query_add_child(SkxQueryNode *node, SkxQueryNode *child)
{
	if (node->nchildren == node->max_children)
	{
		node->max_children = Max(4, node->max_children * 2);
		if (node->children == NULL)
			node->children = palloc(sizeof(*node->children) *
									node->max_children);
		else
			node->children = repalloc_huge(node->children,
										   sizeof(*node->children) *
										   node->max_children);
	}
	node->children[node->nchildren++] = child;
}

static SkxQueryNode *
skx_query_compile_operand(SkxCompile *c, QueryOperand *operand)
{
	SkxQueryNode *node;

	CHECK_FOR_INTERRUPTS();
	if (c->nleaves > 0)
	{
		node = c->leaves++;
		c->nleaves--;
		memset(node, 0, sizeof(*node));
		node->kind = SKX_NODE_TERM;
	}
	else
		node = skx_query_node(SKX_NODE_TERM);
	node->lexeme = c->operands + operand->distance;
	node->len = operand->length;
	node->labels = operand->weight;
	node->prefix = operand->prefix;
	if (!node->prefix)
		node->slot = skx_query_lexeme(c->whole, node->lexeme, node->len);
	return node;
}

static inline QueryItem *
skx_query_left_operand(QueryItem *item)
{
	return item + item->qoperator.left;
}

static inline QueryItem *
skx_query_right_operand(QueryItem *item)
{
	return item + 1;
}

static inline bool
skx_query_is_operator(QueryItem *item, int8 oper)
{
	return item->type == QI_OPR && item->qoperator.oper == oper;
}

/*
 * Adds the operands of a row of one operator.  The parser nests rows to the
 * left, so recursion only follows parentheses on the right.
 */
static void
skx_query_gather_operands(SkxCompile *c, QueryItem *item, int8 oper,
						  SkxQueryNode *(*compile) (SkxCompile *, QueryItem *),
						  SkxQueryNode *into)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	while (skx_query_is_operator(item, oper))
	{
		QueryItem  *right = skx_query_right_operand(item);

		if (skx_query_is_operator(right, oper))
			skx_query_gather_operands(c, right, oper, compile, into);
		else
			skx_query_add_child(into, compile(c, right));
		item = skx_query_left_operand(item);
	}
	skx_query_add_child(into, compile(c, item));
}

/*
 * Sets the links of a <d1> b <d2> c ... if all operands are plain lexemes.
 * Such a phrase is matched by query_chain.c, without TS_execute().
 */
static void
skx_query_set_links(SkxQueryPhrase *phrase)
{
	QueryItem  *item = phrase->item;
	int			n = 1;
	int			i;

	for (; skx_query_is_operator(item, OP_PHRASE); item =
		 skx_query_left_operand(item))
	{
		QueryItem  *right = skx_query_right_operand(item);

		if (right->type != QI_VAL || right->qoperand.prefix)
			return;
		n++;
	}
	if (item->type != QI_VAL || item->qoperand.prefix)
		return;
	phrase->nlinks = n;
	phrase->links = palloc(sizeof(*phrase->links) * n);
	phrase->distances = palloc(sizeof(*phrase->distances) * n);
	item = phrase->item;
	for (i = n - 1; i > 0; i--)
	{
		phrase->links[i] = &skx_query_right_operand(item)->qoperand;
		phrase->distances[i] = item->qoperator.distance;
		item = skx_query_left_operand(item);
	}
	phrase->links[0] = &item->qoperand;
	phrase->distances[0] = 0;
}

static bool
skx_query_is_prefix(const SkxQueryNode *node)
{
	return node->kind == SKX_NODE_TERM && node->prefix && node->to == NULL;
}

static int
skx_query_compare_prefixes(const void *a, const void *b)
{
	const SkxQueryNode *x = *(SkxQueryNode *const *) a;
	const SkxQueryNode *y = *(SkxQueryNode *const *) b;
	SkxLexeme	left = {x->lexeme, x->len};
	SkxLexeme	right = {y->lexeme, y->len};
	int			cmp = skx_column_compare_lexeme(&left, &right);

	CHECK_FOR_INTERRUPTS();
	return cmp != 0 ? cmp : (int) x->labels - (int) y->labels;
}

/*
 * Drops prefixes that an operator has twice with the same labels, as each
 * would go through all of its lists again.  If there are any, the prefixes
 * that are left are put at the end, in order.
 */
static void
skx_query_drop_prefixes(SkxQueryNode *node, int nprefixes)
{
	SkxQueryNode **prefixes = palloc_extended(sizeof(SkxQueryNode *) *
											  (Size) nprefixes,
											  MCXT_ALLOC_HUGE);
	int			n = 0;
	int			distinct;
	int			kept = 0;
	int			i;

	for (i = 0; i < node->nchildren; i++)
		if (skx_query_is_prefix(node->children[i]))
			prefixes[n++] = node->children[i];
	qsort(prefixes, n, sizeof(SkxQueryNode *), skx_query_compare_prefixes);
	distinct = qunique(prefixes, n, sizeof(SkxQueryNode *),
					   skx_query_compare_prefixes);
	if (distinct < n)
	{
		for (i = 0; i < node->nchildren; i++)
			if (!skx_query_is_prefix(node->children[i]))
				node->children[kept++] = node->children[i];
		memcpy(&node->children[kept], prefixes,
			   sizeof(SkxQueryNode *) * distinct);
		node->nchildren = kept + distinct;
	}
	pfree(prefixes);
}

/*
 * Drops lexemes that an operator has twice with the same labels.  They change
 * no match, but a query made of the words of a text repeats words for their
 * scores.
 */
static void
skx_query_drop_repeats(SkxCompile *c, SkxQueryNode *node)
{
	int			kept = 0;
	int			nprefixes = 0;
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		SkxQueryNode *child = node->children[i];

		nprefixes += skx_query_is_prefix(child);
		if (child->kind == SKX_NODE_TERM && !child->prefix)
		{
			if (c->last_operator[child->slot] == node &&
				c->last_labels[child->slot] == child->labels)
				continue;
			c->last_operator[child->slot] = node;
			c->last_labels[child->slot] = child->labels;
		}
		node->children[kept++] = child;
	}
	node->nchildren = kept;
	if (nprefixes > 1)
		skx_query_drop_prefixes(node, nprefixes);
}

/*
 * Returns a node that admits every document that a subtree of a phrase could
 * accept.  Negations admit everything, since what they exclude depends on
 * positions.
 */
static SkxQueryNode *
skx_query_admitting_node(SkxCompile *c, QueryItem *item)
{
	SkxQueryNode *node;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (item->type == QI_VAL)
		return skx_query_compile_operand(c, &item->qoperand);
	switch (item->qoperator.oper)
	{
		case OP_AND:
		case OP_PHRASE:
			node = skx_query_node(SKX_NODE_AND);
			break;
		case OP_OR:
			node = skx_query_node(SKX_NODE_OR);
			break;
		case OP_NOT:
			return skx_query_node(SKX_NODE_ALL);
		default:
			elog(ERROR, "unrecognized operator: %d", item->qoperator.oper);
	}
	skx_query_gather_operands(c, item, item->qoperator.oper,
							  skx_query_admitting_node, node);
	return node;
}

static SkxQueryNode *
skx_query_compile_phrase(SkxCompile *c, QueryItem *item)
{
	SkxQueryNode *node = skx_query_node(SKX_NODE_PHRASE);

	node->phrase = palloc0(sizeof(SkxQueryPhrase));
	node->phrase->query = c->query;
	node->phrase->item = item;
	skx_query_add_child(node, skx_query_admitting_node(c, item));
	skx_query_set_links(node->phrase);
	return node;
}

static SkxQueryNode *
skx_query_compile_item(SkxCompile *c, QueryItem *item)
{
	SkxQueryNode *node;
	bool		negated = false;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	while (skx_query_is_operator(item, OP_NOT))
	{
		negated = !negated;
		item = skx_query_right_operand(item);
	}
	if (item->type == QI_VAL)
		node = skx_query_compile_operand(c, &item->qoperand);
	else if (item->qoperator.oper == OP_PHRASE)
		node = skx_query_compile_phrase(c, item);
	else
	{
		node = skx_query_node(item->qoperator.oper == OP_AND ?
							  SKX_NODE_AND : SKX_NODE_OR);
		skx_query_gather_operands(c, item, item->qoperator.oper,
								  skx_query_compile_item, node);
		skx_query_drop_repeats(c, node);
	}
	if (negated)
	{
		SkxQueryNode *not = skx_query_node(SKX_NODE_NOT);

		skx_query_add_child(not, node);
		node = not;
	}
	return node;
}

/* Returns true if the node could match a document without any lexeme. */
static bool
skx_query_accepts_none(const SkxQueryNode *node)
{
	int			i;

	switch (node->kind)
	{
		case SKX_NODE_ALL:
		case SKX_NODE_NOT:
			return true;
		case SKX_NODE_AND:
			for (i = 0; i < node->nchildren; i++)
				if (!skx_query_accepts_none(node->children[i]))
					return false;
			return true;
		case SKX_NODE_OR:
			for (i = 0; i < node->nchildren; i++)
				if (skx_query_accepts_none(node->children[i]))
					return true;
			return false;
		case SKX_NODE_PHRASE:
			return skx_query_accepts_none(node->children[0]);
		default:
			return false;
	}
}

int
skx_query_lexeme(const SkxQuery *query, const char *lexeme, int len)
{
	SkxLexeme	key = {lexeme, len};
	const SkxLexeme *found = bsearch(&key, query->lexemes, query->nlexemes,
									 sizeof(SkxLexeme),
									 skx_column_compare_lexeme);

	Assert(found != NULL);
	return found - query->lexemes;
}

static int
skx_query_operands(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			n = 0;
	int			i;

	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL;
	return n;
}

/*
 * Adds a tsquery's lexemes that are no prefixes to the n that the query has.
 * Returns how many the query has then.
 */
static int
skx_query_add_lexemes(SkxQuery *query, TSQuery from, int n)
{
	QueryItem  *items = GETQUERY(from);
	int			i;

	for (i = 0; i < from->size; i++)
	{
		if (items[i].type != QI_VAL)
			continue;
		if (items[i].qoperand.prefix)
		{
			query->has_any_word |= items[i].qoperand.length == 0;
			continue;
		}
		query->lexemes[n].bytes = GETOPERAND(from) +
			items[i].qoperand.distance;
		query->lexemes[n++].len = items[i].qoperand.length;
	}
	return n;
}

static Size
skx_query_condition_lexemes(const SkxCondition *c)
{
	Size		n = 0;
	int			i;
	int			k;

	for (i = 0; i < c->narms; i++)
		for (k = 0; k < c->arms[i].n; k++)
			n += skx_query_condition_lexemes(&c->arms[i].conditions[k]);
	if (c->kind != SKX_CONDITION_QUERIES)
		return n + c->n;
	for (i = 0; i < c->n; i++)
		n += skx_query_operands(c->queries[i]);
	return n;
}

/*
 * Adds the lexemes of a condition to the n that the query has.  Returns how
 * many the query has then.
 */
static int
skx_query_add_condition(SkxQuery *query, const SkxCondition *c, int n)
{
	int			i;
	int			k;

	for (i = 0; i < c->n; i++)
	{
		if (c->kind == SKX_CONDITION_QUERIES)
			n = skx_query_add_lexemes(query, c->queries[i], n);
		else
			query->lexemes[n++] = c->lexemes[i];
	}
	for (i = 0; i < c->narms; i++)
		for (k = 0; k < c->arms[i].n; k++)
			n = skx_query_add_condition(query, &c->arms[i].conditions[k], n);
	return n;
}

/* Sets query->lexemes to all lexemes that are no prefixes. */
static void
skx_query_gather_lexemes(SkxQuery *query)
{
	Size		most = 1;
	int			n = 0;
	int			i;

	for (i = 0; i < query->nqueries; i++)
		most += skx_query_operands(query->queries[i]);
	for (i = 0; i < query->nconditions; i++)
		most += skx_query_condition_lexemes(&query->conditions[i]);
	query->lexemes = palloc_extended(sizeof(SkxLexeme) * most,
									 MCXT_ALLOC_HUGE);
	for (i = 0; i < query->nqueries; i++)
		n = skx_query_add_lexemes(query, query->queries[i], n);
	for (i = 0; i < query->nconditions; i++)
		n = skx_query_add_condition(query, &query->conditions[i], n);
	query->nlexemes = skx_column_distinct(query->lexemes, n);
}

void
skx_query_join_lexemes(SkxQuery *query, const SkxLexeme *more, int n)
{
	SkxLexeme  *all = palloc_extended(sizeof(SkxLexeme) *
									  ((Size) query->nlexemes + n + 1),
									  MCXT_ALLOC_HUGE);

	if (query->nlexemes > 0)
		memcpy(all, query->lexemes, sizeof(SkxLexeme) * query->nlexemes);
	memcpy(all + query->nlexemes, more, sizeof(SkxLexeme) * n);
	query->lexemes = all;
	query->nlexemes = skx_column_distinct(all, query->nlexemes + n);
}

static SkxQueryNode *
skx_query_compile_query(SkxCompile *c, TSQuery query)
{
	c->query = query;
	c->items = GETQUERY(query);
	c->operands = GETOPERAND(query);
	c->nleaves = skx_query_operands(query);
	c->leaves = palloc_extended(sizeof(SkxQueryNode) * (Size) c->nleaves,
								MCXT_ALLOC_HUGE);
	return skx_query_compile_item(c, c->items);
}

/* Returns a node of the given kind of all lexemes of a condition. */
static SkxQueryNode *
skx_query_compile_lexemes(SkxCompile *c, const SkxCondition *condition,
						  SkxNodeKind kind)
{
	SkxQueryNode *node = skx_query_node(kind);
	SkxQueryNode *leaves = palloc_extended(sizeof(SkxQueryNode) *
										   (Size) condition->n,
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			i;

	for (i = 0; i < condition->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		leaves[i].kind = SKX_NODE_TERM;
		leaves[i].lexeme = condition->lexemes[i].bytes;
		leaves[i].len = condition->lexemes[i].len;
		leaves[i].slot = skx_query_lexeme(c->whole, leaves[i].lexeme,
										  leaves[i].len);
		skx_query_add_child(node, &leaves[i]);
	}
	return node->nchildren == 1 ? node->children[0] : node;
}

/* Returns a node of the values of a range. */
static SkxQueryNode *
skx_query_compile_range(const SkxCondition *condition)
{
	SkxQueryNode *node = skx_query_node(SKX_NODE_TERM);

	node->lexeme = condition->from.bytes;
	node->len = condition->from.len;
	node->to = &condition->to;
	node->prefix = true;
	return node;
}

static SkxQueryNode *skx_query_compile_condition(SkxCompile *c,
												 const SkxCondition *condition);

/* Returns the conjunction of the conditions of an arm. */
static SkxQueryNode *
skx_query_compile_arm(SkxCompile *c, const SkxConditionArm *arm)
{
	SkxQueryNode *node = skx_query_node(SKX_NODE_AND);
	int			i;

	for (i = 0; i < arm->n; i++)
		skx_query_add_child(node,
							skx_query_compile_condition(c,
														&arm->conditions[i]));
	return node->nchildren == 1 ? node->children[0] : node;
}

static SkxQueryNode *
skx_query_compile_condition(SkxCompile *c, const SkxCondition *condition)
{
	SkxQueryNode *node;
	int			i;

	switch (condition->kind)
	{
		case SKX_CONDITION_ALL_OF:
			return skx_query_compile_lexemes(c, condition, SKX_NODE_AND);
		case SKX_CONDITION_ANY_OF:
			return skx_query_compile_lexemes(c, condition, SKX_NODE_OR);
		case SKX_CONDITION_NONE_OF:
			node = skx_query_node(SKX_NODE_NOT);
			skx_query_add_child(node,
								skx_query_compile_lexemes(c, condition,
														  SKX_NODE_OR));
			return node;
		case SKX_CONDITION_RANGE:
			return skx_query_compile_range(condition);
		case SKX_CONDITION_QUERIES:
			node = skx_query_node(SKX_NODE_OR);
			for (i = 0; i < condition->n; i++)
				skx_query_add_child(node,
									skx_query_compile_query(c, condition->queries[i]));
			return node;
		case SKX_CONDITION_DISJUNCTION:
			node = skx_query_node(SKX_NODE_OR);
			for (i = 0; i < condition->narms; i++)
				skx_query_add_child(node,
									skx_query_compile_arm(c,
														  &condition->arms[i]));
			return node->nchildren == 1 ? node->children[0] : node;
		default:
			return skx_query_node(SKX_NODE_NONE);
	}
}

/* Returns true if a tsquery is empty or a condition is never met. */
static bool
skx_query_is_never(const SkxQuery *query)
{
	int			i;

	for (i = 0; i < query->nqueries; i++)
		if (query->queries[i]->size == 0)
			return true;
	for (i = 0; i < query->nconditions; i++)
		if (query->conditions[i].kind == SKX_CONDITION_NEVER)
			return true;
	return false;
}

/*
 * Adds a clause that every match has to meet.  Clears *accepts_none if the
 * clause is on the text, and requires a lexeme.
 */
static void
skx_query_add_required(SkxQuery *query, SkxQueryNode *node, bool on_text,
					   bool *accepts_none)
{
	skx_query_add_child(query->root, node);
	if (on_text && !skx_query_accepts_none(node))
		*accepts_none = false;
}

bool
skx_query_matches_all(const SkxQuery *query)
{
	return query->nqueries == 0 && query->nconditions == 0;
}

bool
skx_query_may_match_nulls(const SkxQuery *query)
{
	int			i;

	for (i = 0; i < query->nconditions; i++)
		if (query->conditions[i].kind == SKX_CONDITION_QUERIES)
			return false;
	return query->nqueries == 0;
}

SkxQuery *
skx_query_compile(TSQuery *queries, int nqueries,
				  const SkxCondition *conditions, int nconditions)
{
	SkxQuery   *query = palloc0(sizeof(SkxQuery));
	bool		accepts_none = true;
	SkxCompile	c;
	int			i;

	query->nqueries = nqueries;
	query->queries = queries;
	query->nconditions = nconditions;
	query->conditions = conditions;
	if (skx_query_is_never(query))
	{
		query->root = skx_query_node(SKX_NODE_NONE);
		return query;
	}
	query->root = skx_query_node(skx_query_matches_all(query) ?
								 SKX_NODE_ALL : SKX_NODE_AND);
	skx_query_gather_lexemes(query);
	c.whole = query;
	c.last_operator = palloc_extended(sizeof(SkxQueryNode *) *
									  ((Size) query->nlexemes + 1),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	c.last_labels = palloc0(query->nlexemes + 1);
	for (i = 0; i < nqueries; i++)
		skx_query_add_required(query, skx_query_compile_query(&c, queries[i]),
							   true, &accepts_none);
	for (i = 0; i < nconditions; i++)
		skx_query_add_required(query,
							   skx_query_compile_condition(&c, &conditions[i]),
							   conditions[i].kind == SKX_CONDITION_QUERIES,
							   &accepts_none);
	pfree(c.last_operator);
	pfree(c.last_labels);
	query->may_match_null = accepts_none && !skx_query_may_match_nulls(query);
	return query;
}

bool
skx_query_is_empty(const SkxQuery *query)
{
	return query->root->kind == SKX_NODE_NONE;
}

const SkxLexeme *
skx_query_single_lexeme(const SkxQuery *query)
{
	const SkxQueryNode *node = query->root;

	while ((node->kind == SKX_NODE_AND || node->kind == SKX_NODE_OR) &&
		   node->nchildren == 1)
		node = node->children[0];
	if (node->kind != SKX_NODE_TERM || node->prefix || node->labels != 0 ||
		query->may_match_null)
		return NULL;
	return &query->lexemes[node->slot];
}
