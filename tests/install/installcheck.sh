#!/bin/sh
# SPDX-License-Identifier: MIT
# installcheck.sh SOURCE PKGCONFIGDIR LIBDIR [PACKAGE]
# Compiles SOURCE with the installed PACKAGE (reel), and runs it: in C and, if there is a compiler, in
# C++, or in Fortran if SOURCE is in Fortran.
# CC, CXX, CFLAGS, FC, FCFLAGS, NM, NVCC, PKG_CONFIG and DESTDIR come from the environment.
set -e
source=$1
libdir=$3
package=${4:-reel}

PKG_CONFIG_PATH=$DESTDIR$2${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
LD_LIBRARY_PATH=$DESTDIR$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH
[ -z "$DESTDIR" ] || export PKG_CONFIG_SYSROOT_DIR="$DESTDIR"

program=$(mktemp)
project= archives=$program.archives

finish() {
	status=$?
	rm -rf "$program" "$program.cpp" "$project" "$archives"
	[ $status -eq 0 ] || echo "installcheck.sh: stopped with status $status, for $package" >&2
}
trap finish EXIT

# use COMPILER...: compiles and runs SOURCE. The flags are split into words on purpose.
use() {
	"$@" $CFLAGS $($PKG_CONFIG --cflags $package) "$source" -x none $($PKG_CONFIG --libs $package) -lm -o "$program"
	"$program"
}

case $source in
*.f90)
	$FC $FCFLAGS $($PKG_CONFIG --cflags $package) "$source" $($PKG_CONFIG --libs $package) \
		-o "$program"
	"$program"
	exit
	;;
esac

# by_cmake: a project of CMake finds Reel with a version and a part, and does not find a part that does not exist.
by_cmake() (
	cd "$project"
	cat >CMakeLists.txt <<-END
		cmake_minimum_required(VERSION 3.13)
		project(user C)
		find_package(Reel 0.2 REQUIRED COMPONENTS reel cuda)
		find_package(Reel QUIET COMPONENTS harp)
		if(Reel_FOUND)
		  message(FATAL_ERROR "there is no part named harp")
		endif()
		add_executable(user "$source")
		target_link_libraries(user Reel::cuda m)
	END
	cmake -DReel_DIR="$DESTDIR$libdir/cmake/Reel" -DCMAKE_C_COMPILER="${CC%% *}" \
		-DCMAKE_C_FLAGS="$CFLAGS" . >log && cmake --build . >>log && ./user || {
		cat log
		exit 1
	}
)

die() {
	echo "installcheck.sh: $1" >&2
	exit 1
}

# finds DIRECTORY VERSION VARIABLE VALUE: configures a project with the package below DIRECTORY, always in the same build
# folder, and checks that the variable has the value.
finds() {
	cmake -S . -B build -DReel_DIR="$1$libraries/cmake/Reel" -DV="$2" -DCMAKE_C_COMPILER="${CC%% *}" >log || return
	grep -q -e "-- $3 $4" log
}

