/*
 * test_cursor_moves.c
 *	  Cursors over lists of every form against plain arrays: forward, backward,
 *	  within a range of documents, many documents at once; their bounds; and
 *	  the pages that are read ahead by role.
 *
 * Holds: cursor 1, 2, 3, 5, 7, 8, 10; skiplist 10
 */
#include "unit.h"
#include "server.h"
#include "unit_error.h"

#include "format/rank/rank_score.h"

#define DOCS		400000
#define UNIT_WATCHES_PAGES

#include "unit_segment.h"
#include "index/cursor/cursor_sum.h"

static uint8 unit_norms[DOCS];

/* ---- lists ---- */

/* inline, short, of one node, of some, of many */
static const uint32 unit_dfs[] = {
	1, 2, 3, 40, 127, 128, 129, 1000, 20000, 150000
};

#define LISTS		((int) lengthof(unit_dfs))

typedef struct UnitList
{
	uint32		n;
	uint32	   *docs;
	uint16	   *tfs;
	float	   *counts;
	int32	   *bounds;
	SkxTerm		term;
	SkxCursorMemory memory;
} UnitList;

/* A list of the segment, one in memory, or one that is there in part. */
typedef enum UnitForm
{
	UNIT_LAID_OUT,
	UNIT_MEMORY,
	UNIT_RANGES
} UnitForm;

static UnitList unit_lists[LISTS];
static float unit_inverse[256];
static UnitSegment unit_segment;

/* The positions of a posting: a function of its document. */
static int
unit_positions(const UnitList *u, uint32 i, uint16 *positions)
{
	int			k;

	for (k = 0; k < u->tfs[i]; k++)
		positions[k] = (1 + u->docs[i] % 100 + k * 7) |
			(u->docs[i] % 3 == 0 && k == 0 ? 2 << 14 : 0);
	return u->tfs[i];
}

static uint8
unit_labels(const UnitList *u, uint32 i)
{
	if (u->tfs[i] == 0)
		return 0;
	if (u->docs[i] % 3 != 0)
		return 1 << 0;
	return u->tfs[i] == 1 ? 1 << 2 : 1 << 2 | 1 << 0;
}

/* What posting i gives. */
static int32
unit_part(const UnitList *u, uint32 i)
{
	return skx_rank_contribution(1e6f, Max(u->tfs[i], 1),
						 unit_inverse[unit_norms[u->docs[i]]]);
}

static void
unit_make(UnitList *u, uint32 df)
{
	uint32		gap = DOCS / df;
	uint32		doc = 0;
	uint32		i;

	u->n = df;
	u->docs = malloc(df * sizeof(uint32));
	u->tfs = malloc(df * sizeof(uint16));
	u->counts = malloc(df * sizeof(float));
	u->bounds = calloc(df / SKX_SUBBLOCK + 1, sizeof(int32));
	for (i = 0; i < df; i++)
	{
		doc += unit_below(gap) + (i > 0);
		u->docs[i] = doc;
		u->tfs[i] = unit_below(10) == 0 ? 0 : 1 + unit_below(4);
		u->counts[i] = u->tfs[i] + 0.5f;
		u->bounds[i / SKX_SUBBLOCK] = Max(u->bounds[i / SKX_SUBBLOCK],
										  unit_part(u, i));
	}
	CHECK(doc < DOCS);
	u->memory.n = df;
	u->memory.docs = u->docs;
	u->memory.counts = u->counts;
	u->memory.bounds = u->bounds;
}

static void
unit_write(SkxTermWriter *w, const UnitList *u, const char *lexeme)
{
	SkxPosting	p;
	uint64		npositions = 0;
	uint8		flags = 0;
	uint32		i;

	for (i = 0; i < u->n; i++)
	{
		npositions += u->tfs[i];
		if (u->tfs[i] == 0)
			flags |= SKX_TERM_NO_POSITIONS;
		else if (u->docs[i] % 3 == 0)
			flags |= SKX_TERM_LABELS;
	}
	skx_writer_term_begin(w, lexeme, strlen(lexeme), u->n, npositions, flags);
	for (i = 0; i < u->n; i++)
	{
		p.doc = u->docs[i];
		p.norm = unit_norms[p.doc];
		p.tf = unit_positions(u, i, p.positions);
		p.has_labels = p.tf > 0 && p.doc % 3 == 0;
		skx_writer_term_posting(w, &p);
	}
	skx_writer_term_end(w);
}

