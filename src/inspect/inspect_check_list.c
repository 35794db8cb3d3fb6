/*
 * inspect_check_list.c
 *	  Checks posting lists: their sums, and the layout of short ones.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/rank/rank.h"
#include "index/column/column_value.h"
#include "inspect/inspect_internal.h"

#define SKX_TERM_ALL	0x3F	/* all SKX_TERM_* bits */

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
skx_inspect_short_list(SkxCheckList *l)
{
	SkxCheckSegment *cs = l->cs;
	const SkxTerm *term = l->term;
	const uint8 *src = term->bytes;
	const uint8 *end = src + term->inline_size;
	const uint8 *rest;
	SkxPostings p;

	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_SHORT)
	{
		src = (const uint8 *) skx_inspect_check_address(cs, term->short_page,
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
	uint8		place = term->flags & SKX_TERM_FORM_MASK;
	bool		is_long = place == SKX_TERM_LONG;

	if ((term->flags & ~SKX_TERM_ALL) != 0 ||
		is_long != (term->df >= SKX_SUBBLOCK) ||
		(is_long && (term->flags & SKX_TERM_OWN_POSITIONS) != 0) ||
		(!is_long && (term->flags & SKX_TERM_TABLE_PAGES) != 0) ||
		(place == SKX_TERM_INLINE && term->df > SKX_INLINE_DF &&
		 term->npositions > 0))
		skx_inspect_list_damaged(l, "term %u has impossible flags",
								 term->ordinal);
}

/* Checks the other fields of the dictionary entry, once the list is read. */
static void
skx_inspect_term_totals(SkxCheckList *l)
{
	static const uint32 ks[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;
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
	if (l->flags != (term->flags & (SKX_TERM_LABELS | SKX_TERM_NO_POSITIONS)))
		skx_inspect_list_damaged(l,
								 "the flags of term %u are not those of its postings",
								 term->ordinal);
	if ((term->flags & SKX_TERM_FORM_MASK) != SKX_TERM_LONG)
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
	for (i = 0; l->is_value && len >= SKX_VALUE_HEAD_BYTES && i < keys->n; i++)
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
	l.is_null_term = len == SKX_VALUE_HEAD_BYTES &&
		memcmp(lexeme, SKX_VALUE_NULL_TEXT, len) == 0;
	if (l.is_null_term)
		cs->nnull_term += term->df;
	skx_inspect_term_flags(&l);
	if (cs->prefix_tfs != NULL)
		skx_inspect_prefix_begin(cs, lexeme, len);
	if (far)
		skx_inspect_list_positions(&l);
	if ((term->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG)
		skx_inspect_check_nodes(&l);
	else
		skx_inspect_short_list(&l);
	if (far)
		skx_inspect_positions_list_end(&cs->positions);
	l.block = block;
	skx_inspect_term_totals(&l);
	if (cs->prefix_tfs != NULL)
		skx_inspect_prefix_end(&l);
	cs->npostings += l.npostings;
	cs->npositions += l.npositions;
}