# copied: a project finds the headers and the library of a copy of the installed tree in the copy, with the versions and
# variables of the original.
copied() (
	prefix=$(realpath "$DESTDIR$($PKG_CONFIG --variable=prefix reel | sed "s|^$DESTDIR||")")
	headers=$(realpath "$DESTDIR$($PKG_CONFIG --variable=includedir reel | sed "s|^$DESTDIR||")")
	libraries=$(realpath "$DESTDIR$libdir") config=$(realpath "$PKG_CONFIG_DIR")
	case $libraries:$headers:$config in "$prefix"/*:"$prefix"/*:"$prefix"/*) ;; *) return 0 ;; esac
	headers=${headers#"$prefix"} libraries=${libraries#"$prefix"} config=${config#"$prefix"}
	cd "$project"
	copy=$(realpath .)/copy
	mkdir -p "$copy$headers" "$copy$libraries" "$copy$config"
	cp -r "$prefix$headers"/reel* "$copy$headers"
	cp -rP "$prefix$libraries"/libreel.* "$prefix$libraries/cmake" "$copy$libraries"
	cp "$prefix$config"/reel*.pc "$copy$config"
	cat >CMakeLists.txt <<-'END'
		cmake_minimum_required(VERSION 3.19)
		project(user C)
		set(prefix mine)
		find_package(Reel ${V} QUIET COMPONENTS reel)
		message(STATUS "variable ${prefix}")
		message(STATUS "found ${Reel_FOUND}")
		message(STATUS "library ${Reel_reel_LIBRARY}")
		message(STATUS "headers ${Reel_INCLUDE_DIR}")
	END
	finds "$prefix" '' library "$prefix$libraries/libreel" ||
		die "find_package() finds no library below $prefix"
	finds "$copy" '' library "$copy$libraries/libreel" ||
		die 'find_package() keeps the library of the tree that it was asked for before'
	finds "$copy" '' headers "$copy$headers" ||
		die 'find_package() does not find the headers of a copied tree'
	finds "$copy" '' variable mine ||
		die 'find_package() changes the variable prefix'
	for version in 0.1 0.2 '0.1...0.2.0' '0.2...<0.3' '0.3' 1 '0.1...<0.2' '0.3...1'; do
		wanted=TRUE
		case $version in 0.3* | 1 | *'<0.2') wanted=FALSE ;; esac
		finds "$copy" "$version" found "\(1\|TRUE\)" && found=TRUE || found=FALSE
		[ $found = $wanted ] || die "find_package(Reel $version): found $found"
	done
	[ "$prefix" != "$DESTDIR/usr" ] || return 0
	PKG_CONFIG_PATH=$copy$config PKG_CONFIG_SYSROOT_DIR= $PKG_CONFIG --cflags --libs reel >flags
	grep -q -e "-I$copy/.* -L$copy/" flags ||
		die "pkg-config says of a copied tree: $(cat flags)"
)

if [ "$package" = reel ] && command -v cmake >/dev/null; then
	project=$(mktemp -d)
	source=$(realpath "$source")
	by_cmake
	rm -rf "$project"/*
	PKG_CONFIG_DIR=$DESTDIR$2
	echo 'cmake_minimum_required(VERSION 3.19)' >"$project/ranges.cmake"
	! cmake -P "$project/ranges.cmake" 2>/dev/null || copied
fi

# use_static: compiles and runs SOURCE with static libraries only, unless none is installed. It skips reel-mpi, because a
# static MPI is not Reel's to install.
use_static() {
	[ -f "$DESTDIR$libdir/lib$package.a" ] && [ "$package" != reel-mpi ] || return 0
	mkdir "$archives"
	cp "$DESTDIR$libdir"/libreel*.a "$archives"
	$CC $CFLAGS -std=c11 $($PKG_CONFIG --cflags $package) "$source" -L"$archives" \
		$($PKG_CONFIG --static --libs $package) -lm -o "$program"
	! readelf -d "$program" | grep 'NEEDED.*libreel' || {
		echo "installcheck.sh: the program with static libraries needs shared ones" >&2
		exit 1
	}
	"$program"
}
use_static

use $CC -std=c11 -x c
[ -z "$CXX" ] || use $CXX -std=c++17 -x c++

# by_nvcc: builds a program with kernels by the command of gpu/tape/README.md, and with static libraries only.
by_nvcc() (
	tests=$(realpath "$(dirname "$0")")
	command=$(sed -n 's/^	nvcc program.cu/$NVCC program.cu/p' "$tests/../../gpu/tape/README.md")
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	cd "$folder"
	cp "$tests/installcheck-device.cu" program.cu
	eval "${command:?}"
	./a.out
	[ -d "$archives" ] || exit 0
	eval "$(echo "$command" | sed 's/\$(pkg-config/-L"$archives" $(pkg-config --static/')"
	./a.out
)
if [ "$package" = reel-cuda ]; then
	[ -z "$NVCC" ] || by_nvcc
fi

# A program needs its own copy of pushReal8, because a call into a shared library costs as much as a push.
if [ "$package" = reel-adstack ]; then
	$NM -D --undefined-only "$program" | grep -E ' pushReal8(@|$)' || exit 0
	echo 'installcheck.sh: -lreel-adstack does not give the program its own pushReal8' >&2
	exit 1
fi

# A program uses the tape for Clad's gradients, whose header is force-included.
if [ -n "$CXX" ]; then
	source=$program.cpp
	echo 'int main() { clad::custom_tape<double> _t0 = {}; clad::push(_t0, 1); return clad::pop(_t0) != 1; }' >"$source"
	use $CXX -std=c++14 -include reel/clad/tape.h -x c++
fi
