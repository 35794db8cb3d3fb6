/*
 * skipidx_fault.c
 *	  A library for tests, with the settings skipidx.fault_read, fault_write
 *	  and fault_grow: reads and writes that fail, or come short or late, and
 *	  files that do not grow; with fault_skip: new indexes whose segments begin
 *	  later in the file; and with fault_contract: promises that are broken.
 *
 * skipidx asks it through a rendezvous variable (src/support/fault/fault_transfer.c),
 * so either library may be loaded first.
 *
 * `action:first` or `action:first:count`: the transfers with these numbers,
 * counted in this session from when the setting was set, have another result
 * than the operating system gave.  What has been read stays in memory, what
 * has been written stays in the file: as from a device that failed after the
 * transfer.
 *
 * Each transfer that is changed is logged.
 *
 * skipidx.fault_contract, `name` or `name:first`: that contract is broken each time
 * that it could be, from the one with this number on.
 */
#include "postgres.h"

#include <signal.h>

#include "support/fault/fault.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/* How much later a slow read comes, us. */
#define SKX_FAULT_READ_DELAY	5000

/* Short reads end at whole sectors. */
#define SKX_FAULT_READ_SECTOR	512

typedef enum SkxFaultReadAction
{
	SKX_FAULT_READ_EIO,
	SKX_FAULT_READ_AGAIN,
	SKX_FAULT_READ_INTR,
	SKX_FAULT_READ_EMPTY,
	SKX_FAULT_READ_SHORT,
	SKX_FAULT_READ_SLOW,
	SKX_FAULT_READ_ERROR,
	SKX_FAULT_READ_KILL,
	SKX_FAULT_READ_NOSPACE,
	SKX_FAULT_READ_INVALID
} SkxFaultReadAction;

static const char *const skx_fault_read_actions[] = {
	"eio", "again", "intr", "empty", "short", "slow", "error", "kill",
	"enospc", "einval"
};

typedef struct SkxFaultReadSpec
{
	SkxFaultReadAction action;
	uint32		first;
	uint32		count;
	uint32		done;			/* transfers since it was set */
} SkxFaultReadSpec;

static bool skx_fault_read_armed = false;
static bool skx_fault_write_armed = false;
static bool skx_fault_grow_armed = false;
static char *skx_fault_read_setting = NULL;
static char *skx_fault_write_setting = NULL;
static char *skx_fault_grow_setting = NULL;
static int	skx_fault_skip_setting = 0;
static SkxFaultReadSpec skx_fault_read_spec;
static SkxFaultReadSpec skx_fault_write_spec;
static SkxFaultReadSpec skx_fault_grow_spec;

static const char *const skx_fault_contracts[] = {
	"docs_ascend", "docs_once", "docs_range", "max_bound", "list_bound", "sub_bound",
	"part_bound", "pair_bound", "ceiling", "pending_bound", "key_bound", "threshold"
};

StaticAssertDecl(lengthof(skx_fault_contracts) == SKX_CONTRACT_THRESHOLD + 1,
				 "each contract has a name");

static char *skx_fault_contract_setting = NULL;
static int	skx_fault_contract = -1;	/* none */
static uint32 skx_fault_contract_first;
static uint32 skx_fault_contract_done;

static bool
skx_fault_read_number(const char **text, uint32 *number)
{
	char	   *end;
	unsigned long value;

	if (**text != ':')
		return false;
	errno = 0;
	value = strtoul(*text + 1, &end, 10);
	if (errno != 0 || end == *text + 1 || value < 1 || value > PG_INT32_MAX)
		return false;
	*text = end;
	*number = (uint32) value;
	return true;
}

static bool
skx_fault_read_parse(const char *text, SkxFaultReadSpec *spec)
{
	size_t		len = strcspn(text, ":");
	int			i;

	for (i = 0; i < (int) lengthof(skx_fault_read_actions); i++)
	{
		if (strlen(skx_fault_read_actions[i]) == len &&
			memcmp(skx_fault_read_actions[i], text, len) == 0)
			break;
	}
	if (i == lengthof(skx_fault_read_actions))
		return false;
	spec->action = i;
	spec->count = 1;
	spec->done = 0;
	text += len;
	if (!skx_fault_read_number(&text, &spec->first))
		return false;
	if (*text == '\0')
		return true;
	return skx_fault_read_number(&text, &spec->count) && *text == '\0';
}

static bool
skx_fault_read_check(char **newval, void **extra, GucSource source)
{
	SkxFaultReadSpec spec;

	if (**newval == '\0' || skx_fault_read_parse(*newval, &spec))
		return true;
	GUC_check_errdetail("The format is action:first or action:first:count. Actions are eio, again, intr, empty, short, slow, error, kill, enospc and einval.");
	return false;
}

static void
skx_fault_read_assign(const char *newval, void *extra)
{
	skx_fault_read_armed = newval != NULL && *newval != '\0' &&
		skx_fault_read_parse(newval, &skx_fault_read_spec);
}

static void
skx_fault_write_assign(const char *newval, void *extra)
{
	skx_fault_write_armed = newval != NULL && *newval != '\0' &&
		skx_fault_read_parse(newval, &skx_fault_write_spec);
}

static void
skx_fault_grow_assign(const char *newval, void *extra)
{
	skx_fault_grow_armed = newval != NULL && *newval != '\0' &&
		skx_fault_read_parse(newval, &skx_fault_grow_spec);
}

