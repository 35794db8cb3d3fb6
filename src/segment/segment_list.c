/*
 * segment_list.c
 *	  Any posting list as a forward cursor over decoded sub-blocks.
 *
 * A short list is decoded whole when it is opened and is its only sub-block;
 * a long one decodes the sub-block that a seek lands on: documents first,
 * frequencies and labels when somebody asks.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "segment/segment.h"

/* A lower bound by more documents than this is no good. */
#define SKX_BOUND_FAR		4096

static void
skx_segment_list_damaged(SkxList *list, const char *what)
{
	uint32		page = list->term.short_page;

	if (list->is_long)
		page = list->cursor.node_page + list->cursor.portion;
	skx_segment_damaged(list->seg, SKX_SEGMENT_POSTINGS, page, what);
}

/*
 * Decodes a short list, and keeps its positions part if it has one.
 */
static void
skx_segment_list_begin_short(SkxList *list)
{
	const SkxTerm *term = &list->term;
	const uint8 *src = term->bytes;
	uint32		size = term->inline_size;
	const uint8 *rest;

	if ((term->flags & SKX_TERM_PLACE) == SKX_TERM_SHORT)
	{
		const char *page = skx_segment_pin(list->seg, SKX_SEGMENT_POSTINGS,
										   term->short_page,
										   &list->short_ref);

		src = (const uint8 *) page + term->short_offset;
		size = term->short_size;
		skx_skiplist_work.portions++;
	}
	rest = skx_codec_short_get(src, src + size, term->df, &list->p);
	if (rest == NULL || list->p.docs[term->df - 1] >= list->seg->header.ndocs)
		skx_segment_list_damaged(list, "short posting list does not decode");
	if (term->flags & SKX_TERM_OWN_POSITIONS)
	{
		uint32		n = src + size - rest;

		if (list->own == NULL || n > list->own_size)
		{
			if (list->own != NULL)
				pfree(list->own);
			list->own_size = list->keep ? Max(n, SKX_OWN_POSITIONS_BYTES) : n;
			list->own = palloc(list->own_size + 1);
		}
		memcpy(list->own, rest, n);
		list->own_end = list->own + n;
		list->own_src = list->own;
	}
	if (!list->keep || skx_blkio_crowded(list->seg->file))
		skx_blkio_unpin(list->seg->file, &list->short_ref);
	list->decoded = list->has_tf = list->has_labels = true;
	list->last = list->p.docs[list->p.n - 1];
	skx_skiplist_work.subblocks++;
}

/*
 * Who goes through all lists is at the page where this one starts.
 */
static void
skx_segment_list_ahead(SkxList *list)
{
	uint32		page;

	if (skx_segment_term_page(&list->term, &page))
		skx_segment_ask_next(list->seg, SKX_SEGMENT_POSTINGS, page,
							 list->seg->planes[SKX_SEGMENT_POSTINGS].npages,
							 &list->own_ahead);
}

void
skx_segment_list_begin(SkxList *list, SkxSegment *seg, const SkxTerm *term)
{
	if (list->is_long)
		skx_skiplist_close(&list->cursor);
	list->seg = seg;
	list->term = *term;
	list->is_long = (term->flags & SKX_TERM_PLACE) == SKX_TERM_LONG;
	list->done = false;
	list->i = 0;
	list->decoded = list->has_tf = list->has_labels = false;
	list->own_i = 0;
	list->pos_ready = false;
	list->pos_from_page = PG_UINT32_MAX;
	if (list->whole)
		skx_segment_list_ahead(list);
	if (list->is_long)
	{
		if (term->list.page >= seg->planes[SKX_SEGMENT_POSTINGS].npages)
			skx_segment_damaged(seg, SKX_SEGMENT_DICT, seg->header.dict_root,
								"posting list past the end of its plane");
		skx_skiplist_open(&list->cursor, seg->file, seg->rel,
						  &seg->planes[SKX_SEGMENT_POSTINGS], term->check,
						  &term->list);
		list->cursor.ahead = seg->ahead;
		list->cursor.reads = seg->kept->reads;
		list->cursor.running = list->whole;
	}
	else
		skx_segment_list_begin_short(list);
}

void
skx_segment_list_end(SkxList *list)
{
	if (list->seg == NULL)
		return;
	if (list->is_long)
		skx_skiplist_close(&list->cursor);
	list->is_long = false;
	skx_blkio_unpin(list->seg->file, &list->short_ref);
	skx_blkio_unpin(list->seg->file, &list->pos_ref);
	if (list->own != NULL)
		pfree(list->own);
	if (list->pos_deltas != NULL)
		pfree(list->pos_deltas);
	list->own = NULL;
	list->pos_deltas = NULL;
}

SkxList *
skx_segment_list_open(SkxSegment *seg, const SkxTerm *term)
{
	SkxList    *list = palloc0(sizeof(SkxList));

	skx_segment_list_begin(list, seg, term);
	return list;
}

void
skx_segment_list_close(SkxList *list)
{
	skx_segment_list_end(list);
	pfree(list);
}

