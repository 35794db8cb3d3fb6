/*
 * score_words.c
 *	  The words of the statistics of an index, with their df.
 *
 * A word is looked up when it is first needed, in all segments of the kept
 * views and in the documents that were pending then.  The table of words gets
 * all that a look-up found, or nothing if the look-up fails.
 */
#include "postgres.h"

#include "access/relation.h"
#include "common/hashfn.h"
#include "index/column/column_value.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "read/score/score_internal.h"
#include "utils/memutils.h"

/* The number of lexemes that are looked up in all segments together. */
#define SKX_SCORE_LOOKUP_LEXEMES	1024

/*
 * The number of words that are kept from one query of a snapshot to the next.
 */
#define SKX_SCORE_KEPT_WORDS_MAX		10000

/*
 * The entries in segments are kept for a query of at most this many words.
 * They take more memory than all else that is known of a word.
 */
#define SKX_SCORE_KEPT_FOUND_WORDS		1024

/*
 * Marks of pending documents are kept for a query of at most this many words.
 * A mark takes one byte.
 */
#define SKX_SCORE_PENDING_TF_WORDS	64

/* What is known of a prefix while its lexemes are looked up. */
typedef struct SkxScorePrefix
{
	int			len;
	uint64		sum_df;			/* sum of the df of all of its lexemes */
	uint64		exact_df;		/* df of the lexeme that is the prefix */
	char	   *lexeme;			/* one of its lexemes; NULL before the first
								 * one */
	int			lexeme_len;
	bool		has_several;	/* it has at least two lexemes */
	MemoryContext context;		/* for `lexeme`; a pending document is counted
								 * in a context that is reset after it */
} SkxScorePrefix;

/* The results of a look-up, before they are put into the table. */
typedef struct SkxScoreSearch
{
	int			nplain;			/* number of words that are no prefixes; these
								 * come first */
	int			n;
	SkxScoreWord *words;
	SkxScorePrefix *prefixes;	/* one for each word from nplain on */
	const SkxScoreLeaf *leaf;	/* the leaf whose documents are counted */
	SkxScoreAmong *among;		/* which of its documents count; NULL: all */
	const SkxSegment *segment;	/* with `among`: the one that is counted */
} SkxScoreSearch;

static uint32
skx_score_word_hash(const void *key, Size size)
{
	const SkxScoreWord *word = key;

	return hash_bytes((const unsigned char *) word->bytes, word->len) +
		word->prefix;
}

static int
skx_score_word_compare(const void *a, const void *b, Size size)
{
	const SkxScoreWord *x = a;
	const SkxScoreWord *y = b;

	return x->len != y->len || x->prefix != y->prefix ||
		memcmp(x->bytes, y->bytes, x->len) != 0;
}

void
skx_score_words_make(SkxStats *stats)
{
	MemoryContext lookups = AllocSetContextCreate(stats->context,
												  "skipidx words",
												  ALLOCSET_SMALL_SIZES);
	HASHCTL		ctl = {0};
	HTAB	   *words;

	ctl.keysize = offsetof(SkxScoreWord, sum);
	ctl.entrysize = sizeof(SkxScoreWord);
	ctl.hash = skx_score_word_hash;
	ctl.match = skx_score_word_compare;
	ctl.hcxt = lookups;
	words = hash_create("skipidx words", 64, &ctl,
						HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
						HASH_CONTEXT);
	if (stats->lookups != NULL)
		MemoryContextDelete(stats->lookups);
	stats->lookups = lookups;
	stats->pending_tf_bytes = 0;
	stats->words = words;
}

/* Adds a lexeme with its df to those of the prefix. */
static void
skx_score_add_lexeme(SkxScorePrefix *prefix, uint64 df, const char *lexeme,
					 int len)
{
	prefix->sum_df += df;
	if (len == prefix->len)
		prefix->exact_df += df;
	if (prefix->has_several)
		return;
	if (prefix->lexeme == NULL)
	{
		prefix->lexeme = MemoryContextAlloc(prefix->context, len + 1);
		memcpy(prefix->lexeme, lexeme, len);
		prefix->lexeme_len = len;
	}
	else
		prefix->has_several = skx_score_compare(prefix->lexeme,
												prefix->lexeme_len, lexeme,
												len) != 0;
}

/* A prefix whose lexemes are looked up in a segment. */
typedef struct SkxScorePrefixVisit
{
	SkxScoreSearch *search;
	SkxScorePrefix *prefix;
} SkxScorePrefixVisit;

