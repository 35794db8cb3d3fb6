/*
 * bigram_headline.c
 *	  Shows each character of a run once in what ts_headline() returns.
 *
 * The server's default function chooses what is shown and marked.  It would
 * show both characters of each bigram.  So entries of neighbouring bigrams are
 * made anew: one for each stretch of characters that are marked, or are not.
 */
#include "postgres.h"

#include "bigram/bigram_internal.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "tsearch/ts_public.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(skipidx_bigram_headline);

/* Bytes from which on a stretch is continued in another entry, which has 16
 * bits for its length. */
#define SKX_BIGRAM_ENTRY_BYTES	32768

/* What is shown of neighbouring bigrams. */
typedef struct SkxBigramShown
{
	HeadlineWordEntry *entry;	/* the next one to be made */
	StringInfoData bytes;		/* for this one */
	bool		is_marked;
} SkxBigramShown;

static void
skx_bigram_show_entry(SkxBigramShown *s)
{
	s->entry->word = pnstrdup(s->bytes.data, s->bytes.len);
	s->entry->len = s->bytes.len;
	s->entry->in = 1;
	s->entry->repeated = 0;
	s->entry->selected = s->is_marked;
	s->entry++;
	resetStringInfo(&s->bytes);
}

static void
skx_bigram_show_char(SkxBigramShown *s, const char *bytes, int len,
					 bool is_marked)
{
	if (s->bytes.len > 0 && (is_marked != s->is_marked ||
							 s->bytes.len >= SKX_BIGRAM_ENTRY_BYTES))
		skx_bigram_show_entry(s);
	s->is_marked = is_marked;
	appendBinaryStringInfo(&s->bytes, bytes, len);
}

/*
 * Makes the entries of neighbouring bigrams anew, from `entry` to `end`, all of
 * which are shown or repeat one that is.  The last one may be the end of the
 * run.  There are no more stretches than entries: a marked one has two
 * characters, unless the end of the run is an entry, too.  So an entry has been
 * read when it is made anew.
 */
static void
skx_bigram_show_run(HeadlineWordEntry *entry, HeadlineWordEntry *end)
{
	SkxBigramShown shown = {.entry = entry};
	const char *second = NULL;	/* of the bigram before */
	int			second_len = 0;
	bool		is_marked = false;	/* `second`, by the bigrams so far */

	initStringInfo(&shown.bytes);
	for (; entry < end; entry++)
	{
		if (entry->repeated)
			continue;
		is_marked |= entry->selected;
		if (entry->type == SKX_BIGRAM_PAIR)
		{
			const char *word = entry->word;
			int			len = skx_bigram_char(word, word + entry->len);

			second = word + len;
			second_len = entry->len - len;
			skx_bigram_show_char(&shown, word, len, is_marked);
			is_marked = entry->selected;
		}
	}
	skx_bigram_show_char(&shown, second, second_len, is_marked);
	skx_bigram_show_entry(&shown);
	for (entry = shown.entry; entry < end; entry++)
		entry->repeated = 1;
	pfree(shown.bytes.data);
}

/*
 * Returns the entry behind the run that goes on at `entry`, as far as it is
 * shown.  Behind its bigrams comes its end, whose type is that of a blank.
 */
static HeadlineWordEntry *
skx_bigram_shown_end(HeadlineWordEntry *entry, const HeadlineWordEntry *end)
{
	while (entry < end && (entry->repeated ||
						   (entry->in && entry->type == SKX_BIGRAM_PAIR)))
		entry++;
	if (entry < end && entry->in && entry->type == SKX_PARSE_BLANK)
		entry++;
	return entry;
}

/* To the default function the end of a run is a blank, so it is no word. */
Datum
skipidx_bigram_headline(PG_FUNCTION_ARGS)
{
	HeadlineParsedText *text = (HeadlineParsedText *) PG_GETARG_POINTER(0);
	HeadlineWordEntry *entry;
	HeadlineWordEntry *end = text->words + text->curwords;

	for (entry = text->words; entry < end; entry++)
		if (entry->type == SKX_BIGRAM_RUN_END)
			entry->type = SKX_PARSE_BLANK;
	(void) DirectFunctionCall3(prsd_headline, PG_GETARG_DATUM(0),
							   PG_GETARG_DATUM(1), PG_GETARG_DATUM(2));
	for (entry = text->words; entry < end;)
	{
		HeadlineWordEntry *from = entry++;

		CHECK_FOR_INTERRUPTS();
		if (!from->in || from->type != SKX_BIGRAM_PAIR)
			continue;
		entry = skx_bigram_shown_end(from, end);
		skx_bigram_show_run(from, entry);
	}
	PG_RETURN_POINTER(text);
}
