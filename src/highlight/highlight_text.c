/*
 * highlight_text.c
 *	  Reads a text: finds its words, and those of them that are words of the
 *	  query.
 *
 * The server's default parser begins anew after a blank, unless the blank is
 * in a tag, which begins with '<'.  So a chunk, the text between two blanks
 * outside of tags, is looked up as one kept piece by its bytes.  If a chunk
 * consists of letters with punctuation around them, only the letters are
 * looked up, as a word.  The parser is called only for pieces that are not
 * kept.
 *
 * The parser reads all the rest of the text from a comment on, or from a tag
 * that may change how the text after it is read.  Other parsers read all of
 * the text.
 */
#include "postgres.h"

#include "highlight/highlight_internal.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Adds a word of the text. */
static void
skx_highlight_add_word(SkxHighlightText *t, uint32 start, uint32 end)
{
	/* without passages only the last word is needed */
	if (t->passage_words == 0)
		t->nwords = 0;
	if (t->nwords == t->words_size)
	{
		t->words_size = Max(256, t->words_size * 2);
		t->words = t->words == NULL ?
			palloc(sizeof(SkxHighlightWord) * t->words_size) :
			repalloc_huge(t->words,
						  sizeof(SkxHighlightWord) * (Size) t->words_size);
	}
	t->words[t->nwords].start = start;
	t->words[t->nwords++].end = end;
}

/* Adds a match: a token of a piece at `base` that is a word of the query. */
static void
skx_highlight_add_match(SkxHighlightText *t, const SkxHighlightToken *token,
						uint32 base)
{
	SkxHighlightMatch *match;

	if (t->nmatches == t->matches_size)
	{
		if (t->matches_size > SKX_HIGHLIGHT_MATCHES_MAX / 2)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("cannot mark more than %d words of a text",
							t->matches_size),
					 errhint("Ask for passages with max_words, or for a part of the text.")));
		t->matches_size = Max(64, t->matches_size * 2);
		t->matches = t->matches == NULL ?
			palloc(sizeof(SkxHighlightMatch) * t->matches_size) :
			repalloc_huge(t->matches,
						  sizeof(SkxHighlightMatch) * (Size) t->matches_size);
	}
	match = &t->matches[t->nmatches++];
	match->start = base + token->start;
	match->end = base + token->end;
	match->word = t->nwords - 1;
	match->position = t->position + token->position;
	match->nids = token->nids;
	match->ids = token->ids;
	if (t->passage_words > 0)
		skx_highlight_window_add(t, t->nmatches - 1);
}

/* Adds a token at `base` that is no word of the query. */
static void
skx_highlight_add_unmatched(SkxHighlightText *t, uint32 base, int len)
{
	if (t->nwords == 0 || base >= t->words[t->nwords - 1].end)
		skx_highlight_add_word(t, base, base + len);
	t->position++;
}

/*
 * Adds the words and matches of a piece that is at `base` in the text, and
 * drops the piece.
 */
static void
skx_highlight_add_piece(SkxHighlightText *t, const SkxHighlightPiece *piece,
						uint32 base)
{
	int			i;

	if (piece->is_one_token && piece->len > 0 &&
		(t->nwords == 0 || base >= t->words[t->nwords - 1].end))
		skx_highlight_add_word(t, base, base + piece->len);
	for (i = 0; i < piece->ntokens; i++)
	{
		const SkxHighlightToken *token = &piece->tokens[i];

		if (t->nwords == 0 ||
			base + token->start >= t->words[t->nwords - 1].end)
			skx_highlight_add_word(t, base + token->start, base + token->end);
		if (token->nids > 0)
			skx_highlight_add_match(t, token, base);
	}
	t->position += piece->npositions;
	skx_highlight_free_piece(piece);
}

/* Returns true if a word that begins at `start` need not be read any more. */
static bool
skx_highlight_words_suffice(const SkxHighlightText *t, uint32 start)
{
	return t->max_words > 0 && t->nwords >= t->max_words &&
		start >= t->words[t->nwords - 1].end;
}

/*
 * Reads the text from `at` to its end by the parser.  The parser returns the
 * parts of a compound after the compound itself.  So a word is complete only
 * when a token begins after its end.
 */