/* Returns in how many of the documents that count a segment has the term. */
static uint32
skx_score_term_df(const SkxScoreSearch *search, const SkxTerm *term)
{
	return search->among == NULL ? term->df :
		skx_score_among_df(search->among, search->segment, term);
}

static bool
skx_score_add_term(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxScorePrefixVisit *visit = arg;
	uint32		df = skx_score_term_df(visit->search, term);

	CHECK_FOR_INTERRUPTS();
	if (df > 0)
		skx_score_add_lexeme(visit->prefix, df, lexeme, len);
	return true;
}

/*
 * Looks n words from `from` on up in all segments.  None of them is a prefix.
 */
static void
skx_score_find_lexemes(SkxStats *stats, SkxScoreSearch *search, int from,
					   int n, SkxSegment **segs, int nsegs)
{
	SkxLexeme  *lexemes = palloc(sizeof(SkxLexeme) * n);
	SkxTerm   **terms = palloc(sizeof(SkxTerm *) * nsegs);
	int			i;
	int			k;

	for (k = 0; k < n; k++)
	{
		lexemes[k].bytes = search->words[from + k].bytes;
		lexemes[k].len = search->words[from + k].len;
	}
	for (i = 0; i < nsegs; i++)
		terms[i] = palloc(sizeof(SkxTerm) * n);
	skx_segment_find_all_cached(segs, nsegs, lexemes, n, terms);
	for (k = 0; k < n; k++)
	{
		SkxScoreWord *word = &search->words[from + k];

		for (i = 0; i < nsegs; i++)
		{
			SkxTerm    *copy;

			word->sum += skx_score_term_df(search, &terms[i][k]);
			if (word->found == NULL || terms[i][k].df == 0)
				continue;
			copy = MemoryContextAlloc(stats->lookups, sizeof(SkxTerm));
			*copy = terms[i][k];
			word->found[i] = copy;
		}
	}
	for (i = 0; i < nsegs; i++)
		pfree(terms[i]);
	pfree(terms);
	pfree(lexemes);
}

/* Looks all words up in nsegs segments. */
static void
skx_score_find_in(SkxStats *stats, SkxScoreSearch *search, SkxSegment **segs,
				  int nsegs)
{
	int			i;
	int			k;

	for (k = 0; k < search->nplain; k += SKX_SCORE_LOOKUP_LEXEMES)
	{
		CHECK_FOR_INTERRUPTS();
		skx_score_find_lexemes(stats, search, k,
							   Min(SKX_SCORE_LOOKUP_LEXEMES,
								   search->nplain - k),
							   segs, nsegs);
	}
	for (k = search->nplain; k < search->n; k++)
	{
		SkxScorePrefixVisit visit = {search, &search->prefixes[k - search->nplain]};

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < nsegs; i++)
			skx_segment_visit_prefix(segs[i], search->words[k].bytes,
									 search->words[k].len, true, NULL,
									 skx_score_add_term, &visit);
	}
}

static void
skx_score_find_segments(SkxStats *stats, SkxScoreSearch *search,
						SkxSnapshotReader *source)
{
	int			nsegs = skx_snapshot_next_segments(source,
												   SKX_SNAPSHOT_ALL_SEGMENTS);
	int			i;

	if (search->among == NULL && nsegs > 0)
		skx_score_find_in(stats, search, source->segments, nsegs);
	for (i = 0; search->among != NULL && i < nsegs; i++)
	{
		SkxSegment *seg = source->segments[i];

		search->segment = seg;
		if (skx_score_among_enter(search->among, source->rel, source->view, i,
								  seg))
			skx_score_find_in(stats, search, &seg, 1);
		skx_score_among_leave(search->among);
	}
}

/* Returns true if entry i of the document begins with the word's bytes. */
static bool
skx_score_entry_begins_with(TSVector document, int i, const SkxScoreWord *word)
{
	const WordEntry *entry = ARRPTR(document) + i;

	return i < document->size && entry->len >= word->len &&
		memcmp(STRPTR(document) + entry->pos, word->bytes, word->len) == 0;
}

/* Sets the word's mark of pending document `at`. */
static void
skx_score_set_pending_tf(SkxScoreWord *word, uint64 at, int tf)
{
	if (word->pending_tfs != NULL)
		word->pending_tfs[at] = tf;
}

