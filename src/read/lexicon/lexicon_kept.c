/*
 * lexicon_kept.c
 *	  Keeps the terms that were found near words, for the session.
 *
 * A statement asks for the same words when it is planned and when it is
 * executed, and a search box for most of those that it has asked for before.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "read/lexicon/lexicon_internal.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/memutils.h"

/* Most words of an index that are kept, and most bytes of a word. */
#define SKX_KEPT_WORDS		64
#define SKX_KEPT_WORD_BYTES	(64 * 1024)

/* All that decides which terms are found in the same indexes. */
typedef struct SkxKeptRule
{
	int			len;			/* bytes of the word */
	int			edits;
	int			most;
	bool		folds;
	bool		keeps_first;
	bool		is_prefix;
} SkxKeptRule;

/* The terms that were found near a word, in one allocation. */
typedef struct SkxKeptWord
{
	dlist_node	node;
	Size		bytes;
	SkxKeptRule rule;
	const char *word;
	int64		nterms;			/* that were looked at */
	bool		ended_early;
	int			n;
	SkxLexiconFound found[FLEXIBLE_ARRAY_MEMBER];	/* then their bytes */
} SkxKeptWord;

typedef struct SkxKeptNear
{
	SkxSessionEntry entry;
	MemoryContext context;
	Size		nstate;
	char	   *state;			/* of the indexes, for which all is kept */
	int			nwords;
	dlist_head	words;			/* last used first */
} SkxKeptNear;

static void
skx_lexicon_free_near(SkxSessionEntry *entry)
{
	SkxKeptNear *near = (SkxKeptNear *) entry;

	MemoryContextDelete(near->context);
}

static SkxSessionKind skx_lexicon_kept = {
	.max_entries = 64,
	.max_bytes = 1024 * 1024,
	.free_entry = skx_lexicon_free_near
};

/* ---- what is kept of some indexes ---- */

/* What an index has changed if it has other terms. */
typedef struct SkxLexiconState
{
	uint64		incarnation;
	uint64		generation;
	SkxLocator	locator;
	int			nstripes;
} SkxLexiconState;

/* Returns the states of all indexes, with the last document of each stripe. */
static char *
skx_lexicon_state(SkxLexicon *lexicon, Size *size)
{
	StringInfoData all;
	int			i;

	skx_lexicon_read_views(lexicon);
	initStringInfo(&all);
	for (i = 0; i < lexicon->nsources; i++)
	{
		const SkxLexiconSource *source = &lexicon->sources[i];
		SkxLexiconState state;

		memset(&state, 0, sizeof(state));
		state.incarnation = source->view->meta.incarnation;
		state.generation = source->view->meta.generation;
		state.locator = SKX_REL_LOCATOR(source->index);
		state.nstripes = source->view->nstripes;
		appendBinaryStringInfo(&all, (const char *) &state, sizeof(state));
		appendBinaryStringInfo(&all, (const char *) source->last,
							   sizeof(uint64) * state.nstripes);
	}
	*size = all.len;
	return all.data;
}

/* The key of some indexes is that of the first one. */
static SkxSessionKey
skx_lexicon_key(const SkxLexicon *lexicon)
{
	const SkxLexiconSource *first = &lexicon->sources[0];

	return skx_sessioncache_key(first->index, first->view->meta.incarnation,
								0);
}

/* Returns what is kept of the indexes as they are; NULL if nothing is. */
static SkxKeptNear *
skx_lexicon_find_near(SkxLexicon *lexicon)
{
	Size		size;
	char	   *state = skx_lexicon_state(lexicon, &size);
	SkxSessionKey key = skx_lexicon_key(lexicon);
	SkxKeptNear *near = skx_sessioncache_find(&skx_lexicon_kept, &key);

	if (near != NULL && (near->nstate != size ||
						 memcmp(near->state, state, size) != 0))
	{
		skx_sessioncache_drop(&near->entry);
		near = NULL;
	}
	pfree(state);
	return near;
}

static SkxKeptNear *
skx_lexicon_make_near(SkxLexicon *lexicon)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx near words",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxKeptNear *near = palloc0(sizeof(SkxKeptNear));
	SkxSessionKey key = skx_lexicon_key(lexicon);

	near->context = context;
	near->state = skx_lexicon_state(lexicon, &near->nstate);
	dlist_init(&near->words);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, skx_sessioncache_context());
	skx_sessioncache_put(&skx_lexicon_kept, &key, &near->entry,
						 sizeof(SkxKeptNear) + near->nstate);
	return near;
}

/* ---- words ---- */

