/*
 * query_split.c
 *	  Takes a query apart into plain lexemes that every match has, and the
 *	  rest.
 *
 * A ranked search traverses the lists of those lexemes by scores, and tests
 * the rest only on documents that are good enough.  The file also makes
 * queries out of others.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"

static inline bool
skx_query_is_plain(const SkxQueryNode *node)
{
	return node->kind == SKX_NODE_TERM && !node->prefix;
}

static SkxQueryNode *
skx_query_new_node(SkxNodeKind kind, int nchildren)
{
	SkxQueryNode *node = palloc0(sizeof(SkxQueryNode));

	node->kind = kind;
	node->max_children = nchildren;
	if (nchildren > 0)
		node->children = palloc_extended(sizeof(SkxQueryNode *) *
										 (Size) nchildren, MCXT_ALLOC_HUGE);
	return node;
}

/* Returns true if the node has children, and all are plain lexemes. */
static bool
skx_query_only_plain(const SkxQueryNode *node)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
		if (!skx_query_is_plain(node->children[i]))
			return false;
	return node->nchildren > 0;
}

typedef struct SkxQuerySplitState
{
	SkxQuerySplit *split;
	int			max_required;
	SkxQueryNode *residual;
	SkxQueryNode *prefixes;		/* its children are the prefixes that are
								 * known */
	SkxQueryKnowsPrefix knows;
	void	   *arg;
} SkxQuerySplitState;

static void
skx_query_split_require(SkxQuerySplitState *s, const SkxQueryNode *term)
{
	SkxQuerySplit *split = s->split;

	if (split->nrequired == s->max_required)
	{
		s->max_required = Max(8, s->max_required * 2);
		if (split->required == NULL)
			split->required = palloc(sizeof(SkxQueryRequired) *
									 s->max_required);
		else
			split->required = repalloc_huge(split->required,
											sizeof(SkxQueryRequired) *
											s->max_required);
	}
	split->required[split->nrequired].lexeme = term->slot;
	split->required[split->nrequired++].labels = term->labels;
}

static void
skx_query_split_add_residual(SkxQueryNode *rest, SkxQueryNode *node)
{

	if (rest->nchildren == rest->max_children)
	{
		rest->max_children = Max(8, rest->max_children * 2);
		rest->children = repalloc_huge(rest->children,
									   sizeof(SkxQueryNode *) *
									   rest->max_children);
	}
	rest->children[rest->nchildren++] = node;
}

/*
 * Returns a copy of the phrase that does not look for its lexemes, since its
 * documents are known to have them.
 */
static SkxQueryNode *
skx_query_split_phrase(const SkxQueryNode *phrase)
{
	SkxQueryNode *node = skx_query_new_node(SKX_NODE_PHRASE, 1);
	SkxQueryNode **children = node->children;

	*node = *phrase;
	node->children = children;
	node->children[0] = skx_query_new_node(SKX_NODE_ALL, 0);
	return node;
}

static bool
skx_query_split_prefix(const SkxQuerySplitState *s, const SkxQueryNode *node)
{
	SkxQueryWord prefix = {node->lexeme, node->len, true, node->labels};

	return node->kind == SKX_NODE_TERM && node->prefix && node->to == NULL &&
		s->knows(&prefix, s->arg);
}

static void
skx_query_split_node(SkxQuerySplitState *s, SkxQueryNode *node)
{
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (skx_query_is_plain(node))
		skx_query_split_require(s, node);
	else if (node->kind == SKX_NODE_AND)
	{
		for (i = 0; i < node->nchildren; i++)
			skx_query_split_node(s, node->children[i]);
	}
	else if (node->kind == SKX_NODE_PHRASE &&
			 node->children[0]->kind == SKX_NODE_AND &&
			 skx_query_only_plain(node->children[0]))
	{
		for (i = 0; i < node->children[0]->nchildren; i++)
			skx_query_split_require(s, node->children[0]->children[i]);
		skx_query_split_add_residual(s->residual,
									 skx_query_split_phrase(node));
	}
	else if (skx_query_split_prefix(s, node))
		skx_query_split_add_residual(s->prefixes, node);
	else
		skx_query_split_add_residual(s->residual, node);
}

/* Puts the known prefixes into the result. */
static void
skx_query_split_prefixes(SkxQuerySplitState *s)
{
	SkxQuerySplit *split = s->split;
	int			i;

	split->prefixes = palloc(sizeof(SkxQueryWord) *
							 (s->prefixes->nchildren + 1));
	for (i = 0; i < s->prefixes->nchildren; i++)
	{
		SkxQueryNode *node = s->prefixes->children[i];
		SkxQueryWord word = {node->lexeme, node->len, true, node->labels};

		split->prefixes[split->nprefixes++] = word;
	}
}

