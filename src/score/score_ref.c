/*
 * score_ref.c
 *	  A ranking query together with the index that ranks, as one value.
 */
#include "postgres.h"

#include "score/score.h"

SkxRef *
skx_score_ref(Oid index, TSQuery query)
{
	Size		size = query != NULL ? VARSIZE(query) : HDRSIZETQ;
	SkxRef	   *ref = palloc0(offsetof(SkxRef, query) + size);

	SET_VARSIZE(ref, offsetof(SkxRef, query) + size);
	ref->index = index;
	if (query != NULL)
		memcpy(ref->query, query, size);
	else
		SET_VARSIZE(ref->query, size);
	return ref;
}
