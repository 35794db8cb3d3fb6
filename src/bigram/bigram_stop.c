/*
 * bigram_stop.c
 *	  A dictionary that takes each token as a stop word.
 */
#include "postgres.h"

#include "fmgr.h"
#include "tsearch/ts_public.h"

PG_FUNCTION_INFO_V1(skipidx_stop_lexize);

Datum
skipidx_stop_lexize(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(palloc0(sizeof(TSLexeme)));
}
