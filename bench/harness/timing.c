/*
 * timing.c
 *	  Procedures that time searches inside the server, without a client.
 *
 * Both run a list of searches several times and return, for each, the least
 * time in microseconds and how many rows it gave or, as column `count`, has
 * counted; the list is gone through again and again, so that no search profits
 * from having just been run.
 * Between two searches a procedure may commit: what a backend keeps for a
 * transaction or a snapshot (pinned statistics) is gone then, and each search
 * pays what a statement of its own would.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "portability/instr_time.h"
#include "sql/am/am_desc.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

#define MATCH_STRATEGY	1		/* `@@`, of every engine */

/* Fields of SkxTopkWork. */
enum
{
	PASSES, WINDOWS, SCORED, CANDIDATES, PROXIMITY, LEFT, NWORK
};

/* The searches, and what is known of them so far. */
typedef struct Searches
{
	MemoryContext context;		/* lives through commits */
	int			n;
	int			ncolumns;		/* arguments of each, n * ncolumns in all */
	Oid		   *types;
	Datum	   *values;
	double	   *us;				/* least so far */
	int64	   *rows;
	double		work[NWORK];	/* of all searches, the last time through */
} Searches;

/* How to run them. */
typedef struct Course
{
	int			repetitions;	/* timed ones */
	bool		warm;			/* after one that is not */
	double		seconds;		/* the first time through ends past this, and
								 * leaves out the rest; 0: never */
	bool		fresh;			/* commit after each search */
} Course;

/* Microseconds of one search; its rows in *rows. */
typedef double (*SearchFunction) (void *state, const Datum *arguments,
								  int64 *rows, double *work);

/* What bench_scan reads. */
typedef struct ScanBench
{
	Oid			index;
	Oid			heap;
	Oid			match;			/* functions of the operators */
	Oid			order;
	Oid			match_type;
	Oid			order_type;
	StrategyNumber strategy;	/* of the order; 0: there is none */
	int64		k;
	bool		fetch;
	SkxScanDesc *(*told) (IndexScanDesc scan);
} ScanBench;

/* What bench_statement runs. */
typedef struct Statement
{
	SPIPlanPtr	plan;
} Statement;

PG_FUNCTION_INFO_V1(bench_scan);
PG_FUNCTION_INFO_V1(bench_statement);

static double
micros_since(instr_time began)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, began);
	return INSTR_TIME_GET_DOUBLE(now) * 1e6;
}

/*
 * Reads the searches: each row that `query` returns is the arguments of one,
 * none of them NULL.
 */
