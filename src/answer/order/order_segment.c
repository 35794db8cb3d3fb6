/*
 * order_segment.c
 *	  The first rows of a segment in the order of a column.
 *
 * The tree of the column's keys bounds the keys of ranges of documents.
 * Ranges are visited in the order of the best rank that they can have, until
 * no other one can have a wanted row.  These are few if the column follows the
 * order of the table, and up to all if it does not.  Queries move forward
 * only.  So several ranges are visited at a time, in the order of documents,
 * and twice as many each time.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "support/fault/fault.h"
#include "utils/memutils.h"

/* Largest number of ranges of documents that are visited together. */
#define SKX_ORDERED_RANGES_MAX	4096

/*
 * If fewer ranges than this are visited together, they are groups; otherwise
 * they are leaves.
 */
#define SKX_ORDERED_GROUPS_BELOW		8

/*
 * All matches are visited at once if they cost no more than
 * SKX_ORDERED_VISIT_ALL_COST, plus SKX_ORDERED_LEAF_COST for each leaf that
 * would be visited.
 */
#define SKX_ORDERED_VISIT_ALL_COST			256
#define SKX_ORDERED_LEAF_COST	64

/*
 * A range of keys is left out of the query if it has more than this part of
 * the documents.
 */
#define SKX_ORDERED_WIDE_FRACTION		.1

/*
 * Largest number of adjacent ranges that are visited as one.  A visit takes as
 * long as 200 documents.
 */
#define SKX_ORDERED_JOIN_MAX		16

/* Number of ranges whose keys are prefetched together. */
#define SKX_ORDERED_PREFETCH			32

/* Ranges of documents to be visited: a heap with the best one on top. */
typedef struct SkxOrderedNodes
{
	int			n;
	int			size;
	SkxKeyNode *nodes;
} SkxOrderedNodes;

/* Returns the best wanted rank that a document of the range can have. */
static inline uint64
skx_order_node_rank(const SkxOrdered *o, const SkxOrderedSegment *s,
					const SkxKeyNode *node)
{
	return o->rank_mask != 0 ? ~Min(node->most, s->wanted_keys.most) :
		Max(node->least, s->wanted_keys.least);
}

/* Returns true if a comes before b. */
static inline bool
skx_order_node_before(const SkxOrdered *o, const SkxOrderedSegment *s,
					  const SkxKeyNode *a, const SkxKeyNode *b)
{
	uint64		x = skx_order_node_rank(o, s, a);
	uint64		y = skx_order_node_rank(o, s, b);

	return x != y ? x < y : a->first < b->first;
}