static SkxKeptRule
skx_lexicon_rule(const SkxNearWord *word, const SkxLexiconBest *best)
{
	SkxKeptRule rule;

	memset(&rule, 0, sizeof(rule));
	rule.len = word->lexeme.len;
	rule.edits = word->edits;
	rule.most = best->most;
	rule.folds = word->folds;
	rule.keeps_first = word->keeps_first;
	rule.is_prefix = word->is_prefix;
	return rule;
}

static SkxKeptWord *
skx_lexicon_find_word(SkxKeptNear *near, const SkxNearWord *word,
					  const SkxLexiconBest *best)
{
	SkxKeptRule rule = skx_lexicon_rule(word, best);
	dlist_iter	iter;

	dlist_foreach(iter, &near->words)
	{
		SkxKeptWord *kept = dlist_container(SkxKeptWord, node, iter.cur);

		if (memcmp(&kept->rule, &rule, sizeof(rule)) == 0 &&
			memcmp(kept->word, word->lexeme.bytes, rule.len) == 0)
		{
			dlist_move_head(&near->words, &kept->node);
			return kept;
		}
	}
	return NULL;
}

/* Returns the size of terms in one allocation, with their bytes behind them. */
static Size
skx_lexicon_found_size(const SkxLexiconFound *found, int n)
{
	Size		size = sizeof(SkxLexiconFound) * (Size) n;
	int			i;

	for (i = 0; i < n; i++)
		size += found[i].term.lexeme.len;
	return size;
}

/* Copies terms, with their bytes behind them, and returns the end of these. */
static char *
skx_lexicon_copy_found(SkxLexiconFound *copy, const SkxLexiconFound *found,
					   int n)
{
	char	   *bytes = (char *) &copy[n];
	int			i;

	for (i = 0; i < n; i++)
	{
		int			len = found[i].term.lexeme.len;

		copy[i] = found[i];
		copy[i].term.lexeme.bytes = bytes;
		memcpy(bytes, found[i].term.lexeme.bytes, len);
		bytes += len;
	}
	return bytes;
}

bool
skx_lexicon_find_kept(SkxLexicon *lexicon, const SkxNearWord *word,
					  int64 *nterms, SkxLexiconBest *best, bool *ended_early)
{
	SkxKeptNear *near = lexicon->nsources > 0 ?
		skx_lexicon_find_near(lexicon) : NULL;
	const SkxKeptWord *kept = near != NULL ?
		skx_lexicon_find_word(near, word, best) : NULL;

	if (kept == NULL || kept->nterms > *nterms)
		return false;
	best->found = MemoryContextAlloc(best->context,
									 skx_lexicon_found_size(kept->found,
															kept->n) + 1);
	(void) skx_lexicon_copy_found(best->found, kept->found, kept->n);
	best->n = best->size = kept->n;
	*nterms -= kept->nterms;
	*ended_early = kept->ended_early;
	return true;
}

/* Drops the word that was not used for longest. */
static void
skx_lexicon_drop_word(SkxKeptNear *near)
{
	SkxKeptWord *last = dlist_container(SkxKeptWord, node,
										dlist_tail_node(&near->words));

	dlist_delete(&last->node);
	near->nwords--;
	skx_sessioncache_resize(&near->entry, near->entry.bytes - last->bytes);
	pfree(last);
}

void
skx_lexicon_keep_found(SkxLexicon *lexicon, const SkxNearWord *word,
					   int64 nterms, const SkxLexiconBest *best,
					   bool ended_early)
{
	Size		size = offsetof(SkxKeptWord, found) +
		skx_lexicon_found_size(best->found, best->n) + word->lexeme.len;
	SkxKeptNear *near;
	SkxKeptWord *kept;
	char	   *bytes;

	if (lexicon->nsources == 0 || size > SKX_KEPT_WORD_BYTES)
		return;
	near = skx_lexicon_find_near(lexicon);
	if (near == NULL)
		near = skx_lexicon_make_near(lexicon);
	kept = skx_lexicon_find_word(near, word, best);
	if (kept != NULL)
		return;
	if (near->nwords == SKX_KEPT_WORDS)
		skx_lexicon_drop_word(near);
	while (!skx_sessioncache_make_room(&skx_lexicon_kept, &near->entry, size,
									   0) && near->nwords > 0)
		skx_lexicon_drop_word(near);
	kept = MemoryContextAlloc(near->context, size);
	kept->bytes = size;
	kept->rule = skx_lexicon_rule(word, best);
	kept->nterms = nterms;
	kept->ended_early = ended_early;
	kept->n = best->n;
	bytes = skx_lexicon_copy_found(kept->found, best->found, best->n);
	memcpy(bytes, word->lexeme.bytes, word->lexeme.len);
	kept->word = bytes;
	dlist_push_head(&near->words, &kept->node);
	near->nwords++;
	skx_sessioncache_resize(&near->entry, near->entry.bytes + size);
}
