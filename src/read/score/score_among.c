/*
 * score_among.c
 *	  Statistics of the documents that have a value in a column.
 *
 * They are counted in what the statistics of the index are counted in: the
 * segments of its views, and the documents that were pending then, deleted
 * ones included.  So the sums over all values of a column without NULLs are
 * the statistics of the index.
 *
 * Norms tell the lengths of short documents only.  Those of longer ones are
 * added up over all words of their segment, as merges do for the documents
 * that they leave out.
 */
#include "postgres.h"

#include "index/cursor/cursor_sum.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "read/score/score_internal.h"
#include "support/bitset/bitset.h"
#include "utils/memutils.h"

/*
 * The values of a segment whose lengths a session keeps, and the bytes of the
 * lexeme of one.  Longer ones are not kept.
 */
#define SKX_AMONG_KEPT_VALUES	128
#define SKX_AMONG_KEPT_BYTES	38

/* The length of a segment's documents with a value. */
typedef struct SkxKeptLength
{
	uint64		length;
	uint16		len;			/* of the lexeme; 0: free */
	char		bytes[SKX_AMONG_KEPT_BYTES];
} SkxKeptLength;

/*
 * What a session keeps of a segment, whose documents do not change: one length
 * for each of some values.
 */
typedef struct SkxKeptLengths
{
	SkxSessionEntry entry;
	int			next;			/* is replaced next */
	SkxKeptLength lengths[SKX_AMONG_KEPT_VALUES];
} SkxKeptLengths;

static void
skx_score_forget_lengths(SkxSessionEntry *entry)
{
	pfree(entry);
}

static SkxSessionKind skx_score_lengths = {
	.max_entries = 64,
	.max_bytes = 512 * 1024,
	.free_entry = skx_score_forget_lengths
};

/*
 * Returns the lexeme by which the length of the documents is kept; NULL if it
 * is not.
 */
static const SkxLexeme *
skx_score_kept_lexeme(const SkxScoreAmong *among)
{
	const SkxCondition *condition = among->condition;

	return condition->n == 1 &&
		condition->lexemes[0].len <= SKX_AMONG_KEPT_BYTES ?
		&condition->lexemes[0] : NULL;
}

/* Sets *length to what is kept.  Returns false if nothing is. */
static bool
skx_score_find_length(const SkxSessionKey *key, const SkxLexeme *value,
					  uint64 *length)
{
	const SkxKeptLengths *kept = skx_sessioncache_find(&skx_score_lengths, key);
	int			i;

	for (i = 0; kept != NULL && value != NULL && i < SKX_AMONG_KEPT_VALUES; i++)
	{
		const SkxKeptLength *one = &kept->lengths[i];

		if (one->len != value->len ||
			memcmp(one->bytes, value->bytes, one->len) != 0)
			continue;
		*length = one->length;
		return true;
	}
	return false;
}

static void
skx_score_keep_length(const SkxSessionKey *key, const SkxLexeme *value,
					  uint64 length)
{
	SkxKeptLengths *kept = skx_sessioncache_find(&skx_score_lengths, key);
	bool		is_new = kept == NULL;
	SkxKeptLength *one;

	if (value == NULL)
		return;
	if (is_new)
		kept = MemoryContextAllocZero(skx_sessioncache_context(),
									  sizeof(SkxKeptLengths));
	one = &kept->lengths[kept->next];
	kept->next = (kept->next + 1) % SKX_AMONG_KEPT_VALUES;
	one->length = length;
	one->len = value->len;
	memcpy(one->bytes, value->bytes, value->len);
	if (is_new)
		skx_sessioncache_put(&skx_score_lengths, key, &kept->entry,
							 sizeof(SkxKeptLengths));
}

