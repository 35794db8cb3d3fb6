/*
 * query_chain.c
 *	  Phrases that are chains of plain lexemes, a <d1> b <d2> c ...
 *
 * Matched by intersecting position lists from left to right: what survives
 * link i are the positions of link i that complete the phrase so far.
 *
 * Candidates are verified in batches, link by link: where the positions of a
 * batch lie is known before any of them is read, and their pages are asked
 * for together.  Nothing is asked for of a document that an earlier link has
 * ruled out, but of the first two links: they are read for each candidate.
 */
#include "postgres.h"

#include "read/query/query_internal.h"

/* Positions that are compared at once. */
#define SKX_CHAIN_LANES		8

typedef uint16 SkxLanes __attribute__((vector_size(2 * SKX_CHAIN_LANES)));

typedef struct SkxCandidate
{
	uint16	   *left;			/* positions that complete the phrase so far */
	int			nleft;
} SkxCandidate;

struct SkxChain
{
	const SkxQueryNode *node;
	SkxCursor **lists;			/* of the links */
	bool		owns_lists;
	int			size;			/* of the arrays, in candidates */
	const SkxReads *reads;		/* of the phrase */
	SkxPositionPlace *places[2];	/* of the first two links, or the next */
	SkxCandidate *candidates;
	uint16	   *positions;		/* of candidates, one after the other; there
								 * is room for SKX_POSITIONS_MAX each */

	/* with borrowed lists */
	SkxReads	own_reads;
	const uint32 *placed;		/* documents, the candidates among them, */
	SkxPositionPlace *const *given; /* and by link where positions are in them */
};

SkxChain *
skx_query_chain_open(const SkxOpening *o, const SkxQueryNode *node,
					 const SkxReads *reads)
{
	SkxChain   *chain = palloc0(sizeof(SkxChain));
	const char *operands = GETOPERAND(node->phrase->query);
	int			i;

	chain->node = node;
	chain->reads = reads;
	chain->owns_lists = true;
	chain->lists = palloc(sizeof(SkxCursor *) * node->phrase->nlinks);
	for (i = 0; i < node->phrase->nlinks; i++)
	{
		const QueryOperand *link = node->phrase->links[i];
		int			slot = skx_query_lexeme(o->query,
											operands + link->distance,
											link->length);

		if (o->terms[slot].df == 0)
			elog(ERROR, "phrase of a lexeme that the segment lacks");

		/* Their nodes are read for the conjunction. */
		chain->lists[i] = skx_cursor_open(o->seg, &o->terms[slot],
										  SKX_CURSOR_RESCAN);
	}
	return chain;
}

static void
skx_query_chain_free_batch(SkxChain *chain)
{
	if (chain->size == 0)
		return;
	pfree(chain->places[0]);
	pfree(chain->places[1]);
	pfree(chain->candidates);
	pfree(chain->positions);
}

void
skx_query_chain_close(SkxChain *chain)
{
	int			i;

	for (i = 0; chain->owns_lists && i < chain->node->phrase->nlinks; i++)
		skx_cursor_close(chain->lists[i]);
	pfree(chain->lists);
	skx_query_chain_free_batch(chain);
	pfree(chain);
}

/* Makes room for a batch. */
static void
skx_query_chain_reserve(SkxChain *chain, int n)
{
	if (n <= chain->size)
		return;
	skx_query_chain_free_batch(chain);
	chain->places[0] = palloc(sizeof(SkxPositionPlace) * n);
	chain->places[1] = palloc(sizeof(SkxPositionPlace) * n);
	chain->candidates = palloc(sizeof(SkxCandidate) * n);
	chain->positions = palloc(sizeof(uint16) * SKX_POSITIONS_MAX * n);
	chain->size = n;
}

int
skx_query_positions(uint16 *positions, int n, uint8 labels)
{
	int			kept = 0;
	int			i;

	if (labels == 0)
	{
		for (i = 0; i < n; i++)
			positions[i] = SKX_POSITION(positions[i]);
		return n;
	}
	for (i = 0; i < n; i++)
	{
		if ((SKX_LABEL_BIT(positions[i]) & labels) != 0)
			positions[kept++] = SKX_POSITION(positions[i]);
	}
	return kept;
}

/* How often groups of positions are compared, if each one is with all. */
static inline int
skx_query_chain_comparisons(int nleft, int nright)
{
	return nleft * ((nright + SKX_CHAIN_LANES - 1) / SKX_CHAIN_LANES);
}

