/*
 * cursor_move.c
 *	  Opens cursors on posting lists and moves them by sub-blocks.
 *
 * In a long list, the cursor decodes documents, frequencies and labels of a
 * sub-block separately, each when it is first needed.  A short list is a
 * single sub-block, which is decoded as a whole at the first move.  A list in
 * memory has sub-blocks of the same size as a long one.  The form of the list
 * matters only when the cursor enters another sub-block: the inline functions
 * of cursor.h do not depend on it.
 */
#include "postgres.h"

#include "index/cursor/cursor_internal.h"
#include "miscadmin.h"

SkxCursorWork skx_cursor_work;

/* A lower bound that may be farther below the result than this is useless. */
#define SKX_LOWER_BOUND_SLACK		4096

void
skx_cursor_damaged(const SkxCursorList *l, const char *what)
{
	SkxSegmentPlane plane = SKX_SEGMENT_POSTINGS;
	uint32		page = l->term.short_page;

	if (l->form == SKX_CURSOR_LONG)
		page = l->nodes.node_page + l->nodes.portion;
	else if ((l->term.flags & SKX_TERM_FORM_MASK) == SKX_TERM_INLINE)
		plane = SKX_SEGMENT_DICT;
	skx_segment_damaged(l->seg, plane, page, what);
}

SkxCursor *
skx_cursor_create(SkxSegment *seg, SkxCursorRole role)
{
	SkxCursorList *l = palloc(sizeof(SkxCursorList));

	memset(l, 0, offsetof(SkxCursorList, positions.tf_sums));
	l->postings.n = 0;
	l->seg = seg;
	l->form = SKX_CURSOR_SHORT;
	l->is_reused = true;
	l->prefetch.role = role;
	return &l->head;
}

/*
 * Sets the direction of a move.  If it changes, nodes that were prefetched in
 * the other direction do not count.
 */
static inline void
skx_cursor_set_direction(SkxCursorList *l, bool back)
{
	if (l->moved_back == back)
		return;
	l->moved_back = back;
	l->prefetch.planned_nodes = 0;
	l->prefetch.window = 0;
}

/* Forgets the map and the bitset of the current sub-block. */
static inline void
skx_cursor_unmap(SkxCursorList *l)
{
	l->map_is_current = false;
	l->has_bits = false;
	l->bits_unavailable = false;
}

/* Puts a cursor before the first sub-block of a list, without a range. */
static void
skx_cursor_rewind(SkxCursorList *l, uint32 df)
{
	memset(&l->head, 0, sizeof(l->head));
	l->head.df = df;
	l->from = 0;
	l->to = SKX_NO_DOC;
	l->moved_back = false;
	skx_cursor_unmap(l);
}

void
skx_cursor_begin_term(SkxCursor *c, const SkxTerm *term)
{
	SkxCursorList *l = skx_cursor_list(c);
	SkxSegment *seg = l->seg;
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_POSTINGS];

	if (l->form == SKX_CURSOR_LONG)
		skx_skiplist_close(&l->nodes);
	skx_cursor_rewind(l, term->df);
	l->term = *term;
	l->postings.n = 0;
	skx_cursor_positions_begin(l);
	skx_cursor_bounds_reset(&l->bounds);
	l->form = SKX_CURSOR_SHORT;
	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG)
	{
		l->form = SKX_CURSOR_LONG;
		if (term->long_list.page >= plane->npages)
			skx_segment_damaged(seg, SKX_SEGMENT_DICT, seg->header.dict_root,
								"posting list past the end of its plane");
		skx_skiplist_open(&l->nodes, seg->file, seg->rel, plane,
						  term->list_check, &term->long_list);
	}
	skx_cursor_prefetch_reset(l);
}

SkxCursor *
skx_cursor_open(SkxSegment *seg, const SkxTerm *term, SkxCursorRole role)
{
	SkxCursor  *c = skx_cursor_create(seg, role);

	skx_cursor_list(c)->is_reused = false;
	skx_cursor_begin_term(c, term);
	return c;
}

SkxCursor *
skx_cursor_open_memory(SkxSegment *seg, SkxCursorMemory *memory)
{
	SkxCursor  *c = skx_cursor_create(seg, SKX_CURSOR_PROBE);
	SkxCursorList *l = skx_cursor_list(c);

	l->form = SKX_CURSOR_MEMORY;
	l->memory = memory;
	skx_cursor_rewind(l, memory->n);
	return c;
}

