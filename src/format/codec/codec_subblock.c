/*
 * codec_subblock.c
 *	  The body of one sub-block of a posting list: documents and frequencies.
 *
 * codec.h has the layout; the label part is in codec_labels.c.  Document
 * numbers are checked by or-ing all of them together.  This finds a number out
 * of range: a sound document is below 2^31 and a sound gap at most 2^31, so
 * the first sum that leaves the range has its high bit set, whatever follows.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

/* document forms, in byte 0 */
#define SKX_DOCS_MAX_WIDTH		31
#define SKX_DOCS_VARINTS		32
#define SKX_DOCS_BITSET			63	/* a bitset adds its number of words */

/* bits of byte 1; its low bits are the label form */
#define SKX_TF_HAS_ZERO			0x80
#define SKX_TF_UNUSED			0x70

/*
 * Largest width with which 128 gaps stay below 2^31.  Then sums from a sound
 * base cannot wrap, and the last document is the largest.
 */
#define SKX_DOCS_SAFE_WIDTH		23

static uint8 *
skx_codec_bitset_put(uint8 *dst, const uint32 *docs, uint32 base)
{
	uint64		word = 0;
	int			current = 0;
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
	{
		uint32		bit = docs[i] - (base + 1);

		for (; current < bit / SKX_BITSET_BITS; current++)
		{
			skx_codec_store64(dst, word);
			dst += sizeof(word);
			word = 0;
		}
		word |= skx_bitset_mask_bit(bit);
	}
	skx_codec_store64(dst, word);
	return dst + sizeof(word);
}

/*
 * Computes the gaps minus one of n documents; *result is all of them or-ed
 * together.  Returns false if the documents do not ascend from `base` or leave
 * the range: then a document or a gap has its high bit set.  Inlined with n
 * constant so that the compiler uses vectors.
 */
static pg_attribute_always_inline bool
skx_codec_docs_gaps(uint32 *restrict gaps, const uint32 *restrict docs, int n,
					uint32 base, uint32 *result)
{
	uint32		all = docs[0] - base - 1;
	uint32		largest = docs[0];
	int			i;

	gaps[0] = all;
	for (i = 1; i < n; i++)
	{
		gaps[i] = docs[i] - docs[i - 1] - 1;
		all |= gaps[i];
		largest |= docs[i];
	}
	*result = all;
	return (all | largest) <= SKX_DOC_MAX;
}

/*
 * Writes the documents part, and its form into *form.  Returns the end, or
 * NULL if the documents do not ascend.
 */
static uint8 *
skx_codec_docs_put(uint8 *dst, uint8 *form, const SkxPostings *p, uint32 base)
{
	uint32		gaps[SKX_SUBBLOCK];
	uint32		all;
	int			width;
	uint32		words;

	if (p->n < SKX_SUBBLOCK)
	{
		if (!skx_codec_docs_gaps(gaps, p->docs, p->n, base, &all))
			return NULL;
		*form = SKX_DOCS_VARINTS;
		return skx_codec_column_put(dst, gaps, p->n);
	}

	if (!skx_codec_docs_gaps(gaps, p->docs, SKX_SUBBLOCK, base, &all))
		return NULL;
	width = skx_codec_width(all);
	words = SKX_BITSET_WORDS(p->docs[SKX_SUBBLOCK - 1] - base);
	if (words <= 2 * width)
	{
		Assert(words >= SKX_SUBBLOCK_WORDS_MIN &&
			   words <= SKX_SUBBLOCK_WORDS_MAX);
		*form = (uint8) (SKX_DOCS_BITSET + words);
		return skx_codec_bitset_put(dst, p->docs, base);
	}
	*form = (uint8) width;
	return skx_codec_pack128(dst, gaps, width);
}

/*
 * Computes the column of n frequencies.  All are less one, unless some
 * frequency is 0, which *zero tells.  Returns false if one is too large.
 * Inlined with n constant so that the compiler uses vectors.
 */
static pg_attribute_always_inline bool
skx_codec_tf_column(uint32 *restrict column, const uint16 *restrict tf, int n,
					bool *zero)
{
	uint32		zeros = 0;
	uint32		large = 0;
	uint32		less;
	int			i;

	for (i = 0; i < n; i++)
	{
		column[i] = tf[i];
		zeros += column[i] == 0;
		large += column[i] > SKX_TF_MAX;
	}
	less = zeros == 0 ? 1 : 0;
	for (i = 0; i < n; i++)
		column[i] -= less;
	*zero = zeros > 0;
	return large == 0;
}

