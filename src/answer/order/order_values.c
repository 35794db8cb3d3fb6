/*
 * order_values.c
 *	  The first rows of a segment in the order of a column, by the posting
 *	  lists of its values.
 *
 * If the column does not follow the order of documents, nearly every range of
 * documents may have one of the first rows.  The dictionary has the values in
 * their order.  So documents of the first values are tested, until enough of
 * them match.  The cost depends on how many have to be tested, not on the
 * number of documents of the segment.
 */
#include "postgres.h"

#include <math.h>

#include "answer/order/order_internal.h"
#include "format/disk/disk_keys.h"
#include "miscadmin.h"

/* Largest number of documents that are tested together. */
#define SKX_ORDERED_TEST_DOCS		16384

/*
 * A column is scattered if, to find the documents of a range of keys, at least
 * this many times as many have to be looked at.
 */
#define SKX_ORDERED_SCATTER_RATIO	4

/*
 * A range of keys with fewer documents than this, which are some groups of
 * keys, is searched by values even if the column is not scattered.
 */
#define SKX_ORDERED_NARROW_DOCS		(8 * SKX_SUBBLOCK)

/*
 * Costs in ns, for a million passages in memory: of the beginning, of a
 * document found by its value, of a match whose key is looked up, and of a
 * group in which there is such a match.
 */
#define SKX_ORDERED_NS_BEGIN	3000.0
#define SKX_ORDERED_NS_DOCUMENT	50.0
#define SKX_ORDERED_NS_KEY		10.0
#define SKX_ORDERED_NS_GROUP	30.0

/*
 * The search by values ends after this many times the documents that were
 * expected at first.  It ends earlier if all matches can be looked at in the
 * time that this takes.
 */
#define SKX_ORDERED_GIVE_UP_RATIO		8

/* A document with the key of its value. */
typedef struct SkxOrderedCandidate
{
	uint32		doc;
	uint64		key;
} SkxOrderedCandidate;

#define ST_SORT skx_order_sort_found
#define ST_ELEMENT_TYPE SkxOrderedCandidate
#define ST_COMPARE(a, b) ((a)->doc < (b)->doc ? -1 : (a)->doc > (b)->doc)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The documents of values, in the order of the values. */
typedef struct SkxOrderedWalk
{
	SkxKeyValues *values;
	const SkxKeyValue *next_value;	/* value to be taken next; NULL: none is
									 * left */
	SkxCursor  *list;			/* for values whose documents are not in the
								 * dictionary; NULL: not created */
	bool		list_is_open;	/* it is on the list of the next value */
	uint32		list_from;		/* first document of that list not taken yet */
	int			n;
	int			batch_docs;		/* largest number of documents tested together */
	SkxOrderedCandidate *candidates;	/* documents to be tested; capacity
										 * for `batch_docs` and those of a
										 * value */
	uint64		ntaken;			/* number of all documents taken */
	double		max_taken;		/* largest number of them */
	bool		has_shared_key; /* values were taken whose coarse key other
								 * values may have */
	uint64		shared_key;
} SkxOrderedWalk;

/*
 * Sets *left to the keys that rows can still have in this search.  Returns
 * false if there are none.
 */
static bool
skx_order_remaining_keys(const SkxOrdered *o, const SkxOrderedSegment *s,
						 SkxKeyRange *left)
{
	*left = s->wanted_keys;
	if (o->has_after && o->rank_mask != 0)
		left->most = Min(left->most, ~o->after.rank);
	else if (o->has_after)
		left->least = Max(left->least, o->after.rank);
	return left->least <= left->most;
}

/* Widens a range to the adjacent quantiles, if there are any. */
static void
skx_order_widen_range(const uint64 *quantiles, int n, SkxKeyRange *range)
{
	int			below = 0;
	int			above = n;
	int			i;

	for (i = 0; i < n; i++)
	{
		below += quantiles[i] <= range->least;
		above -= quantiles[i] >= range->most;
	}
	if (below > 0)
		range->least = quantiles[below - 1];
	if (above < n)
		range->most = quantiles[above];
}

