/*
 * inspect_check_list.c
 *	  Checks the postings of all lists, and the layout of short lists.
 *
 * Each posting is read once.  Documents must ascend, and each posting must
 * have as many positions as its frequency says, with the labels that it has.
 * The lengths and fingerprints of the documents are added up meanwhile.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/rank/rank.h"
#include "index/column/column_value.h"
#include "inspect/inspect_internal.h"

#define SKX_TERM_ALL	0x3F	/* all SKX_TERM_* bits */

/* Checks that the current page ends where the last structure on it ends. */
static void
skx_inspect_place_leave(SkxCheckSegment *cs)
{
	if (cs->post_offset == cs->post_lower)
		return;
	skx_damage_report_detail(cs->check->index,
							 skx_segment_block(cs->seg, SKX_SEGMENT_POSTINGS,
											   cs->post_page),
							 "the page goes on to offset %u, but its lists end at %u",
							 cs->post_lower, cs->post_offset);
}

/* Checks that pages [from, to), which have no list, are empty. */
static void
skx_inspect_place_skip(SkxCheckSegment *cs, uint32 from, uint32 to)
{
	uint32		page;

	for (page = from; page < to; page++)
	{
		skx_inspect_reader_page(&cs->postings, page);
		if (cs->postings.lower != SKX_PAGE_START)
			skx_inspect_damaged(&cs->postings,
								"the page holds postings of no list");
	}
}

const char *
skx_inspect_place(SkxCheckSegment *cs, uint32 page, uint32 offset,
				  uint32 align)
{
	const char *data;
	uint32		want = TYPEALIGN(align, cs->post_offset);

	if (page > cs->post_page)
	{
		skx_inspect_place_leave(cs);
		skx_inspect_place_skip(cs, cs->post_page + 1, page);
		want = SKX_PAGE_START;
	}
	data = skx_inspect_reader_page(&cs->postings, page);
	if (page < cs->post_page || offset != want)
		skx_inspect_damaged(&cs->postings,
							"a list, node or portion at offset %u overlaps or leaves a gap: the last one ended at offset %u of page %u of the plane",
							offset, cs->post_offset, cs->post_page);
	cs->post_page = page;
	cs->post_offset = offset;
	cs->post_lower = cs->postings.lower;
	return data;
}

void
skx_inspect_place_end(SkxCheckSegment *cs)
{
	uint32		npages = cs->seg->planes[SKX_SEGMENT_POSTINGS].npages;

	if (npages == 0)
		return;
	skx_inspect_place_leave(cs);
	skx_inspect_place_skip(cs, cs->post_page + 1, npages);
}

/*
 * Checks the positions of posting `i`: they must ascend and have the labels of
 * the posting.
 */
static void
skx_inspect_labels(SkxCheckList *l, const SkxPostings *p, int i,
				   const uint16 *positions)
{
	uint16		counts[SKX_NLABELS] = {0};
	uint8		set = 0;
	int			label;
	int			k;

	for (k = 0; k < p->tf[i]; k++)
	{
		if (k > 0 && WEP_GETPOS(positions[k]) <= WEP_GETPOS(positions[k - 1]))
			skx_inspect_list_damaged(l,
									 "the positions of term %u in document %u do not ascend",
									 l->term->ordinal, p->docs[i]);
		counts[WEP_GETWEIGHT(positions[k])]++;
		set |= 1 << WEP_GETWEIGHT(positions[k]);
	}
	for (label = 1; label < SKX_NLABELS; label++)
		if (counts[label] != p->label_tf[label - 1][i])
			break;
	if (set != p->labels[i] || label < SKX_NLABELS)
		skx_inspect_list_damaged(l,
								 "the labels of term %u in document %u are not those of its positions",
								 l->term->ordinal, p->docs[i]);
	if (set & ~(1 << SKX_LABEL_D))
		l->flags |= SKX_TERM_LABELS;
	if (p->tf[i] == 0)
		l->flags |= SKX_TERM_BARE;
}

