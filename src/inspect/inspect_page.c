/*
 * inspect_page.c
 *	  SQL function that shows what one page of an index says of itself.
 *
 * It is for pages that are suspected to be damaged: it reads nothing but that
 * page, trusts none of its fields, and raises no error for what it finds.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/disk/disk_keys.h"
#include "format/disk/disk_meta.h"
#include "format/disk/disk_pending.h"
#include "format/disk/disk_segment.h"
#include "fmgr.h"
#include "funcapi.h"
#include "inspect/inspect.h"
#include "inspect/inspect_internal.h"
#include "mb/pg_wchar.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(skipidx_page);

/* Adds the row (field, value). */
static void
skx_inspect_put_field(ReturnSetInfo *rows, const char *field,
					  const char *value)
{
	Datum		values[2] = {
		CStringGetTextDatum(field), CStringGetTextDatum(value)
	};
	bool		nulls[2] = {false, false};

	tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
}

static void
skx_inspect_put_number(ReturnSetInfo *rows, const char *field, uint64 value)
{
	skx_inspect_put_field(rows, field, psprintf(UINT64_FORMAT, value));
}

/* Adds a row with a block number, which may be that of no block. */
static void
skx_inspect_put_block(ReturnSetInfo *rows, const char *field,
					  BlockNumber block)
{
	if (block == InvalidBlockNumber)
		skx_inspect_put_field(rows, field, "none");
	else
		skx_inspect_put_number(rows, field, block);
}

/*
 * The kinds of page.  Each function gets the content of a page, aligned, and
 * may read a page's capacity of it.
 */

static void
skx_inspect_page_format(ReturnSetInfo *rows, const SkxDiskFormat *format)
{
	char		text[SKX_RELEASE_TEXT];

	skx_inspect_put_number(rows, "format version", format->number);
	skx_inspect_put_field(rows, "oldest reader",
						  skx_disk_release_print(format->oldest_reader, text));
	skx_inspect_put_field(rows, "written by",
						  skx_disk_release_print(format->writer, text));
	skx_inspect_put_number(rows, "features that may be ignored",
						   format->may_ignore);
	skx_inspect_put_number(rows, "features that may be read",
						   format->may_read);
	skx_inspect_put_number(rows, "features that must be known",
						   format->must_know);
}

static void
skx_inspect_page_meta(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskMeta *meta = (const SkxDiskMeta *) content;

	skx_inspect_page_format(rows, &meta->format);
	skx_inspect_put_number(rows, "generation", meta->generation);
	skx_inspect_put_number(rows, "block size", meta->block_size);
	skx_inspect_put_block(rows, "root", meta->root);
	skx_inspect_put_number(rows, "next segment", meta->next_segment);
	skx_inspect_put_number(rows, "allocated pages", meta->nblocks);
	skx_inspect_put_number(rows, "free extents in pool", meta->npool);
}

static void
skx_inspect_page_root(ReturnSetInfo *rows, const char *content,
					  uint32 ordinal)
{
	const SkxDiskRootPage *page = (const SkxDiskRootPage *) content;
	const SkxDiskRoot *root = (const SkxDiskRoot *) (page + 1);

	skx_inspect_put_block(rows, "next page", page->next);
	skx_inspect_put_number(rows, "bytes", page->nbytes);
	if (ordinal != 0)
		return;
	skx_inspect_put_number(rows, "segments", root->nsegments);
	skx_inspect_put_number(rows, "stripes", root->nstripes);
	skx_inspect_put_number(rows, "extents", root->nextents);
	skx_inspect_put_number(rows, "operations", root->noperations);
}

static void
skx_inspect_page_stripe(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskStripe *stripe = (const SkxDiskStripe *) content;

	skx_inspect_put_number(rows, "next document", stripe->next_sequence);
	skx_inspect_put_number(rows, "dead documents", stripe->ndead);
	skx_inspect_put_number(rows, "null documents", stripe->nnull);
	skx_inspect_put_number(rows, "bytes of documents", stripe->nbytes);
	skx_inspect_put_block(rows, "first page", stripe->first);
	skx_inspect_put_block(rows, "last page", stripe->tail);
	skx_inspect_put_number(rows, "pages", stripe->npages);
}

