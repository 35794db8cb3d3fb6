/*
 * topk_token.h
 *	  Pages of a search, each behind the row of a token.
 */
#ifndef SKX_TOPK_TOKEN_H
#define SKX_TOPK_TOKEN_H

#include "answer/topk/topk.h"
#include "utils/relcache.h"

/* What a search that goes on begins with. */
typedef struct SkxTopkPage
{
	SkxTopkAfter after;
	SkxScorePins pins;
} SkxTopkPage;

/*
 * topk_token.c
 *
 * begin knows the search; make returns the token of a row of it, valid until
 * the next call, always with the same scorer.  read checks what came from the
 * user, whatever it is, and errors out where it is not of this search;
 * skx_score_open_pinned checks the rest.
 */
typedef struct SkxTopkToken SkxTopkToken;

extern SkxTopkToken *skx_topk_token_begin(Relation heap, Relation index,
										  TSQuery query, TSQuery rank_by);
extern bytea *skx_topk_token_make(SkxTopkToken *token,
								  const SkxScorer *scorer,
								  const SkxTopkAfter *last);
extern SkxTopkPage *skx_topk_token_read(const SkxTopkToken *token,
										const bytea *given);

#endif							/* SKX_TOPK_TOKEN_H */
