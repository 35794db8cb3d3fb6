/*
 * functions_expand.c
 *	  skipidx_expand_query(): returns a query that forgives typos: each of its
 *	  words, or one of the index's terms that are near it.  skipidx_expand():
 *	  returns a ranking in which these count as one word.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "format/edit/edit.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(skipidx_expand_query);
PG_FUNCTION_INFO_V1(skipidx_expand);

/* Most terms that are looked at for all words of a query. */
#define SKX_EXPAND_TERMS_MAX	400000

/* Most terms that stand for a word. */
#define SKX_EXPAND_MOST			1000

/*
 * Most bytes of a ranking beside its lexemes: of its head and pairs; of a word
 * of the query, with a group, or of one that stands for it; further ones of a
 * prefix, which may have the name of its only lexeme.
 */
#define SKX_EXPAND_HEAD_BYTES	256
#define SKX_EXPAND_WORD_BYTES	21
#define SKX_EXPAND_PREFIX_BYTES	(24 + SKX_RANKING_LEXEME_MAX)

/* Most phrases that one phrase may become. */
#define SKX_EXPAND_PHRASES_MAX	64

/*
 * Factors of terms that differ from a word in accents alone, in one edit, and
 * in two.  Larger ones put rows that only have similar words before rows that
 * have the words; smaller ones find less of what was misspelt (bench-quality).
 */
static const double skx_expand_factors[] = {0.95, 0.6, 0.36};

StaticAssertDecl(lengthof(skx_expand_factors) == SKX_EDIT_MAX + 1,
				 "a distance has no factor");

/* The state of a call. */
typedef struct SkxExpand
{
	SkxLexicon *lexicon;
	SkxTypos	typos;
	bool		accents;
	bool		phrases;		/* words of phrases are expanded, too */
	const QTNode *unfinished;	/* the last word, which may be a prefix; or
								 * NULL */
	int64		nterms;			/* that may be looked at still */
	Size		bytes;			/* of the words of the result so far; of a
								 * ranking, that it has at most */
	MemoryContext context;		/* of the terms near a word; reset after it */
} SkxExpand;

static QTNode *
skx_functions_operand(const SkxLexeme *lexeme, const QueryOperand *like)
{
	QTNode	   *node = palloc0(sizeof(QTNode));
	QueryOperand *operand = palloc0(sizeof(QueryItem));

	*operand = *like;
	operand->valcrc = skx_functions_lexeme_crc(lexeme->bytes, lexeme->len);
	operand->length = lexeme->len;
	node->valnode = (QueryItem *) operand;
	node->word = pnstrdup(lexeme->bytes, lexeme->len);
	return node;
}

/* Returns the disjunction of two queries, of which `a` is printed first. */
static QTNode *
skx_functions_either(QTNode *a, QTNode *b)
{
	QTNode	   *node = palloc0(sizeof(QTNode));

	node->valnode = palloc0(sizeof(QueryItem));
	node->valnode->qoperator.type = QI_OPR;
	node->valnode->qoperator.oper = OP_OR;
	node->nchild = 2;
	node->child = palloc(sizeof(QTNode *) * 2);
	node->child[0] = b;
	node->child[1] = a;
	return node;
}

/* Returns the disjunction of n > 0 queries, as deep as need be. */
static QTNode *
skx_functions_any_of(QTNode **nodes, int n)
{
	if (n == 1)
		return nodes[0];
	return skx_functions_either(skx_functions_any_of(nodes, n / 2),
								skx_functions_any_of(nodes + n / 2,
													 n - n / 2));
}

/* Keeps the terms that are near the word of a node, the first ones of them. */
static void
skx_functions_near_terms(SkxExpand *e, const QTNode *node,
						 SkxLexiconBest *best)
{
	const QueryOperand *operand = &node->valnode->qoperand;
	SkxLexeme	lexeme = {node->word, operand->length};
	SkxNearWord word;

	skx_lexicon_near_word(&lexeme, e->accents, &word);
	skx_functions_allow_typos(&word, e->typos);
	word.is_prefix = operand->prefix || node == e->unfinished;
	if (word.edits > 0 || word.folds)
	{
		(void) skx_lexicon_keep_near(e->lexicon, &word, &e->nterms, best);
		skx_lexicon_sort(best);
	}
	pfree(word.chars);
}

/*
 * Returns the word of a node or one of `most` - 1 others.  It is first, and a
 * prefix if it is being typed.  A query has no more than MAXSTRPOS bytes of
 * words.
 */
