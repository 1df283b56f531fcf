#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the tapes of dropin/clad with threads, and with the forms of OpenMP.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/clad.sh"

openmp() {
	echo 'int main() { return 0; }' >empty.cpp
	if ! $1 $optimise -fopenmp -o empty empty.cpp >messages 2>&1; then
		skip "$1, OpenMP: it is not there"
		return
	fi
	compile $1 17 "$hook" t-clad-openmp -fopenmp
	is_empty messages "$1, OpenMP: compiled without a warning"
	for threads in 1 2 4; do
		passes "$1, OpenMP, $threads threads" ./t-clad-openmp $threads
	done
}

for compiler in $compilers; do
	compile $compiler 17 "$hook" t-clad-threads
	is_empty messages "$compiler: compiled without a warning"
	for threads in 2 4; do
		passes "$compiler, $threads threads" ./t-clad-threads $threads
		! can_spill || passes "$compiler, $threads threads, spilling" \
			env REEL_BUDGET=$((threads * 10))M REEL_SPILL_DIR=. ./t-clad-threads $threads spill
	done
	case $CFLAGS in
	*-fsanitize=thread*) skip 'OpenMP: ThreadSanitizer does not see into its runtime' ;;
	*) openmp $compiler ;;
	esac
done
end
