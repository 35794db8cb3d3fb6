#!/bin/bash
# packages.sh [-c COMMAND] [build] [test] [frameworks] [versions] [analysis] [compilers]
# [source] [bench] [rum] [callgrind] [dist] [deb] [rpm] [pgxn] [image]: installs what is
# missing of the Debian packages that these need (build alone by default).  Quick when
# nothing is missing.  As root, or with sudo.
#
#   -c  installs nothing, but says at once if COMMAND could not go on: without
#       root where packages or, with build, the extension are to be installed
#
# A server package would make and start a cluster on installation and restart
# running ones; both are prevented for the time of this script.
set -u
. "$(dirname "$0")/cluster.sh"
. "$(dirname "$0")/apt.sh"
. "$(dirname "$0")/report.sh"

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
			test) echo libipc-run-perl perl python3 clang libclang-rt-dev pgbouncer ;;
			frameworks) echo python3-django python3-sqlalchemy python3-psycopg2 \
				ruby-activerecord ruby-pg ;;
			versions) echo debootstrap python3 python3-pip ;;
			analysis) echo gcc-12 ;;
			compilers) echo clang musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user ;;
			source) echo make gcc libc6-dev zlib1g-dev bzip2 patch perl ;;
			bench) echo python3 liburing-dev ;;
			rum) echo postgresql-$major-rum ;;
			callgrind) echo valgrind libpq-dev gcc libc6-dev ;;
			dist) echo zip ;;
			deb) echo build-essential debhelper fakeroot lintian liburing-dev \
				postgresql-all postgresql-server-dev-all libipc-run-perl zip ;;
			rpm) echo rpm rpmlint zip ;;
			pgxn) echo pgxnclient unzip zip ;;
			image) echo umoci ;;
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

# to_install SET...: the packages that are missing, or what they are for if
# even that cannot be told
to_install() {
	local major
	major=$(server_major)
	if [ -n "$major" ]; then
		missing $(wanted "$major" "$@")
	else
		echo "PostgreSQL with its headers, a compiler"
	fi
}

# Root, or sudo that asks for a password now or never.
can_be_root() {
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null || return 1
	sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ] && sudo -v; }
}

# check COMMAND SET...: can it go on?
check() {
	local command=$1 packages server=
	shift
	packages=$(to_install "$@")
	if [ -n "$packages" ] && ! command -v apt-get >/dev/null; then
		say "$command: packages are missing that it installs with apt-get on Debian:" $packages
		return 1
	fi
	case " $* " in
		*' build '*) server=$(find_pg_config 2>/dev/null) || server= ;;
	esac
	if [ -n "$server" ] && [ -w "$("$server" --pkglibdir)" ] &&
		[ -w "$("$server" --sharedir)/extension" ]; then
		server=
	fi
	[ -n "$packages$server" ] || return 0
	can_be_root && return 0
	say "$command: this needs root, or sudo, and has neither, to install"
	[ -z "$packages" ] || say "  packages:" $packages
	[ -z "$server" ] || say "  the extension: into $("$server" --pkglibdir)"
	say "Run it as root, or as a user who may use sudo."
	return 1
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

# install PACKAGE...
install() {
	no_services && no_new_cluster || return 1
	apt_wait install -y --no-install-recommends "$@" ||
		{ apt_wait update && apt_wait install -y --no-install-recommends "$@"; }
}

main() {
	local sets=("$@") major packages
	[ ${#sets[@]} -gt 0 ] || sets=(build)
	log=$(mktemp)
	trap 'eval "$undo"; rm -f "$log"' EXIT
	trap 'exit 130' HUP INT TERM
	major=$(server_major)
	if [ -n "$major" ]; then
		packages=$(wanted "$major" "${sets[@]}") || return 1
		packages=$(missing $packages)
		[ -n "$packages" ] || return 0
	fi
	if [ -z "$major" ] || ! have_candidates $packages; then
		say "packages: updating the lists"
		report_watch "lists of packages" "$log" apt_wait update ||
			{ tail -n 10 "$log" >&2; return 1; }
		major=$(server_major)
		packages=$(missing $(wanted "$major" "${sets[@]}"))
	fi
	say "packages: installing" $packages
	report_watch packages "$log" install $packages ||
		{ tail -n 10 "$log" >&2; return 1; }
	[ -z "$(missing $packages)" ]
}

if [ "${1:-}" = -c ]; then
	shift
	check "$@"
else
	main "$@"
fi
