#!/bin/sh
# SPDX-License-Identifier: MIT
# Lower parts never include higher ones, and Concurrency Kit stays in one file.
. "$SOURCE_DIR/tests/tap/tap.sh"

flags="-std=c11 -I$BUILD_DIR -I$SOURCE_DIR/include $CK_CFLAGS $MPI_CFLAGS"

# included_by FILE [FLAG]: what it includes, one path a line, standing under the source directory.
included_by() {
	$CC $flags $2 -MM -x c "$1" 2>messages || sed 's/^/cannot be read: /' messages
}

# Whether a file can be read: without MPI's header, what includes it cannot.
is_readable() {
	[ -f "$BUILD_DIR/libreel-mpi.la" ] || case $1 in
	*/include/reel/mpi.h | "$SOURCE_DIR"/mpi/*) return 1 ;;
	esac
}

for file in "$SOURCE_DIR"/include/reel.h "$SOURCE_DIR"/include/reel/*.h; do
	is_readable "$file" || continue
	included_by "$file" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" included | grep -v "^$SOURCE_DIR/include/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/"
done

for file in "$SOURCE_DIR"/lib/*/*.c; do
	included_by "$file" -I"$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/ and lib/"
done

for file in "$SOURCE_DIR"/omp/*/*.c; do
	included_by "$file" "-I$SOURCE_DIR -I$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" -e "^$SOURCE_DIR/omp/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/, lib/ and omp/"
done

for file in "$SOURCE_DIR"/gpu/*/*.c; do
	included_by "$file" "-I$SOURCE_DIR -I$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" -e cuda.h -e cuda_runtime included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" -e "^$SOURCE_DIR/gpu/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/, lib/ and gpu/"
done

for file in "$SOURCE_DIR"/mpi/*.c; do
	is_readable "$file" || continue
	included_by "$file" "-I$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" -e "^$SOURCE_DIR/mpi/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/, lib/ and mpi/"
done

# floors PARENT PREFIX FLOOR...: each floor is folders of PARENT, which include each their own files
# and those of lower floors, by names that begin with PREFIX. The lowest floor comes first.
floors() {
	parent=$1 prefix=$2 lower=
	shift 2
	ls -d "$SOURCE_DIR/$parent"/*/ | sed 's|/$||; s|.*/||' | sort >folders
	echo "$@" | tr ' ' '\n' | sort | diff - folders >unknown
	is_empty unknown "the folders of $parent/ are those that have an order"
	for floor; do
		for folder in $floor; do
			grep -n "#include \"$prefix[a-z]*/" "$SOURCE_DIR/$parent/$folder"/*.[ch] |
				grep -v -E "#include \"$prefix($folder$lower)/" >higher
			is_empty higher "$parent/$folder/ includes only itself and lower floors"
		done
		lower="$lower|$(echo $floor | tr ' ' '|')"
	done
}
floors lib '' os store pool spill 'tape parcel' plan checkpoint
floors omp omp/ runtime 'region adjoint lookahead verifier'
floors gpu gpu/ driver 'store tape'

# stand_alone FOLDER: what its files include by name lies beside them, in include/ or in lib/.
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

grep -l -E '(^|[^[:alnum:]_])ck_' "$SOURCE_DIR"/include/*.h "$SOURCE_DIR"/include/reel/*.h "$SOURCE_DIR"/lib/*/*.[ch] |
	grep -v '/lib/pool/freelist-ck\.h$' >elsewhere
is_empty elsewhere "ck_ is mentioned in lib/pool/freelist-ck.h alone"
end