void
skx_cursor_close(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (l->form == SKX_CURSOR_LONG)
		skx_skiplist_close(&l->nodes);
	skx_blkio_unpin(l->seg->file, &l->short_ref);
	skx_cursor_positions_end(l);
	skx_cursor_bounds_reset(&l->bounds);
	if (l->map != NULL)
		pfree(l->map);
	pfree(l);
}

void
skx_cursor_want_labels(SkxCursor *c, uint8 labels)
{
	uint8		flags = skx_cursor_list(c)->term.flags;
	bool		only_d = (flags & SKX_TERM_LABELS) == 0;

	c->labels = only_d && (labels & (1 << SKX_LABEL_D)) != 0 ? 0 : labels;
}

void
skx_cursor_set_range(SkxCursor *c, uint32 from, uint32 to)
{
	skx_cursor_list(c)->from = from;
	skx_cursor_list(c)->to = to;
}

const SkxTerm *
skx_cursor_term(const SkxCursor *c)
{
	const SkxCursorList *l = skx_cursor_list(c);

	return l->form == SKX_CURSOR_MEMORY ? NULL : &l->term;
}

SkxSegment *
skx_cursor_segment(const SkxCursor *c)
{
	return skx_cursor_list(c)->seg;
}

SkxCursorMemory *
skx_cursor_memory(const SkxCursor *c)
{
	return skx_cursor_list(c)->memory;
}

/* Decodes a short list, and copies its encoded positions if it has its own. */
static void
skx_cursor_decode_short(SkxCursorList *l)
{
	const SkxTerm *term = &l->term;
	const uint8 *src = term->bytes;
	uint32		size = term->inline_size;
	const uint8 *rest;

	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_SHORT)
	{
		const char *page = skx_segment_pin(l->seg, SKX_SEGMENT_POSTINGS,
										   term->short_page, &l->short_ref);

		src = (const uint8 *) page + term->short_offset;
		size = term->short_size;
		skx_cursor_work.short_lists++;
	}
	rest = skx_codec_short_get(src, src + size, term->df, &l->postings);
	if (rest == NULL || l->postings.docs[term->df - 1] >= l->seg->header.ndocs)
		skx_cursor_damaged(l, "short posting list does not decode");
	if (term->flags & SKX_TERM_OWN_POSITIONS)
		skx_cursor_positions_copy_own(l, rest, src + size - rest);
	if (!l->is_reused || skx_blkio_has_many_pins(l->seg->file))
		skx_blkio_unpin(l->seg->file, &l->short_ref);
	skx_cursor_work.subblocks++;
}

/* Decodes the documents of the current sub-block of a long list. */
static void
skx_cursor_decode_nodes(SkxCursorList *l)
{
	SkxSkiplistCursor *s = &l->nodes;
	const uint8 *part;

	skx_skiplist_pin(s);
	part = skx_codec_subblock_docs(s->body, s->end, s->n, s->base_doc,
								   l->postings.docs);
	if (part == NULL || l->postings.docs[s->n - 1] != s->last_doc ||
		s->last_doc >= l->seg->header.ndocs)
		skx_cursor_damaged(l, "sub-block does not decode");
	skx_cursor_read_docs(l, part);
	skx_cursor_work.subblocks++;
	skx_skiplist_unpin_if_crowded(s);
}

void
skx_cursor_decode(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	switch (l->form)
	{
		case SKX_CURSOR_LONG:
			skx_cursor_decode_nodes(l);
			c->docs = l->postings.docs;
			c->n = l->postings.n;
			break;
		case SKX_CURSOR_SHORT:
			if (l->postings.n == 0)
				skx_cursor_decode_short(l);
			c->docs = l->postings.docs;
			c->tfs = l->postings.tf;
			c->n = l->postings.n;
			l->has_labels = true;
			break;
		case SKX_CURSOR_MEMORY:
			c->docs = l->memory->docs + l->block * SKX_SUBBLOCK;
			if (l->memory->counts != NULL)
				c->counts = l->memory->counts + l->block * SKX_SUBBLOCK;
			c->n = Min(l->memory->n - l->block * SKX_SUBBLOCK, SKX_SUBBLOCK);
			break;
	}
	c->i = 0;
	if (c->docs[c->n - 1] < l->to)
		return;
	while (c->n > 0 && c->docs[c->n - 1] >= l->to)
		c->n--;
	c->end = c->n > 0 ? c->docs[c->n - 1] + 1 : 0;
}

/* Returns the last document of a sub-block of a list in memory. */
static inline uint32
skx_cursor_memory_last(const SkxCursorMemory *m, uint32 block)
{
	return m->docs[Min((block + 1) * SKX_SUBBLOCK, m->n) - 1];
}

