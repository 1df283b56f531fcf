#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes wheels of the Python package with the library inside to build/wheel/: for x86_64 and aarch64, with glibc 2.17
# or later and with musl 1.2 or later. Usage: packaging/wheel/build.sh
#
# The compiler is zig, a package of pip, which has the headers and the symbols of both C libraries. It compiles reel.c
# (make amalgamation) with LZ4, whose sources are another package, for processors without extensions. Builds of one commit
# are equal, byte for byte: the files have the time of the commit, or SOURCE_DATE_EPOCH.
set -eu
trap 'echo "packaging/wheel/build.sh: stopped in line $LINENO" >&2' ERR
cd "$(dirname "$0")/../.."
. build-aux/bootstrap.sh
umask 022
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y configure.ac)}

out=$PWD/build/wheel
work=$out/work
tools=$out/tools/bin
make=$out/make
version=$(sed -n 's/^AC_INIT(\[reel\], \[\(.*\)\])/\1/p' configure.ac)
rm -rf "$work" "$out"/*.whl
mkdir -p "$work"
export ZIG_GLOBAL_CACHE_DIR=$out/zig ZIG_LOCAL_CACHE_DIR=$out/zig

# ---- Tools and sources ----

install "${library_packages[@]}" python3-venv=/usr/share/doc/python3-venv
bootstrap
[ -x "$tools/pip" ] || /usr/bin/python3 -m venv "$out/tools"
echo "installing the compiler: about 90 MB, by the network"
"$tools/pip" install --quiet --require-hashes -r packaging/wheel/requirements.txt
[ -d "$out/sources" ] ||
	"$tools/pip" download --quiet --no-deps --require-hashes --no-binary :all: -d "$out/sources" -r packaging/wheel/sources.txt
# The wheel of jaxlib has the header of XLA's foreign calls.
[ -d "$out/headers" ] || "$tools/pip" download --quiet --no-deps --require-hashes --only-binary :all: --python-version 3.11 \
	--platform manylinux_2_27_x86_64 -d "$out/headers" -r packaging/wheel/headers.txt
"$tools/python" -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1]).extract("jaxlib/include/xla/ffi/api/c_api.h", sys.argv[2])' "$out"/headers/jaxlib-*.whl "$work"
mkdir "$work/lz4"
tar -C "$work/lz4" --strip-components=1 -xf "$out"/sources/lz4-*.tar.gz

# Installs the headers and the files for pkg-config and CMake, and makes the map of symbols.
sources=../../..
configure build/wheel/make --prefix=/reel --libdir=/reel/lib --disable-static --disable-openmp --disable-fortran \
	--with-pool=c11 --with-lz4=no --with-mpi=no --with-libdw=no --with-sqlite=no --with-tsunami=no --with-adolc=no \
	--with-verifier=no --with-cuda=no
make -s -C "$make" amalgamation lib/libreel.map gpu/libreel-cuda.map
make -s -C "$make" DESTDIR="$work" pkgconfig_DATA='reel.pc reel-enzyme.pc' \
	include_HEADERS='include/reel.h include/reel.hpp' reelinclude_HEADERS='$(core_headers) include/reel/enzyme.h' \
	install-includeHEADERS install-reelincludeHEADERS install-pkgconfigDATA install-cmakeDATA
sed -i 's/^Libs: .*/& -Wl,-rpath,${libdir}/' "$work"/reel/lib/pkgconfig/*.pc
# A wheel has no symbolic links, so linker scripts take the place of the links for linkers.
for library in reel reel-enzyme; do
	echo "INPUT(lib$library.so.0)" >"$work/reel/lib/lib$library.so"
done
# Makes a wheel of the package without the library, with the licences.
cp -r python "$work/package"
rm -rf "$work"/package/{build,*.egg-info}
cp LICENSE "$work/package/LICENSE"
sed -n '2,/^\*\//{/^\*\//!p;}' "$work/lz4/lz4libs/lz4.c" >"$work/package/LICENSE.lz4"
"$tools/pip" wheel --quiet --no-deps --no-build-isolation -w "$work" "$work/package"

# ---- Libraries ----

