#!/bin/sh
# Each public header compiles alone, in every language that it is written for.
. "$SOURCE_DIR/tests/tap/tap.sh"

warnings='-Wall -Wextra -Wshadow -Wpedantic -Werror'

# compiles LANGUAGE STANDARD HEADER COMPILER...
compiles() {
	language=$1 standard=$2 header=$3
	shift 3
	printf '#include <%s>\nint main(void) { return 0; }\n' "$header" >alone
	"$@" $warnings "-std=$standard" -I"$SOURCE_DIR/include" -x "$language" -fsyntax-only alone 2>messages
	ok $? "$header in $standard"
	sed -n '1,5s/^/#   /p' messages
}

for path in "$SOURCE_DIR"/include/reel.h "$SOURCE_DIR"/include/reel/*.h; do
	header=${path#"$SOURCE_DIR"/include/}
	compiles c c11 "$header" $CC
	compiles c c17 "$header" $CC
	[ -z "$CXX" ] || compiles c++ c++17 "$header" $CXX
	printf '#include <%s>\n' "$header" >>all.h
done

# A program may need any of them.
compiles c c11 all.h $CC -I.
[ -z "$CXX" ] || compiles c++ c++17 all.h $CXX -I.
end
