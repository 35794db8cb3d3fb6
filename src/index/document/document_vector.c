/*
 * document_vector.c
 *	  Checks a tsvector, and brings it into the form that the index expects.
 *
 * Results of the server's functions have this form, except for tsvectors in
 * binary format: tsvectorrecv() sorts lexemes but keeps equal ones.  Foreign
 * code can make any bytes.  So each tsvector is checked completely, in one
 * pass that costs little beside the work that follows.  Few are copied.
 */
#include "postgres.h"

#include "index/column/column_value.h"
#include "index/document/document.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "support/compat/compat.h"

/*
 * Most bytes that lexemes and positions of a value may take.  Entries begin in
 * its first MAXSTRPOS + 1 bytes of lexemes, so they take more than this only
 * if they share bytes, which foreign code can cause.
 */
#define SKX_TSVECTOR_BYTES_MAX		((Size) 2 * MAXSTRPOS)

/*
 * Returns the first eight bytes of a lexeme as a number, with zeros after a
 * shorter one.  Numbers that differ have the order of their lexemes.  Nothing
 * at or after `limit` is read.
 */
static inline uint64
skx_document_lexeme_prefix(const char *text, int len, const char *limit)
{
	uint64		word = 0;

	if (unlikely(limit - text < sizeof(word)))
	{
		memcpy(&word, text, Min(len, sizeof(word)));
		return pg_ntoh64(word);
	}
	memcpy(&word, text, sizeof(word));
	word = pg_ntoh64(word);
	return len >= sizeof(word) ? word : word & ~(~UINT64CONST(0) >> (8 * len));
}

static int
skx_document_compare(const char *texts, const WordEntry *x, const WordEntry *y)
{
	int			order = memcmp(texts + x->pos, texts + y->pos,
							   Min(x->len, y->len));

	return order != 0 ? order : (int) x->len - (int) y->len;
}

/*
 * Checks the positions of a lexeme that ends `end` bytes after the start of
 * the value.  Clears *ordered unless they ascend and are not too many.
 */
static inline const char *
skx_document_check_positions(const char *bytes, Size end, Size nbytes,
							 bool *ordered)
{
	const WordEntryPosVector *list;
	bool		ascend = true;
	int			i;

	end = SHORTALIGN(end);
	if (end + sizeof(uint16) > nbytes)
		return "has positions outside it";
	list = (const WordEntryPosVector *) (bytes + end);
	if (list->npos == 0)
		return "has a lexeme with a list of no positions";
	if (end + sizeof(uint16) + list->npos * sizeof(WordEntryPos) > nbytes)
		return "has positions outside it";
	for (i = 1; i < list->npos; i++)
		ascend &= WEP_GETPOS(list->pos[i - 1]) < WEP_GETPOS(list->pos[i]);
	*ordered &= ascend && list->npos <= MAXNUMPOS;
	return NULL;
}

const char *
skx_document_check_vector(const char *bytes, Size nbytes, bool *as_taken)
{
	TSVector	value = (TSVector) bytes;
	const char *limit = bytes + nbytes;
	const char *wrong = NULL;
	bool		ordered = true;
	uint64		before = 0;
	Size		start;
	int			i;

	*as_taken = false;
	if (nbytes < DATAHDRSIZE || !VARATT_IS_4B_U(value) ||
		VARSIZE(value) != nbytes || value->size < 0 ||
		value->size > (nbytes - DATAHDRSIZE) / sizeof(WordEntry))
		return "has an impossible size";
	start = CALCDATASIZE(value->size, 0);
	for (i = 0; i < value->size && wrong == NULL; i++)
	{
		const WordEntry *entry = &ARRPTR(value)[i];
		Size		end = start + entry->pos + entry->len;
		uint64		prefix;

		if (end > nbytes)
			return "has a lexeme outside it";
		prefix = skx_document_lexeme_prefix(bytes + start + entry->pos,
											entry->len, limit);
		if (unlikely(prefix <= before) && i > 0)
			ordered &= skx_document_compare(bytes + start, entry - 1,
											entry) < 0;
		before = prefix;
		if (entry->haspos)
			wrong = skx_document_check_positions(bytes, end, nbytes, &ordered);
	}
	*as_taken = ordered;
	return wrong;
}

/*
 * The copy
 */

static int
skx_document_compare_entries(const void *a, const void *b, void *texts)
{
	return skx_document_compare(texts, a, b);
}

/* Sorts by position; at one position the highest label comes first. */
static int
skx_document_compare_positions(const void *a, const void *b)
{
	WordEntryPos x = *(const WordEntryPos *) a;
	WordEntryPos y = *(const WordEntryPos *) b;

	if (WEP_GETPOS(x) != WEP_GETPOS(y))
		return WEP_GETPOS(x) < WEP_GETPOS(y) ? -1 : 1;
	return (int) WEP_GETWEIGHT(y) - (int) WEP_GETWEIGHT(x);
}

/*
 * Writes the union of the positions of n equal entries to `to`, which has
 * capacity for all of them.  Returns the number of positions in the union.
 */
static int
skx_document_merge_positions(TSVector value, const WordEntry *entries, int n,
							 WordEntryPos *to)
{
	int64		all = 0;
	int64		i;
	int			kept = 0;

	for (i = 0; i < n; i++)
	{
		const WordEntryPosVector *list;

		if (!entries[i].haspos)
			continue;
		list = (const WordEntryPosVector *)
			(STRPTR(value) + SHORTALIGN(entries[i].pos + entries[i].len));
		memcpy(to + all, list->pos, list->npos * sizeof(WordEntryPos));
		all += list->npos;
	}
	qsort(to, all, sizeof(WordEntryPos), skx_document_compare_positions);
	for (i = 0; i < all && kept < MAXNUMPOS; i++)
	{
		if (kept == 0 || WEP_GETPOS(to[i]) != WEP_GETPOS(to[kept - 1]))
			to[kept++] = to[i];
	}
	return kept;
}

