/*
 * order_share.c
 *	  Divides the keys of a column among the processes of a search.
 */
#include "postgres.h"

#include "answer/order/order_internal.h"
#include "answer/order/order_share.h"
#include "format/disk/disk_keys.h"

void
skx_order_share_init(SkxOrderedShared *share)
{
	skx_exec_share_init(&share->parts);
	share->nbounds = 0;
}

/*
 * Lets a part begin at the key, if it is in the range and above the last
 * bound.
 */
static void
skx_order_share_add_bound(SkxOrderedShared *share, const SkxKeyRange *range,
						  uint64 key)
{
	int			n = share->nbounds;

	if (key <= range->least || key > range->most ||
		n == SKX_ORDERED_PARTS - 1 || (n > 0 && key <= share->bounds[n - 1]))
		return;
	share->bounds[share->nbounds++] = key;
}

/*
 * Returns about how many documents of other parts a process looks at for a
 * part: those in groups of documents in which its own part has some, too.  They
 * are more, the less the column follows the order of the documents.
 */
static double
skx_order_share_overlap(SkxKeyReader *keys, double ndocs,
						const uint64 *quantiles, int n)
{
	double		others = 0;
	int			nranges = 0;
	int			i;

	for (i = 0; i + 1 < n; i++)
	{
		SkxKeyRange range = {quantiles[i], quantiles[i + 1] - 1};

		if (quantiles[i] == quantiles[i + 1])
			continue;
		others += skx_segment_keys_to_test(keys, &range) -
			skx_segment_keys_fraction(keys, &range) * ndocs;
		nranges++;
	}
	return nranges > 0 ? others / nranges : 0;
}

/*
 * Divides the keys at their quantiles, and evenly between each two of these.
 * For few parts, uses only some of the quantiles.  All parts together look at
 * two times as many documents as there are at most, about.
 */
static void
skx_order_share_quantiles(SkxOrderedShared *share, SkxKeyReader *keys,
						  double ndocs, const SkxKeyRange *range, int parts)
{
	uint64		quantiles[SKX_KEY_QUANTILES];
	int			n = skx_segment_keys_quantiles(keys, quantiles);
	double		overlap = skx_order_share_overlap(keys, ndocs, quantiles, n);
	double		most = ndocs / Max(overlap, 1);
	int			each;
	int			stride;
	int			i;
	int			k;

	parts = (int) Max(Min(parts, most), 1);
	each = (parts + SKX_KEY_QUANTILES - 2) / (SKX_KEY_QUANTILES - 1);
	stride = Max((SKX_KEY_QUANTILES - 1) / parts, 1);
	for (i = 0; i + 1 < n; i += stride)
	{
		uint64		step = (quantiles[i + 1] - quantiles[i]) / each;

		for (k = 0; k < each; k++)
			skx_order_share_add_bound(share, range, quantiles[i] + k * step);
	}
}

/*
 * Each part reads all pending documents.  All parts together read at most one
 * for this many documents of the segments.
 */
#define SKX_ORDERED_PENDING_RATIO	4

/* Returns the largest number of parts, given the pending documents. */
static int
skx_order_share_max_parts(const SkxOrderedRequest *request, int parts)
{
	const SkxView *view = request->view;
	SkxPendingTotals pending;
	uint64		ndocs = 0;
	int			i;

	for (i = 0; i < view->nsegments; i++)
		ndocs += view->segments[i].ndocs;
	skx_pending_totals(request->index, view, &pending, NULL);
	ndocs /= SKX_ORDERED_PENDING_RATIO * Max(pending.ndocs, 1);
	return (int) Min((uint64) Min(parts, SKX_ORDERED_PARTS), ndocs);
}

void
skx_order_share_split(SkxOrderedShared *share,
					  const SkxOrderedRequest *request, int parts)
{
	const SkxView *view = request->view;
	SkxSnapshotReader *source;
	SkxKeyReader *keys;
	SkxKeyRange range;
	int			largest = 0;
	int			i;

	parts = skx_order_share_max_parts(request, parts);
	if (view->nsegments == 0 || parts <= 1)
		return;
	for (i = 1; i < view->nsegments; i++)
		if (view->segments[i].ndocs > view->segments[largest].ndocs)
			largest = i;
	source = skx_snapshot_open(request->index, view);
	keys = skx_order_keys(request, skx_snapshot_open_segment(source, largest));
	if (skx_order_range(request, keys, &range))
		skx_order_share_quantiles(share, keys, view->segments[largest].ndocs,
								  &range, parts);
	skx_segment_keys_close(keys);
	skx_snapshot_close(source);
}

bool
skx_order_share_next_part(SkxOrderedShared *share,
						  const SkxOrderedRequest *request,
						  SkxOrderedPart *part)
{
	uint64		number = skx_exec_share_next(&share->parts);
	uint64		nvalues = share->nbounds + 1;

	/* a range contains no NULL */
	bool		nulls = request->range == NULL;
	uint64		i = number;

	if (number >= nvalues + (nulls ? 1 : 0))
		return false;
	part->nulls = nulls && number == (request->nulls_first ? 0 : nvalues);
	if (part->nulls)
		return true;
	if (nulls && request->nulls_first)
		i--;
	if (request->descending)
		i = nvalues - 1 - i;
	part->range.least = i == 0 ? 0 : share->bounds[i - 1];
	part->range.most = i + 1 == nvalues ? PG_UINT64_MAX : share->bounds[i] - 1;
	return true;
}
