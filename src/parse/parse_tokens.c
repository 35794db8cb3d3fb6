/*
 * parse_tokens.c
 *	  Reads the tokens of a text, of a long one in pieces.
 *
 * The server's default parser keeps four bytes for each one of its text, and
 * cannot be cancelled while it begins.  So a long text is given to it in
 * pieces.  A piece ends where the parser finds the same tokens before and
 * after, whatever follows, and the parser itself is asked for what is not
 * known from its rules:
 *
 * - After a blank or a double quote nothing goes on that began before, except
 *   in a tag, a comment or a quoted value in a tag: all that begins with '<'.
 *   The next piece begins with that character again, after which the parser
 *   is in the same state as here.
 * - Behind the piece stand characters that end all of these.  If the parser
 *   returns a tag that ends among them, the next piece begins with the tag.  A
 *   tag as long as a piece is read here, without the parser.
 * - Behind these stands a word.  If the parser does not return it, the piece
 *   ends within <script> or <style>, which it ignores.  Then the next piece
 *   begins there, behind a <script> of our own.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "utils/fmgroids.h"

/*
 * Most bytes of a piece, and of one that has no place to end that early.  The
 * parser takes some 50 ns for each byte of a token, in which it cannot be
 * cancelled.
 */
#define SKX_PARSE_PIECE_BYTES		(64 * 1024)
#define SKX_PARSE_PIECE_BYTES_MAX	(128 * 1024)

/* Stands before a piece that begins within <script> or <style>. */
#define SKX_PARSE_IGNORING		"<script>"

/*
 * A word that is put behind a piece.  If the parser does not return it, it
 * ignores what stands there.
 */
#define SKX_PARSE_PROBE		" x "

/*
 * The same word behind the ends of what a piece may have left open: a comment,
 * a tag, and a value in either kind of quotes.
 */
#define SKX_PARSE_ENDINGS	"-->'>\">" SKX_PARSE_PROBE

/* Bytes that are read here between two tests for a cancel. */
#define SKX_PARSE_CHECK_BYTES		(64 * 1024)

bool
skx_parse_is_default(const TSParserCacheEntry *parser)
{
	return parser->startOid == F_PRSD_START &&
		parser->tokenOid == F_PRSD_NEXTTOKEN;
}

static void
skx_parse_start(SkxParseTokens *t, const char *bytes, int len)
{
	t->state = FunctionCall2(&t->parser->prsstart, PointerGetDatum(bytes),
							 Int32GetDatum(len));
}

static void
skx_parse_stop(SkxParseTokens *t)
{
	FunctionCall1(&t->parser->prsend, t->state);
}

/* Sets t->token and returns its type, at the end 0 or less. */
static int
skx_parse_read(SkxParseTokens *t)
{
	CHECK_FOR_INTERRUPTS();
	return DatumGetInt32(FunctionCall3(&t->parser->prstoken, t->state,
									   PointerGetDatum(&t->token),
									   PointerGetDatum(&t->token_len)));
}

/* ---- pieces ---- */

/*
 * Returns where a piece ends: behind a character that ends all tokens but
 * tags, or at the end of the text.  If there is no such place, it is behind
 * any character.
 */
static int
skx_parse_find_end(SkxParseTokens *t)
{
	int			most = t->len - t->start;
	int			i;

	if (most <= SKX_PARSE_PIECE_BYTES)
		return t->len;
	for (i = t->start + SKX_PARSE_PIECE_BYTES - 1; i > t->start; i--)
		if (skx_parse_is_blank(t->text[i]) || t->text[i] == '"')
			return i + 1;
	most = Min(most, SKX_PARSE_PIECE_BYTES_MAX);
	for (i = t->start + SKX_PARSE_PIECE_BYTES; i < t->start + most; i++)
		if (skx_parse_is_blank(t->text[i]) || t->text[i] == '"')
			return i + 1;
	if (i == t->len)
		return t->len;
	return t->start + pg_mbcliplen(t->text + t->start, t->len - t->start, most);
}

/* Has the parser begin the piece, with `behind` after it. */
static void
skx_parse_start_piece(SkxParseTokens *t, int end, const char *behind)
{
	int			before = t->is_ignored ? strlen(SKX_PARSE_IGNORING) : 0;
	int			n = end - t->start;
	int			after = strlen(behind);
	Size		size = (Size) before + n + after;

	if (size > t->buffer_size)
	{
		if (t->buffer != NULL)
			pfree(t->buffer);
		t->buffer = palloc(size);
		t->buffer_size = size;
	}
	memcpy(t->buffer, SKX_PARSE_IGNORING, before);
	memcpy(t->buffer + before, t->text + t->start, n);
	memcpy(t->buffer + before + n, behind, after);
	if (t->has_no_tag && n > 0)
		t->buffer[before] = ' ';
	t->base = t->buffer + before;
	skx_parse_start(t, t->buffer, (int) size);
}

