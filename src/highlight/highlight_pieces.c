/*
 * highlight_pieces.c
 *	  Finds the words of a query that a piece of text has.
 *
 * A parser takes some 0.3 us and a dictionary some 0.5 us for each token.
 * Most tokens of a text occurred in it, or in the text before, already.  So
 * the results for pieces of text are kept.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "highlight/highlight_internal.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#define SKX_HIGHLIGHT_SLOTS		1024	/* slots of a new hash table */

/* Number of changes of configurations and dictionaries so far. */
static uint64 skx_highlight_generation = 0;

/* A piece that is being made.  Its tokens are allocated in `context`. */
typedef struct SkxHighlightNewPiece
{
	SkxHighlight *highlight;
	MemoryContext context;
	SkxHighlightPiece *piece;
	int			tokens_size;	/* capacity of piece->tokens */
} SkxHighlightNewPiece;

/* ---- one token ---- */

/* Adds a token to a piece, without position and ids. */
static SkxHighlightToken *
skx_highlight_new_token(SkxHighlightNewPiece *m, uint32 start, uint32 end)
{
	SkxHighlightPiece *piece = m->piece;
	SkxHighlightToken *token;

	if (piece->ntokens == m->tokens_size)
	{
		m->tokens_size = m->tokens_size == 0 ? 1 : m->tokens_size * 2;
		piece->tokens = piece->tokens == NULL ?
			MemoryContextAlloc(m->context, sizeof(SkxHighlightToken)) :
			repalloc_huge(piece->tokens,
						  sizeof(SkxHighlightToken) * (Size) m->tokens_size);
	}
	token = &piece->tokens[piece->ntokens++];
	memset(token, 0, sizeof(*token));
	token->start = start;
	token->end = end;
	return token;
}

/*
 * Adds a token to a piece.  If it is the only token, is as long as the piece
 * and no word of the query, only sets piece->is_one_token.
 */
static void
skx_highlight_store_token(SkxHighlightNewPiece *m, uint32 start, uint32 end,
						  uint32 position, const int *ids, int nids)
{
	SkxHighlightPiece *piece = m->piece;
	SkxHighlightToken *token;

	/* a long piece can have millions of tokens that are not needed */
	if (nids == 0 && m->highlight->marks_only && !piece->is_cached)
		return;
	if (piece->is_one_token)
	{
		piece->is_one_token = false;
		(void) skx_highlight_new_token(m, 0, piece->len);
	}
	if (piece->ntokens == 0 && nids == 0 && start == 0 && end == piece->len)
	{
		piece->is_one_token = true;
		return;
	}
	token = skx_highlight_new_token(m, start, end);
	token->position = position;
	token->nids = nids;
	if (nids > 0)
	{
		token->ids = MemoryContextAlloc(m->context, sizeof(int) * nids);
		memcpy(token->ids, ids, sizeof(int) * nids);
	}
}

/*
 * Returns the lexemes of a token by the dictionaries of its type; NULL if none
 * of them knows the token.  Does not pass further tokens to a thesaurus that
 * could make one lexeme of several tokens.
 */
static TSLexeme *
skx_highlight_lexize(const ListDictionary *list, const char *bytes, int len)
{
	TSLexeme   *lexemes = NULL;
	int			next = 0;

	while (lexemes == NULL && next < list->len)
	{
		DictSubState state;

		lexemes = skx_parse_lexize(list, &next, bytes, len, &state);
	}
	return lexemes;
}

/*
 * Looks up a token and adds it to the piece.  Positions are counted as the
 * server does it when it makes a tsvector.
 */