static Searches *
read_searches(const char *query)
{
	Searches   *s = palloc0(sizeof(Searches));
	TupleDesc	desc;
	int			i;
	int			column;

	s->context = CurrentMemoryContext;	/* of SPI: lives through commits */
	if (SPI_execute(query, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "not a query: %s", query);
	desc = SPI_tuptable->tupdesc;
	s->n = (int) SPI_processed;
	s->ncolumns = desc->natts;
	s->types = palloc(sizeof(Oid) * s->ncolumns);
	s->values = palloc(sizeof(Datum) * (s->n * s->ncolumns + 1));
	s->us = palloc0(sizeof(double) * (s->n + 1));
	s->rows = palloc0(sizeof(int64) * (s->n + 1));
	for (column = 0; column < s->ncolumns; column++)
	{
		int16		length;
		bool		by_value;

		s->types[column] = TupleDescAttr(desc, column)->atttypid;
		get_typlenbyval(s->types[column], &length, &by_value);
		for (i = 0; i < s->n; i++)
		{
			bool		is_null;
			Datum		value = SPI_getbinval(SPI_tuptable->vals[i], desc,
											  column + 1, &is_null);

			if (is_null)
				elog(ERROR, "argument %d of search %d is NULL", column + 1, i);
			if (length == -1)
				value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
			else
				value = datumCopy(value, by_value, length);
			s->values[i * s->ncolumns + column] = value;
		}
	}
	SPI_freetuptable(SPI_tuptable);
	return s;
}

static void
run_searches(Searches *s, const Course *course, SearchFunction search,
			 void *state)
{
	MemoryContext each = AllocSetContextCreate(s->context, "one search",
											   ALLOCSET_DEFAULT_SIZES);
	int			turn;
	int			i;
	instr_time	began;

	INSTR_TIME_SET_CURRENT(began);
	for (turn = course->warm ? -1 : 0; turn < course->repetitions; turn++)
	{
		bool		first = turn == (course->warm ? -1 : 0);

		memset(s->work, 0, sizeof(s->work));
		for (i = 0; i < s->n; i++)
		{
			double		us;

			MemoryContextSwitchTo(each);
			PushActiveSnapshot(GetTransactionSnapshot());
			us = search(state, s->values + i * s->ncolumns, &s->rows[i],
						s->work);
			PopActiveSnapshot();
			MemoryContextSwitchTo(s->context);
			MemoryContextReset(each);
			if (turn == 0 || us < s->us[i])
				s->us[i] = us;
			CHECK_FOR_INTERRUPTS();
			if (course->fresh)
				SPI_commit();
			if (first && course->seconds > 0 &&
				micros_since(began) > course->seconds * 1e6)
				s->n = i + 1;
		}
	}
}

/* ---- by the index alone ---- */

static void
add_work(double *sum, const SkxTopkWork *work)
{
	if (work == NULL)
		return;
	sum[PASSES] += work->passes;
	sum[WINDOWS] += work->windows;
	sum[SCORED] += work->scored_postings;
	sum[CANDIDATES] += work->candidates;
	sum[PROXIMITY] += work->position_reads;
	sum[LEFT] += work->unreached_fraction;
}

static double
search_by_scan(void *state, const Datum *arguments, int64 *rows,
			   double *work)
{
	ScanBench  *scan = state;
	Relation	heap = table_open(scan->heap, AccessShareLock);
	Relation	index = index_open(scan->index, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	int			norder = scan->strategy != 0 ? 1 : 0;
	IndexScanDesc desc;
	ScanKeyData match;
	ScanKeyData order;
	instr_time	began;
	int64		n = 0;
	double		pause = 0;
	double		us;

	ScanKeyEntryInitialize(&match, 0, 1, MATCH_STRATEGY, scan->match_type,
						   InvalidOid, scan->match, arguments[0]);
	if (norder > 0)
		ScanKeyEntryInitialize(&order, SK_ORDER_BY, 1, scan->strategy,
							   scan->order_type, InvalidOid, scan->order,
							   arguments[1]);
	INSTR_TIME_SET_CURRENT(began);
#if PG_VERSION_NUM >= 180000
	desc = index_beginscan(heap, index, GetActiveSnapshot(), NULL, 1, norder);
#else
	desc = index_beginscan(heap, index, GetActiveSnapshot(), 1, norder);
#endif
	index_rescan(desc, &match, 1, norder > 0 ? &order : NULL, norder);
	if (scan->told != NULL)
		scan->told(desc)->wanted = scan->k;
	if (scan->fetch)
		while (n < scan->k &&
			   index_getnext_slot(desc, ForwardScanDirection, slot))
			n++;
	else
		while (n < scan->k &&
			   index_getnext_tid(desc, ForwardScanDirection) != NULL)
			n++;
	if (scan->told != NULL)
	{
		instr_time	paused;

		INSTR_TIME_SET_CURRENT(paused);
		add_work(work, &scan->told(desc)->work.ranked);
		pause = micros_since(paused);
	}
	index_endscan(desc);
	us = micros_since(began) - pause;
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	*rows = n;
	return us;
}

static Oid
operator_of(Relation index, Oid right, StrategyNumber strategy)
{
	Oid			found = get_opfamily_member(index->rd_opfamily[0],
											index->rd_opcintype[0], right,
											strategy);

	if (!OidIsValid(found))
		elog(ERROR, "\"%s\" has no operator %d for type %s",
			 RelationGetRelationName(index), strategy, format_type_be(right));
	return get_opcode(found);
}

/*
 * LIMIT reaches a scan by a call of the executor's node; without the node it
 * is made here, where the library shows the function: not from 16 on.
 */
static void
prepare_scan(ScanBench *scan, const Searches *s)
{
	Relation	index = index_open(scan->index, AccessShareLock);

	if (s->ncolumns < (scan->strategy != 0 ? 2 : 1))
		elog(ERROR, "too few arguments");
	scan->heap = index->rd_index->indrelid;
	scan->match_type = s->types[0];
	scan->match = operator_of(index, scan->match_type, MATCH_STRATEGY);
	if (scan->strategy != 0)
	{
		scan->order_type = s->types[1];
		scan->order = operator_of(index, scan->order_type, scan->strategy);
		if (strcmp(get_am_name(index->rd_rel->relam), "skipidx") == 0)
			scan->told = (SkxScanDesc *(*) (IndexScanDesc))
				load_external_function("$libdir/skipidx", "skx_am_scan_desc",
									   false, NULL);
	}
	index_close(index, AccessShareLock);
}

/* ---- a statement ---- */

/* Of the statement that was just run: what it has counted, or its rows. */
static int64
rows_found(void)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	bool		is_null;

	if (SPI_processed != 1 || desc->natts != 1 ||
		TupleDescAttr(desc, 0)->atttypid != INT8OID ||
		strcmp(NameStr(TupleDescAttr(desc, 0)->attname), "count") != 0)
		return (int64) SPI_processed;
	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], desc, 1,
									   &is_null));
}

