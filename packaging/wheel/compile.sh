#!/bin/sh
# SPDX-License-Identifier: MIT
# For the wheel stage of ./check, in a clean system: each COMPILER compiles reel.c and reel-omp.c, which lie beside this
# script, without a warning, and gradient.c and omp.c run with them. A line of the output is "passed WHAT" or "failed
# WHAT". Usage: compile.sh COMPILER...
folder=$(cd "$(dirname "$0")" && pwd)
cd "$HOME" || exit

# compiles COMPILER: for the oldest and the newest C that it knows.
compiles() {
	for standard in c11 gnu2x; do
		"$1" -std=$standard -fopenmp -O2 -pthread -Wall -Wextra -Werror -c "$folder/reel.c" "$folder/reel-omp.c" || return
	done
	"$1" -pthread "-I$folder" "$folder/gradient.c" reel.o -o gradient -lm && ./gradient | grep -x 'dx/da = 1.05736 0.562254 0.397171' &&
		"$1" -fopenmp -pthread "-I$folder" "$folder/omp.c" reel.o reel-omp.o -o omp -lm && ./omp
}

for compiler; do
	if compiles "$compiler" >said 2>&1; then
		echo "passed $compiler compiles reel.c and reel-omp.c"
	else
		echo "failed $compiler compiles reel.c and reel-omp.c"
	fi
	sed 's/^/   /' said
done