static QTNode *
skx_functions_expand_word(SkxExpand *e, QTNode *node, int most)
{
	SkxLexiconBest best = {most, e->context};
	QTNode	  **nodes = palloc(sizeof(QTNode *) * most);
	int			n = 0;
	int			i;

	CHECK_FOR_INTERRUPTS();
	if (most > 1 && e->nterms > 0)
		skx_functions_near_terms(e, node, &best);
	nodes[n++] = node;
	for (i = 0; i < best.n && n < most; i++)
	{
		const SkxLexeme *lexeme = &best.found[i].term.lexeme;

		if (best.found[i].is_exact ||
			skx_parse_is_cut_mark(lexeme->bytes, lexeme->len) ||
			e->bytes + lexeme->len + 1 > MAXSTRPOS)
			continue;
		e->bytes += lexeme->len + 1;
		nodes[n++] = skx_functions_operand(lexeme, &node->valnode->qoperand);
	}
	if (node == e->unfinished)
		node->valnode->qoperand.prefix = true;
	node = skx_functions_any_of(nodes, n);
	pfree(nodes);
	MemoryContextReset(e->context);
	return node;
}

/* Returns the number of words in a query. */
static int
skx_functions_count_words(const QTNode *node)
{
	int			n = 0;
	int			i;

	check_stack_depth();
	if (node->valnode->type == QI_VAL)
		return 1;
	for (i = 0; i < node->nchild; i++)
		n += skx_functions_count_words(node->child[i]);
	return n;
}

/*
 * Returns how many terms may stand for each word of a phrase, so that it does
 * not become more than SKX_EXPAND_PHRASES_MAX phrases.
 */
static int
skx_functions_phrase_most(const QTNode *phrase, int most)
{
	int			words = skx_functions_count_words(phrase);
	int			n;

	for (n = Min(most, SKX_EXPAND_PHRASES_MAX); n > 1; n--)
	{
		int			product = 1;
		int			i;

		for (i = 0; i < words && product <= SKX_EXPAND_PHRASES_MAX; i++)
			product *= n;
		if (product <= SKX_EXPAND_PHRASES_MAX)
			break;
	}
	return n;
}

/*
 * Returns a query with its words expanded.  `most` is the number of terms that
 * may stand for a word.  What is negated stays: it would lose rows that match.
 */
static QTNode *
skx_functions_expand_node(SkxExpand *e, QTNode *node, int most,
						  bool in_phrase)
{
	const QTNode *unfinished = e->unfinished;
	int			i;

	check_stack_depth();
	if (node->valnode->type == QI_VAL)
		return skx_functions_expand_word(e, node, most);
	if (node->valnode->qoperator.oper == OP_NOT)
	{
		most = 1;
		e->unfinished = NULL;
	}
	else if (node->valnode->qoperator.oper == OP_PHRASE && !in_phrase)
	{
		most = e->phrases ? skx_functions_phrase_most(node, most) : 1;
		in_phrase = true;
	}
	for (i = 0; i < node->nchild; i++)
		node->child[i] = skx_functions_expand_node(e, node->child[i], most,
												   in_phrase);
	e->unfinished = unfinished;
	return node;
}

/* Returns the word that is written last, which is before all others here. */
static const QTNode *
skx_functions_last_word(const QTNode *node)
{
	while (node->valnode->type != QI_VAL)
		node = node->child[0];
	return node;
}

/* Returns the argument `most`, which is not above `limit`. */
static int
skx_functions_most_arg(FunctionCallInfo fcinfo, int argument, int limit)
{
	int			most = DatumGetInt32(skx_functions_required_arg(fcinfo,
																argument,
																"most"));

	if (most < 1 || most > limit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("most must be between 1 and %d", limit)));
	return most;
}

static TSQuery
skx_functions_expand(SkxExpand *e, const SkxPartitions *parts, TSQuery query,
					 int most, bool last_is_prefix)
{
	SkxLexeme	all = {"", 0};
	QTNode	   *tree = QT2QTN(GETQUERY(query), GETOPERAND(query));
	int			i;

	for (i = 0; i < query->size; i++)
		if (GETQUERY(query)[i].type == QI_VAL)
			e->bytes += GETQUERY(query)[i].qoperand.length + 1;
	if (last_is_prefix)
		e->unfinished = skx_functions_last_word(tree);
	e->nterms = SKX_EXPAND_TERMS_MAX;
	e->context = AllocSetContextCreate(CurrentMemoryContext, "skipidx expand",
									   ALLOCSET_DEFAULT_SIZES);
	e->lexicon = skx_functions_open_lexicon(parts, &all);
	tree = skx_functions_expand_node(e, tree, most, false);
	skx_lexicon_close(e->lexicon);
	return QTN2QT(tree);
}

