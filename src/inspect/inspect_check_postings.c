/*
 * inspect_check_postings.c
 *	  Checks where postings lie, and what each of them says.
 *
 * Each posting is read once.  Documents must ascend, and each posting must
 * have as many positions as its frequency says, with the labels that it has.
 * The lengths and fingerprints of the documents are added up meanwhile.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/rank/rank.h"
#include "inspect/inspect_internal.h"

/* Checks that the current page ends where the last structure on it ends. */
static void
skx_inspect_end_list_page(SkxCheckSegment *cs)
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
skx_inspect_skip_list_pages(SkxCheckSegment *cs, uint32 from, uint32 to)
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
skx_inspect_check_address(SkxCheckSegment *cs, uint32 page, uint32 offset,
						  uint32 align)
{
	const char *data;
	uint32		want = TYPEALIGN(align, cs->post_offset);

	if (page > cs->post_page)
	{
		skx_inspect_end_list_page(cs);
		skx_inspect_skip_list_pages(cs, cs->post_page + 1, page);
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
skx_inspect_end_postings_plane(SkxCheckSegment *cs)
{
	uint32		npages = cs->seg->planes[SKX_SEGMENT_POSTINGS].npages;

	if (npages == 0)
		return;
	skx_inspect_end_list_page(cs);
	skx_inspect_skip_list_pages(cs, cs->post_page + 1, npages);
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
		l->flags |= SKX_TERM_NO_POSITIONS;
}

/* Adds a posting that was checked to all sums. */
static void
skx_inspect_add_posting(SkxCheckList *l, const SkxPostings *p, int i,
						const uint16 *positions)
{
	SkxCheckSegment *cs = l->cs;
	uint32		doc = p->docs[i];
	uint32		tf = p->tf[i];
	uint16		impact = (Max(tf, 1) - 1) << 8 | cs->norms[doc];
	int			k;

	l->last = doc;
	l->npostings++;
	for (k = 0; k < lengthof(l->kth); k++)
		l->kth[k] |= l->term->kth_best[k] == impact;
	if (cs->prefix_tfs != NULL)
		return;
	l->npositions += tf;
	if (!l->is_value)
		cs->lengths[doc] += Max(tf, 1);
	if (l->key_column >= 0)
		skx_inspect_add_key(cs, l->key_column, doc, &l->key);
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
		if (cs->norms[doc] != SKX_NORM_NULL && l->is_null_term)
			skx_inspect_list_damaged(l,
									 "document %u is not NULL, but has term %u",
									 doc, l->term->ordinal);
		if (p->tf[i] > SKX_TF_MAX)
			skx_inspect_list_damaged(l,
									 "term %u has an impossible frequency in document %u",
									 l->term->ordinal, doc);
		if (cs->prefix_tfs != NULL)
		{
			skx_inspect_add_posting(l, p, i, NULL);
			continue;
		}
		if (own == NULL)
			skx_inspect_positions_read(&cs->positions, p->tf[i], positions);
		else if (skx_codec_short_positions_get(own, own_end, p, i, positions,
											   &own) == NULL)
			skx_inspect_list_damaged(l,
									 "the positions of term %u in document %u do not decode",
									 l->term->ordinal, doc);
		skx_inspect_labels(l, p, i, positions);
		skx_inspect_add_posting(l, p, i, positions);
	}
	if (cs->prefix_tfs != NULL)
		skx_inspect_prefix_postings(l, p);
	return own;
}
