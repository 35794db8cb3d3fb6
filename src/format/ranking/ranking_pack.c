/*
 * ranking_pack.c
 *	  Packed rankings.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec.h"
#include "format/ranking/ranking.h"

#define SKX_RANKING_VERSION		1

/* Flags of a term. */
#define SKX_RANKING_PREFIX		0x01
#define SKX_RANKING_LABELS		1	/* shift of the label set */
#define SKX_RANKING_TIMES		0x20
#define SKX_RANKING_FACTOR		0x40
#define SKX_RANKING_ONLY		0x80

/* Fewest bytes of a term: flags, length of the lexeme, df. */
#define SKX_RANKING_TERM_MIN	3

/* The number of parameters, and the bit of each. */
#define SKX_RANKING_OPTIONS		7

/* Returns parameter i. */
static double *
skx_ranking_option(SkxRankOptions *options, int i)
{
	double	   *members[] = {&options->k1, &options->b, &options->proximity};

	return i < lengthof(members) ? members[i] :
		&options->labels[i - lengthof(members)];
}

static double
skx_ranking_default(int i)
{
	static const double first[] = {SKX_RANKING_K1, SKX_RANKING_B,
	SKX_RANKING_PROXIMITY};

	return i < lengthof(first) ? first[i] : SKX_RANKING_LABEL;
}

static uint8 *
skx_ranking_put_double(uint8 *dst, double value)
{
	uint64		bits;
	int			i;

	memcpy(&bits, &value, sizeof(bits));
	for (i = 0; i < 8; i++)
		*dst++ = (uint8) (bits >> (8 * i));
	return dst;
}

/* Minus zero becomes zero, which it equals. */
static const uint8 *
skx_ranking_get_double(const uint8 *src, const uint8 *end, double *value)
{
	uint64		bits = 0;
	int			i;

	if (end - src < 8)
		return NULL;
	for (i = 0; i < 8; i++)
		bits |= (uint64) *src++ << (8 * i);
	memcpy(value, &bits, sizeof(bits));
	if (*value == 0)
		*value = 0;
	return src;
}

static uint8 *
skx_ranking_put_bytes(uint8 *dst, const char *bytes, int len)
{
	dst = skx_codec_varint32_put(dst, (uint32) len);
	memcpy(dst, bytes, len);
	return dst + len;
}

static const uint8 *
skx_ranking_get_bytes(const uint8 *src, const uint8 *end, const char **bytes,
					  int *len)
{
	uint32		n;

	src = skx_codec_varint32_get(src, end, &n);
	if (src == NULL || n > SKX_RANKING_LEXEME_MAX || end - src < (int) n)
		return NULL;
	*bytes = (const char *) src;
	*len = (int) n;
	return src + n;
}

size_t
skx_ranking_packed_size(const SkxRanking *ranking)
{
	size_t		size = 2 + 8 * SKX_RANKING_OPTIONS + 4 * SKX_VARINT64_MAX +
		2 * SKX_VARINT32_MAX * (size_t) ranking->npairs;
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		const SkxRankingTerm *term = &ranking->terms[i];

		size += 1 + SKX_VARINT32_MAX + term->len +
			(term->count != 1 ? 1 : 0) + (term->factor != 1 ? 8 : 0) +
			skx_codec_varint64_size(term->sum);
		if (term->prefix)
			size += skx_codec_varint64_size(term->whole);
		if (term->only != NULL)
			size += SKX_VARINT32_MAX + term->only_len;
	}
	return size;
}

static uint8 *
skx_ranking_pack_term(const SkxRankingTerm *term, uint8 *dst)
{
	*dst++ = (term->prefix ? SKX_RANKING_PREFIX : 0) |
		(uint8) (term->labels << SKX_RANKING_LABELS) |
		(term->count != 1 ? SKX_RANKING_TIMES : 0) |
		(term->factor != 1 ? SKX_RANKING_FACTOR : 0) |
		(term->only != NULL ? SKX_RANKING_ONLY : 0);
	dst = skx_ranking_put_bytes(dst, term->lexeme, term->len);
	if (term->count != 1)
		*dst++ = (uint8) term->count;
	if (term->factor != 1)
		dst = skx_ranking_put_double(dst, term->factor);
	dst = skx_codec_varint64_put(dst, term->sum);
	if (term->prefix)
		dst = skx_codec_varint64_put(dst, term->whole);
	if (term->only != NULL)
		dst = skx_ranking_put_bytes(dst, term->only, term->only_len);
	return dst;
}

