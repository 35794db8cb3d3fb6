/*
 * fault_point.c
 *	  The setting skipidx.fault, and its effect at a point.
 *
 * Its value is `point:action` or `point:action:n`.  The action happens the
 * n-th time that the point is reached in this session after the setting was
 * set.  Then the setting has no effect until it is set again.  Action note is
 * different: it happens each time from the n-th on.  The point `*` stands for
 * any point.
 *
 * Each action is logged before it happens, so that a test can prove from the
 * server's log that a point was reached.
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/lock.h"
#include "support/fault/fault.h"
#include "support/fault/fault_setting.h"
#include "utils/memutils.h"

/*
 * First key of the advisory locks of wait and pause; the second is the point's
 * number.
 */
#define SKX_FAULT_LOCK_KEY	0x736b78

/* Most checks of the lock in a pause, 5 ms apart: one minute. */
#define SKX_FAULT_PAUSE_MAX	12000

typedef enum SkxFaultAction
{
	SKX_FAULT_ACT_NOTE,
	SKX_FAULT_ACT_ERROR,
	SKX_FAULT_ACT_CANCEL,
	SKX_FAULT_ACT_WAIT,
	SKX_FAULT_ACT_PAUSE,
	SKX_FAULT_ACT_KILL,
	SKX_FAULT_ACT_PANIC
} SkxFaultAction;

static const char *const skx_fault_actions[] = {
	"note", "error", "cancel", "wait", "pause", "kill", "panic"
};

typedef struct SkxFaultPointInfo
{
	const char *name;
	bool		can_wait;		/* action wait is possible */
} SkxFaultPointInfo;

#define SKX_FAULT_POINT_INFO(symbol, name, wait) {name, wait},
static const SkxFaultPointInfo skx_fault_places[] = {
	{"*", false},
	SKX_FAULT_POINTS(SKX_FAULT_POINT_INFO)
};
#undef SKX_FAULT_POINT_INFO

/* A parsed setting. */
typedef struct SkxFaultSpec
{
	SkxFaultPoint point;		/* SKX_FAULT_NONE: any */
	SkxFaultAction action;
	int			nth;
} SkxFaultSpec;

bool		skx_fault_armed = false;
char	   *skx_fault_setting = NULL;
static SkxFaultSpec skx_fault_spec;
static int	skx_fault_count;	/* times reached since it was set */

/*
 * Returns the number of the point whose name is the first `len` bytes of
 * `text`, or -1.
 */
static int
skx_fault_point_number(const char *text, size_t len)
{
	int			i;

	for (i = 0; i < (int) lengthof(skx_fault_places); i++)
		if (strlen(skx_fault_places[i].name) == len &&
			memcmp(skx_fault_places[i].name, text, len) == 0)
			return i;
	return -1;
}

static int
skx_fault_action_number(const char *text, size_t len)
{
	int			i;

	for (i = 0; i < (int) lengthof(skx_fault_actions); i++)
		if (strlen(skx_fault_actions[i]) == len &&
			memcmp(skx_fault_actions[i], text, len) == 0)
			return i;
	return -1;
}

/* Returns what is wrong with the setting, or NULL. */
static const char *
skx_fault_parse(const char *text, SkxFaultSpec *spec)
{
	size_t		len = strcspn(text, ":");
	int			found = skx_fault_point_number(text, len);
	char	   *end;
	long		nth = 1;

	if (found < 0)
		return "There is no fault point of this name.";
	spec->point = (SkxFaultPoint) found;
	if (text[len] != ':')
		return "The format is point:action or point:action:n.";
	text += len + 1;
	len = strcspn(text, ":");
	found = skx_fault_action_number(text, len);
	if (found < 0)
		return "Actions are note, error, cancel, wait, pause, kill and panic.";
	spec->action = (SkxFaultAction) found;
	if (spec->action == SKX_FAULT_ACT_WAIT &&
		!skx_fault_places[spec->point].can_wait)
		return "No wait is possible at this point: locks are held there that forbid it.";
	if (text[len] == ':')
	{
		nth = strtol(text + len + 1, &end, 10);
		if (end == text + len + 1 || *end != '\0' ||
			nth < 1 || nth > PG_INT16_MAX)
			return "The number after the action must be between 1 and 32767.";
	}
	spec->nth = (int) nth;
	return NULL;
}

bool
skx_fault_check(char **newval, void **extra, GucSource source)
{
	SkxFaultSpec spec;
	const char *wrong;

	if (*newval == NULL || **newval == '\0')
		return true;
	wrong = skx_fault_parse(*newval, &spec);
	if (wrong != NULL)
		GUC_check_errdetail("%s", wrong);
	return wrong == NULL;
}

void
skx_fault_assign(const char *newval, void *extra)
{
	skx_fault_count = 0;
	skx_fault_armed = newval != NULL && *newval != '\0' &&
		skx_fault_parse(newval, &skx_fault_spec) == NULL;
}

/* Waits until no session holds the point's advisory lock. */
static void
skx_fault_wait(SkxFaultPoint point)
{
	LOCKTAG		tag;

	if (InterruptHoldoffCount != 0 || CritSectionCount != 0)
		elog(ERROR, "skipidx fault point %s cannot wait",
			 skx_fault_places[point].name);
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, SKX_FAULT_LOCK_KEY,
						 (uint32) point, 2);
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

/*
 * Does the same at points that forbid waiting, since locks are held there.  It
 * polls without joining the queue, and cannot be cancelled.
 */
static void
skx_fault_pause(SkxFaultPoint point)
{
	LOCKTAG		tag;
	int			i;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, SKX_FAULT_LOCK_KEY,
						 (uint32) point, 2);
	for (i = 0; i < SKX_FAULT_PAUSE_MAX; i++)
	{
		if (LockAcquire(&tag, ShareLock, true, true) !=
			LOCKACQUIRE_NOT_AVAIL)
		{
			LockRelease(&tag, ShareLock, true);
			break;
		}
		pg_usleep(5000);
	}
}

void
skx_fault_reached(SkxFaultPoint point)
{
	const SkxFaultSpec *spec = &skx_fault_spec;

	if (spec->point != SKX_FAULT_NONE && spec->point != point)
		return;
	skx_fault_count++;
	if (skx_fault_count < spec->nth)
		return;
	if (spec->action != SKX_FAULT_ACT_NOTE)
		skx_fault_armed = false;
	ereport(LOG_SERVER_ONLY,
			(errmsg_internal("skipidx fault point %s: %s",
							 skx_fault_places[point].name,
							 skx_fault_actions[spec->action]),
			 errhidestmt(true), errhidecontext(true)));
	switch (spec->action)
	{
		case SKX_FAULT_ACT_NOTE:
			break;
		case SKX_FAULT_ACT_ERROR:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("skipidx fault point %s was told to fail",
							skx_fault_places[point].name)));
			break;
		case SKX_FAULT_ACT_CANCEL:
			InterruptPending = true;
			QueryCancelPending = true;
			break;
		case SKX_FAULT_ACT_WAIT:
			skx_fault_wait(point);
			break;
		case SKX_FAULT_ACT_PAUSE:
			skx_fault_pause(point);
			break;
		case SKX_FAULT_ACT_KILL:
			kill(MyProcPid, SIGKILL);
			pg_usleep(10 * 1000 * 1000L);
			break;
		case SKX_FAULT_ACT_PANIC:
			elog(PANIC, "skipidx fault point %s was told to panic",
				 skx_fault_places[point].name);
	}
}
