/*
 * functions_calibrate.c
 *	  skipidx_calibrate(): measures what reads cost on the device of a
 *	  tablespace.
 *
 * A temporary file in the tablespace is read page by page: forward, backward,
 * at random and skipping, through the page cache and past it.  Pages are read
 * one at a time, and with as many prefetched as scans prefetch.  Prices come
 * from reads through the page cache at the depth in force, since scans read
 * the rows of a table like that.  A price is a mean over reads of which the
 * caches answer a share, and a multiple of seq_page_cost of the tablespace.
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "access/reloptions.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "index/snapshot/snapshot.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/blkio/blkio.h"
#include "storage/fd.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/spccache.h"
#include "utils/syscache.h"
#include "utils/wait_event.h"

PG_FUNCTION_INFO_V1(skipidx_calibrate);

#define SKX_CALIBRATE_MB_MAX	65536

/*
 * Bytes that are written and synced at a time.  A cancel waits for no more
 * than that.
 */
#define SKX_CALIBRATE_CHUNK		(2 * 1024 * 1024)

#define SKX_CALIBRATE_COLUMNS	6

static const char *const skx_calibrate_patterns[] = {
	[SKX_MEASURE_FORWARD] = "forward",
	[SKX_MEASURE_BACKWARD] = "backward",
	[SKX_MEASURE_RANDOM] = "random",
	[SKX_MEASURE_SKIPPING] = "skipping"
};
#define SKX_CALIBRATE_PATTERNS	lengthof(skx_calibrate_patterns)

typedef struct SkxCalibration
{
	ReturnSetInfo *result;
	Oid			tablespace;
	double		cached;			/* share of reads that caches answer */
	SkxBlkMeasure context;
	double		hit_seconds;	/* seconds of a read that caches answer */
	double		seconds[SKX_CALIBRATE_PATTERNS];	/* of other reads, done as
													 * scans do them */
} SkxCalibration;

/*
 * Opens a temporary file in the tablespace.  Those of the server that follow
 * go to their own tablespaces again.
 */
static File
skx_calibrate_open(Oid tablespace)
{
	Oid		   *before = MemoryContextAlloc(TopTransactionContext,
											sizeof(Oid) * FD_SETSIZE);
	Oid		   *here = MemoryContextAlloc(TopTransactionContext, sizeof(Oid));
	int			n;
	File		file;

	PrepareTempTablespaces();
	n = GetTempTablespaces(before, FD_SETSIZE);
	*here = tablespace;
	SetTempTablespaces(here, 1);
	file = OpenTemporaryFile(false);
	SetTempTablespaces(before, n);
	return file;
}