static ssize_t
skx_fault_transfer_result(SkxFaultReadSpec *spec, const char *what,
						  ssize_t result)
{
	uint32		n = ++spec->done;

	if (n < spec->first || n - spec->first >= spec->count)
		return result;
	ereport(LOG,
			(errmsg("skipidx fault %s: %s", what,
					skx_fault_read_actions[spec->action])));
	switch (spec->action)
	{
		case SKX_FAULT_READ_EIO:
			return -EIO;
		case SKX_FAULT_READ_AGAIN:
			return -EAGAIN;
		case SKX_FAULT_READ_INTR:
			return -EINTR;
		case SKX_FAULT_READ_EMPTY:
			return 0;
		case SKX_FAULT_READ_SHORT:
			return result <= 0 ? result :
				result / 2 / SKX_FAULT_READ_SECTOR * SKX_FAULT_READ_SECTOR;
		case SKX_FAULT_READ_SLOW:
			pg_usleep(SKX_FAULT_READ_DELAY);
			return result;
		case SKX_FAULT_READ_ERROR:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("skipidx was told to fail at a %s", what)));
			break;
		case SKX_FAULT_READ_KILL:
			kill(MyProcPid, SIGKILL);
			pg_usleep(10 * 1000 * 1000L);
			break;
		case SKX_FAULT_READ_NOSPACE:
			return -ENOSPC;
		case SKX_FAULT_READ_INVALID:
			return -EINVAL;
	}
	return result;
}

static ssize_t
skx_fault_read_result(ssize_t result)
{
	return skx_fault_read_armed ?
		skx_fault_transfer_result(&skx_fault_read_spec, "read", result) :
		result;
}

static ssize_t
skx_fault_write_result(ssize_t result)
{
	return skx_fault_write_armed ?
		skx_fault_transfer_result(&skx_fault_write_spec, "write", result) :
		result;
}

static ssize_t
skx_fault_grow_result(ssize_t result)
{
	return skx_fault_grow_armed ?
		skx_fault_transfer_result(&skx_fault_grow_spec, "growth", result) :
		result;
}

static ssize_t
skx_fault_skip_result(ssize_t npages)
{
	return skx_fault_skip_setting;
}

/* Returns the number of a contract, and sets *first; -1 if there is none. */
static int
skx_fault_contract_parse(const char *text, uint32 *first)
{
	size_t		len = strcspn(text, ":");
	int			i;

	*first = 1;
	for (i = 0; i < (int) lengthof(skx_fault_contracts); i++)
	{
		if (strlen(skx_fault_contracts[i]) == len &&
			memcmp(skx_fault_contracts[i], text, len) == 0)
			break;
	}
	if (i == lengthof(skx_fault_contracts))
		return -1;
	text += len;
	if (*text != '\0' && !skx_fault_read_number(&text, first))
		return -1;
	return *text == '\0' ? i : -1;
}

static bool
skx_fault_contract_check(char **newval, void **extra, GucSource source)
{
	uint32		first;

	return **newval == '\0' ||
		skx_fault_contract_parse(*newval, &first) >= 0;
}

static void
skx_fault_contract_assign(const char *newval, void *extra)
{
	skx_fault_contract_done = 0;
	skx_fault_contract = newval == NULL || *newval == '\0' ? -1 :
		skx_fault_contract_parse(newval, &skx_fault_contract_first);
}

static bool
skx_fault_contract_breaks(SkxFaultContract contract)
{
	return (int) contract == skx_fault_contract &&
		++skx_fault_contract_done >= skx_fault_contract_first;
}

static const SkxFaultTransfers skx_fault_results = {
	.read = skx_fault_read_result,
	.write = skx_fault_write_result,
	.file_growth = skx_fault_grow_result,
	.skip_pages = skx_fault_skip_result,
	.breaks_contract = skx_fault_contract_breaks
};

void
_PG_init(void)
{
	*find_rendezvous_variable(SKX_FAULT_RENDEZVOUS) =
		(void *) &skx_fault_results;
	DefineCustomStringVariable("skipidx.fault_read",
							   "For tests: makes reads of index files fail.",
							   "action:first or action:first:count. Actions are eio, again, intr, empty, short, slow, error, kill, enospc and einval.",
							   &skx_fault_read_setting,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   skx_fault_read_check,
							   skx_fault_read_assign,
							   NULL);
	DefineCustomStringVariable("skipidx.fault_write",
							   "For tests: makes writes of index files past the storage manager fail.",
							   "As skipidx.fault_read.",
							   &skx_fault_write_setting,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   skx_fault_read_check,
							   skx_fault_write_assign,
							   NULL);
	DefineCustomStringVariable("skipidx.fault_grow",
							   "For tests: makes files of indexes fail to grow.",
							   "As skipidx.fault_read.",
							   &skx_fault_grow_setting,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   skx_fault_read_check,
							   skx_fault_grow_assign,
							   NULL);
	DefineCustomIntVariable("skipidx.fault_skip",
							"For tests: pages that a new index leaves free before its segments.",
							"They are used when no older snapshot is left.",
							&skx_fault_skip_setting,
							0, 0, PG_INT32_MAX,
							PGC_SUSET,
							GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomStringVariable("skipidx.fault_contract",
							   "For tests: breaks what parts of a search promise each other.",
							   "name or name:first. Only builds with assertions do so.",
							   &skx_fault_contract_setting,
							   "",
							   PGC_SUSET,
							   GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   skx_fault_contract_check,
							   skx_fault_contract_assign,
							   NULL);
}
