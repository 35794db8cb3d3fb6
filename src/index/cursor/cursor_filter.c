/*
 * cursor_filter.c
 *	  Finds which of many documents are in a list.
 */
#include "postgres.h"

#include "index/cursor/cursor_internal.h"

/*
 * Postings before the current one are left out of the map: later look-ups do
 * not need them, or they are not in the range of the cursor.
 */
const uint8 *
skx_cursor_subblock_map(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);
	int			i;

	if (c->docs == NULL)
		skx_cursor_decode(c);
	if (l->map == NULL)
		l->map = palloc(SKX_CURSOR_MAP_SLOTS);
	if (l->map_is_current)
		return l->map;
	memset(l->map, 0, SKX_CURSOR_MAP_SLOTS);
	for (i = c->i; i < c->n; i++)
		l->map[c->docs[i] % SKX_CURSOR_MAP_SLOTS] = i + 1;
	l->map_is_current = true;
	return l->map;
}

/*
 * Looks up ascending documents from docs[*i] on in the current sub-block, if
 * it is stored as a bitset and not decoded.  Copies those that are in the list
 * to dst and returns how many; moves *i to the first document after the
 * sub-block.  Returns -1 if the sub-block must be decoded.
 */
static int
skx_cursor_filter_bits(SkxCursor *c, const uint32 *docs, int *i, int n,
					   uint32 *dst)
{
	SkxSkiplistCursor *s = &skx_cursor_list(c)->nodes;
	int			kept;
	int			passed;

	if (c->docs != NULL || c->labels != 0)
		return -1;
	skx_skiplist_pin(s);
	passed = skx_codec_subblock_filter(s->body, s->end, s->n, s->base_doc,
									   docs + *i, n - *i, c->end, dst, &kept);
	if (passed < 0)
		return -1;
	skx_cursor_work.window_fills++;
	*i += passed;
	return kept;
}

/*
 * Does the same as skx_cursor_filter_bits() by a map of the sub-block.  The
 * map excludes most documents that are not in the list without a branch.
 */
static int
skx_cursor_filter_map(SkxCursor *c, const uint32 *docs, int *i, int n,
					  uint32 *dst)
{
	const uint8 *map = skx_cursor_subblock_map(c);
	int			some = 0;
	int			kept = 0;
	int			k;

	for (k = *i; k < n && docs[k] < c->end; k++)
	{
		dst[some] = docs[k];
		some += map[docs[k] % SKX_CURSOR_MAP_SLOTS] != 0;
	}
	*i = k;
	for (k = 0; k < some; k++)
	{
		int			at = skx_cursor_map_lookup(c, map, dst[k]);

		dst[kept] = dst[k];
		kept += at >= 0 && skx_cursor_label_matches(c, at);
	}
	return kept;
}

/*
 * Does the same as skx_cursor_filter_bits() in the decoded documents of the
 * sub-block.
 */
static int
skx_cursor_filter_docs(SkxCursor *c, const uint32 *docs, int *i, int n,
					   uint32 *dst)
{
	int			at = skx_cursor_find(c, docs[*i]);
	const uint32 *own = c->docs;
	int			kept = 0;
	int			k;

	for (k = *i; k < n && docs[k] < c->end; k++)
	{
		uint32		doc = docs[k];
		bool		there;

		if (own[at] < doc)
			at = skx_cursor_first_from(own, at, c->n, doc);
		there = own[at] == doc;
		if (c->labels != 0 && there)
			there = skx_cursor_has_label(c, at);
		dst[kept] = doc;
		kept += there;
	}
	c->i = at;
	*i = k;
	return kept;
}

int
skx_cursor_filter(SkxCursor *c, uint32 *docs, int n)
{
	int			kept = 0;
	int			i = 0;

	skx_cursor_set_targets(c, docs, n);
	while (i < n && skx_cursor_advance(c, docs[i]))
	{
		int			found = skx_cursor_filter_bits(c, docs, &i, n, docs + kept);

		if (found < 0 && skx_cursor_has_many(c, docs, i, n))
			found = skx_cursor_filter_map(c, docs, &i, n, docs + kept);
		else if (found < 0)
			found = skx_cursor_filter_docs(c, docs, &i, n, docs + kept);
		kept += found;
	}
	skx_cursor_set_targets(c, NULL, 0);
	skx_cursor_unpin_if_crowded(c);
	return kept;
}
