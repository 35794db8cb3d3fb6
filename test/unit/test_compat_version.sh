#!/bin/sh
# test_compat_version.sh PG_CONFIG: a server that is too old or too new is
# refused by the compiler, with a message, and this one is not.
#
# Holds: compat 3
set -u
here=$(cd "$(dirname "$0")" && pwd)
server=$("$1" --includedir-server) || exit 1
checks=0

# compiled VERSION: what the compiler says of compat.h for that version
compiled() {
	printf '#include "postgres.h"\n#undef PG_VERSION_NUM\n#define PG_VERSION_NUM %s\n#include "support/compat/compat.h"\n' "$1" |
		${CC:-cc} -fsyntax-only -D_GNU_SOURCE -I"$here/../../src" -isystem "$server" -x c - 2>&1
}

# expect WHAT COMMAND...
expect() {
	what=$1
	shift
	if "$@" >/dev/null; then checks=$((checks + 1)); else
		echo "compat_version: $what" >&2
		exit 1
	fi
}

own=$(sed -n 's/^#define PG_VERSION_NUM \([0-9]*\).*/\1/p' "$server/pg_config.h")
expect 'this server is refused' compiled "$own"
for version in 140019 200000; do
	expect "$version is not refused with a message" \
		sh -c 'printf "%s\n" "$0" | grep -q "error.*skipidx supports PostgreSQL 15 to 19"' \
		"$(compiled "$version")"
done
echo "compat_version: $checks checks ok"
