# peers.sh: sourced by run_build.sh, after prepare.sh.  Programs that index text
# by Lucene and by Tantivy, in $BENCH_TEMP; one that cannot be had is left out,
# and said to be.
#
#   BENCH_PEERS     default "lucene tantivy"; empty for none
#   BENCH_PEER_ROUNDS  default 2
#   PEERS_DIR       where their libraries, compilers' output and a Java that is
#                   new enough are kept (default ~/.cache/skipidx-peers)
#   SKIPIDX_PEERS   the directory of the setup.sh that gets them from package
#                   registries (default ../shared/peers), once, as root

PEERS_DIR=${PEERS_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skipidx-peers}

# Mounts made by COMMAND end with it.
with_own_mounts() { unshare --mount --propagation private "$@"; }

have_peers() {
	[ -x "$PEERS_DIR/jdk/usr/bin/javac" ] && [ -d "$PEERS_DIR/jdk/peer" ] &&
		[ -n "$(ls "$PEERS_DIR"/lucene/lib/lucene-core-*.jar 2>/dev/null)" ] &&
		[ -e "$PEERS_DIR/tantivy/Cargo.lock" ]
}

get_peers() {
	local setup=${SKIPIDX_PEERS:-$root/../shared/peers}/setup.sh
	have_peers && return 0
	[ -r "$setup" ] || { say "bench: no $setup"; return 1; }
	say "bench: setting up Lucene and Tantivy in $PEERS_DIR"
	mkdir -p "$PEERS_DIR" || return 1
	with_own_mounts sh "$setup" "$PEERS_DIR" >"$work/peers.log" 2>&1 || {
		tail -n 5 "$work/peers.log" >&2
		return 1
	}
}

# inside_java COMMAND ...: in the chroot that has Java, $work at /mnt
inside_java() {
	with_own_mounts sh -c '
		mount -t proc proc "$0/jdk/proc" && mount --bind "$0/lucene" "$0/jdk/peer" &&
		mount --bind "$1" "$0/jdk/mnt" && cd / && chroot=$0 && shift &&
		exec chroot "$chroot/jdk" "$@"' "$PEERS_DIR" "$work" "$@"
}

make_lucene() {
	mkdir -p "$work/classes" && cp "$here/peers/lucene/BuildLucene.java" "$work/" &&
		inside_java javac -cp '/peer/lib/*' -d /mnt/classes \
			/mnt/BuildLucene.java || return 1
	{
		echo '#!/bin/bash'
		declare -p PEERS_DIR work
		declare -f with_own_mounts inside_java
		echo 'inside_java java -Xms1g -Xmx3g -XX:+UseParallelGC' \
			'--add-modules jdk.incubator.vector' \
			'--enable-native-access=ALL-UNNAMED' \
			'-cp "/mnt/classes:/peer/lib/*" BuildLucene "/mnt/$1" "/mnt/$2" "$3"'
	} >"$work/build_lucene" && chmod 755 "$work/build_lucene"
}

# The dependencies are those that setup.sh has compiled already.
make_tantivy() {
	cp -r "$here/peers/tantivy" "$work/tantivy" &&
		cp "$PEERS_DIR/tantivy/Cargo.lock" "$work/tantivy/" &&
		(cd "$work/tantivy" && CARGO_TARGET_DIR=$PEERS_DIR/tantivy/target \
			cargo build --release --quiet --locked) &&
		cp "$PEERS_DIR/tantivy/target/release/build_tantivy" "$work/"
}

prepare_peers() {
	local name
	BENCH_PEERS=${BENCH_PEERS-lucene tantivy}
	export BENCH_PEERS
	[ -n "$BENCH_PEERS" ] && get_peers || return 0
	for name in $BENCH_PEERS; do
		"make_$name" >"$work/$name.log" 2>&1 ||
			{ say "bench: $name cannot be built"; tail -n 5 "$work/$name.log" >&2; }
	done
}
