/*
 * am_predicate.c
 *	  Predicate locks on an index, which SERIALIZABLE transactions take and
 *	  inserts check.
 *
 * A lexeme is locked by a page number that is a hash of it and stands for its
 * posting list.  The file need not have such a page.  Flushes and merges move
 * postings, but do not change these numbers.  A search locks the lexemes of a
 * cover, which is a set such that every matching document has one of them.  So
 * an inserted document that would have matched has a lexeme that is locked.  A
 * search without a small cover locks the whole index.
 *
 * A scan locks before it takes its view, and an insert checks for locks after
 * its document can be read.  So one of them always sees the other.  Either the
 * insert sees a lock, or the scan finds a row that its snapshot does not see,
 * and the check of the table notices it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "sql/am/am_scan.h"
#include "storage/predicate.h"
#include "tsearch/ts_utils.h"

/* The server makes one lock of an index out of more than 32 by default. */
#define SKX_PREDICATE_PAGES_MAX		16

typedef struct SkxPredicateCover
{
	int			n;				/* number of pages; -1: there is no cover */
	BlockNumber pages[SKX_PREDICATE_PAGES_MAX];
} SkxPredicateCover;

/*
 * Returns the page number of a lexeme.  Other lexemes may have the same one.
 * It is never InvalidBlockNumber.
 */
static BlockNumber
skx_am_predicate_page(const char *lexeme, int length)
{
	return hash_bytes((const unsigned char *) lexeme, length) & 0x7FFFFFFF;
}

/* Sets the cover of a conjunction: the one that has fewer lexemes. */
static void
skx_am_cover_smaller(SkxPredicateCover *cover, const SkxPredicateCover *other)
{
	if (cover->n < 0 || (other->n >= 0 && other->n < cover->n))
		*cover = *other;
}

static void
skx_am_cover_union(SkxPredicateCover *cover, const SkxPredicateCover *other)
{
	if (cover->n < 0 || other->n < 0 ||
		cover->n + other->n > SKX_PREDICATE_PAGES_MAX)
	{
		cover->n = -1;
		return;
	}
	memcpy(cover->pages + cover->n, other->pages,
		   other->n * sizeof(BlockNumber));
	cover->n += other->n;
}

static void
skx_am_cover_query(const QueryItem *item, const char *lexemes,
				   SkxPredicateCover *cover)
{
	SkxPredicateCover other;

	check_stack_depth();
	cover->n = -1;
	if (item->type == QI_VAL)
	{
		if (item->qoperand.prefix)
			return;
		cover->n = 1;
		cover->pages[0] =
			skx_am_predicate_page(lexemes + item->qoperand.distance,
								  item->qoperand.length);
		return;
	}
	if (item->type != QI_OPR || item->qoperator.oper == OP_NOT)
		return;
	skx_am_cover_query(item + 1, lexemes, cover);
	skx_am_cover_query(item + item->qoperator.left, lexemes, &other);
	if (item->qoperator.oper == OP_OR)
		skx_am_cover_union(cover, &other);
	else
		skx_am_cover_smaller(cover, &other);
}

static void skx_am_cover_condition(const SkxCondition *c,
								   SkxPredicateCover *cover);

/*
 * Sets the cover of a disjunction, which has the lexemes of the best cover of
 * each arm.
 */
static void
skx_am_cover_disjunction(const SkxCondition *c, SkxPredicateCover *cover)
{
	int			i;
	int			k;

	cover->n = 0;
	for (i = 0; i < c->narms; i++)
	{
		SkxPredicateCover arm = {.n = -1};
		SkxPredicateCover other;

		for (k = 0; k < c->arms[i].n; k++)
		{
			skx_am_cover_condition(&c->arms[i].conditions[k], &other);
			skx_am_cover_smaller(&arm, &other);
		}
		skx_am_cover_union(cover, &arm);
	}
}

/*
 * Sets the cover of a condition on other columns.  If all of its values are
 * required, one of them is enough; if any of them, all are needed.
 */
static void
skx_am_cover_condition(const SkxCondition *c, SkxPredicateCover *cover)
{
	int			i;

	if (c->kind == SKX_CONDITION_DISJUNCTION)
	{
		skx_am_cover_disjunction(c, cover);
		return;
	}
	cover->n = -1;
	if (c->kind == SKX_CONDITION_ALL_OF)
		cover->n = 1;
	else if (c->kind == SKX_CONDITION_ANY_OF &&
			 c->n <= SKX_PREDICATE_PAGES_MAX)
		cover->n = c->n;
	for (i = 0; i < cover->n; i++)
		cover->pages[i] = skx_am_predicate_page(c->lexemes[i].bytes,
												c->lexemes[i].len);
}

/* Sets the smallest cover that one of the scan's conditions has. */
static void
skx_am_cover_scan(IndexScanDesc scan, SkxPredicateCover *cover)
{
	SkxScan    *so = scan->opaque;
	SkxPredicateCover other;
	int			i;

	cover->n = -1;
	for (i = 0; i < scan->numberOfKeys; i++)
	{
		TSQuery		query;

		if (!skx_am_scan_is_match(&scan->keyData[i]))
			continue;
		query = DatumGetTSQuery(scan->keyData[i].sk_argument);
		other.n = -1;
		if (query->size > 0)
			skx_am_cover_query(GETQUERY(query), GETOPERAND(query), &other);
		skx_am_cover_smaller(cover, &other);
	}
	for (i = 0; i < so->nconditions; i++)
	{
		skx_am_cover_condition(&so->conditions[i], &other);
		skx_am_cover_smaller(cover, &other);
	}
}

void
skx_am_predicate_read(IndexScanDesc scan)
{
	SkxPredicateCover cover = {.n = -1};
	int			i;

	if (!IsolationIsSerializable())
		return;
	if (scan->numberOfOrderBys == 0)
		skx_am_cover_scan(scan, &cover);
	if (cover.n < 0)
		PredicateLockRelation(scan->indexRelation, scan->xs_snapshot);
	for (i = 0; i < cover.n; i++)
		PredicateLockPage(scan->indexRelation, cover.pages[i],
						  scan->xs_snapshot);
}

void
skx_am_predicate_insert(Relation index, TSVector value)
{
	const WordEntry *words;
	int			i;

	if (!IsolationIsSerializable())
		return;
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
	words = ARRPTR(value);
	for (i = 0; i < value->size; i++)
		CheckForSerializableConflictIn(index, NULL,
									   skx_am_predicate_page(STRPTR(value) + words[i].pos,
															 words[i].len));
}
