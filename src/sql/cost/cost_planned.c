/*
 * cost_planned.c
 *	  Keeps facts that are found once while a statement is planned.
 *
 * The planner asks for the cost of each path, several times for the same
 * conditions.  The value of a query may take a function of the user to
 * compute, and the size of an index takes reading its first pages.  Both are
 * kept while the planner plans the statement, subqueries included.  A
 * statement is told from others by the value of PlannerInfo.glob.
 *
 * All of it is in the planner's memory context, and is forgotten when that
 * ends.  A function that is evaluated may plan statements of its own.  Only
 * the facts of the last statement are kept then, and those of the first one
 * are found anew.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "sql/cost/cost_internal.h"
#include "support/compat/compat.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

typedef struct SkxPlannedConst
{
	Node	   *expr;
	Const	   *value;			/* NULL: it cannot be known */
} SkxPlannedConst;

/*
 * Values of the expressions that have one hash.  A statement may have
 * thousands of expressions.
 */
typedef struct SkxPlannedValues
{
	uint32		hash;			/* the key */
	List	   *values;			/* SkxPlannedConst */
} SkxPlannedValues;

/*
 * Most lexemes that are kept for an index, and most bytes that they may have.
 */
#define SKX_PLANNED_TERMS_MAX	16
#define SKX_PLANNED_BYTES_MAX	512

typedef struct SkxPlannedIndex
{
	Oid			index;			/* the key */
	SkxLocator	locator;
	SkxIndexSizes sizes;
	double		length;			/* average of documents, in words; below 0:
								 * not known yet.  Stays when sizes.view is
								 * freed */
	int			nterms;			/* number of terms looked up last */
	SkxLexeme	lexemes[SKX_PLANNED_TERMS_MAX]; /* ascending, distinct */
	SkxTerm    *terms;			/* for SKX_PLANNED_TERMS_MAX; NULL: none yet */
	char	   *bytes;
} SkxPlannedIndex;

/*
 * How many paths have their pages in an array.  Those after them are in a hash
 * table, which takes longer to make than most statements to plan.
 */
#define SKX_PLANNED_PATHS_MAX	8

/* Pages that a path reads, by its last estimate. */
typedef struct SkxPlannedPages
{
	const IndexPath *path;		/* the key */
	double		first;
	double		all;
} SkxPlannedPages;

/*
 * How many scans are kept.  Few suffice, since the planner makes the paths of
 * one index with equal conditions one after the other.
 */
#define SKX_PLANNED_SCANS_MAX	8

typedef struct SkxPlannedScan
{
	const IndexOptInfo *index;	/* NULL: none */
	List	   *clauses;		/* index clauses of the path */
	List	   *distances;
	double		rows;
	Selectivity selectivity;
	SkxCostScan scan;
} SkxPlannedScan;

/* How many conditions are kept, the same way. */
#define SKX_PLANNED_MATCHES_MAX	16

typedef struct SkxPlannedMatch
{
	const IndexOptInfo *index;	/* NULL: none */
	const RestrictInfo *condition;
	int			column;
} SkxPlannedMatch;

typedef struct SkxPlannedStatement
{
	const PlannerGlobal *glob;
	MemoryContext context;
	HTAB	   *values;			/* SkxPlannedValues */
	SkxPlannedIndex first_index;	/* of InvalidOid: none */
	HTAB	   *indexes;		/* SkxPlannedIndex, but for the first one */
	SkxPlannedIndex *last_index;	/* the one asked for last; NULL: none */
	SkxPlannedPages first_pages[SKX_PLANNED_PATHS_MAX];
	int			npages;			/* how many of these are set */
	HTAB	   *pages;			/* SkxPlannedPages, of the others */
	SkxPlannedScan scans[SKX_PLANNED_SCANS_MAX];	/* the oldest at `next` */
	int			next;
	SkxPlannedMatch matches[SKX_PLANNED_MATCHES_MAX];	/* the oldest at
														 * `next_match` */
	int			next_match;
	MemoryContextCallback end;
} SkxPlannedStatement;

static SkxPlannedStatement *skx_cost_planning_last;

static void
skx_cost_planned_end(void *arg)
{
	if (skx_cost_planning_last == arg)
		skx_cost_planning_last = NULL;
}

/*
 * Returns the facts kept for the statement that is being planned.  There are
 * none yet if another statement was planned since they were kept.
 */