/* Adds a posting that was checked to all sums. */
static void
skx_inspect_account(SkxCheckList *l, const SkxPostings *p, int i,
					const uint16 *positions)
{
	SkxCheckSegment *cs = l->cs;
	uint32		doc = p->docs[i];
	uint32		tf = p->tf[i];
	uint16		impact = (Max(tf, 1) - 1) << 8 | cs->norms[doc];
	int			k;

	l->last = doc;
	l->npostings++;
	l->npositions += tf;
	for (k = 0; k < lengthof(l->kth); k++)
		l->kth[k] |= l->term->kth[k] == impact;
	if (!l->is_value)
		cs->lengths[doc] += Max(tf, 1);
	if (l->key_column >= 0)
		skx_inspect_account_key(cs, l->key_column, doc, &l->key);
	if (cs->fingerprints != NULL)
		cs->fingerprints[doc] += skx_inspect_hash_positions(l->hash,
															positions, tf);
}

const uint8 *
skx_inspect_postings(SkxCheckList *l, const SkxPostings *p, const uint8 *own,
					 const uint8 *own_end)
{
	SkxCheckSegment *cs = l->cs;
	uint16		positions[SKX_TF_MAX];
	int			i;

	for (i = 0; i < p->n; i++)
	{
		uint32		doc = p->docs[i];

		if (doc >= cs->ndocs || (l->last != SKX_NO_DOC && doc <= l->last))
			skx_inspect_list_damaged(l,
									 "document %u of term %u follows document %d of %u",
									 doc, l->term->ordinal, (int) l->last,
									 cs->ndocs);
		if (cs->norms[doc] == SKX_NORM_NULL && !l->is_value)
			skx_inspect_list_damaged(l,
									 "document %u is NULL, but has term %u",
									 doc, l->term->ordinal);
		if (cs->norms[doc] != SKX_NORM_NULL && l->marks_null)
			skx_inspect_list_damaged(l,
									 "document %u is not NULL, but has term %u",
									 doc, l->term->ordinal);
		if (p->tf[i] > SKX_TF_MAX)
			skx_inspect_list_damaged(l,
									 "term %u has an impossible frequency in document %u",
									 l->term->ordinal, doc);
		if (own == NULL)
			skx_inspect_positions_take(&cs->positions, p->tf[i], positions);
		else if (skx_codec_short_positions_get(own, own_end, p, i, positions,
											   &own) == NULL)
			skx_inspect_list_damaged(l,
									 "the positions of term %u in document %u do not decode",
									 l->term->ordinal, doc);
		skx_inspect_labels(l, p, i, positions);
		skx_inspect_account(l, p, i, positions);
	}
	return own;
}

/* Checks that the list's positions begin at the address in the dictionary. */
static void
skx_inspect_list_positions(SkxCheckList *l)
{
	SkxPositionAddress at;

	skx_inspect_positions_at(&l->cs->positions, &at);
	if (at.page != l->term->pos_page || at.offset != l->term->pos_offset ||
		at.index != 0)
		skx_inspect_list_damaged(l,
								 "the positions of term %u are said to start at page %u, offset %u, but do so at page %u, offset %u",
								 l->term->ordinal, l->term->pos_page,
								 l->term->pos_offset, at.page, at.offset);
}

/* Checks a short list. */
static void
skx_inspect_short(SkxCheckList *l)
{
	SkxCheckSegment *cs = l->cs;
	const SkxTerm *term = l->term;
	const uint8 *src = term->bytes;
	const uint8 *end = src + term->inline_size;
	const uint8 *rest;
	SkxPostings p;

	if ((term->flags & SKX_TERM_PLACE) == SKX_TERM_SHORT)
	{
		src = (const uint8 *) skx_inspect_place(cs, term->short_page,
												term->short_offset, 1);
		l->block = cs->postings.page.block;
		if (term->short_offset + term->short_size > cs->postings.lower)
			skx_inspect_list_damaged(l, "the list of term %u leaves its page",
									 term->ordinal);
		src += term->short_offset;
		end = src + term->short_size;
		cs->post_offset = term->short_offset + term->short_size;
	}
	rest = skx_codec_short_get(src, end, term->df, &p);
	if (rest == NULL || p.n != term->df)
		skx_inspect_list_damaged(l, "the list of term %u does not decode",
								 term->ordinal);
	if (term->flags & SKX_TERM_OWN_POSITIONS)
		rest = skx_inspect_postings(l, &p, rest, end);
	else
		skx_inspect_postings(l, &p, NULL, NULL);
	if (rest != end)
		skx_inspect_list_damaged(l, "the list of term %u ends before its bytes",
								 term->ordinal);
}