static void
skx_parse_begin_piece(SkxParseTokens *t, int start)
{
	t->start = start;
	t->end = skx_parse_find_end(t);
	t->is_probe_seen = false;
	skx_parse_start_piece(t, t->end,
						  t->end < t->len ? SKX_PARSE_ENDINGS : "");
}

/*
 * Goes on behind the piece, which no tag crosses.  If the piece ends behind
 * any character, another token may be cut there.
 */
static void
skx_parse_next_piece(SkxParseTokens *t)
{
	bool		forced = !skx_parse_is_blank(t->text[t->end - 1]) &&
		t->text[t->end - 1] != '"';

	skx_parse_stop(t);
	t->is_cut |= forced;
	t->is_ignored = !t->is_probe_seen;
	t->has_no_tag = false;
	skx_parse_begin_piece(t, forced ? t->end : t->end - 1);
}

/* ---- tags that cross the end of a piece ---- */

/* Returns where a comment ends that begins with the piece, or -1. */
static int
skx_parse_comment_end(SkxParseTokens *t)
{
	int			from = t->start + strlen("<!--");
	int			i;

	if (t->start >= t->no_comment_end)
		return -1;
	for (i = from + 2; i < t->len; i++)
	{
		if (i % SKX_PARSE_CHECK_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
		if (t->text[i] == '>' && t->text[i - 1] == '-' &&
			t->text[i - 2] == '-')
			return i + 1;
	}
	t->no_comment_end = t->start;
	return -1;
}

static int
skx_parse_char_len(const SkxParseTokens *t, int at)
{
	return Min(pg_encoding_mblen(GetDatabaseEncoding(), t->text + at),
			   t->len - at);
}

/*
 * Returns true if the character at `at`, outside of quotes, can be in a tag.
 * One that is not ASCII can if it is a blank, which the parser is asked.
 */
static bool
skx_parse_is_in_tag(SkxParseTokens *t, int at)
{
	const char *bytes = t->text + at;
	int			len = skx_parse_char_len(t, at);
	char		tag[sizeof("<a >") + MAX_MULTIBYTE_CHAR_LEN];
	bool		is_tag;

	if (!IS_HIGHBIT_SET(*bytes))
		return skx_parse_is_blank(*bytes) ||
			skx_parse_is_one_of(SKX_PARSE_IN_TAG, *bytes);
	memcpy(tag, "<a ", 3);
	memcpy(tag + 3, bytes, len);
	tag[3 + len] = '>';
	skx_parse_start(t, tag, 4 + len);
	is_tag = skx_parse_read(t) == SKX_PARSE_TAG && t->token_len == 4 + len;
	skx_parse_stop(t);
	return is_tag;
}

/*
 * Returns where a tag ends that begins with the piece, or -1 if it is none.
 * The parser has found nothing before the piece's end that cannot be in a tag.
 * It has two ways of its own with a backslash in quotes: one behind a quoted
 * character is as any other, and if the text ends with a quoted character the
 * rest has no tokens, from the tag on.
 */
static int
skx_parse_tag_end(SkxParseTokens *t)
{
	char		quote = '\0';
	bool		is_behind = false;	/* the one before was quoted */
	int			i;

	if (t->len - t->start >= 4 &&
		memcmp(t->text + t->start, "<!--", 4) == 0)
		return skx_parse_comment_end(t);
	for (i = t->start + 2; i < t->len; i++)
	{
		char		c = t->text[i];

		if (i % SKX_PARSE_CHECK_BYTES == 0)
			CHECK_FOR_INTERRUPTS();
		if (quote != '\0')
		{
			is_behind = c == '\\' && !is_behind && i + 1 < t->len;
			if (is_behind)
				i += skx_parse_char_len(t, i + 1);
			else if (c == quote)
				quote = '\0';
		}
		else if (c == '>')
			return i + 1;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (i >= t->end)
		{
			if (!skx_parse_is_in_tag(t, i))
				return -1;
			i += skx_parse_char_len(t, i) - 1;
		}
	}
	if (is_behind)
		t->len = t->start;
	return -1;
}

/* Returns true if the text has this at `start`, and a blank behind. */
static bool
skx_parse_has_name(SkxParseTokens *t, const char *name)
{
	int			end = t->start + strlen(name);

	if (t->len <= end ||
		pg_strncasecmp(t->text + t->start, name, strlen(name)) != 0)
		return false;
	return skx_parse_is_blank(t->text[end]) ||
		(IS_HIGHBIT_SET(t->text[end]) && skx_parse_is_in_tag(t, end));
}

/*
 * Notes what the name of a tag that begins with the piece changes.  It does so
 * in the parser even if the tag turns out to be none.
 */
static void
skx_parse_note_name(SkxParseTokens *t)
{
	if (skx_parse_has_name(t, "<script") || skx_parse_has_name(t, "<style"))
		t->is_ignored = true;
	else if (skx_parse_has_name(t, "</script") ||
			 skx_parse_has_name(t, "</style"))
		t->is_ignored = false;
}

/* Returns true if a tag before `end` may change what is ignored. */
static bool
skx_parse_may_change(const SkxParseTokens *t, int end)
{
	const char *at = t->text + t->start;
	const char *limit = t->text + end;

	while ((at = memchr(at, '<', limit - at)) != NULL)
	{
		at++;
		if (at < limit && *at == '/')
			at++;
		if (at < limit && (*at == 's' || *at == 'S'))
			return true;
	}
	return false;
}

/*
 * Returns true if the '<' at `at` in the piece is ignored, by the parser.  It
 * stands before the probe as well: what comes before depends on it.
 */
static bool
skx_parse_is_ignored_at(SkxParseTokens *t, int at)
{
	bool		is_seen = false;
	int			type;

	skx_parse_start_piece(t, at, "<" SKX_PARSE_PROBE);
	while ((type = skx_parse_read(t)) > 0)
		is_seen |= type == SKX_PARSE_ASCIIWORD &&
			t->token - t->base >= at - t->start;
	skx_parse_stop(t);
	return !is_seen;
}

/*
 * Goes on with a tag at `at` that crosses the end of the piece.  Returns true
 * if t->token and t->token_len are a tag, which was as long as the piece.
 */
static bool
skx_parse_cross(SkxParseTokens *t, int at)
{
	int			end;

	skx_parse_stop(t);
	if (at > t->start)
	{
		if (skx_parse_may_change(t, at))
			t->is_ignored = skx_parse_is_ignored_at(t, at);
		t->has_no_tag = false;
		skx_parse_begin_piece(t, at);
		return false;
	}
	end = skx_parse_tag_end(t);
	skx_parse_note_name(t);
	t->has_no_tag = end < 0;
	if (end < 0)
	{
		skx_parse_begin_piece(t, at);
		return false;
	}
	t->token = unconstify(char *, t->text + at);
	t->token_len = end - at;
	skx_parse_begin_piece(t, end);
	return true;
}

/* Returns the next token as skx_parse_next() does, of a text in pieces. */
static int
skx_parse_next_in_pieces(SkxParseTokens *t)
{
	for (;;)
	{
		int			type = skx_parse_read(t);
		int			at;

		if (type <= 0)
		{
			if (t->end == t->len)
				return 0;
			skx_parse_next_piece(t);
			continue;
		}
		at = t->start + (int) (t->token - t->base);
		if (at < t->start)
			continue;
		if (at >= t->end)
		{
			t->is_probe_seen |= type == SKX_PARSE_ASCIIWORD;
			continue;
		}
		if (t->token_len <= t->end - at)
		{
			t->token = unconstify(char *, t->text + at);
			return type;
		}
		if (type == SKX_PARSE_TAG && skx_parse_cross(t, at))
			return type;
	}
}

/* ---- the reader ---- */

void
skx_parse_begin(SkxParseTokens *t, TSParserCacheEntry *parser,
				const char *bytes, int len, bool in_pieces)
{
	memset(t, 0, sizeof(*t));
	t->parser = parser;
	t->text = bytes;
	t->len = len;
	t->in_pieces = in_pieces && len > SKX_PARSE_PIECE_BYTES;
	t->no_comment_end = PG_INT32_MAX;
	if (t->in_pieces)
		skx_parse_begin_piece(t, 0);
	else
		skx_parse_start(t, bytes, len);
}

int
skx_parse_next(SkxParseTokens *t, const char **bytes, int *len)
{
	int			type = t->in_pieces ? skx_parse_next_in_pieces(t) :
		skx_parse_read(t);

	if (type <= 0)
		return 0;
	*bytes = t->token;
	*len = t->token_len;
	return type;
}

void
skx_parse_end(SkxParseTokens *t)
{
	skx_parse_stop(t);
	if (t->buffer != NULL)
		pfree(t->buffer);
}
