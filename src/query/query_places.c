/*
 * query_places.c
 *	  Where the terms of a prefix in a phrase are that have short lists.
 *
 * Most terms of a prefix are in few documents.  All their places are read at
 * once and sorted, so that a document meets those that it has and is not
 * looked for in all lists.
 *
 * The places of a letter may be those of a tenth of the segment.  So there is
 * room for some only: when it is full, the places of the later documents are
 * dropped and those of further lists are taken up to there.  A document from
 * there on reads the lists again.
 *
 * Of a prefix with many long lists these are not kept open: all that have
 * something there are gone through for the documents of each batch.  A batch has
 * as many documents as there is room for their places.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "miscadmin.h"
#include "query/query_internal.h"
#include "utils/memutils.h"

/* Terms whose lists are asked for together. */
#define SKX_PLACES_TERMS	64

/* There is room for so many at first. */
#define SKX_PLACES_FIRST	64

/* A term with a long list: what there is of it in the dictionary. */
typedef struct SkxPlacesLong
{
	uint64		npositions;
	SkxListAddress list;
	uint32		ordinal;
	uint32		check;
	uint32		df;
	uint32		pos_page;
	uint32		next;			/* it has nothing from the last batch to this
								 * document; 0: not known */
	uint16		pos_offset;
	uint8		flags;
} SkxPlacesLong;

struct SkxPlaces
{
	SkxSegment *seg;
	MemoryContext context;		/* what lists allocate outlives a question */
	const char *lexeme;			/* the prefix */
	int			len;
	uint32		from;			/* of documents from here on, */
	uint32		until;			/* below this one */
	int64		n;
	int64		room;
	int64		most;			/* more only of one document */
	int64		limit;			/* from which on some are dropped */
	int64		next;			/* those before it are of earlier documents */
	SkxPlace   *places;			/* by document */
	int			nterms;			/* not read yet */
	SkxTerm		terms[SKX_PLACES_TERMS];

	/* of long lists, in some documents */
	SkxCursor  *list;			/* NULL: there was no batch yet */
	SkxPlacesLong *longs;		/* those terms, as far as there is room */
	int64		nlongs;			/* so many there are */
	int64		longs_room;
	const uint32 *docs;			/* the batch */
	int			ndocs;
	uint32		last;			/* of the batch before it */
	int64		nlong;
	int64		long_room;
	SkxPlace   *long_places;	/* by document */
};

