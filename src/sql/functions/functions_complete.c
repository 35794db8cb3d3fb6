/*
 * functions_complete.c
 *	  skipidx_complete(): returns the terms that a word which is being typed
 *	  may become, by the number of rows that have them among those that match.
 *
 * A term cannot have more rows than its df.  So terms are counted in the order
 * of their df, until the next df is below the last count that is wanted.  The
 * rows that match are found once, and the lists of the terms are intersected
 * with them; without a query each term's rows are counted by themselves.  Of
 * few rows all words are counted instead.
 *
 * Terms that go on from what was typed come before those that go on from
 * something near it.  So the latter are not looked for if there are enough of
 * the former.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "answer/facets/facets.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "format/disk/disk_dict.h"
#include "funcapi.h"
#include "index/column/column.h"
#include "index/document/document.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "sql/am/am_desc.h"
#include "sql/cost/cost.h"
#include "sql/functions/functions_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(skipidx_complete);

/* Characters that are typed at least before one edit is allowed. */
#define SKX_COMPLETE_ONE_EDIT	5

/* Most terms that are looked at, and those of the highest df that are kept. */
#define SKX_COMPLETE_TERMS	SKX_NEAR_TERMS_MAX
#define SKX_COMPLETE_COUNTS	1000

/* Most postings that are counted. */
#define SKX_COMPLETE_POSTINGS	10000000

/* Rows are few if that many documents match at most, by estimate. */
#define SKX_COMPLETE_FEW	100

typedef struct SkxComplete
{
	SkxPartitions parts;
	SkxLexeme	typed;
	SkxNearWord word;			/* what was typed, and its edits */
	SkxNearWalk *near;			/* NULL: no edits */
	TSQuery		among;			/* NULL: all rows */
	uint64		documents;		/* that match `among`, by estimate */
	IndexScanDesc *scans;		/* of each part, for the rows that match */
	SkxFacetWords **words;		/* of each part: these rows, or NULL if there
								 * are none; NULL: they are not held */
	MemoryContext temp;			/* of a row or a count */
	SkxLexiconBest best;		/* the result: `df` is a number of rows */
	uint64		postings;		/* that were counted */
	bool		is_exact;
} SkxComplete;

/* A word of some rows. */
typedef struct SkxCompleteWord
{
	SkxLexiconTerm term;		/* first: the lexeme is the key */
	int			distance;
} SkxCompleteWord;

/*
 * Returns the distance of the beginning of a term from what was typed; a
 * number above all edits if it is too far.
 */
static int
skx_functions_begins_near(const SkxComplete *c, const SkxLexeme *lexeme)
{
	if (skx_column_is_value(lexeme->bytes, lexeme->len) ||
		skx_parse_is_cut_mark(lexeme->bytes, lexeme->len))
		return c->word.edits + 1;
	if (lexeme->len >= c->typed.len &&
		memcmp(lexeme->bytes, c->typed.bytes, c->typed.len) == 0)
		return 0;
	return c->near == NULL ? c->word.edits + 1 :
		skx_lexicon_distance(c->near, lexeme);
}

/* ---- few rows ---- */

/* Returns true if rows are few, and the caller may read their documents. */
static bool
skx_functions_are_few(const SkxComplete *c)
{
	int			i;

	if (c->among == NULL || c->documents > SKX_COMPLETE_FEW)
		return false;
	for (i = 0; i < c->parts.n; i++)
		if (!skx_document_may_read(c->parts.partitions[i].heap,
								   c->parts.partitions[i].index))
			return false;
	return true;
}

/* Counts a word of a row once more. */
static void
skx_functions_count_word(const SkxComplete *c, HTAB *words, SkxLexeme lexeme,
						 int distance)
{
	SkxCompleteWord *word = hash_search(words, &lexeme, HASH_FIND, NULL);

	if (word == NULL)
	{
		char	   *bytes = MemoryContextAlloc(c->best.context,
											   lexeme.len + 1);

		memcpy(bytes, lexeme.bytes, lexeme.len);
		lexeme.bytes = bytes;
		word = hash_search(words, &lexeme, HASH_ENTER, NULL);
		word->term.df = word->term.tf = 0;
		word->term.has_no_positions = false;
		word->distance = distance;
	}
	word->term.df++;
}

