# SPDX-License-Identifier: MIT
# Needs rows.awk and tables.awk. Prints the questions of users with their figures: the measurement, its
# noise, and a remark if it is worse than its limit. A figure without results is "not measured".
#
# With results of other flags: `-v list=1` prints one measurement a line, after "figure: ", and its results after
# "result: ". `-v listed=FILE` reads these lines and shows them in columns of their own.

# ---- A line of a table ----

# Returns the median of one result; without n, the result of the largest n. Keeps the largest noise of the
# results of a line.
function median(name, variant, n,   key) {
	key = name SUBSEP variant (n ? SUBSEP n : "")
	if (!(key in medians)) {
		missing = 1
		return 1
	}
	if (spreads[key] > noise)
		noise = spreads[key]
	return medians[key]
}

function quotient(name, variant, other, n) {
	return median(name, variant, n) / median(name, other, n)
}

function least(a, b) { return a < b ? a : b }

function times(q) { return sprintf("%.3g x", q) }

# Prints a line of the table. It has the remark only if the figure is not good.
function figure(what, measured, is_good, remark,   other) {
	measured = missing ? "not measured" : measured
	if (list)
		print "figure: " measured
	other = listed ? next_listed() " | " : ""
	printf "%s| %s | %s | %s%s | %s |\n", heading, what, measured, other,
		missing ? "" : sprintf("± %.0f %%", 100 * noise), missing || is_good ? "" : remark
	heading = ""
	missing = noise = 0
}

# Returns the next figure of the file `listed`, or nothing if it was not measured.
function next_listed(   line) {
	while ((getline line < listed) > 0)
		if (sub(/^figure: /, "", line))
			return line == "not measured" ? "" : line
	return ""
}

# Prints the time of a variant, a value, and its quotient with another variant, which should be at most `limit`.
function beside(what, name, variant, other, than, n, limit, remark,   ours, theirs) {
	ours = median(name, variant, n)
	theirs = median(name, other, n)
	figure(what, sprintf("%.3f ns, %s %s", ours, times(ours / theirs), than),
		ours <= limit * theirs, remark)
}

# Prints the time of another variant over Reel's time, which should be at least 1.
function gain(what, name, variant, other, n,   q) {
	q = quotient(name, other, variant, n)
	figure(what, times(q), q >= 1, "Reel takes more.")
}

# Begins a section. figure() prints its heading before the first figure, so an empty section has none.
function section(question, text, cases) {
	heading = sprintf("## %s\n\n%s\n\n\tbench/reel-bench --only '%s'\n\n", question, text, cases) \
		"| what | " (listed ? "-O2 | native" : "measured") " | noise | remark |\n" \
		"|---|---|---|---|" (listed ? "---|\n" : "\n")
}

function end_of_section() {
	if (!heading)
		print ""
	heading = ""
}

# ---- What does a push cost? ----

# Returns the instructions that the tape has more than a bare pointer, or "some" if they were not counted.
function more_instructions(operation,   name) {
	name = "instructions/double/" operation
	if (!((name, "reel " operation) in medians))
		return "some"
	return medians[name, "reel " operation] - medians[name, "pointer in memory"]
}

function singles(   n, i, name, size, pointer) {
	name = "single/push+pop"
	pointer = "of a pointer in memory"
	split("1000 1000000 100000000", n, " ")
	split("1,000 values;a million;100 million", size, ";")
	for (i = 1; i <= 3; i++) {
		beside("`reel_push()` and `reel_pop()`, a pair, " size[i], name, "reel push, pop",
			"bare bump pointer", pointer, n[i], 1, "A push has " more_instructions("push") \
			" instructions more, a pop " more_instructions("pop") ".")
		beside("the same through cursors, " size[i], name, "reel cursor",
			"bare bump pointer", pointer, n[i], 1,
			"A cursor compares with its limit, which the pointer does not.")
	}
}

