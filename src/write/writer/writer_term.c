/*
 * writer_term.c
 *	  Writes one term after the other into dictionary, postings and positions.
 *
 * A short list is collected whole and then placed: in its dictionary entry, or
 * in the postings plane.  Its positions are with it if they are few.  A long
 * list is written in sub-blocks of 128 postings.  The skip list can take a
 * sub-block only when the position block with its first position has an
 * address, so the last complete sub-block may have to wait.
 */
#include "postgres.h"

#include "write/writer/writer.h"

static const int skx_segment_kths[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;

/*
 * A score, as the bits of a positive float, which order like the score.  Below
 * it are the tf code and the norm.
 */
typedef uint64 SkxBestScore;

/* Number of tf codes whose scores are computed once. */
#define SKX_SCORE_TABLE_TFS		4

typedef struct SkxSubblock
{
	SkxPostings postings;
	SkxImpactSet impacts;
	SkxPositionAddress address;
	bool		positions;		/* it has positions */
	bool		has_labels;		/* columns of label_tf are in use */
	uint8		norms[SKX_SUBBLOCK];	/* set if the writer has no norms */
} SkxSubblock;

struct SkxTermWriter
{
	SkxTermSinks sinks;
	SkxDictWriter *dict;
	SkxSkiplistWriter *lists;
	SkxPositionsWriter *positions;
	const uint8 *norms;
	float		norm_lengths[256];	/* k1 (1 - b + b length / average), by
									 * norm */
	SkxBestScore scores[SKX_SCORE_TABLE_TFS][256];	/* for small tf codes, by
													 * norm */
	SkxTermTotals totals;

	/* the term */
	char		lexeme[SKX_LEXEME_MAX];
	int			len;
	SkxDictEntry entry;			/* entry.positions is the address of the first
								 * position block */
	uint64		npostings;		/* so far */
	uint64		npositions;

	/* a short list */
	uint16	   *position_data;	/* positions of all its postings */
	uint32		nposition_data;
	uint8	   *bytes;			/* encoded */

	/* a long list */
	SkxSubblock *current;
	SkxSubblock *waiting_subblock;
	bool		has_waiting;
	SkxBestScore best_scores[2 * SKX_KTH_BEST_MAX]; /* scores that include the
													 * best */
	int			nbest;
	SkxBestScore best_min;		/* scores up to this are not among the best */
};

/* Returns the score of a posting with tf positions and this norm. */
static SkxBestScore
skx_writer_best_score(const SkxTermWriter *w, uint32 tf, uint8 norm)
{
	uint32		counted = Min(Max(tf, 1), 256);
	union
	{
		float		score;
		uint32		bits;
	}			value;

	/* bits of a positive float order like its value */
	value.score = counted / (counted + w->norm_lengths[norm]);
	return (uint64) value.bits << 16 | (counted - 1) << 8 | norm;
}

SkxTermWriter *
skx_writer_terms_begin(const SkxTermSinks *sinks,
					   const SkxSegmentBuildOptions *options,
					   const uint8 *norms, double average)
{
	SkxTermWriter *w = palloc0(sizeof(SkxTermWriter));
	double		k1 = options->k1;
	double		b = options->b;
	int			norm;
	int			code;

	w->sinks = *sinks;
	w->dict = skx_writer_dict_begin(sinks->sink, sinks->dict);
	w->lists = skx_skiplist_writer_create(options->block_size / BLCKSZ,
										  sinks->sink, sinks->postings);
	w->positions = skx_writer_positions_begin(sinks->sink, sinks->positions);
	w->norms = norms;
	for (norm = 0; norm < 256; norm++)
		w->norm_lengths[norm] = k1 * (1 - b + b * (average > 0 ?
												   skx_rank_norm_decode(norm) /
												   average : 1));
	skx_skiplist_writer_set_saturation(w->lists, w->norm_lengths);
	for (code = 0; code < SKX_SCORE_TABLE_TFS; code++)
	{
		for (norm = 0; norm < 256; norm++)
			w->scores[code][norm] = skx_writer_best_score(w, code + 1, norm);
	}
	w->position_data = palloc(SKX_SUBBLOCK * SKX_TF_MAX * sizeof(uint16));
	w->bytes = palloc(skx_codec_short_max_bytes(SKX_SUBBLOCK - 1) +
					  SKX_SHORT_POSITION_MAX * SKX_OWN_POSITIONS_BYTES);
	w->current = palloc0(sizeof(SkxSubblock));
	w->waiting_subblock = palloc0(sizeof(SkxSubblock));
	return w;
}

static void
skx_writer_subblock_reset(SkxSubblock *s)
{
	s->postings.n = 0;
	s->positions = false;
	s->address.offset = 0;
	skx_rank_impacts_reset(&s->impacts);
	if (s->has_labels)
		memset(s->postings.label_tf, 0, sizeof(s->postings.label_tf));
	s->has_labels = false;
}

void
skx_writer_term_begin(SkxTermWriter *w, const char *lexeme, int len,
					  uint32 df, uint64 npositions, uint8 flags)
{
	SkxDictEntry *entry = &w->entry;

	if (len < 0 || len > SKX_LEXEME_MAX)
		elog(ERROR, "a lexeme of %d bytes is too long", len);
	memcpy(w->lexeme, lexeme, len);
	w->len = len;
	w->npostings = 0;
	w->npositions = 0;
	entry->postings_page = skx_skiplist_writer_page(w->lists);
	entry->positions_page = skx_writer_positions_page(w->positions);
	entry->df = df;
	entry->npositions = npositions;
	entry->flags = flags;
	entry->positions.offset = 0;
	w->nposition_data = 0;
	w->nbest = 0;
	w->best_min = 0;
	w->has_waiting = false;
	skx_writer_subblock_reset(w->current);
	if (df >= SKX_SUBBLOCK)
	{
		skx_skiplist_writer_begin(w->lists,
								  skx_disk_lexeme_check(lexeme, len), df);
		if (npositions > 0)
			skx_writer_positions_next_address(w->positions, &entry->positions);
	}
}

/*
 * Returns the k-th largest of n scores; moves it and those above it to the
 * front.
 */
static SkxBestScore
skx_writer_best_select(SkxBestScore *best, int n, int k)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		SkxBestScore pivot = best[low + (high - low) / 2];
		int			i = low;
		int			j = high;

		while (i <= j)
		{
			while (best[i] > pivot)
				i++;
			while (best[j] < pivot)
				j--;
			if (i <= j)
			{
				SkxBestScore other = best[i];

				best[i++] = best[j];
				best[j--] = other;
			}
		}
		if (k - 1 <= j)
			high = j;
		else if (k - 1 >= i)
			low = i;
		else
			break;
	}
	return best[k - 1];
}