static int
skx_query_compare_required(const void *a, const void *b)
{
	const SkxQueryRequired *x = a;
	const SkxQueryRequired *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->lexeme != y->lexeme)
		return x->lexeme < y->lexeme ? -1 : 1;
	return (int) x->labels - (int) y->labels;
}

static void
skx_query_split_sort(SkxQuerySplit *split)
{
	int			kept = 0;
	int			i;

	if (split->nrequired > 0)
		qsort(split->required, split->nrequired, sizeof(SkxQueryRequired),
			  skx_query_compare_required);
	for (i = 0; i < split->nrequired; i++)
		if (kept == 0 ||
			skx_query_compare_required(&split->required[kept - 1],
									   &split->required[i]) != 0)
			split->required[kept++] = split->required[i];
	split->nrequired = kept;
}

/*
 * Returns the query's disjunction if the query is a disjunction of plain
 * lexemes and known prefixes that ask for no labels; NULL if it is anything
 * else.
 */
static const SkxQueryNode *
skx_query_disjunction(const SkxQuerySplitState *s, const SkxQuery *query)
{
	const SkxQueryNode *node = query->root;
	int			i;

	while (node->kind == SKX_NODE_AND && node->nchildren == 1)
		node = node->children[0];
	if (node->kind != SKX_NODE_OR || node->nchildren == 0)
		return NULL;
	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		CHECK_FOR_INTERRUPTS();
		if (child->labels != 0 ||
			!(skx_query_is_plain(child) || skx_query_split_prefix(s, child)))
			return NULL;
	}
	return node;
}

void
skx_query_split(const SkxQuery *query, SkxQueryKnowsPrefix knows, void *arg,
				SkxQuerySplit *split)
{
	const SkxQueryNode *any;
	SkxQuerySplitState s;
	int			i;

	memset(split, 0, sizeof(*split));
	s.split = split;
	s.max_required = 0;
	s.residual = skx_query_new_node(SKX_NODE_AND, 1);
	s.prefixes = skx_query_new_node(SKX_NODE_AND, 1);
	s.knows = knows;
	s.arg = arg;
	any = skx_query_disjunction(&s, query);
	if (any != NULL)
	{
		split->is_disjunction = true;
		for (i = 0; i < any->nchildren; i++)
		{
			SkxQueryNode *child = any->children[i];

			if (skx_query_is_plain(child))
				skx_query_split_require(&s, child);
			else
				skx_query_split_add_residual(s.prefixes, child);
		}
	}
	else if (query->root->kind != SKX_NODE_ALL)
		skx_query_split_node(&s, query->root);
	skx_query_split_prefixes(&s);
	skx_query_split_sort(split);
	if (s.residual->nchildren > 0)
	{
		split->residual = palloc(sizeof(SkxQuery));
		*split->residual = *query;
		split->residual->root = s.residual;
	}
}

const SkxLexeme *
skx_query_lexemes(const SkxQuery *query, int *n)
{
	*n = query->nlexemes;
	return query->lexemes;
}

static bool
skx_query_node_gathers(const SkxQueryNode *node, bool ranges)
{
	int			i;

	check_stack_depth();
	if ((node->prefix && (ranges || node->to == NULL)) ||
		node->nchildren > SKX_GATHER_CLAUSES)
		return true;
	for (i = 0; i < node->nchildren; i++)
		if (skx_query_node_gathers(node->children[i], ranges))
			return true;
	return false;
}

bool
skx_query_begins_by_gathering(const SkxQuery *query)
{
	return skx_query_node_gathers(query->root, true);
}

bool
skx_query_gathers_word_lists(const SkxQuery *query)
{
	return skx_query_node_gathers(query->root, false);
}

/*
 * Returns true if the node is a disjunction that has each of the n distinct
 * lexemes, and asks for no labels of these.
 */
static bool
skx_query_has_all_words(const SkxQueryNode *node, const SkxLexeme *lexemes,
						int n)
{
	bool	   *has;
	int			found = 0;
	int			i;

	if (node->kind != SKX_NODE_OR)
		return false;
	has = palloc0(sizeof(bool) * n);
	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];
		SkxLexeme	key = {child->lexeme, child->len};
		const SkxLexeme *one;

		CHECK_FOR_INTERRUPTS();
		if (!skx_query_is_plain(child) || child->labels != 0)
			continue;
		one = bsearch(&key, lexemes, n, sizeof(SkxLexeme),
					  skx_column_compare_lexeme);
		/* an array of queries may have a lexeme several times */
		if (one == NULL || has[one - lexemes])
			continue;
		has[one - lexemes] = true;
		found++;
	}
	pfree(has);
	return found == n;
}

