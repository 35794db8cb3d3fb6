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
#define SKX_ORDERED_FOUND		16384

/*
 * A column is scattered if, to find the documents of a range of keys, at least
 * this many times as many have to be looked at.
 */
#define SKX_ORDERED_SCATTERED	4

/*
 * A range of keys with fewer documents than this, which are some groups of
 * keys, is searched by values even if the column is not scattered.
 */
#define SKX_ORDERED_NARROW		(8 * SKX_SUBBLOCK)

/*
 * Costs in ns, for a million passages in memory: of the beginning, of a
 * document found by its value, of a match whose key is looked up, and of a
 * group in which there is such a match.
 */
#define SKX_ORDERED_NS_BEGIN	3000.0
#define SKX_ORDERED_NS_FOUND	50.0
#define SKX_ORDERED_NS_KEY		10.0
#define SKX_ORDERED_NS_GROUP	30.0

/*
 * The search by values ends after this many times the documents that were
 * expected at first.  It ends earlier if all matches can be looked at in the
 * time that this takes.
 */
#define SKX_ORDERED_GIVE_UP		8

/* A document with the key of its value. */
typedef struct SkxOrderedFound
{
	uint32		doc;
	uint64		key;
} SkxOrderedFound;

#define ST_SORT skx_order_sort_found
#define ST_ELEMENT_TYPE SkxOrderedFound
#define ST_COMPARE(a, b) ((a)->doc < (b)->doc ? -1 : (a)->doc > (b)->doc)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* The documents of values, in the order of the values. */
typedef struct SkxOrderedWalk
{
	SkxKeyValues *values;
	const SkxKeyValue *next;	/* value to be taken next; NULL: none is left */
	SkxCursor  *list;			/* for values whose documents are not in the
								 * dictionary; NULL: not created */
	bool		open;			/* it is on the list of the next value */
	uint32		from;			/* first document of that list not taken yet */
	int			n;
	int			most;			/* largest number of documents tested together */
	SkxOrderedFound *found;		/* documents to be tested; capacity for `most`
								 * and those of a value */
	uint64		taken;			/* number of all documents taken */
	double		give_up;		/* largest number of them */
	bool		within;			/* values were taken whose coarse key other
								 * values may have */
	uint64		within_key;
} SkxOrderedWalk;

/*
 * Sets *left to the keys that rows can still have in this search.  Returns
 * false if there are none.
 */
static bool
skx_order_left(const SkxOrdered *o, const SkxOrderedSegment *s,
			   SkxKeyRange *left)
{
	*left = s->range;
	if (o->any && o->flip != 0)
		left->most = Min(left->most, ~o->after.rank);
	else if (o->any)
		left->least = Max(left->least, o->after.rank);
	return left->least <= left->most;
}

/* Widens a range to the adjacent quantiles, if there are any. */
static void
skx_order_widen(const uint64 *quantiles, int n, SkxKeyRange *range)
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
	double		docs;
	int			i;

	for (i = 0; i < n && inside < 2; i++)
	{
		uint64		key = quantiles[o->flip != 0 ? n - 1 - i : i];

		if (key <= left->least || key >= left->most || ++inside < 2)
			continue;
		if (o->flip != 0)
			first.least = key;
		else
			first.most = key;
	}
	skx_order_widen(quantiles, n, &first);
	docs = skx_segment_keys_share(s->keys, &first) * s->seg->header.ndocs;
	return docs > 0 && skx_segment_keys_met(s->keys, &first) >=
		docs * SKX_ORDERED_SCATTERED;
}

/* Returns the time for looking at all matches and their keys. */
static double
skx_order_simple_ns(const SkxOrderedSegment *s)
{
	double		likely = skx_query_docs_likely(s->matches);
	double		groups = s->seg->header.ndocs / (double) SKX_SUBBLOCK;

	return skx_query_docs_work(s->matches) + likely * SKX_ORDERED_NS_KEY +
		Min(likely, groups) * SKX_ORDERED_NS_GROUP;
}

/*
 * Returns the number of documents, in the order of values, among which enough
 * matches are expected.  Returns 0 if there are not that many, or if looking
 * at all matches takes less time.
 */
