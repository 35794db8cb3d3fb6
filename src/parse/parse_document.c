/*
 * parse_document.c
 *	  Makes the tsvector of a text, of a long one as much as fits.
 *
 * Words are counted as they come, each lexeme once, so that memory is for what
 * the tsvector can have, not for the text.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "index/document/document.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "nodes/value.h"
#include "parse/parse_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/guc.h"
#include "utils/memutils.h"

/*
 * Bytes that lexemes leave to positions: most of those before MAXENTRYPOS - 1,
 * the last one, where all words have the same.
 */
#define SKX_PARSE_POSITION_BYTES	(64 * 1024)

/* Positions that are kept beside the lexeme. */
#define SKX_PARSE_FEW_POSITIONS		4

/* Tokens after which memory of dictionaries is freed. */
#define SKX_PARSE_RESET_TOKENS		64

/* Bytes of lexemes that are allocated together. */
#define SKX_PARSE_LEXEME_BLOCK		(8 * 1024)

/* A lexeme of the text. */
typedef struct SkxParseWord
{
	SkxLexeme	lexeme;			/* key of the hash table */
	union
	{
		WordEntryPos few[SKX_PARSE_FEW_POSITIONS];
		WordEntryPos *many;
	}			positions;
	uint32		hash;
	uint32		number;			/* in the order of the text */
	uint16		npositions;
	uint16		positions_size; /* capacity of `many`; 0: `few` is used */
	char		status;
} SkxParseWord;

/* With a seed, so that no text can be made whose words have one hash. */
static inline uint32
skx_parse_hash(const uint64 *seed, SkxLexeme lexeme)
{
	return (uint32) hash_bytes_extended((const unsigned char *) lexeme.bytes,
										lexeme.len, *seed);
}

