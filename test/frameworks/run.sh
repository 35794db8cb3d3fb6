#!/bin/bash
# run.sh: runs the snippets of doc/searching.md for Django, SQLAlchemy and Rails
# as they stand there, each in a database of its own, and compares what their
# searches return with plain SQL.  Needs PGHOST, PGPORT and PGUSER, and the
# packages that packages.sh calls frameworks.
#
# Prints lines for report.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../doc/searching.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
passed=0
failed=0

# snippet HEADING: the first block of code below it
snippet() {
	awk -v heading="### $1" '
		$0 == heading { below = 1; next }
		below && /^```/ && inside { exit }
		below && /^```[a-z]/ { inside = 1; next }
		inside' "$page"
}

# try HEADING FILE COMMAND ...: the snippet as FILE of $work, then the command
# there, in a new database
try() {
	local name=$1 file=$2
	shift 2
	mkdir -p "$work/$(dirname "$file")"
	snippet "$name" >"$work/$file"
	export PGDATABASE=${name,,}
	if [ -s "$work/$file" ] && psql -X -q -d postgres -c "CREATE DATABASE $PGDATABASE" &&
		(cd "$work" && PYTHONDONTWRITEBYTECODE=1 "$@"); then
		passed=$((passed + 1))
	else
		echo "#failed $name"
		failed=$((failed + 1))
	fi
}

# Debian's own interpreters, which have Debian's packages.
try Django library/models.py /usr/bin/python3 "$here/django_check.py"
try SQLAlchemy library.py /usr/bin/python3 "$here/sqlalchemy_check.py"
try Rails library.rb /usr/bin/ruby "$here/rails_check.rb"
echo "#count $passed $failed"
[ $failed = 0 ]
