#!/bin/bash
# demo.sh: a tour of skipidx on real text, in under two minutes, from a bare
# machine: installs what is missing, builds, starts a private cluster, loads
# the descriptions of Debian's packages, and sets skipidx beside GIN: ranked
# searches, boolean ones, writes, a crash.
#
#   DEMO_TSV=file   your own text instead: id TAB title TAB body, a line each
#                   (plain, .xz or .gz)
#   DEMO_ROWS=n     load only the first n rows
#   DEMO_STAY=1     ends with a prompt on the demo's database
#   REPORT_LIMIT=s  seconds that each of its parts may take, 900 by default
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/test/setup/cluster.sh"
. "$root/test/setup/apt.sh"
. "$root/test/setup/report.sh"

export REPORT_LIMIT=${REPORT_LIMIT:-900}
began=$(date +%s)
step() { printf '\n== %s  [%d s]\n' "$*" $(($(date +%s) - began)); }

work=
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# translations OPTION ...: apt's index of English descriptions, if it has one
translations() {
	apt-get "$@" indextargets --format '$(ORIGIN)|$(LANGUAGE)|$(FILENAME)' \
		'Created-By: Translations' 2>/dev/null |
		awk -F '|' '$1 == "Debian" && $2 == "en" { print $3 }' |
		while read -r file; do
			[ ! -s "$file" ] || /usr/lib/apt/apt-helper cat-file "$file"
		done
}

# The descriptions as apt has them, into $work/stanzas.  An apt that was told
# to fetch no translations has one line a package only: the full texts are
# then fetched into a list directory of our own, which leaves the machine's
# lists as they are.  Where that fails too, the one-line ones must do.
fetch_descriptions() {
	local lists=$work/apt options
	translations >"$work/stanzas"
	[ ! -s "$work/stanzas" ] || return 0
	[ -n "$(debian_mirror)" ] || apt_wait update >/dev/null
	mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$lists/parts"
	(. /etc/os-release && echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$(debian_mirror) $VERSION_CODENAME main") >"$lists/sources.list"
	options="-o Dir::State::Lists=$lists/lists -o Dir::Cache=$lists/cache
		-o Dir::Etc::SourceList=$lists/sources.list -o Dir::Etc::SourceParts=$lists/parts
		-o Acquire::Languages=en -o APT::Sandbox::User=root -o Acquire::Retries=3"
	apt-get -qq $options update </dev/null >"$work/apt.log" 2>&1 &&
		translations $options >"$work/stanzas"
	[ -s "$work/stanzas" ] || apt-cache dumpavail >"$work/stanzas" 2>/dev/null
}

# A stanza of apt's to id TAB title TAB body, one version of each package
descriptions_to_tsv() {
	awk '
	function flush() {
		if (name != "" && text != "" && !(name in seen)) {
			seen[name] = 1
			gsub(/\t/, " ", text)
			printf "%d\t%s\t%s\n", ++id, name, text
		}
		name = text = ""
		inside = 0
	}
	/^$/ { flush(); next }
	/^Package: / { name = $2; next }
	/^Description(-en)?: / { sub(/^[^ ]* /, ""); text = $0 "."; inside = 1; next }
	/^[^ ]/ { inside = 0; next }
	inside { sub(/^ /, ""); text = text ($0 == "." ? "" : " " $0) }
	END { flush() }' "$work/stanzas"
}

# read_text: the rows on standard output, as COPY wants them; of longer texts the first
# 200,000 bytes, without a part of a character, since a tsvector takes 1 MB at most
read_text() {
	case ${DEMO_TSV:-} in
		'') descriptions_to_tsv ;;
		*.xz) xz -dc "$DEMO_TSV" ;;
		*.gz) gzip -dc "$DEMO_TSV" ;;
		*) cat "$DEMO_TSV" ;;
	esac | LC_ALL=C awk -F '\t' -v OFS='\t' -v rows="${DEMO_ROWS:-0}" '
	NF >= 3 {
		for (i = 4; i <= NF; i++)
			$3 = $3 " " $i
		NF = 3
		if (length($3) > 200000) {
			$3 = substr($3, 1, 200000)
			sub(/[\300-\377][\200-\277]*$/, "", $3)
		}
		gsub(/\\/, "&&")
		print
		if (++n == rows)
			exit
	}'
}

if [ -n "${DEMO_TSV:-}" ] && [ ! -r "$DEMO_TSV" ]; then
	say "demo: cannot read $DEMO_TSV"
	exit 1
fi

bash "$root/test/setup/packages.sh" -c "make demo" build || exit 1
step "packages"
bash "$root/test/setup/packages.sh" build || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
"$PG_CONFIG" --version

work=$(make_private_dir) || exit 1
chmod 755 "$work"
step "build and install"
mkdir "$work/tree" && copy_tree "$root" "$work/tree" &&
	report_watch "building" "$work/build.log" \
		make -s -C "$work/tree" -j"$(nproc)" with_llvm=no &&
	as_root make -s -C "$work/tree" with_llvm=no install >>"$work/build.log" 2>&1 ||
	{ tail -n 18 "$work/build.log"; exit 1; }

step "text"
[ -n "${DEMO_TSV:-}" ] ||
	report_watch "reading apt's lists" "$work/fetch.log" fetch_descriptions
read_text >"$work/text.tsv"
wc -lc <"$work/text.tsv" | awk '{ printf "%d rows, %.1f MB\n", $1, $2 / 1e6 }'
[ -s "$work/text.tsv" ] || { say "demo: no text to load"; exit 1; }

step "a private cluster"
export DEMO_WORK=$work DEMO_TEXT=$work/text.tsv DEMO_OWN=${DEMO_TSV:+yes} DEMO_BEGAN=$began
bash "$root/test/setup/with_cluster.sh" \
	-c shared_buffers=512MB -c maintenance_work_mem=256MB -c work_mem=64MB \
	-c jit=off -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0 \
	-c autovacuum=off -- bash "$here/tour.sh"
status=$?
step "done"
exit $status
