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
#define SKX_ESTIMATE_PROBE_NS		5.5 /* a document that a list is probed
										 * for */
#define SKX_ESTIMATE_DECODE_NS	70.0	/* a sub-block decoded to probe */
#define SKX_ESTIMATE_BITSET_NS		40.0	/* a sub-block of bits tested to
											 * probe */
#define SKX_ESTIMATE_BITSET_RATIO	4	/* lists have bits if more than one in
										 * this many documents is in them */
#define SKX_ESTIMATE_BIT_NS		3.0 /* a document that is tested in bits */
#define SKX_ESTIMATE_FILL_NS		0.5 /* a posting that is put into a window */
#define SKX_ESTIMATE_WINDOW_NS		60.0	/* a window, for each list */

/*
 * Times to read each key in sequence, to probe for one key, and to read the
 * list of a value.
 */
#define SKX_ESTIMATE_KEY_NS		0.8
#define SKX_ESTIMATE_KEY_PROBE_NS	13.0
#define SKX_ESTIMATE_VALUE_NS		52.0

/* Keys of a column on one page of BLCKSZ. */
#define SKX_ESTIMATE_PAGE_KEYS	3000.0

/*
 * Time to compare the positions of a phrase in a document, for all of its
 * words together.
 */
#define SKX_ESTIMATE_PHRASE_NS	90.0

/*
 * Time to open one of many lists that are traversed to their ends, and what
 * reading the positions of its term adds.
 */
#define SKX_ESTIMATE_LIST_NS		250.0
#define SKX_ESTIMATE_LIST_POSITIONS_NS		1000.0

/* Documents in a window of bits. */
#define SKX_ESTIMATE_WINDOW_DOCS	4096.0

double
skx_estimate_windows_hit(double docs, double ndocs)
{
	double		windows = ndocs / SKX_ESTIMATE_WINDOW_DOCS;

	return windows < 1 ? 1 : 1 - exp(-docs / windows);
}

SkxEstimate
skx_estimate_word(double df, double ndocs)
{
	SkxEstimate set;

	set.docs = df;
	set.likely_docs = df;
	set.union_docs = df;
	set.lead_postings = df;
	set.find_time = df * SKX_ESTIMATE_POSTING_NS;
	set.probed_lists = df > 0 ? 1 : 0;
	set.fill_time = df * SKX_ESTIMATE_FILL_NS + set.probed_lists *
		SKX_ESTIMATE_WINDOW_NS *
		ndocs / SKX_ESTIMATE_WINDOW_DOCS;
	set.pages = df / SKX_ESTIMATE_PAGE_POSTINGS;
	set.probe_time = set.probed_lists * SKX_ESTIMATE_PROBE_NS;
	set.probe_decode_time = set.probed_lists *
		(df > ndocs / SKX_ESTIMATE_BITSET_RATIO ?
		 SKX_ESTIMATE_BITSET_NS : SKX_ESTIMATE_DECODE_NS);
	set.max_decode_time = df / SKX_SUBBLOCK * set.probe_decode_time;
	set.doc_span = 1;
	set.is_phrase = false;
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
	set.likely_docs = docs;
	set.union_docs = docs;
	set.lead_postings = docs;
	set.find_time = Min(met * SKX_ESTIMATE_KEY_NS,
						docs * SKX_ESTIMATE_VALUE_NS);
	set.fill_time = set.find_time + ndocs * SKX_ESTIMATE_KEY_PROBE_NS;
	set.pages = met / SKX_ESTIMATE_PAGE_KEYS;
	set.probed_lists = docs > 0 ? 1 : 0;
	set.probe_time = set.probed_lists * SKX_ESTIMATE_KEY_PROBE_NS;
	set.probe_decode_time = 0;
	set.max_decode_time = 0;
	set.doc_span = ndocs > 0 ? Min(met / ndocs, 1) : 1;
	set.is_phrase = false;
	return set;
}

SkxEstimate
skx_estimate_bits(double docs, double ndocs)
{
	SkxEstimate set = skx_estimate_word(docs, ndocs);

	set.find_time = 0;
	set.pages = 0;
	set.fill_time = set.probed_lists * SKX_ESTIMATE_WINDOW_NS * ndocs /
		SKX_ESTIMATE_WINDOW_DOCS;
	set.probe_time = set.probed_lists * SKX_ESTIMATE_BIT_NS;
	set.probe_decode_time = 0;
	set.max_decode_time = 0;
	set.probed_lists = 0;
	return set;
}

double
skx_estimate_gather_time(double lists, double postings, bool places)
{
	return lists * (SKX_ESTIMATE_LIST_NS +
					(places ? SKX_ESTIMATE_LIST_POSITIONS_NS : 0)) +
		postings * SKX_ESTIMATE_POSTING_NS;
}

/*
 * Tests never decode more than that share of the set, and the sub-block in
 * which the share begins.
 */