static inline bool
skx_parse_equal(SkxLexeme a, SkxLexeme b)
{
	return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

#define SH_PREFIX			skx_parse_words
#define SH_ELEMENT_TYPE		SkxParseWord
#define SH_KEY_TYPE			SkxLexeme
#define SH_KEY				lexeme
#define SH_HASH_KEY(tb, key)	skx_parse_hash((tb)->private_data, key)
#define SH_EQUAL(tb, a, b)	skx_parse_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a)	(a)->hash
#define SH_SCOPE			static inline
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

/* A tsvector that is being made. */
typedef struct SkxParseDocument
{
	skx_parse_words_hash *words;
	uint64		seed;
	uint32		nwords;
	Size		lexeme_bytes;
	Size		nbytes;			/* of lexemes and positions */
	int			position;		/* of the last token, from 1 */
	bool		is_full;		/* a lexeme was left out; no new one is taken */
	bool		is_cut;			/* the tsvector is not that of the whole text */
	char	   *room;			/* for lexemes */
	Size		room_bytes;
} SkxParseDocument;

/* ---- words, as they come ---- */

static WordEntryPos *
skx_parse_positions(SkxParseWord *word)
{
	return word->positions_size > 0 ? word->positions.many :
		word->positions.few;
}

static void
skx_parse_grow_positions(SkxParseWord *word)
{
	if (word->positions_size == 0)
	{
		WordEntryPos *many = palloc(sizeof(WordEntryPos) * 16);

		memcpy(many, word->positions.few, sizeof(word->positions.few));
		word->positions.many = many;
		word->positions_size = 16;
		return;
	}
	word->positions_size *= 4;
	word->positions.many = repalloc(word->positions.many,
									sizeof(WordEntryPos) *
									word->positions_size);
}

/* Adds the position of an occurrence, unless a tsvector leaves it out. */
static void
skx_parse_add_position(SkxParseDocument *d, SkxParseWord *word)
{
	WordEntryPos position = LIMITPOS(d->position);
	int			n = word->npositions;

	if (n > 0)
	{
		WordEntryPos last = skx_parse_positions(word)[n - 1];

		if (n >= MAXNUMPOS - 1 || last == MAXENTRYPOS - 1 || last == position)
			return;
		if (n == (word->positions_size > 0 ? word->positions_size :
				  SKX_PARSE_FEW_POSITIONS))
			skx_parse_grow_positions(word);
	}
	skx_parse_positions(word)[n] = position;
	word->npositions++;
	d->nbytes += sizeof(WordEntryPos);
}

static const char *
skx_parse_copy_bytes(SkxParseDocument *d, const char *bytes, int len)
{
	char	   *copy;

	if (d->room == NULL || d->room_bytes < len)
	{
		d->room = palloc(SKX_PARSE_LEXEME_BLOCK);
		d->room_bytes = SKX_PARSE_LEXEME_BLOCK;
	}
	copy = d->room;
	memcpy(copy, bytes, len);
	d->room += len;
	d->room_bytes -= len;
	return copy;
}

/*
 * Returns true if there is no room for a lexeme more.  That is never so if the
 * whole document fits.
 */
static bool
skx_parse_has_no_room(const SkxParseDocument *d, int len)
{
	Size		position_bytes = d->nbytes - d->lexeme_bytes;

	return d->lexeme_bytes + len +
		Min(position_bytes, SKX_PARSE_POSITION_BYTES) > SKX_PARSE_BYTES_MAX;
}

/* Adds an occurrence of a lexeme.  One that no tsvector can have is left out. */
static void
skx_parse_add_lexeme(SkxParseDocument *d, const char *bytes)
{
	SkxLexeme	lexeme = {bytes, strlen(bytes)};
	SkxParseWord *word;
	bool		found = true;

	if (lexeme.len > MAXSTRLEN)
		return;
	if (d->is_full)
		word = skx_parse_words_lookup(d->words, lexeme);
	else
		word = skx_parse_words_insert(d->words, lexeme, &found);
	if (!found && skx_parse_has_no_room(d, lexeme.len))
	{
		skx_parse_words_delete_item(d->words, word);
		d->is_full = d->is_cut = true;
		return;
	}
	if (word == NULL)
		return;
	if (!found)
	{
		word->lexeme.bytes = skx_parse_copy_bytes(d, bytes, lexeme.len);
		word->number = d->nwords++;
		word->npositions = word->positions_size = 0;
		d->lexeme_bytes += lexeme.len;
		d->nbytes += SHORTALIGN(lexeme.len) + sizeof(uint16);
	}
	skx_parse_add_position(d, word);
}

/* Adds the lexemes of one token, or of several that a dictionary unites. */
static void
skx_parse_add_lexemes(SkxParseDocument *d, const TSLexeme *lexemes)
{
	d->position++;
	for (; lexemes->lexeme != NULL; lexemes++)
	{
		if (lexemes->flags & TSL_ADDPOS)
			d->position++;
		skx_parse_add_lexeme(d, lexemes->lexeme);
	}
}

static void
skx_parse_free_lexemes(TSLexeme *lexemes)
{
	int			i;

	for (i = 0; lexemes[i].lexeme != NULL; i++)
		pfree(lexemes[i].lexeme);
	pfree(lexemes);
}

/* Adds the words that the lexizer finds by now. */
static void
skx_parse_take_lexemes(SkxParseDocument *d, SkxParseLexizer *l,
					   MemoryContext scratch)
{
	for (;;)
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);
		TSLexeme   *lexemes = skx_parse_lexizer_next(l);

		MemoryContextSwitchTo(old);
		if (lexemes == NULL)
			return;
		skx_parse_add_lexemes(d, lexemes);
		if (!skx_parse_lexizer_is_idle(l))
			skx_parse_free_lexemes(lexemes);
	}
}

/* Returns true if nothing of the rest of the text can be added. */
static bool
skx_parse_is_done(const SkxParseDocument *d)
{
	return d->is_full && d->position >= MAXENTRYPOS - 1;
}

/*
 * Returns true if to_tsvector() takes tokens of MAXSTRLEN bytes.  Minor
 * releases differ in it, so it is tried out, without the notice.
 */