static void
unit_build(void)
{
	UnitSegment *us = &unit_segment;
	SkxTermSinks sinks = {unit_sink, &us->planes[SKX_SEGMENT_DICT],
		&us->planes[SKX_SEGMENT_POSTINGS],
	&us->planes[SKX_SEGMENT_POSITIONS]};
	SkxSegmentBuildOptions options = {0};
	SkxTermTotals totals;
	SkxDictLeaves leaves;
	SkxTermWriter *w;
	char		lexeme[8];
	int			i;

	options.block_size = unit_block_pages * BLCKSZ;
	options.k1 = 1.2;
	options.b = 0.75;
	memset(us, 0, sizeof(*us));
	w = skx_writer_terms_begin(&sinks, &options, unit_norms, 10);
	for (i = 0; i < LISTS; i++)
	{
		snprintf(lexeme, sizeof(lexeme), "l%02d", i);
		unit_write(w, &unit_lists[i], lexeme);
	}
	skx_writer_terms_leaves(w, &totals, &leaves);
	unit_open(us, LISTS, &leaves);
	for (i = 0; i < LISTS; i++)
	{
		snprintf(lexeme, sizeof(lexeme), "l%02d", i);
		CHECK(skx_segment_find(&us->seg, lexeme, strlen(lexeme),
							   &unit_lists[i].term));
	}
}

/* ---- the array's answers ---- */