Datum
skipidx_expand_query(PG_FUNCTION_ARGS)
{
	SkxExpand	e = {0};
	SkxPartitions parts;
	TSQuery		query;
	bool		last_is_prefix;
	int			most;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	query = PG_GETARG_TSQUERY_COPY(1);
	e.typos = skx_functions_typos_arg(fcinfo, 2);
	last_is_prefix = DatumGetBool(skx_functions_required_arg(fcinfo, 3,
															 "last_is_prefix"));
	e.accents = DatumGetBool(skx_functions_required_arg(fcinfo, 4, "accents"));
	most = skx_functions_most_arg(fcinfo, 5, SKX_EXPAND_MOST);
	e.phrases = DatumGetBool(skx_functions_required_arg(fcinfo, 6, "phrases"));
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	if (query->size > 0)
		query = skx_functions_expand(&e, &parts, query, most, last_is_prefix);
	skx_functions_close_partitions(&parts);
	PG_RETURN_TSQUERY(query);
}

/* ---- as a ranking ---- */

/* A word of the query that is expanded. */
typedef struct SkxExpandWord
{
	const QTNode *node;
	int			at;				/* number in the order of the query */
} SkxExpandWord;

/* The arguments of skipidx_expand(), as a varlena that tells them apart. */
typedef struct SkxExpandArguments
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			index;
	int32		typos;
	int32		most;
	int32		last_is_prefix;
	int32		accents;
	int32		phrases;
} SkxExpandArguments;

/*
 * Gathers the words that are expanded: those that rank, are no prefixes, and,
 * unless these are expanded, are in no phrases.  The last one is made a prefix
 * if it is being typed; words of a group are none, so it stays alone.
 */
static void
skx_functions_gather_words(const SkxExpand *e, const QTNode *node,
						   bool expands, SkxExpandWord *words, int *n)
{
	int			i;

	check_stack_depth();
	if (node->valnode->type == QI_VAL)
	{
		if (node == e->unfinished)
			node->valnode->qoperand.prefix = true;
		if (!expands || node->valnode->qoperand.prefix)
			return;
		words[*n].node = node;
		words[*n].at = *n;
		(*n)++;
		return;
	}
	if (node->valnode->qoperator.oper == OP_NOT)
		return;
	if (node->valnode->qoperator.oper == OP_PHRASE)
		expands = e->phrases;
	/* the child that is written first is the last one */
	for (i = node->nchild - 1; i >= 0; i--)
		skx_functions_gather_words(e, node->child[i], expands, words, n);
}

static int
skx_functions_compare_expanded(const void *a, const void *b)
{
	const SkxExpandWord *x = a;
	const SkxExpandWord *y = b;
	int			xlen = x->node->valnode->qoperand.length;
	int			ylen = y->node->valnode->qoperand.length;
	int			cmp = memcmp(x->node->word, y->node->word, Min(xlen, ylen));

	if (cmp == 0)
		cmp = xlen - ylen;
	return cmp != 0 ? cmp : x->at - y->at;
}

static int
skx_functions_compare_places(const void *a, const void *b)
{
	return ((const SkxExpandWord *) a)->at - ((const SkxExpandWord *) b)->at;
}

/*
 * Keeps each of n words once, in the order of the query.  Returns their
 * number.
 */
static int
skx_functions_distinct_words(SkxExpandWord *words, int n)
{
	int			kept = 0;
	int			i;

	qsort(words, n, sizeof(SkxExpandWord), skx_functions_compare_expanded);
	for (i = 0; i < n; i++)
	{
		const QTNode *last = words[Max(kept - 1, 0)].node;
		const QTNode *node = words[i].node;

		CHECK_FOR_INTERRUPTS();
		if (kept == 0 ||
			last->valnode->qoperand.length != node->valnode->qoperand.length ||
			memcmp(last->word, node->word, node->valnode->qoperand.length) != 0)
			words[kept++] = words[i];
	}
	qsort(words, kept, sizeof(SkxExpandWord), skx_functions_compare_places);
	return kept;
}

/* Returns a bound of the bytes of the ranking by a query. */
static Size
skx_functions_ranking_bytes(TSQuery query)
{
	Size		bytes = SKX_EXPAND_HEAD_BYTES;
	int			i;

	for (i = 0; i < query->size; i++)
	{
		const QueryItem *item = &GETQUERY(query)[i];

		if (item->type == QI_VAL)
			bytes += SKX_EXPAND_WORD_BYTES + item->qoperand.length +
				(item->qoperand.prefix ? SKX_EXPAND_PREFIX_BYTES : 0);
	}
	return bytes;
}

