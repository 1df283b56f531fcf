# SPDX-License-Identifier: MIT
# REEL_WITH_CUDA
# Substitutes NVCC, NVCCFLAGS and CUDA_GENCODE. Conditional WITH_CUDA: nvcc compiles and links programs for the oldest and
# the newest architecture; if not, NVCC is empty. Conditional BUILD_CUDA: `make all` builds the programs, since configure
# has --with-cuda. CUDA_LIBS are the libraries with which $CC links objects of nvcc.
AC_DEFUN([REEL_WITH_CUDA],
[AC_ARG_VAR([NVCC], [CUDA compiler command])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
AC_ARG_VAR([CUDA_LIBS], [libraries for programs with objects of the CUDA compiler])
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=check|yes|no],
  [build the programs in gpu/ that need CUDA; check: make cuda can build them @<:@check@:>@])],
  [], [with_cuda=check])
: "${NVCCFLAGS=-O3}"
CUDA_GENCODE=
for reel_sm in 75 80 86 89 90 100 120; do
  AS_VAR_APPEND([CUDA_GENCODE], [" -gencode=arch=compute_$reel_sm,code=sm_$reel_sm"])
done
AC_SUBST([CUDA_GENCODE])
reel_nvcc=no
AS_CASE([$with_cuda],
  [no], [reel_cuda="no (as asked for)"],
  [AC_PATH_PROG([NVCC], [nvcc], [],
     [$PATH$PATH_SEPARATOR${CUDA_HOME:-/usr/local/cuda}/bin$PATH_SEPARATOR/usr/local/cuda/bin])
   AS_IF([test -z "$NVCC"], [reel_cuda="no (there is no nvcc)"],
     [AC_MSG_CHECKING([whether $NVCC builds programs for the oldest and the newest architecture])
      AS_ECHO(["__global__ void nothing() {}
int main() { nothing<<<1, 1>>>(); return cudaDeviceSynchronize() == cudaSuccess; }"]) >conftest.cu
      AS_IF([$NVCC -std=c++14 ${CUDA_GENCODE%% -gencode=arch=compute_80*} ${CUDA_GENCODE##*code=sm_100} \
             -o conftest conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
        [reel_nvcc=yes reel_cuda="yes ($NVCC)"], [reel_cuda="no ($NVCC builds no program)" NVCC=])
      AC_MSG_RESULT([$reel_nvcc])
      AS_IF([test "$reel_nvcc/$with_cuda" = yes/yes], [REEL_FIND_CUDA_LIBS])
      rm -f conftest conftest.cu])])
AS_IF([test "$with_cuda/$reel_nvcc" = yes/no], [AC_MSG_ERROR([--with-cuda: $reel_cuda])])
AM_CONDITIONAL([WITH_CUDA], [test $reel_nvcc = yes])
AM_CONDITIONAL([BUILD_CUDA], [test "$with_cuda/$reel_nvcc" = yes/yes])])

# REEL_FIND_CUDA_LIBS
# Sets CUDA_LIBS to the libraries of the system, or of the toolkit that contains $NVCC.
AC_DEFUN([REEL_FIND_CUDA_LIBS],
[AC_MSG_CHECKING([how $CC links what $NVCC compiles])
reel_root=`readlink -f "$NVCC"`
reel_root=${reel_root%/bin/nvcc}
reel_linked=
reel_libraries='-lcudart_static -lpthread -ldl -lrt -lstdc++'
AS_IF([$NVCC -std=c++14 -c -o conftest.o conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
  [for reel_try in ${CUDA_LIBS:+"$CUDA_LIBS"} "$reel_libraries" "-L$reel_root/lib64 $reel_libraries" \
       "-L$reel_root/lib $reel_libraries"; do
     AS_IF([$CC $CFLAGS $LDFLAGS -o conftest conftest.o $reel_try >&AS_MESSAGE_LOG_FD 2>&1],
       [reel_linked=yes CUDA_LIBS=$reel_try; break])
   done])
rm -f conftest.o
AC_MSG_RESULT([${reel_linked:+$CUDA_LIBS}])
AS_IF([test -z "$reel_linked"],
  [AC_MSG_ERROR([--with-cuda: $CC links nothing that $NVCC compiled: give CUDA_LIBS])])])

# REEL_CHECK_EMULATOR
# Substitutes EMULATOR_CXX, a C++ compiler that compiles kernels for the emulator of tests/helpers/. $CC has to link its
# objects, also with a sanitizer. Conditional EMULATOR: there is one.
AC_DEFUN([REEL_CHECK_EMULATOR],
[AC_REQUIRE([REEL_ENABLE_SANITIZER])
AC_SUBST([EMULATOR_CXX])
AS_CASE([$CC], [*clang*], [reel_compilers=`AS_ECHO(["$CC"]) | sed 's/clang/clang++/'`],
  [reel_compilers=$CXX])
AS_ECHO(["#include <functional>
#include <thread>
#include <ucontext.h>
extern \"C\" int run() { int n = 0; std::function<void()> f = @<:@&@:>@ { n++; }; std::thread(f).join(); return n; }"]) >conftest.cpp
AS_ECHO(["int run(void); int main(void) { return run() != 1; }"]) >conftest.c
reel_emulator="no (no C++ program could be linked by $CC)"
AS_IF([test -n "$reel_compilers" && $reel_compilers $CPPFLAGS $CFLAGS -std=c++14 -pthread -c -o conftest.o conftest.cpp \
       && $CC $CFLAGS $LDFLAGS -pthread -o conftest conftest.c conftest.o -lstdc++],
  [reel_emulator="yes ($reel_compilers)" EMULATOR_CXX=$reel_compilers]) >&AS_MESSAGE_LOG_FD 2>&1
rm -f conftest.cpp conftest.c conftest.o conftest
AC_SUBST([EMULATOR_CXXFLAGS], ["-Wall -Wextra -Wshadow -Wno-unknown-pragmas"])
AS_IF([test "x$enable_werror" = xyes], [AS_VAR_APPEND([EMULATOR_CXXFLAGS], [" -Werror"])])
AM_CONDITIONAL([EMULATOR], [test -n "$EMULATOR_CXX"])])
