#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares reel.c (make amalgamation) with the library: builds both in build/two-files/, and reel-bench with each, and
# runs these in turns. Prints a table in Markdown: the medians of the medians of all runs, and their ratio. Variants
# without Reel show the noise. Usage: bench/two-files.sh [ROUNDS [OPTION-OF-REEL-BENCH...]], for example:
#        bench/two-files.sh 5 --quick --only '^open/'
set -eu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
cd "$(dirname "$0")/.."
. build-aux/bootstrap.sh
rounds=${1:-5}
shift $(($# > 0))
[ $# -gt 0 ] || set -- --only '^(single|record|bulk|open)/|^spill/(forward|reverse)/0(\.3)?$'
sources=../../..
folder=build/two-files
options=(--disable-fortran --with-{mpi,petsc,libdw,sqlite,tsunami,adolc,verifier,cuda}=no)

# Both files take the place of the sources of the core and of OpenMP.
of_files=(amalgamated_options= libreel_core_la_OBJECTS=amalgamation/reel.lo 'libreel_core_la_LIBADD=$(LZ4_LIBS)'
	libreel_omp_core_la_OBJECTS=amalgamation/reel-omp.lo libreel_omp_core_la_LIBADD= libreel_cuda_core_la_LIBADD=)

{
	bootstrap
	configure $folder/library "${options[@]}" --disable-static
	build $folder/library bench/reel-bench
	configure $folder/files "${options[@]}" --disable-shared
	build $folder/files amalgamation
	build $folder/files bench/reel-bench "${of_files[@]}"
} >&2

for ((round = 1; round <= rounds; round++)); do
	for way in library files; do
		OMP_WAIT_POLICY=passive $folder/$way/bench/reel-bench --json $folder/$way.json "$@" >$folder/$way.out
		sed "s/^{/{\"way\": \"$way\", /" $folder/$way.json
	done
done >$folder/rows.json

echo '| case | variant | n | library, ns | reel.c, ns | ratio | noise |'
echo '|---|---|---|---|---|---|---|'
awk "$(cat bench/rows.awk)"'
	function median(name, way,   i, j, value, sorted) {
		for (i = 1; i <= runs[name, way]; i++) {
			value = measured[name, way, i]
			for (j = i; j > 1 && sorted[j - 1] > value; j--)
				sorted[j] = sorted[j - 1]
			sorted[j] = value
		}
		least = sorted[1]
		most = sorted[i - 1]
		return sorted[int(i / 2)]
	}
	END {
		for (row = 1; row <= rows; row++) {
			name = field[row, "case"] " | " field[row, "variant"] " | " field[row, "n"]
			way = field[row, "way"]
			if (!((name, way) in runs) && way == "library")
				names[++count] = name
			measured[name, way, ++runs[name, way]] = field[row, "median"] + 0
		}
		for (i = 1; i <= count; i++) {
			library = median(names[i], "library")
			noise = (most - least) / 2 / library
			files = median(names[i], "files")
			if ((most - least) / 2 / files > noise)
				noise = (most - least) / 2 / files
			printf "| %s | %.3f | %.3f | %.2f | ± %.0f %% |\n", names[i], library, files, files / library, 100 * noise
		}
	}' $folder/rows.json
