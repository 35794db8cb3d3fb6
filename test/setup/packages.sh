#!/bin/bash
# packages.sh [build] [test] [versions] [cassert] [bench]: installs what is missing of
# the Debian packages that these need (build alone by default).  Quick when
# nothing is missing.  As root, or with sudo.
#
# A server package would make and start a cluster on installation and restart
# running ones; both are prevented for the time of this script.
set -u
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/apt.sh"

# The server version: $PGMAJOR, or one that is installed, or Debian's own.
server_major() {
	local pg_config
	if [ -n "${PGMAJOR:-}" ]; then
		echo "$PGMAJOR"
	elif pg_config=$(find_pg_config 2>/dev/null); then
		"$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/'
	else
		apt-cache depends postgresql 2>/dev/null |
			sed -n 's/.*postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
	fi
}

wanted() {
	local major=$1 set
	shift
	for set in "$@"; do
		case $set in
			build) echo postgresql-$major postgresql-server-dev-$major \
				make gcc libc6-dev liburing-dev xz-utils ;;
			test) echo libipc-run-perl perl python3 clang libclang-rt-dev ;;
			versions) echo debootstrap python3 python3-pip ;;
			cassert) echo make gcc libc6-dev zlib1g-dev bzip2 perl ;;
			bench) echo postgresql-$major-rum python3 python3-matplotlib \
				liburing-dev ;;
			*) say "unknown set of packages: $set"; return 1 ;;
		esac
	done
}

missing() {
	local package
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
			grep -q 'install ok installed' || echo "$package"
	done
}

have_candidates() {
	local package
	for package in "$@"; do
		apt-cache policy "$package" 2>/dev/null |
			grep -q 'Candidate: [0-9]' || return 1
	done
}

# Everything that must be put back afterwards.
undo=:
no_services() {
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		undo="$undo; as_root rm -f /usr/sbin/policy-rc.d"
		printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
		as_root chmod 755 /usr/sbin/policy-rc.d
	fi
}
no_new_cluster() {
	local conf=/etc/postgresql-common/createcluster.conf
	[ -n "$(missing postgresql-common)" ] && { apt_wait install -y --no-install-recommends postgresql-common || return 1; }
	[ -e $conf ] || return 0
	as_root cp -p $conf $conf.skipidx
	undo="$undo; as_root mv -f $conf.skipidx $conf"
	echo 'create_main_cluster = false' | as_root tee -a $conf >/dev/null
}

main() {
	local sets=("$@") major packages
	[ ${#sets[@]} -gt 0 ] || sets=(build)
	major=$(server_major)
	if [ -n "$major" ]; then
		packages=$(wanted "$major" "${sets[@]}") || return 1
		packages=$(missing $packages)
		[ -n "$packages" ] || return 0
	fi
	if [ -z "$major" ] || ! have_candidates $packages; then
		say "packages: updating the lists"
		apt_wait update >/dev/null || return 1
		major=$(server_major)
		packages=$(missing $(wanted "$major" "${sets[@]}"))
	fi
	say "packages: installing" $packages
	log=$(mktemp)
	trap 'eval "$undo"; rm -f "$log"' EXIT
	trap 'exit 130' HUP INT TERM
	{
		no_services && no_new_cluster &&
			{ apt_wait install -y --no-install-recommends $packages ||
				{ apt_wait update && apt_wait install -y --no-install-recommends $packages; }; }
	} >"$log" 2>&1 || { tail -n 30 "$log" >&2; return 1; }
	[ -z "$(missing $packages)" ]
}

main "$@"
