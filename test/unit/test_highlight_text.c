/*
 * test_highlight_text.c
 *	  Reading a text by the default parser's rules: whatever its bytes, none
 *	  behind its end is read, and each letter and digit is in a piece that is
 *	  looked up, once and in order, or left to the parser with all the rest.
 *
 * Holds: highlight 4
 */
#include "unit.h"
#include "server.h"
#include "unit_error.h"

#include "highlight/highlight_internal.h"
#include "miscadmin.h"
#include "utils/memutils.h"

volatile sig_atomic_t InterruptPending;

void
ProcessInterrupts(void)
{
}

void *
palloc(Size size)
{
	return malloc(size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

/* for texts in pieces, which are none here */
int
pg_mbcliplen(const char *mbstr, int len, int limit)
{
	return limit;
}

int
pg_encoding_mblen(int encoding, const char *mbstr)
{
	return 1;
}

int
GetDatabaseEncoding(void)
{
	return 0;
}

void *
repalloc_huge(void *pointer, Size size)
{
	return realloc(pointer, size);
}

int
pg_strncasecmp(const char *s1, const char *s2, size_t n)
{
	return strncasecmp(s1, s2, n);
}

/* What is looked up, and where the parser begins. */
static const char *begun;
static size_t length;
static size_t looked_up;		/* up to here */
static size_t parsed;

static const SkxHighlightPiece piece = {.is_one_token = true};

static void
look_up(const char *bytes, int len)
{
	size_t		at = bytes - begun;
	size_t		i;

	CHECK(len > 0 && at >= looked_up && at + len <= length);
	for (i = looked_up; i < at; i++)
		CHECK(!isalnum((unsigned char) begun[i]) && !IS_HIGHBIT_SET(begun[i]));
	looked_up = at + len;
}

const SkxHighlightPiece *
skx_highlight_piece(SkxHighlight *h, int kind, const char *bytes, int len)
{
	look_up(bytes, len);
	return &piece;
}

void
skx_highlight_free_piece(const SkxHighlightPiece *dropped)
{
}

void
skx_highlight_window_add(SkxHighlightText *t, int match)
{
}

/* The parser: it finds nothing. */
Datum
FunctionCall1Coll(FmgrInfo *flinfo, Oid collation, Datum arg1)
{
	return (Datum) 0;
}

Datum
FunctionCall2Coll(FmgrInfo *flinfo, Oid collation, Datum arg1, Datum arg2)
{
	parsed = DatumGetPointer(arg1) - begun;
	CHECK(parsed + DatumGetInt32(arg2) == length);
	return (Datum) 0;
}

Datum
FunctionCall3Coll(FmgrInfo *flinfo, Oid collation, Datum arg1, Datum arg2,
				  Datum arg3)
{
	return Int32GetDatum(0);
}

/* Reads a text that ends where the next byte cannot be read. */
static void
check_text(const char *bytes, size_t len)
{
	static TSParserCacheEntry parser;
	static SkxHighlightQuery query;
	SkxHighlight h = {.parser = &parser, .query = &query, .plain = true};
	SkxHighlightText t = {.highlight = &h};
	size_t		i;

	begun = (const char *) unit_guarded((const uint8 *) bytes, len);
	length = len;
	looked_up = 0;
	parsed = len;
	t.bytes = begun;
	t.len = len;
	skx_highlight_read_text(&t);
	for (i = looked_up; i < parsed; i++)
		CHECK(!isalnum((unsigned char) begun[i]) && !IS_HIGHBIT_SET(begun[i]));
	free(t.words);
}

static void
check_random_text(void)
{
	static const char *const parts[] = {
		"a", "word", "Zz", "7", "1234", " ", "  ", "\n", "\t", "(", "((", "\"",
		"[", "'", ")", "]", ",", ".", "..", ";", ":", "!", "?", "~", "/", "\\",
		"-", "_", "=", "&", "%", "#", "<", "</", "<b", "<b>", "<a href=\"", ">",
		"/>", "<script", "<style>", "<!", "<!--", "-->", "<?", "\xc3\xa9",
		"\xc3", "\xe6\xbc\xa2", "\xff"
	};
	char		bytes[400];
	size_t		len = 0;
	int			n = unit_below(20);

	while (n-- > 0)
	{
		const char *part = parts[unit_below(lengthof(parts))];

		memcpy(bytes + len, part, strlen(part));
		len += strlen(part);
	}
	check_text(bytes, len);
}

/* A tag that ends near where the parser takes over. */
static void
check_long_tag(void)
{
	char		bytes[6000];
	size_t		len = 4060 + unit_below(60);
	size_t		cut = len - unit_below(8);

	memset(bytes, unit_below(2) ? 'x' : ' ', len);
	memcpy(bytes, "w <b ", 5);
	bytes[cut - 1] = "\"'>/ <"[unit_below(6)];
	check_text(bytes, len);
}

int
main(void)
{
	static const char *const ends[] = {
		"", "(", "x \"", "[[[[", "x ((", "'", "x .", "x ..", "x ~", "a.", "<",
		"x <b", "x </", "x <b/", "x <b x=\"", "x <script", "x \xc3", "(1",
		"x (1)", "\"a\"", "x a.."
	};
	int			i;

	unit_seed(14);
	for (i = 0; i < lengthof(ends); i++)
		check_text(ends[i], strlen(ends[i]));
	for (i = 0; i < UNIT_CASES(200000); i++)
		check_random_text();
	for (i = 0; i < 400; i++)
		check_long_tag();
	return unit_done("test_highlight_text");
}
