/*
 * cursor_ahead.c
 *	  Prefetches what a cursor will read, according to its role.
 *
 * A cursor that traverses its list can compute the addresses of the next
 * nodes.  It has 1, 2, 4, ... nodes in flight, up to its share, as long as it
 * skips none.  A sought cursor is given the documents that will be sought
 * next, its targets.  It finds their nodes by the last documents of nodes,
 * which it has for its own moves.  It will enter each of these nodes, so no
 * read is wasted.
 *
 * Prefetches are planned once for each node.  If a search needs only one
 * document of each node, the time to find a target's node and to look it up
 * in the cache would still be noticeable.  So a sought cursor plans only
 * while the backend is reading pages.
 *
 * These nodes are prefetched:
 *
 *	  LEAD			node 1 with node 0, then as above
 *	  WHOLE			as many as may be in flight, with node 0
 *	  LEAD_FIRST	node 2 when node 1 is entered, then as above
 *	  PROBE			nodes of targets; without targets as LEAD_FIRST
 *	  SWEEP			as PROBE; after the last target as LEAD, once it has
 *					entered some nodes in a row
 *	  PICK			as PROBE
 *	  RESCAN		none, since another cursor has just read them
 *	  MERGE			as LEAD, and all pages that follow in the planes
 */
#include "postgres.h"

#include "format/disk/disk_page.h"
#include "format/disk/disk_postings.h"
#include "index/cursor/cursor_internal.h"

/*
 * 1/SKX_PREFETCH_LIST_FRACTION of the budget is for lists, if positions are
 * read.
 */
#define SKX_PREFETCH_LIST_FRACTION	4

/*
 * If so many documents are looked up in a list of two nodes, both nodes are
 * likely to be needed.  Most lists of two nodes are small ones that lie
 * across the border of two blocks.
 */
#define SKX_PREFETCH_TWO_NODES_DOCS		8

/* Nodes entered in a row after which the next ones are likely needed, too. */
#define SKX_PREFETCH_AFTER_NODES		4

/*
 * A list that is sought by batches of targets has so many times more nodes
 * prefetched than may be in flight.  Adjacent nodes are read together, so
 * that these are few reads.  Reads that exceed the depth wait in the queue of
 * skx_blkio_prefetch(), and need no further call.
 */
#define SKX_PREFETCH_BATCH_FACTOR		4

/*
 * A list that is swept is read as a whole if it has at most
 * SKX_PREFETCH_ALL_NODES_MAX nodes, and at least SKX_PREFETCH_ALL_SOUGHT_MIN
 * documents are sought for each node. So many nodes are two reads, since
 * adjacent nodes are read together.
 */
#define SKX_PREFETCH_ALL_NODES_MAX		16
#define SKX_PREFETCH_ALL_SOUGHT_MIN	8

/* Number of nodes of a list, at most, that are tested for the cache. */
#define SKX_PREFETCH_CACHE_SAMPLE	32

/*
 * Average size of an encoded position in half bytes.  It serves to guess
 * whether the positions of a posting are on the page where those of its
 * sub-block begin, or on a later one.
 */
#define SKX_POSITION_HALF_BYTES	3

/* Pages of positions of one list that are prefetched before the next list. */
#define SKX_POSITIONS_PREFETCH_PAGES	8

static void
skx_cursor_prefetch_nodes(SkxCursorList *l, const uint32 *pages, int n)
{
	skx_segment_prefetch(l->seg->file, l->nodes.plane, pages, n);
}

/*
 * Returns how many nodes may be prefetched of a list that shares its budget
 * with no other list.
 */
static int
skx_cursor_prefetch_max(const SkxCursorList *l)
{
	return l->prefetch.role == SKX_CURSOR_PROBE_ALL ||
		l->prefetch.role == SKX_CURSOR_PROBE_ANY ?
		Min(SKX_PREFETCH_BATCH_FACTOR * l->seg->prefetch_units,
			SKX_PREFETCH_UNITS_MAX) : l->seg->prefetch_units;
}

/*
 * Returns how many nodes of a list may be prefetched: its part of the budget
 * that it shares with other lists, if it has one.
 */
