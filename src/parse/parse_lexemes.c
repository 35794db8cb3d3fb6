/*
 * parse_lexemes.c
 *	  Makes lexemes of tokens by the dictionaries of their types.
 *
 * The server has this only together with the list of all words of a text.  The
 * order of calls is the server's, so that a text has the lexemes that
 * to_tsvector() and to_tsquery() find in it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "parse/parse_internal.h"
#include "utils/memutils.h"

static TSLexeme *
skx_parse_call_dictionary(Oid dictionary, const char *bytes, int len,
						  DictSubState *state)
{
	TSDictionaryCacheEntry *dict = lookup_ts_dictionary_cache(dictionary);

	state->getnext = false;
	return (TSLexeme *)
		DatumGetPointer(FunctionCall4(&dict->lexize,
									  PointerGetDatum(dict->dictData),
									  PointerGetDatum(bytes),
									  Int32GetDatum(len),
									  PointerGetDatum(state)));
}

TSLexeme *
skx_parse_lexize(const ListDictionary *list, int *next, const char *bytes,
				 int len, DictSubState *state)
{
	state->getnext = false;
	while (*next < list->len)
	{
		TSLexeme   *lexemes;

		state->isend = false;
		state->private_state = NULL;
		lexemes = skx_parse_call_dictionary(list->dictIds[(*next)++], bytes,
											len, state);
		if (state->getnext)
			return lexemes;
		if (lexemes == NULL)
			continue;
		if ((lexemes->flags & TSL_FILTER) == 0)
			return lexemes;
		bytes = lexemes->lexeme;
		len = strlen(bytes);
	}
	return NULL;
}

void
skx_parse_lexizer_init(SkxParseLexizer *l, const TSConfigCacheEntry *config,
					   MemoryContext context)
{
	memset(l, 0, sizeof(*l));
	l->config = config;
	l->context = context;
	l->size = 16;
	l->tokens = MemoryContextAlloc(context, sizeof(SkxParseToken) * l->size);
}

/* Makes room for a token: where tokens were that are done, or behind. */
static void
skx_parse_make_room(SkxParseLexizer *l)
{
	int			done = l->first;

	if (done < l->size / 2)
	{
		l->size *= 2;
		l->tokens = repalloc_huge(l->tokens,
								  sizeof(SkxParseToken) * (Size) l->size);
		return;
	}
	memmove(l->tokens, l->tokens + done, sizeof(SkxParseToken) * (l->n - done));
	l->first = 0;
	l->n -= done;
	l->unseen -= done;
	l->kept_end -= done;
}

void
skx_parse_lexizer_add(SkxParseLexizer *l, int type, const char *bytes, int len)
{
	if (type > 0 && (type >= l->config->lenmap ||
					 l->config->map[type].len == 0))
		return;
	if (l->n == l->size)
		skx_parse_make_room(l);
	l->tokens[l->n].type = type;
	l->tokens[l->n].bytes = bytes;
	l->tokens[l->n++].len = len;
}

/* Takes tokens before `end` out. */
static void
skx_parse_drop_tokens(SkxParseLexizer *l, int end)
{
	l->first = end;
	l->next_dictionary = 0;
	if (l->first == l->n)
		l->first = l->n = 0;
}

static int
skx_parse_count_lexemes(const TSLexeme *lexemes)
{
	int			n = 0;

	while (lexemes[n].lexeme != NULL)
		n++;
	return n;
}

/* Copies lexemes to the current memory context. */
static TSLexeme *
skx_parse_copy_lexemes(const TSLexeme *lexemes)
{
	int			n = skx_parse_count_lexemes(lexemes);
	TSLexeme   *copy = palloc(sizeof(TSLexeme) * (n + 1));
	int			i;

	memcpy(copy, lexemes, sizeof(TSLexeme) * (n + 1));
	for (i = 0; i < n; i++)
		copy[i].lexeme = pstrdup(lexemes[i].lexeme);
	return copy;
}

static void
skx_parse_free_kept(SkxParseLexizer *l)
{
	int			i;

	if (l->kept == NULL)
		return;
	for (i = 0; l->kept[i].lexeme != NULL; i++)
		pfree(l->kept[i].lexeme);
	pfree(l->kept);
	l->kept = NULL;
}

