# SPDX-License-Identifier: MIT
# Needs rows.awk. Prints the results of reel-scale as a page; `machine` describes the machine.

function median(name, variant, n) {
	return (name, variant, n) in medians ? medians[name, variant, n] : 0
}

function number(x) { return x ? sprintf(x < 1000 ? "%.3g" : "%.0f", x) : "-" }

function size_text(size) {
	sub("K", " KiB", size)
	sub("M", " MiB", size)
	return size ~ /B/ ? size : size " B"
}

# find_counts() finds the numbers of threads of a case, find_sizes() the sizes at the end of the names of cases, both
# in the order of the rows.
function find_counts(name,   i, n, shown) {
	counts = 0
	for (i = 1; i <= rows; i++) {
		n = field[i, "n"]
		if (field[i, "case"] == name && !shown[n]++)
			count_of[++counts] = n
	}
}

function find_sizes(start,   i, name, shown) {
	sizes = 0
	for (i = 1; i <= rows; i++) {
		name = field[i, "case"]
		if (index(name, start) == 1 && !shown[name]++)
			size_of[++sizes] = substr(name, length(start) + 1)
	}
}

function head(first,   c, line, rule) {
	line = "| " first
	rule = "|---"
	for (c = 1; c <= counts; c++) {
		line = line " | " count_of[c]
		rule = rule "|---"
	}
	print line " |\n" rule "|"
}

function row(words, name, variant,   c, line) {
	line = "| " words
	for (c = 1; c <= counts; c++)
		line = line " | " number(median(name, variant, count_of[c]))
	print line " |"
}

# ---- The tables ----

# Prints a line: the median of the rounds, and the longest round of all runs.
function figure(what, n, name, variant,   i, most, measured) {
	measured = median(name, variant, n)
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] == name && field[i, "variant"] == variant &&
		    field[i, "n"] == n && field[i, "max"] > most + 0)
			most = field[i, "max"] + 0
	print "| " what " | " n " | " (measured ? number(measured) " ns" : "not measured") " | " number(most) " ns |"
}

function figures() {
	print "## What a slab costs\n\n| what | threads | median | worst round of all runs |"
	print "|---|---|---|---|"
	figure("a slab's take, of a thousand the slowest", 8, "scale/latency/take", "p99.9")
	figure("a slab's take and give, in a magazine", 2, "scale/pool/pair",
		"one slab, in a magazine")
	figure("the same, 48 slabs up and down, a third of them by the list", 2,
		"scale/pool/pair", "48 slabs, up and down")
	print "\nEach take and each give asks for the thread's magazines (pthread_getspecific), and changes the slab's"
	print "state by an atomic exchange, which finds slabs given twice: without that a pair in a magazine takes a"
	print "tenth less. A take that loads a magazine walks along its chain of 16 descriptors, which may lie in another"
	print "processor's cache. That is most of the slowest takes, which become slower as processors are farther apart.\n"
}

# Prints the times of one take and one give of magazines and of lists, also of lists under a lock.
function tails(   q, quantiles, ways, w, v) {
	print "\nOne take and one give together, and of lists that a lock protects, in the same run.\n"
	head("take and give")
	q = split("p50 p99.9 p99.99 p99.999 worst", quantiles, " ")
	split("magazines list mutex spinlock", ways, " ")
	for (w = 1; w <= 4; w++)
		for (v = 1; v <= q; v++)
			row(ways[w] ", " quantiles[v], "scale/tail/" ways[w], quantiles[v])
}

function pools(   q, quantiles, variants, v) {
	print "## Slabs taken and given\n\nA pair, nanoseconds of one thread, by the number of threads.\n"
	find_counts("scale/pool/pair")
	head("pair")
	split("one slab, in a magazine;48 slabs, up and down;straight from the list", variants, ";")
	for (v = 1; v <= 3; v++)
		row(variants[v], "scale/pool/pair", variants[v])
	print "\nSingle takes and gives, nanoseconds, with the clock's own time in them. What is above"
	print "p99.9 with more threads than processors is the scheduler's.\n"
	head("quantile")
	q = split("p50 p99 p99.9 p99.999 worst", quantiles, " ")
	for (v = 1; v <= q; v++)
		row("take, " quantiles[v], "scale/latency/take", quantiles[v])
	for (v = 1; v <= q; v++)
		row("take from the list, " quantiles[v], "scale/latency/list-take", quantiles[v])
	for (v = 1; v <= q; v++)
		row("the clock, " quantiles[v], "scale/latency/clock", quantiles[v])
	tails()
	print ""
}

