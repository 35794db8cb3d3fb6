/*
 * score_ranking.c
 *	  Rankings: all that a scorer computes scores from, as one value.
 *
 * By the same ranking every document has the same sum, to the last unit.  That
 * holds whatever the index has become, and without one.  Rankings come back
 * from users.  All that skx_ranking_check() accepts give weights that are
 * finite and not negative, and sums and their bounds rely on nothing else.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "read/score/score_internal.h"
#include "utils/syscache.h"

void
skx_score_ranking(const SkxScorer *scorer, SkxRanking *ranking)
{
	ranking->options = scorer->options;
	ranking->ndocs = scorer->ndocs;
	ranking->length = scorer->length;
	ranking->nterms = scorer->nterms;
	ranking->terms = scorer->terms;
	ranking->ngroups = scorer->ngroups;
	ranking->groups = scorer->groups;
	ranking->npairs = scorer->npairs;
	ranking->pairs = scorer->pairs;
}

bytea *
skx_score_pack(const SkxRanking *ranking)
{
	bytea	   *value = palloc_extended(VARHDRSZ +
										skx_ranking_packed_size(ranking),
										MCXT_ALLOC_HUGE);
	uint8	   *end = skx_ranking_pack(ranking, (uint8 *) VARDATA(value));

	SET_VARSIZE(value, end - (uint8 *) value);
	return value;
}

SkxRanking *
skx_score_unpack(const char *bytes, Size n)
{
	SkxRanking *ranking = palloc0(sizeof(SkxRanking));
	const uint8 *src = skx_ranking_unpack_head((const uint8 *) bytes, n,
											   ranking);

	if (src == NULL)
		return NULL;
	ranking->terms = palloc_extended(sizeof(SkxRankingTerm) *
									 ((Size) ranking->nterms + 1),
									 MCXT_ALLOC_HUGE);
	ranking->pairs = palloc(sizeof(SkxRankingPair) * SKX_RANKING_PAIRS_MAX);
	ranking->groups = palloc(sizeof(SkxRankingGroup) *
							 ((Size) ranking->ngroups + 1));
	if (!skx_ranking_unpack_terms(src, (const uint8 *) bytes + n, ranking) ||
		skx_ranking_check(ranking) != NULL)
		return NULL;
	return ranking;
}

SkxRanking *
skx_score_ranking_of(Datum value)
{
	const struct varlena *packed = PG_DETOAST_DATUM(value);
	SkxRanking *ranking = skx_score_unpack(VARDATA(packed),
										   VARSIZE(packed) - VARHDRSZ);

	if (ranking == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a value of type skipidx_ranking is damaged")));
	return ranking;
}

/*
 * Operators come before their operands, the right one first.  So the items are
 * an OR, a word, an OR, a word, and so on, and the last word.
 */
TSQuery
skx_score_any(const SkxRanking *ranking)
{
	int			n = ranking->nterms;
	int			nitems = n == 0 ? 0 : 2 * n - 1;
	Size		size = 0;
	TSQuery		query;
	QueryItem  *item;
	char	   *lexemes;
	int			i;

	for (i = 0; i < n; i++)
		size += ranking->terms[i].len + 1;
	query = palloc0(COMPUTESIZE(nitems, size));
	SET_VARSIZE(query, COMPUTESIZE(nitems, size));
	query->size = nitems;
	item = GETQUERY(query);
	lexemes = GETOPERAND(query);
	for (i = 0; i < n; i++)
	{
		const SkxRankingTerm *term = &ranking->terms[i];

		if (i < n - 1)
		{
			item->qoperator.type = QI_OPR;
			item->qoperator.oper = OP_OR;
			item->qoperator.left = 2;
			item++;
		}
		item->qoperand.type = QI_VAL;
		item->qoperand.weight = term->labels;
		item->qoperand.prefix = term->prefix;
		item->qoperand.length = term->len;
		item->qoperand.distance = lexemes - GETOPERAND(query);
		memcpy(lexemes, term->lexeme, term->len);
		lexemes += term->len + 1;
		item++;
	}
	return query;
}

bool
skx_score_is_by_value(Oid operator, Oid family)
{
	HeapTuple	tuple = SearchSysCache3(AMOPOPID, ObjectIdGetDatum(operator),
										CharGetDatum(AMOP_ORDER),
										ObjectIdGetDatum(family));
	bool		found;

	if (!HeapTupleIsValid(tuple))
		return false;
	found = ((Form_pg_amop) GETSTRUCT(tuple))->amopstrategy ==
		SKX_STRATEGY_RANKING;
	ReleaseSysCache(tuple);
	return found;
}

void
skx_score_check_size(Size n)
{
	if (n > SKX_RANKING_BYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a ranking cannot have so many words"),
				 errdetail("It holds each word and how many documents have it, in %d bytes at most.",
						   SKX_RANKING_BYTES_MAX),
				 errhint("Rank by fewer words.")));
}
