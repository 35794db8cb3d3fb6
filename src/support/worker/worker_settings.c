/*
 * worker_settings.c
 *	  Settings of background workers.
 */
#include "postgres.h"

#include "support/compat/compat.h"
#include "support/worker/worker_internal.h"
#include "utils/guc.h"

int			skx_worker_max = 2;
int			skx_worker_rate = 0;
int			skx_worker_log_min = 600000;

void
skx_worker_init(void)
{
	DefineCustomIntVariable("skipidx.max_workers",
							"Most background workers that flush and merge skipidx indexes at a time.",
							"They count towards max_worker_processes. With 0 a session asks for none: its inserts flush, and VACUUM merges.",
							&skx_worker_max,
							2,
							0, SKX_WORKERS_MOST,
							PGC_SUSET,
							0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.merge_rate_limit",
							"How much a background worker that merges writes in a second, at most.",
							"0 sets no limit.",
							&skx_worker_rate,
							0,
							0, MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.log_min_duration",
							"Least time that a flush or merge must have taken to be told in the server's log.",
							"-1 logs none, 0 all.",
							&skx_worker_log_min,
							600000,
							-1, INT_MAX,
							PGC_SUSET,
							GUC_UNIT_MS,
							NULL, NULL, NULL);
}

void
skx_worker_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", ""},
		{"statement_timeout", "0"},
		{"lock_timeout", "0"},
		{"idle_in_transaction_session_timeout", "0"},
		SKX_COMPAT_NO_TRANSACTION_TIMEOUT
		{"default_transaction_isolation", "read committed"},
		{"zero_damaged_pages", "false"},
	};
	int			i;

	for (i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET,
						PGC_S_OVERRIDE);
}