static SkxPlannedStatement *
skx_cost_planned_statement(const PlannerInfo *root)
{
	SkxPlannedStatement *planning = skx_cost_planning_last;

	if (planning != NULL && planning->glob == root->glob)
		return planning;
	planning = MemoryContextAllocZero(root->planner_cxt,
									  sizeof(SkxPlannedStatement));
	planning->glob = root->glob;
	planning->context = root->planner_cxt;
	planning->end.func = skx_cost_planned_end;
	planning->end.arg = planning;
	MemoryContextRegisterResetCallback(planning->context, &planning->end);
	skx_cost_planning_last = planning;
	return planning;
}

/*
 * Opens a level of settings, as a function with a SET clause does.  An error
 * ends it with its transaction or subtransaction.  Settings that evaluated
 * functions make for the session stay.
 */
int
skx_cost_silence_begin(void)
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
skx_cost_silence_end(int level)
{
	if (level > 0)
		AtEOXact_GUC(true, level);
}

static Node *
skx_cost_estimated_value(PlannerInfo *root, Node *expr)
{
	int			level = skx_cost_silence_begin();
	Node	   *value = estimate_expression_value(root, expr);

	skx_cost_silence_end(level);
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

/*
 * Adds a node and those below it to a hash, which is the same for equal
 * expressions.
 */
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

/*
 * Returns the entry of a key in a hash table.  Makes the table and the entry
 * if there is none; *found is false for a new entry, which is not filled in.
 */
static void *
skx_cost_planned_entry(SkxPlannedStatement *planning, HTAB **table,
					   const void *key, Size keysize, Size entrysize,
					   bool *found)
{
	if (*table == NULL)
	{
		HASHCTL		ctl = {
			.keysize = keysize,
			.entrysize = entrysize,
			.hcxt = planning->context
		};

		*table = hash_create("skipidx planned", 64, &ctl,
							 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	return hash_search(*table, key, HASH_ENTER, found);
}

/* Returns the values of all expressions with a hash. */
static SkxPlannedValues *
skx_cost_planned_values(SkxPlannedStatement *planning, uint32 hash)
{
	SkxPlannedValues *values;
	bool		found;

	values = skx_cost_planned_entry(planning, &planning->values, &hash,
									sizeof(hash), sizeof(SkxPlannedValues),
									&found);
	if (!found)
		values->values = NIL;
	return values;
}

Const *
skx_cost_planned_value(PlannerInfo *root, Node *expr)
{
	uint32		hash = 0;
	SkxPlannedValues *values;
	SkxPlannedStatement *planning;
	SkxPlannedConst *known;
	MemoryContext old;
	Node	   *value;
	ListCell   *lc;

	if (IsA(expr, Const))
		return (Const *) expr;
	(void) skx_cost_hash_walker(expr, &hash);
	values = skx_cost_planned_values(skx_cost_planned_statement(root), hash);
	foreach(lc, values->values)
	{
		known = lfirst(lc);
		if (equal(known->expr, expr))
			return known->value;
	}
	value = skx_cost_estimated_value(root, expr);
	/* The evaluation may have planned other statements. */
	planning = skx_cost_planned_statement(root);
	values = skx_cost_planned_values(planning, hash);
	old = MemoryContextSwitchTo(planning->context);
	known = palloc0(sizeof(SkxPlannedConst));
	known->expr = copyObject(expr);
	if (IsA(value, Const))
		known->value = (Const *) copyObject(value);
	values->values = lappend(values->values, known);
	MemoryContextSwitchTo(old);
	return known->value;
}

/*
 * Returns the entry of an index.  In a new one sizes.view is NULL, and nothing
 * else is filled in.
 */
static SkxPlannedIndex *
skx_cost_planned_index_entry(SkxPlannedStatement *planning, Oid index)
{
	SkxPlannedIndex *known = planning->last_index;
	bool		found;

	if (known != NULL && known->index == index)
		return known;
	known = &planning->first_index;
	if (OidIsValid(known->index) && known->index != index)
	{
		known = skx_cost_planned_entry(planning, &planning->indexes, &index,
									   sizeof(index), sizeof(SkxPlannedIndex),
									   &found);
		if (!found)
			known->sizes.view = NULL;
	}
	planning->last_index = known;
	return known;
}

/*
 * Returns the facts about an index that are kept for this statement.  If there
 * are none, or the index has got another file, reads its sizes.
 */
static SkxPlannedIndex *
skx_cost_planned_index(PlannerInfo *root, Relation index)
{
	SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	Oid			oid = RelationGetRelid(index);
	SkxPlannedIndex *known = skx_cost_planned_index_entry(planning, oid);
	MemoryContext old;
	uint64	   *last;

	if (known->sizes.view != NULL &&
		SKX_LOCATOR_EQUALS(known->locator, SKX_REL_LOCATOR(index)))
		return known;
	memset(known, 0, sizeof(SkxPlannedIndex));
	known->index = oid;
	known->length = -1;
	known->locator = SKX_REL_LOCATOR(index);
	old = MemoryContextSwitchTo(planning->context);
	known->sizes.view = skx_manifest_view(index);
	last = palloc(sizeof(uint64) * (known->sizes.view->nstripes + 1));
	skx_pending_totals(index, known->sizes.view, &known->sizes.pending, last);
	skx_pending_bind_view(known->sizes.view, last);
	pfree(last);
	MemoryContextSwitchTo(old);
	return known;
}

static void
skx_cost_planned_free_view(SkxPlannedIndex *known)
{
	if (known->sizes.view != NULL)
		skx_manifest_view_free(known->sizes.view);
	known->sizes.view = NULL;
}

void
skx_cost_planned_close(PlannerInfo *root)
{
	SkxPlannedStatement *planning = skx_cost_planning_last;
	HASH_SEQ_STATUS all;
	SkxPlannedIndex *known;

	if (planning == NULL || planning->glob != root->glob)
		return;
	skx_cost_planned_free_view(&planning->first_index);
	if (planning->indexes == NULL)
		return;
	hash_seq_init(&all, planning->indexes);
	while ((known = hash_seq_search(&all)) != NULL)
		skx_cost_planned_free_view(known);
}

void
skx_cost_planned_keep_length(PlannerInfo *root, Relation index, double length)
{
	skx_cost_planned_index(root, index)->length = length;
}

double
skx_cost_planned_length(const PlannerInfo *root, Oid index)
{
	const SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	const SkxPlannedIndex *known = &planning->first_index;

	if (known->index != index)
		known = planning->indexes == NULL ? NULL :
			hash_search(planning->indexes, &index, HASH_FIND, NULL);
	return known == NULL ? -1 : known->length;
}

const SkxIndexSizes *
skx_cost_planned_sizes(PlannerInfo *root, Relation index)
{
	return &skx_cost_planned_index(root, index)->sizes;
}

bool
skx_cost_planned_terms(PlannerInfo *root, Relation index,
					   const SkxLexeme *lexemes, int n, SkxTerm *terms)
{
	const SkxPlannedIndex *known = skx_cost_planned_index(root, index);
	int			i;

	for (i = 0; i < n; i++)
	{
		const SkxLexeme *found = bsearch(&lexemes[i], known->lexemes,
										 known->nterms, sizeof(SkxLexeme),
										 skx_column_compare_lexeme);

		if (found == NULL)
			return false;
		terms[i] = known->terms[found - known->lexemes];
	}
	return true;
}

void
skx_cost_planned_keep_terms(PlannerInfo *root, Relation index,
							const SkxLexeme *lexemes, int n,
							const SkxTerm *terms)
{
	SkxPlannedIndex *known = skx_cost_planned_index(root, index);
	Size		bytes = 0;
	int			i;

	for (i = 0; i < n && i < SKX_PLANNED_TERMS_MAX; i++)
		bytes += lexemes[i].len;
	if (n > SKX_PLANNED_TERMS_MAX || bytes > SKX_PLANNED_BYTES_MAX)
		return;
	if (known->terms == NULL)
	{
		MemoryContext context = skx_cost_planned_statement(root)->context;

		known->terms = MemoryContextAlloc(context, sizeof(SkxTerm) *
										  SKX_PLANNED_TERMS_MAX);
		known->bytes = MemoryContextAlloc(context, SKX_PLANNED_BYTES_MAX);
	}
	bytes = 0;
	for (i = 0; i < n; i++)
	{
		known->lexemes[i].bytes = memcpy(known->bytes + bytes,
										 lexemes[i].bytes, lexemes[i].len);
		known->lexemes[i].len = lexemes[i].len;
		bytes += lexemes[i].len;
	}
	memcpy(known->terms, terms, sizeof(SkxTerm) * n);
	known->nterms = n;
}

/*
 * Returns the pages of a path.  If none are kept, makes an entry where `make`,
 * else returns NULL.
 */
static SkxPlannedPages *
skx_cost_planned_pages_entry(SkxPlannedStatement *planning,
							 const IndexPath *path, bool make)
{
	SkxPlannedPages *pages;
	bool		found;
	int			i;

	for (i = 0; i < planning->npages; i++)
	{
		if (planning->first_pages[i].path == path)
			return &planning->first_pages[i];
	}
	if (make && planning->npages < SKX_PLANNED_PATHS_MAX)
	{
		pages = &planning->first_pages[planning->npages++];
		pages->path = path;
		return pages;
	}
	if (make)
		return skx_cost_planned_entry(planning, &planning->pages, &path,
									  sizeof(path), sizeof(SkxPlannedPages),
									  &found);
	return planning->pages == NULL ? NULL :
		hash_search(planning->pages, &path, HASH_FIND, NULL);
}

void
skx_cost_planned_keep_pages(PlannerInfo *root, const IndexPath *path,
							const SkxCostEstimate *estimate)
{
	SkxPlannedPages *pages =
		skx_cost_planned_pages_entry(skx_cost_planned_statement(root), path,
									 true);

	pages->first = estimate->first;
	pages->all = estimate->pages;
}

double
skx_cost_planned_pages(PlannerInfo *root, const IndexPath *path, bool first)
{
	const SkxPlannedPages *pages =
		skx_cost_planned_pages_entry(skx_cost_planned_statement(root), path,
									 false);

	if (pages == NULL)
		return 0;
	return first ? pages->first : pages->all;
}

/*
 * Returns true if two lists of quals are equal.  The server and the extension
 * may make the quals of one condition twice, so pointers are not enough.
 */
static bool
skx_cost_same_quals(const List *a, const List *b)
{
	ListCell   *one;
	ListCell   *other;

	if (list_length(a) != list_length(b))
		return false;
	forboth(one, a, other, b)
	{
		if (lfirst(one) != lfirst(other) &&
			!equal(lfirst_node(RestrictInfo, one)->clause,
				   lfirst_node(RestrictInfo, other)->clause))
			return false;
	}
	return true;
}

static bool
skx_cost_same_clauses(const List *a, const List *b)
{
	ListCell   *one;
	ListCell   *other;

	if (list_length(a) != list_length(b))
		return false;
	forboth(one, a, other, b)
	{
		const IndexClause *x = lfirst_node(IndexClause, one);
		const IndexClause *y = lfirst_node(IndexClause, other);

		if (x != y &&
			(x->rinfo != y->rinfo || x->indexcol != y->indexcol ||
			 x->lossy != y->lossy ||
			 !skx_cost_same_quals(x->indexquals, y->indexquals)))
			return false;
	}
	return true;
}

const SkxCostScan *
skx_cost_planned_scan(PlannerInfo *root, const IndexPath *path,
					  Selectivity selectivity)
{
	const SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	int			i;

	for (i = 0; i < SKX_PLANNED_SCANS_MAX; i++)
	{
		const SkxPlannedScan *known = &planning->scans[i];

		if (known->index == path->indexinfo &&
			(known->selectivity < 0 || known->selectivity == selectivity) &&
			(known->selectivity < 0 || known->rows == path->path.rows) &&
			skx_cost_same_clauses(known->clauses, path->indexclauses) &&
			equal(known->distances, path->indexorderbys))
			return &known->scan;
	}
	return NULL;
}

void
skx_cost_planned_keep_scan(PlannerInfo *root, const IndexPath *path,
						   Selectivity selectivity, const SkxCostScan *scan)
{
	SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	SkxPlannedScan *known = &planning->scans[planning->next];

	planning->next = (planning->next + 1) % SKX_PLANNED_SCANS_MAX;
	known->index = path->indexinfo;
	known->clauses = path->indexclauses;
	known->distances = path->indexorderbys;
	known->rows = path->path.rows;
	known->selectivity = selectivity;
	known->scan = *scan;
}

bool
skx_cost_planned_match(const PlannerInfo *root, const IndexOptInfo *index,
					   const RestrictInfo *condition, int *column)
{
	const SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	int			i;

	for (i = 0; i < SKX_PLANNED_MATCHES_MAX; i++)
	{
		const SkxPlannedMatch *known = &planning->matches[i];

		if (known->condition == condition && known->index == index)
		{
			*column = known->column;
			return true;
		}
	}
	return false;
}

void
skx_cost_planned_keep_match(const PlannerInfo *root,
							const IndexOptInfo *index,
							const RestrictInfo *condition, int column)
{
	SkxPlannedStatement *planning = skx_cost_planned_statement(root);
	SkxPlannedMatch *known = &planning->matches[planning->next_match];

	planning->next_match = (planning->next_match + 1) % SKX_PLANNED_MATCHES_MAX;
	known->index = index;
	known->condition = condition;
	known->column = column;
}