/*
 * Keeps a score that may be among the best.  When the array is full, it keeps
 * only the best SKX_KTH_BEST_MAX.  From then on, scores that are not above the
 * last of these are dropped.
 */
static inline void
skx_writer_best_add(SkxTermWriter *w, SkxBestScore best)
{
	if (best <= w->best_min)
		return;
	w->best_scores[w->nbest++] = best;
	if (w->nbest == lengthof(w->best_scores))
	{
		w->best_min = skx_writer_best_select(w->best_scores, w->nbest,
											 SKX_KTH_BEST_MAX);
		w->nbest = SKX_KTH_BEST_MAX;
	}
}

/*
 * Computes the scores of the current sub-block, all together: the norms may be
 * anywhere in memory, and the reads of several can overlap.
 */
static void
skx_writer_subblock_scores(SkxTermWriter *w)
{
	SkxSubblock *s = w->current;
	int			i;

	if (w->norms != NULL)
	{
		for (i = 0; i < s->postings.n; i++)
			s->norms[i] = w->norms[s->postings.docs[i]];
	}
	for (i = 0; i < s->postings.n; i++)
	{
		uint32		tf = s->postings.tf[i];
		uint8		norm = s->norms[i];

		skx_rank_impacts_add(&s->impacts, tf, norm);
		if (likely(tf - 1 < SKX_SCORE_TABLE_TFS))
			skx_writer_best_add(w, w->scores[tf - 1][norm]);
		else
			skx_writer_best_add(w, skx_writer_best_score(w, tf, norm));
	}
}

