#!/bin/sh
# version.sh sql|debian|pgxn|rpm: the version that skipidx.control has, as each
# kind of package writes it.
# version.sh fill: copies its input, with @VERSION@, @DEBIAN_VERSION@,
# @PGXN_VERSION@, @PGXN_STATUS@, @RPM_VERSION@, and @DATE@ (as in mail) and
# @RPM_DATE@ of the last commit replaced by them.
#
#   default_version   debian     pgxn         status     rpm
#   1.0dev            1.0~dev    1.0.0-dev    unstable   1.0~dev
#   1.0rc2            1.0~rc2    1.0.0-rc2    testing    1.0~rc2
#   1.0               1.0        1.0.0        stable     1.0
#   1.0.3             1.0.3      1.0.3        stable     1.0.3
set -u
root=$(cd "$(dirname "$0")/.." && pwd)

version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" "$root/skipidx.control")
numbers=$(expr "$version" : '\([0-9][0-9.]*[0-9]\)')
stage=${version#"$numbers"}
case $numbers in
	*.*.*.*) numbers= ;;
	*.*) ;;
	*) numbers= ;;
esac
case $stage in
	'' | dev | alpha[1-9] | beta[1-9] | rc[1-9]) ;;
	*) numbers= ;;
esac
if [ -z "$numbers" ]; then
	echo "version.sh: default_version of skipidx.control, '$version'," \
		"is none of 1.0dev, 1.0beta1, 1.0rc1, 1.0, 1.0.1" >&2
	exit 1
fi

# Debian and RPM sort what follows ~ before nothing.
upstream=$numbers${stage:+"~$stage"}

pgxn() {
	case $numbers in
		*.*.*) echo "$numbers${stage:+"-$stage"}" ;;
		*) echo "$numbers.0${stage:+"-$stage"}" ;;
	esac
}

status() {
	case $stage in
		'') echo stable ;;
		dev) echo unstable ;;
		*) echo testing ;;
	esac
}

# date_of_tree FORMAT
date_of_tree() {
	at=${SOURCE_DATE_EPOCH:-}
	[ -n "$at" ] || at=$(git -c safe.directory='*' -C "$root" log -1 --format=%ct 2>/dev/null)
	[ -n "$at" ] || at=$(date +%s)
	LC_ALL=C date -u -d "@$at" "$1"
}

case ${1:-} in
	sql) echo "$version" ;;
	debian | rpm) echo "$upstream" ;;
	pgxn) pgxn ;;
	fill)
		sed -e "s/@VERSION@/$version/g" -e "s/@DEBIAN_VERSION@/$upstream/g" \
			-e "s/@RPM_VERSION@/$upstream/g" -e "s/@PGXN_VERSION@/$(pgxn)/g" \
			-e "s/@PGXN_STATUS@/$(status)/g" -e "s/@DATE@/$(date_of_tree -R)/g" \
			-e "s/@RPM_DATE@/$(date_of_tree '+%a %b %d %Y')/g"
		;;
	*)
		echo "usage: version.sh sql|debian|pgxn|rpm|fill" >&2
		exit 2
		;;
esac
