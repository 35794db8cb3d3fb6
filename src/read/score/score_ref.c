/*
 * score_ref.c
 *	  A ranking query together with the index that ranks, as one value.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/score/score.h"

/*
 * Makes a reference with the query and with space for nothers other indexes.
 */
static SkxRef *
skx_score_ref_of(Oid index, uint32 nothers, TSQuery query, SkxRefMaker maker)
{
	Size		head = offsetof(SkxRef, others) + sizeof(Oid) * nothers;
	Size		size = query != NULL ? VARSIZE(query) : HDRSIZETQ;
	SkxRef	   *ref;

	/* a query can have megabytes, and the planner copies it many times */
	CHECK_FOR_INTERRUPTS();
	ref = palloc(head + size);
	memset(ref, 0, head + HDRSIZETQ);
	SET_VARSIZE(ref, head + size);
	ref->index = index;
	ref->maker = maker;
	ref->nothers = nothers;
	if (query != NULL)
		memcpy(SkxRefQuery(ref), query, size);
	else
		SET_VARSIZE(SkxRefQuery(ref), size);
	return ref;
}

SkxRef *
skx_score_ref(Oid index, const List *others, TSQuery query, SkxRefMaker maker)
{
	SkxRef	   *ref = skx_score_ref_of(index, list_length(others), query,
									   maker);
	int			i = 0;
	ListCell   *lc;

	foreach(lc, others)
	{
		ref->others[i++] = lfirst_oid(lc);
	}
	return ref;
}

SkxRef *
skx_score_bound(const SkxRef *ref, TSQuery query)
{
	SkxRef	   *bound = skx_score_ref_of(ref->index, ref->nothers, query,
										 ref->maker);

	memcpy(bound->others, ref->others, sizeof(Oid) * ref->nothers);
	return bound;
}

bool
skx_score_same_query(const TSQueryData *a, const TSQueryData *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}