static void
skx_highlight_add_token(SkxHighlightNewPiece *m, int type, const char *bytes,
						int len, uint32 start)
{
	const TSConfigCacheEntry *config = m->highlight->entry;
	int			ids[SKX_HIGHLIGHT_TOKEN_IDS_MAX];
	int			nids = 0;
	uint32		position;
	TSLexeme   *lexeme;
	MemoryContext old;

	if (type <= 0 || type >= config->lenmap || config->map[type].len == 0)
		return;
	if (skx_highlight_token_is_unmatched(m->highlight, type, bytes, len))
	{
		skx_highlight_store_token(m, start, start + len,
								  ++m->piece->npositions, NULL, 0);
		return;
	}
	old = MemoryContextSwitchTo(m->highlight->token);
	lexeme = len >= MAXSTRLEN ? NULL :
		skx_highlight_lexize(&config->map[type], bytes, len);
	MemoryContextSwitchTo(old);
	if (lexeme != NULL)
		m->piece->npositions++;
	position = m->piece->npositions;
	for (; lexeme != NULL && lexeme->lexeme != NULL; lexeme++)
	{
		if (lexeme->flags & TSL_ADDPOS)
		{
			skx_highlight_store_token(m, start, start + len, position, ids,
									  nids);
			position = ++m->piece->npositions;
			nids = 0;
		}
		nids = skx_highlight_lookup(m->highlight->query, lexeme->lexeme,
									strlen(lexeme->lexeme), ids, nids);
	}
	skx_highlight_store_token(m, start, start + len, position, ids, nids);
	MemoryContextReset(m->highlight->token);
}

/* Adds the tokens of a text that the configuration's parser finds. */
static void
skx_highlight_parse(SkxHighlightNewPiece *m, const char *bytes, int len)
{
	SkxParseTokens tokens;
	const char *token;
	int			token_len;
	int			type;

	skx_parse_begin(&tokens, m->highlight->parser, bytes, len, false);
	while ((type = skx_parse_next(&tokens, &token, &token_len)) > 0)
		skx_highlight_add_token(m, type, token, token_len, token - bytes);
	skx_parse_end(&tokens);
}

/* ---- kept pieces ---- */

/* Frees all kept pieces, and makes an empty hash table. */
static void
skx_highlight_reset_cache(SkxHighlight *h)
{
	MemoryContextReset(h->pieces);
	h->npieces = 0;
	h->mask = SKX_HIGHLIGHT_SLOTS - 1;
	h->slots = MemoryContextAllocZero(h->pieces, sizeof(SkxHighlightSlot) *
									  SKX_HIGHLIGHT_SLOTS);
}

static void
skx_highlight_put_slot(SkxHighlight *h, SkxHighlightPiece *piece)
{
	uint32		i = piece->hash & h->mask;

	while (h->slots[i].piece != NULL)
		i = (i + 1) & h->mask;
	h->slots[i].hash = piece->hash;
	h->slots[i].piece = piece;
}

/*
 * Adds a piece to the hash table.  Doubles the table if fewer than half of its
 * slots would be empty.
 */
static void
skx_highlight_cache_piece(SkxHighlight *h, SkxHighlightPiece *piece)
{
	SkxHighlightSlot *old = h->slots;
	uint32		n = h->mask + 1;
	uint32		i;

	if (++h->npieces > n / 2)
	{
		h->slots = MemoryContextAllocZero(h->pieces,
										  sizeof(SkxHighlightSlot) * 2 * n);
		h->mask = 2 * n - 1;
		for (i = 0; i < n; i++)
			if (old[i].piece != NULL)
				skx_highlight_put_slot(h, old[i].piece);
		pfree(old);
	}
	skx_highlight_put_slot(h, piece);
}

void
skx_highlight_free_piece(const SkxHighlightPiece *piece)
{
	if (piece->is_cached)
		return;
	if (piece->tokens != NULL)
		pfree(piece->tokens);
	pfree(unconstify(SkxHighlightPiece *, piece));
}

/* Makes a new piece, and keeps it if it is short and the budget allows it. */
static const SkxHighlightPiece *
skx_highlight_make_piece(SkxHighlight *h, uint32 hash, int kind,
						 const char *bytes, int len)
{
	bool		keep = len <= SKX_HIGHLIGHT_PIECE_BYTES &&
		MemoryContextMemAllocated(h->pieces,
								  false) < SKX_HIGHLIGHT_CACHE_BYTES;
	SkxHighlightNewPiece m = {h, keep ? h->pieces : CurrentMemoryContext};
	MemoryContext old;

	m.piece = MemoryContextAllocZero(m.context, sizeof(SkxHighlightPiece) +
									 (keep ? len : 0));
	m.piece->is_cached = keep;
	m.piece->hash = hash;
	m.piece->kind = kind;
	m.piece->len = len;
	old = MemoryContextSwitchTo(h->scratch);
	if (kind > 0)
		skx_highlight_add_token(&m, kind, bytes, len, 0);
	else
		skx_highlight_parse(&m, bytes, kind == SKX_HIGHLIGHT_LAST_CHUNK ? len :
							len + 1);
	MemoryContextSwitchTo(old);
	MemoryContextReset(h->scratch);
	if (keep)
	{
		memcpy(m.piece + 1, bytes, len);
		skx_highlight_cache_piece(h, m.piece);
	}
	return m.piece;
}

