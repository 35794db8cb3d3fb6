/*
 * inspect_check_prefixes.c
 *	  Compares lists of prefixes with those of their lexemes.
 *
 * The prefixes form a dictionary with posting lists, and are checked as such
 * (inspect_check.c).  Their frequencies must be what those of the lexemes add
 * up to, which were checked before.
 */
#include "postgres.h"

#include "index/cursor/cursor_sum.h"
#include "inspect/inspect_internal.h"

void
skx_inspect_prefix_begin(SkxCheckSegment *cs, const char *prefix, int len)
{
	memset(cs->prefix_tfs, 0, cs->ndocs * sizeof(uint16));
	skx_cursor_add_prefix(cs->lexemes_of, prefix, len, 0, cs->ndocs,
						  cs->prefix_tfs);
}

void
skx_inspect_prefix_postings(SkxCheckList *l, const SkxPostings *p)
{
	const uint16 *sums = l->cs->prefix_tfs;
	int			i;

	l->flags |= SKX_TERM_NO_POSITIONS;
	for (i = 0; i < p->n; i++)
	{
		if (p->tf[i] == 0 || p->tf[i] != sums[p->docs[i]] ||
			p->labels[i] != 1 << SKX_LABEL_D)
			skx_inspect_list_damaged(l,
									 "prefix %u has frequency %u in document %u, but its lexemes have %u",
									 l->term->ordinal, p->tf[i], p->docs[i],
									 sums[p->docs[i]]);
	}
}

void
skx_inspect_prefix_end(SkxCheckList *l)
{
	const uint16 *sums = l->cs->prefix_tfs;
	uint32		df = 0;
	uint32		i;

	for (i = 0; i < l->cs->ndocs; i++)
		df += sums[i] > 0;
	if (l->npostings != df)
		skx_inspect_list_damaged(l,
								 "prefix %u has " UINT64_FORMAT " postings, but its lexemes are in %u documents",
								 l->term->ordinal, l->npostings, df);
}
