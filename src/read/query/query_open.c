/*
 * query_open.c
 *	  Opens a compiled query on one segment: expands prefixes, folds clauses
 *	  that match nothing or everything, and orders conjunctions by cost.
 *
 * All lexemes have been looked up before, and where all lists begin has been
 * prefetched.  So what one clause needs is read together with what the others
 * need.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "miscadmin.h"
#include "read/query/query_places.h"
#include "utils/memutils.h"

/*
 * A range reads the lists of its values, not the keys, if there are at most
 * SKX_RANGE_VALUES_MAX and probably less than this share of all documents are
 * in the range.
 */
#define SKX_RANGE_VALUES_MAX	256
#define SKX_RANGE_RARE_FRACTION		.02

/*
 * How many keys can be tested, or postings read, in the time that something
 * else takes.  Reading the list of a value, which mostly stands in the
 * dictionary, takes 15 ns.  That is the time of SKX_NARROW_KEYS_PER_LIST
 * narrow keys (.6 ns each with AVX2), of SKX_WIDE_KEYS_PER_LIST other keys, or
 * of SKX_POSTINGS_PER_LIST postings.  Reading a posting and testing its
 * document takes the time of SKX_KEYS_PER_POSTING keys.
 */
#define SKX_NARROW_KEYS_PER_LIST	25
#define SKX_WIDE_KEYS_PER_LIST		10
#define SKX_KEYS_PER_POSTING		8
#define SKX_POSTINGS_PER_LIST		6

/*
 * A rest filters documents until enough of them have passed; ten are assumed.
 * Testing the keys of as many documents as that takes is less work than the
 * lists of very many values.  The limit is SKX_FILTER_VALUES_MAX values, times
 * the number of documents of the segment for one in the range.
 */
#define SKX_FILTER_VALUES_MAX		13

static SkxIter *skx_query_open_node(const SkxOpening *o,
									const SkxQueryNode *node);

static SkxIter *
skx_query_new_iter(SkxSegment *seg, SkxNodeKind kind, uint32 cost)
{
	SkxIter    *it = palloc0(sizeof(SkxIter));

	it->seg = seg;
	it->kind = kind;
	it->max_docs = cost;
	it->npostings = cost;
	it->reads_no_positions = kind != SKX_NODE_PHRASE;
	return it;
}

static SkxIter *
skx_query_open_none(SkxSegment *seg)
{
	return skx_query_new_iter(seg, SKX_NODE_NONE, 0);
}

static SkxIter *
skx_query_open_all(SkxSegment *seg)
{
	return skx_query_new_iter(seg, SKX_NODE_ALL, seg->header.ndocs);
}

void
skx_query_close(SkxIter *it)
{
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < it->nchildren; i++)
		skx_query_close(it->children[i]);
	if (it->list != NULL)
		skx_cursor_close(it->list);
	if (it->phrase != NULL)
		skx_query_phrase_close(it->phrase);
	if (it->bitmap != NULL)
		skx_query_bitmap_close(it->bitmap);
	if (it->keys != NULL)
		skx_segment_keys_close(it->keys);
	if (it->unverified != NULL)
		pfree(it->unverified);
	if (it->scratch != NULL)
		pfree(it->scratch);
	if (it->ends != NULL)
		pfree(it->ends);
	if (it->children != NULL)
		pfree(it->children);
	pfree(it);
}

/*
 * As in the server, a lexeme stored without positions matches whatever labels
 * are asked for.  All positions have the label D unless the flags of the term
 * say otherwise.
 */
bool
skx_query_has_term(const SkxTerm *term, uint8 labels)
{
	return term->df > 0 &&
		(labels == 0 || (labels & (1 << SKX_LABEL_D)) != 0 ||
		 (term->flags & (SKX_TERM_LABELS | SKX_TERM_NO_POSITIONS)) != 0);
}

SkxIter *
skx_query_open_term(SkxSegment *seg, const SkxTerm *term, uint8 labels,
					SkxCursorRole role)
{
	SkxIter    *it;

	if (!skx_query_has_term(term, labels))
		return skx_query_open_none(seg);
	it = skx_query_new_iter(seg, SKX_NODE_TERM, term->df);
	it->list = skx_cursor_open(seg, term, role);
	skx_cursor_want_labels(it->list, labels);
	return it;
}

