/*
 * estimate_set.c
 *	  Combines sets of documents, and the time that finding them takes.
 *
 * A set can be traversed, probed for documents that another set yields, or
 * filled into windows of bits.  A conjunction goes the way that takes least,
 * and never pays more for probing than decoding the whole set would cost.
 * Words are taken to be independent, except in `likely` and `among`.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "read/estimate/estimate.h"

/*
 * Times of single steps, measured on a million passages in memory.  With
 * these, of 300 conjunctions of two or three words 95 in a hundred take at
 * most 8 us, or 15 %, more than the faster way; all together take 1.02 times
 * as long.
 */
#define SKX_ESTIMATE_ASK		5.5 /* a document that a list is probed for */
#define SKX_ESTIMATE_SUBBLOCK	70.0	/* a sub-block decoded to probe */
#define SKX_ESTIMATE_BITSET		40.0	/* a sub-block of bits tested to probe */
#define SKX_ESTIMATE_BITSETS	4	/* lists have bits if more than one in
									 * this many documents is in them */
#define SKX_ESTIMATE_BIT		3.0 /* a document that is tested in bits */
#define SKX_ESTIMATE_FILLED		0.5 /* a posting that is put into a window */
#define SKX_ESTIMATE_WINDOW		60.0	/* a window, for each list */

/*
 * Times to read each key in sequence, to probe for one key, and to read the
 * list of a value.
 */
#define SKX_ESTIMATE_KEY		0.8
#define SKX_ESTIMATE_KEY_ASK	13.0
#define SKX_ESTIMATE_VALUE		52.0

/* Keys of a column on one page of BLCKSZ. */
#define SKX_ESTIMATE_PAGE_KEYS	3000.0

/*
 * Time to compare the positions of a phrase in a document, for all of its
 * words together.
 */
#define SKX_ESTIMATE_POSITIONS	90.0

/*
 * Time to open one of many lists that are traversed to their ends, and what
 * reading the positions of its term adds.
 */
#define SKX_ESTIMATE_LIST		250.0
#define SKX_ESTIMATE_PLACES		1000.0

/* Documents in a window of bits. */
#define SKX_ESTIMATE_WINDOW_DOCS	4096.0

double
skx_estimate_windows_met(double docs, double ndocs)
{
	double		windows = ndocs / SKX_ESTIMATE_WINDOW_DOCS;

	return windows < 1 ? 1 : 1 - exp(-docs / windows);
}

SkxEstimate
skx_estimate_word(double df, double ndocs)
{
	SkxEstimate set;

	set.docs = df;
	set.likely = df;
	set.among = df;
	set.lead = df;
	set.work = df * SKX_ESTIMATE_POSTING;
	set.lists = df > 0 ? 1 : 0;
	set.fill = df * SKX_ESTIMATE_FILLED + set.lists * SKX_ESTIMATE_WINDOW *
		ndocs / SKX_ESTIMATE_WINDOW_DOCS;
	set.pages = df / SKX_ESTIMATE_PAGE_POSTINGS;
	set.ask = set.lists * SKX_ESTIMATE_ASK;
	set.decode = set.lists * (df > ndocs / SKX_ESTIMATE_BITSETS ?
							  SKX_ESTIMATE_BITSET : SKX_ESTIMATE_SUBBLOCK);
	set.decoded = df / SKX_SUBBLOCK * set.decode;
	set.span = 1;
	set.phrase = false;
	return set;
}

/*
 * The documents are found by reading keys, or by the lists of their values, of
 * which there are at most `docs`.  To fill windows, each key is tested, which
 * is never less than testing those of documents that other sets leave.
 */
SkxEstimate
skx_estimate_keys(double docs, double met, double ndocs)
{
	SkxEstimate set;

	set.docs = docs;
	set.likely = docs;
	set.among = docs;
	set.lead = docs;
	set.work = Min(met * SKX_ESTIMATE_KEY, docs * SKX_ESTIMATE_VALUE);
	set.fill = set.work + ndocs * SKX_ESTIMATE_KEY_ASK;
	set.pages = met / SKX_ESTIMATE_PAGE_KEYS;
	set.lists = docs > 0 ? 1 : 0;
	set.ask = set.lists * SKX_ESTIMATE_KEY_ASK;
	set.decode = 0;
	set.decoded = 0;
	set.span = ndocs > 0 ? Min(met / ndocs, 1) : 1;
	set.phrase = false;
	return set;
}