/*
 * Returns true if, to find the documents of these keys, many times as many have
 * to be looked at.
 */
static bool
skx_order_range_is_scattered(const SkxOrderedSegment *s,
							 const SkxKeyRange *range)
{
	double		docs =
		skx_segment_keys_fraction(s->keys, range) * s->seg->header.ndocs;

	return docs > 0 && skx_segment_keys_to_test(s->keys, range) >=
		docs * SKX_ORDERED_SCATTER_RATIO;
}

/*
 * Returns true if the column is scattered.  Tests the range of the first
 * wanted keys, which have from a twenty-fourth to an eighth of the documents
 * by the quantiles.  Among fewer documents, those that are slightly out of
 * order would count too much.
 */
static bool
skx_order_is_scattered(const SkxOrdered *o, SkxOrderedSegment *s,
					   const SkxKeyRange *left)
{
	uint64		quantiles[SKX_KEY_QUANTILES];
	int			n = skx_segment_keys_quantiles(s->keys, quantiles);
	SkxKeyRange first = *left;
	int			inside = 0;
	int			i;

	for (i = 0; i < n && inside < 2; i++)
	{
		uint64		key = quantiles[o->rank_mask != 0 ? n - 1 - i : i];

		if (key <= left->least || key >= left->most || ++inside < 2)
			continue;
		if (o->rank_mask != 0)
			first.least = key;
		else
			first.most = key;
	}
	skx_order_widen_range(quantiles, n, &first);
	return skx_order_range_is_scattered(s, &first);
}

/*
 * Returns the time for looking at all matches, and their keys, in the ranges of
 * documents that can have a key of the range.
 */
static double
skx_order_visit_range_ns(const SkxOrderedSegment *s, const SkxKeyRange *range)
{
	double		likely = skx_query_docs_likely(s->matches);
	double		ndocs = s->seg->header.ndocs;
	double		ns = skx_query_docs_find_time(s->matches) +
		likely * SKX_ORDERED_NS_KEY +
		Min(likely, ndocs / SKX_SUBBLOCK) * SKX_ORDERED_NS_GROUP;

	return ns * skx_segment_keys_to_test(s->keys, range) / Max(ndocs, 1);
}

/*
 * Returns the number of documents, in the order of values, among which enough
 * matches are expected: all of the range if it has no more.  Returns 0 if
 * looking at matches by ranges of documents takes less time.
 */
static double
skx_order_expected_docs(const SkxOrdered *o, const SkxOrderedSegment *s,
						const SkxKeyRange *left, SkxOrderedWalk *walk)
{
	double		ndocs = s->seg->header.ndocs;
	double		most = skx_segment_keys_fraction(s->keys, left) * ndocs;
	double		likely = Max(skx_query_docs_likely(s->matches), 1);
	double		docs =
		Min(SKX_ORDERED_MARGIN * o->rows.max_rows * ndocs / likely, most);
	double		ns = SKX_ORDERED_NS_BEGIN + docs * SKX_ORDERED_NS_DOCUMENT +
		skx_query_docs_filter_time(s->matches, docs);
	double		simple = skx_order_visit_range_ns(s, left);

	walk->max_taken = docs * Min(SKX_ORDERED_GIVE_UP_RATIO, simple / ns);
	return ns < simple ? docs : 0;
}

/* Returns true if the value has a document in each group, on average. */
static inline bool
skx_order_list_is_long(const SkxOrderedSegment *s, const SkxKeyValue *value)
{
	return value->n == 0 &&
		value->term.df >= Max(s->seg->header.ndocs / SKX_SUBBLOCK, SKX_SUBBLOCK);
}

/*
 * Begins the list of the next value, at the first document that was not handed
 * out.
 */
static void
skx_order_open_list(SkxOrdered *o, SkxOrderedSegment *s,
					SkxOrderedWalk *walk)
{
	if (walk->list == NULL)
		walk->list = skx_cursor_create(s->seg, SKX_CURSOR_PROBE);
	skx_cursor_begin_term(walk->list, &walk->next_value->term);
	walk->list_is_open = true;
	walk->list_from = 0;
	if (!o->has_after ||
		(walk->next_value->key ^ o->rank_mask) != o->after.rank)
		return;
	if (s->number == o->after.source)
		walk->list_from = (uint32) o->after.doc + 1;
	else if (s->number < o->after.source)
		walk->list_from = SKX_NO_DOC;
}

