/*
 * writer_output.c
 *	  A segment in the making: its planes, and what goes into its header.
 *
 * A build and a merge differ only in where documents and terms come from.  All
 * else is here, so that a merged segment is what a build of the same documents
 * makes.
 */
#include "postgres.h"

#include "write/writer/writer.h"

/* Bytes that writers and planes take, but at most a quarter of the memory. */
#define SKX_OUTPUT_FIXED_BYTES	(4 * 1024 * 1024)

/*
 * Most bytes of a segment of level 0, and the ratio of each level's bytes to
 * those of the level below.  Levels are shown by statistics; merges do not use
 * them.
 */
#define SKX_LEVEL_BYTES		(UINT64CONST(4) * 1024 * 1024)
#define SKX_LEVEL_RATIO		8

Size
skx_writer_output_fixed(const SkxSegmentBuildOptions *options)
{
	return Min(SKX_OUTPUT_FIXED_BYTES, options->memory / 4);
}

void
skx_writer_output_init(SkxSegmentOutput *out,
					   const SkxSegmentBuildOptions *options)
{
	memset(out, 0, sizeof(*out));
	out->options = *options;
	out->fixed_bytes = skx_writer_output_fixed(options);
	skx_writer_planes_begin(out->planes, SKX_SEGMENT_NPLANES, options);
	skx_writer_documents_init(&out->docs, out->planes[SKX_SEGMENT_TIDS],
							  out->planes[SKX_SEGMENT_NORMS]);
	out->keys = skx_writer_keys_begin(out->planes[SKX_SEGMENT_KEYS],
									  &options->keys);
}

void
skx_writer_output_document(SkxSegmentOutput *out, ItemPointer tid,
						   uint8 norm, const SkxKey *keys)
{
	skx_writer_documents_add(&out->docs, tid, norm);
	skx_writer_keys_add(out->keys, keys);
	out->nnull += norm == SKX_NORM_NULL;
}

SkxTermWriter *
skx_writer_output_terms(SkxSegmentOutput *out)
{
	SkxTermSinks sinks = {skx_writer_plane_put,
		out->planes[SKX_SEGMENT_DICT], out->planes[SKX_SEGMENT_POSTINGS],
	out->planes[SKX_SEGMENT_POSITIONS]};

	out->terms = skx_writer_terms_begin(&sinks, &out->options,
										out->docs.all_norms,
										(double) out->total_length /
										out->docs.ndocs);
	return out->terms;
}

static uint16
skx_writer_output_level(uint64 npages)
{
	uint64		bytes = npages * BLCKSZ;
	uint64		most = SKX_LEVEL_BYTES;
	uint16		level = 0;

	while (bytes > most)
	{
		most *= SKX_LEVEL_RATIO;
		level++;
	}
	return level;
}

void
skx_writer_output_close(SkxSegmentOutput *out, const SkxTermTotals *totals,
						uint32 dict_root, SkxDiskSegmentRef *ref)
{
	uint32		ndocs = out->docs.ndocs;
	SkxDiskSegment header = {0};
	SkxDiskDeletes deletes = {0, SKX_DELETES_GROUPS_VALID};
	int			i;

	header.dict_root = dict_root;
	header.nterms = totals->nterms;
	header.npostings = totals->npostings;
	header.npositions = totals->npositions;
	skx_writer_documents_end(&out->docs);
	skx_writer_keys_end(out->keys);
	skx_writer_plane_put_zeros(out->planes[SKX_SEGMENT_DELETES],
							   (ndocs + SKX_DELETES_PER_PAGE - 1) /
							   SKX_DELETES_PER_PAGE,
							   sizeof(SkxDiskDeletes) + SKX_DELETES_BYTES,
							   &deletes, sizeof(deletes));
	header.format = out->options.format;
	header.salt = out->options.salt;
	header.segment = out->options.segment;
	header.block_size = out->options.block_size;
	header.ndocs = ndocs;
	header.nkeys = (uint16) out->options.keys.n;
	header.nnull = out->nnull;
	header.total_length = out->total_length;
	header.tid_pages = out->docs.tid_pages;
	for (i = 0; i < lengthof(header.weights); i++)
		header.weights[i] = 1.0;
	memset(ref, 0, sizeof(*ref));
	ref->salt = out->options.salt;
	ref->segment = out->options.segment;
	ref->ndocs = ndocs;
	ref->total_length = out->total_length;
	skx_writer_prefixes_make(out, &header);
	skx_writer_planes_finish(out->planes, SKX_SEGMENT_NPLANES, &header, ref);
	ref->level = skx_writer_output_level(ref->npages);
}

void
skx_writer_output_finish(SkxSegmentOutput *out, SkxDiskSegmentRef *ref)
{
	SkxTermTotals totals;
	uint32		root = skx_writer_terms_end(out->terms, &totals);

	skx_writer_output_close(out, &totals, root, ref);
}