static double
skx_order_expected(const SkxOrdered *o, const SkxOrderedSegment *s,
				   const SkxKeyRange *left, SkxOrderedWalk *walk)
{
	double		ndocs = s->seg->header.ndocs;
	double		most = skx_segment_keys_share(s->keys, left) * ndocs;
	double		likely = Max(skx_query_docs_likely(s->matches), 1);
	double		docs = SKX_ORDERED_MARGIN * o->rows.most * ndocs / likely;
	double		ns = SKX_ORDERED_NS_BEGIN + docs * SKX_ORDERED_NS_FOUND +
		skx_query_docs_asked(s->matches, docs);
	double		simple = skx_order_simple_ns(s);

	walk->give_up = docs * Min(SKX_ORDERED_GIVE_UP, simple / ns);
	return docs < most && ns < simple ? docs : 0;
}

/* Returns true if the value has a document in each group, on average. */
static inline bool
skx_order_is_long(const SkxOrderedSegment *s, const SkxKeyValue *value)
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
	skx_cursor_begin(walk->list, &walk->next->term);
	walk->open = true;
	walk->from = 0;
	if (!o->any || (walk->next->key ^ o->flip) != o->after.rank)
		return;
	if (s->number == o->after.source)
		walk->from = (uint32) o->after.place + 1;
	else if (s->number < o->after.source)
		walk->from = SKX_NO_DOC;
}

/*
 * Takes the documents of the next value, or some of those that are not in the
 * dictionary, in their order.
 */
static void
skx_order_take(SkxOrdered *o, SkxOrderedSegment *s, SkxOrderedWalk *walk)
{
	const SkxKeyValue *value = walk->next;
	const uint32 *docs = value->docs;
	int			n = value->n;
	int			i;

	if (n == 0)
	{
		if (!walk->open)
			skx_order_open_list(o, s, walk);
		walk->from = skx_cursor_take(walk->list, walk->from, SKX_NO_DOC,
									 o->docs, &n);
		walk->open = n > 0;
		docs = o->docs;
	}
	for (i = 0; i < n; i++)
	{
		walk->found[walk->n].doc = docs[i];
		walk->found[walk->n++].key = value->key;
	}
	walk->taken += n;
	walk->within = o->coarse;
	walk->within_key = value->key;
	if (walk->open)
		return;
	o->work->values++;
	walk->next = skx_segment_values_next(walk->values);
}

/*
 * Returns true if one key and one document can tell what is left
 * (skx_order_narrow()).  They cannot if values with the same key were taken
 * and others may follow, since documents of these are anywhere.
 */
static inline bool
skx_order_is_apart(const SkxOrderedWalk *walk)
{
	return !walk->within ||
		(!walk->open && walk->next->key != walk->within_key);
}

/* Adds the documents that match. */
static void
skx_order_add_found(SkxOrdered *o, SkxOrderedSegment *s,
					SkxOrderedWalk *walk)
{
	int			from;
	int			n;
	int			i;
	int			k;

	skx_order_sort_found(walk->found, walk->n);
	skx_query_docs_filter_begin(s->matches, walk->n);
	for (from = 0; from < walk->n; from += n)
	{
		const SkxOrderedFound *found = walk->found + from;
		int			kept;

		n = Min(walk->n - from, SKX_QUERY_BATCH);
		for (i = 0; i < n; i++)
			o->docs[i] = found[i].doc;
		kept = skx_query_docs_filter(s->matches, o->docs, n);
		kept = skx_query_docs_live(s->matches, o->docs, kept);
		for (i = k = 0; k < kept; i++)
		{
			SkxOrderedRow row = {found[i].key ^ o->flip, found[i].doc,
			s->number};

			if (found[i].doc != o->docs[k])
				continue;
			k++;
			if (skx_order_rows_want(&o->rows, &row) &&
				(!o->any || skx_order_compare(&row, &o->after) > 0))
				skx_order_rows_add(&o->rows, &row);
		}
		o->work->documents += kept;
	}
	walk->n = 0;
}