double
skx_estimate_probe_time(const SkxEstimate *set, double n, double span)
{
	return n * set->probe_time +
		Min(n * set->probe_decode_time,
			Min(set->probe_decode_time + span * set->max_decode_time,
				set->max_decode_time));
}

double
skx_estimate_probe_pages(const SkxEstimate *set, double n, double span)
{
	return Min(n * set->probed_lists,
			   Min(set->probed_lists + span * set->pages, set->pages));
}

/*
 * Returns the conjunction of two sets if `lead` is traversed and `other` is
 * probed for each of its documents.
 */
static SkxEstimate
skx_estimate_lead_and_probe(const SkxEstimate *lead, const SkxEstimate *other,
							double ndocs)
{
	SkxEstimate set;
	double		share = ndocs > 0 ? Min(lead->docs / ndocs, 1) : 0;

	set.docs = share * other->docs;
	set.likely_docs = skx_estimate_likely_and(lead->likely_docs,
											  other->likely_docs, ndocs);
	set.union_docs = sqrt(set.docs * set.likely_docs);
	set.lead_postings = lead->lead_postings;
	set.find_time = lead->find_time +
		skx_estimate_probe_time(other, lead->docs, lead->doc_span);
	set.fill_time = skx_estimate_windows_hit(lead->docs, ndocs) *
		(lead->fill_time + other->fill_time);
	set.pages = lead->pages +
		skx_estimate_probe_pages(other, lead->docs, lead->doc_span);
	set.probe_time = lead->probe_time + share * other->probe_time;
	set.probe_decode_time = lead->probe_decode_time + share *
		other->probe_decode_time;
	set.max_decode_time = lead->max_decode_time + share *
		other->max_decode_time;
	set.probed_lists = lead->probed_lists + share * other->probed_lists;
	set.doc_span = Min(lead->doc_span, other->doc_span);
	set.is_phrase = false;
	return set;
}

/* With windows, all pages of both sets are read. */
SkxEstimate
skx_estimate_and(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set = skx_estimate_lead_and_probe(a, b, ndocs);
	SkxEstimate two = skx_estimate_lead_and_probe(b, a, ndocs);
	double		fill = Min(set.fill_time, two.fill_time);

	if (two.find_time < set.find_time)
		set = two;
	set.fill_time = fill;
	if (fill < set.find_time)
	{
		set.find_time = fill;
		set.pages = a->pages + b->pages;
	}
	return set;
}

SkxEstimate
skx_estimate_not(const SkxEstimate *a, double ndocs)
{
	SkxEstimate set = *a;

	set.docs = Max(ndocs - a->docs, 0);
	set.likely_docs = Max(ndocs - a->likely_docs, 0);
	set.union_docs = Max(ndocs - a->union_docs, 0);
	set.lead_postings = ndocs;
	set.find_time += ndocs * SKX_ESTIMATE_POSTING_NS;
	set.doc_span = 1;
	set.is_phrase = false;
	return set;
}

/* Returns how many documents are in one or both of two independent sets. */
static double
skx_estimate_union(double a, double b, double ndocs)
{
	return Max(a + b - (ndocs > 0 ? a * b / ndocs : 0), 0);
}

SkxEstimate
skx_estimate_or(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set;

	set.docs = skx_estimate_union(a->docs, b->docs, ndocs);
	set.likely_docs = set.union_docs =
		skx_estimate_union(a->union_docs, b->union_docs, ndocs);
	set.lead_postings = a->lead_postings + b->lead_postings;
	set.find_time = a->find_time + b->find_time;
	set.fill_time = a->fill_time + b->fill_time;
	set.pages = a->pages + b->pages;
	set.probe_time = a->probe_time + b->probe_time;
	set.probe_decode_time = a->probe_decode_time + b->probe_decode_time;
	set.max_decode_time = a->max_decode_time + b->max_decode_time;
	set.probed_lists = a->probed_lists + b->probed_lists;
	set.doc_span = Min(a->doc_span + b->doc_span, 1);
	set.is_phrase = false;
	return set;
}

SkxEstimate
skx_estimate_phrase(const SkxEstimate *a, const SkxEstimate *b, double ndocs)
{
	SkxEstimate set = skx_estimate_and(a, b, ndocs);
	double		share = ndocs > 0 ? Min(set.docs / ndocs, 1) : 0;
	bool		longer = a->is_phrase || b->is_phrase;

	set.find_time += set.docs * SKX_ESTIMATE_PHRASE_NS;
	set.fill_time = set.find_time;
	set.pages += Min(2 * set.docs, set.pages);
	set.probe_time += share * SKX_ESTIMATE_PHRASE_NS;
	set.docs = skx_estimate_likely_phrase(set.docs, longer);
	set.likely_docs = skx_estimate_likely_phrase(set.likely_docs, longer);
	set.union_docs = skx_estimate_likely_phrase(set.union_docs, longer);
	set.is_phrase = true;
	return set;
}
