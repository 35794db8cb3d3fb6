/*
 * compat_planner.h
 *	  Hides the differences between server versions in planning, executing and
 *	  explaining scans, and in planning builds (see compat.h).
 */
#ifndef SKX_COMPAT_PLANNER_H
#define SKX_COMPAT_PLANNER_H

#include "access/genam.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "optimizer/paths.h"
#include "parser/parse_relation.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* Returns true if the order of a key is ascending, wherever NULLs come. */
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
/*
 * bms_is_member() as an inline function.  It is called for each member of an
 * equivalence class, which before 18 has a member for each partition.
 */
static inline bool
skx_compat_has_relid(const Bitmapset *relids, Index relid)
{
	int			word = relid / BITS_PER_BITMAPWORD;

	return relids != NULL && word < relids->nwords &&
		(relids->words[word] >> (relid % BITS_PER_BITMAPWORD) & 1) != 0;
}
#endif

/*
 * Returns the members of an equivalence class that have columns of the table
 * or partition alone.  (From 18 on the server keeps members of partitions
 * apart.)
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
 * Returns a key of ascending order in an operator family, without a class of
 * values.  The plan of an Index Scan takes no more from the keys of its path.
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

/*
 * Returns true if a column of a table cannot be NULL.  From 18 on NOT NULL
 * constraints that are not validated do not count.
 */
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
 * Changes a column of a query into the form that index expressions have, to
 * compare both by equal().  It clears the outer joins that may make it NULL
 * (from 16 on), and which row of RETURNING it belongs to (from 18 on).
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

/*
 * Lets the check of rights ask for SELECT on further columns (numbers as in
 * pull_varattnos()) of a table of the query, if the statement has `column` of
 * it.  Where the rights are those of a view's owner, returns true only if the
 * view has these columns already.
 */
static inline bool
skx_compat_need_select(Query *query, RangeTblEntry *rte, AttrNumber column,
					   Bitmapset *columns)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *rights = rte->perminfoindex == 0 ? NULL :
		getRTEPermissionInfo(query->rteperminfos, rte);
#else
	RangeTblEntry *rights = rte;
#endif

	if (rights == NULL || rights->requiredPerms == 0 ||
		!bms_is_member(column - FirstLowInvalidHeapAttributeNumber,
					   rights->selectedCols) ||
		bms_is_subset(columns, rights->selectedCols))
		return true;
	if (OidIsValid(rights->checkAsUser))
		return false;
	rights->selectedCols = bms_union(rights->selectedCols, columns);
	return true;
}

/*
 * Returns the grouping expression that a column of a grouping step stands for
 * (from 18 on); NULL if `rte` is not such a step.
 */
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

/* What EXPLAIN ANALYZE counts and times of a node. */
#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation SkxInstrumentation;
#else
typedef Instrumentation SkxInstrumentation;
#endif

/* Begins and returns the scan of an Index Scan, as its first fetch would. */
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

/* The parameters of amestimateparallelscan; an estimate ignores them. */
#if PG_VERSION_NUM >= 180000
#define SKX_COMPAT_ESTIMATE_PARALLEL	Relation index, int nkeys, int norderbys
#elif PG_VERSION_NUM >= 170000
#define SKX_COMPAT_ESTIMATE_PARALLEL	int nkeys, int norderbys
#else
#define SKX_COMPAT_ESTIMATE_PARALLEL	void
#endif

/*
 * Returns the memory of the access method within what the processes of a
 * parallel scan share.
 */
static inline void *
skx_compat_parallel_part(ParallelIndexScanDesc shared)
{
#if PG_VERSION_NUM >= 180000
	return (char *) shared + shared->ps_offset_am;
#else
	return (char *) shared + shared->ps_offset;
#endif
}

/*
 * Returns an AttrMap with, for each column of `to`, the number of the column
 * of that name in `from`.
 */
#if PG_VERSION_NUM >= 160000
#define skx_compat_attrmap(from, to)	build_attrmap_by_name(from, to, false)
#else
#define skx_compat_attrmap(from, to)	build_attrmap_by_name(from, to)
#endif

/* ---- scans that are not the executor's ---- */

/* Begins and returns a scan of an index. */
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

/*
 * Begins to fetch rows of a table by TIDs of its index.  A scan of 19 could be
 * told that the statement does not write to the table, which is a hint.
 */
#if PG_VERSION_NUM >= 190000
#define skx_compat_fetch_begin(heap)	table_index_fetch_begin(heap, SO_NONE)
#else
#define skx_compat_fetch_begin(heap)	table_index_fetch_begin(heap)
#endif

/* Begins and returns this process's part of a parallel scan of a table. */
#if PG_VERSION_NUM >= 190000
#define skx_compat_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan, SO_NONE)
#else
#define skx_compat_beginscan_parallel(heap, scan) \
	table_beginscan_parallel(heap, scan)
#endif

/* Counts one more search of the index, which EXPLAIN ANALYZE shows from 18. */
#if PG_VERSION_NUM >= 180000
#define skx_compat_count_search(scan) \
	do { \
		if ((scan)->instrument) \
			(scan)->instrument->nsearches++; \
	} while (0)
#else
#define skx_compat_count_search(scan)	((void) (scan))
#endif

/* compat_explain.c */

/* True if the server can have EXPLAIN call a function for each plan node. */
#define SKX_COMPAT_EXPLAIN_NODES	(PG_VERSION_NUM >= 180000)

/* Called for a node of a plan; `parent` is the node above it, NULL if none. */
typedef void (*SkxCompatExplain) (PlanState *node, const Node *parent,
								  ExplainState *es);

/*
 * Has EXPLAIN call `what` for each node of all plans that it shows after this
 * call.  Does nothing before 18.
 */
extern void skx_compat_explain_nodes(SkxCompatExplain what);

/* ---- parallel index builds ---- */

/*
 * Returns how many workers the planner grants a build of `index` on `heap`; 0
 * if it must do without.  From 17 on the server has already put that number
 * into `info`, for access methods with amcanbuildparallel.
 */
extern int	skx_compat_build_workers(Relation heap, Relation index,
									 struct IndexInfo *info);

/*
 * Declares that the access method can build with parallel workers (from 17).
 */
#if PG_VERSION_NUM >= 170000
#define SKX_COMPAT_SET_BUILD_PARALLEL(am)	((am)->amcanbuildparallel = true)
#else
#define SKX_COMPAT_SET_BUILD_PARALLEL(am)	((void) (am))
#endif

#endif							/* SKX_COMPAT_PLANNER_H */
