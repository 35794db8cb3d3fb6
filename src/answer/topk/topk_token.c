/*
 * topk_token.c
 *	  Tokens of a ranked search: the row to continue after, and the ranking by
 *	  which all pages are scored.
 *
 * Rows are ordered by sum, then by tid, and by the same ranking neither
 * changes.  So the next page needs no state in the server.  Flushes, merges,
 * and rows that are inserted or deleted do not matter.  A forged token only
 * gives other weights, or another row to continue after.
 */
#include "postgres.h"

#include "answer/topk/topk_token.h"
#include "common/hashfn.h"
#include "port/pg_bswap.h"
#include "read/continuation/continuation.h"

#define SKX_TOPK_MAGIC			0x50584B53	/* "SKXP" */
#define SKX_TOPK_VERSION		2

/*
 * The beginning of a token.  The packed ranking follows.  sum, block and offset
 * have the high byte first, so that tokens of a call ascend as its rows do.
 */
typedef struct SkxTopkTokenHead
{
	SkxTokenOrigin origin;
	uint32		sum;			/* complement of the sum, since sums descend */
	BlockNumber block;			/* tid of the row */
	uint32		offset;
	uint32		omits_dfs;		/* 0; else the bytes of a ranking that has too
								 * many and is left out */
	uint64		rows_before;	/* estimate of the rows up to this one */
	uint32		reserved;		/* 0 */
	uint32		crc;			/* of all members before it, and of the
								 * ranking */
} SkxTopkTokenHead;

StaticAssertDecl(sizeof(SkxTopkTokenHead) == 80, "page token size");

/* Largest number of bytes of a token. */
#define SKX_TOPK_TOKEN_MAX	(sizeof(SkxTopkTokenHead) + SKX_RANKING_BYTES_MAX)

struct SkxTopkToken
{
	SkxTopkTokenHead head;
	bytea	   *bytes;			/* token made last; NULL: none yet */
};

static uint32
skx_topk_token_crc(const SkxTopkTokenHead *head, const char *ranking, Size n)
{
	return skx_continuation_crc(ranking, n,
								skx_continuation_crc(head,
													 offsetof(SkxTopkTokenHead, crc),
													 0));
}

SkxTopkToken *
skx_topk_token_begin(Relation heap, Relation index, TSQuery query,
					 TSQuery rank_by, const bytea *ranking)
{
	SkxTopkToken *token = palloc0(sizeof(SkxTopkToken));
	uint64		hash = skx_continuation_hash(query, 0);

	if (ranking != NULL)
		hash = hash_bytes_extended((const unsigned char *) VARDATA_ANY(ranking),
								   VARSIZE_ANY_EXHDR(ranking), hash);
	else
		hash = skx_continuation_hash(rank_by, hash);
	skx_continuation_begin(&token->head.origin, SKX_TOPK_MAGIC,
						   SKX_TOPK_VERSION, heap, index, hash);
	return token;
}

/* Sets what is the same in all tokens of a search. */
static void
skx_topk_token_set_frozen(SkxTopkToken *token, const SkxScorer *scorer)
{
	SkxRanking	ranking;
	bytea	   *packed;
	Size		n;

	skx_score_ranking(scorer, &ranking);
	packed = skx_score_pack(&ranking);
	n = VARSIZE(packed) - VARHDRSZ;
	if (n > SKX_RANKING_BYTES_MAX)
	{
		token->head.omits_dfs = (uint32) Min(n, PG_UINT32_MAX);
		n = 0;
	}
	token->bytes = palloc(VARHDRSZ + sizeof(token->head) + n);
	SET_VARSIZE(token->bytes, VARHDRSZ + sizeof(token->head) + n);
	memcpy(VARDATA(token->bytes) + sizeof(token->head), VARDATA(packed), n);
	pfree(packed);
}

bytea *
skx_topk_token_make(SkxTopkToken *token, const SkxScorer *scorer,
					const SkxTopkAfter *last)
{
	SkxTopkTokenHead *head = &token->head;
	char	   *bytes;

	if (token->bytes == NULL)
		skx_topk_token_set_frozen(token, scorer);
	bytes = VARDATA(token->bytes);
	head->sum = pg_hton32(~(uint32) last->sum);
	head->block = pg_hton32(ItemPointerGetBlockNumber(&last->tid));
	head->offset = pg_hton32(ItemPointerGetOffsetNumber(&last->tid));
	head->rows_before = pg_hton64(last->rows_before);
	head->crc = skx_topk_token_crc(head, bytes + sizeof(*head),
								   VARSIZE(token->bytes) - VARHDRSZ -
								   sizeof(*head));
	memcpy(bytes, head, sizeof(*head));
	return token->bytes;
}

SkxTopkPage *
skx_topk_token_read(const SkxTopkToken *token, const bytea *given)
{
	SkxTopkPage *page = palloc0(sizeof(SkxTopkPage));
	SkxTopkTokenHead head;
	const char *ranking = VARDATA_ANY(given) + sizeof(head);
	Size		size = VARSIZE_ANY_EXHDR(given);

	if (size < sizeof(head) || size > SKX_TOPK_TOKEN_MAX)
		skx_continuation_refuse("It has another length than tokens have.");
	memcpy(&head, VARDATA_ANY(given), sizeof(head));
	size -= sizeof(head);
	if (head.origin.magic != SKX_TOPK_MAGIC ||
		head.crc != skx_topk_token_crc(&head, ranking, size))
		skx_continuation_refuse("It is damaged, or none.");
	skx_continuation_check(&token->head.origin, &head.origin);
	skx_score_check_size(head.omits_dfs);
	page->after.sum = (int32) ~pg_ntoh32(head.sum);
	page->ranking = skx_score_unpack(ranking, size);
	if (page->after.sum < 0 || page->ranking == NULL)
		skx_continuation_refuse("It is damaged, or none.");
	ItemPointerSet(&page->after.tid, pg_ntoh32(head.block),
				   (OffsetNumber) pg_ntoh32(head.offset));
	page->after.rows_before = Min(pg_ntoh64(head.rows_before), PG_UINT32_MAX);
	return page;
}