void
skx_segment_list_decode(SkxList *list)
{
	SkxSkiplistCursor *c = &list->cursor;
	const uint8 *part;

	skx_skiplist_pin(c);
	part = skx_codec_subblock_docs(c->body, c->end, c->n, c->base,
								   list->p.docs);
	if (part == NULL || list->p.docs[c->n - 1] != c->last ||
		c->last >= list->seg->header.ndocs)
		skx_segment_list_damaged(list, "sub-block does not decode");
	list->tf_part = part - c->body;
	list->p.n = c->n;
	list->last = c->last;
	list->i = 0;
	list->decoded = true;
	list->has_tf = list->has_labels = false;
	list->pos_ready = false;
	skx_skiplist_work.subblocks++;
	skx_skiplist_relax(c);
}

uint32
skx_segment_list_move(SkxList *list, uint32 target)
{
	if (list->done)
		return SKX_NO_DOC;
	if (!list->is_long)
	{
		if (target > list->last)
		{
			list->done = true;
			list->decoded = false;
			return SKX_NO_DOC;
		}
		return skx_segment_list_seek(list, target);
	}
	list->decoded = false;
	if (!skx_skiplist_seek(&list->cursor, target))
	{
		list->done = true;
		return SKX_NO_DOC;
	}
	skx_segment_list_decode(list);
	return skx_segment_list_seek(list, target);
}

uint32
skx_segment_list_bound(SkxList *list, uint32 target)
{
	if (list->done)
		return SKX_NO_DOC;
	if (list->decoded && target <= list->last)
		return skx_segment_list_seek(list, target);
	if (!list->is_long)
		return skx_segment_list_move(list, target);
	list->decoded = false;
	if (!skx_skiplist_seek(&list->cursor, target))
	{
		list->done = true;
		return SKX_NO_DOC;
	}
	/* Where in a sub-block that reaches far is worth to know. */
	target = Max(target, list->cursor.base + 1);
	if (list->cursor.last - target >= SKX_BOUND_FAR)
	{
		skx_segment_list_decode(list);
		return skx_segment_list_seek(list, target);
	}
	skx_skiplist_relax(&list->cursor);
	return target;
}

/*
 * Puts decoded documents into the window.
 */
static void
skx_segment_list_fill_decoded(SkxList *list, uint32 window, uint64 *bits,
							  uint32 ndocs)
{
	const SkxPostings *p = &list->p;
	int			i = list->i;

	while (i < p->n && p->docs[i] < window)
		i++;
	list->i = Min(i, p->n - 1);
	for (; i < p->n && p->docs[i] - window < ndocs; i++)
	{
		uint32		bit = p->docs[i] - window;

		bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
}

void
skx_segment_list_fill(SkxList *list, uint32 window, uint64 *bits, int nwords)
{
	uint32		ndocs = nwords * 64;
	uint32		target = window;
	SkxSkiplistCursor *c = &list->cursor;

	if (list->done)
		return;
	if (!list->is_long)
	{
		skx_segment_list_fill_decoded(list, window, bits, ndocs);
		return;
	}
	for (;;)
	{
		if (!skx_skiplist_seek(c, target))
		{
			list->done = true;
			list->decoded = false;
			break;
		}
		if (c->base + 1 >= window + ndocs)
			break;				/* base + 1 wraps to 0 in the first one */
		if (list->decoded && list->last == c->last)
			skx_segment_list_fill_decoded(list, window, bits, ndocs);
		else
		{
			list->decoded = false;
			skx_skiplist_pin(c);
			if (!skx_codec_subblock_fill(c->body, c->end, c->n, c->base,
										 window, bits, nwords))
				skx_segment_list_damaged(list, "sub-block does not decode");
			skx_skiplist_work.fills++;
		}
		if (c->last >= window + ndocs - 1)
			break;
		target = c->last + 1;
	}
	if (!list->done)
		skx_skiplist_relax(c);
}

/*
 * Decodes the frequencies of the decoded sub-block; returns where its labels
 * start.  The page must stay pinned until the caller is done with that.
 */
static const uint8 *
skx_segment_list_decode_tfs(SkxList *list)
{
	SkxSkiplistCursor *c = &list->cursor;
	const uint8 *part;

	skx_skiplist_pin(c);
	part = skx_codec_subblock_tfs(c->body, c->body + list->tf_part, c->end,
								  c->n, list->p.tf);
	if (part == NULL)
		skx_segment_list_damaged(list, "sub-block does not decode");
	list->has_tf = true;
	return part;
}

void
skx_segment_list_tfs(SkxList *list)
{
	if (list->has_tf)
		return;
	(void) skx_segment_list_decode_tfs(list);
	skx_skiplist_relax(&list->cursor);
}

void
skx_segment_list_labels(SkxList *list)
{
	SkxSkiplistCursor *c = &list->cursor;
	const uint8 *part;

	if (list->has_labels)
		return;
	part = skx_segment_list_decode_tfs(list);
	if (skx_codec_subblock_labels(c->body, part, c->end, &list->p) == NULL)
		skx_segment_list_damaged(list, "sub-block does not decode");
	list->has_labels = true;
	skx_skiplist_relax(c);
}