static uint32
unit_first(const UnitList *u, uint32 target)
{
	uint32		low = 0;
	uint32		high = u->n;

	while (low < high)
	{
		uint32		mid = (low + high) / 2;

		if (u->docs[mid] < target)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32
unit_at_or_after(const UnitList *u, uint32 target, uint32 from, uint32 to)
{
	uint32		i = unit_first(u, Max(target, from));

	return i < u->n && u->docs[i] < to ? u->docs[i] : SKX_NO_DOC;
}

static uint32
unit_at_or_before(const UnitList *u, uint32 target, uint32 from, uint32 to)
{
	uint32		i;

	if (to <= from)
		return SKX_NO_DOC;
	i = unit_first(u, Min(target, to - 1) + 1);
	return i > 0 && u->docs[i - 1] >= from ? u->docs[i - 1] : SKX_NO_DOC;
}

/* ---- a list that is there in part ---- */

#define RANGE_MOST	1000		/* postings that are there at a time */

typedef struct UnitRanges
{
	SkxCursorMemory memory;		/* first */
	const UnitList *u;
	bool		ended;
	int			asked;
	uint32		docs[RANGE_MOST];
	float		counts[RANGE_MOST];
	int32		bounds[RANGE_MOST / SKX_SUBBLOCK + 1];
} UnitRanges;

static UnitRanges unit_ranges;

/* Some of what comes at or after the target; in the next range, if any is. */
static bool
unit_more(SkxCursorMemory *m, uint32 target)
{
	UnitRanges *r = (UnitRanges *) m;
	const UnitList *u = r->u;
	uint32		i = unit_first(u, target);
	uint32		most = unit_below(RANGE_MOST) + 1;

	CHECK(!r->ended);
	CHECK(m->n == 0 || m->docs[m->n - 1] < target);
	r->asked++;
	memset(r->docs, 0xFF, sizeof(r->docs));
	memset(r->bounds, 0, sizeof(r->bounds));
	for (m->n = 0; m->n < most && i < u->n; i++)
	{
		int32	   *bound = &r->bounds[m->n / SKX_SUBBLOCK];

		*bound = Max(*bound, unit_part(u, i));
		r->docs[m->n] = u->docs[i];
		r->counts[m->n++] = u->counts[i];
	}
	m->refill_to = i < u->n ? u->docs[i - 1] + 1 +
		unit_below(u->docs[i] - u->docs[i - 1]) : SKX_NO_DOC;
	r->ended = m->n == 0;
	return !r->ended;
}

static SkxCursor *
unit_open_ranges(const UnitList *u)
{
	UnitRanges *r = &unit_ranges;

	memset(r, 0, sizeof(*r));
	r->u = u;
	r->memory.docs = r->docs;
	r->memory.counts = r->counts;
	r->memory.bounds = r->bounds;
	r->memory.refill = unit_more;
	return skx_cursor_open_memory(&unit_segment.seg, &r->memory);
}

/* ---- moves ---- */

static SkxCursor *
unit_cursor(const UnitList *u, UnitForm form, SkxCursorRole role)
{
	if (form == UNIT_RANGES)
		return unit_open_ranges(u);
	if (form == UNIT_MEMORY)
		return skx_cursor_open_memory(&unit_segment.seg,
									  unconstify(SkxCursorMemory *,
												 &u->memory));
	return skx_cursor_open(&unit_segment.seg, &u->term, role);
}

/* What the cursor stands on is the array's posting of the document. */
static void
unit_check_posting(const UnitList *u, SkxCursor *c, UnitForm form)
{
	uint32		i = unit_first(u, c->docs[c->i]);
	uint16		wanted[SKX_POSITIONS_MAX];
	uint16		got[SKX_POSITIONS_MAX];
	int			n = unit_positions(u, i, wanted);

	if (form != UNIT_LAID_OUT)
	{
		CHECK(c->counts[c->i] == u->counts[i]);
		return;
	}
	CHECK(skx_cursor_tfs(c)[c->i] == u->tfs[i]);
	if (unit_below(4) > 0)
		return;
	CHECK(skx_cursor_positions(c, c->i, got) == n);
	CHECK(memcmp(got, wanted, n * sizeof(uint16)) == 0);
	CHECK(skx_cursor_labels(c)->labels[c->i] == unit_labels(u, i));
}

/* From a posting at a time to hundreds. */
static uint32
unit_step(const UnitList *u)
{
	return 1 + unit_below(2 * (DOCS / u->n) * (1 + unit_below(300)));
}

static void
unit_forward(const UnitList *u, UnitForm form, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_LEAD);
	uint32		step = unit_step(u);
	uint32		target = unit_below(step);
	uint32		doc;

	skx_cursor_set_range(c, from, to);
	do
	{
		doc = skx_cursor_seek(c, target);
		CHECK(doc == unit_at_or_after(u, target, from, to));
		if (doc != SKX_NO_DOC)
			unit_check_posting(u, c, form);
		target = (doc == SKX_NO_DOC ? target : doc) + 1 + unit_below(step);
	} while (doc != SKX_NO_DOC);
	CHECK(skx_cursor_seek(c, target) == SKX_NO_DOC && c->at_end);
	skx_cursor_close(c);
}

/* Documents that were found in the bits of sub-blocks that were not decoded. */
static int	unit_undecoded = 0;

/* Where positions are, of documents that are there and others. */
static void
unit_locate(const UnitList *u, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_PROBE);
	uint32		step = unit_step(u);
	uint32		doc = unit_below(step);

	skx_cursor_set_range(c, from, to);
	for (; doc < DOCS; doc += 1 + unit_below(step))
	{
		uint16		wanted[SKX_POSITIONS_MAX];
		uint16		got[SKX_POSITIONS_MAX];
		SkxPositionsRef place;
		uint32		next = unit_at_or_after(u, doc, from, to);
		bool		there;
		int			n;

		if (next != SKX_NO_DOC && unit_below(2) == 0)
			doc = next;
		there = next == doc && doc >= from;
		CHECK(skx_cursor_locate(c, doc, &place) == there);
		if (!there)
			continue;
		n = unit_positions(u, unit_first(u, doc), wanted);
		unit_undecoded += c->docs == NULL;
		CHECK(place.tf == n && skx_cursor_tfs(c)[c->i] == n);
		if (unit_below(4) == 0)
			CHECK(skx_cursor_labels(c)->tf[c->i] == n);
		CHECK(skx_cursor_positions_at(c, &place, got) == n);
		CHECK(memcmp(got, wanted, n * sizeof(uint16)) == 0);
		/* in between, those of the posting before */
		if (c->i > 0 && unit_below(4) == 0)
		{
			skx_cursor_positions_ref(c, c->i - 1, &place);
			CHECK(place.tf == skx_cursor_tfs(c)[c->i - 1]);
		}
		/* whether the sub-block had to be decoded for it or has to be now */
		if (unit_below(8) == 0)
		{
			int			i = c->i;

			CHECK(skx_cursor_seek(c, doc) == doc && c->i == i);
		}
	}
	skx_cursor_close(c);
}

