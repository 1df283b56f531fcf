#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests CMakeLists.txt: a project of CMake that contains Reel builds it from the lists of the makefiles.
. "$SOURCE_DIR/tests/tap/tap.sh"

case $CFLAGS in *-fsanitize*) skip_all 'the project names no sanitizer' ;; esac
command -v cmake >/dev/null || skip_all 'cmake is not installed'
# The make of the project must not use the jobs and variables of the make that runs this test.
unset MAKEFLAGS MFLAGS

# The project contains a copy, because the test changes its lists below.
mkdir reel
cp -r "$SOURCE_DIR/CMakeLists.txt" "$SOURCE_DIR/configure.ac" "$SOURCE_DIR/build-aux" "$SOURCE_DIR/include" \
	"$SOURCE_DIR/lib" "$SOURCE_DIR/omp" reel
chmod -R u+w reel
touch begun

for page in README doc/openmp; do
	first_program "$SOURCE_DIR/$page.md" >"${page##*/}.c"
done
cp "$SOURCE_DIR/tests/install/installcheck-omp.c" sines.c
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(user C)
include(FetchContent)
FetchContent_Declare(reel GIT_REPOSITORY "")
FetchContent_MakeAvailable(reel)
if(REEL_OPENMP)
  find_package(OpenMP REQUIRED)
  set(openmp OpenMP::OpenMP_C)
endif()
add_executable(gradient README.c)
target_link_libraries(gradient Reel::reel m)
add_executable(region openmp.c)
target_link_libraries(region Reel::omp ${openmp} m)
add_executable(sines sines.c)
target_link_libraries(sines Reel::omp m)
END
# has MACRO: prints 1 if the build of this test has the part.
has() { grep -c "^# *define $1 1" "$BUILD_DIR/config.h"; }

# build OPTION...: builds the project, and prints the output of cmake and the compiler.
build() {
	cmake -S . -B build -DFETCHCONTENT_SOURCE_DIR_REEL="$PWD/reel" -DCMAKE_C_COMPILER="${CC%% *}" \
		-DCMAKE_C_FLAGS='-O0 -Wall -Wextra -Werror' -DREEL_OPENMP="$(has HAVE_OPENMP)" \
		-DREEL_LZ4="$(has HAVE_LZ4)" "$@" >said 2>warnings &&
		cmake --build build -j 2 >>said 2>>warnings
}

# is_built WHAT OPTION...: checks that the project builds without a warning, and that its program runs.
is_built() {
	what=$1
	shift
	build "$@"
	ok $? "a project builds Reel as $what"
	is_empty warnings 'without a warning'
	build/gradient >printed && grep -q '^dx/da = 1.05736 0.562254 0.397171$' printed &&
		build/region >printed && grep -q '^dx/da = 0.841471, error 0$' printed && build/sines >printed
	ok $? 'and its programs compute their gradients'
}

is_built 'static libraries'
# Shared libraries have the same objects. The linker refuses (-z defs) a function that no source defines.
is_built 'shared libraries' -DBUILD_SHARED_LIBS=ON -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,defs

# exports LIBRARY: prints its symbols with their versions, and functions that it calls only with LZ4 or OpenMP.
exports() { $NM -D "$1" | awk 'NF == 3 || /LZ4_compress|GOMP_parallel|__kmpc_fork/ { print $NF }' | sort; }
for library in libreel libreel-omp; do
	if [ -f "$BUILD_DIR/.libs/$library.so" ]; then
		exports "$BUILD_DIR/.libs/$library.so" >wanted
		exports "build/_deps/reel-build/$library.so" | diff wanted - >different
		is_empty different "$library.so exports what the library of make exports, and has the same parts"
	else
		skip "$library.so exports what the library of make exports, which is not built"
	fi
done

DESTDIR=$PWD/installed cmake --install build >said 2>&1 && [ ! -e installed ]
ok $? 'a project that is installed installs nothing of Reel'

mkdir c++
cat >c++/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(user CXX)
add_subdirectory(../reel reel EXCLUDE_FROM_ALL)
add_executable(sines sines.cc)
target_link_libraries(sines Reel::omp)
END
cp sines.c c++/sines.cc
if [ -n "$CXX" ]; then
	cmake -S c++ -B c++/build -DCMAKE_C_COMPILER="${CC%% *}" -DCMAKE_CXX_COMPILER="${CXX%% *}" >said 2>&1
	ok $? 'a project in C++ alone can use Reel'
else
	skip 'a project in C++ alone can use Reel: there is no compiler'
fi
find reel -newer begun >written
is_empty written 'nothing is written into the folder of Reel'

# ---- Changes of a list ----

# with_list SED-COMMAND: changes lib/local.mk of the copy.
with_list() { sed "$1" "$SOURCE_DIR/lib/local.mk" >reel/lib/local.mk; }

echo 'int reel_added(void); int reel_added(void) { return 0; }' >reel/lib/tape/added.c
with_list 's|^\t%D%/tape/array.c|\t%D%/tape/added.c %D%/tape/array.c|'
cmake --build build -j 2 >said 2>&1 && $NM build/_deps/reel-build/libreel.so | grep -q ' reel_added$'
ok $? 'a file that the list of the makefile gets is compiled'
with_list '/tape\/mark\.c/d'
! cmake --build build -j 2 >said 2>&1 && grep -q "undefined reference to .reel_" said
ok $? 'a file that the list lacks is missed'

# refuses WHAT SED-COMMAND: a check that CMakeLists.txt reports a list in an unknown format, and does not read a part of it.
refuses() {
	with_list "$2"
	! cmake -S . -B build >said 2>&1 && grep -q 'lib/local.mk' said && grep -q 'libreel_core_la_SOURCES' said
	ok $? "cmake refuses a list $1"
}
refuses 'that names a variable' 's|^\t%D%/tape/array.c|\t$(arrays)|'
refuses 'in two places' 's|^libreel_vectorised|libreel_core_la_SOURCES += x.c\n&|'
refuses 'that has another name' 's|^libreel_core_la_S|s|'
end