uint8 *
skx_ranking_pack(const SkxRanking *ranking, uint8 *dst)
{
	SkxRankOptions options = ranking->options;
	uint8	   *given;
	int			i;

	*dst++ = SKX_RANKING_VERSION;
	given = dst++;
	*given = 0;
	for (i = 0; i < SKX_RANKING_OPTIONS; i++)
	{
		double		value = *skx_ranking_option(&options, i);

		if (value == skx_ranking_default(i))
			continue;
		*given |= (uint8) (1 << i);
		dst = skx_ranking_put_double(dst, value);
	}
	dst = skx_codec_varint64_put(dst, ranking->ndocs);
	dst = skx_codec_varint64_put(dst, ranking->length);
	dst = skx_codec_varint32_put(dst, (uint32) ranking->nterms);
	dst = skx_codec_varint32_put(dst, (uint32) ranking->npairs);
	for (i = 0; i < ranking->nterms; i++)
		dst = skx_ranking_pack_term(&ranking->terms[i], dst);
	for (i = 0; i < ranking->npairs; i++)
	{
		dst = skx_codec_varint32_put(dst, (uint32) ranking->pairs[i].first);
		dst = skx_codec_varint32_put(dst, (uint32) ranking->pairs[i].second);
	}
	return dst;
}

/* Reads the parameters, of which `given` tells those that follow. */
static const uint8 *
skx_ranking_unpack_options(const uint8 *src, const uint8 *end, uint8 given,
						   SkxRankOptions *options)
{
	int			i;

	for (i = 0; i < SKX_RANKING_OPTIONS && src != NULL; i++)
	{
		*skx_ranking_option(options, i) = skx_ranking_default(i);
		if (given & (1 << i))
			src = skx_ranking_get_double(src, end,
										 skx_ranking_option(options, i));
	}
	return src;
}

const uint8 *
skx_ranking_unpack_head(const uint8 *src, size_t n, SkxRanking *ranking)
{
	const uint8 *end = src + n;
	uint32		nterms = 0;
	uint32		npairs = 0;
	uint8		given;

	if (n < 2 || src[0] != SKX_RANKING_VERSION ||
		src[1] >> SKX_RANKING_OPTIONS != 0)
		return NULL;
	given = src[1];
	src = skx_ranking_unpack_options(src + 2, end, given, &ranking->options);
	if (src != NULL)
		src = skx_codec_varint64_get(src, end, &ranking->ndocs);
	if (src != NULL)
		src = skx_codec_varint64_get(src, end, &ranking->length);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &nterms);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &npairs);
	if (src == NULL || nterms > (size_t) (end - src) / SKX_RANKING_TERM_MIN ||
		npairs > SKX_RANKING_PAIRS_MAX)
		return NULL;
	ranking->nterms = (int) nterms;
	ranking->npairs = (int) npairs;
	return src;
}

static const uint8 *
skx_ranking_unpack_term(const uint8 *src, const uint8 *end,
						SkxRankingTerm *term)
{
	uint8		flags;

	memset(term, 0, sizeof(*term));
	if (src == end)
		return NULL;
	flags = *src++;
	term->prefix = (flags & SKX_RANKING_PREFIX) != 0;
	term->labels = (flags >> SKX_RANKING_LABELS) & 15;
	term->count = 1;
	term->factor = 1;
	src = skx_ranking_get_bytes(src, end, &term->lexeme, &term->len);
	if (src != NULL && (flags & SKX_RANKING_TIMES) != 0)
	{
		if (src == end)
			return NULL;
		term->count = *src++;
	}
	if (src != NULL && (flags & SKX_RANKING_FACTOR) != 0)
		src = skx_ranking_get_double(src, end, &term->factor);
	if (src != NULL)
		src = skx_codec_varint64_get(src, end, &term->sum);
	if (src != NULL && term->prefix)
		src = skx_codec_varint64_get(src, end, &term->whole);
	if (src != NULL && (flags & SKX_RANKING_ONLY) != 0)
		src = skx_ranking_get_bytes(src, end, &term->only, &term->only_len);
	return src;
}

bool
skx_ranking_unpack_terms(const uint8 *src, const uint8 *end,
						 SkxRanking *ranking)
{
	int			i;

	for (i = 0; i < ranking->nterms; i++)
	{
		src = skx_ranking_unpack_term(src, end, &ranking->terms[i]);
		if (src == NULL)
			return false;
	}
	for (i = 0; i < ranking->npairs; i++)
	{
		uint32		words[2];
		int			k;

		for (k = 0; k < 2; k++)
		{
			src = skx_codec_varint32_get(src, end, &words[k]);
			if (src == NULL || words[k] >= (uint32) ranking->nterms)
				return false;
		}
		ranking->pairs[i].first = (int) words[0];
		ranking->pairs[i].second = (int) words[1];
		ranking->pairs[i].weight = 0;
	}
	return src == end;
}
