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

/* The bit above those of parameters: there are groups. */
#define SKX_RANKING_GROUPED		0x80

/* Bytes of a group. */
#define SKX_RANKING_GROUP_BYTES	9

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
	size_t		size = 2 + 8 * SKX_RANKING_OPTIONS + 5 * SKX_VARINT64_MAX +
		SKX_RANKING_GROUP_BYTES * (size_t) ranking->ngroups +
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
		if (ranking->ngroups > 0)
			size += SKX_VARINT32_MAX;
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

static uint8 *
skx_ranking_pack_groups(const SkxRanking *ranking, uint8 *dst)
{
	int			i;

	dst = skx_codec_varint32_put(dst, (uint32) ranking->ngroups);
	for (i = 0; i < ranking->ngroups; i++)
	{
		*dst++ = (uint8) ranking->groups[i].count;
		dst = skx_ranking_put_double(dst, ranking->groups[i].factor);
	}
	return dst;
}

/* Returns the number that stands for a side of a pair. */
static uint32
skx_ranking_side_number(const SkxRanking *ranking, int side)
{
	if (ranking->ngroups == 0)
		return (uint32) side;
	return side < 0 ? 2 * (uint32) -side + 1 : 2 * (uint32) side;
}

uint8 *
skx_ranking_pack(const SkxRanking *ranking, uint8 *dst)
{
	SkxRankOptions options = ranking->options;
	uint8	   *given;
	int			i;

	*dst++ = SKX_RANKING_VERSION;
	given = dst++;
	*given = ranking->ngroups > 0 ? SKX_RANKING_GROUPED : 0;
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
	if (ranking->ngroups > 0)
		dst = skx_ranking_pack_groups(ranking, dst);
	for (i = 0; i < ranking->nterms; i++)
	{
		dst = skx_ranking_pack_term(&ranking->terms[i], dst);
		if (ranking->ngroups > 0)
			dst = skx_codec_varint32_put(dst,
										 2 * (uint32) ranking->terms[i].group +
										 ranking->terms[i].is_exact);
	}
	for (i = 0; i < ranking->npairs; i++)
	{
		const SkxRankingPair *pair = &ranking->pairs[i];

		dst = skx_codec_varint32_put(dst,
									 skx_ranking_side_number(ranking,
															 pair->first));
		dst = skx_codec_varint32_put(dst,
									 skx_ranking_side_number(ranking,
															 pair->second));
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
	uint32		ngroups = 0;
	uint8		given;

	if (n < 2 || src[0] != SKX_RANKING_VERSION)
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
	if (src != NULL && (given & SKX_RANKING_GROUPED) != 0)
	{
		src = skx_codec_varint32_get(src, end, &ngroups);
		if (ngroups == 0 || ngroups > SKX_RANKING_GROUPS_MAX)
			return NULL;
	}
	if (src == NULL || nterms > (size_t) (end - src) / SKX_RANKING_TERM_MIN ||
		npairs > SKX_RANKING_PAIRS_MAX)
		return NULL;
	ranking->nterms = (int) nterms;
	ranking->npairs = (int) npairs;
	ranking->ngroups = (int) ngroups;
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

static const uint8 *
skx_ranking_unpack_groups(const uint8 *src, const uint8 *end,
						  SkxRanking *ranking)
{
	int			i;

	for (i = 0; i < ranking->ngroups; i++)
	{
		SkxRankingGroup *group = &ranking->groups[i];

		if (src == NULL || end - src < SKX_RANKING_GROUP_BYTES)
			return NULL;
		memset(group, 0, sizeof(*group));
		group->count = *src++;
		src = skx_ranking_get_double(src, end, &group->factor);
	}
	return src;
}

/* Reads a side of a pair. */
static const uint8 *
skx_ranking_unpack_side(const uint8 *src, const uint8 *end,
						const SkxRanking *ranking, int *side)
{
	uint32		number;
	bool		is_group;

	src = skx_codec_varint32_get(src, end, &number);
	if (src == NULL)
		return NULL;
	is_group = ranking->ngroups > 0 && number % 2 == 1;
	if (ranking->ngroups > 0)
		number /= 2;
	if (is_group ? number == 0 || number > (uint32) ranking->ngroups :
		number >= (uint32) ranking->nterms)
		return NULL;
	*side = is_group ? -(int) number : (int) number;
	return src;
}

bool
skx_ranking_unpack_terms(const uint8 *src, const uint8 *end,
						 SkxRanking *ranking)
{
	int			i;

	src = skx_ranking_unpack_groups(src, end, ranking);
	for (i = 0; i < ranking->nterms && src != NULL; i++)
	{
		uint32		group = 0;

		src = skx_ranking_unpack_term(src, end, &ranking->terms[i]);
		if (src != NULL && ranking->ngroups > 0)
			src = skx_codec_varint32_get(src, end, &group);
		if (group / 2 > (uint32) ranking->ngroups)
			return false;
		ranking->terms[i].group = (int) (group / 2);
		ranking->terms[i].is_exact = group % 2 == 1;
	}
	for (i = 0; i < ranking->npairs && src != NULL; i++)
	{
		SkxRankingPair *pair = &ranking->pairs[i];

		pair->weight = 0;
		src = skx_ranking_unpack_side(src, end, ranking, &pair->first);
		if (src != NULL)
			src = skx_ranking_unpack_side(src, end, ranking, &pair->second);
	}
	return src == end;
}
