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

#include "query/query_internal.h"

typedef struct SkxCandidate
{
	uint16	   *left;			/* positions that complete the phrase so far */
	int			nleft;
} SkxCandidate;

struct SkxChain
{
	SkxSegment *seg;
	const SkxQueryNode *node;
	SkxList   **lists;			/* of the links; NULL when one has none */
	int			size;			/* of the arrays, in candidates */
	const SkxReads *reads;		/* of the phrase */
	SkxPositionPlace *places[2];	/* of the first two links, or the next */
	SkxCandidate *candidates;
	uint16	   *positions;		/* SKX_POSITIONS_MAX a candidate */

	/* with lists of somebody else */
	SkxReads	own_reads;
	const uint32 *all;			/* documents, the candidates among them, */
	SkxPositionPlace *const *given; /* and by link where positions are in
									 * them */
};

SkxChain *
skx_query_chain_open(const SkxOpening *o, const SkxQueryNode *node,
					 const SkxReads *reads)
{
	SkxChain   *chain = palloc0(sizeof(SkxChain));
	const char *operands = GETOPERAND(node->phrase->query);
	int			i;

	chain->seg = o->seg;
	chain->node = node;
	chain->reads = reads;
	chain->lists = palloc0(sizeof(SkxList *) * node->phrase->nlinks);
	for (i = 0; i < node->phrase->nlinks; i++)
	{
		const QueryOperand *link = node->phrase->links[i];
		int			slot = skx_query_lexeme(o->query,
											operands + link->distance,
											link->length);

		if (o->terms[slot].df == 0)
			elog(ERROR, "phrase of a lexeme that the segment lacks");
		chain->lists[i] = skx_segment_list_open(o->seg, &o->terms[slot]);

		/* These nodes have been read for the conjunction. */
		chain->lists[i]->cursor.ahead = 0;
	}
	return chain;
}

void
skx_query_chain_close(SkxChain *chain)
{
	int			i;

	for (i = 0; i < chain->node->phrase->nlinks && chain->reads != &chain->own_reads;
		 i++)
		skx_segment_list_close(chain->lists[i]);
	pfree(chain->lists);
	if (chain->size > 0)
	{
		pfree(chain->places[0]);
		pfree(chain->places[1]);
		pfree(chain->candidates);
		pfree(chain->positions);
	}
	pfree(chain);
}

/* Makes room for a batch. */
static void
skx_query_chain_reserve(SkxChain *chain, int n)
{
	if (n <= chain->size)
		return;
	if (chain->size > 0)
	{
		pfree(chain->places[0]);
		pfree(chain->places[1]);
		pfree(chain->candidates);
		pfree(chain->positions);
	}
	chain->places[0] = palloc(sizeof(SkxPositionPlace) * n);
	chain->places[1] = palloc(sizeof(SkxPositionPlace) * n);
	chain->candidates = palloc(sizeof(SkxCandidate) * n);
	chain->positions = palloc(sizeof(uint16) * SKX_POSITIONS_MAX * n);
	chain->size = n;
}

int
skx_query_positions(uint16 *positions, int n, uint8 weights)
{
	int			kept = 0;
	int			i;

	if (weights == 0)
	{
		for (i = 0; i < n; i++)
			positions[i] = SKX_POSITION(positions[i]);
		return n;
	}
	for (i = 0; i < n; i++)
	{
		if ((SKX_LABEL_BIT(positions[i]) & weights) != 0)
			positions[kept++] = SKX_POSITION(positions[i]);
	}
	return kept;
}

/*
 * Keeps the positions of `left` that lie `distance` before one of `right`, as
 * those of `right`.  TS_execute finds nothing at position 0, which only a
 * value that came in binary can have.
 */
static int
skx_query_chain_join(uint16 *left, int nleft, const uint16 *right, int nright,
					 int distance)
{
	int			kept = 0;
	int			i = 0;
	int			j;

	for (j = 0; j < nright; j++)
	{
		while (i < nleft && left[i] + distance < right[j])
			i++;
		if (i >= nleft)
			break;
		if (left[i] + distance == right[j])
		{
			if (right[j] > 0)
				left[kept++] = right[j];
			i++;
		}
	}
	return kept;
}