static void
unit_backward(const UnitList *u, UnitForm form, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_LEAD);
	uint32		step = unit_step(u);
	uint32		target = SKX_NO_DOC - 1;
	uint32		doc;

	skx_cursor_set_range(c, from, to);
	for (;;)
	{
		doc = skx_cursor_seek_back(c, target);
		CHECK(doc == unit_at_or_before(u, target, from, to));
		if (doc == SKX_NO_DOC)
			break;
		unit_check_posting(u, c, form);
		if (doc < step)
			break;
		target = doc - 1 - unit_below(step);
	}
	skx_cursor_close(c);
}

/* To and fro: a seek goes on from where the cursor was sent back to. */
static void
unit_both(const UnitList *u, UnitForm form, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_PROBE);
	uint32		reach = unit_below(2) == 0 ? 1000 : DOCS;
	uint32		doc = SKX_NO_DOC;
	int			i;

	skx_cursor_set_range(c, from, to);
	for (i = 0; i < 60; i++)
	{
		uint32		target = unit_below(DOCS + 100);

		if (doc != SKX_NO_DOC && unit_below(2) == 0)
			target = doc - Min(doc, unit_below(reach));
		doc = skx_cursor_seek_back(c, target);
		CHECK(doc == unit_at_or_before(u, target, from, to));
		if (doc != SKX_NO_DOC)
			unit_check_posting(u, c, form);
		target = (doc == SKX_NO_DOC ? 0 : doc) + unit_below(reach);
		doc = skx_cursor_seek(c, target);
		CHECK(doc == unit_at_or_after(u, target, from, to));
		if (doc != SKX_NO_DOC)
			unit_check_posting(u, c, form);
	}
	skx_cursor_close(c);
}

/* ---- many documents at once ---- */

static void
unit_take(const UnitList *u, UnitForm form, uint8 labels, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_LEAD);
	uint32		docs[SKX_SUBBLOCK];
	uint32		i = unit_first(u, from);
	uint32		at = 0;

	skx_cursor_want_labels(c, labels);
	skx_cursor_set_range(c, from, to);
	while (at < DOCS)
	{
		uint32		limit = Min(DOCS, at + 1 + unit_below(DOCS / 3));
		int			n;
		int			k;

		while (at < limit)
		{
			at = skx_cursor_take(c, at, limit, docs, &n);
			for (k = 0; k < n; k++)
			{
				while (labels != 0 && i < u->n && u->tfs[i] != 0 &&
					   (unit_labels(u, i) & labels) == 0)
					i++;
				CHECK(i < u->n && docs[k] == u->docs[i] && docs[k] < limit);
				i++;
			}
		}
	}
	while (labels != 0 && i < u->n && u->tfs[i] != 0 &&
		   (unit_labels(u, i) & labels) == 0)
		i++;
	CHECK(i >= u->n || u->docs[i] >= to);
	skx_cursor_close(c);
}