static int
skx_query_compare_place(const void *a, const void *b)
{
	uint32		x = ((const SkxPlace *) a)->doc;
	uint32		y = ((const SkxPlace *) b)->doc;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

/*
 * Drops the later half of the places, but for those of the first document.  If
 * that has too many, the next time comes when there are twice as many.
 */
static void
skx_query_places_cut(SkxPlaces *places)
{
	int64		cut = places->n / 2;

	qsort(places->places, places->n, sizeof(SkxPlace),
		  skx_query_compare_place);
	while (cut > 0 &&
		   places->places[cut - 1].doc == places->places[cut].doc)
		cut--;
	if (cut == 0)
	{
		while (cut < places->n &&
			   places->places[cut].doc == places->places[0].doc)
			cut++;
	}
	if (cut < places->n)
	{
		places->until = places->places[cut].doc;
		places->n = cut;
	}
	places->limit = Max(places->most, places->n * 2);
}

/*
 * Makes room for the places of one more posting; false: the document is not
 * covered any more.
 */
static bool
skx_query_places_reserve(SkxPlaces *places, uint32 doc, int n)
{
	if (places->n + n > places->limit)
		skx_query_places_cut(places);
	if (doc >= places->until)
		return false;
	if (places->n + n > places->room)
	{
		places->room = Max(Min(places->room * 2, places->limit), places->n + n);
		places->places = repalloc_huge(places->places,
									   places->room * sizeof(SkxPlace));
	}
	return true;
}

/* The places of a posting, one if it has no positions; returns how many. */
static int
skx_query_places_put(SkxPlace *to, uint32 doc, const uint16 *positions, int n)
{
	int			i;

	for (i = 0; i < Max(n, 1); i++)
	{
		to[i].doc = doc;
		to[i].position = n == 0 ? 0 : positions[i];
		to[i].bare = n == 0;
	}
	return i;
}

/*
 * Adds the places of a list in the documents that are covered.
 */
static void
skx_query_places_add(SkxPlaces *places, SkxCursor *list)
{
	uint16		positions[SKX_POSITIONS_MAX];
	uint32		doc = places->from;

	while ((doc = skx_cursor_seek(list, doc)) < places->until)
	{
		int			n = skx_cursor_positions(list, positions);

		if (!skx_query_places_reserve(places, doc, Max(n, 1)))
			return;
		places->n += skx_query_places_put(places->places + places->n, doc,
										  positions, n);
		doc++;
	}
}

/*
 * Asks for where the positions of the lists at hand begin.
 */
static void
skx_query_places_ask_positions(const SkxPlaces *places)
{
	uint32		pages[SKX_PLACES_TERMS];
	int			n = 0;
	int			i;

	for (i = 0; i < places->nterms; i++)
	{
		const SkxTerm *term = &places->terms[i];

		if (term->npositions > 0 && (term->flags & SKX_TERM_OWN_POSITIONS) == 0)
			pages[n++] = term->pos_page;
	}
	skx_segment_ask(places->seg, SKX_SEGMENT_POSITIONS, pages, n, 2);
}

/*
 * Reads the lists at hand.
 */
static void
skx_query_places_flush(SkxPlaces *places)
{
	int			i;

	skx_cursor_ask_terms(places->seg, places->terms, places->nterms);
	skx_query_places_ask_positions(places);
	for (i = 0; i < places->nterms; i++)
	{
		SkxCursor  *list = skx_cursor_open(places->seg, &places->terms[i],
										   SKX_CURSOR_PROBE);

		skx_query_places_add(places, list);
		skx_cursor_close(list);
	}
	places->nterms = 0;
}

static bool
skx_query_places_visit(const SkxTerm *term, const char *lexeme, int len,
					   void *arg)
{
	SkxPlaces  *places = arg;

	if (!skx_query_places_has(term))
		return true;
	if (places->nterms == SKX_PLACES_TERMS)
		skx_query_places_flush(places);
	places->terms[places->nterms++] = *term;
	return true;
}

/*
 * Reads the places from a document on.
 */
static void
skx_query_places_read(SkxPlaces *places, uint32 from)
{
	MemoryContext old = MemoryContextSwitchTo(places->context);

	places->from = from;
	places->until = SKX_NO_DOC;
	places->n = 0;
	places->next = 0;
	places->limit = places->most;
	skx_segment_prefix(places->seg, places->lexeme, places->len, true, NULL,
					   skx_query_places_visit, places);
	skx_query_places_flush(places);
	qsort(places->places, places->n, sizeof(SkxPlace),
		  skx_query_compare_place);
	MemoryContextSwitchTo(old);
}

/*
 * Leaves the first half of the batch.  What lists have told of where they go on
 * is for the whole of it.
 */
static void
skx_query_places_halve(SkxPlaces *places)
{
	int64		kept = 0;
	int64		i;

	places->ndocs /= 2;
	for (i = 0; i < places->nlong; i++)
		if (places->long_places[i].doc < places->docs[places->ndocs])
			places->long_places[kept++] = places->long_places[i];
	places->nlong = kept;
	places->last = SKX_NO_DOC;
}

/* Adds the places of the current posting of the long list. */
static void
skx_query_places_add_long(SkxPlaces *places, uint32 doc)
{
	uint16		positions[SKX_POSITIONS_MAX];
	int			n;

	while (places->nlong >= places->most && places->ndocs > 1)
		skx_query_places_halve(places);
	if (doc > places->docs[places->ndocs - 1])
		return;
	n = skx_cursor_positions(places->list, positions);
	if (places->nlong + SKX_POSITIONS_MAX > places->long_room)
	{
		places->long_room = places->long_room * 2 + SKX_POSITIONS_MAX;
		places->long_places = repalloc_huge(places->long_places,
											sizeof(SkxPlace) *
											(Size) places->long_room);
	}
	places->nlong += skx_query_places_put(places->long_places + places->nlong,
										  doc, positions, n);
}

/* Returns the first document that the list may have after the batch. */
static uint32
skx_query_places_read_long(SkxPlaces *places, const SkxTerm *term)
{
	uint32		doc = 0;
	int			i = 0;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin(places->list, term);
	while (i < places->ndocs)
	{
		doc = skx_cursor_seek(places->list, places->docs[i]);
		while (i < places->ndocs && places->docs[i] < doc)
			i++;
		if (i < places->ndocs && places->docs[i] == doc)
		{
			skx_query_places_add_long(places, doc);
			i++;
		}
	}
	return doc;
}

static bool
skx_query_places_visit_long(const SkxTerm *term, const char *lexeme, int len,
							void *arg)
{
	if (!skx_query_places_has(term))
		(void) skx_query_places_read_long(arg, term);
	return true;
}

static bool
skx_query_places_note_long(const SkxTerm *term, const char *lexeme, int len,
						   void *arg)
{
	SkxPlaces  *places = arg;
	SkxPlacesLong *known;

	if (skx_query_places_has(term))
		return true;
	places->nlongs++;
	if (places->nlongs > places->longs_room)
	{
		int64		most = places->most * (int64) sizeof(SkxPlace) /
			(int64) sizeof(SkxPlacesLong);

		if (places->nlongs > most)
			return false;
		places->longs_room = Min(places->longs_room * 2, most);
		places->longs = repalloc_huge(places->longs, sizeof(SkxPlacesLong) *
									  (Size) places->longs_room);
	}
	known = &places->longs[places->nlongs - 1];
	known->npositions = term->npositions;
	known->list = term->list;
	known->ordinal = term->ordinal;
	known->check = term->check;
	known->df = term->df;
	known->pos_page = term->pos_page;
	known->pos_offset = term->pos_offset;
	known->flags = term->flags;
	known->next = 0;
	return true;
}

/* Before the first batch. */
static void
skx_query_places_begin_long(SkxPlaces *places)
{
	places->list = skx_cursor_create(places->seg, SKX_CURSOR_PROBE);
	places->long_places = palloc(sizeof(SkxPlace) * SKX_PLACES_FIRST);
	places->long_room = SKX_PLACES_FIRST;
	places->longs = palloc(sizeof(SkxPlacesLong) * SKX_PLACES_FIRST);
	places->longs_room = SKX_PLACES_FIRST;
	places->nlongs = 0;
	places->last = SKX_NO_DOC;
	skx_segment_prefix(places->seg, places->lexeme, places->len, true, NULL,
					   skx_query_places_note_long, places);
}

/* Goes through the lists that are known, as far as they may have something. */
static void
skx_query_places_read_known(SkxPlaces *places)
{
	bool		ascends = places->last < places->docs[0];
	SkxTerm		term;
	int64		i;

	memset(&term, 0, sizeof(term));
	places->last = places->docs[places->ndocs - 1];
	for (i = 0; i < places->nlongs; i++)
	{
		SkxPlacesLong *known = &places->longs[i];

		if (ascends && known->next > places->docs[places->ndocs - 1])
			continue;
		term.npositions = known->npositions;
		term.list = known->list;
		term.ordinal = known->ordinal;
		term.check = known->check;
		term.df = known->df;
		term.pos_page = known->pos_page;
		term.pos_offset = known->pos_offset;
		term.flags = known->flags;
		known->next = skx_query_places_read_long(places, &term);
	}
}

int
skx_query_places_batch(SkxPlaces *places, const uint32 *docs, int n)
{
	MemoryContext old = MemoryContextSwitchTo(places->context);

	if (places->list == NULL)
		skx_query_places_begin_long(places);
	places->docs = docs;
	places->ndocs = n;
	places->nlong = 0;
	if (places->nlongs > places->longs_room)
		skx_segment_prefix(places->seg, places->lexeme, places->len, true,
						   NULL, skx_query_places_visit_long, places);
	else
		skx_query_places_read_known(places);
	qsort(places->long_places, places->nlong, sizeof(SkxPlace),
		  skx_query_compare_place);
	MemoryContextSwitchTo(old);
	return places->ndocs;
}

SkxPlaces *
skx_query_places_open(SkxSegment *seg, const char *lexeme, int len, int64 most)
{
	SkxPlaces  *places = palloc(sizeof(SkxPlaces));

	places->seg = seg;
	places->context = CurrentMemoryContext;
	places->lexeme = lexeme;
	places->len = len;
	places->most = most;
	places->room = SKX_PLACES_FIRST;
	places->places = palloc(sizeof(SkxPlace) * places->room);
	places->nterms = 0;
	places->from = places->until = 0;
	places->n = places->next = 0;
	places->list = NULL;
	places->long_places = NULL;
	places->nlong = places->long_room = 0;
	return places;
}

/* Those of a document among n places from number `low` on. */
static const SkxPlace *
skx_query_places_find(const SkxPlace *places, int64 low, int64 n, uint32 doc,
					  int64 *found)
{
	int64		high = n;
	int64		end;

	while (low < high)
	{
		int64		mid = (low + high) / 2;

		if (places[mid].doc < doc)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < n && places[end].doc == doc; end++)
		continue;
	*found = end - low;
	return places + low;
}

const SkxPlace *
skx_query_places_of(SkxPlaces *places, uint32 doc, int64 *n)
{
	const SkxPlace *found;

	if (doc < places->from || doc >= places->until)
		skx_query_places_read(places, doc);
	if (places->next > 0 && places->places[places->next - 1].doc >= doc)
		places->next = 0;
	found = skx_query_places_find(places->places, places->next, places->n,
								  doc, n);
	places->next = found - places->places;
	return found;
}

const SkxPlace *
skx_query_places_of_long(const SkxPlaces *places, uint32 doc, int64 *n)
{
	return skx_query_places_find(places->long_places, 0, places->nlong, doc,
								 n);
}

void
skx_query_places_close(SkxPlaces *places)
{
	if (places->list != NULL)
	{
		skx_cursor_close(places->list);
		pfree(places->long_places);
		pfree(places->longs);
	}
	pfree(places->places);
	pfree(places);
}