static int
skx_cursor_prefetch_budget(const SkxCursorList *l)
{
	const SkxCursorBudget *budget = l->prefetch.budget;
	int			most = skx_cursor_prefetch_max(l);

	if (budget == NULL)
		return most;

	/* one node of postings has many pages of positions, which need more */
	if (budget->reads_positions)
		most /= SKX_PREFETCH_LIST_FRACTION;
	return Max(1, most / Max(budget->nleads, 1));
}

/*
 * Prefetches the next nodes of a list that is traversed.  Doubles the window
 * if the last move was to the next node (`in_row`).  Then `window` nodes
 * should be in flight.  They are prefetched once half of them are not, or if
 * they are the last ones of the list.
 */
static void
skx_cursor_prefetch_next(SkxCursorList *l, bool in_row)
{
	SkxCursorPrefetch *a = &l->prefetch;
	const SkxSkiplistCursor *s = &l->nodes;
	int			left = l->moved_back ? s->node : s->list.nnodes - 1 - s->node;
	bool		to_end = a->role == SKX_CURSOR_LEAD ||
		a->role == SKX_CURSOR_MERGE;
	bool		first = l->moved_back ? s->is_last : s->node == 0;
	uint32		pages[SKX_PREFETCH_UNITS_MAX];
	int			wanted;
	int			n = 0;

	if (a->role == SKX_CURSOR_LEAD_ALL)
		a->window = skx_cursor_prefetch_budget(l);
	else if (in_row)
		a->window = Min(Max(1, a->window * 2), skx_cursor_prefetch_budget(l));
	else
		a->window = first && to_end ? 1 : 0;
	wanted = Min(a->window, left);
	if ((int) a->planned_nodes >= wanted ||
		((wanted - (int) a->planned_nodes) * 2 < a->window && wanted < left))
		return;
	while ((int) a->planned_nodes < wanted)
	{
		a->planned_nodes++;
		pages[n++] = skx_skiplist_node_page(s, l->moved_back ? s->node -
											a->planned_nodes :
											s->node + a->planned_nodes);
	}
	skx_cursor_prefetch_nodes(l, pages, n);
}

/*
 * Prefetches the nodes of the next targets, once at least half of the nodes
 * that may be in flight are not.
 */
static void
skx_cursor_prefetch_targets(SkxCursorList *l)
{
	SkxCursorPrefetch *a = &l->prefetch;
	SkxSkiplistCursor *s = &l->nodes;
	uint32		pages[SKX_PREFETCH_UNITS_MAX];
	int			most = skx_cursor_prefetch_max(l);
	int			room = most - a->in_flight;
	uint32		node = s->node;
	uint32		last = s->node_last;
	int			n = 0;

	if (room * 2 < most || a->ntargets == 0 ||
		!skx_segment_has_read(&a->page_reads))
		return;
	while (a->ntargets > 0 && n < room)
	{
		if (*a->targets > last)
		{
			if (!skx_skiplist_find_node(s, *a->targets, &node))
				break;
			if (node >= s->list.nnodes)
			{
				a->ntargets = 0;
				break;
			}
			last = s->table_last != NULL ? s->table_last[node] :
				s->forward_last[node - s->node - 1];
			if (node > s->node + a->planned_nodes)
				pages[n++] = skx_skiplist_node_page(s, node);
			a->planned_nodes = Max(a->planned_nodes, node - s->node);
		}
		a->targets++;
		a->ntargets--;
	}
	/* a single node is not prefetched: the cursor enters it at once */
	if (n + a->in_flight < 2)
		return;
	a->in_flight += n;
	skx_cursor_prefetch_nodes(l, pages, n);
}

