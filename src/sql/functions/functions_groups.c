/*
 * functions_groups.c
 *	  Rankings whose words are groups: skipidx_ranking_of_groups(), and what
 *	  skipidx_expand() shares with it.
 *
 * The query says which words rank, and how often; its pairs, labels and
 * repetitions are those of the groups.  So a row with these words alone has the
 * score that it has by the query.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(skipidx_ranking_of_groups);

/* ---- a ranking that is kept for the calls of an expression ---- */

/* Makes the ranking and keeps it. */
static void
skx_functions_keep_groups(SkxKept *kept, TSQuery query,
						  const SkxScoreVariant *variants, int n)
{
	SkxRankOptions options;
	SkxScorer  *scorer;
	Relation	heap;
	Relation	index;
	int			unknown;

	skx_functions_open(kept->index, true, &heap, &index);
	skx_am_rank_options(index, &options);
	scorer = skx_score_open_groups(index, GetActiveSnapshot(), &options, query,
								   variants, n, &unknown);
	if (unknown >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the query has no word \"%s\" to rank by",
						pnstrdup(variants[unknown].word.bytes,
								 variants[unknown].word.len)),
				 errhint("A group is for a lexeme of the query that is neither negated nor a prefix.")));
	kept->ranking = skx_functions_ranking_of(heap, index, scorer, query, NULL,
											 SKX_REMOTE_REFUSE_GROUPS);
	skx_functions_close(heap, index);
	kept->scorer = scorer;
}

Datum
skx_functions_groups(FunctionCallInfo fcinfo, const void *groups,
					 SkxVariantsMake make, void *arg)
{
	SkxKept    *kept = skx_functions_kept(fcinfo->flinfo, 1);
	Oid			oid = PG_GETARG_OID(0);
	TSQuery		query = PG_GETARG_TSQUERY(1);
	bytea	   *key = skx_functions_kept_key(query, groups);
	MemoryContext temp;
	MemoryContext old;
	SkxScoreVariant *variants;
	TSQuery		ranked;
	int			n;

	if (skx_functions_keeps(kept, key) && kept->index == oid &&
		kept->user == GetUserId() &&
		skx_score_is_current(kept->scorer, GetActiveSnapshot()))
		return datumCopy(PointerGetDatum(kept->ranking), false, -1);
	old = skx_functions_keep(kept, key);
	kept->index = oid;
	kept->user = GetUserId();
	temp = AllocSetContextCreate(old, "skipidx groups",
								 ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(temp);
	ranked = (TSQuery) palloc(VARSIZE(query));
	memcpy(ranked, query, VARSIZE(query));
	n = make(arg, &ranked, &variants);
	MemoryContextSwitchTo(kept->context);
	skx_functions_keep_groups(kept, ranked, variants, n);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temp);
	return datumCopy(PointerGetDatum(kept->ranking), false, -1);
}

/* ---- groups in jsonb ---- */

SKX_NORETURN static void
skx_functions_raise_groups(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid groups of words"),
			 errdetail_internal("%s", detail),
			 errhint("Groups are as in '{\"cat\": {\"cats\": 0.8}, \"car\": [\"automobile\"]}'.")));
}

/* Returns a string of a jsonb as a lexeme. */
static SkxLexeme
skx_functions_json_lexeme(const JsonbValue *value)
{
	SkxLexeme	lexeme = {value->val.string.val, value->val.string.len};

	if (lexeme.len < 1 || lexeme.len > SKX_RANKING_LEXEME_MAX)
		skx_functions_raise_groups("A word has 1 to 2047 bytes.");
	return lexeme;
}

double
skx_functions_json_number(const JsonbValue *value)
{
	if (value->type != jbvNumeric)
		return 0;
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  NumericGetDatum(value->val.numeric)));
}

/* Returns the factor that is the value of a key. */
static double
skx_functions_json_factor(const JsonbValue *value)
{
	double		factor = skx_functions_json_number(value);

	if (!(factor > 0 && factor <= 1))
		skx_functions_raise_groups("A factor is a number above 0 up to 1.");
	return factor;
}

/* Reads the words of one group, up to its end.  Returns their number. */
static int
skx_functions_json_group(JsonbIterator **it, const SkxLexeme *word,
						 SkxScoreVariant *variants, int room)
{
	JsonbValue	value;
	int			n = 0;
	JsonbIteratorToken token = JsonbIteratorNext(it, &value, false);

	if (token != WJB_BEGIN_OBJECT && token != WJB_BEGIN_ARRAY)
		skx_functions_raise_groups("The words of a group are an object with their factors, or an array.");
	for (;;)
	{
		token = JsonbIteratorNext(it, &value, true);
		if (token == WJB_END_OBJECT || token == WJB_END_ARRAY)
			return n;
		if (n == room)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("groups have %d words at most in all",
							SKX_RANKING_GROUPED_WORDS_MAX)));
		if (value.type != jbvString)
			skx_functions_raise_groups("An array of words has strings.");
		variants[n].word = *word;
		variants[n].lexeme = skx_functions_json_lexeme(&value);
		variants[n].factor = 1;
		if (token == WJB_KEY)
		{
			(void) JsonbIteratorNext(it, &value, true);
			variants[n].factor = skx_functions_json_factor(&value);
		}
		n++;
	}
}

/* Reads all groups.  `arg` is the jsonb. */
static int
skx_functions_json_groups(void *arg, TSQuery *query,
						  SkxScoreVariant **variants)
{
	Jsonb	   *groups = arg;
	JsonbIterator *it = JsonbIteratorInit(&groups->root);
	JsonbValue	value;
	int			n = 0;

	*variants = palloc(sizeof(SkxScoreVariant) * SKX_RANKING_GROUPED_WORDS_MAX);
	if (JsonbIteratorNext(&it, &value, true) != WJB_BEGIN_OBJECT)
		skx_functions_raise_groups("Groups are an object, whose keys are words of the query.");
	while (JsonbIteratorNext(&it, &value, true) == WJB_KEY)
	{
		SkxLexeme	word = skx_functions_json_lexeme(&value);

		CHECK_FOR_INTERRUPTS();
		n += skx_functions_json_group(&it, &word, *variants + n,
									  SKX_RANKING_GROUPED_WORDS_MAX - n);
	}
	return n;
}

Datum
skipidx_ranking_of_groups(PG_FUNCTION_ARGS)
{
	Jsonb	   *groups = PG_GETARG_JSONB_P(2);

	return skx_functions_groups(fcinfo, groups, skx_functions_json_groups,
								groups);
}
