/*
 * test_writer_relocate.c
 *	  The same terms written by one writer and by several, whose pages are put
 *	  together: the readers find all of it in both.  And the same where these
 *	  pages are the last that planes can have.
 *
 * Holds: disk 5; writer 5, 6
 */
#include "unit.h"
#include "server.h"
#include "unit_error.h"

#define TERMS		4000
#define DOCS		1000000
#define PARTS		5

#include "unit_segment.h"

static uint8 unit_norms[DOCS];
/* Calls of malloc; a sanitizer has one of its own. */
static long allocations;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
extern void *__libc_malloc(size_t size);

void *
malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}
#endif


/* ---- the terms ---- */

/* A term, whose postings come one after the other. */
typedef struct UnitTerm
{
	char		lexeme[40];
	int			len;
	uint32		df;
	uint32		gap;
	int			form;
	uint32		done;
	uint64		state;
	SkxPosting	posting;
} UnitTerm;

static void
unit_term(UnitTerm *t, uint32 number)
{
	unit_seed(number + 1);
	t->len = snprintf(t->lexeme, sizeof(t->lexeme), "l%04u%s", number,
					  number % 5 == 0 ? "abcdefghijklmnop" : "");
	t->df = 1 + unit_below(2);
	if (number % 5 == 1)
		t->df = 1 + unit_below(SKX_SUBBLOCK * 2);
	if (number % 20 == 2)
		t->df = 1 + unit_below(4000);
	if (number % 2000 == 702)
		t->df = DOCS / 2 - unit_below(100000);
	t->gap = DOCS / t->df;
	t->form = unit_below(4);
	t->done = 0;
	t->state = unit_state;
	t->posting.doc = SKX_NO_DOC;
}

static bool
unit_next(UnitTerm *t)
{
	SkxPosting *p = &t->posting;
	int			position = 0;
	int			i;

	if (t->done == t->df)
		return false;
	unit_state = t->state;
	p->doc += 1 + unit_below(t->gap);
	p->norm = unit_norms[p->doc];
	p->has_labels = false;
	p->tf = 1 + unit_below(3);

	/* none; all; none at first and then now and then; some labels */
	if (t->form == 0 || (t->form == 2 && t->done / 300 % 2 == 0))
		p->tf = 0;
	for (i = 0; i < p->tf; i++)
	{
		position += 1 + unit_below(500);
		p->positions[i] = position;
		if (t->form == 3 && unit_below(50) == 0)
		{
			p->positions[i] |= 1 << 14;
			p->has_labels = true;
		}
	}
	t->done++;
	t->state = unit_state;
	return true;
}

static void
unit_write(SkxTermWriter *w, uint32 number)
{
	UnitTerm	t;
	uint64		npositions = 0;
	uint8		flags = 0;

	unit_term(&t, number);
	while (unit_next(&t))
	{
		npositions += t.posting.tf;
		flags |= t.posting.tf == 0 ? SKX_TERM_NO_POSITIONS : 0;
		flags |= t.posting.has_labels ? SKX_TERM_LABELS : 0;
	}
	unit_term(&t, number);
	skx_writer_term_begin(w, t.lexeme, t.len, t.df, npositions, flags);
	while (unit_next(&t))
		skx_writer_term_posting(w, &t.posting);
	skx_writer_term_end(w);
}

/* ---- segments ---- */

/* Adds the first n pages of a plane to another. */
static void
unit_append(UnitPlane *to, const UnitPlane *from, uint32 n)
{
	uint32		i;

	for (i = 0; i < n; i++)
		unit_sink(to, to->npages, from->pages[i],
				  ((PageHeader) from->pages[i])->pd_lower - SKX_PAGE_START);
}

/* Writes terms from .. to - 1, to read them by themselves. */
static void
unit_segment(UnitSegment *us, uint32 from, uint32 to, SkxTermTotals *totals,
			 SkxDictLeaves *leaves)
{
	SkxTermSinks sinks = {unit_sink, &us->planes[SKX_SEGMENT_DICT],
		&us->planes[SKX_SEGMENT_POSTINGS],
	&us->planes[SKX_SEGMENT_POSITIONS]};
	SkxSegmentBuildOptions options = {0};
	SkxTermWriter *w;
	uint32		i;

	options.block_size = unit_block_pages * BLCKSZ;
	options.k1 = 1.2;
	options.b = 0.75;
	memset(us, 0, sizeof(*us));
	w = skx_writer_terms_begin(&sinks, &options, unit_norms, 10);
	allocations = 0;
	for (i = from; i < to; i++)
		unit_write(w, i);
	/* pages are the test's; none of a posting or a term */
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
		allocations -= us->planes[i].npages;
	CHECK(allocations <= 0);
	skx_writer_terms_leaves(w, totals, leaves);
	CHECK(totals->nterms == to - from);
	CHECK(totals->dict_leaves == leaves->n);
	CHECK(totals->dict_leaves == us->planes[SKX_SEGMENT_DICT].npages);
	CHECK(totals->postings_pages == us->planes[SKX_SEGMENT_POSTINGS].npages);
	CHECK(totals->positions_pages ==
		  us->planes[SKX_SEGMENT_POSITIONS].npages);
}

