/*
 * am_rank.h
 *	  What SQL functions that read through an index have in common.
 */
#ifndef SKX_AM_AM_RANK_H
#define SKX_AM_AM_RANK_H

#include "utils/rel.h"

/* am_rank_functions.c */

/*
 * Errors out unless the user may read every row of the columns that the index
 * is made of: SELECT on them, and no policy that applies.
 */
extern void skx_am_rank_check_rights(Relation heap, Relation index);

/*
 * Table and index, both locked until the transaction ends; errors out unless
 * the index is a valid one of ours (with `parts` also a partitioned one), whose
 * table the user may read.
 */
extern void skx_am_rank_open(Oid oid, bool parts, Relation *heap,
							 Relation *index);
extern void skx_am_rank_close(Relation heap, Relation index);

#endif							/* SKX_AM_AM_RANK_H */