function shapes(   bump, why, array) {
	bump = "bare bump pointer"
	why = "A record is compared with the limit, and a tape is slabs, an array one piece."
	beside("record pushed through a cursor, in L2, a double", "record/push", "reel cursor", bump,
		"of a bare bump", cached, 1.2, why)
	beside("the same, 128 MiB", "record/push", "reel cursor", bump, "of a bare bump", "", 1.2, why)
	beside("record popped through a cursor, in L2, a double", "record/pop", "reel cursor", bump,
		"of a bare bump", cached, 1.2, why)
	beside("the same, 128 MiB", "record/pop", "reel cursor", bump, "of a bare bump", "", 1.2, why)
	array = "array, there already"
	why = "What separates them is the room that is asked for, once a span."
	beside("span in L2, written, a double", "bulk/write", "reel span", array, "of an array", cached,
		1.15, why)
	beside("span in L2, read, a double", "bulk/read", "reel span", array, "of an array", cached,
		1.15, why)
}

# Returns the time of Reel over another variant, the largest quotient of four gradients in Clad's forms.
function worst_form(other,   n, q, i, forms, worst) {
	split("product,time steps,branches,heat", forms, ",")
	for (i = 1; i <= 4; i++) {
		n = forms[i] == "heat" ? 1024000 : 1000000
		q = quotient("clad/" forms[i], "reel custom_tape", other, n)
		worst = q > worst ? q : worst
	}
	return worst
}

function generated(   n, q) {
	n = 1000000
	beside("Clad's forms, a million doubles, a pair", "clad/push+pop", "reel custom_tape",
		"bare bump cursor", "of a bare cursor", n, 1.1,
		"The next line has the comparison with the limit alone.")
	beside("a cursor that compares, and does nothing else, a pair", "clad/push+pop",
		"bounded cursor", "bare bump cursor", "of a bare cursor", n, 1.1, "")
	q = worst_form("bare cursors")
	figure("Clad's gradients over bare cursors, the worst of four", times(q), q <= 1.1,
		"Each push and pop has a comparison more, each count of a loop by `back()` two.")
	beside("Tapenade's `pushReal8()`, inline, a pair", "dropin/real8", "header, inline",
		"bare bump, out of line", "of a bare bump out of line", n, 1, "")
	beside("the same, linked", "dropin/real8", "static library", "bare bump, out of line",
		"of a bare bump out of line", n, 1.2, "A call out of line.")
}

function push_cost() {
	section("What does a push cost?", "Nanoseconds a double, beside a bare pointer or array that does" \
		" no test.", "^(single|record|bulk|instructions|clad/(push|product|time|branches|heat))")
	singles(); shapes(); generated()
	end_of_section()
	instructions()
}

# ---- How far from the machine's limit? ----

function floor_figure(   floor, q) {
	floor = median("floor/stream", "store", large)
	if (("floor/stream", "store past the cache", large) in medians)
		floor = least(floor, median("floor/stream", "store past the cache", large))
	floor += median("floor/stream", "load, descending", large)
	q = median("bulk/write+read", "reel span", large) / floor
	figure("64 Mi doubles by spans, pushed and popped, over the better store and a load", times(q),
		q <= 1.09, "A span is a loop of its own and stored through the cache; the floor is one loop.")
}

function page_faults(   i, most, faults) {
	missing = 1
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] ~ /^kernel/ &&
		    field[i, "variant"] ~ /^(plain|best|least|segments)$/) {
			missing = 0
			faults = field[i, "faults"] + 0
			most = faults > most ? faults : most
		}
	figure("page faults of a warm gradient, the most of all kernels", most + 0, !most,
		"`faults` below tells which.")
}

# Finds the worst quotient of forward and reverse sweeps with min_work to max_work nanoseconds of calculation
# a byte. Sets worst_quotient, and worst_sweep, its name.
function worst_sweep_of(min_work, max_work,   i, q, part) {
	worst_quotient = 0
	for (i = 1; i <= rows; i++) {
		if (split(field[i, "case"], part, "/") != 3 || part[1] != "spill" ||
		    part[2] !~ /^(forward|reverse)$/ || field[i, "variant"] != "reel, budget" ||
		    part[3] < min_work || part[3] > max_work)
			continue
		q = quotient(field[i, "case"], "reel, budget", "compute or transfer")
		if (q > worst_quotient) {
			worst_quotient = q
			worst_sweep = part[2] " at " part[3] " ns"
		}
	}
	if (!worst_quotient)
		missing = 1
}