SKX_NORETURN static void
skx_document_too_long(Size nbytes)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("string is too long for tsvector (%zu bytes, max %d bytes)",
					nbytes, MAXSTRPOS)));
}

Size
skx_document_put_entry(TSVector to, int at, Size used,
					   const SkxLexeme *lexeme, const WordEntryPos *positions,
					   int npos)
{
	WordEntry  *put = &ARRPTR(to)[at];
	uint16		n = (uint16) npos;

	if (used > MAXSTRPOS)
		skx_document_too_long(used);
	put->haspos = npos > 0;
	put->len = lexeme->len;
	put->pos = used;
	memcpy(STRPTR(to) + used, lexeme->bytes, lexeme->len);
	used += lexeme->len;
	if (npos == 0)
		return used;
	used = SHORTALIGN(used);
	memcpy(STRPTR(to) + used, &n, sizeof(n));
	used += sizeof(n);
	memcpy(STRPTR(to) + used, positions, npos * sizeof(WordEntryPos));
	return used + npos * sizeof(WordEntryPos);
}

/* Returns the end of the entries from `first` on that are equal to it. */
static int
skx_document_equal_end(TSVector value, const WordEntry *entries, int first)
{
	int			end = first + 1;

	while (end < value->size &&
		   skx_document_compare(STRPTR(value), &entries[first],
								&entries[end]) == 0)
		end++;
	return end;
}

/*
 * Returns an empty vector with capacity for the entries, which are sorted.
 * Sets *positions to an array with capacity for all their positions.
 */
static TSVector
skx_document_alloc_vector(TSVector value, const WordEntry *entries,
						  WordEntryPos **positions)
{
	Size		room = 0;
	Size		npositions = 0;
	int			size = 0;
	TSVector	vector;
	int			i;

	for (i = 0; i < value->size; i++)
	{
		room += entries[i].len;
		if (!entries[i].haspos)
			continue;
		room += 1 + sizeof(uint16);
		npositions += POSDATALEN(value, &entries[i]);
	}
	room += npositions * sizeof(WordEntryPos);
	if (room > SKX_TSVECTOR_BYTES_MAX)
		skx_document_too_long(room);
	for (i = 0; i < value->size; i = skx_document_equal_end(value, entries, i))
		size++;
	*positions = palloc((npositions + 1) * sizeof(WordEntryPos));
	vector = palloc0(CALCDATASIZE(size, room));
	vector->size = size;
	return vector;
}

/* Returns a copy with sorted entries, in which equal ones are united. */
static TSVector
skx_document_merge_entries(TSVector value)
{
	Size		nbytes = value->size * sizeof(WordEntry);
	WordEntry  *entries = palloc(nbytes);
	WordEntryPos *positions;
	TSVector	vector;
	Size		used = 0;
	int			first = 0;
	int			i;

	memcpy(entries, ARRPTR(value), nbytes);
	qsort_arg(entries, value->size, sizeof(WordEntry),
			  skx_document_compare_entries, STRPTR(value));
	vector = skx_document_alloc_vector(value, entries, &positions);
	for (i = 0; i < vector->size; i++)
	{
		int			end = skx_document_equal_end(value, entries, first);
		SkxLexeme	lexeme = {STRPTR(value) + entries[first].pos,
		entries[first].len};
		int			npos;

		CHECK_FOR_INTERRUPTS();
		npos = skx_document_merge_positions(value, entries + first,
											end - first, positions);
		used = skx_document_put_entry(vector, i, used, &lexeme, positions,
									  npos);
		first = end;
	}
	SET_VARSIZE(vector, CALCDATASIZE(vector->size, used));
	pfree(entries);
	pfree(positions);
	return vector;
}

TSVector
skx_document_vector(TSVector value, const ItemPointerData *tid)
{
	bool		as_taken;
	const char *wrong = skx_document_check_vector((const char *) value,
												  VARSIZE(value), &as_taken);
	TSVector	taken = value;

	if (wrong == NULL && !as_taken)
		taken = skx_document_merge_entries(value);
	/* lexemes with a zero byte come first, since they are sorted */
	if (wrong == NULL && skx_column_count_values(taken) > 0)
		wrong = "has a lexeme that begins with a zero byte";
	if (unlikely(wrong != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("tsvector is malformed"),
				 tid == NULL ? errdetail("It %s.", wrong) :
				 errdetail("That of row (%u,%u) %s.",
						   ItemPointerGetBlockNumber(tid),
						   ItemPointerGetOffsetNumber(tid), wrong),
				 errhint("No function of the server makes such a value; make it anew from the text.")));
	return taken;
}

TSVector
skx_document_datum(Datum value, bool isnull, const ItemPointerData *tid)
{
	TSVector	vector;
	TSVector	taken;

	if (isnull)
		return NULL;
	vector = DatumGetTSVector(value);
	taken = skx_document_vector(vector, tid);
	if (taken != vector)
		skx_document_free(vector, value);
	return taken;
}

void
skx_document_free(TSVector vector, Datum value)
{
	if (vector != NULL && TSVectorGetDatum(vector) != value)
		pfree(vector);
}
