#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests tests/coverage/: notes cover and excuse the right lines, and are errors if they excuse nothing.
. "$SOURCE_DIR/tests/tap/tap.sh"

LC_ALL=C
export LC_ALL
coverage=$SOURCE_DIR/tests/coverage

cat >sample.c <<'END'
/* What it does.
 * Rarely reached: the whole function. */
static int first(int a)
{
	/* Unreached: the statement
	 * of several lines. */
	if (a &&
	    text("(; */"))
		return 1;
	/* Unreached: all of it is reached. */
	call(a,
	     2);
	switch (a) {
	case 1:
		return a;
	}
	return 0;
}

/* Unreached: nothing is compiled. */
#define MACRO \
	1

/* Rarely reached: it is reached. */
int second;

/* A word: Unreached is not a note here. */
int third;
END
awk -f "$coverage/notes.awk" sample.c >notes
tr '\t' ' ' <notes >seen
cat >wanted <<'END'
sample.c 2 Rarely reached 3 18 -
sample.c 5 Unreached 7 8 -
sample.c 10 Unreached 11 12 -
sample.c 20 Unreached 21 22 -
sample.c 24 Rarely reached 25 25 -
END
diff wanted seen >difference
is_empty difference 'a note covers a statement, or below a comment in the first column a definition'

# Without the note in line 2 only a part of the first function is excused.
awk '$2 != 2' notes >kept && mv kept notes
cat >rows <<'END'
line sample.c 7 1
branch sample.c 7 0 1
branch sample.c 7 1 0
line sample.c 9 0
line sample.c 11 1
line sample.c 13 1
branch sample.c 13 0 1
branch sample.c 13 1 0
line sample.c 15 0
line sample.c 17 0
line sample.c 25 1
END
cover() {
	: >stale
	awk -v source="$PWD" -v wanted='^sample' -v notes=notes -v stale=stale -v unreached=unreached \
		-f "$coverage/table.awk" rows >table
}
cover
[ "$(cat table)" = 'sample.c 4/7 2/4' ]
ok $? 'lines and branches are counted'
[ "$(cut -d : -f 2 unreached | tr '\n' ' ')" = '15 17 ' ]
ok $? 'lines without a note are listed, but not those behind a noted line, nor the branch of a switch'
cat >wanted <<'END'
sample.c:10: this note excuses nothing: remove it
sample.c:20: this note excuses nothing: remove it
END
diff wanted stale >difference
is_empty difference 'a note is stale if all lines below it are reached, or if there are none'
sed -i 's/^line sample.c 25 1/line sample.c 30 1/' rows
cover
[ "$(tail -n 1 stale)" = 'sample.c:24: this note excuses nothing: remove it' ]
ok $? 'a note about rarely reached code is stale without code below it'
end
