#!/bin/bash
# test_frameworks.sh: `make test-frameworks`.  Installs missing packages and
# skipidx, and runs the snippets of doc/ for Django, SQLAlchemy and Rails
# against a private cluster.
#
#   SKX_INSTALLED  yes: against skipidx as it is installed
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"

bash "$here/packages.sh" -c "make test-frameworks" build frameworks || exit 1
report_begin
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# install_tree: a copy of the tree, built and installed
install_tree() {
	[ "${SKX_INSTALLED:-}" != yes ] || return 0
	make -s -C "$work" -j"$(nproc)" with_llvm=no PG_CONFIG="$PG_CONFIG" &&
		as_root make -s -C "$work" with_llvm=no PG_CONFIG="$PG_CONFIG" install
}

report_step "packages" bash "$here/packages.sh" build frameworks ||
	report_end test-frameworks
PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
work=$(make_private_dir) || exit 1
chmod 755 "$work"
copy_tree "$root" "$work"
report_step "build" install_tree &&
	report_step "frameworks" bash "$here/with_cluster.sh" -- \
		bash "$work/test/frameworks/run.sh"
report_end test-frameworks