SkxEstimate
skx_estimate_bits(double docs, double ndocs)
{
	SkxEstimate set = skx_estimate_word(docs, ndocs);

	set.work = 0;
	set.pages = 0;
	set.fill = set.lists * SKX_ESTIMATE_WINDOW * ndocs /
		SKX_ESTIMATE_WINDOW_DOCS;
	set.ask = set.lists * SKX_ESTIMATE_BIT;
	set.decode = 0;
	set.decoded = 0;
	set.lists = 0;
	return set;
}

double
skx_estimate_gathered(double lists, double postings, bool places)
{
	return lists * (SKX_ESTIMATE_LIST + (places ? SKX_ESTIMATE_PLACES : 0)) +
		postings * SKX_ESTIMATE_POSTING;
}

/*
 * Tests never decode more than that share of the set, and the sub-block in
 * which the share begins.
 */
double
skx_estimate_asked(const SkxEstimate *set, double n, double span)
{
	return n * set->ask +
		Min(n * set->decode,
			Min(set->decode + span * set->decoded, set->decoded));
}

double
skx_estimate_asked_pages(const SkxEstimate *set, double n, double span)
{
	return Min(n * set->lists,
			   Min(set->lists + span * set->pages, set->pages));
}

/*
 * Returns the conjunction of two sets if `lead` is traversed and `other` is
 * probed for each of its documents.
 */
static SkxEstimate
skx_estimate_filter(const SkxEstimate *lead, const SkxEstimate *other,
					double ndocs)
{
	SkxEstimate set;
	double		share = ndocs > 0 ? Min(lead->docs / ndocs, 1) : 0;

	set.docs = share * other->docs;
	set.likely = skx_estimate_together(lead->likely, other->likely, ndocs);
	set.among = sqrt(set.docs * set.likely);
	set.lead = lead->lead;
	set.work = lead->work + skx_estimate_asked(other, lead->docs, lead->span);
	set.fill = skx_estimate_windows_met(lead->docs, ndocs) *
		(lead->fill + other->fill);
	set.pages = lead->pages +
		skx_estimate_asked_pages(other, lead->docs, lead->span);
	set.ask = lead->ask + share * other->ask;
	set.decode = lead->decode + share * other->decode;
	set.decoded = lead->decoded + share * other->decoded;
	set.lists = lead->lists + share * other->lists;
	set.span = Min(lead->span, other->span);
	set.phrase = false;
	return set;
}

/* With windows, all pages of both sets are read. */
SkxEstimate
skx_estimate_both(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set = skx_estimate_filter(a, b, ndocs);
	SkxEstimate two = skx_estimate_filter(b, a, ndocs);
	double		fill = Min(set.fill, two.fill);

	if (two.work < set.work)
		set = two;
	set.fill = fill;
	if (fill < set.work)
	{
		set.work = fill;
		set.pages = a->pages + b->pages;
	}
	return set;
}

SkxEstimate
skx_estimate_not(const SkxEstimate *a, double ndocs)
{
	SkxEstimate set = *a;

	set.docs = Max(ndocs - a->docs, 0);
	set.likely = Max(ndocs - a->likely, 0);
	set.among = Max(ndocs - a->among, 0);
	set.lead = ndocs;
	set.work += ndocs * SKX_ESTIMATE_POSTING;
	set.span = 1;
	set.phrase = false;
	return set;
}

/* Returns how many documents are in one or both of two independent sets. */
static double
skx_estimate_union(double a, double b, double ndocs)
{
	return Max(a + b - (ndocs > 0 ? a * b / ndocs : 0), 0);
}

SkxEstimate
skx_estimate_either(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set;

	set.docs = skx_estimate_union(a->docs, b->docs, ndocs);
	set.likely = set.among = skx_estimate_union(a->among, b->among, ndocs);
	set.lead = a->lead + b->lead;
	set.work = a->work + b->work;
	set.fill = a->fill + b->fill;
	set.pages = a->pages + b->pages;
	set.ask = a->ask + b->ask;
	set.decode = a->decode + b->decode;
	set.decoded = a->decoded + b->decoded;
	set.lists = a->lists + b->lists;
	set.span = Min(a->span + b->span, 1);
	set.phrase = false;
	return set;
}

SkxEstimate
skx_estimate_phrase(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set = skx_estimate_both(a, b, ndocs);
	double		share = ndocs > 0 ? Min(set.docs / ndocs, 1) : 0;
	bool		longer = a->phrase || b->phrase;

	set.work += set.docs * SKX_ESTIMATE_POSITIONS;
	set.fill = set.work;
	set.pages += Min(2 * set.docs, set.pages);
	set.ask += share * SKX_ESTIMATE_POSITIONS;
	set.docs = skx_estimate_following(set.docs, longer);
	set.likely = skx_estimate_following(set.likely, longer);
	set.among = skx_estimate_following(set.among, longer);
	set.phrase = true;
	return set;
}
