/*
 * writer_prefixes.c
 *	  The lists of the prefixes that many documents have.
 *
 * A ranked search for a prefix needs how often all its lexemes together occur
 * in a document.  To add that up for a common prefix, it would have to read
 * most of a segment's postings.  So the sums of such a prefix are made a list,
 * like that of a term.
 *
 * The lists are made last, from those of the lexemes, which are read from the
 * file.  So they do not depend on how the segment was made, or by how many
 * processes.  Sums are gathered in a range of documents at a time, as many as
 * fit in a part of the memory.
 *
 * The lists take a share of the segment at most.  So the prefixes that would
 * take searches longest get theirs first: those with most postings.  A list
 * has what the codec can write.  Where a sum is larger, the prefix gets none.
 */
#include "postgres.h"

#include "index/cursor/cursor_sum.h"
#include "index/segment/segment_maint.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "support/throttle/throttle.h"
#include "write/writer/writer.h"

/* Least number of documents of a segment with lists of prefixes. */
#define SKX_PREFIXES_DOCS_MIN	16384

/* A prefix has a list if this many documents have it, of all of a segment. */
#define SKX_PREFIXES_FRACTION	16

/* Largest share of the lists: percent of the pages of all other planes. */
#define SKX_PREFIXES_PERCENT	8

/* Least number of documents of a range, unless the segment has fewer. */
#define SKX_PREFIXES_RANGE_MIN	65536

/* Largest number of characters, and of bytes, of a prefix with a list. */
#define SKX_PREFIX_CHARS	2
#define SKX_PREFIX_BYTES	(SKX_PREFIX_CHARS * MAX_MULTIBYTE_CHAR_LEN)

/* A prefix, while the lexemes that have it follow one another. */
typedef struct SkxPrefixSum
{
	int			len;			/* bytes; 0: none */
	char		bytes[SKX_PREFIX_BYTES];
	uint32		nlexemes;
	uint64		npostings;		/* of all lexemes together */
	uint32		df;				/* documents; set when it is to get a list */
} SkxPrefixSum;

typedef struct SkxPrefixes
{
	SkxSegment *seg;
	const SkxSegmentOutput *out;
	SkxTermWriter *terms;
	uint32		least_df;
	uint32		ndocs;
	uint64		room;			/* bytes that lists may take yet */

	/* the prefixes that may get a list */
	SkxPrefixSum sums[SKX_PREFIX_CHARS];	/* of the current lexeme */
	SkxPrefixSum *found;
	uint32		nfound;
	uint32		found_size;

	/* the sums of one prefix in a range of documents */
	const SkxPrefixSum *prefix;
	uint32		from;
	uint32		to;
	uint32		range;			/* most documents of a range */
	uint16	   *tfs;

	/* the sub-block that is being filled */
	int			n;
	uint32		docs[SKX_SUBBLOCK];
	uint16		counts[SKX_SUBBLOCK];
} SkxPrefixes;

/*
 * Which prefixes
 */

/*
 * Returns the bytes of the first `chars` characters of a lexeme; 0: it has
 * fewer.
 */
static int
skx_prefixes_bytes(const char *lexeme, int len, int chars)
{
	int			at = 0;

	while (chars-- > 0)
	{
		if (at >= len)
			return 0;
		at += pg_mblen(lexeme + at);
	}
	return Min(at, len);
}

/* Notes a prefix whose lexemes have all been seen, if it may get a list. */
static void
skx_prefixes_end_sum(SkxPrefixes *p, SkxPrefixSum *sum)
{
	if (sum->len == 0 || sum->nlexemes < 2 || sum->npostings < p->least_df)
		return;
	if (p->nfound == p->found_size)
	{
		p->found_size *= 2;
		p->found = repalloc_huge(p->found,
								 p->found_size * sizeof(SkxPrefixSum));
	}
	p->found[p->nfound++] = *sum;
}

static bool
skx_prefixes_see_lexeme(const SkxTerm *term, const char *lexeme, int len,
						void *arg)
{
	SkxPrefixes *p = arg;
	int			i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < SKX_PREFIX_CHARS; i++)
	{
		SkxPrefixSum *sum = &p->sums[i];
		int			n = skx_prefixes_bytes(lexeme, len, i + 1);

		if (n != sum->len || memcmp(sum->bytes, lexeme, n) != 0)
		{
			skx_prefixes_end_sum(p, sum);
			memset(sum, 0, sizeof(*sum));
			sum->len = n;
			memcpy(sum->bytes, lexeme, n);
		}
		sum->nlexemes++;
		sum->npostings += term->df;
	}
	return true;
}