static void
unit_filter(const UnitList *u, UnitForm form, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_PROBE);
	uint32		docs[1000];
	uint32		wanted[1000];
	uint32		doc = 0;
	int			nwanted = 0;
	int			n = 0;

	while (n < 1000)
	{
		doc = unit_below(2) == 0 ? doc + 1 + unit_below(2 * DOCS / 1000) :
			unit_at_or_after(u, doc + 1, 0, DOCS);
		if (doc >= DOCS)
			break;
		docs[n++] = doc;
		if (unit_at_or_after(u, doc, from, to) == doc && doc >= from)
			wanted[nwanted++] = doc;
	}
	skx_cursor_set_range(c, from, to);
	CHECK(skx_cursor_filter(c, docs, n) == nwanted);
	CHECK(memcmp(docs, wanted, nwanted * sizeof(uint32)) == 0);
	skx_cursor_close(c);
}

static void
unit_fill(const UnitList *u, UnitForm form, uint8 labels, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_LEAD);
	uint64		bits[64];
	uint32		window;

	skx_cursor_want_labels(c, labels);
	skx_cursor_set_range(c, from, to);
	for (window = 0; window < DOCS; window += 4096 * (1 + unit_below(3)))
	{
		uint32		bound = skx_cursor_lower_bound(c, window);
		uint32		next = unit_at_or_after(u, window, from, to);
		uint32		i;

		CHECK(bound >= window && bound <= next);
		memset(bits, 0, sizeof(bits));
		skx_cursor_fill_window(c, window, bits, 64);
		for (i = unit_first(u, window);
			 i < u->n && u->docs[i] < window + 4096; i++)
		{
			uint32		bit = u->docs[i] - window;
			bool		in = u->docs[i] >= from && u->docs[i] < to &&
				(labels == 0 || u->tfs[i] == 0 ||
				 (unit_labels(u, i) & labels) != 0);

			CHECK((bits[bit / 64] >> (bit % 64) & 1) == in);
			bits[bit / 64] &= ~(UINT64CONST(1) << (bit % 64));
		}
		for (i = 0; i < 64; i++)
			CHECK(bits[i] == 0);
	}
	skx_cursor_close(c);
}

/* Windows of any length, some of them left out. */
static void
unit_count(const UnitList *u, UnitForm form, uint32 from, uint32 to)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_LEAD);
	uint64		bits[64];
	uint32		window = 64 * unit_below(64);
	int			nwords;

	skx_cursor_set_range(c, from, to);
	for (; window < DOCS; window += nwords * 64 * (1 + unit_below(3) / 2))
	{
		uint64		wanted = 0;
		uint32		i;

		nwords = 1 + unit_below(64);
		for (i = 0; i < (uint32) nwords; i++)
			bits[i] = unit_random();
		for (i = unit_first(u, window);
			 i < u->n && u->docs[i] - window < (uint32) nwords * 64; i++)
		{
			uint32		bit = u->docs[i] - window;

			wanted += u->docs[i] >= from && u->docs[i] < to &&
				(bits[bit / 64] >> (bit % 64) & 1) != 0;
		}
		CHECK(skx_cursor_count_window(c, window, bits, nwords) == wanted);
	}
	skx_cursor_close(c);
}

/* ---- bounds ---- */

static void
unit_bounds(const UnitList *u, UnitForm form)
{
	SkxCursor  *c = unit_cursor(u, form, SKX_CURSOR_PROBE);
	uint32		from = 0;

	if (skx_cursor_set_weight(c, 1e6f, 1, unit_inverse) < 0)
		skx_cursor_set_bound(c, 1 << 30);
	while (skx_cursor_advance(c, from))
	{
		uint32		width = unit_below(3) == 0 ? DOCS : 3000;
		uint32		to = from + 1 + unit_below(width);
		int32		bound = skx_cursor_bound(c, from, to);
		int32		most = 0;
		int32		most_sub = 0;
		uint32		k;

		for (k = unit_first(u, from);
			 k < u->n && u->docs[k] < Max(to, c->end); k++)
		{
			int32		part = unit_part(u, k);

			if (u->docs[k] < to)
				most = Max(most, part);
			if (u->docs[k] < c->end)
				most_sub = Max(most_sub, part);
		}
		CHECK(bound >= most);
		CHECK(form == UNIT_LAID_OUT || bound < 1 << 30 ||
			  (form == UNIT_RANGES && to > unit_ranges.memory.refill_to));
		CHECK(skx_cursor_bound_subblock(c) >= most_sub);
		if (unit_below(2) == 0)
		{
			int			i;

			(void) skx_cursor_find(c, from);
			for (i = 0; i < c->n; i++)
				CHECK(skx_cursor_bound_norm(c, i) <= unit_norms[c->docs[i]]);
		}
		from += 1 + unit_below(2000);
	}
	skx_cursor_close(c);
}

