/*
 * merge_together.c
 *	  A merge whose terms are written by several processes.
 *
 * The first process numbers the documents, and counts what deleted ones take
 * from terms.  The other processes find the maps, the norms and the places of
 * each input's counts in shared memory.  They open the inputs themselves.
 */
#include "postgres.h"

#include "support/fault/fault.h"
#include "utils/memutils.h"
#include "write/merge/merge_internal.h"

/*
 * Start of the shared memory.  The maps follow; `dead` and `norms` are the
 * offsets of the other parts.
 */
typedef struct SkxMergeCommon
{
	uint32		ninputs;
	Size		dead;
	Size		norms;
	double		average;		/* average length of the documents */
	uint64		total;			/* postings of the inputs */
	pg_atomic_uint64 done;		/* those that are merged so far */
} SkxMergeCommon;

#define SKX_COMMON_MAPS_OFFSET		MAXALIGN(sizeof(SkxMergeCommon))

Size
skx_merge_common_size(SkxMerge *m)
{
	MemoryContext old;
	Size		maps;

	if (m->nlive == 0 || !skx_merge_keeps_norms(m))
		return 0;
	old = MemoryContextSwitchTo(m->context);
	skx_merge_plan_maps(m);
	maps = skx_merge_maps_size(m->input_docs, m->ninputs, m->is_linear);
	MemoryContextSwitchTo(old);
	if (maps > skx_merge_map_memory(m))
		return 0;
	return SKX_COMMON_MAPS_OFFSET + MAXALIGN(maps) +
		MAXALIGN(skx_merge_dead_size(m->ninputs)) + m->nlive;
}

void
skx_merge_common_create(SkxMerge *m, void *shared, FileSet *files)
{
	MemoryContext old = MemoryContextSwitchTo(m->context);
	SkxMergeCommon *common = shared;

	common->ninputs = m->ninputs;
	common->dead = SKX_COMMON_MAPS_OFFSET +
		MAXALIGN(skx_merge_maps_size(m->input_docs, m->ninputs, m->is_linear));
	common->norms = common->dead + MAXALIGN(skx_merge_dead_size(m->ninputs));
	common->total = m->total;
	pg_atomic_init_u64(&common->done, 0);
	m->maps = skx_merge_maps_create_shared(m->input_docs, m->ninputs,
										   m->is_linear, (char *) shared +
										   SKX_COMMON_MAPS_OFFSET);
	skx_writer_documents_keep_norms(&m->out.docs,
									(uint8 *) shared + common->norms,
									(uint32) m->nlive);
	skx_merge_documents(m);
	SKX_FAULT(SKX_FAULT_MERGE_MAPPED);
	skx_merge_count(m, files);
	skx_merge_dead_share(m->dead_terms, (char *) shared + common->dead);
	common->average = (double) m->out.total_length / m->out.docs.ndocs;
	MemoryContextSwitchTo(old);
}

SkxSegmentOutput *
skx_merge_get_output(SkxMerge *m)
{
	return &m->out;
}

SkxMergeTerms *
skx_merge_terms_attach(SkxSegment **inputs, int ninputs, void *shared,
					   FileSet *files,
					   const SkxSegmentBuildOptions *options)
{
	SkxMergeCommon *common = shared;
	SkxMergeTermSource basis = {0};

	if (common->ninputs != ninputs)
		elog(ERROR, "a merge of %u segments got %d", common->ninputs, ninputs);
	basis.inputs = inputs;
	basis.ninputs = ninputs;
	basis.maps = skx_merge_maps_attach(ninputs,
									   (char *) shared +
									   SKX_COMMON_MAPS_OFFSET);
	basis.norms = (const uint8 *) shared + common->norms;
	basis.dead_terms = skx_merge_dead_attach(ninputs, files,
											 (char *) shared + common->dead);
	basis.merged_postings = &common->done;
	basis.total_postings = common->total;
	basis.progress = options->progress;
	return skx_merge_terms_open(&basis);
}

SkxTermWriter *
skx_merge_terms_writer(const SkxTermSinks *sinks,
					   const SkxSegmentBuildOptions *options, void *shared)
{
	const SkxMergeCommon *common = shared;

	return skx_writer_terms_begin(sinks, options,
								  (const uint8 *) shared + common->norms,
								  common->average);
}
