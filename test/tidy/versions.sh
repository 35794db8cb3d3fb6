#!/bin/sh
# versions.sh [ROOT]: skipidx.control alone says which version this is: there is
# its script in sql/, CHANGELOG.md begins with it, what packages are made of has it
# filled in by packaging/version.sh, and a tag on what is checked out says the same.
#
# Holds: packaging 1
root=${1:-.}
cd "$root" || exit 2
bad=0
complain() { echo "$1"; bad=1; }

version=$(sh packaging/version.sh sql) || exit 1
numbers=$(expr "$version" : '\([0-9.]*[0-9]\)')

[ -e "sql/skipidx--$version.sql" ] ||
	complain "skipidx.control: there is no sql/skipidx--$version.sql"
[ "$(ls sql/skipidx--*.sql | grep -vc -e '--.*--')" = 1 ] ||
	complain "sql/: more than one script creates all of the extension"
first=$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
[ "$first" = "$numbers" ] ||
	complain "CHANGELOG.md: begins with \"$first\", skipidx.control has \"$version\""

for file in packaging/META.json.in packaging/skipidx.spec.in debian/changelog.in; do
	grep -q '@[A-Z]*_*VERSION@' "$file" || complain "$file: has no version to fill in"
	sh packaging/version.sh fill <"$file" | grep -q '@[A-Z_]*@' &&
		complain "$file: names what packaging/version.sh does not fill in"
done
# A tag is v1.0.
tag=$(git -c safe.directory='*' tag --points-at HEAD 2>/dev/null | grep '^v[0-9]')
[ -z "$tag" ] || [ "$tag" = "v$version" ] ||
	complain "the tag $tag is on a tree whose skipidx.control has \"$version\""
exit $bad