/* Fills in bytes that no device can compress. */
static void
skx_calibrate_fill_block(uint64 *words, Size n, uint64 seed)
{
	Size		i;

	for (i = 0; i < n; i++)
	{
		seed += UINT64CONST(0x9E3779B97F4A7C15);
		words[i] = (seed ^ (seed >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
		words[i] ^= words[i] >> 27;
	}
}

static void
skx_calibrate_write(File file, const SkxBlkMeasure *what)
{
	char	   *chunk = palloc(SKX_CALIBRATE_CHUNK);
	off_t		size = (off_t) what->nblocks * BLCKSZ;
	int			fd = OpenTransientFile(what->path, O_RDWR | PG_BINARY);
	off_t		at;

	for (at = 0; at < size && fd >= 0; at += SKX_CALIBRATE_CHUNK)
	{
		CHECK_FOR_INTERRUPTS();
		skx_calibrate_fill_block((uint64 *) chunk,
								 SKX_CALIBRATE_CHUNK / sizeof(uint64), at);
		errno = 0;
		if (FileWrite(file, chunk, SKX_CALIBRATE_CHUNK, at,
					  WAIT_EVENT_BUFFILE_WRITE) != SKX_CALIBRATE_CHUNK)
		{
			/* A short write without an error means that there is no space. */
			if (errno == 0)
				errno = ENOSPC;
			break;
		}
		/* The page cache drops only pages that are on the device. */
		if (fdatasync(fd) != 0)
			break;
	}
	if (at < size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", what->path)));
	CloseTransientFile(fd);
	pfree(chunk);
}

/*
 * Adds a row to the result.  A price below 0, or no command that sets it, is
 * shown as NULL.
 */
static void
skx_calibrate_put_row(SkxCalibration *c, const char *pattern, const char *io,
					  double seconds, double price, const char *command)
{
	Datum		values[SKX_CALIBRATE_COLUMNS];
	bool		nulls[SKX_CALIBRATE_COLUMNS] = {0};

	values[0] = CStringGetTextDatum(pattern);
	values[1] = CStringGetTextDatum(io);
	values[2] = Int32GetDatum(c->context.depth);
	/* The clock has a resolution of tens of nanoseconds. */
	values[3] = Float8GetDatum(rint(seconds * 1e8) / 100);
	nulls[4] = price < 0;
	values[4] = Float8GetDatum(price);
	nulls[5] = command == NULL;
	values[5] = nulls[5] ? (Datum) 0 : CStringGetTextDatum(command);
	tuplestore_putvalues(c->result->setResult, c->result->setDesc, values,
						 nulls);
}

/*
 * Measures all patterns.  With `priced` it keeps the results in c->seconds;
 * else it shows those that this machine has.
 */
static void
skx_calibrate_patterns_of(SkxCalibration *c, bool direct, int depth, bool priced)
{
	int			i;

	c->context.direct = direct;
	c->context.depth = depth;
	for (i = 0; i < SKX_CALIBRATE_PATTERNS; i++)
	{
		double		seconds;

		c->context.pattern = i;
		seconds = skx_blkio_measure(&c->context);
		if (priced)
			c->seconds[i] = seconds;
		else if (seconds > 0)
			skx_calibrate_put_row(c, skx_calibrate_patterns[i],
								  direct ? "direct" : "page cache", seconds,
								  -1,
								  NULL);
	}
}

/*
 * Returns the price of a pattern as a multiple of a forward read.  It has two
 * digits after the point, which are more than measurements of a device repeat.
 */
static double
skx_calibrate_ratio(const SkxCalibration *c, SkxBlkPattern pattern)
{
	double		mean = c->hit_seconds * c->cached +
		c->seconds[pattern] * (1 - c->cached);
	double		first = c->hit_seconds * c->cached +
		c->seconds[SKX_MEASURE_FORWARD] * (1 - c->cached);

	return rint(Max(mean / first, 1) * 100) / 100;
}

/* Returns true if a tablespace has a random_page_cost of its own. */
static bool
skx_calibrate_has_read_cost(Oid tablespace)
{
	HeapTuple	tuple = SearchSysCache1(TABLESPACEOID,
										ObjectIdGetDatum(tablespace));
	const TableSpaceOpts *options;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	value = SysCacheGetAttr(TABLESPACEOID, tuple,
							Anum_pg_tablespace_spcoptions, &isnull);
	options = isnull ? NULL :
		(const TableSpaceOpts *) tablespace_reloptions(value, false);
	ReleaseSysCache(tuple);
	return options != NULL && options->random_page_cost >= 0;
}

/*
 * Returns the command that sets the price of random reads.  It is that of the
 * tablespace, but for pg_default, which follows the setting of the server as
 * long as it has no price of its own.
 */
static char *
skx_calibrate_random_command(Oid tablespace, double price)
{
	char	   *name;

	if (tablespace == DEFAULTTABLESPACE_OID &&
		!skx_calibrate_has_read_cost(tablespace))
		return psprintf("ALTER SYSTEM SET random_page_cost = %g", price);
	name = get_tablespace_name(tablespace);
	return name == NULL ? NULL :
		psprintf("ALTER TABLESPACE %s SET (random_page_cost = %g)",
				 quote_identifier(name), price);
}

/*
 * Shows the prices.  No command sets that of a forward read, since it is what
 * the server has.  Skipping reads have no price.
 */
static void
skx_calibrate_put_read_costs(SkxCalibration *c)
{
	double		ratios[SKX_CALIBRATE_PATTERNS];
	char	   *commands[SKX_CALIBRATE_PATTERNS] = {NULL};
	double		forward;
	int			i;

	get_tablespace_page_costs(c->tablespace, NULL, &forward);
	for (i = 0; i < SKX_CALIBRATE_PATTERNS; i++)
		ratios[i] = skx_calibrate_ratio(c, i);
	ratios[SKX_MEASURE_RANDOM] = Max(ratios[SKX_MEASURE_RANDOM],
									 ratios[SKX_MEASURE_BACKWARD]);
	commands[SKX_MEASURE_BACKWARD] =
		psprintf("ALTER SYSTEM SET skipidx.backward_read_cost = %g",
				 ratios[SKX_MEASURE_BACKWARD]);
	commands[SKX_MEASURE_RANDOM] =
		skx_calibrate_random_command(c->tablespace,
									 forward * ratios[SKX_MEASURE_RANDOM]);
	for (i = 0; i < SKX_CALIBRATE_PATTERNS; i++)
		skx_calibrate_put_row(c, skx_calibrate_patterns[i], "page cache",
							  c->seconds[i], i == SKX_MEASURE_SKIPPING ? -1 :
							  rint(forward * ratios[i] * 100) / 100,
							  commands[i]);
}

static void
skx_calibrate(SkxCalibration *c)
{
	int			rows = Max(skx_snapshot_heap_depth(c->tablespace), 1);

	c->context.pattern = SKX_MEASURE_FORWARD;
	c->context.depth = 1;
	c->context.cached = true;
	c->hit_seconds = skx_blkio_measure(&c->context);
	c->context.cached = false;
	skx_calibrate_put_row(c, skx_calibrate_patterns[SKX_MEASURE_FORWARD],
						  "cached", c->hit_seconds, -1, NULL);
	if (rows > 1)
		skx_calibrate_patterns_of(c, false, 1, false);
	skx_calibrate_patterns_of(c, false, rows, true);
	skx_calibrate_put_read_costs(c);
	skx_calibrate_patterns_of(c, true, 1, false);
	if (skx_blkio_io_depth > 1)
		skx_calibrate_patterns_of(c, true, skx_blkio_io_depth, false);
}

/* Returns the value, or raises an error that tells its bounds. */
static double
skx_calibrate_argument(const char *name, double value, double least,
					   double most)
{
	if (isnan(value) || value < least || value > most)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be between %g and %g", name, least, most)));
	return value;
}

Datum
skipidx_calibrate(PG_FUNCTION_ARGS)
{
	SkxCalibration c = {0};
	uint32		most;
	File		file;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cached, megabytes and seconds must not be NULL")));
	c.tablespace = PG_ARGISNULL(0) ? MyDatabaseTableSpace :
		get_tablespace_oid(NameStr(*PG_GETARG_NAME(0)), false);
	c.cached = skx_calibrate_argument("cached",
									  PG_GETARG_FLOAT8(1), 0, 1);
	most = (uint32) skx_calibrate_argument("megabytes",
										   PG_GETARG_INT32(2), 2,
										   SKX_CALIBRATE_MB_MAX) *
		(1024 * 1024 / BLCKSZ);
	c.context.seconds = skx_calibrate_argument("seconds",
											   PG_GETARG_FLOAT8(3), 0.001,
											   3600);
	InitMaterializedSRF(fcinfo, 0);
	c.result = (ReturnSetInfo *) fcinfo->resultinfo;
	file = skx_calibrate_open(c.tablespace);
	c.context.path = FilePathName(file);
	c.context.nblocks = (uint32) pg_prevpower2_32(most);
	skx_calibrate_write(file, &c.context);
	skx_calibrate(&c);
	FileClose(file);
	return (Datum) 0;
}