uint8 *
skx_codec_subblock_put(uint8 *dst, const SkxPostings *p, uint32 base)
{
	uint8	   *body = dst;
	uint32		column[SKX_SUBBLOCK];
	uint8		form;
	bool		zero;

	if (p->n < 1 || p->n > SKX_SUBBLOCK)
		return NULL;
	form = skx_codec_labels_form(p);
	dst = skx_codec_docs_put(body + 2, &body[0], p, base);
	if (dst == NULL)
		return NULL;
	if (!(p->n == SKX_SUBBLOCK ?
		  skx_codec_tf_column(column, p->tf, SKX_SUBBLOCK, &zero) :
		  skx_codec_tf_column(column, p->tf, p->n, &zero)))
		return NULL;
	body[1] = form | (zero ? SKX_TF_HAS_ZERO : 0);
	dst = skx_codec_column_put(dst, column, p->n);
	return skx_codec_labels_put(dst, p, form);
}

/*
 * Checks that a bitset of documents after `base` ends before `end`, has no
 * word too many, and stays within the range of documents.  Returns its start,
 * or NULL if it is damaged.
 */
static const uint8 *
skx_codec_bitset_check_head(const uint8 *src, const uint8 *end, int words,
							uint32 base)
{
	uint64		last;

	if (words < SKX_SUBBLOCK_WORDS_MIN || words > SKX_SUBBLOCK_WORDS_MAX ||
		end - src < words * (int) sizeof(uint64))
		return NULL;
	last = skx_codec_load64(src + (words - 1) * sizeof(uint64));
	if (last == 0 || (uint64) (uint32) (base + 1) +
		words * SKX_BITSET_BITS - 1 - __builtin_clzll(last) > SKX_DOC_MAX)
		return NULL;
	return src;
}

/* Does the same, and checks that it has SKX_SUBBLOCK documents. */
static const uint8 *
skx_codec_bitset_check(const uint8 *src, const uint8 *end, int words,
					   uint32 base)
{
	src = skx_codec_bitset_check_head(src, end, words, base);
	return src != NULL &&
		skx_bitset_count(src, words) == SKX_SUBBLOCK ? src : NULL;
}

/* Decodes a bitset that skx_codec_bitset_check() has accepted. */
static void
skx_codec_bitset_docs(const uint8 *src, int words, uint32 base, uint32 *docs)
{
	uint32		first = base + 1;
	int			i;

	for (i = 0; i < words; i++, first += SKX_BITSET_BITS)
	{
		uint64		w = skx_codec_load64(src + i * sizeof(uint64));

		while (w != 0)
			*docs++ = first + skx_bitset_pop_lowest(&w);
	}
}

/*
 * Returns true if all packed documents are in range; `width` is that of their
 * gaps.
 */
static bool
skx_codec_docs_valid(const uint32 *docs, int width)
{
	uint32		all = docs[SKX_SUBBLOCK - 1];
	int			i;

	if (width > SKX_DOCS_SAFE_WIDTH)
	{
		for (i = 0; i < SKX_SUBBLOCK; i++)
			all |= docs[i];
	}
	return all <= SKX_DOC_MAX;
}

static const uint8 *
skx_codec_varint_docs(const uint8 *src, const uint8 *end, int n, uint32 base,
					  uint32 *docs)
{
	uint32		all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		gap;

		src = skx_codec_varint_get(src, end, &gap);
		if (src == NULL)
			return NULL;
		base += gap + 1;
		docs[i] = base;
		all |= gap | base;
	}
	return all <= SKX_DOC_MAX ? src : NULL;
}

/*
 * Returns true if there are two bytes, and byte 0 is possible with n and base.
 * A base that is the last possible document is damage, since one more is to
 * follow.
 */
static bool
skx_codec_body_valid(const uint8 *src, const uint8 *end, int n, uint32 base)
{
	return n >= 1 && n <= SKX_SUBBLOCK && end - src >= 2 &&
		(n < SKX_SUBBLOCK) == (src[0] == SKX_DOCS_VARINTS) &&
		(src[0] <= SKX_DOCS_VARINTS || src[0] > SKX_DOCS_BITSET) &&
		base + 1 <= SKX_DOC_MAX;
}

