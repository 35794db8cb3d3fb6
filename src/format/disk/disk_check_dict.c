/*
 * disk_check_dict.c
 *	  Validator of dictionary pages.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"

typedef struct SkxDictCheck
{
	const SkxDiskSegment *seg;
	const SkxDiskDictPage *head;
	const uint8 *next_byte;		/* next byte */
	const uint8 *end;			/* of the entries */
	const char *problem;
	uint32		key_len;
	uint8		key[SKX_LEXEME_MAX];
} SkxDictCheck;

static uint64
skx_disk_dict_number(SkxDictCheck *c)
{
	uint64		v = 0;
	const uint8 *p;

	if (c->problem != NULL)
		return 0;
	p = skx_codec_varint64_get(c->next_byte, c->end, &v);
	if (p == NULL)
	{
		c->problem = "a dictionary entry has a damaged number";
		return 0;
	}
	c->next_byte = p;
	return v;
}

static void
skx_disk_dict_skip(SkxDictCheck *c, uint64 nbytes)
{
	if (c->problem != NULL)
		return;
	if (nbytes > c->end - c->next_byte)
		c->problem = "a dictionary entry passes the end of its page";
	else
		c->next_byte += nbytes;
}

/*
 * Reads a page number relative to page `first` and checks that the page is one
 * of the `npages` of its plane.
 */
static void
skx_disk_dict_page(SkxDictCheck *c, uint32 first, uint32 npages)
{
	uint64		page = skx_disk_dict_number(c);

	if (c->problem == NULL && (first >= npages || page >= npages - first))
		c->problem = "a dictionary entry points past its plane";
}

/* Reads such a page number and an offset in the page. */
static void
skx_disk_dict_address(SkxDictCheck *c, uint32 first, uint32 npages)
{
	uint64		offset;

	skx_disk_dict_page(c, first, npages);
	offset = skx_disk_dict_number(c);
	if (c->problem == NULL &&
		(offset < SKX_PAGE_START || offset >= SKX_PAGE_END))
		c->problem = "a dictionary entry points past its plane";
}

static void
skx_disk_dict_postings(SkxDictCheck *c)
{
	skx_disk_dict_address(c, c->head->postings_page,
						  c->seg->planes[SKX_SEGMENT_POSTINGS].npages);
}

static void
skx_disk_dict_long(SkxDictCheck *c, uint64 df, uint8 flags)
{
	uint32		npages = c->seg->planes[SKX_SEGMENT_POSTINGS].npages;
	uint64		nnodes;
	uint64		k;

	skx_disk_dict_postings(c);
	nnodes = skx_disk_dict_number(c);
	if (c->problem == NULL &&
		(df < SKX_SUBBLOCK || nnodes == 0 || nnodes > npages))
		c->problem = "a dictionary entry has an impossible list";
	skx_disk_dict_skip(c, sizeof(uint64));
	for (k = 10; k <= 1000; k *= 10)
		skx_disk_dict_skip(c, k <= df ? 2 : 0);
	if ((flags & SKX_TERM_TABLE_PAGES) != 0)
		skx_disk_dict_page(c, c->head->postings_page, npages);
}

/* Checks the value of a leaf entry. */
static void
skx_disk_dict_value(SkxDictCheck *c)
{
	uint64		df = skx_disk_dict_number(c);
	uint64		npositions;
	uint64		size;
	uint8		flags = 0;
	uint8		place;

	if (c->problem == NULL && c->next_byte < c->end)
		flags = *c->next_byte;
	skx_disk_dict_skip(c, 1);
	npositions = skx_disk_dict_number(c);
	if (c->problem != NULL)
		return;
	place = flags & SKX_TERM_FORM_MASK;
	if (df == 0 || df > c->seg->ndocs || npositions > df * SKX_TF_MAX ||
		((flags & SKX_TERM_NO_POSITIONS) == 0 && npositions < df) ||
		((flags & SKX_TERM_LABELS) != 0 && npositions == 0) ||
		(place != SKX_TERM_LONG && df >= SKX_SUBBLOCK) ||
		((flags & SKX_TERM_TABLE_PAGES) != 0 && place != SKX_TERM_LONG) ||
		((flags & SKX_TERM_OWN_POSITIONS) != 0 && place == SKX_TERM_LONG))
	{
		c->problem = "a dictionary entry has impossible counts";
		return;
	}
	switch (place)
	{
		case SKX_TERM_INLINE:
			size = skx_disk_dict_number(c);
			if (c->problem == NULL && (size == 0 || size > SKX_INLINE_BYTES))
				c->problem = "a dictionary entry has an impossible list";
			skx_disk_dict_skip(c, size);
			break;
		case SKX_TERM_SHORT:
			skx_disk_dict_postings(c);
			size = skx_disk_dict_number(c);
			if (c->problem == NULL && (size == 0 || size > SKX_PAGE_CAPACITY))
				c->problem = "a dictionary entry has an impossible list";
			break;
		case SKX_TERM_LONG:
			skx_disk_dict_long(c, df, flags);
			break;
		default:
			c->problem = "a dictionary entry has an unknown form";
	}
	if ((flags & SKX_TERM_OWN_POSITIONS) == 0 && npositions > 0)
		skx_disk_dict_address(c, c->head->positions_page,
							  c->seg->planes[SKX_SEGMENT_POSITIONS].npages);
}

