# REEL_WITH_CUDA
# NVCC and NVCCFLAGS, CUDA_GENCODE; conditional WITH_CUDA: nvcc compiles and links programs for all
# architectures. They are not part of `make all` unless asked for (conditional BUILD_CUDA).
AC_DEFUN([REEL_WITH_CUDA],
[AC_ARG_VAR([NVCC], [CUDA compiler command])
AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])
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
        [reel_nvcc=yes reel_cuda="yes ($NVCC)"], [reel_cuda="no ($NVCC builds no program)"])
      rm -f conftest conftest.cu
      AC_MSG_RESULT([$reel_nvcc])])])
AS_IF([test "$with_cuda/$reel_nvcc" = yes/no], [AC_MSG_ERROR([--with-cuda: $reel_cuda])])
AM_CONDITIONAL([WITH_CUDA], [test $reel_nvcc = yes])
AM_CONDITIONAL([BUILD_CUDA], [test "$with_cuda/$reel_nvcc" = yes/yes])])

# REEL_CHECK_EMULATOR
# EMULATOR_CXX, conditional EMULATOR: a C++ compiler whose objects go into programs that $CC links, with
# its sanitizer; kernels are compiled by it for the emulator of gpu/emulator/.
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
