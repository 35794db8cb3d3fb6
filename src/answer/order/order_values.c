/*
 * order_values.c
 *	  What a segment adds to the first rows, by the lists of the column's values.
 *
 * Where the column does not follow the order of documents, nearly every stretch
 * may have one of the first rows.  The dictionary has the values in their order:
 * the documents of the first ones are asked whether they match, until enough do.
 * That takes as many documents as it takes to find the rows among them, however
 * many the segment has.
 */
#include "postgres.h"

#include <math.h>

#include "answer/order/order_internal.h"
#include "format/disk/disk_keys.h"
#include "miscadmin.h"

/* Documents whose query is asked about them at once, at most. */
#define SKX_ORDERED_FOUND		16384

/*
 * A column is scattered if this many times as many documents would have to be
 * looked at for those of a range of keys as there are.
 */
#define SKX_ORDERED_SCATTERED	4

/* Documents of a range that come by their values in any case: some groups of keys. */
#define SKX_ORDERED_NARROW		(8 * SKX_SUBBLOCK)

/*
 * ns, of a million passages in memory: to begin; of a document that comes by its
 * value; of a match whose key is looked up, and of a group in which one is.
 */
#define SKX_ORDERED_NS_BEGIN	3000.0
#define SKX_ORDERED_NS_FOUND	50.0
#define SKX_ORDERED_NS_KEY		10.0
#define SKX_ORDERED_NS_GROUP	30.0

/*
 * So many times as many as were expected at first are taken at most, and not
 * more than in the time in which all matches can be looked at.
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

/* The documents of values in their order, as far as they have come. */
typedef struct SkxOrderedWalk
{
	SkxKeyValues *values;
	const SkxKeyValue *next;	/* not taken yet; NULL: none is left */
	SkxCursor  *list;			/* for lists of their own; NULL: none yet */
	bool		open;			/* it is on the list of that value, */
	uint32		from;			/* of which documents from here on are left */
	int			n;
	int			most;			/* documents to be asked about at once */
	SkxOrderedFound *found;		/* room for them, and those of a value */
	uint64		taken;			/* documents in all, */
	double		give_up;		/* and how many at most */
	bool		within;			/* a coarse key of which values were taken may
								 * have others */
	uint64		within_key;
} SkxOrderedWalk;

/* Keys that rows can still have in this search; false: none. */
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

/* As far as the quantiles that are next to it, where there are any. */
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
 * Does the column not follow the order of documents?  By the first keys wanted,
 * of a twenty-fourth to an eighth of the documents, as its quantiles tell: among
 * fewer, those that are not quite in order count too much.
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

/* To look at all matches, with their keys. */
static double
skx_order_simple_ns(const SkxOrderedSegment *s)
{
	double		likely = skx_query_visit_likely(s->visit);
	double		groups = s->seg->header.ndocs / (double) SKX_SUBBLOCK;

	return skx_query_visit_work(s->visit) + likely * SKX_ORDERED_NS_KEY +
		Min(likely, groups) * SKX_ORDERED_NS_GROUP;
}

/*
 * The documents, in the order of values, among which enough matches are to be
 * expected; 0: it takes less to look at all matches.
 */
static double
skx_order_expected(const SkxOrdered *o, const SkxOrderedSegment *s,
				   const SkxKeyRange *left, SkxOrderedWalk *walk)
{
	double		ndocs = s->seg->header.ndocs;
	double		most = skx_segment_keys_share(s->keys, left) * ndocs;
	double		likely = Max(skx_query_visit_likely(s->visit), 1);
	double		docs = SKX_ORDERED_MARGIN * o->rows.most * ndocs / likely;
	double		ns = SKX_ORDERED_NS_BEGIN + docs * SKX_ORDERED_NS_FOUND +
		skx_query_visit_asked(s->visit, docs);
	double		simple = skx_order_simple_ns(s);

	walk->give_up = docs * Min(SKX_ORDERED_GIVE_UP, simple / ns);
	return docs < most && ns < simple ? docs : 0;
}

/* Has it a document in each group, on average? */
static inline bool
skx_order_is_long(const SkxOrderedSegment *s, const SkxKeyValue *value)
{
	return value->n == 0 &&
		value->term.df >= Max(s->seg->header.ndocs / SKX_SUBBLOCK, SKX_SUBBLOCK);
}

/* Begins the list of the next value, at the first document not handed out. */
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
 * Takes the documents of the next value, or of a list of its own some, in their
 * order.
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
	o->work.values++;
	walk->next = skx_segment_values_next(walk->values);
}

/*
 * Can what is left be told by its keys, and documents of the first one?  Not if
 * other values with the same key were taken, or may follow: their documents are
 * anywhere.
 */
static inline bool
skx_order_is_apart(const SkxOrderedWalk *walk)
{
	return !walk->within ||
		(!walk->open && walk->next->key != walk->within_key);
}

/* Adds those that match. */
static void
skx_order_add_found(SkxOrdered *o, SkxOrderedSegment *s,
					SkxOrderedWalk *walk)
{
	int			from;
	int			n;
	int			i;
	int			k;

	skx_order_sort_found(walk->found, walk->n);
	skx_query_ask_begin(s->visit, walk->n);
	for (from = 0; from < walk->n; from += n)
	{
		const SkxOrderedFound *found = walk->found + from;
		int			kept;

		n = Min(walk->n - from, SKX_QUERY_BATCH);
		for (i = 0; i < n; i++)
			o->docs[i] = found[i].doc;
		kept = skx_query_ask(s->visit, o->docs, n);
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
		o->work.documents += kept;
	}
	walk->n = 0;
}

/* Can a value that is left be of one of the rows? */
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
 * Goes through values; false: there are more matches behind these, which are to
 * be found by other means.
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

/* Leaves only values, and documents of the next one, that were not taken yet. */
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
 * Goes through the values if that takes less than anything else.  Where the next
 * one has very many documents, stretches have the first of these: ties come in
 * the order of documents.
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
	skx_order_open_visit(s, o->request.unbounded != NULL ?
						 o->request.unbounded : o->request.filter);
	docs = skx_order_expected(o, s, left, walk);
	if (docs == 0)
		return false;
	walk->most = (int) Min(ceil(docs), SKX_ORDERED_FOUND);
	walk->found = palloc(sizeof(SkxOrderedFound) *
						 (walk->most + SKX_SUBBLOCK));
	done = skx_order_walk(o, s, walk);
	skx_query_ask_end(s->visit);
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
	/* by stretches, then */
	if (!done && narrow && s->scattered)
		s->scattered = skx_order_is_scattered(o, s, &left);
	return done;
}
