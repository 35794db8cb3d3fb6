#!/bin/bash
# analyze.sh [find]: what gcc's static analyser finds in src/: memory used after
# it was freed, NULL followed, values never set.  It must find the faults of
# faults.c as well.  What it finds wrongly stands in known.txt; anything else
# fails, and so does a line there that it no longer finds.  With `find`, prints
# lines for report.sh instead of the closing line.  Installs what it needs.
#
#   ANALYZE_CC   the compiler: gcc-12, since another version finds others
#   PG_CONFIG    whose headers and flags
#
#   make src/x/x_y.analyzed    one file, with the way to each finding
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/../setup/cluster.sh"
. "$here/../setup/report.sh"

# findings < OUTPUT: of make, as lines of source, function, check and text, with
# tabs between
findings() {
	awk -v OFS='\t' '
		/^analyzed / { source = $2; place = "-" }
		/In function / { place = $0; sub(/.*In function ./, "", place); sub(/[^A-Za-z0-9_].*/, "", place) }
		/: (warning|error): / {
			check = $NF
			sub(/^\[-W(error=)?/, "", check)
			sub(/\]$/, "", check)
			print source, place, check, $0
		}'
}

# known: lines of source, function and check
known() { sed '/^#/d' "$here/known.txt" | awk -v OFS='\t' 'NF { print $1, $2, $3 }' | sort -u; }

# faults FINDINGS: how many functions of faults.c there are, and not found
faults() {
	sed -n 's/^extern.*\(skx_analyzed_[a-z_]*\)(.*/\1/p' "$here/faults.c" | sort >"$work/there"
	awk -F '\t' '$1 ~ /faults\.c$/ && $3 ~ /^analyzer-/ { print $2 }' "$1" | sort -u >"$work/seen"
	comm -23 "$work/there" "$work/seen" | sed 's/^/#failed not found: /'
	wc -l <"$work/there"
}

find_all() {
	local status bad wrong sources all
	make -C "$root" --no-print-directory -s -k -O -j"$(nproc)" with_llvm=no PG_CONFIG="$PG_CONFIG" \
		ANALYZE_FLAGS=-fdiagnostics-path-format=none analyzed >"$work/output" 2>&1
	status=$?
	findings <"$work/output" >"$work/found"
	grep -v '/faults\.c	' "$work/found" | sort -u >"$work/own"
	known >"$work/known"
	cut -f 1-3 "$work/own" | sort -u >"$work/keys"
	{
		comm -23 "$work/keys" "$work/known" | while IFS= read -r key; do
			grep -F "$key	" "$work/own" | awk -F '\t' '{ print "#failed in " $2 "(): " $4 }'
		done
		comm -13 "$work/keys" "$work/known" | sed 's/^/#failed known.txt, but not found: /'
		faults "$work/found" | grep '^#failed'
		[ $status = 0 ] || grep -E ' error: |\*\*\*' "$work/output" | sed 's/^/#failed /'
	} | sort -u >"$work/bad"
	cat "$work/output" "$work/bad"
	bad=$(wc -l <"$work/bad")
	wrong=$(comm -23 "$work/keys" "$work/known" | cut -f 1 | sort -u | wc -l)
	sources=$(grep -c '^analyzed ' "$work/output")
	all=$(cut -f 1 "$work/own" | sort -u | wc -l)
	echo "$sources sources; known: $(wc -l <"$work/known") findings in $all of them"
	[ "$status" = 0 ] || bad=$((bad + (bad == 0)))
	echo "#count $((sources - wrong)) $bad"
	[ "$bad" = 0 ]
}

if [ "${1:-}" != find ]; then
	report_begin
	report_step "analysis" bash "$0" find
	report_end analysis
fi
bash "$here/../setup/packages.sh" build analysis || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
export LC_ALL=C
find_all
