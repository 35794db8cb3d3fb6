# peers.sh: sourced by run_rank.sh, after ../peers.sh, which builds indexes by
# Lucene and Tantivy.  Programs in $BENCH_TEMP that search them; one that
# cannot be had is left out.

make_lucene_search() {
	cp "$here/rank/lucene/SearchLucene.java" "$work/" &&
		inside_java javac -cp '/peer/lib/*' -d /mnt/classes \
			/mnt/SearchLucene.java || return 1
	sed -e 's/BuildLucene/SearchLucene/' -e 's| "\$3"$||' "$work/build_lucene" \
		>"$work/search_lucene" && chmod 755 "$work/search_lucene"
}

make_tantivy_search() {
	cp -r "$here/rank/tantivy" "$work/tantivy_search" &&
		cp "$PEERS_DIR/tantivy/Cargo.lock" "$work/tantivy_search/" &&
		(cd "$work/tantivy_search" &&
			CARGO_TARGET_DIR=$PEERS_DIR/tantivy/target \
			cargo build --release --quiet --locked) &&
		cp "$PEERS_DIR/tantivy/target/release/search_tantivy" "$work/"
}

prepare_searches() {
	local name
	for name in $BENCH_PEERS; do
		[ -e "$work/build_$name" ] || continue
		"make_${name}_search" >"$work/$name.log" 2>&1 ||
			{ say "bench: searches by $name cannot be built"
			  tail -n 5 "$work/$name.log" >&2; }
	done
}