static void
skx_order_nodes_push(const SkxOrdered *o, const SkxOrderedSegment *s,
					 SkxOrderedNodes *nodes, const SkxKeyNode *node)
{
	int			i = nodes->n++;

	if (i == nodes->size)
	{
		nodes->size = Max(64, nodes->size * 2);
		nodes->nodes = nodes->nodes == NULL ?
			palloc(sizeof(SkxKeyNode) * nodes->size) :
			repalloc_huge(nodes->nodes,
						  sizeof(SkxKeyNode) * (Size) nodes->size);
	}
	while (i > 0 && skx_order_node_before(o, s, node,
										  &nodes->nodes[(i - 1) / 2]))
	{
		nodes->nodes[i] = nodes->nodes[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	nodes->nodes[i] = *node;
}

static SkxKeyNode
skx_order_nodes_pop(const SkxOrdered *o, const SkxOrderedSegment *s,
					SkxOrderedNodes *nodes)
{
	SkxKeyNode	top = nodes->nodes[0];
	SkxKeyNode	last = nodes->nodes[--nodes->n];
	int			i = 0;

	for (;;)
	{
		int			child = 2 * i + 1;

		if (child >= nodes->n)
			break;
		if (child + 1 < nodes->n &&
			skx_order_node_before(o, s, &nodes->nodes[child + 1],
								  &nodes->nodes[child]))
			child++;
		if (!skx_order_node_before(o, s, &nodes->nodes[child], &last))
			break;
		nodes->nodes[i] = nodes->nodes[child];
		i = child;
	}
	nodes->nodes[i] = last;
	return top;
}

/* Returns true if a document of the range can be one of the rows. */
static bool
skx_order_node_competes(const SkxOrdered *o, const SkxOrderedSegment *s,
						const SkxKeyNode *node)
{
	SkxOrderedRow best = {skx_order_node_rank(o, s, node), node->first,
	s->number};
	uint64		worst = o->rank_mask != 0 ? ~node->least : node->most;

	if (node->least > node->most || node->least > s->wanted_keys.most ||
		node->most < s->wanted_keys.least ||
		(o->has_after && worst < o->after.rank))
		return false;
	return skx_order_rows_accept(&o->rows, &best);
}

/*
 * Returns true if a range is to be divided.  So is a leaf in which the range
 * of keys ends.
 */
static inline bool
skx_order_is_divisible(const SkxOrderedSegment *s, const SkxKeyNode *node,
					   int most)
{
	return node->level > 0 || most < SKX_ORDERED_GROUPS_BELOW ||
		node->least < s->wanted_keys.least || node->most > s->wanted_keys.most;
}

/* Takes out the best ranges, at most `most`.  Returns their number. */
static int
skx_order_pop_best(SkxOrdered *o, SkxOrderedSegment *s,
				   SkxOrderedNodes *nodes, SkxKeyNode *stretches, int most)
{
	SkxKeyNode *children = palloc(sizeof(SkxKeyNode) * SKX_KEY_NODE_CHILDREN);
	int			n = 0;

	while (n < most && nodes->n > 0)
	{
		SkxKeyNode	node = skx_order_nodes_pop(o, s, nodes);
		int			nchildren;
		int			i;

		CHECK_FOR_INTERRUPTS();
		if (!skx_order_node_competes(o, s, &node))
			continue;
		nchildren = skx_order_is_divisible(s, &node, most) ?
			skx_segment_keys_children(s->keys, &node, children) : 0;
		if (nchildren == 0)
			stretches[n++] = node;
		for (i = 0; i < nchildren; i++)
			if (skx_order_node_competes(o, s, &children[i]))
				skx_order_nodes_push(o, s, nodes, &children[i]);
	}
	pfree(children);
	return n;
}

static int
skx_order_compare_ranges(const void *a, const void *b)
{
	uint32		x = ((const SkxKeyNode *) a)->first;
	uint32		y = ((const SkxKeyNode *) b)->first;

	return x < y ? -1 : x > y;
}

/* Adds the first n documents of o->docs, which match and ascend. */
static void
skx_order_add_documents(SkxOrdered *o, SkxOrderedSegment *s, int n)
{
	int			i;

	if (o->keys == NULL)
		o->keys = palloc(sizeof(SkxKey) * SKX_QUERY_BATCH_DOCS);
	skx_segment_keys_read_docs(s->keys, o->docs, n, o->keys);
	for (i = 0; i < n; i++)
	{
		SkxOrderedRow row = {o->keys[i].value ^ o->rank_mask, o->docs[i],
		s->number};

		if (!o->keys[i].is_null && o->keys[i].value >= s->wanted_keys.least &&
			o->keys[i].value <= s->wanted_keys.most &&
			(row.rank != s->visited_rank || row.doc >= s->visited_to) &&
			skx_order_rows_accept(&o->rows, &row) &&
			(!o->has_after || skx_order_compare(&row, &o->after) > 0))
			skx_order_rows_add(&o->rows, &row);
	}
	o->work->documents += n;
}

/*
 * Checks the keys of the first n documents of o->docs against those that the
 * range was said to have.
 */
static void
skx_order_check_keys(const SkxOrdered *o, const SkxKeyNode *stretch, int n)
{
#ifdef USE_ASSERT_CHECKING
	uint64		most = stretch->most;
	int			i;

	if (skx_fault_breaks_contract(SKX_CONTRACT_KEY_BOUND))
		most = stretch->least;
	for (i = 0; i < n; i++)
		Assert(o->keys[i].is_null ||
			   (o->keys[i].value >= stretch->least &&
				o->keys[i].value <= most));
#endif
}

static void
skx_order_visit_range(SkxOrdered *o, SkxOrderedSegment *s,
					  const SkxKeyNode *stretch)
{
	uint32		next = stretch->first;
	int			n;

	if (!skx_order_node_competes(o, s, stretch))
		return;
	o->work->leaves++;
	skx_query_docs_range(s->matches, stretch->first, stretch->end);
	while ((n = skx_query_docs_next(s->matches, o->docs)) > 0)
	{
		skx_query_docs_check(o->docs, n, next, stretch->end);
		next = o->docs[n - 1] + 1;
		skx_order_add_documents(o, s, n);
		skx_order_check_keys(o, stretch, n);
	}
}

/*
 * Returns the query that documents are tested by.  A range that many documents
 * are in is left out if keys determine the values, since these keys are
 * compared in any case.
 */
static const SkxQuery *
skx_order_visit_query(const SkxOrdered *o, const SkxOrderedSegment *s)
{
	if (o->request.unbounded != NULL && !o->is_coarse &&
		skx_segment_keys_fraction(s->keys,
								  &s->wanted_keys) > SKX_ORDERED_WIDE_FRACTION)
		return o->request.unbounded;
	return o->request.filter;
}

/* Prefetches the keys of some of n ranges, from index i on. */
static void
skx_order_prefetch_keys(SkxOrderedSegment *s, const SkxKeyNode *stretches,
						int i, int n)
{
	uint32		pages[SKX_ORDERED_PREFETCH];
	int			k = 0;

	if (s->seg->prefetch_units == 0 || !skx_segment_has_read(&s->page_reads))
		return;
	for (; i < n && k < SKX_ORDERED_PREFETCH; i++)
		if (k == 0 || pages[k - 1] != stretches[i].page)
			pages[k++] = stretches[i].page;
	skx_segment_prefetch_pages(s->seg, SKX_SEGMENT_KEYS, pages, k, 2);
}

/*
 * Returns true if looking at all matches is less work than looking for the
 * best ones.  That is also true if the query would gather bitmaps again each
 * time that it goes back.
 */
static bool
skx_order_should_visit_all(const SkxOrdered *o, SkxOrderedSegment *s)
{
	double		leaves = (double) s->seg->planes[SKX_SEGMENT_KEYS].npages /
		s->seg->header.nkeys;
	double		likely = skx_query_docs_likely(s->matches);

	if (s->is_scattered || skx_query_docs_gathers_lists(s->matches))
		return true;
	leaves *= Min(o->rows.max_rows / Max(likely, 1), 1);
	return skx_query_docs_cost(s->matches) <=
		SKX_ORDERED_VISIT_ALL_COST + SKX_ORDERED_LEAF_COST * leaves;
}

/*
 * Returns how many ranges to visit next: twice as many, or more if matches are
 * as dense as in the ranges so far.  These had `seen` documents, of which
 * `found` matched.
 */
static int
skx_order_next_nranges(const SkxOrdered *o, const SkxOrderedSegment *s,
					   int most, uint64 seen, uint64 found)
{
	double		leaves = (double) s->seg->planes[SKX_SEGMENT_KEYS].npages /
		s->seg->header.nkeys;
	double		wanted = o->rows.max_rows - o->rows.n;
	double		more = most * 2;

	if (most * 2 >= SKX_ORDERED_GROUPS_BELOW && wanted > 0)
		more = Max(more, wanted * seen / Max(found, 1) * leaves /
				   s->seg->header.ndocs);
	return (int) Min(more, SKX_ORDERED_RANGES_MAX);
}

/*
 * Joins range i and those that follow it, as far as they are adjacent, and up
 * to a number that grows with n.  Returns the index of the next range.
 */
static int
skx_order_join_ranges(SkxKeyNode *stretches, int i, int n)
{
	SkxKeyNode *run = &stretches[i];
	int			most = Min(n / SKX_ORDERED_GROUPS_BELOW, SKX_ORDERED_JOIN_MAX);
	int			next;

	for (next = i + 1; next < n && next - i < most &&
		 stretches[next].first == run->end; next++)
	{
		run->end = stretches[next].end;
		run->least = Min(run->least, stretches[next].least);
		run->most = Max(run->most, stretches[next].most);
	}
	return next;
}

/*
 * Visits ranges in the order of documents.  Returns the number of their
 * documents.
 */
static uint64
skx_order_visit_all(SkxOrdered *o, SkxOrderedSegment *s,
					SkxKeyNode *stretches, int n)
{
	uint64		seen = 0;
	int			asked = 0;
	int			next;
	int			i;

	qsort(stretches, n, sizeof(SkxKeyNode), skx_order_compare_ranges);
	for (i = 0; i < n; i = next)
	{
		for (; asked <= i; asked += SKX_ORDERED_PREFETCH)
			skx_order_prefetch_keys(s, stretches, asked, n);
		next = skx_order_join_ranges(stretches, i, n);
		skx_order_visit_range(o, s, &stretches[i]);
		seen += stretches[i].end - stretches[i].first;
	}
	return seen;
}

/* Visits the ranges of a segment in turn, or all of it at once. */
static void
skx_order_search_ranges(SkxOrdered *o, SkxOrderedSegment *s,
						const SkxKeyNode *root)
{
	SkxOrderedNodes nodes = {0};
	uint64		before = o->work->documents;
	uint64		seen = 0;
	int			n;

	/* a part of the keys is searched as a whole */
	int			most = o->request.parallel_part == NULL ? 1 :
		SKX_ORDERED_RANGES_MAX;

	skx_order_open_matches(s, skx_order_visit_query(o, s));
	if (skx_order_should_visit_all(o, s))
	{
		skx_order_visit_range(o, s, root);
		return;
	}
	skx_order_nodes_push(o, s, &nodes, root);
	do
	{
		SkxKeyNode *stretches = palloc(sizeof(SkxKeyNode) * most);

		n = skx_order_pop_best(o, s, &nodes, stretches, most);
		if (n > 0)
			seen += skx_order_visit_all(o, s, stretches, n);
		pfree(stretches);
		most = skx_order_next_nranges(o, s, most, seen,
									  o->work->documents - before);
	} while (n > 0);
	pfree(nodes.nodes);
}

void
skx_order_search_segment(SkxOrdered *o, SkxOrderedSegment *s)
{
	SkxKeyRange range = s->wanted_keys;
	SkxKeyNode	root;

	skx_segment_keys_root(s->keys, &root);
	if (s->is_empty || !skx_order_node_competes(o, s, &root))
		return;
	if (!skx_order_search_by_values(o, s))
		skx_order_search_ranges(o, s, &root);
	s->wanted_keys = range;
}