/* Checks the flags in the dictionary entry, before the list is read. */
static void
skx_inspect_term_flags(SkxCheckList *l)
{
	const SkxTerm *term = l->term;
	uint8		place = term->flags & SKX_TERM_PLACE;
	bool		is_long = place == SKX_TERM_LONG;

	if ((term->flags & ~SKX_TERM_ALL) != 0 ||
		is_long != (term->df >= SKX_SUBBLOCK) ||
		(is_long && (term->flags & SKX_TERM_OWN_POSITIONS) != 0) ||
		(!is_long && (term->flags & SKX_TERM_TABLE) != 0) ||
		(place == SKX_TERM_INLINE && term->df > SKX_INLINE_DF &&
		 term->npositions > 0))
		skx_inspect_list_damaged(l, "term %u has impossible flags",
								 term->ordinal);
}

/* Checks the other fields of the dictionary entry, once the list is read. */
static void
skx_inspect_term_totals(SkxCheckList *l)
{
	static const uint32 ks[SKX_NKTHS] = SKX_KTHS;
	const SkxTerm *term = l->term;
	int			k;

	if (l->npostings != term->df)
		skx_inspect_list_damaged(l,
								 "term %u has " UINT64_FORMAT " postings, but the dictionary counts %u",
								 term->ordinal, l->npostings, term->df);
	if (l->npositions != term->npositions)
		skx_inspect_list_damaged(l,
								 "term %u has " UINT64_FORMAT " positions, but the dictionary counts " UINT64_FORMAT,
								 term->ordinal, l->npositions,
								 term->npositions);
	if (l->flags != (term->flags & (SKX_TERM_LABELS | SKX_TERM_BARE)))
		skx_inspect_list_damaged(l,
								 "the flags of term %u are not those of its postings",
								 term->ordinal);
	if ((term->flags & SKX_TERM_PLACE) != SKX_TERM_LONG)
		return;
	for (k = 0; k < lengthof(ks); k++)
		if (ks[k] <= term->df && !l->kth[k])
			skx_inspect_list_damaged(l,
									 "no posting of term %u has the impacts given for the best %u",
									 term->ordinal, ks[k]);
}

/* Sets the column and the key of a list, if it is of a value with a key. */
static void
skx_inspect_list_key(SkxCheckList *l, const char *lexeme, int len)
{
	const SkxKeyColumns *keys = &l->cs->keys;
	int			i;

	l->key_column = -1;
	for (i = 0; l->is_value && len >= SKX_VALUE_HEAD && i < keys->n; i++)
		if ((uint8) lexeme[1] == keys->columns[i].column + 1)
			l->key_column = i;
	if (l->key_column >= 0)
		skx_column_key(&keys->columns[l->key_column], lexeme, len, &l->key);
}

void
skx_inspect_check_list(SkxCheckSegment *cs, const SkxTerm *term,
					   const char *lexeme, int len, BlockNumber block)
{
	SkxCheckList l = {0};
	bool		far = term->npositions > 0 &&
		(term->flags & SKX_TERM_OWN_POSITIONS) == 0;

	l.cs = cs;
	l.term = term;
	l.block = block;
	l.last = SKX_NO_DOC;
	l.hash = skx_inspect_hash_lexeme(lexeme, len);
	l.is_value = skx_column_is_value(lexeme, len);
	skx_inspect_list_key(&l, lexeme, len);
	l.marks_null = len == SKX_VALUE_HEAD &&
		memcmp(lexeme, SKX_VALUE_NULL_TEXT, len) == 0;
	if (l.marks_null)
		cs->nmarked += term->df;
	skx_inspect_term_flags(&l);
	if (far)
		skx_inspect_list_positions(&l);
	if ((term->flags & SKX_TERM_PLACE) == SKX_TERM_LONG)
		skx_inspect_check_nodes(&l);
	else
		skx_inspect_short(&l);
	if (far)
		skx_inspect_positions_list_end(&cs->positions);
	l.block = block;
	skx_inspect_term_totals(&l);
	cs->npostings += l.npostings;
	cs->npositions += l.npositions;
}