function limits(   q) {
	section("How far from the machine's limit?", "The limit is memory that is there already, pages that" \
		" the system clears, and what a disk moves.", "^(floor|bulk|cold|kernel|threads|spill|parcels)/")
	floor_figure()
	q = quotient("bulk/write+read", "reel span", "array, there already", large)
	figure("the same over a plain array", times(q), q <= 1.05, "A span asks for room.")
	q = quotient("cold/push+pop", "reel span, fresh pool", "fresh array, huge pages", 100000000)
	figure("cold tape of 1e8 doubles over a bare array on huge pages", times(q), q <= 1.2,
		"The page faults are the same; the rest is what a fresh pool maps and hands over.")
	q = median("clad/cold", "reel custom_tape", 100000000)
	figure("Clad's forms, cold, 1e8 doubles, a pair", sprintf("%.3f ns, %s of a bare array", q,
		times(q / median("clad/cold", "fresh array, huge pages", 100000000))), 0,
		sprintf("The system takes %.3g ns of it to clear huge pages.",
			median("clad/cold", "huge pages alone", 100000000)))
	page_faults()
	q = quotient("threads/two", "a reel tape each", "an array each")
	figure("two tapes in two threads over two bare arrays", times(q), q <= 1.05,
		"A tape is slabs, an array one piece.")
	worst_sweep_of(0, 0)
	figure("tape of 8 budgets, no calculation, over plain transfer, the worst",
		worst_sweep ", " times(worst_quotient), worst_quotient <= 1.15,
		"A transfer begins when there is something to write, or to read.")
	q = quotient("parcels/8 readers", "reel parcels", "one array")
	figure("8 threads read one set of parcels, over a plain array", times(q), q <= 1.1,
		"Each parcel is pinned by each thread.")
	q = median("parcels/64 bytes", "seal, pin, unpin, close")
	figure("parcel of 64 bytes in memory: seal, pin, unpin, close", sprintf("%.0f ns", q), q <= 100,
		"Each takes a lock or adds to a counter.")
	end_of_section()
}

# ---- What do I gain over what I have? ----

# Returns the geometric mean over all large kernels. Sets least_quotient and least_kernel, its kernel.
function mean_over_best(variant,   i, q, logs, count) {
	least_quotient = 0
	for (i = 1; i <= rows; i++)
		if (field[i, "case"] ~ /^kernel\/.*\/large$/ && field[i, "variant"] == variant) {
			q = field[i, "median"] / median(field[i, "case"], "best")
			logs += log(q)
			count++
			if (!least_quotient || q < least_quotient) {
				least_quotient = q
				least_kernel = field[i, "case"]
				gsub(/kernel\/|\/large/, "", least_kernel)
			}
		}
	if (count != 9)
		missing = 1
	return missing ? 1 : exp(logs / count)
}

function arrays(   q, single) {
	q = mean_over_best("soa-fresh")
	figure("nine kernels, large: arrays by malloc() in each gradient, mean", times(q), q >= 1, "")
	q = mean_over_best("soa-warm")
	figure("nine kernels, large: arrays that are kept and staggered, mean", times(q), q >= 1.05,
		"Reel's layout is worth less here than what the loops take.")
	mean_over_best("soa-warm")
	figure("the same, the least", least_kernel " " times(least_quotient), least_quotient >= 0.95,
		"Its loops and values are the same, its addresses are not.")
	q = quotient("kernel/somier/large", "soa-page", "best")
	figure("somier, large: 24 columns that begin at pages", times(q), q >= 1,
		"Columns multiples of 4 KiB apart cost this processor's caches and TLB less.")
	single = "single/push+pop"
	gain("array that is large enough, a million values", single, "reel push, pop",
		"array, there already", 1000000)
	gain("array that `realloc()` doubles, a million values", single, "reel push, pop",
		"realloc, doubling", 1000000)
	gain("array that `realloc()` doubles, 100 million values", single, "reel push, pop",
		"realloc, doubling", 100000000)
	gain("slabs of 1,024 values by malloc() under a lock, a million values", single,
		"reel push, pop", "slabs by malloc, locked", 1000000)
}