const SkxHighlightPiece *
skx_highlight_piece(SkxHighlight *h, int kind, const char *bytes, int len)
{
	uint32		hash;
	uint32		i;

	if (len > SKX_HIGHLIGHT_PIECE_BYTES)
		return skx_highlight_make_piece(h, 0, kind, bytes, len);
	hash = hash_bytes((const unsigned char *) bytes, len) + (uint32) kind;
	for (i = hash & h->mask; h->slots[i].piece != NULL; i = (i + 1) & h->mask)
	{
		const SkxHighlightPiece *piece = h->slots[i].piece;

		if (h->slots[i].hash == hash && piece->len == len &&
			piece->kind == kind && memcmp(piece + 1, bytes, len) == 0)
			return piece;
	}
	return skx_highlight_make_piece(h, hash, kind, bytes, len);
}

/* ---- state from one call to the next ---- */

static void
skx_highlight_config_changed(Datum arg, int cacheid, uint32 hash)
{
	skx_highlight_generation++;
}

/* Registers callbacks for changes of configurations and dictionaries, once. */
static void
skx_highlight_register_callbacks(void)
{
	static bool watching = false;

	if (watching)
		return;
	CacheRegisterSyscacheCallback(TSCONFIGOID, skx_highlight_config_changed,
								  0);
	CacheRegisterSyscacheCallback(TSCONFIGMAP, skx_highlight_config_changed,
								  0);
	CacheRegisterSyscacheCallback(TSDICTOID, skx_highlight_config_changed, 0);
	watching = true;
}

static SkxHighlight *
skx_highlight_create_state(MemoryContext parent, Oid config, TSQuery query)
{
	MemoryContext context = AllocSetContextCreate(parent, "skipidx highlight",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxHighlight *h = palloc0(sizeof(SkxHighlight));

	h->context = context;
	h->config = config;
	h->query = skx_highlight_query(query);
	h->pieces = AllocSetContextCreate(context, "skipidx highlight pieces",
									  ALLOCSET_DEFAULT_MINSIZE,
									  ALLOCSET_DEFAULT_INITSIZE,
									  SKX_HIGHLIGHT_CACHE_BYTES / 16);
	h->scratch = AllocSetContextCreate(context, "skipidx highlight scratch",
									   ALLOCSET_DEFAULT_SIZES);
	h->token = AllocSetContextCreate(context, "skipidx highlight token",
									 ALLOCSET_DEFAULT_SIZES);
	skx_highlight_reset_cache(h);
	MemoryContextSwitchTo(old);
	return h;
}

SkxHighlight *
skx_highlight_get_state(SkxHighlight *kept, MemoryContext parent, Oid config,
						TSQuery query)
{
	SkxHighlight *h = kept;

	skx_highlight_register_callbacks();
	if (h != NULL && (h->config != config ||
					  VARSIZE(h->query->query) != VARSIZE(query) ||
					  memcmp(h->query->query, query, VARSIZE(query)) != 0))
	{
		MemoryContextDelete(h->context);
		h = NULL;
	}
	if (h == NULL)
		h = skx_highlight_create_state(parent, config, query);
	h->entry = lookup_ts_config_cache(config);
	h->parser = lookup_ts_parser_cache(h->entry->prsId);
	h->plain = skx_parse_is_default(h->parser);
	if (h != kept || h->generation != skx_highlight_generation)
		h->keeping_types = h->plain ? skx_highlight_keeping_types(h->entry) :
			0;
	if (MemoryContextMemAllocated(h->pieces,
								  false) >= SKX_HIGHLIGHT_CACHE_BYTES ||
		h->generation != skx_highlight_generation)
		skx_highlight_reset_cache(h);
	h->generation = skx_highlight_generation;
	return h;
}
