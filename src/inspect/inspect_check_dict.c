/*
 * inspect_check_dict.c
 *	  Checks the dictionary of a segment, from its root down, and every list
 *	  in it.
 *
 * Each page is read once.  Its keys must be within the bounds that the levels
 * above set, so that a look-up of a key finds this page.  The look-up that
 * scans use is tried for the first and the last lexeme of every leaf.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/disk/disk_postings.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"

/* A key, or a bound of keys. */
typedef struct SkxCheckKey
{
	int			len;			/* -1: no key; as a bound: no limit */
	char		bytes[SKX_LEXEME_MAX];
} SkxCheckKey;

/* State of a walk over all pages of the dictionary. */
typedef struct SkxCheckDict
{
	SkxCheckSegment *cs;
	uint64	   *visited;		/* bit of each page: it was read */
	uint32		nvisited;
} SkxCheckDict;

/* A page on the path from the root, with its current entry. */
typedef struct SkxCheckDictPage
{
	SkxCheckDict *dict;
	SkxCheckReader reader;
	const SkxDiskDictPage *head;
	const SkxCheckKey *min_key; /* keys must be >= low */
	const SkxCheckKey *end_key; /* keys must be below high */
	const uint8 *src;			/* start of the next entry or value */
	const uint8 *end;			/* of the entries */
	int			entry;
	SkxCheckKey key;
	SkxTerm		term;			/* of a leaf's entry */
} SkxCheckDictPage;

#define skx_inspect_dict_damaged(p, ...) \
	skx_inspect_damaged(&(p)->reader, __VA_ARGS__)

static void skx_inspect_dict_page(SkxCheckDict *dict, uint32 ordinal,
								  int level, const SkxCheckKey *low,
								  const SkxCheckKey *high);

static int
skx_inspect_dict_compare(const SkxCheckKey *a, const SkxCheckKey *b)
{
	int			cmp = memcmp(a->bytes, b->bytes, Min(a->len, b->len));

	return cmp != 0 ? cmp : a->len - b->len;
}

/*
 * Checks the numbers from which a leaf counts.  Its first term follows the
 * last one of the leaf before.  Its first page of postings or positions is the
 * page where the lists before it end, or the next one.  If another writer
 * begins with this leaf, the postings may begin with the next block.
 */
static void
skx_inspect_dict_check_base(SkxCheckDictPage *p, const SkxDiskDictPage *head)
{
	SkxCheckSegment *cs = p->dict->cs;
	uint32		unit = cs->seg->planes[SKX_SEGMENT_POSTINGS].unit;
	uint32		postings = cs->post_page;
	uint32		positions = cs->positions.next_page;
	bool		first = cs->nterms == 0;

	if (head->first_term != cs->nterms)
		skx_inspect_dict_damaged(p,
								 "the dictionary page begins with term %u, but should with %u",
								 head->first_term, cs->nterms);
	if (head->postings_page < postings ||
		head->postings_page > (first ? 0 : (postings / unit + 1) * unit))
		skx_inspect_dict_damaged(p,
								 "the dictionary page counts from page %u of the postings, but these end on page %u",
								 head->postings_page, postings);
	if (head->positions_page < positions ||
		head->positions_page > (first ? 0 : positions + 1))
		skx_inspect_dict_damaged(p,
								 "the dictionary page counts from page %u of the positions, but these end on page %u",
								 head->positions_page, positions);
}

/* Reads a page, which was not read before, and checks its head. */
static void
skx_inspect_dict_enter(SkxCheckDictPage *p, uint32 ordinal, int level)
{
	const char *page = skx_inspect_reader_page(&p->reader, ordinal);
	const SkxDiskDictPage *head;

	if (skx_bitset_test(p->dict->visited, ordinal))
		skx_inspect_dict_damaged(p, "two ways lead to dictionary page %u",
								 ordinal);
	skx_bitset_set(p->dict->visited, ordinal);
	p->dict->nvisited++;
	head = (const SkxDiskDictPage *) (page + SKX_PAGE_START);
	if (p->reader.lower < SKX_PAGE_START + sizeof(SkxDiskDictPage) ||
		head->nentries == 0 ||
		head->nrestarts != (head->nentries - 1) / SKX_DICT_RESTART_ENTRIES +
		1 ||
		head->restarts % 2 != 0 ||
		head->restarts < SKX_PAGE_START + sizeof(SkxDiskDictPage) ||
		head->restarts + head->nrestarts * sizeof(uint16) != p->reader.lower)
		skx_inspect_dict_damaged(p,
								 "the dictionary page has impossible counts");
	if (head->level != level)
		skx_inspect_dict_damaged(p,
								 "the dictionary page is of level %u, but should be of %d",
								 head->level, level);
	if (level > 0 && (head->first_term != 0 || head->postings_page != 0 ||
					  head->positions_page != 0))
		skx_inspect_dict_damaged(p,
								 "the dictionary page has something where nothing belongs");
	if (level == 0)
		skx_inspect_dict_check_base(p, head);
	p->head = head;
	p->src = (const uint8 *) (head + 1);
	p->end = (const uint8 *) page + head->restarts;
	p->entry = -1;
	p->key.len = -1;
}