/* Puts a part behind what there is; the pages of the planes then. */
static void
unit_join(UnitSegment *us, const UnitSegment *part,
		  const SkxTermTotals *totals, SkxTermTotals *base)
{
	UnitPlane  *dict = &us->planes[SKX_SEGMENT_DICT];
	UnitPlane  *postings = &us->planes[SKX_SEGMENT_POSTINGS];
	UnitPlane  *positions = &us->planes[SKX_SEGMENT_POSITIONS];
	uint32		i;

	while (postings->npages % unit_block_pages != 0)
		unit_page(postings, postings->npages, 0);
	base->dict_leaves = dict->npages;
	base->postings_pages = postings->npages;
	base->positions_pages = positions->npages;
	unit_append(dict, &part->planes[SKX_SEGMENT_DICT], totals->dict_leaves);
	unit_append(postings, &part->planes[SKX_SEGMENT_POSTINGS],
				totals->postings_pages);
	unit_append(positions, &part->planes[SKX_SEGMENT_POSITIONS],
				totals->positions_pages);
	for (i = base->dict_leaves; i < dict->npages; i++)
		skx_writer_dict_relocate(dict->pages[i], base->nterms,
								  base->postings_pages,
								  base->positions_pages);
}

/* ---- reading ---- */

/* The list of a term is what was written. */
static void
unit_read(UnitSegment *us, const SkxTerm *term, uint32 number)
{
	SkxCursor  *list = skx_cursor_open(&us->seg, term, SKX_CURSOR_LEAD);
	uint16		positions[SKX_POSITIONS_MAX];
	uint32		doc = 0;
	UnitTerm	t;

	unit_term(&t, number);
	CHECK(term->df == t.df);
	while (unit_next(&t))
	{
		doc = skx_cursor_seek(list, doc);
		CHECK(doc == t.posting.doc);
		CHECK(skx_cursor_positions(list, list->i, positions) == t.posting.tf);
		CHECK(memcmp(positions, t.posting.positions,
					 t.posting.tf * sizeof(uint16)) == 0);
		doc++;
	}
	CHECK(skx_cursor_seek(list, doc) == SKX_NO_DOC);
	skx_cursor_close(list);

	/* past all nodes but the last */
	list = skx_cursor_open(&us->seg, term, SKX_CURSOR_PROBE);
	CHECK(skx_cursor_seek(list, t.posting.doc) == t.posting.doc);
	CHECK(skx_cursor_positions(list, list->i, positions) == t.posting.tf);
	CHECK(memcmp(positions, t.posting.positions,
				 t.posting.tf * sizeof(uint16)) == 0);
	skx_cursor_close(list);
}

/* An address moved by as much as its plane. */
static bool
unit_moved(const SkxTerm *now, const SkxTerm *own, const SkxTermTotals *by)
{
	if (now->df != own->df || now->npositions != own->npositions ||
		now->flags != own->flags || now->ordinal != own->ordinal + by->nterms)
		return false;
	if (own->npositions > 0 && (own->flags & SKX_TERM_OWN_POSITIONS) == 0 &&
		(now->pos_page != own->pos_page + by->positions_pages ||
		 now->pos_offset != own->pos_offset))
		return false;
	switch (own->flags & SKX_TERM_FORM_MASK)
	{
		case SKX_TERM_INLINE:
			return now->inline_size == own->inline_size &&
				memcmp(now->bytes, own->bytes, own->inline_size) == 0;
		case SKX_TERM_SHORT:
			return now->short_page == own->short_page + by->postings_pages &&
				now->short_offset == own->short_offset &&
				now->short_size == own->short_size;
		default:
			return now->long_list.page == own->long_list.page +
				by->postings_pages &&
				now->long_list.offset == own->long_list.offset &&
				now->long_list.nnodes == own->long_list.nnodes &&
				now->long_list.impacts == own->long_list.impacts &&
				now->long_list.has_table == own->long_list.has_table &&
				(!own->long_list.has_table ||
				 now->long_list.table_page == own->long_list.table_page +
				 by->postings_pages) &&
				memcmp(now->kth_best, own->kth_best,
					   sizeof(own->kth_best)) == 0;
	}
}