function tapes(   s) {
	print "## Tapes up and down\n\nGB/s written and read, all threads together, by their number."
	print "An array each is the first row of a size. A tape of 36 slabs or less stays in its"
	print "thread's magazines.\n"
	find_sizes("scale/tape/")
	find_counts("scale/tape/" size_of[1])
	head("slabs")
	for (s = 1; s <= sizes; s++) {
		row(size_text(size_of[s]) ", arrays", "scale/tape/" size_of[s], "an array each")
		row(size_text(size_of[s]) ", tapes", "scale/tape/" size_of[s], "a tape each")
	}
	print ""
}

function regions() {
	find_counts("scale/region/empty")
	if (!counts)
		return
	print "## Parallel regions in which nothing happens\n\nNanoseconds, by the number of threads.\n"
	head("regions")
	row("two parallel regions", "scale/region/empty", "two parallel regions")
	row("one, recorded and reversed", "scale/region/empty", "recorded and reversed")
	row("what recording and reversing adds", "scale/region/empty", "difference")
	print ""
}

function levels_of(n, fan,   levels, groups) {
	for (groups = 1; groups < n; groups *= fan)
		levels++
	return levels
}

# `back` is the time that a word takes to another processor and back. A thread that changes a word for which other threads
# wait takes its cache line from them, and they take it back one after the other.
function model(   n, back) {
	back = median("scale/phase/line", "there and back", 2)
	if (!back)
		return
	print "\nA model, of the time that a word takes to another processor and back, " number(back) " ns here: each thread that comes to"
	print "a word for which all others wait takes that time. In a group of four the line of the arrivals goes to the last one,"
	print "and the line that lets them go on from it to four: two and a half of these times for each level of groups. Two"
	print "threads wait for the arrivals themselves, which takes one. A step of dissemination takes one, too.\n"
	print "| threads | one word for all | groups of four | dissemination |\n|---|---|---|---|"
	for (n = 2; n <= 64; n *= 2)
		print "| " n " | " number(n * back) " | " number(n > 2 ? 2.5 * levels_of(n, 4) * back : back) " | " \
			number(levels_of(n, 2) * back) " |"
	print "\nOn 16 processors of an Intel Xeon, where the time is 150 to 210 ns, a barrier with one word for all took 414, 747, 1,636"
	print "and 3,778 ns for 2, 4, 8 and 16 threads, and dissemination 187, 361, 587 and 827 ns."
}

function phases() {
	find_counts("scale/phase/barrier")
	if (!counts)
		return
	print "## A phase in which nothing happens\n\nNanoseconds, by the number of threads. Those that spin need a processor each."
	print "A phase of Reel takes and leaves a lane, too.\n"
	head("barrier")
	row("OpenMP's", "scale/phase/barrier", "OpenMP's barrier")
	row("`reel_worker_barrier()`", "scale/phase/barrier", "reel_worker_barrier()")
	row("`reel_worker_push_span()`", "scale/phase/barrier", "reel_worker_push_span()")
	row("spin on one line", "scale/phase/barrier", "spin on one line")
	row("dissemination", "scale/phase/barrier", "dissemination")
	row("a word there and back", "scale/phase/line", "there and back")
	row("all threads add to a word", "scale/phase/line", "adds by all threads")
	model()
	print ""
}

END {
	print "# Scaling with threads and ranks\n"
	print "What `reel-scale` measures. Regenerate, on any machine, with\n"
	print "\tmake bench-scale BENCH_FLAGS='--json scale.json --plot scale.svg'"
	print "\t{ ../../bench/scale/scaling.sh . scale.json; ../../bench/ranks/ranks.sh .; } >../../bench/SCALING.md\n"
	print "The program takes 1, 2, 4, ... threads up to the processors, and four times those, or"
	print "`--threads LIST`; binds them side by side or apart (`--place compact`, `scatter`, `none`); and"
	print "draws speed-ups.\n"
	print "![Speed-up of the throughput over one thread](scaling.svg)\n"
	print "`tape`: each thread pushes rows to a tape of its own, and pops them; `array`: it writes and reads an array of its own, as"
	print "large. The size above a panel is that of a slab.\n"
	print machine
	print "Other programs on the same processors change all of it, contention first; the program runs"
	print "a disturbed round again, up to three times, and takes medians. Factors below 1.5 between two"
	print "runs on a machine that is not idle mean nothing.\n"
	figures(); pools(); tapes(); regions(); phases()
}
