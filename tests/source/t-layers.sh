#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that lower parts never include higher ones, and that only one file uses Concurrency Kit.
. "$SOURCE_DIR/tests/tap/tap.sh"

flags="-std=c11 -I$BUILD_DIR -I$SOURCE_DIR/include $CK_CFLAGS $MPI_CFLAGS"

# is_readable FILE: succeeds unless the file includes the header of MPI, and there is none.
is_readable() {
	[ -f "$BUILD_DIR/libreel-mpi.la" ] || case $1 in
	*/include/reel/mpi.h | "$SOURCE_DIR"/mpi/*) return 1 ;;
	esac
}

# includes_only FOLDERS FLAGS FILE...: a check that the files include only files of the project that are in the folders.
includes_only() {
	folders=$1 more=$2
	shift 2
	allowed="^($(echo "$folders" | sed 's/, /|/g; s/ and /|/'))"
	for file; do
		! is_readable "$file" || echo "$file"
	done >readable
	[ -s readable ] || return
	$CC $flags $more -MM -x c $(cat readable) >rules 2>messages
	ok $? "the compiler reads what includes nothing but $folders"
	sed 's/^/#   /' messages
	# The compiler writes a rule for each file. Prints "FILE INCLUDED" for each file that is included but not allowed.
	tr -s ' \\' '\n' <rules | awk -v source="$SOURCE_DIR/" -v config="$BUILD_DIR/config.h" -v allowed="$allowed" '
		/:$/ { file = ""; next }
		!file { file = $0 }
		$0 == config || !NF { next }
		index($0, source) == 1 { included = substr($0, length(source) + 1); if (included !~ allowed) print file, included }
		/cuda\.h|cuda_runtime/ { print file, $0 }' >all-higher
	while read -r file; do
		: >higher
		[ ! -s all-higher ] || grep -F "$file " all-higher >higher
		is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but $folders"
	done <readable
}

headers="-I$SOURCE_DIR -I$SOURCE_DIR/lib"
includes_only include/ '' "$SOURCE_DIR"/include/reel.h "$SOURCE_DIR"/include/reel/*.h
includes_only 'include/ and lib/' "-I$SOURCE_DIR/lib" "$SOURCE_DIR"/lib/*/*.c "$SOURCE_DIR"/lib/*/*/*.c
includes_only 'include/, lib/ and omp/' "$headers" "$SOURCE_DIR"/omp/*/*.c
includes_only 'include/, lib/ and gpu/' "$headers" "$SOURCE_DIR"/gpu/*/*.c
includes_only 'include/, lib/ and mpi/' "-I$SOURCE_DIR/lib -I$SOURCE_DIR/mpi" "$SOURCE_DIR"/mpi/*.c \
	"$SOURCE_DIR"/mpi/*/*.c

# floors PARENT PREFIX FLOOR...: a check of floors, the lowest first. A floor is a list of folders of PARENT. A folder
# includes its own files, and files of lower floors by names that begin with PREFIX.
floors() {
	parent=$1 prefix=$2 lower=
	shift 2
	ls -d "$SOURCE_DIR/$parent"/*/ | sed 's|/$||; s|.*/||' | sort >folders
	echo "$@" | tr ' ' '\n' | sort | diff - folders >unknown
	all=$(echo "$@" | tr ' ' '|')
	is_empty unknown "the folders of $parent/ are those that have an order"
	for floor; do
		for folder in $floor; do
			grep -r -n -E "#include \"$prefix($all)/" "$SOURCE_DIR/$parent/$folder" |
				grep -v -E "#include \"$prefix($folder$lower)/" >higher
			is_empty higher "$parent/$folder/ includes only itself and lower floors"
		done
		lower="$lower|$(echo $floor | tr ' ' '|')"
	done
}
floors lib '' os trace store pool spill tape plan checkpoint
floors omp omp/ runtime 'lane adjoint lookahead verifier' order region 'loop task'
floors lib/spill spill/ owner thread pool parcel
floors lib/checkpoint checkpoint/ snapshot run 'watch restart' sweep
floors gpu gpu/ driver 'store tape'
floors mpi '' comm message collective

# acyclic PARENT: a check that no module includes itself by way of others. A module is a file of PARENT with its header.
acyclic() {
	(cd "$SOURCE_DIR/$1" && find . -name '*.[ch]' | sed 's|^\./||') | while read -r file; do
		sed -n 's/^#include "\(.*\)\.h"/\1/p' "$SOURCE_DIR/$1/$file" | while read -r included; do
			for module in "${file%/*}/$included" "${included#"$1"/}"; do
				[ -f "$SOURCE_DIR/$1/$module.h" ] || continue
				[ "$module" = "${file%.?}" ] || echo "${file%.?} $module"
				break
			done
		done
	done >edges
	[ "$(wc -l <edges)" -gt 20 ]
	ok $? "the modules of $1/ include each other"
	tsort edges 2>&1 >order | sed 's/^tsort: //' >loops
	is_empty loops "no module of $1/ includes itself by way of others"
}
acyclic lib
acyclic omp
acyclic gpu
acyclic mpi

# stand_alone FOLDER: a check that files of FOLDER include, by names in quotes, only files beside them, in include/, in lib/,
# or in the build.
stand_alone() {
	find "$SOURCE_DIR/$1" -name '*.[ch]' -o -name '*.cpp' | while read -r file; do
		sed -n 's/^ *# *include "\(.*\)".*/\1/p' "$file" | while read -r included; do
			for place in "${file%/*}" "$SOURCE_DIR/include" "$SOURCE_DIR/lib" "$BUILD_DIR"; do
				[ ! -f "$place/$included" ] || continue 2
			done
			echo "$file: $included"
		done
	done >higher
	is_empty higher "$1/ includes nothing but itself, include/ and lib/"
}
stand_alone dropin
stand_alone tools

# Only slabs of tapes and parcels may leave memory, so no other part calls a store.
grep -n -E 'reel_store_(put|get|drop|sync|register|unregister)\(' "$SOURCE_DIR"/lib/*/*.[ch] "$SOURCE_DIR"/lib/*/*/*.[ch] \
	"$SOURCE_DIR"/omp/*/*.[ch] "$SOURCE_DIR"/mpi/*.[ch] "$SOURCE_DIR"/mpi/*/*.[ch] "$SOURCE_DIR"/gpu/tape/*.[ch] | grep -v -E '/lib/(store|spill)/' >elsewhere
is_empty elsewhere "only lib/spill calls stores"
grep -l -E '(^|[^[:alnum:]_])ck_' "$SOURCE_DIR"/include/*.h "$SOURCE_DIR"/include/reel/*.h "$SOURCE_DIR"/lib/*/*.[ch] \
	"$SOURCE_DIR"/lib/*/*/*.[ch] |
	grep -v '/lib/pool/freelist-ck\.h$' >elsewhere
is_empty elsewhere "ck_ is mentioned in lib/pool/freelist-ck.h alone"

# A wait by the clock of the day would end late if somebody sets that clock back.
cd "$SOURCE_DIR" || exit
work=$OLDPWD
find lib omp gpu mpi dropin tools include python \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu*' -o -name '*.py' \) \
	-print >"$work/sources"
xargs grep -nE 'CLOCK_REALTIME|gettimeofday|sem_timedwait|mutex_timedlock|system_clock|\<time\((NULL|0|)\)|time\.time\(' \
	<"$work/sources" | grep -v '^lib/trace/trace\.c:.*clock_gettime(CLOCK_REALTIME' >"$work/elsewhere"
is_empty "$work/elsewhere" 'only the trace, which says when it began, asks a clock that people set'
xargs grep -lE 'pthread_cond_timedwait' <"$work/sources" | xargs grep -L reel_clock_condition >"$work/elsewhere"
is_empty "$work/elsewhere" 'what waits for a condition with a limit makes it by reel_clock_condition()'
end