static uint8 *
skx_score_among_bits(const SkxSegment *seg)
{
	return MemoryContextAllocExtended(CurrentMemoryContext,
									  seg->header.ndocs / 8 + 1,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/*
 * Returns true if all documents with this norm have the same length, that of
 * the norm.
 */
static bool
skx_score_norm_is_exact(uint8 norm)
{
	return norm < SKX_NORM_MAX &&
		skx_rank_norm_decode(norm + 1) == skx_rank_norm_decode(norm) + 1;
}

/*
 * Adds n ascending documents, which have a value, unless they were added or
 * their text is NULL.  Those whose length their norm does not tell
 * are noted in among->rounded.
 */
static void
skx_score_among_add(SkxScoreAmong *among, SkxSegment *seg, uint32 *docs, int n)
{
	uint8		norms[SKX_SUBBLOCK];
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
		if (!skx_bitset_bytes_test(among->bits, docs[i]))
			docs[kept++] = docs[i];
	if (kept > 0)
		skx_segment_norms(seg, docs, kept, norms);
	for (i = 0; i < kept; i++)
	{
		if (norms[i] == SKX_NORM_NULL)
			continue;
		skx_bitset_bytes_set(among->bits, docs[i]);
		among->segment_docs++;
		if (skx_score_norm_is_exact(norms[i]))
		{
			among->segment_length += skx_rank_norm_decode(norms[i]);
			continue;
		}
		if (among->rounded == NULL)
			among->rounded = skx_score_among_bits(seg);
		skx_bitset_bytes_set(among->rounded, docs[i]);
	}
}

static void
skx_score_among_find(SkxScoreAmong *among, SkxSegment *seg,
					 const SkxLexeme *value)
{
	uint32		ndocs = seg->header.ndocs;
	uint32		doc = 0;
	SkxTerm		term;
	SkxCursor  *list;

	if (!skx_segment_find(seg, value->bytes, value->len, &term))
		return;
	list = skx_cursor_open(seg, &term, SKX_CURSOR_LEAD);
	while (doc < ndocs)
	{
		uint32		docs[SKX_SUBBLOCK];
		int			n;

		CHECK_FOR_INTERRUPTS();
		doc = skx_cursor_take(list, doc, ndocs, docs, &n);
		skx_score_among_add(among, seg, docs, n);
	}
	skx_cursor_close(list);
}

/*
 * Returns the sum of the lengths of the documents in among->rounded: of the
 * occurrences of all words in them.  Values of columns, which stand together
 * in the dictionary, are skipped.
 */
static uint64
skx_score_among_lengths(const SkxScoreAmong *among, SkxSegment *seg)
{
	static const SkxLexeme words[2] = {{"\001", 1}, {"\377", 1}};
	SkxTermWalk *walk = skx_segment_walk_begin(seg);
	SkxCursor  *list = skx_cursor_create(seg, SKX_CURSOR_PROBE);
	SkxCursorSum sum = {0};
	bool		skipped = false;
	SkxTerm		term;
	const char *lexeme;
	int			len;

	while (skx_segment_walk_next(walk, &term, &lexeme, &len))
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_column_is_value(lexeme, len))
		{
			skx_cursor_begin_term(list, &term);
			(void) skx_cursor_sum(list, among->rounded, seg->header.ndocs,
								  &sum);
		}
		else if (!skipped)
		{
			skx_segment_walk_range(walk, words);
			skipped = true;
		}
	}
	skx_cursor_close(list);
	skx_segment_walk_end(walk);
	return sum.length;
}

/*
 * Does the same unless the session has kept it, past the cache, which is left
 * to searches.
 */
static uint64
skx_score_among_read_lengths(const SkxScoreAmong *among, Relation rel,
							 const SkxView *view, int number)
{
	SkxSessionKey key = skx_sessioncache_key(rel, view->meta.incarnation,
											 view->segments[number].segment);
	const SkxLexeme *value = skx_score_kept_lexeme(among);
	SkxSnapshotReader *reader;
	uint64		length;

	if (skx_score_find_length(&key, value, &length))
		return length;
	reader = skx_snapshot_open(rel, view);
	skx_snapshot_read_once(reader);
	length = skx_score_among_lengths(among,
									 skx_snapshot_open_segment(reader,
															   number));
	skx_snapshot_close(reader);
	skx_score_keep_length(&key, value, length);
	return length;
}

bool
skx_score_among_enter(SkxScoreAmong *among, Relation rel, const SkxView *view,
					  int number, SkxSegment *seg)
{
	const SkxDiskSegment *header = &seg->header;
	int			i;

	among->bits = skx_score_among_bits(seg);
	among->rounded = NULL;
	among->segment_docs = 0;
	among->segment_length = 0;
	for (i = 0; i < among->condition->n; i++)
		skx_score_among_find(among, seg, &among->condition->lexemes[i]);
	if (among->segment_docs == header->ndocs - header->nnull)
		among->segment_length = header->total_length;
	else if (among->rounded != NULL)
		among->segment_length += skx_score_among_read_lengths(among, rel, view,
															  number);
	among->ndocs += among->segment_docs;
	among->length += among->segment_length;
	among->list = skx_cursor_create(seg, SKX_CURSOR_PROBE);
	return among->segment_docs > 0;
}

uint32
skx_score_among_df(SkxScoreAmong *among, const SkxSegment *seg,
				   const SkxTerm *term)
{
	if (term->df == 0)
		return 0;
	skx_cursor_begin_term(among->list, term);
	return skx_cursor_sum(among->list, among->bits, seg->header.ndocs, NULL);
}

void
skx_score_among_leave(SkxScoreAmong *among)
{
	skx_cursor_close(among->list);
	pfree(among->bits);
	if (among->rounded != NULL)
		pfree(among->rounded);
}

bool
skx_score_among_pending(SkxScoreAmong *among, TSVector document)
{
	if (skx_column_is_null(document) ||
		!skx_condition_document_meets(among->condition, document))
		return false;
	among->ndocs++;
	among->length += skx_pending_length(document);
	return true;
}