/* Where the positions of a link are in a document; false: it has none. */
static inline bool
skx_query_chain_place(SkxChain *chain, int link, uint32 doc, int *at,
					  SkxPositionPlace *place)
{
	SkxList    *list = chain->lists[link];

	if (chain->given != NULL)
	{
		while (chain->all[*at] != doc)
			(*at)++;
		*place = chain->given[link][*at];
	}
	else
	{
		if (skx_segment_list_seek(list, doc) != doc)
			return false;
		skx_segment_list_place(list, place);
	}
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
 * Asks for the pages of links [first, last], two at most, of the candidates
 * from `i` on, in about the order they will be read in, unless nothing had to
 * be read for a while; returns the first candidate not decided on.
 */
static int
skx_query_chain_ask(SkxChain *chain, int first, int last, int i, int n)
{
	int			at[2] = {i, i};

	if (chain->seg->ahead == 0 || !skx_query_reads_cold(chain->reads))
		return i + 1;
	if (first == last)
		at[1] = n;
	while (at[0] < n || at[1] < n)
	{
		int			k = at[0] <= at[1] ? 0 : 1;

		at[k] = skx_segment_ask_positions(chain->lists[first + k],
										  chain->places[k], at[k], n);
	}
	return n;
}

/*
 * The first two links.
 */
static int
skx_query_chain_begin(SkxChain *chain, uint32 *docs, int n)
{
	const SkxQueryNode *node = chain->node;
	uint16		right[SKX_POSITIONS_MAX];
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, 0, docs, n, chain->places[0]);
	n = skx_query_chain_locate(chain, 1, docs, n, chain->places[1]);
	for (i = 0; i < n; i++)
	{
		uint16	   *left = chain->positions + kept * SKX_POSITIONS_MAX;
		int			nleft;
		int			nright;

		if (i >= asked && i % SKX_PHRASE_LOOK == 0)
			asked = skx_query_chain_ask(chain, 0, 1, i, n);
		nleft = skx_segment_list_positions_at(chain->lists[0],
											  &chain->places[0][i], left);
		nleft = skx_query_positions(left, nleft, node->phrase->links[0]->weight);
		if (nleft == 0)
			continue;
		nright = skx_segment_list_positions_at(chain->lists[1],
											   &chain->places[1][i], right);
		nright = skx_query_positions(right, nright, node->phrase->links[1]->weight);
		nleft = skx_query_chain_join(left, nleft, right, nright,
									 node->phrase->distances[1]);
		docs[kept] = docs[i];
		chain->candidates[kept].left = left;
		chain->candidates[kept].nleft = nleft;
		kept += nleft > 0;
	}
	return kept;
}

/*
 * A further link.
 */
static int
skx_query_chain_go_on(SkxChain *chain, int link, uint32 *docs, int n)
{
	const SkxQueryNode *node = chain->node;
	uint16		right[SKX_POSITIONS_MAX];
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, link, docs, n, chain->places[0]);
	for (i = 0; i < n; i++)
	{
		SkxCandidate candidate = chain->candidates[i];
		int			nright;

		if (i >= asked && i % SKX_PHRASE_LOOK == 0)
			asked = skx_query_chain_ask(chain, link, link, i, n);
		nright = skx_segment_list_positions_at(chain->lists[link],
											   &chain->places[0][i], right);
		nright = skx_query_positions(right, nright, node->phrase->links[link]->weight);
		candidate.nleft = skx_query_chain_join(candidate.left, candidate.nleft,
											   right, nright,
											   node->phrase->distances[link]);
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
skx_query_chain_borrow(SkxSegment *seg, const SkxQuery *rest, SkxList **lists)
{
	SkxChain   *chain = palloc0(sizeof(SkxChain));
	int			n = skx_query_rest_links(rest);

	chain->seg = seg;
	chain->node = rest->root->children[0];
	chain->reads = &chain->own_reads;
	chain->lists = palloc(sizeof(SkxList *) * n);
	memcpy(chain->lists, lists, sizeof(SkxList *) * n);
	return chain;
}

int
skx_query_chain_verify(SkxChain *chain, uint32 *docs, int n,
					   const uint32 *all, SkxPositionPlace *const *places)
{
	skx_query_reads_begin(&chain->own_reads);
	chain->all = all;
	chain->given = places;
	return skx_query_chain_batch(chain, docs, n);
}