static SkxIter *
skx_query_open_bitmap(SkxSegment *seg, SkxBitmap *range, uint64 cost)
{
	SkxIter    *it = skx_query_new_iter(seg, SKX_NODE_BITMAP,
										Min(cost, seg->header.ndocs));

	it->bitmap = range;
	return it;
}

/* The terms of a prefix.  If they are too many, they go into a bitmap. */
typedef struct SkxExpansion
{
	const SkxOpening *opening;
	const SkxQueryNode *prefix;
	SkxBitmap **range;
	uint64		cost;
	SkxBitmapWalk walk;
} SkxExpansion;

static bool
skx_query_expand_term(const SkxTerm *term, const char *lexeme, int len,
					  void *arg)
{
	SkxExpansion *e = arg;
	SkxBitmapWalk *walk = &e->walk;

	e->cost += term->df;
	if (walk->bitmap == NULL && walk->n == SKX_PREFIX_TERMS)
		skx_query_walk_begin(walk, e->opening, e->range, e->prefix);
	if (walk->bitmap != NULL)
		skx_query_walk_add(walk, term);
	else
		walk->terms[walk->n++] = *term;
	return true;
}

void
skx_query_visit_terms(SkxSegment *seg, const SkxQueryNode *node,
					  SkxTermBits *bits, SkxTermVisit visit, void *arg)
{
	SkxLexeme	from = {node->lexeme, node->len};

	if (node->to != NULL)
		skx_segment_visit_range(seg, &from, node->to, true, bits, visit, arg);
	else
		skx_segment_visit_prefix(seg, node->lexeme, node->len, true, bits,
								 visit, arg);
}

/*
 * Opens a prefix.  A prefix of many terms is put into *range, and the result
 * is NULL.  Sets *cost to an upper bound of its number of postings.
 */
static SkxIter *
skx_query_expand_prefix(const SkxOpening *o, const SkxQueryNode *node,
						SkxBitmap **range, uint64 *cost)
{
	SkxSegment *seg = o->seg;
	SkxExpansion e;
	SkxIter    *it;
	int			i;

	e.opening = o;
	e.prefix = node;
	e.range = range;
	e.cost = 0;
	e.walk.bitmap = NULL;
	e.walk.labels = node->labels;
	e.walk.n = 0;
	memset(&e.walk.bits, 0, sizeof(e.walk.bits));
	if (*o->nopened > SKX_PREFIX_LISTS)
		skx_query_walk_begin(&e.walk, o, range, node);
	skx_query_visit_terms(seg, node, &e.walk.bits, skx_query_expand_term, &e);
	*cost = e.cost + e.walk.bits.nput;
	if (e.walk.bitmap != NULL)
	{
		skx_query_walk_end(&e.walk);
		return NULL;
	}
	*o->nopened += e.walk.n;
	it = skx_query_new_iter(seg, SKX_NODE_OR, Min(e.cost, seg->header.ndocs));
	skx_cursor_prefetch_terms(seg, e.walk.terms, e.walk.n);
	it->children = palloc(sizeof(SkxIter *) * Max(e.walk.n, 1));
	for (i = 0; i < e.walk.n; i++)
		it->children[it->nchildren++] =
			skx_query_open_term(seg, &e.walk.terms[i], node->labels,
								SKX_CURSOR_PROBE);
	return it;
}

static SkxIter *
skx_query_open_prefix(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxBitmap  *range = NULL;
	uint64		cost;
	SkxIter    *it = skx_query_expand_prefix(o, node, &range, &cost);

	if (it != NULL)
		return it;
	if (cost > 0)
		return skx_query_open_bitmap(o->seg, range, cost);
	skx_query_bitmap_close(range);
	return skx_query_open_none(o->seg);
}

/*
 * The two ends of a range of coarse keys.  Keys do not tell which documents
 * with the first or the last key have values in the range.
 */
typedef struct SkxRangeEnds
{
	SkxQueryNode low_node;		/* values in the range with the first key */
	SkxQueryNode high_node;
	SkxLexeme	low_to;
	char		bytes[2][SKX_VALUE_HEAD_BYTES + SKX_KEY_FORM_BYTES_MAX];
} SkxRangeEnds;