# compile TARGET OPTION...: compiles by zig, optimised, without paths of this build.
compile() {
	"$tools/python" -m ziglang cc -target "$@" -mcpu=baseline -O2 -g0 -s -std=gnu11 -fPIC -pthread \
		-ffile-prefix-map="$make/amalgamation/=" -fno-sanitize=all -fno-semantic-interposition -funwind-tables \
		-Wno-unused-command-line-argument
}

# link TARGET NAME MAP OPTION...: links a shared library with the symbols of the map.
link() {
	local target=$1 name=$2 map=$3
	shift 3
	compile "$target" -shared -o "$name" -Wl,-soname,"${name##*/}" -Wl,--version-script="$map" -Wl,-z,defs \
		-Wl,-z,nodelete -Wl,--gc-sections "$@"
}

# libraries TARGET FOLDER: compiles the libraries of a wheel to FOLDER.
libraries() {
	local target=$1 folder=$2 headers=("-I$make" -Iinclude -Ilib)
	mkdir -p "$work/$target"
	compile "$target" -c -ffunction-sections -fdata-sections "-I$make/amalgamation" "-I$work/lz4/lz4libs" \
		-DHAVE_LZ4=1 -DHAVE_DLOPEN=1 -o "$work/$target/reel.o" "$make/amalgamation/reel.c"
	compile "$target" -c -ffunction-sections -o "$work/$target/lz4.o" "$work/lz4/lz4libs/lz4.c"
	link "$target" "$folder/libreel.so.0" "$make/lib/libreel.map" "$work/$target"/*.o -ldl
	link "$target" "$folder/libreel-enzyme.so.0" dropin/enzyme/enzyme.map "${headers[@]}" dropin/enzyme/*.c \
		"$folder/libreel.so.0" -Wl,-rpath,'$ORIGIN'
	# Python loads this one, and so does libreel for the word "gpu". The map hides its copies of functions of libreel.
	link "$target" "$folder/libreel-cuda.so.0" "$make/gpu/libreel-cuda.map" "${headers[@]}" -I. \
		-ffunction-sections gpu/*/*.c lib/os/os.c lib/os/os-thread.c lib/store/transfer-queue.c \
		"$folder/libreel.so.0" -ldl -Wl,-rpath,'$ORIGIN'
	case $target in *-gnu*)
		# jaxlib has wheels for glibc only, so reel.jax works there only.
		compile "$target" -shared -fvisibility=hidden -D_GNU_SOURCE -Iinclude -isystem "$work/jaxlib/include" \
			-o "$folder/libreel-jax.so" python/jax-calls.c "$folder/libreel.so.0" -Wl,-rpath,'$ORIGIN'
		link "$target" "$folder/libreel-malloc.so" dropin/malloc/malloc.map "${headers[@]}" -ftls-model=initial-exec \
			dropin/malloc/*.c "$work/$target"/*.o -ldl
		;;
	esac
}

# ---- Wheels ----

# wheel TARGET TAG...: makes the wheel of the package with the libraries for TARGET.
wheel() {
	local target=$1 tree=$work/$1/libreel-$version tag
	shift
	"$tools/wheel" unpack -d "$work/$target" "$work/libreel-$version-py3-none-any.whl" >/dev/null
	cp -r "$work/reel" "$tree"
	libraries "$target" "$tree/reel/lib"
	sed -i '/^Tag:/d; /^$/d; s/^Root-Is-Purelib: .*/Root-Is-Purelib: false/' "$tree/libreel-$version.dist-info/WHEEL"
	for tag; do
		echo "Tag: py3-none-$tag" >>"$tree/libreel-$version.dist-info/WHEEL"
	done
	"$tools/wheel" pack -d "$out" "$tree" >/dev/null
}

for arch in x86_64 aarch64; do
	echo "compiling for $arch"
	wheel $arch-linux-gnu.2.17 manylinux_2_17_$arch manylinux2014_$arch
	wheel $arch-linux-musl musllinux_1_2_$arch
	# auditwheel can only check wheels for glibc on a system with glibc, so the wheel for musl is not checked.
	"$tools/auditwheel" show "$out"/*_2_17_$arch.whl | tr -s '\n ' ' ' | grep -q " following platform tag: \"manylinux_2_17_$arch\""
done
(cd "$out" && sha256sum ./*.whl && ls -l ./*.whl)