/*
 * Hands a sub-block to the skip list.  Its address is known, and so is that of
 * the list's first position block, from which it counts.
 */
static void
skx_writer_subblock_write(SkxTermWriter *w, SkxSubblock *s)
{
	const SkxPositionAddress *first = &w->entry.positions;

	Assert(!s->positions || (first->offset != 0 && s->address.offset != 0));
	s->address.page -= first->offset != 0 ? first->page : s->address.page;
	skx_skiplist_writer_add(w->lists, &s->postings,
							skx_rank_impacts_pack(&s->impacts,
												  w->norm_lengths),
							&s->address);
	skx_writer_subblock_reset(s);
}

/*
 * Ends the current sub-block: hands it to the skip list, or lets it wait for
 * its address.
 */
static void
skx_writer_subblock_end(SkxTermWriter *w)
{
	SkxSubblock *s = w->current;

	skx_writer_subblock_scores(w);
	if (w->has_waiting)
	{
		/*
		 * both sub-blocks begin in one position block, so that block is cut
		 * short
		 */
		if (w->waiting_subblock->address.offset == 0)
			skx_writer_positions_end_block(w->positions);
		skx_writer_subblock_write(w, w->waiting_subblock);
		w->has_waiting = false;
	}
	if (!s->positions)
	{
		/* the page means nothing, but should be near its neighbours' */
		s->address.page = skx_writer_positions_page(w->positions);
		s->address.index = 0;
	}
	if (!s->positions || s->address.offset != 0)
	{
		skx_writer_subblock_write(w, s);
		return;
	}
	w->current = w->waiting_subblock;
	w->waiting_subblock = s;
	w->has_waiting = true;
}

/* Fills in the labels of the posting that was added as number `at`. */
static void
skx_writer_posting_labels(SkxSubblock *s, int at, const SkxPosting *posting)
{
	uint8		set = 0;
	int			i;

	s->has_labels = true;
	for (i = 0; i < posting->tf; i++)
	{
		int			label = WEP_GETWEIGHT(posting->positions[i]);

		set |= 1 << label;
		if (label != SKX_LABEL_D)
			s->postings.label_tf[label - 1][at]++;
	}
	s->postings.labels[at] = set;
}

/*
 * Counts new postings, and raises an error if they are more than the sub-block
 * takes, or more than were announced.
 */
static inline void
skx_writer_term_check_counts(SkxTermWriter *w, int n, uint32 npositions)
{
	w->npostings += n;
	w->npositions += npositions;
	if (unlikely(w->current->postings.n + n > SKX_SUBBLOCK ||
				 npositions > n * SKX_TF_MAX ||
				 w->npostings > w->entry.df ||
				 w->npositions > w->entry.npositions))
		elog(ERROR, "a term has more postings or positions than were announced");
}

void
skx_writer_term_posting(SkxTermWriter *w, const SkxPosting *posting)
{
	SkxSubblock *s = w->current;
	int			at = s->postings.n;

	skx_writer_term_check_counts(w, 1, posting->tf);
	s->postings.n++;
	s->postings.docs[at] = posting->doc;
	s->postings.tf[at] = posting->tf;
	if (posting->has_labels)
		skx_writer_posting_labels(s, at, posting);
	else
		s->postings.labels[at] = posting->tf > 0 ? 1 << SKX_LABEL_D : 0;
	if (w->entry.df < SKX_SUBBLOCK)
	{
		memcpy(w->position_data + w->nposition_data, posting->positions,
			   posting->tf * sizeof(uint16));
		w->nposition_data += posting->tf;
		return;
	}
	if (posting->tf > 0)
	{
		if (!s->positions)
			skx_writer_positions_next_address(w->positions, &s->address);
		s->positions = true;
		skx_writer_positions_add(w->positions, posting->positions,
								 posting->tf);
	}
	if (w->norms == NULL)
		s->norms[at] = posting->norm;
	if (s->postings.n == SKX_SUBBLOCK)
		skx_writer_subblock_end(w);
}