/* Returns the least value that may have the key, as a lexeme in `bytes`. */
static SkxLexeme
skx_query_key_lexeme(const SkxKeyColumn *column, uint64 key, char *bytes)
{
	SkxLexeme	lexeme = {bytes, SKX_VALUE_HEAD_BYTES};

	bytes[0] = '\0';
	bytes[1] = (char) (column->column + 1);
	bytes[2] = SKX_VALUE_PRESENT;
	lexeme.len += skx_column_key_form(column, key,
									  bytes + SKX_VALUE_HEAD_BYTES);
	return lexeme;
}

/*
 * Makes both ends of a range.  If the range has one key, `low_node` is the
 * whole range, and `high_node` is not set.
 */
static SkxRangeEnds *
skx_query_range_ends(const SkxQueryNode *node, const SkxKeyColumn *column,
					 const SkxKeyRange *range)
{
	SkxRangeEnds *ends = palloc(sizeof(SkxRangeEnds));
	SkxLexeme	high;

	ends->low_node = *node;
	if (range->least == range->most)
		return ends;
	ends->low_to = skx_query_key_lexeme(column, range->least + 1,
										ends->bytes[0]);
	ends->low_node.to = &ends->low_to;
	high = skx_query_key_lexeme(column, range->most, ends->bytes[1]);
	ends->high_node = *node;
	ends->high_node.lexeme = high.bytes;
	ends->high_node.len = high.len;
	return ends;
}

/*
 * Opens an iterator of the documents whose keys are in the range, of which the
 * segment has some.
 */
static SkxIter *
skx_query_open_keys(const SkxOpening *o, const SkxQueryNode *node,
					SkxKeyReader *keys, const SkxKeyRange *range)
{
	double		docs = skx_segment_keys_fraction(keys, range) *
		o->seg->header.ndocs;
	SkxIter    *it = skx_query_new_iter(o->seg, SKX_NODE_KEYS, docs);

	it->keys = keys;
	it->key_range = *range;
	it->node = node;
	it->keys_to_test = skx_segment_keys_to_test(keys, range);
	it->npostings = Max(it->max_docs,
						Min(it->keys_to_test / SKX_KEYS_PER_POSTING,
							(uint64) it->max_docs * SKX_POSTINGS_PER_LIST));
	return it;
}

/*
 * The largest number of children of a range of coarse keys: the values at
 * either end, and the keys between them.
 */
#define SKX_RANGE_CHILDREN_MAX		3

static void
skx_query_add_range_child(SkxIter *it, SkxIter *part)
{
	it->children[it->nchildren++] = part;
	it->max_docs = Min((uint64) it->max_docs + part->max_docs,
					   it->seg->header.ndocs);
	it->npostings = Min((uint64) it->npostings + part->npostings,
						PG_UINT32_MAX);
}

/* Adds the documents that have values at the ends of the range. */
static void
skx_query_add_range_ends(const SkxOpening *o, SkxIter *it,
						 const SkxKeyRange *range)
{
	const SkxQueryNode *ends[] = {&it->ends->low_node, &it->ends->high_node};
	int			n = range->least == range->most ? 1 : 2;
	SkxBitmap  *many = NULL;
	uint64		all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint64		cost;
		SkxIter    *part = skx_query_expand_prefix(o, ends[i], &many, &cost);

		if (part != NULL)
			skx_query_add_range_child(it, part);
		else
			all += cost;
	}
	if (many != NULL)
		skx_query_add_range_child(it,
								  skx_query_open_bitmap(o->seg, many, all));
}

/*
 * Opens a range of a column with coarse keys.  It reads the keys between its
 * first and its last key, and the lists of the values at either end.  If there
 * are few values, it reads the lists of all of them.
 */