static double
search_by_statement(void *state, const Datum *arguments, int64 *rows,
					double *work)
{
	Statement  *statement = state;
	instr_time	began;
	double		us;

	INSTR_TIME_SET_CURRENT(began);
	if (SPI_execute_plan(statement->plan, (Datum *) arguments, NULL, false,
						 0) != SPI_OK_SELECT)
		elog(ERROR, "not a query");
	us = micros_since(began);
	*rows = rows_found();
	SPI_freetuptable(SPI_tuptable);
	return us;
}

/* ---- arguments and results ---- */

static void
begin_procedure(FunctionCallInfo fcinfo, bool commits)
{
	CallContext *call = (CallContext *) fcinfo->context;

	if (call == NULL || !IsA(call, CallContext) || (commits && call->atomic))
		elog(ERROR, "to be called outside of a transaction");
	if (SPI_connect_ext(call->atomic ? 0 : SPI_OPT_NONATOMIC) !=
		SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect_ext failed");
}

/* What the procedures return: us, rows, work, whether the limit was told. */
static Datum
finish_procedure(FunctionCallInfo fcinfo, MemoryContext caller,
				 const Searches *s, bool limit_told)
{
	TupleDesc	desc;
	Datum		values[4];
	bool		nulls[4] = {false};
	Datum	   *us;
	Datum	   *rows;
	Datum		work[NWORK];
	HeapTuple	tuple;
	int			i;

	MemoryContextSwitchTo(caller);
	us = palloc(sizeof(Datum) * (s->n + 1));
	rows = palloc(sizeof(Datum) * (s->n + 1));
	for (i = 0; i < s->n; i++)
	{
		us[i] = Float8GetDatum(s->us[i]);
		rows[i] = Int64GetDatum(s->rows[i]);
	}
	values[0] = PointerGetDatum(construct_array(us, s->n, FLOAT8OID, 8,
												FLOAT8PASSBYVAL, 'd'));
	values[1] = PointerGetDatum(construct_array(rows, s->n, INT8OID, 8,
												FLOAT8PASSBYVAL, 'd'));
	for (i = 0; i < NWORK; i++)
		work[i] = Float8GetDatum(s->work[i]);
	values[2] = PointerGetDatum(construct_array(work, NWORK, FLOAT8OID, 8,
												FLOAT8PASSBYVAL, 'd'));
	values[3] = BoolGetDatum(limit_told);
	SPI_finish();
	MemoryContextSwitchTo(caller);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	tuple = heap_form_tuple(BlessTupleDesc(desc), values, nulls);
	return HeapTupleGetDatum(tuple);
}

static void
read_course(FunctionCallInfo fcinfo, int first, Course *course)
{
	course->repetitions = PG_GETARG_INT32(first);
	course->warm = PG_GETARG_BOOL(first + 1);
	course->seconds = PG_GETARG_FLOAT8(first + 2);
	course->fresh = PG_GETARG_BOOL(first + 3);
}

/*
 * bench_scan(index, searches, strategy, k, fetched, course...): an index scan
 * by `@@` in the order of operator `strategy`, without the executor, from its
 * begin to its end, until it gave k rows: TIDs, or rows fetched from the table.
 */
Datum
bench_scan(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	ScanBench	scan = {0};
	Searches   *s;
	Course		course;

	scan.index = PG_GETARG_OID(0);
	scan.strategy = PG_GETARG_INT32(2);
	scan.k = PG_GETARG_INT64(3);
	scan.fetch = PG_GETARG_BOOL(4);
	read_course(fcinfo, 5, &course);
	begin_procedure(fcinfo, course.fresh);
	s = read_searches(query);
	prepare_scan(&scan, s);
	run_searches(s, &course, search_by_scan, &scan);
	PG_RETURN_DATUM(finish_procedure(fcinfo, caller, s, scan.told != NULL));
}

/*
 * bench_statement(statement, searches, course...): the statement, prepared
 * once, with each search's columns as its parameters.  What a count(*) counts
 * is its rows.
 */
Datum
bench_statement(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	char	   *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Statement	statement;
	Searches   *s;
	Course		course;

	read_course(fcinfo, 2, &course);
	begin_procedure(fcinfo, course.fresh);
	s = read_searches(query);
	statement.plan = SPI_prepare(sql, s->ncolumns, s->types);
	if (statement.plan == NULL)
		elog(ERROR, "cannot prepare: %s", sql);
	if (SPI_keepplan(statement.plan) != 0)
		elog(ERROR, "SPI_keepplan failed");
	run_searches(s, &course, search_by_statement, &statement);
	SPI_freeplan(statement.plan);
	PG_RETURN_DATUM(finish_procedure(fcinfo, caller, s, true));
}