/*
 * Fills in labels and their counts for a batch that is the current sub-block.
 */
static void
skx_writer_batch_labels(SkxSubblock *s, const SkxPostingBatch *batch)
{
	const uint16 *positions = batch->positions;
	int			i;
	int			k;

	for (i = 0; i < batch->n; i++)
	{
		uint8		set = 0;

		for (k = 0; k < batch->tf[i]; k++)
		{
			int			label = WEP_GETWEIGHT(positions[k]);

			set |= 1 << label;
			if (label != SKX_LABEL_D)
				s->postings.label_tf[label - 1][i]++;
		}
		s->postings.labels[i] = set;
		positions += batch->tf[i];
	}
	s->has_labels = true;
}

/* A term gets its postings either in batches or one by one. */
void
skx_writer_term_batch(SkxTermWriter *w, const SkxPostingBatch *batch)
{
	SkxSubblock *s = w->current;
	const uint16 *positions = batch->positions;
	int			i;

	skx_writer_term_check_counts(w, batch->n, batch->npositions);
	if (s->postings.n != 0)
		elog(ERROR, "a term has a sub-block after its last one");
	s->postings.n = batch->n;
	memcpy(s->postings.docs, batch->docs, batch->n * sizeof(uint32));
	memcpy(s->postings.tf, batch->tf, batch->n * sizeof(uint16));
	if (batch->has_labels)
		skx_writer_batch_labels(s, batch);
	else
	{
		for (i = 0; i < batch->n; i++)
			s->postings.labels[i] = batch->tf[i] > 0 ? 1 << SKX_LABEL_D : 0;
	}
	if (w->entry.df < SKX_SUBBLOCK)
	{
		memcpy(w->position_data, positions,
			   batch->npositions * sizeof(uint16));
		w->nposition_data = batch->npositions;
		return;
	}
	s->positions = batch->npositions > 0;
	if (s->positions)
		skx_writer_positions_next_address(w->positions, &s->address);
	for (i = 0; i < batch->n; i++)
	{
		skx_writer_positions_add(w->positions, positions, batch->tf[i]);
		positions += batch->tf[i];
	}
	if (s->postings.n == SKX_SUBBLOCK)
		skx_writer_subblock_end(w);
}

void
skx_writer_term_counts(SkxTermWriter *w, const uint32 *docs,
					   const uint16 *tfs, const uint8 *norms, int n)
{
	SkxSubblock *s = w->current;

	Assert(w->norms == NULL && w->entry.df >= SKX_SUBBLOCK);
	skx_writer_term_check_counts(w, n, 0);
	if (s->postings.n != 0)
		elog(ERROR, "a term has a sub-block after its last one");
	s->postings.n = n;
	memcpy(s->postings.docs, docs, n * sizeof(uint32));
	memcpy(s->postings.tf, tfs, n * sizeof(uint16));
	memcpy(s->norms, norms, n);
	memset(s->postings.labels, 1 << SKX_LABEL_D, n);
	if (n == SKX_SUBBLOCK)
		skx_writer_subblock_end(w);
}

/* Fills in the k-th best postings of the entry; the largest k comes last. */
static void
skx_writer_term_kth_best(SkxTermWriter *w)
{
	SkxDictEntry *entry = &w->entry;
	int			n = w->nbest;
	int			i;

	entry->nkths = 0;
	while (entry->nkths < lengthof(entry->kths) &&
		   skx_segment_kths[entry->nkths] <= n)
		entry->nkths++;
	for (i = entry->nkths - 1; i >= 0; i--)
	{
		entry->kths[i] = (uint16) skx_writer_best_select(w->best_scores, n,
														 skx_segment_kths[i]);
		n = skx_segment_kths[i];
	}
}