/*
 * Checks that each SKX_DICT_RESTART_ENTRIES-th entry shares nothing with the
 * key before it, and is where the restarts of the page say.
 */
static void
skx_inspect_dict_restart(SkxCheckDictPage *p, uint32 shared)
{
	const uint16 *restarts;
	const char *page = p->reader.page.data;

	if (p->entry % SKX_DICT_RESTART_ENTRIES != 0)
		return;
	restarts = (const uint16 *) (page + p->head->restarts);
	if (shared != 0 || (const char *) p->src - page !=
		restarts[p->entry / SKX_DICT_RESTART_ENTRIES])
		skx_inspect_dict_damaged(p, "entry %d has no restart", p->entry);
}

/*
 * Reads the key of the next entry.  Keys must ascend and be within the bounds.
 * The first key of an inner page must be the lower bound.
 */
static void
skx_inspect_dict_key(SkxCheckDictPage *p)
{
	uint32		shared = 0;
	uint32		more = 0;
	const uint8 *src = skx_codec_varint32_get(p->src, p->end, &shared);
	SkxCheckKey *key = &p->key;
	int			cmp;

	p->entry++;
	skx_inspect_dict_restart(p, shared);
	if (src != NULL)
		src = skx_codec_varint32_get(src, p->end, &more);
	if (src == NULL || shared > Max(key->len, 0) ||
		more > SKX_LEXEME_MAX - shared || more > (uint32) (p->end - src))
		skx_inspect_dict_damaged(p, "the key of entry %d does not decode",
								 p->entry);

	/* both keys have `shared` bytes in common, so the bytes after decide */
	cmp = key->len < 0 ? 1 :
		memcmp(src, key->bytes + shared, Min(more, key->len - shared));
	if (cmp < 0 || (cmp == 0 && more <= key->len - shared))
		skx_inspect_dict_damaged(p, "the key of entry %d does not ascend",
								 p->entry);
	memcpy(key->bytes + shared, src, more);
	key->len = shared + more;
	p->src = src + more;
	cmp = skx_inspect_dict_compare(key, p->min_key);
	if (cmp < 0 || (cmp != 0 && p->head->level > 0 && p->entry == 0) ||
		(p->end_key->len >= 0 &&
		 skx_inspect_dict_compare(key, p->end_key) >= 0))
		skx_inspect_dict_damaged(p,
								 "the key of entry %d lies outside what leads to its page",
								 p->entry);
}

/* Decodes a page number that is stored relative to page `first`. */
static bool
skx_inspect_dict_number(SkxCheckDictPage *p, uint32 first, uint32 *page)
{
	p->src = skx_codec_varint32_get(p->src, p->end, page);
	if (p->src == NULL || *page > PG_UINT32_MAX - first)
		return false;
	*page += first;
	return true;
}

static bool
skx_inspect_dict_address(SkxCheckDictPage *p, uint32 first, uint32 *page,
						 uint16 *offset)
{
	uint32		o = 0;

	if (!skx_inspect_dict_number(p, first, page))
		return false;
	p->src = skx_codec_varint32_get(p->src, p->end, &o);
	*offset = (uint16) o;
	return p->src != NULL && o >= SKX_PAGE_START && o < SKX_PAGE_END;
}

static bool
skx_inspect_dict_bytes(SkxCheckDictPage *p, void *to, uint32 n)
{
	if (n > (uint32) (p->end - p->src))
		return false;
	memcpy(to, p->src, n);
	p->src += n;
	return true;
}

