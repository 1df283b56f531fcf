# SPDX-License-Identifier: MIT
# stage.sh sources this for the package stage: builds Debian packages from the tarball and debian/, twice, runs checkers on
# them, and the tests of debian/tests/ in a clean system. Each check writes $directory/NAME.log.

passed=0 failed=0 skipped=0
suite=bookworm

# holds WHAT NAME COMMAND...: a check, which passes if the command succeeds.
holds() {
	local what=$1 log=$directory/$2.log
	shift 2
	if "$@" >"$log" 2>&1; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	printf -- '---- does not hold: %s; see %s\n' "$what" "$log"
	tail -n 20 "$log"
	return 1
}

# skips WHAT REASON: counts a check that is skipped.
skips() {
	skipped=$((skipped + 1))
	printf '%s: skipped, %s: %s\n' "$name" "$1" "$2"
}

# build_packages FOLDER [nocheck [COMMAND]]: builds the packages in $directory/FOLDER from the tarball by COMMAND. Runs
# their tests unless there is `nocheck`.
build_packages() (
	set -e
	rm -rf "$directory/$1"
	mkdir -p "$directory/$1"
	cp "$directory/reel-$version.tar.xz" "$directory/$1/reel_$version.orig.tar.xz"
	tar -C "$directory/$1" -xf "$directory/reel-$version.tar.xz"
	cp -a debian "$directory/$1/reel-$version/"
	cd "$directory/$1/reel-$version"
	unset MAKEFLAGS MFLAGS MAKELEVEL
	DEB_BUILD_OPTIONS="parallel=$jobs${2:+ $2}" ${3:-dpkg-buildpackage -us -uc}
)

# build_by_page: builds the packages by the command of doc/installing.md.
build_by_page() {
	local command
	command=$(sed -n 's/.* && \(dpkg-buildpackage .*\)/\1/p' doc/installing.md)
	[ -n "$command" ] && build_packages by-page nocheck "$command"
}

# equal_packages: compares the packages of both builds byte for byte.
equal_packages() {
	local file count=0 differ=0
	for file in "$directory"/first/*.deb; do
		count=$((count + 1))
		cmp "$file" "$directory/another-folder/${file##*/}" || differ=1
	done
	echo "$count packages"
	[ $count -gt 15 ] && [ $differ -eq 0 ]
}

# clean_of_lintian: succeeds if lintian has no error and no warning, except that the first upload of a package has to close
# a bug of Debian, which does not exist.
clean_of_lintian() {
	lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
		"$directory/first/reel_$version-1"_*.changes
}

# describe_abi FILE DESCRIPTION: writes the ABI that programs depend on, without places in the sources, which change.
describe_abi() {
	abidw --suppressions tests/data/abi/public.abignore --exported-interfaces-only --no-show-locs --no-corpus-path \
		--no-comp-dir-path --no-elf-needed --no-write-default-sizes --no-parameter-names --out-file "$2" "$1"
}

# same_abi FILE LIBRARY: succeeds if programs for the baseline in tests/data/abi/ work with this library. After a change on
# purpose, with -version-info raised: xz <build/package/LIBRARY.abi >tests/data/abi/LIBRARY.abi.xz
same_abi() {
	local description=$directory/$2.abi
	describe_abi "$1" "$description" && xz -dc "tests/data/abi/$2.abi.xz" >"$directory/$2-before.abi" &&
		abidiff --no-added-syms "$directory/$2-before.abi" "$description"
}

# compare_abis: checks the ABI of each library that programs are linked with.
compare_abis() {
	local file library
	if [ "$(uname -m)" != x86_64 ]; then
		skips 'the ABI is as before' 'the baselines are of x86_64'
		return
	fi
	for file in "$directory/first/reel-$version/debian/tmp/usr/lib"/*/libreel*.so.0; do
		library=$(basename "$file" .so.0)
		if [ ! -f "tests/data/abi/$library.abi.xz" ]; then
			skips "the ABI of $library" "tests/data/abi/ has no baseline of it"
			continue
		fi
		holds "the ABI of $library is as before" "$library" same_abi "$file" "$library"
	done
}

# run_in_chroot: makes a clean system, installs the packages and runs their tests as a normal user.
# Lines "passed NAME" and "failed NAME" of its output are checks.
run_in_chroot() {
	local folder=$directory/first
	mmdebstrap --variant=minbase --format=null \
		--include=g++,gfortran,cmake,make,pkg-config \
		--customize-hook='echo the system is there' \
		--customize-hook='mkdir "$1/packages"' \
		--customize-hook="copy-in $(echo "$folder"/*.deb) /packages" \
		--customize-hook="tar-in $folder/source.tar /packages" \
		--customize-hook='chroot "$1" sh /packages/debian/tests/all' \
		$suite /dev/null
}

test_in_chroot() {
	local log=$directory/chroot.log status
	tar -C "$directory/first/reel-$version" -cf "$directory/first/source.tar" doc/installing.md debian/tests dropin/petsc/README.md tests/install
	run_in_chroot >"$log" 2>&1
	status=$?
	if ! grep -qx 'the system is there' "$log"; then
		skips 'tests in a clean system' "mmdebstrap makes none: $(grep '^E:' "$log" | head -n 1)"
		return
	fi
	grep -aE '^failed ' "$log" | sed 's/^/---- in the clean system: /'
	passed=$((passed + $(grep -acE '^passed ' "$log")))
	failed=$((failed + $(grep -acE '^failed ' "$log")))
	if [ $status -ne 0 ]; then
		failed=$((failed + 1))
		printf -- '---- the tests in a clean system were not carried out; see %s\n' "$log"
		tail -n 20 "$log"
	fi
}

package() {
	echo 'package: Debian packages, installed in a clean system'
	if [ ! -d debian ]; then
		skips 'the packages' 'debian/ is in a clone, and in no tarball'
		conclude $passed $failed $skipped
	fi
	configure "$directory" "${main_options[@]}" || broken 'configure failed'
	version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$directory/config.h")
	XZ_OPT=-0 make -C "$directory" dist >"$directory/dist.log" 2>&1 || broken "make dist failed, see $directory/dist.log"
	holds 'the sources pass reuse lint' reuse reuse lint
	holds 'the packages are built, and their tests pass' first build_packages first || conclude $passed $failed $skipped
	holds 'lintian finds nothing' lintian clean_of_lintian
	compare_abis
	test_in_chroot
	TZ=Asia/Tokyo holds 'they are built elsewhere' second build_packages another-folder nocheck
	holds 'both builds are equal' equal equal_packages
	holds 'the command of doc/installing.md builds packages' page build_by_page
	conclude $passed $failed $skipped
}
