#!/bin/bash
# make.sh NAME: makes test/golden/NAME/pgMAJOR.tar.xz, a data directory of the
# server of PG_CONFIG and of the skipidx that is installed there, and what it
# answers to questions.sql, test/golden/NAME/answers.txt.  NAME is the release.
#
# The clusters have the smallest segments of WAL, and no template0.  An operation
# that a kill has left is in it; see fill.sql for the rest.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../setup/cluster.sh"

name=${1:?make.sh: the name of a release is missing}
most=$((2 * 1024 * 1024))
PG_CONFIG=$(find_pg_config)
export PG_CONFIG
bindir=$("$PG_CONFIG" --bindir)
major=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
INITDB_OPTIONS='--locale=C --wal-segsize=1 --data-checksums'

dir=$(make_private_dir)
trap 'cluster_remove "$dir"' EXIT
trap 'exit 130' HUP INT TERM

# kill_in STATEMENT POINT: a backend is killed at the point of the statement
kill_in() {
	"$bindir/psql" -qX -c "SET skipidx.fault = '$2:kill'" -c "$1" >/dev/null 2>&1 && return 1
	for _ in $(seq 100); do
		! "$bindir/psql" -qXAt -c 'SELECT' >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	return 1
}

cluster_start "$dir" autovacuum=off jit=off fsync=off skipidx.max_workers=0 skipidx.reuse_early=off
for database in template1 postgres; do
	"$bindir/psql" -qX -d $database -c 'VACUUM FREEZE'
done
"$bindir/psql" -qX -f "$here/fill.sql"
# what a merge replaces waits for the transactions that are under way
"$bindir/psql" -qX -c "SELECT skipidx_merge('docs_columns', 2)" >/dev/null
"$bindir/psql" -qX -c 'DELETE FROM docs WHERE id % 23 = 9' -c 'VACUUM (INDEX_CLEANUP on) docs'
kill_in "SELECT skipidx_merge('docs_plain', 1)" merge_built
kill_in "SELECT skipidx_flush('docs_words')" flush_built
# a crash empties unlogged tables
"$bindir/psql" -qX -c 'INSERT INTO fleeting SELECT i, document(i) FROM generate_series(1, 400) i' -c "SELECT skipidx_flush('fleeting_v')" \
	-c 'INSERT INTO fleeting SELECT i, document(i) FROM generate_series(401, 500) i' -c "CALL fill(7001, 40)" >/dev/null

mkdir -p "$here/$name"
"$bindir/psql" -qX -f "$here/questions.sql" >"$here/$name/answers.txt"
"$bindir/psql" -qX -c "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'" -c 'DROP DATABASE template0'
(cd "$dir" && as_server_user "$bindir/pg_ctl" -s -w -D "$dir/data" -m fast stop)
as_server_user "$bindir/pg_resetwal" -f -D "$dir/data" >/dev/null
(cd "$dir/data" && rm -rf pg_log server.log postmaster.opts pg_stat/* pg_stat_tmp/* autoprewarm.skipidx && : >postgresql.conf &&
	find . -print0 | sort -z | tar --null --no-recursion --owner=0 --group=0 --numeric-owner --mtime=@0 -T - -c) |
	xz -9e >"$here/$name/pg$major.tar.xz"
size=$(stat -c %s "$here/$name/pg$major.tar.xz")
echo "test/golden/$name/pg$major.tar.xz: $size bytes"
[ "$size" -le "$most" ] || { echo "make.sh: more than $most bytes" >&2; exit 1; }
