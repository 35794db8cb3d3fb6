# cluster.sh: sourced by the scripts beside it.  A private PostgreSQL cluster
# in a temporary directory: own socket directory, no TCP, owned by a user who
# is not root, and gone when the script that made it ends.
#
# No cluster that already exists is looked at, let alone touched: the only
# address ever used is the socket in the directory made here, which nobody
# but its owner and root can enter.

# A make above us must not reach into the makes that we run.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

# say WHAT: progress, on standard error so that answers stay clean
say() { printf '%s\n' "$*" >&2; }

# The pg_config of the server to use: $PG_CONFIG, or the newest one that has
# what is needed to build an extension.
find_pg_config() {
	local candidate
	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG"
		return
	fi
	for candidate in $(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null |
		sort -t / -k 5 -rn) pg_config; do
		if [ -e "$("$candidate" --pgxs 2>/dev/null)" ] &&
			[ -d "$("$candidate" --includedir-server)" ]; then
			command -v "$candidate"
			return
		fi
	done
	say "no PostgreSQL development files found; run test/setup/packages.sh"
	return 1
}

# The user who runs servers and their tests: PostgreSQL refuses root.
find_server_user() {
	if [ "$(id -u)" != 0 ]; then
		id -un
	elif id -u postgres >/dev/null 2>&1; then
		echo postgres
	else
		id -u skipidx >/dev/null 2>&1 ||
			useradd --system --no-create-home --shell /bin/sh skipidx >&2 ||
			return 1
		echo skipidx
	fi
}

# children_of PID: its child processes.  A bare machine has no ps and no pgrep,
# and no kill but the shell's own.
children_of() {
	local stat line
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		# behind the name, which is in parentheses: state, parent
		set -- "$1" ${line##*) }
		[ "${3:-}" != "$1" ] || { stat=${stat#/proc/} && echo "${stat%/stat}"; }
	done
}

# as_server_user COMMAND ...: in the current directory and environment
as_server_user() {
	if [ "$(id -u)" = 0 ]; then
		runuser -u "$(find_server_user)" -- "$@"
	else
		"$@"
	fi
}

# as_root COMMAND ...
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		say "this needs root or sudo: $*"
		return 1
	fi
}

# make_private_dir: a new directory of the server user, short enough for a
# socket in it (107 bytes in all)
make_private_dir() {
	local base=${TMPDIR:-/tmp} dir
	[ ${#base} -le 60 ] || base=/tmp
	dir=$(as_server_user mktemp -d "$base/skipidx.XXXXXX" 2>/dev/null) ||
		dir=$(as_server_user mktemp -d /tmp/skipidx.XXXXXX) || return 1
	echo "$dir"
}

# enter_copy ROOT: into a new private directory with a copy of the tree; sets
# work, which the caller removes, and exports PG_CONFIG
enter_copy() {
	work=$(make_private_dir) || return 1
	chmod 755 "$work"
	copy_tree "$1" "$work"
	cd "$work" || return 1
	PG_CONFIG=$(find_pg_config) || return 1
	export PG_CONFIG
}

# cluster_start DIR [name=value ...]: initdb, with INITDB_OPTIONS, and start
# below DIR; sets and exports PGHOST, PGPORT, PGUSER and PGDATABASE
cluster_start() {
	local dir=$1 bindir setting
	shift
	bindir=$("$(find_pg_config)" --bindir) || return 1
	(cd "$dir" && as_server_user "$bindir/initdb" --no-sync --auth=trust \
		--username=postgres --encoding=UTF8 --locale=C.UTF-8 \
		${INITDB_OPTIONS-} -D "$dir/data") >"$dir/initdb.log" 2>&1 ||
		{ cat "$dir/initdb.log" >&2; return 1; }
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$dir'"
		echo "port = 5432"
		echo "max_connections = 60"
		echo "shared_buffers = 256MB"
		echo "max_wal_size = 4GB"
		echo "max_prepared_transactions = 10"
		echo "log_line_prefix = '%m [%p] %q%a '"
		for setting in "$@"; do
			echo "$setting" | sed "s/^\([^=]*\)=\(.*\)$/\1 = '\2'/"
		done
	} | as_server_user tee -a "$dir/data/postgresql.conf" >/dev/null
	export PGHOST=$dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
	unset PGPASSWORD PGSERVICE PGHOSTADDR PGSSLMODE PGOPTIONS
	(cd "$dir" && as_server_user "$bindir/pg_ctl" -w -t 60 -s \
		-D "$dir/data" -l "$dir/server.log" start) ||
		{ tail -n 20 "$dir/server.log" >&2; return 1; }
}

# cluster_remove DIR: stop the server started there, remove the directory
cluster_remove() {
	local dir=$1 bindir
	[ -n "$dir" ] && [ -d "$dir" ] || return 0
	if [ -e "$dir/data/postmaster.pid" ]; then
		bindir=$("$(find_pg_config)" --bindir)
		(cd "$dir" && as_server_user "$bindir/pg_ctl" -w -s -m immediate \
			-D "$dir/data" stop) >/dev/null 2>&1
	fi
	rm -rf "$dir"
}

# clone_tree FROM TO: what is committed, or the files as they are where that is
# not all; the checkout may belong to another user
clone_tree() {
	local config
	config=$(mktemp) || return 1
	printf '[safe]\n\tdirectory = *\n' >"$config"
	if [ -e "$1/.git" ] &&
		[ -z "$(GIT_CONFIG_GLOBAL=$config git -C "$1" status --porcelain 2>&1)" ] &&
		GIT_CONFIG_GLOBAL=$config git clone -q --no-hardlinks "$1" "$2"; then
		rm -f "$config"
		return
	fi
	rm -f "$config"
	say "not a clean checkout: copying its files"
	rm -rf "$2"
	mkdir -p "$2" && copy_tree "$1" "$2"
}

# copy_tree FROM TO: the files under version control, or that would be
copy_tree() {
	local files
	if [ -e "$1/.git" ] && command -v git >/dev/null; then
		files='git -c safe.directory=* ls-files -co --exclude-standard -z'
	else
		files='find . -type f -not -path ./.git/* -not -name *.o -not -name *.so -print0'
	fi
	(cd "$1" && set -f && $files |
		xargs -0 -r sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' sh |
		tar --null -T - -c) | tar -x -C "$2"
	[ "$(id -u)" != 0 ] || chown -R "$(find_server_user)" "$2"
}
