/*
 * topk_prefix.c
 *	  A prefix of the ranking query as one list, gathered from those of its
 *	  lexemes.
 *
 * How often a prefix occurs in a document is the sum over its lexemes, so what
 * it gives is not the sum of what they give: the lists are added up before
 * anything is scored.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "topk/topk_internal.h"

typedef struct SkxPrefix
{
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	float	   *tfs;			/* by document; -1: it has none */
	uint32		n;				/* documents that have some */
} SkxPrefix;

/* Adds the postings of a lexeme; its sub-blocks are gone through once. */
static bool
skx_prefix_add(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxPrefix  *p = arg;
	const SkxScorer *scorer = p->run->scorer;
	SkxList    *list = skx_segment_list_open(p->run->seg, term);
	uint32		doc = skx_segment_list_seek(list, 0);

	CHECK_FOR_INTERRUPTS();
	while (doc != SKX_NO_DOC)
	{
		int			i;

		skx_segment_list_labels(list);
		for (i = list->i; i < list->p.n; i++)
		{
			float		tf = skx_score_tf(scorer, p->scored, &list->p, i);

			float	   *sum = &p->tfs[list->p.docs[i]];

			if (tf < 0)
				continue;
			p->n += *sum < 0;
			*sum = Max(*sum, 0) + tf;
		}
		doc = list->last + 1;
		list->i = list->p.n - 1;
		doc = skx_segment_list_seek(list, doc);
	}
	skx_segment_list_close(list);
	return true;
}

/* As the document's score caps them. */
static void
skx_prefix_bounds(SkxTopkRun *run, SkxTopkList *l)
{
	SkxTopkMemory *m = l->memory;
	uint32		first;

	for (first = 0; first < m->n; first += SKX_SUBBLOCK)
	{
		uint32		end = Min(first + SKX_SUBBLOCK, m->n);
		int32		bound = 0;
		uint32		i;

		skx_topk_norms_want(run->norms, m->docs + first, end - first);
		for (i = first; i < end; i++)
		{
			float		inverse =
				run->scorer->inverse[run->norms->bytes[m->docs[i]]];
			int32		part = skx_rank_part(l->weight, m->tfs[i], inverse);

			bound = Max(bound, part);
		}
		m->bounds[first / SKX_SUBBLOCK] = bound;
		l->max = Max(l->max, bound);
	}
}

/* NULL: the segment has none of its lexemes. */
SkxTopkList *
skx_topk_list_prefix(SkxTopkRun *run, const SkxScoreTerm *scored)
{
	uint32		ndocs = run->seg->header.ndocs;
	SkxPrefix	p = {run, scored, NULL, 0};
	SkxTopkList *l;
	SkxTopkMemory *m;
	uint32		doc;

	p.tfs = palloc_extended(sizeof(float) * ((Size) ndocs + 1),
							MCXT_ALLOC_HUGE);
	for (doc = 0; doc < ndocs; doc++)
		p.tfs[doc] = -1;
	skx_segment_prefix(run->seg, scored->lexeme, scored->len, skx_prefix_add,
					   &p);
	if (p.n == 0)
	{
		pfree(p.tfs);
		return NULL;
	}
	m = palloc0(sizeof(SkxTopkMemory));
	m->docs = palloc_extended(sizeof(uint32) * (Size) p.n, MCXT_ALLOC_HUGE);
	m->tfs = palloc_extended(sizeof(float) * (Size) p.n, MCXT_ALLOC_HUGE);
	m->bounds = palloc_extended(sizeof(int32) *
								((Size) p.n / SKX_SUBBLOCK + 1),
								MCXT_ALLOC_HUGE);
	for (doc = 0; doc < ndocs; doc++)
	{
		if (p.tfs[doc] < 0)
			continue;
		m->docs[m->n] = doc;
		m->tfs[m->n++] = Min(p.tfs[doc], SKX_SCORE_TF_MAX);
	}
	pfree(p.tfs);
	l = palloc0(sizeof(SkxTopkList));
	l->memory = m;
	l->term = scored;
	l->weight = scored->weight;	/* a prefix has no pairs */
	l->df = m->n;
	l->last = SKX_NO_DOC;
	skx_prefix_bounds(run, l);
	return l;
}