/*
 * Counts the document for the words that it has, which are no prefixes.  Looks
 * each word up in the document.
 */
static void
skx_score_count_words(SkxScoreWord *words, int n, TSVector document,
					  uint64 at)
{
	int			k;

	for (k = 0; k < n; k++)
	{
		SkxScoreWord *word = &words[k];
		int			i = skx_score_entry(word->bytes, word->len, document);

		CHECK_FOR_INTERRUPTS();
		if (!skx_score_entry_begins_with(document, i, word) ||
			ARRPTR(document)[i].len != word->len)
			continue;
		word->sum++;
		skx_score_set_pending_tf(word, at,
								 skx_pending_tf(document,
												&ARRPTR(document)[i]));
	}
}

/* Counts the document's lexemes for the prefixes. */
static void
skx_score_count_prefixes(SkxScoreSearch *search, TSVector document,
						 uint64 at)
{
	const WordEntry *entries = ARRPTR(document);
	int			k;

	for (k = search->nplain; k < search->n; k++)
	{
		SkxScoreWord *word = &search->words[k];
		int			i = skx_score_entry(word->bytes, word->len, document);

		CHECK_FOR_INTERRUPTS();
		if (skx_score_entry_begins_with(document, i, word))
			skx_score_set_pending_tf(word, at, SKX_PENDING_TF_MAX);
		for (; skx_score_entry_begins_with(document, i, word); i++)
			if (word->len > 0 ||
				!skx_column_is_value(STRPTR(document) + entries[i].pos,
									 entries[i].len))
				skx_score_add_lexeme(&search->prefixes[k - search->nplain], 1,
									 STRPTR(document) + entries[i].pos,
									 entries[i].len);
	}
}

/*
 * Does the same as skx_score_count_words(), but looks each lexeme of the
 * document up in the words, which ascend.  That takes less time if there are
 * more words than lexemes.
 */
static void
skx_score_count_lexemes(SkxScoreWord *words, int n, TSVector document,
						uint64 at)
{
	const WordEntry *entries = ARRPTR(document);
	int			i;

	for (i = 0; i < document->size; i++)
	{
		int			low = 0;
		int			high = n - 1;

		CHECK_FOR_INTERRUPTS();
		while (low <= high)
		{
			int			middle = (low + high) / 2;
			int			cmp = skx_score_compare(words[middle].bytes,
												words[middle].len,
												STRPTR(document) +
												entries[i].pos,
												entries[i].len);

			if (cmp == 0)
			{
				words[middle].sum++;
				skx_score_set_pending_tf(&words[middle], at,
										 skx_pending_tf(document,
														&entries[i]));
			}
			if (cmp <= 0)
				low = middle + 1;
			if (cmp >= 0)
				high = middle - 1;
		}
	}
}

/* Counts a pending document for the words that it has. */
static bool
skx_score_count_document(const SkxPendingDoc *doc, void *arg)
{
	SkxScoreSearch *search = arg;
	TSVector	document = doc->value;
	uint64		at = 0;

	if (search->among != NULL &&
		!skx_score_among_pending(search->among, document))
		return true;
	(void) skx_score_pending_tf_index(search->leaf, doc->stripe, doc->sequence,
									  &at);
	if (search->nplain > document->size)
		skx_score_count_lexemes(search->words, search->nplain, document, at);
	else
		skx_score_count_words(search->words, search->nplain, document, at);
	skx_score_count_prefixes(search, document, at);
	return true;
}

/*
 * A callback of skx_pending_words(): counts a remembered pending document for
 * word k.
 */
static void
skx_score_count_remembered(int k, int stripe, uint64 sequence, int tf,
						   void *arg)
{
	SkxScoreSearch *search = arg;
	uint64		at = 0;

	(void) skx_score_pending_tf_index(search->leaf, stripe, sequence, &at);
	search->words[k].sum++;
	skx_score_set_pending_tf(&search->words[k], at, tf);
}

/*
 * Counts the leaf's pending documents.  If there are no prefixes and all
 * documents count, those that the session remembers are counted first, without
 * being read.  Prefixes are looked up in each document.
 */