/* Plans prefetches when a node is entered; called by the skip list. */
static void
skx_cursor_prefetch_on_enter(SkxSkiplistCursor *s, int64 step)
{
	SkxCursorList *l = (SkxCursorList *)
		((char *) s - offsetof(SkxCursorList, nodes));
	SkxCursorPrefetch *a = &l->prefetch;

	if (l->moved_back)
		step = -step;
	a->planned_nodes = step > 0 &&
		step < a->planned_nodes ? a->planned_nodes - step : 0;
	if (a->in_flight > 0)
		a->in_flight--;
	if (s->is_last && !l->moved_back)
		return;
	a->sequential_moves = step == 1 ? a->sequential_moves + 1 : 0;
	if (a->targets == NULL || l->moved_back || a->role == SKX_CURSOR_LEAD_ALL)
		skx_cursor_prefetch_next(l, step == 1);
	else
	{
		skx_cursor_prefetch_targets(l);
		if (a->role == SKX_CURSOR_PROBE_ALL && a->ntargets == 0 &&
			a->sequential_moves >= SKX_PREFETCH_AFTER_NODES)
			skx_cursor_prefetch_next(l, true);
	}
}

/*
 * Sets *page to the first page of a term's list.  Returns false if the list
 * is in the dictionary entry.
 */
static bool
skx_cursor_first_page(const SkxTerm *term, uint32 *page)
{
	switch (term->flags & SKX_TERM_FORM_MASK)
	{
		case SKX_TERM_SHORT:
			*page = term->short_page;
			return true;
		case SKX_TERM_LONG:
			*page = term->long_list.page;
			return true;
		default:
			return false;
	}
}

void
skx_cursor_prefetch_reset(SkxCursorList *l)
{
	SkxCursorPrefetch *a = &l->prefetch;
	SkxSegment *seg = l->seg;
	uint32		page;

	a->budget = NULL;
	a->window = a->in_flight = a->planned_nodes = a->sequential_moves = 0;
	a->pos_planned = a->pos_last = a->pos_window = 0;
	a->page_reads = seg->session->warm_reads;
	a->targets = NULL;
	if (seg->prefetch_units == 0)
		return;
	if (a->role == SKX_CURSOR_MERGE && skx_cursor_first_page(&l->term, &page))
		skx_segment_prefetch_next(seg, SKX_SEGMENT_POSTINGS, page,
								  seg->planes[SKX_SEGMENT_POSTINGS].npages,
								  &a->lists_prefetched);
	if (l->form == SKX_CURSOR_LONG && a->role != SKX_CURSOR_RESCAN)
		l->nodes.on_enter = skx_cursor_prefetch_on_enter;
}

void
skx_cursor_prefetch_positions_after(SkxCursorList *l, uint32 page)
{
	if (l->prefetch.role == SKX_CURSOR_MERGE)
		skx_segment_prefetch_next(l->seg, SKX_SEGMENT_POSITIONS, page,
								  l->seg->planes[SKX_SEGMENT_POSITIONS].npages,
								  &l->prefetch.positions_prefetched);
}

void
skx_cursor_set_lead(SkxCursor *c, SkxCursorRole role, SkxCursorBudget *share)
{
	SkxCursorList *l = skx_cursor_list(c);

	l->prefetch.role = role;
	l->prefetch.budget = share;
	if (share != NULL && l->form == SKX_CURSOR_LONG)
		share->nleads++;
}

/*
 * Returns true if a list has few nodes, and most of them are likely to be
 * needed when `candidates` documents are looked up.
 */
static bool
skx_cursor_reads_all_nodes(const SkxCursorList *l, uint32 candidates)
{
	uint32		nnodes = l->term.long_list.nnodes;

	return l->form == SKX_CURSOR_LONG &&
		nnodes <= SKX_PREFETCH_ALL_NODES_MAX &&
		candidates / SKX_PREFETCH_ALL_SOUGHT_MIN >= nnodes;
}

void
skx_cursor_set_probe_all(SkxCursor *c, uint32 candidates)
{
	SkxCursorList *l = skx_cursor_list(c);

	l->prefetch.budget = NULL;
	l->prefetch.role = SKX_CURSOR_PROBE_ALL;
	if (!skx_cursor_reads_all_nodes(l, candidates))
		return;
	l->prefetch.role = SKX_CURSOR_LEAD_ALL;
	if (l->nodes.on_enter != NULL && l->nodes.node_npages > 0 &&
		!l->nodes.is_last)
		skx_cursor_prefetch_next(l, true);
}

void
skx_cursor_set_probe_any(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	l->prefetch.budget = NULL;
	l->prefetch.role = SKX_CURSOR_PROBE_ANY;
}

