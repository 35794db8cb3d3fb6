# chroot.sh: Debian chroots with other server versions, and bare ones, for
# sourcing after cluster.sh, apt.sh and report.sh, with $here set to this
# directory.
#
#   SKIPIDX_CHROOTS   where chroots are kept: /var/cache/skipidx-chroots
#
# Needs root.  The mirror is the one the host's own apt uses.  Mounts are made
# in a mount namespace that ends with the command, however it ends.

SKIPIDX_CHROOTS=${SKIPIDX_CHROOTS:-/var/cache/skipidx-chroots}

# The Debian release that ships each server version.
suite_of() {
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky ;;
		19) echo sid ;;
		*) say "no Debian release known with PostgreSQL $1"; return 1 ;;
	esac
}

# What Debian has of a server version before its release lies in this suite
# on top of the one above; empty for the others.
upper_suite_of() {
	[ "$1" != 19 ] || echo experimental
}

# inside CHROOT COMMAND ...: with /proc and /dev/shm, which servers and
# package scripts need; every process left behind ends with COMMAND
inside() {
	local chroot=$1
	shift
	unshare --mount --propagation private --pid --fork --kill-child \
		sh -c 'mount -t proc proc "$0/proc" &&
			mkdir -p "$0/dev/shm" &&
			mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
			exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
				HOME=/tmp LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
				http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
				no_proxy="${no_proxy:-}" "$@"' "$chroot" "$@" </dev/null
}

# bootstrap SUITE ROOT: the packages that Debian cannot be without
bootstrap() {
	local suite=$1 part=$2 script mirror
	bash "$here/packages.sh" versions || return 1
	mirror=$(debian_mirror)
	if [ -z "$mirror" ]; then
		apt_wait update >&2
		mirror=$(debian_mirror)
	fi
	[ -n "$mirror" ] || { say "apt has no Debian archive on this machine"; return 1; }
	# debootstrap may be older than the release; all since are made as sid is.
	script=/usr/share/debootstrap/scripts/$suite
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	rm -rf "$part"
	mkdir -p "$part" || return 1
	debootstrap --variant=minbase "$suite" "$part" "$mirror" "$script" </dev/null
}

# make_bare_root SUITE CHROOT: as make_chroot
make_bare_root() {
	bootstrap "$1" "$2.part" && inside "$2.part" apt-get clean &&
		rm -rf "$2" && mv "$2.part" "$2"
}

# need_bare_root SUITE: makes it if need be
need_bare_root() {
	[ -d "$SKIPIDX_CHROOTS/$1-bare" ] || make_bare_root "$1" "$SKIPIDX_CHROOTS/$1-bare"
}

# copy_root SUITE: a bare root for one run, in $copy, with packages that were
# fetched for others, and the proxy of this machine
copy=
copy_root() {
	local proxy=${http_proxy:-}
	drop_copy
	copied_suite=$1
	copy=$(mktemp -d "$SKIPIDX_CHROOTS/bare.XXXXXX") &&
		cp -a --reflink=auto "$SKIPIDX_CHROOTS/$1-bare/." "$copy" &&
		cp -L /etc/resolv.conf "$copy/etc/resolv.conf" || return 1
	[ -z "$proxy" ] ||
		echo "Acquire::http::Proxy \"$proxy\";" >"$copy/etc/apt/apt.conf.d/90proxy"
	# An archive that is no longer signed anew will do: packages still are.
	echo 'Acquire::Check-Valid-Until "false";' >"$copy/etc/apt/apt.conf.d/91valid"
	mkdir -p "$SKIPIDX_CHROOTS/$1-bare.packages"
	find "$SKIPIDX_CHROOTS/$1-bare.packages" -name '*.deb' \
		-exec ln -f -t "$copy/var/cache/apt/archives" {} +
}

# drop_copy: keeps what was fetched
drop_copy() {
	[ -n "$copy" ] || return 0
	find "$copy/var/cache/apt/archives" -name '*.deb' \
		-exec mv -n -t "$SKIPIDX_CHROOTS/$copied_suite-bare.packages" {} +
	rm -rf "$copy"
	copy=
}