/* Does the same as skx_cursor_find_subblock() for a list in memory. */
static bool
skx_cursor_find_memory(SkxCursorList *l, uint32 target, uint32 *last)
{
	SkxCursorMemory *m = l->memory;

	while (l->block * SKX_SUBBLOCK < m->n &&
		   skx_cursor_memory_last(m, l->block) < target)
		l->block++;
	if (l->block * SKX_SUBBLOCK >= m->n)
	{
		if (m->refill == NULL || !m->refill(m, target))
			return false;
		l->block = 0;
	}
	if (l->block > 0)
		l->last_before = m->docs[l->block * SKX_SUBBLOCK - 1];
	*last = skx_cursor_memory_last(m, l->block);
	return true;
}

/*
 * Finds the first sub-block, at or after the current one, whose last document
 * is >= target.  Sets l->last_before and *last to the last documents before
 * and in it.  Returns false if there is none.
 */
static pg_attribute_always_inline bool
skx_cursor_find_subblock(SkxCursorList *l, uint32 target, uint32 *last)
{
	l->last_before = SKX_NO_DOC;
	switch (l->form)
	{
		case SKX_CURSOR_LONG:
			if (!skx_skiplist_seek(&l->nodes, target))
				return false;
			l->last_before = l->nodes.base_doc;
			*last = l->nodes.last_doc;
			return true;
		case SKX_CURSOR_SHORT:
			if (l->postings.n == 0)
				skx_cursor_decode_short(l);
			*last = l->postings.docs[l->postings.n - 1];
			return *last >= target;
		default:
			return skx_cursor_find_memory(l, target, last);
	}
}

/* Puts the cursor on no sub-block. */
static inline void
skx_cursor_leave_subblock(SkxCursor *c)
{
	c->docs = NULL;
	c->end = 0;
}

/*
 * Makes the sub-block that was found the current one.  Decodes it if the list
 * is not long, or if it is not entirely in the range.  In the first sub-block
 * l->last_before + 1 wraps around to 0.
 */
static pg_attribute_always_inline void
skx_cursor_enter_subblock(SkxCursorList *l, uint32 last)
{
	SkxCursor  *c = &l->head;

	c->docs = NULL;
	c->tfs = NULL;
	c->end = Min(last + 1, l->to);
	c->i = 0;
	skx_cursor_unmap(l);
	if (l->form != SKX_CURSOR_LONG || last >= l->to ||
		l->last_before + 1 < l->from)
		skx_cursor_decode(c);
}

bool
skx_cursor_move(SkxCursor *c, uint32 target)
{
	SkxCursorList *l = skx_cursor_list(c);
	uint32		last;

	if (c->at_end)
		return false;
	skx_cursor_set_direction(l, false);
	target = Max(target, l->from);
	if (target < l->to && skx_cursor_find_subblock(l, target, &last))
	{
		skx_cursor_enter_subblock(l, last);
		if (c->docs == NULL)
			return true;
		if (target < c->end)
		{
			c->i = skx_cursor_first_from(c->docs, 0, c->n, target);
			return true;
		}
	}
	skx_cursor_leave_subblock(c);
	c->at_end = true;
	return false;
}

/*
 * Moves to the first sub-block of the list whose last document is >= target,
 * or to the last sub-block if there is none, and decodes it.  The cursor may
 * be anywhere before.
 */
static void
skx_cursor_move_back(SkxCursorList *l, uint32 target)
{
	const SkxCursorMemory *m = l->memory;
	uint32		last = 0;

	if (l->form == SKX_CURSOR_LONG)
	{
		skx_skiplist_seek_back(&l->nodes, target);
		l->last_before = l->nodes.base_doc;
		last = l->nodes.last_doc;
	}
	else
	{
		if (l->form == SKX_CURSOR_MEMORY)
		{
			target = Min(target, m->docs[m->n - 1]);
			while (l->block > 0 &&
				   (l->block * SKX_SUBBLOCK >= m->n ||
					m->docs[l->block * SKX_SUBBLOCK - 1] >= target))
				l->block--;
		}
		else
		{
			if (l->postings.n == 0)
				skx_cursor_decode_short(l);
			target = Min(target, l->postings.docs[l->postings.n - 1]);
		}
		(void) skx_cursor_find_subblock(l, target, &last);
	}
	l->head.at_end = false;
	skx_cursor_enter_subblock(l, last);
	if (l->head.docs == NULL)
		skx_cursor_decode(&l->head);
}