static SkxIter *
skx_query_open_coarse(const SkxOpening *o, const SkxQueryNode *node,
					  SkxKeyReader *keys, const SkxKeyRange *range)
{
	SkxKeyRange inside = {range->least + 1, range->most - 1};
	SkxLexeme	from = {node->lexeme, node->len};
	SkxIter    *it;

	if (skx_segment_count_range(o->seg, &from,
								node->to) <= SKX_RANGE_VALUES_MAX)
	{
		skx_segment_keys_close(keys);
		return skx_query_open_prefix(o, node);
	}
	it = skx_query_new_iter(o->seg, SKX_NODE_OR, 0);
	it->bitmap_docs = o->bitmap_docs;
	it->children = palloc(sizeof(SkxIter *) * SKX_RANGE_CHILDREN_MAX);
	it->ends = skx_query_range_ends(node, skx_segment_keys_column(keys), range);
	skx_query_add_range_ends(o, it, range);
	if (range->most - range->least >= 2 &&
		skx_segment_keys_fraction(keys, &inside) > 0)
		skx_query_add_range_child(it,
								  skx_query_open_keys(o, node, keys, &inside));
	else
		skx_segment_keys_close(keys);
	return it;
}

/*
 * Opens a range of values.  It reads the keys of documents if the segment has
 * these, else lists.
 */
static SkxIter *
skx_query_open_range(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxLexeme	from = {node->lexeme, node->len};
	SkxKeyReader *keys = skx_segment_keys_open(o->seg,
											   (uint8) node->lexeme[1] - 1);
	SkxKeyRange range;

	if (keys == NULL)
		return skx_query_open_prefix(o, node);
	if (!skx_column_key_bounds(skx_segment_keys_column(keys), &from, node->to,
							   &range.least, &range.most) ||
		skx_segment_keys_fraction(keys, &range) == 0)
	{
		skx_segment_keys_close(keys);
		return skx_query_open_none(o->seg);
	}
	if (skx_column_key_is_coarse(skx_segment_keys_column(keys)))
		return skx_query_open_coarse(o, node, keys, &range);
	return skx_query_open_keys(o, node, keys, &range);
}

/*
 * Replaces an iterator that generates by keys by one of the lists of its
 * values, if these take less time.  If the whole answer may not be needed,
 * they must take less than half of it, as the lists are gone through before
 * the first document.  A rest filters documents until enough of them have
 * passed.
 */
static SkxIter *
skx_query_replace_keys(const SkxOpening *o, SkxIter *it)
{
	const SkxQueryNode *node = it->node;
	SkxLexeme	from;
	int64		values;

	if (it->kind != SKX_NODE_KEYS)
		return it;
	values = ((int64) it->keys_to_test - it->max_docs / 2) /
		(skx_segment_keys_are_narrow(it->keys) ? SKX_NARROW_KEYS_PER_LIST :
		 SKX_WIDE_KEYS_PER_LIST);
	if (!o->wants_all)
		values /= 2;
	if (it->max_docs < o->seg->header.ndocs * SKX_RANGE_RARE_FRACTION)
		values = Max(values, SKX_RANGE_VALUES_MAX);
	if (o->is_filter)
		values = Min(values, (int64) (SKX_FILTER_VALUES_MAX *
									  o->seg->header.ndocs / Max(it->max_docs,
																 1)));
	if (values <= 0)
		return it;
	if (o->may_use_values != NULL)
	{
		*o->may_use_values = true;
		return it;
	}
	from.bytes = node->lexeme;
	from.len = node->len;
	if (skx_segment_count_range(o->seg, &from, node->to) > values)
		return it;
	skx_query_close(it);
	return skx_query_open_prefix(o, node);
}

/*
 * Joins many negations of a conjunction into the negation of one disjunction,
 * which can be gathered.
 */
static void
skx_query_join_negations(const SkxOpening *o, SkxIter *it)
{
	SkxIter   **negations = it->children + it->npositive;
	int			most = it->nchildren - it->npositive;
	int			n = 0;
	SkxIter    *any;
	uint64		cost = 0;
	uint64		steps = 0;
	int			i;

	while (n < most && negations[n]->reads_no_positions)
		n++;
	if (n <= SKX_GATHER_CLAUSES)
		return;
	any = skx_query_new_iter(it->seg, SKX_NODE_OR, 0);
	any->bitmap_docs = o->bitmap_docs;
	any->max_tests = o->gather_clauses;
	any->children = palloc(sizeof(SkxIter *) * n);
	for (i = 0; i < n; i++)
	{
		any->children[any->nchildren++] = negations[i]->children[0];
		cost += negations[i]->children[0]->max_docs;
		steps += negations[i]->children[0]->npostings;
		negations[i]->nchildren = 0;
		if (i > 0)
			skx_query_close(negations[i]);
	}
	any->max_docs = Min(cost, it->seg->header.ndocs);
	any->npostings = Min(steps, PG_UINT32_MAX);
	negations[0]->children[0] = any;
	negations[0]->nchildren = 1;
	negations[0]->max_docs = it->seg->header.ndocs - any->max_docs;
	memmove(negations + 1, negations + n, sizeof(SkxIter *) * (most - n));
	it->nchildren -= n - 1;
}

