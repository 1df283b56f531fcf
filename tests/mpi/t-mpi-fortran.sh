#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the module reel_mpi by a program in Fortran, whose ranks check each call against its transpose.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/fortran.sh"

[ -f "$BUILD_DIR/libreel-fortran-mpi.la" ] || skip_all 'the module reel_mpi is not built'
. "$SOURCE_DIR/tests/helpers/ranks.sh"

programs=$SOURCE_DIR/tests/fortran-programs
flags="$FCFLAGS -std=f2018 -Wall -Wextra -Wno-compare-reals -Wno-function-elimination -Werror -I$BUILD_DIR/dropin/fortran $MPI_FCFLAGS"
libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-fortran-mpi -lreel-mpi -lreel-fortran -lreel $MPI_FCLIBS"

builds ranks -fcheck=all "$programs/checks.f90" "$programs/transpose.f90" "$programs/messages.f90" \
	"$programs/requests.f90" "$programs/collectives.f90" "$programs/ranks.f90" &&
	for number in 2 3 4; do
		timeout -k 5 180 $MPIRUN -n $number ./ranks </dev/null >seen 2>stderr
		status=$?
		checks_of "$number ranks"
		ok $status "$number ranks: they end well"
		sed 's/^/#   /' stderr
	done
end
end
