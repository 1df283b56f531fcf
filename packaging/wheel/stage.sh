# SPDX-License-Identifier: MIT
# stage.sh sources this for the wheel stage: builds the wheels twice, and tries them in clean systems without a compiler,
# from C, and on other processors and C libraries. Each check writes $directory/NAME.log.

# build_again: builds the wheels of a copy of the sources in another folder without a build, and compares them.
build_again() {
	local file copy=$directory/copy
	rm -rf "$copy"
	mkdir "$copy"
	git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard | xargs -0 cp -p --parents -t "$copy" || return
	(unset MAKEFLAGS MFLAGS MAKELEVEL && SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) "$copy/packaging/wheel/build.sh") || return
	for file in "$directory"/*.whl; do
		cmp "$file" "$copy/build/wheel/${file##*/}" || return
	done
}

# small: succeeds if each wheel has at most 1.5 MB.
small() { ls -l "$directory"/*.whl && [ -z "$(find "$directory" -maxdepth 1 -name '*.whl' -size +1500000c)" ]; }

# ---- Clean systems ----

# in_system NAME SUITE PACKAGES COUNT COMMAND: in a system of Debian with the packages and with the files of
# $directory/NAME.tar in /try, a user runs the command, which prints a line for each of its COUNT checks.
in_system() {
	local log=$directory/$1.log
	mmdebstrap --variant=minbase --format=null --include="$3" \
		--customize-hook='echo the system is there' --customize-hook='mkdir "$1/try"' \
		--customize-hook="tar-in $directory/$1.tar /try" --customize-hook='chroot "$1" useradd --create-home visitor' \
		--customize-hook="chroot \"\$1\" su visitor -c '$5'" "$2" /dev/null >"$log" 2>&1
	if ! grep -qx 'the system is there' "$log"; then
		skips "$1" "mmdebstrap makes no such system: $(grep '^E:' "$log" | head -n 1)"
		return
	fi
	grep -aE -A 20 '^failed ' "$log" | sed 's/^/---- /'
	grep -aE 's for both|more in the process' "$log" | head -n 2
	passed=$((passed + $(grep -acE '^passed ' "$log")))
	failed=$((failed + $(grep -acE '^failed ' "$log")))
	[ "$(grep -acE '^(passed|failed) ' "$log")" -eq "$4" ] || broken "$1: see $log"
}

# try_in SUITE: the wheel, where Python and NumPy are.
try_in() {
	tar -cf "$directory/$1.tar" --transform 's|^packaging/wheel/||' --transform 's|^build/wheel/||' README.md python \
		packaging/wheel/try.sh packaging/wheel/try.py "$directory"/*manylinux*_x86_64.whl
	in_system "$1" "$1" python3,python3-numpy,python3-pip,python3-venv "$(grep -c '^holds ' packaging/wheel/try.sh)" \
		'sh /try/try.sh'
}

# for_dolfinx PACKAGE...: downloads wheels for Debian 13 to $directory/dolfinx.
for_dolfinx() {
	"$directory/tools/bin/pip" download --quiet --dest "$directory/dolfinx" --only-binary :all: --python-version 3.13 \
		--platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
		--platform manylinux2014_x86_64 "$@"
}

# try_dolfinx: the wheel beside dolfinx-adjoint, for which the package index has wheels for Debian 13's Python. DOLFINx
# compiles its forms.
try_dolfinx() {
	if ! { for_dolfinx dolfinx-solver-real==0.11.0.post0 pyadjoint-ad==2026.10.0 h5py packaging &&
		for_dolfinx --no-deps fenicsx-compat==0.4.0 dolfinx-adjoint==0.4.0; } >"$directory/dolfinx.log" 2>&1; then
		skips dolfinx "pip brings no DOLFINx: $(tail -n 1 "$directory/dolfinx.log")"
		return
	fi
	cp packaging/wheel/try_dolfinx.py "$directory"/*manylinux*_x86_64.whl "$directory/dolfinx"
	tar -cf "$directory/dolfinx.tar" -C "$directory/dolfinx" .
	in_system dolfinx trixie python3-venv,python3-dev,gcc "$(grep -c '^    ("' packaging/wheel/try_dolfinx.py)" \
		'cd && python3 -m venv env && env/bin/pip install --quiet --no-index --no-deps /try/*.whl &&
			OMP_NUM_THREADS=1 env/bin/python /try/try_dolfinx.py'
}

# ---- Programs in C ----

# gradient COMMAND...: compiles README.md's program, gradient.c, and runs it in this folder.
gradient() {
	sed -n '/^```c$/,/^```$/{/^```/!p;}' README.md >"$directory/gradient.c"
	rm -f "$directory/gradient"
	(cd "$directory" && "$@" -o gradient && $under ./gradient | grep -x 'dx/da = 1.05736 0.562254 0.397171')
}

reel() { "$directory/env/bin/python" -m reel "$@"; }

by_flags() {
	gradient cc gradient.c $(reel --cflags --libs) -lm && readelf -d "$directory/gradient" | grep 'NEEDED.*libreel.so.0' &&
		gradient cc -fuse-ld=gold gradient.c $(reel --cflags --libs) -lm
}

by_pkg_config() {
	export PKG_CONFIG_PATH=$(reel --pkgconfigdir)
	gradient cc gradient.c $(pkg-config --cflags --libs reel) -lm &&
		CC=cc CXX= NM=nm PKG_CONFIG=pkg-config sh tests/install/installcheck.sh tests/install/installcheck-enzyme.c \
			"$PKG_CONFIG_PATH" "${PKG_CONFIG_PATH%/*}" reel-enzyme
}

by_cmake() {
	rm -rf "$directory/cmake"
	mkdir "$directory/cmake"
	cat >"$directory/cmake/CMakeLists.txt" <<-END
		cmake_minimum_required(VERSION 3.13)
		project(user C)
		find_package(Reel $version EXACT REQUIRED COMPONENTS reel enzyme)
		add_executable(gradient ../gradient.c)
		target_link_libraries(gradient Reel::reel m)
	END
	cmake -S "$directory/cmake" -B "$directory/cmake" -DReel_DIR="$(reel --cmakedir)" && cmake --build "$directory/cmake" &&
		"$directory/cmake/gradient" | grep '^dx/da = 1.05736'
}

preloaded() {
	LD_PRELOAD=$(dirname "$(reel --pkgconfigdir)")/libreel-malloc.so REEL_MALLOC=stats perl -e 1 2>&1 | grep '^reel: malloc:'
}

# ---- The two files ----

built=$PWD/$directory
zig() { ZIG_GLOBAL_CACHE_DIR=$built/zig ZIG_LOCAL_CACHE_DIR=$built/zig "$built/tools/bin/python" -m ziglang cc "$@"; }

# by_zig TARGET...: zig has no run-time library of OpenMP.
by_zig() {
	local target
	for target; do
		(cd "$directory/files" && zig -target "$target" -Wall -Wextra -Werror -I. gradient.c reel.c reel-omp.c -o gradient -lm) || return
	done
	"$directory/files/gradient" | grep -x 'dx/da = 1.05736 0.562254 0.397171'
}

# try_files: the files that make amalgamation writes, by zig, and by the oldest compilers that they promise, of Debian 11.
try_files() {
	local files=$directory/files
	mkdir -p "$files"
	cp "$directory"/make/amalgamation/reel*.[ch] packaging/wheel/compile.sh "$files"
	sed -n '/^```c$/,/^```$/{/^```/!p;}' README.md >"$files/gradient.c"
	sed 's#<reel/omp.h>#"reel-omp.h"#; s#<reel/plan.h>#"reel.h"#' tests/install/installcheck-omp.c >"$files/omp.c"
	holds 'zig compiles reel.c and reel-omp.c' zig by_zig aarch64-linux-musl x86_64-linux-gnu
	tar -cf "$directory/compilers.tar" -C "$files" compile.sh gradient.c omp.c reel.c reel.h reel-omp.c reel-omp.h
	in_system compilers bullseye gcc-9,gcc,clang-11,libomp-11-dev,libc6-dev 3 'sh /try/compile.sh gcc-9 gcc clang-11'
}

# ---- Other processors and C libraries ----

# unpacked TAG: unpacks the wheel with the tag, and prints the folder of the package.
unpacked() {
	rm -rf "$directory/unpacked/$1"
	mkdir -p "$directory/unpacked/$1"
	/usr/bin/python3 -m zipfile -e "$directory"/libreel-*"$1".whl "$directory/unpacked/$1"
	echo "$PWD/$directory/unpacked/$1/reel"
}

# cross TARGET TAG: compiles README.md's program by zig with the library of a wheel, and runs it.
cross() {
	local folder
	folder=$(unpacked "$2")
	gradient zig -target "$1" -dynamic gradient.c "-I$folder/include" \
		"$folder/lib/libreel.so.0" "-Wl,-rpath,$folder/lib" -lm
}

# foreign COUNT PAGE: runs the package and its examples by Python for aarch64, with pages of PAGE bytes.
foreign() {
	local root=$PWD/$directory/arm64 folder python
	folder=$(unpacked manylinux_2_17_aarch64)
	python=$(echo "$root"/usr/bin/python3.[0-9]*)
	under="qemu-aarch64 -p $2 -L $root -E PYTHONHOME=$root/usr -E PYTHONPATH=${folder%/reel}:$root/usr/lib/python3/dist-packages
		-E LD_LIBRARY_PATH=$(echo "$root"/usr/lib/aarch64-linux-gnu/{blas,lapack} | tr ' ' :)"
	$under "$python" packaging/wheel/try.py "$1" && $under "$python" -m doctest python/README.md &&
		$under "$python" -c "import mmap; print('pages of', mmap.PAGESIZE); assert mmap.PAGESIZE == $2"
}

try_elsewhere() {
	local page
	under=
	holds 'a program with musl uses the library' musl cross x86_64-linux-musl musllinux_1_2_x86_64
	rm -rf "$directory/arm64"
	if ! mmdebstrap --variant=extract --format=directory --arch=arm64 --include=python3,python3-numpy,musl bookworm \
		"$directory/arm64" >"$directory/arm64.log" 2>&1; then
		skips aarch64 "mmdebstrap makes no such system: $(grep '^E:' "$directory/arm64.log" | head -n 1)"
		return
	fi
	under="qemu-aarch64 -L $PWD/$directory/arm64" holds 'a program for aarch64 uses the library' aarch64 \
		cross aarch64-linux-gnu.2.17 manylinux_2_17_aarch64
	under="qemu-aarch64 -L $PWD/$directory/arm64" holds 'a program with musl for aarch64 uses the library' aarch64-musl \
		cross aarch64-linux-musl musllinux_1_2_aarch64
	for page in 4096 16384 65536; do
		holds "the package works on aarch64, with pages of $page bytes" aarch64-$page foreign 16 $page
	done
}

wheel() {
	local suite
	echo 'wheel: the wheels, in clean systems and on other processors'
	[ -e .git ] || broken 'this is no clone'
	version=$(sed -n 's/^AC_INIT(\[reel\], \[\(.*\)\])/\1/p' configure.ac)
	holds 'the wheels are built' build packaging/wheel/build.sh || conclude $passed $failed $skipped
	holds 'each has at most 1.5 MB' sizes small
	sed 's/^/  /' "$directory/sizes.log"
	holds 'a build elsewhere is equal' again build_again
	for suite in bullseye bookworm trixie; do
		try_in $suite
	done
	try_dolfinx
	/usr/bin/python3 -m venv --system-site-packages "$directory/env" &&
		"$directory/env/bin/pip" install --quiet --force-reinstall --no-deps "$directory"/*manylinux*_x86_64.whl || broken 'pip does not install'
	holds 'a program in C is built by --cflags and --libs' flags by_flags
	holds 'and by pkg-config, also one with -lreel-enzyme' pkg-config by_pkg_config
	holds 'and by CMake' cmake by_cmake
	holds 'libreel-malloc is preloaded' malloc preloaded
	try_files
	try_elsewhere
	conclude $passed $failed $skipped
}
