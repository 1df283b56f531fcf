#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Called by conda-build in the source directory.
set -eu
trap 'echo "build.sh: stopped in line $LINENO" >&2' ERR
./configure --prefix="$PREFIX" --host="$HOST" --build="$BUILD" --disable-static --disable-fortran --enable-openmp --with-pool=c11 \
	--with-lz4=yes --with-mpi=no --with-petsc=no --with-libdw=no --with-sqlite=no --with-tsunami=no --with-adolc=no \
	--with-verifier=no --with-cuda=no
make -j "$CPU_COUNT" noinst_PROGRAMS= noinst_LTLIBRARIES=
make install noinst_PROGRAMS= noinst_LTLIBRARIES=
rm -f "$PREFIX"/lib/libreel*.la
