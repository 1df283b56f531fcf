#!/bin/sh
# SPDX-License-Identifier: MIT
# From the text of a plan, `reel plan` predicts the counts of loops of Enzyme and Python, and of the examples. t-petsc.sh
# compares the counts of PETSc.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

texts='binomial:5 multistage:2:6 hierarchical:2:5 two-level:3:10 periodic:3:7 disk-revolve:3 all'
counted='advances|(memory|disk)_(stores|loads)'

# predicted STEPS TEXT: prints the counts that `reel plan` predicts.
predicted() {
	"$BUILD_DIR/tools/reel" plan --steps "$1" ${2:+--planner "$2"} --json |
		sed -nE 's/^ *"([a-z_]+)": ([0-9]+),?$/\1 \2/p' | grep -E "^($counted) "
}

# runs_so WHAT TEXT COMMAND...: runs the command, which prints its counts, for each number of steps in $loops. A check that
# these are the predicted counts.
loops='1 2 30 101'
runs_so() {
	what=$1 text=$2
	shift 2
	for steps in $loops; do
		predicted $steps "$text" >>expected
		"$@" $steps >>seen 2>>messages || echo failed >>seen
	done
	[ -s expected ] && cmp -s expected seen
	ok $? "$what: $text"
	diff expected seen | sed 's/^/#   /' | head -n 10
	[ ! -s messages ] || sed 's/^/#   /' messages
	rm -f expected seen messages
}

cat >loop.c <<'END'
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "helpers/enzyme-driver.h"

static double x;

static void step(void *program, int64_t number)
{
	(void)program;
	x += (double)number;
}

static struct region region = {.data = &x, .bytes = sizeof x};
static struct driver driver;

static void store(void *program, int64_t slot, int64_t number)
{
	(void)program;
	driver.table->store(driver.scheme, slot, number, &region, 1);
}

static void restore(void *program, int64_t slot, int64_t number)
{
	(void)program;
	driver.table->restore(driver.scheme, slot, number, &region, 1);
}

/* Arguments: the number of tiers, and the number of steps. */
int main(int count, char **words)
{
	static const char *const tiers[] = {"memory", "disk"};
	struct reel_run_stats stats;
	struct reel_enzyme_options options = {.stats = &stats, .store = "memory=4M"};
	bool is_done;

	driver = (struct driver){.table = &reel_enzyme_scheme, .options = &options, .bytes = sizeof x,
				 .steps = atoi(words[count - 1]), .step = step, .turn = step,
				 .store = store, .restore = restore};
	is_done = driver_forward(&driver) == FIRSTUTURN && driver_reverse(&driver) == DONE;
	driver.table->finalize(driver.scheme);
	printf("advances %" PRId64 "\n", driver.forward_steps - 1);
	for (int t = 0; t < atoi(words[1]); t++)
		printf("%s_stores %" PRIu64 "\n%s_loads %" PRIu64 "\n", tiers[t], stats.stores[t], tiers[t],
		       stats.loads[t]);
	return !is_done;
}
END
cat >loop.py <<'END'
import sys

import numpy
import reel

text, steps = sys.argv[1] or None, int(sys.argv[2])
x = numpy.zeros(1)
plan = reel.Plan(text, steps)
with reel.Run(plan, x, stores=[None, "memory=4M"][:len(plan.tiers)]) as run:
    for step in run:
        pass
    stats = run.stats()
print("advances", stats["advanced"])
for tier, stores, loads in list(zip(("memory", "disk"), stats["stores"], stats["loads"]))[:len(plan.tiers)]:
    print(f"{tier}_stores {stores}\n{tier}_loads {loads}")
END

# with_plan TEXT COMMAND...: runs the command with TEXT as the plan in the environment.
with_plan() {
	text=$1
	shift
	REEL_PLAN=$text "$@"
}

# tiers_of TEXT: prints the number of tiers of the plan.
tiers_of() {
	case $1 in binomial*) echo 1 ;; *) echo 2 ;; esac
}

# tsunami TEXT STEPS: runs the tsunami by the plan, and prints its count of advances.
tsunami() {
	"$TSUNAMI" --quiet --basin idealised --resolution 60 --threads 1 --output out --steps "$2" --segment 1 \
		--checkpoint "$1" $(spill_of "$1")
	echo "advances $(key advanced)"
	for tier in $(tiers_named "$1"); do
		printf '%s_stores %s\n%s_loads %s\n' $tier "$(key ${tier}_stores)" $tier "$(key ${tier}_loads)"
	done
}

# sedov TEXT STEPS: runs a blast with that number of steps by the plan, and prints the only count in its summary.
sedov() {
	"$SEDOV" --quiet --size 3 --threads 1 --output out --checkpoint "$1" $(spill_of "$1")
	[ "$(key steps)" = "$2" ] && echo "advances $(key steps_run_again)"
}

# spill_of TEXT: prints the option for states on a disk, if the plan has two tiers.
spill_of() { [ "$(tiers_of "$1")" = 1 ] || echo '--spill .'; }

# tiers_named TEXT: prints the names of the tiers of the plan.
tiers_named() { [ "$(tiers_of "$1")" = 1 ] && echo memory || echo memory disk; }

case $CFLAGS in *-fsanitize*) skip_all 'the interpreter has no sanitizer' ;; esac
if [ -e "$BUILD_DIR/.libs/libreel-enzyme.so" ] && $CC $CFLAGS -std=c11 -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/tests" \
	-o loop loop.c -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel-enzyme -lreel; then
	set -- $texts
	for text; do
		runs_so Enzyme "$text" with_plan "$text" ./loop "$(tiers_of "$text")"
	done
else
	skip 'Enzyme: there is no shared library, or no program'
fi

export PYTHONPATH="$SOURCE_DIR/python" REEL_LIBRARY="$BUILD_DIR/.libs/libreel.so.0" PYTHONDONTWRITEBYTECODE=1
if [ -e "$REEL_LIBRARY" ] && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	set -- $texts
	for text; do
		runs_so Python "$text" /usr/bin/python3 loop.py "$text"
	done
else
	skip 'Python: there is no shared library, or no numpy'
fi

set -- $texts
loops=30
for text; do
	if [ -n "$TSUNAMI" ]; then
		runs_so tsunami "$text" tsunami "$text"
	else
		skip 'tsunami: it is not built'
	fi
done
counted=advances loops=23
for text; do
	runs_so sedov "$text" sedov "$text"
done
end
