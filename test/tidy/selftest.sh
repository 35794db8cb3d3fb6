#!/bin/sh
# selftest.sh: each check passes a sound little tree, and fails, with the right
# complaint, once that tree is spoilt in one way.
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d)
tree=$top/tree
trap 'rm -rf "$top"' EXIT
trap 'exit 1' HUP INT TERM
passed=0
failed=0

source_file() {	# source_file FILE < body
	mkdir -p "$(dirname "$1")"
	{
		printf '/*\n * %s\n *\t  One sentence.\n */\n' "${1##*/}"
		cat
	} >"$1"
}

sound_tree() {
	rm -rf "$tree"
	mkdir -p "$tree/src"
	cd "$tree" || exit 1
	printf '# lowest first\nsupport/compat\nformat/disk\nread/query read/maint\nsql/am\n' >src/LAYERS
	for dir in support/compat format/disk read/query read/maint sql/am; do
		name=${dir#*/}
		mkdir -p "src/$dir"
		echo "# $name" >"src/$dir/README.md"
		guard=SKX_$(echo $name | tr a-z A-Z)_H
		printf '#ifndef %s\n#define %s\nextern int\tskx_%s_get(int a);\n#endif\n' \
			$guard $guard $name | source_file src/$dir/$name.h
	done
	printf '#ifndef SKX_QUERY_INTERNAL_H\n#define SKX_QUERY_INTERNAL_H\n#endif\n' |
		source_file src/read/query/query_internal.h
	source_file src/format/disk/disk_page.h <<'EOF'
#ifndef SKX_DISK_PAGE_H
#define SKX_DISK_PAGE_H

typedef struct SkxDiskPage
{
	uint32		magic;
} SkxDiskPage;

StaticAssertDecl(sizeof(SkxDiskPage) == 4, "disk");
#endif
EOF
	source_file src/read/query/query_get.c <<'EOF'
#include "postgres.h"

#include "access/relation.h"
#include "format/disk/disk_page.h"
#include "read/query/query.h"
#include "read/query/query_internal.h"

static int	calls = 0;

static int
helper(int a)
{
	return a + calls;
}

int
skx_query_get(int a)
{
	return helper(a);
}
EOF
	source_file src/sql/am/am_handler.c <<'EOF'
#include "postgres.h"

#include "read/query/query.h"

PG_FUNCTION_INFO_V1(skxhandler);

Datum
skxhandler(PG_FUNCTION_ARGS)
{
	return skx_query_get(1);
}
EOF
	printf '\n## Order\n\n    low : first\n    high : second\n\n## Not here\n' \
		>>src/read/maint/README.md
	source_file src/read/maint/maint_low.c <<'EOF'
#include "postgres.h"

int
skx_maint_low(int a)
{
	return a;					/* not skx_maint_high() */
}
EOF
	source_file src/read/maint/maint_high.c <<'EOF'
#include "postgres.h"

static int
skx_maint_low_of_two(int a, int b)
{
	return Min(skx_maint_low(a), b);
}

int
skx_maint_high(int a)
{
	return skx_maint_low_of_two(a, 0);
}
EOF
	printf '# query\n\n## Promises\n1. One.\n2. Two,\n   and more.\n\n## Errors\n1. No promise.\n' >src/read/query/README.md
	mkdir -p test/t test/unit sql
	printf '# A test.\n#\n# Holds: query 1\nuse strict;\n' >test/t/100_a.pl
	printf '%s\n-- A test.\n--\n-- Holds: query 1, 2\n--\nSELECT 1;\n' -- >sql/query_a.sql
	echo 'SELECT 1;' >sql/skipidx--1.0.sql
	echo "default_version = '1.0'" >skipidx.control
	printf '# Changes\n\n## 1.0 (unreleased)\n\n## 0.9\n' >CHANGELOG.md
	mkdir -p packaging debian
	cp "$here/../../packaging/version.sh" packaging
	for file in packaging/META.json.in packaging/skipidx.spec.in debian/changelog.in; do
		echo 'skipidx @VERSION@ of @DATE@' >$file
	done
	printf '/*\n * test_a.c\n *\n * Holds: none\n */\n' >test/unit/test_a.c
	echo 'See `src/read/query/query_get.c`, `query_get.c`, `am/` and `skx_query_get()`; [map](src/read/query/README.md).' >README.md
}

# expect CHECK PATTERN: the check must fail on the tree and say PATTERN
expect() {
	if output=$(sh "$here/$1.sh" "$tree" 2>&1); then
		echo "selftest: $1 did not see: $2"
		failed=$((failed + 1))
	elif ! printf '%s\n' "$output" | grep -q -- "$2"; then
		echo "selftest: $1 said \"$output\" instead of: $2"
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
	sound_tree
}

many_lines() {	# many_lines N TEXT
	awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'
}

sound_tree
for check in layers order length names docs words promises versions layout; do
	if output=$(sh "$here/$check.sh" "$tree" 2>&1); then
		passed=$((passed + 1))
	else
		echo "selftest: $check refuses the sound tree: $output"
		failed=$((failed + 1))
	fi
done

echo '#include "sql/am/am.h"' >>src/read/query/query_get.c
expect layers 'read/query/ may not include sql/am/'
echo '#include "read/maint/maint.h"' >>src/read/query/query_get.c
expect layers 'read/query/ may not include read/maint/'
echo '#include "read/query/query_internal.h"' >>src/sql/am/am_handler.c
expect layers 'private header read/query/query_internal.h'
echo '#include "format/disk/disk_gone.h"' >>src/sql/am/am_handler.c
expect layers 'no such header: format/disk/disk_gone.h'
sed -i 's|#include "postgres.h"|#include "fmgr.h"|' src/sql/am/am_handler.c
expect layers 'first include of a .c file is postgres.h'
sed -i 's|^#endif|#include "postgres.h"\n#endif|' src/sql/am/am.h
expect layers 'header must not include postgres.h'
sed -i 's|^#ifndef.*||' src/sql/am/am.h
expect layers 'no guard'
sed 's/am\.h/am_two.h/' src/sql/am/am.h >src/sql/am/am_two.h
expect layers 'guard SKX_AM_H is that of'
mkdir src/extra && cp src/sql/am/am_handler.c src/extra/extra_a.c
expect layers 'folder extra/ is not in src/LAYERS'
mkdir src/read/extra && cp src/sql/am/am_handler.c src/read/extra/extra_a.c
expect layers 'folder read/extra/ is not in src/LAYERS'
echo support/late >>src/LAYERS
expect layers 'the lines of support/ do not stand together'
mv src/sql/am/am_handler.c src/sql/am/handler.c
expect layers 'file name must begin with am_'
cp src/sql/am/am_handler.c src/loose.c
expect layers 'only skipidx.c and skipidx_settings.c lie outside'

{ printf 'int\nskx_am_long(int a,\n\t\t\tint b)\n{\n'; many_lines 67 '	a++;'; echo '}'; } >>src/sql/am/am_handler.c
expect length 'skx_am_long has 71 lines'
{ printf 'int skx_am_long(int a) {\n'; many_lines 70 '	a++;'; echo '}'; } >>src/sql/am/am_handler.c
expect length 'skx_am_long has 72 lines'
mkdir -p test/unit
{ printf 'static void\ntest_long(void)\n{\n'; many_lines 70 '	a++;'; echo '}'; } >test/unit/test_a.c
expect length 'test_long has 73 lines'
many_lines 1200 '' >>src/sql/am/am_handler.c
expect length 'am_handler.c:.*at most 1200'
many_lines 600 '' >>src/sql/am/am.h
expect length 'am.h:.*at most 600'
# The longest that is allowed, so that the limit is not off by one.
{ printf 'int\nskx_am_long(int a)\n{\n'; many_lines 67 '	a++;'; echo '}'; } >>src/sql/am/am_handler.c
if sh "$here/length.sh" "$tree" >/dev/null; then passed=$((passed + 1)); else
	echo "selftest: length refuses 70 lines"
	failed=$((failed + 1))
fi
sound_tree

printf '\nint\nstray(int a)\n{\n\treturn a;\n}\n' >>src/read/query/query_get.c
expect names 'query_get.c:.* external symbol stray'
printf '\nint\nskx_am_stray(int a)\n{\n\treturn a;\n}\n' >>src/read/query/query_get.c
expect names 'external symbol skx_am_stray'
printf '\nDatum\nskipidx_stray(PG_FUNCTION_ARGS)\n{\n\treturn 0;\n}\n' >>src/sql/am/am_handler.c
expect names 'external symbol skipidx_stray'
printf '\nint\t\t\tcounter = 0;\n' >>src/read/query/query_get.c
expect names 'external symbol counter'
sed -i '/^StaticAssert/d' src/format/disk/disk_page.h
expect names 'no StaticAssert of sizeof(SkxDiskPage)'
printf 'typedef struct SkxDiskStray\n{\n\tint a;\n} SkxDiskStray;\n' >>src/read/query/query.h
expect names 'SkxDiskStray belongs to src/format/disk/'
printf 'typedef struct SkxDiskPage\n{\n\tint a;\n} SkxDiskPage;\n' >>src/format/disk/disk.h
expect names 'type SkxDiskPage is that of src/format/disk/disk.h too'
printf '#if PG_VERSION_NUM >= 160000\n#endif\n' >>src/read/query/query_get.c
expect names 'PG_VERSION_NUM belongs to src/support/compat/'
printf 'desc = CreateTemplateTupleDesc(1);\n' >>src/read/query/query_get.c
expect names 'query_get.c: each new descriptor needs SKX_COMPAT_FINISH_DESC()'
source_file src/read/query/query_utils.c </dev/null
expect names 'query_utils.c: a file name that says nothing'
for place in work root home/someone; do
	echo "see /$place/notes.md" >>src/read/query/README.md
	expect names 'a path of one machine'
done
if command -v gcc >/dev/null && command -v nm >/dev/null; then
	echo 'int stray_in_library(void) { return 1; }' |
		gcc -shared -fPIC -x c -o skipidx.so - && expect names 'external symbol stray_in_library'
fi

echo 'Look at `query_gone.c`.' >>README.md
expect docs 'query_gone.c. does not exist'
echo 'Look at `src/gone/`.' >>src/read/query/README.md
expect docs 'src/gone/. does not exist'
echo 'Call `skx_query_gone()`.' >>src/read/query/README.md
expect docs 'skx_query_gone(). is nowhere'
echo '[dead](doc/gone.md)' >>README.md
expect docs 'link to doc/gone.md is dead'
mkdir -p doc && echo '[dead](beside.md)' >doc/page.md
expect docs 'doc/page.md: link to beside.md is dead'
# What lies beside the tree is on this machine only.
mkdir "$top/beside" && touch "$top/beside/setup.sh"
echo 'Call `../beside/setup.sh`.' >>README.md
expect docs '../beside/setup.sh. does not exist'
echo '[beside](../../../../beside/setup.sh)' >>src/read/query/README.md
expect docs 'link to ../../../../beside/setup.sh is dead'
sed -i 's/return a;/return skx_maint_high(a);/' src/read/maint/maint_low.c
expect order 'maint_low.c:[0-9]*: skx_maint_high() is of read/maint/maint_high.c'
sed -i 's/^    low : first$//' src/read/maint/README.md
expect order 'maint_low.c: not in the order'
sed -i 's/^    low : first/    gone low : first/' src/read/maint/README.md
expect order 'the order names read/maint/maint_gone.c'
sed -i 's/^    high : second/    high low : second/' src/read/maint/README.md
expect order 'low stands twice'
# Without an order, a circle is found, however long.
call_on() {	# call_on FILE OTHER: makes FILE, whose function calls that of OTHER
	printf '#include "postgres.h"\n\nint\nskx_query_%s(int a)\n{\n\treturn skx_query_%s(a);\n}\n' $1 $2 |
		source_file src/read/query/query_$1.c
}
call_on get put
call_on put get
expect order 'query_get.c:[0-9]*: skx_query_put() is of read/query/query_put.c, which calls back'
call_on get put
call_on put take
call_on take get
expect order 'query_take.c:[0-9]*: skx_query_get() is of read/query/query_get.c, which calls back'
call_on iter open
call_on open put
call_on put iter
expect order 'query_open.c:[0-9]*: skx_query_put() is of read/query/query_put.c, which calls back'
call_on iter get
expect order 'query_iter.c: is recursive here, but in no circle'
call_on put get
call_on take put
call_on iter open
call_on open iter
if output=$(sh "$here/order.sh" "$tree" 2>&1); then passed=$((passed + 1)); else
	echo "selftest: order refuses the circle that it knows: $output"
	failed=$((failed + 1))
fi
sound_tree
rm src/read/maint/README.md
expect docs 'src/read/maint/ has no README.md'
sed -i 's/query_get\.c/query_fetch.c/' src/read/query/query_get.c
expect docs 'head comment does not name it'

sed -i 's/One sentence/For whoever calls it/' src/read/query/query_get.c
expect words 'query_get.c:3: "whoever" stands for a person'
many_lines 1 "$(many_lines 30 word | tr '\n' ' ')" >>src/sql/am/README.md
expect words 'am/README.md:.* line of 150 columns'
mkdir -p doc && many_lines 1 "$(many_lines 30 word | tr '\n' ' ')" >doc/page.md
expect words 'doc/page.md:.* line of 150 columns'

sed -i 's/query 1, 2/query 1/' sql/query_a.sql
expect promises 'src/read/query/README.md: no test holds promise 2'
# What is said below the head is no citation.
sed -i 's/query 1, 2/query 1/' sql/query_a.sql
echo '# Holds: query 2' >>test/t/100_a.pl
expect promises 'no test holds promise 2'
sed -i 's/query 1$/query 1, 3/' test/t/100_a.pl
expect promises '100_a.pl:3: promise 3 of query/README.md does not exist'
sed -i 's/none/query 1; disk 1/' test/unit/test_a.c
expect promises 'test_a.c:4: promise 1 of disk/README.md does not exist'
sed -i 's/query 1$/query one/' test/t/100_a.pl
expect promises '100_a.pl:3: "query one" cites nothing'
sed -i '/Holds/d' test/unit/test_a.c
expect promises 'test_a.c: its head does not say what it holds'
sed -i 's/^2\. Two/- Two/; s/^1\. One/- One/' src/read/query/README.md
expect promises 'src/read/query/README.md: its promises are not numbered'
sed -i 's/^2\. Two/3. Three/' src/read/query/README.md
expect promises 'promise 3 follows 1'

release() {	# release VERSION: in the control file and sql/
	sed -i "s/'.*'/'$1'/" skipidx.control
	mv sql/skipidx--1.0.sql "sql/skipidx--$1.sql"
}
sed -i "s/1.0/1.0dev/" skipidx.control
expect versions 'skipidx.control: there is no sql/skipidx--1.0dev.sql'
release 1.1
expect versions 'CHANGELOG.md: begins with "1.0", skipidx.control has "1.1"'
release 1.0-dev
expect versions "default_version of skipidx.control, '1.0-dev'"
cp sql/skipidx--1.0.sql sql/skipidx--0.9.sql
expect versions 'more than one script'
sed -i 's/@VERSION@/1.0/' packaging/META.json.in
expect versions 'packaging/META.json.in: has no version to fill in'
sed -i 's/@DATE@/@DAY@/' debian/changelog.in
expect versions 'debian/changelog.in: names what packaging/version.sh does not fill in'
git init -q . 2>/dev/null && git add . && git -c user.name=a -c user.email=a@example.org commit -q -m a && git tag v1.1
expect versions 'the tag v1.1 is on a tree whose skipidx.control has "1.0"'
# What the table of version.sh says.
for row in '1.0dev 1.0~dev 1.0.0-dev unstable' '1.0rc2 1.0~rc2 1.0.0-rc2 testing' \
	'1.0 1.0 1.0.0 stable' '1.0.3 1.0.3 1.0.3 stable'; do
	set -- $row
	sed -i "s/'.*'/'$1'/" skipidx.control
	said=$(echo '@VERSION@ @DEBIAN_VERSION@ @PGXN_VERSION@ @PGXN_STATUS@' | sh packaging/version.sh fill)
	[ "$said" = "$row" ] && passed=$((passed + 1)) ||
		{ echo "selftest: version.sh says \"$said\" instead of \"$row\""; failed=$((failed + 1)); }
done
sound_tree

# Only where pgindent is there to tell.
if ! sh "$here/layout.sh" "$tree" | grep -q 'not checked'; then
	sed -i 's/^\treturn/    return/' src/read/query/query_get.c
	expect layout '+	return a + calls;'
	sed -i 's/^\treturn/    return/' src/read/query/query_get.c
	sh "$here/layout.sh" "$tree" fix
	grep -q '^    return' src/read/query/query_get.c && failed=$((failed + 1))
fi

echo "#count $passed $failed"
[ $failed = 0 ]
