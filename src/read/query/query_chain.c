/*
 * query_chain.c
 *	  Phrases that are chains of plain lexemes, a <d1> b <d2> c ...
 *
 * A chain is matched by joining position lists from left to right.  The
 * positions of link i that complete the phrase up to it are kept for link i +
 * 1.
 *
 * Candidates are verified in batches, link by link.  Where the positions of a
 * batch lie is known before any of them is read, so their pages are prefetched
 * together.  The positions of the first two links are read for each candidate.
 * Those of a further link are prefetched only for candidates that the links
 * before it have left.
 */
#include "postgres.h"

#include "read/query/query_internal.h"

/* The number of positions that are compared at once. */
#define SKX_CHAIN_LANES		8

typedef uint16 SkxLanes __attribute__((vector_size(2 * SKX_CHAIN_LANES)));

typedef struct SkxChainCandidate
{
	uint16	   *positions;		/* positions that complete the phrase so far */
	int			npositions;
} SkxChainCandidate;

struct SkxPhraseChain
{
	const SkxQueryNode *node;
	SkxCursor **lists;			/* one for each link */
	bool		owns_lists;
	int			size;			/* capacity of the arrays in candidates */
	const SkxPageReads *page_reads; /* page loads of the phrase's batches */
	SkxPositionsRef *position_refs[2];	/* of the first two links; later [0]
										 * is of the current link */
	SkxChainCandidate *candidates;
	uint16	   *positions;		/* positions of the candidates, one after the
								 * other; capacity of SKX_POSITIONS_MAX for
								 * each */

	/* The following are set only with borrowed lists. */
	SkxPageReads own_reads;
	const uint32 *borrowed_docs;	/* documents, which include all candidates */
	SkxPositionsRef *const *borrowed_positions; /* by link: where its
												 * positions are in the
												 * documents of
												 * `borrowed_docs` */
};

SkxPhraseChain *
skx_query_chain_open(const SkxOpening *o, const SkxQueryNode *node,
					 const SkxPageReads *reads)
{
	SkxPhraseChain *chain = palloc0(sizeof(SkxPhraseChain));
	const char *operands = GETOPERAND(node->phrase->query);
	int			i;

	chain->node = node;
	chain->page_reads = reads;
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

		/* The conjunction reads the nodes of these lists. */
		chain->lists[i] = skx_cursor_open(o->seg, &o->terms[slot],
										  SKX_CURSOR_RESCAN);
	}
	return chain;
}

static void
skx_query_chain_free_batch(SkxPhraseChain *chain)
{
	if (chain->size == 0)
		return;
	pfree(chain->position_refs[0]);
	pfree(chain->position_refs[1]);
	pfree(chain->candidates);
	pfree(chain->positions);
}

void
skx_query_chain_close(SkxPhraseChain *chain)
{
	int			i;

	for (i = 0; chain->owns_lists && i < chain->node->phrase->nlinks; i++)
		skx_cursor_close(chain->lists[i]);
	pfree(chain->lists);
	skx_query_chain_free_batch(chain);
	pfree(chain);
}

/* Grows the arrays to a capacity of n candidates. */
static void
skx_query_chain_reserve(SkxPhraseChain *chain, int n)
{
	if (n <= chain->size)
		return;
	skx_query_chain_free_batch(chain);
	chain->position_refs[0] = palloc(sizeof(SkxPositionsRef) * n);
	chain->position_refs[1] = palloc(sizeof(SkxPositionsRef) * n);
	chain->candidates = palloc(sizeof(SkxChainCandidate) * n);
	chain->positions = palloc(sizeof(uint16) * SKX_POSITIONS_MAX * n);
	chain->size = n;
}

int
skx_query_filter_positions(uint16 *positions, int n, uint8 labels)
{
	int			kept = 0;
	int			i;

	if (labels == 0)
	{
		for (i = 0; i < n; i++)
			positions[i] = SKX_POSITION_OF(positions[i]);
		return n;
	}
	for (i = 0; i < n; i++)
	{
		if ((SKX_LABEL_BIT(positions[i]) & labels) != 0)
			positions[kept++] = SKX_POSITION_OF(positions[i]);
	}
	return kept;
}

/*
 * Returns the number of comparisons if each position of the left is compared
 * with all groups of the right.
 */
static inline int
skx_query_chain_ncomparisons(int nleft, int nright)
{
	return nleft * ((nright + SKX_CHAIN_LANES - 1) / SKX_CHAIN_LANES);
}

/*
 * Returns a group of the first positions of n, without labels.  If there are
 * fewer than SKX_CHAIN_LANES, the others are 0.
 */