static void
skx_score_find_pending(SkxScoreSearch *search, const SkxScoreLeaf *leaf,
					   Relation rel, SkxSnapshotReader *source)
{
	int			nstripes = leaf->view->nstripes;
	uint64	   *through = NULL;
	SkxLexeme  *lexemes;
	int			k;

	if (search->nplain == search->n && search->among == NULL)
	{
		lexemes = palloc_extended(sizeof(SkxLexeme) * (Size) search->n,
								  MCXT_ALLOC_HUGE);
		through = palloc(sizeof(uint64) * nstripes);
		for (k = 0; k < search->n; k++)
		{
			lexemes[k].bytes = search->words[k].bytes;
			lexemes[k].len = search->words[k].len;
		}
		skx_pending_words(rel, leaf->view, leaf->pending_ends, lexemes,
						  search->n, skx_score_count_remembered, search,
						  through);
		skx_snapshot_skip_pending(source, through);
		pfree(lexemes);
	}
	skx_snapshot_visit_pending(source, leaf->pending_ends,
							   skx_score_count_document, search);
	skx_snapshot_skip_pending(source, NULL);
	if (through != NULL)
		pfree(through);
}

static void
skx_score_find_leaf(SkxStats *stats, SkxScoreSearch *search,
					const SkxScoreLeaf *leaf, Relation rel)
{
	SkxSnapshotReader *source = skx_snapshot_open(rel, leaf->view);

	search->leaf = leaf;
	skx_score_find_segments(stats, search, source);
	if (skx_score_leaf_pending(leaf))
		skx_score_find_pending(search, leaf, rel, source);
	skx_snapshot_close(source);
}