/* A group of n positions, or of the first ones of them; others are 0. */
static inline SkxLanes
skx_query_chain_lanes(const uint16 *positions, int n)
{
	const SkxLanes numbers = {0, 1, 2, 3, 4, 5, 6, 7};
	const uint16 limit = Min(n, SKX_CHAIN_LANES);
	const SkxLanes limits = {limit, limit, limit, limit,
	limit, limit, limit, limit};
	SkxLanes	lanes;

	memcpy(&lanes, positions, sizeof(lanes));
	return SKX_POSITION(lanes) & (SkxLanes) (numbers < limits);
}

static inline SkxLanes
skx_query_chain_equal(SkxLanes lanes, uint16 wanted)
{
	const SkxLanes all = {wanted, wanted, wanted, wanted,
	wanted, wanted, wanted, wanted};

	return (SkxLanes) (lanes == all);
}

static inline bool
skx_query_chain_any(SkxLanes found)
{
	uint64		halves[2];

	memcpy(halves, &found, sizeof(halves));
	return (halves[0] | halves[1]) != 0;
}

/*
 * Each of `left` with all of `right`, which has room for a group more.  Few are
 * compared in less time than branches take that go one way or the other.
 */
static int
skx_query_chain_compare(uint16 *left, int nleft, const uint16 *right,
						int nright, int distance)
{
	const SkxLanes first = skx_query_chain_lanes(right, nright);
	int			kept = 0;
	int			i;
	int			j;

	for (i = 0; i < nleft; i++)
	{
		uint16		wanted = SKX_POSITION(left[i]) + distance;
		SkxLanes	found = skx_query_chain_equal(first, wanted);

		for (j = SKX_CHAIN_LANES; j < nright; j += SKX_CHAIN_LANES)
			found |= skx_query_chain_equal(skx_query_chain_lanes(right + j,
																 nright - j),
										   wanted);
		left[kept] = wanted;
		kept += skx_query_chain_any(found) && wanted > 0;
	}
	return kept;
}

/*
 * Keeps the positions of `left` that lie `distance` before one of `right`, as
 * those of `right`; without labels.  TS_execute finds nothing at position 0,
 * which only a value that came in binary can have.
 */
static int
skx_query_chain_join(uint16 *left, int nleft, const uint16 *right, int nright,
					 int distance)
{
	int			kept = 0;
	int			i = 0;
	int			j;

	if (skx_query_chain_comparisons(nleft, nright) <= nleft + nright)
		return skx_query_chain_compare(left, nleft, right, nright, distance);
	for (j = 0; j < nright; j++)
	{
		int			wanted = SKX_POSITION(right[j]);

		while (i < nleft && SKX_POSITION(left[i]) + distance < wanted)
			i++;
		if (i >= nleft)
			break;
		if (SKX_POSITION(left[i]) + distance == wanted)
		{
			if (wanted > 0)
				left[kept++] = wanted;
			i++;
		}
	}
	return kept;
}

/* Positions of a link of the phrase in a document, with the labels asked for. */
static inline int
skx_query_chain_positions(SkxCursor *list, const SkxPositionPlace *place,
						  uint8 labels, uint16 *positions)
{
	int			n = skx_cursor_positions_at(list, place, positions);

	return labels == 0 ? n : skx_query_positions(positions, n, labels);
}

/* Where the positions of a link are in a document; false: it has none. */
static inline bool
skx_query_chain_place(SkxChain *chain, int link, uint32 doc, int *at,
					  SkxPositionPlace *place)
{
	if (chain->given != NULL)
	{
		while (chain->placed[*at] != doc)
			(*at)++;
		*place = chain->given[link][*at];
	}
	else if (!skx_cursor_locate(chain->lists[link], doc, place))
		return false;
	return place->tf > 0;
}

/*
 * Finds where the positions of a link are in documents, and drops those where
 * it has none.  What belongs to the documents moves with them.
 */
static int
skx_query_chain_locate(SkxChain *chain, int link, uint32 *docs, int n,
					   SkxPositionPlace *places)
{
	int			kept = 0;
	int			at = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (!skx_query_chain_place(chain, link, docs[i], &at, &places[kept]))
			continue;
		docs[kept] = docs[i];
		if (link == 1)
			chain->places[0][kept] = chain->places[0][i];
		else if (link > 1)
			chain->candidates[kept] = chain->candidates[i];
		kept++;
	}
	return kept;
}

/*
 * Asks for the pages of `nlinks` links from `first` on of the candidates from
 * `i` on; returns the first candidate not decided on.
 */