void
skx_cursor_set_probe(SkxCursor *c, uint32 candidates)
{
	SkxCursorList *l = skx_cursor_list(c);
	const SkxListAddress *address = &l->term.long_list;
	uint32		pages[SKX_PREFETCH_UNITS_MAX];
	uint32		n;
	uint32		i;

	l->prefetch.role = SKX_CURSOR_PROBE;
	if (l->form != SKX_CURSOR_LONG || !address->has_table ||
		candidates >= address->nnodes || l->seg->prefetch_units == 0)
		return;
	n = Min((address->nnodes - 1) / SKX_NODE_TABLE_MAX + 1,
			SKX_PREFETCH_UNITS_MAX);
	for (i = 0; i < n; i++)
		pages[i] = address->table_page + i;
	skx_cursor_prefetch_nodes(l, pages, n);
}

uint32
skx_cursor_uncached_nodes(const SkxCursor *c)
{
	const SkxCursorList *l = skx_cursor_list(c);
	uint32		missing = 0;
	uint32		step;
	uint32		node;

	if (l->form != SKX_CURSOR_LONG)
		return 0;
	step = l->term.long_list.nnodes / SKX_PREFETCH_CACHE_SAMPLE + 1;
	for (node = step / 2; node < l->term.long_list.nnodes; node += step)
		if (!skx_blkio_page_is_cached(l->seg->file, l->nodes.plane,
									  skx_skiplist_node_page(&l->nodes, node)))
			missing += step;
	return Min(missing, l->term.long_list.nnodes);
}

void
skx_cursor_set_targets(SkxCursor *c, const uint32 *docs, int n)
{
	SkxCursorList *l = skx_cursor_list(c);
	const SkxSkiplistCursor *s = &l->nodes;

	if (l->form != SKX_CURSOR_LONG || s->on_enter == NULL)
		return;
	l->prefetch.targets = n > 0 ? docs : NULL;
	l->prefetch.ntargets = n;
	if (n > 0 && s->node_npages > 0 && !s->is_last &&
		l->prefetch.role != SKX_CURSOR_LEAD_ALL && docs[n - 1] > s->node_last)
		skx_cursor_prefetch_targets(l);
}

bool
skx_cursor_first_pages_begin(SkxCursorFirstPages *starts, SkxSegment *seg)
{
	starts->seg = seg;
	starts->n = 0;
	return seg->prefetch_units > 0;
}

void
skx_cursor_first_pages_add(SkxCursorFirstPages *starts, const SkxTerm *term,
						   uint32 candidates)
{
	uint32		unit = starts->seg->planes[SKX_SEGMENT_POSTINGS].unit;
	uint32	   *page = &starts->pages[starts->n];

	if (term->df == 0 || starts->n >= (int) lengthof(starts->pages) - 1 ||
		!skx_cursor_first_page(term, page))
		return;
	starts->n++;
	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG &&
		term->long_list.nnodes == 2 &&
		candidates >= SKX_PREFETCH_TWO_NODES_DOCS)
		starts->pages[starts->n++] = (*page / unit + 1) * unit;
}