function other_tapes(   q) {
	gain("Clad's slabs, a million doubles", "clad/push+pop", "reel custom_tape", "slabs, as Clad's",
		1000000)
	gain("Clad's slabs, 1e8 doubles", "clad/push+pop", "reel custom_tape", "slabs, as Clad's",
		100000000)
	gain("Clad's slabs, 1e8 doubles, cold", "clad/cold", "reel custom_tape", "slabs, as Clad's",
		100000000)
	q = 1 / worst_form("slabs, as Clad's")
	figure("Clad's slabs, four gradients, the least", times(q), q >= 0.98, "Reel takes more.")
	gain("Clad's slabs, one value on each of 19 tapes", "clad/one value a tape", "reel custom_tape",
		"slabs, as Clad's", 19000)
	gain("Tapenade's stack of 2024, linked", "dropin/real8", "static library",
		"as the original works", 1000000)
	gain("Tapenade's stack of 2024, inline", "dropin/real8", "header, inline",
		"as the original works", 1000000)
	gain("ADOL-C, log of a sum", "peer/logsum/paper", "reel best", "adol-c")
	gain("ADOL-C, gravity", "peer/gravity/paper", "reel best", "adol-c")
	gain("mapped file, forward, 0.3 ns of calculation a byte", "spill/forward/0.3", "reel, budget",
		"mapped file")
	gain("mapped file, reverse, 0.3 ns of calculation a byte", "spill/reverse/0.3", "reel, budget",
		"mapped file")
	gain("stdio, forward, 0.3 ns of calculation a byte", "spill/forward/0.3", "reel, budget",
		"stdio files")
	gain("stdio, reverse, 0.3 ns of calculation a byte", "spill/reverse/0.3", "reel, budget",
		"stdio files")
}

function gains() {
	section("What do I gain over what I have?", "The time of the other one over that of Reel. ADOL-C" \
		" records operations by overloading and interprets its tape;\nReel's gradient is by hand, so" \
		" this is the price of overloading, not of a tape alone.",
		"^(kernel|single|clad|peer|spill/(forward|reverse)/0.3)")
	arrays(); other_tapes()
	end_of_section()
	print "What the kernels' columns compare: `soa-fresh` pays page faults, which is most of its distance."
	print "In nn, lenet5 and massspring, large, `best` also prefetches the row below and the arrays do not;"
	print "that, not the layout, is most of what separates it from `soa-warm` there. `least` and `segments`"
	print "record less or run the primal twice.\n"
	kernels("paper"); kernels("large")
}

# ---- When does spilling pay? ----

function parcel_quotient(direction) {
	return quotient("spill/parcels/" direction, "reel, budget", "compute or transfer")
}