SKX_CODEC_CLONES
const uint8 *
skx_codec_subblock_docs(const uint8 *src, const uint8 *end, int n,
						uint32 base, uint32 *docs)
{
	int			form;

	if (!skx_codec_body_valid(src, end, n, base))
		return NULL;
	form = src[0];
	src += 2;
	if (form == SKX_DOCS_VARINTS)
		return skx_codec_varint_docs(src, end, n, base, docs);
	if (form > SKX_DOCS_BITSET)
	{
		int			words = form - SKX_DOCS_BITSET;

		if (skx_codec_bitset_check(src, end, words, base) == NULL)
			return NULL;
		skx_codec_bitset_docs(src, words, base, docs);
		return src + words * sizeof(uint64);
	}
	if (end - src < 16 * form)
		return NULL;
	skx_codec_unpack128_gaps(docs, src, form, base);
	return skx_codec_docs_valid(docs, form) ? src + 16 * form : NULL;
}

/*
 * Converts a column of frequencies less one; returns false if one is too
 * large.  Inlined with n constant so that the compiler uses vectors.
 */
static pg_attribute_always_inline bool
skx_codec_tfs_minus_one(const uint32 *column, uint16 *tf, int n)
{
	uint32		all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		all |= column[i];
		tf[i] = (uint16) (column[i] + 1);
	}
	return all < SKX_TF_MAX;
}

/*
 * Converts a column of frequencies.  Returns false if one is too large, or if
 * none is 0.
 */
static bool
skx_codec_tfs_with_zero(const uint32 *column, uint16 *tf, int n)
{
	bool		zero = false;
	uint32		largest = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		largest = Max(largest, column[i]);
		zero |= column[i] == 0;
		tf[i] = (uint16) column[i];
	}
	return zero && largest <= SKX_TF_MAX;
}

SKX_CODEC_CLONES
const uint8 *
skx_codec_subblock_tfs(const uint8 *body, const uint8 *src, const uint8 *end,
					   int n, uint16 *tf)
{
	uint32		column[SKX_SUBBLOCK];
	bool		has_zero = (body[1] & SKX_TF_HAS_ZERO) != 0;
	bool		valid;

	if (n < 1 || n > SKX_SUBBLOCK || (body[1] & SKX_TF_UNUSED) != 0 ||
		!skx_codec_labels_form_valid(body[1] & SKX_LABELS_MASK))
		return NULL;
	src = skx_codec_column_get(column, src, end, n);
	if (src == NULL)
		return NULL;
	if (has_zero)
		valid = skx_codec_tfs_with_zero(column, tf, n);
	else if (n == SKX_SUBBLOCK)
		valid = skx_codec_tfs_minus_one(column, tf, SKX_SUBBLOCK);
	else
		valid = skx_codec_tfs_minus_one(column, tf, n);
	return valid ? src : NULL;
}

/* Sets those of SKX_SUBBLOCK bits from `at` on that the words have. */
static void
skx_codec_window_set_bits(uint64 *bits, int64 nwords, int64 at)
{
	int64		to = Min(at + SKX_SUBBLOCK, nwords * SKX_BITSET_BITS);

	at = Max(at, 0);
	if (at < to)
		skx_bitset_set_range(bits, (uint32) at, (uint32) to);
}

/*
 * Sets the bits of n documents, those before `window` and behind the words
 * left out.  Adjacent documents share a word, so that each store would have to
 * wait for the one before.  Therefore four sections of the array take turns.
 */
static void
skx_codec_window_set_docs(uint64 *bits, int nwords, uint32 window,
						  const uint32 *docs, int n)
{
	uint64		size = SKX_BITSET_BITS * (uint64) nwords;
	int			part;
	int			i;

	while (n > 0 && docs[n - 1] >= window && docs[n - 1] - window >= size)
		n--;
	for (; n > 0 && docs[0] < window; n--)
		docs++;
	part = n / 4;
	for (i = 0; i < part; i++)
	{
		skx_bitset_set(bits, docs[i] - window);
		skx_bitset_set(bits, docs[i + part] - window);
		skx_bitset_set(bits, docs[i + 2 * part] - window);
		skx_bitset_set(bits, docs[i + 3 * part] - window);
	}
	for (i = 4 * part; i < n; i++)
		skx_bitset_set(bits, docs[i] - window);
}

/*
 * Copies the documents of a body as bits, at most SKX_SUBBLOCK_WORDS_MAX words,
 * the lowest bit for document base + 1.  Sets *words to their number.  Returns
 * false if the documents have another form or are damaged.
 */
static bool
skx_codec_subblock_words(const uint8 *src, const uint8 *end, uint32 base,
						 uint64 *bits, int *words)
{
	int			i;

	if (src[0] > SKX_DOCS_BITSET)
	{
		*words = src[0] - SKX_DOCS_BITSET;
		src = skx_codec_bitset_check(src + 2, end, *words, base);
		for (i = 0; src != NULL && i < *words; i++)
			bits[i] = skx_codec_load64(src + i * sizeof(uint64));
		return src != NULL;
	}
	if (src[0] != 1 || end - src < 2 + SKX_SUBBLOCK / 8)
		return false;
	*words = SKX_NARROW_WORDS;
	return (uint64) (uint32) (base + 1) +
		skx_codec_narrow_bits(src + 2, bits) - 1 <= SKX_DOC_MAX;
}