static void
skx_highlight_read_tokens(SkxHighlightText *t, uint32 at)
{
	SkxParseTokens tokens;
	const char *token;
	int			len;
	int			type;

	skx_parse_begin(&tokens, t->highlight->parser, t->bytes + at,
					(int) (t->len - at), false);
	while ((type = skx_parse_next(&tokens, &token, &len)) > 0)
	{
		/* a parser can return tokens that are not in the text */
		if (type >= t->highlight->entry->lenmap ||
			t->highlight->entry->map[type].len == 0 ||
			token < t->bytes + at || len < 0 ||
			len > t->bytes + t->len - token)
			continue;
		if (skx_highlight_words_suffice(t, token - t->bytes))
		{
			t->len = token - t->bytes;
			break;
		}
		skx_highlight_add_piece(t, skx_highlight_piece(t->highlight, type,
													   token, len),
								token - t->bytes);
	}
	skx_parse_end(&tokens);
}

/*
 * Returns true if a chunk consists of letters with punctuation around them
 * that cannot be part of a token.  Two dots after a word can.  The chunk, from
 * *bytes to `end`, is not empty.  If the result is true, *bytes and *len are
 * set to the letters; otherwise they stay as they are.
 */
static bool
skx_highlight_is_word(const char **bytes, const char *end, int *len)
{
	const char *s = *bytes;
	const char *e = end;
	const char *p;

	while (s < e && (*s == '(' || *s == '"' || *s == '[' || *s == '\''))
		s++;
	while (e > s && !skx_parse_is_letter(e[-1]) &&
		   strchr(".,;:!?)]\"'", e[-1]) != NULL)
		e--;
	if (end - e > 1 && e[0] == '.' && e[1] == '.')
		return false;
	for (p = s; p < e; p++)
		if (!skx_parse_is_letter(*p))
			return false;
	if (s == e)
		return false;
	*bytes = s;
	*len = e - s;
	return true;
}

/* A longer tag is left to the parser. */
#define SKX_HIGHLIGHT_TAG		4096

/* Characters of a tag name, besides letters and digits. */
#define SKX_HIGHLIGHT_IN_NAME	":_.-"

/*
 * Returns true if a tag of this name changes whether the parser reads the text
 * after it.
 */
static bool
skx_highlight_tag_changes_parser(const char *name, size_t len)
{
	return (len == 6 && pg_strncasecmp(name, "script", 6) == 0) ||
		(len == 5 && pg_strncasecmp(name, "style", 5) == 0);
}

/*
 * Returns the end of the name of a tag.  Returns `none` if this is no tag,
 * `over` if the text ends before the name does, and NULL if the parser must
 * decide.
 */
static const char *
skx_highlight_name_end(const char *name, const char *end, const char *none,
					   const char *over)
{
	const char *at = name;

	while (at < end && skx_parse_is_one_of(SKX_HIGHLIGHT_IN_NAME, *at))
		at++;
	if (at < end && IS_HIGHBIT_SET(*at))
		return NULL;
	if (at == end)
		return over;
	if (at == name || !(skx_parse_is_letter(*name) ||
						(name[-1] == '<' && (*name == ':' || *name == '_'))))
		return none;
	if (skx_highlight_tag_changes_parser(name, at - name))
		return NULL;
	if (*at == '/' && at + 1 == end)
		return over;
	if (*at == '/')
		return at[1] == '>' ? at + 1 : none;
	return *at == '>' || skx_parse_is_blank(*at) ? at : none;
}

/*
 * Returns the end of a tag, by the rules of the default parser.  Returns `tag`
 * if this is no tag, `over` if the text ends before the tag does, and NULL if
 * the parser must decide.
 */
