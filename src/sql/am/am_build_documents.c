/*
 * am_build_documents.c
 *	  Hands over the rows of a table scan as documents in TID order.
 *
 * The scan visits heap pages in order.  But it reports a HOT chain at its
 * newest tuple, with the TID of its oldest.  So the documents of one heap page
 * are collected and sorted.  Their memory is limited: values beyond the limit
 * are kept in a temporary file.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "index/column/column.h"
#include "index/document/document.h"
#include "sql/am/am_build.h"
#include "storage/buffile.h"
#include "utils/memutils.h"

StaticAssertDecl(SKX_AM_PAGE_DOCS <= SKX_DOC_MAX - SKX_SEGMENT_DOCS_MAX,
				 "a segment is looked at after each page");

/* A value that is kept of a document; with size 0 there is none. */
typedef struct SkxBuildValue
{
	bool		in_file;
	struct varlena *value;		/* as in the table; unless in_file */
	int			fileno;			/* with `offset`, where in the file it is */
	off_t		offset;
	Size		size;
} SkxBuildValue;

/* A document of the heap page being read. */
typedef struct SkxBuildDoc
{
	ItemPointerData tid;
	SkxBuildValue text;			/* none if it is NULL */
	SkxBuildValue values;		/* lexemes of other columns; none if the index
								 * has no other column */
} SkxBuildDoc;

struct SkxBuildDocuments
{
	SkxBuildSink sink;
	const SkxColumns *columns;
	BlockNumber heap_block;
	int			ndocs;
	SkxBuildDoc docs[SKX_AM_PAGE_DOCS];
	MemoryContext context;
	MemoryContext page_context; /* of the values of `docs` */
	MemoryContext doc_context;	/* of the document being handed over */
	Size		page_bytes;		/* of the values in memory */
	Size		page_limit;
	BufFile    *file;			/* values past the limit */
};

SkxBuildDocuments *
skx_am_documents_begin(Relation index, const SkxBuildSink *sink, Size memory)
{
	SkxBuildDocuments *b = palloc0(sizeof(SkxBuildDocuments));

	b->sink = *sink;
	b->columns = skx_column_all(index);
	b->heap_block = InvalidBlockNumber;
	b->context = CurrentMemoryContext;
	b->page_limit = memory;
	b->page_context = AllocSetContextCreate(CurrentMemoryContext,
											"skipidx build page",
											ALLOCSET_DEFAULT_SIZES);
	b->doc_context = AllocSetContextCreate(CurrentMemoryContext,
										   "skipidx build document",
										   ALLOCSET_DEFAULT_SIZES);
	return b;
}

static int
skx_am_documents_compare(const void *a, const void *b)
{
	OffsetNumber x = ItemPointerGetOffsetNumber(&((const SkxBuildDoc *) a)->tid);
	OffsetNumber y = ItemPointerGetOffsetNumber(&((const SkxBuildDoc *) b)->tid);

	return (x > y) - (x < y);
}

static struct varlena *
skx_am_documents_value(SkxBuildDocuments *b, const SkxBuildValue *kept)
{
	struct varlena *value;

	if (!kept->in_file)
		return kept->value;
	value = palloc(kept->size);
	if (BufFileSeek(b->file, kept->fileno, kept->offset, SEEK_SET) != 0 ||
		BufFileRead(b->file, value, kept->size) != kept->size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index build: %m")));
	return value;
}

/*
 * Hands over the documents of the heap page that has been read, and returns
 * how many they are.
 */
static int
skx_am_documents_flush(SkxBuildDocuments *b)
{
	MemoryContext old = CurrentMemoryContext;
	int			ndocs = b->ndocs;
	int			i;

	qsort(b->docs, b->ndocs, sizeof(SkxBuildDoc), skx_am_documents_compare);
	for (i = 0; i < b->ndocs; i++)
	{
		SkxBuildDoc *doc = &b->docs[i];
		TSVector	text;
		TSVector	document;

		MemoryContextSwitchTo(b->doc_context);
		text = skx_document_datum(PointerGetDatum(skx_am_documents_value(b, &doc->text)),
								  doc->text.size == 0, &doc->tid);
		document = skx_document_join((TSVector)
									 skx_am_documents_value(b, &doc->values),
									 text);
		MemoryContextSwitchTo(old);
		b->sink.document(b->sink.arg, &doc->tid, document);
		MemoryContextReset(b->doc_context);
	}
	b->ndocs = 0;
	b->page_bytes = 0;
	MemoryContextReset(b->page_context);
	if (b->file != NULL)
		BufFileClose(b->file);
	b->file = NULL;
	return ndocs;
}

/* Keeps a value until its heap page has been read. */
static void
skx_am_documents_keep_value(SkxBuildDocuments *b, SkxBuildValue *kept,
							struct varlena *value)
{
	kept->size = VARSIZE_ANY(value);
	kept->in_file = b->page_bytes + kept->size > b->page_limit;
	if (!kept->in_file)
	{
		kept->value = MemoryContextAlloc(b->page_context, kept->size);
		memcpy(kept->value, value, kept->size);
		b->page_bytes += kept->size;
		return;
	}
	if (b->file == NULL)
		b->file = BufFileCreateTemp(false);
	BufFileTell(b->file, &kept->fileno, &kept->offset);
	BufFileWrite(b->file, value, kept->size);
}

void
skx_am_documents_callback(Relation index, ItemPointer tid, Datum *values,
						  bool *isnull, bool alive, void *arg)
{
	SkxBuildDocuments *b = arg;
	BlockNumber heap_block = ItemPointerGetBlockNumber(tid);
	MemoryContext old;
	SkxBuildDoc *doc;
	TSVector	others;

	old = MemoryContextSwitchTo(b->context);
	if (heap_block != b->heap_block)
	{
		int			ndocs = skx_am_documents_flush(b);

		if (ndocs > 0)
			b->sink.page(b->sink.arg, b->heap_block, ndocs);
		b->heap_block = heap_block;
	}
	if (b->ndocs == lengthof(b->docs))
		elog(ERROR, "too many rows on one page of the table");
	doc = &b->docs[b->ndocs++];
	memset(doc, 0, sizeof(*doc));
	doc->tid = *tid;
	if (!isnull[0])
		skx_am_documents_keep_value(b, &doc->text, (struct varlena *)
									DatumGetPointer(values[0]));
	others = skx_column_values(b->columns, values, isnull);
	if (others != NULL)
	{
		skx_am_documents_keep_value(b, &doc->values,
									(struct varlena *) others);
		pfree(others);
	}
	MemoryContextSwitchTo(old);
}

void
skx_am_documents_end(SkxBuildDocuments *b)
{
	int			ndocs = skx_am_documents_flush(b);

	if (ndocs > 0)
		b->sink.page(b->sink.arg, b->heap_block, ndocs);
	MemoryContextDelete(b->page_context);
	MemoryContextDelete(b->doc_context);
	pfree(b);
}
