# apt.sh: sourced by the scripts beside it.  What this machine's apt knows, so
# that no mirror and no proxy is named anywhere in this tree.

# The mirror of the machine's main Debian archive.
debian_mirror() {
	(. /etc/os-release
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		'Created-By: Packages' |
		awk -v name="$VERSION_CODENAME" \
			'$1 == "Debian" && $2 == name { print $3; exit }')
}

# apt's own proxy setting counts as one in the environment does.
export_proxies() {
	local found=
	eval "$(apt-config shell found Acquire::http::Proxy)"
	[ -z "$found" ] || [ -n "${http_proxy:-}" ] || export http_proxy=$found
}

# apt_wait ARG...: apt-get as root, asking nothing, waiting for other runs
apt_wait() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
		-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}
