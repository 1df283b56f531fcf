#!/bin/sh
# Lower parts never include higher ones, and Concurrency Kit stays in one file.
. "$SOURCE_DIR/tests/tap/tap.sh"

flags="-std=c11 -I$BUILD_DIR -I$SOURCE_DIR/include $CK_CFLAGS"

# included_by FILE [FLAG]: what it includes, one path a line, standing under the source directory.
included_by() {
	$CC $flags $2 -MM -x c "$1" 2>messages || sed 's/^/cannot be read: /' messages
}

for file in "$SOURCE_DIR"/include/reel.h "$SOURCE_DIR"/include/reel/*.h; do
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

for file in "$SOURCE_DIR"/omp/*.c; do
	included_by "$file" -I"$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" -e "^$SOURCE_DIR/omp/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/, lib/ and omp/"
done

for file in "$SOURCE_DIR"/gpu/*.c; do
	included_by "$file" -I"$SOURCE_DIR/lib" | tr -s ' \\' '\n\n' >included
	grep -e 'cannot be read' -e "^$SOURCE_DIR/" -e cuda.h -e cuda_runtime included |
		grep -v -e "^$SOURCE_DIR/include/" -e "^$SOURCE_DIR/lib/" -e "^$SOURCE_DIR/gpu/" >higher
	is_empty higher "${file#"$SOURCE_DIR"/} includes nothing but include/, lib/ and gpu/"
done

# The folders of lib/, the lowest first: see lib/README.md.
order='os store pool spill tape plan checkpoint'
ls -d "$SOURCE_DIR"/lib/*/ | sed 's|/$||; s|.*/||' | sort >folders
echo $order | tr ' ' '\n' | sort | diff - folders >unknown
is_empty unknown 'the folders of lib/ are those that have an order'
lower=
for folder in $order; do
	lower="$lower $folder"
	grep -n '#include "[a-z]*/' "$SOURCE_DIR/lib/$folder"/*.[ch] |
		grep -v -E "#include \"($(echo $lower | tr ' ' '|'))/" >higher
	is_empty higher "lib/$folder/ includes nothing from a folder above it"
done

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