/* All terms, looked up; returns how many lists have table pages. */
static int
unit_find(UnitSegment *us, uint32 from, uint32 to)
{
	int			tables = 0;
	uint32		i;

	for (i = from; i < to; i++)
	{
		UnitTerm	t;
		SkxTerm		term;

		unit_term(&t, i);
		CHECK(skx_segment_find(&us->seg, t.lexeme, t.len, &term));
		CHECK(term.ordinal == i - from);
		tables += (term.flags & SKX_TERM_TABLE_PAGES) != 0;
		unit_read(us, &term, i);
		CHECK(!skx_segment_find(&us->seg, t.lexeme, t.len - 1, &term));
	}
	return tables;
}

/* All terms, in their order. */
static void
unit_walk(UnitSegment *us)
{
	SkxTermWalk *walk = skx_segment_walk_begin(&us->seg);
	const char *lexeme;
	SkxTerm		term;
	int			len;
	uint32		i;

	for (i = 0; i < TERMS; i++)
	{
		UnitTerm	t;

		unit_term(&t, i);
		CHECK(skx_segment_walk_next(walk, &term, &lexeme, &len));
		CHECK(term.ordinal == i && len == t.len);
		CHECK(memcmp(lexeme, t.lexeme, len) == 0);
		CHECK(term.df == t.df);
	}
	CHECK(!skx_segment_walk_next(walk, &term, &lexeme, &len));
	skx_segment_walk_end(walk);
}

/*
 * Moves lists and positions as far behind others as told, which takes a
 * number of pages from the end of 32 bits.
 */
static void
unit_move(UnitSegment *us, uint32 far, const SkxDictLeaves *leaves)
{
	UnitPlane  *dict = &us->planes[SKX_SEGMENT_DICT];
	UnitPlane  *postings = &us->planes[SKX_SEGMENT_POSTINGS];
	UnitPlane  *positions = &us->planes[SKX_SEGMENT_POSITIONS];
	uint32		at = far - far % unit_block_pages;
	uint32		i;

	for (i = 0; i < leaves->n; i++)
		skx_writer_dict_relocate(dict->pages[i], 0, at - postings->first,
								  far - positions->first);
	postings->first = at;
	positions->first = far;
	dict->npages = leaves->n;
	unit_open(us, TERMS, leaves);
}

static UnitSegment whole;
static UnitSegment joined;
static UnitSegment parts[PARTS];

/* Pages past 4 GB of a plane, past 2^31 of them, and the last there can be. */
static void
test_far(const SkxDictLeaves *leaves)
{
	const uint32 last = MaxBlockNumber -
		Max(whole.planes[SKX_SEGMENT_POSTINGS].npages,
			whole.planes[SKX_SEGMENT_POSITIONS].npages);
	const uint32 fars[] = {(1 << 19) - 1, 0x7FFFFFF8, last};
	int			i;

	for (i = 0; i < (int) lengthof(fars); i++)
	{
		unit_move(&whole, fars[i], leaves);
		(void) unit_find(&whole, 0, TERMS);
	}
	unit_move(&whole, 0, leaves);
}

static void
test_blocks(uint32 block_pages)
{
	/* terms that parts begin with; one has none, one no long list */
	static const uint32 begins[PARTS + 1] = {0, 703, 703, 2900, 2902, TERMS};
	SkxTermTotals totals[PARTS];
	SkxTermTotals bases[PARTS];
	SkxTermTotals all;
	SkxDictLeaves leaves;
	SkxDictLeaves keys = {0};
	uint32		i;
	int			p;

	unit_block_pages = block_pages;
	unit_segment(&whole, 0, TERMS, &all, &leaves);
	unit_open(&whole, TERMS, &leaves);
	CHECK((unit_find(&whole, 0, TERMS) > 0) == (block_pages == 1));
	unit_walk(&whole);
	test_far(&leaves);

	memset(&joined, 0, sizeof(joined));
	initStringInfo(&keys.keys);
	for (p = 0; p < PARTS; p++)
	{
		UnitTerm	first;

		unit_term(&first, begins[p]);
		unit_segment(&parts[p], begins[p], begins[p + 1], &totals[p],
					 &leaves);
		bases[p].nterms = begins[p];
		unit_join(&joined, &parts[p], &totals[p], &bases[p]);
		skx_writer_dict_join(&keys, &leaves, first.lexeme, first.len);
		unit_open(&parts[p], totals[p].nterms, &leaves);
		(void) unit_find(&parts[p], begins[p], begins[p + 1]);
	}
	unit_open(&joined, TERMS, &keys);
	CHECK(bases[4].postings_pages > bases[1].postings_pages);
	CHECK(bases[4].positions_pages > bases[1].positions_pages);
	(void) unit_find(&joined, 0, TERMS);
	unit_walk(&joined);
	for (p = 0; p < PARTS; p++)
	{
		for (i = begins[p]; i < begins[p + 1]; i++)
		{
			UnitTerm	t;
			SkxTerm		own;
			SkxTerm		now;

			unit_term(&t, i);
			CHECK(skx_segment_find(&parts[p].seg, t.lexeme, t.len, &own));
			CHECK(skx_segment_find(&joined.seg, t.lexeme, t.len, &now));
			CHECK(unit_moved(&now, &own, &bases[p]));
		}
	}
}

