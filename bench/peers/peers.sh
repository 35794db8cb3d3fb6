# peers.sh: sourced by ../run.sh, after prepare.sh.  Programs beside it that
# index text by Lucene and by Tantivy and search it, in $BENCH_TEMP; one that
# cannot be had is left out, and said to be.
#
#   BENCH_PEERS     default "lucene tantivy"; empty for none
#   BENCH_PEER_ROUNDS  default 2
#   PEERS_DIR       where their libraries, compilers' output and a Java that is
#                   new enough are kept (default ~/.cache/skipidx-peers)

PEERS_DIR=${PEERS_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skipidx-peers}

# Mounts made by COMMAND end with it.
with_own_mounts() { unshare --mount --propagation private "$@"; }

# inside_java COMMAND ...: in the chroot that has Java, $work at /mnt
inside_java() {
	with_own_mounts sh -c '
		{ mountpoint -q "$0/jdk/proc" || mount -t proc proc "$0/jdk/proc"; } &&
		mount --bind "$0/lucene" "$0/jdk/peer" &&
		mount --bind "$1" "$0/jdk/mnt" && cd / && chroot=$0 && shift &&
		exec chroot "$chroot/jdk" "$@"' "$PEERS_DIR" "$work" "$@"
}

# lucene_program NAME CLASS: a command that runs the class in $work
lucene_program() {
	{
		echo '#!/bin/bash'
		declare -p PEERS_DIR work
		declare -f with_own_mounts inside_java
		echo 'inside_java env -C /mnt java -Xms1g -Xmx3g -XX:+UseParallelGC' \
			'--add-modules jdk.incubator.vector' \
			'--enable-native-access=ALL-UNNAMED' \
			"-cp '/mnt/classes:/peer/lib/*' $2" '"$@"'
	} >"$work/$1" && chmod 755 "$work/$1"
}

make_lucene() {
	with_own_mounts bash "$here/peers/setup.sh" "$PEERS_DIR" &&
		mkdir -p "$work/classes" && cp "$here"/peers/lucene/*.java "$work/" &&
		inside_java javac -cp '/peer/lib/*' -d /mnt/classes \
			/mnt/BuildLucene.java /mnt/SearchLucene.java &&
		lucene_program build_lucene BuildLucene &&
		lucene_program search_lucene SearchLucene
}

# The versions of the first time are kept, so that later runs compare, and so
# are the dates of sources that are the same: cargo compiles them for minutes.
make_tantivy() {
	local built=$PEERS_DIR/tantivy file
	mkdir -p "$built/src" || return 1
	for file in Cargo.toml src/build_tantivy.rs src/search_tantivy.rs; do
		cmp -s "$here/peers/tantivy/$file" "$built/$file" ||
			cp "$here/peers/tantivy/$file" "$built/$file" || return 1
	done
	(cd "$built" && CARGO_TARGET_DIR=$built/target cargo build --release --quiet) &&
		cp "$built/target/release/build_tantivy" "$built/target/release/search_tantivy" "$work/"
}

prepare_peers() {
	local name
	BENCH_PEERS=${BENCH_PEERS-lucene tantivy}
	export BENCH_PEERS
	for name in $BENCH_PEERS; do
		say "bench: preparing $name in $PEERS_DIR"
		"make_$name" >"$work/$name.log" 2>&1 ||
			{ say "bench: $name cannot be built"; tail -n 5 "$work/$name.log" >&2; }
	done
}