static void
skx_inspect_page_pending(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskPendingPage *page = (const SkxDiskPendingPage *) content;

	skx_inspect_put_number(rows, "first document", page->first_sequence);
	skx_inspect_put_number(rows, "documents", page->nrecords);
	skx_inspect_put_block(rows, "next page", page->next);
}

static void
skx_inspect_page_chain(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskChainPage *page = (const SkxDiskChainPage *) content;

	skx_inspect_put_number(rows, "bytes of document", page->nbytes);
	skx_inspect_put_block(rows, "next page", page->next);
}

/* The fields of a segment header, which begins on the page with ordinal 0. */
static void
skx_inspect_page_header(ReturnSetInfo *rows, const char *content,
						uint32 ordinal)
{
	static const char *const planes[SKX_SEGMENT_NPLANES] = {
		"tids pages", "norms pages", "keys pages", "dictionary pages",
		"postings pages", "positions pages", "deletes pages",
		"prefixes pages", "prefix postings pages"
	};
	const SkxDiskSegment *header = (const SkxDiskSegment *) content;

	if (ordinal != 0)
		return;
	skx_inspect_page_format(rows, &header->format);
	skx_inspect_put_number(rows, "documents", header->ndocs);
	skx_inspect_put_number(rows, "null documents", header->nnull);
	skx_inspect_put_number(rows, "terms", header->nterms);
	skx_inspect_put_number(rows, "postings", header->npostings);
	skx_inspect_put_number(rows, "positions", header->npositions);
	skx_inspect_put_number(rows, "dictionary root", header->dict_root);
	skx_inspect_put_number(rows, "prefixes", header->nprefixes);
	skx_inspect_put_number(rows, "columns with keys", header->nkeys);
	for (int i = 0; i < SKX_SEGMENT_NPLANES; i++)
		skx_inspect_put_number(rows, planes[i], header->planes[i].npages);
}

/* Adds the key of the first entry of a dictionary page, if it can be read. */
static void
skx_inspect_page_key(ReturnSetInfo *rows, const char *content)
{
	const uint8 *src = (const uint8 *) content + sizeof(SkxDiskDictPage);
	const uint8 *end = (const uint8 *) content + SKX_PAGE_CAPACITY;
	uint32		shared;
	uint32		n = 0;

	src = skx_codec_varint32_get(src, end, &shared);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &n);
	if (src == NULL || shared != 0 || n > SKX_LEXEME_MAX || n > end - src)
	{
		skx_inspect_put_field(rows, "first key", "not readable");
		return;
	}
	/* values of columns are terms, too, and those are bytes */
	if (n > 0 && memchr(src, '\0', n) == NULL &&
		pg_verifymbstr((const char *) src, n, true))
		skx_inspect_put_field(rows, "first key",
							  pnstrdup((const char *) src, n));
	else
	{
		char	   *hex = palloc(2 * n + 1);

		hex[hex_encode((const char *) src, n, hex)] = '\0';
		skx_inspect_put_field(rows, "first key (hex)", hex);
	}
}

static void
skx_inspect_page_dict(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskDictPage *page = (const SkxDiskDictPage *) content;

	skx_inspect_put_number(rows, "level", page->level);
	skx_inspect_put_number(rows, "entries", page->nentries);
	if (page->level == 0)
	{
		skx_inspect_put_number(rows, "first term", page->first_term);
		skx_inspect_put_number(rows, "first postings page",
							   page->postings_page);
		skx_inspect_put_number(rows, "first positions page",
							   page->positions_page);
	}
	skx_inspect_page_key(rows, content);
}

static void
skx_inspect_page_deletes(ReturnSetInfo *rows, const char *content)
{
	const SkxDiskDeletes *page = (const SkxDiskDeletes *) content;

	skx_inspect_put_number(rows, "deleted documents", page->ndeleted);
}