/* Ends a long list. */
static void
skx_writer_term_end_long(SkxTermWriter *w)
{
	w->entry.flags |= SKX_TERM_LONG;
	if (w->current->postings.n > 0)
		skx_writer_subblock_end(w);
	skx_writer_positions_end_block(w->positions);
	if (w->has_waiting)
		skx_writer_subblock_write(w, w->waiting_subblock);
	skx_skiplist_writer_end(w->lists, &w->entry.list);
	skx_writer_term_kth_best(w);
	if (w->entry.list.has_table)
		w->entry.flags |= SKX_TERM_TABLE_PAGES;
}

/* Puts the positions of a short list into the plane. */
static void
skx_writer_term_positions(SkxTermWriter *w)
{
	const SkxPostings *p = &w->current->postings;
	uint32		at = 0;
	int			i;

	skx_writer_positions_next_address(w->positions, &w->entry.positions);
	for (i = 0; i < p->n; i++)
	{
		skx_writer_positions_add(w->positions, w->position_data + at,
								 p->tf[i]);
		at += p->tf[i];
	}
	skx_writer_positions_end_block(w->positions);
}

/* Places a short list. */
static void
skx_writer_term_end_short(SkxTermWriter *w)
{
	const SkxPostings *p = &w->current->postings;
	SkxDictEntry *entry = &w->entry;
	const uint8 *postings = skx_codec_short_put(w->bytes, p);
	uint32		size;

	if (postings == NULL)
		elog(ERROR, "postings of a short list do not ascend");
	size = postings - w->bytes;
	/* each position takes a byte or more */
	if (size + w->nposition_data <= SKX_OWN_POSITIONS_BYTES)
	{
		uint8	   *end = skx_codec_short_positions_put(w->bytes + size, p,
														w->position_data);

		if (end - w->bytes <= SKX_OWN_POSITIONS_BYTES)
		{
			size = end - w->bytes;
			entry->flags |= SKX_TERM_OWN_POSITIONS;
		}
	}
	if (w->nposition_data == 0)
		entry->flags |= SKX_TERM_OWN_POSITIONS;
	entry->bytes = w->bytes;
	entry->nbytes = size;
	if ((entry->df <= SKX_INLINE_DF || w->npositions == 0) &&
		size <= SKX_INLINE_BYTES &&
		(entry->flags & SKX_TERM_OWN_POSITIONS) != 0)
		entry->flags |= SKX_TERM_INLINE;
	else
	{
		entry->flags |= SKX_TERM_SHORT;
		skx_skiplist_writer_short(w->lists, w->bytes, size,
								  &entry->list.page, &entry->list.offset);
	}
	if ((entry->flags & SKX_TERM_OWN_POSITIONS) == 0)
		skx_writer_term_positions(w);
}

void
skx_writer_term_end(SkxTermWriter *w)
{
	if (w->npostings != w->entry.df || w->npositions != w->entry.npositions)
		elog(ERROR, "a term has other postings or positions than were announced");
	if (w->entry.df < SKX_SUBBLOCK)
		skx_writer_term_end_short(w);
	else
		skx_writer_term_end_long(w);
	skx_writer_dict_add(w->dict, w->lexeme, w->len, &w->entry);
	w->totals.nterms++;
	w->totals.npostings += w->entry.df;
	w->totals.npositions += w->entry.npositions;
}

void
skx_writer_terms_leaves(SkxTermWriter *w, SkxTermTotals *totals,
						SkxDictLeaves *leaves)
{
	w->totals.postings_pages = skx_skiplist_writer_finish(w->lists);
	w->totals.positions_pages = skx_writer_positions_end(w->positions);
	skx_writer_dict_leaves(w->dict, leaves);
	w->totals.dict_leaves = leaves->n;
	*totals = w->totals;
}

uint32
skx_writer_terms_end(SkxTermWriter *w, SkxTermTotals *totals)
{
	SkxDictLeaves leaves;

	skx_writer_terms_leaves(w, totals, &leaves);
	return skx_writer_dict_levels(w->sinks.sink, w->sinks.dict, &leaves);
}