/*
 * Adds the terms near a word to the n variants, at most `most` - 1, and only as
 * many as all groups of a ranking, and the ranking, have room for.  Returns the
 * number of the variants.
 */
static int
skx_functions_add_variants(SkxExpand *e, const QTNode *node, int most,
						   SkxScoreVariant *variants, int n, int *room)
{
	SkxLexiconBest best = {most, e->context};
	int			before = n;
	int			i;

	CHECK_FOR_INTERRUPTS();
	if (most > 1 && e->nterms > 0)
		skx_functions_near_terms(e, node, &best);
	for (i = 0; i < best.n && n - before < Min(most, *room) - 1; i++)
	{
		const SkxLexeme *lexeme = &best.found[i].term.lexeme;
		Size		bytes = e->bytes + SKX_EXPAND_WORD_BYTES + lexeme->len;

		if (best.found[i].is_exact ||
			skx_parse_is_cut_mark(lexeme->bytes, lexeme->len) ||
			bytes > SKX_RANKING_BYTES_MAX)
			continue;
		e->bytes = bytes;
		variants[n].word.bytes = node->word;
		variants[n].word.len = node->valnode->qoperand.length;
		variants[n].lexeme.bytes = pnstrdup(lexeme->bytes, lexeme->len);
		variants[n].lexeme.len = lexeme->len;
		variants[n++].factor = skx_expand_factors[best.found[i].distance];
	}
	if (n > before)
		*room -= 1 + n - before;
	MemoryContextReset(e->context);
	return n;
}

/* Finds the terms near the words of the query. */
static int
skx_functions_expand_variants(void *arg, TSQuery *query,
							  SkxScoreVariant **variants)
{
	const SkxExpandArguments *arguments = arg;
	SkxLexeme	all = {"", 0};
	SkxExpand	e = {0};
	SkxPartitions parts;
	SkxExpandWord *words;
	QTNode	   *tree;
	int			room = SKX_RANKING_GROUPED_WORDS_MAX;
	int			nwords = 0;
	int			n = 0;
	int			i;

	*variants = palloc(sizeof(SkxScoreVariant) * SKX_RANKING_GROUPED_WORDS_MAX);
	if ((*query)->size == 0)
		return 0;
	e.typos = arguments->typos;
	e.accents = arguments->accents;
	e.phrases = arguments->phrases;
	e.nterms = SKX_EXPAND_TERMS_MAX;
	e.bytes = skx_functions_ranking_bytes(*query) +
		(arguments->last_is_prefix ? SKX_EXPAND_PREFIX_BYTES : 0);
	e.context = AllocSetContextCreate(CurrentMemoryContext, "skipidx expand",
									  ALLOCSET_DEFAULT_SIZES);
	tree = QT2QTN(GETQUERY(*query), GETOPERAND(*query));
	if (arguments->last_is_prefix)
		e.unfinished = skx_functions_last_word(tree);
	words = palloc_extended(sizeof(SkxExpandWord) * (Size) (*query)->size,
							MCXT_ALLOC_HUGE);
	skx_functions_gather_words(&e, tree, true, words, &nwords);
	nwords = skx_functions_distinct_words(words, nwords);
	skx_functions_open_partitions(arguments->index, &parts);
	e.lexicon = skx_functions_open_lexicon(&parts, &all);
	for (i = 0; i < Min(nwords, SKX_RANKING_GROUPS_MAX); i++)
		n = skx_functions_add_variants(&e, words[i].node, arguments->most,
									   *variants, n, &room);
	skx_lexicon_close(e.lexicon);
	skx_functions_close_partitions(&parts);
	return n;
}

Datum
skipidx_expand(PG_FUNCTION_ARGS)
{
	SkxExpandArguments arguments = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	SET_VARSIZE(&arguments, sizeof(arguments));
	arguments.index = PG_GETARG_OID(0);
	arguments.typos = skx_functions_typos_arg(fcinfo, 2);
	arguments.last_is_prefix =
		DatumGetBool(skx_functions_required_arg(fcinfo, 3, "last_is_prefix"));
	arguments.accents = DatumGetBool(skx_functions_required_arg(fcinfo, 4,
																"accents"));
	arguments.most = skx_functions_most_arg(fcinfo, 5,
											SKX_RANKING_GROUP_WORDS_MAX);
	arguments.phrases = DatumGetBool(skx_functions_required_arg(fcinfo, 6,
																"phrases"));
	return skx_functions_groups(fcinfo, &arguments,
								skx_functions_expand_variants, &arguments);
}
