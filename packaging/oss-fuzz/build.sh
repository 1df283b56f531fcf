#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Called by OSS-Fuzz in the source directory: $OUT gets a program for each target of tests/fuzz/, and its corpus.
# OSS-Fuzz sets CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE. The programs run on a system that has only the C library,
# so LZ4 is linked statically.
source=$PWD
build=${WORK:-/tmp}/reel
autoreconf -i
mkdir -p "$build"
cd "$build"
LZ4_CFLAGS=' ' LZ4_LIBS=-l:liblz4.a "$source/configure" --disable-shared --disable-openmp --disable-fortran \
	--with-pool=c11 --with-lz4=yes --without-libdw --without-mpi --without-sqlite \
	--without-tsunami --without-adolc --without-cuda
make -j "$(nproc)" CCLD="$CXX" FUZZING_ENGINE="$LIB_FUZZING_ENGINE" tests/fuzz/reel-fuzz

# Each target has a corpus, which tests/fuzz/t-fuzz.sh checks.
for corpus in "$source"/tests/fuzz/corpus/*/; do
	target=$(basename "$corpus")
	cp tests/fuzz/reel-fuzz "$OUT/$target"
	rm -rf "$OUT/${target}_seed_corpus.zip" seeds
	"$source/tests/fuzz/seeds.sh" unpack "$corpus" seeds
	zip -qrj "$OUT/${target}_seed_corpus.zip" seeds
done