/*
 * Takes the documents of the next value, or some of those that are not in the
 * dictionary, in their order.
 */
static void
skx_order_take_documents(SkxOrdered *o, SkxOrderedSegment *s,
						 SkxOrderedWalk *walk)
{
	const SkxKeyValue *value = walk->next_value;
	const uint32 *docs = value->docs;
	int			n = value->n;
	int			i;

	if (n == 0)
	{
		if (!walk->list_is_open)
			skx_order_open_list(o, s, walk);
		walk->list_from = skx_cursor_take(walk->list, walk->list_from,
										  SKX_NO_DOC, o->docs, &n);
		walk->list_is_open = n > 0;
		docs = o->docs;
	}
	for (i = 0; i < n; i++)
	{
		walk->candidates[walk->n].doc = docs[i];
		walk->candidates[walk->n++].key = value->key;
	}
	walk->ntaken += n;
	walk->has_shared_key = o->is_coarse;
	walk->shared_key = value->key;
	if (walk->list_is_open)
		return;
	o->work->values++;
	walk->next_value = skx_segment_values_next(walk->values);
}

/*
 * Returns true if one key and one document can tell what is left
 * (skx_order_narrow_segment()).  They cannot if values with the same key were
 * taken and others may follow, since documents of these are anywhere.
 */
static inline bool
skx_order_can_narrow(const SkxOrderedWalk *walk)
{
	return !walk->has_shared_key ||
		(!walk->list_is_open && walk->next_value->key != walk->shared_key);
}

/* Adds the documents that match. */
static void
skx_order_test_candidates(SkxOrdered *o, SkxOrderedSegment *s,
						  SkxOrderedWalk *walk)
{
	int			from;
	int			n;
	int			i;
	int			k;

	skx_order_sort_found(walk->candidates, walk->n);
	skx_query_docs_filter_begin(s->matches, walk->n);
	for (from = 0; from < walk->n; from += n)
	{
		const SkxOrderedCandidate *found = walk->candidates + from;
		int			kept;

		n = Min(walk->n - from, SKX_WINDOW_DOCS);
		for (i = 0; i < n; i++)
			o->docs[i] = found[i].doc;
		kept = skx_query_docs_filter(s->matches, o->docs, n);
		kept = skx_query_docs_filter_live(s->matches, o->docs, kept);
		for (i = k = 0; k < kept; i++)
		{
			SkxOrderedRow row = {found[i].key ^ o->rank_mask, found[i].doc,
			s->number};

			if (found[i].doc != o->docs[k])
				continue;
			k++;
			if (skx_order_rows_accept(&o->rows, &row) &&
				(!o->has_after || skx_order_compare(&row, &o->after) > 0))
				skx_order_rows_add(&o->rows, &row);
		}
		o->work->documents += kept;
	}
	walk->n = 0;
}

/* Returns true if a value that is left can be that of one of the rows. */
static bool
skx_order_value_competes(const SkxOrdered *o, const SkxOrderedSegment *s,
						 const SkxOrderedWalk *walk)
{
	SkxOrderedRow best = {0, 0, s->number};

	if (walk->next_value == NULL)
		return false;
	best.rank = walk->next_value->key ^ o->rank_mask;
	best.doc = walk->list_is_open && !o->is_coarse ? walk->list_from : 0;
	return skx_order_rows_accept(&o->rows, &best);
}

/*
 * Goes through the values.  Returns false if further matches have to be found
 * by other means.
 */
