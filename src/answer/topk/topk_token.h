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
	SkxScorePins pins;			/* frozen statistics of the first page */
} SkxTopkPage;

/* topk_token.c : makes tokens and reads them */

/* The tokens of one search. */
typedef struct SkxTopkToken SkxTopkToken;

/*
 * Prepares the tokens of a search by its table, its index, its condition and
 * the query that it ranks by.  Allocates in the current memory context.
 */
extern SkxTopkToken *skx_topk_token_begin(Relation heap, Relation index,
										  TSQuery query, TSQuery rank_by);

/*
 * Returns the token of a row, valid until the next call.  All calls must have
 * the same scorer.  If the query has too many words for a token,
 * skx_topk_token_read() will refuse it.
 */
extern bytea *skx_topk_token_make(SkxTopkToken *token,
								  const SkxScorer *scorer,
								  const SkxTopkAfter *last);

/*
 * Reads a token that came from the user, which may have any content.  Errors
 * out (skx_continuation_refuse(), skx_continuation_check()) unless it is
 * intact and of the same search as `token`.  Errors out
 * (ERRCODE_PROGRAM_LIMIT_EXCEEDED) if the query has too many words.
 * skx_score_open_pinned() checks the pins.  Allocates the result in the
 * current memory context.
 */
extern SkxTopkPage *skx_topk_token_read(const SkxTopkToken *token,
										const bytea *given);

#endif							/* SKX_TOPK_TOKEN_H */