uint32
skx_cursor_seek_back(SkxCursor *c, uint32 target)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (l->to <= l->from || (l->form == SKX_CURSOR_MEMORY && c->df == 0))
		return SKX_NO_DOC;
	Assert(l->form != SKX_CURSOR_MEMORY || l->memory->refill == NULL);
	skx_cursor_set_direction(l, true);
	skx_cursor_unmap(l);
	target = Min(target, l->to - 1);
	if (c->docs == NULL || target >= c->end || target < l->last_before + 1)
		skx_cursor_move_back(l, target);
	if (c->n == 0 || c->docs[0] > target)
	{
		if (l->last_before == SKX_NO_DOC)
		{
			skx_cursor_leave_subblock(c);
			return SKX_NO_DOC;
		}
		target = l->last_before;
		skx_cursor_move_back(l, target);
	}
	c->i = c->n - 1;
	if (c->docs[c->i] > target)
	{
		c->i = skx_cursor_first_from(c->docs, 0, c->n, target);
		c->i -= c->docs[c->i] > target;
	}
	if (c->docs[c->i] >= l->from)
		return c->docs[c->i];
	skx_cursor_leave_subblock(c);
	return SKX_NO_DOC;
}

/*
 * Decodes the frequencies of a long list's sub-block.  Returns the start of
 * its labels, which is valid while the page is pinned.
 */
static const uint8 *
skx_cursor_decode_tf_part(SkxCursorList *l)
{
	SkxSkiplistCursor *s = &l->nodes;
	const uint8 *part;

	skx_skiplist_pin(s);
	part = skx_codec_subblock_tfs(s->body, s->body + l->tf_offset, s->end,
								  s->n, l->postings.tf);
	if (part == NULL)
		skx_cursor_damaged(l, "sub-block does not decode");
	l->head.tfs = l->postings.tf;
	return part;
}

void
skx_cursor_decode_tfs(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	Assert(l->form == SKX_CURSOR_LONG && (c->docs != NULL || l->has_bits));
	(void) skx_cursor_decode_tf_part(l);
	skx_skiplist_unpin_if_crowded(&l->nodes);
}

const SkxPostings *
skx_cursor_labels(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);
	const uint8 *part;

	if (l->has_labels)
		return &l->postings;
	part = skx_cursor_decode_tf_part(l);
	if (skx_codec_subblock_labels(l->nodes.body, part, l->nodes.end,
								  &l->postings) == NULL)
		skx_cursor_damaged(l, "sub-block does not decode");
	l->has_labels = true;
	skx_skiplist_unpin_if_crowded(&l->nodes);
	return &l->postings;
}

bool
skx_cursor_has_label(SkxCursor *c, int i)
{
	const SkxPostings *p = skx_cursor_labels(c);

	return p->tf[i] == 0 || (p->labels[i] & c->labels) != 0;
}

uint32
skx_cursor_take(SkxCursor *c, uint32 from, uint32 limit, uint32 *docs, int *n)
{
	uint32		doc = skx_cursor_seek(c, from);
	int			k = 0;

	*n = 0;
	if (doc >= limit)
		return doc;
	if (c->labels == 0 && c->end <= limit)
	{
		*n = c->n - c->i;
		memcpy(docs, c->docs + c->i, sizeof(uint32) * *n);
		c->i = c->n - 1;
		return c->end;
	}
	for (;;)
	{
		docs[k] = c->docs[c->i];
		k += skx_cursor_label_matches(c, c->i);
		if (c->i + 1 >= c->n || c->docs[c->i + 1] >= limit)
			break;
		c->i++;
	}
	*n = k;
	return c->docs[c->i] + 1;
}

uint32
skx_cursor_lower_bound(SkxCursor *c, uint32 target)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (!skx_cursor_advance(c, target))
		return SKX_NO_DOC;
	if (c->docs == NULL)
	{
		/* a bound is good enough if the sub-block ends close to it */
		target = Max(target, l->last_before + 1);
		if (c->end - 1 - target < SKX_LOWER_BOUND_SLACK)
		{
			skx_skiplist_unpin_if_crowded(&l->nodes);
			return target;
		}
	}
	return skx_cursor_seek(c, target);
}

void
skx_cursor_prefetch_memory(const SkxCursor *c, uint32 target)
{
	const SkxCursorList *l = skx_cursor_list(c);

	if (l->form == SKX_CURSOR_LONG)
		skx_skiplist_prefetch_target(&l->nodes, target);
}

void
skx_cursor_unpin_if_crowded(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (l->form == SKX_CURSOR_LONG && !c->at_end)
		skx_skiplist_unpin_if_crowded(&l->nodes);
}
