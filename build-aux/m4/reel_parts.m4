# SPDX-License-Identifier: MIT
# REEL_ENABLE_OPENMP
# Conditional OPENMP, macro HAVE_OPENMP. Warns if the compiler has no OpenMP: tests of parallel code would pass as serial
# code, and nobody would notice.
AC_DEFUN([REEL_ENABLE_OPENMP],
[AC_OPENMP
AS_IF([test "x$enable_openmp" = xno], [reel_openmp="no (as asked for)"],
  [test -n "$OPENMP_CFLAGS"], [reel_openmp="yes ($OPENMP_CFLAGS)"],
  [reel_openmp="NO ($CC has no OpenMP)"
   reel_openmp_remedy="install it (Debian: gcc has it, clang 14 needs libomp-14-dev) or configure with --disable-openmp"
   AS_IF([test "x$enable_openmp" = xyes],
     [AC_MSG_ERROR([$CC has no OpenMP; $reel_openmp_remedy])],
     [AC_MSG_WARN([$CC has no OpenMP, its parts are not built; $reel_openmp_remedy])])])
AS_IF([test -n "$OPENMP_CFLAGS"], [AC_DEFINE([HAVE_OPENMP], [1], [OpenMP's parts are built.])])
AM_CONDITIONAL([OPENMP], [test -n "$OPENMP_CFLAGS"])])

# REEL_WITH_LIBDW
# Macro HAVE_LIBDW, LIBDW_CFLAGS and LIBDW_LIBS, only for tools/.
AC_DEFUN([REEL_WITH_LIBDW],
[REEL_WITH_OPTIONAL([libdw], [name the functions and lines of profiles by elfutils],
  [PKG_CHECK_MODULES([LIBDW], [libdw >= 0.180], [reel_found=yes], [reel_fault=$LIBDW_PKG_ERRORS])])
AS_IF([test "$with_libdw" = yes], [AC_DEFINE([HAVE_LIBDW], [1], [libdw is there.])],
  [LIBDW_CFLAGS= LIBDW_LIBS=])])

# REEL_CHECK_CUDA_HEADER
# Macro HAVE_CUDA_H and CUDA_HEADER_CPPFLAGS: a test compares the library's declarations of the driver with cuda.h. No
# installed file needs it.
AC_DEFUN([REEL_CHECK_CUDA_HEADER],
[AC_CACHE_CHECK([for cuda.h], [reel_cv_cuda_header],
  [reel_saved_cppflags=$CPPFLAGS
   reel_cv_cuda_header=no
   for reel_directory in "" "$CUDA_HOME/include" "$CUDA_PATH/include" /usr/local/cuda/include; do
     AS_CASE([$reel_directory], [/include], [continue])
     CPPFLAGS="$reel_saved_cppflags${reel_directory:+ -isystem $reel_directory}"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cuda.h>]], [[return cuInit(0) != CUDA_SUCCESS;]])],
       [reel_cv_cuda_header=${reel_directory:-yes}; break])
   done
   CPPFLAGS=$reel_saved_cppflags])
AC_SUBST([CUDA_HEADER_CPPFLAGS])
AS_CASE([$reel_cv_cuda_header], [/*], [CUDA_HEADER_CPPFLAGS="-isystem $reel_cv_cuda_header"])
AS_IF([test "$reel_cv_cuda_header" = no], [reel_cuda_header=no], [reel_cuda_header=yes])
REEL_DEFINE([HAVE_CUDA_H], [reel_cuda_header], [cuda.h is there.])])

# REEL_WITH_LZ4
# Macro and conditional HAVE_LZ4, LZ4_CFLAGS and LZ4_LIBS: stores can compress.
AC_DEFUN([REEL_WITH_LZ4],
[REEL_WITH_OPTIONAL([lz4], [stores that compress],
  [PKG_CHECK_MODULES([LZ4], [liblz4 >= 1.8], [reel_found=yes], [reel_fault=$LZ4_PKG_ERRORS])])
AS_IF([test "$with_lz4" = no], [LZ4_CFLAGS= LZ4_LIBS=])
REEL_DEFINE([HAVE_LZ4], [with_lz4], [liblz4 is there.])
AM_CONDITIONAL([HAVE_LZ4], [test "$with_lz4" = yes])])

# REEL_WITH_SQLITE
# Conditional BUILD_SQLITE, SQLITE_CFLAGS and SQLITE_LIBS: the example of a store that a user writes is built.
AC_DEFUN([REEL_WITH_SQLITE],
[REEL_WITH_OPTIONAL([sqlite], [build the example of a store in an SQLite database],
  [PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.20], [reel_found=yes], [reel_fault=$SQLITE_PKG_ERRORS])])
AM_CONDITIONAL([BUILD_SQLITE], [test "$with_sqlite" = yes])])

# REEL_WITH_TSUNAMI
# Conditional BUILD_TSUNAMI: the tsunami is built, with netcdf for its data and cairo for its pictures. Conditional
# TEST_TSUNAMI: its model, which needs neither, is tested; --without-tsunami turns this off. Macro HAVE_NETCDF: the Sedov
# example writes its gradient by netcdf.
AC_DEFUN([REEL_WITH_TSUNAMI],
[AM_CONDITIONAL([TEST_TSUNAMI], [test "$with_tsunami" != no])
REEL_WITH_OPTIONAL([tsunami], [build the tsunami example (netcdf, cairo)],
  [PKG_CHECK_MODULES([NETCDF], [netcdf],
    [PKG_CHECK_MODULES([CAIRO], [cairo], [reel_found=yes], [reel_fault=$CAIRO_PKG_ERRORS])],
    [reel_fault=$NETCDF_PKG_ERRORS])])
AS_IF([test -n "$NETCDF_LIBS"], [AC_DEFINE([HAVE_NETCDF], [1], [netcdf is there.])])
AM_CONDITIONAL([BUILD_TSUNAMI], [test "$with_tsunami" = yes])])

# REEL_WITH_ADOLC
# Conditional BENCH_ADOLC and macro HAVE_ADOLC: reel-bench also measures ADOL-C. The C compiler has to link it.
AC_DEFUN([REEL_WITH_ADOLC],
[REEL_WITH_OPTIONAL([adolc], [measure ADOL-C beside Reel in reel-bench],
  [AS_ECHO(["#include <adolc/adolc.h>
int main() { return trace_on(1); }"]) >conftest.cpp
   reel_fault="no C++ program with libadolc could be linked"
   AS_IF([test -n "$CXX" && $CXX $CPPFLAGS -c -o conftest.o conftest.cpp \
          && $CC $CFLAGS $LDFLAGS -o conftest conftest.o -ladolc -lstdc++],
     [reel_found=yes]) >&AS_MESSAGE_LOG_FD 2>&1
   rm -f conftest.cpp conftest.o conftest])
AM_CONDITIONAL([BENCH_ADOLC], [test "$with_adolc" = yes])
AS_IF([test "$with_adolc" = yes], [AC_DEFINE([HAVE_ADOLC], [1], [reel-bench has ADOL-C.])])])

# REEL_CHECK_CXX
# Conditional BENCH_CXX and macro HAVE_CXX: reel-bench also has its cases in C++. The C compiler has to link them.
AC_DEFUN([REEL_CHECK_CXX],
[AS_ECHO(["#include <new>
extern \"C\" int run() { try { delete new int; } catch (const std::bad_alloc &) { return 1; } return 0; }"]) >conftest.cpp
AS_ECHO(["int run(void); int main(void) { return run(); }"]) >conftest.c
reel_cxx="no (no C++ program could be linked)"
AS_IF([test -n "$CXX" && $CXX $CPPFLAGS -std=c++14 -c -o conftest.o conftest.cpp \
       && $CC $CFLAGS $LDFLAGS -o conftest conftest.c conftest.o -lstdc++],
  [reel_cxx="yes ($CXX)"
   AC_DEFINE([HAVE_CXX], [1], [reel-bench has cases in C++.])]) >&AS_MESSAGE_LOG_FD 2>&1
rm -f conftest.cpp conftest.c conftest.o conftest
AM_CONDITIONAL([BENCH_CXX], [test "$reel_cxx" = "yes ($CXX)"])])

# REEL_CHECK_ADSTACK_SCALARS
# Conditional ADSTACK_SCALARS: programs that link the shared library get their own copy of its most frequent functions.
# Conditional ADSTACK_LTO: an archive of these functions for optimisation at link time is installed. Programs that do not
# optimise at link time can also link it.
AC_DEFUN([REEL_CHECK_ADSTACK_SCALARS],
[AC_REQUIRE([REEL_ENABLE_SANITIZER])
AC_REQUIRE([REEL_CHECK_VERSION_SCRIPT])
REEL_CHECK_CFLAGS([ADSTACK_SCALARS_CFLAGS], [-fPIC -fvisibility=hidden])
AM_CONDITIONAL([ADSTACK_SCALARS], [test "$enable_shared" = yes \
  && test "$reel_cv_version_script" = yes])
REEL_CHECK_CFLAGS([ADSTACK_LTO_CFLAGS], [-ffat-lto-objects])
AM_CONDITIONAL([ADSTACK_LTO], [test "$enable_static" = yes && test -z "$enable_sanitizer" \
  && test -n "$ADSTACK_LTO_CFLAGS"])])

# REEL_WITH_VERIFIER
# Conditional BUILD_VERIFIER. VERIFIER_CFLAGS find the header of OpenMP's tools, which is in clang's own folder, after all
# other folders: clang's other headers there are not for other compilers.
AC_DEFUN([REEL_WITH_VERIFIER],
[AC_REQUIRE([REEL_ENABLE_OPENMP])
AC_SUBST([VERIFIER_CFLAGS])
REEL_WITH_OPTIONAL([verifier], [build the verifier of OpenMP programs (omp-tools.h of LLVM)],
  [reel_saved_cflags=$CFLAGS
   reel_fault="there is no omp-tools.h; Debian, clang 14: libomp-14-dev, clang"
   for reel_directory in '' `clang -print-resource-dir 2>/dev/null`; do
     VERIFIER_CFLAGS=${reel_directory:+-idirafter$reel_directory/include}
     CFLAGS="$reel_saved_cflags $VERIFIER_CFLAGS"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <omp-tools.h>]],
       [[return ompt_callback_work != ompt_callback_dispatch ? 0 : 1;]])],
       [reel_found=yes; break])
   done
   CFLAGS=$reel_saved_cflags
   AC_CHECK_FUNC([dladdr1], [], [reel_found=no reel_fault="there is no dladdr1()"])
   AS_IF([test -z "$OPENMP_CFLAGS"], [reel_found=no reel_fault="it is for libreel-omp"],
     [test "$enable_shared" != yes], [reel_found=no reel_fault="it is a shared library"])])
AM_CONDITIONAL([BUILD_VERIFIER], [test "$with_verifier" = yes])])

# REEL_WITH_OPTIONAL(PART, HELP, SEARCH)
# Adds --with-PART=auto|yes|no. SEARCH sets reel_found to yes, or reel_fault to the reason why the part cannot be built.
# Sets with_PART to yes or no, and reel_PART to the line of the summary.
AC_DEFUN([REEL_WITH_OPTIONAL],
[AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=auto|yes|no], [$2 @<:@auto@:>@])], [], [with_$1=auto])
AS_IF([test "$with_$1" = no], [reel_$1="no (as asked for)"],
  [reel_found=no reel_fault=
   $3
   reel_fault=`AS_ECHO(["$reel_fault"]) | sed 1q`
   AS_IF([test $reel_found = yes], [with_$1=yes reel_$1=yes],
     [test "$with_$1" = yes], [AC_MSG_ERROR([--with-$1: $reel_fault])],
     [with_$1=no reel_$1="no ($reel_fault)"])])])