/* Counts the words of a row. */
static void
skx_functions_count_row(SkxComplete *c, const SkxPartition *part, HTAB *words,
						TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(c->temp);
	TSVector	document = skx_document_read(part->heap, part->index, row);
	int			i;

	for (i = 0; document != NULL && i < document->size; i++)
	{
		const WordEntry *entry = &ARRPTR(document)[i];
		SkxLexeme	lexeme = {STRPTR(document) + entry->pos, entry->len};
		int			distance;

		CHECK_FOR_INTERRUPTS();
		distance = skx_functions_begins_near(c, &lexeme);
		if (distance <= c->word.edits)
			skx_functions_count_word(c, words, lexeme, distance);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(c->temp);
}

static void
skx_functions_count_words_of(SkxComplete *c, const SkxPartition *part,
							 HTAB *words)
{
	TupleTableSlot *row = table_slot_create(part->heap, NULL);
	IndexScanDesc scan = skx_functions_begin_scan(part->heap, part->index,
												  c->among, 0, NULL);

	while (index_getnext_slot(scan, ForwardScanDirection, row))
	{
		CHECK_FOR_INTERRUPTS();
		skx_functions_count_row(c, part, words, row);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(row);
}

static void
skx_functions_complete_few(SkxComplete *c)
{
	HTAB	   *words = skx_column_create_table("skipidx words of rows",
												sizeof(SkxCompleteWord),
												c->best.context);
	HASH_SEQ_STATUS status;
	SkxCompleteWord *word;
	int			i;

	for (i = 0; i < c->parts.n; i++)
		skx_functions_count_words_of(c, &c->parts.partitions[i], words);
	hash_seq_init(&status, words);
	while ((word = hash_seq_search(&status)) != NULL)
		skx_lexicon_keep(&c->best, &word->term, false, word->distance);
}

/* ---- many rows ---- */

/* Returns the query for the rows that match, and have the term. */
static TSQuery
skx_functions_with_term(const SkxComplete *c, const SkxLexeme *lexeme)
{
	Size		size = COMPUTESIZE(1, lexeme->len + 1);
	TSQuery		query = palloc0(size);
	QueryOperand *operand = &GETQUERY(query)->qoperand;

	SET_VARSIZE(query, size);
	query->size = 1;
	operand->type = QI_VAL;
	operand->valcrc = skx_functions_lexeme_crc(lexeme->bytes, lexeme->len);
	operand->length = lexeme->len;
	memcpy(GETOPERAND(query), lexeme->bytes, lexeme->len);
	if (c->among == NULL)
		return query;
	return DatumGetTSQuery(DirectFunctionCall2(tsquery_and,
											   TSQueryGetDatum(c->among),
											   TSQueryGetDatum(query)));
}

/* Closes the rows that are held, if they are. */
static void
skx_functions_release_rows(SkxComplete *c)
{
	int			i;

	for (i = 0; i < c->parts.n && c->words != NULL; i++)
	{
		if (c->words[i] != NULL)
			skx_facets_words_end(c->words[i]);
		if (c->scans[i] != NULL)
			index_endscan(c->scans[i]);
	}
	c->words = NULL;
}

/*
 * Finds the rows of a part that match.  Returns false if there is no room to
 * hold them.
 */
static bool
skx_functions_hold_part(SkxComplete *c, int at, uint64 *room)
{
	const SkxPartition *part = &c->parts.partitions[at];
	IndexScanDesc scan = skx_functions_begin_scan(part->heap, part->index,
												  c->among, 0, NULL);
	static const SkxLexeme any = {"", 0};
	SkxCountWork work = {0};
	bool		fits = true;

	c->scans[at] = scan;
	if (skx_am_scan_enter(scan))
	{
		c->words[at] = skx_facets_words_begin(&skx_am_scan_desc(scan)->request,
											  c->near != NULL ? &any : &c->typed,
											  room, &work);
		fits = c->words[at] != NULL;
	}
	skx_am_scan_leave(scan);
	return fits;
}

/*
 * Finds the rows that match, and holds them, unless all rows do or there is no
 * room.  Each term is looked up among so many postings, at most.
 */
static void
skx_functions_hold_rows(SkxComplete *c)
{
	uint64		room = skx_facets_words_room();
	uint64		rows = 0;
	int			i;

	if (c->among == NULL)
		return;
	c->scans = palloc0(sizeof(IndexScanDesc) * (c->parts.n + 1));
	c->words = palloc0(sizeof(SkxFacetWords *) * (c->parts.n + 1));
	for (i = 0; i < c->parts.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_functions_hold_part(c, i, &room))
		{
			skx_functions_release_rows(c);
			return;
		}
		if (c->words[i] != NULL)
			rows += skx_facets_words_rows(c->words[i]);
	}
	c->documents = rows * SKX_FACETS_PROBE_RATIO;
}

static uint64
skx_functions_held_with_term(const SkxComplete *c, const SkxLexeme *lexeme)
{
	uint64		rows = 0;
	int			i;

	for (i = 0; i < c->parts.n; i++)
		if (c->words[i] != NULL)
			rows += skx_facets_words_count(c->words[i], lexeme);
	return rows;
}

static uint64
skx_functions_rows_with_term(SkxComplete *c, const SkxLexeme *lexeme)
{
	MemoryContext old;
	TSQuery		query;
	uint64		rows = 0;
	int			i;

	if (c->words != NULL)
		return skx_functions_held_with_term(c, lexeme);
	old = MemoryContextSwitchTo(c->temp);
	query = skx_functions_with_term(c, lexeme);
	for (i = 0; i < c->parts.n; i++)
		rows += skx_functions_count(c->parts.partitions[i].heap,
									c->parts.partitions[i].index, query);
	MemoryContextSwitchTo(old);
	MemoryContextReset(c->temp);
	return rows;
}

/*
 * Sets *terms to the continuations of the highest df.  Returns false if these
 * may not be all.
 */
static bool
skx_functions_commonest(SkxComplete *c, SkxLexiconBest *terms)
{
	SkxLexicon *lexicon = skx_functions_open_lexicon(&c->parts, &c->typed);
	SkxLexiconTerm term;
	int			n = 0;

	while (n < SKX_COMPLETE_TERMS && skx_lexicon_next(lexicon, &term))
	{
		CHECK_FOR_INTERRUPTS();
		n++;
		if (!skx_parse_is_cut_mark(term.lexeme.bytes, term.lexeme.len))
			skx_lexicon_keep(terms, &term, false, 0);
	}
	skx_lexicon_close(lexicon);
	skx_lexicon_sort(terms);
	c->is_exact = n < SKX_COMPLETE_TERMS;
	return n <= terms->most;
}

/*
 * Sets *terms to those that are near, of each distance those of the highest
 * df.  Returns false if these may not be all.
 */
static bool
skx_functions_nearest(SkxComplete *c, SkxLexiconBest *terms)
{
	SkxLexeme	all = {"", 0};
	SkxLexicon *lexicon = skx_functions_open_lexicon(&c->parts, &all);
	int64		nterms = SKX_NEAR_TERMS_MAX;
	bool		ended = skx_lexicon_keep_near(lexicon, &c->word, &nterms, terms);

	skx_lexicon_close(lexicon);
	skx_lexicon_sort(terms);
	return ended && terms->n < terms->most;
}

/*
 * Returns true if a term at that distance with that many rows cannot come into
 * the result.
 */
static bool
skx_functions_is_complete(const SkxComplete *c, int distance, uint64 df)
{
	const SkxLexiconFound *last = &c->best.found[0];

	return c->best.n == c->best.most &&
		(distance > last->distance ||
		 (distance == last->distance && df < last->term.df));
}

/* Counts a term and those behind it, up to the first that need not be. */
static void
skx_functions_count_terms(SkxComplete *c, const SkxLexiconBest *terms,
						  bool all)
{
	int			i;

	for (i = 0; i < terms->n; i++)
	{
		SkxLexiconTerm term = terms->found[i].term;
		int			distance = terms->found[i].distance;

		CHECK_FOR_INTERRUPTS();
		if (skx_functions_is_complete(c, distance, term.df))
			return;
		if (skx_parse_is_cut_mark(term.lexeme.bytes, term.lexeme.len))
			continue;
		/* one term is counted in any case */
		if (c->postings > 0 &&
			c->postings + Min(term.df, c->documents) > SKX_COMPLETE_POSTINGS)
			break;
		c->postings += Min(term.df, c->documents);
		term.df = skx_functions_rows_with_term(c, &term.lexeme);
		if (term.df > 0)
			skx_lexicon_keep(&c->best, &term, false, distance);
	}
	if (i < terms->n ||
		!(all || skx_functions_is_complete(c, terms->found[i - 1].distance,
										   terms->found[i - 1].term.df)))
		c->is_exact = false;
}

static void
skx_functions_complete_many(SkxComplete *c)
{
	SkxLexiconBest terms = {SKX_COMPLETE_COUNTS, c->best.context};
	SkxLexiconBest nearest = {SKX_COMPLETE_COUNTS, c->best.context};
	bool		all = skx_functions_commonest(c, &terms);

	skx_functions_hold_rows(c);
	skx_functions_count_terms(c, &terms, all);
	if (c->near != NULL && c->best.n < c->best.most)
	{
		all = skx_functions_nearest(c, &nearest);
		skx_functions_count_terms(c, &nearest, all);
	}
	skx_functions_release_rows(c);
}

/* ---- the function ---- */

/* Sets what is near what was typed. */
static void
skx_functions_forgive(SkxComplete *c, SkxTypos typos)
{
	skx_lexicon_near_word(&c->typed, false, &c->word);
	c->word.is_prefix = true;
	if (typos == SKX_TYPOS_AUTO)
		typos = c->word.nchars >= SKX_COMPLETE_ONE_EDIT ? 1 : 0;
	c->word.edits = typos;
	if (typos > 0)
		c->near = skx_lexicon_begin_distances(&c->word);
}

static void
skx_functions_complete(SkxComplete *c)
{
	int			i;

	c->temp = AllocSetContextCreate(CurrentMemoryContext, "skipidx complete",
									ALLOCSET_DEFAULT_SIZES);
	c->documents = c->among == NULL ? PG_UINT64_MAX : 0;
	for (i = 0; i < c->parts.n && c->among != NULL; i++)
		c->documents += skx_cost_documents(c->parts.partitions[i].index,
										   c->among);
	c->is_exact = true;
	if (skx_functions_are_few(c))
		skx_functions_complete_few(c);
	else
		skx_functions_complete_many(c);
	skx_lexicon_sort(&c->best);
}

static void
skx_functions_put_completions(ReturnSetInfo *result, const SkxComplete *c)
{
	bool		nulls[4] = {false, false, false, false};
	Datum		values[4];
	int			i;

	for (i = 0; i < c->best.n; i++)
	{
		const SkxLexiconTerm *term = &c->best.found[i].term;

		values[0] = PointerGetDatum(cstring_to_text_with_len(term->lexeme.bytes,
															 term->lexeme.len));
		values[1] = Int64GetDatum((int64) term->df);
		values[2] = Int32GetDatum(c->best.found[i].distance);
		values[3] = BoolGetDatum(c->is_exact);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

Datum
skipidx_complete(PG_FUNCTION_ARGS)
{
	SkxComplete c = {0};
	SkxTypos	typos;
	text	   *typed;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	typed = PG_GETARG_TEXT_PP(1);
	c.typed.bytes = VARDATA_ANY(typed);
	c.typed.len = VARSIZE_ANY_EXHDR(typed);
	c.best.most = (int) Min(skx_functions_limit_arg(fcinfo, 2, "max_rows"),
							PG_INT32_MAX);
	c.best.context = CurrentMemoryContext;
	if (!PG_ARGISNULL(3) && PG_GETARG_TSQUERY(3)->size > 0)
		c.among = PG_GETARG_TSQUERY_COPY(3);
	typos = skx_functions_typos_arg(fcinfo, 4);
	skx_functions_open_partitions(PG_GETARG_OID(0), &c.parts);
	skx_functions_check_index_ages(&c.parts);
	if (c.best.most > 0 && c.typed.len <= SKX_LEXEME_MAX)
	{
		skx_functions_forgive(&c, typos);
		skx_functions_complete(&c);
	}
	skx_functions_close_partitions(&c.parts);
	skx_functions_put_completions((ReturnSetInfo *) fcinfo->resultinfo, &c);
	return (Datum) 0;
}
