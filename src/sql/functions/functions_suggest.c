/*
 * functions_suggest.c
 *	  skipidx_suggest(): returns the terms of an index that a word may have
 *	  been meant for.
 */
#include "postgres.h"

#include "fmgr.h"
#include "format/disk/disk_dict.h"
#include "funcapi.h"
#include "parse/parse.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_suggest);

static void
skx_functions_put_suggestions(ReturnSetInfo *result,
							  const SkxLexiconBest *best)
{
	bool		nulls[3] = {false, false, false};
	Datum		values[3];
	int			i;

	for (i = 0; i < best->n; i++)
	{
		const SkxLexiconTerm *term = &best->found[i].term;

		if (skx_parse_is_cut_mark(term->lexeme.bytes, term->lexeme.len))
			continue;
		values[0] = PointerGetDatum(cstring_to_text_with_len(term->lexeme.bytes,
															 term->lexeme.len));
		values[1] = Int32GetDatum(best->found[i].distance);
		values[2] = Int64GetDatum((int64) term->df);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

static void
skx_functions_suggest(const SkxPartitions *parts, const SkxNearWord *word,
					  SkxLexiconBest *best)
{
	SkxLexeme	all = {"", 0};
	int64		nterms = SKX_NEAR_TERMS_MAX;
	SkxLexicon *lexicon = skx_functions_open_lexicon(parts, &all);

	(void) skx_lexicon_keep_near(lexicon, word, &nterms, best);
	skx_lexicon_close(lexicon);
	skx_lexicon_sort(best);
}

Datum
skipidx_suggest(PG_FUNCTION_ARGS)
{
	SkxLexiconBest best = {0};
	SkxPartitions parts;
	SkxNearWord word;
	SkxLexeme	lexeme;
	SkxTypos	typos;
	text	   *given;
	bool		folds;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	given = PG_GETARG_TEXT_PP(1);
	lexeme.bytes = VARDATA_ANY(given);
	lexeme.len = VARSIZE_ANY_EXHDR(given);
	best.most = (int) Min(skx_functions_limit_arg(fcinfo, 2, "max_rows"),
						  PG_INT32_MAX);
	best.context = CurrentMemoryContext;
	typos = skx_functions_typos_arg(fcinfo, 3);
	folds = DatumGetBool(skx_functions_required_arg(fcinfo, 4, "accents"));
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	if (best.most > 0 && lexeme.len <= SKX_LEXEME_MAX)
	{
		skx_lexicon_near_word(&lexeme, folds, &word);
		skx_functions_allow_typos(&word, typos);
		skx_functions_suggest(&parts, &word, &best);
	}
	skx_functions_close_partitions(&parts);
	skx_functions_put_suggestions((ReturnSetInfo *) fcinfo->resultinfo, &best);
	return (Datum) 0;
}