function spilling(   q, reversed) {
	section("When does spilling pay?", "If a sweep calculates for 0.3 ns a byte of tape or more, it hardly" \
		" waits. The times are nanoseconds a byte of tape, n are\nbytes. A tape of eight times its" \
		" budget is compared with the least time that there can be, the longer one of the same\nsweep" \
		" all in memory and of a plain transfer (O_DIRECT, slabs, one at a time or four, from and to" \
		" as much memory as the\nbudget) of what has no room; both are of the same run. The number in" \
		" a name is the calculation beside the tape,\nnanoseconds a byte. A mapped file and stdio drop" \
		" behind them what is above the budget. `processor` is the time of all\nthreads but the" \
		" program's own.", "^spill/")
	worst_sweep_of(0.3, 1e9)
	figure("tape of 8 budgets, 0.3 ns of calculation a byte and more, the worst",
		worst_sweep ", " times(worst_quotient), worst_quotient <= 1.1,
		"The offload thread shares the processors with the sweep.")
	worst_sweep_of(0, 0)
	figure("the same without calculation, the worst", worst_sweep ", " times(worst_quotient),
		worst_quotient <= 1.15, "A transfer begins when there is something to write, or to read.")
	q = median("spill/growth", "reel, budget", "17179869184") / \
	    median("spill/growth", "reel, budget", "4294967296")
	figure("tape of 16 GiB over one of 4 GiB, the same budget, a byte", times(q), q <= 1.15,
		"A disk is not equally fast all over.")
	q = (median("spill/resident", "reel, budget") - median("spill/resident", "no tape")) / \
	    median("spill/resident", "hard budget")
	figure("what was resident, seen from outside, over the hard budget", times(q), q <= 1.05,
		"What is beside the slabs is more than that.")
	q = parcel_quotient("in order")
	reversed = parcel_quotient("reversed")
	q = reversed > q ? reversed : q
	figure("parcels of 8 budgets, announced, 0.3 ns a byte, the worse of in order and reversed",
		times(q), q <= 1.05, "The offload thread shares the processors with the sweep.")
	q = quotient("spill/codec", "lz4=STRIDE,file", "file")
	figure("compressed over not compressed, time", times(q), q <= 1, "The codec takes longer than the disk.")
	q = quotient("spill/codec/bytes", "lz4=STRIDE,file", "file")
	figure("compressed over not compressed, bytes", times(q), q <= 1, "")
	end_of_section()
	spills()
}

# ---- When does it pay to run steps again? ----

function less_memory(name) {
	return quotient("memory/massspring/" name, "best", "segments")
}

function replays(   q, small) {
	section("When does it pay to run steps again?", "Where the tape leaves the cache, the memory or the" \
		" disk.", "^(kernel/massspring|memory|checkpoint|lookahead|sedov)")
	q = quotient("kernel/massspring/large", "best", "segments")
	figure("mass spring, large: full tape over segments in the cache, time", times(q), q >= 1.8,
		"It runs the primal once more, which is a larger part of the whole here.")
	small = less_memory("pool-256K")
	q = less_memory("pool")
	figure("mass spring, large: full tape over segments in the cache, bytes of the pool", times(q), q >= 50,
		"A pool holds whole slabs, of 2 MiB; with slabs of 256 KiB it is " times(small) ".")
	q = quotient("checkpoint/tiers", "disk", "in memory")
	figure("checkpoints on a disk over checkpoints in memory", times(q), q <= 1.15,
		"Snapshots travel while steps are run.")
	q = quotient("lookahead/line", "two threads, 2 tapes", "one thread")
	figure("reverse sweep with look-ahead, two threads over one", times(q), q <= 0.55,
		"Threads that wait do not all find a record to make.")
	q = quotient("sedov/two threads", "gradient", "primal")
	figure("Sedov blast, gradient over primal, two threads, tapes in memory", times(q), q <= 4.0,
		"The reverse sweep computes three steps.")
	q = quotient("sedov/two threads", "gradient, a twentieth", "primal")
	figure("the same with memory for a twentieth", times(q), q <= 5.5, "Steps are run again.")
	end_of_section()
}

# ---- What do more threads gain? ----

function two_threads(what, name, limit, remark,   q) {
	q = quotient(name, "one thread", "two threads")
	figure(what, times(q), q >= limit, remark)
}

# Prints the time of two threads of Reel over two threads by hand, and of these over one.
function floor(what, name, limit, remark,   q, hand) {
	hand = quotient(name, "by hand, two threads", "by hand, one thread")
	q = quotient(name, "two threads", "by hand, two threads")
	figure(what ": two threads over two by hand, which take " times(hand) " of one", times(q), q <= limit,
		remark)
}

# Prints the time with the number of threads that Reel chooses, over the time of one thread.
function chosen(what, name, limit,   q, two) {
	two = quotient(name, "two threads", "one thread")
	q = quotient(name, "as Reel chooses", "one thread")
	figure(what ": as Reel chooses, over one thread, where two take " times(two), times(q), q <= limit,
		"Both sizes are tried now and then.")
}

