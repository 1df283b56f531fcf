# SPDX-License-Identifier: MIT
# After rows.awk: what reel-scale measured, in words and tables; `machine` says on what.

function median(name, variant, n) {
	return (name, variant, n) in medians ? medians[name, variant, n] : 0
}

function number(x) { return x ? sprintf(x < 1000 ? "%.3g" : "%.0f", x) : "-" }

function size_text(size) {
	sub("K", " KiB", size)
	sub("M", " MiB", size)
	return size ~ /B/ ? size : size " B"
}

# The numbers of threads of a case, and the sizes at the end of cases, in the order of the rows.
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

# The median of the rounds, and the most that a round of any run had.
function figure(what, asked, n, name, variant,   i, most, measured) {
	measured = median(name, variant, n)
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] == name && field[i, "variant"] == variant &&
		    field[i, "n"] == n && field[i, "max"] > most + 0)
			most = field[i, "max"] + 0
	print "| " what " | " n " | " asked " ns | " number(measured) " ns | " number(most) " ns | " \
		(!measured ? "not measured" : measured > asked ? "no" : most > asked ? \
			"yes, but not in all rounds" : "yes") " |"
}

function figures() {
	print "## Figures asked\n\n| what | threads | asked | measured | worst round of all runs | reached |"
	print "|---|---|---|---|---|---|"
	figure("p99.9 of a slab's take", 2000, 8, "scale/latency/take", "p99.9")
	figure("a slab's take and give, in a magazine", 10, 2, "scale/pool/pair",
		"one slab, in a magazine")
	figure("the same, 48 slabs up and down, a third of them by the list", 10, 2,
		"scale/pool/pair", "48 slabs, up and down")
	print "\nEach take and each give asks for the thread's magazines (pthread_getspecific), and changes the slab's"
	print "state by an atomic exchange, which finds slabs given twice: without that a pair in a magazine takes a"
	print "tenth less. A take that loads a magazine walks along its chain, 16 descriptors, one after the other, that may lie in another processor's cache. That is"
	print "most of p99.9, which therefore grows with the distance of the processors.\n"
}

# One take and one give, where locks would serve, too.
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

function model() {
	print "## The model\n"
	print "A closed queueing network. P threads think, each by itself: they fill and drain the 16"
	print "slabs of a chain, which takes Z. Then each needs the one server, the head of the shared"
	print "list, for a chain's take and give, S. Exact mean value analysis (Reiser and Lavenberg,"
	print "J. ACM 27, 1980) builds up from one thread, for n = 1 ... P:\n"
	print "\tR(n) = S (1 + Q(n - 1))     who comes finds those whom n - 1 have at the server"
	print "\tX(n) = n / (Z + R(n))       chains in a unit of time"
	print "\tQ(n) = X(n) R(n)            Q(0) = 0\n"
	print "U = X S is how busy the list is, 16 X / P slabs are what a thread gets through, X(P) / X(1)"
	print "is the speed-up. The list is full at about (Z + S) / S threads. Z grows with the slabs, S"
	print "does not: so does that number. `bench/scale-model.c` is all of it.\n"
	print "One thread has other constants than several, whose list and slabs come out of another"
	print "one's cache; both are measured. More threads than processors: who does not run waits for a"
	print "processor, not for the list, which nobody holds. So as many customers as processors, and a"
	print "cycle longer by threads / processors.\n"
}

function constants(   s, z) {
	print "### Constants\n"
	print "S: one thread takes a chain from the list and gives it back, over and over; and two do, at"
	print "the same time. Z: a tape up and down with magazines of 16, less what the model says of S.\n"
	print "| nanoseconds | one thread | one of two |\n|---|---|---|"
	print "| S, a chain | " number(median("scale/constant/service", "one thread", 2)) " | " \
		number(median("scale/constant/service", "two threads", 2)) " |"
	find_sizes("scale/predict/")
	for (s = 1; s <= sizes; s++) {
		z = "scale/constant/think/" size_of[s]
		print "| Z / 16, a slab of " size_text(size_of[s]) " | " \
			number(median(z, "one thread", 2)) " | " \
			number(median(z, "two threads", 2)) " |"
	}
	print ""
}

