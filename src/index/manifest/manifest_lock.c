/*
 * manifest_lock.c
 *	  Heavyweight locks: of the metapage, and of operations.
 *
 * The lock of an operation is a heavyweight lock on an object: the index, with
 * the operation's kind as sub-object.  (It is no page lock, because none may
 * be held while another is taken.)  A backend that gets the lock knows that
 * operations of the kind in the root have ended without taking back what they
 * reserved.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "index/manifest/manifest_internal.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

void
skx_manifest_operation_tag(LOCKTAG *tag, Relation rel, uint32 kind)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, RelationRelationId,
					   RelationGetRelid(rel), kind);
}

#ifdef USE_ASSERT_CHECKING
bool
skx_manifest_holds_lock(Relation rel, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_PAGE(tag, rel->rd_lockInfo.lockRelId.dbId,
					 rel->rd_lockInfo.lockRelId.relId, SKX_META_BLOCK);
	return skx_compat_lock_held(&tag, mode);
}

bool
skx_manifest_holds_operation(Relation rel, uint32 kind)
{
	LOCKTAG		tag;

	skx_manifest_operation_tag(&tag, rel, kind);
	return skx_compat_lock_held(&tag, ExclusiveLock);
}
#endif

/*
 * Returns true if no process has joined an operation of the kind.  Processes
 * that have joined one may outlive the first process, and write to the pages
 * that it has reserved.
 */
static bool
skx_manifest_operation_is_alone(Relation rel, uint32 kind, bool wait)
{
	LOCKTAG		tag;

	skx_manifest_operation_tag(&tag, rel, SKX_OPERATION_JOINED(kind));
	if (LockAcquire(&tag, ExclusiveLock, false, !wait) ==
		LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&tag, ExclusiveLock, false);
	return true;
}

bool
skx_manifest_operation_lock(Relation rel, uint32 kind, bool wait)
{
	LOCKTAG		tag;

	/* it comes before the metapage's */
	Assert(!skx_manifest_holds_lock(rel, AccessShareLock));
	Assert(kind >= SKX_OPERATION_FLUSH && kind <= SKX_OPERATION_MERGE);
	skx_manifest_operation_tag(&tag, rel, kind);
	switch (LockAcquire(&tag, ExclusiveLock, false, !wait))
	{
		case LOCKACQUIRE_NOT_AVAIL:
			return false;
		case LOCKACQUIRE_OK:
			if (skx_manifest_operation_is_alone(rel, kind, wait))
				return true;
			break;
		default:
			/* this backend is in the middle of one */
			break;
	}
	LockRelease(&tag, ExclusiveLock, false);
	return false;
}

void
skx_manifest_operation_unlock(Relation rel, uint32 kind)
{
	LOCKTAG		tag;

	Assert(skx_manifest_holds_operation(rel, kind));
	skx_manifest_operation_tag(&tag, rel, kind);
	LockRelease(&tag, ExclusiveLock, false);
}

bool
skx_manifest_lock(Relation rel, bool wait)
{
	SkxDiskMeta meta;

	Assert(!skx_manifest_holds_lock(rel, AccessShareLock));
	if (wait)
		LockPage(rel, SKX_META_BLOCK, ExclusiveLock);
	else if (!ConditionalLockPage(rel, SKX_META_BLOCK, ExclusiveLock))
		return false;
	skx_manifest_meta(rel, &meta);
	skx_manifest_check_writable(rel, &meta);
	return true;
}

void
skx_manifest_unlock(Relation rel)
{
	Assert(skx_manifest_holds_lock(rel, ExclusiveLock));
	UnlockPage(rel, SKX_META_BLOCK, ExclusiveLock);
}