static bool
skx_parse_takes_longest(void)
{
	char		word[MAXSTRLEN];
	ParsedText	text = {.lenwords = 4};
	int			level = NewGUCNestLevel();

	(void) set_config_option("client_min_messages", "error", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	memset(word, 'x', sizeof(word));
	text.words = palloc(sizeof(ParsedWord) * text.lenwords);
	parsetext(get_ts_config_oid(list_make2(makeString("pg_catalog"),
										   makeString("simple")), false),
			  &text, word, sizeof(word));
	AtEOXact_GUC(false, level);
	return text.curwords > 0;
}

/* Returns true if a token is left out for its length. */
static inline bool
skx_parse_is_too_long(int len)
{
	static int	longest = 0;

	if (likely(len < MAXSTRLEN))
		return false;
	if (longest == 0)
		longest = skx_parse_takes_longest() ? MAXSTRLEN : MAXSTRLEN - 1;
	return len > longest;
}

/* Adds the words of the text. */
static void
skx_parse_read_words(SkxParseDocument *d, TSConfigCacheEntry *config,
					 const char *text, int text_len)
{
	TSParserCacheEntry *parser = lookup_ts_parser_cache(config->prsId);
	bool		in_pieces = skx_parse_is_default(parser) &&
		(config->lenmap <= SKX_PARSE_BLANK ||
		 config->map[SKX_PARSE_BLANK].len == 0);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx lexemes",
												  ALLOCSET_DEFAULT_SIZES);
	SkxParseLexizer lexizer;
	SkxParseTokens tokens;
	const char *bytes = NULL;
	int			len = 0;
	int			n = 0;
	int			type;

	skx_parse_lexizer_init(&lexizer, config, CurrentMemoryContext);
	skx_parse_begin(&tokens, parser, text, text_len, in_pieces);
	do
	{
		type = skx_parse_next(&tokens, &bytes, &len);
		if (type > 0 && skx_parse_is_too_long(len))
			continue;
		skx_parse_lexizer_add(&lexizer, type, bytes, len);
		skx_parse_take_lexemes(d, &lexizer, scratch);
		if (n++ % SKX_PARSE_RESET_TOKENS == 0 &&
			skx_parse_lexizer_is_idle(&lexizer))
			MemoryContextReset(scratch);
	} while (type > 0 && !skx_parse_is_done(d));
	d->is_cut |= tokens.is_cut;
	skx_parse_end(&tokens);
	MemoryContextDelete(scratch);
}

/* ---- what fits ---- */

/* The positions that fit: those before `position`, and some at it. */
typedef struct SkxParseLimit
{
	WordEntryPos position;		/* 0: all fit */
	uint32		number;			/* those of words before this one */
} SkxParseLimit;

/*
 * Bytes that a position of a word takes at most; the first one with the count,
 * which begins at an even offset.
 */
static int
skx_parse_position_bytes(const SkxParseWord *word, int i)
{
	return sizeof(WordEntryPos) + (i == 0 ? sizeof(uint16) + 1 : 0);
}

/*
 * Returns which positions fit beside the lexemes of n words, which are in the
 * order of the text.  The first ones of the text do.
 */
static SkxParseLimit
skx_parse_find_limit(const SkxParseDocument *d, SkxParseWord **words)
{
	uint32	   *bytes = palloc0(sizeof(uint32) * (MAXENTRYPOS + 1));
	Size		room = SKX_PARSE_BYTES_MAX - d->lexeme_bytes;
	SkxParseLimit limit = {0, 0};
	uint32		i;
	int			k;

	for (i = 0; i < d->nwords; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (k = 0; k < words[i]->npositions; k++)
			bytes[skx_parse_positions(words[i])[k]] +=
				skx_parse_position_bytes(words[i], k);
	}
	for (k = 0; k < MAXENTRYPOS && bytes[k] <= room; k++)
		room -= bytes[k];
	pfree(bytes);
	if (k == MAXENTRYPOS)
		return limit;
	limit.position = k;
	for (i = 0; i < d->nwords; i++)
	{
		const SkxParseWord *word = words[i];
		int			last = word->npositions;

		CHECK_FOR_INTERRUPTS();
		while (last > 0 && skx_parse_positions(words[i])[last - 1] > k)
			last--;
		if (last == 0 || skx_parse_positions(words[i])[last - 1] != k)
			continue;
		if (skx_parse_position_bytes(word, last - 1) > room)
			break;
		room -= skx_parse_position_bytes(word, last - 1);
	}
	limit.number = i;
	return limit;
}