/* Allocates and initializes what is counted for the prefixes. */
static void
skx_score_begin_prefixes(SkxScoreSearch *search)
{
	int			n = search->n - search->nplain;
	int			k;

	search->prefixes = palloc_extended(sizeof(SkxScorePrefix) * ((Size) n + 1),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (k = 0; k < n; k++)
	{
		search->prefixes[k].len = search->words[search->nplain + k].len;
		search->prefixes[k].context = CurrentMemoryContext;
	}
}

/*
 * Moves what is known of a prefix to its word.  The name of its only lexeme is
 * kept as long as the word.
 */
static void
skx_score_settle_prefix(SkxScoreWord *word, SkxScorePrefix *prefix,
						MemoryContext context)
{
	word->sum = prefix->sum_df;
	word->whole = prefix->exact_df;
	if (prefix->lexeme == NULL)
		return;
	if (!prefix->has_several)
	{
		char	   *only = MemoryContextAlloc(context, prefix->lexeme_len + 1);

		memcpy(only, prefix->lexeme, prefix->lexeme_len);
		word->only = only;
		word->only_len = prefix->lexeme_len;
	}
	pfree(prefix->lexeme);
}

/*
 * Sets what is known of all words, once all leaves are counted.  These are
 * sums, and whether a prefix has several lexemes.  They are the same however
 * the rows are split into segments, pending lists and partitions.  No df of a
 * lexeme is left above ndocs.
 */
static void
skx_score_compute_dfs(SkxScoreSearch *search, uint64 ndocs,
					  MemoryContext context)
{
	int			k;

	for (k = 0; k < search->n; k++)
	{
		SkxScoreWord *word = &search->words[k];

		if (word->prefix)
			skx_score_settle_prefix(word,
									&search->prefixes[k - search->nplain],
									context);
		if (!word->prefix || word->only != NULL)
			word->sum = Min(word->sum, ndocs);
		word->whole = Min(word->whole, ndocs);
	}
	pfree(search->prefixes);
}

/* Names of lexemes go into `context`. */
static void
skx_score_find_words(SkxStats *stats, Relation index, SkxScoreSearch *search,
					 MemoryContext context)
{
	int			i;

	skx_score_begin_prefixes(search);
	for (i = 0; i < stats->nleaves; i++)
	{
		const SkxScoreLeaf *leaf = &stats->leaves[i];
		Relation	rel = index;

		if (!stats->is_plain)
			rel = skx_score_leaf_relation(leaf->oid, index, leaf);
		if (rel == NULL)
			continue;
		skx_score_find_leaf(stats, search, leaf, rel);
		if (!stats->is_plain)
			relation_close(rel, NoLock);
	}
	skx_score_compute_dfs(search, search->among == NULL ? stats->ndocs :
						  search->among->ndocs, context);
}

/*
 * Returns zeroed marks for one of n words of a query, a byte for each pending
 * document, in stats->lookups.  Returns NULL if the index is not plain, has no
 * pending documents, or has too many.
 */
static uint8 *
skx_score_pending_tfs_create(SkxStats *stats, int n)
{
	uint64		size = stats->is_plain ? stats->leaves[0].npending : 0;

	if (size == 0 || size > SKX_SCORE_TF_BYTES_MAX / n ||
		stats->pending_tf_bytes > SKX_SCORE_TF_BYTES_MAX)
		return NULL;
	stats->pending_tf_bytes += size;
	return MemoryContextAllocZero(stats->lookups, size);
}

/*
 * Makes words of the terms that the table does not have.  If `keep` is true,
 * they can be put into the table.  Returns false if the table has all terms.
 */
static bool
skx_score_add_missing_words(SkxStats *stats, const SkxScoreTerm *terms, int n,
							bool keep, SkxScoreSearch *search)
{
	int			nsegs = stats->is_plain ? stats->leaves[0].view->nsegments : 0;
	int			i;

	search->n = search->nplain = 0;
	search->words = palloc_extended(sizeof(SkxScoreWord) * ((Size) n + 1),
									MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
	{
		SkxScoreWord *word = &search->words[search->n];

		CHECK_FOR_INTERRUPTS();
		memset(word, 0, sizeof(*word));
		word->bytes = terms[i].lexeme;
		word->len = terms[i].len;
		word->prefix = terms[i].prefix;
		if (keep)
		{
			char	   *copy;

			if (hash_search(stats->words, word, HASH_FIND, NULL) != NULL)
				continue;
			copy = MemoryContextAlloc(stats->lookups, word->len + 1);
			memcpy(copy, word->bytes, word->len);
			word->bytes = copy;
		}
		if (keep && !word->prefix && nsegs > 0 &&
			n <= SKX_SCORE_KEPT_FOUND_WORDS)
			word->found = MemoryContextAllocZero(stats->lookups,
												 sizeof(SkxTerm *) * nsegs);
		if (keep && n <= SKX_SCORE_PENDING_TF_WORDS)
			word->pending_tfs = skx_score_pending_tfs_create(stats, n);
		search->n++;
		search->nplain += !word->prefix;
	}
	return search->n > 0;
}

/* Sets what is known of a term. */
static void
skx_score_tell(const SkxScoreWord *word, SkxScoreTerm *term)
{
	term->sum = word->sum;
	term->whole = word->whole;
	term->only = word->only;
	term->only_len = word->only_len;
}

/*
 * Looks up words that are not kept in the table, among all documents (NULL) or
 * among some.
 */
static void
skx_score_find_words_once(SkxStats *stats, Relation index, SkxScoreTerm *terms,
						  int n, SkxScoreAmong *among)
{
	SkxScoreSearch search = {.among = among};
	int			i;

	(void) skx_score_add_missing_words(stats, terms, n, false, &search);
	skx_score_find_words(stats, index, &search, CurrentMemoryContext);
	for (i = 0; i < n; i++)
		skx_score_tell(&search.words[i], &terms[i]);
	pfree(search.words);
}

void
skx_score_words_find_among(SkxStats *stats, Relation index,
						   SkxScoreTerm *terms, int n, SkxScoreAmong *among)
{
	skx_score_find_words_once(stats, index, terms, n, among);
}

void
skx_score_words_find(SkxStats *stats, Relation index, SkxScoreTerm *terms,
					 int n, const SkxScoreWord **words)
{
	SkxScoreSearch search = {0};
	int			i;

	if (n > SKX_SCORE_KEPT_WORDS_MAX)
	{
		skx_score_find_words_once(stats, index, terms, n, NULL);
		return;
	}
	if (stats->nusers == 0 &&
		(hash_get_num_entries(stats->words) > SKX_SCORE_KEPT_WORDS_MAX ||
		 stats->pending_tf_bytes > SKX_SCORE_TF_BYTES_MAX))
		skx_score_words_make(stats);
	if (skx_score_add_missing_words(stats, terms, n, true, &search))
	{
		skx_score_find_words(stats, index, &search, stats->lookups);
		for (i = 0; i < search.n; i++)
		{
			SkxScoreWord *word = hash_search(stats->words, &search.words[i],
											 HASH_ENTER, NULL);

			*word = search.words[i];
		}
	}
	pfree(search.words);
	for (i = 0; i < n; i++)
	{
		SkxScoreWord key = {terms[i].lexeme, terms[i].len, terms[i].prefix};

		words[i] = hash_search(stats->words, &key, HASH_FIND, NULL);
		skx_score_tell(words[i], &terms[i]);
	}
}