/*
 * Checks the key of entry i.  It must be complete at a restart, and larger
 * than the key before.
 */
static void
skx_disk_dict_key(SkxDictCheck *c, uint32 i)
{
	uint64		shared = skx_disk_dict_number(c);
	uint64		more = skx_disk_dict_number(c);
	uint32		most;
	int			order;

	if (c->problem != NULL)
		return;
	if (shared > c->key_len || more > SKX_LEXEME_MAX - shared ||
		(i % SKX_DICT_RESTART_ENTRIES == 0 && shared != 0))
	{
		c->problem = "a dictionary entry has an impossible key";
		return;
	}
	if (more > c->end - c->next_byte)
	{
		c->problem = "a dictionary entry passes the end of its page";
		return;
	}
	if (i > 0)
	{
		most = Min(shared + more, c->key_len) - shared;
		order = memcmp(c->next_byte, c->key + shared, most);
		if (order < 0 || (order == 0 && shared + more <= c->key_len))
		{
			c->problem = "the keys of a dictionary page are not in order";
			return;
		}
	}
	memcpy(c->key + shared, c->next_byte, more);
	c->key_len = shared + more;
	c->next_byte += more;
}

const char *
skx_disk_check_dict(const char *page, const SkxDiskSegment *seg)
{
	const SkxDiskDictPage *head;
	Size		lower = ((const PageHeaderData *) page)->pd_lower;
	Size		at = SKX_PAGE_START + sizeof(SkxDiskDictPage);
	const uint16 *restarts;
	SkxDictCheck c;
	uint32		i;

	if (lower < at)
		return "the dictionary page is too short";
	head = (const SkxDiskDictPage *) (page + SKX_PAGE_START);
	if (head->nentries == 0 ||
		head->nrestarts != (head->nentries + SKX_DICT_RESTART_ENTRIES - 1) /
		SKX_DICT_RESTART_ENTRIES ||
		head->restarts < at || head->restarts % 2 != 0 ||
		head->restarts + head->nrestarts * sizeof(uint16) != lower)
		return "the dictionary page has impossible counts";
	if (head->level == 0 &&
		(uint64) head->first_term + head->nentries > seg->nterms)
		return "the dictionary page has terms past the last one";
	if (head->postings_page >
		(head->level == 0 ? seg->planes[SKX_SEGMENT_POSTINGS].npages : 0) ||
		head->positions_page >
		(head->level == 0 ? seg->planes[SKX_SEGMENT_POSITIONS].npages : 0) ||
		(head->level > 0 && head->first_term != 0))
		return "the dictionary page begins past its planes";
	restarts = (const uint16 *) (page + head->restarts);
	c.seg = seg;
	c.head = head;
	c.next_byte = (const uint8 *) page + at;
	c.end = (const uint8 *) page + head->restarts;
	c.problem = NULL;
	c.key_len = 0;
	for (i = 0; i < head->nentries && c.problem == NULL; i++)
	{
		if (i % SKX_DICT_RESTART_ENTRIES == 0 &&
			restarts[i / SKX_DICT_RESTART_ENTRIES] != c.next_byte -
			(const uint8 *) page)
			return "the dictionary page has a wrong restart";
		skx_disk_dict_key(&c, i);
		if (head->level == 0)
			skx_disk_dict_value(&c);
		else if (skx_disk_dict_number(&c) >=
				 seg->planes[SKX_SEGMENT_DICT].npages && c.problem == NULL)
			return "a dictionary page points past its plane";
	}
	if (c.problem == NULL && c.end - c.next_byte > 1)
		return "the dictionary page holds more than its entries";
	return c.problem;
}
