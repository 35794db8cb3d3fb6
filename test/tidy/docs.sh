#!/bin/sh
# docs.sh [ROOT]: every file, folder and function() that a README.md or a page of
# doc/ names in backticks exists in this tree, whatever lies beside it; every source file's
# head gives the file's own name.
root=${1:-.}
cd "$root" || exit 2
bad=0
complain() { echo "$1"; bad=1; }

words=$(mktemp)
trap 'rm -f "$words"' EXIT
trap 'exit 1' HUP INT TERM

# The words of all code, so that each name is looked up once.
find src sql test bench -type f \( -name '*.[ch]' -o -name '*.sql' -o -name '*.sh' \
	-o -name '*.pl' -o -name '*.pm' -o -name '*.py' \) 2>/dev/null |
	xargs -r cat | tr -cs 'A-Za-z0-9_' '\n' | sort -u >"$words"

within() {	# within PATH: does it stay in the tree, from whose top it is given?
	case $1 in
		*..*) ;;
		*) return 0 ;;
	esac
	printf '%s\n' "$1" | awk -F / '{
		for (i = 1; i <= NF; i++)
			if ($i == "..") {
				if (--depth < 0)
					exit 1
			} else if ($i != "" && $i != ".")
				depth++
	}'
}

exists() {	# exists DIR NAME: as seen from the README, the top, src/, a group or test/
	for base in "$1" . src src/* test; do
		set -- "$1" "$2" "$base"/$2
		[ -e "$3" ] && within "$3" && return 0
	done
	# A header of the server is known by our including it.
	case $2 in
		*.h) grep -rqF "#include \"$2\"" src && return 0 ;;
	esac
	case $2 in
		*/*) return 1 ;;
	esac
	[ -n "$(find src sql test bench expected -name "$2" 2>/dev/null | head -n 1)" ]
}

for readme in $(find . \( -name README.md -o -path './doc/*.md' -o -path ./CONTRIBUTING.md -o -path ./ARCHITECTURE.md -o -path ./SECURITY.md \) -not -path './.git/*' | sort); do
	dir=$(dirname "$readme")
	for name in $(awk '/^[ \t]*```/ { fence = !fence; next } !fence' "$readme" |
		grep -oE '`[^` ]+`' | tr -d '`' | sort -u | grep -vE '[$<>|&~]'); do
		case $name in
			*'()')
				grep -qxF "${name%??}" "$words" ||
					complain "$readme: \`$name\` is nowhere in the code" ;;
			/*|*://*|-*) ;;
			*.c|*.h|*.sql|*.sh|*.pl|*.pm|*.py|*.spec|*.out|*.md|*.control|*/)
				exists "$dir" "$name" ||
					complain "$readme: \`$name\` does not exist" ;;
		esac
	done
	# Relative links are names too.
	for name in $(grep -oE '\]\([^)# ]+' "$readme" | sed 's/^](//' | sort -u); do
		case $name in
			*://*|mailto:*) ;;
			*) [ -e "$dir/$name" ] && within "$dir/$name" ||
				complain "$readme: link to $name is dead" ;;
		esac
	done
done

for dir in $(sed '/^#/d' src/LAYERS 2>/dev/null); do
	[ ! -d "src/$dir" ] || [ -e "src/$dir/README.md" ] ||
		complain "src/$dir/ has no README.md"
done

for file in $(find src -name '*.[ch]' | sort); do
	head -n 5 "$file" | grep -qF "${file##*/}" ||
		complain "$file: its head comment does not name it"
done

exit $bad
