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

# names_of HEADER...: what a program may write: functions, macros, types; enumerators count with their
# enum, and what inline.h has to declare for the compiler is not written by programs.
names_of() {
	for header; do
		sed -n -e 's/^\([a-z].*[ *]\|\)\(reel_[a-z0-9_]*\)(.*/\2/p' \
			-e 's/^ \* [a-zA-Z].*[ *]\(reel_[a-z0-9_]*\)(.*, *[A-Z].*;$/\1/p' \
			-e 's/^ \* \(const \)*[a-zA-Z0-9_]* \**\(reel_[a-z0-9_]*\)(reel_tape .*;$/\2/p' \
			-e 's/^#define \(REEL_[A-Z0-9_]*\).*/\1/p' \
			-e 's/^} \(reel_[a-z_]*\);$/\1/p' \
			-e 's/^\(struct\|enum\) \(reel_[a-z_]*\) {$/\2/p' \
			-e 's/^typedef struct \(reel_[a-z_]*\) .*;$/\1/p' "$SOURCE_DIR/include/$header"
	done | grep -v '_H$' | sort -u
}
names_of reel/tape.h reel/block.h reel/run.h reel/pool.h reel/store.h reel/version.h >names
[ "$(wc -l <names)" -le 96 ]
ok $? "reel.h has $(wc -l <names) names, at most 96"
grep -qx reel_push names && grep -qx reel_tape_close names && grep -qx reel_run_forward names
ok $? 'those that are counted are those that are there'

# A program may need any of them.
compiles c c11 all.h $CC -I.
[ -z "$CXX" ] || compiles c++ c++17 all.h $CXX -I.
end
