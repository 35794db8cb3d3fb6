/*
 * topk_token.h
 *	  Tokens of a ranked search, by which it continues after a row.
 */
#ifndef SKX_TOPK_TOKEN_H
#define SKX_TOPK_TOKEN_H

#include "answer/topk/topk.h"
#include "utils/relcache.h"

/* The content of a token: where a search continues, and how it scores. */
typedef struct SkxTopkPage
{
	SkxTopkAfter after;			/* the row to continue after */
	SkxRanking *ranking;		/* of the first page */
} SkxTopkPage;

/* topk_token.c : makes tokens and reads them */

/* The tokens of one search. */
typedef struct SkxTopkToken SkxTopkToken;

/*
 * Prepares the tokens of a search by its table, its index, its condition, and
 * the query or packed ranking that it ranks by; the other one is NULL.
 * Allocates in the current memory context.
 */
extern SkxTopkToken *skx_topk_token_begin(Relation heap, Relation index,
										  TSQuery query, TSQuery rank_by,
										  const bytea *ranking);

/*
 * Returns the token of a row, valid until the next call.  All calls must have
 * the same scorer.  If its ranking has too many bytes for a token,
 * skx_topk_token_read() will refuse it.
 */
extern bytea *skx_topk_token_make(SkxTopkToken *token,
								  const SkxScorer *scorer,
								  const SkxTopkAfter *last);

/*
 * Reads a token that came from the user, which may have any content.  Errors
 * out (skx_continuation_refuse(), skx_continuation_check()) unless it is
 * intact and of the same search as `token`, and has an accepted ranking.
 * Errors out (skx_score_check_size()) if the ranking has too many bytes.
 * Allocates the result in the current memory context; it points into `given`.
 */
extern SkxTopkPage *skx_topk_token_read(const SkxTopkToken *token,
										const bytea *given);

#endif							/* SKX_TOPK_TOKEN_H */