/* Returns true if a value that is left can be that of one of the rows. */
static bool
skx_order_goes_on(const SkxOrdered *o, const SkxOrderedSegment *s,
				  const SkxOrderedWalk *walk)
{
	SkxOrderedRow best = {0, 0, s->number};

	if (walk->next == NULL)
		return false;
	best.rank = walk->next->key ^ o->flip;
	best.place = walk->open && !o->coarse ? walk->from : 0;
	return skx_order_rows_want(&o->rows, &best);
}

/*
 * Goes through the values.  Returns false if further matches have to be found
 * by other means.
 */
static bool
skx_order_walk(SkxOrdered *o, SkxOrderedSegment *s, SkxOrderedWalk *walk)
{
	while (skx_order_goes_on(o, s, walk))
	{
		CHECK_FOR_INTERRUPTS();
		if (walk->taken > walk->give_up && skx_order_is_apart(walk))
			return false;
		while (walk->n < walk->most && skx_order_goes_on(o, s, walk) &&
			   (walk->open || !skx_order_is_long(s, walk->next) ||
				!skx_order_is_apart(walk)))
			skx_order_take(o, s, walk);
		if (walk->n > 0)
			skx_order_add_found(o, s, walk);
		else if (walk->next != NULL)
		{
			s->scattered = false;
			return false;
		}
	}
	return true;
}

/* Restricts the segment to values and documents that were not taken yet. */
static void
skx_order_narrow(const SkxOrdered *o, SkxOrderedSegment *s,
				 const SkxOrderedWalk *walk)
{
	if (o->flip != 0)
		s->range.most = walk->next->key;
	else
		s->range.least = walk->next->key;
	s->taken_rank = walk->next->key ^ o->flip;
	s->taken_to = walk->open ? walk->from : 0;
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

	if (walk->next == NULL)
		return true;
	if (skx_order_is_long(s, walk->next))
		return false;
	s->scattered = true;
	skx_order_open_matches(s, o->request.unbounded != NULL ?
						   o->request.unbounded : o->request.filter);
	docs = skx_order_expected(o, s, left, walk);
	if (docs == 0)
		return false;
	walk->most = (int) Min(ceil(docs), SKX_ORDERED_FOUND);
	walk->found = palloc(sizeof(SkxOrderedFound) *
						 (walk->most + SKX_SUBBLOCK));
	done = skx_order_walk(o, s, walk);
	skx_query_docs_filter_end(s->matches);
	if (!done)
		skx_order_narrow(o, s, walk);
	pfree(walk->found);
	return done;
}

bool
skx_order_by_values(SkxOrdered *o, SkxOrderedSegment *s)
{
	SkxOrderedWalk walk = {0};
	const SkxCondition *range = o->request.range;
	bool		bounded = o->coarse && range != NULL;
	SkxKeyRange left;
	bool		narrow;
	bool		done;

	s->scattered = false;
	s->taken_to = 0;
	if (skx_query_gathers_words(o->request.filter) ||
		!skx_order_left(o, s, &left))
		return false;
	narrow = skx_segment_keys_share(s->keys, &left) * s->seg->header.ndocs <
		SKX_ORDERED_NARROW;
	if (!narrow && !skx_order_is_scattered(o, s, &left))
		return false;
	walk.values =
		skx_segment_values_begin(s->keys, &left, bounded ? &range->from : NULL,
								 bounded ? &range->to : NULL, o->flip != 0);
	walk.next = skx_segment_values_next(walk.values);
	done = skx_order_walk_values(o, s, &left, &walk);
	skx_segment_values_end(walk.values);
	if (walk.list != NULL)
		skx_cursor_close(walk.list);
	/* the rest is found by ranges of documents */
	if (!done && narrow && s->scattered)
		s->scattered = skx_order_is_scattered(o, s, &left);
	return done;
}

void
skx_order_open_matches(SkxOrderedSegment *s, const SkxQuery *query)
{
	if (s->matches != NULL && s->asked == query)
		return;
	if (s->matches != NULL)
		skx_query_docs_close(s->matches);
	s->matches = skx_query_docs_open(s->seg, query, SKX_DOCS_RANGES);
	s->asked = query;
}
