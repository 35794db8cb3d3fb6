#!/bin/bash
# run_soak.sh: what `make soak` runs: builds and installs the tree and runs
# test/soak/soak.pl, or with SOAK_MINUTES test/soak/crowd.pl; they say what they
# can be told.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"

stop_leftovers() {
	local file
	for file in "$work"/tmp_check/*/pgdata/postmaster.pid; do
		[ ! -e "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
	done
}

report_begin
work=
trap '[ -z "$work" ] || { stop_leftovers; rm -rf "$work"; }' EXIT
trap 'exit 130' HUP INT TERM

report_step "packages" bash "$here/packages.sh" build test || report_end soak
enter_copy "$root" || exit 1

# server_tests.sh builds and installs; there is no such suite
report_step "build" env SKX_SUITES=none bash test/setup/server_tests.sh || report_end soak

driver=soak
[ -z "${SOAK_MINUTES-}" ] || driver=crowd
# beside the load: starts, checks and mutants
limit=$((${SOAK_SECONDS:-600} + 60 * ${SOAK_MINUTES:-0} + 3600))
pgxs=$(dirname "$("$PG_CONFIG" --pgxs)")/..
as_server_user env HOME="$work" TESTDIR="$work" TESTDATADIR="$work/tmp_check" TESTLOGDIR="$work/tmp_check/log" \
	PATH="$("$PG_CONFIG" --bindir):$PATH" PGPORT=65432 PG_REGRESS="$pgxs/test/regress/pg_regress" \
	timeout --kill-after=60 "$limit" perl -I "$pgxs/test/perl" "test/soak/$driver.pl" 2>&1 | tee "$report_logs/soak.log" | grep --line-buffered -v '^#  '
status=${PIPESTATUS[0]}
passed=$(grep -c '^ok ' "$report_logs/soak.log")
failed=$(grep -c '^not ok ' "$report_logs/soak.log")
[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
[ "$status" != 124 ] ||
	echo "soak: $driver.pl not done after $limit s; its last line: $(tail -n 1 "$report_logs/soak.log")"
report_count "$passed" "$failed"
if [ "$failed" != 0 ]; then
	cp "$work"/tmp_check/log/* "$report_logs" 2>/dev/null
	echo "clusters: $work"
	work=
fi
cd /
report_end soak