SkxQuery *
skx_query_residual_of_words(const SkxQuery *query, const SkxLexeme *words,
							int n)
{
	SkxQuery   *rest = palloc(sizeof(SkxQuery));
	int			i;

	*rest = *query;
	if (skx_query_has_all_words(query->root, words, n))
		return NULL;
	if (query->root->kind != SKX_NODE_AND)
		return rest;
	rest->root = skx_query_new_node(SKX_NODE_AND, query->root->nchildren);
	for (i = 0; i < query->root->nchildren; i++)
		if (!skx_query_has_all_words(query->root->children[i], words, n))
			rest->root->children[rest->root->nchildren++] =
				query->root->children[i];
	return rest->root->nchildren > 0 ? rest : NULL;
}

/*
 * Sets the slots of all lexemes anew, after lexemes were added to the query.
 */
static void
skx_query_renumber(const SkxQuery *query, SkxQueryNode *node)
{
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (skx_query_is_plain(node))
		node->slot = skx_query_lexeme(query, node->lexeme, node->len);
	for (i = 0; i < node->nchildren; i++)
		skx_query_renumber(query, node->children[i]);
}

static SkxQueryNode *
skx_query_copy_node(const SkxQueryNode *node)
{
	SkxQueryNode *copy = skx_query_new_node(node->kind, node->nchildren);
	SkxQueryNode **children = copy->children;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	*copy = *node;
	copy->children = children;
	for (i = 0; i < node->nchildren; i++)
		children[i] = skx_query_copy_node(node->children[i]);
	return copy;
}

SkxQuery *
skx_query_exclude_lexemes(const SkxQuery *query, const SkxQueryWord *words,
						  int n)
{
	SkxQuery   *without = palloc(sizeof(SkxQuery));
	SkxQueryNode *any = skx_query_new_node(SKX_NODE_OR, n);
	SkxQueryNode *not = skx_query_new_node(SKX_NODE_NOT, 1);
	SkxLexeme  *more = palloc_extended(sizeof(SkxLexeme) * ((Size) n + 1),
									   MCXT_ALLOC_HUGE);
	int			nmore = 0;
	int			i;

	*without = *query;
	without->root = skx_query_new_node(SKX_NODE_AND, 2);
	without->root->children[without->root->nchildren++] =
		skx_query_copy_node(query->root);
	for (i = 0; i < n; i++)
	{
		SkxQueryNode *term = skx_query_new_node(SKX_NODE_TERM, 0);

		CHECK_FOR_INTERRUPTS();
		term->lexeme = words[i].lexeme;
		term->len = words[i].len;
		term->prefix = words[i].prefix;
		term->labels = words[i].labels;
		any->children[any->nchildren++] = term;
		if (words[i].prefix)
			continue;
		more[nmore].bytes = words[i].lexeme;
		more[nmore++].len = words[i].len;
	}
	if (n > 0)
	{
		not->children[not->nchildren++] = any;
		without->root->children[without->root->nchildren++] = not;
	}
	skx_query_join_lexemes(without, more, nmore);
	skx_query_renumber(without, without->root);
	/* a document whose text is NULL has none of the words */
	without->may_match_null = true;
	pfree(more);
	return without;
}

SkxQuery *
skx_query_and_is_null(const SkxQuery *query, int column)
{
	SkxQuery   *both = palloc(sizeof(SkxQuery));
	SkxCondition *conditions = palloc0(sizeof(SkxCondition) *
									   (query->nconditions + 1));
	SkxLexeme  *lexeme = palloc(sizeof(SkxLexeme));
	SkxQueryNode *term = skx_query_new_node(SKX_NODE_TERM, 0);

	*lexeme = skx_column_lexeme(column, SKX_VALUE_NULL, "", 0);
	term->lexeme = lexeme->bytes;
	term->len = lexeme->len;
	*both = *query;
	if (query->nconditions > 0)
		memcpy(conditions, query->conditions,
			   sizeof(SkxCondition) * query->nconditions);
	conditions[query->nconditions].kind = SKX_CONDITION_ALL_OF;
	conditions[query->nconditions].lexemes = lexeme;
	conditions[query->nconditions].n = 1;
	both->conditions = conditions;
	both->nconditions++;
	if (query->root->kind == SKX_NODE_NONE)
		return both;
	both->root = skx_query_new_node(SKX_NODE_AND, 2);
	both->root->children[both->root->nchildren++] =
		skx_query_copy_node(query->root);
	both->root->children[both->root->nchildren++] = term;
	skx_query_join_lexemes(both, lexeme, 1);
	skx_query_renumber(both, both->root);
	return both;
}
