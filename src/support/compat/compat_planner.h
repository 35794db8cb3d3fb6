/*
 * compat_planner.h
 *	  What differs between server versions for planning, executing and
 *	  explaining scans, and for planning builds; see compat.h.
 */
#ifndef SKX_COMPAT_PLANNER_H
#define SKX_COMPAT_PLANNER_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* Ascending order, wherever NULLs come? */
static inline bool
skx_compat_pathkey_ascends(const PathKey *key)
{
#if PG_VERSION_NUM >= 180000
	return key->pk_cmptype == COMPARE_LT;
#else
	return key->pk_strategy == BTLessStrategyNumber;
#endif
}

#if PG_VERSION_NUM < 180000
/* bms_is_member() without a call: a class has a member of each partition. */
static inline bool
skx_compat_has_relid(const Bitmapset *relids, Index relid)
{
	int			word = relid / BITS_PER_BITMAPWORD;

	return relids != NULL && word < relids->nwords &&
		(relids->words[word] >> (relid % BITS_PER_BITMAPWORD) & 1) != 0;
}
#endif

/*
 * What is equal, in terms of the table or partition alone (18 keeps members of
 * partitions apart).
 */
static inline List *
skx_compat_class_members(EquivalenceClass *class, const RelOptInfo *rel)
{
	List	   *members = NIL;
	EquivalenceMember *member;

#if PG_VERSION_NUM >= 180000
	EquivalenceMemberIterator iterator;

	setup_eclass_member_iterator(&iterator, class, rel->relids);
	while ((member = eclass_member_iterator_next(&iterator)) != NULL)
	{
		if (bms_equal(member->em_relids, rel->relids))
			members = lappend(members, member);
	}
#else
	ListCell   *lc;

	foreach(lc, class->ec_members)
	{
		member = lfirst(lc);
		if (skx_compat_has_relid(member->em_relids, rel->relid) &&
			bms_equal(member->em_relids, rel->relids))
			members = lappend(members, member);
	}
#endif
	return members;
}

/*
 * A key that says how values are compared, and not which: all that the plan of
 * an Index Scan takes from the keys of its path.
 */
static inline PathKey *
skx_compat_ascending_key(Oid family)
{
	PathKey    *key = makeNode(PathKey);

	key->pk_opfamily = family;
#if PG_VERSION_NUM >= 180000
	key->pk_cmptype = COMPARE_LT;
#else
	key->pk_strategy = BTLessStrategyNumber;
#endif
	return key;
}

/* Is a column NOT NULL, and known to be (18 has constraints not validated)? */
static inline bool
skx_compat_is_not_null(const RelOptInfo *rel, Oid table, AttrNumber column)
{
#if PG_VERSION_NUM >= 170000
	return bms_is_member(column, rel->notnullattnums);
#else
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table),
										Int16GetDatum(column));
	bool		not_null = HeapTupleIsValid(tuple) &&
		((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return not_null;
#endif
}

/*
 * Makes a column of a query one of an index expression, for equal(): without
 * the outer joins that may make a NULL of it (16), and whatever row of
 * RETURNING it is of (18).
 */
static inline void
skx_compat_plain_var(Var *var)
{
#if PG_VERSION_NUM >= 160000
	var->varnullingrels = NULL;
#endif
#if PG_VERSION_NUM >= 180000
	var->varreturningtype = VAR_RETURNING_DEFAULT;
#endif
}

/* What a column of the grouping step is of (18); NULL where it is none. */
static inline Node *
skx_compat_group_column(const RangeTblEntry *rte, AttrNumber column)
{
#if PG_VERSION_NUM >= 180000
	if (rte->rtekind == RTE_GROUP && column > 0 &&
		column <= list_length(rte->groupexprs))
		return (Node *) list_nth(rte->groupexprs, column - 1);
#endif
	return NULL;
}

/* Begins the scan of an Index Scan as its first fetch would. */
static inline IndexScanDesc
skx_compat_begin_index_scan(IndexScanState *state)
{
	return index_beginscan(state->ss.ss_currentRelation,
						   state->iss_RelationDesc,
						   state->ss.ps.state->es_snapshot,
#if PG_VERSION_NUM >= 190000
						   state->iss_Instrument,
#elif PG_VERSION_NUM >= 180000
						   &state->iss_Instrument,
#endif
						   state->iss_NumScanKeys,
						   state->iss_NumOrderByKeys
#if PG_VERSION_NUM >= 190000
						   ,SO_NONE
#endif
		);
}

/* Parameters of amestimateparallelscan, which a fixed size needs none of. */
#if PG_VERSION_NUM >= 180000
#define SKX_COMPAT_ESTIMATE_PARALLEL	Relation index, int nkeys, int norderbys
#elif PG_VERSION_NUM >= 170000
#define SKX_COMPAT_ESTIMATE_PARALLEL	int nkeys, int norderbys
#else
#define SKX_COMPAT_ESTIMATE_PARALLEL	void
#endif

/* Where the access method's part of what a parallel scan shares is. */
static inline void *
skx_compat_parallel_part(ParallelIndexScanDesc shared)
{
#if PG_VERSION_NUM >= 180000
	return (char *) shared + shared->ps_offset_am;
#else
	return (char *) shared + shared->ps_offset;
#endif
}

/* For each column of `to`, the one of that name in `from`. */
#if PG_VERSION_NUM >= 160000
#define skx_compat_attrmap(from, to)	build_attrmap_by_name(from, to, false)
#else
#define skx_compat_attrmap(from, to)	build_attrmap_by_name(from, to)
#endif

/* ---- scans that are not the executor's ---- */

#if PG_VERSION_NUM >= 190000
#define skx_compat_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define skx_compat_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys)
#else
#define skx_compat_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#endif

#if PG_VERSION_NUM >= 190000
#define skx_compat_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan, SO_NONE)
#else
#define skx_compat_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan)
#endif

/* One more descent of the index, for EXPLAIN ANALYZE of 18. */
#if PG_VERSION_NUM >= 180000
#define skx_compat_count_search(scan) \
	do { \
		if ((scan)->instrument) \
			(scan)->instrument->nsearches++; \
	} while (0)
#else
#define skx_compat_count_search(scan)	((void) (scan))
#endif

/*
 * compat_explain.c : has EXPLAIN call `what` for each node of a plan, where the
 * server can be asked to (from 18 on); parent: the node above, NULL: none
 */
#define SKX_COMPAT_EXPLAIN_NODES	(PG_VERSION_NUM >= 180000)

typedef void (*SkxCompatExplain) (PlanState *node, const Node *parent,
								  ExplainState *es);

extern void skx_compat_explain_nodes(SkxCompatExplain what);

/* ---- parallel index builds ---- */

/*
 * Workers that the planner grants a build of `index` on `heap`, 0 where there
 * can be none.  Since 17 the server has asked it already, for access methods
 * that say that they can.
 */
extern int	skx_compat_build_workers(Relation heap, Relation index,
									 struct IndexInfo *info);

#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_SET_BUILD_PARALLEL(am)	((am)->amcanbuildparallel = true)
#else
#define SKX_COMPAT_SET_BUILD_PARALLEL(am)	((void) (am))
#endif

#endif							/* SKX_COMPAT_PLANNER_H */
