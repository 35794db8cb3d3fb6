/*
 * functions_terms.c
 *	  skipidx_terms(): returns the commonest terms of an index.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "format/disk/disk_dict.h"
#include "funcapi.h"
#include "index/column/column.h"
#include "index/cursor/cursor.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "write/maint/maint.h"

PG_FUNCTION_INFO_V1(skipidx_terms);

static void
skx_functions_put_terms(ReturnSetInfo *result, const SkxLexicon *lexicon,
						const SkxLexiconBest *best)
{
	int			i;

	for (i = 0; i < best->n; i++)
	{
		const SkxLexiconTerm *term = &best->found[i].term;
		uint64		tf = term->tf;
		bool		nulls[3] = {false, false, false};
		Datum		values[3];

		CHECK_FOR_INTERRUPTS();
		if (term->has_no_positions)
			tf += skx_lexicon_count_no_positions(lexicon, &term->lexeme);
		values[0] = PointerGetDatum(cstring_to_text_with_len(term->lexeme.bytes,
															 term->lexeme.len));
		values[1] = Int64GetDatum((int64) term->df);
		values[2] = Int64GetDatum((int64) tf);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
		pfree(DatumGetPointer(values[0]));
	}
}

static void
skx_functions_terms(ReturnSetInfo *result, const SkxPartitions *parts,
					const SkxLexeme *prefix, SkxLexiconBest *best)
{
	SkxLexicon *lexicon = skx_functions_open_lexicon(parts, prefix);
	SkxLexiconTerm term;

	while (skx_lexicon_next(lexicon, &term))
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_parse_is_cut_mark(term.lexeme.bytes, term.lexeme.len))
			skx_lexicon_keep(best, &term, false, 0);
	}
	skx_lexicon_sort(best);
	skx_functions_put_terms(result, lexicon, best);
	skx_lexicon_close(lexicon);
}

Datum
skipidx_terms(PG_FUNCTION_ARGS)
{
	SkxLexiconBest best = {0};
	SkxPartitions parts;
	SkxLexeme	prefix;
	text	   *beginning;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	beginning = PG_GETARG_TEXT_PP(1);
	prefix.bytes = VARDATA_ANY(beginning);
	prefix.len = VARSIZE_ANY_EXHDR(beginning);
	/* An int4 argument can ask for no more terms than this. */
	best.most = (int) Min(skx_functions_limit_arg(fcinfo, 2, "max_rows"),
						  PG_INT32_MAX);
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	best.context = CurrentMemoryContext;
	if (best.most > 0 && prefix.len <= SKX_LEXEME_MAX)
		skx_functions_terms((ReturnSetInfo *) fcinfo->resultinfo, &parts,
							&prefix, &best);
	skx_functions_close_partitions(&parts);
	return (Datum) 0;
}