/*
 * Notes what the asking dictionary makes of tokens before `end`, unless the
 * next ones become part of it.
 */
static void
skx_parse_keep(SkxParseLexizer *l, const TSLexeme *lexemes, int end)
{
	MemoryContext old;

	if (lexemes == NULL)
		return;
	skx_parse_free_kept(l);
	old = MemoryContextSwitchTo(l->context);
	l->kept = skx_parse_copy_lexemes(lexemes);
	MemoryContextSwitchTo(old);
	l->kept_end = end;
}

/*
 * Passes the first tokens through their dictionaries.  Returns the lexemes of
 * the first one that has any.  Returns NULL after the last token, or if a
 * dictionary asks for more.
 */
static TSLexeme *
skx_parse_lexize_first(SkxParseLexizer *l)
{
	while (l->first < l->n)
	{
		const SkxParseToken *token = &l->tokens[l->first];
		const ListDictionary *list = &l->config->map[token->type];
		TSLexeme   *lexemes = NULL;

		if (token->type > 0)
		{
			lexemes = skx_parse_lexize(list, &l->next_dictionary, token->bytes,
									   token->len, &l->state);
			if (l->state.getnext)
			{
				l->asking = list->dictIds[l->next_dictionary - 1];
				l->unseen = l->first + 1;
				skx_parse_keep(l, lexemes, l->unseen);
				return NULL;
			}
		}
		skx_parse_drop_tokens(l, l->first + 1);
		if (lexemes != NULL)
			return lexemes;
	}
	return NULL;
}

static bool
skx_parse_has_dictionary(const ListDictionary *list, Oid dictionary)
{
	int			i;

	for (i = 0; i < list->len; i++)
		if (list->dictIds[i] == dictionary)
			return true;
	return false;
}

/* Takes out the tokens that the kept lexemes are made of; returns these. */
static TSLexeme *
skx_parse_take_kept(SkxParseLexizer *l)
{
	TSLexeme   *lexemes = skx_parse_copy_lexemes(l->kept);

	skx_parse_free_kept(l);
	skx_parse_drop_tokens(l, l->kept_end);
	return lexemes;
}

/*
 * Passes tokens to the dictionary that asks for more.  Returns the lexemes
 * that it makes of them.  Otherwise returns NULL: if it still asks after the
 * last token, or if it makes nothing of them, so that dictionaries after it
 * get the first one.  The latter is so, too, if a token comes that is not for
 * it.  The server then goes back to that first token, but does not forget what
 * was kept: it uses that for some later token, by a pointer to freed memory.
 */
static TSLexeme *
skx_parse_lexize_more(SkxParseLexizer *l)
{
	while (l->unseen < l->n)
	{
		const SkxParseToken *token = &l->tokens[l->unseen];
		TSLexeme   *lexemes;

		if (token->type > 0 &&
			!skx_parse_has_dictionary(&l->config->map[token->type], l->asking))
		{
			l->asking = InvalidOid;
			skx_parse_free_kept(l);
			break;
		}
		l->unseen++;
		l->state.isend = token->type == 0;
		lexemes = skx_parse_call_dictionary(l->asking, token->bytes,
											token->len, &l->state);
		if (l->state.getnext)
		{
			skx_parse_keep(l, lexemes, l->unseen);
			continue;
		}
		l->asking = InvalidOid;
		if (lexemes == NULL)
			return l->kept == NULL ? NULL : skx_parse_take_kept(l);
		skx_parse_free_kept(l);
		skx_parse_drop_tokens(l, l->unseen);
		return lexemes;
	}
	return NULL;
}

TSLexeme *
skx_parse_lexizer_next(SkxParseLexizer *l)
{
	for (;;)
	{
		TSLexeme   *lexemes;

		if (!OidIsValid(l->asking))
		{
			lexemes = skx_parse_lexize_first(l);
			if (lexemes != NULL || !OidIsValid(l->asking))
				return lexemes;
		}
		lexemes = skx_parse_lexize_more(l);
		if (lexemes != NULL || OidIsValid(l->asking))
			return lexemes;
	}
}