function checks(   s, c, name, p, m, worst, q) {
	print "## How it was checked\n"
	print "On tiny slabs and with magazines of one slab, so that every slab goes to the list and the"
	print "list matters. The constants are from other runs: Z from tapes with magazines of 16, S from"
	print "the bare list. More threads than processors are oversubscribed. Nanoseconds a slab, up and"
	print "down, of one thread.\n"
	print "| slab | threads | measured | predicted | predicted / measured |\n|---|---|---|---|---|"
	find_sizes("scale/check/")
	find_counts("scale/check/" size_of[1])
	for (s = 1; s <= sizes; s++)
		for (c = 1; c <= counts; c++) {
			name = "scale/check/" size_of[s]
			m = median(name, "measured", count_of[c])
			p = median(name, "predicted", count_of[c])
			q = p > m ? p / m : m / p
			worst = q > worst ? q : worst
			printf "| %s | %d | %.4g | %.4g | %.2f |\n", size_text(size_of[s]),
				count_of[c], m, p, p / m
		}
	printf "\nThe worst is off by a factor of %.2g: good for the order of magnitude, not for a digit.\n", worst
	print "Two things that the model does not have show here. With magazines of one slab nearly every"
	print "slab travels between threads, with those of 16, where Z is from, fewer do: the larger the"
	print "slab, the more lines come out of another cache. And two threads that do nothing but take"
	print "and give do it several times in a row before the line moves, which makes S too good."
	print "`tests/tools/t-scale-model.c` checks the analysis itself, against cases reckoned by hand.\n"
}

function cycle(think, service, threads,   n, queue, time) {
	for (n = 1; n <= threads; n++) {
		time = think + service * (1 + queue)
		queue = n / time * service * (1 + queue)
	}
	return time
}

function predictions(   s, c, name, think, service, alone, ours, dear) {
	print "## Predictions\n"
	print "Threads beyond those that were measured, a processor each. `full at` is (Z + S) / S. The"
	print "last column is the speed-up if the list takes four times as long, as among sockets. Where the"
	print "list is idle, what the speed-up is short of the threads is the quotient of the two Z above:"
	print "caches, bandwidth and other programs, not the list.\n"
	print "| threads | slabs | ns a slab | list busy | speed-up | full at | speed-up, 4 S |"
	print "|---|---|---|---|---|---|---|"
	find_sizes("scale/predict/")
	service = median("scale/constant/service", "two threads", 2)
	find_counts("scale/predict/" size_of[1])
	for (s = 1; s <= sizes; s++)
		for (c = 1; c <= counts; c++) {
			name = size_of[s]
			if (((("scale/tape/" name), "a tape each", count_of[c]) in medians))
				continue
			think = 16 * median("scale/constant/think/" name, "two threads", 2)
			alone = 16 * median("scale/predict/" name, "predicted", 1)
			dear = cycle(think, 4 * service, count_of[c])
			printf "| %d | %s | %.0f | %.0f %% | %s | %.0f | %s |\n", count_of[c],
				size_text(name),
				median("scale/predict/" name, "predicted", count_of[c]),
				100 * median("scale/utilisation/" name, "predicted", count_of[c]),
				number(median("scale/speed-up/" name, "predicted", count_of[c])),
				(think + service) / service,
				alone ? number(count_of[c] * alone / dear) : "-"
		}
	print ""
}

function limits() {
	print "## Where the model cannot hold\n"
	print "- **Distance.** S is that of two processors that `--place` chose. Between sockets a line"
	print "  takes several times as long, so that S does: run with `--place scatter`, or say"
	print "  `--service`. And a swap that fails is tried again, so S grows with the number of those"
	print "  that try at once; beyond two it is taken as constant, which is too good for a busy list."
	print "- **Slabs that travel.** The list hands a thread the slabs that another one left, out of"
	print "  that one's cache. With two threads half of them are such; with 256 nearly all are. That"
	print "  is in Z, as measured with two: too good for more threads, most of all for small slabs."
	print "- **Preemption.** Who loses its processor between load and swap makes nobody wait, but"
	print "  comes back to a swap that fails; and the quantiles above p99.9 are the scheduler's."
	print "- **Bandwidth of memory.** Thinking is taken to be free of others. Tapes that lie in memory"
	print "  share its bandwidth, which ends the speed-up of large slabs long before the list does:"
	print "  that of arrays, above, says when."
	print "- **Fresh memory and budgets.** Nothing here is mapped, given back or waited for."
}

END {
	print "# Scaling with threads\n"
	print "What `reel-scale` measures, a model of what threads lose to each other at the pool's shared"
	print "list, and what it says of 64 and 256 threads. Regenerate, on any machine, with\n"
	print "\tmake bench-scale BENCH_FLAGS='--json scale.json --plot scale.svg'"
	print "\t../../bench/scaling.sh . scale.json >../../bench/SCALING.md\n"
	print "The program takes 1, 2, 4, ... threads up to the processors, and four times those, or"
	print "`--threads LIST`; binds them side by side or apart (`--place compact`, `scatter`, `none`; by"
	print "hwloc, or by what the kernel says); and draws speed-ups beside the model's.\n"
	print machine
	print "Other programs on the same processors change all of it, contention first; the program runs"
	print "a disturbed round again, up to three times, and takes medians. Factors below 1.5 between two"
	print "runs on a machine that is not idle mean nothing.\n"
	figures(); pools(); tapes(); regions(); model(); constants(); checks(); predictions(); limits()
}
