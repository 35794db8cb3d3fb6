#!/bin/bash
# image.sh DEB DIR: what a CloudNativePG cluster mounts as an extension, of the
# Debian package DEB: DIR/files with lib/, share/ and licenses/; and, where there
# is umoci, the image DIR/oci:VERSION, an OCI layout of one layer with these.
set -u
deb=$1 to=$2

package=$(dpkg-deb -f "$deb" Package)
version=$(dpkg-deb -f "$deb" Version)
architecture=$(dpkg-deb -f "$deb" Architecture)
major=$(expr "$package" : 'postgresql-\([0-9]*\)-skipidx$')
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# files: a server looks in share/extension and lib of each extension
files() {
	local unpacked=$work/unpacked
	dpkg-deb -x "$deb" "$unpacked" && rm -rf "$to/files" && mkdir -p "$to/files/licenses/$package" &&
		cp -r "$unpacked/usr/lib/postgresql/$major/lib" "$to/files/lib" &&
		cp -r "$unpacked/usr/share/postgresql/$major" "$to/files/share" &&
		cp "$unpacked/usr/share/doc/$package/copyright" "$to/files/licenses/$package/"
}

# image: whose user is no one, as what is in it is only read
image() {
	local tag=${version//[~+:]/-} label=org.opencontainers.image
	rm -rf "$to/oci" && umoci init --layout "$to/oci" &&
		umoci new --image "$to/oci:$tag" &&
		umoci unpack --rootless --image "$to/oci:$tag" "$work/bundle" &&
		cp -r "$to/files/." "$work/bundle/rootfs" &&
		umoci repack --image "$to/oci:$tag" "$work/bundle" &&
		umoci config --image "$to/oci:$tag" --os linux --architecture "$architecture" \
			--config.user 65532:65532 --config.label "$label.title=skipidx" \
			--config.label "$label.version=$version" --config.label "$label.licenses=PostgreSQL" &&
		umoci gc --layout "$to/oci" && echo "image: $to/oci:$tag"
}

[ -n "$major" ] || { echo "image.sh: $deb is no package of skipidx" >&2; exit 1; }
files && echo "image: $to/files" || exit 1
! command -v umoci >/dev/null || image