static int
skx_prefixes_compare(const void *a, const void *b)
{
	const SkxPrefixSum *x = a;
	const SkxPrefixSum *y = b;
	int			order = memcmp(x->bytes, y->bytes, Min(x->len, y->len));

	return order != 0 ? order : x->len - y->len;
}

static int
skx_prefixes_compare_cost(const void *a, const void *b)
{
	const SkxPrefixSum *x = a;
	const SkxPrefixSum *y = b;

	if (x->npostings != y->npostings)
		return x->npostings > y->npostings ? -1 : 1;
	return skx_prefixes_compare(a, b);
}

/* Finds the prefixes that may get a list, those with most postings first. */
static void
skx_prefixes_find(SkxPrefixes *p)
{
	int			i;

	p->found_size = 256;
	p->found = palloc(p->found_size * sizeof(SkxPrefixSum));
	skx_segment_visit_prefix(p->seg, "", 0, true, NULL,
							 skx_prefixes_see_lexeme, p);
	for (i = 0; i < SKX_PREFIX_CHARS; i++)
		skx_prefixes_end_sum(p, &p->sums[i]);
	qsort(p->found, p->nfound, sizeof(SkxPrefixSum),
		  skx_prefixes_compare_cost);
}

/*
 * Their lists
 */

/* Gathers the sums of a prefix from document `from` on, unless it has them. */
static void
skx_prefixes_gather(SkxPrefixes *p, const SkxPrefixSum *prefix, uint32 from)
{
	if (p->prefix == prefix && p->from == from)
		return;
	p->prefix = prefix;
	p->from = from;
	p->to = from + Min(p->range, p->ndocs - from);
	skx_throttle_point();
	memset(p->tfs, 0, (p->to - p->from) * sizeof(uint16));
	skx_cursor_add_prefix(p->seg, prefix->bytes, prefix->len, p->from, p->to,
						  p->tfs);
}

/*
 * Estimates the bytes of a list of df postings with `total` occurrences.  A
 * posting takes the bits of a bitset or a gap, those of its frequency, and
 * three more; measured on English text to within a tenth.
 */
static uint64
skx_prefixes_list_bytes(const SkxPrefixes *p, uint32 df, uint64 total)
{
	uint32		bits = Min(p->ndocs / df, 6) +
		skx_codec_width((uint32) (total / df)) + 3;

	return (uint64) df * bits / 8;
}

/*
 * Counts the documents that have a prefix.  Sets prefix->df to their number,
 * and leaves it 0 if they are too few, or a sum is too large for a list.
 * Returns false if there is no room for the list.
 */
static bool
skx_prefixes_choose(SkxPrefixes *p, SkxPrefixSum *prefix)
{
	uint64		total = 0;
	uint32		df = 0;
	uint64		bytes;
	uint32		from;
	uint32		i;

	for (from = 0; from < p->ndocs; from = p->to)
	{
		uint16		most = 0;

		skx_prefixes_gather(p, prefix, from);
		for (i = 0; i < p->to - p->from; i++)
		{
			df += p->tfs[i] > 0;
			total += p->tfs[i];
			most = Max(most, p->tfs[i]);
		}
		if (most > SKX_TF_MAX)
			return true;
	}
	if (df < p->least_df)
		return true;
	bytes = skx_prefixes_list_bytes(p, df, total);
	if (bytes > p->room)
		return false;
	p->room -= bytes;
	prefix->df = df;
	return true;
}

/* Hands the postings of the sub-block to the writer. */
static void
skx_prefixes_put(SkxPrefixes *p)
{
	const uint8 *all = p->out->docs.all_norms;
	uint8		norms[SKX_SUBBLOCK];
	int			i;

	if (p->n == 0)
		return;
	if (all == NULL)
		skx_segment_norms(p->seg, p->docs, p->n, norms);
	else
		for (i = 0; i < p->n; i++)
			norms[i] = all[p->docs[i]];
	skx_writer_term_counts(p->terms, p->docs, p->counts, norms, p->n);
	p->n = 0;
}