static const char *
skx_highlight_tag_end(const char *tag, const char *end, const char *over)
{
	const char *name = tag + 1;
	const char *at;

	if (name < end && (*name == '!' || *name == '?'))
		return NULL;
	if (name < end && *name == '/')
		name++;
	at = skx_highlight_name_end(name, end, tag, over);
	if (at == NULL || at == tag || at == over)
		return at;
	for (; at < end && *at != '>'; at++)
	{
		if (IS_HIGHBIT_SET(*at))
			return NULL;
		if (*at == '"' || *at == '\'')
		{
			const char *quoted = at + 1;

			at = memchr(quoted, *at, end - quoted);
			if (memchr(quoted, '\\', (at == NULL ? end : at) - quoted) != NULL)
				return NULL;
			if (at == NULL)
				return over;
		}
		else if (!skx_parse_is_blank(*at) &&
				 !skx_parse_is_one_of(SKX_PARSE_IN_TAG, *at))
			return tag;
	}
	return at < end ? at + 1 : over;
}

/*
 * Returns the first blank from `at` on that is outside of tags, or the end of
 * the text.  Returns NULL if the parser must read from here on.  `blank` is
 * the first blank, in a tag or not.
 */
static const char *
skx_highlight_chunk_end(const char *at, const char *blank, const char *end)
{
	if (memchr(at, '<', blank - at) == NULL)
		return blank;
	while (at < end && !skx_parse_is_blank(*at))
	{
		const char *after = at;

		if (*at == '<')
			after = end - at <= SKX_HIGHLIGHT_TAG ?
				skx_highlight_tag_end(at, end, at) :
				skx_highlight_tag_end(at, at + SKX_HIGHLIGHT_TAG, NULL);
		if (after == NULL)
			return NULL;
		at = Max(after, at + 1);
	}
	return at;
}

/*
 * Does the same as skx_highlight_is_word() for digits.  Less punctuation is
 * allowed around them, since more of it can be part of a number.
 */
static bool
skx_highlight_is_uint(const char **bytes, const char *end, int *len)
{
	const char *s = *bytes;
	const char *e = end;
	const char *p;

	if (*s == '(')
		s++;
	while (e > s && (e[-1] == ',' || e[-1] == ')' || e[-1] == ';'))
		e--;
	for (p = s; p < e; p++)
		if (*p < '0' || *p > '9')
			return false;
	if (s == e)
		return false;
	*bytes = s;
	*len = e - s;
	return true;
}

/* Reads a text chunk by chunk; for the default parser only. */
static void
skx_highlight_read_chunks(SkxHighlightText *t)
{
	const char *at = t->bytes;
	const char *end = t->bytes + t->len;

	while (t->max_words == 0 || t->nwords < t->max_words)
	{
		const char *chunk;
		const char *word;
		int			kind = SKX_PARSE_ASCIIWORD;
		int			len;

		CHECK_FOR_INTERRUPTS();
		while (at < end && skx_parse_is_blank(*at))
			at++;
		if (at == end)
			return;
		/* the parser skips these after a blank: no path begins with them */
		while (at > t->bytes && at < end && (*at == '.' || *at == '~'))
			at++;
		chunk = word = at;
		while (at < end && skx_parse_is_letter(*at))
			at++;
		len = at - chunk;
		while (at < end && !skx_parse_is_blank(*at))
			at++;
		if (at == chunk)
			continue;
		if (len < at - chunk && !skx_highlight_is_word(&word, at, &len))
			kind = skx_highlight_is_uint(&word, at, &len) ?
				SKX_PARSE_UINT : SKX_HIGHLIGHT_CHUNK;
		if (kind == SKX_HIGHLIGHT_CHUNK)
		{
			at = skx_highlight_chunk_end(chunk, at, end);
			if (at == NULL)
			{
				skx_highlight_read_tokens(t, chunk - t->bytes);
				return;
			}
			if (at == end)
				kind = SKX_HIGHLIGHT_LAST_CHUNK;
			word = chunk;
			len = at - chunk;
		}
		else if (skx_highlight_token_is_unmatched(t->highlight, kind, word,
												  len))
		{
			skx_highlight_add_unmatched(t, word - t->bytes, len);
			continue;
		}
		skx_highlight_add_piece(t, skx_highlight_piece(t->highlight, kind,
													   word, len),
								word - t->bytes);
	}
}

void
skx_highlight_read_text(SkxHighlightText *t)
{
	if (t->highlight->plain)
		skx_highlight_read_chunks(t);
	else
		skx_highlight_read_tokens(t, 0);
}
