#!/bin/bash
# dist.sh [DIR]: what is released, into DIR, dist/ by default:
# skipidx-VERSION.zip for PGXN, and the same files as skipidx-VERSION.tar.gz.
# These are the files under version control, with META.json and
# debian/changelog made of their templates; two runs on one commit give the same
# bytes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"

to=${1:-$root/dist}
version=$(sh "$here/version.sh" pgxn) || exit 1
command -v zip >/dev/null || { say "make dist needs zip: test/setup/packages.sh dist"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
name=skipidx-$version
tree=$work/$name

mkdir "$tree" && copy_tree "$root" "$tree" &&
	sh "$here/version.sh" fill <"$here/META.json.in" >"$tree/META.json" &&
	sh "$here/version.sh" fill <"$root/debian/changelog.in" >"$tree/debian/changelog" || exit 1
rm -rf "$tree/dist" "$tree/.ci" "$tree/.gitignore"
[ -e "$tree/sql/skipidx--$(sh "$here/version.sh" sql).sql" ] ||
	{ say "dist: sql/ has no script of the version in skipidx.control"; exit 1; }

# Nothing of who made it and when.
date=$(sed -n 's/^ -- .*>  //p' "$tree/debian/changelog")
chmod -R u=rwX,go=rX "$tree" && find "$tree" -exec touch -h -d "$date" {} +
mkdir -p "$to" && cd "$work" || exit 1
find "$name" | LC_ALL=C sort >list
rm -f "$to/$name.zip"
TZ=UTC zip -X -q -@ "$work/it.zip" <list &&
	tar -c --owner=0 --group=0 --numeric-owner --format=ustar --no-recursion -T list | gzip -n -9 >it.tar.gz &&
	mv it.zip "$to/$name.zip" && mv it.tar.gz "$to/$name.tar.gz" &&
	say "dist: $to/$name.zip" "$(wc -l <list) files and folders"