static inline SkxLanes
skx_query_chain_load_lanes(const uint16 *positions, int n)
{
	const SkxLanes numbers = {0, 1, 2, 3, 4, 5, 6, 7};
	const uint16 limit = Min(n, SKX_CHAIN_LANES);
	const SkxLanes limits = {limit, limit, limit, limit,
	limit, limit, limit, limit};
	SkxLanes	lanes;

	memcpy(&lanes, positions, sizeof(lanes));
	return SKX_POSITION_OF(lanes) & (SkxLanes) (numbers < limits);
}

static inline SkxLanes
skx_query_chain_equal(SkxLanes lanes, uint16 wanted)
{
	const SkxLanes all = {wanted, wanted, wanted, wanted,
	wanted, wanted, wanted, wanted};

	return (SkxLanes) (lanes == all);
}

static inline bool
skx_query_chain_any_equal(SkxLanes found)
{
	uint64		halves[2];

	memcpy(halves, &found, sizeof(halves));
	return (halves[0] | halves[1]) != 0;
}

/*
 * Joins as skx_query_chain_join() does, by comparing each position of `left`
 * with all of `right`.  `right` has a capacity of one more group.  If there
 * are few positions, this takes less time than branches that cannot be
 * predicted.
 */
static int
skx_query_chain_compare(uint16 *left, int nleft, const uint16 *right,
						int nright, int distance)
{
	const SkxLanes first = skx_query_chain_load_lanes(right, nright);
	int			kept = 0;
	int			i;
	int			j;

	for (i = 0; i < nleft; i++)
	{
		uint16		wanted = SKX_POSITION_OF(left[i]) + distance;
		SkxLanes	found = skx_query_chain_equal(first, wanted);

		for (j = SKX_CHAIN_LANES; j < nright; j += SKX_CHAIN_LANES)
			found |=
				skx_query_chain_equal(skx_query_chain_load_lanes(right + j,
																 nright - j),
									  wanted);
		left[kept] = wanted;
		kept += skx_query_chain_any_equal(found) && wanted > 0;
	}
	return kept;
}

/*
 * Keeps the positions of `right` that lie `distance` after one of `left`.
 * Puts them into `left`, without labels; returns how many.  TS_execute() finds
 * nothing at position 0, which only a value that came in binary can have.
 */
static int
skx_query_chain_join(uint16 *left, int nleft, const uint16 *right, int nright,
					 int distance)
{
	int			kept = 0;
	int			i = 0;
	int			j;

	if (skx_query_chain_ncomparisons(nleft, nright) <= nleft + nright)
		return skx_query_chain_compare(left, nleft, right, nright, distance);
	for (j = 0; j < nright; j++)
	{
		int			wanted = SKX_POSITION_OF(right[j]);

		while (i < nleft && SKX_POSITION_OF(left[i]) + distance < wanted)
			i++;
		if (i >= nleft)
			break;
		if (SKX_POSITION_OF(left[i]) + distance == wanted)
		{
			if (wanted > 0)
				left[kept++] = wanted;
			i++;
		}
	}
	return kept;
}

/*
 * Reads the positions of a link in a document that have the labels of the
 * link; returns how many.
 */
static inline int
skx_query_chain_positions(SkxCursor *list, const SkxPositionsRef *place,
						  uint8 labels, uint16 *positions)
{
	int			n = skx_cursor_positions_at(list, place, positions);

	return labels == 0 ? n : skx_query_filter_positions(positions, n, labels);
}

/*
 * Finds where the positions of a link are in a document.  Returns false if
 * there are none.
 */
static inline bool
skx_query_chain_find_positions(SkxPhraseChain *chain, int link, uint32 doc,
							   int *at, SkxPositionsRef *place)
{
	if (chain->borrowed_positions != NULL)
	{
		while (chain->borrowed_docs[*at] != doc)
			(*at)++;
		*place = chain->borrowed_positions[link][*at];
	}
	else if (!skx_cursor_locate(chain->lists[link], doc, place))
		return false;
	return place->tf > 0;
}

/*
 * Finds where the positions of a link are in n documents, and drops the
 * documents without any.  Moves what is kept for each document with it.
 */
static int
skx_query_chain_locate(SkxPhraseChain *chain, int link, uint32 *docs, int n,
					   SkxPositionsRef *places)
{
	int			kept = 0;
	int			at = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (!skx_query_chain_find_positions(chain, link, docs[i], &at,
											&places[kept]))
			continue;
		docs[kept] = docs[i];
		if (link == 1)
			chain->position_refs[0][kept] = chain->position_refs[0][i];
		else if (link > 1)
			chain->candidates[kept] = chain->candidates[i];
		kept++;
	}
	return kept;
}

/*
 * Prefetches the positions of nlinks links, from `first` on, for candidates i
 * to n - 1, unless all was found in the cache lately.  Returns the candidate
 * at which this is to be decided again.
 */
static int
skx_query_chain_prefetch(SkxPhraseChain *chain, int first, int nlinks, int i,
						 int n)
{
	return skx_cursor_prefetch_positions(chain->lists + first,
										 chain->position_refs, nlinks, i, n,
										 skx_query_has_read(chain->page_reads));
}

