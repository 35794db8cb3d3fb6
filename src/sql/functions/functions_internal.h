/*
 * functions_internal.h
 *	  Declarations that the files of functions/ share.
 */
#ifndef SKX_FUNCTIONS_INTERNAL_H
#define SKX_FUNCTIONS_INTERNAL_H

#include "access/relscan.h"
#include "fmgr.h"
#include "read/lexicon/lexicon.h"
#include "read/score/score.h"
#include "support/compat/compat.h"
#include "tsearch/ts_type.h"
#include "utils/jsonb.h"
#include "utils/relcache.h"

/*
 * functions_open.c : opens and closes an index for functions that return
 * rows or scores through it
 */

/*
 * Opens an index and its table, and locks both with AccessShareLock, the
 * table first.  Errors out unless it is a valid skipidx index; one that is
 * partitioned is accepted only if `parts` is true.  Errors out with
 * ERRCODE_INSUFFICIENT_PRIVILEGE unless the user may read every row of the
 * columns that the index is made of: SELECT on them, and no policy that
 * applies.  The caller closes both with skx_functions_close().
 */
extern void skx_functions_open(Oid oid, bool parts, Relation *heap,
							   Relation *index);

/* Closes table and index; both stay locked until the transaction ends. */
extern void skx_functions_close(Relation heap, Relation index);

/*
 * Errors out with ERRCODE_T_R_SERIALIZATION_FAILURE if the index is too young
 * for the active snapshot.  The snapshot may then see rows that were updated
 * before the index was made, while the index has only what they became.
 */
extern void skx_functions_check_index_age(Relation index);

/* functions_kept.c : a scorer for the calls of an expression */

/* What these calls share, in fn_extra. */
typedef struct SkxKept
{
	bool		constant;		/* all calls have the same value */
	Oid			index;			/* that was named, if one was */
	Oid			user;			/* whose rights were checked, if any were */
	MemoryContext context;		/* of what follows */
	void	   *value;			/* query, reference or ranking: a varlena */
	SkxScorer  *scorer;			/* by that; NULL: none */
	bytea	   *ranking;		/* made of the scorer or value, or NULL */
} SkxKept;

/*
 * Returns what is kept, without a scorer at the first call.  The argument
 * (numbered from 0) is the one that the scorer is made of.
 */
extern SkxKept *skx_functions_kept(FmgrInfo *flinfo, int argument);

/* Returns true if a scorer is kept, and is by this value. */
extern bool skx_functions_keeps(const SkxKept *kept, const void *value);

/* Does the same for a ranking that is kept without a scorer. */
extern bool skx_functions_keeps_ranking(const SkxKept *kept,
										const void *value);

/* Returns two detoasted varlenas as one value to keep something by, palloc'd. */
extern bytea *skx_functions_kept_key(const void *first, const void *second);

/*
 * Drops what is kept, keeps a copy of the value, and switches to the memory
 * context for its scorer.  Returns the context that was current.  The caller
 * sets `scorer` at last, or `ranking` if there is no scorer, so that after an
 * error nothing is kept.
 */
extern MemoryContext skx_functions_keep(SkxKept *kept, const void *value);

/*
 * functions_score.c : makes more of a scorer than that; kept->scorer is not
 * set yet, and table and index are open.
 */
typedef void (*SkxKeptMake) (SkxKept *kept, SkxScorer *scorer, Relation heap,
							 Relation index);

/*
 * Returns what is kept for a call whose argument 0 is an index, and whose
 * argument of this number is a query, with a scorer for it.  It is kept while
 * index, query, user and snapshot are the same.  `make` (NULL: nothing) is
 * called with each new scorer.  Errors out as skx_functions_open() does.
 */
extern SkxKept *skx_functions_get_call(FunctionCallInfo fcinfo, int argument,
									   SkxKeptMake make);

/* functions_arguments.c : arguments of SQL functions */

/* Result of skx_functions_limit_arg() if there is no limit. */
#define SKX_FUNCTIONS_NO_LIMIT	PG_UINT64_MAX

/*
 * Returns an int4 argument (numbered from 0) that limits rows or values.
 * NULL gives SKX_FUNCTIONS_NO_LIMIT, as LIMIT NULL does.  Errors out with
 * ERRCODE_INVALID_PARAMETER_VALUE if it is negative; `name` is the
 * argument's name in the message.
 */