/* Adds the first page of the node table of a term's list, if it has one. */
static void
skx_cursor_add_table_page(SkxCursorFirstPages *starts, const SkxTerm *term)
{
	if (term->df > 0 && (term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG &&
		term->long_list.has_table &&
		starts->n < (int) lengthof(starts->pages) - 1)
		starts->pages[starts->n++] = term->long_list.table_page;
}

void
skx_cursor_first_pages_prefetch(SkxCursorFirstPages *starts, int least)
{
	skx_segment_prefetch_pages(starts->seg, SKX_SEGMENT_POSTINGS,
							   starts->pages, starts->n, least);
}

void
skx_cursor_prefetch_terms(SkxSegment *seg, const SkxTerm *terms, int n)
{
	SkxCursorFirstPages starts;
	int			i;

	if (!skx_cursor_first_pages_begin(&starts, seg))
		return;
	for (i = 0; i < n; i++)
	{
		skx_cursor_first_pages_add(&starts, &terms[i], 0);
		skx_cursor_add_table_page(&starts, &terms[i]);
	}
	skx_cursor_first_pages_prefetch(&starts, 2);
}

/* Returns a guess of the page that has the positions at an address. */
static uint32
skx_cursor_guess_positions_page(const SkxPositionsRef *place)
{
	uint32		bytes = place->offset - SKX_PAGE_START +
		place->first_position * SKX_POSITION_HALF_BYTES / 2;

	return place->page + Min(bytes / SKX_PAGE_CAPACITY,
							 SKX_POSITIONS_PREFETCH_PAGES - 1);
}

/*
 * Returns an estimate of the last page of the list's positions.  It assumes
 * that the cursor has passed the same share of the positions as of the list
 * itself, and that the last node of the list is half full.
 */
static uint32
skx_cursor_last_positions_page(const SkxCursorList *l)
{
	const SkxSkiplistCursor *s = &l->nodes;
	uint32		start = l->term.long_list.page;
	uint32		at;
	uint32		end;
	uint32		unit;

	if (l->form != SKX_CURSOR_LONG || !l->positions.start_is_set)
		return l->prefetch.pos_last;
	unit = s->plane->unit;
	at = s->node_page + s->portion;
	end = s->node_page + s->node_npages;
	if (!s->is_last)
		end = (start / unit + s->list.nnodes - 1) * unit + (unit + 1) / 2;
	return l->term.pos_page +
		(uint64) (l->positions.subblock_start.page - l->term.pos_page + 1) *
		Max(end - start, 1) / (at - start + 1);
}

/*
 * Prefetches the pages of positions at places[i] and some addresses after it,
 * and returns the first address left out.  If the addresses have reached a
 * further page and skipped none, also prefetches the pages that follow: twice
 * as many each time.
 */
static int
skx_cursor_prefetch_some(SkxCursorList *l, const SkxPositionsRef *places,
						 int i, int n)
{
	SkxCursorPrefetch *a = &l->prefetch;
	const SkxBlkPlane *plane = &l->seg->planes[SKX_SEGMENT_POSITIONS];
	uint32		pages[2 * SKX_POSITIONS_PREFETCH_PAGES +
					  SKX_PREFETCH_UNITS_MAX];
	uint32		next = a->pos_planned;
	uint32		last = a->pos_last;
	bool		skipped = false;
	int			npages = 0;

	if (l->term.flags & SKX_TERM_OWN_POSITIONS)
		return n;
	for (; i < n && npages < SKX_POSITIONS_PREFETCH_PAGES; i++)
	{
		if (places[i].tf == 0)
			continue;
		skipped |= places[i].page > next;
		next = Max(next, places[i].page);
		last = skx_cursor_guess_positions_page(&places[i]);
		while (next <= last)
			pages[npages++] = next++;
	}
	if (skipped)
		a->pos_window = 0;
	else if (last > a->pos_last)
		a->pos_window = Min(Max(a->pos_window * 2, 1), l->seg->prefetch_units);
	a->pos_last = last;
	if ((last + 1 + a->pos_window - next) * 2 >= a->pos_window)
	{
		last = Min(last + a->pos_window,
				   Max(last, skx_cursor_last_positions_page(l)));
		last = Min(last, plane->npages - 1);
		while (next <= last)
			pages[npages++] = next++;
	}
	a->pos_planned = next;
	skx_segment_prefetch(l->seg->file, plane, pages, npages);
	return i;
}

int
skx_cursor_prefetch_positions(SkxCursor **cursors, SkxPositionsRef **places,
							  int ncursors, int i, int n, bool cold)
{
	int		   *at;
	int			k;

	if (ncursors == 0 || !cold ||
		skx_cursor_list(cursors[0])->seg->prefetch_units == 0)
		return i + 1;
	at = palloc(sizeof(int) * ncursors);
	for (k = 0; k < ncursors; k++)
		at[k] = i;
	for (;;)
	{
		int			least = 0;

		for (k = 1; k < ncursors; k++)
			if (at[k] < at[least])
				least = k;
		if (at[least] >= n)
			break;
		at[least] = skx_cursor_prefetch_some(skx_cursor_list(cursors[least]),
											 places[least], at[least], n);
	}
	pfree(at);
	return n;
}
