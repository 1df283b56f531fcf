# SPDX-License-Identifier: MIT
# Functions for tests of the trajectory for PETSc: they find the installed builds of PETSc, and compile for one of them.

export LD_LIBRARY_PATH="$BUILD_DIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMP_NUM_THREADS=1
# By default Open MPI searches for networks and starts its daemon, which takes longer than the programs. Without the daemon
# all programs of a machine would use the same directory, and one would remove it while another one uses it.
export OMPI_MCA_orte_tmpdir_base="$PWD" OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader

# find_builds: sets $builds to the .pc files of all builds, first the one that pkg-config finds, or skips the test. Its
# commands also succeed with one build or none, for scripts with `set -e`.
find_builds() {
	case " $CFLAGS " in *' -fsanitize'*) skip_all 'PETSc is not built with the sanitizer' ;; esac
	[ -f "$BUILD_DIR/.libs/libreel-mpi.so" ] || skip_all 'libreel-mpi is not built, or not as a shared library'
	default=$(realpath "$(pkg-config --variable=pcfiledir petsc 2>/dev/null)/petsc.pc" 2>/dev/null) || :
	[ -f "$default" ] || skip_all 'there is no PETSc; Debian: petsc-dev'
	builds="$default $(ls -d /usr/lib/petscdir/petsc*/*/lib/pkgconfig/petsc.pc 2>/dev/null |
		awk -v first="$default" '$0 != first')"
}

# name_of BUILD: prints the name of a build, such as petsc64-3.18/x86_64-linux-gnu-real.
name_of() {
	echo "${1%/lib/pkgconfig/petsc.pc}" | sed 's|.*/petscdir/||'
}

use_build() {
	petsc_flags=$(PKG_CONFIG_PATH=$(dirname "$1") pkg-config --cflags petsc | sed 's/-I/-isystem /g')
	petsc_libs=$(PKG_CONFIG_PATH=$(dirname "$1") pkg-config --libs petsc)
}

# compile_plugin [FOLDER]: compiles the plug-in, or a copy of its sources in FOLDER to FOLDER.
compile_plugin() {
	$CC $CFLAGS -DREEL_ASSERTIONS=1 -std=c11 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -I"$SOURCE_DIR/include" \
		$petsc_flags $MPI_CFLAGS -o "${1:-.}/libreel-petsc.so" "${1:-$SOURCE_DIR/dropin/petsc}"/*.c \
		-L"$BUILD_DIR/.libs" -lreel-mpi -lreel $petsc_libs >log 2>&1 || { sed 's/^/#   /' log | head -n 40; return 1; }
}

# compile_program SOURCE... -o PROGRAM: compiles a program without Reel.
compile_program() {
	$CC $CFLAGS -w $petsc_flags $MPI_CFLAGS "$@" $petsc_libs $MPI_LIBS -lm >log 2>&1
}
