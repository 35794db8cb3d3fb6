/*
 * functions_boosted.c
 *	  skipidx_boosted(): a ranking with factors for some of its words.
 *
 * Terms and groups of a ranking have factors, and all that searches and bounds
 * know of them are the weights that follow.  So nothing here depends on an
 * index, and no right is asked for.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"
#include "utils/datum.h"

PG_FUNCTION_INFO_V1(skipidx_boosted);

SKX_NORETURN static void
skx_functions_raise_factors(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid factors of words"),
			 errdetail_internal("%s", detail),
			 errhint("Factors are as in '{\"cat\": 3, \"do:*\": 0.5}'.")));
}

SKX_NORETURN static void
skx_functions_raise_no_word(const JsonbValue *key)
{
	const char *word = key->val.string.val;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the ranking has no word \"%s\" to boost",
					pnstrdup(word, pg_mbcliplen(word, key->val.string.len,
												SKX_RANKING_LEXEME_MAX))),
			 errhint("A key is a lexeme that the query asks for, or a prefix followed by :*, as in the text of the ranking.")));
}

/*
 * Multiplies the factor of a word or prefix of the query: where it is the exact
 * word of groups, theirs.  Returns false if it is none.
 */
static bool
skx_functions_boost_term(SkxRanking *ranking, const char *lexeme, int len,
						 bool prefix, double factor)
{
	SkxRankingTerm key = {.lexeme = lexeme,.len = len,.prefix = prefix};
	int			low = 0;
	int			high = ranking->nterms;
	bool		found = false;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (skx_ranking_compare(&ranking->terms[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < ranking->nterms; low++)
	{
		SkxRankingTerm *term = &ranking->terms[low];

		if (term->prefix != prefix || term->len != len ||
			memcmp(term->lexeme, lexeme, len) != 0)
			break;
		if (term->group != 0 && !term->is_exact)
			continue;
		*(term->group == 0 ? &term->factor :
		  &ranking->groups[term->group - 1].factor) *= factor;
		found = true;
	}
	return found;
}

/*
 * Does the same for a key.  One that ends in :* may be a lexeme of the query,
 * and else is a prefix.
 */
static bool
skx_functions_boost_key(SkxRanking *ranking, const JsonbValue *key,
						double factor)
{
	const char *word = key->val.string.val;
	int			len = key->val.string.len;

	if (skx_functions_boost_term(ranking, word, len, false, factor))
		return true;
	return len >= 2 && memcmp(word + len - 2, ":*", 2) == 0 &&
		skx_functions_boost_term(ranking, word, len - 2, true, factor);
}

/* Multiplies the factors of a ranking by those of a jsonb. */
static void
skx_functions_boost(SkxRanking *ranking, Jsonb *factors)
{
	JsonbIterator *it = JsonbIteratorInit(&factors->root);
	JsonbValue	key;
	JsonbValue	value;
	const char *problem;

	if (JsonbIteratorNext(&it, &key, true) != WJB_BEGIN_OBJECT)
		skx_functions_raise_factors("Factors are an object, whose keys are words of the ranking.");
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		double		factor;

		(void) JsonbIteratorNext(&it, &value, true);
		factor = skx_functions_json_number(&value);
		if (!(factor > 0 && factor <= SKX_RANKING_LIMIT))
			skx_functions_raise_factors("A factor is a number above 0 up to 100.");
		if (!skx_functions_boost_key(ranking, &key, factor))
			skx_functions_raise_no_word(&key);
	}
	problem = skx_ranking_check(ranking);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the factors of a ranking are out of range"),
				 errdetail("A word that has a factor already gets the product, which may be 100 at most.")));
}

Datum
skipidx_boosted(PG_FUNCTION_ARGS)
{
	SkxKept    *kept = skx_functions_kept(fcinfo->flinfo, 0);
	bytea	   *value = PG_GETARG_BYTEA_P(0);
	Jsonb	   *factors = PG_GETARG_JSONB_P(1);
	bytea	   *key = skx_functions_kept_key(value, factors);

	if (!skx_functions_keeps_ranking(kept, key))
	{
		MemoryContext old = skx_functions_keep(kept, key);
		SkxRanking *ranking = skx_score_ranking_of(PointerGetDatum(value));

		skx_functions_boost(ranking, factors);
		kept->ranking = skx_functions_ranking_value(ranking);
		MemoryContextSwitchTo(old);
	}
	pfree(key);
	return datumCopy(PointerGetDatum(kept->ranking), false, -1);
}