/*
 * Returns true if a clause of the conjunction is a lexeme that the segment
 * lacks, or lacks with its labels.
 */
static bool
skx_query_lacks_clause(const SkxOpening *o, const SkxQueryNode *node)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		if (child->kind == SKX_NODE_TERM && !child->prefix &&
			!skx_query_has_term(&o->terms[child->slot], child->labels))
			return true;
	}
	return false;
}

/*
 * Returns true if the clause is one of too many that are not opened at the
 * same time.
 */
static inline bool
skx_query_is_gathered_clause(const SkxOpening *o, const SkxQueryNode *node,
							 const SkxQueryNode *clause)
{
	return node->nchildren > o->most_clauses &&
		(clause->kind != SKX_NODE_TERM || !clause->prefix);
}

/* Puts the lexemes that are not opened at the same time into *range. */
static void
skx_query_gather_lexemes_once(const SkxOpening *o, const SkxQueryNode *node,
							  SkxBitmap **range)
{
	int			n = 0;
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *clause = node->children[i];
		const SkxTerm *term;

		if (clause->kind != SKX_NODE_TERM ||
			!skx_query_is_gathered_clause(o, node, clause))
			continue;
		term = &o->terms[clause->slot];
		if (!skx_query_has_term(term, clause->labels))
			continue;
		if (n++ == 0)
			skx_query_bitmap_reserve(o, range, node->nchildren);
		skx_query_bitmap_add_term(*range, term, clause->labels);
	}
}

/* Returns true if the node has phrases below it. */
static bool
skx_query_reads_positions(const SkxQueryNode *node)
{
	int			i;

	check_stack_depth();
	if (node->kind == SKX_NODE_PHRASE)
		return true;
	for (i = 0; i < node->nchildren; i++)
		if (skx_query_reads_positions(node->children[i]))
			return true;
	return false;
}

/* Says which clauses that are no lexemes take turns together. */
typedef enum SkxSequenceClauses
{
	SKX_SEQUENCE_ANY,			/* all clauses, of a disjunction */
	SKX_SEQUENCE_ALL,			/* of a conjunction, all clauses but for those
								 * of SKX_SEQUENCE_NONE */
	SKX_SEQUENCE_NONE			/* of a conjunction, what negations without
								 * phrases negate */
} SkxSequenceClauses;

static void
skx_query_add_sequence(SkxSequence **turns, const SkxOpening *o,
					   const SkxQueryNode *node, SkxSequenceClauses which,
					   bool positions)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *clause = node->children[i];
		bool		negates = clause->kind == SKX_NODE_NOT && !positions;

		if (clause->kind == SKX_NODE_TERM ||
			(which != SKX_SEQUENCE_ANY &&
			 (skx_query_reads_positions(clause) != positions ||
			  negates != (which == SKX_SEQUENCE_NONE))))
			continue;
		if (*turns == NULL)
			*turns = skx_query_seq_create(o, node->nchildren);
		skx_query_seq_add(*turns, which == SKX_SEQUENCE_NONE ?
						  clause->children[0] : clause);
	}
}

/*
 * Puts the clauses that are no lexemes, and are not opened at the same time,
 * into *range.  Clauses of a conjunction that read positions come last.
 */
static void
skx_query_open_sequence(const SkxOpening *o, const SkxQueryNode *node,
						SkxSequenceClauses which, SkxBitmap **range)
{
	SkxSequence *turns = NULL;

	if (node->nchildren <= o->most_clauses)
		return;
	skx_query_add_sequence(&turns, o, node, which, false);
	if (which == SKX_SEQUENCE_ALL)
		skx_query_add_sequence(&turns, o, node, which, true);
	if (turns != NULL)
		skx_query_bitmap_add_seq(o, range, turns);
}