SKX_CODEC_CLONES
const uint8 *
skx_codec_subblock_bits(const uint8 *src, const uint8 *end, int n,
						uint32 base, SkxSubblockBits *bits)
{
	const uint8 *from = src + 2;

	if (!skx_codec_body_valid(src, end, n, base))
		return NULL;
	if (src[0] > SKX_DOCS_BITSET)
	{
		int			i;

		bits->nwords = src[0] - SKX_DOCS_BITSET;
		if (skx_codec_bitset_check_head(from, end, bits->nwords, base) == NULL)
			return NULL;
		for (i = 0; i < bits->nwords; i++, from += sizeof(uint64))
			bits->words[i] = skx_codec_load64(from);
	}
	else
	{
		if (!skx_codec_subblock_words(src, end, base, bits->words,
									  &bits->nwords))
			return NULL;
		from += SKX_SUBBLOCK / 8;
	}
	return skx_bitset_ranks(bits->words, bits->nwords, bits->ranks) ==
		SKX_SUBBLOCK ? from : NULL;
}

/*
 * Looks documents up in words of bits, the lowest bit for document base + 1.
 * Returns how many it has looked up.
 */
static pg_attribute_always_inline int
skx_codec_words_filter(const uint8 *src, uint32 words, uint32 base,
					   const uint32 *docs, int some, uint32 limit, uint32 *dst,
					   int *kept)
{
	int			n = 0;
	int			i;

	for (i = 0; i < some && docs[i] < limit; i++)
	{
		uint32		bit = docs[i] - base - 1;
		bool		inside = bit / SKX_BITSET_BITS < words;
		uint32		at = inside ? bit / SKX_BITSET_BITS : 0;

		dst[n] = docs[i];
		n += skx_bitset_word_has(skx_codec_load64(src + at * sizeof(uint64)),
								 bit) &
			inside;
	}
	*kept = n;
	return i;
}

/* The number of bits is not checked: any answer is a subset of `docs`. */
SKX_CODEC_CLONES
int
skx_codec_subblock_filter(const uint8 *src, const uint8 *end, int n,
						  uint32 base, const uint32 *docs, int some,
						  uint32 limit, uint32 *dst, int *kept)
{
	uint64		narrow[SKX_NARROW_WORDS];
	int			i;

	if (!skx_codec_body_valid(src, end, n, base))
		return -1;
	if (src[0] > SKX_DOCS_BITSET)
	{
		int			words = src[0] - SKX_DOCS_BITSET;

		src = skx_codec_bitset_check_head(src + 2, end, words, base);
		return src == NULL ? -1 :
			skx_codec_words_filter(src, words, base, docs, some, limit, dst,
								   kept);
	}
	if (src[0] != 1 || end - src < 2 + SKX_SUBBLOCK / 8)
		return -1;
	(void) skx_codec_narrow_bits(src + 2, narrow);
	for (i = 0; i < SKX_NARROW_WORDS; i++)
		narrow[i] = SKX_LE64(narrow[i]);
	return skx_codec_words_filter((uint8 *) narrow, SKX_NARROW_WORDS, base,
								  docs, some, limit, dst, kept);
}

SKX_CODEC_CLONES
bool
skx_codec_subblock_fill_window(const uint8 *src, const uint8 *end, int n,
							   uint32 base, uint32 window, uint64 *bits,
							   int nwords)
{
	int64		at = (int64) (uint32) (base + 1) - (int64) window;
	uint64		own[SKX_SUBBLOCK_WORDS_MAX];
	uint32		docs[SKX_SUBBLOCK];
	int			words;

	if (!skx_codec_body_valid(src, end, n, base))
		return false;
	if (skx_codec_subblock_words(src, end, base, own, &words))
	{
		skx_bitset_or_at(bits, nwords, at, own, words);
		return true;
	}
	if (src[0] == 0)
	{
		if ((uint64) (uint32) (base + 1) + SKX_SUBBLOCK - 1 > SKX_DOC_MAX)
			return false;
		skx_codec_window_set_bits(bits, nwords, at);
		return true;
	}
	if (skx_codec_subblock_docs(src, end, n, base, docs) == NULL)
		return false;
	skx_codec_window_set_docs(bits, nwords, window, docs, n);
	return true;
}