/* Adds what the content of a page says, as far as its head alone tells. */
static void
skx_inspect_page_content(ReturnSetInfo *rows, const char *page)
{
	const SkxDiskTrailer *trailer = skx_disk_const_trailer(page);
	const char *content = page + SKX_PAGE_START;

	switch ((SkxPlane) trailer->plane)
	{
		case SKX_PLANE_META:
			skx_inspect_page_meta(rows, content);
			break;
		case SKX_PLANE_ROOT:
			skx_inspect_page_root(rows, content, trailer->ordinal);
			break;
		case SKX_PLANE_STRIPE:
			skx_inspect_page_stripe(rows, content);
			break;
		case SKX_PLANE_PENDING:
			skx_inspect_page_pending(rows, content);
			break;
		case SKX_PLANE_CHAIN:
			skx_inspect_page_chain(rows, content);
			break;
		case SKX_PLANE_DELETES:
			skx_inspect_page_deletes(rows, content);
			break;
		case SKX_PLANE_HEADER:
			skx_inspect_page_header(rows, content, trailer->ordinal);
			break;
		case SKX_PLANE_DICT:
		case SKX_PLANE_PREFIXES:
			skx_inspect_page_dict(rows, content);
			break;
		case SKX_PLANE_TIDS:
		case SKX_PLANE_NORMS:
		case SKX_PLANE_KEYS:
		case SKX_PLANE_POSTINGS:
		case SKX_PLANE_POSITIONS:
		case SKX_PLANE_PREFIX_POSTINGS:
			break;
	}
}

/* Returns the name of a kind of page. */
static const char *
skx_inspect_page_kind(uint8 plane)
{
	static const char *const mutable[] = {
		"metapage", "root", "stripe", "pending", "chain", "deletes"
	};
	static const char *const immutable[] = {
		"header", "tids", "norms", "keys", "dictionary", "postings",
		"positions", "prefixes", "prefix postings"
	};

	if (plane >= SKX_PLANE_META && plane <= SKX_PLANE_DELETES)
		return mutable[plane - SKX_PLANE_META];
	if (plane >= SKX_PLANE_HEADER && plane <= SKX_PLANE_LAST)
		return immutable[plane - SKX_PLANE_HEADER];
	return "unknown";
}

/* Adds what header and trailer of a page that is not new say. */
static void
skx_inspect_page_identity(ReturnSetInfo *rows, const char *page)
{
	const SkxDiskTrailer *trailer = skx_disk_const_trailer(page);
	SkxPageIdentity id;
	XLogRecPtr	lsn = PageGetLSN((Page) unconstify(char *, page));
	const char *wrong;

	id.incarnation = trailer->incarnation;
	id.segment = trailer->segment;
	id.ordinal = trailer->ordinal;
	id.plane = trailer->plane;
	wrong = skx_disk_page_check(page, &id);
	skx_inspect_put_field(rows, "kind", skx_inspect_page_kind(trailer->plane));
	skx_inspect_put_field(rows, "damage", wrong == NULL ? "none" : wrong);
	skx_inspect_put_field(rows, "index incarnation",
						  psprintf("%08x%08x",
								   (uint32) (trailer->incarnation >> 32),
								   (uint32) trailer->incarnation));
	skx_inspect_put_number(rows, "segment", trailer->segment);
	skx_inspect_put_number(rows, "ordinal", trailer->ordinal);
	skx_inspect_put_number(rows, "page version", trailer->version);
	skx_inspect_put_field(rows, "lsn",
						  psprintf("%X/%08X", (uint32) (lsn >> 32),
								   (uint32) lsn));
}

/* Returns what one page says of itself as rows (field, value). */
Datum
skipidx_page(PG_FUNCTION_ARGS)
{
	int64		block = PG_GETARG_INT64(1);
	ReturnSetInfo *rows = (ReturnSetInfo *) fcinfo->resultinfo;
	SkxCheck	check = {0};
	SkxCheckPage page;
	bool		sound;

	skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_OWNER, &check.heap,
					 &check.index);
	check.file_pages = RelationGetNumberOfBlocks(check.index);
	if (block < 0 || block >= check.file_pages)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number " INT64_FORMAT " is out of range for index \"%s\"",
						block, RelationGetRelationName(check.index)),
				 errdetail("The index has %u blocks.", check.file_pages)));
	InitMaterializedSRF(fcinfo, 0);
	skx_inspect_page_alloc(&page);
	sound = skx_inspect_page_read(&check, (BlockNumber) block, &page);
	if (PageIsNew((Page) page.data))
		skx_inspect_put_field(rows, "kind", "unused");
	else
	{
		skx_inspect_page_identity(rows, page.data);
		skx_inspect_put_field(rows, "server checksum",
							  sound ? "right" : "wrong");
		skx_inspect_page_content(rows, page.data);
	}
	skx_inspect_close(check.heap, check.index);
	return (Datum) 0;
}