static SkxIter *
skx_query_negation(SkxIter *child)
{
	SkxIter    *it = skx_query_new_iter(child->seg, SKX_NODE_NOT,
										child->seg->header.ndocs -
										child->max_docs);

	it->reads_no_positions = child->reads_no_positions;
	it->children = palloc(sizeof(SkxIter *));
	it->children[0] = child;
	it->nchildren = 1;
	return it;
}

/*
 * Opens the clauses of a conjunction that are not opened at the same time, as
 * bitmaps.  Returns false if no document matches all of them.
 */
static bool
skx_query_open_gathered_and(const SkxOpening *o, const SkxQueryNode *node,
							SkxIter *it)
{
	SkxBitmap  *all = NULL;
	SkxBitmap  *none = NULL;
	uint64		cost;

	skx_query_gather_lexemes_once(o, node, &all);
	skx_query_open_sequence(o, node, SKX_SEQUENCE_ALL, &all);
	if (all != NULL)
	{
		cost = skx_query_bitmap_all(all);
		it->children[it->nchildren++] = skx_query_open_bitmap(it->seg, all,
															  cost);
		if (cost == 0)
			return false;
	}
	skx_query_open_sequence(o, node, SKX_SEQUENCE_NONE, &none);
	if (none != NULL)
	{
		cost = skx_query_bitmap_any(none);
		it->children[it->nchildren++] =
			skx_query_negation(skx_query_open_bitmap(it->seg, none, cost));
	}
	return true;
}

/* Frees a conjunction of one clause, and returns that clause. */
static SkxIter *
skx_query_unwrap(SkxIter *it)
{
	SkxIter    *child = it->children[0];

	pfree(it->children);
	pfree(it);
	return child;
}

/*
 * Returns the df of the rarest lexeme of a conjunction, or SKX_NO_DOC if it
 * has no lexeme.
 */
static uint32
skx_query_rarest_df(const SkxOpening *o, const SkxQueryNode *node)
{
	uint32		rarest = SKX_NO_DOC;
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *clause = node->children[i];

		if (clause->kind == SKX_NODE_TERM && !clause->prefix)
			rarest = Min(rarest, o->terms[clause->slot].df);
	}
	return rarest;
}

/*
 * Returns true if a clause of what admits documents to a phrase is left to the
 * phrase.  The phrase goes through the lists of its prefixes itself.  A prefix
 * with more postings than the rarest lexeme has documents would leave hardly
 * fewer documents.  A bitmap of it would go through its lists once more.
 */
static bool
skx_query_leaves_to_phrase(const SkxOpening *o, const SkxQueryNode *clause,
						   uint32 rarest)
{
	uint32		nterms;
	int			i;

	if (!o->admits_phrase || rarest == SKX_NO_DOC)
		return false;
	if (clause->kind == SKX_NODE_TERM)
		return clause->prefix &&
			skx_query_prefix_postings(o->seg, clause->lexeme, clause->len,
									  &nterms) > rarest &&
			nterms > SKX_PREFIX_TERMS;
	if (clause->kind != SKX_NODE_OR)
		return false;
	for (i = 0; i < clause->nchildren; i++)
		if (clause->children[i]->kind == SKX_NODE_TERM &&
			skx_query_leaves_to_phrase(o, clause->children[i], rarest))
			return true;
	return false;
}

