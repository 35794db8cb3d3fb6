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
skx_score_make_ref(Oid index, uint32 nothers, TSQuery query,
				   SkxRefOrigin maker)
{
	Size		head = offsetof(SkxRef, indexes) + sizeof(Oid) * nothers;
	Size		size = query != NULL ? VARSIZE(query) : HDRSIZETQ;
	SkxRef	   *ref;

	/* a query can have megabytes, and the planner copies it many times */
	CHECK_FOR_INTERRUPTS();
	ref = palloc(head + size);
	memset(ref, 0, head + HDRSIZETQ);
	SET_VARSIZE(ref, head + size);
	ref->index = index;
	ref->origin = maker;
	ref->nindexes = nothers;
	if (query != NULL)
		memcpy(SkxRefQuery(ref), query, size);
	else
		SET_VARSIZE(SkxRefQuery(ref), size);
	return ref;
}

SkxRef *
skx_score_ref(Oid index, const List *others, TSQuery query, SkxRefOrigin maker)
{
	SkxRef	   *ref = skx_score_make_ref(index, list_length(others), query,
										 maker);
	int			i = 0;
	ListCell   *lc;

	foreach(lc, others)
	{
		ref->indexes[i++] = lfirst_oid(lc);
	}
	return ref;
}

SkxRef *
skx_score_rebind_ref(const SkxRef *ref, TSQuery query)
{
	SkxRef	   *bound = skx_score_make_ref(ref->index, ref->nindexes, query,
										   ref->origin);

	memcpy(bound->indexes, ref->indexes, sizeof(Oid) * ref->nindexes);
	return bound;
}

bool
skx_score_same_query(const TSQueryData *a, const TSQueryData *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}
