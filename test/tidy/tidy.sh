#!/bin/sh
# tidy.sh [ROOT]: every mechanical rule of the source tree, in a few seconds.
# Needs nothing beyond a POSIX shell, awk, sed, grep and find; layout.sh pgindent,
# without which it checks nothing.
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
passed=0
failed=0
for check in layers order length names docs words promises versions layout; do
	if sh "$here/$check.sh" "$root"; then
		echo "tidy: $check ok"
		passed=$((passed + 1))
	else
		echo "tidy: $check FAILED"
		failed=$((failed + 1))
	fi
done
echo "#count $passed $failed"
[ $failed = 0 ]