static SkxIter *
skx_query_open_and(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	uint32		rarest = o->admits_phrase ? skx_query_rarest_df(o, node) :
		SKX_NO_DOC;
	SkxIter    *it;
	int			i;

	if (skx_query_lacks_clause(o, node))
		return skx_query_open_none(seg);
	it = skx_query_new_iter(seg, SKX_NODE_AND, seg->header.ndocs);
	it->children = palloc_extended(sizeof(SkxIter *) *
								   ((Size) node->nchildren + 2),
								   MCXT_ALLOC_HUGE);
	if (!skx_query_open_gathered_and(o, node, it))
	{
		skx_query_close(it);
		return skx_query_open_none(seg);
	}
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child;

		if (skx_query_is_gathered_clause(o, node, node->children[i]) ||
			skx_query_leaves_to_phrase(o, node->children[i], rarest))
			continue;
		child = skx_query_open_node(o, node->children[i]);

		if (child->kind == SKX_NODE_NONE)
		{
			skx_query_close(child);
			skx_query_close(it);
			return skx_query_open_none(seg);
		}
		if (child->kind == SKX_NODE_ALL)
			skx_query_close(child);
		else
		{
			it->children[it->nchildren++] = child;
			it->reads_no_positions &= child->reads_no_positions;
		}
	}
	skx_query_sort_clauses(it);
	skx_query_join_negations(o, it);
	skx_query_choose_generator(it);
	if (it->npositive > 0)
		it->children[0] = skx_query_replace_keys(o, it->children[0]);
	if (it->nchildren == 1 && it->npositive == 1)
		return skx_query_unwrap(it);
	if (it->nchildren == 0)
	{
		it->kind = SKX_NODE_ALL;
		return it;
	}
	if (it->npositive > 0)
	{
		it->max_docs = it->children[0]->max_docs;
		it->npostings = it->children[0]->npostings;
	}
	skx_query_choose_windows(it);
	return it;
}

/*
 * Adds a child in front of the others, as it tests documents with the least
 * work.
 */
static void
skx_query_add_first(SkxIter *it, SkxIter *child)
{
	it->children[it->nchildren++] = it->children[0];
	it->children[0] = child;
}

/*
 * Opens a clause of a disjunction.  Returns NULL if it was put into *many;
 * *many_cost then grows by an upper bound of its number of documents.
 */
static SkxIter *
skx_query_open_clause(const SkxOpening *o, const SkxQueryNode *clause,
					  SkxBitmap **many, uint64 *many_cost)
{
	uint64		cost;
	SkxIter    *it;

	if (clause->kind != SKX_NODE_TERM || !clause->prefix)
		return skx_query_open_node(o, clause);
	check_stack_depth();
	it = skx_query_expand_prefix(o, clause, many, &cost);
	if (it == NULL)
		*many_cost += cost;
	return it;
}

static SkxIter *
skx_query_open_or(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	SkxIter    *it = skx_query_new_iter(seg, SKX_NODE_OR, 0);
	SkxBitmap  *many = NULL;
	uint64		many_cost = 0;
	uint64		cost = 0;
	uint64		steps = 0;
	int			i;

	it->bitmap_docs = o->bitmap_docs;
	it->max_tests = o->gather_clauses;
	it->children = palloc_extended(sizeof(SkxIter *) *
								   ((Size) node->nchildren + 1),
								   MCXT_ALLOC_HUGE);
	skx_query_gather_lexemes_once(o, node, &many);
	skx_query_open_sequence(o, node, SKX_SEQUENCE_ANY, &many);
	if (many != NULL)
		many_cost = skx_query_bitmap_any(many);
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child;

		if (skx_query_is_gathered_clause(o, node, node->children[i]))
			continue;
		child = skx_query_open_clause(o, node->children[i], &many, &many_cost);
		if (child == NULL)
			continue;
		child = skx_query_replace_keys(o, child);
		if (child->kind == SKX_NODE_ALL)
		{
			if (many != NULL)
				skx_query_bitmap_close(many);
			skx_query_close(it);
			return child;
		}
		cost += child->max_docs;
		steps += child->npostings;
		it->reads_no_positions &= child->reads_no_positions;
		if (child->kind == SKX_NODE_NONE)
			skx_query_close(child);
		else
			it->children[it->nchildren++] = child;
	}
	if (many != NULL)
		skx_query_add_first(it, skx_query_open_bitmap(seg, many, many_cost));
	if (it->nchildren == 0)
		it->kind = SKX_NODE_NONE;
	it->max_docs = Min(cost + many_cost, seg->header.ndocs);
	it->npostings = Min(steps + many_cost, PG_UINT32_MAX);
	return it;
}

static SkxIter *
skx_query_open_not(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	SkxIter    *child = skx_query_open_node(o, node->children[0]);

	if (child->kind == SKX_NODE_NONE || child->kind == SKX_NODE_ALL)
	{
		bool		all = child->kind == SKX_NODE_NONE;

		skx_query_close(child);
		return all ? skx_query_open_all(seg) : skx_query_open_none(seg);
	}
	return skx_query_negation(child);
}