extern uint64 skx_functions_limit_arg(FunctionCallInfo fcinfo, int argument,
									  const char *name);

/*
 * Returns an argument (numbered from 0) that must not be NULL.  Errors out
 * with ERRCODE_NULL_VALUE_NOT_ALLOWED if it is; `name` is its name in the
 * message.
 */
extern Datum skx_functions_required_arg(FunctionCallInfo fcinfo, int argument,
										const char *name);

/*
 * Returns true if an argument (numbered from 0) is a constant of the
 * expression, so that all calls have the same.  One that is a parameter may
 * differ in the next call, even if the server says that it is stable, because
 * PL/pgSQL keeps expressions.
 */
extern bool skx_functions_is_constant(const FmgrInfo *flinfo, int argument);

/*
 * functions_ranking.c : returns a scorer by an argument (numbered from 0) of
 * type skipidx_ranking.  It is kept in fn_extra for calls with the same
 * ranking.
 */
extern const SkxScorer *skx_functions_ranked(FunctionCallInfo fcinfo,
											 int argument);

/* functions_ranking.c : input of rankings, and the sum of two, for SQL */
extern PGDLLEXPORT Datum skipidx_ranking_in(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum skipidx_ranking_add(PG_FUNCTION_ARGS);

/* functions_remote.c : what is done about foreign partitions of a table */
typedef enum SkxRemoteRule
{
	SKX_REMOTE_ASK,				/* their servers are asked */
	SKX_REMOTE_REFUSE_VALUE,	/* an error: it is about rows with a value */
	SKX_REMOTE_REFUSE_ASKED,	/* an error: another server asks */
	SKX_REMOTE_REFUSE_GROUPS	/* an error: it is about groups of words */
} SkxRemoteRule;

/*
 * functions_rank_index.c : returns the value of a ranking with the statistics
 * of an index, those of the scorer, or, with a condition, those among the
 * documents that meet it.  `query` is what other servers are asked.
 */
extern bytea *skx_functions_ranking_of(Relation heap, Relation index,
									   SkxScorer *scorer, TSQuery query,
									   const SkxCondition *condition,
									   SkxRemoteRule rule);

/*
 * functions_groups.c : sets *variants to those of a query, and returns their
 * number.  The query may be replaced by another one with its words.
 */
typedef int (*SkxVariantsMake) (void *arg, TSQuery *query,
								SkxScoreVariant **variants);

/*
 * Returns a ranking for a call whose argument 0 is an index and argument 1 a
 * query, with groups of the variants that `make` gives.  It is kept while
 * these, `groups` (a varlena, on which the variants depend beside), user and
 * snapshot are the same.
 */
extern Datum skx_functions_groups(FunctionCallInfo fcinfo, const void *groups,
								  SkxVariantsMake make, void *arg);

/*
 * functions_groups.c : returns a number of a jsonb, infinite if it is too large
 * for a double; 0 if the value is no number
 */
extern double skx_functions_json_number(const JsonbValue *value);

/* Returns the value of an accepted ranking; errors out if it is too large. */
extern bytea *skx_functions_ranking_value(const SkxRanking *ranking);

/*
 * Reads a text as input of type skipidx_ranking.  Errors out if it is none.
 * The result and what it points to are palloc'd.
 */
extern SkxRanking *skx_functions_read_ranking(const char *text);

/*
 * Adds the statistics of an accepted ranking to those of another.  Errors out
 * if they differ in more than statistics, or if the sum is out of range.
 */
extern void skx_functions_add_ranking(SkxRanking *sum,
									  const SkxRanking *other);

/* functions_remote.c : the foreign partitions of a table */

/*
 * Adds to the ranking of an index, of its table's local partitions or heirs,
 * those of the foreign ones.  Their servers are asked, by dblink.  What is
 * palloc'd for the sum is in the current memory context.  Errors out if a
 * server does not answer, or has no such index; all connections are closed
 * then, too, and the servers end what they were doing.
 */
extern void skx_functions_add_remote(Relation heap, Relation index,
									 TSQuery query, SkxRemoteRule rule,
									 SkxRanking *sum);

/* functions_near.c : which terms are near a word */

/* Number of edits that are allowed, or a number by the word's length. */
typedef int SkxTypos;

#define SKX_TYPOS_AUTO	(-1)

/*
 * Returns a text argument (numbered from 0): 'auto', or a number.  Errors out
 * with ERRCODE_NULL_VALUE_NOT_ALLOWED or ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern SkxTypos skx_functions_typos_arg(FunctionCallInfo fcinfo, int argument);

/* Sets how many edits a term may be from the word. */
extern void skx_functions_allow_typos(SkxNearWord *word, SkxTypos typos);

/*
 * functions_parts.c : opens an index for functions that go through its tables
 * one by one
 */

/* A table that has rows itself, and its index. */
typedef struct SkxPartition
{
	Relation	heap;
	Relation	index;
} SkxPartition;

/*
 * An open index with its tables: one, or all partitions that have rows
 * themselves.  Columns of the partitions' indexes are numbered as those of
 * the named index.
 */
typedef struct SkxPartitions
{
	Relation	heap;			/* table of the named index */
	Relation	index;			/* the named index */
	int			n;				/* number of parts */
	SkxPartition *partitions;
} SkxPartitions;

/*
 * Does what skx_functions_open() does, and fills in parts.  Of a partitioned
 * index it also opens all partitions and their indexes, with
 * AccessShareLock.  Errors out if a partition has no valid index that is a
 * partition of the named one.  Rights on partitions are not checked, as in a
 * query on the table.  The caller closes all with
 * skx_functions_close_partitions().
 */
extern void skx_functions_open_partitions(Oid oid, SkxPartitions *parts);

/*
 * Closes all relations of parts; they stay locked until the transaction
 * ends.
 */
extern void skx_functions_close_partitions(SkxPartitions *parts);

/* Opens the terms of all parts that begin with the prefix. */
extern SkxLexicon *skx_functions_open_lexicon(const SkxPartitions *parts,
											  const SkxLexeme *prefix);

/* Calls skx_functions_check_index_age() for the index of each part. */
extern void skx_functions_check_index_ages(const SkxPartitions *parts);

/*
 * functions_facets.c : returns the number of the index's column with the
 * given name, a Datum of type text.  The text is column 0 and never
 * returned.  Errors out if there is no such column, or if the name is that
 * of the text.
 */
extern int	skx_functions_find_column(Relation heap, Relation index,
									  Datum name);

/*
 * functions_value.c : sets *condition to what the documents with a value in
 * the column of that name, a Datum of type text, meet: of an array column,
 * those that have it among their elements.  The value is of `type`, which the
 * column can be compared with, or text that is the input of its type.  Errors
 * out if there is no such column, or the value does not fit.
 */
extern void skx_functions_has_value(Relation heap, Relation index, Datum name,
									Oid type, Datum value,
									SkxCondition *condition);

/*
 * functions_histogram.c : raises ERRCODE_FEATURE_NOT_SUPPORTED, since the
 * column of that name has no order
 */
SKX_NORETURN extern void skx_functions_raise_no_order(Relation index,
													  const char *name);

/*
 * functions_search.c : begins a scan of the rows that match `query` under
 * the active snapshot, in the order of the distance to rank_by.  That is a
 * reference (SKX_STRATEGY_RANK) or a ranking (SKX_STRATEGY_RANKING) by its
 * strategy, which is 0 for no order.  The keys have strategy numbers but no
 * operator functions, which a scan of the index does not call.  Keys keep
 * pointers to query and rank_by.  The caller ends the scan with
 * index_endscan().
 */
extern IndexScanDesc skx_functions_begin_scan(Relation heap, Relation index,
											  TSQuery query,
											  StrategyNumber strategy,
											  const void *rank_by);

/*
 * functions_count.c : returns how many rows of the table match the query under
 * the active snapshot
 */
extern uint64 skx_functions_count(Relation heap, Relation index,
								  TSQuery query);

/* functions_text.c */

/* Returns the query for any of the words of the text, as in skipidx_any(). */
extern TSQuery skx_functions_any_text(Oid config, Datum text);

/* Does the same for a text that has been parsed. */
extern TSQuery skx_functions_any_query(TSVector text);

/* Returns the check value that an operand of a tsquery has for its lexeme. */
extern int32 skx_functions_lexeme_crc(const char *lexeme, int len);

#endif							/* SKX_FUNCTIONS_INTERNAL_H */