/* ---- reading ahead ---- */

static int	unit_nasked;		/* pages of postings that were asked for */
static int	unit_nlate;			/* of them, those that had been pinned */
static uint8 *unit_seen;		/* by page: 1: asked for, 2: pinned */

static void
unit_pinned(SkxSegmentPlane plane, uint32 ordinal)
{
	unit_counters[0].loads++;
	if (unit_seen != NULL && plane == SKX_SEGMENT_POSTINGS)
		unit_seen[ordinal] |= 2;
}

static void
unit_asked(SkxSegmentPlane plane, uint32 ordinal)
{
	if (unit_seen == NULL || plane != SKX_SEGMENT_POSTINGS)
		return;
	unit_nasked++;
	unit_nlate += unit_seen[ordinal] != 0;
	unit_seen[ordinal] |= 1;
}

static void
unit_watch(void)
{
	uint32		npages = unit_segment.planes[SKX_SEGMENT_POSTINGS].npages;

	free(unit_seen);
	unit_seen = calloc(npages + 1, 1);
	unit_nasked = unit_nlate = 0;
}

/* Pages that were asked for but never read. */
static int
unit_in_vain(void)
{
	uint32		npages = unit_segment.planes[SKX_SEGMENT_POSTINGS].npages;
	int			n = 0;
	uint32		i;

	for (i = 0; i < npages; i++)
		n += unit_seen[i] == 1;
	return n;
}

/* Of a list sought target by target, beyond these. */
static void
unit_ahead_rows(const UnitList *u)
{
	static const SkxCursorRole roles[] = {SKX_CURSOR_PROBE,
		SKX_CURSOR_PROBE_ALL};
	int			nodes = (int) u->term.long_list.nnodes;
	SkxCursor  *c;
	int			i;
	int			k;

	for (k = 0; k < (int) lengthof(roles); k++)
	{
		unit_watch();
		c = unit_cursor(u, UNIT_LAID_OUT, roles[k]);
		for (i = 0; i <= nodes * 2; i++)
		{
			uint32		target = u->docs[(uint64) (u->n - 1) * i / (nodes * 2)];

			CHECK(skx_cursor_filter(c, &target, 1) == 1);
		}
		CHECK(k == 0 ? unit_nasked == 0 : unit_nasked >= nodes - 8);
		CHECK(unit_in_vain() == 0);
		skx_cursor_close(c);
	}

	/* all that may be in flight with the first node */
	unit_watch();
	c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_LEAD_ALL);
	(void) skx_cursor_next(c);
	CHECK(unit_nasked == Min(nodes - 1, 8));
	skx_cursor_close(c);
}