# no_clusters ROOT: no service is started there, and no cluster made
no_clusters() {
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
	mkdir -p "$1/etc/postgresql-common"
	echo 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.conf"
}

# add_upper_suite VERSION ROOT: for apt, with its lists
add_upper_suite() {
	local upper
	upper=$(upper_suite_of "$1")
	[ -n "$upper" ] || return 0
	echo "deb $(debian_mirror) $upper main" >"$2/etc/apt/sources.list.d/$upper.list"
	update_inside "$2"
}

# make_chroot VERSION CHROOT: built aside and renamed, so that a chroot with
# its final name is a whole one
make_chroot() {
	local version=$1 chroot=$2 part=$2.part suite
	suite=$(suite_of "$version") && bootstrap "$suite" "$part" || return 1
	no_clusters "$part"
	add_upper_suite "$version" "$part"
	install_inside "$version" "$part" || return 1
	rm -rf "$chroot"
	mv "$part" "$chroot"
}

# What building and testing needs there.
tools_inside() { echo liburing-dev libipc-run-perl perl pgbouncer make gcc libc6-dev xz-utils; }
server_inside() { echo "postgresql-$1" "postgresql-server-dev-$1"; }

# Of the upper suite only the server is taken, and what it needs of there.
install_inside() {
	local upper install="apt-get -q -y --no-install-recommends install"
	upper=$(upper_suite_of "$1")
	inside "$2" $install $(tools_inside) || return 1
	inside "$2" $install ${upper:+-t "$upper" libpq-dev} $(server_inside "$1") &&
		inside "$2" apt-get clean
}

# As copy_root says.
update_inside() {
	inside "$1" apt-get -q -o Acquire::Check-Valid-Until=false update
}

# complete_chroot VERSION CHROOT: adds packages that came to the list after the
# chroot was made
complete_chroot() {
	! inside "$2" dpkg-query -W -f '${Status}\n' $(tools_inside) $(server_inside "$1") 2>&1 |
		grep -qv ' ok installed$' && return 0
	install_inside "$1" "$2" && return 0
	update_inside "$2"
	install_inside "$1" "$2"
}

# need_chroot VERSION: sets CHROOT, and makes it if need be
need_chroot() {
	local suite
	suite=$(suite_of "$1") || return 1
	CHROOT=$SKIPIDX_CHROOTS/$suite-pg$1
	if [ -d "$CHROOT" ]; then
		complete_chroot "$1" "$CHROOT" >&2
		return
	fi
	say "PostgreSQL $1: making $CHROOT"
	report_step "pg$1 chroot" make_chroot "$1" "$CHROOT"
}

# bring_libraries FROM CHROOT: those that ldd has found in FROM, as it prints them
# on the input, which CHROOT does not have under the same names
bring_libraries() {
	local file
	mkdir -p "$2/opt/skipidx-libs"
	awk '$3 ~ /^\// { print $3 }' | sort -u | while read -r file; do
		[ -n "$(find "$2/lib/" "$2/usr/lib" -name "$(basename "$file")" 2>/dev/null | head -n 1)" ] ||
			cp -L "$1$file" "$2/opt/skipidx-libs/"
	done
	echo /opt/skipidx-libs >"$2/etc/ld.so.conf.d/skipidx-libs.conf"
	inside "$2" ldconfig
}

# tree_in_chroot ROOT CHROOT: copies the tree to a new directory below the
# chroot's /tmp, owned by its server user, and prints it as seen from outside
tree_in_chroot() {
	local work
	work=$(mktemp -d "$2/tmp/skipidx-src.XXXXXX") || return 1
	copy_tree "$1" "$work"
	# Owner by the chroot's own user table; the numbers differ from the host's.
	inside "$2" sh -c "chown -R postgres '${work#"$2"}' && chmod 755 '${work#"$2"}'"
	echo "$work"
}
