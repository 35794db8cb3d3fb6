#!/bin/bash
# restart.sh: restarts the private cluster of with_cluster.sh, whose directory
# is PGHOST, so that it has nothing in memory.
set -u
. "$(dirname "$0")/../../test/setup/cluster.sh"

cd "$PGHOST" && as_server_user "$("$(find_pg_config)" --bindir)/pg_ctl" \
	-w -t 120 -s -m fast -D "$PGHOST/data" -l "$PGHOST/server.log" restart