/* Of a list swept for many candidates, or for a few, that are not known yet. */
static void
unit_ahead_sweep(const UnitList *u)
{
	int			nodes = (int) u->term.long_list.nnodes;
	uint32	   *targets = malloc(sizeof(uint32) * nodes);
	SkxCursor  *c;
	int			i;

	unit_segment.seg.prefetch_units = 8;
	for (i = 0; i < 4; i++)
	{
		bool		many = i % 2 == 1;
		bool		entered = i >= 2;

		unit_watch();
		c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_PROBE);
		if (entered)
			(void) skx_cursor_next(c);
		skx_cursor_set_probe_all(c, 8 * nodes - !many);
		CHECK(entered && many && nodes <= 16 ? unit_nasked > 0 :
			  unit_nasked == 0);
		if (!entered)
			(void) skx_cursor_next(c);
		CHECK(unit_nasked == (many && nodes <= 16 ? Min(nodes - 1, 8) : 0));
		skx_cursor_close(c);
	}

	/* one target a node: more are asked for than may be in flight */
	for (i = 0; i < nodes; i++)
		targets[i] = u->docs[(uint64) (u->n - 1) * i / (nodes - 1)];
	unit_watch();
	c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_PROBE);
	(void) skx_cursor_next(c);
	skx_cursor_set_probe_all(c, nodes);
	skx_cursor_set_targets(c, targets, nodes);
	CHECK(unit_nasked > Min(nodes, 30) / 2 - 1 && unit_nasked <= 4 * 8);
	CHECK(skx_cursor_filter(c, targets, nodes) == nodes);
	skx_cursor_set_targets(c, NULL, 0);
	CHECK(unit_in_vain() == 0);
	skx_cursor_close(c);
	free(targets);
	unit_segment.seg.prefetch_units = 0;
	free(unit_seen);
	unit_seen = NULL;
}

static void
unit_ahead(const UnitList *u)
{
	uint32		nodes = u->term.long_list.nnodes;
	uint32		targets[8];
	SkxCursor  *c;
	int			i;

	unit_segment.seg.prefetch_units = 8;
	for (i = 0; i < 2; i++)
	{
		/* all but the node that it begins with, in either direction */
		unit_watch();
		c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_LEAD);
		if (i == 0)
			while (skx_cursor_next(c))
				;
		else
		{
			uint32		doc = skx_cursor_seek_back(c, DOCS);

			while (doc != SKX_NO_DOC && doc > 0)
				doc = skx_cursor_seek_back(c, doc - 1);
		}
		skx_cursor_close(c);
		CHECK(unit_nasked == (int) nodes - 1);
		CHECK(unit_nlate <= (i == 0 ? 0 : 1));
		CHECK(unit_in_vain() == 0);
	}
	unit_watch();
	c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_LEAD_FIRST);
	(void) skx_cursor_next(c);
	CHECK(unit_nasked == 0);
	skx_cursor_close(c);
	unit_watch();
	c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_RESCAN);
	while (skx_cursor_next(c))
		;
	CHECK(unit_nasked == 0);
	skx_cursor_close(c);

	/* what follows in the plane, whatever the form of the list */
	unit_watch();
	c = skx_cursor_create(&unit_segment.seg, SKX_CURSOR_MERGE);
	skx_cursor_begin_term(c, &unit_lists[3].term);
	CHECK(unit_nasked > 0);
	skx_cursor_close(c);

	/* the nodes of targets, and no other */
	unit_watch();
	c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_PROBE);
	for (i = 0; i < (int) lengthof(targets); i++)
		targets[i] = u->docs[(uint64) u->n * (2 * i + 1) / 16];
	CHECK(skx_cursor_filter(c, targets, lengthof(targets)) ==
		  lengthof(targets));
	CHECK(unit_nasked > 0 && unit_nasked < (int) lengthof(targets) + 1);
	CHECK(unit_nlate == 0 && unit_in_vain() == 0);
	skx_cursor_close(c);

	unit_ahead_rows(u);
	unit_segment.seg.prefetch_units = 0;
	free(unit_seen);
	unit_seen = NULL;
}