/*
 * The largest numbers that an entry can have: documents and positions of all
 * of a segment, and the last pages of its planes.
 */
static void
test_entries(void)
{
	static const uint32 dfs[] = {128, PG_INT16_MAX, 0x0FFFFFFF, 0x10000000,
	SKX_DOC_MAX, (uint32) SKX_DOC_MAX + 1};
	static UnitSegment us;
	UnitPlane  *dict = &us.planes[SKX_SEGMENT_DICT];
	SkxDictWriter *w = skx_writer_dict_begin(unit_sink, dict);
	SkxDictLeaves leaves;
	SkxDictEntry entry;
	SkxTerm		term;
	char		lexeme[2] = "a";
	int			i;

	memset(&entry, 0, sizeof(entry));
	entry.flags = SKX_TERM_LONG | SKX_TERM_TABLE_PAGES;
	entry.list.offset = SKX_PAGE_START;
	entry.list.nnodes = 0x00FFFFFF;
	entry.list.impacts = PG_UINT64_MAX;
	entry.positions.offset = SKX_PAGE_END - 1;
	entry.nkths = SKX_NKTH_BEST;
	for (i = 0; i < (int) lengthof(dfs); i++, lexeme[0]++)
	{
		entry.df = dfs[i];
		entry.npositions = (uint64) dfs[i] * SKX_TF_MAX;
		entry.nkths = dfs[i] < 1000 ? 2 : SKX_NKTH_BEST;
		entry.list.page = MaxBlockNumber - 2 - i;
		entry.list.table_page = MaxBlockNumber - 1;
		entry.positions.page = MaxBlockNumber - 1;
		skx_writer_dict_add(w, lexeme, 1, &entry);
	}
	skx_writer_dict_leaves(w, &leaves);
	us.planes[SKX_SEGMENT_POSTINGS].first = MaxBlockNumber;
	us.planes[SKX_SEGMENT_POSITIONS].first = MaxBlockNumber;
	us.seg.header.ndocs = (uint32) SKX_DOC_MAX + 1;
	unit_open(&us, i, &leaves);
	CHECK(skx_disk_check_dict(dict->pages[0], &us.seg.header) == NULL);
	while (i-- > 0)
	{
		lexeme[0]--;
		CHECK(skx_segment_find(&us.seg, lexeme, 1, &term));
		CHECK(term.df == dfs[i]);
		CHECK(term.npositions == (uint64) dfs[i] * SKX_TF_MAX);
		CHECK(term.long_list.page == MaxBlockNumber - 2 - i);
		CHECK(term.long_list.table_page == MaxBlockNumber - 1);
		CHECK(term.long_list.nnodes == 0x00FFFFFF);
		CHECK(term.long_list.impacts == PG_UINT64_MAX);
		CHECK(term.pos_page == MaxBlockNumber - 1);
	}

	/* one document less, or one page */
	us.seg.header.ndocs--;
	CHECK(skx_disk_check_dict(dict->pages[0], &us.seg.header) != NULL);
	us.seg.header.ndocs++;
	us.seg.header.planes[SKX_SEGMENT_POSITIONS].npages--;
	CHECK(skx_disk_check_dict(dict->pages[0], &us.seg.header) != NULL);
}

int
main(void)
{
	int			i;

	unit_seed(3);
	for (i = 0; i < DOCS; i++)
		unit_norms[i] = unit_below(SKX_NORM_MAX);
	test_blocks(1);
	test_blocks(4);
	test_entries();
	return unit_done("writer_relocate");
}
