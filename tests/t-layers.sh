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

grep -l -E '(^|[^[:alnum:]_])ck_' "$SOURCE_DIR"/include/*.h "$SOURCE_DIR"/include/reel/*.h "$SOURCE_DIR"/lib/*/*.[ch] |
	grep -v '/lib/pool/freelist-ck\.h$' >elsewhere
is_empty elsewhere "ck_ is mentioned in lib/pool/freelist-ck.h alone"
end
