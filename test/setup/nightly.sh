#!/bin/bash
# nightly.sh: what `make nightly` runs: all that .ci/run has no time for.  The steps
# are those of nightly.steps, each of which is a target of make that runs alone.
# What passed is noted for the tree as it is; a run that was ended goes on there.
#
#   NIGHTLY_STEPS   some of the names below; a name may be a pattern
#   NIGHTLY_FRESH   yes: begins anew
#   NIGHTLY_NOTES   the file of what passed: skipidx-nightly in /var/cache, or in
#                   $TMPDIR for those who may not write there
#   REPORT_LIMIT    seconds that a step may take, 14400 by default
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/cluster.sh"
. "$here/report.sh"
export REPORT_LIMIT=${REPORT_LIMIT:-14400} SUITE_TIMEOUT=${SUITE_TIMEOUT:-7200}
export all='regress isolation *' named
named=$(cd "$root/test/t" && grep -l '^# Long, when named:' ./*.pl | sed 's|^\./||' | tr '\n' ' ')

# tree_sum: of all files that copy_tree() would copy
tree_sum() {
	local copy
	copy=$(mktemp -d) || return 1
	copy_tree "$root" "$copy" && (cd "$copy" && find . -type f -print0 | LC_ALL=C sort -z |
		xargs -0 sha256sum) | sha256sum | cut -d ' ' -f 1
	rm -rf "$copy"
}

# wanted NAME
wanted() {
	local pattern
	set -f
	set -- "$1" ${NIGHTLY_STEPS:-*}
	set +f
	for pattern in "${@:2}"; do
		# shellcheck disable=SC2254
		case $1 in $pattern) return 0 ;; esac
	done
	return 1
}

# pass_on COMMAND: the closing line of a script becomes the step's count, and what
# it says of its own steps and of failures this one's
pass_on() {
	local status
	(cd "$root" && exec env -u report_prefix sh -c "$1") 2>&1 | sed -u -E \
		-e '/^(ok|skipped|FAILED) /s/^/#progress /' \
		-e '/^FAILED: /,/^time: /{ /^    /s/^    /#failed /; }' \
		-e 's/^[a-z-]+: ([0-9]+) passed, ([0-9]+) failed.*/&\n#count \1 \2/'
	status=${PIPESTATUS[0]}
	return "$status"
}

notes=${NIGHTLY_NOTES:-/var/cache/skipidx-nightly}
{ : >>"$notes"; } 2>/dev/null || notes=${TMPDIR:-/tmp}/skipidx-nightly
{ : >>"$notes"; } || exit 1
tree=$(tree_sum) || exit 1
[ "${NIGHTLY_FRESH:-}" != yes ] || : >"$notes"

report_begin
trap 'exit 130' HUP INT TERM
while read -r name command; do
	wanted "$name" || continue
	if grep -q "^$tree $name " "$notes"; then
		report_skip "$name" "it passed on $(sed -n "s/^$tree $name //p" "$notes" | tail -n 1)"
	elif report_step "$name" pass_on "$command" </dev/null; then
		echo "$tree $name $(date '+%F %R')" >>"$notes"
	fi
done < <(grep -v '^#' "$here/nightly.steps")
report_end nightly