static int
skx_query_chain_ask(SkxChain *chain, int first, int nlinks, int i, int n)
{
	return skx_cursor_ask_places(chain->lists + first, chain->places, nlinks,
								 i, n, skx_query_reads_cold(chain->reads));
}

/*
 * The first two links.
 */
static int
skx_query_chain_begin(SkxChain *chain, uint32 *docs, int n)
{
	const SkxQueryPhrase *phrase = chain->node->phrase;
	uint8		labels[2] = {phrase->links[0]->weight, phrase->links[1]->weight};
	uint16		right[SKX_POSITIONS_MAX + SKX_CHAIN_LANES];
	uint16	   *left = chain->positions;
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, 0, docs, n, chain->places[0]);
	n = skx_query_chain_locate(chain, 1, docs, n, chain->places[1]);
	for (i = 0; i < n; i++)
	{
		int			nleft;
		int			nright;

		if (i >= asked && i % SKX_PHRASE_LOOK == 0)
			asked = skx_query_chain_ask(chain, 0, 2, i, n);
		/* those that are compared in groups first: they are to be stored then */
		nright = skx_query_chain_positions(chain->lists[1], &chain->places[1][i],
										   labels[1], right);
		nleft = skx_query_chain_positions(chain->lists[0], &chain->places[0][i],
										  labels[0], left);
		nleft = skx_query_chain_join(left, nleft, right, nright,
									 phrase->distances[1]);
		docs[kept] = docs[i];
		chain->candidates[kept].left = left;
		chain->candidates[kept].nleft = nleft;
		kept += nleft > 0;
		if (phrase->nlinks > 2)
			left += nleft;
	}
	return kept;
}

/*
 * A further link.
 */
static int
skx_query_chain_go_on(SkxChain *chain, int link, uint32 *docs, int n)
{
	SkxCursor  *list = chain->lists[link];
	uint8		labels = chain->node->phrase->links[link]->weight;
	int			distance = chain->node->phrase->distances[link];
	uint16		right[SKX_POSITIONS_MAX + SKX_CHAIN_LANES];
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, link, docs, n, chain->places[0]);
	for (i = 0; i < n; i++)
	{
		SkxCandidate candidate = chain->candidates[i];
		int			nright;

		if (i >= asked && i % SKX_PHRASE_LOOK == 0)
			asked = skx_query_chain_ask(chain, link, 1, i, n);
		nright = skx_query_chain_positions(list, &chain->places[0][i], labels,
										   right);
		candidate.nleft = skx_query_chain_join(candidate.left, candidate.nleft,
											   right, nright, distance);
		docs[kept] = docs[i];
		chain->candidates[kept] = candidate;
		kept += candidate.nleft > 0;
	}
	return kept;
}

int
skx_query_chain_batch(SkxChain *chain, uint32 *docs, int n)
{
	int			left;
	int			link;

	skx_query_chain_reserve(chain, n);
	left = skx_query_chain_begin(chain, docs, n);
	for (link = 2; link < chain->node->phrase->nlinks && left > 0; link++)
		left = skx_query_chain_go_on(chain, link, docs, left);
	return left;
}

int
skx_query_rest_links(const SkxQuery *rest)
{
	const SkxQueryNode *root = rest->root;

	if (root->kind != SKX_NODE_AND || root->nchildren != 1 ||
		root->children[0]->kind != SKX_NODE_PHRASE)
		return 0;
	return root->children[0]->phrase->nlinks;
}

int
skx_query_rest_link(const SkxQuery *rest, int link)
{
	const SkxQueryNode *node = rest->root->children[0];
	const QueryOperand *operand = node->phrase->links[link];

	return skx_query_lexeme(rest, GETOPERAND(node->phrase->query) + operand->distance,
							operand->length);
}

SkxChain *
skx_query_chain_borrow(const SkxQuery *rest, SkxCursor **lists)
{
	SkxChain   *chain = palloc0(sizeof(SkxChain));
	int			n = skx_query_rest_links(rest);

	chain->node = rest->root->children[0];
	chain->reads = &chain->own_reads;
	chain->lists = palloc(sizeof(SkxCursor *) * n);
	memcpy(chain->lists, lists, sizeof(SkxCursor *) * n);
	return chain;
}

int
skx_query_chain_verify(SkxChain *chain, uint32 *docs, int n,
					   const uint32 *placed, SkxPositionPlace *const *places)
{
	skx_query_reads_begin(&chain->own_reads);
	chain->placed = placed;
	chain->given = places;
	return skx_query_chain_batch(chain, docs, n);
}