static bool
skx_inspect_dict_long(SkxCheckDictPage *p, SkxTerm *t)
{
	static const uint32 ks[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;
	uint8		bytes[8];
	int			i;

	if (!skx_inspect_dict_address(p, p->head->postings_page,
								  &t->long_list.page, &t->long_list.offset))
		return false;
	p->src = skx_codec_varint32_get(p->src, p->end, &t->long_list.nnodes);
	if (p->src == NULL || t->long_list.nnodes == 0 ||
		!skx_inspect_dict_bytes(p, bytes, sizeof(bytes)))
		return false;
	for (i = 0; i < lengthof(bytes); i++)
		t->long_list.impacts |= (uint64) bytes[i] << (8 * i);
	for (i = 0; i < lengthof(ks) && ks[i] <= t->df; i++)
	{
		if (!skx_inspect_dict_bytes(p, bytes, 2))
			return false;
		t->kth_best[i] = bytes[0] << 8 | bytes[1];
	}
	t->long_list.has_table = (t->flags & SKX_TERM_TABLE_PAGES) != 0;
	return !t->long_list.has_table ||
		skx_inspect_dict_number(p, p->head->postings_page,
								&t->long_list.table_page);
}

static bool
skx_inspect_dict_place(SkxCheckDictPage *p, SkxTerm *t)
{
	uint32		n = 0;

	switch (t->flags & SKX_TERM_FORM_MASK)
	{
		case SKX_TERM_INLINE:
			p->src = skx_codec_varint32_get(p->src, p->end, &n);
			if (p->src == NULL || n > SKX_INLINE_BYTES ||
				!skx_inspect_dict_bytes(p, t->bytes, n))
				return false;
			t->inline_size = (uint8) n;
			t->short_page = p->reader.ordinal;
			return true;
		case SKX_TERM_SHORT:
			if (!skx_inspect_dict_address(p, p->head->postings_page,
										  &t->short_page, &t->short_offset))
				return false;
			p->src = skx_codec_varint32_get(p->src, p->end, &t->short_size);
			return p->src != NULL &&
				t->short_size <= SKX_PAGE_END - t->short_offset;
		case SKX_TERM_LONG:
			return skx_inspect_dict_long(p, t);
		default:
			return false;
	}
}

/* Reads the value of a leaf's entry. */
static void
skx_inspect_dict_term(SkxCheckDictPage *p)
{
	SkxTerm    *t = &p->term;
	bool		sound;

	memset(t, 0, sizeof(*t));
	t->ordinal = p->head->first_term + p->entry;
	t->list_check = skx_disk_lexeme_check(p->key.bytes, p->key.len);
	p->src = skx_codec_varint32_get(p->src, p->end, &t->df);
	sound = p->src != NULL && skx_inspect_dict_bytes(p, &t->flags, 1);
	if (sound)
		p->src = skx_codec_varint64_get(p->src, p->end, &t->npositions);
	sound = sound && p->src != NULL && skx_inspect_dict_place(p, t);
	if (sound && t->npositions > 0 &&
		(t->flags & SKX_TERM_OWN_POSITIONS) == 0)
		sound = skx_inspect_dict_address(p, p->head->positions_page,
										 &t->pos_page, &t->pos_offset);
	if (!sound || t->df == 0 || t->df > p->dict->cs->ndocs)
		skx_inspect_dict_damaged(p, "entry %d does not decode", p->entry);
}

/* Checks that the look-up that scans use finds the current entry. */
static void
skx_inspect_dict_find(SkxCheckDictPage *p)
{
	SkxTerm		found;
	const SkxTerm *t = &p->term;

	if (!skx_segment_find(p->dict->cs->seg, p->key.bytes, p->key.len,
						  &found) ||
		found.ordinal != t->ordinal || found.df != t->df ||
		found.flags != t->flags || found.npositions != t->npositions ||
		found.short_page != t->short_page ||
		found.short_offset != t->short_offset ||
		found.long_list.page != t->long_list.page ||
		found.long_list.offset != t->long_list.offset ||
		found.long_list.table_page != t->long_list.table_page ||
		found.pos_page != t->pos_page || found.pos_offset != t->pos_offset)
		skx_inspect_dict_damaged(p,
								 "a search for the lexeme of entry %d goes astray",
								 p->entry);
}

static void
skx_inspect_dict_leaf(SkxCheckDictPage *p)
{
	SkxCheckSegment *cs = p->dict->cs;
	int			n = p->head->nentries;

	while (p->entry + 1 < n)
	{
		CHECK_FOR_INTERRUPTS();
		skx_inspect_dict_key(p);
		skx_inspect_dict_term(p);
		if (p->entry == 0 || p->entry == n - 1)
			skx_inspect_dict_find(p);
		skx_inspect_check_list(cs, &p->term, p->key.bytes, p->key.len,
							   p->reader.page.block);
		cs->nterms++;
	}
}

/*
 * Checks the child of each entry of an inner page.  The upper bound of a child
 * is the key of the next entry, which is read first.
 */
static void
skx_inspect_dict_inner(SkxCheckDictPage *p)
{
	SkxCheckKey *from = palloc(sizeof(SkxCheckKey));
	int			n = p->head->nentries;
	int			level = p->head->level;
	uint32		child = 0;

	while (p->entry + 1 < n)
	{
		uint32		next = 0;

		skx_inspect_dict_key(p);
		if (p->entry > 0)
			skx_inspect_dict_page(p->dict, child, level - 1, from, &p->key);
		*from = p->key;
		p->src = skx_codec_varint32_get(p->src, p->end, &next);
		if (p->src == NULL)
			skx_inspect_dict_damaged(p, "entry %d does not decode", p->entry);
		child = next;
	}
	skx_inspect_dict_page(p->dict, child, level - 1, from, p->end_key);
	pfree(from);
}

static void
skx_inspect_dict_page(SkxCheckDict *dict, uint32 ordinal, int level,
					  const SkxCheckKey *low, const SkxCheckKey *high)
{
	SkxCheckDictPage *p = palloc(sizeof(SkxCheckDictPage));

	check_stack_depth();
	p->dict = dict;
	p->min_key = low;
	p->end_key = high;
	skx_inspect_reader_init(&p->reader, dict->cs->check, dict->cs->seg,
							SKX_SEGMENT_DICT);
	skx_inspect_dict_enter(p, ordinal, level);
	if (level > 0)
		skx_inspect_dict_inner(p);
	else
		skx_inspect_dict_leaf(p);
	if ((const uint8 *) TYPEALIGN(2, p->src) != p->end)
		skx_inspect_dict_damaged(p, "the dictionary page has %d bytes too many",
								 (int) (p->end - p->src));
	skx_inspect_reader_free(&p->reader);
	pfree(p);
}

/* Checks the sums in the segment's header, and that every page was read. */
static void
skx_inspect_dict_totals(SkxCheckDict *dict)
{
	SkxCheckSegment *cs = dict->cs;
	const SkxDiskSegment *header = &cs->seg->header;

	if (dict->nvisited != cs->seg->planes[SKX_SEGMENT_DICT].npages)
		skx_damage_report_detail(cs->check->index, InvalidBlockNumber,
								 "segment %u has %u dictionary pages, of which %u can be reached",
								 header->segment,
								 cs->seg->planes[SKX_SEGMENT_DICT].npages,
								 dict->nvisited);
	if (cs->nterms != header->nterms || cs->npostings != header->npostings ||
		cs->npositions != header->npositions)
		skx_damage_report_detail(cs->check->index, InvalidBlockNumber,
								 "segment %u has %u terms, " UINT64_FORMAT " postings and " UINT64_FORMAT " positions, but counts %u, " UINT64_FORMAT " and " UINT64_FORMAT,
								 header->segment, cs->nterms, cs->npostings,
								 cs->npositions, header->nterms,
								 header->npostings, header->npositions);
}

void
skx_inspect_check_dict(SkxCheckSegment *cs)
{
	const SkxDiskSegment *header = &cs->seg->header;
	uint32		npages = cs->seg->planes[SKX_SEGMENT_DICT].npages;
	SkxCheckDict dict = {0};
	SkxCheckKey low;
	SkxCheckKey high;

	dict.cs = cs;
	dict.visited = palloc0(sizeof(uint64) * SKX_BITSET_WORDS((Size) npages));
	low.len = 0;
	high.len = -1;
	skx_inspect_reader_init(&cs->postings, cs->check, cs->seg,
							SKX_SEGMENT_POSTINGS);
	skx_inspect_positions_init(&cs->positions, cs);
	cs->post_page = 0;
	cs->post_offset = cs->post_lower = SKX_PAGE_START;
	if (cs->seg->planes[SKX_SEGMENT_POSTINGS].npages > 0)
	{
		skx_inspect_reader_page(&cs->postings, 0);
		cs->post_lower = cs->postings.lower;
	}
	if (npages > 0)
	{
		SkxCheckReader root;
		const SkxDiskDictPage *head;

		skx_inspect_reader_init(&root, cs->check, cs->seg, SKX_SEGMENT_DICT);
		head = (const SkxDiskDictPage *)
			(skx_inspect_reader_page(&root, header->dict_root) +
			 SKX_PAGE_START);
		skx_inspect_dict_page(&dict, header->dict_root, head->level, &low,
							  &high);
	}
	skx_inspect_end_postings_plane(cs);
	skx_inspect_positions_end(&cs->positions);
	skx_inspect_dict_totals(&dict);
}
