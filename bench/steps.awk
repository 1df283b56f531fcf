# SPDX-License-Identifier: MIT
# Makes a chart from the table of RESULTS-steps.md: the time of two threads, and of the number of threads that
# Reel chooses, over the time of one thread, by the size of a step.
#
#	awk -f bench/chart.awk -f bench/steps.awk bench/RESULTS-steps.md >bench/steps.svg

BEGIN {
	FS = " [|] "
	LEFT = 56; WIDTH = 480; TOP = 66; HEIGHT = 240
	MIN_CELLS = 10; MAX_CELLS = 10000
	LOW = 0.5; HIGH = 128
}

/^[|] omp\/steps-of-[0-9]+ [|]/ {
	cells = substr($1, index($1, "-of-") + 4)
	median[$2, cells] = $5
	if (!(cells in known)) {
		known[cells] = 1
		size[++sizes] = cells
	}
}

function across(cells) { return LEFT + WIDTH * log(cells / MIN_CELLS) / log(MAX_CELLS / MIN_CELLS) }

function down(q) { return TOP + HEIGHT * (1 - log(q / LOW) / log(HIGH / LOW)) }

function legend(x, class, s) {
	put_line(class, x, 41, x + 20, 41)
	text(x + 26, 45, "", s)
}

function grid(   q, cells) {
	for (q = LOW; q <= HIGH; q *= 2) {
		put_line(q == 1 ? "one" : "line", LEFT, down(q), LEFT + WIDTH, down(q))
		text(LEFT - 8, down(q) + 4, "down", q)
	}
	for (cells = MIN_CELLS; cells <= MAX_CELLS; cells *= 10)
		text(across(cells), TOP + HEIGHT + 18, "across", cells)
	text(LEFT + WIDTH / 2, TOP + HEIGHT + 36, "across", "cells")
}

function curve(class, variant,   i) {
	printf "<polyline class=\"%s\" points=\"", class
	for (i = 1; i <= sizes; i++)
		printf "%s%.1f,%.1f", (i > 1 ? " " : ""), across(size[i]),
			down(median[variant, size[i]] / median["one thread", size[i]])
	print "\"/>"
}

END {
	begin_chart(LEFT + WIDTH + 24, TOP + HEIGHT + 48, "Time over that of one thread",
		".one { stroke: #666 }\n" \
		".two, .chosen { fill: none; stroke-width: 2 }\n" \
		".two { stroke: #d55e00 }\n" \
		".chosen { stroke: #0072b2 }\n",
		".one { stroke: #aaa }\n")
	text(16, 24, "", "Time of a region for each step over that of one thread (1); logarithmic")
	legend(16, "two", "two threads, which sleep between steps")
	legend(290, "chosen", "as Reel chooses")
	grid()
	curve("two", "two threads")
	curve("chosen", "as Reel chooses")
	print "</svg>"
}