# Prints the time of adds to a lane's private copy and its reduction, over a copy by hand.
function copies(elements, name,   q, hand) {
	hand = quotient(name, "copy by hand", "plain")
	q = quotient(name, "PRIVATE", "copy by hand")
	figure("adds to a private copy of " elements " elements over a copy by hand, which takes " times(hand) \
		" of a plain array", times(q), q <= 1.1, "An add looks at the flag of its block.")
}

function threads(   q, sleeps) {
	section("What do more threads gain?", "Speed on two threads over one, unless it says otherwise." \
		" More of them: [SCALING.md](SCALING.md); steps that are too small for them:" \
		" [RESULTS-steps.md](RESULTS-steps.md).", "^(omp|recording|sedov|adjoint)/")
	two_threads("recording, a reader for each of 16 seeds", "recording/readers", 1.8,
		"Both threads read the same memory.")
	floor("Burgers' equation, 100,000 cells", "omp/burgers-100000", 1.05, "Both are bound by memory.")
	floor("Burgers' equation, 1,000 cells", "omp/burgers-1000", 1.1,
		"A step takes half a microsecond, of which its barrier is a part.")
	sleeps = "Each sweep has a team, which sleeps between them; awake, it takes as long as by hand."
	floor("a network, shared weights", "omp/mlp", 1.1, sleeps)
	floor("Lorenz' equations, a dynamic loop", "omp/lorenz", 1.1, sleeps)
	floor("Cholesky, tasks", "omp/cholesky", 1.1, "Tasks are made twice, and reversed in a fixed order.")
	chosen("Burgers' equation, 100,000 cells", "omp/burgers-100000", 1.05)
	chosen("Burgers' equation, 1,000 cells", "omp/burgers-1000", 1.05)
	chosen("a network", "omp/mlp", 1.05)
	chosen("Lorenz' equations", "omp/lorenz", 1.05)
	chosen("Cholesky, reverse sweep", "omp/cholesky", 1.05)
	chosen("a region for each step of 100 cells", "omp/steps-of-100", 1.05)
	chosen("a region for each step of 10,000 cells", "omp/steps-of-10000", 1.05)
	chosen("the same with 100 cells, beside a third busy process", "omp/busy/steps-of-100", 1.3)
	chosen("the same with 10,000 cells, beside a third busy process", "omp/busy/steps-of-10000", 1.3)
	copies("128 Ki", "adjoint/one/128Ki")
	copies("4 Mi", "adjoint/one/4Mi")
	q = median("sedov/one thread", "gradient") / median("sedov/two threads", "gradient") / \
	    (median("sedov/one thread", "primal") / median("sedov/two threads", "primal"))
	figure("Sedov blast: speed-up of its gradient over that of its primal", times(q), q >= 0.95,
		"The gradient has more barriers.")
	q = median("omp/regions", "reel, empty lanes") - median("omp/regions", "parallel regions")
	figure("region of two lanes, recorded and reversed, beside two empty ones",
		sprintf("%.2f us", q), q <= 1, "A region looks at each of its lanes.")
	q = median("omp/regions", "reel, one thread") - median("omp/regions", "parallel, one thread")
	figure("the same by one thread", sprintf("%.2f us", q), q <= 1,
		"A region looks at each of its lanes.")
	q = quotient("omp/burgers-1000", "one thread", "by hand, one thread")
	figure("Burgers' equation, 1,000 cells, one thread: rows as spans over an array", times(q),
		q <= 1.15, "Each step passes a barrier, and pushes or pops a span.")
	q = quotient("recording/seeds", "four seeds", "one seed")
	figure("recording, four seeds in one pass over one seed, time", times(q), q <= 1.5,
		"The adjoints of four seeds are computed.")
	end_of_section()
}

END {
	large = 67108864; cached = 32768
	push_cost(); limits(); gains(); spilling(); replays(); threads()
	everything()
}
