/*
 * pending_value.c
 *	  The tsvector of a pending document.
 *
 * A pending page carries no CRC, so a tsvector read from one is checked before
 * the offsets in it are followed.
 */
#include "postgres.h"

#include "index/document/document.h"
#include "index/pending/pending_internal.h"
#include "support/damage/damage.h"
#include "utils/memutils.h"

/* Checks a document of the walk's page; raises an error for damage. */
static void
skx_pending_value_check(SkxPendingWalk *walk, const SkxDiskPendingDoc *doc,
						const char *bytes, uint32 nbytes)
{
	const char *wrong;
	bool		as_taken;

	if (!walk->verified_is_known)
		walk->is_verified = skx_pending_page_is_verified(walk);
	walk->verified_is_known = true;
	if (walk->is_verified && nbytes > 0 &&
		(doc->flags & SKX_PENDING_CHAIN) == 0)
		return;
	wrong = skx_document_check_vector(bytes, nbytes, &as_taken);
	if (wrong == NULL && !as_taken)
		wrong = "has lexemes or positions that do not ascend";
	if (wrong != NULL)
		skx_damage_report_detail(walk->rel, walk->block,
								 "a pending tsvector %s", wrong);
}

TSVector
skx_pending_value(SkxPendingValue *memory, SkxPendingWalk *walk,
				  SkxDiskPendingDoc *doc)
{
	char	   *bytes = (char *) (doc + 1);
	uint32		nbytes = doc->nbytes;

	if (doc->flags & SKX_PENDING_CHAIN)
	{
		SkxDiskPendingChain chain;

		memcpy(&chain, bytes, sizeof(chain));
		if (chain.nbytes <= SKX_PENDING_INLINE_MAX ||
			chain.nbytes > MaxAllocSize)
			skx_damage_report(walk->rel, walk->block,
							  "a pending record has an impossible chain");
		if (chain.nbytes > memory->chain_size)
		{
			if (memory->chain != NULL)
				pfree(memory->chain);
			memory->chain = NULL;
			memory->chain = MemoryContextAlloc(memory->context,
											   chain.nbytes);
			memory->chain_size = chain.nbytes;
		}
		bytes = memory->chain;
		nbytes = chain.nbytes;
		skx_pending_chain_read(walk->rel, &walk->meta, &chain, walk->block,
							   bytes);
	}
	skx_pending_value_check(walk, doc, bytes, nbytes);
	if (skx_column_is_null((TSVector) bytes) !=
		((doc->flags & SKX_PENDING_NULL) != 0))
		skx_damage_report(walk->rel, walk->block,
						  "a pending document is NULL and is not");
	return (TSVector) bytes;
}
