#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests libreel-malloc: programs without Reel run with it, and recycle their memory.
. "$SOURCE_DIR/tests/tap/tap.sh"

library=$BUILD_DIR/.libs/libreel-malloc.so
case " $CFLAGS " in *' -fsanitize'*) skip_all 'a sanitizer has a malloc of its own' ;; esac
[ -f "$library" ] || skip_all 'the library is not built'

for program in random threads edges; do
	$CC $CFLAGS -w -std=c11 -fno-builtin -pthread -o $program \
		"$SOURCE_DIR/tests/dropin/t-malloc-$program.c" || exit 1
done

# under [NAME=VALUE...] COMMAND...: runs the command with the library. The file stderr has its messages.
under() {
	env LD_PRELOAD="$library" "$@" 2>stderr
}

# holds WHAT COMMAND...: a check that the command succeeds with the library.
holds() {
	what=$1
	shift
	under "$@" >stdout
	ok $? "$what"
	sed 's/^/#   /' stderr
}

# counted NAME: prints the number before or after NAME in the line of REEL_MALLOC=stats.
counted() {
	awk -v name="$1" '/^reel: malloc:/ { for (i = 3; i <= NF; i++) if ($i == name || $i == name ",")
		print $(i - 1) ~ /^[0-9]+$/ ? $(i - 1) : $(i + 1) }' stderr
}

$CC $CFLAGS $CK_CFLAGS -w -std=c11 -pthread -I"$BUILD_DIR" -I"$SOURCE_DIR/include" \
	-I"$SOURCE_DIR/lib" -I"$SOURCE_DIR/dropin/malloc" -o blocks \
	"$SOURCE_DIR/tests/dropin/t-malloc-blocks.c" "$SOURCE_DIR/dropin/malloc/blocks.c" \
	"$BUILD_DIR/.libs/libreel-core.a" || exit 1

$NM -P -D "$library" | awk '$2 == "T" { print $1 }' | sort | tr '\n' ' ' >seen
echo 'aligned_alloc calloc free malloc malloc_usable_size memalign posix_memalign' \
	'pvalloc realloc reallocarray valloc ' | tr -d '\n' >wanted
cmp seen wanted
ok $? 'the functions of malloc are exported and nothing else'

seeds=60
[ -n "$TEST_LONG" ] || seeds=15
holds 'random calls: each block holds what was written to it' ./random "${TEST_SEEDS:-$seeds}"
holds 'the same with a budget that most idle blocks exceed' \
	REEL_MALLOC=budget=6M ./random $((seeds / 2))
holds 'the same with smaller blocks' REEL_MALLOC=min=32K ./random $((seeds / 2))
holds 'threads free what others allocated; children of a fork go on; so does exec' \
	./threads ./edges warm

for name in zero overflow alignment cleared growth warm staggered; do
	holds "a program that allocates before main and at exit: $name" ./edges $name
done
if ./edges warm; then
	skip 'without the library: this system recycles by itself'
else
	ok 0 'without the library the second gradient faults'
fi
# Another allocator, such as jemalloc, has a function that does not accept blocks of the C library.
echo '#include <stdlib.h>
size_t malloc_usable_size(void *block) { (void)block; abort(); }' >other.c
$CC $CFLAGS -w -shared -fPIC -o other.so other.c
for name in zero growth; do
	env LD_PRELOAD="$library $PWD/other.so" ./edges $name
	ok $? "with another allocator behind the library: $name"
done
# The program in the README.md of the library.
sed -n '/^```c$/,/^```$/{/^```/!p;}' "$SOURCE_DIR/dropin/malloc/README.md" >manual.c
$CC $CFLAGS -std=gnu11 -Wall -Wextra -Werror -o manual manual.c
under ./manual >stdout
sed -n '2,$s/^gradient [23]: 31999996000000, \([0-9]*\) faults$/\1/p' stdout >counts
[ "$(wc -l <counts)" -eq 2 ] && [ "$(sort -n counts | tail -n 1)" -lt 10 ]
ok $? "the program of its page faults no more after its first gradient: $(tr '\n' ' ' <counts)"

holds 'calloc clears what it need not, and no less, over the budget' \
	REEL_MALLOC=budget=1M ./edges cleared