static void
skx_prefixes_write(SkxPrefixes *p, const SkxPrefixSum *prefix)
{
	uint32		from;
	uint32		i;

	skx_writer_term_begin(p->terms, prefix->bytes, prefix->len, prefix->df,
						  0, SKX_TERM_NO_POSITIONS);
	for (from = 0; from < p->ndocs; from = p->to)
	{
		skx_prefixes_gather(p, prefix, from);
		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < p->to - p->from; i++)
		{
			if (p->tfs[i] == 0)
				continue;
			p->docs[p->n] = p->from + i;
			p->counts[p->n++] = p->tfs[i];
			if (p->n == SKX_SUBBLOCK)
				skx_prefixes_put(p);
		}
	}
	skx_prefixes_put(p);
	skx_writer_term_end(p->terms);
}

/* Chooses which prefixes get lists, and writes these and their dictionary. */
static void
skx_prefixes_write_all(SkxPrefixes *p, SkxDiskSegment *header)
{
	const SkxSegmentOutput *out = p->out;
	SkxTermSinks sinks = {skx_writer_plane_put,
		out->planes[SKX_SEGMENT_PREFIXES],
	out->planes[SKX_SEGMENT_PREFIX_POSTINGS], NULL};
	SkxTermTotals totals;
	uint32		i;

	p->terms = skx_writer_terms_begin(&sinks, &out->options, NULL,
									  (double) out->total_length / p->ndocs);
	p->range = Min(p->ndocs, Max(SKX_PREFIXES_RANGE_MIN,
								 out->options.memory / 4 / sizeof(uint16)));
	p->tfs = palloc_extended(p->range * sizeof(uint16), MCXT_ALLOC_HUGE);
	for (i = 0; i < p->nfound && skx_prefixes_choose(p, &p->found[i]); i++)
		 /* keep choosing */ ;
	p->nfound = i;
	p->prefix = NULL;
	qsort(p->found, p->nfound, sizeof(SkxPrefixSum), skx_prefixes_compare);
	for (i = 0; i < p->nfound; i++)
	{
		/* in a valid encoding no prefix is found twice */
		if (p->found[i].df > 0 &&
			(i == 0 ||
			 skx_prefixes_compare(&p->found[i], &p->found[i - 1]) != 0))
			skx_prefixes_write(p, &p->found[i]);
	}
	header->prefix_root = skx_writer_terms_end(p->terms, &totals);
	header->nprefixes = totals.nterms;
	header->nprefix_postings = totals.npostings;
}

void
skx_writer_prefixes_make(SkxSegmentOutput *out, SkxDiskSegment *header)
{
	const SkxSegmentBuildOptions *options = &out->options;
	Relation	rel = options->prefixes_of;
	SkxPrefixes *p;
	SkxDiskRun *runs;
	SkxBlkFile *file;
	int			i;

	if (rel == NULL || options->store->sync == NULL ||
		(header->format.may_ignore & SKX_FEATURE_PREFIXES) == 0 ||
		header->ndocs < SKX_PREFIXES_DOCS_MIN || header->nterms == 0)
		return;
	runs = skx_writer_planes_place(out->planes, SKX_SEGMENT_PREFIXES, header);
	if (runs == NULL)
		return;
	options->store->sync(options->store->arg);
	file = skx_segment_file(rel, options->incarnation);
	/* a build has no memory left for frames */
	if (options->is_new_file)
		skx_blkio_read_by_server(file);
	skx_blkio_set_read_once(file);
	p = palloc0(sizeof(SkxPrefixes));
	p->out = out;
	p->seg = skx_segment_open_made(file, rel, options->incarnation, header,
								   runs);
	p->ndocs = header->ndocs;
	for (i = 0; i < SKX_SEGMENT_PREFIXES; i++)
		p->room += (uint64) header->planes[i].npages * BLCKSZ;
	p->room = p->room * SKX_PREFIXES_PERCENT / 100;
	p->least_df = Max(SKX_SUBBLOCK, p->ndocs / SKX_PREFIXES_FRACTION);
	skx_prefixes_find(p);
	if (p->nfound > 0)
		skx_prefixes_write_all(p, header);
	skx_segment_close(p->seg);
	skx_blkio_close(file);
}
