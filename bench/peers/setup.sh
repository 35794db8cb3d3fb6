#!/bin/bash
# setup.sh DIR: what the programs beside it are compiled and run with, into DIR:
# a Java that Lucene's newest release takes, in a Debian chroot of its own, and
# Lucene's libraries.  Tantivy comes from its registry when it is compiled.
# About 3 minutes, once; what is there already is kept, but for another release
# of Lucene.  As root; DIR/jdk has mounts afterwards, which end with the
# caller's mount namespace.
set -u
here=$(cd "$(dirname "$0")" && pwd)
setup=$(cd "$here/../../test/setup" && pwd)
. "$setup/cluster.sh"
. "$setup/apt.sh"

SUITE=trixie		# the first Debian release with Java 21
dir=$1

# chroot_java COMMAND ...: as root of the chroot, asking nothing
chroot_java() {
	chroot "$dir/jdk" /usr/bin/env DEBIAN_FRONTEND=noninteractive \
		http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "$@" </dev/null
}

get_java() {
	local mirror script=/usr/share/debootstrap/scripts/$SUITE
	[ ! -x "$dir/jdk/usr/bin/javac" ] || return 0
	bash "$setup/packages.sh" versions || return 1
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || { apt_wait update; mirror=$(debian_mirror); }
	[ -n "$mirror" ] || { say "apt has no Debian archive on this machine"; return 1; }
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	rm -rf "$dir/jdk"
	debootstrap --variant=minbase "$SUITE" "$dir/jdk" "$mirror" "$script" </dev/null &&
		mount -t proc proc "$dir/jdk/proc" &&
		chroot_java apt-get -q -y --no-install-recommends install openjdk-21-jdk-headless &&
		mkdir -p "$dir/jdk/peer"
}

get_lucene() {
	[ -z "$(ls "$dir"/lucene/lib/lucene-core-*.jar 2>/dev/null)" ] ||
		! cmp -s "$here/lucene/pom.xml" "$dir/lucene/pom.xml" || return 0
	rm -rf "$dir/lucene"
	command -v mvn >/dev/null || apt_wait install -y --no-install-recommends maven || return 1
	mkdir -p "$dir/lucene" && cp "$here/lucene/pom.xml" "$dir/lucene/" &&
		(cd "$dir/lucene" && mvn -q -B dependency:copy-dependencies \
			-DoutputDirectory="$dir/lucene/lib" </dev/null)
}

export_proxies
mkdir -p "$dir" || exit 1
get_java && get_lucene