/* Postings of documents with bits, of a few to half of all. */
static void
unit_sum(const UnitList *u)
{
	static uint8 bits[DOCS / 8 + 1];
	SkxCursor  *c = unit_cursor(u, UNIT_LAID_OUT, SKX_CURSOR_PROBE);
	SkxCursorSum sum = {0};
	uint64		work = skx_cursor_work.subblocks;
	uint32		step = 1 + unit_below(unit_below(2) == 0 ? 4 : DOCS);
	uint32		ndocs = unit_below(2) == 0 ? DOCS : unit_below(DOCS);
	uint64		npositions = 0;
	uint64		length = 0;
	uint32		df = 0;
	uint32		nbits = 0;
	uint32		i;

	memset(bits, 0, sizeof(bits));
	for (i = unit_below(step); i < DOCS; i += 1 + unit_below(step), nbits++)
		skx_bitset_bytes_set(bits, i);
	for (i = 0; i < u->n && u->docs[i] < ndocs; i++)
	{
		if (!skx_bitset_bytes_test(bits, u->docs[i]))
			continue;
		df++;
		npositions += u->tfs[i];
		length += Max(u->tfs[i], 1);
	}
	CHECK(skx_cursor_sum(c, bits, ndocs, &sum) == df);
	CHECK(sum.npositions == npositions && sum.length == length);
	CHECK(skx_cursor_work.subblocks - work <= nbits + DOCS / 4096 + 2);
	skx_cursor_begin_term(c, &u->term);
	CHECK(skx_cursor_sum(c, bits, ndocs, NULL) == df);
	skx_cursor_close(c);
}

static void
test_list(const UnitList *u, UnitForm form)
{
	int			i;

	for (i = 0; i < 24; i++)
	{
		uint32		from = 0;
		uint32		to = SKX_NO_DOC;

		if (i >= 8)
		{
			from = unit_below(DOCS);
			to = from + unit_below(i % 2 == 0 ? 300 : DOCS - from);
		}
		unit_forward(u, form, from, to);
		unit_take(u, form, 0, from, to);
		unit_filter(u, form, from, to);
		unit_fill(u, form, 0, from, to);
		unit_count(u, form, from, to);
		if (form == UNIT_RANGES)
			continue;
		unit_backward(u, form, from, to);
		unit_both(u, form, from, to);
		if (form == UNIT_MEMORY)
			continue;
		unit_locate(u, from, to);
		unit_sum(u);
		unit_take(u, UNIT_LAID_OUT, 1 << 2, from, to);
		unit_fill(u, UNIT_LAID_OUT, 1 << 2 | 1 << 1, from, to);
	}
	unit_bounds(u, form);
}

/* No more of a list in parts is asked for than moves need. */
static void
test_parts_left_out(const UnitList *u)
{
	SkxCursor  *c = unit_cursor(u, UNIT_RANGES, SKX_CURSOR_PROBE);
	uint32		last = u->docs[u->n - 1];

	CHECK(skx_cursor_seek(c, u->docs[0]) == u->docs[0]);
	CHECK(skx_cursor_seek(c, last) == last);
	CHECK(unit_ranges.asked == 2);
	CHECK(skx_cursor_seek(c, last + 1) == SKX_NO_DOC);
	CHECK(skx_cursor_seek(c, last + 1) == SKX_NO_DOC);
	CHECK(unit_ranges.asked == 3);
	skx_cursor_close(c);
}

int
main(void)
{
	int			i;

	unit_seed(7);
	/* few documents are short, so that bounds differ */
	for (i = 0; i < DOCS; i++)
		unit_norms[i] = unit_below(5000) == 0 ? unit_below(20) :
			SKX_NORM_MAX / 2 + unit_below(20);
	for (i = 0; i < 256; i++)
		unit_inverse[i] = 1.0f / (0.3f + 0.1f * (float) skx_rank_norm_decode(i));
	for (i = 0; i < LISTS; i++)
		unit_make(&unit_lists[i], unit_dfs[i]);
	test_parts_left_out(&unit_lists[LISTS - 1]);
	for (unit_block_pages = 1; unit_block_pages <= 4; unit_block_pages *= 4)
	{
		unit_build();
		for (i = 0; i < LISTS; i++)
		{
			test_list(&unit_lists[i], UNIT_LAID_OUT);
			test_list(&unit_lists[i], UNIT_MEMORY);
			test_list(&unit_lists[i], UNIT_RANGES);
			if (unit_lists[i].term.long_list.nnodes > 8 && i > LISTS - 3)
				unit_ahead(&unit_lists[i]);
			if (unit_lists[i].term.long_list.nnodes > 2)
				unit_ahead_sweep(&unit_lists[i]);
		}
	}
	CHECK(unit_undecoded > 0);
	return unit_done("cursor_moves");
}
