#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests tests/mutate/ on ten lines: it makes the right mutants, and its verdicts are right.
. "$SOURCE_DIR/tests/tap/tap.sh"

LC_ALL=C
export LC_ALL
mutants=$SOURCE_DIR/tests/mutate/mutants.awk
mkdir -p lib/part tests work/build/tests work/build/lib/part

cat >lib/part/sample.c <<'END'
/* At most three, and 5 < 6. */
#include "sample.h"
_Atomic int calls;
int smaller(int a, int b)
{
	const char *text = "a < b";
	int unused = 0;

	unused += a * 0;
	/* Mutants survive (constant): nobody reads the count. */
	atomic_fetch_add_explicit(&calls, 1, memory_order_release);
	if (a < b && text)
		return a;
	return -b;
}
END
echo '#include <stdatomic.h>' >lib/part/sample.h
cat >tests/t-sample.c <<'END'
int smaller(int a, int b);
int main(void)
{
	return smaller(1, 2) == 1 && smaller(2, 1) == -1 ? 0 : 1;
}
END

awk -f "$mutants" lib/part/sample.c >list
cut -f 3,4,7 list >seen
cat >wanted <<'END'
smaller	constant	int unused = (0 + 1);
smaller	statement	;
smaller	arithmetic	unused -= a * 0;
smaller	arithmetic	unused += a / 0;
smaller	constant	unused += a * (0 + 1);
smaller	statement	;
smaller	constant	atomic_fetch_add_explicit(&calls, (1 + 1), memory_order_release);
smaller	constant	atomic_fetch_add_explicit(&calls, (1 - 1), memory_order_release);
smaller	order	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
smaller	condition	if (!(a < b && text))
smaller	boundary	if (a <= b && text)
smaller	comparison	if (a >= b && text)
smaller	logic	if (a < b || text)
smaller	sign	return b;
END
diff wanted seen >difference
is_empty difference 'comments and strings are left alone, and each mutant changes one other place'

awk -v make=11 -f "$mutants" lib/part/sample.c >changed
diff lib/part/sample.c changed | sed -n '/^>/p' >difference
[ "$(cat difference)" = "$(printf '> \tif (a <= b && text)')" ]
ok $? 'a mutant differs in one place'

# Writes the commands and times that mutate.sh finds by itself in a real build.
read -r compiler flags <<END
${CC:-cc}
END
compile="$compiler $flags -std=c11"
command -v "$compiler" >compiler || skip_all 'no compiler'
$compile -c tests/t-sample.c -o work/build/tests/t-sample.o &&
	$compile -c lib/part/sample.c -o work/build/lib/part/sample.o &&
	ar cr work/build/all.a work/build/lib/part/sample.o
ok $? 'the sample compiles'
printf 'compile\tlib/part/sample.o\t%s\t%s\nlink\ttests/t-sample\t%s tests/t-sample.o ./all.a\n' \
	"$PWD/lib/part/sample.c" "$compile -O1" "$compile" >work/commands
echo 't-sample 100' >work/times
awk '{ print "lib/part/sample.c", $2, "t-sample" }' list | sort -u >work/by-test

mutate() {
	MUTATE_SOURCE=$PWD sh "$SOURCE_DIR/tests/mutate/mutate.sh" --work work "$@"
}
mutate --file lib/part/sample.c >out 2>&1
ok $? 'all mutants are tried'
cut -f 6,7,8 work/verdicts | sort >seen
sort >wanted <<'END'
;	same	-
;	survived	-
atomic_fetch_add_explicit(&calls, (1 + 1), memory_order_release);	survived	-
atomic_fetch_add_explicit(&calls, (1 - 1), memory_order_release);	survived	-
if (!(a < b && text))	killed	t-sample
if (a < b || text)	killed	t-sample
if (a <= b && text)	survived	-
if (a >= b && text)	killed	t-sample
int unused = (0 + 1);	same	-
return b;	killed	t-sample
unused += a * (0 + 1);	same	-
unused += a / 0;	same	-
unused -= a * 0;	same	-
END
diff wanted seen >difference
is_empty difference 'a mutant with the same code is the same, one that fails a test is killed, and any other survives'

mutate --file lib/part/sample.c >out 2>&1
[ "$(head -n 1 out)" = '# 0 mutants to try, seed 1' ]
ok $? 'no mutant is tried twice'
mutate --report --results results >report
[ "$(grep -c '^+ ' report)" -eq 2 ]
ok $? 'the report has the survivors, but not those below a note'
for row in 'run 13' 'killed 4' 'same-code 5' 'explained 2' 'survived 2'; do
	grep -qx "$row" results
	ok $? "results: $row"
done
row=$(grep ^lib/part/sample.c results)
for other in 'lib/part/sample.c 9 9 9 9 1000 0' 'lib/gone.c 9 9 9 9 0 0'; do
	echo "$other" >>results
	mutate --report --results results >report
	[ "$(grep ^lib/ results)" = "$row" ]
	ok $? "an earlier row that tried less, or of a file that is gone, falls: $other"
done
echo 'lib/part/sample.c 9 8 7 6 0 0' >results
mutate --report --results results >report
grep -qx 'lib/part/sample.c 9 8 7 6 0 0' results && grep -qx 'run 30' results
ok $? 'an earlier row that tried more stands, and counts'

sed 's/survive (constant): nobody/survive (constant, sign, order): nobody/
	s|^	if (a < b|	/* Mutants survive (boundary, logic): it is the same. */\n&|' lib/part/sample.c >noted
mv noted lib/part/sample.c
mutate --report >report 2>messages
[ $? -eq 1 ]
ok $? 'a note that excuses nothing is an error'
cat >wanted <<'END'
lib/part/sample.c:10: this note excuses no mutant of operator sign: remove it
lib/part/sample.c:12: this note excuses no mutant of operator logic: remove it
END
diff wanted messages >difference
is_empty difference 'an operator in a note excuses nothing if it has no mutant, or if all were killed'

mkdir tree && : >tree/verdicts
sh "$SOURCE_DIR/tests/mutate/mutate.sh" --work tree --report >report 2>messages
is_empty messages 'each note of the library has mutants below it'
end
