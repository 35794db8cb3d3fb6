/*
 * functions_ranking.c
 *	  Values of type skipidx_ranking: input, output, addition, and distances by
 *	  them.
 *
 * A ranking has all that a score depends on, so that a distance by one needs
 * no index, no snapshot and no right.  The right is checked where one is made
 * of an index.
 */
#include "postgres.h"

#include "fmgr.h"
#include "index/document/document.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "read/score/score.h"
#include "sql/functions/functions_internal.h"

PG_FUNCTION_INFO_V1(skipidx_ranking_in);
PG_FUNCTION_INFO_V1(skipidx_ranking_out);
PG_FUNCTION_INFO_V1(skipidx_ranking_recv);
PG_FUNCTION_INFO_V1(skipidx_ranking_send);
PG_FUNCTION_INFO_V1(skipidx_ranking_add);
PG_FUNCTION_INFO_V1(skipidx_distance_ranking);

bytea *
skx_functions_ranking_value(const SkxRanking *ranking)
{
	bytea	   *value = skx_score_pack(ranking);

	skx_score_check_size(VARSIZE(value) - VARHDRSZ);
	return value;
}

/* ---- input and output ---- */

/* Raises an error unless `problem`, which is a sentence, is NULL. */
static void
skx_functions_check_input(int code, const char *problem)
{
	if (problem != NULL)
		ereport(ERROR,
				(errcode(code),
				 errmsg("invalid input for type %s", "skipidx_ranking"),
				 errdetail_internal("%s", problem)));
}

SkxRanking *
skx_functions_read_ranking(const char *text)
{
	SkxRanking *ranking = palloc(sizeof(SkxRanking));
	Size		n = strlen(text);
	const char *problem;

	if (n > SKX_RANKING_TEXT_MAX)
		skx_score_check_size(n);
	ranking->terms = palloc_extended(sizeof(SkxRankingTerm) *
									 skx_ranking_parse_terms(text),
									 MCXT_ALLOC_HUGE);
	ranking->pairs = palloc(sizeof(SkxRankingPair) * SKX_RANKING_PAIRS_MAX);
	ranking->groups = palloc(sizeof(SkxRankingGroup) * SKX_RANKING_GROUPS_MAX);
	problem = skx_ranking_parse(text, ranking, palloc(n + 1));
	if (problem == NULL)
		problem = skx_ranking_check(ranking);
	skx_functions_check_input(ERRCODE_INVALID_TEXT_REPRESENTATION, problem);
	return ranking;
}

Datum
skipidx_ranking_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(skx_functions_ranking_value(skx_functions_read_ranking(PG_GETARG_CSTRING(0))));
}

Datum
skipidx_ranking_out(PG_FUNCTION_ARGS)
{
	const SkxRanking *ranking = skx_score_ranking_of(PG_GETARG_DATUM(0));
	char	   *text = palloc(skx_ranking_print_size(ranking));

	skx_ranking_print(ranking, text);
	PG_RETURN_CSTRING(text);
}

/* Converts a lexeme from the client's encoding, and checks it. */
static void
skx_functions_from_client(const char **lexeme, int *len)
{
	char	   *converted = pg_client_to_server(*lexeme, *len);

	if (converted == *lexeme)
		return;
	*lexeme = converted;
	*len = strlen(converted);
}

static void
skx_functions_to_client(const char **lexeme, int *len)
{
	char	   *converted = pg_server_to_client(*lexeme, *len);

	if (converted == *lexeme)
		return;
	*lexeme = converted;
	*len = strlen(converted);
}

/* Applies a conversion to all lexemes of a ranking. */
static void
skx_functions_convert(SkxRanking *ranking,
					  void (*convert) (const char **lexeme, int *len))
{
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		SkxRankingTerm *term = &ranking->terms[i];

		convert(&term->lexeme, &term->len);
		if (term->only != NULL)
			convert(&term->only, &term->only_len);
	}
}

/*
 * The binary form is the packed one, with lexemes in the client's encoding.
 * In another encoding they may be in another order.
 */
