/*
 * score_ref.c
 *	  A ranking query together with the index that ranks, as one value.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "score/score.h"

SkxRef *
skx_score_ref(Oid index, TSQuery query, SkxRefMaker maker)
{
	Size		size = query != NULL ? VARSIZE(query) : HDRSIZETQ;
	SkxRef	   *ref;

	/* a query can have megabytes, and the planner copies it many times */
	CHECK_FOR_INTERRUPTS();
	ref = palloc(offsetof(SkxRef, query) + size);
	memset(ref, 0, offsetof(SkxRef, query) + HDRSIZETQ);
	SET_VARSIZE(ref, offsetof(SkxRef, query) + size);
	ref->index = index;
	ref->maker = maker;
	if (query != NULL)
		memcpy(ref->query, query, size);
	else
		SET_VARSIZE(ref->query, size);
	return ref;
}

bool
skx_score_same_query(const TSQueryData *a, const TSQueryData *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}