static bool
skx_order_walk_documents(SkxOrdered *o, SkxOrderedSegment *s,
						 SkxOrderedWalk *walk)
{
	while (skx_order_value_competes(o, s, walk))
	{
		CHECK_FOR_INTERRUPTS();
		if (walk->ntaken > walk->max_taken && skx_order_can_narrow(walk))
			return false;
		while (walk->n < walk->batch_docs &&
			   skx_order_value_competes(o, s, walk) &&
			   (walk->list_is_open ||
				!skx_order_list_is_long(s, walk->next_value) ||
				!skx_order_can_narrow(walk)))
			skx_order_take_documents(o, s, walk);
		if (walk->n > 0)
			skx_order_test_candidates(o, s, walk);
		else if (walk->next_value != NULL)
		{
			s->is_scattered = false;
			return false;
		}
	}
	return true;
}

/* Restricts the segment to values and documents that were not taken yet. */
static void
skx_order_narrow_segment(const SkxOrdered *o, SkxOrderedSegment *s,
						 const SkxOrderedWalk *walk)
{
	if (o->rank_mask != 0)
		s->wanted_keys.most = walk->next_value->key;
	else
		s->wanted_keys.least = walk->next_value->key;
	s->visited_rank = walk->next_value->key ^ o->rank_mask;
	s->visited_to = walk->list_is_open ? walk->list_from : 0;
}

/*
 * Goes through the values, if that takes the least time.  Returns true if
 * nothing is left to do.  If the next value has very many documents, the first
 * of these are found by ranges of documents, since ties come in the order of
 * documents.
 */
static bool
skx_order_walk_values(SkxOrdered *o, SkxOrderedSegment *s,
					  const SkxKeyRange *left, SkxOrderedWalk *walk)
{
	double		docs;
	bool		done;

	if (walk->next_value == NULL)
		return true;
	if (skx_order_list_is_long(s, walk->next_value))
		return false;
	s->is_scattered = true;
	skx_order_open_matches(s, o->request.unbounded != NULL ?
						   o->request.unbounded : o->request.filter);
	docs = skx_order_expected_docs(o, s, left, walk);
	if (docs == 0)
		return false;
	walk->batch_docs = (int) Min(ceil(docs), SKX_ORDERED_TEST_DOCS);
	walk->candidates = palloc(sizeof(SkxOrderedCandidate) *
							  (walk->batch_docs + SKX_SUBBLOCK));
	done = skx_order_walk_documents(o, s, walk);
	skx_query_docs_filter_end(s->matches);
	if (!done)
		skx_order_narrow_segment(o, s, walk);
	pfree(walk->candidates);
	return done;
}

bool
skx_order_search_by_values(SkxOrdered *o, SkxOrderedSegment *s)
{
	SkxOrderedWalk walk = {0};
	const SkxCondition *range = o->request.range;
	bool		bounded = o->is_coarse && range != NULL;
	SkxKeyRange left;
	bool		narrow;
	bool		done;

	s->is_scattered = false;
	s->visited_to = 0;
	if (skx_query_gathers_word_lists(o->request.filter) ||
		!skx_order_remaining_keys(o, s, &left))
		return false;
	narrow = skx_segment_keys_fraction(s->keys, &left) * s->seg->header.ndocs <
		SKX_ORDERED_NARROW_DOCS;
	if (!narrow && !skx_order_range_is_scattered(s, &left) &&
		!skx_order_is_scattered(o, s, &left))
		return false;
	walk.values =
		skx_segment_values_begin(s->keys, &left, bounded ? &range->from : NULL,
								 bounded ? &range->to : NULL,
								 o->rank_mask != 0);
	walk.next_value = skx_segment_values_next(walk.values);
	done = skx_order_walk_values(o, s, &left, &walk);
	skx_segment_values_end(walk.values);
	if (walk.list != NULL)
		skx_cursor_close(walk.list);
	/* the rest is found by ranges of documents */
	if (!done && s->is_scattered)
		s->is_scattered = skx_order_is_scattered(o, s, &left);
	return done;
}

void
skx_order_open_matches(SkxOrderedSegment *s, const SkxQuery *query)
{
	if (s->matches != NULL && s->visit_query == query)
		return;
	if (s->matches != NULL)
		skx_query_docs_close(s->matches);
	s->matches = skx_query_docs_open(s->seg, query, SKX_DOCS_RANGES);
	s->visit_query = query;
}
