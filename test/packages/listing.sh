#!/bin/bash
# listing.sh MAJOR VERSION: in a root where the package has been installed: what
# it is, what it depends on and which files it has, and that these are all of
# what is expected; that each library which skipidx.so is linked to is of a
# package that it depends on.
set -u
. "$(dirname "$0")/expect.sh"
major=$1 version=$2
package=postgresql-$major-skipidx
lib=/usr/lib/postgresql/$major/lib
share=/usr/share/postgresql/$major/extension
doc=/usr/share/doc/$package

dpkg -l "$package" "postgresql-$major" liburing2 | sed 's/  */ /g' | tail -n 3
dpkg-query -W -f 'Depends: ${Depends}\nInstalled-Size: ${Installed-Size} kB\n' "$package"
ldd "$lib/skipidx.so"
objdump=$(command -v objdump) && "$objdump" -T "$lib/skipidx.so" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1

# Bitcode by folder.
files=$(dpkg -L "$package" | while read -r file; do [ -d "$file" ] || echo "$file"; done)
printf '%s\n' "$files" | sed "s|^\($lib/bitcode/skipidx/src/[^/]*/\).*|\1...|" | sort | uniq -c

same "the library" "$lib/skipidx.so" "$(printf '%s\n' "$files" | grep '\.so$')"
same "the control file and the script" "$share/skipidx--$version.sql
$share/skipidx.control" "$(printf '%s\n' "$files" | grep "^$share/" | sort)"
like "bitcode of every source" '^[1-9][0-9]{2}$' "$(printf '%s\n' "$files" | grep -c "^$lib/bitcode/skipidx/.*\.bc$")"
same "and its index" "$lib/bitcode/skipidx.index.bc" "$(printf '%s\n' "$files" | grep "bitcode/[^/]*\.bc$")"
same "the documentation" "$(printf '%s\n' README changelog changelog.Debian copyright doc | sed "s|^|$doc/|")" \
	"$(printf '%s\n' "$files" | grep "^$doc/" | sed -e 's|\(/doc/[^/]*/doc\)/.*|\1|' -e 's|\.md||; s|\.gz$||' | sort -u)"
same "nothing else" "" "$(printf '%s\n' "$files" | grep -vE "^($lib/skipidx.so|$lib/bitcode/skipidx|$share/skipidx|$doc/)")"

# The packages that the package needs, and these.
needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
	--no-replaces --no-enhances --installed "$package" | grep '^[a-z]' | sort -u)
owner_of() { dpkg -S "$1" 2>/dev/null || dpkg -S "${1#/usr}"; }
for library in $(ldd "$lib/skipidx.so" | awk '$3 ~ /^\// { print $3 }'); do
	owner=$(owner_of "$(realpath "$library")" | sed 's/:.*//')
	same "$library is of a package it needs" "$owner" "$(printf '%s\n' "$needed" | sed 's/:.*//' | grep -x "$owner" | sort -u)"
done
same "each library is found" "" "$(ldd "$lib/skipidx.so" | grep 'not found')"
done_here
