/*
 * topk_token.c
 *	  Tokens of a ranked search: the row to continue after, and the frozen
 *	  statistics by which all pages are scored.
 *
 * Rows are ordered by sum, then by tid, and under the same statistics neither
 * changes.  So the next page needs no state in the server.  Flushes, merges,
 * and rows that are inserted or deleted do not matter.  A forged token only
 * gives other weights, or another row to continue after.
 */
#include "postgres.h"

#include "answer/topk/topk_token.h"
#include "format/codec/codec.h"
#include "port/pg_bswap.h"
#include "read/continuation/continuation.h"

#define SKX_TOPK_MAGIC			0x50584B53	/* "SKXP" */
#define SKX_TOPK_VERSION		1

/* Largest number of bytes of a token: dfs of some 2,500 words. */
#define SKX_TOPK_TOKEN_MAX		8192

/*
 * The beginning of a token.  The dfs of all words follow as varints.  sum,
 * block and offset have the high byte first, so that tokens of a call ascend
 * as its rows do.
 */
typedef struct SkxTopkTokenHead
{
	SkxTokenOrigin origin;
	uint32		sum;			/* complement of the sum, since sums descend */
	BlockNumber block;			/* tid of the row */
	uint32		offset;
	uint32		many;			/* 1: too many words, whose dfs are left out */
	uint64		given;			/* estimate of the rows up to this one */
	uint64		options;		/* this and the next three: SkxScorePins */
	uint64		ndocs;
	uint64		length;
	uint32		n;
	uint32		crc;			/* of all members before it, and of the dfs */
} SkxTopkTokenHead;

StaticAssertDecl(sizeof(SkxTopkTokenHead) == 104, "page token size");

struct SkxTopkToken
{
	SkxTopkTokenHead head;
	bytea	   *bytes;			/* token made last; NULL: none yet */
};

static uint32
skx_topk_token_crc(const SkxTopkTokenHead *head, const uint8 *dfs, Size n)
{
	return skx_continuation_crc(dfs, n,
								skx_continuation_crc(head,
													 offsetof(SkxTopkTokenHead, crc),
													 0));
}

SkxTopkToken *
skx_topk_token_begin(Relation heap, Relation index, TSQuery query,
					 TSQuery rank_by)
{
	SkxTopkToken *token = palloc0(sizeof(SkxTopkToken));

	skx_continuation_begin(&token->head.origin, SKX_TOPK_MAGIC,
						   SKX_TOPK_VERSION,
						   heap, index,
						   skx_continuation_hash(rank_by,
												 skx_continuation_hash(query, 0)));
	return token;
}

/* Sets what is the same in all tokens of a search. */
static void
skx_topk_token_pin(SkxTopkToken *token, const SkxScorer *scorer)
{
	SkxScorePins pins;
	uint8	   *dfs = palloc(SKX_TOPK_TOKEN_MAX);
	uint8	   *end = dfs;
	Size		room = SKX_TOPK_TOKEN_MAX - sizeof(token->head);
	int			i;

	skx_score_pinned(scorer, &pins);
	token->head.options = pins.options;
	token->head.ndocs = pins.ndocs;
	token->head.length = pins.length;
	for (i = 0; i < pins.n; i++)
	{
		if ((Size) (end - dfs) + SKX_VARINT64_MAX > room)
			break;
		end = skx_codec_varint64_put(end, pins.dfs[i]);
	}
	token->head.many = i < pins.n;
	token->head.n = i < pins.n ? 0 : pins.n;
	if (i < pins.n)
		end = dfs;
	token->bytes = palloc(VARHDRSZ + SKX_TOPK_TOKEN_MAX);
	SET_VARSIZE(token->bytes, VARHDRSZ + sizeof(token->head) + (end - dfs));
	memcpy(VARDATA(token->bytes) + sizeof(token->head), dfs, end - dfs);
	pfree(pins.dfs);
	pfree(dfs);
}

bytea *
skx_topk_token_make(SkxTopkToken *token, const SkxScorer *scorer,
					const SkxTopkAfter *last)
{
	SkxTopkTokenHead *head = &token->head;
	char	   *bytes;

	if (token->bytes == NULL)
		skx_topk_token_pin(token, scorer);
	bytes = VARDATA(token->bytes);
	head->sum = pg_hton32(~(uint32) last->sum);
	head->block = pg_hton32(ItemPointerGetBlockNumber(&last->tid));
	head->offset = pg_hton32(ItemPointerGetOffsetNumber(&last->tid));
	head->given = pg_hton64(last->given);
	head->crc = skx_topk_token_crc(head, (uint8 *) bytes + sizeof(*head),
								   VARSIZE(token->bytes) - VARHDRSZ -
								   sizeof(*head));
	memcpy(bytes, head, sizeof(*head));
	return token->bytes;
}

/*
 * Reads the dfs of n words.  Returns false unless they take exactly the bytes
 * up to `end`.
 */
static bool
skx_topk_token_dfs(const uint8 *src, const uint8 *end, uint32 n,
				   SkxScorePins *pins)
{
	uint32		i;

	if (n > SKX_TOPK_TOKEN_MAX)
		return false;
	pins->n = (int) n;
	pins->dfs = palloc(sizeof(uint64) * (n + 1));
	for (i = 0; i < n; i++)
	{
		src = skx_codec_varint64_get(src, end, &pins->dfs[i]);
		if (src == NULL)
			return false;
	}
	return src == end;
}

static void
skx_topk_token_refuse_many(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a search by so many words cannot be gone on with"),
			 errdetail("A token holds how many documents have each word that ranks, in %d bytes at most.",
					   SKX_TOPK_TOKEN_MAX),
			 errhint("Rank by fewer words with rank_by, or ask for all rows that you need at once.")));
}

SkxTopkPage *
skx_topk_token_read(const SkxTopkToken *token, const bytea *given)
{
	SkxTopkPage *page = palloc0(sizeof(SkxTopkPage));
	SkxTopkTokenHead head;
	const uint8 *dfs = (const uint8 *) VARDATA_ANY(given) + sizeof(head);
	Size		size = VARSIZE_ANY_EXHDR(given);

	if (size < sizeof(head) || size > SKX_TOPK_TOKEN_MAX)
		skx_continuation_refuse("It has another length than tokens have.");
	memcpy(&head, VARDATA_ANY(given), sizeof(head));
	size -= sizeof(head);
	if (head.origin.magic != SKX_TOPK_MAGIC ||
		head.crc != skx_topk_token_crc(&head, dfs, size))
		skx_continuation_refuse("It is damaged, or none.");
	skx_continuation_check(&token->head.origin, &head.origin);
	if (head.many != 0)
		skx_topk_token_refuse_many();
	page->after.sum = (int32) ~pg_ntoh32(head.sum);
	if (page->after.sum < 0 ||
		!skx_topk_token_dfs(dfs, dfs + size, head.n, &page->pins))
		skx_continuation_refuse("It is damaged, or none.");
	ItemPointerSet(&page->after.tid, pg_ntoh32(head.block),
				   (OffsetNumber) pg_ntoh32(head.offset));
	page->after.given = Min(pg_ntoh64(head.given), PG_UINT32_MAX);
	page->pins.options = head.options;
	page->pins.ndocs = head.ndocs;
	page->pins.length = head.length;
	return page;
}