/*
 * Joins the positions of the first two links; returns how many candidates are
 * left.
 */
static int
skx_query_chain_join_first(SkxPhraseChain *chain, uint32 *docs, int n)
{
	const SkxQueryPhrase *phrase = chain->node->phrase;
	uint8		labels[2] = {phrase->links[0]->weight, phrase->links[1]->weight};
	uint16		right[SKX_POSITIONS_MAX + SKX_CHAIN_LANES];
	uint16	   *left = chain->positions;
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, 0, docs, n, chain->position_refs[0]);
	n = skx_query_chain_locate(chain, 1, docs, n, chain->position_refs[1]);
	for (i = 0; i < n; i++)
	{
		int			nleft;
		int			nright;

		if (i >= asked && i % SKX_PHRASE_CHECK_DOCS == 0)
			asked = skx_query_chain_prefetch(chain, 0, 2, i, n);
		/* right ones are compared in groups: they are stored by then */
		nright = skx_query_chain_positions(chain->lists[1],
										   &chain->position_refs[1][i],
										   labels[1], right);
		nleft = skx_query_chain_positions(chain->lists[0],
										  &chain->position_refs[0][i],
										  labels[0], left);
		nleft = skx_query_chain_join(left, nleft, right, nright,
									 phrase->distances[1]);
		docs[kept] = docs[i];
		chain->candidates[kept].positions = left;
		chain->candidates[kept].npositions = nleft;
		kept += nleft > 0;
		if (phrase->nlinks > 2)
			left += nleft;
	}
	return kept;
}

/*
 * Joins the positions of a further link; returns how many candidates are left.
 */
static int
skx_query_chain_join_next(SkxPhraseChain *chain, int link, uint32 *docs, int n)
{
	SkxCursor  *list = chain->lists[link];
	uint8		labels = chain->node->phrase->links[link]->weight;
	int			distance = chain->node->phrase->distances[link];
	uint16		right[SKX_POSITIONS_MAX + SKX_CHAIN_LANES];
	int			asked = 0;
	int			kept = 0;
	int			i;

	n = skx_query_chain_locate(chain, link, docs, n, chain->position_refs[0]);
	for (i = 0; i < n; i++)
	{
		SkxChainCandidate candidate = chain->candidates[i];
		int			nright;

		if (i >= asked && i % SKX_PHRASE_CHECK_DOCS == 0)
			asked = skx_query_chain_prefetch(chain, link, 1, i, n);
		nright = skx_query_chain_positions(list, &chain->position_refs[0][i],
										   labels, right);
		candidate.npositions = skx_query_chain_join(candidate.positions,
													candidate.npositions,
													right, nright,
													distance);
		docs[kept] = docs[i];
		chain->candidates[kept] = candidate;
		kept += candidate.npositions > 0;
	}
	return kept;
}

int
skx_query_chain_batch(SkxPhraseChain *chain, uint32 *docs, int n)
{
	int			left;
	int			link;

	skx_query_chain_reserve(chain, n);
	left = skx_query_chain_join_first(chain, docs, n);
	for (link = 2; link < chain->node->phrase->nlinks && left > 0; link++)
		left = skx_query_chain_join_next(chain, link, docs, left);
	return left;
}

int
skx_query_phrase_nlinks(const SkxQuery *rest)
{
	const SkxQueryNode *root = rest->root;

	if (root->kind != SKX_NODE_AND || root->nchildren != 1 ||
		root->children[0]->kind != SKX_NODE_PHRASE)
		return 0;
	return root->children[0]->phrase->nlinks;
}

int
skx_query_phrase_link_number(const SkxQuery *rest, int link)
{
	const SkxQueryNode *node = rest->root->children[0];
	const QueryOperand *operand = node->phrase->links[link];

	return skx_query_lexeme(rest, GETOPERAND(node->phrase->query) + operand->distance,
							operand->length);
}

SkxPhraseChain *
skx_query_chain_borrow(const SkxQuery *rest, SkxCursor **lists)
{
	SkxPhraseChain *chain = palloc0(sizeof(SkxPhraseChain));
	int			n = skx_query_phrase_nlinks(rest);

	chain->node = rest->root->children[0];
	chain->page_reads = &chain->own_reads;
	chain->lists = palloc(sizeof(SkxCursor *) * n);
	memcpy(chain->lists, lists, sizeof(SkxCursor *) * n);
	return chain;
}

int
skx_query_chain_verify(SkxPhraseChain *chain, uint32 *docs, int n,
					   const uint32 *placed, SkxPositionsRef *const *places)
{
	skx_query_reads_begin(&chain->own_reads);
	chain->borrowed_docs = placed;
	chain->borrowed_positions = places;
	return skx_query_chain_batch(chain, docs, n);
}