Datum
skipidx_ranking_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			n = buf->len - buf->cursor;
	const uint8 *bytes = (const uint8 *) pq_getmsgbytes(buf, n);
	SkxRankingNames names;
	SkxRanking	ranking;
	const uint8 *terms;
	const char *problem = NULL;

	if (n > SKX_RANKING_TEXT_MAX)
		skx_score_check_size(n);
	terms = skx_ranking_unpack_head(bytes, n, &ranking);
	if (terms != NULL)
	{
		ranking.terms = palloc(sizeof(SkxRankingTerm) * (ranking.nterms + 1));
		ranking.pairs = palloc(sizeof(SkxRankingPair) * SKX_RANKING_PAIRS_MAX);
		ranking.groups = palloc(sizeof(SkxRankingGroup) * (ranking.ngroups + 1));
	}
	if (terms == NULL || !skx_ranking_unpack_terms(terms, bytes + n, &ranking))
		problem = "It is damaged, or of another version.";
	skx_functions_check_input(ERRCODE_INVALID_BINARY_REPRESENTATION, problem);
	skx_functions_convert(&ranking, skx_functions_from_client);
	skx_ranking_name(&ranking, &names);
	if (!skx_ranking_sort(&ranking, &names))
		problem = "A pair is of two different words that are no prefixes, or groups.";
	else
		problem = skx_ranking_check(&ranking);
	skx_functions_check_input(ERRCODE_INVALID_BINARY_REPRESENTATION, problem);
	PG_RETURN_BYTEA_P(skx_functions_ranking_value(&ranking));
}

Datum
skipidx_ranking_send(PG_FUNCTION_ARGS)
{
	SkxRanking *ranking = skx_score_ranking_of(PG_GETARG_DATUM(0));

	skx_functions_convert(ranking, skx_functions_to_client);
	PG_RETURN_BYTEA_P(skx_score_pack(ranking));
}

/* ---- of several rankings ---- */

void
skx_functions_add_ranking(SkxRanking *sum, const SkxRanking *other)
{
	const char *problem;

	if (!skx_ranking_agree(sum, other))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rankings that differ in more than their statistics cannot be added"),
				 errdetail("They must have the same words, labels, repetitions, factors, groups, pairs and parameters.")));
	skx_ranking_add(sum, other);
	problem = skx_ranking_check(sum);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the sum of rankings is out of range"),
				 errdetail_internal("%s", problem)));
}

Datum
skipidx_ranking_add(PG_FUNCTION_ARGS)
{
	SkxRanking *sum = skx_score_ranking_of(PG_GETARG_DATUM(0));

	skx_functions_add_ranking(sum, skx_score_ranking_of(PG_GETARG_DATUM(1)));
	PG_RETURN_BYTEA_P(skx_functions_ranking_value(sum));
}

/* ---- distances ---- */

const SkxScorer *
skx_functions_ranked(FunctionCallInfo fcinfo, int argument)
{
	SkxKept    *kept = skx_functions_kept(fcinfo->flinfo, argument);
	struct varlena *value;

	if (kept->scorer != NULL && kept->constant)
		return kept->scorer;
	value = PG_GETARG_VARLENA_P(argument);
	if (!skx_functions_keeps(kept, value))
	{
		MemoryContext old = skx_functions_keep(kept, value);

		kept->scorer =
			skx_score_open_ranking(NULL, NULL,
								   skx_score_ranking_of(PointerGetDatum(kept->value)));
		MemoryContextSwitchTo(old);
	}
	PG_FREE_IF_COPY(value, argument);
	return kept->scorer;
}

Datum
skipidx_distance_ranking(PG_FUNCTION_ARGS)
{
	const SkxScorer *scorer = skx_functions_ranked(fcinfo, 1);
	TSVector	document = skx_document_datum(PG_GETARG_DATUM(0), false, NULL);
	float4		distance;

	distance = skx_score_distance(scorer,
								  skx_score_document(scorer, document, NULL));
	skx_document_free(document, PG_GETARG_DATUM(0));
	PG_RETURN_FLOAT4(distance);
}