/* Returns how many positions of a word fit. */
static int
skx_parse_count_positions(SkxParseWord *word, SkxParseLimit limit)
{
	const WordEntryPos *positions = skx_parse_positions(word);
	int			n = word->npositions;

	if (limit.position == 0)
		return n;
	while (n > 0 && (positions[n - 1] > limit.position ||
					 (positions[n - 1] == limit.position &&
					  word->number >= limit.number)))
		n--;
	return n;
}

/* ---- the tsvector ---- */

static int
skx_parse_compare_words(const void *a, const void *b)
{
	const SkxParseWord *x = *(SkxParseWord *const *) a;
	const SkxParseWord *y = *(SkxParseWord *const *) b;

	CHECK_FOR_INTERRUPTS();
	return skx_column_compare_lexeme(&x->lexeme, &y->lexeme);
}

/* Returns the words in the order of the text. */
static SkxParseWord **
skx_parse_list_words(SkxParseDocument *d)
{
	SkxParseWord **words = palloc(sizeof(SkxParseWord *) * (d->nwords + 1));
	skx_parse_words_iterator all;
	SkxParseWord *word;

	skx_parse_words_start_iterate(d->words, &all);
	while ((word = skx_parse_words_iterate(d->words, &all)) != NULL)
		words[word->number] = word;
	return words;
}

/* Adds the mark, without a position, unless the text has its lexeme. */
static void
skx_parse_add_mark(SkxParseDocument *d)
{
	SkxLexeme	lexeme = {SKX_PARSE_CUT_MARK, strlen(SKX_PARSE_CUT_MARK)};
	bool		found;
	SkxParseWord *word = skx_parse_words_insert(d->words, lexeme, &found);

	if (found)
		return;
	word->number = d->nwords++;
	word->npositions = word->positions_size = 0;
	d->nbytes += SHORTALIGN(lexeme.len);
}

/* Returns the tsvector, in the context. */
static TSVector
skx_parse_make_vector(SkxParseDocument *d, MemoryContext context)
{
	SkxParseLimit limit = {0, 0};
	SkxParseWord **words;
	TSVector	vector;
	Size		used = 0;
	uint32		i;

	d->is_cut |= d->nbytes > SKX_PARSE_BYTES_MAX;
	if (d->is_cut)
		skx_parse_add_mark(d);
	words = skx_parse_list_words(d);
	if (d->is_cut)
		limit = skx_parse_find_limit(d, words);
	qsort(words, d->nwords, sizeof(SkxParseWord *), skx_parse_compare_words);
	vector = MemoryContextAllocZero(context,
									CALCDATASIZE(d->nwords, d->nbytes));
	vector->size = d->nwords;
	for (i = 0; i < d->nwords; i++)
	{
		int			n = skx_parse_count_positions(words[i], limit);

		CHECK_FOR_INTERRUPTS();
		used = skx_document_put_entry(vector, i, used, &words[i]->lexeme,
									  skx_parse_positions(words[i]), n);
	}
	SET_VARSIZE(vector, CALCDATASIZE(d->nwords, used));
	return vector;
}

TSVector
skx_parse_document(Oid config, const char *bytes, int len, bool is_cut)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "skipidx document",
												  ALLOCSET_DEFAULT_SIZES);
	SkxParseDocument d = {.is_cut = is_cut};
	TSVector	vector;

	MemoryContextSwitchTo(context);
	d.seed = pg_prng_uint64(&pg_global_prng_state);
	d.words = skx_parse_words_create(context, Max(32, Min(len / 16, 4096)),
									 &d.seed);
	skx_parse_read_words(&d, lookup_ts_config_cache(config), bytes, len);
	vector = skx_parse_make_vector(&d, caller);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return vector;
}
