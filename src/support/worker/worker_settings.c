/*
 * worker_settings.c
 *	  Settings of the server for background workers, and the defaults of this
 *	  module's own settings.
 */
#include "postgres.h"

#include "support/compat/compat.h"
#include "support/worker/worker_internal.h"
#include "utils/guc.h"

int			skx_worker_max = 2;
int			skx_worker_rate = 0;
int			skx_worker_log_min = 600000;

void
skx_worker_set_settings(void)
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