static SkxIter *
skx_query_open_phrase(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxOpening	admits = *o;
	SkxIter    *admit;
	SkxIter    *it;

	admits.admits_phrase = true;
	admit = skx_query_open_node(&admits, node->children[0]);
	if (admit->kind == SKX_NODE_NONE)
		return admit;
	it = skx_query_new_iter(o->seg, SKX_NODE_PHRASE, admit->max_docs);
	it->npostings = admit->npostings;
	it->children = palloc(sizeof(SkxIter *));
	it->children[0] = admit;
	it->nchildren = 1;
	it->phrase = skx_query_phrase_open(o, node);
	return it;
}

static SkxIter *
skx_query_open_node(const SkxOpening *o, const SkxQueryNode *node)
{
	const SkxTerm *term;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->kind)
	{
		case SKX_NODE_ALL:
			return skx_query_open_all(o->seg);
		case SKX_NODE_TERM:
			if (node->to != NULL)
				return skx_query_open_range(o, node);
			if (node->prefix)
				return skx_query_open_prefix(o, node);
			term = &o->terms[node->slot];
			return skx_query_open_term(o->seg, term, node->labels,
									   SKX_CURSOR_PROBE);
		case SKX_NODE_AND:
			return skx_query_open_and(o, node);
		case SKX_NODE_OR:
			return skx_query_open_or(o, node);
		case SKX_NODE_NOT:
			return skx_query_open_not(o, node);
		case SKX_NODE_PHRASE:
			return skx_query_open_phrase(o, node);
		default:
			return skx_query_open_none(o->seg);
	}
}

/*
 * Gives the lists their roles.  The lists of what generates (`leads`) are
 * traversed.  The others are probed for at most `candidates` documents.
 */
static void
skx_query_set_roles(SkxIter *it, SkxCursorRole role, bool leads,
					uint32 candidates, SkxCursorBudget *share)
{
	int			before = share->nleads;
	bool		windows;
	int			i;

	check_stack_depth();
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			if (leads)
				skx_cursor_set_lead(it->list, role, share);
			else
				skx_cursor_set_probe(it->list, candidates);
			break;
		case SKX_NODE_AND:
			windows = it->uses_windows;
			for (i = 0; i < it->nchildren; i++)
				skx_query_set_roles(it->children[i], role, leads &&
									(windows ?
									 it->children[i]->reads_no_positions : i ==
									 0),
									Min(candidates, it->max_docs), share);
			break;
		case SKX_NODE_OR:
			for (i = 0; i < it->nchildren; i++)
				skx_query_set_roles(it->children[i], role, leads, candidates,
									share);
			if (it->nchildren > SKX_GATHER_CLAUSES)
				share->nleads = Min(share->nleads, before + 1);
			break;
		case SKX_NODE_NOT:
		case SKX_NODE_PHRASE:
			skx_query_set_roles(it->children[0], role, leads, candidates,
								share);
			break;
		default:
			break;
	}
}

SkxIter *
skx_query_open_one(const SkxOpening *o, const SkxQueryNode *node,
				   bool generates, uint32 candidates)
{
	SkxIter    *it = skx_query_open_node(o, node);

	if (generates)
	{
		it = skx_query_replace_keys(o, it);
		candidates = it->max_docs;
	}
	it->budget.reads_positions = !it->reads_no_positions;
	skx_query_set_roles(it,
						o->wants_all ? SKX_CURSOR_LEAD : SKX_CURSOR_LEAD_FIRST,
						generates, candidates, &it->budget);
	return it;
}

static SkxIter *
skx_query_open_root(SkxOpening *o, bool generates, uint32 candidates)
{
	uint32		nopened = 0;
	SkxIter    *it;

	o->nopened = &nopened;
	skx_query_bitmap_plan(o);
	it = skx_query_open_one(o, o->query->root, generates, candidates);
	o->nopened = NULL;
	return it;
}

SkxIter *
skx_query_open(SkxOpening *o)
{
	return skx_query_open_root(o, true, 0);
}

SkxIter *
skx_query_open_filter(const SkxOpening *opening, uint32 candidates)
{
	SkxOpening	o = *opening;

	o.is_filter = true;
	return skx_query_open_root(&o, false, candidates);
}