holds 'over the budget, memory is given back' REEL_MALLOC=budget=4M ./edges over_budget
holds 'what cannot be given back stays, and free keeps errno' \
	REEL_MALLOC=budget=4M ./edges locked

for name in short exhausted threads; do
	./blocks $name
	ok $? "blocks by themselves: $name"
done

under REEL_MALLOC=stats ./edges warm
[ "$(counted blocks)" -ge 27 ] && [ "$(counted recycled)" -ge 18 ] &&
	[ "$(counted peak)" -ge 18874368 ] && [ "$(counted back)" -eq 0 ]
ok $? "what was served is reported at exit: $(cat stderr)"
under REEL_MALLOC=stats,budget=4M ./edges over_budget
[ "$(counted back)" -ge 40000000 ]
ok $? "memory that was given back is counted: $(cat stderr)"
under REEL_MALLOC=min=3M,stats ./edges warm
[ "$(counted blocks)" -le 1 ]
ok $? "smaller requests are the system's: $(cat stderr)"

for name in freed_twice freed_inside freed_near_the_start; do
	under ./edges $name
	[ $? -gt 128 ] && [ "$(grep -c '^reel: .* freed before' stderr)" -eq 1 ]
	ok $? "a fault of the program ends it in one line: $name"
done

# ignores SETTING REMEDY: a check that the library ignores the setting, and prints one line with the remedy.
ignores() {
	under "REEL_MALLOC=$1" ./edges warm
	[ $? -eq 0 ] && [ "$(wc -l <stderr)" -eq 1 ] &&
		grep -q "^reel: REEL_MALLOC=$1 is ignored: .*$2" stderr
	ok $? "$(cat stderr)"
}

for value in 64k -1 1K 0 x 128KB ''; do
	ignores "min=$value" 'at least 32K'
done
ignores min=99999999T addressed
for value in all 1.5 ' 1'; do
	ignores "budget=$value" 'bytes, or a number'
done
ignores stats=yes 'no value'
for setting in size=1M mins budget64M STATS; do
	ignores $setting 'budget=BYTES, min=BYTES or stats'
done
under REEL_MALLOC=stats,min=1,min=3M,budget=x,colour ./edges warm
[ "$(grep -c 'is ignored' stderr)" -eq 3 ] && [ "$(counted blocks)" -le 1 ]
ok $? "the others hold, in any order: $(cat stderr)"
under REEL_MALLOC= ./edges warm
is_empty stderr 'an empty REEL_MALLOC is none'

if (ulimit -v 4000000) 2>/dev/null; then
	(
		ulimit -v 4000000
		under REEL_MALLOC=stats ./random 5
	)
	[ $? -eq 0 ] && [ "$(counted blocks)" -eq 0 ]
	ok $? "without addresses to reserve all memory is the system's: $(cat stderr)"
else
	skip 'addresses cannot be limited here'
fi

# same WHAT COMMAND...: a check that the command has the same output and status with the library and without it.
same() {
	what=$1
	shift
	"$@" >wanted 2>wanted-stderr
	wanted=$?
	under "$@" >seen
	[ $? -eq $wanted ] && cmp wanted seen && cmp wanted-stderr stderr
	ok $? "$what"
}

awk 'BEGIN { for (i = 0; i < 300000; i++) print i * 7919 % 300007, i }' >numbers
same 'ls lists a tree' ls -R "$SOURCE_DIR/include"
same 'sort sorts a file of some megabytes' sort -n numbers
same 'sort does so in pieces, in several threads' sort --parallel=4 -S 3M numbers
same 'awk counts in a large table' awk '{ seen[$1 % 5003]++ } END { print length(seen) }' numbers
cat >unit.c <<'END'
#include <stdio.h>
int main(void) { puts("unchanged"); return 0; }
END
same 'the compiler compiles' $CC -O2 -S -o - unit.c
if command -v python3 >/dev/null 2>&1 && python3 -c '' 2>/dev/null; then
	same 'python3 grows large lists' python3 -c '
numbers = []
for i in range(600000):
    numbers.append(i * i)
text = bytearray()
for i in range(300):
    text += bytes([i % 251]) * 10007
copies = [numbers[i:] for i in range(0, 5)]
del numbers
print(sum(map(sum, copies)), sum(text), len(text))'
else
	skip 'python3 is not here'
fi
end
